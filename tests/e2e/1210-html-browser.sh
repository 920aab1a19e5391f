#!/bin/sh
# HTML reports in a headless Chromium, where there are one and Node: tests/browser/html_check.js says what is looked at.
# CHROMIUM names another one.
. "$top_srcdir/tests/e2e/lib.sh"

for each in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
  chromium=$(command -v "$each" 2>/dev/null) && [ -n "$each" ] && break
done
[ -n "$chromium" ] || skip_all "no chromium"
command -v node >/dev/null 2>&1 || skip_all "no node"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 14 ? 1 : 0)' || skip_all "node is older than 14"

gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$work/eager.db"
"$top_builddir/tests/unit/make_run" "$work/measured.db" full measured 1000000000000
sqlite3 -batch "$work/measured.db" <"$top_srcdir/tests/unit/measured.sql"
for run in eager measured; do
  "$wavetap" export --format html -o "$work/$run.html" -r "$work/$run.db" >"$work/out" 2>&1
  is "$?" 0 "a report: $run"
done
CHROMIUM=$chromium TMPDIR=$work timeout 300 node "$top_srcdir/tests/browser/html_check.js" "$work/eager.html" "$work/measured.html" >"$work/tap" 2>&1
code=$?
grep '^ok\|^not ok' "$work/tap" | sed 's/^\(ok\|not ok\) [0-9]* - /\1 /' >"$work/checks"
while read -r line; do
  case $line in
  ok*) ok "${line#ok }" true ;;
  *) ok "${line#not ok }" false ;;
  esac
done <"$work/checks"
is "$code $(tail -n 1 "$work/tap" | grep -v '^1\.\.' | head -c 300)" "0 " "the browser came to the end"
done_testing

#!/bin/sh
# A smoke of `make bench`: every part runs, on tiny counts. Nothing may be lost or come twice, and figures have
# to be there and possible; how large they are is not asked.
set -u
: "${top_builddir:?run by make check}" "${top_srcdir:?run by make check}"
work=$(mktemp -d "${TMPDIR:-/tmp}/wt-unit.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
TMPDIR=$work
export TMPDIR

count=0
failed=0
ok() { # WHAT COMMAND...
  what=$1
  shift
  count=$((count + 1))
  if "$@"; then
    echo "ok $count - $what"
  else
    echo "not ok $count - $what"
    failed=1
  fi
}

bench() {
  sh "$top_srcdir/tests/bench/bench.sh" "$@"
}

# JSON as SQL: the rows with their medians.
query() {
  sqlite3 -batch :memory: "WITH j (j) AS (SELECT CAST(readfile('$work/out.json') AS TEXT)),
    row AS (SELECT value ->> 'part' AS part, value ->> 'what' AS what, value ->> 'unit' AS unit,
              value ->> '\$.this.median' AS median, json_array_length(value, '\$.this.values') AS n,
              value ->> '\$.other.median' AS other, value ->> 'ratio' AS ratio
            FROM j, json_each(j, '\$.rows')) $1"
}

is() { # SQL WANT
  got=$(query "$1")
  [ "$got" = "$2" ] || {
    echo "#   got $got, want $2"
    return 1
  }
}

before=$(ls -d /dev/shm/wt-bench-* 2>/dev/null)
bench smoke --json >"$work/out.json" 2>"$work/err"
rc=$?
[ $rc = 0 ] || sed 's/^/# /' "$work/err"
ok "all parts run, and their books agree" test $rc = 0
ok "nothing is left behind" test -z "$(find "$work" -mindepth 1 -name 'wt-*')"
ok "nor in shared memory" test "$(ls -d /dev/shm/wt-bench-* 2>/dev/null)" = "$before"
ok "JSON of that name" is "SELECT j ->> 'format' || (j ->> 'format_version') FROM j" wavetap-bench1
ok "no failures" is "SELECT json_array_length(j, '\$.failures') FROM j" 0
hook=hook,
[ -z "${WT_SANITIZED:-}" ] || hook=
ok "all parts have figures" is "SELECT group_concat(part) FROM (SELECT DISTINCT part FROM row ORDER BY 1)" \
  "file,${hook}ingest,live,query,ring,start"
ok "and all of them are possible" is "SELECT count(*) FROM row WHERE median IS NULL OR n < 1 OR
  median > 1e9 OR
  median <= 0 AND NOT (unit = '%' OR what LIKE 'own memory%' OR part = 'hook')" 0
ok "a launch takes at least a byte, and not a kilobyte" is "SELECT count(*) FROM row WHERE part = 'file' AND
  median NOT BETWEEN 1 AND 1024" 0
ok "at full rate small rings refuse, and what they refuse is counted" is "SELECT count(*) FROM row WHERE
  what = 'kernels refused, flat out' AND median > 0 AND median < 100" 1
ok "each command is there, with time and memory" is "SELECT count(*), count(DISTINCT unit) FROM row WHERE part = 'query'" "18|3"

ok "as text, beside another build" sh -c 'sh "$1" --other "$2" --rounds 2 --launches 5000 smoke ingest query >"$3"' - \
  "$top_srcdir/tests/bench/bench.sh" "$top_builddir" "$work/text"
ok "in 80 columns" test -z "$(grep -E '.{81}' "$work/text")"
# The tables: figures of this build, and pairs with their ratios, as many as there are rows that both have.
pairs=$(grep -A 99 '^This build by' "$work/text" | grep -cE '^(query|ingest|file|start): ')
ratios=$(grep -A 99 '^This build by' "$work/text" | grep -cE '^(query|ingest|file|start): .* [0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+ *$')
ok "with a ratio for each row" test "$pairs" -gt 10 -a "$ratios" = "$pairs"

bench nonsense >"$work/out" 2>"$work/err"
rc=$?
ok "what is no size and no part is refused" test $rc = 2
ok "in words" grep -q 'no such size or part: nonsense' "$work/err"
echo "1..$count"
exit $failed

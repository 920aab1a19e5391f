#!/bin/sh
# `wavetap sweep`: the front by hand and by sqlite3, runs made by --run on the simulated GPU, failures told, the page.
. "$top_srcdir/tests/e2e/lib.sh"

json() { # FILE SQL over d.j
  sqlite3 -batch :memory: "WITH d AS (SELECT CAST(readfile('$1') AS TEXT) AS j) $2"
}
# One recording with the times of its kernels stretched: step and gaps by known factors.
"$wavetap" import -o "$work/base.db" "$top_srcdir/tests/data/h200-infer-tiny.wtrec" >"$work/out" 2>&1
is "$?" 0 "a run"
make() { # BATCH STRETCH_PERCENT GAP
  cp "$work/base.db" "$work/b$1.db"
  # Longer steps: all times from the first on. Longer gaps: kernels end earlier.
  sqlite3 -batch "$work/b$1.db" "CREATE TEMP TABLE z AS SELECT min(start_ns) AS z FROM kernel_exec;
    UPDATE kernel_exec SET start_ns = z + (start_ns - z) * $2 / 100, end_ns = z + (start_ns - z) * $2 / 100 + (end_ns - start_ns) * $3 / 100 FROM z;
    UPDATE launch_call SET entry_ns = z + (entry_ns - z) * $2 / 100, return_ns = z + (return_ns - z) * $2 / 100 FROM z;
    UPDATE proc SET last_ns = (SELECT max(end_ns) FROM kernel_exec);
    DELETE FROM ledger_mark; INSERT INTO tag VALUES ('batch', '$1'), ('kept', 'same');
    UPDATE meta SET value = 'aaaaaa$1' WHERE key = 'run_id'"
}
make 08 100 90
make 16 150 140
make 32 300 100
"$wavetap" sweep "$work/b32.db" "$work/b08.db" "$work/b16.db" --json >"$work/sweep.json" 2>"$work/err"
is "$?$(cat "$work/err")" 0 "three runs"
is "$(json "$work/sweep.json" "SELECT j ->> '\$.keys', (SELECT group_concat(value ->> 'parameters', ', ') FROM json_each(j, '\$.rows')) FROM d")" \
  '["batch"]|batch=08, batch=16, batch=32' "by the tag that differs, in its order as numbers"
for i in 0 1 2; do
  run=$(json "$work/sweep.json" "SELECT j ->> '\$.rows[$i].file' FROM d")
  "$wavetap" steps -r "$run" --json >"$work/steps.json"
  is "$(json "$work/sweep.json" "SELECT j ->> '\$.rows[$i].step_ns', j ->> '\$.rows[$i].launches_per_step' FROM d")" \
    "$(json "$work/steps.json" "SELECT j ->> '\$.steps.steady.median_ns', j ->> '\$.steps.steady.median_launches' FROM d")" "row $i: as steps says"
done
# The front by its definition, in SQL.
is "$(json "$work/sweep.json" "SELECT group_concat(value ->> 'is_on_front', ' ') FROM d, json_each(j, '\$.rows')")" \
  "$(json "$work/sweep.json" ", r AS (SELECT key, value ->> 'per_ns' AS t, value ->> 'idle_share' AS i FROM d, json_each(j, '\$.rows'))
    SELECT group_concat(NOT EXISTS (SELECT 1 FROM r o WHERE o.t <= r.t AND o.i <= r.i AND (o.t < r.t OR o.i < r.i)), ' ') FROM r")" "the front"
"$wavetap" sweep "$work/b32.db" "$work/b08.db" "$work/b16.db" --per batch --json >"$work/per.json"
is "$(json "$work/per.json" "SELECT group_concat(abs((value ->> 'per_ns') * CAST(substr(value ->> 'parameters', 7) AS INTEGER) - (value ->> 'step_ns')) < 16, ' ') FROM d, json_each(j, '\$.rows')")" \
  "1 1 1" "time by item"
LC_ALL=C COLUMNS=100 "$wavetap" sweep "$work/b32.db" "$work/b08.db" "$work/b16.db" --html "$work/plot.html" >"$work/text" 2>"$work/err"
is "$?$(cat "$work/err")" 0 "text and page"
ok "text: bars" grep -Eq '^  batch=08 +[0-9.]+[mu]s #+( \*)?$' "$work/text"
is "$(grep -c '<circle' "$work/plot.html") $(grep -c 'http' "$work/plot.html") $(grep -c '<script' "$work/plot.html")" "3 0 0" "page: a point for each, nothing from elsewhere"
if command -v python3 >/dev/null 2>&1; then
  is "$(python3 -c "import xml.dom.minidom, re, sys; t = open('$work/plot.html').read(); xml.dom.minidom.parseString(re.search('<svg.*</svg>', t, re.S).group(0))" 2>&1)" "" "page: its plot is XML"
fi
sqlite3 -batch "$work/b08.db" "UPDATE tag SET value = '<script>alert(1)</script>' WHERE key = 'batch'"
"$wavetap" sweep "$work/b08.db" "$work/b16.db" --html "$work/plot.html" --force >"$work/text" 2>&1
is "$(grep -c '<script' "$work/plot.html")" 0 "page: tags are text"

# ---- --run
printf '#!/bin/sh\n[ "$1" != 3 ] || exit 7\n[ "$1" != 4 ] || exit 0\nexec "%s" --seconds 0.3\n' "$top_builddir/tests/fake/app_demo" >"$work/prog"
chmod +x "$work/prog"
"$wavetap" sweep --run "$work/prog {n} '{left}'" n=1,2,3,4 --name made --json >"$work/made.json" 2>"$work/err"
is "$?" 1 "--run: one failed, so does it"
is "$(json "$work/made.json" "SELECT (SELECT group_concat(value ->> 'parameters', ', ') FROM json_each(j, '\$.rows')), j ->> '\$.runs_failed', (SELECT group_concat(value ->> 'name') FROM json_each(j, '\$.rows')) FROM d")" \
  "n=1, n=2|2|made,made" "the others are there"
ok "told: which one ended how" grep -q '^wavetap: n=3: ended with 7; it is left out$' "$work/err"
ok "told: of which nothing came" grep -q '^wavetap: n=4: nothing was recorded$' "$work/err"
is "$("$wavetap" sweep --run "$work/prog {n}" n=1 --csv 2>"$work/err" | wc -l)" 2 "stdout is the table's alone"
settle

fails() { # CODE ERROR ARGUMENT...
  code=$1 error=$2
  shift 2
  "$wavetap" "$@" >"$work/out" 2>"$work/err"
  is "$? $(head -n 1 "$work/err")$(cat "$work/out")" "$code wavetap: $error" "refused: $error"
}
fails 2 "which runs?" sweep
fails 2 "{n} is not in the command" sweep --run "true" n=1
fails 2 "n is given twice (n=A,B)" sweep --run "true {n}" n=1 n=2
fails 2 "--run: no parameter (batch=8,16,32)" sweep --run "true {n}"
fails 2 "\"n\" is not KEY=VALUE,VALUE" sweep --run "true {n}" n
fails 3 "--per nosuch: run aaaaaa16 has no such tag with a number from 1e-6 to 1e15" sweep --per nosuch "$work/b16.db"
"$wavetap" sweep "$work/b16.db" "$work/nosuch.db" >"$work/out" 2>"$work/err"
is "$? $(grep -c 'batch=16' "$work/out")" "1 3" "a run that is not there does not hide the others"
done_testing

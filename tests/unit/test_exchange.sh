#!/bin/sh
# Reports as what people hand each other: an export stands for its run in every command; a hash of what a
# file holds; exports without names; and the runs of one name over time. Runs are recordings of H200s and of the simulated GPU.
# shellcheck disable=SC2086 # lists of arguments are split
. "$top_srcdir/tests/e2e/lib.sh"

run=$work/run.db
"$wavetap" import -o "$run" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" >"$work/out" 2>&1
is "$?" 0 "a run of two ranks"
sqlite3 -batch "$run" "UPDATE proc SET hostname = 'secret-node-17', executable = '/home/robertson/bin/train', command = '/home/robertson/bin/train --token xyzzy',
  cupti_path = '/home/robertson/cuda/libcupti.so', pid = 777001, reason_text = NULL; UPDATE meta SET value = 'secret-node-17' WHERE key = 'hostname';
  UPDATE meta SET value = 'slurm-4711-secret' WHERE key = 'run_key'; INSERT OR REPLACE INTO meta VALUES ('recording', '/home/robertson/rec'), ('name', 'ddp');
  INSERT INTO tag VALUES ('batch', '8')"
cp "$run" "$work/packed.db"
ok "packed rows" test "$("$top_builddir/tests/unit/pack_run" "$work/packed.db" 7)" -gt 1000
"$wavetap" export -r "$work/packed.db" -o "$work/export.db" 2>"$work/err"
is "$?$(cat "$work/err") $(sqlite3 -batch "$work/export.db" 'SELECT count(*) FROM chunk')" "0 0" "an export has plain rows"

# ---- in place of a run
without_file() {
  sed 's/"file": *"[^"]*"//' "$1"
}
for command in top "top --group rank" "top --group config --by time" "show 1" ledger gaps "gaps --by call" timeline steps ranges copies sms ranks diagnose \
  "whatif --no-gaps" "export --format json -o -" "export --format csv -o -" "check" "top --device 1 --from 100ms"; do
  json=--json of=-r
  case $command in
  export*) json='' ;;
  check) of='' ;;
  esac
  "$wavetap" $command $json $of "$work/packed.db" >"$work/a" 2>"$work/a.err"
  a=$?
  "$wavetap" $command $json $of "$work/export.db" >"$work/b" 2>"$work/b.err"
  b=$?
  is "$a $(without_file "$work/a" | cksum) $(sed "s,$work/packed.db,X," "$work/a.err")" "$b $(without_file "$work/b" | cksum) $(sed "s,$work/export.db,X," "$work/b.err")" \
    "$command: an export says what the run says"
done
(cd "$work" && cp export.db report.sqlite && "$wavetap" ledger --json -r report.sqlite) >"$work/b" 2>&1
"$wavetap" ledger --json -r "$work/export.db" >"$work/a"
is "$(without_file "$work/b" | cksum)" "$(without_file "$work/a" | cksum)" "whatever its name ends in"
"$wavetap" analyze -r "$work/export.db" -o "$work/again.db" >"$work/out" 2>&1
is "$?" 0 "analyze takes one"

# ---- what is in it
hash_of() {
  "$wavetap" check --json "$1" | sed -n 's/.*"content_hash": "\(.*\)".*/\1/p'
}
want=$(hash_of "$run")
is "$(expr "$want" : '[0-9a-f]*$')" 64 "a hash"
is "$(hash_of "$work/packed.db") $(hash_of "$work/export.db")" "$want $want" "the same of packed and of plain rows"
cp "$run" "$work/pages.db"
sqlite3 -batch "$work/pages.db" "PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM; CREATE TABLE IF NOT EXISTS merge_nothing (a); DROP TABLE merge_nothing" >"$work/out"
is "$(hash_of "$work/pages.db")" "$want" "and of other pages"
cp "$run" "$work/other.db"
sqlite3 -batch "$work/other.db" "UPDATE kernel_exec SET end_ns = end_ns + 1 WHERE exec_id = (SELECT max(exec_id) FROM kernel_exec)"
ok "another of another row" test "$(hash_of "$work/other.db")" != "$want"
ok "text: its first digits" grep -q "content $(expr "$want" : '\(............\)')" <<END
$("$wavetap" check "$run")
END
mkdir -p "$data/runs"
cp "$run" "$data/runs/20260101-000000-00000001.db"
is "$("$wavetap" runs --hash --json | sed -n 's/.*"content_hash": "\(.*\)".*/\1/p') $("$wavetap" runs --json | grep -c '"content_hash": null')" "$want 1" "runs shows it if asked"

# ---- without names
"$wavetap" export -r "$work/packed.db" -o "$work/anonymous.db" --anonymise 2>"$work/err"
is "$?$(cat "$work/err")" 0 "an anonymous export"
for word in secret-node robertson xyzzy slurm-4711 777001 /rec; do
  is "$(strings -n 3 "$work/anonymous.db" | grep -c "$word")" 0 "nothing of \"$word\" is left"
done
is "$(sqlite3 -batch "$work/anonymous.db" "SELECT count(*) FROM proc WHERE pid = 777001 OR uid <> 0 OR ppid <> 0")" 0 "nor of pids and users"
is "$(sqlite3 -batch "$work/anonymous.db" "SELECT count(DISTINCT hostname), count(DISTINCT pid), count(DISTINCT boot_id) FROM proc")" "1|2|1" "what belongs together still does"
is "$(sqlite3 -batch "$work/anonymous.db" "SELECT group_concat(key || '=' || value) FROM tag; SELECT value FROM meta WHERE key IN ('name', 'anonymised') ORDER BY key")" \
  "batch=8
hosts
ddp" "name and tags stay"
is "$(sqlite3 -batch "$work/anonymous.db" "ATTACH '$run' AS o; SELECT (SELECT count(DISTINCT process_id || ' ' || tid) FROM launch_call) - (SELECT count(DISTINCT process_id || ' ' || tid) FROM o.launch_call),
  (SELECT count(*) FROM launch_call l JOIN o.launch_call m USING (process_id, seq) WHERE l.tid = m.tid)")" "0|0" "threads are told apart, by other numbers"
"$wavetap" check "$work/anonymous.db" >"$work/out" 2>&1
is "$?" 0 "it is sound"
rows_of() { # numbers alone: names and words may differ
  "$wavetap" $1 -r "$2" --csv 2>/dev/null | cut -d, -f "$3" | cksum
}
for command in "top --all" "ledger --all" "gaps --all"; do
  is "$(rows_of "$command" "$work/anonymous.db" 3-6)" "$(rows_of "$command" "$run" 3-6)" "$command: the same numbers"
done
"$wavetap" export -r "$run" -o "$work/names.db" --anonymise-names --hash-key of-us &&
  "$wavetap" export -r "$work/packed.db" -o "$work/names2.db" --anonymise-names --hash-key of-us &&
  "$wavetap" export -r "$run" -o "$work/names3.db" --anonymise-names
is "$?" 0 "names of kernels, too"
is "$(sqlite3 -batch "$work/names.db" "ATTACH '$run' AS o; SELECT count(*) FROM kernel JOIN o.kernel USING (name);
  SELECT count(*) FROM kernel WHERE name LIKE '%ncclDev%'; SELECT count(*) FROM range_name JOIN o.range_name USING (name)")" \
  "0
$(sqlite3 -batch "$run" "SELECT count(*) FROM kernel WHERE name LIKE '%ncclDev%'")
0" "none is left; collectives are still known as such"
is "$(hash_of "$work/names2.db")" "$(hash_of "$work/names.db")" "the same key, the same file"
is "$(sqlite3 -batch "$work/names3.db" "ATTACH '$work/names.db' AS o; SELECT count(*) FROM kernel JOIN o.kernel USING (name)")" 0 "without a key nobody can try names"
late() {
  "$wavetap" ranks --json -r "$1" | sqlite3 -batch :memory: "SELECT j ->> '\$.slowest_process_id', j ->> '\$.late[0].waited_ns', j ->> '\$.late[0].cause' FROM (SELECT CAST(readfile('/dev/stdin') AS TEXT) AS j)"
}
is "$(late "$work/names.db")" "$(late "$run")" "ranks: who was late, and why"
"$wavetap" top --group class --csv -r "$run" | cut -d, -f 1-5 | sort >"$work/a"
"$wavetap" top --group class --csv -r "$work/names.db" | cut -d, -f 1-5 | sort >"$work/b"
is "$(cat "$work/b")" "$(cat "$work/a")" "classes of kernels stay"

refused() { # CODE ERROR ARGUMENT...
  code=$1 error=$2
  shift 2
  "$wavetap" "$@" >"$work/out" 2>"$work/err"
  is "$? $(head -n 1 "$work/err")$(cat "$work/out")" "$code wavetap: $error" "$*: refused in words"
}
refused 2 "--anonymise makes a file of sqlite; other formats can be exported from that one" export -r "$run" --anonymise -o x.csv
refused 2 "--hash-key is of --anonymise" export -r "$run" --hash-key x -o x.db
cp "$work/packed.db" "$work/damaged.db"
sqlite3 -batch "$work/damaged.db" "UPDATE chunk SET data = zeroblob(length(data)) WHERE chunk_id = (SELECT min(chunk_id) FROM chunk)"
"$wavetap" export -r "$work/damaged.db" -o "$work/never.db" --anonymise >"$work/out" 2>"$work/err"
is "$? $(tail -n 1 "$work/err" | sed "s,.*: ,,") $(ls "$work/never.db" 2>/dev/null)" "1 nothing is written " "damaged rows, which may hold anything, are not handed on"
is "$("$wavetap" check --json "$work/damaged.db" | grep -c '"content_hash": null')" 1 "and have no hash"

# ---- over time
rm -f "$data"/runs/*
for i in 1 2 3; do
  cp "$run" "$data/runs/2026010$i-000000-0000000$i.db"
  sqlite3 -batch "$data/runs/2026010$i-000000-0000000$i.db" "UPDATE meta SET value = 'each' WHERE key = 'name';
    UPDATE meta SET value = 1767225600000000000 + $i WHERE key = 'created_ns'; UPDATE meta SET value = '0000000$i' WHERE key = 'run_id'"
done
# Of the second no step is found: half of one.
sqlite3 -batch "$data/runs/20260102-000000-00000002.db" "DELETE FROM kernel_exec WHERE exec_id > 200; DELETE FROM ledger_mark"
echo nonsense >"$data/runs/20260104-000000-00000004.db"
"$wavetap" history each --json >"$work/history.json"
is "$?" 0 "history"
field() {
  sqlite3 -batch :memory: "SELECT group_concat($1, ' ') FROM (SELECT value AS r FROM json_each(CAST(readfile('$work/history.json') AS TEXT), '\$.rows'))"
}
"$wavetap" steps --json -r "$run" >"$work/steps.json"
median=$(sqlite3 -batch :memory: "SELECT j ->> '\$.steps.steady.median_ns' FROM (SELECT CAST(readfile('$work/steps.json') AS TEXT) AS j)")
is "$(field "r ->> 'id'") $(field "ifnull(r ->> 'step_ns', 'none')")" "00000001 00000002 00000003 $median none $median" "oldest first, with the step that steps tells"
"$wavetap" ledger --json -r "$run" >"$work/ledger.json"
is "$(field "printf('%.4f', r ->> 'gap_share')" | cut -d ' ' -f 1)" "$(sqlite3 -batch :memory: "SELECT printf('%.4f',
    (SELECT total(g.value) FROM json_each(j, '\$.devices') d, json_each(d.value, '\$.gap_by_cause_sm_ns') g) / (SELECT sum(value ->> 'total_sm_ns') FROM json_each(j, '\$.devices')))
  FROM (SELECT CAST(readfile('$work/ledger.json') AS TEXT) AS j)")" "gaps are the ledger's"
LC_ALL=C "$wavetap" history each >"$work/text" 2>"$work/err"
ok "text: a trend, and unknown is no number" grep -q "^step [0-9]\.[0-9] all .*  idle % " "$work/text"
is "$("$wavetap" history each --limit 1 --csv | tail -n +2 | cut -d, -f 1)" 00000003 "the last ones"
refused 3 "no run is called \"nosuch\" in $data (see wavetap runs)" history nosuch
refused 2 "the name is empty" history ""
done_testing

#!/bin/sh
# wavetap check: a recorded run is sound, live and ended; every class of fault, planted into a copy,
# is found in its table with its count; damaged, foreign and newer files; exit codes, JSON, SIGINT.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
make_run=$top_builddir/tests/unit/make_run

check() { # check CODE ARGUMENT...
  want=$1
  shift
  "$wavetap" check "$@" >"$work/out" 2>"$work/err"
  code=$?
  is "$code" "$want" "check $*: exit $want"
}
out_has() {
  tests_run=$((tests_run + 1))
  if tr -s " " <"$work/out" | grep -qF -- "$(printf %s "$1" | tr -s " ")"; then
    echo "ok $tests_run - says: $1"
  else
    echo "not ok $tests_run - says: $1"
    sed 's/^/#   out: /' "$work/out" "$work/err"
    tests_failed=$((tests_failed + 1))
  fi
}

check 3
ok "no run yet: said so" grep -q "there is no run" "$work/err"

# The truth: two threads, graphs, captures, failures, copies; every figure of it must agree.
WAVETAP_RUN=base WAVETAP_NAME=base tap "$app" --launches 200 --threads 2 --streams 2 --graph 5 --capture --fail-every 20 >/dev/null
settle
base=$work/base.db
cp "$(run_file)" "$base"
check 0 base
out_has "sound"
check 0
check 0 --all
check 0 -r latest base "$base"
is "$(grep -c sound "$work/out")" 3 "three files, three lines"
check 0 --json base
is "$("$make_run" json "$work/out" '$.runs[0].is_sound')|$("$make_run" json "$work/out" '$.schema')" "1|1" "JSON says so too"
check 3 nosuch
check 3 ./nosuch.db
check 2 --all base
check 2 ''

# Without hooks every kernel is without a call, graph nodes too: that is no fault.
WAVETAP_RUN=injected CUDA_INJECTION64_PATH=$library "$app" --launches 60 --graph 5 >/dev/null
settle
check 0 --all

# Launches of a thread that came before the segment was made (flag 64) have numbers above its next ones.
WAVETAP_RUN=early tap "$app" --launches 150 --threads 12 --streams 3 >/dev/null
settle
check 0 latest
is "$(sql "SELECT count(*) > 0 FROM launch_call WHERE flags & 64")" 1 "launches from before the segment are flagged"
is "$(sql "SELECT count(*) FROM (SELECT entry_ns, lag(entry_ns) OVER (PARTITION BY tid ORDER BY seq) AS before_ns
  FROM launch_call WHERE flags & 64 = 0) WHERE before_ns > entry_ns")" 0 "all others are numbered in the order of their thread"
cp "$base" "$work/early.db"
sqlite3 -batch "$work/early.db" "UPDATE launch_call SET entry_ns = 1, flags = flags | 64 WHERE seq = 300"
"$wavetap" check "$work/early.db" >"$work/out" 2>&1
# The sums of the ledger may miss what was edited; the order is what flag 64 allows.
is "$(grep -c "  order  " "$work/out")" 0 "a flagged launch may have a number above its next ones"

# fault SQL WANTED-WORDS
fault() {
  cp "$base" "$work/fault.db"
  sqlite3 -batch "$work/fault.db" "$1" || ok "planted: $1" false
  check 1 "$work/fault.db"
  out_has "$2"
}
last="(SELECT max(exec_id) FROM kernel_exec)"
fault "DELETE FROM config WHERE config_id = 1" "references  kernel_exec"
fault "UPDATE kernel_exec SET config_id = 999 WHERE exec_id = $last" "  references  kernel_exec  1  config_id is in no row of config"
fault "UPDATE kernel_exec SET process_id = 77 WHERE exec_id = $last" "  references  kernel_exec  1  process_id is in no row of proc"
fault "DELETE FROM kernel" "references  config"
fault "DELETE FROM gpu" "device_id is in no row of gpu"
fault "DELETE FROM api WHERE api = (SELECT max(api) FROM launch_call)" "api is in no row of api"
fault "UPDATE kernel_exec SET launch_seq = 1000000 WHERE exec_id = (SELECT min(exec_id) FROM kernel_exec WHERE link = 1)" \
  "  references  kernel_exec  1  launch_seq is no launch call"
fault "UPDATE kernel_exec SET link = 4 WHERE exec_id = (SELECT min(exec_id) FROM kernel_exec WHERE link = 1)" \
  "  references  kernel_exec  1  a link without its launch_seq"
fault "UPDATE kernel_exec SET end_ns = start_ns - 5 WHERE exec_id = $last" "  times  kernel_exec  1  the end lies before the start"
fault "UPDATE kernel_exec SET end_ns = NULL WHERE exec_id = $last" "  times  kernel_exec  1  one of start and end"
fault "UPDATE launch_call SET return_ns = entry_ns - 1 WHERE seq IN (3, 4)" "  times  launch_call  2  the call returned before"
fault "UPDATE proc SET last_ns = first_ns - 1" "  times  proc  1  the last instant"
fault "UPDATE kernel_exec SET wave_sm_ns = wave_max_sm_ns + 1 WHERE exec_id = $last" "  model  kernel_exec  1"
fault "DELETE FROM kernel_exec WHERE exec_id = $last" "kernels_stored is "
fault "DELETE FROM launch_call WHERE seq = 7" "launches_stored is "
fault "UPDATE launch_call SET result = 0" "launches_failed is "
fault "UPDATE proc SET launches_attempted = launches_attempted - 1" "more launches stored and dropped than attempted"
fault "UPDATE proc SET launches_linked = launches_linked + 100000" "more launches in the classes"
fault "UPDATE proc SET launches_unlinked = launches_unlinked + 3, launches_linked = launches_linked - 3" \
  "  books  proc  3  losses that no counter explains"
fault "UPDATE proc SET launches_dropped = -1" "a counter is negative"
fault "UPDATE proc SET graph_launches_stored = 0" "graph launches counted and stored differ"
fault "INSERT INTO pending_link SELECT process_id, 1, 1, 0 FROM proc" "  books  pending_link  1"
fault "UPDATE launch_call SET seq = 1000000 WHERE seq = (SELECT max(seq) FROM launch_call)" "  order  launch_call  1  seq is not below"
fault "UPDATE launch_call SET entry_ns = 1 WHERE seq = 300" "entered before the call that its thread made before (seq 300)"
fault "UPDATE api_call SET seq = 0 WHERE seq = 1" "  order  api_call  2  a graph launch has the number of another"
fault "UPDATE kernel_exec SET launch_seq = (SELECT max(launch_seq) FROM kernel_exec WHERE link = 1 AND graph_id IS NULL) WHERE exec_id = (SELECT min(exec_id) FROM kernel_exec WHERE link = 1 AND graph_id IS NULL)" \
  "  order  kernel_exec  1  a launch has two kernels"
for column in launches time_ns min_ns max_ns underfill_sm_ns wave_sm_ns wave_max_sm_ns unjudged_sm_ns first_ns last_ns; do
  fault "UPDATE config_stat SET $column = $column + 1 WHERE config_id = 1 AND in_graph = 0" "rollups  config_stat  1  process_id 1 config_id 1 in_graph 0: $column is "
done
fault "UPDATE config_stat SET m2_ns2 = m2_ns2 * 2 + 1e9" "m2_ns2 is "
fault "DELETE FROM config_stat" "kernels are stored of which there is no rollup"
fault "INSERT INTO config_stat SELECT process_id, 999, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0 FROM config_stat LIMIT 1" \
  "no kernel of it is stored"
fault "UPDATE kernel SET name = CAST(x'ff41' AS TEXT) WHERE kernel_id = 1" "  text  kernel  1  name is not UTF-8"
fault "DELETE FROM meta WHERE key = 'run_key'" "  facts  meta  1"
fault "DROP VIEW loss" "  schema  loss  1  the view is missing"
fault "ALTER TABLE copy DROP COLUMN bytes" "  schema  copy  1  the table has not the columns"
fault "DROP TABLE kernel_exec" "  schema  kernel_exec  1  the table is missing"
fault "DROP INDEX kernel_exec_waiting" "the index is missing"
fault "PRAGMA application_id = 1" "not a wavetap run file"
fault "PRAGMA user_version = 99" "made by a newer wavetap"

# Damage: a page in the middle overwritten, a file cut short, no database at all.
cp "$base" "$work/fault.db"
bytes=$(stat -c %s "$base")
dd if=/dev/urandom of="$work/fault.db" bs=1 seek=$((bytes / 2 / 4096 * 4096)) count=4096 conv=notrunc 2>/dev/null
check 1 "$work/fault.db"
out_has "integrity"
head -c $((bytes / 2)) "$base" >"$work/fault.db"
check 1 "$work/fault.db"
echo "no database" >"$work/fault.db"
check 1 "$work/fault.db"
out_has "not a wavetap run file"
check 1 --json "$work/fault.db" "$base"
is "$("$make_run" json "$work/out" '$.runs[0].problems[0].check')|$("$make_run" json "$work/out" '$.runs[1].is_sound')" "file|1" \
  "JSON: the problem of the first file, the second is checked all the same"
check 1 "$work"

# A run that is being recorded is sound at any instant.
WAVETAP_RUN=live tap "$app" --launches 3000 --threads 2 --rate 1500 >/dev/null &
app_pid=$!
tries=0
while [ "$tries" -lt 300 ] && ! "$wavetap" runs 2>/dev/null | grep -q running; do
  tries=$((tries + 1))
  sleep 0.1
done
live=$(ls -t "$data"/runs/*.db | head -n 1)
check 0 "$live"
out_has "still running"
check 0 "$live"
wait "$app_pid"
settle
check 0 --all

# SIGINT ends a long check cleanly; on a terminal, progress is shown.
big=$work/big.db
cp "$base" "$big"
sqlite3 -batch "$big" "WITH RECURSIVE n(i) AS (VALUES (1000000) UNION ALL SELECT i + 1 FROM n WHERE i < 1600000)
  INSERT INTO launch_call SELECT process_id, i, i, i, api, tid, thread32, stream, function, grid_x, grid_y, grid_z,
  block_x, block_y, block_z, dynamic_smem_bytes, 0, flags FROM n, (SELECT * FROM launch_call LIMIT 1)"
timeout -s INT 0.2 "$wavetap" check "$big" "$big" "$big" "$big" >"$work/out" 2>"$work/err"
is "$?|$(cat "$work/err")" "124|" "SIGINT: ended by the signal, without a word"
if command -v script >/dev/null 2>&1; then
  script -qec "'$wavetap' check '$big' '$big' '$big'" /dev/null </dev/null >"$work/tty" 2>&1
  if grep -q 'check [0-9]*% ' "$work/tty"; then
    ok "a terminal sees how far it is" true
  else
    echo "# done within a second: no progress to be seen"
  fi
fi
check_books
done_testing

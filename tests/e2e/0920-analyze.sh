#!/bin/sh
# wavetap analyze: what the daemon derived comes out again bit for bit, planted errors are
# repaired, and whatever stops it, the file is as it was.
. "$top_srcdir/tests/e2e/lib.sh"
export WAVETAP_TEST_PACK=0 # what is planted here is planted in rows; 0925-analyze-packed.sh has chunks

# All that is derived, floating-point numbers to the last bit; and all that is not.
derived() {
  "$run_sql" "$1" "
    SELECT config_id, blocks, blocks_per_sm, resident_blocks, printf('%!.26g', occupancy), limiter,
      printf('%!.26g', waves), printf('%!.26g', waves_sm), full_waves, last_wave_blocks, model_reason
      FROM config ORDER BY 1;
    SELECT exec_id, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns FROM kernel_exec ORDER BY 1;
    SELECT process_id, config_id, in_graph, launches, time_ns, min_ns, max_ns, printf('%!.26g', m2_ns2),
      underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, first_ns, last_ns, comm_sm_ns
      FROM config_stat ORDER BY 1, 2, 3;
    SELECT * FROM kernel_share ORDER BY 1;
    SELECT device_id, settled_ns, kernels_waiting, kernels_late, kernels_refused FROM sweep ORDER BY 1"
}
recorded() {
  "$run_sql" "$1" "
    SELECT exec_id, process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id,
      graph_id, graph_node_id, launch_seq, link FROM kernel_exec ORDER BY 1;
    SELECT * FROM proc; SELECT * FROM launch_call; SELECT * FROM api_call; SELECT * FROM gpu;
    SELECT config_id, kernel_id, device_id, grid_x, grid_y, grid_z, block_x, cluster_x, regs_per_thread,
      static_smem_bytes, dynamic_smem_bytes, cooperative, max_active_clusters, sm_count FROM config"
}
changed() { # TABLE: rows of it that the last analyze wrote
  awk -F, -v table="$1" '$1 == table { print $3 }' "$work/csv"
}

# ---- a run of the daemon's; killed and started again in between, for its sums go on then
WAVETAP_RUN=analyze tap "$top_builddir/tests/fake/app_demo" --seconds 0.5 >"$work/out" 2>&1
settle
WAVETAP_RUN=analyze tap "$top_builddir/tests/fake/app_demo" --seconds 0.2 >"$work/out" 2>&1
settle
file=$(run_file)
is "$(sql "SELECT value FROM meta WHERE key = 'analysis_version'")" 3 "the daemon notes the model"
is "$(sql "SELECT count(DISTINCT process_id), count(DISTINCT in_graph) FROM config_stat")" "2|2" \
  "two processes, kernels inside graphs and outside"
derived "$file" >"$work/derived"
recorded "$file" >"$work/recorded"
"$wavetap" analyze -r "$file" --csv >"$work/csv"
is "$?" 0 "analyze in place"
is "$(changed config) $(changed kernel_exec) $(changed kernel_share) $(changed config_stat)" "0 0 0 0" "nothing differs"
derived "$file" | cmp -s - "$work/derived"
is "$?" 0 "equal bit for bit"
is "$(sql "SELECT group_concat(key) FROM (SELECT key FROM meta WHERE key LIKE 'anal%' ORDER BY 1)")" \
  "analysis_version,analyzed_by,analyzed_ns" "who, when and which model is noted"

# ---- planted errors, one kind each in a copy
plant() { # WHAT SQL TABLE COUNT
  cp "$file" "$work/planted.db"
  sqlite3 -batch "$work/planted.db" "$2"
  derived "$work/planted.db" | cmp -s - "$work/derived"
  is "$?" 1 "planted: $1"
  "$wavetap" analyze -r "$work/planted.db" --csv >"$work/csv"
  derived "$work/planted.db" | cmp -s - "$work/derived"
  is "$?" 0 "repaired: $1"
  is "$(changed "$3")" "$4" "and counted"
  recorded "$work/planted.db" | cmp -s - "$work/recorded"
  is "$?" 0 "what was recorded stayed"
}
configs=$(sql "SELECT count(*) FROM config")
kernels=$(sql "SELECT count(*) FROM kernel_exec")
plant "occupancy and waves" "UPDATE config SET blocks = 1, blocks_per_sm = 77, resident_blocks = NULL, occupancy = 2,
  limiter = 'luck', waves = 0, waves_sm = NULL, full_waves = 9, last_wave_blocks = 9, model_reason = 'x'" \
  config "$configs"
plant "a NULL for a number" "UPDATE config SET waves = NULL WHERE config_id = 1" config 1
plant "underfill and wave" "UPDATE kernel_exec SET underfill_sm_ns = 1, wave_sm_ns = 2, wave_max_sm_ns = 3" \
  kernel_exec "$kernels"
plant "a number where none is known" "UPDATE kernel_exec SET wave_sm_ns = NULL WHERE exec_id = 5" kernel_exec 1
plant "a sum" "UPDATE config_stat SET time_ns = time_ns + 1 WHERE config_id = 2 AND process_id = 1" config_stat \
  "$(sql "SELECT count(*) FROM config_stat WHERE config_id = 2 AND process_id = 1")"
plant "no sums at all" "DELETE FROM config_stat" config_stat "$(sql "SELECT count(*) FROM config_stat")"
plant "a share of a kernel that has none" "INSERT INTO kernel_share SELECT min(exec_id), 1, 2, 3, 4, 5, 6, 7 FROM kernel_exec
  WHERE exec_id NOT IN (SELECT exec_id FROM kernel_share)" kernel_share 1
plant "sums of nothing" "INSERT INTO config_stat VALUES (1, 9999, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0),
  (77, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0)" config_stat 2

# ---- -o: the run stays
cp "$file" "$work/planted.db"
sqlite3 -batch "$work/planted.db" "UPDATE config_stat SET time_ns = 0"
derived "$work/planted.db" >"$work/wrong"
ok "-o writes a copy" "$wavetap" analyze -r "$work/planted.db" -o "$work/copy.db"
derived "$work/planted.db" | cmp -s - "$work/wrong"
is "$?" 0 "the run is as it was"
derived "$work/copy.db" | cmp -s - "$work/derived"
is "$?" 0 "the copy is right"
is "$(find "$work" -name 'copy.db?*')" "" "and one file"
"$wavetap" analyze -r "$work/planted.db" -o "$work/copy.db" 2>"$work/err"
is "$?" 1 "an existing file is not replaced"
"$wavetap" analyze -r "$work/planted.db" -o "$work/copy.db" --force >/dev/null
is "$?" 0 "but with --force"
"$wavetap" analyze -r "$work/planted.db" -o "$work/planted.db" --force 2>"$work/err"
is "$?" 2 "the run itself is no copy"
"$wavetap" analyze -r "$work/planted.db" -o "$work/no/such.db" 2>"$work/err"
is "$?" 1 "a folder that is not there"

# ---- a run that is still being recorded, and one that somebody else writes
sqlite3 -batch "$work/planted.db" "UPDATE proc SET state = 'live' WHERE process_id = 2"
"$wavetap" analyze -r "$work/planted.db" 2>"$work/err"
is "$?" 1 "a live run is refused"
ok "and told why" grep -q "still being recorded; -o FILE" "$work/err"
derived "$work/planted.db" | cmp -s - "$work/wrong"
is "$?" 0 "and left alone"
"$wavetap" analyze -r "$work/planted.db" -o "$work/live.db" >/dev/null 2>"$work/err"
is "$?" 0 "but a copy is made"
ok "and said so" grep -q "has what was there" "$work/err"
derived "$work/live.db" | cmp -s - "$work/derived"
is "$?" 0 "the copy is right"

# ---- a file that is not whole: nothing is written
cp "$file" "$work/broken.db"
sqlite3 -batch "$work/broken.db" "UPDATE kernel_exec SET config_id = 4711 WHERE exec_id = 9;
  UPDATE config_stat SET time_ns = 0"
derived "$work/broken.db" >"$work/wrong"
"$wavetap" analyze -r "$work/broken.db" 2>"$work/err"
is "$?" 1 "a kernel without its configuration"
ok "is named" grep -q "kernel_exec 9 names configuration 4711" "$work/err"
derived "$work/broken.db" | cmp -s - "$work/wrong"
is "$?" 0 "and nothing was written"

# ---- stopped in the middle: many rows, all wrong, so that much is written before the end
big=$work/big.db
cp "$file" "$big"
sqlite3 -batch "$big" "PRAGMA synchronous = OFF; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
  INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id, link,
    underfill_sm_ns) SELECT 1, 1 + i % $configs, 1000000000 + i * 1000, 1000000500 + i * 1000, 1, 1, i, 4, 7777 FROM n" \
  >/dev/null
digest() {
  sqlite3 -batch "$1" "SELECT count(*), sum(underfill_sm_ns), sum(wave_sm_ns), (SELECT sum(time_ns) FROM config_stat)
    FROM kernel_exec; PRAGMA integrity_check"
}
digest "$big" >"$work/before"
# Starts analyze on a fresh copy of $big and ends it once it has written that much of a journal.
# Sets $code; 0: too late on a loaded machine, then the file is done.
stop_in_the_middle() { # SIGNAL MODE
  rm -f "$work"/stop.db*
  cp "$big" "$work/stop.db"
  sqlite3 -batch "$work/stop.db" "PRAGMA journal_mode = $2" >/dev/null
  journal=$work/stop.db-wal
  [ "$2" = wal ] || journal=$work/stop.db-journal
  "$wavetap" analyze -r "$work/stop.db" >"$work/out" 2>"$work/err" &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    [ "$(stat -c %s "$journal" 2>/dev/null || echo 0)" -lt 500000 ] || break
    sleep 0.01
  done
  kill "-$1" "$pid" 2>/dev/null
  wait "$pid"
  code=$?
  [ "$code" -ne 0 ] || echo "# $1 came too late"
}
is_as_it_was() {
  digest "$work/stop.db" >"$work/after"
  [ "$code" -eq 0 ] || cmp -s "$work/before" "$work/after"
}
for mode in wal delete; do
  stop_in_the_middle TERM $mode
  ok "$mode: SIGTERM ends it" test "$code" -eq 143 -o "$code" -eq 0
  is "$(find "$work" -name 'stop.db-*')" "" "$mode: no journal is left"
  ok "$mode: the file is as it was" is_as_it_was
  stop_in_the_middle KILL $mode
  ok "$mode: SIGKILL: the file is as it was" is_as_it_was
  # Here a reader of ours, not sqlite3, is the first to come.
  stop_in_the_middle KILL $mode
  left=$(find "$work" -name 'stop.db-*' -size +0 | head -n 1)
  "$wavetap" top -r "$work/stop.db" --json --limit 1 >"$work/json"
  is "$?" 0 "$mode: top reads a file whose writer was killed${left:+, with a journal left over}"
  ok "$mode: the file is as it was" is_as_it_was
done

# ---- no room: the limit on file sizes stands for a full disk
cp "$big" "$work/full.db"
(
  trap '' XFSZ
  ulimit -f $(($(stat -c %s "$work/full.db") / 512 / 4))
  "$wavetap" analyze -r "$work/full.db" >"$work/out" 2>"$work/err"
)
is "$?" 1 "a journal that can't grow"
ok "is told" grep -q "the file is as it was" "$work/err"
digest "$work/full.db" | cmp -s - "$work/before"
is "$?" 0 "and the file is as it was"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  mkdir "$work/small"
  # shellcheck disable=SC2016 # for the inner shell
  unshare -m sh -c '
    mount -t tmpfs -o "size=$(($(stat -c %s "$2") / 1024 + 4096))k" small "$3" && cp "$2" "$3/run.db" || exit 9
    "$1" analyze -r "$3/run.db" 2>"$4/err" && exit 8
    [ -f "$3/run.db-journal" ] && exit 7
    cp "$3/run.db" "$4/after.db"
    "$1" analyze -r "$3/run.db" -o "$3/copy.db" 2>>"$4/err" && exit 6
    [ -z "$(find "$3" -name "copy*")" ]' sh "$wavetap" "$big" "$work/small" "$work"
  is "$?" 0 "a full disk: exit 1, and no part of a copy is left"
  digest "$work/after.db" | cmp -s - "$work/before"
  is "$?" 0 "and the file is as it was"
fi

# ---- the run of real hardware: rows to the bit, the variance (cut by other means) nearly
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$work/h200.db"
"$wavetap" analyze -r "$work/h200.db" --csv >"$work/csv"
is "$(changed config) $(changed kernel_exec)" "0 0" "H200: every integer and every number of the model is the same"
is "$(sqlite3 "$work/h200.db" "PRAGMA user_version; SELECT kernels_late FROM sweep")" "5
0" "H200: a file of version 1 becomes one of version 5, all of it swept"
cp "$work/h200.db" "$work/again.db"
sqlite3 -batch "$work/again.db" "UPDATE kernel_exec SET underfill_sm_ns = 0, wave_sm_ns = NULL; DELETE FROM config_stat;
  UPDATE config SET blocks_per_sm = NULL, waves = 1, limiter = NULL"
ok "H200: analyze" "$wavetap" analyze -r "$work/again.db"
for name in h200 again; do
  derived "$work/$name.db" | cut -d '|' -f 1-7,9- >"$work/$name.derived"
done
cmp -s "$work/h200.derived" "$work/again.derived"
is "$?" 0 "H200: from nothing the same comes out again"
is "$(sqlite3 -batch "$work/again.db" "ATTACH '$work/h200.db' AS h; SELECT count(*), max(abs(a.m2_ns2 - b.m2_ns2) > 1e-9 * b.m2_ns2)
  FROM config_stat a JOIN h.config_stat b USING (process_id, config_id, in_graph)")" "74|0" "H200: the variance to 9 digits"
derived "$work/again.db" >"$work/derived"
sqlite3 -batch "$work/again.db" "UPDATE config_stat SET m2_ns2 = m2_ns2 * (1 + 2.3e-16)"
derived "$work/again.db" | cmp -s - "$work/derived"
is "$?" 1 "H200: planted: a last bit of the variance"
"$wavetap" analyze -r "$work/again.db" >/dev/null
derived "$work/again.db" | cmp -s - "$work/derived"
is "$?" 0 "H200: repaired"
check_books
done_testing

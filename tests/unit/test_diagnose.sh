#!/bin/sh
# `wavetap diagnose` on made-up runs with one fault each, on one without, and on a recorded H200 run.
. "$top_srcdir/tests/e2e/lib.sh"

# plant NAME BLOCKS WAVE WAVE_MAX GAP_US DURATION_EXPRESSION CALL_OFFSET_US: 300 kernels of 100 us on 100 SMs in one
# stream; each starts GAP_US after the one before and is launched CALL_OFFSET_US before it starts (2 us a call).
plant() {
  run=$work/$1.db
  rm -f "$run"
  sqlite3 -batch "$run" <"$top_srcdir/schema/schema.sql" >/dev/null
  sqlite3 -batch "$run" <<SQL
INSERT INTO meta VALUES ('run_id','$1'),('run_key','k'),('name','$1'),('created_ns','1'),('hostname','h'),
  ('wavetap_version','0');
INSERT INTO proc (process_id, uuid, pid, pid_namespace, ppid, start_ticks, uid, hostname, boot_id, executable,
  command, created_ns, armed_ns, first_ns, last_ns, state, capture, reason, reason_detail, library_version,
  launches_attempted, launches_stored, launches_linked, kernels_seen, kernels_stored)
  VALUES (1, x'01', 7, 1, 1, 1, 0, 'h', 'b', '/a', 'a', 1, 1, 1000000000, 2000000000, 'finished', 2, 0, 0, '0',
  300, 300, 300, 300, 300);
INSERT INTO gpu VALUES (1, x'aa', 'Hundred', 9, 0, 100, 32, 2048, 32, 1024, 65536, 65536, 100000, 49152, 100000, 1024,
  1, 1, 1, 1, 1, 1, '0000:00:00');
INSERT INTO api VALUES (1,'cuLaunchKernel',1),(20,'cuGraphLaunch',2),(41,'cuStreamSynchronize',4),
  (60,'cuStreamWaitEvent',5),(80,'cuMemAlloc_v2',7),(111,'cuModuleLoadData',8);
INSERT INTO kernel VALUES (1,'work');
INSERT INTO config SELECT 1, 1, 1, $2,1,1, 128,1,1, 0,0,0, 32,0,0, 0,0, 100, $2, 8, 800, 0.5, 'warps', 1.0*$2/800,
  $2/100.0, 0, 0, NULL;
CREATE TEMP TABLE k AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
  SELECT i, 1000000000 + i * (100000 + $5 * 1000) + 100000 AS s, ($6) AS d FROM n;
INSERT INTO launch_call (process_id, seq, entry_ns, return_ns, api, tid, thread32, stream, function,
  grid_x,grid_y,grid_z, block_x,block_y,block_z, dynamic_smem_bytes, result, flags)
  SELECT 1, i, s - $7 * 1000, s - $7 * 1000 + 2000, 1,7,77,3,1, $2,1,1,128,1,1,0,0,0 FROM k;
INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id, launch_seq,
  link, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns)
  SELECT 1, 1, s, s + d, 1, 3, i, i, 1, d * max(0, 100 - $2), $3, $4 FROM k;
INSERT INTO config_stat SELECT 1,1,0, count(*), sum(d), min(d), max(d), sum((d - (SELECT avg(d) FROM k)) *
  (d - (SELECT avg(d) FROM k))), sum(d * max(0, 100 - $2)), sum($3), sum($4), 0, min(s), max(s + d), 0 FROM k;
$8
SQL
}
# The kinds of what is found, largest first.
kinds() {
  "$wavetap" diagnose -r "$run" --json "$@" >"$work/out.json" 2>"$work/err" || cat "$work/err"
  sqlite3 -batch :memory: "SELECT coalesce(group_concat(value ->> 'kind', ' '), 'nothing') FROM
    json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.findings')"
}
call() { # API BEFORE_START_US LENGTH_US HANDLE: a call of the launching thread before each kernel
  echo "INSERT INTO api_call (process_id, api, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
    SELECT 1, $1, s - $2 * 1000, s - ($2 - $3) * 1000, 7, 77, $4, 0, 0, 0, 0 FROM k;"
}

plant tuned 800 0 0 0.4 100000 90 ""
is "$(kinds)" nothing "kernels back to back in whole waves: nothing"
"$wavetap" diagnose -r "$run" >"$work/text"
ok "and it is said" grep -q '^nothing above 1% of SMs x wall$' "$work/text"
plant small 16 0 0 0.4 100000 90 ""
is "$(kinds)" small-grid "16 blocks on 100 SMs"
is "$(sqlite3 -batch :memory: "SELECT round(value ->> 'stake_sm_us') FROM
   json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.findings')")" 2520000.0 "at stake: 300 x 100 us x 84 SMs"
plant wave 801 1000000 4000000 0.4 100000 90 ""
is "$(kinds)" partial-wave "one block more than a wave"
plant launch 800 0 0 40 100000 8 ""
is "$(kinds)" launch-bound "launched 8 us before it starts, 40 us between kernels"
plant host 800 0 0 3000 100000 8 ""
is "$(kinds)" host "3 ms without a launch"
plant sync 800 0 0 40 100000 8 "$(call 41 130 121 3)"
is "$(kinds | cut -d' ' -f1)" sync "waiting for the GPU until just before the launch"
ok "the call is named" grep -q 'cuStreamSynchronize 300 times, 36.3ms' "$work/out.json"
plant alloc 800 0 0 40 100000 8 "$(call 80 38 29 0)"
is "$(kinds | cut -d' ' -f1)" alloc "allocating in the gap"
plant load 800 0 0 40 100000 8 "$(call 111 38 29 0)"
is "$(kinds | cut -d' ' -f1)" load "loading a module in the gap"
plant wait 800 0 0 40 100000 130 "$(call 60 135 1 3)"
is "$(kinds | cut -d' ' -f1)" dependency "launched long ago, but behind a wait for an event"
plant copy 800 0 0 40 100000 8 "INSERT INTO copy (process_id, device_id, start_ns, end_ns, bytes, is_memset, copy_kind,
  src_kind, dst_kind, flags, context_id, stream_id, correlation_id) SELECT 1,1, s - 38000, s - 2000, 1000,0,1,1,3,0,1,4,1 FROM k;"
is "$(kinds | cut -d' ' -f1)" copy-exposed "copying in the gap"
plant vary 800 0 0 0.4 "20000 + (i % 10 = 0) * 700000" 1 ""
is "$(kinds | tr ' ' '\n' | grep -c variance)" 1 "one launch in ten takes 36 times as long"
is "$(kinds --threshold 100%)" nothing "a threshold that nothing reaches"
is "$("$wavetap" diagnose -r "$run" --threshold 2x 2>&1 | head -n 1)" \
  'wavetap: --threshold: "2x" is not a percentage from 0 to 100' "a threshold that is none"

run=$work/h200.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$run"
is "$(kinds | cut -d' ' -f1)" launch-bound "H200: eager training of a small model is launch-bound"
ok "stakes of the ledger's lines are at most the whole" test "$(sqlite3 -batch :memory: \
  "SELECT sum(value ->> 'share_max') <= 1 FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.findings')
   WHERE value ->> 'is_ledger_line'")" = 1
done_testing

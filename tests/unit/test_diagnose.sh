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
  (d - (SELECT avg(d) FROM k))), sum(d * max(0, 100 - $2)), sum($3), sum($4), 0, min(s), max(s + d), 0, 0, 0, 0, 0, 0, 0 FROM k;
$8
SQL
}
# The kinds of what is found in the whole run, largest first. No two may count the same SM-time.
kinds() {
  case "$*" in
    *--from* | *--steps*) ;;
    *) set -- --from 0s "$@" ;;
  esac
  "$wavetap" diagnose -r "$run" --json "$@" >"$work/out.json" 2>"$work/err" || cat "$work/err"
  findings "iif(coalesce(sum(value ->> 'share_max'), 0) > 1.000001, 'MORE THAN ALL ', '') ||
    coalesce(group_concat(value ->> 'kind', ' '), 'nothing')"
}
findings() { # WHAT [CONDITION]: of the JSON of the last diagnosis
  sqlite3 -batch :memory: "SELECT $1 FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.findings') ${2:-}"
}
first() {
  kinds "$@" | cut -d' ' -f1
}
call() { # API BEFORE_START_US LENGTH_US HANDLE: a call of the launching thread before each kernel
  echo "INSERT INTO api_call (process_id, api, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
    SELECT 1, $1, s - $2 * 1000, s - ($2 - $3) * 1000, 7, 77, $4, 0, 0, 0, 0 FROM k;"
}

plant tuned 800 0 0 0.4 100000 90 ""
is "$(kinds)" nothing "kernels back to back in whole waves: nothing"
"$wavetap" diagnose -r "$run" >"$work/text"
ok "and it is said" grep -q '^nothing above 1% of SM-time$' "$work/text"
plant small 16 0 0 0.4 100000 90 ""
is "$(kinds)" small-grid "16 blocks on 100 SMs"
is "$(findings "round(value ->> 'stake_sm_us')")" 2520000.0 "at stake: 300 x 100 us x 84 SMs"
plant wave 801 1000000 4000000 0.4 100000 90 ""
is "$(kinds)" partial-wave "one block more than a wave"
plant launch 800 0 0 40 100000 8 ""
is "$(kinds)" launch-bound "launched 8 us before it starts, 40 us between kernels"
plant host 800 0 0 3000 100000 8 ""
is "$(kinds)" host "3 ms without a launch"
plant sync 800 0 0 40 100000 8 "$(call 41 130 121 3)"
is "$(first)" sync-each-launch "waiting for the GPU until just before each launch"
# The window begins at the first launch: 299 gaps of 40 us, of which 31 are spent in the call, one of them within the error of the clocks.
ok "the call is named, with its time in gaps" grep -q 'before 299 of 300 launches (99.7%); mostly before [a-z_]* (100.0%); cuStreamSynchronize 299 times, 9.27ms in gaps' \
  "$work/out.json"
is "$(findings "round((value ->> 'stake_sm_us') / 100 / 299) || ' ' || round((value ->> 'stake_max_sm_us') / 100 / 299)" \
  "LIMIT 1")" "30.0 40.0" "at stake: at the least what was spent in the call, at the most the gaps"
plant sometimes 800 0 0 40 100000 8 "$(call 41 130 121 3)
  DELETE FROM api_call WHERE call_id % 8 <> 0;"
is "$(kinds | tr ' ' '\n' | sort | tr '\n' ' ')" "launch-bound sync " "waiting before one launch in eight is no habit"
plant alloc 800 0 0 40 100000 8 "$(call 80 38 29 0)"
is "$(kinds | cut -d' ' -f1)" alloc "allocating in the gap"
plant load 800 0 0 40 100000 8 "$(call 111 38 29 0)"
is "$(kinds | cut -d' ' -f1)" load "loading a module in the gap"
# 3 ms each, 100 us of it loading (2 of them within the error of the clocks): the rest is compiling, at the most. Looking a function up is not.
plant autotune 800 0 0 3000 100000 8 "$(call 111 138 100 0)"
is "$(kinds)" load "compiling a variant of a kernel that ran before"
is "$(findings "round((value ->> 'stake_sm_us') / 100 / 299) || ' ' || round((value ->> 'stake_max_sm_us') / 100 / 299)")" \
  "98.0 3000.0" "at stake: the loading at the least, the gaps at the most"
plant lookup 800 0 0 3000 100000 8 "$(call 111 138 1 0)"
is "$(kinds)" host "looking a function up explains nothing"
plant wait 800 0 0 40 100000 130 "$(call 60 135 1 3)"
is "$(kinds | cut -d' ' -f1)" dependency "launched long ago, but behind a wait for an event"
plant copy 800 0 0 40 100000 8 "INSERT INTO copy (process_id, device_id, start_ns, end_ns, bytes, is_memset, copy_kind,
  src_kind, dst_kind, flags, context_id, stream_id, correlation_id) SELECT 1,1, s - 38000, s - 2000, 1000,0,1,2,3,0,1,4,1 FROM k;"
is "$(first)" copy-exposed "copying in the gap"
ok "how much was hidden, and what was copied" grep -q \
  'kernels ran during 0.0% of their time; HtoD pinned to device 300 times, 293.0 KiB, 10.8ms' "$work/out.json"
is "$(kinds --overlap 0%)" launch-bound "unless copies need not be hidden"
plant vary 800 0 0 0.4 "20000 + (i % 10 = 0) * 700000" 1 ""
is "$(kinds | tr ' ' '\n' | grep -c variance)" 1 "one launch in ten takes 36 times as long"
is "$(kinds --threshold 100%)" nothing "a threshold that nothing reaches"
is "$("$wavetap" diagnose -r "$run" --threshold 2x 2>&1 | head -n 1)" \
  'wavetap: --threshold: "2x" is not a percentage from 0 to 100' "a threshold that is none"

# ---- copies
copy() { # FROM_US TO_US MEMORY: a copy that begins and ends so long before the start of each kernel
  echo "INSERT INTO copy (process_id, device_id, start_ns, end_ns, bytes, is_memset, copy_kind, src_kind, dst_kind,
    flags, context_id, stream_id, correlation_id) SELECT 1,1, s - $1 * 1000, s - $2 * 1000, 1000,0,1,$3,3,0,1,4,1 FROM k;"
}
plant pageable 800 0 0 40 100000 8 "$(copy 38 2 1)"
is "$(first)" copy-pageable "copying pageable memory in the gap"
plant both 800 0 0 40 100000 8 "$(copy 38 22 1) $(copy 21 2 2)"
is "$(first) $(findings "round((value ->> 'stake_sm_us') / 100 / 300)" "WHERE value ->> 'kind' LIKE 'copy%'" |
  tr '\n' ' ')" "copy-exposed 19.0 16.0 " "pageable and pinned memory, each with its own time"
plant hidden 800 0 0 40 100000 8 "$(copy 138 22 2)"
is "$(kinds)" launch-bound "copies of which kernels hide 84%: fine"
is "$(kinds --overlap 90 | tr ' ' '\n' | grep -c copy-exposed)" 1 "but not for who wants 90%"

# ---- chains of small kernels: 5 us each, 100 us apart
plant chain 800 0 0 0 5000 8 ""
is "$(first)" small-kernels "300 kernels of 5 us, 95 us apart"
ok "with what a launch costs" grep -q '300 kernels in 1 chain of 20 or more, each under 10 us, 5.00us on average' "$work/out.json"
plant links 800 0 0 0 "iif(i % 15, 5000, 20000)" 8 ""
is "$(first)" launch-bound "never more than 14 in a row: no chain"

# ---- graphs of ten kernels back to back, each launched 8 us before it starts, 60 us after the one before ended
graphs="UPDATE kernel_exec SET start_ns = start_ns + launch_seq / 10 * 60000, end_ns = end_ns + launch_seq / 10 * 60000,
    graph_id = 1, graph_node_id = launch_seq % 10, launch_seq = launch_seq / 10;
  DELETE FROM launch_call;
  INSERT INTO api_call (process_id, api, seq, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
    SELECT 1, 20, launch_seq, min(start_ns) - 8000, min(start_ns) - 6000, 7, 77, 3, 9, 0, 0, 0 FROM kernel_exec GROUP BY launch_seq;
  UPDATE config_stat SET first_ns = first_ns, last_ns = last_ns + 29 * 60000;"
plant breaks 800 0 0 0.4 100000 8 "$graphs"
is "$(first)" graph-break "60 us between two launches of a graph"
ok "all of them" grep -q '29 breaks of more than 12.8us' "$work/out.json"
is "$(first --graph-gap 61us)" launch-bound "not a break for who allows 61 us"
is "$("$wavetap" diagnose -r "$run" --graph-gap 60 2>&1 | head -n 1)" \
  'wavetap: --graph-gap: "60" is no time with a unit, ns, us, ms, s, min or h' "a time without a unit"
plant waits 800 0 0 0.4 100000 8 "$graphs
  INSERT INTO api_call (process_id, api, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
    SELECT 1, 41, entry_ns - 90000, entry_ns - 40000, 7, 77, 3, 0, 0, 0, 0 FROM api_call WHERE api = 20;"
is "$(first)" sync-each-launch "after a wait it is no break"

# ---- kernels that are new: launch N comes 50 ms later, and its kernel had not run before; 10 ms are spent loading
new() {
  echo "INSERT INTO kernel VALUES (2, 'late_one');
  INSERT INTO config SELECT 2, 2, device_id, grid_x,grid_y,grid_z, block_x,block_y,block_z, 0,0,0, 32,0,0, 0,0, 100, blocks, 8, 800,
    0.5, 'warps', 1, 8, 0, 0, NULL FROM config;
  UPDATE kernel_exec SET start_ns = start_ns + 50000000, end_ns = end_ns + 50000000 WHERE launch_seq >= $1;
  UPDATE launch_call SET entry_ns = entry_ns + 50000000, return_ns = return_ns + 50000000 WHERE seq >= $1;
  UPDATE kernel_exec SET config_id = 2 WHERE launch_seq = $1;
  UPDATE config_stat SET last_ns = last_ns + 50000000;
  INSERT INTO config_stat SELECT 1, 2, 0, 1, end_ns - start_ns, end_ns - start_ns, end_ns - start_ns, 0, 0, 0, 0, 0, start_ns, end_ns, 0, 0, 0, 0, 0, 0, 0
    FROM kernel_exec WHERE config_id = 2;
  INSERT INTO api_call (process_id, api, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
    SELECT 1, 111, start_ns - 20000000, start_ns - 10000000, 7, 77, 0, 0, 0, 0, 0 FROM kernel_exec WHERE config_id = 2;"
}
plant late 800 0 0 0.4 100000 8 "$(new 200)"
is "$(kinds)" late-load "a new kernel in the middle"
ok "is named, with when" grep -q 'late_one 70.2ms into the window; cuModuleLoadData once, 10.0ms in gaps' "$work/out.json"
is "$(findings "round((value ->> 'stake_sm_us') / 100) || ' ' || round((value ->> 'stake_max_sm_us') / 100)")" "9998.0 50000.0" \
  "at stake: the loading at the least, the gap at the most"
plant cold 800 0 0 0.4 100000 8 "$(new 20)"
is "$(kinds)" cold-start "a new kernel in the first tenth"

# ---- steps of ten kernels, 3 ms before each
plant steps 800 0 0 0.4 100000 8 "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
    INSERT INTO kernel SELECT i, 'work' || i FROM n;
  INSERT INTO config SELECT k.kernel_id, k.kernel_id, device_id, grid_x,grid_y,grid_z, block_x,block_y,block_z, 0,0,0, 32,0,0, 0,0, 100,
    blocks, 8, 800, 0.5, 'warps', 1, 8, 0, 0, NULL FROM config c JOIN kernel k ON k.kernel_id > 1;
  UPDATE kernel_exec SET config_id = 1 + launch_seq % 10, start_ns = start_ns + launch_seq / 10 * 3000000,
    end_ns = end_ns + launch_seq / 10 * 3000000;
  UPDATE launch_call SET entry_ns = entry_ns + seq / 10 * 3000000, return_ns = return_ns + seq / 10 * 3000000;
  DELETE FROM config_stat;
  INSERT INTO config_stat SELECT 1, config_id, 0, count(*), sum(end_ns - start_ns), min(end_ns - start_ns),
    max(end_ns - start_ns), 0, 0, 0, 0, 0, min(start_ns), max(end_ns), 0, 0, 0, 0, 0, 0, 0 FROM kernel_exec GROUP BY config_id;"
is "$(first)" data-loading "3 ms before the first kernel of each step"

# ---- kernels with few warps
few() { # NAME
  echo "UPDATE kernel SET name = '$1'; UPDATE config SET occupancy = 0.125, limiter = 'registers', regs_per_thread = 255;"
}
plant few 800 0 0 0.4 100000 90 "$(few gather)"
is "$(kinds) $(findings "(value ->> 'is_ledger_line') || ' ' || (value ->> 'stake_sm_us')")" "occupancy 0 0.0" \
  "an eighth of the warps, by registers: a bound, no idle time"
plant gemm 800 0 0 0.4 100000 90 "$(few sgemm_128x128)"
is "$(kinds)" nothing "but not of a GEMM"
ok "and why is said" sh -c '"$1" diagnose -r "$2" | grep -A 3 "few warps on an SM on purpose" | grep -q "^ *99.3%  *sgemm_128x128"' - "$wavetap" "$run"
plant persistent 16 0 0 0.4 100000 90 "UPDATE kernel SET name = 'gemm_persistent_kernel';"
is "$(kinds)" nothing "a persistent kernel may leave SMs alone"
ok "and why is said" grep -q '"reason": "persistent or Stream-K by its name' "$work/out.json"

# ---- two ranks, a device each; rank 1 is rank 0 with SHIFT_US and FACTOR
ranks() { # SHIFT_US FACTOR
  echo "INSERT INTO proc SELECT 2, x'02', 8, 1, 1, 1, 0, 'h', 'b', '/a', 'a', 1, 1, 2, created_ns, armed_ns, finished_ns,
      first_ns, last_ns, state, capture, 0, 0, NULL, '0', NULL, NULL, NULL, 0,0,0,0, 300,0,0,0,300,0,0,0,0,0,0,0,0,0,0,0, 0,0,0, 300,0,0,
      300,0,0,0,0,0, 300,0,0,0,0 FROM proc;
    UPDATE proc SET rank = process_id - 1;
    INSERT INTO gpu SELECT 2, x'ab', name, cc_major, cc_minor, sm_count, warp_size, max_threads_per_sm, max_blocks_per_sm,
      max_threads_per_block, regs_per_sm, regs_per_block, smem_per_sm_bytes, smem_per_block_bytes, smem_per_block_optin_bytes,
      smem_reserved_per_block_bytes, l2_bytes, clock_khz, mem_clock_khz, mem_bus_bits, mem_total_bytes, driver_version, pci FROM gpu;
    INSERT INTO config SELECT 2, kernel_id, 2, grid_x,grid_y,grid_z, block_x,block_y,block_z, 0,0,0, 32,0,0, 0,0, 100, blocks, 8, 800,
      0.5, 'warps', waves, waves_sm, 0, 0, NULL FROM config;
    INSERT INTO launch_call SELECT 2, seq, entry_ns + $1 * 1000, return_ns + $1 * 1000, api, tid, thread32, stream, function, grid_x,grid_y,grid_z,
      block_x,block_y,block_z, 0, 0, 0 FROM launch_call;
    INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id, launch_seq, link,
      underfill_sm_ns, wave_sm_ns, wave_max_sm_ns) SELECT 2, 2, start_ns + $1 * 1000,
      start_ns + $1 * 1000 + (end_ns - start_ns) * $2, 1, 3, correlation_id, launch_seq, 1, underfill_sm_ns * $2, 0, 0 FROM kernel_exec;
    INSERT INTO config_stat SELECT 2, 2, 0, 300, time_ns * $2, min_ns * $2, max_ns * $2, m2_ns2 * $2 * $2, underfill_sm_ns * $2, 0, 0, 0,
      first_ns + $1 * 1000, (SELECT max(end_ns) FROM kernel_exec WHERE process_id = 2), 0, 0, 0, 0, 0, 0, 0 FROM config_stat;"
}
plant ranks 800 0 0 140 100000 8 "$(ranks 0 2)"
is "$(kinds | tr ' ' '\n' | grep -c slow-rank)" 1 "kernels take twice as long on one rank"
ok "which is named" grep -q 'rank 1 on device 2: 100.0% longer than the fastest of each kernel, rank 0 on device 1: 0.0% longer' "$work/out.json"
plant even 800 0 0 140 100000 8 "$(ranks 0 1)"
is "$(kinds | tr ' ' '\n' | grep -c slow-rank)" 0 "on both alike: nothing"
# Collectives of 10 blocks; rank 1 comes 50 us later, and they end together.
plant collective 10 0 0 0.4 100000 90 "UPDATE kernel SET name = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)'; $(ranks 50 0.5)"
is "$(first)" comm-exposed "collectives alone"
is "$(kinds | tr ' ' '\n' | sort | tr '\n' ' ')" "comm-exposed rank-imbalance turnaround " "and ranks that wait for each other"
ok "who for whom" grep -q 'was rank 1 in 300 of 300 collectives; waited: rank 0 15.0ms, rank 1 0ns' "$work/out.json"
# Of 300 x 100 us on device 1 half is waiting, with 90 SMs idle; device 2 runs half as long and waits for nobody.
is "$(findings "(value ->> 'kind') || ' ' || round((value ->> 'stake_sm_us') / 90 / 300)" "WHERE value ->> 'kind' IN ('comm-exposed', 'rank-imbalance')" |
  sort | tr '\n' ' ')" "comm-exposed 100.0 rank-imbalance 50.0 " "each with its part"

run=$work/h200.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$run"
is "$(kinds | cut -d' ' -f1)" small-kernels "H200: eager training of a small model is chains of small kernels"
ok "stakes of the ledger's lines are at most the whole" test "$(sqlite3 -batch :memory: \
  "SELECT sum(value ->> 'share_max') <= 1 FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.findings')
   WHERE value ->> 'is_ledger_line'")" = 1

# ---- recordings of H200s, against SQL that shares nothing with the product
recorded() { # NAME...: imports recordings as one run
  run=$work/$1.db
  for name; do set -- "$@" "$top_srcdir/tests/data/$name.wtrec"; shift; done
  rm -f "$run"
  "$wavetap" import -o "$run" "$@" >"$work/import" 2>&1 || cat "$work/import"
}
# Chains: islands of kernels under 10 us between longer ones and gaps of more than 1 ms.
recorded h200-train-eager
want=$(sqlite3 -batch "$run" "WITH k AS (SELECT exec_id, start_ns s, end_ns t, max(end_ns) OVER (ORDER BY start_ns, exec_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) p FROM kernel_exec WHERE end_ns > start_ns),
  b AS (SELECT *, t - s < 10000 AS small, sum(t - s >= 10000 OR s - p > 1000000 OR p IS NULL) OVER (ORDER BY s, exec_id) AS island
    FROM k)
  SELECT format('%,d kernels in %,d chains', sum(n), count(*)) FROM (SELECT sum(small) AS n, sum(iif(small, t - s, 0)) AS busy,
    sum(iif(small, max(0, s - p), 0)) AS idle FROM b GROUP BY island HAVING n >= 20) WHERE idle > busy")
kinds >/dev/null
ok "eager training: $want" grep -q "$want" "$work/out.json"
is "$(first --steps 20:50)" small-kernels "eager training, steps 20 to 50: chains of small kernels"
# The k-th collective of each kernel and rank: who came first waited until the other came.
recorded h200x2-ddp-rank0 h200x2-ddp-rank1
want=$(sqlite3 -batch "$run" "WITH c AS (SELECT p.rank, c.kernel_id k, e.start_ns s, e.end_ns t, row_number() OVER
    (PARTITION BY e.process_id, c.kernel_id ORDER BY e.start_ns) r FROM kernel_exec e JOIN config c USING (config_id)
    JOIN kernel USING (kernel_id) JOIN proc p ON p.process_id = e.process_id WHERE name LIKE '%nccl%')
  SELECT group_concat(format('rank %d %.1fms', rank, ms), ', ') FROM (SELECT a.rank, sum(b.s - a.s) / 1e6 AS ms FROM c a JOIN c b
    USING (k, r) WHERE a.rank <> b.rank AND a.s < b.s AND a.t > b.s GROUP BY 1 ORDER BY 2 DESC)")
is "$(first --from 6.2s)" rank-imbalance "DDP, after the start-up: ranks that wait for each other"
kinds >/dev/null
ok "DDP: $want" grep -q "collectives; waited: $want" "$work/out.json"
# Copies on a side stream: time of copies in which no kernel ran, of both directions.
recorded h200-copies-side
want=$(sqlite3 -batch "$run" "SELECT round(sum(end_ns - start_ns) * 132 / 1e3) FROM copy WHERE NOT EXISTS (SELECT 1 FROM kernel_exec e
  WHERE e.start_ns < copy.end_ns AND e.end_ns > copy.start_ns)")
kinds >/dev/null
is "$(findings "round(value ->> 'stake_sm_us')" "WHERE value ->> 'kind' = 'copy-exposed'")" "$want" \
  "copies on a side stream: $want SM-us are exposed"
# Whatever is shared out, nothing of a gap is lost: but for gaps that are all within the error of the clocks,
# findings have what the ledger has.
for name in h200-train-eager h200-train-compile h200-triton h200-infer-tiny h200-copies-side; do
  recorded "$name"
  is "$(kinds --threshold 0 --overlap 100 | grep -c 'MORE THAN ALL')" 0 "$name: stakes are at most the whole"
  found=$(findings "sum(value ->> 'stake_max_sm_us')" "WHERE value ->> 'is_ledger_line' AND value ->> 'kind' NOT LIKE 'small-grid%'
    AND value ->> 'kind' NOT IN ('partial-wave', 'comm-exposed', 'rank-imbalance')")
  "$wavetap" ledger -r "$run" --from 0s --json >"$work/ledger.json"
  is "$(sqlite3 -batch :memory: "SELECT $found * 1000 BETWEEN 0.999 * sum(iif(key = 'undecided', 0, atom)) AND sum(atom) + 1000 FROM
    json_each(CAST(readfile('$work/ledger.json') AS TEXT), '$.devices[0].gap_by_cause_sm_ns')")" 1 "and the gaps' are all of them"
done
done_testing

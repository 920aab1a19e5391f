#!/bin/sh
# The less usual ways to use the driver: per-thread default streams, clusters, attributes, child
# graphs, conditional nodes, updated nodes, several contexts, green contexts, threads, streams and
# modules that come and go, correlation ids that wrap. For each: what the program counted is what is
# stored, class by class; each kernel has the geometry, times and ids that the simulated device
# says it ran with, and is linked to the very call, by thread and time, that launched it.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
export WTFAKE_DEVICES=2 WTFAKE_SMS=132

value() { # "a=1 b=2" KEY
  printf '%s\n' "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"
}

# Kernels as the device ran them against those stored, and the call that each is linked to against
# the one that it came from.
against_truth() { # NAME
  sqlite3 -batch "$(run_file)" "
    CREATE TEMP TABLE truth AS
      SELECT value ->> 'kernel' AS kernel, value ->> '\$.grid[0]' AS grid_x, value ->> '\$.block[0]' AS block_x,
        value ->> 'device' AS ordinal, value ->> 'context' AS context_id, value ->> 'stream' AS stream_id,
        value ->> 'correlation' AS correlation_id, value ->> 'node' AS node, value ->> 'sms' AS sms,
        value ->> 'record_start_ns' AS start_ns, value ->> 'record_end_ns' AS end_ns,
        value ->> 'tid' AS tid, value ->> 'call_ns' AS call_ns
      FROM json_each('[' || replace(rtrim(readfile('$work/truth.jsonl'), char(10)), char(10), ',') || ']');
    CREATE TEMP TABLE stored AS
      SELECT kernel, grid_x, block_x, ordinal, context_id, stream_id, correlation_id,
        coalesce(graph_node_id, 0) AS node, sm_count AS sms, start_ns, end_ns, launch_seq, process_id
      FROM launch JOIN process_gpu USING (process_id, device_id);
    CREATE TEMP TABLE graph_call AS SELECT * FROM api_call WHERE api IN (SELECT api FROM api WHERE class = 2);
    CREATE INDEX temp.graph_call_by ON graph_call (seq);
    CREATE INDEX temp.stored_by ON stored (correlation_id, start_ns);
    SELECT count(*), count(DISTINCT correlation_id || ' ' || node || ' ' || start_ns) = count(*) FROM truth;
    SELECT count(*) FROM (SELECT kernel, grid_x, block_x, ordinal, context_id, stream_id, correlation_id, node, sms,
      start_ns, end_ns FROM truth EXCEPT SELECT kernel, grid_x, block_x, ordinal, context_id, stream_id,
      correlation_id, node, sms, start_ns, end_ns FROM stored);
    SELECT count(*) FROM truth t JOIN stored s USING (correlation_id, node, start_ns)
      LEFT JOIN launch_call l ON t.node = 0 AND l.process_id = s.process_id AND l.seq = s.launch_seq
      LEFT JOIN graph_call a ON t.node <> 0 AND a.seq = s.launch_seq
      WHERE coalesce(l.tid, a.tid) = t.tid
        AND t.call_ns BETWEEN coalesce(l.entry_ns, a.entry_ns) AND coalesce(l.return_ns, a.return_ns);
  " | tr '\n' ' '
}

check() { # NAME PROGRAM ARGS...
  name=$1
  shift
  rm -f "$work/truth.jsonl"
  export WAVETAP_RUN="$name" WTFAKE_TRUTH="$work/truth.jsonl"
  tap "$@" >"$work/out" 2>"$work/err"
  is "$?|$(cat "$work/err")" "0|" "$name: it ran, nothing on stderr"
  printed=$(tail -n 1 "$work/out")
  settle
  kernels=$(value "$printed" kernels)
  is "$(sql "SELECT launches_attempted + graph_launches, launches_failed, launches_captured, graph_launches,
      kernels_graph, kernels FROM loss")" \
    "$(value "$printed" attempted)|$(value "$printed" failed)|$(value "$printed" captured)|$(value \
      "$printed" graph_launches)|$(value "$printed" node_kernels)|$kernels" \
    "$name: attempted, failed, captured, graph launches, their kernels, kernels"
  is "$(sql "SELECT kernels_cupti_only, kernels_device, kernels_no_time, launches_linked_by_order, launches_unlinked,
      launches_in_flight, launches_unobserved, entries_unknown, unexplained FROM loss")" "0|0|0|0|0|0|0|0|0" \
    "$name: every kernel linked exactly, nothing unexplained"
  is "$(sql "SELECT state, capture FROM process")" "finished|full" "$name: finished, fully captured"
  is "$(against_truth)" "$kernels|1 0 $kernels " "$name: geometry, times, ids and calls are true for every kernel"
}

check per-thread "$fake/app_launch" --launches 300 --threads 6 --how ptsz --kind mix --graph 3
# Six threads' own default streams; the graphs run on them as well.
is "$(sql "SELECT count(DISTINCT stream_id), count(DISTINCT tid), count(DISTINCT stream_id || ' ' || tid)
    FROM launch WHERE graph_id IS NULL")" "6|6|6" "per-thread: one stream a thread"

# The link among threads that launch the same configuration into shared streams.
check same-launches "$fake/app_launch" --launches 2500 --threads 8 --streams 4 --kind plain --us 1
check same-by-cudart "$fake/app_launch" --launches 1000 --threads 8 --streams 4 --how cudart --kind mix --us 1

export WTFAKE_UNORDERED=1 WTFAKE_DELAY_MS=150
check unordered-late "$fake/app_launch" --launches 500 --threads 8 --streams 4 --kind mix --graph 4 --us 1
unset WTFAKE_UNORDERED WTFAKE_DELAY_MS

export WTFAKE_CORRELATION_START=4294966296
check wrapping-ids "$fake/app_launch" --launches 500 --threads 4 --graph 5
is "$(sql "SELECT min(correlation_id) < 1000, max(correlation_id) > 4294966000 FROM kernel_exec")" "1|1" "wrapping-ids: they did"
unset WTFAKE_CORRELATION_START

check clusters "$fake/app_cover" clusters
is "$(sql "SELECT group_concat(DISTINCT cluster_x) FROM (SELECT cluster_x FROM config ORDER BY 1)")" "1,2,4,8" \
  "clusters: their sizes are known"
is "$(sql "SELECT count(*) FROM config WHERE max_active_clusters = 0 OR (cooperative = 0 AND cluster_x > 1
    AND resident_blocks IS NOT max_active_clusters * cluster_x)")" 0 "clusters: how many fit is known and used"
is "$(sql "SELECT sum(cooperative) FROM launch")" 100 "clusters: cooperative ones among them"
is "$(sql "SELECT sum((flags & 2) <> 0) FROM launch_call")" 150 "clusters: programmatic ones among them"
check attributes "$fake/app_cover" attributes
is "$(sql "SELECT sum((flags & 32) <> 0), sum((flags & 32) <> 0 AND grid_x = 0) FROM launch_call")" "50|50" \
  "attributes: calls without a configuration are kept as such"
check children "$fake/app_cover" children
check conditionals "$fake/app_cover" conditionals
is "$(sql "SELECT group_concat(grid_x || ':' || n) FROM (SELECT grid_x, count(*) AS n FROM launch GROUP BY 1 ORDER BY 1)")" \
  "11:30,12:30,14:30,15:210,16:210,30:30" "conditionals: each body as often as it ran, no more"
# Were CUPTI to leave out what belongs to the graph, the correlation id still tells; and what it
# does not record is no loss that anybody could count, but nothing is made up for it either.
for bodies in plain first; do
  export WAVETAP_RUN="bodies-$bodies" WTFAKE_BODIES="$bodies"
  tap "$fake/app_cover" conditionals >"$work/out" 2>"$work/err"
  settle
  case $bodies in plain) kernels=540 ;; first) kernels=180 ;; esac
  is "$(sql "SELECT graph_launches, kernels, kernels_graph, kernels_cupti_only, unexplained FROM loss")" \
    "30|$kernels|$kernels|0|0" "conditionals, $bodies: kernels of graph launches, nothing unexplained"
  is "$(sql "SELECT count(*), count(DISTINCT launch_seq) FROM kernel_exec WHERE link = 1")" "$kernels|30" \
    "conditionals, $bodies: linked to their launches"
  is "$(sql "SELECT count(*) FROM launch WHERE graph_id IS NULL"),$(sql "SELECT sum(launches_in_graph) FROM kernel_idle")" \
    "0,$kernels" "conditionals, $bodies: none is taken for a launch of its own"
done
unset WTFAKE_BODIES
check updates "$fake/app_cover" updates
is "$(sql "SELECT count(*) FROM launch WHERE grid_x >= 1000")" 40 "updates: geometry as executed"
check contexts "$fake/app_cover" contexts
is "$(sql "SELECT count(DISTINCT context_id), count(DISTINCT device_id) FROM launch")" "12|2" "contexts: twelve on two devices"
check greens "$fake/app_cover" greens
is "$(sql "SELECT sum(is_green), min(sm_count), max(sm_count) FROM context WHERE is_green")" "3|40|40" \
  "greens: contexts of 40 SMs"
is "$(sql "SELECT min(sm_count), max(sm_count), sum(e.underfill_sm_ns <> (end_ns - start_ns) * max(0, 40 - blocks))
    FROM kernel_exec e JOIN config USING (config_id)")" "40|40|0" "greens: underfill by itself counts their SMs, not the device's"
ok "greens: with the device's SMs that no kernel can reach the rows sum to the ledger" sums_to_ledger
check green-first "$fake/app_cover" green-first
is "$(sql "SELECT min(sm_count), max(sm_count) FROM launch")|$(sql "SELECT reason IS NULL FROM process")" "16|16|1" \
  "green-first: CUPTI was armed before it"
check threads "$fake/app_cover" threads
ok "threads: two thousand" test "$(sql "SELECT count(DISTINCT tid) FROM launch_call")" -ge 1900
check streams "$fake/app_cover" streams
export WTFAKE_REUSE_HANDLES=1
check modules "$fake/app_cover" modules
ok "modules: handles came back" grep -q '^reused=1[0-9][0-9]$' "$work/out"
is "$(sql "SELECT count(DISTINCT kernel), count(DISTINCT function) < 10 FROM launch JOIN launch_call l
    ON l.process_id = launch.process_id AND l.seq = launch_seq")" "200|1" "modules: names by kernel, not by handle"

check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

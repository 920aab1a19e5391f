#!/bin/sh
# The recordings of real runs in tests/data, through import, the daemon's drain, links and store, and the
# readers; against figures worked out by hand: from what the workloads do (their source is in tests/gpu/),
# and from single rows with sqlite3.
. "$top_srcdir/tests/e2e/lib.sh"

by_hand() {
  "$run_sql" "$run" "$1"
}

json() { # FILE SQL: over the JSON document j
  sqlite3 -batch :memory: "WITH d AS (SELECT CAST(readfile('$1') AS TEXT) AS j) $2"
}

# opened NAME LAUNCHES KERNELS CAPTURED GRAPH-LAUNCHES GRAPH-KERNELS: imported, whole, sound, accounted for,
# and the sums of the readers are those of the rows.
opened() {
  recording=$top_srcdir/tests/data/h200-$1.wtrec run=$work/$1.db
  "$wavetap" import -o "$run" "$recording" >"$work/out" 2>"$work/err"
  is "$?|$(cat "$work/err")" "0|" "$1: imported"
  ok "$1: whole" grep -q ' whole$' "$work/out"
  ok "$1: under 1 MiB" test "$(stat -c %s "$recording")" -lt 1048576
  is "$("$wavetap" check "$run" | tr -s ' ' | cut -d ' ' -f 3)" sound "$1: sound"
  is "$(by_hand "SELECT launches_attempted, kernels, launches_captured, graph_launches, kernels_graph, kernels_linked,
    launches_linked_by_order, kernels_cupti_only, unexplained FROM loss")" "$2|$3|$4|$5|$6|$(($3 - $6))|0|0|0" \
    "$1: launches hooked - captured + nodes of graphs = kernels, all linked by CUPTI's own records"
  is "$(by_hand "SELECT count(*) FROM kernel_exec e JOIN launch_call l USING (process_id)
    WHERE e.graph_id IS NULL AND l.seq = e.launch_seq AND l.result = 0 AND l.entry_ns < e.start_ns + 2000")" "$(($3 - $6))" \
    "$1: no kernel starts before its call was entered"
  is "$(by_hand "SELECT count(*) FROM (SELECT 1 FROM kernel_exec WHERE graph_id IS NULL
    GROUP BY launch_seq HAVING count(*) > 1)")" 0 "$1: no call has two kernels"
  "$wavetap" ledger -r "$run" --all --json >"$work/ledger.json"
  is "$(json "$work/ledger.json" "SELECT j ->> '$.devices[0].busy_ns', j ->> '$.devices[0].residual_sm_ns',
      j ->> '$.devices[0].total_sm_ns' = 132 * (j ->> '$.devices[0].wall_ns') FROM d")" \
    "$(by_hand "SELECT sum(max(0, end_ns - max(start_ns, coalesce(before_ns, 0)))) FROM (SELECT start_ns, end_ns,
      max(end_ns) OVER (ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
      FROM kernel_exec)")|0|1" "$1: the ledger's busy time is the union of the rows, and nothing is left over"
  "$wavetap" top -r "$run" --all --json --limit 0 >"$work/top.json"
  is "$(json "$work/top.json" "SELECT sum(value ->> 'launches'), sum(value ->> 'time_ns') FROM d, json_each(j, '$.rows')")" \
    "$(by_hand "SELECT count(*), sum(end_ns - start_ns) FROM kernel_exec")" "$1: top has every kernel and its time"
}

of_kernel() { # PATTERN: launches, and underfill of the model by hand: T x (S - G)
  by_hand "SELECT count(*), sum((end_ns - start_ns) * (132 - grid_x * grid_y * grid_z))
    FROM kernel_exec JOIN config USING (config_id) JOIN kernel k USING (kernel_id) WHERE k.name LIKE '$1'"
}
stored() { # PATTERN: the same of the rollups
  by_hand "SELECT sum(launches), sum(underfill_sm_ns) FROM kernel_idle WHERE kernel LIKE '$1'"
}

# ---- eager training: 10 + 50 steps of a transformer of eight blocks, a flash attention each
opened train-eager 29480 29480 0 0 0
is "$(of_kernel '%flash_bprop%' | cut -d '|' -f 1)|$(of_kernel '%flash_fprop%' | cut -d '|' -f 1)" "480|480" \
  "60 steps x 8 blocks: attention, forward and backward"
is "$(stored '%flash_bprop%')" "$(of_kernel '%flash_bprop%')" "64 blocks on 132 SMs: 68 idle, as long as it runs"
is "$(by_hand "SELECT DISTINCT blocks_per_sm, resident_blocks, limiter, last_wave_blocks FROM config JOIN kernel USING (kernel_id)
  WHERE name LIKE '%CUDAFunctor_add%' AND grid_x = 512 AND block_x = 128 AND regs_per_thread = 32")" \
  "16|2112|warps+registers|512" "128 threads of 32 registers: 2048 / 128 = 16 blocks an SM"
"$wavetap" steps -r "$run" --json >"$work/steps.json"
is "$(json "$work/steps.json" "SELECT j ->> '$.steps.period_launches' FROM d")" 488 "a step is 488 launches"
steps=$(json "$work/steps.json" "SELECT j ->> '$.steps.count' FROM d")
ok "59 or 60 of the 60 steps are found: $steps" test "$steps" -ge 59 -a "$steps" -le 60

# ---- torch.compile with graphs: 10 + 60 steps; two graphs of 283 and 132 nodes, captured once, 69 times replayed
opened train-compile 14160 42380 415 138 $((69 * (283 + 132)))
is "$(by_hand "SELECT count(*), count(DISTINCT launch_seq), count(DISTINCT graph_node_id) FROM kernel_exec
  WHERE graph_id IS NOT NULL GROUP BY graph_id ORDER BY 3" | tr '\n' ' ')" "$((69 * 132))|69|132 $((69 * 283))|69|283 " \
  "each node of each graph once a launch"
is "$(of_kernel '%flash_bprop%' | cut -d '|' -f 1)" $((70 * 8)) "70 steps x 8 blocks: attention, in graphs and out of them"
is "$(stored '%flash_bprop%')" "$(of_kernel '%flash_bprop%')" "its underfill"
"$wavetap" steps -r "$run" --json >"$work/steps.json"
# Two graphs and what the optimizer launches outside of them, after 10,000 launches that tune.
is "$(json "$work/steps.json" "SELECT j ->> '$.steps.period_launches', (j ->> '$.steps.count') BETWEEN 67 AND 70 FROM d")" \
  "30|1" "a step is 28 launches and two graphs; 67 or more of the 70 are found"

# ---- Triton: an autotuning storm, then 3 x 1500 rounds of two kernels
opened triton 36526 36526 0 0 0
is "$(of_kernel row_sum | cut -d '|' -f 1)" 4500 "row_sum: 1500 rounds of three sizes"
is "$(by_hand "SELECT grid_x, count(*) FROM kernel_exec JOIN config USING (config_id) JOIN kernel k USING (kernel_id)
  WHERE k.name = 'row_sum' GROUP BY 1 ORDER BY 1" | tr '\n' ' ')" "1|1500 100|1500 5000|1500 " "of 1, 100 and 5,000 rows"
is "$(by_hand "SELECT sum(underfill_sm_ns) FROM kernel_exec JOIN config USING (config_id) JOIN kernel k USING (kernel_id)
  WHERE k.name = 'row_sum' AND grid_x <= 132")" \
  "$(by_hand "SELECT sum((end_ns - start_ns) * (132 - grid_x)) FROM kernel_exec JOIN config USING (config_id)
    JOIN kernel k USING (kernel_id) WHERE k.name = 'row_sum' AND grid_x <= 132")" "131 and 32 idle SMs"

# ---- inference: 400 tokens of twelve layers, two products, a norm, a GELU and a sum each
opened infer-tiny 25275 25275 0 0 0
is "$(of_kernel '%layer_norm%')" "$(stored '%layer_norm%')" "the norm's one block: 131 idle SMs"
is "$(of_kernel '%layer_norm%' | cut -d '|' -f 1)|$(of_kernel 'nvjet%' | cut -d '|' -f 1)" "$((12 * 400))|$((2 * 12 * 400))" \
  "12 norms and 24 products a token"
"$wavetap" steps -r "$run" --json >"$work/steps.json"
is "$(json "$work/steps.json" "SELECT j ->> '$.steps.period_launches' FROM d")" $((12 * 5 + 3)) "a token is 63 launches"

# ---- copies on a side stream: 1500 batches of 1 MiB in and out, three kernels each
opened copies-side 4500 4500 0 0 0
is "$(by_hand "SELECT copy_kind, count(*), sum(bytes) FROM copy GROUP BY 1 ORDER BY 1" | tr '\n' ' ')" \
  "1|1500|1572864000 2|1500|1572864000 " "in and out, 1 MiB each"
"$wavetap" copies -r "$run" --all --json >"$work/copies.json"
is "$(json "$work/copies.json" "SELECT sum(value ->> 'bytes'), sum(value ->> 'time_ns') FROM d, json_each(j, '$.rows')")" \
  "$(by_hand "SELECT sum(bytes), sum(end_ns - start_ns) FROM copy")" "wavetap copies has them all"
is "$(json "$work/copies.json" "SELECT group_concat(value ->> 'memory', ', ') FROM d, json_each(j, '$.rows')")" \
  "pinned to device, device to pinned" "from pinned memory and from the device"
"$wavetap" steps -r "$run" --json >"$work/steps.json"
is "$(json "$work/steps.json" "SELECT j ->> '$.steps.period_launches' FROM d")" 3 "a batch is three launches"

# ---- two ranks on two GPUs, data parallel over NCCL: 40 steps, rank 1 with twice the batch. Two recordings, one run
run=$work/ddp.db
"$wavetap" import -o "$run" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" \
  >"$work/out" 2>"$work/err"
is "$?|$(cat "$work/err")" "0|" "ddp: imported"
is "$("$wavetap" check "$run" | tr -s ' ' | cut -d ' ' -f 3)" sound "ddp: sound"
is "$(by_hand "SELECT count(DISTINCT e.process_id || ' ' || device_id), group_concat(DISTINCT rank), group_concat(DISTINCT world_size)
  FROM kernel_exec e JOIN config USING (config_id) JOIN proc p ON p.process_id = e.process_id")" "2|0,1|2" \
  "ddp: two ranks, each on a device of its own"
is "$(by_hand "SELECT process_id, launches_attempted, kernels, unexplained FROM loss ORDER BY 1" | tr '\n' ' ')" \
  "1|12339|12339|0 2|12339|12339|0 " "ddp: all is accounted for"
"$wavetap" ledger -r "$run" --all --json >"$work/ledger.json"
is "$(json "$work/ledger.json" "SELECT count(*), sum(value ->> 'residual_sm_ns'), min(value ->> 'comm_sm_ns') > 0
  FROM d, json_each(j, '$.devices')")" "2|0|1" "ddp: a ledger for each device, idle beside collectives apart"
is "$(by_hand "SELECT count(*) FROM kernel_exec JOIN config USING (config_id) JOIN kernel k USING (kernel_id)
  WHERE k.name LIKE '%ncclDevKernel_AllReduce%' GROUP BY device_id" | tr '\n' ' ')" "508 508 " "ddp: the same all-reduces on both"
# Both are in an all-reduce together; it ends when the slower rank has come. So the faster one is in them longer.
is "$(by_hand "SELECT rank FROM kernel_exec e JOIN config USING (config_id) JOIN kernel k USING (kernel_id)
  JOIN proc p ON p.process_id = e.process_id WHERE k.name LIKE '%ncclDevKernel_AllReduce%'
  GROUP BY rank ORDER BY sum(end_ns - start_ns) DESC LIMIT 1")" 0 "ddp: rank 0 waits for rank 1 in them"
# A broadcast began 14.15 ms before the steady steps: what rank 1 waited in it until then is not theirs.
"$wavetap" ranks -r "$run" --json >"$work/ranks.json"
is "$(json "$work/ranks.json" "SELECT CAST(max(value ->> 'wait_ns') / 1e5 AS INTEGER), CAST(min(value ->> 'wait_ns') / 1e5 AS INTEGER)
  FROM d, json_each(j, '$.rows')")" "4951|761" "ddp: waits within the window, 495.2 and 76.2 ms"
# What their few blocks leave is no fault of a grid.
"$wavetap" show -r "$run" AllReduce >"$work/out"
is "$(grep -c 'a collective: its blocks are channels' "$work/out")|$(grep -c 'to win\|occupancy:' "$work/out")" "1|0" \
  "ddp: show promises nothing for a collective"
"$wavetap" show -r "$run" AllReduce --ncu >"$work/out.ncu" 2>"$work/err"
is "$?|$(cat "$work/out.ncu")|$(grep -c 'waits for the other ranks' "$work/err")" "3||1" "ddp: nor an ncu command that would hang"
ok "ddp: and names the device of each configuration" grep -q '^DEV  GRID' "$work/out"

done_testing

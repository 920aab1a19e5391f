#!/bin/sh
# `wavetap show` on a recorded H200 run: its figures against sqlite3 on single launches, the lift
# of the occupancy limiter against the device's limits by hand, and how a kernel is found.
. "$top_srcdir/tests/e2e/lib.sh"

run=$work/h200.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$run"
by_hand() {
  sqlite3 -batch "$run" "$1"
}
field() { # PATH of the last JSON
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/show.json') AS TEXT), '$1')"
}
show() {
  "$wavetap" show -r "$run" --all "$@"
}

id=$(by_hand "SELECT kernel_id FROM kernel WHERE name LIKE '%GammaBeta%'")
show GammaBeta --json >"$work/show.json"
is "$(field '$.kernel.kernel_id')" "$id" "part of a name finds the kernel"
is "$(for f in count min_ns median_ns p99_ns max_ns; do field "\$.kernel.duration.$f"; done | tr '\n' ' ')" \
  "$(by_hand "WITH d AS (SELECT end_ns - start_ns AS ns, row_number() OVER (ORDER BY end_ns - start_ns) AS i
       FROM kernel_exec JOIN config USING (config_id) WHERE kernel_id = $id), n AS (SELECT count(*) AS n FROM d)
     SELECT n || ' ' || min(ns) || ' ' || (SELECT ns FROM d WHERE i = (n + 1) / 2) || ' ' ||
       (SELECT ns FROM d WHERE i = (n * 99 + 99) / 100) || ' ' || max(ns) || ' ' FROM d, n")" "durations, by nearest rank"
is "$(printf '%.3f %.3f' "$(field '$.kernel.duration.mean_ns')" "$(field '$.kernel.duration.deviation_ns')")" \
  "$(by_hand "SELECT printf('%.3f %.3f', avg(ns), sqrt(avg(ns * ns * 1.0) - avg(ns) * avg(ns))) FROM
     (SELECT end_ns - start_ns AS ns FROM kernel_exec JOIN config USING (config_id) WHERE kernel_id = $id)")" \
  "mean and deviation"
is "$(field '$.kernel.call_to_start.min_ns') $(field '$.kernel.launch_call.max_ns')" \
  "$(by_hand "SELECT min(start_ns - entry_ns) || ' ' || max(return_ns - entry_ns) FROM launch WHERE kernel_id = $id")" \
  "from call to start, and the call"
is "$(sqlite3 -batch :memory: "SELECT sum(value ->> 'launches') FROM
   json_each(CAST(readfile('$work/show.json') AS TEXT), '\$.kernel.histogram')")" "$(field '$.kernel.launches')" \
  "the histogram has every launch"
is "$(field '$.kernel.configs[0].lift')" "" "no lift at full occupancy: 2 blocks of 1,024 threads"
is "$(field '$.kernel.configs[0].advice')" \
  "116 of 132 SMs get no block: at most 1.86ms of the GPU to win with a grid of 132 or more, or with another kernel beside it" \
  "what 16 blocks lose: 2,112,411 ns x 116 / 132"

# The launch in the middle, and how many with that function name come before it.
middle=$(by_hand "SELECT start_ns FROM launch WHERE kernel_id = $id ORDER BY start_ns LIMIT 1 OFFSET
  (SELECT (count(*) + 1) / 2 - 1 FROM launch WHERE kernel_id = $id)")
before=$(by_hand "SELECT count(*) FROM launch WHERE kernel LIKE '%GammaBetaBackwardCUDAKernelTemplate%' AND start_ns < $middle")
is "$(show GammaBeta --ncu)" \
  "ncu --kernel-name GammaBetaBackwardCUDAKernelTemplate --launch-skip $before --launch-count 1 -- $(by_hand "SELECT command FROM proc")" \
  "the ncu command"

# A limit to lift, worked out by hand. 512 threads are 16 warps of 34 x 32 = 1,088 registers, given in 256s: 1,280. A
# quarter of an SM's 65,536 holds 12 such warps, the SM 48: 3 blocks. A fourth needs 16 warps in a quarter, 1,024 each: 32.
config=$(by_hand "SELECT config_id FROM config WHERE blocks_per_sm = 3 AND limiter = 'registers' AND regs_per_thread = 34
  AND block_x * block_y * block_z = 512 ORDER BY config_id LIMIT 1")
show "id:$(by_hand "SELECT kernel_id FROM config WHERE config_id = $config")" --json >"$work/show.json"
is "$(sqlite3 -batch :memory: "SELECT value ->> 'lift' FROM json_each(CAST(readfile('$work/show.json') AS TEXT),
     '\$.kernel.configs') WHERE value ->> 'config_id' = $config")" \
  "4 blocks per SM instead of 3 with at most 32 registers a thread (now 34)" "what would let a fourth block onto an SM"

# Which kernel: a row of top, an id, a name that several have, none.
first=$("$wavetap" top -r "$run" --all --csv | sed -n 2p | cut -d, -f 1)
show 1 --json >"$work/show.json"
is "$(field '$.kernel.kernel_id')" "$first" "a number is a row of top"
is "$(sqlite3 -batch :memory: "SELECT sum(value ->> 'launches') || ' ' || sum(value ->> 'time_ns') FROM
   json_each(CAST(readfile('$work/show.json') AS TEXT), '\$.kernel.configs')")" \
  "$(by_hand "SELECT count(*) || ' ' || sum(duration_ns) FROM launch WHERE kernel_id = $first")" "its configurations sum to it"
LC_ALL=C COLUMNS=80 show 1 >"$work/text"
ok "text: waves are drawn into the curve" grep -q -- '-- 4 waves from 6337 blocks on' "$work/text"
ok "text: the curve's lines hold 80 columns" test "$(sed -n '/^time against/,/^$/p' "$work/text" |
  awk '{ if (length($0) > m) m = length($0) } END { print m }')" -le 80
fails() { # CODE ERROR ARGUMENT...
  code=$1 error=$2
  shift 2
  show "$@" >"$work/out" 2>"$work/err"
  is "$? $(head -n 1 "$work/err")$(cat "$work/out")" "$code $error" "show $*: refused in words"
}
fails 2 'wavetap: "vectorized" is part of 8 kernel names; which one?' vectorized
fails 3 'wavetap: no kernel of this run has "no such" in its name' "no such"
fails 3 "wavetap: there is no row 4711: top has 43" 4711
fails 3 "wavetap: run bea3718a has no launch of kernel id:4711" id:4711
fails 2 "wavetap: the name of a kernel is empty" ""
fails 2 "wavetap: --ncu and --json exclude each other" 1 --ncu --json

# A part of the run: launches that have a part in it, with their whole durations; rows as top numbers them there.
from=$(($(by_hand "SELECT max(first_ns, armed_ns) FROM proc") + 100000000))
to=$((from + 200000000))
show GammaBeta --from 100ms --to 300ms --device 1 --json >"$work/show.json"
is "$(field '$.kernel.launches') $(field '$.kernel.duration.count') $(field '$.kernel.duration.max_ns')" \
  "$(by_hand "SELECT count(*) || ' ' || count(*) || ' ' || max(duration_ns) FROM launch WHERE kernel_id = $id
     AND start_ns < $to AND end_ns > $from")" "launches of a window"
is "$(field '$.kernel.time_ns')" "$(by_hand "SELECT sum(min(end_ns, $to) - max(start_ns, $from)) FROM launch
  WHERE kernel_id = $id AND start_ns < $to AND end_ns > $from")" "and their time in it"
is "$(field '$.selection.from_ns') $(field '$.selection.device')" "100000000 1" "and is told"
middle=$(by_hand "SELECT start_ns FROM launch WHERE kernel_id = $id AND start_ns < $to AND end_ns > $from ORDER BY start_ns
  LIMIT 1 OFFSET $((($(field '$.kernel.launches') + 1) / 2 - 1))")
before=$(by_hand "SELECT count(*) FROM launch WHERE kernel LIKE '%GammaBetaBackwardCUDAKernelTemplate%' AND start_ns < $middle")
ok "ncu skips what came before in the whole process" grep -q -- "--launch-skip $before " "$({ show GammaBeta --from 100ms \
  --to 300ms --ncu >"$work/text"; } 2>&1; echo "$work/text")"
show 1 --kernel GammaBeta --json >"$work/show.json"
is "$(field '$.kernel.kernel_id')" "$id" "rows are those of the selection"
LC_ALL=C show GammaBeta --from 100ms --to 300ms --device 1 >"$work/text"
ok "text: the selection" grep -qx 'selected: device 1' "$work/text"
ok "text: the window" grep -q 'of the window  100.0ms to 300.0ms of 845.4ms' "$work/text"
fails 3 "wavetap: no kernel of run bea3718a matches \"nosuch\"; it has 43: $("$wavetap" show -r "$run" 1 --kernel nosuch 2>&1 |
  sed 's/.*it has 43: //')" 1 --kernel nosuch
fails 3 "wavetap: run bea3718a has no launch of kernel id:$id in the selection" "id:$id" --kernel nvjet
done_testing

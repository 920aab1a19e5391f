#!/bin/sh
# A recorded H200 run through the readers: figures worked out by hand with sqlite3 from the rows of
# single launches, not from the rollups that top reads.
. "$top_srcdir/tests/e2e/lib.sh"

run=$work/h200.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$run"
by_hand() {
  sqlite3 -batch "$run" "$1"
}
from_json() { # FILE EXPRESSION over the rows
  sqlite3 -batch :memory: "SELECT $2 FROM json_each(CAST(readfile('$1') AS TEXT), '$.rows')"
}

"$wavetap" top --all -r "$run" --json --limit 0 >"$work/top.json"
is "$(from_json "$work/top.json" "sum(value ->> 'launches')")" 13827 "13,827 kernels"
is "$(from_json "$work/top.json" "sum(value ->> 'time_ns')")" \
  "$(by_hand "SELECT sum(end_ns - start_ns) FROM kernel_exec")" "their time"
# Underfill is T x (S - G) for G < S: from geometry and times alone.
is "$(from_json "$work/top.json" "sum(value ->> 'underfill_sm_ns')")" \
  "$(by_hand "SELECT sum((end_ns - start_ns) * (132 - grid_x * grid_y * grid_z)) FROM kernel_exec
    JOIN config USING (config_id) WHERE grid_x * grid_y * grid_z < 132")" "underfill from geometry"
# GammaBetaBackward: 16 blocks on 132 SMs, 456 launches, 2,112,411 ns: 2,112,411 x 116.
is "$(from_json "$work/top.json" "value ->> 'idle_sm_ns' || ' ' || (value ->> 'launches') || ' ' || (value ->> 'waves')
    " | grep '^245039676 456 ')" "245039676 456 0.0606060606060606" "16 blocks of 132 SMs"
is "$(by_hand "SELECT 2112411 * (132 - 16)")" 245039676 "by hand"
# Kernels overlap by a few hundred ns at most, so the union is the sum less the overlaps.
is "$(by_hand "SELECT unexplained || ' ' || launches_linked || ' ' || launches_linked_by_order FROM loss")" "0 13827 0" \
  "every launch is linked exactly"
is "$(by_hand "SELECT count(*) FROM launch WHERE entry_ns > start_ns OR return_ns < entry_ns")" 0 "no kernel before its call"
# Waves and occupancy of a configuration, by hand: 1024 threads, 31 registers, 8,448 bytes: two per SM.
is "$(by_hand "SELECT blocks_per_sm || ' ' || resident_blocks || ' ' || limiter FROM config JOIN kernel USING (kernel_id)
    WHERE name LIKE '%GammaBeta%'")" "2 264 warps+registers" "2,048 threads and 65,536 registers hold two blocks"
LC_ALL=C COLUMNS=80 "$wavetap" top --all -r "$run" >"$work/top.txt"
ok "top holds 80 columns" test "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' "$work/top.txt")" -le 80
COLUMNS=120 "$wavetap" top --all -r "$run" >"$work/top.txt"
ok "and names kernels readably" grep -q 'GammaBetaBackward<float,32,32,256>' "$work/top.txt"
done_testing

#!/bin/sh
# Several devices: one process that uses up to eight of them with several contexts and streams,
# processes that see them in different orders, devices of different sizes. A device is its UUID,
# whatever ordinal it has; idle SM-time follows from the SMs of the device that the kernel ran on.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
export WTFAKE_RAMP_NS=0
unset CUDA_VISIBLE_DEVICES

# What the simulated devices did, by UUID: UUID|launches|underfill|time. Truth has ordinals; the
# program's lines say which UUID each had.
truth() { # FILE OF TRUTH, FILE OF LINES: one process
  sqlite3 -batch :memory: "SELECT value ->> 'device', count(*), sum(value ->> 'underfill_sm_ns'),
      sum((value ->> 'end_ns') - (value ->> 'start_ns'))
    FROM json_each('[' || replace(rtrim(readfile('$1'), char(10)), char(10), ',') || ']')
    GROUP BY 1" | while IFS='|' read -r ordinal rest; do
    echo "$(sed -n "s/^device $ordinal uuid=\([0-9a-f]*\) .*/\1/p" "$2")|$rest"
  done | sort
}

stored() {
  sql "SELECT d.uuid, sum(i.launches), sum(i.underfill_sm_ns), sum(i.time_ns)
    FROM config_idle i JOIN device d USING (device_id) GROUP BY 1 ORDER BY 1"
}

for devices in 1 2 8; do
  export WAVETAP_RUN="all-$devices" WTFAKE_DEVICES=8 WTFAKE_TRUTH="$work/truth.$devices"
  tap "$fake/app_multi" --devices "$devices" --streams 3 --contexts 2 --launches 20 --grid 100 >"$work/lines" 2>"$work/err"
  is "$?|$(cat "$work/err")" "0|" "$devices devices: it ran"
  settle
  is "$(stored)" "$(truth "$WTFAKE_TRUTH" "$work/lines")" "$devices devices: launches, underfill and time of each are the truth"
  is "$(sql "SELECT count(*), sum(sm_count) FROM device")" "$devices|$((devices * 132))" "$devices devices: only those that were used"
  is "$(sql "SELECT count(*), count(DISTINCT device_id), sum(is_green) FROM context")" "$((2 * devices))|$devices|0" \
    "$devices devices: two contexts each"
  is "$(sql "SELECT count(DISTINCT context_id || '-' || stream_id) FROM kernel_exec")" "$((6 * devices))" \
    "$devices devices: six streams each"
  is "$(sql "SELECT count(*), count(DISTINCT device_id) FROM copy WHERE copy_kind = 8")" \
    "$((devices - 1))|$((devices - 1))" "$devices devices: copies belong to the device that made them"
  is "$(sql "SELECT unexplained, launches_in_flight, launches_unlinked, launches_linked_by_order FROM loss")" "0|0|0|0" \
    "$devices devices: all linked exactly"
  "$wavetap" top --all >"$work/top"
  ok "$devices devices: the header counts them" grep -q "  ${devices}x wavetap simulated H200 132 SMs  " "$work/top"
  is "$(grep -c '^device .*: a kernel ran' "$work/top")" "$([ "$devices" = 1 ] && echo 0 || echo "$devices")" \
    "$devices devices: a line for each, where there are several"
  "$wavetap" runs --json >"$work/runs.json"
  is "$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/runs.json') AS TEXT), '\$.runs[#-1].devices')")" "$devices" "$devices devices: runs counts them"
done

# ---- contexts that come and go
export WAVETAP_RUN=rounds WTFAKE_TRUTH="$work/truth.rounds"
tap "$fake/app_multi" --devices 3 --contexts 3 --rounds 6 --launches 4 >"$work/lines"
settle
is "$(stored)" "$(truth "$WTFAKE_TRUTH" "$work/lines")" "contexts made and destroyed on three devices"
is "$(sql "SELECT count(*) FROM context")" $((3 + 3 * 2 * 6)) "each context is there"

# ---- devices of different sizes, some of one PCI device like MIG instances, reordered
# Attribute 33 is the PCI bus.
export WTFAKE_SMS=132,16,7,60 WTFAKE_DEVICES=4 WTFAKE_NAME="Big GPU,MIG 1g,MIG 1g,Other GPU" WTFAKE_ATTR=33:16
export WAVETAP_RUN=mixed
n=0
: >"$work/truth.all"
for order in 0,1,2,3 3,2,1,0 2,0 1; do
  n=$((n + 1))
  count=$(echo "$order" | tr ',' '\n' | wc -l)
  WTFAKE_TRUTH="$work/truth.mixed$n" CUDA_VISIBLE_DEVICES=$order RANK=$((n - 1)) WORLD_SIZE=4 \
    tap "$fake/app_multi" --devices "$count" --launches 12 --grid 20 >"$work/lines"
  truth "$work/truth.mixed$n" "$work/lines" >>"$work/truth.all"
done
settle
is "$(stored)" "$(sqlite3 -batch :memory: ".mode csv" ".separator |" "CREATE TABLE t (uuid, n INT, u INT, ns INT)" \
  ".import $work/truth.all t" ".mode list" "SELECT uuid, sum(n), sum(u), sum(ns) FROM t GROUP BY 1 ORDER BY 1")" \
  "four processes with four orders: each device is its UUID"
is "$(sql "SELECT group_concat(name || ' ' || sm_count || ' ' || pci, ', ') FROM (SELECT * FROM device ORDER BY uuid)")" \
  "Big GPU 132 0000:10:00, MIG 1g 16 0000:10:00, MIG 1g 7 0000:10:00, Other GPU 60 0000:10:00" "sizes are those of the devices"
is "$(sql "SELECT count(*) FROM (SELECT DISTINCT process_id, device_id FROM process_gpu)")" 11 "and each process says which it had"
is "$(sql "SELECT count(*) FROM process_gpu g JOIN device d USING (device_id) JOIN process p USING (process_id)
  WHERE p.rank = 1 AND d.sm_count <> CASE g.ordinal WHEN 0 THEN 60 WHEN 1 THEN 7 WHEN 2 THEN 16 ELSE 132 END")" 0 \
  "ordinals are those of the process"
# 20 blocks of 256 threads with 32 registers each: 8 fit an SM. Waves by hand: 20 / (8 x SMs).
is "$(sql "SELECT DISTINCT d.sm_count, c.sm_count, c.blocks_per_sm, round(c.waves, 6) FROM config c JOIN device d USING (device_id)
  JOIN kernel USING (kernel_id) WHERE kernel.name = 'multi_work' ORDER BY 1")" \
  "$(printf '7|7|8|0.357143\n16|16|8|0.15625\n60|60|8|0.041667\n132|132|8|0.018939')" "occupancy and waves use the SMs of each"
"$wavetap" top --all >"$work/top"
ok "top names the kinds" grep -q "1x Big GPU 132 SMs  + 1x MIG 1g 16 SMs  + 1x MIG 1g 7 SMs  + 1x Other GPU 60 SMs" "$work/top"
for group in kernel config device process rank; do
  "$wavetap" top --all --json --group "$group" >"$work/$group.json"
done
for field in launches time_ns underfill_sm_ns wave_sm_ns wave_max_sm_ns idle_sm_ns idle_gpu_ns unjudged_sm_ns; do
  sums=$(for group in kernel config device process rank; do
    sqlite3 -batch :memory: "SELECT printf('%.3f|%.3f', total(value ->> '$field'), json_extract(j, '$.total.$field'))
      FROM (SELECT CAST(readfile('$work/$group.json') AS TEXT) AS j), json_each(j, '$.rows')"
  done | tr '|' '\n' | sort -u)
  is "$(echo "$sums" | wc -l)" 1 "rows of every grouping and their totals agree: $field $sums"
done
is "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'rank') || ':' || (value ->> 'devices') || ':' ||
    ifnull(value ->> 'sms', '-'), ' ') FROM (SELECT value FROM json_each(CAST(readfile('$work/rank.json') AS TEXT), '$.rows')
    ORDER BY value ->> 'rank')")" "0:4:- 1:4:- 2:2:- 3:1:16" "rank rows: devices used, and the size where it is one"
is "$("$wavetap" top --all --csv --group device | wc -l)" 5 "CSV: a row per device"
"$wavetap" top --all --group process >"$work/top"
ok "process rows say rank and devices" grep -q "rank 3 of 4  device [0-9]*  .*app_multi" "$work/top"
"$wavetap" export -o "$work/export.json" --format json
is "$(sqlite3 -batch :memory: "SELECT count(DISTINCT value ->> 'device_id'), count(*)
  FROM json_each(CAST(readfile('$work/export.json') AS TEXT), '$.launches')")" "4|$(sql "SELECT count(*) FROM launch")" "export has the device of each launch"

check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

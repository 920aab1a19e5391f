#!/bin/sh
# What readers make of measurements: a run of ten seconds on 4 SMs (make_run.c) with rows of measured.sql, whose
# figures are worked out here by hand or by sqlite3; and what they say where nothing was measured.
. "$top_srcdir/tests/e2e/lib.sh"

run=$work/full.db
"$top_builddir/tests/unit/make_run" "$run" full job-full 1000000000000
cp "$run" "$work/plain.db"
sqlite3 -batch "$run" <"$top_srcdir/tests/unit/measured.sql"
LC_ALL=C
COLUMNS=80
export LC_ALL COLUMNS
field() { # PATH of the last JSON
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/out.json') AS TEXT), '$1')"
}
json() {
  "$wavetap" "$@" --json -r "$run" >"$work/out.json" 2>"$work/err"
}
text() {
  "$wavetap" "$@" -r "$run" >"$work/out" 2>"$work/err"
}
says() { # WORDS, as if all were one line
  tr '\n' ' ' <"$work/out" | tr -s ' ' | grep -qF -- "$1"
}

# ---- ledger: SM activity. Buckets have 2 4 2 0 2.5 2.5 2.5 0 SMs of 4 active: 15.5 / 32. The ledger, with what was
# measured: 2 x 2 s of 2, 2 s of 2.5, 1 s of 3 (the model's), 1 s of 3.2: 19.2 of 40.
json ledger
is "$(field '$.devices[0].sm_activity')" '{"sampled":0.484375,"ledger":0.48,"coverage":0.8,"reason":null}' \
  "SM activity, sampled and by the ledger"
text ledger
ok "ledger says that they agree" says "SM activity, as DCGM has it: 48.4% sampled, 48.0% by the ledger they agree"
# From 6 to 10 s: samples (1 ms later by the kernels' clock) 2.5 2.5 and 0 to 8.001 s; the ledger 3 in [6,7), 3.2 in [9,10).
json ledger --from 6s
is "$(field '$.devices[0].sm_activity')" "$(sqlite3 -batch :memory: "SELECT json_object('sampled', 1.001 * 0.625 / 2.001,
  'ledger', 6.2 / 16, 'coverage', 2.001 / 4, 'reason', 'samples cover 50.0% of the window; partial waves may take 6.2% more')")" \
  "of a window, with the likely reasons of the difference"
# Beside another program: half of what samples saw active is not of this run.
cp "$run" "$work/beside.db"
sqlite3 -batch "$work/beside.db" "UPDATE sm_bucket SET active_avg = 1; UPDATE fold SET explained_sm_ns = active_sm_ns / 2"
"$wavetap" ledger --json -r "$work/beside.db" >"$work/out.json"
is "$(field '$.devices[0].sm_activity.reason')" \
  "50.0% no kernel of this run explains: another process used the GPU (pid 777); samples cover 80.0% of the window; launches that were profiled had 1.8% less than sampled ones" "beside a process that NVML saw"
sqlite3 -batch "$work/beside.db" "DELETE FROM gpu_state"
"$wavetap" ledger --json -r "$work/beside.db" >"$work/out.json"
is "$(field '$.devices[0].sm_activity.reason')" \
  "50.0% no kernel of this run explains: another program or run used the GPU, or kernels have no records; samples cover 80.0% of the window; launches that were profiled had 1.8% less than sampled ones" \
  "beside one that nobody saw, or another run"
"$wavetap" ledger --json -r "$work/plain.db" >"$work/out.json"
is "$(field '$.devices[0].sm_activity')" "" "null without samples"

# ---- show
json show tail
is "$(field '$.kernel.configs[0].measured[0].evidence') $(field '$.kernel.configs[0].measured[0].straggle_sms')" "profiled 0.45" \
  "show: the evidence that stands is first"
is "$(field '$.kernel.configs[0].model')" '{"active_sms":3,"underfill_sms":0,"wave_sms":1,"wave_max_sms":1}' \
  "show: 6 blocks on 4 SMs, two waves: 2 of 4 idle in the second"
is "$(field '$.kernel.configs[0].profile[3]')" '{"active_sms":1.6,"error_sms":1}' "show: the profile"
is "$(field '$.kernel.configs[0].profiled_launches')" \
  '{"launches":1,"least_share":0.25,"mean_share":0.5625,"cost_ns":12000000}' "show: launches under the profiler"
is "$(field '$.kernel.configs[1].measured[0].active_sms')|$(field '$.kernel.configs[1].measured[0].reason')" \
  "|too few launches: the error is larger than a tenth of the SMs" "show: null with its reason"
text show tail
ok "show: evidence side by side" says "6 profiled * 3 2.50 0.01 0.00 1.00 2.00 0.45 0.05 latency"
ok "show: the model beside it" says "model 3.00 0.00 1.00 1.00"
ok "show: unequal blocks and what they could win: 0.45 / 4 of 2 s" says \
  "unequal blocks leave 0.45 SMs idle, 11.2% of the GPU meanwhile: at most 225.0ms"
ok "show: disagreement is said" says "profiled and sampled differ by 0.40 SMs, beyond their errors"
ok "show: warps, pipe, bound, form" says \
  "grid 6, profiled 20.5 of 64 warps resident on an SM (its limits allow 32) tensor pipe 13.0% SM clock 1795 MHz bound by latency"
# Bins 4 4 2 1.6 of 4 SMs in ten rows; the last one +- 1: solid to 1.6, light to 2.6.
is "$(sed -n '/in the course/,/---/p' "$work/out" | grep '|')" "$(printf '%s\n' '   4 |########' '     |########' '     |########' \
  '     |########    ::::' '     |########    ::::' '   2 |############::::' '     |################' '     |################' \
  '     |################' '     |################')" "show: the plot"
ok "show: SMs of a profiled launch" says "1 launch profiled the least active SM had warps for 25.0% of the time of the most active one, the mean for 56.2%"
text show id:3
ok "show: no promise for a kernel that waits for memory" says "idle SMs are not time lost while DRAM is saturated"
ok "show: DRAM" says "DRAM 4000 GB/s"
# ---- sms. SMs active by the second: 2 4 2 0 2.5 2.5 2.5 0, then nothing; 1 ms later by the kernels' clock.
json sms
is "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'sms') || ' ' || ((value ->> 'time_ns') / 1000000000), ',') FROM
  json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.rows') WHERE value ->> 'evidence' = 'sampled'")" "0 2,2 2,3 3,4 1" \
  "sms: time by SMs active, 2.5 rounded up"
is "$(field '$.devices[0].samples.sampled_ns') $(field '$.devices[0].samples.active_max')" "8000000000 " \
  "sms: the most active SM of a bucket is that of one sample, no mean"
is "$(field '$.devices[0].samples.warps_per_sm' | cut -c 1-7) $(field '$.devices[0].samples.dram_bytes_per_ns')" "17.7142 3000" \
  "sms: of the time in which it is known: 124 / 7 warps, 3 TB in a second"
json sms --width 2s
is "$(field '$.devices[0].samples.buckets[1].by_share_ns')" "[999000000,0,0,0,0,1000000000,0,0,0,1000000]" \
  "sms: a column from 2 s on: 1 ms with 4 SMs of 4, a second with two, 999 ms with none"
is "$(field '$.devices[0].profiled_launches.least_share')$(field '$.devices[0].per_sm')" "0.25" "sms: launches under the profiler, no single SMs"
text sms
ok "sms: the map and its lines" grep -q '^ avg  5555' "$work/out"
ok "sms: how much was sampled" says "samples cover 80.0% of the window"
ok "sms: NVML" says "clocks held down by power limit in 1 of 3 readings (SM clock 1200 to 1800 MHz) other processes on the GPU in 1 of 3 readings (pid 777)"
is "$(awk 'length > 80' "$work/out")" "" "sms: within 80 columns"
# Single samples instead of buckets: of 10 ms, all SMs and none in turn, so that their mean says little.
cp "$run" "$work/chunk.db"
"$top_builddir/tests/unit/make_run" samples "$work/chunk.db"
"$wavetap" sms --json --from 2s --to 4s -r "$work/chunk.db" >"$work/out.json"
is "$(field '$.devices[0].samples.active_avg')" 0.5 "sms: of single samples"
is "$(field '$.devices[0].samples.active_min') $(field '$.devices[0].samples.active_max')" "0.5 0.5" \
  "sms: the least and the most active SM, told of some samples only"
is "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'sms') || ' ' || (value ->> 'share'), ',') FROM
  json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.rows') WHERE value ->> 'evidence' = 'sampled'")" "0 0.5,4 0.5" "sms: all and none"
is "$(field '$.devices[0].samples.warps_per_sm') $(field '$.devices[0].samples.dram_bytes_per_ns') $(field '$.devices[0].samples.sm_clock_mhz')" \
  "8 3 1700" "sms: 16 warps half of the time, 30 MB in 10 ms, 17 M cycles in 10 ms"
# The oldest samples of long runs are removed: then buckets have to do.
sqlite3 -batch "$work/chunk.db" "UPDATE sample_chunk SET start_ns = start_ns + 2500000000"
"$wavetap" sms --json --from 2s --to 4s -r "$work/chunk.db" >"$work/out.json"
is "$(field '$.devices[0].samples.active_avg')" 0.2505 "sms: of buckets where samples are gone: 1 ms of 1, a second of 0.5"
sqlite3 -batch "$work/chunk.db" "UPDATE sample_chunk SET start_ns = start_ns - 2500000000, data = x'0100'"
"$wavetap" sms -r "$work/chunk.db" >"$work/out" 2>"$work/err"
is "$?$(grep -c 'its samples are damaged' "$work/err")" 11 "sms: damaged samples"
ok "sms: too many columns" test "$("$wavetap" sms -r "$run" --width 1ns >/dev/null 2>&1; echo $?)" = 2
ok "sms: no time" test "$("$wavetap" sms -r "$run" --width x >/dev/null 2>&1; echo $?)" = 2

# ---- timeline
json timeline --width 2s
is "$(sqlite3 -batch :memory: "SELECT group_concat(printf('%.4f %d', value ->> 'sampled_active_share', value ->> 'sampled_ns' / 1000000), ',')
  FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.rows')")" \
  "$(sqlite3 -batch :memory: "SELECT printf('%.4f 1999,%.4f 2000,%.4f 2000,%.4f 2000,%.4f 1',
    (0.5 + 0.999 * 1) / 1.999, (0.001 * 1 + 0.5) / 2, (1.999 * 0.625) / 2, (0.001 * 0.625 + 0.625) / 2, 0)")" "timeline: samples by the row"
is "$(field '$.rows[2].throttled')|$(field '$.rows[3].throttled')" "power limit|" "timeline: throttled"
text timeline --width 500ms
ok "timeline: columns and marks" grep -Eq '^ +4.00s +62.5 .* 62.4  3000  1201  TP$' "$work/out"
is "$(awk 'length > 80' "$work/out")" "" "timeline: within 80 columns"
COLUMNS=120 text timeline --width 500ms
is "$(awk 'length > 120' "$work/out")$(grep -c 'WARPS  TENS%' "$work/out")" 1 "timeline: within 120 columns, with all of it"

# ---- diagnose. Straggle of "tail": 0.45 of 4 SMs for 2 s; that of "evil", bound by memory, is no finding.
json diagnose --threshold 0.1
finding() { # KIND: least and greatest stake in SM-us, kernel, evidence
  sqlite3 -batch :memory: "SELECT (value ->> 'stake_sm_us') || ' ' || (value ->> 'stake_max_sm_us') || ' ' ||
    ifnull(value ->> 'kernel_id', '-') || ' ' || (value ->> 'evidence') FROM
    json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.findings') WHERE value ->> 'kind' = '$1'"
}
is "$(finding unequal-blocks)" "900000.0 900000.0 2 profiled" "diagnose: unequal blocks, with size and evidence"
is "$(finding small-grid)" "4000000.0 4000000.0 1 sampled" "diagnose: 2 of 4 SMs in [0,1) and [2,3), all in between"
# The wave: 1.0 of 4 SMs for 2 s, measured; 1 to 2 SM-s of the third configuration, by the model.
is "$(finding partial-wave)" "3000000.0 4000000.0 2 mixed" "diagnose: a range only where the model alone knows"
# A third of the readings at 1,200 of 1,800 MHz: a ninth of 19.2 SM-s.
is "$(finding throttled)" "0.0 2133333.333 - sampled" "diagnose: clocks held down"
is "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'kernel_id') || ' ' || substr(value ->> 'reason', 1, 15)) FROM
  json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.left_in_peace')")" "3 bound by memory" "diagnose: no promise for a kernel bound by memory"
is "$(field '$.gpu_states[0]')" \
  '{"device_id":1,"readings":3,"throttled_readings":1,"throttled":"power limit","foreign_readings":1}' "diagnose: NVML"
ok "diagnose: all stakes within the whole" test "$(sqlite3 -batch :memory: "SELECT sum(value ->> 'share_max') <= 1.000001 FROM
  json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.findings')")" = 1
text diagnose --threshold 0.1
ok "diagnose: words" says "unequal blocks: tail (profiled) seen: 7.5% of its SMs x time, in 2 launches"
ok "diagnose: what is measured of the rest" says "blocks of unequal length: measured for 71.4% of the kernels' SM-time"
# ---- whatif. "half" alone takes half of [0,1) and [2,3), [1,2) stays; "tail" 2 s less 1 of 4 SMs, and by the model 1 s less
# 1 to 2 SM-s; "evil" waits for memory: 0.5 + 1 + 0.5 + 1.5 + 0.5 to 0.75 + 1.
json whatif --full-waves --no-gaps
is "$(field '$.devices[0].then_least_ns') $(field '$.devices[0].then_greatest_ns') $(field '$.devices[0].evidence')" \
  "5000000000 5250000000 mixed" "whatif: measured waves go, straggle stays"

# Somebody else's kernels: a tenth of what the samples saw is not explained.
sqlite3 -batch "$run" "UPDATE fold SET explained_sm_ns = active_sm_ns * 9 / 10"
json diagnose --threshold 0.1
is "$(finding foreign-process)" "0.0 1920000.0 - sampled" "diagnose: another process"
# A persistent kernel is left in peace, unless it was measured.
sqlite3 -batch "$run" "UPDATE kernel SET name = 'persistent_tail' WHERE kernel_id = 2"
json diagnose --threshold 0.1
is "$(finding unequal-blocks)" "900000.0 900000.0 2 profiled" "diagnose: a persistent kernel, measured"
sqlite3 -batch "$run" "DELETE FROM measured WHERE config_id = 2"
json diagnose --threshold 0.1
is "$(finding unequal-blocks)$(finding partial-wave)" "" "diagnose: and not measured"

is "$("$wavetap" show tail -r "$work/plain.db" | grep -c 'measured\|course')" 0 "show: nothing where nothing was measured"
# A damaged file.
cp "$run" "$work/damaged.db"
sqlite3 -batch "$work/damaged.db" "INSERT INTO sm_bucket (device_id, start_ns, end_ns, sampled_ns, samples, active_avg, active_min,
    active_max) VALUES (1, -9223372036854775808, 9223372036854775807, 1, 1, 0.5, 0, 1), (1, 1000000000001, 9223372036854775807, 1, 1,
    9e999, -9e999, 0), (1, 1000000000002, 1000000000003, 9e18, 1, 1e300, 0, 1);
  UPDATE fold SET offset_ns = 9e999; UPDATE measured SET active_sms = 9e999, active_error_sms = -1, straggle_sms = 1e300, warps_per_sm = -9e999;
  UPDATE measured_profile SET active_sms = 9e999, error_sms = -9e999 WHERE bin = 1; UPDATE measured_profile SET active_sms = -5 WHERE bin = 0;
  UPDATE gpu_state SET sm_clock_mhz = -9223372036854775808, throttle_reasons = -1, foreign_processes = 9223372036854775807;
  UPDATE profile_launch SET active_max = 1e-300, cost_ns = 9223372036854775807"
for command in "show tail" "show half" ledger sms timeline "diagnose --threshold 0" "whatif --full-waves"; do
  # shellcheck disable=SC2086 # words
  "$wavetap" $command -r "$work/damaged.db" >"$work/out" 2>&1
  code=$?
  # shellcheck disable=SC2086 # words
  "$wavetap" $command --json -r "$work/damaged.db" >"$work/out.json" 2>&1
  ok "$command: a damaged file, codes $code and $?" test "$code" -lt 5 -a "$?" -lt 5
done

# Numbers that can't be: check tells of each, and nobody shows them.
absurd() { # TABLE ASSIGNMENTS
  cp "$run" "$work/absurd.db"
  sqlite3 -batch "$work/absurd.db" "UPDATE $1 SET $2"
  # A name that is too long for its column has the words on a line of their own.
  found=$(COLUMNS=400 "$wavetap" check "$work/absurd.db" | awk '/^                    / { line = line $0; next } { print line; line = $0 } END { print line }' | grep -cE "^ *measured +$1 .*(a number that can't be|beyond the time|does not sum)")
  shown=
  for command in top "show tail" "show half" ledger sms timeline "diagnose --threshold 0"; do
    # shellcheck disable=SC2086 # words
    "$wavetap" $command -r "$work/absurd.db" >"$work/out" 2>&1
    ! grep -vE '^ *(avg|min|max) ' "$work/out" | grep -qE '(^|[^a-z])-?(inf|nan)([^a-z]|$)|[0-9]{16,}' || shown="$shown $command"
    # shellcheck disable=SC2086 # words
    "$wavetap" $command --json -r "$work/absurd.db" >"$work/out.json" 2>&1
    [ "$(sqlite3 -batch :memory: "SELECT count(*) FROM json_tree(CAST(readfile('$work/out.json') AS TEXT))
      WHERE type = 'real' AND NOT abs(atom) < 1e15 OR type = 'integer' AND NOT abs(atom) < 4e18")" = 0 ] || shown="$shown $command --json"
  done
  ok "$1, $2: check tells of it" test "$found" -ge 1
  is "$shown" "" "$1, $2: nobody shows it"
}
"$wavetap" check "$run" >"$work/out"
is "$(grep -c '^ *measured ' "$work/out")" 0 "measured.sql has none of these faults"
for value in "active_sms = 9e999" "active_error_sms = 1e300" "active_error_sms = -1" "warps_per_sm = 1e300" "warps_per_sm = -9e999" \
  "tensor_share = 1e300" "dram_bytes_per_ns = 9e999" "sm_clock_mhz = 9e999" "joint_active_sms = 1e300"; do
  absurd measured "$value"
done
absurd measured "straggle_sms = 1e300"
absurd measured "issue_share = 9e18"
# Own cost: of each run that has it.
cp "$run" "$work/absurd.db"
own_cost_shown() { # WHAT: check tells of it, readers take nothing of it
  for command in "top --all" "ledger --all"; do
    # shellcheck disable=SC2086 # words
    COLUMNS=400 "$wavetap" $command -r "$work/absurd.db" >"$work/out" 2>&1
    ok "own cost, $1: $command shows none of it" grep -q "own cost.*: \. (damaged: numbers that can't be)" "$work/out"
    # shellcheck disable=SC2086 # words
    "$wavetap" $command --json -r "$work/absurd.db" >"$work/out.json" 2>&1
    is "$(sqlite3 -batch :memory: "SELECT count(value), max(value) FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.cost')
      WHERE key NOT IN ('launches', 'wall_ns', 'not_measured', 'budgets')")" "1|damaged: numbers that can't be" "own cost, $1: nor its JSON"
  done
}
for value in "launches_timed_ns = 9223372036854775807" "launches_timed_ns = 5300000" "launches_long = 9" "thread_ns = -1" "thread_ns = 4e17" "hook_p50_ns = 2000000" \
  "budget_cost_ppm = 9223372036854775807" "budget_ppm = 1000001" "budget_state = 2, budget_stepped_ns = 4000000000000000000" "bytes_written = -5" "cupti_bytes = 4e18" "threads = 6"; do
  sqlite3 -batch "$work/absurd.db" "DELETE FROM hook_time; INSERT INTO hook_time SELECT min(process_id), 32, 40, 5 FROM proc; DELETE FROM own_cost; INSERT INTO own_cost SELECT min(process_id), 5, 0, 10, NULL, 50, 0, 0, 0, 0, 1, 9, 1, 0, 9, 9, 0, 0, NULL, 0 FROM proc"
  is "$(COLUMNS=400 "$wavetap" check "$work/absurd.db" | grep -c "own_cost .*can't be")" 0 "own_cost, before $value: nothing to tell"
  sqlite3 -batch "$work/absurd.db" "UPDATE own_cost SET $value"
  is "$(COLUMNS=400 "$wavetap" check "$work/absurd.db" | grep -c "own_cost .*a number that can't be")" 1 "own_cost, $value: check tells of it"
  own_cost_shown "$value"
done
sqlite3 -batch "$work/absurd.db" "DELETE FROM own_cost"
is "$(COLUMNS=400 "$wavetap" check "$work/absurd.db" | grep -c "hook_time .*of a process without own cost")" 1 "hook_time without own cost: check tells of it"
"$wavetap" top --all --json -r "$work/absurd.db" >"$work/out.json"
is "$(sqlite3 -batch :memory: "SELECT j ->> '\$.cost.launches_timed', j ->> '\$.cost.own_ns' FROM (SELECT CAST(readfile('$work/out.json') AS TEXT) AS j)")" "0|" \
  "... and nobody counts it"
for value in "low_ns = -1" "low_ns = 2000000" "high_ns = NULL" "high_ns = 30" "launches = -5" "launches = 9223372036854775807"; do
  sqlite3 -batch "$work/absurd.db" "DELETE FROM hook_time; INSERT INTO hook_time SELECT min(process_id), 32, 40, 5 FROM proc; DELETE FROM own_cost;
    INSERT INTO own_cost SELECT min(process_id), 5, 0, 10, NULL, 50, 0, 0, 0, 0, 1, 9, 1, 0, 9, 9, 0, 0, NULL, 0 FROM proc"
  is "$("$wavetap" top --all --json -r "$work/absurd.db" | grep -c "numbers that can't be")" 0 "hook_time, before $value: nothing to tell"
  sqlite3 -batch "$work/absurd.db" "UPDATE hook_time SET $value"
  is "$(COLUMNS=400 "$wavetap" check "$work/absurd.db" | grep -c "hook_time .*can't be")" 1 "hook_time, $value: check tells of it"
  own_cost_shown "hook_time $value"
done
absurd measured "time_ns = 9223372036854775807, launches = -9223372036854775807"
absurd measured_profile "active_sms = 9e999"
absurd measured_profile "error_sms = 1e300"
for value in "active_avg = 1e300" "active_avg = -9e999" "warps_per_sm = 1e300" "tensor_share = 9e999" "sm_clock_mhz = 1e300" \
  "dram_read_bytes = 9223372036854775807" "sampled_ns = 9223372036854775807" \
  "busy_ns = 9223372036854775807, extremes_ns = 5, min_share_ns = 1e300, max_share_ns = 1e300" \
  "busy_ns = 5, extremes_ns = 5, min_share_ns = 1e300, max_share_ns = -1e300"; do
  absurd sm_bucket "$value"
done
for value in "offset_ns = 9e999" "offset_error_ns = 1e300" "residual = -1" "active_sm_ns = 9223372036854775807" "explained_sm_ns = -9223372036854775807"; do
  absurd fold "$value"
done
"$wavetap" show tail -r "$work/damaged.db" >"$work/out"
ok "show says why nothing is there" says "damaged: numbers that can't be"

# A file made before there were measurements.
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$work/old.db"
is "$(sqlite3 -batch "$work/old.db" "SELECT count(*) FROM sqlite_schema WHERE name IN ('measured', 'sm_bucket', 'gpu_state')")" 0 \
  "an old file has none of the tables"
for command in "show 1" ledger sms timeline; do
  # shellcheck disable=SC2086 # words
  "$wavetap" $command -r "$work/old.db" >"$work/out" 2>&1
  is "$?" 0 "$command: a file without the tables"
done

done_testing

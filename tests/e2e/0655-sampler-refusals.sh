#!/bin/sh
# What keeps wavetap-sampler from sampling: each refusal of simulated counters has its words, and the
# run goes on without samples.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
sampler=$top_builddir/wavetap-sampler
export WTFAKE_PM="$work/pm" WTFAKE_COUNTERS="$work/counters" WAVETAP_SAMPLER="$sampler"

demo() { # SECONDS: a run from its beginning to its end
  rm -f "$WTFAKE_PM"
  "$wavetap" run -- "$fake/app_demo" --seconds "$1" >"$work/out" 2>"$work/err"
  settle
}

has_reason() {
  "$wavetap" status --json >"$work/status.json" 2>/dev/null
  [ "$(sqlite3 -batch :memory: "SELECT count(json_extract(value, '\$.reason')) FROM
    json_each(json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.samplers'))")" = 1 ]
}

# A run that ends once its sampler has given up, however long that takes.
give_up() {
  rm -f "$WTFAKE_PM"
  "$wavetap" run -- "$fake/app_demo" --seconds 60 >"$work/out" 2>"$work/err" &
  run=$!
  tries=0
  until has_reason || [ "$tries" -ge 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  kill "$run"
  wait "$run"
  settle
}

# ---- refusals: the run is whole, and says why there are no samples
refused() { # STATE WORDS WHAT
  give_up
  is "$(sql "SELECT DISTINCT state, samples_taken FROM sampler")" "$1|0" "$3: the state"
  ok "$3: the summary says why: $(grep '^counters' "$work/err")" grep -q "^counters: off, because $2" "$work/err"
  is "$(sql "SELECT launches_attempted > 0, unexplained FROM loss")" "1|0" "$3: the run is whole"
}
WTFAKE_FAIL='cuptiPmSamplingEnable:*:35' refused 4 "counters are for administrators alone here (run as root" "no permission"
WTFAKE_FAIL='cuptiPmSamplingGetCounterAvailability:*:35' refused 4 "counters are for administrators alone" "no permission at once"
WTFAKE_FAIL='cuptiPmSamplingEnable:*:26' refused 5 "somebody else has the device's counters" "busy"
WTFAKE_FAIL='cuptiPmSamplingEnable:*:43' refused 6 "this device, driver or libcupti has no PM sampling" "MIG"
WTFAKE_FAIL='cuptiPmSamplingSetConfig:*:999' refused 9 "CUPTI failed (code 999)" "unknown failure"
WTFAKE_FAIL='cuptiPmSamplingStart:*:7' refused 9 "CUPTI failed (code 7)" "start fails"
WTFAKE_NO_METRICS=sm__cycles_active refused 9 "CUPTI failed (code 17)" "no such metric"
WTFAKE_PM_BUFFER_SAMPLES=40 give_up
is "$(sql "SELECT state, overflows, reason FROM sampler")" "8|3|the hardware's buffer ran over three times in a row: given up" "overflow: given up after three"
is "$(sql "SELECT launches_attempted > 0, unexplained FROM loss")" "1|0" "overflow: the run is whole"
WAVETAP_SAMPLER=$work/nothing give_up
ok "no sampler: the summary says why" grep -q "counters: off, because .*: WAVETAP_SAMPLER: $work/nothing: No such file" "$work/err"
# A daemon with a wrong path, which a program corrects. (One for both: it idles for a minute.)
WAVETAP_SAMPLER=$work/nothing "$top_builddir/wavetapd" --idle 60
rm -f "$WTFAKE_PM"
(unset WAVETAP_SAMPLER && exec "$wavetap" run -- "$fake/app_demo" --seconds 0.3) >"$work/out" 2>"$work/err"
ok "the daemon's wrong path is told as such" grep -q "counters: off, because .*: WAVETAP_SAMPLER of wavetapd: $work/nothing: No such file" "$work/err"
"$wavetap" run -- "$fake/app_demo" --seconds 2 >"$work/out" 2>"$work/err"
ok "the program's own goes before it: $(grep '^counters' "$work/err")" grep -q '^counters every ' "$work/err"
"$wavetap" status --json >"$work/status.json"
kill "$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.pid')")"
settle
WTFAKE_SLOW=cuptiPmSamplingEnable:60000000 WAVETAP_SAMPLER_TIMEOUT_MS=300 refused 7 "the driver did not answer in time" "set-up hangs"
WTFAKE_SLOW=cuptiPmSamplingDecodeData:60000000 WAVETAP_SAMPLER_TIMEOUT_MS=1000 give_up
is "$(sql "SELECT state FROM sampler")" 7 "decoding hangs: given up"
WTFAKE_SLOW=cuptiPmSamplingDisable:60000000 WAVETAP_SAMPLER_TIMEOUT_MS=2000 demo 3
is "$(sql "SELECT state, samples_stored > 1000 FROM sampler")" "7|1" "giving the counters back hangs: given up, with its samples"
for call in SetConfig Start; do
  WTFAKE_FAIL=cuptiPmSampling$call:2:999 demo 3
  is "$(sql "SELECT state, samples_stored > 1000, overflows FROM sampler")" "2|1|0" "the second $call fails: set up anew, it goes on"
done

# ---- fewer counters in one pass
WTFAKE_NO_METRICS=sm__warps_active,sm__pipe_tensor_cycles_active,sm__pipe_tensor_op_hmma_cycles_active,dram__bytes_read demo 2
is "$(sql "SELECT state, samples_stored > 1000 FROM sampler")" "2|1" "without warps, tensor and DRAM"
is "$(sql "SELECT count(warps_per_sm), count(tensor_share), count(dram_read_bytes), count(active_avg) > 10 FROM sm_bucket")" "0|0|0|1" \
  "which are not known then"

done_testing

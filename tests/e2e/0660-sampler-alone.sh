#!/bin/sh
# wavetap-sampler by hand, on several devices, and beside other samplers.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
sampler=$top_builddir/wavetap-sampler
export WTFAKE_PM="$work/pm" WTFAKE_COUNTERS="$work/counters" WTFAKE_DEVICES=2
unset CUDA_VISIBLE_DEVICES

wait_for() { # COMMAND...: at most 20 s
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || return 1
    sleep 0.1
  done
}

# ---- options
is "$("$sampler" --version)" "wavetap-sampler $("$wavetap" --version | awk '{print $2}')" "--version"
ok "--help" sh -c "'$sampler' --help | grep -q '^usage: wavetap-sampler'"
for bad in '--interval 3us' '--interval off' '--duration 3' '--duration -1s' '--nonsense' 'operand'; do
  # shellcheck disable=SC2086 # options and their values
  "$sampler" $bad >/dev/null 2>"$work/err"
  is "$?" 2 "$bad is refused: $(head -n 1 "$work/err")"
done
is "$(find "$shm" -type f)" "" "which leaves nothing"

# ---- a run of its own
"$sampler" --duration 500ms --name alone 2>"$work/err"
is "$?" 0 "one device by hand"
ok "it says what it did: $(tail -n 1 "$work/err")" grep -Eq '^wavetap-sampler: .*: [0-9]+ samples, 0 dropped, 0 overflows, [0-9.]+ of a core$' "$work/err"
settle
is "$(sql "SELECT count(*), min(state), sum(samples_stored) > 5000 FROM sampler")" "1|2|1" "its samples are stored"
is "$(sql "SELECT count(*) FROM proc")" 0 "in a run without processes"
is "$(sql "SELECT value FROM meta WHERE key = 'name'")" alone "of that name"
"$wavetap" runs >"$work/runs"
ok "which is listed" grep -q alone "$work/runs"
# What needs no kernels is shown of it, null where it does; the rest says why not.
activity=$(sql "SELECT printf('%.1f', 100.0 * sum(active_avg * sampled_ns) / sum(sampled_ns)) FROM sm_bucket")
for command in sms ledger; do
  COLUMNS=200 "$wavetap" $command >"$work/out" 2>"$work/err"
  is "$?" 0 "$command of a run without kernels: $(cat "$work/err")"
  ok "$command: SM activity is $activity%" grep -q "^SM activity, as DCGM has it: $activity% sampled  samples cover" "$work/out"
  ok "$command: why there is no more" grep -q '^no program was recorded' "$work/out"
  is "$(grep -cE 'gaps|by the ledger|could occupy|idle' "$work/out")" 0 "$command: nothing is said of kernels that nobody knows"
done
"$wavetap" timeline --json >"$work/out.json"
is "$(sqlite3 -batch :memory: "SELECT printf('%.1f', 100.0 * sum((value ->> 'sampled_active_share') * (value ->> 'sampled_ns')) / sum(value ->> 'sampled_ns')),
  count(value ->> 'active_sm_ns'), count(value ->> 'gap_sm_ns') FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.rows')")" "$activity|0|0" \
  "timeline: its rows have the same mean, and no ledger"
"$wavetap" sms --json >"$work/out.json"
is "$(sqlite3 -batch :memory: "SELECT printf('%.1f', 100 * (value ->> '\$.sm_activity.sampled')), value ->> '\$.sm_activity.ledger', value ->> 'mean_sms'
  FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.devices')")" "$activity||" "sms --json: the same"
"$wavetap" ledger --json >"$work/out.json"
is "$?" 0 "ledger --json"
is "$(sqlite3 -batch :memory: "SELECT count(*), sum(value ->> 'total_sm_ns' = (value ->> 'sms') * (value ->> 'wall_ns')), count(value ->> 'active_sm_ns'),
  count(value ->> 'residual_sm_ns'), count(value ->> 'kernels'), count(value ->> '\$.gap_by_cause_sm_ns.host'), min(value ->> '\$.reason.active_sm_ns'),
  printf('%.1f', 100 * (value ->> '\$.sm_activity.sampled')) FROM json_each(CAST(readfile('$work/out.json') AS TEXT), '\$.devices')")" \
  "1|1|0|0|0|0|no program was recorded|$activity" "ledger --json: the whole and SM activity, null for what only kernels tell"
"$wavetap" ledger --csv >"$work/out.csv"
is "$?|$(grep -c '^[0-9]*,[^,]*,,,,[01],,no program was recorded' "$work/out.csv")|$(grep -c ',total,1' "$work/out.csv")" \
  "0|$(($(wc -l <"$work/out.csv") - 2))|1" "ledger --csv: the same"
for command in top "show x" gaps ranks diagnose "whatif --full-waves"; do
  # shellcheck disable=SC2086 # words
  "$wavetap" $command >"$work/out" 2>"$work/err"
  is "$?|$(grep -c 'it has samples of a device and no program' "$work/err")" "3|1" "$command says that there are no kernels"
done
"$sampler" --duration 300ms --interval 100us --device all --name both 2>"$work/err"
is "$?" 0 "all devices by hand"
settle
is "$(sql "SELECT count(*), count(DISTINCT device_id), count(DISTINCT pid), min(state), max(interval_ns) FROM sampler")" "2|2|2|2|100000" \
  "a process for each, one run for both"
uuid=$(sql "SELECT uuid FROM device ORDER BY device_id LIMIT 1")
dashed=$(echo "$uuid" | sed 's/\(........\)\(....\)\(....\)\(....\)\(.*\)/GPU-\1-\2-\3-\4-\5/')
"$sampler" --duration 200ms --device "$dashed" 2>"$work/err"
is "$?" 0 "by UUID"
settle
is "$(sql "SELECT uuid FROM device")" "$uuid" "it is that device"
for none in 7 GPU-00000000-0000 GPU-; do
  "$sampler" --device "$none" 2>"$work/err"
  is "$?|$(cat "$work/err")" "11|wavetap-sampler: there is no such device" "--device $none"
done

# ---- refusals by hand: words, an exit code, nothing left behind
settle
runs=$(find "$data/runs" -name '*.db' | wc -l)
WTFAKE_FAIL='cuptiPmSamplingEnable:*:35' "$sampler" 2>"$work/err"
is "$?" 4 "no permission"
ok "the remedy is named" grep -q 'NVreg_RestrictProfilingToAdminUsers=0' "$work/err"
ok "and the call" grep -q '(cuptiPmSamplingEnable: 35)' "$work/err"
LD_LIBRARY_PATH=$work "$sampler" 2>"$work/err"
is "$?|$(cat "$work/err")" "10|wavetap-sampler: there is no NVIDIA driver" "no driver"
LD_LIBRARY_PATH=$work "$sampler" --device all 2>"$work/err"
is "$?|$(cat "$work/err")" "10|wavetap-sampler: there is no NVIDIA driver" "no driver for all"
mkdir "$work/cuda"
ln -s "$(readlink -f "$fake/libcuda.so.1")" "$work/cuda/libcuda.so.1"
WAVETAP_CUPTI=$work/none LD_LIBRARY_PATH=$work/cuda "$sampler" 2>"$work/err"
is "$?" 3 "no libcupti: $(cat "$work/err")"
WTFAKE_FAIL='cuptiProfilerInitialize:*:999' "$sampler" 2>"$work/err"
is "$?" "$(if ldconfig -p | grep -q libnvperf_host; then echo 9; else echo 3; fi)" "no libnvperf, unless there is one: $(cat "$work/err")"
WAVETAP_SHM_DIR=$work/none "$sampler" 2>"$work/err"
is "$?" 1 "no shared memory: $(cat "$work/err")"
: >"$work/file"
"$sampler" --data-dir "$work/file/data" 2>"$work/err"
is "$?|$(cat "$work/err")" "1|wavetap-sampler: $work/file/data: Not a directory: samples would be lost" "a data directory that can't be made"
WAVETAP_DAEMON=$work/none "$sampler" 2>"$work/err"
is "$?|$(cat "$work/err")" "1|wavetap-sampler: no wavetapd is at work and none could be started: samples would be lost (set WAVETAP_DAEMON to its path)" \
  "no daemon"
is "$("$sampler" --check --device all 2>"$work/err" | grep -c ' can be sampled: active SMs, SM clock')" 2 "--check --device all says it of each: $(cat "$work/err")"
is "$(find "$data/runs" -name '*.db' | wc -l)|$(find "$shm" -name '*.seg')" "$runs|" "none of them makes a run or leaves a segment"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  mkdir "$work/small"
  unshare -m sh -c "mount -t tmpfs -o size=3m tmpfs '$work/small' && WAVETAP_SHM_DIR='$work/small' '$sampler'" 2>"$work/err"
  is "$?" 1 "shared memory is too small: $(cat "$work/err")"
fi

# ---- a daemon that does not store; not one that is ending just now
settle
"$WAVETAP_DAEMON" --idle 60
"$wavetap" status --json >"$work/status.json"
daemon=$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.pid')")
kill -STOP "$daemon"
"$sampler" --duration 200ms 2>"$work/err"
is "$?" 1 "samples that nobody takes"
ok "are said to be lost, perhaps: $(tail -n 1 "$work/err")" grep -q 'wavetapd has not stored all samples' "$work/err"
kill -9 "$daemon"
find "$shm" -name '*.seg' -exec rm -f '{}' +

# ---- a second one on the same device
"$sampler" --name first 2>"$work/first" &
first=$!
ok "the first samples" wait_for grep -q 'sampling$' "$work/first"
"$sampler" 2>"$work/err"
is "$?" 5 "a second one by hand: $(cat "$work/err")"
kill "$first"
wait "$first"
is "$?" 0 "SIGTERM is a good end"
settle

# ---- two devices of one program
rm -f "$WTFAKE_PM"
"$wavetap" run -- "$fake/app_multi" --devices 2 --launches 200 --rounds 40 >"$work/out" 2>"$work/err"
settle
is "$(sql "SELECT count(*), count(DISTINCT device_id) FROM sampler")" "2|2" "a sampler for each device of the program"
is "$(sql "SELECT unexplained FROM loss")" 0 "the run is whole"

# ---- two runs on one device
export WAVETAP_SAMPLE=auto
WAVETAP_RUN=one LD_PRELOAD=$library "$fake/app_demo" --seconds 3 >/dev/null &
one=$!
state_of() { # RUN WHAT
  "$wavetap" status --json >"$work/status.json" 2>/dev/null
  sqlite3 -batch :memory: "SELECT json_extract(value, '\$.$2') FROM
    json_each(json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.samplers'))
    WHERE json_extract(value, '\$.run') = '$1'"
}
is_state() { [ "$(state_of "$1" state)" = "$2" ]; }
ok "one run is sampled" wait_for is_state one sampling
WAVETAP_RUN=two LD_PRELOAD=$library "$fake/app_demo" --seconds 6 >/dev/null &
two=$!
ok "another run on the device waits" wait_for is_state two waiting
id=$(sqlite3 -batch "$(sqlite3 -batch :memory: "SELECT json_extract(value, '\$.path') FROM
  json_each(json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.runs')) WHERE json_extract(value, '\$.key') = 'one'")" \
  "SELECT value FROM meta WHERE key = 'run_id'")
is "$(state_of two reason)" "the device is sampled for run $id" "and says for whom"
wait "$one"
ok "its turn comes" wait_for is_state two sampling
wait "$two"
settle
is "$("$fake/fake_counters" "$WTFAKE_COUNTERS" pm_left_started pm_left_enabled | tr '\n' ' ')" "0 0 " "nothing was left started or enabled"
done_testing

#!/bin/sh
# wavetap-sampler over simulated counters, in a process of its own: what it measures is what the
# simulated device did, and whatever goes wrong with it, the run goes on and says so.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
sampler=$top_builddir/wavetap-sampler
export WTFAKE_PM="$work/pm" WTFAKE_COUNTERS="$work/counters" WAVETAP_SAMPLER="$sampler"

demo() { # SECONDS [ARGUMENT of run...]
  seconds=$1
  shift
  rm -f "$WTFAKE_PM"
  "$wavetap" run "$@" -- "$fake/app_demo" --seconds "$seconds" >"$work/out" 2>"$work/err"
}

left() { # what samplers left on the simulated device
  "$fake/fake_counters" "$WTFAKE_COUNTERS" pm_left_started pm_left_enabled pm_late_kernels | tr '\n' ' '
}

samplers() {
  "$wavetap" status --json >"$work/status.json" 2>/dev/null
  sqlite3 -batch :memory: "SELECT json_extract(value, '\$.$1') FROM
    json_each(json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.samplers'))"
}

wait_for() { # COMMAND...: at most 20 s
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || return 1
    sleep 0.1
  done
}

# ---- what is measured

export WTFAKE_TRUTH="$work/truth"
demo 4 --name measured
settle
unset WTFAKE_TRUTH
is "$(sql "SELECT count(*), min(state), min(interval_ns), sum(samples_dropped), sum(overflows), min(reason) FROM sampler")" \
  "1|2|50000|0|0|" "one sampler, which ended in good order"
is "$(sql "SELECT count(*) FROM proc")" 1 "it is none of the processes of the run"
is "$(sql "SELECT samples_taken - samples_stored FROM sampler")" 0 "every sample is stored"
ok "the summary says so: $(grep '^counters' "$work/err")" grep -q '^counters every 50.0us (wavetap-sampler, 0\.[0-9]* of a core)$' "$work/err"
ok "it made no context of its own" [ "$("$fake/fake_counters" "$WTFAKE_COUNTERS" contexts)" = 1 ]
is "$(left)" "0 0 0 " "and left nothing started or enabled"
# Buckets of which nothing was missed, against the kernels that ran in them.
near_truth() {
  sqlite3 -batch :memory: "
    ATTACH '$(run_file)' AS run;
    CREATE TABLE full AS SELECT start_ns, end_ns, active_avg FROM run.sm_bucket WHERE sampled_ns = end_ns - start_ns;
    CREATE TABLE kernel AS SELECT value ->> 'start_ns' AS a, value ->> 'end_ns' AS b, value ->> 'busy_sm_ns' AS busy
      FROM json_each('[' || replace(rtrim(readfile('$work/truth'), char(10)), char(10), ',') || ']');
    CREATE INDEX kernel_a ON kernel (a);
    WITH known AS (SELECT sum(active_avg * (end_ns - start_ns) * 132) AS sampled, count(*) AS n FROM full),
    truth AS (SELECT sum(1.0 * busy * (min(b, end_ns) - max(a, start_ns)) / (b - a)) AS busy
      FROM full CROSS JOIN kernel ON a > start_ns - 2000000 AND a < end_ns WHERE b > start_ns AND b > a)
    SELECT n > 50, abs(sampled / busy - 1) < 0.005, sampled / busy FROM known, truth"
}
got=$(near_truth)
is "${got%|*}" "1|1" "active SM-time in samples is the truth: $got"
is "$(sql "SELECT count(DISTINCT samples BETWEEN 199 AND 201) FROM sm_bucket WHERE sampled_ns = 10000000 AND samples BETWEEN 195 AND 220")" 2 \
  "intervals of 50 and 47 us take turns"
is "$(sql "SELECT round(min(sm_clock_mhz)), round(max(sm_clock_mhz)) FROM sm_bucket WHERE sampled_ns > 5000000")" "1980.0|1980.0" "the SM clock"
ok "resident warps are known" [ "$(sql "SELECT max(warps_per_sm) > 0.5 FROM sm_bucket")" = 1 ]
is "$(sql "SELECT count(*) > 0, max(abs(tensor_share / active_avg - 0.25)) < 0.001 FROM sm_bucket WHERE tensor_share IS NOT NULL AND active_avg > 0.05")" \
  "1|1" "the tensor pipe worked a quarter of the active time, as its kernels have it"

# ---- where decoding begins the image anew; and what NVML says, if it is there
export WTFAKE_TRUTH="$work/truth.anew"
WTFAKE_PM_ANEW=40 WTFAKE_NVML_REASONS=4 WTFAKE_NVML_PROCESSES=1 demo 4
settle
unset WTFAKE_TRUTH
mv "$work/truth.anew" "$work/truth"
got=$(near_truth)
is "${got%|*}" "1|1" "decoding that begins anew: the truth all the same: $got"
is "$(sql "SELECT samples_taken = samples_stored, reason FROM sampler")" "1|" "... and samples that come again are none, and no damage"
is "$(sql "SELECT count(*) BETWEEN 1 AND 10, min(throttle_reasons), max(throttle_reasons), min(sm_clock_mhz) FROM gpu_state")" "1|4|4|1980" \
  "NVML: clocks are held down by power"
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
  is "$(sql "SELECT DISTINCT foreign_processes, foreign_pid FROM gpu_state")" "1|1" "and a process that no run knows"
else
  is "$(sql "SELECT count(foreign_processes) FROM gpu_state")" 0 "pids of another namespace tell nothing"
fi

# ---- the schedule, where another set of metrics takes as long to set up as on an H200
WTFAKE_SLOW=cuptiPmSamplingEnable:650000 demo 7
settle
sampled_ns() { # WHERE: by the buckets, which are either with all metrics or without, but for one at each end
  sql "SELECT coalesce(sum(sampled_ns), 0) FROM sm_bucket WHERE $1"
}
all=$(sampled_ns 1) rich=$(sampled_ns 'warps_per_sm IS NOT NULL')
ok "all metrics were sampled: $rich ns" [ "$rich" -gt 0 ]
ok "and for no more than six tenths of a second in all: of $all ns" [ "$rich" -le 600000000 ]
before=$(sql "SELECT coalesce(sum(sampled_ns), 0) FROM sm_bucket WHERE start_ns < (SELECT min(start_ns) FROM sm_bucket WHERE warps_per_sm IS NOT NULL)")
ok "after at least a second of plain samples: $before ns" [ "$before" -ge 900000000 ]
is "$(sql "SELECT overflows, samples_dropped FROM sampler")" "0|0" "nothing was lost by it"

# ---- options of run
demo 2 --sample 20us
settle
is "$(sql "SELECT state, interval_ns FROM sampler")" "2|20000" "--sample 20us"
ok "which the summary says: $(grep '^counters' "$work/err")" grep -q '^counters every 20.0us (wavetap-sampler, ' "$work/err"
# 17 us of CPU for an evaluation and a second one of each fourth sample: about what an H200 takes.
WTFAKE_EVALUATE_NS=17000 demo 8
settle
is "$(sql "SELECT state, interval_ns, overflows FROM sampler")" "2|50000|0" "auto, where a sample costs 25 us"
ok "a third of a core is kept to: $(grep '^counters' "$work/err")" grep -Eq '^counters every ([6-9]|1[0-4])[0-9].0us \(wavetap-sampler, 0\.[1-7][0-9] of a core\)' "$work/err"
demo 1 --sample off
settle
is "$(sql "SELECT count(*) FROM sampler")" 0 "--sample off starts none"
ok "and says so" grep -q '^counters: off (--sample off)$' "$work/err"
LD_PRELOAD=$library "$fake/app_demo" --seconds 0.5 >/dev/null
settle
is "$(sql "SELECT count(*) FROM sampler")" 0 "nor does plain preloading"
WAVETAP_SAMPLE=auto LD_PRELOAD=$library "$fake/app_demo" --seconds 2 >/dev/null
settle
is "$(sql "SELECT count(*), max(state) FROM sampler")" "1|2" "but with WAVETAP_SAMPLE it does"
# ncu, nsys and the like come by this variable, and a device's counters are for one.
CUDA_INJECTION64_PATH=$fake/inject_nvtx.so "$wavetap" run -- "$fake/app_demo" --seconds 1 >/dev/null 2>"$work/err"
settle
is "$(sql "SELECT count(*) FROM sampler")" 0 "nor by itself beside another tool"
ok "... and says so" grep -q '^counters: off, because .*another tool' "$work/err"
CUDA_INJECTION64_PATH=$fake/inject_nvtx.so "$wavetap" run --sample 50us -- "$fake/app_demo" --seconds 1 >/dev/null 2>"$work/err"
settle
is "$(sql "SELECT count(*) FROM sampler")" 1 "unless an interval was given"
for bad in 3us 1us 1s 5 50 fast; do
  "$wavetap" run --sample "$bad" true 2>"$work/err"
  is "$?|$(head -n 1 "$work/err")" "2|wavetap: --sample: \"$bad\" is not auto, off, or an interval from 5us to 100ms" "--sample $bad is refused"
done

WAVETAP_SAMPLE=5 "$wavetap" run true 2>"$work/err"
is "$?|$(head -n 1 "$work/err")" "2|wavetap: WAVETAP_SAMPLE: \"5\" is not auto, off, or an interval from 5us to 100ms" "so is WAVETAP_SAMPLE=5"
WAVETAP_SAMPLE=5 "$wavetap" run --sample off -- "$fake/app_demo" --seconds 0.1 >/dev/null 2>"$work/err"
is "$?" 0 "unless --sample stands before it"
WAVETAP_PROFILE=many "$wavetap" run true 2>"$work/err"
is "$?|$(head -n 1 "$work/err")" "2|wavetap: WAVETAP_PROFILE: \"many\" is not a number of launches up to 1000" "WAVETAP_PROFILE=many is refused"
WAVETAP_PROFILE=many "$wavetap" run --sample off --profile 5 -- "$fake/app_demo" --seconds 0.1 >/dev/null 2>"$work/err"
is "$?" 0 "unless --profile stands before it"
settle
WAVETAP_PROFILE=1 "$wavetap" run -- "$fake/app_demo" --seconds 0.3 >/dev/null 2>"$work/err"
settle
is "$(sql "SELECT count(*) FROM sampler")" 0 "with WAVETAP_PROFILE, as with --profile, nothing is sampled unasked"

# ---- deaths
rm -f "$WTFAKE_PM"
WAVETAP_SAMPLE=auto LD_PRELOAD=$library "$fake/app_demo" --seconds 10 >/dev/null &
app=$!
is_sampling() { [ "$(samplers state)" = sampling ]; }
ok "status: sampling" wait_for is_sampling
ok "status has its interval, samples and CPU" [ "$(samplers interval_ns)" -ge 47000 ]
"$wavetap" status >"$work/status"
ok "for people too" grep -q 'sampling  *[45][70]\.0us' "$work/status"
first=$(samplers pid)
kill -9 "$first"
is_another() {
  pid=$(samplers pid)
  [ -n "$pid" ] && [ "$pid" != "$first" ] && [ "$(samplers state)" = sampling ]
}
ok "killed, it is started once more" wait_for is_another
second=$pid
kill -9 "$second"
is_ended() { [ "$(samplers pid)" = "" ]; }
ok "and then never again" wait_for is_ended
wait "$app"
is $? 0 "the application does not notice"
settle
is "$(sql "SELECT group_concat(state || ':' || reason, ' ') FROM sampler")" "1:it was killed 1:it was killed" \
  "the file says that they were killed"
is "$(sql "SELECT launches_attempted > 0, unexplained FROM loss")" "1|0" "the run is whole"

rm -f "$WTFAKE_PM"
WAVETAP_SAMPLE=auto LD_PRELOAD=$library "$fake/app_demo" --seconds 4 >/dev/null &
app=$!
ok "sampling again" wait_for is_sampling
pid=$(samplers pid)
daemon=$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.pid')")
kill -9 "$daemon"
is_gone() { ! kill -0 "$pid" 2>/dev/null; }
ok "the daemon killed: its sampler ends by itself" wait_for is_gone
wait "$app"
"$wavetap" status >/dev/null
"$top_builddir/wavetapd"
settle
is "$(sql "SELECT max(state) FROM sampler")" 2 "in good order, and the next daemon stores its samples"
is "$(left)" "0 0 0 " "nothing was left started or enabled"

done_testing

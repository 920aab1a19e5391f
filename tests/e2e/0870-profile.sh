#!/bin/sh
# WAVETAP_PROFILE over the simulated range profiler: what is measured is what the
# simulated device did, launch by launch; what forbids it is said; and whatever CUPTI answers, the
# program runs as without us.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
export WTFAKE_STRICT=1 WAVETAP_PROFILE_WARMUP_MS=50
unset WAVETAP_PROFILE WAVETAP_SAMPLE

state() { sql "SELECT group_concat(DISTINCT state) FROM profile_count"; }
# The output without pids.
words() { sed 's/pid=[0-9]*//g' "$1"; }

# ---- the figures against truth

export WAVETAP_RUN=truth WAVETAP_PROFILE=3 WTFAKE_TRUTH="$work/truth.jsonl" WTFAKE_COUNTERS="$work/counters"
bare "$app" --launches 400 --us 20 --grid 267 --block 1000 >"$work/bare.out" 2>"$work/bare.err"
rm -f "$work/truth.jsonl" "$work/counters"
tap "$app" --launches 400 --rate 100 --us 20 --grid 267 --block 1000 >"$work/tap.out" 2>"$work/tap.err"
is "$?" 0 "the program ends as it should"
is "$(words "$work/tap.out")" "$(words "$work/bare.out")" "... with the output it has without us"
is "$(cat "$work/tap.err")" "" "... and nothing on stderr"
settle
is "$(sql "SELECT launches, stored, dropped FROM profile_count")" "6|6|0" "three launches of each of two configurations"
sqlite3 -batch :memory: "SELECT value ->> 'correlation', value ->> 'busy_sm_ns', value ->> 'kernel'
  FROM json_each('[' || replace(rtrim(readfile('$work/truth.jsonl'), char(10)), char(10), ',') || ']')" |
  sort >"$work/truth"
# 1.98 cycles a ns; to the cycle.
sql "SELECT correlation_id, CAST(round(active_sum / 1.98) AS INTEGER) FROM profile_launch
  JOIN kernel_exec USING (process_id, launch_seq)" | sort >"$work/measured"
is "$(grep -c . <"$work/measured")" 6 "each is linked to its kernel"
is "$(cut -d'|' -f1,2 "$work/truth" | grep -Fxc -f "$work/measured")" 6 "their SM-time is the device's own, to the ns"
is "$(sql "SELECT count(*) FROM profile_launch p JOIN launch_call l ON l.process_id = p.process_id AND l.seq = p.launch_seq
  WHERE p.passes = 1 AND p.sms = 132 AND p.active_min <= p.active_sum / 132 AND p.active_max >= p.active_sum / 132
  AND p.active_max < p.elapsed AND p.start_ns = l.entry_ns AND p.end_ns > l.return_ns AND p.cost_ns > p.end_ns - p.start_ns
  AND l.flags & 128")" 6 "with a least and a greatest SM, and times around the call"
is "$(sql "SELECT count(*) FROM profile_launch WHERE abs(tensor_avg / (active_sum / 132) - 0.25) < 0.001")" 6 \
  "and the tensor pipe's part of it"
# CUPTI gives those kernels no times: their duration is that of the configuration's others.
is "$(sql "SELECT count(*), count(e.start_ns) FROM profile_launch JOIN kernel_exec e USING (process_id, launch_seq)")" "6|0" "their kernels have no times"
is "$(sql "SELECT count(*), sum(m.launches), count(reason) FROM measured m WHERE evidence = 'profiled'")" "2|6|0" "both configurations are measured in spite of it"
is "$(sql "SELECT count(*) FROM (SELECT m.config_id, m.active_sms - avg(p.active_sum) / 1.98 / (SELECT sum(time_ns) * 1.0 / sum(launches)
    FROM config_stat s WHERE s.config_id = m.config_id) AS off, m.active_error_sms AS error
  FROM measured m JOIN kernel_exec e USING (config_id) JOIN profile_launch p USING (process_id, launch_seq)
  WHERE m.evidence = 'profiled' GROUP BY 1) WHERE abs(off) > error OR error <= 0")" 0 "... within their errors"
is "$(sql "SELECT kernels_no_time, unexplained FROM loss")" "6|0" "kernels without times are counted"
"$wavetap" top --run "$(run_file)" --json >"$work/top.json"
is "$(sqlite3 -batch :memory: "SELECT readfile('$work/top.json') ->> '$.loss.kernels_no_time_profiled'")" 6 "... and told apart"
"$wavetap" top --run "$(run_file)" >"$work/top.txt" 2>&1
is "$(tr -s ' \n' ' ' <"$work/top.txt" | grep -o "lost [0-9]* of\|[0-9]* kernels without times: [a-z ]*" | tr '\n' ' ')" \
  "lost 0 of 6 kernels without times: launches under the range profiler have none " "... in words, too: not as lost"
counters="$top_builddir/tests/fake/fake_counters $work/counters"
# shellcheck disable=SC2086 # a command
is "$($counters range_left_started)" 0 "nothing was left running"
is "$(sql "SELECT count(*) > 0, max(type) FROM overhead WHERE type = 131072")" "1|131072" "our time is told as the profiler's"
# The kernels without times ran while their thread was held up: nothing is unknown, and what was waited for is the profiler's.
"$wavetap" ledger --all --run "$(run_file)" --json >"$work/ledger.json"
gap() { sqlite3 -batch :memory: "SELECT CAST(readfile('$work/ledger.json') AS TEXT) ->> '\$.devices[0].gap_by_cause_sm_ns.$1'"; }
is "$(gap unknown)" 0 "profiled launches leave no gap without a cause"
is "$(sql "SELECT abs($(gap profiler) / 132.0 / sum(cost_ns) - 1) < 0.05 FROM profile_launch")" 1 "the waits for them are the profiler's: $(gap profiler)"
# Without what says how long that was, the kernel may have run at any later time.
cp "$(run_file)" "$work/less.db"
sqlite3 -batch "$work/less.db" "DELETE FROM overhead"
"$wavetap" ledger --all --run "$work/less.db" --json >"$work/ledger.json"
ok "it is unknown where the record of that was lost" test "$(gap unknown)" -gt 0
# Steps with such launches say so.
marker=$(sql "SELECT min(kernel_id) FROM kernel")
"$wavetap" steps --step-marker "id:$marker" --run "$(run_file)" --json >"$work/steps.json"
is "$(sqlite3 -batch :memory: "SELECT sum(value ->> 'profiled_launches'), count(*) FILTER (WHERE value ->> 'profiled_launches' > 0) > 1
  FROM json_each(CAST(readfile('$work/steps.json') AS TEXT), '\$.rows')")" "$(sql "SELECT count(*), 1 FROM launch_call WHERE flags & 128")" "steps count them"
"$wavetap" steps --step-marker "id:$marker" --run "$(run_file)" >"$work/steps.txt"
ok "and say what that means" grep -q 'PROFILED: launches under the range profiler, in [0-9]* of' "$work/steps.txt"
unset WTFAKE_TRUTH WTFAKE_COUNTERS

# ---- a profiled launch holds back CUPTI's buffers

# 15 MB of records behind the first one, in a pool of 8 MiB.
WAVETAP_RUN=long WAVETAP_PROFILE_WARMUP_MS=0 tap "$app" --launches 60000 --us 1 --grid 267 --block 1000 >"$work/tap.out" 2>&1
is "$?" 0 "a program of many launches"
WAVETAP_RUN=long settle
is "$(sql "SELECT launches_attempted, launches_linked, kernels, kernels_dropped_cupti, unexplained FROM loss")" "60000|60000|60000|0|0" \
  "... loses no record"
ok "... and no times but those of profiled launches" test "$(sql "SELECT kernels_no_time = launches AND launches > 0 FROM loss JOIN profile_count USING (process_id)")" -eq 1

# ---- run --profile, and what it refuses

# Launches have their distance only where it matters.
expect() { # STATE NAME RATE ARGUMENT...
  want=$1 name=$2 rate=$3
  shift 3
  export WAVETAP_RUN="$name"
  bare "$app" "$@" >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  WTFAKE_COUNTERS="$work/$name.counters" tap "$app" "$@" --rate "$rate" >"$work/tap.out" 2>"$work/tap.err"
  is "$?" "$rc_bare" "$name: return code"
  is "$(words "$work/tap.out")" "$(words "$work/bare.out")" "$name: output"
  is "$(cat "$work/tap.err")" "$(cat "$work/bare.err")" "$name: stderr"
  settle
  # On a busy machine a program may rest for two seconds, or have no launch to itself.
  case $want,$(state) in 2,3 | "2 1,1" | "2 1,2" | "2 1,3") is 2 2 "$name: state" ;;
  *) is "$(state)" "$want" "$name: state" ;;
  esac
  is "$("$top_builddir/tests/fake/fake_counters" "$work/$name.counters" range_left_started)" 0 "$name: nothing left running"
}

expect 11 streams 0 --launches 100 --streams 2 --us 5
expect 10 cooperative 0 --launches 100 --kind coop --us 5
expect 2 graphs 200 --launches 120 --graph 4 --us 5
ok "graphs: the others are measured" test "$(sql "SELECT count(*) FROM profile_launch")" -gt 0
is "$(sql "SELECT count(*) FROM profile_launch JOIN kernel_exec USING (process_id, launch_seq) WHERE graph_id IS NOT NULL")" 0 \
  "graphs: none of theirs is"
expect 2 capture 200 --launches 120 --capture --us 5
expect 2 failing 200 --launches 120 --fail-every 7 --us 5
expect '2 1' threads 100 --launches 120 --threads 4 --us 5
WORLD_SIZE=2 RANK=0 expect 8 world 0 --launches 100 --us 5
WAVETAP_CUPTI=0 expect 6 unarmed 0 --launches 100 --us 5
WTFAKE_UNSUPPORTED=vgpu expect 6 vgpu 200 --launches 100 --us 5
WTFAKE_NO_METRICS=sm__warps_active expect 6 metrics 200 --launches 100 --us 5
WTFAKE_NO_METRICS=dram__bytes_read expect 2 no-dram 200 --launches 100 --us 5
is "$(sql "SELECT count(*), count(dram_bytes), count(tensor_avg) FROM profile_launch")" "3|0|3" "no-dram: what one can't know is NULL"
export WAVETAP_PROFILE=1001
expect "" nonsense 0 --launches 60 --us 5
export WAVETAP_PROFILE=3

# ---- run --profile

unset WAVETAP_PROFILE
run_profiled() { # WARMUP-MS WORD...
  warmup_ms=$1
  shift
  WAVETAP_RUN="run $* $warmup_ms" WAVETAP_PROFILE_WARMUP_MS=$warmup_ms WTFAKE_PM=$work/pm "$wavetap" run "$@" -- \
    "$app" --launches $((200 + warmup_ms / 5)) --rate 200 --us 20 >"$work/run.out" 2>"$work/run.err"
  is "$?" 0 "run $*"
  settle
}
run_profiled 50 --profile 2
# The sampler has two seconds to begin, on a busy machine more: else profiling was first.
for warmup_ms in 2000 6000 15000; do
  run_profiled $warmup_ms --sample 1ms --profile 2
  [ "$(state)" != 5 ] || break
done
is "$(grep -c . <"$work/run.out")" 1 "the program's output alone"
is "$(grep profiled "$work/run.err")" "profiled nothing: somebody else has the device's counters (code 26)" \
  "beside a sampler the counters are taken, and that is said"
is "$(state)" 5 "... in the run file, too"
for wrong in 0 0x 1001 -1 ""; do
  "$wavetap" run --profile "$wrong" -- true >"$work/run.out" 2>"$work/run.err"
  is "$?" 2 "run --profile '$wrong' is refused"
done
for wrong in half 0 101 ""; do
  WAVETAP_PROFILE_SHARE=$wrong "$wavetap" run --quiet -- true >"$work/run.out" 2>"$work/run.err"
  is "$?|$(cat "$work/run.out" "$work/run.err")" "0|wavetap: WAVETAP_PROFILE_SHARE: \"$wrong\" is not a number from 1 to 100; it will be 75" \
    "run: a share of '$wrong' is none, and that is said"
done
export WAVETAP_RUN=summary
"$wavetap" run --profile 2 -- "$app" --launches 200 --rate 200 --us 20 >"$work/run.out" 2>"$work/run.err"
ok "run --profile says what was measured" grep -q "^profiled [24] launches of [12] configurations*, [0-9.]*ms of waiting$" "$work/run.err"
# Where the summary is about the steps that were found, this line is of the whole run all the same.
WAVETAP_DIR="$work/demo" WAVETAP_PROFILE_WARMUP_MS=300 "$wavetap" run --profile 2 -- "$top_builddir/tests/fake/app_demo" --seconds 3 >"$work/demo.out" 2>"$work/demo.err"
ok "... also of a run with steps" grep -q "^profiled [1-9][0-9]* launches of [1-9] configurations*, [0-9.]*ms of waiting$" "$work/demo.err"
settle
export WAVETAP_PROFILE=3

# ---- ends of all kinds

ends() { # NAME ARGUMENT...
  name=$1
  shift
  export WAVETAP_RUN="$name"
  { bare "$app" "$@" >"$work/bare.out" 2>/dev/null; } 2>/dev/null
  rc_bare=$?
  { tap "$app" "$@" --rate 200 >"$work/tap.out" 2>/dev/null; } 2>/dev/null
  is "$?" "$rc_bare" "$name: ends as without us"
  settle
}
ends _exit --launches 70 --us 5 --exit _exit
ends abort --launches 70 --us 5 --exit abort
ends kill --launches 70 --us 5 --exit kill
ends fork --launches 70 --us 5 --fork after
ends exec --launches 70 --us 5 --fork exec

# ---- the application's own profiler

export WAVETAP_RUN=profiler
WTFAKE_FINALIZE=1 bare "$top_builddir/tests/fake/app_profiler" --sessions 3 --launches 200 >"$work/bare.out" 2>&1
WTFAKE_FINALIZE=1 tap "$top_builddir/tests/fake/app_profiler" --sessions 3 --launches 200 >"$work/tap.out" 2>&1
is "$(cat "$work/tap.out")" "$(cat "$work/bare.out")" "a program's own profiler sees what it sees without us"
settle

# ---- each call fails once

faults() { # CODE CALL...
  code=$1
  shift
  for call in "$@"; do
    (
      WTFAKE_FAIL="$call:*:$code" tap "$app" --launches 200 --us 5 --rate 200 >"$work/fault.$call.out" 2>"$work/fault.$call.err"
      echo "$?" >"$work/fault.$call.rc"
    ) &
  done
  wait
  for call in "$@"; do
    is "$(cat "$work/fault.$call.rc" "$work/fault.$call.err")" 0 "$call fails with $code: the program does not"
    is "$(words "$work/fault.$call.out")" "$(words "$work/good.out")" "... and launches the same"
  done
}
export WAVETAP_RUN=faults
bare "$app" --launches 200 --us 5 >"$work/good.out"
faults 999 cuptiProfilerInitialize cuptiDeviceGetChipName cuptiProfilerGetCounterAvailability \
  cuptiProfilerHostInitialize cuptiProfilerHostConfigAddMetrics cuptiProfilerHostGetConfigImageSize
faults 35 cuptiProfilerHostGetConfigImage cuptiProfilerHostGetNumOfPasses cuptiProfilerHostEvaluateToGpuValues \
  cuptiRangeProfilerEnable cuptiRangeProfilerGetCounterDataSize
faults 26 cuptiRangeProfilerCounterDataImageInitialize cuptiRangeProfilerSetConfig cuptiRangeProfilerStart \
  cuptiRangeProfilerStop cuptiRangeProfilerDecodeData cuptiRangeProfilerGetCounterDataInfo
faults 1 cuptiRangeProfilerStart cuptiRangeProfilerStop
faults 8 cuptiProfilerHostEvaluateToGpuValues cuptiRangeProfilerEnable cuptiRangeProfilerDecodeData
settle
sql "SELECT state, detail, count(*) FROM profile_count GROUP BY 1, 2" | sed 's/^/# state|code|processes: /'
is "$(sql "SELECT count(*) FROM profile_count WHERE state = 4 AND detail = 35")" 5 "no permission: said"
is "$(sql "SELECT count(*) FROM profile_count WHERE state = 5 AND detail = 26")" 6 "counters taken: said"
is "$(sql "SELECT count(*) FROM profile_count WHERE state = 7 AND detail IN (1, 8, 999)")" 11 "failures: said"
check_books
done_testing

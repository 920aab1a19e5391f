#!/bin/sh
# What is sampled ends in mid-run, by itself or by force: nothing is left running, the counters are
# free, and the run file has what there was. (Samplers and daemons that are killed: 0650-sampler.sh.)
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
sampler=$top_builddir/wavetap-sampler
export WTFAKE_PM="$work/pm" WTFAKE_COUNTERS="$work/counters" WAVETAP_SAMPLER="$sampler"
unset WAVETAP_SAMPLE

wait_for() { # COMMAND...: at most 20 s
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || return 1
    sleep 0.1
  done
}

field() { # of the one sampler, as status has it
  "$wavetap" status --json >"$work/status.json" 2>/dev/null
  sqlite3 -batch :memory: "SELECT json_extract(value, '\$.$1') FROM
    json_each(json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.samplers'))"
}
is_sampling() { [ "$(field state)" = sampling ] && [ "$(field samples)" -gt 2000 ]; }
is_gone() { [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null; }

# A run of a minute, until it is sampled; $pid is its sampler.
begin() { # [COMMAND [ARGUMENT...]]: what starts it
  rm -f "$WTFAKE_PM" "$WTFAKE_COUNTERS"
  "$@" "$wavetap" run -- sh -c 'echo $$ >"$1"; exec "$2" --seconds 60' sh "$work/app" "$fake/app_demo" >"$work/out" 2>"$work/err" &
  run=$!
  wait_for is_sampling
  pid=$(field pid)
}

check() { # NAME
  ok "$1: its sampler ends" wait_for is_gone
  settle
  is "$("$fake/fake_counters" "$WTFAKE_COUNTERS" pm_left_started pm_left_enabled pm_late_kernels | tr '\n' ' ')" "0 0 0 " \
    "$1: in good order"
  is "$(sql "SELECT state, samples_stored > 2000, samples_taken - samples_stored, reason FROM sampler")" "2|1|0|" "$1: all samples are stored"
  is "$(sql "SELECT launches_attempted > 0, unexplained FROM loss")" "1|0" "$1: the run is whole"
  is "$(find "$shm" -name '*.seg')" "" "$1: no segment is left"
  "$sampler" --duration 100ms --name after 2>"$work/err"
  is "$?" 0 "$1: the counters are free: $(grep '^counters' "$work/err")"
  settle
}

begin
kill -9 "$(cat "$work/app")"
wait "$run"
is "$?" 137 "the application is killed"
ok "killed application: the summary has samples: $(grep '^counters' "$work/err")" grep -q '^counters every ' "$work/err"
check "killed application"

# As Ctrl-C does: the whole group of processes has it.
begin timeout --preserve-status -s INT 60
kill -INT "$run" # passed on
wait "$run"
is "$?" 130 "Ctrl-C"
ok "Ctrl-C: there is a summary" grep -q '^counters every ' "$work/err"
check "Ctrl-C"

begin
kill -9 "$run"
kill "$(cat "$work/app")"
check "wavetap run killed"

# A sampler that is stopped can't end: it is killed, long before anybody gives up waiting (15 s).
begin
kill -STOP "$pid"
start=$(date +%s)
kill "$(cat "$work/app")"
wait "$run"
ok "a stopped sampler does not hold the end up" [ $(($(date +%s) - start)) -lt 10 ]
ok "which the summary says: $(grep '^counters' "$work/err")" grep -q '^counters every .*: wavetap-sampler was stopped (SIGSTOP) and could not end: it was killed$' "$work/err"
ok "and its numbers are final" sh -c '! grep -q "not final" "$1"' sh "$work/err"
ok "it is gone" wait_for is_gone
settle
is "$(sql "SELECT state, samples_stored > 2000, samples_taken - samples_stored, reason FROM sampler")" "1|1|0|it was killed" "what it had taken is stored"
is "$(sql "SELECT launches_attempted > 0, unexplained FROM loss")" "1|0" "the run is whole"

# One by hand that has joined a run is not ended with it, and not waited for.
rm -f "$WTFAKE_PM"
"$sampler" --run joined 2>"$work/first" &
first=$!
ok "a sampler by hand" wait_for grep -q 'sampling$' "$work/first"
start=$(date +%s)
WAVETAP_RUN=joined "$wavetap" run --sample off -- "$fake/app_demo" --seconds 0.3 >"$work/out" 2>"$work/err"
ok "does not hold the end of its run up" [ $(($(date +%s) - start)) -lt 10 ]
ok "which says that more may come" grep -q "the numbers below are not final" "$work/err"
kill "$first"
wait "$first"
is "$?" 0 "it goes on until it is told to end"
settle

# A program that ends while its sampler is in the driver: nobody waits for it.
rm -f "$WTFAKE_PM" "$WTFAKE_COUNTERS"
WTFAKE_SLOW=cuptiPmSamplingEnable:600000000 "$wavetap" run -- "$fake/app_demo" --seconds 0.3 >"$work/out" 2>"$work/err"
is "$?" 0 "a program that is over before its sampler is set up"
is "$(grep '^counters' "$work/err")" "counters: off, because the program ended before they were set up, or another tool is in it (CUDA_INJECTION64_PATH)" "which is said"
settle
is "$(sql "SELECT count(*), max(state) FROM sampler")" "$(sql "SELECT count(*), CASE WHEN count(*) THEN 2 END FROM sampler")" "its sampler ended in good order"
is "$(sql "SELECT launches_attempted > 0, unexplained FROM loss")" "1|0" "the run is whole"

done_testing

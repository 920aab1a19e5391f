#!/bin/sh
# What wavetap itself costs is measured in place and told; WAVETAP_BUDGET steps down to hooks once, in
# good order, and what is not observed from then on is said.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch

value() { # NAME FILE: NAME=COUNT words that the launcher prints
  tr ' ' '\n' <"$2" | sed -n "s/^$1=//p" | awk '{ n += $1 } END { print n + 0 }'
}

# ---- measured

export WAVETAP_RUN=measured
tap "$app" --launches 60000 --threads 2 --us 1 >"$work/out"
settle
is "$(sql "SELECT launches, launches = (SELECT launches_attempted + graph_launches FROM loss) FROM cost")" "120000|1" \
  "measured: launches of the process"
# One in 256: 469 of them, give or take what two threads do to their order.
ok "measured: one launch in 256 is timed ($(sql "SELECT launches_timed FROM cost"))" \
  test "$(sql "SELECT launches_timed BETWEEN 300 AND 650 FROM cost")" = 1
is "$(sql "SELECT sum(launches) = (SELECT launches_timed FROM own_cost) FROM hook_time")" 1 "measured: the histogram has them all"
ok "measured: p50 $(sql "SELECT hook_p50_ns || ' ns, p99 ' || hook_p99_ns FROM cost")" \
  test "$(sql "SELECT hook_p50_ns > 10 AND hook_p99_ns >= hook_p50_ns FROM cost")" = 1
# The same by another way: the mean of the middles of the buckets, times the launches.
is "$(sql "SELECT abs(1.0 * (SELECT sum((low_ns + high_ns) / 2.0 * launches) / sum(launches) FROM hook_time WHERE high_ns IS NOT NULL)
    * launches / hook_launches_ns - 1) < 0.15 FROM cost")" 1 "measured: the sum over all launches follows from the histogram"
is "$(sql "SELECT threads, thread_ns > 0 AND thread_ns < 2.5 * wall_ns FROM cost")" "2|1" "measured: two launching threads, and their time"
is "$(sql "SELECT cupti_callbacks > 60 AND cupti_callback_ns > 0 AND cupti_bytes > 120000 * 256 FROM cost")" 1 \
  "measured: CUPTI's buffers, their time and bytes"
is "$(sql "SELECT bytes_written >= 128 * ((SELECT count(*) FROM launch_call) + (SELECT count(*) FROM kernel_exec)) FROM cost")" 1 \
  "measured: bytes written into shared memory"
is "$(sql "SELECT budget_state, budget_pct IS NULL, budget_stepped_ns IS NULL FROM cost")" "0|1|1" "measured: no limit was asked for"
for cmd in top ledger; do
  "$wavetap" $cmd --all >"$work/text"
  ok "measured: the foot of $cmd tells it" grep -q "own cost .*% of wall time.*hooks .*a launch .*callbacks .*inside the driver" "$work/text"
done
"$wavetap" top --all --json >"$work/json"
is "$(sqlite3 -batch :memory: "SELECT j ->> '$.cost.launches_timed', j ->> '$.cost.own_ns'
    = (j ->> '$.cost.hook_launches_ns') + (j ->> '$.cost.hook_calls_ns') + (j ->> '$.cost.cupti_callback_ns')
    FROM (SELECT CAST(readfile('$work/json') AS TEXT) AS j)")" "$(sql "SELECT launches_timed FROM cost")|1" \
  "measured: JSON has the parts and their sum"
"$wavetap" doctor >"$work/text" 2>&1
ok "measured: doctor tells the last run's" grep -q "own cost .*% of wall time in run" "$work/text"
is "$("$wavetap" check 2>&1 | grep -c sound)" 1 "measured: the file is sound"

# Slow hooks: a clock that takes 5 us. A hook reads it twice, with the halves of the two readings that time it.
export WAVETAP_RUN=slow
SLOW_CLOCK_NS=5000 LD_PRELOAD="$top_builddir/tests/hosts/slow_clock.so $library" "$app" --launches 20000 --us 1 >"$work/out"
settle
ok "slow clock: a hook takes two readings, $(sql "SELECT hook_p50_ns FROM cost") ns" \
  test "$(sql "SELECT hook_p50_ns >= 7500 FROM cost")" = 1
check_books

# ---- the limit

# Windows end with 1,000 launches and kernels, ten times as long at most: on a busy machine, too.
export WAVETAP_BUDGET_WINDOW_MS=200 WAVETAP_FLUSH_MS=20
limited() { # NAME ENVIRONMENT... -- ARGUMENTS...
  name=$1
  shift
  export WAVETAP_RUN="limit-$name"
  env "$@" >"$work/$name.out" 2>"$work/$name.err"
  is "$?" 0 "$name: the program ends well"
  is "$(cat "$work/$name.err")" "" "$name: and says nothing"
  settle
}

stepped=0
for cause in callbacks hooks; do
  if [ $cause = callbacks ]; then
    limit=2
    launches=40000
    limited $cause WAVETAP_BUDGET=$limit WTFAKE_NEXT_RECORD_NS=3000 "LD_PRELOAD=$library" "$app" --launches $launches --rate 10000 --us 1
  else
    limit=0.5
    launches=20000
    limited $cause WAVETAP_BUDGET=$limit% SLOW_CLOCK_NS=20000 "LD_PRELOAD=$top_builddir/tests/hosts/slow_clock.so $library" \
      "$app" --launches $launches --rate 10000 --us 1
  fi
  is "$(sql "SELECT capture, reason LIKE '%WAVETAP_BUDGET%', budget_state, budget_pct FROM process JOIN cost USING (process_id)")" \
    "hooks-only|1|2|$(echo $limit | sed 's/^2$/2.0/')" "slow $cause: stepped down, and says why"
  is "$(sql "SELECT budget_cost_pct > $limit AND reason_detail = round(1e4 * budget_cost_pct) FROM process JOIN cost USING (process_id)")" 1 \
    "slow $cause: with what was measured"
  is "$(sql "SELECT launches_attempted, launches_stored, unexplained, launches_in_flight, launches_linked + launches_unobserved FROM loss")" \
    "$launches|$launches|0|0|$launches" "slow $cause: every launch is counted, and none is unexplained"
  is "$(sql "SELECT launches_linked > 0 AND launches_unobserved > 0 AND launches_unlinked = 0 FROM loss")" 1 \
    "slow $cause: kernels until then, launches after"
  # The time is told before CUPTI is switched off: on a busy machine a few launches enter in between, and
  # have their kernels. From then on none is launched into the recording.
  is "$(sql "SELECT count(*) FROM launch WHERE entry_ns > (SELECT budget_stepped_ns + 500000000 FROM cost)")" 0 "slow $cause: no kernel after it"
  ok "slow $cause: nor many at it" test "$(sql "SELECT count(*) FROM launch WHERE entry_ns > (SELECT budget_stepped_ns FROM cost)")" -lt 1000
  is "$(sql "SELECT count(*) > 0 AND min(flags & 16) = 16 FROM launch_call WHERE entry_ns > (SELECT budget_stepped_ns FROM cost)")" 1 \
    "slow $cause: launches after it are marked"
  "$wavetap" ledger --all >"$work/text"
  ok "slow $cause: the ledger says what is unobserved" grep -q "unobserved: the last .* of process .* exceeded WAVETAP_BUDGET of $limit%" "$work/text"
  "$wavetap" ledger --all --json >"$work/json"
  is "$(sqlite3 -batch :memory: "SELECT json_array_length(j, '$.cost.budgets'), j ->> '$.cost.budgets[0].state',
      (j ->> '$.cost.budgets[0].unobserved_ns') > 0, (j ->> '$.window.end_ns') < (j ->> '$.cost.budgets[0].unobserved_from_ns') + 1e9
      FROM (SELECT CAST(readfile('$work/json') AS TEXT) AS j)")" "1|stepped-down|1|1" "slow $cause: so does its JSON; its window ends there"
  stepped=$((stepped + 1))
  is "$("$wavetap" status | grep -c "unobserved: the last")" $stepped "slow $cause: and status"
done

# Many threads, and graphs: no launch is in two counts, whatever was in the driver then. Of 500 graph
# launches of seven kernels a thread; in rings that hold it all, on a busy machine, too.
for i in 1 2 3; do
  limited threads$i WAVETAP_BUDGET=0.5 WAVETAP_SHM_BYTES=67108864 WTFAKE_NEXT_RECORD_NS=3000 "LD_PRELOAD=$library" "$app" \
    --launches 4000 --threads 6 --streams 4 --rate 1000 --us 1 --graph 7
  words=$(sql "SELECT (SELECT budget_state FROM cost), ' unobserved ' || launches_unobserved, ' by order ' || launches_linked_by_order, ' graphs ' ||
    (SELECT launches FROM graph_unobserved) FROM loss")
  # Unlinked are those whose record CUPTI had no buffer for; on a very busy machine the last flush does not end in time.
  is "$(sql "SELECT kernels_cupti_only, unexplained, launches_unlinked > kernels_dropped_cupti, launches_in_flight > 0 AND state = 'finished', launches_stored
    - launches_linked - launches_unobserved - launches_captured - launches_unlinked - launches_in_flight FROM loss")" "0|0|0|0|0" "threads $i: each launch is in one count, $words"
  [ "$(sql "SELECT budget_state = 2 AND kernels_dropped_cupti = 0 FROM cost JOIN loss USING (process_id)")" = 1 ] || continue
  # What is in the driver at that moment may have some of its seven kernels recorded: one a thread.
  is "$(sql "SELECT kernels_graph BETWEEN 7 * g - 6 * 6 AND 7 * g FROM (SELECT kernels_graph, graph_launches - (SELECT launches FROM graph_unobserved) AS g FROM loss)")" 1 \
    "threads $i: graph launches that were observed have their kernels, the others are counted"
  "$wavetap" top --all >"$work/text"
  ok "threads $i: the foot tells of them" grep -q "lost [0-9,]* graph launches that CUPTI did not record, with all of their kernels" "$work/text"
done

# Below the limit: never.
limited below WAVETAP_BUDGET=100 "LD_PRELOAD=$library" "$app" --launches 20000 --rate 20000 --us 1
is "$(sql "SELECT capture, budget_state, budget_pct, launches_unobserved FROM process JOIN cost USING (process_id) JOIN loss USING (process_id)")" \
  "full|1|100.0|0" "below: nothing changes"
# Few launches: whatever they cost.
limited few WAVETAP_BUDGET=0.001 WTFAKE_NEXT_RECORD_NS=30000 "LD_PRELOAD=$library" "$app" --launches 300 --rate 500 --us 1
is "$(sql "SELECT capture, budget_state FROM process JOIN cost USING (process_id)")" "full|1" "few: too few to judge"
# What is not understood.
limited bad WAVETAP_BUDGET=much "LD_PRELOAD=$library" "$app" --launches 100
is "$(sql "SELECT capture, budget_state, budget_pct IS NULL FROM process JOIN cost USING (process_id)")" "full|3|1" "bad value: no limit"
"$wavetap" status >"$work/text"
ok "bad value: status says so" grep -q "WAVETAP_BUDGET is not a percentage of wall time" "$work/text"
for words in "--budget much" "--budget 101" "--budget="; do
  # shellcheck disable=SC2086 # words
  "$wavetap" run $words -- true >"$work/text" 2>&1
  is "$?" 2 "run $words: refused"
  ok "run $words: says why" grep -q "is not a percentage of wall time above 0" "$work/text"
done
WAVETAP_BUDGET=much "$wavetap" run -- true >"$work/text" 2>&1
is "$?" 2 "run with WAVETAP_BUDGET=much: refused"
unset WAVETAP_RUN
WTFAKE_NEXT_RECORD_NS=3000 "$wavetap" run --budget 2 --sample off -- "$app" --launches 40000 --rate 20000 --us 1 >"$work/out" 2>"$work/text"
is "$(sql "SELECT budget_state, budget_pct FROM cost")" "2|2.0" "run --budget: the program has it"
ok "run --budget: the summary says what is unobserved" grep -q "unobserved: the last" "$work/text"

# While a stream is captured it waits.
limited capture WAVETAP_BUDGET=2 WTFAKE_NEXT_RECORD_NS=3000 "LD_PRELOAD=$library" "$app" --launches 40000 --rate 20000 --us 1 --capture
is "$(sql "SELECT budget_state IN (1, 2, 5) FROM cost")" 1 "captures: stepped down between them or not at all"
is "$(value failed "$work/capture.out")" 0 "captures: none fails"
check_books
done_testing

#!/bin/sh
# CUPTI's buffers on the device: their number is limited before anything is enabled; where they are used
# up, kernels come without times, each is counted, and it is said while the program runs. The simulated
# GPU keeps the places of graph nodes for ever (as was reported for CUPTI 13.0.85), ten records a buffer.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
until_true() { # a command, for at most 30 s
  tries=0
  until "$@" 2>/dev/null || [ "$tries" -ge 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  "$@"
}
# 100 graph launches of 50 nodes among 700 single launches.
set -- --launches 800 --graph 50

# ---- the limit: as many nodes have times as there is room for
export WTFAKE_BUFFER_RECORDS=10 WTFAKE_LEAK_NODES=1
limited() { # NAME NODES-WITH-TIMES
  settle
  is "$(sql "SELECT count(*), sum(start_ns IS NOT NULL), sum(coalesce(end_ns, start_ns) IS NULL) = 5000 - sum(start_ns IS NOT NULL)
    FROM kernel_exec WHERE graph_node_id IS NOT NULL")" "5000|$2|1" "$1: of 5000 nodes $2 have times, the others none"
  is "$(sql "SELECT kernels_no_time = (SELECT count(*) FROM kernel_exec WHERE start_ns IS NULL), kernels, unexplained FROM loss")" \
    "1|5700|0" "$1: each without is counted"
  is "$(sql "SELECT (SELECT sum(launches) FROM kernel_idle) + kernels_no_time = kernels FROM loss")" 1 "$1: and not ranked"
}
bare "$app" "$@" | sed 's/pid=[0-9]*//' >"$work/bare.out"
WAVETAP_RUN=usual tap "$app" "$@" 2>"$work/err" | sed 's/pid=[0-9]*//' >"$work/out"
ok "the program is as without wavetap" cmp "$work/bare.out" "$work/out"
is "$(cat "$work/err")" "" "not a word of ours"
limited "64 unless told" 640
"$wavetap" top --all >"$work/top" 2>&1
ok "top names the remedy" grep -q 'kernel times: not usable.*WAVETAP_CUPTI_BUFFERS=250' "$work/top"
sed -n 's/^lost/# lost/p' "$work/top"
for case in 8:80 3:40 250:2500 0:2500 -7:640 many:640 8x:640 1000000000000:640; do
  # In the subshell of the assignment, for a function's may stay.
  (WAVETAP_RUN=case-$case WAVETAP_CUPTI_BUFFERS=${case%:*} tap "$app" "$@") >/dev/null
  limited "WAVETAP_CUPTI_BUFFERS=${case%:*}" "${case#*:}"
done
# One that CUPTI doesn't take changes nothing else.
(WAVETAP_RUN=refused WTFAKE_FAIL='cuptiActivitySetAttribute:*:1' tap "$app" "$@") >/dev/null
limited "refused" 2500
is "$(sql "SELECT capture FROM process")" full "refused: recorded in full"
unset WTFAKE_BUFFER_RECORDS WTFAKE_LEAK_NODES

# ---- the alarm, while it happens
state() { "$wavetap" status --json >"$work/status.json" 2>/dev/null && sqlite3 -batch :memory: "SELECT value ->> '$1' FROM
  json_each(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.processes')" 2>/dev/null; }
watch_run() { # NAME SETTING COMMAND: true once that is
  LD_PRELOAD=$library env WAVETAP_RUN="$1" "$2" "$app" --launches 1000000 --rate 1500 >/dev/null 2>&1 &
  program=$!
  until_true "$3"
}
is_alarmed() { [ "$(state '$.is_timeless')" = 1 ]; }
has_many() { [ "$(state '$.kernels_stored')" -ge 3000 ]; }
ok "every fifth without times: an alarm while the program runs" watch_run fifth WTFAKE_ZERO_EVERY=5 is_alarmed
ok "... it runs" kill -0 "$program"
"$wavetap" status >"$work/status"
ok "... status has the number and the remedy" grep -Eq "process $program: CUPTI gives kernels no times \([0-9]+ so far\).*WAVETAP_CUPTI_BUFFERS=250" "$work/status"
grep "no times" "$work/status" | sed 's/^/# /'
kill -9 "$program"
settle
is "$(grep -c "process $program: CUPTI gives kernels no times" "$data/wavetapd.log")" 1 "... once in the daemon's log"
ok "every fiftieth without: thousands of kernels later" watch_run fiftieth WTFAKE_ZERO_EVERY=50 has_many
ok "... they are counted" [ "$(state '$.kernels_no_time')" -ge 50 ]
is "$(state '$.is_timeless')" 0 "... no alarm"
"$wavetap" status >"$work/status"
ok "... nor in the text" sh -c '! grep -q "no times" "$1"' sh "$work/status"
kill -9 "$program"
settle
done_testing

#!/bin/sh
# kill9.sh APP-KILLS DAEMON-KILLS: kill -9 at random moments (not a test by itself: make check
# runs it with 10 and 10 through 0400-kill9.sh, make stress with 500 and 200).
#
# After every kill of an application: attempted (counted by the simulated driver in a file that
# survives the kill) = stored + counted losses, within the calls that were inside the hook at
# that moment. After kills of the daemon: no launch is missing, none is there twice.
WAVETAP_TEST_PACK=${WAVETAP_TEST_PACK-}
. "$top_srcdir/tests/e2e/lib.sh"

app_kills=$1
daemon_kills=$2
app=$top_builddir/tests/fake/app_launch
counters=$top_builddir/tests/fake/fake_counters
threads=3

random() { # 0 .. LIMIT-1
  awk -v limit="$1" -v seed="$(od -An -N4 -tu4 /dev/urandom)" 'BEGIN { srand(seed); print int(rand() * limit) }'
}
daemon_pid() { # of this test's daemon: the one that its status socket tells
  "$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9'
}

bad=0
late=0
unborn=0
torn_total=0
i=0
while [ "$i" -lt "$app_kills" ]; do
  i=$((i + 1))
  export WAVETAP_RUN="kill-app-$i"
  export WTFAKE_COUNTERS="$work/counters.$i"
  # One in four as fast as it can, with full rings, which takes seconds to store; the others at some rate a thread.
  rate=
  [ $((i % 4)) = 0 ] || rate="--rate $((1000 + $(random 20000)))"
  # shellcheck disable=SC2086 # an option and its value
  LD_PRELOAD=$library "$app" --launches 1000000 --threads "$threads" --graph 4 --us 20 $rate >/dev/null 2>&1 &
  victim=$!
  sleep "0.$((100 + $(random 300)))"
  kill -9 "$victim"
  wait "$victim" 2>/dev/null
  # Killed between making its segment and starting the daemon, it leaves the segment to the next one.
  if ! settle >/dev/null; then
    late=$((late + 1))
    "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
    settle || bad=$((bad + 1))
  fi
  attempted=$("$counters" "$WTFAKE_COUNTERS" launch_attempted 2>/dev/null | sed 's/.*[= ]//')
  # Killed before its first launch, or while its segment was being made, it leaves nothing to account for:
  # counted here.
  if [ -z "$(run_file)" ] &&
    { [ "${attempted:-0}" = 0 ] || grep -q 'still being made' "$data/wavetapd.log" 2>/dev/null; }; then
    unborn=$((unborn + 1))
    rm -f "$WTFAKE_COUNTERS" "$data/wavetapd.log"
    continue
  fi
  # A call that died inside the driver was counted there and never returned to the hook.
  line=$(sql "SELECT launches_attempted, launches_stored, launches_dropped, launches_torn, unexplained,
     graph_launches,
     (SELECT count(*) FROM launch_call) = launches_stored,
     (SELECT count(DISTINCT seq) FROM launch_call) = launches_stored FROM loss" | tr '|' ' ')
  # shellcheck disable=SC2086 # a list of numbers
  set -- $line
  torn_total=$((torn_total + ${4:-0}))
  if [ $# != 8 ] || [ $((attempted - $1 - $6)) -lt 0 ] || [ $((attempted - $1 - $6)) -gt "$threads" ] ||
    [ "$1" != $(($2 + $3 + $4)) ] || [ "$4" -lt 0 ] || [ "$4" -gt "$threads" ] ||
    [ "$5" != 0 ] || [ "$7" != 1 ] || [ "$8" != 1 ]; then
    echo "# app kill $i: driver saw $attempted; attempted stored dropped torn unexplained graphs rows distinct: $line"
    sqlite3 -batch -line "$(run_file)" "SELECT state, cells_torn, cells_bad, cells_gap, calls_pos, activity_pos,
      calls_dropped, kernels_cupti_only, launches_unlinked, kernels_seen, kernels_stored, kernels_dropped_ring,
      finished_ns FROM proc" | sed 's/^/#/'
    tail -n 5 "$data/wavetapd.log" 2>/dev/null | sed 's/^/# log: /'
    bad=$((bad + 1))
  fi
  rm -f "$WTFAKE_COUNTERS" "$data"/runs/*
done
is "$bad" 0 "$app_kills kills of the application: the books balance ($torn_total launches torn in all, $late left to a later daemon, $unborn killed before they had a segment)"
# Rare on a machine that has time for a start of 100 ms; here, that the kills hit what they are for.
ok "and most had one" test "$unborn" -le $((app_kills / 4 + 2))
unset WTFAKE_COUNTERS

# A daemon that is killed holds its lock until the kernel has taken it apart; on a slow disk that
# takes a while. One that is spawned meanwhile waits for it.
export WAVETAP_RUN=kill-lock
LD_PRELOAD=$library WAVETAP_SPAWN=0 "$app" --launches 10 >/dev/null 2>&1
name=$(basename "$(ls "$shm"/*.seg)")
flock -x "$shm/$(echo "$name" | cut -d- -f1-3).lock" -c "sleep 1" &
sleep 0.3
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
ok "a daemon waits for the lock of one that is being killed" settle
is "$(sql "SELECT launches_stored FROM loss")" 10 "and drains what is there"
rm -f "$data"/runs/*

# One long-lived application; its daemon killed again and again. The next one is started by hand,
# as a supervisor or the next process would.
export WAVETAP_RUN=kill-daemon
LD_PRELOAD=$library "$app" --launches 100000000 --threads "$threads" --graph 4 --rate 4000 --us 20 >/dev/null 2>&1 &
victim=$!
i=0
killed=0
while [ "$i" -lt "$daemon_kills" ]; do
  i=$((i + 1))
  sleep "0.$((50 + $(random 250)))"
  pid=$(daemon_pid)
  if [ -n "$pid" ]; then
    kill -9 "$pid" && killed=$((killed + 1))
  fi
  "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
done
kill -INT "$victim" 2>/dev/null
kill -9 "$victim" 2>/dev/null
wait "$victim" 2>/dev/null
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
ok "the daemon was killed ($killed times)" test "$killed" -ge $((daemon_kills / 2))
ok "the daemon after that drains everything and ends" settle
is "$(sql "SELECT count(*) FROM proc")" 1 "one process in the run file"
is "$(sql "SELECT count(*) - count(DISTINCT seq) FROM launch_call")" 0 "no launch is there twice"
is "$(sql "SELECT count(*) - count(DISTINCT correlation_id || '-' || coalesce(graph_node_id, 0)) FROM kernel_exec")" 0 \
  "no kernel is there twice"
is "$(sql "SELECT max(seq) + 1 - count(*) - (SELECT launches_dropped + launches_torn FROM loss) FROM launch_call
  HAVING max(seq) + 1 - count(*) > (SELECT launches_dropped + launches_torn FROM loss)")" "" "no launch is missing"
check_books
# One of the daemons that were started may have got the lock after the others, and idles.
tries=0
while [ -n "$(ls "$shm")" ] && [ "$tries" -lt 300 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

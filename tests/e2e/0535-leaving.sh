#!/bin/sh
# The exit of a program in a container waits for the daemon to store its end, and no longer: not
# for a round that never comes, not by the clock of another time namespace, and never for more
# than its limit, however late the program lets its timers be. Times are in milliseconds; the limit
# is 2000. Skipped where the kernel forbids such namespaces.
# $ is for inner shells.
# shellcheck disable=SC2016
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
# The same user inside, with the right to mount: plain for root.
if [ "$(id -u)" = 0 ]; then
  same="unshare"
else
  same="unshare --user --map-current-user --keep-caps"
fi
can() { # FLAGS...: are there such namespaces?
  # shellcheck disable=SC2086
  "$@" --fork true 2>/dev/null
}
# shellcheck disable=SC2086
can $same --pid --mount --mount-proc || skip_all "the kernel forbids namespaces of pids and mounts here"
contained() { # PROGRAM...: in a container with the host's shared memory and data directory
  $same --pid --mount --mount-proc --fork "$@"
}
now_ms() {
  echo $(($(date +%s%N) / 1000000))
}
timed() { # COMMAND...: into $took_ms
  begun_ms=$(now_ms)
  "$@" >>"$work/out" 2>&1
  code=$?
  took_ms=$(($(now_ms) - begun_ms))
  return "$code"
}
is_served() {
  ls "$shm"/*.sock >/dev/null 2>&1
}
start_daemon() { # on the host
  "$top_builddir/wavetapd" --idle 60 >/dev/null 2>&1
  tries=0
  until is_served || [ "$tries" -ge 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
}
stop_daemon() {
  pid=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
  [ -z "$pid" ] || kill "$pid"
}

# ---- each with a daemon of its own, which ends with it
export WAVETAP_RUN=own
slow=0
times=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  timed contained env LD_PRELOAD="$library" "$app" --launches 50 || times="$times failed"
  times="$times $took_ms"
  [ "$took_ms" -lt 1900 ] || slow=$((slow + 1))
  rm -f "$shm"/*
done
echo "# ms:$times"
ok "no more than a few of twenty short programs take as long as the limit" [ "$slow" -le 3 ]
is "$(sql "SELECT state, count(*), sum(launches_stored), sum(kernels) FROM loss GROUP BY 1")" "finished|20|1000|1000" \
  "all is stored, the ends too"

# ---- the daemon has the host's clock, the program one that is a day ahead
start_daemon
lock=$(ls "$shm"/*.lock)
# shellcheck disable=SC2086
if can $same --time --monotonic 100000; then
  slow=0
  times=
  export WAVETAP_RUN=ahead
  for _ in 1 2 3 4 5 6; do
    timed contained --time --monotonic 100000 env LD_PRELOAD="$library" "$app" --launches 50 || times="$times failed"
    times="$times $took_ms"
    [ "$took_ms" -lt 1900 ] || slow=$((slow + 1))
  done
  echo "# ms:$times"
  ok "another time namespace: no more than a few of six take as long as the limit" [ "$slow" -le 2 ]
  is "$(sql "SELECT state, count(*), sum(launches_stored), sum(kernels) FROM loss GROUP BY 1")" "finished|6|300|300" \
    "another time namespace: all is stored, the ends too"
else
  echo "# the kernel forbids time namespaces here"
fi
stop_daemon
settle

# ---- who has the daemon's lock is silent, and the program's timers may be 0.1 s or a minute late
export WAVETAP_RUN=silent
mkfifo "$work/go"
flock "$lock" sh -c 'read -r line <"$1"' sh "$work/go" &
holder=$!
tries=0
while flock --nonblock "$lock" true && [ "$tries" -lt 300 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
for slack_ns in 100000000 60000000000; do
  timed contained env LD_PRELOAD="$library" sh -c 'echo "$2" >/proc/self/timerslack_ns; exec "$1" --launches 50' sh "$app" "$slack_ns"
  is "$?" 0 "a silent daemon, timers $slack_ns ns late: the program ran"
  echo "# ms: $took_ms"
  ok "and waited" [ "$took_ms" -ge 1900 ]
  ok "but not much longer than the limit" [ "$took_ms" -lt 8000 ]
done
echo go >"$work/go"
wait "$holder"

# Without a daemon there is nothing to wait for.
slow=0
export WAVETAP_SPAWN=0
for _ in 1 2 3 4 5; do
  timed contained env LD_PRELOAD="$library" "$app" --launches 50
  [ "$took_ms" -lt 1900 ] || slow=$((slow + 1))
done
ok "no daemon: no wait" [ "$slow" -le 1 ]
unset WAVETAP_SPAWN
start_daemon
stop_daemon
settle
check_books
done_testing

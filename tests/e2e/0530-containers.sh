#!/bin/sh
# Containers, as namespaces of their own: pid, mount (with its own or the host's shared memory),
# ipc and user. Every launch of a program in one is stored or counted, no segment stays behind,
# and status says what it sees. Skipped where the kernel forbids such namespaces.
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
can $same --pid --mount --ipc --mount-proc || skip_all "the kernel forbids namespaces of pids, mounts and ipc here"
contained() { # PROGRAM...: in a container with the host's shared memory and data directory
  $same --pid --mount --ipc --mount-proc --fork "$@"
}
daemon_pid() {
  "$wavetap" status --json >"$work/status.json" 2>/dev/null
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.pid')"
}
start_daemon() { # on the host, to stay for so many seconds without work
  "$top_builddir/wavetapd" --idle "$1" >/dev/null 2>&1
  tries=0
  while [ -z "$(daemon_pid)" ] && [ "$tries" -lt 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
}
stop_daemon() {
  pid=$(daemon_pid)
  [ -z "$pid" ] || kill "$pid"
}
until_true() { # a command, for at most 30 s
  tries=0
  until "$@" || [ "$tries" -ge 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  "$@"
}
no_segments() {
  [ -z "$(find "$shm" -name '*.seg')" ]
}
summary() {
  sql "SELECT state, launches_attempted, launches_stored, kernels, unexplained FROM loss"
}

# ---- the host's daemon serves a container
start_daemon 60
export WAVETAP_RUN=shared
LD_PRELOAD=$library contained "$app" --launches 400 >"$work/out" 2>&1
ok "no segment is left" until_true no_segments
is "$(summary)" "finished|400|400|400|0" "all launches are stored"
is "$(sql "SELECT pid_namespace <> $(stat -L -c %i /proc/self/ns/pid), pid < 10 FROM process")" "1|1" "from a pid namespace of its own"
export WAVETAP_RUN=shared-kill
LD_PRELOAD=$library contained sh -c "'$app' --launches 400 --exit kill; true" >"$work/out" 2>&1
ok "killed: no segment is left" until_true no_segments
is "$(summary | cut -d '|' -f 1-3)" "killed|400|400" "killed: known to be, and its launches are stored"

# Several at once, each with the same pids in its own namespace.
export WAVETAP_RUN=shared-many
for n in 1 2 3 4; do
  (LD_PRELOAD=$library contained "$app" --launches 100 >>"$work/out" 2>&1) &
done
wait
ok "four at once: no segment is left" until_true no_segments
is "$(sql "SELECT count(*), count(DISTINCT pid_namespace), sum(launches_stored), sum(kernels) FROM process JOIN loss USING (process_id)")" \
  "4|4|400|400" "four at once: each is there"

# While it lives it is not taken for dead, and status has it.
export WAVETAP_RUN=shared-live
mkfifo "$work/go"
LD_PRELOAD=$library contained sh -c "'$app' --launches 20 --rate 10; read -r line <'$work/go'" >"$work/out" 2>&1 &
has_process() {
  daemon_pid >/dev/null
  [ "$(sqlite3 -batch :memory: "SELECT value ->> 'state' FROM json_each(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.processes')")" = live ]
}
ok "status: live" until_true has_process
echo go >"$work/go"
wait
ok "no segment is left" until_true no_segments
is "$(summary)" "finished|20|20|20|0" "all launches are stored"

# Without a run key: what a script on the host starts in containers is one run.
unset WAVETAP_RUN
rm -r "$data/runs"
cat >"$work/inner.sh" <<'SCRIPT'
"$APP" --launches 5
"$APP" --launches 5
while [ -n "$(find "$WAVETAP_SHM_DIR" -name '*.seg')" ]; do sleep 0.1; done
SCRIPT
cat >"$work/two.sh" <<'SCRIPT'
$SAME --pid --mount --ipc --mount-proc --fork timeout 60 sh "$INNER"
$SAME --pid --mount --ipc --mount-proc --fork timeout 60 sh "$INNER"
SCRIPT
SAME=$same APP=$app INNER=$work/inner.sh LD_PRELOAD=$library sh "$work/two.sh" >"$work/out" 2>&1
ok "no segment is left" until_true no_segments
is "$(for file in "$data"/runs/*.db; do sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT count(*) FROM process"; done | tr '\n' ' ')" "4 " \
  "two containers of one script are one run"
# One script in one container too, though the host sees other pids.
rm -r "$data/runs"
APP=$app LD_PRELOAD=$library contained timeout 60 sh "$work/inner.sh" >"$work/out" 2>&1
ok "no segment is left" until_true no_segments
is "$(for file in "$data"/runs/*.db; do sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT count(*) FROM process"; done | tr '\n' ' ')" "2 " \
  "a script in a container is one run"
stop_daemon
settle

# A container takes its daemon along, and the segment stays. Whoever finds it goes on with the run
# that it is in, also one that can no longer see which that is: on the host, and in the next container.
books() { # of each run
  for file in "$data"/runs/*.db; do
    sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT state, launches_attempted, launches_stored, launches_torn, unexplained FROM loss"
  done | sort | tr '\n' ' '
}
rm -r "$data/runs"
LD_PRELOAD=$library contained "$app" --launches 700 >"$work/out" 2>&1
ok "a segment is left" test -n "$(find "$shm" -name '*.seg')"
start_daemon 1
ok "a daemon on the host takes it" until_true no_segments
settle
is "$(books)" "finished|700|700|0|0 " "a container's last segment on the host: no second run"
rm -r "$data/runs"
LD_PRELOAD=$library contained "$app" --launches 700 >"$work/out" 2>&1
APP=$app LD_PRELOAD=$library contained timeout 60 sh "$work/inner.sh" >"$work/out" 2>&1
start_daemon 1 # to remove what the container's left of itself
settle
is "$(books)" "finished|5|5|0|0 finished|5|5|0|0 finished|700|700|0|0 " "in the next container: no second run either"

# ---- two containers that can't see each other: the daemon in one, the program in the other
export WAVETAP_RUN=sibling
contained "$top_builddir/wavetapd" --foreground --idle 5 >"$work/daemon.out" 2>&1 &
is_served() { ls "$shm"/*.sock >/dev/null 2>&1; }
ok "a daemon in a container" until_true is_served
LD_PRELOAD=$library contained sh -c "'$app' --launches 300 --exit kill; true" >"$work/out" 2>&1
ok "siblings: the segment of a killed program goes" until_true no_segments
is "$(summary | cut -d '|' -f 1-3)" "killed|300|300" "siblings: killed, and its launches are stored"
LD_PRELOAD=$library WAVETAP_RUN=sibling-2 contained "$app" --launches 300 --rate 150 >"$work/out" 2>&1
ok "siblings: no segment is left" until_true no_segments
is "$(summary)" "finished|300|300|300|0" "siblings: a program that runs for two seconds"
wait
settle

# ---- a container with shared memory of its own, and the host's data directory
cat >"$work/own.sh" <<'SCRIPT'
mount -t tmpfs -o "size=$SIZE" tmpfs "$WAVETAP_SHM_DIR" || exit 9
LD_PRELOAD=$LIBRARY "$APP" --launches "$LAUNCHES"
code=$?
tries=0
while [ "$STAY" = 1 ] && ls "$WAVETAP_SHM_DIR"/*.seg "$WAVETAP_SHM_DIR"/*.sock >/dev/null 2>&1 && [ "$tries" -lt 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
"$WAVETAP" status >"$WORK/status"
exit "$code"
SCRIPT
export APP="$app" LIBRARY="$library" WAVETAP="$wavetap" WORK="$work" STAY=1 LAUNCHES=200
rm -r "$data/runs"
export WAVETAP_RUN=same-key
LD_PRELOAD=$library "$app" --launches 100 >"$work/out" 2>&1
settle
SIZE=32m $same --pid --mount --ipc --mount-proc --fork sh "$work/own.sh" >"$work/out.32m" 2>&1 &
SIZE=64m $same --pid --mount --ipc --mount-proc --fork sh "$work/own.sh" >"$work/out" 2>&1
is "$?|$(grep -c "ok=200" "$work/out")" "0|1" "own shared memory of 64 MiB: the program ran"
wait
ok "own shared memory of 32 MiB: the program ran" grep -q "ok=200" "$work/out.32m"
is "$(for file in "$data"/runs/*.db; do sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT sum(launches_attempted), sum(kernels), group_concat(DISTINCT state) FROM loss"; done | sort | uniq -c | tr -s ' \n' ' ')" \
  " 1 100|100|finished 2 200|200|finished " "the same key in other shared memory is another run: no two daemons write one file"
runs_before=$(find "$data/runs" -name '*.db' | wc -l)
SIZE=1m $same --pid --mount --ipc --mount-proc --fork sh "$work/own.sh" >"$work/out" 2>&1
is "$?|$(grep -c "ok=200" "$work/out")" "0|1" "shared memory of 1 MiB: the program runs as without"
is "$(find "$data/runs" -name '*.db' | wc -l)" "$runs_before" "and is not recorded"
ok "status says so" grep -q "programs started now are NOT recorded: .* too little room" "$work/status"

# The container ends with its first process, and the kernel ends the daemon in it.
rm -r "$data/runs"
for n in 1 2 3; do
  export WAVETAP_RUN=first-$n
  SIZE=64m STAY=0 $same --pid --mount --ipc --mount-proc --fork sh -c \
    'mount -t tmpfs -o size=64m tmpfs "$WAVETAP_SHM_DIR" && LD_PRELOAD=$LIBRARY exec "$APP" --launches 200' >"$work/out" 2>&1
  is "$?" 0 "first process of a container: it ran"
  is "$(summary)" "finished|200|200|200|0" "and all of it is stored"
done

# ---- no /proc, one that hides, a root that is read-only
start_daemon 60
export WAVETAP_RUN=no-proc
$same --pid --mount --ipc --fork sh -c 'mount -t tmpfs tmpfs /proc && LD_PRELOAD=$LIBRARY exec "$APP" --launches 150 --rate 100' >"$work/out" 2>&1
is "$?|$(grep -c "ok=150" "$work/out")" "0|1" "no /proc: the program ran"
ok "no /proc: no segment is left" until_true no_segments
is "$(summary)" "finished|150|150|150|0" "no /proc: all launches are stored, those of the last moment too"
export WAVETAP_RUN=hidepid
if $same --pid --mount --ipc --fork sh -c 'mount -t proc -o hidepid=2 proc /proc' 2>/dev/null; then
  $same --pid --mount --ipc --fork sh -c 'mount -t proc -o hidepid=2 proc /proc && LD_PRELOAD=$LIBRARY exec "$APP" --launches 150' >"$work/out" 2>&1
  ok "hidepid: no segment is left" until_true no_segments
  is "$(summary)" "finished|150|150|150|0" "hidepid: all launches are stored"
fi
export WAVETAP_RUN=read-only
# Of what is mounted only the root: data and shared memory are bound over themselves first.
ro='mount --bind "$WAVETAP_DIR" "$WAVETAP_DIR" && mount --bind "$WAVETAP_SHM_DIR" "$WAVETAP_SHM_DIR" && mount -o remount,bind,ro /'
if $same --mount --fork sh -c "$ro" 2>/dev/null; then
  $same --pid --mount --ipc --mount-proc --fork sh -c "$ro && LD_PRELOAD=\$LIBRARY exec \"\$APP\" --launches 150" >"$work/out" 2>&1
  is "$?" 0 "read-only root: the program ran"
  ok "read-only root: no segment is left" until_true no_segments
  is "$(summary)" "finished|150|150|150|0" "read-only root: all launches are stored"
else
  echo "# the root can't be made read-only here"
fi
stop_daemon
settle

# ---- the same user under another id: root of a user namespace
if [ "$(id -u)" = 0 ]; then
  other="unshare --user --map-user=4321 --map-group=4321"
else
  other="unshare --user --map-root-user"
fi
# shellcheck disable=SC2086
if can $other; then
  start_daemon 60
  export WAVETAP_RUN=other-id
  WAVETAP_SPAWN=0 LD_PRELOAD=$library $other --fork "$app" --launches 120 >"$work/out" 2>&1
  is "$?" 0 "another id of this user: the program ran"
  has_refused() {
    [ -n "$(daemon_pid)" ] && grep -q "another namespace" "$work/status.json"
  }
  ok "another id: status tells" until_true has_refused
  ok "another id: no segment is left" until_true no_segments
  is "$(summary)" "finished|120|120|120|0" "another id: all launches are stored"
  export WAVETAP_RUN=other-id-own
  LD_PRELOAD=$library $other --fork "$app" --launches 120 >"$work/out" 2>&1
  ok "another id with a daemon of its own: no segment is left" until_true no_segments
  is "$(summary)" "finished|120|120|120|0" "another id with a daemon of its own: all launches are stored"
  stop_daemon
  settle
else
  echo "# the kernel forbids user namespaces here"
fi
check_books
is_clean() {
  [ -z "$(ls "$shm")" ]
}
ok "shared memory is clean" until_true is_clean
done_testing

#!/bin/sh
# Many processes: a tree of forks and execs, sixteen at once into one run file, runs side by side,
# a process that starts while the daemon is ending, two data directories. Books balance for each.
# $ is for inner shells.
# shellcheck disable=SC2016
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
export APP="$app"

# ---- sixteen at once into one run file, each with its own rank, device order and exit
export WTFAKE_DEVICES=8
i=0
while [ "$i" -lt 16 ]; do
  # Those that end suddenly leave their launches, but hardly a kernel: CUPTI held these.
  how="return"
  [ "$i" -lt 8 ] || how=$(echo "return _exit return kill" | cut -d ' ' -f $((i % 4 + 1)))
  (WAVETAP_RUN=many RANK=$i LOCAL_RANK=$i WORLD_SIZE=16 CUDA_VISIBLE_DEVICES=$((i % 8)) \
    tap "$app" --launches 300 --threads 2 --exit "$how" >>"$work/out" 2>&1) &
  i=$((i + 1))
done
wait
settle
is "$(find "$data/runs" -name '*.db' | wc -l)" 1 "sixteen processes at once: one run file"
is "$(sql "SELECT count(*), count(DISTINCT rank), sum(launches_attempted), sum(launches_stored) FROM loss JOIN process USING (process_id)")" \
  "16|16|9600|9600" "and all their launches"
is "$(sql "SELECT count(DISTINCT device_id), count(*) FROM process_gpu")" "8|16" "two processes on each of eight devices"
is "$("$wavetap" top --all --group rank --csv | wc -l)" "$(($(sql "SELECT count(DISTINCT process_id) FROM config_stat") + 1))" \
  "top --group rank has a row for each that has kernels"
is "$("$wavetap" top --all --group device --csv | wc -l)" 9 "top --group device has a row for each"
ok "top says how many processes" sh -c '"$1" top | grep -q "  16 processes  "' sh "$wavetap"
unset WTFAKE_DEVICES

# ---- a tree: a parent that launches and children that do, by fork before CUDA, by exec, by a shell
cat >"$work/tree.sh" <<'SCRIPT'
"$APP" --launches 50 --fork before &
"$APP" --launches 50 --fork exec &
for n in 1 2 3; do
  sh -c '"$APP" --launches 50 & "$APP" --launches 50; wait' &
done
"$APP" --launches 50
wait
SCRIPT
WAVETAP_RUN=tree LD_PRELOAD=$library sh "$work/tree.sh" >"$work/out" 2>&1
settle
# The program says how many each process launched; --fork exec does so twice.
is "$(sql "SELECT count(*), sum(launches_attempted) FROM loss")" \
  "$(sed -n 's/.*pid=\([0-9]*\) attempted=\([0-9]*\) .*/\1 \2/p' "$work/out" |
    awk '{ n[$1] = 1; sum += $2 } END { for (p in n) count++; print count "|" sum }')" "a tree: each process, each launch"
is "$(sql "SELECT count(*) - count(DISTINCT pid || '-' || start_ticks) FROM proc")" 0 "and none twice"

# A program that executes another in its place has a row for each of them.
WAVETAP_RUN=exec LD_PRELOAD=$library sh -c '"$APP" --launches 40 --exit return; exec "$APP" --launches 60' >"$work/out" 2>&1
settle
is "$(sql "SELECT group_concat(launches_attempted, ' ') FROM (SELECT * FROM loss ORDER BY process_id)")" "40 60" "one after the other in a script that ends in exec"

# As multiprocessing's spawn does: each child is executed anew, with all descriptors closed and a
# name of its own; the parent launches meanwhile.
if command -v python3 >/dev/null 2>&1; then
  cat >"$work/spawn.py" <<'SCRIPT'
import multiprocessing, os, subprocess, sys
def child(n):
    subprocess.run([os.environ["APP"], "--launches", str(n)], check=True)
    os.execv(os.environ["APP"], [os.environ["APP"], "--launches", str(n)])
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=child, args=(10 + n,)) for n in range(3)]
    for c in children: c.start()
    for c in children: c.join()
    sys.exit(any(c.exitcode for c in children))
SCRIPT
  WAVETAP_RUN=spawn LD_PRELOAD=$library python3 "$work/spawn.py" >"$work/out" 2>&1
  is "$?" 0 "multiprocessing, spawn: it ran"
  settle
  is "$(sql "SELECT count(*), sum(launches_attempted), sum(launches_stored) FROM loss")" "6|66|66" "multiprocessing, spawn: all processes"
fi

# ---- two runs at once, and two data directories that share the folder of segments
mkdir "$work/other"
for n in 1 2 3 4; do
  (WAVETAP_RUN=left tap "$app" --launches 200 >>"$work/out" 2>&1) &
  (WAVETAP_RUN=right tap "$app" --launches 300 >>"$work/out" 2>&1) &
  (WAVETAP_RUN=left WAVETAP_DIR=$work/other tap "$app" --launches 500 >>"$work/out" 2>&1) &
done
wait
settle
by_key() {
  for file in "$1"/runs/*.db; do
    sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT value, count(*), sum(launches_stored), sum(kernels) FROM loss, meta WHERE key = 'run_key'"
  done
}
is "$(by_key "$data" | grep -E '^(left|right)' | sort)" "$(printf 'left|4|800|800\nright|4|1200|1200')" "two runs at once stay apart"
is "$(by_key "$work/other")" "left|4|2000|2000" "another data directory has its own, of the same key"

# ---- two users, the same key, one folder of segments
as_other="setpriv --reuid=65534 --regid=65534 --clear-groups"
# shellcheck disable=SC2086
if [ "$(id -u)" = 0 ] && $as_other test -x "$app" -a -x "$WAVETAP_DAEMON" -a -r "$library" 2>/dev/null; then
  chmod 755 "$work"
  chmod 1777 "$shm"
  mkdir "$work/theirs"
  chown 65534 "$work/theirs"
  for n in 1 2 3; do
    (WAVETAP_RUN=users tap "$app" --launches 100 >>"$work/out" 2>&1) &
    (LD_PRELOAD=$library WAVETAP_RUN=users WAVETAP_DIR=$work/theirs $as_other "$app" --launches 70 >>"$work/out.theirs" 2>&1) &
  done
  wait
  settle
  is "$(by_key "$data" | grep '^users')|$(by_key "$work/theirs")" "users|3|300|300|users|3|210|210" "two users: each has their own"
  is "$(find "$work/theirs" -user 0 | wc -l)|$(find "$data" -user 65534 | wc -l)" "0|0" "two users: no file of the other's"
else
  echo "# two users need root and setpriv: not tested here"
fi

# ---- processes that start while the daemon is ending: it has just given up, or is about to
WAVETAP_RUN=ending
export WAVETAP_RUN
before=$(find "$data/runs" -name '*.db' | wc -l)
n=0
while [ "$n" -lt 12 ]; do
  tap "$app" --launches 20 >>"$work/out" 2>&1
  # The daemon stays for 2 s without work: look around that moment.
  sleep "$(echo "1.9 1.95 2 2.05 2.1 2.15" | cut -d ' ' -f $((n % 6 + 1)))"
  n=$((n + 1))
done
settle
is "$(find "$data/runs" -name '*.db' | wc -l)" $((before + 1)) "around the daemon's end: one run file"
is "$(sql "SELECT count(*), sum(launches_attempted), sum(kernels), count(DISTINCT state) FROM loss")" "12|240|240|1" \
  "around the daemon's end: nothing is lost"

check_books
data=$work/other
check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

#!/bin/sh
# Tight places: a data disk that is full, and has room again; shared memory that a job wants for itself beside
# forty programs; a limit on addresses; workers that are forked after CUDA began, as data loaders do. Programs
# are as without wavetap, and all is stored or counted.
# $ is for inner shells.
# shellcheck disable=SC2016
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
until_true() { # a command, for at most 60 s
  tries=0
  until "$@" 2>/dev/null || [ "$tries" -ge 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  "$@"
}

# ---- data loaders: the parent launches on while forked workers live, work and end in each way
if command -v python3 >/dev/null 2>&1; then
  cat >"$work/loader.py" <<'SCRIPT'
import ctypes, multiprocessing, os, signal, sys, threading

PTX = b""".version 6.0
.target sm_60
.address_size 64
.visible .entry k()
{
ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")
launches = 0

def begin():
    global function
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0

def launch(count):
    global launches
    for _ in range(count):
        assert cuda.cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, None, None, None) == 0
    launches += count
    assert cuda.cuCtxSynchronize() == 0

def worker(number, tasks, results):
    for task in iter(tasks.get, None):
        results.put((number, task * task))
    if number == 1:
        os._exit(0)
    if number == 2:
        os.kill(os.getpid(), signal.SIGTERM)

if __name__ == "__main__":
    begin()
    launch(50)
    context = multiprocessing.get_context("fork")
    total = 0
    for epoch in range(2):
        tasks, results = context.Queue(), context.Queue()
        workers = [context.Process(target=worker, args=(n, tasks, results)) for n in range(4)]
        for w in workers:
            w.start()
        for task in range(40):
            tasks.put(task)
            launch(5)
        for _ in range(40):
            total += results.get(timeout=60)[1]
        for w in workers:
            tasks.put(None)
        for w in workers:
            w.join(60)
        print("ends", sorted(w.exitcode for w in workers) if epoch == 0 else "again")
    launch(50)
    print("total", total, "launches", launches, "threads", threading.active_count(), flush=True)
SCRIPT
  (bare timeout -k 1 120 python3 "$work/loader.py") >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  (WAVETAP_RUN=loader tap timeout -k 1 120 python3 "$work/loader.py") >"$work/tap.out" 2>"$work/tap.err"
  is "$?|$(cat "$work/tap.out" "$work/tap.err")" "$rc_bare|$(cat "$work/bare.out" "$work/bare.err")" "forked workers: as without wavetap"
  is "$rc_bare|$(grep -c "launches 500 threads" "$work/bare.out")" "0|1" "forked workers: it ran ($(tail -n 1 "$work/bare.out"))"
  settle
  is "$(sql "SELECT count(*), sum(launches_attempted), sum(launches_stored), sum(kernels), sum(unexplained), group_concat(state) FROM loss")" \
    "1|500|500|500|0|finished" "forked workers: the parent alone is there, whole"
else
  echo "# no python3 here: forked workers were not tested"
fi

# ---- a limit on addresses that is near: the program has what it needs
for kib in 400000 200000; do
  (
    # shellcheck disable=SC3045 # dash and bash both know it
    ulimit -v $kib
    bare "$app" --launches 100
  ) >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  (
    # shellcheck disable=SC3045
    ulimit -v $kib
    WAVETAP_RUN=addresses tap "$app" --launches 100
  ) >"$work/tap.out" 2>"$work/tap.err"
  is "$?|$(sed 's/pid=[0-9]*/pid=N/' "$work/tap.out")|$(cat "$work/tap.err")" \
    "$rc_bare|$(sed 's/pid=[0-9]*/pid=N/' "$work/bare.out")|$(cat "$work/bare.err")" "$kib KiB of addresses: as without wavetap ($rc_bare)"
done
settle

if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
  echo "# a disk or shared memory of a given size needs root and mount namespaces: not tested here"
  check_books
  done_testing
fi

# ---- shared memory of 64 MiB, as docker gives: forty programs at once, and then the job wants its share
mkdir "$work/small"
cat >"$work/forty.sh" <<'SCRIPT'
mount -t tmpfs -o size=64m tmpfs "$WORK/small" || exit 9
export WAVETAP_SHM_DIR="$WORK/small"
mkfifo "$WORK/end"
i=0
while [ "$i" -lt 40 ]; do
  i=$((i + 1))
  (LD_PRELOAD=$LIBRARY "$APP" --launches 20 --exit return --rate 10 >>"$WORK/forty.out" 2>>"$WORK/forty.err") &
done
tries=0
while [ "$(ls "$WORK/small"/*.seg 2>/dev/null | wc -l)" -lt 10 ] && [ "$tries" -lt 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
# What NCCL does for a ring of its own, say: a file, reserved.
fallocate -l 12m "$WORK/small/job"
echo "$? $(ls "$WORK/small"/*.seg | wc -l)" >"$WORK/job"
wait
tries=0
while [ -n "$(find "$WORK/small" -name '*.seg' -o -name '*.sock')" ] && [ "$tries" -lt 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
SCRIPT
export WORK="$work" APP="$app" LIBRARY="$library"
WAVETAP_RUN=forty unshare -m sh "$work/forty.sh"
echo "# job: got 12 MiB (0: yes) beside segments: $(cat "$work/job")"
is "$(cut -d ' ' -f 1 "$work/job")" 0 "forty programs leave the job its shared memory"
is "$(grep -c 'ok=20' "$work/forty.out")|$(cat "$work/forty.err")" "40|" "and all forty run"
is "$(for file in "$data"/runs/*.db; do sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT count(*) >= 10, sum(launches_attempted) = 20 * count(*), sum(unexplained) FROM loss WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'run_key' AND value = 'forty')"; done | grep '^1')" \
  "1|1|0" "those that found room are whole"

# ---- a disk that is full, and has room again: the program goes on, the daemon waits, nothing is lost
cat >"$work/disk.sh" <<'SCRIPT'
mkdir "$WORK/disk"
mount -t tmpfs -o size=4m tmpfs "$WORK/disk" || exit 9
export WAVETAP_DIR="$WORK/disk/data"
LD_PRELOAD=$LIBRARY "$APP" --launches 6000 --rate 1500 >"$WORK/disk.out" 2>"$WORK/disk.err" &
program=$!
tries=0
until [ -n "$(find "$WORK/disk/data/runs" -name '*.db' 2>/dev/null)" ] || [ "$tries" -ge 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
dd if=/dev/zero of="$WORK/disk/filler" bs=4k >/dev/null 2>&1
wait "$program"
echo "$?" >"$WORK/disk.code"
sleep 1
"$WAVETAP" status >"$WORK/disk.status" 2>&1
find "$WAVETAP_SHM_DIR" -name '*.seg' | wc -l >"$WORK/disk.waiting"
rm "$WORK/disk/filler"
mount -o remount,size=64m "$WORK/disk"
tries=0
while [ -n "$(find "$WAVETAP_SHM_DIR" -name '*.seg' -o -name '*.sock')" ] && [ "$tries" -lt 600 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
cp "$WORK/disk/data"/runs/*.db "$WORK/disk.db"
SCRIPT
export WAVETAP="$wavetap"
WAVETAP_RUN=disk unshare -m sh "$work/disk.sh"
is "$(cat "$work/disk.code")|$(cat "$work/disk.err")|$(grep -c 'ok=6000' "$work/disk.out")" "0||1" "full disk: the program ends well"
is "$(cat "$work/disk.waiting")" 1 "full disk: what is not stored waits"
ok "full disk: status says so" grep -qi "full\|no room\|no space" "$work/disk.status"
grep -i "full\|room\|space" "$work/disk.status" | sed 's/^/# /'
is "$(sqlite3 -batch "$work/disk.db" "SELECT count(*), state, launches_attempted, launches_stored + launches_dropped, launches_torn, unexplained FROM loss")" \
  "1|finished|6000|6000|0|0" "room again: all is stored, or counted"
is "$(sqlite3 -batch "$work/disk.db" "SELECT launches_stored - count(*), count(DISTINCT seq) - count(*) FROM loss, launch_call")" "0|0" \
  "room again: nothing twice"
check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

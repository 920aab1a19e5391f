#!/bin/sh
# Hostile surroundings: no CUPTI, a CUPTI that refuses or is taken, no daemon, shared memory
# absent, read-only or full. The program runs exactly as without wavetap; status and top say what
# was lost and why.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch

same() { # runs bare and tapped, compares output and return code
  (bare "$app" "$@") >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  (tap "$app" "$@") >"$work/tap.out" 2>"$work/tap.err"
  rc_tap=$?
  # The program prints its pid, which differs from run to run.
  sed -i 's/pid=[0-9]*/pid=N/' "$work/bare.out" "$work/tap.out"
  [ "$rc_bare" = "$rc_tap" ] && cmp -s "$work/bare.out" "$work/tap.out" &&
    cmp -s "$work/bare.err" "$work/tap.err"
}

hooks_only() { # NAME WORDS: launches are there without times, the reason is shown
  settle
  is "$(sql "SELECT capture, launches_unobserved = launches_attempted FROM process JOIN loss USING (process_id)")" \
    "hooks-only|1" "$1: hooks only, all launches unobserved"
  ok "$1: the reason is kept" test -n "$(sql "SELECT reason FROM process")"
  sql "SELECT reason FROM process" | sed 's/^/# reason: /'
  "$wavetap" top >"$work/top.out" 2>"$work/top.err"
  is "$?" 3 "$1: top has nothing to rank"
  ok "$1: top says why" grep -qi "$2" "$work/top.err"
}

# CUPTI
export WAVETAP_RUN=no-cupti
mkdir "$work/lib"
cp "$top_builddir/tests/fake/libcuda.so.1" "$work/lib"
ok "no CUPTI: as without wavetap" env LD_LIBRARY_PATH="$work/lib" true
with_path=$LD_LIBRARY_PATH
# Not by the status of ls, which is that of the worst of its arguments.
if [ -n "$(ls /usr/local/cuda*/lib64/libcupti.so* /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so* 2>/dev/null)" ]; then
  echo "# a real libcupti is installed here: WAVETAP_CUPTI names one that is absent instead"
  export WAVETAP_CUPTI=/nonexistent/libcupti.so.13
fi
LD_LIBRARY_PATH=$work/lib
ok "no CUPTI: same output and return code" same --launches 100
LD_LIBRARY_PATH=$with_path
hooks_only "no CUPTI" cupti
unset WAVETAP_CUPTI

export WAVETAP_RUN=cupti-off WAVETAP_CUPTI=0
ok "WAVETAP_CUPTI=0: same" same --launches 100
hooks_only "WAVETAP_CUPTI=0" WAVETAP_CUPTI
unset WAVETAP_CUPTI

n=0
for fault in cuptiActivityRegisterCallbacks:1:15 cuptiActivityEnable:1:39 cuptiActivityEnable:1:35 \
  cuptiActivityEnable:1:1; do
  n=$((n + 1))
  export WAVETAP_RUN="fault-$n" WTFAKE_FAIL="$fault"
  ok "$fault: same" same --launches 100
  hooks_only "$fault" cupti
done
unset WTFAKE_FAIL

# Named, since wavetap would go on from a copy that is too old to a real one installed here.
export WAVETAP_RUN=cupti-old WTFAKE_CUPTI_VERSION=12 WAVETAP_CUPTI="$top_builddir/tests/fake/libcupti.so.13"
ok "a CUPTI of CUDA 10: same" same --launches 100
hooks_only "a CUPTI of CUDA 10" "older"
unset WTFAKE_CUPTI_VERSION WAVETAP_CUPTI

# Losses inside CUPTI
export WAVETAP_RUN=dropped WTFAKE_DROP_EVERY=10
ok "CUPTI drops every 10th kernel: same" same --launches 500
settle
is "$(sql "SELECT kernels_dropped_cupti > 0 AND kernels + kernels_dropped_cupti >= 500 AND unexplained = 0 FROM loss")" 1 \
  "dropped kernels are counted and explain what is missing"
unset WTFAKE_DROP_EVERY
export WAVETAP_RUN=timeless WTFAKE_ZERO_EVERY=10
ok "CUPTI has no time for every 10th kernel: same" same --launches 500
settle
is "$(sql "SELECT kernels_no_time BETWEEN 45 AND 55 AND unexplained = 0 FROM loss")" 1 "kernels without time are counted"
is "$(sql "SELECT (SELECT sum(launches) FROM kernel_idle) + kernels_no_time = kernels FROM loss")" 1 "and not ranked"
unset WTFAKE_ZERO_EVERY

# No daemon: the rings hold what fits; one started later finds it.
export WAVETAP_RUN=late-daemon WAVETAP_SPAWN=0
ok "no daemon: same" same --launches 300
ok "the segment waits" ls "$shm"/*.seg
unset WAVETAP_SPAWN
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
is "$(sql "SELECT launches_stored, unexplained FROM loss")" "300|0" "a daemon started later has everything"

# Shared memory
runs_before=$(ls "$data/runs" | wc -l)
export WAVETAP_RUN=no-shm
real_shm=$shm
WAVETAP_SHM_DIR=$work/absent
ok "no shared-memory folder: same" same --launches 100
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  mkdir "$work/small"
  for size in 64k 700k; do
    ok "shared memory of $size: same" unshare -m sh -c "
      mount -t tmpfs -o size=$size tmpfs '$work/small' || exit 9
      export WAVETAP_SHM_DIR='$work/small' LD_LIBRARY_PATH='$LD_LIBRARY_PATH'
      '$app' --launches 100 >'$work/bare.out' || exit 1
      LD_PRELOAD='$library' '$app' --launches 100 >'$work/tap.out' 2>'$work/tap.err' || exit 2
      sed -i 's/pid=[0-9]*/pid=N/' '$work/bare.out' '$work/tap.out'
      cmp '$work/bare.out' '$work/tap.out' || exit 3
      test ! -s '$work/tap.err' || exit 4
      test -z \"\$(ls '$work/small')\""
  done
  ok "read-only shared memory: same" unshare -m sh -c "
    mount -t tmpfs -o ro tmpfs '$work/small' || exit 9
    export WAVETAP_SHM_DIR='$work/small'
    LD_PRELOAD='$library' '$app' --launches 100 >'$work/tap.out' 2>'$work/tap.err' || exit 2
    test ! -s '$work/tap.err' && grep -q 'ok=100' '$work/tap.out'"
  ok "full shared memory: same" unshare -m sh -c "
    mount -t tmpfs -o size=20m tmpfs '$work/small' || exit 9
    dd if=/dev/zero of='$work/small/filler' bs=64k >/dev/null 2>&1
    export WAVETAP_SHM_DIR='$work/small'
    LD_PRELOAD='$library' '$app' --launches 100 >'$work/tap.out' 2>'$work/tap.err' || exit 2
    test ! -s '$work/tap.err' && test \"\$(ls '$work/small')\" = filler"
  mkdir "$work/readonly"
  unshare -m sh -c "
    mount -t tmpfs -o ro tmpfs '$work/readonly' || exit 9
    export WAVETAP_DIR='$work/readonly' WAVETAP_SHM_DIR='$real_shm' LD_LIBRARY_PATH='$LD_LIBRARY_PATH'
    LD_PRELOAD='$library' '$app' --launches 100 >/dev/null
    tries=0
    until '$wavetap' status >'$work/status' && grep -q 'Read-only' '$work/status' || [ \$tries = 100 ]; do
      tries=\$((tries + 1)); sleep 0.1
    done
    kill -9 \"\$('$wavetap' status --json | grep -o '\"pid\": *[0-9]*' | head -n 1 | tr -dc 0-9)\""
  is "$(grep Read-only "$work/status")" "a run is not stored: $work/readonly/runs: Read-only file system" "read-only data directory: status says it in a sentence"
  find "$real_shm" -type f -exec rm -f '{}' + -o -type s -exec rm -f '{}' + # of the one that was killed
else
  echo "# small and full tmpfs need root and mount namespaces: not tested here"
fi
WAVETAP_SHM_DIR=$real_shm
settle
is "$(ls "$data/runs" | wc -l)" "$runs_before" "none of these left a run file"
# ---- a run file of that key whose tables are not ours any more: moved aside, and a new one made
for damage in "DROP VIEW device; DROP TABLE gpu" "DROP TABLE sweep" "DROP TABLE sweep; DROP TABLE kernel_share; PRAGMA user_version = 1"; do
  export WAVETAP_RUN="damaged $damage"
  tap "$top_builddir/tests/fake/app_launch" --launches 5 >/dev/null
  settle
  old=$(run_file)
  sqlite3 -batch "$old" "$damage"
  tap "$top_builddir/tests/fake/app_launch" --launches 7 >/dev/null
  ok "the daemon ends: $damage" settle
  ok "it is moved aside" test -n "$(find "$data/runs" -name "$(basename "$old").corrupt-*")"
  is "$(sql "SELECT launches_stored, kernels FROM loss")" "7|7" "and the new one has the job"
  rm -f "$data/runs/"*.corrupt-*
done
check_books
done_testing

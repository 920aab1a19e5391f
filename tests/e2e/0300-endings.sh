#!/bin/sh
# How a process ends, and what it forks and execs: records written before the end are there,
# what CUPTI still held is said to be in flight, nothing is counted twice, and the program's
# return code and output are its own.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch

# Programs print their pid, which differs from run to run; parent and child in any order.
same_output() {
  sed 's/pid=[0-9]*/pid=N/' "$work/bare.out" | sort >"$work/bare.text"
  sed 's/pid=[0-9]*/pid=N/' "$work/tap.out" | sort >"$work/tap.text"
  cmp -s "$work/bare.text" "$work/tap.text"
}

for how in return _exit abort kill; do
  export WAVETAP_RUN="end-$how"
  export WTFAKE_COUNTERS="$work/counters.$how"
  (bare "$app" --launches 500 --exit "$how") >"$work/bare.out" 2>/dev/null
  rc_bare=$?
  rm -f "$WTFAKE_COUNTERS"
  (tap "$app" --launches 500 --exit "$how") >"$work/tap.out" 2>/dev/null
  rc_tap=$?
  is "$rc_tap" "$rc_bare" "$how: same return code"
  ok "$how: same output" same_output
  settle
  is "$(sql "SELECT launches_attempted FROM loss")" \
    "$("$top_builddir/tests/fake/fake_counters" "$WTFAKE_COUNTERS" launch_attempted | sed 's/.*[= ]//')" \
    "$how: attempted is what the driver saw"
  is "$(sql "SELECT launches_attempted - launches_stored - launches_dropped FROM loss")" 0 "$how: no launch torn"
  case $how in
  return) is "$(sql "SELECT state FROM process")" finished "$how: finished" ;;
  *) is "$(sql "SELECT state FROM process")" killed "$how: not an orderly end" ;;
  esac
done
unset WTFAKE_COUNTERS

for mode in before after exec; do
  export WAVETAP_RUN="fork-$mode"
  (bare "$app" --launches 100 --fork "$mode") >"$work/bare.out" 2>/dev/null
  rc_bare=$?
  (tap "$app" --launches 100 --fork "$mode") >"$work/tap.out" 2>/dev/null
  is "$?" "$rc_bare" "fork $mode: same return code"
  ok "fork $mode: same output" same_output
  settle
  is "$(sql "SELECT count(*) - count(DISTINCT pid || '-' || start_ticks) FROM proc")" 0 "fork $mode: a process is there once"
  ok "fork $mode: somebody launched" test "$(sql "SELECT count(*) FROM process WHERE capture = 'full'")" -ge 1
done

check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

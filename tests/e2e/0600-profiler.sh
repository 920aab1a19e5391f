#!/bin/sh
# The application's own profiler (the CUPTI calls that PyTorch's makes) and wavetap at once:
# the profiler sees exactly what it sees without us, session by session, and we see everything.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_profiler
for find in link dlopen; do
  export WAVETAP_RUN="profiler-$find"
  WTFAKE_FINALIZE=1 bare "$app" --sessions 3 --launches 40 --find "$find" >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  tap "$app" --sessions 3 --launches 40 --find "$find" >"$work/tap.out" 2>"$work/tap.err"
  is "$?" "$rc_bare" "$find: same return code"
  is "$(cat "$work/tap.out")" "$(cat "$work/bare.out")" "$find: the profiler's counts are those of a run without us"
  is "$(cat "$work/tap.err")" "$(cat "$work/bare.err")" "$find: nothing on stderr"
  settle
  is "$(sql "SELECT unexplained, launches_in_flight, launches_unlinked, launches_linked_by_order FROM loss")" "0|0|0|0" \
    "$find: all our launches are linked exactly"
  is "$(sql "SELECT capture, app_profiler_sessions FROM process")" "full|3" "$find: three sessions were served"
done
check_books
done_testing

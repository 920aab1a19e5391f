#!/bin/sh
# The application's own profiler (the CUPTI calls that PyTorch's makes) and wavetap at once:
# the profiler sees exactly what it sees without us, session by session, and we see everything.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_profiler
compare() { # NAME ARGUMENTS...
  name=$1
  shift
  export WAVETAP_RUN="profiler-$name"
  WTFAKE_FINALIZE=1 bare "$app" --sessions 3 --launches 40 "$@" >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  tap "$app" --sessions 3 --launches 40 "$@" >"$work/tap.out" 2>"$work/tap.err"
  is "$?" "$rc_bare" "$name: same return code"
  is "$(cat "$work/tap.out")" "$(cat "$work/bare.out")" "$name: the profiler's counts are those of a run without us"
  is "$(cat "$work/tap.err")" "$(cat "$work/bare.err")" "$name: nothing on stderr"
  settle
  is "$(sql "SELECT unexplained, launches_in_flight, launches_unlinked, launches_linked_by_order FROM loss")" "0|0|0|0" \
    "$name: all our launches are linked exactly"
  is "$(sql "SELECT capture, app_profiler_sessions FROM process")" "full|3" "$name: three sessions were served"
}

compare link --find link
compare dlopen --find dlopen
compare cudart --how cudart
# Sessions that outlast several of our flushes; a profiler that flushes only with a buffer out.
export WAVETAP_FLUSH_MS=20
compare long --pause-ms 100
check_books
done_testing

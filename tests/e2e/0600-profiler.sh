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
unset WAVETAP_FLUSH_MS

# The profiler brings a copy of libcupti, as Proton does. The driver serves one copy in a process: the
# profiler is served from ours, or, if it came before the first context, we from its copy.
mkdir -p "$work/own"
cp "$top_builddir/tests/fake/libcupti.so.13" "$work/own/libcupti.so.13"
own=$work/own/libcupti.so.13
compare own-copy --find "$own"
is "$(sql "SELECT cupti_path LIKE '%/tests/fake/libcupti.so.13' FROM process")" "1" "own-copy: the copy found first was armed"
compare own-copy-early --find "$own" --early 1
is "$(sql "SELECT cupti_path LIKE '%/own/libcupti.so.13' FROM process")" "1" "own-copy-early: the profiler's was armed"
export WTFAKE_CUPTI_COPY="$work/own:26"
compare own-older --find "$own"
check_books

# One that is newer: records of ours would be too short for it. We give CUPTI up, and say so.
export WTFAKE_CUPTI_COPY="$work/own:130001" WTFAKE_CUPTI_VERSION=26 WTFAKE_PLACE_FREED=1 WAVETAP_RUN=own-newer
WTFAKE_FINALIZE=1 bare "$app" --sessions 3 --find "$own" >"$work/bare.out" 2>&1
WTFAKE_FINALIZE=1 tap "$app" --sessions 3 --find "$own" >"$work/tap.out" 2>&1
is "$?" 0 "own-newer: same return code"
is "$(cat "$work/tap.out")" "$(cat "$work/bare.out")" "own-newer: the profiler's counts are those of a run without us"
settle
is "$(sql "SELECT capture, reason FROM process")" "hooks-only|the application profiles through another libcupti" \
  "own-newer: hooks only from then on, and why"
is "$(sql "SELECT count(*) FROM launch")" 10 "own-newer: kernels before that stay"
is "$(sql "SELECT launches_stored FROM loss")" "$(sed -n 's/^total launches=//p' "$work/bare.out")" \
  "own-newer: all launches are there"

# Proton, then PyTorch's: the copy that is armed was finalized by the program, which we kept from it. The
# driver is free for another only after that.
unset WTFAKE_CUPTI_VERSION WTFAKE_PLACE_FREED
export WTFAKE_CUPTI_COPY="$work/own:26" WAVETAP_RUN=own-then-newer
set -- --sessions 3 --early 1 --find "$own" --then "$top_builddir/tests/fake/libcupti.so.13"
WTFAKE_FINALIZE=1 bare "$app" "$@" >"$work/bare.out" 2>&1
WTFAKE_FINALIZE=1 tap "$app" "$@" >"$work/tap.out" 2>&1
is "$?" 0 "own-then-newer: same return code"
is "$(cat "$work/tap.out")" "$(cat "$work/bare.out")" "own-then-newer: both profilers' counts are those of a run without us"
settle
is "$(sql "SELECT capture, reason FROM process")" "hooks-only|the application profiles through another libcupti" \
  "own-then-newer: hooks only from then on, and why"
is "$(sql "SELECT launches_stored FROM loss")" "$(sed -n 's/^total launches=//p' "$work/bare.out")" \
  "own-then-newer: all launches are there"
done_testing

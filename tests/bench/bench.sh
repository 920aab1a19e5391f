#!/bin/sh
# `make bench`: tests/bench/bench with the arguments given, in folders of its own that go with it. Run files
# lie in TMPDIR or /tmp, segments in /dev/shm where there is one. BENCH_OTHER is another build folder to compare with.
: "${top_builddir:?run by make bench}"
work=$(mktemp -d "${TMPDIR:-/tmp}/wt-bench.XXXXXX") || exit 1
pid=
clean() {
  status=$?
  [ -z "$pid" ] || kill "$pid" 2>/dev/null
  # Daemons and producers of a bench that was stopped end with their folders, or by themselves.
  for each in "$work"/*/shm; do
    [ ! -L "$each" ] || rm -rf "$(readlink "$each")"
  done
  rm -rf "$work"
  exit "$status"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP
TMPDIR=$work
export TMPDIR
unset WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP_CUPTI WAVETAP_KEEP LD_PRELOAD WAVETAP
# In the background: a signal is dealt with at once.
"$top_builddir/tests/bench/bench" ${BENCH_OTHER:+--other "$BENCH_OTHER"} "$@" &
pid=$!
wait "$pid"
status=$?
pid=
exit "$status"

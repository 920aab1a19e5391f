#!/bin/sh
# A CUPTI whose clock is not CLOCK_REALTIME: off by a constant, drifting, stepping. Kernels are still
# linked to their calls, and their times are on our clock.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
export WAVETAP_FLUSH_MS=50

check() { # NAME SETTING
  export WAVETAP_RUN="$1"
  env "$2" LD_PRELOAD="$library" "$app" --launches 300 --threads 2 --rate 500 >/dev/null 2>&1
  settle
  is "$(sql "SELECT kernels, launches_linked - launches_linked_by_order, unexplained FROM loss")" "600|600|0" \
    "$1: all kernels linked exactly"
  is "$(sql "SELECT count(*) FROM launch WHERE start_ns < entry_ns - 20000 OR start_ns > return_ns + 50000000")" 0 \
    "$1: and on our clock"
}

check same WTFAKE_CUPTI_OFFSET_NS=0
check ahead WTFAKE_CUPTI_OFFSET_NS=5000000000
check behind WTFAKE_CUPTI_OFFSET_NS=-5000000000
check drifting WTFAKE_CUPTI_DRIFT_PPM=20
check drifting-far WTFAKE_CUPTI_DRIFT_PPM=500
check_books
done_testing

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

# A clock that steps in the midst: kernels near it may be off by so much, and the ledger says so. Calls near it
# may not be found for their kernels; no counter explains that, so `unexplained` has them.
error_of() { # SETTING
  export WAVETAP_RUN="step $1"
  env "$1" LD_PRELOAD="$library" "$app" --launches 2400 --threads 1 --rate 500 >/dev/null 2>&1
  settle
  "$wavetap" ledger --all -r "$(run_file)" --json >"$work/ledger.json"
  sqlite3 -batch :memory: "SELECT CAST(readfile('$work/ledger.json') AS TEXT) ->> '$.clock_error_ns'"
}
stepped=$(error_of WTFAKE_CUPTI_STEP=2500:3000000)
ok "a step of 3 ms is part of the clocks' error: $stepped ns" test "$stepped" -ge 2900000
drifting=$(error_of WTFAKE_CUPTI_DRIFT_PPM=500)
ok "a steady drift is not: $drifting ns" test "$drifting" -lt 1000000
done_testing

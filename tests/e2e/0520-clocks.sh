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

# CLOCK_REALTIME itself is set, back and forth, under a program: it runs on, every launch and kernel is stored, no time
# is absurd, and readers read. What was linked by time near a step may not be.
cat >"$work/steps.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	static long begun;
	struct timespec now;
	long ms;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	real(CLOCK_MONOTONIC, &now);
	ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (!begun)
		begun = ms;
	if (clock != CLOCK_REALTIME)
		return real(clock, t);
	real(clock, t);
	if (ms - begun > 1000)
		t->tv_sec += ms - begun > 2000 ? 3 : -5;
	return 0;
}
C
if ${CC:-cc} -shared -fPIC -w -o "$work/steps.so" "$work/steps.c" -ldl 2>/dev/null; then
  export WAVETAP_RUN=set
  LD_PRELOAD="$library:$work/steps.so" timeout -k 1 120 "$app" --launches 1500 --threads 2 --rate 500 >"$work/out" 2>"$work/err"
  is "$?|$(cat "$work/err")" "0|" "the clock is set back and forth: the program ends well"
  settle
  is "$(sql "SELECT launches_attempted, launches_stored, kernels, state FROM loss")" "3000|3000|3000|finished" "all is stored"
  is "$(sql "SELECT count(*) FROM kernel_exec WHERE end_ns < start_ns OR end_ns - start_ns > 1000000000")" 0 "no kernel is backwards or lasts for seconds"
  for command in top ledger "gaps --all" timeline diagnose "show --all id:1"; do
    # shellcheck disable=SC2086 # words of a command
    "$wavetap" $command -r "$(run_file)" >"$work/out" 2>&1
    is "$?" 0 "$command reads it"
  done
  "$wavetap" ledger --all -r "$(run_file)" --json >"$work/ledger.json"
  ok "and the ledger knows the steps" test "$(sqlite3 -batch :memory: "SELECT CAST(readfile('$work/ledger.json') AS TEXT) ->> '$.clock_error_ns'")" -ge 1000000000
  sql "SELECT '# unlinked ' || launches_unlinked || ', unexplained ' || unexplained FROM loss"
else
  echo "# no compiler here: a clock that is set was not tested"
fi
done_testing

#!/bin/sh
# scripts/stress.sh [APP-KILLS DAEMON-KILLS [PROGRAMS]] (make stress): the random-kill test, hundreds of times, and
# random programs over the simulated GPU, hundreds of them, other ones each time; 100,000 in-process.
# STRESS_JOBS kill tests run side by side (default: a quarter of the CPUs), each with its share of the kills.
set -eu
: "${top_srcdir:?run by make stress}" "${top_builddir:?run by make stress}"
export top_srcdir top_builddir
seed=$(date +%s)
"$top_builddir/tests/unit/test_ledger_random" 100000 "$seed"
RANDOM_PROGRAMS=${3:-500} RANDOM_SEED=$seed sh "$top_srcdir/tests/e2e/0860-random.sh"

jobs=${STRESS_JOBS:-$(($(nproc 2>/dev/null || echo 4) / 4))}
[ "$jobs" -ge 1 ] || jobs=1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
job=0
while [ "$job" -lt "$jobs" ]; do
  job=$((job + 1))
  (
    # Rounded up, so that no kill is left out.
    sh "$top_srcdir/tests/e2e/kill9.sh" $(((${1:-500} + jobs - 1) / jobs)) $(((${2:-200} + jobs - 1) / jobs)) \
      >"$logs/$job" 2>&1 || touch "$logs/failed"
  ) &
done
wait
cat "$logs"/[0-9]*
[ ! -e "$logs/failed" ]

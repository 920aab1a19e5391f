#!/bin/sh
# scripts/stress.sh [APP-KILLS DAEMON-KILLS [PROGRAMS]] (make stress): the random-kill test, hundreds of times, and
# random programs over the simulated GPU, hundreds of them, other ones each time; 100,000 in-process.
set -eu
: "${top_srcdir:?run by make stress}" "${top_builddir:?run by make stress}"
export top_srcdir top_builddir
seed=$(date +%s)
"$top_builddir/tests/unit/test_ledger_random" 100000 "$seed"
RANDOM_PROGRAMS=${3:-500} RANDOM_SEED=$seed sh "$top_srcdir/tests/e2e/0860-random.sh"
exec sh "$top_srcdir/tests/e2e/kill9.sh" "${1:-500}" "${2:-200}"

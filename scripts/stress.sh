#!/bin/sh
# scripts/stress.sh [APP-KILLS DAEMON-KILLS] (make stress): the random-kill test, hundreds of times.
set -eu
: "${top_srcdir:?run by make stress}" "${top_builddir:?run by make stress}"
export top_srcdir top_builddir
exec sh "$top_srcdir/tests/e2e/kill9.sh" "${1:-500}" "${2:-200}"

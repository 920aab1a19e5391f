#!/bin/sh
# kill -9 of application and daemon at random moments, 10 times each: see kill9.sh.
set -- 10 10
. "$top_srcdir/tests/e2e/kill9.sh"

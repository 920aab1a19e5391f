#!/bin/sh
# 0400-kill9.sh with rows packed at once, 16 to a chunk: what a killed daemon needs is in chunks.
export WAVETAP_TEST_PACK=16
set -- 4 20
. "$top_srcdir/tests/e2e/kill9.sh"

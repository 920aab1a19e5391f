#!/bin/sh
# The program cannot tell that a daemon was started: waiting for all its children finds none, no
# SIGCHLD came, no descriptor is left, its environment, signal handlers and mask are its own.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_guest
bare "$app" >"$work/bare.out" 2>&1
is "$?" 0 "without wavetap"
tap "$app" >"$work/tap.out" 2>&1
is "$?" 0 "with wavetap"
is "$(cat "$work/tap.out")" "$(cat "$work/bare.out")" "the same facts"
sed 's/^/# /' "$work/tap.out"
settle
is "$(sql "SELECT count(*) FROM process")" 1 "it was observed"
check_books
done_testing

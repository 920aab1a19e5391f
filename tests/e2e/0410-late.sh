#!/bin/sh
# A program that launches on after the library's exit handler, and a daemon that is killed then, when it has stored that
# the program is finished: the next daemon stores the rest.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_late
daemon_pid() {
  pid=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
}
export WAVETAP_RUN=late
LD_PRELOAD=$library "$app" 4 >"$work/out" 2>"$work/err" &
program=$!
# Until the run file says that it is finished.
tries=0
while [ "$(sql "SELECT state FROM loss" 2>/dev/null)" != finished ] && [ "$tries" -lt 100 ]; do
  tries=$((tries + 1))
  sleep 0.05
done
is "$(sql "SELECT state FROM loss")" finished "the program has said that it is finished"
daemon_pid
kill -9 "$pid"
wait "$program"
is "$?|$(cat "$work/err")" "0|" "it ends as ever"
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
total=$(sed 's/.*total=//' "$work/out")
stored=$(sql "SELECT launches_stored FROM loss")
ok "all but the last launch or two are stored: $stored of $total" test "$stored" -ge $((total - 2)) -a "$stored" -le $((total + 2))
is "$(sql "SELECT count(*) FROM pending_link")" 0 "no link is waited for"
ok "the file is sound" "$wavetap" check "$(run_file)"
check_books
done_testing

#!/bin/sh
# The sums of the ledger while a run goes on, over restarts of wavetapd and at its end: what `ledger` and `top` say from
# them is what they say from all rows (WAVETAP_LEDGER=rows), to the nanosecond. A live run is read twice from one
# snapshot of its file.
. "$top_srcdir/tests/e2e/lib.sh"

export WTFAKE_RAMP_NS=0 WTFAKE_DEVICES=2 WTFAKE_SMS=16,24
snapshots=${LIVE_SNAPSHOTS:-6}

# FILE: what differs between both ways; 1: it has no sums that can be used.
differences() {
  for command in "ledger --all" "ledger --all --json" "top --all --by gap" "top --all --json" \
    "top --all --by gap --group process" "top --all --group device --json"; do
    # shellcheck disable=SC2086 # words
    WAVETAP_LEDGER=rows "$wavetap" $command -r "$1" >"$work/rows" 2>>"$work/err"
    # shellcheck disable=SC2086
    "$wavetap" $command -r "$1" >"$work/sums" 2>>"$work/err"
    cmp -s "$work/rows" "$work/sums" || {
      echo "$command of $1 differs"
      diff "$work/rows" "$work/sums" | head -n 5 | sed 's/^/# /' >&3
    }
  done
}
exec 3>&1

daemon_pid() {
  "$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9'
}

export WAVETAP_RUN=live
apps=
for _ in 1 2; do
  LD_PRELOAD=$library "$top_builddir/tests/fake/app_launch" --launches 100000000 --threads 2 --graph 4 --rate 300 \
    --us 20 >>"$work/out" 2>&1 &
  apps="$apps $!"
done
i=0
summed=0
wrong=
while [ "$i" -lt "$snapshots" ]; do
  i=$((i + 1))
  sleep 2
  [ -n "$(run_file)" ] || continue
  "$wavetap" export -o "$work/snapshot.$i.db" --format sqlite -r "$(run_file)" >/dev/null 2>>"$work/err"
  wrong="$wrong$(differences "$work/snapshot.$i.db")"
  [ "$(sqlite3 -batch "$work/snapshot.$i.db" "SELECT count(*) FROM ledger_mark WHERE from_ns > 0")" = 1 ] &&
    WAVETAP_LEDGER=sums "$wavetap" ledger --all -r "$work/snapshot.$i.db" >/dev/null 2>&1 && summed=$((summed + 1))
  # Every other time the daemon is killed, in whatever it does.
  [ $((i % 2)) = 0 ] || continue
  pid=$(daemon_pid)
  [ -z "$pid" ] || kill -9 "$pid"
  "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
done
is "$wrong" "" "$i snapshots of a live run: both ways say the same"
ok "and sums were there ($summed)" test "$summed" -gt 0

# shellcheck disable=SC2086 # two of them
kill -9 $apps
# shellcheck disable=SC2086
wait $apps 2>/dev/null
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
is "$(differences "$(run_file)")" "" "nor at the end, of processes that were killed"
WAVETAP_LEDGER=sums "$wavetap" ledger --all -r "$(run_file)" >/dev/null 2>>"$work/err"
is "$?" 0 "and from sums"
is "$(sql "SELECT from_ns > 0 AND end_ns > from_ns FROM ledger_mark")" 1 "which has sums of all of it"
is "$(cat "$work/err")" "" "without a word of complaint"
check_books
done_testing

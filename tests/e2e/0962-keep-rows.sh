#!/bin/sh
# A limit of the rows of a run (WAVETAP_KEEP_ROWS) that is far smaller than the run: its oldest rows go while it
# runs, and sums, counters and losses are those of the same run without a limit, which is made of its recording.
# What is read row by row is what that run gives from the first time on of which no row is missing.
WAVETAP_TEST_PACK=64
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
mkdir "$work/records"

daemon_pid() {
  "$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9'
}
rows() { # FILE TABLE: its rows, as text
  sqlite3 -batch "$1" "SELECT * FROM $2"
}
# As it is said, but for what tells the two files apart: the run, what was asked for, and latencies, of which there
# are no sums.
said() { # FILE WORDS: also its exit code
  file=$1
  shift
  "$wavetap" "$@" -r "$file" 2>"$work/said.err" | sed -e 's/part\.db\|full\.db/FILE/g' -e 's/"id": "[0-9a-f]*",*//' \
    -e '/"dropped": {/,/}/d' -e '/"dropped": null/d' -e '/"created_ns"/d' -e '/"selection": {/,/}/d' -e '/"selection": null/d' -e '/"ncu"/d' \
    -e '/"latency_\|"call_mean_ns"\|"queued_launches"/d' -e 's/run [0-9a-f]* /run /' -e '/^rows before/d' -e 's/  next: .*//' -e '/kernel ran/d'
}
same() { # WHAT [FROM]: the same of both files, from there on
  words=$1
  # shellcheck disable=SC2086 # words
  said ./part.db $words >"$work/part.said"
  # shellcheck disable=SC2086
  said ./full.db $words ${2:+--from "$2"} >"$work/full.said"
  ok "$words: $(wc -c <"$work/part.said") bytes" test "$(wc -c <"$work/part.said")" -gt 100
  diff "$work/part.said" "$work/full.said" | head -n 6 | cut -c 1-200 | sed 's/^/# /'
  ok "$words: the same${2:+ as from there on}" cmp -s "$work/part.said" "$work/full.said"
}

# ---- two processes, one of them with graphs
export WAVETAP_RUN=keep WAVETAP_KEEP_ROWS=440KiB WAVETAP_RECORD="$work/records" WTFAKE_RAMP_NS=0
LD_PRELOAD=$library "$app" --launches 9000 --threads 2 --us 20 --rate 3000 >>"$work/out" 2>&1 &
one=$!
until [ -n "$(run_file)" ] && [ "$(sql "SELECT count(*) FROM proc")" = 1 ]; do
  sleep 0.1
done
LD_PRELOAD=$library "$app" --launches 300 --threads 1 --us 50 --rate 100 --graph 4 >>"$work/out" 2>&1 &
wait $one $!
settle
unset WAVETAP_KEEP_ROWS WAVETAP_RECORD
mkdir "$work/both"
cd "$work/both" || exit 1
cp "$(run_file)" part.db
"$wavetap" import -o full.db "$work"/records/* >/dev/null
ok "its file is small ($(stat -c %s part.db) bytes)" test "$(stat -c %s part.db)" -le 470000
part() {
  sqlite3 -batch part.db "$1"
}
dropped=$(part "SELECT sum(row_count) FROM dropped WHERE kind = 1")
ok "$dropped kernels went" test "$dropped" -gt 2000
is "$("$wavetap" export -r ./part.db -f openmetrics -o - 2>"$work/err" | sed -n 's/^wavetap_kernels_dropped_total{.*} //p')" "$dropped" \
  "openmetrics says how many are in no sum of it"
ok "and $(part "SELECT sum(row_count) FROM dropped WHERE kind = 2") launch calls" \
  test "$(part "SELECT sum(row_count) FROM dropped WHERE kind = 2")" -gt 2000
is "$(part "SELECT sum(kernels_stored) FROM proc")" "$((dropped + $("$run_sql" part.db "SELECT count(*) FROM kernel_exec")))" \
  "kernels: stored = kept + dropped"
is "$(part "SELECT sum(launches_stored) FROM proc")" \
  "$(part "SELECT (SELECT sum(row_count) FROM dropped WHERE kind = 2)" | awk -v kept="$("$run_sql" part.db "SELECT count(*) FROM launch_call")" '{ print $1 + kept }')" \
  "launches: stored = kept + dropped"
is "$("$run_sql" part.db "SELECT count(*) FROM kernel_exec e LEFT JOIN launch_call l ON l.process_id = e.process_id AND l.seq = e.launch_seq
  WHERE e.graph_id IS NULL AND e.launch_seq IS NOT NULL AND l.seq IS NULL")" 0 "each kernel that is left has its launch call"
is "$("$run_sql" part.db "SELECT count(*) FROM kernel_exec e LEFT JOIN api_call a ON a.process_id = e.process_id AND a.seq = e.launch_seq
  WHERE e.graph_id IS NOT NULL AND e.launch_seq IS NOT NULL AND a.seq IS NULL")" 0 "and each node its graph launch"
for table in config_stat ledger_row ledger_cause loss; do
  rows part.db $table >"$work/part.rows"
  rows full.db $table >"$work/full.rows"
  diff "$work/part.rows" "$work/full.rows" | head -n 4 | cut -c 1-200 | sed 's/^/# /'
  ok "$table: that of the whole run" cmp -s "$work/part.rows" "$work/full.rows"
done
"$wavetap" check ./part.db >"$work/out" 2>&1
is "$? $(grep -c " sound " "$work/out")" "0 1" "check: sound"
is "$(part "SELECT count(*) FROM meta WHERE key = 'gaps_mended'")" 0 "nothing of the sums is of before something became known"

# ---- sums
same "ledger --all --json"
same "top --all --json"
same "top --all --by gap"
same "top --all --group process --json"
same "top --all --kernel spin --group config"
"$wavetap" ledger --all -r ./part.db >"$work/out" 2>"$work/err"
is "$(grep -c 'rows before .* were dropped: WAVETAP_KEEP_ROWS; sums of the whole run have them' "$work/out") $(cat "$work/err")" "1 " "ledger says what went"

# ---- rows
kept=$(($(part "SELECT max(last_ns) FROM dropped") - $(part "SELECT from_ns FROM ledger_mark")))ns
same "ledger --json --from 1ns" "$kept"
same "gaps --all --by call --json" "$kept"
same "timeline --all --csv" "$kept"
same "show 1 --all --json" "$kept"
same "top --all --by latency --csv" "$kept"
same "top --all --group graph --csv" "$kept"
same "whatif --no-gaps --all --json" "$kept"
same "export -f csv -o -" "$kept"
"$wavetap" gaps -r ./part.db >"$work/out" 2>"$work/err"
is "$? $(grep -c 'rows before .* were dropped: WAVETAP_KEEP_ROWS; this is of what is left' "$work/err")" "0 1" "gaps says where it begins"
refused() { # CODE WORDS
  want=$1
  shift
  "$wavetap" "$@" -r ./part.db >"$work/out" 2>"$work/err"
  is "$? $(tail -n 1 "$work/err" | grep -c 'were dropped')" "$want 1" "$*: $(cut -c 1-150 "$work/err")"
}
refused 3 gaps --to 1ms
refused 3 ledger --from 1ms --to 2ms
refused 3 show 1 --ncu
refused 3 analyze
refused 3 analyze -o again.db
"$wavetap" merge -o merged.db ./part.db ./full.db >"$work/out" 2>"$work/err"
is "$? $(grep -c 'were dropped' "$work/err")" "3 1" "merge: $(cut -c 1-150 "$work/err")"
ok "and wrote nothing" test ! -e again.db
is "$("$wavetap" runs --csv | cut -d, -f1,8 | tail -n 1 | cut -d, -f2)" "$dropped" "runs has their number"

# ---- damage is still found
"$wavetap" export --format sqlite -o rows.db -r ./part.db
"$wavetap" check ./rows.db >/dev/null 2>&1
is "$?" 0 "export --format sqlite: sound, too"
for damage in "DELETE FROM kernel_exec WHERE exec_id = (SELECT max(exec_id) FROM kernel_exec)" \
  "DELETE FROM launch_call WHERE seq = (SELECT max(launch_seq) FROM kernel_exec WHERE process_id = 1) AND process_id = 1" \
  "UPDATE dropped SET row_count = row_count - 1 WHERE kind = 2" "DELETE FROM dropped" \
  "UPDATE config_stat SET launches = 1"; do
  cp rows.db damaged.db
  sqlite3 -batch damaged.db "$damage"
  "$wavetap" check ./damaged.db >"$work/out" 2>&1
  is "$?" 1 "found: $damage"
done
cd / || exit 1

# ---- an age; and a daemon that is killed while rows go
rm -f "$data"/runs/*
export WAVETAP_RUN=kills WAVETAP_KEEP_ROWS=500KiB,1s
LD_PRELOAD=$library "$app" --launches 100000000 --threads 2 --rate 3000 --us 20 >>"$work/out" 2>&1 &
victim=$!
i=0
killed=0
while [ "$i" -lt 60 ] && [ "$killed" -lt 4 ]; do
  i=$((i + 1))
  sleep "0.$((100 + $(od -An -N2 -tu2 /dev/urandom | tr -d ' ') % 400))"
  pid=$(daemon_pid)
  [ -z "$pid" ] || { [ -n "$(run_file)" ] && [ "$(sql "SELECT count(*) FROM dropped")" -gt 0 ]; } || continue
  [ -z "$pid" ] || { kill -9 "$pid" && killed=$((killed + 1)); }
  "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
done
kill -9 "$victim"
wait "$victim" 2>/dev/null
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
ok "killed $killed times while rows went" test "$killed" -ge 2
"$wavetap" check "$(run_file)" >"$work/out" 2>&1
is "$?" 0 "the file is sound"
sed 's/^/# /' "$work/out"
is "$(sql "SELECT launches_stored FROM loss")" \
  "$(($(sql "SELECT sum(row_count) FROM dropped WHERE kind = 2") + $("$run_sql" "$(run_file)" "SELECT count(DISTINCT seq) FROM launch_call")))" \
  "launches: stored = kept + dropped"
is "$(sql "SELECT sum(launches) FROM config_stat")" "$(sql "SELECT kernels_stored FROM proc")" "sums have all kernels"
is "$(sql "SELECT unexplained FROM loss")" 0 "nothing is unexplained"
done_testing

#!/bin/sh
# Rows of top sum to the ledger where kernels overlap: streams and processes on one device, records out
# of order, a daemon that is killed in the middle, records that come late.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch

is_exact() { # WHAT: all is settled, and sums
  is "$(sql "SELECT total(kernels_waiting), total(kernels_late), total(kernels_refused) FROM sweep")" "0.0|0.0|0.0" \
    "$1: every kernel is settled, none was late"
  ok "$1: rows of top sum to the ledger" sums_to_ledger
  is "$("$wavetap" top --all -r "$(run_file)" | grep -c 'upper bound')" 0 "$1: top says nothing of an upper bound"
  ok "$1: the file is sound" "$wavetap" check -r "$(run_file)"
}
# Per device, from geometry alone: SMs without a kernel while one ran, and those that kernels shared. Blocks of
# these kernels fill an SM each.
by_hand() {
  sql "WITH k AS (SELECT device_id, start_ns, end_ns, min(132, blocks, resident_blocks) AS sms
      FROM kernel_exec JOIN config USING (config_id) WHERE end_ns > start_ns),
    e AS (SELECT device_id, start_ns AS t, sms FROM k UNION ALL SELECT device_id, end_ns, -sms FROM k),
    g AS (SELECT device_id, t, sum(sms) AS sms FROM e GROUP BY 1, 2),
    s AS (SELECT device_id, sum(sms) OVER w AS sms, lead(t) OVER w - t AS ns FROM g WINDOW w AS (PARTITION BY device_id ORDER BY t))
    SELECT device_id, sum(iif(sms > 0 AND sms <= 132, ns * (132 - sms), 0)), sum(iif(sms > 132, ns * 132, 0)) FROM s GROUP BY 1"
}
rows() { # per device: underfill, unjudged
  sql "SELECT device_id, sum(underfill_sm_ns), sum(unjudged_sm_ns) FROM config_stat JOIN config USING (config_id) GROUP BY 1"
}
# Per device: time with one kernel, and with any. Of the rows: time alone, and all SM-time of kernels.
busy_by_hand() {
  sql "WITH k AS (SELECT device_id, start_ns, end_ns FROM kernel_exec JOIN config USING (config_id) WHERE end_ns > start_ns),
    e AS (SELECT device_id, start_ns AS t, 1 AS n FROM k UNION ALL SELECT device_id, end_ns, -1 FROM k),
    g AS (SELECT device_id, t, sum(n) AS n FROM e GROUP BY 1, 2),
    s AS (SELECT device_id, sum(n) OVER w AS n, lead(t) OVER w - t AS ns FROM g WINDOW w AS (PARTITION BY device_id ORDER BY t))
    SELECT device_id, sum(iif(n = 1, ns, 0)), 132 * sum(iif(n > 0, ns, 0)) FROM s GROUP BY 1"
}
busy_rows() {
  sql "SELECT device_id, sum(alone_ns), sum(kernel_sm_ns) FROM config_idle GROUP BY 1"
}
shares() {
  sql "SELECT * FROM kernel_share ORDER BY 1; SELECT * FROM config_stat ORDER BY 1, 2, 3"
}
analyze_changes() { # TABLE...: rows that analyze writes
  "$wavetap" analyze -r "$(run_file)" --csv >"$work/csv"
  for table in "$@"; do
    awk -F, -v table="$table" '$1 == table { print $3 }' "$work/csv"
  done
}

# ---- two processes with three streams each; records of neighbours change places. They run for a second or
# two: one that begins when the other has ended already, on a busy machine, would be late.
export WTFAKE_UNORDERED=1
for i in 1 2; do
  WAVETAP_RUN=shares tap "$app" --launches 700 --threads 3 --streams 3 --grid $((30 + 40 * i)) --us 1500 --graph 3 \
    >/dev/null 2>"$work/err.$i" &
done
wait
ok "drained" settle
is "$(sql "SELECT count(DISTINCT process_id), count(DISTINCT device_id) FROM kernel_exec JOIN config USING (config_id)")" "2|1" \
  "two processes on one device"
ok "most kernels overlap: $(sql "SELECT count(*) FROM kernel_share") of $(sql "SELECT count(*) FROM kernel_exec")" \
  test "$(sql "SELECT 2 * count(*) > (SELECT count(*) FROM kernel_exec) FROM kernel_share")" = 1
is_exact "two processes"
is "$(rows)" "$(by_hand)" "two processes: as by hand"
is "$(busy_rows)" "$(busy_by_hand)" "two processes: time alone, and all SM-time, as by hand"
shares >"$work/shares"
is "$(analyze_changes kernel_exec kernel_share config_stat | xargs)" "0 0 0" "analyze finds the same"
shares | cmp -s - "$work/shares"
is "$?" 0 "to the last SM-nanosecond"
ok "a window sums as well" sums_to_ledger --from 20ms --to -20ms

# What was lost is found again.
sqlite3 -batch "$(run_file)" "DELETE FROM kernel_share WHERE exec_id % 3 = 0; UPDATE kernel_share SET unjudged_sm_ns = 1
  WHERE exec_id % 3 = 1; UPDATE sweep SET kernels_late = 7"
"$wavetap" top --all -r "$(run_file)" >"$work/top"
ok "top says that rows may not sum" grep -q 'upper bound where kernels overlap (.*): some records came late: wavetap analyze' "$work/top"
"$wavetap" analyze -r "$(run_file)" >/dev/null
shares | cmp -s - "$work/shares"
is "$?" 0 "analyze mends what is wrong"
is_exact "mended"

# ---- a collective; then a file as version 1 left it, to which a newer daemon adds a process
sqlite3 -batch "$(run_file)" "UPDATE kernel SET name = 'ncclDevKernel_AllReduce' WHERE kernel_id = 1"
"$wavetap" analyze -r "$(run_file)" >/dev/null
is_exact "a collective"
ok "SMs are idle while only collectives run" test "$(sql "SELECT sum(comm_sm_ns) > 0 FROM config_stat")" = 1
old=$(sql "SELECT count(*) FROM kernel_exec")
as_rows() { # older versions know no chunks
  "$wavetap" export -r "$(run_file)" --format sqlite -o "$work/rows.db" --force >/dev/null && cp "$work/rows.db" "$(run_file)" &&
    sqlite3 -batch "$(run_file)" "DROP TABLE chunk"
}
ok "all rows in their tables" as_rows
sqlite3 -batch "$(run_file)" "DROP VIEW launch; DROP VIEW kernel_idle; DROP VIEW config_idle; DROP TABLE sweep; DROP TABLE kernel_share;
  ALTER TABLE config_stat DROP COLUMN comm_sm_ns; $(for c in ns active_sm_ns underfill_sm_ns wave_sm_ns wave_max_sm_ns unjudged_sm_ns; do
    echo "ALTER TABLE config_stat DROP COLUMN beside_$c;"; done) PRAGMA user_version = 1;
  CREATE VIEW launch AS SELECT 1; CREATE VIEW config_idle AS SELECT 1; CREATE VIEW kernel_idle AS SELECT 1" >/dev/null
WAVETAP_RUN=shares tap "$app" --launches 50 --streams 3 --grid 40 --us 60 >/dev/null 2>&1
ok "drained" settle
is "$(sql "PRAGMA user_version; SELECT kernels_waiting, kernels_late FROM sweep")" "5
0|$old" "it becomes version 5, and what was there counts as late"
"$wavetap" analyze -r "$(run_file)" >/dev/null
is "$(sql "SELECT count(*) - $old FROM kernel_exec")" 50 "the process is added"
is_exact "after analyze"

# ---- a file of version 2: kernels that shared the device were never alone, until it is swept again
beside() {
  sql "SELECT sum(beside_ns), sum(beside_active_sm_ns), sum(beside_underfill_sm_ns), sum(beside_wave_sm_ns), sum(beside_unjudged_sm_ns) FROM config_stat"
}
before=$(beside)
ok "all rows in their tables again" as_rows
sqlite3 -batch "$(run_file)" "DROP VIEW kernel_idle; DROP VIEW config_idle; ALTER TABLE kernel_share DROP COLUMN alone_ns;
  ALTER TABLE kernel_share DROP COLUMN active_sm_ns; $(for c in ns active_sm_ns underfill_sm_ns wave_sm_ns wave_max_sm_ns unjudged_sm_ns; do
    echo "ALTER TABLE config_stat DROP COLUMN beside_$c;"; done) PRAGMA user_version = 2;
  CREATE VIEW config_idle AS SELECT 1; CREATE VIEW kernel_idle AS SELECT 1" >/dev/null
ok "check knows version 2" "$wavetap" check -r "$(run_file)"
cp "$(run_file)" "$work/version2.db"
"$wavetap" analyze -r "$(run_file)" >/dev/null
is "$(beside)" "$before" "version 2 becomes 5: equal after analyze"
is "$(sql "SELECT count(*) FROM kernel_idle WHERE evidence <> 'model' OR straggle_sm_ns IS NOT NULL")" 0 "nothing is measured"
is "$(sql "SELECT count(*) FROM config_idle WHERE kernel_sm_ns <> active_sm_ns + underfill_sm_ns + wave_sm_ns + unjudged_sm_ns + comm_sm_ns")" \
  0 "rows sum to their SM-time"

# ---- recordings: the same rows, though the importer knows the times of the daemon only
WAVETAP_RECORD=$work/recordings
export WAVETAP_RECORD
for i in 1 2; do
  WAVETAP_RUN=recorded tap "$app" --launches 500 --threads 2 --streams 2 --grid $((30 + 40 * i)) --us 3000 >/dev/null 2>&1 &
done
wait
ok "drained" settle
unset WAVETAP_RECORD
is_exact "recorded"
"$wavetap" import -o "$work/imported.db" "$work"/recordings/*.wtrec >"$work/out" 2>&1
is "$(sqlite3 "$work/imported.db" "SELECT kernels_waiting, kernels_late, (SELECT count(*) FROM kernel_share) FROM sweep")" \
  "0|0|$(sql "SELECT count(*) FROM kernel_share")" "imported: all settled, as many shares"
sums="SELECT sum(underfill_sm_ns), sum(wave_sm_ns), sum(unjudged_sm_ns) FROM config_stat"
is "$(sqlite3 "$work/imported.db" "$sums")" "$(sql "$sums")" "imported: the same sums"

# ---- the daemon is killed again and again
export WAVETAP_RUN=killed
victims=
for i in 1 2; do
  LD_PRELOAD=$library "$app" --launches 100000000 --threads 2 --streams 2 --grid $((30 + 40 * i)) --us 200 --rate 1500 \
    >/dev/null 2>&1 &
  victims="$victims $!"
done
killed=0
for i in 1 2 3 4 5 6 7 8; do
  sleep 0.6
  pid=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
  [ -n "$pid" ] && kill -9 "$pid" && killed=$((killed + 1))
  "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
done
tries=0
while ! "$wavetap" status --json | grep -q '"kernels_waiting"' && [ "$tries" -lt 200 ]; do
  tries=$((tries + 1))
  sleep 0.05
done
ok "status tells what waits" test "$tries" -lt 200
# shellcheck disable=SC2086 # a list
kill -INT $victims
# shellcheck disable=SC2086
kill -9 $victims 2>/dev/null
wait
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
ok "the daemon was killed $killed times; the last one drains everything" settle
ok "something was settled in between, and kernels overlap" \
  test "$(sql "SELECT count(*) > 100 FROM kernel_share")" = 1
is_exact "killed"
is "$(rows)" "$(by_hand)" "killed: as by hand"
is "$(analyze_changes kernel_share config_stat | xargs)" "0 0" "killed: analyze finds the same"

# ---- kernels come seconds late, of a process whose launches nobody sees, while another goes on: counted,
# said, mended
export WAVETAP_RUN=late
WTFAKE_DELAY_MS=3500 CUDA_INJECTION64_PATH=$library "$app" --launches 60 --streams 2 --grid 60 --us 300 --rate 10 >/dev/null 2>&1 &
LD_PRELOAD=$library "$app" --launches 600 --threads 1 --streams 2 --grid 90 --us 300 --rate 100 >/dev/null 2>&1 &
wait
ok "drained" settle
ok "late kernels are counted: $(sql "SELECT kernels_late FROM sweep")" test "$(sql "SELECT kernels_late > 0 FROM sweep")" = 1
"$wavetap" top --all -r "$(run_file)" --json >"$work/top.json"
is "$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/top.json') AS TEXT), '$.shares.is_exact', '$.shares.reason')")" \
  '[false,"some records came late: wavetap analyze"]' "and said"
ok "the file is sound" "$wavetap" check -r "$(run_file)"
"$wavetap" analyze -r "$(run_file)" >/dev/null
is_exact "after analyze"
is "$(rows)" "$(by_hand)" "as by hand"

# ---- two H200s under DDP: collectives beside kernels
"$wavetap" import -o "$data/runs/ddp.db" "$top_srcdir"/tests/data/h200x2-ddp-rank?.wtrec >"$work/out" 2>&1
is "$(sql "SELECT count(*), (SELECT count(*) > 5000 FROM kernel_share), (SELECT sum(comm_sm_ns) > 0 FROM config_stat) FROM sweep")" \
  "2|1|1" "H200, DDP: two devices, shares, SMs idle beside collectives"
is_exact "H200, DDP"
ok "H200, DDP: a window sums as well" sums_to_ledger --from 100ms --to -50ms
is "$(analyze_changes kernel_exec kernel_share config_stat | xargs)" "0 0 0" "H200, DDP: analyze finds the same"
check_books
done_testing

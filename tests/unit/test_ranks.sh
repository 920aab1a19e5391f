#!/bin/sh
# `wavetap ranks` and `wavetap sms`: three processes on two devices whose figures are worked out by
# hand, and two ranks recorded on two H200s (rank 1 had twice the batch) against what sqlite3 finds
# from single kernels.
. "$top_srcdir/tests/e2e/lib.sh"

field() { # FILE PATH
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"
}
rows() { # FILE EXPRESSION on `r`, a row, one line each
  sqlite3 -batch :memory: "SELECT $2 FROM (SELECT value AS r FROM json_each(CAST(readfile('$1') AS TEXT), '\$.rows'))"
}
fails() { # CODE ERROR ARGUMENT...
  code=$1 error=$2
  shift 2
  "$wavetap" "$@" >"$work/out" 2>"$work/err"
  is "$? $(head -n 1 "$work/err")$(cat "$work/out")" "$code $error" "$1 $4 $5: refused in words"
}

# ---- by hand: 10 s, device 1 of 4 SMs, device 2 of 8. Process 1 (rank 0) has [0,2) and [1,3) on 2 SMs, [4,7) on 4
# with 3 SM-s of wave, [9,10) that no model fits; on device 2, on 4 SMs each, it has [2,3), process 2 (rank 1) [4,5),
# process 3 (no rank) [5,6).
hand=$work/hand.db
"$top_builddir/tests/unit/make_run" "$hand" ranks hand 1 &&
  sqlite3 -batch "$hand" "UPDATE kernel_exec SET process_id = 2 WHERE start_ns = 1004000000000 AND config_id = 6;
    UPDATE kernel_exec SET process_id = 3 WHERE start_ns = 1005000000000 AND config_id = 6"
is "$?" 0 "a run made"
"$wavetap" ranks -r "$hand" --json >"$work/ranks.json"
is "$(rows "$work/ranks.json" "coalesce(r ->> 'rank', 'none') || ' ' || (r ->> 'pid') || ' dev ' || (r ->> 'device_id') || ': ' ||
    (r ->> 'kernels') || ' ' || ((r ->> 'time_ns') / 1000000) || ' ' || ((r ->> 'busy_ns') / 1000000) || ' act ' ||
    ((r ->> 'active_sm_ns') / 1000000) || ' idle ' || ((r ->> 'underfill_sm_ns') / 1000000) || ' ' ||
    ((r ->> 'wave_sm_ns') / 1000000) || ' ' || ((r ->> 'unjudged_sm_ns') / 1000000) || ' gaps ' || (r ->> 'gaps') || ' ' ||
    ((r ->> 'gap_sm_ns') / 1000000)")" "0 42 dev 1: 5 8000 7000 act 17000 idle 4000 3000 4000 gaps 2 12000
0 42 dev 2: 1 1000 1000 act 4000 idle 4000 0 0 gaps 1 16000
1 43 dev 2: 1 1000 1000 act 4000 idle 4000 0 0 gaps 1 8000
none 44 dev 2: 1 1000 1000 act 4000 idle 4000 0 0 gaps 0 0" "a row for each process and device"
is "$(field "$work/ranks.json" '$.processes') $(field "$work/ranks.json" '$.reason.wait_ns')$(field "$work/ranks.json" '$.slowest_process_id')" \
  "3 not all ran collectives (NCCL, NVSHMEM)" "who waited is not known, with the reason"
is "$(rows "$work/ranks.json" "coalesce(r ->> 'wait_ns', 'null') || coalesce(r ->> 'step_ns', 'null')" | sort -u)" nullnull \
  "nor are steps"
LC_ALL=C COLUMNS=100 "$wavetap" ranks -r "$hand" >"$work/text"
ok "text: shares" grep -Eq '^ +1 +43 +2 +1 +10\.0 +5\.0 +5\.0 +10\.0  unknown ' "$work/text"
"$wavetap" ranks -r "$hand" --device 1 >"$work/text"
ok "text: one alone says so" grep -q 'one process on one device: there is nothing to set beside it' "$work/text"
is "$("$wavetap" ranks -r "$hand" --from 1s --to 5s --csv | awk -F, 'NR > 1 { t += $8; b += $9 } END { printf "%d %d", t / 1e6, b / 1e6 }')" \
  "6000 5000" "a window: [1,2) [1,3) [4,5), [2,3), [4,5)"

# SMs: 2 s on two of 4, 5 s on all; 3 s on four of 8.
"$wavetap" sms -r "$hand" --json >"$work/sms.json"
is "$(rows "$work/sms.json" "(r ->> 'device_id') || ' ' || (r ->> 'sms') || ' ' || ((r ->> 'time_ns') / 1000000)" | tr '\n' ',')" \
  "1 0 3000,1 2 2000,1 4 5000,2 0 7000,2 4 3000," "time by SMs that could be occupied"
is "$(field "$work/sms.json" '$.devices[0].mean_sms') $(field "$work/sms.json" '$.devices[1].mean_busy_sms') $(field "$work/sms.json" '$.devices[0].shared_ns')" \
  "2.4 4 0" "means"
is "$(field "$work/sms.json" '$.devices[0].per_sm')$(field "$work/sms.json" '$.devices[0].reason.per_sm')" \
  "which SM was active the hardware does not say" "what each SM did is not known, with the reason"
# Kernels that want more than there are: a fifth kernel on all SMs over [1,2), where two had two each.
sqlite3 -batch "$hand" "INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id, link,
  underfill_sm_ns, wave_sm_ns, wave_max_sm_ns) VALUES (1, 2, 1001000000000, 1002000000000, 1, 9, 99, 4, 0, 0, 0);
  INSERT INTO context VALUES (1, 1, 1, NULL, NULL, 0), (1, 5, 1, 1, 3, 1)"
"$wavetap" sms -r "$hand" --json >"$work/sms.json"
is "$(field "$work/sms.json" '$.devices[0].shared_ns') $(rows "$work/sms.json" "(r ->> 'sms') || ' ' || ((r ->> 'time_ns') / 1000000)" | head -n 3 | tr '\n' ',')" \
  "1000000000 0 3000,2 2000,4 5000," "what is shared is all SMs"
is "$(field "$work/sms.json" '$.contexts[1].sm_count') $(field "$work/sms.json" '$.contexts[1].is_green') $(field "$work/sms.json" '$.contexts[0].sm_count')" \
  "3 1 " "contexts"
LC_ALL=C "$wavetap" sms -r "$hand" >"$work/text"
ok "text: a bar" grep -Eq '^ +4 +50\.0 +71\.4 +5\.00s  #############################$' "$work/text"
ok "text: shared" grep -q 'kernels shared SMs 10.0% of the time, counted as all of them' "$work/text"
ok "text: a green context" grep -q '^green context 5 of pid 42, device 1  3 SMs$' "$work/text"
ok "text: what it can't tell" grep -q '^how many SMs were active needs samples (run --sample)  which SM was active the hardware does not say$' "$work/text"

for command in ranks sms; do
  fails 2 "wavetap: --json and --csv exclude each other" $command -r "$hand" --json --csv
done
fails 3 "wavetap: --kernel: all kernels of a device share its SMs; show and top select kernels" sms -r "$hand" --kernel half
fails 3 "wavetap: --kernel: all kernels of a device share its SMs; top --group rank and gaps select kernels" ranks -r "$hand" --kernel half

# ---- kernels beside collectives, by hand. In us, on rank 0, alone: work 100 and 100, other 10; beside its collective from 400
# on: work of 120 that begins before it and of 150, both at 100; other of 60, at half of that; gelu of 70, which is alone on
# rank 1 only, in 50. So 490 of the 610 that they took. Rank 1, all alone: 100 + 100 + 10 + 50, and slow, 300: 560.
pace=$work/pace.db
sqlite3 -batch "$pace" <"$top_srcdir/schema/schema.sql" >/dev/null
sqlite3 -batch "$pace" <<'SQL'
INSERT INTO meta VALUES ('run_id','pace'),('run_key','k'),('name','pace'),('created_ns','1'),('hostname','h'),('wavetap_version','0');
INSERT INTO proc (process_id, uuid, pid, pid_namespace, ppid, start_ticks, uid, hostname, boot_id, executable, command, rank, created_ns,
  armed_ns, first_ns, last_ns, state, capture, reason, reason_detail, library_version, launches_attempted, launches_stored, launches_linked,
  kernels_seen, kernels_stored) SELECT 1 + value, CAST('x' || value AS BLOB), 7 + value, 1, 1, 1, 0, 'h', 'b', '/a', 'a', value, 1, 1, 1000000,
  1800000, 'finished', 2, 0, 0, '0', 8, 8, 8, 8, 8 FROM json_each('[0,1]');
INSERT INTO gpu SELECT 1 + value, CAST('g' || value AS BLOB), 'Hundred', 9, 0, 100, 32, 2048, 32, 1024, 65536, 65536, 100000, 49152, 100000,
  1024, 1, 1, 1, 1, 1, 1, '0000:00:00' FROM json_each('[0,1]');
INSERT INTO kernel VALUES (1,'work'),(2,'other'),(3,'gelu'),(4,'slow'),(5,'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)');
INSERT INTO config SELECT value * 10 + kernel_id, kernel_id, 1 + value, b,1,1, 128,1,1, 0,0,0, 32,0,0, 0,0, 100, b, 8, 800, 0.5, 'warps',
  b / 800.0, b / 100.0, 0, 0, NULL FROM (SELECT kernel_id, iif(kernel_id = 5, 10, 800) AS b FROM kernel), json_each('[0,1]');
INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id, launch_seq, link, underfill_sm_ns,
  wave_sm_ns, wave_max_sm_ns) SELECT 1 + (value ->> 0), (value ->> 0) * 10 + (value ->> 1), 1000000 + (value ->> 2) * 1000,
  1000000 + (value ->> 3) * 1000, 1, iif(value ->> 1 = 5, 8, 7), key, key, 1, 0, 0, 0
  FROM json_each('[[0,1,0,100],[0,1,100,200],[0,2,200,210],[0,1,310,430],[0,5,400,800],[0,1,450,600],[0,2,600,660],[0,3,660,730],
    [1,1,0,100],[1,1,100,200],[1,2,200,210],[1,3,210,260],[1,4,300,600],[1,5,650,800]]');
INSERT INTO config_stat SELECT process_id, config_id, 0, count(*), sum(end_ns - start_ns), min(end_ns - start_ns), max(end_ns - start_ns),
  0, 0, 0, 0, 0, min(start_ns), max(end_ns), 0, 0, 0, 0, 0, 0, 0 FROM kernel_exec GROUP BY 1, 2;
SQL
"$wavetap" ranks --all -r "$pace" --json >"$work/ranks.json" 2>"$work/err"
late() {
  field "$work/ranks.json" "\$.late[0].$1"
}
is "$(late rank) $(late cause) $(late excess_ns.kernels) $(late kernel) $(late kernel_excess_ns)$(cat "$work/err")" \
  "1 kernels 70000 slow 300000" "kernels that a collective holds up count at their own pace"
is "$(late excess_error_ns.kernels)" "" "one stretch: no error is known"
sqlite3 -batch "$pace" "UPDATE kernel SET name = 'gemm' WHERE kernel_id = 5"
"$wavetap" ranks --all -r "$pace" --json >"$work/ranks.json"
is "$(field "$work/ranks.json" '$.reason.late')" "not all ran collectives (NCCL, NVSHMEM)" "without collectives nothing is told"

# ---- two ranks on two H200s
run=$work/ddp.db
"$wavetap" import -o "$run" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" \
  >"$work/out" 2>"$work/err"
is "$?" 0 "H200: two recordings are a run"
by_hand() {
  sqlite3 -batch "$run" "$1"
}
"$wavetap" ranks --all -r "$run" --json >"$work/ranks.json"
"$wavetap" ledger --all -r "$run" --json >"$work/ledger.json"
start=$(field "$work/ledger.json" '$.window.start_ns')
end=$(field "$work/ledger.json" '$.window.end_ns')
# Unions of a process' kernels: what each adds to the end of those before it.
k="k AS (SELECT process_id, max(start_ns, $start) AS a, min(end_ns, $end) AS b, exec_id, kernel_id, name LIKE '%ncclDevKernel%' AS is_comm
  FROM kernel_exec JOIN config USING (config_id) JOIN kernel USING (kernel_id) WHERE end_ns > $start)"
united() { # CONDITION: a line for each process
  echo "SELECT process_id AS p, sum(max(0, b - max(a, coalesce(before, 0)))) AS ns FROM (SELECT *, max(b) OVER
    (PARTITION BY process_id ORDER BY a, exec_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM k WHERE $1) GROUP BY 1"
}
is "$(rows "$work/ranks.json" "(r ->> 'rank') || ' ' || (r ->> 'kernels') || ' ' || (r ->> 'time_ns') || ' ' || (r ->> 'busy_ns') || ' ' ||
    (r ->> 'comm_ns') || ' ' || (r ->> 'comm_exposed_ns')")" \
  "$(by_hand "WITH $k, busy AS ($(united 1)), comm AS ($(united is_comm)), compute AS ($(united 'NOT is_comm'))
     SELECT rank || ' ' || count(*) || ' ' || sum(b - a) || ' ' || busy.ns || ' ' || comm.ns || ' ' || (busy.ns - compute.ns)
     FROM k JOIN proc USING (process_id) JOIN busy ON busy.p = process_id JOIN comm ON comm.p = process_id
     JOIN compute ON compute.p = process_id GROUP BY process_id ORDER BY rank")" "H200: kernels, and unions of them"
is "$(rows "$work/ranks.json" "(r ->> 'active_sm_ns') || ' ' || (r ->> 'underfill_sm_ns') || ' ' || (r ->> 'unjudged_sm_ns') || ' ' ||
    (r ->> 'comm_sm_ns') || ' ' || (r ->> 'host_sm_ns')")" \
  "$(sqlite3 -batch :memory: "SELECT (value ->> 'active_sm_ns') || ' ' || (value ->> 'underfill_sm_ns') || ' ' ||
     (value ->> 'unjudged_sm_ns') || ' ' || (value ->> 'comm_sm_ns') || ' ' || (value ->> '\$.gap_by_cause_sm_ns.host')
     FROM json_each(CAST(readfile('$work/ledger.json') AS TEXT), '\$.devices')")" "H200: a rank has its device's ledger"
# The n-th of a collective kernel of one is that of the other; who came first waited for the other.
pairs="c AS (SELECT process_id, start_ns AS a, end_ns AS b, kernel_id, row_number() OVER (PARTITION BY process_id, kernel_id
    ORDER BY start_ns, exec_id) AS n FROM kernel_exec JOIN config USING (config_id) JOIN kernel USING (kernel_id) WHERE name LIKE '%ncclDevKernel%'),
  pair AS (SELECT y.a - x.a AS ns, max(x.a, y.a) < min(x.b, y.b) AS is_met FROM c x JOIN c y USING (kernel_id, n)
    WHERE x.process_id = 1 AND y.process_id = 2 AND max(x.a, y.a) >= $start AND max(x.a, y.a) < $end)"
is "$(rows "$work/ranks.json" "(r ->> 'rank') || ' ' || (r ->> 'wait_ns')" | tr '\n' ',')" \
  "$(by_hand "WITH $pairs SELECT '0 ' || sum(max(0, ns)) || ',1 ' || sum(max(0, -ns)) || ',' FROM pair WHERE is_met")" \
  "H200: how long each waited for the other"
# Late by at most twice the clock error, or what the ends of collectives are apart, is nobody.
error=$(field "$work/ranks.json" '$.collectives_error_ns')
is "$(rows "$work/ranks.json" "(r ->> 'rank') || ' ' || (r ->> 'late_ns')" | tr '\n' ',')" \
  "$(by_hand "WITH $pairs SELECT '0 ' || sum(iif(-ns > $error, -ns, 0)) || ',1 ' || sum(iif(ns > $error, ns, 0)) || ',' FROM pair WHERE is_met")" \
  "H200: and was waited for"
is "$(field "$work/ranks.json" '$.collectives_ends_apart_ns')" "$(by_hand "WITH $pairs, e AS (SELECT abs(y.b - x.b) AS ns,
    row_number() OVER (ORDER BY abs(y.b - x.b)) AS i, count(*) OVER () AS n FROM c x JOIN c y USING (kernel_id, n) WHERE x.process_id = 1
    AND y.process_id = 2 AND max(x.a, y.a) < min(x.b, y.b) AND max(x.a, y.a) >= $start AND max(x.a, y.a) < $end)
  SELECT ns FROM e WHERE i = (n + 1) / 2")" "H200: what the ends of collectives are apart"
is "$(field "$work/ranks.json" '$.collectives') $(field "$work/ranks.json" '$.collectives_apart')" \
  "$(by_hand "WITH $pairs SELECT count(*) || ' ' || sum(NOT is_met) FROM pair")" "H200: in how many collectives"
is "$(by_hand "SELECT rank FROM proc WHERE process_id = $(field "$work/ranks.json" '$.slowest_process_id')")" 1 \
  "H200: the rank with twice the batch is the slowest"
for process in 1 2; do
  "$wavetap" steps -r "$run" --process $process --json >"$work/steps.json"
  is "$(rows "$work/ranks.json" "iif(r ->> 'process_id' = $process, (r ->> 'steps') || ' ' || (r ->> 'step_ns'), NULL)" | grep .)" \
    "$(field "$work/steps.json" '$.steps.steady.steps') $(field "$work/steps.json" '$.steps.steady.median_ns')" \
    "H200: the steps of process $process"
done
LC_ALL=C COLUMNS=100 "$wavetap" ranks --all -r "$run" >"$work/text"
ok "text: who is late" grep -q '^late: rank 1  the others waited ' "$work/text"
# Two that are swapped in one of the ranks are still told apart by their kernels.
cp "$run" "$work/swapped.db"
sqlite3 -batch "$work/swapped.db" "CREATE TABLE swap AS SELECT exec_id, kernel_id, lag(start_ns) OVER w AS a, lag(end_ns) OVER w AS b,
    lag(kernel_id) OVER w AS before, lag(exec_id) OVER w AS other, start_ns, end_ns FROM kernel_exec JOIN config USING (config_id)
    JOIN kernel USING (kernel_id) WHERE process_id = 1 AND name LIKE '%ncclDevKernel%' WINDOW w AS (ORDER BY start_ns);
  DELETE FROM swap WHERE before IS NULL OR before = kernel_id;
  DELETE FROM swap WHERE exec_id <> (SELECT min(exec_id) FROM swap);
  UPDATE kernel_exec SET start_ns = a, end_ns = b FROM swap WHERE kernel_exec.exec_id = swap.exec_id;
  UPDATE kernel_exec SET start_ns = swap.start_ns, end_ns = swap.end_ns FROM swap WHERE kernel_exec.exec_id = swap.other"
"$wavetap" ranks --all -r "$work/swapped.db" --json >"$work/swapped.json"
is "$(field "$work/swapped.json" '$.collectives') $(field "$work/swapped.json" '$.slowest_process_id') $(field "$work/swapped.json" '$.reason.wait_ns')" \
  "$(field "$work/ranks.json" '$.collectives') $(field "$work/ranks.json" '$.slowest_process_id') " "H200: another order is no other work"
# One collective less: the others can't be paired.
sqlite3 -batch "$run" "DELETE FROM kernel_exec WHERE exec_id = (SELECT max(exec_id) FROM kernel_exec JOIN config USING (config_id)
  JOIN kernel USING (kernel_id) WHERE name LIKE '%ncclDevKernel%')"
"$wavetap" ranks --all -r "$run" --json >"$work/ranks.json"
is "$(rows "$work/ranks.json" "r ->> 'wait_ns'" | tr -d '\n')$(field "$work/ranks.json" '$.reason.wait_ns')" \
  "not all ran the same number of collectives" "H200: none rather than wrong ones"

# ---- SMs, of a recorded run: durations by the SMs that a grid can occupy; where two overlap (255 ns) they want all
one=$work/one.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$one"
"$wavetap" sms --all -r "$one" --json >"$work/sms.json"
is "$(rows "$work/sms.json" "iif(r ->> 'sms' > 0, (r ->> 'sms') || ' ' || (r ->> 'time_ns'), NULL)" | grep .)" \
  "$(sqlite3 -batch "$one" "WITH k AS (SELECT min(132, blocks, iif(resident_blocks > 0, resident_blocks, 132)) AS sms, start_ns, end_ns,
       coalesce(lead(start_ns) OVER (ORDER BY start_ns, exec_id), end_ns) AS next_ns
       FROM kernel_exec JOIN config USING (config_id) WHERE end_ns > start_ns)
     SELECT sms || ' ' || sum(min(end_ns, next_ns) - start_ns) FROM k GROUP BY sms ORDER BY k.sms")" "H200: time by SMs"
"$wavetap" ledger --all -r "$one" --json >"$work/ledger.json"
is "$(rows "$work/sms.json" "(r ->> 'sms') * (r ->> 'time_ns')" | awk '{ s += $1 } END { printf "%.0f", s }')" \
  "$(sqlite3 -batch :memory: "SELECT (d ->> 'active_sm_ns') +
     (d ->> 'wave_sm_ns') + (d ->> 'unjudged_sm_ns') FROM (SELECT json_extract(CAST(readfile('$work/ledger.json') AS TEXT), '\$.devices[0]') AS d)")" \
  "H200: SMs x time is what the ledger has in kernels, less underfill"
done_testing

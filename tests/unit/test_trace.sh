#!/bin/sh
# `wavetap export --format perfetto`: what read_trace, a second reader of the format, finds in the trace is
# what sqlite3 finds in the run file. Recorded runs of an H200 (graphs, two ranks) and one made by hand with
# kernels that overlap on a stream, ranges that don't nest, odd names, samples with holes.
. "$top_srcdir/tests/e2e/lib.sh"

read_trace=$top_builddir/tests/unit/read_trace
make_run=$top_builddir/tests/unit/make_run
trace=$work/trace.db

# Writes a trace, reads it into $trace beside the plain run file: what `said` says is what was on stderr.
traced() { # RUN OPTION...
  "$wavetap" export --format perfetto --force -o "$work/t.pftrace" -r "$@" 2>"$work/said"
  is "$?" 0 "export -r ${1##*/} $(shift; echo "$*")"
  "$read_trace" "$work/t.pftrace" "$trace" 2>"$work/err"
  is "$?$(cat "$work/err")" 0 "a sound trace: slices nest, flows have two ends, texts and tracks are known"
  # Notes beside their slices.
  sqlite3 -batch "$trace" "CREATE TABLE kernels AS SELECT s.*,
      max(iif(key = 'exec_id', value, NULL)) AS exec_id, max(iif(key = 'underfill_sm_ns', value, NULL)) AS underfill,
      max(iif(key = 'wave_sm_ns', value, NULL)) AS wave, max(iif(key = 'wave_max_sm_ns', value, NULL)) AS wave_max,
      max(iif(key = 'waves', value, NULL)) AS waves, max(iif(key = 'occupancy', value, NULL)) AS occupancy,
      max(iif(key = 'grid', value, NULL)) AS grid, max(iif(key = 'limiter', value, NULL)) AS limiter,
      max(iif(key = 'unjudged_reason', value, NULL)) AS reason, max(iif(key = 'latency_ns', value, NULL)) AS latency
      FROM slice s JOIN note USING (no) WHERE category = 'kernel' GROUP BY no;
    CREATE TABLE calls AS SELECT s.*, (SELECT value FROM note n WHERE n.no = s.no AND key = 'seq') AS seq
      FROM slice s WHERE category IN ('launch', 'graph', 'wait', 'call') AND track IN
      (SELECT uuid FROM track WHERE kind = 'thread' OR parent IN (SELECT uuid FROM track WHERE kind = 'thread'));
    CREATE INDEX calls_flow ON calls (flow_from); CREATE INDEX calls_no ON calls (no)"
}
plain() { # RUN: all rows in their tables
  run=$1 rows=$work/plain.db
  "$wavetap" export -r "$run" --format sqlite --force -o "$rows"
}
# With run.: the run file.
ask() {
  sqlite3 -batch "$trace" "ATTACH '$rows' AS run; $1"
}
differ() { # SQL SQL: rows in one and not in the other
  ask "CREATE TEMP TABLE a AS $1; CREATE TEMP TABLE b AS $2;
    SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b);
    SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a);
    SELECT (SELECT count(*) FROM a) - (SELECT count(*) FROM b)" | xargs
}

# All of a run is in its trace, to the nanosecond.
check_whole() { # WHAT
  is "$(differ "SELECT exec_id, start_ns, end_ns, underfill, wave, wave_max, waves, occupancy, grid, limiter, reason, latency FROM kernels" \
    "SELECT exec_id, start_ns, end_ns, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, waves, occupancy,
      grid_x || 'x' || grid_y || 'x' || grid_z, limiter, unjudged_reason, start_ns - entry_ns
      FROM run.launch WHERE end_ns >= start_ns")" "0 0 0" "$1: kernels, with what they left idle"
  is "$(differ "SELECT seq, start_ns, end_ns, name FROM calls" \
    "SELECT seq, entry_ns, return_ns, a.name FROM run.launch_call l JOIN run.api a USING (api) UNION ALL
     SELECT seq, entry_ns, return_ns, a.name FROM run.api_call c JOIN run.api a USING (api)")" "0 0 0" "$1: calls of host threads"
  is "$(differ "SELECT (SELECT value FROM note n WHERE n.no = s.no AND key = 'copy_id'), start_ns, end_ns,
      (SELECT value FROM note n WHERE n.no = s.no AND key = 'bytes'), name = 'memset' FROM slice s WHERE category = 'copy'" \
    "SELECT copy_id, start_ns, end_ns, bytes, is_memset FROM run.copy WHERE end_ns >= start_ns")" "0 0 0" "$1: copies"
  is "$(differ "SELECT start_ns, end_ns FROM slice WHERE category = 'wait' AND no NOT IN (SELECT no FROM calls)" \
    "SELECT start_ns, end_ns FROM run.sync")" "0 0 0" "$1: CUPTI's waits"
  # Kernels of a call have a flow from that very call; a graph launch to the first of its kernels.
  is "$(differ "SELECT c.seq, c.start_ns, k.exec_id FROM kernels k JOIN calls c ON c.flow_from = k.flow_to WHERE k.flow_to <> 0" \
    "SELECT launch_seq, entry_ns, exec_id FROM run.launch WHERE entry_ns NOT NULL AND end_ns >= start_ns UNION ALL
     SELECT seq, entry_ns, exec_id FROM (SELECT c.seq, c.entry_ns, e.exec_id, row_number() OVER (PARTITION BY
      c.process_id, c.seq ORDER BY e.start_ns, e.end_ns DESC, e.exec_id) AS n FROM (SELECT * FROM run.api_call
      WHERE seq NOT NULL ORDER BY seq LIMIT 1000000) c CROSS JOIN (SELECT * FROM run.kernel_exec WHERE graph_id NOT NULL ORDER BY launch_seq
      LIMIT 1000000) e ON c.process_id = e.process_id AND c.seq = e.launch_seq WHERE e.end_ns >= e.start_ns) WHERE n = 1")" \
    "0 0 0" "$1: flows"
  # A stream's kernels are on tracks of its own.
  is "$(ask "SELECT count(*) FROM (SELECT k.track FROM kernels k JOIN run.launch l USING (exec_id) GROUP BY k.track
    HAVING count(DISTINCT l.process_id || ' ' || l.device_id || ' ' || l.context_id || ' ' || l.stream_id) > 1)")" 0 \
    "$1: a track is of one stream"
  check_gaps "$1"
}
# Gaps, and SMs that could be busy, against the ledger.
check_gaps() { # WHAT OPTION...
  what=$1
  shift
  "$wavetap" ledger -r "$run" --json --all "$@" >"$work/ledger.json"
  is "$(ask "SELECT key, sum(value) FROM note WHERE no IN (SELECT no FROM slice WHERE category = 'gap') AND key LIKE '%\_ns' ESCAPE '\\'
      AND key <> 'gap_sm_ns' GROUP BY 1 ORDER BY 1" | xargs)" \
    "$(sqlite3 -batch :memory: "SELECT c.key || '_ns', sum(c.value / (d.value ->> 'sms')) FROM json_each(CAST(readfile('$work/ledger.json')
      AS TEXT), '$.devices') d, json_each(d.value, '$.gap_by_cause_sm_ns') c GROUP BY 1 HAVING sum(c.value) > 0 ORDER BY 1" | xargs)" \
    "$what: gaps by cause are the ledger's"
  is "$(ask "SELECT sum(end_ns - start_ns), count(*) FROM slice WHERE category = 'gap'")" \
    "$(sqlite3 -batch :memory: "SELECT sum((value ->> 'wall_ns') - (value ->> 'busy_ns')) || '|' || sum(value ->> 'gaps') FROM
      json_each(CAST(readfile('$work/ledger.json') AS TEXT), '$.devices')")" "$what: gaps are the time without a kernel"
}
# The counter's area by hand: each kernel's SMs for its time, cut at those of the device.
check_sms() { # WHAT
  is "$(ask "WITH v AS (SELECT track, value, lead(time_ns) OVER (PARTITION BY track ORDER BY time_ns) - time_ns AS ns FROM value
      WHERE track IN (SELECT uuid FROM track WHERE name LIKE 'SMs that could%')) SELECT CAST(sum(value * ns) AS INTEGER) FROM v")" \
    "$(ask "WITH k AS (SELECT device_id, start_ns, end_ns, min(g.sm_count, c.blocks, c.sm_count) AS sms, g.sm_count AS most FROM
        run.kernel_exec JOIN run.config c USING (config_id) JOIN run.gpu g USING (device_id) WHERE end_ns > start_ns),
      e AS (SELECT device_id, most, start_ns AS t, sms FROM k UNION ALL SELECT device_id, most, end_ns, -sms FROM k),
      g AS (SELECT device_id, most, t, sum(sms) AS sms FROM e GROUP BY 1, 2, 3),
      s AS (SELECT most, sum(sms) OVER w AS sms, lead(t) OVER w - t AS ns FROM g WINDOW w AS (PARTITION BY device_id ORDER BY t))
      SELECT sum(min(sms, most) * ns) FROM s")" "$1: SMs that could be busy"
}

# ---- recorded: graphs on two streams; some steps of it
h200=$work/h200.db
"$wavetap" import -o "$work/all.db" "$top_srcdir/tests/data/h200-train-compile.wtrec" >/dev/null 2>&1
"$wavetap" export -r "$work/all.db" -o "$h200"
sqlite3 -batch "$h200" "CREATE TEMP TABLE w AS SELECT min(start_ns) + 20200000000 AS a, min(start_ns) + 20660000000 AS b FROM kernel_exec;
  DELETE FROM kernel_exec WHERE start_ns < (SELECT a FROM w) OR start_ns > (SELECT b FROM w);
  DELETE FROM copy WHERE start_ns < (SELECT a FROM w) OR start_ns > (SELECT b FROM w);
  DELETE FROM launch_call WHERE entry_ns < (SELECT a FROM w) OR entry_ns > (SELECT b FROM w);
  DELETE FROM api_call WHERE entry_ns < (SELECT a FROM w) OR entry_ns > (SELECT b FROM w);
  UPDATE proc SET first_ns = (SELECT a FROM w), armed_ns = (SELECT a FROM w);
  DELETE FROM sync WHERE start_ns < (SELECT a FROM w) OR start_ns > (SELECT b FROM w)"
"$wavetap" analyze -r "$h200" >"$work/out" 2>&1
plain "$h200"
traced "$h200"
is "$(cat "$work/said")" "" "nothing is left out, and nothing said"
check_whole "H200"
check_sms "H200"
"$wavetap" steps -r "$h200" --json >"$work/steps.json"
is "$(ask "SELECT group_concat(start_ns || '-' || end_ns) FROM (SELECT * FROM slice WHERE category = 'step' ORDER BY start_ns)")" \
  "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'start_ns') || '-' || ((value ->> 'start_ns') + (value ->> 'time_ns')))
    FROM json_each(CAST(readfile('$work/steps.json') AS TEXT), '$.rows')")" "steps"
is "$(ask "SELECT count(*), sum(end_ns - start_ns) FROM slice WHERE category = 'graph' AND name = 'graph launch'")" \
  "$(ask "SELECT count(*), sum(t) FROM (SELECT max(end_ns) - min(start_ns) AS t FROM run.kernel_exec WHERE graph_id NOT NULL
    GROUP BY process_id, launch_seq)")" "what ran of each graph launch"
about() { ask "SELECT value FROM note WHERE key = '$1' AND no IN (SELECT no FROM slice WHERE category = 'run')"; }
is "$(about run)|$(about loss.launches_attempted)|$(about loss.unexplained)|$(about device_1.sms)" \
  "$(sqlite3 -batch "$h200" "SELECT value FROM meta WHERE key = 'run_id'")|14160|0|132" "the trace says what it is of"
cp "$work/t.pftrace" "$work/first.pftrace"
"$wavetap" export --format perfetto -r "$h200" -o - -z >"$work/packed" 2>"$work/err"
ok "packed, on stdout: the same bytes" sh -c "gzip -dc '$work/packed' | cmp -s - '$work/first.pftrace'"
"$wavetap" export -r "$h200" -o "$work/by-name.pftrace.gz" 2>"$work/err"
ok "a name that ends in .gz packs" cmp -s "$work/packed" "$work/by-name.pftrace.gz"

# ---- parts of it
traced "$h200" --from 100ms --to 300ms
is "$(differ "SELECT exec_id FROM kernels" "SELECT exec_id FROM run.kernel_exec WHERE
  end_ns > (SELECT value FROM note WHERE key = 'window.start_ns') AND start_ns < (SELECT value FROM note WHERE key = 'window.end_ns')")" \
  "0 0 0" "a window: its kernels"
is "$(($(about window.end_ns) - $(about window.start_ns)))" 200000000 "of 200 ms"
check_gaps "a window" --from 100ms --to 300ms
traced "$h200" --kernel 'triton.*' --steps 5:7
is "$(differ "SELECT exec_id FROM kernels" "SELECT exec_id FROM run.launch WHERE kernel LIKE '%triton%' AND
  end_ns > (SELECT value FROM note WHERE key = 'window.start_ns') AND start_ns < (SELECT value FROM note WHERE key = 'window.end_ns')")" \
  "0 0 0" "kernels by name, of three steps"
is "$(ask "SELECT count(*) FROM slice WHERE category = 'launch' AND flow_from = 0")|$(ask "SELECT count(*) FROM slice WHERE category = 'step'")" \
  "0|3" "no launches of others"
is "$(about left_out.launches)" "of kernels that are not selected" "and that is said"

# ---- no more than so many
traced "$h200" --max-events 5000
n=$(ask "SELECT count(*) FROM slice")
ok "at most 5000 slices, and not few: $n" [ "$n" -le 5000 -a "$n" -gt 1500 ]
ok "said on stderr, with where to go on" grep -q "more than 5,000 slices may follow (--max-events); --from [0-9]*ns goes on there" "$work/said"
is "$(about left_out.ends_early)" "yes: the limit of slices (--max-events)" "and in the trace"
is "$(differ "SELECT exec_id FROM kernels" "SELECT exec_id FROM run.kernel_exec WHERE end_ns >= start_ns AND
  start_ns < (SELECT value FROM note WHERE key = 'window.end_ns')")" "0 0 0" "all kernels up to there"
is "$(differ "SELECT seq, start_ns FROM calls" "SELECT * FROM (SELECT seq, entry_ns FROM run.launch_call UNION ALL SELECT seq, entry_ns FROM
  run.api_call) WHERE entry_ns < (SELECT value FROM note WHERE key = 'window.end_ns')")" "0 0 0" "all calls up to there"
from=$(sed -n 's/.*--from \([0-9]*\)ns.*/\1/p' "$work/said")
traced "$h200" --from "${from}ns" --max-events 0
is "$(($(about window.start_ns) - $(sqlite3 -batch "$h200" "SELECT max((SELECT min(first_ns) FROM config_stat), 0)") >= 0))" 1 "the rest"
is "$(about left_out.ends_early)" "" "whole, without a limit"

# ---- recorded: two ranks that share a pid
ddp=$work/ddp.db
"$wavetap" import -o "$ddp" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" >/dev/null 2>&1
plain "$ddp"
traced "$ddp"
check_whole "two ranks"
is "$(ask "SELECT count(*) FROM track WHERE kind = 'process'")" 2 "two processes"
traced "$ddp" --rank 1
is "$(differ "SELECT exec_id FROM kernels" "SELECT exec_id FROM run.kernel_exec JOIN run.proc USING (process_id) WHERE rank = 1 AND end_ns >= start_ns")" \
  "0 0 0" "one rank: its kernels"
is "$(ask "SELECT count(*) FROM track WHERE kind = 'process'")|$(differ "SELECT seq, start_ns FROM calls" "SELECT seq, entry_ns FROM
  (SELECT process_id, seq, entry_ns FROM run.launch_call UNION ALL SELECT process_id, seq, entry_ns FROM run.api_call)
  JOIN run.proc USING (process_id) WHERE rank = 1")" "1|0 0 0" "and its calls alone"

# ---- by hand: kernels that overlap on a stream, ranges across one another, names that are no names
odd=$work/odd.db
"$make_run" "$odd" full odd 1
sqlite3 -batch "$odd" "
  UPDATE kernel_exec SET stream_id = 7, context_id = 1, end_ns = CASE exec_id WHEN 1 THEN end_ns + 500000000 ELSE end_ns END;
  UPDATE kernel SET name = CAST(x'ff27610a62c3' AS TEXT) || printf('%.2000c', 'x') WHERE kernel_id = 2;
  INSERT INTO range_name VALUES (1, '', 'outer'), (2, 'd', CAST(x'e28281fe' AS TEXT)), (3, '', NULL);
  INSERT INTO range_event SELECT 1, process_id, 1, 1, 5, 5, 1000000000000, 1000000001000, 0 FROM proc;
  INSERT INTO range_event SELECT 2, process_id, 2, 1, 5, 5, 1000000000500, 1000000001500, 0 FROM proc;
  INSERT INTO range_event SELECT 3, process_id, 1, 1, 5, 5, 1000000000100, 1000000000200, 1 FROM proc;
  INSERT INTO range_event SELECT 4, process_id, 3, 2, 5, NULL, 1000000000100, NULL, 0 FROM proc;
  INSERT INTO range_event SELECT 5, process_id, 1, 2, 5, 6, 1000000000100, 1000000000100, 0 FROM proc"
sqlite3 -batch "$odd" <"$top_srcdir/tests/unit/measured.sql"
"$make_run" samples "$odd"
plain "$odd"
traced "$odd"
check_whole "by hand"
is "$(ask "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM kernels GROUP BY track ORDER BY 1 DESC)")" "4,1" \
  "kernels that overlap on one stream are side by side"
is "$(ask "SELECT s.start_ns - 1000000000000, s.end_ns - s.start_ns, depth, t.name FROM slice s JOIN track t ON t.uuid = track WHERE category = 'range'
  ORDER BY 1, 2 DESC" | xargs)" "0|1000|0|ranges of thread 5 100|9999999900|0|ranges, started and ended \
100|100|1|ranges of thread 5 100|0|0|ranges, started and ended, beside (2) 500|1000|0|ranges of thread 5, beside (2)" \
  "ranges nest where they do, and one that never ended goes on to the end"
is "$(ask "SELECT group_concat(no) FROM (SELECT count(*) AS no FROM note WHERE key = 'never_ended')")" 1 "which is said"
is "$(ask "SELECT count(*) FROM slice WHERE name LIKE '%' || char(65533) || '''a%'")" "$(ask "SELECT count(*) FROM run.kernel_exec JOIN
  run.config USING (config_id) WHERE kernel_id = 2")" "bytes that are no text are marked"
is "$(ask "SELECT count(*) > 0 FROM value JOIN track ON uuid = track WHERE name = 'SMs active (sampled)'")" 1 "samples are there"

# ---- nothing, and what makes no sense
"$make_run" "$work/none.db" empty none 1
for command in "3 -r $work/none.db" "2 -r $odd --max-events 5" "2 -r $odd --format csv -z" "3 -r $odd --kernel nosuch"; do
  code=${command%% *}
  # shellcheck disable=SC2086 # words
  "$wavetap" export -o "$work/none.pftrace" --format perfetto ${command#* } >"$work/out" 2>"$work/err"
  is "$?|$(wc -l <"$work/err" | tr -d ' ')" "$code|$([ "$code" = 2 ] && echo 2 || echo 1)" "export ${command#* }"
  ok "no file" [ ! -e "$work/none.pftrace" ]
done
"$make_run" "$work/hooks.db" hooks hooks 1
run=$work/hooks.db
traced "$run"
ok "/dev/full is told" sh -c "! '$wavetap' export --format perfetto -r '$h200' -o - >/dev/full 2>'$work/err' && grep -q 'No space left' '$work/err'"
done_testing

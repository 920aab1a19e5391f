#!/bin/sh
# Every key and grouping of `wavetap top` on a recorded H200 run: what single launches are read for
# (gaps, latencies, streams, graphs, durations, steps) against figures that sqlite3 finds from the rows.
. "$top_srcdir/tests/e2e/lib.sh"

run=$work/h200.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$run"
by_hand() { # SQL on the run
  sqlite3 -batch "$run" "$1"
}
top() { # a later -r is the one that counts
  "$wavetap" top --all -r "$run" "$@"
}
rows() { # EXPRESSION on `r`, a row of the last JSON, one line each, sorted
  sqlite3 -batch :memory: "SELECT $1 FROM (SELECT value AS r FROM json_each(CAST(readfile('$work/top.json') AS TEXT),
    '\$.rows'))" | LC_ALL=C sort
}
sorted() {
  LC_ALL=C sort
}
field() { # PATH of the last JSON
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/top.json') AS TEXT), '$1')"
}

# As this version stores it: with each kernel's share of the device.
plain=$work/plain.db
"$wavetap" analyze -r "$run" -o "$plain" >"$work/out" 2>&1
is "$?" 0 "the recorded run, analyzed"

# More than one stream, some graphs: of the recording, which has one stream and none.
by_hand "UPDATE kernel_exec SET stream_id = 20 + exec_id % 3 WHERE exec_id % 5 = 0;
  UPDATE kernel_exec SET graph_id = 4 + exec_id % 2, graph_node_id = exec_id WHERE exec_id % 7 = 0;
  UPDATE kernel_exec SET graph_id = 0, graph_node_id = exec_id WHERE exec_id % 77 = 1;
  DELETE FROM config_stat WHERE in_graph" >/dev/null
"$wavetap" analyze -r "$run" -o "$work/analyzed.db" >"$work/out" 2>&1 && mv "$work/analyzed.db" "$run"
is "$?" 0 "the rollups of the changed run"

# The gap before a kernel: from where the last kernel before it ended, the window began at the earliest.
start=$(by_hand "SELECT max(first_ns, armed_ns) FROM proc")
gaps="gap AS (SELECT e.exec_id, e.process_id, e.config_id, e.stream_id, e.graph_id, e.start_ns, e.end_ns, e.wave_sm_ns AS alone_sm_ns,
    e.launch_seq, coalesce(s.underfill_sm_ns, e.underfill_sm_ns) AS underfill_sm_ns, coalesce(s.wave_sm_ns, e.wave_sm_ns) AS wave_sm_ns,
    coalesce(s.wave_max_sm_ns, e.wave_max_sm_ns) AS wave_max_sm_ns, s.unjudged_sm_ns, c.kernel_id, max(0, start_ns - max(coalesce(max(end_ns) OVER (ORDER BY start_ns, exec_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0), $start)) * 132 AS gap_sm_ns, end_ns - start_ns AS ns
  FROM kernel_exec e JOIN config c USING (config_id) LEFT JOIN kernel_share s USING (exec_id) WHERE end_ns >= start_ns)"
# Sums of a row; the stored figures of the model are what top adds up.
sums="count(*) || ' ' || sum(ns) || ' ' || min(ns) || ' ' || max(ns) || ' ' || sum(underfill_sm_ns) || ' ' ||
  sum(coalesce(wave_sm_ns, 0)) || ' ' || sum(coalesce(wave_max_sm_ns, 0)) || ' ' ||
  sum(coalesce(unjudged_sm_ns, iif(alone_sm_ns IS NULL, 132 * ns - coalesce(underfill_sm_ns, 0), 0))) || ' ' || sum(gap_sm_ns) || ' ' ||
  sum(graph_id IS NOT NULL) || ' ' || count(DISTINCT kernel_id) || ' ' || count(DISTINCT config_id)"
shown="(r ->> 'launches') || ' ' || (r ->> 'time_ns') || ' ' || (r ->> 'min_ns') || ' ' || (r ->> 'max_ns') || ' ' ||
  (r ->> 'underfill_sm_ns') || ' ' || coalesce(r ->> 'wave_sm_ns', 0) || ' ' || coalesce(r ->> 'wave_max_sm_ns', 0) || ' ' ||
  (r ->> 'unjudged_sm_ns') || ' ' || (r ->> 'gap_before_sm_ns') || ' ' || (r ->> 'launches_in_graph') || ' ' ||
  (r ->> 'kernels') || ' ' || (r ->> 'configs')"

compare() { # GROUP KEY-OF-A-ROW KEY-BY-HAND: each row, all sums
  top --group "$1" --json >"$work/top.json" 2>"$work/err" || cat "$work/err"
  rows "$2 || ': ' || $shown" >"$work/got"
  by_hand "WITH $gaps SELECT $3 || ': ' || $sums FROM gap GROUP BY $3" | sorted >"$work/want"
  is "$(head -n 3 "$work/got")" "$(head -n 3 "$work/want")" "--group $1: the first rows"
  ok "--group $1: $(wc -l <"$work/want" | tr -d ' ') rows, all sums" cmp -s "$work/got" "$work/want"
}
compare stream "(r ->> 'stream_id')" "stream_id"
is "$(wc -l <"$work/got" | tr -d ' ')" 4 "four streams"
compare graph "coalesce(r ->> 'graph_id', 'none')" "coalesce(graph_id, 'none')"
is "$(rows "r ->> 'label'" | tr '\n' ',')" "a graph without a name,graph 4,graph 5,in no graph," "graphs have their words"
compare duration "(r ->> 'low_ns')" "CASE WHEN ns < 1000 THEN 0 WHEN ns < 10000 THEN 1000 WHEN ns < 100000 THEN 10000
  WHEN ns < 1000000 THEN 100000 ELSE 1000000 END"
is "$(rows "r ->> 'label'" | head -n 2 | tr '\n' ',')" "1 us to 10 us,10 us to 100 us," "durations have their words"

# Steps, of the run as it was recorded: their times are those of `wavetap steps`; what starts in one is of it.
changed=$run run=$plain
"$wavetap" steps -r "$run" --csv --slowest 0 >"$work/steps.csv" 2>"$work/err"
printf '.mode csv\n.import %s found_step\n' "$work/steps.csv" | sqlite3 -batch "$run"
steps=$(by_hand "SELECT count(*) FROM found_step")
ok "steps are found" test "$steps" -gt 5
compare step "coalesce(r ->> 'step', -((r ->> 'label') = 'after the last step'))" "coalesce((SELECT CAST(step AS INTEGER) FROM found_step WHERE
  gap.start_ns >= CAST(found_step.start_ns AS INTEGER) AND gap.start_ns < CAST(found_step.end_ns AS INTEGER)),
  -(gap.start_ns >= (SELECT max(CAST(end_ns AS INTEGER)) FROM found_step)))"
is "$(rows "r ->> 'label'" | grep -c '^step [0-9]*  [0-9.]*ms  [a-z-]*$')" "$steps" "each with its length and kind"
is "$(rows "(r ->> 'step') || ' ' || (r ->> 'step_ns')" | grep -v '^$' | sorted)" \
  "$(by_hand "SELECT step || ' ' || time_ns FROM found_step" | sorted)" "the lengths are those of steps"
by_hand "DROP TABLE found_step"
run=$changed

# Phases, of the recorded run: PyTorch goes backward on a thread of its own.
top -r "$plain" --group phase --json >"$work/top.json"
is "$(rows "iif(r ->> 'phase' = 'backward', (r ->> 'launches') || ' ' || (r ->> 'time_ns'), NULL)" | grep .)" \
  "$(sqlite3 -batch "$plain" "SELECT count(*) || ' ' || sum(duration_ns) FROM launch WHERE tid <> (SELECT tid FROM launch
     WHERE kernel LIKE '%multi_tensor_apply%PointwiseOp%' LIMIT 1)")" "--group phase: backward is the other thread"
is "$(rows "coalesce(r ->> 'phase', r ->> 'label')" | tr '\n' ' ')$(rows "r ->> 'launches'" | awk '{ s += $1 } END { print s }')" \
  "backward forward optimizer $(sqlite3 -batch "$plain" "SELECT count(*) FROM kernel_exec")" "and the others have the rest"

# Classes: each kernel is in one; what a word says is tested by its own test.
top --group class --json >"$work/top.json"
is "$(rows "r ->> 'class'" | sort | uniq -d)" "" "--group class: one row each"
is "$(rows "iif(r ->> 'class' = 'gemm', r ->> 'launches', NULL)" | grep .)" \
  "$(by_hand "SELECT count(*) FROM launch WHERE kernel LIKE 'nvjet%' OR kernel LIKE '%gemm%' OR kernel LIKE '%splitKreduce%'")" \
  "the products of matrices"

# Whatever the grouping: the same total, and rows that add up to it.
want="$(by_hand "WITH $gaps SELECT count(*) || ' ' || sum(ns) || ' ' || sum(gap_sm_ns) FROM gap")"
for group in kernel config device process rank stream graph duration class step; do
  [ $group != step ] || run=$plain # of the changed one there are none
  top --group $group --by gap --json >"$work/top.json"
  is "$(field '$.total.launches') $(field '$.total.time_ns') $(field '$.total.gap_before_sm_ns')" "$want" "--group $group: the total"
  is "$(rows "(r ->> 'launches') || ' ' || (r ->> 'time_ns') || ' ' || (r ->> 'gap_before_sm_ns')" |
    awk '{ n += $1; t += $2; g += $3 } END { printf "%d %.0f %.0f", n, t, g }')" "$want" "--group $group: rows add up to it"
  LC_ALL=C COLUMNS=100 top --group $group --by time --limit 1 --columns n,time,gap >"$work/text"
  is "$(awk '/^ *[0-9,]+ +[0-9.]+ +[0-9.]+$/ { gsub(",", "", $1); n += $1; last = $1; rows++ }
    END { print (rows > 1 ? n - last : n), last }' "$work/text")" "${want%% *} ${want%% *}" \
    "--group $group: so do the rows shown, with that of the rest; the last row is all of them"
done

run=$changed

# --by gap: the ledger's gaps by the kernel that ended them.
top --by gap --json >"$work/top.json"
"$wavetap" gaps --all -r "$run" --by kernel --json >"$work/gaps.json"
is "$(rows "(r ->> 'kernel_id') || ' ' || (r ->> 'gap_before_sm_ns')")" \
  "$(sqlite3 -batch :memory: "SELECT (value ->> 'kernel_id') || ' ' || (value ->> 'gap_sm_ns') FROM
     json_each(CAST(readfile('$work/gaps.json') AS TEXT), '\$.rows') WHERE value ->> 'kernel_id' IS NOT NULL" | sorted)" \
  "--by gap: as wavetap gaps has them"
is "$(sqlite3 -batch :memory: "SELECT value ->> 'gap_before_sm_ns' FROM json_each(CAST(readfile('$work/top.json') AS TEXT), '\$.rows')" |
  sort -rn -c 2>&1)" "" "--by gap: the largest first"

# --by latency: from the call to the start, of launches that have a call of their own.
latency="SELECT c.kernel_id AS id, count(*) AS n, avg(e.start_ns - l.entry_ns) AS mean, avg(l.return_ns - l.entry_ns) AS call
  FROM kernel_exec e JOIN config c USING (config_id) JOIN launch_call l ON l.process_id = e.process_id AND l.seq = e.launch_seq
  WHERE e.graph_id IS NULL GROUP BY 1"
top --by latency --json >"$work/top.json"
is "$(rows "iif(r ->> 'latency_launches', printf('%d %d %.2f %.2f', r ->> 'kernel_id', r ->> 'latency_launches',
     r ->> 'latency_mean_ns', r ->> 'call_mean_ns'), NULL)" | grep .)" \
  "$(by_hand "SELECT printf('%d %d %.2f %.2f', id, n, mean, call) FROM ($latency)" | sorted)" "--by latency: means"
is "$(sqlite3 -batch :memory: "SELECT group_concat(id, ' ') FROM (SELECT value ->> 'kernel_id' AS id FROM
     json_each(CAST(readfile('$work/top.json') AS TEXT), '\$.rows') LIMIT 5)")" \
  "$(by_hand "SELECT group_concat(id, ' ') FROM (SELECT id FROM ($latency) ORDER BY mean DESC LIMIT 5)")" "the longest first"
is "$(rows "(r ->> 'queued_launches')" | awk '{ s += $1 } END { print s }')" \
  "$(by_hand "WITH k AS (SELECT e.*, max(end_ns) OVER (PARTITION BY process_id, context_id, stream_id ORDER BY start_ns, exec_id
       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM kernel_exec e)
     SELECT count(*) FROM k JOIN launch_call l ON l.process_id = k.process_id AND l.seq = k.launch_seq
     WHERE k.graph_id IS NULL AND before > return_ns")" "and how many found a kernel in their stream"
top --by latency --kernel GammaBeta --json >"$work/top.json"
is "$(field '$.rows[0].queued_launches') $(field '$.rows[0].reason.queued_launches')" \
  " kernels of the same streams are left out" "of a part of the kernels that is not told"
LC_ALL=C COLUMNS=100 top --by latency --limit 2 >"$work/text"
ok "text: of how many" grep -q "$(by_hand "SELECT printf('latency of %,d of %,d launches', sum(n),
  (SELECT count(*) FROM kernel_exec)) FROM ($latency)")" "$work/text"

# --by cv: deviation by mean, of the population.
top --by cv --json >"$work/top.json"
is "$(rows "iif(r ->> 'cv' IS NULL, NULL, printf('%d %.5f', r ->> 'kernel_id', r ->> 'cv'))" | grep .)" \
  "$(by_hand "SELECT printf('%d %.5f', kernel_id, sqrt(max(0, avg(1.0 * ns * ns) - avg(ns) * avg(ns))) / avg(ns)) FROM
     (SELECT kernel_id, end_ns - start_ns AS ns FROM kernel_exec JOIN config USING (config_id)) GROUP BY kernel_id
     HAVING count(*) > 1" | sorted)" "--by cv: the deviation by the mean"
is "$(rows "iif(r ->> 'launches' = 1, r ->> '\$.reason.cv', NULL)" | grep . | sort -u)" "fewer than two launches that took time" \
  "one launch does not vary"

# A window: parts of kernels, whole gaps inside; sums of windows that adjoin are those of the run.
for group in stream duration; do
  parts=0
  for part in "--to 300ms" "--from 300ms"; do
    # shellcheck disable=SC2086 # a list of options
    top --group $group --json $part >"$work/top.json"
    parts=$((parts + $(field '$.total.time_ns') + $(field '$.total.gap_before_sm_ns')))
  done
  is "$parts" "$(by_hand "WITH $gaps SELECT sum(ns) + sum(gap_sm_ns) FROM gap")" "--group $group: two windows are the run"
done

# What a run does not have is said, not shown as nothing.
fails() { # CODE ERROR ARGUMENT...
  code=$1 error=$2
  shift 2
  top "$@" >"$work/out" 2>"$work/err"
  is "$? $(head -n 1 "$work/err")$(cat "$work/out")" "$code $error" "top $*: refused in words"
}
fails 3 "wavetap: --by straggle: blocks of unequal length need a measurement, and run bea3718a has none; --by tail-idle ranks what the model knows" \
  --by straggle
fails 3 "wavetap: --group range: run bea3718a has no ranges: none were recorded" --group range
by_hand "DELETE FROM kernel_exec WHERE exec_id > 20; DELETE FROM launch_call WHERE seq > 20" >/dev/null
top --group step >"$work/out" 2>"$work/err"
is "$? $(grep -c 'run bea3718a has no steps that could be found: ' "$work/err")$(cat "$work/out")" "3 1" "no steps: refused in words"
fails 3 "wavetap: --group phase: run bea3718a has no phases that could be told: by ranges, kernels or threads" --group phase
done_testing

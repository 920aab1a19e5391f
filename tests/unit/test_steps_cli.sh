#!/bin/sh
# `wavetap steps`: a recorded training run on an H200, whose steps sqlite3 tells from the one kernel
# that each launches once; runs made by hand with graphs, threads, hooks only, and nothing to find.
. "$top_srcdir/tests/e2e/lib.sh"

field() { # PATH of the last JSON
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/steps.json') AS TEXT), '\$.$1')"
}
fields() {
  for path in "$@"; do printf '%s ' "$(field "$path")"; done
}
steps() { # RUN OPTION...: its JSON
  run=$1
  shift
  "$wavetap" steps -r "$run" --json "$@" >"$work/steps.json" 2>"$work/err"
}

# ---- the recording: 28 steps; the embedding's gather is the first kernel of each forward pass
h200=$work/h200.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$h200"
by_hand() { # SQL over g(at, start_ns): place and start of each gather; l: all launches
  sqlite3 -batch "$h200" "CREATE TEMP TABLE l AS SELECT row_number() OVER (ORDER BY l.entry_ns) - 1 AS at, e.start_ns,
      e.end_ns, k.name FROM kernel_exec e JOIN launch_call l ON l.process_id = e.process_id AND l.seq = e.launch_seq
      JOIN config USING (config_id) JOIN kernel k USING (kernel_id);
    CREATE TEMP TABLE g AS SELECT at, start_ns, lead(at) OVER (ORDER BY at) - at AS launches,
      lead(start_ns) OVER (ORDER BY at) - start_ns AS ns FROM l WHERE name LIKE '%vectorized_gather_kernel%'; $1"
}
is "$(by_hand "SELECT count(*), min(launches), max(launches) FROM g")" "28|488|488" "H200: what sqlite3 finds"

steps "$h200"
is "$(fields steps.is_found steps.count steps.period_launches steps.steady.steps steps.begins_at steps.clock)" \
  "1 28 488 28 optimizer gpu " "H200: the same steps without a mark"
ok "H200: without doubt" [ "$(field steps.confidence)" = 1.0 ]
# The optimizer's last kernel is right before the gather: each step begins at one, but the time of
# the first is cut off by the window.
is "$(field 'rows[0].start_ns') $(field 'rows[9].start_ns') $(field 'rows[26].time_ns')" \
  "$(by_hand "SELECT (SELECT start_ns FROM g LIMIT 1) || ' ' || (SELECT start_ns FROM g LIMIT 1 OFFSET 9) || ' ' ||
    (SELECT ns FROM g LIMIT 1 OFFSET 26)")" "H200: steps begin where the forward pass does"
is "$(field 'rows[3].busy_ns')" "$(by_hand "WITH k AS (SELECT l.start_ns, min(l.end_ns, b.end_ns) AS end_ns,
    max(l.end_ns) OVER (ORDER BY l.start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns FROM l,
    (SELECT start_ns, start_ns + ns AS end_ns FROM g LIMIT 1 OFFSET 3) b
    WHERE l.start_ns >= b.start_ns AND l.start_ns < b.end_ns)
  SELECT sum(max(0, end_ns - max(start_ns, coalesce(before_ns, 0)))) FROM k")" "H200: time in kernels of the fourth"
is "$(($(field 'rows[5].busy_ns') + $(field 'rows[5].gap_ns') - $(field 'rows[5].time_ns')))" 0 "kernels and gaps are the step"
is "$(($(field 'rows[5].more_busy_ns') + $(field 'rows[5].more_gap_ns') - $(field 'rows[5].more_ns')))" 0 \
  "and what is more than the median splits the same way"
is "$(field steps.startup_ns)" \
  "$(sqlite3 -batch "$h200" "SELECT $(field steps.steady.start_ns) - max(first_ns, armed_ns) FROM proc")" "H200: start-up is apart"

sum=$("$wavetap" steps -r "$h200" --csv | awk -F, 'NR > 1 { n++; t += $5 } END { printf "%d %.0f", n, t }')
is "$sum" "28 $(($(field steps.steady.end_ns) - $(field steps.steady.start_ns)))" "CSV: all steps, back to back"

steps "$h200" --step-marker vectorized_gather
is "$(fields steps.count steps.period_launches steps.begins_at steps.steady.max_ns)" \
  "28 488 marker $(field 'rows[27].time_ns') " "H200: marked by that kernel"
is "$(field steps.steady.median_ns)" "$(by_hand "WITH t AS (SELECT ns FROM g WHERE ns NOTNULL UNION ALL
    SELECT max(end_ns) - (SELECT max(start_ns) FROM g) FROM l), o AS (SELECT ns, row_number() OVER (ORDER BY ns) AS i FROM t)
    SELECT ns FROM o WHERE i = 14")" "H200: their median"
slowest=$("$wavetap" steps -r "$h200" -m vectorized_gather --slowest 2 --csv | awk -F, 'NR > 1 { print $1 }' | tr '\n' ' ')
is "$slowest" "28 15 " "the slowest two first"

# Nothing but the sequence: names taken away, so that no optimizer is known.
cp "$h200" "$work/nameless.db"
sqlite3 -batch "$work/nameless.db" "UPDATE kernel SET name = 'k' || kernel_id"
steps "$work/nameless.db"
is "$(fields steps.is_found steps.count steps.period_launches)" "1 28 488 " "H200: the same steps without names"

LC_ALL=C COLUMNS=200 "$wavetap" steps -r "$h200" --slowest 3 >"$work/text"
ok "text: what was found" grep -q '28 steps found, confidence 1.00  488 launches each  beginning after the optimizer' "$work/text"
ok "text: the steady ones" grep -q '^steady: 28 of steps 1 to 28  start-up 8.74ms  after them ' "$work/text"
is "$(grep -c '^ *[0-9]* *steady ' "$work/text")" 3 "text: three rows"

# ---- which kernel marks
"$wavetap" steps -r "$h200" --step-marker multi_tensor >"$work/out" 2>"$work/err"
is "$? $(wc -c <"$work/out") $(head -n 1 "$work/err")" \
  "2 0 wavetap: --step-marker: \"multi_tensor\" matches 7 kernels; which one?" "a marker that many have"
"$wavetap" steps -r "$h200" --step-marker nobody >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err")" "2 wavetap: --step-marker: no kernel of the run is called \"nobody\"" "a marker that none has"
"$wavetap" steps -r "$h200" --step-marker id:4x >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err")" "2 wavetap: --step-marker: no kernel of the run has the id \"4x\"" "an id that is none"
steps "$h200" --step-marker 'vector.*_gather_k'
is "$? $(field steps.count)" "0 28" "a regular expression"
id=$(sqlite3 "$h200" "SELECT kernel_id FROM kernel WHERE name LIKE '%CatArrayBatchedCopy_al%'")
"$wavetap" steps -r "$h200" --step-marker "id:$id" >"$work/out" 2>"$work/err"
is "$? $(cat "$work/out" "$work/err")" "3 wavetap: run $(sqlite3 "$h200" "SELECT value FROM meta WHERE key = 'run_id'") has no steps: the marker was launched less than twice" \
  "a kernel launched once marks nothing"
"$wavetap" steps -r "$h200" --process 9 >"$work/out" 2>"$work/err"
is "$? $(cut -d ' ' -f 4- "$work/err")" "3 has no launches of a process with that id" "no such process"
"$wavetap" steps -r "$h200" --json --csv >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err")" "2 wavetap: --json and --csv exclude each other" "two formats"

# ---- the recording as other programs would look
# Hooks only: calls without kernels. The function's handle tells kernels apart.
cp "$h200" "$work/hooks.db"
sqlite3 -batch "$work/hooks.db" "DELETE FROM kernel_exec; DELETE FROM config_stat; UPDATE proc SET capture = 1"
steps "$work/hooks.db"
is "$(fields steps.is_found steps.count steps.period_launches steps.clock) $(field 'rows[0].busy_ns')" "1 28 488 calls  " \
  "hooks only: from call to call"

# Layers alone: 100 equal ones of 4 kernels with a kernel before and two after, eight times; the host
# waits before each. And one kernel over and over.
hand() { # FILE, then SQL that fills seqs(seq, kernel, at_us)
  cp "$h200" "$1"
  sqlite3 -batch "$1" "DELETE FROM kernel_exec; DELETE FROM launch_call; DELETE FROM config_stat; DELETE FROM api_call;
    DELETE FROM copy; DELETE FROM sync; DELETE FROM overhead; UPDATE kernel SET name = 'k' || kernel_id;
    CREATE TEMP TABLE seqs (seq INTEGER, kernel INTEGER, at_us INTEGER, thread INTEGER DEFAULT 1); $2;
    INSERT INTO launch_call (process_id, seq, entry_ns, return_ns, api, tid, thread32, stream, function, grid_x, grid_y,
      grid_z, block_x, block_y, block_z, dynamic_smem_bytes, result, flags)
    SELECT 1, seq, 1795963212000000000 + at_us * 1000, 1795963212000000000 + at_us * 1000 + 500, 1, thread, thread, 0,
      kernel, 1, 1, 1, 32, 1, 1, 0, 0, 0 FROM seqs;
    UPDATE proc SET launches_stored = (SELECT count(*) FROM seqs), graph_launches_stored = 0"
}
hand "$work/layers.db" "INSERT INTO seqs (seq, kernel, at_us) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n
  WHERE i < 403 * 8 - 1) SELECT i, CASE WHEN i % 403 = 0 THEN 1 WHEN i % 403 > 400 THEN i % 403 - 380 ELSE 5 + i % 4 END,
  i * 6 + i / 403 * 500 FROM n"
steps "$work/layers.db"
is "$(field steps.is_found) $(field steps.period_launches)" "1 403" "100 equal layers are no steps: the loop around them is"
hand "$work/one.db" "INSERT INTO seqs (seq, kernel, at_us) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n
  WHERE i < 999) SELECT i, 3, i * 6 FROM n"
steps "$work/one.db"
is "$? $(fields steps.is_found steps.reason)" \
  "3 0 one kernel over and over: nothing tells where a step begins " "one kernel over and over: none, exit code 3"
ok "stderr says what to do" grep -q -- '--step-marker KERNEL' "$work/err"
"$wavetap" steps -r "$work/one.db" >"$work/out" 2>&1
is "$? $(head -n 1 "$work/out" | cut -d : -f 3-)" "3  one kernel over and over: nothing tells where a step begins" "the same in words"

# Threads: 100 times 70 kernels on one; on two others kernels in no order.
hand "$work/threads.db" "INSERT INTO seqs WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 6999)
  SELECT i * 2, 1 + i % 70, i * 7 + i / 70 * 300, 1 FROM n UNION ALL
  SELECT i * 2 + 1, 101 + (i * 7919 % 6007 + i / 13 * i) % 110, i * 11, 2 + i % 2 FROM n WHERE i < 6900"
steps "$work/threads.db"
is "$(fields steps.is_found steps.count steps.period_launches steps.is_one_thread)" "1 100 70 1 " \
  "a thread with a loop beside one without"

# Graphs: one launch a step, and a kernel; their nodes give the times.
hand "$work/graphs.db" "INSERT INTO seqs (seq, kernel, at_us) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n
  WHERE i < 49) SELECT i, 4, i * 1000 + 100 FROM n;
  INSERT INTO api_call (process_id, api, seq, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
  SELECT 1, (SELECT api FROM api WHERE class = 2 LIMIT 1), seq, 1795963212000000000 + at_us * 1000 - 90000,
    1795963212000000000 + at_us * 1000 - 80000, 1, 1, 0, 77, 0, 0, 0 FROM seqs"
steps "$work/graphs.db"
is "$(fields steps.is_found steps.count steps.period_launches)" "1 50 2 " "a graph and a kernel each"

# ---- rows of its beginning are gone: what was before is no start-up
cp "$h200" "$work/kept.db"
sqlite3 -batch "$work/kept.db" "CREATE TABLE dropped (process_id INTEGER NOT NULL, device_id INTEGER NOT NULL, kind INTEGER NOT NULL,
    row_count INTEGER NOT NULL, bytes INTEGER NOT NULL, first_ns INTEGER, last_ns INTEGER, last_id INTEGER NOT NULL,
    dropped_ns INTEGER NOT NULL, PRIMARY KEY (process_id, device_id, kind)) STRICT, WITHOUT ROWID;
  INSERT INTO dropped SELECT 1, 1, 1, 9, 99, min(start_ns) - 2000, min(start_ns) - 1000, 0, min(start_ns) FROM kernel_exec"
steps "$work/kept.db"
is "$(field steps.is_found)|$(field steps.startup_ns)" "1|" "start-up is not known where its rows were dropped"
"$wavetap" steps -r "$work/kept.db" >"$work/text" 2>&1
ok "nor in words" grep -q '  start-up \.  after them ' "$work/text"
done_testing

#!/bin/sh
# Recordings: what WAVETAP_RECORD writes and `wavetap import` reads gives the run file that the
# daemon made live, table by table, and the simulated device's truth; also with the daemon killed,
# with losses, with several processes; and a cut one says what is missing.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
records=$work/records
random() { # 0 .. LIMIT-1
  awk -v limit="$1" -v seed="$(od -An -N4 -tu4 /dev/urandom)" 'BEGIN { srand(seed); print int(rand() * limit) }'
}
fresh() { # RUN: an empty data directory and folder of recordings
  rm -rf "$data/runs" "$records"
  WAVETAP_RUN=$1
  export WAVETAP_RUN
}
# Every row of every table, without ids that follow the order in which processes were attached
# (rows of configurations and devices are told by what they hold). Sums of squares lose digits
# in another order.
dump() { # FILE
  "$run_sql" "$1" "
    SELECT 'proc', hex(uuid), pid, ppid, pid_namespace, start_ticks, uid, hostname, boot_id, executable, command, rank,
      local_rank, world_size, created_ns, armed_ns, finished_ns, first_ns, last_ns, state, capture, reason,
      reason_detail, reason_text, library_version, cupti_version, cupti_path, driver_version, calls_pos, activity_pos,
      flush_cpu_ns, cupti_callback_ns, kernels_seen FROM proc ORDER BY uuid;
    SELECT 'loss', hex(uuid), l.* FROM proc p JOIN (SELECT * FROM loss) l USING (process_id) ORDER BY uuid;
    SELECT 'exec', p.pid, k.name, c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z, start_ns, end_ns,
      context_id, stream_id, correlation_id, graph_id, graph_node_id, launch_seq, link, underfill_sm_ns, wave_sm_ns,
      wave_max_sm_ns FROM kernel_exec e JOIN proc p USING (process_id) JOIN config c USING (config_id)
      JOIN kernel k USING (kernel_id) ORDER BY pid, correlation_id, graph_node_id, start_ns;
    SELECT 'launch', p.pid, l.* FROM launch_call l JOIN proc p USING (process_id) ORDER BY pid, seq;
    SELECT 'call', p.pid, api, seq, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags
      FROM api_call JOIN proc p USING (process_id) ORDER BY pid, entry_ns, tid;
    SELECT 'config', k.name, hex(g.uuid), c.* FROM (SELECT * FROM config) c JOIN kernel k USING (kernel_id)
      JOIN gpu g USING (device_id) ORDER BY 2, 3, grid_x, grid_y, block_x;
    SELECT 'stat', p.pid, k.name, c.grid_x, in_graph, launches, time_ns, min_ns, max_ns, printf('%.6e', m2_ns2),
      s.underfill_sm_ns, s.wave_sm_ns, s.wave_max_sm_ns, s.unjudged_sm_ns, s.first_ns, s.last_ns
      FROM config_stat s JOIN proc p USING (process_id) JOIN config c USING (config_id) JOIN kernel k USING (kernel_id)
      ORDER BY 2, 3, 4, 5;
    SELECT 'copy', p.pid, c.start_ns, c.end_ns, bytes, is_memset, copy_kind, src_kind, dst_kind, flags, stream_id,
      correlation_id FROM copy c JOIN proc p USING (process_id) ORDER BY pid, correlation_id;
    SELECT 'sync', p.pid, type, start_ns, end_ns, context_id, stream_id, event_id, correlation_id FROM sync
      JOIN proc p USING (process_id) ORDER BY pid, start_ns, correlation_id;
    SELECT 'overhead', p.pid, type, start_ns, end_ns, thread32 FROM overhead JOIN proc p USING (process_id)
      ORDER BY 2, 3, 4, 5;
    SELECT 'clock', p.pid, realtime_ns, monotonic_ns, boot_ns, cupti_ns, bracket_ns FROM clock
      JOIN proc p USING (process_id) ORDER BY 2, 3;
    SELECT 'context', p.pid, context_id, parent_context_id, sm_count, is_green FROM context
      JOIN proc p USING (process_id) ORDER BY 2, 3;
    SELECT 'gpu', hex(uuid), name, cc_major, sm_count, regs_per_sm, smem_per_sm_bytes, pci FROM gpu ORDER BY 2;
    SELECT 'ordinal', p.pid, ordinal, hex(g.uuid) FROM process_gpu JOIN proc p USING (process_id)
      JOIN gpu g USING (device_id) ORDER BY 2, 3;
    SELECT 'pending', count(*) FROM pending_link;
    SELECT 'api', * FROM api; SELECT 'tag', * FROM tag;
    SELECT 'meta', * FROM meta WHERE key IN ('hostname', 'created_ns', 'wavetap_version', 'name');"
}
# Ids may differ where the daemon attached processes in another order, and so may the time of the run:
# it is that of the process attached first, and in an import of the earliest.
without_ids() {
  case $1 in
  several) sed -E '/^meta\|created_ns/d; s/^(loss\|[^|]*)\|[0-9]+\|/\1|/; s/^(launch\|[0-9]+)\|[0-9]+\|/\1|/; s/^(config\|[^|]*\|[^|]*)\|[0-9]+\|[0-9]+\|[0-9]+\|/\1|/' ;;
  *) cat ;;
  esac
}
same_as_live() { # WHAT [several]
  dump "$(run_file)" | without_ids "${2:-}" >"$work/live.txt"
  rm -f "$work/imported.db"
  "$wavetap" import -o "$work/imported.db" "$records"/*.wtrec >"$work/import.out" 2>"$work/import.err"
  is "$?$(cat "$work/import.err")" 0 "$1: imported without a word"
  dump "$work/imported.db" | without_ids "${2:-}" >"$work/imported.txt"
  ok "$1: the imported run file has what the live one has ($(wc -l <"$work/live.txt") rows)" \
    cmp -s "$work/live.txt" "$work/imported.txt"
  diff "$work/live.txt" "$work/imported.txt" | head -n 10 | sed 's/^/# /'
}
imported() {
  "$run_sql" "$work/imported.db" "$1"
}

export WAVETAP_RECORD="$records"

# ---- one process, with everything the simulated driver has
fresh one
export WAVETAP_NAME=one WAVETAP_TAGS=a=1
tap "$app" --launches 3000 --threads 3 --graph 8 --streams 2 --kind mix --capture --fail-every 50 --us 5 >"$work/out"
unset WAVETAP_NAME WAVETAP_TAGS
settle
is "$(find "$records" -name '*.wtrec' -perm 0600 | wc -l)" 1 "one recording, for its owner alone"
same_as_live "one process"
is "$(imported "SELECT launches_attempted + graph_launches FROM loss")" \
  "$(grep -o ' attempted=[0-9]*' "$work/out" | cut -d= -f2)" "as many launches as the program made"
is "$(imported "SELECT kernels FROM loss")" "$(grep -o ' kernels=[0-9]*' "$work/out" | cut -d= -f2)" "as many kernels"
is "$(imported "SELECT unexplained FROM loss")" 0 "nothing is unexplained"
ok "its name begins with the id of the run" test -e "$(find "$records" -name "$(sql "SELECT value FROM meta WHERE key = 'run_id'")-*")"
is "$(imported "SELECT value FROM meta WHERE key = 'imported_from'")" "$(basename "$records"/*.wtrec)" \
  "the run file tells its origin"
is "$(sql "SELECT value FROM meta WHERE key = 'recording'")" "$records" "the live one tells that it was recorded"
size=$(stat -c %s "$records"/*.wtrec)
kernels=$(imported "SELECT kernels FROM loss")
ok "$size bytes for $kernels kernels: under 26 each" test "$size" -lt $((kernels * 26))

# ---- figures against the device's truth, worked out from its lines
fresh truth
WTFAKE_RAMP_NS=0 WTFAKE_TRUTH="$work/truth.jsonl" tap "$top_builddir/tests/fake/app_demo" --seconds 0.3 >"$work/out" 2>&1
settle
same_as_live truth
sqlite3 -batch :memory: "SELECT value ->> 'kernel', count(*), sum((value ->> 'end_ns') - (value ->> 'start_ns')),
    sum(value ->> 'underfill_sm_ns')
  FROM json_each('[' || replace(rtrim(readfile('$work/truth.jsonl'), char(10)), char(10), ',') || ']')
  GROUP BY 1 ORDER BY 1" >"$work/truth"
is "$(imported "SELECT kernel, launches, time_ns, underfill_sm_ns FROM kernel_idle ORDER BY 1")" "$(cat "$work/truth")" \
  "launches, time and underfill of each kernel are the device's"

# ---- a folder relative to where the program is
fresh relative
(cd "$work" && WAVETAP_RECORD=here tap "$app" --launches 20 --us 5 >/dev/null)
settle
is "$(find "$work/here" -name '*.wtrec' | wc -l)" 1 "WAVETAP_RECORD may be relative"

# ---- several processes of a run, one of them killed
fresh several
tap "$app" --launches 2000 --threads 2 --us 5 >/dev/null &
tap "$app" --launches 1500 --graph 4 --us 5 >/dev/null &
tap "$app" --launches 400 --exit kill --us 5 >/dev/null 2>&1 &
wait
settle
is "$(find "$records" -name '*.wtrec' | wc -l)" 3 "three recordings"
same_as_live "three processes" several
is "$(imported "SELECT count(*) FROM proc WHERE state = 'killed'")" 1 "the killed one says so"
is "$(imported "SELECT sum(launches_attempted + graph_launches) FROM loss")" 5904 \
  "4000, 1500 and 400 launches, and four to make a graph of"

# ---- losses: rings that fill because nobody drains them
fresh dropped
WAVETAP_SPAWN=0 WAVETAP_SHM_BYTES=1048576 tap "$app" --launches 9000 --us 2 >/dev/null
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1
settle
same_as_live losses
ok "launches were dropped" test "$(imported "SELECT launches_dropped FROM loss")" -gt 1000
is "$(imported "SELECT launches_attempted - launches_stored - launches_dropped FROM loss")" 0 "and the books balance"

# ---- the daemon killed again and again
fresh killed
LD_PRELOAD=$library "$app" --launches 100000000 --threads 2 --graph 4 --rate 3000 --us 20 >/dev/null 2>&1 &
victim=$!
i=0
while [ "$i" -lt 8 ]; do
  i=$((i + 1))
  sleep "0.$((100 + $(random 300)))"
  daemon=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
  [ -z "$daemon" ] || kill -9 "$daemon"
  "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
done
kill -INT "$victim" 2>/dev/null
kill -9 "$victim" 2>/dev/null
wait "$victim" 2>/dev/null
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
is "$(find "$records" -name '*.wtrec' | wc -l)" 1 "the daemon killed: still one recording"
rm -f "$work/imported.db"
"$wavetap" import -o "$work/imported.db" --json "$records"/*.wtrec >"$work/import.json"
is "$(sqlite3 -batch :memory: "SELECT json_extract(readfile('$work/import.json'), '$.recordings[0].is_whole'),
  json_extract(readfile('$work/import.json'), '$.recordings[0].cells_missing')")" "1|0" "which is whole, with no cell missing"
# Transactions may have been cut elsewhere, so compare what must not depend on that.
cells="SELECT (SELECT count(*) || '/' || sum(entry_ns % 1000000007) || '/' || sum(seq) FROM launch_call),
  (SELECT count(*) || '/' || sum(start_ns % 1000000007) || '/' || sum(end_ns - start_ns) FROM kernel_exec),
  (SELECT count(*) || '/' || sum(entry_ns % 1000000007) FROM api_call), launches_attempted, launches_stored, launches_dropped,
  launches_linked, launches_torn, kernels, kernels_graph, cells_torn, cells_gap, unexplained FROM loss"
is "$(imported "$cells")" "$(sql "$cells")" "no cell lost, none doubled, the same links and losses"

# ---- cut by a kill of the daemon that nobody followed: up to its last whole block
recording=$(find "$records" -name '*.wtrec')
head -c $(($(stat -c %s "$recording") * 6 / 10)) "$recording" >"$work/cut.wtrec"
"$wavetap" import -o "$work/cut.db" "$work/cut.wtrec" >"$work/import.out" 2>"$work/import.err"
is $? 0 "a cut recording is imported"
ok "and said to be cut" grep -q 'cut.wtrec: not whole: cut in ' "$work/import.err"
is "$(sqlite3 "$work/cut.db" "SELECT state, reason_text LIKE 'the recording is not whole: cut in %' FROM proc")" "lost|1" \
  "the run file says so, too"
is "$("$run_sql" "$work/cut.db" "SELECT launches_attempted >= launches_stored AND launches_stored = (SELECT count(*)
  FROM launch_call) AND launches_stored > 0 AND unexplained = 0 FROM loss")" 1 "its books balance"
"$wavetap" check "$work/cut.db" >"$work/out" 2>&1
is "$?$(grep -c 'still awaited' "$work/out")" 00 "and check finds nothing wrong with it"
"$run_sql" "$work/cut.db" "SELECT seq, entry_ns, return_ns, function FROM launch_call ORDER BY seq" >"$work/cut.rows"
imported "SELECT seq, entry_ns, return_ns, function FROM launch_call ORDER BY seq" | head -n "$(wc -l <"$work/cut.rows")" |
  cmp -s - "$work/cut.rows"
is $? 0 "what it has is the beginning of what the whole one has"
"$wavetap" import --dry-run "$work/cut.wtrec" >/dev/null 2>&1
is $? 1 "--dry-run fails for it"
"$wavetap" import --dry-run "$recording" >"$work/import.out"
is $? 0 "and not for the whole one"

# ---- its program may live on, and what a gap holds is no loss beside that of its launches
sqlite3 "$work/cut.db" "UPDATE proc SET cells_gap = 500, launches_attempted = launches_stored + launches_dropped + 7"
COLUMNS=200 "$wavetap" top -r "$work/cut.db" >"$work/out"
ok "launches that a recording lacks are not put down to a kill alone" \
  grep -q 'lost 7 launch calls: process killed while writing, or records missing' "$work/out"
ok "a gap says that they are the same" grep -q 'lost 500 records: .*; the launches and kernels among them are counted above' "$work/out"
done_testing

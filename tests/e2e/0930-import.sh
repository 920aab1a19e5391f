#!/bin/sh
# `wavetap import` as a command: the recording in tests/data against figures worked out by hand, what
# it says of files that are no recordings, where it writes; and what becomes of a recording that
# can't be written (the run file must not care).
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
sample=$top_srcdir/tests/data/sim-demo.wtrec
run=$work/sim.db
by_hand() {
  "$run_sql" "$run" "$1"
}
fails() { # EXIT-CODE WORDS WHAT ARGUMENT...: import with these arguments
  want=$1 words=$2 what=$3
  shift 3
  "$wavetap" import "$@" >"$work/out" 2>"$work/err"
  is "$?" "$want" "$what: exit code $want"
  ok "$what: says why" grep -q -- "$words" "$work/err"
}

# ---- a recording of format 1, made on the simulated GPU: 25 steps of the demo on 132 SMs
"$wavetap" import -o "$run" "$sample" >"$work/out" 2>"$work/err"
is "$?$(cat "$work/err")" 0 "the recording in tests/data is imported"
ok "a line for it" grep -q 'sim-demo.wtrec .* 1,141 launches, 1,525 kernels .* whole$' "$work/out"
is "$(by_hand "SELECT launches_attempted, launches_stored, graph_launches, kernels, kernels_graph, kernels_linked,
  launches_captured, unexplained FROM loss")" "1141|1141|25|1525|400|1125|16|0" \
  "1,141 calls: 1,125 run, 16 captured into a graph that runs 25 times"
# From single rows, not from rollups: T x (S - G), G < S.
is "$(by_hand "SELECT k.name, count(*), sum(end_ns - start_ns), sum((end_ns - start_ns) * (132 - grid_x * grid_y * grid_z))
  FROM kernel_exec JOIN config USING (config_id) JOIN kernel k USING (kernel_id)
  WHERE grid_x * grid_y * grid_z < 132 GROUP BY 1 ORDER BY 1")" "demo_graph_narrow|200|2000000|$((200 * 10000 * (132 - 17)))
demo_tiny|1000|1000000|$((1000 * 1000 * (132 - 8)))
demo_underfilled|25|3000000|$((25 * 120000 * (132 - 33)))" "17, 8 and 33 blocks on 132 SMs"
is "$(by_hand "SELECT sum(underfill_sm_ns) FROM kernel_idle")" $((230000000 + 124000000 + 297000000)) "and so the rollups"
# 539 blocks, 4 an SM: a wave of 528 and 11 more. Least: shared SMs, 180 us x (132 - 539 / 5); greatest:
# slots that come free together, 90 us x (132 - 3).
is "$(by_hand "SELECT blocks, blocks_per_sm, resident_blocks, last_wave_blocks FROM config JOIN kernel USING (kernel_id)
  WHERE name = 'demo_just_over_a_wave'")" "539|4|528|11" "539 blocks are a wave of 528 and 11 more"
is "$(by_hand "SELECT launches, wave_sm_ns, wave_max_sm_ns FROM kernel_idle WHERE kernel = 'demo_just_over_a_wave'")" \
  "25|$((25 * 180000 * (5 * 132 - 539) / 5))|$((25 * 90000 * (132 - 3)))" "its wave"
"$wavetap" top --all -r "$run" --json --limit 0 >"$work/top.json"
is "$(sqlite3 -batch :memory: "SELECT sum(value ->> 'idle_sm_ns'), sum(value ->> 'launches')
    FROM json_each(CAST(readfile('$work/top.json') AS TEXT), '$.rows')")" "759900000|1525" "top adds up the same"
is "$(sqlite3 "$run" "PRAGMA integrity_check")" ok "the file is sound"
ok "and alone" test ! -e "$run-wal" -a ! -e "$run-journal"
"$wavetap" import --dry-run --json "$sample" >"$work/import.json"
is "$(sqlite3 -batch :memory: "SELECT json_extract(j, '$.recordings[0].kernels'),
  json_extract(j, '$.recordings[0].is_whole'), json_extract(j, '$.loss.kernels'), json_extract(j, '$.run.file') = ''
  FROM (SELECT CAST(readfile('$work/import.json') AS TEXT) AS j)")" "1525|1|1525|1" "--dry-run --json"

# ---- without the names of the machine: the same in everything else
"$top_builddir/tests/data/strip_recording" "$sample" "$work/stripped.wtrec" somewhere
is "$?" 0 "strip_recording"
"$wavetap" import -o "$work/stripped.db" "$work/stripped.wtrec" >"$work/out"
for table in kernel_exec launch_call api_call copy config config_stat loss; do
  is "$("$run_sql" "$work/stripped.db" "SELECT * FROM (SELECT *, '' AS pid FROM $table)" | sed 's/1000|finished/10564|finished/' | cksum)" \
    "$(by_hand "SELECT * FROM (SELECT *, '' AS pid FROM $table)" | cksum)" "the same $table"
done
is "$(sqlite3 "$work/stripped.db" "SELECT hostname, executable, command, cupti_path, pid, uid, boot_id FROM proc")" \
  "somewhere|app_demo|app_demo --seconds 0.1|libcupti.so.13|1000|1000|" "names are gone"

# ---- records of a real run: the H200 run file turned back into cells (the links between calls and
# kernels are made up). What the daemon of that machine summed up, the import must, too.
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$work/h200.db"
"$top_builddir/tests/bench/bench_recording" "$work/h200.db" "$work/h200.wtrec" >"$work/out"
size=$(stat -c %s "$work/h200.wtrec")
ok "$(cat "$work/out"): 40,000 launches would stay under 1 MiB" test $((size * 40000 / 13827)) -lt 1048576
"$wavetap" import -o "$work/h200-again.db" "$work/h200.wtrec" >"$work/out" 2>"$work/err"
is "$?$(cat "$work/err")" 0 "13,827 launches of the H200 are imported"
sums="SELECT kernel, launches, configs, time_ns, min_ns, max_ns, waves, under, wave, wave_max FROM kernel_idle JOIN
  (SELECT kernel_id, sum(e.underfill_sm_ns) AS under, sum(e.wave_sm_ns) AS wave, sum(e.wave_max_sm_ns) AS wave_max
   FROM kernel_exec e JOIN config USING (config_id) GROUP BY 1) USING (kernel_id) ORDER BY kernel"
is "$("$run_sql" "$work/h200-again.db" "$sums" | cksum)" "$("$run_sql" "$work/h200.db" "$sums" | cksum)" \
  "each kernel's launches, times, waves, underfill: as stored on that machine"
"$wavetap" analyze -r "$work/h200.db" >"$work/out" # that file is of version 1, which had no shares
sums="SELECT kernel, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns FROM kernel_idle ORDER BY kernel"
is "$("$run_sql" "$work/h200-again.db" "$sums" | cksum)" "$("$run_sql" "$work/h200.db" "$sums" | cksum)" \
  "and what they have of the device where some overlap"
limits="SELECT name, grid_x, grid_y, block_x, regs_per_thread, blocks_per_sm, occupancy, limiter, last_wave_blocks, model_reason
  FROM config JOIN kernel USING (kernel_id) ORDER BY 1, 2, 3, 4, 5"
is "$(sqlite3 "$work/h200-again.db" "$limits" | cksum)" "$(sqlite3 "$work/h200.db" "$limits" | cksum)" "and their occupancy"
is "$(sqlite3 "$work/h200-again.db" "SELECT launches_linked, launches_linked_by_order, unexplained FROM loss")" "13827|0|0" \
  "every launch is linked exactly"
is "$("$run_sql" "$work/h200-again.db" "ATTACH '$work/h200.db' AS h; SELECT count(*) FROM kernel_exec a JOIN h.kernel_exec b
  USING (correlation_id) WHERE a.launch_seq <> b.launch_seq OR a.start_ns <> b.start_ns")" 0 "to the call it was linked to"

# ---- into the data directory
"$wavetap" import --name again "$sample" >"$work/out"
is "$?" 0 "without -o into the data directory"
"$wavetap" import --name again "$sample" >"$work/out"
is "$(find "$data/runs" -name '*.db' -perm 0600 | wc -l)" 2 "twice, two runs"
is "$("$wavetap" runs --json | grep -c '"name": "again"')" 2 "wavetap runs lists them"
is "$(find "$data/runs" ! -name '*.db' -type f | wc -l)" 0 "nothing else is left there"
is "$("$wavetap" top --all -r again --csv --limit 0 | tail -n +2 | wc -l)" 8 "top finds them by name"

# ---- what is not a recording
fails 2 'try: wavetap help import' "no file"
fails 1 'No such file' "a missing file" "$work/nothing.wtrec"
fails 1 'not a wavetap recording' "a run file" "$run"
fails 1 'directory' "a folder" "$work"
: >"$work/empty.wtrec"
fails 1 'not a wavetap recording' "an empty file" "$work/empty.wtrec"
head -c 64 "$sample" >"$work/head.wtrec"
fails 3 'no block is whole' "a head alone" "$work/head.wtrec"
head -c 1000 "$sample" >"$work/cut.wtrec"
fails 3 'no block is whole' "cut in its first block" "$work/cut.wtrec"
# A later version, whose checksum an older program may not know: the version is what is told.
{ head -c 8 "$sample" && printf '\005' && tail -c +10 "$sample"; } >"$work/newer.wtrec"
fails 1 'made by a newer wavetap (format 5' "a newer version" "$work/newer.wtrec"
{ cat "$sample" && echo x; } >"$work/longer.wtrec"
"$wavetap" import --force -o "$run" "$work/longer.wtrec" >"$work/out" 2>"$work/err"
is "$?$(grep -c '2 bytes behind the end' "$work/err")" 01 "bytes behind the end are told"
"$wavetap" import --force -o "$run" "$sample" >"$work/out" 2>"$work/err"
# A pipe has no size: what was read is what there is.
# shellcheck disable=SC2002 # a pipe is what is tested
cat "$sample" | "$wavetap" import --dry-run /dev/stdin >"$work/out" 2>"$work/err"
is "$?$(cat "$work/err")" 0 "a whole recording from a pipe"
{ cat "$sample" && head -c 20000 /dev/zero; } | "$wavetap" import --dry-run /dev/stdin >"$work/out" 2>"$work/err"
is "$?$(grep -c ': 20000 bytes behind the end' "$work/err")" 11 "with bytes behind its end"
half=$(($(stat -c %s "$sample") / 2))
head -c "$half" "$sample" | "$wavetap" import --dry-run /dev/stdin >"$work/out" 2>"$work/err"
is "$?$(grep -c "of $half bytes are good" "$work/err")" 31 "cut in its only block"
# More recordings than files may be open at first: what is wrong is something else.
i=0
while [ "$i" -lt 70 ]; do
  i=$((i + 1))
  ln -s "$sample" "$work/many.$i.wtrec"
done
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -S -n 50 && exec "$wavetap" import --dry-run "$work"/many.*.wtrec) >"$work/out" 2>"$work/err"
is "$?$(grep -c 'are of the same process' "$work/err")" 11 "70 recordings with a soft limit of 50 open files"
fails 1 'exists already' "an existing file" -o "$run" "$sample"
fails 1 'same process' "a recording twice" "$sample" "$sample"
fails 2 'writes nothing' "--dry-run with -o" --dry-run -o "$work/x.db" "$sample"
fails 1 'No such file' "a folder that is not there" -o "$work/none/x.db" "$sample"
is "$(find "$work" -name 'x.db*' | wc -l)" 0 "nothing is left of what failed"

# ---- run --record, relative to the current folder
(cd "$work" && "$wavetap" run -q --name recorded --record recs -- "$app" --launches 200 --us 5 >/dev/null)
is "$?" 0 "run --record"
settle
is "$(find "$work/recs" -name '*.wtrec' | wc -l)" 1 "a recording in that folder"
"$wavetap" import -o "$work/recorded.db" "$work"/recs/*.wtrec >"$work/out"
is "$(sqlite3 "$work/recorded.db" "SELECT launches_stored, kernels FROM loss; SELECT value FROM meta WHERE key = 'name'")" \
  "200|200
recorded" "which holds the run"
fails 1 'different runs' "recordings of two runs" "$sample" "$work"/recs/*.wtrec
"$wavetap" run --record "$run" -- "$app" --launches 1 >"$work/out" 2>"$work/err"
is "$?$(cat "$work/out")" 1 "run --record FILE fails before the program starts"

# ---- a folder that can't be written: said in the log, in the run file and by status; the run is whole
export WAVETAP_RECORD="$run" WAVETAP_RUN=unwritable
LD_PRELOAD=$library "$app" --launches 100000000 --rate 500 --us 5 >/dev/null 2>&1 &
victim=$!
tries=0
until "$wavetap" status 2>/dev/null | grep -q 'recording ended: .*Not a directory' || [ "$tries" -ge 200 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
ok "status says why" test "$tries" -lt 200
kill -9 "$victim"
wait "$victim" 2>/dev/null
settle
unset WAVETAP_RECORD WAVETAP_RUN
"$wavetap" status >"$work/out"
ok "status still says it afterwards" grep -q "a recording is not whole: pid .*Not a directory" "$work/out"
is "$(grep -c 'recording of pid .* ends' "$data/wavetapd.log")" 1 "the log says it once"
is "$(sql "SELECT value LIKE '%Not a directory' FROM meta WHERE key = 'recording_problem'")" 1 "the run file says it"

# ---- a name that has no room in the segment
WAVETAP_RECORD=/$(printf '%01100d' 0) WAVETAP_RUN=long tap "$app" --launches 10 --us 5 >/dev/null
settle
is "$(sql "SELECT (SELECT value LIKE '%File name too long' FROM meta WHERE key = 'recording_problem'), launches_stored
  FROM loss")" "1|10" "a folder with a name of 1,100 bytes"

# ---- full disks, if we may mount some
cat >"$work/recording-full.sh" <<'END'
mkdir -p "$work/full" && mount -t tmpfs -o size=64k none "$work/full" || exit 77
"$wavetap" run --name full --sample off --record "$work/full" -- "$app" --launches 60000 --threads 2 --us 2 >/dev/null || exit 1
cp "$work"/full/*.wtrec "$work/full.wtrec"
rm "$work"/full/*.wtrec
"$wavetap" import -o "$work/full/small.db" "$sample" >/dev/null 2>"$work/import.err" && exit 1
ls -A "$work/full" >"$work/left"
END
# The other way round: the run file finds no room for a while, the recording does. What was recorded
# before a transaction that failed must not come twice.
cat >"$work/run-full.sh" <<'END'
mkdir -p "$work/small" && mount -t tmpfs -o size=3m none "$work/small" || exit 77
export WAVETAP_DIR="$work/small" WAVETAP_RUN=small WAVETAP_RECORD="$work/recs2"
poll() { # TRIES COMMAND...
  tries=$1
  shift
  until "$@" >/dev/null 2>&1; do
    [ $((tries -= 1)) -gt 0 ] || exit 1
    sleep 0.1
  done
}
is_full() { "$wavetap" status | grep -q 'disk is full'; }
is_drained() { ! ls "$shm"/*.seg; }
has_run() { ls "$work"/small/runs/*.db; }
LD_PRELOAD=$library "$app" --launches 6000 --rate 2000 --us 5 >/dev/null &
poll 100 has_run
dd if=/dev/zero of="$work/small/filler" bs=64k 2>/dev/null
poll 300 is_full
rm "$work/small/filler"
mount -o remount,size=64m "$work/small"
wait
poll 600 is_drained
cp "$work"/small/runs/*.db "$work/small-live.db"
cp "$work"/small/runs/*.db-wal "$work/small-live.db-wal" 2>/dev/null || :
END
export work wavetap app library shm sample
mounting="unshare -m"
unshare -m true 2>/dev/null || mounting="unshare -rm"
$mounting sh "$work/recording-full.sh" 2>"$work/err"
rc=$?
if [ "$rc" = 0 ]; then
  settle
  ok "run says that the recording is not whole" grep -q 'the recording is not whole: .*No space left' "$work/err"
  is "$(sql "SELECT value LIKE '%No space left on device' FROM meta WHERE key = 'recording_problem'")" 1 \
    "a full disk: the run file says it"
  is "$(sql "SELECT launches_attempted - launches_stored - launches_dropped, unexplained FROM loss")" "0|0" "its books balance"
  "$wavetap" import -o "$work/full.db" "$work/full.wtrec" >"$work/out" 2>"$work/err"
  is "$?" 0 "what the disk held is imported"
  is "$(sqlite3 "$work/full.db" "SELECT state, launches_stored > 0 AND launches_stored < 120000 FROM proc")" "lost|1" \
    "up to its last whole block"
  is "$(grep -c "can't be written: .*disk is full$" "$work/import.err")$(cat "$work/left")" 1 \
    "an import without room fails and leaves nothing"
  $mounting sh "$work/run-full.sh" 2>"$work/err"
  is "$?" 0 "a run file without room for a while"
  "$wavetap" import -o "$work/small.db" "$work"/recs2/*.wtrec >"$work/out" 2>"$work/err"
  is "$?$(cat "$work/err")" 0 "the recording of that run is imported"
  books="SELECT launches_attempted, launches_stored, launches_dropped, launches_linked, kernels, cells_gap, unexplained,
    (SELECT sum(entry_ns % 1000003) FROM launch_call), (SELECT sum(end_ns % 1000003) FROM kernel_exec) FROM loss"
  is "$("$run_sql" "$work/small.db" "$books")" "$("$run_sql" "$work/small-live.db" "$books")" "no cell twice, none missing"
else
  echo "# full disks: left out, no file system may be mounted here ($rc)"
fi
check_books
done_testing

#!/bin/sh
# Every command that reads a run gives the same, byte for byte, of a file with all rows in their tables and of
# the same file with its rows packed: all of them, and some of them in chunks of any size. And packed rows
# come back as they were.
. "$top_srcdir/tests/e2e/lib.sh"

pack=$top_builddir/tests/unit/pack_run
fake=$top_builddir/tests/fake

# What is asked of each file: WORDS of the command.
questions() {
  cat <<END
top
top --all --json --limit 0
top --all --by gap
top --all --by latency
top --all --by cv
top --all --group stream
top --all --group graph
top --all --group phase
top --all --group range
top --all --group duration
top --group step
top --all --csv --from 20ms --to 60ms
top --all --csv --kernel gemm
top --all --csv --rank 0
top --all --csv --device 1 --to -30ms
show $kernel
show $kernel --all --json
show $kernel --from 10ms
gaps
gaps --all --json
gaps --all --by call --csv
gaps --from 10ms --to 50ms
copies --all
copies --json
copies --from 10ms
ranges
ranges --json
ranges --any-thread
steps
steps --json
steps --csv
ranks --all
ranks --json
sms --all
copies --by bytes --csv
sms --json
timeline --all
timeline --csv
timeline --from 20ms --to 40ms --width 1ms
whatif --sms 66
whatif --full-waves --all
whatif --no-gaps --json
diagnose
diagnose --all --json
ledger
ledger --all --json
ledger --from 10ms --to 60ms
ledger --csv
simulate --grid 300 --block 256 --regs 40
export -f csv -o -
export -f json -o -
export -f csv -o - --from 20ms --to 40ms
export -f json -o - --kernel gemm
check
END
}

answer() { # FOLDER: all answers into FOLDER/answers
  (cd "$1" && questions | while read -r words; do
    echo "=== $words"
    if [ "$words" = check ]; then
      "$wavetap" check ./run.db
    else
      # shellcheck disable=SC2086 # words of a command
      "$wavetap" $words -r ./run.db
    fi
    echo "=== $?"
  done) >"$1/answers" 2>&1 </dev/null
}

# is_same NAME HOW...: of the file $work/NAME.db; HOW it is packed.
is_same() {
  name=$1
  shift
  mkdir -p "$work/$name/plain"
  "$wavetap" export -r "$work/$name.db" -o "$work/$name/plain/run.db" || exit 1
  kernel=$(sqlite3 "$work/$name.db" "SELECT kernel_id FROM kernel_idle ORDER BY time_ns DESC LIMIT 1")
  answer "$work/$name/plain"
  ok "$name: answers ($(grep -c '^=== 0' "$work/$name/plain/answers") of $(grep -c '^=== [0-9]' "$work/$name/plain/answers"))" \
    test "$(wc -l <"$work/$name/plain/answers")" -gt 500
  ok "$name: sound" grep -q ' sound' "$work/$name/plain/answers"
  sed -n '/^=== check/,$p' "$work/$name/plain/answers" | sed 's/^/# /'
  for how in "$@"; do
    mkdir "$work/$name/$how"
    cp "$work/$name/plain/run.db" "$work/$name/$how/run.db"
    seed=0
    [ "$how" = all ] || seed=4711
    packed=$("$pack" "$work/$name/$how/run.db" $seed)
    ok "$name: $packed rows are packed" test "$packed" -gt 5000
    left=$(sqlite3 "$work/$name/$how/run.db" "SELECT (SELECT count(*) FROM kernel_exec) + (SELECT count(*) FROM launch_call)")
    ok "$name: $left are left" test "$left" -gt 100 -o "$how" = all -a "$left" = 0
    answer "$work/$name/$how"
    diff "$work/$name/plain/answers" "$work/$name/$how/answers" | head -20 | cut -c -300 | sed 's/^/# /'
    ok "$name: the same, $how packed" cmp "$work/$name/plain/answers" "$work/$name/$how/answers"
    "$wavetap" export -r "$work/$name/$how/run.db" -o "$work/$name/$how/back.db"
    is "$(sqlite3 "$work/$name/$how/back.db" .dump | grep -v '^PRAGMA' | cksum)" \
      "$(sqlite3 "$work/$name/plain/run.db" .dump | grep -v '^PRAGMA' | cksum)" "$name: and they come back, $how packed"
    is "$(sqlite3 "$work/$name/$how/back.db" "PRAGMA integrity_check; SELECT count(*) FROM chunk")" "ok
0" "$name: into a sound file"
  done
}

# ---- graphs; copies; two ranks and devices; ranges and threads
for name in h200-train-compile h200-copies-side; do
  "$wavetap" import -o "$work/$name.db" "$top_srcdir/tests/data/$name.wtrec" >/dev/null || exit 1
  is_same $name all
done
"$wavetap" import -o "$work/two.db" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" \
  "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" >/dev/null || exit 1
is_same two some
for part in steps threads; do
  WAVETAP_RUN=ranges NVTX_INJECTION64_PATH=$library tap "$fake/app_nvtx" $part >/dev/null 2>&1
done
WAVETAP_RUN=ranges tap "$fake/app_launch" --launches 3000 --threads 3 --streams 4 --grid 40 >/dev/null 2>&1
ok "drained" settle
cp "$(run_file)" "$work/ranges.db"
is_same ranges all some
ok "ranges: some" grep -q '^=== ranges --any-thread' "$work/ranges/all/answers"
is "$(sqlite3 "$work/ranges/plain/run.db" "SELECT count(*) > 0 FROM kernel_range")" 1 "ranges: with kernels"

# ---- a damaged chunk: the rest is read, and what is missing is said
bad=$work/bad.db
fresh() { cp "$work/two/some/run.db" "$bad"; }
change() { # SQL
  fresh
  sqlite3 -batch "$bad" "$1"
}
finds() { # TEXT: check says so, and ends with 1
  "$wavetap" check "$bad" >"$work/out" 2>"$work/err"
  is "$?|$(tr -s ' \n' ' ' <"$work/out" | grep -c "$1")|$(cat "$work/err")" "1|1|" "check: $1"
}
whole=$("$wavetap" export -f csv -o - -r "$work/two/some/run.db" | wc -l)
fresh
id=$(sqlite3 "$bad" "SELECT chunk_id FROM chunk WHERE kind = 1 AND row_count > 50 LIMIT 1")
rows=$(sqlite3 "$bad" "SELECT row_count FROM chunk WHERE chunk_id = $id")
for damage in "substr(data, 1, length(data) - 5)" "substr(data, 1, 40)" "x''" \
  "substr(data, 1, 30) || x'00' || substr(data, 32)" "data || x'00'"; do
  change "UPDATE chunk SET data = CAST($damage AS BLOB) WHERE chunk_id = $id"
  "$wavetap" export -f csv -o "$work/rest.csv" --force -r "$bad" 2>"$work/err"
  is "$?|$(wc -l <"$work/rest.csv")" "1|$((whole - rows))" "$damage: the rest is exported, and the exit status says that it is not all"
  is "$(grep -c "chunk $id is damaged: kernel_exec of process .* ($rows rows) can't be read" "$work/err")" 1 "$damage: and it is said, once"
  finds "can't be read, and not counted below (first: chunk $id is damaged: kernel_exec of process"
done
"$wavetap" export -o "$work/rest.db" -r "$bad" 2>"$work/err"
is "$?|$(grep -c "chunk $id is damaged" "$work/err")|$(sqlite3 "$work/rest.db" "SELECT count(*), min(chunk_id) FROM chunk")" \
  "1|1|1|$id" "as SQLite: what can't be read stays packed"
# What is read row by row tells how much is not there, in text and in JSON.
shown=$(echo "$rows" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta')
WAVETAP_LEDGER=rows "$wavetap" ledger --all -r "$bad" >"$work/out" 2>"$work/err"
is "$?|$(grep -c "lost $shown rows of damaged chunks" "$work/out")|$(grep -c "lost $shown of " "$work/out")" "1|1|1" "ledger counts them as lost"
WAVETAP_LEDGER=rows "$wavetap" ledger --all -r "$bad" --json >"$work/out" 2>"$work/err"
is "$(sqlite3 :memory: "SELECT CAST(readfile('$work/out') AS TEXT) ->> '\$.loss.rows_damaged'")" "$rows" "and in JSON"
change "UPDATE chunk SET row_count = row_count + 1 WHERE chunk_id = $id"
finds "is not what the file says of it (first: chunk_id $id: it has other rows)"
"$wavetap" export -o "$work/rest.db" --force -r "$bad" 2>"$work/err"
is "$?|$(sqlite3 "$work/rest.db" "SELECT count(*), min(chunk_id) FROM chunk")" "1|1|$id" "nor is it put into the table by export"
change "UPDATE chunk SET end_ns = end_ns - 1 WHERE chunk_id = $id"
finds "(first: chunk_id $id: its rows have other times)"
change "UPDATE chunk SET configs = x'00' WHERE chunk_id = $id"
finds "(first: chunk_id $id: it has configurations that are not said)"
change "UPDATE chunk SET process_id = 3 - process_id WHERE chunk_id = $id"
finds "(first: chunk_id $id: its rows are of another process)"
change "UPDATE chunk SET kind = 9 WHERE chunk_id = $id"
finds "(first: chunk_id $id: no kind of rows)"
"$wavetap" top -r "$bad" >/dev/null 2>"$work/err"
is "$?|$(cat "$work/err")" "1|wavetap: $bad: $rows rows are packed in a way that this version does not know" "rows of an unknown kind are told"
"$wavetap" export -o "$work/rest.db" --force -r "$bad" 2>"$work/err"
is "$?|$(grep -c "chunk $id is damaged: rows of process" "$work/err")" "1|1" "and by export"
change "INSERT INTO chunk SELECT chunk_id + 100000, kind, process_id, device_id, first_id, last_id, row_count, start_ns, end_ns,
  configs, data FROM chunk WHERE chunk_id = $id"
finds "rows of two chunks overlap (first: chunk_id 10[0-9]*: begins before the one before it ends)"
finds "a row is there twice, packed and in the table or in two chunks (first: exec_id"

done_testing

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
    case $words in
    check*) "$wavetap" check ./run.db ;;
    # shellcheck disable=SC2086 # words of a command
    *) "$wavetap" $words -r ./run.db ;;
    esac
    echo "=== $?"
  done) >"$1/answers" 2>&1 </dev/null
}

# is_same NAME: of the file $work/NAME.db.
is_same() {
  for how in plain all some; do mkdir -p "$work/$1/$how"; done
  "$wavetap" export -r "$work/$1.db" -o "$work/$1/plain/run.db" || exit 1
  kernel=$(sqlite3 "$work/$1.db" "SELECT kernel_id FROM kernel_idle ORDER BY time_ns DESC LIMIT 1")
  cp "$work/$1/plain/run.db" "$work/$1/all/run.db"
  cp "$work/$1/plain/run.db" "$work/$1/some/run.db"
  packed=$("$pack" "$work/$1/all/run.db")
  ok "$1: $packed rows are packed" test "$packed" -gt 5000
  is "$(sqlite3 "$work/$1/all/run.db" "SELECT (SELECT count(*) FROM kernel_exec) + (SELECT count(*) FROM launch_call)")" 0 "$1: none are left"
  "$pack" "$work/$1/some/run.db" 4711 >/dev/null
  ok "$1: some are left" test "$(sqlite3 "$work/$1/some/run.db" "SELECT count(*) FROM kernel_exec")" -gt 100
  answer "$work/$1/plain"
  ok "$1: answers ($(grep -c '^=== 0' "$work/$1/plain/answers") of $(grep -c '^=== [0-9]' "$work/$1/plain/answers"))" \
    test "$(wc -l <"$work/$1/plain/answers")" -gt 500
  ok "$1: sound" grep -q ' sound' "$work/$1/plain/answers"
  for how in all some; do
    answer "$work/$1/$how"
    diff "$work/$1/plain/answers" "$work/$1/$how/answers" | head -20 | cut -c -300 | sed 's/^/# /'
    ok "$1: the same, $how packed" cmp "$work/$1/plain/answers" "$work/$1/$how/answers"
    "$wavetap" export -r "$work/$1/$how/run.db" -o "$work/$1/$how/back.db"
    is "$(sqlite3 "$work/$1/$how/back.db" .dump | grep -v '^PRAGMA' | cksum)" \
      "$(sqlite3 "$work/$1/plain/run.db" .dump | grep -v '^PRAGMA' | cksum)" "$1: and they come back, $how packed"
    is "$(sqlite3 "$work/$1/$how/back.db" "PRAGMA integrity_check; SELECT count(*) FROM chunk")" "ok
0" "$1: into a sound file"
  done
}

# ---- graphs, two ranks and devices, copies, ranges
for name in h200-train-compile h200-copies-side h200-infer-tiny; do
  "$wavetap" import -o "$work/$name.db" "$top_srcdir/tests/data/$name.wtrec" >/dev/null || exit 1
  is_same $name
done
"$wavetap" import -o "$work/two.db" "$top_srcdir/tests/data/h200x2-late-ddp-rank0.wtrec" \
  "$top_srcdir/tests/data/h200x2-late-ddp-rank1.wtrec" >/dev/null || exit 1
is_same two
for part in steps threads; do
  WAVETAP_RUN=ranges tap "$fake/app_nvtx" $part >/dev/null 2>&1
done
WAVETAP_RUN=ranges tap "$fake/app_launch" --launches 3000 --threads 3 --streams 4 --grid 40 >/dev/null 2>&1
ok "drained" settle
cp "$(run_file)" "$work/ranges.db"
is_same ranges

done_testing

#!/bin/sh
# Random programs over the simulated GPU, by the whole path: what `ledger`, `gaps` and `top` say of each is what the
# simulated devices know, to the nanosecond and cause by cause (tests/unit/random_check, which shares no code with the
# analysis). RANDOM_PROGRAMS and RANDOM_SEED choose how many and the first seed; `make stress` does hundreds.
#
# Programs differ in threads, streams, devices, processes; runs in how long a launch takes to arrive, in the order and delay of
# CUPTI's records, in records that are missing, and in CUPTI's clock.
. "$top_srcdir/tests/e2e/lib.sh"

programs=${RANDOM_PROGRAMS:-30}
first=${RANDOM_SEED:-1}
export WTFAKE_RAMP_NS=0 WTFAKE_DEVICES=2 WTFAKE_SMS=16,24

setting() { # SEED: what is special about its run
  case $(($1 % 7)) in
  0) echo WTFAKE_LAUNCH_LATENCY_NS=20000 ;;
  1) echo WTFAKE_UNORDERED=1 WTFAKE_DELAY_MS=20 ;;
  2) echo WTFAKE_CUPTI_OFFSET_NS=5000000000 ;;
  3) echo WTFAKE_CUPTI_OFFSET_NS=-3000000 WTFAKE_CUPTI_DRIFT_PPM=50 ;;
  4) echo WTFAKE_DROP_EVERY=$((7 + $1 % 20)) WTFAKE_ZERO_EVERY=$((9 + $1 % 30)) ;;
  *) echo WTFAKE_GAP_NS=$(($1 % 7 * 700)) ;;
  esac
}

seed=$first
while [ "$seed" -lt $((first + programs)) ]; do
  # shellcheck disable=SC2046 # words
  env $(setting "$seed") WAVETAP_RUN="seed-$seed" WAVETAP_NAME="seed-$seed" WTFAKE_TRUTH="$work/truth.$seed" \
    WTFAKE_TRUTH_CALLS="$work/calls.$seed" LD_PRELOAD="$library" \
    "$top_builddir/tests/fake/app_random" --seed "$seed" >>"$work/out" 2>>"$work/err" || echo "seed $seed: $?" >>"$work/failed"
  seed=$((seed + 1))
done
is "$(cat "$work/failed" "$work/err" 2>/dev/null)" "" "$programs programs ran"
settle

# By file, since a name is looked for in all of them.
for file in "$data"/runs/*.db; do
  ln -s "$file" "$work/$(sqlite3 -batch "$file" "SELECT value FROM meta WHERE key = 'name'").db"
done

wrong=
differ=
summed=0
seed=$first
while [ "$seed" -lt $((first + programs)) ]; do
  off=
  file=$work/seed-$seed.db
  case $(setting "$seed") in
  *CUPTI*) off=--off ;;
  *DROP*) off=--lossy ;;
  esac
  "$wavetap" ledger --all -r "$file" --json >"$work/ledger.json" 2>>"$work/err"
  WAVETAP_LEDGER=rows "$wavetap" ledger --all -r "$file" --json >"$work/rows.json" 2>>"$work/err"
  cmp -s "$work/ledger.json" "$work/rows.json" || differ="$differ $seed"
  [ "$(sqlite3 -batch "$file" "SELECT count(*) FROM ledger_mark WHERE end_ns > from_ns")" = 1 ] && summed=$((summed + 1))
  "$wavetap" gaps --all -r "$file" --by kernel --limit 0 --json >"$work/gaps.json" 2>>"$work/err"
  # shellcheck disable=SC2086 # one word or none
  "$top_builddir/tests/unit/random_check" $off "$file" "$work/truth.$seed" "$work/calls.$seed" "$work/ledger.json" \
    "$work/gaps.json" >"$work/check" 2>&1 || wrong="$wrong $seed"
  grep '^#' "$work/check" | sed "s/^#/# seed $seed:/"
  grep -v '^#' "$work/check" >>"$work/sums"
  rm -f "$work/truth.$seed" "$work/calls.$seed"
  seed=$((seed + 1))
done
is "$wrong" "" "every line and every cause is the devices' truth"
is "$differ" "" "from sums as from all rows"
ok "most have sums ($summed of $programs)" test "$summed" -gt $((programs / 2))
is "$(cat "$work/err")" "" "without a word of complaint"

# What that covers, and what can't be told from outside: after a launch call has returned, what the device waited for
# beside the cause given.
awk '{ if ($1 == "clock_worst_ns") { if ($NF > worst) worst = $NF; next }
       value = $NF; $NF = ""; sums[$0] += value; if ($0 ~ /^wait:/) all += value }
  END {
    printf "# programs %d, kernels %d, gaps %d, undecided %.2f %% of the time without a kernel\n", sums["programs "],
      sums["kernels "], sums["gaps "], 100 * sums["undecided_ns "] / sums["gap_ns "]
    printf "# rows of top compared on %d devices; on %d something was late or refused\n", sums["devices_settled "],
      sums["devices_not_settled "]
    printf "# CUPTI clock off or drifting: times wrong by %d ns at worst, %d kernels by more than the clock error\n", worst,
      sums["kernels_beyond_error "]
    for (key in sums)
      if (key ~ /^wait:/) printf "# device waited for, cause given: %s %.2f %%\n", substr(key, 6), 100 * sums[key] / all
  }' "$work/sums" | sort
is "$(awk '$1 == "kernels_beyond_error" { n += $2 } END { print n + 0 }' "$work/sums")" 0 "the clock error covers the clocks"
check_books
done_testing

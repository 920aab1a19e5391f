# shellcheck shell=sh disable=SC2034,SC2154
# tests/gpu/sampled.sh: the sections of run.sh on measured SM-time. Sourced by run.sh; uses its functions.
#
#   WAVETAP_GPU_SAMPLED   modes of truth that `sampled` runs, by name; default all
#   WAVETAP_GPU_CLASSES   launches of each configuration in `classes`; default 8000
#   WAVETAP_GPU_INTERVAL  of sampling; default 50us
#   WAVETAP_GPU_AUTO_N    launches of each shape in `sampled-auto`; default 200000, about 65 s on an H200
#   WAVETAP_GPU_COST_PAIRS, WAVETAP_GPU_COST_S   of `sample-cost`; default 4 times 4 s with and without

SAMPLED_MODES='mix mix-fixed streams graphmix many many-fixed unequal persistent bound long'
TRAIN_B32='eager --batch 32'
interval=${WAVETAP_GPU_INTERVAL:-50us}

# measured_run DIR LOG OPTIONS COMMAND...: under `wavetap run OPTIONS`; OPTIONS is split.
measured_run() {
  measured_dir=$1 measured_log=$2 run_options=$3
  shift 3
  run_observed run "$measured_dir" "$measured_log" "$@"
  measured_rc=$?
  run_options=
  test "$measured_rc" -ne 124 || echo "over its $limit_s s" >>"$measured_log.err"
  return "$measured_rc"
}

# So many launches of each that 2,000 meet plain samples of 50 us: a phase of three seconds or more,
# of which a second and a half may be lost to the stretch with all metrics and the set-ups beside it.
truth_words() {
  case $1 in
    mix | graphmix | graphlead) echo "$1 15000" ;;
    unequal | persistent) echo "$1 10000" ;;
    mix-fixed) echo 'mix 15000 fixed' ;;
    many) echo 'many 700' ;;
    many-fixed) echo 'many 700 300 fixed' ;;
    streams) echo 'streams 4000 5' ;; # rounds of 4,000, for 5 s
    *) echo "$1" ;;
  esac
}

# Seconds that it may take: some three times what it should.
truth_limit_s() {
  case $1 in
    many | many-fixed) echo 120 ;;
    streams) echo 90 ;;
    *) echo 60 ;;
  esac
}

# Nothing lost: every launch of truth's is in the run file.
measured_loss() {
  captured=$(total "$2.out" captured) launched=$(total "$2.out" launched)
  judge "$1" run "loss, $3" "$2.loss" "$python" "$here/reconcile.py" \
    --expect "launches_attempted=$((launched + captured))" \
    --expect "kernels=$((launched + $(total "$2.out" graph_kernels)))" "$2.d"
}

# truth's phases while the device is sampled: active SM-time, straggle and profiles against its blocks.
section_sampled() {
  all_limit_s=$limit_s
  for mode in ${WAVETAP_GPU_SAMPLED:-$SAMPLED_MODES}; do
    has_time sampled "$mode" || continue
    limit_s=$(truth_limit_s "$mode") mode_begun_s=$(date +%s)
    sampled_mode "$mode"
    limit_s=$all_limit_s
    echo "$mode: $(($(date +%s) - mode_begun_s)) s"
  done
  print_rows
}

# The table of all that was sampled so far.
print_rows() {
  test -e "$work/rows" || return
  echo >>"$out/print.txt"
  show "$python" "$here/print_rows.py" "$work/rows"
}

# judge_sampled SECTION WHAT TRUTH LOG [OPTION...]
judge_sampled() {
  sampled_section=$1 sampled_what=$2 sampled_truth=$3 sampled_log=$4
  shift 4
  judge "$sampled_section" run "$sampled_what" "$sampled_log.check-$sampled_what" "$python" "$here/check_measured.py" \
    sampled --row "$work/rows" "$sampled_what" "$@" "$sampled_truth" "$sampled_log.d"
  printf '\n== %s %s\n' "$sampled_section" "$sampled_what" >>"$out/print.txt"
  show cat "$sampled_log.check-$sampled_what.txt"
}

sampled_mode() {
  log=$work/sampled-$1
  TRUTH_COURSE=$log.course
  export TRUTH_COURSE
  # shellcheck disable=SC2046 # words of a command
  measured_run "$log.d" "$log" "--sample $interval" "$build/truth" --tsv $(truth_words "$1")
  sampled_rc=$?
  unset TRUTH_COURSE
  ended sampled "$1" "$log" "$sampled_rc" || return
  measured_loss sampled "$log" "$1"
  if test -e "$log.course"; then
    judge_sampled sampled "$1" "$log.out" "$log" --stretches --course "$log.course"
    gzip -9 -f "$log.course"
  else
    judge_sampled sampled "$1" "$log.out" "$log" --stretches
  fi
}

# --sample auto for longer than it takes until it rests: which intervals it chose, and what came of it.
section_sampled_auto() {
  log=$work/sampled-auto
  measured_run "$log.d" "$log" '--sample auto' "$build/truth" --tsv mix "${WAVETAP_GPU_AUTO_N:-200000}"
  ended sampled-auto run "$log" $? || return
  measured_loss sampled-auto "$log" auto
  judge_sampled sampled-auto auto "$log.out" "$log" --stretches
  show tail -n 3 "$log.err"
  print_rows
}

# A program on each of two devices at once, both sampled.
section_sampled_devices() {
  log=$work/sampled-devices
  if ! CUDA_VISIBLE_DEVICES=1 "$build/truth" device >"$log.second" 2>&1; then
    report sampled-devices run skip "one device: $(tail -n 1 "$log.second")"
    return
  fi
  # shellcheck disable=SC2016 # for that shell
  measured_run "$log.d" "$log" "--sample $interval" sh -c 'CUDA_VISIBLE_DEVICES=0 "$1" --tsv mix 15000 >"$2.0.tsv" &
    first=$!
    CUDA_VISIBLE_DEVICES=1 "$1" --tsv mix 15000 >"$2.1.tsv"
    rc=$?
    wait "$first" && exit "$rc"' sh "$build/truth" "$log"
  ended sampled-devices run "$log" $? || return
  launched=$(($(total "$log.0.tsv" launched) + $(total "$log.1.tsv" launched)))
  judge sampled-devices run 'loss, both' "$log.loss" "$python" "$here/reconcile.py" \
    --expect "launches_attempted=$launched" --expect "kernels=$launched" "$log.d"
  for device in 0 1; do
    judge_sampled sampled-devices "device-$device" "$log.$device.tsv" "$log" --stretches
  done
  print_rows
}

# What each kernel is bound by, against what it was made for; first, what one pass of sampling holds on this chip.
section_classes() {
  log=$work/classes
  "$build/wavetap-sampler" --check 2>&1 | tail -n 2
  measured_run "$log.d" "$log" "--sample $interval" "$build/truth" --tsv classes "${WAVETAP_GPU_CLASSES:-8000}"
  ended classes run "$log" $? || return
  measured_loss classes "$log" classes
  judge classes run class "$log.check" "$python" "$here/check_classes.py" "$log.out" "$log.d"
  cat "$log.check.txt"
  env WAVETAP_DIR="$log.d" "$build/wavetap" top --all --group config \
    --columns rank,lost,wave,time,n,us,grid,tensor,mem,issue,bound,evidence,kernel 2>&1 | head -n 32
}

# The range profiler against the same launches' blocks. The workload takes half a second by itself.
section_profiled() {
  log=$work/profiled
  WAVETAP_PROFILE_SHARE=100 && export WAVETAP_PROFILE_SHARE
  measured_run "$log.d" "$log" '--sample off --profile 20' "$build/truth" --tsv smid
  rc=$?
  unset WAVETAP_PROFILE_SHARE
  ended profiled run "$log" "$rc" || return
  measured_loss profiled "$log" smid
  judge profiled run smid "$log.check" "$python" "$here/check_measured.py" profiled "$log.out" "$log.d"
  cat "$log.check.txt"
}

# What blocks can't see, by the range profiler's counters. Judges nothing; some 40 s.
section_blind() {
  for way in ${WAVETAP_GPU_BLIND:-blocks blocks-traced graph graph-traced mix mix-traced}; do
    log=$work/blind-$way verdict=FAIL
    case $way in
      blocks*) set -- "$way" "$log.raw" ;;
      *) set -- "$way" ;;
    esac
    ! timeout "$limit_s" "$build/blind_probe" "$@" >"$log.out" 2>"$log.err" || verdict=ok
    report blind "$way" "$verdict" "$(wc -l <"$log.out") lines; $(tail -n 1 "$log.err")"
    test ! -e "$log.raw" || gzip -f "$log.raw"
  done
}

# Records beside the range profiler, and what its steps cost. Judges nothing.
section_range_hold() {
  log=$work/range-hold
  verdict=FAIL
  ! "$build/range_probe" hold >"$log.out" 2>&1 || verdict=ok
  report range-hold probe "$verdict" "$(tail -n 1 "$log.out")"
  cat "$log.out"
}

section_train_sampled() {
  log=$work/train-sampled
  # shellcheck disable=SC2086 # words of a command
  measured_run "$log.d" "$log" "--sample $interval" "$python" "$here/train.py" $TRAIN_B32 --steps 400
  ended train-sampled run "$log" $? || return
  judge train-sampled run loss "$log.loss" "$python" "$here/reconcile.py" "$log.d"
  if ! env WAVETAP_DIR="$log.d" "$build/wavetap" ledger --json >"$log.ledger" 2>"$log.why"; then
    report train-sampled run FAIL "ledger: $(tail -n 1 "$log.why")"
    return
  fi
  judge train-sampled run evidence "$log.check" "$python" "$here/check_train.py" sampled "$log.d" \
    --ledger "$log.ledger"
  cat "$log.check.txt"
  env WAVETAP_DIR="$log.d" "$build/wavetap" top 2>&1 | head -n 30
}

section_train_profiled() {
  log=$work/train-profiled
  # shellcheck disable=SC2086 # words of a command
  measured_run "$log.d" "$log" '--sample off --profile 20' "$python" "$here/train.py" $TRAIN_B32 --steps 400
  ended train-profiled run "$log" $? || return
  judge train-profiled run loss "$log.loss" "$python" "$here/reconcile.py" "$log.d"
  set -- "$log.d"
  test ! -d "$work/train-sampled.d" || set -- "$@" --sampled "$work/train-sampled.d"
  judge train-profiled run evidence "$log.check" "$python" "$here/check_train.py" profiled "$@"
  cat "$log.check.txt"
}

# With and without a sampler, in turn beside one process: a launch storm, and a training loop.
section_sample_cost() {
  sample_cost storm "$build/truth" --tsv storm
  # shellcheck disable=SC2086 # words of a command
  sample_cost train "$python" "$here/train.py" $TRAIN_B32 --until-eof
}

# sample_cost NAME COMMAND...
sample_cost() {
  cost_name=$1 log=$work/sample-cost-$1
  has_time sample-cost "$1" || return
  shift
  mkdir -p "$log.d"
  judge sample-cost run "$cost_name" "$log" env WAVETAP_DIR="$log.d" WAVETAP_RUN="cost-$cost_name" timeout "$limit_s" \
    "$python" "$here/sample_cost.py" --pairs "${WAVETAP_GPU_COST_PAIRS:-4}" --seconds "${WAVETAP_GPU_COST_S:-4}" \
    --interval "$interval" --sampler "$build/wavetap-sampler" "$cost_name" \
    "$build/wavetap" run --sample off -- "$@"
  await_daemons sample-cost
  show cat "$log.txt"
}

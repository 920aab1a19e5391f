# shellcheck shell=sh disable=SC2034,SC2154
# tests/gpu/sampled.sh: the sections of run.sh on measured SM-time. Sourced by run.sh; uses its functions.
#
#   WAVETAP_GPU_SAMPLED   modes of truth that `sampled` runs, by name; default all
#   WAVETAP_GPU_INTERVAL  of sampling; default 50us

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
  return "$measured_rc"
}

# So many launches of each that plain sampling sees 2,000 of them, whenever the stretches with all
# metrics come: those are at a wider interval.
truth_words() {
  case $1 in
    mix | graphmix | unequal | persistent | streams) echo "$1 10000" ;;
    mix-fixed) echo 'mix 10000 fixed' ;;
    many) echo 'many 700' ;;
    many-fixed) echo 'many 700 300 fixed' ;;
    *) echo "$1" ;;
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
  for mode in ${WAVETAP_GPU_SAMPLED:-$SAMPLED_MODES}; do
    log=$work/sampled-$mode
    # shellcheck disable=SC2046 # words of a command
    measured_run "$log.d" "$log" "--sample $interval" "$build/truth" --tsv $(truth_words "$mode")
    ended sampled "$mode" "$log" $? || continue
    measured_loss sampled "$log" "$mode"
    judge sampled run "$mode" "$log.check" "$python" "$here/check_measured.py" sampled "$log.out" "$log.d"
    cat "$log.check.txt"
  done
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

# Interleaved pairs, with and without sampling: time per step, SM clock, the sampler's CPU.
section_sample_cost() {
  pair=0
  while test "$pair" -lt "$pairs"; do
    pair=$((pair + 1))
    for sampling in off "$interval"; do
      log=$work/sample-cost-$sampling-$pair
      # shellcheck disable=SC2086 # words of a command
      measured_run "$log.d" "$log" "--sample $sampling" "$python" "$here/train.py" $TRAIN_B32 --steps 200
      ended sample-cost "$sampling" "$log" $? || return
      report sample-cost "$sampling" ok "$(grep '^TRAIN' "$log.out")"
      test "$sampling" = off || "$python" "$here/check_train.py" sampled "$log.d" 2>&1 | grep '^sampler'
    done
  done
  judge sample-cost both 'ms per step, sampled over not' "$work/sample-cost" "$python" "$here/pair_ratio.py" \
    ms_per_step_median "$work/sample-cost-off-%d.out" "$work/sample-cost-$interval-%d.out" "$pairs"
}

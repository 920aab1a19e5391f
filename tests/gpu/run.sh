#!/bin/sh
# tests/gpu/run.sh [SECTION...]: the suite on hardware. Builds nothing.
#
#   WAVETAP_BUILD    folder with libwavetap.so, wavetap, wavetapd, truth, occupancy_matrix (and, if
#                    the machine lacks libraries they need, those in lib/)
#   OUT              where summary.txt, results.tsv, print.txt (tables, as they come) and logs.tar.gz
#                    go; default: a fresh folder in TMPDIR
#   PYTHON           interpreter with PyTorch; default python3
#   WAVETAP_GPU_PAIRS        bare/observed pairs of `cost`; default 5
#   WAVETAP_GPU_LIMIT_S      seconds any one command may take; default 240
#   WAVETAP_GPU_TOTAL_S      no section, and no mode of `sampled`, begins later than so many seconds
#                            after the start; what is left out is reported as skipped
#   WAVETAP_GPU_KEEP_RUNS=1  put the run files into logs.tar.gz, too
#   WAVETAP_GPU_RECORD       the recordings that `record` makes, by name; default all
#   WAVETAP_GPU_TWO          parts of two-gpus; default "ddp fsdp sampled"
#   WAVETAP_GPU_TWO_STEPS    steps of each phase of two-gpus; default 24
#   WAVETAP_GPU_COVER_LIMIT_S  the same for a program of `coverage`; default 120
#
# Sections: occupancy waves tail gaps causes coverage link nvtx eager compile profiler profiler-compile
# preload-vs-run ranks cost sampled sampled-auto sampled-devices classes profiled range-hold blind train-sampled
# train-profiled sample-cost sharing tools tools-torch dataloader sigkill long; all of them by default; and, only if
# named, record: recordings for tests/data into $OUT/recordings, two-gpus: two ranks on two GPUs, one late
# (recordings, too, and the table $OUT/two-gpus.md), and field and field-parts: what watching costs, beside others, and
# what parts of it cost (field.sh). Each workload runs under plain
# LD_PRELOAD= and, but for coverage and link, under `wavetap run --`, each time with a data directory of
# its own; those from `sampled` to `sample-cost` under `wavetap run` with --sample or --profile; those
# from `sharing` on as sharing.sh says.
# README.md says what a section checks.
#
# Exit status: 0 all passed, 1 something failed, 2 usage, 77 no device.
set -u

SECTIONS='occupancy waves tail gaps causes coverage link nvtx eager compile profiler profiler-compile preload-vs-run'
SECTIONS="$SECTIONS ranks cost sampled sampled-auto sampled-devices classes profiled range-hold blind train-sampled train-profiled sample-cost"
SECTIONS="$SECTIONS sharing tools tools-torch dataloader sigkill long"
MORE_SECTIONS='record two-gpus field field-parts'
MODES='preload run'
EMPTY_LAUNCHES=20000
run_options=
here=$(cd "$(dirname "$0")" && pwd) || exit 1
python=${PYTHON:-python3}
limit_s=${WAVETAP_GPU_LIMIT_S:-240}
pairs=${WAVETAP_GPU_PAIRS:-5}
total_s=${WAVETAP_GPU_TOTAL_S:-1000000}
begun_s=$(date +%s)

die() {
  echo "run.sh: $*" >&2
  exit 2
}

# ---- where things are

check_arguments() {
  for section in "$@"; do
    case " $SECTIONS $MORE_SECTIONS " in
      *" $section "*) ;;
      *) die "no section \"$section\"; there are: $SECTIONS $MORE_SECTIONS" ;;
    esac
  done
}

has_device_node() {
  for node in /dev/nvidia[0-9]* /dev/dxg /dev/nvhost-gpu /dev/nvgpu; do
    test -e "$node" && return 0
  done
  return 1
}

find_build() {
  test -n "${WAVETAP_BUILD:-}" || die 'WAVETAP_BUILD is not set: the folder with the programs'
  build=$(cd "$WAVETAP_BUILD" && pwd -P) || exit 2
  export WAVETAP_BUILD="$build"
  for program in libwavetap.so wavetap wavetapd truth occupancy_matrix; do
    test -e "$build/$program" || die "$build/$program is missing"
  done
  if test -d "$build/lib"; then
    LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
  fi
}

# ---- running a command bare or observed
# run_bare LOG COMMAND...; run_observed MODE DIR LOG COMMAND...: stdout to LOG.out, stderr to
# LOG.err; the exit status is the command's. DIR is the data directory.

run_bare() {
  bare_log=$1
  shift
  timeout "$limit_s" "$@" >"$bare_log.out" 2>"$bare_log.err"
}

run_observed() {
  how=$1 dir=$2 observed_log=$3
  shift 3
  mkdir -p "$dir"
  if test "$how" = preload; then
    set -- LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$build/libwavetap.so" "$@"
  else
    # shellcheck disable=SC2086 # options of run, if any: sampled.sh
    set -- "$build/wavetap" run $run_options -- "$@"
  fi
  timeout "$limit_s" env WAVETAP_DIR="$dir" "$@" >"$observed_log.out" 2>"$observed_log.err"
  observed_rc=$?
  await_daemons "$how"
  return "$observed_rc"
}

# Daemons and samplers end by themselves once there is nothing left to do; then the run files are
# complete, and the counters free.
await_daemons() {
  waits=0
  while daemon_runs; do
    waits=$((waits + 1))
    if test "$waits" -gt 600; then
      report daemon "$1" FAIL "wavetapd still runs 60 s after the program ended"
      return
    fi
    sleep 0.1
  done
}

daemon_runs() {
  for link in /proc/[0-9]*/exe; do
    case $(readlink "$link" 2>/dev/null) in
      "$build/wavetapd" | "$build/wavetap-sampler") return 0 ;;
    esac
  done
  return 1
}

# ---- verdicts

# report SECTION MODE VERDICT DETAIL: a row of the closing table.
report() {
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" | tee -a "$out/results.tsv" >>"$work/results.tsv"
  printf '%-16s %-8s %-5s %s\n' "$1" "$2" "$3" "$4"
}

# show COMMAND...: its output here and to print.txt.
show() {
  "$@" 2>&1 | tee -a "$out/print.txt"
}

# has_time SECTION MODE: false, and reported, when the time for all is over.
has_time() {
  test $(($(date +%s) - begun_s)) -lt "$total_s" && return 0
  report "$1" "$2" skip "$total_s s are over (WAVETAP_GPU_TOTAL_S)"
  return 1
}

# judge SECTION MODE WHAT LOG COMMAND...: COMMAND's output to LOG.txt; its exit status decides.
judge() {
  judged=$1 judged_mode=$2 what=$3 findings=$4.txt
  shift 4
  "$@" >"$findings" 2>&1
  judge_rc=$?
  case $judge_rc in
    0) verdict=ok ;;
    77) verdict=skip ;;
    *) verdict=FAIL ;;
  esac
  report "$judged" "$judged_mode" "$verdict" "$what: $(tail -n 1 "$findings")"
  return "$judge_rc"
}

# ended SECTION MODE LOG RC: false, and reported, unless the workload exited with 0.
ended() {
  test "$4" -eq 0 && return 0
  report "$1" "$2" FAIL "workload: exit status $4: $(tail -n 1 "$3.err")"
  return 1
}

# total FILE COLUMN: a number of truth's totals; launched, captured, graph_launches, graph_kernels.
total() {
  awk -F '\t' -v column="$2" '
    $1 == "#total" { for (i = 2; i <= NF; i++) if ($i == column) at = i }
    $1 == "total" { print $at }' "$1"
}

# ---- sections

section_occupancy() {
  judge occupancy - 'calculator against driver' "$work/occupancy" "$build/occupancy_matrix"
}

# truth_section NAME: truth's blocks against the run file, and nothing lost.
truth_section() {
  for mode in $MODES; do
    log=$work/$1-$mode
    run_observed "$mode" "$log.d" "$log" "$build/truth" --tsv "$1"
    ended "$1" "$mode" "$log" $? || continue
    launched=$(total "$log.out" launched)
    judge "$1" "$mode" loss "$log.loss" "$python" "$here/reconcile.py" \
      --expect "launches_attempted=$launched" --expect "kernels=$launched" "$log.d"
    judge "$1" "$mode" truth "$log.check" "$python" "$here/check_truth.py" "$log.out" "$log.d"
  done
}

# Time without a kernel, planted cause by cause, must be found in its cause.
section_gaps() {
  log=$work/gaps
  run_observed preload "$log.d" "$log" "$build/app_gaps" --dependency
  ended gaps preload "$log" $? || return
  for reader in 'gaps --all --by kernel --csv' 'ledger --all --json'; do
    # shellcheck disable=SC2086 # words of a command
    if ! env WAVETAP_DIR="$log.d" "$build/wavetap" $reader >"$log.${reader%% *}" 2>"$log.why"; then
      report gaps preload FAIL "$reader: $(tail -n 1 "$log.why")"
      return
    fi
  done
  judge gaps preload causes "$log.check" "$python" "$here/check_gaps.py" "$log.out" "$log.gaps" \
    "$log.ledger"
  judge gaps preload findings "$log.findings" "$python" "$here/causes_check.py" "$build/wavetap" \
    "$log.out" "$log.d"
  judge gaps preload loss "$log.loss" "$python" "$here/reconcile.py" "$log.d"
  cat "$log.check.txt" "$log.findings.txt"
}

# Programs in which one cause dominates: diagnose must name it first.
section_causes() {
  causes_of torch "$python" "$here/causes.py"
  causes_of native "$build/causes_native"
}

# causes_of NAME COMMAND...: the program observed, and each of its parts judged.
causes_of() {
  log=$work/causes-$1 which=$1
  shift
  run_observed preload "$log.d" "$log" "$@"
  ended causes "$which" "$log" $? || return
  judge causes "$which" causes "$log.check" "$python" "$here/causes_check.py" "$build/wavetap" \
    "$log.out" "$log.d"
  cat "$log.check.txt"
  judge causes "$which" loss "$log.loss" "$python" "$here/reconcile.py" "$log.d"
}

# train_section NAME ARGUMENT...: train.py bare and observed: same work, nothing lost.
train_section() {
  name=$1
  shift
  bare=$work/$name-bare
  run_bare "$bare" "$python" "$here/train.py" "$@"
  ended "$name" bare "$bare" $? || return
  report "$name" bare ok "$(grep '^TRAIN' "$bare.out")"
  for mode in $MODES; do
    log=$work/$name-$mode
    run_observed "$mode" "$log.d" "$log" "$python" "$here/train.py" "$@"
    ended "$name" "$mode" "$log" $? || continue
    judge "$name" "$mode" 'same as bare' "$log.same" "$python" "$here/compare_train.py" \
      "$bare.out" "$log.out"
    judge "$name" "$mode" loss "$log.loss" "$python" "$here/reconcile.py" "$log.d"
    env WAVETAP_DIR="$log.d" "$build/wavetap" top >"$log.top.txt" 2>&1 ||
      report "$name" "$mode" FAIL "wavetap top: $(tail -n 1 "$log.top.txt")"
  done
}

# Both ways of starting must see the same launches and leave the program alone.
section_preload_vs_run() {
  for mode in $MODES; do
    log=$work/both-$mode
    run_observed "$mode" "$log.d" "$log" "$python" "$here/train.py" eager --steps 20
    ended preload-vs-run "$mode" "$log" $? || return
    "$python" "$here/reconcile.py" --tsv "$log.d" 2>&1 | cut -f 2- >"$log.counts"
    run_observed "$mode" "$log-exit.d" "$log-exit" "$python" -c 'raise SystemExit(7)'
    rc=$?
    test "$rc" -eq 7 && verdict=ok || verdict=FAIL
    report preload-vs-run "$mode" "$verdict" "exit status of a program that ends with 7: $rc"
  done
  judge preload-vs-run both 'same counts' "$work/both" \
    same_file "$work/both-preload.counts" "$work/both-run.counts"
  judge preload-vs-run preload 'words of ours on stdout or stderr' "$work/both-silent" \
    without_line '^wavetap|libwavetap' "$work/both-preload.out" "$work/both-preload.err"
}

same_file() {
  diff "$1" "$2" && echo "$(($(wc -l <"$1") - 1)) processes, all columns equal"
}

without_line() {
  pattern=$1
  shift
  ! grep -E "$pattern" "$@" && echo none
}

# Two ranks of one job on one GPU: one run file, each process accounted for, both as without wavetap.
section_ranks() {
  bare=$work/ranks-bare
  run_ranks run_bare "$bare"
  ended ranks bare "$bare" $? || return
  for mode in $MODES; do
    log=$work/ranks-$mode
    run_ranks run_observed "$mode" "$log.d" "$log"
    ended ranks "$mode" "$log" $? || continue
    judge ranks "$mode" 'same as bare' "$log.same" same_ranks "$bare.out" "$log.out"
    judge ranks "$mode" ranks "$log.ranks" "$python" "$here/ranks.py" check "$log.d"
    judge ranks "$mode" loss "$log.loss" "$python" "$here/reconcile.py" "$log.d"
    env WAVETAP_DIR="$log.d" "$build/wavetap" top --group rank >"$log.top.txt" 2>&1 ||
      report ranks "$mode" FAIL "wavetap top --group rank: $(tail -n 1 "$log.top.txt")"
  done
}

# run_ranks RUNNER ARGUMENT...: torchrun by its module, so that it is of the same Python.
run_ranks() {
  "$@" "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$here/ranks.py" work
}

# Each line of a rank, in whatever order they came.
same_ranks() {
  grep '^RANKS' "$1" | sort >"$2.bare"
  grep '^RANKS' "$2" | sort | diff "$2.bare" - && echo "$(wc -l <"$2.bare") ranks, losses and weights equal"
}

# cost_of COMMAND ARGUMENT...: interleaved pairs of one sub-command of truth.
cost_of() {
  files='' pair=0
  while test "$pair" -lt "$pairs"; do
    pair=$((pair + 1))
    bare=$work/cost-$1-bare-$pair log=$work/cost-$1-preload-$pair
    run_bare "$bare" "$build/truth" --tsv "$@"
    ended cost bare "$bare" $? || return
    run_observed preload "$log.d" "$log" "$build/truth" --tsv "$@"
    ended cost preload "$log" $? || return
    "$python" "$here/reconcile.py" "$log.d" >"$log.loss.txt" 2>&1 ||
      report cost preload FAIL "loss, pair $pair of $1: $(tail -n 1 "$log.loss.txt")"
    rm -rf "$log.d"
    files="$files $bare.out $log.out"
  done
  # shellcheck disable=SC2086 # names without spaces, made above
  judge cost preload "$1" "$work/cost-$1" "$python" "$here/cost_table.py" $files
  cat "$work/cost-$1.txt"
}

# Named ranges of torch.cuda.nvtx are the program's, and without wavetap nobody listens.
section_nvtx() {
  bare=$work/nvtx-bare
  run_bare "$bare" "$python" "$here/cover/cover_nvtx.py"
  ended nvtx bare "$bare" $? || return
  report nvtx bare ok "$(grep '^returned' "$bare.out")"
  judge nvtx bare 'nobody listens without wavetap' "$bare.heard" grep -c '^returned \[-2, -2, -2, -2\]' "$bare.out"
  for mode in $MODES; do
    log=$work/nvtx-$mode
    run_observed "$mode" "$log.d" "$log" "$python" "$here/cover/cover_nvtx.py"
    ended nvtx "$mode" "$log" $? || continue
    judge nvtx "$mode" ranges "$log.ranges" "$python" "$here/check_ranges.py" "$log.out" "$log.d"
    cat "$log.ranges.txt"
    judge nvtx "$mode" loss "$log.loss" "$python" "$here/reconcile.py" "$log.d"
    for reader in ranges 'ranges --any-thread' 'top --range any:backward' 'steps --step-marker step'; do
      # shellcheck disable=SC2086 # words of a command
      env WAVETAP_DIR="$log.d" "$build/wavetap" $reader >"$log.read.txt" 2>&1 ||
        report nvtx "$mode" FAIL "wavetap $reader: $(tail -n 1 "$log.read.txt")"
      test "$mode" = run || cat "$log.read.txt"
    done
  done
  # NVIDIA's libraries have ranges, too, once somebody listens: what that costs a training step, and which.
  for pair in 1 2 3; do
    for heard in 0 1; do
      log=$work/nvtx-train-$heard-$pair
      run_observed preload "$log.d" "$log" env WAVETAP_NVTX="$heard" "$python" "$here/train.py" eager --steps 60
      ended nvtx "heard=$heard" "$log" $? || return
      report nvtx "heard=$heard" ok "$(grep '^TRAIN' "$log.out" | tail -n 1)"
    done
  done
  env WAVETAP_DIR="$log.d" "$build/wavetap" ranges --by count 2>&1 | head -n 30
  # Another injection is left alone.
  log=$work/nvtx-other
  run_observed preload "$log.d" "$log" env NVTX_INJECTION64_PATH=/nonexistent/tool.so "$python" \
    "$here/cover/cover_nvtx.py"
  ended nvtx other "$log" $? || return
  judge nvtx other 'nobody listens where another tool was named' "$log.heard" \
    grep -c '^returned \[-2, -2, -2, -2\]' "$log.out"
}

. "$here/coverage.sh"
. "$here/record.sh"
. "$here/sampled.sh"
. "$here/two_gpus.sh"
. "$here/sharing.sh"
. "$here/field.sh"

run_section() {
  case $1 in
    occupancy) section_occupancy ;;
    waves | tail) truth_section "$1" ;;
    gaps) section_gaps ;;
    causes) section_causes ;;
    coverage) section_coverage ;;
    link) section_link ;;
    nvtx) section_nvtx ;;
    eager) train_section eager eager ;;
    compile) train_section compile compile ;;
    profiler) train_section profiler eager --steps 60 --profiler 3 ;;
    profiler-compile)
      train_section profiler-compile compile --steps 60 --profiler 3 --attach-first
      ;;
    preload-vs-run) section_preload_vs_run ;;
    ranks) section_ranks ;;
    record) section_record ;;
    two-gpus) section_two_gpus ;;
    field) section_field ;;
    field-parts) section_field_parts ;;
    sampled) section_sampled ;;
    sampled-auto) section_sampled_auto ;;
    sampled-devices) section_sampled_devices ;;
    classes) section_classes ;;
    profiled) section_profiled ;;
    range-hold) section_range_hold ;;
    blind) section_blind ;;
    train-sampled) section_train_sampled ;;
    train-profiled) section_train_profiled ;;
    sample-cost) section_sample_cost ;;
    sharing) section_sharing ;;
    tools) guest tools 'as without wavetap' tools.py cuda ;;
    tools-torch) guest tools-torch 'as without wavetap' tools.py torch ;;
    dataloader | sigkill) guest "$1" 'as without wavetap' workers.py "$1" ;;
    long) section_long ;;
    cost) cost_of empty "$EMPTY_LAUNCHES" && cost_of graph ;;
  esac
}

# ---- the whole

segments() {
  find /dev/shm -maxdepth 1 -name "wavetap-$(id -u)-*.seg" 2>/dev/null | sort
}

same_segments() {
  comm -13 "$1" "$2"
  test "$(comm -13 "$1" "$2" | wc -l)" -eq 0 && echo none
}

finish() {
  {
    "$build/truth" device
    awk -F '\t' '{ printf "%-16s %-8s %-5s %s\n", $1, $2, $3, $4 }' "$work/results.tsv"
    awk -F '\t' '{ n[$3]++ }
      END { printf "%d passed, %d failed, %d skipped\n", n["ok"], n["FAIL"], n["skip"] }' \
      "$work/results.tsv"
  } >"$out/summary.txt"
  test "${WAVETAP_GPU_KEEP_RUNS:-0}" = 1 || rm -rf "$work"/*.d
  tar -C "$work" -czf "$out/logs.tar.gz" .
  rm -rf "$work"
  echo
  cat "$out/summary.txt"
  echo "logs: $out/logs.tar.gz"
}

check_arguments "$@"
test -n "${WAVETAP_BUILD:-}" || has_device_node || {
  echo 'run.sh: no CUDA device: skipped' >&2
  exit 77
}
find_build
"$build/truth" device
rc=$?
test "$rc" -eq 0 || exit "$rc"
work=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-gpu.XXXXXX") || exit 1
out=${OUT:-$(mktemp -d "${TMPDIR:-/tmp}/wavetap-gpu-out.XXXXXX")}
mkdir -p "$out" || exit 1
: >"$work/results.tsv"
: >"$out/results.tsv"
: >"$out/print.txt"
segments >"$work/segments.before"
# shellcheck disable=SC2086 # a list of names
test $# -gt 0 || set -- $SECTIONS
for selected in "$@"; do
  has_time "$selected" - || continue
  echo "== $selected"
  run_section "$selected"
done
segments >"$work/segments.after"
judge shm all 'segments left behind' "$work/segments" \
  same_segments "$work/segments.before" "$work/segments.after"
finish
! grep -q '^[^ ]* *[^ ]* *FAIL ' "$out/summary.txt"

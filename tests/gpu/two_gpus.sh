# two_gpus.sh - section `two-gpus` of run.sh: sourced by it, uses its functions.
# shellcheck shell=sh disable=SC2034,SC2154

# Multicast over NVLink may hang or be refused where GPUs are shared out. two_gpus.py sets them, too.
NCCL_NVLS_ENABLE=0
TORCH_SYMM_MEM_DISABLE_MULTICAST=1
NVSHMEM_DISABLE_NVLS=1
export NCCL_NVLS_ENABLE TORCH_SYMM_MEM_DISABLE_MULTICAST NVSHMEM_DISABLE_NVLS

# Two ranks on two GPUs, one of them late in three ways: data parallel, fully sharded, and once with both devices sampled;
# or what of these WAVETAP_GPU_TWO names.
section_two_gpus() {
  if test "$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' | wc -l)" -lt 2; then
    report two-gpus - skip 'needs two GPUs'
    return
  fi
  two_table=$work/two-gpus.md
  recordings=$(mktemp -d "$work/two-gpus.XXXXXX") || return
  for part in ${WAVETAP_GPU_TWO:-ddp fsdp sampled}; do
    case $part in
      ddp | fsdp) two_gpus_pair "$part" ;;
      sampled) two_gpus_sampled ddp ;;
      *) report two-gpus - FAIL "no part $part; there are: ddp fsdp sampled" ;;
    esac
  done
  test ! -e "$two_table" || cat "$two_table"
  if test -n "${OUT:-}"; then
    mkdir -p "$OUT/recordings" && cp "$recordings"/* "$OUT/recordings/"
    test ! -e "$two_table" || cp "$two_table" "$OUT/two-gpus.md"
  fi
}

# run_two TRAINING RUNNER ARGUMENT...
run_two() {
  which=$1
  shift
  "$@" "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$here/two_gpus.py" "$which" \
    --steps "${WAVETAP_GPU_TWO_STEPS:-24}"
}

# two_gpus_judge TRAINING MODE LOG BARE: what wavetap says of a finished run, beside one without wavetap, if there was one.
two_gpus_judge() {
  if test -e "$4.out"; then
    judge two-gpus "$2" "$1: same as bare" "$3.same" "$python" "$here/two_gpus_check.py" same "$4.out" "$3.out"
    cat "$3.same.txt"
  else
    report two-gpus "$2" skip "$1: same as bare: not run without wavetap"
  fi
  judge two-gpus "$2" "$1: loss" "$3.loss" "$python" "$here/reconcile.py" "$3.d"
  judge two-gpus "$2" "$1: late" "$3.late" "$python" "$here/two_gpus_check.py" late "$build/wavetap" "$3.out" "$3.d" \
    --table "$two_table" --label "$1, $2"
  cat "$3.late.txt"
  judge two-gpus "$2" "$1: ledger" "$3.ledger" "$python" "$here/two_gpus_check.py" ledger "$build/wavetap" "$3.out" "$3.d"
  cat "$3.ledger.txt"
  env WAVETAP_DIR="$3.d" "$build/wavetap" ranks 2>&1
}

# Without wavetap and under plain preloading, which also records.
two_gpus_pair() {
  bare=$work/two-gpus-$1-bare log=$work/two-gpus-$1-preload
  run_two "$1" run_bare "$bare"
  ended two-gpus bare "$bare" $? || return
  run_two "$1" run_observed preload "$log.d" "$log" env WAVETAP_RECORD="$log.r"
  ended two-gpus preload "$log" $? || return
  two_gpus_judge "$1" preload "$log" "$bare"
  two_gpus_record "$1" "$log"
}

# The recordings, each under 1 MiB, together give what the live run gave.
two_gpus_record() {
  rank=0
  for file in "$2.r"/*.wtrec; do
    if test -x "$build/strip_recording"; then
      "$build/strip_recording" "$file" "$recordings/late-$1-rank$rank.wtrec" gpu || return
    else
      cp "$file" "$recordings/late-$1-rank$rank.wtrec"
    fi
    bytes=$(wc -c <"$recordings/late-$1-rank$rank.wtrec")
    test "$bytes" -lt "$RECORDING_BYTES_MAX" && verdict=ok || verdict=FAIL
    report two-gpus preload "$verdict" "$1: recording $rank: $bytes bytes"
    rank=$((rank + 1))
  done
  grep '^PHASE' "$2.out" >"$recordings/late-$1.phases"
  judge two-gpus preload "$1: imported" "$2.import" "$build/wavetap" import -o "$2.db" "$recordings/late-$1"-rank*.wtrec || return
  judge two-gpus preload "$1: late, imported" "$2.late2" "$python" "$here/two_gpus_check.py" late "$build/wavetap" \
    "$recordings/late-$1.phases" "$2.db"
}

# Both GPUs sampled.
two_gpus_sampled() {
  log=$work/two-gpus-$1-sampled
  run_options="--sample $interval"
  run_two "$1" run_observed run "$log.d" "$log"
  rc=$?
  run_options=
  ended two-gpus run "$log" "$rc" || return
  judge two-gpus run "$1: samples" "$log.samples" "$python" "$here/two_gpus_check.py" samplers "$log.d"
  cat "$log.samples.txt"
  two_gpus_judge "$1" run "$log" "$work/two-gpus-$1-bare"
}

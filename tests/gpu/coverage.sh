# coverage.sh - the sections `coverage` and `link` of run.sh, which sources this file (POSIX sh).
# shellcheck shell=sh disable=SC2154 # work, here, build, python: run.sh's
#
# `coverage` runs one small program per framework and feature, each under plain LD_PRELOAD= and as a
# run with a name, all into one data directory; six at a time, since nothing of it is about speed.
# coverage.py then makes the table. A program ends with 77 where something is not there.

COVER_LIMIT_S=${WAVETAP_GPU_COVER_LIMIT_S:-120}
COVER_AT_ONCE=6

# cover NAME COMMAND...: in the background.
cover() {
  cover_with "$1" LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$build/libwavetap.so" "$@"
}

# cover_with NAME VARIABLE=VALUE NAME COMMAND...
cover_with() {
  variable=$2
  shift 2
  row=$1 row_log=$work/cover-$1
  shift
  {
    timeout "$COVER_LIMIT_S" env WAVETAP_DIR="$work/coverage.d" WAVETAP_RUN="coverage-$row" WAVETAP_NAME="$row" \
      "$variable" "$@" >"$row_log.out" 2>"$row_log.err"
    echo "$?" >"$row_log.rc"
  } &
  printf '%s\n' "$row" >>"$work/coverage.names"
  cover_running=$((cover_running + 1))
  if test "$cover_running" -ge "$COVER_AT_ONCE"; then
    wait
    cover_running=0
  fi
}

cover_python() { # NAME [VARIABLE=VALUE] SCRIPT ARGUMENT...
  name=$1 setting=COVER=1
  shift
  case $1 in *=*) setting=$1 && shift ;; esac
  script=$here/cover/$1
  shift
  cover "$name" env "$setting" "$python" "$script" "$@"
}

cover_all() {
  cover_running=0
  # The slow ones first.
  cover_python torch-libraries cover_torch.py libraries
  cover_python torch-nccl cover_torch.py nccl
  cover_python triton-add cover_triton.py add
  cover_python triton-autotune cover_triton.py autotune
  export XLA_PYTHON_CLIENT_PREALLOCATE=false
  cover_python jax cover_jax.py
  cover_python jax-command-buffers \
    "XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUDNN --xla_gpu_graph_min_graph_size=1" cover_jax.py
  cover_python jax-no-command-buffers XLA_FLAGS=--xla_gpu_enable_command_buffer= cover_jax.py
  cover_python cupy cover_cupy.py
  cover_python cupy-per-thread CUPY_CUDA_PER_THREAD_DEFAULT_STREAM=1 cover_cupy.py
  cover_python numba cover_numba.py
  for feature in launch streams threads contexts cooperative cluster capture explicit child if while params \
    update; do
    cover "runtime-$feature" "$build/cover_static" "$feature"
  done
  for feature in launch threads capture; do
    cover "shared-runtime-$feature" "$build/cover_shared" "$feature"
    cover "per-thread-$feature" "$build/cover_ptds" "$feature"
  done
  for feature in dynamic device-graph; do
    cover "device-$feature" "$build/cover_device" "$feature"
  done
  for how in dlsym getproc getproc_v2 ptsz; do
    cover "driver-$how" "$build/app_launch" --how "$how" --launches 400 --threads 4 --streams 3 --kind mix --graph 6
  done
  cover driver-linked "$build/app_launch_link" --how link --launches 400 --threads 4 --streams 3 --kind mix --graph 6
  for feature in clusters children updates contexts greens green-first threads streams; do
    cover "driver-$feature" "$build/app_cover" "$feature"
  done
  cover_with injection CUDA_INJECTION64_PATH="$build/libwavetap.so" injection "$build/cover_static" launch
  cover_with injection-graphs CUDA_INJECTION64_PATH="$build/libwavetap.so" injection-graphs "$build/cover_static" capture
  cover_with injection-driver CUDA_INJECTION64_PATH="$build/libwavetap.so" injection-driver "$build/app_launch" \
    --launches 400 --threads 4 --graph 6
  cover both-doors env CUDA_INJECTION64_PATH="$build/libwavetap.so" "$build/cover_static" launch
  wait
}

section_coverage() {
  : >"$work/coverage.names"
  mkdir -p "$work/coverage.d"
  cover_all
  await_daemons preload
  while read -r name; do
    printf '%s\t%s\t%s\n' "$name" "$(cat "$work/cover-$name.rc")" "$work/cover-$name.out"
  done <"$work/coverage.names" >"$work/coverage.rows"
  judge coverage preload programs "$work/coverage" "$python" "$here/coverage.py" "$work/coverage.rows" \
    "$work/coverage.d"
  cat "$work/coverage.txt"
  # What failed says why here, since the logs may not be at hand.
  while read -r name; do
    case $(cat "$work/cover-$name.rc") in
      0 | 77) ;;
      *)
        echo "-- $name:"
        tail -n 3 "$work/cover-$name.err"
        ;;
    esac
  done <"$work/coverage.names"
}

section_link() {
  log=$work/link
  run_observed preload "$log.d" "$log" "$build/link_truth" 8 20000
  ended link preload "$log" $? || return
  judge link preload loss "$log.loss" "$python" "$here/reconcile.py" \
    --expect launches_attempted=160000 --expect kernels=160000 "$log.d"
  judge link preload 'the right call' "$log.check" "$python" "$here/check_links.py" "$log.out" "$log.d"
  cat "$log.check.txt"
}

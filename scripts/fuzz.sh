#!/bin/sh
# scripts/fuzz.sh [BUILD-FOLDER [TARGET...]] (make fuzz): runs the targets of tests/fuzz under libFuzzer
# with ASan and UBSan, one after the other, each for FUZZ_SECONDS of CPU time (default 60), however
# long that takes beside other work. Needs clang.
# What is learned stays in BUILD-FOLDER/found/TARGET and is used by the next run; an input that
# shows a fault lies in BUILD-FOLDER/faults/, and belongs into tests/fuzz/regress/TARGET.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-build/fuzz}
[ $# -gt 0 ] && shift
case $folder in /*) ;; *) folder=$top/$folder ;; esac
command -v "${FUZZ_CC:-clang}" >/dev/null 2>&1 || {
  echo "fuzz: clang is not installed (Debian: apt-get install clang)" >&2
  exit 1
}
[ -x "$top/configure" ] || (cd "$top" && autoreconf -fi >/dev/null 2>&1)
mkdir -p "$folder/faults"
cd "$folder"
[ -f Makefile ] || "$top/configure" -q CC="${FUZZ_CC:-clang}" CFLAGS='-g -O1' --enable-fuzz >configure.out 2>&1 || {
  cat configure.out >&2
  exit 1
}
make -s -j"$(nproc 2>/dev/null || echo 2)" fuzz-targets >make.out 2>&1 || {
  cat make.out >&2
  exit 1
}
export top_srcdir="$top" top_builddir="$folder"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
if [ $# -eq 0 ]; then
  for file in "$top"/tests/fuzz/fuzz_*.c; do
    name=$(basename "$file" .c)
    [ "$name" = fuzz_util ] || set -- "$@" "${name#fuzz_}"
  done
fi
# CPU seconds that a process had so far; nothing when it has ended.
cpu_s() {
  sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | awk -v hz="$(getconf CLK_TCK)" '{ printf "%d\n", ($12 + $13) / hz }'
}
# Ends a target after its time, as libFuzzer ends by itself, and waits for it: gives its exit code.
wait_cpu() { # PID: leaves spent_s
  spent_s=0
  while now_s=$(cpu_s "$1") && [ -n "$now_s" ] && [ -e "/proc/$1/exe" ]; do
    spent_s=$now_s
    [ "$spent_s" -lt "${FUZZ_SECONDS:-60}" ] || kill -USR1 "$1" 2>/dev/null || true
    sleep 1
  done
  wait "$1"
}
rc=0
for name in "$@"; do
  mkdir -p "found/$name" "$top/tests/fuzz/regress"
  set -- "$folder/found/$name"
  for kept in "$top/tests/fuzz/corpus/$name" "$top/tests/fuzz/regress/$name"; do
    [ ! -d "$kept" ] || set -- "$@" "$kept"
  done
  dictionary=
  [ ! -f "$top/tests/fuzz/$name.dict" ] || dictionary=-dict=$top/tests/fuzz/$name.dict
  # Bus errors are the daemon's own to catch.
  # shellcheck disable=SC2086 # perhaps nothing
  tests/fuzz/fuzz_"$name" -timeout="${FUZZ_TIMEOUT_S:-60}" -max_len=4096 \
    -handle_bus=0 -close_fd_mask=3 -rss_limit_mb=3000 -print_final_stats=1 $dictionary \
    -artifact_prefix="$folder/faults/$name-" "$@" >"$name.log" 2>&1 &
  if wait_cpu $!; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$name.log") inputs, $(
      grep -o 'cov: [0-9]*' "$name.log" | tail -n 1), $spent_s CPU s, no fault"
  else
    rc=1
    echo "$name: FAULT, see $folder/$name.log"
    grep -E '^(==|SUMMARY|.*(runtime error|does not hold|Test unit))' "$name.log" | tail -n 5
  fi
done
exit "$rc"

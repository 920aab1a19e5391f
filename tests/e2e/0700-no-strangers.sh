#!/bin/sh
# A program can't tell that it is observed: output, return code, ends by a signal, children, signals,
# environment, limits, what /proc tells, and the order in which its kernels reach the device are those without
# wavetap. Its descriptors and threads are those of a program that uses CUPTI itself, and one thread of ours.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_guest
export WAVETAP_RUN=guest
# guest HOW ARGUMENT...: HOW is bare or tap; always the same paths, which the program may look at.
guest() {
  how=$1
  shift
  rm -f "$work/truth"
  WTFAKE_TRUTH=$work/truth "$how" "$app" "$@" >"$work/out" 2>"$work/err" </dev/null
  echo "$?" >"$work/$how.code"
  for file in out err truth; do
    mv "$work/$file" "$work/$how.$file"
  done
  grep -E '^(fd|thread) ' "$work/$how.out" >"$work/$how.things"
  grep -vE '^(fd|thread) ' "$work/$how.out" >"$work/$how.facts"
}
order() { # as the device saw it
  sed 's/.*"stream": *\([0-9]*\).*"grid": *\(\[[^]]*\]\).*/\1 \2/; s/.*"grid": *\(\[[^]]*\]\).*"stream": *\([0-9]*\).*/\2 \1/' "$1"
}

guest bare cupti
is "$(cat "$work/bare.code")" 3 "a program that uses CUPTI itself"
mv "$work/bare.things" "$work/client.things"
guest bare
is "$(cat "$work/bare.code")" 3 "without wavetap"
guest tap
is "$(cat "$work/tap.code")|$(cat "$work/tap.err")" "3|$(cat "$work/bare.err")" "with wavetap: return code and errors"
is "$(cat "$work/tap.facts")" "$(cat "$work/bare.facts")" "the same facts"
sed 's/^/# /' "$work/tap.out"
is "$(grep -c . "$work/tap.truth")" 300 "the device saw all kernels"
is "$(order "$work/tap.truth")" "$(order "$work/bare.truth")" "in the same order"
ok "and the order tells: grids of many sizes, two streams" test "$(order "$work/tap.truth" | sort -u | wc -l)" -gt 100
is "$(grep -v '^thread wavetap$' "$work/tap.things")" "$(cat "$work/client.things")" "descriptors and threads are those of a client of CUPTI"
is "$(grep -c '^thread wavetap$' "$work/tap.things")" 1 "and one thread"

# Ends by a signal: what the parent is told.
# shellcheck disable=SC3045 # dash and bash both know it
ulimit -c 0
for signal in 2 6 9 10 11 13 15; do
  guest bare end=$signal
  guest tap end=$signal
  is "$(cat "$work/tap.code")|$(cat "$work/tap.facts")" "$(cat "$work/bare.code")|$(cat "$work/bare.facts")" "an end by signal $signal: the same"
  is "$(cat "$work/tap.code")" $((128 + signal)) "and it is that"
done
settle
is "$(sql "SELECT count(*), sum(launches_stored), sum(unexplained) FROM loss")" "8|2400|0" "it was observed"
check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

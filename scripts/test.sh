#!/bin/sh
# Runs the whole test suite and ends with one line: N passed, N failed, N skipped.
#
#   scripts/test.sh [BUILD-FOLDER [configure options]]
#
# WT_TESTS="tests/unit/test_ring ..." chooses some. Without it, a test that tests/HAZARDS.md names and
# that neither ran nor was skipped with a reason counts as failed.
#
# Needs neither a GPU nor a CUDA toolkit: the GPU is simulated (tests/fake/). Installs what is
# missing (as root or with sudo). Tests that can't run here are skipped, each with its reason.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-build}
[ $# -gt 0 ] && shift
case $folder in /*) ;; *) folder=$top/$folder ;; esac

"$top/scripts/install-deps.sh" --cross
"$top/scripts/build.sh" "$folder" "$@"

cd "$folder"
# Sanitizers write into files here: a report fails the run whoever read that program's output.
rm -rf sanitizer-reports
mkdir sanitizer-reports
for tool in ASAN UBSAN TSAN LSAN; do
  eval "export ${tool}_OPTIONS=\"\${${tool}_OPTIONS:+\$${tool}_OPTIONS:}log_path=\$folder/sanitizer-reports/\$tool\""
done
echo "running the tests (some minutes) ..."
find tests -name '*.trs' -delete 2>/dev/null || true
rc=0
# Most tests wait for programs and daemons for much of their time: two a CPU.
jobs=$((2 * $(nproc 2>/dev/null || echo 2)))
make -s -k -j"$jobs" check VERBOSE="${CI:+1}" ${WT_TESTS:+"TESTS=$WT_TESTS"} >check.out 2>&1 || rc=$?

if [ ! -f test-suite.log ]; then
  tail -n 60 check.out >&2
  echo "the tests did not run"
  exit 1
fi
# What failed and what was printed with it, skips with their reason, then the count.
failures() {
  sed -n '/^\(FAIL\|ERROR\): [^ ]*$/,$p' test-suite.log |
    grep -vE '^(PASS: |SKIP: |ok |not ok |1\.\.|=+$|$)' | tail -n 200
}
# A few tests that failed beside others run again, alone. Those that pass then are named: what they
# could not stand is a busy machine, and that is a defect of theirs, not one to refuse a change for.
failed=$(find tests -name '*.trs' -exec grep -lE '^:test-result: (FAIL|XPASS|ERROR)' {} + | sed 's/\.trs$//' | sort)
if [ "$rc" != 0 ]; then
  failures
  count=$(echo "$failed" | grep -c . || true)
  if [ "$count" -gt 0 ] && [ "$count" -le 4 ]; then
    cp test-suite.log test-suite.first.log
    again=
    for name in $failed; do
      [ ! -f "$top/$name.sh" ] || name=$name.sh
      again="$again $name"
    done
    echo "again, alone:$again"
    rc=0
    make -s -k check VERBOSE="${CI:+1}" TESTS="$again" >again.out 2>&1 || rc=$?
    if [ "$rc" = 0 ]; then
      echo "FAILED BESIDE OTHERS, PASSED ALONE:$again (test-suite.first.log)"
    else
      failures
    fi
  fi
  [ "$rc" = 0 ] || echo "in full: $folder/test-suite.log"
fi
for report in sanitizer-reports/*; do
  # Not remarks: ASan warns of a stack that is not the thread's own where the daemon is started.
  grep -qsE '(ERROR|WARNING): [A-Za-z]*Sanitizer|SUMMARY|runtime error' "$report" || continue
  echo "$report:"
  head -n 60 "$report"
  rc=1
done
grep -hE '^SKIP:' check.out | sort -u || true
# Of the whole suite: what tests/HAZARDS.md counts on has to have run.
missing=0
if [ -z "${WT_TESTS:-}" ] && ! grep -q '^WT_PROGRAMS_TRUE = #' Makefile; then
  sh "$top/scripts/hazards.sh" not-run "$top/tests/HAZARDS.md" check.out | sed 's/^/named in tests\/HAZARDS.md, and did not run: /' >not-run.out
  cat not-run.out
  missing=$(wc -l <not-run.out)
fi
find tests -name '*.trs' -exec cat {} + | awk -v missing="$missing" '
  $1 == ":test-result:" { count[$2]++ }
  END { fail = count["FAIL"] + count["XPASS"] + count["ERROR"] + missing
    pass = count["PASS"] + count["XFAIL"]
    printf "%d passed, %d failed, %d skipped\n", pass, fail, count["SKIP"]; exit fail > 0 || pass == 0 }
' || rc=1
exit "$rc"

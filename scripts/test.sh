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
rc=0
make -s -k -j"$(nproc 2>/dev/null || echo 2)" check VERBOSE="${CI:+1}" ${WT_TESTS:+"TESTS=$WT_TESTS"} >check.out 2>&1 || rc=$?

if [ ! -f test-suite.log ]; then
  tail -n 60 check.out >&2
  echo "the tests did not run"
  exit 1
fi
# What failed and what was printed with it, skips with their reason, then the count.
[ "$rc" = 0 ] || {
  sed -n '/^\(FAIL\|ERROR\): [^ ]*$/,$p' test-suite.log |
    grep -vE '^(PASS: |SKIP: |ok |not ok |1\.\.|=+$|$)' | tail -n 200
  echo "in full: $folder/test-suite.log"
}
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
awk -v missing="$missing" '
  /^# PASS:/ { pass += $3 } /^# XFAIL:/ { pass += $3 } /^# SKIP:/ { skip += $3 }
  /^# FAIL:/ { fail += $3 } /^# XPASS:/ { fail += $3 } /^# ERROR:/ { fail += $3 }
  END { fail += missing; printf "%d passed, %d failed, %d skipped\n", pass, fail, skip; exit fail > 0 || pass == 0 }
' test-suite.log || rc=1
exit "$rc"

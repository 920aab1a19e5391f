#!/bin/sh
# A few pairs of tests/compare: no false alarm, and what was planted is found. `make compare-truth` counts 2,000.
set -u
: "${top_builddir:?run by make check}" "${top_srcdir:?run by make check}"
if ! command -v sqlite3 >/dev/null 2>&1; then
  echo "1..0 # SKIP no sqlite3"
  exit 0
fi
sh "$top_srcdir/tests/compare/compare_truth.sh" 40 >compare_truth.out 2>&1
code=$?
sed 's/^/# /' compare_truth.out
echo 1..2
if [ "$code" = 0 ]; then echo "ok 1 - no false alarm"; else echo "not ok 1 - no false alarm"; fi
found=$(awk -F'|' '/10 % slower, 1 run/ { print $6 - $8 }' compare_truth.out)
if [ "$found" = 0 ]; then echo "ok 2 - a kernel 10 % slower is found"; else echo "not ok 2 - a kernel 10 % slower is found"; fi
rm -f compare_truth.out

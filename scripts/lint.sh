#!/bin/sh
# scripts/lint.sh [BUILD-FOLDER]: cppcheck and clang-tidy over the C sources, shellcheck over the
# scripts (make lint). What is not installed is said and left out. LINT_TIDY=product: clang-tidy over
# the product alone, LINT_TIDY=none: without.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build}
rc=0
if command -v cppcheck >/dev/null 2>&1; then
  # Known to be wrong (2.10): hooks are macros; the demangler's text is on the heap, the status is not;
  # the array that could not grow is still its owner's; a compound literal is what is initialised; pointers that are set before the check are used after it.
  # shellcheck disable=SC2046 # a list of names without spaces
  cppcheck -q --std=c11 --language=c --enable=warning,portability --inline-suppr --error-exitcode=1 \
    --suppress=funcArgOrderDifferent:schema/wt_hooks.def \
    --suppress=returnDanglingLifetime:cli/kernel_name.c \
    --suppress=memleakOnRealloc:cli/report_sql.c --suppress=legacyUninitvar:cli/demangle_type.c \
    --suppress=nullPointerArithmeticRedundantCheck:analysis/fold_solution.c \
    --suppress=nullPointerArithmeticRedundantCheck:analysis/fold_solve.c \
    -D__x86_64__=1 \
    --suppress=missingIncludeSystem --suppress=missingInclude -I . -I "$folder" -D_GNU_SOURCE \
    -DWT_BINDIR='""' -DWT_LIBDIR='""' -DWT_DATADIR='""' \
    $(git ls-files 'schema/*.c' 'libintercept/*.c' 'analysis/*.c' 'daemon/*.c' 'cli/*.c') || rc=1
else
  echo "lint: cppcheck is not installed: left out" >&2
fi
# test_abi.c and test_profiler_abi.c need real headers where there are some; lookup_chain.c comes with a -D each time.
if [ "${LINT_TIDY:-}" = none ]; then
  :
elif command -v clang-tidy >/dev/null 2>&1; then
  folders="schema libintercept analysis daemon cli"
  [ "${LINT_TIDY:-}" = product ] || folders="$folders tests/unit tests/fake tests/fuzz tests/bench tests/hosts"
  for each in $folders; do git ls-files "$each/*.c"; done |
    grep -v -e tests/unit/test_abi.c -e tests/unit/test_profiler_abi.c -e tests/unit/lookup_chain.c |
    xargs -P "$(nproc 2>/dev/null || echo 2)" -n 1 sh -c 'folder=$0; clang-tidy --quiet "$@" -- \
      -std=c11 -D_GNU_SOURCE -I. -I"$folder" -DWT_BINDIR="\"\"" -DWT_LIBDIR="\"\"" \
      -DWT_DATADIR="\"\"" 2>/dev/null' "$folder" || rc=1
else
  echo "lint: clang-tidy is not installed: left out" >&2
fi
if command -v shellcheck >/dev/null 2>&1; then
  # shellcheck disable=SC2046
  shellcheck -x -s sh -e SC1091,SC2012,SC2013,SC2016,SC2154,SC2317 \
    $(git ls-files 'scripts/*.sh' 'tests/e2e/*.sh' 'tests/gpu/*.sh' 'tests/unit/*.sh') .ci/run || rc=1
else
  echo "lint: shellcheck is not installed: left out" >&2
fi
# What is tracked has to be named in a makefile, or the tarball lacks it.
# shellcheck disable=SC2046
cat configure.ac $(git ls-files 'Makefile.am' '*.mk') | tr -s ' \t\\=' '\n' | sort -u >"$folder/named.txt"
git ls-files | grep -v -e '^tests/fuzz/corpus/' -e '^tests/fuzz/regress/' -e '^\.ci/run$' -e '\.gitignore$' -e '\.gitkeep$' \
  -e '^Makefile\.am$' -e '^configure\.ac$' -e '\.mk$' | sort | comm -23 - "$folder/named.txt" |
  sed 's/^/lint: in no makefile: /' >"$folder/unnamed.txt"
if [ -s "$folder/unnamed.txt" ]; then
  cat "$folder/unnamed.txt" >&2
  rc=1
fi
exit "$rc"

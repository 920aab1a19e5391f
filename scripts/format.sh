#!/bin/sh
# scripts/format.sh [--check]: clang-format over the C sources (make format, make check-format).
set -eu
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null 2>&1 || {
  echo "format: clang-format is not installed" >&2
  exit 1
}
files=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh')
# shellcheck disable=SC2086 # a list of names without spaces
if [ "${1:-}" = --check ]; then
  clang-format --dry-run --Werror $files
else
  clang-format -i $files
fi

#!/bin/sh
# Builds wavetap into a folder beside the sources: scripts/build.sh [FOLDER [configure options]].
# Default folder: build. Safe to run again; only what changed is built.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-build}
[ $# -gt 0 ] && shift
case $folder in /*) ;; *) folder=$top/$folder ;; esac

# Automake builds elsewhere only if the sources themselves are not configured.
if [ "$folder" != "$top" ] && [ -f "$top/config.status" ]; then
  echo "build: $top is configured in place; run there first: make distclean" >&2
  exit 1
fi
[ -x "$top/configure" ] || (cd "$top" && autoreconf -fi >/dev/null 2>&1) ||
  (cd "$top" && autoreconf -fi)
mkdir -p "$folder"
cd "$folder"
[ -f Makefile ] || "$top/configure" -q "$@" >configure.out 2>&1 || {
  cat configure.out >&2
  exit 1
}
make -s -j"$(nproc 2>/dev/null || echo 2)" >make.out 2>&1 || {
  cat make.out >&2
  exit 1
}

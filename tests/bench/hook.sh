#!/bin/sh
# What the hooks add to a launch; with BENCH_LIBRARY=/path/to/another/libwavetap.so in pairs with that one,
# BENCH_PAIRS of them (7). Segments lie in a folder of their own.
: "${top_builddir:?run by make bench}"
WAVETAP_SHM_DIR=$(mktemp -d /dev/shm/wt-bench.XXXXXX) || exit 1
WAVETAP_DIR=$WAVETAP_SHM_DIR
export WAVETAP_SHM_DIR WAVETAP_DIR
trap 'rm -rf "$WAVETAP_SHM_DIR"' EXIT
trap 'exit 1' INT TERM HUP
"$top_builddir/tests/bench/bench_hook" "$top_builddir/tests/hosts/libcuda.so.1" "$top_builddir/libwavetap.so" \
  "${BENCH_LIBRARY:-}" "${BENCH_PAIRS:-7}"

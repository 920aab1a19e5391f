#!/bin/sh
# aarch64: libwavetap.so and the tests that need no daemon, cross-built and run under qemu-user;
# then a program of that processor observed by this machine's wavetapd, for the layouts are one.
#
# What qemu-user can't show: other orders of memory accesses than x86 allows (TCG on x86 keeps
# stronger ones), pages of 64 KiB, MADV_WIPEONFORK, clone without an exit signal (starting wavetapd).
# The tests concerned say so and are skipped.
. "${top_srcdir:?run by make check}/tests/e2e/lib.sh"

triplet=aarch64-linux-gnu
folder=$top_builddir/aarch64
needs="Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"

command -v $triplet-gcc >/dev/null || skip_all "no $triplet-gcc ($needs)"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip_all "no qemu-aarch64 ($needs)"
root=$($triplet-gcc -print-sysroot)
[ -e "$root/lib/ld-linux-aarch64.so.1" ] || root=/usr/$triplet
[ -e "$root/lib/ld-linux-aarch64.so.1" ] || skip_all "no glibc for $triplet ($needs)"
[ ! -f "$top_srcdir/config.status" ] || skip_all "the sources are configured in place"
emulator="$qemu -L $root"

# ---- build, in a folder of its own that is kept: only what changed is built again

# The make that runs us has its own ideas of flags and of what to test.
unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS NM READELF OBJDUMP TESTS
werror=
! grep -q '^WT_WARN_FLAGS = .*-Werror' "$top_builddir/Makefile" || werror=--enable-werror
build() {
  mkdir -p "$folder" && cd "$folder" || return 1
  [ -f Makefile ] || "$top_srcdir/configure" -q --host=$triplet --disable-programs $werror \
    WT_EMULATOR="$emulator" || return 1
  make -s -j2 && make -s -j2 check TESTS=
}
build >"$work/build.out" 2>&1 || sed 's/^/# /' "$work/build.out" | tail -n 40
ok "libwavetap.so and its tests are built for aarch64" [ -x "$folder/tests/fake/app_launch" ]

# ---- the tests, each result one of ours

# Not those of the simulated GPU, which wait for its clock: too slow under emulation, and not ours.
tests=
for name in ring ring_threads ring_crash layout lookup fork share cupti_find abi gap link link_random \
  occupancy sweep wave exports.sh glibc.sh spawn.sh; do
  tests="$tests tests/unit/test_$name"
done
rm -f "$folder"/tests/unit/*.log "$folder"/tests/unit/*.trs
(cd "$folder" && make -s -k -j2 check TESTS="$tests") >"$work/check.out" 2>&1
results=$work/results
sed -n 's/^\(PASS\|FAIL\|SKIP\|ERROR\): \(tests\/unit\/[^ ]*\) *\([0-9]* - .*\|- .*\)*$/\2 \1 \3/p' \
  "$folder"/tests/unit/*.log >"$results"
while read -r test result what; do
  tests_run=$((tests_run + 1))
  case $result in
  PASS) echo "ok $tests_run - $test $what" ;;
  SKIP) case $what in
    *'# SKIP'*) echo "ok $tests_run - $test $what" ;;
    *) echo "ok $tests_run - $test # SKIP ${what#- }" ;;
    esac ;;
  *)
    echo "not ok $tests_run - $test $what"
    tests_failed=$((tests_failed + 1))
    ;;
  esac
done <"$results"
[ "$tests_failed" = 0 ] || sed 's/^/# /' "$folder/test-suite.log" | grep -v 'from LD_PRELOAD cannot be' | tail -n 60
# shellcheck disable=SC2086 # a list of names
is "$(cut -d' ' -f1 "$results" | sort -u)" "$(printf '%s\n' $tests | sort)" "each of the tests has a result"

# ---- observed by this machine's daemon

# The preload is for the program, not for the emulator.
LD_LIBRARY_PATH=$folder/tests/fake $emulator -E LD_PRELOAD="$folder/libwavetap.so" \
  "$folder/tests/fake/app_launch" --launches 3000 --threads 2 >"$work/app.out" 2>&1
ok "an aarch64 program launches under the preload" grep -q 'attempted=6000 ok=6000' "$work/app.out"
# The segment outlives the program; the daemon drains it, finds nobody and ends.
"$top_builddir/wavetapd" --foreground >"$work/daemon.out" 2>&1
is "$(sql "SELECT sum(launches_attempted) || ' ' || sum(launches_stored) || ' ' || sum(kernels_stored) FROM proc")" \
  "6000 6000 6000" "this machine's wavetapd stores its launches and kernels"
is "$(sql "SELECT count(*) FROM loss WHERE launches_linked <> 6000")" 0 "... and links each kernel to its launch"
check_books
done_testing

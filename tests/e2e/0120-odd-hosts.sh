#!/bin/sh
# Programs that use the driver in ways that went wrong under other tools, over a driver that forgives
# nothing (tests/hosts): launches from constructors and signal handlers, handlers that jump out, other
# interposers before and after, an allocator that looks its next one up, a driver whose other calls
# hang, threads held anywhere, unloading, entries that no list has. Each prints the same, ends the same
# and says nothing more with wavetap than without; and what it launched is recorded, or known not to be.
. "$top_srcdir/tests/e2e/lib.sh"

hosts=$top_builddir/tests/hosts
host=$hosts/odd_host
fake_path=$LD_LIBRARY_PATH
LD_LIBRARY_PATH=$hosts:$fake_path
export WAVETAP_CUPTI=0 ODD_COUNT="$work/count"

# same CASE PRELOAD ARGUMENT...: PRELOAD has "LIB" where libwavetap.so goes; without wavetap it goes
# without that. Nothing may hang.
same() {
  name=$1 preload=$2
  shift 2
  export WAVETAP_RUN="odd-$name"
  LD_PRELOAD=$(echo "$preload" | sed 's/LIB//') timeout -k 1 60 "$host" "$@" >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  LD_PRELOAD=$(echo "$preload" | sed "s|LIB|$library|") timeout -k 1 60 "$host" "$@" >"$work/tap.out" 2>"$work/tap.err"
  rc_tap=$?
  ok "$name: it runs without wavetap ($(head -n 1 "$work/bare.out"))" test "$rc_bare" = 0 -a -s "$work/bare.out"
  is "$rc_tap|$(cat "$work/tap.out" "$work/tap.err")" "$rc_bare|$(cat "$work/bare.out" "$work/bare.err")" \
    "$name: the same with wavetap"
}
attempted() {
  settle >/dev/null
  sql "SELECT launches_attempted FROM loss"
}
made() {
  cat "$work/count"
}

# ---- when and from where
same plain LIB plain 500
is "$(attempted)" 500 "plain: each launch counted"
ODD_EARLY=1
export ODD_EARLY
same constructor LIB plain 100
is "$(attempted)" 125 "constructor: those from a library's constructor, before any preload is initialised, too"
unset ODD_EARLY
same versions LIB versions
is "$(attempted)" 20 "versions: an old program's dlsym@GLIBC_2.2.5 and a new one's are answered alike"
same signals LIB signals
# Wherever it comes: between the hook's own instructions, too.
is "$(attempted)" "$(made)" "signals: all are counted, those from inside a hook too"
is "$(sql "SELECT sum(grid_x = 5) > 0, sum(grid_x = 5) + (SELECT launches_dropped FROM loss) >= 1000, count(*) - sum(grid_x IN (3, 5)), count(DISTINCT seq) = count(*) FROM launch_call")" "1|1|0|1" \
  "signals: each with its own shape and number"
same longjmp LIB longjmp
settle
ok "longjmp: launches go on being recorded: $(sql "SELECT launches_attempted FROM loss") of $(made)" \
  test "$(attempted)" -ge $(($(made) - 301)) -a "$(attempted)" -le $(($(made) + 301))

# ---- nothing of ours on the launch path: no call of the driver, no lock, no allocation
same sealed LIB sealed
is "$(attempted)" 20010 "sealed: launches go on while every other call of the driver hangs"
same frozen LIB frozen
is "$(attempted)" "$(made)" "frozen: no thread waits for one that is held in a launch"
alloc=$hosts/odd_alloc.so
same allocator-first "$alloc:LIB" quiet
same allocator-last "LIB:$alloc" quiet
is "$(cat "$work/tap.out")" "allocated 0 times" "allocator: launches allocate nothing"
settle # else one daemon has these and the next run, and closes whichever file last

# ---- others like us
linked() { # NAME PRELOAD WANT
  WAVETAP_RUN="odd-$1" LD_PRELOAD=$2 timeout -k 1 60 "$hosts/odd_linked" >"$work/tap.out" 2>&1
  is "$?|$(cat "$work/tap.out")" "0|$3" "$1: what the driver and the other interposer count"
  is "$(attempted)" 1000 "$1: what is recorded"
}
hook=$hosts/odd_hook.so
cp "$library" "$work/copy.so"
linked linked "$library" "driver 1000, other interposer 0"
linked interposer-before "$hook:$library" "driver 1000, other interposer 1000"
linked interposer-behind "$library:$hook" "driver 1000, other interposer 1000"
# One that goes on with our hook: the launch comes by twice, and is one.
export ODD_ROUND=1
linked interposer-round "$library:$hook" "driver 1000, other interposer 1000"
unset ODD_ROUND
linked twice "$library:$work/copy.so" "driver 1000, other interposer 0"
linked twice-around "$library:$hook:$work/copy.so" "driver 1000, other interposer 1000"
is "$(sql "SELECT count(*) FROM process")" 1 "twice: one of the two records"

# ---- loading and unloading, entries that are not on the list
same unload LIB unload "$work/copy.so"
is "$(attempted)" "$(made)" "unload: a copy that comes and goes disturbs nobody"
same unload-own "" unload "$library"
same newer LIB newer
is "$(attempted)|$(sql "SELECT entries_unknown FROM loss")" "10|1" \
  "newer: an entry that is not on the list passes through, counted; a private table's passes unseen"
same dlmopen LIB dlmopen "$hosts/odd_library.so"
is "$(attempted)" 20 "dlmopen: a namespace of its own is not reached, and runs"
check_books

# ---- launches that bypass the hooks are seen by CUPTI, and called so
LD_LIBRARY_PATH=$fake_path:$hosts
unset WAVETAP_CUPTI
cat >"$work/deep.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *function;
	void *other = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (argc > 2 ? RTLD_DEEPBIND : 0));

	if (!cuda || !other)
		return 2;
	((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
	((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 0);
	((int (*)(void *))dlsym(cuda, "cuCtxSetCurrent"))(context);
	((int (*)(void **, const void *))dlsym(cuda, "cuModuleLoadData"))(&module, ptx);
	((int (*)(void **, void *, const char *))dlsym(cuda, "cuModuleGetFunction"))(&function, module, "k");
	for (int i = 0; i < 50; i++)
		((int (*)(void *, int, int, int, int, int, int, int, void *, void **, void **))dlsym(cuda, "cuLaunchKernel"))(
		        function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	printf("failed %d\n", ((int (*)(void *, int))dlsym(other, "odd_library_launch"))(function, 30));
	return ((int (*)(void))dlsym(cuda, "cuCtxSynchronize"))();
}
C
if ${CC:-cc} -D_GNU_SOURCE -w -o "$work/deep" "$work/deep.c" -ldl 2>"$work/cc.err"; then
  for how in "" deep; do
    WAVETAP_RUN="odd-bind$how" LD_PRELOAD=$library timeout -k 1 60 "$work/deep" "$hosts/odd_library.so" $how >"$work/tap.out" 2>&1
    is "$?|$(cat "$work/tap.out")" "0|failed 0" "DEEPBIND ${how:-without}: it runs"
    settle
    case $how in
    deep)
      is "$(sql "SELECT launches_attempted, kernels, kernels_cupti_only, unexplained >= 29 FROM loss")" "50|80|30|1" \
        "DEEPBIND: 30 kernels without a hooked call are counted as such"
      "$wavetap" top --all >"$work/top" 2>&1
      sed 's/^/# /' "$work/top" | tail -n 6
      ok "DEEPBIND: top tells of them" grep -q "lost 30 launches or kernels: no counter accounts for them" "$work/top"
      rm -f "$(run_file)"
      ;;
    *) is "$(sql "SELECT launches_attempted, kernels, kernels_cupti_only FROM loss")" "80|80|0" "without it all are hooked" ;;
    esac
  done
else
  echo "# no compiler here: RTLD_DEEPBIND was not tested"
fi
check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

#!/bin/sh
# Limits that a batch system sets (file size, open files), and ends of a process that are not an
# exit of its only thread: main ends by pthread_exit, exit while other threads launch.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch

# A segment beyond the limit on file sizes would be a SIGXFSZ for the program. ulimit -f counts
# blocks of 512 bytes in dash and 1,024 in bash: either way the first is too small for any segment.
limited() { # BLOCKS NAME
  (
    ulimit -f "$1" 2>/dev/null || exit 9
    WAVETAP_RUN=$2 tap "$app" --launches 100 >"$work/tap.out" 2>"$work/tap.err"
  )
  rc=$?
  [ "$rc" = 0 ] && [ ! -s "$work/tap.err" ] && grep -q 'ok=100' "$work/tap.out"
}
ok "file size limited to less than a segment: the program runs" limited 1000 small
ok "and left no segment" test -z "$(ls "$shm")"
ok "file size limited to a small segment: the program runs" limited 5000 medium
settle
is "$(sql "SELECT launches_attempted, launches_linked, unexplained FROM loss")" "100|100|0" "and is recorded"

# A program with raised privileges: the loader drops the preload (and the path to the simulated driver).
if [ "$(id -u)" = 0 ] && cp "$app" "$work/raised" && chown 1 "$work/raised" && chmod 4755 "$work/raised" && chmod 755 "$work"; then
  bare "$work/raised" --launches 10 >"$work/bare.out" 2>&1
  rc=$?
  WAVETAP_RUN=raised tap "$work/raised" --launches 10 >"$work/tap.out" 2>&1
  is "$?|$(cat "$work/tap.out")" "$rc|$(cat "$work/bare.out")" "raised privileges: the program is as without wavetap"
  is "$(ls "$shm")" "" "and nothing came of it"
else
  echo "# a setuid program needs root: not tested here"
fi

# A daemon with hardly any descriptors serves nobody: it must not keep the place from others.
(
  # shellcheck disable=SC3045 # dash and bash both know it
  ulimit -n 16
  WAVETAP_RUN=few tap "$app" --launches 100 >/dev/null
)
sleep 1
WAVETAP_RUN=few tap "$app" --launches 50 >/dev/null
ok "everything is stored after a program with 16 descriptors" settle
is "$(sql "SELECT count(*), sum(launches_linked), sum(unexplained) FROM loss")" "2|150|0" "both programs are recorded"

# A CUPTI that hangs, in every flush and so in the last one too: the exit waits for 2 s at most.
for how in return _exit; do
  WTFAKE_SLOW=cuptiActivityFlushAll:90000000 WAVETAP_RUN=hanging-$how tap timeout -k 1 60 "$app" --launches 100 --exit $how \
    >"$work/tap.out" 2>"$work/tap.err"
  is "$?|$(cat "$work/tap.err")|$(grep -c 'attempted=100' "$work/tap.out")" "0||1" "CUPTI hangs in its flushes, $how: the program ends well"
  settle
  is "$(sql "SELECT launches_attempted, launches_stored, launches_torn, unexplained FROM loss")" "100|100|0|0" "and its launches are recorded"
done

# Shared memory is charged to the job's cgroup: the usual segment fits into a small one.
group=
if [ "$(id -u)" = 0 ]; then
  for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ -z "$group" ] && [ -e "$root/cgroup.procs" ] && mkdir "$root/wt-e2e.$$" 2>/dev/null && group=$root/wt-e2e.$$
  done
fi
if [ -n "$group" ] && { echo 67108864 >"$group/memory.max" || echo 67108864 >"$group/memory.limit_in_bytes"; } 2>/dev/null; then
  WAVETAP_RUN=group sh -c 'echo $$ >"$1/cgroup.procs" && LD_PRELOAD=$2 exec "$3" --launches 20000 --threads 2 --us 1' sh \
    "$group" "$library" "$app" >"$work/tap.out" 2>"$work/tap.err"
  is "$?|$(cat "$work/tap.err")" "0|" "memory limited to 64 MiB: the program ends well"
  settle
  is "$(sql "SELECT launches_attempted, unexplained FROM loss")" "40000|0" "and is recorded"
  ok "the limit was in force" test "$(cat "$group/memory.peak" "$group/memory.max_usage_in_bytes" 2>/dev/null || true)" -gt 0
  echo "# bytes at most: $(cat "$group/memory.peak" "$group/memory.max_usage_in_bytes" 2>/dev/null)"
else
  echo "# no memory cgroup can be made here: not tested in one"
fi
[ -z "$group" ] || rmdir "$group" 2>/dev/null

cat >"$work/ends.c" <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
                          ".visible .entry k()\n{\nret;\n}\n"
                          "// wtfake: kernel=k regs=32 block_ns=1000\n";
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void *, void **, void **);
static int (*set_current)(void *);
static void *context, *function;

static void *launch_many(void *count)
{
	set_current(context);
	for (long i = 0; i < (long)count; i++)
		launch(function, 10, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL);
	return NULL;
}

static void at_end(void)
{
	launch_many((void *)20);
}

int main(int argc, char **argv)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *module;
	pthread_t thread;

	if (argc < 2 || !cuda)
		return 77;
	*(void **)&launch = dlsym(cuda, "cuLaunchKernel");
	*(void **)&set_current = dlsym(cuda, "cuCtxSetCurrent");
	((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
	((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 0);
	set_current(context);
	((int (*)(void **, const void *))dlsym(cuda, "cuModuleLoadData"))(&module, ptx);
	((int (*)(void **, void *, const char *))dlsym(cuda, "cuModuleGetFunction"))(&function, module, "k");
	launch_many((void *)10);
	if (!strcmp(argv[1], "pthread_exit")) {
		atexit(at_end);
		pthread_create(&thread, NULL, launch_many, (void *)500);
		pthread_exit(NULL);
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, launch_many, (void *)1000000000);
	usleep(50000);
	exit(7);
}
C
if ${CC:-cc} -o "$work/ends" "$work/ends.c" -lpthread -ldl 2>"$work/cc.err"; then
  # CUPTI off: the simulated one has a thread that would keep the process as well.
  WAVETAP_RUN=main-ends WAVETAP_CUPTI=0 LD_PRELOAD=$library timeout -k 1 15 "$work/ends" pthread_exit
  is "$?" 0 "main ends by pthread_exit: the process ends with its last thread"
  settle
  is "$(sql "SELECT state, launches_attempted, unexplained FROM loss")" "finished|530|0" \
    "and all is recorded, what exit handlers launch too"
  WAVETAP_RUN=busy-exit LD_PRELOAD=$library timeout -k 1 15 "$work/ends" exit
  is "$?" 7 "exit while three threads launch: its own exit code"
  settle
  # A thread that exit met inside the driver has a kernel and no call: one each at most.
  # What came behind the last flush is in flight; on a busy machine that may be nothing, and then the ring may have been
  # full: a launch whose kernel was dropped is unlinked, and explained.
  is "$(sql "SELECT state, launches_in_flight >= 0, launches_unlinked <= kernels_dropped_ring, unexplained <= 3 FROM loss")" \
    "finished|1|1|1" "no launch behind the last flush counts as unlinked"
  rm -f "$(run_file)"
else
  echo "# no compiler here: the ends of a process were not tested"
fi
check_books
done_testing

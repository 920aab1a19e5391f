#!/bin/sh
# A program that launches on after the library's exit handler, and a daemon that is killed then, when it has stored that
# the program is finished: the next daemon stores the rest.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_late
daemon_pid() {
  pid=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
}
export WAVETAP_RUN=late
LD_PRELOAD=$library "$app" 4 >"$work/out" 2>"$work/err" &
program=$!
# Until the run file says that it is finished.
tries=0
while [ "$(sql "SELECT state FROM loss" 2>/dev/null)" != finished ] && [ "$tries" -lt 100 ]; do
  tries=$((tries + 1))
  sleep 0.05
done
is "$(sql "SELECT state FROM loss")" finished "the program has said that it is finished"
daemon_pid
kill -9 "$pid"
wait "$program"
is "$?|$(cat "$work/err")" "0|" "it ends as ever"
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
total=$(sed 's/.*total=//' "$work/out")
stored=$(sql "SELECT launches_stored FROM loss")
ok "all but the last launch or two are stored: $stored of $total" test "$stored" -ge $((total - 2)) -a "$stored" -le $((total + 2))
is "$(sql "SELECT count(*) FROM pending_link")" 0 "no link is waited for"
ok "the file is sound" "$wavetap" check "$(run_file)"

# A context that no hook saw, and a first launch that is in a capture: CUPTI is not armed in the midst of one, and that
# is said; the capture is what it would be.
cat >"$work/context.c" <<'C'
#include <dlfcn.h>
void *make_context(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context = 0;

	((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
	((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 0);
	return context;
}
C
cat >"$work/capture.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
	void *apart = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND), *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	void *module, *function, *stream, *graph, *exec;
	int failed = 0;
#define CALL(name, ...) failed += ((int (*)())dlsym(cuda, #name))(__VA_ARGS__) != 0
	CALL(cuCtxSetCurrent, ((void *(*)(void))dlsym(apart, "make_context"))());
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleGetFunction, &function, module, "k");
	CALL(cuStreamCreate, &stream, 1u);
	CALL(cuStreamBeginCapture_v2, stream, 0);
	for (int i = 0; i < 20; i++)
		CALL(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, stream, (void **)0, (void **)0);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0ull);
	for (int i = 0; i < 10; i++)
		CALL(cuGraphLaunch, exec, stream);
	CALL(cuStreamSynchronize, stream);
	printf("failed %d\n", failed);
	return failed;
}
C
if ${CC:-cc} -shared -fPIC -w -o "$work/context.so" "$work/context.c" -ldl 2>/dev/null &&
  ${CC:-cc} -D_GNU_SOURCE -w -o "$work/capture" "$work/capture.c" -ldl 2>/dev/null; then
  export WAVETAP_RUN=late-capture WTFAKE_COUNTERS="$work/counters"
  tap "$work/capture" "$work/context.so" >"$work/out" 2>&1
  is "$?|$(cat "$work/out")" "0|failed 0" "late, in an open capture: the capture is good"
  is "$("$top_builddir/tests/fake/fake_counters" "$work/counters" node_kernels | tr -dc '0-9')" 200 "and has its nodes"
  settle
  is "$(sql "SELECT capture, launches_captured, graph_launches, reason IS NOT NULL FROM loss JOIN process USING (process_id)")" \
    "hooks-only|20|10|1" "late, in an open capture: CUPTI is not armed, and it says so"
  sql "SELECT '# ' || reason FROM process"
else
  echo "# no compiler here: arming in an open capture was not tested"
fi
check_books
done_testing

#!/bin/sh
# CUDA_INJECTION64_PATH, the second door: the driver loads the library from inside cuInit, nobody
# calls a hook, and CUPTI's kernel records are all there is. That is said, and nothing is called
# unexplained. Together with LD_PRELOAD it is one instance, armed once.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
inject() {
  CUDA_INJECTION64_PATH=$library "$@"
}

counter() { # NAME of the simulated GPU's counters of the last program
  "$fake/fake_counters" "$work/counters" "$1" | tr -dc '0-9'
}

# What the library must not do there, and the simulated driver therefore does not forgive.
(
  cd "$work" || exit 1 # should it leave a core file
  CUDA_INJECTION64_PATH=$fake/inject_rude.so exec "$fake/app_launch" --launches 1
) >"$work/out" 2>"$work/err"
is "$?|$(grep -c 'cuDeviceGetCount called from inside' "$work/err")" "134|1" "a driver call from inside cuInit is fatal"

is "$("$wavetap" preload --injection)" "$(readlink -f "$library")" "preload --injection: an absolute path"

export WAVETAP_RUN=injected WTFAKE_COUNTERS="$work/counters" WTFAKE_DEVICES=2
bare "$fake/app_launch" --launches 500 --threads 4 --streams 3 --kind mix --graph 6 --device 1 >"$work/bare"
rm "$work/counters"
inject "$fake/app_launch" --launches 500 --threads 4 --streams 3 --kind mix --graph 6 --device 1 >"$work/out" 2>"$work/err"
is "$?" 0 "injected: the program ends well"
is "$(cat "$work/err")" "" "injected: nothing on stderr"
is "$(sed 's/pid=[0-9]*//' "$work/out")" "$(sed 's/pid=[0-9]*//' "$work/bare")" "injected: the same output"
settle
is "$(sql "SELECT kernels, kernels_graph FROM loss")" "$(counter kernels)|$(counter node_kernels)" \
  "injected: every kernel has its record"
is "$(sql "SELECT launches_attempted, launches_stored, graph_launches FROM loss")" "0|0|0" "injected: no call was hooked"
is "$(sql "SELECT kernels_cupti_only = kernels - kernels_graph, unexplained FROM loss")" "1|0" \
  "injected: kernels without a call are a class of their own, not unexplained"
is "$(sql "SELECT state, capture FROM process")" "finished|kernels-only" "injected: the capture level says so"
ok "injected: and why" test -n "$(sql "SELECT reason FROM process WHERE reason LIKE '%CUDA_INJECTION64_PATH%'")"
is "$(sql "SELECT count(*), min(ordinal) FROM process_gpu")" "1|1" "injected: the device used, and no other"
is "$(sql "SELECT count(*) FROM config WHERE waves IS NULL OR sm_count <> 132")" 0 "injected: its limits are known"
is "$(counter cuptiActivityRegisterCallbacks)" 1 "injected: CUPTI is armed once"
is "$(counter cuptiSubscribe)" 0 "injected: no subscriber"
"$wavetap" top --all >"$work/top" 2>&1
is "$?" 0 "injected: top ranks"
ok "injected: top tells what is missing" grep -q "kernels-only: .*launch calls are not seen" "$work/top"

# While it runs, status says it.
export WAVETAP_RUN=injected-live
CUDA_INJECTION64_PATH=$library "$fake/app_launch" --launches 100000 --rate 200 >"$work/live" 2>&1 &
app=$!
tries=0
# Of the daemon that it starts, not of the run before.
until { ls "$shm"/*.sock >/dev/null 2>&1 && "$wavetap" status 2>/dev/null | grep -q "kernels-only:"; } || [ "$tries" -ge 200 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
ok "status tells the capture level and the reason" test "$tries" -lt 200
kill "$app"
wait "$app" 2>/dev/null
settle
is "$(sql "SELECT unexplained FROM loss")" 0 "killed: nothing unexplained"

# The daemon dies twice on the way, and another one goes on.
export WAVETAP_RUN=injected-restart
rm -f "$work/counters"
CUDA_INJECTION64_PATH=$library "$fake/app_launch" --launches 800 --rate 400 --graph 5 >"$work/out" 2>&1 &
app=$!
for _ in 1 2; do
  tries=0
  daemon=
  until [ -n "$daemon" ] || [ "$tries" -ge 100 ]; do
    sleep 0.1
    daemon=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
    tries=$((tries + 1))
  done
  sleep 0.4
  kill -9 "$daemon"
  "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
done
wait "$app"
is "$?" 0 "daemon killed: the program ends well"
settle
is "$(sql "SELECT kernels, kernels_graph, kernels_cupti_only, unexplained FROM loss")" \
  "$(counter kernels)|$(counter node_kernels)|$(($(counter kernels) - $(counter node_kernels)))|0" \
  "daemon killed: every kernel once"
is "$(sql "SELECT group_concat(DISTINCT link) FROM kernel_exec")" 4 "daemon killed: no kernel waits for a call"

# Both doors: the same file, and a copy elsewhere, which finds that it is the second.
cp "$library" "$work/copy.so"
for injected in "$library" "$work/copy.so"; do
  WAVETAP_RUN=both-$(basename "$injected")
  export WAVETAP_RUN
  rm -f "$work/counters"
  CUDA_INJECTION64_PATH=$injected tap "$fake/app_launch" --launches 300 --graph 4 >"$work/out" 2>"$work/err"
  is "$?" 0 "both doors: the program ends well"
  settle
  is "$(sql "SELECT count(*), min(capture), min(reason IS NULL) FROM process")" "1|full|1" "both doors: one process, full capture"
  is "$(sql "SELECT kernels, launches_unlinked, kernels_cupti_only, unexplained FROM loss")" \
    "$(counter kernels)|0|0|0" "both doors: each kernel once, linked"
  is "$(counter cuptiActivityRegisterCallbacks)" 1 "both doors: CUPTI is armed once"
done

# Nothing to record with: the program does not care, and the reason is kept.
export WAVETAP_RUN=no-cupti WAVETAP_CUPTI=0
inject "$fake/app_launch" --launches 50 >"$work/out" 2>"$work/err"
is "$?|$(cat "$work/err")" "0|" "no CUPTI: the program ends well"
settle
is "$(sql "SELECT capture FROM process")" "off" "no CUPTI: nothing is recorded, and that is said"
ok "no CUPTI: and why" test -n "$(sql "SELECT reason FROM process WHERE reason IS NOT NULL")"
unset WAVETAP_CUPTI

export WAVETAP_RUN=switched-off
(export WAVETAP=0; inject "$fake/app_launch" --launches 50) >"$work/out" 2>"$work/err"
is "$?|$(cat "$work/err")" "0|" "WAVETAP=0: the program ends well"
is "$(ls "$data"/runs/*switched-off* 2>/dev/null; sql "SELECT count(*) FROM meta WHERE key = 'run_key' AND value LIKE '%switched-off%'")" 0 \
  "WAVETAP=0: no run"

# Loaded late, where other libraries have taken the room for thread-local storage that the loader keeps.
cat >"$work/tls.c" <<'C'
static __thread char room[64] __attribute__((tls_model("initial-exec")));
char *tls_room(void) { return room; }
C
cat >"$work/late.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char path[4096];
	int taken = 0;

	while (snprintf(path, sizeof(path), "%s/tls%d.so", argv[1], taken), dlopen(path, RTLD_NOW))
		taken++;
	fprintf(stderr, "%d: %s\n", taken, dlerror());
	if (access(path, F_OK) == 0) { /* the room was used up, not the libraries */
		void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *function;
		static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
		int failed = 0;
#define CALL(name, ...) failed += ((int (*)())dlsym(cuda, #name))(__VA_ARGS__) != 0
		CALL(cuInit, 0);
		CALL(cuDevicePrimaryCtxRetain, &context, 0);
		CALL(cuCtxSetCurrent, context);
		CALL(cuModuleLoadData, &module, ptx);
		CALL(cuModuleGetFunction, &function, module, "k");
		for (int i = 0; i < 40; i++)
			CALL(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, (void *)0, (void **)0, (void **)0);
		CALL(cuCtxSynchronize);
		printf("failed %d\n", failed);
	}
	return 0;
}
C
if ${CC:-cc} -shared -fPIC -w -o "$work/tls0.so" "$work/tls.c" 2>/dev/null && ${CC:-cc} -w -o "$work/late" "$work/late.c" -ldl 2>/dev/null; then
  n=0
  while [ "$n" -lt 200 ]; do
    n=$((n + 1))
    cp "$work/tls0.so" "$work/tls$n.so"
  done
  export WAVETAP_RUN=tls-used-up
  inject "$work/late" "$work" >"$work/out" 2>"$work/err"
  is "$?|$(cat "$work/out")" "0|failed 0" "room for thread-local storage used up: the program ends well"
  sed 's/^/# /' "$work/err"
  settle
  is "$(sql "SELECT kernels, capture FROM loss JOIN process USING (process_id)")" "40|kernels-only" "room used up: it still records"
  rm -f "$work"/tls*.so
else
  echo "# no compiler here: used-up thread-local storage was not tested"
fi

check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

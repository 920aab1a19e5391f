#!/bin/sh
# What wavetap calls in the driver and in CUPTI, by the simulated ones' own counts against a run
# without it: queries about the device around the first context, and nothing for each launch. cuInit,
# contexts, streams, events and memory are the program's alone; CUPTI's counters, subscribers and its
# finalize are not touched.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake

counts() { # FILE: "name number" for each entry that was called
  "$fake/fake_counters" "$1" | tr '=' ' ' | awk '$2 > 0 { print $1, $2 }' | sort
}
run() { # bare|tap LAUNCHES ARGUMENT...: counts in $work/LAUNCHES.bare or .tap
  how=$1 launches=$2
  shift 2
  rm -f "$work/counters"
  WTFAKE_COUNTERS=$work/counters WAVETAP_RUN="calls-$launches" $how "$fake/app_launch" --launches "$launches" "$@" >"$work/out" 2>&1
  counts "$work/counters" >"$work/$launches.$how"
}
# What wavetap added: name and how often.
added() { # LAUNCHES
  awk 'FNR == NR { bare[$1] = $2; next } $2 != bare[$1] { print $1, $2 - bare[$1] }
    { delete bare[$1] } END { for (name in bare) if (FNR != NR) print name, -bare[name] }' "$work/$1.bare" "$work/$1.tap" | sort
}

for arguments in "--kind mix --graph 5 --streams 3" "--capture" "--how cudart --threads 4"; do
  for launches in 100 1600; do
    # shellcheck disable=SC2086 # words of a command
    run bare "$launches" $arguments
    # shellcheck disable=SC2086
    run tap "$launches" $arguments
    ok "$arguments: there are calls to compare" grep -q cuLaunchKernel "$work/$launches.tap"
    added "$launches" | grep -vE '^(cupti|driver_calls )' >"$work/$launches.added"
  done
  sed "s/^/# added: /" "$work/1600.added"
  is "$(cat "$work/1600.added")" "$(cat "$work/100.added")" "$arguments: as many calls of the driver for 1600 launches as for 100"
  is "$(grep -vE '^(cuDeviceGet[A-Za-z]*(_v2)?|cuDeviceTotalMem_v2|cuDriverGetVersion|cuCtxGetDevice) [0-9]+$' "$work/1600.added")" "" \
    "$arguments: all of them queries about the device"
  # Buffers and flushes take calls of CUPTI's, none of which is one that takes something from others.
  is "$(grep -E '^cupti(Subscribe|Unsubscribe|Finalize|EnableCallback|EnableDomain|EnableAllDomains|Pm|Range|Profiler|Sass|EventGroup|Metric)' "$work/1600.tap")" "" \
    "$arguments: no subscriber, callback, counter or end of CUPTI"
  is "$(sed -n 's/^cuptiActivityRegisterCallbacks //p' "$work/1600.tap")" 1 "$arguments: CUPTI is armed once"
  is "$(sed -n 's/^cuptiActivitySetAttribute //p' "$work/1600.tap")" 2 "$arguments: a buffer per launching thread is switched off, and those on the device are limited"
done
settle

# The order of things that children of a fork live by: cuInit is never called by wavetap, not in a
# program that only loads the driver either.
cat >"$work/load.c" <<'C'
#include <dlfcn.h>
#include <unistd.h>
int main(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int version = 0, count = 0;

	if (!cuda || !dlsym(cuda, "cuLaunchKernel") || !dlsym(cuda, "cuGetProcAddress_v2"))
		return 2;
	((int (*)(int *))dlsym(cuda, "cuDriverGetVersion"))(&version);
	/* CUDA_ERROR_NOT_INITIALIZED, unless somebody has */
	return ((int (*)(int *))dlsym(cuda, "cuDeviceGetCount"))(&count) == 3 ? 0 : 1;
}
C
if ${CC:-cc} -w -o "$work/load" "$work/load.c" -ldl 2>/dev/null; then
  rm -f "$work/counters"
  WTFAKE_COUNTERS=$work/counters tap "$work/load" >"$work/out" 2>&1
  is "$?|$(cat "$work/out")" "0|" "a program that loads the driver alone: nobody initialised it"
  is "$(counts "$work/counters" | grep -c cuInit)" 0 "no cuInit at all"
  is "$(ls "$shm")" "" "and no segment"
else
  echo "# no compiler here: a program that loads the driver alone was not tested"
fi
check_books
done_testing

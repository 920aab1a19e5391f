#!/bin/sh
# libwavetap.so under a sanitizer, preloaded into programs that are built with it too: its state,
# names, ring, CUPTI buffers and the sharing with another profiler, with many threads. Only in a
# build with --enable-tsan, --enable-asan or --enable-ubsan (make check-tsan, ...). Counts must be
# right, too: a library that had switched itself off would do nothing wrong.
build=${top_builddir:-.}
case ${WT_SANITIZED:-} in
*thread*) runtime=libtsan.so ;;
*address*) runtime=libasan.so ;;
*undefined*) runtime=libubsan.so ;;
*)
	echo "1..0 # SKIP only in a build under a sanitizer"
	exit 0
	;;
esac
runtime=$(${CC:-cc} -print-file-name=$runtime)
if [ ! -f "$runtime" ]; then
	echo "1..0 # SKIP no $runtime beside the compiler"
	exit 0
fi
tmp=$(mktemp -d /dev/shm/wt-sanitized.XXXXXX) || exit 1
daemon=
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
count=0
failed=0
ok() {
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
	fi
}

# Every sanitizer's reports of one program into files of their own.
reports_to() {
	for tool in ASAN UBSAN TSAN; do
		eval "export ${tool}_OPTIONS=log_path=$1:detect_leaks=0"
	done
}

# First of all: is something wrong seen here?
cat >"$tmp/wrong.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
static int shared;
static void *add(void *unused)
{
	for (int i = 0; i < 1000; i++)
		shared++;
	return unused;
}
int main(int argc, char **argv)
{
	char *room = malloc((size_t)argc);
	pthread_t thread;

	pthread_create(&thread, 0, add, 0);
	add(0);
	pthread_join(thread, 0);
	room[argc] = (char)(1 << (31 + argc)); /* beyond the end; a shift by the width */
	return argv[0] == room;
}
END
# shellcheck disable=SC2086 # flags, and CC may be several words
${CC:-cc} -w -O0 $WT_SANITIZED -pthread -o "$tmp/wrong" "$tmp/wrong.c" 2>/dev/null
(
	reports_to "$tmp/wrong.report"
	! "$tmp/wrong" 2>/dev/null
)
ok $? "what is wrong is seen"

export WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm"
# ThreadSanitizer takes the clone that starts a daemon for a fork and allows no thread after it.
export WAVETAP_SPAWN=0 LD_LIBRARY_PATH="$build/tests/fake"
unset WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP_CUPTI LD_PRELOAD WAVETAP
mkdir "$tmp/data" "$tmp/shm"
"$build/wavetapd" --foreground --idle 60 >"$tmp/daemon.out" 2>&1 &
daemon=$!
tries=0
while ! ls "$tmp"/shm/*.sock >/dev/null 2>&1 && [ "$tries" -lt 300 ]; do
	sleep 0.1
	tries=$((tries + 1))
done

# check NAME PROGRAM...: no report, its own exit code 0, and every launch in the run file.
check() {
	name=$1
	shift
	(
		reports_to "$tmp/$name.report"
		export WAVETAP_RUN="$name" LD_PRELOAD="$runtime:$build/libwavetap.so"
		exec "$@" >"$tmp/$name.out" 2>"$tmp/$name.err"
	)
	status=$?
	[ "$status" -eq 0 ]
	ok $? "$name: ends with 0 (got $status)"
	sed 's/^/# /' "$tmp/$name.err" | head -n 20
	! ls "$tmp/$name".report.* >/dev/null 2>&1
	ok $? "$name: no report"
	cat "$tmp/$name".report.* 2>/dev/null | sed 's/^/# /' | head -n 60
}

# stored NAME COLUMN WANT
stored() {
	tries=0
	got=
	while [ "$got" != "$3" ] && [ "$tries" -lt 300 ]; do
		got=$(for file in "$tmp"/data/runs/*.db; do
			sqlite3 -batch "$file" "SELECT sum($2) FROM loss WHERE
				(SELECT value FROM meta WHERE key = 'run_key') = '$1' HAVING count(*)"
		done 2>/dev/null)
		[ "$got" = "$3" ] || sleep 0.1
		tries=$((tries + 1))
	done
	[ "$got" = "$3" ]
	ok $? "$1: $2 is $3 (got $got)"
}
value() { tr ' ' '\n' <"$tmp/$1.out" | sed -n "s/^$2=//p"; }

launch=$build/tests/fake/app_launch
for how in dlsym getproc_v2 ptsz cudart; do
	check "$how" "$launch" --threads 8 --streams 4 --launches 150 --how "$how" --kind mix \
		--graph 5 --fail-every 11
	stored "$how" "launches_attempted + graph_launches" "$(value "$how" attempted)"
	stored "$how" kernels "$(value "$how" kernels)"
done
check captured "$launch" --threads 6 --launches 100 --capture
stored captured kernels "$(value captured kernels)"
check ranges "$build/tests/fake/app_nvtx" early steps threads cross domains deep unbalanced open
stored ranges kernels "$(value ranges launches)"
[ "$(value ranges returned)" = 0 ]
ok $? "ranges: NVTX found the library"
WAVETAP_CUPTI=0
export WAVETAP_CUPTI
check hooks-only "$launch" --threads 8 --launches 200
unset WAVETAP_CUPTI
stored hooks-only launches_attempted "$(value hooks-only attempted)"
check many "$launch" --threads 64 --launches 20
stored many kernels "$(value many kernels)"
check profiler "$build/tests/fake/app_profiler"
stored profiler launches_unlinked 0
export WAVETAP_PROFILE=3 WAVETAP_PROFILE_WARMUP_MS=0
check profiled "$launch" --threads 4 --launches 300 --rate 300 --graph 3
stored profiled kernels "$(value profiled kernels)"
unset WAVETAP_PROFILE
# Kernel records are given up while four threads launch and capture.
export WAVETAP_BUDGET=0.0001 WAVETAP_BUDGET_WINDOW_MS=200 WAVETAP_FLUSH_MS=10
check budget "$launch" --threads 4 --launches 6000 --rate 3000 --us 1
stored budget launches_attempted "$(value budget attempted)"
stored budget unexplained 0
stored budget "launches_unobserved > 0" 1
check budget-captured "$launch" --threads 4 --launches 1000 --rate 1000 --us 1 --capture
stored budget-captured launches_attempted "$(value budget-captured attempted)"
unset WAVETAP_BUDGET WAVETAP_BUDGET_WINDOW_MS WAVETAP_FLUSH_MS

kill "$daemon"
wait "$daemon"
ok $? "the daemon ends well"
daemon=
echo "1..$count"
exit "$failed"

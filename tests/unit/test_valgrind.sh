#!/bin/sh
# wavetapd, wavetap-sampler and every command of wavetap under valgrind's memcheck: bad accesses, leaks and
# descriptors left open. A part of it in `make check`, all of it with WT_VALGRIND=full
# (make check-valgrind).
src=${top_srcdir:-.}
build=${top_builddir:-.}
build=$(cd "$build" && pwd)
if ! command -v valgrind >/dev/null 2>&1; then
	echo "1..0 # SKIP valgrind is not installed"
	exit 0
fi
if [ -n "${WT_SANITIZED:-}" ]; then
	echo "1..0 # SKIP a sanitized program does not run under valgrind"
	exit 0
fi
tmp=$(mktemp -d /dev/shm/wt-valgrind.XXXXXX) || exit 1
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

unset COLUMNS NO_COLOR WAVETAP_COLOR WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP_CUPTI WAVETAP \
	LD_PRELOAD
export LC_ALL=C WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm" WAVETAP_SPAWN=0
export WAVETAP_DAEMON="$tmp/no-such-daemon"
mkdir -p "$tmp/data/runs" "$tmp/shm"

# memcheck LOG PROGRAM...: becomes the program, under valgrind.
memcheck() {
	log=$1
	shift
	exec valgrind --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
		--track-fds=yes --log-file="$log" "$@"
}

# judge LOG WHAT STATUS WANT: the exit code, and descriptors of its own that were open at the end
# (0 to 2, inherited ones and valgrind's log do not count).
judge() {
	open=$(awk -v log_file="$1" '
		/Open (file descriptor|AF_[A-Z]+ socket) [0-9]+/ { held = $0; next }
		held != "" && !/inherited from parent/ && index(held, log_file) == 0 { print held }
		{ held = "" }' "$1" | grep -vE '(descriptor|socket) [012]:' || true)
	[ "$3" -eq "$4" ] && [ -z "$open" ]
	ok $? "$2: exit $4 (got $3)"
	[ -z "$open" ] || echo "# left open: $open"
	[ "$3" -ne 99 ] || sed 's/^/# /' "$1" | head -n 60
	judged=$((judged + 1))
}
judged=0

calls=0
wt() { # wt EXIT-CODE ARGUMENT...
	want=$1
	shift
	calls=$((calls + 1))
	(memcheck "$tmp/log.$calls" "$build/wavetap" "$@" >/dev/null 2>&1 </dev/null)
	judge "$tmp/log.$calls" "wavetap $*" $? "$want"
}

# Whatever is said of it: nothing worse than an exit code of ours.
any() { # ARGUMENT...
	calls=$((calls + 1))
	(memcheck "$tmp/log.$calls" "$build/wavetap" "$@" >/dev/null 2>&1 </dev/null)
	status=$?
	judge "$tmp/log.$calls" "wavetap $*" "$status" "$([ "$status" -le 3 ] && echo "$status" || echo 0)"
}

# ---- is anything seen here at all?
cat >"$tmp/wrong.c" <<'END'
#include <fcntl.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *room = malloc((size_t)argc);

	open("/dev/null", O_RDONLY);
	room[argc] = argv[0][0];
	return 0;
}
END
# shellcheck disable=SC2086 # CC may be several words
${CC:-cc} -w -O0 -o "$tmp/wrong" "$tmp/wrong.c"
(memcheck "$tmp/log.wrong" "$tmp/wrong" 2>/dev/null)
[ $? -eq 99 ] && grep -q 'Open file descriptor [3-9]: /dev/null' "$tmp/log.wrong"
ok $? "what is wrong is seen"

# ---- the program, on sound and damaged run files
make_run=$build/tests/unit/make_run
runs=$tmp/data/runs
wt 3 top
at=1000000000000
for kind in full pair hooks lossy empty newer; do
	"$make_run" "$runs/19700101-00$((at / 60000000000 + 10))00-aaaa000$((at % 7)).db" "$kind" "$kind" "$at"
	at=$((at + 60000000001))
done
wt 0 top -r pair --group config
wt 0 top -r lossy --json
wt 0 runs
wt 0 export -r pair -o - --format csv
wt 0 export -r pair -o "$tmp/out.db" --format sqlite
wt 2 top --by nonsense
wt 0 diagnose -r pair
wt 0 ledger -r pair --json
full=$(ls "$runs"/*.db | head -n 1)
head -c 20000 "$full" >"$tmp/short.db"
wt 1 top -r "$tmp/short.db"
if [ "${WT_VALGRIND:-}" = full ]; then
	for by in idle tail-idle underfill wave time launches; do
		wt 0 top -r pair --by "$by" --full-names --csv
	done
	wt 0 top -r pair --columns help
	wt 0 top -r pair --limit 1 --device 1
	wt 3 top -r hooks --json
	wt 3 top -r hooks
	wt 3 top -r empty
	wt 1 top -r newer
	wt 1 top -r "latest~9"
	wt 1 top -r no-such-run
	wt 2 top -r ""
	wt 2 nonsense
	wt 0 help top
	wt 0 --list-commands
	wt 0 --list-options top
	wt 0 runs --json
	wt 0 status
	wt 0 status --json
	wt 0 export -r pair -o - --format json
	wt 1 export -r pair -o "$tmp/out.db" --format sqlite
	wt 0 preload
	# Every command, as text, JSON and CSV where it has them, on a run with measurements and samples and on a recorded one.
	measured=$tmp/measured.db
	"$make_run" "$measured" full measured 1000000000000
	sqlite3 -batch "$measured" <"$src/tests/unit/measured.sql"
	cp "$measured" "$tmp/samples.db"
	"$make_run" samples "$tmp/samples.db"
	wt 0 import -o "$tmp/recorded.db" "$src/tests/data/sim-demo.wtrec"
	wt 0 analyze -r "$tmp/recorded.db" -o "$tmp/analyzed.db"
	for run in "$measured" "$tmp/samples.db" "$tmp/recorded.db"; do
		for words in top "top --group config" "top --group step" "top --group range" "top --group phase" "top --group class" "top --by gap" \
			"show id:1" "show id:1 --ncu" ledger gaps "gaps --by kernel" "gaps --by call" timeline steps "ranges" copies sms ranks diagnose \
			"whatif --no-gaps" "whatif --sms 40" "whatif --full-waves" "simulate --block 128 --grid 1:40"; do
			for form in "" --json --csv; do
				case "$words $form" in
					"show id:1 --ncu --"* | "diagnose --csv" | "whatif"*" --csv" | "sms --csv" | "show id:1 --csv" | "top --group"*" --"*) continue ;;
				esac
				# shellcheck disable=SC2086 # words, and perhaps none
				any $words $form -r "$run"
			done
		done
		any top -r "$run" --from 1ms --to -1ms
		any ledger -r "$run" --all
		any top -r "$run" --kernel 'a|e' --limit 0
		any check "$run"
		any export -r "$run" -o - --format json
	done
	wt 0 check "$tmp/recorded.db" "$tmp/analyzed.db"
	wt 0 doctor
	wt 0 gc -n
	wt 0 gc --keep 2 -n
	wt 0 simulate --sms 132 --blocks-per-sm 2 --grid 1:1000 --json
	wt 0 simulate --sms 8 --blocks-per-sm 1 --grid 9 --gantt always
	for words in run top simulate check; do
		wt 0 help "$words"
		wt 2 "$words" --no-such-option
	done
	for at in 0 18 100 4096 16384 40000 90000; do
		for run in "$full" "$tmp/recorded.db"; do
			cp "$run" "$tmp/damaged.db"
			printf '\377\000\377\377\377\377\377\377wavetap\377' |
				dd of="$tmp/damaged.db" bs=1 seek="$at" conv=notrunc 2>/dev/null
			for words in top ledger diagnose "export -o - --format csv"; do
				# shellcheck disable=SC2086 # words
				any $words -r "$tmp/damaged.db"
			done
			any check "$tmp/damaged.db"
		done
	done
	for gone in "TABLE kernel_exec" "TABLE config" "VIEW loss" "VIEW kernel_idle" "TABLE sm_bucket"; do
		cp "$measured" "$tmp/damaged.db"
		sqlite3 -batch "$tmp/damaged.db" "DROP $gone"
		for words in "top --kernel e" ledger diagnose "show id:1"; do
			# shellcheck disable=SC2086 # words
			any $words -r "$tmp/damaged.db"
		done
		any check "$tmp/damaged.db"
	done
	# Recordings that end anywhere, or have rubbish in them.
	for bytes in 10 100 5000 20000; do
		head -c "$bytes" "$src/tests/data/sim-demo.wtrec" >"$tmp/cut.wtrec"
		any import -o "$tmp/cut.$bytes.db" "$tmp/cut.wtrec"
		cp "$src/tests/data/sim-demo.wtrec" "$tmp/bad.wtrec"
		printf '\377\377\377\177\000\377' | dd of="$tmp/bad.wtrec" bs=1 seek="$bytes" conv=notrunc 2>/dev/null
		any import -o "$tmp/bad.$bytes.db" "$tmp/bad.wtrec"
	done
fi

# ---- the daemon: a program that launches, a hostile segment, questions, an orderly end
rm -f "$runs"/*
start_daemon() { # LOG
	memcheck "$1" "$build/wavetapd" --foreground --idle 60 >"$tmp/daemon.out" 2>&1 &
	daemon=$!
}
end_daemon() { # LOG WHAT
	kill -TERM "$daemon"
	wait "$daemon"
	judge "$1" "$2" $? 0
	daemon=
}
start_daemon "$tmp/log.daemon"
wait_for() { # at most a minute
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || return 1
		sleep 0.1
	done
}
socket_is_there() { ls "$tmp"/shm/*.sock; }
is_drained() { ! ls "$tmp"/shm/*-*-*-*-*-*.seg; }
wait_for socket_is_there
ok $? "the daemon listens"
launches=300
[ "${WT_VALGRIND:-}" = full ] && launches=3000
WAVETAP_RUN=first LD_LIBRARY_PATH="$build/tests/fake" LD_PRELOAD="$build/libwavetap.so" \
	"$build/tests/fake/app_launch" --launches $launches --threads 4 --streams 2 --kind mix --graph 5 \
	>"$tmp/app.out"
ok $? "a program runs"
wait_for is_drained
ok $? "its segment is drained and removed"
lock=$(ls "$tmp"/shm/*.lock)
head -c 70000 "$build/wavetapd" >"${lock%.lock}-1-1-1-00.seg"
head -c 100 /dev/zero >"${lock%.lock}-1-2-1-00.seg"
chmod 600 "$tmp"/shm/*.seg
[ "${WT_VALGRIND:-}" = full ] && wt 0 status
[ "${WT_VALGRIND:-}" = full ] && wt 0 status --json
stored=$(sqlite3 -batch "$(ls "$runs"/*.db)" "SELECT kernels FROM loss")
[ "$stored" = "$(tr ' ' '\n' <"$tmp/app.out" | sed -n 's/^kernels=//p')" ]
ok $? "every kernel is stored ($stored)"
end_daemon "$tmp/log.daemon" "wavetapd"

# ---- killed in the midst and started again; its recording imported; the sampler
if [ "${WT_VALGRIND:-}" = full ]; then
	rm -f "$runs"/* "$tmp"/shm/*.seg
	mkdir "$tmp/recordings"
	start_daemon "$tmp/log.killed"
	wait_for socket_is_there
	WAVETAP_RUN=again WAVETAP_RECORD="$tmp/recordings" LD_LIBRARY_PATH="$build/tests/fake" LD_PRELOAD="$build/libwavetap.so" \
		"$build/tests/fake/app_launch" --launches 3000 --threads 2 --rate 150 --graph 5 >"$tmp/app.out" &
	program=$!
	has_rows() { [ "$(sqlite3 -batch "$(ls "$runs"/*.db)" "SELECT launches_stored > 100 FROM loss")" = 1 ]; }
	wait_for has_rows
	ok $? "some launches are stored"
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	! grep -q 'Invalid\|uninitialised' "$tmp/log.killed"
	ok $? "the daemon is killed, and had no errors"
	start_daemon "$tmp/log.again"
	wait "$program"
	ok $? "the program ends well"
	wait_for is_drained
	ok $? "all is drained"
	wt 0 status
	end_daemon "$tmp/log.again" "wavetapd, after one that was killed"
	stored=$(sqlite3 -batch "$(ls "$runs"/*.db)" "SELECT kernels, unexplained FROM loss")
	[ "$stored" = "$(tr ' ' '\n' <"$tmp/app.out" | sed -n 's/^kernels=//p')|0" ]
	ok $? "every kernel is stored once ($stored)"
	wt 0 check
	wt 0 import -o "$tmp/again.db" "$tmp"/recordings/*
	wt 0 check "$tmp/again.db"
	wt 0 analyze -o "$tmp/analyzed.again.db"
	wt 0 gc
	export WAVETAP_DAEMON="$build/wavetapd" WTFAKE_PM="$tmp/pm" LD_LIBRARY_PATH="$build/tests/fake"
	wt 0 run --quiet -- "$build/tests/fake/app_launch" --launches 50
	wt 0 run --sample 1ms --name words --tag a=b -- "$build/tests/fake/app_launch" --launches 500
	(memcheck "$tmp/log.sampler" "$build/wavetap-sampler" --duration 300ms --interval 1ms >/dev/null 2>&1)
	judge "$tmp/log.sampler" "wavetap-sampler" $? 0
	wait_for is_drained
	wt 0 ledger --json
	wt 0 gc --force --keep 1
	unset WAVETAP_DAEMON WTFAKE_PM LD_LIBRARY_PATH
fi

echo "# $judged programs under memcheck"
echo "1..$count"
exit "$failed"

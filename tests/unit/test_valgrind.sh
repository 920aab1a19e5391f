#!/bin/sh
# wavetapd and the wavetap program under valgrind's memcheck: bad accesses, definite leaks and
# descriptors left open. A part of it in `make check`, all of it with WT_VALGRIND=full
# (make check-valgrind).
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
	exec valgrind --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
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
}

calls=0
wt() { # wt EXIT-CODE ARGUMENT...
	want=$1
	shift
	calls=$((calls + 1))
	(memcheck "$tmp/log.$calls" "$build/wavetap" "$@" >/dev/null 2>&1 </dev/null)
	judge "$tmp/log.$calls" "wavetap $*" $? "$want"
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
	for at in 0 100 4096 9000 16384 24576 40000 65536; do
		cp "$full" "$tmp/damaged.db"
		printf '\377\000\377\377\377\377\377\377wavetap\377' |
			dd of="$tmp/damaged.db" bs=1 seek="$at" conv=notrunc 2>/dev/null
		calls=$((calls + 1))
		# Whatever is said of it: nothing worse than an exit code of ours.
		(memcheck "$tmp/log.$calls" "$build/wavetap" top -r "$tmp/damaged.db" >/dev/null 2>&1)
		status=$?
		judge "$tmp/log.$calls" "top of a run file damaged at $at" "$status" \
			"$([ "$status" -le 3 ] && echo "$status" || echo 0)"
	done
fi

# ---- the daemon: a program that launches, a hostile segment, questions, an orderly end
rm -f "$runs"/*
memcheck "$tmp/log.daemon" "$build/wavetapd" --foreground --idle 60 >"$tmp/daemon.out" 2>&1 &
daemon=$!
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
kill -TERM "$daemon"
wait "$daemon"
judge "$tmp/log.daemon" "wavetapd" $? 0
daemon=

echo "1..$count"
exit "$failed"

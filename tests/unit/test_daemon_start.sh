#!/bin/sh
# Starting wavetapd: its options, going to the background, and a socket whose path is longer than an
# address holds; then readers of a run file on a read-only file system.
build=${top_builddir:-.}
build=$(cd "$build" && pwd)
tmp=$(mktemp -d /dev/shm/wt-start.XXXXXX) || exit 1
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
# shellcheck disable=SC2317 # called by wait_for
is_there() { [ -e "$1" ]; }
# shellcheck disable=SC2317
is_gone() { [ ! -e "$1" ]; }
wait_for() { # at most half a minute
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || return 1
		sleep 0.1
	done
}
says() { # says EXIT-CODE TEXT ARGUMENT...
	want=$1 text=$2
	shift 2
	"$build/wavetapd" "$@" >"$tmp/said" 2>&1
	got=$?
	[ "$got" -eq "$want" ] && grep -qF -- "$text" "$tmp/said"
	ok $? "wavetapd $*: exit $want (got $got), says: $text"
}

unset WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP LD_PRELOAD
long=$tmp/$(printf '%0150d' 0)
export LC_ALL=C WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$long" WAVETAP_DAEMON="$tmp/none"
mkdir -p "$tmp/data/runs" "$long"

says 0 "wavetapd " --version
says 0 "--idle" --help
says 2 "not a number of seconds: soon" --idle soon
says 2 "not a number of seconds: -1" --idle -1
says 2 "wavetapd --help" --no-such-option

sock=$long/wavetap-$(id -u)-$("$build/tests/unit/make_run" hash "$tmp/data").sock
"$build/wavetapd" --foreground --idle 60 >"$tmp/daemon.out" 2>&1 &
daemon=$!
wait_for is_there "$sock"
ok $? "a socket with a path of ${#sock} bytes"
"$build/wavetap" status >"$tmp/out" 2>"$tmp/err"
ok $? "status reaches it"
grep -q "pid $daemon " "$tmp/out"
ok $? "and it is that daemon"
says 1 "serves $tmp/data already" --idle 60
kill -TERM "$daemon"
wait "$daemon"
ok $? "an orderly end"
daemon=
is_gone "$sock"
ok $? "that takes the socket along"

# In the background: the command returns, the daemon has ended by itself a while later.
"$build/wavetapd" --idle 0.3 </dev/null >"$tmp/out" 2>&1
ok $? "without --foreground it goes to the background"
wait_for is_gone "${sock%.sock}.lock"
ok $? "and ends when there is nothing to do"

# A run file that was being written, with its journal complete, where nothing can be written.
file=$tmp/data/runs/19700101-001640-aaaa0001.db
"$build/tests/unit/make_run" "$file" full fixed 1000000000000
sqlite3 -batch "$file" "PRAGMA journal_mode=WAL" >"$tmp/out"
if unshare -rm true 2>/dev/null; then
	# shellcheck disable=SC2016 # for the inner shell
	unshare -rm sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" &&
		! touch "$1/new" 2>/dev/null && exec "$2" top -r fixed' sh "$tmp/data" "$build/wavetap" \
		>"$tmp/out" 2>"$tmp/err"
	ok $? "top of a run on a read-only file system"
	grep -q half "$tmp/out"
	ok $? "shows its kernels"
else
	count=$((count + 1))
	echo "ok $count - top of a run on a read-only file system # SKIP no user namespaces here"
fi

echo "1..$count"
exit "$failed"

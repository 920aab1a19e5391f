#!/bin/sh
# How the preload starts a daemon: who the daemon is, what it has, and that it is started once.
top=${top_builddir:-.}
top=$(cd "$top" && pwd)
app=$top/tests/fake/app_launch
if [ ! -x "$app" ] || [ ! -f "$top/libwavetap.so" ]; then
	echo "1..0 # SKIP not built: $app"
	exit 0
fi
tmp=$(mktemp -d /dev/shm/wt-spawn-XXXXXX) || exit 1
trap 'rm -rf "$tmp"' EXIT
count=0
failed=0

ok()
{
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
	fi
}

# Stands in for wavetapd: writes down what it was given.
cat >"$tmp/daemon" <<'END'
#!/bin/sh
{
	echo "args $*"
	env | sed 's/^/env /'
	for fd in 0 1 2; do echo "fd $fd $(readlink /proc/$$/fd/$fd)"; done
	ls /proc/$$/fd | while read -r fd; do [ "$fd" -gt 2 ] && echo "open $fd $(readlink /proc/$$/fd/$fd)"; done
	sed -n 's/^PPid:\t*/PPid /p' /proc/$$/status
	# of a child: a shell that waits may block signals for itself
	sed -n 's/^\(SigBlk\|SigIgn\):\t*\(.*\)/\1 \2/p' /proc/self/status
} >"$WAVETAP_DIR/report.part"
mv "$WAVETAP_DIR/report.part" "$WAVETAP_DIR/report"
END
chmod +x "$tmp/daemon"

# run DIR [NAME=VALUE...]: a program that launches, with a descriptor open and SIGHUP ignored
run()
{
	dir=$1
	shift
	mkdir -p "$tmp/$dir"
	(
		trap '' HUP
		exec 7</etc/passwd
		cd "$tmp" || exit 1
		# shellcheck disable=SC2086 # the emulator is a command with options
		env LD_LIBRARY_PATH="$top/tests/fake" WAVETAP_SHM_DIR="$tmp/$dir" WAVETAP_DIR="$dir" \
			WAVETAP_CUPTI=0 WAVETAP_DAEMON="$tmp/daemon" SECRET=1 \
			ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 TSAN_OPTIONS=die_after_fork=0 \
			"$@" \
			LD_PRELOAD="$top/libwavetap.so" $WT_EMULATOR "$app" --launches 10 >"$tmp/$dir/out" 2>&1
	)
}

report()
{
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ -f "$tmp/$1/report" ] && return 0
		sleep 0.1
	done
	return 1
}

run one
ok $? "a program that launches ends well"
if [ -n "$WT_EMULATOR" ]; then
	count=$((count + 1))
	echo "ok $count - it started the daemon # SKIP qemu-user refuses clone with exit signal 0"
	echo "1..$count"
	exit $failed
fi
report one
ok $? "it started the daemon"
r=$tmp/one/report
grep -qx 'args --spawned' "$r"
ok $? "as wavetapd --spawned"
grep -qx "env WAVETAP_DIR=$tmp/one" "$r"
ok $? "with the data directory made absolute"
grep -qx "env WAVETAP_SHM_DIR=$tmp/one" "$r"
ok $? "with wavetap's settings"
! grep -Eq '^env (LD_PRELOAD|LD_LIBRARY_PATH|SECRET)=' "$r"
ok $? "with nothing else of the program's environment"
[ "$(grep -c '^fd [012] /dev/null$' "$r")" -ge 2 ] && ! grep -q '/etc/passwd' "$r"
ok $? "with none of its descriptors"
grep -qx 'SigBlk 0000000000000000' "$r" && grep -Eqx 'SigIgn 0+' "$r"
ok $? "with no signal blocked or ignored"
pid=$(sed -n 's/.*parent pid=\([0-9]*\).*/\1/p' "$tmp/one/out")
[ "$(sed -n 's/^PPid //p' "$r")" != "$pid" ]
ok $? "and not as its child"

run off WAVETAP_SPAWN=0
sleep 0.3
[ ! -f "$tmp/off/report" ]
ok $? "WAVETAP_SPAWN=0 forbids it"

run missing WAVETAP_DAEMON=/nonexistent/wavetapd
ok $? "a daemon that isn't there changes nothing"

# A daemon at work holds the lock.
mkdir -p "$tmp/held"
run held WAVETAP_SPAWN=0
for name in "$tmp"/held/*.seg; do
	lock=$tmp/held/$(basename "$name" | cut -d- -f1-3).lock
done
if command -v flock >/dev/null; then
	flock -x "$lock" -c "sleep 2" &
	sleep 0.3
	run held
	sleep 0.3
	[ ! -f "$tmp/held/report" ]
	ok $? "none is started while one holds the lock"
	wait
fi

echo "1..$count"
exit $failed

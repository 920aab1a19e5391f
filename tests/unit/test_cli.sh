#!/bin/sh
# The wavetap program on run files with known sums: top as text, JSON and CSV against
# hand-calculated values, errors and exit codes, output failures, export, run's exit codes and
# summary (against a daemon with fixed answers), status, completion lists.
# Argument lists are split on purpose; cleanup is called by the trap; $ is for inner shells.
# shellcheck disable=SC2086,SC2317,SC2016
set -u
build=${top_builddir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-cli.XXXXXX") || exit 99
daemon_pid=
cleanup() {
	[ -z "$daemon_pid" ] || kill "$daemon_pid" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

count=0 failed=0
ok() { # ok STATUS WHAT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		sed 's/^/# out: /' "$tmp/out" | head -20
		sed 's/^/# err: /' "$tmp/err" | head -20
	fi
}
# wt EXPECTED_CODE ARGUMENT...: runs wavetap; its output is in $tmp/out and $tmp/err.
wt() {
	want=$1
	shift
	"$tmp/bin/wavetap" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ]
	ok $? "wavetap $*: exit $want (got $got)"
}
out_has() { grep -qF -- "$1" "$tmp/out"; ok $? "stdout has: $1"; }
err_has() { grep -qF -- "$1" "$tmp/err"; ok $? "stderr has: $1"; }
out_matches() { grep -qE -- "$1" "$tmp/out"; ok $? "stdout matches: $1"; }
one_error_line() { # one line, and a second one that says where help is at most
	[ "$(grep -c '^wavetap: ' "$tmp/err")" -eq 1 ] && [ "$(wc -l <"$tmp/err")" -le 2 ]
	ok $? "one clear line on stderr: ${1:-}"
}

unset COLUMNS NO_COLOR WAVETAP_COLOR WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP LD_PRELOAD
export LC_ALL=C TERM=xterm TZ=UTC0
export WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm" WAVETAP_DAEMON="$tmp/no-such-daemon"
mkdir -p "$tmp/bin" "$tmp/data" "$tmp/shm" || exit 99
# A folder of its own, so that what lies in the build folder is neither found nor needed.
cp "$build/wavetap" "$tmp/bin/" || exit 99
make_run="$build/tests/unit/make_run"

# ---- nothing recorded yet
wt 3 top
err_has "no run has been recorded"
one_error_line
wt 3 runs
wt 0 status
out_has "wavetapd is not running"

mkdir -p "$tmp/data/runs"
runs="$tmp/data/runs"
"$make_run" "$runs/19700101-001640-aaaa0001.db" short job-aaaa0001 1000000000000 &&
	"$make_run" "$runs/19700101-003320-aaaa0002.db" full job-aaaa0002 2000000000000 &&
	"$make_run" "$runs/19700101-005000-aaaa0003.db" lossy job-aaaa0003 3000000000000 &&
	"$make_run" "$runs/19700101-010640-aaaa0004.db" hooks job-aaaa0004 4000000000000 &&
	"$make_run" "$runs/19700101-012320-aaaa0005.db" empty job-aaaa0005 5000000000000
ok $? "run files made"

# ---- top: text
wt 0 top -r aaaa0002
cp "$tmp/out" "$tmp/plain"
out_has "1x Testbed 4 4 SMs"
out_has "whole run 10.0s"
out_has "a kernel ran 70.0% of the time"
# Of 4 SMs x 10 s: two SMs idle for a second before and after the second in which both launches of "half" run side
# by side; waves 3 to 6 SM-s; the cooperative launch has 4. The row of "half" counts each as if alone.
out_has "lost in kernels ~17.5% to 25.0% of the GPU"
out_has "= under ~10.0 wave ~7.5 to 15.0"
out_has "unjudged 10.0%"
out_has "active ~42.5%  gaps 30.0% = unknown 30.0"
out_matches '^1  ~2000  20\.0  ~2000 +0 +0  4000  2  2000000   0\.50  half$'
out_matches '^2 +~750 +7\.5 +0 +~750 +~1500  3000  2  1500000 +\.  tail$'
out_matches '^3 +\. +\. +\. +\. +\. +1000 +1 +1000000 +\.  ev\\x1bil,"x$'
out_has "unjudged 1000 ms"
out_has "lost 0 of 5"
out_has "upper bound where kernels overlap (12.5% of TIME)"
out_has "next: wavetap show -r"
! grep -q "$(printf '\033')" "$tmp/out"
ok $? "a pipe gets neither colour nor the name's escape character"
wt 0 top -r aaaa0002 --limit 1
out_matches '^ +~750 +7\.5 .* 3 +2 more$'
out_has "--limit 0 shows all"
wt 0 top -r aaaa0002 --group config
[ "$(grep -cE '^[1-4] ' "$tmp/out")" -eq 4 ]
ok $? "one row per configuration"
out_matches '^2 +~500 +5\.0 .* 1\.50 +6 +128 .* tail$'
wt 0 top -r aaaa0002 --by time --columns rank,time,kernel
out_matches '^1  4000  half$'
wt 0 top -r aaaa0002 --by wave --columns rank,wavemax,kernel
out_matches '^1 +~1500  tail$'
out_matches '^3 +\.  ev'
wt 0 top -r aaaa0001
out_has "LOST..TIME: us of the whole GPU"
wt 0 top -r aaaa0003
out_has "lost 6 of 11" # the record that CUPTI dropped was no kernel's: no launch misses one
out_has "lost 1 CUPTI records, not of kernels alone: dropped by CUPTI"
out_has "lost 3 launch calls: ring full"
out_has "lost 2 kernel records: ring full"
out_has "lost 4 kernel times: not usable, so not ranked"

# ---- two devices: SM-time is divided by the SMs of its own
"$make_run" "$tmp/pair.db" pair job-pair 1
wt 0 top -r "$tmp/pair.db"
out_has "1x Testbed 4 4 SMs  + 1x Testbed 8 8 SMs"
out_has "LOST..TIME: ms of a whole GPU over the run, ALL% of the SMs of all 2"
out_has "device 1 Testbed 4 4 SMs: a kernel ran 70.0% of the time"
out_has "device 2 Testbed 8 8 SMs: a kernel ran 10.0% of the time"
out_matches '^1 +~2500 +10\.0 +~2500 +0 +0 +5000 +3 .* 0\.50  half$'
wt 0 top -r "$tmp/pair.db" --device 2
out_matches '^1 +~500 +5\.0 +~500 +0 +0 +1000 +1 .* half$'
out_has "under ~5.0 wave ~0.0"
wt 0 top -r "$tmp/pair.db" --group config --columns device,lost,grid,limiter,cluster,min,max,configs,graph,id
out_matches '^ *2 +~500 +4  registers +- +1000000 +1000000 +1 +0 +1$'

# ---- width and colour
COLUMNS=60 wt 0 top -r aaaa0002
[ "$(grep -E '^[0-9#]' "$tmp/out" | awk '{ if (length > 66) n++ } END { print n + 0 }')" -eq 0 ] &&
	! grep -q 'WAVE<=' "$tmp/out"
ok $? "60 columns: short lines, fewer columns"
COLUMNS=160 wt 0 top -r aaaa0002
out_has "WAVE<="
WAVETAP_COLOR=always wt 0 top -r aaaa0002
grep -q "$(printf '\033\\[1m')" "$tmp/out"
ok $? "WAVETAP_COLOR=always colours"
NO_COLOR=1 wt 0 top -r aaaa0002
cmp -s "$tmp/out" "$tmp/plain"
ok $? "NO_COLOR: plain"

# ---- which run is meant
wt 0 top
out_has "run aaaa0003" # the last with a second of kernels
wt 0 top -r latest~1
out_has "run aaaa0002"
wt 1 top -r latest~2
one_error_line
wt 0 top -r job-aaaa0001
out_has "run aaaa0001"
wt 0 top --run=19700101-003320-aaaa0002
out_has "run aaaa0002"
wt 0 top "-r$runs/19700101-003320-aaaa0002.db"
out_has "run aaaa0002"
wt 1 top -r nosuch
err_has 'there is no run "nosuch"'
one_error_line
wt 1 top -r ./nosuch.db
err_has "no such file"
one_error_line

# ---- top: JSON and CSV
json() { # json EXPECTED EXPRESSION: asks the JSON of the last command
	got=$("$make_run" json "$tmp/out" "$2")
	[ "$got" = "$1" ]
	ok $? "$2 is $1 (got $got)"
}
wt 0 top -r aaaa0002 --json
json 1 '$.schema'
json aaaa0002 '$.run.id'
json 10000000000 '$.window.wall_ns'
json 7000000000 '$.devices[0].busy_ns'
json 8000000000 '$.rows[0].underfill_sm_ns'
json 8000000000 '$.rows[0].idle_sm_ns'
json 0.5 '$.rows[0].waves'
json 3000000000 '$.rows[1].tail_idle_sm_ns'
json 6000000000 '$.rows[1].wave_max_sm_ns'
json null '$.rows[1].waves'
json 'several configurations' '$.rows[1].reason.waves'
json 'tail(float*)' '$.rows[1].kernel'
json null '$.rows[2].idle_sm_ns'
json null '$.rows[2].wave_sm_ns'
json 'cooperative launch' '$.rows[2].reason.wave_sm_ns'
json 4000000000 '$.rows[2].unjudged_sm_ns'
json model '$.rows[0].evidence.wave_sm_ns'
json null '$.rows[0].evidence.straggle_sm_ns'
json null '$.rows[0].straggle_sm_ns'
json 0 '$.steps.is_found'
json null '$.steps.first_step'
json 0 '$.loss.unexplained'
wt 0 top -r aaaa0003 --json --limit 1
json 3 '$.loss.launches_dropped'
json null '$.rows[1]'
wt 0 top -r aaaa0002 --csv
[ "$(wc -l <"$tmp/out")" -eq 4 ]
ok $? "CSV: a heading and three rows"
out_matches '^1,,half,half,2,0,4000000000,2000000000,2000000000,1,0\.5[0-9]*,[0-9]*,8000000000,0,0,,,0,8000000000,0,0,'
grep -qF '"ev'"$(printf '\033')"'il,""x"' "$tmp/out"
ok $? "CSV quotes commas and quotes"

# ---- rows that sum a device, a process or a rank: each sums to the same total
"$make_run" "$tmp/ranks.db" ranks job-ranks 1
wt 0 top -r "$tmp/ranks.db" --group device
out_matches '^2 +~2750 +9\.2 .* 8000 +5 +3  device 1  4 SMs  Testbed 4  aa$'
out_matches '^1 +~1500 +10\.0 .* 3000 +3 +2  device 2  8 SMs  Testbed 8  bb$'
out_has "DEVICE"
out_has "--group kernel"
wt 0 top -r "$tmp/ranks.db" --group process
out_matches '^1 +~3250 +12\.5 .* 9000 +6 +3  pid 42  rank 0 of 2  2 devices  app --x$'
out_matches '^2 +~500 +3\.3 .* 1000 +1 +1  pid 43  rank 1 of 2  device 2  app --rank$'
out_matches '^3 +~500 +3\.3 .* 1000 +1 +1  pid 44  device 2  app --rank$'
wt 0 top -r "$tmp/ranks.db" --group rank --limit 2
out_matches '^1 +~3250 .*  rank 0 of 2  1 process  2 devices$'
out_matches '^ +~500 +3\.3 .* 1 more$'
wt 0 top -r "$tmp/ranks.db" --group rank --columns rank,device,id,grid,waves,kernel
out_matches '^1 +\. +\. +\. +\.  rank 0 of 2 '
out_matches '  no rank  1 process  device 2$'
wt 0 top -r "$tmp/ranks.db" --group process --device 2 --by time
out_matches '^1 +~500 .* 1000 +1 +1  pid 42  rank 0 of 2  device 2  app --x$'
for group in kernel config device process rank; do
	wt 0 top -r "$tmp/ranks.db" --group $group --json
	json 23000000000 '$.total.idle_sm_ns'
	sums=$("$make_run" sums "$tmp/out")
	[ "$sums" = "8|11000000000|23000000000|6000000000|4000000000|4250000000" ]
	ok $? "--group $group: rows and total agree (launches, time, idle, wave_max, unjudged, gpu: $sums)"
	wt 0 top -r "$tmp/ranks.db" --group $group --csv
	[ "$(head -n 1 "$tmp/out" | tr ',' '\n' | grep -cE '^(device_id|device|process_id|pid|rank|world_size)$')" -eq 6 ]
	ok $? "--group $group: the CSV has the columns of groups"
done
wt 0 top -r "$tmp/ranks.db" --group device --json
json 1 '$.rows[1].device_id'
json 'Testbed 8' '$.rows[0].device'
json bb '$.rows[0].device_uuid'
json 8 '$.rows[0].sms'
json 3 '$.rows[0].processes'
json null '$.rows[0].rank'
json null '$.rows[0].kernel_id'
json 'not of one kernel' '$.rows[0].reason.waves'
wt 0 top -r "$tmp/ranks.db" --group process --json
json 42 '$.rows[0].pid'
json 'app --x' '$.rows[0].process'
json host '$.rows[0].hostname'
json null '$.rows[0].device_id'
json 2 '$.rows[0].devices'
json 2 '$.rows[1].device_id'
json 1 '$.rows[1].rank'
json 2 '$.rows[1].world_size'
json null '$.rows[2].rank'
wt 0 top -r "$tmp/ranks.db" --group rank --csv
out_matches '^,,,,6,0,9000000000,'

# ---- no data
wt 3 top -r aaaa0004
err_has "hooks-only, 5 launches without kernel times: libcupti was not found"
one_error_line
wt 3 top -r aaaa0004 --json
json hooks-only '$.incomplete[0].capture'
json null '$.window'
wt 3 top -r aaaa0005
err_has "no process launched a kernel"
wt 3 top -r aaaa0002 --device 7
err_has 'run aaaa0002 has no device "7"; it has 1 (Testbed 4, aa)'
wt 0 top -r aaaa0002 --device 1

# ---- usage
for arguments in "top --nosuch" "top -Z" "top --by nosuch" "top --by" "top --limit x" "top --limit -1" \
	"top extra" "top --columns rank,nosuch" "top --json=1" "top --json --csv" "top --columns rank --csv" \
	"nosuch" "--nosuch" "run" "run --tag x true" "export" "export -o x" "export -o - --format sqlite" \
	"--list-options" "help nosuch" "top --l 1 --f --c"; do
	wt 2 $arguments
	one_error_line "$arguments"
	[ ! -s "$tmp/out" ]
	ok $? "nothing on stdout"
done
wt 3 top --by straggle
err_has "blocks of unequal length need a measurement, and run "
one_error_line
wt 3 top --by latency -r aaaa0002
err_has "no launch of the run has a call of its own that is known"
one_error_line
wt 3 top --group stream -r aaaa0004
err_has "hooks-only, 5 launches without kernel times"
wt 2
wt 0 top --lim 1 -r aaaa0002 # an unambiguous beginning
wt 0 --version
out_matches '^wavetap [0-9]+\.'
wt 0 help
for command in $("$tmp/bin/wavetap" --list-commands); do
	wt 0 help "$command"
	out_has "usage: wavetap $command"
	wt 0 --list-options "$command"
	out_has "--help"
	# shellcheck disable=SC2013 # one word a line
	for option in $(grep '^--' "$tmp/out"); do
		"$tmp/bin/wavetap" help "$command" | grep -qF -- "$option"
		ok $? "help $command has $option"
	done
done
wt 0 top --columns help
out_has "wavemax"

# ---- files that are no runs
echo "not a database" >"$tmp/text.db"
wt 1 top -r "$tmp/text.db"
err_has "not a wavetap run file"
one_error_line
"$make_run" foreign "$tmp/foreign.db"
wt 1 top -r "$tmp/foreign.db"
err_has "not a wavetap run file"
one_error_line
"$make_run" "$tmp/newer.db" newer job-newer 1
wt 1 top -r "$tmp/newer.db"
err_has "newer wavetap"
one_error_line
head -c 20000 "$runs/19700101-003320-aaaa0002.db" >"$tmp/cut.db"
wt 1 top -r "$tmp/cut.db"
one_error_line
wt 1 top -r "$tmp/"
one_error_line
if [ "$(id -u)" -ne 0 ]; then
	cp "$tmp/newer.db" "$tmp/unreadable.db"
	chmod 000 "$tmp/unreadable.db"
	wt 1 top -r "$tmp/unreadable.db"
	err_has "permission denied"
fi
cp "$tmp/text.db" "$runs/19700101-014000-bad.db"
wt 0 runs
err_has "not a wavetap run file"
out_has "unreadable"
out_matches '^aaaa0002  job-aaaa0002  1970-01-01 00:33 +10\.0s +1 +1 +5 +8\.00s .* finished'
wt 0 runs --json
json aaaa0001 '$.runs[0].id'
json 5 '$.runs[1].kernels'
wt 0 top # an unreadable file doesn't hide the others
rm "$runs/19700101-014000-bad.db"

# ---- output that fails
if [ -w /dev/full ]; then
	for arguments in "top -r aaaa0002" "top -r aaaa0002 --json" "top -r aaaa0002 --csv" "runs" "status" \
		"help" "--version" "export -r aaaa0002 -o - --format csv" \
		"export -r aaaa0002 -o - --format json"; do
		"$tmp/bin/wavetap" $arguments >/dev/full 2>"$tmp/err"
		[ $? -eq 1 ] && grep -q 'No space left' "$tmp/err"
		ok $? "full disk: wavetap $arguments"
	done
fi
"$tmp/bin/wavetap" top -r aaaa0002 >&- 2>"$tmp/err"
[ $? -eq 1 ] && grep -q "can't write" "$tmp/err"
ok $? "closed stdout"
mkfifo "$tmp/fifo"
{
	# The reader is gone before a word is written.
	sleep 0.3
	"$tmp/bin/wavetap" top -r aaaa0002 2>"$tmp/err"
	echo $? >"$tmp/code"
} >"$tmp/fifo" &
: <"$tmp/fifo"
wait $!
[ "$(cat "$tmp/code")" -eq 1 ] && [ ! -s "$tmp/err" ]
ok $? "closed pipe: exit 1, no words"

# ---- export
mkfifo "$tmp/fifo"
for command in "export --format csv" analyze; do
	wt 1 $command -r aaaa0002 --force -o "$tmp/fifo"
	[ -p "$tmp/fifo" ]
	ok $? "what is not a file is not replaced: $command"
done
wt 0 export -r aaaa0002 -o "$tmp/copy.db"
wt 0 top -r "$tmp/copy.db"
sed "1d; /next: /d" "$tmp/plain" >"$tmp/plain2"
sed "1d; /next: /d" "$tmp/out" | cmp -s - "$tmp/plain2"
ok $? "the copy gives the same top"
wt 1 export -r aaaa0002 -o "$tmp/copy.db"
err_has "exists already"
one_error_line
wt 0 export -r aaaa0002 -o "$tmp/copy.db" --force
wt 0 export -r aaaa0002 -o "$tmp/rows.csv"
[ "$(wc -l <"$tmp/rows.csv")" -eq 6 ]
ok $? "CSV: a heading and five launches"
wt 0 export -r aaaa0002 -o "$tmp/rows.json"
cp "$tmp/rows.json" "$tmp/out"
json 6 '$.launches[1].grid_x'
json 2000000000 '$.launches[0].duration_ns'
json null '$.launches[5]'
wt 3 export -r aaaa0004 -o "$tmp/none.csv"
[ ! -e "$tmp/none.csv" ]
ok $? "no data: no file"
wt 1 export -r aaaa0002 -o "$tmp/no/such/folder.csv"
one_error_line
! ls "$tmp"/*.db.?????? "$tmp"/*.csv.?????? "$tmp"/*.json.?????? >/dev/null 2>&1
ok $? "no temporary file is left"

# ---- status
wt 0 status
out_has "run aaaa0003"
out_has "lost 3 launch calls: ring full"
out_has "hooks-only: libcupti was not found  1 process (pid 42)  5 launches"
wt 0 status --json
json null '$.daemon'
json 3 '$.runs[0].loss.launches_dropped'

# ---- preload and run, with a library that does nothing
wt 1 preload
one_error_line
wt 1 run true
one_error_line
if ! printf 'int wavetap_nothing;\n' | ${CC:-cc} -shared -fPIC -x c - -o "$tmp/bin/libwavetap.so" 2>/dev/null; then
	echo "# no compiler: wavetap run is not tested"
	echo "1..$count"
	exit $((failed > 0))
fi
wt 0 preload
[ "$(cat "$tmp/out")" = "$(cd "$tmp/bin" && pwd -P)/libwavetap.so" ]
ok $? "preload prints the path"
wt 0 run -q -- true
[ ! -s "$tmp/err" ]
ok $? "-q: nothing on stderr"
wt 0 run true
err_has "wavetapd was not found"
one_error_line
wt 3 run -q sh -c 'exit 3'
wt 127 run -q nosuchcommand
err_has "nosuchcommand: No such file"
one_error_line
: >"$tmp/plain-file"
wt 126 run -q "$tmp/plain-file"
one_error_line
wt 126 run -q "$tmp"
wt 0 run -q --name N --tag a=1 -t b=2 --dir "$tmp/data/../data" -- sh -c \
	'echo "$LD_PRELOAD|$WAVETAP_NAME|$WAVETAP_TAGS|$WAVETAP_DIR|${WAVETAP_RUN:+key}"'
out_matches '/libwavetap\.so\|N\|a=1,b=2\|/.*/data\|key$'
# A runtime that has to come first can't, then.
case ${WT_SANITIZED:-} in
*address* | *thread*) ;;
*)
	LD_PRELOAD=libc.so.6 wt 0 run -q sh -c 'echo "$LD_PRELOAD"'
	out_matches '^libc\.so\.6:/.*/libwavetap\.so$'
	;;
esac
LD_PRELOAD='' wt 0 run -q sh -c 'echo "[$1]" "$@"' x -- --name y
out_has "[--] -- --name y"
"$tmp/bin/wavetap" run -q sh -c 'kill -TERM $$' 2>/dev/null
[ $? -eq 143 ]
ok $? "a signal is raised again: the shell sees 143"
(
	# shellcheck disable=SC3045 # where the shell has it
	ulimit -c unlimited 2>/dev/null
	cd "$tmp" && bin/wavetap run -q sh -c 'ulimit -c 0; kill -SEGV $$' 2>/dev/null
	[ $? -eq 139 ] && ! ls core* >/dev/null 2>&1
)
ok $? "no second core file"
# gcc 12's ThreadSanitizer keeps signals back from a program that waits in waitid().
case ${WT_SANITIZED:-} in
*thread*)
	count=$((count + 1))
	echo "ok $count - SIGTERM is passed on # SKIP ThreadSanitizer delays signal handlers"
	;;
*)
	"$tmp/bin/wavetap" run -q sh -c 'trap "exit 7" TERM; echo up >"$0"; while :; do sleep 0.05; done' \
		"$tmp/up" &
	run_pid=$!
	while [ ! -s "$tmp/up" ]; do sleep 0.05; done
	kill -TERM "$run_pid"
	wait "$run_pid"
	[ $? -eq 7 ]
	ok $? "SIGTERM is passed on, the program decides"
	;;
esac
# A shell without job control starts background commands with SIGINT ignored: that must stay.
"$tmp/bin/wavetap" run -q sh -c 'kill -PIPE $$; exit 5'
[ $? -eq 141 ]
ok $? "SIGPIPE is inherited as it was"

# ---- the summary, with a daemon that answers
hash=$("$make_run" hash "$tmp/data")
sock="$tmp/shm/wavetap-$(id -u)-$hash.sock"
start_daemon() {
	[ -z "$daemon_pid" ] || kill "$daemon_pid"
	rm -f "$sock" "$tmp/ready"
	"$build/tests/unit/answering_daemon" "$sock" "$1" "$2" >"$tmp/ready" &
	daemon_pid=$!
	while [ ! -s "$tmp/ready" ]; do sleep 0.05; done
}
if [ "${#sock}" -lt 108 ]; then
	start_daemon '{"version":"9","pid":12,"uptime_s":3,"processes":[{"pid":7,"rank":3,"state":"live","capture":"hooks-only","reason":"no CUPTI","stalled":false,"launches_attempted":1000,"launches_dropped":3,"kernels_stored":5,"kernels_dropped":4,"rings":[{"cells":10,"used":5},{"cells":10,"used":2}],"command":"app -x","cost":{"hook_p50_ns":110,"own_ns":20000,"wall_ns":1000000},"budget":{"reason":"WAVETAP_BUDGET is odd"}}],"runs":[{"path":"/r.db","store":{"error":"disk full"}}],"refused":[{"segment":"s","reason":"too new"}]}' \
		"ok $runs/19700101-003320-aaaa0002.db"
	wt 4 run sh -c 'echo mine; exit 4'
	[ "$(cat "$tmp/out")" = mine ]
	ok $? "stdout belongs to the program"
	err_has "nvidia-smi  would show 70.0% busy"
	err_has "-r aaaa0002"
	[ "$(wc -l <"$tmp/err")" -le 14 ]
	ok $? "about ten lines"
	wt 0 status
	out_has "wavetapd 9 runs  pid 12  up 3.00s"
	out_matches '^ *7 +3  live +hooks-only +1,000 +5 +7 +50 +110ns +2\.0  app -x$'
	out_has "process 7: hooks-only: no CUPTI"
	out_has "process 7: WAVETAP_BUDGET is odd"
	out_has "/r.db: disk full"
	out_has "segment s is left alone: too new"
	wt 0 status --json
	json 12 '$.daemon.pid'
	start_daemon '{}' none
	wt 0 run true
	err_has "launched a CUDA kernel"
	one_error_line
	start_daemon '{}' "ok $runs/19700101-010640-aaaa0004.db"
	wt 0 run true
	err_has "libcupti was not found"
	start_daemon '{}' "timeout $tmp/data"
	wt 0 run true
	err_has "can't store the run"
	start_daemon '{}' "timeout $runs/19700101-003320-aaaa0002.db"
	wt 0 run true
	err_has "the numbers below are not final"
	start_daemon 'nonsense' "what?"
	wt 1 status
	wt 0 run true
	err_has 'wavetapd said "what?"'
fi

echo "1..$count"
exit $((failed > 0))

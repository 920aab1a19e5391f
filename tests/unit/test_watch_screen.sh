#!/bin/sh
# top --watch and status --watch in a real terminal (tmux), on finished runs: figures are those of `top`, keys, sizes,
# locales, colours, signals, a run file that goes. Nothing waits for a time: each step waits until the screen says
# what it should.
set -u
build=${top_builddir:-.}
src=${top_srcdir:-.}
skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
command -v tmux >/dev/null 2>&1 || skip "no tmux"
command -v sqlite3 >/dev/null 2>&1 || skip "no sqlite3"
build=$(cd "$build" && pwd)
src=$(cd "$src" && pwd)
wavetap=$build/wavetap
"$wavetap" top --watch 2>&1 </dev/null | grep -q 'without ncurses' && skip "built without ncurses"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-watch.XXXXXX") || exit 99
cleanup() {
	tmux -S "$tmp/tmux" kill-server 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
count=0 failed=0
ok() { # STATUS WHAT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
		[ ! -s "$tmp/screen" ] || sed 's/^/# /' "$tmp/screen"
	fi
}
unset COLUMNS NO_COLOR WAVETAP_COLOR WAVETAP_RUN WAVETAP_NAME WAVETAP LD_PRELOAD LC_CTYPE LANG TMUX
export TZ=UTC0 WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm" WAVETAP_DAEMON="$tmp/none" LC_ALL=C
mkdir -p "$tmp/data/runs" "$tmp/shm" || exit 99
run=$tmp/data/runs/20261101-000000-00000001.db
"$wavetap" import -o "$run" "$src/tests/data/sim-demo.wtrec" >/dev/null 2>&1
ok $? "a run"

# ---- the terminal
in_tmux() {
	tmux -S "$tmp/tmux" -f /dev/null "$@"
}
# A server that has nobody any more ends, and would take the next session along.
in_tmux new-session -d -s keep "sleep 10000" || skip "tmux does not start"
see() {
	in_tmux capture-pane -p -t t >"$tmp/screen" 2>/dev/null
}
shown() { # REGEX WHAT: waits until some line of the screen matches
	tries=0
	until see && grep -qE -- "$1" "$tmp/screen"; do
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || break
		sleep 0.1
	done
	[ "$tries" -lt 300 ]
	ok $? "$2"
}
start() { # COLUMNSxROWS COMMAND: in a shell that says how it ended, and what the terminal is like then
	in_tmux kill-session -t t 2>/dev/null
	echo "$2; echo ended \$?; stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo terminal restored; sleep 1000" >"$tmp/command"
	in_tmux new-session -d -s t -x "${1%x*}" -y "${1#*x}" "sh $tmp/command"
}
watch() { # COLUMNSxROWS ARGUMENTS
	start "$1" "exec 2>$tmp/err; $wavetap top --watch $2"
	shown '^. help  q quit' "top --watch $2 in $1"
}
press() {
	in_tmux send-keys -t t "$@"
}
pid_of() { # of the wavetap in the terminal
	pid=$(in_tmux display-message -p -t t '#{pane_pid}')
	for child in $(cat "/proc/$pid/task/$pid/children"); do
		echo "$child"
	done | tail -n 1
}
alternate() { # 1: the program has the screen
	in_tmux display-message -p -t t '#{alternate_on}'
}
# The rows on the screen: launches and the beginning of the name, in their order.
rows() {
	sed -n '/KERNEL *$/,/ all [0-9]/p' "$tmp/screen" | sed '1d;$d;s/^> /  /;s/,//g' | awk '{ print $N, $NF }' N="$1"
}

# ---- figures
watch 120x40 "--all -r $run"
in_tmux resize-window -t t -x 121 -y 40
# N is the 8th column in that width.
rows 8 | cut -d ' ' -f 1 >"$tmp/got"
"$wavetap" top --all --json -r "$run" >"$tmp/json" 2>/dev/null
query() {
	sqlite3 -batch :memory: "SELECT $1 FROM json_each(readfile('$2'), '$3')"
}
query "json_extract(value, '\$.launches')" "$tmp/json" '$.rows' >"$tmp/want" 2>/dev/null
[ -s "$tmp/want" ] && cmp -s "$tmp/got" "$tmp/want"
ok $? "launches of each row as in top --json, in its order"
"$wavetap" ledger --all --json -r "$run" >"$tmp/ledger" 2>/dev/null
want=$(query "printf('%.1f', 100.0 * json_extract(value, '\$.active_sm_ns') / json_extract(value, '\$.total_sm_ns'))" "$tmp/ledger" '$.devices')
grep -qF "A active ~$want%" "$tmp/screen"
ok $? "the active part as in ledger --json: $want %"
for cause in host launch; do
	want=$(query "printf('%.1f', 100.0 * json_extract(value, '\$.gap_by_cause_sm_ns.$cause') / json_extract(value, '\$.total_sm_ns'))" "$tmp/ledger" '$.devices')
	[ "$want" = 0.0 ] || grep -qF " $cause $want" "$tmp/screen"
	ok $? "gaps by $cause as in ledger --json: $want %"
done
grep -q 'lost 0' "$tmp/screen" && grep -q 'evidence: model' "$tmp/screen" && grep -q 'whole run' "$tmp/screen" && grep -q '132 SMs' "$tmp/screen"
ok $? "loss, evidence, window and device are told"
! LC_ALL=C grep -q '[^ -~]' "$tmp/screen"
ok $? "C locale: ASCII alone"
grep -qE '^device 1 +active A+' "$tmp/screen"
ok $? "... with letters in the bar"

# ---- keys
press s
shown '^sort by' "s: what to sort by"
press Down Down Down Down Enter
shown '^by time' "... by time"
rows 8 | cut -d ' ' -f 1 >"$tmp/got"
"$wavetap" top --all --by time --json -r "$run" >"$tmp/json" 2>/dev/null
query "json_extract(value, '\$.launches')" "$tmp/json" '$.rows' >"$tmp/want"
cmp -s "$tmp/got" "$tmp/want"
ok $? "rows in the order of top --by time"
press g
shown '^a row is' "g: what a row is"
press Escape
shown '^by time' "... and not"
press g Down Enter
shown '^by time, each config' "... configurations"
press g Home Enter
shown '^by time  ' "... and kernels again"
name=$("$wavetap" top --all --csv -r "$run" 2>/dev/null | sqlite3 -batch :memory: '.mode csv' '.import /dev/stdin t' 'SELECT substr(kernel, 1, 6) FROM t LIMIT 1')
press / "$name"
shown "filter $name: [1-9][0-9]* of" "/: a filter while it is typed"
press Enter
shown '^. help  q quit' "... kept"
press / '('
shown '^(.*\(|[^ ].*[Uu]nmatched)' "... and what is no expression is told"
press Escape
shown "filter $name: [1-9]" "... the former one is back"
press / C-h C-h C-h C-h C-h C-h Enter
shown '^by time  LOST' "... and none"
press Down
shown '^> +2 ' "down: the second row"
press End Home
shown '^> +1 ' "Home: the first"
press f
shown 'FROZEN' "f: frozen"
press w
shown 'the view is frozen' "... and says so"
press f
shown 'finished' "f: goes on"
press w
shown 'last 10s: ' "w: the last seconds"
press w
shown 'as wavetap top has it' "w: as top"
press '?'
shown '^Keys' "?: help"
press q Enter
shown 'wavetap show id:[0-9]+ ' "Enter: all about the kernel"
kernel=$(sed -n 's/.*wavetap show \(id:[0-9]*\) .*/\1/p' "$tmp/screen" | head -n 1)
COLUMNS=121 "$wavetap" show --all "$kernel" -r "$run" 2>/dev/null | sed -n '1,12s/ *$//p' >"$tmp/want"
sed -n '2,13p' "$tmp/screen" >"$tmp/got"
[ -s "$tmp/want" ] && cmp -s "$tmp/want" "$tmp/got"
ok $? "... as wavetap show has it"
in_tmux resize-window -t t -x 121 -y 12
shown 'lines 1-9 of' "... in a smaller terminal"
press Down
shown 'lines 2-10 of' "... scrolls"
in_tmux resize-window -t t -x 121 -y 40
press Escape i
shown '^ranked by|ranked by idle|LOST..TIME.*ranked by time' "i: the run as top has it"
press Escape

# ---- sizes
in_tmux resize-window -t t -x 40 -y 8
shown 'terminal too small' "40x8: told"
for size in 50x12 80x24 200x50 250x60; do
	in_tmux resize-window -t t -x "${size%x*}" -y "${size#*x}"
	shown '^. help  q quit' "$size"
	awk -v most="${size%x*}" 'length($0) > most { exit 1 }' "$tmp/screen" && grep -qE '^>' "$tmp/screen"
	ok $? "$size: rows, none too wide"
done
press q
shown '^ended 0' "q: ends with 0"
shown '^terminal restored' "... and the terminal is as before"
[ "$(alternate)" = 0 ] && [ ! -s "$tmp/err" ]
ok $? "... off the whole screen, and nothing on stderr"

# ---- signals
for signal in INT TERM HUP; do
	watch 80x24 "-r $run"
	[ "$(alternate)" = 1 ]
	ok $? "on the whole screen"
	kill -s $signal "$(pid_of)"
	shown '^terminal restored' "SIG$signal: the terminal is as before"
	[ "$(alternate)" = 0 ] && grep -qE '^ended (129|130|143)$' "$tmp/screen"
	ok $? "... and it ended by the signal"
done
start 80x24 "set -m; $wavetap top --watch -r $run; echo stopped; read answer; fg >/dev/null"
shown '^. help  q quit' "under a shell with jobs"
kill -s TSTP "$(pid_of)"
shown '^stopped' "SIGTSTP: stopped, and the terminal is the shell's"
press Enter
shown '^. help  q quit' "SIGCONT: the whole screen again"
press q
shown '^ended 0' "... and it works"

# ---- names that would command the terminal
cp "$run" "$tmp/hostile.db"
sqlite3 -batch "$tmp/hostile.db" "UPDATE kernel SET name = char(27) || ']0;owned' || char(7) || char(27) || '[2J' || char(155) || '31m' || kernel_id;
  UPDATE gpu SET name = char(27) || '[31mgpu'; INSERT OR REPLACE INTO meta VALUES ('name', char(27) || ']0;owned' || char(7))"
watch 120x30 "--no-color -r $tmp/hostile.db"
in_tmux pipe-pane -t t "cat >$tmp/raw"
press C-l i
shown 'owned' "names with escape codes: as text"
press q Enter
shown 'wavetap show' "... in show, too"
press q q
shown '^ended 0' "... to the end"
! LC_ALL=C grep -q "$(printf '\033\\]0;owned')" "$tmp/raw" && [ -s "$tmp/raw" ]
ok $? "... none reached the terminal"
! LC_ALL=C grep -qE "$(printf '\033')\\[[0-9;]*3[0-7]m" "$tmp/raw"
ok $? "--no-color: no colours"
watch 120x30 "-r $run"
in_tmux pipe-pane -t t "cat >$tmp/raw"
press C-l
press q
shown '^ended 0' "with colours"
LC_ALL=C grep -qE "$(printf '\033')\\[[0-9;]*3[0-7]m" "$tmp/raw"
ok $? "... there are some"

# ---- UTF-8
if locale -a 2>/dev/null | grep -qix 'c\.utf-\{0,1\}8'; then
	start 80x24 "LC_ALL=C.UTF-8 $wavetap top --watch -r $run"
	tries=0
	until in_tmux -u capture-pane -p -t t >"$tmp/screen" && grep -q '^device 1 *█' "$tmp/screen"; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || break
		sleep 0.1
	done
	[ $tries -lt 300 ]
	ok $? "UTF-8: blocks in the bar"
	press q
	shown '^ended 0' "... ended"
fi

# ---- a run file that goes, and what can't be shown
cp "$run" "$tmp/gone.db"
watch 80x24 "--interval 100ms -r $tmp/gone.db"
rm -f "$tmp/gone.db"
shown 'REMOVED' "the file was removed: told"
press Down
shown '^> +2 ' "... and what was read is still there"
press q
shown '^ended 0' "... to the end"
start 80x24 "TERM=dumb $wavetap top --watch -r $run"
shown "can't show it" "TERM=dumb: told"
shown '^ended 1' "... and ends with 1"
start 80x24 "$wavetap top --watch -r nosuch"
shown '^ended 1' "no such run: ends as top does"
"$wavetap" top --watch -r "$run" </dev/null >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'needs a terminal' "$tmp/err" && [ ! -s "$tmp/out" ]
ok $? "no terminal: told, exit 2"
for wrong in "--watch --json" "--interval 1s" "--no-color" "--watch --interval 5" "--watch --interval 1ms"; do
	# shellcheck disable=SC2086 # several
	"$wavetap" top $wrong -r "$run" >"$tmp/out" 2>"$tmp/err" </dev/null
	[ $? -eq 2 ] && [ -s "$tmp/err" ] && [ ! -s "$tmp/out" ]
	ok $? "top $wrong: refused"
done

# ---- a day: memory over many readings
start 80x24 "WAVETAP_TEST_WATCH=${WATCH_READINGS:-200} $wavetap top --watch -r $run 2>$tmp/err"
shown '^ended 0' "${WATCH_READINGS:-200} readings"
grown=$(awk '{ print $6 - $4 }' "$tmp/err")
[ -n "$grown" ] && { [ "$grown" -le 512 ] || [ -n "${WT_SANITIZED:-}" ]; }
ok $? "... and memory does not grow: $grown KiB in the second half"

# ---- status
start 100x30 "$wavetap status --watch"
shown 'wavetapd is not running' "status --watch: no daemon"
shown 'run [0-9a-f]* +sim-demo +finished' "... and the last runs"
press f
shown FROZEN "... frozen"
press q
shown '^ended 0' "... ended"
"$wavetap" status --watch --json >"$tmp/out" 2>"$tmp/err" </dev/null
[ $? -eq 2 ]
ok $? "status --watch --json: refused"

echo "1..$count"
exit $failed

#!/bin/sh
# Every command as text, in terminals of 60 to 200 columns and in none, in ASCII and UTF-8, of runs with names of
# 2,000 characters, of two devices, with measurements and ranges: no line is wider than the terminal, none ends in
# a blank; columns that have no room are named under the table, and what was cut shows it. Runs are made from
# recordings: no program is started.
# shellcheck disable=SC2086 # lists of arguments are split
set -u
build=${top_builddir:-.}
src=${top_srcdir:-.}
if ! command -v sqlite3 >/dev/null 2>&1; then
	echo "1..0 # SKIP no sqlite3"
	exit 0
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-width.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
count=0 failed=0
ok() { # STATUS WHAT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
		[ ! -s "$tmp/wide" ] || sed 's/^/# /' "$tmp/wide" | head -n 5
	fi
}
unset COLUMNS NO_COLOR WAVETAP_COLOR WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP LD_PRELOAD LC_CTYPE LANG
export LC_ALL=C TERM=xterm TZ=UTC0 WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm" WAVETAP_DAEMON="$tmp/none"
mkdir -p "$tmp/data/runs" "$tmp/shm" "$tmp/cwd" || exit 99
build=$(cd "$build" && pwd)
src=$(cd "$src" && pwd)
wavetap=$build/wavetap
make_run=$build/tests/unit/make_run
cd "$tmp/cwd" || exit 99

# ---- the runs
word=$(head -c 2000 /dev/zero | tr '\0' x)
words="void_$(head -c 990 /dev/zero | tr '\0' y)<int, $(head -c 990 /dev/zero | tr '\0' z), 3>"
long() { # FILE: every second kernel has one of the names, and all else that is somebody's choice is long
	sqlite3 -batch "$1" "UPDATE kernel SET name = iif(kernel_id % 4 < 2, '$word', '$words') || kernel_id WHERE kernel_id % 2;
	UPDATE gpu SET name = 'A device by the name of ' || substr('$word', 1, 40);
	UPDATE proc SET hostname = '$word', executable = '/bin/' || '$word', command = 'python ' || '$word' || ' --x';
	UPDATE range_name SET name = '$word' || name_id WHERE name_id % 2;
	INSERT OR REPLACE INTO meta VALUES ('name', 'the name of a run: ' || substr('$word', 1, 40));"
}
"$wavetap" import -o "$tmp/data/runs/20261101-000000-00000001.db" "$src/tests/data/sim-demo.wtrec" >/dev/null 2>&1
ok $? "a run on one device"
long "$tmp/data/runs/20261101-000000-00000001.db"
ok $? "... with long names"
"$wavetap" import -o "$tmp/two.db" "$src/tests/data/h200x2-late-ddp-rank0.wtrec" "$src/tests/data/h200x2-late-ddp-rank1.wtrec" >/dev/null 2>&1
ok $? "a run of two ranks on two devices, with ranges"
"$make_run" "$tmp/measured.db" full job-full 1000000000000 && sqlite3 -batch "$tmp/measured.db" <"$src/tests/unit/measured.sql"
ok $? "a run that was measured"
cp "$tmp/measured.db" "$tmp/measured-long.db"
long "$tmp/measured-long.db"
for kind in lossy hooks empty ranks; do
	"$make_run" "$tmp/data/runs/20261101-00000$((count % 10))-$kind.db" "$kind" "job-$kind" "$((count + 1))000000000000"
done
cp "$tmp/two.db" "$tmp/damaged.db"
sqlite3 -batch "$tmp/damaged.db" "UPDATE kernel_exec SET end_ns = start_ns - 5 WHERE exec_id % 100 = 1;
  UPDATE config_stat SET launches = launches + 1; DELETE FROM launch_call WHERE seq % 1000 = 7"

# ---- how they are shown
utf8=$(locale -a 2>/dev/null | grep -ix 'c\.utf-\{0,1\}8' | head -n 1)
groups="top --group config|top --group class|top --group step|top --group phase|top --group stream|top --group device|top --group process|top --group rank|top --group graph|top --group duration|top --group range"
readers="top|top --by gap|top --by latency|top --by cv|top --by time --limit 3|show id:1|show id:2|show id:3 --all|ledger|gaps|gaps --by kernel|gaps --by call|timeline|steps --slowest 5|ranges|copies|sms|ranks|diagnose|whatif --no-gaps|whatif --sms 64|whatif --full-waves"
bad=0 shown=0
narrow() { # COLUMNS LOCALE COMMAND...: its output, what it says of errors included, has no line that is wider
	width=$1 locale=$2
	shift 2
	COLUMNS=$width LC_ALL=$locale "$wavetap" "$@" >"$tmp/out" 2>&1 </dev/null
	if [ $? -ge 126 ] || ! LC_ALL=$locale "$build/tests/unit/wide_lines" "$width" <"$tmp/out" >"$tmp/wide"; then
		echo "# $width columns, $locale: wavetap $*"
		sed 's/^/# /' "$tmp/wide" | head -n 3
		bad=$((bad + 1))
	fi
	shown=$((shown + 1))
}
each() { # COLUMNS LOCALE RUN COMMANDS
	IFS='|'
	set -- "$1" "$2" "$3" $4
	IFS=' '
	width=$1 locale=$2 run=$3
	shift 3
	for reader in "$@"; do
		narrow "$width" "$locale" $reader -r "$run"
	done
	unset IFS
}
# Under a sanitizer each takes several times as long, and other widths go no other ways.
widths="60 80 120 200"
[ -z "${WT_SANITIZED:-}" ] || widths=80
for width in $widths; do
	for locale in C $utf8; do
		bad=0
		each $width "$locale" "$tmp/data/runs/20261101-000000-00000001.db" "$readers|$groups"
		each $width "$locale" "$tmp/measured.db" "$readers"
		each $width "$locale" "$tmp/measured-long.db" "$readers"
		each $width "$locale" lossy "top|ledger|diagnose"
		each $width "$locale" hooks "top|ledger|ranges"
		each $width "$locale" ranks "top --group rank|ranks|ledger"
		ok $bad "$width columns, $locale: readers"
		bad=0
		narrow $width "$locale" runs
		narrow $width "$locale" runs --hash
		narrow $width "$locale" history job-lossy
		narrow $width "$locale" sweep "$tmp/measured-long.db" lossy
		narrow $width "$locale" status
		narrow $width "$locale" gc -n --keep 1
		narrow $width "$locale" doctor
		narrow $width "$locale" check "$tmp/measured.db"
		narrow $width "$locale" simulate --sms 132 --blocks-per-sm 2 --grid 100:1000:50
		narrow $width "$locale" simulate --sms 8 --blocks-per-sm 1 --grid 20 --gantt on
		narrow $width "$locale" analyze -r "$tmp/measured.db" -o "$tmp/analyzed-$width-$locale.db"
		narrow $width "$locale" import --force -o "$tmp/again.db" "$src/tests/data/sim-demo.wtrec"
		narrow $width "$locale" top -r nosuch
		narrow $width "$locale" top --nosuch
		narrow $width "$locale" help
		for command in $("$wavetap" --list-commands); do
			narrow $width "$locale" help "$command"
		done
		ok $bad "$width columns, $locale: all else, and help"
	done
done
[ -n "${WT_SANITIZED:-}" ] || widths="60 80 120"
for width in $widths; do
	bad=0
	each $width "${utf8:-C}" "$tmp/two.db" "$readers"
	narrow $width C check "$tmp/damaged.db"
	ok $bad "$width columns: two ranks"
done
echo "# $shown outputs"

# ---- nothing goes without a word
headings() { # FILE: words of lines of capitals, and of what is named as left out
	{
		sed -n '/^[ A-Z#%.<=>\/+-]*$/p' "$1"
		tr '\n' ' ' <"$1" | grep -o '(too narrow for [^)]*)'
	} | tr -c 'A-Z%<=\n' '\n' | grep -E '.' | sort -u
}
for reader in "gaps --by kernel" "gaps --by call" timeline "steps --slowest 5" ranges copies ranks "whatif --sms 64" "show id:28"; do
	"$wavetap" $reader -r "$tmp/two.db" >"$tmp/whole" 2>&1
	COLUMNS=60 "$wavetap" $reader -r "$tmp/two.db" >"$tmp/narrow" 2>&1
	headings "$tmp/whole" >"$tmp/whole.words"
	headings "$tmp/narrow" >"$tmp/narrow.words"
	: >"$tmp/wide"
	[ "$(wc -l <"$tmp/whole.words")" -ge 5 ] && comm -23 "$tmp/whole.words" "$tmp/narrow.words" >"$tmp/wide" && [ ! -s "$tmp/wide" ]
	fine=$?
	[ $fine -eq 0 ] || [ -s "$tmp/wide" ] || cat "$tmp/whole" "$tmp/whole.words" >"$tmp/wide"
	ok $fine "$reader: each column is there, or named as left out"
done
# What a line of the ledger means stands whole in any width: as words, whatever the breaks.
for run in measured two; do
	"$wavetap" ledger -r "$tmp/$run.db" | sed 's/^[^ ].* 132 SMs$//' | sed -n '/^WHERE/,/^SMs x wall/p' | tr -s ' ' '\n' | sort >"$tmp/whole"
	for width in 40 60 80; do
		COLUMNS=$width "$wavetap" ledger -r "$tmp/$run.db" | sed -n '/^WHERE/,/^SMs x wall/p' | tr -s ' ' '\n' | sort | comm -23 "$tmp/whole" - |
			grep -v '^[0-9.]*$' | grep -vx 'WHERE\|ALL%\|TIME\|AT\|MOST\|EVIDENCE' >"$tmp/wide"
		[ ! -s "$tmp/wide" ]
		ok $? "ledger of $run in $width columns: all that it says"
	done
done
# In a pipe nothing is left out.
for reader in ranks ranges "gaps --by call"; do
	! "$wavetap" $reader -r "$tmp/two.db" | grep -q 'too narrow'
	ok $? "$reader in a pipe: whole"
done
# A command to be copied is whole, in a line of its own if need be.
mkdir -p "$tmp/data/a folder of a name that is long enough/to have no room in any line of a terminal" || exit 99
long_path="$tmp/data/a folder of a name that is long enough/to have no room in any line of a terminal/run.db"
cp "$tmp/measured.db" "$long_path"
COLUMNS=80 "$wavetap" top -r "$long_path" >"$tmp/out" 2>&1
: >"$tmp/wide"
[ "$(grep -cxF -e "  next: wavetap show -r '$long_path' id:1" -e "  or: wavetap diagnose -r '$long_path'" "$tmp/out")" -eq 2 ] || cp "$tmp/out" "$tmp/wide"
[ ! -s "$tmp/wide" ]
ok $? "commands with a long path are not broken"
# Wide terminals, too.
bad=0
narrow 400 C check "$tmp/damaged.db"
narrow 400 C runs
each 400 "${utf8:-C}" "$tmp/measured-long.db" "top|ledger|diagnose|gaps|show id:1"
ok $bad "400 columns"
# A name that is cut shows it.
COLUMNS=80 "$wavetap" top --all -r "$tmp/data/runs/20261101-000000-00000001.db" >"$tmp/out"
[ "$(grep -c '[xyz][xyz]\.\.[xyz0-9>]' "$tmp/out")" -ge 1 ]
ok $? "long names have an ellipsis"

echo "1..$count"
exit $failed

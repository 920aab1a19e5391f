#!/bin/sh
# Which run is meant: latest and latest~N among short, live, broken and equally old runs; ids and their
# beginnings, names, files; what is told when none is, or several.
# shellcheck disable=SC2086,SC2181,SC2317 # lists of options; cleanup is called by the trap
set -u
build=${top_builddir:-.}
if ! command -v sqlite3 >/dev/null 2>&1; then
	echo "1..0 # SKIP no sqlite3"
	exit 0
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-latest.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
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
export LC_ALL=C TERM=xterm TZ=UTC0 WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm"
unset COLUMNS
runs=$tmp/data/runs
mkdir -p "$runs" "$tmp/shm"

# means SPEC ID: `top -r SPEC` is about the run with that id, without a word on stderr.
means() {
	"$build/wavetap" top ${1:+-r "$1"} >"$tmp/out" 2>"$tmp/err" </dev/null
	[ $? -eq 0 ] && [ "$(head -n 1 "$tmp/out" | cut -d ' ' -f 2)" = "$2" ] && [ ! -s "$tmp/err" ]
	ok $? "${1:-(nothing)} is $2"
}
# refused CODE SPEC TEXT: exit code, and one line that has the text.
refused() {
	"$build/wavetap" top -r "$2" >"$tmp/out" 2>"$tmp/err" </dev/null
	[ $? -eq "$1" ] && grep -qF -- "$3" "$tmp/err" && [ "$(grep -c '^wavetap: ' "$tmp/err")" -eq 1 ]
	ok $? "$2: exit $1: $3"
}
make() { # make FILE KIND NAME CREATED_S: the id is the last eight characters of the name
	"$build/tests/unit/make_run" "$runs/$1.db" "$2" "$3" "$(($4))000000000" || exit 99
}

# ---- none
refused 3 latest "no run has been recorded"
refused 3 latest~1 "no run has been recorded"
refused 1 nosuch 'there is no run "nosuch"'

# ---- only short ones: any counts
make 19700101-000100-aaaa0001 short job-aaaa0001 60
make 19700101-000200-aaaa0002 short job-aaaa0002 120
means "" aaaa0002
means latest aaaa0002
means latest~0 aaaa0002
means latest~1 aaaa0001
refused 1 latest~2 "latest~2: there are only 2 runs in $tmp/data"
# Runs without a kernel are short as well.
make 19700101-000300-aaaa0003 hooks job-aaaa0003 180
make 19700101-000400-aaaa0004 empty job-aaaa0004 240
refused 3 latest "run aaaa0004 has nothing to rank"
means latest~3 aaaa0001

# ---- one with a second of kernels hides all of those
make 19700101-000030-bbbb0001 full job-bbbb0001 30
means "" bbbb0001
refused 1 latest~1 "latest~1: there is only 1 run with at least a second of kernels"
make 19700101-000500-bbbb0002 full job-bbbb0002 300
make 19700101-000600-aaaa0005 short job-aaaa0005 360
means latest bbbb0002
means latest~1 bbbb0001
refused 1 latest~2 "there are only 2 runs with at least a second of kernels"
# Exactly a second, and a nanosecond less.
make 19700101-000700-cccc0001 full job-cccc0001 420
sqlite3 -batch "$runs/19700101-000700-cccc0001.db" "DELETE FROM config_stat WHERE config_id <> 3"
means latest cccc0001
sqlite3 -batch "$runs/19700101-000700-cccc0001.db" "UPDATE config_stat SET time_ns = time_ns - 1"
means latest bbbb0002
rm "$runs/19700101-000700-cccc0001.db"

# ---- a live run counts as soon as it has a second
make 19700101-000800-dddd0001 full job-dddd0001 480
sqlite3 -batch "$runs/19700101-000800-dddd0001.db" "UPDATE proc SET state = 'live'"
means latest dddd0001
sqlite3 -batch "$runs/19700101-000800-dddd0001.db" "UPDATE config_stat SET time_ns = 1"
means latest bbbb0002
rm "$runs/19700101-000800-dddd0001.db"

# ---- files that are no runs, before and after and in between, by their names
echo "not a database" >"$runs/19700101-000010-ffff0001.db"
: >"$runs/19700101-000450-ffff0002.db"
echo "not a database" >"$runs/29700101-000450-ffff0003.db"
echo "not a database" >"$runs/zzz.db"
echo "not a run file's name" >"$runs/19700101-000900-eeee0001.db-journal"
mkdir "$runs/folder.db"
means latest bbbb0002
means latest~1 bbbb0001
refused 1 zzz "not a wavetap run file"
# Names that belie what they hold: a broken file between them must not change the order.
mv "$runs/19700101-000500-bbbb0002.db" "$runs/a.db"
mv "$runs/19700101-000030-bbbb0001.db" "$runs/c.db"
echo "not a database" >"$runs/b.db"
means latest bbbb0002
means latest~1 bbbb0001
"$build/wavetap" runs --csv 2>/dev/null | cut -d, -f1 | grep . | tail -n +2 >"$tmp/out"
[ "$(tr '\n' ' ' <"$tmp/out")" = "bbbb0001 aaaa0001 aaaa0002 aaaa0003 aaaa0004 bbbb0002 aaaa0005 " ]
ok $? "runs: by age"
rm -r "$runs"/*ffff* "$runs/zzz.db" "$runs/b.db" "$runs/folder.db" "$runs"/*-journal
mkdir "$tmp/only" && mv "$runs"/*.db "$tmp/only"
echo "not a database" >"$runs/x.db"
refused 1 latest "not a wavetap run file"
rm "$runs/x.db" && mv "$tmp/only"/*.db "$runs"

# ---- equally old: by the name of the file
make 19700101-000500-bbbb0003 full job-bbbb0003 300
means latest bbbb0002 # a.db is behind 1970...
mv "$runs/a.db" "$runs/1.db"
means latest bbbb0003
means latest~1 bbbb0002

# ---- ids, their beginnings, names, files
means bbbb0003 bbbb0003
means job-bbbb0001 bbbb0001
means aaaa0005 aaaa0005
means 19700101-000600-aaaa0005 aaaa0005
means 19700101-000600-aaaa0005.db aaaa0005
means "$runs/19700101-000600-aaaa0005.db" aaaa0005
refused 1 aaaa 'run "aaaa" is ambiguous: it could be aaaa0005 (job-aaaa0005), aaaa0004 (job-aaaa0004), aaaa0003 (job-aaaa0003), aaaa0002 (job-aaaa0002), aaaa0001 (job-aaaa0001)'
refused 1 bbbb000 'it could be bbbb0003 (job-bbbb0003), bbbb0002 (job-bbbb0002), bbbb0001 (job-bbbb0001)'
make 19700101-001000-cc000001 full x-cc000001 600
means cc cc000001
means c bbbb0001 # the file c.db, before the beginning of an id
means x-cc000001 cc000001
refused 1 ccc 'there is no run "ccc"'
refused 1 CC 'there is no run "CC"'
refused 1 job-bbbb 'there is no run "job-bbbb"'
# A name that looks like the beginning of an id comes first.
sqlite3 -batch "$runs/1.db" "UPDATE meta SET value = 'cc0' WHERE key = 'name'"
means cc0 bbbb0002
# Several of a name: the last, and that is said.
sqlite3 -batch "$runs/c.db" "UPDATE meta SET value = 'cc0' WHERE key = 'name'"
"$build/wavetap" top -r cc0 >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && grep -q '^run bbbb0002' "$tmp/out" &&
	[ "$(cat "$tmp/err")" = 'wavetap: 2 runs are called "cc0": this is the last, bbbb0002' ]
ok $? "two of a name: the last, and said"
# The same run twice, in two files.
cp "$runs/1.db" "$runs/2.db"
"$build/wavetap" top -r bbbb0002 >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && grep -qF "2 runs are called \"bbbb0002\": this is the last, $runs/2.db" "$tmp/err"
ok $? "two files of an id: the last, and said"
# Names can't command the terminal.
sqlite3 -batch "$runs/1.db" "UPDATE meta SET value = 'a' || char(27) || '[2J' WHERE key = 'name'"
refused 1 bbbb 'bbbb0002 (a\x1b[2J)'

# ---- a file of any name, here or elsewhere
cp "$runs/19700101-001000-cc000001.db" "$tmp/any"
means "$tmp/any" cc000001
(cd "$tmp" && build=$(cd "$OLDPWD" && cd "$build" && pwd) && "$build/wavetap" top -r any) >"$tmp/out" 2>"$tmp/err"
grep -q '^run cc000001' "$tmp/out"
ok $? "a file in this folder"
refused 1 "$tmp/nosuch" "no such file"

# ---- words that are no number
for word in latest~ latest~x latest~-1 latest~1x latest~~1 latest^ Latest latest~99999999999999999999; do
	refused 1 "$word" "there is no run \"$word\""
done
refused 2 "" "--run is empty"
refused 1 latest~9223372036854775807 "there are only"

echo "1..$count"
exit $((failed > 0))

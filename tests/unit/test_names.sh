#!/bin/sh
# Names that somebody else chose: kernels, ranges, devices, hosts, commands, names and tags of runs that hold
# escape sequences, other controls, directions of writing, broken UTF-8, format strings, SQL, HTML, shell, quotes,
# line ends, 64 KiB. Every command that shows a run, on a pipe and in colours, gives plain text; JSON and CSV give
# the names whole, and are what they claim; nothing in a name is ever obeyed.
# Argument lists are split on purpose; $ is for inner shells, and for names.
# shellcheck disable=SC2086,SC2016
set -u
build=${top_builddir:-.}
src=${top_srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-names.XXXXXX") || exit 99
[ -n "${KEEP:-}" ] || trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
count=0
failed=0
ok() { # STATUS WHAT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
	fi
}
unset COLUMNS NO_COLOR WAVETAP_COLOR WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP LD_PRELOAD
export LC_ALL=C TERM=xterm TZ=UTC0 WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm" WAVETAP_DAEMON="$tmp/none"
mkdir -p "$tmp/data/runs" "$tmp/shm" "$tmp/cwd" || exit 99
wavetap=$(cd "$build" && pwd)/wavetap
data=$(cd "$src" && pwd)/tests/data
cd "$tmp/cwd" || exit 99

# ---- the run: recorded on two H200s, with other names
run=$tmp/data/runs/20261101-000000-00000001.db
"$wavetap" import -o "$run" "$data/h200x2-ddp-rank0.wtrec" "$data/h200x2-ddp-rank1.wtrec" >/dev/null 2>&1
ok $? "a run is imported"
mkdir "$tmp/names"
name() { # NUMBER FORMAT: of printf
	# shellcheck disable=SC2059 # its format
	printf "$2" >"$tmp/names/$1"
}
name 01 '\033]0;owned\007'
name 02 'clear\033[2J\033[1;1Hscreen'
name 03 'c1\302\23331m and\302\205next'
name 04 'raw\23331m\377\200\300\257'
name 05 'over\rwritten\b\b\b\177'
name 06 'two\n1  ~9999  99.9  fake row\nlines'
name 07 '%%s%%n%%n%%p%%999999d%%*s'
name 08 "'; DROP TABLE kernel_name; DELETE FROM kernel_exec; --"
name 09 '<script>alert(1)</script>&amp;"><img src=x onerror=y>'
name 10 '\\",{"}]\\\\u0000'
name 11 'left\342\200\256thgir\342\201\246iso\342\200\213zero\357\273\277'
name 12 '=HYPERLINK("http://x","y"),+1,@a'
name 13 '$(touch owned)`touch owned`;touch owned|touch owned&'
name 14 "' ; touch owned ; '"
name 15 '" ; touch owned ; "'
name 16 '\tind\vented\f'
name 17 '../../../../../../tmp/owned'
name 18 '_ZN2atIlI%%sE\033[31mE'
name 19 'void f<\033[5mint, (char)27>(<\302\233>)'
head -c 65000 /dev/zero | tr '\0' 'x' >"$tmp/names/20"
total=$(find "$tmp/names" -type f | wc -l)
for n in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20; do
	echo "INSERT INTO temp.nasty VALUES ($((${n#0} - 1)), CAST(readfile('$tmp/names/$n') AS TEXT));"
done >"$tmp/load.sql"
nasty() { # EXPRESSION: one of the names
	echo "(SELECT text FROM temp.nasty WHERE n = ($1) % $total)"
}
sqlite3 -batch "$run" ".bail on" "CREATE TEMP TABLE nasty (n, text)" ".read $tmp/load.sql" "
UPDATE kernel SET name = $(nasty kernel_id) || CASE WHEN kernel_id >= $total THEN kernel_id ELSE '' END;
UPDATE gpu SET name = $(nasty device_id); UPDATE gpu SET pci = $(nasty 'device_id + 1');
UPDATE proc SET hostname = $(nasty process_id), executable = $(nasty 'process_id + 2'), command = $(nasty 'process_id + 5'),
  library_version = $(nasty 'process_id + 1'), cupti_path = $(nasty 'process_id + 12'), reason_text = $(nasty 'process_id + 3');
INSERT OR REPLACE INTO meta SELECT 'name', text FROM temp.nasty WHERE n = 1;
INSERT OR REPLACE INTO meta SELECT 'hostname', text FROM temp.nasty WHERE n = 0;
INSERT OR REPLACE INTO tag SELECT 'k' || text, text || 'v' FROM temp.nasty;
" 2>"$tmp/err"
ok $? "with names of somebody else's choice"
sed 's/^/# /' "$tmp/err" | head -3
kernels=$(sqlite3 "$run" "SELECT count(*) FROM kernel_exec")

# ---- what may come out
plain() { # FILE: lines of printable UTF-8, no controls, no writing from the right
	LC_ALL=C tr -d '\n\040-\176\200-\377' <"$1" >"$tmp/controls"
	[ ! -s "$tmp/controls" ] || return 1
	! LC_ALL=C grep -q "$(printf '\302[\200-\237]')" "$1" || return 2
	! LC_ALL=C grep -q "$(printf '\342\200[\252-\256]\|\342\201[\246-\251]')" "$1" || return 3
	iconv -f UTF-8 -t UTF-8 <"$1" >/dev/null 2>&1 || return 4
}
valid() { # FILE: JSON
	sqlite3 -batch :memory: "SELECT json_valid(CAST(readfile('$1') AS TEXT))" | grep -qx 1
}
bad=0
shown=0
fine() { # PREDICATE FILE COMMAND
	shown=$((shown + 1))
	$1 "$2" && return
	echo "# $1 ($?): wavetap $3"
	LC_ALL=C grep -n "[^ -~]" "$2" | head -3 | od -c | head -12 | sed 's/^/# /'
	bad=$((bad + 1))
}
each() { # COMMAND AND ARGUMENTS: as text, in colours, as JSON
	"$wavetap" $1 >"$tmp/out" 2>&1 </dev/null
	[ $? -lt 126 ] || bad=$((bad + 1))
	fine plain "$tmp/out" "$1"
	WAVETAP_COLOR=always COLUMNS=80 "$wavetap" $1 2>&1 </dev/null | sed "s/$(printf '\033')\[[0-9;]*m//g" >"$tmp/out"
	fine plain "$tmp/out" "$1 (in colours)"
	"$wavetap" $1 --json >"$tmp/out" 2>"$tmp/err" </dev/null
	fine plain "$tmp/err" "$1 --json (errors)"
	[ ! -s "$tmp/out" ] || fine valid "$tmp/out" "$1 --json"
}
at="-r $run"
for group in kernel config range process rank stream device graph class; do
	each "top --all --limit 0 --group $group $at"
done
id=1
ncu_words=
while [ "$id" -le "$total" ]; do
	"$wavetap" show $at --all "id:$id" >"$tmp/out" 2>&1 </dev/null
	fine plain "$tmp/out" "show id:$id"
	# What is to be pasted into a shell is a command and its words there.
	"$wavetap" show $at --all "id:$id" --ncu >"$tmp/ncu" 2>"$tmp/err" </dev/null
	fine plain "$tmp/ncu" "show --ncu id:$id"
	"${BASH:-bash}" -c "ncu() { printf '%s\n' \"\$#\" \"\$2\"; }; $(cat "$tmp/ncu")" </dev/null >"$tmp/words" 2>&1
	ncu_words="$ncu_words $(head -n 1 "$tmp/words")"
	id=$((id + 1))
done
! command -v "${BASH:-bash}" >/dev/null 2>&1 || ! echo "$ncu_words" | grep -q '[^0-9 ]'
ok $? "ncu's command is nothing but that in a shell: words$ncu_words"
each "show $at --all id:5"
for command in ledger gaps "gaps --by kernel" "gaps --by call" timeline steps ranges copies sms ranks diagnose "whatif --no-gaps" "whatif --sms 64" check; do
	each "$command $at"
done
each runs
each "runs --limit 5"
each status
each "gc -n"
for format in csv json sqlite; do
	"$wavetap" export $at -o "$tmp/export.$format" --format $format >"$tmp/out" 2>&1 </dev/null
	ok $? "export: $format"
	fine plain "$tmp/out" "export --format $format"
done
fine valid "$tmp/export.json" "export --format json"
"$wavetap" export $at -o "$tmp/export.html" --all >"$tmp/out" 2>&1 </dev/null
ok $? "export: html"
fine plain "$tmp/export.html" "export --format html"
"$(cd "$build" && pwd)/tests/unit/html_check" "$tmp/export.html" >"$tmp/out"
ok $? "the report is well-formed, and names are text in it: $(head -1 "$tmp/out")"
! grep -q '<script>alert\|<img\|onerror=y>' "$tmp/export.html"
ok $? "nothing of a name is markup"
"$wavetap" --list-commands >"$tmp/out"
fine plain "$tmp/out" --list-commands
ok "$bad" "$shown outputs are plain text, or JSON"

# ---- names are whole where programs read them
"$wavetap" top --all --limit 0 $at --json >"$tmp/out"
[ "$(sqlite3 -batch "$run" "SELECT group_concat(kernel_id) FROM (SELECT kernel_id FROM kernel k WHERE kernel_id IN (1, 7, 8, 9, 12)
  AND k.name IN (SELECT value ->> 'kernel' FROM json_each(CAST(readfile('$tmp/out') AS TEXT), '\$.rows')) ORDER BY 1)")" = 1,7,8,9,12 ]
ok $? "JSON has names whole"
"$wavetap" top --all --limit 0 $at --csv >"$tmp/out.csv"
[ "$(sqlite3 -batch :memory: ".mode csv" ".import $tmp/out.csv t" "SELECT count(*) FROM t")" = \
	"$(sqlite3 -batch :memory: "SELECT json_array_length(CAST(readfile('$tmp/out') AS TEXT), '\$.rows')")" ]
ok $? "CSV has a row for each of JSON's, whatever is in them"

# ---- nothing was obeyed
[ -z "$(find "$tmp" /tmp -maxdepth 2 -name owned 2>/dev/null)" ]
ok $? "no name was run"
[ "$(sqlite3 "$run" "SELECT count(*) FROM kernel_exec")" = "$kernels" ]
ok $? "no name was taken for SQL"
echo "1..$count"
exit $failed

#!/bin/sh
# Selections (--from --to --rank --device --kernel --steps --range) of every reader: figures known by
# hand on a small run, sums against sqlite3's own on a recorded one, what is refused and how it is told.
# Argument lists are split on purpose; cleanup is called by the trap.
# shellcheck disable=SC2086,SC2317
set -u
src=${top_srcdir:-.}
build=${top_builddir:-.}
if ! command -v sqlite3 >/dev/null 2>&1; then
	echo "1..0 # SKIP no sqlite3"
	exit 0
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-select.XXXXXX") || exit 99
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
is() { # is GOT WANT WHAT
	[ "$1" = "$2" ]
	ok $? "$3: $2 (got $1)"
}
wt() { # wt EXPECTED_CODE ARGUMENT...
	want=$1
	shift
	"$build/wavetap" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ]
	ok $? "wavetap $*: exit $want (got $got)"
}
out_has() { grep -qF -- "$1" "$tmp/out"; ok $? "stdout has: $1"; }
out_lacks() { ! grep -qF -- "$1" "$tmp/out"; ok $? "stdout has not: $1"; }
err_has() { grep -qF -- "$1" "$tmp/err"; ok $? "stderr has: $1"; }
json() { # json EXPRESSION: what the last output's JSON says
	sqlite3 -batch :memory: "SELECT ifnull(json_extract(CAST(readfile('$tmp/out') AS TEXT), '$1'), 'null')"
}
# A row of `top --json` in one line; kernels by name.
row() {
	sqlite3 -batch :memory: "SELECT value ->> 'launches', value ->> 'time_ns', value ->> 'min_ns', value ->> 'max_ns',
		ifnull(value ->> 'underfill_sm_ns', '-'), ifnull(value ->> 'wave_sm_ns', '-'), ifnull(value ->> 'wave_max_sm_ns', '-'),
		value ->> 'unjudged_sm_ns' FROM json_each(CAST(readfile('$tmp/out') AS TEXT), '$.rows')
		WHERE value ->> 'kernel' LIKE '$1'"
}

unset COLUMNS NO_COLOR WAVETAP_COLOR
export LC_ALL=C TERM=xterm WAVETAP_DIR="$tmp/data"

# ---- a run known by heart
#   device 1, 4 SMs: half [0,2) [1,3)  tail [4,6) [6,7)  evil [9,10), s; device 2, 8 SMs: half [2,3)
#   half leaves half of the SMs empty, but in [1,2), where its launches fill the device together; tail waits for one SM, or at most two, all along; evil is unjudged
run=$tmp/run.db
"$build/tests/unit/make_run" "$run" pair job-select 1
sqlite3 -batch "$run" "
	UPDATE kernel_exec SET underfill_sm_ns = (end_ns - start_ns) * (SELECT sm_count / 2 FROM config c
		WHERE c.config_id = kernel_exec.config_id), wave_sm_ns = 0, wave_max_sm_ns = 0 WHERE config_id IN (1, 5);
	UPDATE kernel_exec SET underfill_sm_ns = 0, wave_sm_ns = end_ns - start_ns, wave_max_sm_ns = 2 * (end_ns - start_ns)
		WHERE config_id IN (2, 3);
	UPDATE kernel_exec SET underfill_sm_ns = 0 WHERE config_id = 4;
	CREATE TEMP TABLE p AS SELECT * FROM proc;
	UPDATE p SET process_id = 2, uuid = x'02', pid = 43, rank = 3;
	INSERT INTO proc SELECT * FROM p;
	UPDATE proc SET rank = 0 WHERE process_id = 1;
	UPDATE kernel_exec SET process_id = 2 WHERE config_id = 5;
	UPDATE config_stat SET process_id = 2 WHERE config_id = 5;
	UPDATE gpu SET uuid = x'12aa00000000000000000000000000aa' WHERE device_id = 1;
	UPDATE gpu SET uuid = x'12bb00000000000000000000000000bb' WHERE device_id = 2;
	INSERT INTO kernel_share SELECT exec_id, 2000000000, 0, 0, 0, 0, 0, 0 FROM kernel_exec WHERE config_id = 1;
	UPDATE config_stat SET underfill_sm_ns = 4000000000 WHERE config_id = 1;
	INSERT INTO sweep VALUES (1, 1010000000000, 99, 0, 0, 0), (2, 1003000000000, 99, 0, 0, 0)"
S=000000000

wt 0 top -r "$run" --json
is "$(json '$.selection')" null "no selection"
cp "$tmp/out" "$tmp/whole"

# ---- time: a kernel counts with its part inside
wt 0 top -r "$run" --from 1s --to 5s --json
is "$(row half)" "3|4$S|1$S|2$S|6$S|0|0|0" "half in [1,5): 1 s of 2 SMs on device 1, 1 s of 4 on device 2"
is "$(row 'tail%')" "1|1$S|1$S|1$S|0|1$S|2$S|0" "tail in [1,5): half of the first launch"
is "$(row 'ev%')" "" "evil is not in it"
is "$(json '$.window.wall_ns')" "4$S" "the window"
is "$(json '$.window.start_ns')" 1001$S "its start on the clock"
is "$(json '$.devices[0].busy_ns')" "3$S" "a kernel ran: [1,3) and [4,5)"
is "$(json '$.devices[1].busy_ns')" "1$S" "and on device 2 [2,3)"
is "$(json '$.selection.from_ns') $(json '$.selection.to_ns')" "1$S 5$S" "the selection is told"
is "$(json '$.selection.launches') $(json '$.selection.run_launches')" "4 6" "4 of 6 launches have a part"
is "$(json '$.selection.kernel')$(json '$.selection.rank')$(json '$.selection.device')" nullnullnull "nothing else is"
wt 0 top -r "$run" --from 1s --to 5s
out_has "1.00s to 5.00s of 10.0s"
out_has "4 of 6 kernels"
out_has "device 1 Testbed 4 4 SMs: a kernel ran 75.0% of the time (what nvidia-smi shows)"
# Of 4 SMs x 4 s: one "half" alone leaves two SMs idle in [2,3), and the wave of "tail" is 1 to 2 SM-s of [4,5).
out_has "lost in kernels ~18.8% to 25.0%"
# Both devices: 9 + 4 of 48 SM-s; 4 + 8 before kernels whose call is not known, 16 after the last of device 2.
out_has "active ~27.1%  gaps 58.3% = after 33.3 unknown 25.0"
out_has "whole GPU over the window"
out_has "lost 0 of 6 in the whole run"
out_lacks "selected:"
wt 0 top -r "$run" --from 8s --json
is "$(row 'ev%')" "1|1$S|1$S|1$S|-|-|-|4$S" "from 8 s: evil alone, unjudged"
is "$(json '$.window.wall_ns')" "2$S" "2 s"
is "$(json '$.selection.to_ns')" null "no end was given"
wt 0 top -r "$run" --from 9500ms --json
is "$(row 'ev%')" "1|500000000|500000000|500000000|-|-|-|2$S" "half of it"
wt 0 top -r "$run" --from -500ms --json
is "$(row 'ev%')" "1|500000000|500000000|500000000|-|-|-|2$S" "the last half second"
wt 0 top -r "$run" --to -8s --json
is "$(row half)" "2|3$S|1$S|2$S|2$S|0|0|0" "up to 8 s before the end"
wt 0 top -r "$run" --from -1h --to 1h --json
sed 's/"selection".*//' "$tmp/out" >"$tmp/a"
is "$(json '$.rows')" "$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$tmp/whole') AS TEXT), '$.rows')")" \
	"more than there is: the same rows as without"
is "$(json '$.window.wall_ns')" "10$S" "and the same window"
wt 0 top -r "$run" --from 2000000000ns --to 2000001us --json
is "$(row half)" "2|2000|1000|1000|6000|0|0|0" "a microsecond"
wt 3 top -r "$run" --from 3.5s --to 3.9s
err_has "no launch of run b-select is in the selection  from 3.5s  to 3.9s; it has 6 launches in 10.0s"
wt 3 top -r "$run" --from 10s
err_has "nothing of run b-select is in --from 10s: it lasted 10.0s"
wt 3 top -r "$run" --from 5s --to -6s
err_has "nothing of run b-select is in --from 5s --to -6s"
wt 3 top -r "$run" --to -10s

# A kernel that took no time is where it starts; one without a time is nowhere in time.
cp "$run" "$tmp/odd.db"
sqlite3 -batch "$tmp/odd.db" "
	UPDATE kernel_exec SET start_ns = 1005$S, end_ns = 1005$S, wave_sm_ns = NULL, underfill_sm_ns = NULL WHERE exec_id = 4;
	UPDATE kernel_exec SET start_ns = NULL, end_ns = NULL, wave_sm_ns = NULL, underfill_sm_ns = NULL WHERE exec_id = 5"
wt 0 export -r "$tmp/odd.db" --from 5s --to 5000000001ns -o - --format csv
is "$(cut -d, -f1 "$tmp/out" | tail -n +2 | tr '\n' ' ')" "2 4 " "no duration: at its start"
wt 0 export -r "$tmp/odd.db" --from 4s --to 5s -o - --format csv
is "$(cut -d, -f1 "$tmp/out" | tail -n +2 | tr '\n' ' ')" "2 " "but not before"
wt 0 export -r "$tmp/odd.db" --kernel '^ev' -o - --format csv
is "$(cut -d, -f1 "$tmp/out" | tail -n +2 | tr '\n' ' ')" "5 " "no time: by its kernel"
wt 0 export -r "$tmp/odd.db" --from 0s -o - --format csv
is "$(cut -d, -f1 "$tmp/out" | tail -n +2 | tr '\n' ' ')" "1 2 3 4 6 " "but not by a time"

# ---- device
for device in 2 12bb 12BB GPU-12bb0000-0000 gpu-12bb 12bb00000000000000000000000000bb; do
	wt 0 top -r "$run" --device $device --json
	is "$(row half)" "1|1$S|1$S|1$S|4$S|0|0|0" "device $device"
	is "$(json '$.devices[0].device_id') $(json '$.devices[1]')" "2 null" "and no other"
done
wt 0 top -r "$run" --device 2
out_has "selected: device 2"
out_has "a kernel ran 10.0% of the time (what nvidia-smi shows)"
out_has "under ~5.0 wave ~0.0"
out_has "1x Testbed 8 8 SMs"
wt 1 top -r "$run" --device 12
err_has "--device 12 could be 1 (Testbed 4, 12aa00000000000000000000000000aa), 2 (Testbed 8, 12bb"
wt 3 top -r "$run" --device 7
err_has 'run b-select has no device "7"; it has 1 (Testbed 4, 12aa0000), 2 (Testbed 8, 12bb0000)'
wt 3 top -r "$run" --device 'GPU-'
wt 3 top -r "$run" --device '1 OR 1=1'
sqlite3 -batch "$tmp/odd.db" "UPDATE gpu SET uuid = x'2200000000000000000000000000000a' WHERE device_id = 1"
wt 0 top -r "$tmp/odd.db" --device 2 --json
is "$(json '$.devices[0].device_id')" 2 "an id comes before a UUID"

# ---- ranks
wt 0 top -r "$run" --rank 3 --json
is "$(row half)" "1|1$S|1$S|1$S|4$S|0|0|0" "rank 3"
is "$(json '$.selection.rank')" 3 "is told"
is "$(json '$.devices[0].device_id') $(json '$.devices[0].busy_ns') $(json '$.devices[1]')" "2 1$S null" "busy: its kernels only, on its devices only"
is "$(json '$.window.wall_ns')" "10$S" "the window stays the run's"
for ranks in 0-3 0,3 3,0 0-0,3-9 0,1,2,3; do
	wt 0 top -r "$run" --rank $ranks --json
	is "$(json '$.selection.launches')" 6 "ranks $ranks: all"
done
wt 0 top -r "$run" --rank 0-2
out_has "selected: rank 0-2"
out_has "a selected kernel ran 70.0% of the time"
out_lacks "nvidia-smi"
wt 3 top -r "$run" --rank 1-2
err_has "run b-select has no rank of --rank 1-2; it has 0, 3"
"$build/tests/unit/make_run" "$tmp/single.db" full job-single 1
wt 3 top -r "$tmp/single.db" --rank 0
err_has "no process of run b-single has a rank"

# ---- kernels: the short and the demangled name
wt 0 top -r "$run" --kernel '^half$' --json
is "$(row half)" "3|5$S|1$S|2$S|8$S|0|0|0" "half"
is "$(json '$.rows[1]')" null "and nothing else"
is "$(json '$.devices[0].busy_ns')" "3$S" "busy: [0,3)"
wt 0 top -r "$run" --kernel 'tail\(float\*\)' --json # the whole name
is "$(json '$.selection.launches')" 2 "by the demangled name"
wt 0 top -r "$run" --kernel '^tail$' --json # the short one
is "$(json '$.selection.launches')" 2 "by the short name"
wt 3 top -r "$run" --kernel Z4 # the mangled name is not one that people see
wt 3 top -r "$run" --kernel HALF
err_has 'no kernel of run b-select matches "HALF"; it has 3: half, tail, ev\x1bil,"x'
wt 0 top -r "$run" --kernel 'half|tail' --limit 1
out_has "selected: kernel half|tail"
out_has "5 of 6 kernels"
out_has "device 1 Testbed 4 4 SMs: a selected kernel ran 60.0% of the time"
wt 0 top -r "$run" --kernel '^evil|,"x' # the name's own quote and comma
wt 3 top -r "$run" --kernel "'; DROP TABLE kernel; --"
wt 3 top -r "$run" --kernel "' OR '1'='1"
is "$(sqlite3 -batch "$run" "SELECT count(*) FROM kernel")" 3 "a name is no SQL"

# ---- several at once: what all of them leave
wt 0 top -r "$run" --from 1s --to 5s --device 1 --rank 0 --kernel half --json
is "$(row half)" "2|3$S|1$S|2$S|2$S|0|0|0" "time, device, rank and kernel"
is "$(json '$.rows[1]')" null "and nothing else"
wt 0 top -r "$run" --from 1s --to 5s --device 1 --rank 0 --kernel half
out_has "selected: device 1  rank 0  kernel half"
wt 3 top -r "$run" --device 2 --kernel tail
err_has "no launch of run b-select is in the selection  device 2  kernel tail; it has 6 launches in 10.0s"
wt 3 top -r "$run" --rank 3 --from 5s --json
[ ! -s "$tmp/out" ]
ok $? "nothing on stdout"
wt 0 top -r "$run" --group config --from 5s --json
is "$(json '$.rows[0].config_id') $(json '$.rows[0].wave_sm_ns')" "2 1$S" "per configuration"
wt 0 top -r "$run" --from 5s --csv
is "$(wc -l <"$tmp/out")" 3 "CSV: tail and evil"

# ---- export: rows as recorded
wt 0 export -r "$run" --from 1s --to 5s -o - --format csv
is "$(cut -d, -f1,7,8 "$tmp/out" | tail -n +2 | tr '\n' ' ')" \
	"1,1000$S,1002$S 2,1004$S,1006$S 3,1001$S,1003$S 6,1002$S,1003$S " "those that have a part, whole"
wt 0 export -r "$run" --kernel tail --device 1 -o "$tmp/tail.json"
cp "$tmp/tail.json" "$tmp/out"
is "$(json '$.launches[0].exec_id') $(json '$.launches[1].exec_id') $(json '$.launches[2]')" "2 4 null" "JSON: two rows"
is "$(json '$.selection.kernel')" tail "and the selection"
wt 0 export -r "$run" -o - --format json
is "$(json '$.selection')" null "none: null"
wt 3 export -r "$run" --kernel nosuch -o "$tmp/none.csv"
[ ! -e "$tmp/none.csv" ]
ok $? "no file"
wt 2 export -r "$run" --kernel tail -o "$tmp/part.db"
err_has "sqlite is the whole run"
[ ! -e "$tmp/part.db" ]
ok $? "no file"

# ---- whole devices: those of the ranks, if they are theirs alone
for command in ledger "gaps --by kernel"; do
	wt 0 $command -r "$run" --rank 3 --json
	is "$(json '$.selection.rank')" 3 "$command: rank 3"
	is "$(json '$.window.wall_ns')" "10$S" "the whole time"
done
wt 0 ledger -r "$run" --rank 3 --json
is "$(json '$.devices[0].device_id') $(json '$.devices[1]')" "2 null" "its device"
wt 0 ledger -r "$run" --rank 0-3 --json
is "$(json '$.devices[0].device_id') $(json '$.devices[1].device_id')" "1 2" "all ranks: both"
wt 3 ledger -r "$run" --rank 3 --device 1
err_has "no kernel of run b-select ran on the devices selected (device 1  rank 3)"
wt 0 ledger -r "$run" --device 12bb --from 2500ms --to 3500ms --json
is "$(json '$.devices[0].active_sm_ns') $(json '$.devices[0].underfill_sm_ns')" "2$S 2$S" "half of a kernel on half of 8 SMs"
sqlite3 -batch "$tmp/odd.db" "UPDATE config_stat SET process_id = 2 WHERE config_id = 1"
wt 3 ledger -r "$tmp/odd.db" --rank 3
err_has "device 1 ran kernels of other ranks than 3 as well"
wt 0 ledger -r "$tmp/odd.db" --rank 0,3

wt 0 diagnose -r "$run" --from 1s --to 5s --json
is "$(json '$.window.wall_ns') $(json '$.selection.launches')" "4$S 4" "diagnose: a window, and its launches"
wt 0 diagnose -r "$run" --device 2 --json
is "$(json '$.selection.launches')" 1 "diagnose: a device"
for command in diagnose ledger copies; do
	wt 3 $command -r "$run" --kernel tail
done

# ---- words that make no sense, before any file is looked at
for arguments in "--from 10" "--from 0" "--to x" "--from 1m" "--from 5%" "--from --to" "--from 2s --to 1s" "--from 1s --to 1000ms" \
	"--from -1s --to -2s" "--from 9999999999h" "--rank x" "--rank 1," "--rank ,1" "--rank 3-1" "--rank -1" "--rank 1-" "--rank 1;2" \
	"--rank 99999999999999999999" "--kernel (" "--kernel [" "--kernel *a{" "--steps 5" "--steps :" "--steps a:b" "--steps 5:1" \
	"--steps 1:2:3" "--steps -1:2" "--from=" "--rank=" "--device=" "--kernel=" "--steps=" "--range="; do
	for command in "top" "export -o - --format csv" "ledger" "gaps" "copies" "show x" "diagnose"; do
		wt 2 $command -r "$tmp/no-such.db" $arguments
		[ "$(grep -c '^wavetap: ' "$tmp/err")" -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 2 ] && [ ! -s "$tmp/out" ]
		ok $? "one clear line: $(head -n 1 "$tmp/err")"
	done
done
wt 2 top --from 10
err_has '--from: "10" needs a unit: ns, us, ms, s, min or h'
wt 2 top --kernel '('
err_has '--kernel: "(": Unmatched ( or \('
for steps in 20:30 20: :20; do
	wt 3 top -r "$run" --steps $steps
	err_has "has no steps that could be found"
done
wt 2 top -r "$run" --steps :0
err_has "steps are numbered from 1"
gzip -dc "$src/tests/data/h200-train-eager.db.gz" >"$tmp/h200.db"
# Expressions that the C library would take all memory or time for.
for expression in '(.*)(.*)\1' 'a{300}{300}' 'a{1,2000}' "$(printf '(%.0s' $(seq 21))a$(printf ')%.0s' $(seq 21))" \
	"$(printf 'a|%.0s' $(seq 600))b"; do
	wt 2 top -r "$run" --kernel "$expression"
done
wt 0 top -r "$tmp/h200.db" --kernel 'nvjet.{1,40}TNT|((layer|batch)_norm)+'
wt 3 top -r "$run" --device -----
wt 3 top -r "$run" --range forward
err_has "has no named ranges"
wt 3 ledger -r "$run" --range forward
err_has "top, show and export select them"

# ---- runs with nothing to select from say why themselves
"$build/tests/unit/make_run" "$tmp/hooks.db" hooks job-hooks 1
wt 3 top -r "$tmp/hooks.db" --from 1s
err_has "hooks-only, 5 launches without kernel times"
wt 3 top -r "$tmp/hooks.db" --kernel x
err_has "hooks-only, 5 launches without kernel times"
wt 3 export -r "$tmp/hooks.db" --device 1 -o - --format csv
err_has "has no kernel to export"

# ---- steps of the recorded run: those that wavetap steps lists
gzip -dc "$src/tests/data/h200-train-eager.db.gz" >"$tmp/h200.db"
wt 0 steps -r "$tmp/h200.db" --json
cp "$tmp/out" "$tmp/steps.json"
step() { # NUMBER FIELD
	sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$tmp/steps.json') AS TEXT), '\$.rows[$(($1 - 1))].$2')"
}
for command in top ledger gaps; do
	wt 0 $command -r "$tmp/h200.db" --steps 5:9 --json
	is "$(json '$.window.start_ns') $(json '$.window.end_ns')" "$(step 5 start_ns) $(step 10 start_ns)" "$command: the window of steps 5 to 9"
	is "$(json '$.selection.steps')" "5:9" "and the words"
done
wt 0 timeline -r "$tmp/h200.db" --steps 27: --json
is "$(json '$.window.start_ns')" "$(step 27 start_ns)" "from a step on"
wt 0 top -r "$tmp/h200.db" --steps 3:3
out_has "selected: steps 3:3"
wt 3 top -r "$tmp/h200.db" --steps 40:
err_has "--steps 40:: run bea3718a has 28 steps"

# ---- the default window: the steady steps, where steps are found
"$build/wavetap" import -o "$tmp/sim.db" "$src/tests/data/sim-demo.wtrec" >/dev/null
wt 0 steps -r "$tmp/sim.db" --json
steady="$(json '$.steps.steady.first_step') $(json '$.steps.steady.last_step') $(json '$.steps.count')"
is "$steady" "3 25 25" "the recording of the simulated GPU has steady steps"
bounds="$(json '$.steps.steady.start_ns') $(json '$.steps.steady.end_ns')"
apart="$(json '$.steps.startup_ns') $(json '$.steps.after_ns')"
body() { # the last JSON without what tells how the window was chosen
	sqlite3 -batch :memory: "SELECT json_remove(CAST(readfile('$tmp/out') AS TEXT), '$.selection', '$.steps')"
}
for command in top "top --group config" ledger "gaps --by kernel" gaps "timeline --width 5ms" copies "diagnose --threshold 0" "show 1"; do
	wt 0 $command -r "$tmp/sim.db" --json
	is "$(json '$.steps.first_step') $(json '$.steps.last_step') $(json '$.steps.count') $(json '$.selection')" "$steady null" "$command: the steady steps"
	is "$(json '$.steps.startup_ns') $(json '$.steps.after_ns') $(json '$.steps.is_found')" "$apart 1" "and what is apart"
	[ "$(json '$.window')" = null ] || is "$(json '$.window.start_ns') $(json '$.window.end_ns')" "$bounds" "their window"
	steady_body=$(body)
	wt 0 $command -r "$tmp/sim.db" --steps 3:25 --json
	[ "$steady_body" = "$(body)" ]
	ok $? "$command: the same as --steps 3:25"
	is "$(json '$.steps')" null "which are not looked for then"
	wt 0 $command -r "$tmp/sim.db" --all --json
	[ "$steady_body" != "$(body)" ]
	ok $? "$command: --all is more"
	is "$(json '$.steps') $(json '$.selection')" "null null" "and no window"
done
wt 0 top -r "$tmp/sim.db" --all --json
is "$(json '$.window.wall_ns')" "$((${bounds#* } - ${bounds% *} + ${apart% *} + ${apart#* }))" "start-up, steps and what is after sum to the run"
is "$(json '$.total.launches')" 1525 "all kernels"
# Rows, by hand: each kernel with its part in the window, by geometry (none overlaps here).
by_hand=$(sqlite3 -batch "$tmp/sim.db" "WITH w AS (SELECT ${bounds% *} AS a, ${bounds#* } AS b)
	SELECT count(*) || ' ' || sum(min(end_ns, b) - max(start_ns, a)) || ' ' ||
	  sum((min(end_ns, b) - max(start_ns, a)) * max(0, 132 - c.blocks)) FROM kernel_exec JOIN config c USING (config_id), w
	WHERE start_ns < b AND end_ns > a")
wt 0 top -r "$tmp/sim.db" --json
is "$(json '$.total.launches') $(json '$.total.time_ns') $(json '$.total.underfill_sm_ns')" "$by_hand" "the sum of the rows, by hand"
is "$(json '$.devices[0].busy_ns')" "$(json '$.total.time_ns')" "nothing overlaps"
under=$(json '$.total.underfill_sm_ns')
wt 0 ledger -r "$tmp/sim.db" --json
is "$(json '$.devices[0].underfill_sm_ns')" "$under" "so rows sum to the line of the ledger"
share=$(sqlite3 -batch :memory: "SELECT printf('under ~%.1f', 100.0 * $under / 132 / $(json '$.window.wall_ns'))")
active=$(sqlite3 -batch :memory: "SELECT printf('active ~%.1f%%', 100.0 * $(json '$.devices[0].active_sm_ns') / $(json '$.devices[0].total_sm_ns'))")
wt 0 top -r "$tmp/sim.db"
out_has "steps 3-25 of 25 (found)"
out_has "apart: start-up 54.5ms  after-run 22.5us  --all has the whole run"
out_has "$share"
out_has "$active"
wt 0 top -r "$tmp/sim.db" --all
out_has "whole run 139.7ms"
out_lacks "apart:"
wt 0 top -r "$tmp/sim.db" --kernel underfilled --json
is "$(json '$.steps.first_step') $(json '$.total.launches')" "3 23" "of one kernel: the same window"
wt 0 top -r "$run"
out_has "whole run 10.0s"
out_has "no steady steps: "
wt 0 top -r "$run" --json
is "$(json '$.steps.is_found') $(json '$.steps.count') $(json '$.selection')" "0 null null" "no steps: said, all of the run"
# Too many to be searched unasked; --steps asks.
cp "$tmp/sim.db" "$tmp/many.db"
sqlite3 -batch "$tmp/many.db" "UPDATE config_stat SET launches = 250000 WHERE rowid = (SELECT min(rowid) FROM config_stat)" 2>/dev/null ||
	sqlite3 -batch "$tmp/many.db" "UPDATE config_stat SET launches = 250000 WHERE config_id = (SELECT min(config_id) FROM config_stat)"
wt 0 ledger -r "$tmp/many.db" --json
is "$(json '$.steps.is_found') $(json '$.steps.reason')" "0 over 250,000 launches are searched only for wavetap steps and --steps" "more than 250,000 kernels"
wt 0 ledger -r "$tmp/many.db" --steps 3:25 --json
is "$(json '$.window.start_ns') $(json '$.window.end_ns')" "$bounds" "searched if asked"
wt 2 top -r "$run" --all --steps 1:2
err_has "--all and --steps exclude each other"
# A process that launched for 2 s before it was recorded.
cp "$tmp/sim.db" "$tmp/late.db"
sqlite3 -batch "$tmp/late.db" "UPDATE proc SET first_ns = first_ns - 2000000000, armed_ns = first_ns"
wt 0 top -r "$tmp/late.db" --json
is "$(json '$.steps.unobserved_ns')" 2000000000 "what came before the recording is apart"
is "$(json '$.steps.startup_ns')" "${apart% *}" "and no start-up"
wt 0 ledger -r "$tmp/late.db"
out_has "unobserved before it 2.00s"

# ---- the recorded run: 13,827 launches against sqlite3's own sums
gzip -dc "$src/tests/data/h200-train-eager.db.gz" >"$tmp/h200.db"
start=$(sqlite3 -batch "$tmp/h200.db" "SELECT min(start_ns) FROM kernel_exec")
wt 0 top -r "$tmp/h200.db" --all --json
is "$(json '$.window.start_ns')" "$(sqlite3 -batch "$tmp/h200.db" "SELECT min($start, (SELECT min(max(first_ns, armed_ns)) FROM proc))")" \
	"its start"
start=$(json '$.window.start_ns')
all_time=$(sqlite3 -batch "$tmp/h200.db" "SELECT sum(end_ns - start_ns) FROM kernel_exec")
sum_of() { # sum_of FIELD: over the rows
	sqlite3 -batch :memory: "SELECT sum(value ->> '$1') FROM json_each(CAST(readfile('$tmp/out') AS TEXT), '$.rows')"
}
time_sum=0 under_sum=0
for part in "0ns 100ms" "100ms 333333us" "333333us 343334us" "343334us 500123457ns" "500123457ns 1h"; do
	set -- $part
	wt 0 top -r "$tmp/h200.db" --from "$1" --to "$2" --json
	from=$((start + $(json '$.selection.from_ns')))
	to=$((start + $(json '$.selection.to_ns')))
	inside="start_ns < $to AND end_ns > $from"
	is "$(sum_of time_ns)|$(sum_of launches)" "$(sqlite3 -batch "$tmp/h200.db" \
		"SELECT sum(min(end_ns, $to) - max(start_ns, $from)), count(*) FROM kernel_exec WHERE $inside")" "$part: time and launches"
	# By itself each leaves 132 SMs less its blocks; where two of them overlap they leave less.
	is "$(sum_of underfill_sm_ns)" "$(sqlite3 -batch "$tmp/h200.db" "
		WITH k AS (SELECT max(start_ns, $from) AS a, min(end_ns, $to) AS b, min(132, grid_x * grid_y * grid_z) AS sms
			FROM kernel_exec JOIN config USING (config_id) WHERE $inside),
		t AS (SELECT a AS t FROM k UNION SELECT b FROM k),
		slice AS (SELECT t, lead(t) OVER (ORDER BY t) AS next FROM t),
		here AS (SELECT t, next - t AS ns, sum(sms) AS sms FROM slice JOIN k ON a <= t AND b > t GROUP BY t)
		SELECT sum(ns * max(0, 132 - sms)) FROM here")" "$part: underfill from geometry"
	is "$(json '$.devices[0].busy_ns')" "$(sqlite3 -batch "$tmp/h200.db" "
		WITH k AS (SELECT max(start_ns, $from) AS a, min(end_ns, $to) AS b FROM kernel_exec WHERE $inside),
		u AS (SELECT a, b, max(b) OVER (ORDER BY a, b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM k)
		SELECT sum(max(0, b - max(a, ifnull(before, a)))) FROM u")" "$part: a kernel ran"
	time_sum=$((time_sum + $(sum_of time_ns)))
	under_sum=$((under_sum + $(sum_of underfill_sm_ns)))
done
is "$time_sum" "$all_time" "adjacent windows add up to the run: time"
"$build/wavetap" ledger -r "$tmp/h200.db" --all --json >"$tmp/out"
is "$under_sum" "$(json '$.devices[0].underfill_sm_ns')" "and underfill, to what the ledger says"
wt 0 top -r "$tmp/h200.db" --all --kernel 'GammaBeta|embedding' --json
is "$(sum_of launches)|$(sum_of idle_sm_ns)" "$(sqlite3 -batch "$tmp/h200.db" "SELECT sum(launches), sum(idle_sm_ns) FROM kernel_idle
	WHERE kernel LIKE '%GammaBeta%' OR kernel LIKE '%embedding%'")" "two kernels"
wt 0 export -r "$tmp/h200.db" --kernel 'GammaBeta' --from 100ms --to 200ms -o - --format csv
is "$(($(wc -l <"$tmp/out") - 1))" "$(sqlite3 -batch "$tmp/h200.db" "SELECT count(*) FROM launch WHERE kernel LIKE '%GammaBeta%'
	AND start_ns < $start + 200000000 AND end_ns > $start + 100000000")" "export of a window"

# ---- a file that may not be written, in a folder that may not be
cp "$run" "$tmp/fixed.db"
sqlite3 -batch "$tmp/fixed.db" "PRAGMA journal_mode = delete" >"$tmp/out"
chmod 400 "$tmp/fixed.db"
before=$(cksum <"$tmp/fixed.db")
wt 0 top -r "$tmp/fixed.db" --from 1s --kernel half
is "$(cksum <"$tmp/fixed.db")" "$before" "the file is not touched"

# ---- a view or table is gone: which one, whatever was done since to clean up
for case in "VIEW launch|top --kernel half" "VIEW config_idle|top --from 1s" "VIEW kernel_idle|show id:1 --from 1s" "VIEW loss|top" "VIEW loss|ledger" \
	"TABLE config|top --group class" "TABLE kernel|show id:1" "TABLE api_call|diagnose" "TABLE launch_call|steps" "VIEW process|copies"; do
	gone=${case%%|*}
	cp "$run" "$tmp/gone.db"
	sqlite3 -batch "$tmp/gone.db" "DROP $gone"
	wt 1 ${case#*|} -r "$tmp/gone.db"
	grep -q "no such table: .*${gone#* }" "$tmp/err"
	ok $? "without $gone ${case#*|} names it"
done

echo "1..$count"
exit $((failed > 0))

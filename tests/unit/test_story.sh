#!/bin/sh
# What `wavetap run` ends with: its figures are what top, ledger and diagnose --json say of the same run, put
# into words here a second time, by SQLite; of runs with steps and without, of two devices, measured, without
# kernel times, killed; too long a run; 60 columns and none, names of 2,000 characters. A daemon with fixed
# answers names the run files, which are recordings of an H200 and made ones.
set -u
build=${top_builddir:-.}
src=${top_srcdir:-.}
if ! command -v sqlite3 >/dev/null 2>&1; then
	echo "1..0 # SKIP no sqlite3"
	exit 0
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wt-story.XXXXXX") || exit 99
daemon_pid=
# shellcheck disable=SC2317 # by the trap
cleanup() {
	[ -z "$daemon_pid" ] || kill "$daemon_pid" 2>/dev/null
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
		sed 's/^/# /' "$tmp/err" | head -n 30
	fi
}
unset COLUMNS NO_COLOR WAVETAP_COLOR WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP LD_PRELOAD LC_CTYPE LANG WAVETAP_SUMMARY_MS
export LC_ALL=C TERM=xterm TZ=UTC0 WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm" WAVETAP_DAEMON="$tmp/none"
mkdir -p "$tmp/bin" "$tmp/data/runs" "$tmp/shm" || exit 99
build=$(cd "$build" && pwd)
make_run=$build/tests/unit/make_run
cp "$build/wavetap" "$tmp/bin/" || exit 99
wavetap=$tmp/bin/wavetap
if ! printf 'int wavetap_nothing;\n' | ${CC:-cc} -shared -fPIC -x c - -o "$tmp/bin/libwavetap.so" 2>/dev/null; then
	echo "1..0 # SKIP no compiler"
	exit 0
fi
socket="$tmp/shm/wavetap-$(id -u)-$("$make_run" hash "$tmp/data").sock"
if [ "${#socket}" -ge 108 ]; then
	echo "1..0 # SKIP the path of the socket is too long"
	exit 0
fi
run=$tmp/data/runs/20261101-000000-aaaa0001.db
story() { # [OPTION...]: of the run file, into err
	[ -z "$daemon_pid" ] || kill "$daemon_pid"
	rm -f "$socket" "$tmp/ready"
	"$build/tests/unit/answering_daemon" "$socket" '{}' "ok $run" >"$tmp/ready" &
	daemon_pid=$!
	while [ ! -s "$tmp/ready" ]; do sleep 0.02; done
	"$wavetap" run --sample off "$@" true >"$tmp/out" 2>"$tmp/err" </dev/null
}
use() { # FILE: it is the run
	rm -f "$run" "$run-wal" "$run-shm"
	cp "$1" "$run"
}
record() { # NAME RECORDING...: imported
	name=$1
	shift
	"$wavetap" import -o "$tmp/$name.db" "$@" >/dev/null 2>&1
}
has() { # TEXT: the story has it, wherever lines break
	tr '\n' ' ' <"$tmp/err" | tr -s ' ' | grep -qF -- "$1"
	ok $? "$what: $1"
}
hasnt() {
	! tr '\n' ' ' <"$tmp/err" | tr -s ' ' | grep -qF -- "$1"
	ok $? "$what: no $1"
}

# The texts that must be there, from the JSON of the three: a line each.
cat >"$tmp/expect.sql" <<'SQL'
CREATE TABLE t (name TEXT PRIMARY KEY, j TEXT);
INSERT INTO t SELECT 'top', CAST(readfile('top.json') AS TEXT);
INSERT INTO t SELECT 'ledger', CAST(readfile('ledger.json') AS TEXT);
INSERT INTO t SELECT 'diagnose', CAST(readfile('diagnose.json') AS TEXT);
CREATE TABLE d AS SELECT value ->> 'busy_ns' AS busy, value ->> 'wall_ns' AS wall, value ->> 'sms' AS sms,
  value ->> 'active_sm_ns' AS active, value ->> 'total_sm_ns' AS total, value ->> 'underfill_sm_ns' AS under,
  value ->> 'wave_sm_ns' AS wave, value ->> 'wave_max_sm_ns' AS wave_max, ifnull(value ->> 'straggle_sm_ns', 0) AS straggle,
  ifnull(value ->> 'ramp_sm_ns', 0) AS ramp, value ->> 'comm_sm_ns' AS comm, value ->> 'unjudged_sm_ns' AS unjudged,
  value ->> '$.evidence.active_sm_ns' AS evidence, value -> 'gap_by_cause_sm_ns' AS causes
  FROM t, json_each(j, '$.devices') WHERE name = 'ledger';
CREATE TABLE s AS SELECT iif(j ->> '$.steps.is_found', (j ->> '$.steps.last_step') - (j ->> '$.steps.first_step') + 1, 1) AS steps,
  iif(j ->> '$.steps.is_found', ' a step', '') || iif((SELECT count(*) FROM d) > 1, iif(j ->> '$.steps.is_found', ' and', ' a') || ' GPU', '') AS word,
  (SELECT sum(sms) FROM d) AS sms, (SELECT total(total) FROM d) AS total FROM t WHERE name = 'top';
-- Three digits; and the unit that the largest of a line has.
CREATE TABLE amount (what TEXT, sm_ns REAL, unit_sm_ns REAL);
INSERT INTO amount SELECT 'gaps', total(value), total(value) FROM d, json_each(causes);
INSERT INTO amount SELECT key, total(value), (SELECT sm_ns FROM amount WHERE what = 'gaps') FROM d, json_each(causes) GROUP BY key;
INSERT INTO amount SELECT 'lost', total(under + wave + straggle + ramp), total(under + wave + straggle + ramp) FROM d;
INSERT INTO amount SELECT 'model', total(under + wave), total(under + wave_max) FROM d;
INSERT INTO amount SELECT 'model_max', total(under + wave_max), total(under + wave_max) FROM d;
INSERT INTO amount SELECT 'under_m', total(under), total(under + wave_max) FROM d;
INSERT INTO amount SELECT 'wave_m', total(wave), total(under + wave_max) FROM d;
INSERT INTO amount SELECT 'wave_max_m', total(wave_max), total(under + wave_max) FROM d;
INSERT INTO amount SELECT 'straggle', total(straggle), total(under + wave + straggle + ramp) FROM d;
INSERT INTO amount SELECT 'id:' || (value ->> 'kernel_id'), value ->> 'idle_sm_ns', value ->> 'idle_sm_ns' FROM t, json_each(j, '$.rows') WHERE name = 'top' AND key < 3;
INSERT INTO amount SELECT 'finding', 1000 * (value ->> 'stake_max_sm_us'), 1000 * (value ->> 'stake_max_sm_us') FROM t, json_each(j, '$.findings') WHERE name = 'diagnose' AND key = 0;
CREATE VIEW texts AS SELECT what, sm_ns, iif(v < 9.995, printf('%.2f', v), iif(v < 99.95, printf('%.1f', v), printf('%.0f', v))) AS number, unit,
  printf('%.1f', 100 * sm_ns / (SELECT total FROM s)) AS percent FROM
  (SELECT what, sm_ns, iif(u >= 1e9, 's', iif(u >= 1e6, 'ms', 'us')) AS unit, ns / iif(u >= 1e9, 1e9, iif(u >= 1e6, 1e6, 1e3)) AS v FROM
   (SELECT what, sm_ns, sm_ns / sms / steps AS ns, unit_sm_ns / sms / steps AS u FROM amount, s));
.mode list
SELECT 'would show ' || group_concat(printf('%.1f', 100.0 * busy / wall), ' and ') || '% busy' FROM d;
SELECT 'SMs were active ' || iif(max(evidence) = 'model', '~', '') || group_concat(printf('%.1f', 100.0 * active / total), ' and ') || '%' FROM d WHERE evidence <> 'mixed' HAVING count(*);
SELECT 'between kernels ' || number || unit || word || ', ' || percent || '% of the GPU' FROM texts, s WHERE what = 'gaps';
SELECT ' ' || what || ' ' || number FROM texts, s WHERE what IN (SELECT key FROM d, json_each(causes)) AND sm_ns >= 0.0005 * total;
SELECT 'inside kernels ~' || a.number || ' to ' || b.number || b.unit || word || ', ' || a.percent || ' to ' || b.percent || '% = underfill ~' || u.number || ' wave ~' || w.number || ' to ' || x.number
  FROM texts a, texts b, texts u, texts w, texts x, s WHERE a.what = 'model' AND b.what = 'model_max' AND u.what = 'under_m' AND w.what = 'wave_m' AND x.what = 'wave_max_m'
  AND (SELECT max(evidence) FROM d) = 'model' AND a.percent <> b.percent;
SELECT number || unit || word || ', ' || percent || '% = underfill ' FROM texts, s WHERE what = 'lost' AND (SELECT max(evidence) FROM d) <> 'model';
SELECT 'idle beside collectives ' || printf('%.1f', 100 * total(comm) / total(total)) || '%' FROM d HAVING total(comm) >= 0.0005 * total(total);
SELECT number || unit || ' ' || percent || '% ' || what || ' ' FROM texts WHERE what LIKE 'id:%' AND sm_ns > 0;
SELECT '1 of ' || json_array_length(j, '$.findings') || ': ' || iif(printf('%.1f', 100 * (j ->> '$.findings[0].share')) = percent, '', printf('%.1f', 100 * (j ->> '$.findings[0].share')) || ' to ')
  || percent || '%, at most ' || number || unit || word || ': ' || (j ->> '$.findings[0].title') FROM t, texts, s WHERE name = 'diagnose' AND what = 'finding';
SELECT 'lost ' || 0 || ' of ' FROM t WHERE name = 'top' AND j ->> '$.loss.kernels_dropped_ring' = 0;
SQL
agrees() { # LEAST: so many texts at least, and the story has each
	(cd "$tmp" && for command in top ledger diagnose; do
		"$wavetap" $command --json -r "$run" >"$command.json" 2>/dev/null || exit 1
	done && sqlite3 -batch :memory: <expect.sql >expected)
	ok $? "$what: the JSON of top, ledger and diagnose"
	while IFS= read -r line; do
		has "$line"
	done <"$tmp/expected"
	[ "$(wc -l <"$tmp/expected")" -ge "$1" ]
	ok $? "$what: $(wc -l <"$tmp/expected") texts"
}

what=training
record train "$src/tests/data/h200-train-eager.wtrec" && use "$tmp/train.db"
COLUMNS=80 story
agrees 13
has "steps 1-59 of 59 (found)"
has "start-up 4.79s, after-run 82.8us"
has "(straggle, ramp: not measured)"
has "next wavetap diagnose -r "
[ "$(wc -l <"$tmp/err")" -le 16 ]
ok $? "about ten lines"
[ "$(cut -c 1-10 "$tmp/err" | grep -c '^nvidia-smi\|^lost  \|^worst  \|^finding\|^left out\|^own cost\|^next')" -eq 7 ]
ok $? "their words at the left"
story -q
[ ! -s "$tmp/err" ]
ok $? "quiet"
story
[ "$(grep -c '^lost .*(\|^ .* inside kernels .*not measured)$' "$tmp/err")" -eq 1 ]
ok $? "in a pipe lines do not break"

what="two devices"
record two "$src/tests/data/h200x2-ddp-rank0.wtrec" "$src/tests/data/h200x2-ddp-rank1.wtrec" && use "$tmp/two.db"
story
agrees 13
has "of the GPUs = "

what="no steps"
record triton "$src/tests/data/h200-triton.wtrec" && use "$tmp/triton.db"
story
agrees 11
has "no steady steps: "
hasnt " a step"

what="too large"
WAVETAP_SUMMARY_MS=0 story
has "finding not looked for: of 36,526 kernels that takes longer than 0ns"
has "between kernels 2.30s, 72.8%"
use "$tmp/two.db"
WAVETAP_SUMMARY_MS=0 story
has "causes: wavetap ledger"
has "between kernels 4.61ms a step and GPU, 25.8%"
has "next wavetap diagnose -r "

what=measured
"$make_run" "$tmp/measured.db" full job-full 1000000000000 && sqlite3 -batch "$tmp/measured.db" <"$src/tests/unit/measured.sql"
use "$tmp/measured.db"
story
agrees 8
has "= underfill 1.00 wave 0.75 straggle 0.4"
has "(counters: 48.4%)"

what="without kernel times"
"$make_run" "$tmp/hooks.db" hooks job-hooks 2000000000000 && use "$tmp/hooks.db"
story
has "nothing to rank: "
hasnt "nvidia-smi"
hasnt "next"

what="killed"
use "$tmp/train.db"
sqlite3 -batch "$run" "UPDATE proc SET state = 'killed'"
story
has "1 process killed: the last records may be missing"
has "would show 9.1% busy"

what="long names"
word=$(head -c 2000 /dev/zero | tr '\0' x)
sqlite3 -batch "$run" "UPDATE kernel SET name = '$word' || kernel_id; UPDATE gpu SET name = '$word'; INSERT OR REPLACE INTO meta VALUES ('name', '$word');"
for width in 60 80; do
	for locale in C C.UTF-8; do
		COLUMNS=$width LC_ALL=$locale story
		LC_ALL=$locale "$build/tests/unit/wide_lines" "$width" <"$tmp/err" >"$tmp/wide"
		ok $? "$width columns, $locale: no line is wider"
	done
done

echo "1..$count"
exit $failed

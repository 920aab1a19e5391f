#!/bin/sh
# Named ranges (NVTX): what the run file has of them is what the program did, by its own list; nobody
# notices who doesn't use them, has another injection, or has switched them off.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
unset NVTX_INJECTION64_PATH

# The program's list beside the run file's, range by range in the order of each name: begun and ended
# within the calls that did, and the kernels inside are the launches made inside.
compare() { # TRUTH
  sqlite3 -batch -cmd ".timeout 10000" "$(run_file)" >"$work/compare" <<SQL
CREATE TEMP TABLE truth (kind TEXT, domain TEXT, name TEXT, tid INT, end_tid INT, depth INT, b0 INT, b1 INT, e0 INT,
  e1 INT, inside INT);
.mode tabs
.import $1 truth
CREATE TEMP TABLE t AS SELECT *, row_number() OVER (PARTITION BY kind, domain, name, tid, depth ORDER BY b0) AS n
  FROM truth;
CREATE TEMP TABLE r AS SELECT *, row_number() OVER (PARTITION BY kind, domain, name, tid, depth ORDER BY start_ns) AS n
  FROM range;
CREATE TEMP TABLE k AS SELECT range_id, count(DISTINCT exec_id) AS inside FROM kernel_range GROUP BY 1;
SELECT 'missing', t.* FROM t LEFT JOIN r ON r.kind = t.kind AND r.domain = t.domain AND ifnull(r.name, '') = t.name
  AND r.tid = t.tid AND r.depth = t.depth AND r.n = t.n AND ifnull(r.end_tid, 0) = t.end_tid
  AND r.start_ns BETWEEN t.b0 AND t.b1 AND (t.e0 = 0 AND r.end_ns IS NULL OR r.end_ns BETWEEN t.e0 AND t.e1)
  LEFT JOIN k USING (range_id)
  WHERE r.range_id IS NULL OR ifnull(k.inside, 0) <> t.inside LIMIT 5;
SELECT 'differ', (SELECT count(*) FROM truth), (SELECT count(*) FROM range)
  WHERE (SELECT count(*) FROM truth) <> (SELECT count(*) FROM range);
SQL
  cat "$work/compare"
}

ranges() {
  sql "SELECT begun, recorded, dropped, early, untracked, unbalanced FROM range_count"
}

programs=app_nvtx
[ ! -x "$fake/app_nvtx_vendor" ] || programs="app_nvtx app_nvtx_vendor"
parts="early steps threads cross domains deep unbalanced fork open"
for program in $programs; do
  export WAVETAP_RUN="$program"
  # shellcheck disable=SC2086 # words
  bare "$fake/$program" $parts >"$work/bare" 2>"$work/bare.err"
  is "$?|$(cat "$work/bare.err")|$(cut -d ' ' -f 1 "$work/bare")" "0||returned=-2" "$program: without wavetap there is no tool"
  # shellcheck disable=SC2086
  tap "$fake/$program" --truth "$work/truth" $parts >"$work/out" 2>"$work/err"
  is "$?|$(cat "$work/err")" "0|" "$program: ends well, and every call returned what it should"
  is "$(cut -d ' ' -f 2 "$work/out")" "$(cut -d ' ' -f 2 "$work/bare")" "$program: the same launches"
  settle
  is "$(compare "$work/truth")" "" "$program: the ranges and the kernels in them are the program's"
  is "$(ranges)" "1099|1061|0|1|37|5" "$program: all are accounted for"
  is "$(sql "SELECT count(*) FROM range WHERE end_ns IS NULL")" 2 "$program: what never ended has no end"
done
check_books

# ---- the readers, against queries by hand over the last of these runs

file=$(run_file)
lost="$(sql "SELECT sum(underfill_sm_ns + wave_sm_ns) FROM kernel_exec WHERE exec_id IN
  (SELECT exec_id FROM kernel_range JOIN range USING (range_id) WHERE name = 'outer')")"
sql "WITH of_range AS MATERIALIZED (SELECT DISTINCT x.name_id, x.type, k.exec_id FROM kernel_range k JOIN range_event x USING (range_id))
  SELECT n.domain, ifnull(n.name, ''), CASE r.type WHEN 1 THEN 'push' ELSE 'start' END,
  count(*), sum(end_ns IS NULL), ifnull(sum(end_ns - start_ns), ''),
  ifnull(sum(end_ns - start_ns) / count(end_ns), ''), ifnull(min(end_ns - start_ns), ''), ifnull(max(end_ns - start_ns), ''),
  (SELECT count(*) FROM of_range k WHERE k.name_id = r.name_id AND k.type = r.type),
  (SELECT ifnull(sum(e.end_ns - e.start_ns), 0) FROM kernel_exec e WHERE exec_id IN
   (SELECT k.exec_id FROM of_range k WHERE k.name_id = r.name_id AND k.type = r.type))
  FROM range_event r JOIN range_name n USING (name_id) GROUP BY r.name_id, r.type ORDER BY 1, 2, 3" >"$work/want"
"$wavetap" ranges -r "$file" --csv >"$work/ranges.csv" 2>"$work/err"
is "$?|$(cat "$work/err")" "0|" "ranges --csv"
sqlite3 -batch -cmd ".mode csv" -cmd ".import $work/ranges.csv r" -cmd ".mode list" :memory: \
  "SELECT domain, name, kind, count, open, time_ns, mean_ns, min_ns, max_ns, kernels, kernel_time_ns FROM r ORDER BY 1, 2, 3" \
  >"$work/got"
is "$(cat "$work/got")" "$(cat "$work/want")" "ranges: numbers, times and kernels are those of the rows"
is "$(grep '^,outer,' "$work/ranges.csv" | cut -d , -f 15)" "$lost" "ranges: idle SM-time is that of the kernels inside"
# top: a kernel is of the innermost range around its call, which began last; the rest of none.
"$wavetap" top --all -r "$file" --group range --json >"$work/top.json" 2>"$work/err"
is "$(sqlite3 -batch :memory: "SELECT coalesce(value ->> 'range', 'none') || ': ' || (value ->> 'launches') || ' ' || (value ->> 'time_ns') || ' ' ||
    (value ->> 'underfill_sm_ns') FROM json_each(CAST(readfile('$work/top.json') AS TEXT), '\$.rows')" | LC_ALL=C sort)" \
  "$(sql "WITH inner_one AS (SELECT e.*, (SELECT iif(n.domain = '', '', n.domain || '/') || ifnull(n.name, '(no name)')
        FROM kernel_range k JOIN range_event r USING (range_id) JOIN range_name n ON n.name_id = r.name_id
        WHERE k.exec_id = e.exec_id ORDER BY r.start_ns DESC, r.range_id LIMIT 1) AS name FROM kernel_exec e)
    SELECT ifnull(name, 'none') || ': ' || count(*) || ' ' || sum(end_ns - start_ns) || ' ' || sum(underfill_sm_ns)
    FROM inner_one WHERE end_ns >= start_ns GROUP BY name" | LC_ALL=C sort)" "top --group range: kernels of the innermost range"
# Time without a kernel, by hand: small enough here to try every pair.
gap=$(sql "WITH b AS (SELECT start_ns AS s, end_ns AS e FROM kernel_exec ORDER BY 1),
  u AS (SELECT s, max(e, ifnull(max(e) OVER (ORDER BY s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)) AS e,
        ifnull(max(e) OVER (ORDER BY s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before FROM b),
  d AS (SELECT max(s, before) AS s, e FROM u WHERE e > max(s, before))
  SELECT sum(r.end_ns - r.start_ns - (SELECT ifnull(sum(max(0, min(d.e, r.end_ns) - max(d.s, r.start_ns))), 0) FROM d))
  FROM range r WHERE r.name = 'step'")
is "$(grep '^,step,' "$work/ranges.csv" | cut -d , -f 10)" "$gap" "ranges: time without a kernel"
"$wavetap" ranges -r "$file" >"$work/text" 2>"$work/err"
ok "ranges: what was not recorded is told" grep -q "37 not followed.*1 before the first launch.*5 ends without" "$work/text"
"$wavetap" ranges -r "$file" --json >"$work/json"
is "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/json'), '\$.ranges.recorded', '\$.ranges.untracked')")" "[1061,37]" \
  "ranges --json"

selected() { # RANGE: launches that top shows of it
  "$wavetap" top -r "$file" --range "$1" --json | sed -n 's/^ *"launches": \([0-9]*\),*$/\1/p' | head -n 1
}
is "$(selected forward)" 15 "top --range: launches made in forward"
is "$(selected 'for*')" 15 "top --range: a glob"
is "$(selected 'my.library/*')" 6 "top --range: with the domain"
any=$(sql "SELECT count(DISTINCT e.exec_id) FROM range r JOIN launch_call l ON l.entry_ns >= r.start_ns AND l.entry_ns < r.end_ns
  JOIN kernel_exec e ON e.launch_seq = l.seq WHERE r.name = 'inner'")
is "$(selected any:inner)" "$any" "top --range any: with other threads'"
own=$(grep '^,inner,' "$work/ranges.csv" | cut -d , -f 11,12)
is "$((${own%,*} + ${own#*,}))" "$any" "ranges: those of others are told apart"
is "$("$wavetap" ranges -r "$file" --csv --any-thread | grep '^,inner,' | cut -d , -f 11,12)" "$any,0" "ranges --any-thread"
is "$(selected 'request ?')" 9 "top --range: a kernel in three of them counts once"
"$wavetap" export -r "$file" --range optimizer --format csv -o "$work/export.csv" >/dev/null 2>&1
is "$(($(wc -l <"$work/export.csv") - 1))" 10 "export --range"
"$wavetap" top -r "$file" --range nix >/dev/null 2>"$work/err"
is "$?|$(grep -c 'has no range "nix"; it has "' "$work/err")" "3|1" "a range that isn't there: which there are"
is "$("$wavetap" steps -r "$file" --step-marker step --json | sed -n 's/^ *"count": \([0-9]*\),*$/\1/p')" 5 \
  "steps --step-marker RANGE"
"$wavetap" steps -r "$file" --step-marker range:nix >/dev/null 2>&1
is "$?" 2 "steps: a range that isn't there"

# Recorded, and imported again.
export WAVETAP_RUN=recorded
mkdir "$work/rec"
# shellcheck disable=SC2086
WAVETAP_RECORD=$work/rec tap "$fake/app_nvtx" --truth "$work/truth" $parts >/dev/null 2>&1
settle
live=$(run_file)
"$wavetap" import -o "$work/imported.db" "$work"/rec/*.wtrec >/dev/null 2>"$work/err"
is "$?" 0 "a recording with ranges is imported"
for query in "SELECT domain, name, kind, tid, end_tid, start_ns, end_ns, depth FROM range ORDER BY range_id" \
  "SELECT begun, recorded, dropped, early, untracked, unbalanced FROM range_count"; do
  sqlite3 -batch "$live" "$query" >"$work/live.rows"
  sqlite3 -batch "$work/imported.db" "$query" >"$work/imported.rows"
  ok "the same rows, imported: $(wc -l <"$work/live.rows")" cmp -s "$work/live.rows" "$work/imported.rows"
done
"$wavetap" check "$work/imported.db" >"$work/out" 2>&1
is "$?" 0 "check finds nothing wrong"

# Killed: what was open is the difference.
export WAVETAP_RUN=killed
(
  cd "$work" || exit 1
  LD_PRELOAD=$library exec "$fake/app_nvtx" steps kill
) >/dev/null 2>&1
settle
is "$(sql "SELECT begun - recorded - dropped - early - untracked, recorded FROM range_count")" "2|20" \
  "killed: two were open, and the others are there"

# The daemon is killed in between, and another one goes on; the file is one that has no place for ranges yet.
export WAVETAP_RUN=restarted APP_NVTX_GO="$work/go"
tap "$fake/app_nvtx" none >/dev/null 2>&1
settle
sqlite3 -batch "$(run_file)" "DROP VIEW range; DROP VIEW kernel_range; DROP TABLE range_name; DROP TABLE range_event;
  DROP TABLE range_count"
"$wavetap" check "$(run_file)" >"$work/out" 2>&1
is "$?" 0 "check has nothing against a file without ranges"
"$wavetap" ranges -r "$(run_file)" >/dev/null 2>"$work/err"
is "$?|$(grep -c 'kept no named ranges' "$work/err")" "3|1" "ranges: an old file"
tap "$fake/app_nvtx" --truth "$work/truth" steps pause steps >/dev/null 2>"$work/err" &
app=$!
tries=0
until [ "$(sql "SELECT sum(recorded) FROM range_count" 2>/dev/null)" = 20 ] || [ "$tries" -ge 300 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
daemon=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
kill -9 "$daemon"
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
: >"$work/go"
wait "$app"
settle
is "$(compare "$work/truth")" "" "a daemon that goes on: the ranges are the program's"
is "$(ranges)" "40|40|0|0|0|0" "... and so is the count"
unset APP_NVTX_GO

# A flood leaves room for launches, with nobody there to drain.
export WAVETAP_RUN=flood
WAVETAP_SPAWN=0 WAVETAP_SHM_BYTES=1048576 tap "$fake/app_nvtx" none flood steps >/dev/null 2>&1
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
is "$(sql "SELECT launches_attempted, launches_stored, launches_dropped FROM loss")" "70|70|0" "flood: no launch was dropped"
is "$(sql "SELECT begun, dropped > 10000, recorded > 1000, begun - recorded - dropped FROM range_count")" "20020|1|1|0" \
  "flood: ranges were, and are counted"

# A name for each request: the dictionary has an end.
export WAVETAP_RUN=names
WAVETAP_SHM_BYTES=67108864 tap "$fake/app_nvtx" none names >/dev/null 2>&1
settle
is "$(ranges)" "70000|70000|0|0|0|0" "70,000 names: all ranges are recorded"
is "$(sql "SELECT (SELECT count(*) FROM range_name), count(*) FROM range WHERE name = '(other names)'")" "65537|4464" \
  "... those beyond 65,536 under one name"

# ---- left alone

export WAVETAP_RUN=unused
tap "$fake/app_nvtx" none >"$work/out" 2>&1
settle
is "$(sql "SELECT (SELECT count(*) FROM range_count), count(*) FROM launch")" "0|20" "no NVTX call: nothing of ranges"

export WAVETAP_RUN=mark
tap "$fake/app_nvtx" none mark >"$work/out" 2>&1
settle
is "$?|$(sql "SELECT count(*) FROM range")" "0|0" "what isn't subscribed to does nothing"

export WAVETAP_RUN=other
"$wavetap" ranges >/dev/null 2>"$work/err"
is "$?|$(grep -c 'NVTX_INJECTION64_PATH' "$work/err")" "3|1" "ranges: none, and what may be why"
NVTX_INJECTION64_PATH=$fake/inject_nvtx.so tap "$fake/app_nvtx" none flood >"$work/out" 2>/dev/null
settle
is "$(cut -d ' ' -f 1 "$work/out")" "returned=7" "another injection gets the calls"
is "$(sql "SELECT (SELECT count(*) FROM range_count), count(*) FROM launch")" "0|20" "... and nothing is recorded of them"
for path in /nonexistent.so "$fake/inject_nvtx.so"; do
  WTFAKE_NVTX_REFUSE=1 NVTX_INJECTION64_PATH=$path tap "$fake/app_nvtx" steps >"$work/out" 2>/dev/null
  is "$(cut -d ' ' -f 1 "$work/out")" "returned=-2" "one that fails is not replaced by us: $(basename "$path")"
done
settle
WAVETAP_NVTX=0 tap "$fake/app_nvtx" steps >"$work/out" 2>&1
is "$(cut -d ' ' -f 1 "$work/out")" "returned=-2" "WAVETAP_NVTX=0 switches it off"
WAVETAP=0 tap "$fake/app_nvtx" steps >"$work/out" 2>&1
is "$(cut -d ' ' -f 1 "$work/out")" "returned=-2" "WAVETAP=0 as well"
settle

# Asked for in the environment, as a user may.
export WAVETAP_RUN=asked
NVTX_INJECTION64_PATH=$library tap "$fake/app_nvtx" --truth "$work/truth" steps >"$work/out" 2>"$work/err"
settle
is "$(cat "$work/err")|$(compare "$work/truth")" "|" "NVTX_INJECTION64_PATH=libwavetap.so: the same"

# getenv, for every other name, is libc's.
bare "$fake/app_nvtx" environment >"$work/out" 2>"$work/err"
is "$(cat "$work/err")|$(head -n 1 "$work/out")" "|injection=" "getenv without wavetap"
tap "$fake/app_nvtx" environment >"$work/out" 2>"$work/err"
is "$(cat "$work/err")|$(head -n 1 "$work/out")" "|injection=$library" "getenv: one name more"
NVTX_INJECTION64_PATH=else tap "$fake/app_nvtx" environment >"$work/out" 2>"$work/err"
is "$(cat "$work/err")|$(head -n 1 "$work/out")" "|injection=else" "... unless somebody set it"
NVTX_INJECTION64_PATH="" tap "$fake/app_nvtx" environment >"$work/out" 2>"$work/err"
is "$(cat "$work/err")|$(head -n 1 "$work/out")" "|injection=" "... to nothing, too"
settle
is "$(LD_PRELOAD=$library env | grep -c NVTX)" 0 "the environment itself is unchanged"

check_books
done_testing

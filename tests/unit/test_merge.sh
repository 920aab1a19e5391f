#!/bin/sh
# `wavetap merge` over two ranks recorded on two H200s of one host: their true offset is 0. The clock of one is moved by a
# known offset and drift with SQL; merge must find it back within the error that it shows, and ranks must then
# say what it says of the two on one clock. What can't be merged is refused.
. "$top_srcdir/tests/e2e/lib.sh"

for rank in 0 1; do
  "$wavetap" import -o "$work/rank$rank.db" "$top_srcdir/tests/data/h200x2-ddp-rank$rank.wtrec" >"$work/out" 2>&1
  is "$?" 0 "rank $rank"
  sqlite3 -batch "$work/rank$rank.db" "UPDATE proc SET rank = $rank, world_size = 2, boot_id = 'boot', hostname = 'one';
    INSERT INTO tag VALUES ('batch', '8'), ('rank', '$rank'); INSERT OR REPLACE INTO meta VALUES ('name', 'ddp'), ('hostname', 'one')"
done
# What the two say on one clock, from one import of both.
"$wavetap" import -o "$work/both.db" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" >"$work/out" 2>&1
shift_clock() { # FILE OFFSET_NS DRIFT_PPB: another host's
  moved() {
    echo "$1 = $1 + $offset + ($1 - $from) * $drift / 1000000000"
  }
  file=$1 offset=$2 drift=$3
  from=$(sqlite3 -batch "$file" "SELECT min(start_ns) FROM kernel_exec")
  sqlite3 -batch "$file" "UPDATE kernel_exec SET $(moved start_ns), $(moved end_ns); UPDATE launch_call SET $(moved entry_ns), $(moved return_ns);
    UPDATE api_call SET $(moved entry_ns), $(moved return_ns); UPDATE copy SET $(moved start_ns), $(moved end_ns);
    UPDATE sync SET $(moved start_ns), $(moved end_ns); UPDATE overhead SET $(moved start_ns), $(moved end_ns);
    UPDATE clock SET $(moved realtime_ns), $(moved cupti_ns); UPDATE range_event SET $(moved start_ns), $(moved end_ns);
    UPDATE proc SET $(moved created_ns), $(moved armed_ns), $(moved finished_ns), $(moved first_ns), $(moved last_ns),
      boot_id = 'other', hostname = 'two'; UPDATE meta SET value = 'two' WHERE key = 'hostname'"
}
json() { # FILE SQL over d.j
  sqlite3 -batch :memory: "WITH d AS (SELECT CAST(readfile('$1') AS TEXT) AS j) $2"
}
merge() { # ARGUMENT...
  "$wavetap" merge --force -o "$work/merged.db" "$@" --json >"$work/merge.json" 2>"$work/err"
}
# ---- clocks
ranks_of() { # FILE: rank waits late
  "$wavetap" ranks --all --json -r "$1" >"$work/ranks.json"
  json "$work/ranks.json" "SELECT group_concat((value ->> 'rank') || ' ' || (value ->> 'wait_ns') / 1000000 || ' ' || (value ->> 'transfer_ns') / 1000000
    || ' ' || (value ->> 'late_ns') / 1000000, ', ') FROM d, json_each(j, '\$.rows')"
}
truth=$(ranks_of "$work/both.db")
late=$(json "$work/ranks.json" "SELECT r ->> 'rank', r ->> 'late_cause' FROM (SELECT value AS r FROM d, json_each(j, '\$.rows')) ORDER BY r ->> 'late_ns' DESC LIMIT 1")
for plan in "0 0" "7300000000 12000" "-123456789 -50000" "59000000000 300"; do
  # shellcheck disable=SC2086 # two numbers
  set -- $plan
  cp "$work/rank1.db" "$work/moved.db"
  shift_clock "$work/moved.db" "$1" "$2"
  merge "$work/rank0.db" "$work/moved.db"
  is "$?$(cat "$work/err")" 0 "moved by $1 ns, $2 ppb: merged"
  # Every kernel of rank 1 against where it was before.
  worst=$(sqlite3 -batch "$work/merged.db" "ATTACH '$work/rank1.db' AS o; SELECT max(abs(e.start_ns - k.start_ns)) FROM o.kernel_exec k
    JOIN kernel_exec e ON e.exec_id = k.exec_id + (SELECT min(exec_id) - 1 FROM kernel_exec WHERE process_id = 2)
      - (SELECT min(exec_id) - 1 FROM o.kernel_exec)")
  error=$(json "$work/merge.json" "SELECT value ->> 'error_ns' FROM d, json_each(j, '\$.rows') WHERE value ->> 'clock' = 'collectives'")
  ok "found back: $worst ns off, +- $error ns" test "$worst" -le "$error" -a "$error" -le 50000
  is "$(ranks_of "$work/merged.db" | cut -d ' ' -f 1,5)" "$(echo "$truth" | cut -d ' ' -f 1,5)" "both ranks are there"
  is "$(json "$work/ranks.json" "SELECT r ->> 'rank', r ->> 'late_cause' FROM (SELECT value AS r FROM d, json_each(j, '\$.rows')) ORDER BY r ->> 'late_ns' DESC LIMIT 1")" "$late" "and the late one, with its cause"
done
is "$("$wavetap" check "$work/merged.db" | grep -c '  sound  ')" 1 "what comes of it is sound"
# Of rows: all of both, nothing else.
is "$(sqlite3 -batch "$work/merged.db" "SELECT count(*) FROM kernel_exec; SELECT count(*) FROM launch_call; SELECT count(*) FROM config; SELECT count(*) FROM gpu;
  SELECT sum(launches) FROM config_stat; SELECT sum(sql_sum) FROM (SELECT sum(stream_id * 7 + link + correlation_id % 1000) AS sql_sum FROM kernel_exec)")" \
  "$(sqlite3 -batch "$work/both.db" "SELECT count(*) FROM kernel_exec; SELECT count(*) FROM launch_call; SELECT count(*) FROM config; SELECT count(*) FROM gpu;
  SELECT sum(launches) FROM config_stat; SELECT sum(sql_sum) FROM (SELECT sum(stream_id * 7 + link + correlation_id % 1000) AS sql_sum FROM kernel_exec)")" "all rows of both"
is "$(sqlite3 -batch "$work/merged.db" "SELECT group_concat(key || '=' || value) FROM tag; SELECT value FROM meta WHERE key IN ('name', 'hostname') ORDER BY key")" "batch=8
several hosts
ddp" "tags and name on which they agree"
"$wavetap" top --csv --all -r "$work/both.db" | cut -d, -f 2-4 | sort >"$work/a"
"$wavetap" top --csv --all -r "$work/merged.db" | cut -d, -f 2-4 | sort >"$work/b"
is "$(wc -l <"$work/b")" "$(wc -l <"$work/a")" "top has the same kernels"

# ---- one host
merge "$work/rank0.db" "$work/rank1.db"
is "$(json "$work/merge.json" "SELECT group_concat((value ->> 'clock') || ' ' || (value ->> 'offset_ns'), ', ') FROM d, json_each(j, '\$.rows')")" \
  "reference 0, same host 0" "runs of one host keep their clock"
is "$(ranks_of "$work/merged.db" | tr -d ' ')" "$(echo "$truth" | tr -d ' ')" "and ranks says what it says of one run"
# ---- half a run, a missing rank, other GPUs
cp "$work/moved.db" "$work/half.db"
sqlite3 -batch "$work/half.db" "DELETE FROM kernel_exec WHERE start_ns > (SELECT (min(start_ns) + max(start_ns)) / 2 FROM kernel_exec)"
merge "$work/rank0.db" "$work/half.db"
is "$? $(json "$work/merge.json" "SELECT abs((SELECT value ->> 'offset_ns' FROM d, json_each(j, '\$.rows') WHERE value ->> 'clock' = 'collectives')) BETWEEN 58000000000 AND 60000000000 FROM d")" "0 1" \
  "half a run still fits at one place alone"
sqlite3 -batch "$work/moved.db" "UPDATE proc SET world_size = 4; UPDATE gpu SET name = 'Another'"
sqlite3 -batch "$work/rank0.db" "UPDATE proc SET world_size = 4"
merge "$work/rank0.db" "$work/moved.db"
is "$? $(json "$work/merge.json" "SELECT j ->> '\$.ranks_missing', j ->> '\$.ranks' FROM d")" "0 2-3|2" "missing ranks are named"
"$wavetap" ranks --json -r "$work/merged.db" >"$work/ranks.json"
is "$(json "$work/ranks.json" "SELECT j ->> '\$.reason.wait_ns' FROM d")" \
  "not all ranks of the job are in the run: the last to come may be one of the others (wavetap merge)" "and who was late is not told without them"
LC_ALL=C "$wavetap" merge --force -o "$work/merged.db" "$work/rank0.db" "$work/moved.db" >"$work/text"
ok "text: what is missing" grep -q '^missing: rank 2-3\. Who was late is not told' "$work/text"
ok "text: other GPUs" grep -q '^not all have the same GPUs' "$work/text"

# ---- refusals
refused() { # CODE ERROR ARGUMENT...
  code=$1 error=$2
  shift 2
  rm -f "$work/never.db"
  "$wavetap" merge -o "$work/never.db" "$@" >"$work/out" 2>"$work/err"
  is "$? $(head -n 1 "$work/err" | sed "s,$work/,,g")$(cat "$work/out")$(ls "$work/never.db" 2>/dev/null)" "$code wavetap: $error" "refused: $error"
}
refused 3 "rank0.db and rank0.db hold the same process: a run can be in it once" "$work/rank0.db" "$work/rank0.db"
cp "$work/moved.db" "$work/again.db"
sqlite3 -batch "$work/again.db" "UPDATE proc SET rank = 0, uuid = randomblob(16)"
refused 3 "rank 0 is in rank0.db and in again.db: they are of two jobs" "$work/rank0.db" "$work/again.db"
sqlite3 -batch "$work/again.db" "UPDATE proc SET rank = 3, world_size = 8"
refused 3 "again.db is of a job of 8 ranks, others are of 4" "$work/rank0.db" "$work/again.db"
sqlite3 -batch "$work/again.db" "UPDATE proc SET world_size = 4; UPDATE kernel_exec SET start_ns = start_ns + 3600000000000, end_ns = end_ns + 3600000000000"
refused 3 "the clock of again.db can't be set beside that of rank0.db by their collectives: their clocks would be more than a minute apart: runs of another time?" \
  "$work/rank0.db" "$work/again.db"
"$wavetap" merge --force --align none -o "$work/merged.db" "$work/rank0.db" "$work/again.db" >"$work/out" 2>&1
is "$?" 0 "unless clocks are to be taken as they are"
"$wavetap" ranks --json --all -r "$work/merged.db" >"$work/ranks.json"
is "$(json "$work/ranks.json" "SELECT j ->> '\$.reason.wait_ns' FROM d")" "clocks were not aligned (merge --align none)" "of which ranks makes nothing"
# Ranks of two jobs, one after the other on one host: no clock explains that.
cp "$work/rank1.db" "$work/later.db"
shift_clock "$work/later.db" 4000000000 0
sqlite3 -batch "$work/later.db" "UPDATE proc SET world_size = 4, boot_id = 'boot'"
refused 3 "the clock of later.db can't be set beside that of rank0.db by their collectives: its collectives contradict the clock that it shares with another of its host: a rank of another job?" \
  "$work/rank0.db" "$work/later.db"
cp "$work/rank1.db" "$work/fast.db"
shift_clock "$work/fast.db" 0 5000000
sqlite3 -batch "$work/fast.db" "UPDATE proc SET world_size = 4"
refused 3 "the clock of fast.db can't be set beside that of rank0.db by their collectives: their clocks would run apart by more than 1,000 ppm: not the same collectives or launches" \
  "$work/rank0.db" "$work/fast.db"
cp "$work/rank0.db" "$work/itself.db"
"$wavetap" merge --force -o "$work/itself.db" "$work/itself.db" "$work/rank1.db" >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err" | sed "s,$work/,,g")" "2 wavetap: -o itself.db is one of the runs itself" "not over one of them"
ok "which stays as it was" cmp -s "$work/rank0.db" "$work/itself.db"
for format in csv sqlite html; do
  "$wavetap" export --force -o "$work/itself.db" -f $format -r "$work/itself.db" >"$work/out" 2>"$work/err"
  is "$? $(cmp "$work/rank0.db" "$work/itself.db")" "2 " "export -f $format: not over itself"
done
"$top_builddir/tests/unit/make_run" "$work/empty.db" empty job-empty 1000000000000
refused 3 "empty.db: run $(sqlite3 -batch "$work/empty.db" "SELECT value FROM meta WHERE key = 'run_id'") has no kernels: it is left out" "$work/rank0.db" "$work/empty.db"
cp "$work/moved.db" "$work/old.db"
sqlite3 -batch "$work/old.db" "PRAGMA user_version = 4"
refused 1 "old.db: a file of version 4; wavetap analyze makes it version 5" "$work/rank0.db" "$work/old.db"
sqlite3 -batch "$work/old.db" "PRAGMA user_version = 99"
refused 1 "old.db: made by a newer wavetap (file version 99, this program knows 5)" "$work/rank0.db" "$work/old.db"
refused 1 "nosuch.db: no such file" "$work/rank0.db" "$work/nosuch.db"
"$wavetap" merge "$work/rank0.db" "$work/rank1.db" >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err")" "2 wavetap: where to? -o FILE is missing" "without a file"
done_testing

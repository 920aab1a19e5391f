#!/bin/sh
# Ranks recorded as runs of their own, as on several hosts, on the simulated GPU: one is late by 2 ms each step. The
# clock of one is moved by a known offset and drift; merge must find it back within the error that it shows, and ranks
# of the merged run must name the late one, with waits as the devices' own account has them, give or take that error.
. "$top_srcdir/tests/e2e/lib.sh"

export WTFAKE_RAMP_NS=0
size=3 steps=12 late=1
attempt=0
while :; do # again if the machine was too busy for their appointments
  attempt=$((attempt + 1))
  rm -rf "$work/meet" "$data/runs" "$work"/truth.*
  rank=0 pids='' failed=0
  while [ "$rank" -lt $size ]; do
    WAVETAP_RUN="host-$rank-$attempt" RANK=$rank WORLD_SIZE=$size WTFAKE_DEVICES=$size WTFAKE_TRUTH="$work/truth.$rank" \
      tap "$top_builddir/tests/fake/app_ranks" --meet "$work/meet" --steps $steps --late $late --by kernel --us 2000 \
      --span $((30 << attempt)) >"$work/out.$rank" 2>"$work/err.$rank" &
    pids="$pids $!"
    rank=$((rank + 1))
  done
  for pid in $pids; do
    wait "$pid" || failed=$?
  done
  settle
  if [ "$failed" != 3 ] || [ "$attempt" -ge 4 ]; then break; fi
done
is "$failed$(cat "$work"/err.*)" 0 "the job ran"
rank=0
while [ "$rank" -lt $size ]; do
  cp "$(grep -l "host-$rank-$attempt" "$data"/runs/*.db)" "$work/rank$rank.db"
  rank=$((rank + 1))
done
json() { # FILE SQL over d.j
  sqlite3 -batch :memory: "WITH d AS (SELECT CAST(readfile('$1') AS TEXT) AS j) $2"
}
# Rank 2 as of another host: its clock 1.5 s ahead, and 20 ppm fast.
cp "$work/rank2.db" "$work/there.db"
from=$(sqlite3 -batch "$work/there.db" "SELECT min(start_ns) FROM kernel_exec")
moved() {
  echo "$1 = $1 + 1500000000 + ($1 - $from) / 50000"
}
sqlite3 -batch "$work/there.db" "UPDATE kernel_exec SET $(moved start_ns), $(moved end_ns); UPDATE launch_call SET $(moved entry_ns), $(moved return_ns);
  UPDATE api_call SET $(moved entry_ns), $(moved return_ns); UPDATE sync SET $(moved start_ns), $(moved end_ns);
  UPDATE clock SET $(moved realtime_ns), $(moved cupti_ns); UPDATE copy SET $(moved start_ns), $(moved end_ns); UPDATE overhead SET $(moved start_ns), $(moved end_ns);
  UPDATE proc SET $(moved created_ns), $(moved armed_ns), $(moved finished_ns), $(moved first_ns), $(moved last_ns), hostname = 'there', boot_id = 'there'"
"$wavetap" merge -o "$work/job.db" "$work/rank0.db" "$work/rank1.db" "$work/there.db" --json >"$work/merge.json" 2>"$work/err"
is "$?$(cat "$work/err")" 0 "merged"
is "$(json "$work/merge.json" "SELECT group_concat(value ->> 'clock', ', '), j ->> '\$.ranks_missing' IS NULL FROM d, json_each(j, '\$.rows')")" \
  "reference, same host, collectives|1" "two of one host, one of another"
error=$(json "$work/merge.json" "SELECT max(value ->> 'error_ns') FROM d, json_each(j, '\$.rows')")
worst=$(sqlite3 -batch "$work/job.db" "ATTACH '$work/rank2.db' AS o; SELECT max(abs(c.realtime_ns - k.realtime_ns)) FROM
  (SELECT realtime_ns, monotonic_ns FROM clock WHERE process_id = (SELECT process_id FROM proc WHERE rank = 2)) c JOIN o.clock k USING (monotonic_ns)")
ok "its clock is found back: $worst ns off, +- $error ns" test "$worst" -le "$error"
is "$("$wavetap" check "$work/job.db" | grep -c '  sound  ')" 1 "what comes of it is sound"

# Waits by the devices' own account.
rank=0
while [ "$rank" -lt $size ]; do
  grep ncclDevKernel "$work/truth.$rank" | sed "s/^{/{\"rank\":$rank,/"
  rank=$((rank + 1))
done >"$work/truth"
truth=$(sqlite3 -batch :memory: "WITH t AS (SELECT value ->> 'rank' AS rank, value ->> 'record_start_ns' AS s, row_number() OVER
    (PARTITION BY value ->> 'rank' ORDER BY value ->> 'record_start_ns') AS k
  FROM json_each('[' || replace(rtrim(readfile('$work/truth'), char(10)), char(10), ',') || ']'))
  SELECT json_group_array(w) FROM (SELECT sum((SELECT max(s) FROM t o WHERE o.k = t.k) - s) AS w FROM t GROUP BY rank ORDER BY rank)")
"$wavetap" ranks --all --json -r "$work/job.db" >"$work/ranks.json"
is "$(json "$work/ranks.json" "SELECT group_concat(abs((value ->> 'wait_ns') - ('$truth' ->> ('\$[' || (value ->> 'rank') || ']'))) <= 2 * $error * $steps, ' ') FROM d, json_each(j, '\$.rows')")" \
  "1 1 1" "each waited as long as the devices say, within the error"
"$wavetap" ranks --json -r "$work/job.db" >"$work/ranks.json"
is "$(json "$work/ranks.json" "SELECT (SELECT value ->> 'rank' FROM json_each(j, '\$.rows') WHERE value ->> 'process_id' = j ->> '\$.slowest_process_id') FROM d")" \
  $late "the late rank is named"
is "$(json "$work/ranks.json" "SELECT v ->> 'rank', v ->> 'cause', v ->> 'kernel' FROM d, (SELECT value AS v FROM d, json_each(j, '\$.late') ORDER BY v ->> 'waited_ns' DESC LIMIT 1)")" \
  "$late|kernels|ranks_load" "and what made it late"
# Without one of them.
"$wavetap" merge --force -o "$work/job.db" "$work/rank0.db" "$work/there.db" >"$work/text" 2>&1
is "$? $(grep -c '^missing: rank 1\.' "$work/text")" "0 1" "a rank that is missing is told"
"$wavetap" ranks --all --json -r "$work/job.db" >"$work/ranks.json"
is "$(json "$work/ranks.json" "SELECT j ->> '\$.slowest_process_id' IS NULL, j ->> '\$.late' FROM d")" "1|[]" "and nobody is called late in its place"
done_testing

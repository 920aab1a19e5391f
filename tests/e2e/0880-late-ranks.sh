#!/bin/sh
# Ranks that meet in a collective each step, one of them late: by a sleep of the host, by a kernel that takes longer, by a
# copy from pageable memory. `wavetap ranks` must say who, how long the others waited, and what it was; waits against
# the times that the simulated devices say the collectives started, causes against what the program planted.
. "$top_srcdir/tests/e2e/lib.sh"

export WTFAKE_RAMP_NS=0 WTFAKE_COPY_BYTES_PER_NS=2
steps=12

job() { # NAME RANKS LATE BY US: each rank a process; again if the machine was too busy for their appointments
  name=$1 size=$2
  attempt=0
  while :; do
    attempt=$((attempt + 1))
    export WAVETAP_RUN="$name-$attempt" WORLD_SIZE="$size" WTFAKE_DEVICES="$size"
    rm -f "$work/meet" "$work"/truth.*
    rank=0 pids='' failed=0
    while [ "$rank" -lt "$size" ]; do
      RANK=$rank WTFAKE_TRUTH="$work/truth.$rank" tap "$top_builddir/tests/fake/app_ranks" --meet "$work/meet" --steps $steps \
        --late "$3" --by "$4" --us "$5" --span $((50 << attempt)) >"$work/out.$rank" 2>"$work/err.$rank" &
      pids="$pids $!"
      rank=$((rank + 1))
    done
    for pid in $pids; do
      wait "$pid" || failed=$?
    done
    settle
    if [ "$failed" != 3 ] || [ "$attempt" -ge 5 ]; then break; fi
  done
  is "$failed$(cat "$work"/err.*)" 0 "$name: the job ran"
  is "$(sql "SELECT count(*), group_concat(rank) FROM (SELECT rank FROM process ORDER BY rank)")" \
    "$size|$(seq -s, 0 $((size - 1)))" "$name: one run file for all ranks"
  "$wavetap" ranks --all --json >"$work/ranks.json"
  "$wavetap" ranks --json >"$work/steady.json"
  "$wavetap" ledger --all --json >"$work/ledger.json"
}
json() { # FILE SQL over d.j
  sqlite3 -batch :memory: "WITH d AS (SELECT CAST(readfile('$1') AS TEXT) AS j) $2"
}
# Waits by the devices' own account: rank|ns, the k-th collective of each up to the last start.
truth_waits() { # RANKS
  rank=0
  while [ "$rank" -lt "$1" ]; do
    grep ncclDevKernel "$work/truth.$rank" | sed "s/^{/{\"rank\":$rank,/"
    rank=$((rank + 1))
  done >"$work/truth"
  sqlite3 -batch :memory: "WITH t AS (SELECT value ->> 'rank' AS rank, value ->> 'record_start_ns' AS s, row_number() OVER
      (PARTITION BY value ->> 'rank' ORDER BY value ->> 'record_start_ns') AS k
    FROM json_each('[' || replace(rtrim(readfile('$work/truth'), char(10)), char(10), ',') || ']'))
    SELECT rank, sum((SELECT max(s) FROM t o WHERE o.k = t.k) - s) FROM t GROUP BY 1 ORDER BY 1"
}
late() { # EXPRESSION on v, the entry of the latest rank
  json "$work/steady.json" "SELECT $1 FROM d, (SELECT value AS v FROM d, json_each(j, '\$.late')
    ORDER BY v ->> 'waited_ns' DESC LIMIT 1)"
}
waits_are_true() { # RANKS
  is "$(json "$work/ranks.json" "SELECT value ->> 'rank', value ->> 'wait_ns' FROM d, json_each(j, '\$.rows')")" \
    "$(truth_waits "$1")" "$name: each waited as long as the devices say"
  is "$(json "$work/ranks.json" "SELECT j ->> '\$.collectives', j ->> '\$.collectives_apart', j ->> '\$.reason' FROM d")" \
    "$steps|0|{}" "$name: in $steps collectives"
  is "$(json "$work/ledger.json" "SELECT count(*), min(value ->> 'comm_sm_ns') > 0, max(value ->> 'underfill_sm_ns')
    FROM d, json_each(j, '\$.devices')")" "$size|1|0" "$name: what collectives leave idle is comm, no underfill"
  [ "$name" != none ] || return 0 # nothing worth a finding
  # diagnose tells the same waits.
  "$wavetap" diagnose --all --json >"$work/diagnose.json"
  longest=$(truth_waits "$1" | sort -t '|' -k 2 -n -r | head -n 1)
  is "$(json "$work/diagnose.json" "SELECT (value ->> 'seen') LIKE '%waited: rank ${longest%|*} %' FROM d,
    json_each(j, '\$.findings') WHERE value ->> 'kind' = 'rank-imbalance'")" 1 "$name: diagnose has them"
}
caused_by() { # RANK CAUSE: planted ns from the rank's output
  planted=$(sed -n 's/.* late_ns //p' "$work/out.$1")
  is "$(late "v ->> 'rank', v ->> 'cause'")" "$1|$2" "$name: rank $1 was late, because of $2"
  is "$(json "$work/steady.json" "SELECT (SELECT value ->> 'rank' FROM d, json_each(j, '\$.rows')
    WHERE value ->> 'process_id' = j ->> '\$.slowest_process_id') FROM d")" "$1" "$name: and is called the slowest"
  of=$(json "$work/steady.json" "SELECT j ->> '\$.late_of_steps' FROM d")
  was=$(late "v ->> 'steps'")
  ok "$name: in $was of $of steps" test "$of" -ge $((steps - 3)) -a $((was * 100)) -ge $((of * 60))
  # Of those steps; the machine adds what it likes to any rank.
  excess=$(late "v ->> '\$.excess_ns.$2'")
  ok "$name: $excess ns more of it, $planted planted in $steps steps" \
    test $((excess * steps)) -ge $((planted * was * 50 / 100)) -a $((excess * steps)) -le $((planted * was * 200 / 100))
  COLUMNS=200 LC_ALL=C "$wavetap" ranks >"$work/text"
  ok "$name: in words" grep -q "^late: rank $1  the others waited .* the latest in $was of $of steps" "$work/text"
}

job host 3 1 host 20000
waits_are_true 3
caused_by 1 host
job kernel 2 0 kernel 20000
waits_are_true 2
caused_by 0 kernels
is "$(late "v ->> 'kernel'")" ranks_load "kernel: which of its kernels took longer"
ok "kernel: in words" grep -q '^  it had more than the others of, in such a step: *kernels .*, most in ranks_load' "$work/text"
job copy 2 1 copy 20000
waits_are_true 2
caused_by 1 copy_pageable
ok "copy: in words" grep -q '^  it had more than the others of, in such a step: *copy (pageable) ' "$work/text"
job none 2 -1 none 20000
waits_are_true 2
# Of one rank alone nothing follows.
"$wavetap" ranks --rank 0 --json >"$work/one.json"
is "$(json "$work/one.json" "SELECT j ->> '\$.reason.late', j ->> '\$.late' FROM d")" "not all ranks are selected|[]" \
  "one rank alone: no cause, with the reason"
done_testing

#!/bin/sh
# Two ranks on two H200s, recorded by tests/gpu/run.sh two-gpus: rank 1 was late by 2 ms a step, phase by phase for another
# reason. `wavetap ranks` of each phase must say so, and how much it was, within 40 % of what the program measured; what
# collectives leave idle is no underfill.
. "$top_srcdir/tests/e2e/lib.sh"

recorded=$top_srcdir/tests/data
[ -e "$recorded/h200x2-late-ddp.phases" ] || [ -e "$recorded/h200x2-late-fsdp.phases" ] || skip_all "not recorded yet"

json() { # FILE SQL over d.j
  sqlite3 -batch :memory: "WITH d AS (SELECT CAST(readfile('$1') AS TEXT) AS j) $2"
}
for work_of in ddp fsdp; do
  [ -e "$recorded/h200x2-late-$work_of.phases" ] || continue
  run=$work/$work_of.db
  "$wavetap" import -o "$run" "$recorded/h200x2-late-$work_of-rank0.wtrec" "$recorded/h200x2-late-$work_of-rank1.wtrec" \
    >"$work/out" 2>"$work/err"
  is "$?|$(cat "$work/err")" "0|" "$work_of: imported"
  is "$(sqlite3 -batch "$run" "SELECT group_concat(rank), sum(unexplained) FROM (SELECT rank, unexplained FROM proc
    JOIN loss USING (process_id) ORDER BY rank)")" "0,1|0" "$work_of: two ranks, all is accounted for"
  "$wavetap" top -r "$run" --all --limit 0 --json >"$work/top.json"
  is "$(json "$work/top.json" "SELECT count(*) > 0, sum(value ->> 'underfill_sm_ns'), sum(value ->> 'idle_sm_ns') FROM d,
    json_each(j, '\$.rows') WHERE value ->> 'kernel' LIKE '%nccl%'")" "1|0|0" "$work_of: no underfill of collectives"
  "$wavetap" ledger -r "$run" --from 0ns --json >"$work/ledger.json"
  is "$(json "$work/ledger.json" "SELECT min(value ->> 'comm_sm_ns') > 0, sum(value ->> 'residual_sm_ns') FROM d, json_each(j, '\$.devices')")" \
    "1|0" "$work_of: idle beside collectives apart"
  # What follows the loop is not the last step's: 246.6 ms without a kernel.
  "$wavetap" steps -r "$run" --json >"$work/steps.json"
  is "$(json "$work/steps.json" "SELECT (j ->> '\$.steps.steady.max_ns') < 2 * (j ->> '\$.steps.steady.median_ns') FROM d")" 1 \
    "$work_of: no step takes twice as long as the others"
  start_ns=$(json "$work/ledger.json" "SELECT j ->> '\$.window.start_ns' FROM d")
  sed 's/^PHASE //' "$recorded/h200x2-late-$work_of.phases" | tr '\n' ',' | sed 's/^/[/; s/,$/]/' >"$work/phases.json"
  json "$work/phases.json" "SELECT value ->> 'phase', max(value ->> 'from_ns') - $start_ns, min(value ->> 'to_ns') - $start_ns,
      sum(iif(value ->> 'rank' = 1, 1, -1) * (value ->> 'late_ns')) / max(value ->> 'steps')
    FROM d, json_each(j) GROUP BY 1" >"$work/phases"
  while IFS='|' read -r phase from_ns to_ns planted_ns; do
    case $phase in
      sleep) cause=host ;;
      kernel) cause=kernels ;;
      copy) cause=copy_pageable ;;
      *) continue ;;
    esac
    "$wavetap" ranks -r "$run" --from "${from_ns}ns" --to "${to_ns}ns" --json >"$work/ranks.json"
    is "$(json "$work/ranks.json" "SELECT value ->> 'rank', value ->> 'cause' FROM d, json_each(j, '\$.late')
      ORDER BY value ->> 'waited_ns' DESC LIMIT 1")" "1|$cause" "$work_of, $phase: rank 1, because of $cause"
    more_ns=$(json "$work/ranks.json" "SELECT (value ->> '\$.excess_ns.$cause') / (value ->> 'steps') FROM d, json_each(j, '\$.late')
      WHERE value ->> 'rank' = 1")
    ok "$work_of, $phase: $more_ns ns a step more of it, $planted_ns planted" \
      test $((more_ns * 10)) -ge $((planted_ns * 6)) -a $((more_ns * 10)) -le $((planted_ns * 14))
  done <"$work/phases"
  # The same, but that its processes ran on two hosts: who was late is not known, whichever side it is on. Never 0.
  cp "$run" "$work/hosts.db"
  sqlite3 -batch "$work/hosts.db" "UPDATE meta SET value = 'ffff0002' WHERE key = 'run_id'; UPDATE proc SET hostname = 'other' WHERE rank = 1;
    UPDATE config_stat SET first_ns = first_ns + 1 -- not a copy"
  for pair in "$run $work/hosts.db before" "$work/hosts.db $run after"; do
    # shellcheck disable=SC2086 # two files and a word
    set -- $pair
    "$wavetap" compare "$1" "$2" --json >"$work/compare.json"
    is "$(json "$work/compare.json" "SELECT group_concat((value ->> 'what') || ' ' || coalesce(value ->> 'verdict', 'unjudged') || ' ' ||
      ((value ->> '$3_ns') IS NOT NULL) || ' ' || (value ->> 'reason' LIKE 'they ran on several hosts%'), ', ') || '|' || count(value ->> 'change_ns')
      FROM d, json_each(j, '\$.comparisons[0].ranks')")" "rank 0 late unjudged 1 1, rank 1 late unjudged 1 1|0" \
      "$work_of: who was late is known $3 only, and not compared"
  done
done
done_testing

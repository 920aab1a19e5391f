#!/bin/sh
# What was measured, in ledger and top: recorded runs with rows of `measured` put in, against figures that
# sqlite3 finds from the kernels' times alone, and rows of every grouping against the ledger.
. "$top_srcdir/tests/e2e/lib.sh"

# Every configuration but each seventh; each fifth is profiled. Rates are of no particular form, but sum to the SMs.
measure() { # RUN-FILE
  sqlite3 -batch "$1" "DELETE FROM measured;
    INSERT INTO measured (config_id, evidence, is_used, launches, time_ns, active_sms, active_error_sms, underfill_sms, wave_sms,
        wave_max_sms, straggle_sms, ramp_sms, disagrees, warps_per_sm, tensor_share, dram_bytes_per_ns, bound, wave_form, joint_time_ns)
      SELECT config_id, iif(config_id % 5 = 0, 'profiled', 'sampled'), 1, 100, 1000, S - i * 1.93, 0.7, i, i * 0.11, i * 0.17,
        i * 0.71, i * 0.11, config_id = 1, 16, 0.25, 1000, 'memory', 'jitter', 0
      FROM (SELECT config_id, g.sm_count AS S, (config_id % 11 + 1) * g.sm_count / 37.0 AS i FROM config JOIN gpu g USING (device_id)
        WHERE config_id % 7 > 0);"
}
# One whose joint SMs are known, and one of which only the class is.
more() { # RUN-FILE
  sqlite3 -batch "$1" "UPDATE measured SET joint_time_ns = 1, joint_active_sms = 0.37 * (SELECT sm_count FROM gpu), joint_error_sms = 1
      WHERE evidence = 'sampled' AND config_id % 2 = 0;
    INSERT INTO measured (config_id, evidence, is_used, reason, launches, time_ns, class_wave_sms, wave_form, bound, disagrees, joint_time_ns)
      SELECT config_id, 'sampled', 0, 'few launches', 3, 9, 0.5, 'shared', 'compute', 0, 0 FROM config
      WHERE config_id % 7 = 0 AND model_reason IS NULL;"
}
# Per device, from start and end of kernels: the time in which a kernel that is no collective was the only one, by
# configuration, and from that the measured lines. collective: SQL.
by_hand() { # RUN-FILE COLLECTIVE
  sqlite3 -batch "$1" "CREATE TEMP TABLE k AS SELECT exec_id, config_id, device_id, start_ns, end_ns, kernel.name LIKE '$2' AS is_comm
      FROM kernel_exec JOIN config USING (config_id) JOIN kernel USING (kernel_id) WHERE end_ns > start_ns;
    CREATE TEMP TABLE a AS WITH e AS (SELECT device_id, start_ns AS t, 1 AS n, exec_id AS x FROM k UNION ALL SELECT device_id, end_ns, -1, -exec_id FROM k),
      g AS (SELECT device_id, t, sum(n) AS n, sum(x) AS x FROM e GROUP BY 1, 2),
      s AS (SELECT device_id, sum(n) OVER w AS n, sum(x) OVER w AS x, lead(t) OVER w - t AS ns FROM g WINDOW w AS (PARTITION BY device_id ORDER BY t))
      SELECT k.device_id, k.config_id, sum(s.ns) AS ns FROM s JOIN k ON k.exec_id = s.x WHERE s.n = 1 AND NOT k.is_comm GROUP BY 1, 2;
    SELECT device_id, sum(CAST(ramp_sms * ns AS INTEGER)), sum(CAST(straggle_sms * ns AS INTEGER)) FROM a JOIN measured USING (config_id)
    GROUP BY 1 ORDER BY 1"
}
json() { # FILE LIST COLUMNS
  sqlite3 -batch :memory: "SELECT $3 FROM json_each(CAST(readfile('$1') AS TEXT), '$2')"
}
lines="sum(value ->> 'active_sm_ns'), sum(value ->> 'underfill_sm_ns'), sum(value ->> 'wave_sm_ns'), sum(value ->> 'wave_max_sm_ns'),
  sum(value ->> 'straggle_sm_ns'), sum(value ->> 'ramp_sm_ns'), sum(value ->> 'unjudged_sm_ns'), sum(value ->> 'comm_sm_ns')"
sums() { # RUN-FILE GROUP [ARGUMENT...]: do rows sum to the ledger?
  run=$1 group=$2
  shift 2
  "$wavetap" top -r "$run" --group "$group" --json "$@" >"$work/top.json" 2>"$work/err" || {
    sed 's/^/# /' "$work/err"
    return 1
  }
  "$wavetap" ledger -r "$run" --json "$@" >"$work/ledger.json" || return 1
  [ "$(json "$work/ledger.json" '$.devices' "sum(value ->> 'residual_sm_ns')")" = 0 ] || return 1
  top=$(json "$work/top.json" '$.rows' "$lines") ledger=$(json "$work/ledger.json" '$.devices' "$lines")
  [ "$top" = "$ledger" ] && return 0
  echo "# top    $top"
  echo "# ledger $ledger"
  return 1
}

for name in h200-train-eager h200-copies-side sim-demo h200x2-ddp-rank0; do
  run=$work/$name.db
  "$wavetap" import "$top_srcdir/tests/data/$name.wtrec" -o "$run" >/dev/null 2>"$work/err" || sed 's/^/# /' "$work/err"
  "$wavetap" ledger --all -r "$run" >"$work/before" 2>&1
  "$wavetap" top --all -r "$run" >>"$work/before" 2>&1
  is "$(grep -ciE 'sampled|profiled|strag  |EVIDENCE$' "$work/before")" 0 "$name: nothing measured, nothing said of it"
  measure "$run"
  "$wavetap" ledger --all -r "$run" --json >"$work/ledger.json"
  is "$(json "$work/ledger.json" '$.devices' "value ->> 'device_id', value ->> 'ramp_sm_ns', value ->> 'straggle_sm_ns'")" \
    "$(by_hand "$run" '%nccl%')" "$name: ramp and straggle from the kernels' times alone"
  is "$(sqlite3 -batch "$run" "SELECT sum(active_sm_ns), sum(underfill_sm_ns), sum(wave_sm_ns), sum(wave_max_sm_ns), sum(straggle_sm_ns),
      sum(ramp_sm_ns), sum(unjudged_sm_ns), sum(comm_sm_ns) FROM kernel_idle")" "$(json "$work/ledger.json" '$.devices' "$lines")" \
    "$name: the views sum to the ledger"
  more "$run"
  for group in kernel config device process rank stream graph duration class; do
    ok "$name: rows by $group sum to the ledger" sums "$run" "$group" --all
  done
  is "$(sqlite3 -batch "$run" "SELECT sum(active_sm_ns), sum(underfill_sm_ns), sum(wave_sm_ns), sum(wave_max_sm_ns), ifnull(sum(straggle_sm_ns), 0),
      ifnull(sum(ramp_sm_ns), 0), sum(unjudged_sm_ns), sum(comm_sm_ns) FROM kernel_idle")" "$(json "$work/ledger.json" '$.devices' "$lines")" \
    "$name: with joint measurement and classes, too"
  is "$(sqlite3 -batch "$run" "SELECT count(*) FROM config_idle WHERE kernel_sm_ns <> active_sm_ns + underfill_sm_ns + wave_sm_ns +
    ifnull(straggle_sm_ns, 0) + ifnull(ramp_sm_ns, 0) + unjudged_sm_ns + comm_sm_ns OR min(active_sm_ns, wave_sm_ns, unjudged_sm_ns) < 0")" \
    0 "$name: rows sum to their SM-time"
  for group in kernel device class; do
    ok "$name: in a window by $group" sums "$run" "$group" --from 10ms --to -10ms
  done
  ok "$name: the file is sound" "$wavetap" check -r "$run"
  "$wavetap" ledger --all -r "$run" --json >"$work/ledger.json"
  # Cut into stretches, kernels that share SMs have the odd SM-ns otherwise, and with it its joint measurement.
  is "$("$wavetap" timeline --all -r "$run" --width 3ms --csv | awk -F, -v sums="$(json "$work/ledger.json" '$.devices' \
    "sum(value ->> 'active_sm_ns') || ' ' || sum(value ->> 'underfill_sm_ns') || ' ' || sum(value ->> 'wave_sm_ns')")" 'NR > 1 { a += $5; u += $6; w += $7 }
    END { split(sums, s, " "); d = a - s[1]; print (d < 100 && d > -100), u - s[2], w - s[3] }')" "1 0 0" "$name: stretches of time sum to the ledger"
done

# ---- evidence of each number
run=$work/h200-train-eager.db
"$wavetap" ledger --all -r "$run" --json >"$work/ledger.json"
is "$(json "$work/ledger.json" '$.devices[0].evidence' "group_concat(key || ' ' || value, ', ')")" \
  "active_sm_ns mixed, underfill_sm_ns mixed, wave_sm_ns mixed, straggle_sm_ns mixed, ramp_sm_ns mixed, unjudged_sm_ns mixed, comm_sm_ns mixed, residual_sm_ns mixed" \
  "lines say what they rest on"
"$wavetap" ledger --all -r "$run" >"$work/out"
ok "in text, by how much" grep -qE '^active .*sampled [0-9.]+%, profiled [0-9.]+%' "$work/out"
sqlite3 -batch "$run" "DELETE FROM measured; INSERT INTO measured (config_id, evidence, is_used, launches, time_ns, active_sms, active_error_sms,
  underfill_sms, wave_sms, wave_max_sms, straggle_sms, ramp_sms, disagrees, joint_time_ns)
  SELECT config_id, 'sampled', 1, 1, 1, 100, 0.5, 12, 0, 0, 20, 0, 0, 0 FROM config"
"$wavetap" ledger --all -r "$run" >"$work/out"
ok "all of it" grep -qE '^active .*  sampled  *SMs with blocks' "$work/out"
ok "and in the first line" grep -q 'evidence: sampled$' "$work/out"
"$wavetap" top --all -r "$run" --columns rank,lost,straggle,kernel >"$work/out"
is "$(grep -c '~' "$work/out")" 0 "top: nothing is the model's"
"$wavetap" top --all -r "$run" --group config --json >"$work/top.json"
is "$(json "$work/top.json" '$.rows' "DISTINCT value -> 'evidence' ->> 'idle_sm_ns', value ->> 'disagrees', 132 * (value ->> 'straggle_sm_ns') / (value ->> 'active_sm_ns')")" \
  "sampled|0|26" "top: rates are those of the measurement"
is "$(json "$work/top.json" '$.rows' "abs(sum(1.0 * (value ->> 'error_sm_ns')) / sum(value ->> 'time_ns') - 0.5) < 0.01")" 1 "top: with its error"
# The two of them differ: the better one is used; disagreement is shown.
sqlite3 -batch "$run" "UPDATE measured SET is_used = 0 WHERE config_id = 1; UPDATE measured SET disagrees = 1 WHERE config_id < 3;
  INSERT INTO measured (config_id, evidence, is_used, launches, time_ns, active_sms, active_error_sms, underfill_sms, wave_sms, wave_max_sms,
  straggle_sms, ramp_sms, disagrees, joint_time_ns) VALUES (1, 'profiled', 1, 1, 1, 60, 0.1, 12, 0, 0, 60, 0, 1, 0)"
"$wavetap" top --all -r "$run" --group config --json >"$work/top.json"
is "$(json "$work/top.json" '$.rows' "value ->> 'config_id', value -> 'evidence' ->> 'straggle_sm_ns'" | sort -n | head -1)" "1|profiled" \
  "top: the evidence that is used"
"$wavetap" top --all -r "$run" --group config --by straggle --limit 0 --columns rank,lost,straggle >"$work/out"
is "$(grep -cE '^ *[0-9]+ +!' "$work/out")" 2 "top: model and measurement differ, by a mark"
ok "top: which is explained" grep -q '! measured, and beyond what the model allows' "$work/out"
is "$(sort -s -k3,3 -n -r "$work/out" | grep -cE '^ *1 ')" 1 "top: ranked by straggle"
# Rates that can't be.
sqlite3 -batch "$run" "UPDATE measured SET straggle_sms = -1e300, ramp_sms = 1e300"
ok "rates that can't be are left out" sums "$run" kernel --all
"$wavetap" top --all -r "$run" >"$work/out"
ok "and the model stands" grep -q '~ model only' "$work/out"

done_testing

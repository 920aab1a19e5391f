#!/bin/sh
# What samples of a simulated device, folded over its kernels, say of each configuration, against what
# the device did; the same from recordings; check and analyze of such a run.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
export WTFAKE_PM="$work/pm" WTFAKE_COUNTERS="$work/counters" WAVETAP_SAMPLER="$top_builddir/wavetap-sampler"

WTFAKE_TRUTH="$work/truth" "$wavetap" run --name folded --record "$work/records" -- \
  "$fake/app_demo" --seconds 4 >"$work/out" 2>"$work/err"
settle
run=$(run_file)

is "$(sql "SELECT count(*), sum(reason IS NULL), sum(explained_sm_ns > 0.9 * active_sm_ns) FROM fold")" "1|1|1" "the device's samples are explained"
sqlite3 -batch :memory: "
  ATTACH '$run' AS run;
  CREATE TABLE kernel AS SELECT value ->> 'kernel' AS name, value ->> 'busy_sm_ns' AS busy,
      (value ->> 'record_end_ns') - (value ->> 'record_start_ns') AS ns
    FROM json_each('[' || replace(rtrim(readfile('$work/truth'), char(10)), char(10), ',') || ']') WHERE value ->> 'kernel' IS NOT NULL;
  CREATE TABLE truth AS SELECT name, 1.0 * sum(busy) / sum(ns) AS active FROM kernel GROUP BY name;
  SELECT t.name, round(t.active, 2), round(m.active_sms, 2), round(m.active_error_sms, 2),
      CASE WHEN abs(m.active_sms - t.active) <= m.active_error_sms THEN 1
        WHEN abs(m.active_sms - t.active) <= 2 * m.active_error_sms THEN 'near' ELSE 0 END, m.is_used
    FROM truth t JOIN run.kernel k USING (name) JOIN run.config USING (kernel_id) JOIN run.measured m USING (config_id)
    WHERE m.evidence = 'sampled' AND m.reason IS NULL" >"$work/measured"
sed 's/^/# /' "$work/measured"
ok "most configurations are measured" [ "$(wc -l <"$work/measured")" -ge 5 ]
# 95 of 100 are within: of these few, one may be beyond.
ok "they are within their errors of what the device did" [ "$(grep -vc '|1|[01]$' "$work/measured")" -le 1 ]
is "$(grep -c '|0|[01]$' "$work/measured")" 0 "none is wide of its error"
ok "some stand before the model" [ "$(grep -c '|1$' "$work/measured")" -ge 3 ]
is "$(sql "SELECT count(*) FROM measured WHERE reason IS NULL AND abs(active_sms + underfill_sms + wave_sms + straggle_sms + ramp_sms - 132) > 1e-6")" 0 \
  "rates sum to the SMs"
is "$(sql "SELECT count(*) > 0 FROM measured_profile")" 1 "there are profiles"
ok "unequal blocks are straggle" [ "$(sql "SELECT straggle_sms > 50 FROM measured JOIN config USING (config_id) JOIN kernel USING (kernel_id) WHERE name LIKE '%uneven%'")" = 1 ]

"$wavetap" check "$run" >"$work/out" 2>&1
is "$?" 0 "check finds it sound: $(tail -n 1 "$work/out")"
cp "$run" "$work/again.db"
"$wavetap" analyze -r "$work/again.db" --csv >"$work/out" 2>&1
is "$?|$(grep '^measured,' "$work/out" | cut -d, -f3)" "0|0" "analyze derives the same"

# Were one of them a collective, nothing that it leaves idle would be measured idle time of it.
collective=$(sql "SELECT kernel_id FROM measured JOIN config USING (config_id) WHERE is_used AND straggle_sms > 0 ORDER BY config_id LIMIT 1")
sqlite3 -batch "$work/again.db" "UPDATE kernel SET name = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL' WHERE kernel_id = $collective"
"$wavetap" analyze -r "$work/again.db" --csv >"$work/out" 2>&1
is "$?|$(sqlite3 "$work/again.db" "SELECT count(*) > 0, sum(is_used), count(straggle_sms), count(joint_active_sms), min(reason LIKE 'a collective%')
  FROM measured JOIN config USING (config_id) WHERE kernel_id = $collective")" "0|1|0|0|0|1" "a collective: nothing of it is measured"
is "$(sqlite3 "$work/again.db" "SELECT idle_sm_ns, measured_sm_ns, straggle_sm_ns IS NULL, evidence FROM kernel_idle
  WHERE kernel_id = $collective")" "0|0|1|model" "its idle time is not measured"
is "$(sqlite3 "$work/again.db" "SELECT count(*) FROM measured_profile JOIN config USING (config_id) WHERE kernel_id = $collective")" 0 \
  "nor a profile"
"$wavetap" ledger --all -r "$work/again.db" --json >"$work/ledger.json"
is "$(sqlite3 -batch :memory: "SELECT sum(value ->> 'residual_sm_ns')
  FROM json_each(CAST(readfile('$work/ledger.json') AS TEXT), '\$.devices')")" 0 "and the ledger sums"
ok "show says why" sh -c "'$wavetap' show -r '$work/again.db' nccl | grep -q 'a collective: SMs that it leaves idle'"

# ---- once raw samples are gone the means of the least and the most active SM are the same, from sums
extremes() { # FILE: means of the whole run
  "$wavetap" sms --all --json -r "$1" >"$work/sms.json" 2>"$work/err" &&
    sqlite3 -batch :memory: "SELECT $2 FROM (SELECT value ->> '\$.samples.active_min' AS lo, value ->> '\$.samples.active_avg' AS mid,
      value ->> '\$.samples.active_max' AS hi FROM json_each(CAST(readfile('$work/sms.json') AS TEXT), '\$.devices'))"
}
extremes "$run" "lo, mid, hi" >"$work/whole"
cp "$run" "$work/few.db"
sqlite3 -batch "$work/few.db" "INSERT INTO meta SELECT 'samples_removed', sum(samples) FROM sample_chunk; DELETE FROM sample_chunk"
is "$(extremes "$work/few.db" "abs(lo - $(cut -d'|' -f1 "$work/whole")) < 0.002 AND abs(hi - $(cut -d'|' -f3 "$work/whole")) < 0.002 AND lo < mid AND mid < hi")" 1 \
  "without raw samples: $(cat "$work/whole") and $(extremes "$work/few.db" "lo, mid, hi")"
sqlite3 -batch "$work/few.db" "$(for c in busy_ns extremes_ns min_share_ns max_share_ns; do echo "ALTER TABLE sm_bucket DROP COLUMN $c;"; done)
  PRAGMA user_version = 3"
is "$(extremes "$work/few.db" "lo IS NULL, mid > 0, hi IS NULL")" "1|1|1" "a file of version 3 does not know them"
ok "check knows version 3: $(cat "$work/err")" "$wavetap" check "$work/few.db"
sqlite3 -batch "$work/few.db" "DROP VIEW kernel_idle; DROP VIEW config_idle; $(for c in issue_share bound_reason class_wave_sms; do
  echo "ALTER TABLE measured DROP COLUMN $c;"; done)"
"$wavetap" analyze -r "$work/few.db" >"$work/out" 2>&1
is "$?|$(sqlite3 -batch "$work/few.db" "PRAGMA user_version; SELECT count(busy_ns) FROM sm_bucket" | tr '\n' ' ')" "0|5 0 " "analyze makes it one of version 5"
is "$(extremes "$work/few.db" "lo IS NULL, mid > 0, hi IS NULL")" "1|1|1" "which does not know them either"
ok "and is sound" "$wavetap" check "$work/few.db"
cp "$run" "$work/edited.db"
sqlite3 -batch "$work/edited.db" "UPDATE sm_bucket SET min_share_ns = min_share_ns + 1000 WHERE start_ns = (SELECT max(start_ns) FROM sm_bucket)"
"$wavetap" check "$work/edited.db" >"$work/out"
ok "check sums them again" grep -q 'sm_bucket.*is not what its samples sum to' "$work/out"

is "$(find "$work/records" -name '*.wtrec' | wc -l)" 2 "program and sampler have a recording each"
"$wavetap" import -o "$work/imported.db" "$work"/records/*.wtrec >"$work/out" 2>&1
is "$?" 0 "both are imported"
for table in sampler sample_chunk sm_bucket gpu_state fold measured measured_profile; do
  is "$(sqlite3 "$run" "ATTACH '$work/imported.db' AS i; SELECT (SELECT count(*) FROM (SELECT * FROM main.$table EXCEPT SELECT * FROM i.$table)),
    (SELECT count(*) FROM main.$table) - (SELECT count(*) FROM i.$table)")" "0|0" "$table is as it was live"
done
done_testing

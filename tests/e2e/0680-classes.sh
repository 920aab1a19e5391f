#!/bin/sh
# What kernels are bound by, from what a simulated device was told of each: tensor pipe, DRAM and issue
# slots; those that no share tells, and those met by too few samples, are not called anything wrong.
. "$top_srcdir/tests/e2e/lib.sh"

fake=$top_builddir/tests/fake
export WTFAKE_PM="$work/pm" WTFAKE_COUNTERS="$work/counters" WAVETAP_SAMPLER="$top_builddir/wavetap-sampler"

classes() { # SECONDS
  rm -f "$WTFAKE_PM"
  "$wavetap" run --sample 50us --record "$work/records" -- "$fake/app_classes" --seconds "$1" >"$work/out" 2>"$work/err"
  settle
  run=$(run_file)
}
measured="measured m JOIN config USING (config_id) JOIN kernel USING (kernel_id)"
each() { # SELECT-LIST WHERE
  sql "SELECT group_concat(x, ' ') FROM (SELECT substr(name, 7) || ':' || $1 AS x FROM $measured WHERE $2 ORDER BY name)"
}

classes 6
sql "SELECT '# ' || name, m.launches, round(active_sms, 1), round(active_error_sms, 2), round(tensor_share, 3), round(dram_bytes_per_ns),
  round(issue_share, 3), bound, wave_form, round(class_wave_sms, 2), bound_reason, reason FROM $measured"
is "$(each "ifnull(bound, '-')" "name NOT LIKE '%rare%'")" \
  "chase:latency dram:memory dram_tensor:memory edge:- fma:compute half:- tensor:compute tensor_dram:compute" "what each is bound by"
is "$(each "bound_reason" "name IN ('class_edge', 'class_half')")" \
  "edge:its shares are within their errors of a limit half:issue slots neither full nor free: a narrower pipe or latency" \
  "or why that is not known"
# Shares of active SMs are those of the directives.
is "$(sql "SELECT count(*) FROM $measured WHERE name NOT LIKE '%rare%' AND abs(issue_share * 132 / active_sms - CASE name WHEN 'class_fma' THEN 0.9
  WHEN 'class_chase' THEN 0.03 WHEN 'class_half' THEN 0.45 WHEN 'class_dram' THEN 0.1 WHEN 'class_edge' THEN 0.1 ELSE 0.2 END) > 0.01")" 0 \
  "issue slots in use are those of the kernels"
# The model's wave in its form; blocks of one kernel all start at the same waves.
is "$(each "wave_form" "bound IS NOT NULL AND name NOT LIKE '%rare%'")" \
  "chase:independent dram:jitter dram_tensor:jitter fma:shared tensor:shared tensor_dram:shared" "which chooses the wave's form"
# In full waves of S x b and a third of S: 1.08 waves, n = 2; the shared form by hand.
is "$(sql "SELECT count(*) FROM $measured WHERE wave_form = 'shared' AND abs(class_wave_sms - sm_count * (1 - 1.0 * blocks / sm_count
  / ((blocks + sm_count - 1) / sm_count))) > 0.01")" 0 "with that form's value"
# A dozen launches: mostly not measured closely enough to stand, but the class may be told all the same. How many
# of them samples with all metrics meet depends on how busy this machine is.
is "$(sql "SELECT count(*) FROM $measured WHERE name LIKE '%rare%' AND bound <> iif(name LIKE '%fma', 'compute', 'memory')")" 0 "none is called what it is not"
is "$(sql "SELECT count(*) FROM config_idle WHERE evidence = 'model' AND bound IS NOT NULL AND (straggle_sm_ns > 0 OR wave_sm_ns <>
  CAST((SELECT class_wave_sms FROM measured WHERE measured.config_id = config_idle.config_id) * alone_ns AS INTEGER))")" 0 \
  "the model's wave is that of the form"
told=$(each "bound" "name LIKE '%rare%' AND bound IS NOT NULL AND NOT is_used")
echo "# too coarse, but of a class: $told"

# ---- readers
COLUMNS=140 "$wavetap" top --all -r "$run" >"$work/top"
ok "top: issue slots, and what bounds" grep -Eq 'TC% +MEM% +ISS% +BOUND' "$work/top"
ok "top: a row" grep -Eq ' 49 +compute +class_fma$' "$work/top"
"$wavetap" top --all -r "$run" --json >"$work/top.json"
is "$(sqlite3 -batch :memory: "SELECT value ->> 'bound', value -> 'reason' ->> 'bound' FROM
  json_each(CAST(readfile('$work/top.json') AS TEXT), '\$.rows') WHERE value ->> 'kernel' = 'class_half'")" \
  "|issue slots neither full nor free: a narrower pipe or latency" "JSON: null, with the reason"
"$wavetap" show -r "$run" class_rare_fma >"$work/show"
case $told in
  *rare_fma*)
    ok "show: why the model has that wave" \
      grep -q 'too coarse to stand, but bound by compute: the model.s wave in that form' "$work/show"
    ;;
esac
"$wavetap" show -r "$run" class_half >"$work/show"
ok "show: why it is not known" grep -q 'what bounds it is not known: issue slots' "$work/show"
"$wavetap" check "$run" >"$work/out" 2>&1
is "$?" 0 "check finds it sound: $(tail -n 1 "$work/out")"

# ---- the same again
cp "$run" "$work/again.db"
"$wavetap" analyze -r "$work/again.db" --csv >"$work/out" 2>&1
is "$?|$(grep '^measured,' "$work/out" | cut -d, -f3)" "0|0" "analyze derives the same classes"
"$wavetap" import -o "$work/imported.db" "$work"/records/*.wtrec >"$work/out" 2>&1
is "$(sqlite3 "$run" "ATTACH '$work/imported.db' AS i; SELECT count(*) FROM (SELECT * FROM main.measured EXCEPT SELECT * FROM i.measured)")" 0 \
  "so does import"

# ---- a file of version 3: without issue slots, classes of what was too coarse, and reasons
cp "$run" "$work/version3.db"
sqlite3 -batch "$work/version3.db" "SELECT sql || ';' FROM sqlite_schema WHERE name IN ('config_idle', 'kernel_idle') ORDER BY name" |
  sed -e 's/b\.class_wave_sms IS NOT NULL/b.wave_form IS NOT NULL/; s/b\.class_wave_sms/b.wave_sms/; s/, issue_share, bound_reason, class_wave_sms$//' \
    -e 's/, b\.issue_share, b\.bound_reason$//; s/ AS model_unjudged_sm_ns,$/ AS model_unjudged_sm_ns/; /^ *w\.issue_share, w\.bound_reason$/d' >"$work/views.sql"
sqlite3 -batch "$work/version3.db" "DROP VIEW kernel_idle; DROP VIEW config_idle; DELETE FROM measured WHERE NOT is_used;
  DELETE FROM measured_profile WHERE config_id NOT IN (SELECT config_id FROM measured);
  ALTER TABLE measured DROP COLUMN issue_share; ALTER TABLE measured DROP COLUMN bound_reason; ALTER TABLE measured DROP COLUMN class_wave_sms;
  $(for c in busy_ns extremes_ns min_share_ns max_share_ns; do echo "ALTER TABLE sm_bucket DROP COLUMN $c;"; done)
  PRAGMA user_version = 3"
sqlite3 -batch "$work/version3.db" <"$work/views.sql"
is "$(grep -c 'issue_share\|bound_reason\|class_wave' "$work/views.sql")" 0 "a file as version 3 made it"
reads() {
  "$wavetap" "$@" -r "$work/version3.db" >"$work/out" || {
    sed 's/^/# /' "$work/out"
    return 1
  }
}
for reader in 'top --all' 'top --all --json' 'show class_fma' 'show class_fma --json' 'whatif --full-waves' 'diagnose --all' 'ledger --all' check; do
  # shellcheck disable=SC2086 # words of a command
  ok "version 3: $reader" reads $reader
done
is "$("$wavetap" top --all -r "$work/version3.db" --columns bound,kernel | awk '$2 == "class_dram" { print $1 }')" memory "its classes are read"
"$wavetap" analyze -r "$work/version3.db" >"$work/out" 2>&1
is "$?|$(sqlite3 "$work/version3.db" "ATTACH '$run' AS r; SELECT (SELECT count(*) FROM (SELECT * FROM main.measured EXCEPT SELECT * FROM r.measured)),
  (SELECT count(*) FROM main.measured) - (SELECT count(*) FROM r.measured); PRAGMA user_version")" "0|0|0
5" "analyze makes it version 5, and measures again"

# ---- a chip whose pass holds fewer: what was there before, and no class for what is not bound by a pipe
rm -rf "$work/records"
export WTFAKE_PASS_COUNTERS=6
classes 5
is "$(sql "SELECT state FROM sampler")" 2 "a narrower pass: sampled all the same"
is "$(each "ifnull(bound, '-')" "name IN ('class_chase', 'class_dram', 'class_fma', 'class_tensor')")" \
  "chase:- dram:memory fma:- tensor:compute" "without issue slots arithmetic and latency are one"
is "$(sql "SELECT DISTINCT bound_reason, count(issue_share) FROM $measured WHERE name IN ('class_chase', 'class_fma')")" \
  "issue slots were not sampled: arithmetic or latency|0" "which is said"

done_testing

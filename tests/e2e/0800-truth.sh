#!/bin/sh
# The figures against known truth: the simulated device says what each SM did, kernel by kernel,
# and shares no code with the analysis. Ramp is set to 0, so that durations are those of the blocks.
# Underfill must be equal; the true tail of equal blocks must lie within [wave, wave_max]; what
# no model can know (unequal blocks) must not be claimed.
. "$top_srcdir/tests/e2e/lib.sh"

export WTFAKE_RAMP_NS=0 WTFAKE_TRUTH="$work/truth.jsonl" WAVETAP_RUN=truth
tap "$top_builddir/tests/fake/app_demo" --seconds 0.5 >"$work/out" 2>&1
ok "the demo ran" grep -q steps "$work/out"
settle

# sqlite3 reads the JSON: its integers have 64 bits.
sqlite3 -batch :memory: "SELECT value ->> 'kernel', count(*), sum(value ->> 'underfill_sm_ns'),
    sum(value ->> 'tail_sm_ns'), sum((value ->> 'end_ns') - (value ->> 'start_ns'))
  FROM json_each('[' || replace(rtrim(readfile('$work/truth.jsonl'), char(10)), char(10), ',') || ']')
  GROUP BY 1" >"$work/truth"
sed 's/^/# truth: kernel|launches|underfill|tail|time: /' "$work/truth"

while IFS='|' read -r kernel launches underfill tail time; do
  row=$(sql "SELECT launches, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, time_ns FROM kernel_idle
    WHERE kernel = '$kernel'" | tr '|' ' ')
  # shellcheck disable=SC2086 # a list of numbers
  set -- $row
  echo "# model: $kernel launches underfill wave wave_max time: $*"
  is "$1" "$launches" "$kernel: launches"
  is "$5" "$time" "$kernel: time"
  is "$2" "$underfill" "$kernel: underfill"
  case $kernel in
  *uneven*) is "$3" 0 "$kernel: unequal blocks are not claimed as a wave" ;;
  *)
    # Within a part in a thousand of S x T: block times of whole nanoseconds.
    ok "$kernel: tail $tail within [$3, $4]" test "$tail" -ge $(($3 - time * 132 / 1000)) -a \
      "$tail" -le $(($4 + time * 132 / 1000))
    ;;
  esac
done <"$work/truth"

# top adds up what sqlite3 adds up.
"$wavetap" top --all --json --limit 0 >"$work/top.json"
is "$(sqlite3 -batch :memory: "SELECT sum(value ->> 'idle_sm_ns')
    FROM json_each(CAST(readfile('$work/top.json') AS TEXT), '$.rows')")" \
  "$(sql "SELECT sum(idle_sm_ns) FROM kernel_idle")" "top --json: idle SM-time adds up"
is "$("$wavetap" top --all --csv --limit 0 | tail -n +2 | wc -l)" "$(sql "SELECT count(*) FROM kernel_idle")" "top --csv: all rows"
"$wavetap" export -o "$work/export.csv" --format csv
is "$(tail -n +2 "$work/export.csv" | wc -l)" "$(sql "SELECT count(*) FROM launch")" "export csv: all launches"
"$wavetap" export -o "$work/export.db" --format sqlite
is "$(sqlite3 "$work/export.db" "SELECT count(*), sum(duration_ns) FROM launch")" \
  "$(sql "SELECT count(*), sum(duration_ns) FROM launch")" "export sqlite: the same launches"
"$wavetap" export -o "$work/export.json" --format json
is "$(sqlite3 -batch :memory: "SELECT json_valid(CAST(readfile('$work/export.json') AS TEXT))")" 1 "export json: valid"
check_books
done_testing

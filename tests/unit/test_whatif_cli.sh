#!/bin/sh
# `wavetap whatif`: a run worked out by hand, a recording against sums that sqlite3 makes of its rows, what must
# hold for every mode, and what is refused.
# Argument lists are split on purpose.
# shellcheck disable=SC2086
. "$top_srcdir/tests/e2e/lib.sh"

field() { # PATH of the last JSON
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/out.json') AS TEXT), '$1')"
}
whatif() { # RUN-FILE ARGUMENT...: now, least, greatest of the first device
  file=$1
  shift
  "$wavetap" whatif -r "$file" "$@" --json >"$work/out.json" 2>"$work/err" || cat "$work/err"
  echo "$(field '$.devices[0].now_ns') $(field '$.devices[0].then_least_ns') $(field '$.devices[0].then_greatest_ns')"
}

# ---- by hand, seconds; 4 SMs
#   half [0,2) [1,3): 2 blocks, so half of the SMs; together in [1,2)   tail [4,6) [6,7): loses 1 or 2 of 4 SMs
#   evil [9,10): no model fits. The second device, of 8 SMs, runs 4 blocks in [2,3).
run=$work/hand.db
"$top_builddir/tests/unit/make_run" "$run" pair job-whatif 1
sqlite3 -batch "$run" "
  UPDATE kernel_exec SET underfill_sm_ns = (end_ns - start_ns) * (SELECT sm_count / 2 FROM config c
    WHERE c.config_id = kernel_exec.config_id), wave_sm_ns = 0, wave_max_sm_ns = 0 WHERE config_id IN (1, 5);
  UPDATE kernel_exec SET underfill_sm_ns = 0, wave_sm_ns = end_ns - start_ns, wave_max_sm_ns = 2 * (end_ns - start_ns)
    WHERE config_id IN (2, 3);
  UPDATE kernel_exec SET underfill_sm_ns = 0, wave_sm_ns = NULL, wave_max_sm_ns = NULL WHERE config_id = 4"
s=000000000
is "$(whatif "$run" --no-gaps)" "10$s 7$s 7$s" "no gaps: [0,3) [4,7) [9,10)"
is "$(field '$.devices[1].then_least_ns')" "1$s" "and of the other device [2,3)"
is "$(field '$.devices[0].unmodelled_ns')" "2$s" "evil, and [1,2), which two share, have no model"
# half wins 0.5 of the second that each has alone; tail 0.25 or 0.5 of its 3. Behind gaps all start when they did.
is "$(whatif "$run" --full-waves)" "10$s 7500000000 10$s" "full waves: all of it, or none if the host does not wait"
is "$(field '$.rows[0].kernel') $(field '$.rows[0].time_ns') $(field '$.rows[0].then_least_ns') $(field '$.rows[0].then_greatest_ns')" \
  "half 5$s 3500000000 3500000000" "half: 1.5, 1.5 and 0.5 on the second device"
is "$(whatif "$run" --full-waves --no-gaps)" "10$s 4500000000 5250000000" "both"
# A copy in [3,3.5) and [5,8): half a second and one of them in gaps.
sqlite3 -batch "$run" "INSERT INTO copy (process_id, device_id, is_memset, start_ns, end_ns, bytes, copy_kind, src_kind, dst_kind, flags,
    context_id, stream_id, correlation_id) SELECT 1, 1, 0, 1003$s, 1003500000000, 1, 1, 1, 3, 0, 1, 1, 1 UNION ALL
  SELECT 1, 1, 0, 1005$s, 1008$s, 1, 1, 1, 3, 0, 1, 1, 1" 2>"$work/err" || sed 's/^/# /' "$work/err"
is "$(whatif "$run" --no-gaps)" "10$s 7$s 8500000000" "no gaps: those with copies may stay"
is "$(field '$.devices[0].copy_gap_ns') $(field '$.devices[0].gap_ns')" "1500000000 3$s" "1.5 of 3 s"
is "$(whatif "$run" --sms 4)" "10$s 10$s 10$s" "the same SMs: nothing changes"
# One SM: half twice as long in its 2 s alone. tail, 6 and 5 blocks in two waves of 4: 3 and 2.5 times, or 4 times as a stream.
# The host waits: 10 + 2 + 6 + 3. It does not: 3 + 2 till 5, tail from there (not 4) takes 6 + 2.5 till 13.5, evil 1 more.
is "$(whatif "$run" --sms 1)" "10$s 14500000000 21$s" "one SM"

# ---- the recording of the simulated GPU, against the rows: nothing overlaps in it
sim=$work/sim.db
"$wavetap" import -o "$sim" "$top_srcdir/tests/data/sim-demo.wtrec" >/dev/null
by_hand() {
  sqlite3 -batch "$sim" "$1"
}
busy=$(by_hand "SELECT sum(end_ns - start_ns) FROM kernel_exec")
is "$(whatif "$sim" --all --no-gaps | cut -d' ' -f2)" "$busy" "no gaps: its kernels"
is "$(whatif "$sim" --all --no-gaps --full-waves | cut -d' ' -f2)" \
  "$(by_hand "SELECT sum(end_ns - start_ns - (underfill_sm_ns + wave_max_sm_ns) / 132) FROM kernel_exec")" "full waves: less the idle SMs"
for sms in 1 66 131 133 264 1000; do
  # The three forms, in floating point: waves, blocks of the fullest SM, blocks as a stream.
  want=$(by_hand "WITH k AS (SELECT end_ns - start_ns AS t, blocks AS g, resident_blocks AS c,
      resident_blocks / 132 * $sms AS d FROM kernel_exec JOIN config USING (config_id)),
    f AS (SELECT t * ((g + d - 1) / d) * 1.0 / ((g + c - 1) / c) AS a,
      t * ((g + $sms - 1) / $sms) * 1.0 / ((g + 131) / 132) AS b, t * max(1.0, 1.0 * g / d) / max(1.0, 1.0 * g / c) AS e FROM k)
    SELECT CAST(sum(min(a, b, e)) AS INTEGER) || ' ' || CAST(sum(max(a, b, e)) AS INTEGER) FROM f")
  got=$(whatif "$sim" --all --no-gaps --sms $sms)
  copies=$(field '$.devices[0].copy_gap_ns')
  got="$(echo "$got" | cut -d' ' -f2) $(($(echo "$got" | cut -d' ' -f3) - copies))"
  ok "$sms SMs: $got, to a rounding a kernel $want" test "$(sqlite3 -batch :memory: "SELECT
    abs(${got% *} - ${want% *}) < 800 AND abs(${got#* } - ${want#* }) < 800")" = 1
done

# ---- what must hold, also of the recorded H200 run
recorded=$work/recorded.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$recorded"
for file in "$sim" "$recorded"; do
  for mode in --no-gaps --full-waves "--full-waves --no-gaps" "--sms 264" "--sms 264 --no-gaps" "--sms 40"; do
    read -r now least greatest <<END
$(whatif "$file" $mode)
END
    ok "$(basename "$file") $mode: a range: $least to $greatest" test "$least" -le "$greatest"
    case $mode in
    "--sms 40") ok "fewer SMs are not faster" test "$least" -ge "$now" ;;
    *) ok "not slower" test "$greatest" -le "$now" ;;
    esac
    is "$(sqlite3 -batch :memory: "WITH j AS (SELECT CAST(readfile('$work/out.json') AS TEXT) AS t)
      SELECT sum(value ->> 'gap_before_ns') - (SELECT t ->> '\$.devices[0].gap_ns' FROM j) FROM j, json_each(t, '\$.rows')")" 0 \
      "gaps of the rows sum to the device's"
  done
  # No more than the ledger's idle lines, in full waves and without gaps.
  read -r now least greatest <<END
$(whatif "$file" --full-waves --no-gaps)
END
  "$wavetap" ledger -r "$file" --json >"$work/ledger.json"
  idle=$(sqlite3 -batch :memory: "WITH d AS (SELECT json_extract(CAST(readfile('$work/ledger.json') AS TEXT), '\$.devices[0]') AS t)
    SELECT (t ->> 'underfill_sm_ns') + (t ->> 'wave_max_sm_ns') +
      (SELECT sum(value) FROM json_each(t, '\$.gap_by_cause_sm_ns')) FROM d")
  ok "$(basename "$file"): wins no more than the idle of the ledger" test $(((now - least) * 132)) -le "$((idle + 132))"
done
is "$(whatif "$sim" --no-gaps | cut -d' ' -f1)" "$(whatif "$sim" --no-gaps --steps 3:25 | cut -d' ' -f1)" "its window: the steady steps"

# ---- text, CSV, and what is refused
"$wavetap" whatif -r "$sim" --sms 264 >"$work/out"
ok "text: what" grep -q '^what if: 264 SMs$' "$work/out"
ok "text: what it does not know" grep -q '^not known: memory, L2 and clocks' "$work/out"
is "$("$wavetap" whatif -r "$sim" --no-gaps --csv | head -n 1)" \
  "kernel_id,launches,time_ns,then_least_ns,then_greatest_ns,unmodelled_ns,gap_before_ns,copy_gap_before_ns,kernel" "CSV"
refused() { # CODE MESSAGE ARGUMENT...
  code=$1 message=$2
  shift 2
  "$wavetap" whatif "$@" >"$work/out" 2>"$work/err"
  is "$? $(head -n 1 "$work/err")$(cat "$work/out")" "$code wavetap: $message" "refused: $*"
}
refused 2 "what if what? --sms, --full-waves or --no-gaps is missing" -r "$sim"
refused 2 "--sms and --full-waves exclude each other: in full waves time goes as 1 / SMs" -r "$sim" --sms 2 --full-waves
refused 2 "--sms: from 1 to 65535" -r "$sim" --sms 0
refused 2 "--sms: from 1 to 65535" -r "$sim" --sms 65536
refused 2 "--json and --csv exclude each other" -r "$sim" --no-gaps --json --csv
refused 3 "--kernel: all kernels of a device are replayed together; --limit 0 shows each" -r "$sim" --no-gaps --kernel x
"$top_builddir/tests/unit/make_run" "$work/empty.db" empty e 1
refused 3 "run e has no kernels to account for: no process launched a kernel" -r "$work/empty.db" --no-gaps
done_testing

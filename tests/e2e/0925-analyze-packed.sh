#!/bin/sh
# wavetap analyze of a file whose rows are in chunks: writes what it writes where they are plain. The facts
# of the devices are changed, so that occupancy, waves and shares of all kernels are others, and back.
. "$top_srcdir/tests/e2e/lib.sh"

ddp="$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec $top_srcdir/tests/data/h200x2-ddp-rank1.wtrec"
derived() {
  "$run_sql" "$1" "
    SELECT * FROM kernel_exec ORDER BY 1; SELECT * FROM kernel_share ORDER BY 1;
    SELECT * FROM config ORDER BY 1; SELECT * FROM config_stat ORDER BY 1, 2, 3;
    SELECT * FROM sweep ORDER BY 1; SELECT * FROM loss; SELECT * FROM launch_call ORDER BY 1, 2"
}
# Chunks, and rows of kernels and shares that are in their tables.
packed() { sqlite3 "$1" "SELECT count(*), (SELECT count(*) FROM kernel_exec), (SELECT count(*) FROM kernel_share) FROM chunk"; }

# shellcheck disable=SC2086 # two files
WAVETAP_TEST_PACK=0 "$wavetap" import -o "$work/plain.db" $ddp >/dev/null 2>&1
# shellcheck disable=SC2086
WAVETAP_TEST_PACK=100 "$wavetap" import -o "$work/packed.db" $ddp >/dev/null 2>&1
export WAVETAP_TEST_PACK=100
echo "# chunks, rows: $(packed "$work/packed.db")"
ok "most rows are packed" test "$(sqlite3 "$work/packed.db" "SELECT count(*) > 500 AND (SELECT count(*) < 500 FROM kernel_exec) FROM chunk")" = 1
is "$(derived "$work/packed.db" | cksum)" "$(derived "$work/plain.db" | cksum)" "and are the same"
derived "$work/packed.db" >"$work/before"
for file in plain packed; do
  "$wavetap" analyze -r "$work/$file.db" --csv >"$work/$file.csv"
done
is "$(cat "$work/packed.csv")" "$(cat "$work/plain.csv")" "analyze counts as much"
is "$(awk -F, 'NR > 1 { sum += $3 } END { print sum }' "$work/packed.csv")" 0 "and changes nothing"
is "$(derived "$work/packed.db" | cksum)" "$(cksum <"$work/before")" "nothing at all"

for sms in 97 132; do
  for file in plain packed; do
    sqlite3 "$work/$file.db" "UPDATE gpu SET sm_count = $sms, regs_per_sm = iif($sms = 97, 30000, 65536);
      UPDATE config SET sm_count = $sms"
    rows=$(WAVETAP_TEST_PACK=$([ "$file" = plain ] && echo 0 || echo 100) "$wavetap" analyze -r "$work/$file.db" --csv)
    echo "$rows" >"$work/$file.csv"
  done
  is "$(cat "$work/packed.csv")" "$(cat "$work/plain.csv")" "$sms SMs: as many rows change"
  ok "$sms SMs: kernels and shares among them" test "$(awk -F, '/^kernel_/ && $3 > 1000' "$work/packed.csv" | wc -l)" = 2
  is "$(derived "$work/packed.db" | cksum)" "$(derived "$work/plain.db" | cksum)" "$sms SMs: and are the same"
  echo "# chunks, rows: $(packed "$work/packed.db")"
  ok "$sms SMs: shares are packed again" test "$(sqlite3 "$work/packed.db" "SELECT sum(row_count) > 5000 FROM chunk WHERE kind = 4")" = 1
done
is "$(derived "$work/packed.db" | cksum)" "$(cksum <"$work/before")" "and back: as it was"
done_testing

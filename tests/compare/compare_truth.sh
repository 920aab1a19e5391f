#!/bin/sh
# False alarms and detections of `wavetap compare` (tests/compare/compare_truth.c) over the recordings in tests/data and run
# files: compare_truth.sh PAIRS [RUN-FILE...]. `make compare-truth` runs it with 2,000; tests/unit/test_compare_truth.sh with few.
# Steps come from `wavetap steps`, kernels from the rows by plain SQL: none of it from the code that is tried.
set -eu
build=${top_builddir:-.}
src=${top_srcdir:-.}
pairs=$1
shift
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wt-compare.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
WAVETAP_DIR=$tmp/data
export WAVETAP_DIR

list=''
take() { # NAME FILE
  "$build/wavetap" steps --csv -r "$2" 2>/dev/null |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
      $at["kind"] == "steady" { print $at["start_ns"], $at["end_ns"], $at["time_ns"], $at["busy_ns"] }' |
    tail -n 500 >"$tmp/$1.times"
  cut -d ' ' -f 3,4 "$tmp/$1.times" >"$tmp/$1.steps"
  rm -f "$tmp/plain.db"
  "$build/wavetap" export --format sqlite -o "$tmp/plain.db" -r "$2" --all >/dev/null 2>&1
  sqlite3 -batch "$tmp/plain.db" >"$tmp/$1.kernels" <<END
CREATE TEMP TABLE t (a INTEGER, b INTEGER, c INTEGER, d INTEGER);
.mode list
.separator " "
.import '$tmp/$1.times' t
.separator "\t"
CREATE TEMP TABLE s AS SELECT rowid - 1 AS step, a, b FROM t;
CREATE INDEX temp.s_a ON s (a);
SELECT (SELECT step FROM s WHERE a <= start_ns ORDER BY a DESC LIMIT 1) AS step, 'k' || c.kernel_id,
  k.name LIKE 'nccl%', count(*), sum(end_ns - start_ns)
FROM kernel_exec JOIN config c USING (config_id) JOIN kernel k USING (kernel_id)
WHERE end_ns > start_ns AND start_ns < (SELECT b FROM s WHERE a <= start_ns ORDER BY a DESC LIMIT 1) GROUP BY 1, 2;
END
  list="$list $1 $tmp/$1.steps $tmp/$1.kernels"
}
import() { # NAME RECORDING...
  name=$1
  shift
  "$build/wavetap" import -o "$tmp/$name.db" "$@" >/dev/null 2>&1
  take "$name" "$tmp/$name.db"
}
data=$src/tests/data
import train-eager "$data/h200-train-eager.wtrec"
if [ "$pairs" -ge 1000 ]; then
  import train-compile "$data/h200-train-compile.wtrec"
  import infer-tiny "$data/h200-infer-tiny.wtrec"
  import ddp "$data/h200x2-ddp-rank0.wtrec" "$data/h200x2-ddp-rank1.wtrec"
  import late-ddp "$data/h200x2-late-ddp-rank0.wtrec" "$data/h200x2-late-ddp-rank1.wtrec"
  import late-fsdp "$data/h200x2-late-fsdp-rank0.wtrec" "$data/h200x2-late-fsdp-rank1.wtrec"
fi
for file in "$@"; do
  take "$(basename "$file" .db)" "$file"
done
# Names without blanks.
# shellcheck disable=SC2086
"$build/tests/compare/compare_truth" --pairs "$pairs" $list

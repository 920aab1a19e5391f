#!/bin/sh
# The benchmark beside others (tests/gpu/field.py) where there is no GPU: the raw CUPTI client it compares with has
# every record, its statistics hold, and a short run over the simulated GPU measures each way and finds nothing amiss.
# Speeds are nobody's here: none is judged.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
raw=$top_builddir/tests/gpu/raw_cupti.so

# ---- the raw client

field_of() { # NAME: of the last line that the client wrote
  tail -n 1 "$work/raw" | tr '\t' '\n' | sed -n "s/^$1=//p"
}

raw() { # VARIABLE=VALUE... COMMAND...
  env CUDA_INJECTION64_PATH="$raw" RAW_CUPTI_OUT="$work/raw" "$@"
}

raw RAW_CUPTI_WALK=1 "$app" --launches 20000 --us 1 --graph 5 >"$work/out" 2>"$work/err"
is "$(cat "$work/err")" "" "raw: says nothing"
kernels=$(tr ' ' '\n' <"$work/out" | sed -n 's/^kernels=//p')
is "$(field_of kernels) $(field_of others) $(field_of dropped) $(field_of refused)" "$kernels 0 0 0" \
  "raw: a record for each kernel, nodes of graphs too, and no others"
is "$(field_of bytes)" "$((kernels * 216))" "raw: and their bytes"
raw RAW_CUPTI_WALK=1 RAW_CUPTI_KINDS=all "$app" --launches 20000 --us 1 --graph 5 >"$work/out" 2>"$work/err"
is "$(field_of kernels)" "$kernels" "raw, all kinds: the same kernels"
# A record for each launch call that CUPTI has one for, a context, and so on.
ok "raw, all kinds: $(field_of others) other records" test "$(field_of others)" -ge "$(tr ' ' '\n' <"$work/out" | sed -n 's/^ok=//p')"
raw RAW_CUPTI_LIBRARY="$work/none" "$app" --launches 10 >"$work/out" 2>"$work/err"
ok "raw: a library that is not there is told" grep -q '^raw_cupti: no libcupti' "$work/err"
bare "$app" --launches 10 >"$work/bare" 2>&1
is "$(tr ' ' '\n' <"$work/out" | grep '^ok=')" "$(tr ' ' '\n' <"$work/bare" | grep '^ok=')" "raw: and leaves the program alone"

# ---- the benchmark

if command -v python3 >/dev/null 2>&1; then
  export PYTHONDONTWRITEBYTECODE=1
  python3 "$top_srcdir/tests/gpu/field_test.py" >"$work/unit"
  is "$? $(grep -c '^not ok' "$work/unit")" "0 0" "statistics: $(tail -n 1 "$work/unit" | cut -d . -f 3) checks"
  grep '^not ok' -A 1 "$work/unit" | sed 's/^/# /'

  mkdir "$work/build"
  cp "$library" "$wavetap" "$WAVETAP_DAEMON" "$raw" "$work/build/"
  stands="python3 $top_srcdir/tests/gpu/field_test.py"
  # What stands for nsys: it runs the command and leaves a report.
  mkdir "$work/bin"
  printf '%s\n' '#!/bin/sh' 'while [ "$1" != -o ]; do shift; done' ': >"$2.nsys-rep"' 'shift 2' 'exec "$@"' >"$work/bin/nsys"
  chmod +x "$work/bin/nsys"
  PATH=$work/bin:$PATH
  python3 "$top_srcdir/tests/gpu/field.py" "$work/build" "$work/field" --rounds 1 --total 600 --part 0.5 \
    --program "$stands program $app" --worker "$stands worker" \
    --markdown "$work/table.md" --tsv "$work/samples" >"$work/out" 2>&1
  is "$?" 0 "field: exit status"
  ok "field: ends with its verdict" grep -q '^verdict: ok; ' "$work/out"
  for workload in storm graph; do
    is "$(awk -F '\t' -v w=$workload '$1 == w { print $2 }' "$work/samples" | sort -u | tr '\n' ' ')" \
      "bare hooks nsys raw raw-all wavetap " "field: $workload was measured each way"
  done
  is "$(awk -F '\t' '$1 == "eager" { print $2 }' "$work/samples" | sort -u | tr '\n' ' ')" \
    "bare hooks nsys profiler raw wavetap " "field: and a training step"
  ok "field: why a workload is another is told" grep -q 'compiled: captured as one graph' "$work/table.md"
  # What stands for truth launches 3,000 times, and 100 times and 100 graphs of 20 nodes.
  ok "field: what was stored, of a long run" grep -q '^| launches | 3,000 | 0 | 0 | [0-9.]* |' "$work/table.md"
  is "$(grep -c '^| graph replay: wavetap over raw CUPTI | [0-9.]* | \. | 1.050 | open, ' "$work/table.md")" 1 \
    "field: one round decides nothing"
  is "$(grep -c '^| GPU-bound training step: wavetap over bare | \. | \. | 1.010 | not measured |' "$work/table.md")" 1 \
    "field: what was not measured has no verdict"
  is "$(python3 "$top_srcdir/tests/gpu/field_table.py" "$work/samples" | sed -n '/^WORKLOAD/,/^$/p')" \
    "$(sed -n '/^WORKLOAD.*RATIO/,/^$/p' "$work/out")" "field: the table once more, of the samples"
  [ "$tests_failed" = 0 ] || sed 's/^/# /' "$work/out"

  # The parts of it: kinds are switched in a running process, also under wavetap.
  python3 "$top_srcdir/tests/gpu/field_parts.py" "$work/build" "$work/parts" --rounds 1 --generations 1 --total 300 \
    --workloads eager --ways bare,raw,raw-driver,raw-runtime,raw-all,raw-same,wavetap,wavetap-driver,wavetap-nocalls \
    --worker "$stands worker" --tsv "$work/parts.tsv" >"$work/out" 2>&1
  is "$?" 0 "parts: exit status"
  ok "parts: ends with its verdict" grep -q '^verdict: ok; ' "$work/out"
  # What stands for a training step launches 50 kernels by the driver.
  is "$(awk -F '\t' 'NF == 5 && $2 == "raw-all" && $3 == "all,walk" && $4 ~ /^(kind (4|5|10)|linked)/ { print $4, $5 }' "$work/parts.tsv" | tr '\n' ' ')" \
    "kind 10 50.000 kind 4 50.000 linked 0 50.000 " "parts: what is on is recorded"
  is "$(awk -F '\t' 'NF == 5 && $2 == "raw-all" && $3 == "none"' "$work/parts.tsv")" "" "parts: and what is off is not"
  is "$(awk -F '\t' 'NF == 9 { print $2, $3 }' "$work/parts.tsv" | sort -u | wc -l)" 26 "parts: each mode was measured"
  is "$(grep -c '^wavetap *all,-runtime,-driver *[0-9]' "$work/out")" 1 "parts: wavetap without records of calls, in one process"
  ok "parts: and it says what it has" grep -q '^torch-0-wavetap-nocalls: .*launches_attempted [0-9]' "$work/out"
  is "$("$run_sql" "$(ls "$work"/parts/torch-0-wavetap-nocalls.d/runs/*.db)" \
    "SELECT sum(launches_linked_by_order) > 0, sum(launches_linked - launches_linked_by_order) FROM loss")" "1|0" \
    "parts: without records of calls kernels are given by order"
  [ "$tests_failed" = 0 ] || sed 's/^/# /' "$work/out"

  # A raw client without records is no baseline.
  mkdir "$work/empty"
  cp "$library" "$wavetap" "$WAVETAP_DAEMON" "$work/empty/"
  python3 "$top_srcdir/tests/gpu/field.py" "$work/empty" "$work/field-empty" --rounds 1 --total 600 --part 1 \
    --program "$stands program $app" --ways bare,raw >"$work/out" 2>&1
  is "$?" 1 "field: without the client's records it fails"
  ok "field: and says so" grep -q '^problem: program-0-raw: raw CUPTI gave no records' "$work/out"
else
  echo "# no python3 here: the benchmark was not tried"
fi
rm -rf "$data"
done_testing

#!/bin/sh
# Time without a kernel that was planted, cause by cause, by a program that measures it with its own
# clock: at least 90 % of it must be found before the kernel it was planted for, in the right class (95 % and more on a
# machine with nothing else to do; the program's clock runs on where it does not), and not more than there was. The simulated GPU shares no code with the analysis.
. "$top_srcdir/tests/e2e/lib.sh"

export WAVETAP_RUN=gaps WTFAKE_SMS=16 WTFAKE_COPY_BYTES_PER_NS=2
export WTFAKE_SLOW=cuMemAlloc_v2:800,cuMemFree_v2:200,cuModuleLoadData:3000
# 16 MiB at 2 bytes per ns take 8.4 ms.
tap "$top_builddir/tests/fake/app_gaps" --repeat 10 --copy-mib 16 >"$work/planted" 2>"$work/err"
is "$?$(cat "$work/err")" 0 "the program ran"
settle
"$wavetap" gaps --all --by kernel --csv >"$work/gaps.csv"
"$wavetap" ledger --all --json >"$work/ledger.json"
column() { # NAME KERNEL: SM-ns of the row, as time
  awk -F, -v name="$1" -v kernel="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
    $NF == kernel { printf "%.0f", $at / 16 }' "$work/gaps.csv"
}
causes=0
while read -r what cause kernel planted_ns; do
  [ "$what" = planted ] || continue
  causes=$((causes + 1))
  # A copy's own time is known; the program's clock also has what the host does around it.
  [ "$cause" = copy ] && planted_ns=$((10 * (16777216 / 2 + 1500)))
  found=$(column "${cause}_sm_ns" "$kernel")
  all=$(column gap_sm_ns "$kernel")
  ok "$cause: found $found of $planted_ns ns planted, $all ns without a kernel" \
    test $((found * 100)) -ge $((planted_ns * 90)) -a "$found" -le "$all"
done <"$work/planted"
is "$causes" 5 "five causes were planted"
# A storm of launches of 1 us kernels: nothing but launching, and CUPTI asking for buffers.
# The first of them comes after a wait, which is that of the phase before.
all=$(($(column gap_sm_ns gap_storm) - $(column sync_sm_ns gap_storm)))
launching=$(($(column host_sm_ns gap_storm) + $(column launch_sm_ns gap_storm) + $(column turnaround_sm_ns gap_storm) +
  $(column undecided_sm_ns gap_storm) + $(column profiler_sm_ns gap_storm)))
ok "storm: $launching of $all ns are launching" test $((launching * 100)) -ge $((all * 95)) -a "$all" -gt 0
# By call: what the thread sat in is what the program called.
while read -r what cause kernel planted_ns; do
  [ "$what" = planted ] || continue
  case $cause in
    sync) calls="Synchronize" ;;
    alloc) calls="cuMemAlloc_v2|cuMemFree_v2" ;;
    load) calls="cuModuleLoadData" ;;
    host) calls="own-code" ;;
    *) continue ;;
  esac
  "$wavetap" gaps --all --by call --kernel "^$kernel\$" --csv >"$work/calls.csv"
  in_calls=$(awk -F, -v calls="$calls" 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "where") w = i; if ($i == "call") c = i } }
    NR > 1 && ($w "," $c) ~ calls { s += $2 } END { printf "%.0f", s / 16 }' "$work/calls.csv")
  ok "$cause: $in_calls of $planted_ns ns planted in $calls" test $((in_calls * 100)) -ge $((planted_ns * 90))
done <"$work/planted"
"$wavetap" gaps --all --by call --csv >"$work/calls.csv"
is "$(awk -F, 'NR > 1 { s += $2 } END { printf "%.0f", s }' "$work/calls.csv")" \
  "$("$wavetap" gaps --all --csv | awk -F, 'NR > 1 { s += $4 } END { printf "%.0f", s }')" "gaps by call sum to gaps by cause"
is "$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/ledger.json') AS TEXT), '$.devices[0].residual_sm_ns')")" 0 \
  "the ledger sums"
# Of each phase alone, the first finding is the one that was planted. Phases are short and the machine may do something
# else in one of them: then the program runs again, four times at most.
if command -v python3 >/dev/null; then
  attempt=0
  : >"$work/causes"
  while :; do
    python3 "$top_srcdir/tests/gpu/causes_check.py" "$wavetap" "$work/planted" "$(run_file)" >>"$work/causes" 2>&1
    phases=$(awk '$2 == "ok:" { print $1 }' "$work/causes" | sort -u | wc -l)
    attempt=$((attempt + 1))
    if [ "$phases" -eq 9 ] || [ "$attempt" -eq 5 ]; then
      break
    fi
    export WAVETAP_RUN="gaps$attempt"
    tap "$top_builddir/tests/fake/app_gaps" --repeat 10 --copy-mib 16 >"$work/planted" 2>"$work/err"
    settle
  done
  sed 's/^/# /' "$work/causes"
  is "$phases" 9 "diagnose: in each of nine phases the planted cause is the first finding"
fi
check_books
done_testing

#!/bin/sh
# CUPTI as it may be: each call that wavetap makes of it fails, always or the second time, with the
# codes that refusals come with; and records of every version from CUDA 11.8 on. The program runs and
# says what it does without wavetap; what is lost is counted or said, and times are the device's.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
run_bare() {
  (bare "$app" "$@") >"$work/bare.out" 2>"$work/bare.err"
  rc_bare=$?
  sed -i 's/pid=[0-9]*/pid=N/' "$work/bare.out"
}
same_as_bare() { # with wavetap as in the last run_bare; pids differ from run to run
  (tap timeout -k 1 60 "$app" "$@") >"$work/tap.out" 2>"$work/tap.err"
  rc_tap=$?
  sed -i 's/pid=[0-9]*/pid=N/' "$work/tap.out"
  [ "$rc_bare" = "$rc_tap" ] && cmp -s "$work/bare.out" "$work/tap.out" && cmp -s "$work/bare.err" "$work/tap.err"
}

# ---- each call fails
# 33, 40: virtual GPU; 35: no permission; 39: another profiler; 15: the driver is older; 14: another
# family of calls is in use; 999: unknown.
calls="cuptiGetVersion cuptiActivityRegisterCallbacks cuptiActivityEnable cuptiActivityDisable cuptiActivityFlushAll
  cuptiActivityGetNextRecord cuptiActivityGetNumDroppedRecords cuptiGetTimestamp cuptiActivitySetAttribute cuptiActivityGetAttribute
  cuptiActivityEnableDriverApi cuptiActivityEnableRuntimeApi cuptiActivityEnableAllSyncRecords
  cuptiActivityEnableAndDump cuptiGetContextId"
# Every one that the library may call is in that list.
used=$(sed -n 's/.*\(NEED\|MAY\)([a-z_]*, "\([A-Za-z_]*\)".*/\2/p' "$top_srcdir/libintercept/cupti_find.c" | sort | tr '\n' ' ')
is "$used" "$(echo "$calls" | tr -s ' \n' '\n' | sort | tr '\n' ' ' | sed 's/^ //')" "the calls that fail here are those that the library makes"
run_bare --launches 60 --graph 3
for call in $calls; do
  for fault in '*:15' '*:33' '*:35' '*:39' '*:40' '*:14' '2:999'; do
    WAVETAP_RUN="$call:$fault"
    WTFAKE_FAIL="$call:$fault"
    export WAVETAP_RUN WTFAKE_FAIL
    ok "$call:$fault: the program is as without wavetap" same_as_bare --launches 60 --graph 3
  done
done
unset WTFAKE_FAIL
settle
bad=0
full=0
for file in "$data"/runs/*.db; do
  line=$(sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT
    launches_attempted = launches_stored + launches_dropped + launches_torn AND launches_torn = 0,
    kernels = kernels_graph + kernels_linked + kernels_cupti_only, capture = 'full',
    launches_unobserved = launches_attempted - launches_failed - launches_captured,
    reason IS NOT NULL, (SELECT value FROM meta WHERE key = 'run_key') FROM loss JOIN process USING (process_id)")
  # Either all is watched, or nothing is and why is said.
  case $line in
  "1|1|1|"*) full=$((full + 1)) ;;
  "1|1|0|1|1|"*) ;;
  *)
    bad=$((bad + 1))
    echo "# balance, classes, full, all unobserved, a reason, run: $line"
    ;;
  esac
done
is "$bad" 0 "whatever fails: launches are counted, and where kernels are not watched it says why"
ok "and both happened: $full of $(find "$data/runs" -name '*.db' | wc -l) watched" test "$full" -gt 10 -a "$full" -lt "$(find "$data/runs" -name '*.db' | wc -l)"
# What each refusal is called.
reason_of() {
  sqlite3 -batch "$(for file in "$data"/runs/*.db; do
    [ -z "$(sqlite3 -batch "$file" "SELECT 1 FROM meta WHERE key = 'run_key' AND value = 'cuptiActivityEnable:*:$1'")" ] || echo "$file"
  done)" "SELECT reason FROM process"
}
for want in "35|permission" "33|virtual" "40|virtual" "39|another profiler"; do
  ok "${want%|*} is called: $(reason_of "${want%|*}")" sh -c 'echo "$1" | grep -qi "$2"' sh "$(reason_of "${want%|*}")" "${want#*|}"
done
rm -f "$data"/runs/*

# ---- records of each version, with their lengths
for version in 18 19 20 21 22 23 24 26 28 120600 130000 130001; do
  export WAVETAP_RUN="version-$version" WTFAKE_CUPTI_VERSION=$version WTFAKE_TRUTH="$work/truth"
  rm -f "$work/truth"
  run_bare --launches 300 --threads 2 --kind mix --graph 4
  rm -f "$work/truth"
  ok "version $version: as without wavetap" same_as_bare --launches 300 --threads 2 --kind mix --graph 4
  settle
  is "$(sql "SELECT capture, kernels_no_time, kernels_cupti_only, launches_unlinked, launches_in_flight, unexplained FROM loss JOIN process USING (process_id)")" \
    "full|0|0|0|0|0" "version $version: all linked, all timed"
  is "$(sql "SELECT count(*), sum(end_ns - start_ns), sum(grid_x * block_x), sum(launches_in_graph) FROM launch,
      (SELECT sum(launches_in_graph) AS launches_in_graph FROM kernel_idle)" | cut -d '|' -f 1-3)" \
    "$(sqlite3 -batch :memory: "SELECT count(*), sum((value ->> 'record_end_ns') - (value ->> 'record_start_ns')),
      sum((value ->> '\$.grid[0]') * (value ->> '\$.block[0]'))
      FROM json_each('[' || replace(rtrim(readfile('$work/truth'), char(10)), char(10), ',') || ']')")" \
    "version $version: kernels, times and geometry are the device's"
done
check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

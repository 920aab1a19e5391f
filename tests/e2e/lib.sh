# lib.sh - what every end-to-end test shares (POSIX sh; sourced, not run).
#
# A test sources this file, runs programs over the simulated GPU with the real library,
# daemon and command line, and checks the run file. Each test has its own folder for data
# and shared memory, hence its own daemon; nothing is left behind. TAP on stdout.
#
#   plan-free TAP:  ok "what" CONDITION...   is "got" "want" "what"   done_testing
#   $work           this test's folder; $data and $shm in it
#   tap PROGRAM...  runs a program under plain LD_PRELOAD over the simulated GPU
#   bare PROGRAM... the same without wavetap
#   settle          waits until the daemon has drained everything and ended
#   run_file        the newest run file;  sql "SELECT ..." over it

# shellcheck shell=sh
: "${top_builddir:?run by make check}" "${top_srcdir:?run by make check}"

tests_run=0
tests_failed=0

work=$(mktemp -d "${TMPDIR:-/tmp}/wt-e2e.XXXXXX")
data=$work/data
# Real shared memory where there is some: making a segment takes far longer on a disk.
shm=$(mktemp -d /dev/shm/wt-e2e.XXXXXX 2>/dev/null) || shm=$work/shm
mkdir -p "$data" "$shm"
WAVETAP_DIR=$data
WAVETAP_SHM_DIR=$shm
WAVETAP_DAEMON=$top_builddir/wavetapd
# Rows stay rows, for sqlite3 to look at; tests of packing set it themselves, empty for what users get.
WAVETAP_TEST_PACK=${WAVETAP_TEST_PACK-0}
if [ -n "$WAVETAP_TEST_PACK" ]; then export WAVETAP_TEST_PACK; else unset WAVETAP_TEST_PACK; fi
LD_LIBRARY_PATH=$top_builddir/tests/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export WAVETAP_DIR WAVETAP_SHM_DIR WAVETAP_DAEMON LD_LIBRARY_PATH
unset WAVETAP_RUN WAVETAP_NAME WAVETAP_TAGS WAVETAP_RECORD WAVETAP_CUPTI LD_PRELOAD WAVETAP
library=$top_builddir/libwavetap.so
wavetap=$top_builddir/wavetap
run_sql=$top_builddir/tests/unit/run_sql # FILE SQL: rows in chunks, too

cleanup() {
  status=$?
  # The daemon of this test and whatever it left running.
  if [ -d "$shm" ]; then
    daemon=$("$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || true
  fi
  rm -rf "$work" "$shm"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

ok() {
  what=$1
  shift
  tests_run=$((tests_run + 1))
  if "$@"; then
    echo "ok $tests_run - $what"
  else
    echo "not ok $tests_run - $what"
    echo "#   failed: $*"
    tests_failed=$((tests_failed + 1))
  fi
}

is() {
  tests_run=$((tests_run + 1))
  if [ "$1" = "$2" ]; then
    echo "ok $tests_run - $3"
  else
    echo "not ok $tests_run - $3"
    printf '%s\n' "$1" | sed 's/^/#   got:  /'
    printf '%s\n' "$2" | sed 's/^/#   want: /'
    tests_failed=$((tests_failed + 1))
  fi
}

skip_all() {
  echo "1..0 # SKIP $1"
  exit 0
}

done_testing() {
  echo "1..$tests_run"
  [ "$tests_failed" = 0 ] || exit 1
  exit 0
}

[ -z "${WT_SANITIZED:-}" ] || skip_all "preloading a sanitized library needs a sanitized program"

tap() {
  LD_PRELOAD=$library "$@"
}

bare() {
  "$@"
}

# Waits (at most 30 s) until no segment is left and the daemon has ended.
settle() {
  tries=0
  while [ "$tries" -lt 300 ]; do
    # Not by ls of a pattern: that fails as soon as one of the names goes in between.
    if [ -z "$(find "$shm" \( -name '*.seg' -o -name '*.sock' \) 2>/dev/null)" ]; then
      return 0
    fi
    tries=$((tries + 1))
    sleep 0.1
  done
  echo "# settle: still there after 30 s:" "$(ls "$shm")"
  return 1
}

run_file() {
  # shellcheck disable=SC2012 # names are ours: no odd characters
  ls -t "$data"/runs/*.db 2>/dev/null | head -n 1
}

sql() { # rows in chunks, too
  "$run_sql" "$(run_file)" "$1"
}

# Is what the rows of top say of each device what its ledger says, to the last SM-nanosecond?
sums_to_ledger() { # [ARGUMENT...]: of top and ledger
  "$wavetap" top --all -r "$(run_file)" --group device --json "$@" >"$work/top.json" &&
    "$wavetap" top --all -r "$(run_file)" --json "$@" >"$work/kernels.json" &&
    "$wavetap" ledger --all -r "$(run_file)" --json "$@" >"$work/ledger.json" || return 1
  for file in top ledger; do
    list='$.rows'
    [ $file = top ] || list='$.devices'
    sqlite3 -batch :memory: "SELECT value ->> 'device_id', value ->> 'active_sm_ns', ifnull(value ->> 'underfill_sm_ns', 0),
      ifnull(value ->> 'straggle_sm_ns', 0), ifnull(value ->> 'ramp_sm_ns', 0),
      ifnull(value ->> 'wave_sm_ns', 0), ifnull(value ->> 'wave_max_sm_ns', 0), value ->> 'unjudged_sm_ns', value ->> 'comm_sm_ns'
      FROM json_each(CAST(readfile('$work/$file.json') AS TEXT), '$list') ORDER BY 1" >"$work/$file.sums"
  done
  # The rows of kernels, of all devices.
  sqlite3 -batch :memory: "CREATE TABLE f AS SELECT CAST(readfile('$work/kernels.json') AS TEXT) AS k,
      CAST(readfile('$work/ledger.json') AS TEXT) AS l;
    SELECT sum(value ->> 'underfill_sm_ns'), sum(value ->> 'wave_sm_ns'), sum(value ->> 'unjudged_sm_ns') FROM f, json_each(k, '$.rows')
    EXCEPT SELECT sum(value ->> 'underfill_sm_ns'), sum(value ->> 'wave_sm_ns'), sum(value ->> 'unjudged_sm_ns')
    FROM f, json_each(l, '$.devices')" >"$work/differ"
  [ -s "$work/top.sums" ] && cmp -s "$work/top.sums" "$work/ledger.sums" && ! [ -s "$work/differ" ] && return 0
  sed 's/^/# top:    /' "$work/top.sums"
  sed 's/^/# ledger: /' "$work/ledger.sums"
  sqlite3 -batch -cmd ".timeout 10000" "$(run_file)" "SELECT '# sweep:', * FROM sweep"
  return 1
}

# The one assertion that ends every test: attempted = stored + dropped + torn, and nothing
# unexplained, in every run file of this test.
check_books() {
  for file in "$data"/runs/*.db; do
    [ -f "$file" ] || continue
    books=$("$run_sql" "$file" \
      "SELECT count(*) FROM loss WHERE unexplained <> 0
         OR launches_attempted <> launches_stored + launches_dropped + launches_torn
         OR launches_torn < 0 OR launches_in_flight < 0")
    is "$books" 0 "books balance in $(basename "$file")"
    rows=$("$run_sql" "$file" "SELECT count(*) FROM proc p WHERE
       launches_stored <> (SELECT count(*) FROM launch_call l WHERE l.process_id = p.process_id)
       OR kernels_stored <> (SELECT count(*) FROM kernel_exec e WHERE e.process_id = p.process_id)")
    is "$rows" 0 "counters equal rows in $(basename "$file")"
  done
}

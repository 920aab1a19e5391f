# record.sh - section `record` of run.sh: sourced by it, uses its functions.
# shellcheck shell=sh disable=SC2034

RECORDING_BYTES_MAX=1048576

# Five recordings for tests/data, small by construction: about 500 launches a step of training, 11
# bytes a launch (doc/recording.md). Names of the machine are taken out if strip_recording is there.
section_record() {
  recordings=$(mktemp -d "$work/recordings.XXXXXX") || return
  record_one train-eager 20000 40000 "$here/train.py" eager --steps 50 --warm-up 10
  record_one train-compile 1 60000 "$here/train.py" compile --steps 60 --warm-up 10
  record_one triton 1 40000 "$here/record_work.py" triton
  record_one infer-tiny 20000 60000 "$here/record_work.py" infer
  record_one copies-side 1 40000 "$here/record_work.py" copies
  record_ddp
  if test -n "${OUT:-}"; then
    mkdir -p "$OUT/recordings" && cp "$recordings"/*.wtrec "$OUT/recordings/"
  fi
}

# record_one NAME LEAST MOST SCRIPT ARGUMENT...: one recording, whole, of LEAST to MOST kernels,
# under RECORDING_BYTES_MAX, that gives the loss of the live run when it is imported.
record_one() {
  recorded=$1 least=$2 most=$3 log=$work/record-$1 folder=$work/record-$1.r
  shift 3
  is_wanted "$recorded" || return 0
  run_observed preload "$log.d" "$log" env WAVETAP_RECORD="$folder" "$python" "$@"
  ended record "$recorded" "$log" $? || return
  file=$(find "$folder" -name '*.wtrec')
  if test "$(echo "$file" | wc -l)" -ne 1 || ! test -s "$file"; then
    report record "$recorded" FAIL "not one recording: $file"
    return
  fi
  if test -x "$build/strip_recording"; then
    "$build/strip_recording" "$file" "$recordings/$recorded.wtrec" gpu || return
  else
    cp "$file" "$recordings/$recorded.wtrec"
  fi
  judge record "$recorded" whole "$log.import" "$build/wavetap" import -o "$log.db" \
    "$recordings/$recorded.wtrec" || return
  judge record "$recorded" loss "$log.loss" "$python" "$here/reconcile.py" "$log.db"
  judge record "$recorded" 'size and kernels' "$log.size" \
    is_recording_small "$recordings/$recorded.wtrec" "$log.db" "$log.d" "$least" "$most"
}

# WAVETAP_GPU_RECORD: names of the recordings to make; all if not set.
is_wanted() {
  case " ${WAVETAP_GPU_RECORD:-$1} " in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
  esac
}

# Two ranks on two GPUs: a recording of each process, together one run.
record_ddp() {
  is_wanted ddp || return 0
  log=$work/record-ddp folder=$work/record-ddp.r
  if test "$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' | wc -l)" -lt 2; then
    report record ddp skip 'needs two GPUs'
    return
  fi
  run_observed preload "$log.d" "$log" env WAVETAP_RECORD="$folder" "$python" -m torch.distributed.run --standalone \
    --nproc-per-node 2 "$here/record_work.py" ddp
  ended record ddp "$log" $? || return
  rank=0
  for file in "$folder"/*.wtrec; do
    if test -x "$build/strip_recording"; then
      "$build/strip_recording" "$file" "$recordings/ddp-$rank.wtrec" gpu || return
    else
      cp "$file" "$recordings/ddp-$rank.wtrec"
    fi
    rank=$((rank + 1))
  done
  judge record ddp whole "$log.import" "$build/wavetap" import -o "$log.db" "$recordings"/ddp-*.wtrec || return
  judge record ddp loss "$log.loss" "$python" "$here/reconcile.py" "$log.db"
}

# is_recording_small RECORDING IMPORTED LIVE-DIR LEAST MOST
is_recording_small() {
  bytes=$(wc -c <"$1")
  "$python" - "$2" "$3" "$bytes" "$4" "$5" "$RECORDING_BYTES_MAX" <<'END'
import glob, sqlite3, sys
imported, live, size, least, most, limit = sys.argv[1:3] + [int(n) for n in sys.argv[3:]]
def loss(path):
  cursor = sqlite3.connect(path).execute("SELECT * FROM loss")
  names = [column[0] for column in cursor.description]
  return {n: v for n, v in zip(names, cursor.fetchone()) if n not in ("process_id", "pid", "state")}
a, (b,) = loss(imported), [loss(path) for path in glob.glob(live + "/runs/*.db")]
differ = [name for name in a if a[name] != b[name]]
print(f"{size} bytes, {a['launches_stored']} launches, {a['kernels']} kernels,",
      f"{size / max(1, a['kernels']):.1f} bytes a kernel", *(["differ from live:"] + differ if differ else []))
sys.exit(bool(differ) or size >= limit or not least <= a["kernels"] <= most)
END
}

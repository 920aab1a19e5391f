# shellcheck shell=sh disable=SC2154
# tests/gpu/sharing.sh: the sections of run.sh on a guest's manners: beside other profilers, under the vendor's
# tools, with worker processes, killed, and for a long time. Sourced by run.sh; uses its functions.
#
#   WAVETAP_GPU_SHARING   rows of `sharing`, by name; default all
#   WAVETAP_GPU_LONG      options of long_run.py, e.g. '--nodes 20000000 --buffers 64'

# guest SECTION WHAT SCRIPT ARGUMENT...: one of the checkers that start programs themselves, and its table.
guest() {
  section=$1 what=$2 script=$3
  log=$work/$section
  shift 3
  judge "$section" - "$what" "$log" "$python" "$here/$script" "$build" "$log.d" "$@"
  cat "$log.txt"
  # Logs are few; reports of other tools and run files are not wanted in the archive.
  mkdir -p "$log.logs"
  find "$log.d" -maxdepth 1 \( -name '*.out' -o -name '*.err' \) -size -1024k -exec cp {} "$log.logs" \;
}

section_sharing() {
  # shellcheck disable=SC2086 # a list of names
  guest sharing 'both sides complete' sharing.py ${WAVETAP_GPU_SHARING:-}
}

section_long() {
  # shellcheck disable=SC2086 # options
  guest long 'memory flat, times there' long_run.py ${WAVETAP_GPU_LONG:-}
}

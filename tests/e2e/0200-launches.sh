#!/bin/sh
# Every way to reach the driver and every kind of launch: what the application counted, what the
# simulated driver counted, what CUPTI recorded and what is stored agree, class by class.
. "$top_srcdir/tests/e2e/lib.sh"

value() { # "a=1 b=2" KEY
  printf '%s\n' "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"
}

check() { # NAME PROGRAM ARGS...
  name=$1
  shift
  export WAVETAP_RUN="$name"
  printed=$(tap "$@" 2>"$work/err" | tail -n 1)
  ok "$name: it ran ($printed)" test -n "$(value "$printed" attempted)"
  is "$(cat "$work/err")" "" "$name: nothing on stderr"
  settle
  is "$(sql "SELECT launches_attempted + graph_launches FROM loss")" "$(value "$printed" attempted)" "$name: attempted"
  is "$(sql "SELECT launches_failed FROM loss")" "$(value "$printed" failed)" "$name: failed"
  is "$(sql "SELECT launches_captured FROM loss")" "$(value "$printed" captured)" "$name: captured"
  is "$(sql "SELECT graph_launches FROM loss")" "$(value "$printed" graph_launches)" "$name: graph launches"
  is "$(sql "SELECT kernels_graph FROM loss")" "$(value "$printed" node_kernels)" "$name: graph nodes"
  is "$(sql "SELECT kernels FROM loss")" "$(value "$printed" kernels)" "$name: kernels"
  is "$(sql "SELECT unexplained, launches_in_flight, launches_unlinked, launches_linked_by_order FROM loss")" \
    "0|0|0|0" "$name: all linked exactly, nothing unexplained"
  is "$(sql "SELECT state, capture FROM process")" "finished|full" "$name: finished, fully captured"
  is "$(sql "SELECT count(*) FROM launch WHERE graph_id IS NULL AND (entry_ns > start_ns OR link <> 1)")" 0 \
    "$name: no kernel starts before its call"
}

fake=$top_builddir/tests/fake
for how in dlsym getproc getproc_v2 ptsz cudart; do
  check "how-$how" "$fake/app_launch" --launches 300 --how "$how"
done
check how-link "$fake/app_launch_link" --launches 300 --how link
for kind in ex coop mix; do
  check "kind-$kind" "$fake/app_launch" --launches 200 --kind "$kind"
done
check failing "$fake/app_launch" --launches 200 --fail-every 7
check graphs "$fake/app_launch" --launches 400 --graph 12
check captured "$fake/app_launch" --launches 200 --capture
check threads "$fake/app_launch" --launches 400 --threads 8 --streams 4 --kind mix --graph 5 --fail-every 11

check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

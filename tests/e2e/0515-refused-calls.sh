#!/bin/sh
# Sandboxes: each system call that wavetap makes is refused in turn (tests/hosts/odd_refuse.c). The
# program ends and prints as it does under the same filter without wavetap; what is recorded adds up.
# The daemon runs outside: one that such a program starts has its filter, too.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
refuse=$top_builddir/tests/hosts/odd_refuse
"$refuse" uname 1 /bin/true
rc=$?
[ "$rc" != 77 ] || skip_all "no seccomp filter can be set here"

unset LD_PRELOAD
recorded=0
"$top_builddir/wavetapd" --idle 60 >/dev/null 2>&1
for call in $("$refuse" list); do
  for error in 1 38; do # EPERM, ENOSYS
    export WAVETAP_RUN="$call:$error"
    timeout -k 1 60 "$refuse" "$call" "$error" "$app" --launches 60 --threads 2 --graph 3 >"$work/bare.out" 2>"$work/bare.err"
    rc_bare=$?
    ODD_PRELOAD=$library timeout -k 1 60 "$refuse" "$call" "$error" "$app" --launches 60 --threads 2 --graph 3 >"$work/tap.out" 2>"$work/tap.err"
    rc_tap=$?
    is "$rc_tap|$(sed 's/pid=[0-9-]*/pid=N/' "$work/tap.out")|$(cat "$work/tap.err")" \
      "$rc_bare|$(sed 's/pid=[0-9-]*/pid=N/' "$work/bare.out")|$(cat "$work/bare.err")" "$call refused with $error: as without wavetap"
  done
done
tries=0
while [ -n "$(find "$shm" -name '*.seg')" ] && [ "$tries" -lt 300 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
kill "$("$wavetap" status --json | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')"
settle
for file in "$data"/runs/*.db; do
  [ -f "$file" ] && recorded=$((recorded + 1))
done
ok "most of them are recorded: $recorded of $(($("$refuse" list | wc -l) * 2))" test "$recorded" -ge 20
check_books

# A daemon that such a program starts, and that could store nothing, doesn't keep the place: the next one stores all.
for call in ftruncate unlink unlinkat flock; do
  "$refuse" list | grep -qx "$call" || continue
  rm -rf "$data"
  mkdir "$data"
  WAVETAP_RUN=before ODD_PRELOAD=$library timeout -k 1 60 "$refuse" "$call" 1 "$app" --launches 60 >"$work/tap.out" 2>&1
  tries=0 # until its daemon has given up, or taken all there is
  while [ -n "$(find "$shm" -name '*.sock')" ] && [ "$tries" -lt 40 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  WAVETAP_RUN=after tap "$app" --launches 50 >"$work/out" 2>&1
  settle
  is "$(for file in "$data"/runs/*.db; do sqlite3 "$file" "SELECT sum(launches_stored) FROM loss"; done | sort -n | tr '\n' ' ')" "50 60 " \
    "$call refused to the daemon: the next one has the launches of both"
done

# A process that is killed at any of them leaves nothing behind for good: neither a segment half made, nor a
# count that doesn't add up.
"$top_builddir/wavetapd" --idle 60 >/dev/null 2>&1
killed=0
for call in $("$refuse" list); do
  WAVETAP_RUN="killed:$call" ODD_PRELOAD=$library timeout -k 1 60 "$refuse" "$call" kill "$app" --launches 60 --threads 2 \
    >"$work/tap.out" 2>&1 || killed=$((killed + 1))
done
ok "killed at a call: $killed of $("$refuse" list | wc -l)" test "$killed" -ge 8
tries=0
while [ -n "$(find "$shm" -name '*.seg')" ] && [ "$tries" -lt 300 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
is "$(find "$shm" -name '*.seg')" "" "killed at any call: no segment stays"
kill "$("$wavetap" status --json | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9')"
settle
check_books
sed 's/^/# log: /' "$data/wavetapd.log" 2>/dev/null
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

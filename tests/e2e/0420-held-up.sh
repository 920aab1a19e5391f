#!/bin/sh
# What holds the daemon up, or takes its things away, while programs launch: it is stopped, the segment
# is removed under it, readers and writers hold the run file, a program launches hardly ever, any umask,
# strangers' files under names like ours. Programs never wait, and every launch is stored or counted.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
until_true() { # a command, for at most 30 s
  tries=0
  until "$@" 2>/dev/null || [ "$tries" -ge 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  "$@"
}
daemon_pid() {
  "$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9'
}
is_served() { [ -n "$(daemon_pid)" ]; }
no_segments() { [ -z "$(find "$shm" -name '*.seg')" ]; }
start_daemon() { # to stay for a minute without work
  "$top_builddir/wavetapd" --idle 60 >/dev/null 2>&1
  until_true is_served
}
stop_daemon() {
  pid=$(daemon_pid)
  [ -z "$pid" ] || kill "$pid"
  settle
}
file_of() { # RUN KEY
  for file in "$data"/runs/*.db; do
    [ -z "$(sqlite3 -batch -cmd ".timeout 10000" "$file" "SELECT 1 FROM meta WHERE key = 'run_key' AND value = '$1'")" ] || echo "$file"
  done
}
of() { # RUN KEY, SQL
  sqlite3 -batch -cmd ".timeout 10000" "$(file_of "$1")" "$2"
}

# ---- a daemon that is stopped: small rings fill, nobody waits
start_daemon
daemon=$(daemon_pid)
kill -STOP "$daemon"
for n in 1 2; do
  WAVETAP_RUN=stopped WAVETAP_SHM_BYTES=1048576 tap timeout -k 1 120 "$app" --launches 20000 --threads 2 --us 1 >"$work/out.$n" 2>&1
  is "$?|$(grep -o 'attempted=[0-9]*' "$work/out.$n")" "0|attempted=40000" "a stopped daemon: the program ends by itself, all of it launched"
done
kill -CONT "$daemon"
ok "let go on, the daemon takes what there is" until_true no_segments
is "$(of stopped "SELECT count(*), sum(launches_attempted), sum(launches_dropped) > 40000, sum(launches_stored + launches_dropped), sum(launches_torn),
    sum(unexplained) FROM loss")" "2|80000|1|80000|0|0" "what found no room is counted as dropped, the rest is stored"
"$wavetap" top --all -r "$(file_of stopped)" >"$work/top" 2>&1
ok "top tells of the loss" grep -q "^lost .*launch calls: .*room\|^lost [0-9,]* launch" "$work/top"
grep '^lost' "$work/top" | sed 's/^/# /'

# ---- the segment's name goes while its process runs, as at a logout
LD_PRELOAD=$library WAVETAP_RUN=unlinked "$app" --launches 900 --rate 300 >"$work/out" 2>&1 &
program=$!
has_some() { [ "$(of unlinked "SELECT launches_stored > 50 FROM loss")" = 1 ]; }
ok "some launches are stored" until_true has_some
rm "$shm"/*.seg
wait "$program"
is "$?" 0 "the segment is removed: the program ends well"
has_all() { [ "$(of unlinked "SELECT state, launches_stored FROM loss")" = "finished|900" ]; }
ok "and all of it is stored" until_true has_all
is "$(of unlinked "SELECT launches_attempted, kernels, unexplained FROM loss")" "900|900|0" "nothing is missing"

# Nobody has it open: before any daemon came, and once it was killed. At its end the program writes what is
# left into a new file.
stop_daemon
go_on() { # NAME: a program whose segment goes after 300 launches or more, then the daemon that comes
  before=$(ls "$shm"/*.seg)
  rm "$before"
  wait "$program"
  is "$?|$(cat "$work/err")" "0|" "$1: the program ends well, and says nothing"
  ok "$1: there is another segment" test -n "$(find "$shm" -name '*.seg' ! -name "$(basename "$before")")"
  is "$(find "$shm" -name '*.seg' -printf '%m\n')" 600 "$1: for its owner alone"
  "$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
  settle
  is "$(of "$1" "SELECT count(*), state, launches_attempted, launches_stored, kernels, unexplained FROM loss")" "1|finished|900|900|900|0" \
    "$1: all of it is stored, once"
}
export WAVETAP_SPAWN=0
has_segment() { [ -n "$(find "$shm" -name '*.seg')" ]; }
LD_PRELOAD=$library WAVETAP_RUN=unseen "$app" --launches 900 --rate 450 >"$work/out" 2>"$work/err" &
program=$!
ok "unseen: it has a segment" until_true has_segment
go_on unseen
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
until_true is_served
LD_PRELOAD=$library WAVETAP_RUN=orphan "$app" --launches 900 --rate 300 >"$work/out" 2>"$work/err" &
program=$!
has_orphan() { [ "$(of orphan "SELECT launches_stored > 50 FROM loss")" = 1 ]; }
ok "orphan: some launches are stored" until_true has_orphan
kill -9 "$(daemon_pid)"
go_on orphan
# One that is stopped has it open, and finds the new one beside it: what is in both is stored once.
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
until_true is_served
LD_PRELOAD=$library WAVETAP_RUN=both "$app" --launches 900 --rate 300 >"$work/out" 2>"$work/err" &
program=$!
has_both() { [ "$(of both "SELECT launches_stored > 50 FROM loss")" = 1 ]; }
ok "both: some launches are stored" until_true has_both
daemon=$(daemon_pid)
kill -STOP "$daemon"
rm "$shm"/*.seg
wait "$program"
is "$?|$(find "$shm" -name '*.seg' | wc -l)" "0|1" "both: the program ends well, and there is another segment"
kill -CONT "$daemon"
settle
is "$(of both "SELECT count(*), state, launches_attempted, launches_stored, kernels, unexplained, (SELECT count(*) FROM launch_call) FROM loss")" \
  "1|finished|900|900|900|0|900" "both: all of it is stored, once"
unset WAVETAP_SPAWN
start_daemon

# ---- readers that hold a snapshot, and somebody who locks the file
LD_PRELOAD=$library WAVETAP_RUN=held "$app" --launches 1500 --rate 500 >"$work/out" 2>&1 &
program=$!
is_there() { [ "$(of held "SELECT launches_stored > 50 FROM loss")" = 1 ]; }
ok "a run is being written" until_true is_there
mkfifo "$work/reader" "$work/writer"
sqlite3 -batch "$(file_of held)" <"$work/reader" >"$work/reader.out" 2>&1 &
reader=$!
exec 8>"$work/reader"
echo "BEGIN; SELECT 'began', count(*) FROM launch_call;" >&8
ok "a reader holds a snapshot" until_true grep -q began "$work/reader.out"
before=$(of held "SELECT count(*) FROM launch_call")
grows() { [ "$(of held "SELECT count(*) FROM launch_call")" -gt $((before + 200)) ]; }
ok "the daemon goes on writing beside it" until_true grows
sqlite3 -batch -cmd ".timeout 20000" "$(file_of held)" <"$work/writer" >"$work/writer.out" 2>&1 &
writer=$!
exec 9>"$work/writer"
echo "BEGIN IMMEDIATE; SELECT 'locked';" >&9
ok "somebody locks the file" until_true grep -q locked "$work/writer.out"
wait "$program"
is "$?" 0 "the program ends well meanwhile"
sleep 1
echo "COMMIT; SELECT 'freed';" >&9
exec 9>&-
wait "$writer"
ended() { [ "$(of held "SELECT state FROM loss")" = finished ]; }
ok "freed, the daemon stores the rest" until_true ended
echo "SELECT 'still', count(*) FROM launch_call; COMMIT;" >&8
exec 8>&-
wait "$reader"
is "$(tail -n 1 "$work/reader.out" | cut -d '|' -f 2)" "$(sed -n 's/began|//p' "$work/reader.out")" "the reader's snapshot stood still"
is "$(of held "SELECT launches_attempted, launches_stored, kernels, unexplained FROM loss")" "1500|1500|1500|0" "nothing was lost"

# ---- a program that hardly ever launches is seen while it lives
LD_PRELOAD=$library WAVETAP_RUN=sparse "$app" --launches 100 --rate 1 >"$work/out" 2>&1 &
program=$!
is_seen() { [ "$(of sparse "SELECT launches_stored >= 2 AND kernels >= 2 FROM loss")" = 1 ]; }
ok "one launch a second: launches and kernels are there while it runs" until_true is_seen
is "$(of sparse "SELECT state FROM loss")" live "it does"
kill "$program"
wait "$program" 2>/dev/null
stop_daemon

# ---- whatever the umask, nobody else can read what is recorded
has_run() { [ -n "$(find "$work/mode/data/runs" -name "*.db")" ] && [ -n "$(find "$work/mode/recordings" -name "*.wtrec")" ]; }
for mask in 000 077 777; do
  rm -rf "$work/mode"
  mkdir "$work/mode"
  (
    umask "$mask"
    export WAVETAP_DIR="$work/mode/data" WAVETAP_RUN=mode WAVETAP_RECORD="$work/mode/recordings" WAVETAP_DEBUG="$work/mode/debug"
    LD_PRELOAD=$library "$app" --launches 2000 --rate 1000 >/dev/null 2>"$work/err" &
    program=$!
    until_true has_run
    find "$shm" "$work/mode" -mindepth 1 ! -name mode -printf '%y %m %f\n' |
      sed -e 's/wavetap-[^ ]*\.\([a-z]*\)$/\1/' -e 's/[^ ]*\.db/db/' | sort -u >"$work/modes"
    wait "$program"
  )
  settle
  sed 's/^/# /' "$work/modes"
  ok "umask $mask: there are files of all kinds" sh -c 'grep -q " seg$" "$1" && grep -q " db$" "$1" && grep -q " sock$" "$1" && grep -q "wtrec$" "$1" && grep -q "debug$" "$1"' sh "$work/modes"
  is "$(grep -vE '^([ds] 700|f 600) |^f 0 debug$' "$work/modes")" "" "umask $mask: for their owner alone"
  is "$(sqlite3 "$work"/mode/data/runs/*.db "SELECT launches_stored FROM loss")" 2000 "umask $mask: and recorded"
done

# ---- a file system between hosts: no journal in shared memory, and the same books, kills or not
cat >"$work/network.c" <<'C'
#include <sys/vfs.h>
int statfs(const char *path, struct statfs *fs)
{
	(void)path;
	*fs = (struct statfs){.f_type = 0x6969, .f_bsize = 4096, .f_blocks = 1 << 21, .f_bfree = 1 << 20, .f_bavail = 1 << 20};
	return 0;
}
C
if ${CC:-cc} -shared -fPIC -o "$work/network.so" "$work/network.c" 2>/dev/null; then
  # One that was just killed may hold its lock for a moment yet.
  on_network() {
    LD_PRELOAD=$work/network.so "$top_builddir/wavetapd" --idle 60 >/dev/null 2>&1
    is_served
  }
  ok "a daemon on a network file system" until_true on_network
  LD_PRELOAD=$library WAVETAP_SPAWN=0 WAVETAP_RUN=network "$app" --launches 1200 --rate 400 >"$work/out" 2>&1 &
  program=$!
  for n in 1 2 3; do
    has_network() { [ "$(of network "SELECT launches_stored > $n * 100 FROM loss")" = 1 ]; }
    ok "network: it writes" until_true has_network
    ok "network: and no journal lies in shared memory" test -z "$(find "$data/runs" -name "$(basename "$(file_of network)")-shm")"
    kill -9 "$(daemon_pid)"
    ok "network: another daemon" until_true on_network
  done
  wait "$program"
  has_network() { [ "$(of network "SELECT state FROM loss")" = finished ]; }
  ok "network: the end is stored" until_true has_network
  is "$(of network "SELECT launches_attempted, launches_stored, kernels, unexplained, (SELECT count(*) FROM launch_call) FROM loss")" \
    "1200|1200|1200|0|1200" "network: the daemon killed three times, nothing lost, nothing twice"
  is "$(of network "SELECT value LIKE 'delete%' FROM meta WHERE key = 'journal'")|$(of network "PRAGMA journal_mode")" "1|delete" \
    "network: the run file says which journal it has"
  stop_daemon
else
  echo "# no compiler here: a network file system was not tested"
fi

# ---- files of strangers under names like ours: links, pipes, folders, another user's
prefix=$shm/wavetap-$(id -u)-$("$top_builddir/tests/unit/make_run" hash "$data")
echo keep >"$work/theirs"
ln -s "$work/theirs" "$prefix-1-2-3-0000000000000001.seg"
mkfifo "$prefix-1-2-3-0000000000000002.seg"
mkdir "$prefix-1-2-3-0000000000000003.seg"
if [ "$(id -u)" = 0 ]; then
  head -c 300000 /dev/zero >"$prefix-1-2-3-0000000000000004.seg"
  chown 65534 "$prefix-1-2-3-0000000000000004.seg"
fi
touch -h -d '1 hour ago' "$prefix"-1-2-3-*
before=$(ls "$shm")
WAVETAP_RUN=strangers tap timeout -k 1 60 "$app" --launches 200 >"$work/out" 2>&1
is "$?" 0 "strangers: the program ends well"
stored() { [ "$(of strangers "SELECT state, launches_stored FROM loss")" = "finished|200" ]; }
ok "strangers: it is stored" until_true stored
only_strangers() { [ "$(ls "$shm")" = "$before" ]; }
ok "strangers: theirs stay, ours go" until_true only_strangers
is "$(cat "$work/theirs")" keep "strangers: what a link names is untouched"
rm -rf "$prefix"-*
# A lock and a socket that are not ours to use: nothing is recorded, nobody is hurt.
ln -s "$work/theirs" "$prefix.lock"
ln -s "$work/theirs" "$prefix.sock"
WAVETAP_RUN=squatted tap timeout -k 1 60 "$app" --launches 200 >"$work/out" 2>"$work/err"
is "$?|$(cat "$work/err")|$(cat "$work/theirs")" "0||keep" "squatted lock and socket: the program ends well, and what they name is untouched"
rm -f "$prefix.lock" "$prefix.sock"
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
settle
is "$(of squatted "SELECT launches_stored, unexplained FROM loss")" "200|0" "once they are gone a daemon has all of it"
# Links in the data directory: nothing is written through them.
WAVETAP_RUN=links tap "$app" --launches 10 >"$work/out" 2>&1
settle
was=$(file_of links)
mv "$was" "$work/elsewhere.db"
ln -s "$work/elsewhere.db" "$was"
sum=$(cksum <"$work/elsewhere.db")
mv "$data/wavetapd.log" "$work/log" 2>/dev/null
ln -s "$work/theirs" "$data/wavetapd.log"
for name in .new "$(basename "$was")-wal" "$(basename "$was")-journal"; do
  [ "$name" != .new ] || name=.new-${was##*-}
  ln -s "$work/theirs" "$data/runs/${name%.db}"
done
WAVETAP_RUN=links tap "$app" --launches 20 >"$work/out" 2>"$work/err"
is "$?|$(cat "$work/err")" "0|" "links: the program ends well"
settle
is "$(cksum <"$work/elsewhere.db")|$(cat "$work/theirs")" "$sum|keep" "links: what they name is untouched"
find "$data" -type l -delete
is "$(of links "SELECT launches_stored FROM loss")" 20 "links: the run has a file of its own"
check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing

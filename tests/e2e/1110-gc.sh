#!/bin/sh
# wavetap gc: nothing is lost (dead segments are stored first), nothing of others is touched (live
# processes, foreign files, links, other users' names), what is left over goes; the limits of --keep,
# run --keep and WAVETAP_KEEP.
# Names are ours, without odd characters where they are counted; formats hold escapes.
# shellcheck disable=SC2010,SC2059
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
make_run=$top_builddir/tests/unit/make_run
runs=$data/runs
hash=$("$make_run" hash "$data")
prefix=$shm/wavetap-$(id -u)-$hash

gc() { # gc CODE ARGUMENT...
  want=$1
  shift
  "$wavetap" gc "$@" >"$work/out" 2>"$work/err"
  code=$?
  is "$code" "$want" "gc $*: exit $want"
}
out_has() {
  tests_run=$((tests_run + 1))
  if grep -qE -- "$1" "$work/out" "$work/err"; then
    echo "ok $tests_run - says: $1"
  else
    echo "not ok $tests_run - says: $1"
    sed 's/^/#   out: /' "$work/out" "$work/err"
    tests_failed=$((tests_failed + 1))
  fi
}
json() {
  "$make_run" json "$work/out" "$1"
}
run_at() { # run_at DAY KIND: a run of that day of January 1970
  "$make_run" "$runs/197001$1-000000-0000$1$1.db" "$2" "job-0000$1$1" "$(($1 * 86400))000000000"
}
names() {
  ls "$runs" | tr '\n' ' '
}

# ---- nothing there at all
gc 0
out_has "nothing to remove"
is "$(ls "$shm")" "" "and nothing was made"

# ---- segments: of a dead process, with and without a daemon; of a live one
export WAVETAP_SPAWN=0
WAVETAP_RUN=dead tap "$app" --launches 300 --exit kill >/dev/null 2>&1
WAVETAP_RUN=ended tap "$app" --launches 200 >/dev/null
LD_PRELOAD=$library WAVETAP_RUN=alive "$app" --launches 100000 --rate 200 >/dev/null &
alive=$!
tries=0
while [ "$tries" -lt 300 ] && [ "$(ls "$shm"/*.seg 2>/dev/null | wc -l)" -lt 3 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
unset WAVETAP_SPAWN
before=$(ls "$shm")
gc 0 -n
is "$(ls "$shm")" "$before" "a dry run touches nothing"
out_has "would remove .* its process is gone: stored in its run first"
out_has "^kept .* its process is running"
out_has "^would remove 2 files"
WAVETAP_DAEMON=$work/absent gc 1
is "$(ls "$shm" | grep -c seg)" 3 "without a daemon to store them they stay"
out_has "^NOT removed .* wavetapd, which would store its records, was not found"
gc 0 --json
is "$(json '$.removed_files')|$(json '$.is_dry_run')" "2|0" "JSON: two files are gone"
is "$(ls "$shm" | grep -c "seg\$")" 1 "the segment of the living process stays"
dead=$(for f in "$runs"/*.db; do sqlite3 "$f" "SELECT launches_stored FROM loss JOIN meta WHERE key = 'run_key' AND value IN ('dead', 'ended')"; done | sort -n | tr '\n' ' ')
is "$dead" "200 300 " "what they held is stored, all of it"
gc 0 --force
is "$(ls "$shm" | grep -c "seg\$")" 1 "not even --force takes it from a living process"
gc 0 --keep 0
ok "nor its run" grep -q . "$runs"/*.db
is "$(for f in "$runs"/*.db; do sqlite3 "$f" "SELECT value FROM meta WHERE key = 'run_key' AND value = 'alive'"; done)" alive \
  "a run that is being written stays (the daemon removed the others)"
kill "$alive"
wait "$alive" 2>/dev/null
ok "everything is stored at the end" settle
check_books

# ---- a segment of another data directory is told of, and stored when it is asked for
WAVETAP_DIR=$work/other-data WAVETAP_SPAWN=0 WAVETAP_RUN=other tap "$app" --launches 40 >/dev/null
gc 0
out_has "^kept .*of another data directory: WAVETAP_DIR=$work/other-data wavetap gc"
WAVETAP_DIR=$work/other-data gc 0
is "$(sqlite3 "$work"/other-data/runs/*.db "SELECT launches_stored FROM loss")|$(ls "$shm" | grep -c "seg\$")" "40|0" "stored and gone"
tries=0
while [ "$tries" -lt 300 ] && [ -n "$(ls "$shm")" ]; do # the daemon of that directory
  tries=$((tries + 1))
  sleep 0.1
done

# ---- segments that nobody can store
make_segment() { # NAME-PART BYTES-FROM: a file as another pid, another version or nobody made it
  umask 077
  head -c 300000 /dev/zero >"$prefix-$1.seg"
  [ -z "$2" ] || printf "$2" | dd of="$prefix-$1.seg" conv=notrunc 2>/dev/null
}
ns=$(stat -L -c %i /proc/self/ns/pid)
magic='WVETAP1\000'
make_segment "$ns-4194300-77-00000001" "" # no such process, never finished
touch -d '1 hour ago' "$prefix-$ns-4194300-77-00000001.seg"
make_segment "$ns-4194300-77-00000002" "$(printf '%s' "$magic")\\0143\\000\\000\\000" # layout 99
if [ "$ns" != 4026531836 ]; then
  make_segment "4026531999-12-77-00000003" ""
fi
ln -s /etc/passwd "$prefix-$ns-4194300-77-00000004.seg"
gc 0
out_has "^removed .*00000001.seg: .*nobody can read it"
out_has "^kept .*00000002.seg: .*made by another version"
out_has "^kept .*00000004.seg: .*not a private file"
[ "$ns" = 4026531836 ] || out_has "^kept .*00000003.seg: .*another pid namespace"
"$top_builddir/wavetapd" --foreground --idle 0 2>/dev/null
ok "wavetapd leaves the segment of another version alone too" test -e "$prefix-$ns-4194300-77-00000002.seg"
gc 0 --force
out_has "^removed .*00000002.seg: .*LOST"
is "$(ls "$shm" | grep -c 00000004)|$(ls "$shm" | grep -c '0000000[123]')" "1|0" "--force: all but the link"
rm "$prefix-$ns-4194300-77-00000004.seg"

# ---- lock and socket of a daemon that was killed
: >"$prefix.lock"
python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$prefix.sock" 2>/dev/null || mkfifo "$prefix.sock"
gc 0 -n
is "$(ls "$shm" | wc -l)" 2 "dry run: lock and socket stay"
gc 0
out_has "^removed .*lock: no daemon holds it"
out_has "^removed .*sock: no daemon listens"
is "$(ls "$shm")" "" "both are gone"

# ---- the folder of runs
rm -f "$runs"/*
run_at 11 full
run_at 12 full
run_at 13 full
run_at 14 full
run_at 15 short # less than a second of kernels: the newest, but not `latest`
sqlite3 "$runs/foreign.db" "CREATE TABLE t (x)"
sqlite3 "$runs/19700101-000000-00000001.db" "CREATE TABLE t (x)"
echo text >"$runs/notes.txt"
echo text >"$runs/text.db"
"$make_run" "$work/elsewhere.db" full elsewhere 1
ln -s "$work/elsewhere.db" "$runs/19700102-000000-00000002.db"
"$make_run" "$runs/19700103-000000-00000003.db" newer newer 1
odd="$runs/19700110-000000-odd'\"; 
 name.db"
"$make_run" "$odd" full odd $((10 * 86400))000000000
gc 0 -k 3 -n
out_has "^would remove 3 files"
is "$(ls "$runs" | grep -c '^197.*db$')" 8 "dry run: all runs stay"
gc 0 -k 3
is "$(ls "$runs"/1970011* | tr '\n' ' ')" "$runs/19700113-000000-00001313.db $runs/19700114-000000-00001414.db $runs/19700115-000000-00001515.db " \
  "--keep 3: the three newest stay, an odd name is no obstacle"
out_has "foreign.db: not a wavetap run"
out_has "19700102-000000-00000002.db: a symbolic link: not followed"
out_has "19700103-000000-00000003.db: made by a newer wavetap"
ok "foreign files, links, what is newer: untouched" test -e "$runs/foreign.db" -a -e "$runs/notes.txt" -a -e "$runs/text.db" \
  -a -L "$runs/19700102-000000-00000002.db" -a -e "$work/elsewhere.db" -a -e "$runs/19700103-000000-00000003.db" \
  -a -e "$runs/19700101-000000-00000001.db"
gc 0 --keep 1
is "$(ls "$runs"/1970011*.db | tr '\n' ' ')" "$runs/19700114-000000-00001414.db $runs/19700115-000000-00001515.db " \
  "--keep 1: latest and the newest stay"
gc 0 --keep 0 --keep 1B --keep 1s
is "$(ls "$runs"/1970011*.db | wc -l)" 2 "whatever the limits"
run_at 11 full
run_at 12 full
size=$(stat -c %s "$runs/19700111-000000-00001111.db")
gc 0 --keep "$((size * 3))B" --keep 100
is "$(ls "$runs"/1970011*.db | tr '\n' ' ' | tr -dc '0-9 ' | wc -w)" 3 "a size: three files of four"
ok "the oldest went" test ! -e "$runs/19700111-000000-00001111.db"
now_ns=$(date +%s)000000000
"$make_run" "$runs/20261129-000000-0000aaaa.db" full young "$now_ns"
gc 0 --keep 30d
is "$(ls "$runs"/19700112*.db 2>/dev/null)" "" "an age: what is older went"
ok "the young one stays" test -e "$runs/20261129-000000-0000aaaa.db"

# Journals and files that were never finished.
rm -f "$runs"/*
run_at 11 full
run_at 12 full
echo x >"$runs/.new-0badcafe"
echo x >"$runs/.new-0badcafe-wal"
echo x >"$runs/19700101-000000-0badcafe.db-wal"
echo x >"$runs/19700101-000000-0badcafe.db.corrupt-1234"
echo x >"$runs/other.db-wal"
gc 0
ok "what is a minute old may be in the making: it stays" test -e "$runs/.new-0badcafe" -a -e "$runs/19700101-000000-0badcafe.db-wal"
touch -d '2 minutes ago' "$runs/.new-0badcafe" "$runs/.new-0badcafe-wal" "$runs/19700101-000000-0badcafe.db-wal"
printf 'SQLite format 3\000rubbish' >"$runs/19700104-000000-00000004.db"
gc 0
out_has "^removed .*new-0badcafe: a run file that was never finished"
out_has "^removed .*0badcafe.db-wal: its run is gone"
out_has "^kept .*corrupt-1234: damaged"
out_has "^kept .*19700104-000000-00000004.db: damaged"
is "$(ls -A "$runs" | grep -c 0badcafe)|$(ls "$runs" | grep -c other)" "1|1" "what is damaged stays, and what is not ours"
gc 0 --force
is "$(ls -A "$runs" | grep -c -e 0badcafe -e 00000004)|$(ls "$runs" | grep -c other)" "0|1" "--force: damaged files go"
gc 0 --force
out_has "nothing to remove"
# Under names of ours what is no file: it stays, whatever is asked, and that is said.
odd="19700105-000000-00000005.db 19700105-000000-00000006.db-wal 19700105-000000-00000007.db.corrupt-12 .new-0badcaf0"
for how in mkfifo mkdir; do
  for name in $odd; do
    $how "$runs/$name"
  done
  for words in -n "" --force "-n --force --keep 1"; do
    # shellcheck disable=SC2086 # options
    gc 0 $words
    for name in $odd; do
      out_has "^kept .*$name: not a file"
    done
    is "$(grep -c 'removes it' "$work/out")" 0 "$how, gc $words: nothing is promised of it"
  done
  for name in $odd; do
    rm -r "${runs:?}/$name" || ok "$how $name is still there" false
  done
done
"$wavetap" runs >/dev/null
gc 0
out_has "empty journals of 2 runs, left by readers"
# A daemon that is killed leaves what it has not checkpointed in a journal.
sqlite3 "$runs/19700111-000000-00001111.db" ".filectrl persist_wal 1" "UPDATE meta SET value = 'told' WHERE key = 'name'" >/dev/null
ok "a journal is left" test -s "$runs/19700111-000000-00001111.db-wal"
gc 0
out_has "its journal was taken into the run"
is "$(ls "$runs" | grep -c -e wal -e shm | tr -d ' ')|$(sqlite3 "$runs/19700111-000000-00001111.db" "SELECT value FROM meta WHERE key = 'name'")" "1|told" \
  "and its content is in the run"

# ---- places that can't be changed
if [ "$(id -u)" != 0 ]; then
  chmod 500 "$runs"
  gc 1 --keep 0
  chmod 700 "$runs"
elif unshare -m true 2>/dev/null; then
  run_at 13 full
  unshare -m sh -c "mount --bind '$runs' '$runs' && mount -o remount,ro,bind '$runs' && '$wavetap' gc --keep 1" >"$work/out" 2>"$work/err"
  is "$?" 1 "read-only: exit 1"
  out_has "NOT removed .*Read-only file system"
  ok "nothing went" test -e "$runs/19700111-000000-00001111.db"
fi
mv "$runs" "$work/moved"
ln -s "$work/moved" "$runs"
gc 1 --keep 0
out_has "runs: a symbolic link: not followed"
rm "$runs"
mv "$work/moved" "$runs"

# ---- a run whose process went down with the machine is not live for ever
rm -f "$runs"/*
run_at 11 full
run_at 12 full
run_at 13 full
sqlite3 "$runs/19700111-000000-00001111.db" "UPDATE proc SET state = 'live', hostname = '$(uname -n)', boot_id = 'another-boot'"
sqlite3 "$runs/19700112-000000-00001212.db" "UPDATE proc SET state = 'live', hostname = 'elsewhere'"
gc 0 --keep 1
is "$(ls "$runs"/*.db | tr '\n' ' ')" "$runs/19700112-000000-00001212.db $runs/19700113-000000-00001313.db " \
  "after a reboot it may go; of another host nothing is known, so it stays"

# ---- usage
for limit in 3x -1 1.5 30m '' '1,,2' GiB 1e3; do
  gc 2 --keep "$limit"
done
gc 0 --keep 1.5GiB,30d,100 -n
gc 2 extra

# ---- WAVETAP_KEEP: the daemon applies it when a run ends
rm -f "$runs"/*
for day in 11 12 13; do run_at $day full; done
echo x >"$runs/other.db"
WAVETAP_KEEP=2 WAVETAP_RUN=kept tap "$app" --launches 100 >/dev/null
settle
is "$(ls "$runs"/*.db | grep -c 1970)|$(ls "$runs"/*.db | grep -vc -e 1970 -e other)" "1|1" \
  "two runs are left: the one that ended, and the newest before it"
ok "foreign files stay" test -e "$runs/other.db"
ok "the log says which" grep -q "WAVETAP_KEEP: removed .*19700111" "$data/wavetapd.log"
WAVETAP_KEEP=many WAVETAP_RUN=nonsense tap "$app" --launches 100 >/dev/null
settle
is "$(ls "$runs"/*.db | wc -l)" 4 "a setting that makes no sense removes nothing"
ok "and is logged" grep -q 'WAVETAP_KEEP: "many" is no number' "$data/wavetapd.log"

# run --keep: also where a daemon without that setting runs already.
rm -f "$runs"/*
for day in 11 12 13; do run_at $day full; done
LD_PRELOAD=$library WAVETAP_RUN=other "$app" --launches 100000 --rate 100 >/dev/null &
other=$!
tries=0
while [ "$tries" -lt 300 ] && ! "$wavetap" status 2>/dev/null | grep -q "1 process"; do
  tries=$((tries + 1))
  sleep 0.1
done
"$wavetap" run -q --keep 3 -- "$app" --launches 100 >/dev/null 2>"$work/err"
is "$?|$(cat "$work/err")" "0|" "run --keep 3"
is "$(ls "$runs"/*.db | grep -c 1970)|$(ls "$runs"/*.db | grep -vc 1970)" "1|2" "three runs are left, the live one is of them"
"$wavetap" run -q --keep 3x -- true >"$work/out" 2>&1
is "$?" 2 "run --keep 3x: usage"
kill "$other"
wait "$other" 2>/dev/null
settle
done_testing

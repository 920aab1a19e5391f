#!/bin/sh
# `wavetap baseline` whoever was killed in the middle, and whatever is in the place of a baseline: nothing that is not a copy
# of a run is removed, a baseline that had its name is found again, what is being filled is left.
. "$top_srcdir/tests/e2e/lib.sh"

for i in 1 2; do
  "$wavetap" import -o "$work/$i.db" "$top_srcdir/tests/data/sim-demo.wtrec" >/dev/null
  sqlite3 -batch "$work/$i.db" "UPDATE meta SET value = 'ffff000$i' WHERE key = 'run_id'"
done
store=$data/baselines
baseline() { # ARGUMENT...: its status, and the ids in all baselines: "0 main ffff0001"
  "$wavetap" baseline "$@" >"$work/out" 2>"$work/err"
  code=$?
  echo "$code $("$wavetap" baseline list --json | sed -n 's/.*"baseline": "\(.*\)",/\1/p; s/.*"ids": "\(.*\)".*/\1/p' | tr '\n' ' ' | sed 's/ $//')"
}
hidden() { find "$store" -mindepth 1 -maxdepth 1 -name '.*' | wc -l | tr -d ' '; }

is "$(baseline set main "$work/1.db")" "0 main ffff0001" "a new one"
is "$(baseline set main "$work/2.db" "$work/1.db")" "0 main ffff0002,ffff0001" "replaced"
is "$(baseline set main "$work/nosuch.db")" "1 main ffff0002,ffff0001" "one that can't be made replaces nothing"
is "$(hidden)" 0 "and nothing hidden is left"

# ---- killed: before it had its name, with the old one aside, with the old one not yet removed
mkdir "$store/.main.4242" "$store/.kept.4243~" "$store/.main.Ab12Cd~"
for folder in "$store/.main.4242" "$store/.kept.4243~" "$store/.main.Ab12Cd~"; do
  cp "$work/1.db" "$folder/001-ffff0001.db"
  : >"$folder/001-ffff0001.db-journal"
done
# One that is being filled is locked.
mkdir "$store/.busy.Xyzxyz"
exec 9<"$store/.busy.Xyzxyz"
if command -v flock >/dev/null 2>&1 && flock 9; then busy=1; else busy=0; fi
is "$(baseline set main "$work/1.db")" "0 kept ffff0001 main ffff0001" "what had its name gets it back"
is "$(hidden)" $busy "the rest is removed, but for one that is being filled"
exec 9<&-
is "$(baseline rm kept)" "0 main ffff0001" "removed"
is "$(hidden)" 0 "and what nobody fills any more"

# ---- not what it should be
mkdir "$work/precious"
cp "$work/1.db" "$work/precious/001-precious.db"
ln -s "$work/precious" "$store/link"
baseline rm link >/dev/null
is "$? $(grep -c 'left as it is' "$work/err") $(ls "$work/precious")" "0 1 001-precious.db" "rm follows no link"
baseline set link "$work/2.db" >/dev/null
is "$(grep -c 'left as it is' "$work/err") $(ls "$work/precious")" "1 001-precious.db" "nor does set"
rm "$store/link"
: >"$store/main/notes.txt"
is "$(baseline set main "$work/2.db")|$(grep -c 'left as it is' "$work/err")" "1 main ffff0001|1" "files of others are not replaced"
is "$(baseline rm main)|$(grep -c 'left as it is' "$work/err")" "1 main ffff0001|1" "nor removed"
rm "$store/main/notes.txt"
is "$(baseline rm main)|$(ls -A "$store")" "0 |" "all is removed"

done_testing

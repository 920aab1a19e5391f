#!/bin/sh
# Makes the pictures in doc/images: views of wavetap of real runs, recorded on H200s (tests/data). Text is what a
# terminal shows, by tmux, drawn by terminal_svg.py; the report is photographed by a headless Chromium.
#
#   scripts/screenshots.sh [BUILD-FOLDER [OUTPUT-FOLDER]]
#
# Needs a built wavetap, tmux, python3, a UTF-8 locale; Chromium for the report. Leaves nothing running.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
out=${2:-$top/doc/images}
mkdir -p "$out"
out=$(cd "$out" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wt-shots.XXXXXX")
sessions=0 socket=
cleanup() {
  [ -z "$socket" ] || tmux -L "$socket" kill-server 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
for tool in tmux python3; do
  command -v $tool >/dev/null || { echo "screenshots: needs $tool" >&2; exit 1; }
done
data=$top/tests/data
export WAVETAP_DIR="$tmp/data" WAVETAP_DAEMON="$tmp/none"
mkdir -p "$tmp/data/runs"
run() { # ID NAME RECORDING...: a run of that name
  file=$tmp/data/runs/20261129-120000-$1.db
  name=$2
  shift 2
  "$build/wavetap" import --name "$name" -o "$file" "$@" >/dev/null
}
run aaaa0001 gpt-eager "$data/h200-train-eager.wtrec"
run aaaa0002 gpt-ddp "$data/h200x2-late-ddp-rank0.wtrec" "$data/h200x2-late-ddp-rank1.wtrec"

wait_for() { # PATTERN: on the screen
  tries=0
  until tmux -L "$socket" capture-pane -p | grep -q -- "$1"; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "screenshots: \"$1\" did not come" >&2; exit 1; }
    sleep 0.1
  done
}
begin() { # COLUMNS ROWS
  [ -z "$socket" ] || tmux -L "$socket" kill-server 2>/dev/null || true
  sessions=$((sessions + 1))
  socket=wt-shots-$$-$sessions
  tmux -L "$socket" -f /dev/null new-session -d -x "$1" -y "$2" \
    "env PS1='\$ ' PATH='$build:$PATH' TERM=xterm-256color LC_ALL=C.UTF-8 LESS= sh"
  wait_for '^\$'
}
keep() { # NAME TITLE COLUMNS: what the screen shows is a picture
  tmux -L "$socket" capture-pane -e -p | sed '/END OF PICTURE/,$d' >"$tmp/screen"
  python3 "$top/scripts/terminal_svg.py" "$2" "$3" <"$tmp/screen" >"$tmp/picture"
  mv "$tmp/picture" "$out/$1.svg"
}
shot() { # NAME COLUMNS ROWS COMMAND...: a command and what it prints
  name=$1 columns=$2 rows=$3
  shift 3
  begin "$columns" "$rows"
  tmux -L "$socket" send-keys "clear; printf '\$ %s\n' '$*'; $*; echo END OF PICTURE" Enter
  wait_for '^END OF PICTURE'
  keep "$name" "$*" "$columns"
}
shot ledger 84 40 wavetap ledger -r gpt-eager
shot ranks 118 40 wavetap ranks -r gpt-ddp

# The live view: the same keys as for a run that goes on.
begin 118 30
tmux -L "$socket" send-keys "clear; wavetap top --watch -r gpt-ddp" Enter
wait_for KERNEL
sleep 1
keep watch "wavetap top --watch" 118
tmux -L "$socket" send-keys q

# The report: its beginning in the light, and what happened over time in the dark.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
photograph() { # NAME PAGE ROWS
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/browser" \
    --window-size="1180,$3" --virtual-time-budget=3000 --screenshot="$tmp/page.png" "file://$2" >/dev/null 2>&1
  python3 "$top/scripts/png_small.py" "$tmp/page.png" "$tmp/small.png"
  mv "$tmp/small.png" "$out/$1.png"
}
if [ -n "$browser" ]; then
  "$build/wavetap" export --force -o "$tmp/report.html" -r gpt-ddp
  photograph report "$tmp/report.html" 960
  python3 - "$tmp/report.html" "$tmp/time.html" <<'EOF'
import re, sys
page = open(sys.argv[1]).read()
for name in ('id="where"', 'id="findings"', 'id="ranking"', 'id="details"', 'aria-label="In short"'):
  page = re.sub("<section " + name + ".*?</section>", "", page, flags=re.S)
open(sys.argv[2], "w").write(page.replace("<html ", '<html data-theme="dark" ', 1))
EOF
  photograph report-time "$tmp/time.html" 960
else
  echo "screenshots: no Chromium: the report's pictures stay as they are" >&2
fi

for picture in "$out"/*; do
  bytes=$(wc -c <"$picture")
  [ "$bytes" -lt 150000 ] || { echo "screenshots: $picture has $bytes bytes" >&2; exit 1; }
done
ls -l "$out"

#!/bin/sh
# top --watch and status --watch on a run that goes on over the simulated GPU: rows grow, figures are those of
# `top --json` while nothing moves, the daemon goes and comes back, the run ends. Each step waits until the screen
# says what it should.
. "$top_srcdir/tests/e2e/lib.sh"
command -v tmux >/dev/null 2>&1 || skip_all "no tmux"
command -v sqlite3 >/dev/null 2>&1 || skip_all "no sqlite3"
"$wavetap" top --watch 2>&1 </dev/null | grep -q 'without ncurses' && skip_all "built without ncurses"
unset TMUX COLUMNS NO_COLOR WAVETAP_COLOR
LC_ALL=C
export LC_ALL

in_tmux() {
  tmux -S "$work/tmux" -f /dev/null "$@"
}
app=
end() {
  in_tmux kill-server 2>/dev/null
  [ -z "$app" ] || kill -9 "$app" 2>/dev/null
  cleanup
}
trap end EXIT
in_tmux new-session -d -s keep "sleep 10000" || skip_all "tmux does not start"
start() { # SESSION COMMAND
  in_tmux new-session -d -s "$1" -x 100 -y 30 "$2 2>$work/err; echo ended \$?; sleep 1000"
}
shown() { # SESSION REGEX
  tries=0
  until in_tmux capture-pane -p -t "$1" >"$work/screen" 2>/dev/null && grep -qE -- "$2" "$work/screen"; do
    tries=$((tries + 1))
    if [ "$tries" -ge 300 ]; then
      sed 's/^/# /' "$work/screen"
      return 1
    fi
    sleep 0.1
  done
}
kernels() { # as the screen has them now
  in_tmux capture-pane -p -t view | grep -oE '[0-9,]+ of [0-9,]+ kernels' | head -n 1 | sed 's/ of.*//;s/,//g'
}
grows() {
  first=$(kernels)
  tries=0
  until [ "$(kernels)" -gt "${first:-0}" ] 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || return 1
    sleep 0.1
  done
}
daemon_pid() {
  "$wavetap" status --json 2>/dev/null | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc '0-9'
}

LD_PRELOAD=$library "$top_builddir/tests/fake/app_launch" --launches 100000000 --graph 4 --rate 300 --us 20 >"$work/out" 2>&1 &
app=$!
tries=0
until [ -n "$(run_file)" ] && [ "$(sql "SELECT ifnull(sum(launches), 0) FROM config_stat" 2>/dev/null)" -gt 0 ] 2>/dev/null; do
  tries=$((tries + 1))
  [ "$tries" -lt 300 ] || break
  sleep 0.1
done

# ---- while it goes on
start view "$wavetap top --watch --interval 200ms"
ok "without -r: the run that goes on" shown view 'running  every 200.0ms'
ok "... as a whole" shown view 'whole run'
ok "... and its kernels become more" grows
start status "$wavetap status --watch --interval 200ms"
ok "status: the daemon and its process" shown status "^ *$app .*live"
in_tmux send-keys -t view w
ok "w: the last seconds" shown view 'last 10s: '
ok "... which move on" grows
in_tmux send-keys -t view w w
ok "w: the whole again" shown view 'whole run'

# ---- nothing moves: the same as top
kill -STOP "$app"
json_kernels() {
  "$wavetap" top --all --json -r "$(run_file)" 2>/dev/null >"$work/json"
  sqlite3 -batch :memory: "SELECT sum(json_extract(value, '\$.launches')) FROM json_each(readfile('$work/json'), '\$.rows')"
}
tries=0
until [ "$(json_kernels)" = "$(kernels)" ] && [ "$(json_kernels)" = "$(kernels)" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || break
  sleep 0.2
done
in_tmux capture-pane -p -t view | sed -n '/KERNEL *$/,/ all [0-9]/p' | sed '1d;$d;s/^> /  /;s/,//g' | awk '{ print $NF, $7 }' >"$work/got"
sqlite3 -batch :memory: "SELECT json_extract(value, '\$.kernel') || ' ' || json_extract(value, '\$.launches') FROM json_each(readfile('$work/json'), '\$.rows')" >"$work/want"
ok "rows by idle SM-time are there" test -s "$work/want"
is "$(cat "$work/got")" "$(cat "$work/want")" "kernels and their launches as in top --json"

# ---- the daemon goes, and comes back
kill -9 "$(daemon_pid)"
ok "the daemon is gone: told" shown view 'wavetapd is gone'
ok "... and by status" shown status 'wavetapd is not running'
ok "... what was read stays" shown view '^> *1 '
"$top_builddir/wavetapd" --spawned </dev/null >/dev/null 2>&1 &
kill -CONT "$app"
ok "it is back: the run goes on" shown view 'running  every'
ok "... and its kernels become more" grows

# ---- the run ends
kill -9 "$app"
wait "$app" 2>/dev/null
app=
ok "the run ends: told" shown view 'finished'
ok "... and by status, in the end" shown status 'wavetapd is not running'
in_tmux send-keys -t view Enter
ok "Enter: the kernel" shown view 'wavetap show id:'
in_tmux send-keys -t view q q
ok "q twice: the end" shown view '^ended 0'
in_tmux send-keys -t status q
ok "... and of status" shown status '^ended 0'
is "$(cat "$work/err")" "" "nothing on stderr"
settle
done_testing

#!/bin/sh
# `wavetap export --format openmetrics`: the text is what OpenMetrics 1.0 allows, by a check of its lines made
# here, and its figures are those of --json of the same run, in seconds.
. "$top_srcdir/tests/e2e/lib.sh"

make_run=$top_builddir/tests/unit/make_run

# A line for each thing that is wrong: head and samples of a family together, once, in their order; names with the
# ending of the type and the unit; labels quoted and escaped; numbers; no sample twice; the end.
check_syntax() { # FILE
  LC_ALL=C awk '
    function bad(what) { print "line " NR ": " what ": " $0 }
    ended { bad("behind the end") }
    /^# EOF$/ { ended = 1; next }
    /^# (TYPE|UNIT|HELP) [a-z_:][a-z0-9_:]* / {
      if ($2 == "TYPE") {
        if ($3 in type) bad("family told twice")
        if ($4 !~ /^(gauge|counter|info)$/ || NF != 4) bad("type")
        name = $3; type[name] = $4; unit = ""; state = 1; next
      }
      if ($3 != name) bad("of another family")
      if ($2 == "UNIT") {
        unit = $4
        if (state != 1 || unit !~ /^(seconds|bytes|ratio)$/ || NF != 4) bad("unit")
        if (name !~ ("_" unit "$")) bad("name without its unit")
        state = 2
      } else {
        if (state > 2 || NF < 4 || /\\/ || /"/) bad("help")
        state = 3
      }
      next
    }
    {
      ending = type[name] == "counter" ? "_total" : type[name] == "info" ? "_info" : ""
      if (state < 3) bad("sample without a head")
      state = 4
      # as: name{a="x",b="y"} 1.5
      line = $0
      if (!match(line, /^[a-z_:][a-z0-9_:]*/)) { bad("no name"); next }
      if (substr(line, 1, RLENGTH) != name ending) bad("name is not of its family")
      line = substr(line, RLENGTH + 1)
      if (substr(line, 1, 1) == "{") {
        mark = "{"
        while (substr(line, 1, 1) == mark) {
          if (!match(line, /^.[a-z_][a-z0-9_]*="([^"\\]|\\["\\n])*"/)) { bad("label"); next }
          line = substr(line, RLENGTH + 1); mark = ","
        }
        if (substr(line, 1, 1) != "}") bad("labels do not end")
        line = substr(line, 2)
      }
      if (line !~ /^ -?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?$/) bad("value")
      if (type[name] == "counter" && line ~ /^ -/) bad("a counter below 0")
      key = substr($0, 1, length($0) - length(line))
      if (key in seen) bad("twice")
      seen[key] = 1; samples++
    }
    END { if (!ended) print "no end"; if (samples < 5) print "few samples" }' "$1"
}
metrics() { # RUN OPTION...
  "$wavetap" export --format openmetrics -o - -r "$@" >"$work/om" 2>"$work/err"
  is "$?|$(cat "$work/err")|$(check_syntax "$work/om")" "0||" "export -r ${1##*/} $(shift; echo "$*"): OpenMetrics"
}
# Samples of a family without "run", as sorted lines "labels value".
samples() { # FAMILY_total
  sed -n "s/^$1{run=\"[^\"]*\",*\(.*\)} \(.*\)\$/\1 \2/p" "$work/om" | LC_ALL=C sort
}
json() { # COMMAND... ; then: ask SQL over the column j
  "$wavetap" "$@" >"$work/json"
}
ask() {
  sqlite3 -batch -separator ' ' :memory: "WITH f(j) AS (SELECT CAST(readfile('$work/json') AS TEXT)) $1" | LC_ALL=C sort
}
# ns as seconds with nine digits
s="printf('%d.%09d', v / 1000000000, v % 1000000000)"

check_figures() { # RUN OPTION...
  json ledger -r "$@" --json --all
  is "$(samples wavetap_device_sm_seconds_total | sed 's/,evidence="[a-z]*"//')" \
    "$(ask "SELECT 'device=\"' || d || '\",state=\"' || substr(k, 1, length(k) - 6) || '\"', $s FROM (SELECT d.value ->> 'device_id' AS d, c.key AS k,
      c.value AS v FROM f, json_each(j, '$.devices') d, json_each(d.value) c WHERE c.key IN ('active_sm_ns', 'underfill_sm_ns', 'wave_sm_ns',
      'straggle_sm_ns', 'ramp_sm_ns', 'unjudged_sm_ns', 'comm_sm_ns') AND c.value NOTNULL)")" "SM-time of devices by state"
  is "$(samples wavetap_device_gap_sm_seconds_total)" \
    "$(ask "SELECT 'device=\"' || d || '\",cause=\"' || k || '\"', $s FROM (SELECT d.value ->> 'device_id' AS d, c.key AS k, c.value AS v
      FROM f, json_each(j, '$.devices') d, json_each(d.value, '$.gap_by_cause_sm_ns') c)")" "gaps by cause"
  is "$(samples wavetap_device_kernel_running_seconds_total)" \
    "$(ask "SELECT 'device=\"' || (value ->> 'device_id') || '\"', $s FROM (SELECT value, value ->> 'busy_ns' AS v FROM f, json_each(j, '$.devices'))")" \
    "time with a kernel"
  json top -r "$@" --json --all --by idle
  is "$(samples wavetap_kernel_seconds_total | sed 's/.*,kernel_id/kernel_id/' | LC_ALL=C sort)" \
    "$(ask "SELECT 'kernel_id=\"' || (value ->> 'kernel_id') || '\"', $s FROM (SELECT value, value ->> 'time_ns' AS v FROM f, json_each(j, '$.rows'))")" \
    "time of kernels"
  for state in underfill wave unjudged comm active; do
    is "$(samples wavetap_kernel_sm_seconds_total | sed -n "s/.*,kernel_id\(.*\),state=\"$state\",evidence=\"[a-z]*\"/kernel_id\1/p" | LC_ALL=C sort)" \
      "$(ask "SELECT 'kernel_id=\"' || (value ->> 'kernel_id') || '\"', $s FROM (SELECT value, value ->> '${state}_sm_ns' AS v FROM f,
        json_each(j, '$.rows')) WHERE v NOTNULL")" "kernels: $state"
  done
  is "$(samples wavetap_loss_total | sed 's/kind="\(.*\)"/\1/' | grep -v ' 0$')" \
    "$(ask "SELECT key, value FROM f, json_each(j, '$.loss') WHERE value > 0 AND key IN ($(samples wavetap_loss_total | sed "s/kind=\"\(.*\)\".*/'\1'/" | paste -sd,))")" "losses"
}

ddp=$work/ddp.db
"$wavetap" import -o "$ddp" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" >/dev/null 2>&1
metrics "$ddp" -n 10000
check_figures "$ddp"
json top -r "$ddp" --json --all --group rank
is "$(samples wavetap_rank_kernel_seconds_total)" \
  "$(ask "SELECT 'rank=\"' || (value ->> 'rank') || '\"', $s FROM (SELECT value, value ->> 'time_ns' AS v FROM f, json_each(j, '$.rows'))")" "time of ranks"
all=$(samples wavetap_kernel_seconds_total | awk '{ t += $NF } END { printf "%.6f", t }')
kernels=$(samples wavetap_kernel_seconds_total | wc -l | tr -d ' ')
metrics "$ddp" -n 3
is "$(samples wavetap_kernel_seconds_total | awk '{ t += $NF } END { printf "%.6f", t }') $(samples wavetap_kernel_seconds_total | grep -c 'all others')" \
  "$all 1" "three kernels and all others: the same sum"
is "$(sed -n 's/^wavetap_kernels_summed{.*} //p' "$work/om")" $((kernels - 3)) "and it says how many are in one"
metrics "$ddp" --rank 1 --from -1s --to -500ms
is "$(samples wavetap_rank_launches_total | wc -l | tr -d ' ')|$(sed -n 's/^wavetap_window_seconds{.*} //p' "$work/om")" "1|0.500000000" "a part of it"

# Names that need escapes, every loss, measurements, samples.
odd=$work/odd.db
"$make_run" "$odd" lossy odd 1
sqlite3 -batch "$odd" "UPDATE kernel SET name = 'a\"b\\c' || char(10) || 'd{,}' || CAST(x'ff' AS TEXT) WHERE kernel_id = 2;
  UPDATE meta SET value = 'q\"\\' WHERE key = 'hostname'"
sqlite3 -batch "$odd" <"$top_srcdir/tests/unit/measured.sql" 2>"$work/err"
metrics "$odd"
check_figures "$odd"
ok "escaped" grep -qF 'kernel="a\"b\\c\nd{,}' "$work/om"
ok "host" grep -qF 'hostname="q\"\\"' "$work/om"
sampled=$work/sampled.db
"$make_run" "$sampled" full sampled 1
sqlite3 -batch "$sampled" <"$top_srcdir/tests/unit/measured.sql"
"$make_run" samples "$sampled"
metrics "$sampled"
check_figures "$sampled"
json ledger -r "$sampled" --json --all
is "$(sed -n 's/^wavetap_device_sm_active_ratio{.*} //p' "$work/om")" "$(ask "SELECT printf('%.9g', j ->> '$.devices[0].sm_activity.sampled') FROM f")" \
  "SMs active where sampled"

# A run without kernels has its losses; an empty one has nothing.
"$make_run" "$work/hooks.db" hooks hooks 1
metrics "$work/hooks.db"
is "$(sed -n 's/^wavetap_launches_attempted_total{.*} //p' "$work/om")" 5 "hooks only: launches"
"$make_run" "$work/none.db" empty none 1
for command in "3 -r $work/none.db" "2 -r $odd --gzip" "2 -r $odd --limit 10001" "2 -r $odd --format csv --limit 5"; do
  # shellcheck disable=SC2086 # words
  "$wavetap" export -o "$work/none.txt" --format openmetrics ${command#* } >"$work/out" 2>"$work/err"
  is "$?" "${command%% *}" "export ${command#* }"
  ok "no file" [ ! -e "$work/none.txt" ]
done
ok "/dev/full is told" sh -c "! '$wavetap' export --format openmetrics -r '$odd' -o - >/dev/full 2>'$work/err' && grep -q 'No space left' '$work/err'"
done_testing

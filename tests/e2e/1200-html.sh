#!/bin/sh
# `wavetap export --format html`: what it writes is well-formed, needs nothing from elsewhere, and every figure of
# it is that of the command's --json; over recorded, sampled and odd runs, selections, hostile names, many kernels.
# What its script does: 1210-html-browser.sh. Argument lists are split on purpose.
# shellcheck disable=SC2086,SC2016
. "$top_srcdir/tests/e2e/lib.sh"

checker=$top_builddir/tests/unit/html_check
make_run=$top_builddir/tests/unit/make_run
html=$work/report.html cells=$work/cells json=$work/json
mkdir -p "$data/runs"

report() { # CODE WHAT ARGUMENT...
  want=$1 what=$2
  shift 2
  rm -f "$html"
  "$wavetap" export --format html -o "$html" "$@" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  is "$code $(head -c 300 "$work/out")" "$want " "$what: exit code"
  [ "$code" = 0 ] || return 0
  "$checker" --cells "$html" >"$cells"
  is "$? $(grep -v "$(printf '\t')" "$cells" | head -5)" "0 " "$what: well-formed, alone, accessible"
}
ask() { # COMMAND ARGUMENT...: its JSON
  "$wavetap" "$@" --json >"$json" 2>"$work/err" </dev/null
}
query() { # SQL over $json
  sqlite3 -batch :memory: "WITH j(t) AS (SELECT CAST(readfile('$json') AS TEXT)) $1"
}
figures() { # TABLE KEY...: of the page, "row key value"
  table=$1
  shift
  awk -F '\t' -v t="$table" -v keys=" $* " '$1 == t && index(keys, " " $3 " ") { print $2, $3, $4 }' "$cells" | sort
}
list() { # WORD...: for SQL
  echo "'$*'" | sed "s/ /', '/g"
}
# In the page's table under the keys: what `path` of the JSON has in its members, by the row's name; what is null is in
# neither. LIMIT: only the first of them.
same() { # TABLE PATH ROW ID-MEMBER KEY...
  table=$1 path=$2 row=$3 id=$4
  shift 4
  is "$(figures "$table" "$@" | grep "^$row=")" "$(query "SELECT '$row=' || (r.value ->> '$id') || ' ' || m.key || ' ' || m.atom
    FROM j, json_each(t, '$path') r, json_each(r.value) m WHERE m.key IN ($(list "$@")) AND m.atom IS NOT NULL
    AND r.key < ${LIMIT:-1000000}" | sort)" "$table: $*"
}
# Where doubles are among them: to nine digits.
rounded() {
  awk '{ printf "%s %s %.9g\n", $1, $2, $3 }'
}

# All that a page shares with --json, for the same selection.
compare() { # RUN ARGUMENT...
  keys="idle_sm_ns underfill_sm_ns wave_sm_ns wave_max_sm_ns time_ns launches"
  ask top -r "$@"
  [ "$(query "SELECT t ->> '\$.total.straggle_sm_ns' IS NOT NULL FROM j")" = 0 ] || keys="$keys straggle_sm_ns ramp_sm_ns"
  same kernels '$.rows' kernel kernel_id $keys
  is "$(figures kernels $keys | grep '^id=kernels-total')" "$(query "SELECT 'id=kernels-total ' || m.key || ' ' || m.atom
    FROM j, json_each(t, '\$.total') m WHERE m.key IN ($(list $keys)) AND m.atom IS NOT NULL" | sort)" "kernels: all of them"
}
devices() { # RUN ARGUMENT...
  ask ledger -r "$@"
  for device in $(query "SELECT value ->> 'device_id' FROM j, json_each(t, '\$.devices')"); do
    at="(SELECT value FROM j, json_each(t, '\$.devices') WHERE value ->> 'device_id' = $device)"
    is "$(figures "ledger-$device" sm_ns | grep -v '=gaps ')" "$(query "SELECT 'line=' || key || ' sm_ns ' || atom FROM json_each($at) WHERE
      atom IS NOT NULL AND key IN ('active_sm_ns', 'underfill_sm_ns', 'wave_sm_ns', 'straggle_sm_ns', 'ramp_sm_ns',
      'unjudged_sm_ns', 'comm_sm_ns', 'residual_sm_ns', 'total_sm_ns') OR key = 'active_comm_sm_ns' AND atom > 0 UNION ALL
      SELECT 'line=' || key || ' sm_ns ' || atom FROM json_each($at, '\$.gap_by_cause_sm_ns') WHERE atom > 0" | sort)" "ledger of device $device"
  done
  is "$(sed -n 's/.*id="busy-share" data-v="\([0-9.]*\)".*id="active-share" data-v="\([0-9.]*\)".*/\1 \2/p' "$html")" \
    "$(query "SELECT printf('%.9f %.9f', 1.0 * sum(value ->> 'busy_ns') / sum(value ->> 'wall_ns'),
    1.0 * sum(value ->> 'active_sm_ns') / sum(value ->> 'total_sm_ns')) FROM j, json_each(t, '\$.devices')")" "headline"
  is "$(figures loss count)" "$(query "SELECT 'line=' || key || ' count ' || atom FROM j, json_each(t, '\$.loss')" | sort)" "losses"
  ask gaps -r "$@"
  is "$(figures gaps gap_sm_ns)" "$(query "SELECT 'line=' || (value ->> 'cause') || ' gap_sm_ns ' || (value ->> 'gap_sm_ns') FROM j,
    json_each(t, '\$.rows') WHERE value ->> 'gap_sm_ns' > 0" | sort)" "gaps by cause"
  ask gaps --by kernel --limit 30 -r "$@"
  keys="gap_sm_ns gaps launches main_cause_sm_ns"
  is "$(figures gap-kernels $keys)" "$(query "SELECT 'kernel=' || (r.value ->> 'kernel_id') || ' ' || m.key || ' ' || m.atom
    FROM j, json_each(t, '\$.rows') r, json_each(r.value) m WHERE m.key IN ($(list $keys)) AND r.value ->> 'kernel_id' IS NOT NULL
    AND r.value ->> 'gap_sm_ns' > 0" | sort)" "gaps before kernels"
  ask diagnose -r "$@"
  is "$(sed -n 's/.*data-finding="\([a-z-]*\)" data-v="\([0-9.]*\)".*/\1 \2/p' "$html")" \
    "$(query "SELECT (value ->> 'kind') || ' ' || printf('%.3f', value ->> 'stake_max_sm_us') FROM j, json_each(t, '\$.findings')")" "findings"
}
# Its own JSON against `timeline` with the same stretches, and the table's.
timeline() { # RUN ARGUMENT...
  sed -n 's/.*id="timeline-data">\(.*\)/\1/p' "$html" >"$work/buckets"
  is "$(sqlite3 -batch :memory: "SELECT json_valid(CAST(readfile('$work/buckets') AS TEXT))")" 1 "timeline: its data is JSON"
  ask timeline --width "$(sqlite3 -batch :memory: "SELECT CAST(readfile('$work/buckets') AS TEXT) ->> '$.bucket_ns'")ns" -r "$@"
  is "$(sqlite3 -batch :memory: "
    CREATE TABLE devices AS SELECT value ->> 'device_id' AS device, value -> 'terms' AS terms
      FROM json_each(CAST(readfile('$work/buckets') AS TEXT), '\$.devices');
    CREATE TABLE terms AS SELECT device, (value ->> 'name') || '_sm_ns' AS name, value -> 'sm_ns' AS list FROM devices, json_each(terms);
    CREATE TABLE page AS SELECT device, name, key AS at, value AS sm_ns FROM terms, json_each(list);
    CREATE TABLE told (device, at, name, sm_ns, PRIMARY KEY (device, at, name));
    CREATE TABLE rows AS SELECT value FROM json_each(CAST(readfile('$json') AS TEXT), '\$.rows');
    CREATE TABLE numbered AS SELECT value ->> 'device_id' AS device, row_number() OVER (PARTITION BY value ->> 'device_id'
      ORDER BY value ->> 'start_ns') - 1 AS at, value FROM rows;
    INSERT INTO told SELECT n.device, n.at, m.key, m.atom FROM numbered n, json_each(n.value) m WHERE m.key LIKE '%\_sm\_ns' ESCAPE '\';
    SELECT count(*) > 0, count(told.sm_ns) = sum(page.name NOT IN ('straggle_sm_ns', 'ramp_sm_ns')), total(page.sm_ns <> told.sm_ns)
      FROM page LEFT JOIN told USING (device, at, name)")" "1|1|0.0" "timeline: each stretch as timeline --width has it"
}
steps() { # RUN
  ask steps --slowest 20 -r "$1"
  same steps-slowest '$.rows' step step time_ns busy_ns launches more_ns more_busy_ns more_gap_ns
  ask steps -r "$1"
  is "$(figures steady value | rounded)" "$(query "SELECT 'line=' || key || ' value ' || atom FROM j, json_each(t, '\$.steps.steady')
    WHERE key NOT IN ('first_step', 'last_step', 'start_ns', 'end_ns')" | sort | rounded)" "steady steps"
}
details() { # RUN ARGUMENT...: of the first kernels that have a part of their own
  for id in $(sed -n 's/.*<h3 id="kernel-\([0-9]*\)">.*/\1/p' "$html" | head -n 2); do
    ask show "id:$id" -r "$@"
    LIMIT=8
    same "configs-$id" '$.kernel.configs' config config_id time_ns launches underfill_sm_ns wave_sm_ns straggle_sm_ns ramp_sm_ns
    LIMIT=
  done
}

# ---- recorded on an H200
eager=$work/eager.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$eager"
report 0 "eager training" -r "$eager"
compare "$eager"
devices "$eager"
timeline "$eager"
steps "$eager"
details "$eager"
ok "its limit is told" grep -q 'The first 8 of the table above' "$html"
report 0 "the whole run" -r "$eager" --all
compare "$eager" --all
report 0 "three steps" -r "$eager" --steps 3:5
compare "$eager" --steps 3:5
devices "$eager" --steps 3:5
report 0 "some kernels" -r "$eager" --kernel elementwise
compare "$eager" --kernel elementwise
details "$eager" --kernel elementwise

# ---- two ranks and devices
"$wavetap" import -o "$work/ddp.db" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" \
  "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" >"$work/out" 2>&1
report 0 "two devices" -r "$work/ddp.db"
compare "$work/ddp.db"
devices "$work/ddp.db"
timeline "$work/ddp.db"
report 0 "one rank" -r "$work/ddp.db" --rank 1
compare "$work/ddp.db" --rank 1

# ---- measured, sampled, nothing
"$make_run" "$work/measured.db" full measured 1000000000000
sqlite3 -batch "$work/measured.db" <"$top_srcdir/tests/unit/measured.sql"
report 0 "measured" -r "$work/measured.db"
compare "$work/measured.db"
devices "$work/measured.db"
details "$work/measured.db"
ask sms -r "$work/measured.db"
is "$(figures samples-1 value | rounded)" "$(query "SELECT 'line=' || key || ' value ' || atom FROM j, json_each(t, '\$.devices[0].samples')
  WHERE atom IS NOT NULL AND key IN ('active_avg', 'active_min', 'active_max', 'warps_per_sm', 'tensor_share', 'dram_bytes_per_ns',
  'sm_clock_mhz', 'sampled_ns')" | sort | rounded)" "samples: means"
is "$(figures shares-1 time_ns | rounded)" "$(query "SELECT 'row=' || b.key || ' time_ns ' || total(b.value) FROM j,
  json_each(t, '\$.devices[0].samples.buckets') a, json_each(a.value, '\$.by_share_ns') b GROUP BY b.key" | sort | rounded)" \
  "SM activity: time by share of the SMs"
ok "a tail profile is drawn" grep -q 'class="profile"' "$html"
cp "$work/measured.db" "$work/samples.db"
sqlite3 -batch "$work/samples.db" "DELETE FROM config_stat; DELETE FROM kernel_exec; DELETE FROM config; DELETE FROM kernel;
  DELETE FROM launch_call; DELETE FROM proc; DELETE FROM measured; DELETE FROM measured_profile; DELETE FROM profile_launch; DELETE FROM fold"
report 0 "samples alone" -r "$work/samples.db"
ok "says so" grep -q 'no program was recorded' "$html"
for kind in pair ranks lossy short; do
  "$make_run" "$work/$kind.db" $kind "job-$kind" 1000000000000
  report 0 "made up: $kind" -r "$work/$kind.db"
  compare "$work/$kind.db"
done
for kind in hooks empty; do
  "$make_run" "$work/$kind.db" $kind "job-$kind" 1000000000000
  report 3 "made up: $kind" -r "$work/$kind.db"
  ok "$kind: nothing is left" [ ! -e "$html" ]
done
report 0 "ranks that share a device" -r "$work/ranks.db" --rank 0
compare "$work/ranks.db" --rank 0

# ---- more kernels than it shows, with names of 2,000 characters
cp "$work/ddp.db" "$work/many.db"
numbers='WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)'
columns() { # TABLE WITHOUT: the other columns
  sqlite3 -batch "$work/many.db" "SELECT group_concat(name) FROM pragma_table_info('$1') WHERE name NOT IN ($2)"
}
config=$(columns config "'config_id', 'kernel_id'") stat=$(columns config_stat "'config_id'")
sqlite3 -batch "$work/many.db" "$numbers INSERT INTO kernel SELECT 1000 + i, i || hex(zeroblob(1000)) FROM n;
  $numbers INSERT INTO config (config_id, kernel_id, $config) SELECT 101000 + i, 1000 + i, $config FROM n, (SELECT * FROM config LIMIT 1);
  $numbers INSERT INTO config_stat (config_id, $stat) SELECT 101000 + i, $stat FROM n, (SELECT * FROM config_stat LIMIT 1)"
report 0 "many kernels" -r "$work/many.db" --all
ask top -r "$work/many.db" --all
rows=$(query "SELECT json_array_length(t, '\$.rows') FROM j")
ok "many: they are many ($rows)" [ "$rows" -gt 500 ]
ok "many: its limit is told" grep -q "The top 200 of $rows kernels; the rest is one row" "$html"
is "$(figures kernels launches | grep -c '^kernel=')" 200 "many: rows"
is "$(figures kernels launches | sed -n 's/^id=kernels-rest [a-z_]* //p')" "$(query "SELECT sum(value ->> 'launches') FROM j, json_each(t, '\$.rows') WHERE key >= 200")" "many: launches of the rest"
is "$(figures kernels idle_sm_ns | sed -n 's/^id=kernels-rest [a-z_]* //p')" "$(query "SELECT sum(value ->> 'idle_sm_ns') FROM j, json_each(t, '\$.rows') WHERE key >= 200")" "many: idle of the rest"
ok "many: under 2 MB ($(wc -c <"$html") bytes)" [ "$(wc -c <"$html")" -lt 2000000 ]

# ---- the file and its name
"$make_run" "$work/full.db" full "job-full" 1000000000000
"$wavetap" export -r "$work/full.db" -o - --format html >"$work/stdout.html" 2>"$work/err"
is "$? $(wc -c <"$work/err")" "0 0" "to stdout"
"$checker" "$work/stdout.html" >"$work/out"
is "$? $(cat "$work/out")" "0 " "well-formed there, too"
"$wavetap" export -r "$work/full.db" -o "$work/by-name.html" >"$work/out" 2>&1
is "$?" 0 "by the name of the file"
"$wavetap" export -r "$work/full.db" -o "$work/by-name.html" >"$work/out" 2>&1
is "$?" 1 "replaces nothing unasked"
if [ -c /dev/full ]; then
  "$wavetap" export -r "$work/full.db" -o - --format html >/dev/full 2>"$work/err"
  is "$?" 1 "a full disk"
fi

# ---- others' judgement of the page, and of the policy's hashes
if command -v python3 >/dev/null 2>&1; then
  python3 - "$work/stdout.html" <<'END' >"$work/out" 2>&1
import base64, hashlib, html.parser, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
class Parser(html.parser.HTMLParser):
    stack, void = [], {"meta", "br", "input"}
    def handle_starttag(self, tag, attrs):
        if tag not in self.void: self.stack.append(tag)
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
parser = Parser()
parser.feed(text)
parser.close()
assert not parser.stack
for name in ("style", "script"):
    content = re.search("<%s>(.*?)</%s>" % (name, name), text, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    assert "%s-src 'sha256-%s'" % (name, digest) in text, name
END
  is "$? $(tail -n 3 "$work/out")" "0 " "python's parser and hashes agree"
else
  ok "python's parser and hashes agree # SKIP no python3" true
fi
if command -v node >/dev/null 2>&1; then
  node --check "$top_srcdir/cli/html/report.js" >"$work/out" 2>&1
  is "$? $(tail -n 3 "$work/out")" "0 " "node reads the script"
else
  ok "node reads the script # SKIP no node" true
fi
done_testing

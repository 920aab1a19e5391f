#!/bin/sh
# The JSON of every command against its schema in doc/schema, over recorded, simulated and odd runs; and the
# schemas against the outputs: a member that no run has is named here. Where Python has jsonschema, it has to agree.
# Argument lists are split on purpose.
# shellcheck disable=SC2016,SC2086,SC2317
. "$top_srcdir/tests/e2e/lib.sh"

checker=$top_builddir/tests/unit/json_schema
schemas=$top_srcdir/doc/schema
outputs=$work/json
mkdir -p "$outputs" "$data/runs"

# ---- the checker itself, on documents that are right and wrong by hand
cat >"$work/small.schema.json" <<'END'
{ "$defs": { "count": { "type": "integer", "minimum": 0 } }, "type": "object", "required": ["a"],
  "additionalProperties": false,
  "properties": { "a": { "$ref": "#/$defs/count" }, "b": { "enum": ["x", null] }, "c": { "const": [1, {"k": 2}] },
    "d": { "type": ["string", "null"] }, "e": { "type": "array", "items": { "type": "number" } },
    "f": { "anyOf": [{ "type": "null" }, { "type": "boolean" }] },
    "g": { "oneOf": [{ "type": "integer" }, { "type": "number", "minimum": 5 }] },
    "h": { "$ref": "other.schema.json#/$defs/word" } } }
END
echo '{ "$defs": { "word": { "type": "string" } } }' >"$work/other.schema.json"
judge() { # CODE TEXT
  printf '%s' "$2" >"$work/text"
  "$checker" "$work/small.schema.json" "$work/text" >"$work/out" 2>"$work/err"
  is "$?" "$1" "checker: $2"
}
for text in '{"a":0}' '{"a":9223372036854775807,"b":"x"}' '{"a":1,"b":null,"c":[1,{"k":2}],"d":null}' '{"a":1,"e":[]}' \
  '{"a":1,"e":[1,-2.5e3],"f":true}' '{"a":1,"g":4}' '{"a":1,"g":5.5,"h":"\u00e9\n"}' ' { "a" : 1 } '; do
  judge 0 "$text"
done
for text in '{}' '[]' '{"a":-1}' '{"a":1.0}' '{"a":9223372036854775808}' '{"a":"1"}' '{"a":1,"z":1}' '{"a":1,"b":"y"}' \
  '{"a":1,"c":[1,{"k":3}]}' '{"a":1,"c":[1]}' '{"a":1,"d":1}' '{"a":1,"e":["1"]}' '{"a":1,"f":0}' '{"a":1,"g":6}' \
  '{"a":1,"g":4.5}' '{"a":1,"h":1}' '{"a":1,"a":1}' '{"a":1}}' '{"a":1,}' '{"a":01}' '{"a":1' '' '{"a":nan}' \
  '{"a":1,"h":"\x"}' "{\"a\":1,\"h\":\"$(printf '\001')\"}"; do
  judge 1 "$text"
done
judge 0 '{"a":1,"b":"x"}'
is "$(cat "$work/out")" "$(printf '/c\n/d\n/e\n/f\n/g\n/h')" "checker: members that were not seen"
for schema in '{"type":"int"}' '{"pattern":"x"}' '{"properties":{}}' '{"$ref":"#/$defs/no"}' \
  '{"required":["a"],"properties":{},"additionalProperties":false}' '{"items":{"maximum":1}}' '[]'; do
  echo "$schema" >"$work/bad.schema.json"
  "$checker" "$work/bad.schema.json" "$work/text" >"$work/out" 2>"$work/err"
  is "$?" 2 "checker: refuses the schema $schema"
done

# ---- every command
count=0
valid() { # CODE COMMAND ARGUMENT...: keeps the output
  code=$1 command=$2
  shift
  count=$((count + 1))
  file=$outputs/$command.$count
  "$wavetap" "$@" >"$file" 2>"$work/err" </dev/null
  got=$?
  judged=$("$checker" "$schemas/$command.schema.json" "$file" 2>&1 >/dev/null)
  is "$got $judged" "$code " "$*"
}

make_run=$top_builddir/tests/unit/make_run
recorded=$work/recorded.db sim=$work/sim.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$recorded"
valid 0 import -o "$sim" "$top_srcdir/tests/data/sim-demo.wtrec" --json
{ cat "$top_srcdir/tests/data/sim-demo.wtrec" && printf half; } >"$work/cut.wtrec"
valid 1 import --dry-run "$work/cut.wtrec" --json
for kind in full pair ranks hooks lossy short empty; do
  "$make_run" "$work/$kind.db" "$kind" "job-$kind" 1000000000000
done
# A kernel without a usable time, one whose configuration says nothing, and a collective.
"$make_run" "$work/odd.db" full odd 1000000000000
sqlite3 -batch "$work/odd.db" "UPDATE kernel_exec SET start_ns = NULL, end_ns = NULL WHERE exec_id = 1;
  UPDATE config SET blocks_per_sm = NULL, resident_blocks = NULL, occupancy = NULL, limiter = NULL, waves = NULL,
    model_reason = 'of a test' WHERE config_id = 2;
  UPDATE kernel_exec SET wave_sm_ns = NULL, wave_max_sm_ns = NULL WHERE config_id = 2;
  UPDATE kernel SET name = 'ncclDevKernel_AllReduce' WHERE kernel_id = 1"
"$make_run" "$work/measured.db" full measured 1000000000000
sqlite3 -batch "$work/measured.db" <"$top_srcdir/tests/unit/measured.sql"
cp "$recorded" "$work/short-loop.db"
sqlite3 -batch "$work/short-loop.db" "DELETE FROM kernel_exec WHERE exec_id > (SELECT min(exec_id) + 300 FROM kernel_exec)"

# As if its first rows had been dropped.
as_dropped() { # FILE
  sqlite3 -batch "$1" "INSERT INTO dropped SELECT process_id, 1, 1, 3, 100, first_ns, first_ns + (last_ns - first_ns) / 20, 3, last_ns
    FROM proc WHERE process_id = 1"
}
cp "$sim" "$work/dropped.db"
as_dropped "$work/dropped.db"

for run in "$recorded" "$sim" "$work/dropped.db" "$work/full.db" "$work/pair.db" "$work/ranks.db" "$work/lossy.db" "$work/short.db" "$work/odd.db"; do
  for arguments in "top" "top --group config" "top --group device" "top --group process --limit 1" "top --group rank" \
    ledger gaps "gaps --by kernel" "gaps --by call" sms ranks timeline "diagnose --threshold 0.01" "whatif --no-gaps" "whatif --sms 40" "copies" "show 1" "export --format json -o -"; do
    case $arguments in
    show*) json=--json code=0 ;;
    export*) json='' code=0 ;;
    copies) # some have none
      json=--json code=3
      [ "$(sqlite3 -batch "$run" 'SELECT count(*) FROM copy')" = 0 ] || code=0
      ;;
    *) json=--json code=0 ;;
    esac
    valid $code $arguments $json -r "$run"
  done
done
for run in hooks empty; do
  valid 3 top --json -r "$work/$run.db"
done
# As of wavetap-sampler by hand: samples, and no kernels.
cp "$work/measured.db" "$work/samples.db"
sqlite3 -batch "$work/samples.db" "DELETE FROM config_stat; DELETE FROM kernel_exec; DELETE FROM config; DELETE FROM kernel;
  DELETE FROM launch_call; DELETE FROM proc; DELETE FROM measured; DELETE FROM measured_profile; DELETE FROM profile_launch; DELETE FROM fold"
valid 0 sms --json -r "$work/samples.db"
valid 0 timeline --json -r "$work/samples.db"
ddp=$work/ddp.db
valid 0 import -o "$ddp" "$top_srcdir/tests/data/h200x2-ddp-rank0.wtrec" "$top_srcdir/tests/data/h200x2-ddp-rank1.wtrec" --json
for arguments in "top --group rank" "top --group config" "top --group stream" "top --group step" "top --group graph" \
  "top --group duration" "top --group class" "gaps --by call" sms ranks ledger "gaps --by kernel" timeline diagnose copies steps "show AllReduce" "whatif --full-waves"; do
  valid 0 $arguments --json -r "$ddp"
done
valid 0 steps --json -r "$recorded"
valid 0 steps --json -r "$sim"
valid 0 steps --json --step-marker GammaBeta -r "$recorded"
valid 3 steps --json -r "$work/short-loop.db"
for part in "--from 1s --to 5s" "--device 1" "--rank 0" "--kernel half"; do
  valid 0 top --json -r "$work/ranks.db" $part
  valid 0 export --format json -o - -r "$work/ranks.db" $part
done
# As if of more launches than are read unasked.
cp "$recorded" "$work/many.db"
sqlite3 -batch "$work/many.db" "UPDATE config_stat SET launches = 300000 WHERE config_id = (SELECT min(config_id) FROM config_stat)"
valid 0 top --json -r "$work/many.db"
valid 0 ledger --json -r "$recorded" --steps 2:4
valid 0 gaps --json -r "$recorded" --kernel elementwise --from 10ms
valid 0 show --json -r "$work/odd.db" tail
valid 0 show --json -r "$work/pair.db" half
for arguments in ledger sms timeline "diagnose --threshold 0.01" "show half" "show tail" "show id:3" "top --group config" "whatif --full-waves"; do
  valid 0 $arguments --json -r "$work/measured.db"
done

eager=$work/eager.db
valid 0 import -o "$eager" "$top_srcdir/tests/data/h200-train-eager.wtrec" --json
valid 0 compare "$eager" "$recorded" --json
valid 3 compare "$eager" "$recorded" --by config --gate 5 --on idle --json
valid 3 compare "$ddp" "$ddp" "$eager" --json
valid 3 compare "$work/full.db" "$work/odd.db" --gate 5 --json
valid 0 baseline list --json
"$wavetap" baseline set kept "$eager" "$recorded" >/dev/null
valid 0 baseline list --json

one='--sms 4 --blocks-per-sm 1'
for arguments in "$one --grid 7" "$one --times 70us,70us,130us" "$one --grid 1:9" "--sms 132 --blocks-per-sm 1 --gemm 4096,4096,4096 --tile 128x128" \
  "--sms 132 --blocks-per-sm 1 --gemm 4096,4096,4096 --tile 128x128x64,256x128x64" "$one --grid 9 --persistent queue --block-time 5us --setup 1us" \
  "$one --grid 100 --block-time 10us~1us --seed 3" "$one --cluster 3 --grid 4,6"; do
  valid 0 simulate $arguments --json
done
valid 3 simulate --sms 4 --blocks-per-sm 1 --cluster 8 --grid 8 --json

cp "$recorded" "$data/runs/20260101-000000-bea3718a.db"
cp "$work/hooks.db" "$data/runs/19700101-001640-aaaa0004.db"
cp "$work/dropped.db" "$data/runs/19700101-001641-aaaa0005.db"
valid 0 steps --json -r "$work/dropped.db"
echo nonsense >"$data/runs/19700101-001640-aaaa0009.db"
valid 0 runs --json
valid 0 runs --hash --json
valid 0 status --json
"$make_run" "$data/runs/19700101-001640-aaaa0005.db" full job-full 1000000000000
valid 0 history job-full --json
cp "$recorded" "$data/runs/20260101-000001-bea3718b.db"
sqlite3 -batch "$data/runs/20260101-000001-bea3718b.db" "INSERT OR REPLACE INTO meta VALUES ('name', 'eager')"
sqlite3 -batch "$data/runs/20260101-000001-bea3718b.db" <"$top_srcdir/tests/unit/measured.sql" 2>/dev/null
valid 0 history eager --json
valid 0 sweep eager job-full --json
sqlite3 -batch "$data/runs/20260101-000001-bea3718b.db" "INSERT INTO tag VALUES ('batch', '8')"
valid 0 sweep eager --per batch --json
for rank in 0 1; do
  "$wavetap" import -o "$work/rank$rank.db" "$top_srcdir/tests/data/h200x2-ddp-rank$rank.wtrec" >"$work/out" 2>&1
done
valid 0 merge -o "$work/merged.db" "$work/rank0.db" "$work/rank1.db" --json
sqlite3 -batch "$work/rank0.db" "UPDATE proc SET world_size = 3"
sqlite3 -batch "$work/rank1.db" "UPDATE proc SET world_size = 3"
valid 0 merge --force --align none -o "$work/merged.db" "$work/rank0.db" "$work/rank1.db" --json
valid 0 ranks -r "$work/merged.db" --json
rm "$data/runs/19700101-001640-aaaa0005.db" "$data/runs/20260101-000001-bea3718b.db"
valid 0 check --json "$recorded"
sqlite3 -batch "$work/odd.db" "UPDATE config_stat SET launches = launches + 1; PRAGMA foreign_keys = 0;
  DELETE FROM kernel WHERE kernel_id = 1"
valid 1 check --json "$work/odd.db" "$data/runs/19700101-001640-aaaa0009.db"
valid 0 gc -n --json --keep 1
valid 0 gc --json --keep 1
valid 0 analyze --json -r "$sim" -o "$work/again.db"
"$wavetap" doctor --json >"$outputs/doctor.0" 2>"$work/err"
is "$("$checker" "$schemas/doctor.schema.json" "$outputs/doctor.0" 2>&1 >/dev/null)" "" "doctor --json"

WAVETAP_RUN=ranges tap "$top_builddir/tests/fake/app_nvtx" steps >"$work/out" 2>&1
settle
valid 0 ranges --json -r latest
valid 0 ranges --any-thread --json -r latest
valid 0 top --json -r latest --range forward
valid 0 top --group range --json -r latest
valid 0 top --group phase --json -r latest
valid 3 ranges --json -r "$recorded"
as_dropped "$(run_file)"
valid 0 ranges --json -r "$(run_file)"

# While something is recorded, and with a segment that the daemon leaves alone.
(WAVETAP_SAMPLE=auto LD_PRELOAD=$library exec "$top_builddir/tests/fake/app_demo" --seconds 60) >"$work/demo" 2>&1 &
demo=$!
tries=0
until "$wavetap" status --json | grep -q '"processes":\[{' || [ "$tries" -gt 300 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
valid 0 status --json
# Its device has no counters here: the sampler is refused, and its numbers stay while its segment does.
tries=0
until "$wavetap" status --json | grep -q '"state":"refused"' || [ "$tries" -gt 300 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
valid 0 status --json
kill "$demo"
wait "$demo" 2>/dev/null
settle

# ---- members that no output above has
# Members of the schema that doc/json.md has not; columns of the file are in doc/run-file.md.
undocumented() { # COMMAND
  "$checker" --names "$schemas/$1.schema.json" | sort -u | while read -r name; do
    grep -Eq "\`$name(\[\])?\`" "$top_srcdir/doc/json.md" "$top_srcdir/doc/run-file.md" || echo "$name"
  done | sed 's/^/# not told of: /' | grep . && return 1
  return 0
}
unseen() { # COMMAND
  "$checker" "$schemas/$1.schema.json" "$outputs/$1".* 2>&1 | tr '\n' ' '
}
for schema in "$schemas"/*.schema.json; do
  command=$(basename "$schema" .schema.json)
  ok "$command: its schema is installed" grep -q "doc/schema/$command.schema.json" "$top_srcdir/doc/local.mk"
  [ "$command" = common ] && continue
  case $command in
  status) want='/refused/segment /refused/reason ' ;; # segments of another version, or damaged
  *) want='' ;;
  esac
  is "$(unseen "$command")" "$want" "$command: no member in the schema but those of outputs"
  ok "$command: doc/json.md tells of its schema's members" undocumented "$command"
done

if command -v python3 >/dev/null 2>&1 && python3 -c 'import jsonschema, referencing' 2>/dev/null; then
  python3 - "$schemas" "$outputs" <<'END' >"$work/out" 2>&1
import glob, json, os, sys
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
load = lambda path: json.load(open(path))
schemas = {os.path.basename(p).split(".")[0]: load(p) for p in glob.glob(sys.argv[1] + "/*.json")}
registry = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in schemas.values())
for schema in schemas.values():
    Draft202012Validator.check_schema(schema)
for path in glob.glob(sys.argv[2] + "/*"):
    Draft202012Validator(schemas[os.path.basename(path).split(".")[0]], registry=registry).validate(load(path))
END
  is "$? $(tail -n 3 "$work/out")" "0 " "jsonschema agrees"
else
  ok "jsonschema agrees # SKIP python3 has no jsonschema" true
fi

done_testing

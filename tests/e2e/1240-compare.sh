#!/bin/sh
# `wavetap compare`: one training loop on the simulated GPU, with and without one thing changed. Each change must be
# named as planted, and nothing else; three runs of the same are even. The gate, baselines, and the recipe of
# doc/compare.md; what can't be compared. Durations are the simulated device's own, whatever the machine is busy with.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_compare
record() { # NAME ARGUMENT...
  name=$1
  shift
  WAVETAP_RUN=$name WAVETAP_NAME=$name tap "$app" --steps 60 "$@" >"$work/out" 2>&1 || sed 's/^/# /' "$work/out"
}
compare() { # ARGUMENT...: JSON of one pair into $work/json
  "$wavetap" compare "$@" --json >"$work/json" 2>"$work/err"
}
json() { # SQL over c, the comparison
  sqlite3 -batch :memory: "WITH d AS (SELECT json_extract(CAST(readfile('$work/json') AS TEXT), '\$.comparisons[0]') AS c) $1"
}
# Kernels that were called changed: "cmp_gemm slower".
changed() {
  json "SELECT group_concat(coalesce(value ->> 'kernel_after', value ->> 'kernel_before') || ' ' || (value ->> 'verdict'), ', ')
    FROM d, json_each(c, '\$.rows') WHERE value ->> 'verdict' <> 'even'"
}
kind_of() { # KERNEL
  json "SELECT value ->> 'kind_change' FROM d, json_each(c, '\$.rows') WHERE value ->> 'kernel_after' = '$1'"
}
kinds() {
  json "SELECT group_concat(value, '; ') FROM d, json_each(c, '\$.kinds') WHERE value NOT LIKE 'start-up%'"
}

wide=triton_red_fused_norm_4
for i in 1 2 3; do
  record "base-$i" --seed $i
  record "again-$i" --seed 1$i
  record "slower-$i" --seed 2$i --change slower
done
for change in slow block registers sync rename graph odd; do
  record "$change" --seed 31 --change $change
done
settle
check_books

# ---- nothing changed
# Kernels last what the device says, steps what the host makes of it: on a busy machine too uneven to judge.
compare base-1 again-1
is "$? $(json "SELECT coalesce(c ->> '\$.step_time.verdict', 'even') FROM d") $(changed)" "0 even " "two runs of the same: even"
is "$(json "SELECT count(*), CAST(sum(value ->> '\$.match.score') AS INTEGER) FROM d, json_each(c, '\$.rows')")" "6|6" "six kernels, by their names"
is "$(kinds)" "" "nothing changed in kind"
is "$(json "SELECT c ->> '\$.before[0].steps' > 50, c ->> '\$.comparability.blocked' FROM d")" "1|" "from more than 50 steps"
compare base-1,base-2,base-3 again-1,again-2,again-3
is "$? $(json "SELECT coalesce(c ->> '\$.step_time.verdict', 'even') FROM d") $(changed)" "0 even " "three of the same a side: even"
is "$(json "SELECT CAST(min(value ->> 'freedom') AS INTEGER), CAST(max(value ->> 'freedom') AS INTEGER) FROM d, json_each(c, '\$.rows')")" "4|4" "noise from run to run"

# ---- one thing changed
compare base-1 slow
is "$(changed)" "$wide slower" "a kernel 3 % slower, one run a side"
is "$(json "SELECT round(value ->> 'change', 2) FROM d, json_each(c, '\$.rows') WHERE value ->> 'kernel_after' = '$wide'")" 0.03 "by 3 %"
compare base-1,base-2,base-3 slower-1,slower-2,slower-3
is "$(changed)" "$wide slower" "10 % slower, three runs a side"
compare base-1 block
is "$(changed)" "$wide slower" "one block more than two full waves: slower"
is "$(kind_of $wide)" "grid 2112x1x1 to 2113x1x1, waves 2 to 2.001 (1 block in the last)" "and why"
is "$(json "SELECT value ->> 'verdict' FROM d, json_each(c, '\$.lines') WHERE value ->> 'what' = 'wave'")" more "idle in partial waves is more"
compare base-1 registers
is "$(kind_of $wide)" "registers 32 to 128, blocks an SM 8 to 2, occupancy 100 to 25 %, limited by registers, was warps+registers, waves 2 to 8" \
  "fewer resident blocks"
is "$(changed)" "$wide slower" "and slower"
compare base-1 sync
is "$(kinds)" "synchronising calls a step 1 to 2: cuStreamSynchronize" "a new wait in each step"
is "$(changed)" "" "and no kernel is another"
compare base-1 odd
is "$(kinds)|$(json "SELECT abs((c ->> '\$.after[0].sync_calls') - (c ->> '\$.after[0].steps')) < 20 FROM d")" "|1" \
  "a step between the steady ones is none of them, nor are its hundred waits"
compare base-1 graph
is "$(kinds)" "kernels in graphs 0 to 44 %" "kernels in a graph"
compare base-1 rename
is "$(kinds) $(changed)" " " "renamed: nothing new, gone or changed"
is "$(json "SELECT group_concat((value ->> 'kernel_before') || ' ' || (value ->> 'kernel_after') || ' ' || (value ->> '\$.match.how'), ', ')
  FROM (SELECT value FROM d, json_each(c, '\$.rows') WHERE value ->> '\$.match.how' <> 'name' ORDER BY value ->> 'kernel_before')")" \
  "cmp_gemm_bf16_128x64 cmp_gemm_bf16_256x64 renamed, triton_poi_fused_add_3 triton_poi_fused_add_5 renamed, triton_red_fused_norm_4 triton_red_fused_norm_6 renamed" \
  "who is who"
LC_ALL=C "$wavetap" compare base-1 rename >"$work/text"
ok "told in words" grep -q '^  1.00 triton_poi_fused_add_3 is triton_poi_fused_add_5 (name 1.00, geometry 1.00, order 1.00)' "$work/text"

# ---- the gate: the recipe of doc/compare.md
gate() { # STATUS ARGUMENT...
  want=$1
  shift
  "$wavetap" compare "$@" -q >"$work/line" 2>"$work/err"
  is "$? $(wc -l <"$work/line" | tr -d ' ')" "$want 1" "gate: $* ($(cat "$work/line"))"
}
"$wavetap" baseline set main base-1 base-2 base-3 >"$work/out"
is "$? $(wc -l <"$work/out" | tr -d ' ')" "0 3" "baseline set"
is "$("$wavetap" baseline list --json | grep -c '"baseline": "main"')" 1 "baseline list"
gate 0 main again-1,again-2,again-3 --gate 5 --on 'kernel:triton|gemm'
gate 4 main slower-1,slower-2,slower-3 --gate 5 --on "kernel:$wide"
gate 0 main slower-1,slower-2,slower-3 --gate 20 --on "kernel:$wide"
gate 3 main slower-1,slower-2,slower-3 --gate 10 --on "kernel:$wide"
gate 0 main slower-1,slower-2,slower-3 --gate 5 --on kernel:softmax
gate 3 main again-1 --gate 5 --on kernel:nosuch
gate 4 base-1 slower-1 --gate 3 --on "kernel:$wide"
id_of() { # NAME
  for each in "$data"/runs/*.db; do
    sqlite3 -batch "$each" "SELECT value FROM meta WHERE key = 'run_id' AND EXISTS (SELECT 1 FROM meta WHERE key = 'name' AND value = '$1')"
  done
}
is "$(sed 's/.*; run //' "$work/line")" "$(id_of slower-1) by $(id_of base-1)" "it names the runs"
"$wavetap" compare main slower-1,slower-2,slower-3 --markdown --gate 5 --on "kernel:$wide" >"$work/md"
is $? 4 "Markdown, and the gate's status"
ok "a table with the kernel" grep -q "^| triton..red..fused..norm..4 | .*slower" "$work/md"
"$wavetap" gc --keep 1 >/dev/null
"$wavetap" compare main latest >/dev/null 2>&1
is $? 0 "a baseline outlives gc"
for name in latest "$(sqlite3 -batch "$(run_file)" "SELECT value FROM meta WHERE key = 'run_id'")"; do
  "$wavetap" baseline set "$name" base-1 >"$work/out" 2>"$work/err"
  is "$? $(grep -c 'nothing that a run is asked for by' "$work/err")" "2 1" "no baseline is called $name"
done
"$wavetap" baseline rm main
is "$? $("$wavetap" baseline list --json | grep -c '"baseline": "main"')" "0 0" "baseline rm"

# ---- what can't be compared
refused() { # STATUS WORDS ARGUMENT...
  want=$1 words=$2
  shift 2
  "$wavetap" compare "$@" >"$work/text" 2>&1
  code=$?
  grep -q -e "$words" "$work/text" && code="$code, told"
  is "$code" "$want, told" "refused: $words"
}
last=$(ls "$data"/runs/*.db)
refused 3 'is there twice' "$last" "$last"
cp "$last" "$work/other.db"
sqlite3 -batch "$work/other.db" "UPDATE meta SET value = 'ffff0001' WHERE key = 'run_id'; UPDATE gpu SET name = 'NVIDIA A100'"
refused 3 'different GPUs: 1x .* and 1x NVIDIA A100' "$last" "$work/other.db"
sqlite3 -batch "$work/other.db" "ATTACH '$last' AS l; UPDATE gpu SET name = (SELECT name FROM l.gpu);
  UPDATE proc SET rank = 0, world_size = 2"
cp "$work/other.db" "$work/hostile.db"
sqlite3 -batch "$work/hostile.db" "UPDATE meta SET value = '<b>*x' || char(27) WHERE key = 'run_id';
  UPDATE gpu SET name = 'A100' || char(27) || '[31m' || char(10) || 'gate: no worse'"
"$wavetap" compare "$last" "$work/hostile.db" --gate 5 -q >"$work/line"
is "$? $(wc -l <"$work/line" | tr -d ' ') $(tr -d '[:print:]\n' <"$work/line" | wc -c | tr -d ' ')" "3 1 0" "a run file's words are a line's, and command no terminal"
"$wavetap" compare "$last" "$work/hostile.db" --markdown >"$work/md"
is "$(head -n 1 "$work/md" | sed 's/ against .*//')" '### wavetap: run \<b\>\*x\\x1b' "nor are they Markdown"
refused 3 'different ranks: none of 0 and 0 of 2' "$last" "$work/other.db"
for kind in empty hooks newer; do
  "$top_builddir/tests/unit/make_run" "$work/$kind.db" $kind "job-$kind" 1000000000000
done
refused 3 'has no kernels to account for' "$last" "$work/empty.db"
refused 3 'has no kernels to account for' "$work/hooks.db" "$last"
refused 1 'newer' "$last" "$work/newer.db"
refused 1 'there is no run' "$last" nosuch
refused 2 'needs\|at least\|operand\|usage\|try:' "$last"
refused 2 'a percentage above 0' "$last" "$last" --gate 0
refused 2 'it takes step-time, idle or kernel:RE' "$last" "$last" --gate 5 --on time
refused 2 'is of --gate' "$last" "$last" --on idle

done_testing

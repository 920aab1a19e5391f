#!/bin/sh
# The ledger, the causes of gaps, copies: a run of six kernels on four SMs whose every nanosecond is
# worked out by hand, and a recorded H200 run against figures that sqlite3 finds from its rows.
. "$top_srcdir/tests/e2e/lib.sh"

hand=$work/hand.db
sqlite3 -batch "$hand" <"$top_srcdir/schema/schema.sql" >/dev/null
# Times in us from 1 s on: u(T) below is put in by sed. Device 1 has 4 SMs.
sed 's/u(\([0-9]*\))/(1000000000 + \1 * 1000)/g' <<'SQL' | sqlite3 -batch "$hand"
INSERT INTO meta VALUES ('run_id','hand'),('run_key','k'),('name','by-hand'),('created_ns','1000000000'),
  ('hostname','h'),('wavetap_version','0');
INSERT INTO proc (process_id, uuid, pid, pid_namespace, ppid, start_ticks, uid, hostname, boot_id, executable,
  command, created_ns, armed_ns, first_ns, last_ns, state, capture, reason, reason_detail, library_version,
  launches_attempted, launches_stored, launches_linked, graph_launches_attempted, graph_launches_stored,
  kernels_seen, kernels_stored, kernels_graph)
  VALUES (1, x'01', 7, 1, 1, 1, 0, 'h', 'b', '/a', 'a', u(0), 900000000, u(0), u(270), 'finished', 2, 0, 0, '0',
  2, 2, 2, 1, 1, 4, 4, 2);
INSERT INTO gpu VALUES (1, x'aa', 'Four', 9, 0, 4, 32, 2048, 32, 1024, 65536, 65536, 100000, 49152, 100000, 1024,
  1, 1, 1, 1, 1, 1, '0000:00:00');
INSERT INTO api VALUES (1,'cuLaunchKernel',1),(20,'cuGraphLaunch',2),(40,'cuCtxSynchronize',4),
  (60,'cuStreamWaitEvent',5),(80,'cuMemAlloc_v2',7),(111,'cuModuleLoadData',8);
INSERT INTO kernel VALUES (1,'waves'),(2,'small'),(3,'node');
-- kernel, blocks, resident blocks
INSERT INTO config SELECT column1, column1, 1, column2,1,1, 128,1,1, 0,0,0, 32,0,0, 0,0, 4, column2, column3/4,
  column3, 0.5, 'warps', 1.0*column2/column3, column2/4.0, 0, 0, NULL
  FROM (VALUES (1, 9, 8), (2, 1, 8), (3, 4, 8));
INSERT INTO config_stat VALUES (1,1,0, 1,100000,100000,100000,0, 0,60000,90000,0, u(10),u(110),0, 0, 0, 0, 0, 0, 0),
  (1,2,0, 1,50000,50000,50000,0, 150000,0,0,0, u(150),u(200),0, 0, 0, 0, 0, 0, 0),
  (1,3,1, 2,20000,10000,10000,0, 0,0,0,0, u(220),u(250),0, 0, 0, 0, 0, 0, 0);
INSERT INTO launch_call (process_id, seq, entry_ns, return_ns, api, tid, thread32, stream, function,
  grid_x,grid_y,grid_z, block_x,block_y,block_z, dynamic_smem_bytes, result, flags)
  VALUES (1,0,u(0),u(5),1,7,77,3,1,9,1,1,128,1,1,0,0,0), (1,1,u(130),u(135),1,7,77,3,2,1,1,1,128,1,1,0,0,0);
INSERT INTO api_call (process_id, api, seq, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
  VALUES (1,20,0,u(205),u(207),7,77,3,0,0,0,0), (1,40,NULL,u(115),u(125),7,77,0,0,0,0,0),
         (1,40,NULL,u(111),u(112),8,88,0,0,0,0,0);
INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id, graph_id,
  graph_node_id, launch_seq, link, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns)
  VALUES (1,1,u(10),u(110),1,3,1,NULL,NULL,0,1,0,60000,90000), (1,2,u(150),u(200),1,3,2,NULL,NULL,1,1,150000,0,0),
         (1,3,u(220),u(230),1,3,3,5,1,0,1,0,0,0), (1,3,u(240),u(250),1,3,3,5,2,0,1,0,0,0);
INSERT INTO copy (process_id, device_id, start_ns, end_ns, bytes, is_memset, copy_kind, src_kind, dst_kind, flags,
  context_id, stream_id, correlation_id)
  VALUES (1,1,u(210),u(215),1,0,1,1,2,0,1,4,9), (1,1,u(260),u(270),1,0,1,1,2,0,1,4,10);
SQL

field() { # FILE PATH
  sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"
}
ledger() { # RUN-FILE: its figures on one line
  "$wavetap" ledger -r "$1" --all --json >"$work/ledger.json" 2>"$work/ledger.err" || cat "$work/ledger.err"
  for key in total active underfill wave wave_max unjudged comm residual; do
    printf '%s %s, ' "$key" "$(field "$work/ledger.json" "\$.devices[0].${key}_sm_ns")"
  done
}

# Kernels: 100 us on 4 SMs less 60 us of wave; 50 us on one of 4; two nodes of 10 us on 4.
is "$(ledger "$hand")" \
  "total 1080000, active 470000, underfill 150000, wave 60000, wave_max 90000, unjudged 0, comm 0, residual 0, " \
  "the run worked out by hand"
# Without a kernel: 0-10, 110-150, 200-220, 230-240, 250-270; 1 us on both sides of each edge of the
# CPU's (0, 115, 125, 130, 205) is undecided. x 4 SMs.
#   host     111..114 + 126..129 + 200..204 = 4 + 3 + 4      sync   116..124 = 8
#   launch   1..10 + 131..150 + 206..210 + 215..220 = 9 + 19 + 4 + 5
#   copy     210..215, 260..270         graph  230..240      after    250..260
cause() {
  printf '%s %s, ' "$1" "$(field "$work/ledger.json" "\$.devices[0].gap_by_cause_sm_ns.$1")"
}
is "$(for c in host sync launch copy graph after unknown undecided alloc load profiler dependency turnaround; do cause $c; done)" \
  "host 44000, sync 32000, launch 148000, copy 60000, graph 40000, after 40000, unknown 0, undecided 36000, alloc 0, load 0, profiler 0, dependency 0, turnaround 0, " \
  "every gap has its cause"
is "$(field "$work/ledger.json" '$.devices[0].straggle_sm_ns')$(field "$work/ledger.json" '$.devices[0].reason.straggle_sm_ns')" \
  "needs a measurement" "straggle is null, with its reason"
is "$(field "$work/ledger.json" '$.clock_error_ns')" 1000 "the clock error is told"

# A window: 60-110 of the first kernel with half of its wave, 110-150 no kernel, 10 us of the second.
selected() { # ARGUMENT...: as ledger(), of a part
  "$wavetap" ledger -r "$hand" --json "$@" >"$work/ledger.json" 2>"$work/ledger.err" || cat "$work/ledger.err"
  for key in total active underfill wave wave_max residual; do
    printf '%s %s, ' "$key" "$(field "$work/ledger.json" "\$.devices[0].${key}_sm_ns")"
  done
}
is "$(selected --from 60us --to 160us)" \
  "total 400000, active 180000, underfill 30000, wave 30000, wave_max 45000, residual 0, " "a window cuts kernels"
is "$(for c in host sync launch copy graph unknown undecided; do cause $c; done)" \
  "host 28000, sync 32000, launch 76000, copy 0, graph 0, unknown 0, undecided 24000, " "and has the gaps in it"
is "$(field "$work/ledger.json" '$.selection.from_ns') $(field "$work/ledger.json" '$.window.wall_ns')" "60000 100000" "and is told"
# Within a gap: the kernel behind the window still says why. sync 120-124, host 126-129, launch 131-140.
is "$(selected --from 120us --to -130us)" \
  "total 80000, active 0, underfill 0, wave 0, wave_max 0, residual 0, " "a window without a kernel"
is "$(for c in host sync launch undecided unknown; do cause $c; done)" \
  "host 12000, sync 16000, launch 36000, undecided 16000, unknown 0, " "has its causes"
LC_ALL=C "$wavetap" ledger -r "$hand" --from 60us --to 160us --device 1 >"$work/text"
ok "text: the window" grep -q '60.0us to 160.0us of 270.0us  2 kernels' "$work/text"
ok "text: the device" grep -qx 'selected: device 1' "$work/text"
ok "text: losses are of the run" grep -q 'lost 0 of 4 kernels in the whole run' "$work/text"
is "$("$wavetap" gaps -r "$hand" --kernel 'small|waves' --csv | awk -F, 'NR > 1 { s += $4 } END { print s }')" 200000 \
  "gaps by cause, of the kernels selected"
is "$("$wavetap" gaps -r "$hand" --kernel node --by kernel --csv | awk -F, 'NR > 1 { print $3, $5, $NF }')" "120000 2 node" \
  "gaps by kernel, of the kernels selected"
LC_ALL=C "$wavetap" gaps -r "$hand" --kernel node >"$work/text"
ok "text: 30 of 270 us" grep -q 'no kernel ran 11.1% of the time, before those selected  2 gaps' "$work/text"
"$wavetap" ledger -r "$hand" --kernel node >"$work/out" 2>"$work/err"
is "$? $(grep -c 'one alone has no ledger' "$work/err")" "3 1" "one kernel has no ledger"
"$wavetap" ledger -r "$hand" --from 1ms >"$work/out" 2>"$work/err"
is "$? $(cat "$work/err")" "3 wavetap: nothing of run hand is in --from 1ms: it lasted 270.0us" "beyond the run"
"$wavetap" gaps -r "$hand" --to 5 >"$work/out" 2>"$work/err"
is "$?" 2 "no unit"

# A wait in the stream of the second kernel, an allocation before it, a module loaded after its call.
sed 's/u(\([0-9]*\))/(1000000000 + \1 * 1000)/g' <<'SQL' | sqlite3 -batch "$hand"
INSERT INTO api_call (process_id, api, entry_ns, return_ns, tid, thread32, handle, other, bytes, result, flags)
  VALUES (1,60,u(127),u(128),7,77,3,0,0,0,0), (1,80,u(111),u(114),7,77,0,0,0,0,0), (1,111,u(140),u(144),8,88,0,0,0,0,0);
SQL
ledger "$hand" >/dev/null
is "$(for c in dependency alloc load launch host; do cause $c; done)" \
  "dependency 32000, alloc 4000, load 8000, launch 84000, host 28000, " "a wait, an allocation, a module"
is "$(field "$work/ledger.json" '$.devices[0].residual_sm_ns')" 0 "the sum stays"

# Stretches of 100 us: 0-100 has 90 us of the first kernel, of which a tenth of its wave is later, and 10 us without one.
"$wavetap" timeline -r "$hand" --width 100us --json >"$work/timeline.json"
is "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'total_sm_ns') || ' ' || (value ->> 'active_sm_ns') || ' ' ||
   (value ->> 'wave_sm_ns') || ' ' || (value ->> 'underfill_sm_ns') || ' ' || (value ->> 'gap_sm_ns') || ' ' ||
   (value ->> 'main_cause'), ', ') FROM json_each(CAST(readfile('$work/timeline.json') AS TEXT), '\$.rows')")" \
  "400000 306000 54000 0 40000 launch, 400000 84000 6000 150000 160000 undecided, 280000 80000 0 0 200000 copy" \
  "a timeline worked out by hand"
"$wavetap" timeline -r "$hand" --width 10 >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err")" '2 wavetap: --width: "10" is not a length of time, as 10ms or 1s' "a width without a unit"
"$wavetap" timeline -r "$hand" --width 1ns >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err")" "2 wavetap: --width makes more than 100000 stretches" "a width that makes too many"

# Text and CSV say the same; gaps by cause and by kernel sum to the ledger's.
LC_ALL=C COLUMNS=80 "$wavetap" ledger -r "$hand" >"$work/text"
ok "text: underfill is 13.9 % and 37.5 us of the GPU" grep -Eq '^underfill +13\.9 +37\.5 ' "$work/text"
ok "text: unknown lines have their reason" grep -Eq '^straggle +\. +\. +\. +needs a measurement' "$work/text"
ok "text: the lines hold 80 columns" test "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' "$work/text")" -le 80
is "$("$wavetap" ledger -r "$hand" --csv | awk -F, '$2 == "gaps" { print $4 }')" 400000 "CSV: all gaps"
is "$("$wavetap" gaps -r "$hand" --csv | awk -F, 'NR > 1 { s += $4 } END { print s }')" 400000 "gaps by cause sum to that"
"$wavetap" gaps -r "$hand" --by kernel --json >"$work/gaps.json"
is "$(sqlite3 -batch :memory: "SELECT group_concat(coalesce((value ->> 'kernel') || ' ' || (value ->> 'gaps') || ' ' ||
   (value ->> 'gap_sm_ns') || ' ' || (value ->> 'main_cause'), 'none'), ', ')
   FROM json_each(CAST(readfile('$work/gaps.json') AS TEXT), '\$.rows')")" \
  "small 1 160000 undecided, node 2 120000 graph, waves 1 40000 launch, none" "gaps by the kernel that ended them"

# By what the launching thread did, as it was before the wait: cut where it enters and leaves calls. Before "waves":
# 0-5 in the launch, 5-10 after it. Before "small": 110-115 and 125-130 in none, 115-125 waiting (another thread's wait is
# not its own), 130-135, 135-150. Before the nodes: 200-205, 205-207, 207-220; 230-240. 250-270 after the last.
cp "$hand" "$work/calls.db"
sqlite3 -batch "$work/calls.db" "DELETE FROM api_call WHERE api IN (60, 80, 111)"
by_call() { # ARGUMENT...: the rows of --by call
  "$wavetap" gaps -r "$work/calls.db" --by call --json "$@" >"$work/gaps.json" 2>"$work/err" || cat "$work/err"
  sqlite3 -batch :memory: "SELECT group_concat(coalesce(value ->> 'call', value ->> 'where') || ' ' ||
     coalesce(value ->> 'launch_call', '.') || ' ' || (value ->> 'gaps') || ' ' || (value ->> 'gap_sm_ns') || ' ' ||
     coalesce(value ->> 'tid', '.') || ' ' || coalesce(value ->> 'kernel', '.'), ', ')
     FROM json_each(CAST(readfile('$work/gaps.json') AS TEXT), '\$.rows')"
}
is "$(by_call)" "launched cuGraphLaunch 2 92000 7 node, end . 1 80000 . ., launched cuLaunchKernel 2 80000 7 small, cuLaunchKernel cuLaunchKernel 2 40000 7 waves, cuCtxSynchronize cuLaunchKernel 1 40000 7 small, own-code cuLaunchKernel 1 40000 7 small, own-code cuGraphLaunch 1 20000 7 node, cuGraphLaunch cuGraphLaunch 1 8000 7 node" \
  "gaps by call"
is "$(by_call --kernel small)" "launched cuLaunchKernel 1 60000 7 small, cuCtxSynchronize cuLaunchKernel 1 40000 7 small, own-code cuLaunchKernel 1 40000 7 small, cuLaunchKernel cuLaunchKernel 1 20000 7 small" \
  "gaps by call, of a kernel selected"
# A call within a call: the inner one has its time. One that returns after the launch began does not reach beyond.
sqlite3 -batch "$work/calls.db" "INSERT INTO api_call (process_id, api, entry_ns, return_ns, tid, thread32, handle, other, bytes,
  result, flags) VALUES (1,80,1000118000,1000120000,7,77,0,0,0,0,0), (1,111,1000128000,1000133000,7,77,0,0,0,0,0)"
is "$(by_call --kernel small)" "launched cuLaunchKernel 1 60000 7 small, cuCtxSynchronize cuLaunchKernel 1 32000 7 small, own-code cuLaunchKernel 1 32000 7 small, cuLaunchKernel cuLaunchKernel 1 20000 7 small, cuMemAlloc_v2 cuLaunchKernel 1 8000 7 small, cuModuleLoadData cuLaunchKernel 1 8000 7 small" \
  "calls within calls"
LC_ALL=C COLUMNS=80 "$wavetap" gaps -r "$work/calls.db" --by call --limit 2 >"$work/text"
ok "text: the rest" grep -q '^ *21\.1 .* 8 more (--limit 0)' "$work/text"

# Kernels that share SMs, one that no model fits, one whose times can't be, a second device, a lost kernel.
sed 's/u(\([0-9]*\))/(1000000000 + \1 * 1000)/g' <<'SQL' | sqlite3 -batch "$hand"
INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id, launch_seq,
  link, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns)
  VALUES (1,2,u(100),u(120),1,4,20,NULL,4,0,NULL,NULL), (1,2,u(160),u(140),1,4,21,NULL,4,0,0,0);
INSERT INTO launch_call SELECT process_id, 2, u(201), u(202), api, tid, thread32, stream, function, grid_x, grid_y,
  grid_z, block_x, block_y, block_z, dynamic_smem_bytes, 0, 0 FROM launch_call WHERE seq = 1;
UPDATE proc SET kernels_dropped_ring = 3, launches_attempted = 3, launches_stored = 3, launches_unlinked = 1;
SQL
# 100-110 shared by 4 + 1 wanted SMs: 40,000 unjudged, and a tenth of the wave goes; 110-120 no model: one SM
# unjudged, three underfill.
is "$(ledger "$hand")" \
  "total 1080000, active 436000, underfill 180000, wave 54000, wave_max 81000, unjudged 50000, comm 0, residual 0, " \
  "overlap and a kernel that no model fits"
# The kernel of the launch at 201 never came, and nobody waited after it: what is not a copy from 201 on, less the clock
# error, may be its time: 200-210, 215-220, 230-240, 250-260. The process lost kernels, so its graph launch at 205 is no better.
is "$(for c in unknown copy graph after launch host; do cause $c; done)" \
  "unknown 140000, copy 60000, graph 0, after 0, launch 48000, host 12000, " "gaps that may hold a lost kernel have no cause"
ok "lost kernels are told" grep -q 'lost 3 of 8 kernels: gaps may hold their time' \
  "$({ "$wavetap" ledger -r "$hand" >"$work/text"; } 2>&1; echo "$work/text")"

# Copies: two of 5 and 10 us where no kernel runs; pinned ones of 10 us hidden, and of 10 us of which 5 are (a kernel
# runs until 120); two at once count once in the total; one has no time.
sed 's/u(\([0-9]*\))/(1000000000 + \1 * 1000)/g' <<'SQL' | sqlite3 -batch "$hand"
INSERT INTO copy (process_id, device_id, start_ns, end_ns, bytes, is_memset, copy_kind, src_kind, dst_kind, flags,
  context_id, stream_id, correlation_id)
  VALUES (1,1,u(50),u(60),3000,0,1,2,3,0,1,4,11), (1,1,u(115),u(125),2000,0,1,2,3,0,1,4,12),
         (1,1,u(262),u(265),500,1,0,0,3,0,1,4,13), (1,1,NULL,NULL,7,0,2,3,1,0,1,4,14);
SQL
"$wavetap" copies -r "$hand" --json >"$work/copies.json"
is "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'direction') || ' ' || (value ->> 'memory') || ' ' ||
   (value ->> 'copies') || ' ' || (value ->> 'bytes') || ' ' || (value ->> 'time_ns') || ' ' ||
   (value ->> 'exposed_ns') || ' ' || coalesce(value ->> 'hidden', 'null'), ', ')
   FROM json_each(CAST(readfile('$work/copies.json') AS TEXT), '\$.rows')")" \
  "HtoD pageable to pinned 2 2 15000 15000 0.0, HtoD pinned to device 2 5000 20000 5000 0.75, memset device 1 500 3000 3000 0.0, DtoH device to pageable 1 7 0 0 null" \
  "copies by what they expose"
is "$(for f in copies bytes time_ns exposed_ns without_time; do field "$work/copies.json" "\$.total.$f"; done | tr '\n' ' ')" \
  "6 5509 35000 20000 1 " "and in all"
is "$("$wavetap" copies -r "$hand" --by bytes --csv | sed -n 2p | cut -d, -f 2-5)" "HtoD,pinned to device,2,5000" "copies by bytes"
"$wavetap" copies -r "$hand" --device 9 >"$work/out" 2>"$work/err"
is "$? $(cat "$work/out" "$work/err")" "3 wavetap: run hand has no device \"9\"; it has 1 (Four, aa)" "no such device"
# 52 to 262 us: 8 of 10 us of the 3,000 bytes, 2 of 10 us of the last byte; not the memset, nor what has no time.
"$wavetap" copies -r "$hand" --from 52us --to 262us --device 1 --json >"$work/copies.json"
is "$(sqlite3 -batch :memory: "SELECT group_concat((value ->> 'direction') || ' ' || (value ->> 'copies') || ' ' ||
   (value ->> 'bytes') || ' ' || (value ->> 'time_ns') || ' ' || (value ->> 'exposed_ns'), ', ')
   FROM json_each(CAST(readfile('$work/copies.json') AS TEXT), '\$.rows')")" \
  "HtoD 2 1 7000 7000, HtoD 2 4400 18000 5000" "copies of a window"
is "$(for f in copies bytes time_ns exposed_ns without_time; do field "$work/copies.json" "\$.total.$f"; done | tr '\n' ' ')" \
  "4 4401 25000 12000 0 " "and in all"
is "$(field "$work/copies.json" '$.selection.device')" 1 "and is told"
ok "text: the window" grep -q '52.0us to 262.0us of 270.0us  4 copies' "$({ LC_ALL=C "$wavetap" copies -r "$hand" --from 52us \
  --to 262us >"$work/text"; } 2>&1; echo "$work/text")"
"$wavetap" copies -r "$hand" --from 20us --to 30us >"$work/out" 2>"$work/err"
is "$? $(cat "$work/out" "$work/err")" "3 wavetap: run hand has no copies in the selection" "none"
"$wavetap" copies -r "$hand" --kernel x >"$work/out" 2>"$work/err"
is "$? $(cat "$work/out" "$work/err")" "3 wavetap: --kernel: a copy is no kernel's" "copies of a kernel"

"$wavetap" ledger -r "$hand" --device 9 >"$work/out" 2>"$work/err"
is "$? $(cat "$work/out" "$work/err")" "3 wavetap: run hand has no device \"9\"; it has 1 (Four, aa)" "no such device"
"$wavetap" gaps -r "$hand" --json --csv >"$work/out" 2>"$work/err"
is "$? $(head -n 1 "$work/err")" "2 wavetap: --json and --csv exclude each other" "two formats"
# Times that can't be are left out and told, and nothing overflows.
sqlite3 -batch "$hand" "UPDATE copy SET end_ns = -9223372036854775807 WHERE correlation_id = 11;
  UPDATE copy SET start_ns = -9223372036854775807, end_ns = 9223372036854775807 WHERE correlation_id = 12"
"$wavetap" copies -r "$hand" --json >"$work/copies.json"
is "$(for f in copies time_ns without_time; do field "$work/copies.json" "\$.total.$f"; done | tr '\n' ' ')" \
  "6 15000 3 " "copies with times that can't be"
sqlite3 -batch "$hand" "DELETE FROM kernel_exec; DELETE FROM config_stat"
"$wavetap" ledger -r "$hand" >"$work/out" 2>"$work/err"
is "$? $(wc -c <"$work/out")" "3 0" "a run without kernels has none"

# ---- a recorded H200 run
sum_of() { # FILE FIELD: over the rows of a timeline
  sqlite3 -batch :memory: "SELECT sum(value ->> '$2') FROM json_each(CAST(readfile('$1') AS TEXT), '\$.rows')"
}
run=$work/h200.db
gzip -dc "$top_srcdir/tests/data/h200-train-eager.db.gz" >"$run"
sums=$(ledger "$run")
is "$(echo "$sums" | grep -o 'residual [0-9-]*')" "residual 0" "H200: nothing is left over"
# Gaps from the rows alone: a gap is what lies between the latest end so far and the next start.
is "$(field "$work/ledger.json" '$.devices[0].gaps') $(field "$work/ledger.json" '$.devices[0].busy_ns')" \
  "$(sqlite3 -batch "$run" "WITH k AS (SELECT start_ns, end_ns, max(end_ns) OVER
       (ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns FROM kernel_exec),
     w AS (SELECT max(first_ns, armed_ns) AS from_ns FROM proc),
     g AS (SELECT start_ns - coalesce(before_ns, from_ns) AS ns FROM k, w WHERE start_ns > coalesce(before_ns, from_ns)),
     z AS (SELECT max(0, (SELECT max(end_ns) FROM copy) - (SELECT max(end_ns) FROM kernel_exec)) AS ns)
     SELECT (count(*) + (z.ns > 0)) || ' ' || (max((SELECT max(end_ns) FROM copy), (SELECT max(end_ns) FROM kernel_exec))
       - w.from_ns - sum(g.ns) - z.ns) FROM g, w, z")" "H200: gaps and busy time as sqlite3 finds them"
for width in "" "--width=1ms" "--width=7ms" "--width=20s"; do
  # shellcheck disable=SC2086 # none is no word
  "$wavetap" timeline -r "$run" --all $width --json >"$work/timeline.json"
  is "$(for f in total active underfill wave wave_max unjudged comm; do sum_of "$work/timeline.json" "${f}_sm_ns"; done | tr '\n' ' ')" \
    "$(for f in total active underfill wave wave_max unjudged comm; do field "$work/ledger.json" "\$.devices[0].${f}_sm_ns"; done | tr '\n' ' ')" \
    "H200: rows of a timeline sum to the ledger ${width}"
  is "$(for f in host launch copy turnaround undecided unknown; do sum_of "$work/timeline.json" "${f}_sm_ns"; done | tr '\n' ' ')" \
    "$(for f in host launch copy turnaround undecided unknown; do field "$work/ledger.json" "\$.devices[0].gap_by_cause_sm_ns.$f"; done | tr '\n' ' ')" \
    "H200: and the causes ${width}"
done
"$wavetap" copies -r "$run" --all --json >"$work/copies.json"
is "$(($(field "$work/copies.json" '$.total.exposed_ns') * 132))" \
  "$(field "$work/ledger.json" '$.devices[0].gap_by_cause_sm_ns.copy')" "H200: exposed copies are the ledger's gaps by copy"
is "$("$wavetap" gaps --all -r "$run" --by kernel --csv | awk -F, 'NR > 1 { s += $3 } END { printf "%.0f", s }')" \
  "$("$wavetap" gaps --all -r "$run" --csv | awk -F, 'NR > 1 { s += $4 } END { printf "%.0f", s }')" "H200: both groupings sum to the same"
"$wavetap" gaps --all -r "$run" --by call --csv >"$work/calls.csv"
is "$(awk -F, 'NR > 1 { s += $2 } END { printf "%.0f", s }' "$work/calls.csv")" \
  "$("$wavetap" gaps --all -r "$run" --csv | awk -F, 'NR > 1 { s += $4 } END { printf "%.0f", s }')" "H200: gaps by call sum to the same"
for cause in host launch undecided; do
  column=$(head -n 1 "$work/calls.csv" | tr ',' '\n' | grep -n "^${cause}_sm_ns$" | cut -d: -f 1)
  is "$(awk -F, -v c="$column" 'NR > 1 { s += $c } END { printf "%.0f", s }' "$work/calls.csv")" \
    "$("$wavetap" gaps --all -r "$run" --csv | awk -F, -v c="$cause" '$1 == c { print $4 }')" "H200: and each cause, $cause"
done
# From the return of the launch to the start of the kernel, as far as no kernel ran.
is "$(awk -F, '{ for (i = 1; i <= NF; i++) if ($i == "launched") s += $2 } END { printf "%.0f", s }' "$work/calls.csv")" \
  "$(sqlite3 -batch "$run" "WITH k AS (SELECT e.start_ns, l.return_ns, coalesce(max(e.end_ns) OVER (ORDER BY e.start_ns, e.exec_id
       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), (SELECT max(first_ns, armed_ns) FROM proc)) AS before
       FROM kernel_exec e JOIN launch_call l ON l.process_id = e.process_id AND l.seq = e.launch_seq)
     SELECT 132 * sum(start_ns - max(before, return_ns)) FROM k WHERE start_ns > max(before, return_ns)")" \
  "H200: gaps after the launch had returned"
# Windows that adjoin sum to the run, but for gaps at the seams, which may have other causes there.
parts=0
for part in "--to 123456us" "--from 123456us --to 600ms" "--from 600ms"; do
  # shellcheck disable=SC2086 # a list of options
  "$wavetap" ledger -r "$run" --json $part >"$work/part.json"
  parts=$((parts + $(field "$work/part.json" '$.devices[0].active_sm_ns')))
  is "$(field "$work/part.json" '$.devices[0].residual_sm_ns')" 0 "H200: $part: nothing is left over"
done
"$wavetap" ledger -r "$run" --all --json >"$work/ledger.json"
ok "H200: active time of three windows is that of the run, to a rounding a kernel" test \
  $((parts - $(field "$work/ledger.json" '$.devices[0].active_sm_ns'))) -lt 10 -a \
  $((parts - $(field "$work/ledger.json" '$.devices[0].active_sm_ns'))) -gt -10
done_testing

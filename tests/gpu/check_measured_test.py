#!/usr/bin/env python3
"""check_measured.py on run files made by hand from schema.sql: right ones pass, each fault is found.

  check_measured_test.py      needs no GPU and no build; prints TAP, exit status 1 if a test fails
"""
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile

import check_measured

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "schema", "schema.sql")
SMS = 132
RAMP_NS = 650
CONFIG_HEADER = ("#config\tsection\tkernel\tgrid\tblock\tsmem_bytes\tblocks_per_sm\tsms\tlaunches\tkept\tdur_ns\t"
                 "active_sm_ns\tactive_sd_sm_ns\tactive_cycles\tunderfill_sm_ns\ttail_sm_ns\tslow_every\t"
                 "slow_factor\tbound\tfirst_cycles\tgaps\tfill_step\tfill_cycles\tprofile_step_ns\tprofile")
STREAM_HEADER = "#stream\tsection\tkernel\tgrid\tblock\tsmem_bytes\tsms\tlaunches"
SMID_HEADER = "#smid\tordinal\tkernel\tgrid\tblock\tsms\tdur_ns\tactive_sm_ns\tactive_cycles\tfirst_cycles\tgaps\tfill_step\tfill_cycles\twarps"
TOTAL = "#total\tlaunched\tcaptured\tgraph_launches\tgraph_kernels\ntotal\t100\t0\t0\t0\n"
tests = failed = 0


def check(holds, name, text=""):
  global tests, failed
  tests += 1
  failed += not holds
  print(f"{'ok' if holds else 'not ok'} {tests} - {name}")
  if not holds:
    print("\n".join("# " + line for line in text.splitlines()))


# Grid, block, blocks per SM, steps (ns, SMs active), slow_every: two waves; one wave with stragglers;
# underfill.
SHAPES = [
  (267, 1024, 2, [(4_000, 132), (4_000, 3)], 0),
  (264, 1024, 2, [(10_000, 132), (30_000, 3)], 97),
  (66, 1024, 2, [(20_000, 66)], 0),
]


def truth_of(shape):
  _, _, _, steps, _ = shape
  return sum(ns for ns, _ in steps), sum(ns * sms for ns, sms in steps)


APART, PAIRED, FILL = 404, 478, 280  # check_measured.py: while CUPTI records
PROFILED_APART, PROFILED_PAIRED, PROFILED_FILL = 181, 208, 112
LATE = 17  # cycles of thread 0 behind the first warp
FILLED = ",".join(str(10 * min((step + 1) * 25, 300)) for step in range(20))  # ten gaps of 300 cycles


def unseen_cycles(grid, apart, paired, fill):
  """What blocks can't see of the SMs' active time: check_measured.py. Ten SMs have a gap."""
  sms = min(grid, SMS)
  alone = sms if sms <= SMS / 2 else SMS - sms
  return alone * apart + (sms - alone) * paired + 10 * fill + sms * LATE


def config_line(shape, section="mix"):
  grid, block, resident, steps, slow = shape
  dur_ns, active = truth_of(shape)
  active -= unseen_cycles(grid, APART, PAIRED, FILL) / 1.98
  profile = [f"{sms:.2f}" for ns, sms in steps for _ in range(ns // 100)]
  underfill = max(0, SMS - grid) * dur_ns
  return "\t".join(map(str, ("config", section, "truth_clock", grid, block, 0, resident, SMS, 2000, 200, dur_ns,
                             active, 1.0, active * 2, underfill, SMS * dur_ns - active - underfill, slow,
                             4 if slow else 0, "latency", active * 2 + LATE * min(grid, SMS), 10, 25, FILLED, 100,
                             ",".join(profile) + ",0.00")))


def put(run, table, **values):
  """A row, with 0 for whatever may not be NULL and is not named."""
  for _, name, kind, needed, default, _ in run.execute(f"PRAGMA table_info({table})"):
    if needed and default is None and name not in values:
      values[name] = {"TEXT": "", "BLOB": os.urandom(16)}.get(kind, 0)
  names = ", ".join(values)
  run.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))


def profile_of(shape):
  """Mean SMs active in bins of about 2 us of the recorded duration, which begins half a ramp early."""
  dur_ns, _ = truth_of(shape)
  edges, at = [], RAMP_NS / 2
  for ns, sms in shape[3]:
    edges.append((at, at + ns, sms))
    at += ns
  bins = -(-(dur_ns + RAMP_NS) // 2000)
  width = (dur_ns + RAMP_NS) / bins
  return [sum(max(0, min(b, (i + 1) * width) - max(a, i * width)) * sms for a, b, sms in edges) / width
          for i in range(bins)]


def make_run(path, evidence="sampled"):
  run = sqlite3.connect(path)
  with open(SCHEMA, encoding="utf-8") as schema:
    run.executescript(schema.read())
  put(run, "gpu", device_id=1, name="H200", sm_count=SMS)
  put(run, "kernel", kernel_id=1, name="truth_clock")
  put(run, "sampler", sampler_id=1, device_id=1, state=2, interval_ns=50000, first_ns=0, last_ns=10**10,
      samples_taken=200000, samples_stored=200000, cpu_ns=3 * 10**9)
  put(run, "fold", device_id=1, offset_ns=-700.0, offset_error_ns=40.0, residual=0.0004, samples_used=199000,
      active_sm_ns=10**9, explained_sm_ns=10**9)
  for number, shape in enumerate(SHAPES, 1):
    grid, block, _, _, slow = shape
    dur_ns, active = truth_of(shape)
    long_ns = dur_ns + RAMP_NS
    straggle = (SMS * dur_ns - active) / long_ns if slow else 0.0
    put(run, "config", config_id=number, kernel_id=1, device_id=1, grid_x=grid, grid_y=1, grid_z=1, block_x=block,
        block_y=1, block_z=1, sm_count=SMS, blocks=grid)
    put(run, "measured", config_id=number, evidence=evidence, is_used=1, launches=1990, time_ns=1990 * long_ns,
        active_sms=active / long_ns, active_error_sms=0.4, straggle_sms=straggle, bound="latency", warps_per_sm=30.0)
    for i, value in enumerate(profile_of(shape) if evidence == "sampled" else ()):
      put(run, "measured_profile", config_id=number, bin=i, active_sms=value, error_sms=0.5)
  return run


def add_profiles(run):
  """Three launches of each shape, every second under the range profiler."""
  lines, seq = [], 7
  put(run, "kernel_exec", process_id=1, config_id=1)
  for number in range(3 * len(SHAPES)):
    shape = SHAPES[number % len(SHAPES)]
    dur_ns, active = truth_of(shape)
    unseen = unseen_cycles(shape[0], PROFILED_APART, PROFILED_PAIRED, PROFILED_FILL)
    cycles = active * 2 - unseen
    lines.append(f"smid\t{number}\ttruth_clock\t{shape[0]}\t{shape[1]}\t{SMS}\t{dur_ns}\t{active - unseen / 1.98}\t{cycles}\t"
                 f"{cycles + LATE * min(shape[0], SMS)}\t10\t25\t{FILLED}\t3*96,{SMS - 3}*64")
    put(run, "launch_call", process_id=1, seq=seq, grid_x=shape[0], block_x=shape[1])
    if number % 2:
      put(run, "profile_launch", process_id=1, launch_seq=seq, active_sum=active * 2.001, passes=1, cost_ns=12000000)
    seq += 3
  return SMID_HEADER + "\n" + "\n".join(lines) + "\n" + TOTAL


# Two streams: who runs from when to when in a round of 200 us, and the SMs that begin and end with it.
ROUND_NS, ROUNDS, CLOCK_NS, EDGE_NS = 200_000, 60, 5_000, (110, 140)
TIMELINE = [(0, 15, 20_015, 100, 66), (2, 10_015, 40_015, 32, 66), (1, 60_015, 100_015, 50, 50)]
# Of each: ns and SMs by itself, ns and SMs of all beside others.
STREAMS = [(10_000, 100, 9_350, 132), (39_350, 50, 0, 0), (20_000, 66, 9_350, 132)]


def write_course(path):
  """Two rounds; blocks begin and end so much after and before the kernels' ramps as they can't see."""
  with open(path, "wb") as out:
    for _ in range(2):
      begins, ends, launches = bytearray(ROUND_NS * ROUNDS // 100), bytearray(ROUND_NS * ROUNDS // 100), []
      for i in range(ROUNDS):
        for number, start_ns, end_ns, begin_sms, end_sms in TIMELINE:
          first = i * ROUND_NS + start_ns + RAMP_NS // 2 + EDGE_NS[0]
          last = i * ROUND_NS + end_ns - RAMP_NS // 2 - EDGE_NS[1]
          begins[first // 100] += begin_sms
          ends[last // 100] += end_sms
          launches += [number, first, last]
      out.write(b"TRUTHCRS" + struct.pack("<3Q", CLOCK_NS, len(begins), len(launches) // 3) + begins + ends +
                struct.pack(f"<{len(launches)}I", *launches))


def add_streams(run):
  """Kernels of a warm-up, and of two rounds whose clock the course has CLOCK_NS, and 10 s, behind."""
  for number in range(len(SHAPES)):
    put(run, "kernel_exec", process_id=1, config_id=number + 1, start_ns=number * 1000, end_ns=number * 1000 + 500)
  for number, (alone_ns, alone, joint_ns, joint) in enumerate(STREAMS):
    run.execute("UPDATE measured SET launches = 100, time_ns = ?, active_sms = ?, active_error_sms = ?, joint_time_ns = ?, "
                "joint_active_sms = ?, joint_error_sms = 3 WHERE config_id = ?",
                (alone_ns * 100, alone, 0.03 * alone, joint_ns * 100, joint, number + 1))
  for which in range(2):
    for i in range(ROUNDS):
      for number, start_ns, end_ns, _, _ in TIMELINE:
        at_ns = which * 10**10 + i * ROUND_NS + 10**9
        put(run, "kernel_exec", process_id=1, config_id=number + 1, start_ns=at_ns + start_ns, end_ns=at_ns + end_ns)


def checker(program, *words):
  done = subprocess.run([sys.executable, os.path.join(HERE, program), *words], capture_output=True, text=True,
                        check=False)
  return done.returncode, done.stdout + done.stderr


def verdict(what, folder, truth, run):
  run.commit()
  run.close()
  path = os.path.join(folder, "truth.tsv")
  with open(path, "w", encoding="utf-8") as out:
    out.write(truth)
  course = os.path.join(folder, "course")
  write_course(course)
  return checker("check_measured.py", what, "--course", course, path, os.path.join(folder, "run.db"))


def judge(name, wanted, what="sampled", sql=(), section="mix", evidence="sampled", cut=False):
  with tempfile.TemporaryDirectory() as folder:
    run = make_run(os.path.join(folder, "run.db"), evidence)
    if what == "profiled":
      truth = add_profiles(run)
    elif section == "streams":
      add_streams(run)
      rows = [("stream", section, "truth_clock", s[0], s[1], 0, SMS, ROUNDS) for s in SHAPES]
      truth = STREAM_HEADER + "\n" + "\n".join("\t".join(map(str, row)) for row in rows) + "\n" + TOTAL
    else:
      truth = CONFIG_HEADER + "\n" + "\n".join(config_line(s, section) for s in SHAPES) + "\n" + TOTAL
    for statement in sql:
      run.execute(statement)
    code, text = verdict(what, folder, truth[:-len(TOTAL) - 20] if cut else truth, run)
    check(code == wanted and "Traceback" not in text, f"{name}: exit status {code}", text)
    return text


def judge_train(name, wanted, sql=(), active=0.34, evidence="sampled", expect=""):
  """check_train.py on the same run, as if it were a training run."""
  with tempfile.TemporaryDirectory() as folder:
    for which in ("sampled", "profiled"):
      run = make_run(os.path.join(folder, which + ".db"), which)
      for number, shape in enumerate(SHAPES, 1):
        put(run, "config_stat", config_id=number, launches=2000, time_ns=2000 * (truth_of(shape)[0] + RAMP_NS))
      for i in range(100):
        put(run, "sm_bucket", device_id=1, start_ns=i * 10**7, end_ns=(i + 1) * 10**7, sampled_ns=10**7, samples=200,
            active_avg=active, active_min=0.0, active_max=1.0)
      for statement in sql if which == evidence else ():
        run.execute(statement)
      run.commit()
      run.close()
    words = [evidence, os.path.join(folder, evidence + ".db")]
    if evidence == "sampled":
      path = os.path.join(folder, "ledger.json")
      with open(path, "w", encoding="utf-8") as out:
        json.dump({"window": {"start_ns": 0, "end_ns": 10**9, "wall_ns": 10**9}, "devices": [{
          "active_sm_ns": 34 * 10**7, "unjudged_sm_ns": 10**7, "total_sm_ns": 10**9, "evidence": "sampled",
          "busy_ns": 5 * 10**8, "wall_ns": 10**9}]}, out)
      words += ["--ledger", path]
    else:
      words += ["--sampled", os.path.join(folder, "sampled.db")]
    code, text = checker("check_train.py", *words)
    check(code == wanted and "Traceback" not in text and expect in text, f"train: {name}: exit status {code}", text)
    return text


def judge_devices():
  """Two devices in one run: the one that truth names counts; the other's numbers are half of it."""
  with tempfile.TemporaryDirectory() as folder:
    path, rows = os.path.join(folder, "run.db"), os.path.join(folder, "rows")
    run = make_run(path)
    run.execute("UPDATE gpu SET uuid = x'00112233445566778899aabbccddeeff'")
    put(run, "gpu", device_id=2, name="H200", sm_count=SMS)
    uuid = run.execute("SELECT lower(hex(uuid)) FROM gpu WHERE device_id = 2").fetchone()[0]
    for number, shape in enumerate(SHAPES, 1):
      put(run, "config", config_id=100 + number, kernel_id=1, device_id=2, grid_x=shape[0], grid_y=1, grid_z=1,
          block_x=shape[1], block_y=1, block_z=1, sm_count=SMS, blocks=shape[0])
      put(run, "measured", config_id=100 + number, evidence="sampled", launches=5000, time_ns=5000 * truth_of(shape)[0],
          active_sms=1.0)
    for i in range(300):  # a second of samples at 50 us, a half at 200 us with all metrics, a rest, a second
      every_us, rich = (200, 0.5) if 100 <= i < 150 else (50, None)
      put(run, "sm_bucket", device_id=1, start_ns=(i + 1000 * (i >= 150)) * 10**7, end_ns=(i + 1 + 1000 * (i >= 150)) * 10**7,
          sampled_ns=10**7, samples=10000 // every_us, active_avg=0.5, active_min=0.0, active_max=1.0, tensor_share=rich)
    run.commit()
    run.close()
    for named, wanted in (("00112233445566778899aabbccddeeff", 0), (uuid, 1)):
      truth = os.path.join(folder, "truth.tsv")
      with open(truth, "w", encoding="utf-8") as out:
        out.write(f"#device\tuuid\ndevice\t{named}\n#phase\tsection\tns\nphase\tmix\t2500000000\n{CONFIG_HEADER}\n")
        out.write("\n".join(config_line(shape) for shape in SHAPES) + "\n" + TOTAL)
      code, text = checker("check_measured.py", "sampled", "--stretches", "--row", rows, "mix", truth, path)
      check(code == wanted and "Traceback" not in text, f"two devices, {named}: exit status {code}", text)
      check("phase: 2.50 s" in text and "12.50 s" not in text, "how long the phase was", text)
      check("stretches: 3, 3.00 s sampled in 13.00 s, 16.7 % of it with all metrics; 1 rests of over 3 s" in text,
            "what the sampler did when", text)
    code, text = checker("print_rows.py", rows)
    lines = text.splitlines()
    check(code == 0 and len(lines) == 4 and lines[2].startswith(f"| mix | 2.5 | {len(SHAPES)} | 0 | 0 | 1990 (1990) |") and
          lines[2].endswith("| 200000 of 200000 | 30 | ok |") and lines[3].endswith("| FAIL |"), "rows of a table", text)
    check(len({line.count("|") for line in lines}) == 1, "of equal width", text)


def judge_blind():
  """What is added to truth, against counters of the range profiler, of launches that it was not made from one by one."""
  offs = []
  with open(os.path.join(HERE, "..", "data", "h200-blind.tsv"), encoding="utf-8") as lines:
    names = next(lines).rstrip("\n").lstrip("#").split("\t")
    for line in lines:
      row = dict(zip(names, line.rstrip("\n").split("\t")))
      truth = {name: value if name == "fill_cycles" else float(value) for name, value in row.items()} | {"sms": SMS}
      blind = check_measured.SAMPLED_BLIND if row["traced"] == "1" else check_measured.PROFILED_BLIND
      unseen = truth["counted_cycles"] - truth["active_cycles"]
      offs.append((abs(unseen - check_measured.unseen_cycles(truth, blind)) / min(truth["grid"], SMS), line))
  worst = max(offs)
  check(len(offs) > 60 and worst[0] < 35, f"unseen cycles of {len(offs)} shapes, {worst[0]:.0f} of an SM off at most", worst[1])


def main():
  judge_devices()
  judge_blind()
  text = judge("all as truth has it", 0)
  if "-v" in sys.argv:
    print(text)
  one = "UPDATE measured SET active_sms = active_sms * {} WHERE config_id = {}"
  judge("2 % off, over 10 us", 1, sql=[one.format(1.02, 3)])
  judge("2 % off, under 10 us", 0, sql=[one.format(1.02, 1)])
  judge("4 % off, under 10 us", 1, sql=[one.format(1.04, 1)])
  judge("a configuration without a number", 1,
        sql=["UPDATE measured SET active_sms = NULL, reason = 'too few launches' WHERE config_id = "
             "2"])
  judge("one that is said to be inseparable", 0,
        sql=["UPDATE measured SET active_sms = NULL, reason = 'not separable from its neighbours' "
             "WHERE config_id = 2"])
  judge("the same in other words", 0,
        sql=["UPDATE measured SET active_sms = NULL, reason = 'it always meets the samples as others do' "
             "WHERE config_id = 2"])
  judge("all inseparable", 1, sql=["UPDATE measured SET active_sms = NULL, reason = 'not separable'"])
  judge("no row", 1, sql=["DELETE FROM measured WHERE config_id = 1"])
  judge("straggle 4 % off", 1, sql=["UPDATE measured SET straggle_sms = straggle_sms * 1.04 WHERE config_id = 2"])
  judge("straggle unknown", 1, sql=["UPDATE measured SET straggle_sms = NULL WHERE config_id = 2"])
  judge("a profile that is shifted by two bins", 1,
        sql=["UPDATE measured_profile SET active_sms = coalesce((SELECT p.active_sms FROM "
             "measured_profile p WHERE p.config_id = measured_profile.config_id AND p.bin = "
             "measured_profile.bin + 2), 0) WHERE config_id = 2"])
  judge("a flat profile", 1, sql=["UPDATE measured_profile SET active_sms = 35 WHERE config_id = 2"])
  judge("bins of 4 us", 1, sql=["DELETE FROM measured_profile WHERE bin % 2"])
  judge("no profile", 1, sql=["DELETE FROM measured_profile"])
  judge("samples dropped", 1, sql=["UPDATE sampler SET samples_dropped = 1"])
  judge("no sampler", 1, sql=["DELETE FROM sampler"])
  judge("sampler refused", 1,
        sql=["UPDATE sampler SET state = 4, first_ns = NULL, last_ns = NULL, reason = 'not "
             "permitted'"])
  judge("not aligned", 1, sql=["UPDATE fold SET offset_ns = NULL, residual = NULL, reason = 'no offset fits'"])
  judge("the class wrong, where that counts", 1, section="bound", sql=["UPDATE measured SET bound = 'memory'"])
  judge("the class wrong, elsewhere", 0, sql=["UPDATE measured SET bound = 'memory'"])
  judge("the class right", 0, section="bound")
  judge("truth that was cut off", 3, cut=True)
  text = judge("two streams as truth has them", 0, section="streams")
  if "-v" in sys.argv:
    print(text)
  more = "UPDATE measured SET active_sms = active_sms * 1.025, active_error_sms = {} WHERE config_id = 1"
  text = judge("streams: 2.5 % off, which is claimed", 0, section="streams", sql=[more.format(3)])
  check("said: by its claim" in text and "2 of 3 by themselves within" in text, "which is said", text)
  judge("streams: 2.5 % off, which is not claimed", 1, section="streams", sql=[more.format(2)])
  judge("streams: said to have hardly run by itself, which is not so", 1, section="streams",
        sql=["UPDATE measured SET active_sms = NULL, reason = 'it hardly ran by itself' WHERE config_id = 1"])
  judge("streams: joint SM-time 3 % off, 2.3 % are claimed", 1, section="streams",
        sql=["UPDATE measured SET joint_active_sms = joint_active_sms * 1.03"])
  judge("streams: another program's", 3, section="streams", sql=["DELETE FROM kernel_exec WHERE config_id = 2"])
  text = judge("profiled as truth has it", 0, "profiled", evidence="profiled")
  if "-v" in sys.argv:
    print(text)
  judge("SM cycles 3 % off", 1, "profiled", evidence="profiled",
        sql=["UPDATE profile_launch SET active_sum = active_sum * 1.03 WHERE launch_seq = 16"])
  judge("profiled means 1 % off", 1, "profiled", evidence="profiled",
        sql=["UPDATE measured SET active_sms = active_sms * 1.01"])
  judge("nothing was profiled", 1, "profiled", evidence="profiled",
        sql=["DELETE FROM profile_launch"])
  judge("another program's launches", 3, "profiled", evidence="profiled", sql=["UPDATE launch_call SET grid_x = 5"])
  text = judge_train("all measured", 0)
  if "-v" in sys.argv:
    print(text)
  judge_train("5 points beside the ledger", 1, active=0.40)
  judge_train("most time not measured", 1, sql=["DELETE FROM measured WHERE config_id = 2"])
  judge_train("a little time not measured", 1, sql=["UPDATE measured SET reason = 'x' WHERE config_id = 1"])
  judge_train("a residual of 2 %", 1, sql=["UPDATE fold SET residual = 0.02"])
  text = judge_train("profiled, both agree", 0, evidence="profiled", expect="0 of them, with 0.0 %")
  if "-v" in sys.argv:
    print(text)
  judge_train("profiled, one apart", 0, evidence="profiled", expect="1 of them, with",
              sql=["UPDATE measured SET active_sms = active_sms + 2 WHERE config_id = 2"])
  print(f"1..{tests}")
  return failed > 0


if __name__ == "__main__":
  sys.exit(main())

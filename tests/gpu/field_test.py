#!/usr/bin/env python3
"""field_table.py on made-up samples, and what stands for the measured programs where there is no GPU.

  field_test.py                       prints TAP, exit status 1 if a test fails
  field_test.py program APP_LAUNCH --tsv cost|empty|graph [N]
                                      for truth: launches by app_launch, lines `cost` as truth prints them
  field_test.py worker --socket PATH --way WAY [--profiler]
                                      for field_torch.py: 50 launches a step by the driver's API
"""
import ctypes
import json
import os
import random
import socket
import subprocess
import sys
import time

import field_cycle
import field_table
from field_table import Limit, Sample

PTX = b""".version 7.0
.target sm_70
.address_size 64
// wtfake: kernel=field_kernel regs=16 block_ns=1000
.visible .entry field_kernel() { ret; }
"""
LAUNCHES = 50
tests, failed = 0, 0


def check(is_well, name, why=""):
  global tests, failed
  tests += 1
  failed += not is_well
  print(f"{'ok' if is_well else 'not ok'} {tests} - {name}")
  if not is_well:
    print(f"# {why}")


# ---- what stands for programs

def program(launch, options):
  what = options[1]
  begin = time.monotonic()
  if what in ("cost", "empty"):
    subprocess.run([launch, "--launches", "3000", "--us", "1"], check=True, stdout=subprocess.DEVNULL)
  middle = time.monotonic()
  if what in ("cost", "graph"):
    subprocess.run([launch, "--launches", "800", "--us", "1", "--graph", "20"], check=True, stdout=subprocess.DEVNULL)
  end = time.monotonic()
  print("#cost\tsection\tmetric\tsamples\tmin_ns\tmedian_ns\tp90_ns\tp99_ns\tmax_ns")
  for section, metric, seconds, count in (("empty", "total_per_launch", middle - begin, 3000),
                                          ("graph", "per_node", end - middle, 2000)):
    value = seconds * 1e9 / count
    print(f"cost\t{section}\t{metric}\t1\t{value:.1f}\t{value:.1f}\t{value:.1f}\t{value:.1f}\t{value:.1f}")


class Launcher:
  """The driver's API by hand, through the loader as any program finds it."""

  def __init__(self):
    self.cuda = ctypes.CDLL("libcuda.so.1")
    device, self.context = ctypes.c_int(), ctypes.c_void_p()
    module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
    self.call("cuInit", 0)
    self.call("cuDeviceGet", ctypes.byref(device), 0)
    self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, device)
    self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
    self.call("cuModuleGetFunction", ctypes.byref(self.function), module, ctypes.c_char_p(b"field_kernel"))

  @property
  def losses(self):
    return []

  def call(self, name, *arguments):
    status = self.cuda[name](*arguments)
    if status:
      raise OSError(f"{name}: {status}")

  def run(self, steps):
    begin = time.perf_counter()
    for _ in range(steps * LAUNCHES):
      self.call("cuLaunchKernel", self.function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
    self.call("cuCtxSynchronize")
    return (time.perf_counter() - begin) / steps * 1e3


def worker(options):
  values = dict(zip(options[::2], options[1::2]))
  launcher = Launcher()
  launcher.run(2)
  switch = field_cycle.Switch(values.get("--switch"))
  with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(values["--socket"])
    with connection.makefile("rw") as file:
      notes = {"compiled": "captured as one graph, for there is no compiler"}
      file.write(json.dumps({"way": values["--way"], "workloads": ["eager", "compiled"], "notes": notes}) + "\n")
      file.flush()
      for line in file:
        words = line.split()
        if words[0] == "quit":
          return
        launcher.run(1)
        answer = field_cycle.cycle({"eager": launcher}, words, switch) if words[0] == "cycle" else {"ms": [launcher.run(2) for _ in range(int(words[3]))],
                  "kernels_per_step": LAUNCHES if "--profiler" in options else None}
        file.write(json.dumps(answer) + "\n")
        file.flush()


# ---- the statistics

def made_up(values, rounds=12, noise=0.01, per_cluster=1, seed=7, workload="storm"):
  """Rounds of {way: value}, each round slower or faster as a whole by up to 30 %, each value by `noise`."""
  draw, samples = random.Random(seed), []
  for number in range(rounds):
    scale = draw.uniform(0.7, 1.3)
    for way, value in values.items():
      samples.append(Sample(workload, way, number // per_cluster, number, value * scale * draw.uniform(1 - noise, 1 + noise)))
  return samples


def verdict(samples, kind="ratio", way="wavetap", other="raw", limit=1.05):
  return field_table.judge(samples, Limit("what", "storm", kind, way, other, limit))


def test_figures():
  samples = [Sample("storm", "bare", n, n, value) for n, value in enumerate((100.0, 120.0, 90.0))]
  samples += [Sample("storm", "wavetap", n, n, value) for n, value in enumerate((150.0, 150.0, 180.0))]
  samples.append(Sample("storm", "nsys", 0, 0, 200.0))
  row = field_table.row(samples, "storm", "wavetap")
  check((row["median"], row["least"], row["most"], row["added"]) == (150.0, 150.0, 180.0, 50.0), "a row by hand", row)
  check((row["ratio"], row["ratio_least"], row["ratio_most"]) == (1.5, 1.25, 2.0), "its ratios by hand", row)
  row = field_table.row(samples, "storm", "nsys")
  check((row["samples"], row["added"], row["ratio"]) == (1, 100.0, 2.0),
        "a way of one round is compared with that round's bare", row)
  check(field_table.row(samples, "storm", "raw") is None, "a way that was not measured has no row")
  check(field_table.row(samples, "graph", "bare") is None, "nor a workload")
  row = field_table.row(samples[3:4], "storm", "wavetap")
  check((row["median"], row["added"], row["ratio"]) == (150.0, None, None), "without bare no ratio", row)
  check(len(list(field_table.rows_of(samples))) == 3, "rows of the table")


def test_verdicts():
  same = {"bare": 3500.0, "raw": 4600.0, "wavetap": 4650.0}
  found = verdict(made_up(same, noise=0.002))
  check(found.verdict == "met" and found.low < found.value < found.high < 1.05, "met, well inside", found)
  found = verdict(made_up({**same, "wavetap": 5200.0}, noise=0.002))
  check(found.verdict == "not met" and found.low > 1.05, "not met, well outside", found)
  found = verdict(made_up({**same, "wavetap": 4800.0}, noise=0.2, rounds=6))
  check(found.verdict.startswith("open"), "too much noise to tell", found)
  found = verdict(made_up({**same, "wavetap": 4600.0}, rounds=2))
  check(found.verdict == "open, within" and found.low is None, "two rounds have no interval", found)
  found = verdict(made_up(same, rounds=8, per_cluster=4))
  check(found.low is None and found.pairs == 8, "nor have eight of two generations", found)
  found = verdict(made_up({"bare": 3500.0, "wavetap": 4600.0}))
  check(found.verdict == "not measured" and found.value is None, "without the other nothing is claimed", found)
  check(field_table.verdict_cells(found)[1:3] == [".", "."], "and shown as a dot")
  # Drift of 30 % from round to round is in both sides.
  found = verdict(made_up(same, noise=0.001, rounds=30))
  check(abs(found.value - 4650 / 4600) < 0.002, "what drifts as a whole does not matter", found)


def test_added():
  ways = {"bare": 7300.0, "wavetap": 7900.0, "profiler": 11000.0}
  found = verdict(made_up(ways, noise=0.0005), "added", "wavetap", "profiler", 1 / 3)
  check(found.verdict == "met" and abs(found.value - 600 / 3700) < 0.01, "added over added", found)
  found = verdict(made_up({**ways, "wavetap": 9500.0}, noise=0.0005), "added", "wavetap", "profiler", 1 / 3)
  check(found.verdict == "not met", "more than a third", found)
  found = verdict(made_up({**ways, "profiler": 7000.0}, noise=0.0005), "added", "wavetap", "profiler", 1 / 3)
  check(found.value is None and found.verdict.startswith("no ratio"), "the other adds nothing: no ratio", found)
  found = verdict(made_up({"bare": 3500.0, "hooks": 3600.0}, noise=0.0005), "plus", "hooks", "bare", 150.0)
  check(found.verdict == "met" and 60 < found.value < 140, "plain difference", found)
  check(field_table.verdict_cells(found)[3] == "150", "a limit in ns")


def test_tables():
  samples = [Sample("eager", "bare", 0, 0, 1.0), Sample("eager", "raw", 0, 0, 1.5), Sample("storm", "bare", 0, 0, 9.0)]
  rows = list(field_table.added_each(samples, {"eager": 250, "storm": 1}))
  check(rows == [["eager", "raw", "250", "2,000"]], "0.5 ms over 250 kernels is 2,000 ns each", rows)
  tables = field_table.tables(samples, [], {})
  check(len(tables) == 2 and len(tables[0][1]) == 3 and len(tables[1][1]) == len(field_table.LIMITS),
        "tables: no rows for what there is none of", tables)
  rows = [["storm", "bare", "3"], ["torch-storm", "wavetap", "12"]]
  lines = field_table.text_table(["workload", "by", "n"], rows).splitlines()
  check(lines == ["WORKLOAD     BY        N", "storm        bare      3", "torch-storm  wavetap  12"], "columns line up", lines)
  check(field_table.markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |", "Markdown")
  check(field_table.number(None, 3) == "." and field_table.number(1234.5, 0) == "1,234", "numbers, and none")
  check(all({limit.way, limit.other} <= set(field_table.WAYS) and limit.kind in field_table.KINDS and
            limit.workload in field_table.UNITS for limit in field_table.LIMITS), "each limit is of something measured")


def main():
  if sys.argv[1:2] == ["program"]:
    program(sys.argv[2], sys.argv[3:])
    return 0
  if sys.argv[1:2] == ["worker"]:
    worker(sys.argv[2:])
    return 0
  test_figures()
  test_verdicts()
  test_added()
  test_tables()
  print(f"1..{tests}")
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())

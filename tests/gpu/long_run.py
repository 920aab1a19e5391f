#!/usr/bin/env python3
"""Tens of millions of graph nodes: does memory stay flat, do times stay, is each kernel accounted for?

  long_run.py BUILD WORK [--nodes N] [--buffers N] [--probe N]

First 200 launching threads: CUDA 13 would give each a buffer of its own (F19). Then
long_graph bare (two million nodes), PROBE nodes preloaded under WAVETAP_CUPTI_BUFFERS=8 and under
CUPTI's own limit, and N nodes (60 million) under --buffers (8): each device buffer holds the times of
100,000 kernels, so that buffers which never come back are used up within the first percents. Every other
second a line: nodes replayed, resident memory of the program and of wavetapd, device memory in use,
kernels stored, of these without time, dropped. What the ring has no room for is dropped and counted:
a million nodes a second come, a quarter of that can be stored.

  threads  the program's memory at its most: at most 128 MiB more than bare; all kernels there
  books    kernels + dropped = nodes; nothing unexplained
  memory   program and daemon: at most 64 MiB more at the end than after a tenth of the run; device: at most
           64 MiB and twice the buffers more than bare
  times    all kernels have one; else it is an F18: status must have raised the alarm

Exit status: 0 all of it holds, 1 not so, 2 usage, 3 unreadable.
"""
import argparse
import json
import os
import shutil
import subprocess
import time

import guest

MIB = 1 << 20
BUFFER_BYTES = 3_200_000
ROOM_BYTES = 64 * MIB
THREADS, LAUNCHES, THREADS_ROOM_BYTES = 200, 500, 128 * MIB
BARE_NODES = 2_000_000
PERIOD_S = 2.0
NS_PER_NODE_LIMIT = 6000  # of the time limit


def resident_bytes(pid, what="VmRSS:"):
  try:
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
      for line in file:
        if line.startswith(what):
          return int(line.split()[1]) * 1024
  except OSError:
    pass
  return None


def ask_status(build, data_dir):
  """The daemon's first process, {} if there is none."""
  try:
    text = subprocess.run([build.wavetap, "status", "--json"], capture_output=True, timeout=20,
                          env={**os.environ, "WAVETAP_DIR": data_dir}, check=False).stdout
    return (json.loads(text).get("daemon") or {}).get("processes", [{}])[0]
  except (subprocess.TimeoutExpired, ValueError, IndexError):
    return {}


def told(result):
  """The program's lines: (seconds, nodes, device bytes)."""
  rows = [line.split("\t") for line in result.text().splitlines() if line.startswith("at\t")]
  return [(float(row[1]), int(row[2]), int(row[3])) for row in rows if len(row) == 4]


class Sample:
  def __init__(self, build, process, result):
    lines = told(result)
    self.nodes, self.device = (lines[-1][1], lines[-1][2]) if lines else (0, None)
    self.program = resident_bytes(process.pid)
    self.daemon = next((resident_bytes(pid) for pid in guest.daemons(build, result.data_dir)), None)
    status = ask_status(build, result.data_dir)
    self.stored, self.no_time = status.get("kernels_stored"), status.get("kernels_no_time")
    self.dropped, self.alarm = status.get("kernels_dropped"), bool(status.get("is_timeless"))


def in_mib(count):
  return "." if count is None else f"{count / MIB:.1f}"


def print_sample(seconds, sample):
  print(f"  {seconds:6.1f} s  {sample.nodes:>11,} nodes  program {in_mib(sample.program)} MiB  daemon "
        f"{in_mib(sample.daemon)} MiB  device {in_mib(sample.device)} MiB  stored {sample.stored}  no time "
        f"{sample.no_time}  dropped {sample.dropped}{'  ALARM' if sample.alarm else ''}", flush=True)


def watch(build, name, nodes, settings):
  """The program preloaded and sampled: (Result, samples)."""
  began, samples = time.monotonic(), []
  limit_s = 30 + nodes * NS_PER_NODE_LIMIT / 1e9
  process, result = guest.start(build, "preload", name, [build.program("long_graph"), str(nodes)],
                                settings)
  while process.poll() is None and time.monotonic() - began < limit_s:
    time.sleep(PERIOD_S)
    sample = Sample(build, process, result)
    if process.poll() is None and sample.program:
      samples.append(sample)
      print_sample(time.monotonic() - began, sample)
  guest.finish(build, process, result, 1)
  return result, samples


def logged_alarm(result):
  try:
    with open(os.path.join(result.data_dir, "wavetapd.log"), encoding="utf-8") as log:
      return "gives kernels no times" in log.read()
  except OSError:
    return False


def judge_books(own, result, nodes):
  found = own.total("kernels") + own.dropped()
  if result.status != 0:
    yield f"exit status {result.status}: {result.last_error()}"
  if own.total("launches_dropped") == 0 and found != nodes:
    yield f"{found:,} kernels stored or dropped, {nodes:,} ran"
  yield from own.problems()


def judge_memory(samples, bare_device, buffers):
  start = samples[len(samples) // 10:]
  for what in ("program", "daemon"):
    values = [getattr(sample, what) for sample in start if getattr(sample, what)]
    if not values:
      yield f"{what}: not seen"
    elif values[-1] > values[0] + ROOM_BYTES:
      yield f"{what} grew from {in_mib(values[0])} to {in_mib(values[-1])} MiB"
  device = [sample.device for sample in samples if sample.device]
  if not device or max(device) > bare_device + ROOM_BYTES + 2 * buffers * BUFFER_BYTES:
    yield f"device: {in_mib(max(device, default=None))} MiB, bare {in_mib(bare_device)}"


def words_of(samples):
  parts = []
  for what in ("program", "daemon", "device"):
    values = [getattr(sample, what) for sample in samples if getattr(sample, what)]
    if values:
      parts.append(f"{what} first {in_mib(values[0])}, last {in_mib(values[-1])}, most {in_mib(max(values))} MiB")
  return "; ".join(parts) or "no samples"


def peak(build, how, name, command):
  """(Result, the program's resident memory at its most, or None)."""
  process, result = guest.start(build, how, name, command)
  limit, most = time.monotonic() + 60, None
  while process.poll() is None and time.monotonic() < limit:
    most = resident_bytes(process.pid, "VmHWM:") or most
    time.sleep(0.02)
  return guest.finish(build, process, result, 1), most


def check_threads(build, table):
  command = [build.program("link_truth"), str(THREADS), str(LAUNCHES)]
  (bare, before), (seen, after) = (peak(build, how, "threads", command) for how in ("bare", "preload"))
  own = guest.Own(seen.data_dir)
  problems = [f"exit status {result.status}" for result in (bare, seen) if result.status != 0]
  problems += own.problems()
  if own.total("kernels") != THREADS * LAUNCHES or own.dropped():
    problems.append(f"{THREADS * LAUNCHES:,} kernels ran, {own.dropped():,} dropped")
  if not before or not after or after > before + THREADS_ROOM_BYTES:
    problems.append("memory")
  table.add("threads", problems, f"{THREADS} threads, most {in_mib(after)} MiB, bare {in_mib(before)}; "
                                 f"{own.words()}")
  shutil.rmtree(seen.data_dir, ignore_errors=True)


def observe(build, table, name, nodes, settings, bare_device, buffers, is_long):
  result, samples = watch(build, name, nodes, settings)
  own = guest.Own(result.data_dir)
  no_time, stored = own.total("kernels_no_time"), own.total("kernels")
  last = told(result)[-1:] or [(0.0, 0, 0)]
  pace = f"{last[0][0] * 1e9 / max(1, last[0][1]):.0f} ns a node"
  table.add(name + "/books", judge_books(own, result, nodes), f"{pace}; {own.words()}")
  has_alarm = any(sample.alarm for sample in samples) or logged_alarm(result)
  silent = no_time >= 100 and not has_alarm
  table.add(name + "/times", ["no alarm"] if silent else [],
            f"{no_time:,} of {stored:,} stored kernels without time" + (", alarm raised" if has_alarm else ""))
  if samples and (is_long or len(samples) > 3):
    table.add(name + "/memory", judge_memory(samples, bare_device, buffers), words_of(samples))
  elif is_long:
    table.add(name + "/memory", ["no samples"], "")
  elif samples:
    print(f"       {name}: {words_of(samples)}")
  shutil.rmtree(result.data_dir, ignore_errors=True)  # gigabytes


def main():
  parser = argparse.ArgumentParser(description="a long run of graph nodes")
  parser.add_argument("build", help="folder with libwavetap.so and the programs")
  parser.add_argument("work", help="folder for logs, and gigabytes of run file for a while")
  parser.add_argument("--nodes", type=int, default=60_000_000, help="of the long run (60 million)")
  parser.add_argument("--buffers", type=int, default=8, help="CUPTI's device buffers in it (8)")
  parser.add_argument("--probe", type=int, default=3_000_000, help="nodes of the short runs (3 million)")
  arguments = parser.parse_args()
  build, table = guest.Build(arguments.build, arguments.work), guest.Table("long")
  bare = guest.run(build, "bare", "long", [build.program("long_graph"), str(BARE_NODES)], 60)
  lines = told(bare)
  if bare.status == 77:
    return 77
  table.add("bare", [] if bare.status == 0 and lines else [f"exit status {bare.status}"],
            f"{lines[-1][0] * 1e9 / BARE_NODES:.0f} ns a node, device {in_mib(lines[-1][2])} MiB"
            if lines else bare.last_error())
  bare_device = lines[-1][2] if lines else 0
  check_threads(build, table)
  for name, buffers in (("probe-8", 8), ("probe-250", 0)):
    if arguments.probe:
      observe(build, table, name, arguments.probe, {"WAVETAP_CUPTI_BUFFERS": str(buffers)}, bare_device,
              buffers or 250, False)
  observe(build, table, "long", arguments.nodes, {"WAVETAP_CUPTI_BUFFERS": str(arguments.buffers)},
          bare_device, arguments.buffers, True)
  return table.verdict()


if __name__ == "__main__":
  guest.main(main)

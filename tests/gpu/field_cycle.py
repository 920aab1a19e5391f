#!/usr/bin/env python3
"""A process that is told to measure the same work again and again while kinds of CUPTI are switched: for field_parts.py.

An order is a line

  cycle NAME MILLISECONDS REPEATS MODES

MODES with semicolons; a mode is words of raw_cupti_switch with commas, `none` or `-`: nothing is switched. Each repeat goes
through all modes, beginning with another one each time, so that drift falls on all alike: switch, run steps
for about MILLISECONDS to get used to it, then as many that count. The answer, JSON: for each mode its
repeats as [wall ns, CPU ns of the process, CPU ns of this thread] a step, and `counts`, what raw_cupti counted in all of that mode by step, where it walks.
"""
import collections
import ctypes
import time

TEXT_BYTES = 65536
PROBE_STEPS = 2


class Switch:
  """raw_cupti.so in this process: the one the driver has loaded, or loaded now."""

  def __init__(self, path):
    self.library = ctypes.CDLL(path) if path else None

  def to(self, mode):
    if mode == "-" or not self.library:
      return
    status = self.library.raw_cupti_switch(mode.encode())
    if status:
      raise OSError(f"raw_cupti_switch({mode}): {status}")

  def counts(self):
    """{"runtime 211": records since the last time}; {} where raw_cupti does not record."""
    if not self.library:
      return {}
    text = ctypes.create_string_buffer(TEXT_BYTES)
    if self.library.raw_cupti_counts(text, ctypes.c_size_t(TEXT_BYTES)):
      return {}
    lines = [line.rsplit(" ", 1) for line in text.value.decode().splitlines()]
    return {what: int(count) for what, count in lines}


def timed(workload, steps):
  """[wall, CPU of the process, CPU of this thread] a step, ns; `run` ends when the device is idle."""
  before = time.process_time_ns(), time.thread_time_ns()
  wall_ms = workload.run(steps)
  after = time.process_time_ns(), time.thread_time_ns()
  workload.losses.clear()
  return [wall_ms * 1e6, (after[0] - before[0]) / steps, (after[1] - before[1]) / steps]


def cycle(workloads, words, switch):
  workload, piece_ms, repeats, modes = workloads[words[1]], float(words[2]), int(words[3]), words[4].split(";")
  times, counts, steps_of = collections.defaultdict(list), collections.defaultdict(collections.Counter), collections.Counter()
  timed(workload, PROBE_STEPS)
  steps = max(1, round(piece_ms * 1e6 / timed(workload, PROBE_STEPS)[0]))
  switch.counts()
  for number in range(repeats):
    turn = number % len(modes)
    for mode in modes[turn:] + modes[:turn]:
      switch.to(mode)
      timed(workload, steps)
      times[mode].append(timed(workload, steps))
      counts[mode].update(switch.counts())
      steps_of[mode] += 2 * steps
  return {"times": times,
          "counts": {mode: {what: count / steps_of[mode] for what, count in found.items()}
                     for mode, found in counts.items()}}

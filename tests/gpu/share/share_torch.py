#!/usr/bin/env python3
"""torch.profiler in the ways that people use it, in one process.

  share_torch.py [--first] [--kernels FILE] [--plain]

Sessions are around steps of 21 or so kernels and a copy each. Prints `SHARE {json}` for each way of
using it: how many sessions, what they counted, what the kernels took. --first: a session before
anything is launched. --kernels FILE: a line per kernel event: way, CUPTI's correlation id, ns, name.
--plain: three steps without any profiler, and a line with their result.
"""
import argparse
import json
import os
import tempfile
import threading

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from share_report import Report

ACTIVITIES = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
SIZE, LAYERS = 512, 10


class Work:
  def __init__(self):
    torch.manual_seed(1)
    self.weights = [torch.randn(SIZE, SIZE, device="cuda") / SIZE ** 0.5 for _ in range(LAYERS)]
    self.input = torch.randn(SIZE, SIZE).pin_memory()

  def step(self):
    x = self.input.to("cuda", non_blocking=True)
    for weight in self.weights:
      x = torch.relu(x @ weight)
    total = x.sum()
    torch.cuda.synchronize()
    return total

  def steps(self, count):
    for _ in range(count):
      self.step()


def kernels_of(profiler):
  """(name, correlation id, ns) of the kernels in the trace that a user would look at; copies."""
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as trace:
      events = [event for event in json.load(trace)["traceEvents"] if event.get("ph") == "X"]
  kernels = [(event["name"], event["args"].get("correlation", 0), round(event["dur"] * 1000))
             for event in events if event.get("cat") == "kernel"]
  return kernels, sum(event.get("cat") in ("gpu_memcpy", "gpu_memset") for event in events)


def scheduled(work, report):
  """Eight cycles of wait, warm-up and three active steps."""

  def ready(profiler):
    report.session("schedule", *kernels_of(profiler))

  with profile(activities=ACTIVITIES, schedule=schedule(wait=1, warmup=1, active=3, repeat=8),
               on_trace_ready=ready) as profiler:
    for _ in range(40):
      work.step()
      profiler.step()


def sessions(work, report, way, count, steps, **options):
  for _ in range(count):
    torch.cuda.synchronize()
    with profile(**{"activities": ACTIVITIES, **options}) as profiler:
      work.steps(steps)
    report.session(way, *kernels_of(profiler))


def in_thread(work, report):
  """The profiler belongs to another thread than the one that launched before and after."""
  thread = threading.Thread(target=sessions, args=(work, report, "thread", 2, 3))
  thread.start()
  thread.join()
  work.steps(2)


def plain():
  work = Work()
  total = sum(work.step().item() for _ in range(3))
  print(f"PLAIN {total:.6g}")


def main():
  parser = argparse.ArgumentParser(description="torch.profiler, many ways")
  parser.add_argument("--first", action="store_true", help="a session before all launches")
  parser.add_argument("--kernels", metavar="FILE", help="a line per kernel event")
  parser.add_argument("--plain", action="store_true", help="three steps without a profiler")
  arguments = parser.parse_args()
  if arguments.plain:
    plain()
    return
  report = Report(arguments.kernels)
  if arguments.first:
    with profile(activities=ACTIVITIES) as profiler:
      work = Work()
      work.steps(2)
    report.session("before-launches", *kernels_of(profiler))
  else:
    work = Work()
    work.steps(5)
  scheduled(work, report)
  work.steps(5)
  sessions(work, report, "stacks", 2, 3, with_stack=True, record_shapes=True, profile_memory=True)
  sessions(work, report, "cuda-only", 2, 3, activities=[ProfilerActivity.CUDA])
  in_thread(work, report)
  sessions(work, report, "short", 20, 1)
  work.steps(5)
  report.finish()


if __name__ == "__main__":
  main()

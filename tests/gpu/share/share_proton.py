#!/usr/bin/env python3
"""Proton, Triton's profiler, with its CUPTI backend, around steps of PyTorch.

  share_proton.py [--first] [--then-torch]

Three sessions, each written as a .hatchet file and counted from there; one that is switched off for
half of its steps; with --first one before anything was launched; with --then-torch one of torch.profiler after
them. Prints `SHARE {json}` per way.
"""
import argparse
import collections
import json
import os
import tempfile

from share_report import Report, skip

try:
  import torch
  import triton.profiler as proton
except ImportError as error:
  skip(f"not installed: {error}")

STEPS = 5
METRICS = (("count", 1), ("time (ns)", 1), ("time (us)", 1e3), ("time (ms)", 1e6), ("time (s)", 1e9))


class Work:
  def __init__(self):
    torch.manual_seed(1)
    self.weights = [torch.randn(512, 512, device="cuda") / 23 for _ in range(10)]

  def steps(self, count):
    for _ in range(count):
      x = self.weights[0]
      for weight in self.weights:
        x = torch.relu(x @ weight)
    torch.cuda.synchronize()


def leaves(node):
  """Nodes without children: the kernels."""
  children = node.get("children") or []
  if not children:
    yield node
  for child in children:
    yield from leaves(child)


def count(report, way, path):
  with open(path, encoding="utf-8") as file:
    tree = json.load(file)
  names, time_ns = collections.Counter(), 0.0
  for root in (node for node in tree if "frame" in node):
    for node in leaves(root):
      metrics = node.get("metrics", {})
      names[node["frame"]["name"]] += int(metrics.get("count", 0))
      time_ns += sum(float(metrics.get(name, 0)) * scale for name, scale in METRICS[1:])
  names = {name: n for name, n in names.items() if n}
  report.totals(way, sum(names.values()), 0, time_ns, names)


def session(report, way, work):
  with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "proton")
    number = proton.start(name, backend="cupti", context="shadow")
    work(number)
    torch.cuda.synchronize()
    proton.finalize()
    count(report, way, name + ".hatchet")


def torch_session(report, work):
  from share_torch import kernels_of
  from torch.profiler import ProfilerActivity, profile

  with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    work.steps(STEPS)
  report.session("then-torch", *kernels_of(profiler))


def main():
  parser = argparse.ArgumentParser(description="Proton")
  parser.add_argument("--first", action="store_true", help="a session before all launches")
  parser.add_argument("--then-torch", action="store_true", help="torch.profiler after Proton's sessions")
  arguments = parser.parse_args()
  if not torch.cuda.is_available():
    skip("no GPU for PyTorch")
  report, made = Report(), {}

  def first(_):
    made["work"] = Work()
    made["work"].steps(STEPS)

  def half(number):
    made["work"].steps(STEPS)
    proton.deactivate(number)
    made["work"].steps(STEPS)
    proton.activate(number)
    made["work"].steps(STEPS)

  if arguments.first:
    session(report, "before-launches", first)
  else:
    first(0)
  for _ in range(3):
    made["work"].steps(2)
    session(report, "session", lambda _: made["work"].steps(STEPS))
  session(report, "half", half)
  made["work"].steps(2)
  if arguments.then_torch:
    torch_session(report, made["work"])
  report.finish()


if __name__ == "__main__":
  main()

#!/usr/bin/env python3
"""Training steps that field.py has measured, in a process of one way of watching.

  field_torch.py --socket PATH --way WAY [--profiler] [--only LIST] [--switch LIBRARY]

Builds and warms up what it runs, connects to PATH and sends a line of JSON: its way, and why a workload
is another than its name says (`notes`) or is missing. Then it does what it is told, a line at a time:

  measure NAME STEPS PIECES   STEPS steps to warm up, then PIECES times STEPS; with --profiler all of it
                              inside one session of torch.profiler (CUDA alone). Answers with ms a step of
                              each piece, the times of the first and the last step, and the kernels a step if
                              the profiler counted them
  cycle ...     for field_parts.py: see field_cycle.py
  quit

  torch-storm   x.add_(1), one small kernel a step
  eager         train.py's transformer, batch 4: the host launches more slowly than the GPU works
  compiled      four blocks of it by torch.compile(mode="reduce-overhead"), that is CUDA graphs; where that does not
                work, the whole step as one captured graph, and the note says so
  gemm          two blocks of width 4096, 4,096 tokens: bound by GEMMs

One thread; the GPU is idle between orders.
"""
import argparse
import json
import os
import socket
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no helper processes, which would be watched, too

import torch
from torch.nn import functional

import field_cycle
import train

BATCH = 4
WARM_UP = 6
LARGE = {"WIDTH": 4096, "BLOCKS": 2, "HEADS": 32, "TOKENS": 1024}
SHORT = {"BLOCKS": 4}  # compiles in half the time


class Storm:
  def __init__(self):
    self.x = torch.zeros(16, device="cuda")
    self.losses = []

  def run(self, steps):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
      self.x.add_(1)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e3


class Graphed(train.Trainer):
  """The whole step as one graph."""

  def __init__(self, batch):
    super().__init__("eager", batch)
    self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4, capturable=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
      for _ in range(3):
        self.work()
    torch.cuda.current_stream().wait_stream(side)
    self.graph = torch.cuda.CUDAGraph()
    self.optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(self.graph):
      self.work()

  def work(self):
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
      logits = self.model(self.tokens)
      loss = functional.cross_entropy(logits.view(-1, logits.shape[-1]), self.tokens.view(-1))
    self.optimizer.zero_grad(set_to_none=True)
    loss.backward()
    self.optimizer.step()

  def step(self):
    self.graph.replay()


def sized(sizes, make, *arguments):
  """train.py's model with other sizes, which it reads while it is made."""
  before = {name: getattr(train, name) for name in sizes}
  vars(train).update(sizes)
  try:
    return make(*arguments)
  finally:
    vars(train).update(before)


def first_line(error):
  lines = str(error).strip().splitlines()
  return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"


def compiled(notes):
  try:
    trainer = sized(SHORT, train.Trainer, "compile", BATCH)
    trainer.run(WARM_UP)
    return trainer
  except Exception as error:  # whatever a compiler that is not there leads to
    notes["compiled"] = f"captured as one graph, for torch.compile failed: {first_line(error)}"
  return sized(SHORT, Graphed, BATCH)


def build(notes, only):
  """{name: what runs it}; what can't be made is left out, and said."""
  workloads = {}
  for name, make in (("torch-storm", Storm), ("eager", lambda: train.Trainer("eager", BATCH)),
                     ("compiled", lambda: compiled(notes)), ("gemm", lambda: sized(LARGE, train.Trainer, "eager", BATCH))):
    if only and name not in only:
      continue
    try:
      workload = make()
      workload.run(WARM_UP)
      workload.losses.clear()
      workloads[name] = workload
    except Exception as error:
      notes[name] = f"not run: {first_line(error)}"
  return workloads


def kernels_in(profiler):
  """Kernels of a session; None where that PyTorch does not tell them."""
  try:
    events = profiler.profiler.kineto_results.events()
    return sum(str(event.device_type()).endswith("CUDA") and not event.name().startswith(("Memcpy", "Memset"))
               for event in events)
  except AttributeError:
    return None


def pieces_of(workload, steps, pieces):
  workload.run(steps)
  times_ms = [workload.run(steps) for _ in range(pieces)]
  workload.losses.clear()
  return {"ms": times_ms, "kernels_per_step": None}


def measure(workload, steps, pieces, is_profiled):
  if not is_profiled:
    return pieces_of(workload, steps, pieces)
  with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
    answer = pieces_of(workload, steps, pieces)
  kernels = kernels_in(profiler)
  answer["kernels_per_step"] = kernels / (steps * (pieces + 1)) if kernels is not None else None
  return answer


def serve(file, workloads, is_profiled, switch):
  for line in file:
    words = line.split()
    if not words or words[0] == "quit":
      return
    if words[0] == "cycle":
      answer = field_cycle.cycle(workloads, words, switch)
    else:
      answer = measure(workloads[words[1]], int(words[2]), int(words[3]), is_profiled)
    file.write(json.dumps(answer) + "\n")
    file.flush()


def main():
  parser = argparse.ArgumentParser(description="training steps for field.py")
  parser.add_argument("--socket", required=True)
  parser.add_argument("--way", required=True)
  parser.add_argument("--profiler", action="store_true")
  parser.add_argument("--only", help="workloads, with commas")
  parser.add_argument("--switch", help="raw_cupti.so")
  arguments = parser.parse_args()
  torch.manual_seed(0)
  if arguments.profiler:  # one that attaches after a graph was captured may miss its nodes
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
      torch.zeros(1, device="cuda").add_(1)
      torch.cuda.synchronize()
  notes = {}
  workloads = build(notes, arguments.only.split(",") if arguments.only else None)
  with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(arguments.socket)
    with connection.makefile("rw") as file:
      file.write(json.dumps({"way": arguments.way, "workloads": list(workloads), "notes": notes}) + "\n")
      file.flush()
      serve(file, workloads, arguments.profiler, field_cycle.Switch(arguments.switch))


if __name__ == "__main__":
  main()

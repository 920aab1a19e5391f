#!/usr/bin/env python3
"""A small transformer's training loop, for comparing runs with and without wavetap.

  train.py [eager|compile] [--steps N] [--warm-up N] [--batch N] [--profiler N] [--attach-first]
  train.py [eager|compile] --until-eof   until its input ends, for sample_cost.py

Eight blocks, bf16 autocast, AdamW (other scripts set other sizes before they make a model); `compile` uses torch.compile(mode="reduce-overhead"), that is
CUDA graphs. Algorithms are deterministic and seeds fixed, so the losses of two runs are equal bit
by bit unless something disturbed the work.

--profiler N starts and stops torch.profiler N times in the middle and counts, in the trace that a
user would look at, what it saw: a line `PROFILER {json}` for each session. The counts of a run
under wavetap must equal those of one without. A profiler that attaches after graphs were captured
may see less of them than one that was there before; --attach-first runs a session before the
model exists, so that both runs are of the second kind.

Last lines of stdout:
  PROFILER {"session": 0, "steps": 5, "kernels": ..., "kernel_ns": ..., ...}
  TRAIN {"mode": "eager", "ms_per_step_median": ..., "loss": ..., "loss_digest": ...}
"""
import argparse
import collections
import hashlib
import json
import os
import select
import struct
import sys
import tempfile
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS starts

import torch
from torch import nn
from torch.nn import functional

WIDTH, BLOCKS, HEADS, VOCABULARY, TOKENS = 512, 8, 8, 8192, 256
ACTIVITIES = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
PARTS = 5  # the timed steps are split into so many parts, whose median is printed


class Block(nn.Module):
  def __init__(self):
    super().__init__()
    self.heads = HEADS
    self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
    self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
    self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

  def forward(self, x):
    batch, tokens, width = x.shape
    qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    attention = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + self.out(attention.transpose(1, 2).reshape(batch, tokens, width))
    return x + self.mlp(self.norm2(x))


class Model(nn.Module):
  def __init__(self):
    super().__init__()
    self.embedding = nn.Embedding(VOCABULARY, WIDTH)
    self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
    self.head = nn.Linear(WIDTH, VOCABULARY)

  def forward(self, tokens):
    return self.head(self.blocks(self.embedding(tokens)))


class Trainer:
  """Model, optimizer and one fixed batch; step() is one training step."""

  def __init__(self, mode, batch):
    self.model = Model().cuda()
    self.forward = self.model
    if mode == "compile":
      self.forward = torch.compile(self.model, mode="reduce-overhead")
    self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)
    self.tokens = torch.randint(0, VOCABULARY, (batch, TOKENS), device="cuda")
    self.losses = []

  def step(self):
    torch.compiler.cudagraph_mark_step_begin()
    with torch.autocast("cuda", dtype=torch.bfloat16):
      logits = self.forward(self.tokens)
      loss = functional.cross_entropy(logits.view(-1, logits.shape[-1]), self.tokens.view(-1))
    loss.backward()
    self.optimizer.step()
    self.optimizer.zero_grad(set_to_none=True)
    self.losses.append(loss.detach().clone())  # a graph's next replay overwrites what it returned

  def run(self, steps):
    """Milliseconds per step, the device idle before and after."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
      self.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e3


def summarize_trace(path):
  """What torch.profiler recorded, counted without any of its own tables."""
  with open(path, encoding="utf-8") as trace:
    events = [event for event in json.load(trace)["traceEvents"] if event.get("ph") == "X"]
  categories = collections.Counter(event.get("cat") for event in events)
  kernels = [event for event in events if event.get("cat") == "kernel"]
  names = collections.Counter(event["name"] for event in kernels)
  return {
    "kernels": len(kernels),
    "kernel_ns": round(sum(event["dur"] for event in kernels) * 1000),
    "kernel_names": len(names),
    "kernel_names_digest": hashlib.sha256(repr(sorted(names.items())).encode()).hexdigest()[:16],
    "memcpy": categories["gpu_memcpy"],
    "memset": categories["gpu_memset"],
    "api_calls": categories["cuda_runtime"] + categories["cuda_driver"],
  }


def profile(trainer, session, steps):
  torch.cuda.synchronize()
  with torch.profiler.profile(activities=ACTIVITIES) as profiler:
    trainer.run(steps)
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    profiler.export_chrome_trace(path)
    summary = summarize_trace(path)
  print("PROFILER", json.dumps({"session": session, "steps": steps} | summary), flush=True)


def run_until_eof(trainer):
  """Pieces of five steps until the input ends; then when each was, and nanoseconds a step."""
  pieces = []
  print("ready", flush=True)
  while not select.select([sys.stdin], [], [], 0)[0]:
    begin = time.monotonic_ns()
    step_ms = trainer.run(PARTS)
    pieces.append((begin, time.monotonic_ns(), step_ms * 1e6))
    trainer.losses.clear()
  print("#piece\tbegin_ns\tend_ns\tstep_ns")
  for begin, end, step_ns in pieces:
    print(f"piece\t{begin}\t{end}\t{step_ns:.0f}")


def parse_arguments():
  parser = argparse.ArgumentParser(description="training loop for comparing runs")
  parser.add_argument("mode", nargs="?", choices=("eager", "compile"), default="eager")
  parser.add_argument("--steps", type=int, default=200, help="timed steps (200)")
  parser.add_argument("--warm-up", type=int, default=10, help="steps before them (10)")
  parser.add_argument("--batch", type=int, default=4, help="sequences in a batch (4)")
  parser.add_argument("--profiler", type=int, default=0, metavar="N", help="profiler sessions (0)")
  parser.add_argument("--profiler-steps", type=int, default=5, help="steps of a session (5)")
  parser.add_argument("--attach-first", action="store_true", help="a session before everything")
  parser.add_argument("--until-eof", action="store_true", help="pieces of steps until the input ends")
  arguments = parser.parse_args()
  if min(arguments.warm_up, arguments.batch, arguments.profiler_steps) < 1:
    parser.error("--warm-up, --batch and --profiler-steps are at least 1")
  if arguments.steps < PARTS or arguments.profiler < 0:
    parser.error(f"--steps is at least {PARTS}, --profiler at least 0")
  return arguments


def main():
  arguments = parse_arguments()
  torch.manual_seed(0)
  torch.use_deterministic_algorithms(True, warn_only=True)
  torch.utils.deterministic.fill_uninitialized_memory = False  # no kernels a user would not have

  if arguments.attach_first:
    with torch.profiler.profile(activities=ACTIVITIES):
      torch.zeros(1, device="cuda").add_(1)
      torch.cuda.synchronize()
  trainer = Trainer(arguments.mode, arguments.batch)
  trainer.run(arguments.warm_up)
  if arguments.until_eof:
    run_until_eof(trainer)
    return
  times_ms = []
  for part in range(PARTS):
    # Sessions are spread over the breaks between parts: never the first thing, never the last.
    times_ms.append(trainer.run(arguments.steps // PARTS))
    if part < PARTS - 1:
      for session in range(part, arguments.profiler, PARTS - 1):
        profile(trainer, session, arguments.profiler_steps)
  losses = torch.stack(trainer.losses).float().cpu().tolist()
  times_ms.sort()
  print("TRAIN", json.dumps({
    "mode": arguments.mode, "batch": arguments.batch, "steps": len(losses),
    "ms_per_step_min": round(times_ms[0], 4), "ms_per_step_median": round(times_ms[PARTS // 2], 4),
    "ms_per_step_max": round(times_ms[-1], 4), "loss": losses[-1],
    "loss_digest": hashlib.sha256(struct.pack(f"<{len(losses)}f", *losses)).hexdigest()[:16],
  }), flush=True)


if __name__ == "__main__":
  main()

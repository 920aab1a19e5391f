#!/usr/bin/env python3
"""torch.cuda.nvtx: ranges around the steps of a training loop, as people write them.

  cover_nvtx.py [STEPS]

Each step: "step" around "forward", "backward", "optimizer" and "adds", the last with ADDS kernels
launched one by one. Beside that a started range across threads per two steps, nested ranges on a
second thread, and a pop too many at the end. Prints what push and pop returned first (-2: nobody
listens), what a push and pop cost, and `COVER {json}` with the ranges that there must be.
"""
import sys
import threading
import time

import cover_report

try:
  import torch
  from torch import nn
  from torch.cuda import nvtx
except ImportError as error:
  cover_report.skip(f"not installed: {error}")

ADDS = 37
PAIRS = 100_000


def train(steps):
  model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512)).cuda()
  optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
  x, y = torch.randn(64, 512, device="cuda"), torch.randn(64, 512, device="cuda")
  counter = torch.zeros(1, device="cuda")
  torch.cuda.synchronize()
  returned, handle = [], None
  for step in range(steps):
    if step % 2 == 0:
      handle = nvtx.range_start("two steps")
    returned.append(nvtx.range_push("step"))
    returned.append(nvtx.range_push("forward"))
    loss = nn.functional.mse_loss(model(x), y)
    returned.append(nvtx.range_pop())
    nvtx.range_push("backward")
    loss.backward()
    nvtx.range_pop()
    with nvtx.range("optimizer"):
      optimizer.step()
      optimizer.zero_grad(set_to_none=True)
    nvtx.range_push("adds")
    for _ in range(ADDS):
      counter.add_(1)
    nvtx.range_pop()
    returned.append(nvtx.range_pop())
    if step % 2 == 1:
      thread = threading.Thread(target=nvtx.range_end, args=(handle,))
      thread.start()
      thread.join()
  torch.cuda.synchronize()
  assert counter.item() == ADDS * steps, "an addition is missing"
  return returned[:4]


def beside(rounds):
  value = torch.zeros(1, device="cuda")
  for _ in range(rounds):
    nvtx.range_push("outer")
    nvtx.range_push("inner")
    value.add_(1)
    nvtx.range_pop()
    nvtx.range_pop()
  torch.cuda.synchronize()


def cost_ns():
  """Of a push and pop from Python, and of the same calls of an empty function."""
  def nothing(_=None):
    return 0

  times = []
  for push, pop in ((nvtx.range_push, nvtx.range_pop), (nothing, nothing)):
    before = time.perf_counter_ns()
    for _ in range(PAIRS):
      push("cost")
      pop()
    times.append((time.perf_counter_ns() - before) / PAIRS)
  return times[0] - times[1]


def main():
  if not torch.cuda.is_available():
    cover_report.skip("no CUDA device for torch")
  steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40
  steps -= steps % 2
  returned = train(steps)
  thread = threading.Thread(target=beside, args=(50,))
  thread.start()
  thread.join()
  extra = nvtx.range_pop()
  cost = cost_ns()
  print(f"returned {returned}, a pop too many {extra}, push and pop {cost:.0f} ns, torch {torch.__version__}")
  cover_report.finish(
    ranges={"step": steps, "forward": steps, "backward": steps, "optimizer": steps, "adds": steps,
            "two steps": steps // 2, "outer": 50, "inner": 50},
    kernels_inside={"adds": ADDS * steps, "inner": 50, "outer": 50}, cost_name="cost", cost_pairs=PAIRS,
    unbalanced=1, is_heard=returned[0] == 0, returned=returned, push_pop_ns=round(cost))


if __name__ == "__main__":
  main()

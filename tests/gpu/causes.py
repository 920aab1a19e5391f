#!/usr/bin/env python3
"""Programs in which one cause dominates, for causes_check.py: causes.py [PART...]

Each part does its work once before it counts (nothing is compiled or allocated in the part that
counts), waits for the GPU, and then runs for about a second. A line for each, on stdout:

  CAUSES {"part", "from_ns", "to_ns" (CLOCK_REALTIME), "expect": kinds of which the first finding must be
          one (empty: there must be none), "planted": {"cause", "ns"} where time was planted exactly}

A part that can't run here prints CAUSES {"part", "skip": why}. One process, one part after the other, so
that PyTorch is imported once.
"""
import ctypes
import json
import os
import sys
import time

os.environ["USE_PYTORCH_KERNEL_CACHE"] = "0"  # what is compiled late must not come from a file

import torch  # noqa: E402

SECONDS = 1.0
PAUSE_S = 0.05
MIB = 1 << 20


def until(seconds, body, batch=1):
  """Calls `body` in batches until the time is over; how often."""
  end = time.perf_counter() + seconds
  count = 0
  while time.perf_counter() < end:
    for _ in range(batch):
      body()
    count += batch
  return count


def busy_wait(ns):
  end = time.perf_counter_ns() + ns
  while time.perf_counter_ns() < end:
    pass


def tensor(mib):
  return torch.ones(mib * MIB // 4, device="cuda")


class Sleep:
  """The host sleeps between kernels."""
  expect = ["host", "data-loading"]

  def __init__(self):
    self.x = tensor(64)
    self.slept_ns = 0

  def body(self):
    self.x.mul_(1.0)
    start = time.perf_counter_ns()
    time.sleep(0.005)
    self.slept_ns += time.perf_counter_ns() - start

  def run(self, seconds):
    self.slept_ns = 0
    until(seconds, self.body)
    return {"planted": {"cause": "host", "ns": self.slept_ns}}


class Item:
  """`.item()` after every kernel."""
  expect = ["sync-each-launch"]

  def __init__(self):
    self.x = tensor(4)

  def run(self, seconds):
    until(seconds, lambda: self.x.sum().item(), 20)


class Pinned:
  """Copies from pinned memory in the stream that computes: nothing hides them."""
  expect = ["copy-exposed"]

  def __init__(self):
    self.x = tensor(64)
    self.host = torch.ones(64 * MIB // 4).pin_memory()

  def body(self):
    self.x.copy_(self.host, non_blocking=True)
    self.x.mul_(1.0)

  def run(self, seconds):
    for _ in range(max(1, int(seconds * 400))):
      self.body()


class Pageable(Pinned):
  """Copies from pageable memory."""
  expect = ["copy-pageable"]

  def __init__(self):
    super().__init__()
    self.host = torch.ones(64 * MIB // 4)

  def body(self):
    self.x.copy_(self.host)
    self.x.mul_(1.0)

  def run(self, seconds):
    until(seconds, self.body)


class Tiny:
  """1,000 kernels of a microsecond, over and over."""
  expect = ["small-kernels"]

  def __init__(self):
    self.x = torch.ones(1024, device="cuda")

  def run(self, seconds):
    until(seconds, lambda: self.x.add_(1.0), 1000)


class Graph:
  """Graphs of ten kernels; between two launches of it the host works for 50 to 200 us."""
  expect = ["graph-break"]

  def __init__(self):
    self.x = tensor(4)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
      self.x.mul_(1.0)
    torch.cuda.synchronize()
    self.graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(self.graph):
      for _ in range(10):
        self.x.mul_(1.0)
    self.random = 1

  def body(self):
    self.graph.replay()
    self.random = (self.random * 1103515245 + 12345) % (1 << 31)
    busy_wait(50000 + self.random % 150000)

  def run(self, seconds):
    until(seconds, self.body, 10)


class Alloc:
  """Memory is allocated and freed around every kernel, past PyTorch's cache."""
  expect = ["alloc"]

  def __init__(self):
    self.x = tensor(16)
    self.driver = ctypes.CDLL("libcuda.so.1")
    self.memory = ctypes.c_uint64()

  def call(self, name, *arguments):
    result = getattr(self.driver, name)(*arguments)
    if result:
      raise RuntimeError(f"{name}: error {result}")

  def body(self):
    self.call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(64 * MIB))
    self.x.add_(1.0)
    self.call("cuMemFree_v2", self.memory)

  def run(self, seconds):
    until(seconds, self.body, 5)


class Gemm:
  """A large bf16 GEMM, its shape the fastest of a few: nothing to find."""
  expect = []
  SHAPES = ((8192, 8192, 8192), (8448, 8192, 8192), (16896, 8192, 8192), (8448, 8448, 8192))

  def __init__(self):
    best = 0
    for m, n, k in self.SHAPES:
      a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
      b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
      out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
      rate = self.rate(a, b, out)
      if rate > best:
        best, self.operands = rate, (a, b, out)
    self.per_second = best / self.work(*self.operands)

  @staticmethod
  def work(a, b, _out):
    return 2.0 * a.shape[0] * a.shape[1] * b.shape[1]

  def rate(self, a, b, out):
    for _ in range(3):
      torch.mm(a, b, out=out)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
      torch.mm(a, b, out=out)
    torch.cuda.synchronize()
    return 10 * self.work(a, b, out) / (time.perf_counter() - start)

  def run(self, seconds):
    a, b, out = self.operands
    for _ in range(max(3, int(seconds * self.per_second))):
      torch.mm(a, b, out=out)
    return {"shape": [a.shape[0], b.shape[1], a.shape[1]],
            "tflops": round(self.per_second * self.work(a, b, out) / 1e12)}


class Late:
  """A kernel that is compiled in the middle of the run."""
  expect = ["late-load"]

  def __init__(self):
    self.x = tensor(64)
    jiterator = torch.cuda.jiterator
    self.create = getattr(jiterator, "create_jit_fn", None) or jiterator._create_jit_fn

  def run(self, seconds):
    if seconds < SECONDS:  # warming up: the new kernel is not to be run
      until(seconds, lambda: self.x.mul_(1.0), 10)
      torch.cuda.synchronize()
      return None
    name = f"late_{time.time_ns()}"
    function = self.create(
      f"template <typename T> T {name}(T a) {{ return a * T(1) + T({time.time_ns() % 1000}); }}")
    for _ in range(500):
      self.x.mul_(1.0)
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    function(self.x)
    compiled_ns = time.perf_counter_ns() - start
    for _ in range(500):
      self.x.mul_(1.0)
    return {"compiled_ms": round(compiled_ns / 1e6, 1)}


PARTS = {"sleep": Sleep, "item": Item, "pinned": Pinned, "pageable": Pageable, "tiny": Tiny,
         "graph": Graph, "alloc": Alloc, "gemm": Gemm, "late": Late}


def say(line):
  print("CAUSES", json.dumps(line), flush=True)


def run_part(name):
  try:
    part = PARTS[name]()
    part.run(0.1)
    torch.cuda.synchronize()
    time.sleep(PAUSE_S)
    from_ns = time.time_ns()
    more = part.run(SECONDS)
    torch.cuda.synchronize()
    to_ns = time.time_ns()
  except Exception as error:  # whatever a library of that version lacks
    say({"part": name, "skip": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"})
    return
  say({"part": name, "from_ns": from_ns, "to_ns": to_ns, "expect": part.expect, **(more or {})})
  time.sleep(PAUSE_S)


def main():
  names = sys.argv[1:] or list(PARTS)
  for name in names:
    if name not in PARTS:
      sys.exit(f"causes.py: no part {name!r}; there are: {' '.join(PARTS)}")
  for name in names:
    run_part(name)


if __name__ == "__main__":
  main()

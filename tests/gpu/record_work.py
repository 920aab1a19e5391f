#!/usr/bin/env python3
"""Workloads to record for tests/data (train.py has the others): record_work.py WHAT [--count N]

  triton   two kernels of our own, autotuned over four block sizes, then N rounds over three sizes
  infer    N tokens of a decoder of twelve small layers, batch 1: many tiny kernels
  copies   N batches copied in on a side stream, computed on, copied out, joined by events
  ddp      N steps of data-parallel training, NCCL; under torchrun, a GPU for each rank. Rank 1 is slow:
           it has twice the batch

Prints `WORK {json}`. Seeds are fixed, nothing is timed: what is recorded is the point.
"""
import argparse
import json

import torch
from torch import nn
from torch.nn import functional

WIDTH, LAYERS, BATCH_BYTES = 256, 12, 1 << 20


def triton_work(count):
  import triton
  import triton.language as tl

  @triton.autotune([triton.Config({"BLOCK": b}, num_warps=4) for b in (128, 256, 512, 1024)], key=["n"])
  @triton.jit
  def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

  @triton.jit
  def row_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0), axis=0))

  for n in (1000, 100_000, 5_000_000):
    x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    out, sums = torch.empty_like(x), torch.empty(n // 1000, device="cuda")
    for _ in range(count):
      add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
      row_sum[(n // 1000,)](out, sums, 1000, BLOCK=1024)
  return float(sums.sum())


class Layer(nn.Module):
  def __init__(self):
    super().__init__()
    self.norm = nn.LayerNorm(WIDTH)
    self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

  def forward(self, x):
    return x + self.down(functional.gelu(self.up(self.norm(x))))


@torch.inference_mode()
def infer_work(count):
  model = nn.Sequential(*(Layer() for _ in range(LAYERS))).cuda().half()
  x = torch.randn(1, WIDTH, device="cuda", dtype=torch.half)
  for _ in range(count):
    x = functional.normalize(model(x))
  return float(x.float().sum())


def copies_work(count):
  side, main = torch.cuda.Stream(), torch.cuda.current_stream()
  host_in = torch.rand(BATCH_BYTES // 4).pin_memory()
  host_out = torch.empty_like(host_in).pin_memory()
  device_in = [torch.empty(BATCH_BYTES // 4, device="cuda") for _ in range(2)]
  for i in range(count):
    batch = device_in[i % 2]
    with torch.cuda.stream(side):
      side.wait_stream(main)
      batch.copy_(host_in, non_blocking=True)
    main.wait_stream(side)
    result = (batch * 2 + 1).relu()
    side.wait_stream(main)
    result.record_stream(side)
    with torch.cuda.stream(side):
      host_out.copy_(result, non_blocking=True)
  torch.cuda.synchronize()
  return float(host_out.sum())


def ddp_work(count):
  from torch import distributed
  from torch.nn.parallel import DistributedDataParallel

  distributed.init_process_group("nccl")
  rank = distributed.get_rank()
  torch.cuda.set_device(rank)
  model = nn.Sequential(*(Layer() for _ in range(LAYERS))).cuda()
  parallel = DistributedDataParallel(model, device_ids=[rank], bucket_cap_mb=1)
  optimizer = torch.optim.AdamW(parallel.parameters(), 1e-4)
  x = torch.randn(8192 * (1 + rank), WIDTH, device="cuda")
  for _ in range(count):
    loss = parallel(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
  result = float(loss)
  distributed.destroy_process_group()
  return result


def main():
  work = {"triton": (triton_work, 1500), "infer": (infer_work, 400), "copies": (copies_work, 1500),
          "ddp": (ddp_work, 40)}
  parser = argparse.ArgumentParser(description="workloads to record")
  parser.add_argument("what", choices=work)
  parser.add_argument("--count", type=int, default=0)
  arguments = parser.parse_args()
  function, usual = work[arguments.what]
  count = arguments.count or usual
  torch.manual_seed(0)
  result = function(count)
  torch.cuda.synchronize()
  print("WORK", json.dumps({"what": arguments.what, "count": count, "result": result}), flush=True)


if __name__ == "__main__":
  main()

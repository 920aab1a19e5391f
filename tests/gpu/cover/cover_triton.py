#!/usr/bin/env python3
"""Triton: a vector addition launched a known number of times, and an autotuning storm.

  cover_triton.py [add|autotune]
"""
import sys

import cover_report

try:
  import torch
  import triton
  import triton.language as tl
except ImportError as error:
  cover_report.skip(f"not installed: {error}")

LAUNCHES = 500


@triton.jit
def cover_triton_add(x, y, out, n, BLOCK: tl.constexpr):
  offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
  mask = offsets < n
  tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask),
           mask=mask)


CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps)
           for block in (128, 256, 512, 1024) for warps in (1, 2, 4, 8)]


def short_bench(call, quantiles=None, **_):
  """Thousands of launches a configuration, not tens of thousands: losses are counted elsewhere."""
  return triton.testing.do_bench(call, warmup=2, rep=10, quantiles=quantiles)


@triton.autotune(configs=CONFIGS, key=["n"], do_bench=short_bench)
@triton.jit
def cover_triton_tuned(x, y, out, n, BLOCK: tl.constexpr):
  offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
  mask = offsets < n
  tl.store(out + offsets, tl.load(x + offsets, mask=mask) * tl.load(y + offsets, mask=mask),
           mask=mask)


def main():
  how = sys.argv[1] if len(sys.argv) > 1 else "add"
  if not torch.cuda.is_available():
    cover_report.skip("no CUDA device for torch")
  if how == "add":
    x, y = (torch.rand(100_000, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    for _ in range(LAUNCHES):
      cover_triton_add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    assert torch.equal(out, x + y), "wrong sum"
    torch.cuda.synchronize()
    cover_report.finish(kernels_named={"cover_triton_add": LAUNCHES})
    return
  for n in (1 << 14, 1 << 17, 1 << 20):
    x, y = (torch.rand(n, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    for _ in range(20):
      cover_triton_tuned[lambda meta, n=n: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    assert torch.equal(out, x * y), "wrong product"
  torch.cuda.synchronize()
  cover_report.finish(note=f"{len(CONFIGS)} configurations tried for each of 3 sizes")


if __name__ == "__main__":
  main()

#!/usr/bin/env python3
"""PyTorch: what its libraries launch.

  cover_torch.py libraries   cuBLAS, cuDNN, attention, sorting, on two streams and in a CUDA graph
  cover_torch.py nccl        all-reduce: two ranks where there are two GPUs, else a world of one
"""
import os
import subprocess
import sys
import tempfile

import cover_report

try:
  import torch
  from torch import distributed
  from torch.nn import functional
except ImportError as error:
  cover_report.skip(f"not installed: {error}")


def one_round(x, image, kernel, qkv):
  y = x @ x + torch.nn.functional.gelu(x)
  z = functional.conv2d(image, kernel, padding=1).relu()
  attention = functional.scaled_dot_product_attention(*qkv, is_causal=True)
  return y.float().sum() + z.float().mean() + attention.float().mean()


def libraries():
  half = {"device": "cuda", "dtype": torch.bfloat16}
  x = torch.randn(1024, 1024, **half) * 0.01
  image, kernel = torch.randn(8, 32, 56, 56, **half), torch.randn(64, 32, 3, 3, **half) * 0.05
  qkv = [torch.randn(4, 8, 512, 64, **half) for _ in range(3)]
  side = torch.cuda.Stream()
  for _ in range(20):
    value = one_round(x, image, kernel, qkv)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
      order = torch.sort(torch.randn(1 << 18, device="cuda")).indices
    torch.cuda.current_stream().wait_stream(side)
  graph = torch.cuda.CUDAGraph()
  with torch.cuda.graph(graph):
    value = one_round(x, image, kernel, qkv)
  for _ in range(30):
    graph.replay()
  torch.cuda.synchronize()
  assert torch.isfinite(value) and order.numel() == 1 << 18
  cover_report.finish(note="matmul, conv2d, attention, sort, 30 graph replays")


def nccl_rank(rank, world):
  torch.cuda.set_device(rank)
  distributed.init_process_group("nccl", rank=rank, world_size=world)
  value = torch.full((1 << 20,), float(rank + 1), device="cuda")
  for _ in range(50):
    value.fill_(rank + 1)
    distributed.all_reduce(value)
  expected = world * (world + 1) / 2
  assert bool((value == expected).all()), "wrong sum"
  torch.cuda.synchronize()
  distributed.destroy_process_group()


def nccl():
  if not distributed.is_nccl_available():
    cover_report.skip("this PyTorch has no NCCL")
  world = min(2, torch.cuda.device_count())
  if "RANK" in os.environ:
    nccl_rank(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    return
  with tempfile.TemporaryDirectory() as folder:
    ranks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "nccl"], env={
        **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000),
        "TMPDIR": folder}) for rank in range(world)]
    codes = [rank.wait() for rank in ranks]
  if any(codes):
    sys.exit(1)
  cover_report.finish(note=f"world size {world}")


if __name__ == "__main__":
  if not torch.cuda.is_available():
    cover_report.skip("no CUDA device for torch")
  nccl() if sys.argv[1:] == ["nccl"] else libraries()

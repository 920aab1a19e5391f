#!/usr/bin/env python3
"""Two ranks on two GPUs, NCCL, one of them late: the training that two_gpus_check.py judges.

  torchrun --nproc-per-node 2 two_gpus.py ddp|fsdp [--steps N] [--profiler-steps N]

Four transformer blocks (train.py's), data parallel: DistributedDataParallel, or fully_shard of each
block and of the whole. Large batches, so that the GPU and not the host is what a step waits for: 256 sequences, and 768
where fully sharded, whose host takes 33 ms a step (with 256 it was what every step waited for, each rank's by another 4 ms). Phases of N steps, in
which rank 1 is made late by 2 ms a step, before its forward pass, between two waits for the device:

  none    not at all
  sleep   time.sleep(0.002)
  kernel  a spinning kernel that both launch takes 2 ms longer on rank 1
  copy    a copy from pageable memory that takes 2 ms

and then a session of torch.profiler on both ranks. Seeds are fixed and algorithms deterministic: losses are
equal bit by bit from run to run. Prints, for each rank:

  PHASE {"rank": 0, "phase": "sleep", "from_ns": ..., "to_ns": ..., "steps": ..., "late_ns": ...}
  PROFILER {"rank": 0, "kernels": ..., "collectives": ..., ...}
  LOSSES {"rank": 0, "mode": "ddp", "digest": "...", "last": ..., "ms_per_step": ...}

late_ns is what the part between the two waits took, by the rank's own clock, all steps together: the difference between
the ranks is what was planted. Times are CLOCK_REALTIME.
"""
import argparse
import hashlib
import json
import os
import struct
import tempfile
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS starts
# Multicast over NVLink may hang or be refused on shared hosts; set before NCCL is loaded.
os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ["NVSHMEM_DISABLE_NVLS"] = "1"

import torch
from torch import distributed
from torch.nn import functional

import train

PHASES = ("none", "sleep", "kernel", "copy")
LATE_RANK, LATE_S = 1, 0.002
BLOCKS, VOCABULARY = 4, 4096
BATCH = {"ddp": 256, "fsdp": 768}
WARM_UP = 10
SHORT_CYCLES = 1000  # of the spinning kernel, where it is not late
BUCKET_MB = 10


def timed_s(work, times=5):
  """Median of what `work` takes, the device idle before and after."""
  taken = []
  for _ in range(times):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    taken.append(time.perf_counter() - begin)
  return sorted(taken)[times // 2]


class Lateness:
  """What makes the late rank late. Both ranks calibrate, so that both launch the same."""

  def __init__(self):
    cycles = 20_000_000
    torch.cuda._sleep(SHORT_CYCLES)
    self.cycles = int(cycles * LATE_S / timed_s(lambda: torch.cuda._sleep(cycles)))
    count = 64 << 20
    pageable, device = torch.ones(count, dtype=torch.uint8), torch.empty(count, dtype=torch.uint8, device="cuda")
    self.bytes = min(count, int(count * LATE_S / timed_s(lambda: device.copy_(pageable))))
    self.pageable, self.device = pageable[:self.bytes].clone(), device[:self.bytes]

  def spend_ns(self, how):
    """Runs it on the late rank; the time until the device is idle again."""
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    is_late = distributed.get_rank() == LATE_RANK
    if is_late and how == "sleep":
      time.sleep(LATE_S)
    if is_late and how == "copy":
      self.device.copy_(self.pageable)
    torch.cuda._sleep(self.cycles if is_late and how == "kernel" else SHORT_CYCLES)
    torch.cuda.synchronize()
    return time.perf_counter_ns() - begin


class Training:
  def __init__(self, mode, device):
    train.BLOCKS, train.VOCABULARY = BLOCKS, VOCABULARY
    torch.manual_seed(0)
    self.mode = mode
    model = train.Model().to(device)
    self.model = self.parallel(model, device)
    self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)
    torch.manual_seed(1 + distributed.get_rank())
    self.tokens = torch.randint(0, VOCABULARY, (BATCH[mode], train.TOKENS), device=device)
    self.losses = []
    self.lateness = Lateness()

  def parallel(self, model, device):
    if self.mode == "ddp":
      from torch.nn.parallel import DistributedDataParallel
      return DistributedDataParallel(model, device_ids=[device.index], bucket_cap_mb=BUCKET_MB)
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
      fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model

  def step(self, how):
    late_ns = self.lateness.spend_ns(how)
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.mode == "ddp"):
      logits = self.model(self.tokens)
      loss = functional.cross_entropy(logits.view(-1, VOCABULARY).float(), self.tokens.view(-1))
    loss.backward()
    self.optimizer.step()
    self.optimizer.zero_grad(set_to_none=True)
    self.losses.append(loss.detach())
    return late_ns

  def run(self, how, steps):
    """All steps' late_ns, and when they began and ended; the ranks begin together."""
    distributed.barrier()
    torch.cuda.synchronize()
    from_ns = time.time_ns()
    late_ns = sum(self.step(how) for _ in range(steps))
    torch.cuda.synchronize()
    return late_ns, from_ns, time.time_ns()


def profile(training, steps):
  training.run("none", 1)
  with torch.profiler.profile(activities=train.ACTIVITIES) as profiler:
    training.run("none", steps)
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    profiler.export_chrome_trace(path)
    summary = train.summarize_trace(path)
    with open(path, encoding="utf-8") as trace:
      events = json.load(trace)["traceEvents"]
  summary["collectives"] = sum(event.get("cat") == "kernel" and "nccl" in event["name"] for event in events)
  return summary


def tell(word, values):
  print(f"{word} {json.dumps({'rank': distributed.get_rank()} | values)}\n", end="", flush=True)


def main():
  parser = argparse.ArgumentParser(description="two ranks, one of them late; under torchrun")
  parser.add_argument("mode", choices=("ddp", "fsdp"))
  parser.add_argument("--steps", type=int, default=30, help="of each phase (30)")
  parser.add_argument("--profiler-steps", type=int, default=5, help="of the profiler's session (5); 0: none")
  arguments = parser.parse_args()
  torch.use_deterministic_algorithms(True, warn_only=True)
  torch.utils.deterministic.fill_uninitialized_memory = False
  device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
  torch.cuda.set_device(device)
  distributed.init_process_group("nccl", device_id=device)
  training = Training(arguments.mode, device)
  training.run("none", WARM_UP)
  times_ns = 0
  for phase in PHASES:
    late_ns, from_ns, to_ns = training.run(phase, arguments.steps)
    times_ns += to_ns - from_ns
    tell("PHASE", {"phase": phase, "from_ns": from_ns, "to_ns": to_ns, "steps": arguments.steps,
                   "late_ns": late_ns})
  if arguments.profiler_steps:
    tell("PROFILER", {"steps": arguments.profiler_steps} | profile(training, arguments.profiler_steps))
  losses = torch.stack(training.losses).float().cpu().tolist()
  tell("LOSSES", {
    "mode": arguments.mode, "steps": len(losses), "last": losses[-1],
    "digest": hashlib.sha256(struct.pack(f"<{len(losses)}f", *losses)).hexdigest()[:16],
    "ms_per_step": round(times_ns / 1e6 / (len(PHASES) * arguments.steps), 3)})
  distributed.barrier()
  distributed.destroy_process_group()


if __name__ == "__main__":
  main()

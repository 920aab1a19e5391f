#!/usr/bin/env python3
"""Two ranks that share one GPU, and whether the run file tells them apart.

  torchrun --nproc-per-node 2 ranks.py work [--steps N]
  ranks.py check [--ranks N] RUN          RUN: a run file or a data directory with one

`work`: each rank trains a small model of its own on the first device and averages gradients with
the others through gloo, on the CPU: NCCL refuses two ranks on one GPU. Prints `RANKS {json}`.

`check`: one run file with one process per rank, ranks 0 to N-1 of N, all on one device, each with
kernels; rows of the process view, of the launch view and the totals of the loss view agree.

Exit status of `check`: 0 all of it holds, 1 not so, 2 usage, 3 unreadable.
"""
import argparse
import json
import sys

import runfile

WIDTH, LAYERS, BATCH = 256, 4, 32


def work(steps):
  import torch
  from torch import distributed, nn

  distributed.init_process_group("gloo")
  rank, size = distributed.get_rank(), distributed.get_world_size()
  torch.manual_seed(0)
  model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).cuda(0)
  optimizer = torch.optim.SGD(model.parameters(), 1e-3)
  torch.manual_seed(1 + rank)
  batch = torch.randn(BATCH, WIDTH, device="cuda:0")
  loss = None
  for _ in range(steps):
    loss = model(batch).square().mean()
    loss.backward()
    for parameter in model.parameters():
      gradient = parameter.grad.cpu()
      distributed.all_reduce(gradient)
      parameter.grad.copy_(gradient / size)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
  weights = sum(parameter.double().sum() for parameter in model.parameters()).item()
  print("RANKS", json.dumps({"rank": rank, "world_size": size, "steps": steps,
                             "loss": loss.item(), "weights": weights}), flush=True)
  distributed.barrier()
  distributed.destroy_process_group()


def problems_of(run, ranks):
  processes = runfile.select(run, runfile.PROCESS_VIEW, runfile.PROCESS_COLUMNS,
                             "ORDER BY rank, process_id")
  kernels = dict(runfile.select(run, runfile.LAUNCH_VIEW, ("process_id", "count(*)"),
                                "GROUP BY process_id"))
  devices = runfile.select(run, runfile.LAUNCH_VIEW, ("DISTINCT device_id",))
  for process in processes:
    print(f"rank {process['rank']} of {process['world_size']}  pid {process['pid']}  "
          f"{process['state']}  {process['capture']}  {kernels.get(process['process_id'], 0)} kernels")
  found = [process["rank"] for process in processes]
  if found != list(range(ranks)):
    yield f"ranks are {found}, not 0 to {ranks - 1}"
  if len(devices) != 1:
    yield f"{len(devices)} devices, not one"
  for process in processes:
    if process["world_size"] != ranks:
      yield f"rank {process['rank']}: world size {process['world_size']}"
    if not kernels.get(process["process_id"]):
      yield f"rank {process['rank']}: no kernels"
    if process["state"] != "finished":
      yield f"rank {process['rank']}: {process['state']}"


def main():
  parser = argparse.ArgumentParser(description="ranks that share a GPU")
  commands = parser.add_subparsers(dest="command", required=True)
  worker = commands.add_parser("work", help="under torchrun")
  worker.add_argument("--steps", type=int, default=50, help="training steps (50)")
  checker = commands.add_parser("check", help="a run file")
  checker.add_argument("--ranks", type=int, default=2, help="how many there were (2)")
  checker.add_argument("run", help="run file, or the data directory that holds one")
  arguments = parser.parse_args()
  if arguments.command == "work":
    work(arguments.steps)
    return 0
  problems = list(problems_of(runfile.open_run_file(arguments.run), arguments.ranks))
  for problem in problems:
    print(f"ranks: {problem}", file=sys.stderr)
  print("verdict: " + (f"FAIL, {len(problems)} problems, the first: {problems[0]}" if problems
                       else f"ok, {arguments.ranks} ranks on one device"))
  return 1 if problems else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError) as error:
    runfile.fail(f"ranks: {error}")

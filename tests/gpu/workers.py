#!/usr/bin/env python3
"""A training whose data comes from worker processes, and one that is killed in the midst.

  workers.py BUILD WORK [dataloader|sigkill]
  workers.py train fork|spawn [--persistent]        as started by the former
  workers.py steps FILE                             likewise

`dataloader`: a DataLoader of four workers, forked after CUDA began or spawned, for three epochs, bare and
preloaded. The losses are equal bit by bit; a worker has the threads that it has without wavetap, and no segment
mapped; one process is in the run file, recorded in full.

`sigkill`: a training that writes down each step and ends by SIGKILL after some seconds. Ten kernels of a
step are known by their mangled name (additions of doubles). In the run file is each launch of the steps
written down, each kernel but those of the last second; launches without a kernel are counted as such,
nothing is unexplained, the state is not "finished", and no segment is left.

Exit status: 0 all of it holds, 1 not so, 2 usage, 3 unreadable.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import signal
import struct
import sys
import time

WORKERS, EPOCHS, ITEMS, BATCH, WIDTH = 4, 3, 256, 32, 64
MARKS, KILL_AFTER_S, LAST_S = 10, 3.0, 1.0
LIMIT_S = 90
MARK_NAME = "%CUDAFunctor%addIdE%"  # names are mangled; only the marks are of doubles


# ---- the programs

def open_files():
  """What descriptors lead to, without what differs from run to run."""
  links = []
  for name in os.listdir("/proc/self/fd"):
    try:
      links.append(re.sub(r"[0-9]{2,}|[A-Za-z0-9_]{12,}", "N", os.readlink("/proc/self/fd/" + name)))
    except OSError:
      pass # the listing's own
  return sorted(links)


class Facts:
  """Of a worker: what a guest would add to. At module level, so that it can be spawned."""

  def __call__(self, number):
    threads = os.listdir("/proc/self/task")
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
      segments = sum("/wavetap-" in line and ".seg" in line for line in maps)
    print("WORKER", json.dumps({"worker": number, "threads": len(threads), "segments": segments,
                                "descriptors": open_files()}), flush=True)


class Items:
  """At module level, since spawned workers have to import it."""

  def __len__(self):
    return ITEMS

  def __getitem__(self, index):
    import torch
    return torch.randn(WIDTH, generator=torch.Generator().manual_seed(index))


def train(start, is_persistent):
  os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
  import torch
  from torch import nn
  from torch.utils import data

  torch.use_deterministic_algorithms(True)
  torch.manual_seed(0)
  model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).cuda()
  optimizer = torch.optim.SGD(model.parameters(), 1e-2)
  loader = data.DataLoader(Items(), batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                           generator=torch.Generator().manual_seed(2), pin_memory=True,
                           multiprocessing_context=start, worker_init_fn=Facts(),
                           persistent_workers=is_persistent)
  losses = []
  for _ in range(EPOCHS):
    for batch in loader:
      batch = batch.cuda(non_blocking=True)
      loss = (model(batch) - batch.sum(1, keepdim=True)).square().mean()
      loss.backward()
      optimizer.step()
      optimizer.zero_grad(set_to_none=True)
      losses.append(loss.item())
  digest = hashlib.sha256(struct.pack(f"<{len(losses)}f", *losses)).hexdigest()[:16]
  print("LOSSES", json.dumps({"steps": len(losses), "last": losses[-1], "digest": digest}), flush=True)


def steps(path):
  import torch
  from torch import nn

  torch.manual_seed(0)
  model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).cuda()
  optimizer = torch.optim.SGD(model.parameters(), 1e-2)
  batch = torch.randn(BATCH, WIDTH, device="cuda")
  mark = torch.ones(1000, dtype=torch.float64, device="cuda")
  out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
  number = 0
  while True:
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    for _ in range(MARKS):
      mark.add_(1)
    torch.cuda.synchronize()
    number += 1
    os.write(out, struct.pack("<qq", number, time.time_ns()))


# ---- and what has to be

def lines_of(result, word):
  return [json.loads(line.split(" ", 1)[1]) for line in result.text().splitlines()
          if line.startswith(word + " ")]


def first_descriptors(result):
  """Of the worker with the lowest number: later ones have the pipes of those before them."""
  workers = sorted(lines_of(result, "WORKER"), key=lambda worker: worker["worker"])
  return collections.Counter(workers[0]["descriptors"] if workers else [])


def told(added):
  return "".join(f"; {count} more of {name}" for name, count in sorted(added.items()))


def check_dataloader(build, table):
  import guest

  me, jobs, results = os.path.abspath(__file__), [], {}
  for row, words in (("fork", ["fork"]), ("fork-persistent", ["fork", "--persistent"]),
                     ("spawn", ["spawn"])):
    for how in ("bare", "preload"):
      jobs.append(lambda row=row, words=words, how=how: results.__setitem__(
        (row, how), guest.run(build, how, "dataloader-" + row,
                              [sys.executable, me, "train", *words], LIMIT_S)))
  guest.at_once(4, jobs)
  for row in ("fork", "fork-persistent", "spawn"):
    bare, seen = results[row, "bare"], results[row, "preload"]
    own = guest.Own(seen.data_dir)
    problems = list(own.problems())
    problems += [f"exit status {result.status}: {result.last_error()}" for result in (bare, seen)
                 if result.status != 0]
    losses = [lines_of(result, "LOSSES") for result in (bare, seen)]
    if losses[0] != losses[1] or not losses[0]:
      problems.append(f"losses {losses[0]} became {losses[1]}")
    facts = [sorted(json.dumps({name: worker[name] for name in ("threads", "segments")})
                    for worker in lines_of(result, "WORKER")) for result in (bare, seen)]
    descriptors = [first_descriptors(result) for result in (bare, seen)]
    added = descriptors[1] - descriptors[0]
    problems += [f"a descriptor of {name}" for name in added
                 if name.endswith(".seg") or "wavetap" in name and name.startswith(("/dev/shm", "/memfd"))]
    if facts[0] != facts[1] or not facts[0]:
      problems.append(f"workers {facts[0][:1]} became {facts[1][:1]}")
    if len(own.processes) != 1 or not own.is_full():
      problems.append(f"{len(own.processes)} processes in the run file")
    table.add("dataloader-" + row, problems,
              f"{len(facts[1])} workers inert ({descriptors[1].total()} descriptors, bare "
              f"{descriptors[0].total()}{told(added)}), losses "
              f"{losses[1][0]['digest'] if losses[1] else '?'}; "
              f"{own.words()}")


def read_steps(path):
  with open(path, "rb") as file:
    data = file.read()
  return list(struct.iter_unpack("<qq", data[:len(data) // 16 * 16]))


def segments():
  return {name for name in os.listdir("/dev/shm") if name.startswith("wavetap-") and name.endswith(".seg")}


def check_sigkill(build, table):
  import guest
  import runfile

  before, path = segments(), os.path.join(build.work, "steps")
  process, result = guest.start(build, "preload", "sigkill",
                                [sys.executable, os.path.abspath(__file__), "steps", path])
  limit = time.monotonic() + LIMIT_S
  while process.poll() is None and time.monotonic() < limit and not (os.path.exists(path) and
                                                                      os.path.getsize(path)):
    time.sleep(0.05)
  time.sleep(KILL_AFTER_S)
  problems = [] if process.poll() is None else [f"it ended by itself: {process.poll()}"]
  process.send_signal(signal.SIGKILL)
  killed_ns = time.time_ns()
  guest.finish(build, process, result, 10)
  done = read_steps(path)
  own = guest.Own(result.data_dir)
  problems += own.problems()
  run = runfile.open_run_file(result.data_dir)
  marks = runfile.select(run, runfile.LAUNCH_VIEW, ("count(*) AS n", "max(end_ns) AS last_ns"),
                         f"WHERE kernel LIKE '{MARK_NAME}'")[0]
  old = MARKS * sum(at_ns < killed_ns - LAST_S * 1e9 for _, at_ns in done)
  everything = MARKS * (len(done) + 1)
  if not done or not old <= marks["n"] <= everything:
    problems.append(f"{marks['n']:,} of the marked kernels: {old:,} to {everything:,} wanted")
  calls = own.total("launches_stored") - own.total("launches_captured")
  without = own.total("launches_unlinked") + own.total("launches_in_flight")
  late = sum(at_ns >= killed_ns - LAST_S * 1e9 for _, at_ns in done) + 2
  if done and without > late * (calls / len(done) + 1):
    problems.append(f"{without:,} launches without a kernel, more than the last {late} steps made")
  if len(done) * MARKS > calls:
    problems.append(f"{calls:,} launches in the file, {len(done) * MARKS:,} marked ones made")
  state = [process["state"] for process in own.processes]
  if len(state) != 1 or state[0] == "finished":
    problems.append(f"state {state}")
  left = segments() - before
  if left:
    problems.append(f"segments left: {' '.join(sorted(left))}")
  lag_ms = (killed_ns - (marks["last_ns"] or 0)) / 1e6
  table.add("sigkill", problems,
            f"{len(done):,} steps written, {marks['n']:,} of {len(done) * MARKS:,} marked kernels, the last "
            f"{lag_ms:.0f} ms before the end; state {' '.join(state)}; {own.words()}")


def main():
  words = sys.argv[1:]
  if words[:1] == ["train"] and len(words) > 1:
    train(words[1], "--persistent" in words)
  elif words[:1] == ["steps"] and len(words) == 2:
    steps(words[1])
  else:
    import guest
    guest.main(check)


def check():
  import guest

  parser = argparse.ArgumentParser(description="trainings with workers, and one that is killed")
  parser.add_argument("build", help="folder with libwavetap.so and the programs")
  parser.add_argument("work", help="folder for logs")
  parser.add_argument("what", nargs="?", choices=("dataloader", "sigkill"), help="one of them alone")
  arguments = parser.parse_args()
  build, table = guest.Build(arguments.build, arguments.work), guest.Table("workers")
  if arguments.what != "sigkill":
    check_dataloader(build, table)
  if arguments.what != "dataloader":
    check_sigkill(build, table)
  return table.verdict()


if __name__ == "__main__":
  main()

#!/usr/bin/env python3
"""What each part of watching costs in PyTorch: kinds of CUPTI, its attributes, flushing, hooks, wavetap less some of it.

  field_parts.py BUILD WORK [--total SECONDS] [--rounds N] [--ways LIST] [--workloads LIST] [--tsv FILE] [--markdown FILE]
                 [--worker COMMAND]

For each way of watching a process of field_torch.py (storm and eager training step), all there at once and one
at work at a time, in turn. Two comparisons:

  within a process   ways with several modes: kinds are switched between pieces of 50 ms, round and round. Nearly free of
                     the luck of processes; but what CUPTI has instrumented once may cost on after it is switched off
  between processes  each with its kinds from the start: what CUPTI never touched costs nothing; noisier

After ROUNDS (1) rounds all end, and a new generation begins. Each piece is measured three ways: wall clock, CPU time of the
process, CPU time of the launching thread. At last the raw client counts all calls of a step, by number.

Tables: field_parts_table.py, which makes them from the samples once more. Samples are written as they come.
Exit status: 0, 1 a process failed, 2 usage, 3 nothing was measured.
"""
import argparse
import json
import os
import select
import shlex
import signal
import socket
import sys
import time

import field
import field_parts_table
import guest

ALONE = ("-",)
STEPS_OF_ALL = ("none", "kernel", "kernel,memcpy,memset", "kernel,sync", "kernel,overhead", "kernel,driver", "kernel,runtime",
                "kernel,driver,runtime", "all", "all,walk")
EVERY = "kernel,every-driver,every-runtime,walk"
ROUNDS, PIECE_MS = 1, 50
REPEATS = {True: 5, False: 10}  # of a process with several modes, and with one
READY_S, END_S = 100, 14

# Way: (kinds of the raw client, or None; variables of wavetap, or None; modes).
WAYS = {
  "bare": (None, None, ALONE),
  "hooks": (None, {"WAVETAP_CUPTI": "0"}, ALONE),
  "raw": ("kernel", None, ALONE),
  "raw-shared": ("kernel,shared", None, ALONE),
  "raw-pool": ("kernel,pool", None, ALONE),
  "raw-driver": ("kernel,driver", None, ("kernel,driver", "kernel,driver,walk")),
  "raw-runtime": ("kernel,driver,runtime", None, ("kernel,driver,runtime", "kernel,driver,runtime,walk")),
  "raw-rest": ("kernel,memcpy,memset,sync,overhead,context,device", None, ALONE),
  "raw-memcpy": ("kernel,memcpy", None, ALONE),
  "raw-memset": ("kernel,memset", None, ALONE),
  "raw-sync": ("kernel,sync", None, ALONE),
  "raw-overhead": ("kernel,overhead", None, ALONE),
  "raw-context": ("kernel,context,device", None, ALONE),
  "raw-all": ("all", None, STEPS_OF_ALL),
  "raw-same": ("all,shared,pool,walk,flush=200", None, ALONE),
  "wavetap": (None, {}, ("all", "all,-runtime", "all,-runtime,-driver", "kernel,driver,runtime", "kernel", "none")),
  "wavetap-driver": (None, {"WAVETAP_CUPTI_CALLS": "driver"}, ALONE),
  "wavetap-nocalls": (None, {"WAVETAP_CUPTI_CALLS": "none"}, ALONE),
  "wavetap-noflush": (None, {"WAVETAP_FLUSH_MS": "60000"}, ALONE),
}


class Parts(field.Field):
  def surroundings(self, way, name, command):
    kinds, variables, _ = WAYS[way]
    path = os.path.join(self.build.work, name)
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("WAVETAP_", "RAW_CUPTI_")) or key == "WAVETAP_SHM_DIR"}
    if kinds:
      environment.update(CUDA_INJECTION64_PATH=self.raw, RAW_CUPTI_OUT=path + ".raw", RAW_CUPTI_KINDS=kinds)
    if variables is not None:
      os.makedirs(path + ".d", exist_ok=True)
      environment = guest.with_preload(environment, self.build.library)
      environment.update(variables, WAVETAP_DIR=path + ".d", WAVETAP_DAEMON=self.build.daemon)
    return command, environment

  def keep(self, *values):
    self.samples.append(field_parts_table.Sample(*values))
    if self.tsv:
      with open(self.tsv, "a", encoding="utf-8") as file:
        file.write("\t".join(map(str, values)) + "\n")

  def count(self, workload, way, mode, counts):
    """Lines of the same file, with another number of fields."""
    for what, count in sorted(counts.items()):
      self.counts.append((workload, way, mode, what, count))
      if self.tsv:
        with open(self.tsv, "a", encoding="utf-8") as file:
          file.write(f"{workload}\t{way}\t{mode}\t{what}\t{count:.3f}\n")


def start_all(parts, worker, generation, listener):
  """Workers that are ready, all that were started, and what is missing."""
  started = []
  for way in WAYS:
    if way not in parts.ways:
      continue
    more = ["--only", ",".join(parts.workloads)]
    if WAYS[way][0] or way == "wavetap":
      more += ["--switch", parts.raw]
    started.append(field.Worker(parts, worker, way, generation, listener, more))
  said = field.accept(parts, listener, started, min(READY_S, max(1, parts.left() - END_S)))
  for hello in said.values():
    for workload, why in hello["notes"].items():
      parts.note(f"{workload}: {why}")
  return [one for one in started if one.way in said], started


def ask(parts, one, workload, modes, generation, number):
  """True: it answered. Its samples are kept."""
  try:
    answer = one.order(f"cycle {workload} {PIECE_MS} {REPEATS[len(modes) > 1]} {';'.join(modes)}")
  except (OSError, ValueError):
    parts.problem(f"{one.name}: no answer for {workload}")
    return False
  for mode, times in answer["times"].items():
    for repeat, (wall, process, thread) in enumerate(times):
      parts.keep(workload, one.way, mode, generation, number, repeat, round(wall), round(process), round(thread))
    if not number and not generation:
      parts.count(workload, one.way, mode, answer["counts"].get(mode, {}))
  return True


def measure(parts, workers, generation):
  gone = set()
  for number in range(parts.rounds):
    for workload in parts.workloads:
      turn = number % len(workers)
      for one in workers[turn:] + workers[:turn]:
        if parts.left() < END_S:
          return gone
        if one not in gone and not ask(parts, one, workload, WAYS[one.way][2], generation, number):
          gone.add(one)
  # What ends the single calls for good comes last.
  for one in workers:
    for workload in parts.workloads if one.way == "raw-all" and one not in gone else ():
      if parts.left() >= END_S:
        ask(parts, one, workload, (EVERY,), generation, 0)
  return gone


def run_generation(parts, worker, generation, listener):
  workers, started = start_all(parts, worker, generation, listener)
  if workers:
    measure(parts, workers, generation)
  for one in workers:
    one.quit()
  for one in started:
    if one not in workers:
      parts.problem(f"{one.name}: {field.last_line(os.path.join(parts.build.work, one.name) + '.err')}")
      if one.process.poll() is None:
        os.killpg(one.process.pid, signal.SIGKILL)
      one.process.wait()
      continue
    kinds, variables, modes = WAYS[one.way]
    parts.finish("wavetap" if variables is not None else one.way, one.name, one.process, min(30, max(3, parts.left())))
    if kinds:
      parts.check_raw(os.path.join(parts.build.work, one.name) + ".raw", one.name)
    elif variables is not None and modes == ALONE:  # the others were deprived of records
      tell_account(parts, one.name)
  return bool(workers)


def tell_account(parts, name):
  account = field.account_of(parts.build, os.path.join(parts.build.work, name) + ".d")
  if not account:
    parts.problem(f"{name}: wavetap has no run of it")
    return
  keys = ("launches_attempted", "kernels", "kernels_linked", "launches_linked", "launches_unlinked", "unexplained",
          "kernels_dropped_ring")
  print(f"{name}: {', '.join(f'{key} {account[key]:,}' for key in keys if key in account)}", flush=True)


def run(parts, worker):
  generation, longest = 0, 0.0
  with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(os.path.join(parts.build.work, "socket"))
    listener.listen(len(WAYS))
    while generation < parts.generations and parts.left() > END_S + 0.6 * longest:
      begin = time.monotonic()
      if not run_generation(parts, worker, generation, listener):
        break
      longest = max(longest, time.monotonic() - begin)
      print(f"generation {generation}: {time.monotonic() - begin:.0f} s", flush=True)
      generation += 1


def parse_arguments():
  parser = argparse.ArgumentParser(description="what each part of watching costs in PyTorch")
  parser.add_argument("build", help="folder with libwavetap.so and raw_cupti.so")
  parser.add_argument("work", help="folder for logs and run files")
  parser.add_argument("--total", type=float, default=175, metavar="SECONDS")
  parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="of a generation")
  parser.add_argument("--generations", type=int, default=1000, metavar="N", help="at most")
  parser.add_argument("--ways", default=",".join(WAYS), help=f"with commas, of {','.join(WAYS)}")
  parser.add_argument("--workloads", default="torch-storm,eager", help="with commas, of field_torch.py")
  parser.add_argument("--worker", help="instead of field_torch.py")
  parser.add_argument("--tsv", metavar="FILE", help="every sample")
  parser.add_argument("--markdown", metavar="FILE", help="the tables once more")
  return parser.parse_args()


def main():
  arguments = parse_arguments()
  parts = Parts(arguments)
  parts.generations, parts.workloads, parts.counts = arguments.generations, arguments.workloads.split(","), []
  unknown = set(parts.ways) - set(WAYS)
  if unknown:
    print(f"field_parts.py: no way {sorted(unknown)[0]}", file=sys.stderr)
    return 2
  os.sched_setaffinity(0, field.one_node())
  worker = shlex.split(arguments.worker) if arguments.worker else [
    sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "field_torch.py")]
  try:
    run(parts, worker)
  except (OSError, ValueError, json.JSONDecodeError, select.error) as error:  # what is measured is told in any case
    parts.problem(str(error))
  field_parts_table.show(parts.samples, parts.counts, arguments.markdown)
  print(f"verdict: {'FAIL, ' + parts.problems[0] if parts.problems else 'ok'}; {len(parts.samples)} samples, "
        f"{time.monotonic() - parts.begin:.0f} s")
  return 3 if not parts.samples else 1 if parts.problems else 0


if __name__ == "__main__":
  guest.main(main)

#!/usr/bin/env python3
"""What watching costs, side by side: bare, hooks alone, raw CUPTI, wavetap, torch.profiler, nsys.

  field.py BUILD WORK [--total SECONDS] [--part SHARE] [--rounds N] [--ways LIST] [--markdown FILE] [--tsv FILE]
           [--program COMMAND] [--worker COMMAND]

Two parts share SECONDS (480), the first takes SHARE of it (0.5).

First one process under wavetap, to see which libcupti it finds: the raw client of the programs gets that.

Programs: a process of `truth --tsv cost` (launch storm, graph replay) for each way in turn, the order turned
by one each round; nsys only every second round, for it takes long. Two more processes under wavetap, long
ones, tell what the daemon takes and what is stored.

Training: field_torch.py, a process for each way, all there at once and one at work at a time, told what to do
in turn. After some rounds all end, and a new generation begins: what is luck of a process shows between
generations. torch.profiler is there only.

  bare       nothing
  hooks      wavetap with WAVETAP_CUPTI=0
  raw        kernel records alone, buffers counted and handed back: raw_cupti.c by CUDA_INJECTION64_PATH
  raw-all    the same with all kinds that wavetap has on (programs only)
  wavetap    libwavetap.so by LD_PRELOAD, its daemon, all defaults
  profiler   torch.profiler, CUDA activities alone
  nsys       nsys profile -t cuda, nodes of graphs, without sampling the CPU

All processes but wavetap's daemon keep to the CPUs of one NUMA node, always the same. field_table.py says
what a ratio and a verdict is; a verdict decides nothing. A wavetap whose account has something unexplained,
or a raw client without records, fails.

Exit status: 0, 1 as said, 2 usage, 3 nothing was measured.
"""
import argparse
import collections
import ctypes
import glob
import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time

import field_table
import guest
import tools
from field_table import UNITS, Sample

PROGRAM_WAYS = ("bare", "hooks", "raw", "raw-all", "wavetap", "nsys")
TORCH_WAYS = ("bare", "hooks", "raw", "wavetap", "profiler", "nsys")
NSYS_EVERY = 2
NSYS = ("profile", "-t", "cuda", "--sample", "none", "--cpuctxsw", "none", "--cuda-graph-trace=node",
        "-f", "true")
METRICS = {("empty", "total_per_launch"): "storm", ("graph", "per_node"): "graph",
           ("empty", "paced_launch_call"): "paced"}
LONG = (("launches", ("empty", "100000"), "launches_stored"), ("graph nodes", ("graph",), "kernels"))
FIXED_BYTES = 256 * 1024
PROGRAM_LIMIT_S, READY_LIMIT_S, ANSWER_LIMIT_S, END_LIMIT_S = 60, 150, 60, 40
PIECE_S, PIECES, ROUNDS, STEPS_MAX = 0.06, 3, 3, 4000
END_S = 12  # what a generation and the tables need at the end
PR_SET_CHILD_SUBREAPER = 36


def one_node():
  """The allowed CPUs of that NUMA node which has most of them; all where there is one node, or none told."""
  allowed, nodes = os.sched_getaffinity(0), []
  for path in glob.glob("/sys/devices/system/node/node[0-9]*/cpulist"):
    with open(path, encoding="ascii") as file:
      spans = [span.split("-") for span in file.read().strip().split(",") if span]
    nodes.append(allowed & {cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)})
  return max(nodes, key=len) if any(nodes) else allowed


class Field:
  """What both parts need: where things are, the samples, notes, and the time."""

  def __init__(self, arguments):
    self.build = guest.Build(arguments.build, arguments.work)
    self.end = time.monotonic() + arguments.total
    self.begin = time.monotonic()
    self.nsys = tools.find("nsys")
    self.rounds = arguments.rounds
    self.raw = self.build.program("raw_cupti.so")
    self.cupti = None  # the copy that wavetap uses where the program has loaded none
    self.samples, self.notes, self.problems = [], [], []
    self.ways = arguments.ways.split(",") if arguments.ways else list(field_table.WAYS)
    self.tsv = arguments.tsv
    if self.tsv:
      with open(self.tsv, "w", encoding="utf-8") as file:
        file.write("#workload\tway\tcluster\tgroup\tvalue\n")

  def add(self, *values):
    """A sample, into the file at once: something is left of a run that is stopped."""
    self.samples.append(Sample(*values))
    if self.tsv:
      with open(self.tsv, "a", encoding="utf-8") as file:
        file.write("\t".join(map(str, values)) + "\n")

  def left(self):
    return self.end - time.monotonic()

  def can(self, way):
    if way not in self.ways:
      return False
    if way == "nsys" and not self.nsys:
      self.note("nsys: not there")
      return False
    return True

  def note(self, text):
    if text not in self.notes:
      self.notes.append(text)
      print(f"note: {text}", flush=True)

  def problem(self, text):
    self.problems.append(text)
    print(f"problem: {text}", flush=True)

  def surroundings(self, way, name, command):
    """(command, environment) of that way; files of its own are NAME.*"""
    path = os.path.join(self.build.work, name)
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("WAVETAP_", "RAW_CUPTI_")) or key == "WAVETAP_SHM_DIR"}
    if way in ("hooks", "wavetap"):
      os.makedirs(path + ".d", exist_ok=True)
      environment = guest.with_preload(environment, self.build.library)
      environment.update(WAVETAP_DIR=path + ".d", WAVETAP_DAEMON=self.build.daemon)
      if way == "hooks":
        environment["WAVETAP_CUPTI"] = "0"
    elif way in ("raw", "raw-all"):
      environment.update(CUDA_INJECTION64_PATH=self.raw, RAW_CUPTI_OUT=path + ".raw",
                         RAW_CUPTI_KINDS="all" if way == "raw-all" else "kernels",
                         RAW_CUPTI_LIBRARY=self.cupti or "")
    elif way == "nsys":
      command = [self.nsys, *NSYS, "-o", path, *command]
    return command, environment

  def start(self, way, name, command, more=None):
    command, environment = self.surroundings(way, name, command)
    environment.update(more or {})
    path = os.path.join(self.build.work, name)
    with open(path + ".out", "wb") as out, open(path + ".err", "wb") as err:
      return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                              start_new_session=True)

  def finish(self, way, name, process, limit_s):
    """Waits for a program and what belongs to it. False, and a problem: it did not end well."""
    try:
      status = process.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
      os.killpg(process.pid, signal.SIGKILL)
      process.wait()
      status = f"none after {limit_s} s"
    if way in ("hooks", "wavetap"):
      guest.await_daemon(self.build, os.path.join(self.build.work, name) + ".d")
    if status:
      say = self.note if way == "nsys" else self.problem
      say(f"{name}: exit status {status}: {last_line(os.path.join(self.build.work, name) + '.err')}")
    return status == 0

  def check(self, way, name):
    """The account of a run that has ended: the sum over its processes of what the run file says."""
    path = os.path.join(self.build.work, name)
    if way in ("raw", "raw-all"):
      self.check_raw(path + ".raw", name)
    if way not in ("hooks", "wavetap"):
      return None
    account = account_of(self.build, path + ".d")
    if not account:
      self.problem(f"{name}: wavetap has no run of it")
    elif account["unexplained"]:
      self.problem(f"{name}: {account['unexplained']:,} unexplained")
    return account

  def check_raw(self, path, name):
    try:
      with open(path, encoding="utf-8") as file:
        found = [dict(word.split("=", 1) for word in line.rstrip("\n").split("\t")[1:]) for line in file]
    except OSError:
      found = []
    if not any(int(one["bytes"]) for one in found):
      self.problem(f"{name}: raw CUPTI gave no records")
      return
    for one in found:
      self.note(f"raw CUPTI: {one['library']}, version {one['version']}")
      if int(one["dropped"]) or int(one["refused"]):
        self.note(f"{name}: raw: {one['dropped']} records dropped, {one['refused']} buffers refused")


def last_line(path):
  try:
    with open(path, encoding="utf-8", errors="replace") as file:
      lines = file.read().strip().splitlines()
    return lines[-1][:160] if lines else "nothing on stderr"
  except OSError:
    return "no stderr"


def account_of(build, data_dir):
  """`loss` of the one run of a data directory by the command line, and the size of its files; None without."""
  environment = {**os.environ, "WAVETAP_DIR": data_dir}
  words = [build.wavetap, "top", "--all", "--json", "--limit", "1", "-r", "latest"]
  result = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
  try:
    account = json.loads(result.stdout)["loss"]
  except (ValueError, KeyError):
    return None
  account["bytes"] = sum(os.path.getsize(path) for path in glob.glob(os.path.join(data_dir, "runs", "*.db*"))
                         if not path.endswith("-shm"))
  return account


# ---- programs

def costs_in(path):
  """{workload: ns} of the lines `cost`."""
  header, found = [], {}
  with open(path, encoding="utf-8", errors="replace") as lines:
    for line in lines:
      fields = line.rstrip("\n").split("\t")
      if fields[0] == "#cost":
        header = fields[1:]
      elif fields[0] == "cost":
        values = dict(zip(header, fields[1:]))
        workload = METRICS.get((values.get("section"), values.get("metric")))
        if workload:
          found[workload] = float(values["median_ns"])
  return found


def find_cupti(field, program):
  """The copy that wavetap arms in such a program, by its own words."""
  name = "first"
  log = os.path.join(field.build.work, name) + ".debug"
  process = field.start("wavetap", name, [*program, "--tsv", "empty", "1000"], {"WAVETAP_DEBUG": log})
  field.finish("wavetap", name, process, PROGRAM_LIMIT_S)
  try:
    with open(log, encoding="utf-8", errors="replace") as file:
      found = re.search(r"cupti: armed (.*), version", file.read())
  except OSError:
    found = None
  if not found:
    field.problem("wavetap has not armed CUPTI in the first program")
    return
  field.cupti = found.group(1)
  field.note(f"wavetap's CUPTI in programs: {field.cupti}")


def run_program(field, program, way, number):
  name = f"program-{number}-{way}"
  process = field.start(way, name, [*program, "--tsv", "cost"])
  is_well = field.finish(way, name, process, PROGRAM_LIMIT_S)
  field.check(way, name)
  if is_well:
    for workload, value in costs_in(os.path.join(field.build.work, name + ".out")).items():
      field.add(workload, way, number, number, value)
  for path in glob.glob(glob.escape(os.path.join(field.build.work, name)) + ".*rep"):
    os.unlink(path)


def run_programs(field, program, until):
  """Rounds until that time, one at least."""
  ways = [way for way in PROGRAM_WAYS if field.can(way)]
  number, longest = 0, 0
  while number < field.rounds and (not number or time.monotonic() + longest < until):
    begin = time.monotonic()
    turn = number % len(ways)
    for way in ways[turn:] + ways[:turn]:
      if way != "nsys" or number % NSYS_EVERY == 0:
        run_program(field, program, way, number)
    longest = max(longest, time.monotonic() - begin)
    number += 1
  print(f"programs: {number} rounds, {longest:.1f} s the longest", flush=True)


def cpu_of_daemon(field, name, process):
  """Waits for the daemon of a run as its parent (see main): seconds of CPU, the most memory in bytes; or None."""
  data_dir = os.path.join(field.build.work, name) + ".d"
  limit = time.monotonic() + PROGRAM_LIMIT_S
  found = None
  while found is None and process.poll() is None and time.monotonic() < limit:
    found = next(guest.daemons(field.build, data_dir), None)
    time.sleep(0.02)
  while found is not None and time.monotonic() < limit + guest.DAEMON_LIMIT_S:
    try:
      pid, _, usage = os.wait4(found, os.WNOHANG)
    except ChildProcessError:
      break
    if pid:
      return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    time.sleep(0.02)
  return None


def run_long(field, program):
  """One long process of each kind under wavetap: what the daemon takes, what is stored, what is lost."""
  rows = []
  for number, (words, options, stored) in enumerate(LONG):
    name = f"long-{number}"
    process = field.start("wavetap", name, [*program, "--tsv", *options])
    usage = cpu_of_daemon(field, name, process)
    field.finish("wavetap", name, process, PROGRAM_LIMIT_S)
    account = field.check("wavetap", name)
    if not account or not account[stored]:
      continue
    count = account[stored]
    cpu = usage[0] if usage else None
    lost = sum(account[key] for key in ("launches_dropped", "kernels_dropped_ring", "kernels_dropped_cupti"))
    rows.append([words, f"{count:,}", f"{lost:,}", f"{account['unexplained']:,}",
                 field_table.number(cpu / count * 1e6 if cpu else None, 2),
                 field_table.number(count / cpu if cpu else None, 0),
                 field_table.number(usage[1] / 2**20 if usage else None, 0),
                 field_table.number(max(account["bytes"] - FIXED_BYTES, 0) / count, 1)])
  return rows


# ---- training

class Worker:
  """A process of field_torch.py, or what stands for it."""

  def __init__(self, field, worker, way, generation, listener, more=()):
    self.way, self.name = way, f"torch-{generation}-{way}"
    self.file = None
    more = [*more, "--profiler"] if way == "profiler" else more
    self.process = field.start(way, self.name, [*worker, "--socket", listener.getsockname(), "--way", way, *more])

  def ask(self, workload, steps, pieces):
    """What it measured; None if it doesn't answer any more."""
    try:
      return self.order(f"measure {workload} {steps} {pieces}")
    except (OSError, ValueError):
      return None

  def order(self, line):
    self.file.write(line + "\n")
    self.file.flush()
    return json.loads(self.file.readline())

  def quit(self):
    try:
      self.file.write("quit\n")
      self.file.close()
    except OSError:
      pass  # it has ended by itself: its exit status tells


def accept(field, listener, workers, limit_s):
  """Until each of these is ready, or ended, or that time is over: {way: what it said}."""
  waiting, said = {worker.way: worker for worker in workers}, {}
  limit = time.monotonic() + limit_s
  while waiting and time.monotonic() < limit:
    if not select.select([listener], [], [], 0.2)[0]:
      ended = [way for way, worker in waiting.items() if worker.process.poll() is not None]
      for way in ended:
        del waiting[way]
      continue
    connection, _ = listener.accept()
    connection.settimeout(ANSWER_LIMIT_S)
    file = connection.makefile("rw")
    connection.close()  # the file keeps it open
    try:
      hello = json.loads(file.readline())
      waiting.pop(hello["way"]).file = file
      said[hello["way"]] = hello
    except (OSError, ValueError, KeyError) as error:
      field.problem(f"a worker said nothing of use: {error}")
  for way in waiting:
    field.note(f"{way}: not ready after {limit_s:.0f} s")
  return said


def steps_of(bare, workload):
  """How many steps take PIECE_S, by the bare process."""
  for _ in range(2):
    answer = bare.ask(workload, 3, 1)
  return min(max(2, round(PIECE_S * 1e3 / answer["ms"][0])), STEPS_MAX) if answer else None


def value_of(workload, answer):
  median = sorted(answer["ms"])[len(answer["ms"]) // 2]
  return median * 1e6 if workload == "torch-storm" else median


def measure_rounds(field, workers, workloads, generation, kernels):
  steps, gone = {}, set()
  for number in range(ROUNDS):
    for workload in workloads:
      turn = number % len(workers)
      for worker in workers[turn:] + workers[:turn]:
        if field.left() < END_S or workers[0] in gone:
          return
        if worker in gone:
          continue
        if workload not in steps:
          steps[workload] = steps_of(workers[0], workload)
        answer = worker.ask(workload, steps[workload], PIECES) if steps[workload] else None
        if not answer:
          say = field.note if worker.way == "nsys" else field.problem
          say(f"{worker.name}: no answer for {workload}")
          gone.add(worker)
          continue
        if answer.get("kernels_per_step"):
          kernels[workload] = answer["kernels_per_step"]
        field.add(workload, worker.way, generation, f"{generation}.{number}", value_of(workload, answer))


def start_generation(field, worker, generation, listener):
  """Workers that are ready, bare first; what each said; all that were started."""
  ways = [way for way in TORCH_WAYS if field.can(way)]
  started = [Worker(field, worker, way, generation, listener) for way in ways]
  said = accept(field, listener, started, min(READY_LIMIT_S, max(1, field.left() - END_S)))
  for hello in said.values():
    for workload, why in hello["notes"].items():
      field.note(f"{workload}: {why}")
  return [one for one in started if one.way in said], said, started


def run_generation(field, worker, generation, listener, kernels):
  """False: there is nothing to measure here."""
  workers, said, started = start_generation(field, worker, generation, listener)
  if "bare" in said:
    workloads = [name for name in UNITS if all(name in hello["workloads"] for hello in said.values())]
    measure_rounds(field, workers, workloads, generation, kernels)
  for one in workers:
    one.quit()
  for one in started:
    if one.way not in said:
      field.note(f"{one.name}: {last_line(os.path.join(field.build.work, one.name) + '.err')}")
      if one.process.poll() is None:
        os.killpg(one.process.pid, signal.SIGKILL)
      one.process.wait()
      continue
    field.finish(one.way, one.name, one.process, min(END_LIMIT_S, max(2, field.left())))
    account = field.check(one.way, one.name)
    if account and one.way == "wavetap":
      dropped = sum(account[key] for key in ("launches_dropped", "kernels_dropped_ring", "kernels_dropped_cupti"))
      print(f"{one.name}: {account['launches_attempted']:,} launches, {account['kernels']:,} kernels, {dropped:,} "
            f"dropped, {account['unexplained']:,} unexplained", flush=True)
  return "bare" in said


def run_torch(field, worker, kernels):
  """Generations as long as there is time for one more; fills in kernels a step, as torch.profiler counted them."""
  generation, longest = 0, 0.0
  path = os.path.join(field.build.work, "socket")
  with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(path)
    listener.listen(len(TORCH_WAYS))
    while generation < field.rounds and field.left() > END_S + longest:
      begin = time.monotonic()
      is_there = run_generation(field, worker, generation, listener, kernels)
      if not is_there:
        break
      if generation:  # the first one compiles
        longest = max(longest, time.monotonic() - begin)
      generation += 1
  print(f"training: {generation} generations, {longest:.1f} s the longest but the first", flush=True)


# ---- the tables

def print_tables(field, long_rows, kernels, arguments):
  tables = field_table.tables(field.samples, long_rows, kernels)
  for header, rows in tables:
    print("\n" + field_table.text_table(header, rows))
  if not arguments.markdown:
    return
  notes = [f"- {note}" for note in field.notes + [f"problem: {text}" for text in field.problems]]
  with open(arguments.markdown, "w", encoding="utf-8") as file:
    file.write("\n\n".join([field_table.markdown(header, rows) for header, rows in tables]) + "\n")
    file.write("\n" + "\n".join(notes) + "\n")


def parse_arguments():
  parser = argparse.ArgumentParser(description="what watching costs, side by side")
  parser.add_argument("build", help="folder with libwavetap.so and the programs")
  parser.add_argument("work", help="folder for logs and run files")
  parser.add_argument("--total", type=float, default=480, metavar="SECONDS")
  parser.add_argument("--part", type=float, default=0.5, metavar="SHARE", help="of that for the programs")
  parser.add_argument("--rounds", type=int, default=1000, metavar="N", help="at most, and generations")
  parser.add_argument("--program", help="instead of BUILD/truth")
  parser.add_argument("--worker", help="instead of field_torch.py; empty: no training")
  parser.add_argument("--ways", help="of watching, with commas")
  parser.add_argument("--markdown", metavar="FILE", help="the tables once more")
  parser.add_argument("--tsv", metavar="FILE", help="every sample")
  return parser.parse_args()


def main():
  arguments = parse_arguments()
  field = Field(arguments)
  # The daemon starts as nobody's child: it shall become ours, so that the kernel tells what it took.
  ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
  cpus = one_node()
  os.sched_setaffinity(0, cpus)
  print(f"{len(cpus)} CPUs of one node; nsys: {field.nsys or 'not there'}", flush=True)
  program = shlex.split(arguments.program) if arguments.program else [field.build.program("truth")]
  worker = shlex.split(arguments.worker) if arguments.worker is not None else [
    sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "field_torch.py")]
  long_rows = []
  if arguments.part > 0:
    find_cupti(field, program)
    run_programs(field, program, field.begin + arguments.part * arguments.total - 20)
    long_rows = run_long(field, program)
  kernels = {}
  if worker and arguments.part < 1:
    try:
      run_torch(field, worker, kernels)
    except (OSError, ValueError) as error:  # what is measured is told in any case
      field.problem(f"training: {error}")
  print_tables(field, long_rows, kernels, arguments)
  counts = collections.Counter(sample.way for sample in field.samples)
  print(f"verdict: {'FAIL, ' + field.problems[0] if field.problems else 'ok'}; {time.monotonic() - field.begin:.0f} s, "
        f"samples: {', '.join(f'{way} {counts[way]}' for way in field_table.WAYS if counts[way])}")
  return 3 if not field.samples else 1 if field.problems else 0


if __name__ == "__main__":
  guest.main(main)

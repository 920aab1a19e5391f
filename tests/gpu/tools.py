#!/usr/bin/env python3
"""Under the vendor's tools: each gives what it gives without wavetap, in whatever order they nest.

  tools.py BUILD WORK cuda|torch

Tools are ncu, compute-sanitizer, nsys and cuda-gdb, `cuda` on tool_target, `torch` (the first two) on
share/share_torch.py --plain. Each runs three times: bare; `inside`, the program preloaded below the
tool; `outside`, the tool and all it starts below `wavetap run`. A line for each of the latter:

  status    that of the bare run
  stdout    the same lines, but for process ids, times, and what cuda-gdb says of threads and forks
  report    ncu: the kernels, one by one, and how many; compute-sanitizer: errors; nsys: a file of
            about that size; cuda-gdb: breakpoints and the end of the program
  own       nothing unexplained; hooks alone only with a reason. Inert is fine

A tool that is not there, or that fails bare, is a line that says so. Each run has a time limit.
Exit status: 0 all of it holds, 1 not so, 2 usage, 3 unreadable.
"""
import argparse
import collections
import csv
import glob
import os
import re
import shutil
import subprocess
import sys

import guest

PRELOADED = 'LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$0" exec "$@"'
PLACES = ("/usr/local/cuda/bin", "/opt/nvidia/nsight-compute/*", "/usr/local/cuda/compute-sanitizer",
          "/opt/nvidia/nsight-compute/*/host/target-linux-x64", "/usr/local/cuda/nsight-*",
          "/opt/nvidia/nsight-systems/*/bin")
GDB_NOISE = ("[New Thread", "[Thread", "[Detaching after", "[Switching", "warning:")
# Our hooks are on the stack of a launch, and offsets in it are of that run.
SANITIZER_NOISE = re.compile(r"Host Frame|Saved host backtrace")
PROGRESS = re.compile(r"\[[=\d% ]*\]|(\d+%\.*)+")
SIZE_RATIO = 1.25
LIMITS_S = {"cuda": 40, "torch": 110}


def find(name):
  found = shutil.which(name)
  for place in PLACES if not found else ():
    there = sorted(glob.glob(os.path.join(place, name)))
    if there:
      return there[-1]
  return found


class Tool:
  """A tool's command line, and what its report says."""

  def __init__(self, name, build):
    self.name, self.build, self.path = name, build, find(name)

  def command(self, report, target, inside):
    if inside:
      target = ["/bin/sh", "-c", PRELOADED, self.build.library, *target]
    return [self.path, *self.options(report), *target]

  def lines(self, text):
    text = text.replace(self.build.work, "WORK")
    text = re.sub(r"WORK/[\w.-]+|/tmp/nsys-report-\w+", "REPORT", text)
    text = guest.normal(PROGRESS.sub("%", text))
    return collections.Counter(line.rstrip() for line in text.splitlines() if line.strip())

  def found(self, report, result):
    raise NotImplementedError


class Ncu(Tool):
  count = 20

  def options(self, report):
    return ["--clock-control", "none", "--target-processes", "all", "-c", str(self.count),
            "--metrics", "gpu__time_duration.sum", "-f", "-o", report]

  def found(self, report, result):
    """(what must be equal, words)."""
    path = report + ".ncu-rep"
    if not os.path.exists(path):
      return "no report", "no report"
    text = subprocess.run([self.path, "--import", path, "--csv", "--page", "raw"],
                          capture_output=True, text=True, timeout=60, check=False).stdout
    rows = [row for row in csv.DictReader(text.splitlines()) if (row.get("ID") or "").isdigit()]
    names = [row.get("Kernel Name") for row in rows]
    return names, f"{len(names)} kernels of {len(set(names))} names"


class Sanitizer(Tool):
  def options(self, _):
    return ["--tool", "memcheck", "--target-processes", "all", "--error-exitcode", "9"]

  def lines(self, text):
    return super().lines("\n".join(line for line in text.splitlines()
                                   if not SANITIZER_NOISE.search(line)))

  def found(self, _, result):
    said = re.findall(r"ERROR SUMMARY: (\d+) error", result.text() + result.text("err"))
    return said, f"{' '.join(said) or 'no word of'} errors"


class Nsys(Tool):
  def options(self, report):
    return ["profile", "-t", "cuda", "--sample", "none", "--cpuctxsw", "none", "-f", "true", "-o", report]

  def found(self, report, result):
    files = sorted(path for path in glob.glob(glob.escape(report) + ".*")
                   if path.endswith((".nsys-rep", ".qdstrm")))
    size = sum(os.path.getsize(path) for path in files)
    return size, f"{size:,} bytes" if files else "no file"


class Gdb(Tool):
  def command(self, report, target, inside):
    before = ["-ex", f"set environment LD_PRELOAD {self.build.library}"] if inside else []
    words = ("set pagination off", "set breakpoint pending on", "break tool_mix", "run", "delete",
             "continue")
    return [self.path, "-batch", "-nx", *before, *(word for w in words for word in ("-ex", w)),
            "--args", *target]

  def lines(self, text):
    kept = [line for line in text.splitlines() if not line.startswith(GDB_NOISE)]
    return super().lines("\n".join(kept))

  def found(self, _, result):
    text = result.text()
    hits = len(re.findall(r"hit.*[Bb]reakpoint|[Bb]reakpoint \d+,", text))
    ended = "exited normally" in text
    return (hits, ended), f"{hits} breakpoints, {'ended well' if ended else 'did not end well'}"


def is_same(tool, bare, seen):
  if not isinstance(tool, Nsys) or not bare or not seen:
    return bare == seen
  return 1 / SIZE_RATIO <= seen / bare <= SIZE_RATIO


def first_difference(bare, seen):
  """A line that one of them has more often."""
  for sign, lines in (("-", bare - seen), ("+", seen - bare)):
    for line in lines:
      return f"stdout {sign} {line[:90]}"
  return None


def variables_of(result):
  """Names of what the tool has set in the program, which it wrote down itself."""
  try:
    with open(result.log + ".variables", encoding="utf-8") as file:
      names = set(file.read().split()) - set(os.environ) - {"TOOL_VARIABLES", "LD_PRELOAD"}
    return f"; the tool sets {' '.join(sorted(n for n in names if not n.startswith('WAVETAP'))) or 'none'}"
  except OSError:
    return ""


def judge(tool, bare, seen, mode, name, table):
  """`bare` and `seen`: (Result, report)."""
  (before, expected), (after, found) = bare, seen
  own = guest.Own(after.data_dir)
  problems = list(own.problems())
  if after.status != before.status:
    problems.append(f"exit status {after.status}, bare {before.status}: {after.last_error()}")
  difference = first_difference(tool.lines(before.text()), tool.lines(after.text()))
  if difference:
    problems.append(difference)
  if name.endswith("oob") and expected[0] == ["0"]:
    problems.append("the tool found nothing, bare")
  if not is_same(tool, expected[0], found[0]):
    problems.append("another report")
  table.add(f"{name}/{mode}", problems, f"{found[1]}, bare {expected[1]}; {own.words()} "
            f"({after.wall_s:.0f} s){variables_of(after)}")


def run_case(build, tool, name, target, limit_s, table):
  if not tool.path:
    table.add(name, [], f"not possible here: there is no {tool.name}")
    return
  results = {}
  for mode, how in (("bare", "bare"), ("inside", "preload"), ("outside", "run")):
    report = os.path.join(build.work, f"{name}-{mode}")
    log = os.path.join(build.work, f"{name}-{how}")
    result = guest.run(build, how, name, tool.command(report, target, mode == "inside"), limit_s,
                       {"TOOL_VARIABLES": log + ".variables"}, preload=False)
    results[mode] = result, tool.found(report, result)
    if mode == "bare" and not name.endswith("oob") and not re.search("^(kernels=|PLAIN )", result.text(), re.M):
      why = result.last_error() or (result.text().strip().splitlines() or [""])[-1][:160]
      table.add(name, [], f"not possible here: bare, exit status {result.status}: {why}")
      return
  for mode in ("inside", "outside"):
    judge(tool, results["bare"], results[mode], mode, name, table)


def main():
  parser = argparse.ArgumentParser(description="wavetap under the vendor's tools")
  parser.add_argument("build", help="folder with libwavetap.so and the programs")
  parser.add_argument("work", help="folder for logs and reports")
  parser.add_argument("what", choices=LIMITS_S, help="the programs")
  arguments = parser.parse_args()
  build, limit_s = guest.Build(arguments.build, arguments.work), LIMITS_S[arguments.what]
  here = os.path.dirname(os.path.abspath(__file__))
  target = [build.program("tool_target")]
  ncu, sanitizer = Ncu("ncu", build), Sanitizer("compute-sanitizer", build)
  table = guest.Table("tools")

  def case(tool, name, words):
    return lambda: run_case(build, tool, name, words, limit_s, table)

  if arguments.what == "torch":
    target = [sys.executable, os.path.join(here, "share", "share_torch.py"), "--plain"]
    guest.at_once(2, [case(sanitizer, "sanitizer-torch", target), case(ncu, "ncu-torch", target)])
    return table.verdict()

  def sanitize():
    case(sanitizer, "sanitizer", target)()
    case(sanitizer, "sanitizer-oob", target + ["oob"])()

  guest.at_once(3, [case(ncu, "ncu", target), sanitize, case(Nsys("nsys", build), "nsys", target)])
  # A debugger stops the whole device: alone.
  case(Gdb("cuda-gdb", build), "cuda-gdb", target)()
  return table.verdict()


if __name__ == "__main__":
  guest.main(main)

#!/usr/bin/env python3
"""Beside the profilers that programs use themselves: both sides get everything, in any order.

  sharing.py BUILD WORK [ROW...]

Each row is a program of share/ with a profiler in it, run bare and under wavetap (plain preloading),
some at a time. A line for each way of using the profiler:

  counts    sessions, kernels in each, copies, digest of kernel names: exactly those of the bare run
  times     the sum over kernels of their name's median, within 10 % of bare (the sum itself is printed)
  same      full capture: each kernel event of the profiler's is in the run file under the same
            correlation id, with the same duration (500 ns or 0.5 %, since clocks are converted)
  own       wavetap's account: nothing unexplained, nothing dropped; or hooks alone, with a reason

Exit status: 0 all rows are right, 1 not so, 3 unreadable.
"""
import argparse
import collections
import glob
import json
import os
import sys

import guest
import runfile

LIMIT_S = 100
AT_ONCE = 4
TIMES_PERCENT = 10
SAME_NS, SAME_SHARE = 500, 0.005
EXIT_SKIP = 77
COUNTS = ("sessions", "each", "kernels", "copies", "names", "digest")
NO_GRAPHS = {"XLA_FLAGS": "--xla_gpu_enable_command_buffer="}
ROWS = collections.OrderedDict([
  ("torch", ("share_torch.py", {}, ())),
  ("torch-first", ("share_torch.py", {}, ("--first",))),
  ("torch-teardown", ("share_torch.py", {"TEARDOWN_CUPTI": "1"}, ())),
  ("torch-no-teardown", ("share_torch.py", {"TEARDOWN_CUPTI": "0"}, ("--first",))),
  ("jax", ("share_jax.py", NO_GRAPHS, ())),
  ("jax-first", ("share_jax.py", NO_GRAPHS, ("--first",))),
  # Only so can counts be equal: who attaches after graphs were made may miss nodes when alone.
  ("jax-graphs-first", ("share_jax.py", {}, ("--first",))),
  ("proton", ("share_proton.py", {}, ())),
  ("proton-first", ("share_proton.py", {}, ("--first",))),
  # PyTorch is linked with its own libcupti, while Proton's is the one in use: both ask the driver.
  ("proton-then-torch", ("share_proton.py", {}, ("--first", "--then-torch"))),
  ("proton-torch-cupti", ("share_proton.py", {"TRITON_CUPTI_LIB_PATH": "?"}, ())),
])
ONLY_IF_NAMED = ("proton-then-torch",)


def torch_cupti(folder):
  """A folder in which Proton finds the libcupti that PyTorch is linked with; None without one."""
  for path in sys.path:
    for found in (glob.glob(os.path.join(path, "nvidia", "*", "lib", "libcupti.so.1[0-9]"))
                  + glob.glob(os.path.join(path, "nvidia", "lib", "libcupti.so.1[0-9]"))):
      os.makedirs(folder, exist_ok=True)
      for name in ("libcupti.so", "libcupti.so.12", "libcupti.so.13"):
        if not os.path.exists(os.path.join(folder, name)):
          os.symlink(os.path.realpath(found), os.path.join(folder, name))
      return folder
  return None


def ways_of(result):
  """{way: what it counted}, or (None, why)."""
  ways, why = collections.OrderedDict(), None
  for line in result.text().splitlines():
    if line.startswith("SHARE "):
      facts = json.loads(line[6:])
      ways[facts["way"]] = facts
    elif line.startswith("SKIP "):
      why = line[5:]
  return ways, why


def durations_of(own):
  """{correlation id: [ns]} of the run file's kernels."""
  found = collections.defaultdict(list)
  for path in own.files:
    run = runfile.open_run_file(path)
    for row in runfile.select(run, runfile.LAUNCH_VIEW, ("correlation_id", "start_ns", "end_ns"),
                              "WHERE end_ns IS NOT NULL"):
      found[row["correlation_id"]].append(row["end_ns"] - row["start_ns"])
  return found


def compare_events(path, own):
  """{way: (events, found, equal)} of the profiler's kernels in the run file."""
  durations, ways = durations_of(own), collections.OrderedDict()
  with open(path, encoding="utf-8") as lines:
    for line in lines:
      way, correlation, duration_ns, _ = line.split("\t", 3)
      if correlation == "0":
        continue  # this profiler tells none
      there = durations.get(int(correlation), [])
      duration_ns = int(duration_ns)
      allowed_ns = max(SAME_NS, SAME_SHARE * duration_ns)
      counts = ways.setdefault(way, [0, 0, 0])
      counts[0] += 1
      counts[1] += bool(there)
      counts[2] += any(abs(ns - duration_ns) <= allowed_ns for ns in there)
  return ways


def judge_way(bare, seen, same):
  """(problems, words) of one way of using the profiler."""
  problems = [f"{name} {bare.get(name)} became {seen.get(name)}" for name in COUNTS
              if bare.get(name) != seen.get(name)]
  if not bare.get("kernels"):
    problems.append("the bare run saw no kernel: nothing was compared")
  words = [f"{seen.get('sessions', 0)} sessions, {seen.get('kernels', 0):,} kernels, bare "
           f"{bare.get('kernels', 0):,}"]
  if bare.get("typical_ns") and seen.get("typical_ns"):
    ratio = seen["typical_ns"] / bare["typical_ns"]
    words.append(f"time x {ratio:.3f} (with hiccups x "
                 f"{seen['time_ns'] / max(1, bare['time_ns']):.3f})")
    if abs(ratio - 1) * 100 > TIMES_PERCENT:
      problems.append(f"kernel time x {ratio:.3f}")
  if same:
    words.append(f"{same[1]:,} of {same[0]:,} in the run file, {same[2]:,} equally long")
    if not same[0] == same[1] == same[2]:
      problems.append("events are not wavetap's")
  return problems, ", ".join(words)


def settings_of(row, build):
  script, settings, arguments = ROWS[row]
  if settings.get("TRITON_CUPTI_LIB_PATH") == "?":
    folder = torch_cupti(os.path.join(build.work, "torch-cupti"))
    if folder is None:
      return None
    settings = {"TRITON_CUPTI_LIB_PATH": folder}
  here = os.path.dirname(os.path.abspath(__file__))
  return [sys.executable, os.path.join(here, "share", script), *arguments], settings


def judge_row(row, build, results, table):
  bare, seen = results["bare"], results["preload"]
  (bare_ways, why), (seen_ways, _) = ways_of(bare), ways_of(seen)
  if bare.status == EXIT_SKIP and seen.status == EXIT_SKIP:
    table.add(row, [], f"not possible here: {why}")
    return
  own = guest.Own(seen.data_dir)
  problems = list(own.problems())
  problems += [f"{how}: exit status {result.status}: {result.last_error()}"
               for how, result in results.items() if result.status != 0]
  if own.is_inert():
    problems.append("no run file")
  if own.is_full() and own.dropped():
    problems.append(f"{own.dropped():,} dropped")
  table.add(row, problems, f"{own.words()} ({bare.wall_s:.0f} s, {seen.wall_s:.0f} s)")
  events = os.path.join(build.work, row + ".events")
  same = compare_events(events, own) if own.is_full() and os.path.exists(events) else {}
  for way in bare_ways:
    table.add(f"{row}/{way}", *judge_way(bare_ways[way], seen_ways.get(way, {}), same.get(way)))


def main():
  parser = argparse.ArgumentParser(description="wavetap beside other profilers")
  parser.add_argument("build", help="folder with libwavetap.so and the programs")
  parser.add_argument("work", help="folder for logs")
  parser.add_argument("rows", nargs="*", help=f"of {' '.join(ROWS)} (all but "
                      f"{' '.join(ONLY_IF_NAMED)})")
  arguments = parser.parse_args()
  unknown = [row for row in arguments.rows if row not in ROWS]
  if unknown:
    parser.error(f"no row {unknown[0]}")
  build = guest.Build(arguments.build, arguments.work)
  rows = [row for row in arguments.rows or [row for row in ROWS if row not in ONLY_IF_NAMED]
          if settings_of(row, build)]
  results = {row: {} for row in rows}

  def job(row, how):
    command, settings = settings_of(row, build)
    if "proton" not in row and how == "preload":
      command = command + ["--kernels", os.path.join(build.work, row + ".events")]
    results[row][how] = guest.run(build, how, row, command, LIMIT_S, settings)

  guest.at_once(AT_ONCE, [lambda row=row, how=how: job(row, how)
                          for row in rows for how in ("bare", "preload")])
  table = guest.Table("sharing")
  for row in rows:
    judge_row(row, build, results[row], table)
  return table.verdict()


if __name__ == "__main__":
  guest.main(main)

#!/usr/bin/env python3
"""Are named ranges recorded as the program made them? Compares cover_nvtx.py's output with a run file.

  check_ranges.py OUTPUT RUN     OUTPUT: stdout of cover_nvtx.py; RUN: a run file or its data directory

Asks for: the numbers of ranges by name; "forward", "backward", "optimizer" and "adds" at depth 1,
within a "step" of the same thread at depth 0, and not within each other; kernels launched inside as
many as the program launched there; the view kernel_range equal to trying every launch call with every
range of its thread here; begun = recorded, but for the storm of empty
ranges at the end, which may find the ring full. Prints how many kernels each name has,
by its own thread and by any, and a verdict.

Exit status: 0 so it is, 1 not so, 2 usage, 3 unreadable, 77 the program could not run.
"""
import bisect
import collections
import json
import sys

import runfile


def read_output(path):
  with open(path, encoding="utf-8", errors="replace") as lines:
    for line in reversed(lines.read().splitlines()):
      if line.startswith("COVER "):
        return json.loads(line[6:])
      if line.startswith("SKIP "):
        print(line)
        sys.exit(77)
  runfile.fail(f"{path}: no line COVER")


def read_ranges(run):
  return [dict(row) for row in runfile.select(
    run, "range", ("range_id", "process_id", "name", "kind", "tid", "end_tid", "start_ns", "end_ns", "depth"),
    "ORDER BY start_ns")]


def check_counts(run, facts, ranges, problems):
  wanted = dict(facts["ranges"])
  wanted[facts["cost_name"]] = facts["cost_pairs"]
  found = collections.Counter(one["name"] for one in ranges)
  counts = dict(runfile.select(
    run, "range_count", ("sum(begun) AS begun", "sum(recorded) AS recorded", "sum(dropped) AS dropped",
                         "sum(early) AS early", "sum(untracked) AS untracked", "sum(unbalanced) AS unbalanced"))[0])
  # A storm of empty ranges may find the ring full: that is counted, and of no other name.
  missing = wanted[facts["cost_name"]] - found[facts["cost_name"]]
  for name, number in wanted.items():
    if found[name] != number and not (name == facts["cost_name"] and missing == counts["dropped"]):
      problems.append(f'{name}: {found[name]} ranges, {number} were made')
  strangers = set(found) - set(wanted)
  if strangers:
    print(f"names of others: {', '.join(sorted(map(str, strangers)))}")
  # Early ones are of libraries, while they begin: before the first launch.
  if counts["begun"] != counts["recorded"] + counts["dropped"] + counts["early"] or counts["untracked"]:
    problems.append(f"not accounted for: {counts}")
  if counts["unbalanced"] != facts["unbalanced"]:
    problems.append(f"{counts['unbalanced']} pops too many, {facts['unbalanced']} were made")
  print(f"ranges: {counts}")


def check_nesting(ranges, problems):
  steps = [one for one in ranges if one["name"] == "step"]
  starts = [one["start_ns"] for one in steps]
  last_end = {}
  for one in ranges:
    if one["name"] not in ("forward", "backward", "optimizer", "adds"):
      continue
    at = bisect.bisect_right(starts, one["start_ns"]) - 1
    step = steps[at] if at >= 0 else None
    if not step or step["end_ns"] < one["end_ns"] or step["tid"] != one["tid"] or one["depth"] != 1 or step["depth"]:
      problems.append(f"{one['name']} at {one['start_ns']} is not in a step")
    if one["start_ns"] < last_end.get(one["tid"], 0):
      problems.append(f"{one['name']} at {one['start_ns']} overlaps the one before")
    last_end[one["tid"]] = one["end_ns"]
  crossing = [one for one in ranges if one["name"] == "two steps"]
  if any(one["kind"] != "start" or one["tid"] == one["end_tid"] for one in crossing):
    problems.append("two steps: not started and ended by two threads")


def kernels_by_call(run):
  """Entry and thread of the call of each kernel."""
  calls = {("launch", row["process_id"], row["seq"]): row for row in runfile.select(
    run, "launch_call", ("process_id", "seq", "entry_ns", "tid"))}
  calls.update({("graph", row["process_id"], row["seq"]): row for row in runfile.select(
    run, "api_call", ("process_id", "seq", "entry_ns", "tid"), "WHERE seq IS NOT NULL")})
  kernels = []
  for row in runfile.select(run, "kernel_exec", ("exec_id", "process_id", "launch_seq", "graph_id")):
    call = calls.get(("launch" if row["graph_id"] is None else "graph", row["process_id"], row["launch_seq"]))
    if call:
      kernels.append((call["entry_ns"], call["tid"], row["process_id"], row["exec_id"]))
  return sorted(kernels)


def inside_of(ranges, kernels):
  """{range_id: (kernels of its thread, of any)}; for started ranges both are of any."""
  entries = [kernel[0] for kernel in kernels]
  inside = {}
  for one in ranges:
    low = bisect.bisect_left(entries, one["start_ns"])
    high = bisect.bisect_left(entries, one["end_ns"]) if one["end_ns"] is not None else len(entries)
    any_thread = [k for k in kernels[low:high] if k[2] == one["process_id"]]
    own = [k for k in any_thread if one["kind"] == "start" or k[1] == one["tid"]]
    inside[one["range_id"]] = (len(own), len(any_thread))
  return inside


def check_kernels(run, facts, ranges, problems):
  inside = inside_of(ranges, kernels_by_call(run))
  own, any_thread = collections.Counter(), collections.Counter()
  for one in ranges:
    own[one["name"]] += inside[one["range_id"]][0]
    any_thread[one["name"]] += inside[one["range_id"]][1]
  for name, wanted in facts["kernels_inside"].items():
    if own[name] != wanted:
      problems.append(f"{name}: {own[name]} kernels inside, {wanted} were launched there")
  view = collections.Counter({row["range_id"]: row["n"] for row in runfile.select(
    run, "kernel_range", ("range_id", "count(DISTINCT exec_id) AS n"), "GROUP BY range_id")})
  differing = sum(view[range_id] != counts[0] for range_id, counts in inside.items())
  if differing:
    problems.append(f"kernel_range differs for {differing} ranges")
  for name in facts["ranges"]:
    print(f"{name}: {own[name]:,} kernels launched inside, {any_thread[name]:,} with those of other threads")
  if any_thread["backward"] <= own["backward"]:
    print("backward: no launch of another thread (autograd usually has one of its own)")


def main():
  if len(sys.argv) != 3:
    print(__doc__, file=sys.stderr)
    sys.exit(2)
  try:
    facts = read_output(sys.argv[1])
    run = runfile.open_run_file(sys.argv[2])
    problems = []
    if not facts["is_heard"]:
      problems.append(f"NVTX did not find wavetap: push and pop returned {facts['returned']}")
    ranges = read_ranges(run)
    named = [one for one in ranges if one["name"] in facts["ranges"]]
    check_counts(run, facts, ranges, problems)
    check_nesting(named, problems)
    check_kernels(run, facts, named, problems)
  except (runfile.RunFileError, OSError, KeyError, ValueError) as error:
    runfile.fail(f"check_ranges.py: {error}")
  for problem in problems[:12]:
    print(problem)
  total = sum(facts["ranges"].values())
  print(f"{len(problems)} problems, the first: {problems[0]}" if problems
        else f"{total} ranges of {len(facts['ranges'])} names as made, push and pop {facts['push_pop_ns']} ns")
  sys.exit(1 if problems else 0)


if __name__ == "__main__":
  main()

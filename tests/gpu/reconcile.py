#!/usr/bin/env python3
"""Adds up the loss accounting of a wavetap run file, per process.

  reconcile.py [--tsv] [--expect NAME=N ...] RUN     RUN: a run file or a data directory with one

Every launch call and every kernel record must be in exactly one class:

  attempted = stored + dropped + torn
  stored    = failed + captured + linked + unobserved + in flight + unlinked
  kernels   = linked + graph + device + cupti only
  unexplained = 0

and the rows of the launch view must be as many as the kernels counted, in total and in graphs.
--expect compares a column's sum over all processes with a number known from elsewhere.

Exit status: 0 all sums hold and nothing is unexplained, 1 not so, 2 usage, 3 unreadable.
"""
import argparse
import sys

import runfile

COUNTS = runfile.LOSS_COLUMNS[1:]


def sums_of(process, rows):
  """(what, left side, right side) of each equation that must hold."""

  def total(*names):
    return sum(process[name] for name in names)

  return [
    ("attempted = stored + dropped + torn", process["launches_attempted"],
     total("launches_stored", "launches_dropped", "launches_torn")),
    ("stored = failed + captured + linked + unobserved + in flight + unlinked",
     process["launches_stored"],
     total("launches_failed", "launches_captured", "launches_linked", "launches_unobserved",
           "launches_in_flight", "launches_unlinked")),
    ("kernels = linked + graph + device + cupti only", process["kernels"],
     total("kernels_linked", "kernels_graph", "kernels_device", "kernels_cupti_only")),
    ("launches linked = kernels linked", process["launches_linked"], process["kernels_linked"]),
    ("rows of the launch view = kernels", rows[0], process["kernels"]),
    ("rows of graph nodes = kernels in graphs", rows[1], process["kernels_graph"]),
    ("unexplained = 0", process["unexplained"], 0),
  ]


def problems_of(process, rows):
  unknown = [f"{name} is unknown" for name in COUNTS if process[name] is None]
  if unknown:
    return unknown
  wrong = [f"{what}: {left} against {right}" for what, left, right in sums_of(process, rows)
           if left != right]
  return wrong + [f"{name} is {process[name]}" for name in COUNTS if process[name] < 0]


def count_rows(run):
  """Rows of the launch view per process: all, and those of graph nodes."""
  counts = {}
  columns = ("process_id", "count(*)", "count(graph_id)")
  for process_id, rows, graph_rows in runfile.select(run, runfile.LAUNCH_VIEW, columns,
                                                     "GROUP BY process_id"):
    counts[process_id] = (rows, graph_rows)
  return counts


def parse_expectation(text):
  name, separator, value = text.partition("=")
  if not separator or name not in COUNTS or not value.isdigit():
    raise argparse.ArgumentTypeError(f"{text}: NAME=N with a column of the loss view is needed")
  return name, int(value)


def print_process(process):
  print(f"process {process['process_id']}")
  for name in COUNTS:
    print(f"  {name:24s} {'.' if process[name] is None else process[name]:>12}")
  names = ("launches_attempted", "launches_captured", "launches_failed", "kernels_graph", "kernels")
  if None not in [process[name] for name in names]:
    hooked, captured, failed, graph, kernels = (process[name] for name in names)
    print(f"  hooked {hooked} - captured {captured} - failed {failed} + graph nodes {graph} = "
          f"{hooked - captured - failed + graph}, kernel records {kernels}")


def main():
  parser = argparse.ArgumentParser(description="add up the losses of a wavetap run file")
  parser.add_argument("--tsv", action="store_true", help="the counts as a header and rows")
  parser.add_argument("--expect", action="append", default=[], type=parse_expectation,
                      metavar="NAME=N", help="the sum of a column that must be found")
  parser.add_argument("run", help="run file, or the data directory that holds one")
  arguments = parser.parse_args()

  run = runfile.open_run_file(arguments.run)
  processes = [dict(row) for row in runfile.select(run, runfile.LOSS_VIEW, runfile.LOSS_COLUMNS,
                                                   "ORDER BY process_id")]
  rows = count_rows(run)
  if not processes:
    runfile.fail("reconcile: no process in the run file")
  problems = []
  if arguments.tsv:
    print(*runfile.LOSS_COLUMNS, sep="\t")
  for process in processes:
    if arguments.tsv:
      print(*(process[name] for name in runfile.LOSS_COLUMNS), sep="\t")
    else:
      print_process(process)
    problems += [f"process {process['process_id']}: {problem}"
                 for problem in problems_of(process, rows.get(process["process_id"], (0, 0)))]
  for name, wanted in arguments.expect:
    found = sum(process[name] or 0 for process in processes)
    if found != wanted:
      problems.append(f"{name}: {found}, expected {wanted}")
  for problem in problems:
    print(f"reconcile: {problem}", file=sys.stderr)
  if not arguments.tsv:
    print("verdict: " + (f"FAIL, {len(problems)} problems, the first: {problems[0]}" if problems
                         else f"ok, {len(processes)} processes"))
  return 1 if problems else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError) as error:
    runfile.fail(f"reconcile: {error}")

#!/usr/bin/env python3
"""The coverage table: for each program of the `coverage` section, what it did, what was hooked and
recorded, by class, and whether that adds up.

  coverage.py ROWS DATA-DIRECTORY     ROWS: tab-separated name, exit status, program's stdout

A program's last line says what it knows of itself: `COVER {json}` with `launches` (calls of the
launch family, captured ones too), `captured`, `graph_launches`, `kernels` (that must have run),
`kernels_named` ({part of a name: kernels}), `device_kernels` (launched by kernels), `note`; or
`SKIP why`. The run file of a program carries its name. Rows ask for:

  the books of reconcile.py hold, nothing is unexplained, nothing was dropped
  what the program knows is what was found
  `injection-*`: capture is kernels-only, no call is hooked, all kernels are there

A kernel count that differs only where CUPTI is known to have gaps (conditional bodies, launches by
kernels) is told, not failed. Prints a Markdown table and a verdict.

Exit status: 0 all programs that could run pass, 1 not so, 2 usage, 3 unreadable.
"""
import collections
import glob
import json
import os
import sys

import reconcile
import runfile

CUPTI_MAY_MISS = ("runtime-if", "runtime-while", "device-")
COLUMNS = ("program", "launches hooked", "captured", "graph launches", "kernel records", "linked",
           "in graphs", "by device", "CUPTI only", "dropped", "unexplained", "known", "verdict")


def find_runs(directory):
  """Run files by the name of the run."""
  runs = {}
  for path in sorted(glob.glob(os.path.join(directory, "runs", "*.db"))):
    run = runfile.open_run_file(path)
    name = dict(tuple(row) for row in runfile.select(run, "meta", ("key", "value"))).get("name")
    if name in runs:
      raise runfile.RunFileError(f"{path}: a second run named {name}")
    runs[name] = run
  return runs


def read_output(path):
  """(facts, None) of a program that ran to its end, (None, why) of one that could not."""
  with open(path, encoding="utf-8", errors="replace") as lines:
    for line in reversed(lines.read().splitlines()):
      if line.startswith("COVER "):
        return json.loads(line[6:]), None
      if line.startswith("SKIP "):
        return None, line[5:]
      # the programs over the driver: "parent pid=1 attempted=2 ok=... kernels=..."
      if "attempted=" in line and "kernels=" in line:
        words = dict(word.split("=") for word in line.split() if "=" in word)
        return {"launches": int(words["attempted"]) - int(words["graph_launches"]),
                "captured": int(words["captured"]),
                "graph_launches": int(words["graph_launches"]),
                "kernels": int(words["kernels"])}, None
  return None, "said nothing"


def count_named(run, part):
  return runfile.select(run, "launch", ("count(*)",),
                        f"WHERE kernel LIKE '%' || '{part}' || '%'")[0][0]


def compare(name, facts, sums, run):
  """(problems, differences that CUPTI answers for, what was known)."""
  problems, differences, known = [], [], []
  is_injected = name.startswith("injection")
  pairs = [("launches", sums["launches_attempted"]), ("captured", sums["launches_captured"]),
           ("graph_launches", sums["graph_launches"])]
  for key, found in pairs:
    wanted = 0 if is_injected and key in facts else facts.get(key)
    if wanted is not None and wanted != found:
      problems.append(f"{key}: {found}, the program made {wanted}")
  wanted = facts.get("kernels")
  if wanted is not None:
    known.append(f"{wanted:,} kernels")
    found = sums["kernels"]
    if found != wanted:
      is_known_gap = name.startswith(CUPTI_MAY_MISS)
      (differences if is_known_gap else problems).append(f"kernels: {found:,}, {wanted:,} ran")
  for part, wanted in facts.get("kernels_named", {}).items():
    known.append(f"{wanted:,} {part}")
    found = count_named(run, part)
    if found != wanted:
      problems.append(f"{part}: {found} kernels, {wanted} ran")
  if facts.get("device_kernels"):
    known.append(f"{facts['device_kernels']:,} launched by kernels")
  if facts.get("note"):
    known.append(facts["note"])
  return problems, differences, known


def check_captures(name, run):
  wanted = "kernels-only" if name.startswith("injection") else "full"
  return [f"process {row['pid']}: capture {row['capture']}: {row['reason']}"
          for row in runfile.select(run, "process", ("pid", "capture", "reason"))
          if row["capture"] != wanted]


def judge(name, status, output, run):
  """A row of the table; its last cell begins with ok, FAIL, or says what was not there."""
  facts, why = read_output(output)
  row = collections.OrderedDict((column, "") for column in COLUMNS)
  row["program"] = name
  if status == "77":
    row["verdict"] = why or "not possible here"
    return row
  if status != "0" or facts is None:
    row["verdict"] = f"FAIL: exit status {status}" + (f", {why}" if why else "")
    return row
  if run is None:
    row["verdict"] = "FAIL: no run file"
    return row
  processes = [dict(one) for one in runfile.select(run, runfile.LOSS_VIEW, runfile.LOSS_COLUMNS)]
  rows = reconcile.count_rows(run)
  sums = {column: sum(process[column] or 0 for process in processes)
          for column in runfile.LOSS_COLUMNS}
  dropped = sums["launches_dropped"] + sums["kernels_dropped_ring"] + sums["kernels_dropped_cupti"]
  problems, differences, known = compare(name, facts, sums, run)
  problems += check_captures(name, run)
  for process in processes:
    problems += reconcile.problems_of(process, rows.get(process["process_id"], (0, 0)))
  if dropped:
    problems.append(f"{dropped} dropped")
  cells = (sums["launches_attempted"], sums["launches_captured"], sums["graph_launches"],
           sums["kernels"], sums["kernels_linked"], sums["kernels_graph"], sums["kernels_device"],
           sums["kernels_cupti_only"], dropped, sums["unexplained"])
  for column, value in zip(COLUMNS[1:], cells):
    row[column] = f"{value:,}"
  row["known"] = ", ".join(known)
  row["verdict"] = (f"FAIL: {'; '.join(problems)}" if problems
                    else f"CUPTI: {'; '.join(differences)}" if differences else "ok")
  return row


def main():
  if len(sys.argv) != 3:
    print(__doc__.split("\n\n")[1], file=sys.stderr)
    return 2
  runs = find_runs(sys.argv[2])
  with open(sys.argv[1], encoding="utf-8") as lines:
    listed = [line.rstrip("\n").split("\t") for line in lines]
  table = [judge(name, status, output, runs.get(name)) for name, status, output in listed]
  print("| " + " | ".join(COLUMNS) + " |")
  print("|" + "---|" * len(COLUMNS))
  for row in table:
    print("| " + " | ".join(str(cell).replace("|", "/") for cell in row.values()) + " |")
  failed = [row["program"] for row in table if row["verdict"].startswith("FAIL")]
  ran = [row for row in table if row["launches hooked"] != ""]
  print(f"verdict: {'FAIL: ' + ' '.join(failed) if failed else 'ok'}, {len(ran)} programs ran, "
        f"{len(table) - len(ran) - sum(row['launches hooked'] == '' for row in table if row['program'] in failed)} "
        "not possible here")
  return 1 if failed else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError) as error:
    runfile.fail(f"coverage: {error}")

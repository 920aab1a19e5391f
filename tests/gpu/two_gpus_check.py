#!/usr/bin/env python3
"""What wavetap says of two_gpus.py, against what that planted.

  two_gpus_check.py late WAVETAP OUT RUN [--table FILE] [--label L]  a row for each phase; appended to FILE, too
  two_gpus_check.py ledger WAVETAP OUT RUN                comm apart, no underfill of collectives, kernels beside them
  two_gpus_check.py same BARE OUT                         losses and torch.profiler's counts, both ranks
  two_gpus_check.py samplers RUN                          both devices sampled

OUT has the lines of two_gpus.py, RUN is the run file or data directory of the same program; BARE is OUT of one without
wavetap.

`late`, per phase by its times alone: `wavetap ranks` names the late rank, and the cause, in at least 80 % of the steps
that it has; it had 60 to 140 % of what was planted more of that than the other, beyond what it had in phase `none`. Of that
nothing is judged: what is late there is the machine's own.

Exit status: 0 all of it holds, 1 not so, 2 usage, 3 unreadable.
"""
import argparse
import json
import subprocess
import sys

import runfile

CAUSES = {"none": None, "sleep": "host", "kernel": "kernels", "copy": "copy_pageable"}
LATE_RANK, RANKS = 1, 2
LEAST_STEPS_SHARE, LEAST_SHARE, MOST_SHARE = 0.8, 0.6, 1.4
COUNTS = ("steps", "kernels", "kernel_names", "kernel_names_digest", "collectives", "memcpy", "memset")
LOSSES = ("mode", "steps", "digest", "last")
COLUMNS = ("work", "phase", "planted ms/step", "expected", "wavetap: late", "because of", "more of it, ms/step",
           "in steps", "waited ms/step", "of it exposed", "ms/step", "verdict")


def lines(path, word):
  """The JSON of each such line of a program's output."""
  with open(path, encoding="utf-8", errors="replace") as file:
    return [json.loads(line[len(word) + 1:]) for line in file if line.startswith(word + " {")]


def ask(wavetap, command, run, *options):
  done = subprocess.run([wavetap, command, "-r", run, "--json", *options], capture_output=True, text=True)
  if done.returncode:
    runfile.fail(f"two_gpus: {command}: {done.stderr.strip()[-300:] or done.returncode}")
  return json.loads(done.stdout)


def run_start_ns(wavetap, run):
  return ask(wavetap, "ledger", run, "--from", "0ns")["window"]["start_ns"]


def phases(out):
  """By name, the phase of each rank; in the order of the program."""
  found = {}
  for line in lines(out, "PHASE"):
    found.setdefault(line["phase"], {})[line["rank"]] = line
  return {name: ranks for name, ranks in found.items() if len(ranks) == RANKS}


def window(start_ns, ranks):
  """The time that all ranks were in a phase."""
  from_ns = max(0, max(rank["from_ns"] for rank in ranks.values()) - start_ns)
  to_ns = min(rank["to_ns"] for rank in ranks.values()) - start_ns
  return ["--from", f"{from_ns}ns", "--to", f"{to_ns}ns"]


def ms(ns, steps):
  return f"{ns / steps / 1e6:.3f}" if ns is not None and steps else "."


def more_ns(answer, cause, steps):
  """How much more of a cause the late rank had a step than the other, over all steps in which either was late."""
  sums = [(late["excess_ns"][cause] * (1 if late["rank"] == LATE_RANK else -1), late["steps"]) for late in answer["late"]]
  count = sum(of for _, of in sums) if sums and all(of for _, of in sums) else steps
  return sum(ns for ns, _ in sums) / count


def judge_phase(name, ranks, answer, usual):
  """A row's cells after the work's name, and what is wrong; `usual` is the answer of phase none."""
  steps = ranks[LATE_RANK]["steps"]
  planted_ns = (ranks[LATE_RANK]["late_ns"] - ranks[0]["late_ns"]) / steps
  rows = {row["rank"]: row for row in answer["rows"]}
  found = max(answer["late"], key=lambda late: late["waited_ns"], default=None)
  expected = CAUSES[name]
  cells = [name, f"{planted_ns / 1e6:.3f}", f"rank {LATE_RANK}, {expected}" if expected else "."]
  problems = []
  if found is None:
    cells += [".", answer["reason"].get("late", "nobody"), ".", "."]
    problems.append("nobody is named")
  else:
    # Without steps the window is one, of all of the program's.
    of = answer["late_of_steps"] or 1
    late_steps = found["steps"] if found["steps"] is not None else steps
    cause = expected or found["cause"] or "host"
    each_ns = more_ns(answer, cause, steps)
    if expected and usual:
      each_ns -= more_ns(usual, cause, steps)
    cells += [f"rank {found['rank']}", str(found["cause"]), f"{each_ns / 1e6:.3f}",
              f"{late_steps} of {of if found['steps'] is not None else steps}"]
    if expected:
      if found["rank"] != LATE_RANK:
        problems.append("another rank")
      if found["cause"] != expected:
        problems.append("another cause")
      if found["steps"] is not None and (found["steps"] < LEAST_STEPS_SHARE * of or of < steps / 2):
        problems.append("too few steps")
      if not LEAST_SHARE * planted_ns <= each_ns <= MOST_SHARE * planted_ns:
        problems.append("another amount")
  early = rows.get(0, {})
  wall_ns = answer["window"]["wall_ns"]
  cells += [ms(early.get("wait_ns"), steps), ms(early.get("wait_exposed_ns"), steps), ms(wall_ns, steps)]
  if not expected:
    return cells + ["not judged"], []
  return cells + [", ".join(problems) or "ok"], problems


def print_table(rows, table):
  text = [COLUMNS, *rows]
  widths = [max(len(row[i]) for row in text) for i in range(len(COLUMNS))]
  for row in text:
    print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
  if table:
    with open(table, "a", encoding="utf-8") as file:
      if file.tell() == 0:
        file.write("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|\n")
      for row in rows:
        file.write("| " + " | ".join(row) + " |\n")


def late(arguments):
  run = runfile.find_run_file(arguments.run)
  losses = lines(arguments.out, "LOSSES")
  found = phases(arguments.out)
  problems, rows, usual = [], [], None
  start_ns = run_start_ns(arguments.wavetap, run)
  for name, ranks in found.items():
    answer = ask(arguments.wavetap, "ranks", run, *window(start_ns, ranks))
    cells, wrong = judge_phase(name, ranks, answer, usual)
    rows.append([arguments.label or (losses[0]["mode"] if losses else "?"), *cells])
    problems += [f"{name}: {text}" for text in wrong]
    if name == "none":
      usual = answer
      print(f"collectives end {answer['collectives_ends_apart_ns']} ns apart, median; "
            f"{answer['collectives']} in phase none, {answer['collectives_apart']} not at the same time")
  print_table(rows, arguments.table)
  if set(found) != set(CAUSES):
    problems.append(f"phases of both ranks: {', '.join(found) or 'none'}")
  ranks = [row["rank"] for row in runfile.select(runfile.open_run_file(run), runfile.PROCESS_VIEW,
                                                 runfile.PROCESS_COLUMNS, "WHERE rank IS NOT NULL ORDER BY rank")]
  if ranks != list(range(RANKS)):
    problems.append(f"ranks of the one run file: {ranks}")
  return problems, f"{len(rows)} phases, one run file, ranks {ranks}"


# Time of kernels while a collective of their process ran, and how much of it: summed, one by one.
BESIDE = """
  WITH k AS (SELECT e.process_id AS p, c.device_id AS d, e.start_ns AS a, e.end_ns AS b, name LIKE '%nccl%' AS is_comm
    FROM kernel_exec e JOIN config c USING (config_id) JOIN kernel USING (kernel_id) WHERE e.end_ns > e.start_ns
      AND e.end_ns > ? AND e.start_ns < ?),
  comm AS (SELECT * FROM k WHERE is_comm)
  SELECT comm.d, count(*), sum(min(k.b, comm.b) - max(k.a, comm.a)) FROM comm JOIN k ON k.d = comm.d AND NOT k.is_comm
    AND k.a < comm.b AND k.b > comm.a GROUP BY 1 ORDER BY 1"""


def ledger(arguments):
  run = runfile.find_run_file(arguments.run)
  problems, said = [], []
  start_ns = run_start_ns(arguments.wavetap, run)
  ranks = phases(arguments.out).get("sleep")
  if not ranks:
    return ["no phase sleep of both ranks"], ""
  span = window(start_ns, ranks)
  answer = ask(arguments.wavetap, "ledger", run, *span)
  connection = runfile.open_run_file(run)
  beside = {row[0]: row for row in connection.execute(
    BESIDE, (answer["window"]["start_ns"], answer["window"]["end_ns"]))}
  for device in answer["devices"]:
    total = device["total_sm_ns"] or 1
    part = {key: 100 * device[key] / total for key in
            ("active_sm_ns", "underfill_sm_ns", "wave_sm_ns", "unjudged_sm_ns", "comm_sm_ns")}
    _, count, ns = beside.get(device["device_id"], (0, 0, 0))
    print(f"device {device['device_id']}, phase sleep: " + ", ".join(f"{key[:-6]} {value:.1f} %" for key, value in part.items())
          + f"; {count} kernels beside collectives, {100 * ns / max(1, device['wall_ns']):.1f} % of the time")
    if device["comm_sm_ns"] <= 0:
      problems.append(f"device {device['device_id']}: no comm")
    if device["residual_sm_ns"]:
      problems.append(f"device {device['device_id']}: residual {device['residual_sm_ns']}")
    said.append(f"comm {part['comm_sm_ns']:.1f} %, unjudged {part['unjudged_sm_ns']:.1f} %")
  collectives = 0
  for row in ask(arguments.wavetap, "top", run, "--all", "--limit", "0")["rows"]:
    if "nccl" not in row["kernel"]:
      continue
    collectives += 1
    print(f"top: {row['kernel'][:60]}: {row['launches']} launches, underfill {row['underfill_sm_ns']}, idle {row['idle_sm_ns']}")
    if row["underfill_sm_ns"] or row["idle_sm_ns"]:
      problems.append(f"underfill of {row['kernel']}")
  if not collectives:
    problems.append("top has no collective")
  return problems, f"{collectives} collective kernels without underfill; " + "; ".join(said)


def same(arguments):
  problems = []
  for word, names in (("LOSSES", LOSSES), ("PROFILER", COUNTS)):
    bare, observed = ({line["rank"]: line for line in lines(path, word)} for path in (arguments.bare, arguments.out))
    if len(bare) != RANKS:
      problems.append(f"{word} of {len(bare)} ranks without wavetap")
    for rank, before in bare.items():
      after = observed.get(rank, {})
      problems += [f"rank {rank}: {name} {before.get(name)} became {after.get(name)}" for name in names
                   if before.get(name) != after.get(name)]
      if word == "PROFILER":
        print(f"rank {rank}: torch.profiler: {after.get('kernels')} kernels, {after.get('collectives')} of them collectives")
        if not before.get("kernels") or not before.get("collectives"):
          problems.append(f"rank {rank}: the bare session saw no kernels: nothing was compared")
      else:
        print(f"rank {rank}: losses {after.get('digest')}, {after.get('ms_per_step')} ms per step, bare {before.get('ms_per_step')}")
  return problems, f"losses and the profiler's counts of {RANKS} ranks equal"


def samplers(arguments):
  connection = runfile.open_run_file(arguments.run)
  rows = connection.execute("SELECT device_id, samples_stored, samples_dropped, overflows FROM sampler"
                            " WHERE samples_stored > 0 ORDER BY device_id").fetchall()
  used = [row[0] for row in connection.execute("SELECT DISTINCT device_id FROM process_gpu ORDER BY 1")]
  for device, stored, dropped, overflows in rows:
    mean = connection.execute("SELECT avg(active_avg) FROM sm_active WHERE device_id = ?", (device,)).fetchone()[0]
    print(f"device {device}: {stored} samples, {dropped} dropped, {overflows} overflows, SM activity "
          + ("not known" if mean is None else f"{100 * mean:.1f} %"))
  devices = sorted({row[0] for row in rows})
  problems = [] if devices == used and len(used) == RANKS else [f"sampled are {devices}, used {used}"]
  return problems, f"sample all devices: {len(devices)} of {len(used)}, {sum(row[1] for row in rows)} samples"


def main():
  parser = argparse.ArgumentParser(description="two_gpus.py against wavetap")
  commands = parser.add_subparsers(dest="command", required=True)
  for name, function in (("late", late), ("ledger", ledger)):
    command = commands.add_parser(name)
    command.set_defaults(function=function)
    for operand in ("wavetap", "out", "run"):
      command.add_argument(operand)
    if name == "late":
      command.add_argument("--table", help="Markdown rows are appended to it")
      command.add_argument("--label", help="what the rows call the work; default its mode")
  command = commands.add_parser("same")
  command.set_defaults(function=same)
  command.add_argument("bare")
  command.add_argument("out")
  command = commands.add_parser("samplers")
  command.set_defaults(function=samplers)
  command.add_argument("run")
  arguments = parser.parse_args()
  problems, summary = arguments.function(arguments)
  for problem in problems:
    print(f"two_gpus: {problem}")
  print("verdict: " + (f"FAIL, {len(problems)} problems, the first: {problems[0]}" if problems else f"ok, {summary}"))
  return 1 if problems else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError) as error:
    runfile.fail(f"two_gpus: {error}")

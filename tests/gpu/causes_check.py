#!/usr/bin/env python3
"""causes_check.py WAVETAP PROGRAM-OUT RUN: does `wavetap diagnose` name each planted cause first?

PROGRAM-OUT has the CAUSES lines of causes.py or causes_native, RUN is the run file or data directory of
that program. For each part, and the time from its beginning to its end alone:

  - the first finding is one of those expected; where none is, there is none above the threshold
  - time that was planted exactly is found in its cause, at least 95 % of it, and the ledger leaves nothing
  - the stakes of all findings together are at most the whole
  - where a part must have fewer gaps than another: at most half of its share, if it was faster at all

Prints a line for each part and fails if one is wrong.
"""
import json
import subprocess
import sys

import runfile

LEAST_SHARE = 0.95


def ask(wavetap, command, run, *options):
  """JSON of a command; what it says on stderr where it fails."""
  done = subprocess.run([wavetap, command, "-r", run, "--json", *options], capture_output=True, text=True)
  if done.returncode:
    raise RuntimeError(f"{command}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
  return json.loads(done.stdout)


def percent(share):
  return f"{100 * share:.1f} %"


def judge_findings(part, findings, problems):
  """What was found, in words; appends what is wrong."""
  first = findings[0] if findings else None
  expected = part["expect"]
  if expected is None:
    pass
  elif not expected and first:
    problems.append("nothing was to be found")
  elif expected and (not first or first["kind"] not in expected):
    problems.append("not first")
  if sum(finding["share_max"] for finding in findings) > 1.000001:
    problems.append("stakes exceed the whole")
  words = [f"{finding['kind']} {percent(finding['share_max'])}" for finding in findings[:3]]
  return ", ".join(words) or "nothing"


def judge_planted(part, device, problems):
  planted = part.get("planted")
  if device["residual_sm_ns"] != 0:
    problems.append(f"the ledger leaves {device['residual_sm_ns']} SM-ns")
  if not planted:
    return ""
  found_ns = device["gap_by_cause_sm_ns"][planted["cause"]] / device["sms"]
  if found_ns < LEAST_SHARE * planted["ns"]:
    problems.append("too little of what was planted")
  return f"; planted {planted['ns'] / 1e6:.1f} ms, in {planted['cause']} {found_ns / 1e6:.1f} ms " \
         f"({percent(found_ns / planted['ns'])})"


def main():
  if len(sys.argv) != 4:
    sys.exit(__doc__)
  wavetap, out_path, run = sys.argv[1:]
  run = runfile.find_run_file(run)
  with open(out_path, encoding="utf-8") as file:
    parts = [json.loads(line[len("CAUSES "):]) for line in file if line.startswith("CAUSES ")]
  start_ns = ask(wavetap, "ledger", run, "--from", "0ns")["window"]["start_ns"]  # of the run
  gap_shares, walls_ns, bad, skipped = {}, {}, 0, 0
  for part in parts:
    name = part["part"]
    if "skip" in part:
      skipped += 1
      print(f"{name:17} skipped: {part['skip']}")
      continue
    window = ["--from", f"{max(0, part['from_ns'] - start_ns)}ns", "--to", f"{part['to_ns'] - start_ns}ns"]
    threshold = ["--threshold", str(part["threshold"])] if "threshold" in part else []
    problems = []
    try:
      findings = ask(wavetap, "diagnose", run, *window, *threshold)["findings"]
      device = ask(wavetap, "ledger", run, *window)["devices"][0]
    except (RuntimeError, json.JSONDecodeError) as error:
      bad += 1
      print(f"{name:17} WRONG: {error}")
      continue
    gap_shares[name] = sum(device["gap_by_cause_sm_ns"].values()) / device["total_sm_ns"]
    walls_ns[name] = device["wall_ns"]
    words = judge_findings(part, findings, problems) + judge_planted(part, device, problems)
    other = part.get("less_gaps_than")
    if other:
      words += f"; gaps {percent(gap_shares[name])}, {other} has {percent(gap_shares.get(other, 0))}"
      if walls_ns[name] > 0.9 * walls_ns.get(other, 0):
        words += " (nothing overlapped: not judged)"
      elif gap_shares[name] > gap_shares.get(other, 0) / 2:
        problems.append("too many gaps")
    bad += bool(problems)
    expected = "anything" if part["expect"] is None else " or ".join(part["expect"]) or "nothing"
    print(f"{name:17} {'ok' if not problems else 'WRONG'}: expected {expected}; found {words}; "
          f"{device['wall_ns'] / 1e9:.2f} s, {device['kernels']} kernels"
          f"{', ' if problems else ''}{', '.join(problems)}")
  print(f"{len(parts)} parts, {skipped} skipped, {bad} wrong")
  sys.exit(1 if bad or skipped == len(parts) else 0)


if __name__ == "__main__":
  main()

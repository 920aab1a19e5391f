#!/usr/bin/env python3
"""What was measured of a training run: how much of it, how well explained, and where evidences part.

  check_train.py sampled RUN [--ledger FILE]       FILE: output of `wavetap ledger --json` of that run
  check_train.py profiled RUN [--sampled RUN]      the same program, sampled

Checked: configurations with a number of this evidence hold 95 % of the kernels' time; samples are
aligned, the residual is under 1 %; where the ledger is given, DCGM's SM activity (samples of its
window) and the ledger's active share, which must agree within 2 points. Printed: the configurations
with most time, and those whose two evidences differ by more than their errors together.

Exit status: 0 all checks hold, 1 a check failed, 2 usage, 3 cannot judge.
"""
import argparse
import json
import sys

import measured
import runfile

TIME_SHARE = 0.95
RESIDUAL_MOST = 0.01
ACTIVITY_POINTS = 0.02
SHOWN = 15


def is_measured(row):
  return row["measured"] is not None and row["measured"]["reason"] is None and row["measured"]["launches"] > 0


def key_of(row):
  return row["kernel"], row["grid"], row["block"], row["dynamic_smem_bytes"]


def short(name):
  """The readable middle of a mangled name."""
  return name if len(name) <= 44 else name[:20] + ".." + name[-22:]


def sms_text(row):
  if row is None or not is_measured(row):
    return f"{'-':>14s}"
  return f"{row['measured']['active_sms']:6.1f} +-{row['measured']['active_error_sms'] or 0:5.1f}"


def print_coverage(rows, evidence):
  """How much of the kernels' time has this evidence; the largest that have not. Failures."""
  total = sum(row["time_ns"] for row in rows)
  covered = sum(row["time_ns"] for row in rows if is_measured(row))
  print(f"{evidence}: {sum(map(is_measured, rows))} of {len(rows)} configurations, {100 * covered / max(1, total):.2f} % "
        f"of {total / 1e9:.3f} s of kernels")
  for row in [row for row in rows if not is_measured(row)][:5]:
    reason = row["measured"]["reason"] if row["measured"] else "no row"
    print(f"  without: {100 * row['time_ns'] / total:5.2f} % {row['launches']:6d} launches {short(row['kernel'])}: {reason}")
  used = {True: 0, False: 0}
  for row in rows:
    if is_measured(row):
      used[bool(row["measured"]["is_used"])] += row["time_ns"]
  print(f"{evidence}: stands before the model for {100 * used[True] / max(1, total):.2f} % of the time")
  return covered < TIME_SHARE * total


def print_configs(rows, others):
  """The configurations with most time; `others`: of the other evidence, by key, or None."""
  total = sum(row["time_ns"] for row in rows)
  print(f"{'TIME %':>6s} {'N':>6s} {'US':>8s} {'GRID':>7s} {'BLOCK':>5s} {'MODEL':>6s} {'ACTIVE SMS':>14s} "
        f"{'OTHER':>14s} {'WARPS':>5s} {'TENS%':>5s} {'CLASS':8s} KERNEL")
  for row in rows[:SHOWN]:
    found = row["measured"] if is_measured(row) else {}
    model = None
    if row["wave_sm_ns"] is not None and row["underfill_sm_ns"] is not None:
      model = row["sm_count"] - (row["wave_sm_ns"] + row["underfill_sm_ns"]) / max(1, row["time_ns"])
    print(f"{100 * row['time_ns'] / total:6.2f} {row['launches']:6d} {row['time_ns'] / row['launches'] / 1e3:8.2f} "
          f"{row['grid']:7d} {row['block']:5d} {'-' if model is None else f'{model:.1f}':>6s} {sms_text(row)} "
          f"{sms_text((others or {}).get(key_of(row)))} {found.get('warps_per_sm') or 0:5.1f} "
          f"{100 * (found.get('tensor_share') or 0):5.1f} {found.get('bound') or '?':8s} {short(row['kernel'])}")


def print_differences(rows, others):
  """Where the evidences differ by more than both errors, most SM-time first."""
  both = [(row, others[key_of(row)]) for row in rows
          if is_measured(row) and key_of(row) in others and is_measured(others[key_of(row)])]
  different, time_ns = [], 0
  for row, other in both:
    ours, theirs = row["measured"], other["measured"]
    apart = ours["active_sms"] - theirs["active_sms"]
    if abs(apart) > (ours["active_error_sms"] or 0) + (theirs["active_error_sms"] or 0):
      different.append((abs(apart) * other["time_ns"], apart, row, other))
      time_ns += other["time_ns"]
  total = sum(other["time_ns"] for _, other in both)
  print(f"{len(both)} configurations have both evidences; {len(different)} of them, with "
        f"{100 * time_ns / max(1, total):.1f} % of the time, differ by more than their errors")
  for _, apart, row, other in sorted(different, key=lambda item: -item[0])[:SHOWN]:
    print(f"  {apart:+6.1f} SMs: {sms_text(row)} against {sms_text(other)}, {row['time_ns'] / row['launches'] / 1e3:.2f} "
          f"against {other['time_ns'] / other['launches'] / 1e3:.2f} us, grid {row['grid']} block {row['block']} "
          f"{short(row['kernel'])}")


def check_activity(run, path):
  """DCGM's SM activity over the ledger's window beside what the ledger calls active. Failures."""
  with open(path, encoding="utf-8") as ledger:
    document = json.load(ledger)
  window, device = document["window"], document["devices"][0]
  sampled, sampled_ns = measured.bucket_activity(run, window["start_ns"], window["end_ns"])
  active = device["active_sm_ns"] / device["total_sm_ns"]
  unjudged = (device["unjudged_sm_ns"] or 0) / device["total_sm_ns"]
  if sampled is None:
    print("SM activity: no samples in the ledger's window")
    return 1
  print(f"SM activity in the window: samples {100 * sampled:.2f} % ({sampled_ns / 1e9:.2f} of "
        f"{window['wall_ns'] / 1e9:.2f} s sampled), ledger active {100 * active:.2f} % + unjudged "
        f"{100 * unjudged:.2f} %, evidence {device['evidence']}; a kernel ran "
        f"{100 * device['busy_ns'] / max(1, device['wall_ns']):.2f} %")
  return not active - ACTIVITY_POINTS <= sampled <= active + unjudged + ACTIVITY_POINTS


def check_residual(run):
  residuals = [row["residual"] for row in measured.query(run, "SELECT residual FROM fold")]
  return sum(residual is None or residual > RESIDUAL_MOST for residual in residuals)


def main():
  parser = argparse.ArgumentParser(description="what was measured of a training run")
  parser.add_argument("evidence", choices=("sampled", "profiled"))
  parser.add_argument("run", help="run file, or the data directory that holds one")
  parser.add_argument("--ledger", help="of this run, as JSON")
  parser.add_argument("--sampled", metavar="RUN", help="the same program, sampled")
  arguments = parser.parse_args()

  run = runfile.open_run_file(arguments.run)
  rows, others, failures = measured.time_shares(run, arguments.evidence), None, 0
  if not rows:
    runfile.fail(f"{arguments.run}: no kernels")
  if arguments.evidence == "sampled":
    failures += measured.print_sampling(run) + check_residual(run)
  if arguments.sampled:
    others = {key_of(row): row for row in measured.time_shares(runfile.open_run_file(arguments.sampled), "sampled")}
  failures += print_coverage(rows, arguments.evidence)
  print_configs(rows, others)
  if others is not None:
    print_differences(rows, others)
  if arguments.ledger:
    failures += check_activity(run, arguments.ledger)
  print(f"verdict: {'FAIL' if failures else 'ok'}, {failures} checks failed")
  return 1 if failures else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError, KeyError, ValueError) as error:
    runfile.fail(f"check_train: {error!r}")

#!/usr/bin/env python3
"""Compares what truth.cu measured (%smid, %globaltimer) with what a wavetap run file says.

  truth --tsv tail > truth.tsv      (under wavetap)
  check_truth.py truth.tsv RUN      RUN: a run file, or a data directory that holds one

Each measured launch is matched with its row of the run file by ordinal, then checked:

  model      blocks per SM and waves equal to what the CUDA runtime said; underfill and the wave
             range equal to the closed forms, worked out by truth.cu
  underfill  within 2 % of the true one
  tail       inside [wave_sm_ns, wave_max_sm_ns]

and over all launches that linked calls are in the order in which the kernels ran, since truth
launches from one thread into one stream.

Two things make truth and model differ although both are right, and are allowed for:
  * CUPTI's duration includes the launch and drain of the grid: 0.6 to 0.7 us on an H200. Up to
    LAUNCH_DRAIN_NS on every SM. A value that needs this allowance reads `ramp` instead of `ok`.
  * Equal blocks don't end in the same nanosecond: BLOCK_SPREAD of SMs x duration, for the tail.

Memory-bound kernels, whose blocks no closed form describes well, and launches whose blocks differ
in length by design are reported when they are outside the range, and don't fail.

Exit status: 0 all checks hold, 1 a check failed, 2 usage, 3 truth and run file can't be matched.
"""
import argparse
import statistics
import sys

import runfile

UNDERFILL_TOLERANCE = 0.02
LAUNCH_DRAIN_NS = 800
BLOCK_SPREAD = 0.005
MODEL_TOLERANCE = 1e-6
# CUPTI's clock against %globaltimer: a constant and a drift, so launches lie on a straight line.
CLOCK_RESIDUAL_NS = 20_000
REPORTED_ONLY = ("mem",)
NUMBERS = ("ordinal", "even", "grid", "block", "smem_bytes", "blocks_per_sm", "sms", "sms_used",
           "first_ns", "dur_ns", "underfill_sm_ns", "tail_sm_ns", "active_sm_ns", "block_min_ns",
           "block_max_ns")
FORMS = ("independent", "shared", "jitter", "grouped")


def read_truth(path):
  """The launch rows and the totals of `truth --tsv`."""
  headers, launches, totals = {}, [], {}
  with open(path, encoding="utf-8") as lines:
    for line in lines:
      fields = line.rstrip("\n").split("\t")
      if fields[0].startswith("#"):
        headers[fields[0][1:]] = fields[1:]
      elif fields[0] in ("launch", "total"):
        if len(fields) - 1 != len(headers.get(fields[0], ())):
          runfile.fail(f"{path}: a line is cut off: the run did not finish")
        values = dict(zip(headers[fields[0]], fields[1:]))
        if fields[0] == "total":
          totals = {name: int(value) for name, value in values.items()}
        else:
          for name in NUMBERS:
            values[name] = int(values[name])
          for name in ("waves",) + FORMS:
            values[name] = float(values[name])
          launches.append(values)
  if not launches or not totals:
    runfile.fail(f"{path}: no complete output of `truth --tsv waves`, `tail` or `mix`")
  return launches, totals


def read_launches(path):
  """Rows of truth's kernels in the order they ran, each with its kernel's name."""
  run = runfile.open_run_file(path)
  names = dict(runfile.select(run, runfile.KERNEL_TABLE, ("kernel_id", "name")))
  rows = [dict(row) for row in runfile.select(run, runfile.LAUNCH_VIEW, runfile.LAUNCH_COLUMNS)]
  rows = [row | {"kernel": names[row["kernel_id"]]} for row in rows]
  rows = [row for row in rows
          if row["kernel"].startswith("truth_") and row["graph_node_id"] is None]
  processes = {row["process_id"] for row in rows}
  if len(processes) != 1:
    runfile.fail(f"{path}: kernels of truth in {len(processes)} processes, one is needed")
  untimed = sum(row["start_ns"] is None or row["end_ns"] is None for row in rows)
  if untimed:
    runfile.fail(f"{path}: {untimed} kernels have no time, so their order is unknown")
  return sorted(rows, key=lambda row: row["start_ns"])


def clock_residual(pairs):
  """Largest distance from the straight line between the two clocks, and the drift in ppm."""
  truth0, run0 = pairs[0][0]["first_ns"], pairs[0][1]["start_ns"]
  xs = [truth["first_ns"] - truth0 for truth, _ in pairs]
  ys = [(row["start_ns"] - run0) - x for (_, row), x in zip(pairs, xs)]
  mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
  square = sum((x - mean_x) ** 2 for x in xs)
  slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / square if square else 0.0
  return max(abs(y - mean_y - slope * (x - mean_x)) for x, y in zip(xs, ys)), slope * 1e6


def match(launches, totals, rows):
  """Pairs of truth and run-file row; ends the program if any of them can't be the same launch."""
  if len(rows) != totals["launched"]:
    runfile.fail(f"truth launched {totals['launched']} kernels, the run file holds {len(rows)}: "
                 "ordinals can't be matched")
  pairs = [(truth, rows[truth["ordinal"]]) for truth in launches]
  for truth, row in pairs:
    want = (truth["kernel"], truth["grid"], 1, 1, truth["block"], 1, 1)
    have = (row["kernel"],) + tuple(row[f"{what}_{axis}"]
                                    for what in ("grid", "block") for axis in "xyz")
    if want != have:
      runfile.fail(f"launch {truth['ordinal']}: truth has {want}, the run file {have}")
  residual_ns, drift = clock_residual(pairs)
  print(f"matched {len(pairs)} of {len(rows)} launches; CUPTI's clock against %globaltimer: drift "
        f"{drift:.2f} ppm, residual {residual_ns / 1e3:.2f} us")
  if residual_ns > CLOCK_RESIDUAL_NS:
    runfile.fail("start times don't fit truth's: the rows belong to other launches")
  return pairs


def count_disorder(rows):
  """Neighbours, by start, whose launch calls came the other way round."""
  order = [row["launch_seq"] for row in rows if row["launch_seq"] is not None]
  print(f"linked {len(order)} of {len(rows)} launches")
  return sum(after <= before for before, after in zip(order, order[1:]))


def judge_model(truth, row):
  """What the run file derived against the runtime's occupancy and truth's closed forms."""
  total_sm_ns = truth["sms"] * (row["end_ns"] - row["start_ns"])
  forms = [truth[name] * total_sm_ns for name in FORMS]
  idle_sms = max(0, truth["sms"] - truth["grid"])
  wanted = {
    "underfill_sm_ns": idle_sms * (row["end_ns"] - row["start_ns"]),
    "wave_sm_ns": min(forms), "wave_max_sm_ns": max(forms)}
  wrong = []
  if row["blocks_per_sm"] != truth["blocks_per_sm"]:
    wrong.append(f"blocks per SM {row['blocks_per_sm']}, not {truth['blocks_per_sm']}")
  if row["waves"] is None or abs(row["waves"] - truth["waves"]) > 1e-6 * truth["waves"] + 1e-8:
    wrong.append(f"waves {row['waves']}, not {truth['waves']}")
  for name, value in wanted.items():
    if row[name] is None or abs(row[name] - value) > MODEL_TOLERANCE * total_sm_ns + truth["sms"]:
      wrong.append(f"{name} {row[name]}, not {value:.0f}")
  return "; ".join(wrong)


def judge_underfill(truth, row):
  model, true = row["underfill_sm_ns"] or 0, truth["underfill_sm_ns"]
  error = abs(true - model)
  if error <= UNDERFILL_TOLERANCE * true:
    return "ok"
  unused_sms = truth["sms"] - truth["sms_used"]
  if error <= UNDERFILL_TOLERANCE * true + LAUNCH_DRAIN_NS * unused_sms:
    return "ramp"
  return "FAIL"


def judge_tail(truth, row):
  if row["wave_sm_ns"] is None or row["wave_max_sm_ns"] is None:
    return "FAIL"
  low, high, true = row["wave_sm_ns"], row["wave_max_sm_ns"], truth["tail_sm_ns"]
  spread = BLOCK_SPREAD * truth["sms"] * truth["dur_ns"]
  for verdict, allowance in (("ok", spread), ("ramp", spread + LAUNCH_DRAIN_NS * truth["sms"])):
    if low - allowance <= true <= high + allowance:
      return verdict
  if truth["kind"] in REPORTED_ONLY or not truth["even"]:
    return "above" if true > high else "below"
  return "FAIL"


def describe(truth, row, verdicts):
  """One line of the table; shares of SMs x truth's duration, in percent."""
  total_sm_ns = truth["sms"] * truth["dur_ns"]

  def share(value):
    return "      ." if value is None else f"{100 * value / total_sm_ns:7.2f}"

  kind = truth["kind"] + ("" if truth["even"] else "*")
  return (f"{truth['ordinal']:7d} {truth['section']:5s} {kind:7s} {truth['blocks_per_sm']:2d} "
          f"{truth['grid']:6d} {truth['waves']:7.3f} {truth['dur_ns'] / 1e3:8.2f} "
          f"{(row['end_ns'] - row['start_ns'] - truth['dur_ns']) / 1e3:6.2f} "
          f"{share(truth['underfill_sm_ns'])} {share(row['underfill_sm_ns'])} {verdicts[0]:5s}"
          f"{share(truth['tail_sm_ns'])} {share(row['wave_sm_ns'])} {share(row['wave_max_sm_ns'])} "
          f"{100 * truth['grouped']:7.2f} {verdicts[1]}")


def main():
  parser = argparse.ArgumentParser(description="compare `truth --tsv` with a wavetap run file")
  parser.add_argument("truth", help="output of truth --tsv waves, tail or mix")
  parser.add_argument("run", help="run file, or the data directory that holds one")
  arguments = parser.parse_args()

  launches, totals = read_truth(arguments.truth)
  rows = read_launches(arguments.run)
  pairs = match(launches, totals, rows)
  disorder = count_disorder(rows)
  print("share of SMs x duration in %; RAMP is CUPTI's duration less truth's; * blocks of unequal "
        "length")
  print(f"{'LAUNCH':>7s} {'':5s} {'KIND':7s} {'B':>2s} {'GRID':>6s} {'WAVES':>7s} {'US':>8s} "
        f"{'RAMP':>6s} {'UNDER':>7s} {'MODEL':>7s} {'':5s}{'TAIL':>7s} {'LEAST':>7s} {'MOST':>7s} "
        f"{'GROUPED':>7s}")
  counts = {}
  for truth, row in pairs:
    verdicts = judge_underfill(truth, row), judge_tail(truth, row)
    print(describe(truth, row, verdicts))
    if verdicts[1] not in ("ok", "ramp"):
      print(f"        blocks of {truth['block_min_ns'] / 1e3:.2f} to "
            f"{truth['block_max_ns'] / 1e3:.2f} us on {truth['sms_used']} SMs")
    wrong = judge_model(truth, row)
    if wrong:
      print(f"        model: {wrong}")
    verdicts += ("FAIL" if wrong else "ok",)
    for what, verdict in zip(("underfill", "tail", "model"), verdicts):
      key = (truth["kind"] + ("" if truth["even"] else "*"), what)
      counts.setdefault(key, {}).setdefault(verdict, 0)
      counts[key][verdict] += 1
  for (kind, what), verdicts in sorted(counts.items()):
    print(f"{kind:7s} {what:9s} " + " ".join(f"{name} {n}" for name, n in sorted(verdicts.items())))
  ramps = sorted(row["end_ns"] - row["start_ns"] - truth["dur_ns"] for truth, row in pairs)
  failed = sum(verdicts.get("FAIL", 0) for verdicts in counts.values())
  if disorder:
    print(f"link: {disorder} launches are linked out of order")
    failed += disorder
  print(f"ramp_ns min {ramps[0]} median {ramps[len(ramps) // 2]} max {ramps[-1]}")
  print(f"verdict: {'FAIL' if failed else 'ok'}, {len(pairs)} launches, {failed} checks failed")
  return 1 if failed else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError, KeyError, ValueError) as error:
    runfile.fail(f"check_truth: {error}")

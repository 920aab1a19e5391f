#!/usr/bin/env python3
"""Compares measured SM-time in a run file with what truth's blocks wrote down.

  check_measured.py sampled [--stretches] [--course FILE] [--row FILE NAME] TRUTH RUN
                                         TRUTH: output of `truth --tsv mix` and its like
  check_measured.py profiled TRUTH RUN   TRUTH: output of `truth --tsv smid`
  RUN: a run file, or a data directory that holds one

sampled: per configuration, active SM-time per launch: within 1 % for kernels over 10 us, 3 % from 5 to
10 us; straggle of whole waves with some longer blocks: within 3 %; profiles: bins of at most 2 us,
each between what truth has at that phase, give or take the launch and drain that recorded durations
include; the class, where truth names one; two streams: see judge_stream().
profiled: SM cycles per launch within 0.3 %, and the configurations' means.

A block can't see its own launch and exit. blind_probe counts how much longer its SM is active than from
the first instruction of the first of its warps to its last but one (RESULTS.md): so many cycles a launch
and SM, fewer where the SM that shares its scheduler is idle, and so much of each gap between blocks that
follow each other on an SM, if it is that long. More while CUPTI records kernels, as where they are sampled;
not under the profiler, which gives kernels no times. All of it is added to truth, for kernels that tell it
how they lay (truth_clock); `per SM` is what is left. The first launch under the profiler is cold, and not
judged.
--stretches prints what the sampler did when; --row appends a line for a table (print_rows.py) to a file.
Of a run with several devices, the one that truth names counts.

A configuration without a number fails unless the run file says it can't be separated; how many there
are is printed. CLAIM is the error that the run file gives; `beyond` counts those that are further off.

Exit status: 0 all checks hold, 1 a check failed, 2 usage, 3 truth and run file can't be matched.
"""
import argparse
import collections
import sys

import measured
import runfile
import stream_course

OVER_NS, OVER_TOLERANCE, SHORT_NS, SHORT_TOLERANCE = 10_000, 0.01, 5_000, 0.03
STRAGGLE_TOLERANCE = 0.03
BIN_NS = 2_010
PROFILE_SHARE = 0.03  # of the SMs, beside the claimed error
PROFILE_BINS_WRONG = 0.05  # share of bins that may be outside
LAUNCH_DRAIN_NS = 900  # at most, by which recorded durations exceed first to last block
PROFILED_TOLERANCE = 0.003
CLOCK_GHZ = 1.98
INSEPARABLE = ("separ", "as others do")  # in the reasons of configurations that can't be told apart
SHOWN = 24
# Cycles of an SM and launch that no block sees: of an SM whose pair is idle, of others; of a gap at most.
Blind = collections.namedtuple("Blind", "apart paired gap")
PROFILED_BLIND, SAMPLED_BLIND = Blind(181, 208, 112), Blind(404, 478, 280)
TEXT = ("section", "kernel", "bound", "profile", "warps", "uuid", "fill_cycles")


def read_truth(path, kind):
  """Rows of one kind (config, stream, smid) of truth's output; numbers as floats."""
  headers, rows, is_whole = {}, [], False
  with open(path, encoding="utf-8") as lines:
    for line in lines:
      fields = line.rstrip("\n").split("\t")
      if fields[0].startswith("#"):
        headers[fields[0][1:]] = fields[1:]
      is_whole |= fields[0] == "total"
      if fields[0] != kind:
        continue
      if len(fields) - 1 != len(headers.get(kind, ())):
        runfile.fail(f"{path}: a line is cut off: the run did not finish")
      row = dict(zip(headers[kind], fields[1:]))
      rows.append({name: value if name in TEXT else float(value) for name, value in row.items()})
  if rows and not is_whole:
    runfile.fail(f"{path}: no totals: the run did not finish")
  return rows


def key_of(truth):
  return (truth["kernel"], int(truth["grid"]), int(truth["block"]), int(truth["smem_bytes"]))


def filled(truth, cycles):
  """Cycles of the gaps between blocks, of each at most so many; truth has them for some."""
  sums = [0.0] + [float(value) for value in truth["fill_cycles"].split(",")]
  step = min(int(cycles / truth["fill_step"]), len(sums) - 2)
  return sums[step] + (cycles / truth["fill_step"] - step) * (sums[step + 1] - sums[step])


def unseen_cycles(truth, blind):
  """What an SM is active beyond the clocks of its blocks' first threads, of all SMs of a launch."""
  sms = min(truth["grid"], truth["sms"])
  paired = 2 * max(0, sms - truth["sms"] / 2)  # the first half of them goes to one of each pair
  return (truth["first_cycles"] - truth["active_cycles"] + blind.apart * (sms - paired) + blind.paired * paired +
          filled(truth, blind.gap))


def with_blind(truth, blind=SAMPLED_BLIND):
  """Active SM-ns of a launch, with what its blocks can't see."""
  return truth["active_sm_ns"] + unseen_cycles(truth, blind) / CLOCK_GHZ


def middle(values):
  return sorted(values)[len(values) // 2] if values else 0


def percent(value, reference):
  return 100 * (value - reference) / reference if reference else float("inf")


# ---- one stream

def tolerance_of(duration_ns):
  return OVER_TOLERANCE if duration_ns > OVER_NS else SHORT_TOLERANCE


def true_straggle(truth):
  """SM-ns per launch, where all that is idle is straggle: whole waves, some blocks longer. Else None."""
  resident = truth["blocks_per_sm"] * truth["sms"]
  if not truth["slow_every"] or truth["grid"] % resident or truth["kernel"] != "truth_clock":
    return None
  return truth["sms"] * truth["dur_ns"] - with_blind(truth)


class Profile:
  """Truth's SMs active against time since the first block, and its mean over any stretch."""

  def __init__(self, truth):
    self.step_ns = truth["profile_step_ns"]
    self.sums = [0.0]
    for value in truth["profile"].split(","):
      self.sums.append(self.sums[-1] + float(value) * self.step_ns)

  def until(self, time_ns):
    at = min(max(time_ns / self.step_ns, 0), len(self.sums) - 1)
    low = min(int(at), len(self.sums) - 2)
    return self.sums[low] + (at - low) * (self.sums[low + 1] - self.sums[low])

  def mean(self, from_ns, to_ns):
    return (self.until(to_ns) - self.until(from_ns)) / (to_ns - from_ns)


def judge_profile(truth, config):
  """Verdict and words on the tail profile."""
  bins = config["profile"]
  duration_ns = config["duration_ns"]
  if not bins:
    return "FAIL", "no profile"
  width_ns = duration_ns / len(bins)
  if width_ns > BIN_NS:
    return "FAIL", f"{len(bins)} bins of {width_ns / 1e3:.2f} us"
  ramp_ns = min(max(duration_ns - truth["dur_ns"], 0), LAUNCH_DRAIN_NS)
  profile, wrong, worst = Profile(truth), 0, 0.0
  for number, (active, error) in enumerate(bins):
    # The blocks began at most ramp_ns after the recorded start: where exactly nobody knows.
    means = [profile.mean(number * width_ns - ramp_ns * part / 8, (number + 1) * width_ns - ramp_ns * part / 8)
             for part in range(9)]
    off = max(min(means) - active, active - max(means), 0)
    worst = max(worst, off)
    wrong += off > error + PROFILE_SHARE * truth["sms"]
  text = f"{len(bins)} of {width_ns / 1e3:.2f} us, worst {worst:.1f} SMs"
  return ("FAIL" if wrong > PROFILE_BINS_WRONG * len(bins) + 0.5 else "ok"), text


class Row:
  """What a run's line in a table of all of them says."""

  def __init__(self):
    self.seen, self.offs, self.short_offs, self.straggles, self.failed = [], [], [], [], []
    self.beyond = self.untold = self.missing = 0

  def words(self, name, seconds, run):
    worst = max(self.offs + self.short_offs, default=None)
    both = sorted(self.offs + self.short_offs)
    count = lambda check: self.failed.count(check)  # noqa: E731
    folds, samplers = (measured.query(run, f"SELECT * FROM {table}") for table in ("fold", "sampler"))
    residual = max((row["residual"] for row in folds if row["residual"] is not None), default=None)
    cpu = [row["cpu_ns"] / (row["last_ns"] - row["first_ns"]) for row in samplers if (row["last_ns"] or 0) > (row["first_ns"] or 0)]
    show = lambda value, form: "-" if value is None else format(value, form)  # noqa: E731
    return [name, show(seconds, ".1f"), str(len(both)), str(self.untold), str(self.missing),
            f"{middle(self.seen)} ({min(self.seen, default=0)})", show(both[len(both) // 2] if both else None, ".2f"),
            show(worst, ".2f"), f"{count('active')}", str(self.beyond), show(max(self.straggles, default=None), ".2f"),
            f"{count('profile')}", show(None if residual is None else 100 * residual, ".4f"),
            f"{sum(row['samples_stored'] for row in samplers)} of {sum(row['samples_taken'] for row in samplers)}",
            show(100 * max(cpu) if cpu else None, ".0f")]


def judge_config(truth, config, wants_bound, row):
  """A line of the table, and the names of the checks that failed."""
  failed, duration_ns = [], config["duration_ns"]
  active = config["active_sm_ns"] / config["launches"]
  true_sm_ns = with_blind(truth)
  off = percent(active, true_sm_ns)
  if abs(off) > 100 * tolerance_of(duration_ns) and duration_ns >= SHORT_NS:
    failed.append("active")
  claim = 100 * config["error_sms"] * config["time_ns"] / config["launches"] / true_sm_ns
  is_beyond = abs(off) > claim
  straggle, straggle_text = true_straggle(truth), ""
  if straggle is not None:
    measured_straggle = (config["straggle_sms"] or 0) * duration_ns
    straggle_off = percent(measured_straggle, straggle)
    straggle_text = f"{straggle / 1e3:.0f} {straggle_off:+.1f}%"
    row.straggles.append(abs(straggle_off))
    if abs(straggle_off) > 100 * STRAGGLE_TOLERANCE:
      failed.append("straggle")
  profile_text = ""
  if duration_ns < 64 * BIN_NS:
    verdict, profile_text = judge_profile(truth, config)
    failed += ["profile"] if verdict == "FAIL" else []
  bound_text = config["bound"] or "?"
  if wants_bound and config["bound"] != truth["bound"]:
    failed.append("bound")
    bound_text += f" not {truth['bound']}"
  line = (f"{truth['kernel'][6:]:10s} {int(truth['grid']):6d} {int(truth['block']):5d} "
          f"{config['launches']:7d} {duration_ns / 1e3:9.2f} {(duration_ns - truth['dur_ns']) / 1e3:5.2f} "
          f"{true_sm_ns / 1e3:10.1f} {off:+7.2f} {claim:6.2f} {straggle_text:>16s} "
          f"{config['warps_per_sm'] or 0:5.1f} {100 * (config['tensor_share'] or 0):5.1f} "
          f"{bound_text:10s} {profile_text:30s} {' '.join(failed) or 'ok'}")
  excess_ns = (active - true_sm_ns) / min(truth["grid"], truth["sms"])
  row.seen.append(config["launches"])
  (row.offs if duration_ns > OVER_NS else row.short_offs).append(abs(off))
  row.failed += failed
  row.beyond += is_beyond
  return line, failed, abs(off), is_beyond, excess_ns


def judge_configs(truths, configs, wants_bound, row):
  """Prints the table; the number of checks that failed."""
  lines, offs, excesses, failures, beyond, untold, missing = [], [], [], 0, 0, [], []
  for truth in truths:
    config = configs.get(key_of(truth))
    if config is None or config["reason"] is not None or not config["launches"]:
      reason = config["reason"] if config else "not in the run file"
      (untold if reason and any(word in reason for word in INSEPARABLE) else missing).append((truth, reason))
      continue
    line, failed, off, is_beyond, excess_ns = judge_config(truth, config, wants_bound, row)
    excesses.append(excess_ns)
    lines.append((len(failed), off, line))
    offs.append(off)
    failures += len(failed)
    beyond += is_beyond
  print(f"{'KERNEL':10s} {'GRID':>6s} {'BLOCK':>5s} {'SEEN':>7s} {'US':>9s} {'RAMP':>5s} {'TRUE SM-US':>10s} "
        f"{'OFF %':>7s} {'CLAIM':>6s} {'STRAGGLE SM-US':>16s} {'WARPS':>5s} {'TENS%':>5s} {'CLASS':10s} "
        f"{'PROFILE':30s}")
  if len(lines) > SHOWN:
    lines.sort(reverse=True)
    print(f"(the worst {SHOWN} of {len(lines)})")
  for _, _, line in lines[:SHOWN]:
    print(line)
  for truth, reason in missing[:SHOWN]:
    print(f"{truth['kernel'][6:]:10s} {int(truth['grid']):6d} {int(truth['block']):5d} not measured: {reason}")
  offs.sort()
  row.untold, row.missing = len(untold), len(missing)
  print(f"{len(offs)} of {len(truths)} measured, {len(untold)} said to be inseparable, {len(missing)} missing; "
        f"off median {offs[len(offs) // 2] if offs else 0:.2f} % most {offs[-1] if offs else 0:.2f} %; "
        f"{beyond} beyond their error; per SM and launch {middle(excesses):+.0f} ns (median)")
  return failures + len(missing) + (not offs)


# ---- two streams

def judge_stream(truth, share, config, row):
  """
  What a kernel had by itself, and the device's SM-time while it ran beside others: both within the errors that
  are claimed. By itself within 1 or 3 % as above; or it is said that this can't be told: by a larger claim, or
  by a reason, and the mean of the second.
  """
  mean, found = share.joint_sm_ns / max(1, share.joint_ns), config["joint_active_sms"] or 0
  joint_off, joint_claim = 0.0, 0.0
  if share.joint_ns:
    joint_off, joint_claim = percent(found, mean), 100 * (config["joint_error_sms"] or 0) / max(1e-9, mean)
  failed = ["beyond"] if abs(joint_off) > joint_claim else []
  name = f"{truth['kernel'][6:]:10s} {int(truth['grid']):6d} {int(truth['block']):5d} {config['launches']:7d}"
  joint = f"{config['joint_time_ns'] / config['launches'] / 1e3:8.2f} {mean:7.2f} {joint_off:+7.2f} {joint_claim:6.2f}"
  row.seen.append(config["launches"])
  if config["reason"] is not None:
    failed += ["hardly"] if share.alone_ns > 0.2 * share.joint_ns else []
    row.untold += 1
    row.beyond += "beyond" in failed
    return f"{name} {'-':>8s} {'-':>8s} {'-':>7s} {'-':>6s} {joint} {' '.join(failed) or 'said: ' + config['reason']}", failed
  alone_sm_ns = share.alone_sm_ns / share.launches
  off = percent(config["active_sm_ns"] / config["launches"], alone_sm_ns)
  claim = 100 * config["error_sms"] * config["time_ns"] / config["launches"] / alone_sm_ns
  tolerance = 100 * tolerance_of((config["time_ns"] + config["joint_time_ns"]) / config["launches"])
  failed += ["beyond"] if abs(off) > claim and not failed else []
  row.beyond += "beyond" in failed
  row.offs.append(abs(off))
  verdict = "ok" if abs(off) <= tolerance else "said: by its claim"
  return (f"{name} {config['time_ns'] / config['launches'] / 1e3:8.2f} {alone_sm_ns / 1e3:8.1f} {off:+7.2f} {claim:6.2f} {joint} "
          f"{' '.join(failed) or verdict}"), failed


def judge_streams(truths, path, run, configs, row):
  """Truth of the streams is in the course that TRUTH_COURSE named, and the run file's times."""
  failures, numbers, close = 0, {}, 0
  for number, truth in enumerate(truths):
    config = configs.get(key_of(truth))
    if config:
      numbers[config["config_id"]] = number
  kernels = [(numbers[kernel["config_id"]], kernel["start_ns"], kernel["end_ns"]) for kernel in measured.query(
      run, "SELECT config_id, start_ns, end_ns FROM kernel_exec WHERE start_ns IS NOT NULL ORDER BY start_ns")
             if kernel["config_id"] in numbers]
  shares = stream_course.shares_of(path, kernels)
  print(f"{'':32s}{'BY ITSELF':>32s}{'BESIDE OTHERS':>32s}")
  print(f"{'KERNEL':10s} {'GRID':>6s} {'BLOCK':>5s} {'SEEN':>7s} {'US':>8s} {'SM-US':>8s} {'OFF %':>7s} {'CLAIM':>6s} "
        f"{'US':>8s} {'SMS':>7s} {'OFF %':>7s} {'CLAIM':>6s}")
  found = true = 0.0  # of the device: a pair's time is in both of it
  for number, truth in enumerate(truths):
    config, share = configs.get(key_of(truth)), shares.get(number)
    if config is None or share is None or not config["launches"]:
      print(f"{truth['kernel'][6:]:10s} {int(truth['grid']):6d} {int(truth['block']):5d} not measured: "
            f"{config['reason'] if config else 'not in the run file'}")
      failures += 1
      row.missing += 1
      continue
    line, failed = judge_stream(truth, share, config, row)
    print(line)
    failures += len(failed)
    close += line.endswith(" ok")
    alone = share.alone_sm_ns if config["reason"] is not None else config["active_sm_ns"] * share.launches / config["launches"]
    true += share.alone_sm_ns + share.joint_sm_ns / 2
    found += alone + config["joint_sm_ns"] / config["launches"] * share.launches / 2
  print(f"{close} of {len(row.offs)} by themselves within 1 % (3 % up to 10 us), the others within claims that say they may be "
        f"further off; {row.untold} said to hardly run by themselves; {row.beyond} beyond their claim; device {percent(found, true):+.2f} %")
  return failures


def check_sampled(arguments):
  run = runfile.open_run_file(arguments.run)
  failures = measured.print_sampling(run)
  device = read_truth(arguments.truth, "device")
  configs = measured.read_configs(run, "sampled", device[0]["uuid"] if device else None)
  truths = read_truth(arguments.truth, "config")
  streams = read_truth(arguments.truth, "stream")
  phases, row = read_truth(arguments.truth, "phase"), Row()
  seconds = phases[0]["ns"] / 1e9 if phases else None
  if not truths and not streams:
    runfile.fail(f"{arguments.truth}: no truth of configurations")
  if phases:
    print(f"phase: {seconds:.2f} s")
  if arguments.stretches:
    measured.print_stretches(run)
  if truths:
    failures += judge_configs(truths, configs, truths[0]["section"] == "bound", row)
  if streams:
    if not arguments.course:
      runfile.fail("truth of streams needs --course, the file that TRUTH_COURSE named")
    failures += judge_streams(streams, arguments.course, run, configs, row)
  if arguments.row:
    with open(arguments.row[0], "a", encoding="utf-8") as rows:
      print("\t".join(row.words(arguments.row[1], seconds, run) + ["FAIL" if failures else "ok"]), file=rows)
  return failures


# ---- profiled

def judge_launches(truths, launches):
  """SM cycles of each profiled launch against those of its blocks."""
  failures, offs, excesses, unknown = 0, [], [], 0
  for launch in sorted(launches, key=lambda one: one["ordinal"])[1:]:
    truth = truths.get(launch["ordinal"])
    if truth is None:
      unknown += 1
      continue
    if int(truth["grid"]) != launch["grid_x"]:
      runfile.fail(f"launch {launch['ordinal']}: truth has {int(truth['grid'])} blocks, the run file "
                   f"{launch['grid_x']}")
    cycles = truth["active_cycles"] + unseen_cycles(truth, PROFILED_BLIND)
    off = percent(launch["active_sum"], cycles)
    offs.append(abs(off))
    excesses.append((launch["active_sum"] - cycles) / min(truth["grid"], truth["sms"]))
    if abs(off) > 100 * PROFILED_TOLERANCE:
      failures += 1
      if failures <= SHOWN:
        print(f"launch {launch['ordinal']} grid {launch['grid_x']} block {launch['block_x']}: SM cycles "
              f"{launch['active_sum']:.0f}, truth {cycles:.0f}: {off:+.2f} %")
  offs.sort()
  costs = sorted(launch["cost_ns"] for launch in launches)
  print(f"{len(launches)} launches under the range profiler, {unknown} of them not among truth's: off median "
        f"{offs[len(offs) // 2] if offs else 0:.3f} % most {offs[-1] if offs else 0:.3f} %, cost median "
        f"{costs[len(costs) // 2] / 1e6 if costs else 0:.2f} ms most {costs[-1] / 1e6 if costs else 0:.2f}, passes "
        f"{max((launch['passes'] for launch in launches), default=0)}; per SM {middle(excesses):+.0f} cycles (median)")
  return failures + (not offs)


def judge_means(truths, launches, configs):
  """The configurations' profiled evidence against the mean truth of the launches that it is of."""
  sums, failures = {}, 0
  for truth in truths.values():
    sums.setdefault((truth["kernel"], int(truth["grid"]), int(truth["block"]), 0), [])
  for truth in (truths[launch["ordinal"]] for launch in launches if launch["ordinal"] in truths):
    sums[(truth["kernel"], int(truth["grid"]), int(truth["block"]), 0)].append(
        with_blind(truth, PROFILED_BLIND))
  for key, values in sorted(sums.items()):
    config, mean = configs.get(key), sum(values) / max(1, len(values))
    if config is None or config["reason"] is not None or not config["launches"]:
      print(f"{key[0]} grid {key[1]} block {key[2]}: not profiled: {config['reason'] if config else 'no row'}")
      failures += 1
      continue
    off = percent(config["active_sm_ns"] / config["launches"], mean)
    is_wrong = abs(off) > 100 * PROFILED_TOLERANCE
    failures += is_wrong
    print(f"{key[0]} grid {key[1]} block {key[2]}: {config['launches']} launches, active SM-us "
          f"{config['active_sm_ns'] / config['launches'] / 1e3:.1f}, truth {mean / 1e3:.1f}: {off:+.3f} %"
          f"{' FAIL' if is_wrong else ''}")
  return failures


def check_profiled(arguments):
  run = runfile.open_run_file(arguments.run)
  truths = {int(row["ordinal"]): row for row in read_truth(arguments.truth, "smid")}
  if not truths:
    runfile.fail(f"{arguments.truth}: no output of `truth --tsv smid`")
  ordinals = measured.launch_ordinals(run, "truth_")
  launches = measured.read_profile_launches(run, ordinals)
  failures = judge_launches(truths, launches)
  return failures + judge_means(truths, launches, measured.read_configs(run, "profiled"))


def main():
  parser = argparse.ArgumentParser(description="compare measured SM-time with the truth of `truth`")
  parser.add_argument("what", choices=("sampled", "profiled"))
  parser.add_argument("truth", help="output of `truth --tsv`")
  parser.add_argument("run", help="run file, or the data directory that holds one")
  parser.add_argument("--stretches", action="store_true", help="print what the sampler did when")
  parser.add_argument("--course", metavar="FILE", help="of two streams: what TRUTH_COURSE named")
  parser.add_argument("--row", nargs=2, metavar=("FILE", "NAME"), help="append a line for a table")
  arguments = parser.parse_args()
  failures = (check_sampled if arguments.what == "sampled" else check_profiled)(arguments)
  print(f"verdict: {'FAIL' if failures else 'ok'}, {failures} checks failed")
  return 1 if failures else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError, KeyError, ValueError) as error:
    runfile.fail(f"check_measured: {error!r}")

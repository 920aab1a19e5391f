#!/usr/bin/env python3
"""What kernels are bound by, in a run file, against what `truth classes` made them for.

  check_classes.py TRUTH RUN

TRUTH is what `truth --tsv classes` printed under `wavetap run --sample`, RUN its run file or data directory.

Configurations with many launches must have their class. A class with a question mark (integer
multiplication, a pipe of half rate) may be that or not known, but no other; so may those with few launches,
which is what they are there for. Columns: SMs active with their error ("-": not measured), the tensor pipe
and issue slots in percent of the *active* SMs' time, DRAM in percent of its peak, class and what was
expected; of the last wave, in SMs: the model's in the form of the class, its least and greatest, and truth's
idle SMs after each SM's last block.

Exit status: 0 all classes are right, 1 one is not, 2 usage, 3 truth and run file can't be read.
"""
import argparse
import sys

import check_measured
import measured
import runfile

RARE_LAUNCHES = 100
DDR = 2  # transfers a clock

CLASS_QUERY = """
  SELECT k.name AS kernel, c.blocks AS grid, c.block_x AS block, c.dynamic_smem_bytes, m.*,
         g.sm_count AS sms, %d * g.mem_clock_khz * 1e-6 * g.mem_bus_bits / 8 AS dram_peak,
         1.0 * s.wave / s.time AS model_wave_sms, 1.0 * s.wave_max / s.time AS model_wave_max_sms
  FROM (SELECT config_id, sum(wave_sm_ns) AS wave, sum(wave_max_sm_ns) AS wave_max, sum(time_ns) AS time
        FROM config_stat GROUP BY 1) s
  JOIN config c USING (config_id) JOIN kernel k USING (kernel_id) JOIN gpu g USING (device_id)
  LEFT JOIN measured m ON m.config_id = s.config_id AND m.evidence = 'sampled'
  ORDER BY m.launches""" % DDR


def number(value, scale=1.0, digits=1):
  return "-" if value is None else f"{value * scale:.{digits}f}"


def judge(truth, row):
  """A line of the table, and whether it holds."""
  wanted, is_rare = truth["bound"], truth["launches"] < RARE_LAUNCHES
  bound = row["bound"] if row else None
  may_be_unknown = is_rare or wanted.endswith("?")
  is_right = bound == wanted.rstrip("?") or (bound is None and may_be_unknown)
  sms = truth["sms"]
  of_active = 100 * sms / row["active_sms"] if row and row["active_sms"] else 100
  true_wave = truth["tail_sm_ns"] / truth["dur_ns"] if truth["dur_ns"] else 0
  get = (lambda name: row[name]) if row else lambda name: None
  dram = get("dram_bytes_per_ns")
  text = (f"{truth['kernel'][6:]:8s} {int(truth['grid']):5d} {get('launches') or 0:6d} {truth['dur_ns'] / 1e3:8.2f} "
          f"{number(get('active_sms')):>6s} {number(get('active_error_sms')):>5s} "
          f"{number(get('tensor_share'), of_active):>5s} {number(get('issue_share'), of_active):>5s} "
          f"{number(None if dram is None or not row['dram_peak'] else dram / row['dram_peak'], 100):>5s} "
          f"{bound or '?':8s} {wanted:9s} {get('wave_form') or '-':12s} {number(get('class_wave_sms')):>6s} "
          f"{number(get('model_wave_sms')):>6s} {number(get('model_wave_max_sms')):>6s} {true_wave:6.1f} "
          f"{'ok' if is_right else 'FAIL'}{'' if bound else ' ' + (get('bound_reason') or get('reason') or 'no sample met it')}")
  return text, is_right


def main():
  parser = argparse.ArgumentParser(description="compare classes of a run file with those of `truth classes`")
  parser.add_argument("truth", help="output of `truth --tsv classes`")
  parser.add_argument("run", help="run file, or the data directory that holds one")
  arguments = parser.parse_args()
  run = runfile.open_run_file(arguments.run)
  failures = measured.print_sampling(run)
  truths = check_measured.read_truth(arguments.truth, "config")
  if not truths:
    runfile.fail(f"{arguments.truth}: no truth of configurations")
  rows = {(row["kernel"], row["grid"], row["block"], row["dynamic_smem_bytes"]): row
          for row in measured.query(run, CLASS_QUERY)}
  print(f"{'KERNEL':8s} {'GRID':>5s} {'SEEN':>6s} {'US':>8s} {'ACTIVE':>6s} {'+-':>5s} {'TENS%':>5s} {'ISS%':>5s} {'MEM%':>5s} "
        f"{'CLASS':8s} {'EXPECTED':9s} {'FORM':12s} {'WAVE':>6s} {'LEAST':>6s} {'MOST':>6s} {'TRUE':>6s}")
  known = 0
  for truth in truths:
    row = rows.get(check_measured.key_of(truth))
    text, is_right = judge(truth, row)
    print(text)
    failures += not is_right
    known += bool(row and row["bound"])
  print(f"verdict: {'FAIL' if failures else 'ok'}, {failures} checks failed; {known} of {len(truths)} classes known")
  return 1 if failures else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError, KeyError, ValueError) as error:
    runfile.fail(f"check_classes: {error!r}")

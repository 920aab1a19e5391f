#!/usr/bin/env python3
"""What wavetap adds to CPU-side times, from interleaved pairs of `truth --tsv empty` or `graph`.

  cost_table.py BARE1 OBSERVED1 BARE2 OBSERVED2 ...

Each file is one process. Per metric: the median over processes of each process's median, with and
without wavetap, their difference, their ratio, and the range of the ratios of single pairs. CPU
times of one machine move by up to 40 % from process to process, hence pairs and medians.
"""
import statistics
import sys


def read_medians(path):
  """{(section, metric): median_ns} of one process."""
  header, medians = [], {}
  with open(path, encoding="utf-8") as lines:
    for line in lines:
      fields = line.rstrip("\n").split("\t")
      if fields[0] == "#cost":
        header = fields[1:]
      elif fields[0] == "cost":
        row = dict(zip(header, fields[1:], strict=True))
        medians[row["section"], row["metric"]] = float(row["median_ns"])
  return medians


def main():
  paths = sys.argv[1:]
  if len(paths) < 2 or len(paths) % 2:
    print("usage: cost_table.py BARE1 OBSERVED1 [BARE2 OBSERVED2 ...]", file=sys.stderr)
    return 2
  bare = [read_medians(path) for path in paths[0::2]]
  observed = [read_medians(path) for path in paths[1::2]]
  if not bare[0] or any(process.keys() != bare[0].keys() for process in bare + observed):
    print("cost_table: the outputs are not of the same complete command", file=sys.stderr)
    return 3
  print(f"{'SECTION':8s} {'METRIC':18s} {'PAIRS':>5s} {'BARE_NS':>9s} {'WITH_NS':>9s} "
        f"{'ADDED':>9s} {'RATIO':>7s}  RATIOS OF PAIRS")
  for key in bare[0]:
    before = statistics.median(process[key] for process in bare)
    after = statistics.median(process[key] for process in observed)
    ratios = [b[key] / a[key] for a, b in zip(bare, observed)]
    print(f"{key[0]:8s} {key[1]:18s} {len(bare):5d} {before:9.0f} {after:9.0f} "
          f"{after - before:9.0f} {after / before:7.3f}  {min(ratios):.3f} to {max(ratios):.3f}")
  return 0


if __name__ == "__main__":
  sys.exit(main())

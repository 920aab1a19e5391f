#!/usr/bin/env python3
"""A figure of interleaved pairs of train.py: pair_ratio.py FIGURE BARE-%d OBSERVED-%d PAIRS.

Prints each pair's ratio of that member of the line `TRAIN {json}` and, last, their median and range.
Judges nothing. Exit status: 0, or 3 without such a line.
"""
import json
import statistics
import sys


def figure(path, name):
  with open(path, encoding="utf-8") as lines:
    for line in lines:
      if line.startswith("TRAIN "):
        return json.loads(line[6:])[name]
  sys.exit(3)


def main():
  name, bare, observed, pairs = sys.argv[1:]
  values = [(figure(bare % pair, name), figure(observed % pair, name)) for pair in range(1, int(pairs) + 1)]
  ratios = [after / before for before, after in values]
  for before, after in values:
    print(f"{name} {before:.4f} {after:.4f}: {after / before:.4f}")
  print(f"{name}: median of {len(ratios)} pairs {statistics.median(ratios):.4f}, {min(ratios):.4f} to {max(ratios):.4f}")


if __name__ == "__main__":
  main()

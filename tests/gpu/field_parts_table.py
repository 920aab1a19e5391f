#!/usr/bin/env python3
"""What field_parts.py measured, as tables: pure, from samples to text.

  field_parts_table.py FILE   the tables once more, of the samples that field_parts.py --tsv left

Within a process: a mode beside that mode of the same process which stands first (its base), repeat by repeat: the median of the
differences, and its interval (95 %, bootstrap over repeats). Between processes: the median of the processes' medians less that
of `bare` and of `raw`, with the least and the most of the generations. Three clocks: wall, CPU of the process, CPU of
the launching thread. Counts are records a step.
"""
import collections
import random
import statistics
import sys

import field_table

Sample = collections.namedtuple("Sample", "workload way mode generation round repeat wall process thread")
CLOCKS = ("wall", "process", "thread")
# The mode that others of the same process are compared with.
BASES = {"raw-all": "kernel", "wavetap": "all", "raw-driver": "kernel,driver", "raw-runtime": "kernel,driver,runtime"}
DRAWS = 1000
KIND_NAMES = {"kind 1": "memcpy", "kind 2": "memset", "kind 4": "driver calls", "kind 5": "runtime calls",
              "kind 10": "kernels", "kind 17": "overhead", "kind 38": "synchronisation",
              "linked 0": "kernels with a driver record", "linked 1": "kernels with a runtime record"}


def us(value):
  return "." if value is None else f"{value / 1e3:,.2f}"


def by_mode(samples, workload, way):
  found = collections.defaultdict(dict)
  for one in samples:
    if one.workload == workload and one.way == way:
      found[one.mode][one.generation, one.round, one.repeat] = one
  return found


def interval(values):
  draw = random.Random(1)
  medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(DRAWS))
  return medians[int(0.025 * DRAWS)], medians[int(0.975 * DRAWS)]


def within(samples, workload, way):
  """Rows: way, mode, n, and the difference to the base by each clock."""
  modes = by_mode(samples, workload, way)
  base = modes.get(BASES.get(way))
  for mode, found in sorted(modes.items(), key=lambda one: one[0] != BASES.get(way)) if base and len(modes) > 1 else ():
    keys = found.keys() & base.keys()
    if mode == BASES[way]:
      yield [way, mode, str(len(found)), us(statistics.median(one.wall for one in found.values())), ".", ".", ".", "."]
    elif keys:
      more = {clock: [getattr(found[key], clock) - getattr(base[key], clock) for key in keys] for clock in CLOCKS}
      low, high = interval(more["wall"])
      yield [way, mode, str(len(keys)), us(statistics.median(one.wall for one in found.values())),
             *(us(statistics.median(more[clock])) for clock in CLOCKS), f"{us(low)} to {us(high)}"]


def medians_of(samples, workload, way, clock):
  """One for each generation: of the mode that a process starts with."""
  modes = by_mode(samples, workload, way)
  found = collections.defaultdict(list)
  for key, one in modes.get("-", modes.get("all", modes.get(BASES.get(way), {}))).items():
    found[key[0]].append(getattr(one, clock))
  return {generation: statistics.median(values) for generation, values in found.items()}


def between(samples, workload):
  """Rows: way, median, added to bare and to raw by wall and CPU, least and most of the generations."""
  ways = list(dict.fromkeys(one.way for one in samples if one.workload == workload))
  medians = {way: {clock: medians_of(samples, workload, way, clock) for clock in CLOCKS} for way in ways}
  for way in ways:
    cells = [way, us(statistics.median(medians[way]["wall"].values())) if medians[way]["wall"] else "."]
    for clock in CLOCKS:
      for other in ("bare", "raw"):
        both = medians[way][clock].keys() & medians.get(other, {}).get(clock, {}).keys()
        cells.append(us(statistics.median(medians[way][clock][one] - medians[other][clock][one] for one in both) if both else None))
    walls = medians[way]["wall"].values()
    yield [*cells, f"{us(min(walls))} to {us(max(walls))}" if walls else "."]


def count_rows(counts):
  for workload, way, mode, what, count in counts:
    yield [workload, way, mode, KIND_NAMES.get(what, what), f"{count:,.2f}"]


def tables(samples, counts):
  found = []
  for workload in dict.fromkeys(one.workload for one in samples):
    rows = [row for way in BASES for row in within(samples, workload, way)]
    found.append((f"{workload}: modes within a process, us a step beyond its first row",
                  ["way", "mode", "n", "wall", "added", "CPU added", "of thread", "95 % of added"], rows))
    found.append((f"{workload}: between processes, us a step",
                  ["way", "wall", "over bare", "over raw", "CPU over bare", "CPU over raw", "thread over bare",
                   "thread over raw", "of generations"], list(between(samples, workload))))
  if counts:
    found.append(("records a step", ["workload", "way", "mode", "what", "a step"], list(count_rows(counts))))
  return found


def show(samples, counts, markdown=None):
  found = tables(samples, counts)
  for title, header, rows in found:
    print(f"\n{title}\n{field_table.text_table(header, rows)}")
  if markdown:
    with open(markdown, "w", encoding="utf-8") as file:
      for title, header, rows in found:
        file.write(f"**{title}**\n\n{field_table.markdown(header, rows)}\n\n")


def read(path):
  """(samples, counts) of the file."""
  with open(path, encoding="utf-8") as lines:
    fields = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
  samples = [Sample(*values[:3], *map(int, values[3:])) for values in fields if len(values) == 9]
  return samples, [(*values[:4], float(values[4])) for values in fields if len(values) == 5]


def main():
  if len(sys.argv) != 2:
    print("usage: field_parts_table.py FILE", file=sys.stderr)
    return 2
  show(*read(sys.argv[1]))
  return 0


if __name__ == "__main__":
  sys.exit(main())

#!/usr/bin/env python3
"""What field.py measured, as tables and verdicts: pure, from samples to text.

  field_table.py FILE   the tables once more, of the samples that field.py --tsv left (also if it was stopped)

A sample is one figure of one way of watching in one group. Groups are what was measured one after the
other, in turn: a round of processes, or a round of the processes of one generation. `cluster` is what
must be drawn together when asking how sure a ratio is: rounds of the same processes share their luck.

A ratio is that of the medians of the groups that have both ways. Its range is that of the groups, its
interval (95 %) comes from drawing clusters again with a fixed seed. A verdict is `met` or `not met` if the
interval lies on that side of the limit, and `open` if the limit is inside it.
"""
import collections
import random
import statistics
import sys

Sample = collections.namedtuple("Sample", "workload way cluster group value")
Limit = collections.namedtuple("Limit", "words workload kind way other limit")
Verdict = collections.namedtuple("Verdict", "words verdict value low high limit pairs")

WAYS = ("bare", "hooks", "raw", "raw-all", "wavetap", "profiler", "nsys")
UNITS = {"storm": ("ns", 0), "graph": ("ns", 0), "paced": ("ns", 0), "torch-storm": ("ns", 0),
         "eager": ("ms", 3), "compiled": ("ms", 3), "gemm": ("ms", 3)}
DRAWS = 1000
CLUSTERS_MIN = 6  # an interval of 95 % drawn from 4 holds the truth in 86 of 100 cases only

# What design asks for. `ratio`: way over other; `added`: what way adds to bare, over what the other adds;
# `plus`: what way adds to bare, in the workload's unit.
LIMITS = (
  Limit("launch storm: wavetap over raw CUPTI", "storm", "ratio", "wavetap", "raw", 1.05),
  Limit("launch storm: wavetap over raw CUPTI with the same kinds", "storm", "ratio", "wavetap", "raw-all", 1.05),
  Limit("launch storm: added by wavetap over added by nsys", "storm", "added", "wavetap", "nsys", 1.0),
  Limit("launch storm in PyTorch: added over added by torch.profiler", "torch-storm", "added", "wavetap",
        "profiler", 1 / 3),
  Limit("launch storm in PyTorch: added over added by nsys", "torch-storm", "added", "wavetap", "nsys", 1.0),
  Limit("launch storm in PyTorch: wavetap over raw CUPTI", "torch-storm", "ratio", "wavetap", "raw", 1.05),
  Limit("eager training step: wavetap over raw CUPTI", "eager", "ratio", "wavetap", "raw", 1.05),
  Limit("compiled training step: wavetap over raw CUPTI", "compiled", "ratio", "wavetap", "raw", 1.05),
  Limit("graph replay: wavetap over raw CUPTI", "graph", "ratio", "wavetap", "raw", 1.05),
  Limit("GPU-bound training step: wavetap over bare", "gemm", "ratio", "wavetap", "bare", 1.01),
  Limit("hooks alone, ns added to a launch of the storm", "storm", "plus", "hooks", "bare", 150.0),
)


def by_group(samples, workload):
  """{group: {way: value}} and {group: cluster} of a workload; the last of two samples counts."""
  groups, clusters = collections.defaultdict(dict), {}
  for sample in samples:
    if sample.workload == workload:
      groups[sample.group][sample.way] = sample.value
      clusters[sample.group] = sample.cluster
  return dict(groups), clusters


def median_of(groups, way):
  return statistics.median(values[way] for values in groups)


def ratio(groups, way, other):
  below = median_of(groups, other)
  return median_of(groups, way) / below if below > 0 else None


def added_ratio(groups, way, other):
  """What one way adds to bare over what the other adds; None if the other adds nothing."""
  bare = median_of(groups, "bare")
  below = median_of(groups, other) - bare
  return (median_of(groups, way) - bare) / below if below > 0 else None


def plus(groups, way, other):
  return median_of(groups, way) - median_of(groups, other)


KINDS = {"ratio": (ratio, ()), "added": (added_ratio, ("bare",)), "plus": (plus, ())}


def interval(groups, clusters, figure):
  """(low, high) of 95 % of the draws; None of too few clusters, or where draws have no figure."""
  members = collections.defaultdict(list)
  for group, values in groups.items():
    members[clusters[group]].append(values)
  members = list(members.values())
  if len(members) < CLUSTERS_MIN:
    return None
  draw, found = random.Random(1), []
  for _ in range(DRAWS):
    drawn = [values for _ in members for values in draw.choice(members)]
    value = figure(drawn)
    if value is not None:
      found.append(value)
  if len(found) < DRAWS * 0.975:
    return None
  found.sort()
  return found[int(0.025 * len(found))], found[min(int(0.975 * len(found)), len(found) - 1)]


def judge(samples, limit):
  figure, more = KINDS[limit.kind]
  needed = {limit.way, limit.other, *more}
  groups, clusters = by_group(samples, limit.workload)
  groups = {group: values for group, values in groups.items() if needed <= values.keys()}
  if not groups:
    return Verdict(limit.words, "not measured", None, None, None, limit.limit, 0)
  value = figure(list(groups.values()), limit.way, limit.other)
  if value is None:
    return Verdict(limit.words, "no ratio: the other adds nothing", None, None, None, limit.limit, len(groups))
  found = interval(groups, clusters, lambda drawn: figure(drawn, limit.way, limit.other))
  low, high = found or (None, None)
  if found and high <= limit.limit:
    verdict = "met"
  elif found and low > limit.limit:
    verdict = "not met"
  else:
    verdict = "open, " + ("within" if value <= limit.limit else "beyond")
  return Verdict(limit.words, verdict, value, low, high, limit.limit, len(groups))


def row(samples, workload, way):
  """Median, least, most, added, ratio, ratios of groups; None where that way was not measured."""
  groups, _ = by_group(samples, workload)
  values = [group[way] for group in groups.values() if way in group]
  pairs = [group for group in groups.values() if way in group and "bare" in group]
  if not values:
    return None
  ratios = [group[way] / group["bare"] for group in pairs if group["bare"] > 0]
  return {
    "samples": len(values), "median": statistics.median(values), "least": min(values), "most": max(values),
    "added": plus(pairs, way, "bare") if pairs else None,
    "ratio": ratio(pairs, way, "bare") if pairs else None,
    "ratio_least": min(ratios, default=None), "ratio_most": max(ratios, default=None)}


def number(value, digits):
  return "." if value is None else f"{value:,.{digits}f}"


def cells(workload, unit, digits, way, found):
  return [workload, way, str(found["samples"]), f"{number(found['median'], digits)} {unit}",
          f"{number(found['least'], digits)} to {number(found['most'], digits)}",
          number(found["added"], digits), number(found["ratio"], 3),
          f"{number(found['ratio_least'], 3)} to {number(found['ratio_most'], 3)}"]


def rows_of(samples):
  for workload, (unit, digits) in UNITS.items():
    for way in WAYS:
      found = row(samples, workload, way)
      if found:
        yield cells(workload, unit, digits, way, found)


HEADER = ["workload", "watched by", "n", "median", "least to most", "added", "ratio to bare", "of rounds"]
VERDICT_HEADER = ["what", "value", "95 % interval", "limit", "verdict"]


LONG_HEADER = ["one long run", "stored", "dropped", "unexplained", "daemon CPU s per million",
               "stored per CPU second", "daemon MiB", "bytes each"]
EACH_HEADER = ["workload", "watched by", "kernels a step", "ns added a kernel"]


def verdict_cells(verdict):
  digits = 0 if verdict.limit > 10 else 3
  span = "." if verdict.low is None else f"{number(verdict.low, digits)} to {number(verdict.high, digits)}"
  return [verdict.words, number(verdict.value, digits), span, number(verdict.limit, digits), verdict.verdict]


def added_each(samples, kernels):
  """What each way adds to a step, by the kernels of a step."""
  for workload, count in kernels.items():
    for way in WAYS[1:]:
      found = row(samples, workload, way)
      if UNITS[workload][0] == "ms" and found and found["added"] is not None:
        yield [workload, way, f"{count:,.0f}", f"{found['added'] * 1e6 / count:,.0f}"]


def tables(samples, long_rows, kernels):
  """[(header, rows)] of all there is; `kernels`: {workload: kernels of a step}."""
  found = [(HEADER, list(rows_of(samples))),
           (VERDICT_HEADER, [verdict_cells(judge(samples, limit)) for limit in LIMITS])]
  if long_rows:
    found.append((LONG_HEADER, long_rows))
  if kernels:
    found.append((EACH_HEADER, list(added_each(samples, kernels))))
  return found


def text_table(header, rows):
  """Columns as wide as they need to be; the first two to the left."""
  lines = [[word.upper() for word in header], *rows]
  widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
  return "\n".join("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                             for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def markdown(header, rows):
  lines = [header, ["---"] * len(header), *rows]
  return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def read_samples(path):
  with open(path, encoding="utf-8") as lines:
    fields = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
  return [Sample(*values[:4], float(values[4])) for values in fields if len(values) == 5]


def main():
  if len(sys.argv) != 2:
    print("usage: field_table.py FILE", file=sys.stderr)
    return 2
  for header, rows in tables(read_samples(sys.argv[1]), [], {}):
    print(text_table(header, rows) + "\n")
  return 0


if __name__ == "__main__":
  sys.exit(main())

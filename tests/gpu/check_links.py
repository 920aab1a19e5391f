#!/usr/bin/env python3
"""Is each kernel linked to the call that launched it? Compares link_truth's output with a run file.

  check_links.py TRUTH RUN     TRUTH: stdout of link_truth; RUN: a run file or its data directory

Kernels of one stream run one after the other, and link_truth's kernels counted themselves; so the
k-th record of a stream, by start, is the launch that found k there. (Were records dropped, the
launch is found by %globaltimer instead.) A link is right if the call that it names was made by that
launch's thread and is that launch's ordinal among the calls of the thread. Prints how many are
right, wrong and without a link, how far %globaltimer lies outside the records' intervals, and a
verdict: 99.99 % must be right.

Exit status: 0 so it is, 1 not so, 2 usage, 3 unreadable.
"""
import bisect
import collections
import statistics
import sys

import runfile

RIGHT_LEAST = 0.9999
KERNEL = "link_probe"


def read_truth(path):
  """Thread ids by number, and per stream [(place, thread, ordinal, timer)] in order."""
  tids, streams = {}, collections.defaultdict(list)
  with open(path, encoding="utf-8") as lines:
    for line in lines:
      cells = line.rstrip("\n").split("\t")
      if cells[0] == "thread":
        tids[int(cells[1])] = int(cells[2])
      elif cells[0] == "launch":
        stream, place, thread, ordinal, timer = (int(cell) for cell in cells[1:])
        streams[stream].append((place, thread, ordinal, timer))
  for launches in streams.values():
    launches.sort()
    if [launch[0] for launch in launches] != list(range(len(launches))):
      raise runfile.RunFileError(f"{path}: kernels of a stream did not run one after the other")
  if not tids or not streams:
    raise runfile.RunFileError(f"{path}: no output of link_truth")
  return tids, streams


def read_run(run):
  """Per CUPTI stream the kernels by start, and each linked call's ordinal in its thread."""
  streams = collections.defaultdict(list)
  rows = runfile.select(run, "launch", ("stream_id", "start_ns", "end_ns", "launch_seq", "link"),
                        f"WHERE kernel = '{KERNEL}' ORDER BY start_ns")
  for row in rows:
    streams[row["stream_id"]].append(row)
  linked = {row["launch_seq"] for row in rows}
  ordinals, next_of = {}, collections.Counter()
  for seq, tid in runfile.select(run, "launch_call", ("seq", "tid"), "ORDER BY seq"):
    ordinals[seq] = (tid, next_of[tid])
    next_of[tid] += 1
  return streams, {seq: ordinals[seq] for seq in linked if seq in ordinals}


def pair_streams(truth, found):
  """Streams have different numbers of launches: largest with largest."""
  if len(truth) != len(found):
    raise runfile.RunFileError(f"{len(found)} streams in the run file, {len(truth)} were used")
  by_size = [sorted(streams.values(), key=len) for streams in (truth, found)]
  return list(zip(*by_size))


def match(launches, kernels, offset_ns):
  """(launch, kernel) pairs of one stream."""
  if len(launches) == len(kernels):
    return list(zip(launches, kernels))
  starts = [kernel["start_ns"] + offset_ns for kernel in kernels]
  pairs = []
  for launch in launches:
    at = bisect.bisect_right(starts, launch[3]) - 1
    if at >= 0 and launch[3] <= kernels[at]["end_ns"] + offset_ns:
      pairs.append((launch, kernels[at]))
  return pairs


def clock_offset(pairs):
  """%globaltimer less CUPTI's clock, from streams whose records are all there."""
  middles = [launch[3] - (kernel["start_ns"] + kernel["end_ns"]) // 2
             for launches, kernels in pairs if len(launches) == len(kernels)
             for launch, kernel in zip(launches, kernels)]
  return int(statistics.median(middles)) if middles else 0


def main():
  if len(sys.argv) != 3:
    print("usage: check_links.py TRUTH RUN", file=sys.stderr)
    return 2
  tids, truth = read_truth(sys.argv[1])
  found, calls = read_run(runfile.open_run_file(sys.argv[2]))
  pairs = pair_streams(truth, found)
  offset_ns = clock_offset(pairs)
  counts, outside_ns = collections.Counter(), []
  for launches, kernels in pairs:
    counts["launches"] += len(launches)
    counts["records"] += len(kernels)
    for launch, kernel in match(launches, kernels, offset_ns):
      timer_ns = launch[3] - offset_ns
      outside_ns.append(max(0, kernel["start_ns"] - timer_ns, timer_ns - kernel["end_ns"]))
      call = calls.get(kernel["launch_seq"])
      if kernel["link"] not in (1, 2) or call is None:
        counts["without a link"] += 1
      elif call == (tids[launch[1]], launch[2]):
        counts["right"] += 1
        counts["by order"] += kernel["link"] == 2
      else:
        counts["wrong"] += 1
  judged = counts["right"] + counts["wrong"] + counts["without a link"]
  share = counts["right"] / judged if judged else 0
  outside_ns.sort()
  print(f"{len(tids)} threads, {len(truth)} streams, {counts['launches']} launches, "
        f"{counts['records']} kernel records")
  print(f"%globaltimer beyond the record's interval: median {outside_ns[len(outside_ns) // 2]} ns, "
        f"greatest {outside_ns[-1]} ns; clocks differ by {offset_ns} ns")
  is_right = share >= RIGHT_LEAST and judged >= RIGHT_LEAST * counts["launches"]
  print(f"verdict: {'ok' if is_right else 'FAIL'}, {100 * share:.4f} % of {judged} right, "
        f"{counts['wrong']} wrong, {counts['without a link']} without a link, "
        f"{counts['by order']} by order and geometry, "
        f"{counts['launches'] - judged} launches without a record")
  return 0 if is_right else 1


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (runfile.RunFileError, OSError, ValueError) as error:
    runfile.fail(f"check_links: {error}")

#!/usr/bin/env python3
"""Is each kernel linked to the call that launched it? Compares link_truth's output with a run file.

  check_links.py TRUTH RUN     TRUTH: stdout of link_truth; RUN: a run file or its data directory

Kernels of one stream run one after the other, and link_truth's kernels counted themselves; so the
k-th record of a stream, by start, is the launch that found k there. Should CUPTI's times not be in
that order, or records be missing, %globaltimer tells: it runs beside CUPTI's clock within half a
microsecond, once their slow drift is taken out. A link is right if the call that it names was made
by that launch's thread and is that launch's ordinal among the calls of the thread. Prints how many
are right, wrong and without a link, the first wrong ones, how the two clocks agree, and a verdict:
99.99 % must be right.

Exit status: 0 so it is, 1 not so, 2 usage, 3 unreadable.
"""
import bisect
import collections
import statistics
import sys

import runfile

RIGHT_LEAST = 0.9999
BLOCK = 64  # kernels whose common distance of clocks is taken out
CLOSE_NS = 1500  # kernels of a stream are at least that far apart
FAR_NS = 5000  # where the drift is not known
TOLD = 12
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
  rows = runfile.select(run, "launch", ("stream_id", "start_ns", "launch_seq", "link", "correlation_id"),
                        f"WHERE kernel = '{KERNEL}' ORDER BY start_ns")
  for row in rows:
    streams[row["stream_id"]].append(row)
  linked = {row["launch_seq"] for row in rows}
  ordinals, next_of = {}, collections.Counter()
  for seq, tid in runfile.select(run, "launch_call", ("seq", "tid"), "ORDER BY entry_ns"):
    ordinals[seq] = (tid, next_of[tid])
    next_of[tid] += 1
  return streams, {seq: ordinals[seq] for seq in linked if seq in ordinals}


def pair_streams(truth, found):
  """Streams have different numbers of launches: largest with largest."""
  if len(truth) != len(found):
    raise runfile.RunFileError(f"{len(found)} streams in the run file, {len(truth)} were used")
  by_size = [sorted(streams.values(), key=len) for streams in (truth, found)]
  return list(zip(*by_size))


def clock_offsets(launches, kernels):
  """%globaltimer less CUPTI's clock, as the median of each BLOCK kernels; or None: not the same number."""
  if len(launches) != len(kernels):
    return None
  apart = [launch[3] - kernel["start_ns"] for launch, kernel in zip(launches, kernels)]
  return [int(statistics.median(apart[i:i + BLOCK])) for i in range(0, len(apart), BLOCK)]


def match(launches, kernels, offsets, offset_ns):
  """(launch, kernel, ns between their times, is out of order) of one stream."""
  starts = [kernel["start_ns"] for kernel in kernels]
  pairs = []
  for k, launch in enumerate(launches):
    here_ns = launch[3] - (offsets[k // BLOCK] if offsets else offset_ns)
    if offsets and abs(here_ns - starts[k]) <= CLOSE_NS:
      pairs.append((launch, kernels[k], here_ns - starts[k], False))
      continue
    after = bisect.bisect_right(starts, here_ns)
    near = min((i for i in (after - 1, after) if 0 <= i < len(starts)),
               key=lambda i: abs(here_ns - starts[i]))
    if abs(here_ns - starts[near]) <= (CLOSE_NS if offsets else FAR_NS):
      pairs.append((launch, kernels[near], here_ns - starts[near], bool(offsets)))
  return pairs


def tell(launch, kernel, call, tids):
  print(f"wrong: launch {launch[2]} of thread {launch[1]}, place {launch[0]}, is linked to call "
        f"{call[1]} of thread {tids.index(call[0]) if call[0] in tids else call[0]}; "
        f"correlation id {kernel['correlation_id']}")


def main():
  if len(sys.argv) != 3:
    print("usage: check_links.py TRUTH RUN", file=sys.stderr)
    return 2
  tids, truth = read_truth(sys.argv[1])
  found, calls = read_run(runfile.open_run_file(sys.argv[2]))
  pairs = pair_streams(truth, found)
  offsets = [clock_offsets(*pair) for pair in pairs]
  known = [offset for of_stream in offsets if of_stream for offset in of_stream]
  offset_ns = int(statistics.median(known)) if known else 0
  counts, apart_ns = collections.Counter(), []
  for (launches, kernels), of_stream in zip(pairs, offsets):
    counts["launches"] += len(launches)
    counts["records"] += len(kernels)
    for launch, kernel, apart, is_out_of_order in match(launches, kernels, of_stream, offset_ns):
      apart_ns.append(abs(apart))
      counts["out of order"] += is_out_of_order
      call = calls.get(kernel["launch_seq"])
      if kernel["link"] not in (1, 2) or call is None:
        counts["without a link"] += 1
      elif call == (tids[launch[1]], launch[2]):
        counts["right"] += 1
        counts["by order"] += kernel["link"] == 2
      else:
        counts["wrong"] += 1
        if counts["wrong"] <= TOLD:
          tell(launch, kernel, call, list(tids.values()))
  judged = counts["right"] + counts["wrong"] + counts["without a link"]
  share = counts["right"] / judged if judged else 0
  apart_ns.sort()
  print(f"{len(tids)} threads, {len(truth)} streams, {counts['launches']} launches, "
        f"{counts['records']} kernel records")
  print(f"%globaltimer and CUPTI's start, drift taken out: median {apart_ns[len(apart_ns) // 2]} ns, "
        f"greatest {apart_ns[-1]} ns apart; {counts['out of order']} records out of order by start; "
        f"the drift: {max(known, default=0) - min(known, default=0)} ns")
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

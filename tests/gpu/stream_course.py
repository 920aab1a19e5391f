"""Truth of `truth streams`, for check_measured.py: how many SMs of the device were active in the time that
a kernel had to itself, and beside others, for that very time as the fold of a run file cuts it.

TRUTH_COURSE has, per round, in steps of 100 ns, how many SMs began and ceased to run blocks, and each
launch's first start and last end, by the GPU's %globaltimer (truth_streams.cuh). The run file has when
CUPTI saw the same launches begin and end: by another clock, so that the median over some hundred launches
says how far apart they are. Then kernels lose their ramps, are cut where they overlap by a little
(analysis/fold_segments.c does the same), and the course is summed up in between.
"""
import array
import itertools
import operator
import struct

import runfile

STEP_NS = 100
RAMP_NS, SPLIT_NS = 650, 200  # as analysis/ has them for this device
CLOCK_LAUNCHES = 400
# Of an SM, before its first block reads a clock and after its last one did: 250 ns together, by blind_probe
# (check_measured.py has 478 cycles, and thread 0 is 17 cycles late). How much of it is before, is not known.
BEFORE_NS, AFTER_NS = 110, 140


class Course:
  """SM-time of the device, in one round, up to any time of %globaltimer."""

  def __init__(self, first_ns, begins, ends):
    self.first_ns = first_ns
    self.begun, self.ended = self.integral(begins), self.integral(ends)

  @staticmethod
  def integral(counts):
    """Of how many there were so far, at the edges of steps; within one they are spread evenly."""
    so_far = itertools.accumulate(counts)
    halves = map(operator.sub, so_far, (count / 2 for count in counts))
    return array.array("d", itertools.accumulate((half * STEP_NS for half in halves), initial=0.0))

  @staticmethod
  def at(sums, time_ns):
    if time_ns <= 0:
      return 0.0
    step = min(int(time_ns / STEP_NS), len(sums) - 2)
    part = time_ns / STEP_NS - step  # beyond the last step as in it: all have begun, or ended
    return sums[step] + part * (sums[step + 1] - sums[step])

  def until(self, time_ns):
    time_ns -= self.first_ns
    return self.at(self.begun, time_ns + BEFORE_NS) - self.at(self.ended, time_ns - AFTER_NS)


def read_head(path, file):
  """(first_ns, steps, launches) of the next round, or None."""
  tag = file.read(8)
  if not tag:
    return None
  if tag != b"TRUTHCRS":
    raise runfile.RunFileError(f"{path}: no course of streams")
  return struct.unpack("<3Q", file.read(24))


def count_launches(path):
  count = 0
  with open(path, "rb") as file:
    while head := read_head(path, file):
      count += head[2]
      file.seek(2 * head[1] + 12 * head[2], 1)
  return count


def read_rounds(path):
  """(course, [(config, start_ns, end_ns) of each launch]) of each round."""
  with open(path, "rb") as file:
    while head := read_head(path, file):
      first_ns, steps, count = head
      course = Course(first_ns, file.read(steps), file.read(steps))
      values = struct.unpack(f"<{3 * count}I", file.read(12 * count))
      yield course, [(values[i], first_ns + values[i + 1], first_ns + values[i + 2]) for i in range(0, 3 * count, 3)]


class Clock:
  """Kernel time less %globaltimer: at some times, and a line in between."""

  def __init__(self, kernels, launches):
    """[config, start, end] of kernels by start; launches: the same ones, by config in the same order."""
    queues, offsets = {}, []
    for launch in sorted(launches, key=lambda one: one[1]):
      queues.setdefault(launch[0], []).append(launch)
    following = {config: iter(queue) for config, queue in queues.items()}
    for config, start_ns, end_ns in kernels:
      launch = next(following.get(config, iter(())), None)
      if launch is None:
        raise runfile.RunFileError("kernels of the run file are not those of truth's rounds")
      offsets.append((start_ns, (start_ns - launch[1] + end_ns - launch[2]) / 2))
    parts = [offsets[i:i + CLOCK_LAUNCHES] for i in range(0, max(1, len(offsets) - CLOCK_LAUNCHES // 2), CLOCK_LAUNCHES)]
    self.points = [(part[len(part) // 2][0], sorted(one[1] for one in part)[len(part) // 2]) for part in parts]
    self.place = 0

  def offset(self, time_ns):
    """Times that don't go back."""
    while self.place + 2 < len(self.points) and self.points[self.place + 1][0] < time_ns:
      self.place += 1
    if len(self.points) == 1:
      return self.points[0][1]
    (from_ns, low), (to_ns, high) = self.points[self.place:self.place + 2]
    part = min(max((time_ns - from_ns) / (to_ns - from_ns), 0), 1)
    return low + part * (high - low)


def without_ramps(kernels):
  """[config, start, end] by start, as the fold takes them: ramps off, small overlaps cut in the middle."""
  taken, running = [], []
  for config, start_ns, end_ns in kernels:
    ramp_ns = min(RAMP_NS // 2, (end_ns - start_ns) // 4)
    taken.append([config, start_ns + ramp_ns, end_ns - ramp_ns])
  taken.sort(key=lambda one: one[1])
  for kernel in taken:
    running = [other for other in running if other[2] > kernel[1]]
    ends = [other[2] for other in running if other[2] - kernel[1] <= SPLIT_NS and other[2] < kernel[2]]
    end_ns = max(ends, default=kernel[1])
    middle_ns = kernel[1] + (end_ns - kernel[1]) // 2
    for other in running:
      if middle_ns < other[2] <= end_ns:
        other[2] = middle_ns
    kernel[1] = middle_ns
    running.append(kernel)
  return taken


class Share:
  """Sums over a configuration's launches."""

  def __init__(self):
    self.launches = self.alone_ns = self.alone_sm_ns = self.joint_ns = self.joint_sm_ns = 0

  def add(self, is_alone, time_ns, sm_ns):
    if is_alone:
      self.alone_ns += time_ns
      self.alone_sm_ns += sm_ns
    else:
      self.joint_ns += time_ns
      self.joint_sm_ns += sm_ns


def add_round(shares, course, clock, kernels):
  edges = []
  for number, (config, start_ns, end_ns) in enumerate(kernels):
    shares.setdefault(config, Share()).launches += 1
    edges += [(start_ns, number), (end_ns, ~number)]
  edges.sort()
  running, before_ns, before_sm_ns = [], 0, 0.0
  for time_ns, number in edges:
    until_sm_ns = course.until(time_ns - clock.offset(time_ns))
    for other in running:
      shares[kernels[other][0]].add(len(running) == 1, time_ns - before_ns, until_sm_ns - before_sm_ns)
    before_ns, before_sm_ns = time_ns, until_sm_ns
    if number >= 0:
      running.append(number)
    else:
      running.remove(~number)


def shares_of(path, kernels):
  """By configuration, in truth's numbers. kernels: (config, start_ns, end_ns) of all, those before the rounds, too, by start."""
  shares, at = {}, len(kernels) - count_launches(path)
  if at < 0 or at == len(kernels):
    raise runfile.RunFileError(f"{path}: {len(kernels) - at} launches, the run file has {len(kernels)} kernels")
  for course, launches in read_rounds(path):
    part = kernels[at:at + len(launches)]
    add_round(shares, course, Clock(part, launches), without_ramps(part))
    at += len(part)
  return shares

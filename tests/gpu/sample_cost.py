#!/usr/bin/env python3
"""What sampling costs a program: one process, a sampler beside it every other few seconds.

  sample_cost.py [--pairs N] [--seconds S] [--interval T] [--sampler PATH] NAME COMMAND...

COMMAND prints a line `ready`, then does the same over and over until its input ends, and prints lines of
`truth storm`: `#piece` with the names of the columns, `piece` with begin_ns and end_ns (CLOCK_MONOTONIC)
and figures. While it runs, S seconds (4) without a sampler and S seconds with one take turns, N times
(4), and once more without. Pieces that lie wholly in one of these times count; those in which the sampler
is set up or ends are told apart. So both sides are of one process, a few seconds apart. Beside the
pieces: the SM clock as NVML has it, four times a second, and the sampler's CPU time.

A ratio is the median with a sampler over the mean of the medians before and after. SPREAD is that of the N
pairs; NULL that of each time without a sampler over the one before it: what there is to see without any.
Judges nothing. The sampler is stopped in good order at the end, whatever happens.

Exit status: 0, 2 usage, 3 nothing was measured.
"""
import argparse
import ctypes
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

READY_S = 120  # for the program to begin
SET_UP_S = 40  # for the sampler
END_S = 60
CLOCK_EVERY_S = 0.25
NVML_CLOCK_SM = 1
TICKS = os.sysconf("SC_CLK_TCK")


class Clock(threading.Thread):
  """Reads the SM clock of device 0 as NVML has it, if that is there."""

  def __init__(self):
    super().__init__(daemon=True)
    self.pieces, self.is_over = [], threading.Event()
    try:
      self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
      self.device = ctypes.c_void_p()
      if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)):
        self.nvml = None
    except (OSError, AttributeError):
      self.nvml = None

  def run(self):
    mhz = ctypes.c_uint()
    while self.nvml and not self.is_over.wait(CLOCK_EVERY_S):
      if not self.nvml.nvmlDeviceGetClockInfo(self.device, NVML_CLOCK_SM, ctypes.byref(mhz)):
        now = time.monotonic_ns()
        self.pieces.append((now, now, {"nvml_sm_mhz": float(mhz.value)}))


def cpu_s(pid):
  """CPU time of a process so far."""
  with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
    fields = stat.read().rsplit(")", 1)[1].split()
  return (int(fields[11]) + int(fields[12])) / TICKS


def wait_for(path, word, process, seconds):
  """Until the file that a process writes has a line with that word."""
  end = time.monotonic() + seconds
  while time.monotonic() < end and process.poll() is None:
    with open(path, encoding="utf-8", errors="replace") as lines:
      if any(word in line for line in lines):
        return True
    time.sleep(0.02)
  return False


def descendants(pid):
  """The process and those it started, and so on."""
  parents = {}
  for folder in os.listdir("/proc"):
    try:
      with open(f"/proc/{folder}/stat", encoding="utf-8", errors="replace") as stat:
        parents.setdefault(int(stat.read().rsplit(")", 1)[1].split()[1]), []).append(int(folder))
    except (OSError, ValueError):
      pass
  found = [pid]
  for one in found:
    found += parents.get(one, [])
  return found


def find_cupti(pid):
  """The libcupti that the program has loaded, as the daemon would tell the sampler; None: not known."""
  for one in descendants(pid):
    try:
      with open(f"/proc/{one}/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
          path = line.rstrip("\n").split(None, 5)[-1]
          if os.path.basename(path).startswith("libcupti.so"):
            return path
    except OSError:
      pass
  return None


def stop(process, seconds=END_S):
  """Asked to end, then killed."""
  if process.poll() is None:
    process.send_signal(signal.SIGTERM)
  try:
    process.wait(seconds)
  except subprocess.TimeoutExpired:
    process.kill()
    process.wait()


def sampled_time(arguments, folder, number, cupti):
  """With a sampler for some seconds: the times set-up and sampling took, and its CPU."""
  path = os.path.join(folder, f"sampler-{number}")
  begin = time.monotonic_ns()
  with open(path, "wb") as err:
    words = [arguments.sampler, "--device", "0", "--interval", arguments.interval]
    sampler = subprocess.Popen(words + (["--cupti", cupti] if cupti else []),
                               stdin=subprocess.DEVNULL, stdout=err, stderr=err)
  try:
    if not wait_for(path, ": sampling", sampler, SET_UP_S):
      with open(path, encoding="utf-8", errors="replace") as lines:
        print(f"sampler {number}: {lines.read().strip() or 'said nothing'}", file=sys.stderr)
      return None
    start, cpu = time.monotonic_ns(), cpu_s(sampler.pid)
    time.sleep(arguments.seconds)
    end, cpu = time.monotonic_ns(), cpu_s(sampler.pid) - cpu
  finally:
    stop(sampler)
  return {"set-up": (begin, start), "on": (start, end), "ending": (end, time.monotonic_ns()),
          "cpu": cpu / ((end - start) / 1e9)}


def read_pieces(path):
  header, pieces = [], []
  with open(path, encoding="utf-8", errors="replace") as lines:
    for line in lines:
      fields = line.rstrip("\n").split("\t")
      if fields[0] == "#piece":
        header = fields[3:]
      elif fields[0] == "piece" and len(fields) == len(header) + 3:
        pieces.append((float(fields[1]), float(fields[2]), dict(zip(header, map(float, fields[3:])))))
  return pieces


def median_in(pieces, figure, times):
  """Of the pieces that lie in that time; None without any."""
  values = [values[figure] for begin, end, values in pieces
            if figure in values and times[0] <= begin and end <= times[1]]
  return statistics.median(values) if values else None


def spread(values):
  return f"{min(values):.4f}..{max(values):.4f}" if values else "-"


def print_figure(name, figure, pieces, offs, samplings):
  """A line of the table. False: there were no pieces."""
  without = [median_in(pieces, figure, times) for times in offs]
  beside = [median_in(pieces, figure, sampling["on"]) for sampling in samplings]
  set_up = [median_in(pieces, figure, sampling["set-up"]) for sampling in samplings]
  pairs = [(before, on, after) for before, on, after in zip(without, beside, without[1:])
           if None not in (before, on, after)]
  if not pairs:
    print(f"{name:8s} {figure:12s} not measured")
    return False
  ratios = [2 * on / (before + after) for before, on, after in pairs]
  nulls = [after / before for before, _, after in pairs]
  set_up = [value for value in set_up if value is not None]
  print(f"{name:8s} {figure:12s} {statistics.median(before for before, _, _ in pairs):12.1f} "
        f"{statistics.median(on for _, on, _ in pairs):12.1f} {statistics.median(ratios):7.4f} {spread(ratios):>16s} "
        f"{spread(nulls):>16s} {statistics.median(set_up) if set_up else float('nan'):12.1f} {len(pairs):5d}")
  return True


def measure(arguments, folder, cupti):
  """Times without a sampler, and those with one."""
  offs, samplings = [], []
  for number in range(arguments.pairs + 1):
    begin = time.monotonic_ns()
    time.sleep(arguments.seconds)
    offs.append((begin, time.monotonic_ns()))
    if number == arguments.pairs:
      break
    sampling = sampled_time(arguments, folder, number, cupti)
    if sampling is None:
      break
    samplings.append(sampling)
  return offs, samplings


def main():
  parser = argparse.ArgumentParser(description="what sampling costs a program")
  parser.add_argument("--pairs", type=int, default=4)
  parser.add_argument("--seconds", type=float, default=4)
  parser.add_argument("--interval", default="50us")
  parser.add_argument("--sampler", default="wavetap-sampler")
  parser.add_argument("name")
  parser.add_argument("command", nargs=argparse.REMAINDER)
  arguments = parser.parse_args()
  if not arguments.command or arguments.pairs < 1 or arguments.seconds <= 0:
    parser.error("a command, pairs and seconds are needed")
  clock = Clock()
  with tempfile.TemporaryDirectory() as folder:
    out_path = os.path.join(folder, "out")
    with open(out_path, "wb") as out:
      program = subprocess.Popen(arguments.command, stdin=subprocess.PIPE, stdout=out)
    try:
      if not wait_for(out_path, "ready", program, READY_S):
        print(f"{arguments.name}: the program did not begin", file=sys.stderr)
        return 3
      clock.start()
      offs, samplings = measure(arguments, folder, find_cupti(program.pid))
      program.stdin.close()
      program.wait(END_S)
    finally:
      clock.is_over.set()
      stop(program)
    pieces = read_pieces(out_path)
  figures = list(pieces[0][2]) if pieces else []
  print(f"{'PROGRAM':8s} {'FIGURE':12s} {'WITHOUT':>12s} {'SAMPLED':>12s} {'RATIO':>7s} {'SPREAD':>16s} {'NULL':>16s} "
        f"{'IN SET-UP':>12s} {'PAIRS':>5s}")
  found = [print_figure(arguments.name, figure, pieces, offs, samplings) for figure in figures]
  if clock.pieces:
    found.append(print_figure(arguments.name, "nvml_sm_mhz", clock.pieces, offs, samplings))
  cpus = [100 * sampling["cpu"] for sampling in samplings]
  set_ups = [(sampling["set-up"][1] - sampling["set-up"][0]) / 1e9 for sampling in samplings]
  if cpus:
    print(f"{arguments.name}: {len(pieces)} pieces; sampler every {arguments.interval}: CPU {statistics.median(cpus):.0f} % of a "
          f"core ({min(cpus):.0f} to {max(cpus):.0f}), set-up {statistics.median(set_ups):.2f} s, exit status of the "
          f"program {program.returncode}")
  return 0 if any(found) else 3


if __name__ == "__main__":
  sys.exit(main())

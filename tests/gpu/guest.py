"""Running a program without and with wavetap, and what wavetap then has of it: for the checkers of
this folder that start programs themselves (sharing.py, tools.py, workers.py, long_run.py).

A program runs in a session of its own and gets a time limit; when that is over, its session alone is
killed. Rows go to stdout, `ok` or `FAILED` first, then the verdict that run.sh shows.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import runfile

DAEMON_LIMIT_S = 60


class Build:
  """The folder with the programs, and a folder for what they print."""

  def __init__(self, folder, work):
    self.folder = os.path.realpath(folder)
    self.library = os.path.join(self.folder, "libwavetap.so")
    self.wavetap = os.path.join(self.folder, "wavetap")
    self.daemon = os.path.join(self.folder, "wavetapd")
    self.work = os.path.realpath(work)
    os.makedirs(self.work, exist_ok=True)

  def program(self, name):
    return os.path.join(self.folder, name)


class Result:
  def __init__(self, log, status, wall_s, data_dir):
    self.log, self.status, self.wall_s, self.data_dir = log, status, wall_s, data_dir

  def text(self, ending="out"):
    try:
      with open(f"{self.log}.{ending}", encoding="utf-8", errors="replace") as file:
        return file.read()
    except OSError:
      return ""

  def last_error(self):
    lines = self.text("err").strip().splitlines()
    return lines[-1][:160] if lines else ""


def with_preload(environment, library):
  before = environment.get("LD_PRELOAD", "")
  return {**environment, "LD_PRELOAD": f"{before}:{library}" if before else library}


def start(build, how, name, command, extra=None, preload=True):
  """A process and its Result to be; `preload`: of the command itself (else it sees to that)."""
  log = os.path.join(build.work, f"{name}-{how}")
  data_dir = log + ".d"
  environment = {**os.environ, **(extra or {})}
  if how != "bare":
    shutil.rmtree(data_dir, ignore_errors=True)
    os.makedirs(data_dir)
    environment["WAVETAP_DIR"] = data_dir
    if how == "run":
      command = [build.wavetap, "run", "--", *command]
    elif preload:
      environment = with_preload(environment, build.library)
  with open(log + ".out", "wb") as out, open(log + ".err", "wb") as err:
    process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                               env=environment, start_new_session=True)
  return process, Result(log, None, None, None if how == "bare" else data_dir)


def finish(build, process, result, limit_s):
  """Waits for the program, then for its daemon; status "timeout" if it took too long."""
  began = time.monotonic()
  try:
    result.status = process.wait(timeout=limit_s)
  except subprocess.TimeoutExpired:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    result.status = "timeout"
  result.wall_s = time.monotonic() - began
  if result.data_dir:
    await_daemon(build, result.data_dir)
  return result


def run(build, how, name, command, limit_s, extra=None, preload=True):
  try:
    process, result = start(build, how, name, command, extra, preload)
  except OSError as error:
    raise SystemExit(f"{command[0]}: {error.strerror}")
  return finish(build, process, result, limit_s)


def daemons(build, data_dir):
  """Pids of the daemons that serve that data directory."""
  for entry in os.listdir("/proc"):
    if not entry.isdigit():
      continue
    try:
      if os.readlink(f"/proc/{entry}/exe") != build.daemon:
        continue
      with open(f"/proc/{entry}/environ", "rb") as file:
        if f"WAVETAP_DIR={data_dir}".encode() in file.read().split(b"\0"):
          yield int(entry)
    except OSError:
      continue


def await_daemon(build, data_dir):
  limit = time.monotonic() + DAEMON_LIMIT_S
  while any(daemons(build, data_dir)) and time.monotonic() < limit:
    time.sleep(0.1)


class Own:
  """What wavetap has of a program: the sums over its processes, and how it watched them."""

  def __init__(self, data_dir):
    self.files = glob.glob(os.path.join(data_dir, "runs", "*.db"))
    self.processes, self.losses = [], []
    for path in self.files:
      connection = runfile.open_run_file(path)
      self.processes += [dict(row) for row in runfile.select(
        connection, runfile.PROCESS_VIEW, runfile.PROCESS_COLUMNS)]
      self.losses += [dict(row) for row in runfile.select(
        connection, runfile.LOSS_VIEW, runfile.LOSS_COLUMNS)]

  def total(self, name):
    return sum(loss[name] or 0 for loss in self.losses)

  def is_inert(self):
    return not self.processes

  def is_full(self):
    return bool(self.processes) and all(p["capture"] == "full" for p in self.processes)

  def dropped(self):
    return sum(self.total(name) for name in ("launches_dropped", "kernels_dropped_ring",
                                             "kernels_dropped_cupti"))

  def problems(self):
    """Whatever no honest account may have."""
    if self.total("unexplained"):
      yield f"{self.total('unexplained'):,} unexplained"
    for process in self.processes:
      if process["capture"] != "full" and not process["reason"]:
        yield f"pid {process['pid']}: {process['capture']} without a reason"

  def words(self):
    if self.is_inert():
      return "wavetap inert"
    states = {(p["capture"], p["reason"]) for p in self.processes}
    how = "; ".join(capture + (f" ({reason})" if reason else "") for capture, reason in sorted(
      states, key=str))
    text = (f"wavetap {how}: {self.total('launches_attempted'):,} launches, "
            f"{self.total('kernels'):,} kernels")
    for name, words in (("kernels_no_time", "without time"), ("launches_unlinked", "unlinked"),
                        ("launches_in_flight", "in flight")):
      if self.total(name):
        text += f", {self.total(name):,} {words}"
    return text + (f", {self.dropped():,} dropped" if self.dropped() else "")


def normal(text):
  """What differs from one run to the next of the same thing: process ids and times."""
  text = re.sub(r"\b(pid|PID|process|Process|LWP)(\s*[=:]?\s*)\d+", r"\1\2N", text)
  text = re.sub(r"0x[0-9a-f]{6,}", "0xN", text)
  return re.sub(r"\b\d+(\.\d+)? ?(ms|us|s|sec|seconds)\b", "T", text)


class Table:
  """Rows as they come, and the verdict at the end."""

  def __init__(self, name):
    self.name, self.rows, self.failed = name, 0, []

  def add(self, row, problems, words):
    problems = list(problems)
    self.rows += 1
    if problems:
      self.failed.append(row)
    verdict = "FAILED" if problems else "ok"
    print(f"{verdict:6s} {row:30s} " + "; ".join([*problems,
                                                  words]), flush=True)

  def verdict(self):
    print("verdict: " + (f"FAIL, {len(self.failed)} of {self.rows} rows: {' '.join(self.failed)}"
                         if self.failed else f"ok, {self.rows} rows"))
    return 1 if self.failed or not self.rows else 0


def at_once(workers, jobs):
  """Runs callables, so many at a time; a list of their results in order."""
  with concurrent.futures.ThreadPoolExecutor(workers) as pool:
    return [future.result() for future in [pool.submit(job) for job in jobs]]


def main(body):
  try:
    sys.exit(body())
  except (runfile.RunFileError, OSError) as error:
    runfile.fail(f"{os.path.basename(sys.argv[0])}: {error}")

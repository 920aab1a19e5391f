"""Opening run files for the checkers of this folder: Python's own sqlite3, read only. Those that hold packed
rows are expanded first, by `wavetap export --format sqlite` of $WAVETAP_BUILD, $top_builddir or $PATH.

Names of views and columns of the run file are here and nowhere else in tests/gpu.
"""
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

LAUNCH_VIEW = "launch"  # one row per kernel that ran
LAUNCH_COLUMNS = (
  "process_id", "launch_seq", "kernel_id", "start_ns", "end_ns", "device_id", "grid_x", "grid_y",
  "grid_z", "block_x", "block_y", "block_z", "blocks_per_sm", "waves", "underfill_sm_ns",
  "wave_sm_ns", "wave_max_sm_ns", "graph_node_id", "correlation_id")
PROCESS_VIEW = "process"  # one row per observed process
PROCESS_COLUMNS = (
  "process_id", "pid", "rank", "local_rank", "world_size", "state", "capture", "reason")
KERNEL_TABLE = "kernel"  # kernel_id, name
LOSS_VIEW = "loss"  # one row per process
LOSS_COLUMNS = (
  "process_id", "launches_attempted", "launches_stored", "launches_dropped", "launches_torn",
  "launches_failed", "launches_captured", "launches_linked", "launches_unobserved",
  "launches_in_flight", "launches_unlinked", "graph_launches", "kernels", "kernels_graph",
  "kernels_device", "kernels_linked", "kernels_cupti_only", "kernels_no_time",
  "kernels_dropped_ring", "kernels_dropped_cupti", "unexplained")


class RunFileError(Exception):
  """The run file can't be read as one; the text is for people."""


def find_run_file(path):
  """PATH itself, or the one run file of a data directory (or of its runs/)."""
  if not os.path.isdir(path):
    return path
  found = [name for folder in (path, os.path.join(path, "runs"))
           for name in glob.glob(os.path.join(folder, "*.db"))]
  if len(found) != 1:
    raise RunFileError(f"{path}: {len(found)} run files, one is needed")
  return found[0]


def has_packed_rows(connection):
  """Not in files of versions before 5."""
  try:
    return connection.execute("SELECT EXISTS (SELECT 1 FROM chunk)").fetchone()[0]
  except sqlite3.Error:
    return False


def find_wavetap():
  for variable in ("WAVETAP_BUILD", "top_builddir"):
    path = os.path.join(os.environ.get(variable, ""), "wavetap")
    if os.environ.get(variable) and os.access(path, os.X_OK):
      return os.path.abspath(path)
  return shutil.which("wavetap")


def open_expanded(path):
  """A connection to a copy with all rows in their tables, which goes with the connection."""
  program = find_wavetap()
  if not program:
    raise RunFileError(f"{path} holds packed rows, and no wavetap is there to expand them")
  with tempfile.TemporaryDirectory() as folder:
    whole = os.path.join(folder, "whole.db")
    done = subprocess.run([program, "export", "-r", path, "--format", "sqlite", "-o", whole],
                          capture_output=True, text=True, check=False)
    if done.returncode:
      raise RunFileError(f"{path}: {done.stderr.strip()}")
    connection = sqlite3.connect(whole)
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opened: the file may lose its name
    return connection


def open_run_file(path):
  """A connection whose rows answer by column name."""
  path = find_run_file(path)
  if not os.path.exists(path):
    raise RunFileError(f"{path}: no such run file")
  connection = sqlite3.connect(path, timeout=30)  # a live daemon may be writing
  if has_packed_rows(connection):
    connection.close()
    connection = open_expanded(path)
  connection.row_factory = sqlite3.Row
  connection.execute("PRAGMA query_only = 1")
  return connection


def select(connection, view, columns, clause=""):
  """Rows of a view, these columns, CLAUSE after its name."""
  try:
    return connection.execute(f"SELECT {', '.join(columns)} FROM {view} {clause}").fetchall()
  except sqlite3.Error as error:
    raise RunFileError(f"reading {view}: {error}") from error


def fail(text):
  """Ends the program the way all checkers do when they can't judge."""
  print(text, file=sys.stderr)
  sys.exit(3)

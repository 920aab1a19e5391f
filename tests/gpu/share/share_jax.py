#!/usr/bin/env python3
"""JAX's profiler around steps of a jitted function.

  share_jax.py [--first] [--kernels FILE]

Three sessions of 20 steps each by jax.profiler.trace; with --first the first of them before anything
was launched, and compiled in it. Counts what is on the lines of streams in the trace that was
written (.xplane.pb, by JAX's own reader; else .trace.json.gz). Prints `SHARE {json}` per way.
"""
import argparse
import glob
import gzip
import json
import os
import tempfile

from share_report import Report, skip

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# No choice by measuring: the kernels are the same in each run.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"

try:
  import jax
  from jax import numpy as jnp
except ImportError as error:
  skip(f"not installed: {error}")

STEPS, SIZE, LAYERS = 20, 512, 6
COPIES = ("memcpy", "memset")


@jax.jit
def step(weights, x):
  for weight in weights:
    x = jnp.tanh(x @ weight)
  return x / jnp.maximum(jnp.abs(x).max(), 1.0)


def stat(event, name):
  for key, value in event.stats:
    if key == name:
      return value
  return 0


def from_planes(path):
  """(name, correlation id, ns) of everything on a stream's line."""
  data = jax.profiler.ProfileData.from_file(path)
  return [(event.name, int(stat(event, "correlation_id") or 0), round(event.duration_ns))
          for plane in data.planes if plane.name.startswith("/device:GPU")
          for line in plane.lines if line.name.startswith("Stream") for event in line.events]


def from_json(path):
  with gzip.open(path, "rt", encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
  gpus = {e["pid"] for e in events if e.get("ph") == "M" and e["name"] == "process_name"
          and "GPU" in e["args"]["name"]}
  streams = {(e["pid"], e["tid"]) for e in events if e.get("ph") == "M"
             and e["name"] == "thread_name" and e["pid"] in gpus
             and e["args"]["name"].startswith("Stream")}
  return [(e["name"], int(e.get("args", {}).get("correlation_id", 0)), round(e["dur"] * 1000))
          for e in events if e.get("ph") == "X" and (e["pid"], e.get("tid")) in streams]


def events_of(folder):
  planes = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
  traces = glob.glob(os.path.join(folder, "**", "*.trace.json.gz"), recursive=True)
  if planes and hasattr(jax.profiler, "ProfileData"):
    return [event for path in planes for event in from_planes(path)]
  return [event for path in traces for event in from_json(path)]


def session(report, way, work):
  with tempfile.TemporaryDirectory() as folder:
    with jax.profiler.trace(folder):
      work()
    events = events_of(folder)
  kernels = [e for e in events if not e[0].lower().startswith(COPIES)]
  report.session(way, kernels, len(events) - len(kernels))


def main():
  parser = argparse.ArgumentParser(description="JAX's profiler")
  parser.add_argument("--first", action="store_true", help="a session before all launches")
  parser.add_argument("--kernels", metavar="FILE", help="a line per kernel event")
  arguments = parser.parse_args()
  report = Report(arguments.kernels)
  state = {}

  def prepare():
    keys = jax.random.split(jax.random.PRNGKey(1), LAYERS + 1)
    state["weights"] = [jax.random.normal(key, (SIZE, SIZE)) / SIZE ** 0.5 for key in keys[1:]]
    state["x"] = jax.random.normal(keys[0], (SIZE, SIZE))

  def steps():
    for _ in range(STEPS):
      state["x"] = step(state["weights"], state["x"])
    state["x"].block_until_ready()

  try:
    if not any(device.platform == "gpu" for device in jax.devices()):
      skip("JAX has no GPU support here")
  except RuntimeError as error:
    skip(f"no GPU for JAX: {error}")
  if arguments.first:
    session(report, "before-launches", lambda: (prepare(), steps()))
  else:
    prepare()
    steps()
  for _ in range(3):
    steps()
    session(report, "trace", steps)
  steps()
  report.finish()


if __name__ == "__main__":
  main()

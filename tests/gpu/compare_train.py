#!/usr/bin/env python3
"""Compares outputs of train.py: the first without wavetap, the others with it.

  compare_train.py BARE OBSERVED...

The training must be the same (digest of all losses) and torch.profiler must have seen the same
(counts of kernels by name, copies, memsets and API calls, session by session). Times are printed
as ratios and not judged: single runs differ by more than wavetap costs.

Exit status: 0 equal, 1 something differs, 2 usage, 3 an output is incomplete.
"""
import json
import sys

COUNTS = ("steps", "kernels", "kernel_names", "kernel_names_digest", "memcpy", "memset",
          "api_calls")
TRAINING = ("mode", "batch", "steps", "loss_digest")


def read_output(path):
  """The TRAIN line and the PROFILER lines by session."""
  training, sessions = None, {}
  with open(path, encoding="utf-8", errors="replace") as lines:
    for line in lines:
      what, _, values = line.partition(" ")
      if what == "TRAIN":
        training = json.loads(values)
      elif what == "PROFILER":
        session = json.loads(values)
        sessions[session["session"]] = session
  if training is None:
    print(f"{path}: no TRAIN line: the run did not finish", file=sys.stderr)
    sys.exit(3)
  return training, sessions


def differences(bare, observed, names):
  return [f"{name} {bare.get(name)} became {observed.get(name)}" for name in names
          if bare.get(name) != observed.get(name)]


def step_ratio(bare, observed):
  return observed[0]["ms_per_step_median"] / bare[0]["ms_per_step_median"]


def compare(bare, observed, label):
  """Prints one line for the training and one per session; returns what differs."""
  wrong = differences(bare[0], observed[0], TRAINING)
  print(f"{label}: {observed[0]['ms_per_step_median']} ms per step, bare "
        f"{bare[0]['ms_per_step_median']}, ratio {step_ratio(bare, observed):.4f}; "
        f"last loss {observed[0]['loss']}")
  for number in sorted(bare[1].keys() | observed[1].keys()):
    before, after = bare[1].get(number, {}), observed[1].get(number, {})
    wrong += [f"session {number}: {text}" for text in differences(before, after, COUNTS)]
    if before.get("kernel_ns") and after:
      print(f"{label}: session {number}: {after['kernels']} kernels, bare {before['kernels']}; "
            f"kernel time ratio {after['kernel_ns'] / before['kernel_ns']:.4f}")
  if bare[1] and not all(session["kernels"] for session in bare[1].values()):
    wrong.append("a bare session saw no kernel: nothing was compared")
  return wrong


def main():
  if len(sys.argv) < 3:
    print("usage: compare_train.py BARE OBSERVED...", file=sys.stderr)
    return 2
  bare, wrong = read_output(sys.argv[1]), []
  ratios = []
  for path in sys.argv[2:]:
    observed = read_output(path)
    wrong += compare(bare, observed, path.rpartition("/")[2])
    ratios.append(step_ratio(bare, observed))
  for text in wrong:
    print(f"differs: {text}")
  print("verdict: " + (f"FAIL, {len(wrong)} differences, the first: {wrong[0]}" if wrong
                       else f"ok, {len(bare[1])} profiler sessions, step time "
                       + ", ".join(f"x {ratio:.3f}" for ratio in ratios)))
  return 1 if wrong else 0


if __name__ == "__main__":
  sys.exit(main())

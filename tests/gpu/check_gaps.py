#!/usr/bin/env python3
"""check_gaps.py PLANTED GAPS-CSV LEDGER-JSON: was planted time without a kernel found in its cause?

PLANTED is what app_gaps printed; GAPS-CSV is `wavetap gaps --by kernel --csv`, LEDGER-JSON `wavetap
ledger --json` of the same run. At least 95 % of what was planted for a cause must be found before its
kernel, in that cause. Prints a line for each, and fails if one is not.
"""
import csv
import json
import sys

LEAST_SHARE = 0.95


def main():
  if len(sys.argv) != 4:
    sys.exit(__doc__)
  planted_path, gaps_path, ledger_path = sys.argv[1:]
  with open(ledger_path, encoding="utf-8") as file:
    device = json.load(file)["devices"][0]
  with open(gaps_path, encoding="utf-8", newline="") as file:
    rows = {row["kernel"]: row for row in csv.DictReader(file)}
  bad = 0
  with open(planted_path, encoding="utf-8") as file:
    lines = [line.split() for line in file if line.startswith("planted ")]
  for _, cause, kernel, planted in lines:
    planted_ns = int(planted)
    row = rows.get(kernel)
    found_ns = int(row[f"{cause}_sm_ns"]) / device["sms"] if row else 0
    gap_ns = int(row["gap_sm_ns"]) / device["sms"] if row else 0
    is_good = found_ns >= LEAST_SHARE * planted_ns
    bad += not is_good
    print(f"{cause}: planted {planted_ns / 1e6:.2f} ms, found {found_ns / 1e6:.2f} ms "
          f"({100 * found_ns / planted_ns:.1f} %), all gaps before it {gap_ns / 1e6:.2f} ms"
          f"{'' if is_good else '  TOO LITTLE'}")
  if device["residual_sm_ns"] != 0:
    bad += 1
    print("the ledger leaves", device["residual_sm_ns"], "SM-ns")
  print(f"{len(lines)} causes, {bad} wrong")
  sys.exit(1 if bad or not lines else 0)


if __name__ == "__main__":
  main()

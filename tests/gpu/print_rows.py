#!/usr/bin/env python3
"""The table of what check_measured.py --row wrote, ready for RESULTS.md: print_rows.py FILE."""
import sys

COLUMNS = ("workload", "phase s", "measured", "inseparable", "missing", "launches that met samples: median (least)",
           "off % median", "worst", "outside the tolerance", "beyond the claim", "straggle off %", "profiles off",
           "residual %", "samples stored", "CPU %", "verdict")


def main():
  if len(sys.argv) != 2:
    sys.exit(2)
  print("| " + " | ".join(COLUMNS) + " |")
  print("|---" * len(COLUMNS) + "|")
  with open(sys.argv[1], encoding="utf-8") as rows:
    for row in rows:
      print("| " + " | ".join(row.rstrip("\n").split("\t")) + " |")


if __name__ == "__main__":
  main()

#!/usr/bin/env python3
"""check_classes.py on run files made by hand from schema.sql: right ones pass, each fault is found.

  check_classes_test.py       needs no GPU and no build; prints TAP, exit status 1 if a test fails
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

import check_measured_test as by_hand

KERNELS = [("truth_fma", "compute", 2000), ("truth_mem", "memory", 2000), ("truth_chase", "latency", 2000),
           ("truth_int", "compute?", 2000), ("truth_copy", "memory", 12)]


def make(folder, sql):
  path, truth = os.path.join(folder, "run.db"), os.path.join(folder, "truth.tsv")
  run = sqlite3.connect(path)
  with open(by_hand.SCHEMA, encoding="utf-8") as schema:
    run.executescript(schema.read())
  by_hand.put(run, "gpu", device_id=1, name="H200", sm_count=132, mem_clock_khz=3201000, mem_bus_bits=6144)
  by_hand.put(run, "sampler", sampler_id=1, device_id=1, state=2, interval_ns=50000, first_ns=0, last_ns=10**10,
              samples_taken=200000, samples_stored=200000, cpu_ns=3 * 10**9)
  by_hand.put(run, "fold", device_id=1, offset_ns=0.0, offset_error_ns=40.0, residual=0.0004, samples_used=199000,
              active_sm_ns=10**9, explained_sm_ns=10**9)
  lines = [by_hand.CONFIG_HEADER]
  for number, (kernel, bound, launches) in enumerate(KERNELS, 1):
    by_hand.put(run, "kernel", kernel_id=number, name=kernel)
    by_hand.put(run, "config", config_id=number, kernel_id=number, device_id=1, grid_x=660, grid_y=1, grid_z=1, block_x=256,
                block_y=1, block_z=1, sm_count=132, blocks=660)
    by_hand.put(run, "config_stat", config_id=number, launches=launches, time_ns=launches * 50000)
    by_hand.put(run, "measured", config_id=number, evidence="sampled", is_used=1, launches=launches - 2,
                time_ns=launches * 50000, active_sms=120.0, active_error_sms=0.4, tensor_share=0.0, issue_share=0.8,
                dram_bytes_per_ns=100.0, bound=bound.rstrip("?"), wave_form="shared", class_wave_sms=3.0)
    lines.append(f"config\tclasses\t{kernel}\t660\t256\t0\t4\t132\t{launches}\t200\t49000\t6000000\t1\t2\t0\t468000\t0\t0\t"
                 f"{bound}\t100\t120.0")
  run.executescript(sql)
  run.commit()
  with open(truth, "w", encoding="utf-8") as out:
    out.write("\n".join(lines) + "\n" + by_hand.TOTAL)
  return truth, path


def judge(name, wanted, sql="", words=""):
  with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([sys.executable, os.path.join(by_hand.HERE, "check_classes.py"), *make(folder, sql)],
                          capture_output=True, text=True, check=False)
  by_hand.check(done.returncode == wanted and words in done.stdout, name, done.stdout + done.stderr)


def main():
  judge("all as they should be", 0, words="5 of 5 classes known")
  judge("a wrong class", 1, "UPDATE measured SET bound = 'latency' WHERE config_id = 1", "FAIL")
  judge("none where there should be one", 1, "UPDATE measured SET bound = NULL, bound_reason = 'because' WHERE config_id = 1",
        "because")
  judge("a pipe of half rate may be unknown", 0, "UPDATE measured SET bound = NULL WHERE config_id = 4", "4 of 5")
  judge("but not latency", 1, "UPDATE measured SET bound = 'latency' WHERE config_id = 4")
  judge("few launches may be unknown", 0, "UPDATE measured SET bound = NULL WHERE config_id = 5")
  judge("never met", 0, "DELETE FROM measured WHERE config_id = 5", "no sample met it")
  judge("but not wrong", 1, "UPDATE measured SET bound = 'compute' WHERE config_id = 5")
  judge("nothing was sampled", 1, "DELETE FROM sampler; DELETE FROM measured")
  print(f"1..{by_hand.tests}")
  return 1 if by_hand.failed else 0


if __name__ == "__main__":
  sys.exit(main())

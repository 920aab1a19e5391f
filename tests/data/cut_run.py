#!/usr/bin/env python3
"""Cuts a run file down to a recording for tests/data: cut_run.py IN.db OUT.db FROM_S TO_S

Keeps the kernels that start within [FROM_S, TO_S) seconds of the first kernel, the launch calls
that belong to them, and the other records of that time. Rollups and counters are made again from
the rows that stay, by SQL alone; before cutting, the same SQL is run over the whole file and must
give what wavetapd stored. Names of the machine (host, paths, boot id, user) are taken out.
"""
import os
import shutil
import sqlite3
import sys

ROLLUP = """
SELECT e.process_id, e.config_id, e.graph_id IS NOT NULL, count(*), sum(e.end_ns - e.start_ns),
       min(e.end_ns - e.start_ns), max(e.end_ns - e.start_ns),
       sum(coalesce(e.underfill_sm_ns, 0)), sum(coalesce(e.wave_sm_ns, 0)),
       sum(coalesce(e.wave_max_sm_ns, 0)),
       sum(CASE WHEN e.wave_sm_ns IS NULL
           THEN (e.end_ns - e.start_ns) * c.sm_count - coalesce(e.underfill_sm_ns, 0) ELSE 0 END),
       min(e.start_ns), max(e.end_ns)
FROM kernel_exec e JOIN config c USING (config_id) WHERE e.start_ns IS NOT NULL
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""

STORED = """
SELECT process_id, config_id, in_graph, launches, time_ns, min_ns, max_ns, underfill_sm_ns,
       wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, first_ns, last_ns
FROM config_stat ORDER BY 1, 2, 3"""


def cut(db, begin_ns, end_ns):
  keep = (begin_ns, end_ns)
  db.execute("DELETE FROM kernel_exec WHERE start_ns IS NULL OR start_ns < ? OR start_ns >= ?", keep)
  db.execute("""DELETE FROM launch_call WHERE NOT EXISTS (SELECT 1 FROM kernel_exec e
    WHERE e.process_id = launch_call.process_id AND e.graph_id IS NULL AND e.launch_seq = seq)""")
  db.execute("DELETE FROM api_call WHERE entry_ns < ? OR entry_ns >= ?", keep)
  for table in ("copy", "sync", "overhead"):
    db.execute(f"DELETE FROM {table} WHERE start_ns IS NULL OR start_ns < ? OR start_ns >= ?", keep)
  db.execute("DELETE FROM clock WHERE realtime_ns < ? OR realtime_ns >= ?", keep)
  db.execute("DELETE FROM config WHERE config_id NOT IN (SELECT config_id FROM kernel_exec)")
  db.execute("DELETE FROM kernel WHERE kernel_id NOT IN (SELECT kernel_id FROM config)")


def number_again(db):
  """Calls are numbered from 0 without holes, as if the run had begun with the cut."""
  db.execute("""CREATE TEMP TABLE number AS SELECT process_id, seq AS old,
    row_number() OVER (PARTITION BY process_id ORDER BY seq) - 1 AS new FROM launch_call""")
  db.execute("CREATE INDEX temp.number_of ON number (process_id, old)")
  db.execute("""UPDATE kernel_exec SET launch_seq = (SELECT new FROM number n
    WHERE n.process_id = kernel_exec.process_id AND old = launch_seq) WHERE graph_id IS NULL""")
  # Through numbers that no row has: the key must stay unique at every step.
  db.execute("""UPDATE launch_call SET seq = -1 - (SELECT new FROM number n
    WHERE n.process_id = launch_call.process_id AND old = seq)""")
  db.execute("UPDATE launch_call SET seq = -1 - seq")


def has_shares(db):
  return db.execute("PRAGMA user_version").fetchone()[0] > 1


def roll_up(db):
  db.execute("DELETE FROM config_stat")
  if has_shares(db): # of the whole run: `wavetap analyze` makes those of the cut
    db.execute("DELETE FROM kernel_share")
    db.execute("DELETE FROM sweep")
  for row in db.execute(ROLLUP).fetchall():
    process, config, in_graph, launches, time_ns = row[:5]
    mean = time_ns / launches
    m2 = sum((d - mean) ** 2 for (d,) in db.execute(
      "SELECT end_ns - start_ns FROM kernel_exec WHERE process_id = ? AND config_id = ? "
      "AND (graph_id IS NOT NULL) = ? AND start_ns IS NOT NULL", (process, config, in_graph)))
    db.execute("""INSERT INTO config_stat (process_id, config_id, in_graph, launches, time_ns, min_ns,
      max_ns, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, first_ns, last_ns, m2_ns2)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""", row + (m2,))


def count_again(db, begin_ns):
  """Counters of a recording hold what it holds: every launch in it has its kernel."""
  db.execute("""UPDATE proc SET
    launches_stored = (SELECT count(*) FROM launch_call l WHERE l.process_id = proc.process_id),
    kernels_stored = (SELECT count(*) FROM kernel_exec e WHERE e.process_id = proc.process_id),
    kernels_graph = (SELECT count(*) FROM kernel_exec e
                     WHERE e.process_id = proc.process_id AND e.graph_id IS NOT NULL),
    graph_launches_attempted = 0, graph_launches_stored = 0, launches_captured = 0,
    armed_ns = ?, created_ns = ?,
    first_ns = (SELECT min(entry_ns) FROM launch_call l WHERE l.process_id = proc.process_id),
    last_ns = (SELECT max(end_ns) FROM kernel_exec e WHERE e.process_id = proc.process_id)""",
             (begin_ns, begin_ns))
  db.execute("""UPDATE proc SET launches_attempted = launches_stored, kernels_seen = kernels_stored,
    launches_linked = launches_stored - launches_linked_by_order""")


def anonymize(db):
  db.execute("""UPDATE proc SET hostname = 'h200', executable = 'python3', pid = 1000, ppid = 999,
    uid = 1000, boot_id = '', cupti_path = 'libcupti.so.13', pid_namespace = 0, start_ticks = 0""")
  db.execute("UPDATE meta SET value = 'h200' WHERE key = 'hostname'")
  db.execute("UPDATE meta SET value = 'recording' WHERE key = 'run_key'")


def main():
  if len(sys.argv) != 5:
    sys.exit(__doc__)
  source, target, begin_s, end_s = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
  shutil.copyfile(source, target)
  os.chmod(target, 0o644)
  db = sqlite3.connect(target)
  shares = has_shares(db) and db.execute("SELECT count(*) FROM kernel_share").fetchone()[0]
  if not shares and db.execute(ROLLUP).fetchall() != db.execute(STORED).fetchall():
    sys.exit("cut_run: the rollup made by SQL differs from what the file holds")
  first_ns = db.execute("SELECT min(start_ns) FROM kernel_exec").fetchone()[0]
  begin_ns, end_ns = first_ns + int(begin_s * 1e9), first_ns + int(end_s * 1e9)
  cut(db, begin_ns, end_ns)
  number_again(db)
  roll_up(db)
  count_again(db, begin_ns)
  anonymize(db)
  db.commit()
  db.execute("PRAGMA journal_mode = DELETE")
  db.execute("VACUUM")
  print(db.execute("SELECT count(*) FROM kernel_exec").fetchone()[0], "kernels,",
        db.execute("SELECT unexplained FROM loss").fetchall(), "unexplained")


if __name__ == "__main__":
  main()

"""Measured SM-time of a run file, for the checkers of this folder; names of its tables are in here.

Columns are those of schema/schema.sql: sampler, fold, measured, measured_profile, profile_launch,
sm_bucket.
"""
import runfile

SAMPLER_STATES = {
  0: "starting", 1: "sampling", 2: "ended", 3: "no CUPTI", 4: "no permission", 5: "busy",
  6: "unsupported", 7: "timeout", 8: "overflow", 9: "failed", 10: "no driver", 11: "no device"}
SAMPLER_FINE = (1, 2)
RESIDUAL_MOST = 0.05
STRETCH_GAP_NS, STRETCH_APART, STRETCH_BUCKETS = 25_000_000, 0.03, 5

CONFIG_QUERY = """
  SELECT c.config_id, k.name AS kernel, c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z,
         c.cluster_x, c.dynamic_smem_bytes, c.sm_count, m.is_used, m.reason, m.launches, m.time_ns,
         m.active_sms, m.active_error_sms, m.underfill_sms, m.wave_sms, m.straggle_sms, m.ramp_sms,
         m.disagrees, m.warps_per_sm, m.tensor_share, m.dram_bytes_per_ns, m.bound, m.wave_form,
         m.joint_time_ns, m.joint_active_sms, m.joint_error_sms, lower(hex(g.uuid)) AS uuid
  FROM measured m JOIN config c USING (config_id) JOIN kernel k USING (kernel_id) JOIN gpu g USING (device_id)
  WHERE m.evidence = ? ORDER BY m.launches"""


def query(run, text, *values):
  """Rows as dictionaries."""
  try:
    return [dict(row) for row in run.execute(text, values)]
  except runfile.sqlite3.Error as error:
    raise runfile.RunFileError(f"{error}: {' '.join(text.split())[:80]}") from error


def read_configs(run, evidence, uuid=None):
  """Measured configurations by (kernel, blocks, threads of a block, dynamic shared memory), of the
  device with that UUID, if one is given.

  Of several that differ in what is not part of the key, the one with most launches.
  """
  profiles, configs = {}, {}
  if evidence == "sampled":
    for row in query(run, "SELECT * FROM measured_profile ORDER BY config_id, bin"):
      profiles.setdefault(row["config_id"], []).append((row["active_sms"], row["error_sms"]))
  for row in query(run, CONFIG_QUERY, evidence):
    if uuid is not None and row["uuid"] != uuid:
      continue
    time_ns, launches = row["time_ns"], row["launches"]
    row["duration_ns"] = time_ns / launches if launches else 0
    row["active_sm_ns"] = (row["active_sms"] or 0) * time_ns
    row["error_sms"] = row["active_error_sms"] or 0
    row["joint_sm_ns"] = (row["joint_active_sms"] or 0) * row["joint_time_ns"]
    row["profile"] = profiles.get(row["config_id"], [])
    grid = row["grid_x"] * row["grid_y"] * row["grid_z"]
    block = row["block_x"] * row["block_y"] * row["block_z"]
    configs[(row["kernel"], grid, block, row["dynamic_smem_bytes"])] = row
  return configs


def print_sampling(run):
  """Two lines on each sampler and each device's alignment; how many are not as they should be."""
  failures, samplers, folds = 0, query(run, "SELECT * FROM sampler"), query(run, "SELECT * FROM fold")
  for row in samplers:
    span_ns = (row["last_ns"] or 0) - (row["first_ns"] or 0)
    is_fine = row["state"] in SAMPLER_FINE and not row["samples_dropped"] and row["samples_stored"]
    failures += not is_fine
    print(f"sampler: {SAMPLER_STATES.get(row['state'], row['state'])}, every {row['interval_ns'] / 1e3:g} us for "
          f"{span_ns / 1e9:.2f} s: {row['samples_taken']} samples, {row['samples_stored']} stored, "
          f"{row['samples_dropped']} dropped, {row['overflows']} overflows, CPU "
          f"{100 * row['cpu_ns'] / span_ns if span_ns else 0:.0f} % of a core"
          f"{'' if row['reason'] is None else ': ' + row['reason']}")
  for row in folds:
    is_fine = row["reason"] is None and row["residual"] is not None and row["residual"] <= RESIDUAL_MOST
    failures += not is_fine
    if row["offset_ns"] is None or row["residual"] is None:
      print(f"fold: not aligned: {row['reason']}")
      continue
    print(f"fold: offset {row['offset_ns'] / 1e3:.3f} us +- {(row['offset_error_ns'] or 0) / 1e3:.3f}, residual "
          f"{100 * row['residual']:.4f} %, {row['samples_used']} samples used, {row['samples_skipped']} skipped, "
          f"kernels explain {100 * row['explained_sm_ns'] / max(1, row['active_sm_ns']):.3f} % of active SM-time"
          f"{'' if row['reason'] is None else ': ' + row['reason']}")
  if not samplers or not folds:
    print(f"{len(samplers)} samplers, {len(folds)} alignments: nothing was measured")
    failures += 1
  return failures


def read_stretches(run):
  """Stretches of samples, from the buckets: those that follow each other at one interval, with the same metrics."""
  stretches = []
  for row in query(run, """
      SELECT device_id, start_ns, end_ns, sampled_ns, samples, tensor_share IS NOT NULL OR dram_read_bytes IS NOT NULL
               OR warps_per_sm IS NOT NULL AS is_rich FROM sm_bucket WHERE samples ORDER BY device_id, start_ns"""):
    last = stretches[-1] if stretches else None
    interval_ns = row["sampled_ns"] / row["samples"]
    if (last is None or last["device_id"] != row["device_id"] or last["is_rich"] != row["is_rich"] or
        row["start_ns"] - last["end_ns"] > STRETCH_GAP_NS or
        abs(interval_ns * last["samples"] / last["sampled_ns"] - 1) > STRETCH_APART):
      stretches.append(row | {"buckets": 1})
      continue
    last["end_ns"] = row["end_ns"]
    for name in ("sampled_ns", "samples"):
      last[name] += row[name]
    last["buckets"] += 1
  return [one for one in stretches if one["buckets"] >= STRETCH_BUCKETS]


def print_stretches(run):
  """A line for each stretch: what the sampler did, as the samples have it."""
  stretches = read_stretches(run)
  begin_ns = min((one["start_ns"] for one in stretches), default=0)
  print(f"{'DEVICE':>6s} {'AT S':>7s} {'SECONDS':>7s} {'EVERY US':>8s} {'SAMPLES':>8s} {'REST S':>6s} METRICS")
  for one, after in zip(stretches, stretches[1:] + [None]):
    is_followed = after is not None and after["device_id"] == one["device_id"]
    rest = f"{(after['start_ns'] - one['end_ns']) / 1e9:.2f}" if is_followed else "-"
    print(f"{one['device_id']:6d} {(one['start_ns'] - begin_ns) / 1e9:7.2f} {one['sampled_ns'] / 1e9:7.2f} "
          f"{one['sampled_ns'] / one['samples'] / 1e3:8.1f} {one['samples']:8d} {rest:>6s} {'all' if one['is_rich'] else 'active cycles'}")
  rich_ns = sum(one["sampled_ns"] for one in stretches if one["is_rich"])
  all_ns = sum(one["sampled_ns"] for one in stretches)
  bursts = sum(after["start_ns"] - one["end_ns"] > 3e9
               for one, after in zip(stretches, stretches[1:]) if one["device_id"] == after["device_id"])
  span_ns = max((one["end_ns"] for one in stretches), default=0) - begin_ns
  print(f"stretches: {len(stretches)}, {all_ns / 1e9:.2f} s sampled in {span_ns / 1e9:.2f} s, {100 * rich_ns / max(1, all_ns):.1f} % of "
        f"it with all metrics; {bursts} rests of over 3 s")


def launch_ordinals(run, kernels):
  """(process, launch seq) to the number of the launch in its process, from 0, of the process whose
  kernels' names begin so."""
  processes = query(run, """
    SELECT DISTINCT e.process_id FROM kernel_exec e JOIN config USING (config_id) JOIN kernel USING (kernel_id)
    WHERE name GLOB ? || '*'""", kernels)
  if len(processes) != 1:
    raise runfile.RunFileError(f"kernels of {kernels} in {len(processes)} processes, one is needed")
  process = processes[0]["process_id"]
  calls = query(run, "SELECT seq, grid_x, block_x FROM launch_call WHERE process_id = ? AND result = 0 ORDER BY seq",
                process)
  return {(process, call["seq"]): call | {"ordinal": number} for number, call in enumerate(calls)}


def read_profile_launches(run, ordinals):
  """Launches under the range profiler, with their ordinal, grid and block."""
  return [row | ordinals[(row["process_id"], row["launch_seq"])]
          for row in query(run, "SELECT * FROM profile_launch")
          if (row["process_id"], row["launch_seq"]) in ordinals]


def time_shares(run, evidence):
  """Every configuration's time, largest first, with what was measured of it (None: no row)."""
  rows = query(run, """
    SELECT c.config_id, k.name AS kernel, c.grid_x * c.grid_y * c.grid_z AS grid,
           c.block_x * c.block_y * c.block_z AS block, c.dynamic_smem_bytes, c.sm_count,
           s.launches, s.time_ns, s.wave_sm_ns, s.underfill_sm_ns
    FROM (SELECT config_id, sum(launches) AS launches, sum(time_ns) AS time_ns, sum(wave_sm_ns) AS wave_sm_ns,
                 sum(underfill_sm_ns) AS underfill_sm_ns FROM config_stat GROUP BY config_id) s
    JOIN config c USING (config_id) JOIN kernel k USING (kernel_id) ORDER BY s.time_ns DESC""")
  measured = {row["config_id"]: row for row in query(run, "SELECT * FROM measured WHERE evidence = ?", evidence)}
  return [row | {"measured": measured.get(row["config_id"])} for row in rows]


def bucket_activity(run, from_ns=None, to_ns=None):
  """Mean share of SMs active over sampled time in a window, and that time: DCGM's SM activity."""
  row = query(run, """
    SELECT sum(active_avg * sampled_ns) AS active, sum(sampled_ns) AS sampled_ns FROM sm_bucket
    WHERE (?1 IS NULL OR start_ns >= ?1) AND (?2 IS NULL OR end_ns <= ?2)""", from_ns, to_ns)[0]
  if not row["sampled_ns"]:
    return None, 0
  return row["active"] / row["sampled_ns"], row["sampled_ns"]

-- schema.sql - the run file: one SQLite database per run (one job on one host).
--
-- Public contract. Times are INTEGER nanoseconds of CLOCK_REALTIME, idle SM-time is
-- INTEGER SM-nanoseconds (SMs x ns), sizes are bytes; unknown is NULL, never 0. Rows are
-- written by wavetapd alone. Readers use the views; the tables below them may change with
-- user_version. The data dictionary is doc/run-file.md: it moves with this file.

PRAGMA application_id = 0x57544150; -- "WTAP"
PRAGMA user_version = 5;

-- Facts about the run: run_id, run_key, place, name, created_ns, hostname, wavetap_version.
CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tag (
  key   TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per observed process. Counters are snapshots taken in the same transaction as
-- the rows they count, so that a killed daemon neither loses nor doubles anything.
CREATE TABLE proc (
  process_id        INTEGER PRIMARY KEY,
  uuid              BLOB NOT NULL UNIQUE,   -- of the segment
  pid               INTEGER NOT NULL,       -- in its own pid namespace
  pid_namespace     INTEGER NOT NULL,
  ppid              INTEGER NOT NULL,
  start_ticks       INTEGER NOT NULL,
  uid               INTEGER NOT NULL,
  hostname          TEXT NOT NULL,
  boot_id           TEXT NOT NULL,
  executable        TEXT NOT NULL,
  command           TEXT NOT NULL,
  rank              INTEGER,
  local_rank        INTEGER,
  world_size        INTEGER,
  created_ns        INTEGER NOT NULL,       -- segment made: about the first launch
  armed_ns          INTEGER,                -- CUPTI armed; NULL = never
  finished_ns       INTEGER,                -- orderly exit: when the last flush began; NULL = not seen
  first_ns          INTEGER,                -- first launch entry or activity start
  last_ns           INTEGER,                -- last activity end or launch return
  state             TEXT NOT NULL CHECK (state IN ('live', 'finished', 'killed', 'replaced',
                                                            'lost')),
                                            -- replaced: went on by exec, without an orderly exit
                                            -- lost: segment vanished or was found corrupt
  capture           INTEGER NOT NULL,       -- enum wt_capture
  reason            INTEGER NOT NULL,       -- enum wt_reason
  reason_detail     INTEGER NOT NULL,
  reason_text       TEXT,                   -- NULL when nothing is wrong
  library_version   TEXT NOT NULL,
  cupti_version     INTEGER,
  cupti_path        TEXT,
  driver_version    INTEGER,
  -- cursors: everything before is in this file
  calls_pos         INTEGER NOT NULL DEFAULT 0,
  activity_pos      INTEGER NOT NULL DEFAULT 0,
  link_low_seq      INTEGER NOT NULL DEFAULT 0,  -- oldest launch that may still get its kernel
  link_low_exec     INTEGER NOT NULL DEFAULT 0,  -- kernels of such launches have no lower exec_id
  -- the producer's own counters
  launches_attempted    INTEGER NOT NULL DEFAULT 0,
  graph_launches_attempted INTEGER NOT NULL DEFAULT 0,
  launches_dropped      INTEGER NOT NULL DEFAULT 0,
  calls_dropped         INTEGER NOT NULL DEFAULT 0,
  kernels_seen          INTEGER NOT NULL DEFAULT 0,
  kernels_dropped_ring  INTEGER NOT NULL DEFAULT 0,
  links_dropped_ring    INTEGER NOT NULL DEFAULT 0,
  other_dropped_ring    INTEGER NOT NULL DEFAULT 0,
  kernels_dropped_cupti INTEGER NOT NULL DEFAULT 0,
  records_unknown       INTEGER NOT NULL DEFAULT 0,
  names_dropped         INTEGER NOT NULL DEFAULT 0,
  entries_unknown       INTEGER NOT NULL DEFAULT 0,
  app_profiler_sessions INTEGER NOT NULL DEFAULT 0,
  app_records_forwarded INTEGER NOT NULL DEFAULT 0,
  flush_cpu_ns          INTEGER NOT NULL DEFAULT 0,
  cupti_callback_ns     INTEGER NOT NULL DEFAULT 0,
  -- the daemon's counters
  cells_torn            INTEGER NOT NULL DEFAULT 0,  -- claimed, never written: killed in between
  cells_bad             INTEGER NOT NULL DEFAULT 0,  -- whole, but not a record we understand
  cells_gap             INTEGER NOT NULL DEFAULT 0,  -- drained into a run file that is gone
  launches_stored       INTEGER NOT NULL DEFAULT 0,
  launches_failed       INTEGER NOT NULL DEFAULT 0,  -- driver returned an error
  launches_captured     INTEGER NOT NULL DEFAULT 0,  -- went into a graph, did not run
  launches_linked       INTEGER NOT NULL DEFAULT 0,  -- kernel found, exactly
  launches_linked_by_order INTEGER NOT NULL DEFAULT 0, -- kernel found by order and geometry
  launches_unobserved   INTEGER NOT NULL DEFAULT 0,  -- CUPTI was not recording
  launches_unlinked     INTEGER NOT NULL DEFAULT 0,  -- decided: no kernel record will come
  graph_launches_stored INTEGER NOT NULL DEFAULT 0,
  graph_launches_failed INTEGER NOT NULL DEFAULT 0,
  kernels_stored        INTEGER NOT NULL DEFAULT 0,
  kernels_graph         INTEGER NOT NULL DEFAULT 0,  -- nodes of graphs
  kernels_device        INTEGER NOT NULL DEFAULT 0,  -- launched from the device
  kernels_cupti_only    INTEGER NOT NULL DEFAULT 0,  -- decided: no launch call was seen
  kernels_no_time       INTEGER NOT NULL DEFAULT 0   -- CUPTI gave no usable time: never ranked
) STRICT;

CREATE TABLE gpu (
  device_id    INTEGER PRIMARY KEY,
  uuid         BLOB NOT NULL UNIQUE,
  name         TEXT NOT NULL,
  cc_major     INTEGER NOT NULL,
  cc_minor     INTEGER NOT NULL,
  sm_count     INTEGER NOT NULL,
  warp_size    INTEGER NOT NULL,
  max_threads_per_sm    INTEGER NOT NULL,
  max_blocks_per_sm     INTEGER NOT NULL,
  max_threads_per_block INTEGER NOT NULL,
  regs_per_sm           INTEGER NOT NULL,
  regs_per_block        INTEGER NOT NULL,
  smem_per_sm_bytes     INTEGER NOT NULL,
  smem_per_block_bytes  INTEGER NOT NULL,
  smem_per_block_optin_bytes    INTEGER NOT NULL,
  smem_reserved_per_block_bytes INTEGER NOT NULL,
  l2_bytes     INTEGER NOT NULL,
  clock_khz    INTEGER NOT NULL,
  mem_clock_khz INTEGER NOT NULL,
  mem_bus_bits INTEGER NOT NULL,
  mem_total_bytes INTEGER NOT NULL,
  driver_version  INTEGER NOT NULL,
  pci          TEXT NOT NULL              -- dddd:bb:dd
) STRICT;

-- Which ordinal a device has in a process (CUDA_VISIBLE_DEVICES reorders them).
CREATE TABLE process_gpu (
  process_id INTEGER NOT NULL,
  ordinal    INTEGER NOT NULL,
  device_id  INTEGER NOT NULL,
  PRIMARY KEY (process_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE context (
  process_id INTEGER NOT NULL,
  context_id INTEGER NOT NULL,             -- CUPTI's
  device_id  INTEGER,
  parent_context_id INTEGER,
  sm_count   INTEGER,                      -- SMs it may use; NULL = all of the device
  is_green   INTEGER NOT NULL,
  PRIMARY KEY (process_id, context_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE kernel (
  kernel_id INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE           -- mangled, as CUPTI gave it
) STRICT;

-- A launch configuration: what occupancy and waves follow from. NULLs: not computable,
-- and model_reason says why.
CREATE TABLE config (
  config_id  INTEGER PRIMARY KEY,
  kernel_id  INTEGER NOT NULL,
  device_id  INTEGER NOT NULL,
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  cluster_x INTEGER NOT NULL, cluster_y INTEGER NOT NULL, cluster_z INTEGER NOT NULL, -- 0 = none
  regs_per_thread     INTEGER NOT NULL,
  static_smem_bytes   INTEGER NOT NULL,
  dynamic_smem_bytes  INTEGER NOT NULL,
  cooperative         INTEGER NOT NULL,
  max_active_clusters INTEGER NOT NULL,    -- 0 = unknown or no cluster
  sm_count            INTEGER NOT NULL,    -- S: SMs the context may use
  blocks              INTEGER NOT NULL,    -- G, saturated at 2^63 - 1
  blocks_per_sm       INTEGER,             -- b
  resident_blocks     INTEGER,             -- C: blocks the device holds at once
  occupancy           REAL,                -- resident warps / most warps of an SM
  limiter             TEXT,                -- warps, blocks, registers, shared memory; several joined by +
  waves               REAL,                -- G / C
  waves_sm            REAL,                -- G / S
  full_waves          INTEGER,             -- ceil(G / C) - 1
  last_wave_blocks    INTEGER,             -- r
  model_reason        TEXT,
  UNIQUE (kernel_id, device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,
          cluster_x, cluster_y, cluster_z, regs_per_thread, static_smem_bytes,
          dynamic_smem_bytes, cooperative, max_active_clusters, sm_count)
) STRICT;

-- One row per kernel that ran.
CREATE TABLE kernel_exec (
  exec_id        INTEGER PRIMARY KEY,
  process_id     INTEGER NOT NULL,
  config_id      INTEGER NOT NULL,
  start_ns       INTEGER,                  -- NULL: CUPTI gave no usable time
  end_ns         INTEGER,
  context_id     INTEGER NOT NULL,
  stream_id      INTEGER NOT NULL,         -- CUPTI's
  correlation_id INTEGER NOT NULL,
  graph_id       INTEGER,                  -- NULL: not a graph node; 0: of one that CUPTI does not name
  graph_node_id  INTEGER,
  launch_seq     INTEGER,                  -- launch_call.seq, or api_call.seq of a graph launch
  link           INTEGER NOT NULL,         -- 0 not known yet, 1 exact, 2 by order and geometry,
                                           -- 3 launched by the device, 4 no launch call was seen
  underfill_sm_ns INTEGER,                 -- model, of the kernel by itself; NULL = not judged
  wave_sm_ns      INTEGER,                 -- model, least of the closed forms
  wave_max_sm_ns  INTEGER                  -- model, greatest
) STRICT;
CREATE INDEX kernel_exec_waiting ON kernel_exec (process_id) WHERE link = 0;

-- What a kernel had of the device's SM-time, only where that differs from the model of the kernel by
-- itself: others ran beside it, or it could not reach all SMs of the device.
CREATE TABLE kernel_share (
  exec_id         INTEGER PRIMARY KEY,
  underfill_sm_ns INTEGER NOT NULL,
  wave_sm_ns      INTEGER NOT NULL,
  wave_max_sm_ns  INTEGER NOT NULL,
  unjudged_sm_ns  INTEGER NOT NULL,
  comm_sm_ns      INTEGER NOT NULL,
  alone_ns        INTEGER NOT NULL DEFAULT 0, -- of its time, by itself: not beside others, no collective
  active_sm_ns    INTEGER NOT NULL DEFAULT 0  -- the rest of its share
) STRICT;

-- How far shares are known, per device. The rows of config_stat sum to the ledger where nothing
-- waits, is late or was refused.
CREATE TABLE sweep (
  device_id       INTEGER PRIMARY KEY,
  settled_ns      INTEGER,                 -- shares of kernels that end by then are final; NULL: none
  low_exec        INTEGER NOT NULL,        -- a restart needs no kernel with a lower exec_id
  kernels_waiting INTEGER NOT NULL,        -- not final yet
  kernels_late    INTEGER NOT NULL,        -- came when their time was settled: count as if alone
  kernels_refused INTEGER NOT NULL         -- times that can't be: not in the ledger
) STRICT;

-- One row per call of the launch family that a hook saw.
CREATE TABLE launch_call (
  process_id INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  entry_ns   INTEGER NOT NULL,
  return_ns  INTEGER NOT NULL,
  api        INTEGER NOT NULL,             -- api.api
  tid        INTEGER NOT NULL,
  thread32   INTEGER NOT NULL,
  stream     INTEGER NOT NULL,             -- handle
  function   INTEGER NOT NULL,             -- handle
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  dynamic_smem_bytes INTEGER NOT NULL,
  result     INTEGER NOT NULL,             -- CUresult
  flags      INTEGER NOT NULL,             -- WT_FLAG_*
  PRIMARY KEY (process_id, seq)
) STRICT, WITHOUT ROWID;

-- Exact links whose kernel has not come yet, and those of recent graph launches: only what a
-- restarted daemon needs. Several per id where one call launches on several devices.
CREATE TABLE pending_link (
  process_id     INTEGER NOT NULL,
  correlation_id INTEGER NOT NULL,
  seq            INTEGER NOT NULL,         -- launch_call.seq, or api_call.seq of a graph launch
  is_graph       INTEGER NOT NULL,
  PRIMARY KEY (process_id, correlation_id, seq, is_graph)
) STRICT, WITHOUT ROWID;

-- Every other hooked call: graph launches, synchronising, allocating, loading, capturing.
CREATE TABLE api_call (
  call_id    INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL,
  api        INTEGER NOT NULL,
  seq        INTEGER,                      -- graph launches: their ordinal
  entry_ns   INTEGER NOT NULL,
  return_ns  INTEGER NOT NULL,
  tid        INTEGER NOT NULL,
  thread32   INTEGER NOT NULL,
  handle     INTEGER NOT NULL,
  other      INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  result     INTEGER NOT NULL,
  flags      INTEGER NOT NULL
) STRICT;

-- Packed rows: most rows of kernel_exec (kind 1), launch_call (2), api_call (3) and kernel_share (4) lie
-- here, compressed; those tables have the rest, and the views that use them see no more. `wavetap
-- export --format sqlite` gives a file with all rows in their tables. Data: doc/run-file.md.
CREATE TABLE IF NOT EXISTS chunk (
  chunk_id   INTEGER PRIMARY KEY,
  kind       INTEGER NOT NULL,
  process_id INTEGER NOT NULL,             -- of all its rows
  device_id  INTEGER,                      -- kinds 1 and 4: of all its rows; else NULL
  first_id   INTEGER NOT NULL,             -- exec_id, seq or call_id: ascending in a chunk, and in the
  last_id    INTEGER NOT NULL,             -- chunks of one kind, process and device: no two overlap
  row_count  INTEGER NOT NULL,
  start_ns   INTEGER,                      -- least of all times of the rows; NULL: none has any
  end_ns     INTEGER,                      -- greatest
  configs    BLOB,                         -- kind 1: which config_id are in it; NULL: not said
  data       BLOB NOT NULL                 -- with its own checksum
) STRICT;
CREATE INDEX IF NOT EXISTS chunk_find
  ON chunk (kind, process_id, device_id, first_id);

-- Rows that are gone, the oldest first, because the run had a limit (WAVETAP_KEEP_ROWS): how many, and of when.
-- No kernel is left that ended before the greatest last_ns but a few of other processes; sums and counters have all.
CREATE TABLE IF NOT EXISTS dropped (
  process_id INTEGER NOT NULL,             -- 0: not told apart (kind 4)
  device_id  INTEGER NOT NULL,             -- kinds 1 and 4; else 0
  kind       INTEGER NOT NULL,             -- as in chunk
  row_count  INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,             -- that they took, packed
  first_ns   INTEGER,                      -- least of their times; NULL: they had none
  last_ns    INTEGER,                      -- greatest
  last_id    INTEGER NOT NULL,             -- highest exec_id, seq or call_id
  dropped_ns INTEGER NOT NULL,             -- when rows went last
  PRIMARY KEY (process_id, device_id, kind)
) STRICT, WITHOUT ROWID;

-- Threads of launch calls that are gone: `loss` counts threads.
CREATE TABLE IF NOT EXISTS dropped_thread (
  process_id INTEGER NOT NULL,
  thread32   INTEGER NOT NULL,
  PRIMARY KEY (process_id, thread32)
) STRICT, WITHOUT ROWID;

-- For wavetapd: kernels of launches below seq, and of graph launches among calls below call_id, have ids below
-- exec_id. When those kernels are gone, so may these calls be.
CREATE TABLE IF NOT EXISTS drop_mark (
  process_id INTEGER NOT NULL,
  exec_id    INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  call_id    INTEGER NOT NULL,
  PRIMARY KEY (process_id, exec_id, seq, call_id)
) STRICT, WITHOUT ROWID;

-- Numbers and names of hooked entries.
CREATE TABLE api (
  api   INTEGER PRIMARY KEY,
  name  TEXT NOT NULL,
  class INTEGER NOT NULL
) STRICT;

CREATE TABLE copy (
  copy_id        INTEGER PRIMARY KEY,
  process_id     INTEGER NOT NULL,
  device_id      INTEGER,
  start_ns       INTEGER,
  end_ns         INTEGER,
  bytes          INTEGER NOT NULL,
  is_memset      INTEGER NOT NULL,
  copy_kind      INTEGER NOT NULL,
  src_kind       INTEGER NOT NULL,
  dst_kind       INTEGER NOT NULL,
  flags          INTEGER NOT NULL,
  context_id     INTEGER NOT NULL,
  stream_id      INTEGER NOT NULL,
  correlation_id INTEGER NOT NULL,
  graph_id       INTEGER,
  graph_node_id  INTEGER
) STRICT;

CREATE TABLE sync (
  sync_id        INTEGER PRIMARY KEY,
  process_id     INTEGER NOT NULL,
  type           INTEGER NOT NULL,
  start_ns       INTEGER NOT NULL,
  end_ns         INTEGER NOT NULL,
  context_id     INTEGER NOT NULL,
  stream_id      INTEGER NOT NULL,
  event_id       INTEGER NOT NULL,
  correlation_id INTEGER NOT NULL
) STRICT;

CREATE TABLE overhead (
  overhead_id INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL,
  type        INTEGER NOT NULL,
  start_ns    INTEGER NOT NULL,
  end_ns      INTEGER NOT NULL,
  thread32    INTEGER NOT NULL
) STRICT;

CREATE TABLE clock (
  clock_id     INTEGER PRIMARY KEY,
  process_id   INTEGER NOT NULL,
  realtime_ns  INTEGER NOT NULL,
  monotonic_ns INTEGER NOT NULL,
  boot_ns      INTEGER NOT NULL,
  cupti_ns     INTEGER,
  bracket_ns   INTEGER NOT NULL
) STRICT;

-- Named ranges of the application (NVTX). Added to files of version 1: those made before have
-- none of it.
CREATE TABLE IF NOT EXISTS range_name (
  name_id INTEGER PRIMARY KEY,
  domain  TEXT NOT NULL,                   -- '' = the default domain
  name    TEXT,                            -- NULL: it had none
  UNIQUE (domain, name)
) STRICT;

CREATE TABLE IF NOT EXISTS range_event (
  range_id   INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL,
  name_id    INTEGER NOT NULL,
  type       INTEGER NOT NULL,             -- 1 pushed and popped, 2 started and ended
  tid        INTEGER NOT NULL,             -- that began it
  end_tid    INTEGER,                      -- that ended it
  start_ns   INTEGER NOT NULL,
  end_ns     INTEGER,                      -- NULL: still open when the process ended
  depth      INTEGER NOT NULL              -- of pushed ones: how many of the thread and domain are around it
) STRICT;

-- Per process with ranges. begun = recorded + dropped + early + untracked + lost; lost: still open
-- when the process was killed, or torn.
CREATE TABLE IF NOT EXISTS range_count (
  process_id INTEGER PRIMARY KEY,
  begun      INTEGER NOT NULL,
  recorded   INTEGER NOT NULL,             -- rows of range_event
  dropped    INTEGER NOT NULL,             -- the ring had no room
  early      INTEGER NOT NULL,             -- ended before the first launch
  untracked  INTEGER NOT NULL,             -- too deep, or too many open at once
  unbalanced INTEGER NOT NULL              -- ends without a beginning; not in the sum
) STRICT;

-- Rollup per process, configuration and "inside a graph": what `top` reads.
CREATE TABLE config_stat (
  process_id   INTEGER NOT NULL,
  config_id    INTEGER NOT NULL,
  in_graph     INTEGER NOT NULL,           -- 0 or 1
  launches     INTEGER NOT NULL,           -- kernels that ran, with a usable time
  time_ns      INTEGER NOT NULL,           -- summed durations
  min_ns       INTEGER NOT NULL,
  max_ns       INTEGER NOT NULL,
  m2_ns2       REAL NOT NULL,              -- sum of squared deviations from the mean (Welford)
  underfill_sm_ns INTEGER NOT NULL,
  wave_sm_ns      INTEGER NOT NULL,
  wave_max_sm_ns  INTEGER NOT NULL,
  unjudged_sm_ns  INTEGER NOT NULL,        -- no model fits, or kernels shared SMs
  first_ns     INTEGER NOT NULL,
  last_ns      INTEGER NOT NULL,
  comm_sm_ns   INTEGER NOT NULL DEFAULT 0, -- idle while only collectives ran
  -- Of the above, what others beside it had a part in: no measurement of it by itself stands for it.
  beside_ns              INTEGER NOT NULL DEFAULT 0,
  beside_active_sm_ns    INTEGER NOT NULL DEFAULT 0,
  beside_underfill_sm_ns INTEGER NOT NULL DEFAULT 0,
  beside_wave_sm_ns      INTEGER NOT NULL DEFAULT 0,
  beside_wave_max_sm_ns  INTEGER NOT NULL DEFAULT 0,
  beside_unjudged_sm_ns  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (process_id, config_id, in_graph)
) STRICT, WITHOUT ROWID;

-- Measured SM-time: doc/design.md. One row per sampler: one device, one stretch of PM sampling.
CREATE TABLE IF NOT EXISTS sampler (
  sampler_id   INTEGER PRIMARY KEY,
  uuid         BLOB NOT NULL UNIQUE,       -- of its segment
  device_id    INTEGER,                    -- NULL: it never got so far
  pid          INTEGER NOT NULL,
  state        INTEGER NOT NULL,           -- enum wt_sampler_state
  reason       TEXT,                       -- NULL: it sampled, and ended in good order
  interval_ns  INTEGER NOT NULL,           -- that it began with
  first_ns     INTEGER,                    -- the GPU's clock
  last_ns      INTEGER,
  samples_taken   INTEGER NOT NULL,
  samples_stored  INTEGER NOT NULL,
  samples_dropped INTEGER NOT NULL,        -- the ring had no room
  overflows    INTEGER NOT NULL,           -- of the hardware's buffer: holes
  cpu_ns       INTEGER NOT NULL,           -- CPU time of the sampler
  activity_pos INTEGER NOT NULL            -- cursor: everything before is in this file
) STRICT;

-- Samples, zlib-compressed columns: doc/run-file.md.
CREATE TABLE IF NOT EXISTS sample_chunk (
  chunk_id   INTEGER PRIMARY KEY,
  sampler_id INTEGER NOT NULL,
  start_ns   INTEGER NOT NULL,             -- of the first, by the GPU's clock
  end_ns     INTEGER NOT NULL,             -- of the last
  samples    INTEGER NOT NULL,
  data       BLOB NOT NULL
) STRICT;

-- Samples summed over about 10 ms, by the GPU's clock. Shares are of all SMs, 0 to 1.
CREATE TABLE IF NOT EXISTS sm_bucket (
  device_id  INTEGER NOT NULL,
  start_ns   INTEGER NOT NULL,
  end_ns     INTEGER NOT NULL,
  sampled_ns INTEGER NOT NULL,             -- of it: the rest nobody looked at
  samples    INTEGER NOT NULL,
  active_avg REAL NOT NULL,                -- of time x SMs; what DCGM calls SM activity
  active_min REAL NOT NULL,                -- of the SM that had least, each sample by itself
  active_max REAL NOT NULL,
  warps_per_sm   REAL,                     -- resident, mean over SMs and time
  tensor_share   REAL,                     -- of time x SMs: the tensor pipe worked, of its peak
  dram_read_bytes  INTEGER,
  dram_write_bytes INTEGER,
  sm_clock_mhz     REAL,
  -- Sums for means of the least and most active SM, which not every sample has. NULL: made by version 3.
  busy_ns      INTEGER,                    -- of sampled_ns, with an SM active
  extremes_ns  INTEGER,                    -- of busy_ns, where the two are known
  min_share_ns REAL,                       -- in it: share of the SM that had least, x time
  max_share_ns REAL,
  PRIMARY KEY (device_id, start_ns)
) STRICT, WITHOUT ROWID;

-- What NVML said of a device, now and then.
CREATE TABLE IF NOT EXISTS gpu_state (
  device_id    INTEGER NOT NULL,
  time_ns      INTEGER NOT NULL,
  throttle_reasons INTEGER NOT NULL,       -- nvmlClocksEventReasons
  sm_clock_mhz INTEGER,
  mem_clock_mhz INTEGER,
  power_mw     INTEGER,
  temperature_c INTEGER,
  foreign_processes INTEGER,               -- NULL: not known
  foreign_pid  INTEGER,
  PRIMARY KEY (device_id, time_ns)
) STRICT, WITHOUT ROWID;

-- Equivalent-time folding of a device's samples over its kernels: how well it explains them.
CREATE TABLE IF NOT EXISTS fold (
  device_id     INTEGER PRIMARY KEY,
  until_ns      INTEGER NOT NULL,          -- samples and kernels up to here are in it
  offset_ns     REAL,                      -- kernel clock less sample clock; NULL: not aligned
  offset_error_ns REAL,                    -- also how far it moved along the run
  residual      REAL,                      -- share of the samples' variance that is not explained
  samples_used  INTEGER NOT NULL,
  samples_skipped INTEGER NOT NULL,        -- in holes, or where kernels are not known
  active_sm_ns  INTEGER NOT NULL,          -- in the samples used
  explained_sm_ns INTEGER NOT NULL,        -- of it, by kernels
  reason        TEXT                       -- NULL: it attributes; else why nothing is attributed
) STRICT;

-- What was measured of a configuration. Mean SMs of the device, over the time of its kernels:
-- active + underfill + wave + straggle + ramp = SMs of the device.
CREATE TABLE IF NOT EXISTS measured (
  config_id    INTEGER NOT NULL,
  evidence     TEXT NOT NULL CHECK (evidence IN ('sampled', 'profiled')),
  is_used      INTEGER NOT NULL,           -- 1: stands before the model and the other evidence
  reason       TEXT,                       -- NULL: measured; else why not
  launches     INTEGER NOT NULL,           -- that the measurement saw
  time_ns      INTEGER NOT NULL,           -- of them
  active_sms   REAL,
  active_error_sms REAL,                   -- 95 of 100 are within
  underfill_sms REAL,
  wave_sms     REAL,
  wave_max_sms REAL,
  straggle_sms REAL,
  ramp_sms     REAL,
  disagrees    INTEGER NOT NULL,           -- 1: the model, or the other evidence, is beyond the error
  warps_per_sm REAL,                       -- resident, mean over all SMs: achieved occupancy
  tensor_share REAL,                       -- of time x SMs
  dram_bytes_per_ns REAL,
  sm_clock_mhz REAL,
  bound        TEXT,                       -- compute, memory, latency
  wave_form    TEXT,                       -- of the model, that this chooses
  joint_time_ns    INTEGER NOT NULL,       -- beside other kernels
  joint_active_sms REAL,                   -- of the device, meanwhile
  joint_error_sms  REAL,
  issue_share  REAL,                       -- of the issue slots of all SMs
  bound_reason TEXT,                       -- why `bound` is not known; NULL: it is
  class_wave_sms REAL,                     -- of the model, in that form: where this row is not used
  PRIMARY KEY (config_id, evidence)
) STRICT, WITHOUT ROWID;

-- SMs active against the phase of a kernel: bin b of n is from b / n to (b + 1) / n of its duration.
CREATE TABLE IF NOT EXISTS measured_profile (
  config_id  INTEGER NOT NULL,
  bin        INTEGER NOT NULL,
  active_sms REAL NOT NULL,
  error_sms  REAL NOT NULL,
  PRIMARY KEY (config_id, bin)
) STRICT, WITHOUT ROWID;

-- Launches under the range profiler.
CREATE TABLE IF NOT EXISTS profile_launch (
  process_id  INTEGER NOT NULL,
  launch_seq  INTEGER NOT NULL,
  device_id   INTEGER,
  start_ns    INTEGER NOT NULL,
  end_ns      INTEGER NOT NULL,
  cost_ns     INTEGER NOT NULL,            -- that the application waited for it
  passes      INTEGER NOT NULL,
  sms         INTEGER NOT NULL,
  active_sum  REAL NOT NULL,               -- SM cycles
  active_min  REAL NOT NULL,
  active_max  REAL NOT NULL,
  elapsed     REAL NOT NULL,
  warps_avg   REAL NOT NULL,
  tensor_avg  REAL,                        -- elapsed cycles x the share of the tensor pipe's peak
  dram_bytes  REAL,
  PRIMARY KEY (process_id, launch_seq)
) STRICT, WITHOUT ROWID;

-- Per process that was asked to profile. launches = stored + dropped, once it has ended.
CREATE TABLE IF NOT EXISTS profile_count (
  process_id INTEGER PRIMARY KEY,
  state      INTEGER NOT NULL,             -- enum wt_profile_state
  detail     INTEGER NOT NULL,             -- CUPTI's code that goes with it
  launches   INTEGER NOT NULL,             -- profiled
  stored     INTEGER NOT NULL,             -- rows of profile_launch
  dropped    INTEGER NOT NULL,             -- the ring had no room
  cost_ns    INTEGER NOT NULL              -- that the application waited
) STRICT;

-- What wavetap itself took in a process, as it measured it there: doc/run-file.md. One hooked call in 256 is
-- timed; long: over 1.05 ms, its thread was off its CPU. Sums of timed ones are without long ones.
CREATE TABLE IF NOT EXISTS own_cost (
  process_id       INTEGER PRIMARY KEY,
  launches_timed   INTEGER NOT NULL,       -- launches and graph launches, long ones too
  launches_long    INTEGER NOT NULL,
  hook_p50_ns      INTEGER,                -- of timed launches; NULL: fewer than 10
  hook_p99_ns      INTEGER,                -- NULL: fewer than 100
  launches_timed_ns INTEGER NOT NULL,      -- sum over those that are not long
  calls_timed      INTEGER NOT NULL,       -- other hooked calls
  calls_timed_ns   INTEGER NOT NULL,
  long_ns          INTEGER NOT NULL,       -- of all long ones
  start_ns         INTEGER NOT NULL,       -- that the first launch waited while recording was set up
  threads          INTEGER NOT NULL,       -- with a timed launch
  thread_ns        INTEGER NOT NULL,       -- from the first to the last timed launch of each, summed
  cupti_callbacks  INTEGER NOT NULL,       -- buffers asked for and handed over; their time: proc
  app_callback_ns  INTEGER NOT NULL,       -- in them, of the application's own profiler: not ours
  cupti_bytes      INTEGER NOT NULL,       -- of CUPTI's records
  bytes_written    INTEGER NOT NULL,       -- into shared memory
  budget_ppm       INTEGER NOT NULL,       -- WAVETAP_BUDGET, millionths of wall time; 0: none
  budget_state     INTEGER NOT NULL,       -- enum wt_budget_state
  budget_stepped_ns INTEGER,               -- kernels are not observed from here on; NULL: they are
  budget_cost_ppm  INTEGER NOT NULL        -- what was measured then
) STRICT;

-- How long the hooks of timed launches took.
CREATE TABLE IF NOT EXISTS hook_time (
  process_id INTEGER NOT NULL,
  low_ns     INTEGER NOT NULL,
  high_ns    INTEGER,                      -- NULL: no bound
  launches   INTEGER NOT NULL,
  PRIMARY KEY (process_id, low_ns)
) STRICT, WITHOUT ROWID;

-- Graph launches of a process that CUPTI did not record: how many kernels they ran is in no count. No row: 0.
CREATE TABLE IF NOT EXISTS graph_unobserved (
  process_id INTEGER PRIMARY KEY,
  launches   INTEGER NOT NULL
) STRICT;

-- Of a run that `wavetap merge` made: the runs it is made of, and what their clocks were moved by.
--   time here = t + offset_ns + drift x (t - middle_ns)
CREATE TABLE IF NOT EXISTS merge_source (
  source_id     INTEGER PRIMARY KEY,
  run_id        TEXT NOT NULL,
  name          TEXT NOT NULL,             -- '': it had none
  hostname      TEXT NOT NULL,
  first_process INTEGER NOT NULL,          -- process_id of its processes here
  last_process  INTEGER NOT NULL,
  clock         TEXT NOT NULL CHECK (clock IN ('reference', 'collectives', 'launches', 'same host',
                                               'as it was')),
  offset_ns     INTEGER NOT NULL,
  middle_ns     INTEGER NOT NULL,
  drift         REAL NOT NULL,             -- ns per ns
  error_ns      INTEGER,                   -- 95 of 100 ends of collectives, or launches, are within; NULL: not known
  limit_ns      INTEGER,                   -- it can't be off by more; NULL: not known
  events        INTEGER NOT NULL           -- collectives or launches that were set beside each other
) STRICT;

-- ------------------------------------------------------------------ views

-- Time without a kernel, by cause, as far as wavetapd has summed it: what `wavetap ledger` and `top` need of a
-- whole run. One row of ledger_mark: what the sums rest on, and from where on rows are not in them.
CREATE TABLE IF NOT EXISTS ledger_mark (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  from_ns        INTEGER,                  -- begin of the window; NULL: nothing is summed
  end_ns         INTEGER,                  -- its end, up to which also the last gaps are; NULL: they are not
  basis          INTEGER NOT NULL,         -- of what is not known gap by gap: another one, other sums
  is_late        INTEGER NOT NULL,         -- 1: something came of a time that was summed: of no use
  low_exec       INTEGER,                  -- kernels before are not needed any more
  seen_exec      INTEGER,                  -- highest ids that there were
  seen_call      INTEGER,
  seen_copy      INTEGER,
  seen_overhead  INTEGER,
  clock_id       INTEGER,                  -- of readings before that one
  clock_error_ns INTEGER NOT NULL,
  lead_ns        INTEGER NOT NULL,         -- by which a kernel started before its launch, at most
  copy_end_ns    INTEGER,                  -- last end of the copies seen
  capture_id     INTEGER                   -- call_id of the first capture that is open
) STRICT;

-- Where the sums of a device stand.
CREATE TABLE IF NOT EXISTS ledger_device (
  device_id       INTEGER PRIMARY KEY,
  position_ns     INTEGER,                 -- start and id of the last kernel in them
  position_exec   INTEGER,
  until_ns        INTEGER,                 -- all kernels that start before are in them
  last_end_ns     INTEGER,                 -- of the kernel that ended last; NULL: some run on beyond until_ns
  last_tag        INTEGER NOT NULL,        -- its graph launch
  kernels         INTEGER NOT NULL,
  kernels_refused INTEGER NOT NULL,        -- times that can't be
  low_call        INTEGER,                 -- rows before do not matter to what comes
  low_copy        INTEGER,
  low_overhead    INTEGER
) STRICT;

-- Gaps by the kernel that ended them: its process and configuration; 0: none came any more.
CREATE TABLE IF NOT EXISTS ledger_row (
  device_id  INTEGER NOT NULL,
  process_id INTEGER NOT NULL,
  config_id  INTEGER NOT NULL,
  gaps       INTEGER NOT NULL,
  short_gaps INTEGER NOT NULL,             -- of at most 1 ms
  last_ns    INTEGER,                      -- end of the last one
  PRIMARY KEY (device_id, process_id, config_id)
) STRICT, WITHOUT ROWID;

-- Their time; x SMs of the device: SM-time.
CREATE TABLE IF NOT EXISTS ledger_cause (
  device_id  INTEGER NOT NULL,
  process_id INTEGER NOT NULL,
  config_id  INTEGER NOT NULL,
  cause      TEXT NOT NULL,                -- as in `wavetap ledger`
  ns         INTEGER NOT NULL,
  short_ns   INTEGER NOT NULL,             -- of gaps of at most 1 ms
  PRIMARY KEY (device_id, process_id, config_id, cause)
) STRICT, WITHOUT ROWID;

-- What the next gaps need: the last launch into each stream, and waits since; graph launches that may have nodes
-- to come.
CREATE TABLE IF NOT EXISTS ledger_stream (
  process_id INTEGER NOT NULL,
  stream     INTEGER NOT NULL,             -- handle; of default streams one of the thread's own
  since_ns   INTEGER,
  wait_ns    INTEGER,
  PRIMARY KEY (process_id, stream)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS ledger_graph (
  process_id INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  entry_ns   INTEGER NOT NULL,
  return_ns  INTEGER NOT NULL,
  stream     INTEGER NOT NULL,
  thread32   INTEGER NOT NULL,
  api        INTEGER NOT NULL,
  PRIMARY KEY (process_id, seq)
) STRICT, WITHOUT ROWID;

-- Per process, in ns: estimates of all hooked calls from those timed. NULL: none was timed, or not known.
CREATE VIEW IF NOT EXISTS cost AS
SELECT p.process_id, p.pid, p.launches_attempted + p.graph_launches_attempted AS launches,
       c.launches_timed, c.hook_p50_ns, c.hook_p99_ns,
       CAST(round(1.0 * c.launches_timed_ns / nullif(c.launches_timed - c.launches_long, 0)
            * (p.launches_attempted + p.graph_launches_attempted)) AS INTEGER) AS hook_launches_ns,
       256 * c.calls_timed_ns AS hook_calls_ns, p.cupti_callback_ns, p.flush_cpu_ns,
       c.start_ns, c.thread_ns, c.threads, p.last_ns - p.first_ns AS wall_ns, c.cupti_callbacks,
       c.app_callback_ns, c.cupti_bytes, c.bytes_written, nullif(c.budget_ppm, 0) / 1e4 AS budget_pct,
       c.budget_state, c.budget_stepped_ns,
       iif(c.budget_stepped_ns IS NULL, NULL, c.budget_cost_ppm / 1e4) AS budget_cost_pct
FROM proc p LEFT JOIN own_cost c USING (process_id);

CREATE VIEW IF NOT EXISTS sm_active AS
SELECT device_id, start_ns AS t0, end_ns AS t1, active_avg, active_min, active_max,
       'sampled' AS evidence, sampled_ns, samples
FROM sm_bucket;

CREATE VIEW process AS
SELECT process_id, pid, ppid, pid_namespace, uid, hostname, executable, command, rank, local_rank,
       world_size, state, created_ns, armed_ns, finished_ns, first_ns, last_ns,
       CASE capture WHEN 2 THEN 'full' WHEN 1 THEN 'hooks-only' WHEN 3 THEN 'off'
                    WHEN 4 THEN 'kernels-only' ELSE 'none' END
         AS capture,
       reason_text AS reason, reason_detail, library_version, cupti_version, cupti_path,
       driver_version, app_profiler_sessions, app_records_forwarded, flush_cpu_ns, cupti_callback_ns
FROM proc;

CREATE VIEW device AS
SELECT device_id, name, lower(hex(uuid)) AS uuid, cc_major, cc_minor, sm_count, max_threads_per_sm,
       max_blocks_per_sm, regs_per_sm, smem_per_sm_bytes, l2_bytes, clock_khz, mem_total_bytes,
       driver_version, pci
FROM gpu;

CREATE VIEW IF NOT EXISTS range AS
SELECT r.range_id, r.process_id, n.domain, n.name, CASE r.type WHEN 1 THEN 'push' ELSE 'start' END AS kind,
       r.tid, r.end_tid, r.start_ns, r.end_ns, r.end_ns - r.start_ns AS duration_ns, r.depth
FROM range_event r JOIN range_name n USING (name_id);

-- Kernels launched inside a range: by the entry of their launch call, or graph launch; for pushed
-- ranges by their own thread, for started ones by any. A row for each range around the call.
CREATE VIEW IF NOT EXISTS kernel_range AS
SELECT e.exec_id, r.range_id, r.depth, r.name_id, e.process_id
FROM range_event r
JOIN launch_call l ON l.process_id = r.process_id AND l.entry_ns >= r.start_ns
  AND (r.end_ns IS NULL OR l.entry_ns < r.end_ns) AND (r.type = 2 OR l.tid = r.tid)
JOIN kernel_exec e ON e.process_id = l.process_id AND e.launch_seq = l.seq AND e.graph_id IS NULL
UNION ALL
SELECT e.exec_id, r.range_id, r.depth, r.name_id, e.process_id
FROM range_event r
JOIN api_call a ON a.process_id = r.process_id AND a.seq IS NOT NULL AND a.entry_ns >= r.start_ns
  AND (r.end_ns IS NULL OR a.entry_ns < r.end_ns) AND (r.type = 2 OR a.tid = r.tid)
JOIN kernel_exec e ON e.process_id = a.process_id AND e.launch_seq = a.seq AND e.graph_id IS NOT NULL;

-- One row per kernel that ran, with its configuration and, where linked, its launch call.
CREATE VIEW launch AS
SELECT e.exec_id, e.process_id, c.device_id, c.kernel_id, c.config_id, k.name AS kernel,
       e.start_ns, e.end_ns, e.end_ns - e.start_ns AS duration_ns, e.context_id, e.stream_id,
       e.correlation_id, e.graph_id, e.graph_node_id, e.launch_seq, e.link,
       l.entry_ns, l.return_ns, l.tid, a.name AS api,
       c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z,
       c.cluster_x, c.cluster_y, c.cluster_z, c.regs_per_thread, c.static_smem_bytes,
       c.dynamic_smem_bytes, c.cooperative, c.sm_count, c.blocks, c.blocks_per_sm,
       c.resident_blocks, c.occupancy, c.limiter, c.waves, c.waves_sm,
       ifnull(s.underfill_sm_ns, e.underfill_sm_ns) AS underfill_sm_ns,
       iif(e.wave_sm_ns IS NULL, NULL, ifnull(s.wave_sm_ns, e.wave_sm_ns)) AS wave_sm_ns,
       iif(e.wave_sm_ns IS NULL, NULL, ifnull(s.wave_max_sm_ns, e.wave_max_sm_ns)) AS wave_max_sm_ns,
       CASE WHEN e.wave_sm_ns IS NULL THEN c.model_reason END AS unjudged_reason
FROM kernel_exec e
LEFT JOIN kernel_share s USING (exec_id)
JOIN config c USING (config_id)
JOIN kernel k USING (kernel_id)
LEFT JOIN launch_call l ON e.graph_id IS NULL AND l.process_id = e.process_id AND l.seq = e.launch_seq
LEFT JOIN api a ON a.api = l.api;

-- In-kernel idle SM-time per configuration: measured where `measured` stands before the model, of the
-- time in which its kernels had the device to themselves; else, and beside others, the model's.
--   kernel_sm_ns = active + underfill + wave + straggle + ramp + unjudged + comm
-- Shares of the device where kernels overlap: see `sweep`. Straggle and ramp are NULL where nothing
-- is measured. tail_idle = wave + straggle.
CREATE VIEW config_idle AS
WITH model AS (
  SELECT config_id, sum(launches) AS launches,
         sum(CASE WHEN in_graph THEN launches ELSE 0 END) AS launches_in_graph,
         sum(time_ns) AS time_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns,
         sum(underfill_sm_ns) AS underfill, sum(wave_sm_ns) AS wave, sum(wave_max_sm_ns) AS wave_max,
         sum(unjudged_sm_ns) AS unjudged, sum(comm_sm_ns) AS comm, min(first_ns) AS first_ns,
         max(last_ns) AS last_ns, sum(time_ns - beside_ns) AS alone_ns,
         sum(beside_active_sm_ns) AS beside_active, sum(beside_underfill_sm_ns) AS beside_underfill,
         sum(beside_wave_sm_ns) AS beside_wave, sum(beside_wave_max_sm_ns) AS beside_wave_max,
         sum(beside_unjudged_sm_ns) AS beside_unjudged
  FROM config_stat GROUP BY config_id),
-- The measurement that is used, and what else a measurement says.
best AS (
  SELECT config_id, max(2 * is_used + (evidence = 'sampled')), is_used, evidence, active_sms, active_error_sms, underfill_sms,
         wave_sms, wave_max_sms, straggle_sms, ramp_sms, disagrees, warps_per_sm, tensor_share,
         dram_bytes_per_ns, sm_clock_mhz, bound, wave_form, issue_share, bound_reason, class_wave_sms
  FROM (SELECT m.*, g.sm_count FROM measured m JOIN config USING (config_id) JOIN gpu g USING (device_id))
  WHERE is_used = 0 OR min(underfill_sms, wave_sms, wave_max_sms, straggle_sms, ramp_sms) >= 0
    AND max(wave_max_sms, underfill_sms + wave_sms + straggle_sms + ramp_sms) <= sm_count + 1e-6
  GROUP BY config_id),
joint AS (
  SELECT m.config_id, m.joint_active_sms / g.sm_count AS active_share
  FROM measured m JOIN config USING (config_id) JOIN gpu g USING (device_id)
  WHERE m.evidence = 'sampled' AND m.joint_active_sms BETWEEN 0 AND g.sm_count
    AND m.joint_error_sms <= 0.03 * g.sm_count),
-- In whole SM-nanoseconds: of the time alone, and of what is unjudged beside others.
part AS (
  SELECT m.*, g.sm_count AS device_sms, b.is_used = 1 AS is_used, j.active_share IS NOT NULL AS is_joint,
         CASE WHEN b.is_used = 1 THEN CAST(b.underfill_sms * alone_ns AS INTEGER)
              ELSE underfill - beside_underfill END AS alone_underfill,
         CASE WHEN b.is_used = 1 THEN CAST(b.wave_sms * alone_ns AS INTEGER)
              WHEN b.class_wave_sms IS NOT NULL AND c.model_reason IS NULL
              THEN CAST(b.class_wave_sms * alone_ns AS INTEGER)
              ELSE wave - beside_wave END AS alone_wave,
         CASE WHEN b.is_used = 1 THEN CAST(b.wave_max_sms * alone_ns AS INTEGER)
              ELSE wave_max - beside_wave_max END AS alone_wave_max,
         CASE WHEN b.is_used = 1 THEN CAST(b.straggle_sms * alone_ns AS INTEGER) ELSE 0 END
           AS alone_straggle,
         CASE WHEN b.is_used = 1 THEN CAST(b.ramp_sms * alone_ns AS INTEGER) END AS ramp,
         CASE WHEN b.is_used = 1 THEN 0 ELSE unjudged - beside_unjudged END AS alone_unjudged,
         CAST(j.active_share * beside_unjudged AS INTEGER) AS joint_active,
         b.evidence, b.active_error_sms, b.disagrees, b.warps_per_sm, b.tensor_share,
         b.dram_bytes_per_ns, b.sm_clock_mhz, b.bound, b.wave_form, b.issue_share, b.bound_reason
  FROM model m JOIN config c USING (config_id) JOIN gpu g USING (device_id)
  LEFT JOIN best b USING (config_id) LEFT JOIN joint j USING (config_id)),
whole AS (
  SELECT p.*, alone_underfill + beside_underfill AS underfill_sm_ns,
         alone_wave + beside_wave AS wave_sm_ns, alone_wave_max + beside_wave_max AS wave_max_sm_ns,
         CASE WHEN is_used OR is_joint
              THEN alone_straggle + CASE WHEN is_joint THEN beside_unjudged - joint_active ELSE 0 END
              END AS straggle_sm_ns,
         alone_unjudged + CASE WHEN is_joint THEN 0 ELSE beside_unjudged END AS unjudged_sm_ns,
         device_sms * alone_ns - alone_underfill - alone_wave - alone_straggle - ifnull(ramp, 0)
           - alone_unjudged + beside_active + ifnull(joint_active, 0) AS active_sm_ns
  FROM part p)
SELECT c.config_id, c.kernel_id, k.name AS kernel, c.device_id,
       c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z,
       c.cluster_x, c.cluster_y, c.cluster_z, c.regs_per_thread, c.static_smem_bytes,
       c.dynamic_smem_bytes, c.cooperative, c.sm_count, c.blocks, c.blocks_per_sm,
       c.resident_blocks, c.occupancy, c.limiter, c.waves, c.waves_sm, c.full_waves,
       c.last_wave_blocks, c.model_reason,
       w.launches, w.launches_in_graph, w.time_ns, w.min_ns, w.max_ns,
       w.time_ns / w.launches AS mean_ns, w.active_sm_ns, w.underfill_sm_ns, w.wave_sm_ns,
       w.wave_max_sm_ns, w.straggle_sm_ns, w.ramp AS ramp_sm_ns,
       w.wave_sm_ns + ifnull(w.straggle_sm_ns, 0) AS tail_idle_sm_ns,
       w.underfill_sm_ns + w.wave_sm_ns + ifnull(w.straggle_sm_ns, 0) + ifnull(w.ramp, 0)
         AS idle_sm_ns,
       w.unjudged_sm_ns,
       w.active_sm_ns + w.underfill_sm_ns + w.wave_sm_ns + ifnull(w.straggle_sm_ns, 0)
         + ifnull(w.ramp, 0) + w.unjudged_sm_ns + w.comm AS kernel_sm_ns,
       w.first_ns, w.last_ns, CASE WHEN w.is_used THEN w.evidence ELSE 'model' END AS evidence,
       w.comm AS comm_sm_ns,
       CASE WHEN w.is_used THEN w.device_sms * w.alone_ns ELSE 0 END
         + CASE WHEN w.is_joint THEN w.beside_unjudged ELSE 0 END AS measured_sm_ns,
       CASE WHEN w.is_used THEN CAST(w.active_error_sms * w.alone_ns AS INTEGER) END AS error_sm_ns,
       w.disagrees, w.warps_per_sm, w.tensor_share, w.dram_bytes_per_ns, w.sm_clock_mhz, w.bound,
       w.wave_form, w.alone_ns, w.underfill AS model_underfill_sm_ns, w.wave AS model_wave_sm_ns,
       w.wave_max AS model_wave_max_sm_ns, w.unjudged AS model_unjudged_sm_ns,
       w.issue_share, w.bound_reason
FROM whole w JOIN config c USING (config_id) JOIN kernel k USING (kernel_id);

CREATE VIEW kernel_idle AS
SELECT kernel_id, kernel, sum(launches) AS launches, sum(launches_in_graph) AS launches_in_graph,
       count(*) AS configs, sum(time_ns) AS time_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns,
       sum(time_ns) / sum(launches) AS mean_ns,
       CASE WHEN min(waves) = max(waves) AND count(waves) = count(*) THEN min(waves) END AS waves,
       sum(active_sm_ns) AS active_sm_ns,
       sum(underfill_sm_ns) AS underfill_sm_ns, sum(wave_sm_ns) AS wave_sm_ns,
       sum(wave_max_sm_ns) AS wave_max_sm_ns, sum(straggle_sm_ns) AS straggle_sm_ns,
       sum(ramp_sm_ns) AS ramp_sm_ns,
       sum(tail_idle_sm_ns) AS tail_idle_sm_ns, sum(idle_sm_ns) AS idle_sm_ns,
       sum(unjudged_sm_ns) AS unjudged_sm_ns, sum(kernel_sm_ns) AS kernel_sm_ns,
       min(first_ns) AS first_ns, max(last_ns) AS last_ns,
       CASE WHEN min(evidence) = max(evidence) THEN min(evidence) ELSE 'mixed' END AS evidence,
       sum(comm_sm_ns) AS comm_sm_ns, sum(measured_sm_ns) AS measured_sm_ns,
       max(disagrees) AS disagrees
FROM config_idle GROUP BY kernel_id;

-- What was seen, what was stored, what was lost and why. For every process:
--   launches_attempted = launches_stored + launches_dropped + launches_torn  (once it has ended)
--   launches_stored = failed + captured + linked + unobserved + in_flight + unlinked
--   kernels = kernels_graph + kernels_device + kernels_linked + kernels_cupti_only + kernels_waiting
-- unexplained: what no counter accounts for; 0 is the aim.
CREATE VIEW loss AS
SELECT process_id, pid, state,
       launches_attempted, launches_stored, launches_dropped,
       launches_attempted - launches_stored - launches_dropped AS launches_torn,
       launches_failed, launches_captured,
       launches_linked + launches_linked_by_order AS launches_linked, launches_linked_by_order,
       launches_unobserved,
       launches_stored - launches_failed - launches_captured - launches_linked
         - launches_linked_by_order - launches_unobserved - launches_unlinked AS launches_in_flight,
       launches_unlinked,
       graph_launches_attempted AS graph_launches, graph_launches_failed,
       kernels_stored AS kernels, kernels_graph, kernels_device,
       launches_linked + launches_linked_by_order AS kernels_linked, kernels_cupti_only,
       kernels_no_time, kernels_dropped_ring, kernels_dropped_cupti, links_dropped_ring,
       kernels_seen - kernels_stored - kernels_dropped_ring AS kernels_torn,
       calls_dropped, other_dropped_ring, cells_torn, cells_bad, cells_gap, records_unknown,
       names_dropped, entries_unknown,
       max(0, launches_unlinked - kernels_dropped_ring - kernels_dropped_cupti - cells_torn - cells_gap)
         + max(0, CASE capture WHEN 4 THEN 0 ELSE kernels_cupti_only END -- 4: no hook was there
                  - max(0, launches_attempted - launches_stored) - cells_gap
                  -- A process that ends with threads inside the driver: their kernels ran, the hook
                  -- never got to count the calls. One for each thread at most, less the one that
                  -- called exit; the threads are counted only where there is something to explain.
                  - CASE WHEN state <> 'live' AND kernels_cupti_only > launches_attempted - launches_stored
                    THEN (SELECT max(0, count(*) - (proc.state = 'finished'))
                          FROM (SELECT thread32 FROM launch_call l WHERE l.process_id = proc.process_id
                                UNION SELECT thread32 FROM dropped_thread d WHERE d.process_id = proc.process_id))
                    ELSE 0 END)
         AS unexplained
FROM proc;

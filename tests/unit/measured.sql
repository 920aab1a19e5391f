-- measured.sql - puts measurements into the run of `make_run FILE full`: 4 SMs, ten seconds from
-- t = 1,000 s, kernels in [0,2) [1,3) [4,6) [6,7) [9,10) s. test_measured_readers.sh works the sums out by hand.

-- A sampler from 1,000 to 1,008 s by its own clock, which is 1 ms behind: 8 of the 10 seconds.
INSERT INTO sampler VALUES (1, x'01', 1, 4242, 2, NULL, 50000, 1000000000000, 1008000000000, 160000, 160000, 0, 0,
  2500000000, 0);
INSERT INTO fold VALUES (1, 1008000000000, 1000000.0, 120.0, 0.0004, 159000, 1000, 20000000000, 19900000000, NULL);
-- A bucket each second: SMs active of 4, 2 4 2 0 2.5 2.5 2.5 0; the last one without warps, tensor and DRAM.
WITH b (i, a, lo, hi) AS (VALUES (0, 0.5, 0.0, 1.0), (1, 1.0, 1.0, 1.0), (2, 0.5, 0.25, 0.75), (3, 0.0, 0.0, 0.0),
  (4, 0.625, 0.5, 1.0), (5, 0.625, 0.5, 0.75), (6, 0.625, 0.5, 0.75), (7, 0.0, 0.0, 0.0))
INSERT INTO sm_bucket SELECT 1, 1000000000000 + i * 1000000000, 1001000000000 + i * 1000000000, 1000000000, 20000, a, lo, hi,
  iif(i = 7, NULL, a * 32), iif(i = 7, NULL, a / 5), iif(i = 7, NULL, 2000000000000), iif(i = 7, NULL, 1000000000000),
  iif(i = 4, 1200.0, 1800.0), NULL, NULL, NULL, NULL FROM b;
-- NVML: in the fifth second the power limit holds the clock down, and a stranger is there.
INSERT INTO gpu_state VALUES (1, 1000000000000, 0, 1800, 2600, 300000, 50, 0, NULL),
  (1, 1004000000000, 4, 1200, 2600, 700000, 71, 1, 777), (1, 1005000000000, 1, 1800, 2600, 300000, 60, 0, NULL);

-- Configuration 1 (kernel "half"): as the model has it. 2 ("tail", 6 blocks): sampled and profiled, which disagree;
-- straggle. 3: too few. 4 ("evil", not judged): measured after all, bound by memory.
INSERT INTO measured VALUES
  (1, 'sampled', 1, NULL, 2, 4000000000, 2.0, 0.02, 2.0, 0.0, 0.0, 0.0, 0.0, 0, 16.0, 0.0, 900.0, 1800.0, 'compute', 'shared',
    0, NULL, NULL, 0.9, NULL, 0.0),
  (2, 'sampled', 0, NULL, 1, 2000000000, 2.9, 0.05, 0.0, 1.0, 2.0, 0.1, 0.0, 1, 20.0, 0.125, 1500.0, 1790.0, 'latency',
    'independent', 0, NULL, NULL, 0.07, NULL, 1.0),
  (2, 'profiled', 1, NULL, 3, 6000000000, 2.5, 0.01, 0.0, 1.0, 2.0, 0.45, 0.05, 1, 20.5, 0.13, NULL, 1795.0, 'latency',
    'independent', 0, NULL, NULL, NULL, NULL, 1.0),
  (3, 'sampled', 0, 'too few launches: the error is larger than a tenth of the SMs', 1, 1000000000, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 500000000, 3.5, 0.1, NULL,
    'its shares are within their errors of a limit', NULL),
  (4, 'sampled', 1, NULL, 1, 1000000000, 3.2, 0.04, 0.0, 0.0, 0.0, 0.8, 0.0, 0, 24.0, 0.0, 4000.0, 1800.0, 'memory', 'jitter',
    0, NULL, NULL, 0.1, NULL, 0.0);
INSERT INTO measured_profile VALUES (2, 0, 4.0, 0.1), (2, 1, 4.0, 0.1), (2, 2, 2.0, 0.05), (2, 3, 1.6, 1.0), (4, 0, 3.2, 0.04);

-- A launch of configuration 2 under the profiler: 9,000 SM cycles of 4 x 4,000, at least 1,000 and at most 4,000 an SM.
UPDATE kernel_exec SET launch_seq = 50 WHERE config_id = 2;
INSERT INTO profile_launch VALUES (1, 50, 1, 1004000000000, 1006000000000, 12000000, 1, 4, 9000, 1000, 4000, 4000, 20.5, NULL,
  NULL);

/*
 * bounds.h - what measured numbers of a run file can be at most. `wavetap check` tells of rows beyond,
 * readers take them for damaged. Generous: no GPU and no error of a measurement comes near. No code.
 */
#ifndef WT_CLI_BOUNDS_H
#define WT_CLI_BOUNDS_H

#define WT_BOUND_SHARE 1.5 /* of time x SMs, or of a peak */
#define WT_BOUND_WARPS_PER_SM 256.0
#define WT_BOUND_DRAM_BYTES_PER_NS 1e5
#define WT_BOUND_SM_CLOCK_MHZ 1e5
#define WT_BOUND_TIME_NS 4e18 /* of all kernels of a configuration */
#define WT_BOUND_SMS (1 + 1e-6) /* times the SMs: what is at most all of them */
#define WT_BOUND_BIN 3.0 /* times the SMs: a bin of a profile swings over by its error */
#define WT_BOUND_ERRORS 1e3 /* times the SMs: of joint times and bins a poor one is kept */
#define WT_BOUND_OFFSET_NS 1e9 /* of two clocks that are nearly the same */

/*
 * Own cost, as SQL: what can't be of a row `c` of own_cost and the process `p`; of a row `h` of hook_time.
 * A hook that is not long takes less than WT_COST_LONG_NS. Times go by wall time, a day allowed for clocks
 * that were set.
 */
#define WT_BOUND_LONG_NS "1048576" /* WT_COST_LONG_NS */
#define WT_BOUND_WALL "(max(0, ifnull(p.last_ns - p.first_ns, 0)) + 86400000000000)"
#define WT_BOUND_NO_OWN_COST                                                                       \
	"(c.launches_timed NOT BETWEEN 0 AND p.launches_attempted + p.graph_launches_attempted + " \
	"1000 OR c.launches_long NOT BETWEEN 0 AND c.launches_timed"                               \
	" OR c.hook_p50_ns NOT BETWEEN 0 AND " WT_BOUND_LONG_NS                                    \
	" OR c.hook_p99_ns NOT BETWEEN ifnull(c.hook_p50_ns, 0) AND " WT_BOUND_LONG_NS             \
	" OR c.launches_timed_ns NOT BETWEEN 0 AND (c.launches_timed - c.launches_long) "          \
	"* " WT_BOUND_LONG_NS " OR c.calls_timed NOT BETWEEN 0 AND 1e15"                           \
	" OR c.calls_timed_ns NOT BETWEEN 0 AND c.calls_timed * " WT_BOUND_LONG_NS                 \
	" OR c.long_ns NOT BETWEEN 0 AND (c.launches_timed + c.calls_timed) * " WT_BOUND_WALL      \
	" OR c.start_ns NOT BETWEEN 0 AND " WT_BOUND_WALL                                          \
	" OR c.threads NOT BETWEEN 0 AND c.launches_timed"                                         \
	" OR c.thread_ns NOT BETWEEN 0 AND c.threads * " WT_BOUND_WALL                             \
	" OR c.cupti_callbacks NOT BETWEEN 0 AND 1e15"                                             \
	" OR c.app_callback_ns NOT BETWEEN 0 AND 1000 * " WT_BOUND_WALL                            \
	" OR p.cupti_callback_ns NOT BETWEEN 0 AND 1000 * " WT_BOUND_WALL                          \
	" OR p.flush_cpu_ns NOT BETWEEN 0 AND 2 * " WT_BOUND_WALL                                  \
	" OR c.cupti_bytes NOT BETWEEN 0 AND 1e17 OR c.bytes_written NOT BETWEEN 0 AND 1e17"       \
	" OR c.budget_ppm NOT BETWEEN 0 AND 1000000 OR c.budget_cost_ppm NOT BETWEEN 0 AND 1e9"    \
	" OR c.budget_stepped_ns NOT BETWEEN ifnull(p.first_ns, 0) - 86400000000000 AND "          \
	"ifnull(p.last_ns, 4e18) + 86400000000000)"
#define WT_BOUND_NO_HOOK_TIME                                                                      \
	"(h.low_ns NOT BETWEEN 0 AND " WT_BOUND_LONG_NS " OR h.launches NOT BETWEEN 0 AND 1e15"    \
	" OR (h.high_ns IS NULL) <> (h.low_ns = " WT_BOUND_LONG_NS ")"                             \
	" OR h.high_ns NOT BETWEEN h.low_ns + 1 AND " WT_BOUND_LONG_NS ")"

#endif /* WT_CLI_BOUNDS_H */

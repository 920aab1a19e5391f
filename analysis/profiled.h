/*
 * profiled.h - active SMs of a configuration from launches under the range profiler.
 *
 * PROFILED. CUPTI gives kernel records of launches under the profiler no times (H200, CUDA 13). Active SMs are
 * active_sum / T, T the cycles that a launch takes. Of T two things are known:
 *
 *   in line   f x D: D the mean duration of the configuration's launches that have times (config_stat), f the
 *             device's greatest SM clock, which a kernel that runs alone every 12 ms has (H200: 29,186,396
 *             cycles at 1.98 GHz are 14,741 SM-us, truth 14,740)
 *   alone     `elapsed` less the pad, by which counters run longer than the kernel: the median of
 *             elapsed - f x D, 0.9 us (H200), short kernels weighing most
 *
 * Where both agree within SLACK_CYCLES, T is the first, which is exact to 0.3 %. Else T is the second, but
 * for so many: such a launch took fewer cycles alone than in line. In a training (H200, RESULTS.md) because
 * the SM clock is lower there (matrix products under the power limit: 1.64 to 1.90 GHz; cycles are the same),
 * or because memory is slower behind another kernel; then the share of its own time is what samples say.
 * But up to LEAD_NS of the time in line may be before the first block, with no SM active: that is in the error.
 * Where the pad is none, the clock was another: f is the slope of `elapsed` over D, T is f x D.
 *
 * ERROR, 95 of 100, in squares: the spread of the share over the launches (without a pad, and of D); what f
 * may be off; PROFILED_EDGE_NS of D; by what in line and alone part, if within the slack, and the lead. At least 0.3 %.
 *
 * Pure. `struct wt_profiled_sums` zeroed = nothing yet.
 */
#ifndef WT_PROFILED_H
#define WT_PROFILED_H

#include <stddef.h>
#include <stdint.h>

/* Sums over the launches of a configuration: those under the profiler, and those with times. */
struct wt_profiled_sums {
	int64_t launches;
	double active, active2, elapsed, elapsed2, active_elapsed; /* cycles */
	double timed, time_ns, time2_ns2;
};

/* A launch: its SM cycles, and the cycles that went by. */
void wt_profiled_add(struct wt_profiled_sums *sums, double active_sum, double elapsed);

/* Launches with times, of one process: Welford's sum of squares. */
void wt_profiled_add_times(struct wt_profiled_sums *sums, int64_t launches, int64_t time_ns,
                           double m2_ns2);

/* Mean of the launches with times; 0: there is none. */
double wt_profiled_duration_ns(const struct wt_profiled_sums *sums);

/*
 * SM cycles per ns while launches of a device were profiled, the share that it may be off, and by how many
 * cycles `elapsed` exceeds a kernel's.
 */
struct wt_profiled_clock {
	double cycles_per_ns, error, pad_cycles; /* 0: not known */
};

/* Mean duration, mean of `elapsed`, and launches of a configuration. */
struct wt_profiled_point {
	double x, y, launches;
};

/* Of all configurations of a device, in any order, which is changed; `most`: its greatest clock, 0 = not known. */
struct wt_profiled_clock wt_profiled_clock_of(struct wt_profiled_point *points, size_t count,
                                              double most);

struct wt_profiled_result {
	double cycles; /* of a launch; 0: not known, nor is the rest */
	double active_sms, error_sms;
};

struct wt_profiled_result wt_profiled_result_of(const struct wt_profiled_sums *sums,
                                                const struct wt_profiled_clock *clock);

#endif /* WT_PROFILED_H */

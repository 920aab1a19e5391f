/*
 * evidence.h - model, sampled, profiled: which one a number comes from, and how measured idle time
 * is split into underfill, wave, straggle and ramp. The only place with such rules.
 *
 * RULES
 * 1. A measurement stands before the model where its error is at most WT_EVIDENCE_ERROR_MAX of the
 *    SMs, and it saw the kernel by itself. Of two, the one with the smaller error; profiled when they
 *    are equal. The other one is kept and compared.
 * 2. Of measured idle SMs (S - active), in this order, each at most what is left:
 *      underfill  as the model: S less the SMs in reach of the grid
 *      ramp       launch and drain inside the recorded interval: a time of the device type, see
 *                 wt_evidence_ramp_ns(), on the SMs in reach. Not known for a device: 0, in straggle
 *      wave       the model's form for the kernel's class: compute -> shared, memory -> the greatest
 *                 of independent and jitter, latency -> independent; class not known: the least form.
 *                 Of the time that the ramp leaves, for in it no block runs. Where the model judges
 *                 nothing (persistent, cooperative): 0
 *      straggle   the rest
 * 3. Model and measurement disagree where the model's active SMs, taken between wave and wave_max,
 *    with ramp, lie outside active +- error; two measurements where they differ by more than both
 *    errors together. Disagreement is shown, not averaged.
 * 4. Kernels beside each other: the joint active SMs stand for the unjudged time of each; SMs idle
 *    meanwhile are straggle, since no geometry says whose they are.
 * 5. While only collectives run, measured or not, the SMs they leave are `comm`, and nothing measured is taken
 *    for a collective's idle time, beside others either: the model stands.
 * 6. A measurement too coarse for rule 1, or for any number, may still tell the class: the model then
 *    has its form. The class is that of all values within the errors of the shares, or not known.
 *
 * Rates are mean SMs over the kernel's duration, so that any number of launches has rate x time.
 * Pure; any thread.
 */
#ifndef WT_EVIDENCE_H
#define WT_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/wave.h"

enum wt_evidence { WT_EVIDENCE_MODEL, WT_EVIDENCE_SAMPLED, WT_EVIDENCE_PROFILED, WT_EVIDENCE_MAX };

/* "model", "sampled", "profiled": static text, as in run files and JSON. */
const char *wt_evidence_name(enum wt_evidence evidence);

#define WT_EVIDENCE_ERROR_MAX 0.03

enum wt_bound { WT_BOUND_UNKNOWN, WT_BOUND_COMPUTE, WT_BOUND_MEMORY, WT_BOUND_LATENCY };

/* "compute", "memory", "latency"; NULL: unknown. */
const char *wt_bound_name(enum wt_bound bound);

/* Instructions of warps that an SM issues in a cycle: each of its four schedulers one (Volta and later). */
#define WT_EVIDENCE_ISSUE_SLOTS 4

/*
 * From shares of the peak while the kernel runs, of SMs that are active; each < 0: not known.
 *   tensor_share       of the active SM-time in which the tensor pipe worked
 *   dram_share         of the device's peak bandwidth
 *   issue_share        of issue slots
 * As in a roofline, but with ceilings that real kernels reach: from 0.5 of the tensor pipe or 0.6 of
 * the issue slots on it is compute, from 0.6 of DRAM memory (Nsight Compute's rule for the speed of
 * light takes 0.6 of either for the same); both: the one that is further beyond its own. Latency only if
 * all three are known and low: kernels bound by FMA use neither DRAM nor tensor cores, and their wave is
 * not that of a latency-bound one (0.32 of S * T where it would say 0.48). For issue slots low is under
 * 0.3: pipes of half rate (int32 and FP64: 64 a cycle and SM of capability 9.0, CUDA C++ Programming
 * Guide, "Arithmetic Instructions") are at 0.6 of their peak there. In between it is not known. Narrower
 * ones (special functions: an eighth), shared memory and L2 are not sampled: what they bound reads latency.
 */
enum wt_bound wt_evidence_bound(double tensor_share, double dram_share, double issue_share);

/* A share that lies somewhere in it; least < 0: not known. */
struct wt_evidence_range {
	double least, most;
};

struct wt_evidence_pipes {
	struct wt_evidence_range tensor, dram, issue;
};

/* From a value and its error (< 0: not known); never below 0. */
struct wt_evidence_range wt_evidence_within(double value, double error);

/* A share of all SMs' time, of that of the active ones alone: active_sms +- error_sms of sms. */
struct wt_evidence_range wt_evidence_of_active(struct wt_evidence_range share, double active_sms,
                                               double error_sms, double sms);

/*
 * The class if it is the same for all values within the ranges. *ret_reason: why it is not known, static
 * text; NULL: it is.
 */
enum wt_bound wt_evidence_class(const struct wt_evidence_pipes *pipes, const char **ret_reason);

/* Peak DRAM bytes per ns from clock and bus width; 0: not known. */
double wt_evidence_dram_peak(int64_t mem_clock_khz, int64_t mem_bus_bits);

/* By which recorded intervals exceed first block to last block, ns; 0: not measured for it. */
double wt_evidence_ramp_ns(int32_t cc_major, int32_t cc_minor);

struct wt_evidence_measured {
	enum wt_evidence evidence;
	double active_sms, error_sms;
	enum wt_bound bound;
};

/* Mean SMs over the duration of the kernel. */
struct wt_evidence_rates {
	double active_sms, underfill_sms, wave_sms, wave_max_sms, straggle_sms, ramp_sms;
	double unjudged_sms; /* model alone */
	enum wt_wave_form form; /* with has_form: that stands for the wave */
	bool has_form;
	bool disagrees; /* with the model */
};

/*
 * `model` is the result for one launch of mean duration duration_ns on device_sms. Without a
 * measurement (NULL, or WT_EVIDENCE_MODEL, of which only `bound` is read) the rates are the model's.
 * Their sum, without wave_max_sms, is device_sms in either case; none is negative. No time or no SMs:
 * all 0.
 */
void wt_evidence_split(const struct wt_wave_result *model, int64_t duration_ns, int32_t device_sms,
                       double ramp_ns, const struct wt_evidence_measured *measured,
                       struct wt_evidence_rates *ret_rates);

/*
 * Does `measured` stand before the model? And of two, which; either may be NULL. Returns the one that
 * is used, or NULL: the model. What is no number, or not of this device, counts for nothing. *ret_disagree: the two differ by more than their errors.
 */
const struct wt_evidence_measured *wt_evidence_choose(const struct wt_evidence_measured *sampled,
                                                      const struct wt_evidence_measured *profiled,
                                                      int32_t device_sms, bool *ret_disagree);

#endif /* WT_EVIDENCE_H */

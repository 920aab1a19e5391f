/*
 * measure.h - a measurement in place of the model: shares of the sweep, or sums of them, with what was
 * measured of their configuration.
 *
 * Rates are mean SMs while a kernel has the device to itself; SM-time is rate x time alone, in whole
 * SM-nanoseconds. What is given goes by running totals per configuration: in whatever parts and
 * order its time comes, all parts together have (int64_t)(rate * time), the same number that SQL has
 * from the views of a run file. So rows sum to the ledger, to the last SM-nanosecond.
 *
 * Pure; one thread per wt_measure.
 */
#ifndef WT_MEASURE_H
#define WT_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/derive.h"
#include "analysis/evidence.h"
#include "analysis/sweep.h"

/* Of one configuration. */
struct wt_measure {
	enum wt_evidence evidence; /* of the time alone; WT_EVIDENCE_MODEL: nothing was measured */
	bool has_class_wave; /* then wave_sms may be the model's, of the class that a measurement tells */
	bool is_joint; /* joint_share stands for what is unjudged beside others */
	int32_t device_sms;
	double underfill_sms, wave_sms, wave_max_sms, straggle_sms, ramp_sms;
	double joint_share; /* of the device, active meanwhile */
	/* What has been given so far. */
	int64_t alone_ns, beside_unjudged_sm_ns;
};

/* Can it be? A damaged file may say anything. */
bool wt_measure_is_valid(const struct wt_measure *measure);

/*
 * The next part: `share` is the model's, of which `beside` was beside others, and becomes what is
 * known. ret_measured[WT_EVIDENCE_SAMPLED] and [WT_EVIDENCE_PROFILED]: what of it is measured so, the
 * rest being the model's; both are set.
 */
void wt_measure_apply(struct wt_measure *measure, const struct wt_beside *beside,
                      struct wt_sweep_share *share,
                      struct wt_sweep_share ret_measured[WT_EVIDENCE_MAX]);

/* The SM-time of a share: all of its parts. */
int64_t wt_measure_sm_ns(const struct wt_sweep_share *share);

#endif /* WT_MEASURE_H */

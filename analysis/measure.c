/*
 * measure.c - see measure.h. Pure: any thread, never blocks.
 */
#include "analysis/measure.h"

#include <math.h>
#include <string.h>

bool wt_measure_is_valid(const struct wt_measure *measure)
{
	const double rates[] = {measure->underfill_sms, measure->wave_sms, measure->wave_max_sms,
	                        measure->straggle_sms,  measure->ramp_sms, measure->joint_share};
	double idle = measure->underfill_sms + measure->wave_sms + measure->straggle_sms +
	              measure->ramp_sms;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (!(rates[i] >= 0) || !isfinite(rates[i]))
			return false;
	return measure->device_sms > 0 && measure->joint_share <= 1 &&
	       measure->wave_max_sms <= (double)measure->device_sms &&
	       idle <= (double)measure->device_sms + 1e-6;
}

/* What the part from `before` to `before + more` has of a running total. */
static int64_t part(double rate, int64_t before, int64_t more)
{
	return (int64_t)(rate * (double)(before + more)) - (int64_t)(rate * (double)before);
}

static void apply_alone(const struct wt_measure *m, const struct wt_beside *beside,
                        struct wt_sweep_share *share, struct wt_sweep_share *measured)
{
	int64_t time_ns = share->alone_ns, at = m->alone_ns;

	measured->underfill_sm_ns = part(m->underfill_sms, at, time_ns);
	measured->wave_sm_ns = part(m->wave_sms, at, time_ns);
	measured->wave_max_sm_ns = part(m->wave_max_sms, at, time_ns);
	measured->straggle_sm_ns = part(m->straggle_sms, at, time_ns);
	measured->ramp_sm_ns = part(m->ramp_sms, at, time_ns);
	measured->active_sm_ns = m->device_sms * time_ns - measured->underfill_sm_ns -
	                         measured->wave_sm_ns - measured->straggle_sm_ns -
	                         measured->ramp_sm_ns;
	measured->alone_ns = time_ns;
	measured->alone_wave_sm_ns = measured->wave_sm_ns;
	measured->alone_wave_max_sm_ns = measured->wave_max_sm_ns;
	share->active_sm_ns = beside->active_sm_ns + measured->active_sm_ns;
	share->underfill_sm_ns = beside->underfill_sm_ns + measured->underfill_sm_ns;
	share->wave_sm_ns = beside->wave_sm_ns + measured->wave_sm_ns;
	share->wave_max_sm_ns = beside->wave_max_sm_ns + measured->wave_max_sm_ns;
	share->alone_wave_sm_ns = measured->wave_sm_ns;
	share->alone_wave_max_sm_ns = measured->wave_max_sm_ns;
	share->straggle_sm_ns = measured->straggle_sm_ns;
	share->ramp_sm_ns = measured->ramp_sm_ns;
	share->unjudged_sm_ns = beside->unjudged_sm_ns;
}

static void apply_class(const struct wt_measure *m, struct wt_sweep_share *share)
{
	int64_t more = part(m->wave_sms, m->alone_ns, share->alone_ns) - share->alone_wave_sm_ns;

	share->wave_sm_ns += more;
	share->alone_wave_sm_ns += more;
	share->active_sm_ns -= more;
}

static void apply_joint(const struct wt_measure *m, int64_t unjudged_sm_ns,
                        struct wt_sweep_share *share, struct wt_sweep_share *measured)
{
	int64_t active_sm_ns = part(m->joint_share, m->beside_unjudged_sm_ns, unjudged_sm_ns);

	share->unjudged_sm_ns -= unjudged_sm_ns;
	share->active_sm_ns += active_sm_ns;
	share->straggle_sm_ns += unjudged_sm_ns - active_sm_ns;
	measured->active_sm_ns += active_sm_ns;
	measured->straggle_sm_ns += unjudged_sm_ns - active_sm_ns;
}

void wt_measure_apply(struct wt_measure *measure, const struct wt_beside *beside,
                      struct wt_sweep_share *share,
                      struct wt_sweep_share ret_measured[WT_EVIDENCE_MAX])
{
	int64_t alone_ns = share->alone_ns;

	memset(ret_measured, 0, WT_EVIDENCE_MAX * sizeof(*ret_measured));
	if (measure->evidence != WT_EVIDENCE_MODEL)
		apply_alone(measure, beside, share, &ret_measured[measure->evidence]);
	else if (measure->has_class_wave)
		apply_class(measure, share);
	if (measure->is_joint)
		apply_joint(measure, beside->unjudged_sm_ns, share,
		            &ret_measured[WT_EVIDENCE_SAMPLED]);
	measure->alone_ns += alone_ns;
	measure->beside_unjudged_sm_ns += beside->unjudged_sm_ns;
}

int64_t wt_measure_sm_ns(const struct wt_sweep_share *share)
{
	return share->active_sm_ns + share->underfill_sm_ns + share->wave_sm_ns +
	       share->straggle_sm_ns + share->ramp_sm_ns + share->unjudged_sm_ns +
	       share->comm_sm_ns;
}

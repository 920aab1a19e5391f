/*
 * evidence.c - see evidence.h. Pure: any thread, never blocks.
 */
#include "analysis/evidence.h"

#include <math.h>
#include <stddef.h>

/* Shares of a peak above which a kernel is bound by it: see wt_evidence_bound(). */
#define TENSOR_BOUND 0.5
#define DRAM_BOUND 0.6
#define ISSUE_BOUND 0.6
#define ISSUE_LOW 0.3

/* tests/gpu: intervals of one H200, first block to last block 0.6-0.7 us shorter on every launch. */
#define RAMP_9_0_NS 650.0

const char *wt_evidence_name(enum wt_evidence evidence)
{
	static const char *const names[WT_EVIDENCE_MAX] = {"model", "sampled", "profiled"};

	return evidence < WT_EVIDENCE_MAX ? names[evidence] : "model";
}

const char *wt_bound_name(enum wt_bound bound)
{
	static const char *const names[] = {NULL, "compute", "memory", "latency"};

	return bound <= WT_BOUND_LATENCY ? names[bound] : NULL;
}

enum wt_bound wt_evidence_bound(double tensor_share, double dram_share, double issue_share)
{
	double tensor = tensor_share / TENSOR_BOUND, dram = dram_share / DRAM_BOUND;
	double issue = issue_share / ISSUE_BOUND;
	double compute = fmax(tensor, issue);

	/* Nearest to its own roof. */
	if (dram >= 1.0 && dram >= compute)
		return WT_BOUND_MEMORY;
	if (compute >= 1.0)
		return WT_BOUND_COMPUTE;
	if (tensor_share >= 0.0 && dram_share >= 0.0 && issue_share >= 0.0 &&
	    issue_share < ISSUE_LOW)
		return WT_BOUND_LATENCY;
	return WT_BOUND_UNKNOWN;
}

struct wt_evidence_range wt_evidence_within(double value, double error)
{
	if (!(value >= 0.0) || !isfinite(value) || !(error >= 0.0))
		return (struct wt_evidence_range){-1.0, -1.0};
	return (struct wt_evidence_range){fmax(value - error, 0.0), value + error};
}

struct wt_evidence_range wt_evidence_of_active(struct wt_evidence_range share, double active_sms,
                                               double error_sms, double sms)
{
	double least = fmin(fmax(active_sms + error_sms, 0.0), sms);

	if (share.least < 0.0 || !(least > 0.0) || !(active_sms >= 0.0) || !(error_sms >= 0.0))
		return (struct wt_evidence_range){-1.0, -1.0};
	/* No share of what may be nothing: as large as any. */
	return (struct wt_evidence_range){
	        share.least * sms / least,
	        active_sms > error_sms ? share.most * sms / (active_sms - error_sms) : INFINITY};
}

/* Why it is not known where all of the range is alike. */
static const char *reason_of(const struct wt_evidence_pipes *pipes)
{
	if (pipes->tensor.least < 0.0 && pipes->dram.least < 0.0 && pipes->issue.least < 0.0)
		return "no sample of pipes and DRAM met it";
	if (pipes->tensor.least < 0.0)
		return "the tensor pipe was not sampled";
	if (pipes->dram.least < 0.0)
		return "DRAM was not sampled, or its peak is not known";
	if (pipes->issue.least < 0.0)
		return "issue slots were not sampled: arithmetic or latency";
	return "issue slots neither full nor free: a narrower pipe or latency";
}

static double end_of(struct wt_evidence_range range, int is_most)
{
	return is_most ? range.most : range.least;
}

/* The classes' borders run along the axes, but for that of the nearer roof, which a corner meets first. */
enum wt_bound wt_evidence_class(const struct wt_evidence_pipes *pipes, const char **ret_reason)
{
	enum wt_bound first =
	        wt_evidence_bound(pipes->tensor.least, pipes->dram.least, pipes->issue.least);

	for (int corner = 1; corner < 8; corner++) {
		enum wt_bound other = wt_evidence_bound(end_of(pipes->tensor, corner & 1),
		                                        end_of(pipes->dram, corner & 2),
		                                        end_of(pipes->issue, corner & 4));

		if (other != first) {
			*ret_reason = "its shares are within their errors of a limit";
			return WT_BOUND_UNKNOWN;
		}
	}
	*ret_reason = first == WT_BOUND_UNKNOWN ? reason_of(pipes) : NULL;
	return first;
}

double wt_evidence_dram_peak(int64_t mem_clock_khz, int64_t mem_bus_bits)
{
	if (mem_clock_khz <= 0 || mem_bus_bits <= 0)
		return 0.0;
	return 2.0 * ((double)mem_clock_khz * 1e-6) * ((double)mem_bus_bits / 8.0);
}

double wt_evidence_ramp_ns(int32_t cc_major, int32_t cc_minor)
{
	return cc_major == 9 && cc_minor == 0 ? RAMP_9_0_NS : 0.0;
}

/* The form that stands for the wave of a class; false: none, so the least. */
static bool form_of(const struct wt_wave_result *model, enum wt_bound bound,
                    enum wt_wave_form *ret_form)
{
	if (!model->is_judged)
		return false;
	switch (bound) {
	case WT_BOUND_COMPUTE:
		*ret_form = WT_WAVE_SHARED;
		return true;
	case WT_BOUND_LATENCY:
		*ret_form = WT_WAVE_INDEPENDENT;
		return true;
	case WT_BOUND_MEMORY:
		*ret_form =
		        model->form_sm_ns[WT_WAVE_JITTER] > model->form_sm_ns[WT_WAVE_INDEPENDENT]
		                ? WT_WAVE_JITTER
		                : WT_WAVE_INDEPENDENT;
		return true;
	case WT_BOUND_UNKNOWN:
		break;
	}
	return false;
}

/* What the geometry says of a launch, as mean SMs. */
struct shape {
	double sms; /* of the device */
	double underfill, wave, wave_max, wave_least, unjudged, ramp;
};

/* SMs of the device that the grid can't reach: those beyond its context, and the model's underfill. */
static double unreached_sms(const struct wt_wave_result *model, double duration_ns, double sms)
{
	double context_sms = sms;

	if (model->waves_sm > 0.0)
		context_sms = fmin(sms, nearbyint((double)model->grid_blocks / model->waves_sm));
	return fmin(sms, sms - context_sms + (double)model->underfill_sm_ns / duration_ns);
}

/* `busy` is the share of the duration in which blocks run: what the ramp leaves. */
static struct shape shape_of(const struct wt_wave_result *model, double duration_ns, double sms,
                             double ramp_ns, const enum wt_wave_form *form)
{
	struct shape shape = {.sms = sms, .underfill = unreached_sms(model, duration_ns, sms)};
	double reach = sms - shape.underfill;
	double busy = 1.0 - fmin(fmax(ramp_ns, 0.0) / duration_ns, 1.0);
	double scale = busy / duration_ns;

	shape.ramp = reach * (1.0 - busy);
	if (!model->is_judged) {
		shape.unjudged = reach;
		return shape;
	}
	shape.wave_least = fmin((double)model->wave_sm_ns * scale, reach * busy);
	shape.wave_max = fmin((double)model->wave_max_sm_ns * scale, reach * busy);
	shape.wave = form ? fmin((double)model->form_sm_ns[*form] * scale, reach * busy)
	                  : shape.wave_least;
	return shape;
}

static double take(double *left, double wanted)
{
	double taken = fmax(fmin(wanted, *left), 0.0);

	*left -= taken;
	return taken;
}

static void split_measured(const struct shape *shape, double active_sms,
                           struct wt_evidence_rates *rates)
{
	double left;

	rates->active_sms = fmin(fmax(active_sms, 0.0), shape->sms);
	left = shape->sms - rates->active_sms;
	rates->underfill_sms = take(&left, shape->underfill);
	rates->ramp_sms = take(&left, shape->ramp);
	rates->wave_max_sms = fmin(shape->wave_max, left);
	rates->wave_sms = take(&left, shape->wave);
	rates->straggle_sms = left;
}

/* Without a measurement. Here the ramp is not known of this kernel: it is in what counts as active. */
static void split_model(const struct shape *shape, struct wt_evidence_rates *rates)
{
	double left = shape->sms;

	rates->underfill_sms = take(&left, shape->underfill);
	rates->unjudged_sms = take(&left, shape->unjudged);
	rates->wave_max_sms = fmin(shape->wave_max, left);
	rates->wave_sms = take(&left, shape->wave);
	rates->active_sms = left;
}

static bool is_beyond(const struct shape *shape, double active_sms, double error_sms)
{
	double reach = shape->sms - shape->underfill - shape->ramp;
	double most = reach - shape->wave_least;
	double least = shape->unjudged > 0.0 ? 0.0 : reach - shape->wave_max;

	return most < active_sms - error_sms || least > active_sms + error_sms;
}

void wt_evidence_split(const struct wt_wave_result *model, int64_t duration_ns, int32_t device_sms,
                       double ramp_ns, const struct wt_evidence_measured *measured,
                       struct wt_evidence_rates *ret_rates)
{
	struct wt_evidence_rates rates = {0};
	enum wt_wave_form form = WT_WAVE_INDEPENDENT;
	bool is_measured = measured && measured->evidence != WT_EVIDENCE_MODEL;
	struct shape shape;

	*ret_rates = rates;
	if (duration_ns <= 0 || device_sms <= 0)
		return;
	if (measured)
		rates.has_form = form_of(model, measured->bound, &form);
	rates.form = form;
	shape = shape_of(model, (double)duration_ns, (double)device_sms,
	                 is_measured ? ramp_ns : 0.0, rates.has_form ? &form : NULL);
	if (is_measured) {
		split_measured(&shape, measured->active_sms, &rates);
		rates.disagrees = is_beyond(&shape, measured->active_sms, measured->error_sms);
	} else {
		split_model(&shape, &rates);
	}
	*ret_rates = rates;
}

/* Is it a number at all, of this device? */
static bool is_valid(const struct wt_evidence_measured *measured, int32_t device_sms)
{
	return measured && measured->evidence != WT_EVIDENCE_MODEL &&
	       isfinite(measured->active_sms) && isfinite(measured->error_sms) &&
	       measured->error_sms >= 0.0 && measured->active_sms >= -measured->error_sms &&
	       measured->active_sms <= (double)device_sms + measured->error_sms;
}

static bool is_close(const struct wt_evidence_measured *measured, int32_t device_sms)
{
	return measured->error_sms <= WT_EVIDENCE_ERROR_MAX * (double)device_sms;
}

const struct wt_evidence_measured *wt_evidence_choose(const struct wt_evidence_measured *sampled,
                                                      const struct wt_evidence_measured *profiled,
                                                      int32_t device_sms, bool *ret_disagree)
{
	const struct wt_evidence_measured *best = NULL;
	bool has_sampled = is_valid(sampled, device_sms);
	bool has_profiled = is_valid(profiled, device_sms);

	*ret_disagree = has_sampled && has_profiled &&
	                fabs(sampled->active_sms - profiled->active_sms) >
	                        sampled->error_sms + profiled->error_sms;
	if (has_profiled && is_close(profiled, device_sms))
		best = profiled;
	if (has_sampled && is_close(sampled, device_sms) &&
	    (!best || sampled->error_sms < best->error_sms))
		best = sampled;
	return best;
}

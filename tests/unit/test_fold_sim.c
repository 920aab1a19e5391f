/*
 * test_fold_sim.c - folding of simulated programs, against their truth: results, their errors, and what
 * must not be answered.
 */
#include <math.h>

#include "tests/tap.h"
#include "tests/unit/fold_sim.h"

#define PART 2000 /* samples of a stretch */

static struct sim_outcome run(const char *name, struct fold_sim *sim)
{
	struct sim_outcome outcome;

	wt_fold_destroy(sim_fold_all(name, sim, PART, NULL, &outcome));
	return outcome;
}

static void is_honest(const struct sim_outcome *outcome, const char *name)
{
	is_i64(outcome->summary.state, WT_FOLD_OK, name);
	ok((double)outcome->within >= 0.9 * (double)outcome->measured,
	   "%s: nine of ten within their errors", name);
	ok(outcome->worst < 3, "%s: none wide of its error", name);
}

/* Durations from low to high, in us, evenly on a logarithmic scale. */
static double duration_ns(size_t config, size_t configs, double low, double high)
{
	return 1000 * low *
	       pow(high / low, (double)config / (double)(configs > 1 ? configs - 1 : 1));
}

/* ---- programs */

static void random_order(void)
{
	struct sim_outcome outcome;
	struct fold_sim sim;
	double now_ns = 100000;

	sim_init(&sim, 20, 1);
	sim.offset_ns = 9870;
	for (size_t i = 0; i < 20; i++) {
		sim_shape(&sim, i, 3 + (int)(i % 10));
		sim.configs[i].varies = 0.02;
	}
	for (int i = 0; i < 40000; i++) {
		size_t config = (size_t)(sim_uniform(&sim) * 20);

		now_ns =
		        sim_launch(&sim, config, now_ns + 900 + 300 * sim_uniform(&sim),
		                   duration_ns(config, 20, 10, 50) * (1 + 0.02 * sim_normal(&sim)));
	}
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	outcome = run("random order", &sim);
	is_honest(&outcome, "random order");
	is_i64(outcome.measured, 20, "all measured");
	ok(outcome.median_error < 0.01, "errors of less than 1 %%");
	is_near(outcome.summary.offset_ns, 9870, fmax(60, outcome.summary.offset_error_ns),
	        "the offset is found");
	sim_free(&sim);
}

/* Steps of many kernels in a fixed order. */
static struct sim_outcome steps(const char *name, size_t configs, int count, double interval_ns,
                                double other_ns, double jitter, double host, uint64_t seed)
{
	struct sim_outcome outcome;
	struct fold_sim sim;
	double now_ns = 200000;

	sim_init(&sim, configs, seed);
	sim.offset_ns = -1430;
	for (size_t i = 0; i < configs; i++) {
		sim_shape(&sim, i, 2 + (int)(i % 5));
		sim.configs[i].varies = 0.01;
	}
	for (int step = 0; step < count; step++) {
		for (size_t i = 0; i < configs; i++) {
			size_t config = (i * 7919) % configs;

			now_ns =
			        sim_launch(&sim, config,
			                   now_ns + 800 + (host > 0 ? host * sim_uniform(&sim) : 0),
			                   duration_ns(config, configs, 3, 60) *
			                           (1 + (host > 0 ? 0.01 * sim_normal(&sim) : 0)));
		}
		if (host > 0)
			now_ns += 20000 * sim_uniform(&sim);
	}
	sim_sample(&sim, 0, now_ns + 200000, interval_ns, other_ns, jitter);
	outcome = run(name, &sim);
	sim_free(&sim);
	return outcome;
}

static void fixed_order(void)
{
	struct sim_outcome outcome = steps("fixed order", 40, 1000, 50000, 0, 0, 300, 2);

	is_honest(&outcome, "fixed order");
	is_i64(outcome.measured, 40, "all measured");
	outcome = steps("300 configurations", 300, 300, 50000, 0, 0, 300, 3);
	is_honest(&outcome, "300 configurations");
	ok(outcome.measured + outcome.inseparable >= 298, "measured, or said to be inseparable");
	ok(outcome.measured >= 270, "most of them measured");
}

/* A step of exactly 500 us, and samples of 50: each sees the same again and again. */
static void periodic(const char *name, double other_ns, double jitter, bool is_resolved)
{
	struct sim_outcome outcome;
	struct fold_sim sim;

	sim_init(&sim, 12, 4);
	sim.record_noise_ns = 0;
	for (size_t i = 0; i < 12; i++)
		sim_shape(&sim, i, 4);
	for (int step = 0; step < 2000; step++) {
		/* A start that tells the offset; all else never moves. */
		double now_ns = 1000000 + step * 500000.0;

		for (size_t i = 0; i < 12; i++)
			now_ns = sim_launch(&sim, i, now_ns + 1000, 20000 + 2000 * (double)i);
	}
	sim_sample(&sim, 0, 1000000 + 2000 * 500000.0, 50000, other_ns, jitter);
	outcome = run(name, &sim);
	if (is_resolved) {
		is_honest(&outcome, name);
		is_i64(outcome.measured, 12, "all measured");
	} else {
		ok(outcome.summary.state == WT_FOLD_NOT_ALIGNED || outcome.measured < 12,
		   "%s: not all can be known", name);
		ok(outcome.worst < 1.5, "%s: what is said to be known is", name);
		ok(outcome.summary.state != WT_FOLD_OK || outcome.inseparable >= 8,
		   "%s: most are inseparable", name);
	}
	sim_free(&sim);
}

/*
 * Eleven kernels in ever the same order, back to back or with gaps, as in a step of training or a graph: waves
 * that end within a bin, starts and ends that take 300 ns and more, 32 ns of noise in recorded times. What bins can't follow
 * is the same each time, so that it doesn't average out. Each within 1 % of truth (3 % below 10 us), or a quarter
 * of an SM. With little memory for finer bins, those that are told stay, and are right within their errors.
 */
static void fixed_edges(uint64_t seed, double gap_ns, size_t bytes_max)
{
	const struct wt_fold_options options = {
	        .sm_count = 132, .ramp_ns = 650, .bytes_max = bytes_max};
	double now_ns = 100000, lengths[11], profile[64], errors[64];
	struct sim_outcome outcome;
	struct wt_fold *fold;
	struct fold_sim sim;

	sim_init(&sim, 11, seed);
	sim.ramp_ns = 650;
	sim.record_noise_ns = 32;
	sim.sample_noise = 0.2;
	for (size_t i = 0; i < 11; i++) {
		struct sim_config *config = &sim.configs[i];
		double full = i % 4 == 3 ? 10 + 60 * sim_uniform(&sim) : 132;
		int wave = 5 + (int)(9 * sim_uniform(&sim));

		config->parts = 16;
		lengths[i] = 4700 * pow(13, (double)(i * 7 % 11) / 10);
		for (int part = 0; part < 16; part++)
			config->active[part] = part < wave ? full : full * 0.3;
		config->active[0] *= 0.6;
		config->active[15] *= 0.5;
	}
	for (int i = 0; i < 5000 * 11; i++)
		now_ns = sim_launch(&sim, (size_t)i % 11,
		                    now_ns + gap_ns + 650 + 100 * sim_uniform(&sim),
		                    lengths[i % 11]);
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	fold = sim_fold_all("fixed order, edges", &sim, PART, &options, &outcome);
	for (uint32_t i = 0; i < 11; i++) {
		double share = lengths[i] + 650 > 10000 ? 0.01 : 0.03, sum = 0;
		struct wt_fold_result result;

		wt_fold_result(fold, i, &result);
		wt_fold_profile(fold, i, profile, errors);
		for (uint32_t bin = 0; bin < result.bins; bin++)
			sum += profile[bin] / result.bins;
		ok(fabs(result.active_sms - sim_truth(&sim, i)) <
		           (bytes_max ? result.error_sms : fmax(share * sim_truth(&sim, i), 0.25)),
		   "a kernel of %.1f us: %.1f SMs, true %.1f", lengths[i] / 1e3, result.active_sms,
		   sim_truth(&sim, i));
		ok(fabs(result.bins - ceil((lengths[i] + 650) / 2000)) < 0.5,
		   "bins of 2 us at most");
		is_near(sum, result.active_sms, 0.01, "of the mean that is said");
	}
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/*
 * A few kernels at first, for which finer bins do; then hundreds of others, with bins as they are told: samples
 * of all metrics tell of four channels, but of any two bins once.
 */
static void few_then_many(void)
{
	const struct wt_fold_options options = {.sm_count = 132, .ramp_ns = 650};
	struct sim_outcome outcome;
	double now_ns = 100000, sums[WT_FOLD_CLOCK] = {0};
	struct wt_fold *fold;
	struct fold_sim sim;
	size_t coarse = 0;

	sim_init(&sim, 310, 51);
	sim.ramp_ns = 650;
	sim.record_noise_ns = 32;
	sim.sample_noise = 0.2;
	for (size_t i = 0; i < 310; i++) {
		sim_shape(&sim, i, 3 + (int)(i % 10));
		sim.configs[i].active[0] *= 0.6;
	}
	for (int i = 0; i < 8000; i++)
		now_ns = sim_launch(&sim, (size_t)i % 10, now_ns + 1650 + 100 * sim_uniform(&sim),
		                    duration_ns((size_t)i % 10, 10, 5, 60));
	for (int i = 0; i < 40000; i++) {
		size_t config = 10 + (size_t)(sim_uniform(&sim) * 300);

		now_ns = sim_launch(&sim, config, now_ns + 1000 + 100 * sim_uniform(&sim),
		                    duration_ns(config - 10, 300, 6, 75));
	}
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	for (size_t i = 0; i < sim.sample_count; i += 10)
		for (int channel = WT_FOLD_ACTIVE + 1; channel < WT_FOLD_CLOCK; channel++)
			sim.samples[i].mean[channel] =
			        channel * 0.1 * sim.samples[i].mean[WT_FOLD_ACTIVE];
	fold = sim_fold_all("few, then many", &sim, PART, &options, &outcome);
	ok(outcome.summary.bytes < (size_t)150 << 20, "four channels have one matrix");
	for (uint32_t i = 10; i < 310; i++) {
		struct wt_fold_result result;

		wt_fold_result(fold, i, &result);
		coarse += result.bins < 3;
		for (int channel = WT_FOLD_ACTIVE + 1; channel < WT_FOLD_CLOCK; channel++)
			sums[channel] += result.mean[channel];
		sums[WT_FOLD_ACTIVE] += result.active_sms;
	}
	for (int channel = WT_FOLD_ACTIVE + 1; channel < WT_FOLD_CLOCK; channel++)
		is_near(sums[channel] / sums[WT_FOLD_ACTIVE], channel * 0.1, channel * 0.003,
		        "each channel's means are its own");
	is_i64((int64_t)coarse, 0, "all have their bins of 2 us");
	wt_fold_destroy(fold);
	sim_free(&sim);
}

int main(void)
{
	few_then_many();
	random_order();
	fixed_order();
	periodic("periodic", 0, 0, false);
	periodic("periodic, two intervals", 37000, 0, true);
	periodic("periodic, jitter", 0, 0.3, true);
	for (uint64_t seed = 41; seed < 44; seed++) {
		fixed_edges(seed, 1000, 0);
		fixed_edges(seed, 60, 0);
		fixed_edges(seed, 1000, 250000);
	}
	return tap_done();
}

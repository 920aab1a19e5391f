/*
 * test_fold_cases.c - folding where things are not plain: holes, long and rare kernels, others'
 * work, clocks that drift, little memory; and what must not be answered. Against simulated truth.
 */
#include <errno.h>
#include <math.h>
#include <time.h>

#include "tests/tap.h"
#include "tests/unit/fold_sim.h"

#define PART 2000

/* Kernels of 5 to 40 us in random order. */
static double some_work(struct fold_sim *sim, double now_ns, int count, size_t first,
                        size_t configs)
{
	for (int i = 0; i < count; i++) {
		size_t config = first + (size_t)(sim_uniform(sim) * (double)configs);
		double length_ns = 5000 + 35000 * (double)(config - first) / (double)configs;

		now_ns = sim_launch(sim, config, now_ns + 700 + 600 * sim_uniform(sim),
		                    length_ns * (1 + 0.01 * sim_normal(sim)));
	}
	return now_ns;
}

static void is_honest(const struct sim_outcome *outcome, const char *name)
{
	is_i64(outcome->summary.state, WT_FOLD_OK, name);
	ok((double)outcome->within >= 0.9 * (double)outcome->measured,
	   "%s: nine of ten within their errors", name);
	ok(outcome->worst < 4, "%s: none wide of its error", name);
}

/* ---- unusual kernels */

static void long_and_rare(void)
{
	struct sim_outcome outcome;
	struct wt_fold_result result;
	struct fold_sim sim;
	struct wt_fold *fold;
	double now_ns = 100000;

	sim_init(&sim, 20, 13);
	sim_shapes(&sim);
	for (int i = 0; i < 50; i++) {
		now_ns = some_work(&sim, now_ns, 150, 0, 8);
		now_ns = sim_launch(&sim, 8, now_ns + 1500, 10e6); /* 10 ms */
		if (i % 4 == 2 && i / 4 < 10) /* once each */
			now_ns = sim_launch(&sim, 10 + (size_t)(i / 4), now_ns + 1000, 25000);
		if (i == 40)
			now_ns = sim_launch(&sim, 9, now_ns + 1000, 3e6); /* long, once */
	}
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	fold = sim_fold_all("long and rare", &sim, PART, NULL, &outcome);
	is_honest(&outcome, "long and rare");
	for (uint32_t i = 8; i < 10; i++) {
		wt_fold_result(fold, i, &result);
		is_near(result.active_sms, sim_truth(&sim, i), 0.01 * sim_truth(&sim, i),
		        "a long kernel within 1 %");
	}
	wt_fold_result(fold, 12, &result);
	printf("# seen once: %.1f +- %.1f, true %.1f, %u bins\n", result.active_sms,
	       result.error_sms, sim_truth(&sim, 12), result.bins);
	is_i64(result.launches, 1, "one launch");
	is_near(result.active_sms, sim_truth(&sim, 12), result.error_sms, "is within its error");
	ok(result.bins <= 2, "of few bins");
	wt_fold_result(fold, 77777, &result);
	is_i64(result.launches, 0, "one that never was");
	wt_fold_destroy(fold);
	sim_free(&sim);
}

static void varying(void)
{
	struct sim_outcome outcome;
	struct fold_sim sim;
	double now_ns = 100000;

	sim_init(&sim, 8, 14);
	sim_shapes(&sim);
	for (int i = 0; i < 16000; i++) {
		size_t config = (size_t)(sim_uniform(&sim) * 8);

		sim.configs[config].varies = 0.1;
		now_ns = sim_launch(&sim, config, now_ns + 1000 + 500 * sim_uniform(&sim),
		                    (10000 + 4000 * (double)config) *
		                            (0.6 + 0.8 * sim_uniform(&sim)));
	}
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	wt_fold_destroy(sim_fold_all("varying", &sim, PART, NULL, &outcome));
	is_honest(&outcome, "varying durations and activity");
	is_i64(outcome.measured, 8, "all measured");
	sim_free(&sim);
}

/* ---- samples */

/* Bursts of samples, holes between them; in parts of odd sizes; and a clock that drifts by 2 us. */
static void holes_and_drift(void)
{
	struct wt_fold_result result, again;
	struct sim_outcome outcome;
	struct fold_sim sim;
	struct wt_fold *fold;
	double end_ns;

	sim_init(&sim, 10, 15);
	sim_shapes(&sim);
	end_ns = some_work(&sim, 100000, 40000, 0, 10);
	sim.offset_ns = 4000;
	sim.drift = 2000 / end_ns;
	for (double now_ns = 50000; now_ns + 60e6 < end_ns; now_ns += 60e6)
		sim_sample(&sim, now_ns, now_ns + 37e6, 50000, 0, 0);
	fold = sim_fold_all("holes and drift", &sim, 333, NULL, &outcome);
	is_honest(&outcome, "holes and drift");
	is_i64(outcome.measured, 10, "all measured");
	ok(outcome.summary.offset_error_ns > 1000, "the drift is in the offset's error");
	wt_fold_result(fold, 3, &result);
	ok((double)result.launches < 0.75 * sim.configs[3].launches &&
	           (double)result.launches > 0.55 * sim.configs[3].launches,
	   "launches in holes are not counted, others once");
	is_near((double)result.time_ns / (double)result.launches /
	                (sim.configs[3].time_ns / sim.configs[3].launches),
	        1, 0.01, "and their time is that of samples");
	if (wt_fold_solve(fold))
		abort();
	wt_fold_result(fold, 3, &again);
	is_near(again.active_sms, result.active_sms, 0.01, "solved again, it is the same");
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/* Channels: in all samples, in some, in none. The clock is a mean by time. */
static void channels(void)
{
	struct wt_fold_result result;
	struct sim_outcome outcome;
	struct fold_sim sim;
	struct wt_fold *fold;
	double end_ns;

	sim_init(&sim, 5, 16);
	sim_shapes(&sim);
	end_ns = some_work(&sim, 100000, 8000, 0, 5);
	sim_sample(&sim, 0, end_ns, 50000, 0, 0);
	for (size_t i = 0; i < sim.sample_count; i++) {
		double *mean = sim.samples[i].mean;

		mean[WT_FOLD_WARPS] = mean[WT_FOLD_ACTIVE] / 4;
		mean[WT_FOLD_DRAM] = mean[WT_FOLD_ACTIVE] * 20;
		mean[WT_FOLD_DRAM] = i / 1000 % 2 ? -1 : mean[WT_FOLD_DRAM]; /* now and then */
		mean[WT_FOLD_CLOCK] = 1.98;
	}
	fold = sim_fold_all("channels", &sim, PART, NULL, &outcome);
	for (uint32_t i = 0; i < 5; i++) {
		wt_fold_result(fold, i, &result);
		is_near(result.mean[WT_FOLD_WARPS], result.active_sms / 4, 0.1, "warps");
		is_near(result.mean[WT_FOLD_DRAM], result.active_sms * 20, 30, "bytes");
		ok(result.error[WT_FOLD_WARPS] > 0 &&
		           result.error[WT_FOLD_WARPS] < 0.05 * result.mean[WT_FOLD_WARPS],
		   "with an error");
		ok(result.mean[WT_FOLD_TENSOR] < 0, "in no sample: not known");
		is_near(result.mean[WT_FOLD_CLOCK], 1.98, 1e-9, "clock");
	}
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/* Issue slots of each sample, from the kernels' own rates: an account of its own. */
static void issue_of(struct fold_sim *sim, const double *rates)
{
	size_t first = 0;

	for (size_t i = 0; i < sim->sample_count; i++) {
		struct wt_fold_sample *sample = &sim->samples[i];
		double sum = 0;

		while (first < sim->kernel_count && sim->kernels[first].end_ns <= sample->start_ns)
			first++;
		for (size_t k = first;
		     k < sim->kernel_count && sim->kernels[k].start_ns < sample->end_ns; k++) {
			int64_t start_ns = sim->kernels[k].start_ns,
			        end_ns = sim->kernels[k].end_ns;

			start_ns = start_ns < sample->start_ns ? sample->start_ns : start_ns;
			end_ns = end_ns > sample->end_ns ? sample->end_ns : end_ns;
			sum += rates[sim->kernels[k].config] * (double)(end_ns - start_ns);
		}
		sample->mean[WT_FOLD_ISSUE] = sum / (double)(sample->end_ns - sample->start_ns);
	}
}

/*
 * As the sampler has it: issue slots in one stretch of eight, and no active cycles there. A kernel that is
 * launched a few times has a mean of what was seen of it, not of zeros.
 */
static void classes(void)
{
	static const double rates[] = {0.9, 0.05, 0.45, 0.2, 0.8};
	struct wt_fold_result result;
	struct sim_outcome outcome;
	struct fold_sim sim;
	struct wt_fold *fold;
	double now_ns = 100000;

	sim_init(&sim, 5, 21);
	sim_shapes(&sim);
	for (int i = 0; i < 12; i++) {
		now_ns = some_work(&sim, now_ns, 700, 0, 4);
		now_ns = sim_launch(&sim, 4, now_ns + 1000, 90000);
	}
	sim_sample(&sim, 0, now_ns, 50000, 0, 0);
	issue_of(&sim, rates);
	for (size_t i = 0; i < sim.sample_count; i++) {
		bool is_rich = i / 300 % 8 == 2;

		sim.samples[i].mean[is_rich ? WT_FOLD_ACTIVE : WT_FOLD_ISSUE] = -1;
	}
	fold = sim_fold_all("classes", &sim, 300, NULL, &outcome);
	for (uint32_t i = 0; i < 4; i++) {
		wt_fold_result(fold, i, &result);
		is_near(result.mean[WT_FOLD_ISSUE], rates[i], 0.01, "issue slots");
		ok(fabs(result.mean[WT_FOLD_ISSUE] - rates[i]) <= result.error[WT_FOLD_ISSUE] &&
		           result.error[WT_FOLD_ISSUE] < 0.1,
		   "within their error, %.4f", result.error[WT_FOLD_ISSUE]);
	}
	wt_fold_result(fold, 4, &result);
	printf("# rare: %lld launches, %.1f +- %.1f SMs, issue %.3f +- %.3f\n",
	       (long long)result.launches, result.active_sms, result.error_sms,
	       result.mean[WT_FOLD_ISSUE], result.error[WT_FOLD_ISSUE]);
	ok(fabs(result.mean[WT_FOLD_ISSUE] - rates[4]) <=
	           fmax(result.error[WT_FOLD_ISSUE], result.error_sms / 132),
	   "of a rare one: no more certain than its active SMs");
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/* ---- what must not be answered */

static void foreign(void)
{
	struct sim_outcome outcome;
	struct fold_sim sim;
	double end_ns;

	sim_init(&sim, 6, 17);
	sim_shapes(&sim);
	end_ns = some_work(&sim, 100000, 8000, 0, 6);
	for (double now_ns = 0; now_ns < end_ns; now_ns += 400000 * sim_uniform(&sim))
		sim_foreign(&sim, now_ns, now_ns + 90000 * sim_uniform(&sim), 60);
	sim_sample(&sim, 0, end_ns, 50000, 0, 0);
	wt_fold_destroy(sim_fold_all("foreign", &sim, PART, NULL, &outcome));
	is_i64(outcome.summary.state, WT_FOLD_UNEXPLAINED, "somebody else's kernels: no answer");
	sim_free(&sim);
}

/* After some work that gives an offset: six kernels that always meet the samples alike. */
static void locked(void)
{
	struct sim_outcome outcome;
	struct fold_sim sim;
	struct wt_fold *fold;
	size_t inseparable = 0;
	double now_ns;

	sim_init(&sim, 12, 18);
	sim.record_noise_ns = 0;
	sim_shapes(&sim);
	now_ns = some_work(&sim, 100000, 12000, 0, 6);
	now_ns = ceil(now_ns / 50000) * 50000 + 200000;
	for (int i = 0; i < 4000; i++)
		for (size_t k = 0; k < 6; k++)
			sim_launch(&sim, 6 + k, now_ns + i * 100000 + (double)k * 16000 + 300,
			           14000);
	sim_sample(&sim, 0, now_ns + 4000 * 100000, 50000, 0, 0);
	fold = sim_fold_all("locked", &sim, PART, NULL, &outcome);
	is_honest(&outcome, "locked");
	for (uint32_t i = 0; i < 12; i++) {
		struct wt_fold_result result;

		wt_fold_result(fold, i, &result);
		if (i < 6)
			is_i64(result.verdict, WT_FOLD_MEASURED, "in random order: measured");
		else
			inseparable += result.verdict == WT_FOLD_INSEPARABLE;
	}
	is_i64(inseparable, 6, "locked to the samples: inseparable");
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/* One period fits like the next, and says the same: the least offset, and an answer. */
static void shifted(void)
{
	struct sim_outcome outcome;
	struct fold_sim sim;

	sim_init(&sim, 3, 19);
	for (size_t i = 0; i < 3; i++) {
		sim.configs[i].parts = 1;
		sim.configs[i].active[0] = 30 + 40 * (double)i;
	}
	for (int i = 0; i < 30000; i++)
		sim_launch(&sim, (size_t)i % 3, 10000.0 * i, 9000);
	sim_sample(&sim, 10e6, 290e6, 47000, 0, 0);
	wt_fold_destroy(sim_fold_all("shifted", &sim, PART, NULL, &outcome));
	is_honest(&outcome, "offsets a period apart");
	is_near(outcome.summary.offset_ns, 0, 200, "the least one");
	sim_free(&sim);
}

/* Kernels alike but for what they keep active, in an order that samples can't tell from its shifts. */
static void ambiguous(void)
{
	struct sim_outcome outcome;
	struct fold_sim sim;

	sim_init(&sim, 5, 22);
	sim.record_noise_ns = 0;
	for (size_t i = 0; i < 5; i++) {
		sim.configs[i].parts = 1;
		sim.configs[i].active[0] = 30 + 20 * (double)i;
	}
	for (int i = 0; i < 60000; i++)
		sim_launch(&sim, (size_t)i % 5, 10000.0 * i + 500, 9000);
	sim_sample(&sim, 10e6, 590e6, 50000, 0, 0); /* its period */
	wt_fold_destroy(sim_fold_all("ambiguous", &sim, PART, NULL, &outcome));
	ok(outcome.summary.state == WT_FOLD_NOT_ALIGNED || outcome.measured == 0,
	   "samples that are all the same: no answer");
	sim_free(&sim);
}

static void nothing(void)
{
	const struct wt_fold_kernel wrong[2] = {{2000, 3000, 0}, {1000, 1500, 0}};
	const struct wt_fold_sample samples[2] = {{0, 1000, {0}}, {500, 1500, {0}}};
	struct wt_fold_options options = {.sm_count = 0};
	struct wt_fold *fold = sim_fold_new(NULL), *none = NULL;
	struct wt_fold_summary summary;
	struct wt_fold_result result;

	is_i64(wt_fold_create(&options, &none), -EINVAL, "no SMs");
	is_i64(wt_fold_add(fold, wrong, 2, samples, 1), -EINVAL, "kernels out of order");
	is_i64(wt_fold_add(fold, NULL, 0, samples, 2), -EINVAL, "samples out of order");
	is_i64(wt_fold_add(fold, wrong, 1, samples, 1), 0, "one sample");
	is_i64(wt_fold_solve(fold), 0, "is nothing to solve");
	wt_fold_summary(fold, &summary);
	is_i64(summary.state, WT_FOLD_NO_SAMPLES, "too few samples");
	wt_fold_result(fold, 0, &result);
	ok(result.launches == 0 && result.verdict == WT_FOLD_FEW && result.mean[WT_FOLD_ACTIVE] < 0,
	   "and nothing known");
	wt_fold_destroy(fold);
	wt_fold_destroy(NULL);
}

/*
 * A program that sleeps while the sampler comes up: stretches of samples without a single kernel, at
 * first and in between, are no kernels, and not a want of memory.
 */
static void idle_first(void)
{
	struct fold_sim silent, sim;
	struct wt_fold_summary summary;
	struct sim_outcome outcome;
	struct wt_fold *fold = sim_fold_new(NULL);
	double end_ns;

	sim_init(&silent, 1, 23);
	silent.sample_noise = 0;
	sim_sample(&silent, 0, 60e6, 50000, 0, 0);
	is_i64(wt_fold_add(fold, NULL, 0, silent.samples, silent.sample_count), 0,
	       "samples and no kernels at all");
	is_i64(wt_fold_solve(fold), 0, "solving knows of nothing");
	wt_fold_summary(fold, &summary);
	is_i64(summary.state, WT_FOLD_NO_SAMPLES, "which is a state, no error");
	wt_fold_destroy(fold);

	fold = sim_fold_new(NULL);
	for (size_t i = 0; i < silent.sample_count; i++) {
		silent.samples[i].mean[WT_FOLD_ACTIVE] = -1;
		silent.samples[i].mean[WT_FOLD_WARPS] = i % 2;
	}
	if (wt_fold_add(fold, NULL, 0, silent.samples, silent.sample_count) || wt_fold_solve(fold))
		abort();
	wt_fold_summary(fold, &summary);
	is_i64(summary.state, WT_FOLD_NO_ACTIVE, "warps, but active cycles not sampled");
	wt_fold_destroy(fold);

	sim_init(&sim, 4, 24);
	sim_shapes(&sim);
	end_ns = some_work(&sim, 100e6, 3000, 0, 4);
	end_ns = some_work(&sim, end_ns + 100e6, 5000, 0, 4);
	sim_sample(&sim, 0, end_ns + 30e6, 50000, 0, 0);
	wt_fold_destroy(sim_fold_all("idle first", &sim, 500, NULL, &outcome));
	is_honest(&outcome, "idle at first and in between");
	is_i64(outcome.measured, 4, "all measured");
	sim_free(&silent);
	sim_free(&sim);
}

/* Records are longer than activity: idle at both ends, of which means, times and profiles are, too. */
static void ramps(void)
{
	struct wt_fold_options options = {.sm_count = 132, .ramp_ns = 650};
	struct sim_outcome outcome, without;
	struct wt_fold_result result;
	double now_ns = 100000, profile[64], errors[64], sum = 0;
	struct fold_sim sim;
	struct wt_fold *fold;

	sim_init(&sim, 8, 25);
	sim_shapes(&sim);
	sim.ramp_ns = 650;
	for (int i = 0; i < 30000; i++) {
		size_t config = (size_t)(sim_uniform(&sim) * 8);

		now_ns = sim_launch(&sim, config, now_ns + 1400 + 300 * sim_uniform(&sim),
		                    4400 + 2500 * (double)config);
	}
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	wt_fold_destroy(sim_fold_all("ramps, not told", &sim, PART, NULL, &without));
	fold = sim_fold_all("ramps", &sim, PART, &options, &outcome);
	is_honest(&outcome, "ramps");
	is_i64(outcome.measured, 8, "all measured");
	is_near(outcome.summary.offset_ns, 0, 60, "the offset is found");
	ok(fabs(outcome.summary.offset_ns) < fabs(without.summary.offset_ns) / 2,
	   "which is nearer than without");
	wt_fold_result(fold, 7, &result);
	is_near((double)result.time_ns / (double)result.launches, 4400 + 2500 * 7 + 650, 60,
	        "time is as recorded");
	wt_fold_profile(fold, 7, profile, errors);
	for (uint32_t i = 0; i < result.bins; i++)
		sum += profile[i] / result.bins;
	is_near(sum, result.active_sms, 0.01, "and the profile has the mean that is said");
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/* Blocks that take unequally long leave a few SMs at work: shifted by a bin they fit nearly as well. */
static void thin_tails(void)
{
	struct sim_outcome outcome;
	double now_ns = 100000;
	struct fold_sim sim;

	sim_init(&sim, 9, 31);
	sim.sample_noise = 0.3;
	for (size_t i = 0; i < 9; i++) {
		sim.configs[i].parts = 16;
		for (int part = 0; part < 16; part++)
			sim.configs[i].active[part] =
			        part < 7 ? 132 - 12.0 * part * (double)(i % 3) / 2
			                 : 30.0 / (1 + (part - 7) * (part - 7));
	}
	for (int i = 0; i < 60000; i++) {
		size_t config = (size_t)(sim_uniform(&sim) * 9);

		now_ns = sim_launch(&sim, config, now_ns + 1200 + 300 * sim_uniform(&sim),
		                    25300 + 3700 * (double)config);
	}
	sim.offset_ns = 370;
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	wt_fold_destroy(sim_fold_all("thin tails", &sim, PART, NULL, &outcome));
	is_honest(&outcome, "thin tails");
	is_near(outcome.summary.offset_ns, 370, outcome.summary.offset_error_ns,
	        "thin tails: the offset is within its error");
	ok(outcome.summary.offset_error_ns < 1000, "which is less than half a bin");
	sim_free(&sim);
}

/* ---- memory */

static void little_memory(void)
{
	struct wt_fold_options options = {.sm_count = 132, .bytes_max = 700000};
	struct sim_outcome outcome, twice;
	struct fold_sim sim;
	double now_ns;

	sim_init(&sim, 220, 20);
	sim_shapes(&sim);
	now_ns = some_work(&sim, 100000, 20000, 0, 20);
	now_ns = some_work(&sim, now_ns, 6000, 20, 200);
	now_ns = some_work(&sim, now_ns, 3000, 0, 20);
	sim_sample(&sim, 0, now_ns, 50000, 0, 0);
	wt_fold_destroy(sim_fold_all("little memory", &sim, PART, &options, &outcome));
	is_i64(outcome.summary.state, WT_FOLD_OK, "little memory: still explained");
	ok(outcome.summary.bytes < 1500000, "within a limit");
	ok(outcome.worst < 4, "what is said to be known is");
	wt_fold_destroy(sim_fold_all("enough memory", &sim, PART, NULL, &outcome));
	is_honest(&outcome, "enough memory");
	now_ns = some_work(&sim, now_ns + 1000, 20000, 0, 20);
	sim_sample(&sim, (double)sim.samples[sim.sample_count - 1].end_ns, now_ns, 50000, 0, 0);
	wt_fold_destroy(sim_fold_all("twice as long", &sim, PART, NULL, &twice));
	ok((double)twice.summary.bytes < 1.05 * (double)outcome.summary.bytes,
	   "a longer run takes no more");
	sim_free(&sim);
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* As many configurations as a training step has, or several programs: the offset is found soon. */
static void hundreds(bool is_random)
{
	struct sim_outcome outcome;
	struct fold_sim sim;
	double now_ns = 100000, begin_s, took_s;

	sim_init(&sim, 300, 26);
	sim_shapes(&sim);
	sim.offset_ns = -7300;
	if (is_random)
		now_ns = some_work(&sim, now_ns, 30000, 0, 300);
	for (int step = 0; step < 100 && !is_random; step++)
		for (size_t i = 0; i < 300; i++)
			now_ns = sim_launch(&sim, i, now_ns + 900 + 300 * sim_uniform(&sim),
			                    4000 + (double)(i * 7919 % 300) * 150);
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	begin_s = cpu_s();
	wt_fold_destroy(sim_fold_all("300 configurations", &sim, 20000, NULL, &outcome));
	took_s = cpu_s() - begin_s;
	printf("# %zu samples, %zu kernels: %.1f s\n", sim.sample_count, sim.kernel_count, took_s);
	is_honest(&outcome, is_random ? "300 configurations in random order"
	                              : "300 configurations in a fixed order");
	is_near(outcome.summary.offset_ns, -7300, outcome.summary.offset_error_ns,
	        "the offset is within its error");
	sim_free(&sim);
}

static void thousands(void)
{
	struct sim_outcome outcome;
	struct fold_sim sim;
	double now_ns = 100000, begin_s;

	sim_init(&sim, 3000, 21);
	sim_shapes(&sim);
	for (int step = 0; step < 60; step++)
		for (size_t i = 0; i < 3000; i++)
			now_ns = sim_launch(&sim, i, now_ns + 900 + 300 * sim_uniform(&sim),
			                    4000 + (double)(i * 7919 % 3000) * 7);
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	begin_s = cpu_s();
	wt_fold_destroy(sim_fold_all("3000 configurations", &sim, 20000, NULL, &outcome));
	printf("# %zu samples, %zu kernels: %.1f s\n", sim.sample_count, sim.kernel_count,
	       cpu_s() - begin_s);
	is_honest(&outcome, "3000 configurations in a fixed order");
	ok(outcome.measured + outcome.inseparable + outcome.few == 3000, "each has a verdict");
	ok(outcome.measured > 1500, "most are measured");
	ok(outcome.summary.bytes < 64u << 20, "in less than 64 MiB");
	sim_free(&sim);
}

int main(void)
{
	long_and_rare();
	varying();
	holes_and_drift();
	channels();
	classes();
	foreign();
	locked();
	shifted();
	ambiguous();
	nothing();
	idle_first();
	ramps();
	thin_tails();
	little_memory();
	hundreds(false);
	if (!tap_is_sanitized()) { /* minutes, and nothing new for it to see */
		hundreds(true);
		thousands();
	}
	return tap_done();
}

/*
 * test_evidence.c - which evidence a number has, and how measured idle SMs are split: against examples
 * worked by hand, measurements of an H200, and over random launches for what must always hold.
 */
#include "analysis/evidence.h"
#include "tests/tap.h"

#define H200_SMS 132

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

static double random_unit(uint64_t *state)
{
	return (double)random_below(state, 1u << 30) / (double)(1u << 30);
}

static struct wt_wave_result judge(int32_t sms, int32_t per_sm, uint32_t blocks,
                                   int64_t duration_ns)
{
	struct wt_wave_launch launch = {.duration_ns = duration_ns,
	                                .grid = {blocks, 1, 1},
	                                .sm_count = sms,
	                                .blocks_per_sm = per_sm};
	struct wt_wave_result result;

	wt_wave_judge(&launch, &result);
	return result;
}

static struct wt_evidence_measured sampled(double active_sms, double error_sms)
{
	return (struct wt_evidence_measured){WT_EVIDENCE_SAMPLED, active_sms, error_sms,
	                                     WT_BOUND_UNKNOWN};
}

static double sum_of(const struct wt_evidence_rates *r)
{
	return r->active_sms + r->underfill_sms + r->wave_sms + r->straggle_sms + r->ramp_sms +
	       r->unjudged_sms;
}

static double idle_of(const struct wt_evidence_rates *r)
{
	return r->underfill_sms + r->wave_sms + r->straggle_sms + r->ramp_sms;
}

/* 4 SMs, one block each, 8 blocks of 70 but the 4th of 130: three SMs end at 140, one at 200. */
static void test_worked_example(void)
{
	struct wt_wave_result model = judge(4, 1, 8, 200);
	struct wt_evidence_measured measured = sampled(620.0 / 200, 0.01);
	struct wt_evidence_rates rates;

	wt_evidence_split(&model, 200, 4, 0, &measured, &rates);
	is_near(rates.straggle_sms * 200, 180, 1e-9, "worked example: straggle 180");
	is_near(rates.wave_sms, 0, 0, "worked example: wave 0");
	is_near(rates.active_sms * 200, 620, 1e-9, "worked example: active 620 of 800");
	ok(rates.disagrees, "geometry can't see it");
	wt_evidence_split(&model, 200, 4, 0, NULL, &rates);
	ok(rates.active_sms == 4 && rates.straggle_sms == 0 && !rates.disagrees,
	   "without a measurement all is active");
}

/*
 * True idle SM-us of launches on an H200, counted by the blocks themselves: within first block to
 * last block, so no ramp.
 */
static void test_h200(void)
{
	static const struct {
		const char *what;
		int per_sm;
		uint32_t blocks;
		double us, idle_sm_us, straggle_sm_us, tolerance;
	} rows[] = {
	        {"792 blocks, every 97th six times longer", 2, 792, 204.6, 15615, 15615, 0.5},
	        {"66 blocks: underfill is the model's", 2, 66, 50.8, 3357, 4.2, 0.5},
	        {"396 blocks, 1.5 waves", 2, 396, 100, 46, 46, 0.5},
	        {"267 blocks, 2 per SM: the wave of blocks by themselves", 2, 267, 101.7, 6521, 0,
	         0.5},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ns = (int64_t)(rows[i].us * 1000 + 0.5);
		struct wt_wave_result model = judge(H200_SMS, rows[i].per_sm, rows[i].blocks, ns);
		struct wt_evidence_measured measured =
		        sampled(H200_SMS - rows[i].idle_sm_us / rows[i].us, 0.5);
		struct wt_evidence_rates rates;

		measured.bound = WT_BOUND_LATENCY;
		wt_evidence_split(&model, ns, H200_SMS, 0, &measured, &rates);
		is_near(idle_of(&rates) * rows[i].us, rows[i].idle_sm_us, 1e-6, rows[i].what);
		is_near(rates.straggle_sms * rows[i].us, rows[i].straggle_sm_us, rows[i].tolerance,
		        "straggle");
		ok(rates.disagrees == (i == 0), "the model is said to be wrong where it is");
	}
}

/* Launch and drain come before wave, which is of the time between them. */
static void test_ramp(void)
{
	struct wt_wave_result model = judge(100, 1, 150, 6500);
	struct wt_evidence_measured measured = sampled(100 - 10 - 22.5, 0.1);
	struct wt_evidence_rates rates;

	is_near(wt_evidence_ramp_ns(9, 0), 650, 0, "ramp of compute capability 9.0");
	ok(wt_evidence_ramp_ns(8, 0) == 0 && wt_evidence_ramp_ns(10, 0) == 0, "else not known");
	/* 650 of 6500 ns on 100 SMs; half of the SMs for the last half of 5850 ns. */
	wt_evidence_split(&model, 6500, 100, 650, &measured, &rates);
	is_near(rates.ramp_sms, 10, 1e-9, "ramp: a tenth of the time");
	is_near(rates.wave_sms, 22.5, 1e-9, "wave: of the other nine");
	is_near(rates.straggle_sms, 0, 1e-9, "nothing is left");
	ok(!rates.disagrees, "agrees");
	measured = sampled(100 - 4, 0.1);
	wt_evidence_split(&model, 6500, 100, 650, &measured, &rates);
	ok(rates.ramp_sms == 4 && rates.wave_sms == 0, "no more than was idle");
	ok(rates.disagrees, "less idle than the model says: a disagreement, too");
	measured = sampled(50, 0.1);
	wt_evidence_split(&model, 500, 100, 650, &measured, &rates);
	ok(rates.ramp_sms == 50 && rates.wave_sms == 0, "shorter than a ramp");
}

static void test_forms(void)
{
	struct wt_wave_result model = judge(H200_SMS, 2, 267, 100000);
	struct wt_evidence_measured measured = sampled(40, 1);
	struct wt_evidence_rates rates;
	static const struct {
		enum wt_bound bound;
		enum wt_wave_form form;
	} rows[] = {{WT_BOUND_COMPUTE, WT_WAVE_SHARED}, {WT_BOUND_LATENCY, WT_WAVE_INDEPENDENT}};

	for (size_t i = 0; i < 2; i++) {
		double want = (double)model.form_sm_ns[rows[i].form] / 100000;

		measured.bound = rows[i].bound;
		measured.evidence = WT_EVIDENCE_SAMPLED;
		wt_evidence_split(&model, 100000, H200_SMS, 0, &measured, &rates);
		ok(rates.has_form && rates.form == rows[i].form, "the form of a class");
		is_near(rates.wave_sms, want, 1e-9, "stands for the wave");
		measured.evidence = WT_EVIDENCE_MODEL;
		wt_evidence_split(&model, 100000, H200_SMS, 0, &measured, &rates);
		is_near(rates.wave_sms, want, 1e-9, "also where only the class is known");
		is_near(rates.active_sms, H200_SMS - want, 1e-9, "which is no measurement");
	}
	measured.bound = WT_BOUND_MEMORY;
	wt_evidence_split(&model, 100000, H200_SMS, 0, &measured, &rates);
	ok(model.form_sm_ns[rates.form] >= model.form_sm_ns[WT_WAVE_JITTER] &&
	           model.form_sm_ns[rates.form] >= model.form_sm_ns[WT_WAVE_INDEPENDENT],
	   "memory: the greater one");
	wt_evidence_split(&model, 100000, H200_SMS, 0, NULL, &rates);
	is_near(rates.wave_sms, (double)model.wave_sm_ns / 100000, 1e-9, "no class: the least");
	ok(!rates.has_form, "and no form");
}

/* No model: cooperative, persistent; and a context with fewer SMs than the device. */
static void test_unjudged(void)
{
	struct wt_wave_launch launch = {.duration_ns = 1000,
	                                .grid = {132, 1, 1},
	                                .sm_count = 132,
	                                .blocks_per_sm = 1,
	                                .is_cooperative = true};
	struct wt_evidence_measured measured = sampled(100, 1);
	struct wt_wave_result model;
	struct wt_evidence_rates rates;

	wt_wave_judge(&launch, &model);
	wt_evidence_split(&model, 1000, 132, 0, &measured, &rates);
	ok(rates.straggle_sms == 32 && rates.unjudged_sms == 0, "measured: judged");
	ok(!rates.disagrees, "a model that says nothing disagrees with nothing");
	wt_evidence_split(&model, 1000, 132, 0, NULL, &rates);
	ok(rates.unjudged_sms == 132 && rates.active_sms == 0, "not measured: unjudged");
	launch.is_cooperative = false;
	launch.sm_count = 60;
	wt_wave_judge(&launch, &model);
	measured = sampled(44, 1);
	wt_evidence_split(&model, 1000, 132, 0, &measured, &rates);
	is_near(rates.underfill_sms, 72, 1e-9, "SMs beyond a context: underfill");
	is_near(rates.wave_sms, 16, 1e-9, "and its wave: 132 blocks on 60 SMs");
	is_near(sum_of(&rates), 132, 1e-9, "the sum is the device's SMs");
	wt_evidence_split(&model, 0, 132, 0, &measured, &rates);
	ok(sum_of(&rates) == 0, "no time: nothing");
}

static void test_choose(void)
{
	struct wt_evidence_measured a = sampled(100, 2), b = sampled(101, 2), c;
	bool differ = true;

	b.evidence = WT_EVIDENCE_PROFILED;
	ok(wt_evidence_choose(&a, &b, 132, &differ) == &b && !differ, "equal errors: profiled");
	b.error_sms = 2.5;
	ok(wt_evidence_choose(&a, &b, 132, &differ) == &a, "the smaller error");
	ok(wt_evidence_choose(NULL, &b, 132, &differ) == &b && !differ, "only one");
	ok(!wt_evidence_choose(NULL, NULL, 132, &differ), "none: the model");
	a.error_sms = 4;
	b.error_sms = 3.96;
	b.active_sms = 109;
	ok(wt_evidence_choose(&a, &b, 132, &differ) == &b && differ,
	   "too coarse, and disagreement");
	b.error_sms = 4;
	ok(!wt_evidence_choose(&a, &b, 132, &differ) && differ, "both too coarse: the model");
	c = sampled(NAN, 1);
	ok(!wt_evidence_choose(&c, NULL, 132, &differ), "no number");
	c = sampled(140, 1);
	ok(!wt_evidence_choose(&c, NULL, 132, &differ), "more than there are");
	c = sampled(132.5, 1);
	ok(wt_evidence_choose(&c, NULL, 132, &differ) == &c, "but for the error");
	c.evidence = WT_EVIDENCE_MODEL;
	ok(!wt_evidence_choose(&c, NULL, 132, &differ), "a class is no measurement");
}

static void test_bound(void)
{
	ok(wt_evidence_bound(-1, -1, -1) == WT_BOUND_UNKNOWN, "nothing known");
	ok(wt_evidence_bound(0.5, 0.2, -1) == WT_BOUND_COMPUTE, "tensor pipe");
	ok(wt_evidence_bound(0.1, 0.2, 0.6) == WT_BOUND_COMPUTE, "issue slots");
	ok(wt_evidence_bound(0.1, 0.6, -1) == WT_BOUND_MEMORY, "DRAM");
	ok(wt_evidence_bound(-1, 0.9, -1) == WT_BOUND_MEMORY, "DRAM alone is known");
	ok(wt_evidence_bound(0.55, 0.9, -1) == WT_BOUND_MEMORY, "both: the nearer roof");
	ok(wt_evidence_bound(0.9, 0.65, -1) == WT_BOUND_COMPUTE, "both: the nearer roof");
	ok(wt_evidence_bound(0.1, 0.1, 0.1) == WT_BOUND_LATENCY, "all low");
	ok(wt_evidence_bound(0.1, 0.1, -1) == WT_BOUND_UNKNOWN, "FMA-bound or latency-bound");
	ok(wt_evidence_bound(0.1, 0.1, 0.5) == WT_BOUND_UNKNOWN, "a pipe of half rate, or latency");
	ok(wt_evidence_bound(0.1, 0.7, 0.5) == WT_BOUND_MEMORY, "of which DRAM is none");
	ok(wt_evidence_bound(-1, 0.1, 0.1) == WT_BOUND_UNKNOWN, "tensor pipe or latency");
	is_str(wt_bound_name(WT_BOUND_MEMORY), "memory", "name");
	ok(!wt_bound_name(WT_BOUND_UNKNOWN), "no name");
	is_str(wt_evidence_name(WT_EVIDENCE_PROFILED), "profiled", "name");
	/* H200: 3201 MHz, 6144 bits, 4.8-4.9 TB/s. */
	is_near(wt_evidence_dram_peak(3201000, 6144), 4916.7, 0.1, "DRAM peak, bytes per ns");
	ok(wt_evidence_dram_peak(0, 6144) == 0 && wt_evidence_dram_peak(1, -1) == 0, "not known");
}

static struct wt_evidence_range exactly(double value)
{
	return wt_evidence_within(value, 0);
}

static void is_not_known(const struct wt_evidence_pipes *pipes, const char *word)
{
	const char *reason = NULL;
	enum wt_bound bound = wt_evidence_class(pipes, &reason);

	ok(!bound && reason && strstr(reason, word), "not known: %s", reason ? reason : "");
}

/* The class of ranges against that of points in them, drawn at random. */
static void test_class(void)
{
	const struct wt_evidence_pipes unknown = {exactly(-1), exactly(-1), exactly(-1)};
	int wrong = 0, silent = 0, known = 0;
	struct wt_evidence_pipes pipes = unknown;
	uint64_t state = 11;
	const char *reason;

	is_not_known(&pipes, "no sample");
	pipes.issue = pipes.dram = exactly(0.1);
	is_not_known(&pipes, "tensor");
	pipes.tensor = exactly(0.1);
	ok(wt_evidence_class(&pipes, &reason) == WT_BOUND_LATENCY && !reason, "latency");
	pipes.issue = exactly(0.45);
	is_not_known(&pipes, "narrower pipe");
	pipes.issue = wt_evidence_within(0.65, 0.1);
	is_not_known(&pipes, "errors");
	pipes.issue = exactly(-1);
	is_not_known(&pipes, "arithmetic or latency");
	pipes.dram = exactly(-1);
	is_not_known(&pipes, "DRAM");
	for (int i = 0; i < 20000; i++) {
		enum wt_bound class;
		bool is_same = true;

		pipes.tensor = wt_evidence_within(random_unit(&state), 0.2 * random_unit(&state));
		pipes.dram = wt_evidence_within(random_unit(&state), 0.2 * random_unit(&state));
		pipes.issue = wt_evidence_within(random_unit(&state), 0.2 * random_unit(&state));
		class = wt_evidence_class(&pipes, &reason);
		for (int k = 0; k < 30; k++) {
			double part[3];

			for (int d = 0; d < 3; d++)
				part[d] = random_unit(&state);
			is_same =
			        is_same &&
			        class ==
			                wt_evidence_bound(
			                        pipes.tensor.least + part[0] * (pipes.tensor.most -
			                                                        pipes.tensor.least),
			                        pipes.dram.least + part[1] * (pipes.dram.most -
			                                                      pipes.dram.least),
			                        pipes.issue.least + part[2] * (pipes.issue.most -
			                                                       pipes.issue.least));
		}
		known += class != WT_BOUND_UNKNOWN;
		wrong += class != WT_BOUND_UNKNOWN && !is_same;
		silent += (class == WT_BOUND_UNKNOWN) != (reason != NULL);
	}
	ok(known > 2000, "%d of 20,000 classes are known", known);
	is_i64(wrong, 0, "none of them differs anywhere within the errors");
	is_i64(silent, 0, "where it is not known there is a reason");
}

static void test_of_active(void)
{
	struct wt_evidence_range r =
	        wt_evidence_of_active(wt_evidence_within(0.3, 0.03), 66, 6.6, 132);

	is_near(r.least, 0.27 * 132 / 72.6, 1e-9, "the least: of the most that may be active");
	is_near(r.most, 0.33 * 132 / 59.4, 1e-9, "the most: of the least");
	r = wt_evidence_of_active(wt_evidence_within(0.3, 0.03), 66, 66, 132);
	ok(r.least > 0.26 && isinf(r.most), "hardly any may be active: no upper end");
	r = wt_evidence_of_active(wt_evidence_within(0.3, 0), 131, 10, 132);
	is_near(r.least, 0.3, 1e-9, "no more than all are");
	r = wt_evidence_of_active(wt_evidence_within(-1, 0), 66, 1, 132);
	ok(r.least < 0, "not known");
	r = wt_evidence_of_active(wt_evidence_within(0.3, 0), 0, 0, 132);
	ok(r.least < 0, "nor of none");
	ok(wt_evidence_within(NAN, 0).least < 0 && wt_evidence_within(1, NAN).least < 0 &&
	           wt_evidence_within(0.1, 0.2).least == 0,
	   "no numbers, and none below 0");
}

static bool is_none_negative(const struct wt_evidence_rates *r)
{
	return r->active_sms >= 0 && r->underfill_sms >= 0 && r->wave_sms >= 0 &&
	       r->wave_max_sms >= 0 && r->straggle_sms >= 0 && r->ramp_sms >= 0 &&
	       r->unjudged_sms >= 0;
}

/* A launch of any kind, on a device with at least as many SMs as its context. */
static struct wt_wave_launch random_launch(uint64_t *state, int32_t *ret_device_sms)
{
	struct wt_wave_launch launch = {0};

	launch.duration_ns = (int64_t)random_below(state, 3000000) + 1;
	launch.grid[0] = (uint32_t)random_below(state, 2000);
	launch.grid[1] = launch.grid[2] = 1;
	launch.sm_count = (int32_t)random_below(state, 160);
	launch.blocks_per_sm = (int32_t)random_below(state, 17);
	launch.is_cooperative = random_below(state, 8) == 0;
	launch.is_persistent = random_below(state, 8) == 0;
	if (random_below(state, 4) == 0) {
		launch.cluster[0] = (uint32_t)random_below(state, 9);
		launch.cluster[1] = launch.cluster[2] = 1;
		launch.max_active_clusters = (uint32_t)random_below(state, 100);
	}
	*ret_device_sms = launch.sm_count + (int32_t)random_below(state, 2) * 40 + 1;
	return launch;
}

static void test_random(void)
{
	int bad_sum = 0, bad_sign = 0, bad_order = 0, bad_max = 0, bad_model = 0;
	uint64_t state = 7;

	for (int i = 0; i < 200000; i++) {
		int32_t sms;
		struct wt_wave_launch launch = random_launch(&state, &sms);
		struct wt_evidence_measured less, more;
		struct wt_evidence_rates a, b;
		struct wt_wave_result model;
		double ramp_ns = random_below(&state, 2) ? 650 : 0;

		wt_wave_judge(&launch, &model);
		less = sampled(random_unit(&state) * 1.1 * sms - 0.05, random_unit(&state));
		less.bound = (enum wt_bound)random_below(&state, 4);
		more = less;
		more.active_sms += random_unit(&state) * 5;
		wt_evidence_split(&model, launch.duration_ns, sms, ramp_ns, &less, &a);
		wt_evidence_split(&model, launch.duration_ns, sms, ramp_ns, &more, &b);
		bad_sum += fabs(sum_of(&a) - sms) > 1e-9;
		bad_sign += !is_none_negative(&a) || a.unjudged_sms != 0;
		bad_max += !a.has_form && a.wave_max_sms < a.wave_sms - 1e-9;
		bad_order += b.active_sms < a.active_sms || b.underfill_sms > a.underfill_sms ||
		             b.ramp_sms > a.ramp_sms || b.wave_sms > a.wave_sms ||
		             b.straggle_sms > a.straggle_sms + 1e-12;
		wt_evidence_split(&model, launch.duration_ns, sms, ramp_ns, NULL, &a);
		bad_model += fabs(sum_of(&a) - sms) > 1e-9 || !is_none_negative(&a) ||
		             a.straggle_sms != 0 || a.ramp_sms != 0;
	}
	is_i64(bad_sum, 0, "random: the sum is the SMs");
	is_i64(bad_sign, 0, "random: nothing is negative, nothing unjudged");
	is_i64(bad_max, 0, "random: wave is at most wave_max");
	is_i64(bad_order, 0, "random: more active, no more idle of any kind");
	is_i64(bad_model, 0, "random: the model's rates");
}

int main(void)
{
	test_worked_example();
	test_h200();
	test_ramp();
	test_forms();
	test_unjudged();
	test_choose();
	test_bound();
	test_class();
	test_of_active();
	test_random();
	return tap_done();
}

/*
 * test_contrast.c - noise of means, and changes beyond it: Student's distribution against tables, batch means
 * on series that hang together against what they were made with, Holm's procedure against a second one
 * written from its definition, families without a change and with planted ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/contrast.h"
#include "tests/tap.h"

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* An autoregression of the first order with mean 100 and deviation `deviation`. */
static void series(double *values, size_t count, double phi, double deviation)
{
	double x = deviation * normal();

	for (size_t i = 0; i < count; i++) {
		values[i] = 100 + x;
		x = phi * x + deviation * sqrt(1 - phi * phi) * normal();
	}
}

static bool agrees(double got, double want, double share)
{
	return fabs(got - want) <= share * fabs(want);
}

static void test_student(void)
{
	/* Tables of Student's distribution, both sides together. */
	static const struct {
		double tails, freedom, t;
	} table[] = {
	        {0.05, 1, 12.7062047},  {0.05, 10, 2.2281389},   {0.01, 5, 4.0321430},
	        {0.001, 20, 3.8495163}, {0.05, 1000, 1.9623391}, {0.0001, 7, 7.8845844},
	        {0.10, 30, 1.6972609},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double t = wt_student_quantile(table[i].tails, table[i].freedom);

		ok(agrees(t, table[i].t, 2e-3), "quantile of %g at %g: %.7f", table[i].tails,
		   table[i].freedom, t);
		ok(agrees(wt_student_tails(t, table[i].freedom), table[i].tails, 1e-6), "and back");
	}
	ok(wt_student_tails(0, 4) == 1 && wt_student_tails(INFINITY, 4) == 0, "its ends");
	/* One degree of freedom is Cauchy's: in closed form. */
	ok(agrees(wt_student_tails(3, 1), 1 - 2 / 3.141592653589793 * atan(3), 1e-9),
	   "Cauchy's distribution");
}

static void test_batches(void)
{
	static const double phis[] = {0, 0.5, 0.8};
	double values[300];

	for (size_t p = 0; p < 3; p++) {
		int covered = 0;

		for (int i = 0; i < 1000; i++) {
			struct wt_mean mean;

			series(values, 300, phis[p], 5);
			mean = wt_noise_mean(values, 300);
			covered += fabs(mean.mean - 100) <
			           wt_student_quantile(0.05, mean.freedom) * mean.error;
		}
		ok(covered >= (p == 2 ? 880 : 920),
		   "phi %.1f: 95 %% intervals hold the mean in %d of 1000", phis[p], covered);
	}
	for (size_t i = 0; i < 300; i++)
		values[i] = (double)(i % 2);
	ok(wt_noise_mean(values, 40).mean == 0.5 && wt_noise_mean(values, 40).batch == 1,
	   "what alternates does not hang together");
	ok(wt_noise_mean(values, WT_NOISE_LEAST - 1).error < 0, "few values tell no noise");
	ok(wt_noise_mean(values, 0).count == 0, "none tell nothing");
	for (size_t i = 0; i < 300; i++)
		values[i] = 7;
	ok(wt_noise_mean(values, 300).error == 0 && wt_noise_mean(values, 300).mean == 7,
	   "without noise the error is 0");
	for (size_t i = 0; i < 300; i++)
		values[i] = (double)i;
	ok(wt_noise_mean(values, 300).error > 3 * 86.6 / sqrt(300),
	   "a drift counts as noise, not as many independent values");
}

/* ---- families */

#define FAMILY 30
#define STEPS 60

struct made {
	struct wt_contrast family[FAMILY];
	struct wt_mean means[FAMILY][16];
};

/* Runs of each side differ by `between`, shares; the first `planted` quantities are `factor` times as much. */
static void make(struct made *made, size_t runs, double between, size_t planted, double factor)
{
	double values[STEPS];

	memset(made, 0, sizeof(*made));
	for (size_t i = 0; i < FAMILY; i++) {
		struct wt_contrast *one = &made->family[i];

		for (size_t r = 0; r < 2 * runs; r++) {
			double by = exp(between * normal());

			series(values, STEPS, 0.3, 2);
			for (size_t k = 0; k < STEPS; k++)
				values[k] *= by * (r >= runs && i < planted ? factor : 1);
			made->means[i][r] = wt_noise_mean(values, STEPS);
		}
		one->before = (struct wt_contrast_side){made->means[i], runs};
		one->after = (struct wt_contrast_side){made->means[i] + runs, runs};
		one->is_ratio = true;
		one->margin = log1p(0.01);
	}
}

/* From the definition: sort the chances, compare the k-th least with alpha / (m - k + 1). */
static bool is_rejected(const struct wt_contrast *family, size_t at, double alpha)
{
	for (size_t k = 0; k < FAMILY; k++) {
		const struct wt_contrast *least = NULL;
		size_t smaller = 0;

		/* The one with exactly k smaller ones. */
		for (size_t i = 0; i < FAMILY; i++) {
			smaller = 0;
			for (size_t j = 0; j < FAMILY; j++)
				smaller += family[j].chance < family[i].chance ||
				           (family[j].chance == family[i].chance && j < i);
			if (smaller == k)
				least = &family[i];
		}
		if (!least || least->chance >= alpha / (double)(FAMILY - k))
			return false;
		if (least == &family[at])
			return true;
	}
	return false;
}

static void test_holm(void)
{
	struct made made;
	int differ = 0, apart = 0;

	for (int round = 0; round < 60; round++) {
		make(&made, 1, 0, 6, 1.03);
		if (wt_contrast_judge(made.family, FAMILY, 0.05))
			abort();
		for (size_t i = 0; i < FAMILY; i++) {
			const struct wt_contrast *one = &made.family[i];
			bool is_change = one->verdict != WT_CONTRAST_SAME;

			differ += is_change != is_rejected(made.family, i, 0.05);
			apart += is_change != (one->low > 0 || one->high < 0);
		}
	}
	ok(differ == 0, "Holm's order as by its definition");
	ok(apart == 0, "an interval leaves 0 out where, and only where, a change is told");
}

static int alarms_of(const struct made *made, size_t from)
{
	int alarms = 0;

	for (size_t i = from; i < FAMILY; i++)
		alarms += made->family[i].verdict == WT_CONTRAST_MORE ||
		          made->family[i].verdict == WT_CONTRAST_LESS;
	return alarms;
}

static void test_families(size_t runs, double between, double factor, int least)
{
	struct made made;
	int families = 0, found = 0, wrong = 0;

	for (int round = 0; round < 300; round++) {
		make(&made, runs, between, 0, 1);
		if (wt_contrast_judge(made.family, FAMILY, 0.05))
			abort();
		families += alarms_of(&made, 0) > 0;
	}
	for (int round = 0; round < 100; round++) {
		make(&made, runs, between, 1, factor);
		if (wt_contrast_judge(made.family, FAMILY, 0.05))
			abort();
		found += made.family[0].verdict == WT_CONTRAST_MORE;
		wrong += made.family[0].verdict == WT_CONTRAST_LESS;
	}
	ok(families <= 24,
	   "%zu run(s) a side, %.1f %% between: %d of 300 families with an alarm (5 %%)", runs,
	   100 * between, families);
	ok(found >= least && !wrong, "%.0f %% more: found in %d of 100, never as less",
	   100 * (factor - 1), found);
}

static void test_edges(void)
{
	struct wt_mean one = {.mean = 10, .error = 0.1, .freedom = 20, .count = 30};
	struct wt_mean none = {.mean = 0, .error = 0, .freedom = 20, .count = 30};
	struct wt_mean unsure = {.mean = 10, .error = -1, .count = 3};
	struct wt_contrast family[] = {
	        {.before = {&one, 1}, .after = {&one, 1}, .is_ratio = true},
	        {.before = {&none, 1}, .after = {&one, 1}, .is_ratio = true},
	        {.before = {&none, 1}, .after = {&one, 1}, .margin = 1},
	        {.before = {&one, 1}, .after = {&unsure, 1}, .is_ratio = true},
	        {.before = {&one, 1}, .after = {&one, 0}, .is_ratio = true},
	        {.before = {&one, 1}, .after = {&one, 1}, .is_ratio = true, .why = "asked"},
	};
	double low, high;

	ok(!wt_contrast_judge(family, 6, 0.05), "judged");
	ok(family[0].verdict == WT_CONTRAST_SAME && family[0].chance == 1, "the same is even");
	ok(family[1].verdict == WT_CONTRAST_UNJUDGED && family[1].why,
	   "a ratio to nothing is not judged: %s", family[1].why);
	ok(family[2].verdict == WT_CONTRAST_MORE, "an amount where there was none is more");
	ok(family[3].verdict == WT_CONTRAST_UNJUDGED && family[3].why, "unknown noise: %s",
	   family[3].why);
	ok(family[4].verdict == WT_CONTRAST_UNJUDGED, "no run on one side");
	ok(family[5].verdict == WT_CONTRAST_UNJUDGED && !strcmp(family[5].why, "asked"),
	   "what is not to be judged is not");
	ok(family[2].level == 0.05 / 2 && family[0].level == 0.05,
	   "the others are no part of the family");
	ok(wt_contrast_between(&family[0], 0.1, 0.05, &low, &high) == WT_CONTRAST_NO && low < 0 &&
	           high > 0,
	   "gate: surely not 10 %% more");
	ok(wt_contrast_between(&family[0], 0.001, 0.05, &low, &high) == WT_CONTRAST_OPEN,
	   "gate: 0.1 %% can't be told");
	ok(wt_contrast_between(&family[2], 0.1, 0.05, &low, &high) == WT_CONTRAST_OPEN,
	   "gate: nothing to be a share of");
}

static void test_gate(void)
{
	static const double factors[] = {1, 1.03, 1.05, 1.10};
	int yes[4] = {0}, no[4] = {0};

	for (int f = 0; f < 4; f++)
		for (int round = 0; round < 200; round++) {
			struct made made;
			double low, high;

			make(&made, 1, 0, 1, factors[f]);
			made.family[0].margin = 0;
			if (wt_contrast_judge(made.family, 1, 0.05))
				abort();
			switch (wt_contrast_between(&made.family[0], 0.05, 0.05, &low, &high)) {
			case WT_CONTRAST_YES:
				yes[f]++;
				break;
			case WT_CONTRAST_NO:
				no[f]++;
				break;
			default:
				break;
			}
		}
	ok(yes[0] == 0 && no[0] >= 195, "gate 5 %%, no change: %d passed", no[0]);
	ok(yes[1] <= 2, "gate 5 %%, 3 %% more: %d called worse", yes[1]);
	ok(yes[2] + no[2] <= 30, "gate 5 %%, 5 %% more: %d called anything", yes[2] + no[2]);
	ok(yes[3] >= 195 && no[3] == 0, "gate 5 %%, 10 %% more: %d called worse", yes[3]);
}

int main(void)
{
	test_student();
	test_batches();
	test_holm();
	test_families(1, 0, 1.05, 93);
	test_families(1, 0.002, 1.05, 93);
	test_families(4, 0.01, 1.08, 90);
	test_edges();
	test_gate();
	return tap_done();
}

/*
 * test_profiled.c - active SMs from launches under the range profiler, against kernels whose cycles are made
 * up here: at the greatest clock, at another one, slower in line than alone, with a lead.
 */
#include <math.h>
#include <string.h>

#include "analysis/profiled.h"
#include "tests/tap.h"

#define MOST 1.98
#define PAD 1800.0 /* cycles */
#define KERNELS 12
#define LAUNCHES 20

/* A kernel: alone it takes `cycles`, `sms` of them active; in line it takes `ns`. */
struct kernel {
	double cycles, sms, ns;
};

static double noise(int i, int k)
{
	return sin(12.9898 * i + 78.233 * k); /* -1 to 1 */
}

static struct wt_profiled_sums sums_of(const struct kernel *kernel, double spread)
{
	struct wt_profiled_sums sums = {0};
	double m2 = 0;

	for (int i = 0; i < LAUNCHES; i++) {
		double cycles = kernel->cycles * (1 + spread * noise(i, (int)kernel->cycles));

		wt_profiled_add(&sums, cycles * kernel->sms, cycles + PAD + 50 * noise(i, 7));
	}
	for (int i = 0; i < 400; i++)
		m2 += pow(spread * kernel->ns * noise(i, 3), 2);
	wt_profiled_add_times(&sums, 400, llround(400 * kernel->ns), m2);
	return sums;
}

static struct wt_profiled_clock clock_of(const struct kernel *kernels, int count, double most)
{
	struct wt_profiled_point points[KERNELS];

	for (int i = 0; i < count; i++) {
		struct wt_profiled_sums sums = sums_of(&kernels[i], 0);

		points[i] = (struct wt_profiled_point){wt_profiled_duration_ns(&sums),
		                                       sums.elapsed / LAUNCHES, LAUNCHES};
	}
	return wt_profiled_clock_of(points, (size_t)count, most);
}

static void make(struct kernel *kernels, double clock)
{
	for (int i = 0; i < KERNELS; i++) {
		double ns = 3000 * pow(1.45, i);

		kernels[i] = (struct kernel){ns * clock, 10 + 10 * i, ns};
	}
}

static double off(const struct kernel *kernel, struct wt_profiled_result result)
{
	return fabs(result.active_sms - kernel->sms) / kernel->sms;
}

static void test_plain(void)
{
	struct kernel kernels[KERNELS];
	struct wt_profiled_clock clock;
	double worst = 0, widest = 0, narrowest = 1;

	make(kernels, MOST);
	clock = clock_of(kernels, KERNELS, MOST);
	ok(clock.cycles_per_ns == MOST && fabs(clock.pad_cycles - PAD) < 20, "clock and pad: %.0f",
	   clock.pad_cycles);
	for (int i = 0; i < KERNELS; i++) {
		struct wt_profiled_sums sums = sums_of(&kernels[i], 0);
		struct wt_profiled_result result = wt_profiled_result_of(&sums, &clock);

		worst = fmax(worst, off(&kernels[i], result));
		widest = fmax(widest, result.error_sms / result.active_sms);
		narrowest = fmin(narrowest, result.error_sms / result.active_sms);
	}
	ok(worst < 0.0005, "kernels that are the same in line and alone: exact (%.5f)", worst);
	ok(narrowest >= 0.003 && narrowest < 0.0035 && widest < 0.04,
	   "claimed: 0.3 %% at least, 100 ns of 3 us at most (%.4f, %.4f)", narrowest, widest);
}

/* Clocks locked by somebody: no pad fits the greatest one. */
static void test_locked(void)
{
	struct kernel kernels[KERNELS];
	struct wt_profiled_clock clock;
	double worst = 0;

	make(kernels, 1.2);
	clock = clock_of(kernels, KERNELS, MOST);
	ok(fabs(clock.cycles_per_ns - 1.2) < 0.002 && clock.pad_cycles == 0,
	   "another clock is found (%.4f)", clock.cycles_per_ns);
	for (int i = 0; i < KERNELS; i++) {
		struct wt_profiled_sums sums = sums_of(&kernels[i], 0);

		worst = fmax(worst, off(&kernels[i], wt_profiled_result_of(&sums, &clock)));
	}
	ok(worst < 0.003, "... and the kernels with it (%.5f)", worst);
	clock = clock_of(kernels, KERNELS, 0);
	ok(fabs(clock.cycles_per_ns - 1.2) < 0.002, "... without knowing the greatest");
	clock = clock_of(kernels + 4, 3, MOST);
	ok(clock.cycles_per_ns == MOST && clock.pad_cycles == 0, "three are too few for a slope");
	clock = clock_of(kernels, 0, 0);
	ok(clock.cycles_per_ns == 0, "nothing known");
}

/* In line the SM clock is 1.64 GHz, for some, whose cycles are the same. */
static void test_power(void)
{
	struct kernel kernels[KERNELS];
	struct wt_profiled_clock clock;
	double worst = 0;

	make(kernels, MOST);
	for (int i = 7; i < KERNELS; i++)
		kernels[i].ns = kernels[i].cycles / 1.64;
	clock = clock_of(kernels, KERNELS, MOST);
	ok(clock.cycles_per_ns == MOST && fabs(clock.pad_cycles - PAD) < 50,
	   "they don't move the clock, nor the pad (%.0f)", clock.pad_cycles);
	for (int i = 0; i < KERNELS; i++) {
		struct wt_profiled_sums sums = sums_of(&kernels[i], 0.02);
		struct wt_profiled_result result = wt_profiled_result_of(&sums, &clock);

		worst = fmax(worst,
		             off(&kernels[i], result) * result.active_sms / result.error_sms);
		if (i >= 10)
			ok(off(&kernels[i], result) < 0.005 &&
			           result.error_sms / result.active_sms < 0.025,
			   "their share is that of their own cycles: %.2f +- %.2f, true %.2f",
			   result.active_sms, result.error_sms, kernels[i].sms);
	}
	ok(worst <= 1, "all within what is claimed (%.3f of it)", worst);
}

/* In line 1.3 us pass before the first block: active SM-time is the same, the share is smaller. */
static void test_lead(void)
{
	struct kernel kernels[KERNELS];
	struct wt_profiled_clock clock;
	double worst = 0;

	make(kernels, MOST);
	kernels[6].ns += 1300;
	kernels[9].ns += 1300;
	clock = clock_of(kernels, KERNELS, MOST);
	for (int i = 6; i < KERNELS; i += 3) {
		struct wt_profiled_sums sums = sums_of(&kernels[i], 0);
		struct wt_profiled_result result = wt_profiled_result_of(&sums, &clock);
		double truth = kernels[i].sms * kernels[i].cycles / MOST / kernels[i].ns;

		worst = fmax(worst, fabs(result.active_sms - truth) / result.error_sms);
	}
	ok(worst > 0.3 && worst <= 1, "a lead is within what is claimed (%.3f of it)", worst);
}

static void test_few(void)
{
	struct wt_profiled_clock clock = {MOST, 0, PAD};
	struct wt_profiled_sums sums = {0};
	struct wt_profiled_result result = wt_profiled_result_of(&sums, &clock);

	ok(result.cycles == 0, "no launch");
	wt_profiled_add(&sums, 100 * 19800, 19800 + PAD);
	result = wt_profiled_result_of(&sums, &clock);
	ok(result.cycles == 0 && wt_profiled_duration_ns(&sums) == 0, "none has a time");
	wt_profiled_add_times(&sums, 0, 0, 0);
	ok(wt_profiled_duration_ns(&sums) == 0, "... still none");
	wt_profiled_add_times(&sums, 1, 10000, 0);
	result = wt_profiled_result_of(&sums, &clock);
	ok(fabs(result.active_sms - 100) < 1e-9 && result.error_sms >= 1 && result.error_sms < 2,
	   "one launch: 1 %% at least");
	clock = (struct wt_profiled_clock){0, 0, 0};
	ok(wt_profiled_result_of(&sums, &clock).cycles == 0, "no clock");
	/* Shorter than the pad: what the counters say is of no use, D is. */
	memset(&sums, 0, sizeof(sums));
	wt_profiled_add(&sums, 100 * 1980, PAD - 100);
	wt_profiled_add_times(&sums, 1, 1000, 0);
	clock = (struct wt_profiled_clock){MOST, 0, PAD};
	result = wt_profiled_result_of(&sums, &clock);
	ok(fabs(result.active_sms - 100) < 1e-9 && isfinite(result.error_sms), "less than the pad");
}

int main(void)
{
	test_plain();
	test_locked();
	test_power();
	test_lead();
	test_few();
	return tap_done();
}

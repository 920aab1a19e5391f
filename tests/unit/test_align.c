/*
 * test_align.c - clocks found back: collectives are simulated with a clock of each rank, off by a known offset and
 * drift; what is found must be within the error that is shown, and nothing may be found where nothing can be told.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/align.h"
#include "tests/tap.h"

#define EVENTS 400
#define BASE_NS INT64_C(1700000000000000000)

static uint64_t seed = 1;

/* Knuth's constants; 0 to below `bound`. */
static int64_t draw(int64_t bound)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)((seed >> 33) % (uint64_t)bound);
}

struct job {
	struct wt_align_event a[EVENTS], b[EVENTS];
	int64_t true_end_ns[EVENTS];
};

struct plan {
	int64_t offset_ns; /* of b's clock: b tells t + offset + drift x (t - base) */
	double drift;
	int64_t step_jitter_ns,
	        end_jitter_ns; /* from step to step; of a rank's end in a collective */
};

static int64_t told(const struct plan *plan, int64_t t_ns)
{
	return t_ns + plan->offset_ns + (int64_t)(plan->drift * (double)(t_ns - BASE_NS));
}

/* A step of 10 ms with two collectives; b comes up to 2 ms late to each. */
static void simulate(const struct plan *plan, struct job *job)
{
	int64_t now_ns = BASE_NS;

	for (int i = 0; i < EVENTS; i++) {
		int64_t start_ns, late_ns = draw(2000000), transfer_ns = 200000 + draw(20000);
		int64_t end_ns;

		now_ns += 5000000 + (plan->step_jitter_ns ? draw(plan->step_jitter_ns) : 0);
		start_ns = now_ns;
		end_ns = start_ns + late_ns + transfer_ns;
		job->true_end_ns[i] = end_ns;
		job->a[i] = (struct wt_align_event){
		        start_ns, end_ns + (plan->end_jitter_ns ? draw(plan->end_jitter_ns) : 0),
		        (uint32_t)i % 2};
		job->b[i] = (struct wt_align_event){
		        told(plan, start_ns + late_ns),
		        told(plan, end_ns + (plan->end_jitter_ns ? draw(plan->end_jitter_ns) : 0)),
		        (uint32_t)i % 2};
	}
}

/* The worst that a time of b is off after it was moved. */
static int64_t worst_ns(const struct plan *plan, const struct job *job,
                        const struct wt_align *align)
{
	int64_t worst = 0;

	for (int i = 0; i < EVENTS; i++) {
		int64_t off_ns =
		        wt_align_time(align, told(plan, job->true_end_ns[i])) - job->true_end_ns[i];

		worst = llabs(off_ns) > worst ? llabs(off_ns) : worst;
	}
	return worst;
}

static void test_planted(void)
{
	static struct job job;
	int wrong = 0, refused = 0, beyond = 0, bad_limit = 0, tried = 0;

	for (int round = 0; round < 300; round++) {
		struct plan plan = {.offset_ns = draw(INT64_C(20000000000)) - INT64_C(10000000000),
		                    .drift = (double)(draw(200001) - 100000) * 1e-9,
		                    .step_jitter_ns = 1000 + draw(400000),
		                    .end_jitter_ns = draw(20000)};
		const struct wt_align_run a = {job.a, EVENTS}, b = {job.b, EVENTS};
		struct wt_align align;

		if (round % 5 == 0)
			plan.drift = 0;
		simulate(&plan, &job);
		if (wt_align_find(&a, &b, false, &align))
			continue;
		tried++;
		refused += align.reason != NULL;
		wrong += align.shift != 0;
		beyond += worst_ns(&plan, &job, &align) > align.error_ns;
		bad_limit += align.limit_ns < worst_ns(&plan, &job, &align);
	}
	ok(tried == 300 && !refused && !wrong, "300 pairs of clocks: %d refused, %d shifted",
	   refused, wrong);
	ok(!beyond, "found back within the error that is shown: %d were not", beyond);
	ok(!bad_limit, "and within what it can be at most: %d were not", bad_limit);
}

static void test_half(void)
{
	static struct job job;
	const struct plan plan = {
	        .offset_ns = 123456789, .step_jitter_ns = 300000, .end_jitter_ns = 3000};
	struct wt_align align;

	simulate(&plan, &job);
	for (int first = 0; first <= 150; first += 50) {
		const struct wt_align_run a = {job.a, EVENTS}, b = {job.b + first, EVENTS - 200};

		ok(!wt_align_find(&a, &b, false, &align) && !align.reason && align.shift == first &&
		           worst_ns(&plan, &job, &align) <= align.error_ns,
		   "half a run, from %d on: %s", first, align.reason ? align.reason : "found");
	}
	{
		const struct wt_align_run a = {job.a + 100, 200}, b = {job.b, EVENTS};

		ok(!wt_align_find(&a, &b, false, &align) && !align.reason && align.shift == -100,
		   "half of the reference");
	}
}

/* Why nothing was found, or "found". */
static const char *reason_of(const struct wt_align_run *a, const struct wt_align_run *b,
                             struct wt_align *align)
{
	if (wt_align_find(a, b, false, align))
		return "out of memory";
	return align->reason ? align->reason : "found";
}

static void test_refusals(void)
{
	const char *reason;
	static struct job job, other;
	struct plan plan = {.step_jitter_ns = 300000, .end_jitter_ns = 3000};
	struct wt_align_run a = {job.a, EVENTS}, b = {job.b, EVENTS};
	struct wt_align align;

	simulate(&plan, &job);
	b.count = 3;
	ok(!wt_align_find(&a, &b, false, &align) && align.reason, "three collectives are too few");
	b.count = EVENTS;
	job.b[10].name = 7;
	ok(!wt_align_find(&a, &b, false, &align) && align.reason, "another kernel among them");
	job.b[10].name = 0;
	/* Two jobs with as many collectives: nothing fits. */
	simulate(&plan, &other);
	b.events = other.b;
	reason = reason_of(&a, &b, &align);
	ok(align.reason != NULL, "of another job: %s", reason);
	/* Steps like clockwork: which is which can't be told where one has fewer. */
	plan.step_jitter_ns = 0;
	simulate(&plan, &job);
	for (int i = 0; i < EVENTS; i++) {
		job.a[i] = (struct wt_align_event){BASE_NS + i * 1000000,
		                                   BASE_NS + i * 1000000 + 500000, 0};
		job.b[i] = job.a[i];
	}
	b = (struct wt_align_run){job.b, EVENTS - 5};
	reason = reason_of(&a, &b, &align);
	ok(align.reason != NULL, "like clockwork, and five fewer: %s", reason);
	b.count = EVENTS;
	ok(!wt_align_find(&a, &b, false, &align) && !align.reason && align.shift == 0 &&
	           align.offset_ns == 0,
	   "like clockwork, and as many: the first is the first");
	/* The clock of b is set back by 5 ms in the middle. */
	plan.step_jitter_ns = 300000;
	simulate(&plan, &job);
	for (int i = EVENTS / 2; i < EVENTS; i++) {
		job.b[i].start_ns -= 5000000;
		job.b[i].end_ns -= 5000000;
	}
	reason = reason_of(&a, &b, &align);
	ok(align.reason != NULL, "a clock that was set: %s", reason);
}

int main(void)
{
	struct wt_align align = {.offset_ns = 5, .middle_ns = 1000, .drift = -1e-6};
	int64_t last_ns = INT64_MIN;
	bool goes_back = false;

	test_planted();
	test_half();
	test_refusals();
	for (int64_t t_ns = -3000000; t_ns < 3000000; t_ns += 7) {
		goes_back = goes_back || wt_align_time(&align, t_ns) < last_ns;
		last_ns = wt_align_time(&align, t_ns);
	}
	ok(!goes_back, "moved times keep their order");
	return tap_done();
}

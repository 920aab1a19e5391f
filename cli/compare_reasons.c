/*
 * compare_reasons.c - how far two sides can be compared, and what speaks against it: see compare.h.
 *
 * The score is a product: each reason takes its part. A reason that takes all of it says that numbers of the
 * two sides are of different things; then nothing is judged. Single-threaded; never blocks.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"

#define CLOCK_APART 0.005 /* SM clocks that differ by less are one */
#define EVIDENCE_APART 0.05 /* share of kernels' SM-time that is measured */
#define LOST_MOST 0.05 /* of the kernels: beyond it nothing is judged */
#define LAUNCHES_APART 0.02
#define MATCHED_LEAST 0.5

struct judging {
	struct wt_compare *compare;
	int rc;
};

static void add(struct judging *judging, double factor, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
static void add(struct judging *judging, double factor, const char *format, ...)
{
	struct wt_compare *compare = judging->compare;
	struct wt_compare_reason *more =
	        realloc(compare->reasons, (compare->reason_count + 1) * sizeof(*more));
	va_list ap;
	char *text = NULL;

	if (more)
		compare->reasons = more;
	va_start(ap, format);
	if (!more || vasprintf(&text, format, ap) < 0) {
		judging->rc = -ENOMEM;
		text = NULL;
	}
	va_end(ap);
	if (judging->rc)
		return;
	more[compare->reason_count++] = (struct wt_compare_reason){factor, text};
	compare->score *= factor;
	if (factor == 0 && !compare->blocked)
		compare->blocked = text;
}

/* ---- one run by the first one before */

static void judge_devices(struct judging *judging, const struct wt_compare_facts *a,
                          const struct wt_compare_facts *b)
{
	if (strcmp(a->gpu, b->gpu) != 0)
		add(judging, 0, "different GPUs: %s and %s", a->gpu, b->gpu);
	else if (a->sms != b->sms)
		add(judging, 0, "different numbers of SMs: %" PRId64 " and %" PRId64, a->sms,
		    b->sms);
	if (strcmp(a->ranks, b->ranks) != 0 || a->world_size != b->world_size)
		add(judging, 0, "different ranks: %s of %" PRId64 " and %s of %" PRId64,
		    a->ranks[0] ? a->ranks : "none", a->world_size, b->ranks[0] ? b->ranks : "none",
		    b->world_size);
	else if (a->processes != b->processes)
		add(judging, 0.9, "different numbers of processes: %" PRId64 " and %" PRId64,
		    a->processes, b->processes);
	if (a->driver != b->driver)
		add(judging, 0.9,
		    "different drivers: CUDA %" PRId64 ".%" PRId64 " and %" PRId64 ".%" PRId64,
		    a->driver / 1000, a->driver % 1000 / 10, b->driver / 1000,
		    b->driver % 1000 / 10);
}

static void judge_clock(struct judging *judging, const struct wt_compare_facts *a,
                        const struct wt_compare_facts *b)
{
	double shift;

	if (a->clock_mhz <= 0 || b->clock_mhz <= 0)
		return;
	shift = fabs(b->clock_mhz / a->clock_mhz - 1);
	if (shift > judging->compare->clock_shift)
		judging->compare->clock_shift = shift;
	if (shift > CLOCK_APART)
		add(judging, shift > 0.03 ? 0.6 : 0.9,
		    "different SM clocks: %.0f and %.0f MHz, which kernels may follow by %.1f %%",
		    a->clock_mhz, b->clock_mhz, 100 * shift);
}

static void judge_evidence(struct judging *judging, const struct wt_compare_facts *a,
                           const struct wt_compare_facts *b)
{
	if (fabs(a->measured_share - b->measured_share) <= EVIDENCE_APART)
		return;
	judging->compare->idle_why = "idle SM-time is measured in one and modelled in the other";
	add(judging, 0.8,
	    "different evidence: %.0f %% of the kernels' SM-time is measured in one, %.0f %% in the"
	    " other, so that idle SM-time can't be compared",
	    100 * a->measured_share, 100 * b->measured_share);
}

/* ---- one run by itself */

static void judge_run(struct judging *judging, const struct wt_compare_run *run)
{
	const struct wt_compare_facts *facts = &run->facts;
	double all = (double)facts->kernels + (double)facts->kernels_lost;
	double lost = all > 0 ? (double)facts->kernels_lost / all : 0;

	if (facts->incomplete[0])
		add(judging, 0, "run %s was not recorded in full: %s", run->id, facts->incomplete);
	if (lost > LOST_MOST || facts->kernels_unobserved > 0)
		add(judging, 0,
		    "run %s lost %" PRId64 " kernels and %" PRId64
		    " graph launches: what they took is"
		    " not known",
		    run->id, facts->kernels_lost, facts->kernels_unobserved);
	else if (facts->kernels_lost > 0)
		add(judging, 1 - 10 * lost > 0.5 ? 1 - 10 * lost : 0.5,
		    "run %s lost %" PRId64 " kernels", run->id, facts->kernels_lost);
	if (facts->processes_live)
		add(judging, 0.9, "run %s goes on", run->id);
	if (facts->processes_cut)
		add(judging, 0.9,
		    "run %s ended in the middle: %" PRId64 " of its processes %s killed", run->id,
		    facts->processes_cut, facts->processes_cut == 1 ? "was" : "were");
	if (facts->throttle[0])
		add(judging, 0.8, "run %s had its clocks throttled: %s", run->id, facts->throttle);
	if (facts->clock_mhz <= 0)
		add(judging, 0.95, "the SM clock of run %s is not known", run->id);
	if (!run->has_steps)
		add(judging, 0.6,
		    "run %s has no steps (%s): kernels are compared by launch, not by"
		    " step",
		    run->id, run->steps_reason);
	else if (run->blocks < WT_NOISE_LEAST)
		add(judging, 0.5, "run %s has %zu steady steps: too few to tell noise (%d)",
		    run->id, run->steps, WT_NOISE_LEAST);
}

/* ---- the sides */

static const struct wt_compare_run *run_at(const struct wt_compare *compare, size_t i)
{
	return i < compare->before.count ? &compare->before.runs[i]
	                                 : &compare->after.runs[i - compare->before.count];
}

static void judge_twins(struct judging *judging)
{
	const struct wt_compare *compare = judging->compare;
	size_t count = compare->before.count + compare->after.count;

	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++) {
			const struct wt_compare_run *a = run_at(compare, i),
			                            *b = run_at(compare, k);

			if (!strcmp(a->id, b->id))
				add(judging, 0,
				    "run %s is there twice: it has no noise to judge by", a->id);
			else if (a->facts.first_ns && a->facts.first_ns == b->facts.first_ns)
				add(judging, 0,
				    "runs %s and %s are of the same launches: they have no noise to"
				    " judge by",
				    a->id, b->id);
			else
				continue;
			return;
		}
}

static double launches_of(const struct wt_compare_side *side)
{
	double sum = 0;

	for (size_t i = 0; i < side->count; i++)
		sum += (double)side->runs[i].kernels_in_steps /
		       (double)(side->runs[i].has_steps ? side->runs[i].steps : 1);
	return sum / (double)side->count;
}

static void judge_programs(struct judging *judging)
{
	const struct wt_compare *compare = judging->compare;
	double before = launches_of(&compare->before), after = launches_of(&compare->after);

	if (compare->is_per_step && fabs(after - before) > LAUNCHES_APART * before)
		add(judging, 0.9, "different numbers of kernels a step: %.1f and %.1f", before,
		    after);
	if (compare->matched_share < MATCHED_LEAST)
		add(judging, 0.7,
		    "kernels with %.0f %% of the time have no sure partner: another program,"
		    " or one that was compiled otherwise",
		    100 * (1 - compare->matched_share));
}

int wt_compare_judge_sides(struct wt_compare *compare)
{
	struct judging judging = {.compare = compare};
	size_t count = compare->before.count + compare->after.count;

	compare->score = 1;
	judge_twins(&judging);
	for (size_t i = 1; i < count; i++) {
		const struct wt_compare_facts *a = &run_at(compare, 0)->facts;
		const struct wt_compare_facts *b = &run_at(compare, i)->facts;

		judge_devices(&judging, a, b);
		judge_clock(&judging, a, b);
		judge_evidence(&judging, a, b);
	}
	for (size_t i = 0; i < count; i++)
		judge_run(&judging, run_at(compare, i));
	judge_programs(&judging);
	return judging.rc;
}

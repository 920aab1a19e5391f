/*
 * test_overlap.c - shares of kernels that overlap, from records in any order: against an account
 * kept nanosecond by nanosecond, whatever the order, the watermark and the restarts.
 */
#include <errno.h>

#include "analysis/overlap.h"
#include "tests/tap.h"

#define KERNELS_MAX 64

static struct wt_sweep_share out[KERNELS_MAX];
static int times_out[KERNELS_MAX];
static int refused;

static int on_share(void *arg, const struct wt_overlap_kernel *kernel,
                    const struct wt_sweep_share *share)
{
	(void)arg;
	times_out[kernel->owner]++;
	if (share)
		out[kernel->owner] = *share;
	else
		refused++;
	return 0;
}

static uint64_t random_state = 20261129;

static int64_t draw(int64_t below)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (int64_t)((z ^ (z >> 31)) % (uint64_t)below);
}

static struct wt_overlap *make(uint32_t sms)
{
	struct wt_overlap *overlap;

	if (wt_overlap_create(sms, on_share, NULL, &overlap))
		abort();
	return overlap;
}

static void forget(void)
{
	memset(out, 0, sizeof(out));
	memset(times_out, 0, sizeof(times_out));
	refused = 0;
}

/* ---- by hand */

static struct wt_overlap_kernel kernel(int64_t id, int64_t start_ns, int64_t end_ns, uint16_t sms)
{
	return (struct wt_overlap_kernel){.id = id,
	                                  .owner = id,
	                                  .start_ns = start_ns,
	                                  .end_ns = end_ns,
	                                  .sms = sms,
	                                  .is_judged = true};
}

static int add(struct wt_overlap *overlap, struct wt_overlap_kernel k)
{
	return wt_overlap_add(overlap, &k);
}

/* 10 SMs. A 0-100 on 4, B 40-160 on 5, given the wrong way round; C 160-200 on 1. */
static void test_by_hand(void)
{
	struct wt_overlap *overlap = make(10);

	forget();
	is_i64(wt_overlap_settled_ns(overlap), INT64_MIN, "nothing is settled yet");
	is_i64(wt_overlap_settle(overlap, 1000), 0, "settling nothing");
	is_i64(add(overlap, kernel(0, 40, 160, 5)), 0, "the later one first");
	is_i64(add(overlap, kernel(1, 0, 100, 4)), 0, "then the earlier one");
	is_i64((int64_t)wt_overlap_waiting(overlap), 2, "both wait");
	is_i64(wt_overlap_settle(overlap, 100), 0, "up to the end of one");
	is_i64(times_out[1], 1, "which is out");
	is_i64(times_out[0], 0, "the other is not");
	is_i64(out[1].underfill_sm_ns, 40 * 6 + 60 / 2, "its share: alone, and half of one SM");
	is_i64(wt_overlap_settled_ns(overlap), 100, "settled");
	is_i64((int64_t)wt_overlap_waiting(overlap), 1, "one is left");
	is_i64((int64_t)wt_overlap_held(overlap), 0, "in the sweep");
	is_i64(add(overlap, kernel(2, 99, 130, 1)), -ERANGE, "one that starts before is late");
	is_i64(add(overlap, kernel(3, 160, 200, 1)), 0, "one that starts later is not");
	is_i64(wt_overlap_settle(overlap, INT64_MAX), 0, "all");
	is_i64(out[0].underfill_sm_ns, 60 / 2 + 60 * 5, "the share of the other");
	is_i64(out[0].active_sm_ns, 600, "what it had");
	is_i64(out[3].underfill_sm_ns, 40 * 9, "and of the last");
	is_i64(wt_overlap_settled_ns(overlap), 200, "up to the last end, not to the end of time");
	is_i64(add(overlap, kernel(4, 200, 210, 1)), 0, "so that it can go on");
	wt_overlap_destroy(overlap);
	is_i64(wt_overlap_create(0, on_share, NULL, &overlap), -EINVAL, "no SMs");
	is_i64(wt_overlap_create(65536, on_share, NULL, &overlap), -EINVAL, "too many");
}

static void test_refused(void)
{
	struct wt_overlap *overlap = make(132);
	struct wt_overlap_kernel bad = kernel(0, 5, 10, 1);

	forget();
	bad.wave_sm_ns = bad.wave_max_sm_ns = 6;
	add(overlap, bad);
	add(overlap, kernel(1, 6, 10, 1));
	is_i64(wt_overlap_settle(overlap, 100), 0, "a kernel with more wave than SM-time");
	is_i64(refused, 1, "is refused");
	is_i64(times_out[1], 1, "the others go on");
	forget();
	for (int64_t i = 0; i < 129; i++) {
		struct wt_overlap_kernel k = kernel(i + 2, 200 + i, 1000, 1);

		k.owner = i % KERNELS_MAX;
		add(overlap, k);
	}
	is_i64(wt_overlap_settle(overlap, INT64_MAX), 0, "129 at a time");
	is_i64(refused, 1, "one of them is refused");
	wt_overlap_destroy(overlap);
}

static void test_bounds(void)
{
	struct wt_overlap *overlap = make(4);

	forget();
	for (int i = 0; i < 40; i++)
		add(overlap, kernel(i, 1000 - 10 * i, 1005 - 10 * i, 1));
	is_i64(wt_overlap_until_held(overlap, 40), INT64_MIN, "no more than that are held");
	is_i64(wt_overlap_settle(overlap, wt_overlap_until_held(overlap, 15)), 0, "forced");
	is_i64((int64_t)wt_overlap_held(overlap), 15, "to what is allowed");
	is_i64(wt_overlap_settle(overlap, wt_overlap_until_held(overlap, 0)), 0, "to none");
	is_i64((int64_t)wt_overlap_held(overlap), 0, "none");
	wt_overlap_destroy(overlap);
}

/* ---- random programs */

struct program {
	uint32_t sms;
	int count;
	struct wt_overlap_kernel kernels[KERNELS_MAX]; /* by start */
	int order[KERNELS_MAX]; /* of arrival */
	int64_t wall_ns;
};

static void make_program(struct program *p)
{
	int64_t at = 0, spread = 1 + draw(40), jitter = 1 + draw(120);
	int64_t key[KERNELS_MAX];

	p->sms = (uint32_t)(1 + draw(12));
	p->count = (int)draw(KERNELS_MAX + 1);
	p->wall_ns = 0;
	for (int i = 0; i < p->count; i++) {
		struct wt_overlap_kernel *k = &p->kernels[i];
		int64_t room;

		at += draw(spread);
		*k = kernel(0, at, at + 1 + draw(60), (uint16_t)(1 + draw(p->sms)));
		k->owner = i;
		k->is_judged = draw(5) != 0;
		k->is_collective = draw(6) == 0;
		room = (k->end_ns - k->start_ns) * k->sms + 1;
		k->wave_max_sm_ns = k->is_judged ? draw(room) : 0;
		k->wave_sm_ns = draw(k->wave_max_sm_ns + 1);
		if (k->end_ns > p->wall_ns)
			p->wall_ns = k->end_ns;
		/* Kernels come some time after their end, out of order by up to `jitter`. */
		key[i] = k->start_ns + draw(jitter);
		p->order[i] = i;
		for (int j = i; j > 0 && key[p->order[j - 1]] > key[i]; j--) {
			p->order[j] = p->order[j - 1];
			p->order[j - 1] = i;
		}
	}
	for (int i = 0; i < p->count; i++)
		p->kernels[p->order[i]].id = i;
}

/* The whole, nanosecond by nanosecond; parts of single kernels as fractions. */
struct account {
	int64_t active, underfill, unjudged, comm, gap, wave, wave_max;
	double underfill_of[KERNELS_MAX], unjudged_of[KERNELS_MAX], comm_of[KERNELS_MAX];
	int64_t wave_of[KERNELS_MAX];
};

static void keep_instant(const struct program *p, int64_t t, struct account *a, int64_t *alone_ns)
{
	int here[KERNELS_MAX], count = 0, wanted = 0, compute = 0;

	for (int i = 0; i < p->count; i++)
		if (p->kernels[i].start_ns <= t && t < p->kernels[i].end_ns) {
			here[count++] = i;
			wanted += p->kernels[i].sms;
			compute += !p->kernels[i].is_collective;
		}
	if (!count) {
		a->gap += p->sms;
		return;
	}
	for (int j = 0; j < count; j++) {
		const struct wt_overlap_kernel *k = &p->kernels[here[j]];
		double idle = (double)p->sms - wanted;

		if (wanted > (int)p->sms) {
			a->unjudged_of[here[j]] += (double)p->sms * k->sms / wanted;
			continue;
		}
		if (!compute)
			a->comm_of[here[j]] += idle / count;
		else if (!k->is_collective)
			a->underfill_of[here[j]] += idle / compute;
		if (k->is_judged) {
			a->active += k->sms;
			alone_ns[here[j]]++;
		} else {
			a->unjudged += k->sms;
			a->unjudged_of[here[j]] += k->sms;
		}
	}
	if (wanted > (int)p->sms)
		a->unjudged += p->sms;
	else if (compute)
		a->underfill += (int)p->sms - wanted;
	else
		a->comm += (int)p->sms - wanted;
}

static void keep_account(const struct program *p, struct account *a)
{
	int64_t alone_ns[KERNELS_MAX] = {0};

	memset(a, 0, sizeof(*a));
	for (int64_t t = 0; t < p->wall_ns; t++)
		keep_instant(p, t, a, alone_ns);
	for (int i = 0; i < p->count; i++) {
		const struct wt_overlap_kernel *k = &p->kernels[i];
		int64_t whole = k->end_ns - k->start_ns;

		a->wave_of[i] = k->wave_sm_ns * alone_ns[i] / whole;
		a->wave += a->wave_of[i];
		a->wave_max += k->wave_max_sm_ns * alone_ns[i] / whole;
	}
	a->active -= a->wave;
}

/* Nothing that starts before this is missing once the first `given` have come. */
static int64_t watermark(const struct program *p, int given)
{
	int64_t until = INT64_MAX;

	for (int i = given; i < p->count; i++)
		if (p->kernels[p->order[i]].start_ns < until)
			until = p->kernels[p->order[i]].start_ns;
	return until;
}

/* A new one in the place of `overlap`, from what a run file would have. */
static struct wt_overlap *restart(const struct program *p, int given, struct wt_overlap *overlap)
{
	int64_t settled_ns = wt_overlap_settled_ns(overlap), low_id = wt_overlap_low_id(overlap);
	struct wt_overlap *fresh = make(p->sms);

	wt_overlap_destroy(overlap);
	for (int i = given - 1; i >= 0; i--)
		if (p->kernels[p->order[i]].id >= low_id &&
		    wt_overlap_restore(fresh, &p->kernels[p->order[i]], settled_ns))
			abort();
	if (wt_overlap_restore_end(fresh, settled_ns, low_id) ||
	    wt_overlap_settled_ns(fresh) != settled_ns)
		abort();
	return fresh;
}

static int restarts, low_ids;

/* The number of kernels that were late. */
static int run_program(const struct program *p, int restart_one_in)
{
	struct wt_overlap *overlap = make(p->sms);
	int late = 0;

	for (int i = 0; i < p->count; i++) {
		late += wt_overlap_add(overlap, &p->kernels[p->order[i]]) != 0;
		if (draw(3))
			continue;
		if (wt_overlap_settle(overlap, watermark(p, i + 1) - draw(20)) ||
		    wt_overlap_mark(overlap, i + 1))
			abort();
		low_ids += wt_overlap_low_id(overlap) > 0;
		if (restart_one_in && draw(restart_one_in) == 0) {
			overlap = restart(p, i + 1, overlap);
			restarts++;
		}
	}
	if (wt_overlap_settle(overlap, INT64_MAX) || wt_overlap_waiting(overlap))
		abort();
	wt_overlap_destroy(overlap);
	return late;
}

static bool is_right(const struct program *p, const struct account *a)
{
	struct wt_sweep_share sum = {0};

	for (int i = 0; i < p->count; i++) {
		const struct wt_sweep_share *s = &out[i];
		double slack = 2.0 * p->count + 1; /* a remainder for each slice */

		sum.active_sm_ns += s->active_sm_ns;
		sum.underfill_sm_ns += s->underfill_sm_ns;
		sum.wave_sm_ns += s->wave_sm_ns;
		sum.wave_max_sm_ns += s->wave_max_sm_ns;
		sum.unjudged_sm_ns += s->unjudged_sm_ns;
		sum.comm_sm_ns += s->comm_sm_ns;
		if (times_out[i] != 1 || s->wave_sm_ns != a->wave_of[i] ||
		    fabs((double)s->underfill_sm_ns - a->underfill_of[i]) > slack ||
		    fabs((double)s->unjudged_sm_ns - a->unjudged_of[i]) > slack ||
		    fabs((double)s->comm_sm_ns - a->comm_of[i]) > slack)
			return false;
	}
	return sum.active_sm_ns == a->active && sum.underfill_sm_ns == a->underfill &&
	       sum.wave_sm_ns == a->wave && sum.wave_max_sm_ns == a->wave_max &&
	       sum.unjudged_sm_ns == a->unjudged && sum.comm_sm_ns == a->comm && !refused &&
	       a->active + a->underfill + a->wave + a->unjudged + a->comm + a->gap ==
	               p->sms * p->wall_ns;
}

static void test_random(void)
{
	int wrong = 0, differ = 0, late = 0, again = 0;

	for (int round = 0; round < 3000; round++) {
		struct wt_sweep_share once[KERNELS_MAX];
		struct program program;
		struct account account;

		make_program(&program);
		keep_account(&program, &account);
		forget();
		late += run_program(&program, 0);
		wrong += !is_right(&program, &account);
		memcpy(once, out, sizeof(once));
		forget();
		late += run_program(&program, 2);
		again += !is_right(&program, &account);
		differ += memcmp(once, out, sizeof(once)) != 0;
	}
	is_i64(wrong, 0, "3,000 programs, records out of order: exact, each kernel once");
	is_i64(again, 0, "also where it was stopped in between");
	is_i64(differ, 0, "and the same to the last SM-nanosecond when it was stopped in between");
	is_i64(late, 0, "within the watermark no kernel is late");
	ok(restarts > 5000 && low_ids > 5000, "%d restarts, %d of them did not begin at the first",
	   restarts, low_ids);
}

int main(void)
{
	test_by_hand();
	test_refused();
	test_bounds();
	test_random();
	return tap_done();
}

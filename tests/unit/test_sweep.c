/*
 * test_sweep.c - SM-time by time: cases worked out by hand, and random programs against an
 * account kept nanosecond by nanosecond.
 */
#include <errno.h>

#include "analysis/sweep.h"
#include "tests/tap.h"

#define KERNELS_MAX 256
#define GAPS_MAX 512

/* What a sweep put out. */
struct seen {
	struct wt_sweep_share share[KERNELS_MAX];
	int kernel_count;
	int ended[KERNELS_MAX]; /* ids in order */
	struct wt_sweep_gap gap[GAPS_MAX];
	int gap_count;
	int fail_after; /* the callback that fails, counted down; 0: none */
};

static struct seen seen;
static struct wt_sweep sweep;

static int on_kernel(void *arg, int64_t id, const struct wt_sweep_share *share)
{
	struct seen *to = arg;

	if (to->fail_after && --to->fail_after == 0)
		return -EIO;
	to->share[id] = *share;
	to->ended[to->kernel_count++] = (int)id;
	return 0;
}

static int on_gap(void *arg, const struct wt_sweep_gap *gap)
{
	struct seen *to = arg;

	if (to->fail_after && --to->fail_after == 0)
		return -EIO;
	to->gap[to->gap_count++] = *gap;
	return 0;
}

static void begin(uint32_t sms, int64_t start_ns)
{
	const struct wt_sweep_output output = {.kernel = on_kernel, .gap = on_gap, .arg = &seen};

	memset(&seen, 0, sizeof(seen));
	if (wt_sweep_init(&sweep, sms, start_ns, &output))
		abort();
}

static struct wt_sweep_kernel kernel(int64_t id, int64_t start_ns, int64_t end_ns, uint32_t sms)
{
	return (struct wt_sweep_kernel){.id = id,
	                                .start_ns = start_ns,
	                                .end_ns = end_ns,
	                                /* Without overflow, for times that can't be. */
	                                .duration_ns =
	                                        (int64_t)((uint64_t)end_ns - (uint64_t)start_ns),
	                                .sms = sms,
	                                .is_judged = true};
}

static int add(struct wt_sweep_kernel k)
{
	return wt_sweep_add(&sweep, &k);
}

static int64_t sum(const struct wt_sweep_share *share)
{
	return share->active_sm_ns + share->underfill_sm_ns + share->wave_sm_ns +
	       share->unjudged_sm_ns + share->comm_sm_ns;
}

/* ---- by hand */

/* 4 SMs. A 0-100 on all of them, wave 60; B 150-200 on 1; the window is -10 to 230. */
static void test_one_after_the_other(void)
{
	struct wt_sweep_kernel a = kernel(0, 0, 100, 4);

	a.wave_sm_ns = 60;
	a.wave_max_sm_ns = 90;
	a.tag = 77;
	begin(4, -10);
	is_i64(add(a), 0, "a kernel");
	is_i64(add(kernel(1, 150, 200, 1)), 0, "another");
	is_i64(wt_sweep_finish(&sweep, 230), 0, "the end");
	is_i64(seen.share[0].active_sm_ns, 340, "A: active");
	is_i64(seen.share[0].wave_sm_ns, 60, "A: wave");
	is_i64(seen.share[0].wave_max_sm_ns, 90, "A: at most");
	is_i64(seen.share[0].underfill_sm_ns, 0, "A: no underfill");
	is_i64(seen.share[1].active_sm_ns, 50, "B: active");
	is_i64(seen.share[1].underfill_sm_ns, 150, "B: underfill");
	is_i64(seen.gap_count, 3, "three gaps");
	is_i64(seen.gap[0].start_ns, -10, "the first from the start of the window");
	is_i64(seen.gap[0].before_id, WT_SWEEP_NO_KERNEL, "after no kernel");
	is_i64(seen.gap[0].after_id, 0, "before A");
	is_i64(seen.gap[1].end_ns - seen.gap[1].start_ns, 50, "50 between them");
	is_i64(seen.gap[1].before_id, 0, "after A");
	is_i64((int64_t)seen.gap[1].before_tag, 77, "with the tag of A");
	is_i64(seen.gap[1].after_id, 1, "before B");
	is_i64(seen.gap[2].end_ns, 230, "the last to the end of the window");
	is_i64(seen.gap[2].after_id, WT_SWEEP_NO_KERNEL, "before no kernel");
	is_i64(sweep.gap_ns, 90, "90 without a kernel");
	is_i64(sum(&sweep.total) + 4 * sweep.gap_ns, 4 * 240, "it sums");
}

/*
 * 10 SMs. A 0-100 on 4, B 40-160 on 5: together they leave one, split evenly.
 * A alone 40 ns: 6 idle. Both 60 ns: 1 idle. B alone 60 ns: 5 idle.
 */
static void test_beside_each_other(void)
{
	begin(10, 0);
	add(kernel(0, 0, 100, 4));
	add(kernel(1, 40, 160, 5));
	wt_sweep_finish(&sweep, 160);
	is_i64(seen.share[0].underfill_sm_ns, 240 + 30,
	       "underfill of A: alone, and half of one SM");
	is_i64(seen.share[1].underfill_sm_ns, 30 + 300, "underfill of B");
	is_i64(seen.share[0].active_sm_ns, 400, "A keeps its SMs");
	is_i64(seen.share[1].active_sm_ns, 600, "B keeps its SMs");
	is_i64(sweep.total.unjudged_sm_ns, 0, "nothing is unjudged");
	is_i64(seen.gap_count, 0, "no gap");
}

/* 10 SMs. A 0-100 on 10 with wave 200, B 80-180 on 5: 20 ns of both can't be judged. */
static void test_sharing(void)
{
	struct wt_sweep_kernel a = kernel(0, 0, 100, 10);

	a.wave_sm_ns = 200;
	a.wave_max_sm_ns = 400;
	begin(10, 0);
	add(a);
	add(kernel(1, 80, 180, 5));
	wt_sweep_finish(&sweep, 180);
	is_i64(seen.share[0].unjudged_sm_ns, 133, "A: its part of the time together");
	is_i64(seen.share[1].unjudged_sm_ns, 67, "B: the rest");
	is_i64(seen.share[0].wave_sm_ns, 160, "wave of the time alone");
	is_i64(seen.share[0].wave_max_sm_ns, 320, "at most");
	is_i64(seen.share[0].active_sm_ns, 640, "active of the time alone");
	is_i64(seen.share[1].underfill_sm_ns, 400, "underfill of the time alone");
	is_i64(sum(&sweep.total), 1800, "it sums");
}

/* 10 SMs. A collective on 2 from 0 to 100; a kernel on 5 from 50 to 70. */
static void test_collectives(void)
{
	struct wt_sweep_kernel nccl = kernel(0, 0, 100, 2);

	nccl.is_collective = true;
	begin(10, 0);
	add(nccl);
	add(kernel(1, 50, 70, 5));
	wt_sweep_finish(&sweep, 100);
	is_i64(seen.share[0].comm_sm_ns, 8 * 80, "the SMs it leaves while it is alone");
	is_i64(seen.share[0].active_comm_sm_ns, 200, "its own count as active, apart");
	is_i64(seen.share[0].active_sm_ns, 200, "and in the sum");
	is_i64(seen.share[1].underfill_sm_ns, 3 * 20, "beside a kernel the rest is the kernel's");
	is_i64(seen.share[0].underfill_sm_ns, 0, "not the collective's");
	is_i64(sum(&sweep.total), 1000, "it sums");
}

/*
 * 10 SMs. A collective on 2 from 0 to 100, and 2 more from 60 to 80; a kernel of 10 blocks, one per SM, from 20 to 100. It wants
 * all, and has 8 for 60 ns, 6 for 20. By hand, on 8 SMs: 2 waves of T / 2, the last of 2 blocks: 40 x 6 SM-ns idle (independent; grouped
 * is the same with a block per SM; shared: 80 x (8 - 10 / 2); jitter 40 x 8 x (1 - 2 / 8)); on 6: the last of 4: 40 x 2, 80 x (6 - 5), 40 x 6 x (1 - 4 / 6).
 */
static void test_beside_collectives(void)
{
	struct wt_sweep_kernel nccl = kernel(0, 0, 100, 2), more = kernel(2, 60, 80, 2);
	struct wt_sweep_kernel compute = kernel(1, 20, 100, 10);
	struct wt_sweep_share half;

	nccl.is_collective = more.is_collective = true;
	compute.blocks = 10;
	compute.blocks_per_sm = 1;
	begin(10, 0);
	add(nccl);
	add(compute);
	add(more);
	wt_sweep_finish(&sweep, 100);
	is_i64(seen.share[0].comm_sm_ns, 8 * 20, "SMs idle while the collective is alone");
	is_i64(seen.share[0].active_comm_sm_ns, 200, "it has its own SMs throughout");
	is_i64(seen.share[2].active_comm_sm_ns, 40, "and so has the other");
	is_i64(seen.share[1].wave_sm_ns, 240 * 40 / 80 + 80 * 20 / 80 + 240 * 20 / 80,
	       "a wave on the SMs that they leave, by the time with each number");
	is_i64(seen.share[1].active_sm_ns, 8 * 60 + 6 * 20 - seen.share[1].wave_sm_ns,
	       "active is the rest of these");
	is_i64(seen.share[1].unjudged_sm_ns + seen.share[1].underfill_sm_ns, 0,
	       "nothing is unjudged, nor underfill");
	is_i64(seen.share[1].alone_ns, 0, "it was not alone");
	is_i64(sum(&sweep.total), 1000, "it sums");

	begin(10, 0);
	add(nccl);
	add(compute);
	is_i64(wt_sweep_until(&sweep, 55, &half), 0, "a stretch");
	add(more);
	wt_sweep_finish(&sweep, 100);
	is_i64(seen.share[1].wave_sm_ns, 240 * 40 / 80 + 80 * 20 / 80 + 240 * 20 / 80,
	       "cutting makes no difference");

	/* Who knows what its blocks do on fewer SMs? */
	compute.blocks_per_sm = 0;
	begin(10, 0);
	add(nccl);
	add(compute);
	wt_sweep_finish(&sweep, 100);
	is_i64(sweep.total.unjudged_sm_ns, 800, "blocks per SM not known: unjudged");
	compute.blocks_per_sm = 1;
	begin(10, 0);
	add(nccl);
	add(compute);
	add(kernel(2, 30, 100, 5));
	wt_sweep_finish(&sweep, 100);
	is_i64(sweep.total.unjudged_sm_ns, 700, "two kernels beside it: unjudged");

	is_i64(wt_sweep_blocks_per_sm(132, 132, 264), 2, "blocks per SM");
	is_i64(wt_sweep_blocks_per_sm(0, 132, 264), 2, "of a context that may use all");
	is_i64(wt_sweep_blocks_per_sm(66, 132, 264), 0, "not of one that may not");
	is_i64(wt_sweep_blocks_per_sm(132, 132, 263), 0, "nor of clusters that don't divide");
}

static void test_unjudged_and_cut(void)
{
	struct wt_sweep_kernel persistent = kernel(0, 0, 100, 8);
	struct wt_sweep_kernel cut = kernel(1, 100, 130, 10);

	persistent.is_judged = false;
	cut.duration_ns = 300; /* it started before the window, or ends after it */
	cut.wave_sm_ns = 600;
	cut.wave_max_sm_ns = 600;
	begin(10, 0);
	add(persistent);
	add(cut);
	add(kernel(2, 110, 1000, 0 + 1));
	wt_sweep_finish(&sweep, 120);
	is_i64(seen.share[0].unjudged_sm_ns, 800, "no model: its SMs are unjudged");
	is_i64(seen.share[0].underfill_sm_ns, 200, "the others are still out of reach");
	is_i64(seen.share[1].wave_sm_ns, 20, "wave by the part of the kernel that is judged");
	is_i64(sum(&sweep.total), 1200, "cut at the end of the window, it sums");
	is_i64(seen.kernel_count, 3, "each kernel is put out once");
}

/* 10 SMs. A 0-100 on 4 of them with wave 100, B 200-300: what each stretch of 50 had. */
static void test_stretches(void)
{
	static const int64_t want[6][3] = {{150, 300, 50}, {150, 300, 50}, {0, 0, 0},
	                                   {0, 0, 0},      {500, 0, 0},    {500, 0, 0}};
	struct wt_sweep_share before = {0}, total;
	struct wt_sweep_kernel a = kernel(0, 0, 100, 4);

	a.wave_sm_ns = a.wave_max_sm_ns = 100;
	begin(10, 0);
	add(a);
	for (int i = 0; i < 6; i++) {
		char text[64];

		if (i == 4)
			add(kernel(1, 200, 300, 10));
		if (wt_sweep_until(&sweep, (i + 1) * 50, &total))
			abort();
		snprintf(text, sizeof(text), "stretch %d: active", i);
		is_i64(total.active_sm_ns - before.active_sm_ns, want[i][0], text);
		snprintf(text, sizeof(text), "stretch %d: underfill", i);
		is_i64(total.underfill_sm_ns - before.underfill_sm_ns, want[i][1], text);
		snprintf(text, sizeof(text), "stretch %d: wave", i);
		is_i64(total.wave_sm_ns - before.wave_sm_ns, want[i][2], text);
		before = total;
	}
	is_i64(wt_sweep_finish(&sweep, 300), 0, "the end");
	is_i64(seen.gap_count, 1, "the gap is one");
	is_i64(seen.gap[0].end_ns - seen.gap[0].start_ns, 100, "and whole");
	begin(10, 0);
	add(kernel(0, 0, 100, 4));
	is_i64(wt_sweep_until(&sweep, 50, &total), 0, "a look");
	is_i64(wt_sweep_until(&sweep, 49, &total), -EINVAL, "and back");
}

static void test_refused(void)
{
	struct wt_sweep_kernel bad;
	const struct wt_sweep_output output = {.kernel = on_kernel, .gap = on_gap, .arg = &seen};

	is_i64(wt_sweep_init(&sweep, 0, 0, &output), -EINVAL, "no SMs");
	is_i64(wt_sweep_init(&sweep, WT_SWEEP_SMS_MAX + 1, 0, &output), -EINVAL, "too many SMs");
	begin(10, 100);
	is_i64(add(kernel(0, 99, 200, 1)), -EINVAL, "before the window");
	is_i64(add(kernel(0, 100, 100, 1)), -EINVAL, "no time");
	is_i64(add(kernel(0, 200, 150, 1)), -EINVAL, "end before start");
	is_i64(add(kernel(0, 100, 200, 0)), -EINVAL, "on no SM");
	is_i64(add(kernel(0, 100, 200, 11)), -EINVAL, "on more than there are");
	is_i64(add(kernel(-1, 100, 200, 1)), -EINVAL, "without a name");
	is_i64(add(kernel(0, 100, INT64_MAX / 10 + 200, 1)), -EINVAL, "beyond 64 bits of SM-time");
	bad = kernel(0, 100, 200, 1);
	bad.wave_sm_ns = bad.wave_max_sm_ns = 101;
	is_i64(add(bad), -EINVAL, "more wave than SM-time");
	bad.wave_sm_ns = 10;
	bad.wave_max_sm_ns = 9;
	is_i64(add(bad), -EINVAL, "least above greatest");
	bad = kernel(0, 100, 200, 1);
	bad.duration_ns = 99;
	is_i64(add(bad), -EINVAL, "longer than itself");
	is_i64(add(kernel(0, INT64_MIN, INT64_MAX, 1)), -EINVAL, "all of time");
	is_i64(add(kernel(0, 150, 200, 1)), 0, "a good one");
	is_i64(add(kernel(1, 149, 200, 1)), -EINVAL, "out of order");
	is_i64(wt_sweep_finish(&sweep, 140), -EINVAL, "an end before what was swept");
	is_i64(wt_sweep_finish(&sweep, INT64_MAX), -EINVAL, "an end beyond 64 bits of SM-time");
	is_i64(wt_sweep_finish(&sweep, 300), 0, "a good end");
	is_i64(sum(&sweep.total) + 10 * sweep.gap_ns, 2000, "refused kernels left no trace");
}

static void test_crowd(void)
{
	begin(132, 0);
	for (int i = 0; i < WT_SWEEP_RESIDENT_MAX; i++)
		if (add(kernel(i, i, 1000, 1)))
			abort();
	is_i64(add(kernel(200, 500, 1001, 1)), -EBUSY, "the 129th at a time is refused");
	is_i64(add(kernel(201, 1000, 1001, 1)), 0, "when the others have ended it is not");
	is_i64(wt_sweep_finish(&sweep, 1001), 0, "the end");
	is_i64(sum(&sweep.total), 132 * 1001, "it sums");
	is_i64(seen.kernel_count, 129, "each was put out");
}

static void test_callback_errors(void)
{
	int kinds = 0;

	for (int fail = 1; fail <= 5; fail++) {
		int err;

		begin(4, 0);
		seen.fail_after = fail;
		err = add(kernel(0, 10, 20, 4));
		if (!err)
			err = add(kernel(1, 30, 40, 4));
		if (!err)
			err = wt_sweep_finish(&sweep, 50);
		kinds += err == -EIO;
	}
	is_i64(kinds, 5, "what a callback returns comes back");
}

/* ---- random programs */

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

/* An account of one program, a nanosecond at a time; shares of a kernel are fractions here. */
struct account {
	int64_t active, underfill, unjudged, comm, gap_ns, wave, gap_count;
	double share_unjudged[KERNELS_MAX], share_underfill[KERNELS_MAX];
};

static void keep_account(const struct wt_sweep_kernel *kernels, int count, uint32_t sms,
                         int64_t wall_ns, struct account *account)
{
	int64_t judged_ns[KERNELS_MAX] = {0};
	bool was_gap = false;

	memset(account, 0, sizeof(*account));
	for (int64_t t = 0; t < wall_ns; t++) {
		int64_t wanted = 0, here = 0, compute = 0;

		for (int i = 0; i < count; i++)
			if (kernels[i].start_ns <= t && t < kernels[i].end_ns) {
				here++;
				wanted += kernels[i].sms;
				compute += !kernels[i].is_collective;
			}
		account->gap_ns += here == 0;
		account->gap_count += here == 0 && !was_gap;
		was_gap = here == 0;
		if (here == 0)
			continue;
		if (wanted > sms)
			account->unjudged += sms;
		else if (compute)
			account->underfill += sms - wanted;
		else
			account->comm += sms - wanted;
		for (int i = 0; i < count; i++) {
			if (kernels[i].start_ns > t || t >= kernels[i].end_ns)
				continue;
			if (wanted > sms) {
				account->share_unjudged[i] +=
				        (double)sms * kernels[i].sms / (double)wanted;
				continue;
			}
			if (!kernels[i].is_collective)
				account->share_underfill[i] +=
				        (double)(sms - wanted) / (double)compute;
			if (kernels[i].is_judged) {
				account->active += kernels[i].sms;
				judged_ns[i]++;
			} else {
				account->unjudged += kernels[i].sms;
				account->share_unjudged[i] += kernels[i].sms;
			}
		}
	}
	for (int i = 0; i < count; i++)
		account->wave += kernels[i].wave_sm_ns * judged_ns[i] / kernels[i].duration_ns;
	account->active -= account->wave;
}

static int make_program(uint64_t *state, uint32_t sms, int64_t wall_ns,
                        struct wt_sweep_kernel *kernels)
{
	int count = (int)random_below(state, 40);
	int64_t spread = 1 + (int64_t)random_below(state, 40);
	int64_t at = 0;

	for (int i = 0; i < count; i++) {
		struct wt_sweep_kernel *k = &kernels[i];

		at += (int64_t)random_below(state, (uint64_t)spread);
		if (at >= wall_ns - 1)
			return i;
		*k = kernel(i, at, at + 1 + (int64_t)random_below(state, 60),
		            1 + (uint32_t)random_below(state, sms));
		k->is_judged = random_below(state, 5) != 0;
		k->is_collective = random_below(state, 6) == 0;
		if (k->is_judged)
			k->wave_max_sm_ns = (int64_t)random_below(
			        state, (uint64_t)(k->duration_ns * k->sms) + 1);
		k->wave_sm_ns = (int64_t)random_below(state, (uint64_t)k->wave_max_sm_ns + 1);
		if (k->end_ns > wall_ns)
			k->end_ns = wall_ns; /* cut by the window: duration_ns stays */
	}
	return count;
}

static bool is_equal(const struct account *account, const struct wt_sweep_kernel *kernels,
                     int count, uint32_t sms, int64_t wall_ns)
{
	const struct wt_sweep_share *total = &sweep.total;
	int64_t from_kernels = 0;
	bool is_near = true;

	for (int i = 0; i < count; i++) {
		const struct wt_sweep_share *share = &seen.share[i];

		from_kernels += sum(share);
		/* A split leaves less than one SM-ns per slice, of which there are at most 2 x count. */
		is_near &= fabs((double)share->unjudged_sm_ns - account->share_unjudged[i]) <
		                   2.0 * count + 1 &&
		           fabs((double)share->underfill_sm_ns - account->share_underfill[i]) <
		                   2.0 * count + 1 &&
		           share->active_sm_ns >= 0 &&
		           share->active_comm_sm_ns ==
		                   (kernels[i].is_collective ? share->active_sm_ns : 0);
	}
	return is_near && from_kernels == sum(total) && seen.kernel_count == count &&
	       seen.gap_count == account->gap_count && total->active_sm_ns == account->active &&
	       total->underfill_sm_ns == account->underfill &&
	       total->unjudged_sm_ns == account->unjudged && total->comm_sm_ns == account->comm &&
	       total->wave_sm_ns == account->wave && sweep.gap_ns == account->gap_ns &&
	       sum(total) + (int64_t)sms * sweep.gap_ns == (int64_t)sms * wall_ns;
}

/* A look at the totals before each kernel: what they grow by is SM-time that has passed. */
static int look(int64_t until_ns)
{
	struct wt_sweep_share total;
	int err = wt_sweep_until(&sweep, until_ns, &total);

	if (!err && sum(&total) != (int64_t)sweep.sm_count * sweep.busy_ns)
		return -ERANGE;
	return err;
}

static void test_random(void)
{
	static struct wt_sweep_kernel kernels[KERNELS_MAX];
	static struct account account;
	uint64_t state = 1;
	int right = 0, programs = 10000;

	for (int program = 0; program < programs; program++) {
		uint32_t sms = 1 + (uint32_t)random_below(&state, 20);
		int64_t wall_ns = 200 + (int64_t)random_below(&state, 200);
		int count = make_program(&state, sms, wall_ns, kernels);
		int err = 0;

		begin(sms, 0);
		for (int i = 0; i < count && !err; i++) {
			if (program % 2 && kernels[i].start_ns > 0)
				err = look(kernels[i].start_ns);
			if (!err)
				err = wt_sweep_add(&sweep, &kernels[i]);
		}
		if (!err)
			err = wt_sweep_finish(&sweep, wall_ns);
		keep_account(kernels, count, sms, wall_ns, &account);
		if (!err && is_equal(&account, kernels, count, sms, wall_ns))
			right++;
		else if (programs - right < 5)
			printf("# program %d: %d kernels, error %d\n", program, count, err);
	}
	is_i64(right, programs, "random programs equal the account kept by the nanosecond");
}

int main(void)
{
	test_one_after_the_other();
	test_beside_each_other();
	test_sharing();
	test_collectives();
	test_beside_collectives();
	test_unjudged_and_cut();
	test_stretches();
	test_refused();
	test_crowd();
	test_callback_errors();
	test_random();
	return tap_done();
}

/*
 * test_whatif.c - other SM counts against schedules that are simulated block by block, and the
 * replay against one that goes nanosecond by nanosecond and rebuilds every start.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/wave.h"
#include "analysis/whatif.h"
#include "tests/tap.h"

/* Deterministic numbers (the mixer of splitmix64); n > 0. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

/* ---- one launch on other SMs */

/* Blocks of length 1 into slots, each into the one that is free first: when the last one ends. */
static double run_equal(int64_t blocks, int64_t slots)
{
	int free_at[4096] = {0}, last = 0;

	for (int64_t i = 0; i < blocks; i++) {
		int64_t best = 0;

		for (int64_t k = 1; k < slots; k++)
			if (free_at[k] < free_at[best])
				best = k;
		if (++free_at[best] > last)
			last = free_at[best];
	}
	return last;
}

/* Dealt out one by one; an SM with k blocks takes k. */
static double run_shared(int64_t blocks, int64_t sms)
{
	int count[4096] = {0}, most = 0;

	for (int64_t i = 0; i < blocks; i++)
		if (++count[i % sms] > most)
			most = count[i % sms];
	return most;
}

/* Slots that are never empty while there are blocks. */
static double run_fluid(int64_t blocks, int64_t slots)
{
	return blocks > slots ? (double)blocks / (double)slots : 1;
}

static void test_sms(void)
{
	uint64_t state = 1;
	int bad = 0, wide = 0, widest = 0;

	for (int i = 0; i < 20000; i++) {
		uint32_t sms = 1 + (uint32_t)random_below(&state, 12);
		uint32_t then = 1 + (uint32_t)random_below(&state, 12);
		int64_t b = 1 + (int64_t)random_below(&state, 4);
		struct wt_whatif_launch launch = {
		        .duration_ns = 1 + (int64_t)random_below(&state, 1000000),
		        .blocks = 1 + (int64_t)random_below(&state, 120),
		        .resident_blocks = sms * b,
		        .sms = sms,
		        .is_judged = true};
		struct wt_whatif_range got;
		double time = (double)launch.duration_ns;
		double forms[3] = {
		        run_equal(launch.blocks, then * b) / run_equal(launch.blocks, sms * b),
		        run_shared(launch.blocks, then) / run_shared(launch.blocks, sms),
		        run_fluid(launch.blocks, then * b) / run_fluid(launch.blocks, sms * b)};
		double low = fmin(forms[0], fmin(forms[1], forms[2]));
		double high = fmax(forms[0], fmax(forms[1], forms[2]));

		bad += !wt_whatif_on_sms(&launch, then, &got);
		bad += fabs((double)got.least_ns - low * time) > 0.501;
		bad += fabs((double)got.greatest_ns - high * time) > 0.501;
		/* More SMs never make it slower, fewer never faster; the same ones change nothing. */
		bad += then >= sms && got.greatest_ns > launch.duration_ns;
		bad += then <= sms && got.least_ns < launch.duration_ns;
		bad += then == sms && got.least_ns != got.greatest_ns;
		wide += got.least_ns != got.greatest_ns;
		widest += launch.blocks > sms * b;
	}
	ok(bad == 0, "20,000 launches on other SMs, each form as simulated: %d wrong", bad);
	ok(wide > 1000 && widest > 1000, "%d of them differ by form, %d ran in several waves", wide,
	   widest);
}

static struct wt_whatif_range on(uint32_t sms, struct wt_whatif_launch launch, bool want)
{
	struct wt_whatif_range then = {-1, -1};

	ok(wt_whatif_on_sms(&launch, sms, &then) == want, "a model fits: %d", want);
	return then;
}

static void test_edges(void)
{
	struct wt_whatif_launch one = {
	        .duration_ns = 100, .blocks = 8, .resident_blocks = 8, .sms = 4, .is_judged = true};
	struct wt_whatif_range then = on(8, one, true);

	/* 8 blocks, 2 per SM on 4 SMs; on 8 SMs one each: half the time if they share an SM. */
	ok(then.least_ns == 50 && then.greatest_ns == 100,
	   "8 blocks on 8 SMs: 50 to 100, got %lld to %lld", (long long)then.least_ns,
	   (long long)then.greatest_ns);
	then = on(2, one, true);
	ok(then.least_ns == 200 && then.greatest_ns == 200, "on 2: 200");
	one.is_judged = false;
	then = on(8, one, false);
	ok(then.least_ns == 100 && then.greatest_ns == 100, "no model: as it was");
	one = (struct wt_whatif_launch){
	        .duration_ns = 100, .blocks = 3, .sms = 4, .is_judged = true};
	then = on(8, one, true);
	ok(then.least_ns == 100, "3 blocks on 4 SMs know nothing of 8");
	(void)on(2, one, false); /* how many fit isn't known */
	/* 2-block clusters of which 3 fit on 4 SMs: 6 on 8. */
	one = (struct wt_whatif_launch){.duration_ns = 100,
	                                .blocks = 12,
	                                .resident_blocks = 6,
	                                .cluster_blocks = 2,
	                                .sms = 4,
	                                .is_judged = true};
	then = on(8, one, true);
	ok(then.least_ns == 50 && then.greatest_ns == 67, "clusters: 50 to 67, got %lld to %lld",
	   (long long)then.least_ns, (long long)then.greatest_ns);
	one.duration_ns = INT64_MAX / 4;
	one.blocks = INT64_MAX;
	one.resident_blocks = 4;
	one.cluster_blocks = 0;
	then = on(65535, one, true);
	ok(then.least_ns > 0 && then.greatest_ns <= one.duration_ns, "huge: within its bounds");
	one.duration_ns = INT64_MAX;
	one.resident_blocks = INT64_MAX;
	one.sms = 65535;
	then = on(1, one, true);
	ok(then.least_ns == INT64_MAX && then.greatest_ns == INT64_MAX,
	   "too long: the most there is");
	one.underfill_sm_ns = one.wave_sm_ns = one.wave_max_sm_ns = INT64_MAX;
	ok(!wt_whatif_full_waves(&one, &then) || then.least_ns >= 0, "more idle than there can be");
}

static void test_full_waves(void)
{
	uint64_t state = 2;
	int bad = 0;

	for (int i = 0; i < 20000; i++) {
		int32_t sms = 1 + (int32_t)random_below(&state, 12);
		struct wt_wave_launch launch = {
		        .duration_ns = 1 + (int64_t)random_below(&state, 1000000),
		        .grid = {1 + (uint32_t)random_below(&state, 60), 1, 1},
		        .sm_count = sms,
		        .blocks_per_sm = 1 + (int32_t)random_below(&state, 4)};
		struct wt_whatif_range then;
		struct wt_wave_result wave;
		int64_t all = launch.duration_ns * sms;

		wt_wave_judge(&launch, &wave);
		bad += !wt_whatif_full_waves(
		        &(struct wt_whatif_launch){.duration_ns = launch.duration_ns,
		                                   .sms = (uint32_t)sms,
		                                   .underfill_sm_ns = wave.underfill_sm_ns,
		                                   .wave_sm_ns = wave.wave_sm_ns,
		                                   .wave_max_sm_ns = wave.wave_max_sm_ns,
		                                   .is_judged = true},
		        &then);
		/* What is left has room for what was active, and less than a nanosecond more. */
		bad += then.least_ns * sms < all - wave.underfill_sm_ns - wave.wave_max_sm_ns;
		bad += then.least_ns * sms >=
		       all - wave.underfill_sm_ns - wave.wave_max_sm_ns + sms;
		bad += then.greatest_ns * sms < all - wave.underfill_sm_ns - wave.wave_sm_ns;
		bad += then.greatest_ns < then.least_ns || then.greatest_ns > launch.duration_ns;
	}
	ok(bad == 0, "20,000 launches in full waves: never more than the idle SM-time, %d wrong",
	   bad);
}

/* ---- the replay */

#define WALL 400
#define KERNELS 24

struct play {
	struct wt_whatif_kernel kernels[KERNELS];
	int count;
	struct wt_interval copies[4];
	size_t copy_count;
};

static void make_play(uint64_t *state, struct play *play)
{
	int64_t at = (int64_t)random_below(state, 30);

	memset(play, 0, sizeof(*play));
	while (play->count < KERNELS && at < WALL - 1) {
		struct wt_whatif_kernel *kernel = &play->kernels[play->count];
		int64_t length = 1 + (int64_t)random_below(state, 30);

		kernel->id = play->count++;
		kernel->start_ns = at;
		kernel->end_ns = at + length < WALL ? at + length : WALL;
		kernel->duration_ns = length;
		kernel->is_modelled = random_below(state, 5) != 0;
		kernel->then.least_ns = (int64_t)random_below(state, 2 * (uint64_t)length + 1);
		kernel->then.greatest_ns = kernel->then.least_ns + (int64_t)random_below(state, 10);
		/* Overlapping, back to back, or after a gap. */
		at += random_below(state, 3) == 0 ? (int64_t)random_below(state, (uint64_t)length)
		      : random_below(state, 2)    ? length
		                                  : length + (int64_t)random_below(state, 40);
	}
	for (int i = 0; i < 4; i++) {
		int64_t start = (int64_t)random_below(state, WALL);

		play->copies[i] =
		        (struct wt_interval){start, start + (int64_t)random_below(state, 30)};
	}
	play->copy_count = wt_intervals_unite(play->copies, 4);
}

static int64_t changed(const struct wt_whatif_kernel *kernel, int64_t alone, bool is_greatest)
{
	int64_t then = is_greatest ? kernel->then.greatest_ns : kernel->then.least_ns;

	return (int64_t)floor((double)alone * (double)then / (double)kernel->duration_ns + 0.5) -
	       alone;
}

/*
 * Nanosecond by nanosecond: who runs. Then the stretches in which somebody runs are laid out again, each
 * at its old place or where the one before it ends, whichever is later (unaware), or as far behind it
 * as it was (waiting).
 */
static void brute_force(const struct play *play, bool is_greatest, struct wt_whatif_result *result,
                        int64_t *unaware_ns, int64_t *waiting_ns)
{
	int64_t alone[KERNELS] = {0}, end_unaware = 0, end_waiting = 0, end_before = 0;
	bool is_busy[WALL + 1] = {false};

	memset(result, 0, sizeof(*result));
	for (int64_t t = 0; t < WALL; t++) {
		int running = 0, who = -1;

		for (int i = 0; i < play->count; i++)
			if (play->kernels[i].start_ns <= t && t < play->kernels[i].end_ns) {
				running++;
				who = i;
			}
		is_busy[t] = running > 0;
		result->busy_ns += running > 0;
		result->gap_ns += running == 0;
		for (size_t i = 0; i < play->copy_count; i++)
			result->copy_gap_ns += running == 0 && play->copies[i].start_ns <= t &&
			                       t < play->copies[i].end_ns;
		if (running == 1 && play->kernels[who].is_modelled)
			alone[who]++;
		else
			result->unmodelled_ns += running > 0;
	}
	for (int64_t t = 0; t < WALL;) {
		int64_t start = t, length = 0;

		if (!is_busy[t]) {
			t++;
			continue;
		}
		while (is_busy[t])
			t++;
		length = t - start;
		for (int i = 0; i < play->count; i++)
			if (play->kernels[i].start_ns >= start && play->kernels[i].start_ns < t)
				length += changed(&play->kernels[i], alone[i], is_greatest);
		/* Touching stretches are one here: between two there is a gap. */
		end_unaware = (start > end_unaware ? start : end_unaware) + length;
		end_waiting += start - end_before + length;
		end_before = t;
	}
	*waiting_ns = end_waiting + WALL - end_before;
	*unaware_ns = end_before == WALL || end_unaware > WALL ? end_unaware : WALL;
}

struct sums {
	int64_t time_ns, unmodelled_ns, gap_ns, copy_ns;
	struct wt_whatif_range then;
	int kernels;
};

static void on_kernel(void *arg, int64_t id, const struct wt_whatif_share *share)
{
	struct sums *sums = arg;

	(void)id;
	sums->kernels++;
	sums->time_ns += share->time_ns;
	sums->unmodelled_ns += share->unmodelled_ns;
	sums->then.least_ns += share->then.least_ns;
	sums->then.greatest_ns += share->then.greatest_ns;
}

static void on_gap(void *arg, int64_t id, int64_t gap_ns, int64_t copy_ns)
{
	struct sums *sums = arg;

	(void)id;
	sums->gap_ns += gap_ns;
	sums->copy_ns += copy_ns;
}

static int64_t low(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int compare(const struct play *play)
{
	struct wt_intervals copies = {play->copies, play->copy_count};
	struct sums sums = {0};
	struct wt_whatif_output output = {on_kernel, on_gap, &sums};
	struct wt_whatif_result got, want, same;
	int64_t unaware[2], waiting[2];
	struct wt_whatif whatif;
	int bad = 0;

	wt_whatif_init(&whatif, 0, &copies, &output);
	for (int i = 0; i < play->count; i++)
		bad += wt_whatif_add(&whatif, &play->kernels[i]) != 0;
	bad += wt_whatif_finish(&whatif, WALL, &got) != 0;
	brute_force(play, false, &want, &unaware[0], &waiting[0]);
	brute_force(play, true, &same, &unaware[1], &waiting[1]);
	bad += got.now_ns != WALL || got.busy_ns != want.busy_ns || got.gap_ns != want.gap_ns;
	bad += got.unmodelled_ns != want.unmodelled_ns || got.copy_gap_ns != want.copy_gap_ns;
	bad += got.then.least_ns != low(unaware[0], waiting[0]);
	bad += got.then.greatest_ns != -low(-unaware[1], -waiting[1]);
	/* Without gaps: what waiting leaves, less the gaps. */
	bad += got.then_no_gaps.least_ns != waiting[0] - want.gap_ns;
	bad += got.then_no_gaps.greatest_ns != waiting[1] - want.gap_ns + want.copy_gap_ns;
	bad += sums.kernels != play->count || sums.gap_ns != want.gap_ns ||
	       sums.copy_ns != want.copy_gap_ns;
	return bad;
}

static void test_replay(void)
{
	uint64_t state = 3;
	int bad = 0;

	for (int i = 0; i < 20000; i++) {
		struct play play;

		make_play(&state, &play);
		bad += compare(&play) != 0;
	}
	ok(bad == 0, "20,000 replays as rebuilt nanosecond by nanosecond: %d wrong", bad);
}

/* What is unchanged changes nothing; what is refused is left out. */
static void test_refused(void)
{
	struct wt_whatif_kernel kernel = {.start_ns = 10,
	                                  .end_ns = 20,
	                                  .duration_ns = 10,
	                                  .then = {10, 10},
	                                  .is_modelled = true};
	struct wt_intervals none = {NULL, 0};
	struct sums sums = {0};
	struct wt_whatif_output output = {on_kernel, on_gap, &sums};
	struct wt_whatif_result result;
	struct wt_whatif whatif;
	int rc = 0;

	wt_whatif_init(&whatif, 0, &none, &output);
	for (int i = 0; i < WT_WHATIF_RESIDENT_MAX; i++)
		rc |= wt_whatif_add(&whatif, &kernel);
	ok(rc == 0 && wt_whatif_add(&whatif, &kernel) == -EBUSY, "128 at a time, no more");
	kernel.start_ns = 9;
	ok(wt_whatif_add(&whatif, &kernel) == -EINVAL, "before the one before it");
	kernel.start_ns = kernel.end_ns = 30;
	ok(wt_whatif_add(&whatif, &kernel) == -EINVAL, "no time");
	kernel.end_ns = 50;
	ok(wt_whatif_add(&whatif, &kernel) == -EINVAL, "longer than itself");
	kernel.duration_ns = 20;
	kernel.then.least_ns = 11;
	ok(wt_whatif_add(&whatif, &kernel) == -EINVAL, "a range that is none");
	kernel.then.greatest_ns = kernel.then.least_ns = 20;
	ok(wt_whatif_add(&whatif, &kernel) == 0, "a good one");
	ok(wt_whatif_finish(&whatif, 29, &result) == -EINVAL, "the end is before the last start");
	ok(wt_whatif_finish(&whatif, 40, &result) == 0 && result.now_ns == 40 &&
	           result.busy_ns == 20 && result.then.least_ns == 40 &&
	           result.then.greatest_ns == 40 && result.then_no_gaps.least_ns == 20,
	   "cut at the end; nothing changed");
	ok(result.unmodelled_ns == 10 && sums.kernels == WT_WHATIF_RESIDENT_MAX + 1,
	   "those that share SMs are not modelled");
}

int main(void)
{
	test_sms();
	test_edges();
	test_full_waves();
	test_replay();
	test_refused();
	return tap_done();
}

/*
 * test_ranges.c - launches in ranges against trying every pair, on random programs; phases.
 * Single-threaded.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/phase.h"
#include "analysis/ranges.h"
#include "tests/tap.h"

#define RANGES 120
#define LAUNCHES 200

static uint64_t random_state = 88172645463325252u;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static unsigned char hits[LAUNCHES][RANGES];
static size_t last_launch, changes;

static int count_hit(void *arg, size_t launch, size_t range)
{
	(void)arg;
	hits[launch][range]++;
	changes += launch != last_launch;
	last_launch = launch;
	return 0;
}

static int refuse(void *arg, size_t launch, size_t range)
{
	(void)launch, (void)range;
	return ++*(int *)arg == 3 ? 42 : 0;
}

static int one_program(void)
{
	struct wt_range_span ranges[RANGES] = {0}, sorted[RANGES];
	struct wt_range_launch launches[LAUNCHES] = {0}, sorted_launches[LAUNCHES];
	size_t range_count = random64() % RANGES, launch_count = random64() % LAUNCHES;
	size_t with_hits = 0;
	int wrong = 0;

	for (size_t i = 0; i < range_count; i++) {
		int64_t start_ns = (int64_t)(random64() % 500);

		ranges[i] = (struct wt_range_span){
		        .process_id = (int64_t)(random64() % 3),
		        .start_ns = start_ns,
		        .end_ns = random64() % 10 ? start_ns + (int64_t)(random64() % 100)
		                                  : INT64_MAX,
		        .tid = (int64_t)(random64() % 3),
		        .is_of_thread = random64() % 2,
		        .id = i,
		};
	}
	for (size_t i = 0; i < launch_count; i++)
		launches[i] = (struct wt_range_launch){(int64_t)(random64() % 4),
		                                       (int64_t)(random64() % 600),
		                                       (int64_t)(random64() % 4), i};
	memcpy(sorted, ranges, sizeof(ranges));
	memcpy(sorted_launches, launches, sizeof(launches));
	memset(hits, 0, sizeof(hits));
	last_launch = SIZE_MAX;
	changes = 0;
	if (wt_ranges_assign(sorted, range_count, sorted_launches, launch_count, count_hit, NULL))
		return 1;
	for (size_t l = 0; l < launch_count; l++) {
		bool any = false;

		for (size_t r = 0; r < range_count; r++) {
			bool is_in = ranges[r].process_id == launches[l].process_id &&
			             ranges[r].start_ns <= launches[l].entry_ns &&
			             launches[l].entry_ns < ranges[r].end_ns &&
			             (!ranges[r].is_of_thread || ranges[r].tid == launches[l].tid);

			wrong += hits[l][r] != is_in;
			any |= is_in;
		}
		with_hits += any;
	}
	return wrong + (changes != with_hits);
}

static void test_ranges(void)
{
	struct wt_range_span range = {0, 0, 10, 1, true, 0};
	struct wt_range_launch launches[5] = {
	        {0, 1, 1, 0}, {0, 2, 1, 1}, {0, 3, 1, 2}, {0, 4, 1, 3}};
	int wrong = 0, calls = 0;

	for (int i = 0; i < 2000; i++)
		wrong += one_program();
	is_i64(wrong, 0, "2,000 random programs: as trying every pair");
	is_i64(wt_ranges_assign(&range, 1, launches, 4, refuse, &calls), 42, "a hit may end it");
	is_i64(calls, 3, "at once");
	is_i64(wt_ranges_assign(NULL, 0, launches, 4, refuse, &calls), 0, "no ranges");
}

static void test_names(void)
{
	static const struct {
		const char *name;
		enum wt_phase phase;
	} cases[] = {
	        {NULL, WT_PHASE_NONE},
	        {"", WT_PHASE_NONE},
	        {"step", WT_PHASE_NONE},
	        {"forward", WT_PHASE_FORWARD},
	        {"Forward pass", WT_PHASE_FORWARD},
	        {"model.forward", WT_PHASE_FORWARD},
	        {"FWD", WT_PHASE_FORWARD},
	        {"fwd_3", WT_PHASE_FORWARD},
	        {"fwdish", WT_PHASE_NONE},
	        {"straightforward", WT_PHASE_NONE},
	        {"LossBackward0", WT_PHASE_BACKWARD},
	        {"loss.bwd", WT_PHASE_BACKWARD},
	        {"autograd::engine::evaluate_function: MulBackward0", WT_PHASE_BACKWARD},
	        {"Optimizer.step#AdamW.step", WT_PHASE_OPTIMIZER},
	        {"optim", WT_PHASE_OPTIMIZER},
	        {"optimal", WT_PHASE_NONE},
	        {"forward_backward", WT_PHASE_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_i64(wt_phase_of_range(cases[i].name), cases[i].phase,
		       cases[i].name ? cases[i].name : "no name");
}

static void test_threads(void)
{
	struct wt_phase_thread t[4] = {{10, 600, 80}, {11, 400, 0}, {12, 5, 0}, {13, 200, 0}};
	enum wt_phase_evidence evidence;

	is_i64(wt_phase_backward_thread(t, 2), 11, "the thread without updates goes backward");
	is_i64(wt_phase_backward_thread(t, 3), 11, "a third one with a few launches is no matter");
	is_i64(wt_phase_backward_thread(t, 4), -1, "three threads: not told");
	is_i64(wt_phase_backward_thread(t, 1), -1, "one thread: not told");
	is_i64(wt_phase_backward_thread(t, 0), -1, "none");
	t[1].updates = 1;
	is_i64(wt_phase_backward_thread(t, 2), -1, "both update: not told");
	t[0].updates = t[1].updates = 0;
	is_i64(wt_phase_backward_thread(t, 2), -1, "no updates seen: not told");
	is_i64(wt_phase_of_launch(WT_PHASE_FORWARD, true, 11, 11, &evidence), WT_PHASE_FORWARD,
	       "a range comes first");
	is_i64(evidence, WT_PHASE_BY_RANGE, "and says so");
	is_i64(wt_phase_of_launch(WT_PHASE_NONE, true, 11, 11, &evidence), WT_PHASE_OPTIMIZER,
	       "then the kernel");
	is_i64(evidence, WT_PHASE_BY_KERNEL, "and says so");
	is_i64(wt_phase_of_launch(WT_PHASE_NONE, false, 11, 11, &evidence), WT_PHASE_BACKWARD,
	       "then the thread");
	is_i64(wt_phase_of_launch(WT_PHASE_NONE, false, 10, 11, NULL), WT_PHASE_FORWARD,
	       "the other one");
	is_i64(wt_phase_of_launch(WT_PHASE_NONE, false, 10, -1, &evidence), WT_PHASE_NONE,
	       "nothing tells");
	is_str(wt_phase_evidence_text(evidence), NULL, "and has no words");
	is_str(wt_phase_text(WT_PHASE_BACKWARD), "backward", "words");
}

int main(void)
{
	test_ranges();
	test_names();
	test_threads();
	return tap_done();
}

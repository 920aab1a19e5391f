/*
 * test_link_random.c - the linker against a random but known truth: threads that launch at once,
 * driver and runtime records, graph launches, calls and records that were lost, any order of
 * arrival. An exact link must be the true one; all whose call and record came must have one.
 */
#include "analysis/link.h"
#include "tests/tap.h"

#define SECOND INT64_C(1000000000)
#define LAUNCHES 3000
#define THREADS 7
#define SEEDS 40

static struct truth {
	struct wt_linker_call call;
	struct wt_link link;
	uint64_t start_ns;
	bool is_call_lost, is_link_lost, is_linked;
} truth[LAUNCHES];

static int wrong_exact, against_time, linked_exact, linked_twice;

static void check(int64_t exec_id, enum wt_link_how how, uint64_t seq, bool is_graph)
{
	struct truth *kernel = &truth[exec_id], *call = NULL;

	if (how != WT_LINK_EXACT && how != WT_LINK_ORDER)
		return;
	for (int i = 0; i < LAUNCHES && !call; i++)
		if (truth[i].call.seq == seq && truth[i].call.is_graph == is_graph)
			call = &truth[i];
	if (!call || (how == WT_LINK_EXACT && call != kernel))
		wrong_exact++;
	if (call && how == WT_LINK_ORDER &&
	    call->call.entry_ns > kernel->start_ns + WT_LINK_SLACK_NS)
		against_time++;
	linked_twice += call && call->is_linked;
	if (call)
		call->is_linked = true;
	linked_exact += how == WT_LINK_EXACT;
}

static int on_kernel(void *arg, const struct wt_linker_kernel *kernel, enum wt_link_how how,
                     uint64_t seq, bool is_graph_call)
{
	(void)arg;
	check(kernel->exec_id, how, seq, is_graph_call);
	return 0;
}

static void on_launch(void *arg, enum wt_launch_class before, enum wt_launch_class after)
{
	(void)arg;
	(void)before;
	(void)after;
}

static int on_save(void *arg, uint32_t id, uint64_t seq, bool is_graph)
{
	(void)arg;
	(void)id;
	(void)seq;
	(void)is_graph;
	return 0;
}

static uint64_t below(uint64_t limit)
{
	return (uint64_t)rand() % limit;
}

/* Back to back: from one call's return to the next one's entry it is less than the slack. */
static void make_truth(bool has_losses)
{
	uint64_t now_ns[THREADS], launches = 0, graphs = 0;

	for (int i = 0; i < THREADS; i++)
		now_ns[i] = 1000000 + below(1000);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint64_t thread = below(THREADS), before_ns = below(300), in_ns = below(500);
		bool is_runtime = below(2), is_graph = below(10) == 0;
		struct wt_linker_call call = {.thread32 = 1000 + (uint32_t)thread,
		                              .tid = 10 + (uint32_t)thread,
		                              .is_graph = is_graph};
		struct wt_link link = {.correlation_id = 500 + i};

		call.seq = is_graph ? graphs++ : launches++;
		call.geometry = is_graph ? 0 : 1 + below(3);
		call.entry_ns = now_ns[thread] + before_ns + 1;
		call.return_ns = call.entry_ns + in_ns + 200;
		now_ns[thread] = call.return_ns + 1 + below(300);
		link.start_ns = is_runtime ? call.entry_ns - before_ns : call.entry_ns + below(100);
		link.duration_ns = is_runtime ? (uint32_t)(now_ns[thread] - 1 - link.start_ns) : 50;
		link.flags = is_runtime ? WT_LINK_RUNTIME : 0;
		link.thread32 = thread == 3 ? call.tid : call.thread32;
		truth[i] = (struct truth){.call = call,
		                          .link = link,
		                          .start_ns = call.return_ns + below(2000),
		                          .is_call_lost = has_losses && below(10) == 0,
		                          .is_link_lost = has_losses && below(10) == 0};
	}
}

static void give_kernel(struct wt_linker *linker, int64_t at)
{
	const struct truth *t = &truth[at];
	const struct wt_linker_kernel kernel = {.exec_id = at,
	                                        .start_ns = t->start_ns,
	                                        .geometry = t->call.geometry,
	                                        .correlation_id = t->link.correlation_id,
	                                        .is_graph_node = t->call.is_graph};
	enum wt_link_how how;
	uint64_t seq = 0;
	bool is_graph;

	wt_linker_kernel(linker, &kernel, SECOND, &how, &seq, &is_graph);
	check(at, how, seq, is_graph);
}

/* Calls, records and kernels each from their own place on, in turns of random length. */
static void play(struct wt_linker *linker)
{
	int64_t at[3] = {0, 0, 0};

	while (at[0] < LAUNCHES || at[1] < LAUNCHES || at[2] < LAUNCHES) {
		uint64_t which = below(3);

		for (uint64_t left = below(40); left > 0 && at[which] < LAUNCHES; left--) {
			const struct truth *t = &truth[at[which]];

			if (which == 0 && !t->is_call_lost)
				wt_linker_call(linker, &t->call, SECOND);
			else if (which == 1 && !t->is_link_lost)
				wt_linker_link(linker, &t->link, SECOND);
			else if (which == 2)
				give_kernel(linker, at[which]);
			at[which]++;
		}
		if (below(4) == 0)
			wt_linker_settle(linker, SECOND);
	}
}

static void run(unsigned seed, bool has_losses)
{
	const struct wt_linker_output output = {on_kernel, on_launch, on_save, on_save, NULL, NULL};
	struct wt_linker *linker = wt_linker_create(&output);
	int expected = 0;

	srand(seed);
	make_truth(has_losses);
	for (int i = 0; i < LAUNCHES; i++)
		expected += !truth[i].is_call_lost && !truth[i].is_link_lost;
	wrong_exact = against_time = linked_exact = linked_twice = 0;
	play(linker);
	wt_linker_end(linker, UINT64_MAX, SECOND);
	wt_linker_destroy(linker);
	ok(!wrong_exact && !against_time && !linked_twice && linked_exact == expected,
	   "seed %u%s: %d of %d exact, %d wrong, %d against time, %d twice", seed,
	   has_losses ? ", losses" : "", linked_exact, expected, wrong_exact, against_time,
	   linked_twice);
}

int main(void)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++)
		run(seed, seed % 2);
	return tap_done();
}

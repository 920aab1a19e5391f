/*
 * test_gap.c - the cause of every nanosecond without a kernel: cases by hand, and random gaps
 * against a verdict for each nanosecond that is found by trying the clock error out.
 */
#include "analysis/gap.h"
#include "tests/tap.h"

#define SET(...)                                                                                   \
	{                                                                                          \
		(const struct wt_interval[]){__VA_ARGS__},                                         \
		        sizeof((const struct wt_interval[]){__VA_ARGS__}) /                        \
		                sizeof(struct wt_interval)                                         \
	}

static int64_t ns[WT_GAP_CAUSE_MAX];

static void classify(const struct wt_gap_facts *given)
{
	struct wt_gap_facts facts = *given;

	memset(ns, 0, sizeof(ns));
	facts.began_ns = facts.start_ns;
	wt_gap_classify(&facts, ns);
}

static void is_split(const char *what, const int64_t want[WT_GAP_CAUSE_MAX])
{
	for (int i = 0; i < WT_GAP_CAUSE_MAX; i++) {
		char text[128];

		if (ns[i] == 0 && want[i] == 0)
			continue;
		snprintf(text, sizeof(text), "%s: %s", what,
		         wt_gap_cause_name((enum wt_gap_cause)i));
		is_i64(ns[i], want[i], text);
	}
}

/* ---- by hand */

static void test_intervals(void)
{
	struct wt_interval some[] = {{50, 60}, {10, 20}, {20, 30}, {5, 5}, {55, 58}, {90, 80}};
	size_t count = wt_intervals_unite(some, 6);
	struct wt_intervals set = {some, count};

	is_i64((int64_t)count, 2, "overlapping, touching, empty and reversed intervals");
	is_i64(some[0].start_ns, 10, "the first starts");
	is_i64(some[0].end_ns, 30, "the first ends");
	is_i64(some[1].end_ns, 60, "the second ends");
	ok(!wt_intervals_contain(&set, 9) && wt_intervals_contain(&set, 10) &&
	           wt_intervals_contain(&set, 29) && !wt_intervals_contain(&set, 30),
	   "half open");
	is_i64(wt_intervals_next_edge(&set, 0), 10, "edge: a start");
	is_i64(wt_intervals_next_edge(&set, 10), 30, "edge: an end");
	is_i64(wt_intervals_next_edge(&set, 60), INT64_MAX, "edge: none");
	is_i64(wt_intervals_overlap_ns(&set, 0, 100), 30, "overlap with all");
	is_i64(wt_intervals_overlap_ns(&set, 25, 55), 10, "overlap with the ends of two");
	is_i64(wt_intervals_overlap_ns(&set, 30, 50), 0, "overlap between them");
	is_i64(wt_intervals_overlap_ns(&set, 60, 20), 0, "overlap of a reversed interval");
	is_i64((int64_t)wt_intervals_unite(some, 0), 0, "nothing of nothing");
}

/* The gap 100-200. The call 150-160. */
static struct wt_gap_facts usual(void)
{
	return (struct wt_gap_facts){.start_ns = 100,
	                             .end_ns = 200,
	                             .entry_ns = 150,
	                             .return_ns = 160,
	                             .has_call = true,
	                             .has_kernel_after = true,
	                             .first_launch_ns = INT64_MIN,
	                             .has_kernel_before = true};
}

static void test_by_hand(void)
{
	const struct wt_intervals syncs = SET({90, 110}), allocs = SET({105, 120}, {130, 135});
	const struct wt_intervals copies = SET({140, 155}), loads = SET({115, 125}, {170, 180});
	const struct wt_intervals profiler = SET({120, 128});
	struct wt_gap_facts facts = usual();

	classify(&facts);
	is_split("host, launch",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_HOST] = 50, [WT_GAP_LAUNCH] = 50});
	facts.has_dependency = true;
	classify(&facts);
	is_split("a wait in the stream",
	         (int64_t[WT_GAP_CAUSE_MAX]){
	                 [WT_GAP_HOST] = 50, [WT_GAP_LAUNCH] = 10, [WT_GAP_DEPENDENCY] = 40});
	facts = usual();
	facts.syncs = syncs;
	facts.allocs = allocs;
	classify(&facts);
	is_split("a wait of the thread, then allocation",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_SYNC] = 10,
	                                     [WT_GAP_ALLOC] = 15,
	                                     [WT_GAP_HOST] = 25,
	                                     [WT_GAP_LAUNCH] = 50});
	facts.loads = loads;
	facts.profiler = profiler;
	facts.copies = copies;
	classify(&facts);
	is_split("all together", (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_SYNC] = 10,
	                                                     [WT_GAP_ALLOC] = 5 + 5,
	                                                     [WT_GAP_LOAD] = 10 + 10,
	                                                     [WT_GAP_PROFILER] = 3,
	                                                     [WT_GAP_HOST] = 2 + 5,
	                                                     [WT_GAP_COPY] = 15,
	                                                     [WT_GAP_LAUNCH] = 5 + 10 + 20});
	facts.is_same_graph_launch = true;
	classify(&facts);
	is_split("nodes of one graph launch",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_COPY] = 15, [WT_GAP_GRAPH] = 85});
	facts.is_same_graph_launch = false;
	facts.has_kernel_after = false;
	classify(&facts);
	is_split("no kernel comes",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_COPY] = 15, [WT_GAP_AFTER] = 85});
	facts = usual();
	facts.first_launch_ns = 120;
	facts.lost = (struct wt_intervals){(const struct wt_interval[]){{110, 140}}, 1};
	classify(&facts);
	is_split("a process that begins, a kernel that was lost",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_STARTUP] = 10,
	                                     [WT_GAP_UNKNOWN] = 30,
	                                     [WT_GAP_HOST] = 10,
	                                     [WT_GAP_LAUNCH] = 50});
	facts = usual();
	facts.has_call = false;
	facts.loads = loads;
	classify(&facts);
	is_split("no call", (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_LOAD] = 20, [WT_GAP_UNKNOWN] = 80});
	facts = usual();
	facts.entry_ns = 80;
	facts.return_ns = 90;
	classify(&facts);
	is_split("queued before", (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_TURNAROUND] = 100});
	facts.has_kernel_before = false;
	classify(&facts);
	is_split("queued before a gap that follows no kernel",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_LAUNCH] = 100});
	facts.has_kernel_before = true;
	facts.return_ns = 130;
	classify(&facts);
	is_split("entered before, returned in the gap",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_LAUNCH] = 30, [WT_GAP_TURNAROUND] = 70});
	facts.end_ns = 90;
	classify(&facts);
	is_split("no gap", (int64_t[WT_GAP_CAUSE_MAX]){0});
	is_str(wt_gap_cause_name(WT_GAP_CAUSE_MAX), "unknown", "a cause that does not exist");
}

static void test_clock_error(void)
{
	struct wt_gap_facts facts = usual();

	facts.clock_error_ns = 3;
	classify(&facts);
	is_split("3 ns on both sides of the entry",
	         (int64_t[WT_GAP_CAUSE_MAX]){
	                 [WT_GAP_HOST] = 47, [WT_GAP_LAUNCH] = 47, [WT_GAP_UNDECIDED] = 6});
	facts.entry_ns = 98;
	facts.return_ns = 120;
	classify(&facts);
	is_split("entered about when the gap began",
	         (int64_t[WT_GAP_CAUSE_MAX]){
	                 [WT_GAP_LAUNCH] = 117 - 101, [WT_GAP_UNDECIDED] = 1 + 3 + 80});
	facts = usual();
	facts.clock_error_ns = 1000;
	classify(&facts);
	is_split("an error longer than the gap",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_UNDECIDED] = 100});
	facts.has_call = false;
	classify(&facts);
	is_split("what depends on no clock is decided",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_UNKNOWN] = 100});
	facts = usual();
	facts.start_ns = INT64_MIN + 1;
	facts.end_ns = INT64_MIN + 11;
	facts.entry_ns = 5;
	facts.clock_error_ns = INT64_MAX;
	classify(&facts);
	is_split("at the end of time, with all the error there is",
	         (int64_t[WT_GAP_CAUSE_MAX]){[WT_GAP_HOST] = 5, [WT_GAP_UNDECIDED] = 5});
}

/* ---- random gaps */

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

#define SET_MAX 5

struct random_gap {
	struct wt_gap_facts facts;
	struct wt_interval sets[6][SET_MAX];
};

static struct wt_intervals random_set(uint64_t *state, struct wt_interval *at)
{
	size_t count = random_below(state, SET_MAX + 1);

	for (size_t i = 0; i < count; i++) {
		at[i].start_ns = (int64_t)random_below(state, 120);
		at[i].end_ns = at[i].start_ns + (int64_t)random_below(state, 25);
	}
	count = wt_intervals_unite(at, count);
	return (struct wt_intervals){at, count};
}

static void make_gap(uint64_t *state, struct random_gap *gap)
{
	struct wt_gap_facts *facts = &gap->facts;

	memset(gap, 0, sizeof(*gap));
	facts->start_ns = 20 + (int64_t)random_below(state, 30);
	facts->end_ns = facts->start_ns + (int64_t)random_below(state, 60);
	facts->entry_ns = (int64_t)random_below(state, 110);
	facts->return_ns = facts->entry_ns + (int64_t)random_below(state, 30);
	facts->clock_error_ns = (int64_t)random_below(state, 2) * (int64_t)random_below(state, 6);
	facts->has_call = random_below(state, 8) != 0;
	facts->has_kernel_before = random_below(state, 8) != 0;
	facts->has_kernel_after = random_below(state, 10) != 0;
	facts->first_launch_ns =
	        random_below(state, 8) ? INT64_MIN : (int64_t)random_below(state, 100);
	if (random_below(state, 4) == 0)
		facts->lost = random_set(state, gap->sets[5]);
	facts->is_same_graph_launch = random_below(state, 10) == 0;
	facts->has_dependency = random_below(state, 4) == 0;
	facts->copies = random_set(state, gap->sets[0]);
	facts->loads = random_set(state, gap->sets[1]);
	facts->profiler = random_set(state, gap->sets[2]);
	facts->syncs = random_set(state, gap->sets[3]);
	facts->allocs = random_set(state, gap->sets[4]);
}

static bool in(const struct wt_intervals *set, int64_t t)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->at[i].start_ns <= t && t < set->at[i].end_ns)
			return true;
	return false;
}

/* The first rule that applies, if every stamp of the CPU is `late` too high. */
static enum wt_gap_cause verdict(const struct wt_gap_facts *f, int64_t t, int64_t late)
{
	int64_t cpu = t + late;

	if (in(&f->copies, t))
		return WT_GAP_COPY;
	if (in(&f->lost, t))
		return WT_GAP_UNKNOWN;
	if (f->is_same_graph_launch)
		return WT_GAP_GRAPH;
	if (!f->has_kernel_after)
		return WT_GAP_AFTER;
	if (cpu < f->first_launch_ns)
		return WT_GAP_STARTUP;
	if (in(&f->loads, cpu))
		return WT_GAP_LOAD;
	if (in(&f->profiler, cpu))
		return WT_GAP_PROFILER;
	if (!f->has_call)
		return WT_GAP_UNKNOWN;
	if (cpu < f->entry_ns)
		return in(&f->syncs, cpu)    ? WT_GAP_SYNC
		       : in(&f->allocs, cpu) ? WT_GAP_ALLOC
		                             : WT_GAP_HOST;
	if (cpu < f->return_ns)
		return WT_GAP_LAUNCH;
	if (f->has_dependency)
		return WT_GAP_DEPENDENCY;
	return f->has_kernel_before && f->entry_ns - late < f->start_ns ? WT_GAP_TURNAROUND
	                                                                : WT_GAP_LAUNCH;
}

/*
 * Undecided: some error within the bounds gives another verdict. At the entry itself the rule
 * "e < p" is held to be unsure within the error whatever the rest says; so is it here.
 */
static enum wt_gap_cause tried_out(const struct wt_gap_facts *f, int64_t t)
{
	enum wt_gap_cause first = verdict(f, t, 0);
	int64_t c = f->clock_error_ns;

	if (first == WT_GAP_COPY || first == WT_GAP_GRAPH || first == WT_GAP_AFTER ||
	    in(&f->lost, t) || c == 0)
		return first;
	for (int64_t late = -c; late <= c; late++) {
		enum wt_gap_cause other = verdict(f, t, late);
		bool is_after_return = f->has_call && !f->has_dependency &&
		                       t + late >= f->return_ns && t + late >= f->entry_ns &&
		                       t + late >= f->first_launch_ns && !in(&f->loads, t + late) &&
		                       !in(&f->profiler, t + late);
		bool is_unsure = f->has_kernel_before && f->entry_ns >= f->start_ns - c &&
		                 f->entry_ns < f->start_ns + c;

		if (is_after_return && is_unsure)
			return WT_GAP_UNDECIDED;
		if (is_after_return)
			other = f->has_kernel_before && f->entry_ns < f->start_ns
			                ? WT_GAP_TURNAROUND
			                : WT_GAP_LAUNCH;
		if (late == -c)
			first = other;
		if (other != first)
			return WT_GAP_UNDECIDED;
	}
	return first;
}

static void test_random(void)
{
	uint64_t state = 7;
	int right = 0, gaps = 20000;

	for (int i = 0; i < gaps; i++) {
		struct random_gap gap;
		int64_t want[WT_GAP_CAUSE_MAX] = {0};

		make_gap(&state, &gap);
		for (int64_t t = gap.facts.start_ns; t < gap.facts.end_ns; t++)
			want[tried_out(&gap.facts, t)]++;
		/* In two parts, cut anywhere: the same. */
		memset(ns, 0, sizeof(ns));
		gap.facts.began_ns = gap.facts.start_ns;
		if (gap.facts.end_ns > gap.facts.start_ns) {
			struct wt_gap_facts part = gap.facts;

			part.end_ns = part.start_ns +
			              (int64_t)random_below(
			                      &state, (uint64_t)(part.end_ns - part.start_ns));
			wt_gap_classify(&part, ns);
			part.start_ns = part.end_ns;
			part.end_ns = gap.facts.end_ns;
			wt_gap_classify(&part, ns);
		}
		if (!memcmp(want, ns, sizeof(ns))) {
			right++;
			continue;
		}
		if (gaps - right > 5 + gaps - i)
			continue;
		printf("# gap %d, error %" PRId64 ":", i, gap.facts.clock_error_ns);
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			printf(" %s %" PRId64 "/%" PRId64,
			       wt_gap_cause_name((enum wt_gap_cause)cause), ns[cause], want[cause]);
		printf("\n");
	}
	is_i64(right, gaps, "random gaps: every nanosecond has the right cause");
}

int main(void)
{
	test_intervals();
	test_by_hand();
	test_clock_error();
	test_random();
	return tap_done();
}

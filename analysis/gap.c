/*
 * gap.c - see gap.h. Pure: any thread, never blocks.
 *
 * Time between two edges (of an interval of any set, e or l) has one cause. The clock error
 * takes its margin from both sides of every edge at which the cause changes.
 */
#include "analysis/gap.h"

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* t +- margin, within int64. */
static int64_t shifted(int64_t t_ns, int64_t by_ns)
{
	int64_t sum;

	if (!__builtin_add_overflow(t_ns, by_ns, &sum))
		return sum;
	return by_ns < 0 ? INT64_MIN : INT64_MAX;
}

static enum wt_gap_cause cause_after_return(const struct wt_gap_facts *facts)
{
	int64_t c = facts->clock_error_ns;

	if (facts->has_dependency)
		return WT_GAP_DEPENDENCY;
	if (!facts->has_kernel_before)
		return WT_GAP_LAUNCH;
	if (facts->entry_ns < shifted(facts->began_ns, -c))
		return WT_GAP_TURNAROUND;
	return facts->entry_ns >= shifted(facts->began_ns, c) ? WT_GAP_LAUNCH : WT_GAP_UNDECIDED;
}

/* On the CPU's clock taken at its word: everything but copies and graphs. */
static enum wt_gap_cause cause_at(const struct wt_gap_facts *facts, int64_t t_ns)
{
	if (wt_intervals_contain(&facts->loads, t_ns))
		return WT_GAP_LOAD;
	if (wt_intervals_contain(&facts->profiler, t_ns))
		return WT_GAP_PROFILER;
	if (!facts->has_call)
		return WT_GAP_UNKNOWN;
	if (t_ns < facts->entry_ns) {
		if (wt_intervals_contain(&facts->syncs, t_ns))
			return WT_GAP_SYNC;
		return wt_intervals_contain(&facts->allocs, t_ns) ? WT_GAP_ALLOC : WT_GAP_HOST;
	}
	return t_ns < facts->return_ns ? WT_GAP_LAUNCH : cause_after_return(facts);
}

static int64_t next_edge(const struct wt_gap_facts *facts, int64_t t_ns)
{
	int64_t edge = least(wt_intervals_next_edge(&facts->loads, t_ns),
	                     wt_intervals_next_edge(&facts->profiler, t_ns));

	if (!facts->has_call)
		return edge;
	if (t_ns < facts->entry_ns) {
		edge = least(edge, facts->entry_ns);
		edge = least(edge, wt_intervals_next_edge(&facts->syncs, t_ns));
		edge = least(edge, wt_intervals_next_edge(&facts->allocs, t_ns));
	} else if (t_ns < facts->return_ns) {
		edge = least(edge, facts->return_ns);
	}
	return edge;
}

/* The end of the time from t_ns on that has the cause of t_ns; at most until_ns. */
static int64_t cause_until(const struct wt_gap_facts *facts, int64_t t_ns, int64_t until_ns)
{
	enum wt_gap_cause cause = cause_at(facts, t_ns);

	do {
		t_ns = next_edge(facts, t_ns);
	} while (t_ns < until_ns && cause_at(facts, t_ns) == cause);
	return least(t_ns, until_ns);
}

/* A part of the gap in which the device did not copy. */
static void classify_part(const struct wt_gap_facts *facts, int64_t from_ns, int64_t to_ns,
                          int64_t ret_ns[WT_GAP_CAUSE_MAX])
{
	int64_t c = facts->clock_error_ns;
	/* What lies within the error outside the part can make time inside it undecided. */
	int64_t first_ns = shifted(from_ns, -c), last_ns = shifted(to_ns, c);

	for (int64_t at_ns = first_ns, end_ns; at_ns < last_ns; at_ns = end_ns) {
		int64_t decided_from_ns = at_ns, decided_to_ns;
		int64_t low, high, decided_ns = 0;

		end_ns = cause_until(facts, at_ns, last_ns);
		decided_to_ns = end_ns;
		if (at_ns > first_ns)
			decided_from_ns = shifted(at_ns, c);
		if (end_ns < last_ns)
			decided_to_ns = shifted(end_ns, -c);
		low = greatest(decided_from_ns, from_ns);
		high = least(decided_to_ns, to_ns);
		if (high > low)
			decided_ns = high - low;
		ret_ns[cause_at(facts, at_ns)] += decided_ns;
		low = greatest(at_ns, from_ns);
		high = least(end_ns, to_ns);
		if (high > low)
			ret_ns[WT_GAP_UNDECIDED] += high - low - decided_ns;
	}
}

/* From then on the process had launched, whatever the clocks. */
static int64_t first_launch_over_ns(const struct wt_gap_facts *facts)
{
	if (facts->first_launch_ns == INT64_MIN)
		return INT64_MIN;
	return shifted(facts->first_launch_ns, facts->clock_error_ns);
}

/* The end of the time from t_ns on in which that cause is the same; at most until_ns. */
static int64_t plain_cause_until(const struct wt_gap_facts *facts, int64_t t_ns, int64_t until_ns)
{
	int64_t edges[] = {wt_intervals_next_edge(&facts->copies, t_ns),
	                   wt_intervals_next_edge(&facts->lost, t_ns),
	                   shifted(facts->first_launch_ns, -facts->clock_error_ns),
	                   first_launch_over_ns(facts)};

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (edges[i] > t_ns)
			until_ns = least(until_ns, edges[i]);
	return until_ns;
}

/* What does not depend on the clock of the CPU but for its error; WT_GAP_CAUSE_MAX: the rest does. */
static enum wt_gap_cause plain_cause(const struct wt_gap_facts *facts, int64_t t_ns)
{
	if (wt_intervals_contain(&facts->copies, t_ns))
		return WT_GAP_COPY;
	if (wt_intervals_contain(&facts->lost, t_ns))
		return WT_GAP_UNKNOWN;
	if (facts->is_same_graph_launch)
		return WT_GAP_GRAPH;
	if (!facts->has_kernel_after)
		return WT_GAP_AFTER;
	if (t_ns < shifted(facts->first_launch_ns, -facts->clock_error_ns))
		return WT_GAP_STARTUP;
	return t_ns < first_launch_over_ns(facts) ? WT_GAP_UNDECIDED : WT_GAP_CAUSE_MAX;
}

void wt_gap_classify(const struct wt_gap_facts *facts, int64_t ret_ns[WT_GAP_CAUSE_MAX])
{
	int64_t at_ns = facts->start_ns;

	while (at_ns < facts->end_ns) {
		enum wt_gap_cause cause = plain_cause(facts, at_ns);
		int64_t end_ns = plain_cause_until(facts, at_ns, facts->end_ns);

		if (cause == WT_GAP_CAUSE_MAX)
			classify_part(facts, at_ns, end_ns, ret_ns);
		else
			ret_ns[cause] += end_ns - at_ns;
		at_ns = end_ns;
	}
}

const char *wt_gap_cause_name(enum wt_gap_cause cause)
{
	static const char *const names[WT_GAP_CAUSE_MAX] = {
	        [WT_GAP_COPY] = "copy",
	        [WT_GAP_GRAPH] = "graph",
	        [WT_GAP_LOAD] = "load",
	        [WT_GAP_PROFILER] = "profiler",
	        [WT_GAP_SYNC] = "sync",
	        [WT_GAP_ALLOC] = "alloc",
	        [WT_GAP_HOST] = "host",
	        [WT_GAP_LAUNCH] = "launch",
	        [WT_GAP_DEPENDENCY] = "dependency",
	        [WT_GAP_TURNAROUND] = "turnaround",
	        [WT_GAP_UNKNOWN] = "unknown",
	        [WT_GAP_UNDECIDED] = "undecided",
	        [WT_GAP_STARTUP] = "startup",
	        [WT_GAP_AFTER] = "after",
	};

	return cause < WT_GAP_CAUSE_MAX ? names[cause] : "unknown";
}

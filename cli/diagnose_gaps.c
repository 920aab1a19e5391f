/*
 * diagnose_gaps.c - see diagnose_gaps.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diagnose_gaps.h"
#include "cli/diagnose_impl.h"
#include "cli/report_sql.h"

static void put(struct wt_gap_parts *parts, enum wt_family family, int64_t ns)
{
	parts->of[family].least += (double)ns;
	parts->of[family].most += (double)ns;
}

/* Moves what one family has to another, which may be sure of none of it. */
static void move(struct wt_gap_parts *parts, enum wt_family from, enum wt_family to, bool is_sure)
{
	if (from == to)
		return;
	parts->of[to].most += parts->of[from].most;
	if (is_sure)
		parts->of[to].least += parts->of[from].least;
	parts->of[from] = (struct wt_family_share){0, 0};
}

/* ---- threads */

/* The thread that launched; begun anew on each device. NULL when out of memory. */
static struct wt_gaps_thread *find_thread(struct wt_gaps *gaps, const struct wt_ledger_row *row)
{
	uint64_t key = (uint64_t)row->process_id << 32 ^ row->call.thread32;
	uint32_t at = wt_map_get(&gaps->thread_at, key);
	struct wt_gaps_thread *thread;

	if (at == WT_MAP_NONE) {
		thread = wt_report_append(&gaps->threads, &gaps->thread_count, sizeof(*thread));
		if (!thread || wt_map_set(&gaps->thread_at, key, (uint32_t)gaps->thread_count - 1))
			return NULL;
		thread->device_id = -1;
	} else {
		thread = &gaps->threads[at];
	}
	if (thread->device_id != gaps->device->device_id) {
		thread->device_id = gaps->device->device_id;
		thread->entry_ns = INT64_MIN;
	}
	return thread;
}

/* Did the thread begin to wait between the two calls? */
static bool has_wait(const struct wt_intervals *syncs, int64_t after_ns, int64_t before_ns)
{
	size_t at = wt_intervals_after(syncs, after_ns);

	return after_ns != INT64_MIN && at < syncs->count && syncs->at[at].start_ns < before_ns;
}

/* ---- taking parts for good */

static int take(struct wt_gaps *gaps, const struct wt_gap_parts *parts,
                const struct wt_ledger_row *next)
{
	double sms = (double)gaps->device->sms;
	int64_t at = next ? wt_gaps_kernel(gaps, next->kernel_id) : -1;

	if (next && at < 0)
		return (int)at;
	for (int f = 0; f < WT_FAMILY_MAX; f++) {
		if (parts->of[f].most <= 0)
			continue;
		gaps->sum[f].sm_ns.least += parts->of[f].least * sms;
		gaps->sum[f].sm_ns.most += parts->of[f].most * sms;
		gaps->sum[f].gaps++;
		if (next)
			gaps->kernels[at].sm_ns[f] += parts->of[f].most * sms;
	}
	return 0;
}

/* ---- one gap */

static bool is_small(const struct wt_ledger_row *row)
{
	/* Unsigned: a row that the sweep refuses may have any times. */
	return !row->is_graph_node &&
	       (uint64_t)row->end_ns - (uint64_t)row->start_ns < WT_DIAGNOSE_SMALL_KERNEL_NS;
}

/* Part of the gap in which pageable memory was copied. */
static int64_t pageable_ns(const struct wt_gaps *gaps, const struct wt_gap_facts *facts)
{
	const struct wt_intervals set = {gaps->pageable, gaps->pageable_count};

	return wt_intervals_overlap_ns(&set, facts->start_ns, facts->end_ns);
}

/* Where time goes in which the host did something else, or was launching. */
static enum wt_family host_family(const struct wt_gaps *gaps, const struct wt_ledger_gap *gap)
{
	const struct wt_ledger_row *next = gap->next;
	int64_t length_ns = gap->facts->end_ns - gap->facts->start_ns;

	if (next && length_ns >= WT_DIAGNOSE_DATA_GAP_NS &&
	    wt_steps_is_start(&gaps->steps, next->process_id, next->start_ns))
		return WT_FAMILY_DATA;
	return length_ns > WT_LEDGER_SHORT_GAP_NS ? WT_FAMILY_HOST : WT_FAMILY_LAUNCH_BOUND;
}

/* By cause alone; time within the clocks' error is left out. */
static void share_out(const struct wt_gaps *gaps, const struct wt_ledger_gap *gap,
                      enum wt_family host, struct wt_gap_parts *parts)
{
	const enum wt_family of_cause[WT_GAP_CAUSE_MAX] = {
	        [WT_GAP_COPY] = WT_FAMILY_COPY,
	        [WT_GAP_GRAPH] = WT_FAMILY_GRAPH,
	        [WT_GAP_LOAD] = WT_FAMILY_LOAD,
	        [WT_GAP_PROFILER] = WT_FAMILY_PROFILER,
	        [WT_GAP_SYNC] = WT_FAMILY_SYNC,
	        [WT_GAP_ALLOC] = WT_FAMILY_ALLOC,
	        [WT_GAP_HOST] = host,
	        [WT_GAP_LAUNCH] = host,
	        [WT_GAP_DEPENDENCY] = WT_FAMILY_DEPENDENCY,
	        [WT_GAP_TURNAROUND] = WT_FAMILY_TURNAROUND,
	        [WT_GAP_UNKNOWN] = WT_FAMILY_UNKNOWN,
	        [WT_GAP_UNDECIDED] = WT_FAMILY_MAX,
	        [WT_GAP_STARTUP] = WT_FAMILY_STARTUP,
	        [WT_GAP_AFTER] = WT_FAMILY_AFTER,
	};
	int64_t pageable = 0;

	if (gap->cause_ns[WT_GAP_COPY])
		pageable = pageable_ns(gaps, gap->facts);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		if (of_cause[cause] != WT_FAMILY_MAX)
			put(parts, of_cause[cause], gap->cause_ns[cause]);
	put(parts, WT_FAMILY_COPY, -pageable);
	put(parts, WT_FAMILY_COPY_PAGEABLE, pageable);
	/* Copies of pageable memory hold their thread up. */
	if (parts->of[WT_FAMILY_SYNC].most < (double)pageable)
		move(parts, WT_FAMILY_SYNC, WT_FAMILY_COPY_PAGEABLE, false);
}

/* Time within the clocks' error: to whoever has most of the gap, at the greatest. */
static void share_undecided(const struct wt_ledger_gap *gap, struct wt_gap_parts *parts)
{
	int64_t ns = gap->cause_ns[WT_GAP_UNDECIDED];
	size_t best = WT_FAMILY_MAX;

	for (size_t f = 0; ns && f < WT_FAMILY_MAX; f++)
		if (parts->of[f].most > 0 &&
		    (best == WT_FAMILY_MAX || parts->of[f].most > parts->of[best].most))
			best = f;
	if (best != WT_FAMILY_MAX)
		parts->of[best].most += (double)ns;
}

/* Before the first launch of a kernel its process prepares it: compiles, loads, allocates. */
static void share_new_kernel(struct wt_gaps *gaps, const struct wt_ledger_gap *gap,
                             enum wt_family host, enum wt_family to, struct wt_gap_parts *parts)
{
	struct wt_late_kernel one = {gap->next->kernel_id, gaps->device->device_id,
	                             gap->next->start_ns, 0};

	move(parts, WT_FAMILY_LOAD, to, true);
	move(parts, host, to, false);
	move(parts, WT_FAMILY_ALLOC, to, false);
	if (to != WT_FAMILY_LATE || parts->of[to].most <= 0)
		return;
	one.sm_ns = parts->of[to].most * (double)gaps->device->sms;
	gaps->found.late_kernels++;
	for (size_t i = 0; i < sizeof(gaps->found.late) / sizeof(gaps->found.late[0]); i++) {
		struct wt_late_kernel held = gaps->found.late[i];

		if (one.sm_ns <= held.sm_ns)
			continue;
		gaps->found.late[i] = one;
		one = held;
	}
}

/* Did the same thread launch a graph before K's, or anyone into the same stream, and nothing waited since? */
static bool is_graph_break(const struct wt_gaps *gaps, const struct wt_ledger_gap *gap)
{
	const struct wt_ledger_row *next = gap->next, *before = &gaps->graph;
	int64_t idle_ns = gap->facts->end_ns - gap->facts->start_ns + gaps->chain.idle_ns;

	return next->is_graph_node && next->has_call && gaps->has_graph && before->has_call &&
	       before->process_id == next->process_id &&
	       (before->call.thread32 == next->call.thread32 ||
	        before->call.stream == next->call.stream) &&
	       before->launch_seq != next->launch_seq && !gap->facts->is_same_graph_launch &&
	       gaps->eager_since <= WT_DIAGNOSE_EAGER_MAX && idle_ns > gaps->graph_gap_ns &&
	       !has_wait(&gap->facts->syncs, before->call.return_ns, next->call.entry_ns);
}

/* Of a thread and a kernel before which it waits; NULL: no memory. */
static struct wt_waiting_kernel *find_waiting(struct wt_gaps *gaps,
                                              const struct wt_gaps_thread *thread, int64_t kernel)
{
	uint64_t key = (uint64_t)(thread - gaps->threads) << 32 | (uint64_t)kernel;
	uint32_t at = wt_map_get(&gaps->waiting_at, key);
	struct wt_waiting_kernel *one;

	if (at != WT_MAP_NONE)
		return &gaps->waiting[at];
	one = wt_report_append(&gaps->waiting, &gaps->waiting_count, sizeof(*one));
	if (!one || wt_map_set(&gaps->waiting_at, key, (uint32_t)gaps->waiting_count - 1))
		return NULL;
	one->thread = (uint32_t)(thread - gaps->threads);
	one->kernel = (uint32_t)kernel;
	return one;
}

/* What a thread that waited since its last launch has of the gap, until it is known how often it does. */
static int wait_take(struct wt_gaps *gaps, const struct wt_ledger_row *next, enum wt_family host,
                     struct wt_gap_parts *parts)
{
	const enum wt_family families[] = {WT_FAMILY_SYNC, host, WT_FAMILY_TURNAROUND};
	struct wt_gaps_thread *thread = find_thread(gaps, next);
	int64_t at = wt_gaps_kernel(gaps, next->kernel_id);
	struct wt_waiting_kernel *kernel;
	double sms = (double)gaps->device->sms;

	if (at < 0)
		return (int)at;
	kernel = thread ? find_waiting(gaps, thread, at) : NULL;
	if (!kernel)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		struct wt_family_share *part = &parts->of[families[i]];

		kernel->sm_ns[families[i]] += part->most * sms;
		thread->waiting_gaps[families[i]] += part->most > 0;
		thread->waiting[families[i]].least += part->least * sms;
		thread->waiting[families[i]].most += part->most * sms;
		*part = (struct wt_family_share){0, 0};
	}
	thread->gaps++;
	return 0;
}

/* After waits that last: when did its thread launch before K? */
static bool is_after_wait(struct wt_gaps *gaps, const struct wt_ledger_gap *gap)
{
	struct wt_gaps_thread *thread;

	if (!gap->next || !gap->next->has_call)
		return false;
	thread = find_thread(gaps, gap->next);
	return thread && gap->next->call.entry_ns > thread->entry_ns &&
	       has_wait(&gap->facts->syncs, thread->entry_ns, gap->next->call.entry_ns);
}

static int note_call_gap(struct wt_gaps *gaps, const struct wt_ledger_gap *gap,
                         enum wt_family family)
{
	struct wt_call_gap *one;

	if (gap->cause_ns[WT_GAP_SYNC] + gap->cause_ns[WT_GAP_ALLOC] + gap->cause_ns[WT_GAP_LOAD] ==
	    0)
		return 0;
	one = wt_report_append(&gaps->call_gaps, &gaps->call_gap_count, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct wt_call_gap){{gap->facts->start_ns, gap->facts->end_ns}, family};
	return 0;
}

/* COLD or LATE before the first launch of a kernel; else WT_FAMILY_MAX. */
static enum wt_family new_family(const struct wt_gaps *gaps, const struct wt_ledger_gap *gap)
{
	const struct wt_ledger_row *next = gap->next;

	if (!next || !wt_steps_is_first(&gaps->steps, next->process_id, gap->device->device_id,
	                                next->kernel_id, next->start_ns))
		return WT_FAMILY_MAX;
	return wt_steps_is_warm(&gaps->steps, next->process_id, next->start_ns) ? WT_FAMILY_LATE
	                                                                        : WT_FAMILY_COLD;
}

/* ---- the observer */

static int load_pageable(struct wt_gaps *gaps)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(gaps->db,
	                           "SELECT start_ns, end_ns FROM copy WHERE device_id = ?1"
	                           " AND end_ns > start_ns AND " WT_COPY_IS_PAGEABLE,
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, gaps->device->device_id);
	free(gaps->pageable);
	gaps->pageable = NULL;
	gaps->pageable_count = 0;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_interval *one =
		        wt_report_append(&gaps->pageable, &gaps->pageable_count, sizeof(*one));

		if (!one) {
			rc = -ENOMEM;
			break;
		}
		*one = (struct wt_interval){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	gaps->pageable_count = wt_intervals_unite(gaps->pageable, gaps->pageable_count);
	return rc;
}

static int enter_device(struct wt_gaps *gaps, const struct wt_ledger_device *device)
{
	if (gaps->device == device)
		return 0;
	if (gaps->device)
		wt_chain_end(gaps, WT_FAMILY_MAX);
	gaps->device = device;
	gaps->has_graph = false;
	return load_pageable(gaps);
}

static int on_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct wt_gaps *gaps = arg;
	const struct wt_ledger_row *next = gap->next;
	struct wt_gap_parts parts = {0};
	enum wt_family host, new = new_family(gaps, gap);
	bool is_short = gap->facts->end_ns - gap->facts->start_ns <= WT_LEDGER_SHORT_GAP_NS;
	int rc = enter_device(gaps, gap->device);

	if (!rc)
		rc = note_call_gap(gaps, gap, new);
	if (rc)
		return rc;
	host = host_family(gaps, gap);
	share_out(gaps, gap, host, &parts);
	share_undecided(gap, &parts);
	if (!is_short || !next)
		wt_chain_end(gaps, WT_FAMILY_MAX);
	if (!next)
		return take(gaps, &parts, next);
	/* Before code is loaded it is compiled, often under a name that has run before. */
	if (!is_short && parts.of[WT_FAMILY_LOAD].least >= WT_DIAGNOSE_LOAD_NS)
		move(&parts, host, WT_FAMILY_LOAD, false);
	if (new != WT_FAMILY_MAX) {
		share_new_kernel(gaps, gap, host, new, &parts);
	} else if (is_short && is_graph_break(gaps, gap)) {
		move(&parts, host, WT_FAMILY_GRAPH_BREAK, true);
		wt_chain_end(gaps, WT_FAMILY_GRAPH_BREAK);
		gaps->found.breaks++;
	} else if (is_short && is_after_wait(gaps, gap)) {
		rc = wait_take(gaps, next, host, &parts);
	} else if (is_short && is_small(next) && gaps->chain.count) {
		rc = wt_chain_take(gaps, &parts, next);
	}
	return rc ? rc : take(gaps, &parts, next);
}

static int on_row(void *arg, const struct wt_ledger_device *device, const struct wt_ledger_row *row,
                  bool is_collective)
{
	struct wt_gaps *gaps = arg;
	struct wt_gaps_thread *thread;
	int rc = enter_device(gaps, device);

	(void)is_collective;
	if (rc)
		return rc;
	if (is_small(row)) {
		gaps->chain.count++;
		gaps->chain.busy_ns += row->end_ns - row->start_ns;
	} else {
		wt_chain_end(gaps, WT_FAMILY_MAX);
	}
	if (row->is_graph_node) {
		gaps->graph = *row;
		gaps->has_graph = true;
		gaps->eager_since = 0;
	} else {
		gaps->eager_since++;
	}
	if (!row->has_call)
		return 0;
	thread = find_thread(gaps, row);
	if (!thread)
		return -ENOMEM;
	if (row->call.entry_ns > thread->entry_ns) {
		thread->entry_ns = row->call.entry_ns;
		thread->launches++;
	}
	return 0;
}

static int on_begin(void *arg, sqlite3 *db, const struct wt_ledger *ledger)
{
	struct wt_gaps *gaps = arg;

	(void)ledger;
	gaps->db = db;
	return wt_steps_known_load(db, &gaps->steps);
}

void wt_gaps_init(struct wt_gaps *gaps, int64_t graph_gap_ns)
{
	memset(gaps, 0, sizeof(*gaps));
	gaps->graph_gap_ns = graph_gap_ns;
	gaps->chain.at = 1; /* 0: kernels that were in none */
}

void wt_gaps_observe(struct wt_gaps *gaps, struct wt_ledger_observer *ret_observer)
{
	*ret_observer = (struct wt_ledger_observer){
	        .begin = on_begin, .row = on_row, .gap = on_gap, .arg = gaps};
}

/* Waiting after many launches is a finding; after some of them it is a wait and what follows. */
static void decide_thread(struct wt_gaps *gaps, const struct wt_gaps_thread *thread)
{
	bool is_each = thread->gaps >= WT_DIAGNOSE_WAITS_MIN &&
	               thread->gaps * 100 >= thread->launches * WT_DIAGNOSE_WAITS_PERCENT;

	for (int f = 0; f < WT_FAMILY_MAX; f++) {
		struct wt_family_sum *to = &gaps->sum[is_each ? WT_FAMILY_SYNC_EACH : f];

		to->sm_ns.most += thread->waiting[f].most;
		if (!is_each || f == WT_FAMILY_SYNC)
			to->sm_ns.least += thread->waiting[f].least;
		if (!is_each)
			to->gaps += thread->waiting_gaps[f];
	}
	for (size_t i = 0; i < gaps->waiting_count; i++) {
		const struct wt_waiting_kernel *waiting = &gaps->waiting[i];

		for (int f = 0; f < WT_FAMILY_MAX && waiting->thread == thread - gaps->threads; f++)
			gaps->kernels[waiting->kernel].sm_ns[is_each ? WT_FAMILY_SYNC_EACH : f] +=
			        waiting->sm_ns[f];
	}
	if (!is_each)
		return;
	gaps->sum[WT_FAMILY_SYNC_EACH].gaps += thread->gaps;
	gaps->found.launches += thread->launches;
	gaps->found.launches_after_wait += thread->gaps;
}

void wt_gaps_finish(struct wt_gaps *gaps)
{
	if (gaps->device)
		wt_chain_end(gaps, WT_FAMILY_MAX);
	for (size_t i = 0; i < gaps->thread_count; i++)
		decide_thread(gaps, &gaps->threads[i]);
}

void wt_gaps_fini(struct wt_gaps *gaps)
{
	free(gaps->kernels);
	free(gaps->threads);
	free(gaps->waiting);
	free(gaps->call_gaps);
	wt_map_fini(&gaps->waiting_at);
	free(gaps->pageable);
	free(gaps->chain.touched);
	wt_map_fini(&gaps->kernel_at);
	wt_map_fini(&gaps->thread_at);
	wt_steps_known_fini(&gaps->steps);
}

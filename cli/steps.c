/*
 * steps.c - see steps.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sql.h"
#include "cli/steps.h"
#include "cli/steps_load.h"

/* The process to look at, and how many there are. */
static int choose_process(sqlite3 *db, const struct wt_steps_query *query,
                          struct wt_run_steps *steps)
{
	static const char sql[] =
	        "SELECT process_id, pid FROM proc"
	        " WHERE launches_stored + graph_launches_stored + kernels_stored > 0"
	        " ORDER BY launches_stored + graph_launches_stored DESC,"
	        " process_id";
	bool is_found = false;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t id = sqlite3_column_int64(s, 0);

		steps->processes++;
		if (is_found || (query->process_id >= 0 && query->process_id != id))
			continue;
		is_found = true;
		steps->process_id = id;
		steps->pid = sqlite3_column_int64(s, 1);
	}
	sqlite3_finalize(s);
	return rc ? rc : is_found ? 0 : -ENOENT;
}

/* Where the window of the process begins and ends, as the other commands have it. */
static int read_window(sqlite3 *db, const struct wt_step_launches *launches,
                       struct wt_run_steps *steps)
{
	struct wt_report window = {0};
	int rc = wt_report_read_window(db, NULL, &window);

	if (rc)
		return rc;
	steps->first_ns = window.has_window ? window.start_ns : launches->at[0].item.time_ns;
	steps->last_ns =
	        window.has_window ? window.end_ns : launches->at[launches->count - 1].item.time_ns;
	return 0;
}

/* ---- finding */

/* The first launches in or after the ranges; a range without a launch is no step. */
static size_t marks_of_ranges(const struct wt_step_launches *launches, uint32_t *marks)
{
	size_t count = 0, at = 0;

	for (size_t i = 0; i < launches->mark_count; i++) {
		while (at < launches->count && launches->at[at].item.time_ns < launches->mark_ns[i])
			at++;
		if (at < launches->count && (!count || marks[count - 1] != at))
			marks[count++] = (uint32_t)at;
	}
	return count;
}

static int find_marked(const struct wt_step_launches *launches, const struct wt_step_item *items,
                       int64_t kernel_id, struct wt_steps *found)
{
	uint32_t *marks = calloc(launches->count, sizeof(*marks));
	size_t count = 0;
	int rc;

	if (!marks)
		return -ENOMEM;
	if (kernel_id < 0)
		count = marks_of_ranges(launches, marks);
	for (size_t i = 0; kernel_id >= 0 && i < launches->count; i++)
		if (launches->at[i].kernel_id == kernel_id)
			marks[count++] = (uint32_t)i;
	rc = wt_steps_from_marks(items, launches->count, marks, count, found);
	free(marks);
	return rc;
}

/* The thread with most launches. Boyer and Moore is not enough: it need not have the majority. */
static uint32_t main_thread(const struct wt_step_launches *launches)
{
	struct {
		uint32_t thread32;
		size_t count;
	} seen[64] = {{0}};
	size_t best = 0;

	for (size_t i = 0; i < launches->count; i++) {
		size_t t = 0;

		while (t < 63 && seen[t].count && seen[t].thread32 != launches->at[i].thread32)
			t++;
		seen[t].thread32 = launches->at[i].thread32;
		if (++seen[t].count > seen[best].count)
			best = t;
	}
	return seen[best].thread32;
}

/* Leaves the launches of one thread. The number of those that go. */
static size_t keep_thread(struct wt_step_launches *launches, uint32_t thread32)
{
	size_t kept = 0, before = launches->count;

	for (size_t i = 0; i < before; i++)
		if (launches->at[i].thread32 == thread32)
			launches->at[kept++] = launches->at[i];
	launches->count = kept;
	return before - kept;
}

static int find(const struct wt_step_launches *launches, const struct wt_steps_query *query,
                struct wt_steps *found)
{
	struct wt_step_item *items = calloc(launches->count, sizeof(*items));
	int rc;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < launches->count; i++)
		items[i] = launches->at[i].item;
	if (query->marker_kernel_id >= 0 || query->marker_range)
		rc = find_marked(launches, items, query->marker_kernel_id, found);
	else
		rc = wt_steps_find(items, launches->count, found);
	free(items);
	return rc;
}

/*
 * All threads together, since a step may be shared among them (PyTorch goes backward on another
 * one). Where nothing recurs, threads may have loops of their own: then the largest alone.
 */
static int find_in_threads(struct wt_step_launches *launches, const struct wt_steps_query *query,
                           struct wt_run_steps *steps)
{
	int rc = find(launches, query, &steps->found);

	if (rc || steps->is_marked || steps->found.reason != WT_STEPS_NO_LOOP)
		return rc;
	if (keep_thread(launches, main_thread(launches)) == 0)
		return 0;
	wt_steps_fini(&steps->found);
	steps->is_of_thread = true;
	return find(launches, query, &steps->found);
}

/* ---- measuring */

/* When the first kernel of [first, end) started; 0: none is known. */
static int64_t start_of(const struct wt_step_launches *launches, size_t first, size_t end,
                        bool is_gpu_time)
{
	if (!is_gpu_time)
		return launches->at[first].item.time_ns;
	while (first < end && launches->at[first].start_ns == 0)
		first++;
	return first < end ? launches->at[first].start_ns : 0;
}

static int64_t end_of(const struct wt_step_launches *launches, const struct wt_step *step,
                      bool is_gpu_time)
{
	int64_t end_ns = launches->at[step->end - 1].item.time_ns;

	for (size_t i = step->first; is_gpu_time && i < step->end; i++)
		if (i == step->first || launches->at[i].end_ns > end_ns)
			end_ns = launches->at[i].end_ns;
	return end_ns;
}

static int measure(const struct wt_step_launches *launches, struct wt_run_steps *steps)
{
	const struct wt_intervals busy = {launches->busy, launches->busy_count};
	size_t count = steps->found.count;

	steps->steps = calloc(count + 1, sizeof(*steps->steps));
	if (!steps->steps)
		return -ENOMEM;
	steps->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct wt_step *step = &steps->found.steps[i];
		struct wt_run_step *one = &steps->steps[i];

		one->launches = (int64_t)(step->end - step->first);
		one->is_alike = step->is_alike;
		one->is_steady = step->is_steady;
		one->start_ns = start_of(launches, step->first, step->end, steps->is_gpu_time);
		/* Kernels of two streams may start in another order than they were launched. */
		if (i && one->start_ns < steps->steps[i - 1].start_ns)
			one->start_ns = steps->steps[i - 1].start_ns;
		if (i)
			steps->steps[i - 1].end_ns = one->start_ns;
	}
	if (count) {
		const struct wt_step *last = &steps->found.steps[count - 1];
		int64_t own_ns = end_of(launches, last, steps->is_gpu_time), next_ns = 0;

		if (last->end < launches->count)
			next_ns =
			        start_of(launches, last->end, launches->count, steps->is_gpu_time);
		/* What comes after the loop is not the last step's, if it comes later than a step takes. */
		steps->steps[count - 1].end_ns =
		        next_ns && next_ns - own_ns <= own_ns - steps->steps[count - 1].start_ns
		                ? next_ns
		                : own_ns;
		if (steps->steps[count - 1].end_ns < steps->steps[count - 1].start_ns)
			steps->steps[count - 1].end_ns = steps->steps[count - 1].start_ns;
	}
	for (size_t i = 0; i < count; i++)
		steps->steps[i].busy_ns = wt_intervals_overlap_ns(&busy, steps->steps[i].start_ns,
		                                                  steps->steps[i].end_ns);
	if (steps->found.steady_count) {
		steps->steady_start_ns = steps->steps[steps->found.steady_first].start_ns;
		steps->steady_end_ns = steps->steps[steps->found.steady_end - 1].end_ns;
	}
	return 0;
}

static int load_all(sqlite3 *db, const struct wt_steps_query *query,
                    struct wt_step_launches *launches, struct wt_run_steps *steps)
{
	int rc = choose_process(db, query, steps);

	if (!rc)
		rc = wt_step_launches_load(db, steps->process_id, launches);
	if (rc)
		return rc;
	if (launches->count == 0)
		return -ENOENT;
	steps->launches = (int64_t)launches->count;
	if (query->marker_range)
		rc = wt_step_marks_load(db, steps->process_id, query->marker_range, launches);
	if (rc)
		return rc;
	steps->is_marked = query->marker_kernel_id >= 0 || query->marker_range;
	steps->is_gpu_time = launches->timed * 10 > launches->count * 9;
	rc = read_window(db, launches, steps);
	if (!rc)
		rc = find_in_threads(launches, query, steps);
	return rc ? rc : measure(launches, steps);
}

int wt_run_steps_load(sqlite3 *db, const struct wt_steps_query *query, struct wt_run_steps *steps)
{
	struct wt_step_launches launches = {0};
	int rc;

	memset(steps, 0, sizeof(*steps));
	rc = wt_report_note(db, sqlite3_exec(db, "SAVEPOINT steps", NULL, NULL, NULL));
	if (!rc)
		rc = load_all(db, query, &launches, steps);
	if (rc == -EIO)
		snprintf(steps->problem, sizeof(steps->problem), "%s", wt_report_problem(db));
	sqlite3_exec(db, "RELEASE steps", NULL, NULL, NULL);
	wt_step_launches_fini(&launches);
	return rc;
}

void wt_run_steps_fini(struct wt_run_steps *steps)
{
	wt_steps_fini(&steps->found);
	free(steps->steps);
	steps->steps = NULL;
	steps->count = 0;
}

const char *wt_run_step_kind(const struct wt_run_steps *steps, size_t i)
{
	if (steps->steps[i].is_steady)
		return "steady";
	return i < steps->found.steady_first || !steps->found.steady_count ? "start-up" : "odd";
}

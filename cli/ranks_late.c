/*
 * ranks_late.c - what made the rank late for which the others wait (analysis/waits.h): each rank's
 * time in each step, by class. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/copy_names.h"
#include "cli/kernel_name.h"
#include "cli/ranks.h"
#include "cli/report_sql.h"
#include "cli/steps.h"

/* ---- steps */

/* Boundaries of the steady steps in the window; fewer than two: the window is one stretch. */
static void take_steps(struct wt_ranks *ranks, const struct wt_run_steps *steps)
{
	const struct wt_ledger *ledger = ranks->ledger;

	for (size_t i = 0; i < steps->count; i++) {
		const struct wt_run_step *step = &steps->steps[i];

		if (i < steps->found.steady_first || i >= steps->found.steady_end ||
		    step->start_ns < ledger->start_ns || step->end_ns > ledger->end_ns ||
		    step->end_ns <= step->start_ns)
			continue;
		if (ranks->step_count && step->start_ns != ranks->steps_ns[ranks->step_count])
			continue; /* they lie back to back */
		ranks->steps_ns[ranks->step_count++] = step->start_ns;
		ranks->steps_ns[ranks->step_count] = step->end_ns;
	}
}

int wt_ranks_find_steps(struct wt_ranks *ranks, sqlite3 *db)
{
	const struct wt_steps_query query = {.process_id = -1, .marker_kernel_id = -1};
	struct wt_run_steps *steps = calloc(1, sizeof(*steps));
	int rc = steps ? wt_run_steps_load(db, &query, steps) : -ENOMEM;

	if (rc == -ENOENT)
		rc = 0;
	if (!rc) {
		ranks->steps_ns = calloc(steps->count + 2, sizeof(*ranks->steps_ns));
		if (!ranks->steps_ns)
			rc = -ENOMEM;
	}
	if (!rc && steps->found.reason == WT_STEPS_FOUND && steps->is_gpu_time)
		take_steps(ranks, steps);
	ranks->has_steps = ranks->step_count > 0;
	if (!rc && !ranks->has_steps) {
		ranks->step_count = 1;
		ranks->steps_ns[0] = ranks->ledger->start_ns;
		ranks->steps_ns[1] = ranks->ledger->end_ns;
	}
	if (steps)
		wt_run_steps_fini(steps);
	free(steps);
	ranks->pageable_device_id = -1;
	return rc;
}

/* The first step that ends after time_ns; step_count if none does. */
static size_t step_after(const struct wt_ranks *ranks, int64_t time_ns)
{
	size_t low = 0, high = ranks->step_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranks->steps_ns[middle + 1] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Cuts [start, end) to the step; false: nothing of it is in there. */
static bool cut(const struct wt_ranks *ranks, size_t step, int64_t *start_ns, int64_t *end_ns)
{
	if (*start_ns < ranks->steps_ns[step])
		*start_ns = ranks->steps_ns[step];
	if (*end_ns > ranks->steps_ns[step + 1])
		*end_ns = ranks->steps_ns[step + 1];
	return *start_ns < *end_ns;
}

static int make_room(const struct wt_ranks *ranks, struct wt_rank_row *row)
{
	if (!row->spent_ns)
		row->spent_ns = calloc(ranks->step_count, sizeof(*row->spent_ns));
	return row->spent_ns ? 0 : -ENOMEM;
}

/* ---- where time went */

static int count_kernel(struct wt_ranks *ranks, struct wt_rank_row *row,
                        const struct wt_ledger_row *kernel)
{
	uint32_t at = wt_map_get(&row->kernel_at, (uint64_t)kernel->kernel_id);
	struct wt_rank_kernel *one;

	if (kernel->start_ns < ranks->steps_ns[0] ||
	    kernel->start_ns >= ranks->steps_ns[ranks->step_count])
		return 0;
	if (at == WT_MAP_NONE) {
		one = wt_report_append(&row->kernels_in_steps, &row->kernels_in_steps_count,
		                       sizeof(*one));
		at = (uint32_t)row->kernels_in_steps_count - 1;
		if (!one || wt_map_set(&row->kernel_at, (uint64_t)kernel->kernel_id, at))
			return -ENOMEM;
		one->kernel_id = kernel->kernel_id;
	}
	one = &row->kernels_in_steps[at];
	wt_report_add(&one->time_ns, kernel->end_ns - kernel->start_ns);
	one->launches++;
	return 0;
}

int wt_ranks_spend_kernel(struct wt_ranks *ranks, struct wt_rank_row *row,
                          const struct wt_ledger_row *kernel, int64_t fresh_start_ns,
                          int64_t end_ns)
{
	int rc = make_room(ranks, row);

	if (rc)
		return rc;
	for (size_t step = step_after(ranks, fresh_start_ns); step < ranks->step_count; step++) {
		int64_t from_ns = fresh_start_ns, to_ns = end_ns;

		if (!cut(ranks, step, &from_ns, &to_ns))
			break;
		row->spent_ns[step][WT_LATE_KERNELS] += to_ns - from_ns;
	}
	return count_kernel(ranks, row, kernel);
}

void wt_ranks_take_off(const struct wt_ranks *ranks, struct wt_rank_row *row,
                       const struct wt_rank_launch *launch, int64_t kernel_id, double share)
{
	uint32_t at = wt_map_get(&row->kernel_at, (uint64_t)kernel_id);

	for (size_t step = step_after(ranks, launch->fresh_start_ns);
	     row->spent_ns && step < ranks->step_count; step++) {
		int64_t from_ns = launch->fresh_start_ns, to_ns = launch->end_ns;

		if (!cut(ranks, step, &from_ns, &to_ns))
			break;
		row->spent_ns[step][WT_LATE_KERNELS] -=
		        (int64_t)(share * (double)(to_ns - from_ns));
	}
	if (at != WT_MAP_NONE && launch->start_ns >= ranks->steps_ns[0] &&
	    launch->start_ns < ranks->steps_ns[ranks->step_count])
		row->kernels_in_steps[at].time_ns -=
		        (int64_t)(share * (double)(launch->end_ns - launch->start_ns));
}

static int load_pageable(struct wt_ranks *ranks, int64_t device_id)
{
	size_t count = 0;
	sqlite3_stmt *s;
	int rc;

	if (device_id == ranks->pageable_device_id)
		return 0;
	free(ranks->pageable_at);
	ranks->pageable_at = NULL;
	rc = wt_report_prepare(ranks->db,
	                       "SELECT start_ns, end_ns FROM copy WHERE device_id = ?1 AND"
	                       " end_ns > start_ns AND (" WT_COPY_IS_PAGEABLE ")",
	                       &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_interval *one =
		        wt_report_append(&ranks->pageable_at, &count, sizeof(*one));

		if (!one) {
			rc = -ENOMEM;
			break;
		}
		*one = (struct wt_interval){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	if (count)
		count = wt_intervals_unite(ranks->pageable_at, count);
	ranks->pageable = (struct wt_intervals){ranks->pageable_at, count};
	ranks->pageable_device_id = device_id;
	return rc;
}

int wt_ranks_spend_gap(struct wt_ranks *ranks, struct wt_rank_row *row,
                       const struct wt_ledger_gap *gap)
{
	struct wt_gap_facts part = *gap->facts;
	int rc = make_room(ranks, row);

	if (!rc)
		rc = load_pageable(ranks, row->device_id);
	for (size_t step = step_after(ranks, gap->facts->start_ns); !rc && step < ranks->step_count;
	     step++) {
		int64_t ns[WT_GAP_CAUSE_MAX] = {0}, *spent_ns = row->spent_ns[step];
		int64_t pageable_ns;

		part.start_ns = gap->facts->start_ns;
		part.end_ns = gap->facts->end_ns;
		if (!cut(ranks, step, &part.start_ns, &part.end_ns))
			break;
		wt_gap_classify(&part, ns);
		pageable_ns = wt_intervals_overlap_ns(&ranks->pageable, part.start_ns, part.end_ns);
		if (pageable_ns > ns[WT_GAP_COPY])
			pageable_ns = ns[WT_GAP_COPY];
		ns[WT_GAP_COPY] -= pageable_ns;
		spent_ns[WT_LATE_COPY_PAGEABLE] += pageable_ns;
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			spent_ns[cause] += ns[cause];
	}
	return rc;
}

/* ---- the verdict */

static const char *why_not(const struct wt_ranks *ranks)
{
	if (ranks->wait_reason)
		return ranks->wait_reason;
	for (size_t i = 0; i < ranks->count; i++) {
		const struct wt_rank_row *row = &ranks->rows[i];

		if (wt_collectives_member(&ranks->collectives, row->process_id, row->device_id) ==
		    SIZE_MAX)
			return "not all ran collectives";
		for (size_t k = 0; k < i; k++)
			if (ranks->rows[k].device_id == row->device_id)
				return "processes share a device";
	}
	if (ranks->count != ranks->collectives.member_count)
		return "not all ranks are selected";
	return NULL;
}

/* Rows are sorted by rank, members as they come: row of each. */
static int late_by_step(const struct wt_ranks *ranks, int64_t *late_ns)
{
	const struct wt_collectives *collectives = &ranks->collectives;
	size_t *row_of = calloc(collectives->member_count, sizeof(*row_of));

	if (!row_of)
		return -ENOMEM;
	for (size_t i = 0; i < ranks->count; i++)
		row_of[wt_collectives_member(collectives, ranks->rows[i].process_id,
		                             ranks->rows[i].device_id)] = i;
	for (size_t i = 0; i < collectives->count; i++) {
		const struct wt_wait *wait = &collectives->waits[i];
		size_t step = step_after(ranks, wait->wait_until_ns);

		if (wait->late_member == WT_WAITS_NOBODY || step == ranks->step_count ||
		    wait->wait_until_ns < ranks->steps_ns[step])
			continue;
		wt_report_add(&late_ns[row_of[wait->late_member] * ranks->step_count + step],
		              wait->wait_until_ns - wait->start_ns);
	}
	free(row_of);
	return 0;
}

/* The kernel whose launches took the row most longer than they did the others, on the mean. */
static int name_kernel(const struct wt_ranks *ranks, struct wt_rank_row *row)
{
	double most_ns = 0;
	sqlite3_stmt *s;
	int rc;

	for (size_t i = 0; i < row->kernels_in_steps_count; i++) {
		const struct wt_rank_kernel *own = &row->kernels_in_steps[i];
		double others_ns = 0;

		for (size_t k = 0; k < ranks->count; k++) {
			const struct wt_rank_row *other = &ranks->rows[k];
			uint32_t at = wt_map_get(&other->kernel_at, (uint64_t)own->kernel_id);

			if (other != row && at != WT_MAP_NONE)
				others_ns += (double)other->kernels_in_steps[at].time_ns;
		}
		others_ns = (double)own->time_ns - others_ns / ((double)ranks->count - 1);
		if (others_ns <= most_ns)
			continue;
		most_ns = others_ns;
		row->late_kernel_id = own->kernel_id;
		row->late_kernel_ns = (int64_t)most_ns;
	}
	if (row->late_kernel_id < 0)
		return 0;
	rc = wt_report_prepare(ranks->db, "SELECT name FROM main.kernel WHERE kernel_id = ?1", &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, row->late_kernel_id);
	rc = wt_report_step(s);
	if (rc > 0) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		char **shortened = NULL;

		rc = wt_kernel_name_shorten_all(&name, 1, &shortened);
		if (!rc) {
			row->late_kernel = shortened[0];
			free(shortened);
		}
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_ranks_judge(struct wt_ranks *ranks)
{
	size_t cells = ranks->count * ranks->step_count;
	struct wt_late_query query = {.members = ranks->count, .steps = ranks->step_count};
	int64_t(*spent_ns)[WT_LATE_MAX] = NULL, *late_ns = NULL;
	int rc = 0;

	ranks->late_reason = why_not(ranks);
	if (ranks->late_reason)
		return 0;
	spent_ns = calloc(cells, sizeof(*spent_ns));
	late_ns = calloc(cells, sizeof(*late_ns));
	if (!spent_ns || !late_ns)
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < ranks->count; i++)
		if (ranks->rows[i].spent_ns)
			memcpy(&spent_ns[i * ranks->step_count], ranks->rows[i].spent_ns,
			       ranks->step_count * sizeof(*spent_ns));
	if (!rc)
		rc = late_by_step(ranks, late_ns);
	query.late_ns = late_ns;
	query.spent_ns = (const int64_t(*)[WT_LATE_MAX])spent_ns;
	for (size_t i = 0; !rc && i < ranks->count; i++) {
		struct wt_rank_row *row = &ranks->rows[i];

		wt_late_judge(&query, i, &row->late);
		if (row->late.cause == WT_LATE_KERNELS)
			rc = name_kernel(ranks, row);
	}
	free(spent_ns);
	free(late_ns);
	return rc;
}

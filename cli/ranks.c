/*
 * ranks.c - see ranks.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ranks.h"
#include "cli/report_sql.h"
#include "cli/steps.h"
#include "cli/steps_times.h"

/* ---- as the ledger is loaded */

static struct wt_rank_row *row_of(struct wt_ranks *ranks, int64_t process_id,
                                  const struct wt_ledger_device *device)
{
	uint64_t key = (uint64_t)process_id << 32 | (uint32_t)device->device_id;
	uint32_t at = wt_map_get(&ranks->row_at, key);
	struct wt_rank_row *row;

	if (at != WT_MAP_NONE)
		return &ranks->rows[at];
	row = wt_report_append(&ranks->rows, &ranks->count, sizeof(*row));
	if (!row || wt_map_set(&ranks->row_at, key, (uint32_t)ranks->count - 1))
		return NULL;
	row->process_id = process_id;
	row->device_id = device->device_id;
	row->sms = device->sms;
	row->pid = row->rank = row->local_rank = row->world_size = -1;
	row->wait_ns = row->wait_exposed_ns = row->late_ns = row->late_kernel_id = -1;
	row->transfer_ns = -1;
	row->late.cause = -1;
	return row;
}

/* The part that is new, from *start_ns on, which it sets. */
static void unite(struct wt_rank_union *set, int64_t *start_ns, int64_t end_ns)
{
	if (*start_ns < set->end_ns)
		*start_ns = set->end_ns;
	if (end_ns <= *start_ns)
		return;
	set->ns += end_ns - *start_ns;
	set->end_ns = end_ns;
}

/* Time of kernels, as they come by start. */
static int keep_compute(struct wt_rank_row *row, int64_t start_ns, int64_t end_ns)
{
	struct wt_interval *last =
	        row->compute_count ? &row->compute_at[row->compute_count - 1] : NULL;

	if (end_ns <= start_ns)
		return 0;
	if (last && last->end_ns == start_ns) {
		last->end_ns = end_ns;
		return 0;
	}
	last = wt_report_append(&row->compute_at, &row->compute_count, sizeof(*last));
	if (!last)
		return -ENOMEM;
	*last = (struct wt_interval){start_ns, end_ns};
	return 0;
}

static int on_begin(void *arg, sqlite3 *db, const struct wt_ledger *ledger)
{
	struct wt_ranks *ranks = arg;

	ranks->ledger = ledger;
	ranks->db = db;
	return wt_ranks_find_steps(ranks, db);
}

static int on_row(void *arg, const struct wt_ledger_device *device,
                  const struct wt_ledger_row *kernel, bool is_collective)
{
	struct wt_ranks *ranks = arg;
	const struct wt_ledger *ledger = ranks->ledger;
	struct wt_rank_row *row = row_of(ranks, kernel->process_id, device);
	int64_t start_ns =
	        kernel->start_ns > ledger->start_ns ? kernel->start_ns : ledger->start_ns;
	int64_t end_ns = kernel->end_ns < ledger->end_ns ? kernel->end_ns : ledger->end_ns;
	int64_t new_ns = start_ns;
	int rc;

	if (!row)
		return -ENOMEM;
	row->kernels++;
	wt_report_add(&row->time_ns, end_ns - start_ns);
	unite(&row->busy, &new_ns, end_ns);
	new_ns = start_ns;
	if (is_collective) {
		unite(&row->comm, &new_ns, end_ns);
		return wt_ranks_pace_collective(row, kernel);
	}
	unite(&row->compute, &new_ns, end_ns);
	rc = keep_compute(row, new_ns, end_ns);
	if (!rc)
		rc = wt_ranks_pace_kernel(row, kernel, new_ns);
	return rc ? rc : wt_ranks_spend_kernel(ranks, row, kernel, new_ns, end_ns);
}

static int on_share(void *arg, const struct wt_ledger_device *device, int64_t process_id,
                    const struct wt_sweep_share *share)
{
	struct wt_rank_row *row = row_of(arg, process_id, device);

	if (!row)
		return -ENOMEM;
	wt_sweep_share_add(&row->share, share);
	return 0;
}

static int on_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct wt_rank_row *row;

	if (!gap->next)
		return 0; /* after the last kernel of a device: nobody's */
	row = row_of(arg, gap->next->process_id, gap->device);
	if (!row)
		return -ENOMEM;
	row->gaps++;
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		row->gap_sm_ns[cause] += gap->cause_ns[cause] * gap->device->sms;
	return 0;
}

static int on_compute_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct wt_rank_row *row = row_of(arg, gap->next->process_id, gap->device);

	return row ? wt_ranks_spend_gap(arg, row, gap) : -ENOMEM;
}

struct wt_ledger_observer wt_ranks_observer(struct wt_ranks *ranks)
{
	return (struct wt_ledger_observer){.begin = on_begin,
	                                   .row = on_row,
	                                   .gap = on_gap,
	                                   .compute_gap = on_compute_gap,
	                                   .share = on_share,
	                                   .arg = ranks};
}

/* ---- who they are */

static int identify(struct wt_rank_row *row, sqlite3 *db)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT pid, ifnull(rank, -1), ifnull(local_rank, -1),"
	                           " ifnull(world_size, -1), command, hostname FROM main.process"
	                           " WHERE process_id = ?1",
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, row->process_id);
	rc = wt_report_step(s);
	if (rc > 0) {
		row->pid = sqlite3_column_int64(s, 0);
		row->rank = sqlite3_column_int64(s, 1);
		row->local_rank = sqlite3_column_int64(s, 2);
		row->world_size = sqlite3_column_int64(s, 3);
		rc = wt_report_copy_text(s, 4, &row->command);
		if (!rc)
			rc = wt_report_copy_text(s, 5, &row->hostname);
	}
	sqlite3_finalize(s);
	return rc;
}

/* Those without a rank last. */
static int by_rank(const void *left, const void *right)
{
	const struct wt_rank_row *a = left, *b = right;
	const int64_t keys[][2] = {
	        {a->rank < 0, b->rank < 0},
	        {a->rank, b->rank},
	        {a->process_id, b->process_id},
	        {a->device_id, b->device_id},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

/* ---- who waited for whom */

static int wait_exposed(struct wt_ranks *ranks, struct wt_rank_row *row, uint32_t member)
{
	const struct wt_collectives *collectives = &ranks->collectives;
	const struct wt_intervals compute = {row->compute_at, row->compute_count};
	struct wt_interval *waits = NULL;
	size_t count = 0;

	row->wait_exposed_ns = 0;
	for (size_t i = 0; i < collectives->count; i++) {
		const struct wt_wait *one = &collectives->waits[i];
		int64_t start_ns = one->start_ns > ranks->ledger->start_ns
		                           ? one->start_ns
		                           : ranks->ledger->start_ns;
		struct wt_interval *wait;

		if (one->member != member || one->wait_until_ns <= start_ns)
			continue;
		wait = wt_report_append(&waits, &count, sizeof(*wait));
		if (!wait) {
			free(waits);
			return -ENOMEM;
		}
		*wait = (struct wt_interval){start_ns, one->wait_until_ns};
	}
	count = count ? wt_intervals_unite(waits, count) : 0;
	for (size_t i = 0; i < count; i++)
		wt_report_add(&row->wait_exposed_ns,
		              waits[i].end_ns - waits[i].start_ns -
		                      wt_intervals_overlap_ns(&compute, waits[i].start_ns,
		                                              waits[i].end_ns));
	free(waits);
	return 0;
}

static int find_waits(struct wt_ranks *ranks, sqlite3 *db)
{
	const struct wt_collectives *collectives = &ranks->collectives;
	int rc = wt_collectives_load(db, ranks->ledger, &ranks->collectives);

	ranks->wait_reason = collectives->found.reason;
	if (ranks->wait_reason && ranks->count < 2)
		ranks->wait_reason = "there is one process on one device: nobody to wait for";
	for (size_t i = 0; !rc && !ranks->wait_reason && i < ranks->count; i++) {
		struct wt_rank_row *row = &ranks->rows[i];
		size_t at = wt_collectives_member(collectives, row->process_id, row->device_id);

		if (at == SIZE_MAX)
			continue;
		row->wait_ns = collectives->members[at].waited_ns;
		row->transfer_ns = collectives->members[at].transfer_ns;
		row->late_ns = collectives->members[at].late_ns;
		rc = wait_exposed(ranks, row, (uint32_t)at);
	}
	return rc;
}

/* ---- steps */

static int find_steps(struct wt_rank_row *row, sqlite3 *db)
{
	const struct wt_steps_query query = {.process_id = row->process_id, .marker_kernel_id = -1};
	struct wt_run_steps *steps = calloc(1, sizeof(*steps));
	struct wt_step_times times = {0};
	int rc = steps ? wt_run_steps_load(db, &query, steps) : -ENOMEM;

	if (!rc && steps->found.reason == WT_STEPS_FOUND && steps->is_gpu_time)
		rc = wt_step_times_compute(steps, &times);
	if (!rc && times.count) {
		row->has_steps = true;
		row->steps = times.count;
		row->step_ns = times.median_ns;
	}
	if (steps)
		wt_run_steps_fini(steps);
	free(steps);
	return rc == -ENOENT ? 0 : rc;
}

int wt_ranks_finish(struct wt_ranks *ranks, sqlite3 *db)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < ranks->count; i++)
		rc = identify(&ranks->rows[i], db);
	if (ranks->count)
		qsort(ranks->rows, ranks->count, sizeof(*ranks->rows), by_rank);
	for (size_t i = 0; !rc && i < ranks->count; i++) {
		struct wt_rank_row *row = &ranks->rows[i];
		bool is_same = i && row[-1].process_id == row->process_id;

		ranks->processes += !is_same;
		if (is_same) {
			row->has_steps = row[-1].has_steps;
			row->steps = row[-1].steps;
			row->step_ns = row[-1].step_ns;
		} else {
			rc = find_steps(row, db);
		}
	}
	if (!rc)
		rc = find_waits(ranks, db);
	if (!rc)
		rc = wt_ranks_pace_finish(ranks);
	return rc ? rc : wt_ranks_judge(ranks);
}

void wt_ranks_fini(struct wt_ranks *ranks)
{
	for (size_t i = 0; i < ranks->count; i++) {
		free(ranks->rows[i].command);
		free(ranks->rows[i].hostname);
		free(ranks->rows[i].compute_at);
		free(ranks->rows[i].spent_ns);
		free(ranks->rows[i].kernels_in_steps);
		free(ranks->rows[i].late_kernel);
		wt_map_fini(&ranks->rows[i].kernel_at);
		wt_ranks_pace_fini(&ranks->rows[i]);
	}
	free(ranks->rows);
	free(ranks->steps_ns);
	free(ranks->pageable_at);
	wt_collectives_fini(&ranks->collectives);
	wt_map_fini(&ranks->row_at);
	memset(ranks, 0, sizeof(*ranks));
}

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

/* Of a hundred collectives so many may not lie at the same time before they are others. */
#define APART_PERCENT_MAX 1

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
	row->wait_ns = -1;
	return row;
}

static void unite(struct wt_rank_union *set, int64_t start_ns, int64_t end_ns)
{
	if (start_ns < set->end_ns)
		start_ns = set->end_ns;
	if (end_ns <= start_ns)
		return;
	set->ns += end_ns - start_ns;
	set->end_ns = end_ns;
}

static int on_begin(void *arg, sqlite3 *db, const struct wt_ledger *ledger)
{
	struct wt_ranks *ranks = arg;

	(void)db;
	ranks->ledger = ledger;
	return 0;
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
	struct wt_rank_collective *collective;

	if (!row)
		return -ENOMEM;
	row->kernels++;
	wt_report_add(&row->time_ns, end_ns - start_ns);
	unite(&row->busy, start_ns, end_ns);
	if (!is_collective) {
		unite(&row->compute, start_ns, end_ns);
		return 0;
	}
	unite(&row->comm, start_ns, end_ns);
	collective =
	        wt_report_append(&row->collectives, &row->collective_count, sizeof(*collective));
	if (!collective)
		return -ENOMEM;
	*collective = (struct wt_rank_collective){kernel->kernel_id, start_ns, end_ns};
	return 0;
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

struct wt_ledger_observer wt_ranks_observer(struct wt_ranks *ranks)
{
	return (struct wt_ledger_observer){
	        .begin = on_begin, .row = on_row, .gap = on_gap, .share = on_share, .arg = ranks};
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

/* Those of each row, the first `count`: do they run at the same time? */
static bool is_together(const struct wt_ranks *ranks, size_t at)
{
	int64_t start_ns = INT64_MIN, end_ns = INT64_MAX;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct wt_rank_collective *one = &ranks->rows[i].collectives[at];

		if (one->start_ns > start_ns)
			start_ns = one->start_ns;
		if (one->end_ns < end_ns)
			end_ns = one->end_ns;
	}
	return start_ns < end_ns;
}

static int64_t shortest_ns(const struct wt_ranks *ranks, size_t at)
{
	int64_t ns = INT64_MAX;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct wt_rank_collective *one = &ranks->rows[i].collectives[at];

		if (one->end_ns - one->start_ns < ns)
			ns = one->end_ns - one->start_ns;
	}
	return ns;
}

/*
 * By kernel, and then by start: different ones, on streams of their own, need not come in the same
 * order everywhere.
 */
static int by_kernel(const void *left, const void *right)
{
	const struct wt_rank_collective *a = left, *b = right;

	if (a->kernel_id != b->kernel_id)
		return a->kernel_id < b->kernel_id ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* Why the collectives of the rows can't be set side by side; NULL: they can. */
static const char *why_apart(const struct wt_ranks *ranks)
{
	const struct wt_rank_row *first = ranks->rows;

	if (ranks->count < 2)
		return "there is one process on one device: nobody to wait for";
	for (size_t i = 0; i < ranks->count; i++)
		if (!ranks->rows[i].collective_count)
			return "not all ran collectives (NCCL, NVSHMEM)";
	for (size_t i = 1; i < ranks->count; i++) {
		const struct wt_rank_row *row = &ranks->rows[i];

		if (row->collective_count != first->collective_count)
			return "not all ran the same number of collectives";
		for (size_t k = 0; k < row->collective_count; k++)
			if (row->collectives[k].kernel_id != first->collectives[k].kernel_id)
				return "not all ran the same collectives";
	}
	return NULL;
}

/*
 * In a collective everybody is until the last one came and the data went round: who is in it longer
 * than another waited for that one. Durations are compared, so that clocks need not agree.
 */
static void find_waits(struct wt_ranks *ranks)
{
	size_t count;

	for (size_t i = 0; i < ranks->count; i++)
		if (ranks->rows[i].collective_count)
			qsort(ranks->rows[i].collectives, ranks->rows[i].collective_count,
			      sizeof(*ranks->rows[i].collectives), by_kernel);
	ranks->wait_reason = why_apart(ranks);
	if (ranks->wait_reason)
		return;
	count = ranks->rows[0].collective_count;
	ranks->collectives = (int64_t)count;
	for (size_t at = 0; at < count; at++)
		ranks->collectives_apart += !is_together(ranks, at);
	if (ranks->collectives_apart * 100 > ranks->collectives * APART_PERCENT_MAX) {
		ranks->wait_reason =
		        "their collectives are not at the same time: of several groups?";
		return;
	}
	for (size_t i = 0; i < ranks->count; i++)
		ranks->rows[i].wait_ns = 0;
	for (size_t at = 0; at < count; at++) {
		int64_t least_ns = shortest_ns(ranks, at);

		for (size_t i = 0; is_together(ranks, at) && i < ranks->count; i++) {
			const struct wt_rank_collective *one = &ranks->rows[i].collectives[at];

			wt_report_add(&ranks->rows[i].wait_ns,
			              one->end_ns - one->start_ns - least_ns);
		}
	}
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
		find_waits(ranks);
	return rc;
}

void wt_ranks_fini(struct wt_ranks *ranks)
{
	for (size_t i = 0; i < ranks->count; i++) {
		free(ranks->rows[i].command);
		free(ranks->rows[i].hostname);
		free(ranks->rows[i].collectives);
	}
	free(ranks->rows);
	wt_map_fini(&ranks->row_at);
	memset(ranks, 0, sizeof(*ranks));
}

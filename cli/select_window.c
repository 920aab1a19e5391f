/*
 * select_window.c - the sums over a time window: each kernel counts with its part inside, in time as
 * in idle SM-time. All kernels of a device are swept in the order of their starts (analysis/sweep.h),
 * so that the rows sum to what `ledger` says of the same window; those selected are summed.
 * Memory grows with the number of configurations; SQLite sorts. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/collective.h"
#include "analysis/derive.h"
#include "analysis/rollup.h"
#include "analysis/sweep.h"
#include "cli/report_sql.h"
#include "cli/select_impl.h"

#define SLOTS (WT_SWEEP_RESIDENT_MAX + 1) /* one more, for the kernel that is being added */

int64_t wt_select_part(int64_t value, int64_t part, int64_t whole)
{
	if (part == whole || whole <= 0)
		return value;
	return (int64_t)(((__int128)value * part + whole / 2) / whole);
}

void wt_select_read_part(const struct wt_select *select, sqlite3_stmt *s, int column,
                         int64_t config_sms, struct wt_select_part *ret_part)
{
	int64_t start = sqlite3_column_int64(s, column);
	int64_t end = sqlite3_column_int64(s, column + 1);
	struct wt_wave_result wave = {0};
	int64_t whole, part, all;

	if (start < 0)
		start = 0; /* a damaged file: nothing may overflow */
	whole = end - start;
	if (select && select->has_window && start < select->start_ns)
		start = select->start_ns;
	if (select && select->has_window && end > select->end_ns)
		end = select->end_ns;
	part = end - start;
	wave.underfill_sm_ns = wt_select_part(sqlite3_column_int64(s, column + 2), part, whole);
	wave.is_judged = sqlite3_column_type(s, column + 3) != SQLITE_NULL;
	/* What isn't judged is all that is not underfill: see split_sm_time() in wave.c. */
	if (wave.is_judged) {
		wave.wave_sm_ns = wt_select_part(sqlite3_column_int64(s, column + 3), part, whole);
		wave.wave_max_sm_ns =
		        wt_select_part(sqlite3_column_int64(s, column + 4), part, whole);
	} else {
		if (__builtin_mul_overflow(part, config_sms, &all))
			all = INT64_MAX;
		wave.unjudged_sm_ns = all - wave.underfill_sm_ns;
	}
	*ret_part = (struct wt_select_part){start, end, wave};
}

/* Columns of `exec_sql`. */
enum {
	COLUMN_PROCESS,
	COLUMN_CONFIG,
	COLUMN_IN_GRAPH,
	COLUMN_START,
	COLUMN_END,
	COLUMN_UNDERFILL,
	COLUMN_WAVE,
	COLUMN_WAVE_MAX,
	COLUMN_SMS,
	COLUMN_DEVICE,
	COLUMN_DEVICE_SMS,
	COLUMN_BLOCKS,
	COLUMN_RESIDENT,
	COLUMN_KERNEL,
	COLUMN_IS_SELECTED,
};

/* Start and end of the window, and what is selected, are put in. */
static const char exec_sql[] =
        "SELECT e.process_id, config_id, e.graph_id IS NOT NULL, e.start_ns, e.end_ns, "
        "e.underfill_sm_ns, e.wave_sm_ns, e.wave_max_sm_ns, c.sm_count, device_id, g.sm_count, "
        "c.blocks, c.resident_blocks, c.kernel_id, (%s) "
        "FROM kernel_row e JOIN main.config c USING (config_id) "
        "JOIN main.gpu g USING (device_id) "
        "WHERE e.start_ns < ?2 AND (e.end_ns > ?1 OR e.start_ns = e.end_ns AND e.start_ns >= ?1) "
        "ORDER BY device_id, e.start_ns, e.exec_id";

/* A kernel in the window, or what is in it of a kernel. */
struct part {
	int64_t process_id, config_id, start_ns, end_ns;
	struct wt_sweep_facts facts; /* sms and device_sms */
	bool in_graph, is_selected, is_judged;
};

struct window {
	const struct wt_select *select;
	struct wt_rollups rollups;
	struct wt_map is_collective; /* of those kernels that are */
	int64_t device_id; /* in work; -1: none */
	bool is_swept; /* its SMs are known */
	struct wt_sweep sweep;
	struct part slots[SLOTS];
	uint8_t free_slots[SLOTS];
	int free_count;
};

static int add_part(struct window *window, const struct part *part,
                    const struct wt_wave_result *wave, int64_t comm_sm_ns,
                    const struct wt_beside *beside)
{
	const struct wt_idle more = {.comm_sm_ns = comm_sm_ns};
	struct wt_stat *stat;

	if (!part->is_selected)
		return 0;
	stat = wt_rollups_get(&window->rollups, part->process_id, part->config_id, part->in_graph);
	if (!stat)
		return -ENOMEM;
	wt_stat_add(stat, part->start_ns, part->end_ns, wave);
	wt_stat_adjust(stat, &more, beside);
	return 0;
}

static int on_kernel(void *arg, int64_t slot, const struct wt_sweep_share *share)
{
	struct window *window = arg;
	const struct wt_wave_result wave = {
	        .is_judged = true,
	        .underfill_sm_ns = share->underfill_sm_ns,
	        .wave_sm_ns = share->wave_sm_ns,
	        .wave_max_sm_ns = share->wave_max_sm_ns,
	        .unjudged_sm_ns = share->unjudged_sm_ns,
	};

	const struct part *part = &window->slots[slot];
	struct wt_beside beside;

	window->free_slots[window->free_count++] = (uint8_t)slot;
	wt_derive_beside(&part->facts, part->is_judged, part->end_ns - part->start_ns, share,
	                 &beside);
	return add_part(window, part, &wave, share->comm_sm_ns, &beside);
}

/* One that the sweep does not take: as if alone. */
static int add_alone(struct window *window, sqlite3_stmt *s, const struct part *kernel)
{
	const struct wt_beside beside = {0};
	struct wt_select_part part;

	wt_select_read_part(window->select, s, COLUMN_START, sqlite3_column_int64(s, COLUMN_SMS),
	                    &part);
	return add_part(window, kernel, &part.wave, 0, &beside);
}

static int begin_device(struct window *window, sqlite3_stmt *s)
{
	const struct wt_sweep_output output = {.kernel = on_kernel, .arg = window};
	int64_t sms = sqlite3_column_int64(s, COLUMN_DEVICE_SMS);
	int rc = 0;

	if (window->is_swept)
		rc = wt_sweep_finish(&window->sweep, window->select->end_ns);
	window->device_id = sqlite3_column_int64(s, COLUMN_DEVICE);
	window->free_count = 0;
	for (int i = 0; i < SLOTS; i++)
		window->free_slots[window->free_count++] = (uint8_t)i;
	window->is_swept =
	        sms > 0 && sms <= WT_SWEEP_SMS_MAX &&
	        !wt_sweep_init(&window->sweep, (uint32_t)sms, window->select->start_ns, &output);
	return rc;
}

static int sweep_kernel(struct window *window, sqlite3_stmt *s, const struct part *part,
                        int64_t whole_ns)
{
	uint8_t slot = window->free_slots[--window->free_count];
	uint64_t kernel_id = (uint64_t)sqlite3_column_int64(s, COLUMN_KERNEL);
	int64_t blocks = sqlite3_column_int64(s, COLUMN_BLOCKS);
	struct wt_sweep_kernel kernel = {
	        .id = slot,
	        .start_ns = part->start_ns,
	        .end_ns = part->end_ns,
	        .duration_ns = whole_ns,
	        .wave_sm_ns = sqlite3_column_int64(s, COLUMN_WAVE),
	        .wave_max_sm_ns = sqlite3_column_int64(s, COLUMN_WAVE_MAX),
	        .sms = wt_sweep_occupied_sms(sqlite3_column_int64(s, COLUMN_SMS),
	                                     sqlite3_column_int64(s, COLUMN_DEVICE_SMS),
	                                     sqlite3_column_int64(s, COLUMN_RESIDENT), blocks),
	        .blocks = blocks > 0 && blocks <= INT32_MAX ? (uint32_t)blocks : 0,
	        .blocks_per_sm = wt_sweep_blocks_per_sm(sqlite3_column_int64(s, COLUMN_SMS),
	                                                sqlite3_column_int64(s, COLUMN_DEVICE_SMS),
	                                                sqlite3_column_int64(s, COLUMN_RESIDENT)),
	        .is_judged = sqlite3_column_type(s, COLUMN_WAVE) != SQLITE_NULL,
	        .is_collective = wt_map_get(&window->is_collective, kernel_id) != WT_MAP_NONE,
	};
	int rc;

	window->slots[slot] = *part;
	window->slots[slot].is_judged = kernel.is_judged;
	window->slots[slot].facts = (struct wt_sweep_facts){
	        .sms = kernel.sms,
	        .device_sms = (uint32_t)sqlite3_column_int64(s, COLUMN_DEVICE_SMS)};
	rc = wt_sweep_add(&window->sweep, &kernel);
	if (rc)
		window->free_slots[window->free_count++] = slot;
	return rc;
}

static int add_kernel(struct window *window, sqlite3_stmt *s)
{
	struct part part = {.process_id = sqlite3_column_int64(s, COLUMN_PROCESS),
	                    .config_id = sqlite3_column_int64(s, COLUMN_CONFIG),
	                    .in_graph = sqlite3_column_int(s, COLUMN_IN_GRAPH) != 0,
	                    .is_selected = sqlite3_column_int(s, COLUMN_IS_SELECTED) != 0,
	                    .start_ns = sqlite3_column_int64(s, COLUMN_START),
	                    .end_ns = sqlite3_column_int64(s, COLUMN_END)};
	int64_t whole_ns;
	int rc = 0;

	if (sqlite3_column_int64(s, COLUMN_DEVICE) != window->device_id)
		rc = begin_device(window, s);
	if (part.start_ns < 0)
		part.start_ns = 0; /* a damaged file: nothing may overflow */
	whole_ns = part.end_ns - part.start_ns;
	if (part.start_ns < window->select->start_ns)
		part.start_ns = window->select->start_ns;
	if (part.end_ns > window->select->end_ns)
		part.end_ns = window->select->end_ns;
	if (rc)
		return rc;
	rc = window->is_swept && whole_ns > 0 ? sweep_kernel(window, s, &part, whole_ns) : -EINVAL;
	return rc == -EINVAL || rc == -EBUSY ? add_alone(window, s, &part) : rc;
}

static int find_collectives(sqlite3 *db, struct wt_map *map)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT kernel_id, name FROM main.kernel", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		if (!wt_is_collective_kernel((const char *)sqlite3_column_text(s, 1)))
			continue;
		rc = wt_map_set(map, (uint64_t)sqlite3_column_int64(s, 0), 1);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static int insert_stats(sqlite3 *db, const struct wt_rollups *rollups)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        db,
	        "INSERT INTO temp.config_stat (process_id, config_id, in_graph, launches, time_ns, "
	        "min_ns, max_ns, m2_ns2, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, "
	        "unjudged_sm_ns, first_ns, last_ns, comm_sm_ns, beside_ns, beside_active_sm_ns, "
	        "beside_underfill_sm_ns, beside_wave_sm_ns, beside_wave_max_sm_ns, "
	        "beside_unjudged_sm_ns) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	        &s);

	if (rc)
		return rc;
	for (size_t i = 0; i < rollups->count && !rc; i++) {
		const struct wt_stat *stat = &rollups->rows[i].stat;
		int code = wt_db_run(
		        s, "iiiiiiiriiiiiiiiiiiii", rollups->rows[i].process_id, stat->config_id,
		        (int64_t)stat->in_graph, stat->launches, stat->time_ns, stat->min_ns,
		        stat->max_ns, stat->m2_ns2, stat->underfill_sm_ns, stat->wave_sm_ns,
		        stat->wave_max_sm_ns, stat->unjudged_sm_ns, stat->first_ns, stat->last_ns,
		        stat->comm_sm_ns, stat->beside.time_ns, stat->beside.active_sm_ns,
		        stat->beside.underfill_sm_ns, stat->beside.wave_sm_ns,
		        stat->beside.wave_max_sm_ns, stat->beside.unjudged_sm_ns);

		rc = code == SQLITE_DONE ? 0 : -EIO;
	}
	sqlite3_finalize(s);
	return rc;
}

static int sum_kernels(struct window *window, const char *condition, sqlite3 *db)
{
	char sql[sizeof(exec_sql) + 400];
	sqlite3_stmt *s;
	int rc;

	snprintf(sql, sizeof(sql), exec_sql, condition);
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, window->select->start_ns);
	sqlite3_bind_int64(s, 2, window->select->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		rc = add_kernel(window, s);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	if (!rc && window->is_swept)
		rc = wt_sweep_finish(&window->sweep, window->select->end_ns);
	return rc;
}

int wt_select_sum_window(const struct wt_select *select, const char *condition, sqlite3 *db)
{
	struct window *window = calloc(1, sizeof(*window));
	int rc;

	if (!window)
		return -ENOMEM;
	window->select = select;
	window->device_id = -1;
	rc = find_collectives(db, &window->is_collective);
	if (!rc)
		rc = sum_kernels(window, condition, db);
	if (!rc)
		rc = insert_stats(db, &window->rollups);
	wt_rollups_fini(&window->rollups);
	wt_map_fini(&window->is_collective);
	free(window);
	return rc;
}

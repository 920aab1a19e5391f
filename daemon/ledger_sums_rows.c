/*
 * ledger_sums_rows.c - kernels for the sums of the ledger: rows as they are stored, given out in the order of their
 * starts. Rows come nearly in that order. Those of a device are held until no earlier one can come, or until there
 * are too many of them: then one that is too late makes the sums useless. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/ledger_sums_impl.h"
#include "schema/wt_db.h"

#define HOLD_MAX 262144u /* as many as shares.c holds; 184 bytes each */

static const char rows_sql[] =
        "SELECT e.exec_id, e.process_id, e.config_id, e.start_ns, e.end_ns, e.wave_sm_ns,"
        " e.wave_max_sm_ns, e.graph_id, e.launch_seq, e.link, l.entry_ns, l.return_ns, l.thread32,"
        " l.stream, l.api FROM kernel_row e LEFT JOIN launch_row l ON e.graph_id IS NULL"
        " AND l.process_id = e.process_id AND l.seq = e.launch_seq"
        " WHERE e.exec_id >= ?1 AND e.start_ns IS NOT NULL AND e.end_ns IS NOT NULL"
        " ORDER BY e.exec_id";

static const char config_sql[] =
        "SELECT c.kernel_id, c.device_id, c.sm_count, c.blocks, c.resident_blocks,"
        " k.kernel_id IS NOT NULL FROM config c LEFT JOIN kernel k USING (kernel_id)"
        " WHERE c.config_id = ?1";

/* 0, -ENOENT: a damaged file has no such configuration, or another -errno. */
static int find_config(struct wt_ledger_sums *sums, sqlite3_stmt *s, int64_t config_id,
                       const struct wt_ledger_shape **ret_config)
{
	uint32_t at = wt_map_get(&sums->config_at, (uint64_t)config_id);
	struct wt_ledger_shape *config;
	int rc;

	if (at != WT_MAP_NONE) {
		*ret_config = &sums->configs[at];
		return 0;
	}
	if (sums->config_count == sums->config_room) {
		size_t room = sums->config_room ? 2 * sums->config_room : 64;

		config = reallocarray(sums->configs, room, sizeof(*config));
		if (!config)
			return -ENOMEM;
		sums->configs = config;
		sums->config_room = room;
	}
	sqlite3_reset(s);
	sqlite3_bind_int64(s, 1, config_id);
	rc = wt_db_step(s);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	config = &sums->configs[sums->config_count];
	*config = (struct wt_ledger_shape){
	        .config_id = config_id,
	        .kernel_id = sqlite3_column_int64(s, 0),
	        .device_id = sqlite3_column_int64(s, 1),
	        .sms = sqlite3_column_int64(s, 2),
	        .blocks = sqlite3_column_int64(s, 3),
	        .resident_blocks = sqlite3_column_int64(s, 4),
	        .has_kernel = sqlite3_column_int(s, 5) != 0,
	};
	*ret_config = config;
	return wt_map_set(&sums->config_at, (uint64_t)config_id, (uint32_t)sums->config_count++);
}

static bool find_graph(const struct wt_ledger_sums *sums, struct wt_ledger_row *row)
{
	size_t low = 0, high = sums->graph_count;

	if (wt_facts_graph_launch(sums->facts, row->process_id, row->launch_seq, &row->call))
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct wt_fact_graph_launch *g = &sums->graphs[middle];

		if (g->process_id == row->process_id && g->seq == row->launch_seq) {
			row->call = g->call;
			return true;
		}
		if (g->process_id < row->process_id ||
		    (g->process_id == row->process_id && g->seq < row->launch_seq))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void read_row(const struct wt_ledger_sums *sums, sqlite3_stmt *s,
                     const struct wt_ledger_shape *config, struct wt_ledger_row *row)
{
	*row = (struct wt_ledger_row){
	        .exec_id = sqlite3_column_int64(s, 0),
	        .process_id = sqlite3_column_int64(s, 1),
	        .config_id = config->config_id,
	        .kernel_id = config->kernel_id,
	        .start_ns = sqlite3_column_int64(s, 3),
	        .end_ns = sqlite3_column_int64(s, 4),
	        .is_judged = sqlite3_column_type(s, 5) != SQLITE_NULL,
	        .wave_sm_ns = sqlite3_column_int64(s, 5),
	        .wave_max_sm_ns = sqlite3_column_int64(s, 6),
	        .is_graph_node = sqlite3_column_type(s, 7) != SQLITE_NULL,
	        .launch_seq = sqlite3_column_int64(s, 8),
	        .blocks = config->blocks,
	        .resident_blocks = config->resident_blocks,
	        .config_sms = config->sms,
	};
	if (row->is_graph_node) {
		row->has_call = sqlite3_column_type(s, 8) != SQLITE_NULL && find_graph(sums, row);
	} else if (sqlite3_column_type(s, 10) != SQLITE_NULL) {
		row->has_call = true;
		row->call = (struct wt_fact_call){.entry_ns = sqlite3_column_int64(s, 10),
		                                  .return_ns = sqlite3_column_int64(s, 11),
		                                  .thread32 = (uint32_t)sqlite3_column_int64(s, 12),
		                                  .stream = (uint64_t)sqlite3_column_int64(s, 13),
		                                  .api = (int32_t)sqlite3_column_int64(s, 14)};
	}
}

/* ---- order */

static bool is_before(const struct wt_ledger_row *row, int64_t start_ns, int64_t exec_id)
{
	return row->start_ns != start_ns ? row->start_ns < start_ns : row->exec_id <= exec_id;
}

static int compare(const void *left, const void *right)
{
	const struct wt_ledger_row *a = &((const struct wt_ledger_held *)left)->row;
	const struct wt_ledger_row *b = &((const struct wt_ledger_held *)right)->row;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->exec_id < b->exec_id ? -1 : a->exec_id > b->exec_id;
}

static void sort(struct wt_ledger_place *place)
{
	size_t i = 1;

	while (i < place->held_count && compare(&place->held[i - 1], &place->held[i]) <= 0)
		i++;
	if (i < place->held_count)
		qsort(place->held, place->held_count, sizeof(*place->held), compare);
}

static int give_out(struct wt_ledger_sums *sums, struct wt_ledger_place *place, size_t count,
                    int (*take)(struct wt_ledger_sums *, const struct wt_ledger_held *))
{
	size_t given = 0;
	int rc = 0;

	sort(place);
	sums->place = place;
	while (!rc && given < place->held_count && given < count)
		rc = take(sums, &place->held[given++]);
	place->held_count -= given;
	for (size_t i = 0; i < place->held_count; i++)
		place->held[i] = place->held[given + i];
	return rc;
}

/* 0, -ENOMEM, or 1: it is in the sums already, or can't be. */
static int hold(struct wt_ledger_sums *sums, struct wt_ledger_place *place,
                const struct wt_ledger_row *row)
{
	bool is_taken = place->loaded_exec != INT64_MIN && row->exec_id <= sums->mark.seen_exec &&
	                is_before(row, place->loaded_ns, place->loaded_exec);

	if (is_taken && row->end_ns <= place->loaded_until_ns)
		return 1;
	if (!is_taken && place->position_exec != INT64_MIN &&
	    is_before(row, place->position_ns, place->position_exec)) {
		sums->mark.is_late = 1;
		return 1;
	}
	if (place->held_count == place->held_room) {
		size_t room = place->held_room ? 2 * place->held_room : 1024;
		struct wt_ledger_held *grown = reallocarray(place->held, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		place->held = grown;
		place->held_room = room;
	}
	place->held[place->held_count++] = (struct wt_ledger_held){*row, is_taken};
	return 0;
}

/* It is of the next round. */
static void leave(struct wt_ledger_sums *sums, const struct wt_ledger_row *row)
{
	if (row->exec_id < sums->left_exec)
		sums->left_exec = row->exec_id;
	if (row->has_call && row->call.entry_ns < sums->low_entry_ns)
		sums->low_entry_ns = row->call.entry_ns;
}

static int read_all(struct wt_ledger_sums *sums, sqlite3_stmt *s, sqlite3_stmt *config_query,
                    int64_t until_ns,
                    int (*take)(struct wt_ledger_sums *, const struct wt_ledger_held *))
{
	int rc;

	while ((rc = wt_db_step(s)) > 0) {
		const struct wt_ledger_shape *config;
		struct wt_ledger_place *place;
		struct wt_ledger_row row;

		rc = find_config(sums, config_query, sqlite3_column_int64(s, 2), &config);
		if (rc && rc != -ENOENT)
			return rc;
		place = rc ? NULL : wt_ledger_sums_place(sums, config->device_id);
		if (!place || !place->sms)
			continue;
		if (!config->has_kernel) {
			place->kernels_refused += sqlite3_column_int64(s, 0) > sums->mark.seen_exec;
			place->is_dirty = true;
			continue;
		}
		read_row(sums, s, config, &row);
		if (row.has_call && !row.is_graph_node && sqlite3_column_int(s, 9) == 1 &&
		    row.call.entry_ns - row.start_ns > sums->mark.lead_ns)
			sums->mark.lead_ns = row.call.entry_ns - row.start_ns;
		if (row.start_ns >= until_ns) {
			leave(sums, &row);
			continue;
		}
		rc = hold(sums, place, &row);
		if (!rc && place->held_count >= HOLD_MAX)
			rc = give_out(sums, place, HOLD_MAX / 2, take);
		if (rc < 0)
			return rc;
	}
	return rc;
}

int wt_ledger_sums_read(struct wt_ledger_sums *sums, int64_t until_ns,
                        int (*take)(struct wt_ledger_sums *sums, const struct wt_ledger_held *held))
{
	sqlite3_stmt *s = NULL, *config_query = NULL;
	int rc = wt_db_prepare(sums->db, rows_sql, &s);

	if (!rc)
		rc = wt_db_prepare(sums->db, config_sql, &config_query);
	sqlite3_bind_int64(s, 1, sums->mark.low_exec);
	if (!rc)
		rc = read_all(sums, s, config_query, until_ns, take);
	for (size_t i = 0; !rc && i < sums->place_count; i++)
		rc = give_out(sums, &sums->places[i], SIZE_MAX, take);
	sqlite3_finalize(s);
	sqlite3_finalize(config_query);
	return rc;
}

/*
 * fold_zones.c - kernels and memsets of a span of time: see folds.h.
 *
 * There is no index over time: it would cost as much as the rows. Ids are in the order of arrival, which
 * is nearly that of time; so for each WT_ZONE_ROWS ids it is noted in which time they lie, 16 bytes, and a
 * span is read from the zones that touch it.
 */
#include "daemon/folds.h"

#include <errno.h>
#include <stdlib.h>

#define JOINED_AT_ONCE 8

/* ---- zones */

static int prepare(struct wt_run *run, const char *sql, sqlite3_stmt **ret_query)
{
	return wt_store_check(run, sqlite3_prepare_v2(run->db, sql, -1, ret_query, NULL));
}

static int64_t highest_id(struct wt_run *run, const struct wt_zones *zones)
{
	char sql[80];

	/* Many of them are in chunks. */
	if (zones == &run->folds->kernel_zones)
		return run->next_exec_id - 1;
	snprintf(sql, sizeof(sql), "SELECT max(%s) FROM %s", zones->id, zones->table);
	return wt_db_int(run->db, sql, 0);
}

static int read_zone(struct wt_run *run, sqlite3_stmt *query, size_t index, struct wt_zone *zone)
{
	int code =
	        wt_db_bind(query, "ii", wt_zone_first_id(index), wt_zone_first_id(index + 1) - 1);

	*zone = (struct wt_zone){INT64_MAX, INT64_MIN};
	if (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW &&
	    sqlite3_column_type(query, 0) != SQLITE_NULL)
		*zone = (struct wt_zone){sqlite3_column_int64(query, 0),
		                         sqlite3_column_int64(query, 1)};
	sqlite3_reset(query);
	return wt_store_check(run, code);
}

int wt_zones_update(struct wt_run *run, struct wt_zones *zones, size_t zones_max, bool *ret_more)
{
	size_t want = (size_t)(highest_id(run, zones) + WT_ZONE_ROWS - 1) / WT_ZONE_ROWS;
	/* The last one may have grown. */
	size_t index = zones->count ? zones->count - 1 : 0;
	sqlite3_stmt *query = NULL;
	char sql[160];
	int err = 0;

	snprintf(
	        sql, sizeof(sql),
	        "SELECT min(start_ns), max(end_ns) FROM %s WHERE %s BETWEEN ?1 AND ?2 AND end_ns > "
	        "start_ns",
	        zones->table, zones->id);
	if (want > zones->room) {
		struct wt_zone *more = realloc(zones->at, 2 * want * sizeof(*more));

		if (!more)
			return -ENOMEM;
		zones->at = more;
		zones->room = 2 * want;
	}
	*ret_more = want > index + zones_max;
	if (*ret_more)
		want = index + zones_max;
	if (index < want)
		err = prepare(run, sql, &query);
	for (; index < want && !err; index++) {
		err = read_zone(run, query, index, &zones->at[index]);
		if (!err)
			zones->count = index + 1;
	}
	sqlite3_finalize(query);
	return err;
}

void wt_zones_fini(struct wt_zones *zones)
{
	free(zones->at);
	zones->at = NULL;
	zones->count = zones->room = 0;
}

/* The next run of zones from *at on that touch the span: their ids. False: none. */
static bool next_ids(const struct wt_zones *zones, size_t *at, int64_t from_ns, int64_t until_ns,
                     int64_t *ret_first, int64_t *ret_last)
{
	size_t i = *at, begin;

#define TOUCHES(zone) ((zone)->last_ns > from_ns && (zone)->first_ns < until_ns)
	while (i < zones->count && !TOUCHES(&zones->at[i]))
		i++;
	begin = i;
	while (i < zones->count && TOUCHES(&zones->at[i]))
		i++;
#undef TOUCHES
	*at = i;
	*ret_first = wt_zone_first_id(begin);
	*ret_last = wt_zone_first_id(i) - 1;
	return begin < i;
}

/* ---- kernels */

int wt_device_fold_dense(struct wt_device_fold *device, uint32_t config_idx_plus_1,
                         uint32_t *ret_dense)
{
	uint32_t at = wt_map_get(&device->dense_of, config_idx_plus_1);
	int err;

	if (at == WT_MAP_NONE) {
		if (device->dense_count == device->dense_room) {
			size_t room = device->dense_room ? 2 * device->dense_room : 64;
			uint32_t *more = realloc(device->config_of, room * sizeof(*more));

			if (!more)
				return -ENOMEM;
			device->config_of = more;
			device->dense_room = room;
		}
		at = (uint32_t)device->dense_count;
		err = wt_map_set(&device->dense_of, config_idx_plus_1, at);
		if (err)
			return err;
		device->config_of[device->dense_count++] = config_idx_plus_1;
	}
	*ret_dense = at;
	return 0;
}

static int add_kernel(struct wt_kernels *kernels, int64_t start_ns, int64_t end_ns,
                      uint32_t config_idx_plus_1)
{
	if (kernels->count == kernels->room) {
		size_t room = kernels->room ? 2 * kernels->room : 4096;
		struct wt_fold_kernel *more = realloc(kernels->at, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		kernels->at = more;
		kernels->room = room;
	}
	kernels->at[kernels->count++] =
	        (struct wt_fold_kernel){start_ns, end_ns, config_idx_plus_1};
	return 0;
}

/* By start, and always in the same order: the numbers of configurations follow from it. */
static int compare(const void *a, const void *b)
{
	const struct wt_fold_kernel *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->config < y->config ? -1 : x->config > y->config;
}

/* Configurations that came since the last look. */
static int know_configs(struct wt_run *run)
{
	struct wt_folds *folds = run->folds;
	int err = 0;

	for (; folds->configs_known < run->configs_count && !err; folds->configs_known++)
		err = wt_map_set(&folds->config_of,
		                 (uint64_t)run->configs[folds->configs_known].config_id,
		                 (uint32_t)folds->configs_known);
	return err;
}

static int read_execs(struct wt_run *run, int64_t device_id, int64_t from_ns, int64_t until_ns)
{
	static const char sql[] =
	        "SELECT start_ns, end_ns, config_id FROM kernel_row WHERE exec_id "
	        "BETWEEN ?1 AND ?2 AND end_ns > start_ns AND start_ns < ?4 AND "
	        "end_ns > ?3";
	struct wt_folds *folds = run->folds;
	int64_t first, last;
	sqlite3_stmt *query = NULL;
	int err = prepare(run, sql, &query);
	int code = SQLITE_DONE;

	for (size_t at = 0;
	     !err && next_ids(&folds->kernel_zones, &at, from_ns, until_ns, &first, &last);) {
		code = wt_db_bind(query, "iiii", first, last, from_ns, until_ns);
		while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
			uint32_t idx = wt_map_get(&folds->config_of,
			                          (uint64_t)sqlite3_column_int64(query, 2));

			code = SQLITE_OK;
			if (idx != WT_MAP_NONE && run->configs[idx].key.device_id == device_id)
				err = add_kernel(&folds->kernels, sqlite3_column_int64(query, 0),
				                 sqlite3_column_int64(query, 1), idx + 1);
		}
		sqlite3_reset(query);
		if (!err)
			err = wt_store_check(run, code);
	}
	sqlite3_finalize(query);
	return err;
}

static int read_memsets(struct wt_run *run, int64_t device_id, int64_t from_ns, int64_t until_ns)
{
	static const char sql[] =
	        "SELECT start_ns, end_ns FROM copy WHERE copy_id BETWEEN ?1 AND ?2 "
	        "AND is_memset AND device_id = ?5 AND end_ns > start_ns AND "
	        "start_ns < ?4 AND end_ns > ?3";
	struct wt_folds *folds = run->folds;
	int64_t first, last;
	sqlite3_stmt *query = NULL;
	int err = prepare(run, sql, &query);
	int code = SQLITE_DONE;

	for (size_t at = 0;
	     !err && next_ids(&folds->copy_zones, &at, from_ns, until_ns, &first, &last);) {
		code = wt_db_bind(query, "iiiii", first, last, from_ns, until_ns, device_id);
		while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
			code = SQLITE_OK;
			err = add_kernel(&folds->kernels, sqlite3_column_int64(query, 0),
			                 sqlite3_column_int64(query, 1), 0);
		}
		sqlite3_reset(query);
		if (!err)
			err = wt_store_check(run, code);
	}
	sqlite3_finalize(query);
	return err;
}

int wt_folds_read_kernels(struct wt_run *run, struct wt_device_fold *device, int64_t from_ns,
                          int64_t until_ns)
{
	struct wt_folds *folds = run->folds;
	int err = know_configs(run);

	folds->kernels.count = 0;
	if (!err)
		err = read_execs(run, device->device_id, from_ns, until_ns);
	if (!err)
		err = read_memsets(run, device->device_id, from_ns, until_ns);
	if (err || !folds->kernels.count)
		return err;
	qsort(folds->kernels.at, folds->kernels.count, sizeof(*folds->kernels.at), compare);
	for (size_t i = 0; i < folds->kernels.count && !err; i++)
		err = wt_device_fold_dense(device, folds->kernels.at[i].config,
		                           &folds->kernels.at[i].config);
	return err;
}

/* ---- profiled launches */

static int add_profiled(struct wt_run *run, sqlite3_stmt *row)
{
	struct wt_folds *folds = run->folds;
	uint32_t idx = wt_map_get(&folds->config_of, (uint64_t)sqlite3_column_int64(row, 0));

	if (idx == WT_MAP_NONE)
		return 0;
	if (folds->profiled_count == folds->profiled_room) {
		size_t room = folds->profiled_room ? 2 * folds->profiled_room : 256;
		struct wt_profiled *more = realloc(folds->profiled, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		folds->profiled = more;
		folds->profiled_room = room;
	}
#define KNOWN(column)                                                                              \
	(sqlite3_column_type(row, column) == SQLITE_NULL ? -1.0                                    \
	                                                 : sqlite3_column_double(row, column))
	folds->profiled[folds->profiled_count++] = (struct wt_profiled){
	        .config_idx = idx,
	        .active_sum = sqlite3_column_double(row, 1),
	        .elapsed = sqlite3_column_double(row, 2),
	        .warps = sqlite3_column_double(row, 3),
	        .tensor = KNOWN(4),
	        .dram_bytes = KNOWN(5),
	};
#undef KNOWN
	folds->is_profile_saved = false;
	return 0;
}

static int join_zone(struct wt_run *run, size_t zone)
{
	static const char sql[] =
	        "SELECT e.config_id, p.active_sum, p.elapsed, p.warps_avg, p.tensor_avg, "
	        "p.dram_bytes FROM kernel_row e JOIN profile_launch p ON p.process_id = "
	        "e.process_id AND p.launch_seq = e.launch_seq WHERE e.exec_id BETWEEN ?1 AND ?2 "
	        "AND e.graph_id IS NULL ORDER BY e.exec_id";
	sqlite3_stmt *query = NULL;
	int err = prepare(run, sql, &query);
	int code = err ? SQLITE_DONE
	               : wt_db_bind(query, "ii", wt_zone_first_id(zone),
	                            wt_zone_first_id(zone + 1) - 1);

	while (!err && code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = add_profiled(run, query);
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

int wt_folds_join_profiles(struct wt_run *run, int64_t until_ns, bool *ret_more)
{
	struct wt_folds *folds = run->folds;
	const struct wt_zones *zones = &folds->kernel_zones;
	bool is_any =
	        wt_db_int(run->db, "SELECT count(*) FROM (SELECT 1 FROM profile_launch LIMIT 1)",
	                  0) > 0;
	int err = know_configs(run);

	*ret_more = false;
	/* All zones: kernels under the profiler may have no times, and tell by none where they are. */
	for (int i = 0; !err && is_any && folds->zones_joined < zones->count; i++) {
		const struct wt_zone *zone = &zones->at[folds->zones_joined];

		/* The last zone may grow, unless all is there. */
		if (zone->last_ns > until_ns ||
		    (folds->zones_joined + 1 == zones->count && until_ns != INT64_MAX))
			break;
		*ret_more = i == JOINED_AT_ONCE;
		if (*ret_more)
			break;
		err = join_zone(run, folds->zones_joined);
		folds->zones_joined++;
	}
	return err;
}

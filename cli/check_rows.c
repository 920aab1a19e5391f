/*
 * check_rows.c - two passes over the large tables of a run file, in the order they are stored:
 * kernels against their counters and rollups, launch calls against their counters and in the
 * order of their threads. Memory goes with configurations and threads, not with rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/map.h"
#include "cli/check.h"
#include "schema/wt_chunk.h"
#include "schema/wt_record.h"

/* Clocks of a virtual machine's processors may differ by a little. */
#define ORDER_SLACK_NS 10000

/* What the rows of a process amount to. */
struct tally {
	int64_t process_id;
	int64_t kernels, no_time, graph, device, linked, cupti_only, waiting;
	int64_t launches, failed;
};

/* config_stat, made again from the rows. */
struct stat {
	int64_t process_id, config_id, in_graph;
	int64_t launches, time_ns, min_ns, max_ns;
	double mean_ns, m2_ns2;
	int64_t underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, comm_sm_ns;
	int64_t first_ns, last_ns;
	int64_t beside_ns;
};

struct rows {
	struct tally *tallies;
	uint32_t tally_count;
	struct stat *stats;
	uint32_t stat_count;
	struct wt_map tally_of, stat_of, sms_of;
};

static void rows_fini(struct rows *rows)
{
	wt_map_fini(&rows->tally_of);
	wt_map_fini(&rows->stat_of);
	wt_map_fini(&rows->sms_of);
	free(rows->tallies);
	free(rows->stats);
}

/* Room for one more in an array that grows by doubling at powers of two. 0 or -ENOMEM. */
static int make_room(void **array, uint32_t count, size_t bytes)
{
	void *more;

	if (count & (count - 1))
		return 0;
	more = realloc(*array, (count ? 2 * (size_t)count : 1) * bytes);
	if (!more)
		return -ENOMEM;
	*array = more;
	return 0;
}

static int find_tally(struct rows *rows, int64_t process_id, struct tally **ret_tally)
{
	uint32_t at = wt_map_get(&rows->tally_of, (uint64_t)process_id);
	void *array = rows->tallies;
	int err = 0;

	if (at == WT_MAP_NONE) {
		err = make_room(&array, rows->tally_count, sizeof(*rows->tallies));
		rows->tallies = array;
		at = rows->tally_count;
		if (!err)
			err = wt_map_set(&rows->tally_of, (uint64_t)process_id, at);
		if (err)
			return err;
		rows->tallies[at] = (struct tally){.process_id = process_id};
		rows->tally_count++;
	}
	/* Known to the map: then there is an array. */
	if (!rows->tallies)
		return -EINVAL;
	*ret_tally = &rows->tallies[at];
	return 0;
}

static uint64_t stat_key(int64_t process_id, int64_t config_id, int64_t in_graph)
{
	/* Ids count from 1: far below these limits in any file that we write. */
	return (uint64_t)process_id << 40 ^ (uint64_t)config_id << 1 ^ (uint64_t)in_graph;
}

static int find_stat(struct rows *rows, int64_t process_id, int64_t config_id, int64_t in_graph,
                     struct stat **ret_stat)
{
	uint64_t key = stat_key(process_id, config_id, in_graph);
	uint32_t at = wt_map_get(&rows->stat_of, key);
	void *array = rows->stats;
	int err = 0;

	if (at == WT_MAP_NONE) {
		err = make_room(&array, rows->stat_count, sizeof(*rows->stats));
		rows->stats = array;
		at = rows->stat_count;
		if (!err)
			err = wt_map_set(&rows->stat_of, key, at);
		if (err)
			return err;
		rows->stats[at] = (struct stat){.process_id = process_id,
		                                .config_id = config_id,
		                                .in_graph = in_graph,
		                                .min_ns = INT64_MAX,
		                                .first_ns = INT64_MAX};
		rows->stat_count++;
	}
	if (!rows->stats)
		return -EINVAL;
	*ret_stat = &rows->stats[at];
	return 0;
}

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX; /* where the daemon's sums stay too */
}

/* Columns of the kernel pass. */
enum {
	K_PROCESS,
	K_CONFIG,
	K_GRAPH,
	K_START,
	K_END,
	K_LINK,
	K_UNDER,
	K_WAVE,
	K_MAX,
	K_SHARE, /* a row of kernel_share, or NULL; then its figures */
	K_SHARE_UNDER,
	K_SHARE_WAVE,
	K_SHARE_MAX,
	K_SHARE_UNJUDGED,
	K_SHARE_COMM,
	K_SHARE_ALONE, /* files of version 3 */
};

static void add_times(struct stat *s, sqlite3_stmt *row, int64_t sms)
{
	int64_t start_ns = sqlite3_column_int64(row, K_START);
	int64_t end_ns = sqlite3_column_int64(row, K_END), time_ns;
	int64_t underfill_sm_ns = sqlite3_column_int64(row, K_UNDER), all_sm_ns;
	double delta;

	if (__builtin_sub_overflow(end_ns, start_ns, &time_ns) || time_ns < 0)
		time_ns = 0; /* told by the check of times */
	s->launches++;
	add(&s->time_ns, time_ns);
	delta = (double)time_ns - s->mean_ns;
	s->mean_ns += delta / (double)s->launches;
	s->m2_ns2 += delta * ((double)time_ns - s->mean_ns);
	s->min_ns = time_ns < s->min_ns ? time_ns : s->min_ns;
	s->max_ns = time_ns > s->max_ns ? time_ns : s->max_ns;
	s->first_ns = start_ns < s->first_ns ? start_ns : s->first_ns;
	s->last_ns = end_ns > s->last_ns ? end_ns : s->last_ns;
	if (sqlite3_column_type(row, K_SHARE) != SQLITE_NULL) {
		add(&s->underfill_sm_ns, sqlite3_column_int64(row, K_SHARE_UNDER));
		add(&s->wave_sm_ns, sqlite3_column_int64(row, K_SHARE_WAVE));
		add(&s->wave_max_sm_ns, sqlite3_column_int64(row, K_SHARE_MAX));
		add(&s->unjudged_sm_ns, sqlite3_column_int64(row, K_SHARE_UNJUDGED));
		add(&s->comm_sm_ns, sqlite3_column_int64(row, K_SHARE_COMM));
		add(&s->beside_ns, time_ns - sqlite3_column_int64(row, K_SHARE_ALONE));
		return;
	}
	add(&s->underfill_sm_ns, underfill_sm_ns);
	if (sqlite3_column_type(row, K_WAVE) != SQLITE_NULL) {
		add(&s->wave_sm_ns, sqlite3_column_int64(row, K_WAVE));
		add(&s->wave_max_sm_ns, sqlite3_column_int64(row, K_MAX));
	} else if (sms > 0 && time_ns > 0) {
		if (time_ns > INT64_MAX / sms)
			time_ns = INT64_MAX / sms;
		all_sm_ns = time_ns * sms;
		add(&s->unjudged_sm_ns, all_sm_ns - underfill_sm_ns);
	}
}

static int add_kernel(struct rows *rows, sqlite3_stmt *row)
{
	bool is_node = sqlite3_column_type(row, K_GRAPH) != SQLITE_NULL;
	bool is_timed = sqlite3_column_type(row, K_START) != SQLITE_NULL &&
	                sqlite3_column_type(row, K_END) != SQLITE_NULL;
	int64_t process_id = sqlite3_column_int64(row, K_PROCESS);
	int64_t config_id = sqlite3_column_int64(row, K_CONFIG);
	int link = sqlite3_column_int(row, K_LINK);
	uint32_t sms = wt_map_get(&rows->sms_of, (uint64_t)config_id);
	struct tally *tally;
	struct stat *stat;
	int err = find_tally(rows, process_id, &tally);

	if (err)
		return err;
	tally->kernels++;
	tally->no_time += !is_timed;
	tally->graph += is_node;
	tally->device += !is_node && link == 3;
	tally->linked += !is_node && (link == 1 || link == 2);
	tally->cupti_only += !is_node && link == 4;
	tally->waiting += !is_node && link == 0;
	if (!is_timed)
		return 0;
	err = find_stat(rows, process_id, config_id, is_node, &stat);
	if (!err)
		add_times(stat, row, sms == WT_MAP_NONE ? 0 : (int64_t)sms);
	return err;
}

static int read_rows(struct wt_check *check, struct rows *rows, const char *sql,
                     int (*each)(struct rows *rows, sqlite3_stmt *row))
{
	sqlite3_stmt *row = NULL;
	int code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err) {
		code = sqlite3_step(row);
		if (code != SQLITE_ROW)
			break;
		err = each(rows, row);
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return err ? err : wt_check_code(check, code);
}

static int note_sms(struct rows *rows, sqlite3_stmt *row)
{
	int64_t sms = sqlite3_column_int64(row, 1);

	return sms > 0 && sms < WT_MAP_NONE
	               ? wt_map_set(&rows->sms_of, (uint64_t)sqlite3_column_int64(row, 0),
	                            (uint32_t)sms)
	               : 0;
}

/* ---- against the counters */

struct counter {
	const char *name;
	int64_t counted, stored;
	bool is_most; /* rows are gone of which it is not told: at most so many are left */
};

static int compare(struct wt_check *check, int64_t process_id, const char *table,
                   const struct counter *counters, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		if (counters[i].is_most ? counters[i].counted < counters[i].stored
		                        : counters[i].counted != counters[i].stored)
			err = wt_check_add(check, "counters", table, 1,
			                   "process_id %" PRId64 ": %s is %" PRId64
			                   ", the rows give %" PRId64,
			                   process_id, counters[i].name, counters[i].counted,
			                   counters[i].stored);
	return err;
}

/* How many rows of the kind were dropped of a process. */
static int64_t dropped(struct wt_check *check, int64_t process_id, int kind)
{
	char sql[120];

	if (!check->has_drops)
		return 0;
	snprintf(sql, sizeof(sql),
	         "SELECT sum(row_count) FROM dropped WHERE process_id = %" PRId64 " AND kind = %d",
	         process_id, kind);
	return wt_db_int(check->db, sql, 0);
}

static int compare_kernels(struct wt_check *check, struct rows *rows)
{
	static const char sql[] =
	        "SELECT process_id, kernels_stored, kernels_no_time, kernels_device, "
	        "kernels_cupti_only, kernels_graph + launches_linked + launches_linked_by_order, "
	        "state <> 'live' FROM proc ORDER BY 1";
	sqlite3_stmt *row = NULL;
	int code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		struct tally none = {0}, *t = &none;
		int64_t id = sqlite3_column_int64(row, 0);
		uint32_t at = wt_map_get(&rows->tally_of, (uint64_t)id);

		code = SQLITE_OK;
		if (at != WT_MAP_NONE && rows->tallies)
			t = &rows->tallies[at];
		int64_t gone = dropped(check, id, WT_CHUNK_KERNEL);
		/* A graph launch's kernel may have no graph id: those two only as a sum. */
		const struct counter counters[] = {
		        {gone ? "kernels_stored less those dropped" : "kernels_stored",
		         sqlite3_column_int64(row, 1) - gone, t->kernels, false},
		        {"kernels_no_time", sqlite3_column_int64(row, 2), t->no_time, gone > 0},
		        {"kernels_device", sqlite3_column_int64(row, 3), t->device, gone > 0},
		        {"kernels_cupti_only", sqlite3_column_int64(row, 4), t->cupti_only,
		         gone > 0},
		        {"kernels_graph + launches_linked", sqlite3_column_int64(row, 5),
		         t->graph + t->linked, gone > 0},
		};

		err = compare(check, id, "kernel_exec", counters,
		              sizeof(counters) / sizeof(counters[0]));
		if (!err && sqlite3_column_int(row, 6) && t->waiting)
			err = wt_check_add(check, "counters", "kernel_exec", t->waiting,
			                   "process_id %" PRId64
			                   " has ended, yet kernels wait for their call",
			                   id);
	}
	sqlite3_finalize(row);
	return err ? err : wt_check_code(check, code);
}

/* ---- against the rollups */

static const char stat_sql[] =
        "SELECT process_id, config_id, in_graph, launches, time_ns, min_ns, max_ns, "
        "underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, first_ns, last_ns, %s "
        "AS comm_sm_ns, %s AS beside_ns, m2_ns2 FROM config_stat";
#define STAT_FIRST 3
#define STAT_MIN 2 /* of the values: min_ns, */
#define STAT_FIRST_NS 8 /* and first_ns */
#define STAT_M2 15

static bool differs(int64_t have, int64_t rows_give, bool is_part, bool is_least)
{
	if (is_part)
		return is_least ? have > rows_give : have < rows_give;
	return have != rows_give;
}

static int compare_stat(struct wt_check *check, sqlite3_stmt *row, const struct stat *s)
{
	const int64_t values[] = {s->launches,       s->time_ns,         s->min_ns,
	                          s->max_ns,         s->underfill_sm_ns, s->wave_sm_ns,
	                          s->wave_max_sm_ns, s->unjudged_sm_ns,  s->first_ns,
	                          s->last_ns,        s->comm_sm_ns,      s->beside_ns};
	double m2 = sqlite3_column_double(row, STAT_M2);
	/* Rounding grows with the number of launches and the size of their times. */
	double slack = 1e-6 * fabs(s->m2_ns2) +
	               1e-12 * (double)s->launches * (double)s->max_ns * (double)s->max_ns + 1;
	/* Of what is left the sums have at least as much; least values: at most. */
	bool is_part = dropped(check, s->process_id, WT_CHUNK_KERNEL) > 0;
	int err = 0;

	for (int i = 0; i < (int)(sizeof(values) / sizeof(values[0])) && !err; i++)
		if (differs(sqlite3_column_int64(row, STAT_FIRST + i), values[i], is_part,
		            i == STAT_MIN || i == STAT_FIRST_NS))
			err = wt_check_add(
			        check, "rollups", "config_stat", 1,
			        "process_id %" PRId64 " config_id %" PRId64 " in_graph %" PRId64
			        ": %s is %" PRId64 ", the rows give %" PRId64,
			        s->process_id, s->config_id, s->in_graph,
			        sqlite3_column_name(row, STAT_FIRST + i),
			        (int64_t)sqlite3_column_int64(row, STAT_FIRST + i), values[i]);
	if (!err && !(is_part ? m2 >= s->m2_ns2 - slack : fabs(m2 - s->m2_ns2) <= slack))
		err = wt_check_add(check, "rollups", "config_stat", 1,
		                   "process_id %" PRId64 " config_id %" PRId64 " in_graph %" PRId64
		                   ": m2_ns2 is %g, the rows give %g",
		                   s->process_id, s->config_id, s->in_graph, m2, s->m2_ns2);
	return err;
}

static int compare_stats(struct wt_check *check, struct rows *rows)
{
	char sql[sizeof(stat_sql) + 32];
	sqlite3_stmt *row = NULL;
	uint32_t seen = 0;
	int code, err = 0;

	snprintf(sql, sizeof(sql), stat_sql, check->has_shares ? "comm_sm_ns" : "0",
	         check->has_measured ? "beside_ns" : "0");
	code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);

	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		int64_t process_id = sqlite3_column_int64(row, 0);
		int64_t config_id = sqlite3_column_int64(row, 1);
		int64_t in_graph = sqlite3_column_int64(row, 2);
		uint32_t at = wt_map_get(&rows->stat_of, stat_key(process_id, config_id, in_graph));

		code = SQLITE_OK;
		seen += at != WT_MAP_NONE;
		if (at == WT_MAP_NONE && dropped(check, process_id, WT_CHUNK_KERNEL))
			continue;
		err = at != WT_MAP_NONE && rows->stats
		              ? compare_stat(check, row, &rows->stats[at])
		              : wt_check_add(check, "rollups", "config_stat", 1,
		                             "process_id %" PRId64 " config_id %" PRId64
		                             " in_graph %" PRId64 ": no kernel of it is stored",
		                             process_id, config_id, in_graph);
	}
	sqlite3_finalize(row);
	if (!err)
		err = wt_check_code(check, code);
	if (!err && seen < rows->stat_count)
		err = wt_check_add(check, "rollups", "config_stat", rows->stat_count - seen,
		                   "kernels are stored of which there is no rollup");
	return err;
}

#define SHARES                                                                                     \
	"s.exec_id, s.underfill_sm_ns, s.wave_sm_ns, s.wave_max_sm_ns, s.unjudged_sm_ns, "         \
	"s.comm_sm_ns"
#define FROM_SHARES "LEFT JOIN kernel_share s USING (exec_id)"

int wt_check_kernels(struct wt_check *check)
{
	static const char columns[] = "SELECT process_id, config_id, graph_id, start_ns, end_ns, "
	                              "link, e.underfill_sm_ns, "
	                              "e.wave_sm_ns, e.wave_max_sm_ns, %s FROM kernel_exec e %s";
	char sql[400];
	struct rows rows = {0};
	int err = read_rows(check, &rows, "SELECT config_id, sm_count FROM config", note_sms);

	if (check->has_measured)
		snprintf(sql, sizeof(sql), columns, SHARES ", s.alone_ns", FROM_SHARES);
	else if (check->has_shares)
		snprintf(sql, sizeof(sql), columns, SHARES ", e.end_ns - e.start_ns", FROM_SHARES);
	else
		snprintf(sql, sizeof(sql), columns, "NULL", "");
	if (!err)
		err = read_rows(check, &rows, sql, add_kernel);
	if (!err)
		err = compare_kernels(check, &rows);
	if (!err)
		err = compare_stats(check, &rows);
	rows_fini(&rows);
	return err;
}

/* ---- launch calls */

struct calls {
	struct wt_map last_of; /* thread -> index */
	int64_t *last_ns;
	uint32_t thread_count;
	int64_t process_id;
	struct tally tally;
	int64_t disordered, first_seq;
};

static int note_call(struct calls *calls, uint64_t tid, int64_t seq, int64_t entry_ns)
{
	uint32_t at = wt_map_get(&calls->last_of, tid);
	void *array = calls->last_ns;
	int err;

	if (at != WT_MAP_NONE && calls->last_ns) {
		if (entry_ns < calls->last_ns[at] - ORDER_SLACK_NS && !calls->disordered++)
			calls->first_seq = seq;
		calls->last_ns[at] = entry_ns;
		return 0;
	}
	err = make_room(&array, calls->thread_count, sizeof(*calls->last_ns));
	calls->last_ns = array;
	if (!err)
		err = wt_map_set(&calls->last_of, tid, calls->thread_count);
	if (!err)
		calls->last_ns[calls->thread_count++] = entry_ns;
	return err;
}

/* Has somebody set the clock while the process ran? Then stamps may go back. */
static bool is_clock_set(struct wt_check *check, int64_t process_id)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
	         "SELECT " WT_CHECK_CLOCK_SET " FROM clock WHERE process_id = %" PRId64,
	         process_id);
	return wt_db_int(check->db, sql, 0) != 0;
}

static int check_process_calls(struct wt_check *check, int64_t process_id, int64_t stored,
                               int64_t failed)
{
	struct calls calls = {.process_id = process_id};
	sqlite3_stmt *row = NULL;
	int code = sqlite3_prepare_v2(check->db,
	                              "SELECT seq, entry_ns, tid, result, flags FROM launch_call "
	                              "WHERE process_id = ?1 ORDER BY seq",
	                              -1, &row, NULL);
	int err = 0;

	if (code == SQLITE_OK)
		code = wt_db_bind(row, "i", process_id);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		calls.tally.launches++;
		calls.tally.failed += sqlite3_column_int64(row, 3) != 0;
		if (!(sqlite3_column_int64(row, 4) & WT_FLAG_EARLY))
			err = note_call(&calls, (uint64_t)sqlite3_column_int64(row, 2),
			                sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	if (!err)
		err = wt_check_code(check, code);
	if (!err && calls.disordered && !is_clock_set(check, process_id))
		err = wt_check_add(check, "order", "launch_call", calls.disordered,
		                   "process_id %" PRId64
		                   ": entered before the call that its thread "
		                   "made before (seq %" PRId64 ")",
		                   process_id, calls.first_seq);
	if (!err) {
		int64_t gone = dropped(check, process_id, WT_CHUNK_LAUNCH);
		const struct counter counters[] = {
		        {gone ? "launches_stored less those dropped" : "launches_stored",
		         stored - gone, calls.tally.launches, false},
		        {"launches_failed", failed, calls.tally.failed, gone > 0},
		};

		err = compare(check, process_id, "launch_call", counters, 2);
	}
	wt_map_fini(&calls.last_of);
	free(calls.last_ns);
	return err;
}

int wt_check_calls(struct wt_check *check)
{
	sqlite3_stmt *row = NULL;
	int code = sqlite3_prepare_v2(
	        check->db, "SELECT process_id, launches_stored, launches_failed FROM proc", -1,
	        &row, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		err = check_process_calls(check, sqlite3_column_int64(row, 0),
		                          sqlite3_column_int64(row, 1),
		                          sqlite3_column_int64(row, 2));
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return err ? err : wt_check_code(check, code);
}

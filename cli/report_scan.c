/*
 * report_scan.c - what a report reads single launches for: rows that the file has no sums of
 * (steps, streams, graphs, durations), and launch latencies. One pass over kernel_exec in the order
 * in which it is stored; memory grows with the rows. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derive.h"
#include "cli/progress.h"
#include "cli/report_key.h"
#include "cli/report_measured.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "schema/wt_db.h"

/* What a row sums while launches are read. */
struct sum {
	struct wt_stat stat;
	int64_t in_graph, judged, comm_sm_ns;
	int64_t unjudged_config_id;
	double underfill_gpu_ns, wave_gpu_ns, wave_max_gpu_ns, unjudged_gpu_ns;
	struct wt_report_exec first; /* one of its kernels */
};

/* The kernel of a stream that was stored last. */
struct stream_end {
	int64_t start_ns, end_ns;
};

struct scan {
	struct wt_report *report;
	struct wt_report_key *key;
	struct wt_report_measure *measure;
	const struct wt_select *select;
	bool has_rows; /* they are made here */
	bool has_latency;
	struct sum *sums;
	size_t sum_count;
	/* Pairs of row and what it has: how many different ones. */
	struct wt_map seen_config, seen_kernel, seen_device, seen_process;
	struct wt_map place_at, stream_at;
	struct stream_end *streams;
	size_t stream_count;
};

/* Columns of the statements. */
enum {
	COLUMN_PROCESS,
	COLUMN_CONFIG,
	COLUMN_CONTEXT,
	COLUMN_STREAM,
	COLUMN_GRAPH,
	COLUMN_PART, /* five of them: wt_select_read_part() */
	COLUMN_EXEC = COLUMN_PART + 5,
	COLUMN_SHARE, /* seven of them, as in kernel_share; NULL: as alone */
	COLUMN_ALONE = COLUMN_SHARE + 5,
	COLUMN_ACTIVE,
	COLUMN_ENTRY,
	COLUMN_RETURN,
};

#define COLUMNS                                                                                    \
	"e.process_id, e.config_id, e.context_id, e.stream_id, e.graph_id, e.start_ns, e.end_ns,"  \
	" e.underfill_sm_ns, e.wave_sm_ns, e.wave_max_sm_ns, e.exec_id, "
#define USABLE " WHERE e.end_ns >= e.start_ns"
#define SHARES "s.underfill_sm_ns, s.wave_sm_ns, s.wave_max_sm_ns, s.unjudged_sm_ns, s.comm_sm_ns"
#define FROM_SHARES " FROM kernel_exec e LEFT JOIN share_row s USING (exec_id)"
#define OLD_SHARES SHARES ", 0, 0" /* of version 2 */
#define NEW_SHARES SHARES ", s.alone_ns, s.active_sm_ns"
#define NO_SHARES "NULL, NULL, NULL, NULL, NULL, NULL, NULL"
#define CALLS                                                                                      \
	" LEFT JOIN launch_call l ON e.graph_id IS NULL AND l.process_id = e.process_id"           \
	" AND l.seq = e.launch_seq"

/* [has the file shares: 0, those of version 2, those of 3][are calls asked for] */
static const char *const launches_sql[3][2] = {
        {"SELECT " COLUMNS NO_SHARES " FROM kernel_exec e" USABLE,
         "SELECT " COLUMNS NO_SHARES ", l.entry_ns, l.return_ns FROM kernel_exec e" CALLS USABLE},
        {"SELECT " COLUMNS OLD_SHARES FROM_SHARES USABLE,
         "SELECT " COLUMNS OLD_SHARES ", l.entry_ns, l.return_ns" FROM_SHARES CALLS USABLE},
        {"SELECT " COLUMNS NEW_SHARES FROM_SHARES USABLE,
         "SELECT " COLUMNS NEW_SHARES ", l.entry_ns, l.return_ns" FROM_SHARES CALLS USABLE},
};

/* ---- rows */

/* Is this the first time that the row has it? 1: yes, 0: no, or -ENOMEM. */
static int is_new(struct wt_map *seen, size_t row, int64_t what)
{
	uint64_t pair = (uint64_t)row << 32 | (uint32_t)what;

	if (wt_map_get(seen, pair) != WT_MAP_NONE)
		return 0;
	return wt_map_set(seen, pair, 1) ? -ENOMEM : 1;
}

static int count_kinds(struct scan *scan, size_t at, const struct wt_report_exec *exec,
                       const struct wt_report_config *config)
{
	struct wt_report_row *row = &scan->report->rows[at];
	int rc = is_new(&scan->seen_process, at, exec->process_id);

	if (rc < 0)
		return rc;
	row->processes += rc;
	rc = is_new(&scan->seen_config, at, exec->config_id);
	if (rc <= 0)
		return rc; /* seen, so its kernel and device were as well */
	row->configs++;
	rc = is_new(&scan->seen_kernel, at, config->kernel_id);
	if (rc < 0)
		return rc;
	row->kernels += rc;
	rc = is_new(&scan->seen_device, at, config->device_id);
	if (rc < 0)
		return rc;
	row->devices += rc;
	return 0;
}

static struct sum *add_row(struct scan *scan, const struct wt_report_exec *exec)
{
	struct wt_report *report = scan->report;
	struct wt_report_row *row =
	        wt_report_append(&report->rows, &report->row_count, sizeof(*row));
	struct sum *sum = wt_report_append(&scan->sums, &scan->sum_count, sizeof(*sum));

	if (!row || !sum)
		return NULL;
	wt_report_row_init(row, scan->key->group);
	wt_report_key_describe(scan->key, exec, row);
	wt_stat_init(&sum->stat, -1, false);
	sum->first = *exec;
	sum->unjudged_config_id = -1;
	return sum;
}

static int64_t part_of(int64_t value, int64_t part, int64_t whole)
{
	return part == whole || whole <= 0 ? value : (int64_t)((__int128)value * part / whole);
}

/* Numbers whose differences may not fit are a damaged file's. */
static bool is_plain(int64_t value)
{
	return value >= 0 && value < INT64_C(1) << 60;
}

/* What the kernel had, and what of it beside others; of a part of it, in proportion. */
static int measure_part(struct scan *scan, sqlite3_stmt *s, size_t at,
                        const struct wt_report_exec *exec, const struct wt_report_config *config,
                        const struct wt_select_part *part, int64_t comm_sm_ns)
{
	int64_t time_ns = part->end_ns - part->start_ns, whole_ns = exec->end_ns - exec->start_ns;
	const struct wt_sweep_facts facts = {.sms = config->occupied_sms,
	                                     .device_sms = (uint32_t)config->device_sms};
	struct wt_sweep_share share = {.alone_ns = time_ns,
	                               .underfill_sm_ns = part->wave.underfill_sm_ns,
	                               .wave_sm_ns = part->wave.wave_sm_ns,
	                               .wave_max_sm_ns = part->wave.wave_max_sm_ns,
	                               .unjudged_sm_ns = part->wave.unjudged_sm_ns,
	                               .comm_sm_ns = comm_sm_ns};
	bool is_shared = sqlite3_column_type(s, COLUMN_SHARE) != SQLITE_NULL;
	struct wt_beside beside = {0};

	if (!facts.sms || time_ns > (INT64_C(1) << 60) / WT_SWEEP_SMS_MAX ||
	    !is_plain(share.underfill_sm_ns) || !is_plain(share.wave_sm_ns) ||
	    !is_plain(share.wave_max_sm_ns) || !is_plain(share.unjudged_sm_ns))
		return 0;
	share.alone_wave_sm_ns = share.wave_sm_ns;
	share.alone_wave_max_sm_ns = share.wave_max_sm_ns;
	share.active_sm_ns = config->device_sms * time_ns - share.underfill_sm_ns -
	                     share.wave_sm_ns - share.unjudged_sm_ns;
	if (is_shared) {
		int64_t alone_ns = sqlite3_column_int64(s, COLUMN_ALONE);
		int64_t active_sm_ns = sqlite3_column_int64(s, COLUMN_ACTIVE);

		if (!is_plain(active_sm_ns) || alone_ns < 0 || alone_ns > whole_ns)
			return 0;
		share.alone_ns = part_of(alone_ns, time_ns, whole_ns);
		share.active_sm_ns = part_of(active_sm_ns, time_ns, whole_ns);
		share.alone_wave_sm_ns =
		        part_of(sqlite3_column_int64(s, COLUMN_PART + 3), share.alone_ns, whole_ns);
		share.alone_wave_max_sm_ns =
		        part_of(sqlite3_column_int64(s, COLUMN_PART + 4), share.alone_ns, whole_ns);
		wt_derive_beside(&facts, part->wave.is_judged, time_ns, &share, &beside);
	}
	return wt_report_measure_add(scan->measure, at, config, &share, &beside);
}

/* Beside others a kernel had its share; of a part of it, in proportion. */
static int64_t read_share(const struct scan *scan, sqlite3_stmt *s,
                          const struct wt_report_exec *exec, struct wt_select_part *part)
{
	int64_t whole_ns = exec->end_ns - exec->start_ns, share[5];

	if (sqlite3_column_type(s, COLUMN_SHARE) == SQLITE_NULL)
		return 0;
	for (int i = 0; i < 5; i++)
		share[i] = wt_select_part(sqlite3_column_int64(s, COLUMN_SHARE + i),
		                          part->end_ns - part->start_ns, whole_ns);
	if (scan->select && scan->select->has_window)
		scan->report->shares.is_estimated = true;
	part->wave.underfill_sm_ns = share[0];
	part->wave.wave_sm_ns = share[1];
	part->wave.wave_max_sm_ns = share[2];
	part->wave.unjudged_sm_ns = share[3];
	return share[4];
}

static int sum_row(struct scan *scan, sqlite3_stmt *s, const struct wt_report_exec *exec)
{
	const struct wt_report_config *config = wt_report_key_config(scan->key, exec->config_id);
	size_t count = scan->report->row_count, before = count, at;
	struct wt_select_part part;
	int64_t comm_sm_ns;
	struct sum *sum;
	double sms;
	int rc = wt_report_key_find(scan->key, exec, &count, &at);

	if (rc)
		return rc == -ENOENT ? 0 : rc; /* a damaged file: no such configuration */
	if (count > before && !add_row(scan, exec))
		return -ENOMEM;
	if (!scan->sums || at >= scan->sum_count)
		return -EINVAL; /* each row has its sum: add_row() */
	sum = &scan->sums[at];
	wt_select_read_part(scan->select, s, COLUMN_PART, config->sms, &part);
	comm_sm_ns = read_share(scan, s, exec, &part);
	wt_report_add(&sum->comm_sm_ns, comm_sm_ns);
	if (scan->measure->is_known)
		rc = measure_part(scan, s, at, exec, config, &part, comm_sm_ns);
	if (rc)
		return rc;
	wt_stat_add(&sum->stat, part.start_ns, part.end_ns, &part.wave);
	sum->in_graph += exec->graph_id >= 0;
	sum->judged += part.wave.is_judged;
	if (!part.wave.is_judged)
		sum->unjudged_config_id = exec->config_id;
	sms = config->device_sms > 0 ? (double)config->device_sms : 1;
	sum->underfill_gpu_ns += (double)part.wave.underfill_sm_ns / sms;
	sum->wave_gpu_ns += (double)part.wave.wave_sm_ns / sms;
	sum->wave_max_gpu_ns += (double)part.wave.wave_max_sm_ns / sms;
	sum->unjudged_gpu_ns += (double)part.wave.unjudged_sm_ns / sms;
	return count_kinds(scan, at, exec, config);
}

/* ---- latencies */

/* Where the last kernel of a stream is kept; NULL: out of memory. */
static struct stream_end *stream_of(struct scan *scan, const struct wt_report_exec *exec)
{
	uint64_t both = (uint64_t)exec->process_id << 32 | (uint32_t)exec->context_id;
	uint32_t place = wt_map_get(&scan->place_at, both), at;
	uint64_t stream;

	if (place == WT_MAP_NONE) {
		place = (uint32_t)scan->place_at.count;
		if (wt_map_set(&scan->place_at, both, place))
			return NULL;
	}
	stream = (uint64_t)place << 32 | (uint32_t)exec->stream_id;
	at = wt_map_get(&scan->stream_at, stream);
	if (at == WT_MAP_NONE) {
		at = (uint32_t)scan->stream_count;
		if (!wt_report_append(&scan->streams, &scan->stream_count,
		                      sizeof(*scan->streams)) ||
		    wt_map_set(&scan->stream_at, stream, at))
			return NULL;
	}
	return &scan->streams[at];
}

static int sum_latency(struct scan *scan, sqlite3_stmt *s, const struct wt_report_exec *exec)
{
	struct stream_end *before = stream_of(scan, exec);
	int64_t entry_ns, return_ns;
	size_t at;
	int rc;

	if (!before)
		return -ENOMEM;
	rc = wt_report_key_find(scan->key, exec, NULL, &at);
	if (!rc && sqlite3_column_type(s, COLUMN_ENTRY) != SQLITE_NULL) {
		struct wt_report_row *row = &scan->report->rows[at];

		entry_ns = sqlite3_column_int64(s, COLUMN_ENTRY);
		return_ns = sqlite3_column_int64(s, COLUMN_RETURN);
		if (entry_ns < 0 || return_ns < entry_ns)
			return 0; /* a damaged file */
		row->latency_launches++;
		wt_report_add(&row->latency_ns, exec->start_ns - entry_ns);
		wt_report_add(&row->call_ns, return_ns - entry_ns);
		row->queued_launches +=
		        before->start_ns < exec->start_ns && before->end_ns > return_ns;
	}
	*before = (struct stream_end){exec->start_ns, exec->end_ns};
	return rc == -ENOENT ? 0 : rc;
}

/* ---- the whole */

static int64_t or_none(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, column);
}

static int read_launches(struct scan *scan, sqlite3 *db)
{
	struct wt_progress progress;
	sqlite3_stmt *s;
	int shares = wt_report_has_shares(db) + wt_report_has_measured(db);
	int rc = wt_report_prepare(db, launches_sql[shares][scan->has_latency], &s);

	if (rc)
		return rc;
	wt_progress_begin(&progress, "top", "launches",
	                  wt_db_int(db, "SELECT total(launches) FROM config_stat", 0));
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_report_exec exec = {
		        .exec_id = sqlite3_column_int64(s, COLUMN_EXEC),
		        .process_id = sqlite3_column_int64(s, COLUMN_PROCESS),
		        .config_id = sqlite3_column_int64(s, COLUMN_CONFIG),
		        .context_id = sqlite3_column_int64(s, COLUMN_CONTEXT),
		        .stream_id = sqlite3_column_int64(s, COLUMN_STREAM),
		        .graph_id = or_none(s, COLUMN_GRAPH),
		        .start_ns = sqlite3_column_int64(s, COLUMN_PART),
		        .end_ns = sqlite3_column_int64(s, COLUMN_PART + 1),
		};

		if (exec.start_ns < 0)
			continue; /* a damaged file: differences must not overflow */
		rc = scan->has_rows ? sum_row(scan, s, &exec) : 0;
		if (!rc && scan->has_latency)
			rc = sum_latency(scan, s, &exec);
		if (rc)
			break;
		wt_progress_set(&progress, ++scan->report->launches_read);
	}
	wt_progress_end(&progress);
	sqlite3_finalize(s);
	return rc;
}

/* Why the model has no figure for a configuration. */
static int read_reason(sqlite3 *db, int64_t config_id, struct wt_report_row *row)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT model_reason FROM config WHERE config_id = ?1", &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config_id);
	rc = wt_report_step(s);
	if (rc > 0)
		rc = wt_report_copy_text(s, 0, &row->model_reason);
	sqlite3_finalize(s);
	return rc;
}

static int finish_row(struct scan *scan, size_t at)
{
	struct wt_report_row *row = &scan->report->rows[at];
	const struct sum *sum = &scan->sums[at];
	int rc;

	row->launches = sum->stat.launches;
	row->launches_in_graph = sum->in_graph;
	row->time_ns = sum->stat.time_ns;
	row->min_ns = sum->stat.min_ns;
	row->max_ns = sum->stat.max_ns;
	row->m2_ns2 = sum->stat.m2_ns2;
	row->underfill_sm_ns = sum->stat.underfill_sm_ns;
	row->wave_sm_ns = sum->stat.wave_sm_ns;
	row->wave_max_sm_ns = sum->stat.wave_max_sm_ns;
	row->unjudged_sm_ns = sum->stat.unjudged_sm_ns;
	row->comm_sm_ns = sum->comm_sm_ns;
	row->underfill_gpu_ns = sum->underfill_gpu_ns;
	row->wave_gpu_ns = sum->wave_gpu_ns;
	row->wave_max_gpu_ns = sum->wave_max_gpu_ns;
	row->unjudged_gpu_ns = sum->unjudged_gpu_ns;
	row->has_wave = sum->judged > 0;
	rc = wt_report_identify(scan->key->db, row, sum->first.process_id,
	                        wt_report_key_config(scan->key, sum->first.config_id)->device_id);
	if (!rc && sum->unjudged_config_id >= 0)
		rc = read_reason(scan->key->db, sum->unjudged_config_id, row);
	return rc ? rc : wt_report_key_label(scan->key, row);
}

int wt_report_scan(sqlite3 *db, const struct wt_select *select, bool has_latency,
                   struct wt_report_key *key, struct wt_report_measure *measure,
                   struct wt_report *report)
{
	struct scan scan = {
	        .report = report,
	        .key = key,
	        .measure = measure,
	        .select = select,
	        .has_rows = wt_report_key_is_of_launches(key->group),
	        .has_latency = has_latency,
	};
	int rc = 0;

	if (scan.has_rows || has_latency)
		rc = read_launches(&scan, db);
	for (size_t i = 0; !rc && scan.sums && i < report->row_count; i++) {
		rc = finish_row(&scan, i);
		if (!rc)
			wt_report_row_add(&report->total, &report->rows[i]);
	}
	/* The total of other rows was made before. */
	for (size_t i = 0; !rc && has_latency && !scan.has_rows && i < report->row_count; i++) {
		wt_report_add(&report->total.latency_launches, report->rows[i].latency_launches);
		wt_report_add(&report->total.latency_ns, report->rows[i].latency_ns);
		wt_report_add(&report->total.call_ns, report->rows[i].call_ns);
		wt_report_add(&report->total.queued_launches, report->rows[i].queued_launches);
	}
	report->has_latency = !rc && has_latency;
	report->has_queued = report->has_latency && !(select && select->words.kernel);
	free(scan.sums);
	free(scan.streams);
	wt_map_fini(&scan.seen_config);
	wt_map_fini(&scan.seen_kernel);
	wt_map_fini(&scan.seen_device);
	wt_map_fini(&scan.seen_process);
	wt_map_fini(&scan.place_at);
	wt_map_fini(&scan.stream_at);
	return rc;
}

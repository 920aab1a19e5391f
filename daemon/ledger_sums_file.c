/*
 * ledger_sums_file.c - the sums of the ledger in the run file, and the window of a run. Single-threaded; blocks on
 * the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ledger_sums_impl.h"
#include "schema/wt_db.h"

#define MARK_COLUMNS                                                                               \
	"from_ns, end_ns, basis, is_late, low_exec, seen_exec, seen_call, seen_copy, "             \
	"seen_overhead, clock_id, clock_error_ns, lead_ns, copy_end_ns, capture_id"
#define PLACE_COLUMNS                                                                              \
	"device_id, position_ns, position_exec, until_ns, last_end_ns, last_tag, kernels, "        \
	"kernels_refused, low_call, low_copy, low_overhead"

static int64_t or_null(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? WT_DB_NULL
	                                                     : sqlite3_column_int64(s, column);
}

/* ---- reading */

/* Calls `row` for each row. */
static int read_rows(struct wt_ledger_sums *sums, const char *sql,
                     int (*row)(struct wt_ledger_sums *sums, sqlite3_stmt *s))
{
	sqlite3_stmt *s;
	int rc = wt_db_prepare(sums->db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_db_step(s)) > 0) {
		rc = row(sums, s);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static int read_device(struct wt_ledger_sums *sums, sqlite3_stmt *s)
{
	struct wt_ledger_place *grown =
	        reallocarray(sums->places, sums->place_count + 1, sizeof(*grown));
	int64_t sms = sqlite3_column_int64(s, 1);

	if (!grown)
		return -ENOMEM;
	sums->places = grown;
	memset(&grown[sums->place_count], 0, sizeof(*grown));
	grown[sums->place_count].device_id = sqlite3_column_int64(s, 0);
	grown[sums->place_count].sms = sms > 0 && sms <= WT_SWEEP_SMS_MAX ? sms : 0;
	sums->place_count++;
	return 0;
}

static int read_mark(struct wt_ledger_sums *sums, sqlite3_stmt *s)
{
	int64_t *const fields[] = {
	        &sums->mark.from_ns,     &sums->mark.end_ns,         &sums->mark.basis,
	        &sums->mark.is_late,     &sums->mark.low_exec,       &sums->mark.seen_exec,
	        &sums->mark.seen_call,   &sums->mark.seen_copy,      &sums->mark.seen_overhead,
	        &sums->mark.clock_id,    &sums->mark.clock_error_ns, &sums->mark.lead_ns,
	        &sums->mark.copy_end_ns, &sums->mark.capture_id};

	for (int i = 0; i < (int)(sizeof(fields) / sizeof(fields[0])); i++)
		*fields[i] = or_null(s, i);
	sums->is_anew = sums->mark.from_ns == INT64_MIN;
	return 0;
}

static int read_place(struct wt_ledger_sums *sums, sqlite3_stmt *s)
{
	struct wt_ledger_place *place = wt_ledger_sums_place(sums, sqlite3_column_int64(s, 0));

	if (!place)
		return 0; /* a damaged file */
	place->position_ns = place->loaded_ns = or_null(s, 1);
	place->position_exec = place->loaded_exec = or_null(s, 2);
	place->until_ns = place->loaded_until_ns = or_null(s, 3);
	place->last_end_ns = or_null(s, 4);
	place->last_tag = (uint64_t)sqlite3_column_int64(s, 5);
	place->kernels = sqlite3_column_int64(s, 6);
	place->kernels_refused = sqlite3_column_int64(s, 7);
	place->from =
	        (struct wt_facts_from){or_null(s, 8), or_null(s, 9), or_null(s, 10), INT64_MIN};
	return 0;
}

static int read_owner(struct wt_ledger_sums *sums, sqlite3_stmt *s)
{
	struct wt_ledger_owner *owner =
	        wt_ledger_sums_owner(sums, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
	                             sqlite3_column_int64(s, 2));

	if (!owner)
		return -ENOMEM;
	owner->gaps = sqlite3_column_int64(s, 3);
	owner->short_gaps = sqlite3_column_int64(s, 4);
	owner->last_ns = or_null(s, 5);
	return 0;
}

static int read_cause(struct wt_ledger_sums *sums, sqlite3_stmt *s)
{
	const char *name = (const char *)sqlite3_column_text(s, 3);
	struct wt_ledger_owner *owner =
	        wt_ledger_sums_owner(sums, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
	                             sqlite3_column_int64(s, 2));

	if (!owner)
		return -ENOMEM;
	for (int cause = 0; name && cause < WT_GAP_CAUSE_MAX; cause++)
		if (!strcmp(name, wt_gap_cause_name((enum wt_gap_cause)cause))) {
			owner->ns[cause] = sqlite3_column_int64(s, 4);
			owner->short_ns[cause] = sqlite3_column_int64(s, 5);
		}
	return 0;
}

static int read_stream(struct wt_ledger_sums *sums, sqlite3_stmt *s)
{
	struct wt_gap_stream *stream = wt_gap_source_stream(
	        &sums->source, sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 1));

	if (!stream)
		return -ENOMEM;
	stream->since_ns = or_null(s, 2);
	stream->wait_ns =
	        sqlite3_column_type(s, 3) == SQLITE_NULL ? INT64_MAX : sqlite3_column_int64(s, 3);
	return 0;
}

static int read_graph(struct wt_ledger_sums *sums, sqlite3_stmt *s)
{
	struct wt_fact_graph_launch *grown = sums->graphs;

	if ((sums->graph_count & (sums->graph_count - 1)) == 0)
		grown = reallocarray(sums->graphs, sums->graph_count ? 2 * sums->graph_count : 1,
		                     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	sums->graphs = grown;
	grown[sums->graph_count++] = (struct wt_fact_graph_launch){
	        .process_id = sqlite3_column_int64(s, 0),
	        .seq = sqlite3_column_int64(s, 1),
	        .call = {.entry_ns = sqlite3_column_int64(s, 2),
	                 .return_ns = sqlite3_column_int64(s, 3),
	                 .stream = (uint64_t)sqlite3_column_int64(s, 4),
	                 .thread32 = (uint32_t)sqlite3_column_int64(s, 5),
	                 .api = (int32_t)sqlite3_column_int64(s, 6)}};
	return 0;
}

static int read_sums(struct wt_ledger_sums *sums)
{
	int rc =
	        read_rows(sums, "SELECT " MARK_COLUMNS " FROM ledger_mark WHERE id = 1", read_mark);

	if (rc || sums->is_anew)
		return rc;
	rc = read_rows(sums, "SELECT " PLACE_COLUMNS " FROM ledger_device", read_place);
	if (!rc)
		rc = read_rows(sums,
		               "SELECT device_id, process_id, config_id, gaps, short_gaps, last_ns"
		               " FROM ledger_row",
		               read_owner);
	if (!rc)
		rc = read_rows(sums,
		               "SELECT device_id, process_id, config_id, cause, ns, short_ns"
		               " FROM ledger_cause",
		               read_cause);
	if (!rc)
		rc = read_rows(sums,
		               "SELECT process_id, stream, since_ns, wait_ns FROM ledger_stream",
		               read_stream);
	return rc ? rc
	          : read_rows(sums,
	                      "SELECT process_id, seq, entry_ns, return_ns, stream, thread32, api"
	                      " FROM ledger_graph ORDER BY process_id, seq",
	                      read_graph);
}

int wt_ledger_sums_load(sqlite3 *db, struct wt_ledger_sums **ret_sums)
{
	struct wt_ledger_sums *sums = calloc(1, sizeof(*sums));
	int rc;

	*ret_sums = sums;
	if (!sums)
		return -ENOMEM;
	sums->db = db;
	rc = read_rows(sums,
	               "SELECT device_id, sm_count FROM gpu d WHERE EXISTS (SELECT 1 FROM config c"
	               " WHERE c.device_id = d.device_id) ORDER BY device_id",
	               read_device);
	wt_ledger_sums_reset(sums);
	if (!rc && wt_db_has_table(db, "ledger_mark"))
		rc = read_sums(sums);
	sums->clock_error_ns = sums->mark.clock_error_ns > sums->mark.lead_ns
	                               ? sums->mark.clock_error_ns
	                               : sums->mark.lead_ns;
	if (sums->clock_error_ns < WT_LEDGER_CLOCK_LEAST_NS)
		sums->clock_error_ns = WT_LEDGER_CLOCK_LEAST_NS;
	return rc;
}

bool wt_ledger_sums_are_final(const struct wt_ledger_sums *sums)
{
	static const char sql[] =
	        "SELECT NOT EXISTS (SELECT 1 FROM kernel_row WHERE exec_id > m.seen_exec)"
	        " AND NOT EXISTS (SELECT 1 FROM call_row WHERE call_id > m.seen_call)"
	        " AND NOT EXISTS (SELECT 1 FROM copy WHERE copy_id > m.seen_copy)"
	        " AND NOT EXISTS (SELECT 1 FROM overhead WHERE overhead_id > m.seen_overhead)"
	        " AND ifnull((SELECT max(clock_id) FROM clock), 0) < ifnull(m.clock_id, 1)"
	        " AND NOT EXISTS (SELECT 1 FROM proc WHERE state = 'live')"
	        " FROM ledger_mark m WHERE id = 1";
	int64_t start_ns = 0, end_ns = 0;

	return sums->mark.end_ns != INT64_MIN && !sums->mark.is_late &&
	       !wt_ledger_sums_obstacle(sums) && wt_ledger_span(sums->db, &start_ns, &end_ns) > 0 &&
	       start_ns == sums->mark.from_ns && end_ns == sums->mark.end_ns &&
	       wt_db_int(sums->db, sql, 0);
}

/* ---- writing */

struct writer {
	sqlite3 *db;
	sqlite3_stmt *statement;
	int rc;
};

static void begin(struct writer *w, const char *sql)
{
	if (!w->rc)
		w->rc = wt_db_prepare(w->db, sql, &w->statement);
}

static void end(struct writer *w)
{
	sqlite3_finalize(w->statement);
	w->statement = NULL;
}

#define WRITE(w, ...)                                                                              \
	do {                                                                                       \
		if (!(w)->rc && wt_db_run((w)->statement, __VA_ARGS__) != SQLITE_DONE)             \
			(w)->rc = -EIO;                                                            \
	} while (0)

static void execute(struct writer *w, const char *sql)
{
	if (!w->rc && sqlite3_exec(w->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		w->rc = -EIO;
}

static void write_mark(struct writer *w, const struct wt_ledger_mark *m)
{
	begin(w, "INSERT OR REPLACE INTO ledger_mark (id, " MARK_COLUMNS
	         ") VALUES (1,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	WRITE(w, "nniinnnnnniinn", m->from_ns, m->end_ns, m->basis, m->is_late, m->low_exec,
	      m->seen_exec, m->seen_call, m->seen_copy, m->seen_overhead, m->clock_id,
	      m->clock_error_ns, m->lead_ns, m->copy_end_ns, m->capture_id);
	end(w);
}

static void write_places(struct writer *w, const struct wt_ledger_sums *sums)
{
	begin(w, "INSERT OR REPLACE INTO ledger_device (" PLACE_COLUMNS
	         ") VALUES (?,?,?,?,?,?,?,?,?,?,?)");
	for (size_t i = 0; i < sums->place_count; i++) {
		const struct wt_ledger_place *p = &sums->places[i];

		if (!p->is_dirty)
			continue;
		WRITE(w, "innnniiinnn", p->device_id, p->position_ns, p->position_exec, p->until_ns,
		      p->last_end_ns, (int64_t)p->last_tag, p->kernels, p->kernels_refused,
		      p->from.call_id, p->from.copy_id, p->from.overhead_id);
	}
	end(w);
}

static void write_owners(struct writer *w, const struct wt_ledger_sums *sums)
{
	begin(w, "INSERT OR REPLACE INTO ledger_row VALUES (?,?,?,?,?,?)");
	for (size_t i = 0; i < sums->owner_count; i++) {
		const struct wt_ledger_owner *o = &sums->owners[i];

		if (o->is_dirty)
			WRITE(w, "iiiiin", o->device_id, o->process_id, o->config_id, o->gaps,
			      o->short_gaps, o->last_ns);
	}
	end(w);
	begin(w, "INSERT OR REPLACE INTO ledger_cause VALUES (?,?,?,?,?,?)");
	for (size_t i = 0; i < sums->owner_count; i++) {
		const struct wt_ledger_owner *o = &sums->owners[i];

		for (int cause = 0; cause < WT_GAP_CAUSE_MAX && o->is_dirty; cause++)
			if (o->ns[cause] || !o->config_id)
				WRITE(w, "iiitii", o->device_id, o->process_id, o->config_id,
				      wt_gap_cause_name((enum wt_gap_cause)cause), o->ns[cause],
				      o->short_ns[cause]);
	}
	end(w);
}

static void write_streams(struct writer *w, const struct wt_ledger_sums *sums)
{
	begin(w, "INSERT OR REPLACE INTO ledger_stream VALUES (?,?,?,?)");
	for (size_t i = 0; i < sums->source.stream_count; i++) {
		const struct wt_gap_stream *s = &sums->source.streams[i];

		WRITE(w, "iinn", s->process_id, (int64_t)s->key, s->since_ns,
		      s->wait_ns == INT64_MAX ? WT_DB_NULL : s->wait_ns);
	}
	end(w);
	begin(w, "INSERT INTO ledger_graph VALUES (?,?,?,?,?,?,?)");
	for (size_t i = 0; i < sums->graph_count; i++) {
		const struct wt_fact_graph_launch *g = &sums->graphs[i];

		WRITE(w, "iiiiiii", g->process_id, g->seq, g->call.entry_ns, g->call.return_ns,
		      (int64_t)g->call.stream, (int64_t)g->call.thread32, (int64_t)g->call.api);
	}
	end(w);
}

/* How often sums of rows that are gone were kept though they would be others now. */
static void write_mended(struct writer *w, const struct wt_ledger_sums *sums)
{
	if (!sums->mended)
		return;
	begin(w, "INSERT INTO meta VALUES ('" WT_LEDGER_MENDED "', ?1) ON CONFLICT DO UPDATE SET "
	         "value = CAST(value AS INTEGER) + ?1");
	WRITE(w, "i", sums->mended);
	end(w);
}

int wt_ledger_sums_save(const struct wt_ledger_sums *sums, sqlite3 *db)
{
	struct writer w = {.db = db};

	if (sums->is_anew)
		execute(&w, "DELETE FROM ledger_device; DELETE FROM ledger_row;"
		            "DELETE FROM ledger_cause; DELETE FROM ledger_stream");
	execute(&w, "DELETE FROM ledger_graph");
	write_mark(&w, &sums->mark);
	write_places(&w, sums);
	write_owners(&w, sums);
	write_streams(&w, sums);
	write_mended(&w, sums);
	return w.rc;
}

int wt_ledger_sums_make(sqlite3 *db, bool is_anew)
{
	struct wt_ledger_sums *sums;
	int rc = wt_ledger_sums_load(db, &sums);

	if (!rc && is_anew)
		wt_ledger_sums_reset(sums);
	if (!rc)
		rc = wt_ledger_sums_advance(sums, INT64_MAX);
	if (!rc && sums->why_not)
		wt_ledger_sums_reset(sums); /* none rather than old ones */
	if (!rc)
		rc = wt_ledger_sums_save(sums, db);
	wt_ledger_sums_free(sums);
	return rc;
}

/* ---- the window */

int wt_ledger_span(sqlite3 *db, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	static const char sql[] =
	        "SELECT min(first_kernel_ns, ifnull(first_launch_ns, first_kernel_ns)),"
	        " max(last_kernel_ns, ifnull(last_copy_ns, last_kernel_ns), ?2) FROM"
	        " (SELECT min(first_ns) AS first_kernel_ns, max(last_ns) AS last_kernel_ns FROM "
	        "main.config_stat),"
	        " (SELECT min(max(first_ns, armed_ns)) AS first_launch_ns FROM main.process),"
	        " (SELECT max(end_ns) AS last_copy_ns FROM main.copy WHERE copy_id > ?1)";
	bool has_sums = wt_db_has_table(db, "ledger_mark");
	int64_t seen = INT64_MIN, copy_end_ns = INT64_MIN;
	sqlite3_stmt *s;
	int rc;

	if (has_sums) {
		seen = wt_db_int(db, "SELECT seen_copy FROM main.ledger_mark", seen);
		copy_end_ns =
		        wt_db_int(db, "SELECT copy_end_ns FROM main.ledger_mark", copy_end_ns);
	}
	rc = wt_db_prepare(db, sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, seen);
	sqlite3_bind_int64(s, 2, copy_end_ns);
	rc = wt_db_step(s);
	if (rc > 0 && sqlite3_column_type(s, 0) != SQLITE_NULL) {
		*ret_start_ns = sqlite3_column_int64(s, 0);
		*ret_end_ns = sqlite3_column_int64(s, 1);
	} else if (rc > 0) {
		rc = 0;
	}
	sqlite3_finalize(s);
	return rc;
}

/*
 * pack.c - rows that came slowly, and chunks of few rows, into chunks of many (batch.c has the rest).
 *
 * A PASS over a table begins when enough such rows have come, and at the end of the run. It goes by
 * windows of ids; in each, by process and device (pack_merge.c): all rows that are final, and the chunks
 * among them, are read in order, written as chunks, and removed, in one transaction. A kernel whose link
 * isn't known yet stays a row. So a daemon that is killed at any moment has either.
 *
 * What a restart needs it reads through the tables of schema/wt_rows.h, packed or not.
 *
 * A disk that is full, or anything else that undoes the transaction, leaves the file as it was: it is
 * tried again when as many rows as begin a pass have come since, and at the end of the run once. What can't
 * be packed as it was counted (-EAGAIN: a link came meanwhile) stays rows until the next pass.
 *
 * Main thread, when nothing else is to be done; a step blocks on the disk for some 50 ms.
 */
#include "daemon/daemon.h"
#include "daemon/rederive.h"

#include <errno.h>
#include <stdlib.h>

#define RETRY_NS (60 * WT_SECOND)
#define VACUUM_PAGES 2048
#define VACUUM_WORTH 16 /* of so many pages one is free */

#define RATIO 8 /* plain rows among those of a full chunk that are worth writing it again */
#define ISLAND_MAX 65536 /* rows, about */

/* Plain rows: id, process and device, behind a process and id, so many at most. */
static const char *const plain_sql[WT_BATCH_MAX] = {
        [WT_BATCH_LAUNCH] = "SELECT seq, process_id, NULL FROM main.launch_call WHERE process_id = "
                            "?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        [WT_BATCH_EXEC] = "SELECT e.exec_id, e.process_id, c.device_id FROM main.kernel_exec e "
                          "CROSS JOIN config c ON c.config_id = e.config_id WHERE e.exec_id > ?2 "
                          "AND (e.link <> 0 OR ?4) ORDER BY e.exec_id LIMIT ?3",
        [WT_BATCH_CALL] = "SELECT call_id, process_id, NULL FROM main.api_call WHERE call_id > ?2 "
                          "ORDER BY call_id LIMIT ?3",
        [WT_BATCH_SHARE] = "SELECT s.exec_id, e.process_id, c.device_id FROM main.kernel_share s "
                           "CROSS JOIN kernel_row e ON e.exec_id = s.exec_id CROSS JOIN config c "
                           "ON c.config_id = e.config_id WHERE s.exec_id > ?2 ORDER BY s.exec_id "
                           "LIMIT ?3",
};
static const char *const table_of[WT_BATCH_MAX] = {
        [WT_BATCH_LAUNCH] = "launch_call",
        [WT_BATCH_EXEC] = "kernel_exec",
        [WT_BATCH_CALL] = "api_call",
        [WT_BATCH_SHARE] = "kernel_share",
};

/* For tests: WAVETAP_TEST_PACK=N makes chunks of N rows, of runs of any size; 0: none are made. */
static void set_limits(struct wt_pack *pack)
{
	const char *text = secure_getenv("WAVETAP_TEST_PACK");
	long rows = text ? strtol(text, NULL, 10) : WT_CHUNK_ROWS;

	if (rows < 0 || rows == 1 || rows > (long)WT_CHUNK_ROWS)
		rows = WT_CHUNK_ROWS;
	pack->chunk_rows = rows ? (size_t)rows : WT_CHUNK_ROWS;
	pack->direct_rows = text ? (pack->chunk_rows + 1) / 2 : 512;
	pack->small_rows = rows == 0 ? INT64_MAX / 2 : text ? 0 : 4096;
	pack->due_rows = rows == 0 ? INT64_MAX / 2 : 4 * (int64_t)pack->chunk_rows;
}

/* What is there of a table: does a small run begin, or go on? */
static void load_kind(struct wt_run *run, enum wt_batch_kind kind)
{
	char sql[120];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM (SELECT 1 FROM main.%s LIMIT %d)",
	         table_of[kind], 4 * (int)WT_CHUNK_ROWS);
	run->batch[kind].seen = run->loose[kind] = wt_db_int(run->db, sql, 0);
	snprintf(sql, sizeof(sql), "SELECT 1 FROM chunk WHERE kind = %d LIMIT 1",
	         (int)wt_batch_chunk(kind));
	if (wt_db_int(run->db, sql, 0))
		run->batch[kind].seen += run->pack.small_rows;
}

static int64_t next_id(struct wt_run *run, const char *id, enum wt_batch_kind kind)
{
	char sql[240];

	snprintf(sql, sizeof(sql),
	         "SELECT max(ifnull((SELECT max(%s) FROM main.%s), 0), ifnull((SELECT max(last_id) "
	         "FROM chunk WHERE kind = %d), 0), ifnull((SELECT max(last_id) FROM dropped WHERE "
	         "kind = %d), 0))",
	         id, table_of[kind], (int)wt_batch_chunk(kind), (int)wt_batch_chunk(kind));
	return 1 + wt_db_int(run->db, sql, 0);
}

void wt_pack_fini(struct wt_run *run)
{
	free(run->pack.rows);
	free(run->pack.islands);
	run->pack.rows = NULL;
	run->pack.islands = NULL;
}

void wt_pack_load(struct wt_run *run)
{
	wt_pack_fini(run);
	run->pack = (struct wt_pack){.kind = WT_BATCH_MAX};
	set_limits(&run->pack);
	for (int kind = 0; kind < WT_BATCH_MAX; kind++)
		load_kind(run, kind);
	run->next_exec_id = next_id(run, "exec_id", WT_BATCH_EXEC);
	run->next_call_id = next_id(run, "call_id", WT_BATCH_CALL);
}

/* ---- one process and device in a window: where there are rows to pack */

struct walk {
	struct wt_run *run;
	const struct wt_pack_row *at, *end; /* plain rows, by id */
	struct wt_pack_island island; /* that grows */
	int64_t loose, chunks; /* rows of it that gain by it; chunks in it */
	bool is_over;
};

static int64_t rows_of(const struct wt_pack_island *island)
{
	return island->plain + island->packed;
}

static void grow(struct walk *w, int64_t first_id, int64_t last_id, int64_t plain, int64_t packed)
{
	if (!rows_of(&w->island))
		w->island.first_id = first_id;
	w->island.last_id = last_id;
	w->island.plain += plain;
	w->island.packed += packed;
}

/* An island ends: is it worth the work? */
static int end_island(struct walk *w)
{
	struct wt_pack *pack = &w->run->pack;
	int64_t worth = (int64_t)(w->is_over ? pack->direct_rows / 2 : pack->direct_rows);
	int err = 0;

	if (w->island.plain >= worth || w->loose >= (int64_t)pack->chunk_rows ||
	    (w->is_over && w->chunks > 1)) {
		if (pack->island_count == pack->island_room) {
			size_t room = 2 * pack->island_room + 16;
			struct wt_pack_island *more = realloc(pack->islands, room * sizeof(*more));

			if (more) {
				pack->islands = more;
				pack->island_room = room;
			}
			err = more ? 0 : -ENOMEM;
		}
		if (!err)
			pack->islands[pack->island_count++] = w->island;
	}
	w->island.plain = w->island.packed = w->loose = w->chunks = 0;
	return err;
}

static int take_rows(struct walk *w, int64_t below)
{
	int err = 0;

	for (; w->at < w->end && w->at->id < below && !err; w->at++) {
		grow(w, w->at->id, w->at->id, 1, 0);
		w->loose++;
		if (rows_of(&w->island) >= ISLAND_MAX)
			err = end_island(w);
	}
	return err;
}

static int take_chunk(struct walk *w, int64_t first_id, int64_t last_id, int64_t rows)
{
	bool is_full = wt_pack_is_full(&w->run->pack, rows);
	int64_t inside = 0;
	int err = take_rows(w, first_id);

	for (; w->at < w->end && w->at->id <= last_id; w->at++)
		inside++;
	if (err)
		return err;
	if (is_full && inside * RATIO < rows)
		return end_island(w); /* it stays, and so do they */
	grow(w, first_id, last_id, inside, rows);
	w->loose += inside + (is_full ? 0 : rows);
	w->chunks++;
	return rows_of(&w->island) >= ISLAND_MAX ? end_island(w) : 0;
}

/* Plain rows `at` to `end` are of one process and device; the window ends with until_id. */
static int walk(struct wt_run *run, int64_t process_id, int64_t device_id,
                const struct wt_pack_row *at, const struct wt_pack_row *end, int64_t until_id,
                bool is_over)
{
	/* From the chunk on that begins before the window and may reach into it. */
	static const char sql[] =
	        "SELECT first_id, last_id, row_count FROM chunk WHERE kind = ?1 AND process_id = "
	        "?2 "
	        "AND device_id IS ?3 AND first_id BETWEEN ifnull((SELECT max(first_id) FROM chunk "
	        "WHERE kind = ?1 AND process_id = ?2 AND device_id IS ?3 AND first_id <= ?4), ?4) "
	        "AND ?5 ORDER BY first_id";
	struct walk w = {.run = run, .at = at, .end = end, .is_over = is_over};
	enum wt_batch_kind kind = run->pack.kind;
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &s, NULL), err = 0;

	w.island.kind = kind;
	w.island.process_id = process_id;
	w.island.device_id = device_id;
	if (code == SQLITE_OK)
		code = wt_db_bind(s, "iinii", (int64_t)wt_batch_chunk(kind), process_id, device_id,
		                  run->pack.after_id, until_id);
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = take_chunk(&w, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		                 sqlite3_column_int64(s, 2));
	}
	sqlite3_finalize(s);
	if (!err)
		err = wt_store_check(run, code);
	if (!err)
		err = take_rows(&w, INT64_MAX);
	return err ? err : end_island(&w);
}

/* ---- a window */

static int by_group(const void *left, const void *right)
{
	const struct wt_pack_row *a = left, *b = right;

	if (a->process_id != b->process_id)
		return a->process_id < b->process_id ? -1 : 1;
	if (a->device_id != b->device_id)
		return a->device_id < b->device_id ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* The plain rows of the window behind after_id, and where it ends. */
static int read_rows(struct wt_run *run, int64_t process_id, bool is_over, size_t *ret_count,
                     int64_t *ret_until)
{
	struct wt_pack *pack = &run->pack;
	sqlite3_stmt *s = NULL;
	size_t count = 0, room = (size_t)pack->due_rows;
	int code = SQLITE_NOMEM;

	if (!pack->rows)
		pack->rows = malloc(room * sizeof(*pack->rows));
	if (pack->rows)
		code = sqlite3_prepare_v2(run->db, plain_sql[pack->kind], -1, &s, NULL);
	if (code == SQLITE_OK && pack->kind == WT_BATCH_LAUNCH)
		code = sqlite3_bind_int64(s, 1, process_id);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 2, pack->after_id);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 3, pack->due_rows);
	if (code == SQLITE_OK && pack->kind == WT_BATCH_EXEC)
		code = sqlite3_bind_int(s, 4, is_over);
	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		code = count < room ? SQLITE_OK : SQLITE_INTERNAL;
		if (count < room)
			pack->rows[count++] = (struct wt_pack_row){
			        sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
			        sqlite3_column_type(s, 2) == SQLITE_NULL
			                ? WT_DB_NULL
			                : sqlite3_column_int64(s, 2)};
	}
	sqlite3_finalize(s);
	*ret_count = count;
	*ret_until = count == room ? pack->rows[count - 1].id : INT64_MAX;
	return wt_store_check(run, code);
}

/* The next process and device behind those that have chunks of the kind. False: there is none. */
static bool next_group(struct wt_run *run, int64_t *process_id, int64_t *device_id)
{
	bool has_device = run->pack.kind == WT_BATCH_EXEC || run->pack.kind == WT_BATCH_SHARE;
	sqlite3_stmt *s = NULL;
	bool is_found = false;
	int code = sqlite3_prepare_v2(
	        run->db,
	        has_device
	                ? "SELECT process_id, device_id FROM chunk WHERE kind = ?1 AND "
	                  "(process_id, device_id) > (?2, ?3) ORDER BY process_id, device_id "
	                  "LIMIT 1"
	                : "SELECT process_id, NULL FROM chunk WHERE kind = ?1 AND process_id > ?2 "
	                  "AND ?3 IS NOT NULL ORDER BY process_id LIMIT 1",
	        -1, &s, NULL);

	if (code == SQLITE_OK &&
	    wt_db_bind(s, "iii", (int64_t)wt_batch_chunk(run->pack.kind), *process_id,
	               *device_id) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW) {
		is_found = true;
		*process_id = sqlite3_column_int64(s, 0);
		*device_id = sqlite3_column_type(s, 1) == SQLITE_NULL ? WT_DB_NULL
		                                                      : sqlite3_column_int64(s, 1);
	}
	sqlite3_finalize(s);
	return is_found;
}

/* Groups with plain rows in the window: `rows` are sorted by them. */
static int walk_rows(struct wt_run *run, size_t count, int64_t until_id, bool is_over)
{
	const struct wt_pack_row *rows = run->pack.rows;
	int err = 0;

	for (size_t i = 0, end; i < count && !err; i = end) {
		for (end = i + 1; end < count && rows[end].process_id == rows[i].process_id &&
		                  rows[end].device_id == rows[i].device_id;
		     end++)
			continue;
		err = walk(run, rows[i].process_id, rows[i].device_id, rows + i, rows + end,
		           until_id, is_over);
	}
	return err;
}

static bool has_rows(const struct wt_run *run, size_t count, int64_t process_id, int64_t device_id)
{
	const struct wt_pack_row *rows = run->pack.rows;

	for (size_t i = 0; i < count; i++)
		if (rows[i].process_id == process_id && rows[i].device_id == device_id)
			return true;
	return false;
}

/* Groups with nothing but chunks there: of those that are small. */
static int walk_chunks(struct wt_run *run, size_t count, int64_t lane, int64_t until_id,
                       bool is_over)
{
	int64_t process_id = INT64_MIN, device_id = INT64_MIN;
	int err = 0;

	while (!err && next_group(run, &process_id, &device_id))
		if ((!lane || process_id == lane) && !has_rows(run, count, process_id, device_id))
			err = walk(run, process_id, device_id, NULL, NULL, until_id, is_over);
	return err;
}

/* ---- a pass */

/* Begins one where there is reason to. False: nowhere. */
static bool begin_pass(struct wt_run *run, bool is_over)
{
	struct wt_pack *pack = &run->pack;

	for (int kind = is_over ? pack->over_kinds : 0; kind < WT_BATCH_MAX; kind++) {
		if (is_over)
			pack->over_kinds = kind + 1;
		if (is_over ? run->batch[kind].seen < pack->small_rows
		            : run->loose[kind] < pack->due_rows)
			continue;
		pack->kind = kind;
		pack->lane = 0;
		pack->is_lane_over = true;
		run->loose[kind] = 0;
		return true;
	}
	return false;
}

/* Of launch calls each process has its own ids. False: the pass is over. */
static bool next_lane(struct wt_run *run, bool is_over)
{
	struct wt_pack *pack = &run->pack;
	char sql[120];

	if (pack->kind != WT_BATCH_LAUNCH) {
		if (pack->lane++)
			return false;
		pack->after_id = is_over ? 0 : pack->from_id[pack->kind];
		return true;
	}
	for (;;) {
		struct wt_process *process = run->loaded;

		snprintf(sql, sizeof(sql),
		         "SELECT min(process_id) FROM proc WHERE process_id > %lld",
		         (long long)pack->lane);
		pack->lane = wt_db_int(run->db, sql, 0);
		while (process && process->process_id != pack->lane)
			process = process->next_loaded;
		if (!pack->lane || is_over || process)
			pack->after_id = is_over || !process ? -1 : process->packed_seq;
		if (!pack->lane || is_over || process)
			return pack->lane != 0;
	}
}

/* Where the next live pass begins: what lies before stays, unless the last one takes it. */
static void note_until(struct wt_run *run, int64_t until_id)
{
	struct wt_process *process = run->loaded;
	struct wt_pack *pack = &run->pack;

	pack->after_id = until_id;
	if (pack->kind != WT_BATCH_LAUNCH)
		pack->from_id[pack->kind] = until_id;
	while (process && process->process_id != pack->lane)
		process = process->next_loaded;
	if (process && pack->kind == WT_BATCH_LAUNCH)
		process->packed_seq = until_id;
}

/* What comes next: an island, or a window is looked through for them. */
static int step(struct wt_run *run, bool is_over)
{
	struct wt_pack *pack = &run->pack;
	int64_t until_id, lane;
	size_t count;
	int err;

	if (pack->island_next < pack->island_count) {
		err = wt_pack_merge(run, &pack->islands[pack->island_next++], is_over);
		return err == -EAGAIN ? 0 : err;
	}
	pack->island_next = pack->island_count = 0;
	if (pack->is_lane_over && !next_lane(run, is_over)) {
		pack->kind = WT_BATCH_MAX;
		return 0;
	}
	lane = pack->kind == WT_BATCH_LAUNCH ? pack->lane : 0;
	err = read_rows(run, lane, is_over, &count, &until_id);
	if (err)
		return err;
	qsort(pack->rows, count, sizeof(*pack->rows), by_group);
	err = walk_rows(run, count, until_id, is_over);
	if (!err)
		err = walk_chunks(run, count, lane, until_id, is_over);
	pack->is_lane_over = until_id == INT64_MAX;
	if (!err && !pack->is_lane_over)
		note_until(run, until_id);
	return err;
}

/* ---- the end */

/* Gives back what rows and small chunks took. True: there may be more. */
static bool vacuum(struct wt_run *run)
{
	int64_t pages = wt_db_int(run->db, "PRAGMA page_count", 0);
	int64_t unused = wt_db_int(run->db, "PRAGMA freelist_count", 0);
	char sql[64];

	if (unused * VACUUM_WORTH < pages && !run->pack.is_vacuuming)
		return false;
	run->pack.is_vacuuming = true;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", VACUUM_PAGES);
	if (!unused || sqlite3_exec(run->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return false;
	return wt_db_int(run->db, "PRAGMA freelist_count", 0) < unused;
}

static void begin_over(struct wt_pack *pack, bool is_over)
{
	if (pack->is_over == is_over)
		return;
	/* Another process came, or the last one has gone: what is half done is begun again. */
	pack->is_over = is_over;
	pack->over_kinds = 0;
	pack->is_done = pack->is_vacuuming = false;
	pack->kind = WT_BATCH_MAX;
	pack->island_next = pack->island_count = 0;
}

void wt_pack_step(struct wt_run *run, bool is_over, int64_t now_ns, bool *ret_more)
{
	struct wt_pack *pack = &run->pack;
	int err;

	*ret_more = false;
	if (!run->db)
		return;
	begin_over(pack, is_over);
	if ((is_over && pack->is_done) || (!is_over && now_ns < pack->retry_ns))
		return;
	if (pack->kind == WT_BATCH_MAX && !begin_pass(run, is_over)) {
		*ret_more = is_over && vacuum(run);
		pack->is_done = is_over && !*ret_more;
		return;
	}
	*ret_more = true;
	err = step(run, is_over);
	if (!err)
		return;
	wt_log_line("%s: rows stay unpacked: %s", run->path,
	            err == -ENOMEM ? "out of memory" : run->error);
	pack->retry_ns = now_ns + RETRY_NS;
	pack->kind = WT_BATCH_MAX;
	pack->island_next = pack->island_count = 0;
	pack->is_done = is_over;
	*ret_more = false;
}

int wt_pack_file(sqlite3 *db, char error[WT_DB_ERROR_BYTES])
{
	struct wt_run *run = calloc(1, sizeof(*run)); /* too large for the stack */
	bool has_more;
	int err = -ENOMEM;

	if (run) {
		run->db = db;
		snprintf(run->path, sizeof(run->path), "%s", sqlite3_db_filename(db, "main"));
		err = wt_store_prepare(run);
		if (!err)
			wt_pack_load(run);
		while (!err && !wt_pack_is_done(run))
			wt_pack_step(run, true, 0, &has_more);
		wt_pack_fini(run);
		wt_store_finalize(run);
	}
	if (err)
		snprintf(error, WT_DB_ERROR_BYTES, "%s",
		         run && run->error[0] ? run->error : strerror(-err));
	free(run);
	return err;
}

bool wt_pack_is_done(const struct wt_run *run)
{
	return !run->db || run->pack.is_done;
}

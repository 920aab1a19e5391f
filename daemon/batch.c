/*
 * batch.c - rows of the tables that grow with the launches: launch_call, kernel_exec, api_call and
 * kernel_share. They are held until the batch is whole, or ROOM of a table; then many of one kind go into
 * chunks (schema/wt_chunk.h), few into plain rows, which pack.c packs when there are more.
 *
 * A row in a chunk never changes. Plain are, therefore: kernels whose link is not known yet, and launch
 * calls that come behind the last chunk's end (of a thread that was held up). Chunks of one kind, process
 * and device never overlap: their ids ascend, as exec_id and call_id do by themselves.
 *
 * Main thread, inside the batch's transaction; may block on the disk.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 256u
#define ROOM 16384u
#define MOVES_MAX 64u /* of a row, on average, while sorting: threads that launch at once */

/* Columns behind those of the table: what a chunk is of. */
static const struct {
	enum wt_chunk_kind chunk;
	enum wt_statement one, all;
	unsigned columns, stride, id, process;
	int device; /* -1: none */
	const char *types; /* of the columns, as wt_db_run() */
} kinds[WT_BATCH_MAX] = {
        [WT_BATCH_LAUNCH] = {WT_CHUNK_LAUNCH, WT_SQL_LAUNCH, WT_SQL_LAUNCHES, 18, 18, 1, 0, -1,
                             "iiiiiiiiiiiiiiiiii"},
        [WT_BATCH_EXEC] = {WT_CHUNK_KERNEL, WT_SQL_EXEC, WT_SQL_EXECS, 15, 16, 0, 1, 15,
                           "iiinniiinnninnn"},
        [WT_BATCH_CALL] = {WT_CHUNK_CALL, WT_SQL_CALL, WT_SQL_CALLS, 13, 13, 0, 1, -1,
                           "iiiniiiiiiiii"},
        [WT_BATCH_SHARE] = {WT_CHUNK_SHARE, WT_SQL_SHARE, WT_SQL_SHARES, 8, 10, 0, 8, 9,
                            "iiiiiiii"},
};

#define EXEC_GRAPH 8
#define EXEC_SEQ 10
#define EXEC_LINK 11

/* The rows that are held, in the order in which they go. */
struct order {
	int64_t id;
	const int64_t *row;
};

void wt_batch_fini(struct wt_run *run)
{
	for (int i = 0; i < WT_BATCH_MAX; i++) {
		free(run->batch[i].values);
		wt_chunk_builder_free(run->batch[i].builder);
		run->batch[i] = (struct wt_batch){0};
	}
	free(run->batch_order);
	run->batch_order = NULL;
	run->batch_order_room = 0;
}

enum wt_chunk_kind wt_batch_chunk(enum wt_batch_kind kind)
{
	return kinds[kind].chunk;
}

void wt_batch_forget(struct wt_run *run, enum wt_batch_kind kind)
{
	wt_chunk_builder_free(run->batch[kind].builder);
	run->batch[kind].builder = NULL;
}

/* ---- plain rows */

/* Binds `count` rows and runs the statement. */
static int run_rows(sqlite3_stmt *statement, const char *types, const struct order *rows,
                    size_t count)
{
	int code = SQLITE_OK, at = 1;

	for (size_t i = 0; i < count; i++)
		for (int j = 0; types[j] && code == SQLITE_OK; j++, at++)
			code = types[j] == 'n' && rows[i].row[j] == WT_DB_NULL
			               ? sqlite3_bind_null(statement, at)
			               : sqlite3_bind_int64(statement, at, rows[i].row[j]);
	if (code != SQLITE_OK)
		return code;
	sqlite3_step(statement);
	return sqlite3_reset(statement);
}

static int write_plain(struct wt_run *run, enum wt_batch_kind kind, const struct order *rows,
                       size_t count)
{
	const char *types = kinds[kind].types;
	int code = SQLITE_OK;
	size_t at = 0;

	for (; at + WT_ROWS_AT_ONCE <= count && code == SQLITE_OK; at += WT_ROWS_AT_ONCE)
		code = run_rows(run->statement[kinds[kind].all], types, rows + at, WT_ROWS_AT_ONCE);
	for (; at < count && code == SQLITE_OK; at++)
		code = run_rows(run->statement[kinds[kind].one], types, rows + at, 1);
	run->loose[kind] += (int64_t)count;
	return wt_store_check(run, code);
}

/* ---- chunks */

int wt_batch_insert(struct wt_run *run, struct wt_chunk_builder *builder, int64_t process_id,
                    int64_t device_id)
{
	const void *data, *configs;
	size_t bytes, configs_bytes;
	struct wt_chunk_meta meta;
	sqlite3_stmt *s = run->statement[WT_SQL_PACKED];
	int err = wt_chunk_encode(builder, &meta, &data, &bytes, &configs, &configs_bytes);
	int code;

	if (err)
		return err;
	code = wt_db_bind(s, "iiniiinn", (int64_t)meta.kind, process_id, device_id, meta.first_id,
	                  meta.last_id, (int64_t)meta.rows,
	                  meta.has_times ? meta.start_ns : WT_DB_NULL,
	                  meta.has_times ? meta.end_ns : WT_DB_NULL);
	if (code == SQLITE_OK)
		code = configs ? sqlite3_bind_blob64(s, 9, configs, configs_bytes, SQLITE_STATIC)
		               : sqlite3_bind_null(s, 9);
	if (code == SQLITE_OK)
		code = sqlite3_bind_blob64(s, 10, data, bytes, SQLITE_STATIC);
	if (code == SQLITE_OK) {
		sqlite3_step(s);
		code = sqlite3_reset(s);
	}
	return wt_store_check(run, code);
}

int wt_batch_build(struct wt_run *run, enum wt_batch_kind kind, struct wt_chunk_builder **ret)
{
	struct wt_batch *batch = &run->batch[kind];
	int err = 0;

	if (!batch->builder)
		err = wt_chunk_builder_new(kinds[kind].chunk, &batch->builder);
	*ret = batch->builder;
	return err;
}

static uint32_t nulls_of(enum wt_batch_kind kind, const int64_t *row)
{
	const char *types = kinds[kind].types;
	uint32_t nulls = 0;

	for (unsigned i = 0; i < kinds[kind].columns; i++)
		nulls |= (uint32_t)(types[i] == 'n' && row[i] == WT_DB_NULL) << i;
	return nulls;
}

/* Rows of one process and device, by id: into chunks of nearly equal size. */
static int write_chunks(struct wt_run *run, enum wt_batch_kind kind, const struct order *rows,
                        size_t count, int64_t process_id, int64_t device_id)
{
	size_t left = (count + run->pack.chunk_rows - 1) / run->pack.chunk_rows;
	struct wt_chunk_builder *builder;
	int err = wt_batch_build(run, kind, &builder);

	for (size_t at = 0; at < count && !err; left--) {
		size_t end = at + (count - at) / left;

		for (; at < end && !err; at++)
			err = wt_chunk_add(builder, rows[at].row, nulls_of(kind, rows[at].row));
		if (!err)
			err = wt_batch_insert(run, builder, process_id, device_id);
	}
	if (count < run->pack.chunk_rows / 2)
		run->loose[kind] += (int64_t)count;
	return err;
}

/* ---- which go where */

static int by_id(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Nearly sorted already: each thread's are. */
static void sort(struct order *rows, size_t count)
{
	size_t moves = 0;

	for (size_t i = 1; i < count; i++) {
		struct order row = rows[i];
		size_t at = i;

		for (; at && rows[at - 1].id > row.id && moves <= MOVES_MAX * count; at--, moves++)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
	if (moves > MOVES_MAX * count)
		qsort(rows, count, sizeof(*rows), by_id);
}

/* Highest id in a chunk of the kind, process and device, plus one; INT64_MIN: there is none. 0 or -errno. */
static int chunks_end(struct wt_run *run, enum wt_batch_kind kind, int64_t process_id,
                      int64_t device_id, int64_t *ret_end)
{
	sqlite3_stmt *s = run->statement[WT_SQL_PACKED_END];
	int code = wt_db_bind(s, "iin", (int64_t)kinds[kind].chunk, process_id, device_id);

	*ret_end = INT64_MIN;
	if (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW)
		*ret_end = sqlite3_column_int64(s, 0) + 1;
	sqlite3_reset(s);
	return wt_store_check(run, code);
}

int wt_batch_has_launch(struct wt_run *run, int64_t process_id, int64_t seq, bool *ret_has)
{
	sqlite3_stmt *s = run->statement[WT_SQL_PACKED_FIND];
	struct wt_chunk *chunk = NULL;
	const int64_t *ids = NULL;
	const uint8_t *nulls;
	int code = wt_db_bind(s, "iii", (int64_t)WT_CHUNK_LAUNCH, process_id, seq), err = 0;
	uint32_t low = 0, high = 0;

	*ret_has = false;
	if (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW)
		err = wt_chunk_open(WT_CHUNK_LAUNCH, sqlite3_column_blob(s, 0),
		                    (size_t)sqlite3_column_bytes(s, 0), &chunk);
	sqlite3_reset(s);
	if (!err)
		err = wt_store_check(run, code);
	if (!err && chunk) {
		err = wt_chunk_column(chunk, kinds[WT_BATCH_LAUNCH].id, &ids, &nulls);
		high = wt_chunk_row_count(chunk);
	}
	while (!err && low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ids[middle] < seq)
			low = middle + 1;
		else
			high = middle;
	}
	/* Its rows can't be read by anybody: no reason to give the file up. */
	if (err == -EBADMSG || err == -ENOTSUP)
		err = 0;
	else
		*ret_has = !err && chunk && low < wt_chunk_row_count(chunk) && ids[low] == seq;
	wt_chunk_close(chunk);
	return err;
}

static bool is_final(enum wt_batch_kind kind, const int64_t *row)
{
	return kind != WT_BATCH_EXEC || row[EXEC_LINK] != WT_LINK_WAITING;
}

/*
 * Takes the rows of that process and device out of `rows` (their place is NULL then): those that may be
 * packed into `chosen`, the others behind those in `plain`.
 */
static size_t take(enum wt_batch_kind kind, struct order *rows, size_t count, int64_t end,
                   int64_t process_id, int64_t device_id, struct order *chosen, struct order *plain,
                   size_t *plain_count)
{
	int device = kinds[kind].device;
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		const struct order row = rows[i];

		if (!row.row || row.row[kinds[kind].process] != process_id ||
		    (device >= 0 && row.row[device] != device_id))
			continue;
		rows[i].row = NULL;
		if (row.id >= end && is_final(kind, row.row) &&
		    (!taken || row.id > chosen[taken - 1].id))
			chosen[taken++] = row;
		else
			plain[(*plain_count)++] = row;
	}
	return taken;
}

/* Those of one process and device after the other. */
static int write_sorted(struct wt_run *run, enum wt_batch_kind kind, struct order *rows,
                        size_t count)
{
	struct order *chosen = rows + run->batch_order_room,
	             *plain = chosen + run->batch_order_room;
	size_t plain_count = 0;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const int64_t *row = rows[i].row;
		int64_t process_id, device_id = WT_DB_NULL, end;
		size_t taken;

		if (!row)
			continue;
		process_id = row[kinds[kind].process];
		if (kinds[kind].device >= 0)
			device_id = row[kinds[kind].device];
		err = chunks_end(run, kind, process_id, device_id, &end);
		if (err)
			break;
		taken = take(kind, rows + i, count - i, end, process_id, device_id, chosen, plain,
		             &plain_count);
		if (taken >= run->pack.direct_rows) {
			err = write_chunks(run, kind, chosen, taken, process_id, device_id);
		} else {
			memcpy(plain + plain_count, chosen, taken * sizeof(*chosen));
			plain_count += taken;
		}
	}
	return err ? err : write_plain(run, kind, plain, plain_count);
}

/* Room for `count` rows, three times: in order, those for chunks, plain ones. */
static int make_order(struct wt_run *run, const struct wt_batch *batch, enum wt_batch_kind kind)
{
	if (run->batch_order_room < batch->room) {
		void *more = realloc(run->batch_order, 3 * batch->room * sizeof(struct order));

		if (!more)
			return -ENOMEM;
		run->batch_order = more;
		run->batch_order_room = batch->room;
	}
	for (size_t i = 0; i < batch->count; i++) {
		const int64_t *row = batch->values + i * kinds[kind].stride;

		((struct order *)run->batch_order)[i] = (struct order){row[kinds[kind].id], row};
	}
	return 0;
}

int wt_batch_write(struct wt_run *run, enum wt_batch_kind kind)
{
	struct wt_batch *batch = &run->batch[kind];
	struct order *rows;
	size_t count = batch->count;
	int err;

	if (!count)
		return 0;
	err = make_order(run, batch, kind);
	batch->count = 0;
	if (err)
		return err;
	rows = run->batch_order;
	batch->seen += (int64_t)count;
	/* Few, or of a small run: readable by any SQLite. */
	if (count < run->pack.direct_rows || batch->seen < run->pack.small_rows)
		return write_plain(run, kind, rows, count);
	sort(rows, count);
	return write_sorted(run, kind, rows, count);
}

int wt_batch_write_all(struct wt_run *run)
{
	int err = 0;

	for (int kind = 0; kind < WT_BATCH_MAX && !err; kind++)
		err = wt_batch_write(run, kind);
	return err;
}

/* ---- rows come */

static int make_room(struct wt_batch *batch, unsigned stride)
{
	size_t room = batch->room ? 2 * batch->room : ROOM_FIRST;
	int64_t *more = realloc(batch->values, room * stride * sizeof(*more));

	if (!more)
		return -ENOMEM;
	batch->values = more;
	batch->room = room;
	return 0;
}

int wt_batch_add(struct wt_run *run, enum wt_batch_kind kind, const int64_t *values)
{
	struct wt_batch *batch = &run->batch[kind];
	unsigned stride = kinds[kind].stride;
	int err = 0;

	if (batch->count == ROOM)
		err = wt_batch_write(run, kind);
	else if (batch->count == batch->room)
		err = make_room(batch, stride);
	if (err)
		return err;
	memcpy(batch->values + batch->count++ * stride, values, stride * sizeof(*values));
	return 0;
}

bool wt_batch_link(struct wt_run *run, int64_t exec_id, int64_t seq, enum wt_link_how how,
                   bool is_graph_call)
{
	struct wt_batch *batch = &run->batch[WT_BATCH_EXEC];
	int64_t *row = batch->values;

	/* Their ids are without gaps. */
	if (!batch->count || exec_id < row[0] || exec_id - row[0] >= (int64_t)batch->count)
		return false;
	row += (exec_id - row[0]) * kinds[WT_BATCH_EXEC].stride;
	row[EXEC_SEQ] = seq;
	row[EXEC_LINK] = how;
	if (is_graph_call && row[EXEC_GRAPH] == WT_DB_NULL)
		row[EXEC_GRAPH] = 0;
	return true;
}

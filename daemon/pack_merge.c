/*
 * pack_merge.c - plain rows and chunks of one process and device, in the order of their ids, become new
 * chunks: see pack.h. Main thread; blocks on the disk for one transaction.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdlib.h>

/* Parameters: process, device, first and last id, and whether kernels without a link are final. */
static const struct {
	const char *read, *remove;
} sql_of[WT_BATCH_MAX] = {
        [WT_BATCH_LAUNCH] = {"SELECT * FROM main.launch_call WHERE process_id = ?1 AND seq BETWEEN "
                             "?3 AND ?4 ORDER BY seq",
                             "DELETE FROM main.launch_call WHERE process_id = ?2 AND seq = ?1"},
        [WT_BATCH_EXEC] =
                {"SELECT e.* FROM main.kernel_exec e CROSS JOIN config c ON c.config_id = "
                 "e.config_id WHERE e.exec_id BETWEEN ?3 AND ?4 AND e.process_id = ?1 "
                 "AND c.device_id = ?2 AND (e.link <> 0 OR ?5) ORDER BY e.exec_id",
                 "DELETE FROM main.kernel_exec WHERE exec_id = ?1"},
        [WT_BATCH_CALL] = {"SELECT * FROM main.api_call WHERE call_id BETWEEN ?3 AND ?4 AND "
                           "process_id = ?1 ORDER BY call_id",
                           "DELETE FROM main.api_call WHERE call_id = ?1"},
        [WT_BATCH_SHARE] = {"SELECT s.* FROM temp.wt_packed p CROSS JOIN main.kernel_share s ON "
                            "s.exec_id = p.exec_id ORDER BY p.exec_id",
                            "DELETE FROM main.kernel_share WHERE exec_id = ?1"},
};

/* Whose shares are is told by kernels, which are not read while chunks are written: into a table first. */
static const char shares_sql[] =
        "INSERT INTO temp.wt_packed SELECT s.exec_id FROM main.kernel_share s CROSS JOIN "
        "kernel_row e "
        "ON e.exec_id = s.exec_id CROSS JOIN config c ON c.config_id = e.config_id WHERE s.exec_id "
        "BETWEEN ?3 AND ?4 AND e.process_id = ?1 AND c.device_id = ?2";

static const char chunks_sql[] =
        "SELECT chunk_id FROM chunk WHERE kind = ?1 AND process_id = ?2 AND device_id IS ?3 "
        "AND first_id BETWEEN ?4 AND ?5 ORDER BY first_id";

struct row {
	int64_t id, values[WT_CHUNK_COLUMNS];
	uint32_t nulls;
};

struct merge {
	struct wt_run *run;
	const struct wt_pack_island *island;
	const struct wt_chunk_table *table;
	struct wt_chunk_builder *builder;
	sqlite3_stmt *plain, *data, *remove_row, *remove_chunk;
	struct row row; /* the next plain one */
	bool has_row;
	int64_t *plain_ids, *chunk_ids; /* taken; of all that there are */
	size_t plain_count, chunk_count, chunks_read;
	struct wt_chunk *chunk; /* that is read, */
	uint32_t at, rows; /* its next row, and how many it has */
	const int64_t *values[WT_CHUNK_COLUMNS];
	const uint8_t *nulls[WT_CHUNK_COLUMNS];
};

static int prepare(struct merge *m, const char *sql, sqlite3_stmt **ret)
{
	return wt_store_check(m->run, sqlite3_prepare_v2(m->run->db, sql, -1, ret, NULL));
}

/* ---- what is read */

static int read_plain(struct merge *m)
{
	int code = sqlite3_step(m->plain);

	m->has_row = code == SQLITE_ROW;
	if (!m->has_row)
		return wt_store_check(m->run, code);
	m->row.nulls = 0;
	for (unsigned i = 0; i < m->table->column_count; i++) {
		m->row.values[i] = sqlite3_column_int64(m->plain, (int)i);
		if (sqlite3_column_type(m->plain, (int)i) == SQLITE_NULL)
			m->row.nulls |= 1u << i;
	}
	m->row.id = m->row.values[m->table->id];
	return 0;
}

static int list_chunks(struct merge *m)
{
	const struct wt_pack_island *island = m->island;
	sqlite3_stmt *list = NULL;
	size_t room = 0;
	int err = prepare(m, chunks_sql, &list);
	int code = err ? SQLITE_DONE
	               : wt_db_bind(list, "iinii", (int64_t)wt_batch_chunk(island->kind),
	                            island->process_id, island->device_id, island->first_id,
	                            island->last_id);

	while (!err && code == SQLITE_OK && (code = sqlite3_step(list)) == SQLITE_ROW) {
		code = SQLITE_OK;
		if (m->chunk_count == room) {
			int64_t *more =
			        realloc(m->chunk_ids, (room = 2 * room + 16) * sizeof(*more));

			err = more ? 0 : -ENOMEM;
			m->chunk_ids = more ? more : m->chunk_ids;
		}
		if (!err)
			m->chunk_ids[m->chunk_count++] = sqlite3_column_int64(list, 0);
	}
	sqlite3_finalize(list);
	return err ? err : wt_store_check(m->run, code);
}

/* The next chunk, all of its columns; none: rows is 0. */
static int read_chunk(struct merge *m)
{
	enum wt_chunk_kind kind = wt_batch_chunk(m->island->kind);
	int code, err = 0;

	wt_chunk_close(m->chunk);
	m->chunk = NULL;
	m->at = m->rows = 0;
	if (m->chunks_read == m->chunk_count)
		return 0;
	code = wt_db_bind(m->data, "i", m->chunk_ids[m->chunks_read++]);
	if (code == SQLITE_OK && (code = sqlite3_step(m->data)) == SQLITE_ROW)
		err = wt_chunk_open(kind, sqlite3_column_blob(m->data, 0),
		                    (size_t)sqlite3_column_bytes(m->data, 0), &m->chunk);
	/* One that is not what the file says stays as it is, for readers to tell of. */
	if (!err && m->chunk)
		err = wt_chunk_check_ids(m->chunk, kind, sqlite3_column_int64(m->data, 1),
		                         sqlite3_column_int64(m->data, 2),
		                         sqlite3_column_int64(m->data, 3));
	sqlite3_reset(m->data);
	if (!err)
		err = wt_store_check(m->run, code);
	if (!err && !m->chunk)
		return -EBADMSG;
	for (unsigned i = 0; i < m->table->column_count && !err; i++)
		err = wt_chunk_column(m->chunk, i, &m->values[i], &m->nulls[i]);
	if (!err)
		m->rows = wt_chunk_row_count(m->chunk);
	return err;
}

/* The next row of either: 1, 0 at the end, or -errno. */
static int next_row(struct merge *m, struct row *ret_row)
{
	int err = 0;

	if (m->at == m->rows)
		err = read_chunk(m);
	if (err)
		return err;
	if (m->has_row && (m->at == m->rows || m->row.id < m->values[m->table->id][m->at])) {
		*ret_row = m->row;
		if (m->plain_count == (size_t)m->island->plain)
			return -EAGAIN; /* more than were counted */
		m->plain_ids[m->plain_count++] = m->row.id;
		err = read_plain(m);
		return err ? err : 1;
	}
	if (m->at == m->rows)
		return 0;
	ret_row->nulls = 0;
	for (unsigned i = 0; i < m->table->column_count; i++) {
		ret_row->values[i] = m->values[i][m->at];
		if (m->nulls[i] && m->nulls[i][m->at])
			ret_row->nulls |= 1u << i;
	}
	m->at++;
	return 1;
}

/* ---- what is written */

/* Into chunks of nearly equal size; nothing is removed yet, for it is being read. */
static int write_chunks(struct merge *m)
{
	const struct wt_pack_island *island = m->island;
	int64_t rows = island->plain + island->packed, taken = 0;
	int64_t chunks =
	        (rows + (int64_t)m->run->pack.chunk_rows - 1) / (int64_t)m->run->pack.chunk_rows;
	int64_t done = 0;
	struct row row = {0};
	int err = 0, more = 1;

	while (!err && (more = next_row(m, &row)) > 0) {
		err = taken++ == rows ? -EAGAIN : wt_chunk_add(m->builder, row.values, row.nulls);
		if (!err && taken == (done + 1) * rows / chunks) {
			err = wt_batch_insert(m->run, m->builder, island->process_id,
			                      island->device_id);
			done++;
		}
	}
	err = err ? err : more;
	return err || taken == rows ? err : -EAGAIN;
}

static int remove_all(struct merge *m)
{
	int err = 0;

	for (size_t i = 0; i < m->plain_count && !err; i++) {
		err = wt_store_check(m->run,
		                     m->island->kind == WT_BATCH_LAUNCH
		                             ? wt_db_run(m->remove_row, "ii", m->plain_ids[i],
		                                         m->island->process_id)
		                             : wt_db_run(m->remove_row, "i", m->plain_ids[i]));
		if (!err && sqlite3_changes(m->run->db) != 1)
			err = -EAGAIN;
	}
	for (size_t i = 0; i < m->chunk_count && !err; i++)
		err = wt_store_check(m->run, wt_db_run(m->remove_chunk, "i", m->chunk_ids[i]));
	return err;
}

static int bind_island(struct merge *m, sqlite3_stmt *s)
{
	const struct wt_pack_island *island = m->island;
	int code = sqlite3_bind_int64(s, 1, island->process_id);

	if (code == SQLITE_OK && island->device_id != WT_DB_NULL)
		code = sqlite3_bind_int64(s, 2, island->device_id);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 3, island->first_id);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 4, island->last_id);
	return wt_store_check(m->run, code);
}

static int list_shares(struct merge *m)
{
	static const char table_sql[] =
	        "CREATE TEMP TABLE IF NOT EXISTS wt_packed (exec_id INTEGER "
	        "PRIMARY KEY); DELETE FROM temp.wt_packed";
	sqlite3_stmt *list = NULL;
	int err = wt_store_check(m->run, sqlite3_exec(m->run->db, table_sql, NULL, NULL, NULL));

	if (!err)
		err = prepare(m, shares_sql, &list);
	if (!err)
		err = bind_island(m, list);
	if (!err)
		err = wt_store_check(m->run, sqlite3_step(list));
	sqlite3_finalize(list);
	return err;
}

static int open_merge(struct merge *m, bool is_over)
{
	const struct wt_pack_island *island = m->island;
	int err = wt_batch_build(m->run, island->kind, &m->builder);

	m->plain_ids = malloc(((size_t)island->plain + 1) * sizeof(*m->plain_ids));
	if (!err && !m->plain_ids)
		err = -ENOMEM;
	if (!err && island->kind == WT_BATCH_SHARE)
		err = list_shares(m);
	if (!err)
		err = prepare(m, sql_of[island->kind].read, &m->plain);
	if (!err)
		err = prepare(m, sql_of[island->kind].remove, &m->remove_row);
	if (!err)
		err = prepare(
		        m,
		        "SELECT data, first_id, last_id, row_count FROM chunk WHERE chunk_id = ?1",
		        &m->data);
	if (!err)
		err = prepare(m, "DELETE FROM chunk WHERE chunk_id = ?1", &m->remove_chunk);
	if (!err && island->kind != WT_BATCH_SHARE)
		err = bind_island(m, m->plain);
	if (!err && island->kind == WT_BATCH_EXEC)
		err = wt_store_check(m->run, sqlite3_bind_int(m->plain, 5, is_over));
	if (!err)
		err = list_chunks(m);
	return err ? err : read_plain(m);
}

static void close_merge(struct merge *m)
{
	sqlite3_finalize(m->plain);
	sqlite3_finalize(m->data);
	sqlite3_finalize(m->remove_row);
	sqlite3_finalize(m->remove_chunk);
	wt_chunk_close(m->chunk);
	free(m->plain_ids);
	free(m->chunk_ids);
}

int wt_pack_merge(struct wt_run *run, const struct wt_pack_island *island, bool is_over)
{
	struct merge m = {.run = run,
	                  .island = island,
	                  .table = wt_chunk_table(wt_batch_chunk(island->kind))};
	int err = wt_store_run(run, WT_SQL_BEGIN, "");

	if (err)
		return err;
	err = open_merge(&m, is_over);
	if (!err)
		err = write_chunks(&m);
	sqlite3_reset(m.plain);
	if (!err)
		err = remove_all(&m);
	close_merge(&m);
	if (!err)
		err = wt_store_run(run, WT_SQL_COMMIT, "");
	if (!err)
		return 0;
	/* What was put into the builder goes with it. */
	wt_batch_forget(run, island->kind);
	if (!sqlite3_get_autocommit(run->db))
		sqlite3_exec(run->db, "ROLLBACK", NULL, NULL, NULL);
	return err == -EBADMSG || err == -EINVAL || err == -ENOTSUP ? -EAGAIN : err;
}

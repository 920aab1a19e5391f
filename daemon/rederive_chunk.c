/*
 * rederive_chunk.c - derived columns of packed rows: see rederive.h. In the caller's transaction; memory
 * for one chunk at a time.
 */
#include "daemon/rederive_impl.h"

#include <errno.h>

enum { CONFIG = 2, START = 3, END = 4, UNDERFILL = 12, WAVE = 13, WAVE_MAX = 14 };

struct packed {
	int64_t chunk_id;
	struct wt_chunk *chunk;
	unsigned columns;
	const int64_t *values[WT_CHUNK_COLUMNS];
	const uint8_t *nulls[WT_CHUNK_COLUMNS];
};

/* The first chunk of the kind behind that of `p`; -ENOENT: there is none. */
static int next_chunk(struct wt_run *run, sqlite3_stmt *read, enum wt_chunk_kind kind,
                      struct packed *p)
{
	int code = wt_db_bind(read, "ii", p->chunk_id, (int64_t)kind), err = -ENOENT;

	wt_chunk_close(p->chunk);
	p->chunk = NULL;
	p->columns = wt_chunk_table(kind)->column_count;
	if (code == SQLITE_OK && (code = sqlite3_step(read)) == SQLITE_ROW) {
		p->chunk_id = sqlite3_column_int64(read, 0);
		err = wt_chunk_open(kind, sqlite3_column_blob(read, 1),
		                    (size_t)sqlite3_column_bytes(read, 1), &p->chunk);
	}
	sqlite3_reset(read);
	if (wt_store_check(run, code))
		return wt_store_check(run, code);
	for (unsigned i = 0; i < p->columns && !err; i++)
		err = wt_chunk_column(p->chunk, i, &p->values[i], &p->nulls[i]);
	if (err == -EBADMSG)
		snprintf(run->error, sizeof(run->error), "chunk %lld is damaged",
		         (long long)p->chunk_id);
	return err;
}

static int64_t value(const struct packed *p, unsigned column, uint32_t row)
{
	return p->nulls[column] && p->nulls[column][row] ? WT_DB_NULL : p->values[column][row];
}

static uint32_t read_row(const struct packed *p, uint32_t row, int64_t *values)
{
	uint32_t nulls = 0;

	for (unsigned i = 0; i < p->columns; i++) {
		values[i] = value(p, i, row);
		nulls |= (uint32_t)(values[i] == WT_DB_NULL) << i;
	}
	return nulls;
}

/* ---- kernels */

/* Its rows with what is derived now into the builder; *ret_changed: of so many it was another. */
static int derive(struct wt_run *run, const struct wt_map *config_of, const struct packed *p,
                  struct wt_chunk_builder *builder, uint32_t *ret_changed)
{
	uint32_t changed = 0;
	int err = 0;

	for (uint32_t i = 0; i < wt_chunk_row_count(p->chunk) && !err; i++) {
		int64_t row[WT_CHUNK_COLUMNS], old[3];
		uint32_t idx, nulls;

		read_row(p, i, row);
		memcpy(old, row + UNDERFILL, sizeof(old));
		idx = wt_map_get(config_of, (uint64_t)row[CONFIG]);
		if (idx == WT_MAP_NONE)
			return -EBADMSG; /* said for its rows already */
		wt_rederive_exec_columns(&run->configs[idx], row[START], row[END], row + UNDERFILL);
		changed += memcmp(old, row + UNDERFILL, sizeof(old)) != 0;
		nulls = 0;
		for (unsigned c = 0; c < p->columns; c++)
			nulls |= (uint32_t)(row[c] == WT_DB_NULL) << c;
		err = wt_chunk_add(builder, row, nulls);
	}
	*ret_changed = changed;
	return err;
}

static int replace(struct wt_run *run, sqlite3_stmt *write, int64_t chunk_id,
                   struct wt_chunk_builder *builder, bool is_changed)
{
	const void *data, *configs;
	size_t bytes, configs_bytes;
	struct wt_chunk_meta meta;
	int err = wt_chunk_encode(builder, &meta, &data, &bytes, &configs, &configs_bytes);

	if (err || !is_changed)
		return err;
	return wt_store_check(run, wt_db_run(write, "ib", chunk_id, data, bytes));
}

int wt_rederive_chunks(struct wt_run *run, const struct wt_map *config_of)
{
	struct wt_chunk_builder *builder = NULL;
	struct packed p = {.chunk_id = INT64_MIN};
	sqlite3_stmt *read = NULL, *write = NULL;
	int err = wt_chunk_builder_new(WT_CHUNK_KERNEL, &builder);

	if (!err)
		err = wt_store_check(
		        run, sqlite3_prepare_v2(run->db, WT_REDERIVE_CHUNK_SQL, -1, &read, NULL));
	if (!err)
		err = wt_store_check(run, sqlite3_prepare_v2(run->db,
		                                             "UPDATE chunk SET data = ?2 WHERE "
		                                             "chunk_id = ?1",
		                                             -1, &write, NULL));
	while (!err && !(err = next_chunk(run, read, WT_CHUNK_KERNEL, &p))) {
		uint32_t changed;

		err = derive(run, config_of, &p, builder, &changed);
		if (!err)
			err = replace(run, write, p.chunk_id, builder, changed != 0);
	}
	sqlite3_finalize(read);
	sqlite3_finalize(write);
	wt_chunk_close(p.chunk);
	wt_chunk_builder_free(builder);
	return err == -ENOENT ? 0 : err;
}

/* ---- shares */

/* Are its rows those of temp.wt_share? */
static int compare(struct wt_run *run, sqlite3_stmt *find, const struct packed *p, bool *ret_same)
{
	int code = SQLITE_ROW;

	*ret_same = true;
	for (uint32_t i = 0; i < wt_chunk_row_count(p->chunk) && *ret_same; i++) {
		code = wt_db_bind(find, "i", value(p, 0, i));
		if (code == SQLITE_OK)
			code = sqlite3_step(find);
		*ret_same = code == SQLITE_ROW;
		for (unsigned c = 1; c < p->columns && *ret_same; c++)
			*ret_same = sqlite3_column_int64(find, (int)c) == value(p, c, i);
		sqlite3_reset(find);
		if (wt_store_check(run, code))
			return wt_store_check(run, code);
	}
	return 0;
}

static int unpack(struct wt_run *run, sqlite3_stmt *insert, sqlite3_stmt *remove,
                  const struct packed *p)
{
	int err = 0;

	for (uint32_t i = 0; i < wt_chunk_row_count(p->chunk) && !err; i++) {
		int64_t v[WT_CHUNK_COLUMNS] = {0};

		read_row(p, i, v);
		err = wt_store_check(run, wt_db_run(insert, "iiiiiiii", v[0], v[1], v[2], v[3],
		                                    v[4], v[5], v[6], v[7]));
	}
	return err ? err : wt_store_check(run, wt_db_run(remove, "i", p->chunk_id));
}

int wt_rederive_unpack_shares(struct wt_run *run)
{
	static const char *const sql[] = {
	        WT_REDERIVE_CHUNK_SQL,
	        "SELECT * FROM temp.wt_share WHERE exec_id = ?1",
	        "INSERT OR REPLACE INTO main.kernel_share VALUES (?,?,?,?,?,?,?,?)",
	        "DELETE FROM chunk WHERE chunk_id = ?1",
	};
	struct packed p = {.chunk_id = INT64_MIN};
	sqlite3_stmt *s[4] = {NULL};
	int err = 0;

	for (int i = 0; i < 4 && !err; i++)
		err = wt_store_check(run, sqlite3_prepare_v2(run->db, sql[i], -1, &s[i], NULL));
	while (!err && !(err = next_chunk(run, s[0], WT_CHUNK_SHARE, &p))) {
		bool is_same;

		err = compare(run, s[1], &p, &is_same);
		if (!err && !is_same)
			err = unpack(run, s[2], s[3], &p);
	}
	for (int i = 0; i < 4; i++)
		sqlite3_finalize(s[i]);
	wt_chunk_close(p.chunk);
	return err == -ENOENT ? 0 : err;
}

/*
 * pack_rows.c - see pack_rows.h. Single-threaded; blocks on the file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/wt_chunk.h"
#include "tests/unit/pack_rows.h"

struct packer {
	sqlite3 *db;
	enum wt_chunk_kind kind;
	const struct wt_chunk_table *shape;
	struct wt_chunk_builder *builder;
	sqlite3_stmt *insert, *remove;
	uint64_t state; /* 0: everything is packed */
	uint32_t rows_wanted; /* of the chunk in work */
	int64_t process_id, device_id;
	int64_t packed;
};

static uint32_t draw(struct packer *p, uint32_t below)
{
	p->state ^= p->state << 13;
	p->state ^= p->state >> 7;
	p->state ^= p->state << 17;
	return (uint32_t)(p->state >> 16) % below;
}

static void must(bool is_good, struct packer *p, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "pack_rows: %s: %s: %s\n", p->shape->name, what, sqlite3_errmsg(p->db));
	exit(1);
}

static void finish_chunk(struct packer *p)
{
	struct wt_chunk_meta meta;
	const void *data, *configs;
	size_t bytes, configs_bytes;
	bool has_device = p->kind == WT_CHUNK_KERNEL || p->kind == WT_CHUNK_SHARE;

	if (!wt_chunk_rows(p->builder))
		return;
	must(!wt_chunk_encode(p->builder, &meta, &data, &bytes, &configs, &configs_bytes), p,
	     "encode");
	sqlite3_reset(p->insert);
	sqlite3_clear_bindings(p->insert);
	sqlite3_bind_int(p->insert, 1, (int)p->kind);
	sqlite3_bind_int64(p->insert, 2, p->process_id);
	if (has_device)
		sqlite3_bind_int64(p->insert, 3, p->device_id);
	sqlite3_bind_int64(p->insert, 4, meta.first_id);
	sqlite3_bind_int64(p->insert, 5, meta.last_id);
	sqlite3_bind_int64(p->insert, 6, meta.rows);
	if (meta.has_times) {
		sqlite3_bind_int64(p->insert, 7, meta.start_ns);
		sqlite3_bind_int64(p->insert, 8, meta.end_ns);
	}
	if (configs)
		sqlite3_bind_blob(p->insert, 9, configs, (int)configs_bytes, SQLITE_TRANSIENT);
	sqlite3_bind_blob(p->insert, 10, data, (int)bytes, SQLITE_TRANSIENT);
	must(sqlite3_step(p->insert) == SQLITE_DONE, p, "insert");
	p->packed += meta.rows;
}

/* The columns of the table, then process and device of the row. */
static void take_row(struct packer *p, sqlite3_stmt *s)
{
	int n = (int)p->shape->column_count;
	int64_t row[WT_CHUNK_COLUMNS], process_id = sqlite3_column_int64(s, n);
	int64_t device_id = sqlite3_column_int64(s, n + 1);
	uint32_t nulls = 0;

	if (process_id != p->process_id || device_id != p->device_id ||
	    wt_chunk_rows(p->builder) == p->rows_wanted) {
		finish_chunk(p);
		p->rows_wanted = WT_CHUNK_ROWS;
		if (p->state && draw(p, 3))
			p->rows_wanted = 1 + draw(p, draw(p, 2) ? 20 : WT_CHUNK_ROWS);
	}
	p->process_id = process_id;
	p->device_id = device_id;
	if (p->state && draw(p, 20) == 0)
		return; /* stays */
	for (int c = 0; c < n; c++) {
		row[c] = sqlite3_column_int64(s, c);
		if (sqlite3_column_type(s, c) == SQLITE_NULL)
			nulls |= UINT32_C(1) << c;
	}
	must(!wt_chunk_add(p->builder, row, nulls), p, "add");
	sqlite3_reset(p->remove);
	sqlite3_bind_int64(p->remove, 1, row[p->shape->id]);
	sqlite3_bind_int64(p->remove, 2, process_id);
	must(sqlite3_step(p->remove) == SQLITE_DONE, p, "delete");
}

/* In the order of chunks. Rows of no configuration have no device, and stay. */
static const char *const select_sql[WT_CHUNK_KIND_MAX] = {
        [WT_CHUNK_KERNEL] = "SELECT e.*, e.process_id AS p, c.device_id AS d FROM kernel_exec e "
                            "JOIN config c USING (config_id) ORDER BY p, d, e.exec_id",
        [WT_CHUNK_LAUNCH] = "SELECT *, process_id, NULL FROM launch_call ORDER BY process_id, seq",
        [WT_CHUNK_CALL] = "SELECT *, process_id, NULL FROM api_call ORDER BY process_id, call_id",
        [WT_CHUNK_SHARE] = "SELECT s.*, e.process_id AS p, c.device_id AS d FROM kernel_share s "
                           "JOIN (SELECT * FROM temp.pack_exec) e USING (exec_id) JOIN config c "
                           "USING (config_id) ORDER BY p, d, s.exec_id",
};

static int64_t pack_table(sqlite3 *db, enum wt_chunk_kind kind, uint64_t seed)
{
	struct packer p = {.db = db, .kind = kind, .shape = wt_chunk_table(kind), .state = seed};
	sqlite3_stmt *s = NULL;
	char sql[200], copy[600];
	int code;

	p.process_id = INT64_MIN;
	must(!wt_chunk_builder_new(kind, &p.builder), &p, "builder");
	snprintf(sql, sizeof(sql), "DELETE FROM main.%s WHERE %s = ?1%s", p.shape->name,
	         p.shape->columns[p.shape->id],
	         kind == WT_CHUNK_LAUNCH ? " AND process_id = ?2" : " AND ?2 = ?2");
	snprintf(copy, sizeof(copy), "CREATE TEMP TABLE pack_copy AS %s", select_sql[kind]);
	must(sqlite3_exec(db, copy, NULL, NULL, NULL) == SQLITE_OK &&
	             sqlite3_prepare_v2(db, "SELECT * FROM temp.pack_copy", -1, &s, NULL) ==
	                     SQLITE_OK &&
	             sqlite3_prepare_v2(db, sql, -1, &p.remove, NULL) == SQLITE_OK &&
	             sqlite3_prepare_v2(db,
	                                "INSERT INTO main.chunk (kind, process_id, device_id, "
	                                "first_id, last_id, row_count, start_ns, end_ns, configs, "
	                                "data) VALUES (?,?,?,?,?,?,?,?,?,?)",
	                                -1, &p.insert, NULL) == SQLITE_OK,
	     &p, "prepare");
	while ((code = sqlite3_step(s)) == SQLITE_ROW)
		take_row(&p, s);
	must(code == SQLITE_DONE, &p, "read");
	finish_chunk(&p);
	sqlite3_finalize(s);
	sqlite3_finalize(p.insert);
	sqlite3_finalize(p.remove);
	sqlite3_exec(db, "DROP TABLE temp.pack_copy", NULL, NULL, NULL);
	wt_chunk_builder_free(p.builder);
	return p.packed;
}

int64_t pack_rows(sqlite3 *db, uint64_t seed)
{
	int64_t packed = 0;

	/* Shares are packed by process and device of their kernels, which may be gone by then. */
	sqlite3_exec(db,
	             "BEGIN; CREATE TEMP TABLE pack_exec AS SELECT exec_id, process_id, config_id "
	             "FROM main.kernel_exec",
	             NULL, NULL, NULL);
	for (int kind = WT_CHUNK_KERNEL; kind < WT_CHUNK_KIND_MAX; kind++)
		packed +=
		        pack_table(db, (enum wt_chunk_kind)kind, seed ? seed + (unsigned)kind : 0);
	sqlite3_exec(db, "DROP TABLE temp.pack_exec; COMMIT", NULL, NULL, NULL);
	return packed;
}

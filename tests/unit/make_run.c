/*
 * make_run.c - writes a small run file with known sums, for test_cli.sh.
 *
 *   make_run FILE KIND NAME CREATED_NS
 *   make_run foreign FILE           a database of somebody else's
 *   make_run json FILE PATH         prints what json_extract() finds; null for nothing
 *   make_run sums FILE              sums of the rows in the JSON of top; an error if its total differs
 *   make_run samples FILE           8 s of samples of 10 ms into a run with measured.sql
 *   make_run hash DIR               prints the hash of a data directory
 *
 * KIND: full    one device of 4 SMs, three kernels
 *       pair    full, and a second device of 8 SMs: kernel 1 on 4 of them in [2,3) s
 *       ranks   pair, and processes 2 (pid 43, rank 1 of 2) and 3 (pid 44, no rank), which run
 *               kernel 2 on device 2 for 1 s each, 4 SM-s underfill; process 1 is rank 0 of 2
 *       hooks   launches without kernel times, with a reason
 *       lossy   like full, with every loss counter set
 *       short   like full, with 1/10,000 of the kernel time: under a second
 *       empty   no process
 *       newer   a user_version from the future
 *
 * full: window 10 s from t = 1,000 s, 4 SMs.
 *   kernel 1 "half"     2 SMs of 4 for 2 s x 2 launches: underfill 8 SM-s, wave 0
 *   kernel 2 "tail"     3 s: underfill 0, wave 3 SM-s, at most 6; two configurations
 *   kernel 3 "evil"     1 s cooperative: not judged, 4 SM-s; its name has an ESC
 * Kernels run in [0,2) [1,3) [4,6) [6,7) [9,10) s: 7 of 10 s, 8 s of durations.
 */
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_db.h"
#include "schema/wt_paths.h"
#include "schema/wt_samples.h"

#define S INT64_C(1000000000)

static int64_t scale = 1;

static void run(sqlite3 *db, const char *format, ...)
{
	char *error = NULL;
	va_list ap;
	char *sql;

	va_start(ap, format);
	sql = sqlite3_vmprintf(format, ap);
	va_end(ap);
	if (!sql || sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
		fprintf(stderr, "make_run: %s\n%s\n", error ? error : "out of memory", sql);
		exit(1);
	}
	sqlite3_free(sql);
}

static void add_process(sqlite3 *db, int capture, int reason, const char *text, int launches)
{
	run(db,
	    "INSERT INTO proc (process_id, uuid, pid, pid_namespace, ppid, start_ticks, uid, "
	    "hostname,"
	    " boot_id, executable, command, created_ns, armed_ns, finished_ns, first_ns, last_ns,"
	    " state, capture, reason, reason_detail, reason_text, library_version,"
	    " launches_attempted, launches_stored, launches_linked, kernels_seen, kernels_stored)"
	    " VALUES (1, x'01', 42, 1, 1, 1, 0, 'host', 'boot', '/bin/app', 'app --x', %lld,"
	    " iif(%d = 2, %lld, NULL), %lld, %lld, %lld, 'finished', %d, %d, 0, %Q, '0.1.0',"
	    " %d, %d, %d, %d, %d)",
	    1000 * S, capture, 1000 * S, 1010 * S, 1000 * S, 1000 * S + 10 * S / scale, capture,
	    reason, text, launches, launches, capture == 2 ? launches : 0,
	    capture == 2 ? launches : 0, capture == 2 ? launches : 0);
}

static void add_config(sqlite3 *db, int config, int kernel, int blocks, const char *waves,
                       const char *reason)
{
	run(db,
	    "INSERT INTO config VALUES (%d, %d, 1, %d, 1, 1, 128, 1, 1, 0, 0, 0, 32, 0, %d, %d, 0,"
	    " 4, %d, 1, 4, 0.5, 'registers', %s, %d / 4.0, NULL, NULL, %Q)",
	    config, kernel, blocks, config, reason != NULL, blocks, waves, blocks, reason);
}

static void add_stat(sqlite3 *db, int config, int launches, int64_t time_ns, int64_t under,
                     int64_t wave, int64_t wave_max, int64_t unjudged, int64_t first_ns)
{
	run(db,
	    "INSERT INTO config_stat VALUES (1, %d, 0, %d, %lld, %lld, %lld, 0, %lld, %lld, %lld, "
	    "%lld,"
	    " %lld, %lld, 0, 0, 0, 0, 0, 0, 0)",
	    config, launches, time_ns / scale, time_ns / launches / scale,
	    time_ns / launches / scale, under / scale, wave / scale, wave_max / scale,
	    unjudged / scale, 1000 * S + first_ns / scale, 1000 * S + (first_ns + time_ns) / scale);
}

/* The model's figures are those of the configuration's rollup, a launch's part of them. */
static void add_exec(sqlite3 *db, int config, int64_t start_s, int64_t end_s)
{
	run(db,
	    "INSERT INTO kernel_exec (process_id, config_id, start_ns, end_ns, context_id, "
	    "stream_id,"
	    " correlation_id, launch_seq, link, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns)"
	    " SELECT 1, %d, %lld, %lld, 1, 7, 1, 0, 1, underfill_sm_ns / launches,"
	    " iif(unjudged_sm_ns, NULL, wave_sm_ns / launches),"
	    " iif(unjudged_sm_ns, NULL, wave_max_sm_ns / launches)"
	    " FROM config_stat WHERE config_id = %d LIMIT 1",
	    config, 1000 * S + start_s * S / scale, 1000 * S + end_s * S / scale, config);
}

static void add_kernels(sqlite3 *db)
{
	run(db, "INSERT INTO gpu VALUES (1, x'aa', 'Testbed 4', 9, 0, 4, 32, 2048, 32, 1024, 65536,"
	        " 65536, 233472, 49152, 232448, 1024, 0, 0, 0, 0, 0, 13000, '0000:01:00')");
	run(db, "INSERT INTO kernel VALUES (1, 'half'), (2, '_Z4tailPf'), (3, 'ev' || char(27) || "
	        "'il,\"x')");
	add_config(db, 1, 1, 2, "0.5", NULL);
	add_config(db, 2, 2, 6, "1.5", NULL);
	add_config(db, 3, 2, 5, "1.25", NULL);
	add_config(db, 4, 3, 4, "NULL", "cooperative launch");
	add_stat(db, 1, 2, 4 * S, 8 * S, 0, 0, 0, 0);
	add_stat(db, 2, 1, 2 * S, 0, 2 * S, 4 * S, 0, 4 * S);
	add_stat(db, 3, 1, 1 * S, 0, 1 * S, 2 * S, 0, 6 * S);
	add_stat(db, 4, 1, 1 * S, 0, 0, 0, 4 * S, 9 * S);
	add_exec(db, 1, 0, 2);
	add_exec(db, 2, 4, 6); /* not in the order of their starts */
	add_exec(db, 1, 1, 3);
	add_exec(db, 3, 6, 7);
	add_exec(db, 4, 9, 10);
}

static void add_second_device(sqlite3 *db)
{
	run(db,
	    "INSERT INTO gpu SELECT 2, x'bb', 'Testbed 8', cc_major, cc_minor, 8, warp_size,"
	    " max_threads_per_sm, max_blocks_per_sm, max_threads_per_block, regs_per_sm,"
	    " regs_per_block, smem_per_sm_bytes, smem_per_block_bytes, smem_per_block_optin_bytes,"
	    " smem_reserved_per_block_bytes, 0, 0, 0, 0, 0, 13000, '0000:02:00' FROM gpu");
	add_config(db, 5, 1, 4, "0.5", NULL);
	run(db, "UPDATE config SET device_id = 2, sm_count = 8 WHERE config_id = 5");
	add_stat(db, 5, 1, 1 * S, 4 * S, 0, 0, 0, 2 * S);
	add_exec(db, 5, 2, 3);
}

static void add_ranks(sqlite3 *db)
{
	run(db, "CREATE TEMP TABLE more AS SELECT * FROM proc");
	for (int i = 2; i <= 3; i++) {
		run(db,
		    "UPDATE more SET process_id = %d, uuid = %Q, pid = %d, command = 'app --rank',"
		    " launches_attempted = 1, launches_stored = 1, launches_linked = 1,"
		    " kernels_seen = 1, kernels_stored = 1",
		    i, i == 2 ? "two" : "three", 41 + i);
		run(db, "UPDATE more SET uuid = CAST(uuid AS BLOB)");
		run(db, "INSERT INTO proc SELECT * FROM more");
	}
	run(db, "UPDATE proc SET rank = process_id - 1, local_rank = process_id - 1, world_size = 2"
	        " WHERE process_id < 3");
	add_config(db, 6, 2, 4, "0.5", NULL);
	run(db, "UPDATE config SET device_id = 2, sm_count = 8 WHERE config_id = 6");
	for (int i = 2; i <= 3; i++) {
		add_stat(db, 6, 1, 1 * S, 4 * S, 0, 0, 0, 4 * S);
		run(db,
		    "UPDATE config_stat SET process_id = %d WHERE process_id = 1 AND config_id "
		    "= 6",
		    i);
		add_exec(db, 6, 2 + i, 3 + i);
	}
}

static int make_foreign(const char *path)
{
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK)
		return 1;
	run(db, "CREATE TABLE t (x)");
	return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

/* Prints what `sql` makes of a JSON file (?1) and an expression (?2). */
static int query_json(const char *path, const char *sql, const char *expression)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 1 << 20);
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;

	if (!in || !text || !fread(text, 1, (1 << 20) - 1, in) ||
	    sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) {
		free(text);
		return 1;
	}
	sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, expression, -1, SQLITE_STATIC);
	if (sqlite3_step(s) != SQLITE_ROW)
		printf("error: %s\n", sqlite3_errmsg(db));
	else
		puts(sqlite3_column_type(s, 0) == SQLITE_NULL
		             ? "null"
		             : (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	sqlite3_close(db);
	free(text);
	fclose(in);
	return 0;
}

/* Rows, summed by field; behind it the difference of the total, where there is one. */
#define ROWS(field) "total(json_extract(r.value, '$." field "'))"
#define EXCESS(field) " + (" ROWS(field) " <> ifnull(json_extract(?1, '$.total." field "'), 0))"
#define SHOWN(field) "CAST(" ROWS(field) " AS INTEGER)"
static const char sums_sql[] =
        "SELECT " SHOWN("launches") " || '|' || " SHOWN("time_ns") " || '|' || " SHOWN("idle_sm_ns") " || '|' || " SHOWN(
                "wave_max_sm_ns") " || '|' || " SHOWN("unjudged_sm_ns") " || '|' || " SHOWN("idle_"
                                                                                            "gpu_"
                                                                                            "ns") " || iif(0" EXCESS("launches")
                EXCESS("launches_in_graph") EXCESS("time_ns") EXCESS("underfill_sm_ns")
                        EXCESS("wave_sm_ns") EXCESS("wave_max_sm_ns") EXCESS("tail_idle_sm_ns")
                                EXCESS("idle_sm_ns") EXCESS("unjudged_sm_ns")
                                        EXCESS("idle_gpu_ns") ", ' but the total differs', '')"
                                                              " FROM json_each(?1, '$.rows') r";

static int print_hash(const char *folder)
{
	char path[WT_PATH_BYTES];

	snprintf(path, sizeof(path), "%s", folder);
	wt_path_tidy(path);
	printf("%016llx\n", (unsigned long long)wt_fnv1a(path, strlen(path)));
	return 0;
}

static int make_run(char **argv)
{
	char error[WT_DB_ERROR_BYTES];
	const char *kind = argv[2];
	bool is_wal;
	sqlite3 *db;

	if (wt_db_open_write(argv[1], true, &db, &is_wal, error)) {
		fprintf(stderr, "make_run: %s\n", error);
		return 1;
	}
	run(db,
	    "INSERT INTO meta VALUES ('run_id', %Q), ('run_key', %Q), ('name', %Q),"
	    " ('created_ns', %Q), ('hostname', 'host'), ('wavetap_version', '0.1.0')",
	    argv[3] + (strlen(argv[3]) > 8 ? strlen(argv[3]) - 8 : 0), argv[3], argv[3], argv[4]);
	if (!strcmp(kind, "short"))
		scale = 10000;
	if (!strcmp(kind, "hooks"))
		add_process(db, 1, 1, "libcupti was not found", 5);
	else if (strcmp(kind, "empty"))
		add_process(db, 2, 0, NULL, 5);
	if (strcmp(kind, "hooks") && strcmp(kind, "empty"))
		add_kernels(db);
	if (!strcmp(kind, "pair") || !strcmp(kind, "ranks"))
		add_second_device(db);
	if (!strcmp(kind, "ranks"))
		add_ranks(db);
	if (!strcmp(kind, "lossy"))
		run(db, "UPDATE proc SET launches_attempted = 9, launches_dropped = 3,"
		        " kernels_dropped_ring = 2, kernels_dropped_cupti = 1, kernels_seen = 7,"
		        " kernels_no_time = 4");
	if (!strcmp(kind, "newer"))
		run(db, "PRAGMA user_version = 99");
	return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

/* All SMs and none in turn, and 16 warps or none; 30 MB read in each. */
static int add_samples(const char *path)
{
	enum { COUNT = 800 };
	static struct wt_sample samples[COUNT];
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	uint8_t *data = NULL;
	size_t bytes = 0;

	for (int i = 0; i < COUNT; i++) {
		float cycles = i % 2 ? 17e6f : 0;

		/* As of a sampler: nothing is cheap to know, the rest is asked for now and then. */
		float extreme = cycles > 0 && i % 8 > 1 ? WT_SAMPLE_UNKNOWN : cycles;

		samples[i] = (struct wt_sample){.start_ns = (uint64_t)(1000 * S) +
		                                            (uint64_t)i * 10000000,
		                                .duration_ns = 10000000,
		                                .elapsed_cycles = 17000000,
		                                .active_avg = cycles,
		                                .active_min = extreme,
		                                .active_max = extreme,
		                                .warps = 16 * cycles,
		                                .tensor = WT_SAMPLE_UNKNOWN,
		                                .dram_read_bytes = 30e6f,
		                                .dram_write_bytes = 0};
	}
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    wt_samples_encode(samples, COUNT, 4, &data, &bytes) ||
	    sqlite3_prepare_v2(db, "INSERT INTO sample_chunk VALUES (1, 1, ?1, ?2, ?3, ?4)", -1, &s,
	                       NULL) != SQLITE_OK)
		return 1;
	sqlite3_bind_int64(s, 1, 1000 * S);
	sqlite3_bind_int64(s, 2, 1008 * S);
	sqlite3_bind_int(s, 3, COUNT);
	sqlite3_bind_blob(s, 4, data, (int)bytes, SQLITE_STATIC);
	if (sqlite3_step(s) != SQLITE_DONE)
		return 1;
	sqlite3_finalize(s);
	sqlite3_close(db);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "foreign"))
		return make_foreign(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "json"))
		return query_json(argv[2], "SELECT json_extract(?1, ?2)", argv[3]);
	if (argc == 3 && !strcmp(argv[1], "sums"))
		return query_json(argv[2], sums_sql, NULL);
	if (argc == 3 && !strcmp(argv[1], "samples"))
		return add_samples(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "hash"))
		return print_hash(argv[2]);
	if (argc == 5)
		return make_run(argv);
	fputs("usage: make_run FILE KIND NAME CREATED_NS\n", stderr);
	return 2;
}

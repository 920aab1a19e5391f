/*
 * test_phases.c - phases of the kernels of a small run file, made here; with an argument those of a
 * real one, printed: test_phases RUN.db. Single-threaded.
 */
#include <sqlite3.h>

#include "analysis/phase.h"
#include "cli/phases.h"
#include "schema/wt_db.h"
#include "schema/wt_rows.h"
#include "tests/tap.h"

/* Two processes: 1 goes backward on thread 11, in a range called so are some; 2 has one thread. */
static const char rows[] =
        "INSERT INTO kernel VALUES (1, 'work'), (2, 'multi_tensor_apply_kernelAdamW'),"
        " (3, '_ZN2at6native29vectorized_elementwise_kernelILi4EEE');"
        "INSERT INTO config (config_id, kernel_id, device_id, grid_x, grid_y, grid_z, block_x, "
        "block_y, block_z, cluster_x, cluster_y, cluster_z, regs_per_thread, static_smem_bytes, "
        "dynamic_smem_bytes, cooperative, max_active_clusters, sm_count, blocks) SELECT kernel_id,"
        " kernel_id, 1, 1,1,1, 1,1,1, 0,0,0, 1,0,0,0,0, 132, 1 FROM kernel;"
        "WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 199) "
        /* process 1: of ten launches 0-4 thread 10, 5-8 thread 11, 9 thread 10 and an update */
        "INSERT INTO launch_call SELECT 1, n, 1000 + n * 10, 1005 + n * 10, 1, "
        "iif(n % 10 IN (5, 6, 7, 8), 11, 10), 0, 0, 0, 1,1,1, 1,1,1, 0, 0, 0 FROM i;"
        "INSERT INTO kernel_exec SELECT seq, 1, iif(seq % 10 = 9, 2, 1), entry_ns + 3, entry_ns + "
        "5, 1, 7, seq, NULL, NULL, seq, 1, 0, 0, 0 FROM launch_call;"
        /* process 2: one thread */
        "INSERT INTO launch_call SELECT 2, seq, entry_ns, return_ns, api, 10, 0, 0, 0, 1,1,1, "
        "1,1,1, 0, 0, 0 FROM launch_call WHERE seq < 20;"
        "INSERT INTO kernel_exec SELECT 1000 + seq, 2, 1, entry_ns + 3, entry_ns + 5, 1, 7, seq, "
        "NULL, NULL, seq, 1, 0, 0, 0 FROM launch_call WHERE process_id = 2;"
        "INSERT INTO range_name VALUES (1, '', 'backward'), (2, '', 'step'), (3, '', 'forward');"
        /* in process 2 a step of which launches 2-5 are in forward and 6-7 in a backward within it */
        "INSERT INTO range_event VALUES (1, 2, 2, 1, 10, 10, 1000, 1100, 0),"
        " (2, 2, 3, 1, 10, 10, 1020, 1080, 1), (3, 2, 1, 1, 10, 10, 1060, 1080, 2),"
        /* of another thread: says nothing of thread 10 */
        " (4, 2, 1, 1, 99, 99, 1000, 2000, 0);";

static int64_t count(sqlite3 *db, const char *where)
{
	char sql[300];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM temp.wt_phase WHERE %s", where);
	return wt_db_int(db, sql, -1);
}

static int print_real(const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);

	if (!rc)
		rc = wt_phases_make(db);
	if (!rc)
		sqlite3_prepare_v2(
		        db,
		        "SELECT phase, evidence, count(*) FROM temp.wt_phase GROUP BY 1, "
		        "2",
		        -1, &s, NULL);
	while (s && sqlite3_step(s) == SQLITE_ROW)
		printf("%s by %s: %d\n", wt_phase_text((enum wt_phase)sqlite3_column_int(s, 0)),
		       wt_phase_evidence_text((enum wt_phase_evidence)sqlite3_column_int(s, 1)),
		       sqlite3_column_int(s, 2));
	sqlite3_finalize(s);
	sqlite3_close(db);
	return rc != 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	if (argc > 1)
		return print_real(argv[1]);
	is_i64(sqlite3_open(":memory:", &db), SQLITE_OK, "a database");
	is_i64(sqlite3_exec(db, wt_schema_sql, NULL, NULL, NULL), SQLITE_OK, "the schema");
	is_i64(sqlite3_exec(db, rows, NULL, NULL, &why), SQLITE_OK, "its rows");
	is_str(why, NULL, "without a word");
	is_i64(wt_rows_attach(db, NULL, NULL), SQLITE_OK, "read as a run file is");
	is_i64(wt_phases_make(db), 0, "phases");
	is_i64(count(db, "exec_id < 1000 AND phase = 2 AND evidence = 3"), 80,
	       "backward: the thread that does not update");
	is_i64(count(db, "exec_id < 1000 AND phase = 1 AND evidence = 3"), 100,
	       "forward: the other");
	is_i64(count(db, "exec_id < 1000 AND phase = 3 AND evidence = 2"), 20,
	       "the optimizer's kernels");
	is_i64(count(db, "exec_id BETWEEN 1002 AND 1005 AND phase = 1 AND evidence = 1"), 4,
	       "forward: in a range of that name");
	is_i64(count(db, "exec_id BETWEEN 1006 AND 1007 AND phase = 2 AND evidence = 1"), 2,
	       "backward: the innermost range");
	is_i64(count(db, "exec_id >= 1000"), 6, "of the others nothing tells");
	is_i64(wt_phases_make(db), 0, "once more");
	is_i64(count(db, "1"), 206, "the same");
	sqlite3_close(db);
	return tap_done();
}

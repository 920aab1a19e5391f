/*
 * random_run_file.c - a random program (random_run.h) as a run file in memory, as wavetapd would have left it.
 * Single-threaded; what SQLite refuses ends the program.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/wt_db.h"
#include "schema/wt_rows.h"
#include "tests/unit/random_run_file.h"

static void must(int code, sqlite3 *db)
{
	if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
		return;
	printf("Bail out! %s\n", sqlite3_errmsg(db));
	exit(1);
}

/* Statements are kept: there are few of them and many rows. */
static void insert(sqlite3 *db, int which, const char *sql, const int64_t *values, int count)
{
	static sqlite3_stmt *statements[16];

	if (!statements[which])
		must(sqlite3_prepare_v2(db, sql, -1, &statements[which], NULL), db);
	for (int i = 0; i < count; i++)
		must(values[i] == INT64_MIN
		             ? sqlite3_bind_null(statements[which], i + 1)
		             : sqlite3_bind_int64(statements[which], i + 1, values[i]),
		     db);
	must(sqlite3_step(statements[which]), db);
	must(sqlite3_reset(statements[which]), db);
}
#define INSERT(which, sql, ...)                                                                    \
	insert(db, which, sql, (const int64_t[]){__VA_ARGS__},                                     \
	       (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

sqlite3 *rr_open(void)
{
	sqlite3 *db;

	must(sqlite3_open(":memory:", &db), db);
	must(sqlite3_exec(db, wt_schema_sql, NULL, NULL, NULL), db);
	must(wt_rows_attach(db, NULL, NULL), db);
	must(sqlite3_exec(db,
	                  "INSERT INTO api VALUES (1,'cuLaunchKernel',1),(20,'cuGraphLaunch',2),"
	                  "(40,'cuCtxSynchronize',4),(41,'cuStreamSynchronize',4),"
	                  "(46,'cuMemcpyHtoD_v2',4),(60,'cuStreamWaitEvent',5),"
	                  "(80,'cuMemAlloc_v2',7),(111,'cuModuleLoadData',8),"
	                  "(132,'cuGraphInstantiateWithFlags',8)",
	                  NULL, NULL, NULL),
	     db);
	for (int64_t i = 0; i < RR_NAMES; i++)
		INSERT(0,
		       "INSERT INTO kernel VALUES (?1 + 1, CASE WHEN ?1 >= ?2 THEN 'ncclDevKernel_'"
		       " ELSE 'kernel_' END || ?1)",
		       i, RR_NAMES - 2);
	return db;
}

/* As the CPU's clock tells it. */
int64_t rr_told(const struct random_run *run, int64_t t_ns)
{
	return t_ns + run->clock_shift_ns;
}

static void write_calls(sqlite3 *db, const struct random_run *run)
{
	static const int api_of[] = {
	        [RR_CALL_GRAPH] = 20,     [RR_CALL_SYNC_CONTEXT] = 40, [RR_CALL_SYNC_STREAM] = 41,
	        [RR_CALL_SYNC_COPY] = 46, [RR_CALL_DEPEND] = 60,       [RR_CALL_ALLOC] = 80,
	        [RR_CALL_MODULE] = 111,   [RR_CALL_BUILD] = 132};

	for (size_t i = 0; i < run->call_count; i++) {
		const struct rr_call *c = &run->calls[i];
		int64_t entry_ns = rr_told(run, c->entry_ns),
		        return_ns = rr_told(run, c->return_ns);

		if (c->kind == RR_CALL_LAUNCH)
			INSERT(1,
			       "INSERT INTO launch_call VALUES "
			       "(?,?,?,?,1,?5,?5,?,0,1,1,1,32,1,1,0,0,0)",
			       c->process + 1, c->seq, entry_ns, return_ns, c->thread,
			       (int64_t)c->stream);
		else
			INSERT(2,
			       "INSERT INTO api_call (process_id, api, seq, entry_ns, return_ns, "
			       "tid,"
			       " thread32, handle, other, bytes, result, flags)"
			       " VALUES (?,?,?,?,?,?6,?6,?,0,0,0,0)",
			       c->process + 1, api_of[c->kind],
			       c->kind == RR_CALL_GRAPH ? c->seq : INT64_MIN, entry_ns, return_ns,
			       c->thread, (int64_t)c->stream);
	}
}

static void write_kernels(sqlite3 *db, const struct random_run *run)
{
	for (size_t i = 0; i < run->kernel_count; i++) {
		const struct rr_kernel *k = &run->kernels[i];
		int64_t id = (int64_t)i + 1;
		int sms = run->sms[k->device];

		if (k->is_lost)
			continue;
		/* Some fields only make it a configuration of its own. */
		INSERT(3,
		       "INSERT INTO config VALUES (?1,?2,?3, ?4,?1,1, 32,1,1, 0,0,0, 32,0,0, 0,0, "
		       "?5, ?4,"
		       " NULL, ?6, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		       id, k->a.name + 1, k->device + 1, k->blocks, sms,
		       k->resident_blocks ? k->resident_blocks : INT64_MIN);
		INSERT(4,
		       "INSERT INTO config_stat VALUES (?1,?2,?3, 1,1,1,1,0, 0,0,0,0, ?4,?5, 0, "
		       "0,0,0,0,0,0)",
		       k->a.process + 1, id, k->is_node, k->a.start_ns, k->a.end_ns);
		INSERT(5, "INSERT INTO kernel_exec VALUES (?,?,?,?,?,1,3,1,?,1,?,1, 0,?,?)",
		       (int64_t)k->order, k->a.process + 1, id, k->a.start_ns, k->a.end_ns,
		       k->is_node ? 1 : INT64_MIN, run->calls[k->call].seq,
		       k->a.is_judged ? k->a.wave_sm_ns : INT64_MIN,
		       k->a.is_judged ? k->a.wave_max_sm_ns : INT64_MIN);
	}
}

/* By process, as the daemon keeps it: the first launch or activity that it saw. Calls are told shift_ns later. */
void rr_first(const struct random_run *run, int64_t shift_ns, int64_t first_ns[RR_PROCESSES_MAX])
{
	for (int i = 0; i < RR_PROCESSES_MAX; i++)
		first_ns[i] = INT64_MAX;
#define EARLIER(process, t)                                                                        \
	do {                                                                                       \
		if ((t) < first_ns[process])                                                       \
			first_ns[process] = (t);                                                   \
	} while (0)
	for (size_t i = 0; i < run->call_count; i++)
		if (run->calls[i].launch)
			EARLIER(run->calls[i].process, run->calls[i].entry_ns + shift_ns);
	for (size_t i = 0; i < run->kernel_count; i++)
		if (!run->kernels[i].is_lost)
			EARLIER(run->kernels[i].a.process, run->kernels[i].a.start_ns);
	for (size_t i = 0; i < run->copy_count; i++)
		EARLIER(run->copies[i].process, run->copies[i].start_ns);
#undef EARLIER
}

void rr_write(sqlite3 *db, const struct random_run *run, const int64_t first_ns[RR_PROCESSES_MAX])
{
	must(sqlite3_exec(
	             db,
	             "BEGIN; DELETE FROM proc; DELETE FROM gpu; DELETE FROM config; DELETE FROM "
	             "config_stat; DELETE FROM kernel_exec; DELETE FROM launch_call;"
	             " DELETE FROM api_call; DELETE FROM copy; DELETE FROM overhead; DELETE FROM "
	             "context;"
	             " DELETE FROM clock",
	             NULL, NULL, NULL),
	     db);
	for (int i = 0; i < run->process_count; i++)
		INSERT(6,
		       "INSERT INTO proc (process_id, uuid, pid, pid_namespace, ppid, start_ticks, "
		       "uid,"
		       " hostname, boot_id, executable, command, created_ns, armed_ns, first_ns, "
		       "state,"
		       " capture, reason, reason_detail, library_version, kernels_dropped_cupti)"
		       " VALUES (?1, CAST(?1 AS BLOB), ?1, 1, 1, 1, 0, 'h', 'b', 'a', 'a', 1, ?2, "
		       "?3,"
		       " 'finished', 2, 0, 0, '0', ?4)",
		       i + 1, run->armed_ns[i], first_ns[i] == INT64_MAX ? INT64_MIN : first_ns[i],
		       run->has_losses);
	for (int i = 0; i < run->device_count; i++)
		INSERT(7,
		       "INSERT INTO gpu VALUES (?1, CAST(?1 AS BLOB), 'G', 9, 0, ?2, 32, 2048, 32, "
		       "1024,"
		       " 65536, 65536, 233472, 49152, 232448, 1024, 0, 0, 0, 0, 0, 13000, '0')",
		       i + 1, run->sms[i]);
	for (int i = 0; i < run->stream_count; i++)
		INSERT(11, "INSERT OR IGNORE INTO context VALUES (?,?,?,NULL,NULL,0)",
		       run->streams[i].process + 1, run->streams[i].device + 1,
		       run->streams[i].device + 1);
	write_calls(db, run);
	write_kernels(db, run);
	for (size_t i = 0; i < run->copy_count; i++)
		INSERT(8,
		       "INSERT INTO copy (process_id, device_id, start_ns, end_ns, bytes, "
		       "is_memset,"
		       " copy_kind, src_kind, dst_kind, flags, context_id, stream_id, "
		       "correlation_id)"
		       " VALUES (?,?,?,?,1,0,1,1,2,0,1,3,1)",
		       run->copies[i].process + 1, run->copies[i].device + 1,
		       run->copies[i].start_ns, run->copies[i].end_ns);
	for (size_t i = 0; i < run->overhead_count; i++)
		INSERT(9,
		       "INSERT INTO overhead (process_id, type, start_ns, end_ns, thread32)"
		       " VALUES (?,?,?,?,?)",
		       run->overheads[i].process + 1, run->overheads[i].type,
		       rr_told(run, run->overheads[i].start_ns),
		       rr_told(run, run->overheads[i].end_ns), run->overheads[i].thread);
	INSERT(10,
	       "INSERT INTO clock (process_id, realtime_ns, monotonic_ns, boot_ns, bracket_ns)"
	       " VALUES (1, 1, 1, 1, ?)",
	       run->clock_error_ns);
	must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), db);
}

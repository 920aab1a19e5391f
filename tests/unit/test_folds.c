/*
 * test_folds.c - the recorded run of tests/data/fold through the real daemon: its kernels by one segment,
 * its samples by another, and what the run file says was measured, against truth.
 *
 *   1. live, and the daemon killed again and again: as the truth says; recordings of both, imported, give
 *      the same rows
 *   2. launches under the profiler: the SM clock from the counters' time, and active SMs
 *   3. analyze changes nothing; check finds it sound
 *   4. raw samples beyond WAVETAP_SAMPLE_KEEP go, what was measured stays
 *   5. somebody else's kernels: nothing is attributed, and why
 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "schema/wt_rows.h"
#include "tests/tap.h"
#include "tests/unit/fold_data.h"
#include "tests/unit/synth.h"

#define SMS 132
#define PROFILED_EVERY 500
#define CLOCK 1.755 /* SM cycles per ns, invented */
#define LONGER_NS 4321 /* that counters run longer than kernels, invented */

static char folder[512], file[1024];
static struct fold_data data;

static int64_t query(const char *sql)
{
	return synth_query(file, sql);
}

static double query_real(const char *sql)
{
	sqlite3_stmt *row = NULL;
	double value = NAN;
	sqlite3 *db = NULL;

	sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL);
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW && sqlite3_column_type(row, 0) != SQLITE_NULL)
		value = sqlite3_column_double(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return value;
}

/* ---- producers */

static void wait_for_room(struct synth *s, int ring, uint64_t cells)
{
	while (wt_load_relaxed(&s->ring[ring].control->tail) - wt_load_relaxed(s->ring[ring].head) +
	               cells >
	       s->ring[ring].mask)
		usleep(500);
}

static void put_profile(struct synth *s, uint64_t seq, const struct wt_fold_kernel *kernel)
{
	double d = (double)(kernel->end_ns - kernel->start_ns);
	struct wt_profile profile = {
	        .launch_seq = seq,
	        .start_ns = (uint64_t)kernel->start_ns - 100000,
	        .end_ns = (uint64_t)kernel->end_ns + 100000,
	        .active_sum = CLOCK * d * (10 + kernel->config),
	        .active_max = CLOCK * d,
	        .elapsed = CLOCK * (d + LONGER_NS),
	        .warps = CLOCK * d * 3,
	        .tensor = CLOCK * d * 0.25,
	        .dram_bytes = -1,
	        .sm_count = SMS,
	        .passes = 1,
	};

	wt_add_relaxed(&s->producer->profiled_launches, 1);
	wt_ring_put(&s->ring[WT_RING_ACTIVITY], WT_KIND_PROFILE, 1, &profile, sizeof(profile));
}

/* All kernels of the data, or every `step`-th: a grid for each configuration. */
static void produce_kernels(size_t step, const char *record_dir)
{
	struct synth_options options = {.cells = {16384, 32768}, .record_dir = record_dir};
	struct synth s;
	uint64_t seq = 0;
	uint32_t name;

	if (synth_create(&s, &options))
		_exit(1);
	s.header->created_realtime_ns = (uint64_t)data.kernels[0].start_ns;
	name = synth_name(&s, "spin");
	for (size_t i = 0; i < data.kernel_count; i += step) {
		const struct wt_fold_kernel *kernel = &data.kernels[i];
		struct synth_launch launch = {
		        .grid = (uint32_t)atoi(data.configs[kernel->config]),
		        .block = 1024,
		        .name_id = name,
		        .thread32 = 7,
		        .entry_ns = (uint64_t)kernel->start_ns - 5000,
		        .duration_ns = (uint64_t)(kernel->end_ns - kernel->start_ns),
		};

		wait_for_room(&s, 0, 8);
		wait_for_room(&s, 1, 8);
		synth_run(&s, &launch);
		seq++;
		if (i % PROFILED_EVERY)
			continue;
		launch.entry_ns += 1000; /* another one like it; CUPTI gives it no times */
		launch.flags = WT_FLAG_PROFILED;
		launch.without_time = true;
		synth_run(&s, &launch);
		put_profile(&s, seq++, kernel);
	}
	wt_store_relaxed(&s.producer->profile_state, WT_PROFILE_DONE);
	synth_finish(&s);
}

static void produce_samples(const char *record_dir)
{
	struct synth_options options = {
	        .producer = WT_PRODUCER_SAMPLER, .cells = {2, 4096}, .record_dir = record_dir};
	struct wt_sample samples[2];
	struct synth s;

	if (synth_create(&s, &options))
		_exit(1);
	wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_SAMPLING);
	for (size_t i = 0; i + 1 < data.sample_count; i += 2) {
		for (size_t j = 0; j < 2; j++) {
			const struct wt_fold_sample *from = &data.samples[i + j];
			double ns = (double)(from->end_ns - from->start_ns);
			uint32_t elapsed = (uint32_t)lround(from->mean[WT_FOLD_CLOCK] * ns);

			samples[j] = (struct wt_sample){
			        .start_ns = (uint64_t)from->start_ns,
			        .duration_ns = (uint32_t)ns,
			        .elapsed_cycles = elapsed,
			        .active_avg = (float)(from->mean[WT_FOLD_ACTIVE] / SMS * elapsed),
			        .active_max = (float)elapsed,
			        .warps = WT_SAMPLE_UNKNOWN,
			        .tensor = WT_SAMPLE_UNKNOWN,
			        .dram_read_bytes = WT_SAMPLE_UNKNOWN,
			        .dram_write_bytes = WT_SAMPLE_UNKNOWN,
			};
		}
		wait_for_room(&s, 1, 2);
		synth_samples(&s, samples, 2);
	}
	wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_ENDED);
	synth_finish(&s);
}

static char records[600]; /* "" = no recordings */

static pid_t start(bool is_sampler, size_t step)
{
	const char *record_dir = records[0] ? records : NULL;
	pid_t pid = fork();

	if (pid == 0) {
		if (is_sampler)
			produce_samples(record_dir);
		else
			produce_kernels(step, record_dir);
		_exit(0);
	}
	return pid;
}

/* A program and its sampler, beside the daemon, which is killed now and then if asked. */
static void record(size_t step, bool is_killed, bool is_recorded)
{
	pid_t pids[2], daemon = -1;
	int kills = 0, status;

	synth_folder(folder);
	records[0] = '\0';
	if (is_recorded)
		snprintf(records, sizeof(records), "%s/records", folder);
	pids[0] = start(false, step);
	pids[1] = start(true, 0);
	for (int i = 0; i < 2; i++) {
		while (waitpid(pids[i], &status, WNOHANG) == 0) {
			if (daemon < 0)
				daemon = synth_daemon(folder, "20");
			/* Longer and longer: a slow machine must get somewhere in between. */
			usleep((useconds_t)(30000 + 17000 * (kills % 5) + 10000 * kills));
			if (!is_killed)
				continue;
			kill(daemon, SIGKILL);
			waitpid(daemon, NULL, 0);
			daemon = -1;
			kills++;
		}
		ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a producer ends");
	}
	if (daemon >= 0) {
		kill(daemon, SIGTERM);
		waitpid(daemon, NULL, 0);
	}
	is_i64(synth_daemon_wait(synth_daemon(folder, "0.2")), 0, "the daemon ends");
	ok(synth_run_file(folder, file), "one run file, after %d kills", kills);
	is_i64(synth_segments_left(folder), 0, "no segment is left");
}

/* ---- what came of it */

static void check_truth(const char *what)
{
	const char *top = getenv("top_srcdir");
	double worst = 0, truth_us;
	char path[1024], line[256], sql[300];
	int grid, found = 0;
	FILE *csv;

	snprintf(path, sizeof(path), "%s/tests/data/fold/mix50us-truth.csv", top ? top : ".");
	csv = fopen(path, "r");
	while (csv && fgets(line, sizeof(line), csv)) {
		double active_us;

		if (sscanf(line, "%d,%*d,%*d,%*d,%*d,%*f,%lf", &grid, &truth_us) != 2)
			continue;
		snprintf(sql, sizeof(sql),
		         "SELECT active_sms * time_ns / launches / 1e3 FROM measured JOIN config "
		         "USING (config_id) WHERE grid_x = %d AND evidence = 'sampled'",
		         grid);
		active_us = query_real(sql);
		found += isfinite(active_us);
		worst = fmax(worst, fabs(active_us / truth_us - 1));
	}
	if (csv)
		fclose(csv);
	is_i64(found, 12, "every configuration is measured");
	ok(worst < 0.025, "%s: within %.1f %% of truth", what, 100 * worst);
}

static void check_rows(void)
{
	is_i64(query("SELECT count(*) FROM fold WHERE reason IS NULL AND residual < 0.02 AND "
	             "abs(offset_ns) < 60000 AND offset_error_ns < 1000 AND samples_used > 10000"),
	       1, "the fold explains its samples");
	is_i64(query("SELECT count(*) FROM fold WHERE explained_sm_ns BETWEEN 0.97 * active_sm_ns "
	             "AND 1.03 * active_sm_ns"),
	       1, "and all their active SM-time");
	is_i64(query("SELECT count(*) FROM measured WHERE reason IS NULL AND abs(active_sms + "
	             "underfill_sms + wave_sms + straggle_sms + ramp_sms - 132) > 1e-6"),
	       0, "rates sum to the SMs");
	is_i64(query("SELECT count(*) FROM (SELECT config_id FROM measured GROUP BY 1 HAVING "
	             "sum(is_used) > 1)"),
	       0, "one evidence stands at most");
	is_i64(query("SELECT count(*) FROM (SELECT m.config_id, avg(p.active_sms) AS mean, "
	             "min(m.active_sms) AS said FROM measured m JOIN measured_profile p USING "
	             "(config_id) WHERE evidence = 'sampled' GROUP BY 1) WHERE abs(mean - said) > "
	             "0.02 * said + 0.5"),
	       0, "profiles have the mean that is said");
	is_i64(query("SELECT count(DISTINCT config_id) FROM measured_profile"), 12,
	       "each configuration has a profile");
}

static void check_profiled(void)
{
	is_i64(query("SELECT count(*) FROM profile_launch"),
	       (int64_t)(data.kernel_count + PROFILED_EVERY - 1) / PROFILED_EVERY,
	       "profiled launches");
	is_i64(query("SELECT sum(launches) FROM measured WHERE evidence = 'profiled'"),
	       query("SELECT count(*) FROM profile_launch"), "all find their kernels");
	is_i64(query("SELECT count(*) FROM measured JOIN config USING (config_id) WHERE evidence = "
	             "'profiled' AND (abs(sm_clock_mhz - 1755) > 18 OR abs(warps_per_sm - 3) > "
	             "0.3 "
	             "OR abs(tensor_share - 0.25) > 0.025 OR dram_bytes_per_ns IS NOT NULL OR "
	             "active_error_sms < 0.0029 * active_sms)"),
	       0, "the clock is found in spite of the counters' longer time");
	for (size_t i = 0; i < data.config_count; i++) {
		char sql[300];
		double active, error;

		snprintf(sql, sizeof(sql),
		         "SELECT active_sms FROM measured JOIN config USING (config_id) WHERE "
		         "grid_x = %s AND evidence = 'profiled'",
		         data.configs[i]);
		active = query_real(sql);
		snprintf(
		        sql, sizeof(sql),
		        "SELECT active_error_sms FROM measured JOIN config USING (config_id) WHERE "
		        "grid_x = %s AND evidence = 'profiled'",
		        data.configs[i]);
		error = query_real(sql);
		is_near(active, 10 + (double)i, error, "active SMs of a profiled one");
		ok(error < 0.12 * active, "of an error that leaves something to say");
	}
}

/* A command of wavetap on the run file; its exit status. */
static int wavetap(const char *arguments, const char *output)
{
	const char *build = getenv("top_builddir");
	char command[3000];
	int status;

	snprintf(command, sizeof(command), "%s/wavetap %s >%s/%s 2>&1", build ? build : ".",
	         arguments, folder, output);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* All its kernels, packed or not, into table `name` of a file. */
static void copy_kernels(const char *from, const char *to, const char *name)
{
	char sql[900];
	sqlite3 *db = NULL;

	sqlite3_open(from, &db);
	wt_rows_attach(db, NULL, NULL);
	snprintf(sql, sizeof(sql),
	         "ATTACH '%s' AS copied; CREATE TABLE copied.%s AS SELECT * FROM kernel_row", to,
	         name);
	is_i64(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "kernels are read");
	sqlite3_close(db);
}

/* Kernels that are in one of two files alone. */
static int64_t differing_kernels(const char *other)
{
	char path[600];
	int64_t count;

	snprintf(path, sizeof(path), "%s/kernels", folder);
	copy_kernels(file, path, "a");
	copy_kernels(other, path, "b");
	count = synth_query(path,
	                    "SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM "
	                    "b)) + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM "
	                    "a)) + 1000000 * ((SELECT count(*) FROM a) = 0)");
	unlink(path);
	return count;
}

/* Rows of a table that are in one of two files alone. */
static int64_t differing(const char *other, const char *table)
{
	char sql[1500];
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	int64_t count = -1;

	sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS other", other);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	snprintf(sql, sizeof(sql),
	         "SELECT (SELECT count(*) FROM (SELECT * FROM main.%s EXCEPT SELECT * FROM "
	         "other.%s)) + (SELECT count(*) FROM (SELECT * FROM other.%s EXCEPT SELECT * FROM "
	         "main.%s)) + 1000000 * ((SELECT count(*) FROM main.%s) = 0)",
	         table, table, table, table, table);
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW)
		count = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return count;
}

/* Live and killed: the recordings of program and sampler give the same file. */
static void check_import(void)
{
	static const char *const tables[] = {"sampler",        "sample_chunk", "sm_bucket",
	                                     "fold",           "measured",     "measured_profile",
	                                     "profile_launch", "profile_count"};
	char command[1300], imported[600];

	snprintf(imported, sizeof(imported), "%s/imported.db", folder);
	snprintf(command, sizeof(command), "import -o %s %s/*.wtrec", imported, records);
	is_i64(wavetap(command, "import.out"), 0, "both recordings are imported");
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		is_i64(differing(imported, tables[i]), 0, tables[i]);
	is_i64(differing_kernels(imported), 0, "kernel_exec");
}

/* A fault planted into a copy is found. */
static void check_finds(const char *fault, const char *words)
{
	char path[600], command[2000];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/fault.db", folder);
	snprintf(command, sizeof(command), "cp %s %s", file, path);
	if (system(command) || sqlite3_open(path, &db))
		return;
	ok(sqlite3_exec(db, fault, NULL, NULL, NULL) == SQLITE_OK, "a fault: %s", fault);
	sqlite3_close(db);
	snprintf(command, sizeof(command), "check %s", path);
	is_i64(wavetap(command, "fault.out"), 1, "is a problem");
	snprintf(command, sizeof(command), "tr -s ' \n' ' ' <%s/fault.out | grep -qF \"%s\"",
	         folder, words);
	ok(system(command) == 0, "with the words: %s", words);
}

static void test_plain(void)
{
	char command[1200];

	record(1, false, true);
	check_import();
	check_truth("live");
	check_rows();
	check_profiled();
	is_i64(query("SELECT sum(samples) FROM sample_chunk"),
	       query("SELECT samples_taken FROM sampler"), "every sample is kept");
	snprintf(command, sizeof(command), "check %s", file);
	is_i64(wavetap(command, "check.out"), 0, "check finds it sound");
	check_finds("UPDATE sm_bucket SET active_avg = active_avg + 0.001 WHERE "
	            "start_ns = (SELECT max(start_ns) FROM sm_bucket)",
	            "is not what its samples sum to");
	check_finds("DELETE FROM sm_bucket WHERE start_ns = (SELECT max(start_ns) FROM sm_bucket)",
	            "is not what its samples sum to");
	check_finds("UPDATE sample_chunk SET samples = samples + 1 WHERE chunk_id = 2",
	            "has not the samples and times that it tells");
	check_finds("UPDATE sample_chunk SET data = substr(data, 1, 100) WHERE chunk_id = 1",
	            "can't be read");
	check_finds("DELETE FROM sample_chunk WHERE chunk_id = 1", "counted as stored differ");
	check_finds("UPDATE sampler SET samples_taken = samples_taken + 1", "without a reason");
	check_finds("UPDATE measured SET active_sms = active_sms + 1 WHERE config_id = 1",
	            "does not sum to the SMs");
	check_finds("DELETE FROM profile_launch WHERE launch_seq = 1", "profiled launches counted");
	snprintf(command, sizeof(command), "analyze -r %s --csv", file);
	is_i64(wavetap(command, "analyze.out"), 0, "analyze");
	snprintf(command, sizeof(command), "%s/analyze.out", folder);
	{
		FILE *csv = fopen(command, "r");
		char line[256];
		int rows = -1, changed = -1;

		while (csv && fgets(line, sizeof(line), csv))
			sscanf(line, "measured,%d,%d", &rows, &changed);
		if (csv)
			fclose(csv);
		is_i64(rows, query("SELECT count(*) FROM measured"), "has what was measured");
		is_i64(changed, 0, "and changes nothing of it");
	}
	synth_folder_remove(folder);
}

static void test_killed(void)
{
	record(1, true, true);
	check_import();
	check_truth("killed");
	check_rows();
	is_i64(query("SELECT sum(samples) FROM sample_chunk"),
	       query("SELECT samples_taken FROM sampler"), "no sample is lost");
	synth_folder_remove(folder);
}

static void test_keep(void)
{
	setenv("WAVETAP_SAMPLE_KEEP", "30KiB", 1);
	record(1, false, false);
	unsetenv("WAVETAP_SAMPLE_KEEP");
	check_truth("with few raw samples");
	ok(query("SELECT sum(length(data)) <= 30720 FROM sample_chunk") != 0, "few bytes are kept");
	ok(query("SELECT count(*) FROM meta WHERE key = 'samples_removed'") == 1, "that is told");
	is_i64(query("SELECT ifnull(sum(samples), 0) + (SELECT CAST(value AS INTEGER) FROM meta "
	             "WHERE "
	             "key = 'samples_removed') FROM sample_chunk"),
	       query("SELECT samples_stored FROM sampler"), "stored = kept + removed");
	synth_folder_remove(folder);
	setenv("WAVETAP_SAMPLE_KEEP", "0", 1);
	record(1, false, false);
	unsetenv("WAVETAP_SAMPLE_KEEP");
	check_truth("with no raw samples");
	is_i64(query("SELECT count(*) FROM sample_chunk"), 0, "0 keeps none");
	synth_folder_remove(folder);
}

static void test_foreign(void)
{
	record(2, false, false); /* every other kernel is somebody else's */
	is_i64(query("SELECT count(*) FROM fold WHERE reason IS NOT NULL"), 1, "the fold says why");
	is_i64(query("SELECT count(*) FROM measured WHERE evidence = 'sampled'"), 0,
	       "nothing is attributed");
	is_i64(query("SELECT count(*) > 0 FROM sm_bucket"), 1, "the device's activity is there");
	synth_folder_remove(folder);
}

int main(void)
{
	fold_data_read(&data, "mix50us");
	test_plain();
	test_killed();
	test_keep();
	test_foreign();
	fold_data_free(&data);
	return tap_done();
}

/*
 * test_bad_input.c - records that can't be: what CUPTI, a driver or a damaged segment might hand over. Each is
 * counted and shown, none is ranked, and every command reads the run to its end.
 *
 * A synthetic producer writes them among good ones; wavetapd stores them, wavetap reads. Needs top_builddir.
 */
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/synth.h"

#define GOOD 50

static char folder[512], file[1024];

static void put(struct synth *s, const struct wt_kernel *kernel)
{
	wt_add_relaxed(&s->producer->kernels_seen, 1);
	wt_ring_put(&s->ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, kernel, sizeof(*kernel));
}

/* A launch with its link, and this kernel in place of the one that belongs there. */
static void put_linked(struct synth *s, struct wt_kernel kernel)
{
	kernel.correlation_id =
	        synth_run(s, &(struct synth_launch){.thread32 = 1, .without_kernel = true});
	put(s, &kernel);
}

static struct wt_kernel usual(struct synth *s, const char *name)
{
	uint64_t now_ns = synth_now_ns();

	return (struct wt_kernel){.start_ns = now_ns,
	                          .end_ns = now_ns + 10000,
	                          .context_id = 1,
	                          .stream_id = 7,
	                          .name_id = synth_name(s, name),
	                          .grid = {1000, 1, 1},
	                          .block = {256, 1, 1},
	                          .regs_per_thread = 32};
}

static void put_times(struct synth *s)
{
	struct wt_kernel kernel = usual(s, "bad_time");
	const uint64_t now_ns = kernel.start_ns;
	const uint64_t times[][2] = {{0, 0},
	                             {0, now_ns},
	                             {now_ns, 0},
	                             {now_ns, now_ns - 1},
	                             {now_ns, UINT64_MAX},
	                             {now_ns, (uint64_t)INT64_MAX / 2},
	                             {(uint64_t)INT64_MAX / 2 - 5, (uint64_t)INT64_MAX / 2},
	                             {UINT64_MAX - 1, UINT64_MAX},
	                             {(uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1}};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		kernel.start_ns = times[i][0];
		kernel.end_ns = times[i][1];
		put_linked(s, kernel);
	}
	kernel = usual(s, "no_duration");
	kernel.end_ns = kernel.start_ns;
	put_linked(s, kernel);
}

static void put_grids(struct synth *s)
{
	struct wt_kernel kernel = usual(s, "vast_grid");

	memcpy(kernel.grid, (const uint32_t[3]){2147483647, 65535, 65535}, sizeof(kernel.grid));
	put_linked(s, kernel);
	kernel = usual(s, "impossible_grid");
	memset(kernel.grid, 0xff, sizeof(kernel.grid));
	put_linked(s, kernel);
	kernel = usual(s, "no_blocks");
	kernel.grid[1] = 0;
	put_linked(s, kernel);
	kernel = usual(s, "no_threads");
	kernel.block[0] = 0;
	put_linked(s, kernel);
	kernel = usual(s, "no_fit");
	kernel.regs_per_thread = UINT16_MAX;
	kernel.static_smem_bytes = kernel.dynamic_smem_bytes = UINT32_MAX;
	put_linked(s, kernel);
	kernel = usual(s, "odd_cluster");
	memset(kernel.cluster, 0xff, sizeof(kernel.cluster));
	kernel.max_active_clusters = UINT32_MAX;
	put_linked(s, kernel);
	kernel = usual(s, "odd_type");
	kernel.launch_type = 99;
	put_linked(s, kernel);
	kernel = usual(s, "no_such_device");
	kernel.device = 77;
	put_linked(s, kernel);
	kernel = usual(s, "no_name");
	kernel.name_id = 0x7fffffff;
	put_linked(s, kernel);
}

static void put_copies(struct synth *s)
{
	uint64_t now_ns = synth_now_ns();
	struct wt_copy copies[] = {{.start_ns = now_ns, .end_ns = now_ns - 5, .bytes = 1},
	                           {.start_ns = 0, .end_ns = 0, .bytes = UINT64_MAX},
	                           {.start_ns = now_ns, .end_ns = now_ns, .bytes = 0},
	                           {.start_ns = now_ns, .end_ns = UINT64_MAX, .bytes = 1},
	                           {.start_ns = now_ns, .end_ns = INT64_MAX / 2, .bytes = 1},
	                           {.start_ns = now_ns, .end_ns = now_ns + 1000, .device = 99}};

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		wt_ring_put(&s->ring[WT_RING_ACTIVITY], WT_KIND_COPY, 1, &copies[i],
		            sizeof(copies[i]));
}

static void put_calls(struct synth *s)
{
	uint64_t now_ns = synth_now_ns();
	struct wt_call calls[] = {
	        {.entry_ns = now_ns, .return_ns = now_ns - 100, .api = 40, .thread32 = 1},
	        {.entry_ns = 0, .return_ns = 0, .api = 80, .thread32 = 1},
	        {.entry_ns = UINT64_MAX, .return_ns = UINT64_MAX, .api = 111, .thread32 = 1},
	        {.entry_ns = now_ns, .return_ns = now_ns, .api = 65000, .thread32 = 1}};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		wt_ring_put(&s->ring[WT_RING_CALLS], WT_KIND_CALL, 1, &calls[i], sizeof(calls[i]));
}

static void produce(bool has_limits)
{
	struct synth_options options = {.run_name = "bad"};
	struct synth s;
	struct wt_kernel kernel;

	if (synth_create(&s, &options))
		_exit(1);
	if (!has_limits) {
		struct wt_device *device = &s.producer->device[0];

		device->cc_major = 42; /* allocation units that nobody knows */
		device->max_threads_per_sm = device->regs_per_sm = device->smem_per_sm_bytes = 0;
	}
	for (int i = 0; i < GOOD; i++)
		synth_run(&s, &(struct synth_launch){.thread32 = 1,
		                                     .grid = 77,
		                                     .name_id = synth_name(&s, "good")});
	put_times(&s);
	put_grids(&s);
	put_copies(&s);
	put_calls(&s);
	kernel = usual(&s, "no_call");
	kernel.correlation_id = 0x7fffffff;
	put(&s, &kernel);
	synth_run(&s, &(struct synth_launch){.thread32 = 2, .without_kernel = true});
	synth_finish(&s);
	_exit(0);
}

static void record(bool has_limits)
{
	pid_t daemon, child;

	synth_folder(folder);
	daemon = synth_daemon(folder, "0.3");
	child = fork();
	if (!child)
		produce(has_limits);
	waitpid(child, NULL, 0);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
}

static int64_t query(const char *sql)
{
	return synth_query(file, sql);
}

/* Its exit code; -1: it was killed. Its output is in <folder>/out. */
static int wavetap(const char *words)
{
	char command[4096];
	int status;

	snprintf(command, sizeof(command), "'%s/wavetap' %s >'%s/out' 2>'%s/err'",
	         getenv("top_builddir"), words, folder, folder);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What json_extract finds in the output. */
static int64_t in_json(const char *path)
{
	char sql[512], text[65536];
	char name[600];
	size_t bytes;
	FILE *out;
	sqlite3 *db;
	sqlite3_stmt *s;
	int64_t value = INT64_MIN;

	snprintf(name, sizeof(name), "%s/out", folder);
	out = fopen(name, "r");
	bytes = out ? fread(text, 1, sizeof(text) - 1, out) : 0;
	text[bytes] = 0;
	if (out)
		fclose(out);
	snprintf(sql, sizeof(sql), "SELECT %s", path);
	if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
		if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_INTEGER)
			value = sqlite3_column_int64(s, 0);
		sqlite3_finalize(s);
	}
	sqlite3_close(db);
	return value;
}

static void test_commands(void)
{
	static const char *const commands[] = {"top",
	                                       "top --limit 0 --json",
	                                       "top --group config --limit 0",
	                                       "ledger",
	                                       "ledger --json",
	                                       "gaps",
	                                       "gaps --by kernel --json --limit 0",
	                                       "timeline",
	                                       "timeline --json",
	                                       "steps",
	                                       "copies",
	                                       "copies --json",
	                                       "diagnose",
	                                       "diagnose --json",
	                                       "show good",
	                                       "show vast_grid",
	                                       "show vast_grid --json",
	                                       "show no_blocks",
	                                       "show no_duration",
	                                       "show bad_time",
	                                       "show no_fit",
	                                       "check",
	                                       "runs",
	                                       "ledger --from 1us --to -1us --json"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char words[2048];
		int code;

		snprintf(words, sizeof(words), "%s%s%s%s", commands[i],
		         strcmp(commands[i], "runs") != 0 ? " -r '" : "",
		         strcmp(commands[i], "runs") != 0 ? file : "",
		         strcmp(commands[i], "runs") != 0 ? "'" : "");
		if (!strncmp(commands[i], "check", 5))
			snprintf(words, sizeof(words), "check '%s'", file);
		code = wavetap(words);
		/* check says what it found, by 1 */
		ok(code == 0 || code == 3 || (code == 1 && !strncmp(commands[i], "check", 5)),
		   "wavetap %s: exit code %d", commands[i], code);
	}
}

static void test_shown(void)
{
	char words[1200];

	snprintf(words, sizeof(words), "ledger --json -r '%s'", file);
	wavetap(words);
	is_i64(in_json("json_extract(?1, '$.devices[0].residual_sm_ns')"), 0, "the ledger sums");
	is_i64(in_json("json_array_length(?1, '$.devices')"), 1,
	       "a device of unknown size is left out");
	is_i64(in_json("json_extract(?1, '$.kernels_without_sms')"), 1, "and its kernel counted");
	is_i64(in_json("json_extract(?1, '$.devices[0].kernels_refused')"), 1,
	       "the kernel without duration is left out, and counted");
	is_i64(in_json("json_extract(?1, '$.loss.kernels_no_time')"), 9,
	       "those without a time are told");
	snprintf(words, sizeof(words), "top --json --limit 0 -r '%s'", file);
	wavetap(words);
	is_i64(in_json("(SELECT count(*) FROM json_each(?1, '$.rows') WHERE value ->> 'kernel' = "
	               "'bad_time')"),
	       0, "a kernel without a time is not ranked");
	is_i64(in_json("(SELECT total(value ->> 'idle_sm_ns') = 0 AND count(*) = 2 FROM "
	               "json_each(?1, '$.rows')"
	               " WHERE value ->> 'kernel' IN ('no_blocks', 'impossible_grid'))"),
	       1, "a grid that can't be: shown, without idle time");
}

static void test_with_limits(void)
{
	record(true);
	is_i64(query("SELECT kernels_no_time FROM loss"), 9, "times that can't be");
	is_i64(query("SELECT kernels_cupti_only FROM loss"), 1, "a kernel without a call");
	is_i64(query("SELECT launches_unlinked + launches_in_flight FROM loss"), 1,
	       "a launch without a kernel");
	is_i64(query("SELECT launches_attempted = launches_stored AND launches_stored ="
	             " launches_linked + launches_unlinked + launches_in_flight FROM loss"),
	       1, "the books balance");
	is_i64(query("SELECT blocks = 2147483647 * 65535 * 65535 AND underfill_sm_ns = 0 AND"
	             " wave_sm_ns >= 0 AND wave_max_sm_ns <= 132 * 10000 FROM config JOIN "
	             "kernel_exec"
	             " USING (config_id) JOIN kernel USING (kernel_id) WHERE name = 'vast_grid'"),
	       1, "2^31 x 65535 x 65535 blocks are judged");
	is_i64(query("SELECT count(*) FROM config JOIN kernel USING (kernel_id) WHERE name IN"
	             " ('no_blocks', 'impossible_grid', 'no_fit') AND waves IS NULL"
	             " AND model_reason IS NOT NULL"),
	       3, "what can't be is not judged, and why is said");
	/* Of each by itself; where they overlap, their shares are others. */
	is_i64(query("SELECT count(*) FROM kernel_exec e JOIN config USING (config_id) JOIN kernel "
	             "k"
	             " USING (kernel_id) WHERE name = 'good' AND end_ns - start_ns = 10000"
	             " AND e.underfill_sm_ns = 10000 * (132 - 77)"),
	       GOOD, "the good ones are as ever");
	test_shown();
	test_commands();
	synth_folder_remove(folder);
}

static void test_without_limits(void)
{
	record(false);
	is_i64(query("SELECT count(*) FROM config WHERE blocks_per_sm IS NOT NULL"), 0,
	       "limits unknown: no occupancy");
	is_i64(query("SELECT count(*) > 0 FROM config WHERE model_reason IS NOT NULL"), 1,
	       "and why");
	is_i64(query("SELECT count(*) FROM kernel_exec e JOIN config USING (config_id) JOIN kernel "
	             "k"
	             " USING (kernel_id) WHERE name = 'good' AND end_ns - start_ns = 10000"
	             " AND e.underfill_sm_ns = 10000 * (132 - 77)"),
	       GOOD, "underfill needs no limit");
	test_commands();
	synth_folder_remove(folder);
}

int main(void)
{
	test_with_limits();
	test_without_limits();
	return tap_done();
}

/*
 * test_sampled.c - synthetic samplers, the real daemon, and what the run file says.
 *
 *   1. samples come back bit for bit; buckets are what a second sum gives; a sampler is no process
 *   2. the daemon killed again and again: no sample lost, none twice
 *   3. samples that can't be, cells torn, no device
 *   4. launches under the profiler
 *   5. no room for the run file for a while
 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "schema/wt_samples.h"
#include "tests/tap.h"
#include "tests/unit/synth.h"

#define INTERVAL_NS 50000
#define SMS 132
#define FIRST_NS UINT64_C(1795956192521816674)

static char folder[512], file[1024];

static int64_t query(const char *sql)
{
	return synth_query(file, sql);
}

/* The i-th sample: every value follows from its number. Each 1,000th one comes after a hole. */
static struct wt_sample sample_of(uint64_t i)
{
	uint32_t elapsed = 90000 + (uint32_t)(i * 7919 % 9000);
	uint32_t sum = i % 7 ? (uint32_t)(i * 2654435761u % (SMS * 80000u)) : 0;
	bool has_extremes = i % 4 == 0; /* they cost: a sampler asks now and then */

	return (struct wt_sample){
	        .start_ns = FIRST_NS + i * INTERVAL_NS + i / 1000 * 300000,
	        .duration_ns = INTERVAL_NS,
	        .elapsed_cycles = elapsed,
	        .active_avg = (float)(sum / (double)SMS),
	        .active_min = has_extremes ? (float)(sum / SMS / 2) : WT_SAMPLE_UNKNOWN,
	        .active_max = has_extremes ? (float)elapsed : WT_SAMPLE_UNKNOWN,
	        .warps = (float)(8.0 * sum / (double)SMS),
	        .tensor = i % 3 ? (float)(sum / 4 / (double)SMS) : 0,
	        .dram_read_bytes = 32.0f * (float)(sum / 1000),
	        .dram_write_bytes = WT_SAMPLE_UNKNOWN,
	        .instructions = i % 5 ? (float)(sum / 256 * 256) : 0,
	        .flags = i % 5 ? WT_SAMPLE_INSTRUCTIONS : 0,
	};
}

static void write_samples(struct synth *s, uint64_t from, uint64_t to)
{
	struct wt_sample some[2];

	for (uint64_t i = from; i < to; i += 2) {
		some[0] = sample_of(i);
		some[1] = sample_of(i + 1);
		synth_samples(s, some, i + 1 < to ? 2 : 1);
	}
}

/* Reads all chunks, in order. The number of samples, or -1 where one is not as it was made. */
static int64_t read_samples(const char *where)
{
	static struct wt_sample samples[WT_SAMPLES_MAX];
	char sql[256];
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	int64_t total = 0;

	snprintf(sql, sizeof(sql),
	         "SELECT start_ns, end_ns, samples, data FROM sample_chunk %s ORDER BY chunk_id",
	         where);
	sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL);
	sqlite3_prepare_v2(db, sql, -1, &row, NULL);
	while (total >= 0 && sqlite3_step(row) == SQLITE_ROW) {
		size_t count = 0;
		bool is_same = wt_samples_decode(sqlite3_column_blob(row, 3),
		                                 (size_t)sqlite3_column_bytes(row, 3), samples,
		                                 WT_SAMPLES_MAX, &count) == 0 &&
		               (int64_t)count == sqlite3_column_int64(row, 2) &&
		               (uint64_t)sqlite3_column_int64(row, 0) == samples[0].start_ns;

		for (size_t i = 0; i < count && is_same; i++) {
			struct wt_sample want = sample_of((uint64_t)total + i);

			is_same = !memcmp(&want, &samples[i], sizeof(want));
		}
		total = is_same ? total + (int64_t)count : -1;
	}
	sqlite3_finalize(row);
	sqlite3_close(db);
	return total;
}

/* Buckets against sums by another way: each sample's ns, one by one in steps of a tenth. */
static void check_buckets(uint64_t count)
{
	enum { STEPS = 10, BUCKETS = 100000 };
	static double active[BUCKETS], least[BUCKETS], most[BUCKETS], most_wrong;
	static int64_t sampled[BUCKETS], busy[BUCKETS], known[BUCKETS];
	int64_t base = (int64_t)FIRST_NS / 10000000;
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	int64_t rows = 0, want_rows = 0, wrong = 0, samples = 0;
	double wrong_extremes = 0;

	memset(active, 0, sizeof(active));
	memset(least, 0, sizeof(least));
	memset(most, 0, sizeof(most));
	memset(sampled, 0, sizeof(sampled));
	memset(busy, 0, sizeof(busy));
	memset(known, 0, sizeof(known));
	for (uint64_t i = 0; i < count; i++) {
		struct wt_sample s = sample_of(i);
		double share = (double)s.active_avg / s.elapsed_cycles;

		for (uint64_t at = s.start_ns; at < s.start_ns + s.duration_ns; at++) {
			uint64_t end = s.start_ns + s.duration_ns;
			uint64_t edge = (at / 10000000 + 1) * 10000000;
			int64_t b = (int64_t)(at / 10000000) - base;

			if (edge > end)
				edge = end;
			active[b] += share * (double)(edge - at);
			sampled[b] += (int64_t)(edge - at);
			busy[b] += s.active_avg > 0 ? (int64_t)(edge - at) : 0;
			if (s.active_avg > 0 && i % 4 == 0) {
				known[b] += (int64_t)(edge - at);
				least[b] += (double)s.active_min / s.elapsed_cycles *
				            (double)(edge - at);
				most[b] += (double)(edge - at);
			}
			at = edge - 1;
		}
	}
	for (int i = 0; i < BUCKETS; i++)
		want_rows += sampled[i] > 0;
	sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL);
	sqlite3_prepare_v2(
	        db,
	        "SELECT start_ns, sampled_ns, active_avg, samples, busy_ns, extremes_ns, "
	        "min_share_ns, max_share_ns FROM sm_bucket",
	        -1, &row, NULL);
	while (sqlite3_step(row) == SQLITE_ROW) {
		int64_t b = sqlite3_column_int64(row, 0) / 10000000 - base;
		double off;

		rows++;
		samples += sqlite3_column_int64(row, 3);
		if (b < 0 || b >= BUCKETS || sqlite3_column_int64(row, 1) != sampled[b] ||
		    sqlite3_column_int64(row, 4) != busy[b] ||
		    sqlite3_column_int64(row, 5) != known[b]) {
			wrong++;
			continue;
		}
		wrong_extremes =
		        fmax(wrong_extremes, fabs(sqlite3_column_double(row, 6) - least[b]));
		wrong_extremes =
		        fmax(wrong_extremes, fabs(sqlite3_column_double(row, 7) - most[b]));
		off = fabs(sqlite3_column_double(row, 2) - active[b] / (double)sampled[b]);
		most_wrong = off > most_wrong ? off : most_wrong;
	}
	sqlite3_finalize(row);
	sqlite3_close(db);
	is_i64(rows, want_rows, "as many buckets as there must be");
	is_i64(wrong, 0, "each with the time that was sampled in it");
	is_i64(samples, (int64_t)count, "and every sample in one of them");
	ok(most_wrong < 1e-9, "means differ by %g at most", most_wrong);
	ok(wrong_extremes < 1e-3, "sums of the least and most active SM by %g ns", wrong_extremes);
}

static void produce_app(unsigned launches)
{
	struct synth s;

	if (synth_create(&s, NULL))
		_exit(1);
	for (unsigned i = 0; i < launches; i++)
		synth_run(&s, &(struct synth_launch){.name_id = 0});
	synth_finish(&s);
}

static void test_plain(void)
{
	struct synth_options options = {.producer = WT_PRODUCER_SAMPLER, .cells = {2, 32768}};
	struct wt_gpu_state state = {
	        .time_ns = FIRST_NS + 5, .throttle_reasons = 4, .sm_clock_mhz = 1980, .flags = 1};
	struct wt_clock clock = {.realtime_ns = FIRST_NS, .monotonic_ns = 5, .boot_ns = 6};
	enum { COUNT = 45001 };
	struct synth s;
	pid_t daemon, pid;

	synth_folder(folder);
	pid = fork();
	if (pid == 0) {
		produce_app(10);
		if (synth_create(&s, &options))
			_exit(1);
		wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_SAMPLING);
		write_samples(&s, 0, COUNT);
		wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_GPU_STATE, 1, &state, sizeof(state));
		wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_CLOCK, 1, &clock, sizeof(clock));
		wt_store_relaxed(&s.producer->sampler_cpu_ns, 12345);
		wt_store_relaxed(&s.producer->sample_overflows, 3);
		wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_ENDED);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	daemon = synth_daemon(folder, "0.2");
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(synth_segments_left(folder), 0, "no segment is left");
	is_i64(query("SELECT count(*) FROM proc"), 1, "a sampler is no process of the run");
	is_i64(query("SELECT count(*) FROM process"), 1, "nor in the view");
	is_i64(query("SELECT count(*) FROM clock"), 0, "its clocks are none of the run's");
	is_i64(query("SELECT count(*) FROM process_gpu"), 1, "nor has it an ordinal");
	is_i64(query("SELECT count(*) FROM gpu"), 1, "its device is the application's");
	is_i64(query("SELECT count(*) FROM sampler WHERE device_id = 1 AND state = 2 AND reason IS "
	             "NULL AND interval_ns = 50000 AND cpu_ns = 12345 AND overflows = 3 AND "
	             "samples_taken = 45001 AND samples_stored = 45001 AND samples_dropped = 0"),
	       1, "its row");
	is_i64(query("SELECT first_ns FROM sampler"), (int64_t)FIRST_NS, "from the first sample");
	is_i64(query("SELECT count(*) FROM sampler WHERE last_ns = (SELECT max(end_ns) FROM "
	             "sample_chunk)"),
	       1, "to the last");
	is_i64(read_samples(""), COUNT, "samples come back as they were");
	is_i64(query("SELECT max(samples) <= 20000 FROM sample_chunk"), 1, "no chunk is too large");
	check_buckets(COUNT);
	is_i64(query("SELECT count(*) FROM sm_bucket WHERE tensor_share IS NULL OR "
	             "dram_write_bytes IS NOT NULL OR sm_clock_mhz NOT BETWEEN 1800 AND 1980 OR "
	             "active_max <> 1 OR active_min > active_avg"),
	       0, "known and unknown values of buckets");
	is_i64(query("SELECT sum(length(data)) / sum(samples) FROM sample_chunk") <= 18, 1,
	       "bytes a sample");
	is_i64(query("SELECT count(*) FROM gpu_state WHERE throttle_reasons = 4 AND sm_clock_mhz = "
	             "1980 AND power_mw IS NULL AND foreign_processes = 0 AND foreign_pid IS NULL"),
	       1, "what NVML said");
	synth_folder_remove(folder);
}

static void test_daemon_killed(void)
{
	struct synth_options options = {.producer = WT_PRODUCER_SAMPLER, .cells = {2, 4096}};
	enum { COUNT = 60000 };
	pid_t daemon, pid;
	int kills = 0, status;
	uint64_t taken, stored;

	synth_folder(folder);
	pid = fork();
	if (pid == 0) {
		struct synth s;

		if (synth_create(&s, &options))
			_exit(1);
		wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_SAMPLING);
		/* Waits for room, so that none is dropped: how many rounds is up to the machine. */
		for (uint64_t i = 0; i < COUNT; i += 100) {
			while (wt_load_relaxed(&s.ring[1].control->tail) -
			               wt_load_relaxed(s.ring[1].head) >
			       4000)
				usleep(1000);
			write_samples(&s, i, i + 100);
		}
		wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_ENDED);
		synth_finish(&s);
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		daemon = synth_daemon(folder, "20");
		usleep(20000 + 13000 * (kills % 7));
		kill(daemon, SIGKILL);
		waitpid(daemon, NULL, 0);
		kills++;
	}
	daemon = synth_daemon(folder, "0.2");
	is_i64(synth_daemon_wait(daemon), 0, "the last daemon ends");
	ok(synth_run_file(folder, file), "one run file after %d kills", kills);
	taken = (uint64_t)query("SELECT samples_taken FROM sampler");
	stored = (uint64_t)query("SELECT samples_stored + samples_dropped FROM sampler");
	is_i64((int64_t)taken, COUNT, "all are counted");
	is_i64((int64_t)stored, (int64_t)taken, "taken = stored + dropped");
	is_i64(read_samples(""), COUNT, "none lost, none twice");
	is_i64(query("SELECT reason IS NULL FROM sampler"), 1, "in good order");
	check_buckets(COUNT);
	synth_folder_remove(folder);
}

static void test_unsound(void)
{
	struct synth_options options = {.producer = WT_PRODUCER_SAMPLER};
	struct wt_sample bad[8];
	char command[1000];
	pid_t daemon, pid;

	synth_folder(folder);
	pid = fork();
	if (pid == 0) {
		struct synth s;
		uint64_t pos;

		if (synth_create(&s, &options))
			_exit(1);
		write_samples(&s, 0, 10);
		for (int i = 0; i < 8; i++)
			bad[i] = sample_of(20);
		bad[0].start_ns = 0;
		bad[1].start_ns = UINT64_MAX - 5;
		bad[2].duration_ns = 0;
		bad[3].duration_ns = UINT32_MAX;
		bad[4].active_avg = NAN;
		bad[5].dram_read_bytes = INFINITY;
		bad[6].warps = -3;
		bad[7].start_ns = FIRST_NS; /* before those that came */
		synth_samples(&s, bad, 8);
		wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, bad, 112);
		wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_SAMPLE, 3, bad, 112);
		wt_ring_put(&s.ring[WT_RING_CALLS], WT_KIND_LAUNCH, 1, bad, 112);
		wt_ring_reserve(&s.ring[WT_RING_ACTIVITY], 1, &pos); /* torn */
		write_samples(&s, 10, 20);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0) {
		struct synth s;

		if (synth_create(&s, &options))
			_exit(1);
		wt_store_relaxed(&s.producer->device_count, 0);
		wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_NO_PERMISSION);
		wt_store_relaxed(&s.producer->sampler_detail, 35);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	daemon = synth_daemon(folder, "0.2");
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(read_samples(""), 20, "sound samples are kept");
	is_i64(query("SELECT samples_taken = 28 AND samples_stored = 20 AND reason IS NOT NULL "
	             "FROM "
	             "sampler WHERE device_id = 1"),
	       1, "the rest is told");
	is_i64(query("SELECT count(*) FROM sampler WHERE device_id IS NULL AND reason LIKE "
	             "'%administrators%35%' AND first_ns IS NULL"),
	       1, "why another never sampled");
	is_i64(query("SELECT count(*) FROM proc"), 0, "no process");
	is_i64(query("SELECT count(*) FROM launch_call"), 0, "no launch");
	snprintf(command, sizeof(command),
	         "grep -q '8 samples so far that can.t be stored: 1 start before .* 4 have a time "
	         ".* 3 values .* 0 came' %s/daemon.out",
	         folder);
	ok(system(command) == 0, "the log says why");
	synth_folder_remove(folder);
}

static void test_profiled(void)
{
	struct wt_profile profile = {.start_ns = FIRST_NS,
	                             .end_ns = FIRST_NS + 1000,
	                             .active_sum = 1320000,
	                             .active_max = 10000,
	                             .elapsed = 12000,
	                             .warps = 5,
	                             .tensor = -1,
	                             .dram_bytes = 640,
	                             .cost_ns = 12000000,
	                             .sm_count = SMS,
	                             .passes = 1};
	pid_t daemon, pid;

	synth_folder(folder);
	pid = fork();
	if (pid == 0) {
		struct synth s;

		if (synth_create(&s, NULL))
			_exit(1);
		for (int i = 0; i < 5; i++)
			synth_run(&s, &(struct synth_launch){.grid = 132});
		for (int i = 0; i < 3; i++) {
			profile.launch_seq = (uint64_t)i;
			wt_add_relaxed(&s.producer->profiled_launches, 1);
			wt_ring_put(&s.ring[1], WT_KIND_PROFILE, 1, &profile, sizeof(profile));
		}
		profile.launch_seq = 77; /* there is no such launch */
		wt_ring_put(&s.ring[1], WT_KIND_PROFILE, 1, &profile, sizeof(profile));
		profile.launch_seq = 4;
		profile.active_sum = NAN;
		wt_ring_put(&s.ring[1], WT_KIND_PROFILE, 1, &profile, sizeof(profile));
		wt_store_relaxed(&s.producer->profile_state, WT_PROFILE_DONE);
		wt_store_relaxed(&s.producer->profile_cost_ns, 36000000);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	daemon = synth_daemon(folder, "0.2");
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(query("SELECT count(*) FROM profile_launch WHERE device_id = 1 AND sms = 132 AND "
	             "active_sum = 1320000 AND tensor_avg IS NULL AND dram_bytes = 640"),
	       3, "three profiled launches");
	is_i64(query("SELECT count(*) FROM profile_count WHERE launches = 3 AND stored = 3 AND "
	             "state = 3 AND cost_ns = 36000000"),
	       1, "and their books");
	is_i64(query("SELECT cells_bad FROM proc"), 2, "what can't be is counted");
	synth_folder_remove(folder);
}

/* No room for the run file for a while, which a limit on file sizes is, too. */
static void test_full(void)
{
	struct synth_options options = {.producer = WT_PRODUCER_SAMPLER, .cells = {2, 65536}};
	struct rlimit small = {.rlim_cur = 700000, .rlim_max = RLIM_INFINITY};
	struct rlimit large = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
	enum { COUNT = 120000 };
	char reply[8192];
	pid_t daemon, pid;

	synth_folder(folder);
	/* It lifts such limits when it starts. */
	daemon = synth_daemon(folder, "5");
	ok(synth_request_until("status", "\"pid\"", reply, sizeof(reply)), "the daemon answers");
	prlimit(daemon, RLIMIT_FSIZE, &small, NULL);
	pid = fork();
	if (pid == 0) {
		struct synth s;

		if (synth_create(&s, &options))
			_exit(1);
		write_samples(&s, 0, COUNT);
		wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_ENDED);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ok(synth_request_until("status", "\"error\":\"", reply, sizeof(reply)),
	   "the daemon says that it can't write");
	prlimit(daemon, RLIMIT_FSIZE, &large, NULL);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends once there is room");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(read_samples(""), COUNT, "after a full disk none is lost, none twice");
	check_buckets(COUNT);
	synth_folder_remove(folder);
}

int main(void)
{
	test_plain();
	test_full();
	test_daemon_killed();
	test_unsound();
	test_profiled();
	return tap_done();
}

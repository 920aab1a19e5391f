/*
 * test_record.c - a synthetic producer, the real daemon with a recording, and the import of it
 * against the live run file. What the end-to-end tests can't make happen at will:
 *
 *   1. torn cells in both rings, links missing, bad cells, times that make no sense
 *   2. more cells than one transaction takes, of a dead process
 *   3. a segment that was cut short; an exec
 *   4. a daemon killed while it wrote: a torn block at the end; a file that was only begun
 *   5. recordings that are taken away, or whose name is taken; those that are removed, cut short or
 *      replaced while the daemon writes them, which it must say
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>

#include "daemon/replay.h"
#include "schema/wt_db.h"
#include "tests/tap.h"
#include "tests/unit/synth.h"

static char folder[512], file[1024], records[600], recording[1024], imported[600];

static int64_t live(const char *sql)
{
	return synth_query(file, sql);
}

static int64_t again(const char *sql)
{
	return synth_query(imported, sql);
}

static void begin(void)
{
	synth_folder(folder);
	snprintf(records, sizeof(records), "%s/records", folder);
	snprintf(imported, sizeof(imported), "%s/imported.db", folder);
}

/* The path of the only recording; false if there is not exactly one. */
static bool find_recording(void)
{
	DIR *dir = opendir(records);
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".wtrec"))
			continue;
		snprintf(recording, sizeof(recording), "%s/%s", records, entry->d_name);
		count++;
	}
	if (dir)
		closedir(dir);
	return count == 1;
}

/* Imports the only recording; *ret_source is what was said of it. 0 or -errno. */
static int import(struct wt_replay_source *ret_source)
{
	struct wt_replay *replay = wt_replay_create();
	char why[WT_REPLAY_WHY_BYTES] = "";
	int rc = find_recording() ? wt_replay_add(replay, recording, why) : -ENOENT;

	unlink(imported);
	if (!rc && wt_replay_is_empty(replay))
		rc = -ENODATA;
	if (!rc)
		rc = wt_replay_begin(replay, imported, NULL, why);
	while (!rc && (rc = wt_replay_step(replay, why)) > 0)
		rc = 0;
	if (!rc)
		rc = wt_replay_finish(replay, why);
	if (rc)
		printf("# import: %s\n", why);
	else
		*ret_source = *wt_replay_source(replay, 0);
	wt_replay_destroy(replay);
	return rc;
}

/* Rows and counters that must be equal; with the text as it is, for a message. */
static void same(const char *what)
{
	static const char *const figures[] = {
	        "SELECT count(*) FROM launch_call",
	        "SELECT total(entry_ns % 1000003 * (seq + 1)) FROM launch_call",
	        "SELECT count(*) FROM kernel_exec",
	        "SELECT total(start_ns % 1000003 + end_ns % 1009 * correlation_id) FROM "
	        "kernel_exec",
	        "SELECT count(*) FROM kernel_exec WHERE start_ns IS NULL",
	        "SELECT total(launch_seq * link + launch_seq) FROM kernel_exec",
	        "SELECT total(time_ns + underfill_sm_ns + wave_sm_ns) FROM config_stat",
	        "SELECT count(*) FROM config JOIN kernel USING (kernel_id) WHERE blocks > 0",
	        "SELECT launches_attempted FROM loss",
	        "SELECT launches_torn FROM loss",
	        "SELECT launches_linked * 1000000 + launches_linked_by_order FROM loss",
	        "SELECT launches_unlinked * 1000000 + launches_unobserved FROM loss",
	        "SELECT launches_in_flight FROM loss",
	        "SELECT kernels_torn * 1000000 + kernels_cupti_only FROM loss",
	        "SELECT cells_torn * 1000000 + cells_bad FROM loss",
	        "SELECT unexplained FROM loss",
	        "SELECT calls_pos * 1000000 + activity_pos FROM proc",
	        "SELECT unicode(state) * 1000 + length(state) + length(ifnull(reason_text, '')) "
	        "FROM "
	        "proc",
	        "SELECT count(*) FROM pending_link",
	};
	int differing = 0;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		int64_t a = live(figures[i]), b = again(figures[i]);

		if (a == b)
			continue;
		printf("# %s: live %" PRId64 ", imported %" PRId64 "\n", figures[i], a, b);
		differing++;
	}
	is_i64(differing, 0, what);
}

static struct synth_options with_recording(void)
{
	return (struct synth_options){.record_dir = records};
}

/* Damaged copies of the recording through the whole import: how many gave a run, and their books. */
static void test_damaged(void)
{
	int imports = 0, refused = 0, wrong = 0;
	static uint8_t bytes[65536];
	char path[600];
	ssize_t length;
	int fd = open(recording, O_RDONLY | O_CLOEXEC);

	length = read(fd, bytes, sizeof(bytes));
	close(fd);
	snprintf(path, sizeof(path), "%s/damaged.wtrec", folder);
	for (ssize_t at = 64; at < length; at += 1 + length / 60) {
		struct wt_replay *replay = wt_replay_create();
		char why[WT_REPLAY_WHY_BYTES];
		bool is_cut = imports % 2;
		ssize_t used = is_cut ? at : length;
		int rc;

		bytes[at] ^= !is_cut;
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		wrong += write(fd, bytes, (size_t)used) != used;
		close(fd);
		bytes[at] ^= !is_cut;
		rc = wt_replay_add(replay, path, why);
		if (!rc && !wt_replay_is_empty(replay))
			rc = wt_replay_begin(replay, ":memory:", NULL, why);
		while (!rc && wt_replay_db(replay) && (rc = wt_replay_step(replay, why)) > 0)
			rc = 0;
		wrong += rc != 0;
		refused += !wt_replay_db(replay);
		if (wt_replay_db(replay)) {
			/* Never whole, and what is missing is counted. */
			wrong += wt_db_int(wt_replay_db(replay),
			                   "SELECT state <> 'lost' OR launches_torn < 0 OR "
			                   "launches_stored <> (SELECT count(*) FROM launch_call) "
			                   "FROM "
			                   "loss",
			                   1) != 0;
			wrong += wt_replay_source(replay, 0)->is_whole;
		}
		imports++;
		wt_replay_destroy(replay);
	}
	unlink(path);
	ok(imports > 30 && refused < imports - 10,
	   "%d damaged copies of %zd bytes, %d without a whole block", imports, length, refused);
	is_i64(wrong, 0, "are imported up to the damage, with books that balance");
}

static void test_torn(void)
{
	struct wt_replay_source source = {0};
	pid_t daemon, child;
	int status;

	begin();
	daemon = synth_daemon(folder, "0.3");
	child = fork();
	if (!child) {
		struct synth_options options = with_recording();
		struct wt_kernel odd = {.start_ns = 5, .correlation_id = 9999, .grid = {1, 1, 1}};
		struct synth s;
		uint64_t pos;

		if (synth_create(&s, &options))
			_exit(1);
		for (int i = 0; i < 10; i++)
			synth_run(&s, &(struct synth_launch){.thread32 = 4,
			                                     .name_id = synth_name(&s, "k")});
		synth_graph(&s, &(struct synth_launch){.thread32 = 4}, 5);
		synth_run(&s, &(struct synth_launch){.thread32 = 4, .without_link = true});
		synth_run(&s, &(struct synth_launch){.thread32 = 4, .without_kernel = true});
		wt_add_relaxed(&s.producer->launch_attempted, 1);
		wt_ring_reserve(&s.ring[WT_RING_CALLS], 1, &pos);
		wt_add_relaxed(&s.producer->kernels_seen, 4);
		wt_ring_reserve(&s.ring[WT_RING_ACTIVITY], 3, &pos);
		wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, &odd, sizeof(odd));
		wt_ring_put(&s.ring[WT_RING_ACTIVITY], 999, 1, &odd, sizeof(odd));
		wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, &odd, 4);
		for (int i = 0; i < 10; i++)
			synth_run(&s, &(struct synth_launch){.thread32 = 4, .grid = 20});
		raise(SIGKILL);
	}
	waitpid(child, &status, 0);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(import(&source), 0, "the recording is imported");
	same("torn, bad and odd cells: as live");
	is_i64(again("SELECT cells_torn FROM loss"), 4, "four torn cells");
	is_i64((int64_t)source.cells_torn, 4, "and the import says so");
	is_i64(again("SELECT cells_bad FROM loss"), 2, "two bad ones");
	ok(source.is_whole && source.cells_missing == 0, "the recording is whole");
	synth_folder_remove(folder);
}

/* A transaction takes 262,144 cells of a ring. */
static void test_large(void)
{
	struct wt_replay_source source = {0};
	const uint64_t launches = 300000;
	pid_t daemon, child;
	int status;

	begin();
	child = fork();
	if (!child) {
		struct synth_options options = with_recording();
		struct synth s;

		options.cells[0] = 524288;
		options.cells[1] = 512;
		if (synth_create(&s, &options))
			_exit(1);
		for (uint64_t i = 0; i < launches; i++)
			synth_call_record(&s,
			                  &(struct synth_launch){.thread32 = 4,
			                                         .grid = 1 + (uint32_t)i % 7,
			                                         .flags = WT_FLAG_UNARMED},
			                  NULL);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(child, &status, 0);
	daemon = synth_daemon(folder, "0.3");
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(import(&source), 0, "300,000 launches in one go");
	is_i64((int64_t)source.blocks, 10, "in blocks of 32768 calls");
	is_i64(again("SELECT launches_stored FROM loss"), (int64_t)launches, "all of them");
	same("more than one transaction of a dead process: as live");
	synth_folder_remove(folder);
}

static void test_lost(void)
{
	struct wt_replay_source source = {0};
	struct synth_options options;
	struct stat before;
	struct synth s;
	pid_t daemon;

	begin();
	options = with_recording();
	ok(!synth_create(&s, &options), "a segment");
	daemon = synth_daemon(folder, "0.3");
	for (int i = 0; i < 20; i++)
		synth_run(&s, &(struct synth_launch){.thread32 = 4});
	synth_run(&s, &(struct synth_launch){.thread32 = 4, .without_kernel = true});
	is_i64(synth_query_until(folder,
	                         "SELECT kernels_stored * 10 + (SELECT count(*) FROM pending_link) "
	                         "FROM proc",
	                         201),
	       201, "20 kernels come, one is awaited");
	ok(synth_run_file(folder, file), "one run file");
	ok(!truncate(s.path, WT_PRODUCER_OFFSET), "which is cut short");
	for (int i = 0; i < 1000 && live("SELECT count(*) FROM proc WHERE state = 'lost'") != 1;
	     i++)
		usleep(10000);
	kill(daemon, SIGTERM);
	waitpid(daemon, NULL, 0);
	is_i64(import(&source), 0, "the recording is imported");
	ok(source.is_whole, "its end is in it");
	is_i64(again("SELECT count(*) FROM proc WHERE state = 'lost' AND reason_text LIKE "
	             "'%cut short'"),
	       1, "and why");
	same("a segment cut short: as live");
	is_i64(live("SELECT count(*) FROM pending_link"), 0, "no link is awaited for ever");
	is_i64(live("SELECT launches_in_flight * 10 + launches_unlinked FROM loss"), 10,
	       "what came of that launch is not known");
	ok(!stat(recording, &before) && !truncate(recording, before.st_size - 1),
	   "a cut recording");
	is_i64(import(&source), 0, "is imported");
	is_i64(again("SELECT count(*) FROM proc WHERE state = 'lost' AND launches_stored = 21"), 1,
	       "up to the cut");
	is_i64(again("SELECT count(*) FROM pending_link"), 0, "and awaits no link, either");
	is_i64(again("SELECT launches_in_flight * 10 + unexplained FROM loss"), 10,
	       "that launch is open, and explained");
	synth_folder_remove(folder);
}

static void test_replaced(void)
{
	struct wt_replay_source source = {0};
	struct synth_options options;
	struct synth older, newer;
	pid_t daemon;

	begin();
	options = with_recording();
	ok(!synth_create(&older, &options) && !synth_create(&newer, NULL), "an exec");
	for (int i = 0; i < 5; i++)
		synth_run(&older, &(struct synth_launch){.thread32 = 4});
	daemon = synth_daemon(folder, "0.3");
	for (int i = 0; i < 1000 && access(older.path, F_OK) == 0; i++)
		usleep(10000);
	kill(daemon, SIGTERM);
	waitpid(daemon, NULL, 0);
	is_i64(import(&source), 0, "the recording is imported");
	is_i64(again("SELECT count(*) FROM proc WHERE state = 'replaced'"), 1,
	       "the process went on by exec");
	is_i64(again("SELECT launches_linked FROM loss"), 5, "what it did before is there");
	synth_folder_remove(folder);
}

/* Drains what is there with a daemon that ends in good order, as if it had been told to. */
static void drain_once(uint64_t launches)
{
	pid_t daemon = synth_daemon(folder, "30");

	for (int i = 0; i < 1000 && !(synth_run_file(folder, file) &&
	                              live("SELECT total(kernels) FROM loss") == (int64_t)launches);
	     i++)
		usleep(10000);
	kill(daemon, SIGTERM);
	waitpid(daemon, NULL, 0);
}

static void run_launches(struct synth *s, int count)
{
	for (int i = 0; i < count; i++)
		synth_run(s, &(struct synth_launch){.thread32 = 4, .grid = 50 + (uint32_t)i % 5});
}

static void append(const char *path, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	ok(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "%zu bytes are appended",
	   length);
	close(fd);
}

/* The producer is this process: it never ends, which the recordings say. */
static void test_restarts(void)
{
	struct wt_replay_source source = {0};
	struct synth_options options;
	static uint8_t half[3000];
	struct stat before;
	struct synth s;
	int fd;

	begin();
	options = with_recording();
	ok(!synth_create(&s, &options), "a segment");
	run_launches(&s, 100);
	drain_once(100);
	ok(find_recording(), "one recording");
	/* A copy of its last bytes is a good beginning of a block, as a killed daemon leaves it. */
	stat(recording, &before);
	fd = open(recording, O_RDONLY | O_CLOEXEC);
	ok(pread(fd, half, 200, 64) == 200, "half a block");
	close(fd);
	append(recording, half, 200);
	run_launches(&s, 50);
	drain_once(150);
	is_i64(import(&source), 0, "a torn block is cut off");
	is_i64((int64_t)source.cells_missing, 0, "nothing is missing");
	is_i64(again("SELECT launches_stored FROM loss"), 150, "all is there");
	ok(!source.is_whole && strstr(source.why, "ends before the process did"),
	   "the process lives on: %s", source.why);
	is_i64(again("SELECT state = 'lost' FROM proc"), 1, "so its end is not known");

	test_damaged();

	ok(!unlink(recording), "the recording is taken away");
	run_launches(&s, 25);
	drain_once(175);
	is_i64(import(&source), 0, "the rest is in a new one");
	is_i64(again("SELECT launches_stored FROM loss"), 25, "as much as it saw");
	is_i64((int64_t)source.cells_missing, 150 * 3, "what it lacks is counted");
	is_i64(again("SELECT cells_gap FROM loss"), 150 * 3, "in the run file, too");
	is_i64(again("SELECT launches_torn FROM loss"), 150, "as launches, too");
	is_i64(again("SELECT unexplained FROM loss"), 0, "and nothing is unexplained");

	ok(!truncate(recording, 40), "a file that was only begun");
	run_launches(&s, 10);
	drain_once(185);
	is_i64(import(&source), 0, "is begun again");
	is_i64(again("SELECT launches_stored FROM loss"), 10, "with what came after");

	fd = open(recording, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ok(fd >= 0 && write(fd, half, sizeof(half)) == (ssize_t)sizeof(half),
	   "somebody else's file");
	close(fd);
	run_launches(&s, 10);
	drain_once(195);
	is_i64(live("SELECT launches_stored FROM loss"), 195, "the run file has everything");
	is_i64(live("SELECT count(*) FROM meta WHERE key = 'recording_problem' AND value LIKE "
	            "'%there is another file of that name%'"),
	       1, "and says why the recording has not");
	stat(recording, &before);
	is_i64(before.st_size, sizeof(half), "the file is left as it is");
	synth_folder_remove(folder);
}

static bool remove_it(void)
{
	return !unlink(recording) && !rmdir(records);
}

static bool cut_it(void)
{
	return !truncate(recording, 100);
}

static bool replace_it(void)
{
	return !unlink(recording) && !mkfifo(recording, 0600);
}

static bool swap_it(void)
{
	char aside[1100];

	snprintf(aside, sizeof(aside), "%s.aside", recording);
	return !rename(recording, aside) && !mkfifo(recording, 0600);
}

static bool move_it(void)
{
	char aside[1100];

	snprintf(aside, sizeof(aside), "%s/aside.wtrec", folder);
	return !rename(recording, aside);
}

/* The recording of a live process meets `change` between two blocks; `says`: what must be told. */
static void test_changed(bool (*change)(void), const char *says)
{
	struct synth_options options;
	char sql[200];
	struct synth s;
	pid_t daemon;

	begin();
	options = with_recording();
	ok(!synth_create(&s, &options), "a recording: %s", says ? says : "moved");
	daemon = synth_daemon(folder, "30");
	run_launches(&s, 20);
	is_i64(synth_query_until(folder, "SELECT kernels_stored FROM proc", 20), 20, "a block");
	ok(synth_run_file(folder, file) && find_recording() && change(), "and then this");
	run_launches(&s, 10);
	is_i64(synth_query_until(folder, "SELECT kernels_stored FROM proc", 30), 30,
	       "the run file goes on");
	kill(daemon, SIGTERM);
	waitpid(daemon, NULL, 0);
	snprintf(
	        sql, sizeof(sql),
	        "SELECT count(*) FROM meta WHERE key = 'recording_problem' AND value LIKE '%%: %s'",
	        says ? says : "%");
	is_i64(live(sql), says != NULL,
	       says ? "and says what became of the recording" : "nothing is wrong");
	synth_unmap(&s);
	synth_folder_remove(folder);
}

int main(void)
{
	test_torn();
	test_large();
	test_lost();
	test_replaced();
	test_restarts();
	test_changed(remove_it, "its file was removed or replaced");
	test_changed(cut_it, "its file was cut short");
	test_changed(replace_it, "its file was removed or replaced");
	test_changed(swap_it, "another file took its place");
	test_changed(move_it, NULL);
	return tap_done();
}

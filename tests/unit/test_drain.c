/*
 * test_drain.c - a synthetic producer, the real daemon, and what the run file says.
 *
 *   1. all classes of launches, graphs, devices, late links, links missing, bad times
 *   2. many processes in one run, some killed; nothing is left in shared memory
 *   3. the daemon killed again and again: no row lost, none twice
 *   4. no links at all: by order and geometry
 *   5. cells claimed and never written
 *   6. exec, and a pid that was used again
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/tap.h"
#include "tests/unit/synth.h"

static char folder[512], file[1024];

static int64_t query(const char *sql)
{
	return synth_query(file, sql);
}

/* The sums that hold for every process that has ended. */
static void check_sums(const char *what)
{
	ok(query("SELECT sum(launches_attempted) - sum(launches_stored) - sum(launches_dropped) - "
	         "sum(launches_torn) FROM loss") == 0,
	   "%s: attempted = stored + dropped + torn", what);
	ok(query("SELECT sum(launches_stored) - (SELECT count(*) FROM launch_call) FROM loss") == 0,
	   "%s: as many rows as counted launches", what);
	ok(query("SELECT sum(kernels) - (SELECT count(*) FROM kernel_exec) FROM loss") == 0,
	   "%s: as many rows as counted kernels", what);
	ok(query("SELECT sum(kernels) - sum(kernels_graph + kernels_device + kernels_linked + "
	         "kernels_cupti_only) FROM loss") == 0,
	   "%s: every kernel is in one class", what);
	ok(query("SELECT sum(launches_linked) - (SELECT count(*) FROM kernel_exec WHERE link IN "
	         "(1,2) "
	         "AND graph_id IS NULL) FROM loss") == 0,
	   "%s: linked launches = linked kernels", what);
	ok(query("SELECT sum(launches_stored - launches_failed - launches_captured - "
	         "launches_linked "
	         "- launches_unobserved - launches_unlinked - launches_in_flight) FROM loss") == 0,
	   "%s: every launch is in one class", what);
	is_i64(query("SELECT count(*) - count(DISTINCT launch_seq || ':' || process_id) FROM "
	             "kernel_exec WHERE launch_seq IS NOT NULL AND graph_id IS NULL"),
	       0, "no launch has two kernels");
	is_i64(query("SELECT count(*) FROM pending_link"), 0, "no link is left over");
	is_i64(query("SELECT total(launches) - (SELECT count(*) FROM kernel_exec WHERE start_ns IS "
	             "NOT "
	             "NULL) FROM config_stat"),
	       0, "the rollup counts the rows");
	is_i64(query("SELECT total(time_ns) - (SELECT total(end_ns - start_ns) FROM kernel_exec) "
	             "FROM "
	             "config_stat"),
	       0, "the rollup sums the times");
}

static void produce_classes(void)
{
	struct synth s;
	struct synth_launch usual = {.thread32 = 11};
	struct synth_options options = {.run_name = "classes", .run_tags = "a=1,b=two,broken"};
	struct wt_kernel timeless, by_device;
	uint64_t late_entry;
	uint32_t name, late_id;

	if (synth_create(&s, &options))
		_exit(1);
	name = synth_name(&s, "_Z6kernelPf");
	usual.name_id = name;
	for (int i = 0; i < 100; i++)
		synth_run(&s, &usual);
	for (int i = 0; i < 3; i++)
		synth_run(&s, &(struct synth_launch){
		                      .thread32 = 11, .result = 1, .without_kernel = true});
	for (int i = 0; i < 5; i++)
		synth_run(&s, &(struct synth_launch){.thread32 = 11,
		                                     .flags = WT_FLAG_CAPTURE_STREAM,
		                                     .without_kernel = true});
	for (int i = 0; i < 7; i++)
		synth_run(&s, &(struct synth_launch){.thread32 = 11,
		                                     .flags = WT_FLAG_CAPTURE_OPEN,
		                                     .without_kernel = true});
	for (int i = 0; i < 2; i++)
		synth_run(&s, &(struct synth_launch){.thread32 = 11,
		                                     .flags = WT_FLAG_UNARMED,
		                                     .without_kernel = true,
		                                     .without_link = true});
	synth_graph(&s, &usual, 40);
	synth_graph(&s, &(struct synth_launch){.thread32 = 12, .name_id = name}, 10);
	synth_multi(&s, &(struct synth_launch){.thread32 = 11, .grid = 500}, 4);
	/* the kernel first, its link a while later */
	usleep(1000);
	late_entry = synth_now_ns();
	late_id = atomic_fetch_add(&s.next_correlation, 1);
	usual.entry_ns = late_entry;
	synth_call_record(&s, &usual, NULL);
	synth_kernel_record(&s, &usual, late_id);
	usleep(300000);
	synth_link_record(&s, late_id, 11, late_entry + 700);
	/* the link a while before the kernel */
	usleep(1000);
	usual.entry_ns = synth_now_ns();
	late_id = atomic_fetch_add(&s.next_correlation, 1);
	synth_call_record(&s, &usual, NULL);
	synth_link_record(&s, late_id, 11, usual.entry_ns + 700);
	usleep(300000);
	synth_kernel_record(&s, &usual, late_id);
	/* without a link: by order, once the process is over */
	synth_run(&s, &(struct synth_launch){.thread32 = 11, .grid = 77, .without_link = true});
	/* of a launch that no hook saw */
	synth_run(&s, &(struct synth_launch){.thread32 = 13, .without_call = true});
	/* no time */
	timeless = (struct wt_kernel){.correlation_id = late_id + 1000,
	                              .name_id = name,
	                              .grid = {9, 1, 1},
	                              .block = {32, 1, 1},
	                              .graph_node_id = 5,
	                              .graph_id = 2};
	wt_add_relaxed(&s.producer->kernels_seen, 1);
	wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, &timeless, sizeof(timeless));
	/* launched by a kernel: no call of the host belongs to it */
	by_device = timeless;
	by_device.graph_id = 0;
	by_device.graph_node_id = 0;
	by_device.correlation_id++;
	by_device.start_ns = synth_now_ns();
	by_device.end_ns = by_device.start_ns + 5000;
	by_device.flags = WT_KERNEL_DEVICE_LAUNCHED;
	wt_add_relaxed(&s.producer->kernels_seen, 1);
	wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, &by_device, sizeof(by_device));
	/* kinds and lengths that make no sense */
	wt_ring_put(&s.ring[WT_RING_ACTIVITY], 999, 1, &timeless, sizeof(timeless));
	wt_ring_put(&s.ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, &timeless, 4);
	wt_ring_put(&s.ring[WT_RING_CALLS], WT_KIND_KERNEL, 1, &timeless, sizeof(timeless));
	synth_finish(&s);
	_exit(0);
}

static void test_classes(void)
{
	pid_t daemon, child;

	synth_folder(folder);
	daemon = synth_daemon(folder, "0.3");
	child = fork();
	if (!child)
		produce_classes();
	waitpid(child, NULL, 0);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(synth_segments_left(folder), 0, "no segment is left");
	check_sums("classes");
	is_i64(query("SELECT launches_linked FROM loss"), 107, "linked");
	is_i64(query("SELECT launches_linked_by_order FROM loss"), 1, "of these one by order");
	is_i64(query("SELECT launches_failed FROM loss"), 3, "failed");
	is_i64(query("SELECT launches_captured FROM loss"), 12, "captured");
	is_i64(query("SELECT launches_unobserved FROM loss"), 2, "unobserved");
	is_i64(query("SELECT launches_unlinked FROM loss"), 0, "unlinked");
	is_i64(query("SELECT kernels_graph FROM loss"), 51, "graph nodes");
	is_i64(query("SELECT count(*) FROM kernel_exec WHERE link = 1 AND graph_id = 3"), 50,
	       "graph nodes are linked to their graph launch");
	is_i64(query("SELECT count(DISTINCT launch_seq) FROM kernel_exec WHERE graph_id = 3"), 2,
	       "of which there are two");
	is_i64(query("SELECT count(*) FROM launch v JOIN launch_call l ON l.process_id = "
	             "v.process_id AND l.seq = v.launch_seq WHERE v.grid_x BETWEEN 500 AND 503 AND "
	             "l.grid_x = v.grid_x AND link = 1"),
	       4, "one call on four devices: each kernel to its launch");
	is_i64(query("SELECT count(*) FROM launch WHERE link <> 2 AND entry_ns > start_ns"), 0,
	       "no kernel before its call");
	is_i64(query("SELECT kernels_cupti_only FROM loss"), 1, "a kernel without a call");
	is_i64(query("SELECT unexplained FROM loss"), 1, "which nothing explains");
	is_i64(query("SELECT kernels_no_time FROM loss"), 1, "a kernel without time");
	is_i64(query("SELECT kernels_device FROM loss"), 1, "a kernel launched by the device");
	is_i64(query("SELECT count(*) FROM kernel_exec WHERE link = 3 AND launch_seq IS NULL"), 1,
	       "has no call, and needs none");
	is_i64(query("SELECT cells_bad FROM loss"), 3, "bad cells are counted");
	is_i64(query("SELECT state = 'finished' FROM proc"), 1, "finished");
	is_i64(query("SELECT count(*) FROM tag"), 2, "tags");
	is_i64(query("SELECT count(*) FROM meta WHERE key = 'name' AND value = 'classes'"), 1,
	       "name");
	is_i64(query("SELECT count(*) FROM device WHERE sm_count = 132"), 1, "the device");
	/* 1000 blocks of 256 threads, 8 per SM: one wave of 1056, 7.6 blocks an SM */
	is_i64(query("SELECT blocks_per_sm FROM config WHERE blocks = 1000 LIMIT 1"), 8, "b");
	is_i64(query("SELECT full_waves FROM config WHERE blocks = 1000 LIMIT 1"), 0,
	       "no full wave before the last");
	is_i64(query("SELECT underfill_sm_ns FROM kernel_exec e JOIN config c USING (config_id) "
	             "WHERE blocks = 77"),
	       10000 * (132 - 77), "underfill");
	synth_folder_remove(folder);
}

static void produce_many(int index)
{
	struct synth_options options = {.cells = {256, 512}};
	struct synth s;

	if (synth_create(&s, &options))
		_exit(1);
	for (int i = 0; i < 3000; i++) {
		synth_run(&s, &(struct synth_launch){.thread32 = 1 + (uint32_t)index,
		                                     .grid = 100 + (uint32_t)(i % 5)});
		if (i % 50 == 0)
			usleep(2000);
	}
	if (index % 2)
		raise(SIGKILL);
	synth_finish(&s);
	_exit(0);
}

static void test_many(void)
{
	pid_t daemon;

	synth_folder(folder);
	daemon = synth_daemon(folder, "0.3");
	for (int i = 0; i < 4; i++)
		if (!fork())
			produce_many(i);
	for (int i = 0; i < 4; i++)
		wait(NULL);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file for four processes");
	is_i64(synth_segments_left(folder), 0, "no segment is left");
	check_sums("many");
	is_i64(query("SELECT count(*) FROM proc"), 4, "four processes");
	is_i64(query("SELECT count(*) FROM proc WHERE state = 'killed'"), 2, "two were killed");
	is_i64(query("SELECT sum(launches_attempted) FROM loss"), 12000, "all attempts are known");
	is_i64(query("SELECT sum(kernels_seen - kernels_stored - kernels_dropped_ring) FROM proc"),
	       0, "kernels = stored + dropped");
	is_i64(query("SELECT sum(unexplained) FROM loss"), 0, "nothing is unexplained");
	synth_folder_remove(folder);
}

static void test_daemon_killed(void)
{
	struct synth_options options = {.cells = {32768, 65536}};
	pid_t daemon, child;
	int status;

	synth_folder(folder);
	child = fork();
	if (!child) {
		struct synth s;

		if (synth_create(&s, &options))
			_exit(1);
		for (int i = 0; i < 30000; i++) {
			synth_run(&s, &(struct synth_launch){.thread32 = 5,
			                                     .grid = 100 + (uint32_t)(i % 7)});
			if (i % 100 == 0)
				synth_graph(&s, &(struct synth_launch){.thread32 = 6}, 3);
			if (i % 100 == 50)
				synth_multi(&s, &(struct synth_launch){.thread32 = 7, .grid = 50},
				            3);
			if (i % 15 == 0)
				usleep(1000);
		}
		synth_finish(&s);
		_exit(0);
	}
	srand(1);
	for (int i = 0; i < 20; i++) {
		daemon = synth_daemon(folder, "0.3");
		usleep(20000 + (useconds_t)(rand() % 90000));
		kill(daemon, SIGKILL);
		waitpid(daemon, &status, 0);
	}
	daemon = synth_daemon(folder, "0.3");
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the producer felt nothing");
	is_i64(synth_daemon_wait(daemon), 0, "the last daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	check_sums("daemon killed 20 times");
	is_i64(query("SELECT launches_attempted - launches_dropped FROM loss"),
	       query("SELECT count(*) FROM launch_call"), "no launch lost or doubled");
	is_i64(query("SELECT kernels_seen - kernels_dropped_ring FROM proc"),
	       query("SELECT count(*) FROM kernel_exec"), "no kernel lost or doubled");
	is_i64(query("SELECT unexplained FROM loss"), 0, "nothing is unexplained");
	is_i64(query("SELECT launches_unlinked FROM loss"),
	       query("SELECT kernels_dropped_ring FROM loss"), "each link was found again");
	is_i64(synth_segments_left(folder), 0, "no segment is left");
	synth_folder_remove(folder);
}

/* The daemon is killed after its first batch, of which one launch is undecided: the others have their kernels. */
static void test_killed_at_first(void)
{
	pid_t daemon, child;
	int status, go[2];
	char byte = 0;

	synth_folder(folder);
	if (pipe2(go, O_CLOEXEC))
		_exit(1);
	child = fork();
	if (!child) {
		struct synth s;

		close(go[1]);
		if (synth_create(&s, NULL))
			_exit(1);
		synth_run(&s, &(struct synth_launch){.thread32 = 5, .without_link = true});
		for (int i = 0; i < 500; i++)
			synth_run(&s, &(struct synth_launch){.thread32 = 5});
		while (read(go[0], &byte, 1) < 0)
			continue;
		synth_finish(&s);
		_exit(0);
	}
	close(go[0]);
	for (int i = 0; i < 2; i++) {
		daemon = synth_daemon(folder, "0.3");
		is_i64(synth_query_until(folder, "SELECT launches_stored FROM loss", 501), 501,
		       "all are stored");
		kill(daemon, SIGKILL);
		waitpid(daemon, &status, 0);
	}
	daemon = synth_daemon(folder, "0.3");
	close(go[1]);
	waitpid(child, &status, 0);
	is_i64(synth_daemon_wait(daemon), 0, "the last daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	check_sums("killed after the first batch");
	is_i64(query("SELECT launches_linked FROM loss"), 501, "all have their kernels");
	is_i64(query("SELECT launches_linked_by_order FROM loss"), 1, "one of them by order");
	is_i64(query("SELECT launches_unlinked FROM loss"), 0, "none is told to have none");
	is_i64(query("SELECT count(DISTINCT launch_seq) FROM kernel_exec"), 501, "each its own");
	synth_folder_remove(folder);
}

/* More calls of one thread lie in the rings than the linker keeps of it: a daemon was away. */
static void test_full_rings(void)
{
	struct synth_options options = {.cells = {262144, 524288}};
	pid_t daemon, child;
	int status;

	synth_folder(folder);
	child = fork();
	if (!child) {
		struct synth s;

		if (synth_create(&s, &options))
			_exit(1);
		for (int i = 0; i < 200000; i++)
			synth_run(&s, &(struct synth_launch){.thread32 = 5,
			                                     .grid = 1 + (uint32_t)i % 9});
		synth_finish(&s);
		_exit(0);
	}
	waitpid(child, &status, 0);
	daemon = synth_daemon(folder, "0.3");
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	check_sums("rings full of calls");
	is_i64(query("SELECT launches_linked - launches_linked_by_order FROM loss"), 200000,
	       "all are linked exactly");
	synth_folder_remove(folder);
}

/* A launch call of a given number; `api` tells which record of it was kept. */
static void put_numbered(struct synth *s, uint64_t seq, uint32_t api)
{
	struct wt_launch record = {.seq = seq,
	                           .entry_ns = synth_now_ns(),
	                           .grid = {1, 1, 1},
	                           .block = {1, 1, 1},
	                           .result = 1,
	                           .thread32 = 1,
	                           .api = api};

	record.return_ns = record.entry_ns + 100;
	wt_ring_put(&s->ring[WT_RING_CALLS], WT_KIND_LAUNCH, 1, &record, sizeof(record));
}

/* Rows are written in groups: in any order, each number once, the first that came. */
static void test_numbers(void)
{
	static const uint64_t again[] = {38, 39, 20, 3};
	pid_t daemon, child;
	int status;

	synth_folder(folder);
	daemon = synth_daemon(folder, "0.3");
	child = fork();
	if (!child) {
		struct synth s;

		if (synth_create(&s, &(struct synth_options){0}))
			_exit(1);
		wt_add_relaxed(&s.producer->launch_attempted, 50);
		for (uint64_t i = 0; i < 40; i++)
			put_numbered(&s, i ^ 1, 1);
		for (int i = 0; i < 4; i++)
			put_numbered(&s, again[i], 2);
		/* All of these are stored, and decided: they failed. */
		if (synth_query_until(folder, "SELECT count(*) FROM launch_call", 40) != 40)
			_exit(2);
		put_numbered(&s, 7, 3);
		for (uint64_t i = 49; i >= 40; i--)
			put_numbered(&s, i, 1);
		put_numbered(&s, 44, 3);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "all were put, in two parts");
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(query("SELECT count(*) FROM launch_call"), 50, "each launch call is stored");
	is_i64(query("SELECT sum(api = 1) FROM launch_call"), 50, "as it came first");
	is_i64(query("SELECT launches_stored FROM loss"), 50, "and counted");
	is_i64(query("SELECT launches_failed FROM loss"), 50, "once");
	is_i64(query("SELECT cells_bad FROM loss"), 6, "second ones are counted as bad");
	synth_folder_remove(folder);
}

static void test_by_order(void)
{
	pid_t daemon, child;

	synth_folder(folder);
	daemon = synth_daemon(folder, "0.3");
	child = fork();
	if (!child) {
		struct synth s;
		uint64_t after_ns;
		uint32_t ids[60];

		if (synth_create(&s, NULL))
			_exit(1);
		for (uint32_t i = 0; i < 60; i++) {
			ids[i] = atomic_fetch_add(&s.next_correlation, 1);
			synth_call_record(&s, &(struct synth_launch){.grid = 10 + i % 3}, NULL);
		}
		/* Kernels in another order than the calls, and after all of them: the calls' times
		 * run ahead of the clock where they are made up faster than one per us. */
		after_ns = wt_load_relaxed(&s.last_entry_ns) + 10000;
		for (uint32_t i = 60; i-- > 0;)
			synth_kernel_record(
			        &s,
			        &(struct synth_launch){.grid = 10 + i % 3, .entry_ns = after_ns},
			        ids[i]);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	ok(synth_run_file(folder, file), "one run file");
	check_sums("by order");
	is_i64(query("SELECT launches_linked_by_order FROM loss"), 60, "all by order");
	is_i64(query("SELECT count(*) FROM kernel_exec WHERE link = 2 AND launch_seq = "
	             "correlation_id - 1"),
	       60, "each to the call it came from");
	synth_folder_remove(folder);
}

/* Cells claimed and never written, in both rings; then the process is killed. */
static void test_torn(void)
{
	pid_t daemon, child;
	int status;

	synth_folder(folder);
	daemon = synth_daemon(folder, "0.3");
	child = fork();
	if (!child) {
		struct synth s;
		uint64_t pos;

		if (synth_create(&s, NULL))
			_exit(1);
		for (int i = 0; i < 10; i++)
			synth_run(&s, &(struct synth_launch){.thread32 = 4});
		wt_add_relaxed(&s.producer->launch_attempted, 1);
		wt_ring_reserve(&s.ring[WT_RING_CALLS], 1, &pos);
		wt_add_relaxed(&s.producer->kernels_seen, 3);
		wt_ring_reserve(&s.ring[WT_RING_ACTIVITY], 3, &pos);
		for (int i = 0; i < 10; i++)
			synth_run(&s, &(struct synth_launch){.thread32 = 4});
		pause();
	}
	synth_query_until(folder, "SELECT launches_stored FROM loss", 10);
	ok(synth_run_file(folder, file), "one run file");
	is_i64(query("SELECT launches_stored FROM loss"), 10, "alive: a hole is waited for");
	is_i64(query("SELECT cells_torn FROM loss"), 0, "not skipped");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	check_sums("torn");
	is_i64(query("SELECT launches_linked FROM loss"), 20, "dead: what is whole is delivered");
	is_i64(query("SELECT cells_torn FROM loss"), 4, "the rest is counted");
	is_i64(query("SELECT launches_torn FROM loss"), 1, "one of it a launch");
	is_i64(query("SELECT kernels_torn FROM loss"), 3, "three kernels");
	is_i64(synth_segments_left(folder), 0, "no segment is left");
	synth_folder_remove(folder);
}

/* exec: same pid and start time, a newer segment. And a process that is not there any more. */
static void test_superseded(void)
{
	struct synth_options gone = {.pid = getpid(), .start_ticks = 1};
	struct synth older, newer, other;
	pid_t daemon;

	synth_folder(folder);
	ok(!synth_create(&older, NULL) && !synth_create(&newer, NULL) &&
	           !synth_create(&other, &gone),
	   "three segments");
	synth_run(&older, &(struct synth_launch){0});
	synth_run(&newer, &(struct synth_launch){0});
	synth_run(&other, &(struct synth_launch){0});
	daemon = synth_daemon(folder, "0.3");
	for (int i = 0; i < 3000 && synth_segments_left(folder) > 1; i++)
		usleep(10000);
	usleep(300000);
	is_i64(synth_segments_left(folder), 1, "the older one is over, and that of a reused pid");
	ok(access(newer.path, F_OK) == 0, "the newer one stays");
	kill(daemon, SIGTERM);
	is_i64(synth_daemon_wait(daemon), 0, "an orderly end");
	ok(synth_run_file(folder, file), "one run file");
	is_i64(query("SELECT count(*) FROM proc WHERE state = 'replaced'"), 1, "replaced by exec");
	is_i64(query("SELECT count(*) FROM proc WHERE state = 'killed'"), 1, "killed");
	is_i64(query("SELECT count(*) FROM proc WHERE state = 'live'"), 1, "live");
	is_i64(query("SELECT count(*) FROM launch_call"), 3, "all was stored");
	synth_unmap(&older);
	synth_unmap(&newer);
	synth_unmap(&other);
	synth_folder_remove(folder);
}

int main(void)
{
	test_classes();
	test_many();
	test_daemon_killed();
	test_killed_at_first();
	test_full_rings();
	test_numbers();
	test_by_order();
	test_torn();
	test_superseded();
	return tap_done();
}

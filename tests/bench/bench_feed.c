/*
 * bench_feed.c - synthetic processes, a daemon, and the books of its run file. Single-threaded: the processes
 * are children; waits for them and for the daemon.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define POLL_US 20000
#define SETTLE_US 500000
#define IDLE_S "2" /* the daemon ends so long after its last process: time to look at it */
#define LIMIT_S 7200.0 /* nothing moves any more */

/* ---- folders */

void bench_folder(char folder[512])
{
	char shm[] = "/dev/shm/wt-bench-XXXXXX", link[600];

	synth_folder(folder);
	if (!mkdtemp(shm))
		return;
	snprintf(link, sizeof(link), "%s/shm", folder);
	if (rmdir(link) || symlink(shm, link))
		abort();
	setenv("WAVETAP_SHM_DIR", shm, 1);
}

void bench_folder_remove(const char *folder)
{
	char link[600], shm[600];
	ssize_t n;

	if (!folder[0])
		return;
	snprintf(link, sizeof(link), "%s/shm", folder);
	n = readlink(link, shm, sizeof(shm) - 1);
	if (n > 0) {
		shm[n] = '\0';
		synth_folder_remove(shm);
	}
	synth_folder_remove(folder);
}

void bench_feed_end(const struct bench *b, struct bench_feed *feed)
{
	const char *name = strrchr(feed->file, '/');
	char kept[1200];

	if (b->keep && feed->is_live && name) {
		snprintf(kept, sizeof(kept), "%s%s", b->keep, name);
		if (rename(feed->file, kept))
			perror(kept);
		else
			bench_say(b, "kept %s", kept);
	}
	bench_folder_remove(feed->folder);
	feed->folder[0] = '\0';
}

/* ---- room on the disk */

static double last_bytes_each = 256; /* before anything is known: plain rows */

double bench_bytes_each(const struct bench_feed *feed)
{
	double bytes = (double)feed->file_bytes - BENCH_FIXED_BYTES;

	return bytes / (double)feed->launches;
}

bool bench_has_room(struct bench *b, uint64_t launches, const char *what)
{
	const char *tmp = getenv("TMPDIR");
	double want = 1.3 * last_bytes_each * (double)launches + 1e8, have;
	struct statvfs fs;

	if (statvfs(tmp && tmp[0] == '/' ? tmp : "/tmp", &fs))
		return true;
	have = (double)fs.f_bavail * (double)fs.f_frsize;
	if (have >= want)
		return true;
	bench_note(b, "skipped: %s: it takes %.1f GB, and %s has %.1f free", what, want / 1e9,
	           tmp && tmp[0] == '/' ? tmp : "/tmp", have / 1e9);
	return false;
}

/* ---- producers */

struct producers {
	struct stream_shared *shared;
	pid_t pid[STREAM_PROCESSES_MAX];
	struct stream_options options[STREAM_PROCESSES_MAX];
	unsigned count;
};

static uint64_t power_of_two(uint64_t least)
{
	uint64_t n = 4096;

	while (n < least)
		n *= 2;
	return n;
}

static bool start_producers(struct producers *p, const struct bench_feed *feed)
{
	uint64_t begin_ns, each = feed->launches / feed->processes;

	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shared == MAP_FAILED)
		return false;
	p->count = feed->processes;
	begin_ns = synth_now_ns() - each * STREAM_LAUNCH_NS - UINT64_C(10000000000);
	for (unsigned i = 0; i < p->count; i++) {
		p->options[i] = (struct stream_options){
		        .shared = p->shared,
		        .launches = each + (i < feed->launches % feed->processes),
		        .begin_ns = begin_ns,
		        .process = i,
		        .processes = p->count,
		        .threads = feed->threads,
		        .nodes = feed->nodes,
		        .is_paced = feed->is_live && !feed->is_flat_out,
		        .record_dir = getenv("WAVETAP_RECORD"),
		};
		p->options[i].cells[WT_RING_CALLS] = feed->cells;
		p->options[i].cells[WT_RING_ACTIVITY] = 2 * feed->cells;
		/* All of it has to fit, where nobody reads meanwhile. The daemon keeps 65,536 calls of a
		 * thread for links that come behind them; a ring of usual size holds half as many. */
		if (!feed->is_live) {
			p->options[i].hands = 8;
			p->options[i].cells[WT_RING_CALLS] =
			        power_of_two(4096 + p->options[i].launches / 4 * 5 /
			                                    (feed->nodes ? feed->nodes : 1));
			p->options[i].cells[WT_RING_ACTIVITY] =
			        power_of_two(p->options[i].launches / 2 * 3 + 4096);
		}
	}
	for (unsigned i = 0; i < p->count; i++) {
		p->pid[i] = fork();
		if (p->pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			stream_process(&p->options[i]);
		}
		if (p->pid[i] < 0)
			return false;
	}
	return true;
}

static uint64_t made(const struct producers *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->count; i++)
		sum += wt_load_relaxed(&p->shared->counts[i].kernels);
	return sum;
}

/* How many of them still run. */
static unsigned reap(struct producers *p)
{
	unsigned left = 0;

	for (unsigned i = 0; i < p->count; i++) {
		if (p->pid[i] > 0 && waitpid(p->pid[i], NULL, WNOHANG) == p->pid[i])
			p->pid[i] = 0;
		left += p->pid[i] > 0;
	}
	return left;
}

static void stop_producers(struct producers *p)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->pid[i] > 0) {
			kill(p->pid[i], SIGKILL);
			waitpid(p->pid[i], NULL, 0);
		}
}

/* ---- the books: what was made against what the file says */

struct truth {
	int64_t launches, kernels, kernel_ns, graph_launches, calls, launches_refused,
	        kernels_refused, links_refused, calls_refused, others_refused, copies, syncs;
};

static struct truth truth_of(const struct producers *p)
{
	struct truth t = {0};

	for (unsigned i = 0; i < p->count; i++) {
		const struct stream_counts *c = &p->shared->counts[i];

#define SUM(name) t.name += (int64_t)wt_load_relaxed(&c->name)
		SUM(launches);
		SUM(kernels);
		SUM(kernel_ns);
		SUM(graph_launches);
		SUM(calls);
		SUM(launches_refused);
		SUM(kernels_refused);
		SUM(links_refused);
		SUM(calls_refused);
		SUM(others_refused);
		SUM(copies);
		SUM(syncs);
#undef SUM
	}
	return t;
}

static void expect(struct bench *b, const struct bench_feed *feed, const char *what,
                   const char *sql, int64_t want)
{
	char query[512];
	int64_t got;

	snprintf(query, sizeof(query), "SELECT %s FROM loss", sql);
	got = synth_query(feed->file, query);
	if (got != want)
		bench_fail(b,
		           "%" PRIu64 " launches: %s: %" PRId64 " in the run file, %" PRId64
		           " in truth",
		           feed->launches, what, got, want);
}

static void check_books(struct bench *b, struct bench_feed *feed, const struct truth *t)
{
	expect(b, feed, "launches attempted", "sum(launches_attempted)", t->launches);
	expect(b, feed, "launches stored", "sum(launches_stored)",
	       t->launches - t->launches_refused);
	expect(b, feed, "launches dropped", "sum(launches_dropped)", t->launches_refused);
	expect(b, feed, "launches torn", "sum(launches_torn)", 0);
	expect(b, feed, "graph launches", "sum(graph_launches)", t->graph_launches);
	expect(b, feed, "kernels", "sum(kernels)", t->kernels - t->kernels_refused);
	expect(b, feed, "kernels without times", "sum(kernels_no_time)", 0);
	expect(b, feed, "kernels dropped", "sum(kernels_dropped_ring)", t->kernels_refused);
	expect(b, feed, "kernels torn", "sum(kernels_torn)", 0);
	expect(b, feed, "links dropped", "sum(links_dropped_ring)", t->links_refused);
	expect(b, feed, "calls dropped", "sum(calls_dropped)", t->calls_refused);
	expect(b, feed, "others dropped", "sum(other_dropped_ring)", t->others_refused);
	expect(b, feed, "cells bad, torn or skipped", "sum(cells_bad + cells_torn + cells_gap)", 0);
	expect(b, feed, "unexplained", "sum(unexplained)", 0);
	if (!t->others_refused) {
		expect(b, feed, "copies", "(SELECT count(*) FROM copy)", t->copies);
		expect(b, feed, "waits", "(SELECT count(*) FROM sync)", t->syncs);
	}
	if (!t->launches_refused && !t->kernels_refused && !t->links_refused && !t->calls_refused)
		expect(b, feed, "launches linked", "sum(launches_linked)", t->launches);
	feed->stored = t->kernels - t->kernels_refused;
	feed->refused = t->launches_refused + t->kernels_refused + t->links_refused +
	                t->calls_refused + t->others_refused;
	feed->kernel_ns = t->kernel_ns;
	feed->unexplained = synth_query(feed->file, "SELECT sum(unexplained) FROM loss");
	feed->late =
	        synth_query(feed->file, "SELECT sum(kernels_late + kernels_refused) FROM sweep");
}

/* ---- the daemon */

static void look(struct bench_feed *feed, pid_t daemon, uint64_t launches)
{
	struct bench_point *point = &feed->point[feed->point_count];

	if (feed->point_count == BENCH_POINTS_MAX || !bench_memory_of(daemon, &point->memory))
		return;
	point->launches = launches;
	feed->point_count++;
}

static bool is_ended(pid_t daemon, struct bench_feed *feed, double begun_s)
{
	struct rusage usage;
	int status;

	if (wait4(daemon, &status, WNOHANG, &usage) != daemon)
		return false;
	feed->use = (struct bench_use){
	        .wall_s = bench_now_s() - begun_s,
	        .cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
	        .peak_bytes = (uint64_t)usage.ru_maxrss * 1024,
	        .status = status,
	};
	return true;
}

/* Until all is stored: looks at the daemon as often as asked for. False: it is gone, or nothing moves. */
static bool watch(struct bench *b, struct bench_feed *feed, struct producers *p, pid_t daemon,
                  double begun_s)
{
	uint64_t step = feed->points ? feed->launches / feed->points : 0, next = step;

	while (reap(p) > 0 || synth_segments_left(feed->folder) > 0) {
		uint64_t launches = made(p);

		if (step && launches >= next) {
			look(feed, daemon, launches);
			bench_say(b, "%" PRIu64 " launches, %.0f s", launches,
			          bench_now_s() - begun_s);
			next = launches - launches % step + step;
		}
		if (is_ended(daemon, feed, begun_s)) {
			bench_fail(b, "the daemon ended early, status %d", feed->use.status);
			return false;
		}
		if (bench_now_s() - begun_s > LIMIT_S) {
			bench_fail(b, "not done after %.0f s", LIMIT_S);
			return false;
		}
		usleep(POLL_US);
	}
	feed->stored_s = bench_now_s() - begun_s;
	usleep(SETTLE_US);
	bench_memory_of(daemon, &feed->settled);
	return true;
}

/* The daemon beside its producers, or after them. */
static bool run_daemon(struct bench *b, struct bench_feed *feed, struct producers *p)
{
	double begun_s = bench_now_s();
	pid_t daemon;
	bool is_good = true;

	if (!feed->is_live) {
		while (reap(p) > 0)
			usleep(1000);
		begun_s = bench_now_s();
	}
	daemon = synth_daemon(feed->folder, feed->is_live ? IDLE_S : "0");
	if (feed->is_live) {
		is_good = watch(b, feed, p, daemon, begun_s);
		if (!is_good)
			kill(daemon, SIGTERM);
	}
	while (feed->use.wall_s == 0 && !is_ended(daemon, feed, begun_s))
		usleep(1000);
	if (is_good && feed->use.status) {
		bench_fail(b, "the daemon ended with status %d", feed->use.status);
		is_good = false;
	}
	return is_good;
}

bool bench_feed(struct bench *b, struct bench_feed *feed)
{
	struct producers p = {.count = 0};
	struct truth truth;
	struct stat status;
	bool is_good;

	bench_folder(feed->folder);
	is_good = start_producers(&p, feed);
	if (!is_good)
		bench_fail(b, "synthetic processes could not be started: %s", strerror(errno));
	is_good = is_good && run_daemon(b, feed, &p);
	stop_producers(&p);
	if (is_good && wt_load_relaxed(&p.shared->failed)) {
		bench_fail(b, "a synthetic process could not begin: no room in shared memory?");
		is_good = false;
	}
	if (is_good && (!synth_run_file(feed->folder, feed->file) || stat(feed->file, &status))) {
		bench_fail(b, "the daemon left no run file");
		is_good = false;
	}
	if (is_good) {
		truth = truth_of(&p);
		feed->file_bytes = (uint64_t)status.st_size;
		check_books(b, feed, &truth);
		if (feed->launches >= 100000)
			last_bytes_each = bench_bytes_each(feed);
	}
	if (p.shared && p.shared != MAP_FAILED)
		munmap(p.shared, sizeof(*p.shared));
	return is_good;
}

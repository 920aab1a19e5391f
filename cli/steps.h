/*
 * steps.h - the steps of a run: loads the launches of a process, has them found
 * (analysis/steps.h), and measures each.
 *
 * A step's time runs from the start of its first kernel to that of the next step's, on the GPU's
 * clock; the last one's to the end of its last kernel. If no kernel has a time (hooks only), from
 * call to call instead.
 *
 * Time O(n log n). Memory: about 170 bytes for each launch of the process. Single-threaded; blocks
 * on the file.
 */
#ifndef WT_CLI_STEPS_H
#define WT_CLI_STEPS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/steps.h"

struct wt_run_step {
	int64_t start_ns, end_ns;
	int64_t launches; /* of kernels and of graphs */
	int64_t busy_ns; /* some kernel of the process ran (union) */
	bool is_steady, is_alike;
};

/* One of the run's processes, the launches of which are looked at. */
struct wt_steps_query {
	int64_t process_id; /* -1: the one with most launches */
	int64_t marker_kernel_id; /* steps begin at each launch of it; -1: not at a kernel */
	const char *
	        marker_range; /* they begin with ranges of that name, or glob; NULL: not with one */
};

struct wt_run_steps {
	struct wt_steps found; /* its `steps` are those of `steps` below */
	struct wt_run_step *steps;
	size_t count;
	int64_t process_id, pid;
	int64_t processes; /* of the run, with launches */
	int64_t launches; /* looked at */
	bool is_marked; /* by the query's kernel or range */
	bool is_gpu_time; /* false: times are those of calls, and busy_ns is not known */
	bool is_of_thread; /* only launches of the thread with most: others have no part in it */
	int64_t first_ns, last_ns; /* of all the process' activity, on the same clock */
	/* The steady window, valid where found. */
	int64_t steady_start_ns, steady_end_ns;
	char problem[200]; /* after -EIO: what SQLite said */
};

/*
 * In one read transaction, or in the caller's. 0 or -errno; -ENOENT: no such process, or none that launched anything.
 * None found is 0, with found.reason. wt_run_steps_fini() in either case.
 */
int wt_run_steps_load(sqlite3 *db, const struct wt_steps_query *query, struct wt_run_steps *steps);
void wt_run_steps_fini(struct wt_run_steps *steps);

/* Of step i (from 0): "steady", "start-up" before those, else "odd". */
const char *wt_run_step_kind(const struct wt_run_steps *steps, size_t i);

struct wt_run_file;

/* What a word for --step-marker means, into the query. An enum wt_exit, after a message. */
int wt_steps_find_marker(const struct wt_run_file *run, const char *spec,
                         struct wt_steps_query *query);

#endif /* WT_CLI_STEPS_H */

/*
 * steps_load.h - the launches of a process as the step finder wants them. Single-threaded; blocks
 * on the file. Memory: 72 bytes a launch, and 16 bytes a kernel.
 */
#ifndef WT_CLI_STEPS_LOAD_H
#define WT_CLI_STEPS_LOAD_H

#include <sqlite3.h>

#include "analysis/interval.h"
#include "analysis/steps.h"

struct wt_step_launch {
	struct wt_step_item item;
	int64_t start_ns, end_ns; /* of its kernel or kernels; 0: not known */
	int64_t kernel_id; /* 0: a graph, or not known */
	uint32_t thread32;
};

struct wt_step_launches {
	struct wt_step_launch *at; /* by time of call */
	size_t count;
	struct wt_interval *busy; /* its kernels on all devices, united */
	size_t busy_count;
	size_t timed; /* launches with kernel times */
	int64_t *mark_ns; /* when ranges that mark steps began, ascending */
	size_t mark_count;
};

/* 0 or -errno; wt_step_launches_fini() in either case. */
int wt_step_launches_load(sqlite3 *db, int64_t process_id, struct wt_step_launches *launches);
/* Ranges of that name (or glob) as marks, and the end of the last one: those within one another
 * count once. 0 or -errno. */
int wt_step_marks_load(sqlite3 *db, int64_t process_id, const char *word,
                       struct wt_step_launches *launches);
void wt_step_launches_fini(struct wt_step_launches *launches);

#endif /* WT_CLI_STEPS_LOAD_H */

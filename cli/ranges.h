/*
 * ranges.h - the named ranges of a run and the kernels launched inside them.
 *
 * Loaded whole: 56 bytes a range, 80 bytes a kernel. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_RANGES_H
#define WT_CLI_RANGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/ranges.h"

enum { WT_RUN_RANGE_PUSH = 1, WT_RUN_RANGE_START = 2 }; /* range_event.type */

struct wt_run_range {
	int64_t range_id, name_id, process_id, tid;
	int64_t start_ns, end_ns; /* end INT64_MAX: it never ended */
	int64_t depth;
	int type;
};

/* A name, as people see it. */
struct wt_run_range_name {
	int64_t name_id;
	char *domain; /* "" = the default domain */
	char *name; /* NULL: no name was given */
};

/* A kernel whose launch call is known. */
struct wt_run_range_kernel {
	int64_t exec_id, process_id, entry_ns, tid;
	int64_t time_ns; /* -1: no usable time */
	int64_t sm_count;
	int64_t idle_sm_ns; /* underfill and wave; -1: not judged */
};

struct wt_run_ranges {
	struct wt_run_range_name *names;
	size_t name_count;
	struct wt_run_range *ranges;
	size_t count;
	struct wt_run_range_kernel *kernels;
	size_t kernel_count;
};

/* Is the text NAME, or does it match as a glob, alone or as "domain/name"? */
bool wt_range_matches(const char *word, const char *domain, const char *name);

/* Does the file know of ranges at all? */
bool wt_run_has_ranges(sqlite3 *db);

/*
 * Names and ranges; `word` NULL: all, else those that match it. Kernels come with
 * wt_run_ranges_load_kernels(): those of the whole run, or with `is_selected` those that a
 * selection shows. 0 or -errno; wt_run_ranges_fini() in any case.
 */
int wt_run_ranges_load(sqlite3 *db, const char *word, struct wt_run_ranges *ret_ranges);
int wt_run_ranges_load_kernels(sqlite3 *db, bool is_selected, struct wt_run_ranges *ranges);
void wt_run_ranges_fini(struct wt_run_ranges *ranges);

/* For readers that tell kernels inside ranges from others: says on stderr, once, if ranges were lost. */
void wt_run_ranges_tell_lost(sqlite3 *db);

/*
 * `hit` gets indices of kernels and ranges: see analysis/ranges.h. `is_any_thread`: launches of other
 * threads are in pushed ranges, too. PyTorch, for one, goes backward on a thread of its own.
 */
int wt_run_ranges_assign(const struct wt_run_ranges *ranges, bool is_any_thread,
                         wt_range_hit_fn hit, void *arg);

/* The index of a name, SIZE_MAX if it is not there. */
size_t wt_run_ranges_name(const struct wt_run_ranges *ranges, int64_t name_id);

#endif /* WT_CLI_RANGES_H */

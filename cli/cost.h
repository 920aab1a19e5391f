/*
 * cost.h - what wavetap itself took in the processes of a run: read from `own_cost` and `hook_time`, as
 * text and JSON. Single-threaded; reading blocks on the file.
 *
 * INCLUDED: the hooks of launches and other calls, by those that were timed (analysis/cost.h), and the
 * time in CUPTI's buffer callbacks, without the application's own profiler's. NOT: what CUPTI takes inside
 * the driver's calls and on its own threads, which can't be told from the driver's from inside; hooks of
 * named ranges and of symbol lookups; the daemon.
 */
#ifndef WT_CLI_COST_H
#define WT_CLI_COST_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cost.h"

struct wt_json;
struct wt_phrase;

/* A process with a limit that needs a word: exceeded, or not understood. */
struct wt_cost_budget {
	int64_t process_id, pid;
	int64_t state; /* enum wt_budget_state */
	double limit_pct, cost_pct; /* of wall time; 0 = none, not exceeded */
	int64_t stepped_ns; /* kernels are not observed from here on; 0 = they are */
	int64_t after_ns; /* of that, since the run's first launch */
	int64_t unobserved_ns; /* how long it went on */
};

struct wt_cost {
	const char *reason; /* NULL, or why hooks are not known; static text */
	bool is_damaged; /* numbers that can't be: nothing of it is known */
	int64_t launches; /* and graph launches, of processes that have a row */
	int64_t p50_ns, p99_ns; /* WT_COST_UNKNOWN: too few were timed */
	int64_t launches_ns, calls_ns; /* of all hooks; WT_COST_UNKNOWN */
	int64_t callback_ns, flush_cpu_ns; /* the former mostly within the latter */
	int64_t start_ns, threads, thread_ns, wall_ns;
	int64_t app_callback_ns, cupti_callbacks, cupti_bytes, bytes_written;
	uint64_t hook_time[WT_COST_BUCKETS];
	struct wt_cost_budget *budgets;
	size_t budget_count;
};

/* Of all processes. Free with wt_cost_fini() in either case. 0 or -errno. */
int wt_cost_read(sqlite3 *db, struct wt_cost *ret_cost);
void wt_cost_fini(struct wt_cost *cost);

/* Hooks and callbacks; WT_COST_UNKNOWN if hooks are not known. */
int64_t wt_cost_own_ns(const struct wt_cost *cost);

/* Phrases of a foot; `whole` says of what, "" of all that is shown. */
void wt_cost_add(struct wt_phrase *line, const struct wt_cost *cost, const char *whole);
/* A line for each process that exceeded its limit, or whose limit was not understood. */
void wt_cost_print_budgets(struct wt_phrase *line, const struct wt_cost *cost);

/* The member `cost`. */
void wt_cost_put(struct wt_json *json, const struct wt_cost *cost);

#endif /* WT_CLI_COST_H */

/*
 * show.h - everything about one kernel of a run: what `wavetap show` prints.
 *
 * Reads the single launches of the kernel: time O(n log n) in them plus one pass over the run's
 * kernels; memory 24 bytes a launch. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_SHOW_H
#define WT_CLI_SHOW_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/rates.h"
#include "cli/report.h"

#define WT_SHOW_BINS 10
#define WT_SHOW_ADVICE_BYTES 320

/* Of a set of times. count 0: nothing is known. */
struct wt_show_times {
	int64_t count;
	int64_t min_ns, median_ns, p99_ns, max_ns; /* p99: 99 of 100 take at most this long */
	double mean_ns, deviation_ns; /* of the population */
};

/* Launches that took from low_ns to high_ns; the last bin has its end, the others don't. */
struct wt_show_bin {
	int64_t low_ns, high_ns;
	int64_t count;
};

/* What the model says of one launch by itself, as mean SMs over its duration. */
struct wt_show_model {
	bool is_judged; /* the wave is known, and with it the active SMs */
	double active_sms; /* with the least of the wave */
	double underfill_sms, wave_sms, wave_max_sms;
	double occupancy_warps; /* resident at the most; < 0: not known */
	double max_warps; /* of an SM; 0: not known */
	double dram_peak_bytes_per_ns; /* 0: not known */
};

struct wt_show_config {
	struct wt_report_row row; /* grouped by configuration; texts are the report's */
	int64_t blocks; /* G */
	int64_t resident_blocks; /* C, 0 = not known */
	int64_t sm_count;
	bool is_collective;
	struct wt_show_model model;
	struct wt_rates measured;
	char lift
	        [WT_SHOW_ADVICE_BYTES]; /* what would let one more block onto an SM; "" = nothing */
	char advice[WT_SHOW_ADVICE_BYTES]; /* what the grid loses, and the bound; "" = nothing */
};

struct wt_show {
	struct wt_report report; /* by configuration, of all kernels */
	struct wt_report_row total; /* of the kernel; texts are the report's */
	char *demangled;
	struct wt_show_config *configs; /* most time first */
	size_t config_count;
	struct wt_show_times durations;
	struct wt_show_times call; /* entry to return of the launch call */
	struct wt_show_times start; /* entry of the call to start of the kernel */
	struct wt_show_bin bins[WT_SHOW_BINS];
	size_t bin_count;
	bool is_collective; /* its replay by ncu would wait for the other ranks for ever */
	char *ncu; /* the command that profiles a launch in the middle; NULL: can't be told, or so */
	char problem[200]; /* after -EIO: what SQLite said */
};

/*
 * Of what is selected (`select` is applied, or NULL): of launches that a window cuts, durations are
 * whole. 0 or -errno; -ENOENT: no launch of that kernel. Free with wt_show_fini() anyway.
 */
int wt_show_load(sqlite3 *db, const struct wt_select *select, int64_t kernel_id,
                 struct wt_show *show);
void wt_show_fini(struct wt_show *show);

/* show_model.c: fills `model` and `measured`. 0 or -errno. */
int wt_show_measure(sqlite3 *db, struct wt_show_config *config);

/* show_advice.c: fills `lift` and `advice`. 0 or -EIO. */
int wt_show_advise(sqlite3 *db, struct wt_show_config *config);

#endif /* WT_CLI_SHOW_H */

/*
 * gpu_state.h - what NVML said of a device during a run: throttled clocks, other processes.
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_GPU_STATE_H
#define WT_CLI_GPU_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/phrase.h"

#define WT_THROTTLE_TEXT_BYTES 160

/* Reasons that hold clocks down while work waits: not idleness, not a setting that was asked for. */
#define WT_THROTTLE_MASK UINT64_C(0xec)

/* Those of nvmlClocksEventReasons in words, joined by ", "; "" for none that throttles. */
char *wt_throttle_text(char text[WT_THROTTLE_TEXT_BYTES], uint64_t reasons);

/* Of a device in a window: states as they were asked for, each standing until the next. */
struct wt_gpu_states {
	int64_t count; /* times that NVML was asked; 0: nothing is known */
	int64_t throttled; /* of them, with one of WT_THROTTLE_MASK */
	uint64_t reasons; /* all that came up */
	int64_t foreign_known, foreign; /* with processes known; with others than ours */
	int64_t foreign_pid; /* one of them; 0: none */
	int64_t foreign_max; /* at once */
	int64_t clock_min_mhz, clock_max_mhz; /* 0: not known */
	double throttled_mhz; /* mean of readings that were throttled; 0: not known */
	int64_t temperature_max_c; /* 0: not known */
	double power_mean_w; /* 0: not known */
};

/* 0 or -EIO. Nothing in files without such a table. */
int wt_gpu_states_load(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                       struct wt_gpu_states *ret_states);

/* Phrases for people: throttled, other processes; nothing where all was as it should be. True: said. */
bool wt_gpu_states_say(struct wt_phrase *line, const struct wt_gpu_states *states);

#endif /* WT_CLI_GPU_STATE_H */

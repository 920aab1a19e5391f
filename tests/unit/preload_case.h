/*
 * preload_case.h - for tests that run with libwavetap.so preloaded over the simulated GPU.
 *
 * preload_case_start() starts the test program again, preloaded, with a temporary folder for
 * segments and data; the folder is removed when the outer process sees the inner one end.
 */
#ifndef PRELOAD_CASE_H
#define PRELOAD_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wt_segment.h"

/* Returns in the preloaded process only. `settings`: NAME=VALUE words, NULL at the end. */
void preload_case_start(char **argv, const char *const *settings);

/* A segment file, mapped whole and read-only. */
struct case_segment {
	const struct wt_segment_header *header;
	const struct wt_producer *producer;
	const struct wt_cell *cells; /* of ring 0 */
	uint64_t tail;
};

/* Number of segment files there are; maps that of `pid` if there is one. */
int case_segment_count(void);
bool case_segment_map(int pid, struct case_segment *ret_segment);

/* Launch records of one api (0 = all) in ring 0. */
int case_launch_count(const struct case_segment *segment, unsigned api);

/* File name (without folder) of the object that holds `address`; "" if none. */
const char *case_module_of(const void *address);

/* The simulated driver, loaded; one context, one kernel. */
struct case_gpu {
	void *library;
	void *context;
	void *function;
	void *stream;
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	              unsigned bz, unsigned smem, void *stream, void **params, void **extra);
	int (*synchronize)(void);
	int (*set_current)(void *context);
};
void case_gpu_open(struct case_gpu *ret_gpu);
int case_gpu_launch(const struct case_gpu *gpu);

#endif /* PRELOAD_CASE_H */

/*
 * merge.h - runs of several hosts or ranks made into one: `wavetap merge`.
 *
 *   merge_source.c  what each run is: processes, ranks, clocks, collectives of one of its members
 *   merge_align.c   by how much each clock is moved (analysis/align.h), or why that can't be told
 *   merge_copy.c    its rows into the new file, with new ids and times
 *
 * Runs are opened one at a time. Memory: 24 bytes a collective of one member of each run, and what
 * deriving takes (daemon/rederive.h). Time: linear in rows. Single-threaded; blocks on files.
 */
#ifndef WT_CLI_MERGE_H
#define WT_CLI_MERGE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/align.h"
#include "analysis/map.h"
#include "cli/run_file.h"

#define WT_MERGE_OFFSET_MAX_NS INT64_C(60000000000) /* clocks of one job are not further apart */

enum wt_merge_clock {
	WT_MERGE_REFERENCE,
	WT_MERGE_COLLECTIVES,
	WT_MERGE_LAUNCHES,
	WT_MERGE_SAME_HOST,
	WT_MERGE_AS_IT_WAS
};

/* "same host": static text, also in the run file and in JSON. */
const char *wt_merge_clock_name(enum wt_merge_clock clock);

/* A process with kernels. */
struct wt_merge_process {
	int64_t process_id, rank, world_size; /* rank, world_size -1: not given */
	char uuid[33];
};

struct wt_merge_source {
	struct wt_db_run_file info;
	char boot[48]; /* of all its processes; "": several */
	struct wt_merge_process *processes;
	size_t process_count;
	char *gpus; /* "1x NVIDIA H200" */
	struct wt_align_event *events; /* of one member */
	size_t event_count;
	bool is_by_launches; /* what the events are */
	enum wt_merge_clock clock;
	struct wt_align align; /* reason: why its clock can't be moved */
	int64_t first_process, last_process; /* in the new file */
};

struct wt_merge {
	struct wt_merge_source *sources;
	size_t count, reference;
	struct wt_map names; /* hash of a kernel's name -> number */
	uint32_t name_count;
	int64_t world_size; /* -1: not given */
	int64_t ranks; /* distinct ones; 0: none has one */
	char missing[200]; /* "3, 5-7": ranks that are in none; "" : none, or not known */
};

/* What is in the run at `path`; takes events by launches where is_by_launches. An enum wt_exit, after a message. */
int wt_merge_read(struct wt_merge *merge, const char *path, bool is_by_launches,
                  struct wt_merge_source *source);
void wt_merge_source_fini(struct wt_merge_source *source);

/* Are they of one job, each once? An enum wt_exit, after a message. Finds what is missing. */
int wt_merge_judge(struct wt_merge *merge);

/* Sets clock and align of each, whose reason may say why not. 0 or -ENOMEM. */
int wt_merge_align(struct wt_merge *merge);

/* The next run into `out`. Inside the caller's transaction. An enum wt_exit, after a message. */
struct wt_merge_copy;
int wt_merge_copy_begin(sqlite3 *out, struct wt_merge_copy **ret_copy);
int wt_merge_copy_run(struct wt_merge_copy *copy, struct wt_merge_source *source);
void wt_merge_copy_end(struct wt_merge_copy *copy); /* NULL is fine */

#endif /* WT_CLI_MERGE_H */

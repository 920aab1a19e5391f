/*
 * replay.h - recordings back into a run file, through the daemon's own drain and store.
 *
 * Each block of a recording is laid into a private segment, as the library once laid it into
 * shared memory, and drained by wt_drain() at the time of the daemon's clock that the block
 * tells: link, configurations, rollups and rows come from the code that made the live run.
 * Several recordings of one run are taken in the order of their blocks' times, as they were.
 *
 * One thread; blocks on files. A replay is used once: create, add, begin, step until 0, finish.
 */
#ifndef WT_REPLAY_H
#define WT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_REPLAY_WHY_BYTES 600

/* What came out of one recording. */
struct wt_replay_source {
	const char *path; /* the caller's */
	int32_t pid; /* 0: the recording tells no process */
	char run_key[256];
	char hostname[72];
	uint64_t file_bytes; /* of a pipe 0 until it was read to its end */
	uint64_t good_bytes; /* up to the end of the last whole block */
	uint64_t blocks, cells, launches, kernels;
	uint64_t cells_torn; /* claimed by the program and never written */
	uint64_t cells_missing; /* between two blocks, or before the first one */
	bool is_whole; /* to the end of the process */
	char why[160]; /* when it isn't */
};

struct wt_replay;

struct wt_replay *wt_replay_create(void);
void wt_replay_destroy(struct wt_replay *replay);

/* Opens a recording and reads its first block. 0 or -errno, with a line in `why`. */
int wt_replay_add(struct wt_replay *replay, const char *path, char why[WT_REPLAY_WHY_BYTES]);

/* No recording has a whole block: there is nothing to import. */
bool wt_replay_is_empty(const struct wt_replay *replay);

/* CLOCK_REALTIME of the first process: the run's own time. */
uint64_t wt_replay_created_ns(const struct wt_replay *replay);

/* The id that the run will have. Its key is its own, so that no daemon takes it for the job's. */
unsigned wt_replay_run_id(struct wt_replay *replay);

/*
 * Makes the run file `path` (which is not there, or empty; ":memory:" keeps nothing). `name`
 * NULL: as recorded. 0 or -errno with `why`: -EINVAL, recordings that don't belong together.
 */
int wt_replay_begin(struct wt_replay *replay, const char *path, const char *name,
                    char why[WT_REPLAY_WHY_BYTES]);

/* One block. 1: go on; 0: all is stored; or -errno with `why`. */
int wt_replay_step(struct wt_replay *replay, char why[WT_REPLAY_WHY_BYTES]);

/* Closes the run file; it is whole then. 0 or -errno with `why`. */
int wt_replay_finish(struct wt_replay *replay, char why[WT_REPLAY_WHY_BYTES]);

/* Bytes read so far and in all, for a progress line. */
void wt_replay_progress(const struct wt_replay *replay, uint64_t *ret_done, uint64_t *ret_all);

size_t wt_replay_count(const struct wt_replay *replay);
const struct wt_replay_source *wt_replay_source(const struct wt_replay *replay, size_t index);
/* The run file's connection between the last step and finish. */
struct sqlite3 *wt_replay_db(const struct wt_replay *replay);

#endif /* WT_REPLAY_H */

/*
 * gc.h - what `wavetap gc` finds and removes.
 *
 *	gc_segments.c   shared memory: segments, lock, socket
 *	gc_runs.c       the data directory: runs beyond limits, journals, damaged and half-made files
 *	cmd_gc.c        options, the daemon, what is printed
 *
 * Nothing is lost: what a dead process left in shared memory is given to a daemon first, and what
 * can't be stored goes only with --force. What belongs to a living process or to somebody else
 * never goes. Single-threaded; blocks on files and up to the stated time on the daemon.
 */
#ifndef WT_CLI_GC_H
#define WT_CLI_GC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wt_keep.h"
#include "schema/wt_paths.h"

enum wt_gc_action {
	WT_GC_REMOVED, /* or would be, in a dry run */
	WT_GC_STORED, /* segments: their records are in the run now, the file is gone */
	WT_GC_KEPT,
	WT_GC_FAILED,
};

struct wt_gc_item {
	enum wt_gc_action action;
	const char *kind; /* static: segment lock socket run journal temporary damaged */
	char path[WT_PATH_BYTES + 300];
	int64_t bytes;
	char reason[400];
};

struct wt_gc {
	char data_dir[WT_PATH_BYTES], runs_dir[WT_PATH_BYTES + 8];
	struct wt_keep keep;
	bool is_dry_run, is_forced;
	bool is_own_only; /* no word about segments of other data directories */
	bool has_daemon; /* it answers; else lock_fd is held, or -1 in a dry run */
	int lock_fd;
	const char *keep_path; /* a run that stays whatever the limits say; NULL: none */

	struct wt_gc_item *items;
	size_t count, room;
	int failed_count;
};

/* 0 or -ENOMEM. */
int wt_gc_note(struct wt_gc *gc, enum wt_gc_action action, const char *kind, const char *path,
               int64_t bytes, const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * Segments; starts a daemon for those of dead processes and waits for it. Then, if no daemon is
 * left to do so, takes its lock and removes lock and socket. 0 or -ENOMEM.
 */
int wt_gc_segments(struct wt_gc *gc);

/* Runs and what lies beside them. 0, -ENOMEM, or another -errno after a message. */
int wt_gc_runs(struct wt_gc *gc);

/* Only the limits, as `run --keep` applies them. Likewise. */
int wt_gc_limits(struct wt_gc *gc);

/* Gives the lock back, and starts a daemon if a program needs one that began meanwhile. */
void wt_gc_end(struct wt_gc *gc);

/* The reason of what is kept because all is well. */
#define WT_GC_IS_RUNNING "its process is running"

/* Is a segment of this process there? `name_part`: "<pidns>-<pid>-<start>-". */
bool wt_gc_has_segment(const struct wt_gc *gc, const char *name_part);

#endif /* WT_CLI_GC_H */

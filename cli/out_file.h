/*
 * out_file.h - a file that appears under its name only when it is whole.
 *
 * Written beside its place under a temporary name, then renamed. SIGINT, SIGTERM and SIGHUP
 * remove what was begun: one such file at a time, single-threaded. Blocks on files.
 */
#ifndef WT_CLI_OUT_FILE_H
#define WT_CLI_OUT_FILE_H

#include <stdbool.h>

#include "schema/wt_paths.h"

/* Are both names of one file? What is read must not be replaced by what is made of it. */
bool wt_out_file_is_same(const char *a, const char *b);

struct wt_out_file {
	const char *path;
	char temporary[WT_PATH_BYTES]; /* write here */
	bool is_replacing; /* an existing file may go */
};

/* Makes the empty temporary file. 0, -EEXIST: `path` exists and may not be replaced, or -errno. */
int wt_out_file_begin(struct wt_out_file *file, const char *path, bool is_replacing);

/* Flushes it to disk and gives it its name. 0 or -errno; then it is gone. */
int wt_out_file_commit(struct wt_out_file *file);

/* Removes it. */
void wt_out_file_abort(struct wt_out_file *file);

#endif /* WT_CLI_OUT_FILE_H */

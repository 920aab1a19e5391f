/*
 * baseline.h - runs that are kept under a name, to compare others with: copies of run files in
 * <data directory>/baselines/NAME/, so that neither gc nor a later run of the same name changes them.
 * Single-threaded; blocks on files.
 */
#ifndef WT_CLI_BASELINE_H
#define WT_CLI_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

/* A list of words, malloc'd. */
struct wt_baseline_files {
	char **paths;
	size_t count;
};

/* Letters, digits, '.', '-' and '_', not beginning with '.' or '-'; at most 64; neither "latest" nor what an id of a run may be. */
bool wt_baseline_is_name(const char *name);

/* The files of a baseline, in the order in which they were given. 0 or -errno; -ENOENT: there is none. */
int wt_baseline_files(const char *name, struct wt_baseline_files *ret_files);
void wt_baseline_files_fini(struct wt_baseline_files *files);

#endif /* WT_CLI_BASELINE_H */

/*
 * baseline_store.h - how folders of baselines are made, replaced and removed: see baseline.h for what is in them.
 *
 * A new one is filled under a hidden name (.NAME.XXXXXX) and takes its name when it is whole, in one step where the
 * file system can exchange two names; where not, what had the name is .NAME.XXXXXX~ for a moment. Whoever is killed
 * leaves hidden folders; the next to open the store removes them, or gives one that ends in ~ its name back.
 * What is being filled is locked (flock) and left alone; so is the folder of them all while names change. Links are not
 * followed, and a folder with anything but copies of runs in it is not touched.
 *
 * Single-threaded; blocks on files, and on others that change names.
 */
#ifndef WT_CLI_BASELINE_STORE_H
#define WT_CLI_BASELINE_STORE_H

#include "schema/wt_paths.h"

#define WT_BASELINE_PATH_BYTES (2 * WT_PATH_BYTES)

/* Into `path`: <data directory>/baselines/NAME, or without "/NAME" for "". 0 or -errno after a message. */
int wt_baseline_path(const char *name, char path[WT_BASELINE_PATH_BYTES]);

struct wt_baseline_new {
	int store_fd, fd; /* of all baselines; of the new folder, locked */
	char path[WT_BASELINE_PATH_BYTES]; /* of the new folder, while it is hidden */
};

/* An empty folder to fill. 0 or -errno; wt_baseline_new_end() in either case. */
int wt_baseline_new_begin(const char *name, struct wt_baseline_new *new_one);
/* It becomes the baseline `name`; what had the name goes. 0 or -errno, as wt_baseline_remove(). */
int wt_baseline_new_keep(struct wt_baseline_new *new_one, const char *name);
/* What was not kept goes. */
void wt_baseline_new_end(struct wt_baseline_new *new_one);

/* 0 or -errno; -ENOENT: there is none; see wt_baseline_problem(). */
int wt_baseline_remove(const char *name);

/* What is wrong, for a message; static text. */
const char *wt_baseline_problem(int err);

#endif /* WT_CLI_BASELINE_STORE_H */

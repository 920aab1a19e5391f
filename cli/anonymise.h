/*
 * anonymise.h - takes what tells of people, machines and programs out of a copy of a run file.
 *
 * Replaced by hashes with a key: names of hosts and programs, ids of the run, processes, GPUs and boots;
 * with names, also those of kernels and ranges. Numbered: pids and threads. Left out: paths, users,
 * parents, other programs on the GPU. What stays: doc/run-file.md. The same key gives the same
 * hashes; without one it is drawn, and nobody can try names against them. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_ANONYMISE_H
#define WT_CLI_ANONYMISE_H

#include <stdbool.h>

struct wt_anonymise {
	const char *key; /* NULL: a random one */
	bool has_names; /* kernels and ranges, too */
};

/* In place: `path` is a copy with plain rows that nobody else reads. An enum wt_exit, after a message. */
int wt_anonymise(const char *path, const char *shown_path, const struct wt_anonymise *how);

#endif /* WT_CLI_ANONYMISE_H */

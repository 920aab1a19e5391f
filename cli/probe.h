/*
 * probe.h - trying something that may hang or crash: in a child, with a time limit.
 *
 * The child is a process group of its own and is killed at the end of its time, with what it has
 * started. Single-threaded callers only (it forks). Blocks for the time limit at most.
 */
#ifndef WT_CLI_PROBE_H
#define WT_CLI_PROBE_H

#include <stddef.h>

#define WT_PROBE_TEXT_BYTES 16384

struct wt_probe_result {
	int error; /* 0: it ended; -ETIMEDOUT, or why there was no child (-errno) */
	int status; /* of waitpid; 0 = ended well */
	char text[WT_PROBE_TEXT_BYTES]; /* what it wrote, cut off; ends in NUL */
};

/* Calls `work` in a child; what it writes to `fd` is the text, its stdout and stderr are lost. */
void wt_probe_call(void (*work)(const void *arg, int fd), const void *arg, int timeout_ms,
                   struct wt_probe_result *ret);

/*
 * Runs a program; its stdout and stderr are the text. `preload` becomes its LD_PRELOAD; NULL: it
 * gets none. Exit code 127 without a word: it could not be executed.
 */
void wt_probe_run(const char *const *argv, const char *preload, int timeout_ms,
                  struct wt_probe_result *ret);

/* What went wrong, for people ("crashed with signal 11"); "" if nothing did. In a static buffer. */
const char *wt_probe_problem(const struct wt_probe_result *result);

#endif /* WT_CLI_PROBE_H */

/*
 * progress.h - one line on stderr that says how far long work has come.
 *
 *	analyze 45% 1.2 M of 2.7 M launches, 122 k/s, 12 s left
 *
 *	struct wt_progress progress;
 *
 *	wt_progress_begin(&progress, "analyze", "launches", count);
 *	for (...)
 *		wt_progress_set(&progress, done);
 *	wt_progress_end(&progress);
 *
 * Shown only where stderr is a terminal that we are in the foreground of, and only once the
 * work has lasted a second; drawn again at most five times a second, so wt_progress_set() may
 * be called for every row. wt_cli_error() takes the line away before it writes. Nothing is left
 * of it at the end. One within another is silent: the outer one tells more. Pure but for stderr and the
 * clock; single-threaded.
 */
#ifndef WT_CLI_PROGRESS_H
#define WT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_PROGRESS_BYTES 200

struct wt_progress {
	const char *what; /* of the command: "import" */
	const char *
	        unit; /* what is counted: "launches"; "bytes" are shown as KiB, MiB, ...; of "checks" and
	                     "files", which are unequal, no rate */
	int64_t total; /* 0: not known, then neither share nor time is shown */
	int64_t done;
	int64_t started_ns; /* CLOCK_MONOTONIC, like next_ns */
	int64_t next_ns; /* not drawn before */
	int fd; /* -1: not shown */
	size_t shown_columns; /* of what stands there now */
};

/* The texts must outlive the progress. */
void wt_progress_begin(struct wt_progress *progress, const char *what, const char *unit,
                       int64_t total);

/* Draws if it is time to. A total that `done` goes beyond is no longer shown. */
void wt_progress_set(struct wt_progress *progress, int64_t done);

/* What came before was preparation: rate and time left are of what follows. */
void wt_progress_start(struct wt_progress *progress);

/* Takes the line away for good. May be called twice. */
void wt_progress_end(struct wt_progress *progress);

/* Takes away what stands there, before something else is written; the next set draws it again. */
void wt_progress_hide(void);

/* None from now on: somebody draws the whole screen. */
void wt_progress_forbid(void);

/* The line without control characters, for a work that has lasted elapsed_ns. */
void wt_progress_format(const struct wt_progress *progress, int64_t elapsed_ns,
                        char text[WT_PROGRESS_BYTES]);

/* For tests: on `fd`, shown from the first call on if it is a terminal. */
void wt_progress_begin_on(struct wt_progress *progress, int fd, int64_t delay_ns);

#endif /* WT_CLI_PROGRESS_H */

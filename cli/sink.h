/*
 * sink.h - bytes to a file, as they are or gzipped. The first failure stays, and the end tells it.
 * Single-threaded; blocks as the file does.
 */
#ifndef WT_CLI_SINK_H
#define WT_CLI_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct wt_sink {
	FILE *out; /* NULL: gzipped */
	void *gzip;
	uint64_t bytes; /* put in, before they are packed */
	int error; /* -errno */
};

/*
 * Into `path`, which is made or emptied; NULL: stdout. 0 or -errno, then nothing is open. With
 * wt_sink_close() in any other case.
 */
int wt_sink_open(struct wt_sink *sink, const char *path, bool is_gzip);
void wt_sink_put(struct wt_sink *sink, const void *bytes, size_t count);
/* 0 or the first -errno. */
int wt_sink_close(struct wt_sink *sink);

#endif /* WT_CLI_SINK_H */

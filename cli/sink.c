/*
 * sink.c - see sink.h. Single-threaded; blocks as the file does.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/sink.h"

#define BUFFER_BYTES (256u << 10)

/* Packing of level 1 is a third larger than the best and five times as fast. */
static int open_gzip(struct wt_sink *sink, const char *path)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
	              : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return -errno;
	sink->gzip = gzdopen(fd, "wb1");
	if (!sink->gzip) {
		close(fd);
		return -ENOMEM;
	}
	gzbuffer(sink->gzip, BUFFER_BYTES);
	return 0;
}

int wt_sink_open(struct wt_sink *sink, const char *path, bool is_gzip)
{
	memset(sink, 0, sizeof(*sink));
	if (is_gzip)
		return open_gzip(sink, path);
	sink->out = path ? fopen(path, "we") : stdout;
	return sink->out ? 0 : -errno;
}

static int gzip_error(struct wt_sink *sink)
{
	int code;

	gzerror(sink->gzip, &code);
	if (code == Z_ERRNO)
		return errno ? -errno : -EIO;
	return code == Z_MEM_ERROR ? -ENOMEM : -EIO;
}

void wt_sink_put(struct wt_sink *sink, const void *bytes, size_t count)
{
	if (sink->error || !count)
		return;
	errno = 0;
	sink->bytes += count;
	if (!sink->gzip) {
		if (fwrite(bytes, 1, count, sink->out) != count)
			sink->error = errno ? -errno : -EIO;
	} else if (count > INT_MAX || gzwrite(sink->gzip, bytes, (unsigned)count) != (int)count) {
		sink->error = gzip_error(sink);
	}
}

int wt_sink_close(struct wt_sink *sink)
{
	int failed = 0;

	errno = 0;
	if (sink->gzip)
		failed = gzclose(sink->gzip) != Z_OK;
	else if (sink->out && sink->out != stdout)
		failed = fclose(sink->out) != 0;
	else if (sink->out)
		failed = fflush(sink->out) != 0;
	if (failed && !sink->error)
		sink->error = errno ? -errno : -EIO;
	sink->gzip = NULL;
	sink->out = NULL;
	return sink->error;
}

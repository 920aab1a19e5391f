/*
 * log.c - words for whoever debugs wavetap itself: WAVETAP_DEBUG=stderr or a file.
 *
 * Off by default, and then one load. One write(2) a line, no heap, no descriptor kept.
 * Any thread, signal handlers too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libintercept/internal.h"
#include "libintercept/libc.h"

#define LINE_BYTES 512

static void append(const char *target, const char *line, size_t length)
{
	bool is_stderr = !strcmp(target, "stderr");
	int fd = STDERR_FILENO;
	ssize_t written;

	if (!is_stderr)
		fd = open(target, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	/* A line that can't be written is lost: there is nobody to tell. */
	written = write(fd, line, length);
	(void)written;
	if (!is_stderr)
		close(fd);
}

void wt_log(const char *format, ...)
{
	enum { UNKNOWN, OFF, ON };
	static _Atomic uint64_t state;
	char line[LINE_BYTES];
	int saved_errno = errno;
	const char *target;
	size_t used;
	va_list args;
	int n;

	if (wt_load_relaxed(&state) == OFF)
		return;
	target = secure_getenv("WAVETAP_DEBUG");
	wt_store_relaxed(&state, target && target[0] ? ON : OFF);
	if (!target || !target[0])
		return;

	n = snprintf(line, sizeof(line), "wavetap[%d]: ", (int)wt_libc_pid());
	used = n > 0 ? (size_t)n : 0;
	va_start(args, format);
	n = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	if (n > 0)
		used += (size_t)n < sizeof(line) - used - 1 ? (size_t)n : sizeof(line) - used - 2;
	line[used++] = '\n';
	append(target, line, used);
	errno = saved_errno;
}

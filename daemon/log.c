/*
 * log.c - the daemon's words: one line each, with the time. To stderr in the foreground,
 * else to a file that is turned over at 1 MiB, with one older copy kept. Any failure to
 * log is ignored. May block on the disk.
 */
#include "daemon/daemon.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#define LOG_BYTES_MAX (1024 * 1024)

static char log_path[WT_PATH_BYTES];

void wt_log_open(const char *path)
{
	snprintf(log_path, sizeof(log_path), "%s", path);
}

static int log_file(void)
{
	char rotated[WT_PATH_BYTES + 4];
	struct stat status;
	int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > LOG_BYTES_MAX) {
		close(fd);
		snprintf(rotated, sizeof(rotated), "%s.1", log_path);
		rename(log_path, rotated);
		fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	return fd;
}

void wt_log_line(const char *format, ...)
{
	char line[1200];
	struct tm tm;
	time_t now = time(NULL);
	va_list ap;
	int fd = STDERR_FILENO;
	size_t at;

	localtime_r(&now, &tm);
	at = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S wavetapd: ", &tm);
	va_start(ap, format);
	vsnprintf(line + at, sizeof(line) - at - 1, format, ap);
	va_end(ap);
	strcat(line, "\n");
	if (log_path[0])
		fd = log_file();
	if (fd < 0)
		return;
	if (write(fd, line, strlen(line)) < 0 && fd != STDERR_FILENO)
		log_path[0] = '\0'; /* a full disk: go on without words */
	if (fd != STDERR_FILENO)
		close(fd);
}

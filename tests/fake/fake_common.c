/*
 * fake_common.c - environment, clock, scripted faults. Any thread; the sleep
 * blocks, nothing else does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/fake_common.h"

int64_t fake_env_i64(const char *name, int64_t fallback)
{
	const char *text = getenv(name);

	return text && *text ? strtoll(text, NULL, 10) : fallback;
}

double fake_env_double(const char *name, double fallback)
{
	const char *text = getenv(name);

	return text && *text ? strtod(text, NULL) : fallback;
}

int64_t fake_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void fake_sleep_until_ns(int64_t when_ns)
{
	struct timespec when = {.tv_sec = when_ns / 1000000000, .tv_nsec = when_ns % 1000000000};

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}

void fake_die(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int len = snprintf(line, sizeof(line), "wtfake[%d]: ", (int)getpid());

	va_start(ap, fmt);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len - 1, fmt, ap);
	va_end(ap);
	if (len > (int)sizeof(line) - 2)
		len = (int)sizeof(line) - 2;
	line[len++] = '\n';
	/* A test that lost its stderr still dies, so the count of bytes is of no use. */
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		line[0] = 0;
	if (fake_env_i64("WTFAKE_STRICT", 1))
		abort();
}

int fake_open_env(const char *name, int flags)
{
	const char *pattern = getenv(name);
	const char *mark;
	char path[4096];

	if (!pattern || !*pattern)
		return -1;
	mark = strstr(pattern, "%p");
	if (mark)
		snprintf(path, sizeof(path), "%.*s%d%s", (int)(mark - pattern), pattern,
		         (int)getpid(), mark + 2);
	else
		snprintf(path, sizeof(path), "%s", pattern);
	return open(path, flags | O_CLOEXEC, 0600);
}

static bool fault_applies(const char *which, uint64_t call)
{
	char *end;
	uint64_t number;

	if (*which == '*')
		return true;
	if (*which == '%') {
		number = strtoull(which + 1, NULL, 10);
		return number && call % number == 0;
	}
	number = strtoull(which, &end, 10);
	return *end == '+' ? call >= number : call == number;
}

int64_t fake_scripted_delay_ns(const char *function)
{
	const char *entry = getenv("WTFAKE_SLOW");
	size_t len = strlen(function);

	for (; entry && *entry; entry = strchr(entry, ',') ? strchr(entry, ',') + 1 : NULL)
		if (!strncmp(entry, function, len) && entry[len] == ':')
			return strtoll(entry + len + 1, NULL, 10) * 1000;
	return 0;
}

int fake_scripted_fault(const char *function, uint64_t call)
{
	const char *entry = getenv("WTFAKE_FAIL");
	size_t len = strlen(function);

	while (entry && *entry) {
		const char *next = strchr(entry, ',');

		if (!strncmp(entry, function, len) && entry[len] == ':') {
			const char *which = entry + len + 1;
			const char *code = strchr(which, ':');

			if (code && (!next || code < next) && fault_applies(which, call))
				return atoi(code + 1);
		}
		entry = next ? next + 1 : NULL;
	}
	return 0;
}

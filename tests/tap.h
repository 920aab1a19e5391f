/*
 * tap.h - the whole of our unit test framework: TAP on stdout.
 *
 * A test is a program with main(): call ok()/is_*() and end with
 * `return tap_done();`. A failed check prints where and what, the program goes
 * on, and tap_done() gives 1. tap_skip_all() ends a test that can't run here;
 * the reason is shown in the summary. Not thread-safe: check from one thread.
 */
#ifndef WT_TAP_H
#define WT_TAP_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_run_count, tap_fail_count;

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(bool good, const char *file,
                                                                 int line, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tap_run_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!good) {
		tap_fail_count++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

__attribute__((unused)) static bool tap_is_i64(int64_t got, int64_t want, const char *file,
                                               int line, const char *what)
{
	bool good = tap_ok(got == want, file, line, "%s", what);

	if (!good)
		printf("#   got %" PRId64 ", want %" PRId64 "\n", got, want);
	return good;
}

__attribute__((unused)) static bool tap_is_str(const char *got, const char *want, const char *file,
                                               int line, const char *what)
{
	bool good = tap_ok(got && want ? !strcmp(got, want) : got == want, file, line, "%s", what);

	if (!good)
		printf("#   got  \"%s\"\n#   want \"%s\"\n", got ? got : "(null)",
		       want ? want : "(null)");
	return good;
}

__attribute__((unused)) static bool tap_is_near(double got, double want, double tolerance,
                                                const char *file, int line, const char *what)
{
	bool good = tap_ok(fabs(got - want) <= tolerance, file, line, "%s", what);

	if (!good)
		printf("#   got %.9g, want %.9g within %.3g\n", got, want, tolerance);
	return good;
}

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_run_count);
	return tap_fail_count ? 1 : 0;
}

/* Built under ASan, UBSan or TSan: larger and ten times slower. "make check" sets the variable, empty or not. */
__attribute__((unused)) static bool tap_is_sanitized(void)
{
	const char *flags = getenv("WT_SANITIZED");

	return flags && *flags;
}

__attribute__((unused, noreturn)) static void tap_skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_i64(got, want, what)                                                                    \
	tap_is_i64((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, what)
#define is_str(got, want, what) tap_is_str((got), (want), __FILE__, __LINE__, what)
#define is_near(got, want, tol, what) tap_is_near((got), (want), (tol), __FILE__, __LINE__, what)

#endif /* WT_TAP_H */

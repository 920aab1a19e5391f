/*
 * wt_keep.c - see wt_keep.h.
 */
#include "schema/wt_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

struct unit {
	const char *name;
	double size;
};

static const struct unit times[] = {
        {"ms", 1e6},    {"s", 1e9},       {"sec", 1e9},      {"min", 60e9},      {"h", 3600e9},
        {"d", 86400e9}, {"day", 86400e9}, {"days", 86400e9}, {"w", 7 * 86400e9}, {NULL, 0},
};

static const struct unit sizes[] = {
        {"B", 1},
        {"kB", 1e3},
        {"KB", 1e3},
        {"MB", 1e6},
        {"GB", 1e9},
        {"TB", 1e12},
        {"K", 1024.0},
        {"KiB", 1024.0},
        {"M", 1024.0 * 1024},
        {"MiB", 1024.0 * 1024},
        {"G", 1024.0 * 1024 * 1024},
        {"GiB", 1024.0 * 1024 * 1024},
        {"T", 1024.0 * 1024 * 1024 * 1024},
        {"TiB", 1024.0 * 1024 * 1024 * 1024},
        {NULL, 0},
};

/* The number at the start of `text`, with digits on at least one side of a point. NULL: none. */
static const char *parse_number(const char *text, double *ret_number)
{
	size_t digits = strspn(text, "0123456789");
	size_t all = digits;
	char copy[32];

	if (text[digits] == '.')
		all += 1 + strspn(text + digits + 1, "0123456789");
	if (!digits || all >= sizeof(copy))
		return NULL;
	memcpy(copy, text, all);
	copy[all] = '\0';
	*ret_number = strtod(copy, NULL);
	return text + all;
}

static bool apply_unit(const struct unit *units, const char *name, double number, int64_t *ret)
{
	for (; units->name; units++) {
		if (strcmp(units->name, name) != 0)
			continue;
		number *= units->size;
		*ret = number < 9e18 ? (int64_t)number : INT64_MAX;
		return true;
	}
	return false;
}

int wt_keep_parse_time(const char *text, int64_t *ret_ns)
{
	double number;
	const char *name = parse_number(text, &number);

	return name && apply_unit(times, name, number, ret_ns) ? 0 : -EINVAL;
}

static void tighten(int64_t *limit, int64_t value)
{
	if (*limit < 0 || value < *limit)
		*limit = value;
}

static int parse_one(const char *text, struct wt_keep *keep, char error[WT_DB_ERROR_BYTES])
{
	double number = 0;
	const char *name = parse_number(text, &number);
	int64_t value;

	if (name && !*name && !strchr(text, '.') && number < 9e18)
		tighten(&keep->runs, (int64_t)number);
	else if (name && apply_unit(sizes, name, number, &value))
		tighten(&keep->bytes, value);
	else if (name && apply_unit(times, name, number, &value))
		tighten(&keep->age_ns, value);
	else if (name && !strcmp(name, "m"))
		snprintf(error, WT_DB_ERROR_BYTES, "\"%s\": minutes are min, mebibytes MiB", text);
	else
		snprintf(error, WT_DB_ERROR_BYTES,
		         "\"%s\" is no number of runs (20), size (2GiB) or age (30d)", text);
	return error[0] ? -EINVAL : 0;
}

int wt_keep_parse(const char *text, struct wt_keep *keep, char error[WT_DB_ERROR_BYTES])
{
	struct wt_keep parsed = *keep;
	char part[64];
	int err;

	for (;;) {
		size_t length = strcspn(text, ",");

		error[0] = '\0';
		snprintf(part, sizeof(part), "%.*s", (int)(length < 63 ? length : 63), text);
		err = parse_one(part, &parsed, error);
		if (err)
			return err;
		text += length;
		if (!*text)
			break;
		text++;
	}
	*keep = parsed;
	return 0;
}

int wt_keep_rows_parse(const char *text, struct wt_keep *ret_keep, char error[WT_DB_ERROR_BYTES])
{
	struct wt_keep keep = WT_KEEP_ALL;

	*ret_keep = WT_KEEP_ALL;
	if (!strcmp(text, "all"))
		return 0;
	if (text[0] && strcmp(text, "?") != 0 && !wt_keep_parse(text, &keep, error) &&
	    keep.runs < 0 && keep.bytes != 0 && keep.age_ns != 0) {
		*ret_keep = keep;
		return 0;
	}
	(void)wt_keep_parse(WT_KEEP_ROWS_DEFAULT, ret_keep, error);
	if (!text[0])
		return 0;
	snprintf(error, WT_DB_ERROR_BYTES, "\"%.60s\" is not " WT_KEEP_ROWS_FORM, text);
	return -EINVAL;
}

/* ---- which */

static int64_t age_ns(const struct wt_db_run_file *run, int64_t now_ns)
{
	return now_ns - (run->last_ns > run->created_ns ? run->last_ns : run->created_ns);
}

void wt_keep_choose(const struct wt_keep *keep, const struct wt_db_run_file *runs, size_t count,
                    const bool *is_protected, int64_t now_ns, bool *ret_is_removed)
{
	int64_t left = 0, left_bytes = 0;
	size_t newest = count, latest = count;

	for (size_t i = 0; i < count; i++) {
		ret_is_removed[i] = false;
		if (runs[i].error)
			continue;
		left++;
		left_bytes += runs[i].file_bytes;
		newest = i;
		if (runs[i].kernel_ns >= WT_DB_LATEST_KERNEL_NS)
			latest = i;
	}
	for (size_t i = 0; i < count; i++) {
		if (runs[i].error || is_protected[i] || i == newest || i == latest)
			continue;
		ret_is_removed[i] = (keep->runs >= 0 && left > keep->runs) ||
		                    (keep->bytes >= 0 && left_bytes > keep->bytes) ||
		                    (keep->age_ns >= 0 && age_ns(&runs[i], now_ns) > keep->age_ns);
		if (ret_is_removed[i]) {
			left--;
			left_bytes -= runs[i].file_bytes;
		}
	}
}

/* ---- removing */

/* The run itself first: a journal without its file is rubbish, a file without its journal is
 * damaged. */
int wt_keep_remove(const char *runs_dir, const char *name, char error[WT_DB_ERROR_BYTES])
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	int fd = open(runs_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[300];
	struct stat status;
	int err = fd < 0 ? -errno : 0;

	if (!err && (strchr(name, '/') || strlen(name) > 255))
		err = -EINVAL;
	if (!err && fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	if (err) {
		snprintf(error, WT_DB_ERROR_BYTES, "%.300s: %s", fd < 0 ? runs_dir : name,
		         strerror(-err));
	} else if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
		err = -EPERM;
		snprintf(error, WT_DB_ERROR_BYTES, "%.300s: %s", name,
		         S_ISLNK(status.st_mode)   ? "a symbolic link: not followed"
		         : S_ISREG(status.st_mode) ? "belongs to another user"
		                                   : "not a file");
	}
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && !err; i++) {
		snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		if (unlinkat(fd, path, 0) && errno != ENOENT) {
			err = -errno;
			snprintf(error, WT_DB_ERROR_BYTES, "%.300s: %s", path, strerror(-err));
		}
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * run_file.c - see run_file.h. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run_file.h"
#include "schema/wt_paths.h"

int wt_run_data_dir(char *path)
{
	int rc = wt_path_data_dir(path);

	if (rc)
		wt_cli_error("no data directory: %s",
		             rc == -ENOENT ? "set WAVETAP_DIR or HOME" : strerror(-rc));
	return rc;
}

static int open_path(const char *path, struct wt_run_file *ret_run)
{
	char error[WT_DB_ERROR_BYTES];
	int rc = wt_db_open(path, &ret_run->db, error);

	if (rc) {
		wt_cli_error("%s", error);
		return WT_EXIT_FAILED;
	}
	rc = wt_db_describe(ret_run->db, path, &ret_run->info);
	if (rc) {
		wt_cli_error("%s: %s", path, sqlite3_errmsg(ret_run->db));
		wt_run_file_close(ret_run);
		return WT_EXIT_FAILED;
	}
	return WT_EXIT_FINE;
}

/* "latest" or "latest~N": N; else -1. */
static long parse_latest(const char *spec)
{
	const char *digits = spec + strlen("latest~");
	char *end;
	long back;

	if (!strcmp(spec, "latest"))
		return 0;
	if (strncmp(spec, "latest~", strlen("latest~")) || digits[0] < '0' || digits[0] > '9')
		return -1;
	errno = 0;
	back = strtol(digits, &end, 10);
	return *end || errno ? -1 : back;
}

/* The run `back` before the last, of those with enough kernels or of all. NULL: not so many. */
static const struct wt_db_run_file *find_latest(const struct wt_db_run_file *runs, size_t count,
                                                long back)
{
	for (int pass = 0; pass < 2; pass++) {
		int64_t least_ns = pass == 0 ? WT_DB_LATEST_KERNEL_NS : INT64_MIN;
		bool is_any = false;
		long left = back;

		for (size_t i = count; i-- > 0;) {
			if (runs[i].error || runs[i].kernel_ns < least_ns)
				continue;
			if (left-- == 0)
				return &runs[i];
			is_any = true;
		}
		if (is_any)
			return NULL;
	}
	return NULL;
}

/* Is `spec` this run's id, name or file name (with or without .db)? */
static bool is_called(const struct wt_db_run_file *run, const char *spec)
{
	const char *slash = strrchr(run->path, '/');
	const char *file = slash ? slash + 1 : run->path;
	size_t stem = strlen(file) - strlen(".db");

	return !strcmp(run->id, spec) || (run->name[0] && !strcmp(run->name, spec)) ||
	       !strcmp(file, spec) || (strlen(spec) == stem && !strncmp(file, spec, stem));
}

static int explain_no_run(const struct wt_db_run_file *runs, size_t count, const char *spec,
                          long back, const char *data_dir)
{
	size_t readable = 0;
	const char *problem = NULL;

	for (size_t i = count; i-- > 0;) {
		readable += !runs[i].error;
		if (runs[i].error && !problem)
			problem = runs[i].error_text;
	}
	if (back < 0) {
		wt_cli_error("there is no run \"%s\" in %s (see wavetap runs)", spec, data_dir);
		return WT_EXIT_FAILED;
	}
	if (readable) {
		wt_cli_error("there are not so many runs in %s (see wavetap runs)", data_dir);
		return WT_EXIT_FAILED;
	}
	if (problem) {
		wt_cli_error("%s", problem);
		return WT_EXIT_FAILED;
	}
	wt_cli_error("no run has been recorded in %s yet; start with: wavetap run -- COMMAND",
	             data_dir);
	return WT_EXIT_NO_DATA;
}

bool wt_run_is_path(const char *spec)
{
	size_t length = strlen(spec);

	return strchr(spec, '/') ||
	       (length > 3 && !strcmp(spec + length - 3, ".db") && !access(spec, F_OK));
}

const struct wt_db_run_file *wt_run_pick(const struct wt_db_run_file *runs, size_t count,
                                         const char *spec)
{
	long back = parse_latest(spec);

	if (back >= 0)
		return find_latest(runs, count, back);
	while (count-- > 0)
		if (is_called(&runs[count], spec))
			return &runs[count];
	return NULL;
}

static int open_listed(const char *spec, long back, struct wt_run_file *ret_run)
{
	const struct wt_db_run_file *found = NULL;
	struct wt_db_run_file *runs = NULL;
	char data_dir[WT_PATH_BYTES];
	size_t count = 0;
	int rc = wt_run_data_dir(data_dir);
	int code;

	if (rc)
		return WT_EXIT_FAILED;
	rc = wt_db_list(data_dir, &runs, &count);
	if (rc) {
		wt_cli_error("%s/runs: %s", data_dir, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	found = wt_run_pick(runs, count, spec ? spec : "latest");
	code = found ? open_path(found->path, ret_run)
	             : explain_no_run(runs, count, spec, back, data_dir);
	free(runs);
	return code;
}

int wt_run_file_open(const char *spec, struct wt_run_file *ret_run)
{
	long back = parse_latest(spec ? spec : "latest");

	memset(ret_run, 0, sizeof(*ret_run));
	if (spec && !spec[0]) {
		wt_cli_error("--run is empty");
		return WT_EXIT_USAGE;
	}
	/* A slash makes it a file; a bare word is one only if it ends so and is there. */
	if (back < 0 && wt_run_is_path(spec))
		return open_path(spec, ret_run);
	return open_listed(spec, back, ret_run);
}

void wt_run_file_close(struct wt_run_file *run)
{
	sqlite3_close(run->db);
	run->db = NULL;
}

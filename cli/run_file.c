/*
 * run_file.c - see run_file.h. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/text.h"
#include "schema/wt_paths.h"
#include "schema/wt_rows.h"

#define AMBIGUOUS_LISTED 5

int wt_run_data_dir(char *path)
{
	int rc = wt_path_data_dir(path);

	if (rc)
		wt_cli_error("no data directory: %s",
		             rc == -ENOENT ? "set WAVETAP_DIR or HOME" : strerror(-rc));
	return rc;
}

/* What is missing then is said once; what is there is shown. */
static void tell_damage(void *arg, const struct wt_rows_damage *damage)
{
	char text[WT_ROWS_TEXT_BYTES];

	wt_rows_describe(damage, text);
	wt_report_note_damage(damage);
	wt_cli_error("%s: %s", sqlite3_db_filename(arg, "main"), text);
}

/* Chunks of no kind that is known hold rows of nobody knows what. */
static void tell_strangers(sqlite3 *db)
{
	static const char rows_sql[] =
	        "SELECT total(max(row_count, 1)) FROM main.chunk WHERE kind NOT BETWEEN 1 AND 4";
	const struct wt_rows_damage damage = {.rows = wt_db_int(db, rows_sql, 1)};

	wt_report_note_damage(&damage);
	wt_cli_error("%s: %" PRId64 " rows are packed in a way that this version does not know",
	             sqlite3_db_filename(db, "main"), damage.rows);
}

int wt_run_attach_rows(sqlite3 *db)
{
	int code;

	/* Without chunks this state of the file is kept to, or they could come meanwhile. */
	sqlite3_exec(db, "PRAGMA query_only = OFF; BEGIN", NULL, NULL, NULL);
	code = wt_rows_attach(db, tell_damage, db);
	if (wt_rows_has_chunks(db) &&
	    wt_db_int(db, "SELECT EXISTS (SELECT 1 FROM main.chunk WHERE kind NOT BETWEEN 1 AND 4)",
	              0))
		tell_strangers(db);
	if (code == SQLITE_OK)
		code = wt_rows_hide(db);
	if (code != SQLITE_OK || wt_rows_has_chunks(db))
		sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : wt_db_errno(code) ? wt_db_errno(code) : -EIO;
}

static int open_path(const char *path, struct wt_run_file *ret_run)
{
	char error[WT_DB_ERROR_BYTES];
	int rc = wt_db_open(path, &ret_run->db, error);

	if (rc) {
		wt_cli_error("%s", error);
		return WT_EXIT_FAILED;
	}
	rc = wt_run_attach_rows(ret_run->db);
	if (!rc)
		rc = wt_db_describe(ret_run->db, path, &ret_run->info);
	if (rc) {
		wt_cli_error("%s: %s", path, wt_report_problem(ret_run->db));
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

/* Is it one of those that "latest" counts? Pass 0: enough kernels; 1: whatever can be read. */
static bool is_counted(const struct wt_db_run_file *run, int pass)
{
	return !run->error && (pass || run->kernel_ns >= WT_DB_LATEST_KERNEL_NS);
}

/*
 * The run `back` before the last, of those with enough kernels or, if there are none, of all
 * that can be read. NULL: not so many.
 */
static const struct wt_db_run_file *find_latest(const struct wt_db_run_file *runs, size_t count,
                                                long back)
{
	for (int pass = 0; pass < 2; pass++) {
		long left = back;

		for (size_t i = count; i-- > 0;)
			if (is_counted(&runs[i], pass) && left-- == 0)
				return &runs[i];
		if (left < back)
			return NULL;
	}
	return NULL;
}

enum match { MATCH_ID, MATCH_NAME, MATCH_FILE, MATCH_ID_PREFIX, MATCH_MAX };

/* Is `spec` this run's id, name, file name (with or without .db), or the beginning of its id? */
static bool is_called(const struct wt_db_run_file *run, const char *spec, enum match how)
{
	const char *slash = strrchr(run->path, '/');
	const char *file = slash ? slash + 1 : run->path;
	size_t stem = strlen(file) - strlen(".db");

	switch (how) {
	case MATCH_ID:
		return !strcmp(run->id, spec);
	case MATCH_NAME:
		return run->name[0] && !strcmp(run->name, spec);
	case MATCH_FILE:
		return !strcmp(file, spec) || (strlen(spec) == stem && !strncmp(file, spec, stem));
	default:
		return !strncmp(run->id, spec, strlen(spec));
	}
}

static void explain_ambiguous(const struct wt_db_run_file *runs, size_t count, const char *spec)
{
	char list[400] = "";
	size_t used = 0;
	int listed = 0;

	/* The last ones first: they are what is looked for most. */
	for (size_t i = count; i-- > 0 && used < sizeof(list);) {
		if (!is_called(&runs[i], spec, MATCH_ID_PREFIX))
			continue;
		if (++listed > AMBIGUOUS_LISTED) {
			snprintf(list + used, sizeof(list) - used, ", ...");
			break;
		}
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s%.40s%s",
		                         listed > 1 ? ", " : "", runs[i].id,
		                         runs[i].name[0] ? " (" : "", runs[i].name,
		                         runs[i].name[0] ? ")" : "");
	}
	wt_cli_error("run \"%s\" is ambiguous: it could be %s", spec, list);
}

/*
 * The run that a word means: the last of those it names, and that there are several is said;
 * but the beginning of an id must be of one only. NULL: none, or *ret_is_told after a message.
 */
static const struct wt_db_run_file *find_called(const struct wt_db_run_file *runs, size_t count,
                                                const char *spec, bool *ret_is_told)
{
	for (int how = 0; how < MATCH_MAX; how++) {
		const struct wt_db_run_file *found = NULL;
		size_t matches = 0;

		for (size_t i = 0; i < count; i++) {
			if (!is_called(&runs[i], spec, (enum match)how))
				continue;
			found = &runs[i];
			matches++;
		}
		if (matches > 1 && how == MATCH_ID_PREFIX) {
			explain_ambiguous(runs, count, spec);
			*ret_is_told = true;
			return NULL;
		}
		if (matches > 1)
			wt_cli_error("%zu runs are called \"%s\": this is the last, %s", matches,
			             spec, how == MATCH_ID ? found->path : found->id);
		if (found)
			return found;
	}
	return NULL;
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
	bool is_told = false;

	return back >= 0 ? find_latest(runs, count, back)
	                 : find_called(runs, count, spec, &is_told);
}

static int explain_no_latest(const struct wt_db_run_file *runs, size_t count, long back,
                             const char *data_dir)
{
	size_t counted[2] = {0, 0};
	const char *problem = NULL;

	for (size_t i = count; i-- > 0;) {
		for (int pass = 0; pass < 2; pass++)
			counted[pass] += is_counted(&runs[i], pass);
		if (runs[i].error && !problem)
			problem = runs[i].error_text;
	}
	if (counted[1]) {
		size_t some = counted[0] ? counted[0] : counted[1];

		wt_cli_error("latest~%ld: there %s only %zu run%s%s in %s (see wavetap runs)", back,
		             some == 1 ? "is" : "are", some, some == 1 ? "" : "s",
		             counted[0] ? " with at least a second of kernels" : "", data_dir);
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

static int open_called(const struct wt_db_run_file *runs, size_t count, const char *spec,
                       const char *data_dir, struct wt_run_file *ret_run)
{
	struct stat st;
	bool is_told = false;
	const struct wt_db_run_file *found = find_called(runs, count, spec, &is_told);

	if (found)
		return open_path(found->path, ret_run);
	/* A file whose name says neither by a slash nor by its end that it is one. */
	if (!is_told && !stat(spec, &st) && S_ISREG(st.st_mode))
		return open_path(spec, ret_run);
	if (!is_told)
		wt_cli_error("there is no run \"%s\" in %s (see wavetap runs)", spec, data_dir);
	return WT_EXIT_FAILED;
}

/* Nothing was asked for: a shorter run that came later may be the one that somebody means. */
static void tell_passed_over(const struct wt_db_run_file *runs, size_t count,
                             const struct wt_db_run_file *found)
{
	char kernels[WT_TEXT_NUMBER_BYTES];

	for (size_t i = count; i-- > 0 && &runs[i] != found;) {
		if (!is_counted(&runs[i], 1))
			continue;
		wt_cli_error(
		        "showing run %s; a later one has less than a second of kernels (%s): -r %s",
		        found->id, wt_text_ns(kernels, runs[i].kernel_ns), runs[i].id);
		return;
	}
}

static int open_listed(const char *spec, long back, struct wt_run_file *ret_run)
{
	struct wt_db_run_file *runs = NULL;
	const struct wt_db_run_file *found;
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
	if (back < 0) {
		code = open_called(runs, count, spec, data_dir, ret_run);
	} else {
		found = find_latest(runs, count, back);
		if (found && !spec && isatty(STDERR_FILENO))
			tell_passed_over(runs, count, found);
		code = found ? open_path(found->path, ret_run)
		             : explain_no_latest(runs, count, back, data_dir);
	}
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

/* Is it the file that its id means, in the data directory that the next command looks into? */
static bool is_found_by_id(const struct wt_run_file *run)
{
	struct wt_db_run_file *runs = NULL;
	const struct wt_db_run_file *found;
	char data_dir[WT_PATH_BYTES];
	struct stat own, other;
	size_t count = 0, same = 0;
	bool is_found = false;

	if (!run->info.id[0] || stat(run->info.path, &own) || wt_path_data_dir(data_dir) ||
	    wt_db_list(data_dir, &runs, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		same += !strcmp(runs[i].id, run->info.id);
	found = same == 1 ? wt_run_pick(runs, count, run->info.id) : NULL;
	if (found && !stat(found->path, &other))
		is_found = own.st_dev == other.st_dev && own.st_ino == other.st_ino;
	free(runs);
	return is_found;
}

char *wt_run_option(const struct wt_run_file *run, const char *spec)
{
	char *word, *option = NULL;

	if (!spec)
		return strdup("");
	if (parse_latest(spec) < 0 && strlen(spec) > strlen(run->info.id) && is_found_by_id(run))
		spec = run->info.id;
	word = wt_text_shell_word(spec);
	if (word && asprintf(&option, " -r %s", word) < 0)
		option = NULL;
	free(word);
	return option;
}

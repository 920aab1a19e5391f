/*
 * steps_marker.c - what --step-marker means: a kernel, or a named range. Single-threaded; blocks on
 * the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/expression.h"
#include "cli/kernel_name.h"
#include "cli/ranges.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/steps.h"

#define CANDIDATES_SHOWN 10
#define RANGE_PREFIX "range:"

/* ---- a kernel */

struct names {
	char **raw, **shown;
	int64_t *ids;
	size_t count;
};

static void fini_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->raw[i]);
	wt_kernel_name_free_all(names->shown, names->shown ? names->count : 0);
	free(names->raw);
	free(names->ids);
}

static int load_names(sqlite3 *db, struct names *names)
{
	size_t count = 0;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT kernel_id, name FROM kernel ORDER BY kernel_id", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t *id = wt_report_append(&names->ids, &count, sizeof(*id));
		char **raw = id ? wt_report_append(&names->raw, &names->count, sizeof(*raw)) : NULL;

		rc = raw ? wt_report_copy_text(s, 1, raw) : -ENOMEM;
		if (rc)
			break;
		*id = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	if (rc || !names->count)
		return rc;
	return wt_kernel_name_shorten_all((const char *const *)names->raw, names->count,
	                                  &names->shown);
}

/* How a name may match: in this order, and the first way that finds any kernel decides. */
enum { MATCH_WHOLE, MATCH_PART, MATCH_REGEX, MATCH_MAX };

static bool is_match(const struct names *names, size_t i, const char *spec, int how,
                     const regex_t *regex)
{
	char *full = wt_kernel_name_demangle(names->raw[i]);
	const char *shown = names->shown[i];
	bool result = false;

	if (how == MATCH_WHOLE)
		result = !strcmp(shown, spec) || !strcmp(names->raw[i], spec) ||
		         (full && !strcmp(full, spec));
	else if (how == MATCH_PART)
		result = strstr(shown, spec) || (full && strstr(full, spec));
	else
		result = !regexec(regex, shown, 0, NULL, 0) ||
		         (full && !regexec(regex, full, 0, NULL, 0));
	free(full);
	return result;
}

/* An enum wt_exit, after a message. */
static int find_in_names(const struct names *names, const char *spec, const regex_t *regex,
                         int64_t *ret_id)
{
	for (int how = MATCH_WHOLE; how < (regex ? MATCH_MAX : MATCH_REGEX); how++) {
		size_t found = 0, shown = 0;

		for (size_t i = 0; i < names->count; i++)
			if (is_match(names, i, spec, how, regex) && found++ == 0)
				*ret_id = names->ids[i];
		if (found == 1)
			return WT_EXIT_FINE;
		if (found == 0)
			continue;
		wt_cli_error("--step-marker: \"%s\" matches %zu kernels; which one?", spec, found);
		for (size_t i = 0; i < names->count && shown < CANDIDATES_SHOWN; i++)
			if (is_match(names, i, spec, how, regex) && ++shown)
				wt_cli_error("  id:%" PRId64 "  %s", names->ids[i],
				             names->shown[i]);
		return WT_EXIT_USAGE;
	}
	return wt_cli_usage_error("steps", "--step-marker: no kernel of the run is called \"%s\"",
	                          spec);
}

static int find_by_name(const struct names *names, const char *spec, int64_t *ret_id)
{
	regex_t regex;
	char why[200]; /* then it is a name, and no expression */
	bool is_regex = !wt_expression_compile(&regex, spec, why, sizeof(why));
	int code = find_in_names(names, spec, is_regex ? &regex : NULL, ret_id);

	if (is_regex)
		regfree(&regex);
	return code;
}

static int find_by_id(const struct names *names, const char *text, int64_t *ret_id)
{
	char *end;

	errno = 0;
	*ret_id = strtoll(text, &end, 10);
	for (size_t i = 0; *text && !*end && !errno && i < names->count; i++)
		if (names->ids[i] == *ret_id)
			return WT_EXIT_FINE;
	return wt_cli_usage_error("steps", "--step-marker: no kernel of the run has the id \"%s\"",
	                          text);
}

static int find_kernel(const struct wt_run_file *run, const char *spec, int64_t *ret_id)
{
	struct names names = {0};
	int rc = load_names(run->db, &names);
	int code = WT_EXIT_FAILED;

	if (rc) {
		wt_cli_error("%s: %s", run->info.path,
		             rc == -EIO ? wt_report_problem(run->db) : strerror(-rc));
	} else if (!strncmp(spec, "id:", 3)) {
		code = find_by_id(&names, spec + 3, ret_id);
	} else {
		code = find_by_name(&names, spec, ret_id);
	}
	fini_names(&names);
	return code;
}

/* ---- a range */

/* Is there a range that is called so? With the prefix, one that matches. 1, 0 or -errno. */
static int has_range(const struct wt_run_file *run, const char *word, bool is_glob)
{
	struct wt_run_ranges ranges;
	int rc = wt_run_ranges_load(run->db, word, &ranges);
	bool is_found = false;

	wt_run_ranges_tell_lost(run->db);

	for (size_t i = 0; !rc && i < ranges.name_count; i++)
		is_found |=
		        is_glob || (ranges.names[i].name && !strcmp(ranges.names[i].name, word));
	wt_run_ranges_fini(&ranges);
	return rc ? rc : is_found;
}

int wt_steps_find_marker(const struct wt_run_file *run, const char *spec,
                         struct wt_steps_query *query)
{
	bool is_range = !strncmp(spec, RANGE_PREFIX, strlen(RANGE_PREFIX));
	const char *word = is_range ? spec + strlen(RANGE_PREFIX) : spec;
	int rc = has_range(run, word, is_range);

	if (rc < 0) {
		wt_cli_error("%s: %s", run->info.path,
		             rc == -EIO ? wt_report_problem(run->db) : strerror(-rc));
		return WT_EXIT_FAILED;
	}
	if (rc) {
		query->marker_range = word;
		return WT_EXIT_FINE;
	}
	if (is_range)
		return wt_cli_usage_error("steps",
		                          "--step-marker: no range of the run is called "
		                          "\"%s\"",
		                          word);
	return find_kernel(run, spec, &query->marker_kernel_id);
}

/*
 * show.c - see show.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "cli/kernel_name.h"
#include "cli/report_sql.h"
#include "cli/show.h"

/* ---- times */

struct time_list {
	int64_t *at;
	size_t count, capacity;
};

static int push(struct time_list *list, int64_t ns)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 1024;
		int64_t *grown = reallocarray(list->at, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->at = grown;
		list->capacity = capacity;
	}
	list->at[list->count++] = ns;
	return 0;
}

static int compare_i64(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/* Nearest rank: the least value that `percent` of all do not exceed. */
static int64_t percentile(const struct time_list *sorted, size_t percent)
{
	size_t rank = (sorted->count * percent + 99) / 100;

	return sorted->at[rank ? rank - 1 : 0];
}

/* Sorts the list. */
static void sum_up(struct time_list *list, struct wt_show_times *times)
{
	double sum = 0, squares = 0;

	memset(times, 0, sizeof(*times));
	if (!list->count)
		return;
	qsort(list->at, list->count, sizeof(*list->at), compare_i64);
	times->count = (int64_t)list->count;
	times->min_ns = list->at[0];
	times->max_ns = list->at[list->count - 1];
	times->median_ns = percentile(list, 50);
	times->p99_ns = percentile(list, 99);
	for (size_t i = 0; i < list->count; i++)
		sum += (double)list->at[i];
	times->mean_ns = sum / (double)list->count;
	for (size_t i = 0; i < list->count; i++) {
		double off = (double)list->at[i] - times->mean_ns;

		squares += off * off;
	}
	times->deviation_ns = sqrt(squares / (double)list->count);
}

/* Equal bins from the least to the 99th percentile; what is beyond goes into one of its own. */
static void fill_bins(const struct time_list *sorted, struct wt_show *show)
{
	int64_t low_ns = show->durations.min_ns, p99_ns = show->durations.p99_ns;
	int64_t width_ns = (p99_ns - low_ns) / (WT_SHOW_BINS - 1) + 1;
	size_t bin = 0;

	if (show->durations.max_ns == low_ns)
		return;
	for (size_t i = 0; i < WT_SHOW_BINS - 1 && low_ns <= p99_ns; i++, low_ns += width_ns)
		show->bins[show->bin_count++] = (struct wt_show_bin){low_ns, low_ns + width_ns, 0};
	if (show->durations.max_ns >= low_ns)
		show->bins[show->bin_count++] =
		        (struct wt_show_bin){low_ns, show->durations.max_ns, 0};
	for (size_t i = 0; i < sorted->count; i++) {
		while (bin + 1 < show->bin_count && sorted->at[i] >= show->bins[bin].high_ns)
			bin++;
		show->bins[bin].count++;
	}
}

static int load_times(sqlite3 *db, int64_t kernel_id, struct wt_show *show)
{
	static const char sql[] =
	        "SELECT e.end_ns - e.start_ns, l.return_ns - l.entry_ns, e.start_ns - l.entry_ns"
	        " FROM kernel_exec e JOIN config c USING (config_id) LEFT JOIN launch_call l"
	        " ON e.graph_id IS NULL AND l.process_id = e.process_id AND l.seq = e.launch_seq"
	        " WHERE c.kernel_id = ?1 AND e.end_ns >= e.start_ns";
	struct time_list durations = {0}, calls = {0}, starts = {0};
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, kernel_id);
	while ((rc = wt_report_step(s)) > 0) {
		rc = push(&durations, sqlite3_column_int64(s, 0));
		if (!rc && sqlite3_column_type(s, 1) != SQLITE_NULL) {
			rc = push(&calls, sqlite3_column_int64(s, 1));
			if (!rc)
				rc = push(&starts, sqlite3_column_int64(s, 2));
		}
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	if (!rc) {
		sum_up(&durations, &show->durations);
		sum_up(&calls, &show->call);
		sum_up(&starts, &show->start);
		fill_bins(&durations, show);
	}
	free(durations.at);
	free(calls.at);
	free(starts.at);
	return rc;
}

/* ---- configurations */

static int by_time(const void *left, const void *right)
{
	const struct wt_show_config *a = left, *b = right;

	if (a->row.time_ns != b->row.time_ns)
		return a->row.time_ns > b->row.time_ns ? -1 : 1;
	return a->row.config_id < b->row.config_id ? -1 : 1;
}

static int load_configs(sqlite3 *db, const struct wt_select *select, int64_t kernel_id,
                        struct wt_show *show)
{
	const struct wt_report_query query = {
	        .by = WT_REPORT_BY_TIME, .group = WT_REPORT_GROUP_CONFIG, .select = select};
	int rc = wt_report_load(db, &query, &show->report);

	if (rc == -EIO)
		snprintf(show->problem, sizeof(show->problem), "%s", show->report.problem);
	for (size_t i = 0; !rc && i < show->report.row_count; i++) {
		const struct wt_report_row *row = &show->report.rows[i];
		struct wt_show_config *config;

		if (row->kernel_id != kernel_id)
			continue;
		config = wt_report_append(&show->configs, &show->config_count, sizeof(*config));
		if (!config)
			return -ENOMEM;
		config->row = *row;
		show->total.kernel = row->kernel;
		show->total.kernel_shown = row->kernel_shown;
		wt_report_row_add(&show->total, row);
		rc = wt_show_advise(db, config);
		if (!rc)
			rc = wt_show_measure(db, config);
	}
	if (!rc && !show->config_count)
		return -ENOENT;
	if (!rc)
		qsort(show->configs, show->config_count, sizeof(*show->configs), by_time);
	show->total.kernel_id = kernel_id;
	return rc;
}

/* ---- ncu */

/* Kernels with the same function name: ncu counts them together. "1,5,9"; NULL: no memory. */
static char *same_function(sqlite3 *db, const char *function, int *ret_rc)
{
	sqlite3_str *list = sqlite3_str_new(db);
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT kernel_id, name FROM kernel", &s);

	while (!rc && (rc = wt_report_step(s)) > 0) {
		const char *name = (const char *)sqlite3_column_text(s, 1);
		char *demangled = wt_kernel_name_demangle(name ? name : "");
		char *other = demangled ? wt_kernel_name_function(demangled) : NULL;

		if (other && !strcmp(other, function))
			sqlite3_str_appendf(list, "%s%lld", sqlite3_str_length(list) ? "," : "",
			                    (long long)sqlite3_column_int64(s, 0));
		rc = other ? 0 : -ENOMEM;
		free(other);
		free(demangled);
	}
	sqlite3_finalize(s);
	*ret_rc = rc;
	return sqlite3_str_finish(list);
}

static void append_word(sqlite3_str *text, const char *word)
{
	char *quoted = wt_text_shell_word(word);

	if (quoted)
		sqlite3_str_appendall(text, quoted);
	free(quoted);
}

/* A command as the kernel tells it, with blanks between its words. */
static void append_words(sqlite3_str *text, const char *command)
{
	char *copy = strdup(command), *save = NULL;

	for (char *word = copy ? strtok_r(copy, " ", &save) : NULL; word;
	     word = strtok_r(NULL, " ", &save)) {
		sqlite3_str_appendchar(text, 1, ' ');
		append_word(text, word);
	}
	free(copy);
}

/*
 * The launch in the middle of the kernel's that are selected, of the process that has most of
 * them. ncu counts from the start of the process: main.
 */
static int load_ncu(sqlite3 *db, int64_t kernel_id, struct wt_show *show)
{
	static const char sql_text[] =
	        "WITH call AS (SELECT process_id AS p, seq, entry_ns FROM launch_call),"
	        " mine AS (SELECT e.process_id AS p, coalesce(l.entry_ns, e.start_ns) AS t,"
	        "  row_number() OVER (PARTITION BY e.process_id"
	        "   ORDER BY coalesce(l.entry_ns, e.start_ns)) AS i,"
	        "  count(*) OVER (PARTITION BY e.process_id) AS n"
	        "  FROM kernel_exec e JOIN config c USING (config_id) LEFT JOIN call l"
	        "  ON e.graph_id IS NULL AND l.p = e.process_id AND l.seq = e.launch_seq"
	        "  WHERE c.kernel_id = %lld AND coalesce(l.entry_ns, e.start_ns) IS NOT NULL),"
	        " middle AS (SELECT p, t FROM mine WHERE i = (n + 1) / 2 ORDER BY n DESC LIMIT 1)"
	        " SELECT (SELECT count(*) FROM kernel_row e JOIN config c USING (config_id)"
	        "  LEFT JOIN call l ON e.graph_id IS NULL AND l.p = e.process_id"
	        "  AND l.seq = e.launch_seq WHERE c.kernel_id IN (%s) AND e.process_id = m.p"
	        "  AND coalesce(l.entry_ns, e.start_ns) < m.t),"
	        " (SELECT command FROM proc WHERE process_id = m.p) FROM middle m";
	char *function = wt_kernel_name_function(show->demangled), *ids = NULL, *sql = NULL;
	sqlite3_stmt *s = NULL;
	int rc = function ? 0 : -ENOMEM;

	if (!rc)
		ids = same_function(db, function, &rc);
	if (!rc && ids)
		sql = sqlite3_mprintf(sql_text, (long long)kernel_id, ids);
	if (!rc)
		rc = sql ? wt_report_prepare(db, sql, &s) : -ENOMEM;
	if (!rc)
		rc = wt_report_step(s);
	if (rc > 0 && *function) {
		sqlite3_str *text = sqlite3_str_new(db);
		const char *command = (const char *)sqlite3_column_text(s, 1);

		sqlite3_str_appendall(text, "ncu --kernel-name ");
		append_word(text, function);
		sqlite3_str_appendf(text, " --launch-skip %lld --launch-count 1 --",
		                    (long long)sqlite3_column_int64(s, 0));
		append_words(text, command ? command : "");
		show->ncu = sqlite3_str_finish(text);
		rc = show->ncu ? 0 : -ENOMEM;
	}
	sqlite3_finalize(s);
	sqlite3_free(sql);
	sqlite3_free(ids);
	free(function);
	return rc > 0 ? 0 : rc;
}

/* ---- the whole */

int wt_show_load(sqlite3 *db, const struct wt_select *select, int64_t kernel_id,
                 struct wt_show *show)
{
	int rc;

	memset(show, 0, sizeof(*show));
	rc = load_configs(db, select, kernel_id, show);
	if (rc == -EIO && !show->problem[0])
		snprintf(show->problem, sizeof(show->problem), "%s", wt_report_problem(db));
	if (rc)
		return rc;
	show->demangled = wt_kernel_name_demangle(show->total.kernel);
	rc = show->demangled ? load_times(db, kernel_id, show) : -ENOMEM;
	show->is_collective = wt_is_collective_kernel(show->total.kernel);
	/* ncu counts from the first launch of all, and of those some are not known. */
	if (!rc && !show->is_collective && wt_dropped_kept_ns(db) == INT64_MIN)
		rc = load_ncu(db, kernel_id, show);
	if (rc == -EIO)
		snprintf(show->problem, sizeof(show->problem), "%s", wt_report_problem(db));
	return rc;
}

void wt_show_fini(struct wt_show *show)
{
	wt_report_fini(&show->report);
	free(show->demangled);
	for (size_t i = 0; i < show->config_count; i++)
		wt_rates_fini(&show->configs[i].measured);
	free(show->configs);
	sqlite3_free(show->ncu);
	memset(show, 0, sizeof(*show));
}

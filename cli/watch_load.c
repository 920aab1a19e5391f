/*
 * watch_load.c - see watch_top.h: reads a run file as `top` and `show` do. Single-threaded; blocks on
 * files and the daemon.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/show.h"
#include "cli/show_print.h"
#include "cli/top_columns.h"
#include "cli/watch_top.h"

#define DAEMON_MS 300
#define STEPS_BETWEEN_LOOKS 200000 /* of SQLite's machine: some milliseconds */

/* ---- which run */

bool wt_watch_has_daemon(void)
{
	char data_dir[WT_PATH_BYTES], *reply = NULL;
	int rc = wt_path_data_dir(data_dir);

	if (!rc)
		rc = wt_client_request(data_dir, "status", DAEMON_MS, &reply);
	free(reply);
	/* One that is busy, or another's, may be storing. */
	return rc != -ECONNREFUSED && rc != -ENOENT;
}

/* The last run that is being recorded. False: none. */
static bool find_live(char *path)
{
	struct wt_db_run_file *runs = NULL;
	char data_dir[WT_PATH_BYTES];
	bool is_found = false;
	size_t count = 0;

	if (wt_path_data_dir(data_dir) || wt_db_list(data_dir, &runs, &count))
		return false;
	for (size_t i = count; i-- > 0 && !is_found;)
		if (!runs[i].error && runs[i].processes_live) {
			is_found = true;
			snprintf(path, WT_PATH_BYTES, "%s", runs[i].path);
		}
	free(runs);
	return is_found && wt_watch_has_daemon();
}

int wt_watch_find_run(const char *spec, char *path, bool *ret_is_live)
{
	struct wt_run_file run;
	char *whole;
	int code;

	*ret_is_live = !spec && find_live(path);
	if (*ret_is_live)
		return WT_EXIT_FINE;
	code = wt_run_file_open(spec, &run);
	if (code)
		return code;
	*ret_is_live = run.info.processes_live && wt_watch_has_daemon();
	/* With a slash it means this file, whatever becomes of the folder's others. */
	whole = realpath(run.info.path, NULL);
	snprintf(path, WT_PATH_BYTES, "%s", whole ? whole : run.info.path);
	free(whole);
	wt_run_file_close(&run);
	return WT_EXIT_FINE;
}

int wt_watch_stamp(const char *path, struct wt_watch_stamp *ret_stamp)
{
	char wal[WT_PATH_BYTES + 8];

	memset(ret_stamp, 0, sizeof(*ret_stamp));
	if (stat(path, &ret_stamp->file))
		return -errno;
	snprintf(wal, sizeof(wal), "%s-wal", path);
	if (stat(wal, &ret_stamp->wal))
		memset(&ret_stamp->wal, 0, sizeof(ret_stamp->wal));
	return 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool wt_watch_is_same(const struct wt_watch_stamp *a, const struct wt_watch_stamp *b)
{
	return is_same_file(&a->file, &b->file) && is_same_file(&a->wal, &b->wal);
}

/* ---- reading */

const char *wt_watch_last(const struct wt_watch_options *options)
{
	const char *from = options->select.from;

	return from && from[0] == '-' ? from : WT_WATCH_LAST;
}

static struct wt_select_words words_of(const struct wt_watch_query *query)
{
	struct wt_select_words words = query->options->select;

	if (query->device[0])
		words.device = query->device;
	if (query->window == WT_WATCH_AS_TOP)
		return words;
	words.is_all = query->window == WT_WATCH_WHOLE;
	words.from = words.is_all ? NULL : wt_watch_last(query->options);
	words.to = words.steps = NULL;
	return words;
}

/* SQLite asks now and then whether to go on. What it had until then is not all. */
static int is_called(void *arg)
{
	bool *is_ended = arg;

	*is_ended = *is_ended || wt_screen_is_called();
	return *is_ended;
}

static struct wt_report_query query_of(const struct wt_watch_query *query,
                                       const struct wt_select *select)
{
	struct wt_report_query wanted = {
	        .by = query->by,
	        .group = query->group,
	        .select = select,
	        .has_full_names = query->options->has_full_names,
	};
	const struct wt_top_style style = {
	        .by = query->by, .group = query->group, .columns = query->options->columns};

	wt_top_needs(&style, &wanted.gaps, &wanted.latency);
	return wanted;
}

/* is_ended: set when a key or signal ends the reading, which may be any time until `run` is closed. NULL: none does. */
static int open_run(const struct wt_watch_query *query, bool *is_ended, struct wt_select *select,
                    struct wt_run_file *run)
{
	const struct wt_select_words words = words_of(query);
	struct wt_report_query wanted;
	int code = wt_select_parse("top", &words, select);

	wt_report_forget_damage(); /* of the reading before */
	wt_select_prefer_steady(select);
	if (!code)
		code = wt_run_file_open(query->path, run);
	if (code)
		return code;
	if (is_ended)
		sqlite3_progress_handler(run->db, STEPS_BETWEEN_LOOKS, is_called, is_ended);
	wanted = query_of(query, select);
	select->takes_sums = wt_report_takes_sums(run->db, &wanted);
	return wt_select_apply(select, run);
}

/* Why there is nothing to show, although it could be read. */
static void explain(struct wt_watch_state *state)
{
	const struct wt_report *report = &state->report;
	const struct wt_watch_query *query = &state->query;

	if (!report->row_count) {
		wt_report_why_empty(report, state->problem, sizeof(state->problem));
	} else if (query->by == WT_REPORT_BY_STRAGGLE && !report->total.has_measured) {
		snprintf(state->problem, sizeof(state->problem),
		         "straggle: blocks of unequal length need a measurement, and this run has "
		         "none; tail-idle ranks what the model knows");
	} else if (query->by == WT_REPORT_BY_LATENCY && !report->total.latency_launches) {
		snprintf(state->problem, sizeof(state->problem),
		         "latency: no launch has a call of its own that is known");
	} else {
		state->has_rows = true;
		state->code = WT_EXIT_FINE;
	}
}

static void read_report(struct wt_watch_state *state)
{
	const struct wt_watch_query *query = &state->query;
	struct wt_report_query wanted = query_of(query, &state->select);
	int rc;

	/* The bars want causes, also of a short part of a long run. */
	if (state->select.is_applied && state->select.has_window &&
	    state->select.launches <= WT_REPORT_LAUNCHES_CHEAP)
		wanted.gaps = WT_REPORT_NEEDED;
	rc = wt_report_load(state->run.db, &wanted, &state->report);
	state->code = rc && rc != -ENODATA ? WT_EXIT_FAILED : WT_EXIT_NO_DATA;
	if (!rc)
		explain(state);
	else if (rc == -ENODATA)
		snprintf(state->problem, sizeof(state->problem), "group %s: this run has %s",
		         query->options->group_choices[query->group].word, state->report.problem);
	else
		snprintf(state->problem, sizeof(state->problem), "%s",
		         rc == -EIO ? state->report.problem : strerror(-rc));
}

struct wt_watch_state *wt_watch_load(const struct wt_watch_query *query, bool may_end)
{
	struct wt_watch_state *state = calloc(1, sizeof(*state));
	int64_t began_ns = wt_watch_now_ns();
	bool is_ended = false;
	int code;

	if (!state)
		return NULL;
	state->query = *query; /* its words outlive what the next reading is for */
	state->taken_s = (int64_t)time(NULL);
	wt_cli_divert_errors(state->problem, sizeof(state->problem));
	code = open_run(&state->query, may_end ? &is_ended : NULL, &state->select, &state->run);
	wt_cli_divert_errors(NULL, 0);
	state->code = code;
	if (!code) {
		state->problem[0] = '\0';
		read_report(state);
	}
	wt_run_file_close(&state->run);
	state->took_ns = wt_watch_now_ns() - began_ns;
	if (is_ended) {
		wt_watch_state_free(state);
		return NULL;
	}
	return state;
}

void wt_watch_state_free(struct wt_watch_state *state)
{
	if (!state)
		return;
	wt_report_fini(&state->report);
	wt_select_fini(&state->select);
	free(state);
}

size_t wt_watch_devices(const char *path, struct wt_watch_device *devices, size_t room)
{
	static const char sql[] = "SELECT device_id, name, sm_count FROM device WHERE device_id IN"
	                          " (SELECT device_id FROM main.config) ORDER BY device_id";
	char problem[400];
	struct wt_run_file run;
	sqlite3_stmt *s = NULL;
	size_t count = 0;
	int code;

	wt_cli_divert_errors(problem, sizeof(problem));
	code = wt_run_file_open(path, &run);
	wt_cli_divert_errors(NULL, 0);
	if (code)
		return 0;
	if (sqlite3_prepare_v2(run.db, sql, -1, &s, NULL) == SQLITE_OK)
		while (count < room && sqlite3_step(s) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(s, 1);

			devices[count].device_id = sqlite3_column_int64(s, 0);
			devices[count].sms = sqlite3_column_int64(s, 2);
			snprintf(devices[count].name, sizeof(devices[count].name), "%s",
			         name ? name : "?");
			count++;
		}
	sqlite3_finalize(s);
	wt_run_file_close(&run);
	return count;
}

/* ---- one kernel */

static int print_kernel(const struct wt_watch_query *query, const struct wt_run_file *run,
                        const struct wt_show *show, unsigned columns, struct wt_lines *lines)
{
	struct wt_text_terminal terminal;
	/* Which run is the latest may be another one by then. */
	char *option = wt_run_option(run, query->options->run ? query->options->run : run->info.id);
	FILE *out = wt_lines_begin(lines);
	int rc = option && out ? 0 : -ENOMEM;

	wt_watch_terminal(&terminal, columns);
	if (!rc)
		rc = wt_show_print(out, &terminal, run, show, option);
	free(option);
	return wt_lines_end(lines) ? -ENOMEM : rc;
}

int wt_watch_load_kernel(const struct wt_watch_query *query, int64_t kernel_id, unsigned columns,
                         struct wt_lines *lines, char *problem)
{
	struct wt_run_file run = {0};
	struct wt_select select;
	struct wt_show show;
	int code, rc = -EINVAL;

	wt_cli_divert_errors(problem, 400);
	code = open_run(query, NULL, &select, &run);
	if (!code) {
		rc = wt_show_load(run.db, &select, kernel_id, &show);
		if (rc)
			snprintf(problem, 400, "kernel id:%" PRId64 ": %s", kernel_id,
			         rc == -EIO      ? show.problem
			         : rc == -ENOENT ? "no launch of it"
			                         : strerror(-rc));
		else
			rc = print_kernel(query, &run, &show, columns, lines);
		wt_show_fini(&show);
	}
	wt_cli_divert_errors(NULL, 0);
	wt_run_file_close(&run);
	wt_select_fini(&select);
	return rc;
}

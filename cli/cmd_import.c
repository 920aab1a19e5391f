/*
 * cmd_import.c - `wavetap import`: recordings (WAVETAP_RECORD) into a run file, by the code that
 * the daemon runs live. The file appears under its name only when it is whole.
 *
 * Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/out_file.h"
#include "cli/phrase.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/text.h"
#include "cli/top_text.h"
#include "daemon/daemon.h"
#include "daemon/replay.h"

#define NAME_TRIES 100

struct import_values {
	const char *output, *name;
	bool is_forced, is_dry, is_json;
};

static const struct wt_option import_options[] = {
        {"output", 'o', WT_OPTION_TEXT, "RUNFILE", offsetof(struct import_values, output), NULL,
         "where to (else into the data directory)"},
        {"force", 0, WT_OPTION_FLAG, NULL, offsetof(struct import_values, is_forced), NULL,
         "replace an existing RUNFILE"},
        {"name", 'n', WT_OPTION_TEXT, "NAME", offsetof(struct import_values, name), NULL,
         "name of the run (else as recorded)"},
        {"dry-run", 0, WT_OPTION_FLAG, NULL, offsetof(struct import_values, is_dry), NULL,
         "check: write nothing, and fail unless every recording is whole"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct import_values, is_json), NULL,
         "one JSON object"},
        {0},
};

struct import {
	struct wt_replay *replay;
	struct wt_out_file out;
	char path[WT_PATH_BYTES]; /* "" = kept nowhere */
	struct wt_run_file run; /* what was made, for the summary */
	struct wt_report report;
};

/* ---- where to */

/* <data dir>/runs/<when it was recorded>-<run id>.db, a name that is free. */
static int choose_path(struct import *import)
{
	time_t when = (time_t)(wt_replay_created_ns(import->replay) / UINT64_C(1000000000));
	char data_dir[WT_PATH_BYTES], stamp[40] = "recording", extra[16] = "";
	struct tm tm;
	int rc;

	if (wt_run_data_dir(data_dir))
		return WT_EXIT_FAILED;
	rc = wt_run_make_folder(data_dir);
	if (rc) {
		wt_cli_error("%s/runs: %s", data_dir, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	if (localtime_r(&when, &tm))
		strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	for (int i = 0; i < NAME_TRIES; i++) {
		if (i)
			snprintf(extra, sizeof(extra), ".%d", i);
		if ((size_t)snprintf(import->path, sizeof(import->path), "%s/runs/%s%s-%08x.db",
		                     data_dir, stamp, extra,
		                     wt_replay_run_id(import->replay)) >= sizeof(import->path))
			break;
		if (access(import->path, F_OK))
			return WT_EXIT_FINE;
	}
	wt_cli_error("%s/runs: no name is free for the run", data_dir);
	return WT_EXIT_FAILED;
}

static int begin_output(struct import *import, const struct import_values *values)
{
	int code = WT_EXIT_FINE;
	int rc;

	if (values->is_dry)
		return WT_EXIT_FINE;
	if (values->output && strlen(values->output) >= sizeof(import->path))
		return wt_cli_usage_error("import", "the name of RUNFILE is too long");
	if (values->output)
		strcpy(import->path, values->output);
	else
		code = choose_path(import);
	if (code)
		return code;
	rc = wt_out_file_begin(&import->out, import->path, values->is_forced);
	if (rc == -EEXIST)
		wt_cli_error("%s exists already (--force replaces it)", import->path);
	else if (rc)
		wt_cli_error("%s: %s", import->path, strerror(-rc));
	else if (!values->output)
		chmod(import->out.temporary, 0600); /* as the daemon's own */
	if (rc)
		import->path[0] = '\0';
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

/* ---- the work */

static int import_all(struct import *import, const struct import_values *values)
{
	struct wt_progress progress;
	uint64_t done, all;
	char why[WT_REPLAY_WHY_BYTES];
	int rc =
	        wt_replay_begin(import->replay, values->is_dry ? ":memory:" : import->out.temporary,
	                        values->name, why);

	wt_replay_progress(import->replay, &done, &all);
	wt_progress_begin(&progress, "import", "bytes", (int64_t)all);
	if (!rc) {
		while ((rc = wt_replay_step(import->replay, why)) > 0) {
			wt_replay_progress(import->replay, &done, &all);
			wt_progress_set(&progress, (int64_t)done);
		}
	}
	wt_progress_end(&progress);
	if (rc)
		wt_cli_error("%s", why);
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

/* What the run file says, read before it gets its name. */
static int read_result(struct import *import)
{
	sqlite3 *db = wt_replay_db(import->replay);
	int rc = wt_db_describe(db, import->path, &import->run.info);

	if (!rc)
		rc = wt_report_load_losses(db, &import->report);
	if (rc)
		wt_cli_error("%s: %s", import->path, wt_report_problem(db));
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

static int end_output(struct import *import)
{
	char why[WT_REPLAY_WHY_BYTES];
	int rc = wt_replay_finish(import->replay, why);

	if (rc) {
		wt_cli_error("%s: %s", import->path, why);
		return WT_EXIT_FAILED;
	}
	if (!import->path[0])
		return WT_EXIT_FINE;
	rc = wt_out_file_commit(&import->out);
	if (rc)
		wt_cli_error("%s: %s", import->path, strerror(-rc));
	else
		import->out.temporary[0] = '\0';
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

/* ---- words */

static void put_sources(struct wt_json *json, const struct wt_replay *replay)
{
	wt_json_array_begin(json);
	for (size_t i = 0; i < wt_replay_count(replay); i++) {
		const struct wt_replay_source *source = wt_replay_source(replay, i);

		wt_json_object_begin(json);
#define INT(name)                                                                                  \
	do {                                                                                       \
		wt_json_key(json, #name);                                                          \
		wt_json_int(json, (int64_t)source->name);                                          \
	} while (0)
		wt_json_key(json, "file");
		wt_json_string(json, source->path);
		INT(pid);
		INT(file_bytes);
		INT(good_bytes);
		INT(blocks);
		INT(cells);
		INT(launches);
		INT(kernels);
		INT(cells_torn);
		INT(cells_missing);
#undef INT
		wt_json_key(json, "is_whole");
		wt_json_bool(json, source->is_whole);
		wt_json_key(json, "reason");
		wt_json_string(json, source->is_whole ? NULL : source->why);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}

static int print_json(const struct import *import)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, &import->run);
	wt_json_key(&json, "recordings");
	put_sources(&json, import->replay);
	wt_json_key(&json, "loss");
	wt_json_put_loss(&json, &import->report.loss);
	wt_json_put_incomplete(&json, &import->report);
	wt_json_object_end(&json);
	return wt_cli_output_result(wt_json_finish(&json));
}

static void print_source(const struct wt_replay_source *source, struct wt_phrase *line)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "%s", source->path);
	if (source->pid)
		wt_phrase_add(line, "pid %d", source->pid);
	wt_phrase_add(line, "%s", wt_text_bytes(a, source->file_bytes));
	wt_phrase_add(line, "%s launches, %s kernels", wt_text_count(a, (int64_t)source->launches),
	              wt_text_count(b, (int64_t)source->kernels));
	if (source->kernels && source->is_whole)
		wt_phrase_add(line, "%.1f bytes a kernel",
		              (double)source->good_bytes / (double)source->kernels);
	if (source->cells_torn)
		wt_phrase_add(line, "%s torn", wt_text_count(a, (int64_t)source->cells_torn));
	if (source->cells_missing)
		wt_phrase_add(line, "%s records missing",
		              wt_text_count(a, (int64_t)source->cells_missing));
	wt_phrase_add(line, "%s", source->is_whole ? "whole" : "NOT WHOLE");
	wt_phrase_end(line);
}

static void print_text(const struct import *import)
{
	struct wt_text_terminal terminal;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_phrase_init(&line, stdout, &terminal);
	for (size_t i = 0; i < wt_replay_count(import->replay); i++)
		print_source(wt_replay_source(import->replay, i), &line);
	if (import->path[0])
		wt_phrase_add(&line, "run %s", import->run.info.id);
	else
		wt_phrase_add(&line, "nothing written");
	if (import->run.info.name[0])
		wt_phrase_add(&line, "%s", import->run.info.name);
	wt_phrase_add(&line, "%" PRId64 " process%s", import->run.info.processes,
	              import->run.info.processes == 1 ? "" : "es");
	wt_phrase_add(&line, "%s launches, %s kernels",
	              wt_text_count(a, import->report.loss.launches_attempted),
	              wt_text_count(b, import->report.loss.kernels));
	wt_phrase_add(&line, "%s unexplained", wt_text_count(a, import->report.loss.unexplained));
	if (import->path[0])
		wt_phrase_add(&line, "%s", import->path);
	wt_phrase_end(&line);
	wt_top_print_losses(stdout, &terminal, &import->report);
}

/* A line on stderr for each recording that is not whole; true if all are. */
static bool tell_damage(const struct import *import)
{
	bool is_whole = true;

	for (size_t i = 0; i < wt_replay_count(import->replay); i++) {
		const struct wt_replay_source *source = wt_replay_source(import->replay, i);

		if (source->is_whole && source->good_bytes == source->file_bytes)
			continue;
		if (source->is_whole)
			wt_cli_error("%s: %" PRIu64 " bytes behind the end of the recording are "
			             "ignored",
			             source->path, source->file_bytes - source->good_bytes);
		else
			wt_cli_error("%s: not whole: %s (%" PRIu64 " of %" PRIu64
			             " bytes are good); what the process did after that is missing",
			             source->path, source->why, source->good_bytes,
			             source->file_bytes);
		is_whole = false;
	}
	return is_whole;
}

/* ---- the whole */

/* All recordings of a run are open at once, and the usual soft limit is 1,024. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit); /* else opening says what is wrong */
}

static int import_files(struct import *import, const struct import_values *values, int count,
                        char **paths)
{
	char why[WT_REPLAY_WHY_BYTES];
	int code = WT_EXIT_FINE;

	raise_file_limit();
	for (int i = 0; i < count; i++) {
		if (wt_replay_add(import->replay, paths[i], why)) {
			wt_cli_error("%s", why);
			return WT_EXIT_FAILED;
		}
	}
	if (wt_replay_is_empty(import->replay)) {
		tell_damage(import);
		wt_cli_error("there is nothing to import: no block is whole");
		return WT_EXIT_NO_DATA;
	}
	code = begin_output(import, values);
	if (!code)
		code = import_all(import, values);
	if (!code)
		code = read_result(import);
	if (!code)
		code = end_output(import);
	if (code)
		return code;
	if (values->is_json)
		code = print_json(import);
	else
		print_text(import);
	if (!tell_damage(import) && values->is_dry)
		code = WT_EXIT_FAILED;
	return code;
}

static int run_import(void *opaque, int operand_count, char **operands)
{
	const struct import_values *values = opaque;
	struct import import = {0};
	int code;

	if (values->is_dry && values->output)
		return wt_cli_usage_error("import",
		                          "--dry-run writes nothing: no --output with it");
	if (values->output && !values->output[0])
		return wt_cli_usage_error("import", "--output is empty");
	if (values->name && strlen(values->name) >= WT_RUN_KEY_BYTES)
		return wt_cli_usage_error("import", "--name is longer than %d bytes",
		                          WT_RUN_KEY_BYTES - 1);
	import.replay = wt_replay_create();
	if (!import.replay) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	code = import_files(&import, values, operand_count, operands);
	if (import.out.temporary[0])
		wt_out_file_abort(&import.out);
	wt_report_fini(&import.report);
	wt_replay_destroy(import.replay);
	return code;
}

const struct wt_command wt_cmd_import = {
        .name = "import",
        .operands = "RECORDING...",
        .summary = "make a run file of recordings (WAVETAP_RECORD)",
        .details = "Several recordings are the processes of one run. One that was cut or "
                   "damaged is imported up to its last whole block, and it is said what "
                   "is missing.",
        .example = "wavetap import -o train.db recordings/*.wtrec",
        .theme = WT_THEME_KEEP,
        .options = import_options,
        .operand_count_min = 1,
        .operand_count_max = -1,
        .values_bytes = sizeof(struct import_values),
        .run = run_import,
};

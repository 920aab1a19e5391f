/*
 * cmd_check.c - `wavetap check`: are run files sound? Single-threaded; blocks on files.
 *
 * Every file is checked even if one before it has problems. SIGINT ends the work, cleanly: the
 * progress line is taken away, and then the signal does what it does.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/content_hash.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/phrase.h"
#include "cli/progress.h"
#include "cli/run_file.h"
#include "cli/wrap.h"
#include "schema/wt_paths.h"

#define TEXT_COLUMN 35 /* of what is wrong */
#define CONTENT_SHOWN 12 /* hex digits of the content hash: as `runs --hash` */

struct check_values {
	const char *run;
	bool is_all, is_json;
};

static const struct wt_option check_options[] = {
        WT_RUN_OPTION(struct check_values, run),
        {"all", 'a', WT_OPTION_FLAG, NULL, offsetof(struct check_values, is_all), NULL,
         "every run in the data directory"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct check_values, is_json), NULL,
         "one JSON object"},
        {0},
};

struct checker {
	struct wt_progress progress;
	int files, files_done;
	struct wt_text_terminal terminal;
	struct wt_json json;
	bool is_json;
	int unsound, failed; /* files */
};

/* ---- SIGINT */

static volatile sig_atomic_t is_interrupted;
static sqlite3 *volatile open_db; /* what is being checked */

/* Also SQLite's integrity check, which calls nobody, looks at its own flag. */
static void on_interrupt(int number)
{
	sqlite3 *db = open_db;

	(void)number;
	is_interrupted = 1;
	if (db)
		sqlite3_interrupt(db);
}

static void on_progress(void *arg, int done)
{
	struct checker *checker = arg;

	wt_progress_set(&checker->progress, (int64_t)checker->files_done * wt_check_count() + done);
}

/* ---- what was found */

static void print_text(struct checker *checker, const struct wt_db_run_file *run,
                       const struct wt_check *check, const char *hash)
{
	char number[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;

	wt_progress_hide();
	wt_phrase_init(&line, stdout, &checker->terminal);
	if (run->id[0])
		wt_phrase_add(&line, "run %s", run->id);
	else
		wt_phrase_add(&line, "%s", run->path);
	if (run->name[0])
		wt_phrase_add(&line, "%s", run->name);
	if (check->count)
		wt_phrase_add(&line, "%zu problem%s", check->count, check->count == 1 ? "" : "s");
	else
		wt_phrase_add(&line, "sound");
	if (!run->error) {
		wt_phrase_add(&line, "%d checks", check->done);
		wt_phrase_add(&line, "%s kernels", wt_text_count(number, run->kernels));
		wt_phrase_add(&line, "%s launches", wt_text_count(number, run->launches));
	}
	if (hash[0])
		wt_phrase_add(&line, "content %.*s", CONTENT_SHOWN, hash);
	if (check->is_live)
		wt_phrase_add(&line, "still running: what is under way is not judged");
	wt_phrase_end(&line);
	for (size_t i = 0; i < check->count; i++) {
		const struct wt_check_problem *p = &check->problems[i];
		char left[sizeof(p->table) + WT_TEXT_NUMBER_BYTES + 40];

		snprintf(left, sizeof(left), "  %-10s  %-12s  %5s", p->check,
		         p->table[0] ? p->table : "-", wt_text_count(number, p->count));
		wt_wrap_beside(stdout, left, p->text, TEXT_COLUMN, &checker->terminal);
	}
}

static void put_text(struct wt_json *json, const char *key, const char *text)
{
	wt_json_key(json, key);
	wt_json_string(json, text[0] ? text : NULL);
}

static void put_json(struct checker *checker, const struct wt_db_run_file *run,
                     const struct wt_check *check, const char *hash, const char *reason)
{
	struct wt_json *json = &checker->json;

	wt_json_object_begin(json);
	put_text(json, "id", run->id);
	put_text(json, "name", run->name);
	put_text(json, "file", run->path);
	wt_json_key(json, "is_live");
	wt_json_bool(json, check->is_live);
	wt_json_key(json, "is_sound");
	if (reason[0])
		wt_json_null(json);
	else
		wt_json_bool(json, check->count == 0);
	put_text(json, "reason", reason);
	put_text(json, "content_hash", hash);
	wt_json_key(json, "checks");
	wt_json_int(json, check->done);
	wt_json_key(json, "problems");
	wt_json_array_begin(json);
	for (size_t i = 0; i < check->count; i++) {
		wt_json_object_begin(json);
		put_text(json, "check", check->problems[i].check);
		put_text(json, "table", check->problems[i].table);
		wt_json_key(json, "count");
		wt_json_int(json, check->problems[i].count);
		put_text(json, "text", check->problems[i].text);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
	wt_json_object_end(json);
}

/* Damaged, foreign and newer files are problems of the file; the rest is a failure of ours. */
static int note_unreadable(struct wt_check *check, int err, const char *text)
{
	if (err == -EBADMSG || err == -EINVAL || err == -ENOTSUP)
		return wt_check_add(check, "file", "", 1, "%s", text);
	return err;
}

static int check_open(struct checker *checker, struct wt_db_run_file *run, struct wt_check *check)
{
	int err;

	err = wt_db_describe(check->db, run->path, run);
	run->error = 0;
	if (err == -ENOMEM)
		return err;
	check->progress = on_progress;
	check->progress_arg = checker;
	check->is_interrupted = &is_interrupted;
	open_db = check->db;
	err = wt_check_run(check);
	open_db = NULL;
	return err;
}

/* Of a file whose rows can all be read and come no more; else there is none, and why is among the problems. */
static void hash_content(const struct wt_db_run_file *run, const struct wt_check *check,
                         char hash[WT_DIGEST_HEX_BYTES])
{
	char error[WT_DB_ERROR_BYTES];

	if (check->is_live || wt_content_hash(run->path, hash, error))
		hash[0] = '\0';
}

/* One file, with its path in `run`. 0, or -EINTR or -ENOMEM: then nothing goes on. */
static int check_file(struct checker *checker, struct wt_db_run_file *run)
{
	char reason[WT_DB_ERROR_BYTES] = "", hash[WT_DIGEST_HEX_BYTES] = "";
	struct wt_check check = {0};
	int err = wt_db_open(run->path, &check.db, reason);

	run->error = err;
	if (err) {
		err = note_unreadable(&check, err, reason);
		if (!err)
			reason[0] = '\0';
	} else {
		err = check_open(checker, run, &check);
		if (err)
			snprintf(reason, sizeof(reason), "%.300s: %.200s", run->path,
			         check.error[0] ? check.error : strerror(-err));
	}
	if (err && err != -EINTR)
		wt_cli_error("%s", reason);
	if (!err && !run->error)
		hash_content(run, &check, hash);
	if (err != -EINTR && checker->is_json)
		put_json(checker, run, &check, hash, reason);
	else if (!err)
		print_text(checker, run, &check, hash);
	checker->unsound += !err && check.count;
	checker->failed += err != 0;
	checker->files_done++;
	wt_check_fini(&check);
	sqlite3_close(check.db);
	return err == -EINTR || err == -ENOMEM ? err : 0;
}

/* ---- which files */

struct selection {
	struct wt_db_run_file *runs; /* of the data directory */
	size_t run_count;
	struct wt_db_run_file *chosen;
	size_t chosen_count;
	bool is_listed;
	char data_dir[WT_PATH_BYTES];
};

static int list_runs(struct selection *selection)
{
	int rc;

	if (selection->is_listed)
		return WT_EXIT_FINE;
	if (wt_run_data_dir(selection->data_dir))
		return WT_EXIT_FAILED;
	rc = wt_db_list(selection->data_dir, &selection->runs, &selection->run_count);
	if (rc) {
		wt_cli_error("%s/runs: %s", selection->data_dir, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	selection->is_listed = true;
	return WT_EXIT_FINE;
}

/* An enum wt_exit, after a message. */
static int choose(struct selection *selection, const char *spec)
{
	struct wt_db_run_file *run = &selection->chosen[selection->chosen_count];
	const struct wt_db_run_file *found;
	int code;

	if (!spec[0])
		return wt_cli_usage_error("check", "the name of a run is empty");
	*run = (struct wt_db_run_file){0};
	if (wt_run_is_path(spec)) {
		if (strlen(spec) >= sizeof(run->path) || access(spec, F_OK)) {
			wt_cli_error("%s: %s", spec, strerror(errno ? errno : ENAMETOOLONG));
			return WT_EXIT_NO_DATA;
		}
		snprintf(run->path, sizeof(run->path), "%s", spec);
		selection->chosen_count++;
		return WT_EXIT_FINE;
	}
	code = list_runs(selection);
	if (code)
		return code;
	found = wt_run_pick(selection->runs, selection->run_count, spec);
	if (!found) {
		wt_cli_error("there is no run \"%s\" in %s (see wavetap runs)", spec,
		             selection->data_dir);
		return WT_EXIT_NO_DATA;
	}
	*run = *found;
	selection->chosen_count++;
	return WT_EXIT_FINE;
}

static int select_runs(const struct check_values *values, int operand_count, char **operands,
                       struct selection *selection)
{
	int code = values->is_all ? list_runs(selection) : WT_EXIT_FINE;
	size_t room = (size_t)operand_count + 1 + selection->run_count;

	if (code)
		return code;
	selection->chosen = calloc(room, sizeof(*selection->chosen));
	if (!selection->chosen) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	if (values->is_all) {
		if (!selection->run_count) {
			wt_cli_error("no run has been recorded in %s yet", selection->data_dir);
			return WT_EXIT_NO_DATA;
		}
		memcpy(selection->chosen, selection->runs,
		       selection->run_count * sizeof(*selection->chosen));
		selection->chosen_count = selection->run_count;
		return WT_EXIT_FINE;
	}
	if (values->run || !operand_count)
		code = choose(selection, values->run ? values->run : "latest");
	for (int i = 0; i < operand_count && !code; i++)
		code = choose(selection, operands[i]);
	return code;
}

/* ---- the whole */

static int check_all(struct checker *checker, struct selection *selection)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, former;
	int err = 0;

	checker->files = (int)selection->chosen_count;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, NULL, &former);
	if (former.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
	wt_progress_begin(&checker->progress, "check", "checks",
	                  (int64_t)checker->files * wt_check_count());
	for (size_t i = 0; i < selection->chosen_count && !err; i++)
		err = check_file(checker, &selection->chosen[i]);
	wt_progress_end(&checker->progress);
	sigaction(SIGINT, &former, NULL);
	return err;
}

static int finish(struct checker *checker, int err)
{
	if (err == -EINTR) {
		fflush(stdout);
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
		return 128 + SIGINT;
	}
	if (checker->is_json) {
		wt_json_array_end(&checker->json);
		wt_json_object_end(&checker->json);
		err = wt_json_finish(&checker->json);
		if (err)
			return wt_cli_output_result(err);
	}
	return checker->unsound || checker->failed ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

static int run_check(void *opaque, int operand_count, char **operands)
{
	const struct check_values *values = opaque;
	struct checker checker = {.is_json = values->is_json};
	struct selection selection = {0};
	int code;

	if (values->is_all && (values->run || operand_count))
		return wt_cli_usage_error("check", "--all and single runs exclude each other");
	code = select_runs(values, operand_count, operands, &selection);
	if (!code) {
		wt_text_terminal_probe(STDOUT_FILENO, &checker.terminal);
		if (checker.is_json) {
			wt_json_init(&checker.json, stdout, true);
			wt_json_object_begin(&checker.json);
			wt_json_key(&checker.json, "schema");
			wt_json_int(&checker.json, WT_JSON_SCHEMA);
			wt_json_key(&checker.json, "runs");
			wt_json_array_begin(&checker.json);
		}
		code = finish(&checker, check_all(&checker, &selection));
	}
	free(selection.chosen);
	free(selection.runs);
	return code;
}

const struct wt_command wt_cmd_check = {
        .name = "check",
        .operands = "[RUN]...",
        .summary = "verify run files: damage, references, times, books, rollups, samples",
        .details = "Exits with 0 if every file is sound, 1 if one is not, 3 if there is "
                   "no such run.",
        .example = "wavetap check --all",
        .theme = WT_THEME_KEEP,
        .options = check_options,
        .operand_count_max = -1,
        .values_bytes = sizeof(struct check_values),
        .run = run_check,
};

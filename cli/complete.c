/*
 * complete.c - see complete.h. Single-threaded; blocks on files.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/complete.h"
#include "cli/kernel_name.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/text.h"
#include "cli/top_cells.h"
#include "schema/wt_db.h"
#include "schema/wt_paths.h"

#define KERNELS_MAX 300 /* those with most time */
#define WHAT_COLUMNS 80 /* of what a candidate is */

/* The word to complete: `kept` stays as it is, candidates begin with `typed`. */
struct wanted {
	char *kept;
	const char *typed;
	bool is_utf8;
	size_t count; /* candidates so far */
};

/* Nothing that would break the protocol of lines, or a terminal, is offered. */
static bool is_plain(const char *text, bool is_utf8)
{
	char *safe = wt_text_escape(text, is_utf8);
	bool is_same = safe && !strcmp(safe, text);

	free(safe);
	return is_same && !strchr(text, '\t');
}

/* `what` may be NULL. */
static void offer(struct wanted *wanted, const char *candidate, const char *what)
{
	char *safe, *fitted = NULL;

	if (strncmp(candidate, wanted->typed, strlen(wanted->typed)) != 0 ||
	    !is_plain(candidate, wanted->is_utf8))
		return;
	wanted->count++;
	printf("%s%s", wanted->kept, candidate);
	safe = what ? wt_text_escape(what, wanted->is_utf8) : NULL;
	if (safe)
		fitted = wt_text_fit(safe, WHAT_COLUMNS, wanted->is_utf8);
	if (fitted)
		printf("\t%s", fitted);
	fputc('\n', stdout);
	free(fitted);
	free(safe);
}

/* ---- what lies in the data directory, and in a run */

static void offer_runs(struct wanted *wanted)
{
	struct wt_db_run_file *runs = NULL;
	char data_dir[WT_PATH_BYTES];
	size_t count = 0;

	if (wanted->typed[0] != '/' && wanted->typed[0] != '.' && wanted->typed[0] != '~' &&
	    !wt_run_data_dir(data_dir) && !wt_db_list(data_dir, &runs, &count)) {
		if (count)
			offer(wanted, "latest", "the last run with a second of kernels");
		for (size_t i = count; i-- > 0;) {
			time_t seconds = (time_t)(runs[i].created_ns / 1000000000);
			char when[32] = "", what[sizeof(runs[i].name) + 80];
			char kernels[WT_TEXT_NUMBER_BYTES];
			struct tm local;

			if (runs[i].error)
				continue;
			if (localtime_r(&seconds, &local))
				strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &local);
			snprintf(what, sizeof(what), "%s  %s kernels%s%s", when,
			         wt_text_count(kernels, runs[i].kernels),
			         runs[i].name[0] ? "  " : "", runs[i].name);
			offer(wanted, runs[i].id, what);
			if (runs[i].name[0])
				offer(wanted, runs[i].name, runs[i].id);
		}
	}
	free(runs);
	if (!wanted->count)
		puts(":files");
}

/* The names of a run's kernels, most time first, in short; and their ids. */
static size_t load_kernels(sqlite3 *db, int64_t ids[KERNELS_MAX], char ***ret_names)
{
	static const char sql[] =
	        "SELECT k.kernel_id, k.name FROM kernel k LEFT JOIN (SELECT c.kernel_id AS id,"
	        " total(s.time_ns) AS ns FROM main.config c JOIN main.config_stat s USING "
	        "(config_id)"
	        " GROUP BY 1) ON id = k.kernel_id ORDER BY ns DESC LIMIT ?1";
	const char *names[KERNELS_MAX];
	size_t count = 0;
	sqlite3_stmt *s;

	*ret_names = NULL;
	if (wt_report_prepare(db, sql, &s))
		return 0;
	sqlite3_bind_int64(s, 1, KERNELS_MAX);
	while (count < KERNELS_MAX && wt_report_step(s) > 0) {
		char *name = NULL;

		if (wt_report_copy_name(s, 1, &name) || !name)
			break;
		ids[count] = sqlite3_column_int64(s, 0);
		names[count++] = name;
	}
	sqlite3_finalize(s);
	if (wt_kernel_name_shorten_all(names, count, ret_names))
		*ret_names = NULL;
	for (size_t i = 0; i < count; i++)
		free((char *)names[i]);
	return *ret_names ? count : 0;
}

/* Ids as long as nothing of a name is typed; names else. */
static void offer_kernels(struct wanted *wanted, sqlite3 *db)
{
	bool is_id = !strncmp(wanted->typed,
	                      "id:", strlen(wanted->typed) < 3 ? strlen(wanted->typed) : 3);
	int64_t ids[KERNELS_MAX];
	char **names, id[32];
	size_t count = load_kernels(db, ids, &names);

	for (size_t i = 0; i < count; i++) {
		snprintf(id, sizeof(id), "id:%" PRId64, ids[i]);
		if (is_id)
			offer(wanted, id, names[i]);
		else
			offer(wanted, names[i], id);
	}
	wt_kernel_name_free_all(names, count);
}

/* For regular expressions: names up to what has a meaning in these, each once. */
static void offer_name_heads(struct wanted *wanted, sqlite3 *db)
{
	int64_t ids[KERNELS_MAX];
	char **names;
	size_t count = load_kernels(db, ids, &names);

	for (size_t i = 0; i < count; i++) {
		bool is_told = false;

		names[i][strspn(names[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		                          "0123456789_:")] = '\0';
		for (size_t k = 0; k < i; k++)
			is_told |= !strcmp(names[k], names[i]);
		if (!is_told && names[i][0])
			offer(wanted, names[i], NULL);
	}
	wt_kernel_name_free_all(names, count);
}

/* Two columns: the candidate, and what it is. */
static void offer_rows(struct wanted *wanted, sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;

	if (wt_report_prepare(db, sql, &s))
		return;
	while (wt_report_step(s) > 0)
		if (sqlite3_column_type(s, 0) != SQLITE_NULL)
			offer(wanted, (const char *)sqlite3_column_text(s, 0),
			      (const char *)sqlite3_column_text(s, 1));
	sqlite3_finalize(s);
}

enum of_run { OF_KERNELS, OF_NAME_HEADS, OF_RANGES, OF_DEVICES };

static void offer_of_run(struct wanted *wanted, const char *spec, enum of_run what)
{
	struct wt_run_file run;

	if (wt_run_file_open(spec, &run))
		return;
	switch (what) {
	case OF_KERNELS:
		offer_kernels(wanted, run.db);
		break;
	case OF_NAME_HEADS:
		offer_name_heads(wanted, run.db);
		break;
	case OF_RANGES:
		if (wt_db_has_table(run.db, "range_name"))
			offer_rows(wanted, run.db,
			           "SELECT DISTINCT name, nullif(domain, '') FROM range_name");
		break;
	case OF_DEVICES:
		offer_rows(wanted, run.db, "SELECT device_id, name FROM device ORDER BY 1");
		break;
	}
	wt_run_file_close(&run);
}

/* ---- options and their values */

static const struct wt_option *find_long(const struct wt_command *command, const char *name,
                                         size_t length)
{
	const struct wt_option *found = NULL;

	for (const struct wt_option *o = command->options; o->name && length; o++) {
		if (!o->help || strncmp(o->name, name, length) != 0)
			continue;
		if (!o->name[length])
			return o;
		if (found)
			return NULL; /* ambiguous */
		found = o;
	}
	return found;
}

static const struct wt_option *find_letter(const struct wt_command *command, char letter)
{
	for (const struct wt_option *o = command->options; o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

/*
 * The option of the command that `word` ends with; *ret_value is what the word has of its value, NULL
 * if that is the next word. NULL: none that takes a value.
 */
static const struct wt_option *option_of(const struct wt_command *command, const char *word,
                                         const char **ret_value)
{
	const struct wt_option *option = NULL;

	*ret_value = NULL;
	if (word[0] != '-' || !word[1])
		return NULL;
	if (word[1] == '-') {
		size_t length = strcspn(word + 2, "=");

		option = find_long(command, word + 2, length);
		if (word[2 + length])
			*ret_value = word + 2 + length + 1;
		return option && option->type != WT_OPTION_FLAG ? option : NULL;
	}
	for (const char *c = word + 1; *c; c++) {
		option = find_letter(command, *c);
		if (!option || option->type == WT_OPTION_FLAG)
			continue;
		*ret_value = c[1] ? c + 1 : NULL;
		return option;
	}
	return NULL;
}

static void offer_options(struct wanted *wanted, const struct wt_command *command)
{
	for (const struct wt_option *o = command->options; o->name; o++) {
		char word[64];

		snprintf(word, sizeof(word), "--%s", o->name);
		if (o->help)
			offer(wanted, word, o->help);
	}
	offer(wanted, "--help", "this help");
}

/* The last of words with commas between them. */
static void keep_up_to_comma(struct wanted *wanted)
{
	const char *comma = strrchr(wanted->typed, ',');
	char *kept = NULL;

	if (!comma)
		return;
	if (asprintf(&kept, "%s%.*s", wanted->kept, (int)(comma + 1 - wanted->typed),
	             wanted->typed) < 0)
		return;
	free(wanted->kept);
	wanted->kept = kept;
	wanted->typed = comma + 1;
}

/* "any:" before the name of a range stays. */
static void keep_any(struct wanted *wanted)
{
	char *kept = NULL;

	if (strncmp(wanted->typed, "any:", 4) != 0 || asprintf(&kept, "%sany:", wanted->kept) < 0)
		return;
	free(wanted->kept);
	wanted->kept = kept;
	wanted->typed += 4;
}

/* "auto" and "off" of "auto|off|T": words in small letters stand for themselves. */
static void offer_alternatives(struct wanted *wanted, const char *argument)
{
	for (const char *at = argument; *at; at += strcspn(at, "|"), at += *at == '|') {
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, "|"), at);
		if (word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] == '\0')
			offer(wanted, word, NULL);
	}
}

static void offer_value(struct wanted *wanted, const struct wt_option *option, const char *run)
{
	static const struct {
		const char *name;
		enum of_run what;
	} of_run[] = {{"kernel", OF_NAME_HEADS},
	              {"step-marker", OF_RANGES},
	              {"step-marker", OF_NAME_HEADS},
	              {"range", OF_RANGES},
	              {"device", OF_DEVICES}};

	if (!strcmp(option->name, "range"))
		keep_any(wanted);
	for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++)
		if (!strcmp(option->name, of_run[i].name))
			offer_of_run(wanted, run, of_run[i].what);
	if (option->type == WT_OPTION_CHOICE) {
		for (const struct wt_choice *c = option->choices; c->word; c++)
			if (!c->is_missing)
				offer(wanted, c->word, c->help);
	} else if (!strcmp(option->name, "run")) {
		offer_runs(wanted);
	} else if (!strcmp(option->name, "columns")) {
		keep_up_to_comma(wanted);
		for (size_t i = 0; i < WT_TOP_COLUMN_COUNT; i++)
			offer(wanted, wt_top_columns[i].name, wt_top_columns[i].help);
	} else if (!strcmp(option->argument, "FILE") || !strcmp(option->argument, "RUNFILE")) {
		puts(":files");
	} else if (!strcmp(option->argument, "DIR")) {
		puts(":directories");
	} else {
		offer_alternatives(wanted, option->argument);
	}
}

/* ---- the words */

static void offer_operand(struct wanted *wanted, const struct wt_command *const *commands,
                          size_t command_count, const struct wt_command *command, int operands,
                          const char *run)
{
	const char *kind = command->operands ? command->operands : "";

	if (command->operand_count_max >= 0 && operands >= command->operand_count_max)
		return;
	if (command == &wt_cmd_help) {
		for (size_t i = 0; i < command_count; i++)
			offer(wanted, commands[i]->name, commands[i]->summary);
	} else if (!strcmp(kind, "KERNEL")) {
		offer_of_run(wanted, run, OF_KERNELS);
	} else if (strstr(kind, "RUN]...") || strstr(kind, "RUN...")) {
		offer_runs(wanted);
	} else if (strstr(kind, "COMMAND")) {
		puts(operands ? ":files" : ":commands");
	} else if (kind[0]) {
		puts(":files");
	}
}

/* `words` are what stands after the command, the last one the one to complete. */
static void complete_command(struct wanted *wanted, const struct wt_command *const *commands,
                             size_t command_count, const struct wt_command *command, int word_count,
                             char **words)
{
	const struct wt_option *pending = NULL;
	const char *last = words[word_count - 1], *run = NULL, *value;
	bool is_behind_options = false;
	int operands = 0;

	for (int i = 0; i + 1 < word_count; i++) {
		const struct wt_option *option = pending;

		value = words[i];
		pending = NULL;
		if (!option && !is_behind_options) {
			is_behind_options = !strcmp(words[i], "--");
			option = is_behind_options ? NULL : option_of(command, words[i], &value);
			pending = option && !value ? option : NULL;
			if (!option && !is_behind_options && (words[i][0] != '-' || !words[i][1])) {
				operands++;
				is_behind_options = command->flags & WT_COMMAND_STOPS_AT_OPERAND;
			}
		} else if (!option) {
			operands++;
		}
		if (option && value && !strcmp(option->name, "run"))
			run = value;
	}
	wanted->typed = last;
	if (pending) {
		offer_value(wanted, pending, run);
		return;
	}
	pending = is_behind_options ? NULL : option_of(command, last, &value);
	if (pending && value) {
		free(wanted->kept);
		wanted->kept = strndup(last, (size_t)(value - last));
		wanted->typed = value;
		if (wanted->kept)
			offer_value(wanted, pending, run);
	} else if (last[0] == '-' && !is_behind_options) {
		offer_options(wanted, command);
	} else {
		offer_operand(wanted, commands, command_count, command, operands, run);
	}
}

int wt_complete(const struct wt_command *const *commands, size_t command_count, int word_count,
                char **words)
{
	struct wanted wanted = {.kept = strdup("")};
	struct wt_text_terminal terminal;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wanted.is_utf8 = terminal.is_utf8;
	if (!wanted.kept)
		return WT_EXIT_FAILED;
	if (word_count == 1) {
		wanted.typed = words[0];
		for (size_t i = 0; i < command_count; i++)
			offer(&wanted, commands[i]->name, commands[i]->summary);
		if (words[0][0] == '-') {
			offer(&wanted, "--help", "the commands");
			offer(&wanted, "--version", NULL);
		}
	}
	for (size_t i = 0; i < command_count && word_count > 1; i++)
		if (!strcmp(commands[i]->name, words[0]))
			complete_command(&wanted, commands, command_count, commands[i],
			                 word_count - 1, words + 1);
	free(wanted.kept);
	return WT_EXIT_FINE;
}

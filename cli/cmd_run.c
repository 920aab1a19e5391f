/*
 * cmd_run.c - `wavetap run`: a program under wavetap, then a summary of where its SM-time
 * went. The program owns stdout; everything of ours goes to stderr. Single-threaded; blocks
 * until the program has ended and its records are stored.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/gc.h"
#include "cli/phrase.h"
#include "cli/program.h"
#include "cli/run_counters.h"
#include "cli/run_file.h"
#include "cli/shm_room.h"
#include "cli/story.h"
#include "cli/top_text.h"
#include "schema/wt_paths.h"
#include "schema/wt_run_key.h"
#include "schema/wt_sampling.h"
#include "schema/wt_setting.h"

#define DRAIN_TIMEOUT_MS 15000

struct run_values {
	const char *name, *dir, *record, *sample, *profile, *budget, *keep_rows;
	struct wt_option_list tags, keep;
	bool is_quiet;
};

static const struct wt_option run_options[] = {
        {"name", 'n', WT_OPTION_TEXT, "NAME", offsetof(struct run_values, name), NULL,
         "name of the run"},
        {"tag", 't', WT_OPTION_LIST, "KEY=VALUE", offsetof(struct run_values, tags), NULL,
         "a remark kept with the run; may be repeated"},
        {"dir", 'd', WT_OPTION_TEXT, "DIR", offsetof(struct run_values, dir), NULL,
         "data directory (else WAVETAP_DIR, else ~/.local/share/wavetap)"},
        {"keep", 'k', WT_OPTION_LIST, "LIMIT", offsetof(struct run_values, keep), NULL,
         "remove older runs then: 20 (runs), 2GiB or 30d stay"},
        {"keep-rows", 0, WT_OPTION_TEXT, "LIMIT", offsetof(struct run_values, keep_rows), NULL,
         "drop this run's oldest launches beyond 2GiB, 12h or both; sums stay (else 8GiB; all)"},
        {"record", 0, WT_OPTION_TEXT, "DIR", offsetof(struct run_values, record), NULL,
         "also write a recording of each process into DIR (see wavetap import)"},
        {"sample", 0, WT_OPTION_TEXT, "auto|off|T", offsetof(struct run_values, sample), NULL,
         "measure SM activity beside it, every T (50us) or as often as is cheap: auto"},
        {"profile", 0, WT_OPTION_TEXT, "N", offsetof(struct run_values, profile), NULL,
         "measure N launches of each configuration exactly: 12 ms each, none beside it"},
        {"budget", 0, WT_OPTION_TEXT, "PCT", offsetof(struct run_values, budget), NULL,
         "no more kernel records once recording costs more than PCT % of the time"},
        {"quiet", 'q', WT_OPTION_FLAG, NULL, offsetof(struct run_values, is_quiet), NULL,
         "no summary"},
        {0},
};

/* Everything that the program gets in its environment. */
struct run_setup {
	bool is_own_dir; /* --dir was given */
	bool is_sampled; /* or is to be */
	char data_dir[WT_PATH_BYTES];
	char preload[2 * WT_PATH_BYTES + 4096];
	char key[WT_RUN_KEY_BYTES];
	char tags[WT_TEXT_BYTES];
	char keep_text[256];
	struct wt_keep keep;
	char record_dir[WT_PATH_BYTES];
	const char *environment[14][2];
	const char *daemon_problem; /* NULL: it is up */
};

static int join_tags(const struct wt_option_list *list, char tags[WT_TEXT_BYTES])
{
	size_t used = 0;

	tags[0] = '\0';
	for (int i = 0; i < list->count; i++) {
		const char *tag = list->value[i];

		if (tag[0] == '=' || !strchr(tag, '=') || strchr(tag, ','))
			return wt_cli_usage_error(
			        "run", "--tag: \"%s\" is not KEY=VALUE without commas", tag);
		used += (size_t)snprintf(tags + used, WT_TEXT_BYTES - used, "%s%s", i ? "," : "",
		                         tag);
		if (used >= WT_TEXT_BYTES)
			return wt_cli_usage_error("run", "the tags take more than %d bytes",
			                          WT_TEXT_BYTES - 1);
	}
	return WT_EXIT_FINE;
}

/* --keep, else WAVETAP_KEEP. */
static int join_keep(const struct wt_option_list *list, struct run_setup *setup)
{
	const char *given = getenv("WAVETAP_KEEP");
	char error[WT_DB_ERROR_BYTES];
	size_t used = 0;

	setup->keep = WT_KEEP_ALL;
	for (int i = 0; i < list->count; i++) {
		if (wt_keep_parse(list->value[i], &setup->keep, error))
			return wt_cli_usage_error("run", "--keep: %s", error);
		used += (size_t)snprintf(setup->keep_text + used, sizeof(setup->keep_text) - used,
		                         "%s%s", i ? "," : "", list->value[i]);
		if (used >= sizeof(setup->keep_text))
			return wt_cli_usage_error("run", "--keep was given too often");
	}
	if (!list->count && given && given[0] && wt_keep_parse(given, &setup->keep, error))
		wt_cli_error("WAVETAP_KEEP: %s; every run is kept", error);
	return WT_EXIT_FINE;
}

/* Ours goes behind what is preloaded already, which keeps its precedence. */
static int make_preload(struct run_setup *setup)
{
	const char *former = getenv("LD_PRELOAD");
	char library[WT_PATH_BYTES];
	int n;

	if (wt_client_find_library(library)) {
		wt_cli_error("libwavetap.so is neither beside this program nor in " WT_LIBDIR);
		return WT_EXIT_FAILED;
	}
	if (strpbrk(library, " :")) {
		wt_cli_error("%s can't be preloaded: its path has a blank or a colon", library);
		return WT_EXIT_FAILED;
	}
	if (!former || !former[0] || !strcmp(former, library))
		n = snprintf(setup->preload, sizeof(setup->preload), "%s", library);
	else if (strstr(former, library))
		n = snprintf(setup->preload, sizeof(setup->preload), "%s", former);
	else
		n = snprintf(setup->preload, sizeof(setup->preload), "%s:%s", former, library);
	if (n < (int)sizeof(setup->preload))
		return WT_EXIT_FINE;
	wt_cli_error("LD_PRELOAD is too long");
	return WT_EXIT_FAILED;
}

/* A key of our own, unless one is given: then a run within a run joins it. */
static void make_key(char key[WT_RUN_KEY_BYTES])
{
	const char *given = getenv("WAVETAP_RUN");
	uint64_t random = 0;
	struct timespec now;

	if (given && given[0]) {
		wt_run_key_set(key, given);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint64_t)now.tv_nsec;
	snprintf(key, WT_RUN_KEY_BYTES, "run-%" PRIx64 "-%d-%016" PRIx64, (uint64_t)now.tv_sec,
	         (int)getpid(), random);
}

/* Absolute, and there, before the program starts: a typing error must not cost a run. */
static int make_record_dir(const char *given, char path[WT_PATH_BYTES])
{
	char cwd[WT_PATH_BYTES] = "";

	if (!given[0])
		return wt_cli_usage_error("run", "--record is empty");
	if (given[0] != '/' && !getcwd(cwd, sizeof(cwd))) {
		wt_cli_error("--record: the current folder: %s", strerror(errno));
		return WT_EXIT_FAILED;
	}
	if (snprintf(path, WT_PATH_BYTES, "%s%s%s", cwd, cwd[0] ? "/" : "", given) >= WT_TEXT_BYTES)
		return wt_cli_usage_error("run", "--record is longer than %d bytes",
		                          WT_TEXT_BYTES - 1);
	if ((mkdir(path, 0700) && errno != EEXIST) || access(path, W_OK | X_OK)) {
		wt_cli_error("--record: %s: %s", path, strerror(errno));
		return WT_EXIT_FAILED;
	}
	return WT_EXIT_FINE;
}

/* The library never prints: of a setting that it won't understand nobody else would tell. */
static void tell_nonsense(void)
{
	for (int i = 0; i < WT_SETTING_MAX; i++) {
		const struct wt_setting *setting = wt_setting((enum wt_setting_id)i);
		const char *given = getenv(setting->name);
		uint32_t value;

		if (given && !wt_setting_parse(setting, given, &value))
			wt_cli_error("%s: \"%s\" is not a number from %u to %u; it will be %u",
			             setting->name, given, setting->least, setting->most, value);
	}
}

static int check_keep_rows(const struct run_values *values)
{
	const char *given = getenv("WAVETAP_KEEP_ROWS");
	char error[WT_DB_ERROR_BYTES];
	struct wt_keep keep;

	if (values->keep_rows &&
	    (!values->keep_rows[0] || strlen(values->keep_rows) >= WT_KEEP_ROWS_BYTES ||
	     wt_keep_rows_parse(values->keep_rows, &keep, error)))
		return wt_cli_usage_error("run", "--keep-rows: \"%s\" is not " WT_KEEP_ROWS_FORM,
		                          values->keep_rows);
	if (!values->keep_rows && given && wt_keep_rows_parse(given, &keep, error))
		return wt_cli_usage_error(
		        "run", "WAVETAP_KEEP_ROWS: \"%s\" is not " WT_KEEP_ROWS_FORM, given);
	return WT_EXIT_FINE;
}

/* Before the program starts: a typing error must not cost a run. */
static int check_measurements(const struct run_values *values)
{
	const char *given = getenv("WAVETAP_SAMPLE"), *profile = getenv("WAVETAP_PROFILE");
	const char *budget = getenv("WAVETAP_BUDGET");
	uint32_t launches;
	uint64_t ns, ppm;

	if (!values->sample && given && wt_sampling_parse(given, &ns))
		return wt_cli_usage_error("run", "WAVETAP_SAMPLE: \"%s\" is not " WT_SAMPLING_FORM,
		                          given);
	if (values->sample && (!values->sample[0] || wt_sampling_parse(values->sample, &ns)))
		return wt_cli_usage_error("run", "--sample: \"%s\" is not " WT_SAMPLING_FORM,
		                          values->sample);
	if (values->profile && (wt_profile_parse(values->profile, &launches) || !launches))
		return wt_cli_usage_error(
		        "run", "--profile: \"%s\" is not a number of launches from 1 to %u",
		        values->profile, WT_PROFILE_LAUNCHES_MAX);
	if (values->budget && (!values->budget[0] || wt_budget_parse(values->budget, &ppm)))
		return wt_cli_usage_error("run", "--budget: \"%s\" is not " WT_BUDGET_FORM,
		                          values->budget);
	if (!values->budget && budget && wt_budget_parse(budget, &ppm))
		return wt_cli_usage_error("run", "WAVETAP_BUDGET: \"%s\" is not " WT_BUDGET_FORM,
		                          budget);
	if (!values->profile && profile && profile[0] && wt_profile_parse(profile, &launches))
		return wt_cli_usage_error(
		        "run", "WAVETAP_PROFILE: \"%s\" is not a number of launches up to %u",
		        profile, WT_PROFILE_LAUNCHES_MAX);
	tell_nonsense();
	return check_keep_rows(values);
}

/* By the option, or by a variable that the program inherits. */
static bool is_profile_wanted(const struct run_values *values)
{
	const char *profile = values->profile ? values->profile : getenv("WAVETAP_PROFILE");
	uint32_t launches = 0;

	return profile && !wt_profile_parse(profile, &launches) && launches;
}

static int make_setup(const struct run_values *values, struct run_setup *setup)
{
	const char *sample = getenv("WAVETAP_SAMPLE");
	uint64_t interval_ns;

	int count = 0;
	int code;

	setup->is_own_dir = values->dir != NULL;
	if (values->dir && (!values->dir[0] || setenv("WAVETAP_DIR", values->dir, 1)))
		return wt_cli_usage_error("run", "--dir is empty");
	if (values->name && strlen(values->name) >= WT_RUN_KEY_BYTES)
		return wt_cli_usage_error("run", "--name is longer than %d bytes",
		                          WT_RUN_KEY_BYTES - 1);
	if (wt_run_data_dir(setup->data_dir))
		return WT_EXIT_FAILED;
	code = check_measurements(values);
	if (!code)
		code = join_tags(&values->tags, setup->tags);
	if (!code && values->record)
		code = make_record_dir(values->record, setup->record_dir);
	if (!code)
		code = join_keep(&values->keep, setup);
	if (!code)
		code = make_preload(setup);
	if (code)
		return code;
	make_key(setup->key);
	setup->environment[count][0] = "LD_PRELOAD";
	setup->environment[count++][1] = setup->preload;
	setup->environment[count][0] = "WAVETAP_RUN";
	setup->environment[count++][1] = setup->key;
	/* Absolute, for programs that change their folder. */
	setup->environment[count][0] = "WAVETAP_DIR";
	setup->environment[count++][1] = setup->data_dir;
	setenv("WAVETAP_DIR", setup->data_dir, 1);
	if (values->name) {
		setup->environment[count][0] = "WAVETAP_NAME";
		setup->environment[count++][1] = values->name;
	}
	if (setup->tags[0]) {
		setup->environment[count][0] = "WAVETAP_TAGS";
		setup->environment[count++][1] = setup->tags;
	}
	if (setup->keep_text[0]) {
		setup->environment[count][0] = "WAVETAP_KEEP";
		setup->environment[count++][1] = setup->keep_text;
		setenv("WAVETAP_KEEP", setup->keep_text, 1); /* for the daemon that we start */
	}
	if (values->keep_rows) {
		setup->environment[count][0] = "WAVETAP_KEEP_ROWS";
		setup->environment[count++][1] = values->keep_rows;
	}
	if (setup->record_dir[0]) {
		setup->environment[count][0] = "WAVETAP_RECORD";
		setup->environment[count++][1] = setup->record_dir;
	}
	sample = values->sample              ? values->sample
	         : sample && sample[0]       ? sample
	         : is_profile_wanted(values) ? "off" /* it wants the device's counters for itself */
	                                     : "auto";
	setup->environment[count][0] = "WAVETAP_SAMPLE";
	setup->environment[count++][1] = sample;
	setup->is_sampled = !wt_sampling_parse(sample, &interval_ns) && interval_ns;
	if (values->profile) {
		setup->environment[count][0] = "WAVETAP_PROFILE";
		setup->environment[count++][1] = values->profile;
	}
	if (values->budget) {
		setup->environment[count][0] = "WAVETAP_BUDGET";
		setup->environment[count++][1] = values->budget;
	}
	return WT_EXIT_FINE;
}

static const char *daemon_problem(int rc)
{
	switch (rc) {
	case 0:
		return NULL;
	case -ENOENT:
		return "wavetapd was not found (set WAVETAP_DAEMON to its path)";
	case -EPERM:
		return "the daemon's socket belongs to another user";
	case -ETIMEDOUT:
		return "wavetapd did not answer";
	default:
		return "wavetapd could not be reached";
	}
}

/* ---- afterwards */

/* One line on why there is no run, the likeliest cause first. */
static void explain_nothing(const struct run_setup *setup, const char *command)
{
	const char *switched_off = getenv("WAVETAP");
	const char *obstacle = wt_program_preload_obstacle(command);
	struct wt_shm_room room;

	wt_shm_room_look(&room);
	if (switched_off && !strcmp(switched_off, "0"))
		wt_cli_error("nothing was recorded: WAVETAP=0 switches it off");
	else if (setup->daemon_problem)
		wt_cli_error("nothing was recorded: %s", setup->daemon_problem);
	else if (obstacle)
		wt_cli_error("nothing was recorded of %s: %s", command, obstacle);
	else if (!room.is_usable)
		wt_cli_error("nothing was recorded: %s", room.problem);
	else
		wt_cli_error("nothing was recorded: neither %s nor a program that it started "
		             "launched a CUDA kernel",
		             command);
}

static void tell(const struct wt_text_terminal *terminal, const char *text)
{
	struct wt_phrase line;

	wt_phrase_init(&line, stderr, terminal);
	wt_phrase_add(&line, "%s", text);
	wt_phrase_end(&line);
}

/* What was measured beside the kernels. */
static void print_counters(const struct wt_run_file *run, const struct wt_text_terminal *terminal,
                           bool is_sampled)
{
	char counters[800], problem[WT_PATH_BYTES];
	bool is_profiled = wt_run_profiled(run->db, counters, sizeof(counters));

	if (is_profiled)
		tell(terminal, counters);
	if (!is_profiled || is_sampled) {
		wt_run_counters(run->db, is_sampled, counters, sizeof(counters));
		tell(terminal, counters);
	}
	if (wt_db_meta(run->db, "recording_problem", problem, sizeof(problem)))
		wt_cli_error("the recording is not whole: %s", problem);
}

static void print_summary(const char *path, bool is_complete, const struct run_setup *setup)
{
	struct wt_text_terminal terminal;
	struct wt_story story;
	struct wt_run_file run;
	char *word, why[400];
	int rc;

	if (wt_run_file_open(path, &run))
		return;
	wt_text_terminal_probe(STDERR_FILENO, &terminal);
	/* In a data directory of its own the id says nothing to a later command. */
	word = wt_text_shell_word(setup->is_own_dir ? path : run.info.id);
	rc = wt_story_load(&run, word ? word : "RUN", wt_story_limit_ns(), &story);
	if (!is_complete)
		wt_cli_error("the daemon is still storing; the numbers below are not final");
	if (rc) {
		wt_cli_error("%s: %s", path, rc == -EIO ? story.report.problem : strerror(-rc));
	} else if (story.report.row_count) {
		wt_story_print(stderr, &terminal, &story);
	} else {
		wt_report_why_empty(&story.report, why, sizeof(why));
		wt_cli_error("run %s has nothing to rank: %s", run.info.id, why);
		wt_top_print_losses(stderr, &terminal, &story.report);
	}
	print_counters(&run, &terminal, setup->is_sampled);
	if (!rc && story.report.row_count)
		wt_story_print_next(stderr, &terminal, &story);
	wt_story_fini(&story);
	free(word);
	wt_run_file_close(&run);
}

/* A daemon that ran before us has not heard of our limits. `path`: of the run that has ended. */
static void apply_limits(const struct run_setup *setup, const char *path)
{
	struct wt_gc *gc;

	if (!wt_keep_is_limited(&setup->keep))
		return;
	gc = calloc(1, sizeof(*gc));
	if (gc) {
		gc->lock_fd = -1;
		gc->has_daemon = true; /* it has just told us the path */
		gc->keep = setup->keep;
		gc->keep_path = path;
		snprintf(gc->data_dir, sizeof(gc->data_dir), "%s", setup->data_dir);
		snprintf(gc->runs_dir, sizeof(gc->runs_dir), "%s/runs", setup->data_dir);
		wt_gc_limits(gc);
		for (size_t i = 0; i < gc->count; i++)
			if (gc->items[i].action == WT_GC_FAILED)
				wt_cli_error("%s: not removed: %s", gc->items[i].path,
				             gc->items[i].reason);
		free(gc->items);
	}
	free(gc);
}

/* Also a quiet run waits until its records are stored: the next command wants to see them. */
static void summarise(const struct run_setup *setup, const char *command, bool is_quiet)
{
	char request[WT_RUN_KEY_BYTES + 32];
	char *reply = NULL;
	int rc;

	/* Should the daemon have ended for lack of work, somebody must take the rest. */
	rc = wt_client_ensure_daemon(setup->data_dir);
	if (!rc) {
		snprintf(request, sizeof(request), "drain %s %d", setup->key, DRAIN_TIMEOUT_MS);
		rc = wt_client_request(setup->data_dir, request, DRAIN_TIMEOUT_MS + 5000, &reply);
	}
	if (is_quiet)
		;
	else if (rc)
		wt_cli_error("no summary: %s", daemon_problem(rc));
	else if (!strncmp(reply, "ok /", 4))
		print_summary(reply + 3, true, setup);
	else if (!strncmp(reply, "timeout /", 9) && strlen(reply) > 11 &&
	         !strcmp(reply + strlen(reply) - 3, ".db"))
		print_summary(reply + 8, false, setup);
	else if (!strncmp(reply, "timeout", 7))
		wt_cli_error("no summary: wavetapd can't store the run (see wavetap status)");
	else if (!strncmp(reply, "none", 4))
		explain_nothing(setup, command);
	else
		wt_cli_error("no summary: wavetapd said \"%s\"", reply);
	if (!rc && !strncmp(reply, "ok /", 4))
		apply_limits(setup, reply + 3);
	free(reply);
}

static int run_run(void *opaque, int operand_count, char **operands)
{
	const struct run_values *values = opaque;
	struct run_setup setup = {0};
	int code = make_setup(values, &setup);
	int status;
	int rc;

	(void)operand_count; /* argv ends in NULL behind the operands */
	if (code)
		return code;
	setup.daemon_problem = daemon_problem(wt_client_ensure_daemon(setup.data_dir));
	rc = wt_program_run(operands, setup.environment, &status);
	if (rc) {
		wt_cli_error("%s: %s", operands[0], strerror(-rc));
		return rc == -ENOENT || rc == -ENOTDIR ? WT_EXIT_NOT_FOUND : WT_EXIT_NOT_EXECUTABLE;
	}
	summarise(&setup, operands[0], values->is_quiet);
	return wt_program_end_like(status);
}

const struct wt_command wt_cmd_run = {
        .name = "run",
        .operands = "[--] COMMAND [ARGUMENT]...",
        .summary = "run a program under wavetap, then show where its SM-time went",
        .details = "The exit code is the command's. A summary goes to stderr.",
        .example = "wavetap run --name gpt -- python train.py",
        .theme = WT_THEME_RECORD,
        .options = run_options,
        .operand_count_min = 1,
        .operand_count_max = -1,
        .flags = WT_COMMAND_STOPS_AT_OPERAND | WT_COMMAND_KEEPS_SIGPIPE,
        .values_bytes = sizeof(struct run_values),
        .run = run_run,
};

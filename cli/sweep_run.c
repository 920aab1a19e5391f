/*
 * sweep_run.c - see sweep.h: a command run under `wavetap run` once for each combination of parameters.
 * Single-threaded; blocks until all have ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run_file.h"
#include "cli/sweep.h"
#include "schema/wt_paths.h"

#define PARAMETERS_MAX 8
#define VALUES_MAX 64
#define RUNS_MAX 1000

struct parameter {
	char *key, *values[VALUES_MAX]; /* all in one piece of memory, at key */
	size_t count, at;
};

struct plan {
	struct parameter parameters[PARAMETERS_MAX];
	size_t count;
	const char *command, *name;
	uint64_t id; /* of this sweep: its runs are found by it */
};

/* ---- what to run */

static int parse(const char *word, struct parameter *parameter)
{
	char *save = NULL, *value;
	char *equals;

	parameter->key = strdup(word);
	equals = parameter->key ? strchr(parameter->key, '=') : NULL;
	if (!equals || equals == parameter->key || !equals[1])
		return wt_cli_usage_error("sweep", "\"%s\" is not KEY=VALUE,VALUE", word);
	*equals = '\0';
	for (value = strtok_r(equals + 1, ",", &save); value; value = strtok_r(NULL, ",", &save)) {
		if (parameter->count == VALUES_MAX)
			return wt_cli_usage_error("sweep", "%s: more than %d values",
			                          parameter->key, VALUES_MAX);
		parameter->values[parameter->count++] = value;
	}
	return parameter->count ? WT_EXIT_FINE
	                        : wt_cli_usage_error("sweep", "\"%s\" has no values", word);
}

static int make_plan(char **words, size_t count, struct plan *plan, size_t *ret_runs)
{
	char braced[80];
	size_t runs = 1;

	if (!count)
		return wt_cli_usage_error("sweep", "--run: no parameter (batch=8,16,32)");
	if (count > PARAMETERS_MAX)
		return wt_cli_usage_error("sweep", "more than %d parameters", PARAMETERS_MAX);
	for (size_t i = 0; i < count; i++) {
		struct parameter *parameter = &plan->parameters[plan->count++];
		int code = parse(words[i], parameter);

		if (code)
			return code;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(plan->parameters[k].key, parameter->key))
				return wt_cli_usage_error("sweep", "%s is given twice (%s=A,B)",
				                          parameter->key, parameter->key);
		snprintf(braced, sizeof(braced), "{%.70s}", parameter->key);
		if (!strstr(plan->command, braced))
			return wt_cli_usage_error("sweep", "%s is not in the command", braced);
		runs *= parameter->count;
		if (runs > RUNS_MAX)
			return wt_cli_usage_error("sweep", "more than %d runs", RUNS_MAX);
	}
	*ret_runs = runs;
	return WT_EXIT_FINE;
}

/* The next combination, the last parameter fastest. */
static void advance(struct plan *plan)
{
	for (size_t i = plan->count; i-- > 0;) {
		if (++plan->parameters[i].at < plan->parameters[i].count)
			return;
		plan->parameters[i].at = 0;
	}
}

static const char *value_of(const struct plan *plan, const char *key, size_t key_bytes)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct parameter *parameter = &plan->parameters[i];

		if (strlen(parameter->key) == key_bytes && !strncmp(parameter->key, key, key_bytes))
			return parameter->values[parameter->at];
	}
	return NULL;
}

/* The command with {key} replaced; other braces stay. malloc'd, NULL: out of memory. */
static char *fill_in(const struct plan *plan)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (const char *at = plan->command; *at; at++) {
		const char *end = *at == '{' ? strchr(at, '}') : NULL;
		const char *value = end ? value_of(plan, at + 1, (size_t)(end - at - 1)) : NULL;

		if (value) {
			fputs(value, out);
			at = end;
		} else {
			fputc(*at, out);
		}
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void describe(const struct plan *plan, char *text, size_t text_bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < plan->count && used < text_bytes; i++)
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s=%s", i ? " " : "",
		                         plan->parameters[i].key,
		                         plan->parameters[i].values[plan->parameters[i].at]);
}

/* ---- running */

/* In the child: becomes `wavetap run --tag .. -- sh -c COMMAND`. */
static void become(const struct plan *plan, const char *key, char *command)
{
	const char *argv[2 * PARAMETERS_MAX + 12];
	size_t n = 0;

	argv[n++] = "wavetap";
	argv[n++] = "run";
	argv[n++] = "--quiet";
	if (plan->name) {
		argv[n++] = "--name";
		argv[n++] = plan->name;
	}
	for (size_t i = 0; i < plan->count; i++) {
		char *tag = NULL;

		if (asprintf(&tag, "%s=%s", plan->parameters[i].key,
		             plan->parameters[i].values[plan->parameters[i].at]) < 0)
			_exit(WT_EXIT_FAILED);
		argv[n++] = "--tag";
		argv[n++] = tag;
	}
	argv[n++] = "--";
	argv[n++] = "/bin/sh";
	argv[n++] = "-c";
	argv[n++] = command;
	argv[n] = NULL;
	setenv("WAVETAP_RUN", key, 1);
	execv("/proc/self/exe", (char **)argv);
	_exit(WT_EXIT_NOT_EXECUTABLE);
}

/* Its exit status as a shell has it, or -errno. The program's output is that of this one, but goes to stderr. */
static int run_one(const struct plan *plan, const char *key)
{
	char *command = fill_in(plan);
	int status = 0;
	pid_t child;

	if (!command)
		return -ENOMEM;
	fflush(NULL);
	child = fork();
	if (!child) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		become(plan, key, command);
	}
	free(command);
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The run file with that key: 1, 0: nothing was recorded, or -errno. */
static int find_run(const char *key, char path[WT_PATH_BYTES])
{
	struct wt_db_run_file *runs = NULL;
	char data_dir[WT_PATH_BYTES];
	size_t count = 0;
	int found = 0;
	int rc = wt_run_data_dir(data_dir);

	if (!rc)
		rc = wt_db_list(data_dir, &runs, &count);
	for (size_t i = count; !rc && !found && i-- > 0;) {
		if (runs[i].error || strcmp(runs[i].key, key) != 0 || !runs[i].kernels)
			continue;
		snprintf(path, WT_PATH_BYTES, "%s", runs[i].path);
		found = 1;
	}
	free(runs);
	return rc ? rc : found;
}

/* 0: it is taken; 1: it failed, after a message; or an enum wt_exit beyond that. */
static int run_and_take(const struct plan *plan, size_t number, size_t runs,
                        int (*take)(void *arg, const char *path), void *arg)
{
	char key[64], text[400], path[WT_PATH_BYTES];
	int status;

	snprintf(key, sizeof(key), "sweep-%016" PRIx64 "-%zu", plan->id, number);
	describe(plan, text, sizeof(text));
	wt_cli_error("sweep %zu of %zu: %s", number, runs, text);
	status = run_one(plan, key);
	if (status < 0) {
		wt_cli_error("%s: %s", text, strerror(-status));
		return 1;
	}
	if (status > 0) {
		wt_cli_error("%s: ended with %d; it is left out", text, status);
		return 1;
	}
	if (find_run(key, path) != 1) {
		wt_cli_error("%s: nothing was recorded", text);
		return 1;
	}
	return take(arg, path) ? 1 : 0;
}

int wt_sweep_run(const char *command, const char *name, char **parameters, size_t count,
                 int (*take)(void *arg, const char *path), void *arg, size_t *ret_failed)
{
	struct plan plan = {.command = command, .name = name};
	size_t runs = 0;
	int code = make_plan(parameters, count, &plan, &runs);

	*ret_failed = 0;
	if (!code && getrandom(&plan.id, sizeof(plan.id), 0) < 0) {
		wt_cli_error("no random number: %s", strerror(errno));
		code = WT_EXIT_FAILED;
	}
	for (size_t i = 0; i < runs && !code; i++) {
		*ret_failed += run_and_take(&plan, i + 1, runs, take, arg) != 0;
		advance(&plan);
	}
	for (size_t i = 0; i < plan.count; i++)
		free(plan.parameters[i].key);
	return code;
}

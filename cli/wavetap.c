/*
 * wavetap.c - the `wavetap` program: the table of commands, help, version, exit codes.
 *
 * Single-threaded. Each command is a file of its own, cmd_<name>.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report.h"
#include "cli/complete.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/wrap.h"
#include "config.h"
#include "schema/wt_paths.h"

/* In the order of `wavetap help`. */
static const struct wt_command *const commands[] = {
        &wt_cmd_run,      &wt_cmd_top,      &wt_cmd_show,     &wt_cmd_ledger,  &wt_cmd_gaps,
        &wt_cmd_timeline, &wt_cmd_steps,    &wt_cmd_ranges,   &wt_cmd_copies,  &wt_cmd_sms,
        &wt_cmd_ranks,    &wt_cmd_diagnose, &wt_cmd_simulate, &wt_cmd_whatif, &wt_cmd_compare, &wt_cmd_baseline, &wt_cmd_runs,
        &wt_cmd_status,   &wt_cmd_preload,  &wt_cmd_export,   &wt_cmd_import,  &wt_cmd_analyze,
        &wt_cmd_doctor,   &wt_cmd_gc,       &wt_cmd_check,    &wt_cmd_history, &wt_cmd_merge,
        &wt_cmd_sweep,    &wt_cmd_help,
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* Where messages go instead of stderr, or NULL. */
static char *diverted;
static size_t diverted_bytes;

void wt_cli_divert_errors(char *text, size_t text_bytes)
{
	diverted = text;
	diverted_bytes = text_bytes;
	if (text)
		text[0] = '\0';
}

static void print_error(const char *format, va_list ap)
{
	struct wt_text_terminal terminal;
	char *text = NULL;
	char *safe = NULL;

	if (diverted) {
		vsnprintf(diverted, diverted_bytes, format, ap);
		return;
	}
	wt_text_terminal_probe(STDERR_FILENO, &terminal);
	if (vasprintf(&text, format, ap) >= 0)
		safe = wt_text_escape(text, terminal.is_utf8);
	else
		text = NULL;
	wt_progress_hide();
	fputs("wavetap: ", stderr);
	wt_wrap_words(stderr, safe ? safe : "out of memory", strlen("wavetap: "), 2,
	              terminal.width_columns);
	fputc('\n', stderr);
	free(safe);
	free(text);
}

void wt_cli_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print_error(format, ap);
	va_end(ap);
}

int wt_cli_usage_error(const char *command, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print_error(format, ap);
	va_end(ap);
	if (diverted)
		return WT_EXIT_USAGE;
	if (command)
		fprintf(stderr, "try: wavetap help %s\n", command);
	else
		fputs("try: wavetap help\n", stderr);
	return WT_EXIT_USAGE;
}

/* A failed write was told already: stdio forgets why, and once is enough. */
static bool is_output_failed;

int wt_cli_output_result(int rc)
{
	if (rc == 0)
		return WT_EXIT_FINE;
	if (rc == -ENOMEM)
		wt_cli_error("out of memory");
	else if (!is_output_failed && rc != -EPIPE)
		wt_cli_error("can't write the output: %s", strerror(-rc));
	is_output_failed = is_output_failed || rc != -ENOMEM;
	return WT_EXIT_FAILED;
}

int wt_cli_finish_stdout(int code)
{
	int error = 0;

	if (is_output_failed)
		return WT_EXIT_FAILED;
	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		error = errno ? errno : EIO;
	/* Network file systems tell at close. */
	if (!error && close(STDOUT_FILENO) && errno != EBADF)
		error = errno;
	if (!error)
		return code;
	return wt_cli_output_result(-error);
}

int wt_cli_own_dir(char *path)
{
	char own[WT_PATH_BYTES];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (length < 0)
		return -errno;
	own[length] = '\0';
	slash = strrchr(own, '/');
	if (!slash || length == WT_PATH_BYTES - 1)
		return -ENAMETOOLONG;
	slash[slash == own] = '\0';
	strcpy(path, own);
	return 0;
}

static const struct wt_command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static const char *command_name(const void *names, size_t index)
{
	return ((const struct wt_command *const *)names)[index]->name;
}

static int unknown_command(const char *name)
{
	const char *nearest =
	        wt_help_nearest(name, strlen(name), COMMAND_COUNT, command_name, commands);

	if (nearest)
		return wt_cli_usage_error(NULL, "there is no command \"%s\": did you mean \"%s\"?",
		                          name, nearest);
	return wt_cli_usage_error(NULL, "there is no command \"%s\"", name);
}

/* ---- help, the one command that needs the table */

static int run_help(void *values, int operand_count, char **operands)
{
	const struct wt_command *command;

	(void)values;
	if (operand_count == 0) {
		wt_help_print_commands(stdout, commands, COMMAND_COUNT);
		return WT_EXIT_FINE;
	}
	command = find_command(operands[0]);
	if (!command)
		return unknown_command(operands[0]);
	wt_help_print(command);
	return WT_EXIT_FINE;
}

static const struct wt_option help_options[] = {{0}};

const struct wt_command wt_cmd_help = {
        .name = "help",
        .operands = "[COMMAND]",
        .summary = "help about wavetap or one command",
        .options = help_options,
        .operand_count_max = 1,
        .example = "wavetap help top",
        .theme = WT_THEME_NONE,
        .run = run_help,
};

/* ---- start */

/*
 * A caller may have closed descriptors 0 to 2; files opened later would take their
 * place and get our output. Close-on-exec, so that what `run` starts finds them closed.
 */
static void occupy_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int run_command(const struct wt_command *command, int argc, char **argv)
{
	void *values = calloc(1, command->values_bytes ? command->values_bytes : 1);
	int is_help;
	int operand_count;
	int code = WT_EXIT_USAGE;

	if (!values) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	/* Also for options of type NUMBER: -1 tells "not given" from 0. */
	for (const struct wt_option *o = command->options; o->name; o++)
		if (o->type == WT_OPTION_NUMBER)
			*(int64_t *)((char *)values + o->offset) = -1;
	operand_count = wt_options_parse(command, argc, argv, values, &is_help);
	if (is_help) {
		wt_help_print(command);
		code = WT_EXIT_FINE;
	} else if (operand_count >= 0) {
		if (!(command->flags & WT_COMMAND_KEEPS_SIGPIPE))
			signal(SIGPIPE, SIG_IGN);
		code = command->run(values, operand_count, argv);
		/* What was shown or written lacks rows that the file had. */
		if (code == WT_EXIT_FINE && wt_report_rows_damaged())
			code = WT_EXIT_FAILED;
	}
	free(values);
	return code;
}

/* Options of the program itself. */
static int run_global(int argc, char **argv)
{
	const struct wt_command *command;

	if (!strcmp(argv[0], "-h") || !strcmp(argv[0], "--help"))
		return run_help(NULL, 0, NULL);
	if (!strcmp(argv[0], "-V") || !strcmp(argv[0], "--version")) {
		puts("wavetap " PACKAGE_VERSION);
		return WT_EXIT_FINE;
	}
	if (!strcmp(argv[0], "--list-commands")) {
		for (size_t i = 0; i < COMMAND_COUNT; i++)
			puts(commands[i]->name);
		return WT_EXIT_FINE;
	}
	if (!strcmp(argv[0], "--list-options") || !strcmp(argv[0], "--mdoc-options")) {
		if (argc < 2)
			return wt_cli_usage_error(NULL, "%s needs a command", argv[0]);
		command = find_command(argv[1]);
		if (!command)
			return unknown_command(argv[1]);
		if (!strcmp(argv[0], "--list-options"))
			wt_help_print_list(command);
		else
			wt_help_print_mdoc(command);
		return WT_EXIT_FINE;
	}
	if (!strcmp(argv[0], "--complete") &&
	    argc > 1) /* for the shells' files in cli/completion */
		return wt_complete(commands, COMMAND_COUNT, argc - 1, argv + 1);
	return wt_cli_usage_error(NULL, "unknown option %s", argv[0]);
}

int main(int argc, char **argv)
{
	const struct wt_command *command;
	int code;

	occupy_standard_fds();
	if (argc < 2) {
		wt_help_print_commands(stderr, commands, COMMAND_COUNT);
		return WT_EXIT_USAGE;
	}
	if (argv[1][0] == '-')
		return wt_cli_finish_stdout(run_global(argc - 1, argv + 1));
	command = find_command(argv[1]);
	code = command ? run_command(command, argc - 2, argv + 2) : unknown_command(argv[1]);
	/* The program that `run` started may have filled or closed a stdout that we didn't touch. */
	if (command == &wt_cmd_run && code != WT_EXIT_FINE)
		return code;
	return wt_cli_finish_stdout(code);
}

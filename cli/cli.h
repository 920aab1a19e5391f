/*
 * cli.h - what all commands of `wavetap` share: the table's row, exit codes, messages.
 *
 * Data goes to stdout, words about it to stderr (`wavetap run` writes to stderr only: its
 * stdout belongs to the program it runs). Single-threaded; everything may block on files.
 */
#ifndef WT_CLI_H
#define WT_CLI_H

#include "cli/options.h"

/* Exit codes are a contract: scripts branch on them. */
enum wt_exit {
	WT_EXIT_FINE = 0,
	WT_EXIT_FAILED = 1, /* a file, the daemon or the output failed */
	WT_EXIT_USAGE = 2, /* the command line makes no sense */
	WT_EXIT_NO_DATA = 3, /* nothing to show, or it can't be judged */
	WT_EXIT_WORSE = 4, /* a gate found a regression */
	WT_EXIT_NOT_EXECUTABLE = 126, /* `run` only, as the shell has them */
	WT_EXIT_NOT_FOUND = 127,
};

#define WT_COMMAND_STOPS_AT_OPERAND 0x1u /* what follows the first operand is not ours */
#define WT_COMMAND_KEEPS_SIGPIPE 0x2u /* it runs programs, which must inherit SIGPIPE */

/* Under which heading `wavetap help` has a command. */
enum wt_theme {
	WT_THEME_READ,
	WT_THEME_RECORD,
	WT_THEME_PLAN,
	WT_THEME_KEEP,
	WT_THEME_NONE, /* below all others, without a line */
};

/* Help holds a screen of 24 lines (cli/help.h); the page doc/man/wavetap-NAME.1 has the rest. */
struct wt_command {
	const char *name;
	const char *operands; /* for the usage line, or NULL */
	const char *summary; /* one line of `wavetap help`, and the first of the page */
	const char *details; /* two or three lines of `wavetap help NAME`, or NULL */
	const char *example; /* the last but one of these */
	const char *minor; /* options that help only names, blanks between; NULL: none */
	enum wt_theme theme;
	const struct wt_option *options;
	int operand_count_min, operand_count_max; /* max -1: any number */
	unsigned flags; /* WT_COMMAND_* */
	size_t values_bytes; /* sizeof the struct that `options` fill */
	/* `values` is filled from the options; returns an enum wt_exit. */
	int (*run)(void *values, int operand_count, char **operands);
};

extern const struct wt_command wt_cmd_run;
extern const struct wt_command wt_cmd_top;
extern const struct wt_command wt_cmd_ledger;
extern const struct wt_command wt_cmd_copies;
extern const struct wt_command wt_cmd_steps;
extern const struct wt_command wt_cmd_ranges;
extern const struct wt_command wt_cmd_show;
extern const struct wt_command wt_cmd_diagnose;
extern const struct wt_command wt_cmd_timeline;
extern const struct wt_command wt_cmd_gaps;
extern const struct wt_command wt_cmd_ranks;
extern const struct wt_command wt_cmd_sms;
extern const struct wt_command wt_cmd_runs;
extern const struct wt_command wt_cmd_history;
extern const struct wt_command wt_cmd_merge;
extern const struct wt_command wt_cmd_sweep;
extern const struct wt_command wt_cmd_status;
extern const struct wt_command wt_cmd_preload;
extern const struct wt_command wt_cmd_simulate;
extern const struct wt_command wt_cmd_whatif;
extern const struct wt_command wt_cmd_compare;
extern const struct wt_command wt_cmd_baseline;
extern const struct wt_command wt_cmd_export;
extern const struct wt_command wt_cmd_check;
extern const struct wt_command wt_cmd_doctor;
extern const struct wt_command wt_cmd_gc;
extern const struct wt_command wt_cmd_import;
extern const struct wt_command wt_cmd_analyze;
extern const struct wt_command wt_cmd_help;

/* One line "wavetap: ..." on stderr; control characters from names and paths are escaped. */
void wt_cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and returns WT_EXIT_USAGE after a second line that says where help is. */
int wt_cli_usage_error(const char *command, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/*
 * From now on messages go into `text`, of which the last is kept, without "wavetap: "; NULL: to stderr as before.
 * For views that have the whole screen.
 */
void wt_cli_divert_errors(char *text, size_t text_bytes);

/* What a function that writes to stdout returned (0 or -errno) as exit code, after a message. */
int wt_cli_output_result(int rc);

/*
 * Flushes stdout and tells whether all of it was written: `code`, or WT_EXIT_FAILED
 * after a message (a reader that went away is no news: no message).
 */
int wt_cli_finish_stdout(int code);

/*
 * The folder of the running wavetap binary into `path` (WT_PATH_BYTES). 0 or -errno.
 */
int wt_cli_own_dir(char *path);

#endif /* WT_CLI_H */

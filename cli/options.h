/*
 * options.h - a command declares its options once; parsing, help, completion and
 * error messages follow from the declaration.
 *
 * Values land in a struct of the command's own at the declared offsets, so nothing is
 * global. "--name value", "--name=value", "-nvalue", "-n value", "--" and unambiguous
 * beginnings of long names are understood, as getopt_long does. Pure but for messages
 * on stderr.
 */
#ifndef WT_CLI_OPTIONS_H
#define WT_CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct wt_command;

enum wt_option_type {
	WT_OPTION_FLAG, /* bool: true */
	WT_OPTION_TEXT, /* const char *: the last one given */
	WT_OPTION_LIST, /* struct wt_option_list: all of them, in order */
	WT_OPTION_NUMBER, /* int64_t, 0 or more; units are not taken */
	WT_OPTION_CHOICE, /* int: index into `choices`, which is required */
};

#define WT_OPTION_LIST_MAX 64

struct wt_option_list {
	const char *value[WT_OPTION_LIST_MAX];
	int count;
};

/*
 * A word of a choice. A word that the contract knows and this version doesn't
 * is declared with is_missing, so that it gets a message of its own.
 */
struct wt_choice {
	const char *word; /* NULL ends the list */
	const char *help;
	int is_missing;
};

struct wt_option {
	const char *name; /* long name; NULL ends the list */
	char letter; /* short name, or 0 */
	enum wt_option_type type;
	const char *argument; /* what help calls it; NULL for flags */
	size_t offset; /* of the value in the command's struct */
	const struct wt_choice *choices;
	const char *help; /* NULL: taken, so as to say why not, but not offered */
};

/*
 * Parses argv[0..argc-1] (without the command's name) into `values`, which the caller
 * has filled with defaults. Operands end up in front of argv, in order, and a NULL behind
 * them (argv[argc] must exist). `is_help` is
 * set when -h or --help was seen; then the rest was not checked. Returns the
 * number of operands, or -1 after a message.
 */
int wt_options_parse(const struct wt_command *command, int argc, char **argv, void *values,
                     int *ret_is_help);

#endif /* WT_CLI_OPTIONS_H */

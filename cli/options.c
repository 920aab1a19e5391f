/*
 * options.c - see options.h. Single-threaded, never blocks but for output.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/options.h"

static int count_choices(const struct wt_choice *choices)
{
	int count = 0;

	while (choices[count].word)
		count++;
	return count;
}

/* "idle, tail-idle, time": the words that this version has. */
static void list_choices(const struct wt_choice *choices, char *text, size_t text_bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; choices[i].word && used < text_bytes; i++) {
		if (choices[i].is_missing)
			continue;
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? ", " : "",
		                         choices[i].word);
	}
}

static int store_choice(const struct wt_command *command, const struct wt_option *option,
                        const char *text, int *ret_index)
{
	char words[256];

	for (int i = 0, n = count_choices(option->choices); i < n; i++) {
		if (strcmp(option->choices[i].word, text))
			continue;
		if (option->choices[i].is_missing) {
			list_choices(option->choices, words, sizeof(words));
			wt_cli_usage_error(command->name,
			                   "--%s %s is not available in this version; it has %s",
			                   option->name, text, words);
			return -1;
		}
		*ret_index = i;
		return 0;
	}
	list_choices(option->choices, words, sizeof(words));
	wt_cli_usage_error(command->name, "--%s: \"%s\" is not one of %s", option->name, text,
	                   words);
	return -1;
}

static int store_number(const struct wt_command *command, const struct wt_option *option,
                        const char *text, int64_t *ret_number)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno) {
		wt_cli_usage_error(command->name, "--%s: \"%s\" is not a whole number",
		                   option->name, text);
		return -1;
	}
	*ret_number = number;
	return 0;
}

/* `text` is NULL for flags. */
static int store(const struct wt_command *command, const struct wt_option *option, const char *text,
                 void *values)
{
	void *at = (char *)values + option->offset;
	struct wt_option_list *list = at;

	switch (option->type) {
	case WT_OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case WT_OPTION_TEXT:
		*(const char **)at = text;
		return 0;
	case WT_OPTION_LIST:
		if (list->count == WT_OPTION_LIST_MAX) {
			wt_cli_usage_error(command->name, "--%s was given more than %d times",
			                   option->name, WT_OPTION_LIST_MAX);
			return -1;
		}
		list->value[list->count++] = text;
		return 0;
	case WT_OPTION_NUMBER:
		return store_number(command, option, text, at);
	case WT_OPTION_CHOICE:
		return store_choice(command, option, text, at);
	}
	return -1;
}

/* NULL for those that are taken only to say why not. */
static const char *option_name(const void *options, size_t index)
{
	const struct wt_option *option = (const struct wt_option *)options + index;

	return option->help ? option->name : NULL;
}

static void tell_unknown(const struct wt_command *command, const char *name, size_t length)
{
	const char *nearest;
	size_t count = 0;

	while (command->options[count].name)
		count++;
	nearest = wt_help_nearest(name, length, count, option_name, command->options);
	if (nearest)
		wt_cli_usage_error(command->name, "unknown option --%.*s: did you mean --%s?",
		                   (int)length, name, nearest);
	else
		wt_cli_usage_error(command->name, "unknown option --%.*s", (int)length, name);
}

/* The option with that long name, whole or an unambiguous beginning; NULL after a message. */
static const struct wt_option *find_long(const struct wt_command *command, const char *name,
                                         size_t length)
{
	const struct wt_option *found = NULL;

	for (const struct wt_option *o = command->options; o->name; o++) {
		if (strncmp(o->name, name, length))
			continue;
		if (!o->name[length])
			return o;
		/* One that is taken only to say why not stands behind those that are offered. */
		if (found && found->help && o->help) {
			wt_cli_usage_error(command->name, "--%.*s could be --%s or --%s",
			                   (int)length, name, found->name, o->name);
			return NULL;
		}
		if (!found || !found->help)
			found = o;
	}
	if (!found)
		tell_unknown(command, name, length);
	return found;
}

/* Takes argv[at], a long option; returns how many words it took, or -1. */
static int parse_long(const struct wt_command *command, int argc, char **argv, int at, void *values)
{
	const char *name = argv[at] + 2;
	size_t length = strcspn(name, "=");
	const char *text = name[length] ? name + length + 1 : NULL;
	const struct wt_option *option = length ? find_long(command, name, length) : NULL;

	if (!option) {
		if (!length)
			wt_cli_usage_error(command->name, "unknown option %s", argv[at]);
		return -1;
	}
	if (option->type == WT_OPTION_FLAG) {
		if (text) {
			wt_cli_usage_error(command->name, "--%s takes no value", option->name);
			return -1;
		}
		return store(command, option, NULL, values) ? -1 : 1;
	}
	if (text)
		return store(command, option, text, values) ? -1 : 1;
	if (at + 1 >= argc) {
		wt_cli_usage_error(command->name, "--%s needs a value (%s)", option->name,
		                   option->argument);
		return -1;
	}
	return store(command, option, argv[at + 1], values) ? -1 : 2;
}

/* Takes argv[at], one or more short options; returns how many words, or -1. */
static int parse_short(const struct wt_command *command, int argc, char **argv, int at,
                       void *values)
{
	for (const char *c = argv[at] + 1; *c; c++) {
		const struct wt_option *o = command->options;

		while (o->name && o->letter != *c)
			o++;
		if (!o->name) {
			wt_cli_usage_error(command->name, "unknown option -%c", *c);
			return -1;
		}
		if (o->type == WT_OPTION_FLAG) {
			if (store(command, o, NULL, values))
				return -1;
			continue;
		}
		if (c[1])
			return store(command, o, c + 1, values) ? -1 : 1;
		if (at + 1 >= argc) {
			wt_cli_usage_error(command->name, "-%c needs a value (%s)", *c,
			                   o->argument);
			return -1;
		}
		return store(command, o, argv[at + 1], values) ? -1 : 2;
	}
	return 1;
}

static int check_operands(const struct wt_command *command, int count, char **operands)
{
	if (count < command->operand_count_min) {
		wt_cli_usage_error(command->name, "%s is missing",
		                   command->operands ? command->operands : "an argument");
		return -1;
	}
	if (command->operand_count_max >= 0 && count > command->operand_count_max) {
		wt_cli_usage_error(command->name, "\"%s\" is one argument too many",
		                   operands[command->operand_count_max]);
		return -1;
	}
	return count;
}

int wt_options_parse(const struct wt_command *command, int argc, char **argv, void *values,
                     int *ret_is_help)
{
	int count = 0;
	int at = 0;

	*ret_is_help = 0;
	while (at < argc) {
		const char *word = argv[at];
		int taken;

		if (!strcmp(word, "--")) {
			at++;
			break;
		}
		if (word[0] != '-' || !word[1]) {
			if (command->flags & WT_COMMAND_STOPS_AT_OPERAND)
				break;
			argv[count++] = argv[at++];
			continue;
		}
		if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
			*ret_is_help = 1;
			return count;
		}
		taken = word[1] == '-' ? parse_long(command, argc, argv, at, values)
		                       : parse_short(command, argc, argv, at, values);
		if (taken < 0)
			return -1;
		at += taken;
	}
	while (at < argc)
		argv[count++] = argv[at++];
	argv[count] = NULL; /* argv[argc] is there: for exec */
	return check_operands(command, count, argv);
}

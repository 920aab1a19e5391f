/*
 * fuzz_options.c - the command line: arguments with a NUL after each.
 *
 * Commands that only read are run whole, in an empty data directory; of the others the options
 * are parsed and nothing is done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "tests/fuzz/fuzz.h"

#define ARGUMENTS_MAX 24

int wt_program_main(int argc, char **argv);

static bool is_harmless(const char *verb)
{
	static const char *const verbs[] = {"top",
	                                    "runs",
	                                    "status",
	                                    "help",
	                                    "--help",
	                                    "--version",
	                                    "--list-options",
	                                    "--list-commands",
	                                    "show",
	                                    "ledger",
	                                    "gaps",
	                                    "copies",
	                                    "diagnose",
	                                    "-h",
	                                    "-V",
	                                    "preload",
	                                    "sms",
	                                    "ranks",
	                                    "whatif"};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verb, verbs[i]))
			return true;
	return false;
}

static void parse_only(const struct wt_command *command, int argc, char **argv)
{
	void *values = calloc(1, command->values_bytes + 1);
	int is_help;
	int count = wt_options_parse(command, argc, argv, values, &is_help);

	fuzz_check(count >= -1 && count <= argc, "operands are among the arguments");
	for (int i = 0; i < count; i++)
		fuzz_check(argv[i] != NULL, "operands are there");
	free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *argv[ARGUMENTS_MAX + 2] = {(char *)"wavetap"};
	size_t at = 0;
	int argc = 1, code;

	fuzz_folder();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	while (at < size && argc <= ARGUMENTS_MAX) {
		argv[argc++] = text + at;
		at += strlen(text + at) + 1;
	}
	argv[argc] = NULL;
	if (argc > 1 && is_harmless(argv[1])) {
		fuzz_stdout();
		code = wt_program_main(argc, argv);
		fuzz_check(code >= 0 && code <= 4, "a code of the contract");
	} else if (argc > 1) {
		parse_only(argc % 2 ? &wt_cmd_run : &wt_cmd_export, argc - 1, argv + 1);
	}
	free(text);
	return 0;
}

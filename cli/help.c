/*
 * help.c - see help.h. Single-threaded; blocks on stdout.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/text.h"
#include "cli/wrap.h"

#define HELP_WIDTH 80
#define HELP_COLUMN 24
#define LIST_BYTES 1000

/* Is `name` one of the words of `list`, which has blanks between them? */
static bool is_in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == length && !strncmp(at, name, length))
			return true;
	return false;
}

/* Options that take a part of the run; a command that has one of them has --from. */
static bool is_selection(const struct wt_command *command, const struct wt_option *option)
{
	for (const struct wt_option *o = command->options; o->name; o++)
		if (!strcmp(o->name, "from"))
			return is_in_list("from to steps all rank device kernel range",
			                  option->name);
	return false;
}

static void append(char *text, size_t text_bytes, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, text_bytes - used, "%s", more);
}

/* What it is for; of a choice also its words, the default marked. */
static void describe(const struct wt_option *option, char *text, size_t text_bytes)
{
	const char *between = ": ";

	snprintf(text, text_bytes, "%s", option->help);
	if (option->type != WT_OPTION_CHOICE)
		return;
	for (const struct wt_choice *c = option->choices; c->word; c++) {
		if (c->is_missing)
			continue;
		append(text, text_bytes, between);
		append(text, text_bytes, c->word);
		if (strstr(c->help, "(default)"))
			append(text, text_bytes, " (default)");
		between = ", ";
	}
}

static void print_entry(const char *left, const char *text, const struct wt_text_terminal *terminal)
{
	char indented[100];

	snprintf(indented, sizeof(indented), "  %s", left);
	wt_wrap_beside(stdout, indented, text, HELP_COLUMN, terminal);
}

static void print_option(const struct wt_option *option, const struct wt_text_terminal *terminal)
{
	char left[80], letter[8] = "    ", text[LIST_BYTES];

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, option->name,
	         option->argument ? " " : "", option->argument ? option->argument : "");
	describe(option, text, sizeof(text));
	print_entry(left, text, terminal);
}

/* Where help has an option. */
enum place {
	PLACE_OWN_LINE,
	PLACE_MINOR,
	PLACE_SELECTION,
	PLACE_RUN,
	PLACE_PROGRAMS,
	PLACE_NOWHERE
};

static enum place place_of(const struct wt_command *command, const struct wt_option *option)
{
	if (!option->help)
		return PLACE_NOWHERE;
	if (is_selection(command, option))
		return PLACE_SELECTION;
	if (is_in_list(command->minor, option->name))
		return PLACE_MINOR;
	if (!strcmp(option->name, "run"))
		return PLACE_RUN;
	return is_in_list("json csv", option->name) ? PLACE_PROGRAMS : PLACE_OWN_LINE;
}

/* The options of that place as a list, each with its argument in one piece. */
static void print_list(const struct wt_command *command, enum place place, const char *left,
                       size_t width)
{
	size_t column = 0;

	for (const struct wt_option *o = command->options; o->name; o++) {
		char one[80];
		size_t length;

		if (place_of(command, o) != place)
			continue;
		length = (size_t)snprintf(one, sizeof(one), "--%s%s%s", o->name,
		                          o->argument ? " " : "", o->argument ? o->argument : "");
		if (!column)
			column = (size_t)printf("  %-*s", HELP_COLUMN - 2, left);
		else if (column + 2 + length < width)
			column += (size_t)printf(", ");
		else
			column = (size_t)printf(",\n%*s", HELP_COLUMN, "") - 2;
		column += (size_t)printf("%s", one);
	}
	if (column)
		fputc('\n', stdout);
}

/* "--json, --csv": for what, is the same for all commands. */
static void print_programs(const struct wt_command *command,
                           const struct wt_text_terminal *terminal)
{
	char left[80] = "    ";

	for (const struct wt_option *o = command->options; o->name; o++)
		if (place_of(command, o) == PLACE_PROGRAMS) {
			append(left, sizeof(left), left[4] ? ", --" : "--");
			append(left, sizeof(left), o->name);
		}
	if (left[4])
		print_entry(left, "for programs: doc/json.md", terminal);
}

static void print_options(const struct wt_command *command, const struct wt_text_terminal *terminal)
{
	for (const struct wt_option *o = command->options; o->name; o++)
		if (place_of(command, o) == PLACE_OWN_LINE)
			print_option(o, terminal);
	print_list(command, PLACE_MINOR, "also", terminal->width_columns);
	print_list(command, PLACE_SELECTION, "a part of the run:", terminal->width_columns);
	for (const struct wt_option *o = command->options; o->name; o++)
		if (place_of(command, o) == PLACE_RUN)
			print_option(o, terminal);
	print_programs(command, terminal);
	print_entry("-h, --help", "this help", terminal);
}

void wt_help_print(const struct wt_command *command)
{
	bool has_page = strcmp(command->name, "help") != 0;
	bool has_options = command->options->name != NULL;
	struct wt_text_terminal terminal;
	char usage[200];

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	if (!terminal.width_columns || terminal.width_columns > HELP_WIDTH)
		terminal.width_columns = HELP_WIDTH;
	snprintf(usage, sizeof(usage), "usage: wavetap %s%s%s%s", command->name,
	         has_options ? " [OPTION]..." : "", command->operands ? " " : "",
	         command->operands ? command->operands : "");
	wt_wrap_print(stdout, usage, 0, &terminal);
	wt_wrap_print(stdout, command->summary, 0, &terminal);
	fputc('\n', stdout);
	if (command->details) {
		wt_wrap_print(stdout, command->details, 0, &terminal);
		fputc('\n', stdout);
	}
	print_options(command, &terminal);
	fputc('\n', stdout);
	if (command->example)
		wt_wrap_beside(stdout, "example:", command->example, strlen("example:  "),
		               &terminal);
	printf("more:     man wavetap%s%s\n", has_page ? "-" : "", has_page ? command->name : "");
}

void wt_help_print_list(const struct wt_command *command)
{
	for (const struct wt_option *o = command->options; o->name; o++) {
		if (!o->help)
			continue;
		printf("--%s\n", o->name);
		if (o->letter)
			printf("-%c\n", o->letter);
	}
	printf("--help\n-h\n");
}

void wt_help_print_commands(FILE *out, const struct wt_command *const *commands, size_t count)
{
	static const struct {
		enum wt_theme theme;
		const char *heading;
	} themes[] = {
	        {WT_THEME_RECORD, "record"},
	        {WT_THEME_READ, "read a run"},
	        {WT_THEME_PLAN, "compare and plan"},
	        {WT_THEME_KEEP, "keep and move runs"},
	};
	struct wt_text_terminal terminal;

	wt_text_terminal_probe(out == stdout ? STDOUT_FILENO : STDERR_FILENO, &terminal);
	fputs("usage: wavetap COMMAND [OPTION]...\n", out);
	wt_wrap_print(out,
	              "Records the CUDA kernels of a program and ranks them by the SM-time that "
	              "they leave idle.",
	              0, &terminal);
	fputc('\n', out);
	for (size_t k = 0; k < sizeof(themes) / sizeof(themes[0]); k++) {
		fprintf(out, "%s:\n", themes[k].heading);
		for (size_t i = 0; i < count; i++) {
			if (commands[i]->theme != themes[k].theme)
				continue;
			fprintf(out, "  %-9s ", commands[i]->name);
			wt_wrap_print(out, commands[i]->summary, 12, &terminal);
		}
	}
	fputs("\nexample:  wavetap run -- python train.py; wavetap top\n"
	      "more:     wavetap help COMMAND, man wavetap\n",
	      out);
}

/* ---- what was meant */

#define NAME_BYTES_MAX 32

/* How many characters have to be put in, taken out, replaced or swapped with the next one. */
static size_t distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	size_t rows[3][NAME_BYTES_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t k = 0; k <= b_bytes; k++)
		last[k] = k;
	for (size_t i = 1; i <= a_bytes; i++) {
		size_t *unused = before;

		now[0] = i;
		for (size_t k = 1; k <= b_bytes; k++) {
			size_t least = last[k - 1] + (a[i - 1] != b[k - 1]);

			least = last[k] + 1 < least ? last[k] + 1 : least;
			least = now[k - 1] + 1 < least ? now[k - 1] + 1 : least;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    before[k - 2] + 1 < least)
				least = before[k - 2] + 1;
			now[k] = least;
		}
		before = last;
		last = now;
		now = unused;
	}
	return last[b_bytes];
}

const char *wt_help_nearest(const char *typed, size_t typed_bytes, size_t count,
                            const char *(*at)(const void *names, size_t index), const void *names)
{
	const char *nearest = NULL;
	size_t least = 0;

	if (!typed_bytes || typed_bytes > NAME_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *name = at(names, i);
		size_t name_bytes = name ? strlen(name) : NAME_BYTES_MAX + 1, d;

		if (name_bytes > NAME_BYTES_MAX)
			continue;
		d = distance(typed, typed_bytes, name, name_bytes);
		/* One slip in a short word, two in a long one; or the beginning of the word. */
		if (typed_bytes >= 3 && !strncmp(name, typed, typed_bytes))
			d = 1;
		if (d <= (typed_bytes < 5 ? 1U : 2U) && d < name_bytes && (!nearest || d < least)) {
			nearest = name;
			least = d;
		}
	}
	return nearest;
}

/* ---- for the man pages */

/* Text as mdoc(7) has it: nothing in it is a macro, hyphens of options are not typography. */
static void put_mdoc(const char *text, bool is_sentence)
{
	/* Not of names: "k blocks", "sqlite: ...". */
	bool is_upper = is_sentence && text[strcspn(text, " :")] != ':' &&
	                (isalpha((unsigned char)text[1]) || !strncmp(text, "a ", 2));
	bool is_word_start = true;
	size_t column = 0;

	for (const char *c = text; *c; c++, column++) {
		if (*c == ' ' && column >= 66)
			column = (size_t)-1; /* a new line */
		if (*c == '\\')
			fputs("\\e", stdout);
		else if (*c == '-' && (is_word_start || c[-1] == '-'))
			fputs("\\-", stdout);
		else if ((*c == '.' || *c == '\'') && !column)
			printf("\\&%c", *c);
		else if (*c == ' ' && column == (size_t)-1)
			fputc('\n', stdout);
		else
			fputc(c == text && is_upper ? toupper((unsigned char)*c) : *c, stdout);
		is_word_start = strchr(" (\",;", *c) != NULL;
	}
	if (is_sentence && *text && !strchr(".:", text[strlen(text) - 1]))
		fputc('.', stdout);
	fputc('\n', stdout);
}

void wt_help_print_mdoc(const struct wt_command *command)
{
	for (const struct wt_option *o = command->options; o->name; o++) {
		if (!o->help)
			continue;
		printf(".\\\" option %s\n.It ", o->name);
		if (o->letter)
			printf("Fl %c , ", o->letter);
		printf("Fl -%s", o->name);
		if (o->argument)
			printf(" Ar %s", o->argument);
		fputc('\n', stdout);
		put_mdoc(o->help, true);
		if (o->type != WT_OPTION_CHOICE)
			continue;
		printf(".Bl -tag -width \"tail-idle\" -compact\n");
		for (const struct wt_choice *c = o->choices; c->word; c++) {
			if (c->is_missing)
				continue;
			printf(".It Cm %s\n", c->word);
			put_mdoc(c->help, false);
		}
		printf(".El\n");
	}
}

/*
 * sim_parse_time.c - the options of `wavetap simulate` that name times: --block-time, --times and
 * --setup. All are read twice, first for the unit and the digits that all of them need.
 *
 * Single-threaded; blocks on the file of --times @FILE.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/simulate.h"

#define TIMES_MAX 10000000
#define FILE_BYTES_MAX (256 << 20)
#define SEPARATORS ", \t\r\n"

/* Drawn times get three digits more than what was written. */
#define DRAWN_DIGITS 3

struct words {
	const char *option;
	const char *at[2];
	size_t length[2];
	int count;
};

static int time_error(const char *option, const char *text, size_t length, int error)
{
	const char *why = error == -EDOM     ? "has another unit than the times before it"
	                  : error == -ERANGE ? "is too large"
	                                     : "is not a time such as 70, 0.5 or 100us";

	if (length > 40)
		length = 40;
	return wt_cli_usage_error("simulate", "--%s: \"%.*s\" %s", option, (int)length, text, why);
}

static int widen(struct wt_sim *sim, const struct words *words)
{
	for (int i = 0; i < words->count; i++) {
		int rc = wt_sim_scale_widen(&sim->scale, words->at[i], words->length[i]);

		if (rc)
			return time_error(words->option, words->at[i], words->length[i], rc);
	}
	return WT_EXIT_FINE;
}

static int read_words(const struct wt_sim *sim, const struct words *words, int64_t ticks[2])
{
	for (int i = 0; i < words->count; i++) {
		int rc = wt_sim_time_read(&sim->scale, words->at[i], words->length[i], &ticks[i]);

		if (rc)
			return time_error(words->option, words->at[i], words->length[i], rc);
	}
	return WT_EXIT_FINE;
}

/* "T", "T~D" or "A..B". */
static void split_block_time(const char *text, struct words *words, struct wt_sim *sim)
{
	const char *tilde = strchr(text, '~');
	const char *dots = strstr(text, "..");
	const char *mark = tilde ? tilde : dots;

	*words = (struct words){.option = "block-time", .at = {text}, .count = 1};
	words->length[0] = strlen(text);
	if (!mark)
		return;
	words->length[0] = (size_t)(mark - text);
	words->at[1] = mark + (tilde ? 1 : 2);
	words->length[1] = strlen(words->at[1]);
	words->count = 2;
	sim->times.kind = tilde ? WT_SCHEDULE_NORMAL : WT_SCHEDULE_UNIFORM;
}

static int read_block_time(const struct words *words, struct wt_sim *sim)
{
	int64_t ticks[2] = {0};
	int code = read_words(sim, words, ticks);

	sim->times.a = ticks[0];
	sim->times.b = ticks[1];
	if (!code && sim->times.kind == WT_SCHEDULE_UNIFORM &&
	    (ticks[1] < ticks[0] || ticks[1] == INT64_MAX))
		return wt_cli_usage_error("simulate", "--block-time: \"%s\" is empty",
		                          words->at[0]);
	return code;
}

/* ---- --times */

/* Whole file, malloc'd, or NULL after a message. */
static char *read_file(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	size_t used = 0, capacity = 1 << 16;
	char *text = malloc(capacity);
	int error = file ? 0 : errno;

	while (!error && text && used < FILE_BYTES_MAX) {
		char *larger;

		errno = 0;
		used += fread(text + used, 1, capacity - used - 1, file);
		if (used < capacity - 1) {
			error = !ferror(file) ? 0 : errno ? errno : EIO;
			break;
		}
		capacity *= 2;
		larger = realloc(text, capacity);
		if (!larger)
			error = ENOMEM;
		else
			text = larger;
	}
	if (file && file != stdin)
		fclose(file);
	if (!error && text && used >= FILE_BYTES_MAX)
		error = EFBIG;
	if (error || !text) {
		wt_cli_error("%s: %s", path, strerror(error ? error : ENOMEM));
	} else if (memchr(text, '\0', used)) {
		wt_cli_error("%s is no text file", path);
	} else {
		text[used] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

/* "3x70" is three times 70. */
static uint64_t take_count(const char **word, size_t *length)
{
	const char *x = memchr(*word, 'x', *length);
	uint64_t count = 0;

	if (!x || x == *word)
		return 1;
	for (const char *c = *word; c < x; c++) {
		if (*c < '0' || *c > '9')
			return 1;
		count = count * 10 + (uint64_t)(*c - '0');
		if (count > TIMES_MAX)
			break;
	}
	*length -= (size_t)(x + 1 - *word);
	*word = x + 1;
	return count;
}

static int count_times(const char *text, struct wt_sim *sim)
{
	uint64_t total = 0;

	for (const char *at = text + strspn(text, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
		const char *word = at;
		size_t length = strcspn(at, SEPARATORS);
		int rc;

		at += length;
		total += take_count(&word, &length);
		rc = wt_sim_scale_widen(&sim->scale, word, length);
		if (rc)
			return time_error("times", word, length, rc);
		if (total > TIMES_MAX)
			return wt_cli_usage_error("simulate", "--times: more than %d blocks",
			                          TIMES_MAX);
	}
	if (total == 0)
		return wt_cli_usage_error("simulate", "--times: no block");
	sim->time_count = (size_t)total;
	return WT_EXIT_FINE;
}

static int read_times(const char *text, struct wt_sim *sim)
{
	size_t used = 0;

	sim->time_list = calloc(sim->time_count, sizeof(*sim->time_list));
	if (!sim->time_list) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	for (const char *at = text + strspn(text, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
		const char *word = at;
		size_t length = strcspn(at, SEPARATORS);
		int64_t ticks;
		uint64_t count;
		int rc;

		at += length;
		count = take_count(&word, &length);
		rc = wt_sim_time_read(&sim->scale, word, length, &ticks);
		if (rc)
			return time_error("times", word, length, rc);
		while (count-- > 0)
			sim->time_list[used++] = ticks;
	}
	sim->times.kind = WT_SCHEDULE_LIST;
	sim->times.list = sim->time_list;
	return WT_EXIT_FINE;
}

/* ---- all */

static int parse_all(const struct wt_sim_values *values, const char *times, struct wt_sim *sim)
{
	struct words block = {0}, setup = {.option = "setup", .at = {values->setup}, .count = 1};
	int64_t setup_ticks[2] = {0};
	int code = WT_EXIT_FINE;

	setup.length[0] = values->setup ? strlen(values->setup) : 0;
	if (values->block_time)
		split_block_time(values->block_time, &block, sim);
	else if (!times && !sim->has_times_of_tile)
		sim->times.a = 1;
	code = widen(sim, &block);
	if (!code && times)
		code = count_times(times, sim);
	if (!code && values->setup)
		code = widen(sim, &setup);
	if (code)
		return code;
	if (block.count == 2)
		sim->scale.digits = sim->scale.digits + DRAWN_DIGITS < WT_SIM_DIGITS_MAX
		                            ? sim->scale.digits + DRAWN_DIGITS
		                            : WT_SIM_DIGITS_MAX;
	if (values->block_time)
		code = read_block_time(&block, sim);
	if (!code && times)
		code = read_times(times, sim);
	if (!code && values->setup)
		code = read_words(sim, &setup, setup_ticks);
	sim->setup = setup_ticks[0];
	return code;
}

int wt_sim_parse_times(const struct wt_sim_values *values, struct wt_sim *sim)
{
	bool is_file = values->times && values->times[0] == '@';
	char *file = is_file ? read_file(values->times + 1) : NULL;
	int code;

	if (is_file && !file)
		return WT_EXIT_FAILED;
	code = parse_all(values, is_file ? file : values->times, sim);
	free(file);
	if (!code && sim->has_times_of_tile && sim->scale.unit[0])
		return wt_cli_usage_error("simulate",
		                          "--setup: a GEMM without --block-time counts in "
		                          "multiply-adds, not in %s",
		                          sim->scale.unit);
	if (!code && values->seed >= 0 && sim->times.kind != WT_SCHEDULE_NORMAL &&
	    sim->times.kind != WT_SCHEDULE_UNIFORM)
		return wt_cli_usage_error("simulate",
		                          "--seed needs drawn times: --block-time T~D or A..B");
	sim->times.seed = values->seed >= 0 ? (uint64_t)values->seed : 0;
	return code;
}

/*
 * compare_text.c - a comparison for people: see compare_show.h. Single-threaded; blocks as stdout does.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/compare_show.h"
#include "cli/phrase.h"
#include "cli/table.h"

#define KINDS_SHOWN 8 /* of kernels */

/* ---- first lines */

static void print_run(struct wt_phrase *line, const char *side, const struct wt_compare_run *run)
{
	char number[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "%s run %s", side, run->id);
	if (run->name[0])
		wt_phrase_add(line, "%s", run->name);
	wt_phrase_add(line, "%s %" PRId64 " SMs", run->facts.gpu, run->facts.sms);
	if (run->has_steps) {
		double sum = 0;

		for (size_t i = 0; i < run->blocks; i++)
			sum += run->step_ns_of[i] / (double)run->blocks;
		wt_phrase_add(line, "%zu steady steps", run->steps);
		wt_phrase_add(line, "%s/step", wt_text_ns(number, (int64_t)sum));
	} else {
		wt_phrase_add(line, "no steps: %s", run->steps_reason);
	}
	wt_phrase_end(line);
}

static void print_sides(struct wt_phrase *line, const struct wt_compare *compare)
{
	for (size_t i = 0; i < compare->before.count; i++)
		print_run(line, i ? "      " : "before", &compare->before.runs[i]);
	for (size_t i = 0; i < compare->after.count; i++)
		print_run(line, i ? "      " : "after ", &compare->after.runs[i]);
	if (compare->blocked)
		wt_phrase_add(line, "NOT COMPARABLE: nothing is judged");
	else
		wt_phrase_add(line, "comparable %.2f of 1", compare->score);
	wt_phrase_end(line);
	for (size_t i = 0; i < compare->reason_count; i++) {
		wt_phrase_words(line, 2, "  %s", compare->reasons[i].text);
		wt_phrase_end(line);
	}
}

/* "step  31.5ms to 32.9ms  +4.4% (+1.0% to +7.8%)  slower" */
static void print_whole(struct wt_phrase *line, const struct wt_compare *compare,
                        enum wt_compare_kind kind)
{
	const struct wt_compare_row *row = wt_compare_find(compare, kind);
	double per = kind == WT_COMPARE_IDLE ? compare->sms : 1;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	char change[WT_COMPARE_PERCENT_BYTES], low[WT_COMPARE_PERCENT_BYTES];
	char high[WT_COMPARE_PERCENT_BYTES];

	if (!row)
		return;
	wt_phrase_add(line, "%s",
	              kind == WT_COMPARE_IDLE ? "idle, of the whole GPU a step:" : "step:");
	wt_phrase_add(line, "%s to %s", wt_text_ns(a, (int64_t)(row->contrast.mean_before / per)),
	              wt_text_ns(b, (int64_t)(row->contrast.mean_after / per)));
	wt_phrase_add(line, "%s", wt_compare_percent(wt_compare_change(row), change));
	if (row->contrast.has_interval && row->contrast.mean_before > 0)
		wt_phrase_item(
		        line, "(%s to %s)",
		        wt_compare_percent(row->contrast.low / row->contrast.mean_before, low),
		        wt_compare_percent(row->contrast.high / row->contrast.mean_before, high));
	if (wt_compare_verdict(row))
		wt_phrase_add(line, "%s", wt_compare_verdict(row));
	else
		wt_phrase_add(line, "not judged: %s", row->contrast.why);
	wt_phrase_end(line);
}

/* ---- changes in kind */

static void print_kinds(struct wt_phrase *line, const struct wt_compare *compare,
                        const struct wt_compare_row *const *rows,
                        const struct wt_compare_names *names)
{
	size_t kernels = 0;

	for (size_t i = 0; i < names->count; i++)
		kernels += rows[i]->kind_change != NULL;
	if (!compare->kind_count && !kernels)
		return;
	wt_phrase_add(line, "changed in kind:");
	wt_phrase_end(line);
	for (size_t i = 0; i < compare->kind_count; i++) {
		wt_phrase_words(line, 4, "  %s", compare->kinds[i]);
		wt_phrase_end(line);
	}
	for (size_t i = 0, shown = 0; i < names->count && shown < KINDS_SHOWN; i++) {
		if (!rows[i]->kind_change)
			continue;
		wt_phrase_words(line, 4, "  %s: %s", names->after[i], rows[i]->kind_change);
		wt_phrase_end(line);
		shown++;
	}
	if (kernels > KINDS_SHOWN) {
		wt_phrase_add(line, "  and %zu more kernels (--by occupancy)",
		              kernels - KINDS_SHOWN);
		wt_phrase_end(line);
	}
}

static void print_matches(struct wt_phrase *line, const struct wt_compare_row *const *rows,
                          size_t count, const struct wt_compare_names *names)
{
	bool is_first = true;

	for (size_t i = 0; i < count; i++) {
		const struct wt_match_kernel *match = &rows[i]->match;

		if (match->how <= WT_MATCH_NAME)
			continue;
		if (is_first) {
			wt_phrase_add(line, "taken for the same kernel (1: sure):");
			wt_phrase_end(line);
		}
		is_first = false;
		wt_phrase_words(line, 4, "  %.2f %s is %s (name %.2f, geometry %.2f, order %.2f)%s",
		                match->score, names->before[i], names->after[i], match->name_score,
		                match->geometry_score, match->order_score,
		                match->score < WT_MATCH_SCORE_SURE ? ": too little to judge" : "");
		wt_phrase_end(line);
	}
}

/* ---- the table */

static const struct wt_table_column columns[] = {
        {"verdict", "", WT_TABLE_LEFT, 0, 6, 0},
        {"change", "CHANGE", WT_TABLE_RIGHT, 0, 0, 0},
        {"error", "+-", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"before", "BEFORE", WT_TABLE_RIGHT, 0, 0, 0},
        {"after", "AFTER", WT_TABLE_RIGHT, 0, 0, 0},
        {"more", "MORE", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"n", "N", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"match", "MATCH", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"what", "WHAT", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 16, 0},
};

static const struct wt_table_column occupancy_columns[] = {
        {"occupancy_before", "OCC%", WT_TABLE_RIGHT, 0, 0, 0},
        {"occupancy_after", "NOW", WT_TABLE_RIGHT, 0, 0, 0},
        {"regs_before", "REGS", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"regs_after", "NOW", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"blocks_before", "B/SM", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"blocks_after", "NOW", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"waves_before", "WAVES", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"waves_after", "NOW", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"limiter", "LIMITED BY", WT_TABLE_LEFT, WT_TABLE_DROP(2), 0, 0},
        {"verdict", "", WT_TABLE_LEFT, WT_TABLE_DROP(1), 0, 0},
        {"kernel", "KERNEL", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 16, 0},
};

static void add_ns(struct wt_table *table, double ns, bool has_sign)
{
	char number[WT_TEXT_NUMBER_BYTES], text[WT_TEXT_NUMBER_BYTES + 2];
	double whole = round(fabs(ns));

	if (isnan(ns)) {
		wt_table_add_null(table);
		return;
	}
	snprintf(text, sizeof(text), "%s%s",
	         !has_sign || whole == 0 ? ""
	         : ns < 0                ? "-"
	                                 : "+",
	         wt_text_ns(number, whole < 9e18 ? (int64_t)whole : INT64_MAX));
	wt_table_add_string(table, text, NULL);
}

static void add_launches(struct wt_table *table, const struct wt_compare_row *row)
{
	char text[48];
	double before = row->launches_before, after = row->launches_after;

	if (row->kind != WT_COMPARE_OF_KERNEL && row->kind != WT_COMPARE_OF_CONFIG)
		snprintf(text, sizeof(text), "%s", "");
	else if (fabs(after - before) <= 0.005 * fmax(before, after))
		snprintf(text, sizeof(text), "%.4g", after);
	else
		snprintf(text, sizeof(text), "%.4g>%.4g", before, after);
	wt_table_add_string(table, text, NULL);
}

static void add_match(struct wt_table *table, const struct wt_compare_row *row)
{
	char text[16] = "";

	if (row->match.how > WT_MATCH_NAME)
		snprintf(text, sizeof(text), "%.2f", row->match.score);
	wt_table_add_string(table, text, NULL);
}

/* "new", "gone", "slower", "?": what can't be judged. */
static const char *verdict_word(const struct wt_compare_row *row)
{
	if (wt_compare_verdict(row))
		return wt_compare_verdict(row);
	if (row->contrast.why &&
	    (!strcmp(row->contrast.why, "new") || !strcmp(row->contrast.why, "gone")))
		return row->contrast.why;
	return "?";
}

static const char *config_text(const struct wt_compare_row *row, const char *name, char text[512])
{
	const struct wt_compare_config *config =
	        row->config_after ? row->config_after : row->config_before;

	if (row->kind != WT_COMPARE_OF_CONFIG || !config)
		return name;
	snprintf(text, 512, "%" PRId64 "x%" PRId64 "x%" PRId64 " of %" PRId64 "  %.400s",
	         config->grid[0], config->grid[1], config->grid[2], config->threads, name);
	return text;
}

static void add_row(struct wt_table *table, const struct wt_compare *compare,
                    const struct wt_compare_row *row, const char *name)
{
	const struct wt_contrast *contrast = &row->contrast;
	bool is_sm = row->kind == WT_COMPARE_IDLE || row->kind == WT_COMPARE_OF_LINE;
	double per = is_sm ? compare->sms : 1, error = wt_compare_error(row);
	char text[WT_COMPARE_PERCENT_BYTES], what[48], config[512];

	wt_table_row(table, 0);
	wt_table_add_string(table, verdict_word(row), NULL);
	wt_table_add_string(table, wt_compare_percent(wt_compare_change(row), text), NULL);
	wt_table_add_string(table, isfinite(error) ? wt_compare_percent(error, text) + 1 : ".",
	                    NULL);
	add_ns(table, contrast->mean_before / per, false);
	add_ns(table, contrast->mean_after / per, false);
	add_ns(table, contrast->change / per, true);
	add_launches(table, row);
	add_match(table, row);
	wt_table_add_string(
	        table, name[0] ? config_text(row, name, config) : wt_compare_row_what(row, what),
	        NULL);
}

static void add_known(struct wt_table *table, double value, int digits)
{
	if (value < 0)
		wt_table_add_null(table);
	else
		wt_table_add_double(table, value, digits, NULL);
}

static void add_occupancy(struct wt_table *table, const struct wt_compare_row *row,
                          const char *name)
{
	const struct wt_compare_config *a = row->before ? row->before->most : NULL;
	const struct wt_compare_config *b = row->after ? row->after->most : NULL;

	if (!a || !b)
		return;
	wt_table_row(table, 0);
	add_known(table, a->occupancy < 0 ? -1 : 100 * a->occupancy, 0);
	add_known(table, b->occupancy < 0 ? -1 : 100 * b->occupancy, 0);
	wt_table_add_int(table, a->regs, NULL);
	wt_table_add_int(table, b->regs, NULL);
	add_known(table, (double)a->blocks_per_sm, 0);
	add_known(table, (double)b->blocks_per_sm, 0);
	add_known(table, a->waves, 2);
	add_known(table, b->waves, 2);
	wt_table_add_string(table, b->limiter[0] ? b->limiter : NULL, NULL);
	wt_table_add_string(table, verdict_word(row), NULL);
	wt_table_add_string(table, name, NULL);
}

static int print_table(const struct wt_compare *compare, const struct wt_compare_style *style,
                       const struct wt_compare_row *const *rows, size_t count,
                       const struct wt_compare_names *names,
                       const struct wt_text_terminal *terminal)
{
	bool is_occupancy = style->by == WT_COMPARE_BY_OCCUPANCY;
	struct wt_table *table =
	        is_occupancy
	                ? wt_table_create(occupancy_columns,
	                                  sizeof(occupancy_columns) / sizeof(occupancy_columns[0]))
	                : wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	size_t shown = count < style->limit ? count : style->limit;
	int rc;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < shown; i++) {
		const char *name = rows[i]->after ? names->after[i] : names->before[i];

		if (is_occupancy)
			add_occupancy(table, rows[i], name);
		else
			add_row(table, compare, rows[i], name);
	}
	rc = wt_table_print_text(table, stdout, terminal);
	wt_table_destroy(table);
	if (!rc && shown < count)
		wt_phrase_line(stdout, terminal, "%zu more (--limit 0)", count - shown);
	return rc;
}

/* ---- the whole */

static void print_notes(struct wt_phrase *line, const struct wt_compare *compare,
                        const struct wt_compare_style *style)
{
	char text[400];

	if (style->by == WT_COMPARE_BY_LEDGER) {
		wt_phrase_words(line, 2, "times: of the whole GPU (SM-time / SMs) a step");
		wt_phrase_end(line);
	} else if (style->by != WT_COMPARE_BY_OCCUPANCY) {
		wt_phrase_words(line, 2, "times: %s, of all launches of the kernel",
		                compare->is_per_step ? "a step" : "a launch");
		wt_phrase_end(line);
	}
	if (compare->blocked)
		return;
	wt_phrase_words(
	        line, 2,
	        "%zu quantities judged together: the chance that one of them is called"
	        " changed by noise is at most %.2g %%; even: no change beyond noise; ? not"
	        " judged",
	        compare->judged_count,
	        100 * (compare->query.alpha > 0 ? compare->query.alpha : WT_CONTRAST_ALPHA));
	wt_phrase_end(line);
	wt_phrase_words(line, 2, "%s", wt_compare_noise_text(compare, text));
	wt_phrase_end(line);
}

int wt_compare_print_text(const struct wt_compare *compare, const struct wt_compare_style *style,
                          const struct wt_compare_gate *gate)
{
	struct wt_compare_names names = {0};
	struct wt_text_terminal terminal;
	struct wt_phrase line;
	size_t count = 0;
	const struct wt_compare_row **rows = wt_compare_order(compare, style, &count);
	int rc = rows ? wt_compare_name_rows(rows, count, style->has_full_names, &names) : -ENOMEM;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_phrase_init(&line, stdout, &terminal);
	if (!rc) {
		print_sides(&line, compare);
		print_whole(&line, compare, WT_COMPARE_STEP);
		print_whole(&line, compare, WT_COMPARE_IDLE);
		print_kinds(&line, compare, rows, &names);
		rc = print_table(compare, style, rows, count, &names, &terminal);
	}
	if (!rc) {
		print_matches(&line, rows, count < style->limit ? count : style->limit, &names);
		print_notes(&line, compare, style);
	}
	if (!rc && gate) {
		char *text = wt_compare_gate_line(gate);

		if (text)
			wt_phrase_line(stdout, &terminal, "%s", text);
		free(text);
	}
	wt_compare_names_fini(&names);
	free(rows);
	return rc;
}

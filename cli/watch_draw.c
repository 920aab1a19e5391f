/*
 * watch_draw.c - see watch_top.h: the picture. Single-threaded; blocks as the terminal does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kernel_name.h"
#include "cli/measured.h"
#include "cli/phrase.h"
#include "cli/top_columns.h"
#include "cli/top_text.h"
#include "cli/watch_ledger.h"
#include "cli/watch_top.h"

#define MARKER_COLUMNS 2 /* "> " before the selected row */
#define LOSS_LINES_MAX 2
#define FOOT_LINES_MAX 3
#define LIST_ROWS_MIN 8 /* ranking, heading, three rows, their sum, note, keys */
#define ROWS_FOR_MORE 30 /* of a screen that has room for what is of less interest */

/* ---- rows */

static bool is_matched(const struct wt_watch *watch, const char *text)
{
	return text && !regexec(&watch->regex, text, 0, NULL, 0);
}

static bool is_shown(const struct wt_watch *watch, const struct wt_report_row *row)
{
	char *whole;
	bool is_in;

	if (!watch->has_regex || is_matched(watch, row->kernel_shown) ||
	    is_matched(watch, row->kernel))
		return true;
	whole = row->kernel ? wt_kernel_name_demangle(row->kernel) : NULL;
	is_in = is_matched(watch, whole);
	free(whole);
	return is_in;
}

/* The rows that the filter lets through, and their sum. */
static int choose_rows(struct wt_watch *watch)
{
	const struct wt_report *report = &watch->state->report;
	struct wt_report *shown = &watch->shown;

	free(shown->rows);
	*shown = *report;
	shown->row_count = 0;
	shown->rows = calloc(report->row_count + 1, sizeof(*shown->rows));
	if (!shown->rows)
		return -ENOMEM;
	for (size_t i = 0; watch->state->has_rows && i < report->row_count; i++)
		if (is_shown(watch, &report->rows[i]))
			shown->rows[shown->row_count++] = report->rows[i];
	if (shown->row_count == report->row_count)
		return 0;
	shown->total = (struct wt_report_row){.kernel_id = -1, .config_id = -1};
	for (size_t i = 0; i < shown->row_count; i++)
		wt_report_row_add(&shown->total, &shown->rows[i]);
	shown->total.has_measured = report->total.has_measured;
	return 0;
}

/* The row that was selected, wherever it is now; the first stays the first. */
static void find_selected(struct wt_watch *watch)
{
	const struct wt_report *shown = &watch->shown;

	for (size_t i = 0; watch->selected && i < watch->table_rows; i++) {
		const struct wt_report_row *row = &shown->rows[i];

		if (row->kernel_id == watch->selected_ids[0] &&
		    row->config_id == watch->selected_ids[1] &&
		    row->group_id == watch->selected_ids[2]) {
			watch->selected = i;
			return;
		}
	}
	if (watch->selected >= watch->table_rows)
		watch->selected = watch->table_rows ? watch->table_rows - 1 : 0;
}

int wt_watch_fill(struct wt_watch *watch)
{
	const struct wt_watch_query *query = &watch->state->query;
	struct wt_top_style style = {.by = query->by,
	                             .group = query->group,
	                             .columns = watch->options->columns,
	                             .limit = watch->options->limit};
	struct wt_text_terminal terminal;
	struct wt_top_view view;
	FILE *out;
	int rc = choose_rows(watch);

	if (rc)
		return rc;
	if (style.limit < 0)
		style.limit = WT_WATCH_ROWS;
	style.has_measured = watch->state->report.total.has_measured;
	watch->table_rows = watch->shown.row_count;
	if (style.limit && watch->table_rows > (size_t)style.limit)
		watch->table_rows = (size_t)style.limit;
	find_selected(watch);
	watch->table_columns = wt_screen_columns();
	wt_watch_terminal(&terminal, watch->table_columns - MARKER_COLUMNS);
	/* The unit stays that of all rows. */
	wt_top_view_init(&view, &watch->state->report);
	out = wt_lines_begin(&watch->table);
	if (out && watch->state->has_rows)
		rc = wt_top_print_table(out, &terminal, &watch->shown, &style, &view);
	return wt_lines_end(&watch->table) ? -ENOMEM : rc;
}

/* ---- above the rows */

static const char *state_word(const struct wt_watch *watch)
{
	const struct wt_watch_state *state = watch->state;

	if (watch->is_removed)
		return "REMOVED";
	if (watch->is_frozen)
		return "FROZEN";
	if (!state->run.info.processes_live)
		return "finished";
	return watch->is_orphaned ? "NOT STORED" : "running";
}

static void draw_title(const struct wt_watch *watch)
{
	const struct wt_watch_state *state = watch->state;
	char left[400], right[160], every[60] = "", time[WT_TEXT_NUMBER_BYTES];
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	bool is_live = !strcmp(state_word(watch), "running");

	snprintf(left, sizeof(left), "wavetap top  run %s%s%s", state->run.info.id,
	         state->run.info.name[0] ? "  " : "", state->run.info.name);
	if (is_live && wt_watch_pace_is_slowed(&watch->pace))
		snprintf(every, sizeof(every), "  every %s (takes %s)",
		         wt_text_ns(a, wt_watch_pace_ns(&watch->pace)),
		         wt_text_ns(b, watch->pace.took_ns));
	else if (is_live)
		snprintf(every, sizeof(every), "  every %s",
		         wt_text_ns(a, watch->pace.interval_ns));
	snprintf(right, sizeof(right), "%s%s  %s", state_word(watch), every,
	         wt_watch_clock(time, state->taken_s));
	wt_watch_title(left, right);
}

/* What it is of, what the figures rest on, and what is missing. */
static void print_facts(FILE *out, const struct wt_text_terminal *terminal,
                        const struct wt_watch_state *state)
{
	const struct wt_report *report = &state->report;
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], sm_ns, launches = report->total.launches;
	int64_t lost = wt_report_kernels_lost(&report->loss);
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	char evidence[WT_MEASURED_TEXT_BYTES];
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	wt_top_print_devices(&line, report);
	if (report->has_window && state->query.window == WT_WATCH_LAST_SECONDS)
		wt_phrase_add(&line, "last %s:", wt_watch_last(state->query.options) + 1);
	if (report->has_window)
		wt_top_print_window(&line, report->select, report->steps,
		                    report->end_ns - report->start_ns);
	if (report->select)
		launches = report->select->run_launches;
	wt_phrase_add(&line, "%s of %s kernels", wt_text_count(a, report->total.launches),
	              wt_text_count(b, launches));
	wt_phrase_add(&line, "lost %s%s", wt_text_count(a, lost),
	              report->select ? " in the whole run" : "");
	if (report->processes > 1)
		wt_phrase_add(&line, "%" PRId64 " processes", report->processes);
	sm_ns = wt_report_row_sm_ns(&report->total, parts_sm_ns);
	wt_phrase_add(&line, "evidence: %s%s", wt_measured_text(evidence, sm_ns, parts_sm_ns),
	              strcmp(wt_measured_word(sm_ns, parts_sm_ns), "mixed") ? "" : ", else model");
	if (report->shares.is_estimated || !report->shares.is_exact)
		wt_phrase_add(&line, "rows where kernels overlap: upper bound");
	wt_phrase_end(&line);
	wt_top_print_selection(&line, report->select);
	if (wt_screen_rows() >= ROWS_FOR_MORE)
		wt_top_print_apart(&line, report->steps);
}

static unsigned draw_lines(unsigned row, enum wt_screen_style style, const struct wt_lines *lines,
                           size_t most)
{
	for (size_t i = 0; i < lines->count && i < most; i++)
		wt_screen_put(row++, 0, style, lines->line[i]);
	return row;
}

static unsigned draw_losses(unsigned row, const struct wt_text_terminal *terminal,
                            const struct wt_watch_state *state)
{
	struct wt_lines lines = {0};
	FILE *out = wt_lines_begin(&lines);
	char text[60];

	if (out)
		wt_top_print_losses(out, terminal, &state->report);
	if (!wt_lines_end(&lines)) {
		row = draw_lines(row, WT_SCREEN_WARNING, &lines, LOSS_LINES_MAX);
		if (lines.count > LOSS_LINES_MAX) {
			snprintf(text, sizeof(text), "%zu more lines on losses: i",
			         lines.count - LOSS_LINES_MAX);
			wt_screen_put(row++, 0, WT_SCREEN_WARNING, text);
		}
	}
	wt_lines_fini(&lines);
	return row;
}

static unsigned draw_head(const struct wt_watch *watch)
{
	const struct wt_watch_state *state = watch->state;
	struct wt_text_terminal terminal;
	struct wt_lines lines = {0};
	size_t rows = wt_screen_rows();
	unsigned row = 1;
	FILE *out;

	draw_title(watch);
	if (watch->is_removed)
		wt_screen_put(row++, 0, WT_SCREEN_WARNING,
		              "the run file was removed: this is the last that was read of it");
	else if (watch->is_orphaned)
		wt_screen_put(row++, 0, WT_SCREEN_WARNING,
		              "wavetapd is gone: until one runs again, nothing more is stored");
	if (!state->report.has_window)
		return row;
	wt_watch_terminal(&terminal, wt_screen_columns());
	out = wt_lines_begin(&lines);
	if (out)
		print_facts(out, &terminal, state);
	if (!wt_lines_end(&lines))
		row = draw_lines(row, WT_SCREEN_PLAIN, &lines,
		                 rows < 16   ? 1
		                 : rows < 24 ? 2
		                             : rows / 4);
	wt_lines_fini(&lines);
	row = draw_losses(row, &terminal, state);
	return wt_watch_draw_ledger(row, &state->report, rows / 6 > 0 ? rows / 6 : 1);
}

static void draw_ranking(unsigned row, const struct wt_watch *watch)
{
	const struct wt_watch_state *state = watch->state;
	struct wt_top_view view;
	char filter[2 * WT_WATCH_WORD_BYTES] = "", text[400];

	wt_top_view_init(&view, &state->report);
	if (watch->has_regex)
		snprintf(filter, sizeof(filter), "  filter %s: %zu of %zu", watch->filter,
		         watch->shown.row_count, state->report.row_count);
	snprintf(text, sizeof(text), "by %s%s%s%s  LOST..TIME: %s of %s GPU",
	         wt_top_by_text(state->query.by),
	         state->query.group == WT_REPORT_GROUP_KERNEL ? "" : ", each ",
	         state->query.group == WT_REPORT_GROUP_KERNEL
	                 ? ""
	                 : watch->options->group_choices[state->query.group].word,
	         filter, view.unit.name, state->report.device_count > 1 ? "a whole" : "the whole");
	wt_screen_put(row, 0, WT_SCREEN_STRONG, text);
}

/* ---- rows and what is below */

static void scroll_to_selected(struct wt_watch *watch)
{
	size_t rows = watch->list_rows;

	if (watch->selected < watch->first)
		watch->first = watch->selected;
	if (rows && watch->selected >= watch->first + rows)
		watch->first = watch->selected - rows + 1;
	if (watch->first + rows > watch->table_rows)
		watch->first = watch->table_rows > rows ? watch->table_rows - rows : 0;
}

static void draw_row(unsigned row, enum wt_screen_style style, const char *marker, const char *text)
{
	wt_screen_put_row(row, style, "");
	wt_screen_put(row, 0, style, marker);
	wt_screen_put(row, MARKER_COLUMNS, style, text);
}

/* What is in its place where there are no rows. */
static void draw_problem(unsigned row, const struct wt_watch *watch)
{
	struct wt_text_terminal terminal;
	struct wt_lines lines = {0};
	FILE *out = wt_lines_begin(&lines);

	wt_watch_terminal(&terminal, wt_screen_columns());
	if (out)
		wt_phrase_line(out, &terminal, "%s", watch->state->problem);
	if (!wt_lines_end(&lines))
		draw_lines(row + 1, WT_SCREEN_STRONG, &lines, 8);
	wt_lines_fini(&lines);
}

static void draw_list(struct wt_watch *watch, unsigned row, unsigned end)
{
	size_t count = watch->table.count, foot = 0;

	if (!count) {
		draw_problem(row, watch);
		return;
	}
	if (count > 1 + watch->table_rows)
		foot = count - 1 - watch->table_rows;
	if (foot > FOOT_LINES_MAX)
		foot = FOOT_LINES_MAX;
	draw_row(row, WT_SCREEN_BAR, "", watch->table.line[0]);
	watch->list_row = row + 1;
	watch->list_rows = end > row + 1 + foot ? end - row - 1 - (unsigned)foot : 0;
	scroll_to_selected(watch);
	for (size_t i = 0; i < watch->list_rows && watch->first + i < watch->table_rows; i++) {
		size_t at = watch->first + i;
		bool is_selected = at == watch->selected;

		draw_row(watch->list_row + (unsigned)i,
		         is_selected ? WT_SCREEN_SELECTED : WT_SCREEN_PLAIN, is_selected ? ">" : "",
		         watch->table.line[1 + at]);
		row = watch->list_row + (unsigned)i;
	}
	for (size_t i = 0; i < foot && row + 1 + i < end; i++)
		draw_row(row + 1 + (unsigned)i, WT_SCREEN_PLAIN, "",
		         watch->table.line[1 + watch->table_rows + i]);
}

/* What was just said; else where we are and what the marks mean. */
static void draw_note(const struct wt_watch *watch)
{
	unsigned row = wt_screen_rows() - 2;
	char where[80] = "";
	struct wt_text_terminal terminal;
	struct wt_lines lines = {0};
	struct wt_phrase line;
	FILE *out;

	if (watch->note[0]) {
		wt_screen_put(row, 0, WT_SCREEN_WARNING, watch->note);
		return;
	}
	if (watch->table_rows > watch->list_rows)
		snprintf(where, sizeof(where), "rows %zu-%zu of %zu",
		         watch->first + (watch->list_rows > 0), watch->first + watch->list_rows,
		         watch->table_rows);
	wt_watch_terminal(&terminal, 0);
	out = wt_lines_begin(&lines);
	if (out) {
		wt_phrase_init(&line, out, &terminal);
		if (where[0])
			wt_phrase_add(&line, "%s", where);
		if (watch->state->has_rows) {
			wt_top_print_marks(&line, &watch->state->report);
			wt_phrase_add(&line, ". none or not knowable");
		}
		wt_phrase_end(&line);
	}
	if (!wt_lines_end(&lines))
		draw_lines(row, WT_SCREEN_PLAIN, &lines, 1);
	wt_lines_fini(&lines);
}

/* Those that fit; help comes first where not all do. */
static void draw_keys(const char *const *keys)
{
	unsigned row = wt_screen_rows() - 1, columns = wt_screen_columns();
	char text[400] = "";
	size_t used = 0;

	for (;
	     *keys && used + 2 + strlen(*keys) < columns && used + 2 + strlen(*keys) < sizeof(text);
	     keys++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? "  " : "",
		                         *keys);
	wt_screen_put_row(row, WT_SCREEN_BAR, text);
}

static void draw_filter(const struct wt_watch *watch)
{
	unsigned row = wt_screen_rows() - 1, column;

	wt_screen_put_row(row, WT_SCREEN_BAR, "");
	column = wt_screen_put(row, 0, WT_SCREEN_BAR, "filter (expression): ");
	column = wt_screen_put(row, column, WT_SCREEN_BAR, watch->filter);
	wt_screen_cursor(row, column);
	wt_screen_put(row, column + 3, WT_SCREEN_BAR, "Enter keeps it, Esc does not");
}

/* ---- the whole */

size_t wt_watch_body_rows(void)
{
	return wt_screen_rows() - 3;
}

static void draw_pager(struct wt_watch *watch)
{
	static const char *const keys[] = {"q back", "arrows PgUp PgDn Home End scroll", NULL};
	char where[WT_TEXT_NUMBER_BYTES];

	wt_pager_draw(&watch->pager, 1, wt_watch_body_rows());
	wt_watch_title(watch->pager_title,
	               wt_pager_where(&watch->pager, wt_watch_body_rows(), where));
	draw_keys(keys);
}

static void draw_body(struct wt_watch *watch)
{
	static const char *const keys[] = {
	        "? help",       "q quit",       "s sort",   "g group", "/ filter", "w window",
	        "Enter kernel", "space freeze", "d device", "i info",  NULL};
	static const char *const menu_keys[] = {"Enter choose", "Esc back", "arrows", NULL};
	unsigned row = draw_head(watch);

	/* Where there is little room rows come before what the parts of a bar are. */
	if (row > wt_screen_rows() - LIST_ROWS_MIN)
		row = wt_screen_rows() - LIST_ROWS_MIN;
	for (unsigned i = row; i < wt_screen_rows(); i++)
		wt_screen_put_row(i, WT_SCREEN_PLAIN, "");
	if (watch->mode == WT_WATCH_MENU) {
		wt_menu_draw(&watch->menu, row, wt_screen_rows() - 1 - row);
		draw_keys(menu_keys);
		return;
	}
	if (watch->state->has_rows)
		draw_ranking(row, watch);
	draw_list(watch, row + 1, wt_screen_rows() - 2);
	draw_note(watch);
	if (watch->mode == WT_WATCH_FILTER)
		draw_filter(watch);
	else
		draw_keys(keys);
}

void wt_watch_draw(struct wt_watch *watch)
{
	if (!wt_watch_has_room())
		return;
	wt_screen_clear();
	wt_screen_cursor(0, WT_SCREEN_NO_CURSOR);
	if (watch->table_columns != wt_screen_columns())
		(void)wt_watch_fill(watch);
	if (watch->mode == WT_WATCH_PAGER)
		draw_pager(watch);
	else
		draw_body(watch);
	wt_screen_show();
}

/*
 * watch_keys.c - see watch_top.h: what keys do, and pages of text. Single-threaded; a page of a kernel blocks on
 * the run file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/expression.h"
#include "cli/kernel_name.h"
#include "cli/top_text.h"
#include "cli/watch_ledger.h"
#include "cli/watch_top.h"
#include "cli/wrap.h"

#define SAY(watch, ...) snprintf((watch)->note, sizeof((watch)->note), __VA_ARGS__)

/* ---- pages */

static void print_keys(FILE *out, const struct wt_text_terminal *terminal)
{
	static const struct {
		const char *key, *does;
	} keys[] = {
	        {"arrows, PgUp, PgDn", "choose a row; Home the first, End the last"},
	        {"Enter", "all about its kernel, as wavetap show says it"},
	        {"s", "what to sort by"},
	        {"g", "what a row is: kernel, configuration, step, stream, ..."},
	        {"/", "only rows whose name matches an expression; empty: all"},
	        {"d", "one device, or all"},
	        {"w", "which part of the run: as top has it (what was asked for, else its "
	              "steady steps), the whole run, its last seconds"},
	        {"space, f", "freeze, and go on"},
	        {"r", "read the run again now"},
	        {"i", "the run as wavetap top says it, with all losses"},
	        {"Ctrl-L", "draw all again"},
	        {"q", "quit; in a page: back"},
	};

	fputs("Keys\n", out);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char left[40];

		snprintf(left, sizeof(left), "  %s", keys[i].key);
		wt_wrap_beside(out, left, keys[i].does, 22, terminal);
	}
}

static void print_help(FILE *out, const struct wt_text_terminal *terminal)
{
	print_keys(out, terminal);
	fputc('\n', out);
	wt_phrase_line(out, terminal,
	               "The bar of a device is SMs x time. Each part begins with its letter or "
	               "its name: capitals while a kernel ran, small letters while none did. A "
	               "part too small for a column is only in the line below, which is of all "
	               "devices shown.");
	wt_watch_print_letters(out, terminal);
	fputs("\nNumbers\n", out);
	wt_phrase_line(out, terminal, "  ~ model only   * in part   . none or not knowable");
	wt_phrase_line(out, terminal,
	               "  Those of wavetap top with the same options at that moment. LOST to TIME "
	               "are times of the whole GPU: SM-time / SMs. wavetap top --columns help "
	               "explains columns.");
	wt_phrase_line(out, terminal,
	               "  A run that takes long to read is read more seldom: the title says how "
	               "often.");
}

static int print_info(FILE *out, const struct wt_text_terminal *terminal,
                      const struct wt_watch *watch)
{
	const struct wt_watch_state *state = watch->state;
	const struct wt_top_style style = {.by = state->query.by,
	                                   .group = state->query.group,
	                                   .columns = watch->options->columns,
	                                   .limit = 20,
	                                   .problem = wt_kernel_name_problem()};

	if (state->has_rows)
		return wt_top_print(out, terminal, &state->run, &state->report, &style);
	wt_phrase_line(out, terminal, "%s", state->problem);
	wt_top_print_losses(out, terminal, &state->report);
	return 0;
}

static int fill_text(struct wt_watch *watch)
{
	struct wt_text_terminal terminal;
	FILE *out = wt_lines_begin(&watch->pager.lines);
	int rc = 0;

	wt_watch_terminal(&terminal, wt_screen_columns());
	if (out && watch->page == WT_WATCH_PAGE_HELP)
		print_help(out, &terminal);
	else if (out)
		rc = print_info(out, &terminal, watch);
	return wt_lines_end(&watch->pager.lines) ? -ENOMEM : rc;
}

int wt_watch_fill_page(struct wt_watch *watch)
{
	int rc;

	if (watch->page == WT_WATCH_PAGE_KERNEL)
		rc = wt_watch_load_kernel(&watch->state->query, watch->page_kernel_id,
		                          wt_screen_columns(), &watch->pager.lines, watch->note);
	else
		rc = fill_text(watch);
	watch->page_columns = wt_screen_columns();
	if (rc && !watch->note[0])
		SAY(watch, "%s", strerror(-rc));
	return rc;
}

static void open_page(struct wt_watch *watch, enum wt_watch_page page, const char *title)
{
	watch->page = page;
	watch->pager.first = 0;
	snprintf(watch->pager_title, sizeof(watch->pager_title), "%s", title);
	if (!wt_watch_fill_page(watch))
		watch->mode = WT_WATCH_PAGER;
}

static void open_kernel(struct wt_watch *watch)
{
	char title[200], time[WT_TEXT_NUMBER_BYTES];
	const struct wt_report_row *row;

	if (!watch->table_rows)
		return;
	row = &watch->shown.rows[watch->selected];
	if (row->kernel_id < 0) {
		SAY(watch, "this row is of several kernels: g, kernel has them one by one");
		return;
	}
	watch->page_kernel_id = row->kernel_id;
	snprintf(title, sizeof(title), "wavetap show id:%" PRId64 "  run %s  as of %s",
	         row->kernel_id, watch->state->run.info.id,
	         wt_watch_clock(time, watch->state->taken_s));
	open_page(watch, WT_WATCH_PAGE_KERNEL, title);
}

/* ---- choices */

static void open_menu(struct wt_watch *watch, enum wt_watch_menu kind, const char *title)
{
	watch->menu.title = title;
	watch->menu.count = watch->menu.selected = 0;
	watch->menu_kind = kind;
	watch->mode = WT_WATCH_MENU;
}

static void open_choices(struct wt_watch *watch, enum wt_watch_menu kind, const char *title,
                         const struct wt_choice *choices, size_t now)
{
	struct wt_menu *menu = &watch->menu;

	open_menu(watch, kind, title);
	for (; choices->word && menu->count < WT_MENU_ITEMS_MAX; choices++)
		menu->items[menu->count++] = (struct wt_menu_item){choices->word, choices->help};
	menu->selected = now < menu->count ? now : 0;
}

static void open_devices(struct wt_watch *watch)
{
	struct wt_watch_device devices[WT_MENU_ITEMS_MAX - 1];
	size_t count = wt_watch_devices(watch->path, devices, WT_MENU_ITEMS_MAX - 1);
	struct wt_menu *menu = &watch->menu;

	if (watch->options->select.device) {
		SAY(watch, "--device %.40s was asked for", watch->options->select.device);
		return;
	}
	if (count < 2) {
		SAY(watch, count ? "the run has one device" : "the run has no device with kernels");
		return;
	}
	open_menu(watch, WT_WATCH_MENU_DEVICE, "device");
	menu->items[menu->count++] = (struct wt_menu_item){"all", "all devices of the run"};
	for (size_t i = 0; i < count; i++) {
		char *word = watch->menu_words[i];

		/* The number, and behind its end what it is. */
		int length = snprintf(word, 32, "%" PRId64, devices[i].device_id);

		snprintf(word + length + 1, sizeof(watch->menu_words[i]) - 32,
		         "%s, %" PRId64 " SMs", devices[i].name, devices[i].sms);
		if (!strcmp(word, watch->query.device))
			menu->selected = i + 1;
		menu->items[menu->count++] = (struct wt_menu_item){word, word + length + 1};
	}
}

/* Is what `by` ranks by in what was read? */
static bool has_order(const struct wt_report *report, enum wt_report_by by)
{
	return by == WT_REPORT_BY_GAP        ? report->has_gaps
	       : by == WT_REPORT_BY_LATENCY  ? report->has_latency && report->total.latency_launches
	       : by == WT_REPORT_BY_STRAGGLE ? report->total.has_measured
	                                     : true;
}

static void choose_order(struct wt_watch *watch, enum wt_report_by by)
{
	struct wt_watch_state *state = watch->state;

	if (watch->is_frozen && !has_order(&state->report, by)) {
		SAY(watch, "that was not read, and the view is frozen: space goes on");
		return;
	}
	watch->query.by = by;
	watch->selected = watch->first = 0;
	if (!watch->is_frozen) {
		watch->is_wanted = true;
		return;
	}
	state->query.by = by;
	wt_report_sort(&state->report, by);
	(void)wt_watch_fill(watch);
}

static void choose(struct wt_watch *watch)
{
	size_t at = watch->menu.selected;

	watch->mode = WT_WATCH_LIST;
	if (watch->menu_kind == WT_WATCH_MENU_SORT) {
		choose_order(watch, (enum wt_report_by)at);
		return;
	}
	if (watch->menu_kind == WT_WATCH_MENU_GROUP)
		watch->query.group = (enum wt_report_group)at;
	else
		snprintf(watch->query.device, sizeof(watch->query.device), "%s",
		         at ? watch->menu.items[at].word : "");
	watch->selected = watch->first = 0;
	watch->is_wanted = true;
}

/* What needs another reading. False, and a note: not while it is frozen. */
static bool may_read(struct wt_watch *watch)
{
	if (watch->is_frozen)
		SAY(watch, "the view is frozen: space goes on");
	else if (watch->is_removed)
		SAY(watch, "the run file was removed: there is nothing to read");
	return !watch->is_frozen && !watch->is_removed;
}

static void next_window(struct wt_watch *watch)
{
	static const char *const words[] = {"as wavetap top has it", "the whole run", "the last"};

	watch->query.window = (watch->query.window + 1) % WT_WATCH_WINDOWS;
	/* With --all the first two are the same. */
	if (watch->query.window == WT_WATCH_WHOLE && watch->options->select.is_all)
		watch->query.window = WT_WATCH_LAST_SECONDS;
	watch->is_wanted = true;
	SAY(watch, "%s %s", words[watch->query.window],
	    watch->query.window == WT_WATCH_LAST_SECONDS ? wt_watch_last(watch->options) + 1 : "");
}

/* ---- the filter */

static void apply_filter(struct wt_watch *watch)
{
	char why[200];
	regex_t regex;

	if (watch->filter[0] && wt_expression_compile(&regex, watch->filter, why, sizeof(why))) {
		SAY(watch, "%s", why);
		return; /* what was there before stays until it is an expression again */
	}
	if (watch->has_regex)
		regfree(&watch->regex);
	watch->has_regex = watch->filter[0] != '\0';
	if (watch->has_regex)
		watch->regex = regex;
	watch->selected = watch->first = 0;
	(void)wt_watch_fill(watch);
}

static void filter_key(struct wt_watch *watch, int key)
{
	size_t length = strlen(watch->filter);

	if (key == WT_KEY_ENTER || key == WT_KEY_ESCAPE) {
		if (key == WT_KEY_ESCAPE)
			strcpy(watch->filter, watch->former_filter);
		watch->mode = WT_WATCH_LIST;
	} else if (key == WT_KEY_BACKSPACE) {
		/* A character with all its bytes. */
		while (length && ((unsigned char)watch->filter[--length] & 0xc0) == 0x80)
			;
		watch->filter[length] = '\0';
	} else if (key >= ' ' && key < 256 && length + 1 < sizeof(watch->filter)) {
		watch->filter[length] = (char)key;
		watch->filter[length + 1] = '\0';
	} else {
		return;
	}
	apply_filter(watch);
}

static void open_filter(struct wt_watch *watch)
{
	strcpy(watch->former_filter, watch->filter);
	watch->mode = WT_WATCH_FILTER;
}

/* ---- the list */

static void move(struct wt_watch *watch, int key)
{
	size_t page = watch->list_rows > 1 ? watch->list_rows - 1 : 1;
	size_t last = watch->table_rows ? watch->table_rows - 1 : 0, at = watch->selected;
	const struct wt_report_row *row;

	switch (key) {
	case WT_KEY_UP:
		at -= at > 0;
		break;
	case WT_KEY_DOWN:
		at += at < last;
		break;
	case WT_KEY_PAGE_UP:
		at -= at < page ? at : page;
		break;
	case WT_KEY_PAGE_DOWN:
		at = at + page < last ? at + page : last;
		break;
	case WT_KEY_HOME:
		at = 0;
		break;
	default:
		at = last;
	}
	watch->selected = at;
	if (!watch->table_rows)
		return;
	row = &watch->shown.rows[at];
	watch->selected_ids[0] = row->kernel_id;
	watch->selected_ids[1] = row->config_id;
	watch->selected_ids[2] = row->group_id;
}

static void freeze(struct wt_watch *watch)
{
	watch->is_frozen = !watch->is_frozen;
	watch->next_ns = 0;
	watch->is_wanted = false;
	SAY(watch, "%s", watch->is_frozen ? "frozen: space goes on" : "");
}

static bool list_key(struct wt_watch *watch, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case 's':
		open_choices(watch, WT_WATCH_MENU_SORT, "sort by", watch->options->by_choices,
		             watch->query.by);
		break;
	case 'g':
		if (may_read(watch))
			open_choices(watch, WT_WATCH_MENU_GROUP, "a row is",
			             watch->options->group_choices, watch->query.group);
		break;
	case 'd':
		if (may_read(watch))
			open_devices(watch);
		break;
	case 'w':
		if (may_read(watch))
			next_window(watch);
		break;
	case 'r':
		watch->is_wanted = may_read(watch);
		break;
	case '/':
		open_filter(watch);
		break;
	case ' ':
	case 'f':
		freeze(watch);
		break;
	case '?':
	case 'h':
		open_page(watch, WT_WATCH_PAGE_HELP, "wavetap top --watch: help");
		break;
	case 'i':
		open_page(watch, WT_WATCH_PAGE_INFO, "wavetap top");
		break;
	case WT_KEY_ENTER:
		open_kernel(watch);
		break;
	case WT_KEY_UP:
	case WT_KEY_DOWN:
	case WT_KEY_PAGE_UP:
	case WT_KEY_PAGE_DOWN:
	case WT_KEY_HOME:
	case WT_KEY_END:
		move(watch, key);
		break;
	default:
		break;
	}
	return true;
}

bool wt_watch_key(struct wt_watch *watch, int key)
{
	watch->note[0] = '\0';
	if (key == 'L' - '@')
		wt_screen_repaint();
	else if (watch->mode == WT_WATCH_FILTER)
		filter_key(watch, key);
	else if (watch->mode == WT_WATCH_MENU) {
		enum wt_menu_end end = wt_menu_key(&watch->menu, key);

		if (end == WT_MENU_CHOSEN)
			choose(watch);
		else if (end == WT_MENU_LEFT)
			watch->mode = WT_WATCH_LIST;
	} else if (watch->mode == WT_WATCH_PAGER) {
		if (!wt_pager_key(&watch->pager, key, wt_watch_body_rows()) &&
		    (key == 'q' || key == WT_KEY_ESCAPE || key == WT_KEY_LEFT))
			watch->mode = WT_WATCH_LIST;
	} else
		return list_key(watch, key);
	return true;
}

/*
 * watch_ledger.c - see watch_top.h: where the SM-time of each device went, as bars. Single-threaded; blocks as
 * the terminal does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ledger_lines.h"
#include "cli/select.h"
#include "cli/top_cells.h"
#include "cli/watch_bar.h"
#include "cli/watch_ledger.h"
#include "cli/wrap.h"

#define PARTS (8 + WT_GAP_CAUSE_MAX)
_Static_assert(PARTS <= WT_BAR_PARTS_MAX, "a part for each line of the ledger");

/* Capitals while a kernel ran, small letters while none did. */
static const struct part_look {
	char letter;
	const char *name;
	enum wt_bar_shade shade;
	enum wt_screen_style style;
} looks[PARTS] = {
        {'A', "active", WT_BAR_FULL, WT_SCREEN_ACTIVE},
        {'U', "underfill", WT_BAR_DARK, WT_SCREEN_IDLE},
        {'W', "wave", WT_BAR_DARK, WT_SCREEN_IDLE},
        {'S', "straggle", WT_BAR_DARK, WT_SCREEN_IDLE},
        {'R', "ramp", WT_BAR_DARK, WT_SCREEN_IDLE},
        {'J', "unjudged", WT_BAR_DARK, WT_SCREEN_UNJUDGED},
        {'C', "comm", WT_BAR_DARK, WT_SCREEN_UNJUDGED},
        [7 + WT_GAP_COPY] = {'c', "copy", WT_BAR_LIGHT, WT_SCREEN_GAP_WAIT},
        [7 + WT_GAP_GRAPH] = {'g', "graph", WT_BAR_LIGHT, WT_SCREEN_GAP_QUEUE},
        [7 + WT_GAP_LOAD] = {'o', "load", WT_BAR_LIGHT, WT_SCREEN_GAP_HOST},
        [7 + WT_GAP_PROFILER] = {'p', "profiler", WT_BAR_LIGHT, WT_SCREEN_GAP_OTHER},
        [7 + WT_GAP_SYNC] = {'s', "sync", WT_BAR_LIGHT, WT_SCREEN_GAP_WAIT},
        [7 + WT_GAP_ALLOC] = {'m', "alloc", WT_BAR_LIGHT, WT_SCREEN_GAP_HOST},
        [7 + WT_GAP_HOST] = {'h', "host", WT_BAR_LIGHT, WT_SCREEN_GAP_HOST},
        [7 + WT_GAP_LAUNCH] = {'l', "launch", WT_BAR_LIGHT, WT_SCREEN_GAP_QUEUE},
        [7 + WT_GAP_DEPENDENCY] = {'d', "dependency", WT_BAR_LIGHT, WT_SCREEN_GAP_QUEUE},
        [7 + WT_GAP_TURNAROUND] = {'t', "turnaround", WT_BAR_LIGHT, WT_SCREEN_GAP_QUEUE},
        [7 + WT_GAP_UNKNOWN] = {'x', "unknown", WT_BAR_LIGHT, WT_SCREEN_GAP_OTHER},
        [7 + WT_GAP_UNDECIDED] = {'u', "undecided", WT_BAR_LIGHT, WT_SCREEN_GAP_OTHER},
        [7 + WT_GAP_STARTUP] = {'b', "startup", WT_BAR_LIGHT, WT_SCREEN_GAP_OTHER},
        [7 + WT_GAP_AFTER] = {'e', "after", WT_BAR_LIGHT, WT_SCREEN_GAP_OTHER},
        [PARTS - 1] = {'?', "residual", WT_BAR_LIGHT, WT_SCREEN_WARNING},
};
/* Where there is no ledger: a kernel ran, or none. */
static const struct part_look kernel_looks[] = {
        {'K', "in kernels", WT_BAR_DARK, WT_SCREEN_UNJUDGED},
        {'n', "no kernel", WT_BAR_LIGHT, WT_SCREEN_GAP_OTHER},
};
#define KERNEL_PARTS (sizeof(kernel_looks) / sizeof(kernel_looks[0]))

/* A device, or all of them. */
struct bar {
	const struct part_look *looks;
	size_t count;
	double value[PARTS]; /* SM-ns */
	double whole;
	int64_t kernel_sm_us, measured_sm_us;
};

static void add_device(struct bar *bar, const struct wt_ledger_device *device)
{
	const struct wt_sweep_share *share = &device->share;
	const int64_t in_kernels[] = {share->active_sm_ns, share->underfill_sm_ns,
	                              share->wave_sm_ns,   share->straggle_sm_ns,
	                              share->ramp_sm_ns,   share->unjudged_sm_ns,
	                              share->comm_sm_ns};
	int64_t parts_sm_ns[WT_EVIDENCE_MAX];

	for (size_t i = 0; i < sizeof(in_kernels) / sizeof(in_kernels[0]); i++)
		bar->value[i] += (double)in_kernels[i];
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		bar->value[7 + cause] += (double)device->gap_ns[cause] * (double)device->sms;
	bar->value[PARTS - 1] += (double)device->residual_sm_ns;
	bar->whole += (double)device->total_sm_ns;
	bar->kernel_sm_us += wt_ledger_measured(device, parts_sm_ns) / 1000;
	for (int i = WT_EVIDENCE_SAMPLED; i < WT_EVIDENCE_MAX; i++)
		bar->measured_sm_us += parts_sm_ns[i] / 1000;
}

/* What is known of a device without its ledger. */
static void add_busy(struct bar *bar, const struct wt_report *report,
                     const struct wt_report_device *device)
{
	double wall = (double)(report->end_ns - report->start_ns) * (double)device->sm_count;
	double busy = (double)device->busy_ns * (double)device->sm_count;

	bar->value[0] += busy;
	bar->value[1] += wall - busy;
	bar->whole += wall;
}

static const struct wt_ledger_device *ledger_of(const struct wt_report *report, int64_t device_id)
{
	const struct wt_ledger *ledger = report->ledger;

	for (size_t i = 0; ledger && i < ledger->device_count; i++)
		if (ledger->devices[i].device_id == device_id)
			return &ledger->devices[i];
	return NULL;
}

/* "A" and its kind: '~' of the model alone, '*' in part, or nothing. */
static const char *mark_of(const struct bar *bar, size_t part)
{
	char mark;

	if (bar->looks != looks || part >= 7)
		return "";
	mark = (char)(bar->measured_sm_us
	                      ? wt_top_mark("mixed", bar->kernel_sm_us, bar->measured_sm_us)
	                      : '~');
	return mark == '~' ? "~" : mark ? "*" : "";
}

static void draw_bar(unsigned row, unsigned column, unsigned width, const struct bar *bar)
{
	struct wt_bar_part parts[PARTS];
	unsigned columns[PARTS];
	char text[WT_BAR_TEXT_BYTES];

	for (size_t i = 0; i < bar->count; i++)
		parts[i] = (struct wt_bar_part){.value = bar->value[i],
		                                .letter = bar->looks[i].letter,
		                                .name = bar->looks[i].name,
		                                .shade = bar->looks[i].shade};
	wt_bar_layout(parts, bar->count, width, columns);
	for (size_t i = 0; i < bar->count; i++)
		if (columns[i])
			column = wt_screen_put(
			        row, column, bar->looks[i].style,
			        wt_bar_text(&parts[i], columns[i], wt_screen_is_utf8(), text));
}

static bool is_partial(const struct wt_report *report)
{
	return report->select && wt_select_is_partial(report->select);
}

/* "device 1 [bar] ran 9.1%" */
static void draw_device(unsigned row, const struct wt_report *report,
                        const struct wt_report_device *device)
{
	const struct wt_ledger_device *ledger = ledger_of(report, device->device_id);
	struct bar bar = {.looks = ledger ? looks : kernel_looks,
	                  .count = ledger ? PARTS : KERNEL_PARTS};
	char label[32], ran[WT_TEXT_NUMBER_BYTES + 32], percent[WT_TEXT_NUMBER_BYTES];
	unsigned columns = wt_screen_columns(), used, width;
	double wall = (double)(report->end_ns - report->start_ns);
	double busy = ledger ? (double)ledger->busy_ns : (double)device->busy_ns;

	if (ledger)
		add_device(&bar, ledger);
	else
		add_busy(&bar, report, device);
	snprintf(label, sizeof(label), "device %-2" PRId64 " ", device->device_id);
	snprintf(ran, sizeof(ran), columns >= 100 ? " a kernel ran %s%%" : " ran %s%%",
	         wt_text_percent(percent, busy, wall));
	used = wt_screen_put(row, 0, WT_SCREEN_PLAIN, label);
	width = columns - used - (columns >= 100 ? 20 : 11);
	if (width > WT_BAR_COLUMNS_MAX)
		width = WT_BAR_COLUMNS_MAX;
	draw_bar(row, used, width, &bar);
	wt_screen_put(row, used + width, WT_SCREEN_PLAIN, ran);
}

/* One entry, on the next row where this one has no room. */
static void draw_entry(unsigned *row, unsigned *column, enum wt_screen_style style,
                       const char *swatch, const char *text)
{
	unsigned width = (unsigned)(wt_text_width(swatch) + 1 + wt_text_width(text));

	if (*column && *column + 2 + width > wt_screen_columns()) {
		++*row;
		*column = 0;
	} else if (*column) {
		*column += 2;
	}
	*column = wt_screen_put(*row, *column, style, swatch);
	*column = wt_screen_put(*row, *column + 1, WT_SCREEN_PLAIN, text);
}

static void draw_legend(unsigned *row, const struct bar *bar)
{
	static const char *const blocks[] = {"\u2588", "\u2593", "\u2591"};
	char swatch[8], text[80], percent[WT_TEXT_NUMBER_BYTES];
	unsigned column = 0;

	for (size_t i = 0; i < bar->count; i++) {
		const struct part_look *look = &bar->looks[i];
		double value = bar->value[i];

		if (!look->name || (i && (value < 0 ? -value : value) < 0.0005 * bar->whole))
			continue;
		if (!wt_screen_is_utf8())
			snprintf(swatch, sizeof(swatch), "%c", look->letter);
		else if (look->shade == WT_BAR_FULL)
			snprintf(swatch, sizeof(swatch), "%s", blocks[look->shade]);
		else
			snprintf(swatch, sizeof(swatch), "%c%s", look->letter, blocks[look->shade]);
		wt_text_percent(percent, value, bar->whole);
		snprintf(text, sizeof(text), "%s %s%s%s", look->name, mark_of(bar, i), percent,
		         i ? "" : "%");
		draw_entry(row, &column, look->style, swatch, text);
	}
	++*row;
}

/* Why gaps have no causes. */
static void draw_reason(unsigned *row, const struct wt_report *report)
{
	struct wt_text_terminal terminal;
	struct wt_lines lines = {0};
	FILE *out = wt_lines_begin(&lines);

	wt_watch_terminal(&terminal, wt_screen_columns());
	if (out)
		wt_phrase_line(out, &terminal,
		               "no causes: all of its kernels would have to be read for them "
		               "(%s)",
		               report->select && report->select->is_applied
		                       ? "w: the whole run has sums"
		                       : "wavetap ledger does that");
	if (!wt_lines_end(&lines))
		for (size_t i = 0; i < lines.count; i++)
			wt_screen_put((*row)++, 0, WT_SCREEN_PLAIN, lines.line[i]);
	wt_lines_fini(&lines);
}

unsigned wt_watch_draw_ledger(unsigned row, const struct wt_report *report, size_t most_devices)
{
	size_t count = report->device_count, shown = count < most_devices ? count : most_devices;
	struct bar all = {.looks = report->ledger ? looks : kernel_looks,
	                  .count = report->ledger ? PARTS : KERNEL_PARTS};
	char text[80];

	if (!report->has_window || !count)
		return row;
	for (size_t i = 0; i < shown; i++)
		draw_device(row++, report, &report->devices[i]);
	if (shown < count) {
		snprintf(text, sizeof(text), "and %zu more devices (d chooses one)", count - shown);
		wt_screen_put(row++, 0, WT_SCREEN_PLAIN, text);
	}
	for (size_t i = 0; i < count; i++) {
		const struct wt_ledger_device *ledger =
		        ledger_of(report, report->devices[i].device_id);

		if (ledger)
			add_device(&all, ledger);
		else if (!report->ledger)
			add_busy(&all, report, &report->devices[i]);
	}
	draw_legend(&row, &all);
	if (is_partial(report))
		wt_screen_put(row++, 0, WT_SCREEN_PLAIN,
		              report->ledger
		                      ? "bars: all kernels of the devices, not only those selected"
		                      : "bars: the kernels selected");
	else if (!report->ledger)
		draw_reason(&row, report);
	return row;
}

void wt_watch_print_letters(FILE *out, const struct wt_text_terminal *terminal)
{
	for (size_t i = 0; i < PARTS; i++) {
		const char *meaning = i == 0   ? "SMs with blocks"
		                      : i == 1 ? "SMs that never got a block"
		                      : i == 2 ? "partial last waves"
		                      : i == 3 ? "unequal blocks (measured)"
		                      : i == 4 ? "launch and drain in a kernel (measured)"
		                      : i == 5 ? "no model fits, or kernels share SMs"
		                      : i == 6 ? "idle while only collectives ran"
		                      : i < 7 + WT_GAP_CAUSE_MAX
		                              ? wt_gap_cause_meaning((enum wt_gap_cause)(i - 7))
		                              : "what the lines above leave";

		char left[40];

		snprintf(left, sizeof(left), "  %c %s", looks[i].letter, looks[i].name);
		wt_wrap_beside(out, left, meaning, 16, terminal);
	}
}

/*
 * sms_heat.c - see sms_heat.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plot.h"
#include "cli/sms_heat.h"

#define COLUMNS_MAX 200 /* of one band of the map */
#define COVERAGE_LEAST 0.01 /* a column of which less was sampled is shown as not sampled */

/* ---- loading */

static void add_column(struct wt_sms_column *column, const struct wt_sm_piece *piece)
{
	int row = (int)(piece->active_avg * WT_SMS_HEAT_ROWS);

	wt_sm_sum_add(&column->sum, piece);
	if (row >= WT_SMS_HEAT_ROWS)
		row = WT_SMS_HEAT_ROWS - 1;
	column->ns[row < 0 ? 0 : row] += piece->sampled_ns;
}

static int on_piece(void *arg, const struct wt_sm_piece *piece)
{
	struct wt_sms_heat *heat = arg;
	double sms = fmin(fmax(piece->active_avg, 0), 1) * (double)heat->sms;
	size_t at = (size_t)((piece->start_ns - heat->start_ns) / heat->width_ns);

	wt_sm_sum_add(&heat->total, piece);
	heat->by_sms[(size_t)lround(sms)] += piece->sampled_ns;
	for (; at < heat->column_count; at++) {
		int64_t low_ns = heat->start_ns + (int64_t)at * heat->width_ns;
		struct wt_sm_piece part;

		if (low_ns >= piece->end_ns)
			break;
		part = wt_sm_piece_cut(piece, low_ns, low_ns + heat->width_ns);
		add_column(&heat->columns[at], &part);
	}
	return 0;
}

int wt_sms_heat_load(sqlite3 *db, const struct wt_ledger *ledger,
                     const struct wt_ledger_device *device, int64_t width_ns, size_t columns,
                     struct wt_sms_heat *heat)
{
	int64_t wall_ns = ledger->end_ns - ledger->start_ns;

	*heat = (struct wt_sms_heat){.device_id = device->device_id,
	                             .sms = device->sms,
	                             .start_ns = ledger->start_ns,
	                             .end_ns = ledger->end_ns,
	                             .width_ns = width_ns};
	if (width_ns <= 0)
		heat->width_ns = (wall_ns - 1) / (int64_t)columns + 1;
	if ((wall_ns - 1) / heat->width_ns >= WT_LEDGER_BUCKETS_MAX)
		return -E2BIG;
	heat->column_count = (size_t)((wall_ns - 1) / heat->width_ns + 1);
	heat->columns = calloc(heat->column_count, sizeof(*heat->columns));
	heat->by_sms = calloc((size_t)device->sms + 1, sizeof(*heat->by_sms));
	if (!heat->columns || !heat->by_sms)
		return -ENOMEM;
	return wt_sm_activity_read(db, device->device_id, heat->start_ns, heat->end_ns,
	                           WT_SM_SAMPLES_FOR_MAP, on_piece, heat);
}

void wt_sms_heat_fini(struct wt_sms_heat *heat)
{
	free(heat->columns);
	free(heat->by_sms);
	memset(heat, 0, sizeof(*heat));
}

/* ---- text */

size_t wt_sms_heat_columns(const struct wt_text_terminal *terminal)
{
	size_t width = terminal->width_columns;

	if (!width)
		return WT_SMS_HEAT_COLUMNS;
	width = width > WT_PLOT_LABEL_COLUMNS + 10 ? width - WT_PLOT_LABEL_COLUMNS : 10;
	return width < COLUMNS_MAX ? width : COLUMNS_MAX;
}

static bool is_sampled(const struct wt_sms_heat *heat, const struct wt_sms_column *column)
{
	return column->sum.sampled_ns >= COVERAGE_LEAST * (double)heat->width_ns;
}

/* Columns from `first` on, their number. */
struct band {
	const struct wt_sms_heat *heat;
	size_t first, count;
	bool is_utf8;
};

static void put_map_row(FILE *out, const struct band *band, int row)
{
	static const char *const labels[WT_SMS_HEAT_ROWS] = {
	        [WT_SMS_HEAT_ROWS - 1] = "100%", [WT_SMS_HEAT_ROWS / 2] = "50%", [0] = "0%"};
	size_t blanks = 0;

	fprintf(out, "%4s |", labels[row] ? labels[row] : "");
	for (size_t i = band->first; i < band->first + band->count; i++) {
		const struct wt_sms_column *column = &band->heat->columns[i];
		double share = is_sampled(band->heat, column)
		                       ? column->ns[row] / column->sum.sampled_ns
		                       : 0;

		/* Nothing ends in a blank. */
		if (!(share > 0)) {
			blanks++;
			continue;
		}
		for (; blanks; blanks--)
			fputc(' ', out);
		fputs(wt_plot_shade(share, band->is_utf8), out);
	}
	fputc('\n', out);
}

enum line { LINE_MOST, LINE_MEAN, LINE_LEAST, LINE_MAX };

/* A height a column; "?": not sampled. No line where nothing is known. */
static void put_line(FILE *out, const struct band *band, enum line which)
{
	static const char *const labels[LINE_MAX] = {" max  ", " avg  ", " min  "};
	char text[COLUMNS_MAX * 3 + 1];
	size_t used = 0, end = 0;
	bool has_value = false;

	for (size_t i = band->first; i < band->first + band->count; i++) {
		const struct wt_sms_column *column = &band->heat->columns[i];
		struct wt_sm_piece mean;
		double value;
		const char *cell;

		wt_sm_sum_mean(&column->sum, &mean);
		value = which == LINE_MOST   ? mean.active_max
		        : which == LINE_MEAN ? mean.active_avg
		                             : mean.active_min;
		cell = "?";
		if (isfinite(value) && is_sampled(band->heat, column)) {
			cell = wt_plot_level(value, band->is_utf8);
			has_value = true;
		}
		memcpy(text + used, cell, strlen(cell));
		used += strlen(cell);
		if (*cell != ' ')
			end = used;
	}
	text[end] = '\0';
	if (end && has_value)
		fprintf(out, "%s%s\n", labels[which], text);
}

static void print_band(FILE *out, const struct band *band, int64_t origin_ns)
{
	const struct wt_sms_heat *heat = band->heat;
	int64_t start_ns = heat->start_ns + (int64_t)band->first * heat->width_ns;
	int64_t end_ns = start_ns + (int64_t)band->count * heat->width_ns;
	char first[WT_TEXT_NUMBER_BYTES], last[WT_TEXT_NUMBER_BYTES];

	if (end_ns > heat->end_ns)
		end_ns = heat->end_ns;
	for (int row = WT_SMS_HEAT_ROWS - 1; row >= 0; row--)
		put_map_row(out, band, row);
	wt_text_ns(first, start_ns - origin_ns);
	wt_plot_axis(out, band->count, start_ns == origin_ns ? "0" : first,
	             wt_text_ns(last, end_ns - origin_ns));
	for (int which = 0; which < LINE_MAX; which++)
		put_line(out, band, (enum line)which);
}

static void print_sums(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_sms_heat *heat)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	double wall_ns = (double)(heat->end_ns - heat->start_ns);
	struct wt_phrase line;
	struct wt_sm_piece mean;

	wt_sm_sum_mean(&heat->total, &mean);
	wt_phrase_init(&line, out, terminal);
	wt_phrase_add(&line, "sampled: %s%% of SMs x time active",
	              wt_text_percent(a, mean.active_avg, 1));
	if (isfinite(mean.active_min) && isfinite(mean.active_max))
		wt_phrase_add(&line,
		              "the least active SM of each sample %s%%, the most active %s%%",
		              wt_text_percent(a, mean.active_min, 1),
		              wt_text_percent(b, mean.active_max, 1));
	if (isfinite(mean.warps_per_sm))
		wt_phrase_add(&line, "%.1f warps on an SM", mean.warps_per_sm);
	if (isfinite(mean.tensor_share))
		wt_phrase_add(&line, "tensor pipe %s%%", wt_text_percent(a, mean.tensor_share, 1));
	if (isfinite(mean.dram_bytes))
		wt_phrase_add(&line, "DRAM %.0f GB/s", mean.dram_bytes / heat->total.dram_known_ns);
	if (isfinite(mean.sm_clock_mhz))
		wt_phrase_add(&line, "SM clock %.0f MHz", mean.sm_clock_mhz);
	if (mean.sampled_ns < 0.995 * wall_ns)
		wt_phrase_add(&line, "samples cover %s%% of the window",
		              wt_text_percent(a, mean.sampled_ns, wall_ns));
	wt_phrase_end(&line);
}

void wt_sms_heat_print(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_sms_heat *heat, int64_t origin_ns)
{
	size_t fit = wt_sms_heat_columns(terminal);
	char width[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	wt_phrase_add(&line, "SMs active over time, sampled");
	wt_phrase_add(&line, "a column: %s", wt_text_ns(width, heat->width_ns));
	wt_phrase_add(&line, "a row: that share of the SMs active");
	wt_phrase_add(&line, "a shade: for up to 10, 25, 50, 100%% of the column's time");
	wt_phrase_end(&line);
	for (size_t first = 0; first < heat->column_count; first += fit) {
		size_t rest = heat->column_count - first;
		const struct band band = {heat, first, rest < fit ? rest : fit, terminal->is_utf8};

		print_band(out, &band, origin_ns);
	}
	wt_phrase_words(&line, 2,
	                "strips: the most active SM, the mean of all and the least active one, %s; "
	                "? not known",
	                terminal->is_utf8 ? "by height" : "in tenths");
	wt_phrase_end(&line);
	print_sums(out, terminal, heat);
}

/* ---- JSON */

static void put_double(struct wt_json *json, const char *key, double value)
{
	wt_json_key(json, key);
	wt_json_double(json, value);
}

static void put_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

static void put_means(struct wt_json *json, const struct wt_sm_sum *sum)
{
	struct wt_sm_piece mean;

	wt_sm_sum_mean(sum, &mean);
	put_int(json, "sampled_ns", (int64_t)mean.sampled_ns);
	put_double(json, "active_avg", mean.active_avg);
	put_double(json, "active_min", mean.active_min);
	put_double(json, "active_max", mean.active_max);
	put_double(json, "warps_per_sm", mean.warps_per_sm);
	put_double(json, "tensor_share", mean.tensor_share);
	put_double(json, "dram_bytes_per_ns", mean.dram_bytes / sum->dram_known_ns);
	put_double(json, "sm_clock_mhz", mean.sm_clock_mhz);
}

void wt_sms_heat_put_json(struct wt_json *json, const struct wt_sms_heat *heat)
{
	wt_json_key(json, "samples");
	if (heat->total.sampled_ns <= 0) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	put_means(json, &heat->total);
	put_int(json, "bucket_ns", heat->width_ns);
	wt_json_key(json, "buckets");
	wt_json_array_begin(json);
	for (size_t i = 0; i < heat->column_count; i++) {
		const struct wt_sms_column *column = &heat->columns[i];
		int64_t start_ns = heat->start_ns + (int64_t)i * heat->width_ns;

		wt_json_object_begin(json);
		put_int(json, "start_ns", start_ns);
		put_int(json, "end_ns",
		        start_ns + heat->width_ns < heat->end_ns ? start_ns + heat->width_ns
		                                                 : heat->end_ns);
		put_means(json, &column->sum);
		wt_json_key(json, "by_share_ns");
		wt_json_array_begin(json);
		for (int row = 0; row < WT_SMS_HEAT_ROWS; row++)
			wt_json_int(json, (int64_t)column->ns[row]);
		wt_json_array_end(json);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
	wt_json_object_end(json);
}

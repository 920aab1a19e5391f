/*
 * compare_json.c - a comparison for programs, and as Markdown for a comment: see compare_show.h.
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/compare_show.h"
#include "cli/table.h"

#define MARKDOWN_ROWS 10

/* ---- JSON */

static void put_text(struct wt_json *json, const char *key, const char *text)
{
	wt_json_key(json, key);
	wt_json_string(json, text && text[0] ? text : NULL);
}

static void put_int(struct wt_json *json, const char *key, int64_t value, bool is_known)
{
	wt_json_key(json, key);
	if (is_known)
		wt_json_int(json, value);
	else
		wt_json_null(json);
}

/* null where it is not a number. */
static void put_double(struct wt_json *json, const char *key, double value)
{
	wt_json_key(json, key);
	wt_json_double(json, value);
}

static void put_whole(struct wt_json *json, const char *key, double value)
{
	put_int(json, key, isfinite(value) && fabs(value) < 9e18 ? (int64_t)llround(value) : 0,
	        isfinite(value) && fabs(value) < 9e18);
}

static void put_run(struct wt_json *json, const struct wt_compare_run *run)
{
	const struct wt_compare_facts *facts = &run->facts;

	wt_json_object_begin(json);
	put_text(json, "id", run->id);
	put_text(json, "name", run->name);
	put_text(json, "file", run->path);
	put_text(json, "gpu", facts->gpu);
	put_int(json, "sms", facts->sms, true);
	put_int(json, "driver_version", facts->driver, facts->driver > 0);
	put_double(json, "sm_clock_mhz", facts->clock_mhz > 0 ? facts->clock_mhz : NAN);
	put_text(json, "throttled", facts->throttle);
	put_text(json, "ranks", facts->ranks);
	put_int(json, "processes", facts->processes, true);
	put_double(json, "measured_share", facts->measured_share);
	put_int(json, "kernels_lost", facts->kernels_lost, true);
	put_int(json, "steps", (int64_t)run->steps, run->has_steps);
	put_text(json, "steps_reason", run->has_steps ? NULL : run->steps_reason);
	put_int(json, "kernels", run->kernels_in_steps, true);
	put_int(json, "graph_kernels", run->graph_nodes_in_steps, true);
	put_int(json, "sync_calls", facts->syncs, true);
	put_int(json, "copies", facts->copies, true);
	put_whole(json, "startup_ns", facts->startup_ns >= 0 ? facts->startup_ns : NAN);
	wt_json_object_end(json);
}

static void put_side(struct wt_json *json, const char *key, const struct wt_compare_side *side)
{
	wt_json_key(json, key);
	wt_json_array_begin(json);
	for (size_t i = 0; i < side->count; i++)
		put_run(json, &side->runs[i]);
	wt_json_array_end(json);
}

static void put_config(struct wt_json *json, const char *key,
                       const struct wt_compare_config *config)
{
	wt_json_key(json, key);
	if (!config) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	wt_json_key(json, "grid");
	wt_json_array_begin(json);
	for (int i = 0; i < 3; i++)
		wt_json_int(json, config->grid[i]);
	wt_json_array_end(json);
	put_int(json, "threads", config->threads, true);
	put_int(json, "regs_per_thread", config->regs, true);
	put_int(json, "smem_bytes", config->smem_bytes, true);
	put_int(json, "blocks_per_sm", config->blocks_per_sm, config->blocks_per_sm >= 0);
	put_double(json, "occupancy", config->occupancy >= 0 ? config->occupancy : NAN);
	put_text(json, "limiter", config->limiter);
	put_double(json, "waves", config->waves >= 0 ? config->waves : NAN);
	wt_json_object_end(json);
}

static const char *how_word(enum wt_match_how how)
{
	return how == WT_MATCH_NAME ? "name" : how == WT_MATCH_RENAMED ? "renamed" : "alike";
}

static void put_match(struct wt_json *json, const struct wt_compare_row *row)
{
	wt_json_key(json, "match");
	if (!row->before || !row->after) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	put_text(json, "how", how_word(row->match.how));
	put_double(json, "score", row->match.score);
	put_double(json, "name", row->match.name_score);
	put_double(json, "geometry", row->match.geometry_score);
	put_double(json, "order", row->match.order_score);
	wt_json_object_end(json);
}

static void put_kernel(struct wt_json *json, const struct wt_compare_row *row)
{
	bool is_config = row->kind == WT_COMPARE_OF_CONFIG;

	put_text(json, "kernel_before", row->before ? row->before->demangled : NULL);
	put_text(json, "kernel_after", row->after ? row->after->demangled : NULL);
	put_match(json, row);
	put_double(json, "launches_before", row->launches_before);
	put_double(json, "launches_after", row->launches_after);
	put_config(json, "config_before",
	           is_config     ? row->config_before
	           : row->before ? row->before->most
	                         : NULL);
	put_config(json, "config_after",
	           is_config    ? row->config_after
	           : row->after ? row->after->most
	                        : NULL);
	put_text(json, "kind_change", row->kind_change);
}

/* The numbers of a row; `unit` "ns" or "sm_ns". */
static void put_change(struct wt_json *json, const struct wt_compare_row *row, const char *unit)
{
	const struct wt_contrast *contrast = &row->contrast;
	const struct {
		const char *name;
		double value;
	} values[] = {
	        {"before", contrast->mean_before},
	        {"after", contrast->mean_after},
	        {"change", contrast->change},
	        {"low", contrast->has_interval ? contrast->low : NAN},
	        {"high", contrast->has_interval ? contrast->high : NAN},
	        {"margin", contrast->has_interval ? contrast->used_margin : NAN},
	        {"error", contrast->has_interval ? contrast->error : NAN},
	};
	char key[32];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(key, sizeof(key), "%s_%s", values[i].name, unit);
		put_double(json, key, values[i].value);
	}
	put_double(json, "change", wt_compare_change(row));
	put_double(json, "freedom", contrast->has_interval ? contrast->freedom : NAN);
	put_double(json, "chance", contrast->has_interval ? contrast->chance : NAN);
	put_double(json, "level", contrast->has_interval ? contrast->level : NAN);
	put_text(json, "verdict", wt_compare_verdict(row));
	put_text(json, "reason", contrast->has_interval ? NULL : contrast->why);
}

static void put_row(struct wt_json *json, const struct wt_compare_row *row)
{
	bool is_sm = row->kind == WT_COMPARE_IDLE || row->kind == WT_COMPARE_OF_LINE;
	bool is_kernel = row->kind == WT_COMPARE_OF_KERNEL || row->kind == WT_COMPARE_OF_CONFIG;
	char what[48];

	wt_json_object_begin(json);
	if (is_kernel)
		put_kernel(json, row);
	else
		put_text(json, "what", wt_compare_row_what(row, what));
	put_change(json, row, is_sm ? "sm_ns" : "ns");
	wt_json_object_end(json);
}

static void put_one(struct wt_json *json, const char *key, const struct wt_compare_row *row)
{
	wt_json_key(json, key);
	if (row)
		put_row(json, row);
	else
		wt_json_null(json);
}

static void put_lines(struct wt_json *json, const char *key, const struct wt_compare *compare,
                      enum wt_compare_kind kind)
{
	wt_json_key(json, key);
	wt_json_array_begin(json);
	for (size_t i = 0; i < compare->row_count; i++)
		if (compare->rows[i].kind == kind)
			put_row(json, &compare->rows[i]);
	wt_json_array_end(json);
}

static void put_comparability(struct wt_json *json, const struct wt_compare *compare)
{
	wt_json_key(json, "comparability");
	wt_json_object_begin(json);
	put_double(json, "score", compare->score);
	put_text(json, "blocked", compare->blocked);
	wt_json_key(json, "reasons");
	wt_json_array_begin(json);
	for (size_t i = 0; i < compare->reason_count; i++) {
		wt_json_object_begin(json);
		put_double(json, "factor", compare->reasons[i].factor);
		put_text(json, "text", compare->reasons[i].text);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
	put_double(json, "matched_share", compare->matched_share);
	put_double(json, "clock_shift", compare->clock_shift);
	wt_json_object_end(json);
}

static void put_noise(struct wt_json *json, const struct wt_compare *compare)
{
	char text[400];

	wt_json_key(json, "noise");
	wt_json_object_begin(json);
	put_double(json, "alpha",
	           compare->query.alpha > 0 ? compare->query.alpha : WT_CONTRAST_ALPHA);
	put_int(json, "judged", (int64_t)compare->judged_count, true);
	put_text(json, "between_runs", wt_compare_noise_text(compare, text));
	wt_json_object_end(json);
}

static void put_gate(struct wt_json *json, const struct wt_compare_gate *gate)
{
	wt_json_key(json, "gate");
	if (!gate) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	put_text(json, "on", gate->on);
	put_double(json, "allowed", gate->allowed);
	put_text(json, "verdict",
	         gate->code == WT_EXIT_FINE    ? "no worse"
	         : gate->code == WT_EXIT_WORSE ? "worse"
	                                       : "cannot judge");
	put_double(json, "change", gate->change);
	put_double(json, "low", gate->low);
	put_double(json, "high", gate->high);
	put_text(json, "reason", gate->why);
	wt_json_object_end(json);
}

int wt_compare_put_json(struct wt_json *json, const struct wt_compare *compare,
                        const struct wt_compare_style *style, const struct wt_compare_gate *gate)
{
	struct wt_compare_style kernels = *style;
	const struct wt_compare_row **rows;
	size_t count = 0;

	if (kernels.by == WT_COMPARE_BY_LEDGER)
		kernels.by = WT_COMPARE_BY_KERNEL;
	rows = wt_compare_order(compare, &kernels, &count);
	if (!rows)
		return -ENOMEM;
	wt_json_object_begin(json);
	put_side(json, "before", &compare->before);
	put_side(json, "after", &compare->after);
	put_comparability(json, compare);
	put_noise(json, compare);
	wt_json_key(json, "is_per_step");
	wt_json_bool(json, compare->is_per_step);
	put_one(json, "step_time", wt_compare_find(compare, WT_COMPARE_STEP));
	put_one(json, "idle", wt_compare_find(compare, WT_COMPARE_IDLE));
	put_lines(json, "lines", compare, WT_COMPARE_OF_LINE);
	put_lines(json, "ranks", compare, WT_COMPARE_OF_RANK);
	wt_json_key(json, "kinds");
	wt_json_array_begin(json);
	for (size_t i = 0; i < compare->kind_count; i++)
		wt_json_string(json, compare->kinds[i]);
	wt_json_array_end(json);
	wt_json_key(json, "rows");
	wt_json_array_begin(json);
	for (size_t i = 0; i < count && i < style->limit; i++)
		put_row(json, rows[i]);
	wt_json_array_end(json);
	put_gate(json, gate);
	wt_json_object_end(json);
	free(rows);
	return 0;
}

/* ---- CSV */

static const struct wt_table_column csv_columns[] = {
        {"what", "", WT_TABLE_LEFT, 0, 0, 0},
        {"unit", "", WT_TABLE_LEFT, 0, 0, 0},
        {"kernel_before", "", WT_TABLE_LEFT, 0, 0, 0},
        {"kernel_after", "", WT_TABLE_LEFT, 0, 0, 0},
        {"match_score", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"launches_before", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"launches_after", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"before", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"after", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"change", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"low", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"high", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"chance", "", WT_TABLE_RIGHT, 0, 0, 0},
        {"verdict", "", WT_TABLE_LEFT, 0, 0, 0},
        {"reason", "", WT_TABLE_LEFT, 0, 0, 0},
        {"kind_change", "", WT_TABLE_LEFT, 0, 0, 0},
};

static void add_csv(struct wt_table *table, const struct wt_compare_row *row)
{
	const struct wt_contrast *contrast = &row->contrast;
	bool is_kernel = row->kind == WT_COMPARE_OF_KERNEL || row->kind == WT_COMPARE_OF_CONFIG;
	bool is_sm = row->kind == WT_COMPARE_IDLE || row->kind == WT_COMPARE_OF_LINE;
	char what[48];

	wt_table_row(table, 0);
	wt_table_add_string(table, is_kernel ? "kernel" : wt_compare_row_what(row, what), NULL);
	wt_table_add_string(table, is_sm ? "sm_ns" : "ns", NULL);
	wt_table_add_string(table, row->before ? row->before->demangled : NULL, NULL);
	wt_table_add_string(table, row->after ? row->after->demangled : NULL, NULL);
	wt_table_add_double(table, row->before && row->after ? row->match.score : NAN, 3, NULL);
	wt_table_add_double(table, is_kernel ? row->launches_before : NAN, 3, NULL);
	wt_table_add_double(table, is_kernel ? row->launches_after : NAN, 3, NULL);
	wt_table_add_double(table, contrast->mean_before, 1, NULL);
	wt_table_add_double(table, contrast->mean_after, 1, NULL);
	wt_table_add_double(table, contrast->change, 1, NULL);
	wt_table_add_double(table, contrast->has_interval ? contrast->low : NAN, 1, NULL);
	wt_table_add_double(table, contrast->has_interval ? contrast->high : NAN, 1, NULL);
	wt_table_add_double(table, contrast->has_interval ? contrast->chance : NAN, 9, NULL);
	wt_table_add_string(table, wt_compare_verdict(row), NULL);
	wt_table_add_string(table, contrast->has_interval ? NULL : contrast->why, NULL);
	wt_table_add_string(table, row->kind_change, NULL);
}

int wt_compare_print_csv(const struct wt_compare *compare, const struct wt_compare_style *style)
{
	struct wt_table *table =
	        wt_table_create(csv_columns, sizeof(csv_columns) / sizeof(csv_columns[0]));
	const struct wt_compare_row **rows;
	size_t count = 0;
	int rc = -ENOMEM;

	rows = wt_compare_order(compare, style, &count);
	if (table && rows) {
		for (size_t i = 0; i < count && i < style->limit; i++)
			add_csv(table, rows[i]);
		rc = wt_table_print_csv(table, stdout);
	}
	wt_table_destroy(table);
	free(rows);
	return rc;
}

/* ---- Markdown */

/* In a cell: no line ends, and what Markdown reads as its own gets a backslash. */
static void put_cell(const char *text)
{
	char *safe = wt_text_escape(text, true);

	for (const char *p = safe ? safe : ""; *p; p++) {
		if (strchr("|\\`*_<>[]#", *p))
			putchar('\\');
		putchar(*p);
	}
	free(safe);
}

static void put_whole_row(const struct wt_compare *compare, enum wt_compare_kind kind,
                          const char *title)
{
	const struct wt_compare_row *row = wt_compare_find(compare, kind);
	double per = kind == WT_COMPARE_IDLE ? compare->sms : 1;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], change[WT_COMPARE_PERCENT_BYTES];

	if (!row)
		return;
	printf("| %s | %s | %s | %s | ", title,
	       wt_text_ns(a, (int64_t)(row->contrast.mean_before / per)),
	       wt_text_ns(b, (int64_t)(row->contrast.mean_after / per)),
	       wt_compare_percent(wt_compare_change(row), change));
	put_cell(wt_compare_verdict(row) ? wt_compare_verdict(row) : row->contrast.why);
	puts(" |");
}

static void put_kernel_rows(const struct wt_compare_row *const *rows, size_t count,
                            const struct wt_compare_names *names)
{
	size_t shown = 0;

	for (size_t i = 0; i < count && shown < MARKDOWN_ROWS; i++) {
		const struct wt_compare_row *row = rows[i];
		char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
		char change[WT_COMPARE_PERCENT_BYTES];

		if (row->contrast.verdict != WT_CONTRAST_MORE &&
		    row->contrast.verdict != WT_CONTRAST_LESS && !row->kind_change &&
		    !wt_compare_is_new(row) && !wt_compare_is_gone(row))
			continue;
		shown++;
		fputs("| ", stdout);
		put_cell(row->after ? names->after[i] : names->before[i]);
		printf(" | %s | %s | %s | ", wt_text_ns(a, (int64_t)row->contrast.mean_before),
		       wt_text_ns(b, (int64_t)row->contrast.mean_after),
		       wt_compare_percent(wt_compare_change(row), change));
		put_cell(wt_compare_verdict(row) ? wt_compare_verdict(row) : row->contrast.why);
		if (row->kind_change) {
			fputs("; ", stdout);
			put_cell(row->kind_change);
		}
		puts(" |");
	}
}

int wt_compare_print_markdown(const struct wt_compare *compare,
                              const struct wt_compare_style *style,
                              const struct wt_compare_gate *gate)
{
	struct wt_compare_names names = {0};
	size_t count = 0;
	const struct wt_compare_row **rows = wt_compare_order(compare, style, &count);
	int rc = rows ? wt_compare_name_rows(rows, count, style->has_full_names, &names) : -ENOMEM;
	char text[400];

	if (!rc) {
		char *line = gate ? wt_compare_gate_line(gate) : NULL;

		fputs("### wavetap: run ", stdout);
		put_cell(compare->after.runs[0].id);
		fputs(" against ", stdout);
		put_cell(compare->before.runs[0].id);
		fputs("\n\n", stdout);
		if (line) {
			printf("**");
			put_cell(line);
			printf("**\n\n");
		}
		free(line);
		puts("| | before | after | change | |\n|---|---:|---:|---:|---|");
		put_whole_row(compare, WT_COMPARE_STEP, "step time");
		put_whole_row(compare, WT_COMPARE_IDLE, "idle, of the whole GPU a step");
		if (style->by != WT_COMPARE_BY_LEDGER)
			put_kernel_rows(rows, count, &names);
		putchar('\n');
		for (size_t i = 0; i < compare->kind_count; i++) {
			fputs("- ", stdout);
			put_cell(compare->kinds[i]);
			putchar('\n');
		}
		printf("- comparable %.2f of 1", compare->score);
		for (size_t i = 0; i < compare->reason_count; i++) {
			fputs(i ? "; " : ": ", stdout);
			put_cell(compare->reasons[i].text);
		}
		fputs("\n- ", stdout);
		put_cell(wt_compare_noise_text(compare, text));
		putchar('\n');
	}
	wt_compare_names_fini(&names);
	free(rows);
	return rc;
}

/*
 * compare_kinds.c - what changed in kind, which no noise explains: see compare.h. Geometry and occupancy of
 * kernels, graphs, launches and waits a step, precision by names, kernels new and gone, start-up.
 * Single-threaded; never blocks.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"
#include "cli/text.h"

#define OCCUPANCY_APART 0.005
#define LAUNCHES_APART 0.01 /* of launches a step */
#define IN_GRAPH_APART 0.05
#define PRECISION_APART 0.05 /* of kernels' time */
#define STARTUP_APART 0.2
#define STARTUP_LEAST_NS 5e8
#define CALLS_APART 0.5 /* a step: ends of the window count for some */

/* ---- of a kernel */

struct text {
	char *at;
	size_t bytes;
	FILE *out;
};

/* Before each part but the first one. */
static void separate(struct text *text)
{
	fflush(text->out);
	if (text->bytes)
		fputs(", ", text->out);
}

static void put_number(struct text *text, const char *what, int64_t before, int64_t after)
{
	if (before == after)
		return;
	separate(text);
	fprintf(text->out, "%s %" PRId64 " to %" PRId64, what, before, after);
}

static void put_geometry(struct text *text, const struct wt_compare_config *a,
                         const struct wt_compare_config *b)
{
	if (memcmp(a->grid, b->grid, sizeof(a->grid)) != 0) {
		separate(text);
		fprintf(text->out,
		        "grid %" PRId64 "x%" PRId64 "x%" PRId64 " to %" PRId64 "x%" PRId64
		        "x%" PRId64,
		        a->grid[0], a->grid[1], a->grid[2], b->grid[0], b->grid[1], b->grid[2]);
	}
	put_number(text, "threads a block", a->threads, b->threads);
	put_number(text, "registers", a->regs, b->regs);
	put_number(text, "shared memory bytes", a->smem_bytes, b->smem_bytes);
	put_number(text, "cluster blocks", a->cluster, b->cluster);
	if (a->blocks_per_sm >= 0 && b->blocks_per_sm >= 0)
		put_number(text, "blocks an SM", a->blocks_per_sm, b->blocks_per_sm);
}

static void put_occupancy(struct text *text, const struct wt_compare_config *a,
                          const struct wt_compare_config *b)
{
	bool is_known = a->occupancy >= 0 && b->occupancy >= 0;
	bool is_limit = a->limiter[0] && b->limiter[0] && strcmp(a->limiter, b->limiter) != 0;

	if (is_known && fabs(a->occupancy - b->occupancy) > OCCUPANCY_APART) {
		separate(text);
		fprintf(text->out, "occupancy %.0f to %.0f %%", 100 * a->occupancy,
		        100 * b->occupancy);
	}
	if (is_limit) {
		separate(text);
		fprintf(text->out, "limited by %s, was %s", b->limiter, a->limiter);
	}
}

/* Told where the number of waves, counted in whole ones, is another. */
static void put_waves(struct text *text, const struct wt_compare_config *a,
                      const struct wt_compare_config *b)
{
	int64_t last;

	if (a->waves < 0 || b->waves < 0 || ceil(a->waves) == ceil(b->waves))
		return;
	separate(text);
	fprintf(text->out, "waves %.4g to %.4g", a->waves, b->waves);
	last = b->resident_blocks > 0 ? b->blocks % b->resident_blocks : 0;
	if (last && b->blocks > b->resident_blocks)
		fprintf(text->out, " (%" PRId64 " block%s in the last)", last,
		        last == 1 ? "" : "s");
}

static void put_launches(struct text *text, const struct wt_compare_row *row, bool is_per_step)
{
	double before = row->launches_before, after = row->launches_after;

	if (is_per_step && fabs(after - before) > LAUNCHES_APART * before) {
		separate(text);
		fprintf(text->out, "launches a step %.4g to %.4g", before, after);
	}
	if (fabs(row->before->in_graph - row->after->in_graph) > IN_GRAPH_APART) {
		separate(text);
		fprintf(text->out, "in graphs %.0f to %.0f %%", 100 * row->before->in_graph,
		        100 * row->after->in_graph);
	}
}

static int find_kind(const struct wt_compare *compare, struct wt_compare_row *row)
{
	const struct wt_compare_config *a, *b;
	struct text text = {0};

	if (!row->before || !row->after)
		return 0;
	a = row->kind == WT_COMPARE_OF_CONFIG ? row->config_before : row->before->most;
	b = row->kind == WT_COMPARE_OF_CONFIG ? row->config_after : row->after->most;
	if (!a || !b)
		return 0;
	text.out = open_memstream(&text.at, &text.bytes);
	if (!text.out)
		return -ENOMEM;
	put_geometry(&text, a, b);
	put_occupancy(&text, a, b);
	put_waves(&text, a, b);
	put_launches(&text, row, compare->is_per_step);
	if (fclose(text.out))
		return -ENOMEM;
	if (text.bytes)
		row->kind_change = text.at;
	else
		free(text.at);
	return 0;
}

/* ---- of the whole */

#define ADD(...)                                                                                   \
	do {                                                                                       \
		if (wt_compare_add_text(&compare->kinds, &compare->kind_count, __VA_ARGS__))       \
			return -ENOMEM;                                                            \
	} while (0)

/* Mean over the runs of a side. */
static double mean_of(const struct wt_compare_side *side,
                      double (*value)(const struct wt_compare_run *))
{
	double sum = 0;

	for (size_t i = 0; i < side->count; i++)
		sum += value(&side->runs[i]);
	return sum / (double)side->count;
}

static double steps_of(const struct wt_compare_run *run)
{
	return run->has_steps ? (double)run->steps : 1;
}

static double kernels_a_step(const struct wt_compare_run *run)
{
	return (double)run->kernels_in_steps / steps_of(run);
}

static double graph_share(const struct wt_compare_run *run)
{
	return run->kernels_in_steps
	               ? (double)run->graph_nodes_in_steps / (double)run->kernels_in_steps
	               : 0;
}

static double syncs_a_step(const struct wt_compare_run *run)
{
	return (double)run->facts.syncs / steps_of(run);
}

static double copies_a_step(const struct wt_compare_run *run)
{
	return (double)run->facts.copies / steps_of(run);
}

static double startup(const struct wt_compare_run *run)
{
	return run->facts.startup_ns;
}

/* The call that there are most more, or fewer, of. */
static const char *sync_call(const struct wt_compare *compare)
{
	double most = 0;
	unsigned which = 0;

	for (unsigned api = 1; api < WT_API_MAX; api++) {
		double change = 0;

		for (size_t i = 0; i < compare->after.count; i++)
			change += (double)compare->after.runs[i].facts.sync_of[api] /
			          steps_of(&compare->after.runs[i]) / (double)compare->after.count;
		for (size_t i = 0; i < compare->before.count; i++)
			change -= (double)compare->before.runs[i].facts.sync_of[api] /
			          steps_of(&compare->before.runs[i]) /
			          (double)compare->before.count;
		if (fabs(change) > most) {
			most = fabs(change);
			which = api;
		}
	}
	return which && wt_api_name(which) ? wt_api_name(which) : "synchronising calls";
}

static int find_counts(struct wt_compare *compare)
{
	double before = mean_of(&compare->before, kernels_a_step);
	double after = mean_of(&compare->after, kernels_a_step);

	if (fabs(after - before) > LAUNCHES_APART * before)
		ADD("kernels a step %.5g to %.5g", before, after);
	before = mean_of(&compare->before, syncs_a_step);
	after = mean_of(&compare->after, syncs_a_step);
	if (fabs(after - before) > CALLS_APART)
		ADD("synchronising calls a step %.3g to %.3g: %s", before, after,
		    sync_call(compare));
	before = mean_of(&compare->before, copies_a_step);
	after = mean_of(&compare->after, copies_a_step);
	if (fabs(after - before) > CALLS_APART)
		ADD("copies a step %.3g to %.3g", before, after);
	return 0;
}

static int find_graphs(struct wt_compare *compare)
{
	double before = mean_of(&compare->before, graph_share);
	double after = mean_of(&compare->after, graph_share);

	if (fabs(after - before) > IN_GRAPH_APART)
		ADD("kernels in graphs %.0f to %.0f %%", 100 * before, 100 * after);
	return 0;
}

static int find_startup(struct wt_compare *compare)
{
	double before = mean_of(&compare->before, startup),
	       after = mean_of(&compare->after, startup);
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < compare->before.count; i++)
		if (compare->before.runs[i].facts.startup_ns < 0)
			return 0;
	for (size_t i = 0; i < compare->after.count; i++)
		if (compare->after.runs[i].facts.startup_ns < 0)
			return 0;
	if (fabs(after - before) > STARTUP_APART * fmax(before, after) &&
	    fabs(after - before) > STARTUP_LEAST_NS)
		ADD("start-up before the steady steps %s to %s (once a run: no noise is known of "
		    "it)",
		    wt_text_ns(a, (int64_t)before), wt_text_ns(b, (int64_t)after));
	return 0;
}

/* ---- precision */

static const char *const precisions[] = {"fp8", "int8", "bf16", "fp16", "tf32", "fp32", "fp64"};
#define PRECISIONS (sizeof(precisions) / sizeof(precisions[0]))

/* Shares of the kernels' time. */
static void sum_precisions(const struct wt_compare_side *side, double shares[PRECISIONS])
{
	double all = 0;

	for (size_t i = 0; i < side->unit_count; i++) {
		const char *precision = wt_compare_precision(side->units[i].demangled);

		all += side->units[i].time_ns;
		for (size_t k = 0; precision && k < PRECISIONS; k++)
			if (!strcmp(precision, precisions[k]))
				shares[k] += side->units[i].time_ns;
	}
	for (size_t k = 0; all > 0 && k < PRECISIONS; k++)
		shares[k] /= all;
}

static int find_precision(struct wt_compare *compare)
{
	double before[PRECISIONS] = {0}, after[PRECISIONS] = {0};
	int more = -1, less = -1;

	sum_precisions(&compare->before, before);
	sum_precisions(&compare->after, after);
	for (int k = 0; k < (int)PRECISIONS; k++) {
		double change = after[k] - before[k];

		if (change > PRECISION_APART && (more < 0 || change > after[more] - before[more]))
			more = k;
		if (change < -PRECISION_APART && (less < 0 || change < after[less] - before[less]))
			less = k;
	}
	if (more >= 0 && less >= 0)
		ADD("precision, by names: kernels of %s %.0f to %.0f %% of the kernels' time, of "
		    "%s %.0f"
		    " to %.0f %%",
		    precisions[less], 100 * before[less], 100 * after[less], precisions[more],
		    100 * before[more], 100 * after[more]);
	return 0;
}

static const char *what_is(const struct wt_compare *compare, size_t count)
{
	if (compare->query.by_config)
		return count == 1 ? "configuration is" : "configurations are";
	return count == 1 ? "kernel is" : "kernels are";
}

static int find_new(struct wt_compare *compare)
{
	size_t fresh = 0, gone = 0;
	double fresh_ns = 0, gone_ns = 0;
	char a[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < compare->row_count; i++) {
		const struct wt_compare_row *row = &compare->rows[i];

		if (wt_compare_is_new(row)) {
			fresh++;
			fresh_ns += row->weight;
		} else if (wt_compare_is_gone(row)) {
			gone++;
			gone_ns += row->weight;
		}
	}
	if (fresh)
		ADD("%zu %s new, %s%s", fresh, what_is(compare, fresh),
		    wt_text_ns(a, (int64_t)fresh_ns), compare->is_per_step ? " a step" : "");
	if (gone)
		ADD("%zu %s gone, %s%s", gone, what_is(compare, gone),
		    wt_text_ns(a, (int64_t)gone_ns), compare->is_per_step ? " a step" : "");
	return 0;
}

int wt_compare_find_kinds(struct wt_compare *compare)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < compare->row_count; i++)
		rc = find_kind(compare, &compare->rows[i]);
	if (!rc && compare->is_per_step)
		rc = find_counts(compare);
	if (!rc)
		rc = find_graphs(compare);
	if (!rc)
		rc = find_new(compare);
	if (!rc)
		rc = find_precision(compare);
	return rc ? rc : find_startup(compare);
}

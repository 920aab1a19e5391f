/*
 * part_gaps.c - why no kernel ran: by cause, and before which kernels, as `wavetap gaps` has them.
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/html/report.h"
#include "cli/kernel_name.h"

/* All gaps: of each kernel, and after the last. */
struct sums {
	int64_t gaps, gap_sm_ns, cause_sm_ns[WT_GAP_CAUSE_MAX];
	double total_sm_ns, sms; /* sms: of a device, on the mean */
};

static int64_t gap_sm_ns(const struct wt_ledger_kernel *kernel)
{
	int64_t sum = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		sum += kernel->gap_sm_ns[cause];
	return sum;
}

static void sum_up(const struct wt_ledger *ledger, struct sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (size_t i = 0; i < ledger->device_count; i++) {
		sums->total_sm_ns += (double)ledger->devices[i].total_sm_ns;
		sums->sms += (double)ledger->devices[i].sms / (double)ledger->device_count;
	}
	for (size_t i = 0; i <= ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel =
		        i < ledger->kernel_count ? &ledger->kernels[i] : &ledger->after_last;

		sums->gaps += kernel->gaps;
		sums->gap_sm_ns += gap_sm_ns(kernel);
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			sums->cause_sm_ns[cause] += kernel->gap_sm_ns[cause];
	}
}

static const char *gpu_time(char text[WT_TEXT_NUMBER_BYTES], int64_t sm_ns, const struct sums *sums)
{
	return wt_text_ns(text, sums->sms > 0 ? (int64_t)((double)sm_ns / sums->sms) : 0);
}

/* ---- by cause */

struct order {
	enum wt_gap_cause cause;
	int64_t sm_ns;
};

static int by_time(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->sm_ns != b->sm_ns)
		return a->sm_ns > b->sm_ns ? -1 : 1;
	return (int)a->cause - (int)b->cause;
}

static size_t order_causes(const struct sums *sums, struct order order[WT_GAP_CAUSE_MAX])
{
	size_t count = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		if (sums->cause_sm_ns[cause])
			order[count++] =
			        (struct order){(enum wt_gap_cause)cause, sums->cause_sm_ns[cause]};
	qsort(order, count, sizeof(order[0]), by_time);
	return count;
}

static void put_bar(FILE *out, const struct sums *sums, const struct order *order, size_t count)
{
	struct wt_html_part parts[WT_GAP_CAUSE_MAX];
	char classes[WT_GAP_CAUSE_MAX][24];

	for (size_t i = 0; i < count; i++) {
		snprintf(classes[i], sizeof(classes[i]), "c-%.20s",
		         wt_gap_cause_name(order[i].cause));
		parts[i] = (struct wt_html_part){classes[i], wt_gap_cause_name(order[i].cause),
		                                 (double)order[i].sm_ns / (double)sums->gap_sm_ns};
	}
	wt_html_bar(out, "Time without a kernel by cause; the table below has the parts", parts,
	            count);
}

static void put_causes(FILE *out, const struct sums *sums)
{
	static const struct wt_html_column columns[] = {
	        {NULL, "Cause", NULL, true},
	        {"gap_sm_ns", "Time", "of the whole GPU", false},
	        {"share", "All", "of SMs x wall", false},
	        {"gap_share", "Gaps", "of the time without a kernel", false},
	        {NULL, "What it is", NULL, true}};
	struct order order[WT_GAP_CAUSE_MAX];
	size_t count = order_causes(sums, order);
	char a[WT_TEXT_NUMBER_BYTES], class[24];

	if (sums->gap_sm_ns > 0)
		put_bar(out, sums, order, count);
	wt_html_table_begin(out, "gaps", "Time without a kernel by cause", columns, 5,
	                    WT_HTML_SORTABLE);
	for (size_t i = 0; i < count; i++) {
		const char *name = wt_gap_cause_name(order[i].cause);
		double sm_ns = (double)order[i].sm_ns;

		snprintf(class, sizeof(class), "c-%.20s", name);
		fprintf(out, "<tr data-line=\"%s\"><th scope=\"row\" class=\"t\">", name);
		wt_html_swatch(out, class);
		fprintf(out, "%s</th>", name);
		wt_html_int(out, order[i].sm_ns, gpu_time(a, order[i].sm_ns, sums));
		wt_html_double(out, sm_ns / sums->total_sm_ns,
		               wt_html_percent(a, sm_ns, sums->total_sm_ns), NULL);
		wt_html_double(out, sm_ns / (double)sums->gap_sm_ns,
		               wt_html_percent(a, sm_ns, (double)sums->gap_sm_ns), NULL);
		wt_html_words(out, wt_gap_cause_meaning(order[i].cause));
		wt_html_row_end(out);
	}
	wt_html_table_end(out);
}

/* ---- by kernel */

static int by_gap(const void *left, const void *right, void *arg)
{
	const struct wt_ledger_kernel *kernels = arg;
	const struct wt_ledger_kernel *a = &kernels[*(const size_t *)left];
	const struct wt_ledger_kernel *b = &kernels[*(const size_t *)right];
	int64_t x = gap_sm_ns(a), y = gap_sm_ns(b);

	if (x != y)
		return x > y ? -1 : 1;
	return a->kernel_id < b->kernel_id ? -1 : a->kernel_id > b->kernel_id;
}

static void put_kernel(FILE *out, const struct wt_ledger_kernel *kernel, const char *name,
                       const struct sums *sums)
{
	int64_t sm_ns = gap_sm_ns(kernel);
	int most = 0;
	char a[WT_TEXT_NUMBER_BYTES];

	for (int cause = 1; cause < WT_GAP_CAUSE_MAX; cause++)
		if (kernel->gap_sm_ns[cause] > kernel->gap_sm_ns[most])
			most = cause;
	wt_html_row_begin(out, "kernel", kernel->kernel_id, NULL);
	fputs("<th scope=\"row\" class=\"t name\">", out);
	wt_html_text(out, name, WT_HTML_NAME_BYTES);
	fputs("</th>", out);
	wt_html_int(out, sm_ns, gpu_time(a, sm_ns, sums));
	wt_html_double(out, (double)sm_ns / sums->total_sm_ns,
	               wt_html_percent(a, (double)sm_ns, sums->total_sm_ns), NULL);
	wt_html_int(out, kernel->gaps, NULL);
	wt_html_int(out, kernel->launches, NULL);
	wt_html_words(out, wt_gap_cause_name((enum wt_gap_cause)most));
	wt_html_int(out, kernel->gap_sm_ns[most],
	            wt_html_percent(a, (double)kernel->gap_sm_ns[most], (double)sm_ns));
	wt_html_row_end(out);
}

static void put_kernels(FILE *out, const struct wt_ledger *ledger, char *const *names,
                        const size_t *order, const struct sums *sums)
{
	static const struct wt_html_column columns[] = {
	        {NULL, "Before kernel", NULL, true},
	        {"gap_sm_ns", "Time", "of the whole GPU", false},
	        {"share", "All", "of SMs x wall", false},
	        {"gaps", "Gaps", NULL, false},
	        {"launches", "Launches", NULL, false},
	        {NULL, "Mostly", NULL, true},
	        {"main_cause_sm_ns", "Of it", NULL, false}};
	size_t shown = 0;

	wt_html_table_begin(out, "gap-kernels", "Before which kernels the GPU waited", columns, 7,
	                    WT_HTML_SORTABLE);
	for (; shown < ledger->kernel_count && shown < WT_HTML_GAP_KERNELS; shown++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[order[shown]];

		if (!gap_sm_ns(kernel))
			break;
		put_kernel(out, kernel, names[order[shown]], sums);
	}
	wt_html_table_end(out);
	fprintf(out,
	        "<p class=\"limit\">The first %zu of %zu kernels; <code>wavetap gaps --by "
	        "kernel</code> has "
	        "all, <code>--by call</code> what the program did meanwhile.</p>\n",
	        shown, ledger->kernel_count);
}

int wt_html_put_gaps(FILE *out, const struct wt_html_report *report)
{
	const struct wt_ledger *ledger = &report->view.ledger;
	const char **raw = calloc(ledger->kernel_count + 1, sizeof(*raw));
	size_t *order = calloc(ledger->kernel_count + 1, sizeof(*order));
	char **names = NULL, a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	struct sums sums;
	int rc = raw && order ? 0 : -ENOMEM;

	sum_up(ledger, &sums);
	for (size_t i = 0; !rc && i < ledger->kernel_count; i++) {
		raw[i] = ledger->kernels[i].name;
		order[i] = i;
	}
	if (!rc)
		rc = wt_kernel_name_shorten_all(raw, ledger->kernel_count, &names);
	if (!rc) {
		qsort_r(order, ledger->kernel_count, sizeof(*order), by_gap, ledger->kernels);
		fprintf(out, "<p>No kernel ran %s of the time, in %s gaps.</p>\n",
		        wt_html_percent(a, (double)sums.gap_sm_ns, sums.total_sm_ns),
		        wt_text_count(b, sums.gaps));
		put_causes(out, &sums);
		put_kernels(out, ledger, names, order, &sums);
	}
	wt_kernel_name_free_all(names, ledger->kernel_count);
	free(raw);
	free(order);
	return rc;
}

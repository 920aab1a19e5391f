/*
 * gap_calls_table.c - see gap_calls_table.h. Single-threaded; never blocks.
 */
#include <stdlib.h>

#include "cli/gap_calls_table.h"
#include "cli/kernel_name.h"
#include "cli/ledger_lines.h"

static const struct wt_table_column columns[] = {
        {"share", "ALL%", WT_TABLE_RIGHT, 0, 5, 0},
        {"gap_sm_ns", "TIME", WT_TABLE_RIGHT, 0, 6, 0},
        {"gaps", "GAPS", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"main_cause", "MOSTLY", WT_TABLE_LEFT, 0, 0, 0},
        {"main_cause_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        WT_GAP_CAUSE_COLUMNS,
        {"where", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
        {"call", "THREAD IN", WT_TABLE_LEFT, WT_TABLE_DROP(9), 0, 0},
        {"launch_call", "LAUNCHED BY", WT_TABLE_LEFT, WT_TABLE_DROP(2), 0, 0},
        {"process_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"pid", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"tid", "THREAD", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"stream_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"kernel_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"kernel_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"kernel", "BEFORE", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE | WT_TABLE_DROP(4), 8, 0},
};

/* For people, where no call has a name. */
static const char *where_text(enum wt_gap_where where)
{
	switch (where) {
	case WT_GAP_IN_CALL:
		return "a call without a name";
	case WT_GAP_IN_OWN_CODE:
		return "own code";
	case WT_GAP_IN_NONE:
		return "had launched";
	case WT_GAP_IN_UNKNOWN:
		return "not known";
	case WT_GAP_IN_END:
		return "the end";
	}
	return "";
}

static void add_known(struct wt_table *table, int64_t value)
{
	if (value < 0)
		wt_table_add_null(table);
	else
		wt_table_add_int(table, value, NULL);
}

static size_t kernel_index(const struct wt_ledger *ledger, int64_t kernel_id)
{
	size_t at = 0;

	while (at < ledger->kernel_count && ledger->kernels[at].kernel_id != kernel_id)
		at++;
	return at;
}

static void add_kernel(struct wt_table *table, const struct wt_gap_call *row,
                       const struct wt_ledger *ledger, char *const *names)
{
	size_t at = kernel_index(ledger, row->kernel_id);
	char *full;

	if (row->kernel_id < 0 || at == ledger->kernel_count) {
		wt_table_add_null(table);
		wt_table_add_null(table);
		wt_table_add_null(table);
		return;
	}
	full = wt_kernel_name_demangle(ledger->kernels[at].name);
	wt_table_add_int(table, row->kernel_id, NULL);
	wt_table_add_int(table, row->kernel_sm_ns, NULL);
	wt_table_add_string(table, full ? full : ledger->kernels[at].name, names[at]);
	free(full);
}

static void add_row(struct wt_table *table, const struct wt_gap_call *row,
                    const struct wt_ledger *ledger, const struct wt_gap_calls_style *style)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	double sm_ns = (double)row->gap_sm_ns;
	int most = 0;

	for (int cause = 1; cause < WT_GAP_CAUSE_MAX; cause++)
		if (row->cause_sm_ns[cause] > row->cause_sm_ns[most])
			most = cause;
	wt_table_row(table, 0);
	wt_table_add_double(table, sm_ns / style->total_sm_ns, 9,
	                    wt_text_percent(a, sm_ns, style->total_sm_ns));
	wt_table_add_int(table, row->gap_sm_ns, wt_top_format(b, &style->unit, sm_ns / style->sms));
	wt_table_add_int(table, row->gaps, wt_text_count(c, row->gaps));
	wt_table_add_string(table, wt_gap_cause_name((enum wt_gap_cause)most), NULL);
	wt_table_add_int(table, row->cause_sm_ns[most],
	                 wt_text_percent(a, (double)row->cause_sm_ns[most], sm_ns));
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		wt_table_add_int(table, row->cause_sm_ns[cause], NULL);
	wt_table_add_string(table, wt_gap_where_name(row->where), NULL);
	if (row->api_name)
		wt_table_add_string(table, row->api_name, NULL);
	else
		wt_table_add_string(table, NULL, where_text(row->where));
	wt_table_add_string(table, row->launch_api_name, NULL);
	if (row->process_id)
		wt_table_add_int(table, row->process_id, NULL);
	else
		wt_table_add_null(table);
	add_known(table, row->pid);
	add_known(table, row->tid);
	add_known(table, row->stream_id);
	add_kernel(table, row, ledger, style->names);
}

/* What the rows that are not shown sum to. Their gaps are not: one may be in several rows. */
static void add_rest(struct wt_table *table, const struct wt_gap_calls *calls,
                     const struct wt_gap_calls_style *style)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], text[64];
	double sm_ns = 0;

	for (size_t i = style->limit; i < calls->count; i++)
		sm_ns += (double)calls->rows[i].gap_sm_ns;
	snprintf(text, sizeof(text), "%zu more (--limit 0)", calls->count - style->limit);
	wt_table_row(table, WT_TABLE_ROW_TEXT_ONLY);
	wt_table_add_string(table, NULL, wt_text_percent(a, sm_ns, style->total_sm_ns));
	wt_table_add_string(table, NULL, wt_top_format(b, &style->unit, sm_ns / style->sms));
	wt_table_add_string(table, NULL, "");
	wt_table_add_string(table, NULL, "");
	wt_table_add_null(table);
	for (int cause = 0; cause <= WT_GAP_CAUSE_MAX; cause++)
		wt_table_add_null(table);
	wt_table_add_string(table, NULL, text);
	wt_table_add_string(table, NULL, "");
	wt_table_add_null(table);
	wt_table_add_null(table);
	wt_table_add_string(table, NULL, "");
	for (int i = 0; i < 3; i++)
		wt_table_add_null(table);
	wt_table_add_string(table, NULL, "");
}

struct wt_table *wt_gap_calls_table(const struct wt_gap_calls *calls,
                                    const struct wt_ledger *ledger,
                                    const struct wt_gap_calls_style *style)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; table && i < calls->count && i < style->limit; i++)
		add_row(table, &calls->rows[i], ledger, style);
	if (table && calls->count > style->limit)
		add_rest(table, calls, style);
	return table;
}

/*
 * openmetrics.c - see openmetrics.h. Any thread; blocks as the FILE does.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/openmetrics.h"
#include "cli/text.h"

static const char *const type_names[] = {"gauge", "counter", "info"};
static const char *const endings[] = {"", "_total", "_info"};

void wt_metrics_family(struct wt_metrics *metrics, const struct wt_metrics_family *family)
{
	metrics->family = *family;
	metrics->is_told = false;
}

static void put_name(struct wt_metrics *metrics)
{
	const struct wt_metrics_family *family = &metrics->family;

	fprintf(metrics->out, "%s%s%s", family->name, family->unit[0] ? "_" : "", family->unit);
}

static void put_head(struct wt_metrics *metrics)
{
	if (metrics->is_told)
		return;
	metrics->is_told = true;
	fputs("# TYPE ", metrics->out);
	put_name(metrics);
	fprintf(metrics->out, " %s\n", type_names[metrics->family.type]);
	if (metrics->family.unit[0]) {
		fputs("# UNIT ", metrics->out);
		put_name(metrics);
		fprintf(metrics->out, " %s\n", metrics->family.unit);
	}
	fputs("# HELP ", metrics->out);
	put_name(metrics);
	fprintf(metrics->out, " %s\n", metrics->family.help);
}

/* Quotes, backslashes and line feeds are escaped; bytes that are no UTF-8 become U+FFFD. */
static void put_value(FILE *out, const char *text)
{
	size_t bytes = strlen(text);

	fputc('"', out);
	for (size_t i = 0, n; i < bytes; i += n) {
		uint32_t code;

		n = wt_text_decode(text + i, bytes - i, &code);
		if (code == UINT32_MAX)
			fputs("\xef\xbf\xbd", out);
		else if (code == '\n')
			fputs("\\n", out);
		else if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (int)code);
		else
			fwrite(text + i, 1, n, out);
	}
	fputc('"', out);
}

/* Name and labels, and the blank before the value. */
static void begin_sample(struct wt_metrics *metrics, const struct wt_metrics_label *labels,
                         size_t count)
{
	char mark = '{';

	put_head(metrics);
	put_name(metrics);
	fputs(endings[metrics->family.type], metrics->out);
	for (size_t i = 0; i < count; i++) {
		if (!labels[i].value)
			continue;
		fprintf(metrics->out, "%c%s=", mark, labels[i].name);
		put_value(metrics->out, labels[i].value);
		mark = ',';
	}
	fputs(mark == ',' ? "} " : " ", metrics->out);
}

static bool is_wrong(const struct wt_metrics *metrics, bool is_below_0)
{
	return is_below_0 && metrics->family.type == WT_METRICS_COUNTER;
}

void wt_metrics_count(struct wt_metrics *metrics, const struct wt_metrics_label *labels,
                      size_t count, int64_t value)
{
	if (is_wrong(metrics, value < 0))
		return;
	begin_sample(metrics, labels, count);
	fprintf(metrics->out, "%" PRId64 "\n", value);
}

void wt_metrics_ns(struct wt_metrics *metrics, const struct wt_metrics_label *labels, size_t count,
                   int64_t value_ns)
{
	uint64_t absolute = value_ns < 0 ? 0 - (uint64_t)value_ns : (uint64_t)value_ns;

	if (is_wrong(metrics, value_ns < 0))
		return;
	begin_sample(metrics, labels, count);
	fprintf(metrics->out, "%s%" PRIu64 ".%09" PRIu64 "\n", value_ns < 0 ? "-" : "",
	        absolute / 1000000000, absolute % 1000000000);
}

void wt_metrics_double(struct wt_metrics *metrics, const struct wt_metrics_label *labels,
                       size_t count, double value)
{
	if (!isfinite(value) || is_wrong(metrics, value < 0))
		return;
	begin_sample(metrics, labels, count);
	fprintf(metrics->out, "%.9g\n", value);
}

void wt_metrics_end(struct wt_metrics *metrics)
{
	fputs("# EOF\n", metrics->out);
}

/*
 * compare_gate.c - is a run worse than another by more than is allowed: see compare_show.h.
 *
 * Worse: the interval of the change is beyond what is allowed. Not worse: it is within. What is neither can't be
 * judged, and the line says what would narrow it. Single-threaded; never blocks.
 */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/compare_show.h"

#define SCORE_LEAST 0.5

static const char kernel_prefix[] = "kernel:";

static bool is_kernel(const char *on)
{
	return !strncmp(on, kernel_prefix, strlen(kernel_prefix));
}

const char *wt_compare_gate_check(const char *on)
{
	regex_t regex;

	if (!strcmp(on, "step-time") || !strcmp(on, "idle"))
		return NULL;
	if (!is_kernel(on))
		return "it takes step-time, idle or kernel:RE";
	on += strlen(kernel_prefix);
	if (!on[0])
		return "kernel: needs an expression";
	if (regcomp(&regex, on, REG_EXTENDED | REG_NOSUB))
		return "no extended regular expression";
	regfree(&regex);
	return NULL;
}

static bool is_wanted(const void *arg, const struct wt_compare_unit *unit)
{
	return !regexec(arg, unit->demangled, 0, NULL, 0) || !regexec(arg, unit->name, 0, NULL, 0);
}

/* What weighs most against it. */
static const char *worst_reason(const struct wt_compare *compare)
{
	const struct wt_compare_reason *worst = NULL;

	for (size_t i = 0; i < compare->reason_count; i++)
		if (!worst || compare->reasons[i].factor < worst->factor)
			worst = &compare->reasons[i];
	return worst ? worst->text : "";
}

static bool is_repeated(const struct wt_compare_row *row)
{
	return row->contrast.is_repeated;
}

static void explain_open(const struct wt_compare *compare, const struct wt_compare_row *row,
                         struct wt_compare_gate *gate)
{
	char text[400];

	if (!(gate->before > 0))
		snprintf(gate->why, sizeof(gate->why), "there was nothing of it before");
	else
		snprintf(gate->why, sizeof(gate->why),
		         "the change may be more or less than is allowed: %s",
		         is_repeated(row) ? "more runs a side narrow it"
		                          : wt_compare_noise_text(compare, text));
}

static void judge_row(const struct wt_compare *compare, const struct wt_compare_row *row,
                      struct wt_compare_gate *gate)
{
	const struct wt_contrast *contrast = &row->contrast;

	gate->before = contrast->mean_before;
	gate->after = contrast->mean_after;
	if (contrast->mean_before > 0)
		gate->change = contrast->change / contrast->mean_before;
	if (!contrast->has_interval) {
		snprintf(gate->why, sizeof(gate->why), "%s", contrast->why ? contrast->why : "");
		return;
	}
	if (compare->score < SCORE_LEAST) {
		snprintf(gate->why, sizeof(gate->why), "the runs are comparable to %.2f only: %s",
		         compare->score, worst_reason(compare));
		return;
	}
	switch (wt_contrast_between(contrast, gate->allowed, compare->query.alpha, &gate->low,
	                            &gate->high)) {
	case WT_CONTRAST_YES:
		gate->code = WT_EXIT_WORSE;
		snprintf(gate->why, sizeof(gate->why),
		         "worse by more than is allowed, beyond noise");
		break;
	case WT_CONTRAST_NO:
		gate->code = WT_EXIT_FINE;
		snprintf(gate->why, sizeof(gate->why), "not worse by more than is allowed");
		break;
	default:
		explain_open(compare, row, gate);
	}
}

static int judge_kernels(const struct wt_compare *compare, struct wt_compare_gate *gate)
{
	struct wt_compare_row row;
	regex_t regex;
	int rc;

	if (regcomp(&regex, gate->on + strlen(kernel_prefix), REG_EXTENDED | REG_NOSUB))
		return -ENOMEM;
	rc = wt_compare_sum(compare, is_wanted, &regex, &row);
	regfree(&regex);
	if (rc == -ENOENT)
		snprintf(gate->why, sizeof(gate->why),
		         "no kernel of that name in each of the runs: new, gone or renamed");
	else if (!rc)
		judge_row(compare, &row, gate);
	free(row.means);
	return rc == -ENOENT ? 0 : rc;
}

int wt_compare_gate_judge(const struct wt_compare *compare, double allowed, const char *on,
                          struct wt_compare_gate *gate)
{
	const struct wt_compare_row *row;

	*gate = (struct wt_compare_gate){
	        .allowed = allowed,
	        .on = on,
	        .code = WT_EXIT_NO_DATA,
	        .before = NAN,
	        .after = NAN,
	        .change = NAN,
	        .low = NAN,
	        .high = NAN,
	};
	if (compare->blocked) {
		snprintf(gate->why, sizeof(gate->why), "%s", compare->blocked);
		return 0;
	}
	if (is_kernel(on))
		return judge_kernels(compare, gate);
	row = wt_compare_find(compare, !strcmp(on, "idle") ? WT_COMPARE_IDLE : WT_COMPARE_STEP);
	if (row)
		judge_row(compare, row, gate);
	else
		snprintf(gate->why, sizeof(gate->why),
		         "no steps in one of the runs: --steps, or --on kernel:RE");
	return 0;
}

char *wt_compare_gate_line(const struct wt_compare_gate *gate)
{
	const char *verdict = gate->code == WT_EXIT_FINE    ? "no worse"
	                      : gate->code == WT_EXIT_WORSE ? "WORSE"
	                                                    : "cannot judge";
	char change[WT_COMPARE_PERCENT_BYTES], low[WT_COMPARE_PERCENT_BYTES];
	char high[WT_COMPARE_PERCENT_BYTES], range[80] = "", *line;

	if (isfinite(gate->change))
		snprintf(range, sizeof(range), "%s%s%s%s%s%s, ",
		         wt_compare_percent(gate->change, change), isfinite(gate->low) ? " (" : "",
		         isfinite(gate->low) ? wt_compare_percent(gate->low, low) : "",
		         isfinite(gate->low) ? " to " : "",
		         isfinite(gate->low) ? wt_compare_percent(gate->high, high) : "",
		         isfinite(gate->low) ? ")" : "");
	if (asprintf(&line, "gate %s: %s: %sallowed +%g%%: %s", gate->on, verdict, range,
	             100 * gate->allowed, gate->why) < 0)
		return NULL;
	return line;
}

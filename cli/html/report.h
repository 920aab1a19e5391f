/*
 * report.h - a run as one HTML file: what is loaded for it, and the parts it is written from.
 *
 * Every figure comes from what the command of the same name shows (`ledger`, `top`, `diagnose`, ...),
 * by the same functions; cells carry the figure itself in data-v under the key that --json has. The
 * size is bounded by the limits below, whatever the run has, and each part says what it left out.
 * Single-threaded; blocks on files.
 */
#ifndef WT_CLI_HTML_REPORT_H
#define WT_CLI_HTML_REPORT_H

#include <stdio.h>

#include "cli/diagnose.h"
#include "cli/html/html.h"
#include "cli/ledger_lines.h"
#include "cli/report.h"
#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/sms.h"
#include "cli/steps.h"
#include "cli/steps_times.h"

/* What the file holds at most. */
#define WT_HTML_KERNELS 200 /* rows */
#define WT_HTML_KERNELS_SHOWN 8 /* with a part of their own, each of which reads the run again */
#define WT_HTML_KERNELS_SHOWN_LARGE 3 /* of runs of more than WT_HTML_LAUNCHES_LARGE */
#define WT_HTML_LAUNCHES_LARGE 400000
#define WT_HTML_CONFIGS 8 /* of such a kernel */
#define WT_HTML_PROFILES 3
#define WT_HTML_CURVES 3
#define WT_HTML_POINTS 60 /* of a curve */
#define WT_HTML_WAVE_EDGES 40
#define WT_HTML_DEVICES 16
#define WT_HTML_BUCKETS 2000 /* of a device; of all together: */
#define WT_HTML_BUCKETS_ALL 6000
#define WT_HTML_COLUMNS 160 /* of a drawing of time; half of it where many devices have one */
#define WT_HTML_DEVICES_MANY 8
#define WT_HTML_TIME_ROWS 40 /* of the timeline as a table */
#define WT_HTML_GAP_KERNELS 30
#define WT_HTML_STEPS 600 /* bars */
#define WT_HTML_STEPS_SLOWEST 20
#define WT_HTML_PROCESSES 64
#define WT_HTML_NAME_BYTES 160 /* of a name in a table */
#define WT_HTML_TITLE_BYTES 1000 /* of a whole name in a table, for search */
#define WT_HTML_FULL_NAME_BYTES 2000

struct wt_html_report {
	/* Of whole devices, whatever kernels are selected. */
	struct wt_ledger_view view;
	struct wt_select device_select;
	bool has_ledger; /* false: the devices can't be told apart from others' kernels */
	size_t device_count; /* shown, of the ledger's */
	struct wt_gaps gaps;
	struct wt_diagnosis *diagnosis;
	struct wt_ledger time; /* in buckets */
	struct wt_html_samples {
		struct wt_sm_sum *sums; /* of each bucket; sampled_ns 0: not */
		bool has_any;
		struct wt_sms_measured measured;
	} * samples; /* of each device shown */
	struct wt_run_steps steps;
	struct wt_step_times step_times;
	const char *steps_reason; /* why there are none; NULL: there are */
	/* Of the selected kernels. */
	struct wt_run_file run;
	struct wt_select select;
	struct wt_report kernels; /* by idle SM-time */
	bool has_kernels;
	char *run_option; /* " -r RUN" for commands to paste */
};

struct wt_html_request {
	const char *run; /* as typed, or NULL */
	const struct wt_select_words *select;
};

/* load.c: all but single kernels. An enum wt_exit, after a message; wt_html_unload() anyway. */
int wt_html_load(const struct wt_html_request *request, struct wt_html_report *report);
void wt_html_unload(struct wt_html_report *report);

/* page.c: the whole file. 0 or -errno. */
int wt_html_write(FILE *out, const struct wt_html_report *report);

/*
 * The parts, in the order of the page. 0 or -errno; what `out` could not take stays in it. The last is
 * static text.
 */
int wt_html_put_headline(FILE *out, const struct wt_html_report *report);
int wt_html_put_findings(FILE *out, const struct wt_html_report *report);
int wt_html_put_ledger(FILE *out, const struct wt_html_report *report);
int wt_html_put_kernels(FILE *out, const struct wt_html_report *report);
int wt_html_put_details(FILE *out, const struct wt_html_report *report);
int wt_html_put_timeline(FILE *out, const struct wt_html_report *report);
int wt_html_put_heat(FILE *out, const struct wt_html_report *report);
int wt_html_put_gaps(FILE *out, const struct wt_html_report *report);
int wt_html_put_steps(FILE *out, const struct wt_html_report *report);
int wt_html_put_losses(FILE *out, const struct wt_html_report *report);
int wt_html_put_facts(FILE *out, const struct wt_html_report *report);

/* kernel_plots.c: of one configuration, and of configurations that differ in their grid alone. */
struct wt_show;
struct wt_show_config;
void wt_html_put_profile(FILE *out, const struct wt_show_config *config);
int wt_html_put_curves(FILE *out, const struct wt_show *show);
void wt_html_put_durations(FILE *out, const struct wt_show *show);

/* Kernels that get a part of their own: the first rows. */
size_t wt_html_details_count(const struct wt_html_report *report);

/* Of drawings of time. */
size_t wt_html_columns(const struct wt_html_report *report);

/* What times are told from, as --from counts. */
int64_t wt_html_origin_ns(const struct wt_html_report *report);

/* Figures in SM-time as time of the whole GPU. */
const char *wt_html_gpu_time(char text[WT_TEXT_NUMBER_BYTES], int64_t sm_ns, int64_t sms);

/* Generated of report.css, report.js and reading.html. */
extern const char wt_html_css[], wt_html_js[], wt_html_reading[];

#endif /* WT_CLI_HTML_REPORT_H */

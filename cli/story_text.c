/*
 * story_text.c - see story.h: the lines. Times are SM-time by the SMs of all devices, of a step where
 * there are steps, so that they compare whatever the run was. Single-threaded; blocks as the FILE
 * does.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kernel_name.h"
#include "cli/ledger_lines.h"
#include "cli/phrase.h"
#include "cli/story.h"
#include "cli/top_cells.h"
#include "cli/top_text.h"

#define LABEL_COLUMNS 10
#define WORST_KERNELS 3
#define NAME_COLUMNS_MAX 100
#define NAME_COLUMNS_MIN 24
#define DEVICES_TOLD 4 /* each by itself */
#define WORTH_TELLING 0.0005 /* of SMs x wall: rounds to 0.1 % */

/* SM-time of all devices in the window. */
struct sums {
	double total, sms; /* SMs x wall; SMs */
	double active, under, wave, wave_max, straggle, ramp, unjudged, comm;
	double kernels, measured; /* of kernels; what of it is */
	double gap[WT_GAP_CAUSE_MAX], gaps; /* causes: with a ledger */
	int64_t steps; /* 0: none */
	size_t devices;
};

static void add_share(struct sums *sums, const struct wt_sweep_share *share)
{
	sums->active += (double)share->active_sm_ns;
	sums->under += (double)share->underfill_sm_ns;
	sums->wave += (double)share->wave_sm_ns;
	sums->wave_max += (double)share->wave_max_sm_ns;
	sums->straggle += (double)share->straggle_sm_ns;
	sums->ramp += (double)share->ramp_sm_ns;
	sums->unjudged += (double)share->unjudged_sm_ns;
	sums->comm += (double)share->comm_sm_ns;
}

static void add_parts(struct sums *sums, int64_t kernels_sm_ns,
                      const int64_t parts_sm_ns[WT_EVIDENCE_MAX])
{
	sums->kernels += (double)kernels_sm_ns;
	for (int i = WT_EVIDENCE_SAMPLED; i < WT_EVIDENCE_MAX; i++)
		sums->measured += (double)parts_sm_ns[i];
}

static void sum_ledger(const struct wt_ledger *ledger, struct sums *sums)
{
	for (size_t i = 0; i < ledger->device_count; i++) {
		const struct wt_ledger_device *device = &ledger->devices[i];
		int64_t parts_sm_ns[WT_EVIDENCE_MAX];
		int64_t kernels_sm_ns = wt_ledger_measured(device, parts_sm_ns);

		add_share(sums, &device->share);
		add_parts(sums, kernels_sm_ns, parts_sm_ns);
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
			double sm_ns = (double)device->gap_ns[cause] * (double)device->sms;

			sums->gap[cause] += sm_ns;
			sums->gaps += sm_ns;
		}
	}
}

/* What the rows have: no causes of gaps. */
static void sum_report(const struct wt_report *report, struct sums *sums)
{
	const struct wt_report_row *total = &report->total;
	const struct wt_sweep_share share = {
	        .active_sm_ns = total->active_sm_ns,
	        .underfill_sm_ns = total->underfill_sm_ns,
	        .wave_sm_ns = total->wave_sm_ns,
	        .wave_max_sm_ns = total->wave_max_sm_ns,
	        .straggle_sm_ns = total->straggle_sm_ns,
	        .ramp_sm_ns = total->ramp_sm_ns,
	        .unjudged_sm_ns = total->unjudged_sm_ns,
	        .comm_sm_ns = total->comm_sm_ns,
	};
	int64_t parts_sm_ns[WT_EVIDENCE_MAX];
	int64_t kernels_sm_ns = wt_report_row_sm_ns(total, parts_sm_ns);

	add_share(sums, &share);
	add_parts(sums, kernels_sm_ns, parts_sm_ns);
	for (size_t i = 0; i < report->device_count; i++)
		sums->gaps += ((double)(report->end_ns - report->start_ns) -
		               (double)report->devices[i].busy_ns) *
		              (double)report->devices[i].sm_count;
}

static struct sums sum_up(const struct wt_story *story)
{
	const struct wt_report *report = &story->report;
	const struct wt_select_steps *steps = report->steps;
	struct sums sums = {.devices = report->device_count};

	for (size_t i = 0; i < report->device_count; i++) {
		sums.sms += (double)report->devices[i].sm_count;
		sums.total += (double)report->devices[i].sm_count *
		              (double)(report->end_ns - report->start_ns);
	}
	if (steps && steps->is_found)
		sums.steps = steps->last_step - steps->first_step + 1;
	if (story->has_ledger)
		sum_ledger(&story->ledger, &sums);
	else
		sum_report(report, &sums);
	return sums;
}

/* '~': the model's, '*': in part, 0: measured; as in `top`. */
static char mark_of(const struct sums *sums)
{
	if (sums->measured <= 0)
		return '~';
	return sums->measured < 0.995 * sums->kernels ? '*' : 0;
}

static const char *mark_text(char mark)
{
	return mark == '~' ? "~" : mark == '*' ? "*" : mark == '!' ? "!" : "";
}

/* SM-time as time of the whole GPU, or GPUs; of a step. */
static double time_ns(const struct sums *sums, double sm_ns)
{
	return sm_ns / sums->sms / (double)(sums->steps ? sums->steps : 1);
}

struct unit {
	const char *name;
	double ns;
};

static struct unit unit_of(double ns)
{
	return ns >= 1e9   ? (struct unit){"s", 1e9}
	       : ns >= 1e6 ? (struct unit){"ms", 1e6}
	                   : (struct unit){"us", 1e3};
}

static const char *number(char text[WT_TEXT_NUMBER_BYTES], const struct unit *unit, double ns)
{
	const struct wt_top_unit top_unit = {unit->name, unit->ns};

	return wt_top_format(text, &top_unit, ns);
}

static const char *percent(char text[WT_TEXT_NUMBER_BYTES], const struct sums *sums, double sm_ns)
{
	return wt_text_percent(text, sm_ns, sums->total);
}

/* Of what a time is: of several GPUs it is the mean. */
static const char *per_step(const struct sums *sums)
{
	if (sums->devices > 1)
		return sums->steps ? " a step and GPU" : " a GPU";
	return sums->steps ? " a step" : "";
}

static void begin(struct wt_phrase *line, const char *label)
{
	line->indent_columns = LABEL_COLUMNS + 2;
	wt_phrase_add(line, "%-*s", LABEL_COLUMNS, label);
}

static void say(char *text, size_t text_bytes, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Appends what there is room for. */
static void say(char *text, size_t text_bytes, const char *format, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + used, text_bytes - used, format, ap);
	va_end(ap);
}

/* ---- what a monitor shows, and what the SMs did */

/* "9.1%", "86.7 and 61.7%", "52.1 to 97.3%" of `count` shares. */
static void say_shares(char *text, size_t text_bytes, const double *shares, size_t count)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	double least = shares[0], most = shares[0];

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		least = fmin(least, shares[i]);
		most = fmax(most, shares[i]);
		if (count <= DEVICES_TOLD)
			say(text, text_bytes, "%s%s",
			    i == 0           ? ""
			    : i + 1 == count ? " and "
			                     : ", ",
			    wt_text_percent(a, shares[i], 1));
	}
	if (count > DEVICES_TOLD)
		say(text, text_bytes, "%s to %s", wt_text_percent(a, least, 1),
		    wt_text_percent(b, most, 1));
	say(text, text_bytes, "%%");
}

/* Of each device; the sum of all where only that is known. Their number. */
static size_t active_shares(const struct wt_story *story, const struct sums *sums, double *shares)
{
	if (!story->has_ledger) {
		shares[0] = sums->active / sums->total;
		return story->report.has_active ? 1 : 0;
	}
	for (size_t i = 0; i < story->ledger.device_count; i++)
		shares[i] = (double)story->ledger.devices[i].share.active_sm_ns /
		            (double)story->ledger.devices[i].total_sm_ns;
	return story->ledger.device_count;
}

static void print_busy(struct wt_phrase *line, const struct wt_story *story,
                       const struct sums *sums)
{
	const struct wt_report *report = &story->report;
	/* of either */
	double *shares =
	        calloc(report->device_count + story->ledger.device_count + 1, sizeof(*shares));
	char text[200];
	size_t count;

	if (!shares)
		return;
	for (size_t i = 0; i < report->device_count; i++)
		shares[i] = (double)report->devices[i].busy_ns /
		            (double)(report->end_ns - report->start_ns);
	begin(line, "nvidia-smi");
	say_shares(text, sizeof(text), shares, report->device_count);
	wt_phrase_add(line, "would show %s busy", text);
	count = active_shares(story, sums, shares);
	if (count) {
		say_shares(text, sizeof(text), shares, count);
		wt_phrase_add(line, "SMs were active %s%s", mark_text(mark_of(sums)), text);
	} else {
		wt_phrase_add(line, "SMs active: not known");
	}
	if (story->sampled_shares) {
		say_shares(text, sizeof(text), story->sampled_shares, story->ledger.device_count);
		wt_phrase_add(line, "(counters: %s)", text);
	}
	wt_phrase_end(line);
	free(shares);
}

/* ---- what was lost */

static void print_between(struct wt_phrase *line, const struct wt_story *story,
                          const struct sums *sums)
{
	struct unit unit = unit_of(time_ns(sums, sums->gaps));
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	double above = INFINITY;

	begin(line, "lost");
	wt_phrase_add(line, "between kernels %s%s%s, %s%% of the GPU%s%s",
	              number(a, &unit, time_ns(sums, sums->gaps)), unit.name, per_step(sums),
	              percent(b, sums, sums->gaps), sums->devices > 1 ? "s" : "",
	              story->has_ledger ? "" : "; causes: wavetap ledger");
	for (int told = 0; story->has_ledger && told < WT_GAP_CAUSE_MAX; told++) {
		int most = -1;

		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			if (sums->gap[cause] < above &&
			    (most < 0 || sums->gap[cause] > sums->gap[most]))
				most = cause;
		if (most < 0 || sums->gap[most] < WORTH_TELLING * sums->total)
			break;
		above = sums->gap[most];
		wt_phrase_item(line, "%s%s %s", told ? "" : "= ",
		               wt_gap_cause_name((enum wt_gap_cause)most),
		               number(a, &unit, time_ns(sums, above)));
	}
	wt_phrase_end(line);
}

/* "0.78 to 182", or one number where they read the same. */
static const char *range(char *text, size_t text_bytes, const char *least, const char *most)
{
	if (strcmp(least, most) != 0)
		snprintf(text, text_bytes, "%s to %s", least, most);
	else
		snprintf(text, text_bytes, "%s", least);
	return text;
}

static void print_inside_model(struct wt_phrase *line, const struct sums *sums)
{
	double least = sums->under + sums->wave, most = sums->under + sums->wave_max;
	struct unit unit = unit_of(time_ns(sums, most));
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	char times[2 * WT_TEXT_NUMBER_BYTES + 8], shares[2 * WT_TEXT_NUMBER_BYTES + 8];

	wt_phrase_add(
	        line, "inside kernels ~%s%s%s, %s%%",
	        range(times, sizeof(times), number(a, &unit, time_ns(sums, least)),
	              number(b, &unit, time_ns(sums, most))),
	        unit.name, per_step(sums),
	        range(shares, sizeof(shares), percent(a, sums, least), percent(b, sums, most)));
	range(times, sizeof(times), number(a, &unit, time_ns(sums, sums->wave)),
	      number(b, &unit, time_ns(sums, sums->wave_max)));
	wt_phrase_item(line, "= underfill ~%s wave ~%s",
	               number(a, &unit, time_ns(sums, sums->under)), times);
	wt_phrase_item(line, "(straggle, ramp: not measured)");
}

static void print_inside_measured(struct wt_phrase *line, const struct sums *sums)
{
	const struct {
		const char *name;
		double sm_ns;
	} parts[] = {{"underfill", sums->under},
	             {"wave", sums->wave},
	             {"straggle", sums->straggle},
	             {"ramp", sums->ramp}};
	double sum = sums->under + sums->wave + sums->straggle + sums->ramp;
	struct unit unit = unit_of(time_ns(sums, sum));
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "inside kernels %s%s%s%s, %s%%", mark_text(mark_of(sums)),
	              number(a, &unit, time_ns(sums, sum)), unit.name, per_step(sums),
	              percent(b, sums, sum));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		wt_phrase_item(line, "%s%s %s", i ? "" : "= ", parts[i].name,
		               number(a, &unit, time_ns(sums, parts[i].sm_ns)));
}

static void print_inside(struct wt_phrase *line, const struct sums *sums)
{
	char a[WT_TEXT_NUMBER_BYTES];

	begin(line, "");
	if (sums->measured > 0)
		print_inside_measured(line, sums);
	else
		print_inside_model(line, sums);
	if (sums->comm >= WORTH_TELLING * sums->total)
		wt_phrase_add(line, "idle beside collectives %s%%", percent(a, sums, sums->comm));
	if (sums->unjudged >= WORTH_TELLING * sums->total)
		wt_phrase_add(line, "unjudged %s%%", percent(a, sums, sums->unjudged));
	wt_phrase_end(line);
}

/* ---- who lost it */

static void print_kernel(struct wt_phrase *line, const struct sums *sums,
                         const struct wt_report_row *row, bool is_first)
{
	double lost_ns = time_ns(sums, (double)row->idle_sm_ns);
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], time[WT_TEXT_NUMBER_BYTES + 8];
	char id[32];
	struct unit unit = unit_of(lost_ns);
	size_t width = NAME_COLUMNS_MAX;
	char *name;

	begin(line, is_first ? "worst" : "");
	snprintf(time, sizeof(time), "%s%s%s",
	         mark_text((char)(row->disagrees ? '!' : wt_top_lost_mark(row))),
	         number(a, &unit, lost_ns), unit.name);
	wt_phrase_add(line, "%7s %4s%%", time, percent(b, sums, (double)row->idle_sm_ns));
	snprintf(id, sizeof(id), "id:%" PRId64, row->kernel_id);
	wt_phrase_add(line, "%-5s", id);
	if (line->terminal.width_columns) {
		width = line->terminal.width_columns > line->used_columns + 2 + NAME_COLUMNS_MIN
		                ? line->terminal.width_columns - line->used_columns - 2
		                : NAME_COLUMNS_MIN;
		width = width < NAME_COLUMNS_MAX ? width : NAME_COLUMNS_MAX;
	}
	name = wt_text_fit(row->kernel_shown, width, line->terminal.is_utf8);
	if (name)
		wt_phrase_add(line, "%s", name);
	free(name);
	wt_phrase_end(line);
}

static void print_worst(struct wt_phrase *line, const struct wt_report *report,
                        const struct sums *sums)
{
	size_t told = 0;

	for (size_t i = 0; i < report->row_count && told < WORST_KERNELS; i++)
		if (report->rows[i].idle_sm_ns > 0)
			print_kernel(line, sums, &report->rows[i], told++ == 0);
	if (told)
		return;
	begin(line, "worst");
	wt_phrase_add(line, "no kernel is known to have left an SM idle");
	wt_phrase_end(line);
}

static void print_finding(struct wt_phrase *line, const struct wt_story *story,
                          const struct sums *sums)
{
	const struct wt_report *report = &story->report;
	const struct wt_diagnosis *diagnosis = story->diagnosis;
	const struct wt_finding *finding = diagnosis ? &diagnosis->findings[0] : NULL;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	struct unit unit;

	begin(line, "finding");
	if (!diagnosis && story->is_late) {
		wt_phrase_words(line, line->indent_columns,
		                "not looked for: of %s kernels that takes longer than %s",
		                wt_text_count(a, report->total.launches),
		                wt_text_ns(b, story->limit_ns));
	} else if (!diagnosis) {
		wt_phrase_words(line, line->indent_columns, "not known: %s", story->problem);
	} else if (!diagnosis->count) {
		wt_phrase_add(line, "nothing above %.4g%% of SM-time",
		              WT_DIAGNOSE_THRESHOLD_PERCENT);
	} else {
		unit = unit_of(time_ns(sums, finding->stake_max_sm_ns));
		percent(a, sums, finding->stake_sm_ns);
		percent(b, sums, finding->stake_max_sm_ns);
		wt_phrase_words(
		        line, line->indent_columns, "1 of %zu: %s%s%s%%, at most %s%s%s: %s%s%s%s",
		        diagnosis->count, strcmp(a, b) ? a : "", strcmp(a, b) ? " to " : "", b,
		        number(c, &unit, time_ns(sums, finding->stake_max_sm_ns)), unit.name,
		        per_step(sums), finding->title, strcmp(finding->grade, "model") ? " (" : "",
		        strcmp(finding->grade, "model") ? finding->grade : "",
		        strcmp(finding->grade, "model") ? ")" : "");
	}
	wt_phrase_end(line);
}

/* ---- what is not in it, what it took */

static void print_left_out(struct wt_phrase *line, const struct wt_story *story)
{
	const struct wt_report *report = &story->report;
	const struct wt_select_steps *steps = report->steps;
	int64_t lost = wt_report_kernels_lost(&report->loss), refused = 0;
	int64_t launches = report->select ? report->select->run_launches : report->total.launches;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	begin(line, "left out");
	if (steps && steps->is_found)
		wt_phrase_add(line, "start-up %s, after-run %s", wt_text_ns(a, steps->startup_ns),
		              wt_text_ns(b, steps->after_ns));
	if (steps && steps->unobserved_ns)
		wt_phrase_add(line, "unobserved before it %s", wt_text_ns(a, steps->unobserved_ns));
	wt_phrase_add(line, "lost %s of %s kernels", wt_text_count(a, lost),
	              wt_text_count(b, launches + lost));
	for (size_t i = 0; story->has_ledger && i < story->ledger.device_count; i++)
		refused += story->ledger.devices[i].kernels_refused;
	if (refused)
		wt_phrase_add(line, "%s kernels with impossible times", wt_text_count(a, refused));
	if (story->killed)
		wt_phrase_add(line, "%s process%s killed: the last records may be missing",
		              wt_text_count(a, story->killed), story->killed == 1 ? "" : "es");
	if (steps && !steps->is_found && steps->reason)
		wt_phrase_add(line, "no steady steps: %s", steps->reason);
	if (wt_report_shares_reason(report))
		wt_phrase_add(line, "upper bound where kernels overlap: %s",
		              wt_report_shares_reason(report));
	if (wt_kernel_name_problem())
		wt_phrase_add(line, "%s", wt_kernel_name_problem());
	wt_phrase_end(line);
}

static void print_cost(struct wt_phrase *line, const struct wt_cost *cost)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	int64_t own_ns = wt_cost_own_ns(cost);

	begin(line, "own cost");
	if (own_ns == WT_COST_UNKNOWN && !cost->is_damaged && cost->callback_ns)
		wt_phrase_add(line, "callbacks %s", wt_text_ns(a, cost->callback_ns));
	if (own_ns == WT_COST_UNKNOWN)
		wt_phrase_add(line, "hooks . (%s)", cost->reason);
	else if (cost->wall_ns > 0)
		wt_phrase_add(line, "%s, %s%% of wall time", wt_text_ns(a, own_ns),
		              wt_text_percent(b, (double)own_ns, (double)cost->wall_ns));
	else
		wt_phrase_add(line, "%s", wt_text_ns(a, own_ns));
	if (own_ns != WT_COST_UNKNOWN)
		wt_phrase_add(line, "without CUPTI's own, which can't be told");
	wt_phrase_end(line);
}

void wt_story_print_next(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_story *story)
{
	bool is_nothing = story->diagnosis && !story->diagnosis->count;
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	begin(&line, "next");
	wt_phrase_command(&line, "wavetap %s -r %s", is_nothing ? "top" : "diagnose", story->word);
	wt_phrase_end(&line);
}

void wt_story_print(FILE *out, const struct wt_text_terminal *terminal,
                    const struct wt_story *story)
{
	struct sums sums = sum_up(story);
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	wt_top_print_run(&line, story->run, &story->report);
	if (sums.total > 0) {
		print_busy(&line, story, &sums);
		print_between(&line, story, &sums);
		print_inside(&line, &sums);
		print_worst(&line, &story->report, &sums);
		print_finding(&line, story, &sums);
	}
	print_left_out(&line, story);
	print_cost(&line, &story->report.cost);
	wt_top_print_losses(out, terminal, &story->report);
}

/*
 * cmd_diagnose.c - `wavetap diagnose`: what costs most, and what to try. Single-threaded; blocks
 * on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/gpu_state.h"
#include "cli/ledger_lines.h"
#include "cli/parse_time.h"
#include "cli/phrase.h"
#include "cli/select.h"
#include "cli/text.h"

#define DEFAULT_LIMIT 8

struct diagnose_values {
	const char *run, *threshold, *overlap, *graph_gap;
	int64_t limit;
	struct wt_select_words select;
	bool is_json;
};

static const struct wt_option diagnose_options[] = {
        {"threshold", 't', WT_OPTION_TEXT, "PERCENT", offsetof(struct diagnose_values, threshold),
         NULL, "least share of SMs x wall that is worth a finding (default: 1%)"},
        {"overlap", 0, WT_OPTION_TEXT, "PERCENT", offsetof(struct diagnose_values, overlap), NULL,
         "copies that kernels hide to this share are fine (default: 65%)"},
        {"graph-gap", 0, WT_OPTION_TEXT, "TIME", offsetof(struct diagnose_values, graph_gap), NULL,
         "idle time between two graph launches that is a break (default: 12.8us)"},
        {"limit", 'n', WT_OPTION_NUMBER, "N", offsetof(struct diagnose_values, limit), NULL,
         "findings, 0 for all (default: 8; in JSON all)"},
        WT_SELECT_DEVICE_OPTIONS(struct diagnose_values, select),
        WT_SELECT_REFUSED_OPTION(struct diagnose_values, select, kernel),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct diagnose_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        WT_SELECT_ALL_OPTION(struct diagnose_values, select),
        WT_RUN_OPTION(struct diagnose_values, run),
        {0},
};

/* "2", "2%", "0.5%" as a share; left alone if there is no text. */
static int parse_percent(const char *option, const char *text, double *share)
{
	double percent;
	char *end;

	if (!text)
		return WT_EXIT_FINE;
	percent = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(percent >= 0 && percent <= 100))
		return wt_cli_usage_error(
		        "diagnose", "--%s: \"%s\" is not a percentage from 0 to 100", option, text);
	*share = percent / 100;
	return WT_EXIT_FINE;
}

static int parse_limits(const struct diagnose_values *values, struct wt_diagnose_limits *limits)
{
	int code;

	*limits = (struct wt_diagnose_limits){.threshold = WT_DIAGNOSE_THRESHOLD_PERCENT / 100,
	                                      .overlap = WT_DIAGNOSE_OVERLAP_PERCENT / 100,
	                                      .graph_gap_ns = WT_DIAGNOSE_GRAPH_GAP_NS};
	code = parse_percent("threshold", values->threshold, &limits->threshold);
	if (!code)
		code = parse_percent("overlap", values->overlap, &limits->overlap);
	if (!code && values->graph_gap && wt_parse_time(values->graph_gap, &limits->graph_gap_ns))
		code = wt_cli_usage_error(
		        "diagnose",
		        "--graph-gap: \"%s\" is no time with a unit, " WT_PARSE_TIME_UNITS,
		        values->graph_gap);
	return code;
}

/* ---- text */

static void print_finding(FILE *out, const struct wt_text_terminal *terminal, size_t number,
                          const struct wt_diagnosis *diagnosis, const struct wt_finding *finding,
                          double sms)
{
	char least[WT_TEXT_NUMBER_BYTES], most[WT_TEXT_NUMBER_BYTES], time[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	wt_text_percent(least, finding->stake_sm_ns, diagnosis->total_sm_ns);
	wt_text_percent(most, finding->stake_max_sm_ns, diagnosis->total_sm_ns);
	fputc('\n', out);
	if (!strcmp(least, most))
		wt_phrase_add(&line, "%zu. %s%%", number, most);
	else
		wt_phrase_add(&line, "%zu. %s to %s%%", number, least, most);
	wt_phrase_add(&line, "%s of the GPU",
	              wt_text_ns(time, (int64_t)(finding->stake_max_sm_ns / sms)));
	wt_phrase_add(&line, "%s", finding->title);
	if (strcmp(finding->grade, "model") != 0)
		wt_phrase_add(&line, "(%s)", finding->grade);
	wt_phrase_end(&line);
	wt_phrase_words(&line, 9, "   seen: %s", finding->evidence);
	wt_phrase_end(&line);
	wt_phrase_words(&line, 9, "   why:  %s", finding->explanation);
	wt_phrase_end(&line);
	wt_phrase_words(&line, 9, "   try:  %s", finding->advice);
	wt_phrase_end(&line);
}

/* Kernels that look wasteful and may be as they should. */
static void print_left(const struct wt_text_terminal *terminal,
                       const struct wt_diagnosis *diagnosis)
{
	struct wt_phrase line;

	fputs("\nleft in peace:\n", stdout);
	wt_phrase_init(&line, stdout, terminal);
	for (size_t i = 0; i < diagnosis->left_count; i++) {
		bool is_told = false;

		for (size_t k = 0; k < i; k++)
			is_told |= !strcmp(diagnosis->left[k].reason, diagnosis->left[i].reason);
		if (is_told)
			continue;
		wt_phrase_words(&line, 3, "   %s:", diagnosis->left[i].reason);
		wt_phrase_end(&line);
		for (size_t k = i; k < diagnosis->left_count; k++) {
			const struct wt_left *left = &diagnosis->left[k];
			char percent[WT_TEXT_NUMBER_BYTES];

			if (strcmp(left->reason, diagnosis->left[i].reason) != 0)
				continue;
			wt_text_percent(percent, left->kernel_sm_ns, diagnosis->total_sm_ns);
			wt_phrase_words(&line, 9, "     %4s%%  %s", percent, left->kernel);
			wt_phrase_end(&line);
		}
	}
}

static void print_sum(const struct wt_text_terminal *terminal, const struct wt_diagnosis *diagnosis,
                      size_t shown)
{
	char percent[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;
	double sum = 0;

	for (size_t i = 0; i < diagnosis->count; i++)
		sum += diagnosis->findings[i].stake_max_sm_ns;
	wt_phrase_init(&line, stdout, terminal);
	if (shown < diagnosis->count)
		wt_phrase_add(&line, "%zu more with --limit 0", diagnosis->count - shown);
	wt_phrase_add(&line,
	              "Stakes are bounds of SM-time, and no two count the same: together at most "
	              "%s%% of SMs x wall.",
	              wt_text_percent(percent, sum, diagnosis->total_sm_ns));
	wt_phrase_add(&line, "What one gives up another may show.");
	wt_phrase_end(&line);
}

/* What NVML said, also where it is not worth a finding. */
static void print_states(const struct wt_ledger_view *view, const struct wt_text_terminal *terminal)
{
	const struct wt_ledger *ledger = &view->ledger;
	struct wt_phrase line;

	wt_phrase_init(&line, stdout, terminal);
	for (size_t i = 0; i < ledger->device_count; i++) {
		struct wt_gpu_states states;

		if (wt_gpu_states_load(view->run.db, ledger->devices[i].device_id, ledger->start_ns,
		                       ledger->end_ns, &states) ||
		    (!states.throttled && !states.foreign))
			continue;
		if (ledger->device_count > 1)
			wt_phrase_add(&line, "device %" PRId64, ledger->devices[i].device_id);
		wt_gpu_states_say(&line, &states);
		wt_phrase_end(&line);
	}
}

static void print_text(const struct wt_ledger_view *view, const struct wt_diagnosis *diagnosis,
                       const struct wt_diagnose_limits *limits, size_t limit)
{
	char percent[WT_TEXT_NUMBER_BYTES];
	struct wt_text_terminal terminal;
	struct wt_phrase line;
	size_t shown = diagnosis->count < limit ? diagnosis->count : limit;
	double sms = 0;

	for (size_t i = 0; i < view->ledger.device_count; i++)
		sms += (double)view->ledger.devices[i].sms / (double)view->ledger.device_count;
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	if (!diagnosis->count)
		printf("nothing above %.4g%% of SM-time\n", 100 * limits->threshold);
	for (size_t i = 0; i < shown; i++)
		print_finding(stdout, &terminal, i + 1, diagnosis, &diagnosis->findings[i], sms);
	if (diagnosis->left_count)
		print_left(&terminal, diagnosis);
	if (diagnosis->count) {
		fputc('\n', stdout);
		print_sum(&terminal, diagnosis, shown);
	}
	wt_phrase_init(&line, stdout, &terminal);
	if (diagnosis->measured_share > 0)
		wt_phrase_words(&line, 2,
		                "blocks of unequal length: measured for %s%% of the kernels' "
		                "SM-time, not known of the rest",
		                wt_text_percent(percent, diagnosis->measured_share, 1));
	else
		wt_phrase_words(&line, 2,
		                "blocks of unequal length: not known without a measurement; a "
		                "kernel's times that vary hint at them");
	wt_phrase_end(&line);
	print_states(view, &terminal);
	wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
}

/* ---- JSON */

static void put_string(struct wt_json *json, const char *key, const char *text)
{
	wt_json_key(json, key);
	wt_json_string(json, text);
}

static void put_finding(struct wt_json *json, const struct wt_diagnosis *diagnosis,
                        const struct wt_finding *finding)
{
	wt_json_object_begin(json);
	put_string(json, "kind", finding->kind);
	put_string(json, "title", finding->title);
	wt_json_key(json, "kernel_id");
	if (finding->kernel_id)
		wt_json_int(json, finding->kernel_id);
	else
		wt_json_null(json);
	wt_json_key(json, "stake_sm_us");
	wt_json_fixed(json, finding->stake_sm_ns / 1e3, 3);
	wt_json_key(json, "stake_max_sm_us");
	wt_json_fixed(json, finding->stake_max_sm_ns / 1e3, 3);
	wt_json_key(json, "share");
	wt_json_fixed(json, finding->stake_sm_ns / diagnosis->total_sm_ns, 6);
	wt_json_key(json, "share_max");
	wt_json_fixed(json, finding->stake_max_sm_ns / diagnosis->total_sm_ns, 6);
	wt_json_key(json, "is_ledger_line");
	wt_json_bool(json, finding->is_ledger_line);
	put_string(json, "seen", finding->evidence);
	put_string(json, "why", finding->explanation);
	put_string(json, "try", finding->advice);
	put_string(json, "evidence", finding->grade);
	wt_json_object_end(json);
}

static void put_left(struct wt_json *json, const struct wt_diagnosis *diagnosis)
{
	wt_json_key(json, "left_in_peace");
	wt_json_array_begin(json);
	for (size_t i = 0; i < diagnosis->left_count; i++) {
		wt_json_object_begin(json);
		wt_json_key(json, "kernel_id");
		wt_json_int(json, diagnosis->left[i].kernel_id);
		put_string(json, "kernel", diagnosis->left[i].kernel);
		wt_json_key(json, "kernel_sm_us");
		wt_json_fixed(json, diagnosis->left[i].kernel_sm_ns / 1e3, 3);
		put_string(json, "reason", diagnosis->left[i].reason);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}

/* What NVML said of each device that it was asked about. */
static void put_states(struct wt_json *json, const struct wt_ledger_view *view)
{
	const struct wt_ledger *ledger = &view->ledger;

	wt_json_key(json, "gpu_states");
	wt_json_array_begin(json);
	for (size_t i = 0; i < ledger->device_count; i++) {
		char reasons[WT_THROTTLE_TEXT_BYTES];
		struct wt_gpu_states states;

		if (wt_gpu_states_load(view->run.db, ledger->devices[i].device_id, ledger->start_ns,
		                       ledger->end_ns, &states) ||
		    !states.count)
			continue;
		wt_throttle_text(reasons, states.reasons);
		wt_json_object_begin(json);
		wt_json_key(json, "device_id");
		wt_json_int(json, ledger->devices[i].device_id);
		wt_json_key(json, "readings");
		wt_json_int(json, states.count);
		wt_json_key(json, "throttled_readings");
		wt_json_int(json, states.throttled);
		put_string(json, "throttled", reasons[0] ? reasons : NULL);
		wt_json_key(json, "foreign_readings");
		if (states.foreign_known)
			wt_json_int(json, states.foreign);
		else
			wt_json_null(json);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}

static int print_json(const struct wt_ledger_view *view, const struct wt_diagnosis *diagnosis,
                      const struct wt_diagnose_limits *limits, size_t limit)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
	wt_json_key(&json, "threshold");
	wt_json_fixed(&json, limits->threshold, 6);
	wt_json_key(&json, "overlap");
	wt_json_fixed(&json, limits->overlap, 6);
	wt_json_key(&json, "graph_gap_ns");
	wt_json_int(&json, limits->graph_gap_ns);
	wt_json_key(&json, "findings");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < diagnosis->count && i < limit; i++)
		put_finding(&json, diagnosis, &diagnosis->findings[i]);
	wt_json_array_end(&json);
	put_left(&json, diagnosis);
	wt_json_key(&json, "measured_share");
	wt_json_fixed(&json, diagnosis->measured_share, 6);
	put_states(&json, view);
	wt_json_object_end(&json);
	return wt_cli_output_result(wt_json_finish(&json));
}

/* ---- the command */

static int diagnose(const struct diagnose_values *values, struct wt_ledger_view *view,
                    struct wt_gaps *gaps, const struct wt_diagnose_limits *limits)
{
	struct wt_diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	int64_t limit = values->limit >= 0 ? values->limit : values->is_json ? 0 : DEFAULT_LIMIT;
	size_t shown = limit ? (size_t)limit : SIZE_MAX;
	int code = WT_EXIT_FINE;
	int rc = diagnosis ? wt_diagnose(view->run.db, &view->ledger, gaps, limits, diagnosis)
	                   : -ENOMEM;

	if (rc) {
		wt_cli_error("%s: %s", view->run.info.path,
		             rc == -EIO ? diagnosis->problem : strerror(-rc));
		code = WT_EXIT_FAILED;
	} else if (values->is_json) {
		code = print_json(view, diagnosis, limits, shown);
	} else {
		print_text(view, diagnosis, limits, shown);
	}
	free(diagnosis);
	return code;
}

static int run_diagnose(void *opaque, int operand_count, char **operands)
{
	const struct diagnose_values *values = opaque;
	struct wt_ledger_view view = {0};
	struct wt_ledger_observer observer;
	struct wt_diagnose_limits limits;
	struct wt_select select;
	struct wt_gaps gaps;
	int code = parse_limits(values, &limits);

	(void)operand_count;
	(void)operands;
	if (code)
		return code;
	wt_gaps_init(&gaps, limits.graph_gap_ns);
	wt_gaps_observe(&gaps, &observer);
	code = wt_select_parse("diagnose", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: findings are about all kernels of a device; show and top "
		             "are about one");
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = wt_ledger_open_observed(values->run, &select, &observer, &view);
	if (!code)
		code = wt_select_hide_kernels(&select, &view.run);
	if (!code)
		code = diagnose(values, &view, &gaps, &limits);
	wt_gaps_fini(&gaps);
	wt_ledger_close(&view);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_diagnose = {
        .name = "diagnose",
        .summary = "what costs most SM-time, why, and what to try",
        .details = "Findings, ranked by the SM-time at stake, which is a bound: what was "
                   "seen, why it costs, what to try. No two count the same SM-time.",
        .example = "wavetap diagnose --threshold 5",
        .options = diagnose_options,
        .values_bytes = sizeof(struct diagnose_values),
        .run = run_diagnose,
};

/*
 * ledger_lines.c - see ledger_lines.h. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json_run.h"
#include "cli/ledger_lines.h"
#include "cli/measured.h"
#include "cli/phrase.h"
#include "cli/select.h"
#include "cli/top_text.h"

static const char needs_measurement[] = "needs a measurement";

static const char *const cause_meanings[WT_GAP_CAUSE_MAX] = {
        [WT_GAP_COPY] = "a copy or memset ran",
        [WT_GAP_GRAPH] = "between nodes of one graph launch",
        [WT_GAP_LOAD] = "the program loaded or compiled code",
        [WT_GAP_PROFILER] = "CUPTI held the launching thread up",
        [WT_GAP_SYNC] = "launching thread waited for the GPU",
        [WT_GAP_ALLOC] = "it allocated, freed or built a graph",
        [WT_GAP_HOST] = "the program had not asked yet",
        [WT_GAP_LAUNCH] = "asked, but not on the GPU yet",
        [WT_GAP_DEPENDENCY] = "after an event or host function",
        [WT_GAP_TURNAROUND] = "queued back to back",
        [WT_GAP_UNKNOWN] = "launch not known, or kernels lost",
        [WT_GAP_UNDECIDED] = "within the error of the clocks",
        [WT_GAP_STARTUP] = "its process had launched nothing yet",
        [WT_GAP_AFTER] = "no kernel came any more",
};

const char *wt_gap_cause_meaning(enum wt_gap_cause cause)
{
	return cause < WT_GAP_CAUSE_MAX ? cause_meanings[cause] : "";
}

static void add(struct wt_ledger_line *lines, size_t *count, struct wt_ledger_line line)
{
	lines[(*count)++] = line;
}

int64_t wt_ledger_measured(const struct wt_ledger_device *device,
                           int64_t ret_parts_sm_ns[WT_EVIDENCE_MAX])
{
	for (int i = 0; i < WT_EVIDENCE_MAX; i++)
		ret_parts_sm_ns[i] = wt_measure_sm_ns(&device->measured[i]);
	return wt_measure_sm_ns(&device->share);
}

/* A line of the sweep's; `offset` is that of its number in struct wt_sweep_share. */
static void add_share(struct wt_ledger_line *lines, size_t *count,
                      const struct wt_ledger_device *device, size_t offset,
                      struct wt_ledger_line line)
{
	line.sm_ns = *(const int64_t *)((const char *)&device->share + offset);
	for (int i = 0; i < WT_EVIDENCE_MAX; i++)
		line.parts_sm_ns[i] =
		        *(const int64_t *)((const char *)&device->measured[i] + offset);
	add(lines, count, line);
}
#define ADD_SHARE(field, ...)                                                                      \
	add_share(lines, &n, device, offsetof(struct wt_sweep_share, field),                       \
	          (struct wt_ledger_line){__VA_ARGS__})

/* What the kernels had. Their number. */
static size_t share_lines(const struct wt_ledger_device *device, struct wt_ledger_line *lines)
{
	const struct wt_sweep_share *share = &device->share;
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], whole_sm_ns = wt_ledger_measured(device, parts_sm_ns);
	bool is_measured = strcmp(wt_measured_word(whole_sm_ns, parts_sm_ns), "model") != 0;
	const char *reason = is_measured ? NULL : needs_measurement;
	size_t n = 0;

	ADD_SHARE(active_sm_ns, "active", "active_sm_ns",
	          is_measured ? "SMs with blocks" : "SMs with blocks, at the most", 0, -1, NULL,
	          false, {0});
	if (share->active_comm_sm_ns)
		ADD_SHARE(active_comm_sm_ns, "collectives", "active_comm_sm_ns",
		          "of it: SMs of NCCL and NVSHMEM kernels", 0, -1, NULL, true, {0});
	ADD_SHARE(underfill_sm_ns, "underfill", "underfill_sm_ns", "SMs that never got a block", 0,
	          -1, NULL, false, {0});
	ADD_SHARE(wave_sm_ns, "wave", "wave_sm_ns",
	          is_measured ? "partial last waves" : "partial last waves, at the least", 0,
	          share->wave_max_sm_ns, NULL, false, {0});
	ADD_SHARE(straggle_sm_ns, "straggle", "straggle_sm_ns", "unequal blocks", 0, -1, reason,
	          false, {0});
	ADD_SHARE(ramp_sm_ns, "ramp", "ramp_sm_ns", "launch and drain in a kernel", 0, -1, reason,
	          false, {0});
	ADD_SHARE(unjudged_sm_ns, "unjudged", "unjudged_sm_ns",
	          "no model fits, or kernels share SMs", 0, -1, NULL, false, {0});
	ADD_SHARE(comm_sm_ns, "comm", "comm_sm_ns", "idle while only collectives ran", 0, -1, NULL,
	          false, {0});
	return n;
}
#undef ADD_SHARE

size_t wt_ledger_lines(const struct wt_ledger_device *device,
                       struct wt_ledger_line lines[WT_LEDGER_LINES_MAX])
{
	size_t n = share_lines(device, lines);
	int64_t gap_sm_ns = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		gap_sm_ns += device->gap_ns[cause] * device->sms;
	add(lines, &n,
	    (struct wt_ledger_line){
	            "gaps", NULL, "no kernel ran", gap_sm_ns, -1, NULL, false, {0}});
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		if (device->gap_ns[cause])
			add(lines, &n,
			    (struct wt_ledger_line){wt_gap_cause_name((enum wt_gap_cause)cause),
			                            NULL,
			                            cause_meanings[cause],
			                            device->gap_ns[cause] * device->sms,
			                            -1,
			                            NULL,
			                            true,
			                            {0}});
	add(lines, &n,
	    (struct wt_ledger_line){"residual",
	                            "residual_sm_ns",
	                            "what the lines above leave",
	                            device->residual_sm_ns,
	                            -1,
	                            NULL,
	                            false,
	                            {0}});
	return n;
}

void wt_ledger_add_evidence(struct wt_phrase *line, const struct wt_ledger *ledger)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX] = {0}, whole_sm_ns = 0;
	char text[WT_MEASURED_TEXT_BYTES];

	for (size_t i = 0; i < ledger->device_count; i++) {
		int64_t parts[WT_EVIDENCE_MAX];

		/* Of many devices the sum may not fit: in SM-microseconds. */
		whole_sm_ns += wt_ledger_measured(&ledger->devices[i], parts) / 1000;
		for (int k = 0; k < WT_EVIDENCE_MAX; k++)
			parts_sm_ns[k] += parts[k] / 1000;
	}
	wt_phrase_add(line, "evidence: %s%s", wt_measured_text(text, whole_sm_ns, parts_sm_ns),
	              strcmp(wt_measured_word(whole_sm_ns, parts_sm_ns), "mixed") ? ""
	                                                                          : ", else model");
}

void wt_ledger_print_device(FILE *out, const struct wt_text_terminal *terminal,
                            const struct wt_ledger_device *device)
{
	char *name =
	        wt_text_escape(device->name, terminal->is_utf8); /* the file may say anything */

	fprintf(out, "\ndevice %" PRId64 "  %s  %" PRId64 " SMs\n", device->device_id,
	        name ? name : "?", device->sms);
	free(name);
}

void wt_ledger_print_run(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_run_file *run, const struct wt_ledger *ledger)
{
	char number[WT_TEXT_NUMBER_BYTES];
	const struct wt_ledger_device *first = ledger->devices;
	int64_t kernels = 0;
	struct wt_phrase line;

	for (size_t i = 0; i < ledger->device_count; i++)
		kernels += ledger->devices[i].kernels;
	wt_phrase_init(&line, out, terminal);
	wt_phrase_add(&line, "run %s", run->info.id);
	if (run->info.name[0])
		wt_phrase_add(&line, "%s", run->info.name);
	if (ledger->device_count == 1)
		wt_phrase_add(&line, "1x %s %" PRId64 " SMs", first->name, first->sms);
	else
		wt_phrase_add(&line, "%zu devices", ledger->device_count);
	wt_top_print_window(&line, ledger->select, ledger->steps,
	                    ledger->end_ns - ledger->start_ns);
	if (ledger->is_samples_alone) {
		wt_phrase_add(&line, "no kernels");
		wt_phrase_add(&line, "evidence: sampled");
	} else {
		wt_phrase_add(&line, "%s kernels", wt_text_count(number, kernels));
		wt_ledger_add_evidence(&line, ledger);
	}
	wt_phrase_end(&line);
	wt_top_print_selection(&line, ledger->select);
	wt_top_print_apart(&line, ledger->steps);
}

void wt_ledger_say_losses(struct wt_phrase *line, const struct wt_ledger *ledger,
                          const struct wt_report *losses)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	int64_t kernels = 0, refused = 0, lost = wt_report_kernels_lost(&losses->loss);

	for (size_t i = 0; i < ledger->device_count; i++) {
		kernels += ledger->devices[i].kernels;
		refused += ledger->devices[i].kernels_refused;
	}
	if (ledger->select) /* when something was lost is not known */
		kernels = ledger->select->run_launches;
	wt_phrase_add(line, "clocks of CPU and GPU taken to agree within %s",
	              wt_text_ns(a, ledger->clock_error_ns));
	wt_phrase_add(line, "lost %s of %s kernels%s%s", wt_text_count(a, lost),
	              wt_text_count(b, kernels + lost), ledger->select ? " in the whole run" : "",
	              lost || losses->loss.graph_launches_unobserved ? ": gaps may hold their time"
	                                                             : "");
	if (refused)
		wt_phrase_add(line, "%s kernels with impossible times or SMs left out",
		              wt_text_count(a, refused));
	if (ledger->kernels_without_sms)
		wt_phrase_add(line, "%s kernels on devices with an unknown number of SMs left out",
		              wt_text_count(a, ledger->kernels_without_sms));
	wt_cost_add(line, &losses->cost, ledger->select ? " in the whole run" : "");
	wt_phrase_end(line);
}

void wt_ledger_print_losses(FILE *out, const struct wt_text_terminal *terminal,
                            const struct wt_ledger *ledger, const struct wt_report *losses)
{
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	wt_phrase_add(&line, ". not knowable");
	wt_ledger_say_losses(&line, ledger, losses);
	wt_top_print_losses(out, terminal, losses);
}

void wt_ledger_print_samples_alone(FILE *out, const struct wt_text_terminal *terminal,
                                   const struct wt_report *losses)
{
	struct wt_phrase line;
	char why[400];

	wt_report_why_empty(losses, why, sizeof(why));
	wt_phrase_init(&line, out, terminal);
	if (losses->has_samples_alone)
		wt_phrase_add(&line, "no program was recorded: where the rest of SMs x time went "
		                     "only wavetap run can tell");
	else
		wt_phrase_add(&line, "no kernels to account for: %s", why);
	wt_phrase_end(&line);
	wt_top_print_losses(out, terminal, losses);
}

void wt_ledger_json_head(struct wt_json *json, const struct wt_run_file *run,
                         const struct wt_ledger *ledger, const struct wt_report *losses)
{
	wt_json_put_run(json, run);
	wt_select_put_json(json, ledger->select);
	wt_json_key(json, "window");
	wt_json_object_begin(json);
	wt_json_key(json, "start_ns");
	wt_json_int(json, ledger->start_ns);
	wt_json_key(json, "end_ns");
	wt_json_int(json, ledger->end_ns);
	wt_json_key(json, "wall_ns");
	wt_json_int(json, ledger->end_ns - ledger->start_ns);
	wt_json_object_end(json);
	wt_select_put_steps(json, ledger->steps);
	wt_json_key(json, "clock_error_ns");
	wt_json_int(json, ledger->clock_error_ns);
	wt_json_key(json, "kernels_without_sms");
	wt_json_int(json, ledger->kernels_without_sms);
	wt_cost_put(json, &losses->cost);
	wt_json_key(json, "loss");
	wt_json_put_loss(json, &losses->loss);
	wt_json_put_incomplete(json, losses);
}

static int explain_empty(const struct wt_ledger_view *view)
{
	char why[400];

	wt_report_why_empty(&view->losses, why, sizeof(why));
	wt_cli_error("run %s has no kernels to account for: %s", view->run.info.id, why);
	return WT_EXIT_NO_DATA;
}

/* How much of a ledger is asked for. */
enum extent { DEVICES_ALONE, WITH_KERNELS };

static int open_view(const char *spec, struct wt_select *select, enum extent extent,
                     int64_t bucket_ns, const struct wt_ledger_observer *observer,
                     struct wt_ledger_view *view)
{
	const char *problem = NULL;
	int code, rc;

	*view = (struct wt_ledger_view){.takes_samples = view->takes_samples};
	code = wt_run_file_open(spec, &view->run);
	if (code)
		return code;
	view->is_open = true;
	select->takes_sums =
	        extent == DEVICES_ALONE && !observer && wt_ledger_has_sums(view->run.db);
	code = wt_select_apply_devices(select, &view->run);
	if (code)
		return code;
	rc = observer ? wt_ledger_load_observed(view->run.db, select, observer, &view->ledger)
	     : extent == DEVICES_ALONE
	             ? wt_ledger_load_devices(view->run.db, select, &view->ledger)
	             : wt_ledger_load_buckets(view->run.db, select, bucket_ns, &view->ledger);
	if (rc == -EIO)
		problem = view->ledger.problem;
	if (!rc) {
		rc = wt_report_load_losses(view->run.db, &view->losses);
		if (rc == -EIO)
			problem = view->losses.problem;
	}
	if (rc == -E2BIG) {
		wt_cli_error("--width makes more than %d stretches", WT_LEDGER_BUCKETS_MAX);
		return WT_EXIT_USAGE;
	}
	if (rc == -ERANGE)
		problem = "times or SMs of a device are beyond what can be";
	if (rc) {
		wt_cli_error("%s: %s", view->run.info.path, problem ? problem : strerror(-rc));
		return WT_EXIT_FAILED;
	}
	if (!view->ledger.device_count || view->ledger.end_ns <= view->ledger.start_ns ||
	    (view->ledger.is_samples_alone && !view->takes_samples))
		return explain_empty(view);
	return WT_EXIT_FINE;
}

int wt_ledger_open(const char *spec, struct wt_select *select, struct wt_ledger_view *view)
{
	return open_view(spec, select, WITH_KERNELS, 0, NULL, view);
}

int wt_ledger_open_devices(const char *spec, struct wt_select *select, struct wt_ledger_view *view)
{
	return open_view(spec, select, DEVICES_ALONE, 0, NULL, view);
}

int wt_ledger_open_buckets(const char *spec, struct wt_select *select, int64_t bucket_ns,
                           struct wt_ledger_view *view)
{
	return open_view(spec, select, WITH_KERNELS, bucket_ns, NULL, view);
}

int wt_ledger_open_observed(const char *spec, struct wt_select *select,
                            const struct wt_ledger_observer *observer, struct wt_ledger_view *view)
{
	return open_view(spec, select, WITH_KERNELS, 0, observer, view);
}

void wt_ledger_close(struct wt_ledger_view *view)
{
	if (!view->is_open)
		return;
	wt_ledger_fini(&view->ledger);
	wt_report_fini(&view->losses);
	wt_run_file_close(&view->run);
}

/*
 * metrics_run.c - see metrics_run.h. Blocks as the FILE does; single-threaded.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/ledger.h"
#include "cli/ledger_lines.h"
#include "cli/measured.h"
#include "cli/metrics_run.h"

#define LABELS_MAX 6

/* Labels of the sample in work; `run` is the first. */
struct labels {
	struct wt_metrics_label at[LABELS_MAX];
	size_t count;
	char device[24], rank[24], kernel_id[24];
};

static void begin_labels(struct labels *labels, const struct wt_metrics_run *run)
{
	labels->count = 1;
	labels->at[0] = (struct wt_metrics_label){"run", run->info->id};
}

static void add_label(struct labels *labels, const char *name, const char *value)
{
	if (labels->count < LABELS_MAX)
		labels->at[labels->count++] = (struct wt_metrics_label){name, value};
}

static void family(struct wt_metrics *metrics, const char *name, enum wt_metrics_type type,
                   const char *unit, const char *help)
{
	const struct wt_metrics_family family = {name, type, unit, help};

	wt_metrics_family(metrics, &family);
}

/* ---- the run */

static void put_facts(struct wt_metrics *metrics, const struct wt_metrics_run *run)
{
	const struct wt_report *report = run->kernels;
	struct labels labels;

	family(metrics, "wavetap_run", WT_METRICS_INFO, "", "The run that all samples are of.");
	begin_labels(&labels, run);
	add_label(&labels, "name", run->info->name[0] ? run->info->name : NULL);
	add_label(&labels, "hostname", run->info->hostname);
	add_label(&labels, "version", run->version);
	wt_metrics_count(metrics, labels.at, labels.count, 1);
	begin_labels(&labels, run);
	family(metrics, "wavetap_window", WT_METRICS_GAUGE, "seconds",
	       "Length of the part of the run that sums of kernels and devices are over.");
	if (report->has_window)
		wt_metrics_ns(metrics, labels.at, labels.count, report->end_ns - report->start_ns);
	family(metrics, "wavetap_processes", WT_METRICS_GAUGE, "", "Processes seen.");
	wt_metrics_count(metrics, labels.at, labels.count, report->processes);
	family(metrics, "wavetap_processes_live", WT_METRICS_GAUGE, "",
	       "Processes that go on; then losses are not final.");
	wt_metrics_count(metrics, labels.at, labels.count, report->processes_live);
	family(metrics, "wavetap_run_file", WT_METRICS_GAUGE, "bytes", "Size of the run file.");
	wt_metrics_count(metrics, labels.at, labels.count, run->info->file_bytes);
}

/* ---- devices */

static void begin_device(struct labels *labels, const struct wt_metrics_run *run,
                         const struct wt_ledger_device *device)
{
	begin_labels(labels, run);
	snprintf(labels->device, sizeof(labels->device), "%" PRId64, device->device_id);
	add_label(labels, "device", labels->device);
}

static void put_device_lines(struct wt_metrics *metrics, const struct wt_metrics_run *run,
                             const struct wt_ledger_device *device)
{
	struct wt_ledger_line lines[WT_LEDGER_LINES_MAX];
	size_t count = wt_ledger_lines(device, lines);
	struct labels labels;

	for (size_t i = 0; i < count; i++) {
		if (!lines[i].key || lines[i].is_part || lines[i].reason ||
		    !strcmp(lines[i].name, "residual"))
			continue;
		begin_device(&labels, run, device);
		add_label(&labels, "state", lines[i].name);
		add_label(&labels, "evidence",
		          wt_measured_word(lines[i].sm_ns, lines[i].parts_sm_ns));
		wt_metrics_ns(metrics, labels.at, labels.count, lines[i].sm_ns);
	}
}

static void put_device_gaps(struct wt_metrics *metrics, const struct wt_metrics_run *run,
                            const struct wt_ledger_device *device)
{
	struct labels labels;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		begin_device(&labels, run, device);
		add_label(&labels, "cause", wt_gap_cause_name((enum wt_gap_cause)cause));
		wt_metrics_ns(metrics, labels.at, labels.count,
		              device->gap_ns[cause] * device->sms);
	}
}

enum device_figure { DEVICE_SMS, DEVICE_TOTAL, DEVICE_BUSY, DEVICE_KERNELS, DEVICE_FIGURES };

static const struct {
	const char *name, *unit, *help;
	enum wt_metrics_type type;
} device_figures[DEVICE_FIGURES] = {
        [DEVICE_SMS] = {"wavetap_device_sms", "", "SMs of the device.", WT_METRICS_GAUGE},
        [DEVICE_TOTAL] = {"wavetap_device_all_sm", "seconds",
                          "SMs x length of the window: what states and gaps sum to.",
                          WT_METRICS_COUNTER},
        [DEVICE_BUSY] = {"wavetap_device_kernel_running", "seconds",
                         "Time in which at least one kernel ran, which is what nvidia-smi counts.",
                         WT_METRICS_COUNTER},
        [DEVICE_KERNELS] = {"wavetap_device_kernels", "", "Kernels that ran.", WT_METRICS_COUNTER},
};

static void put_device_figure(struct wt_metrics *metrics, const struct labels *labels,
                              const struct wt_ledger_device *device, enum device_figure figure)
{
	if (figure == DEVICE_TOTAL)
		wt_metrics_ns(metrics, labels->at, labels->count, device->total_sm_ns);
	else if (figure == DEVICE_BUSY)
		wt_metrics_ns(metrics, labels->at, labels->count, device->busy_ns);
	else
		wt_metrics_count(metrics, labels->at, labels->count,
		                 figure == DEVICE_SMS ? device->sms : device->kernels);
}

static void put_activity(struct wt_metrics *metrics, const struct wt_metrics_run *run,
                         const struct wt_ledger *ledger, bool is_coverage)
{
	struct labels labels;

	for (size_t i = 0; run->activity && i < ledger->device_count; i++) {
		if (!run->activity[i].has_samples)
			continue;
		begin_device(&labels, run, &ledger->devices[i]);
		wt_metrics_double(metrics, labels.at, labels.count,
		                  is_coverage ? run->activity[i].coverage
		                              : run->activity[i].sampled_share);
	}
}

static void put_devices(struct wt_metrics *metrics, const struct wt_metrics_run *run)
{
	const struct wt_ledger *ledger = run->kernels->ledger;
	struct labels labels;

	if (!ledger)
		return;
	family(metrics, "wavetap_device", WT_METRICS_INFO, "", "Which device it is.");
	for (size_t i = 0; i < ledger->device_count; i++) {
		begin_device(&labels, run, &ledger->devices[i]);
		add_label(&labels, "name", ledger->devices[i].name);
		add_label(&labels, "uuid", ledger->devices[i].uuid);
		wt_metrics_count(metrics, labels.at, labels.count, 1);
	}
	for (int figure = 0; figure < DEVICE_FIGURES; figure++) {
		family(metrics, device_figures[figure].name, device_figures[figure].type,
		       device_figures[figure].unit, device_figures[figure].help);
		for (size_t i = 0; i < ledger->device_count; i++) {
			begin_device(&labels, run, &ledger->devices[i]);
			put_device_figure(metrics, &labels, &ledger->devices[i],
			                  (enum device_figure)figure);
		}
	}
	family(metrics, "wavetap_device_sm", WT_METRICS_COUNTER, "seconds",
	       "SM-time while kernels ran, by state: active, and idle by cause.");
	for (size_t i = 0; i < ledger->device_count; i++)
		put_device_lines(metrics, run, &ledger->devices[i]);
	family(metrics, "wavetap_device_gap_sm", WT_METRICS_COUNTER, "seconds",
	       "SM-time while no kernel ran, by cause.");
	for (size_t i = 0; i < ledger->device_count; i++)
		put_device_gaps(metrics, run, &ledger->devices[i]);
	family(metrics, "wavetap_device_sm_active", WT_METRICS_GAUGE, "ratio",
	       "SMs with a warp resident, of SMs x time that was sampled.");
	put_activity(metrics, run, ledger, false);
	family(metrics, "wavetap_device_sampled", WT_METRICS_GAUGE, "ratio",
	       "Time that was sampled, of the window.");
	put_activity(metrics, run, ledger, true);
}

/* ---- kernels and ranks: rows of a report */

struct rows {
	const struct wt_metrics_run *run;
	const struct wt_report *report;
	struct wt_report_row rest; /* kernels beyond the limit, summed */
	size_t count; /* of rows that have samples of their own */
	bool has_rest, is_ranks;
};

static void begin_row(struct labels *labels, const struct rows *rows,
                      const struct wt_report_row *row)
{
	begin_labels(labels, rows->run);
	if (rows->is_ranks) {
		snprintf(labels->rank, sizeof(labels->rank), "%" PRId64, row->rank);
		add_label(labels, "rank", row->rank < 0 ? "none" : labels->rank);
		return;
	}
	snprintf(labels->kernel_id, sizeof(labels->kernel_id), "%" PRId64, row->kernel_id);
	add_label(labels, "kernel",
	          row == &rows->rest  ? "(all others)"
	          : row->kernel_shown ? row->kernel_shown
	                              : row->kernel);
	add_label(labels, "kernel_id", row == &rows->rest ? NULL : labels->kernel_id);
}

static void put_states(struct wt_metrics *metrics, const struct rows *rows,
                       const struct wt_report_row *row)
{
	const struct {
		const char *state;
		int64_t sm_ns;
		size_t offset;
		bool is_known;
	} states[] = {
	        {"active", row->active_sm_ns, offsetof(struct wt_sweep_share, active_sm_ns),
	         rows->report->has_active},
	        {"underfill", row->underfill_sm_ns,
	         offsetof(struct wt_sweep_share, underfill_sm_ns), true},
	        {"wave", row->wave_sm_ns, offsetof(struct wt_sweep_share, wave_sm_ns),
	         row->has_wave},
	        {"straggle", row->straggle_sm_ns, offsetof(struct wt_sweep_share, straggle_sm_ns),
	         row->has_measured},
	        {"ramp", row->ramp_sm_ns, offsetof(struct wt_sweep_share, ramp_sm_ns),
	         row->has_measured},
	        {"unjudged", row->unjudged_sm_ns, offsetof(struct wt_sweep_share, unjudged_sm_ns),
	         true},
	        {"comm", row->comm_sm_ns, offsetof(struct wt_sweep_share, comm_sm_ns), true},
	};
	struct labels labels;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (!states[i].is_known)
			continue;
		begin_row(&labels, rows, row);
		add_label(&labels, "state", states[i].state);
		add_label(&labels, "evidence",
		          wt_report_row_evidence(row, states[i].sm_ns, states[i].offset));
		wt_metrics_ns(metrics, labels.at, labels.count, states[i].sm_ns);
	}
}

enum row_figure { ROW_LAUNCHES, ROW_TIME, ROW_STATES, ROW_GAP, ROW_FIGURES };

static void put_row(struct wt_metrics *metrics, const struct rows *rows,
                    const struct wt_report_row *row, enum row_figure figure)
{
	struct labels labels;

	begin_row(&labels, rows, row);
	if (figure == ROW_LAUNCHES)
		wt_metrics_count(metrics, labels.at, labels.count, row->launches);
	else if (figure == ROW_TIME)
		wt_metrics_ns(metrics, labels.at, labels.count, row->time_ns);
	else if (figure == ROW_STATES)
		put_states(metrics, rows, row);
	else if (rows->report->has_gaps)
		wt_metrics_ns(metrics, labels.at, labels.count, row->gap_before_sm_ns);
}

static void put_rows(struct wt_metrics *metrics, const struct rows *rows,
                     const struct wt_metrics_family families[ROW_FIGURES])
{
	for (int figure = 0; figure < ROW_FIGURES; figure++) {
		wt_metrics_family(metrics, &families[figure]);
		for (size_t i = 0; i < rows->count; i++)
			put_row(metrics, rows, &rows->report->rows[i], (enum row_figure)figure);
		if (rows->has_rest)
			put_row(metrics, rows, &rows->rest, (enum row_figure)figure);
	}
}

static void put_kernels(struct wt_metrics *metrics, const struct wt_metrics_run *run)
{
	static const struct wt_metrics_family families[ROW_FIGURES] = {
	        {"wavetap_kernel_launches", WT_METRICS_COUNTER, "", "Kernels that ran."},
	        {"wavetap_kernel", WT_METRICS_COUNTER, "seconds", "Time that they ran, summed."},
	        {"wavetap_kernel_sm", WT_METRICS_COUNTER, "seconds",
	         "SM-time of the device while they ran, by state; beside others their share."},
	        {"wavetap_kernel_gap_before_sm", WT_METRICS_COUNTER, "seconds",
	         "SM-time without a kernel that ended with the start of one of these."},
	};
	const struct wt_report *report = run->kernels;
	struct rows rows = {.run = run, .report = report, .count = report->row_count};
	struct labels labels;

	if (rows.count > run->kernel_limit) {
		rows.count = run->kernel_limit;
		rows.has_rest = true;
		rows.rest = report->rows[rows.count];
		for (size_t i = rows.count + 1; i < report->row_count; i++)
			wt_report_row_add(&rows.rest, &report->rows[i]);
	}
	begin_labels(&labels, run);
	family(metrics, "wavetap_kernels_summed", WT_METRICS_GAUGE, "",
	       "Different kernels without samples of their own: those that leave least idle are in "
	       "one, (all others).");
	wt_metrics_count(metrics, labels.at, labels.count,
	                 (int64_t)(report->row_count - rows.count));
	put_rows(metrics, &rows, families);
}

static void put_ranks(struct wt_metrics *metrics, const struct wt_metrics_run *run)
{
	static const struct wt_metrics_family families[ROW_FIGURES] = {
	        {"wavetap_rank_launches", WT_METRICS_COUNTER, "", "Kernels of the rank that ran."},
	        {"wavetap_rank_kernel", WT_METRICS_COUNTER, "seconds",
	         "Time that they ran, summed."},
	        {"wavetap_rank_sm", WT_METRICS_COUNTER, "seconds",
	         "SM-time of the devices while they ran, by state."},
	        {"wavetap_rank_gap_before_sm", WT_METRICS_COUNTER, "seconds",
	         "SM-time without a kernel that ended with the start of one of these."},
	};
	const struct rows rows = {.run = run,
	                          .report = run->ranks,
	                          .count = run->ranks ? run->ranks->row_count : 0,
	                          .is_ranks = true};

	if (rows.count)
		put_rows(metrics, &rows, families);
}

/* ---- losses and own cost, of the whole run */

static void put_losses(struct wt_metrics *metrics, const struct wt_metrics_run *run)
{
	const struct wt_report_loss *loss = &run->kernels->loss;
	struct labels labels;

	begin_labels(&labels, run);
	family(metrics, "wavetap_launches_attempted", WT_METRICS_COUNTER, "",
	       "Launch calls that a hook saw, in the whole run.");
	wt_metrics_count(metrics, labels.at, labels.count, loss->launches_attempted);
	family(metrics, "wavetap_kernels_recorded", WT_METRICS_COUNTER, "",
	       "Kernels with a record, in the whole run.");
	wt_metrics_count(metrics, labels.at, labels.count, loss->kernels);
	family(metrics, "wavetap_kernels_lost", WT_METRICS_COUNTER, "",
	       "Kernels that ran, as far as known, and are in no sum.");
	wt_metrics_count(metrics, labels.at, labels.count, wt_report_kernels_lost(loss));
	if (run->kernels->dropped.is_any) {
		family(metrics, "wavetap_kernels_dropped", WT_METRICS_COUNTER, "",
		       "Kernels whose rows a limit has dropped (WAVETAP_KEEP_ROWS): recorded, and "
		       "not "
		       "in the sums by device, rank and kernel.");
		wt_metrics_count(metrics, labels.at, labels.count, run->kernels->dropped.kernels);
	}
	family(metrics, "wavetap_loss", WT_METRICS_COUNTER, "",
	       "Each kind of loss in the whole run, as in the view loss.");
	for (const struct wt_report_loss_field *f = wt_report_loss_fields; f->name; f++) {
		if (!f->text)
			continue;
		begin_labels(&labels, run);
		add_label(&labels, "kind", f->name);
		wt_metrics_count(metrics, labels.at, labels.count, wt_report_loss_get(loss, f));
	}
}

static void put_cost(struct wt_metrics *metrics, const struct wt_metrics_run *run)
{
	const struct wt_cost *cost = &run->kernels->cost;
	const struct {
		const char *part;
		int64_t ns;
	} parts[] = {{"hooks_of_launches", cost->launches_ns},
	             {"hooks_of_calls", cost->calls_ns},
	             {"cupti_callbacks", cost->callback_ns}};
	struct labels labels;

	if (cost->is_damaged)
		return;
	family(metrics, "wavetap_own_cost", WT_METRICS_COUNTER, "seconds",
	       "Time that wavetap itself took in the processes, in the whole run; not what CUPTI "
	       "takes inside the driver.");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].ns == WT_COST_UNKNOWN)
			continue;
		begin_labels(&labels, run);
		add_label(&labels, "part", parts[i].part);
		wt_metrics_ns(metrics, labels.at, labels.count, parts[i].ns);
	}
	begin_labels(&labels, run);
	family(metrics, "wavetap_own_cpu", WT_METRICS_COUNTER, "seconds",
	       "CPU time of wavetap's own thread in the processes.");
	wt_metrics_ns(metrics, labels.at, labels.count, cost->flush_cpu_ns);
	family(metrics, "wavetap_own_written", WT_METRICS_COUNTER, "bytes",
	       "Written into shared memory.");
	wt_metrics_count(metrics, labels.at, labels.count, cost->bytes_written);
}

void wt_metrics_put_run(struct wt_metrics *metrics, const struct wt_metrics_run *run)
{
	put_facts(metrics, run);
	put_devices(metrics, run);
	put_kernels(metrics, run);
	put_ranks(metrics, run);
	put_losses(metrics, run);
	put_cost(metrics, run);
	wt_metrics_end(metrics);
}

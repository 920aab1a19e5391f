/*
 * show_json.c - the JSON of `wavetap show`. Single-threaded; blocks as the FILE does.
 */
#include "cli/json_run.h"
#include "cli/measured.h"
#include "cli/select.h"
#include "cli/show_print.h"

static void put_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

static void put_string(struct wt_json *json, const char *key, const char *text)
{
	wt_json_key(json, key);
	wt_json_string(json, text);
}

static void put_times(struct wt_json *json, const char *key, const struct wt_show_times *times)
{
	wt_json_key(json, key);
	if (!times->count) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	put_int(json, "count", times->count);
	put_int(json, "min_ns", times->min_ns);
	wt_json_key(json, "mean_ns");
	wt_json_double(json, times->mean_ns);
	put_int(json, "median_ns", times->median_ns);
	put_int(json, "p99_ns", times->p99_ns);
	put_int(json, "max_ns", times->max_ns);
	wt_json_key(json, "deviation_ns");
	wt_json_double(json, times->deviation_ns);
	wt_json_object_end(json);
}

static void put_dims(struct wt_json *json, const char *key, const int64_t dims[3])
{
	wt_json_key(json, key);
	wt_json_array_begin(json);
	for (int i = 0; i < 3; i++)
		wt_json_int(json, dims[i]);
	wt_json_array_end(json);
}

/* Null where the model has no answer: `reason` says why. */
static void put_judged(struct wt_json *json, const char *key, int64_t value, bool is_known)
{
	wt_json_key(json, key);
	if (is_known)
		wt_json_int(json, value);
	else
		wt_json_null(json);
}

/* Of all SM-time of the row. */
static const char *evidence_word(const struct wt_report_row *row)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], whole_sm_ns = wt_report_row_sm_ns(row, parts_sm_ns);

	return wt_measured_word(whole_sm_ns, parts_sm_ns);
}

static void put_config(struct wt_json *json, const struct wt_show_config *config)
{
	const struct wt_report_row *row = &config->row;

	wt_json_object_begin(json);
	put_int(json, "config_id", row->config_id);
	put_int(json, "device_id", row->device_id);
	put_dims(json, "grid", row->grid);
	put_dims(json, "block", row->block);
	put_dims(json, "cluster", row->cluster);
	put_int(json, "blocks", config->blocks);
	put_int(json, "regs_per_thread", row->regs_per_thread);
	put_int(json, "smem_bytes", row->smem_bytes);
	put_judged(json, "blocks_per_sm", row->blocks_per_sm, row->blocks_per_sm > 0);
	put_judged(json, "resident_blocks", config->resident_blocks, config->resident_blocks > 0);
	wt_json_key(json, "occupancy");
	wt_json_double(json, row->has_occupancy ? row->occupancy : 0.0 / 0.0);
	put_string(json, "limiter", row->limiter);
	wt_json_key(json, "waves");
	if (row->has_waves)
		wt_json_double(json, row->waves);
	else
		wt_json_null(json);
	put_int(json, "launches", row->launches);
	put_int(json, "time_ns", row->time_ns);
	put_int(json, "min_ns", row->min_ns);
	put_int(json, "max_ns", row->max_ns);
	put_judged(json, "underfill_sm_ns", row->underfill_sm_ns,
	           row->has_wave || row->underfill_sm_ns);
	put_judged(json, "wave_sm_ns", row->wave_sm_ns, row->has_wave);
	put_judged(json, "wave_max_sm_ns", row->wave_max_sm_ns, row->has_wave);
	put_judged(json, "straggle_sm_ns", row->straggle_sm_ns, row->has_measured);
	put_judged(json, "ramp_sm_ns", row->ramp_sm_ns, row->has_measured);
	put_int(json, "unjudged_sm_ns", row->unjudged_sm_ns);
	wt_show_put_measured(json, config);
	put_string(json, "lift", config->lift[0] ? config->lift : NULL);
	put_string(json, "advice", config->advice[0] ? config->advice : NULL);
	put_string(json, "evidence", evidence_word(row));
	put_string(json, "reason", row->model_reason);
	wt_json_object_end(json);
}

static void put_kernel(struct wt_json *json, const struct wt_show *show)
{
	wt_json_key(json, "kernel");
	wt_json_object_begin(json);
	put_int(json, "kernel_id", show->total.kernel_id);
	put_string(json, "kernel", show->demangled);
	put_string(json, "kernel_short", show->total.kernel_shown);
	put_int(json, "launches", show->total.launches);
	put_int(json, "launches_in_graph", show->total.launches_in_graph);
	put_int(json, "time_ns", show->total.time_ns);
	put_int(json, "underfill_sm_ns", show->total.underfill_sm_ns);
	put_int(json, "wave_sm_ns", show->total.wave_sm_ns);
	put_int(json, "wave_max_sm_ns", show->total.wave_max_sm_ns);
	put_judged(json, "straggle_sm_ns", show->total.straggle_sm_ns, show->total.has_measured);
	put_judged(json, "ramp_sm_ns", show->total.ramp_sm_ns, show->total.has_measured);
	put_int(json, "unjudged_sm_ns", show->total.unjudged_sm_ns);
	put_string(json, "evidence", evidence_word(&show->total));
	put_times(json, "duration", &show->durations);
	put_times(json, "launch_call", &show->call);
	put_times(json, "call_to_start", &show->start);
	wt_json_key(json, "histogram");
	wt_json_array_begin(json);
	for (size_t i = 0; i < show->bin_count; i++) {
		wt_json_object_begin(json);
		put_int(json, "low_ns", show->bins[i].low_ns);
		put_int(json, "high_ns", show->bins[i].high_ns);
		put_int(json, "launches", show->bins[i].count);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
	wt_json_key(json, "configs");
	wt_json_array_begin(json);
	for (size_t i = 0; i < show->config_count; i++)
		put_config(json, &show->configs[i]);
	wt_json_array_end(json);
	put_string(json, "ncu", show->ncu);
	wt_json_object_end(json);
}

int wt_show_print_json(FILE *out, const struct wt_run_file *run, const struct wt_show *show)
{
	struct wt_json json;

	wt_json_init(&json, out, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, run);
	wt_select_put_json(&json, show->report.select);
	wt_select_put_steps(&json, show->report.steps);
	wt_json_key(&json, "loss");
	wt_json_put_loss(&json, &show->report.loss);
	wt_json_put_incomplete(&json, &show->report);
	put_kernel(&json, show);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

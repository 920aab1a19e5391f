/*
 * measured.c - results of the fold, and of launches under the profiler, to rows of `fold`, `measured` and
 * `measured_profile`: see folds.h. All rows are written anew each time: they depend on each other, and
 * there are as many as configurations.
 */
#include "daemon/folds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/evidence.h"
#include "analysis/profiled.h"

/* What one evidence says of a configuration. */
struct side {
	bool is_there, is_measured;
	const char *reason;
	int64_t launches, time_ns, joint_time_ns;
	double joint_active_sms, joint_error_sms; /* < 0: not known, like the next four */
	double warps_per_sm, tensor_share, dram_bytes_per_ns, clock_mhz, issue_share;
	double tensor_error, dram_error, issue_error;
	const char *bound_reason; /* why the class is not known; NULL: it is */
	struct wt_evidence_measured measured;
};

/* ---- profiled */

/* Sums over the launches of a configuration under the profiler. */
struct sums {
	struct wt_profiled_sums cycles;
	double warps, tensor, dram_bytes; /* the latter negative once one is not known */
};

static int clock_of(const struct wt_run *run, int64_t device_id, const struct sums *sums,
                    struct wt_profiled_clock *ret_clock)
{
	struct wt_profiled_point *points = malloc((run->configs_count + 1) * sizeof(*points));
	size_t count = 0;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < run->configs_count; i++) {
		const struct wt_profiled_sums *s = &sums[i].cycles;
		double ns = wt_profiled_duration_ns(s), n = (double)s->launches;

		if (run->configs[i].key.device_id == device_id && s->launches && ns > 0)
			points[count++] = (struct wt_profiled_point){ns, s->elapsed / n, n};
	}
	*ret_clock = wt_profiled_clock_of(
	        points, count, (double)wt_configs_device_of(run, device_id)->clock_khz * 1e-6);
	free(points);
	return 0;
}

static void add_launch(struct sums *sums, const struct wt_profiled *p)
{
	wt_profiled_add(&sums->cycles, p->active_sum, p->elapsed);
	sums->warps += p->warps;
	sums->tensor = p->tensor < 0 || sums->tensor < 0 ? -1.0 : sums->tensor + p->tensor;
	sums->dram_bytes =
	        p->dram_bytes < 0 || sums->dram_bytes < 0 ? -1.0 : sums->dram_bytes + p->dram_bytes;
}

/* Launches with times, over all processes. */
static int add_durations(struct wt_run *run, struct sums *sums)
{
	static const char sql[] = "SELECT config_id, launches, time_ns, m2_ns2 FROM config_stat "
	                          "WHERE in_graph = 0 AND launches > 0";
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &query, NULL);

	while (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		uint32_t idx = wt_map_get(&run->folds->config_of,
		                          (uint64_t)sqlite3_column_int64(query, 0));

		code = SQLITE_OK;
		if (idx != WT_MAP_NONE)
			wt_profiled_add_times(&sums[idx].cycles, sqlite3_column_int64(query, 1),
			                      sqlite3_column_int64(query, 2),
			                      sqlite3_column_double(query, 3));
	}
	sqlite3_finalize(query);
	return wt_store_check(run, code);
}

static double per(double sum, double by)
{
	return sum < 0 ? -1.0 : sum / by;
}

static void profiled_side(const struct sums *sums, const struct wt_profiled_clock *clock,
                          struct side *ret)
{
	double n = (double)sums->cycles.launches;
	double all_ns = wt_profiled_duration_ns(&sums->cycles) * n;
	struct wt_profiled_result result = wt_profiled_result_of(&sums->cycles, clock);
	double cycles = result.cycles * n;

	*ret = (struct side){.is_there = sums->cycles.launches > 0,
	                     .launches = sums->cycles.launches,
	                     .time_ns = llround(all_ns),
	                     .joint_active_sms = -1,
	                     .joint_error_sms = -1,
	                     .reason = clock->cycles_per_ns > 0
	                                       ? "none of its launches has a time"
	                                       : "the device's SM clock is not known",
	                     .warps_per_sm = -1,
	                     .tensor_share = -1,
	                     .dram_bytes_per_ns = -1,
	                     .clock_mhz = -1,
	                     .issue_share = -1,
	                     .measured = {.evidence = WT_EVIDENCE_PROFILED}};
	if (!ret->is_there || !(cycles > 0))
		return;
	ret->is_measured = true;
	ret->reason = NULL;
	ret->measured = (struct wt_evidence_measured){.evidence = WT_EVIDENCE_PROFILED,
	                                              .active_sms = result.active_sms,
	                                              .error_sms = result.error_sms};
	ret->warps_per_sm = per(sums->warps, cycles);
	ret->tensor_share = per(sums->tensor, cycles);
	ret->dram_bytes_per_ns = per(sums->dram_bytes, all_ns);
	/* Of how long it took, as of active SMs. */
	if (result.active_sms > 0) {
		ret->tensor_error = ret->tensor_share * result.error_sms / result.active_sms;
		ret->dram_error = ret->dram_bytes_per_ns * result.error_sms / result.active_sms;
	}
	ret->clock_mhz = clock->cycles_per_ns * 1e3;
}

/* ---- sampled */

static void sampled_side(const struct wt_fold_result *result, struct side *ret)
{
	static const char *const reasons[] = {
	        [WT_FOLD_MEASURED] = NULL,
	        [WT_FOLD_FEW] = "too few of its launches met samples",
	        [WT_FOLD_INSEPARABLE] = "it always meets the samples as others do",
	        [WT_FOLD_JOINT] = "it hardly ran by itself",
	        [WT_FOLD_BLURRED] = "the clocks are not known well enough for so short a kernel",
	};

	*ret = (struct side){
	        .is_there = result->launches > 0,
	        .is_measured = result->verdict == WT_FOLD_MEASURED && result->time_ns > 0,
	        .reason = reasons[result->verdict],
	        .launches = result->launches,
	        .time_ns = result->time_ns,
	        .joint_time_ns = result->joint_time_ns,
	        .joint_active_sms = result->joint_time_ns ? result->joint_active_sms : -1,
	        .joint_error_sms = result->joint_time_ns ? result->joint_error_sms : -1,
	        .warps_per_sm = result->mean[WT_FOLD_WARPS],
	        .tensor_share = result->mean[WT_FOLD_TENSOR],
	        .dram_bytes_per_ns = result->mean[WT_FOLD_DRAM],
	        .clock_mhz = per(result->mean[WT_FOLD_CLOCK], 1e-3),
	        .issue_share = result->mean[WT_FOLD_ISSUE],
	        .tensor_error = result->error[WT_FOLD_TENSOR],
	        .dram_error = result->error[WT_FOLD_DRAM],
	        .issue_error = result->error[WT_FOLD_ISSUE],
	        .measured = {.evidence = WT_EVIDENCE_SAMPLED,
	                     .active_sms = result->active_sms,
	                     .error_sms = result->error_sms},
	};
	if (!ret->is_measured && !ret->reason)
		ret->reason = reasons[WT_FOLD_FEW];
}

/* ---- rows of `measured` */

/* What is open of the SMs is as open of their pipes: an error of a share is no less than that of these. */
static struct wt_evidence_range range_of(const struct side *side, double value, double error,
                                         double sms)
{
	return wt_evidence_within(value, fmax(error, side->measured.error_sms / sms));
}

/* Of whatever was measured, however coarse: the errors say whether it will do. */
static void classify(struct side *side, const struct wt_device *device)
{
	double peak = wt_evidence_dram_peak(device->mem_clock_khz, device->mem_bus_bits);
	double sms = device->sm_count, active = side->measured.active_sms;
	double error = side->measured.error_sms;
	struct wt_evidence_pipes pipes = {
	        .tensor = wt_evidence_of_active(
	                range_of(side, side->tensor_share, side->tensor_error, sms), active, error,
	                sms),
	        .dram = wt_evidence_within(-1, -1),
	        .issue = wt_evidence_of_active(
	                range_of(side, side->issue_share, side->issue_error, sms), active, error,
	                sms),
	};

	if (peak > 0)
		pipes.dram = range_of(side, side->dram_bytes_per_ns / peak, side->dram_error / peak,
		                      sms);
	side->measured.bound = wt_evidence_class(&pipes, &side->bound_reason);
}

/* One evidence may know the class where the other doesn't: the range profiler counts no issue slots. */
static void lend_class(struct side *to, const struct side *from)
{
	if (!to->is_there || !from->is_there || to->measured.bound != WT_BOUND_UNKNOWN ||
	    from->measured.bound == WT_BOUND_UNKNOWN)
		return;
	to->measured.bound = from->measured.bound;
	to->bound_reason = NULL;
}

/* The model's wave in the form of its class, in SMs; < 0: there is none. *ret_form: which. */
static double class_wave(const struct wt_wave_result *model, int64_t duration_ns,
                         const struct side *side, int32_t sms, enum wt_wave_form *ret_form)
{
	struct wt_evidence_measured class = {.evidence = WT_EVIDENCE_MODEL,
	                                     .bound = side->measured.bound};
	struct wt_evidence_rates rates;

	wt_evidence_split(model, duration_ns, sms, 0, &class, &rates);
	*ret_form = rates.form;
	return rates.has_form ? rates.wave_sms : -1;
}

static int bind_real(sqlite3_stmt *s, int at, bool is_known, double value)
{
	return is_known && isfinite(value) ? sqlite3_bind_double(s, at, value)
	                                   : sqlite3_bind_null(s, at);
}

static int write_row(struct wt_run *run, const struct wt_config *config, const struct side *side,
                     bool is_used, bool do_sides_disagree)
{
	static const char *const forms[WT_WAVE_FORM_MAX] = {
	        [WT_WAVE_INDEPENDENT] = "independent",
	        [WT_WAVE_SHARED] = "shared",
	        [WT_WAVE_JITTER] = "jitter",
	        [WT_WAVE_GROUPED] = "grouped",
	};
	const struct wt_device *device = wt_configs_device_of(run, config->key.device_id);
	struct wt_wave_launch launch = config->launch;
	sqlite3_stmt *s = run->statement[WT_SQL_MEASURED];
	struct wt_evidence_rates rates = {0};
	bool is_known = side->is_measured;
	/* The model is of launches by themselves: of parts of them it says nothing that could disagree. */
	bool is_whole = side->joint_time_ns <= side->time_ns / 10;
	/* What told the class, too, though active SMs are not known. */
	bool is_shown = is_known || side->measured.bound != WT_BOUND_UNKNOWN;
	enum wt_wave_form form = WT_WAVE_INDEPENDENT;
	struct wt_wave_result model;
	double wave_sms = -1;
	int code;

	if (side->time_ns > 0 && side->launches > 0) {
		launch.duration_ns = side->time_ns / side->launches;
		wt_wave_judge(&launch, &model);
		wave_sms = class_wave(&model, launch.duration_ns, side, device->sm_count, &form);
		wt_evidence_split(&model, launch.duration_ns, device->sm_count,
		                  wt_evidence_ramp_ns(device->cc_major, device->cc_minor),
		                  &side->measured, &rates);
	}
	code = wt_db_bind(s, "ititii", config->config_id,
	                  wt_evidence_name(side->measured.evidence == WT_EVIDENCE_PROFILED
	                                           ? WT_EVIDENCE_PROFILED
	                                           : WT_EVIDENCE_SAMPLED),
	                  (int64_t)is_used, side->reason, side->launches, side->time_ns);
	{
		const double values[] = {rates.active_sms,    side->measured.error_sms,
		                         rates.underfill_sms, rates.wave_sms,
		                         rates.wave_max_sms,  rates.straggle_sms,
		                         rates.ramp_sms};

		for (int i = 0; i < 7 && code == SQLITE_OK; i++)
			code = bind_real(s, 7 + i, is_known, values[i]);
	}
	if (code == SQLITE_OK)
		code = sqlite3_bind_int(
		        s, 14, is_known && ((rates.disagrees && is_whole) || do_sides_disagree));
	{
		const double values[] = {side->warps_per_sm, side->tensor_share,
		                         side->dram_bytes_per_ns, side->clock_mhz};

		for (int i = 0; i < 4 && code == SQLITE_OK; i++)
			code = bind_real(s, 15 + i, is_shown && values[i] >= 0, values[i]);
	}
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 19, wt_bound_name(side->measured.bound), -1,
		                         SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 20, wave_sms >= 0 ? forms[form] : NULL, -1,
		                         SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 21, side->joint_time_ns);
	if (code == SQLITE_OK)
		code = bind_real(s, 22, side->joint_active_sms >= 0, side->joint_active_sms);
	if (code == SQLITE_OK)
		code = bind_real(s, 23, side->joint_error_sms >= 0, side->joint_error_sms);
	if (code == SQLITE_OK)
		code = bind_real(s, 24, is_shown && side->issue_share >= 0, side->issue_share);
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 25, side->bound_reason, -1, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = bind_real(s, 26, wave_sms >= 0, wave_sms);
	if (code == SQLITE_OK) {
		sqlite3_step(s);
		code = sqlite3_reset(s);
	}
	return wt_store_check(run, code);
}

/* Rule 5 of analysis/evidence.h: of a collective, the model and `comm` stand, beside others too. */
static void leave_to_model(struct side *side)
{
	static const char reason[] = "a collective: SMs that it leaves idle are no idle time of it";

	*side = (struct side){.is_there = side->is_there,
	                      .reason = reason,
	                      .launches = side->launches,
	                      .time_ns = side->time_ns,
	                      .joint_time_ns = side->joint_time_ns,
	                      .joint_active_sms = -1,
	                      .joint_error_sms = -1,
	                      .warps_per_sm = -1,
	                      .tensor_share = -1,
	                      .dram_bytes_per_ns = -1,
	                      .clock_mhz = -1,
	                      .issue_share = -1,
	                      .bound_reason = reason,
	                      .measured = {.evidence = side->measured.evidence}};
}

static int write_config(struct wt_run *run, const struct wt_config *config, struct side *sampled,
                        struct side *profiled)
{
	const struct wt_device *device = wt_configs_device_of(run, config->key.device_id);
	const struct wt_evidence_measured *used;
	bool do_disagree = false;
	int err = 0;

	classify(sampled, device);
	classify(profiled, device);
	lend_class(sampled, profiled);
	lend_class(profiled, sampled);
	if (config->sweep.is_collective) {
		leave_to_model(sampled);
		leave_to_model(profiled);
	}
	used = wt_evidence_choose(sampled->is_measured ? &sampled->measured : NULL,
	                          profiled->is_measured ? &profiled->measured : NULL,
	                          device->sm_count, &do_disagree);
	if (sampled->is_there)
		err = write_row(run, config, sampled, used == &sampled->measured, do_disagree);
	if (!err && profiled->is_there)
		err = write_row(run, config, profiled, used == &profiled->measured, do_disagree);
	return err;
}

/* ---- rows of `measured_profile` and `fold` */

static int write_profile(struct wt_run *run, int64_t config_id, const struct wt_fold *fold,
                         uint32_t dense, uint32_t bins)
{
	double *active = malloc(2 * (size_t)bins * sizeof(*active));
	int err = active ? 0 : -ENOMEM;

	if (!err)
		wt_fold_profile(fold, dense, active, active + bins);
	for (uint32_t i = 0; i < bins && !err; i++)
		err = wt_store_run(run, WT_SQL_MEASURED_PROFILE, "iirr", config_id, (int64_t)i,
		                   active[i], active[bins + i]);
	free(active);
	return err;
}

static const char *fold_reason(const struct wt_device_fold *device, enum wt_fold_state state)
{
	if (device->is_broken)
		return "wavetapd had no memory for it";
	switch (state) {
	case WT_FOLD_OK:
		return NULL;
	case WT_FOLD_NO_SAMPLES:
		return "too few samples in which kernels ran";
	case WT_FOLD_NO_ACTIVE:
		return "SMs' active cycles were not sampled while kernels ran, but other metrics";
	case WT_FOLD_NOT_ALIGNED:
		return "no offset of the clocks fits the samples to the kernels";
	default:
		return "kernels of this run don't explain what the samples saw: others ran on the "
		       "device";
	}
}

static int write_fold(struct wt_run *run, const struct wt_device_fold *device,
                      const struct wt_fold_summary *summary)
{
	sqlite3_stmt *s = run->statement[WT_SQL_FOLD];
	bool is_aligned = summary->state == WT_FOLD_OK || summary->state == WT_FOLD_UNEXPLAINED;
	int code = wt_db_bind(s, "in", device->device_id,
	                      device->until_ns == INT64_MIN ? 0 : device->until_ns);

	if (code == SQLITE_OK)
		code = bind_real(s, 3, is_aligned, summary->offset_ns);
	if (code == SQLITE_OK)
		code = bind_real(s, 4, is_aligned, summary->offset_error_ns);
	if (code == SQLITE_OK)
		code = bind_real(s, 5, is_aligned, summary->residual);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 6, summary->samples_used);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 7, summary->samples_skipped + device->skipped);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 8, llround(summary->active_sm_ns));
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(s, 9, llround(summary->explained_sm_ns));
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 10, fold_reason(device, summary->state), -1,
		                         SQLITE_STATIC);
	if (code == SQLITE_OK) {
		sqlite3_step(s);
		code = sqlite3_reset(s);
	}
	return wt_store_check(run, code);
}

/* Configurations of one device: those that samples saw, and those that were profiled. */
static int write_device(struct wt_run *run, int64_t device_id, struct wt_device_fold *device,
                        const struct sums *sums)
{
	struct wt_fold_summary summary = {.state = WT_FOLD_NO_SAMPLES};
	struct wt_profiled_clock clock;
	int err = clock_of(run, device_id, sums, &clock);

	if (!err && device) {
		if (device->has_kernels && !device->is_broken)
			wt_fold_summary(device->fold, &summary);
		err = write_fold(run, device, &summary);
	}
	for (size_t i = 0; i < run->configs_count && !err; i++) {
		const struct wt_config *config = &run->configs[i];
		struct wt_fold_result result = {0};
		struct side sampled, profiled;
		uint32_t dense;

		if (config->key.device_id != device_id)
			continue;
		dense = device && summary.state == WT_FOLD_OK ? wt_map_get(&device->dense_of, i + 1)
		                                              : WT_MAP_NONE;
		if (dense != WT_MAP_NONE)
			wt_fold_result(device->fold, dense, &result);
		sampled_side(&result, &sampled);
		profiled_side(&sums[i], &clock, &profiled);
		err = write_config(run, config, &sampled, &profiled);
		if (!err && sampled.is_measured && result.bins)
			err = write_profile(run, config->config_id, device->fold, dense,
			                    result.bins);
	}
	return err;
}

int wt_measured_save(struct wt_run *run)
{
	static const char clear_sql[] =
	        "DELETE FROM fold; DELETE FROM measured; DELETE FROM measured_profile";
	const struct wt_folds *folds = run->folds;
	struct sums *sums = calloc(run->configs_count + 1, sizeof(*sums));
	int err = sums ? wt_store_check(run, sqlite3_exec(run->db, clear_sql, NULL, NULL, NULL))
	               : -ENOMEM;

	if (!err && folds->profiled_count)
		err = add_durations(run, sums);
	for (size_t i = 0; i < folds->profiled_count && !err; i++)
		add_launch(&sums[folds->profiled[i].config_idx], &folds->profiled[i]);
	for (size_t i = 0; i < run->gpus_count && !err; i++) {
		struct wt_device_fold *device = folds->devices;

		while (device && device->device_id != run->gpus[i].device_id)
			device = device->next;
		err = write_device(run, run->gpus[i].device_id, device, sums);
	}
	free(sums);
	return err;
}

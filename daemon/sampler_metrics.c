/*
 * sampler_metrics.c - the sets of metrics that PM sampling takes in one pass.
 *
 * Two of them: active and elapsed cycles alone, and the largest set that the chip has beyond that,
 * which costs three times as much a sample (64 us against 20 on an H200: tests/gpu/RESULTS.md). Names
 * differ from one chip to the next, and so does what fits: candidates are tried from the largest on,
 * and the host interface says which it accepts. No gpc__ or gr__ counters: a list with them hung for
 * minutes. The tensor pipe as a share of its peak alone: its plain count goes up to four a cycle, one of
 * each sub-core, and others are of instructions. Not dram__bytes, which can't tell reading from writing.
 * Warps' instructions by the counter that one pass holds beside all of these (GH100, CUPTI 13.0: "passes"
 * of tests/gpu/pm_probe); with sm__inst_executed or sm__issue_active it takes two.
 *
 * Main thread, while setting up. May block in CUPTI.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/sampler.h"

struct metric_set {
	bool has_warps;
	bool has_dram;
	bool has_instructions;
	const char *tensor; /* NULL: none */
};

#define INSTRUCTIONS "TPC.TriageCompute.sm__inst_executed_realtime.sum"
#define OF_PEAK ".avg.pct_of_peak_sustained_elapsed"

static const struct metric_set plain_set;
static const struct metric_set rich_sets[] = {
        {true, true, true, "sm__pipe_tensor_cycles_active" OF_PEAK},
        {true, true, true, "sm__pipe_tensor_op_hmma_cycles_active" OF_PEAK},
        {true, true, false, "sm__pipe_tensor_cycles_active" OF_PEAK},
        {true, true, false, "sm__pipe_tensor_op_hmma_cycles_active" OF_PEAK},
        {true, true, false, NULL},
        {true, false, false, "sm__pipe_tensor_cycles_active" OF_PEAK},
        {true, false, false, "sm__pipe_tensor_op_hmma_cycles_active" OF_PEAK},
        {true, false, false, NULL},
        {false, true, false, NULL},
};

static void add(struct wt_pm_metrics *metrics, enum wt_pm_column column, const char *name)
{
	metrics->name[metrics->count] = name;
	metrics->column[metrics->count++] = column;
}

static void name_set(const struct metric_set *set, struct wt_pm_metrics *metrics)
{
	/* in this order: see read_sample() and fill() of sampler_pm.c */
	add(metrics, WT_PM_ACTIVE_AVG, "sm__cycles_active.avg");
	add(metrics, WT_PM_ELAPSED, "sm__cycles_elapsed.max");
	if (set->has_warps)
		add(metrics, WT_PM_WARPS, "sm__warps_active.avg");
	if (set->tensor)
		add(metrics, WT_PM_TENSOR, set->tensor);
	if (set->has_dram) {
		add(metrics, WT_PM_DRAM_READ, "dram__bytes_read.sum");
		add(metrics, WT_PM_DRAM_WRITE, "dram__bytes_write.sum");
	}
	if (set->has_instructions)
		add(metrics, WT_PM_INSTRUCTIONS, INSTRUCTIONS);
	/* Counted by the same counter as the first: only their evaluation costs. */
	metrics->always_count = metrics->count;
	add(metrics, WT_PM_ACTIVE_MIN, "sm__cycles_active.min");
	add(metrics, WT_PM_ACTIVE_MAX, "sm__cycles_active.max");
}

/* The configuration of the metrics that the host object has, and how many passes it takes. */
static wtcupti_result configure(const struct wt_pm_calls *calls, struct wt_pm_metrics *metrics,
                                size_t *ret_passes)
{
	struct wtcupti_host_get_config_image_size size = {
	        .struct_size = WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES, .object = metrics->host};
	struct wtcupti_host_get_config_image image = {
	        .struct_size = WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES, .object = metrics->host};
	struct wtcupti_host_get_num_of_passes passes = {
	        .struct_size = WTCUPTI_HOST_GET_NUM_OF_PASSES_BYTES};
	wtcupti_result result = calls->host_get_config_image_size(&size);

	if (result)
		return result;
	metrics->config = calloc(1, size.image_bytes);
	if (!metrics->config)
		return WTCUPTI_ERROR_OUT_OF_MEMORY;
	metrics->config_bytes = image.image_bytes = size.image_bytes;
	image.image = metrics->config;
	result = calls->host_get_config_image(&image);
	if (result)
		return result;
	passes.image = metrics->config;
	passes.image_bytes = metrics->config_bytes;
	result = calls->host_get_num_of_passes(&passes);
	*ret_passes = passes.passes;
	return result;
}

static wtcupti_result try_set(const struct wt_pm_calls *calls, const char *chip,
                              const uint8_t *availability, const struct metric_set *set,
                              struct wt_pm_metrics *ret_metrics)
{
	struct wtcupti_host_initialize initialize = {.struct_size = WTCUPTI_HOST_INITIALIZE_BYTES,
	                                             .profiler_type = WTCUPTI_PROFILER_PM_SAMPLING,
	                                             .chip_name = chip,
	                                             .availability_image = availability};
	struct wtcupti_host_config_add_metrics add_metrics = {
	        .struct_size = WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES};
	struct wt_pm_metrics metrics = {0};
	wtcupti_result result = calls->host_initialize(&initialize);
	size_t passes = 0;

	if (result)
		return result;
	metrics.host = initialize.object;
	name_set(set, &metrics);
	add_metrics.object = metrics.host;
	add_metrics.names = metrics.name;
	add_metrics.count = metrics.count;
	result = calls->host_config_add_metrics(&add_metrics);
	if (!result)
		result = configure(calls, &metrics, &passes);
	if (!result && passes != 1)
		result = WTCUPTI_ERROR_MAX_LIMIT_REACHED;
	if (result)
		wt_pm_metrics_fini(calls, &metrics);
	else
		*ret_metrics = metrics;
	return result;
}

wtcupti_result wt_pm_metrics_plain(const struct wt_pm_calls *calls, const char *chip,
                                   const uint8_t *availability, struct wt_pm_metrics *ret_metrics)
{
	return try_set(calls, chip, availability, &plain_set, ret_metrics);
}

wtcupti_result wt_pm_metrics_rich(const struct wt_pm_calls *calls, const char *chip,
                                  const uint8_t *availability, struct wt_pm_metrics *ret_metrics)
{
	wtcupti_result result = WTCUPTI_ERROR_UNKNOWN;

	for (size_t i = 0; i < sizeof(rich_sets) / sizeof(rich_sets[0]) && result; i++)
		result = try_set(calls, chip, availability, &rich_sets[i], ret_metrics);
	return result;
}

void wt_pm_metrics_fini(const struct wt_pm_calls *calls, struct wt_pm_metrics *metrics)
{
	struct wtcupti_host_deinitialize params = {.struct_size = WTCUPTI_HOST_DEINITIALIZE_BYTES,
	                                           .object = metrics->host};

	if (metrics->host)
		(void)calls->host_deinitialize(&params);
	free(metrics->config);
	*metrics = (struct wt_pm_metrics){0};
}

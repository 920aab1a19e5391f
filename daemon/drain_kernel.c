/*
 * drain_kernel.c - one kernel record: configuration, idle SM-time, link, row, rollup.
 * Main thread, inside the batch's transaction.
 */
#include "daemon/daemon.h"

#include <errno.h>

#define LAUNCH_COOPERATIVE 1
#define LAUNCH_COOPERATIVE_MULTI_DEVICE 2
#define LAUNCH_FROM_DEVICE 3

/* Of so many kernels, so many without times are an alarm. */
#define TIMELESS_WINDOW 1000
#define TIMELESS_ALARM 100

static const char unknown_kernel[] = "(unknown kernel)";

static int kernel_id_of(struct wt_process *process, uint32_t name_id, int64_t *ret_kernel_id)
{
	static char name[WT_NAME_BYTES_MAX + 1]; /* one thread; too large for the stack */
	uint32_t at = wt_map_get(&process->kernel_of, name_id);
	int err;

	if (at != WT_MAP_NONE) {
		*ret_kernel_id = at;
		return 0;
	}
	err = wt_segment_name(&process->mapped, name_id, name);
	if (err == -ENOENT)
		return wt_configs_kernel(process->run, unknown_kernel, ret_kernel_id);
	if (err)
		return err;
	wt_text_mend(name);
	err = wt_configs_kernel(process->run, name, ret_kernel_id);
	return err ? err : wt_map_set(&process->kernel_of, name_id, (uint32_t)*ret_kernel_id);
}

/* A device that never appeared in the table. */
static int gpu_of(struct wt_process *process, uint16_t ordinal, uint32_t *ret_gpu_idx)
{
	static const struct wt_device unknown = {.name = "unknown device"};

	if (ordinal < WT_DEVICES_MAX && process->gpu_of[ordinal] != WT_MAP_NONE) {
		*ret_gpu_idx = process->gpu_of[ordinal];
		return 0;
	}
	return wt_configs_device(process->run, &unknown, ret_gpu_idx);
}

static int32_t sm_count_of(const struct wt_process *process, uint32_t context_id,
                           const struct wt_device *device)
{
	for (size_t i = 0; i < process->contexts_count; i++)
		if (process->contexts[i].context_id == context_id &&
		    process->contexts[i].sm_count > 0)
			return process->contexts[i].sm_count;
	return device->sm_count;
}

static int config_of(struct wt_process *process, const struct wt_kernel *kernel,
                     uint32_t *ret_config_idx)
{
	struct wt_config_key key;
	uint32_t gpu_idx;
	int64_t kernel_id;
	int err = kernel_id_of(process, kernel->name_id, &kernel_id);

	if (!err)
		err = gpu_of(process, kernel->device, &gpu_idx);
	if (err)
		return err;
	memset(&key, 0, sizeof(key)); /* compared as bytes */
	key.kernel_id = kernel_id;
	key.device_id = process->run->gpus[gpu_idx].device_id;
	for (int i = 0; i < 3; i++) {
		key.grid[i] = kernel->grid[i];
		key.block[i] = kernel->block[i];
		key.cluster[i] = kernel->cluster[i];
	}
	key.regs_per_thread = kernel->regs_per_thread;
	key.static_smem_bytes = kernel->static_smem_bytes;
	key.dynamic_smem_bytes = kernel->dynamic_smem_bytes;
	key.is_cooperative = kernel->launch_type == LAUNCH_COOPERATIVE ||
	                     kernel->launch_type == LAUNCH_COOPERATIVE_MULTI_DEVICE;
	key.max_active_clusters = kernel->cluster[0] ? kernel->max_active_clusters : 0;
	key.sm_count =
	        sm_count_of(process, kernel->context_id, &process->run->gpus[gpu_idx].device);
	return wt_configs_config(process->run, &key, gpu_idx, ret_config_idx);
}

static int link_kernel(struct wt_process *process, const struct wt_kernel *kernel, int64_t exec_id,
                       int64_t now_ns, enum wt_link_how *ret_how, uint64_t *ret_seq,
                       bool *ret_is_graph_call)
{
	const uint32_t block[3] = {kernel->block[0], kernel->block[1], kernel->block[2]};
	struct wt_linker_kernel linked = {
	        .exec_id = exec_id,
	        .start_ns = wt_process_is_time(process, kernel->start_ns, kernel->end_ns)
	                            ? kernel->start_ns
	                            : 0,
	        .geometry = wt_linker_geometry(kernel->grid, block, kernel->dynamic_smem_bytes),
	        .correlation_id = kernel->correlation_id,
	        .is_graph_node = kernel->graph_node_id || kernel->graph_id,
	};
	int err;

	if (linked.is_graph_node)
		process->tally.kernels_graph++;
	if (kernel->flags & WT_KERNEL_DEVICE_LAUNCHED ||
	    kernel->launch_type == LAUNCH_FROM_DEVICE) {
		process->tally.kernels_device += !linked.is_graph_node;
		*ret_how = WT_LINK_DEVICE;
		return 0;
	}
	if (wt_process_is_unhooked(process)) {
		*ret_how = WT_LINK_NO_CALL;
		process->tally.kernels_cupti_only += !linked.is_graph_node;
		return 0;
	}
	err = wt_linker_kernel(process->linker, &linked, now_ns, ret_how, ret_seq,
	                       ret_is_graph_call);
	if (!err && *ret_is_graph_call && !linked.is_graph_node)
		process->tally.kernels_graph++;
	if (!err && *ret_how == WT_LINK_NO_CALL)
		process->tally.kernels_cupti_only++;
	return err;
}

/*
 * Once CUPTI has no device buffer left for times, all further records come without, maybe for hours:
 * that has to be said while it happens. Launches under the range profiler have none either, and that
 * is as it should be.
 */
static void watch_times(struct wt_process *process, bool is_timed)
{
	bool is_profiling = process->tally.kernels_no_time <
	                    (int64_t)process->counters.profiled_launches + TIMELESS_ALARM;

	process->timed_window += is_timed;
	process->timeless_window += !is_timed;
	if (!process->is_timeless && process->timeless_window >= TIMELESS_ALARM && !is_profiling) {
		process->is_timeless = true;
		wt_log_line("process %d: CUPTI gives kernels no times (%lld so far): see wavetap "
		            "status",
		            process->mapped.header.pid, (long long)process->tally.kernels_no_time);
	}
	if (process->timed_window + process->timeless_window < TIMELESS_WINDOW)
		return;
	process->is_timeless = process->is_timeless && process->timeless_window >= TIMELESS_ALARM;
	process->timed_window = process->timeless_window = 0;
}

int wt_drain_kernel(struct wt_process *process, const struct wt_kernel *kernel, int64_t now_ns)
{
	struct wt_run *run = process->run;
	/* CUPTI's 0 means "no time"; an end before the start, or far from any clock, is none either. */
	bool is_timed = wt_process_is_time(process, kernel->start_ns, kernel->end_ns);
	bool is_node = kernel->graph_node_id || kernel->graph_id;
	bool is_graph_call = false;
	int64_t exec_id = run->next_exec_id;
	enum wt_link_how how = WT_LINK_WAITING;
	struct wt_exec_values values = {0};
	uint64_t seq = 0;
	uint32_t config_idx;
	int err = config_of(process, kernel, &config_idx);

	if (!err)
		err = link_kernel(process, kernel, exec_id, now_ns, &how, &seq, &is_graph_call);
	if (err)
		return err;
	/* Of a graph launch, though CUPTI says nothing of a graph: its id is then 0. */
	is_node = is_node || is_graph_call;
	if (is_timed) {
		wt_derive_exec(&run->configs[config_idx].launch, (int64_t)kernel->start_ns,
		               (int64_t)kernel->end_ns, &values);
		err = wt_process_stat_add(process, config_idx, is_node, (int64_t)kernel->start_ns,
		                          (int64_t)kernel->end_ns, &values.wave);
		if (!err)
			err = wt_shares_add(process, config_idx, is_node, exec_id,
			                    (int64_t)kernel->start_ns, (int64_t)kernel->end_ns,
			                    &values.wave);
		wt_process_span(process, kernel->start_ns, kernel->end_ns);
	} else {
		process->tally.kernels_no_time++;
	}
	if (err)
		return err;
	watch_times(process, is_timed);
	run->next_exec_id++;
	process->tally.kernels_stored++;
	return wt_batch_add(
	        run, WT_BATCH_EXEC,
	        (const int64_t[]){
	                exec_id, process->process_id, run->configs[config_idx].config_id,
	                is_timed ? (int64_t)kernel->start_ns : WT_DB_NULL,
	                is_timed ? (int64_t)kernel->end_ns : WT_DB_NULL, kernel->context_id,
	                kernel->stream_id, kernel->correlation_id,
	                is_node ? (int64_t)kernel->graph_id : WT_DB_NULL,
	                kernel->graph_node_id ? (int64_t)kernel->graph_node_id : WT_DB_NULL,
	                how == WT_LINK_EXACT ? (int64_t)seq : WT_DB_NULL, how,
	                values.is_underfill_known ? values.wave.underfill_sm_ns : WT_DB_NULL,
	                values.wave.is_judged ? values.wave.wave_sm_ns : WT_DB_NULL,
	                values.wave.is_judged ? values.wave.wave_max_sm_ns : WT_DB_NULL,
	                run->configs[config_idx].key.device_id});
}

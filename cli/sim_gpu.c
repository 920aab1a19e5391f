/*
 * sim_gpu.c - `wavetap simulate` on the GPU of a recorded run: its SMs, and how many blocks of a
 * kernel fit on one. See simulate.h.
 *
 * The limits are those that the driver reported when the run was recorded. No GPU is known by name.
 *
 * Single-threaded; blocks on the run's file.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analysis/occupancy.h"
#include "cli/cli.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/simulate.h"

struct gpu {
	struct wt_device device;
	int64_t id;
	int count; /* GPUs that were meant */
};

static void read_limits(sqlite3_stmt *s, struct gpu *gpu)
{
	struct wt_device *d = &gpu->device;
	int32_t *const limits[] = {&d->cc_major,
	                           &d->cc_minor,
	                           &d->sm_count,
	                           &d->warp_size,
	                           &d->max_threads_per_sm,
	                           &d->max_blocks_per_sm,
	                           &d->max_threads_per_block,
	                           &d->regs_per_sm,
	                           &d->regs_per_block,
	                           &d->smem_per_sm_bytes,
	                           &d->smem_per_block_bytes,
	                           &d->smem_per_block_optin_bytes,
	                           &d->smem_reserved_per_block_bytes};
	const unsigned char *name = sqlite3_column_text(s, 1);

	gpu->id = sqlite3_column_int64(s, 0);
	snprintf(d->name, sizeof(d->name), "%s", name ? (const char *)name : "GPU");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		*limits[i] = sqlite3_column_int(s, (int)i + 2);
}

/* The GPU with that id, or the first (`device_id` below 0). 0 or -EIO. */
static int read_gpu(sqlite3 *db, int64_t device_id, struct gpu *gpu)
{
	static const char sql[] =
	        "SELECT device_id, name, cc_major, cc_minor, sm_count, warp_size,"
	        " max_threads_per_sm, max_blocks_per_sm, max_threads_per_block, regs_per_sm,"
	        " regs_per_block, smem_per_sm_bytes, smem_per_block_bytes,"
	        " smem_per_block_optin_bytes, smem_reserved_per_block_bytes"
	        " FROM gpu WHERE ?1 < 0 OR device_id = ?1 ORDER BY device_id";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	*gpu = (struct gpu){0};
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	while ((rc = wt_report_step(s)) > 0)
		if (!gpu->count++)
			read_limits(s, gpu);
	sqlite3_finalize(s);
	return rc;
}

static int load_gpu(const struct wt_sim_values *values, struct gpu *gpu, char run_id[64])
{
	struct wt_run_file run;
	int code = wt_run_file_open(values->run, &run);
	int rc;

	if (code)
		return code;
	rc = read_gpu(run.db, values->device, gpu);
	snprintf(run_id, 64, "%s", run.info.id);
	if (rc) {
		wt_cli_error("%s: %s", run.info.path, wt_report_problem(run.db));
		code = WT_EXIT_FAILED;
	} else if (gpu->count == 0 || gpu->device.sm_count < 1) {
		wt_cli_error("run %s: %s", run_id,
		             values->device >= 0 ? "no GPU with that id is known"
		                                 : "no GPU is known, as no kernel was launched");
		code = WT_EXIT_NO_DATA;
	} else if (gpu->count > 1) {
		code = wt_cli_usage_error("simulate", "run %s has %d GPUs: --device says which",
		                          run_id, gpu->count);
	}
	wt_run_file_close(&run);
	return code;
}

/* ---- the kernel */

static int parse_launch(const struct wt_sim_values *values, struct wt_occupancy_launch *launch)
{
	uint64_t block[3] = {1, 1, 1};

	*launch = (struct wt_occupancy_launch){0};
	if (wt_sim_parse_product(values->block, strlen(values->block), block) < 1 ||
	    block[0] > 1024 || block[1] > 1024 || block[2] > 1024)
		return wt_cli_usage_error("simulate", "--block: \"%s\" is not a number of threads",
		                          values->block);
	if (values->regs > 255)
		return wt_cli_usage_error("simulate", "--regs: a thread has 255 registers at most");
	if (values->smem > INT32_MAX)
		return wt_cli_usage_error("simulate", "--smem: not a number of bytes");
	for (int i = 0; i < 3; i++)
		launch->block[i] = (uint32_t)block[i];
	launch->registers_per_thread = values->regs > 0 ? (uint32_t)values->regs : 0;
	launch->smem_dynamic_bytes = values->smem > 0 ? (uint32_t)values->smem : 0;
	return WT_EXIT_FINE;
}

/* "registers, warps" */
static void list_limiters(uint32_t limiters, char *text, size_t text_bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < WT_OCCUPANCY_LIMIT_MAX && used < text_bytes; i++)
		if (limiters & WT_OCCUPANCY_BIT(i))
			used += (size_t)snprintf(
			        text + used, text_bytes - used, "%s%s", used ? ", " : "",
			        wt_occupancy_limit_name((enum wt_occupancy_limit)i));
}

static int set_blocks_per_sm(const struct wt_sim_values *values, const struct gpu *gpu,
                             struct wt_sim_gpu *ret_gpu)
{
	struct wt_occupancy_launch launch;
	struct wt_occupancy occupancy;
	char limiters[64];
	size_t used = strlen(ret_gpu->text);
	int code = parse_launch(values, &launch);
	int rc;

	if (code)
		return code;
	rc = wt_occupancy_compute(&gpu->device, &launch, &occupancy);
	if (rc) {
		wt_cli_error(rc == -ENOTSUP
		                     ? "the allocation units of compute capability %d.%d are "
		                       "not known: give --blocks-per-sm"
		                     : "the driver gave no value for a limit of this GPU "
		                       "(compute capability %d.%d): give --blocks-per-sm",
		             gpu->device.cc_major, gpu->device.cc_minor);
		return WT_EXIT_NO_DATA;
	}
	list_limiters(occupancy.limiters, limiters, sizeof(limiters));
	if (occupancy.blocks_per_sm < 1) {
		wt_cli_error("not one such block fits on an SM of %s: %s", gpu->device.name,
		             limiters);
		return WT_EXIT_NO_DATA;
	}
	snprintf(ret_gpu->blocks_per_sm, sizeof(ret_gpu->blocks_per_sm), "%d",
	         occupancy.blocks_per_sm);
	snprintf(ret_gpu->text + used, sizeof(ret_gpu->text) - used,
	         ", blocks per SM limited by %s", limiters);
	return WT_EXIT_FINE;
}

int wt_sim_use_gpu(struct wt_sim_values *values, struct wt_sim_gpu *ret_gpu)
{
	char run_id[64];
	struct gpu gpu;
	int code;

	*ret_gpu = (struct wt_sim_gpu){0};
	if (!values->block && (values->regs >= 0 || values->smem >= 0))
		return wt_cli_usage_error("simulate", "--regs and --smem need --block");
	if (values->block && values->blocks_per_sm)
		return wt_cli_usage_error("simulate",
		                          "--block and --blocks-per-sm exclude each other");
	if (!values->run && !values->block && values->device < 0)
		return WT_EXIT_FINE;
	code = load_gpu(values, &gpu, run_id);
	if (code)
		return code;
	snprintf(ret_gpu->text, sizeof(ret_gpu->text), "%s of run %s", gpu.device.name, run_id);
	snprintf(ret_gpu->sms, sizeof(ret_gpu->sms), "%d", gpu.device.sm_count);
	if (!values->sms)
		values->sms = ret_gpu->sms;
	if (values->block) {
		code = set_blocks_per_sm(values, &gpu, ret_gpu);
		values->blocks_per_sm = ret_gpu->blocks_per_sm;
	}
	return code;
}

/*
 * show_advice.c - what limits a configuration and what its grid loses, in words with a bound.
 * Single-threaded; blocks on the file.
 *
 * Lift: for each limit that is reached, the largest value with which that limit alone would let
 * one more block onto an SM, by the project's own occupancy (analysis/occupancy.h). Whether more
 * blocks per SM help, the model can't tell, so no time is promised for it.
 *
 * A collective gets neither: its few blocks are by design, and its time is not its own.
 *
 * Advice: never more than the idle SM-time that was seen. What a change of the grid wins for kernels
 * that wait for memory only counters can tell.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/collective.h"
#include "analysis/occupancy.h"
#include "cli/report_sql.h"
#include "cli/show.h"
#include "cli/text.h"

struct inputs {
	struct wt_device device;
	struct wt_occupancy_launch launch;
	int64_t blocks, resident_blocks;
	int64_t sm_count; /* of the context */
	bool is_cooperative;
	bool is_collective;
};

static int load_inputs(sqlite3 *db, int64_t config_id, struct inputs *in)
{
	static const char sql[] =
	        "SELECT g.cc_major, g.cc_minor, g.sm_count, g.warp_size, g.max_threads_per_sm,"
	        " g.max_blocks_per_sm, g.max_threads_per_block, g.regs_per_sm, g.regs_per_block,"
	        " g.smem_per_sm_bytes, g.smem_per_block_bytes, g.smem_per_block_optin_bytes,"
	        " g.smem_reserved_per_block_bytes, c.block_x, c.block_y, c.block_z,"
	        " c.regs_per_thread, c.static_smem_bytes, c.dynamic_smem_bytes, c.blocks,"
	        " c.resident_blocks, c.cooperative, c.sm_count, k.name"
	        " FROM config c JOIN gpu g USING (device_id) JOIN kernel k USING (kernel_id)"
	        " WHERE c.config_id = ?1";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);
	int at = 0;

	memset(in, 0, sizeof(*in));
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config_id);
	rc = wt_report_step(s);
	if (rc > 0) {
		int32_t *const limits[] = {&in->device.cc_major,
		                           &in->device.cc_minor,
		                           &in->device.sm_count,
		                           &in->device.warp_size,
		                           &in->device.max_threads_per_sm,
		                           &in->device.max_blocks_per_sm,
		                           &in->device.max_threads_per_block,
		                           &in->device.regs_per_sm,
		                           &in->device.regs_per_block,
		                           &in->device.smem_per_sm_bytes,
		                           &in->device.smem_per_block_bytes,
		                           &in->device.smem_per_block_optin_bytes,
		                           &in->device.smem_reserved_per_block_bytes};

		for (; at < (int)(sizeof(limits) / sizeof(limits[0])); at++)
			*limits[at] = sqlite3_column_int(s, at);
		for (int i = 0; i < 3; i++)
			in->launch.block[i] = (uint32_t)sqlite3_column_int64(s, at++);
		in->launch.registers_per_thread = (uint32_t)sqlite3_column_int64(s, at++);
		in->launch.smem_static_bytes = (uint32_t)sqlite3_column_int64(s, at++);
		in->launch.smem_dynamic_bytes = (uint32_t)sqlite3_column_int64(s, at++);
		in->blocks = sqlite3_column_int64(s, at++);
		in->resident_blocks = sqlite3_column_int64(s, at++);
		in->is_cooperative = sqlite3_column_int(s, at++);
		in->sm_count = sqlite3_column_int64(s, at++);
		in->is_collective =
		        wt_is_collective_kernel((const char *)sqlite3_column_text(s, at));
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

static void append(char text[WT_SHOW_ADVICE_BYTES], const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void append(char text[WT_SHOW_ADVICE_BYTES], const char *format, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + used, WT_SHOW_ADVICE_BYTES - used, format, ap);
	va_end(ap);
}

/* ---- lift */

/* Changes the resource behind a limit to `value`: registers, bytes of shared memory, threads. */
static struct wt_occupancy_launch with_value(const struct inputs *in, enum wt_occupancy_limit limit,
                                             uint32_t value)
{
	struct wt_occupancy_launch launch = in->launch;

	if (limit == WT_OCCUPANCY_REGISTERS) {
		launch.registers_per_thread = value;
	} else if (limit == WT_OCCUPANCY_SMEM) {
		launch.smem_static_bytes = 0;
		launch.smem_dynamic_bytes = value;
	} else {
		launch.block[0] = value;
		launch.block[1] = launch.block[2] = 1;
	}
	return launch;
}

static bool is_enough(const struct inputs *in, enum wt_occupancy_limit limit, uint32_t value,
                      int32_t target)
{
	struct wt_occupancy_launch launch = with_value(in, limit, value);
	struct wt_occupancy occupancy;

	return wt_occupancy_compute(&in->device, &launch, &occupancy) == 0 &&
	       occupancy.limit_blocks[limit] >= target;
}

/* The largest value below `now` that lets `target` blocks in; UINT32_MAX: none does. */
static uint32_t largest_enough(const struct inputs *in, enum wt_occupancy_limit limit, uint32_t now,
                               int32_t target)
{
	uint32_t low = limit == WT_OCCUPANCY_SMEM ? 0 : 1, high = now;

	if (now <= low || !is_enough(in, limit, low, target))
		return UINT32_MAX;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (is_enough(in, limit, middle, target))
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The change of one limit, also made in `in`; false: none helps. */
static bool add_lift(struct inputs *in, enum wt_occupancy_limit limit, int32_t target,
                     char text[WT_SHOW_ADVICE_BYTES])
{
	const struct wt_occupancy_launch *l = &in->launch;
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];
	uint32_t smem = l->smem_static_bytes + l->smem_dynamic_bytes;
	uint32_t now = limit == WT_OCCUPANCY_REGISTERS ? l->registers_per_thread
	               : limit == WT_OCCUPANCY_SMEM    ? smem
	                                               : threads;
	uint32_t value =
	        limit == WT_OCCUPANCY_BLOCKS ? UINT32_MAX : largest_enough(in, limit, now, target);
	const char *join = text[0] ? " and" : "with";

	if (value == UINT32_MAX)
		return false;
	if (limit == WT_OCCUPANCY_REGISTERS)
		append(text, "%s at most %u registers a thread (now %u)", join, value, now);
	else if (limit == WT_OCCUPANCY_SMEM)
		append(text, "%s at most %u bytes of shared memory (now %u)", join, value, now);
	else
		append(text, "%s blocks of at most %u threads (now %u)", join, value, now);
	in->launch = with_value(in, limit, value);
	return true;
}

/*
 * One limit after the other, each with the changes before it made: smaller blocks need fewer
 * registers. Nothing at full occupancy, where more blocks bring no more warps, and nothing if a limit
 * can't be lifted.
 */
static void fill_lift(struct inputs in, char text[WT_SHOW_ADVICE_BYTES])
{
	char how[WT_SHOW_ADVICE_BYTES] = "";
	struct wt_occupancy occupancy;
	int32_t target;

	if (wt_occupancy_compute(&in.device, &in.launch, &occupancy) ||
	    occupancy.blocks_per_sm <= 0 || occupancy.warps_per_sm >= occupancy.max_warps_per_sm)
		return;
	target = occupancy.blocks_per_sm + 1;
	for (int limit = 0; limit < WT_OCCUPANCY_LIMIT_MAX; limit++) {
		if (wt_occupancy_compute(&in.device, &in.launch, &occupancy) ||
		    occupancy.blocks_per_sm >= target)
			break;
		if (occupancy.limit_blocks[limit] < target &&
		    !add_lift(&in, (enum wt_occupancy_limit)limit, target, how))
			return;
	}
	append(text, "%d blocks per SM instead of %d %s", target, target - 1, how);
}

/* ---- advice */

/* What is lost, as time of the whole GPU, of all launches of the configuration. */
static void fill_advice(const struct inputs *in, const struct wt_report_row *row,
                        char text[WT_SHOW_ADVICE_BYTES])
{
	char least[WT_TEXT_NUMBER_BYTES], most[WT_TEXT_NUMBER_BYTES];
	int64_t sms = in->sm_count, waves;

	if (sms <= 0 || in->blocks <= 0)
		return;
	if (in->blocks < sms) {
		append(text,
		       "%" PRId64 " of %" PRId64 " SMs get no block: at most %s of the GPU to win "
		       "with a grid of %" PRId64 " or more, or with another kernel beside it",
		       sms - in->blocks, sms, wt_text_ns(most, row->underfill_sm_ns / sms), sms);
		return;
	}
	if (row->wave_max_sm_ns <= 0 || in->resident_blocks <= 0)
		return;
	waves = (in->blocks + in->resident_blocks - 1) / in->resident_blocks;
	append(text, "%.2f waves: %s to %s of the GPU to win at most",
	       (double)in->blocks / (double)in->resident_blocks,
	       wt_text_ns(least, row->wave_sm_ns / sms),
	       wt_text_ns(most, row->wave_max_sm_ns / sms));
	if (waves > 1)
		append(text, " with a grid of %" PRId64 " or %" PRId64 " blocks for the same work",
		       (waves - 1) * in->resident_blocks, waves * in->resident_blocks);
	else
		append(text, " with a multiple of %" PRId64 " blocks for the same work", sms);
}

int wt_show_advise(sqlite3 *db, struct wt_show_config *config)
{
	struct inputs in;
	int rc = load_inputs(db, config->row.config_id, &in);

	if (rc)
		return rc;
	config->blocks = in.blocks;
	config->resident_blocks = in.resident_blocks;
	config->sm_count = in.device.sm_count;
	config->is_collective = in.is_collective;
	if (in.is_collective) {
		append(config->advice,
		       "a collective: its blocks are channels between GPUs, and its time "
		       "is largely that of waiting for other ranks; no grid wins it");
		return 0;
	}
	fill_lift(in, config->lift);
	if (!in.is_cooperative)
		fill_advice(&in, &config->row, config->advice);
	return 0;
}

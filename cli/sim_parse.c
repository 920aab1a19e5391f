/*
 * sim_parse.c - what the options of `wavetap simulate` mean together. See simulate.h.
 *
 * Single-threaded: messages go to stderr.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/simulate.h"

#define BLOCKS_PER_SM_MAX 128 /* GPUs so far: 32 */
#define CLUSTER_MAX 1024
#define GEMM_MAX (1 << 30)

static int usage(const char *message)
{
	return wt_cli_usage_error("simulate", "%s", message);
}

/* Which options go together. */
static int check_values(const struct wt_sim_values *v)
{
	int sources = (v->grid != NULL) + (v->times != NULL) + (v->gemm != NULL);

	if (!v->sms || !v->blocks_per_sm)
		return usage(v->sms ? "--blocks-per-sm is missing: how many blocks fit on an SM; "
		                      "or --block"
		                    : "--sms is missing: how many SMs the GPU has; or --run");
	if (sources != 1)
		return usage(sources ? "--grid, --times and --gemm exclude each other"
		                     : "--grid, --times or --gemm is missing");
	if ((v->gemm != NULL) != (v->tile != NULL))
		return usage(v->gemm ? "--gemm needs --tile" : "--tile needs --gemm");
	if (v->block_time && v->times)
		return usage("--block-time and --times exclude each other");
	if (!v->gemm && (v->is_stream_k || v->split_k >= 0))
		return usage("--stream-k and --split-k need --gemm");
	if (v->is_stream_k && (v->split_k >= 0 || v->persistent || v->block_time))
		return usage("--stream-k excludes --split-k, --persistent and --block-time");
	if (v->workers >= 0 && !v->persistent && !v->is_stream_k)
		return usage("--workers needs --persistent or --stream-k");
	if (v->gpc && !v->cluster)
		return usage("--gpc needs --cluster: GPCs matter to clusters only");
	if (v->is_json && v->is_csv)
		return usage("--json and --csv exclude each other");
	return WT_EXIT_FINE;
}

/* ---- GEMM */

static int parse_gemm(const char *text, struct wt_sim *sim)
{
	struct wt_sim_list sizes = {0};
	int code = wt_sim_parse_list("gemm", text, false, GEMM_MAX, &sizes);

	if (!code && (sizes.count != 3 || strchr(text, ':')))
		code = wt_cli_usage_error("simulate", "--gemm: \"%s\" is not M,N,K", text);
	if (!code)
		memcpy(sim->gemm, sizes.values, sizeof(sim->gemm));
	free(sizes.values);
	return code;
}

static int parse_tile(const char *text, size_t length, struct wt_sim *sim)
{
	uint64_t parts[3] = {0};
	int count = wt_sim_parse_product(text, length, parts);

	if (count < 2 || parts[0] > GEMM_MAX || parts[1] > GEMM_MAX || parts[2] > GEMM_MAX)
		return wt_cli_usage_error("simulate", "--tile: \"%.*s\" is not MxN or MxNxK",
		                          (int)length, text);
	if (sim->tile_count == WT_SIM_TILES_MAX)
		return wt_cli_usage_error("simulate", "--tile: more than %d tiles",
		                          WT_SIM_TILES_MAX);
	if (sim->is_stream_k && count < 3)
		return usage("--stream-k needs tiles of MxNxK: it splits the work in steps of K");
	sim->tiles[sim->tile_count++] = (struct wt_sim_tile){
	        .m = (uint32_t)parts[0], .n = (uint32_t)parts[1], .k = (uint32_t)parts[2]};
	return WT_EXIT_FINE;
}

static int parse_tiles(const struct wt_sim_values *values, struct wt_sim *sim)
{
	int code = parse_gemm(values->gemm, sim);

	for (const char *at = values->tile; !code; at++) {
		size_t length = strcspn(at, ",");

		code = parse_tile(at, length, sim);
		at += length;
		if (!*at)
			break;
	}
	if (code)
		return code;
	if (sim->tile_count > 1 && values->block_time)
		return usage("one --block-time can't be true of several tiles; without it time is "
		             "counted in multiply-adds");
	sim->has_times_of_tile = !values->block_time;
	sim->split_k = values->split_k >= 0 ? (uint64_t)values->split_k : 1;
	if (sim->split_k < 1 || sim->split_k > sim->gemm[2])
		return usage("--split-k: not from 1 to the GEMM's K");
	return WT_EXIT_FINE;
}

/* ---- machine */

static int parse_cluster(const struct wt_sim_values *values, struct wt_sim *sim)
{
	uint64_t parts[3] = {1, 1, 1};
	int count;

	sim->cluster[0] = sim->cluster[1] = sim->cluster[2] = sim->cluster_blocks = 1;
	if (!values->cluster)
		return WT_EXIT_FINE;
	count = wt_sim_parse_product(values->cluster, strlen(values->cluster), parts);
	if (count < 1 || parts[0] > CLUSTER_MAX || parts[1] > CLUSTER_MAX ||
	    parts[2] > CLUSTER_MAX || parts[0] * parts[1] * parts[2] > CLUSTER_MAX)
		return wt_cli_usage_error("simulate",
		                          "--cluster: \"%s\" is not CxC, up to %d blocks",
		                          values->cluster, CLUSTER_MAX);
	if (values->gemm && parts[2] > 1)
		return usage("--cluster: clusters of a GEMM have two sizes, along M and N");
	for (int i = 0; i < 3; i++)
		sim->cluster[i] = (uint32_t)parts[i];
	sim->cluster_blocks = (uint32_t)(parts[0] * parts[1] * parts[2]);
	return WT_EXIT_FINE;
}

/* One size is that of every GPC; several are those of all, and must sum up to the SMs. */
static int check_gpcs(const struct wt_sim *sim)
{
	uint64_t sum = 0;

	if (sim->gpcs.count < 2)
		return WT_EXIT_FINE;
	for (size_t i = 0; i < sim->gpcs.count; i++)
		sum += sim->gpcs.values[i];
	for (size_t i = 0; i < sim->sms.count; i++)
		if (sim->sms.values[i] != sum)
			return wt_cli_usage_error(
			        "simulate", "--gpc: these GPCs have %llu SMs, not %llu",
			        (unsigned long long)sum, (unsigned long long)sim->sms.values[i]);
	return WT_EXIT_FINE;
}

static int parse_machine(const struct wt_sim_values *values, struct wt_sim *sim)
{
	int code = wt_sim_parse_list("sms", values->sms, false, WT_SCHEDULE_SMS_MAX, &sim->sms);

	if (!code)
		code = wt_sim_parse_list("blocks-per-sm", values->blocks_per_sm, false,
		                         BLOCKS_PER_SM_MAX, &sim->blocks_per_sm);
	if (!code)
		code = parse_cluster(values, sim);
	if (!code && values->gpc)
		code = wt_sim_parse_list("gpc", values->gpc, false, WT_SCHEDULE_SMS_MAX,
		                         &sim->gpcs);
	return code ? code : check_gpcs(sim);
}

static void parse_deal(const struct wt_sim_values *values, struct wt_sim *sim)
{
	static const enum wt_schedule_deal deals[] = {WT_SCHEDULE_BLOCKS, WT_SCHEDULE_QUEUE,
	                                              WT_SCHEDULE_STRIDE};

	sim->deal = values->is_stream_k ? WT_SCHEDULE_SPLIT : deals[values->persistent];
	sim->workers = values->workers > 0 ? (uint64_t)values->workers : 0;
	sim->is_stream_k = values->is_stream_k;
	sim->is_shared = values->is_shared;
	sim->is_packed = values->is_packed;
}

/* ---- all */

size_t wt_sim_axis_count(const struct wt_sim *sim, enum wt_sim_axis axis)
{
	switch (axis) {
	case WT_SIM_SMS:
		return sim->sms.count;
	case WT_SIM_BLOCKS_PER_SM:
		return sim->blocks_per_sm.count;
	case WT_SIM_GRID:
		return sim->grids.count ? sim->grids.count : 1;
	default:
		return sim->tile_count ? sim->tile_count : 1;
	}
}

static int check_row_count(struct wt_sim *sim)
{
	size_t count = 1;

	sim->is_sweep = sim->sms.is_range || sim->blocks_per_sm.is_range || sim->grids.is_range ||
	                sim->tile_count > 1;
	for (int axis = 0; axis < WT_SIM_AXES; axis++) {
		size_t more = wt_sim_axis_count(sim, (enum wt_sim_axis)axis);

		if (__builtin_mul_overflow(count, more, &count) || count > WT_SIM_ROWS_MAX)
			return wt_cli_usage_error("simulate", "the ranges make more than %d rows",
			                          WT_SIM_ROWS_MAX);
	}
	return WT_EXIT_FINE;
}

int wt_sim_parse(const struct wt_sim_values *values, struct wt_sim *sim)
{
	int code;

	*sim = (struct wt_sim){.split_k = 1};
	code = check_values(values);
	if (code)
		return code;
	parse_deal(values, sim);
	if (values->workers == 0)
		return usage("--workers: a grid has at least one block");
	code = parse_machine(values, sim);
	if (!code && values->grid)
		code = wt_sim_parse_list("grid", values->grid, true, INT64_MAX, &sim->grids);
	if (!code && values->gemm)
		code = parse_tiles(values, sim);
	if (!code)
		code = wt_sim_parse_times(values, sim);
	return code ? code : check_row_count(sim);
}

void wt_sim_fini(struct wt_sim *sim)
{
	free(sim->sms.values);
	free(sim->blocks_per_sm.values);
	free(sim->grids.values);
	free(sim->gpcs.values);
	free(sim->time_list);
}

/*
 * trace_samples.c - see trace_impl.h: what was sampled of each device (SMs active, warps, pipes, memory,
 * clock) and what NVML said, as counters. Where nobody sampled, counters are at 0 and a slice says so:
 * a trace has no value for "not known". Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/report_sql.h"
#include "cli/sm_activity.h"
#include "cli/trace_impl.h"
#include "schema/wt_db.h"

enum { ACTIVE, WARPS, TENSOR, DRAM, CLOCK, COUNTERS };

static const struct {
	const char *name, *unit;
} counters[COUNTERS] = {
        [ACTIVE] = {"SMs active (sampled)", "SMs"},
        [WARPS] = {"warps per SM (sampled)", "warps"},
        [TENSOR] = {"tensor pipes at work (sampled)", "%"},
        [DRAM] = {"DRAM traffic (sampled)", "GB/s"},
        [CLOCK] = {"SM clock (sampled)", "MHz"},
};

#define SAMPLES_MAX 200000 /* beyond, means of some 10 ms */
#define HOLE_LEAST_NS 2000 /* samples follow each other with less between them */

struct sampled {
	struct wt_trace_work *work;
	const struct wt_trace_device *device;
	uint64_t tracks[COUNTERS]; /* 0: not begun */
	double shown[COUNTERS];
	int64_t end_ns; /* of the last piece */
	struct wt_trace_row holes;
};

static void put_value(struct sampled *sampled, int which, int64_t time_ns, double value)
{
	struct wt_trace *trace = &sampled->work->trace;

	if (!sampled->tracks[which]) {
		const struct wt_trace_track track = {
		        .parent = sampled->device->track,
		        .name = counters[which].name,
		        .unit = counters[which].unit,
		        .description =
		                "single samples where at most 200,000 lie in the trace, else "
		                "means of some 10 ms; 0 where nobody sampled: see the track "
		                "of holes",
		        .rank = WT_RANK_SAMPLED + which,
		        .is_counter = true};

		sampled->tracks[which] = wt_trace_track(trace, &track);
		sampled->shown[which] = -1;
	}
	if (value == sampled->shown[which])
		return;
	wt_trace_value_double(trace, sampled->tracks[which], time_ns, value);
	sampled->shown[which] = value;
}

/* Nobody looked until then. */
static void put_hole(struct sampled *sampled, int64_t end_ns)
{
	struct wt_trace *trace = &sampled->work->trace;
	struct wt_trace_slice slice = {.start_ns = sampled->end_ns,
	                               .category = WT_CATEGORY_OVERHEAD};

	for (int i = 0; i < COUNTERS; i++)
		if (sampled->tracks[i])
			put_value(sampled, i, sampled->end_ns, 0);
	slice.track = wt_trace_row_place(&sampled->holes, sampled->end_ns, end_ns);
	if (!slice.track)
		return;
	slice.name = wt_trace_text(trace, WT_TRACE_NAME, "not sampled");
	wt_trace_slice(trace, &slice);
	wt_trace_slice_done(trace);
}

static int on_piece(void *arg, const struct wt_sm_piece *piece)
{
	struct sampled *sampled = arg;
	const double values[COUNTERS] = {
	        [ACTIVE] = piece->active_avg * (double)sampled->device->sms,
	        [WARPS] = piece->warps_per_sm,
	        [TENSOR] = piece->tensor_share * 100,
	        [DRAM] = piece->dram_bytes / piece->sampled_ns,
	        [CLOCK] = piece->sm_clock_mhz,
	};

	if (piece->start_ns - sampled->end_ns > HOLE_LEAST_NS)
		put_hole(sampled, piece->start_ns);
	for (int i = 0; i < COUNTERS; i++)
		if (isfinite(values[i]))
			put_value(sampled, i, piece->start_ns, values[i]);
	if (piece->end_ns > sampled->end_ns)
		sampled->end_ns = piece->end_ns;
	return sampled->work->trace.error;
}

static int put_samples(struct wt_trace_work *work, const struct wt_trace_device *device)
{
	struct sampled sampled = {
	        .work = work,
	        .device = device,
	        .end_ns = work->start_ns,
	        .holes = {.trace = &work->trace,
	                  .parent = device->track,
	                  .name = "holes in samples",
	                  .description = "nobody sampled: counters at 0 mean nothing",
	                  .rank = WT_RANK_SAMPLED + COUNTERS}};
	int rc = wt_sm_activity_read(work->db, device->device_id, work->start_ns, work->end_ns,
	                             SAMPLES_MAX, on_piece, &sampled);

	if (!rc && sampled.tracks[ACTIVE] && work->end_ns - sampled.end_ns > HOLE_LEAST_NS)
		put_hole(&sampled, work->end_ns);
	wt_trace_row_finish(&sampled.holes);
	return rc ? rc : work->trace.error;
}

/* ---- NVML */

static int put_states(struct wt_trace_work *work, const struct wt_trace_device *device)
{
	static const struct {
		const char *name, *unit;
		double scale;
	} states[] = {{"SM clock (NVML)", "MHz", 1},
	              {"power (NVML)", "W", 1e-3},
	              {"temperature (NVML)", "C", 1}};
	uint64_t tracks[3] = {0};
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        work->db,
	        "SELECT time_ns, sm_clock_mhz, power_mw, temperature_c FROM main.gpu_state WHERE"
	        " device_id = ?1 AND time_ns >= ?2 AND time_ns < ?3 ORDER BY time_ns",
	        &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device->device_id);
	sqlite3_bind_int64(s, 2, work->start_ns);
	sqlite3_bind_int64(s, 3, work->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		for (int i = 0; i < 3; i++) {
			if (sqlite3_column_type(s, i + 1) == SQLITE_NULL)
				continue;
			if (!tracks[i])
				tracks[i] = wt_trace_track(
				        &work->trace,
				        &(struct wt_trace_track){.parent = device->track,
				                                 .name = states[i].name,
				                                 .unit = states[i].unit,
				                                 .rank = WT_RANK_NVML + i,
				                                 .is_counter = true});
			wt_trace_value_double(&work->trace, tracks[i], sqlite3_column_int64(s, 0),
			                      sqlite3_column_double(s, i + 1) * states[i].scale);
		}
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : work->trace.error;
}

int wt_trace_samples(struct wt_trace_work *work)
{
	bool has_states = wt_db_has_table(work->db, "gpu_state");
	int rc = 0;

	for (size_t i = 0; !rc && i < work->device_count && work->end_ns > work->start_ns; i++) {
		rc = put_samples(work, &work->devices[i]);
		if (!rc && has_states)
			rc = put_states(work, &work->devices[i]);
	}
	return rc;
}

/*
 * trace_ledger.c - see trace_impl.h: what the ledger says of each device over time: gaps with their
 * causes, SMs that kernels could keep busy, waves of blocks. Of all kernels of the device, whatever is
 * selected. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <string.h>

#include "cli/ledger.h"
#include "cli/trace_impl.h"

struct resident {
	int64_t end_ns;
	uint32_t sms;
	double waves;
};

struct over_time {
	struct wt_trace_work *work;
	const struct wt_ledger_device *device; /* in work; NULL: none */
	size_t device_at;
	uint64_t sms_track, waves_track;
	struct wt_trace_row gaps;
	struct resident resident[WT_SWEEP_RESIDENT_MAX];
	size_t resident_count;
	int64_t now_ns; /* of the value that is not written yet */
	int64_t shown_sms;
	double shown_waves;
};

/* ---- counters */

/* The state up to now is known: written where it differs from the one before. */
static void put_state(struct over_time *over)
{
	struct wt_trace *trace = &over->work->trace;
	int64_t sms = 0;
	double waves = 0;

	for (size_t i = 0; i < over->resident_count; i++) {
		sms += over->resident[i].sms;
		waves += over->resident[i].waves;
	}
	if (sms > over->device->sms)
		sms = over->device->sms;
	if (sms != over->shown_sms)
		wt_trace_value_int(trace, over->sms_track, over->now_ns, sms);
	if (waves != over->shown_waves)
		wt_trace_value_double(trace, over->waves_track, over->now_ns, waves);
	over->shown_sms = sms;
	over->shown_waves = waves;
}

/* Kernels that end by then go, in the order of their ends. */
static void end_until(struct over_time *over, int64_t until_ns)
{
	for (;;) {
		size_t first = SIZE_MAX;

		for (size_t i = 0; i < over->resident_count; i++)
			if (over->resident[i].end_ns <= until_ns &&
			    (first == SIZE_MAX ||
			     over->resident[i].end_ns < over->resident[first].end_ns))
				first = i;
		if (first == SIZE_MAX)
			return;
		if (over->resident[first].end_ns > over->now_ns) {
			put_state(over);
			over->now_ns = over->resident[first].end_ns;
		}
		over->resident[first] = over->resident[--over->resident_count];
	}
}

/* ---- devices */

static uint64_t counter(struct over_time *over, const char *name, const char *text, int rank)
{
	const struct wt_trace_track track = {.parent = over->work->devices[over->device_at].track,
	                                     .name = name,
	                                     .description = text,
	                                     .rank = rank,
	                                     .is_counter = true};

	return wt_trace_track(&over->work->trace, &track);
}

static void finish_device(struct over_time *over)
{
	if (!over->device)
		return;
	end_until(over, INT64_MAX);
	put_state(over);
	wt_trace_row_finish(&over->gaps);
	over->work->refused += over->gaps.refused;
	over->device = NULL;
}

/* False: the trace has no such device. */
static bool is_begun(struct over_time *over, const struct wt_ledger_device *device)
{
	if (over->device == device)
		return true;
	finish_device(over);
	over->device_at = wt_trace_device_at(over->work, device->device_id);
	if (over->device_at == SIZE_MAX)
		return false;
	over->device = device;
	over->sms_track = counter(over, "SMs that could be busy (model)",
	                          "SMs that the blocks of all kernels running can occupy, by their "
	                          "grids and the device's limits; not a measurement",
	                          WT_RANK_SMS);
	over->waves_track = counter(over, "waves of kernels running",
	                            "blocks of each kernel that runs by the blocks that the device "
	                            "holds at once, summed; from its start to its end",
	                            WT_RANK_WAVES);
	over->gaps = (struct wt_trace_row){
	        .trace = &over->work->trace,
	        .parent = over->work->devices[over->device_at].track,
	        .name = "no kernel, by cause",
	        .description = "time without a kernel, named after the cause of "
	                       "most of it; notes have the ns of each cause",
	        .rank = WT_RANK_GAPS};
	over->resident_count = 0;
	over->shown_sms = -1;
	over->shown_waves = -1;
	over->now_ns = over->work->start_ns;
	return true;
}

/* ---- what the ledger sees */

static int on_row(void *arg, const struct wt_ledger_device *device, const struct wt_ledger_row *row,
                  bool is_collective)
{
	struct over_time *over = arg;
	struct wt_trace_work *work = over->work;
	int64_t start_ns = row->start_ns > work->start_ns ? row->start_ns : work->start_ns;
	struct resident *resident;

	(void)is_collective;
	if (!is_begun(over, device))
		return 0;
	end_until(over, start_ns);
	if (over->resident_count == WT_SWEEP_RESIDENT_MAX)
		return 0; /* the sweep refuses those */
	if (start_ns > over->now_ns) {
		put_state(over);
		over->now_ns = start_ns;
	}
	resident = &over->resident[over->resident_count++];
	resident->end_ns = row->end_ns < work->end_ns ? row->end_ns : work->end_ns;
	resident->sms = wt_sweep_occupied_sms(row->config_sms, device->sms, row->resident_blocks,
	                                      row->blocks);
	resident->waves =
	        row->resident_blocks > 0 ? (double)row->blocks / (double)row->resident_blocks : 0;
	return work->trace.error;
}

static void note_gap(struct wt_trace_work *work, const struct wt_ledger_gap *gap)
{
	struct wt_trace *trace = &work->trace;

	wt_trace_note_int(trace, WT_NOTE_GAP_SM_NS,
	                  (gap->facts->end_ns - gap->facts->start_ns) * gap->device->sms);
	for (unsigned cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		if (gap->cause_ns[cause])
			wt_trace_note_int(trace, (enum wt_trace_note)(WT_NOTE_CAUSE_COPY + cause),
			                  gap->cause_ns[cause]);
	if (gap->next) {
		uint32_t at = wt_map_get(&work->kernel_at, (uint64_t)gap->next->kernel_id);

		wt_trace_note_int(trace, WT_NOTE_NEXT_EXEC, gap->next->exec_id);
		if (at != WT_MAP_NONE)
			wt_trace_note_text(trace, WT_NOTE_NEXT_KERNEL,
			                   wt_trace_text(trace, WT_TRACE_TEXT, work->names[at]));
	}
}

static int on_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct over_time *over = arg;
	struct wt_trace_work *work = over->work;
	struct wt_trace_slice slice = {.start_ns = gap->facts->start_ns,
	                               .category = WT_CATEGORY_GAP};
	int most = 0;

	if (!is_begun(over, gap->device) || slice.start_ns < 0)
		return 0;
	for (int cause = 1; cause < WT_GAP_CAUSE_MAX; cause++)
		if (gap->cause_ns[cause] > gap->cause_ns[most])
			most = cause;
	slice.track = wt_trace_row_place(&over->gaps, slice.start_ns, gap->facts->end_ns);
	if (!slice.track)
		return work->trace.error;
	slice.name = wt_trace_text(&work->trace, WT_TRACE_NAME,
	                           wt_gap_cause_name((enum wt_gap_cause)most));
	wt_trace_slice(&work->trace, &slice);
	note_gap(work, gap);
	wt_trace_slice_done(&work->trace);
	work->gaps++;
	return work->trace.error;
}

int wt_trace_ledger(struct wt_trace_work *work)
{
	struct over_time over = {.work = work};
	const struct wt_ledger_observer observer = {.row = on_row, .gap = on_gap, .arg = &over};
	struct wt_ledger ledger;
	int rc = wt_ledger_load_observed(work->db, &work->select, &observer, &ledger);

	if (!rc)
		finish_device(&over);
	else
		wt_trace_row_finish(&over.gaps);
	wt_ledger_fini(&ledger);
	return rc ? rc : work->trace.error;
}

/*
 * status.c - what `status` answers. Main thread, never blocks.
 *
 * {"version", "pid", "uptime_s", "data_dir", "shm_dir",
 *  "processes": [{"pid", "segment", "run", "rank", "command", "state", "capture", "reason",
 *                 "stalled", "launches_attempted", "launches_stored", "launches_dropped",
 *                 "kernels_stored", "kernels_dropped", "kernels_no_time", "is_timeless", "rings": [{"cells", "used"}, ...],
 *                 "cells_torn", "cells_bad", "linker_held", "segment_bytes",
 *                 "recording", "recording_problem",
 *                 "cost": {"hook_p50_ns", "hook_p99_ns", "hook_launches_ns", "hook_calls_ns",
 *                          "launches_timed", "cupti_callback_ns", "flush_cpu_ns", "own_ns", "wall_ns",
 *                          "launching_thread_ns", "cupti_bytes", "bytes_written"},
 *                 "budget": {"state", "limit_pct", "cost_pct", "unobserved_from_ns", "reason"}}],
 *  "runs": [{"key", "path", "processes", "store": {"state", "error", "wal", "batches"}}],
 *  "samplers": [{"run", "device", "uuid", "pid", "state", "interval_ns", "samples", "dropped",
 *                "overflows", "cpu_ns", "reason"}],
 *  "refused": [{"segment", "reason"}]}
 */
#include "daemon/status.h"

#include <stdarg.h>

#include "analysis/cost.h"
#include "config.h"
#include "daemon/daemon.h"

struct text {
	FILE *file;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(text->file, format, ap);
	va_end(ap);
}

/* "name": "value", with everything escaped that JSON or a terminal could mistake. */
static void put_string(struct text *text, const char *name, const char *value)
{
	put(text, "\"%s\":\"", name);
	for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
		if (*at == '"' || *at == '\\')
			put(text, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			put(text, "\\u%04x", *at);
		else
			fputc(*at, text->file);
	}
	put(text, "\"");
}

static void put_string_or_null(struct text *text, const char *name, const char *value)
{
	if (value)
		put_string(text, name, value);
	else
		put(text, "\"%s\":null", name);
}

static const char *state_of(const struct wt_process *process)
{
	if (process->is_lost)
		return "lost";
	if (process->is_done)
		return wt_process_end_state(process);
	switch (process->liveness.life) {
	case WT_LIFE_ALIVE:
		return "live";
	case WT_LIFE_DEAD:
		return "draining";
	default:
		return "unknown";
	}
}

static const char *capture_of(const struct wt_process *process)
{
	switch (process->counters.capture) {
	case WT_CAPTURE_HOOKS_ONLY:
		return "hooks-only";
	case WT_CAPTURE_FULL:
		return "full";
	case WT_CAPTURE_OFF:
		return "off";
	case WT_CAPTURE_KERNELS_ONLY:
		return "kernels-only";
	default:
		return "none";
	}
}

static void put_known(struct text *text, const char *name, int64_t value)
{
	if (value != WT_COST_UNKNOWN)
		put(text, "\"%s\":%lld,", name, (long long)value);
	else
		put(text, "\"%s\":null,", name);
}

/* What wavetap takes in the process: doc/json.md, `cost`. */
static void put_cost(struct text *text, const struct wt_process *process)
{
	const struct wt_counters *c = &process->counters;
	int64_t launches_ns = wt_cost_launches_ns(c->hook_time, c->hook_launch_ns,
	                                          c->launch_attempted + c->graph_launch_attempted);
	int64_t calls_ns = wt_cost_calls_ns(c->hook_calls_ns);
	double own_ns = (double)launches_ns + (double)calls_ns + (double)c->cupti_callback_ns;
	bool is_known = launches_ns != WT_COST_UNKNOWN && own_ns < 9e18;

	put(text, "\"cost\":{");
	put_known(text, "hook_p50_ns", wt_cost_quantile_ns(c->hook_time, 50, WT_COST_P50_LEAST));
	put_known(text, "hook_p99_ns", wt_cost_quantile_ns(c->hook_time, 99, WT_COST_P99_LEAST));
	put_known(text, "hook_launches_ns", launches_ns);
	put_known(text, "hook_calls_ns", is_known ? calls_ns : WT_COST_UNKNOWN);
	put_known(text, "own_ns", is_known ? (int64_t)own_ns : WT_COST_UNKNOWN);
	put_known(text, "wall_ns",
	          process->last_ns > process->first_ns ? process->last_ns - process->first_ns
	                                               : WT_COST_UNKNOWN);
	put(text, "\"launches_timed\":%llu,\"cupti_callback_ns\":%llu,\"flush_cpu_ns\":%llu,",
	    (unsigned long long)wt_cost_timed(c->hook_time),
	    (unsigned long long)c->cupti_callback_ns, (unsigned long long)c->flush_cpu_ns);
	put(text, "\"launching_thread_ns\":%llu,\"cupti_bytes\":%llu,\"bytes_written\":%lld}",
	    (unsigned long long)c->launching_thread_ns, (unsigned long long)c->cupti_bytes,
	    (long long)wt_cost_bytes_written(process));
}

static void put_budget(struct text *text, const struct wt_counters *c)
{
	static const char *const states[WT_BUDGET_MAX] = {"off",       "watching",  "stepped-down",
	                                                  "bad-value", "no-thread", "waiting"};
	bool is_down = c->budget_state == WT_BUDGET_STEPPED_DOWN;

	put(text, ",\"budget\":{");
	put_string_or_null(text, "state",
	                   c->budget_state < WT_BUDGET_MAX ? states[c->budget_state] : NULL);
	if (c->budget_ppm)
		put(text, ",\"limit_pct\":%.4f,", (double)c->budget_ppm / 1e4);
	else
		put(text, ",\"limit_pct\":null,");
	if (is_down)
		put(text, "\"cost_pct\":%.4f,\"unobserved_from_ns\":%llu,",
		    (double)c->budget_cost_ppm / 1e4, (unsigned long long)c->budget_stepped_ns);
	else
		put(text, "\"cost_pct\":null,\"unobserved_from_ns\":null,");
	/* That it was exceeded is the process' reason. */
	put_string_or_null(text, "reason",
	                   c->budget_state > WT_BUDGET_STEPPED_DOWN
	                           ? wt_budget_text((unsigned)c->budget_state)
	                           : NULL);
	put(text, "}");
}

static void put_process(struct text *text, const struct wt_process *process)
{
	const struct wt_segment_header *header = &process->mapped.header;
	const struct wt_counters *counters = &process->counters;
	const char *reason = wt_reason_text((unsigned)counters->reason);

	put(text, "{\"pid\":%d,", header->pid);
	put_string(text, "segment", process->name);
	put(text, ",");
	put_string(text, "run", process->run->key);
	if (header->rank >= 0)
		put(text, ",\"rank\":%d,", header->rank);
	else
		put(text, ",\"rank\":null,");
	put_string(text, "command", header->command);
	put(text, ",\"state\":\"%s\",\"capture\":\"%s\",", state_of(process), capture_of(process));
	if (process->is_lost)
		put_string(text, "reason", process->lost_why);
	else if (counters->reason)
		put_string(text, "reason", reason ? reason : "unknown reason");
	else
		put(text, "\"reason\":null");
	put(text, ",\"stalled\":%s,\"launches_attempted\":%llu,\"launches_stored\":%lld,",
	    process->is_stalled ? "true" : "false", (unsigned long long)counters->launch_attempted,
	    (long long)process->tally.launches_stored);
	put(text, "\"launches_dropped\":%llu,\"kernels_stored\":%lld,\"kernels_dropped\":%llu,",
	    (unsigned long long)counters->launch_dropped, (long long)process->tally.kernels_stored,
	    (unsigned long long)(counters->kernels_dropped_ring + counters->kernels_dropped_cupti));
	put(text, "\"kernels_no_time\":%lld,\"is_timeless\":%s,",
	    (long long)process->tally.kernels_no_time, process->is_timeless ? "true" : "false");
	put(text, "\"rings\":[");
	for (int i = 0; i < WT_RING_MAX; i++) {
		uint64_t tail = process->tails[i], cursor = process->cursor[i];

		put(text, "%s{\"cells\":%llu,\"used\":%llu}", i ? "," : "",
		    (unsigned long long)process->mapped.ring[i].mask + 1,
		    (unsigned long long)(tail > cursor ? tail - cursor : 0));
	}
	put(text, "],\"cells_torn\":%lld,\"cells_bad\":%lld,\"linker_held\":%llu,",
	    (long long)process->tally.cells_torn, (long long)process->tally.cells_bad,
	    (unsigned long long)(process->linker ? wt_linker_held(process->linker) : 0));
	put(text, "\"segment_bytes\":%llu,", (unsigned long long)header->file_bytes);
	put_string_or_null(text, "recording", wt_record_path(process));
	put(text, ",");
	put_string_or_null(text, "recording_problem", wt_record_problem(process));
	put(text, ",");
	put_cost(text, process);
	put_budget(text, counters);
	put(text, "}");
}

static void put_run(struct text *text, const struct wt_run *run)
{
	static const char *const states[] = {"closed", "ok", "full", "error"};
	long long waiting = 0, late = 0;

	for (const struct wt_device_sweep *at = run->sweeps; at; at = at->next) {
		waiting += (long long)wt_overlap_waiting(at->overlap);
		late += (long long)at->kernels_late;
	}
	put(text, "{");
	put_string(text, "key", run->key);
	put(text, ",");
	put_string(text, "path", run->path);
	put(text, ",\"processes\":%d,\"store\":{\"state\":\"%s\",", run->process_count,
	    states[run->state]);
	if (run->state == WT_STORE_FULL || run->state == WT_STORE_ERROR)
		put_string(text, "error", run->error);
	else
		put(text, "\"error\":null");
	put(text, ",\"wal\":%s,\"batches\":%lld},\"kernels_waiting\":%lld,\"kernels_late\":%lld}",
	    run->is_wal ? "true" : "false", (long long)run->batches, waiting, late);
}

/* ---- samplers */

/* Numbers are of a segment that is there: else null. */
static const char *sampler_state(const struct wt_sampler_view *view)
{
	if (!view->counters)
		return view->pid ? "starting" : view->problem[0] ? "waiting" : "ended";
	switch (view->counters->sampler_state) {
	case WT_SAMPLER_STARTING:
		return view->pid ? "starting" : "ended";
	case WT_SAMPLER_SAMPLING:
		return !view->pid                           ? "ended"
		       : view->counters->sample_interval_ns ? "sampling"
		                                            : "resting";
	case WT_SAMPLER_ENDED:
		return "ended";
	default:
		return "refused";
	}
}

static void put_count(struct text *text, const char *name, const uint64_t *value)
{
	if (value)
		put(text, "\"%s\":%llu,", name, (unsigned long long)*value);
	else
		put(text, "\"%s\":null,", name);
}

struct sampler_list {
	struct text *text;
	const char *comma;
};

static void put_sampler(void *opaque, const struct wt_sampler_view *view)
{
	const struct wt_counters *c = view->counters;
	struct sampler_list *list = opaque;
	struct text *text = list->text;
	const char *reason = view->problem[0] ? view->problem : NULL;
	char uuid[WT_UUID_TEXT_BYTES], name[WT_DEVICE_NAME_BYTES];
	bool is_known = view->device.name[0] != 0;

	if (!reason && c && c->sampler_state > WT_SAMPLER_ENDED)
		reason = wt_sampler_text((unsigned)c->sampler_state);
	snprintf(name, sizeof(name), "%s", view->device.name);
	wt_text_mend(name);
	put(text, "%s{", list->comma);
	list->comma = ",";
	put_string(text, "run", view->run_key);
	put(text, ",");
	put_string_or_null(text, "device", is_known ? name : NULL);
	put(text, ",");
	put_string_or_null(text, "uuid",
	                   is_known ? wt_device_uuid_text(uuid, view->device.uuid) : NULL);
	if (view->pid)
		put(text, ",\"pid\":%d,", (int)view->pid);
	else
		put(text, ",\"pid\":null,");
	put(text, "\"state\":\"%s\",", sampler_state(view));
	put_count(text, "interval_ns", c && c->sample_interval_ns ? &c->sample_interval_ns : NULL);
	put_count(text, "samples", c ? &c->samples_taken : NULL);
	put_count(text, "dropped", c ? &c->samples_dropped : NULL);
	put_count(text, "overflows", c ? &c->sample_overflows : NULL);
	put_count(text, "cpu_ns", c ? &c->sampler_cpu_ns : NULL);
	put_string_or_null(text, "reason", reason);
	put(text, "}");
}

char *wt_status_json(const struct wt_daemon *daemon, int64_t now_ns)
{
	char *bytes = NULL;
	size_t length = 0;
	struct text text = {.file = open_memstream(&bytes, &length)};
	struct sampler_list samplers = {.text = &text, .comma = ""};
	const char *comma = "";

	if (!text.file)
		return NULL;
	put(&text, "{");
	put_string(&text, "version", WT_VERSION_TEXT);
	put(&text, ",\"pid\":%d,\"uptime_s\":%lld,", (int)getpid(),
	    (long long)((now_ns - daemon->started_ns) / WT_SECOND));
	put_string(&text, "data_dir", daemon->data_dir);
	put(&text, ",");
	put_string(&text, "shm_dir", wt_path_shm_dir());
	put(&text, ",\"processes\":[");
	for (const struct wt_process *at = daemon->processes; at; at = at->next) {
		if (wt_process_is_sampler(at))
			continue;
		put(&text, "%s", comma);
		put_process(&text, at);
		comma = ",";
	}
	put(&text, "],\"runs\":[");
	comma = "";
	for (const struct wt_run *at = daemon->runs; at; at = at->next, comma = ",") {
		put(&text, "%s", comma);
		put_run(&text, at);
	}
	put(&text, "],\"samplers\":[");
	wt_samplers_each(daemon, put_sampler, &samplers);
	put(&text, "],\"refused\":[");
	comma = "";
	for (const struct wt_refused *at = daemon->refused; at; at = at->next, comma = ",") {
		put(&text, "%s{", comma);
		put_string(&text, "segment", at->name);
		put(&text, ",");
		put_string(&text, "reason", at->why);
		put(&text, "}");
	}
	put(&text, "]}");
	if (fclose(text.file)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

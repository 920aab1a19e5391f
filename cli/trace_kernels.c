/*
 * trace_kernels.c - see trace_impl.h: kernels, copies and memsets by stream, with the flows that end at
 * kernels. Both come sorted by their starts and are merged, since they share the tracks of a stream.
 * Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/copy_names.h"
#include "cli/report_sql.h"
#include "cli/trace_impl.h"

struct stream {
	int64_t device_at, process_at, context_id, stream_id;
	struct wt_trace_row row;
	char name[120];
};

struct streams {
	struct wt_trace_work *work;
	struct stream **all; /* rows point into them */
	size_t count;
	struct wt_map at; /* hash -> index */
	sqlite3_stmt *kernels, *copies;
};

enum {
	KERNEL_START,
	KERNEL_END,
	KERNEL_EXEC,
	KERNEL_PROCESS,
	KERNEL_CONFIG,
	KERNEL_CONTEXT,
	KERNEL_STREAM,
	KERNEL_GRAPH,
	KERNEL_NODE,
	KERNEL_SEQ,
	KERNEL_LINK,
	KERNEL_ENTRY,
	KERNEL_RETURN,
	KERNEL_UNDERFILL,
	KERNEL_WAVE,
	KERNEL_WAVE_MAX,
	KERNEL_COLUMNS,
};

/* As in the view `launch`; files of version 1 know no shares. */
#define KERNEL_SQL(underfill, wave, wave_max, shares)                                              \
	"SELECT e.start_ns, e.end_ns, e.exec_id, e.process_id, e.config_id, e.context_id,"         \
	" e.stream_id, e.graph_id, e.graph_node_id, e.launch_seq, e.link, l.entry_ns,"             \
	" l.return_ns, " underfill ", " wave ", " wave_max " FROM kernel_exec e " shares           \
	"LEFT JOIN launch_call l ON e.graph_id IS NULL AND l.process_id = e.process_id"            \
	" AND l.seq = e.launch_seq WHERE e.end_ns >= e.start_ns AND e.start_ns < ?2"               \
	" AND e.end_ns >= ?1 AND e.start_ns >= 0 ORDER BY e.start_ns, e.end_ns DESC, e.exec_id"
static const char kernels_sql[] =
        KERNEL_SQL("ifnull(s.underfill_sm_ns, e.underfill_sm_ns)",
                   "iif(e.wave_sm_ns IS NULL, NULL, ifnull(s.wave_sm_ns, e.wave_sm_ns))",
                   "iif(e.wave_sm_ns IS NULL, NULL, ifnull(s.wave_max_sm_ns, e.wave_max_sm_ns))",
                   "LEFT JOIN share_row s USING (exec_id) ");
static const char old_kernels_sql[] =
        KERNEL_SQL("e.underfill_sm_ns", "e.wave_sm_ns", "e.wave_max_sm_ns", "");

static const char copies_sql[] =
        "SELECT start_ns, end_ns, copy_id, process_id, device_id, context_id, stream_id, bytes,"
        " is_memset, copy_kind, src_kind, dst_kind, flags, graph_id, graph_node_id FROM main.copy"
        " WHERE end_ns >= start_ns AND start_ns < ?2 AND end_ns >= ?1 AND start_ns >= 0"
        " AND %s ORDER BY start_ns, end_ns DESC, copy_id";

/* ---- streams */

static uint64_t hash_of(const struct stream *stream)
{
	uint64_t hash = (uint64_t)stream->device_at;

	hash = (hash ^ (uint64_t)stream->process_at) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 29 ^ (uint64_t)stream->context_id) * UINT64_C(0x9e3779b97f4a7c15);
	return (hash ^ hash >> 29 ^ (uint64_t)stream->stream_id) * UINT64_C(0x9e3779b97f4a7c15);
}

static bool is_same(const struct stream *a, const struct stream *b)
{
	return a->device_at == b->device_at && a->process_at == b->process_at &&
	       a->context_id == b->context_id && a->stream_id == b->stream_id;
}

static struct stream *add_stream(struct streams *streams, const struct stream *key, uint64_t hash)
{
	struct wt_trace_work *work = streams->work;
	const struct wt_trace_process *process = &work->processes[key->process_at];
	struct stream **room = wt_report_append(&streams->all, &streams->count, sizeof(*room));
	struct stream *stream = room ? calloc(1, sizeof(*stream)) : NULL;

	if (room)
		*room = stream;
	if (!stream || wt_map_set(&streams->at, hash, (uint32_t)streams->count - 1)) {
		work->trace.error = -ENOMEM;
		return NULL;
	}
	*stream = *key;
	snprintf(stream->name, sizeof(stream->name), "stream %" PRId64 "  context %" PRId64,
	         key->stream_id, key->context_id);
	if (work->process_count > 1)
		snprintf(stream->name, sizeof(stream->name),
		         "%s %" PRId64 "  stream %" PRId64 "  context %" PRId64,
		         process->rank < 0 ? "pid" : "rank",
		         process->rank < 0 ? process->pid : process->rank, key->stream_id,
		         key->context_id);
	stream->row = (struct wt_trace_row){
	        .trace = &work->trace,
	        .parent = work->devices[key->device_at].track,
	        .name = stream->name,
	        .description = "kernels, copies and memsets of one stream, by the GPU's times",
	        .rank = WT_RANK_STREAMS + (int)(streams->count < 100000 ? streams->count : 100000),
	};
	return stream;
}

/* NULL: no memory, or the device or process is none of the trace. */
static struct stream *find_stream(struct streams *streams, int64_t device_at, int64_t process_id,
                                  int64_t context_id, int64_t stream_id)
{
	struct stream key = {.device_at = device_at,
	                     .process_at = (int64_t)wt_trace_process_at(streams->work, process_id),
	                     .context_id = context_id,
	                     .stream_id = stream_id};
	uint64_t hash;
	uint32_t at;

	if (key.process_at < 0 || device_at < 0) {
		streams->work->refused++;
		return NULL;
	}
	hash = hash_of(&key);
	while ((at = wt_map_get(&streams->at, hash)) != WT_MAP_NONE) {
		if (is_same(streams->all[at], &key))
			return streams->all[at];
		hash++;
	}
	return add_stream(streams, &key, hash);
}

/* ---- kernels */

static void note_known(struct wt_trace *trace, enum wt_trace_note note, sqlite3_stmt *s, int column)
{
	if (sqlite3_column_type(s, column) != SQLITE_NULL)
		wt_trace_note_int(trace, note, sqlite3_column_int64(s, column));
}

static void note_text(struct wt_trace *trace, enum wt_trace_note note, uint64_t text)
{
	if (text)
		wt_trace_note_text(trace, note, text);
}

static void note_config(struct wt_trace *trace, const struct wt_trace_config *config)
{
	note_text(trace, WT_NOTE_KERNEL, config->full_name);
	wt_trace_note_int(trace, WT_NOTE_KERNEL_ID, config->kernel_id);
	wt_trace_note_int(trace, WT_NOTE_CONFIG_ID, config->config_id);
	wt_trace_note_text(trace, WT_NOTE_GRID, config->grid);
	wt_trace_note_text(trace, WT_NOTE_BLOCK, config->block);
	note_text(trace, WT_NOTE_CLUSTER, config->cluster);
	wt_trace_note_int(trace, WT_NOTE_REGS, config->regs);
	wt_trace_note_int(trace, WT_NOTE_SMEM, config->smem_bytes);
	if (config->waves >= 0)
		wt_trace_note_double(trace, WT_NOTE_WAVES, config->waves);
	if (config->blocks_per_sm >= 0)
		wt_trace_note_int(trace, WT_NOTE_BLOCKS_PER_SM, config->blocks_per_sm);
	if (config->occupancy >= 0)
		wt_trace_note_double(trace, WT_NOTE_OCCUPANCY, config->occupancy);
	note_text(trace, WT_NOTE_LIMITER, config->limiter);
	if (config->active_sms >= 0) {
		wt_trace_note_double(trace, WT_NOTE_MEASURED_SMS, config->active_sms);
		note_text(trace, WT_NOTE_EVIDENCE, config->evidence);
	}
}

static void note_idle(struct wt_trace *trace, sqlite3_stmt *s, const struct wt_trace_config *config)
{
	note_known(trace, WT_NOTE_UNDERFILL, s, KERNEL_UNDERFILL);
	note_known(trace, WT_NOTE_WAVE, s, KERNEL_WAVE);
	note_known(trace, WT_NOTE_WAVE_MAX, s, KERNEL_WAVE_MAX);
	if (sqlite3_column_type(s, KERNEL_WAVE) == SQLITE_NULL)
		note_text(trace, WT_NOTE_UNJUDGED_REASON, config->reason);
}

/* The flow that ends at it, if the call it comes from is in the trace; of a graph launch at its first kernel. */
static int find_flow(struct wt_trace_work *work, sqlite3_stmt *s, size_t process_at,
                     uint64_t *ret_flow)
{
	int64_t seq = sqlite3_column_int64(s, KERNEL_SEQ);
	bool is_graph = sqlite3_column_type(s, KERNEL_GRAPH) != SQLITE_NULL;

	*ret_flow = 0;
	if (sqlite3_column_type(s, KERNEL_SEQ) == SQLITE_NULL)
		return 0;
	if (is_graph) {
		if (!wt_trace_bits_get(&work->graph_called, process_at, seq) ||
		    wt_trace_bits_get(&work->graph_launched, process_at, seq))
			return 0;
		*ret_flow = wt_trace_flow(process_at, seq, true);
		return wt_trace_bits_set(&work->graph_launched, process_at, seq);
	}
	/* As in trace_calls.c. */
	if (sqlite3_column_type(s, KERNEL_ENTRY) == SQLITE_NULL ||
	    sqlite3_column_int64(s, KERNEL_ENTRY) >= work->high_ns ||
	    sqlite3_column_int64(s, KERNEL_RETURN) < work->low_ns ||
	    sqlite3_column_int64(s, KERNEL_RETURN) < sqlite3_column_int64(s, KERNEL_ENTRY) ||
	    sqlite3_column_int64(s, KERNEL_ENTRY) < 0)
		return 0;
	*ret_flow = wt_trace_flow(process_at, seq, false);
	return wt_trace_bits_set(&work->launched, process_at, seq);
}

static const char *link_word(int64_t link)
{
	static const char *const words[] = {"unknown", "exact", "by order", "by the device",
	                                    "no call seen"};

	return link >= 0 && link < 5 ? words[link] : "unknown";
}

static int put_kernel(struct streams *streams)
{
	struct wt_trace_work *work = streams->work;
	struct wt_trace *trace = &work->trace;
	sqlite3_stmt *s = streams->kernels;
	const struct wt_trace_config *config =
	        wt_trace_config(work, sqlite3_column_int64(s, KERNEL_CONFIG));
	int64_t start_ns = sqlite3_column_int64(s, KERNEL_START);
	struct wt_trace_slice slice = {.start_ns = start_ns, .category = WT_CATEGORY_KERNEL};
	struct stream *stream;
	int rc;

	if (!config) {
		work->refused++;
		return trace->error;
	}
	stream = find_stream(streams, config->device_at, sqlite3_column_int64(s, KERNEL_PROCESS),
	                     sqlite3_column_int64(s, KERNEL_CONTEXT),
	                     sqlite3_column_int64(s, KERNEL_STREAM));
	if (!stream)
		return trace->error;
	slice.track =
	        wt_trace_row_place(&stream->row, start_ns, sqlite3_column_int64(s, KERNEL_END));
	if (!slice.track)
		return trace->error;
	rc = find_flow(work, s, (size_t)stream->process_at, &slice.flow_to);
	if (rc)
		return rc;
	slice.name = config->name;
	wt_trace_slice(trace, &slice);
	wt_trace_note_int(trace, WT_NOTE_EXEC_ID, sqlite3_column_int64(s, KERNEL_EXEC));
	note_config(trace, config);
	note_idle(trace, s, config);
	if (sqlite3_column_type(s, KERNEL_ENTRY) != SQLITE_NULL)
		wt_trace_note_int(trace, WT_NOTE_LATENCY,
		                  start_ns - sqlite3_column_int64(s, KERNEL_ENTRY));
	wt_trace_note_text(trace, WT_NOTE_LINK,
	                   wt_trace_text(trace, WT_TRACE_TEXT,
	                                 link_word(sqlite3_column_int64(s, KERNEL_LINK))));
	note_known(trace, WT_NOTE_GRAPH_ID, s, KERNEL_GRAPH);
	note_known(trace, WT_NOTE_GRAPH_NODE_ID, s, KERNEL_NODE);
	wt_trace_slice_done(trace);
	work->kernels++;
	wt_progress_set(&work->progress, work->kernels);
	return trace->error;
}

/* ---- copies */

static void note_copy(struct wt_trace *trace, sqlite3_stmt *s)
{
	wt_trace_note_int(trace, WT_NOTE_COPY_ID, sqlite3_column_int64(s, 2));
	wt_trace_note_int(trace, WT_NOTE_BYTES, sqlite3_column_int64(s, 7));
	if (!sqlite3_column_int(s, 8)) {
		wt_trace_note_text(trace, WT_NOTE_FROM,
		                   wt_trace_text(trace, WT_TRACE_TEXT,
		                                 wt_copy_memory_name(sqlite3_column_int(s, 10))));
		wt_trace_note_text(trace, WT_NOTE_TO,
		                   wt_trace_text(trace, WT_TRACE_TEXT,
		                                 wt_copy_memory_name(sqlite3_column_int(s, 11))));
	}
	wt_trace_note_int(trace, WT_NOTE_IS_ASYNC, sqlite3_column_int64(s, 12) & 1);
	note_known(trace, WT_NOTE_GRAPH_ID, s, 13);
	note_known(trace, WT_NOTE_GRAPH_NODE_ID, s, 14);
}

static int put_copy(struct streams *streams)
{
	struct wt_trace_work *work = streams->work;
	struct wt_trace *trace = &work->trace;
	sqlite3_stmt *s = streams->copies;
	int64_t start_ns = sqlite3_column_int64(s, 0);
	struct wt_trace_slice slice = {.start_ns = start_ns, .category = WT_CATEGORY_COPY};
	struct stream *stream = find_stream(
	        streams, (int64_t)wt_trace_device_at(work, sqlite3_column_int64(s, 4)),
	        sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 5), sqlite3_column_int64(s, 6));
	char name[40];

	if (!stream)
		return trace->error;
	slice.track = wt_trace_row_place(&stream->row, start_ns, sqlite3_column_int64(s, 1));
	if (!slice.track)
		return trace->error;
	snprintf(name, sizeof(name), sqlite3_column_int(s, 8) ? "memset" : "copy %s",
	         wt_copy_direction_name(sqlite3_column_int(s, 9)));
	slice.name = wt_trace_text(trace, WT_TRACE_NAME, name);
	wt_trace_slice(trace, &slice);
	note_copy(trace, s);
	wt_trace_slice_done(trace);
	work->copies++;
	return trace->error;
}

/* ---- all */

static int prepare(struct streams *streams)
{
	struct wt_trace_work *work = streams->work;
	char sql[sizeof(copies_sql) + 200];
	bool has_shares = wt_report_has_shares(work->db);
	int rc = wt_trace_prepare(work, has_shares ? kernels_sql : old_kernels_sql,
	                          &streams->kernels);

	snprintf(sql, sizeof(sql), copies_sql, wt_trace_process_condition(work));
	return rc ? rc : wt_trace_prepare(work, sql, &streams->copies);
}

/* Of both the one that starts first. */
static int merge(struct streams *streams)
{
	int kernel = wt_report_step(streams->kernels), copy = wt_report_step(streams->copies);
	int rc = 0;

	while (!rc && (kernel > 0 || copy > 0)) {
		if (kernel > 0 && (copy <= 0 || sqlite3_column_int64(streams->kernels, 0) <=
		                                        sqlite3_column_int64(streams->copies, 0))) {
			rc = put_kernel(streams);
			kernel = rc ? rc : wt_report_step(streams->kernels);
		} else {
			rc = put_copy(streams);
			copy = rc ? rc : wt_report_step(streams->copies);
		}
		if (kernel < 0 || copy < 0)
			rc = rc ? rc : -EIO;
	}
	return rc ? rc : kernel < 0 || copy < 0 ? -EIO : 0;
}

int wt_trace_kernels(struct wt_trace_work *work)
{
	struct streams streams = {.work = work};
	int rc = prepare(&streams);

	if (!rc)
		rc = merge(&streams);
	for (size_t i = 0; i < streams.count; i++) {
		if (streams.all[i]) {
			wt_trace_row_finish(&streams.all[i]->row);
			work->refused += streams.all[i]->row.refused;
		}
		free(streams.all[i]);
	}
	free(streams.all);
	wt_map_fini(&streams.at);
	sqlite3_finalize(streams.kernels);
	sqlite3_finalize(streams.copies);
	return rc ? rc : work->trace.error;
}

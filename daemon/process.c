/*
 * process.c - one observed process: its row, and what is held in memory while it lives.
 * Main thread; may block on the disk.
 *
 * What a restarted daemon needs is in the run file: cursors, counters, links without kernel
 * (pending_link), launch calls from link_low_seq on, kernels with link = 0. Which launches
 * from link_low_seq on have their kernel is told by kernel_exec from link_low_exec on; no
 * index on launch_seq is kept for that. The mark is exact enough for any order of arrival:
 * after each batch (highest seq so far, next exec id) is noted, so a launch with a higher seq
 * came later, and its kernel later still.
 */
#include "daemon/daemon.h"

#include <errno.h>

#define MARKS_MAX 4096
/* No kernel or copy takes longer, no process lives longer. */
#define WORK_MAX_NS (UINT64_C(30) * 86400 * 1000000000)
#define LIFE_MAX_NS (UINT64_C(3650) * 86400 * 1000000000)

static int output_kernel(void *arg, const struct wt_linker_kernel *kernel, enum wt_link_how how,
                         uint64_t seq, bool is_graph_call)
{
	struct wt_process *process = arg;
	int64_t launch_seq = how == WT_LINK_NO_CALL ? WT_DB_NULL : (int64_t)seq;

	if (how == WT_LINK_NO_CALL)
		process->tally.kernels_cupti_only++;
	else if (is_graph_call && !kernel->is_graph_node)
		process->tally.kernels_graph++;
	/* launch_seq counts graph launches where there is a graph id, and launch calls where not. */
	if (wt_batch_link(process->run, kernel->exec_id, launch_seq, how, is_graph_call))
		return 0;
	return wt_store_run(process->run, WT_SQL_EXEC_LINK, "inii", kernel->exec_id, launch_seq,
	                    (int64_t)how, (int64_t)is_graph_call);
}

static int64_t *class_counter(struct wt_tally *tally, enum wt_launch_class class)
{
	switch (class) {
	case WT_LAUNCH_FAILED:
		return &tally->launches_failed;
	case WT_LAUNCH_CAPTURED:
		return &tally->launches_captured;
	case WT_LAUNCH_LINKED:
		return &tally->launches_linked;
	case WT_LAUNCH_LINKED_BY_ORDER:
		return &tally->launches_linked_by_order;
	case WT_LAUNCH_UNOBSERVED:
		return &tally->launches_unobserved;
	case WT_LAUNCH_UNLINKED:
		return &tally->launches_unlinked;
	default:
		return NULL;
	}
}

static void output_launch(void *arg, enum wt_launch_class before, enum wt_launch_class after)
{
	struct wt_process *process = arg;
	int64_t *counter = class_counter(&process->tally, before);

	if (counter)
		--*counter;
	counter = class_counter(&process->tally, after);
	if (counter)
		++*counter;
}

static void output_graph_observed(void *arg)
{
	struct wt_process *process = arg;

	process->tally.graph_launches_unobserved--;
}

static int output_save(void *arg, uint32_t correlation_id, uint64_t seq, bool is_graph)
{
	struct wt_process *process = arg;

	return wt_store_run(process->run, WT_SQL_LINK_SAVE, "iiii", process->process_id,
	                    (int64_t)correlation_id, (int64_t)seq, (int64_t)is_graph);
}

static int output_forget(void *arg, uint32_t correlation_id, uint64_t seq, bool is_graph)
{
	struct wt_process *process = arg;

	return wt_store_run(process->run, WT_SQL_LINK_FORGET, "iiii", process->process_id,
	                    (int64_t)correlation_id, (int64_t)seq, (int64_t)is_graph);
}

const struct wt_linker_output wt_process_linker_output = {
        .kernel = output_kernel,
        .launch = output_launch,
        .graph_observed = output_graph_observed,
        .save = output_save,
        .forget = output_forget,
};

void wt_process_span(struct wt_process *process, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns == 0 || start_ns > INT64_MAX / 2 || end_ns < start_ns ||
	    end_ns > INT64_MAX / 2)
		return;
	if (!process->first_ns || (int64_t)start_ns < process->first_ns)
		process->first_ns = (int64_t)start_ns;
	if ((int64_t)end_ns > process->last_ns)
		process->last_ns = (int64_t)end_ns;
}

uint32_t wt_process_call_flags(const struct wt_process *process, uint32_t flags, uint64_t return_ns)
{
	uint64_t stepped_ns = process->counters.budget_stepped_ns;

	return stepped_ns && return_ns >= stepped_ns ? flags | WT_FLAG_UNARMED : flags;
}

bool wt_process_is_graph_unobserved(const struct wt_process *process, const struct wt_call *r)
{
	const struct wt_counters *c = &process->counters;

	if (r->result || !(r->flags & WT_FLAG_UNARMED) || (r->flags & WT_FLAG_CAPTURE_STREAM))
		return false;
	if (!c->armed_ns || r->return_ns < c->armed_ns)
		return true;
	/* On the way down the flag comes first, and CUPTI records on for a moment. */
	return c->budget_stepped_ns ? r->return_ns >= c->budget_stepped_ns
	                            : c->capture == WT_CAPTURE_HOOKS_ONLY;
}

bool wt_process_is_time(const struct wt_process *process, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t created_ns = process->mapped.header.created_realtime_ns;

	if (start_ns == 0 || end_ns < start_ns || end_ns > INT64_MAX / 2)
		return false;
	return end_ns - start_ns <= WORK_MAX_NS &&
	       (start_ns < created_ns || start_ns - created_ns <= LIFE_MAX_NS);
}

int wt_process_add_context(struct wt_process *process, uint32_t context_id, int32_t sm_count)
{
	struct wt_context_info *more;

	for (size_t i = 0; i < process->contexts_count; i++) {
		if (process->contexts[i].context_id == context_id) {
			process->contexts[i].sm_count = sm_count;
			return 0;
		}
	}
	more = realloc(process->contexts, (process->contexts_count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	process->contexts = more;
	process->contexts[process->contexts_count++] =
	        (struct wt_context_info){context_id, sm_count};
	return 0;
}

/* Table entries published since the last look; inside a transaction. */
int wt_process_read_devices(struct wt_process *process)
{
	uint64_t count = process->counters.device_count;
	int err = 0;

	if (count > WT_DEVICES_MAX)
		count = WT_DEVICES_MAX;
	for (; process->devices_read < count && !err; process->devices_read++) {
		struct wt_device device;
		uint32_t gpu_idx;

		err = wt_segment_device(&process->mapped, process->devices_read, &device);
		if (err || device.ordinal < 0 || device.ordinal >= WT_DEVICES_MAX)
			continue;
		err = wt_configs_device(process->run, &device, &gpu_idx);
		if (!err)
			err = wt_store_run(process->run, WT_SQL_PROCESS_GPU, "iii",
			                   process->process_id, (int64_t)device.ordinal,
			                   process->run->gpus[gpu_idx].device_id);
		if (!err)
			process->gpu_of[device.ordinal] = gpu_idx;
	}
	return err;
}

/* ---- saving */

/* Where exec ids stood when the launches up to the lowest undecided one had come. */
static int64_t low_exec(struct wt_process *process, uint64_t low_seq)
{
	while (process->marks_first + 1 < process->marks_count &&
	       process->marks[process->marks_first + 1].end_seq <= low_seq)
		process->marks_first++;
	return process->marks_count ? process->marks[process->marks_first].exec_id : 0;
}

static int add_mark(struct wt_process *process)
{
	struct wt_exec_mark mark = {process->seq_end, process->run->next_exec_id};
	size_t held = process->marks_count - process->marks_first;

	/* Too many: thin out the newest. An older mark is still a lower bound. */
	if (held >= MARKS_MAX)
		return 0;
	if (process->marks_count &&
	    process->marks[process->marks_count - 1].end_seq == mark.end_seq)
		return 0;
	if (process->marks_count == process->marks_room) {
		size_t room = process->marks_room ? 2 * process->marks_room : 64;
		struct wt_exec_mark *more;

		if (process->marks_first > process->marks_room / 2) {
			memmove(process->marks, process->marks + process->marks_first,
			        held * sizeof(*process->marks));
			process->marks_first = 0;
			process->marks_count = held;
		} else {
			more = realloc(process->marks, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			process->marks = more;
			process->marks_room = room;
		}
	}
	process->marks[process->marks_count++] = mark;
	return 0;
}

static int64_t known(uint64_t value)
{
	return value ? (int64_t)value : WT_DB_NULL;
}

int wt_process_save(struct wt_process *process, const char *state)
{
	const struct wt_counters *c = &process->counters;
	const struct wt_tally *t = &process->tally;
	uint64_t low_seq = wt_linker_low_seq(process->linker);
	const char *reason = c->reason ? wt_reason_text((unsigned)c->reason) : NULL;
	char cupti_path[WT_TEXT_BYTES];
	int err = wt_process_stat_flush(process);

	if (!err)
		err = add_mark(process);
	if (!err)
		err = wt_ranges_save_count(process);
	if (!err)
		err = wt_profiled_save_count(process);
	if (!err && (t->graph_launches_unobserved || process->is_graph_unobserved_told)) {
		process->is_graph_unobserved_told = true;
		err = wt_store_run(process->run, WT_SQL_GRAPH_UNOBSERVED, "ii", process->process_id,
		                   t->graph_launches_unobserved);
	}
	if (!err && !wt_process_is_sampler(process))
		err = wt_cost_save(process, !strcmp(state, "live"));
	if (err)
		return err;
	if (!c->armed_ns || wt_segment_cupti_path(&process->mapped, cupti_path))
		cupti_path[0] = '\0';
	if (process->is_lost)
		reason = process->lost_why;
	else if (c->reason && !reason)
		reason = "unknown reason";
#define I(value) (int64_t)(value)
	return wt_store_run(
	        process->run, WT_SQL_PROC_UPDATE,
	        "itnnnniiitntniiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", process->process_id, state,
	        known(c->armed_ns), known(c->finished_ns), known((uint64_t)process->first_ns),
	        known((uint64_t)process->last_ns), I(c->capture), I(c->reason), I(c->detail),
	        reason, known(c->cupti_version), cupti_path[0] ? cupti_path : NULL,
	        known(c->driver_version), I(process->cursor[WT_RING_CALLS]),
	        I(process->cursor[WT_RING_ACTIVITY]), I(low_seq), low_exec(process, low_seq),
	        I(c->launch_attempted), I(c->graph_launch_attempted), I(c->launch_dropped),
	        I(c->call_dropped), I(c->kernels_seen), I(c->kernels_dropped_ring),
	        I(c->links_dropped_ring), I(c->other_dropped_ring), I(c->kernels_dropped_cupti),
	        I(c->records_unknown), I(c->names_dropped), I(c->entries_unknown),
	        I(c->app_profiler_sessions), I(c->app_records_forwarded), I(c->flush_cpu_ns),
	        I(c->cupti_callback_ns), t->cells_torn, t->cells_bad, t->cells_gap,
	        t->launches_stored, t->launches_failed, t->launches_captured, t->launches_linked,
	        t->launches_linked_by_order, t->launches_unobserved, t->launches_unlinked,
	        t->graph_launches_stored, t->graph_launches_failed, t->kernels_stored,
	        t->kernels_graph, t->kernels_device, t->kernels_cupti_only, t->kernels_no_time);
#undef I
}

/*
 * A lost segment may have been left alone by a process that lives on: the end is not known. exec
 * ends a program as suddenly as a signal does, yet nobody killed it.
 */
const char *wt_process_end_state(const struct wt_process *process)
{
	if (process->is_lost)
		return "lost";
	if (process->counters.finished_ns)
		return "finished";
	return process->is_superseded ? "replaced" : "killed";
}

/* ---- loading */

static int insert_row(struct wt_process *process)
{
	const struct wt_segment_header *h = &process->mapped.header;
	int err = wt_store_run(process->run, WT_SQL_PROC_NEW, "biiiiittttnnnit", h->uuid,
	                       sizeof(h->uuid), (int64_t)h->pid, (int64_t)h->pid_namespace,
	                       (int64_t)h->ppid, (int64_t)h->start_ticks, (int64_t)h->uid,
	                       h->hostname, h->boot_id, h->executable, h->command,
	                       h->rank < 0 ? WT_DB_NULL : (int64_t)h->rank,
	                       h->local_rank < 0 ? WT_DB_NULL : (int64_t)h->local_rank,
	                       h->world_size < 0 ? WT_DB_NULL : (int64_t)h->world_size,
	                       (int64_t)h->created_realtime_ns, h->library_version);

	if (!err)
		process->process_id = sqlite3_last_insert_rowid(process->run->db);
	return err;
}

/* Nothing came after it was said to have ended, and no link is waited for: a daemon that was killed
 * between the process' exit handler and its end may have left both. */
static bool is_all_stored(const struct wt_process *process)
{
	uint64_t tails[WT_RING_MAX];
	char sql[80];

	for (int i = 0; i < WT_RING_MAX; i++)
		if (wt_segment_tails(&process->mapped, tails) || tails[i] != process->cursor[i])
			return false;
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pending_link WHERE process_id = %lld",
	         (long long)process->process_id);
	return wt_db_int(process->run->db, sql, 1) == 0;
}

static int begin_marks(struct wt_process *process, struct wt_exec_mark mark)
{
	process->marks = malloc(64 * sizeof(*process->marks));
	if (!process->marks)
		return -ENOMEM;
	process->marks[0] = mark;
	process->marks_room = 64;
	process->marks_count = 1;
	return 0;
}

/* The row of this segment's uuid: 0, -ENOENT, or why it can't be read. */
static int read_row(struct wt_process *process, uint64_t *ret_low_seq)
{
	static const char sql[] =
	        "SELECT process_id, calls_pos, activity_pos, link_low_seq, link_low_exec, "
	        "ifnull(first_ns, 0), ifnull(last_ns, 0), ifnull(armed_ns, 0), state, cells_torn, "
	        "cells_bad, cells_gap, launches_stored, launches_failed, launches_captured, "
	        "launches_linked, launches_linked_by_order, launches_unobserved, "
	        "launches_unlinked, graph_launches_stored, graph_launches_failed, "
	        "kernels_stored, kernels_graph, kernels_device, kernels_cupti_only, "
	        "kernels_no_time, ifnull((SELECT launches FROM graph_unobserved g WHERE "
	        "g.process_id = proc.process_id), 0) FROM proc WHERE uuid = ?1";
	struct wt_tally *t = &process->tally;
	int64_t *const fields[] = {&t->cells_torn,
	                           &t->cells_bad,
	                           &t->cells_gap,
	                           &t->launches_stored,
	                           &t->launches_failed,
	                           &t->launches_captured,
	                           &t->launches_linked,
	                           &t->launches_linked_by_order,
	                           &t->launches_unobserved,
	                           &t->launches_unlinked,
	                           &t->graph_launches_stored,
	                           &t->graph_launches_failed,
	                           &t->kernels_stored,
	                           &t->kernels_graph,
	                           &t->kernels_device,
	                           &t->kernels_cupti_only,
	                           &t->kernels_no_time,
	                           &t->graph_launches_unobserved};
	const struct wt_segment_header *h = &process->mapped.header;
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(process->run->db, sql, -1, &query, NULL);
	struct wt_exec_mark mark;
	int err = 0;

	if (code == SQLITE_OK)
		code = wt_db_bind(query, "b", h->uuid, sizeof(h->uuid));
	if (code == SQLITE_OK)
		code = sqlite3_step(query);
	if (code == SQLITE_ROW) {
		process->process_id = sqlite3_column_int64(query, 0);
		process->cursor[WT_RING_CALLS] = (uint64_t)sqlite3_column_int64(query, 1);
		process->cursor[WT_RING_ACTIVITY] = (uint64_t)sqlite3_column_int64(query, 2);
		*ret_low_seq = (uint64_t)sqlite3_column_int64(query, 3);
		mark = (struct wt_exec_mark){*ret_low_seq, sqlite3_column_int64(query, 4)};
		process->first_ns = sqlite3_column_int64(query, 5);
		process->last_ns = sqlite3_column_int64(query, 6);
		process->counters.armed_ns = (uint64_t)sqlite3_column_int64(query, 7);
		/* One that said it is finished, and lives, may still have something to add. */
		process->is_done = strcmp((const char *)sqlite3_column_text(query, 8), "live") &&
		                   wt_liveness_poll(&process->liveness) != WT_LIFE_ALIVE &&
		                   is_all_stored(process);
		for (int i = 0; i < (int)(sizeof(fields) / sizeof(fields[0])); i++)
			*fields[i] = sqlite3_column_int64(query, 9 + i);
		err = begin_marks(process, mark);
	} else {
		err = code == SQLITE_DONE ? -ENOENT : wt_store_check(process->run, code);
	}
	sqlite3_finalize(query);
	return err;
}

static int load_contexts(struct wt_process *process)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(process->run->db,
	                              "SELECT context_id, ifnull(sm_count, 0) FROM context "
	                              "WHERE process_id = ?1",
	                              -1, &query, NULL);
	int err = 0;

	if (code == SQLITE_OK)
		code = wt_db_bind(query, "i", process->process_id);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = wt_process_add_context(process, (uint32_t)sqlite3_column_int64(query, 0),
		                             sqlite3_column_int(query, 1));
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(process->run, code);
}

/* No process makes so many records: such a position was not counted but written over. */
#define POS_MAX (UINT64_C(1) << 56)

/* The cursor is what the file says; a head beyond it belongs to a file that is gone. A head that
 * can't be is not followed: the tail is then too far from the cursor, and the segment lost. */
static int join_cursors(struct wt_process *process)
{
	uint64_t heads[WT_RING_MAX];
	int err = wt_segment_heads(&process->mapped, heads);

	for (int i = 0; i < WT_RING_MAX && !err; i++) {
		if (heads[i] > process->cursor[i] && heads[i] <= POS_MAX) {
			process->tally.cells_gap += (int64_t)(heads[i] - process->cursor[i]);
			process->cursor[i] = heads[i];
		}
	}
	return err;
}

static int join_cursors_or_lose(struct wt_process *process)
{
	int err = join_cursors(process);

	if (err != -EFAULT)
		return err;
	process->is_lost = true;
	snprintf(process->lost_why, sizeof(process->lost_why), "the segment was cut short");
	return 0;
}

static int load_all(struct wt_process *process, int64_t now_ns)
{
	struct wt_linker_output output = wt_process_linker_output;
	uint64_t low_seq = 0;
	bool is_new = false;
	int err;

	process->linker = NULL;
	output.arg = process;
	if (wt_process_is_sampler(process)) {
		err = wt_sampled_load(process);
		return err ? err : join_cursors_or_lose(process);
	}
	err = read_row(process, &low_seq);
	if (err == -ENOENT) {
		is_new = true;
		err = insert_row(process);
		/* Of launches of the first batch, too, kernels have no lower id. */
		if (!err)
			err = begin_marks(process,
			                  (struct wt_exec_mark){0, process->run->next_exec_id});
	}
	if (err || process->is_done)
		return err;
	process->linker = wt_linker_create(&output);
	if (!process->linker)
		return -ENOMEM;
	err = join_cursors_or_lose(process);
	if (!err)
		err = wt_linker_restore_start(process->linker, low_seq);
	process->seq_end = low_seq;
	process->packed_seq = -1;
	if (!err && !is_new)
		err = wt_process_restore_links(process, now_ns);
	if (!err && !is_new)
		err = wt_process_stat_load(process);
	if (!err && !is_new)
		err = wt_ranges_load_count(process);
	if (!err && !is_new)
		err = wt_profiled_load_count(process);
	process->is_stat_loaded = !err;
	return err || is_new ? err : load_contexts(process);
}

int wt_process_load(struct wt_process *process, int64_t now_ns)
{
	struct wt_run *run = process->run;
	int err = wt_store_run(run, WT_SQL_BEGIN, "");

	if (err)
		return err;
	process->is_loaded = true; /* so that unload frees what there is */
	process->next_loaded = run->loaded;
	run->loaded = process;
	for (int i = 0; i < WT_DEVICES_MAX; i++)
		process->gpu_of[i] = WT_MAP_NONE;
	err = load_all(process, now_ns);
	if (!err)
		err = wt_store_run(run, WT_SQL_COMMIT, "");
	return err;
}

void wt_process_unload(struct wt_process *process)
{
	struct wt_process **at;

	if (!process->is_loaded)
		return;
	at = &process->run->loaded;
	while (*at != process)
		at = &(*at)->next_loaded;
	*at = process->next_loaded;
	process->is_loaded = process->is_stat_loaded = process->is_complete = false;
	process->clock_ns = 0;
	process->is_lost_saved = false;
	wt_record_drop(process);
	wt_sampled_unload(process);
	wt_linker_destroy(process->linker);
	process->linker = NULL;
	free(process->marks);
	process->marks = NULL;
	process->marks_count = process->marks_room = process->marks_first = 0;
	process->drop_ticket = (struct wt_drop_ticket){0};
	free(process->contexts);
	process->contexts = NULL;
	process->contexts_count = 0;
	wt_map_fini(&process->kernel_of);
	wt_map_fini(&process->stat_of);
	free(process->stats);
	process->stats = NULL;
	process->stats_count = process->stats_room = 0;
	free(process->dirty);
	process->dirty = NULL;
	process->dirty_count = process->dirty_room = 0;
	process->devices_read = 0;
	process->process_id = 0;
	process->cursor[0] = process->cursor[1] = 0;
	process->seq_end = process->last_entry_ns = 0;
	process->packed_seq = -1;
	process->first_ns = process->last_ns = 0;
	process->hole_since_ns = process->device_since_ns = 0;
	memset(&process->tally, 0, sizeof(process->tally));
	memset(&process->counters, 0, sizeof(process->counters));
	memset(&process->saved_counters, 0, sizeof(process->saved_counters));
}

void wt_process_destroy(struct wt_process *process)
{
	wt_process_unload(process);
	wt_record_close(process);
	wt_segment_close(&process->mapped);
	wt_liveness_close(&process->liveness);
	free(process);
}

/*
 * drop_mark.c - which launch calls, and graph launches, are done with: table drop_mark.
 *
 * A kernel that is there has its launch call. So calls may only go behind their kernels, and which kernels these
 * are no index tells. A TICKET does: it notes the calls that came so far, and once each of them has its kernel, or
 * gets none (the linker knows), all these kernels have ids below the next one. That is a row of drop_mark: when
 * kernels below exec_id are gone, launches below seq and other calls below call_id may go, too. One ticket is open
 * at a time, for at least MARGIN_NS, so that of calls somewhat more is kept than of kernels: what holds a kernel up
 * may have been called before its launch.
 *
 * Graph launches may have nodes to come for ten minutes after their last one (link.h): so long a ticket is open in
 * programs that launch graphs. Main thread, in the transaction of a batch.
 */
#include "daemon/daemon.h"

#include <stdlib.h>

#define MARGIN_NS WT_SECOND
#define LOOK_NS WT_SECOND

static bool is_testing(void)
{
	return secure_getenv("WAVETAP_TEST_PACK") != NULL;
}

static int64_t rows_of(const struct wt_process *process)
{
	return process->tally.kernels_stored + process->tally.launches_stored +
	       process->tally.graph_launches_stored;
}

static void open_ticket(struct wt_process *process, int64_t now_ns)
{
	process->drop_ticket = (struct wt_drop_ticket){
	        .is_open = true,
	        .began_ns = now_ns,
	        .looked_ns = now_ns,
	        .seq = (int64_t)process->seq_end,
	        .graph_seq = (int64_t)process->counters.graph_launch_attempted,
	        .call_id = process->run->next_call_id,
	        .last_rows = rows_of(process),
	};
}

static bool is_settled(struct wt_process *process, int64_t now_ns)
{
	struct wt_drop_ticket *ticket = &process->drop_ticket;
	int64_t margin_ns = is_testing() ? 0 : MARGIN_NS, look_ns = is_testing() ? 0 : LOOK_NS;

	if (now_ns - ticket->began_ns < margin_ns || now_ns - ticket->looked_ns < look_ns)
		return false;
	ticket->looked_ns = now_ns;
	return wt_linker_is_settled(process->linker, (uint64_t)ticket->seq,
	                            (uint64_t)ticket->graph_seq);
}

int wt_drop_note(struct wt_process *process, bool is_over, int64_t now_ns)
{
	struct wt_drop_ticket *ticket = &process->drop_ticket;
	struct wt_run *run = process->run;

	if (!process->linker || !run->daemon || !wt_keep_is_limited(&run->drop.keep))
		return 0;
	if (is_over)
		open_ticket(process, now_ns); /* all of it */
	else if (!ticket->is_open) {
		if (rows_of(process) - ticket->last_rows >= (int64_t)run->pack.chunk_rows)
			open_ticket(process, now_ns);
		return 0;
	}
	if (!is_over && !is_settled(process, now_ns))
		return 0;
	ticket->is_open = false;
	return wt_store_run(run, WT_SQL_DROP_MARK, "iiii", process->process_id, run->next_exec_id,
	                    ticket->seq, ticket->call_id);
}

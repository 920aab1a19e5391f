/*
 * early.c - launches that came before this process had a segment.
 *
 * Making the segment takes milliseconds, in which other threads launch thousands of kernels; and
 * launches may fail before the first one succeeds, which makes it. Their records wait here, in
 * cells behind the fork page, and then move into the ring like any other, flagged: their thread may
 * have made the next call, which found the segment, before. What finds no room is counted, and
 * becomes attempted and dropped.
 *
 * A cell's stamp is EMPTY, then FILLED by the thread that launched, then TAKEN by whoever moves
 * it. The launching thread fills and then looks for the view; the thread that makes the segment
 * publishes the view and then looks for filled cells; both sequentially consistent, so at least
 * one of them sees the other, and the exchange to TAKEN lets one alone move it.
 *
 * On the threads of the application; lock-free, no allocation.
 */
#include "libintercept/hooks.h"

enum { EMPTY, FILLED, TAKEN };

static struct wt_cell *cell_at(struct wt_fork_page *page, uint64_t idx)
{
	return (struct wt_cell *)((uint8_t *)page + WT_FORK_PAGE_BYTES) + idx;
}

static void move_cell(struct wt_view *view, struct wt_cell *cell)
{
	uint64_t expected = FILLED;
	struct wt_launch launch;
	struct wt_call call;

	if (!atomic_compare_exchange_strong(&cell->stamp, &expected, TAKEN))
		return;
	if (cell->kind == WT_KIND_LAUNCH) {
		memcpy(&launch, cell->payload, sizeof(launch));
		launch.flags |= WT_FLAG_EARLY;
		wt_put_launch(view, &launch);
	} else {
		memcpy(&call, cell->payload, sizeof(call));
		wt_put_call(view, &call, true);
	}
}

void wt_early_move(struct wt_fork_page *page, struct wt_view *view)
{
	uint64_t count = atomic_load(&page->early_count);
	uint64_t launches = atomic_exchange(&page->early_launches, 0);
	uint64_t graphs = atomic_exchange(&page->early_graph_launches, 0);

	for (uint64_t idx = 0; idx < count && idx < WT_EARLY_CELLS; idx++)
		move_cell(view, cell_at(page, idx));
	if (launches) {
		wt_add_relaxed(&view->producer->launch_attempted, launches);
		wt_add_relaxed(&view->producer->launch_dropped, launches);
	}
	if (graphs) {
		wt_add_relaxed(&view->producer->graph_launch_attempted, graphs);
		wt_add_relaxed(&view->producer->call_dropped, graphs);
	}
}

static void keep(enum wt_kind kind, const void *record, _Atomic uint64_t *no_room,
                 struct wt_fork_page *page)
{
	uint64_t idx = atomic_fetch_add(&page->early_count, 1);
	struct wt_view *view;

	if (idx < WT_EARLY_CELLS) {
		struct wt_cell *cell = cell_at(page, idx);

		cell->kind = (uint16_t)kind;
		memcpy(cell->payload, record, WT_CELL_PAYLOAD_BYTES);
		atomic_store(&cell->stamp, FILLED);
	} else {
		atomic_fetch_add(no_room, 1);
	}
	view = atomic_load(&page->view);
	if (view)
		wt_early_move(page, view);
}

void wt_early_keep_launch(const struct wt_launch *launch)
{
	struct wt_fork_page *page = wt_fork_page();

	if (page && wt_load_relaxed(&page->segment_state) != WT_SEGMENT_GIVEN_UP)
		keep(WT_KIND_LAUNCH, launch, &page->early_launches, page);
}

void wt_early_keep_graph_launch(const struct wt_call *call)
{
	struct wt_fork_page *page = wt_fork_page();

	if (page && wt_load_relaxed(&page->segment_state) != WT_SEGMENT_GIVEN_UP)
		keep(WT_KIND_CALL, call, &page->early_graph_launches, page);
}

/*
 * segment.c - makes the shared-memory file of this process, and counts into it.
 *
 * Made once per process by the first launch that succeeds, a few milliseconds after the GPU got
 * that launch: make the file (segment_file.c), publish. Other threads that
 * launch meanwhile don't wait: early.c keeps their records. No descriptor stays open.
 *
 * Any thread. Creation makes system calls; everything else is loads, adds and ring writes.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "config.h"
#include "libintercept/hooks.h"
#include "libintercept/profile.h"
#include "libintercept/ranges.h"
#include "schema/wt_ident.h"
#include "schema/wt_paths.h"

WT_IDENT("libwavetap");

/*
 * The first store into a page costs a fault, under some hypervisors microseconds of it. Take
 * those of ring 0 now, not one every 32 launches; ring 1 is filled on CUPTI's own thread.
 */
static void touch_ring(uint8_t *cells, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += 4096)
		wt_store_relaxed((_Atomic uint64_t *)(cells + at), 0);
}

/* ---- this process's view of it */

static struct wt_view *make_view(void *map)
{
	size_t bytes = sizeof(struct wt_view) + wt_name_table_bytes();
	struct wt_view *view;

	view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (view == MAP_FAILED)
		return NULL;
	(void)madvise(view, bytes, MADV_DONTFORK);
	wt_segment_file_view(map, view);
	view->names = (struct wt_name_table *)(view + 1);
	return view;
}

static int make(struct wt_view **ret_view, char *data_dir)
{
	int err = wt_path_data_dir(data_dir);
	struct wt_segment_header *header;
	char path[WT_PATH_BYTES];
	void *map = NULL;

	if (!err)
		err = wt_segment_file_make(data_dir, WT_PRODUCER_APPLICATION,
		                           WT_SEGMENT_BYTES_DEFAULT, path, &map);
	if (err)
		return err;
	header = map;
	*ret_view = make_view(map);
	if (!*ret_view) /* without magic the file is nobody's; the daemon removes it once we are dead */
		return -ENOMEM;
	touch_ring((uint8_t *)map + header->cells_offset[WT_RING_CALLS],
	           header->cell_count[WT_RING_CALLS] * WT_CELL_BYTES);
	wt_store_release(&header->magic, WT_SEGMENT_MAGIC); /* the daemon reads it first */
	return 0;
}

/* ---- what happened before there was a segment */

static void copy_capture(const struct wt_fork_page *page, struct wt_producer *producer)
{
	wt_store_relaxed(&producer->reason, wt_load_relaxed(&page->reason));
	wt_store_relaxed(&producer->detail, wt_load_relaxed(&page->detail));
	wt_store_release(&producer->capture, wt_load_relaxed(&page->capture));
}

/* Without hooks in force there is one level less: CUPTI's records, or nothing. */
static enum wt_capture capture_injected(const struct wt_fork_page *page, enum wt_capture capture,
                                        enum wt_reason *reason)
{
	if (capture == WT_CAPTURE_FULL) {
		*reason = WT_REASON_INJECTED;
		return WT_CAPTURE_KERNELS_ONLY;
	}
	/* Given up later: what was recorded until then is what it is. */
	if (capture == WT_CAPTURE_HOOKS_ONLY)
		return wt_load_relaxed(&page->capture) == WT_CAPTURE_KERNELS_ONLY
		               ? WT_CAPTURE_KERNELS_ONLY
		               : WT_CAPTURE_OFF;
	return capture;
}

void wt_segment_set_capture(enum wt_capture capture, enum wt_reason reason, uint64_t detail)
{
	struct wt_fork_page *page = wt_fork_page();
	struct wt_view *view;

	if (!page)
		return;
	if (wt_load_relaxed(&page->is_injected))
		capture = capture_injected(page, capture, &reason);
	wt_store_relaxed(&page->reason, reason);
	wt_store_relaxed(&page->detail, detail);
	atomic_store(&page->capture, capture);
	view = atomic_load(&page->view);
	if (view)
		copy_capture(page, view->producer);
}

/* ---- the moment itself */

/* The context was made before we were there, or through an entry we don't hook. */
static void arm_late(struct wt_fork_page *page)
{
	if (wt_load_relaxed(&page->cupti_state) != WT_CUPTI_NONE)
		return;
	if (wt_load_relaxed(&page->forked_late))
		wt_segment_set_capture(WT_CAPTURE_HOOKS_ONLY, WT_REASON_FORKED, 0);
	else if (wt_load_relaxed(&page->captures_open))
		wt_segment_set_capture(WT_CAPTURE_HOOKS_ONLY, WT_REASON_ARMED_LATE, 0);
	else
		wt_cupti_arm(true);
}

static void read_current_device(struct wt_fork_page *page)
{
	wtcu_ctx_get_device_fn get_device;
	wtcu_device device;

	/* Injected: we are inside cuInit, and the driver is not to be called. */
	if (wt_load_relaxed(&page->devices_claimed) || wt_load_relaxed(&page->is_injected))
		return;
	get_device = (wtcu_ctx_get_device_fn)wt_driver_entry("cuCtxGetDevice");
	if (get_device && get_device(&device) == WTCU_SUCCESS)
		wt_device_read(device);
}

static struct wt_view *create(struct wt_fork_page *page)
{
	char data_dir[WT_PATH_BYTES];
	struct wt_view *view = NULL;
	uint64_t begun_ns = wt_now_ns(), ended_ns;
	int err = make(&view, data_dir);

	if (err) {
		wt_store_relaxed(&page->segment_state, WT_SEGMENT_GIVEN_UP);
		wt_segment_set_capture(WT_CAPTURE_OFF,
		                       err == -ENOSPC ? WT_REASON_SHM_FULL : WT_REASON_SHM_UNUSABLE,
		                       (uint64_t)-err);
		wt_log("no segment in %s: error %d", wt_path_shm_dir(), -err);
		return NULL;
	}
	wt_note_cuda_used();
	atomic_store(&page->view, view);
	wt_store_release(&page->segment_state, WT_SEGMENT_READY);
	copy_capture(page, view->producer);
	wt_early_move(page, view);
	wt_ranges_move_early(view);
	wt_store_relaxed(&view->producer->entries_unknown, wt_entries_unknown());
	arm_late(page);
	read_current_device(page);
	wt_device_publish(view);
	wt_profile_start(view);
	wt_spawn_daemon(data_dir);
	wt_budget_start(view);
	wt_cupti_start_flush_thread();
	wt_register_exit();
	ended_ns = wt_now_ns();
	if (ended_ns > begun_ns)
		wt_store_relaxed(&view->producer->hook_start_ns, ended_ns - begun_ns);
	return view;
}

struct wt_view *wt_segment_view(bool may_create)
{
	struct wt_view *view = wt_view_now();
	struct wt_fork_page *page;
	uint64_t expected = WT_SEGMENT_NONE;
	int saved_errno = errno;
	int cancel_state;

	if (view || !may_create)
		return view;
	page = wt_fork_page();
	if (!page ||
	    !atomic_compare_exchange_strong(&page->segment_state, &expected, WT_SEGMENT_MAKING))
		return NULL;
	/* Files are opened here: a cancelled thread must not end in the midst of it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	view = create(page);
	pthread_setcancelstate(cancel_state, NULL);
	errno = saved_errno;
	return view;
}

/* ---- ring 1 */

void wt_emit_activity(struct wt_view *view, enum wt_kind kind, uint16_t count, const void *payload,
                      uint32_t length)
{
	struct wt_producer *producer = view->producer;
	_Atomic uint64_t *dropped = &producer->other_dropped_ring;

	if (!wt_ring_put(&view->ring[WT_RING_ACTIVITY], (uint16_t)kind, count, payload, length))
		return;
	if (kind == WT_KIND_KERNEL)
		dropped = &producer->kernels_dropped_ring;
	else if (kind == WT_KIND_LINK)
		dropped = &producer->links_dropped_ring;
	wt_add_relaxed(dropped, count);
}

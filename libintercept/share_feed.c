/*
 * share_feed.c - the application's own profiler gets its records through our buffers.
 *
 * CUPTI has one set of buffer callbacks per process, and they are ours. What the application
 * registered and switched on is only remembered here, as time windows per kind of record; every
 * completed buffer is read once, and the records the application would have got without us are
 * copied, whole and in order, into buffers that its own callbacks provide.
 *
 * Forwarded are: records of kinds we never switch on (they exist because the application did), and
 * of our kinds those that began while the application had the kind on, for the context it asked.
 * A window stays for as long as records of it may still come; the oldest of four goes.
 *
 * Some profilers flush only if they have given a buffer out, and take no records otherwise (Kineto),
 * so one is borrowed when a kind is switched on, held for as long as anything is on, and given back
 * empty at a flush. Were it filled and delivered, a session longer than our flush period would end
 * with no buffer out and lose everything (measured with PyTorch 2.11).
 *
 * THREADS. wt_feed_*: the completed-buffer callback, possibly on several threads at once, as with
 * CUPTI itself. wt_share_*: the application's threads. One mutex, held for copies only, never while
 * the application's or CUPTI's code runs: its callbacks may enter here again from any thread.
 */
#include "libintercept/cupti.h"
#include "libintercept/share.h"

struct held_buffer {
	uint8_t *buffer;
	size_t bytes;
	size_t records_max;
};

static struct {
	pthread_mutex_t lock;
	struct wt_wishes wishes;
	struct held_buffer held;
} app = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint64_t is_sharing; /* 1 once the application registered callbacks */
static _Atomic uint64_t dropped; /* records the application lost, until it asks */

/* ---- windows */

static bool slot_is_open(int slot)
{
	for (int i = 0; i < WT_SHARE_WINDOWS; i++) {
		const struct wt_window *window = &app.wishes.window[slot][i];

		if (window->is_used && !window->is_deny && !window->off_ns)
			return true;
	}
	return false;
}

static bool any_is_open(void)
{
	for (int slot = 0; slot < WT_SHARE_SLOTS; slot++)
		if (slot_is_open(slot))
			return true;
	return false;
}

/* A place for a new window: an unused one, else the one that ended first. */
static struct wt_window *free_window(int slot)
{
	struct wt_window *best = NULL;

	for (int i = 0; i < WT_SHARE_WINDOWS; i++) {
		struct wt_window *window = &app.wishes.window[slot][i];

		if (!window->is_used)
			return window;
		if (window->off_ns && (!best || window->off_ns < best->off_ns))
			best = window;
	}
	return best;
}

/* Ends the open windows of a slot; with a context, only those of that context. */
static void end_windows(int slot, uint32_t context_id, bool denials_too, uint64_t now_ns)
{
	for (int i = 0; i < WT_SHARE_WINDOWS; i++) {
		struct wt_window *window = &app.wishes.window[slot][i];

		if (window->is_used && !window->off_ns && (!window->is_deny || denials_too) &&
		    (!context_id || window->context_id == context_id))
			window->off_ns = now_ns;
	}
}

static void begin_window(int slot, uint32_t context_id, bool is_deny, uint64_t now_ns)
{
	struct wt_window *window = free_window(slot);

	if (window)
		*window = (struct wt_window){.on_ns = now_ns,
		                             .context_id = context_id,
		                             .is_used = 1,
		                             .is_deny = is_deny};
}

static bool has_window(int slot, uint32_t context_id)
{
	for (int i = 0; i < WT_SHARE_WINDOWS; i++) {
		const struct wt_window *window = &app.wishes.window[slot][i];

		if (window->is_used && !window->off_ns && !window->is_deny &&
		    window->context_id == context_id)
			return true;
	}
	return false;
}

void wt_share_open(int slot, uint32_t context_id, uint64_t now_ns)
{
	struct wt_view *view = wt_segment_view(false);
	bool is_first;

	wt_share_note_finalize(false);
	pthread_mutex_lock(&app.lock);
	is_first = !any_is_open();
	if (context_id) { /* an exception for this context ends */
		for (int i = 0; i < WT_SHARE_WINDOWS; i++) {
			struct wt_window *window = &app.wishes.window[slot][i];

			if (window->is_used && window->is_deny && !window->off_ns &&
			    window->context_id == context_id)
				window->off_ns = now_ns;
		}
	}
	if (!has_window(slot, context_id) && !has_window(slot, 0))
		begin_window(slot, context_id, false, now_ns);
	pthread_mutex_unlock(&app.lock);
	if (is_first && view)
		wt_add_relaxed(&view->producer->app_profiler_sessions, 1);
}

void wt_share_close(int slot, uint32_t context_id, uint64_t now_ns)
{
	pthread_mutex_lock(&app.lock);
	end_windows(slot, context_id, !context_id, now_ns);
	if (context_id && has_window(slot, 0)) /* on for all contexts but this one */
		begin_window(slot, context_id, true, now_ns);
	pthread_mutex_unlock(&app.lock);
}

bool wt_share_is_open(int slot)
{
	bool is_open;

	pthread_mutex_lock(&app.lock);
	is_open = slot_is_open(slot);
	pthread_mutex_unlock(&app.lock);
	return is_open;
}

bool wt_share_any_open(void)
{
	bool is_open;

	pthread_mutex_lock(&app.lock);
	is_open = any_is_open();
	pthread_mutex_unlock(&app.lock);
	return is_open;
}

/* ---- callbacks, and the one buffer we hold */

void wt_share_set_callbacks(wtcupti_buffer_requested_fn requested,
                            wtcupti_buffer_completed_fn completed)
{
	pthread_mutex_lock(&app.lock);
	app.wishes.requested = requested;
	app.wishes.completed = completed;
	pthread_mutex_unlock(&app.lock);
	wt_store_release(&is_sharing, 1);
}

bool wt_share_get_callbacks(wtcupti_buffer_requested_fn *ret_requested,
                            wtcupti_buffer_completed_fn *ret_completed)
{
	pthread_mutex_lock(&app.lock);
	*ret_requested = app.wishes.requested;
	*ret_completed = app.wishes.completed;
	pthread_mutex_unlock(&app.lock);
	return *ret_requested && *ret_completed;
}

static struct held_buffer take_held(void)
{
	struct held_buffer held;

	pthread_mutex_lock(&app.lock);
	held = app.held;
	app.held = (struct held_buffer){0};
	pthread_mutex_unlock(&app.lock);
	return held;
}

void wt_share_borrow(void)
{
	wtcupti_buffer_requested_fn requested;
	wtcupti_buffer_completed_fn completed;
	struct held_buffer held = {0};
	bool is_held;

	if (!wt_share_get_callbacks(&requested, &completed))
		return;
	pthread_mutex_lock(&app.lock);
	is_held = app.held.buffer;
	pthread_mutex_unlock(&app.lock);
	if (is_held)
		return;
	requested(&held.buffer, &held.bytes, &held.records_max);
	if (!held.buffer)
		return;
	pthread_mutex_lock(&app.lock);
	is_held = app.held.buffer; /* another thread may have been faster */
	if (!is_held)
		app.held = held;
	pthread_mutex_unlock(&app.lock);
	if (is_held)
		completed(NULL, 0, held.buffer, held.bytes, 0);
}

void wt_share_give_back(void)
{
	wtcupti_buffer_requested_fn requested;
	wtcupti_buffer_completed_fn completed;
	struct held_buffer held;

	if (!wt_share_get_callbacks(&requested, &completed))
		return;
	held = take_held();
	if (held.buffer)
		completed(NULL, 0, held.buffer, held.bytes, 0);
}

uint64_t wt_share_take_dropped(void)
{
	return atomic_exchange_explicit(&dropped, 0, memory_order_relaxed);
}

void wt_share_wind_down(void)
{
	/* With no session open the application's profiler may be destroyed already. */
	if (wt_cupti_is_held() && wt_load_acquire(&is_sharing) && !wt_share_any_open())
		wt_store_release(&is_sharing, 0);
}

/* ---- which records */

/* When a record began and of which context it is; 0 = it does not say. */
static void record_when(const struct wtcupti_activity *record, uint64_t *ret_start,
                        uint32_t *ret_ctx)
{
	const void *from = record;

	*ret_start = 0;
	*ret_ctx = 0;
	switch (record->kind) {
	case WTCUPTI_KIND_CONCURRENT_KERNEL: {
		const struct wtcupti_activity_kernel *kernel = from;

		*ret_start = kernel->start;
		*ret_ctx = kernel->context_id;
		break;
	}
	case WTCUPTI_KIND_MEMCPY: {
		const struct wtcupti_activity_memcpy *copy = from;

		*ret_start = copy->start;
		*ret_ctx = copy->context_id;
		break;
	}
	case WTCUPTI_KIND_MEMSET: {
		const struct wtcupti_activity_memset *set = from;

		*ret_start = set->start;
		*ret_ctx = set->context_id;
		break;
	}
	case WTCUPTI_KIND_SYNCHRONIZATION: {
		const struct wtcupti_activity_synchronization *sync = from;

		*ret_start = sync->start;
		*ret_ctx = sync->context_id;
		break;
	}
	case WTCUPTI_KIND_OVERHEAD:
		*ret_start = ((const struct wtcupti_activity_overhead *)from)->start;
		break;
	case WTCUPTI_KIND_CONTEXT:
		*ret_ctx = ((const struct wtcupti_activity_context *)from)->context_id;
		break;
	case WTCUPTI_KIND_DRIVER:
	case WTCUPTI_KIND_RUNTIME:
		*ret_start = ((const struct wtcupti_activity_api *)from)->start;
		break;
	default:
		break;
	}
}

/* Whether a window covers the record. One without a time belongs to windows still open. */
static bool covers(const struct wt_window *window, uint64_t start_ns, uint32_t context_id)
{
	if (!window->is_used || (window->context_id && window->context_id != context_id))
		return false;
	if (!start_ns)
		return !window->off_ns;
	return start_ns >= window->on_ns && (!window->off_ns || start_ns <= window->off_ns);
}

static bool slot_wants(const struct wt_feed *feed, int slot, uint64_t start_ns, uint32_t context_id)
{
	bool wanted = false;

	for (int i = 0; i < WT_SHARE_WINDOWS; i++) {
		const struct wt_window *window = &feed->wishes.window[slot][i];

		if (!covers(window, start_ns, context_id))
			continue;
		if (window->is_deny)
			return false;
		wanted = true;
	}
	return wanted;
}

static bool is_wanted(const struct wt_feed *feed, const struct wtcupti_activity *record)
{
	uint64_t start;
	uint32_t context_id;
	int call_idx;

	if (record->kind == WTCUPTI_KIND_DRIVER || record->kind == WTCUPTI_KIND_RUNTIME) {
		const void *from = record;

		call_idx = wt_cupti_launch_call(record->kind,
		                                ((const struct wtcupti_activity_api *)from)->cbid);
		if (call_idx < 0)
			return true;
		record_when(record, &start, &context_id);
		return slot_wants(feed, WT_SHARE_KINDS + call_idx, start, 0);
	}
	if (!wt_cupti_owned(record->kind))
		return true;
	record_when(record, &start, &context_id);
	if (slot_wants(feed, record->kind, start, context_id))
		return true;
	/* Who asked for serialised kernels is served with these. */
	return record->kind == WTCUPTI_KIND_CONCURRENT_KERNEL &&
	       slot_wants(feed, WTCUPTI_KIND_KERNEL, start, context_id);
}

/* ---- the feed */

void wt_feed_init(struct wt_feed *feed, const struct wt_clock_map *clock, wtcu_context context,
                  uint32_t stream_id)
{
	feed->is_on = false;
	feed->forwarded = 0;
	feed->lost = 0;
	feed->app_ns = 0;
	if (!wt_load_acquire(&is_sharing))
		return;
	feed->clock = clock;
	feed->context = context;
	feed->stream_id = stream_id;
	feed->out = NULL;
	pthread_mutex_lock(&app.lock);
	feed->wishes = app.wishes;
	pthread_mutex_unlock(&app.lock);
	feed->is_on = feed->wishes.requested && feed->wishes.completed;
}

static void deliver(struct wt_feed *feed)
{
	uint64_t begin_ns = wt_now_ns(), end_ns;
	uint8_t *buffer = feed->out;

	feed->out = NULL;
	if (!buffer)
		return;
	feed->wishes.completed(feed->context, feed->stream_id, buffer, feed->out_bytes,
	                       feed->used_bytes);
	end_ns = wt_now_ns();
	feed->app_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* A new buffer of the application's. Never the one we hold: that one must stay out until a flush. */
static void open_out(struct wt_feed *feed)
{
	uint64_t begin_ns = wt_now_ns(), end_ns;
	struct held_buffer next = {0};

	feed->wishes.requested(&next.buffer, &next.bytes, &next.records_max);
	end_ns = wt_now_ns();
	feed->app_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
	feed->out = next.buffer;
	feed->out_bytes = next.bytes;
	feed->out_records_max = next.records_max;
	feed->used_bytes = 0;
	feed->records = 0;
}

static bool has_room(const struct wt_feed *feed, size_t bytes)
{
	return feed->out && feed->out_bytes - feed->used_bytes >= bytes &&
	       (!feed->out_records_max || feed->records < feed->out_records_max);
}

void wt_feed_add(struct wt_feed *feed, const struct wtcupti_activity *record, size_t bytes)
{
	if (!is_wanted(feed, record))
		return;
	if (!has_room(feed, bytes)) {
		deliver(feed);
		open_out(feed);
	}
	if (!has_room(feed, bytes)) { /* it gave none, or one too small for a single record */
		feed->lost++;
		return;
	}
	memcpy(feed->out + feed->used_bytes, record, bytes);
	if (feed->clock->count)
		wt_clock_convert(feed->clock, true, feed->out + feed->used_bytes, bytes);
	feed->used_bytes += bytes;
	feed->records++;
	feed->forwarded++;
}

void wt_feed_finish(struct wt_feed *feed, uint64_t dropped_by_cupti)
{
	if (!feed->is_on)
		return;
	if (feed->lost || dropped_by_cupti)
		wt_add_relaxed(&dropped, feed->lost + dropped_by_cupti);
	deliver(feed);
}

void wt_feed_foreign(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                     size_t valid_size)
{
	wtcupti_buffer_requested_fn requested;
	wtcupti_buffer_completed_fn completed;

	if (wt_share_get_callbacks(&requested, &completed))
		completed(context, stream_id, buffer, size, valid_size);
}

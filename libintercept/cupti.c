/*
 * cupti.c - arming CUPTI, lending it buffers, flushing it.
 *
 * CUPTI is a guest here: no subscriber seat, no callback domain, no whole RUNTIME or DRIVER
 * kind, never finalized, never unloaded. What is on: CONCURRENT_KERNEL (KERNEL would serialise),
 * copies, synchronisations, overhead, contexts, devices, and API records of the launch calls
 * alone, one per launch, which carry the exact link from a hooked call to CUPTI's correlation id.
 *
 * BUFFERS. Eight of 1 MiB, touched when armed and lent again and again. A launch makes about
 * 256 bytes of records (kernel 216, launch call 40), so the pool holds 32,000 launches: 0.13 s
 * of the fastest storm seen (4 us a launch), while a completed buffer is read in a few ms.
 * CUPTI asks for a buffer on the launching thread: taking one is a bit in one word. If all are
 * out, the answer is NULL where CUPTI can take that (12.9 U1); before, a small spare one, and
 * at the very last one shared buffer whose records nobody reads.
 *
 * THREADS
 *   wt_cupti_arm        the thread that makes the first context; may block (loader, CUPTI)
 *   buffer_requested    any thread, on the launch path: never blocks, no system call
 *   buffer_completed    CUPTI's thread, or one that flushes; calls the application's profiler
 *   the flush thread    ours; blocks in CUPTI
 *   wt_cupti_finish     the exiting thread; waits at most FINISH_LIMIT_MS
 * No lock is held across any of it: there is none in this file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libintercept/cupti.h"

#define POOL_BUFFERS 8
#define POOL_BUFFER_BYTES (1024u * 1024u)
#define SPARE_BUFFERS 32
#define SPARE_BUFFER_BYTES (64u * 1024u)
#define STEPPING_WAIT_MS 500
#define COLLECT_QUIET_MS 20 /* nothing came back for so long: what is still lent is empty */
#define BUFFER_ALIGNMENT 8

struct wt_cupti_api wt_cupti;

struct pool {
	uint8_t *memory;
	size_t buffer_bytes;
	uint32_t count;
	_Atomic uint64_t free; /* one bit per buffer */
};

static struct pool pool = {.buffer_bytes = POOL_BUFFER_BYTES, .count = POOL_BUFFERS};
static struct pool spare = {.buffer_bytes = SPARE_BUFFER_BYTES, .count = SPARE_BUFFERS};
static _Alignas(BUFFER_ALIGNMENT) uint8_t discard[SPARE_BUFFER_BYTES];

/* Bit per kind that is on for us; and that was at any time. */
static _Atomic uint64_t owned_kinds, ever_owned_kinds;
static _Atomic uint64_t ever_armed; /* survives a fork, unlike cupti_state */
static _Atomic uint64_t armed_at_ns;
static _Atomic uint64_t callbacks_begun, callbacks_ended;
static _Atomic uint32_t flushing; /* our flushes that are in CUPTI */

/* ---- the pool */

static int pool_init(struct pool *p, int populate)
{
	void *memory = mmap(NULL, p->buffer_bytes * p->count, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	p->memory = memory;
	wt_store_release(&p->free, (UINT64_C(1) << p->count) - 1);
	return 0;
}

static uint8_t *pool_take(struct pool *p)
{
	uint64_t free = wt_load_acquire(&p->free);

	while (free) {
		unsigned idx = (unsigned)__builtin_ctzll(free);

		if (atomic_compare_exchange_weak_explicit(
		            &p->free, &free, free & ~(UINT64_C(1) << idx), memory_order_acquire,
		            memory_order_acquire))
			return p->memory + idx * p->buffer_bytes;
	}
	return NULL;
}

/* False if the buffer is none of this pool's. */
static bool pool_give(struct pool *p, const uint8_t *buffer)
{
	size_t offset = (size_t)(buffer - p->memory);

	if (!p->memory || buffer < p->memory || offset >= p->buffer_bytes * p->count)
		return false;
	atomic_fetch_or_explicit(&p->free, UINT64_C(1) << (offset / p->buffer_bytes),
	                         memory_order_release);
	return true;
}

static bool pool_has(const struct pool *p, const uint8_t *buffer)
{
	return p->memory && buffer >= p->memory && buffer < p->memory + p->buffer_bytes * p->count;
}

static unsigned lent_count(void)
{
	unsigned out = (unsigned)__builtin_popcountll(wt_load_acquire(&pool.free)) +
	               (unsigned)__builtin_popcountll(wt_load_acquire(&spare.free));

	return POOL_BUFFERS + (spare.memory ? SPARE_BUFFERS : 0) - out;
}

bool wt_cupti_is_short(void)
{
	return lent_count() > POOL_BUFFERS / 2;
}

static void count_lent(struct wt_view *view)
{
	if (view)
		wt_store_relaxed(&view->producer->buffers_lent, lent_count());
}

/* Time of ours, in a callback of CUPTI's. */
static void count_callback(struct wt_view *view, uint64_t begin_ns, uint64_t not_ours_ns)
{
	uint64_t end_ns = wt_now_ns();

	wt_add_relaxed(&view->producer->cupti_callbacks, 1);
	if (end_ns > begin_ns + not_ours_ns)
		wt_add_relaxed(&view->producer->cupti_callback_ns, end_ns - begin_ns - not_ours_ns);
}

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct wt_view *view = wt_segment_view(false);
	uint64_t begin_ns = wt_now_ns();

	*max_records = 0;
	*size = pool.buffer_bytes;
	*buffer = pool_take(&pool);
	if (!*buffer && spare.memory) {
		*size = spare.buffer_bytes;
		*buffer = pool_take(&spare);
		if (!*buffer)
			*buffer = discard;
	}
	if (!*buffer)
		*size = 0;
	count_lent(view);
	if (view)
		count_callback(view, begin_ns, 0);
}

/* ---- a buffer comes back */

/* The application's copy first: it expects CUPTI's clock, or its own. Then ours, on CLOCK_REALTIME. */
static void read_records(uint8_t *buffer, size_t valid_size, bool is_ours, struct wt_batch *batch,
                         struct wt_feed *feed)
{
	struct wt_clock_map cupti_clock;
	struct wtcupti_activity *record = NULL, *next;
	uint8_t *end = buffer + valid_size;

	if (!valid_size || wt_cupti.next_record(buffer, valid_size, &record))
		return;
	wt_clock_cupti_map(&cupti_clock);
	while (record) {
		uint8_t *at = (uint8_t *)record, *stop;

		next = record;
		if (wt_cupti.next_record(buffer, valid_size, &next))
			next = NULL;
		stop = next ? (uint8_t *)next : end;
		if (at < buffer || stop <= at || stop > end ||
		    (size_t)(stop - at) < sizeof(*record))
			return; /* not a buffer we understand; what follows can't be trusted */
		if (feed->is_on)
			wt_feed_add(feed, record, (size_t)(stop - at));
		if (cupti_clock.count &&
		    is_ours) /* in place: never in a buffer of the application's */
			wt_clock_convert(&cupti_clock, false, record, (size_t)(stop - at));
		wt_batch_add(batch, record, (size_t)(stop - at));
		record = next;
	}
}

/* Records CUPTI had no room for, since the last time anyone asked. */
static uint64_t take_dropped(wtcu_context context, uint32_t stream_id)
{
	size_t dropped = 0;

	if (!wt_cupti.dropped_records || wt_cupti.dropped_records(context, stream_id, &dropped))
		return 0;
	return dropped;
}

static void take_buffer(wtcu_context context, uint32_t stream_id, uint8_t *buffer,
                        size_t valid_size, bool is_ours)
{
	uint64_t begin_ns = wt_now_ns(), dropped;
	struct wt_clock_map clock;
	struct wt_batch batch;
	struct wt_feed feed;

	wt_clock_map_now(&clock);
	wt_batch_init(&batch);
	wt_feed_init(&feed, &clock, context, stream_id);
	feed.is_on = feed.is_on && is_ours; /* a foreign buffer goes to the application whole */
	read_records(buffer, valid_size, is_ours, &batch, &feed);
	wt_batch_flush(&batch);
	dropped = take_dropped(context, stream_id);
	wt_feed_finish(&feed, dropped);
	if (!batch.view)
		return;
	if (dropped)
		wt_add_relaxed(&batch.view->producer->kernels_dropped_cupti, dropped);
	if (feed.forwarded)
		wt_add_relaxed(&batch.view->producer->app_records_forwarded, feed.forwarded);
	if (feed.app_ns)
		wt_add_relaxed(&batch.view->producer->app_callback_ns, feed.app_ns);
	wt_add_relaxed(&batch.view->producer->cupti_bytes, valid_size);
	count_callback(batch.view, begin_ns, feed.app_ns);
}

static void buffer_completed(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                             size_t valid_size)
{
	int saved_errno = errno;
	bool entered = wt_enter(); /* a launch from in here, by anyone, is passed through */

	atomic_fetch_add(&callbacks_begun, 1);
	if (pool_has(&pool, buffer) || pool_has(&spare, buffer)) {
		take_buffer(context, stream_id, buffer, valid_size, true);
		if (!pool_give(&pool, buffer))
			pool_give(&spare, buffer);
		count_lent(wt_segment_view(false));
	} else if (buffer != discard && buffer) {
		take_buffer(context, stream_id, buffer, valid_size, false);
		wt_feed_foreign(context, stream_id, buffer, size, valid_size);
	}
	atomic_fetch_add(&callbacks_ended, 1);
	if (entered)
		wt_leave();
	errno = saved_errno;
}

void wt_cupti_settle(unsigned limit_ms)
{
	struct timespec pause = {.tv_nsec = 1000000};
	uint64_t begun = wt_load_acquire(&callbacks_begun);

	if (!wt_enter())
		return; /* we are inside a callback ourselves */
	for (unsigned i = 0; i < limit_ms && wt_load_acquire(&callbacks_ended) < begun; i++)
		nanosleep(&pause, NULL);
	wt_leave();
}

bool wt_cupti_collect(unsigned limit_ms)
{
	struct timespec pause = {.tv_nsec = 1000000};
	uint64_t begun = 0;
	unsigned quiet_ms = 0;

	for (unsigned i = 0; i < limit_ms; i++) {
		uint64_t begun_now = wt_load_acquire(&callbacks_begun);
		bool is_inside = wt_load_acquire(&callbacks_ended) < begun_now;

		if (!is_inside && !lent_count())
			return true;
		quiet_ms = is_inside || begun_now != begun ? 0 : quiet_ms + 1;
		if (quiet_ms >= COLLECT_QUIET_MS)
			return true; /* CUPTI keeps an empty buffer */
		begun = begun_now;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- arming */

bool wt_cupti_owns(int kind)
{
	return kind >= 0 && kind < 64 && (wt_load_acquire(&owned_kinds) >> kind & 1);
}

bool wt_cupti_owned(int kind)
{
	return kind >= 0 && kind < 64 && (wt_load_acquire(&ever_owned_kinds) >> kind & 1);
}

enum wt_cupti_state wt_cupti_state_now(void)
{
	struct wt_fork_page *page = wt_fork_page();

	return page ? (enum wt_cupti_state)wt_load_acquire(&page->cupti_state) : WT_CUPTI_FAILED;
}

bool wt_cupti_is_recording(void)
{
	struct wt_fork_page *page = wt_fork_page();

	return page && wt_load_relaxed(&page->cupti_state) == WT_CUPTI_ARMED;
}

bool wt_cupti_is_held(void)
{
	enum wt_cupti_state state = wt_cupti_state_now();

	return state == WT_CUPTI_ARMED || state == WT_CUPTI_STEPPING || state == WT_CUPTI_RESTING;
}

static enum wt_reason reason_of(wtcupti_result result)
{
	switch (result) {
	case WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
		return WT_REASON_CUPTI_IN_USE;
	case WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		return WT_REASON_CUPTI_PERMISSION;
	case WTCUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
		return WT_REASON_CUPTI_VIRTUALIZED;
	default:
		return WT_REASON_CUPTI_REFUSED;
	}
}

static wtcupti_result enable_kind(int kind, bool dump)
{
	wtcupti_result result = WTCUPTI_ERROR_NOT_SUPPORTED;

	if (dump && wt_cupti.enable_and_dump)
		result = wt_cupti.enable_and_dump(kind);
	if (result)
		result = wt_cupti.enable(kind);
	if (!result) {
		atomic_fetch_or(&owned_kinds, UINT64_C(1) << kind);
		atomic_fetch_or(&ever_owned_kinds, UINT64_C(1) << kind);
	} else
		wt_log("cupti: kind %d refused: %d", kind, result);
	return result;
}

void wt_cupti_disable_kinds(void)
{
	if (wt_cupti_owns(WTCUPTI_KIND_CONCURRENT_KERNEL))
		wt_cupti.disable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	for (int kind = 0; kind < 64; kind++)
		if (kind != WTCUPTI_KIND_CONCURRENT_KERNEL && wt_cupti_owns(kind))
			wt_cupti.disable(kind);
	wt_store_release(&owned_kinds, 0);
}

/* Kinds last: with the last of them the driver may be free for another copy of libcupti. */
void wt_cupti_disable_all(void)
{
	wt_cupti_switch_launch_calls(0);
	wt_cupti_disable_kinds();
}

/* Everything CUPTI has to be told, in the order it wants. Kernels are the one kind without
 * which the rest is of no use; any other may be refused. */
static wtcupti_result switch_on(bool is_late)
{
	static const int others[] = {WTCUPTI_KIND_MEMCPY, WTCUPTI_KIND_MEMSET,
	                             WTCUPTI_KIND_SYNCHRONIZATION, WTCUPTI_KIND_OVERHEAD};
	wtcupti_result result;

	wt_cupti_limit();
	result = wt_cupti.register_callbacks(buffer_requested, buffer_completed);
	if (result)
		return result;
	if (wt_cupti.enable_all_sync)
		wt_cupti.enable_all_sync(0); /* event and stream queries would flood us */
	result = enable_kind(WTCUPTI_KIND_CONCURRENT_KERNEL, false);
	if (result) {
		wt_cupti_disable_all();
		return result;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		enable_kind(others[i], false);
	/* Contexts and devices that exist already are only reported on demand. */
	enable_kind(WTCUPTI_KIND_CONTEXT, is_late);
	enable_kind(WTCUPTI_KIND_DEVICE, is_late);
	wt_cupti_begin_launch_calls(is_late);
	return WTCUPTI_SUCCESS;
}

static enum wt_reason arm(bool is_late, uintptr_t hint, uint64_t *ret_detail)
{
	const char *given = secure_getenv("WAVETAP_CUPTI");
	enum wt_reason reason;
	wtcupti_result result;

	if (given && !strcmp(given, "0"))
		return WT_REASON_DISABLED_BY_USER;
	/* A child forked from a process that used CUPTI has its memory but not its threads. */
	if (wt_load_relaxed(&ever_armed))
		return WT_REASON_FORKED;
	reason = wt_cupti_find(hint, &wt_cupti);
	if (reason != WT_REASON_NONE)
		return reason;
	if (pool_init(&pool, MAP_POPULATE) ||
	    (wt_cupti.version < WT_CUPTI_API_NULL_BUFFER && pool_init(&spare, 0))) {
		*ret_detail = ENOMEM;
		return WT_REASON_CUPTI_REFUSED;
	}
	wt_store_relaxed(&ever_armed, 1);
	result = switch_on(is_late);
	*ret_detail = (uint64_t)result;
	return result ? reason_of(result) : WT_REASON_NONE;
}

/* Path, version and time of arming into the segment, once there is one. */
void wt_cupti_publish(struct wt_view *view)
{
	struct wt_producer *producer = view ? view->producer : NULL;
	uint64_t armed_ns = wt_load_acquire(&armed_at_ns);

	if (!producer || !armed_ns || !wt_cupti_is_recording() ||
	    wt_load_relaxed(&producer->armed_ns))
		return;
	memcpy(producer->cupti_path, wt_cupti.path, sizeof(producer->cupti_path));
	wt_store_relaxed(&producer->cupti_version, wt_cupti.version);
	wt_store_release(&producer->armed_ns, armed_ns);
}

void wt_cupti_arm_with(bool is_late, uintptr_t hint)
{
	struct wt_fork_page *page = wt_fork_page();
	uint64_t expected = WT_CUPTI_NONE, detail = 0;
	int saved_errno = errno;
	struct wt_clock_map clock;
	enum wt_reason reason;
	bool entered;

	if (!page || !wt_is_active() ||
	    !atomic_compare_exchange_strong_explicit(&page->cupti_state, &expected, WT_CUPTI_ARMING,
	                                             memory_order_acq_rel, memory_order_acquire))
		return;
	entered =
	        wt_enter(); /* driver calls CUPTI makes on this thread are not the application's */
	reason = arm(is_late, hint, &detail);
	if (reason == WT_REASON_NONE) {
		wt_store_release(&armed_at_ns, wt_now_ns());
		wt_store_release(&page->cupti_state, WT_CUPTI_ARMED);
		wt_clock_cupti_map(&clock); /* the first anchor, in case its clock drifts */
		wt_segment_set_capture(WT_CAPTURE_FULL,
		                       is_late ? WT_REASON_ARMED_LATE : WT_REASON_NONE, 0);
		wt_cupti_publish(wt_segment_view(false));
		wt_log("cupti: armed %s, version %u", wt_cupti.path, wt_cupti.version);
	} else {
		wt_store_release(&page->cupti_state, WT_CUPTI_FAILED);
		wt_segment_set_capture(WT_CAPTURE_HOOKS_ONLY, reason, detail);
		wt_log("cupti: not armed: %s (%llu)", wt_reason_text(reason),
		       (unsigned long long)detail);
	}
	if (entered)
		wt_leave();
	errno = saved_errno;
}

void wt_cupti_arm(bool is_late)
{
	wt_cupti_arm_with(is_late, wt_share_hint());
}

/* STEPPING is whoever's who set it: to switch CUPTI off, for the budget or for good. False: nothing to do. */
static bool begin_stepping(struct wt_fork_page *page)
{
	struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < STEPPING_WAIT_MS && wt_cupti_is_held(); i++) {
		uint64_t armed = WT_CUPTI_ARMED, resting = WT_CUPTI_RESTING;

		if (atomic_compare_exchange_strong(&page->cupti_state, &armed, WT_CUPTI_STEPPING) ||
		    atomic_compare_exchange_strong(&page->cupti_state, &resting, WT_CUPTI_STEPPING))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

wtcupti_result wt_cupti_flush(uint32_t flag, bool *ret_is_held)
{
	wtcupti_result result = WTCUPTI_SUCCESS;

	atomic_fetch_add(&flushing, 1);
	*ret_is_held = wt_cupti_is_held();
	if (*ret_is_held)
		result = wt_cupti.flush_all(flag);
	atomic_fetch_sub(&flushing, 1);
	return result;
}

bool wt_cupti_is_left(unsigned limit_ms)
{
	struct timespec pause = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < limit_ms && atomic_load(&flushing); i++)
		nanosleep(&pause, NULL);
	return !wt_cupti_is_held() && !atomic_load(&flushing);
}

void wt_cupti_step_back(enum wt_reason reason, uint64_t detail)
{
	struct wt_fork_page *page = wt_fork_page();

	if (!page || !begin_stepping(page))
		return;
	wt_cupti_disable_all();
	wt_cupti.flush_all(WTCUPTI_FLUSH_FORCED); /* our buffers come home */
	wt_store_release(&page->cupti_state, WT_CUPTI_FAILED);
	wt_segment_set_capture(WT_CAPTURE_HOOKS_ONLY, reason, detail);
	wt_log("cupti: given up: %s", wt_reason_text(reason));
}

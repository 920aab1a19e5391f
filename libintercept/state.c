/*
 * state.c - the life of the library in a process: lazy start, guard, fork, exit.
 *
 * There is no constructor. Whether we are active is decided at the first need, the fork page
 * is mapped by the first hook that has something to keep, and a forked child finds it zeroed
 * by the kernel. What lives in ordinary memory is what a child may inherit.
 *
 * Any thread, signal handlers too. Nothing blocks except the exit handler, for a bounded time.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "libintercept/ranges.h"

/* ---- active or inert */

/*
 * Every copy of the library exports the marker, and all references to it bind to the first one
 * in the global scope, also those of a later copy: that one sees that it is not the first.
 */
WT_EXPORT const char wavetap_marker = 1;
extern const char own_marker __attribute__((alias("wavetap_marker"), visibility("hidden")));

enum { ACTIVE_UNKNOWN, ACTIVE_YES, ACTIVE_NO };
static _Atomic uint64_t active;

static bool decide_active(void)
{
	const char *setting = secure_getenv("WAVETAP");
	const char *volatile first = &wavetap_marker;
	bool is_duplicate = first != &own_marker;
	bool is_off = setting && !strcmp(setting, "0");

	wt_store_relaxed(&active, is_duplicate || is_off ? ACTIVE_NO : ACTIVE_YES);
	if (is_duplicate)
		wt_log("%s", wt_reason_text(WT_REASON_DUPLICATE));
	return !is_duplicate && !is_off;
}

bool wt_is_active(void)
{
	uint64_t known = wt_load_relaxed(&active);

	return WT_LIKELY(known == ACTIVE_YES) || (known == ACTIVE_UNKNOWN && decide_active());
}

/* ---- per thread: 24 bytes of static TLS, which also a late dlopen has room for */

static __thread struct {
	uintptr_t guard; /* frame of the hook we are in, 0 = none */
	uint32_t tid_epoch; /* marker of the process that `tid` was asked in: its pid */
	uint32_t tid;
} thread __attribute__((tls_model("initial-exec")));

__thread uint64_t wt_real_launch __attribute__((tls_model("initial-exec")));

/*
 * A frame nested in the guarded one lies below it. A hook entered at the same depth or above
 * means that the guarded frame is gone (a longjmp out of a signal handler): take over, or this
 * thread would stay unrecorded for ever.
 */
__attribute__((noinline)) bool wt_enter(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (!wt_is_active() || frame < thread.guard)
		return false;
	thread.guard = frame;
	wt_real_launch = 0; /* what a longjmp left behind */
	return true;
}

void wt_leave(void)
{
	thread.guard = 0;
}

__attribute__((noinline, cold)) struct wt_entered wt_enter_nested(uint64_t launch)
{
	uint64_t outer = wt_real_launch;
	struct wt_entered entered = {.guard = thread.guard, .real_launch = outer};

	entered.is_recorded = wt_is_active() && outer != launch && outer != WT_ANY_LAUNCH;
	if (entered.is_recorded)
		wt_real_launch = 0;
	return entered;
}

/* The guard of the hook around it stands all the while: whatever is called in here is inside that one. */
void wt_leave_launch(const struct wt_entered *entered)
{
	wt_real_launch = entered->real_launch;
	thread.guard = entered->guard;
}

bool wt_is_inside(void)
{
	return thread.guard != 0;
}

uint32_t wt_tid(void)
{
	struct wt_fork_page *page = atomic_load_explicit(&wt_page, memory_order_acquire);
	uint32_t epoch = page ? (uint32_t)wt_load_relaxed(&page->marker) : 0;

	if (!WT_LIKELY(epoch && thread.tid_epoch == epoch)) {
		thread.tid = (uint32_t)syscall(SYS_gettid);
		thread.tid_epoch = epoch;
	}
	return thread.tid;
}

uint32_t wt_thread32(void)
{
	return (uint32_t)(uintptr_t)pthread_self();
}

/* ---- the page that fork wipes */

_Atomic(struct wt_fork_page *) wt_page;

/* Kept over a fork on purpose: a child of a process that had used CUDA can't use it. */
static _Atomic uint64_t cuda_was_used;

void wt_note_cuda_used(void)
{
	wt_store_relaxed(&cuda_was_used, 1);
}

static struct wt_fork_page *map_page(void)
{
	struct wt_fork_page *expected = NULL;
	void *page = mmap(NULL, WT_FORK_MAP_BYTES, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (madvise(page, WT_FORK_MAP_BYTES, MADV_WIPEONFORK)) {
		munmap(page, WT_FORK_MAP_BYTES);
		return NULL;
	}
	wt_store_relaxed(&((struct wt_fork_page *)page)->marker, (uint64_t)wt_libc_pid());
	if (!atomic_compare_exchange_strong(&wt_page, &expected, page)) {
		munmap(page, WT_FORK_MAP_BYTES);
		return expected;
	}
	return page;
}

/* The page is ours but empty: a forked child's. Two threads at once write the same. */
static void begin_in_child(struct wt_fork_page *page)
{
	wt_store_relaxed(&page->forked_late, wt_load_relaxed(&cuda_was_used));
	wt_store_release(&page->marker, (uint64_t)wt_libc_pid());
}

struct wt_fork_page *wt_fork_page(void)
{
	struct wt_fork_page *page = atomic_load_explicit(&wt_page, memory_order_acquire);
	int saved_errno = errno;

	if (WT_LIKELY(page && wt_load_acquire(&page->marker)))
		return page;
	if (!wt_is_active())
		return NULL;
	if (page) {
		begin_in_child(page);
	} else {
		page = map_page();
		if (!page) {
			wt_store_relaxed(&active, ACTIVE_NO);
			wt_log("no page that fork wipes: inert");
		}
	}
	errno = saved_errno;
	return page;
}

/* ---- exit */

static void at_exit(void)
{
	struct wt_view *view = wt_view_now();

	/* A forked child that never launched has no view: nothing is its to finish. */
	if (!view)
		return;
	wt_ranges_finish(view);
	wt_cupti_finish(); /* says when it finished, unless the last flush took too long */
	wt_leave_process(view);
}

/* A child inherits both the registered handler and the fact that it is registered. */
void wt_register_exit(void)
{
	static _Atomic uint64_t registered;
	uint64_t expected = 0;

	if (atomic_compare_exchange_strong(&registered, &expected, 1) && atexit(at_exit))
		wt_log("no exit handler: the last records may be missing");
}

/* ---- the second door: CUDA_INJECTION64_PATH */

WT_EXPORT int InitializeInjection(void);

/*
 * The driver calls this from cuInit in a process that was told to load us. Where we were
 * preloaded as well the hooks do everything. Else (a static program, a launcher that clears
 * LD_PRELOAD) nobody calls a wrapper: CUPTI's records are all there is, so both CUPTI and the
 * segment are needed now. The driver itself must not be called: it is not up yet.
 */
int InitializeInjection(void)
{
	struct wt_fork_page *page;

	if (!wt_is_active() || wt_is_preloaded() || !wt_enter())
		return 1;
	page = wt_fork_page();
	if (page) {
		wt_store_relaxed(&page->is_injected, 1);
		wt_cupti_arm(false);
		wt_segment_view(true);
	}
	wt_leave();
	return 1;
}

/*
 * cupti_flush.c - our one thread: hands over what CUPTI has finished, and keeps the clocks.
 *
 * Every WAVETAP_FLUSH_MS (200) it asks CUPTI for completed buffers, so that the records of a slow
 * launcher become visible and a killed process loses little; once a second it writes a clock record.
 * At exit the exiting thread asks it for one forced flush and waits for at most FINISH_LIMIT_MS: a
 * CUPTI that hangs then must not keep the application from ending.
 *
 * The thread blocks all signals, so no handler of the application ever runs on it. Its stack is
 * 512 KiB of address space, since the application's profiler callbacks may run on it and the
 * application's thread-local storage lies in it. Without the thread (EAGAIN) everything works,
 * but later: buffers come when they are full, and at exit.
 *
 * A process whose main thread calls pthread_exit ends with its last thread. That must not be ours, or
 * it would never end: once main has ended and no other thread is left, we end too.
 *
 * Its state lies in a page that a fork wipes, because the thread does not exist in the child.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libintercept/cupti.h"
#include "libintercept/libc.h"
#include "schema/wt_setting.h"

#define CLOCK_PERIOD_NS UINT64_C(1000000000)
#define FINISH_LIMIT_MS 2000
#define DEVICES_PERIOD_NS UINT64_C(2000000)
#define STACK_BYTES (512u * 1024u)

struct flush_page {
	_Atomic uint32_t is_started;
	_Atomic uint32_t is_running;
	_Atomic uint32_t is_ending; /* futex: the exiting thread wants the last flush */
	_Atomic uint32_t is_done; /* futex: it was made */
	sigset_t mask; /* of the thread that started ours */
};

static _Atomic(struct flush_page *) flush_page;

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *word, uint64_t limit_ns)
{
	struct timespec limit = {.tv_sec = (time_t)(limit_ns / UINT64_C(1000000000)),
	                         .tv_nsec = (long)(limit_ns % UINT64_C(1000000000))};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
}

static void futex_raise(_Atomic uint32_t *word)
{
	atomic_store_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool is_raised(_Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static uint64_t flush_period_ns(void)
{
	const struct wt_setting *setting = wt_setting(WT_SETTING_FLUSH_MS);
	uint32_t ms;

	wt_setting_parse(setting, secure_getenv(setting->name), &ms);
	return ms * UINT64_C(1000000);
}

static void write_clock(struct wt_view *view)
{
	struct wt_clock clock;

	wt_clock_sample(&clock);
	wt_emit_activity(view, WT_KIND_CLOCK, 1, &clock, sizeof(clock));
}

/* One flush; false once CUPTI or the driver is gone. */
static bool flush(struct wt_view *view, uint32_t flag)
{
	struct timespec cpu;
	bool is_held;
	wtcupti_result result = wt_cupti_flush(flag, &is_held);

	if (is_held) {
		uint64_t held_ns = flag ? 0 : wt_profile_flush_due(wt_cupti_is_short());

		if (held_ns && !wt_cupti_flush(WTCUPTI_FLUSH_FORCED, &is_held) && is_held)
			wt_profile_flushed(held_ns);
		if (result && flag)
			wt_log("cupti: forced flush gave %d", result);
		if (result == WTCUPTI_ERROR_NOT_INITIALIZED)
			return false;
	}
	wt_cupti_publish(view);
	wt_add_relaxed(&view->producer->flush_count, 1);
	wt_store_relaxed(&view->producer->flush_last_ns, wt_now_ns());
	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) && !flag)
		wt_store_relaxed(&view->producer->flush_cpu_ns,
		                 (uint64_t)cpu.tv_sec * UINT64_C(1000000000) +
		                         (uint64_t)cpu.tv_nsec);
	return true;
}

/*
 * Is ours the last thread, after main's own end? Asked without a descriptor, which an application
 * that closes all of them would take from us: a thread that ends loses its robust list, and
 * the link count of the folder of threads is theirs plus two. What can't be told is "no".
 */
static bool is_last_thread(void)
{
	void *robust_list = NULL;
	size_t bytes;
	struct stat st;

	if (syscall(SYS_get_robust_list, wt_libc_pid(), &robust_list, &bytes) || robust_list)
		return false;
	return !wt_libc_stat("/proc/self/task", &st) && st.st_nlink == 2 + 2; /* main counts on */
}

/* Loaded by the driver from inside cuInit: it is up in a moment. */
static void read_devices(struct flush_page *page, struct wt_view *view)
{
	struct wt_fork_page *fork_page = wt_fork_page();

	if (!view || !fork_page || !wt_load_relaxed(&fork_page->is_injected))
		return;
	while (!wt_device_read_all(view) && !is_raised(&page->is_ending))
		futex_wait(&page->is_ending, DEVICES_PERIOD_NS);
}

static void *flush_main(void *argument)
{
	struct flush_page *page = argument;
	struct wt_view *view = wt_segment_view(false);
	uint64_t period_ns = flush_period_ns(), clock_due_ns = 0;
	bool alive = view, is_last = false;

	wt_enter(); /* nothing on this thread is the application's */
	read_devices(page, view);
	while (alive && !is_last && !is_raised(&page->is_ending)) {
		uint64_t now_ns = monotonic_ns();

		if (now_ns >= clock_due_ns) {
			write_clock(view);
			clock_due_ns = now_ns + CLOCK_PERIOD_NS;
		}
		futex_wait(&page->is_ending, period_ns);
		if (!is_raised(&page->is_ending))
			alive = flush(view, 0);
		if (alive && !is_raised(&page->is_ending))
			wt_budget_look(view, monotonic_ns());
		is_last = is_last_thread();
	}
	/* CUPTI is gone; the exit still wants an answer. */
	while (!is_last && !is_raised(&page->is_ending)) {
		futex_wait(&page->is_ending, CLOCK_PERIOD_NS);
		is_last = is_last_thread();
	}
	if (alive) {
		flush(view, WTCUPTI_FLUSH_FORCED);
		wt_cupti_collect(FINISH_LIMIT_MS);
		write_clock(view);
	}
	futex_raise(&page->is_done);
	if (is_last) { /* libc now runs the application's exit handlers here */
		wt_leave();
		sigprocmask(SIG_SETMASK, &page->mask, NULL);
	}
	return NULL;
}

/* The page, made now if there is none; NULL if it can't be made to vanish in a fork. */
static struct flush_page *make_page(void)
{
	struct flush_page *page = atomic_load_explicit(&flush_page, memory_order_acquire);
	struct flush_page *expected = NULL;
	void *memory;

	if (page)
		return page;
	memory = mmap(NULL, WT_GROUP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	              0);
	if (memory == MAP_FAILED)
		return NULL;
	if (madvise(memory, WT_GROUP_BYTES, MADV_WIPEONFORK)) {
		munmap(memory, WT_GROUP_BYTES);
		return NULL;
	}
	page = memory;
	if (!atomic_compare_exchange_strong_explicit(&flush_page, &expected, page,
	                                             memory_order_acq_rel, memory_order_acquire)) {
		munmap(memory, WT_GROUP_BYTES);
		return expected;
	}
	return page;
}

static int start_thread(struct flush_page *page)
{
	sigset_t all;
	int err;

	/* In Linux this is one thread's mask too, and it needs no libpthread: see libc.h. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &page->mask);
	err = wt_libc_start_thread("wavetap", STACK_BYTES, flush_main, page);
	sigprocmask(SIG_SETMASK, &page->mask, NULL);
	return err;
}

void wt_cupti_start_flush_thread(void)
{
	int saved_errno = errno, err;
	struct wt_view *view = wt_segment_view(false);
	struct flush_page *page = make_page();
	uint32_t expected = 0;

	wt_cupti_publish(view);
	if (page && atomic_compare_exchange_strong(&page->is_started, &expected, 1)) {
		err = start_thread(page);
		if (err)
			wt_log("no flush thread: error %d", err);
		if (err && view)
			wt_budget_no_thread(view);
		if (!err)
			atomic_store_explicit(&page->is_running, 1, memory_order_release);
	}
	errno = saved_errno;
}

/* Asks our thread for the last flush. True if it was made in time. */
static bool finish_on_thread(struct flush_page *page)
{
	uint64_t limit_ns = monotonic_ns() + FINISH_LIMIT_MS * UINT64_C(1000000);

	futex_raise(&page->is_ending);
	while (!is_raised(&page->is_done)) {
		uint64_t now_ns = monotonic_ns();

		if (now_ns >= limit_ns)
			return false;
		futex_wait(&page->is_done, limit_ns - now_ns);
	}
	return true;
}

void wt_cupti_finish(void)
{
	struct wt_view *view = wt_segment_view(false);
	struct flush_page *page = atomic_load_explicit(&flush_page, memory_order_acquire);
	uint64_t began_ns = wt_now_ns();
	int saved_errno = errno;
	bool is_flushed = true;

	if (!view) /* never made, or we are a forked child: not ours to finish */
		return;
	wt_share_wind_down();
	if (page && is_raised(&page->is_running))
		is_flushed = finish_on_thread(page);
	else
		is_flushed = flush(view, WTCUPTI_FLUSH_FORCED) && wt_cupti_collect(FINISH_LIMIT_MS);
	if (is_flushed)
		wt_store_release(&view->producer->finished_ns, began_ns);
	else
		wt_log("cupti: the last flush took more than %d ms", FINISH_LIMIT_MS);
	errno = saved_errno;
}

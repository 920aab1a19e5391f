/*
 * hooks.h - private to the wrappers and the lookup: the table of real entries, the
 * prototypes of our entries, what every wrapper shares.
 *
 * Everything inline here runs on the launch path: no system call, lock or allocation.
 */
#ifndef WT_HOOKS_H
#define WT_HOOKS_H

#include <stdatomic.h>
#include <stddef.h>

#include "libintercept/cuda_abi.h"
#include "libintercept/internal.h"

#define WT_LIKELY(x) __builtin_expect(!!(x), 1)

/* Our entries. The driver's symbols are aliases of them, so that inside the library an address
 * of ours is surely ours, whoever else exports the driver's name. */
#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes) int wt_hook_##symbol params;
#include "schema/wt_hooks.def"

/* Exports a wrapper under the driver's name; in the file that defines it. */
#define WT_EXPORT_HOOK(symbol)                                                                     \
	extern __typeof__(wt_hook_##symbol) symbol                                                 \
	        __attribute__((alias("wt_hook_" #symbol), visibility("default")))

/* What a wrapper returns when no driver has the entry (the symbol is there only because of us). */
#define WT_NO_ENTRY WTCU_ERROR_NOT_FOUND

/*
 * Where a hooked call goes on. `driver` is libcuda's own entry. `next` is the same unless
 * another interposer behind us exports the symbol: then it is that one's. Both are written by
 * scan_entries in lookup.c; NULL until then.
 */
struct wt_entry {
	_Atomic(void *) next;
	_Atomic(void *) driver;
};
extern struct wt_entry wt_entries[WT_API_MAX];

/* ---- lookup.c */

/* Where a call that we record goes on; NULL if there is no such entry. */
static inline void *wt_entry_next(enum wt_api api)
{
	void *next = atomic_load_explicit(&wt_entries[api].next, memory_order_relaxed);

	return WT_LIKELY(next) ? next : wt_real_entry(api);
}

/*
 * Where a call that we don't record goes on. Inside one of our hooks that is libcuda itself:
 * an interposer behind us that got our wrapper as "the real one" would else loop.
 */
void *wt_entry_forward(enum wt_api api);

/* Our wrapper for the entry at `address`, or NULL if it isn't one of a hooked entry. */
void *wt_entry_wrapper(const void *address, enum wt_api *ret_api);

/* True if the loader mapped us before libc: preloaded, so that our exports are in force. */
bool wt_is_preloaded(void);

/* Lookups of a hooked name that gave an entry we don't know, so far in this process. */
uint64_t wt_entries_unknown(void);

/* ---- dlsym.c */

/* The next dlsym in line; found at the first need. NULL if there is none (musl). */
void *wt_dlsym_next(void);

/* ---- state.c */

extern _Atomic(struct wt_fork_page *) wt_page;

/* This process's view if it exists; two loads. */
static inline struct wt_view *wt_view_now(void)
{
	struct wt_fork_page *page = atomic_load_explicit(&wt_page, memory_order_acquire);

	return WT_LIKELY(page) ? atomic_load_explicit(&page->view, memory_order_acquire) : NULL;
}

/* True while the calling thread is inside one of our hooks or callbacks. */
bool wt_is_inside(void);

/*
 * wt_enter and wt_leave for a launch. One inside a hook or callback of ours is one of two things: the launch
 * under way, passed on by the driver or by an interposer behind us (same function and shape, inside its
 * real call), or one of its own, by a signal handler. The latter is recorded like any other.
 */
struct wt_entered {
	uintptr_t guard; /* of the hook that it came in, to be put back; 0 = none */
	uint64_t real_launch; /* the same */
	bool is_recorded; /* false: forward only, and no wt_leave_launch */
};
struct wt_entered wt_enter_nested(uint64_t launch);
void wt_leave_launch(const struct wt_entered *entered);

static inline struct wt_entered wt_enter_launch(uint64_t launch)
{
	if (WT_LIKELY(wt_enter()))
		return (struct wt_entered){.is_recorded = true};
	return wt_enter_nested(launch);
}

/* What this thread has the driver launch now: its hook sets it around the real call. 0 = nothing. */
extern __thread uint64_t wt_real_launch __attribute__((tls_model("initial-exec")));
#define WT_ANY_LAUNCH UINT64_MAX /* in a form that need not show in what it is passed on as */

static inline uint64_t wt_launch_id(const void *function, unsigned grid_x, unsigned block_x)
{
	uint64_t shape = (uint64_t)grid_x << 32 ^ (uint64_t)block_x << 12;

	return ((uint64_t)(uintptr_t)function ^ shape) | 1;
}

/* CUDA was used in this process: a child forked from now on must leave CUPTI alone. */
void wt_note_cuda_used(void);

/* ---- early.c */

/* Follow the fork page in its mapping, and are wiped with it. 2 MiB of addresses, touched as they are
 * filled: on a busy machine 5,000 launches came before the segment was made. */
#define WT_EARLY_CELLS 16384
#define WT_FORK_PAGE_BYTES 4096
#define WT_FORK_MAP_BYTES (WT_FORK_PAGE_BYTES + WT_EARLY_CELLS * sizeof(struct wt_cell))

/* Keeps the record of a launch that found no segment, until there is one. */
void wt_early_keep_launch(const struct wt_launch *launch);
void wt_early_keep_graph_launch(const struct wt_call *call);

/* Moves what was kept into the segment; once the view is published. */
void wt_early_move(struct wt_fork_page *page, struct wt_view *view);

/* Numbers and appends the record of a launch; one that finds no room is counted. */
static inline void wt_put_launch(struct wt_view *view, struct wt_launch *launch)
{
	launch->seq = wt_add_relaxed(&view->producer->launch_attempted, 1);
	if (!WT_LIKELY(!wt_ring_put(&view->ring[WT_RING_CALLS], WT_KIND_LAUNCH, 1, launch,
	                            sizeof(*launch))))
		wt_add_relaxed(&view->producer->launch_dropped, 1);
}

static inline void wt_put_call(struct wt_view *view, struct wt_call *call, bool is_graph_launch)
{
	if (is_graph_launch)
		call->seq = wt_add_relaxed(&view->producer->graph_launch_attempted, 1);
	if (wt_ring_put(&view->ring[WT_RING_CALLS], WT_KIND_CALL, 1, call, sizeof(*call)))
		wt_add_relaxed(&view->producer->call_dropped, 1);
}

/* ---- capture.c */

/* WT_FLAG_CAPTURE_* for a call on `stream`; `is_per_thread`: a _ptsz entry. */
uint32_t wt_capture_flags(uint64_t stream, bool is_per_thread);

/* After a call that begins or ends a capture. */
void wt_capture_note(enum wt_api api, uint64_t stream, bool is_per_thread, int result);

/* ---- facts.c */

/* Fills the facts about this process; reads /proc and the environment. errno changes. */
void wt_facts_fill(struct wt_segment_header *header);
uint64_t wt_facts_start_ticks(void);
uint64_t wt_facts_pid_namespace(void);
void wt_facts_random(void *bytes, size_t length);

/* ---- leave.c */

/* Where the daemon may end with us, or the segment's name is gone: waits, for a bounded time, until the
 * rest is stored; what nobody took and nobody could find is written into a new file. */
void wt_leave_process(struct wt_view *view);

/* ---- launcher.c */

void wt_launcher_rank(struct wt_segment_header *header);
/* What the processes of one job on this host have in common, "" if no launcher tells. */
void wt_launcher_run_key(char key[WT_RUN_KEY_BYTES]);

/* ---- for all wrappers */

/* "_ptsz" and "_ptds" entries use the per-thread default stream. Folds to a constant. */
static inline bool wt_is_per_thread(const char *symbol, size_t length)
{
	return length > 5 && symbol[length - 5] == '_' && symbol[length - 4] == 'p' &&
	       symbol[length - 3] == 't';
}
#define WT_IS_PER_THREAD(symbol) wt_is_per_thread(#symbol, sizeof(#symbol) - 1)

#endif /* WT_HOOKS_H */

/*
 * internal.h - how the parts of libwavetap.so talk to each other.
 *
 *   dlsym.c lookup.c    dlsym, cuGetProcAddress: hand out our entries for the driver's
 *   module.c            finds the loaded libcuda and symbols in it without the loader's help
 *   hooks.c launch.c    the wrappers
 *   capture.c early.c   which streams are being captured; launches before there is a segment
 *   state.c             life of the library in a process: lazy start, fork, exit
 *   segment.c facts.c   makes the shared-memory file; who and where we are, for its header;
 *   segment_file.c      the file itself
 *   names.c             kernel name arena
 *   nvtx.c ranges.c     named ranges: getenv, NVTX callbacks; those open, and their records;
 *   range_text.c        their names
 *   device.c            reads device limits after context creation, with device_read.c
 *   spawn.c             starts the daemon without the host noticing
 *   cupti_find.c        finds the right libcupti
 *   cupti.c             arms CUPTI, lends buffers, flushes
 *   cupti_records.c     CUPTI's records -> ours
 *   share.c             shares CUPTI with the application's own profiler
 *   cost.c budget.c     what our hooks take; WAVETAP_BUDGET, which limits it
 *   profile*.c          WAVETAP_PROFILE: launches under CUPTI's range profiler (opt-in)
 *
 * RULES. The application is always right: no exit, abort, assert, signal handler or
 * output; errno kept; the driver's return code returned unchanged. On the launch path no
 * system call, lock, allocation, wait or driver call of ours. No lock of ours is held
 * across a CUPTI call. No constructors: everything starts at the first hooked call that
 * needs it. Nothing is freed or unloaded at exit.
 */
#ifndef WT_INTERNAL_H
#define WT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "schema/wt_api.h"
#include "schema/wt_paths.h"
#include "schema/wt_segment.h"

#define WT_EXPORT __attribute__((visibility("default")))

/* ---- state.c */

enum wt_segment_state {
	WT_SEGMENT_NONE = 0,
	WT_SEGMENT_MAKING = 1,
	WT_SEGMENT_READY = 2,
	WT_SEGMENT_GIVEN_UP = 3,
};

struct wt_profile_run; /* profile.h */

/*
 * What must vanish in a forked child lives in one page under MADV_WIPEONFORK: the child,
 * even of a raw clone, reads zeros there and starts afresh; a vfork child shares the page
 * and keeps it, as it must.
 */
struct wt_fork_page {
	_Atomic(struct wt_view *) view; /* NULL until the segment exists */
	_Atomic uint64_t segment_state; /* enum wt_segment_state */
	_Atomic uint64_t cupti_state; /* enum wt_cupti_state */
	_Atomic uint64_t captures_open; /* stream captures open in this process */
	_Atomic uint64_t captures_begun; /* calls now under way that begin or end one */
	_Atomic uint64_t capture_stream[16]; /* their streams + 1; 0 = free */
	_Atomic uint64_t early_count; /* launches before there was a segment: see early.c */
	_Atomic uint64_t
	        early_launches; /* those of them that found no room, to be counted as dropped */
	_Atomic uint64_t early_graph_launches;
	_Atomic uint64_t
	        forked_late; /* 1: a child of a process that had used CUDA: CUPTI stays off */
	_Atomic uint64_t
	        is_injected; /* 1: loaded by the driver alone, so that no hook is in force */
	_Atomic uint64_t capture; /* enum wt_capture, for a segment made later */
	_Atomic uint64_t reason; /* enum wt_reason */
	_Atomic uint64_t detail;
	_Atomic uint64_t devices_claimed; /* bit per ordinal: some thread reads or has read it */
	_Atomic uint64_t device_requests; /* publishing of the device table: see device.c */
	_Atomic(struct wt_profile_run *) profile; /* NULL: WAVETAP_PROFILE asks for nothing */
	_Atomic uint64_t marker; /* pid once this process initialised the page */
};
_Static_assert(sizeof(struct wt_fork_page) <= 4096, "the fork page is one page");

struct wt_name_table; /* names.c */

/* This process's mapping of its segment. Written once, then read-only. */
struct wt_view {
	struct wt_segment_header *header;
	struct wt_producer *producer;
	struct wt_ring ring[WT_RING_MAX];
	uint8_t *arena;
	uint64_t arena_bytes;
	struct wt_name_table *names; /* private memory, like the view itself */
};

/* The fork page; NULL when it could not be mapped (then the library is inert). Never blocks. */
struct wt_fork_page *wt_fork_page(void);

/* True unless WAVETAP=0, a duplicate of the library, or a failed start made us inert. */
bool wt_is_active(void);

/* Per-thread guard: false when already inside one of our hooks or callbacks (then only forward). */
bool wt_enter(void);
void wt_leave(void);

/* Kernel thread id, cached in TLS; and the low half of pthread_self(). */
uint32_t wt_tid(void);
uint32_t wt_thread32(void);

/* CLOCK_REALTIME through the vDSO. */
static inline uint64_t wt_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Registers the exit handler once; called after the first successful launch, so that it
 * runs before the handlers of everything loaded earlier. */
void wt_register_exit(void);

/* ---- segment_file.c */

/* Makes and maps a file of about `bytes`, with its header but for the magic. 0 and the mapping, or
 * -errno and nothing left behind. */
int wt_segment_file_make(const char *data_dir, enum wt_producer_type producer, uint64_t bytes,
                         char ret_path[WT_PATH_BYTES], void **ret_map);
/* The view of such a mapping, without a name table. */
void wt_segment_file_view(void *map, struct wt_view *view);

/* ---- segment.c */

/* The view, made now if this process has none yet and `may_create`. NULL: count and forward.
 * Never waits: a thread that finds another one creating gets NULL. */
struct wt_view *wt_segment_view(bool may_create);

/* Sets capture/reason/detail in the segment if there is one, and remembers them for one made
 * later. */
void wt_segment_set_capture(enum wt_capture capture, enum wt_reason reason, uint64_t detail);

/* Appends one activity record (ring 1) or `n` entries of a packed one; drops are counted by
 * kind in struct wt_producer. Any thread, never blocks. */
void wt_emit_activity(struct wt_view *view, enum wt_kind kind, uint16_t count, const void *payload,
                      uint32_t length);

/* ---- names.c */

/* Bytes of private zeroed memory that a view's name table needs. */
size_t wt_name_table_bytes(void);

/* Id of a kernel name in the arena (added if new), 0 if NULL or no room (counted). Lock-free. */
uint32_t wt_name_id(struct wt_view *view, const char *name);

/* ---- device_read.c */

/* The limits of a device. False: it could not be told from others, for without UUID there is no
 * key. The driver is initialised. */
bool wt_device_limits(struct wt_device *ret_device, int ordinal);

/* ---- device.c */

/* Reads limits of device ordinals not yet in the table. Called after a successful context
 * creation, outside any capture; makes driver calls. The table entry is published with release.
 * Before the segment exists the entries are kept aside and copied when it is made. */
void wt_device_read(int ordinal);
void wt_device_publish(struct wt_view *view);

/* Without hooks no context creation is seen: our own thread reads all devices once the driver is
 * up (false: not yet), and those that a kernel record names are published. */
bool wt_device_read_all(struct wt_view *view);
void wt_device_used(struct wt_view *view, uint32_t ordinal);

/* ---- spawn.c */

/* Starts wavetapd if nobody holds its lock and WAVETAP_SPAWN is not 0. Once per process. The
 * host sees no child, no SIGCHLD, no descriptor. */
void wt_spawn_daemon(const char *data_dir);
/* Is a daemon at work, or just started by us? */
bool wt_daemon_is_expected(const char *data_dir);

/* ---- lookup.c */

/* The next dlsym in line (libc's, or another interposer's), never ours. */
void *wt_real_dlsym(void *handle, const char *symbol);

/* The real driver entry of a hooked symbol, as first seen, or found in libcuda; NULL if absent. */
void *wt_real_entry(enum wt_api api);

/* A driver entry that is not hooked (cuDeviceGetAttribute ...), looked up in the libcuda that is
 * loaded already; NULL if there is none. Never loads a library. */
void *wt_driver_entry(const char *symbol);

/* What the code at `caller` gets for one of CUPTI's functions, whose real address `real` its lookup
 * gave: that, or ours, or the armed copy's (share_copy.c). Called from the dlsym hook. */
void *wt_share_lookup(const char *symbol, void *real, uintptr_t caller);

/* ---- cupti.c */

/*
 * LINK RECORDS. Measured on an H200, CUPTI 13.0: a launch by the driver API has a driver record, one
 * through cudart a runtime record; single calls of both kinds are on, and of no other call. They
 * must be on before the first context, and an application that switches the whole kind off ends
 * them for good: share.c makes single calls of its wishes. They cost nothing measurable.
 * An application's timestamp callback (PyTorch's Kineto registers one) must not reach CUPTI: it
 * would rescale our records. share.c converts the copies instead.
 */

enum wt_cupti_state {
	WT_CUPTI_NONE = 0,
	WT_CUPTI_ARMING = 1,
	WT_CUPTI_ARMED = 2,
	WT_CUPTI_FAILED = 3,
	WT_CUPTI_STEPPING = 4, /* on the way from ARMED to RESTING, or back: some 20 ms */
	WT_CUPTI_RESTING = 5, /* ours to lend, but nothing is on for us: see wt_cupti_rest */
};

/* Finds and arms CUPTI; called before the real context creation, after cuInit. Once per process;
 * a failure leaves hooks-only with a reason. `is_late`: the context exists already. */
void wt_cupti_arm(bool is_late);

/* True while CUPTI delivers kernel records: else launches get WT_FLAG_UNARMED. One relaxed load. */
bool wt_cupti_is_recording(void);

/* Around a call that begins or ends a stream capture: the first waits while kernel records are
 * being given up, 2 s at most; meanwhile they are not. */
void wt_cupti_hold_captures(void);
void wt_cupti_unhold_captures(void);

/* Starts the flush thread (once, after the segment exists). EAGAIN: go on without it. */
void wt_cupti_start_flush_thread(void);

/* At exit: one forced flush, bounded in time; then finished_ns is set. */
void wt_cupti_finish(void);

/* ---- budget.c */

/* WAVETAP_BUDGET, once there is a segment. */
void wt_budget_start(struct wt_view *view);
/* There is no flush thread. */
void wt_budget_no_thread(struct wt_view *view);
/* On the flush thread, now and then; CLOCK_MONOTONIC. May block where the limit is exceeded. */
void wt_budget_look(struct wt_view *view, uint64_t now_ns);

/* ---- log.c */

/* Only with WAVETAP_DEBUG=FILE|stderr: one write(2) per line, errno kept, no heap. */
void wt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* WT_INTERNAL_H */

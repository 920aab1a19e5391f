/*
 * link.h - which launch call does a kernel belong to? One linker per process.
 *
 * Two streams are joined. The hooks give calls: thread, entry and return, geometry. CUPTI
 * gives kernels, which know only a correlation id. Between them stand links (struct wt_link):
 * CUPTI's own record of the same call, with correlation id, thread, start and end.
 *
 *     call (thread, entry..return)  <-- same thread, nested --  link (correlation id, start..end)
 *     kernel (correlation id)       <------- same id --------   link
 *
 * A record of a driver call lies in the call, one of a runtime call encloses it (link_match.c).
 * That is exact, with any number of threads. A graph launch is one call with many kernels; a
 * cooperative launch on several devices is several calls with the same stamps under one id.
 * Kernels without a link, because CUPTI gives none in this process or lost it, are joined by
 * order and geometry: sorted by correlation id, the k-th with the k-th call, by entry, of the same grid,
 * block and dynamic shared memory that has no link either, and never with a call made after the
 * kernel started. They say so (WT_LINK_ORDER).
 *
 * Every call ends in exactly one class, by its own evidence:
 *
 *   failed       the driver returned an error
 *   captured     its stream was in capture; or a capture was open and no kernel came
 *   linked       a kernel was found (exactly, or by order)
 *   unobserved   CUPTI was not recording
 *   unlinked     none of these, and no kernel record will come
 *
 * Failed and surely captured calls are decided at once, linked ones when their kernel comes,
 * the others at the end of the process, or when they are older than WT_LINK_AGE_NS or more
 * than WT_LINK_PENDING_MAX calls behind, which bounds memory. A kernel that comes after that
 * amends the decision.
 *
 * Pure: no I/O, no clock (`now_ns` is the caller's, monotonic), no globals; one thread. Output
 * goes through callbacks, so that the caller can put it in the transaction it has open.
 */
#ifndef WT_LINK_H
#define WT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wt_record.h"

#define WT_LINK_AGE_NS INT64_C(60000000000)
#define WT_LINK_PENDING_MAX (1u << 20)
#define WT_LINK_SLACK_NS 2000u /* between two readings of one clock */
#define WT_LINK_ORDER_NS INT64_C(2000000000) /* no links in this process: kernels settle */
#define WT_LINK_ORDER_LATE_NS INT64_C(10000000000) /* there are links: this one is lost */

/* kernel_exec.link. Stored in run files: never renumber. */
enum wt_link_how {
	WT_LINK_WAITING = 0,
	WT_LINK_EXACT = 1,
	WT_LINK_ORDER = 2,
	WT_LINK_DEVICE = 3, /* launched by the device: there is no call */
	WT_LINK_NO_CALL = 4,
};

enum wt_launch_class {
	WT_LAUNCH_WAITING = 0,
	WT_LAUNCH_FAILED,
	WT_LAUNCH_CAPTURED,
	WT_LAUNCH_LINKED,
	WT_LAUNCH_LINKED_BY_ORDER,
	WT_LAUNCH_UNOBSERVED,
	WT_LAUNCH_UNLINKED,
	WT_LAUNCH_CLASS_MAX
};

struct wt_linker_call {
	uint64_t seq;
	uint64_t entry_ns;
	uint64_t return_ns;
	uint64_t geometry; /* wt_linker_geometry(); graph launches: 0 */
	uint32_t thread32;
	uint32_t tid; /* 0: not known */
	uint32_t flags; /* WT_FLAG_* */
	int32_t result;
	bool is_graph;
	bool is_before_arming; /* unarmed, and CUPTI was not armed until it had returned */
};

struct wt_linker_kernel {
	int64_t exec_id; /* the caller's name for it */
	uint64_t start_ns;
	uint64_t geometry;
	uint32_t correlation_id;
	bool is_graph_node;
};

struct wt_linker_output {
	/* A kernel that had to wait. For WT_LINK_NO_CALL seq means nothing. */
	int (*kernel)(void *arg, const struct wt_linker_kernel *kernel, enum wt_link_how how,
	              uint64_t seq, bool is_graph_call);
	/* The class of a launch call changed from `before` (WAITING: first decision). */
	void (*launch)(void *arg, enum wt_launch_class before, enum wt_launch_class after);
	/* A link that outlives this batch, and one that is no longer needed. */
	int (*save)(void *arg, uint32_t correlation_id, uint64_t seq, bool is_graph);
	int (*forget)(void *arg, uint32_t correlation_id, uint64_t seq, bool is_graph);
	void *arg;
	/* A graph launch that was taken for unobserved (WT_FLAG_UNARMED) has a kernel all the same.
	 * May be NULL. */
	void (*graph_observed)(void *arg);
};

struct wt_linker;

/* NULL: no memory. */
struct wt_linker *wt_linker_create(const struct wt_linker_output *output);
void wt_linker_destroy(struct wt_linker *linker);

uint64_t wt_linker_geometry(const uint32_t grid[3], const uint32_t block[3],
                            uint32_t dynamic_smem_bytes);

/* All of these: 0, -ENOMEM, or what a callback returned. Calls of a thread come in order. */
int wt_linker_call(struct wt_linker *linker, const struct wt_linker_call *call, int64_t now_ns);
int wt_linker_link(struct wt_linker *linker, const struct wt_link *link, int64_t now_ns);

/* If the answer is known: *ret_how and *ret_seq. Else *ret_how = WT_LINK_WAITING, and
 * output.kernel is called later. */
int wt_linker_kernel(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                     int64_t now_ns, enum wt_link_how *ret_how, uint64_t *ret_seq,
                     bool *ret_is_graph_call);

/* At the end of each batch: late links, linking by order, ageing, save and forget. */
int wt_linker_settle(struct wt_linker *linker, int64_t now_ns);

/* The process is gone and everything of it was given. `finished_ns`: when its final flush began, 0
 * if it made none. What returned before that and has no kernel never will; a thread that went on
 * launching, or a kill, leaves the rest open ("in flight"). */
int wt_linker_end(struct wt_linker *linker, uint64_t finished_ns, int64_t now_ns);

/* Launch calls before this are all decided: where a restart begins to read. */
uint64_t wt_linker_low_seq(const struct wt_linker *linker);

/* Do all launches below seq, and all graph launches below graph_seq, that came have the kernels that they get? */
bool wt_linker_is_settled(const struct wt_linker *linker, uint64_t seq, uint64_t graph_seq);

/* Whether no launch call of this seq came; false also where that isn't known: it is before those. */
bool wt_linker_is_new(const struct wt_linker *linker, uint64_t seq);

/* When the oldest launch was made whose kernel is still to come, as far as is known; 0: none. */
uint64_t wt_linker_open_entry_ns(struct wt_linker *linker);

/* After a restart, before anything else and in this order. Nothing is reported. */
int wt_linker_restore_start(struct wt_linker *linker, uint64_t low_seq);
int wt_linker_restore_link(struct wt_linker *linker, uint32_t correlation_id, uint64_t seq,
                           bool is_graph, uint64_t geometry, uint32_t flags, int64_t now_ns);
int wt_linker_restore_call(struct wt_linker *linker, const struct wt_linker_call *call,
                           bool has_kernel, int64_t now_ns);
int wt_linker_restore_kernel(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                             int64_t now_ns);

/* For status: entries held. */
uint64_t wt_linker_held(const struct wt_linker *linker);

#endif /* WT_LINK_H */

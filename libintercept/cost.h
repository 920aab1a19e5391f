/*
 * cost.h - what our hooks take, timed in place: see schema/wt_cost.h.
 *
 * WHICH ARE TIMED. A launch: the one of its thread after a launch whose number times the golden ratio has
 * a fraction under 1 / WT_COST_PERIOD. Numbers so chosen lie evenly among those of any period. Of the
 * other calls: every so many of the thread, by dice.
 *
 * On the launch path that is a load and a branch at the beginning, a multiplication and two branches at
 * the end; what is timed reads the clock twice more and adds to shared counters. No system call, lock or
 * allocation. Any thread.
 */
#ifndef WT_COST_HOOK_H
#define WT_COST_HOOK_H

#include "libintercept/internal.h"

enum wt_cost_kind {
	WT_COST_NONE = 0, /* not timed: it arms CUPTI, or waits for others */
	WT_COST_CALL = 1,
	WT_COST_LAUNCH = 2,
};

/* 16 bytes of static TLS. */
struct wt_cost_thread {
	uint64_t last_ns; /* end of the last timed launch */
	uint32_t epoch : 31; /* marker of the process that last_ns is of: its pid */
	uint32_t is_next : 1; /* the next launch is to be timed */
	uint16_t skip; /* other calls until the next timed one */
	uint16_t random; /* 0 = the dice were not thrown yet */
};
extern __thread struct wt_cost_thread wt_cost __attribute__((tls_model("initial-exec")));

/* The out-of-line parts, for what is timed. */
uint64_t wt_cost_start_launch(void);
uint64_t wt_cost_start_call(void);
void wt_cost_stop(enum wt_cost_kind kind, uint64_t began_ns, uint64_t entry_ns, uint64_t return_ns);

/* First in the hook of a launch. When it began; 0: it is not timed. */
static inline uint64_t wt_cost_begin_launch(void)
{
	return __builtin_expect(wt_cost.is_next, 0) ? wt_cost_start_launch() : 0;
}

/* Last in it, with what the beginning gave (0 also where the time is not ours alone) and its number. */
static inline void wt_cost_end_launch(uint64_t began_ns, const struct wt_launch *launch)
{
	if (__builtin_expect(began_ns != 0, 0))
		wt_cost_stop(WT_COST_LAUNCH, began_ns, launch->entry_ns, launch->return_ns);
	if (__builtin_expect((launch->seq + 1) * UINT64_C(0x9e3779b97f4a7c15) <
	                             UINT64_MAX / WT_COST_PERIOD,
	                     0))
		wt_cost.is_next = 1;
}

/* The same for any other call; graph launches are of kind LAUNCH. */
static inline uint64_t wt_cost_begin_call(enum wt_cost_kind kind)
{
	return kind && __builtin_expect(wt_cost.skip-- == 0, 0) ? wt_cost_start_call() : 0;
}

static inline void wt_cost_end_call(enum wt_cost_kind kind, uint64_t began_ns,
                                    const struct wt_call *call)
{
	if (__builtin_expect(began_ns != 0, 0))
		wt_cost_stop(kind, began_ns, call->entry_ns, call->return_ns);
}

#endif /* WT_COST_HOOK_H */

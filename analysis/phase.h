/*
 * phase.h - forward, backward or optimizer? For each launch, and by which evidence.
 *
 *   range    the innermost named range around the call whose name says so ("forward", "loss.bwd",
 *            "Optimizer.step#AdamW.step")
 *   kernel   the kernel is known to update parameters (analysis/optimizer.h)
 *   thread   the process launches from two threads of which one does the updating: frameworks go
 *            backward on the other (PyTorch's autograd). More threads, or an unclear split: not told
 *
 * Ranges come before names of kernels, and these before threads. What nothing tells is WT_PHASE_NONE,
 * which is not "other work": a reader says so.
 *
 * Pure: no I/O, no clock; any thread.
 */
#ifndef WT_ANALYSIS_PHASE_H
#define WT_ANALYSIS_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wt_phase { WT_PHASE_NONE, WT_PHASE_FORWARD, WT_PHASE_BACKWARD, WT_PHASE_OPTIMIZER };

enum wt_phase_evidence {
	WT_PHASE_BY_NOTHING,
	WT_PHASE_BY_RANGE,
	WT_PHASE_BY_KERNEL,
	WT_PHASE_BY_THREAD,
};

/* What a range's name says. NULL or a name that says nothing, or several: NONE. */
enum wt_phase wt_phase_of_range(const char *name);

/* A thread of a process that launched kernels. */
struct wt_phase_thread {
	int64_t tid;
	int64_t launches; /* of it, graph launches too */
	int64_t updates; /* those of optimizers' kernels */
};

/*
 * The thread that goes backward, or -1: only where two threads have all but a hundredth of the
 * launches, each at least a tenth of them, and all updates are by the other one.
 */
int64_t wt_phase_backward_thread(const struct wt_phase_thread *threads, size_t count);

/*
 * `range`: what wt_phase_of_range() says of the innermost range that says something; is_update: of the
 * kernel; `tid`: that launched it; `backward_tid`: as above. *ret_evidence may be NULL.
 */
enum wt_phase wt_phase_of_launch(enum wt_phase range, bool is_update, int64_t tid,
                                 int64_t backward_tid, enum wt_phase_evidence *ret_evidence);

/* "forward", "range": static texts; NULL for NONE and NOTHING. */
const char *wt_phase_text(enum wt_phase phase);
const char *wt_phase_evidence_text(enum wt_phase_evidence evidence);

#endif /* WT_ANALYSIS_PHASE_H */

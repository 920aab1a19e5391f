/*
 * kernel_class.h - what kind of work a kernel does, as far as its name says.
 *
 * A name is no proof: the classes are words for a table, no evidence of what a kernel is bound by.
 * A name without a word that is known is WT_CLASS_OTHER. Pure; any thread.
 */
#ifndef WT_KERNEL_CLASS_H
#define WT_KERNEL_CLASS_H

#include <stdbool.h>

/* In the order in which words are looked for, but for OTHER. */
enum wt_kernel_class {
	WT_CLASS_COLLECTIVE, /* NCCL, NVSHMEM: collective.h */
	WT_CLASS_OPTIMIZER, /* optimizer.h */
	WT_CLASS_ATTENTION,
	WT_CLASS_CONVOLUTION,
	WT_CLASS_GEMM,
	WT_CLASS_NORM, /* layer, batch, group, RMS */
	WT_CLASS_SOFTMAX, /* and losses on it */
	WT_CLASS_EMBEDDING, /* and gather, scatter, index */
	WT_CLASS_RANDOM, /* and dropout */
	WT_CLASS_SORT, /* and scan, top-k */
	WT_CLASS_COPY, /* and cast, fill, transpose, concatenate */
	WT_CLASS_REDUCTION,
	WT_CLASS_ELEMENTWISE,
	WT_CLASS_OTHER,
	WT_CLASS_MAX
};

/* Mangled or not; NULL: WT_CLASS_OTHER. */
enum wt_kernel_class wt_kernel_class(const char *name);

/* "gemm": static text, also the name in JSON. */
const char *wt_kernel_class_name(enum wt_kernel_class kernel_class);

/*
 * Does the name say that blocks fetch their work themselves (persistent, Stream-K)? Waves of their
 * grid then mean nothing. NULL: false.
 */
bool wt_is_persistent_kernel(const char *name);

#endif /* WT_KERNEL_CLASS_H */

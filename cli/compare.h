/*
 * compare.h - two sides of one or several runs, quantity by quantity: what changed, is it more than
 * noise, what changed in kind, and can they be compared at all?
 *
 * Works on runs that are loaded (compare_run.h), and reads no file. How a change is judged is in
 * analysis/contrast.h, which kernel is which in analysis/kernel_match.h. What runs of one program differ by
 * without any change, where that can't be told from the runs given (fewer than three on each side):
 *
 *   time of kernels      WT_COMPARE_BETWEEN_KERNELS of it, and by how much the SM clocks differ. Two runs of one
 *                        training on H200s, six hours apart: 34 kernels of over 50 us a step differed by 2.2 %
 *                        at most, half of them by 0.3 %
 *   time between them,   within a factor of two. On an H200 twelve runs of one eager training took 23.4 to
 *   and collectives      39.0 ms a step (`tests/gpu/RESULTS.md`, section field)
 *   causes of gaps       not judged
 *
 * Single-threaded; never blocks.
 */
#ifndef WT_CLI_COMPARE_H
#define WT_CLI_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/contrast.h"
#include "analysis/kernel_match.h"
#include "cli/compare_run.h"

#define WT_COMPARE_BETWEEN_KERNELS 0.02
#define WT_COMPARE_BETWEEN_GAPS 2.0
/* By what a single launch's time may be off for good: CUPTI's times are in steps of it on an H200. */
#define WT_COMPARE_RESOLUTION_NS 32

/* Of the steps: a kernel that runs in fewer has a time a step that is mostly whether it ran. */
#define WT_COMPARE_STEADY_LEAST 0.9

enum wt_compare_kind {
	WT_COMPARE_STEP, /* step time, ns */
	WT_COMPARE_IDLE, /* idle SM-time a step, SM-ns: all lines but active and unjudged */
	WT_COMPARE_OF_LINE, /* a line of the ledger, SM-ns a step */
	WT_COMPARE_OF_RANK, /* what others waited for it, ns a step */
	WT_COMPARE_OF_KERNEL, /* ns a step; without steps ns a launch */
	WT_COMPARE_OF_CONFIG, /* the same */
};

/* A kernel of a side: one of the same name in each of its runs, where it is. */
struct wt_compare_unit {
	const char *name, *demangled;
	const struct wt_compare_kernel **of_run; /* NULL where the run lacks it */
	bool is_collective;
	double launches, in_graph; /* a step on the mean of the runs; share of the launches */
	double time_ns; /* a step */
	double place; /* in the step */
	const struct wt_compare_config *most; /* with most time, of the first run that has it */
};

struct wt_compare_side {
	struct wt_compare_run *runs;
	size_t count;
	/* wt_compare_make() */
	struct wt_compare_unit *units;
	size_t unit_count;
};

struct wt_compare_row {
	enum wt_compare_kind kind;
	enum wt_compare_line line; /* of a line */
	int64_t rank; /* of a rank */
	const struct wt_compare_unit *before, *after; /* of kernels; NULL: new, gone */
	const struct wt_compare_config *config_before, *config_after; /* of configurations */
	struct wt_match_kernel match; /* how, and scores */
	double launches_before, launches_after; /* a step, of kernels and configurations */
	struct wt_contrast contrast;
	struct wt_mean *means; /* of the runs before, then after */
	char *kind_change; /* "registers 52 to 80, occupancy 100 to 50 %"; NULL: none */
	double weight; /* for the order: ns of the whole GPU a step, or of the run */
};

struct wt_compare_reason {
	double factor; /* of the score; 0: they can't be compared */
	char *text;
};

struct wt_compare_query {
	double between_kernels; /* < 0: WT_COMPARE_BETWEEN_KERNELS */
	double alpha; /* 0: WT_CONTRAST_ALPHA; half of it is for step time and idle, half for all else */
	bool by_config; /* configurations in place of kernels */
};

struct wt_compare {
	struct wt_compare_side before, after; /* as given; units are made here */
	struct wt_compare_query query;
	bool is_per_step; /* else kernels are per launch, and no step and lines are judged */
	const char *blocked; /* why nothing can be judged; NULL: it can */
	double score; /* 0 to 1: how far the sides can be compared */
	struct wt_compare_reason *reasons;
	size_t reason_count;
	double clock_shift; /* greatest relative difference of the SM clocks */
	double matched_share; /* of the kernels' time before that has a partner by name or sure match */
	const char *idle_why; /* why lines of idle SM-time can't be compared; NULL */
	double sms; /* of all devices */
	struct wt_compare_row *rows;
	size_t row_count, judged_count;
	char **kinds; /* changes in kind that are no kernel's: "launches a step 488 to 490" */
	size_t kind_count;
};

/* 0 or -errno; wt_compare_fini() in either case. The runs stay the caller's and must outlive it. */
int wt_compare_make(const struct wt_compare_side *before, const struct wt_compare_side *after,
                    const struct wt_compare_query *query, struct wt_compare *compare);
void wt_compare_fini(struct wt_compare *compare);

/* The row of step time or idle SM-time; NULL: there are no steps. */
const struct wt_compare_row *wt_compare_find(const struct wt_compare *compare,
                                             enum wt_compare_kind kind);

/* Kernels that one side lacks, and configurations, of which it may have the kernel. */
bool wt_compare_is_new(const struct wt_compare_row *row);
bool wt_compare_is_gone(const struct wt_compare_row *row);

/*
 * One quantity of all kernels that `is_wanted` takes, on both sides, as a row of its own, judged alone. 0
 * or -errno; free(row->means). -ENOENT: no kernel before, or none after.
 */
int wt_compare_sum(const struct wt_compare *compare,
                   bool (*is_wanted)(const void *arg, const struct wt_compare_unit *unit),
                   const void *arg, struct wt_compare_row *row);

/* compare_reasons.c: score, reasons, blocked, idle_why, clock_shift. 0 or -ENOMEM. */
int wt_compare_judge_sides(struct wt_compare *compare);
/* compare_kinds.c: kind_change of rows, kinds. 0 or -ENOMEM. */
int wt_compare_find_kinds(struct wt_compare *compare);
/* A text as printf has it, added to an array of texts. 0 or -ENOMEM. */
int wt_compare_add_text(char ***texts, size_t *count, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* compare_precision.c: "bf16", "fp8", ... by the words of the name; NULL: it says nothing. Static text. */
const char *wt_compare_precision(const char *demangled);

#endif /* WT_CLI_COMPARE_H */

/*
 * diagnose.h - findings: what costs most SM-time, the evidence, what to try.
 *
 * No two findings count the same SM-time, so their stakes may be added; together they are at most
 * SMs x wall. What is won by one may come out as another. A stake is a bound: never more than the
 * idle SM-time seen, or, of findings that are no lines of the ledger, than the SM-time in which
 * kernels had blocks on SMs. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_DIAGNOSE_H
#define WT_CLI_DIAGNOSE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/diagnose_gaps.h"
#include "cli/ledger.h"

#define WT_FINDINGS_MAX 128 /* the largest: at 1 % each there can be 100 */
#define WT_LEFT_MAX 16

struct wt_finding {
	const char *kind; /* "small-grid": a word for programs, never changed */
	char title[200];
	char evidence[900];
	const char *explanation;
	const char *advice;
	int64_t kernel_id; /* 0: not of one kernel */
	double stake_sm_ns; /* least and greatest, of all devices */
	double stake_max_sm_ns;
	bool is_ledger_line; /* idle SM-time; else of the time in which SMs had blocks */
	const char *grade; /* what the stake rests on: "model", "sampled", "profiled", "mixed" */
};

/* A kernel that looks wasteful and is left in peace. */
struct wt_left {
	int64_t kernel_id;
	char kernel[120]; /* short name */
	double kernel_sm_ns; /* SMs x its time */
	const char *reason;
};

struct wt_diagnosis {
	struct wt_finding findings[WT_FINDINGS_MAX]; /* largest greatest stake first */
	size_t count;
	struct wt_left left[WT_LEFT_MAX];
	size_t left_count;
	double total_sm_ns; /* SMs x wall of all devices */
	double measured_share; /* of the kernels' SM-time */
	char problem[200]; /* after -EIO */
};

/* What a finding must reach; defaults below. */
struct wt_diagnose_limits {
	double threshold; /* share of SMs x wall, of its greatest stake */
	double overlap; /* copies that kernels hide to this share are fine */
	int64_t graph_gap_ns; /* longer gaps between graph launches are breaks */
};

#define WT_DIAGNOSE_THRESHOLD_PERCENT 1.0
#define WT_DIAGNOSE_OVERLAP_PERCENT 65.0
#define WT_DIAGNOSE_GRAPH_GAP_NS 12800

/*
 * The ledger is of the same file, and was loaded with `gaps` as its observer (wt_gaps_observe). 0 or
 * -errno.
 */
int wt_diagnose(sqlite3 *db, const struct wt_ledger *ledger, struct wt_gaps *gaps,
                const struct wt_diagnose_limits *limits, struct wt_diagnosis *diagnosis);

#endif /* WT_CLI_DIAGNOSE_H */

/*
 * diagnose.h - findings: what costs most SM-time, the evidence, what to try.
 *
 * Findings that are lines of the ledger do not overlap, so their stakes may be added; what is won
 * by one may come out as another. A stake is a bound: never more than the idle SM-time seen.
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_DIAGNOSE_H
#define WT_CLI_DIAGNOSE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/ledger.h"

#define WT_FINDINGS_MAX 64

struct wt_finding {
	const char *kind; /* "small-grid": a word for programs, never changed */
	char title[200];
	char evidence[600];
	const char *explanation;
	const char *advice;
	int64_t kernel_id; /* 0: not of one kernel */
	double stake_sm_ns; /* least and greatest, of all devices */
	double stake_max_sm_ns;
	bool is_ledger_line; /* else a remark beside the ledger */
};

struct wt_diagnosis {
	struct wt_finding findings[WT_FINDINGS_MAX]; /* largest greatest stake first */
	size_t count;
	double total_sm_ns; /* SMs x wall of all devices */
	char problem[200]; /* after -EIO */
};

/*
 * Findings of at least `threshold` (a share, 0.01 = 1 %) of SMs x wall at their greatest. The
 * ledger must be of the same file. 0 or -errno.
 */
int wt_diagnose(sqlite3 *db, const struct wt_ledger *ledger, double threshold,
                struct wt_diagnosis *diagnosis);

#endif /* WT_CLI_DIAGNOSE_H */

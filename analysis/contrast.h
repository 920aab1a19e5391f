/*
 * contrast.h - is it more than noise that two sides differ, in many quantities at once?
 *
 * A side has one run or several, a run has a mean of each quantity and its error (noise.h). The change is
 * the logarithm of mean after by mean before (is_ratio), or their difference where 0 is a fair value. The
 * error of a logarithm is the relative error (delta method). What the change may be off by:
 *
 *   4 or more degrees of freedom between the runs (runs of both sides - 2: three on each side)
 *       Student's two samples with a common variance: the runs' means differ within a side by all that
 *       there is, also what differs from run to run. At least what the steps within the runs say.
 *   fewer
 *       steps within the runs, by Welch (B. L. Welch, Biometrika 34 (1947) 28-35; F. E. Satterthwaite,
 *       Biometrics Bull. 2 (1946) 110-114), and beyond that a margin: by so much two runs of the same
 *       program are taken to differ, which no single run can tell. Runs of one side that differ more
 *       widen it to three times the error of their difference.
 *
 * The chance of the change, if there were none beyond the margin, is that of |change| - margin. All
 * quantities of a family together exceed alpha with at most that chance: S. Holm, Scand. J. Stat. 6
 * (1979) 65-70. The interval of a quantity is at the level of its step in Holm's order, so that it leaves
 * 0 out where, and only where, the change is judged real.
 *
 * Pure: no I/O, no clock; any thread. Allocates the order.
 */
#ifndef WT_CONTRAST_H
#define WT_CONTRAST_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/noise.h"

#define WT_CONTRAST_FREEDOM_LEAST 4 /* between runs, from which on they tell their noise */
#define WT_CONTRAST_ALPHA 0.005
/* Relative error of a mean up to which its logarithm is as normal as it is itself; ratios of others are not judged. */
#define WT_CONTRAST_ERROR_MOST 0.15

/* A quantity on one side: the means of its runs. */
struct wt_contrast_side {
	const struct wt_mean *runs;
	size_t count;
};

enum wt_contrast_verdict {
	WT_CONTRAST_UNJUDGED, /* why says */
	WT_CONTRAST_SAME, /* not more than noise */
	WT_CONTRAST_MORE,
	WT_CONTRAST_LESS,
};

struct wt_contrast {
	/* in */
	struct wt_contrast_side before, after;
	bool is_ratio; /* margins are logarithms of factors; else amounts */
	double margin; /* >= 0: what runs of the same program may differ by */
	double resolution; /* the same, also where runs are repeated: of the clock */
	const char *why; /* not NULL: not to be judged, static text */
	/* out */
	double mean_before, mean_after; /* of the runs; of a ratio geometric means */
	double change; /* mean_after - mean_before */
	double low, high; /* of the change, at `level`; valid with has_interval */
	bool has_interval;
	bool is_repeated; /* noise between runs is known */
	double chance; /* of it, if nothing had changed; 1 where it is not judged */
	double level; /* chance that was asked for: alpha / (quantities that were left) */
	enum wt_contrast_verdict verdict;
	/* what it was judged by: of the logarithm where is_ratio */
	double shift, error, freedom, used_margin;
};

/*
 * Judges a family; those that can't be judged (no runs, too few values, `why` given) are no part of
 * it. alpha of 0: WT_CONTRAST_ALPHA. 0 or -ENOMEM.
 */
int wt_contrast_judge(struct wt_contrast *family, size_t count, double alpha);

/* Is the mean after over (1 + by) times the mean before? */
enum wt_contrast_gate {
	WT_CONTRAST_NO, /* not more, surely */
	WT_CONTRAST_YES, /* more, surely */
	WT_CONTRAST_OPEN, /* it may be */
};

/*
 * Of one ratio that was judged; the change as a share of `before` into low and high, at alpha. Without an
 * interval: open.
 */
enum wt_contrast_gate wt_contrast_between(const struct wt_contrast *contrast, double by,
                                          double alpha, double *ret_low, double *ret_high);

#endif /* WT_CONTRAST_H */

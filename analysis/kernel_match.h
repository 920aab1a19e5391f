/*
 * kernel_match.h - which kernel of one run is which of another, when names have changed?
 *
 * Names change without the kernel changing: template arguments, tiles that an autotuner chose, numbers
 * and hashes that a compiler gives (triton_poi_fused_add_7). In this order:
 *
 *   1. the same name: score 1, told as WT_MATCH_NAME
 *   2. of those left, the same name without what a compiler chooses (WT_MATCH_RENAMED), if as many have it on
 *      both sides: in the order in which they come, if all these pairs are alike in geometry
 *   3. of those left, pairs by a score of 0 to 1, the best first, each kernel once:
 *
 *        0.50 x name       1 less the edit distance (V. I. Levenshtein, Soviet Physics Doklady 10 (1966)
 *                          707-710) of the names without what a compiler chooses, by the longer one
 *        0.20 x geometry   threads of a block and blocks of the grid, each by how many times as many
 *        0.20 x order      where in the step they come, counted in kernels that have their name in common
 *                          (without three of those by the share of the step's launches before them)
 *        0.10 x launches   how often in a step
 *
 *      At least WT_MATCH_SCORE_LEAST, and names alike by WT_MATCH_NAME_LEAST. A pair is not made where
 *      another one with one of the two is as good, within WT_MATCH_APART: who of equals is who can't be
 *      told.
 *
 * Times are not looked at: a kernel that got slower would find another partner.
 *
 * Pure: no I/O, no clock; any thread. Allocates. O(a x b x name^2) for the a and b without their name on
 * the other side; of those the WT_MATCH_MOST with most weight, names up to WT_MATCH_NAME_BYTES.
 */
#ifndef WT_KERNEL_MATCH_H
#define WT_KERNEL_MATCH_H

#include <stddef.h>
#include <stdint.h>

#define WT_MATCH_SCORE_LEAST 0.65
#define WT_MATCH_SCORE_SURE 0.80 /* below it a change is shown, and not judged */
#define WT_MATCH_NAME_LEAST 0.40
#define WT_MATCH_APART 0.02
#define WT_MATCH_GEOMETRY_LEAST 0.60 /* of pairs by order */
#define WT_MATCH_MOST 250
#define WT_MATCH_NAME_BYTES 160

enum wt_match_how {
	WT_MATCH_NONE,
	WT_MATCH_NAME, /* the same name */
	WT_MATCH_RENAMED, /* the same without what a compiler chooses */
	WT_MATCH_ALIKE, /* another name that is alike */
};

struct wt_match_kernel {
	/* in */
	const char *name; /* demangled, and whole */
	double blocks, threads; /* of the grid and of a block; of several configurations means */
	double place; /* in the step: launches before its first one, by all launches; 0 to 1 */
	double launches; /* in a step */
	double weight; /* time: which ones are looked at where there are too many */
	/* out */
	size_t partner; /* index on the other side; SIZE_MAX: none */
	enum wt_match_how how;
	double score, name_score, geometry_score, order_score;
};

/* 0 or -ENOMEM. */
int wt_kernel_match(struct wt_match_kernel *before, size_t before_count,
                    struct wt_match_kernel *after, size_t after_count);

/*
 * The name without what a compiler or tuner chooses: template arguments and parameters go, numbers at
 * the end, tiles (128x64), and words of hexadecimal digits become '#'. Cut at WT_MATCH_NAME_BYTES - 1.
 */
void wt_match_plain_name(const char *name, char plain[WT_MATCH_NAME_BYTES]);

#endif /* WT_KERNEL_MATCH_H */

/*
 * measured.h - what a run file has measured of its configurations, for readers that replace the
 * model's shares: analysis/measure.h. The same choice as in the view config_idle.
 *
 * Memory: one entry for each configuration with a row of `measured`. Single-threaded; loading blocks
 * on the file.
 */
#ifndef WT_CLI_MEASURED_H
#define WT_CLI_MEASURED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/map.h"
#include "analysis/measure.h"

/* Numbers that are not known are < 0. */
struct wt_measured_config {
	int64_t config_id;
	struct wt_measure measure; /* evidence: that of the time alone which is used */
	double error_sms; /* of active SMs */
	double warps_per_sm, tensor_share, dram_share; /* of the peak; of time x SMs; of the peak */
	double max_warps; /* that an SM holds */
	double issue_share; /* of issue slots of all SMs */
	enum wt_bound bound;
	char bound_reason[96]; /* why it is not known; "": it is, or an older file */
	bool disagrees; /* the model and a measurement, or two measurements */
};

/* All zero: nothing is measured. */
struct wt_measured {
	struct wt_measured_config *configs;
	size_t count;
	struct wt_map config_at;
};

/* Empty where the file is older or has nothing measured. 0 or -errno. */
int wt_measured_load(sqlite3 *db, struct wt_measured *measured);
void wt_measured_fini(struct wt_measured *measured);

/* NULL: nothing. */
struct wt_measured_config *wt_measured_find(const struct wt_measured *measured, int64_t config_id);

/* Nothing has been given yet: the running totals begin again. */
void wt_measured_restart(struct wt_measured *measured);

/* "sampled 97 %": where parts[] of a whole come from, model being the rest. Static text if it is one. */
#define WT_MEASURED_TEXT_BYTES 48
const char *wt_measured_text(char text[WT_MEASURED_TEXT_BYTES], int64_t whole_sm_ns,
                             const int64_t parts_sm_ns[WT_EVIDENCE_MAX]);

/* The same as one word: "model", "sampled", "profiled" or "mixed". */
const char *wt_measured_word(int64_t whole_sm_ns, const int64_t parts_sm_ns[WT_EVIDENCE_MAX]);

#endif /* WT_CLI_MEASURED_H */

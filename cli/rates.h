/*
 * rates.h - what was measured of a launch configuration, as the run file has it: rates of SMs with
 * their errors, the tail profile, and what physical SMs did under the profiler.
 *
 * Of the whole run, whatever is selected: a measurement needs all launches it can get. Files made
 * before there were measurements have none of the tables, which reads as nothing measured.
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_RATES_H
#define WT_CLI_RATES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/json.h"

/* Mean SMs over the time of the kernels. A double that is not known is not a number. */
struct wt_rates_row {
	char evidence[12]; /* "sampled", "profiled"; "": there is no such row */
	bool is_used; /* stands before the model and the other evidence */
	bool disagrees; /* the model, or the other evidence, is beyond the error */
	char reason[200]; /* why nothing was measured; "": it was */
	int64_t launches, time_ns;
	double active_sms, error_sms;
	double underfill_sms, wave_sms, wave_max_sms, straggle_sms, ramp_sms;
	double warps_per_sm, tensor_share, dram_bytes_per_ns, sm_clock_mhz;
	char bound[12], wave_form[16]; /* "": not known */
	int64_t joint_time_ns; /* beside other kernels */
	double joint_active_sms, joint_error_sms; /* of the device, meanwhile */
};

struct wt_rates_bin {
	double active_sms, error_sms;
};

/* Of one physical SM: per launch, mean of the launches under the profiler. */
struct wt_rates_sm {
	int64_t sm, launches;
	double warps, instructions;
};

/* Of a set of SMs. */
struct wt_rates_spread {
	double min, median, max, mean;
};

struct wt_rates {
	struct wt_rates_row at[2]; /* the one that is used first; then sampled before profiled */
	size_t count;
	struct wt_rates_bin *bins;
	size_t bin_count;
	struct wt_rates_sm *sms; /* by number */
	size_t sm_count;
	int64_t sm_launches; /* with counts of physical SMs */
};

/* Does the file have that table? */
bool wt_run_has_table(sqlite3 *db, const char *name);

/* 0 or -errno. Free with wt_rates_fini() in either case. */
int wt_rates_load(sqlite3 *db, int64_t config_id, struct wt_rates *config);
void wt_rates_fini(struct wt_rates *config);

/* The measurement that stands for the configuration; NULL: the model does. */
const struct wt_rates_row *wt_rates_used(const struct wt_rates *config);

/*
 * Physical SMs of a device: the launches that were counted and start in [start_ns, end_ns), all
 * kernels; a launch per row of the mean. 0 or -errno; the caller frees *ret_sms.
 */
int wt_rates_device_sms(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                        struct wt_rates_sm **ret_sms, size_t *ret_count, int64_t *ret_launches);

/* Warps, or instructions. All 0 without SMs. */
void wt_rates_spread(const struct wt_rates_sm *sms, size_t count, bool is_instructions,
                     struct wt_rates_spread *ret_spread);

/* The member `per_sm`: null, or launches, spreads and the SMs. */
void wt_rates_put_sms(struct wt_json *json, const struct wt_rates_sm *sms, size_t count,
                      int64_t launches);

#endif /* WT_CLI_RATES_H */

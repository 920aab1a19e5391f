/*
 * rates.h - what was measured of a launch configuration, as the run file has it: rates of SMs with
 * their errors, the tail profile, and how unequal SMs were under the profiler.
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
#include "cli/phrase.h"

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
	double issue_share, class_wave_sms; /* the latter of the model, in the class's form */
	char bound[12], wave_form[16]; /* "": not known */
	char bound_reason[96]; /* why `bound` is not known; "": it is, or an older file */
	int64_t joint_time_ns; /* beside other kernels */
	double joint_active_sms, joint_error_sms; /* of the device, meanwhile */
};

struct wt_rates_bin {
	double active_sms, error_sms;
};

/*
 * Launches under the range profiler: how long the least active SM and the mean had warps, by the most
 * active one; means of the launches. Which SM that was the hardware does not say.
 */
struct wt_rates_profiled {
	int64_t launches; /* 0: none, and the next are 0 */
	double least_share, mean_share;
	int64_t cost_ns; /* that the application waited for them, in all */
};

struct wt_rates {
	struct wt_rates_row at[2]; /* the one that is used first; then sampled before profiled */
	size_t count;
	struct wt_rates_bin *bins;
	size_t bin_count;
	struct wt_rates_profiled profiled;
};

/* 0 or -errno. Free with wt_rates_fini() in either case. */
int wt_rates_load(sqlite3 *db, int64_t config_id, struct wt_rates *config);
void wt_rates_fini(struct wt_rates *config);

/* The measurement that stands for the configuration; NULL: the model does. */
const struct wt_rates_row *wt_rates_used(const struct wt_rates *config);

/* Of a device: the launches that were profiled and start in [start_ns, end_ns). 0 or -EIO. */
int wt_rates_device_profiled(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                             struct wt_rates_profiled *ret_profiled);

/* A phrase for people; nothing without such launches. True: said. */
bool wt_rates_say_profiled(struct wt_phrase *line, const struct wt_rates_profiled *profiled);

/* The member `profiled_launches`: null, or an object. */
void wt_rates_put_profiled(struct wt_json *json, const struct wt_rates_profiled *profiled);

#endif /* WT_CLI_RATES_H */

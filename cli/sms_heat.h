/*
 * sms_heat.h - how many SMs of a device were active over time, as samples have it: columns of equal
 * length, in each the share of its time with so many SMs active. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_SMS_HEAT_H
#define WT_CLI_SMS_HEAT_H

#include <stdio.h>

#include "cli/sm_activity.h"

#define WT_SMS_HEAT_ROWS 10 /* of 10 % of the SMs each; none is in the lowest, all in the highest */
#define WT_SMS_HEAT_COLUMNS 60 /* in JSON, and where the terminal sets no limit */

struct wt_sms_column {
	struct wt_sm_sum sum;
	double ns[WT_SMS_HEAT_ROWS]; /* sampled time by share of SMs active */
};

struct wt_sms_heat {
	int64_t device_id, sms;
	int64_t start_ns, end_ns, width_ns; /* the last column may be shorter */
	struct wt_sms_column *columns;
	size_t column_count;
	double *by_sms; /* sampled time by number of SMs, rounded: 0 to sms */
	struct wt_sm_sum total; /* sampled_ns 0: there are no samples */
};

/* width_ns 0: as many columns as `columns`. 0 or -errno. Free with wt_sms_heat_fini() anyway. */
int wt_sms_heat_load(sqlite3 *db, const struct wt_ledger *ledger,
                     const struct wt_ledger_device *device, int64_t width_ns, size_t columns,
                     struct wt_sms_heat *heat);
void wt_sms_heat_fini(struct wt_sms_heat *heat);

/* The map, lines of least, mean and most, and what samples say of the whole. */
void wt_sms_heat_print(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_sms_heat *heat, int64_t origin_ns);

/* Columns that fit into the terminal. */
size_t wt_sms_heat_columns(const struct wt_text_terminal *terminal);

/* The member `samples`: null, or the whole and `buckets[]`. */
void wt_sms_heat_put_json(struct wt_json *json, const struct wt_sms_heat *heat);

#endif /* WT_CLI_SMS_HEAT_H */

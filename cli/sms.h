/*
 * sms.h - what `wavetap sms` shows of each device, and its output for programs. Single-threaded;
 * blocks as the FILE does.
 */
#ifndef WT_CLI_SMS_H
#define WT_CLI_SMS_H

#include "cli/ledger_lines.h"
#include "cli/rates.h"
#include "cli/sms_heat.h"
#include "cli/table.h"

#define WT_SMS_NEEDS_SAMPLES "how many SMs were active needs samples (run --sample)"
#define WT_SMS_NO_SINGLE "which SM was active the hardware does not say"

struct wt_sms_occupied {
	int64_t device_id;
	int64_t *ns; /* by the number of SMs that could be occupied, 0 to sms */
	int64_t sms;
	int64_t shared_ns; /* kernels wanted more SMs than there are */
};

struct wt_sms {
	struct wt_sms_occupied *devices;
	size_t count;
	bool is_out_of_memory;
	/* afterwards, of each device of the ledger */
	struct wt_sms_measured {
		struct wt_sms_heat heat;
		struct wt_rates_profiled profiled;
	} * measured;
};

static inline bool wt_sms_has_samples(const struct wt_sms_measured *measured)
{
	return measured->heat.total.sampled_ns > 0;
}

/* SMs x time in which they could be occupied. */
double wt_sms_occupied_sm_ns(const struct wt_sms_occupied *occupied);

/* Time by number of SMs: could be occupied, and were active. NULL: out of memory. */
struct wt_table *wt_sms_table(const struct wt_ledger *ledger, const struct wt_sms *sms);

/* 0 or -errno. */
int wt_sms_print_json(const struct wt_ledger_view *view, const struct wt_sms *sms,
                      struct wt_table *table);

#endif /* WT_CLI_SMS_H */

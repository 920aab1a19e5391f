/*
 * ledger_impl.h - what ledger.c and ledger_gap.c share, for one ledger being loaded.
 */
#ifndef WT_CLI_LEDGER_IMPL_H
#define WT_CLI_LEDGER_IMPL_H

#include "analysis/map.h"
#include "cli/ledger.h"
#include "cli/measured.h"
#include "cli/progress.h"
#include "daemon/ledger_gaps.h"

/* A configuration that the sweep met. */
struct wt_ledger_config {
	size_t kernel_at; /* index in ledger->kernels */
	struct wt_sweep_facts facts; /* sms and device_sms */
	bool is_judged;
	struct wt_measured_config *measured; /* NULL: nothing is */
};

/* What the loading of one ledger holds. */
struct wt_ledger_loading {
	sqlite3 *db;
	struct wt_ledger *ledger;
	const struct wt_ledger_observer *observer; /* NULL: nobody */
	struct wt_facts *facts;
	struct wt_progress progress;
	int64_t rows_read;
	bool *is_collective; /* of ledger->kernels */
	struct wt_map kernel_at; /* kernel_id -> index in ledger->kernels */
	struct wt_measured measured;
	struct wt_ledger_config *configs; /* the sweep names kernels by them */
	size_t config_count;
	struct wt_map config_at; /* config_id -> index in configs */
	struct wt_gap_source source; /* of the device in work */
	/* of the device in work */
	struct wt_ledger_device *device;
	struct wt_sweep sweep;
	const struct wt_ledger_row *next; /* the kernel after the gap; NULL: none */
	size_t next_at; /* its kernel's index */
	int64_t compute_end_ns; /* until when kernels ran that are no collectives */
	uint64_t compute_tag; /* of the one that ended then */
	bool has_compute;
	size_t bucket_at; /* the first that is not closed */
	struct wt_sweep_share bucket_total; /* up to its start */
};

/* What the sweep calls a kernel: its process and its configuration's index. */
#define WT_LEDGER_ID_BITS 32

/*
 * ledger_measure.c: what was measured of the kernel `id` takes the model's place in its share;
 * ret_measured says how much. False: nothing was, and all of ret_measured is 0.
 */
bool wt_ledger_measure(struct wt_ledger_loading *load, int64_t id, struct wt_sweep_share *share,
                       struct wt_sweep_share ret_measured[WT_EVIDENCE_MAX]);

/* ledger_whole.c: all of a run, from sums. 1, 0: there are none, or -errno. */
int wt_ledger_sum_whole(struct wt_ledger_loading *load);

/* The totals of the sweep up to now, as far as they are known, with what still runs. */
void wt_ledger_measure_until(struct wt_ledger_loading *load, struct wt_sweep_share *total);

/* ledger_gap.c: tells the observer of the time since the last kernel but collectives. 0 or -errno. */
int wt_ledger_compute_gap(struct wt_ledger_loading *load);
/* Output of the sweep; `arg` is the loading. */
int wt_ledger_on_gap(void *arg, const struct wt_sweep_gap *gap);

/* ledger_buckets.c: buckets that end by until_ns get what the sweep had. 0 or -errno. */
int wt_ledger_make_buckets(struct wt_ledger *ledger, int64_t bucket_ns);
int wt_ledger_close_buckets(struct wt_ledger_loading *load, int64_t until_ns);
/* The part of [start_ns, end_ns) in bucket `at` ends here. */
int64_t wt_ledger_bucket_end(const struct wt_ledger *ledger, size_t at);

#endif /* WT_CLI_LEDGER_IMPL_H */

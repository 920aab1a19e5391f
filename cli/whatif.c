/*
 * whatif.c - see whatif.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "daemon/ledger_facts.h"
#include "cli/measured.h"
#include "cli/report_sql.h"
#include "cli/whatif.h"

/* In the order of the sweep that made the ledger; main: whatever is selected. */
static const char rows_sql[] =
        "SELECT c.kernel_id, e.start_ns, e.end_ns, e.underfill_sm_ns, e.wave_sm_ns,"
        " e.wave_max_sm_ns, c.blocks, c.resident_blocks, c.sm_count,"
        " max(c.cluster_x, 1) * max(c.cluster_y, 1) * max(c.cluster_z, 1), c.config_id"
        " FROM kernel_row e JOIN config c USING (config_id)"
        " WHERE c.device_id = ?1 AND e.end_ns > e.start_ns AND e.start_ns < ?3 AND e.end_ns > ?2"
        " ORDER BY e.start_ns, e.exec_id";
enum {
	COLUMN_KERNEL,
	COLUMN_START,
	COLUMN_END,
	COLUMN_UNDERFILL,
	COLUMN_WAVE,
	COLUMN_WAVE_MAX,
	COLUMN_BLOCKS,
	COLUMN_RESIDENT,
	COLUMN_SMS,
	COLUMN_CLUSTER,
	COLUMN_CONFIG
};

struct loading {
	const struct wt_ledger *ledger;
	const struct wt_whatif_query *query;
	const struct wt_ledger_device *device;
	struct wt_measured measured;
	bool has_measured; /* something of the device's was used */
	struct wt_whatif_row *rows; /* as ledger->kernels, and one for no kernel */
	struct wt_whatif replay;
};

/* Index of the kernel; kernel_count if the ledger does not have it. */
static size_t find_kernel(const struct wt_ledger *ledger, int64_t kernel_id)
{
	size_t low = 0, high = ledger->kernel_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ledger->kernels[middle].kernel_id == kernel_id)
			return middle;
		if (ledger->kernels[middle].kernel_id < kernel_id)
			low = middle + 1;
		else
			high = middle;
	}
	return ledger->kernel_count;
}

static void on_kernel(void *arg, int64_t id, const struct wt_whatif_share *share)
{
	struct loading *load = arg;
	struct wt_whatif_row *row = &load->rows[id];

	row->launches++;
	row->share.time_ns = wt_whatif_sum(row->share.time_ns, share->time_ns);
	row->share.unmodelled_ns = wt_whatif_sum(row->share.unmodelled_ns, share->unmodelled_ns);
	row->share.then.least_ns = wt_whatif_sum(row->share.then.least_ns, share->then.least_ns);
	row->share.then.greatest_ns =
	        wt_whatif_sum(row->share.then.greatest_ns, share->then.greatest_ns);
}

static void on_gap(void *arg, int64_t id, int64_t gap_ns, int64_t copy_ns)
{
	struct loading *load = arg;
	struct wt_whatif_row *row = &load->rows[id < 0 ? (int64_t)load->ledger->kernel_count : id];

	row->gap_ns = wt_whatif_sum(row->gap_ns, gap_ns);
	row->copy_gap_ns = wt_whatif_sum(row->copy_gap_ns, copy_ns);
}

static int64_t sm_ns(double sms, int64_t duration_ns)
{
	return (int64_t)(sms * (double)duration_ns);
}

/*
 * Underfill and wave as measured, by themselves: straggle stays. Where the class alone is known, the model's
 * wave in its form. Nothing is won by more SMs for what waits for memory.
 */
static void use_measured(struct loading *load, int64_t config_id, struct wt_whatif_launch *launch)
{
	const struct wt_measured_config *config = wt_measured_find(&load->measured, config_id);

	if (!config)
		return;
	if (config->bound == WT_BOUND_MEMORY) {
		launch->underfill_sm_ns = launch->wave_sm_ns = launch->wave_max_sm_ns = 0;
	} else if (config->measure.evidence != WT_EVIDENCE_MODEL &&
	           launch->sms == load->device->sms) {
		double most = config->bound == WT_BOUND_UNKNOWN ? config->measure.wave_max_sms
		                                                : config->measure.wave_sms;

		launch->underfill_sm_ns = sm_ns(config->measure.underfill_sms, launch->duration_ns);
		launch->wave_sm_ns = sm_ns(config->measure.wave_sms, launch->duration_ns);
		launch->wave_max_sm_ns = sm_ns(most, launch->duration_ns);
		if (launch->wave_max_sm_ns < launch->wave_sm_ns)
			launch->wave_max_sm_ns = launch->wave_sm_ns;
	} else if (config->measure.has_class_wave && launch->is_judged &&
	           launch->sms == load->device->sms) {
		launch->wave_sm_ns = sm_ns(config->measure.wave_sms, launch->duration_ns);
		launch->wave_max_sm_ns = launch->wave_sm_ns;
	} else {
		return;
	}
	launch->is_judged = true;
	load->has_measured = true;
}

/* What the launch would take. */
static void change(struct loading *load, sqlite3_stmt *s, struct wt_whatif_kernel *kernel)
{
	int64_t sms = sqlite3_column_int64(s, COLUMN_SMS);
	struct wt_whatif_launch launch = {
	        .duration_ns = kernel->duration_ns,
	        .blocks = sqlite3_column_int64(s, COLUMN_BLOCKS),
	        .resident_blocks = sqlite3_column_int64(s, COLUMN_RESIDENT), /* NULL: 0 */
	        .cluster_blocks = sqlite3_column_int64(s, COLUMN_CLUSTER),
	        .sms = sms > 0 && sms <= load->device->sms ? (uint32_t)sms : 0,
	        .underfill_sm_ns = sqlite3_column_int64(s, COLUMN_UNDERFILL),
	        .wave_sm_ns = sqlite3_column_int64(s, COLUMN_WAVE),
	        .wave_max_sm_ns = sqlite3_column_int64(s, COLUMN_WAVE_MAX),
	        .is_judged = sqlite3_column_type(s, COLUMN_WAVE) != SQLITE_NULL,
	};

	kernel->then = (struct wt_whatif_range){kernel->duration_ns, kernel->duration_ns};
	kernel->is_modelled = launch.is_judged;
	/* Other ranks and links decide how long these take. */
	if (wt_is_collective_kernel(load->ledger->kernels[kernel->id].name)) {
		kernel->is_modelled = false;
	} else if (load->query->is_full_waves) {
		use_measured(load, sqlite3_column_int64(s, COLUMN_CONFIG), &launch);
		kernel->is_modelled = wt_whatif_full_waves(&launch, &kernel->then);
	} else if (load->query->sms) {
		/* A context that may not use all SMs keeps those that it has. */
		kernel->is_modelled =
		        sms == load->device->sms &&
		        wt_whatif_on_sms(&launch, (uint32_t)load->query->sms, &kernel->then);
	}
}

static int replay_rows(struct loading *load, sqlite3_stmt *s, struct wt_whatif_device *device)
{
	const struct wt_ledger *ledger = load->ledger;
	int rc;

	while ((rc = wt_report_step(s)) > 0) {
		size_t at = find_kernel(ledger, sqlite3_column_int64(s, COLUMN_KERNEL));
		int64_t start_ns = sqlite3_column_int64(s, COLUMN_START);
		int64_t end_ns = sqlite3_column_int64(s, COLUMN_END);
		struct wt_whatif_kernel kernel = {
		        .id = (int64_t)at,
		        .start_ns = start_ns > ledger->start_ns ? start_ns : ledger->start_ns,
		        .end_ns = end_ns < ledger->end_ns ? end_ns : ledger->end_ns};

		if (at < ledger->kernel_count &&
		    !__builtin_sub_overflow(end_ns, start_ns, &kernel.duration_ns)) {
			change(load, s, &kernel);
			if (!wt_whatif_add(&load->replay, &kernel))
				continue;
		}
		device->kernels_refused++;
	}
	return rc;
}

static int replay_device(sqlite3 *db, struct loading *load, const struct wt_facts *facts,
                         struct wt_whatif_device *device)
{
	const struct wt_whatif_output output = {on_kernel, on_gap, load};
	struct wt_intervals copies =
	        wt_facts_find(facts, WT_FACT_COPY, 0, (uint64_t)device->device->device_id);
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, rows_sql, &s);

	if (rc)
		return rc;
	load->device = device->device;
	load->has_measured = false;
	wt_whatif_init(&load->replay, load->ledger->start_ns, &copies, &output);
	sqlite3_bind_int64(s, 1, device->device->device_id);
	sqlite3_bind_int64(s, 2, load->ledger->start_ns);
	sqlite3_bind_int64(s, 3, load->ledger->end_ns);
	rc = replay_rows(load, s, device);
	device->has_measured = load->has_measured;
	sqlite3_finalize(s);
	if (!rc && wt_whatif_finish(&load->replay, load->ledger->end_ns, &device->result))
		rc = -ERANGE;
	device->then =
	        load->query->is_without_gaps ? device->result.then_no_gaps : device->result.then;
	return rc;
}

static int by_change(const void *left, const void *right)
{
	const struct wt_whatif_row *a = left, *b = right;

	if (a->change_ns != b->change_ns)
		return a->change_ns > b->change_ns ? -1 : 1;
	if (a->share.time_ns != b->share.time_ns)
		return a->share.time_ns > b->share.time_ns ? -1 : 1;
	return a->kernel < b->kernel ? -1 : a->kernel > b->kernel;
}

static int64_t magnitude(int64_t ns)
{
	return ns < 0 ? -ns : ns;
}

static void rank(const struct wt_whatif_query *query, struct wt_whatif_run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->row_count; i++) {
		struct wt_whatif_row row = run->rows[i];
		int64_t low = magnitude(row.share.then.least_ns - row.share.time_ns);
		int64_t high = magnitude(row.share.then.greatest_ns - row.share.time_ns);

		row.change_ns =
		        (low > high ? low : high) + (query->is_without_gaps ? row.gap_ns : 0);
		if (row.launches || row.gap_ns)
			run->rows[kept++] = row;
	}
	run->row_count = kept;
	qsort(run->rows, kept, sizeof(*run->rows), by_change);
}

int wt_whatif_run_load(sqlite3 *db, const struct wt_ledger *ledger,
                       const struct wt_whatif_query *query, struct wt_whatif_run *run)
{
	struct loading *load = calloc(1, sizeof(*load));
	struct wt_facts *facts = NULL;
	int rc;

	memset(run, 0, sizeof(*run));
	run->devices = calloc(ledger->device_count + 1, sizeof(*run->devices));
	run->rows = calloc(ledger->kernel_count + 1, sizeof(*run->rows));
	rc = load && run->devices && run->rows ? wt_facts_load(db, ledger->clock_error_ns, &facts)
	                                       : -ENOMEM;
	if (!rc) {
		load->ledger = ledger;
		load->query = query;
		load->rows = run->rows;
		run->row_count = ledger->kernel_count + 1;
		run->device_count = ledger->device_count;
	}
	if (!rc)
		rc = wt_measured_load(db, &load->measured);
	for (size_t i = 0; !rc && i < ledger->kernel_count; i++)
		run->rows[i].kernel = &ledger->kernels[i];
	for (size_t i = 0; !rc && i < ledger->device_count; i++) {
		run->devices[i].device = &ledger->devices[i];
		rc = replay_device(db, load, facts, &run->devices[i]);
	}
	if (!rc)
		rank(query, run);
	wt_facts_free(facts);
	if (load)
		wt_measured_fini(&load->measured);
	free(load);
	return rc;
}

void wt_whatif_run_fini(struct wt_whatif_run *run)
{
	free(run->devices);
	free(run->rows);
	memset(run, 0, sizeof(*run));
}

/*
 * ledger.c - see ledger.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "cli/ledger_impl.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

/* main: the sweep has to see what a selection hides, too. */
static const char rows_sql[] =
        "SELECT e.process_id, c.kernel_id, e.start_ns, e.end_ns, e.wave_sm_ns, e.wave_max_sm_ns,"
        " c.blocks, c.resident_blocks, c.sm_count, e.graph_id IS NOT NULL, e.launch_seq,"
        " l.entry_ns, l.return_ns, l.thread32, l.stream, l.api, c.config_id, e.context_id,"
        " e.stream_id, e.graph_id, e.exec_id"
        " FROM kernel_row e JOIN config c USING (config_id) LEFT JOIN launch_call l"
        " ON e.graph_id IS NULL AND l.process_id = e.process_id AND l.seq = e.launch_seq"
        " WHERE c.device_id = ?1 AND e.start_ns IS NOT NULL AND e.end_ns IS NOT NULL"
        " ORDER BY e.start_ns, e.exec_id";

static void read_kernel_row(sqlite3_stmt *s, const struct wt_facts *facts,
                            struct wt_ledger_row *row)
{
	*row = (struct wt_ledger_row){
	        .process_id = sqlite3_column_int64(s, 0),
	        .kernel_id = sqlite3_column_int64(s, 1),
	        .start_ns = sqlite3_column_int64(s, 2),
	        .end_ns = sqlite3_column_int64(s, 3),
	        .wave_sm_ns = sqlite3_column_int64(s, 4),
	        .wave_max_sm_ns = sqlite3_column_int64(s, 5),
	        .is_judged = sqlite3_column_type(s, 4) != SQLITE_NULL,
	        .blocks = sqlite3_column_int64(s, 6),
	        .resident_blocks = sqlite3_column_int64(s, 7), /* NULL: 0 */
	        .config_sms = sqlite3_column_int64(s, 8),
	        .is_graph_node = sqlite3_column_int(s, 9),
	        .launch_seq = sqlite3_column_int64(s, 10),
	        .has_call = sqlite3_column_type(s, 11) != SQLITE_NULL,
	        .call = {.entry_ns = sqlite3_column_int64(s, 11),
	                 .return_ns = sqlite3_column_int64(s, 12),
	                 .thread32 = (uint32_t)sqlite3_column_int64(s, 13),
	                 .stream = (uint64_t)sqlite3_column_int64(s, 14),
	                 .api = (int32_t)sqlite3_column_int64(s, 15)},
	        .config_id = sqlite3_column_int64(s, 16),
	        .context_id = sqlite3_column_int64(s, 17),
	        .stream_id = sqlite3_column_int64(s, 18),
	        .graph_id = sqlite3_column_int(s, 9) ? sqlite3_column_int64(s, 19) : -1,
	        .exec_id = sqlite3_column_int64(s, 20),
	};
	if (row->is_graph_node && sqlite3_column_type(s, 10) != SQLITE_NULL)
		row->has_call =
		        wt_facts_graph_launch(facts, row->process_id, row->launch_seq, &row->call);
}

/* ---- kernels */

#define SWEEP_PROCESSES_MAX (INT64_C(1) << 30)

static int on_kernel(void *arg, int64_t id, const struct wt_sweep_share *model)
{
	struct wt_ledger_loading *load = arg;
	const struct wt_ledger_observer *observer = load->observer;
	struct wt_sweep_share share = *model, measured[WT_EVIDENCE_MAX];
	const struct wt_ledger_config *config =
	        &load->configs[id & ((INT64_C(1) << WT_LEDGER_ID_BITS) - 1)];
	struct wt_ledger_kernel *kernel = &load->ledger->kernels[config->kernel_at];
	struct wt_ledger_device *device = load->device;

	if (wt_ledger_measure(load, id, &share, measured)) {
		for (int i = 0; i < WT_EVIDENCE_MAX; i++) {
			wt_sweep_share_add(&kernel->measured[i], &measured[i]);
			wt_sweep_share_add(&device->measured[i], &measured[i]);
		}
	}
	kernel->launches++;
	kernel->launches_underfilled += share.underfill_sm_ns > 0;
	wt_sweep_share_add(&kernel->share, &share);
	wt_sweep_share_add(&device->share, &share);
	if (!observer || !observer->share)
		return 0;
	return observer->share(observer->arg, device, id >> WT_LEDGER_ID_BITS, &share);
}

static void on_slice(void *arg, int64_t start_ns, int64_t end_ns, uint64_t sms_wanted)
{
	struct wt_ledger_loading *load = arg;

	load->observer->slice(load->observer->arg, load->device, end_ns - start_ns, sms_wanted);
}

/* The index of a row's configuration. 0 or -ENOMEM. */
static int find_config(struct wt_ledger_loading *load, const struct wt_ledger_row *row,
                       const struct wt_sweep_kernel *kernel, uint32_t *ret_at)
{
	uint32_t at = wt_map_get(&load->config_at, (uint64_t)row->config_id);

	if (at == WT_MAP_NONE) {
		struct wt_ledger_config *config =
		        wt_report_append(&load->configs, &load->config_count, sizeof(*config));

		at = (uint32_t)load->config_count - 1;
		if (!config || wt_map_set(&load->config_at, (uint64_t)row->config_id, at))
			return -ENOMEM;
		config->kernel_at = load->next_at;
		config->facts.sms = kernel->sms;
		config->facts.device_sms = (uint32_t)load->device->sms;
		config->is_judged = kernel->is_judged;
		config->measured = wt_measured_find(&load->measured, row->config_id);
	}
	*ret_at = at;
	return 0;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Its part in the window. What the sweep refuses is counted and left out. */
static int sweep_row(struct wt_ledger_loading *load, const struct wt_ledger_row *row)
{
	const struct wt_ledger *ledger = load->ledger;
	struct wt_sweep_kernel kernel = {
	        .tag = wt_ledger_graph_tag(row),
	        .start_ns = row->start_ns > ledger->start_ns ? row->start_ns : ledger->start_ns,
	        .end_ns = least(row->end_ns, ledger->end_ns),
	        .duration_ns = row->end_ns - row->start_ns,
	        .wave_sm_ns = row->wave_sm_ns,
	        .wave_max_sm_ns = row->wave_max_sm_ns,
	        .sms = wt_sweep_occupied_sms(row->config_sms, load->device->sms,
	                                     row->resident_blocks, row->blocks),
	        .blocks = row->blocks > 0 && row->blocks <= INT32_MAX ? (uint32_t)row->blocks : 0,
	        .blocks_per_sm = wt_sweep_blocks_per_sm(row->config_sms, load->device->sms,
	                                                row->resident_blocks),
	        .is_judged = row->is_judged,
	        .is_collective = load->is_collective[load->next_at],
	};
	const struct wt_ledger_observer *observer = load->observer;
	uint32_t config_at;
	int rc = find_config(load, row, &kernel, &config_at);

	if (rc)
		return rc;
	kernel.id = (int64_t)((uint64_t)row->process_id << WT_LEDGER_ID_BITS | config_at);
	rc = -EINVAL;
	if (row->process_id >= 0 && row->process_id < SWEEP_PROCESSES_MAX)
		rc = wt_sweep_add(&load->sweep, &kernel);
	if (rc == -EINVAL || rc == -EBUSY) {
		load->device->kernels_refused++;
		return 0;
	}
	load->device->kernels++;
	if (!rc && observer && observer->compute_gap && !kernel.is_collective)
		rc = wt_ledger_compute_gap(load);
	if (!rc && observer && observer->row)
		rc = observer->row(observer->arg, load->device, row, kernel.is_collective);
	return rc;
}

static int sweep_rows(struct wt_ledger_loading *load, sqlite3_stmt *s, struct wt_ledger_row *row)
{
	int rc;

	load->next = NULL;
	while ((rc = wt_report_step(s)) > 0) {
		uint32_t at;

		if (!load->rows_read)
			wt_progress_start(&load->progress);
		wt_progress_set(&load->progress, ++load->rows_read);
		read_kernel_row(s, load->facts, row);
		at = wt_map_get(&load->kernel_at, (uint64_t)row->kernel_id);
		if (at == WT_MAP_NONE) {
			load->device->kernels_refused++; /* a damaged file: no such kernel */
			continue;
		}
		if (row->end_ns <= row->start_ns) {
			/* It ran, though not at that time: what it waited for is used up. */
			load->device->kernels_refused += row->start_ns >= load->ledger->start_ns &&
			                                 row->start_ns <= load->ledger->end_ns;
			rc = row->has_call ? wt_gap_source_note(&load->source, row) : 0;
			if (rc)
				return rc;
			continue;
		}
		load->next = row;
		load->next_at = at;
		if (row->start_ns >= load->ledger->end_ns)
			return 0; /* the one after the window: it explains the last gap */
		rc = wt_ledger_close_buckets(load, row->start_ns);
		/* What came before the window explains its first gaps, no more. */
		if (!rc && row->end_ns > load->ledger->start_ns)
			rc = sweep_row(load, row);
		if (!rc && row->has_call)
			rc = wt_gap_source_note(&load->source, row);
		load->next = NULL;
		if (rc)
			return rc;
	}
	return rc;
}

static int load_device(struct wt_ledger_loading *load, struct wt_ledger_device *device)
{
	const struct wt_sweep_output output = {
	        .kernel = on_kernel,
	        .gap = wt_ledger_on_gap,
	        .arg = load,
	        .slice = load->observer && load->observer->slice ? on_slice : NULL,
	};
	const struct wt_ledger *ledger = load->ledger;
	int64_t gap_ns = 0;
	struct wt_ledger_row row;
	sqlite3_stmt *s;
	int rc;

	load->device = device;
	load->compute_end_ns = ledger->start_ns;
	load->has_compute = false;
	load->compute_tag = 0;
	load->source.facts = load->facts;
	load->source.clock_error_ns = ledger->clock_error_ns;
	wt_gap_source_forget(&load->source); /* a stream is of one device */
	load->bucket_at = 0;
	memset(&load->bucket_total, 0, sizeof(load->bucket_total));
	device->wall_ns = ledger->end_ns - ledger->start_ns;
	if (device->sms <= 0 || device->sms > WT_SWEEP_SMS_MAX ||
	    wt_sweep_init(&load->sweep, (uint32_t)device->sms, ledger->start_ns, &output))
		return -ERANGE;
	rc = wt_report_prepare(load->db, rows_sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device->device_id);
	rc = sweep_rows(load, s, &row);
	if (!rc)
		rc = wt_ledger_close_buckets(load, ledger->end_ns);
	if (!rc)
		rc = wt_sweep_finish(&load->sweep, ledger->end_ns);
	sqlite3_finalize(s);
	if (rc)
		return rc == -EINVAL ? -ERANGE : rc;
	device->busy_ns = load->sweep.busy_ns;
	device->total_sm_ns = device->wall_ns * device->sms;
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		gap_ns += device->gap_ns[cause];
	device->residual_sm_ns =
	        device->total_sm_ns - wt_measure_sm_ns(&device->share) - gap_ns * device->sms;
	return 0;
}

/* ---- what there is */

static int load_kernels(struct wt_ledger_loading *load)
{
	struct wt_ledger *ledger = load->ledger;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(load->db,
	                           "SELECT kernel_id, name FROM kernel ORDER BY kernel_id", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_ledger_kernel *kernel =
		        wt_report_append(&ledger->kernels, &ledger->kernel_count, sizeof(*kernel));

		rc = kernel ? wt_report_copy_name(s, 1, &kernel->name) : -ENOMEM;
		if (rc)
			break;
		kernel->kernel_id = sqlite3_column_int64(s, 0);
		rc = wt_map_set(&load->kernel_at, (uint64_t)kernel->kernel_id,
		                (uint32_t)ledger->kernel_count - 1);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	if (rc)
		return rc;
	load->is_collective = calloc(ledger->kernel_count + 1, sizeof(*load->is_collective));
	if (!load->is_collective)
		return -ENOMEM;
	for (size_t i = 0; i < ledger->kernel_count; i++)
		load->is_collective[i] = wt_is_collective_kernel(ledger->kernels[i].name);
	return 0;
}

static int load_devices(struct wt_ledger_loading *load)
{
#define DEVICES_SQL                                                                                \
	"SELECT device_id, name, uuid, sm_count, (SELECT total(s.launches)"                        \
	" FROM main.config_stat s JOIN config c USING (config_id)"                                 \
	" WHERE c.device_id = d.device_id) FROM device d WHERE EXISTS"                             \
	" (SELECT 1 FROM %s c WHERE c.device_id = d.device_id) ORDER BY device_id"
	char sql[sizeof(DEVICES_SQL) + 16];
	struct wt_ledger *ledger = load->ledger;
	sqlite3_stmt *s;
	int rc;

	snprintf(sql, sizeof(sql), DEVICES_SQL,
	         ledger->is_samples_alone ? "main.sm_bucket" : "config");
#undef DEVICES_SQL
	rc = wt_report_prepare(load->db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t sms = sqlite3_column_int64(s, 3);
		struct wt_ledger_device *device;

		/* Its SM-time can't be told; that of the others can. */
		if (sms <= 0 || sms > WT_SWEEP_SMS_MAX) {
			ledger->kernels_without_sms += sqlite3_column_int64(s, 4);
			continue;
		}
		device = wt_report_append(&ledger->devices, &ledger->device_count, sizeof(*device));
		rc = device ? wt_report_copy_name(s, 1, &device->name) : -ENOMEM;
		if (!rc)
			rc = wt_report_copy_text(s, 2, &device->uuid);
		if (rc)
			break;
		device->device_id = sqlite3_column_int64(s, 0);
		device->sms = sms;
	}
	sqlite3_finalize(s);
	return rc;
}

/*
 * The clocks are read together once a second; of the second before it is known how fast CUPTI's ran
 * beside CLOCK_REALTIME, and that beside CLOCK_MONOTONIC. How far the next reading is from that: a clock
 * that was set or stepped, by so much. On H200s 25 ns at the most.
 */
#define CLOCK_STEP_SQL                                                                             \
	"(WITH c AS (SELECT process_id, monotonic_ns AS t, realtime_ns - monotonic_ns AS r,"       \
	"   cupti_ns - realtime_ns AS u FROM clock),"                                              \
	"  p AS (SELECT process_id, t, t - lag(t) OVER w AS dt, r - lag(r) OVER w AS dr,"          \
	"   u - lag(u) OVER w AS du FROM c WINDOW w AS (PARTITION BY process_id ORDER BY t)),"     \
	"  q AS (SELECT *, lag(dt) OVER w AS dt1, lag(dr) OVER w AS dr1, lag(du) OVER w AS du1"    \
	"   FROM p WINDOW w AS (PARTITION BY process_id ORDER BY t))"                              \
	" SELECT CAST(max(max(abs(dr - 1.0 * dr1 * dt / dt1)),"                                    \
	"  coalesce(max(abs(du - 1.0 * du1 * dt / dt1)), 0)) AS INTEGER)"                          \
	" FROM q WHERE dt > 500000000 AND dt1 > 500000000)"

/*
 * How far CPU and GPU stamps may be apart. CUPTI converts the GPU's, how well is not documented: a
 * microsecond, until a measurement says better. More, if its clock was read worse, if one of the
 * clocks stepped, or if a kernel is said to have started before it was launched.
 */
static int load_clock_error(struct wt_ledger_loading *load)
{
	static const char sql[] =
	        "SELECT max(?1, coalesce((SELECT max(bracket_ns) FROM clock), 0),"
	        " coalesce(" CLOCK_STEP_SQL ", 0),"
	        " coalesce((SELECT max(l.entry_ns - e.start_ns) FROM kernel_row e"
	        "   JOIN launch_call l ON l.process_id = e.process_id AND l.seq = e.launch_seq"
	        "   WHERE e.graph_id IS NULL AND e.link = 1), 0))";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(load->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, WT_LEDGER_CLOCK_LEAST_NS);
	rc = wt_report_step(s);
	if (rc > 0)
		load->ledger->clock_error_ns = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

static int load_window(struct wt_ledger_loading *load, const struct wt_select *select)
{
	struct wt_report window = {0};
	int rc = wt_report_read_window(load->db, select, &window);

	load->ledger->start_ns = window.start_ns;
	load->ledger->end_ns = window.end_ns;
	load->ledger->select = window.select;
	load->ledger->steps = window.steps;
	load->ledger->is_samples_alone =
	        !rc && wt_db_has_table(load->db, "sm_bucket") &&
	        wt_db_int(load->db,
	                  "SELECT NOT EXISTS (SELECT 1 FROM main.config_stat WHERE launches > 0)"
	                  " AND EXISTS (SELECT 1 FROM main.sm_bucket)",
	                  0);
	return rc;
}

/* From all rows. */
static int load_rows(struct wt_ledger_loading *load, int64_t bucket_ns)
{
	int rc;

	wt_progress_begin(&load->progress, "reading", "kernels",
	                  wt_db_int(load->db, "SELECT total(launches) FROM main.config_stat", 0));
	rc = load_clock_error(load);
	wt_progress_set(&load->progress,
	                0); /* that took its time, and so will the sorting of rows */
	if (!rc)
		rc = load_kernels(load);
	if (!rc)
		rc = wt_ledger_make_buckets(load->ledger, bucket_ns);
	if (!rc)
		rc = wt_facts_load(load->db, load->ledger->clock_error_ns, &load->facts);
	wt_progress_set(&load->progress, 0);
	if (!rc && load->observer && load->observer->begin)
		rc = load->observer->begin(load->observer->arg, load->db, load->ledger);
	for (size_t i = 0; !rc && i < load->ledger->device_count; i++) {
		struct wt_ledger_device *device = &load->ledger->devices[i];

		if (!load->ledger->is_samples_alone) {
			rc = load_device(load, device);
			continue;
		}
		/* What no kernel accounts for is not idle here: nobody knows. */
		device->wall_ns = load->ledger->end_ns - load->ledger->start_ns;
		device->total_sm_ns = device->wall_ns * device->sms;
	}
	wt_progress_end(&load->progress);
	return rc;
}

/* What it may be made from. */
enum source { FROM_ROWS, FROM_EITHER, FROM_SUMS };

/* 1: it is from sums. */
static int load_all(struct wt_ledger_loading *load, const struct wt_select *select,
                    int64_t bucket_ns, enum source source)
{
	int rc = load_window(load, select);

	if (!rc)
		rc = load_devices(load);
	if (!rc)
		rc = wt_measured_load(load->db, &load->measured);
	if (!rc && source != FROM_ROWS && !load->ledger->is_samples_alone)
		rc = wt_ledger_sum_whole(load);
	return rc || source == FROM_SUMS ? rc : load_rows(load, bucket_ns);
}

/* Kernels that the window does not have go. */
static void drop_unused(struct wt_ledger *ledger)
{
	size_t kept = 0;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		if (ledger->kernels[i].launches || ledger->kernels[i].gaps)
			ledger->kernels[kept++] = ledger->kernels[i];
		else
			free(ledger->kernels[i].name);
	}
	ledger->kernel_count = kept;
}

static int load_ledger(sqlite3 *db, const struct wt_select *select, int64_t bucket_ns,
                       enum source source, const struct wt_ledger_observer *observer,
                       struct wt_ledger *ledger)
{
	struct wt_ledger_loading *load = calloc(1, sizeof(*load));
	int rc = -ENOMEM;

	memset(ledger, 0, sizeof(*ledger));
	if (!load)
		return rc;
	load->db = db;
	load->ledger = ledger;
	load->observer = observer;
	/* Of a transaction of its own, or of the one in which a selection was applied. */
	rc = wt_report_note(db, sqlite3_exec(db, "SAVEPOINT ledger", NULL, NULL, NULL));
	if (!rc)
		rc = load_all(load, select, bucket_ns, source);
	if (rc == -EIO)
		snprintf(ledger->problem, sizeof(ledger->problem), "%s", wt_report_problem(db));
	sqlite3_exec(db, "RELEASE ledger", NULL, NULL, NULL);
	if (!rc)
		drop_unused(ledger);
	wt_facts_free(load->facts);
	wt_map_fini(&load->kernel_at);
	wt_map_fini(&load->config_at);
	wt_measured_fini(&load->measured);
	free(load->configs);
	wt_gap_source_fini(&load->source);
	free(load->is_collective);
	free(load);
	return rc;
}

int wt_ledger_load(sqlite3 *db, const struct wt_select *select, struct wt_ledger *ledger)
{
	return load_ledger(db, select, 0, FROM_ROWS, NULL, ledger);
}

int wt_ledger_load_devices(sqlite3 *db, const struct wt_select *select, struct wt_ledger *ledger)
{
	int rc = load_ledger(db, select, 0, FROM_EITHER, NULL, ledger);

	return rc > 0 ? 0 : rc;
}

int wt_ledger_load_summed(sqlite3 *db, const struct wt_select *select, struct wt_ledger *ledger)
{
	return load_ledger(db, select, 0, FROM_SUMS, NULL, ledger);
}

int wt_ledger_load_buckets(sqlite3 *db, const struct wt_select *select, int64_t bucket_ns,
                           struct wt_ledger *ledger)
{
	return load_ledger(db, select, bucket_ns, FROM_ROWS, NULL, ledger);
}

int wt_ledger_load_observed(sqlite3 *db, const struct wt_select *select,
                            const struct wt_ledger_observer *observer, struct wt_ledger *ledger)
{
	return load_ledger(db, select, 0, FROM_ROWS, observer, ledger);
}

void wt_ledger_fini(struct wt_ledger *ledger)
{
	for (size_t i = 0; i < ledger->device_count; i++) {
		free(ledger->devices[i].name);
		free(ledger->devices[i].uuid);
		free(ledger->devices[i].buckets);
	}
	for (size_t i = 0; i < ledger->kernel_count; i++)
		free(ledger->kernels[i].name);
	free(ledger->devices);
	free(ledger->kernels);
	wt_ledger_sums_free(ledger->sums);
	memset(ledger, 0, sizeof(*ledger));
}

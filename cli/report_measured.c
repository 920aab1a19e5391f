/*
 * report_measured.c - see report_measured.h. Single-threaded; blocks on the file.
 */
#include "cli/report_measured.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sql.h"
#include "schema/wt_db.h"

/* Beyond that no sum of a real run comes, and differences of such numbers fit. */
#define SM_NS_MAX (INT64_C(1) << 60)

struct wt_report_pair {
	size_t row;
	int64_t config_id;
	int64_t device_sms;
	struct wt_sweep_share share;
	struct wt_beside beside;
};

int wt_report_measure_init(struct wt_report_measure *measure, sqlite3 *db)
{
	memset(measure, 0, sizeof(*measure));
	measure->is_known = wt_report_has_measured(db);
	return wt_measured_load(db, &measure->measured);
}

void wt_report_measure_fini(struct wt_report_measure *measure)
{
	wt_measured_fini(&measure->measured);
	wt_map_fini(&measure->pair_at);
	free(measure->pairs);
	memset(measure, 0, sizeof(*measure));
}

/* ---- collecting */

static bool is_within(const void *numbers, size_t bytes)
{
	const int64_t *at = numbers;

	for (size_t i = 0; i < bytes / sizeof(*at); i++)
		if (at[i] > SM_NS_MAX || at[i] < -SM_NS_MAX)
			return false;
	return true;
}

static struct wt_report_pair *find_pair(struct wt_report_measure *measure, size_t at,
                                        const struct wt_report_config *config)
{
	uint64_t key = (uint64_t)at << 32 | (uint32_t)config->config_id;
	uint32_t found = wt_map_get(&measure->pair_at, key);
	struct wt_report_pair *pair;

	if (found != WT_MAP_NONE)
		return &measure->pairs[found];
	pair = wt_report_append(&measure->pairs, &measure->count, sizeof(*pair));
	if (!pair || wt_map_set(&measure->pair_at, key, (uint32_t)measure->count - 1))
		return NULL;
	pair->row = at;
	pair->config_id = config->config_id;
	pair->device_sms = config->device_sms;
	return pair;
}

int wt_report_measure_add(struct wt_report_measure *measure, size_t at,
                          const struct wt_report_config *config, const struct wt_sweep_share *model,
                          const struct wt_beside *beside)
{
	struct wt_report_pair *pair;

	if (config->device_sms <= 0 || config->device_sms > WT_SWEEP_SMS_MAX ||
	    !is_within(model, sizeof(*model)) || !is_within(beside, sizeof(*beside)))
		return 0;
	pair = find_pair(measure, at, config);
	if (!pair)
		return -ENOMEM;
	if (!is_within(&pair->share, sizeof(pair->share)) ||
	    !is_within(&pair->beside, sizeof(pair->beside)))
		return 0;
	wt_sweep_share_add(&pair->share, model);
	pair->beside.time_ns += beside->time_ns;
	pair->beside.active_sm_ns += beside->active_sm_ns;
	pair->beside.underfill_sm_ns += beside->underfill_sm_ns;
	pair->beside.wave_sm_ns += beside->wave_sm_ns;
	pair->beside.wave_max_sm_ns += beside->wave_max_sm_ns;
	pair->beside.unjudged_sm_ns += beside->unjudged_sm_ns;
	return 0;
}

/* Columns of rollups_sql. */
enum {
	COLUMN_PROCESS,
	COLUMN_CONFIG,
	COLUMN_TIME,
	COLUMN_UNDERFILL,
	COLUMN_WAVE,
	COLUMN_WAVE_MAX,
	COLUMN_UNJUDGED,
	COLUMN_COMM,
	COLUMN_BESIDE, /* six */
	COLUMN_COUNT = COLUMN_BESIDE + 6,
};

static const char rollups_sql[] =
        "SELECT process_id, config_id, time_ns, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns,"
        " unjudged_sm_ns, comm_sm_ns, beside_ns, beside_active_sm_ns, beside_underfill_sm_ns,"
        " beside_wave_sm_ns, beside_wave_max_sm_ns, beside_unjudged_sm_ns FROM config_stat"
        " WHERE launches > 0";

/* False: numbers that can't be. */
static bool read_rollup(sqlite3_stmt *s, int64_t device_sms, struct wt_sweep_share *share,
                        struct wt_beside *beside)
{
	int64_t n[COLUMN_COUNT];

	for (int i = 0; i < COLUMN_COUNT; i++)
		n[i] = sqlite3_column_int64(s, i);
	if (!is_within(n + COLUMN_TIME, sizeof(n) - COLUMN_TIME * sizeof(n[0])) ||
	    n[COLUMN_TIME] < n[COLUMN_BESIDE] || n[COLUMN_BESIDE] < 0 ||
	    n[COLUMN_TIME] > SM_NS_MAX / WT_SWEEP_SMS_MAX)
		return false;
	*beside = (struct wt_beside){
	        .time_ns = n[COLUMN_BESIDE],
	        .active_sm_ns = n[COLUMN_BESIDE + 1],
	        .underfill_sm_ns = n[COLUMN_BESIDE + 2],
	        .wave_sm_ns = n[COLUMN_BESIDE + 3],
	        .wave_max_sm_ns = n[COLUMN_BESIDE + 4],
	        .unjudged_sm_ns = n[COLUMN_BESIDE + 5],
	};
	*share = (struct wt_sweep_share){
	        .alone_ns = n[COLUMN_TIME] - beside->time_ns,
	        .alone_wave_sm_ns = n[COLUMN_WAVE] - beside->wave_sm_ns,
	        .alone_wave_max_sm_ns = n[COLUMN_WAVE_MAX] - beside->wave_max_sm_ns,
	        .underfill_sm_ns = n[COLUMN_UNDERFILL],
	        .wave_sm_ns = n[COLUMN_WAVE],
	        .wave_max_sm_ns = n[COLUMN_WAVE_MAX],
	        .unjudged_sm_ns = n[COLUMN_UNJUDGED],
	        .comm_sm_ns = n[COLUMN_COMM],
	};
	/* What is not idle of the time alone, and what was active beside others. */
	share->active_sm_ns = device_sms * share->alone_ns - share->alone_wave_sm_ns -
	                      (share->underfill_sm_ns - beside->underfill_sm_ns) -
	                      (share->unjudged_sm_ns - beside->unjudged_sm_ns) +
	                      beside->active_sm_ns;
	return true;
}

int wt_report_measure_rollups(struct wt_report_measure *measure, sqlite3 *db,
                              struct wt_report_key *key)
{
	sqlite3_stmt *s;
	int rc;

	if (!measure->is_known)
		return 0;
	rc = wt_report_prepare(db, rollups_sql, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		const struct wt_report_exec exec = {
		        .process_id = sqlite3_column_int64(s, COLUMN_PROCESS),
		        .config_id = sqlite3_column_int64(s, COLUMN_CONFIG)};
		const struct wt_report_config *config = wt_report_key_config(key, exec.config_id);
		struct wt_sweep_share share;
		struct wt_beside beside;
		size_t at;
		int found;

		if (!config || config->device_sms > WT_SWEEP_SMS_MAX ||
		    !read_rollup(s, config->device_sms, &share, &beside))
			continue;
		found = wt_report_key_find(key, &exec, NULL, &at);
		if (found == -ENOENT)
			continue;
		rc = found ? found : wt_report_measure_add(measure, at, config, &share, &beside);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- into rows */

/* Sums that stay at the greatest number: a damaged file may have any. */
static void add_shares(struct wt_sweep_share *sum, const struct wt_sweep_share *share)
{
	int64_t *to = (int64_t *)sum;
	const int64_t *from = (const int64_t *)share;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		wt_report_add(&to[i], from[i]);
}

static void add_mean(struct wt_report_mean *mean, double value, double time_ns)
{
	if (value < 0)
		return;
	mean->sum += value * time_ns;
	mean->time_ns += time_ns;
}

static void note_measured(struct wt_report_row *row, const struct wt_measured_config *config,
                          int64_t alone_ns)
{
	double time_ns = (double)alone_ns;

	row->disagrees = row->disagrees || config->disagrees;
	if (config->bound != WT_BOUND_UNKNOWN)
		row->bounds |= 1u << config->bound;
	else if (!row->bound_reason[0])
		snprintf(row->bound_reason, sizeof(row->bound_reason), "%s", config->bound_reason);
	add_mean(&row->warps_sum, config->warps_per_sm, time_ns);
	if (config->max_warps > 0)
		add_mean(&row->warps_share_sum, config->warps_per_sm / config->max_warps, time_ns);
	add_mean(&row->tensor_sum, config->tensor_share, time_ns);
	add_mean(&row->dram_sum, config->dram_share, time_ns);
	add_mean(&row->issue_sum, config->issue_share, time_ns);
	if (config->measure.evidence == WT_EVIDENCE_MODEL)
		return;
	row->has_wave = true;
	row->error_sum_sm_ns += config->error_sms * time_ns;
}

static void change_row(struct wt_report_row *row, const struct wt_report_pair *pair,
                       const struct wt_sweep_share *known,
                       const struct wt_sweep_share measured[WT_EVIDENCE_MAX])
{
	struct wt_sweep_share more = wt_sweep_share_difference(known, &pair->share);
	double sms = (double)pair->device_sms;

	wt_report_add(&row->active_sm_ns, known->active_sm_ns);
	wt_report_add(&row->underfill_sm_ns, more.underfill_sm_ns);
	wt_report_add(&row->wave_sm_ns, more.wave_sm_ns);
	wt_report_add(&row->wave_max_sm_ns, more.wave_max_sm_ns);
	wt_report_add(&row->unjudged_sm_ns, more.unjudged_sm_ns);
	wt_report_add(&row->straggle_sm_ns, known->straggle_sm_ns);
	wt_report_add(&row->ramp_sm_ns, known->ramp_sm_ns);
	row->underfill_gpu_ns += (double)more.underfill_sm_ns / sms;
	row->wave_gpu_ns += (double)more.wave_sm_ns / sms;
	row->wave_max_gpu_ns += (double)more.wave_max_sm_ns / sms;
	row->unjudged_gpu_ns += (double)more.unjudged_sm_ns / sms;
	row->straggle_gpu_ns += (double)known->straggle_sm_ns / sms;
	row->ramp_gpu_ns += (double)known->ramp_sm_ns / sms;
	for (int i = 0; i < WT_EVIDENCE_MAX; i++) {
		add_shares(&row->measured[i], &measured[i]);
		row->has_measured = row->has_measured || wt_measure_sm_ns(&measured[i]) > 0;
	}
}

static int by_config(const void *a, const void *b)
{
	const struct wt_report_pair *x = a, *y = b;

	if (x->config_id != y->config_id)
		return x->config_id < y->config_id ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

void wt_report_measure_apply(struct wt_report_measure *measure, struct wt_report *report)
{
	wt_measured_restart(&measure->measured);
	if (measure->count)
		qsort(measure->pairs, measure->count, sizeof(*measure->pairs), by_config);
	for (size_t i = 0; i < measure->count; i++) {
		const struct wt_report_pair *pair = &measure->pairs[i];
		struct wt_measured_config *config =
		        wt_measured_find(&measure->measured, pair->config_id);
		struct wt_sweep_share known = pair->share, measured[WT_EVIDENCE_MAX] = {0};

		if (!is_within(&known, sizeof(known)) ||
		    known.alone_ns > SM_NS_MAX / WT_SWEEP_SMS_MAX)
			continue;
		if (config) {
			wt_measure_apply(&config->measure, &pair->beside, &known, measured);
			note_measured(&report->rows[pair->row], config, pair->share.alone_ns);
			note_measured(&report->total, config, pair->share.alone_ns);
		}
		change_row(&report->rows[pair->row], pair, &known, measured);
		change_row(&report->total, pair, &known, measured);
	}
}

static double mean_of(const struct wt_report_mean *mean)
{
	return mean->time_ns > 0 ? mean->sum / mean->time_ns : -1;
}

void wt_report_measure_finish(struct wt_report_row *row)
{
	row->tail_idle_sm_ns = row->wave_sm_ns;
	wt_report_add(&row->tail_idle_sm_ns, row->straggle_sm_ns);
	row->idle_sm_ns = row->underfill_sm_ns;
	wt_report_add(&row->idle_sm_ns, row->tail_idle_sm_ns);
	wt_report_add(&row->idle_sm_ns, row->ramp_sm_ns);
	row->idle_gpu_ns =
	        row->underfill_gpu_ns + row->wave_gpu_ns + row->straggle_gpu_ns + row->ramp_gpu_ns;
	row->error_sm_ns = -1;
	if (row->error_sum_sm_ns > 0)
		row->error_sm_ns =
		        row->error_sum_sm_ns < 9e18 ? (int64_t)row->error_sum_sm_ns : INT64_MAX;
	row->warps_per_sm = mean_of(&row->warps_sum);
	row->warps_share = mean_of(&row->warps_share_sum);
	row->tensor_share = mean_of(&row->tensor_sum);
	row->dram_share = mean_of(&row->dram_sum);
	row->issue_share = mean_of(&row->issue_sum);
	row->bound = WT_BOUND_UNKNOWN;
	for (int i = WT_BOUND_COMPUTE; i <= WT_BOUND_LATENCY; i++)
		if (row->bounds == 1u << i)
			row->bound = (enum wt_bound)i;
	if (row->bounds && !row->bound)
		snprintf(row->bound_reason, sizeof(row->bound_reason),
		         "several: not all of it is bound by the same");
}

static void sum_mean(struct wt_report_mean *sum, const struct wt_report_mean *mean)
{
	sum->sum += mean->sum;
	sum->time_ns += mean->time_ns;
}

void wt_report_measure_sum(struct wt_report_row *sum, const struct wt_report_row *row)
{
	wt_report_add(&sum->active_sm_ns, row->active_sm_ns);
	wt_report_add(&sum->straggle_sm_ns, row->straggle_sm_ns);
	wt_report_add(&sum->ramp_sm_ns, row->ramp_sm_ns);
	sum->straggle_gpu_ns += row->straggle_gpu_ns;
	sum->ramp_gpu_ns += row->ramp_gpu_ns;
	for (int i = 0; i < WT_EVIDENCE_MAX; i++)
		add_shares(&sum->measured[i], &row->measured[i]);
	sum->has_measured = sum->has_measured || row->has_measured;
	sum->disagrees = sum->disagrees || row->disagrees;
	sum->bounds |= row->bounds;
	if (!sum->bound_reason[0])
		memcpy(sum->bound_reason, row->bound_reason, sizeof(sum->bound_reason));
	sum->error_sum_sm_ns += row->error_sum_sm_ns;
	sum_mean(&sum->warps_sum, &row->warps_sum);
	sum_mean(&sum->warps_share_sum, &row->warps_share_sum);
	sum_mean(&sum->tensor_sum, &row->tensor_sum);
	sum_mean(&sum->dram_sum, &row->dram_sum);
	sum_mean(&sum->issue_sum, &row->issue_sum);
}

/* ---- what a number rests on */

int64_t wt_report_row_sm_ns(const struct wt_report_row *row,
                            int64_t ret_parts_sm_ns[WT_EVIDENCE_MAX])
{
	const int64_t parts[] = {row->active_sm_ns, row->idle_sm_ns, row->unjudged_sm_ns,
	                         row->comm_sm_ns};
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		wt_report_add(&sum, parts[i]);
	for (int i = 0; i < WT_EVIDENCE_MAX; i++) {
		const struct wt_sweep_share *m = &row->measured[i];
		const int64_t of[] = {m->active_sm_ns,   m->underfill_sm_ns, m->wave_sm_ns,
		                      m->straggle_sm_ns, m->ramp_sm_ns,      m->unjudged_sm_ns};

		ret_parts_sm_ns[i] = 0;
		for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++)
			wt_report_add(&ret_parts_sm_ns[i], of[k]);
	}
	return sum;
}

/* A number of 0 rests on what all of the row does. */
static const char *word_of(const struct wt_report_row *row, int64_t sm_ns,
                           int64_t parts_sm_ns[WT_EVIDENCE_MAX])
{
	if (!sm_ns)
		sm_ns = wt_report_row_sm_ns(row, parts_sm_ns);
	return wt_measured_word(sm_ns, parts_sm_ns);
}

const char *wt_report_row_evidence(const struct wt_report_row *row, int64_t sm_ns, size_t offset)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX];

	for (int i = 0; i < WT_EVIDENCE_MAX; i++)
		parts_sm_ns[i] = *(const int64_t *)((const char *)&row->measured[i] + offset);
	return word_of(row, sm_ns, parts_sm_ns);
}

const char *wt_report_row_idle_evidence(const struct wt_report_row *row, bool is_tail)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX];

	for (int i = 0; i < WT_EVIDENCE_MAX; i++) {
		const struct wt_sweep_share *share = &row->measured[i];

		parts_sm_ns[i] = share->wave_sm_ns;
		wt_report_add(&parts_sm_ns[i], share->straggle_sm_ns);
		if (!is_tail) {
			wt_report_add(&parts_sm_ns[i], share->underfill_sm_ns);
			wt_report_add(&parts_sm_ns[i], share->ramp_sm_ns);
		}
	}
	return word_of(row, is_tail ? row->tail_idle_sm_ns : row->idle_sm_ns, parts_sm_ns);
}

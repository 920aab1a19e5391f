/*
 * measured.c - see measured.h. Single-threaded; blocks on the file.
 */
#include "cli/bounds.h"
#include "cli/measured.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sql.h"
#include "schema/wt_db.h"

static enum wt_evidence evidence_of(const char *name)
{
	for (int i = WT_EVIDENCE_SAMPLED; name && i < WT_EVIDENCE_MAX; i++)
		if (!strcmp(name, wt_evidence_name((enum wt_evidence)i)))
			return (enum wt_evidence)i;
	return WT_EVIDENCE_MODEL;
}

static enum wt_bound bound_of(const char *name)
{
	for (int i = WT_BOUND_COMPUTE; name && i <= WT_BOUND_LATENCY; i++)
		if (!strcmp(name, wt_bound_name((enum wt_bound)i)))
			return (enum wt_bound)i;
	return WT_BOUND_UNKNOWN;
}

static double number(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? -1
	                                                     : sqlite3_column_double(s, column);
}

/* Columns of rows_sql. */
enum {
	COLUMN_CONFIG,
	COLUMN_USED,
	COLUMN_EVIDENCE,
	COLUMN_SMS,
	COLUMN_RATES, /* five */
	COLUMN_ERROR = COLUMN_RATES + 5,
	COLUMN_WARPS,
	COLUMN_TENSOR,
	COLUMN_DRAM,
	COLUMN_BOUND,
	COLUMN_DISAGREES,
	COLUMN_JOINT,
	COLUMN_MAX_THREADS,
	COLUMN_WARP_SIZE,
	COLUMN_MEM_CLOCK,
	COLUMN_MEM_BUS,
	COLUMN_CLASS_WAVE,
	COLUMN_ISSUE,
	COLUMN_BOUND_REASON,
};

/* What files of version 3 had in place of the last three. */
#define CLASS_SQL                                                                                  \
	" iif(c.model_reason IS NULL, m.class_wave_sms, NULL), m.issue_share, m.bound_reason,"
#define CLASS_SQL_V3                                                                               \
	" iif(m.wave_form IS NOT NULL AND c.model_reason IS NULL, m.wave_sms, NULL), NULL, NULL,"

/* Of several rows the one that is used, else what was sampled: as in config_idle. */
static const char rows_sql[] =
        "SELECT m.config_id, m.is_used, m.evidence, g.sm_count, m.underfill_sms, m.wave_sms,"
        " m.wave_max_sms, m.straggle_sms, m.ramp_sms, m.active_error_sms, m.warps_per_sm,"
        " m.tensor_share, m.dram_bytes_per_ns, m.bound, m.disagrees,"
        " (SELECT j.joint_active_sms / g.sm_count FROM main.measured j"
        "  WHERE j.config_id = m.config_id AND j.evidence = 'sampled'"
        "  AND j.joint_active_sms BETWEEN 0 AND g.sm_count"
        "  AND j.joint_error_sms <= 0.03 * g.sm_count),"
        " g.max_threads_per_sm, g.warp_size, g.mem_clock_khz, g.mem_bus_bits,%s"
        " max(2 * m.is_used + (m.evidence = 'sampled'))"
        " FROM main.measured m JOIN main.config c USING (config_id)"
        " JOIN main.gpu g USING (device_id)"
        " WHERE g.sm_count BETWEEN 1 AND 65535 AND (m.is_used = 0 OR"
        "  min(m.underfill_sms, m.wave_sms, m.wave_max_sms, m.straggle_sms, m.ramp_sms) >= 0"
        "  AND max(m.wave_max_sms, m.underfill_sms + m.wave_sms + m.straggle_sms + m.ramp_sms)"
        "   <= g.sm_count + 1e-6) GROUP BY m.config_id";

static void read_measure(sqlite3_stmt *s, struct wt_measure *measure)
{
	bool is_used = sqlite3_column_int(s, COLUMN_USED) == 1;
	double joint_share = number(s, COLUMN_JOINT);

	*measure = (struct wt_measure){
	        .device_sms = sqlite3_column_int(s, COLUMN_SMS),
	        .underfill_sms = sqlite3_column_double(s, COLUMN_RATES),
	        .wave_sms = sqlite3_column_double(s, COLUMN_RATES + 1),
	        .wave_max_sms = sqlite3_column_double(s, COLUMN_RATES + 2),
	        .straggle_sms = sqlite3_column_double(s, COLUMN_RATES + 3),
	        .ramp_sms = sqlite3_column_double(s, COLUMN_RATES + 4),
	        .is_joint = joint_share >= 0,
	        .joint_share = joint_share >= 0 ? joint_share : 0,
	};
	if (is_used)
		measure->evidence =
		        evidence_of((const char *)sqlite3_column_text(s, COLUMN_EVIDENCE));
	measure->has_class_wave = !is_used && number(s, COLUMN_CLASS_WAVE) >= 0;
	if (measure->has_class_wave)
		*measure = (struct wt_measure){
		        .device_sms = measure->device_sms,
		        .has_class_wave = true,
		        .wave_sms = number(s, COLUMN_CLASS_WAVE),
		        .is_joint = measure->is_joint,
		        .joint_share = measure->joint_share,
		};
}

static bool is_within(double value, double max)
{
	return value == -1 || (value >= 0 && value <= max);
}

/* Numbers of a damaged file may be anything: rows with such are left out, as `show` and `check` tell. */
static bool is_sound(const struct wt_measured_config *config, double dram_bytes_per_ns)
{
	return wt_measure_is_valid(&config->measure) &&
	       is_within(config->error_sms, (double)config->measure.device_sms * WT_BOUND_ERRORS) &&
	       is_within(config->warps_per_sm, WT_BOUND_WARPS_PER_SM) &&
	       is_within(config->tensor_share, WT_BOUND_SHARE) &&
	       is_within(config->issue_share, WT_BOUND_SHARE) &&
	       is_within(dram_bytes_per_ns, WT_BOUND_DRAM_BYTES_PER_NS);
}

/* False: numbers that can't be. */
static bool read_config(sqlite3_stmt *s, struct wt_measured_config *config)
{
	double peak = wt_evidence_dram_peak(sqlite3_column_int64(s, COLUMN_MEM_CLOCK),
	                                    sqlite3_column_int64(s, COLUMN_MEM_BUS));
	double dram = number(s, COLUMN_DRAM);
	int64_t warp_size = sqlite3_column_int64(s, COLUMN_WARP_SIZE);

	config->config_id = sqlite3_column_int64(s, COLUMN_CONFIG);
	read_measure(s, &config->measure);
	config->error_sms = number(s, COLUMN_ERROR);
	config->warps_per_sm = number(s, COLUMN_WARPS);
	config->tensor_share = number(s, COLUMN_TENSOR);
	config->issue_share = number(s, COLUMN_ISSUE);
	snprintf(config->bound_reason, sizeof(config->bound_reason), "%s",
	         sqlite3_column_type(s, COLUMN_BOUND_REASON) == SQLITE_NULL
	                 ? ""
	                 : (const char *)sqlite3_column_text(s, COLUMN_BOUND_REASON));
	config->dram_share = dram >= 0 && peak > 0 ? dram / peak : -1;
	config->max_warps = warp_size > 0 ? (double)sqlite3_column_int64(s, COLUMN_MAX_THREADS) /
	                                            (double)warp_size
	                                  : 0;
	config->bound = bound_of((const char *)sqlite3_column_text(s, COLUMN_BOUND));
	config->disagrees = sqlite3_column_int(s, COLUMN_DISAGREES) != 0;
	return is_sound(config, dram);
}

static int load_rows(sqlite3 *db, struct wt_measured *measured)
{
	char sql[sizeof(rows_sql) + sizeof(CLASS_SQL_V3) + sizeof(CLASS_SQL)];
	sqlite3_stmt *s;
	int rc;

	snprintf(sql, sizeof(sql), rows_sql, wt_report_has_classes(db) ? CLASS_SQL : CLASS_SQL_V3);
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_measured_config config;

		struct wt_measured_config *place;

		if (!read_config(s, &config))
			continue;
		place = wt_report_append(&measured->configs, &measured->count, sizeof(*place));
		rc = place ? wt_map_set(&measured->config_at, (uint64_t)config.config_id,
		                        (uint32_t)measured->count - 1)
		           : -ENOMEM;
		if (rc)
			break;
		*place = config;
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_measured_load(sqlite3 *db, struct wt_measured *measured)
{
	memset(measured, 0, sizeof(*measured));
	return wt_report_has_measured(db) ? load_rows(db, measured) : 0;
}

void wt_measured_fini(struct wt_measured *measured)
{
	free(measured->configs);
	wt_map_fini(&measured->config_at);
	memset(measured, 0, sizeof(*measured));
}

struct wt_measured_config *wt_measured_find(const struct wt_measured *measured, int64_t config_id)
{
	uint32_t at = wt_map_get(&measured->config_at, (uint64_t)config_id);

	return at == WT_MAP_NONE ? NULL : &measured->configs[at];
}

void wt_measured_restart(struct wt_measured *measured)
{
	for (size_t i = 0; i < measured->count; i++)
		measured->configs[i].measure.alone_ns =
		        measured->configs[i].measure.beside_unjudged_sm_ns = 0;
}

/* ---- words */

const char *wt_measured_word(int64_t whole_sm_ns, const int64_t parts_sm_ns[WT_EVIDENCE_MAX])
{
	int64_t sampled = parts_sm_ns[WT_EVIDENCE_SAMPLED];
	int64_t profiled = parts_sm_ns[WT_EVIDENCE_PROFILED];

	if (!sampled && !profiled)
		return wt_evidence_name(WT_EVIDENCE_MODEL);
	if (sampled == whole_sm_ns && !profiled)
		return wt_evidence_name(WT_EVIDENCE_SAMPLED);
	if (profiled == whole_sm_ns && !sampled)
		return wt_evidence_name(WT_EVIDENCE_PROFILED);
	return "mixed";
}

/* 99.96 is not all of it. */
static int percent(int64_t part, int64_t whole)
{
	int rounded = (int)nearbyint(100.0 * (double)part / (double)whole);

	if (part < whole && rounded > 99)
		return 99;
	return part > 0 && rounded < 1 ? 1 : rounded;
}

const char *wt_measured_text(char text[WT_MEASURED_TEXT_BYTES], int64_t whole_sm_ns,
                             const int64_t parts_sm_ns[WT_EVIDENCE_MAX])
{
	const char *word = wt_measured_word(whole_sm_ns, parts_sm_ns);
	size_t used = 0;

	if (strcmp(word, "mixed") != 0 || whole_sm_ns <= 0)
		return word;
	text[0] = '\0';
	for (int i = WT_EVIDENCE_SAMPLED; i < WT_EVIDENCE_MAX; i++)
		if (parts_sm_ns[i] > 0 && used < WT_MEASURED_TEXT_BYTES)
			used += (size_t)snprintf(text + used, WT_MEASURED_TEXT_BYTES - used,
			                         "%s%s %d%%", used ? ", " : "",
			                         wt_evidence_name((enum wt_evidence)i),
			                         percent(parts_sm_ns[i], whole_sm_ns));
	return text;
}

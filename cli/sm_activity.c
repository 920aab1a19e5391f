/*
 * sm_activity.c - see sm_activity.h: reading samples and summing them. Single-threaded; blocks on the
 * file.
 */
#include <errno.h>
#include <math.h>

#include "cli/measured.h"
#include "cli/report_sql.h"
#include "cli/sm_activity.h"

static double number(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN
	                                                     : sqlite3_column_double(s, column);
}

/* Kernel clock less sample clock; 0 where they were not aligned: a fraction of a bucket. */
static int64_t clock_offset_ns(sqlite3 *db, int64_t device_id)
{
	sqlite3_stmt *s;
	double offset_ns = 0;

	if (!wt_run_has_table(db, "fold") ||
	    wt_report_prepare(db, "SELECT offset_ns FROM fold WHERE device_id = ?1", &s))
		return 0;
	sqlite3_bind_int64(s, 1, device_id);
	if (wt_report_step(s) > 0)
		offset_ns = sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	return fabs(offset_ns) < 1e9 ? (int64_t)llround(offset_ns) : 0;
}

/* Its part in [start_ns, end_ns). */
static struct wt_sm_piece cut(const struct wt_sm_piece *piece, int64_t start_ns, int64_t end_ns)
{
	struct wt_sm_piece part = *piece;
	double share;

	if (part.start_ns < start_ns)
		part.start_ns = start_ns;
	if (part.end_ns > end_ns)
		part.end_ns = end_ns;
	share = (double)(part.end_ns - part.start_ns) / (double)(piece->end_ns - piece->start_ns);
	part.sampled_ns *= share;
	part.dram_bytes *= share;
	return part;
}

static bool read_bucket(sqlite3_stmt *s, int64_t offset_ns, struct wt_sm_piece *piece)
{
	*piece = (struct wt_sm_piece){.start_ns = sqlite3_column_int64(s, 0) + offset_ns,
	                              .end_ns = sqlite3_column_int64(s, 1) + offset_ns,
	                              .sampled_ns = sqlite3_column_double(s, 2),
	                              .active_avg = sqlite3_column_double(s, 3),
	                              .active_min = sqlite3_column_double(s, 4),
	                              .active_max = sqlite3_column_double(s, 5),
	                              .warps_per_sm = number(s, 6),
	                              .tensor_share = number(s, 7),
	                              .sm_clock_mhz = number(s, 8),
	                              .dram_bytes = number(s, 9)};
	return piece->end_ns > piece->start_ns && piece->sampled_ns > 0;
}

int wt_sm_activity_read(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                        wt_sm_piece_fn *each, void *arg)
{
	static const char sql[] =
	        "SELECT start_ns, end_ns, sampled_ns, active_avg, active_min, active_max,"
	        " warps_per_sm, tensor_share, sm_clock_mhz, dram_read_bytes + dram_write_bytes"
	        " FROM sm_bucket WHERE device_id = ?1 AND start_ns < ?3 AND end_ns > ?2"
	        " ORDER BY start_ns";
	int64_t offset_ns = clock_offset_ns(db, device_id);
	struct wt_sm_piece piece, part;
	sqlite3_stmt *s;
	int rc;

	if (!wt_run_has_table(db, "sm_bucket"))
		return 0;
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int64(s, 2, start_ns - offset_ns);
	sqlite3_bind_int64(s, 3, end_ns - offset_ns);
	while ((rc = wt_report_step(s)) > 0) {
		if (!read_bucket(s, offset_ns, &piece))
			continue;
		part = cut(&piece, start_ns, end_ns);
		rc = part.end_ns > part.start_ns ? each(arg, &part) : 0;
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- sums */

/* value x time, where the value is known. */
static void add_known(double *sum, double *known_ns, double value, double ns)
{
	if (!isfinite(value))
		return;
	*sum += value * ns;
	*known_ns += ns;
}

void wt_sm_sum_add(struct wt_sm_sum *sum, const struct wt_sm_piece *piece)
{
	double ns = piece->sampled_ns;

	sum->sampled_ns += ns;
	sum->active_ns += piece->active_avg * ns;
	sum->min_ns += piece->active_min * ns;
	sum->max_ns += piece->active_max * ns;
	add_known(&sum->warps_ns, &sum->warps_known_ns, piece->warps_per_sm, ns);
	add_known(&sum->tensor_ns, &sum->tensor_known_ns, piece->tensor_share, ns);
	add_known(&sum->clock_ns, &sum->clock_known_ns, piece->sm_clock_mhz, ns);
	if (isfinite(piece->dram_bytes)) {
		sum->dram_bytes += piece->dram_bytes;
		sum->dram_known_ns += ns;
	}
}

void wt_sm_sum_mean(const struct wt_sm_sum *sum, struct wt_sm_piece *ret_mean)
{
	/* 0 / 0 is what "not known" is. */
	*ret_mean =
	        (struct wt_sm_piece){.sampled_ns = sum->sampled_ns,
	                             .active_avg = sum->active_ns / sum->sampled_ns,
	                             .active_min = sum->min_ns / sum->sampled_ns,
	                             .active_max = sum->max_ns / sum->sampled_ns,
	                             .warps_per_sm = sum->warps_ns / sum->warps_known_ns,
	                             .tensor_share = sum->tensor_ns / sum->tensor_known_ns,
	                             .sm_clock_mhz = sum->clock_ns / sum->clock_known_ns,
	                             .dram_bytes = sum->dram_known_ns > 0 ? sum->dram_bytes : NAN};
}

struct buckets {
	int64_t start_ns, bucket_ns;
	size_t count;
	struct wt_sm_sum *sums;
};

static int add_piece(void *arg, const struct wt_sm_piece *piece)
{
	const struct buckets *buckets = arg;
	size_t at = (size_t)((piece->start_ns - buckets->start_ns) / buckets->bucket_ns);

	for (; at < buckets->count; at++) {
		int64_t low_ns = buckets->start_ns + (int64_t)at * buckets->bucket_ns;
		struct wt_sm_piece part;

		if (low_ns >= piece->end_ns)
			break;
		part = cut(piece, low_ns, low_ns + buckets->bucket_ns);
		wt_sm_sum_add(&buckets->sums[at], &part);
	}
	return 0;
}

int wt_sm_activity_buckets(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                           int64_t bucket_ns, size_t bucket_count, struct wt_sm_sum *sums)
{
	struct buckets buckets = {start_ns, bucket_ns, bucket_count, sums};

	return wt_sm_activity_read(db, device_id, start_ns, end_ns, add_piece, &buckets);
}

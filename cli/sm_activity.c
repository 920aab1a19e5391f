/*
 * sm_activity.c - see sm_activity.h: reading samples and summing them. Single-threaded; blocks on the
 * file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/bounds.h"
#include "cli/cli.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "cli/sm_activity.h"
#include "schema/wt_samples.h"
#include "schema/wt_db.h"

/* Of a damaged file: not known. */
static double within(double value, double max)
{
	return value >= 0 && value <= max ? value : NAN;
}

static double number(sqlite3_stmt *s, int column, double max)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL
	               ? NAN
	               : within(sqlite3_column_double(s, column), max);
}

/* Kernel clock less sample clock; 0 where they were not aligned: a fraction of a bucket. */
static int64_t clock_offset_ns(sqlite3 *db, int64_t device_id)
{
	sqlite3_stmt *s;
	double offset_ns = 0;

	if (!wt_db_has_table(db, "fold") ||
	    wt_report_prepare(db, "SELECT offset_ns FROM fold WHERE device_id = ?1", &s))
		return 0;
	sqlite3_bind_int64(s, 1, device_id);
	if (wt_report_step(s) > 0)
		offset_ns = sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	return fabs(offset_ns) < 1e9 ? (int64_t)llround(offset_ns) : 0;
}

struct wt_sm_piece wt_sm_piece_cut(const struct wt_sm_piece *piece, int64_t start_ns,
                                   int64_t end_ns)
{
	struct wt_sm_piece part = *piece;
	double share;

	if (part.start_ns < start_ns)
		part.start_ns = start_ns;
	if (part.end_ns > end_ns)
		part.end_ns = end_ns;
	share = (double)(part.end_ns - part.start_ns) / (double)(piece->end_ns - piece->start_ns);
	part.sampled_ns *= share;
	part.busy_ns *= share;
	part.extremes_ns *= share;
	part.dram_bytes *= share;
	return part;
}

struct request {
	int64_t device_id, start_ns, end_ns; /* the kernels' clock */
	int64_t offset_ns; /* kernel clock less sample clock */
	wt_sm_piece_fn *each;
	void *arg;
};

/* With the device and the window by the samples' clock as ?1 to ?3. 0 or -EIO. */
static int prepare(sqlite3 *db, const char *sql, const struct request *request, sqlite3_stmt **ret)
{
	int rc = wt_report_prepare(db, sql, ret);

	if (rc)
		return rc;
	sqlite3_bind_int64(*ret, 1, request->device_id);
	sqlite3_bind_int64(*ret, 2, request->start_ns - request->offset_ns);
	sqlite3_bind_int64(*ret, 3, request->end_ns - request->offset_ns);
	return 0;
}

/* What of it lies in the window. */
static int give(const struct request *request, const struct wt_sm_piece *piece)
{
	struct wt_sm_piece part;

	if (piece->end_ns <= request->start_ns || piece->start_ns >= request->end_ns)
		return 0;
	part = wt_sm_piece_cut(piece, request->start_ns, request->end_ns);
	return request->each(request->arg, &part);
}

/* ---- buckets */

/* A damaged file may say anything: neither a sample nor a bucket is as long as an hour. */
#define PIECE_NS_MAX 3.6e12
#define BUCKET_NS 20e6 /* somewhat longer than one is */

static int64_t moved(int64_t ns, int64_t offset_ns)
{
	return (int64_t)((uint64_t)ns + (uint64_t)offset_ns);
}

/* Means of the least and most active SM, where the daemon summed them: not before version 4. */
static void read_extremes(sqlite3_stmt *s, struct wt_sm_piece *piece)
{
	double busy_ns = number(s, 8, piece->sampled_ns), extremes_ns = number(s, 9, busy_ns);

	piece->busy_ns = piece->active_avg > 0 ? piece->sampled_ns : 0;
	piece->active_min = piece->active_max = NAN;
	if (isnan(busy_ns) || isnan(extremes_ns))
		return;
	piece->busy_ns = busy_ns;
	piece->extremes_ns = extremes_ns;
	piece->active_min = number(s, 10, WT_BOUND_SHARE * extremes_ns) / extremes_ns;
	piece->active_max = number(s, 11, WT_BOUND_SHARE * extremes_ns) / extremes_ns;
}

/* False: not a bucket of anything. */
static bool read_bucket(sqlite3_stmt *s, int64_t offset_ns, struct wt_sm_piece *piece)
{
	*piece = (struct wt_sm_piece){.start_ns = moved(sqlite3_column_int64(s, 0), offset_ns),
	                              .end_ns = moved(sqlite3_column_int64(s, 1), offset_ns),
	                              .sampled_ns = sqlite3_column_double(s, 2),
	                              .active_avg = number(s, 3, WT_BOUND_SHARE),
	                              .warps_per_sm = number(s, 4, WT_BOUND_WARPS_PER_SM),
	                              .tensor_share = number(s, 5, WT_BOUND_SHARE),
	                              .sm_clock_mhz = number(s, 6, WT_BOUND_SM_CLOCK_MHZ)};
	double length_ns = (double)piece->end_ns - (double)piece->start_ns;

	piece->dram_bytes = number(s, 7, 2.0 * WT_BOUND_DRAM_BYTES_PER_NS * length_ns);
	read_extremes(s, piece);
	return length_ns > 0 && length_ns <= PIECE_NS_MAX && piece->sampled_ns > 0 &&
	       piece->sampled_ns <= 2 * length_ns && isfinite(piece->active_avg);
}

static bool has_extremes(sqlite3 *db)
{
	return wt_db_int(db,
	                 "SELECT count(*) FROM pragma_table_info('sm_bucket') WHERE name = "
	                 "'max_share_ns'",
	                 0) != 0;
}

static int read_buckets(sqlite3 *db, const struct request *request)
{
	char sql[512];
	struct wt_sm_piece piece;
	sqlite3_stmt *s;
	int rc;

	if (!wt_db_has_table(db, "sm_bucket"))
		return 0;
	snprintf(sql, sizeof(sql),
	         "SELECT start_ns, end_ns, sampled_ns, active_avg, warps_per_sm, tensor_share,"
	         " sm_clock_mhz, dram_read_bytes + dram_write_bytes, %s"
	         " FROM sm_bucket WHERE device_id = ?1 AND start_ns < ?3 AND end_ns > ?2"
	         " ORDER BY start_ns",
	         has_extremes(db) ? "busy_ns, extremes_ns, min_share_ns, max_share_ns"
	                          : "NULL, NULL, NULL, NULL");
	rc = prepare(db, sql, request, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = read_bucket(s, request->offset_ns, &piece) ? give(request, &piece) : 0;
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- single samples */

#define CHUNKS_SQL                                                                                 \
	" FROM sample_chunk c JOIN sampler USING (sampler_id) WHERE device_id = ?1"                \
	" AND c.start_ns < ?3 AND c.end_ns > ?2"

static double known(float value, double divisor, double max)
{
	return value < 0 || divisor <= 0 ? NAN : within((double)value / divisor, max);
}

static struct wt_sm_piece piece_of(const struct wt_sample *sample, int64_t offset_ns)
{
	double cycles = sample->elapsed_cycles, ns = sample->duration_ns;
	double read = known(sample->dram_read_bytes, 1, WT_BOUND_DRAM_BYTES_PER_NS * ns),
	       written = known(sample->dram_write_bytes, 1, WT_BOUND_DRAM_BYTES_PER_NS * ns);

	int64_t start_ns = moved((int64_t)sample->start_ns, offset_ns);
	double busy_ns = sample->active_avg > 0 ? ns : 0;
	bool has_extremes = sample->active_min >= 0 && sample->active_max >= 0;

	return (struct wt_sm_piece){
	        .start_ns = start_ns,
	        .end_ns = moved(start_ns, sample->duration_ns),
	        .sampled_ns = ns,
	        .active_avg = known(sample->active_avg, cycles, WT_BOUND_SHARE),
	        .active_min = known(sample->active_min, cycles, WT_BOUND_SHARE),
	        .active_max = known(sample->active_max, cycles, WT_BOUND_SHARE),
	        .busy_ns = busy_ns,
	        .extremes_ns = has_extremes ? busy_ns : 0,
	        .warps_per_sm = known(sample->warps, cycles, WT_BOUND_WARPS_PER_SM),
	        .tensor_share = known(sample->tensor, cycles, WT_BOUND_SHARE),
	        .sm_clock_mhz = within(cycles / ns * 1e3, WT_BOUND_SM_CLOCK_MHZ),
	        .dram_bytes = read + written};
}

static int give_chunk(const struct request *request, const void *data, int bytes,
                      struct wt_sample *samples)
{
	size_t count = 0;
	int rc = wt_samples_decode(data, (size_t)bytes, samples, WT_SAMPLES_MAX, &count);

	for (size_t i = 0; !rc && i < count; i++) {
		struct wt_sm_piece piece = piece_of(&samples[i], request->offset_ns);

		if (samples[i].duration_ns && isfinite(piece.active_avg))
			rc = give(request, &piece);
	}
	return rc;
}

static int read_samples(sqlite3 *db, const struct request *request)
{
	struct wt_sample *samples = calloc(WT_SAMPLES_MAX, sizeof(*samples));
	sqlite3_stmt *s = NULL;
	int rc = samples ? prepare(db, "SELECT data" CHUNKS_SQL " ORDER BY c.start_ns", request, &s)
	                 : -ENOMEM;

	while (!rc && (rc = wt_report_step(s)) > 0)
		rc = give_chunk(request, sqlite3_column_blob(s, 0), sqlite3_column_bytes(s, 0),
		                samples);
	sqlite3_finalize(s);
	free(samples);
	return rc;
}

/* The first column of the one row of `sql`, if it has one and is no NULL. */
static bool read_int(sqlite3 *db, const char *sql, const struct request *request,
                     int64_t *ret_value)
{
	bool is_known = false;
	sqlite3_stmt *s;

	if (prepare(db, sql, request, &s))
		return false;
	if (wt_report_step(s) > 0 && sqlite3_column_type(s, 0) != SQLITE_NULL) {
		*ret_value = sqlite3_column_int64(s, 0);
		is_known = true;
	}
	sqlite3_finalize(s);
	return is_known;
}

/* Are single samples few enough, and all there? The oldest ones are removed from long runs. */
static bool has_all_samples(sqlite3 *db, const struct request *request, int64_t samples_max)
{
	int64_t samples = 0, from_ns = 0, bucket_ns = 0;

	if (!wt_db_has_table(db, "sample_chunk") ||
	    !read_int(db, "SELECT sum(samples)" CHUNKS_SQL, request, &samples) || samples <= 0 ||
	    samples > samples_max)
		return false;
	if (!wt_db_has_table(db, "sm_bucket") ||
	    !read_int(db,
	              "SELECT max(?2, min(start_ns)) FROM sm_bucket WHERE device_id = ?1"
	              " AND start_ns < ?3 AND end_ns > ?2",
	              request, &bucket_ns))
		return true;
	return read_int(db, "SELECT max(?2, min(c.start_ns))" CHUNKS_SQL, request, &from_ns) &&
	       (double)from_ns - (double)bucket_ns <= BUCKET_NS;
}

int wt_sm_activity_read(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                        int64_t samples_max, wt_sm_piece_fn *each, void *arg)
{
	const struct request request = {device_id, start_ns, end_ns, clock_offset_ns(db, device_id),
	                                each,      arg};

	return has_all_samples(db, &request, samples_max) ? read_samples(db, &request)
	                                                  : read_buckets(db, &request);
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
	/* A sampler asks for these two at every fourth sample: they stand for all with an active SM. */
	sum->busy_ns += piece->busy_ns;
	if (piece->extremes_ns > 0) {
		add_known(&sum->min_ns, &sum->min_known_ns, piece->active_min, piece->extremes_ns);
		add_known(&sum->max_ns, &sum->max_known_ns, piece->active_max, piece->extremes_ns);
	}
	add_known(&sum->warps_ns, &sum->warps_known_ns, piece->warps_per_sm, ns);
	add_known(&sum->tensor_ns, &sum->tensor_known_ns, piece->tensor_share, ns);
	add_known(&sum->clock_ns, &sum->clock_known_ns, piece->sm_clock_mhz, ns);
	if (isfinite(piece->dram_bytes)) {
		sum->dram_bytes += piece->dram_bytes;
		sum->dram_known_ns += ns;
	}
}

/* Over all that was sampled; where no SM was active neither was the least or the most active one. */
static double mean_of_busy(double sum_ns, double known_ns, const struct wt_sm_sum *sum)
{
	return sum->busy_ns > 0 ? sum_ns / known_ns * (sum->busy_ns / sum->sampled_ns)
	                        : 0 / sum->sampled_ns;
}

void wt_sm_sum_mean(const struct wt_sm_sum *sum, struct wt_sm_piece *ret_mean)
{
	/* 0 / 0 is what "not known" is. */
	*ret_mean = (struct wt_sm_piece){
	        .sampled_ns = sum->sampled_ns,
	        .active_avg = sum->active_ns / sum->sampled_ns,
	        .active_min = mean_of_busy(sum->min_ns, sum->min_known_ns, sum),
	        .active_max = mean_of_busy(sum->max_ns, sum->max_known_ns, sum),
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
		part = wt_sm_piece_cut(piece, low_ns, low_ns + buckets->bucket_ns);
		wt_sm_sum_add(&buckets->sums[at], &part);
	}
	return 0;
}

int wt_sm_activity_buckets(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                           int64_t bucket_ns, size_t bucket_count, struct wt_sm_sum *sums)
{
	struct buckets buckets = {start_ns, bucket_ns, bucket_count, sums};

	return wt_sm_activity_read(db, device_id, start_ns, end_ns, WT_SM_SAMPLES_FOR_MEANS,
	                           add_piece, &buckets);
}

int wt_sm_activity_failed(const struct wt_run_file *run, int rc)
{
	if (rc == -EIO && sqlite3_errcode(run->db) != SQLITE_OK &&
	    sqlite3_errcode(run->db) != SQLITE_DONE)
		wt_cli_error("%s: %s", run->info.path, wt_report_problem(run->db));
	else if (rc == -EBADMSG || rc == -ENOTSUP)
		wt_cli_error("%s: its samples are %s", run->info.path,
		             rc == -ENOTSUP ? "of a newer version" : "damaged");
	else
		return wt_cli_output_result(rc);
	return WT_EXIT_FAILED;
}

/*
 * check_samples.c - are the samples of a run file sound: chunks that can be read, in order, as many as
 * the books say; and `sm_bucket` is what they sum to. Memory: one chunk. See check.h.
 *
 * The sums are made again here, by another way than in wavetapd.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/check.h"
#include "schema/wt_samples.h"

#define BUCKET_NS INT64_C(10000000)
#define TOLERANCE 1e-9
#define EXTREMES "busy_ns, extremes_ns, min_share_ns, max_share_ns"
#define BUCKET_SQL(extremes)                                                                       \
	"SELECT sampled_ns, samples, active_avg, " extremes                                        \
	" FROM sm_bucket WHERE device_id = ?1 AND start_ns = ?2"

struct samples {
	struct wt_check *check;
	struct wt_sample *samples; /* WT_SAMPLES_MAX */
	sqlite3_stmt *bucket_row;
	int64_t device_id;
	int64_t bucket_ns; /* the bucket that is being summed; INT64_MIN: none */
	int64_t sampled_ns, count;
	double active; /* share x ns */
	double busy_ns, extremes_ns, min_ns, max_ns; /* least and most active SM: share x ns */
	int64_t buckets; /* that were summed */
	int64_t wrong, first_wrong_ns;
	int64_t end_ns; /* of the last chunk of this device */
	int64_t chunks_bad, first_bad, unordered, first_unordered;
};

/* Sums for means of the least and most active SM; a bucket that an older wavetapd made has none. */
static bool are_extremes_good(const struct samples *s)
{
	const double want[] = {s->busy_ns, s->extremes_ns, s->min_ns, s->max_ns};

	if (sqlite3_column_type(s->bucket_row, 3) == SQLITE_NULL)
		return true;
	for (int i = 0; i < 4; i++)
		if (!(fabs(sqlite3_column_double(s->bucket_row, 3 + i) - want[i]) <=
		      TOLERANCE * BUCKET_NS))
			return false;
	return true;
}

static int compare_bucket(struct samples *s)
{
	bool is_good;
	int code;

	if (s->bucket_ns == INT64_MIN || !s->sampled_ns)
		return 0;
	code = wt_db_bind(s->bucket_row, "ii", s->device_id, s->bucket_ns);
	if (code == SQLITE_OK)
		code = sqlite3_step(s->bucket_row);
	is_good = code == SQLITE_ROW && sqlite3_column_int64(s->bucket_row, 0) == s->sampled_ns &&
	          sqlite3_column_int64(s->bucket_row, 1) == s->count &&
	          fabs(sqlite3_column_double(s->bucket_row, 2) -
	               s->active / (double)s->sampled_ns) <= TOLERANCE &&
	          are_extremes_good(s);
	sqlite3_reset(s->bucket_row);
	s->buckets++;
	if (!is_good && !s->wrong++)
		s->first_wrong_ns = s->bucket_ns;
	return wt_check_code(s->check, code);
}

static int begin_bucket(struct samples *s, int64_t bucket_ns)
{
	int err = compare_bucket(s);

	s->bucket_ns = bucket_ns;
	s->sampled_ns = s->count = 0;
	s->active = s->busy_ns = s->extremes_ns = s->min_ns = s->max_ns = 0;
	return err;
}

static void add_extremes(struct samples *s, const struct wt_sample *sample, double ns)
{
	if (sample->active_avg == 0)
		return;
	s->busy_ns += ns;
	if (sample->active_min < 0 || sample->active_max < 0)
		return;
	s->extremes_ns += ns;
	s->min_ns += ns * (double)sample->active_min / sample->elapsed_cycles;
	s->max_ns += ns * (double)sample->active_max / sample->elapsed_cycles;
}

static int add_sample(struct samples *s, const struct wt_sample *sample)
{
	int64_t start_ns = (int64_t)sample->start_ns, end_ns = start_ns + sample->duration_ns;
	int64_t first = start_ns / BUCKET_NS, last = (end_ns - 1) / BUCKET_NS;
	int err = 0;

	if (!sample->elapsed_cycles || !(sample->active_avg >= 0))
		return 0;
	for (int64_t i = first; i <= last && !err; i++) {
		int64_t from_ns = i == first ? start_ns : i * BUCKET_NS;
		int64_t until_ns = i == last ? end_ns : (i + 1) * BUCKET_NS;

		if (i * BUCKET_NS != s->bucket_ns)
			err = begin_bucket(s, i * BUCKET_NS);
		s->sampled_ns += until_ns - from_ns;
		s->count += i == first;
		s->active += (double)(until_ns - from_ns) * (double)sample->active_avg /
		             sample->elapsed_cycles;
		add_extremes(s, sample, (double)(until_ns - from_ns));
	}
	return err;
}

static int check_chunk(struct samples *s, sqlite3_stmt *row)
{
	int64_t chunk_id = sqlite3_column_int64(row, 0), start_ns = sqlite3_column_int64(row, 2);
	const struct wt_sample *last;
	bool is_ordered = true;
	size_t count = 0;
	int err =
	        wt_samples_decode(sqlite3_column_blob(row, 5), (size_t)sqlite3_column_bytes(row, 5),
	                          s->samples, WT_SAMPLES_MAX, &count);

	if (err == -ENOMEM)
		return err;
	last = &s->samples[count ? count - 1 : 0];
	if (err || !count || (int64_t)count != sqlite3_column_int64(row, 4) ||
	    (int64_t)s->samples[0].start_ns != start_ns ||
	    (int64_t)(last->start_ns + last->duration_ns) != sqlite3_column_int64(row, 3)) {
		if (!s->chunks_bad++)
			s->first_bad = chunk_id;
		return 0;
	}
	for (size_t i = 1; i < count && is_ordered; i++)
		is_ordered = s->samples[i].start_ns >= s->samples[i - 1].start_ns;
	if ((!is_ordered || start_ns < s->end_ns) && !s->unordered++)
		s->first_unordered = chunk_id;
	s->end_ns = sqlite3_column_int64(row, 3);
	err = 0;
	for (size_t i = 0; i < count && !err; i++)
		err = add_sample(s, &s->samples[i]);
	return err;
}

static int check_chunks(struct samples *s)
{
	static const char sql[] =
	        "SELECT c.chunk_id, s.device_id, c.start_ns, c.end_ns, c.samples, c.data FROM "
	        "sample_chunk c JOIN sampler s USING (sampler_id) WHERE s.device_id IS NOT NULL "
	        "ORDER BY s.device_id, c.chunk_id";
	sqlite3_stmt *row = NULL;
	int code = sqlite3_prepare_v2(s->check->db, sql, -1, &row, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		code = SQLITE_OK;
		if (sqlite3_column_int64(row, 1) != s->device_id) {
			err = begin_bucket(s, INT64_MIN);
			s->device_id = sqlite3_column_int64(row, 1);
			s->end_ns = INT64_MIN;
		}
		if (!err)
			err = check_chunk(s, row);
	}
	if (!err)
		err = begin_bucket(s, INT64_MIN);
	sqlite3_finalize(row);
	return err ? err : wt_check_code(s->check, code);
}

static int tell(struct samples *s, bool is_all_there)
{
	struct wt_check *check = s->check;
	int64_t rows = wt_db_int(check->db, "SELECT count(*) FROM sm_bucket", 0);
	int err = 0;

	if (s->chunks_bad)
		err = wt_check_add(check, "samples", "sample_chunk", s->chunks_bad,
		                   "can't be read, or has not the samples and times that it tells "
		                   "(first: chunk_id %" PRId64 ")",
		                   s->first_bad);
	if (!err && s->unordered)
		err = wt_check_add(check, "order", "sample_chunk", s->unordered,
		                   "samples are not in the order of time (first: chunk_id %" PRId64
		                   ")",
		                   s->first_unordered);
	/* Without all samples there is nothing to compare with. */
	if (!is_all_there || s->chunks_bad || s->unordered || err)
		return err;
	if (s->wrong)
		err = wt_check_add(check, "rollups", "sm_bucket", s->wrong,
		                   "is not what its samples sum to (first: start_ns %" PRId64 ")",
		                   s->first_wrong_ns);
	if (!err && rows != s->buckets)
		err = wt_check_add(check, "rollups", "sm_bucket", llabs(rows - s->buckets),
		                   "%" PRId64 " rows, where samples lie in %" PRId64 " buckets",
		                   rows, s->buckets);
	return err;
}

int wt_check_samples(struct wt_check *check)
{
	struct samples s = {.check = check, .device_id = WT_DB_NULL, .bucket_ns = INT64_MIN};
	bool is_all_there;
	int err;

	if (!check->has_measured)
		return 0;
	s.samples = malloc(WT_SAMPLES_MAX * sizeof(*s.samples));
	err = s.samples ? 0 : -ENOMEM;
	if (!err)
		err = wt_check_code(check,
		                    sqlite3_prepare_v2(check->db,
		                                       check->has_classes ? BUCKET_SQL(EXTREMES)
		                                                          : BUCKET_SQL("NULL"),
		                                       -1, &s.bucket_row, NULL));
	if (!err)
		err = check_chunks(&s);
	is_all_there = wt_db_int(check->db,
	                         "SELECT count(*) FROM meta WHERE key = 'samples_removed'", 0) == 0;
	if (!err)
		err = tell(&s, is_all_there);
	sqlite3_finalize(s.bucket_row);
	free(s.samples);
	return err;
}

/*
 * folds.c - the pass over samples and kernels: see folds.h.
 *
 * Per device, chunks are taken in the order of their ids once the sweep (shares.c) says that all kernels
 * of their time are there; MARGIN_NS more on both sides, since the clocks differ. One chunk is one step.
 * Results are written every SAVE_NS while there is news, more rarely where solving takes long, and
 * when the run is over.
 *
 * RAW SAMPLES are kept up to WAVETAP_SAMPLE_KEEP bytes of sample_chunk. Beyond, chunks that are folded
 * go, the oldest first; meta.samples_removed counts their samples. A daemon that is started after that
 * folds what is left.
 */
#include "daemon/folds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/evidence.h"
#include "schema/wt_samples.h"

#define MARGIN_NS (100 * INT64_C(1000)) /* fold.h: offset_max_ns, and a little */
#define STEP_NS (100 * WT_MS)
#define SAVE_NS (10 * WT_SECOND)
#define SAVE_SHARE 20 /* of the time at most one part of so many is spent on results */
#define ZONES_AT_ONCE 32
#define KEEP_BYTES_DEFAULT (INT64_C(256) << 20)

/* ---- begin and end */

static int64_t keep_bytes(void)
{
	const char *setting = secure_getenv("WAVETAP_SAMPLE_KEEP");
	struct wt_keep keep = WT_KEEP_ALL;
	char error[WT_DB_ERROR_BYTES];

	if (!setting || !setting[0])
		return KEEP_BYTES_DEFAULT;
	if (!strcmp(setting, "0"))
		return 0;
	if (wt_keep_parse(setting, &keep, error) || keep.bytes < 0 || keep.runs >= 0 ||
	    keep.age_ns >= 0) {
		wt_log_line("WAVETAP_SAMPLE_KEEP: \"%.40s\" is not a size, as 256MiB, or 0 for "
		            "none; 256 MiB are kept",
		            setting);
		return KEEP_BYTES_DEFAULT;
	}
	return keep.bytes;
}

static int create(struct wt_run *run)
{
	struct wt_folds *folds = calloc(1, sizeof(*folds));

	if (!folds)
		return -ENOMEM;
	run->folds = folds;
	folds->kernel_zones = (struct wt_zones){.table = "kernel_row", .id = "exec_id"};
	folds->copy_zones = (struct wt_zones){.table = "copy", .id = "copy_id"};
	folds->is_profile_saved = true;
	folds->sample_keep_bytes = keep_bytes();
	folds->samples = malloc(WT_SAMPLES_MAX * sizeof(*folds->samples));
	folds->fold_samples = malloc(WT_SAMPLES_MAX * sizeof(*folds->fold_samples));
	run->sample_bytes = wt_db_int(run->db, "SELECT sum(length(data)) FROM sample_chunk", 0);
	return folds->samples && folds->fold_samples ? 0 : -ENOMEM;
}

void wt_folds_fini(struct wt_run *run)
{
	struct wt_folds *folds = run->folds;

	run->folds = NULL;
	if (!folds)
		return;
	while (folds->devices) {
		struct wt_device_fold *device = folds->devices;

		folds->devices = device->next;
		wt_fold_task_destroy(device->task);
		wt_map_fini(&device->dense_of);
		free(device->config_of);
		free(device);
	}
	wt_zones_fini(&folds->kernel_zones);
	wt_zones_fini(&folds->copy_zones);
	wt_map_fini(&folds->config_of);
	free(folds->profiled);
	free(folds->samples);
	free(folds->fold_samples);
	free(folds->kernels.at);
	free(folds->touching.at);
	free(folds);
}

static int add_device(struct wt_run *run, int64_t device_id)
{
	struct wt_device_fold **at = &run->folds->devices, *device;
	const struct wt_device *known = wt_configs_device_of(run, device_id);
	struct wt_fold_options options = {0};
	int err;

	while (*at && (*at)->device_id != device_id)
		at = &(*at)->next;
	if (*at)
		return 0;
	options.sm_count = (uint32_t)known->sm_count;
	options.ramp_ns = llround(wt_evidence_ramp_ns(known->cc_major, known->cc_minor));
	if (!options.sm_count || options.sm_count > INT32_MAX)
		return 0; /* shares of an unknown number of SMs are no SMs */
	device = calloc(1, sizeof(*device));
	if (!device)
		return -ENOMEM;
	err = wt_fold_create(&options, &device->fold);
	if (!err)
		device->task = wt_fold_task_create(device->fold);
	if (!device->task) {
		wt_fold_destroy(device->fold);
		free(device);
		return err ? err : -ENOMEM;
	}
	device->device_id = device_id;
	/* Of what is before kernels are missing. */
	device->until_ns =
	        wt_db_int(run->db, "SELECT max(last_ns) FROM dropped WHERE kind = 1", INT64_MIN);
	*at = device; /* last: in the order of their ids */
	return 0;
}

static int find_devices(struct wt_run *run)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db,
	                              "SELECT DISTINCT device_id FROM sampler WHERE device_id IS "
	                              "NOT NULL ORDER BY 1",
	                              -1, &query, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = add_device(run, sqlite3_column_int64(query, 0));
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

/* ---- one chunk */

/*
 * The next chunk of the device, if its time is settled. 1: *ret_count samples of it are in
 * folds->samples (`ret_count` NULL: it is only looked for); 0: there is none, or not yet.
 */
static int next_chunk(struct wt_run *run, struct wt_device_fold *device, int64_t settled_ns,
                      size_t *ret_count)
{
	static const char sql[] =
	        "SELECT c.chunk_id, c.end_ns, c.samples, c.data FROM sample_chunk c JOIN sampler s "
	        "USING (sampler_id) WHERE c.chunk_id > ?1 AND s.device_id = ?2 ORDER BY c.chunk_id "
	        "LIMIT 1";
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &query, NULL);
	int found = 0;

	if (code == SQLITE_OK)
		code = wt_db_bind(query, "ii", device->chunk_id, device->device_id);
	if (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW)
		found = settled_ns == INT64_MAX ||
		        (settled_ns > 0 &&
		         sqlite3_column_int64(query, 1) <= settled_ns - MARGIN_NS);
	if (found && ret_count) {
		device->chunk_id = sqlite3_column_int64(query, 0);
		if (wt_samples_decode(sqlite3_column_blob(query, 3),
		                      (size_t)sqlite3_column_bytes(query, 3), run->folds->samples,
		                      WT_SAMPLES_MAX, ret_count)) {
			*ret_count = 0; /* damaged: `wavetap check` says so */
			device->skipped += sqlite3_column_int64(query, 2);
		}
	}
	sqlite3_finalize(query);
	return wt_db_errno(code) ? wt_store_check(run, code) : found;
}

static double per_cycle(float value, const struct wt_sample *sample)
{
	return value < 0 ? -1.0 : (double)value / sample->elapsed_cycles;
}

/*
 * Active cycles that come with those of the tensor pipe and DRAM are right on average, but not sample
 * by sample: on an H200 they leave 0.4 to 14 % of the variance unexplained, where samples of active
 * cycles alone leave 0.01 to 0.06 % (tests/gpu/RESULTS.md). So they say nothing of ACTIVE here.
 */
static struct wt_fold_sample fold_sample_of(const struct wt_sample *s, double sms)
{
	bool is_rich = s->tensor >= 0 || s->dram_read_bytes >= 0 || wt_sample_instructions(s) >= 0;
	float slots = wt_sample_instructions(s) / (float)(WT_EVIDENCE_ISSUE_SLOTS * sms);
	double dram = s->dram_read_bytes < 0 || s->dram_write_bytes < 0
	                      ? -1.0
	                      : ((double)s->dram_read_bytes + (double)s->dram_write_bytes) /
	                                s->duration_ns;

	return (struct wt_fold_sample){
	        .start_ns = (int64_t)s->start_ns,
	        .end_ns = (int64_t)s->start_ns + s->duration_ns,
	        .mean = {[WT_FOLD_ACTIVE] = is_rich ? -1 : per_cycle(s->active_avg, s) * sms,
	                 [WT_FOLD_WARPS] = per_cycle(s->warps, s),
	                 [WT_FOLD_TENSOR] = per_cycle(s->tensor, s),
	                 [WT_FOLD_DRAM] = dram,
	                 [WT_FOLD_ISSUE] = per_cycle(slots, s),
	                 [WT_FOLD_CLOCK] = (double)s->elapsed_cycles / s->duration_ns},
	};
}

/* Of folds->kernels those that touch a stretch. *at: none before it can, nor any later one. */
static int choose_touching(struct wt_folds *folds, int64_t from_ns, int64_t until_ns, size_t *at)
{
	const struct wt_kernels *all = &folds->kernels;
	struct wt_kernels *some = &folds->touching;

	while (*at < all->count && all->at[*at].end_ns <= from_ns)
		++*at;
	if (some->room < all->count) {
		struct wt_fold_kernel *more = realloc(some->at, all->count * sizeof(*more));

		if (!more)
			return -ENOMEM;
		some->at = more;
		some->room = all->count;
	}
	some->count = 0;
	for (size_t i = *at; i < all->count && all->at[i].start_ns < until_ns; i++)
		if (all->at[i].end_ns > from_ns)
			some->at[some->count++] = all->at[i];
	return 0;
}

static int feed_stretch(struct wt_run *run, struct wt_device_fold *device, size_t count, size_t *at)
{
	struct wt_folds *folds = run->folds;
	const struct wt_fold_sample *first = folds->fold_samples, *last = first + count - 1;
	int err = choose_touching(folds, first->start_ns - MARGIN_NS, last->end_ns + MARGIN_NS, at);

	if (err)
		return err;
	device->has_kernels |= folds->touching.count > 0;
	if (!device->is_broken && device->has_kernels)
		return wt_fold_task_add(device->task, folds->touching.at, folds->touching.count,
		                        first, count);
	device->skipped += (int64_t)count;
	return 0;
}

/* Stretches without holes, of samples that say something. */
static int feed_samples(struct wt_run *run, struct wt_device_fold *device, size_t count)
{
	struct wt_folds *folds = run->folds;
	double sms = (double)wt_configs_device_of(run, device->device_id)->sm_count;
	size_t stretch = 0, at = 0;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct wt_sample *sample = &folds->samples[i];
		int64_t end_ns = (int64_t)sample->start_ns + sample->duration_ns;
		int64_t hole_ns = stretch ? (int64_t)sample->start_ns -
		                                    folds->fold_samples[stretch - 1].end_ns
		                          : 0;
		/* What overlaps one that is in is somebody else's, or the clock was set. */
		bool is_good =
		        wt_bucket_takes(sample) && (int64_t)sample->start_ns >= device->until_ns;

		if (stretch && (!is_good || hole_ns > sample->duration_ns)) {
			err = feed_stretch(run, device, stretch, &at);
			stretch = 0;
		}
		if (is_good) {
			folds->fold_samples[stretch++] = fold_sample_of(sample, sms);
			device->until_ns = end_ns;
		} else {
			device->skipped++;
		}
	}
	return err || !stretch ? err : feed_stretch(run, device, stretch, &at);
}

static int feed_chunk(struct wt_run *run, struct wt_device_fold *device, size_t count)
{
	const struct wt_sample *samples = run->folds->samples;
	int64_t from_ns, until_ns;
	int err;

	if (!count)
		return 0;
	from_ns = (int64_t)samples[0].start_ns - MARGIN_NS;
	until_ns =
	        (int64_t)samples[count - 1].start_ns + samples[count - 1].duration_ns + MARGIN_NS;
	err = wt_folds_read_kernels(run, device, from_ns, until_ns);
	if (!err)
		err = feed_samples(run, device, count);
	device->is_saved = device->is_solved = false;
	if (!err && device->task->stretch_count) {
		device->task->is_solve = false;
		wt_fold_task_begin(device->task, run->daemon != NULL);
	}
	return err;
}

/* ---- kernels that are needed */

int64_t wt_folds_need_ns(struct wt_run *run)
{
	int64_t need_ns = INT64_MAX;

	if (wt_folds_are_done(run))
		return INT64_MAX;
	if (!run->folds)
		return INT64_MIN; /* not begun yet */
	for (const struct wt_device_fold *at = run->folds->devices; at; at = at->next) {
		char sql[200];
		int64_t next_ns;

		snprintf(sql, sizeof(sql),
		         "SELECT min(c.start_ns) FROM sample_chunk c JOIN sampler s USING "
		         "(sampler_id) WHERE c.chunk_id > %lld AND s.device_id = %lld",
		         (long long)at->chunk_id, (long long)at->device_id);
		next_ns = wt_db_int(run->db, sql, INT64_MAX);
		if (next_ns == INT64_MAX)
			next_ns = run->watermark_ns;
		if (next_ns < need_ns)
			need_ns = next_ns;
	}
	return need_ns;
}

/* ---- the limit of raw samples */

static int remove_oldest(struct wt_run *run)
{
	struct wt_folds *folds = run->folds;
	int64_t folded = INT64_MAX, bytes, samples;
	sqlite3_stmt *query = NULL;
	int code, err = 0;

	for (const struct wt_device_fold *at = folds->devices; at; at = at->next)
		if (at->chunk_id < folded)
			folded = at->chunk_id;
	code = sqlite3_prepare_v2(
	        run->db,
	        "SELECT chunk_id, samples, length(data) FROM sample_chunk ORDER BY "
	        "chunk_id LIMIT 1",
	        -1, &query, NULL);
	while (code == SQLITE_OK && !err && run->sample_bytes > folds->sample_keep_bytes &&
	       (code = sqlite3_step(query)) == SQLITE_ROW) {
		int64_t chunk_id = sqlite3_column_int64(query, 0);
		char text[32];

		samples = sqlite3_column_int64(query, 1);
		bytes = sqlite3_column_int64(query, 2);
		code = sqlite3_reset(query);
		if (chunk_id > folded)
			break;
		snprintf(
		        text, sizeof(text), "%lld",
		        (long long)(wt_db_int(run->db,
		                              "SELECT CAST(value AS INTEGER) FROM meta WHERE key = "
		                              "'samples_removed'",
		                              0) +
		                    samples));
		err = wt_run_set_meta(run, "samples_removed", text);
		if (!err)
			err = wt_store_run(run, WT_SQL_CHUNK_REMOVE, "i", chunk_id);
		run->sample_bytes -= err ? 0 : bytes;
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

/* ---- results */

static bool has_news(const struct wt_folds *folds)
{
	for (const struct wt_device_fold *at = folds->devices; at; at = at->next)
		if (!at->is_saved)
			return true;
	return !folds->is_profile_saved;
}

/* The caller of `wavetap analyze` has a transaction open: all is written in that. */
static int save(struct wt_run *run)
{
	bool is_inside = !sqlite3_get_autocommit(run->db);
	int64_t begun_ns = wt_clock_ns(CLOCK_MONOTONIC);
	struct wt_folds *folds = run->folds;
	int err = is_inside ? 0 : wt_store_run(run, WT_SQL_BEGIN, "");

	if (err == -EBUSY)
		return 0; /* next time */
	if (!err)
		err = wt_measured_save(run);
	if (!err && !is_inside)
		err = remove_oldest(run);
	if (!err && !is_inside)
		err = wt_store_run(run, WT_SQL_COMMIT, "");
	if (err)
		return err;
	for (struct wt_device_fold *at = folds->devices; at; at = at->next)
		at->is_saved = true;
	folds->is_profile_saved = true;
	folds->saved_ns = wt_clock_ns(CLOCK_MONOTONIC);
	folds->save_takes_ns = folds->saved_ns - begun_ns;
	return 0;
}

/* Results, and before them profiled launches. */
static bool is_due(const struct wt_folds *folds, int64_t now_ns)
{
	int64_t pause_ns = SAVE_SHARE * folds->save_takes_ns;

	return now_ns - folds->saved_ns >= (pause_ns > SAVE_NS ? pause_ns : SAVE_NS);
}

/* ---- the step */

/* INT64_MIN: nothing is settled yet. */
static int64_t settled_ns(const struct wt_run *run, int64_t device_id, bool is_over)
{
	const struct wt_device_sweep *sweep = run->sweeps;

	if (is_over)
		return INT64_MAX;
	while (sweep && sweep->device_id != device_id)
		sweep = sweep->next;
	return sweep ? wt_overlap_settled_ns(sweep->overlap) : INT64_MIN;
}

static int feed_device(struct wt_run *run, struct wt_device_fold *device, bool is_over,
                       bool *ret_more)
{
	size_t count = 0;
	int rc = next_chunk(run, device, settled_ns(run, device->device_id, is_over), &count);

	if (rc <= 0)
		return rc;
	*ret_more = true;
	return feed_chunk(run, device, count);
}

static int join_profiles(struct wt_run *run, bool is_over, bool *ret_more)
{
	int64_t until_ns = INT64_MAX;

	for (const struct wt_device_sweep *at = run->sweeps; at && !is_over; at = at->next)
		if (wt_overlap_settled_ns(at->overlap) < until_ns)
			until_ns = wt_overlap_settled_ns(at->overlap);
	if (!is_over && until_ns == INT64_MAX)
		return 0;
	return wt_folds_join_profiles(run, is_over ? INT64_MAX : until_ns, ret_more);
}

/* Takes in what tasks came to; true: some are still at it. */
static bool end_tasks(struct wt_folds *folds)
{
	bool is_busy = false;

	for (struct wt_device_fold *at = folds->devices; at; at = at->next) {
		if (!wt_fold_task_end(at->task)) {
			is_busy |= at->task->is_begun;
			continue;
		}
		/* What can't be folded does not stop the run. */
		at->is_broken |= at->task->err == -ENOMEM;
		at->skipped += at->task->refused;
		at->is_solved = at->task->is_solve;
	}
	return is_busy;
}

/* Is there a chunk for any device that has nothing to do? 1, 0 or -errno. */
static int is_chunk_ready(struct wt_run *run, bool is_over)
{
	int rc = 0;

	for (struct wt_device_fold *at = run->folds->devices; at && !rc; at = at->next)
		if (!at->task->is_begun)
			rc = next_chunk(run, at, settled_ns(run, at->device_id, is_over), NULL);
	return rc;
}

static int feed(struct wt_run *run, bool is_over, bool *ret_more)
{
	struct wt_folds *folds = run->folds;
	bool more_kernels = false, more_copies = false, more_profiles = false, more_chunks = false;
	int err = wt_zones_update(run, &folds->kernel_zones, ZONES_AT_ONCE, &more_kernels);

	if (!err)
		err = wt_zones_update(run, &folds->copy_zones, ZONES_AT_ONCE, &more_copies);
	*ret_more = more_kernels || more_copies;
	if (err || *ret_more)
		return err;
	err = join_profiles(run, is_over, &more_profiles);
	for (struct wt_device_fold *at = folds->devices; at && !err; at = at->next)
		if (!at->task->is_begun)
			err = feed_device(run, at, is_over, &more_chunks);
	*ret_more = more_profiles || more_chunks;
	return err;
}

/* True: solutions are under way, which are taken in at the next step. */
static bool begin_solving(struct wt_run *run)
{
	bool is_begun = false;

	for (struct wt_device_fold *at = run->folds->devices; at; at = at->next) {
		if (at->is_solved || at->is_broken || !at->has_kernels)
			continue;
		at->task->is_solve = true;
		wt_fold_task_begin(at->task, run->daemon != NULL);
		is_begun = true;
	}
	return is_begun;
}

static int step(struct wt_run *run, bool is_over, int64_t now_ns, bool *ret_more)
{
	struct wt_folds *folds = run->folds;
	bool is_busy = end_tasks(folds);
	int rc = find_devices(run);

	if (!rc)
		rc = is_chunk_ready(run, is_over);
	if (rc < 0 || (!rc && (is_busy || (!is_over && !is_due(folds, now_ns)))))
		return rc;
	rc = feed(run, is_over, ret_more);
	if (rc || *ret_more || is_busy || (!is_over && !is_due(folds, now_ns)))
		return rc;
	/* All that is ready is in it. */
	if (has_news(folds) && begin_solving(run)) {
		*ret_more = !run->daemon;
		return 0;
	}
	folds->saved_ns = now_ns;
	if (has_news(folds))
		rc = save(run);
	folds->is_over = !rc && is_over && !has_news(folds);
	*ret_more = !rc && is_over && !folds->is_over;
	return rc;
}

int wt_folds_step(struct wt_run *run, bool is_over, int64_t now_ns, bool *ret_more)
{
	int err = 0;

	*ret_more = false;
	if (!run->is_measured || !run->db || wt_folds_are_done(run))
		return 0;
	if (!run->folds)
		err = create(run);
	if (err)
		return err;
	if (!is_over && now_ns - run->folds->stepped_ns < STEP_NS)
		return 0;
	err = step(run, is_over, now_ns, ret_more);
	/* More is done at the next call, without a pause. */
	run->folds->stepped_ns = *ret_more ? 0 : now_ns;
	return err;
}

bool wt_folds_are_done(const struct wt_run *run)
{
	return !run->is_measured || (run->folds && run->folds->is_over);
}

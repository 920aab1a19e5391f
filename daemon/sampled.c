/*
 * sampled.c - the segment of a sampler: from ring 1 to rows of `sampler`, `sample_chunk`, `sm_bucket`
 * and `gpu_state`. Main thread; may block on the disk.
 *
 * A sampler is attached, drained, recorded and removed like a process, but it is none of the run's:
 * it has no row of `proc`, no linker, no rollups. What stands in their place is struct wt_sampled.
 *
 * CHUNKS. A batch is a chunk, or several where it is large; so batches of samplers are rarer than
 * those of processes (drain.c), and nothing is held over from one to the next: what is drained is in
 * the file, and a restart has nothing to restore but the cursor and the counters.
 *
 * BUCKETS of WT_BUCKET_NS may be cut by the end of a batch. Both parts are written, and the second one
 * is merged into the row. A sample that lies in two buckets counts for each with its part.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <math.h>

#include "schema/wt_samples.h"

#define CHUNK_SAMPLES 20000u
#define VALUE_MAX 1e15f
#define DURATION_MAX_NS (2 * WT_SAMPLE_INTERVAL_NS_MAX)

/* ---- the row */

static int read_row(struct wt_process *process, struct wt_sampled *sampled)
{
	static const char sql[] =
	        "SELECT sampler_id, device_id, first_ns, last_ns, samples_stored, activity_pos "
	        "FROM sampler WHERE uuid = ?1";
	const struct wt_segment_header *h = &process->mapped.header;
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(process->run->db, sql, -1, &query, NULL);
	int err = -ENOENT;

	if (code == SQLITE_OK)
		code = wt_db_bind(query, "b", h->uuid, sizeof(h->uuid));
	if (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		sampled->sampler_id = sqlite3_column_int64(query, 0);
		sampled->device_id = sqlite3_column_type(query, 1) == SQLITE_NULL
		                             ? WT_DB_NULL
		                             : sqlite3_column_int64(query, 1);
		sampled->first_ns = sqlite3_column_int64(query, 2);
		sampled->last_ns = sqlite3_column_int64(query, 3);
		sampled->stored = sqlite3_column_int64(query, 4);
		process->cursor[WT_RING_ACTIVITY] = (uint64_t)sqlite3_column_int64(query, 5);
		err = 0;
	}
	sqlite3_finalize(query);
	return wt_db_errno(code) ? wt_store_check(process->run, code) : err;
}

static int insert_row(struct wt_process *process, struct wt_sampled *sampled)
{
	const struct wt_segment_header *h = &process->mapped.header;
	int err = wt_store_run(process->run, WT_SQL_SAMPLER_NEW, "bii", h->uuid, sizeof(h->uuid),
	                       (int64_t)h->pid, (int64_t)h->sample_interval_ns);

	if (!err)
		sampled->sampler_id = sqlite3_last_insert_rowid(process->run->db);
	return err;
}

int wt_sampled_load(struct wt_process *process)
{
	struct wt_sampled *sampled = calloc(1, sizeof(*sampled));
	int err;

	if (!sampled)
		return -ENOMEM;
	process->sampled = sampled;
	process->run->is_measured = true;
	sampled->device_id = WT_DB_NULL;
	err = read_row(process, sampled);
	return err == -ENOENT ? insert_row(process, sampled) : err;
}

void wt_sampled_unload(struct wt_process *process)
{
	if (process->sampled)
		free(process->sampled->samples);
	free(process->sampled);
	process->sampled = NULL;
}

/* The one device of a sampler, once it is told. */
int wt_sampled_read_device(struct wt_process *process)
{
	struct wt_sampled *sampled = process->sampled;
	struct wt_device device;
	uint32_t gpu_idx;
	int err;

	if (!process->counters.device_count || process->devices_read)
		return 0;
	err = wt_segment_device(&process->mapped, 0, &device);
	if (!err)
		err = wt_configs_device(process->run, &device, &gpu_idx);
	if (err)
		return err;
	process->devices_read = 1;
	sampled->device_id = process->run->gpus[gpu_idx].device_id;
	sampled->sm_count = device.sm_count > 0 ? (uint32_t)device.sm_count : 0;
	return 0;
}

/* ---- records */

static bool is_value(float value)
{
	return isfinite(value) && value <= VALUE_MAX && (value >= 0 || value == WT_SAMPLE_UNKNOWN);
}

static bool is_time(const struct wt_sample *sample)
{
	return sample->start_ns && sample->start_ns <= INT64_MAX / 2 && sample->duration_ns &&
	       sample->duration_ns <= DURATION_MAX_NS;
}

static bool are_values(const struct wt_sample *sample)
{
	return is_value(sample->active_avg) && is_value(sample->active_min) &&
	       is_value(sample->active_max) && is_value(sample->warps) &&
	       is_value(sample->tensor) && is_value(sample->dram_read_bytes) &&
	       is_value(sample->dram_write_bytes) && is_value(wt_sample_instructions(sample));
}

/* A time and numbers that can be, of a known device, and not before the one that came last. */
static bool is_sound(struct wt_sampled *sampled, const struct wt_sample *sample)
{
	if (sampled->device_id == WT_DB_NULL)
		sampled->bad_device++;
	else if (!is_time(sample))
		sampled->bad_time++;
	else if (!are_values(sample))
		sampled->bad_value++;
	else if ((int64_t)sample->start_ns < sampled->start_ns)
		sampled->bad_order++;
	else
		return true;
	sampled->bad++;
	return false;
}

/* At the end of a batch, if there are more than the log has. */
static void tell_bad(const struct wt_process *process)
{
	struct wt_sampled *sampled = process->sampled;

	if (sampled->bad == sampled->bad_told)
		return;
	wt_log_line("%s: %lld samples so far that can't be stored: %lld start before the one that "
	            "came last, %lld have a time or length that can't be, %lld values that can't "
	            "be, %lld came before their device was known",
	            process->name, (long long)sampled->bad, (long long)sampled->bad_order,
	            (long long)sampled->bad_time, (long long)sampled->bad_value,
	            (long long)sampled->bad_device);
	sampled->bad_told = sampled->bad;
}

static int drain_sample(struct wt_process *process, const struct wt_sample *sample)
{
	struct wt_sampled *sampled = process->sampled;

	if (!is_sound(sampled, sample))
		return 0;
	if (sampled->count == sampled->room) {
		size_t room = sampled->room ? 2 * sampled->room : 4096;
		struct wt_sample *more = realloc(sampled->samples, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		sampled->samples = more;
		sampled->room = room;
	}
	sampled->samples[sampled->count++] = *sample;
	sampled->start_ns = (int64_t)sample->start_ns;
	return 0;
}

static int64_t known(uint32_t value)
{
	return value ? (int64_t)value : WT_DB_NULL;
}

static int drain_gpu_state(struct wt_process *process, const struct wt_gpu_state *r)
{
	bool is_foreign_known = (r->flags & 1) != 0;

	if (process->sampled->device_id == WT_DB_NULL || !r->time_ns ||
	    r->time_ns > INT64_MAX / 2) {
		process->sampled->bad++;
		return 0;
	}
	return wt_store_run(process->run, WT_SQL_GPU_STATE, "iiinnnnnn",
	                    process->sampled->device_id, (int64_t)r->time_ns,
	                    (int64_t)r->throttle_reasons, known(r->sm_clock_mhz),
	                    known(r->mem_clock_mhz), known(r->power_mw), known(r->temperature_c),
	                    is_foreign_known ? (int64_t)r->foreign_processes : WT_DB_NULL,
	                    is_foreign_known ? known(r->foreign_pid) : WT_DB_NULL);
}

uint32_t wt_sampled_least_length(const struct wt_cell *cell)
{
	if (cell->kind == WT_KIND_SAMPLE && cell->count >= 1 && cell->count <= WT_SAMPLES_PER_CELL)
		return (cell->count - 1u) * (uint32_t)sizeof(struct wt_sample) +
		       (uint32_t)offsetof(struct wt_sample, reserved);
	if (cell->kind == WT_KIND_CLOCK)
		return offsetof(struct wt_clock, reserved);
	return cell->kind == WT_KIND_GPU_STATE ? offsetof(struct wt_gpu_state, reserved) : 0;
}

int wt_sampled_drain(struct wt_process *process, const struct wt_cell *cell)
{
	struct wt_sample samples[WT_SAMPLES_PER_CELL];
	struct wt_gpu_state state;
	struct wt_clock clock;
	int err = 0;

	/* The clocks of the run are those of its processes. */
	if (cell->kind == WT_KIND_CLOCK) {
		memcpy(&clock, cell->payload, sizeof(clock));
		process->clock_ns = (int64_t)clock.realtime_ns;
		return 0;
	}
	if (cell->kind == WT_KIND_GPU_STATE) {
		memcpy(&state, cell->payload, sizeof(state));
		return drain_gpu_state(process, &state);
	}
	memcpy(samples, cell->payload, sizeof(samples));
	for (int i = 0; i < cell->count && !err; i++)
		err = drain_sample(process, &samples[i]);
	return err;
}

/* ---- buckets */

void wt_bucket_add(struct wt_bucket *bucket, const struct wt_sample *sample, int64_t part_ns,
                   bool is_begin)
{
	double part = (double)part_ns, share = part / sample->duration_ns;
	double cycles = sample->elapsed_cycles;

	bucket->sampled_ns += part_ns;
	bucket->samples += is_begin;
	bucket->active += part * (sample->active_avg / cycles);
	/* Of some samples least and most are not known, since they cost. */
	if (sample->active_min >= 0)
		bucket->active_min = fmin(bucket->active_min, sample->active_min / cycles);
	if (sample->active_max >= 0)
		bucket->active_max = fmax(bucket->active_max, sample->active_max / cycles);
	else
		bucket->active_max = fmax(bucket->active_max, sample->active_avg / cycles);
	if (sample->active_avg > 0) {
		bucket->busy_ns += part_ns;
		if (sample->active_min >= 0 && sample->active_max >= 0) {
			bucket->extremes_ns += part_ns;
			bucket->min_share_ns += part * (sample->active_min / cycles);
			bucket->max_share_ns += part * (sample->active_max / cycles);
		}
	}
	bucket->cycles += share * cycles;
	bucket->warps += part * (sample->warps / cycles);
	bucket->tensor += part * (sample->tensor / cycles);
	bucket->read_bytes += share * (double)sample->dram_read_bytes;
	bucket->write_bytes += share * (double)sample->dram_write_bytes;
	bucket->has_warps &= sample->warps >= 0;
	bucket->has_tensor &= sample->tensor >= 0;
	bucket->has_read &= sample->dram_read_bytes >= 0;
	bucket->has_write &= sample->dram_write_bytes >= 0;
}

bool wt_bucket_takes(const struct wt_sample *sample)
{
	return sample->elapsed_cycles && sample->active_avg >= 0;
}

void wt_bucket_begin(struct wt_bucket *bucket, int64_t start_ns)
{
	*bucket = (struct wt_bucket){.start_ns = start_ns,
	                             .active_min = INFINITY,
	                             .has_warps = true,
	                             .has_tensor = true,
	                             .has_read = true,
	                             .has_write = true};
}

static int bind_real(sqlite3_stmt *statement, int at, bool is_known, double value)
{
	return is_known ? sqlite3_bind_double(statement, at, value)
	                : sqlite3_bind_null(statement, at);
}

static int bind_bytes(sqlite3_stmt *statement, int at, bool is_known, double value)
{
	return is_known ? sqlite3_bind_int64(statement, at, llround(value))
	                : sqlite3_bind_null(statement, at);
}

/* Sums for means, from column 14 on. */
static int bind_extremes(sqlite3_stmt *statement, const struct wt_bucket *bucket)
{
	int code = sqlite3_bind_int64(statement, 14, bucket->busy_ns);

	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 15, bucket->extremes_ns);
	if (code == SQLITE_OK)
		code = sqlite3_bind_double(statement, 16, bucket->min_share_ns);
	return code == SQLITE_OK ? sqlite3_bind_double(statement, 17, bucket->max_share_ns) : code;
}

static int write_bucket(struct wt_process *process, const struct wt_bucket *bucket)
{
	sqlite3_stmt *s = process->run->statement[WT_SQL_BUCKET];
	double sampled_ns = (double)bucket->sampled_ns, active_avg = bucket->active / sampled_ns;
	double active_min = isfinite(bucket->active_min) ? fmin(bucket->active_min, active_avg) : 0;
	int code;

	if (!bucket->sampled_ns)
		return 0;
	code = wt_db_bind(s, "iiiiirrr", process->sampled->device_id, bucket->start_ns,
	                  bucket->start_ns + WT_BUCKET_NS, bucket->sampled_ns, bucket->samples,
	                  active_avg, active_min, bucket->active_max);
	if (code == SQLITE_OK)
		code = bind_real(s, 9, bucket->has_warps, bucket->warps / sampled_ns);
	if (code == SQLITE_OK)
		code = bind_real(s, 10, bucket->has_tensor, bucket->tensor / sampled_ns);
	if (code == SQLITE_OK)
		code = bind_bytes(s, 11, bucket->has_read, bucket->read_bytes);
	if (code == SQLITE_OK)
		code = bind_bytes(s, 12, bucket->has_write, bucket->write_bytes);
	if (code == SQLITE_OK)
		code = sqlite3_bind_double(s, 13, 1e3 * bucket->cycles / sampled_ns);
	if (code == SQLITE_OK)
		code = bind_extremes(s, bucket);
	if (code == SQLITE_OK) {
		sqlite3_step(s);
		code = sqlite3_reset(s);
	}
	return wt_store_check(process->run, code);
}

static int save_buckets(struct wt_process *process)
{
	const struct wt_sampled *sampled = process->sampled;
	struct wt_bucket bucket;
	int err = 0;

	wt_bucket_begin(&bucket, 0);
	for (size_t i = 0; i < sampled->count && !err; i++) {
		const struct wt_sample *sample = &sampled->samples[i];
		int64_t at_ns = (int64_t)sample->start_ns, end_ns = at_ns + sample->duration_ns;

		if (!wt_bucket_takes(sample))
			continue;
		while (at_ns < end_ns && !err) {
			int64_t start_ns = at_ns / WT_BUCKET_NS * WT_BUCKET_NS;
			int64_t until_ns = start_ns + WT_BUCKET_NS;

			if (start_ns != bucket.start_ns) {
				err = write_bucket(process, &bucket);
				wt_bucket_begin(&bucket, start_ns);
			}
			if (until_ns > end_ns)
				until_ns = end_ns;
			wt_bucket_add(&bucket, sample, until_ns - at_ns,
			              at_ns == (int64_t)sample->start_ns);
			at_ns = until_ns;
		}
	}
	return err ? err : write_bucket(process, &bucket);
}

/* ---- saving */

static int save_chunk(struct wt_process *process, const struct wt_sample *samples, size_t count)
{
	const struct wt_sample *last = &samples[count - 1];
	struct wt_sampled *sampled = process->sampled;
	uint8_t *data = NULL;
	size_t bytes = 0;
	int err = wt_samples_encode(samples, count, sampled->sm_count, &data, &bytes);

	if (err)
		return err;
	err = wt_store_run(process->run, WT_SQL_CHUNK, "iiiib", sampled->sampler_id,
	                   (int64_t)samples[0].start_ns,
	                   (int64_t)(last->start_ns + last->duration_ns), (int64_t)count, data,
	                   bytes);
	free(data);
	sampled->stored += err ? 0 : (int64_t)count;
	process->run->sample_bytes += err ? 0 : (int64_t)bytes;
	return err;
}

static int save_samples(struct wt_process *process)
{
	struct wt_sampled *sampled = process->sampled;
	const struct wt_sample *last;
	int err = 0;

	if (!sampled->count)
		return 0;
	last = sampled->samples + sampled->count - 1;
	for (size_t at = 0; at < sampled->count && !err; at += CHUNK_SAMPLES) {
		size_t left = sampled->count - at;

		err = save_chunk(process, sampled->samples + at,
		                 left < CHUNK_SAMPLES ? left : CHUNK_SAMPLES);
	}
	if (!err)
		err = save_buckets(process);
	if (!sampled->first_ns)
		sampled->first_ns = (int64_t)sampled->samples[0].start_ns;
	sampled->last_ns = (int64_t)(last->start_ns + last->duration_ns);
	sampled->count = 0;
	return err;
}

/* NULL: it samples, or did and ended in good order, and nothing is missing. */
static const char *reason_of(const struct wt_process *process, bool is_over, char *text,
                             size_t text_bytes)
{
	const struct wt_counters *c = &process->counters;
	const struct wt_tally *t = &process->tally;
	const char *words = wt_sampler_text((unsigned)c->sampler_state);
	long long lost =
	        (long long)(t->cells_torn + t->cells_bad + t->cells_gap + process->sampled->bad);

	if (process->is_lost)
		return process->lost_why;
	if (c->sampler_state > WT_SAMPLER_ENDED && c->sampler_detail)
		snprintf(text, text_bytes, "%s (code %llu)", words ? words : "unknown reason",
		         (unsigned long long)c->sampler_detail);
	else if (c->sampler_state > WT_SAMPLER_ENDED || c->sampler_state == WT_SAMPLER_STARTING)
		snprintf(text, text_bytes, "%s", words ? words : "unknown reason");
	else if (is_over && c->sampler_state == WT_SAMPLER_SAMPLING)
		snprintf(text, text_bytes, "it was killed");
	else if (lost)
		snprintf(text, text_bytes, "%lld of its records were torn, unsound or gone", lost);
	else
		return NULL;
	return text;
}

int wt_sampled_save(struct wt_process *process, bool is_over)
{
	const struct wt_counters *c = &process->counters;
	struct wt_sampled *sampled = process->sampled;
	char reason[200];
	int err = save_samples(process);

	if (err)
		return err;
	tell_bad(process);
	return wt_store_run(process->run, WT_SQL_SAMPLER, "initnniiiiii", sampled->sampler_id,
	                    sampled->device_id, (int64_t)c->sampler_state,
	                    reason_of(process, is_over, reason, sizeof(reason)),
	                    sampled->first_ns ? sampled->first_ns : WT_DB_NULL,
	                    sampled->last_ns ? sampled->last_ns : WT_DB_NULL,
	                    (int64_t)c->samples_taken, sampled->stored, (int64_t)c->samples_dropped,
	                    (int64_t)c->sample_overflows, (int64_t)c->sampler_cpu_ns,
	                    (int64_t)process->cursor[WT_RING_ACTIVITY]);
}

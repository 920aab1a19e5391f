/*
 * replay.c - see replay.h.
 */
#include "daemon/folds.h"
#include "daemon/ledger_sums.h"
#include "daemon/replay_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#define SOURCES_MAX 4096

static int say(char *why, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int say(char *why, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, WT_REPLAY_WHY_BYTES, format, ap);
	va_end(ap);
	return err;
}

/* ---- sources */

static int read_source(void *arg, void *bytes, size_t want, size_t *ret_got)
{
	struct wt_replay_file *source = arg;

	errno = 0;
	*ret_got = fread(bytes, 1, want, source->file);
	source->read_bytes += *ret_got;
	if (*ret_got < want && ferror(source->file))
		return errno ? -errno : -EIO;
	return 0;
}

/* All bytes of the file have been seen, or counted: a pipe's are known only now, and a file may have
 * grown since it was opened. */
static void end_source(struct wt_replay_file *source)
{
	struct wt_replay_source *said = &source->said;
	uint8_t rest[4096];
	size_t got = said->file_bytes ? 0 : sizeof(rest);

	while (got == sizeof(rest) && !read_source(source, rest, sizeof(rest), &got))
		continue;
	if (said->file_bytes < source->read_bytes)
		said->file_bytes = source->read_bytes;
}

/* Reads ahead one block. 0, or -errno with `why` where no more can be done. */
static int advance(struct wt_replay_file *source, char *why)
{
	char wrong[160] = "";
	int rc = wt_recording_next(source->reader, &source->block, wrong, sizeof(wrong));
	struct wt_replay_source *said = &source->said;

	said->good_bytes = wt_recording_good_bytes(source->reader);
	source->has_block = rc > 0;
	if (rc == -ENOMEM)
		return say(why, rc, "%s: out of memory", said->path);
	if (rc <= 0)
		end_source(source);
	if (rc < 0)
		snprintf(said->why, sizeof(said->why), "%.140s", wrong);
	else if (rc == 0 && !said->is_whole)
		snprintf(said->why, sizeof(said->why), "it ends before the process did");
	return 0;
}

static void close_source(struct wt_replay_file *source)
{
	wt_replay_detach(source);
	wt_recording_reader_destroy(source->reader);
	if (source->file)
		fclose(source->file);
	free(source);
}

static void describe_source(struct wt_replay_file *source)
{
	const struct wt_recording_process *process = wt_recording_process_of(source->reader);

	source->said.pid = process->pid;
	snprintf(source->said.run_key, sizeof(source->said.run_key), "%s", process->run_key);
	snprintf(source->said.hostname, sizeof(source->said.hostname), "%s", process->hostname);
}

int wt_replay_add(struct wt_replay *replay, const char *path, char why[WT_REPLAY_WHY_BYTES])
{
	struct wt_replay_file **more, *source;
	char wrong[160] = "";
	struct stat status = {0};
	int err;

	if (replay->count == SOURCES_MAX)
		return say(why, -E2BIG, "more than %d recordings", SOURCES_MAX);
	more = realloc(replay->sources, (replay->count + 1) * sizeof(struct wt_replay_file *));
	if (more)
		replay->sources = more;
	source = more ? calloc(1, sizeof(*source)) : NULL;
	if (!source)
		return say(why, -ENOMEM, "out of memory");
	source->said.path = path;
	source->file = fopen(path, "rbe");
	if (!source->file) {
		err = say(why, -errno, "%s: %s", path, strerror(errno));
	} else if (!fstat(fileno(source->file), &status) && S_ISDIR(status.st_mode)) {
		err = say(why, -EISDIR, "%s: %s", path, strerror(EISDIR));
	} else {
		source->said.file_bytes = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
		err = wt_recording_reader_create(read_source, source, &source->reader, wrong,
		                                 sizeof(wrong));
		if (err)
			say(why, err, "%s: %s", path, wrong);
	}
	if (!err)
		err = advance(source, why);
	if (err) {
		close_source(source);
		return err;
	}
	describe_source(source);
	replay->sources[replay->count++] = source;
	return 0;
}

static const struct wt_replay_file *first_source(const struct wt_replay *replay)
{
	const struct wt_replay_file *first = NULL;

	for (size_t i = 0; i < replay->count; i++) {
		const struct wt_replay_file *source = replay->sources[i];

		if (source->has_block &&
		    (!first || wt_recording_process_of(source->reader)->created_realtime_ns <
		                       wt_recording_process_of(first->reader)->created_realtime_ns))
			first = source;
	}
	return first;
}

bool wt_replay_is_empty(const struct wt_replay *replay)
{
	return !first_source(replay);
}

uint64_t wt_replay_created_ns(const struct wt_replay *replay)
{
	const struct wt_replay_file *first = first_source(replay);

	return first ? wt_recording_process_of(first->reader)->created_realtime_ns : 0;
}

/* ---- feeding */

static int store_failed(const struct wt_replay *replay, int err, char *why)
{
	return say(why, err, "the run file can't be written: %s",
	           err == -ENOMEM ? "out of memory" : replay->run->error);
}

/* Positions between blocks that the recording lacks. */
static void count_missing(struct wt_replay_file *source, bool is_first)
{
	struct wt_process *process = source->process;

	for (int i = 0; i < WT_RING_MAX; i++) {
		uint64_t start = source->block.facts.start_pos[i];
		uint64_t from = is_first ? 0 : process->cursor[i];

		if (start <= from)
			continue;
		source->said.cells_missing += start - from;
		if (is_first) /* wt_process_load has taken them from the heads */
			continue;
		process->tally.cells_gap += (int64_t)(start - from);
		process->cursor[i] = start;
	}
}

/* The end of a process that the recording doesn't tell. */
static int lose(struct wt_replay *replay, struct wt_replay_file *source, const char *reason,
                int64_t now_ns, char *why)
{
	struct wt_process *process = source->process;
	int err;

	process->is_lost = true;
	snprintf(process->lost_why, sizeof(process->lost_why), "%s", reason);
	wt_text_mend(process->lost_why);
	err = wt_drain(process, replay->batch, now_ns, true);
	return err ? store_failed(replay, err, why) : 0;
}

static int drain_block(struct wt_replay *replay, struct wt_replay_file *source, char *why)
{
	const struct wt_recording_facts *facts = &source->block.facts;
	struct wt_process *process = source->process;
	int err;

	process->liveness.life = facts->flags & WT_RECORDING_DEAD ? WT_LIFE_DEAD : WT_LIFE_UNKNOWN;
	process->is_superseded = (facts->flags & WT_RECORDING_REPLACED) != 0;
	process->has_more = !(facts->flags & WT_RECORDING_OVER);
	/* A device that is not there yet had its time when this was recorded. */
	process->device_since_ns = facts->now_ns - 60 * WT_SECOND;
	if (process->device_since_ns == 0)
		process->device_since_ns = -1;
	err = wt_drain(process, replay->batch, facts->now_ns, true);
	if (err)
		return store_failed(replay, err, why);
	if (process->cursor[0] != facts->end_pos[0] || process->cursor[1] != facts->end_pos[1])
		return say(why, -EBADMSG, "%s: block %u: torn places in a process that was alive",
		           source->said.path, source->block.block_idx);
	if (facts->flags & WT_RECORDING_LOST)
		return lose(replay, source, facts->why, facts->now_ns, why);
	return 0;
}

static int feed(struct wt_replay *replay, struct wt_replay_file *source, char *why)
{
	bool is_first = !source->process;
	int err = 0;

	if (source->said.is_whole) /* what a killed daemon wrote behind the end: nothing new */
		return 0;
	if (is_first) {
		err = wt_replay_attach(replay, source);
		if (!err)
			err = wt_process_load(source->process, source->block.facts.now_ns);
		if (err)
			return store_failed(replay, err, why);
	}
	count_missing(source, is_first);
	wt_replay_lay(replay, source);
	err = drain_block(replay, source, why);
	source->said.blocks++;
	source->said.is_whole =
	        (source->block.facts.flags & (WT_RECORDING_OVER | WT_RECORDING_LOST)) != 0;
	return err;
}

int wt_replay_step(struct wt_replay *replay, char why[WT_REPLAY_WHY_BYTES])
{
	struct wt_replay_file *next = NULL;
	int64_t now_ns;
	int err;

	for (size_t i = 0; i < replay->count; i++) {
		struct wt_replay_file *source = replay->sources[i];

		if (source->has_block &&
		    (!next || source->block.facts.now_ns < next->block.facts.now_ns))
			next = source;
	}
	if (!next)
		return 0;
	now_ns = next->block.facts.now_ns;
	err = feed(replay, next, why);
	if (!err)
		err = advance(next, why);
	if (!err && !next->has_block && !next->said.is_whole) {
		char reason[80];

		snprintf(reason, sizeof(reason), WT_RECORDING_NOT_WHOLE ": %.50s", next->said.why);
		err = lose(replay, next, reason, now_ns, why);
	}
	return err ? err : 1;
}

/* ---- the whole */

struct wt_replay *wt_replay_create(void)
{
	struct wt_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
	replay->batch = malloc(WT_BATCH_CELLS * sizeof(*replay->batch));
	for (int i = 0; i < WT_RING_MAX; i++) {
		void *at = mmap(NULL, WT_RECORDING_CELLS_MAX * sizeof(struct wt_cell),
		                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		replay->ring[i] = at == MAP_FAILED ? NULL : at;
	}
	if (replay->batch && replay->ring[0] && replay->ring[1])
		return replay;
	wt_replay_destroy(replay);
	return NULL;
}

void wt_replay_destroy(struct wt_replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < replay->count; i++)
		close_source(replay->sources[i]);
	free(replay->sources);
	if (replay->run)
		wt_run_destroy(replay->run);
	for (int i = 0; i < WT_RING_MAX; i++)
		if (replay->ring[i])
			munmap(replay->ring[i], WT_RECORDING_CELLS_MAX * sizeof(struct wt_cell));
	free(replay->batch);
	free(replay);
}

/* One job on one host is one run; a process comes once. */
static int check_together(const struct wt_replay *replay, char *why)
{
	const struct wt_replay_file *first = first_source(replay);

	for (size_t i = 0; i < replay->count; i++) {
		const struct wt_replay_file *a = replay->sources[i];

		if (a->has_block && (strcmp(a->said.run_key, first->said.run_key) ||
		                     strcmp(a->said.hostname, first->said.hostname)))
			return say(why, -EINVAL,
			           "%s and %s are of different runs: import them one by one",
			           first->said.path, a->said.path);
		for (size_t j = 0; j < i; j++) {
			const struct wt_replay_file *b = replay->sources[j];

			if (!memcmp(wt_recording_head_of(a->reader)->uuid,
			            wt_recording_head_of(b->reader)->uuid, 16))
				return say(why, -EINVAL, "%s and %s are of the same process",
				           b->said.path, a->said.path);
		}
	}
	return 0;
}

/* No daemon is at this place. */
static const struct wt_daemon nowhere = {.place = "imported"};

static const char *run_key(struct wt_replay *replay)
{
	const struct wt_replay_file *first = first_source(replay);
	uint64_t random = 0;

	if (!replay->key[0]) {
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
			random = (uint64_t)wt_clock_ns(CLOCK_REALTIME);
		snprintf(replay->key, sizeof(replay->key), "import-%016llx:%.220s",
		         (unsigned long long)random, first ? first->said.run_key : "");
		wt_text_mend(replay->key);
	}
	return replay->key;
}

unsigned wt_replay_run_id(struct wt_replay *replay)
{
	return wt_run_hash(&nowhere, run_key(replay));
}

static int tell_origin(struct wt_replay *replay)
{
	char names[1024] = "", now[32];
	size_t used = 0;
	int err;

	for (size_t i = 0; i < replay->count && used < sizeof(names); i++) {
		const char *path = replay->sources[i]->said.path, *slash = strrchr(path, '/');

		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
		                         slash ? slash + 1 : path);
	}
	wt_text_mend(names);
	snprintf(now, sizeof(now), "%lld", (long long)wt_clock_ns(CLOCK_REALTIME));
	err = wt_run_set_meta(replay->run, "imported_from", names);
	return err ? err : wt_run_set_meta(replay->run, "imported_ns", now);
}

int wt_replay_begin(struct wt_replay *replay, const char *path, const char *name,
                    char why[WT_REPLAY_WHY_BYTES])
{
	const struct wt_replay_file *first = first_source(replay);
	struct wt_segment_header header;
	int err;

	if (!first)
		return say(why, -ENODATA, "there is no whole block in any recording");
	err = check_together(replay, why);
	if (err)
		return err;
	replay->run = calloc(1, sizeof(*replay->run));
	if (!replay->run)
		return say(why, -ENOMEM, "out of memory");
	wt_replay_header(first, &header);
	snprintf(replay->run->key, sizeof(replay->run->key), "%s", run_key(replay));
	if (name)
		snprintf(header.run_name, sizeof(header.run_name), "%s", name);
	wt_text_mend(header.run_name);
	err = wt_run_create(&nowhere, replay->run, path, &header);
	for (size_t i = 0; i < replay->count; i++)
		replay->run->process_count += replay->sources[i]->has_block;
	if (!err)
		err = tell_origin(replay);
	return err ? store_failed(replay, err, why) : 0;
}

int wt_replay_finish(struct wt_replay *replay, char why[WT_REPLAY_WHY_BYTES])
{
	bool has_more = true;
	int code, err = 0;

	while (has_more && !err)
		err = wt_folds_step(replay->run, true, wt_clock_ns(CLOCK_MONOTONIC), &has_more);
	if (err)
		return store_failed(replay, err, why);
	has_more = true;
	while (!wt_pack_is_done(replay->run))
		wt_pack_step(replay->run, true, wt_clock_ns(CLOCK_MONOTONIC), &has_more);
	wt_folds_fini(replay->run);
	err = wt_ledger_sums_make(replay->run->db, false);
	if (err)
		return say(why, err, "the sums of the ledger can't be made: %s",
		           sqlite3_errmsg(replay->run->db));
	for (size_t i = 0; i < replay->count; i++)
		if (replay->sources[i]->process)
			wt_process_unload(replay->sources[i]->process);
	wt_store_finalize(replay->run);
	code = sqlite3_close(replay->run->db);
	replay->run->db = NULL;
	return code == SQLITE_OK ? 0 : say(why, -EIO, "the run file can't be closed");
}

void wt_replay_progress(const struct wt_replay *replay, uint64_t *ret_done, uint64_t *ret_all)
{
	*ret_done = *ret_all = 0;
	for (size_t i = 0; i < replay->count; i++) {
		*ret_done += replay->sources[i]->read_bytes;
		*ret_all += replay->sources[i]->said.file_bytes;
	}
}

size_t wt_replay_count(const struct wt_replay *replay)
{
	return replay->count;
}

const struct wt_replay_source *wt_replay_source(const struct wt_replay *replay, size_t index)
{
	return &replay->sources[index]->said;
}

struct sqlite3 *wt_replay_db(const struct wt_replay *replay)
{
	return replay->run ? replay->run->db : NULL;
}

/*
 * record.c - recordings (schema/wt_recording.h) of processes that asked for one: WAVETAP_RECORD=DIR
 * or `wavetap run --record DIR`; the wish travels in the segment's first page.
 *
 * ORDER. A block is written just before its transaction is committed. A daemon killed before the
 * write has neither, one killed in it leaves a torn block, which the next one cuts off, and one
 * killed before the commit leaves a block that is ahead of the run file: the next one drains those
 * cells again and leaves them out here. So a position is never in the file twice and never missing.
 *
 * What can't be written, or was removed or cut by somebody, ends the recording, never the run: said
 * once in the log, in the run file (meta.recording_problem) and by `status`. Main thread; may block
 * on the disk.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "schema/wt_recording.h"

struct wt_record {
	int fd; /* -1: failed or ended */
	char path[WT_PATH_BYTES];
	char problem[200]; /* "" = none */
	bool is_problem_saved, is_told;
	struct wt_recording_writer *writer;
	uint64_t bytes; /* of whole blocks */
	uint64_t recorded[WT_RING_MAX]; /* all before is in the file, or was never to be had */
	uint64_t start[WT_RING_MAX]; /* of the block that is being made */
};

/* `err` 0: the words say it all. */
static void fail(struct wt_process *process, int err, const char *what)
{
	struct wt_record *record = process->record;

	if (err)
		snprintf(record->problem, sizeof(record->problem), "%s: %.100s", what,
		         strerror(-err));
	else
		snprintf(record->problem, sizeof(record->problem), "%s", what);
	wt_log_line("recording of pid %d ends: %s: %s; the run file is not affected",
	            process->mapped.header.pid, record->path, record->problem);
	if (record->fd >= 0)
		close(record->fd);
	record->fd = -1;
	wt_recording_writer_destroy(record->writer);
	record->writer = NULL;
}

/* ---- the file */

static int read_fd(void *arg, void *bytes, size_t want, size_t *ret_got)
{
	const int *fd = arg;
	size_t got = 0;

	while (got < want) {
		ssize_t n = read(*fd, (uint8_t *)bytes + got, want - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	*ret_got = got;
	return 0;
}

/* All of it at the end of the whole blocks, or nothing. */
static int append(struct wt_record *record, const void *bytes, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = pwrite(record->fd, (const uint8_t *)bytes + done, length - done,
		                   (off_t)(record->bytes + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int err = n < 0 ? -errno : -ENOSPC;

			if (ftruncate(record->fd, (off_t)record->bytes))
				return -errno; /* the torn block is cut off by whoever reads */
			return err;
		}
		done += (size_t)n;
	}
	record->bytes += length;
	return 0;
}

/*
 * What somebody did to the file since the last block, or NULL. Bytes would still go into a file that
 * nobody finds, or behind a hole. A file that was moved, with nothing in its place, is written on.
 */
static const char *find_change(const struct wt_record *record)
{
	struct stat ours, there;

	if (fstat(record->fd, &ours))
		return "its file can't be looked at";
	if (ours.st_nlink == 0)
		return "its file was removed or replaced";
	if ((uint64_t)ours.st_size < record->bytes)
		return "its file was cut short";
	if (!stat(record->path, &there) &&
	    (there.st_dev != ours.st_dev || there.st_ino != ours.st_ino))
		return "another file took its place";
	return NULL;
}

static int begin_file(struct wt_process *process)
{
	struct wt_recording_head head;

	wt_recording_make_head(&head, process->mapped.header.uuid,
	                       (uint64_t)wt_clock_ns(CLOCK_REALTIME));
	return append(process->record, &head, sizeof(head));
}

/* Goes on with the file of a daemon that ended or was killed. */
static int continue_file(struct wt_process *process, const char **ret_what)
{
	struct wt_record *record = process->record;
	struct wt_recording_block_head last;
	struct wt_recording_head head;
	struct stat status;
	char why[160];
	int err;

	record->fd = open(record->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (record->fd < 0)
		return -errno;
	*ret_what = "there is another file of that name";
	if (fstat(record->fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return -EPERM;
	if ((size_t)status.st_size < sizeof(head))
		return ftruncate(record->fd, 0) ? -errno : begin_file(process);
	err = wt_recording_scan(read_fd, &record->fd, &head, &last, &record->bytes, why,
	                        sizeof(why));
	if (err)
		return err;
	if (memcmp(head.uuid, process->mapped.header.uuid, sizeof(head.uuid)))
		return -EEXIST;
	*ret_what = "can't be continued";
	if (ftruncate(record->fd, (off_t)record->bytes))
		return -errno;
	/* Of an earlier version: an old reader must not take what comes now for damage. */
	wt_recording_make_head(&head, process->mapped.header.uuid, head.created_ns);
	if (pwrite(record->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return -EIO;
	if (last.block_idx == UINT32_MAX)
		return 0;
	memcpy(record->recorded, last.end_pos, sizeof(record->recorded));
	wt_recording_continue(record->writer, last.block_idx + 1);
	if (last.flags & (WT_RECORDING_OVER | WT_RECORDING_LOST)) {
		close(record->fd);
		record->fd = -1;
	}
	return 0;
}

/* <dir>/<run id>-<pid>-<start of the uuid>.wtrec */
static int set_path(const struct wt_process *process)
{
	const struct wt_segment_header *header = &process->mapped.header;
	struct wt_record *record = process->record;
	char run_id[16];
	uint64_t uuid;

	snprintf(record->path, sizeof(record->path), "%s", header->record_dir);
	if (record->path[0] != '/')
		return -ENAMETOOLONG; /* facts.c made it absolute if it had room */
	memcpy(&uuid, header->uuid, sizeof(uuid));
	wt_db_meta(process->run->db, "run_id", run_id, sizeof(run_id));
	return (size_t)snprintf(record->path, sizeof(record->path),
	                        "%s/%s-%d-%016llx" WT_RECORDING_SUFFIX, header->record_dir, run_id,
	                        header->pid, (unsigned long long)uuid) < sizeof(record->path)
	               ? 0
	               : -ENAMETOOLONG;
}

static void open_record(struct wt_process *process)
{
	struct wt_record *record = calloc(1, sizeof(*record));
	const char *what = "can't be made";
	int err;

	process->record = record;
	if (!record)
		return; /* tried again with the next batch */
	record->fd = -1;
	record->writer = wt_recording_writer_create();
	err = record->writer ? set_path(process) : -ENOMEM;
	if (!err && mkdir(process->mapped.header.record_dir, 0700) && errno != EEXIST)
		err = -errno;
	if (!err) {
		record->fd = open(record->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		                  0600);
		if (record->fd >= 0)
			err = begin_file(process);
		else
			err = errno == EEXIST ? continue_file(process, &what) : -errno;
	}
	if (err)
		fail(process, err, what);
}

/* ---- one batch */

static bool is_recording(const struct wt_process *process)
{
	return process->record && process->record->fd >= 0;
}

/* A sampler is recorded where the processes of its run are: it has the daemon's environment. */
static void adopt_dir(struct wt_process *process)
{
	struct wt_segment_header *header = &process->mapped.header;
	const struct wt_process *other = process->run->daemon->processes;

	while (other && (other->run != process->run || wt_process_is_sampler(other)))
		other = other->next;
	if (other)
		snprintf(header->record_dir, sizeof(header->record_dir), "%s",
		         other->mapped.header.record_dir);
	else if (!header->record_dir[0])
		wt_db_meta(process->run->db, "recording", header->record_dir,
		           sizeof(header->record_dir));
}

void wt_record_begin(struct wt_process *process)
{
	if (!process->record && wt_process_is_sampler(process) && process->run->daemon)
		adopt_dir(process);
	if (!process->mapped.header.record_dir[0])
		return;
	if (!process->record)
		open_record(process);
	if (!is_recording(process))
		return;
	for (int i = 0; i < WT_RING_MAX; i++) {
		uint64_t recorded = process->record->recorded[i];

		process->record->start[i] =
		        process->cursor[i] > recorded ? process->cursor[i] : recorded;
	}
}

/* A kernel's name, unless it is in the file. One that leads nowhere leads nowhere later, too. */
static int tell_name(struct wt_process *process, const struct wt_cell *cell)
{
	static char name[WT_NAME_BYTES_MAX + 1]; /* one thread; too large for the stack */
	struct wt_recording_writer *writer = process->record->writer;
	struct wt_kernel kernel;

	memcpy(&kernel, cell->payload, sizeof(kernel));
	if (!wt_recording_needs_name(writer, kernel.name_id) ||
	    wt_segment_name(&process->mapped, kernel.name_id, name))
		return 0;
	return wt_recording_add_name(writer, kernel.name_id, name, strlen(name));
}

void wt_record_cells(struct wt_process *process, enum wt_ring_index ring, uint64_t pos,
                     const struct wt_cell *cells, size_t count)
{
	uint64_t skip;
	int err = 0;

	if (!is_recording(process))
		return;
	skip = process->record->start[ring] > pos ? process->record->start[ring] - pos : 0;
	if (skip >= count)
		return;
	for (size_t i = (size_t)skip; i < count && !err; i++)
		if (ring == WT_RING_ACTIVITY && cells[i].kind == WT_KIND_KERNEL)
			err = tell_name(process, &cells[i]);
	if (!err)
		err = wt_recording_add_cells(process->record->writer, ring, cells + skip,
		                             count - (size_t)skip);
	if (err)
		fail(process, err, "can't be made");
}

void wt_record_torn(struct wt_process *process, enum wt_ring_index ring, uint64_t pos)
{
	int err;

	if (!is_recording(process) || pos < process->record->start[ring])
		return;
	err = wt_recording_add_torn(process->record->writer, ring, pos);
	if (err)
		fail(process, err, "can't be made");
}

static void fill_process(const struct wt_process *process, struct wt_recording_process *ret)
{
	const struct wt_segment_header *h = &process->mapped.header;

	*ret = (struct wt_recording_process){
	        .pid_namespace = h->pid_namespace,
	        .start_ticks = h->start_ticks,
	        .created_realtime_ns = h->created_realtime_ns,
	        .created_monotonic_ns = h->created_monotonic_ns,
	        .arena_bytes = h->arena_bytes,
	        .pid = h->pid,
	        .ppid = h->ppid,
	        .uid = h->uid,
	        .rank = h->rank,
	        .local_rank = h->local_rank,
	        .world_size = h->world_size,
	        .producer = h->producer,
	        .profile_launches = h->profile_launches,
	        .sample_interval_ns = h->sample_interval_ns,
	};
#define COPY(field) snprintf(ret->field, sizeof(ret->field), "%s", h->field)
	COPY(boot_id);
	COPY(hostname);
	COPY(library_version);
	COPY(run_name);
	COPY(run_tags);
	COPY(executable);
	COPY(command);
#undef COPY
	snprintf(ret->run_key, sizeof(ret->run_key), "%s", process->run->key);
}

static void fill_facts(const struct wt_process *process, int64_t now_ns, bool is_dead, bool is_over,
                       struct wt_recording_facts *ret)
{
	const struct wt_record *record = process->record;

	memset(ret, 0, sizeof(*ret));
	ret->flags = (is_dead ? WT_RECORDING_DEAD : 0) | (is_over ? WT_RECORDING_OVER : 0) |
	             (process->is_lost ? WT_RECORDING_LOST : 0) |
	             (process->is_superseded ? WT_RECORDING_REPLACED : 0);
	ret->now_ns = now_ns;
	for (int i = 0; i < WT_RING_MAX; i++) {
		ret->start_pos[i] = record->start[i];
		ret->end_pos[i] = process->cursor[i] > record->start[i] ? process->cursor[i]
		                                                        : record->start[i];
	}
#define X(name) ret->counters[WT_RECORDING_COUNTER_##name] = process->counters.name;
	WT_RECORDING_COUNTERS(X)
#undef X
	memcpy(ret->hook_time, process->counters.hook_time, sizeof(ret->hook_time));
	if (!process->counters.armed_ns || wt_segment_cupti_path(&process->mapped, ret->cupti_path))
		ret->cupti_path[0] = '\0';
	if (process->is_lost)
		snprintf(ret->why, sizeof(ret->why), "%s", process->lost_why);
}

static int tell_devices(struct wt_process *process)
{
	struct wt_recording_writer *writer = process->record->writer;
	uint32_t told = wt_recording_devices_told(writer);
	int err = 0;

	for (; told < process->devices_read && !err; told++) {
		struct wt_device device;

		err = wt_segment_device(&process->mapped, told, &device);
		if (!err)
			err = wt_recording_add_device(writer, &device);
	}
	return err == -EFAULT ? 0 : err;
}

static int write_block(struct wt_process *process, const struct wt_recording_facts *facts)
{
	struct wt_record *record = process->record;
	struct wt_recording_process who;
	const uint8_t *bytes;
	size_t length;
	int err;

	fill_process(process, &who);
	err = tell_devices(process);
	if (!err)
		err = wt_recording_make_block(record->writer, &who, facts, &bytes, &length);
	return err ? err : append(record, bytes, length);
}

/* What the run file says of it, once, in the transaction that is open. */
static int save_words(struct wt_process *process)
{
	struct wt_record *record = process->record;
	char text[WT_PATH_BYTES + 300];
	int err = 0;

	if (!record->is_told) {
		err = wt_run_set_meta(process->run, "recording", process->mapped.header.record_dir);
		record->is_told = !err;
	}
	if (!err && record->problem[0] && !record->is_problem_saved) {
		snprintf(text, sizeof(text), "pid %d: %s: %s", process->mapped.header.pid,
		         record->path, record->problem);
		wt_text_mend(text);
		err = wt_run_set_meta(process->run, "recording_problem", text);
		record->is_problem_saved = !err;
	}
	return err;
}

int wt_record_commit(struct wt_process *process, int64_t now_ns, bool is_dead, bool is_over)
{
	struct wt_record *record = process->record;
	struct wt_recording_facts facts;
	bool has_cells = false;

	if (!record)
		return 0;
	if (is_recording(process)) {
		const char *what = NULL;
		int err = 0;

		fill_facts(process, now_ns, is_dead, is_over, &facts);
		for (int i = 0; i < WT_RING_MAX; i++)
			has_cells |= facts.end_pos[i] != facts.start_pos[i];
		if (has_cells || is_over || process->is_lost) {
			what = find_change(record);
			if (!what)
				err = write_block(process, &facts);
		}
		if (what || err)
			fail(process, err, what ? what : "can't be written");
		else
			memcpy(record->recorded, facts.end_pos, sizeof(record->recorded));
		/* Nobody asked for the recording of a sampler that could not sample. */
		if (is_over && wt_process_is_sampler(process) && !process->counters.samples_taken)
			unlink(record->path);
	}
	return save_words(process);
}

void wt_record_drop(struct wt_process *process)
{
	struct wt_record *record = process->record;

	if (!record)
		return;
	if (record->writer)
		wt_recording_writer_reset(record->writer);
	record->is_told = record->is_problem_saved = false;
}

void wt_record_close(struct wt_process *process)
{
	struct wt_record *record = process->record;

	process->record = NULL;
	if (!record)
		return;
	if (record->fd >= 0)
		close(record->fd);
	wt_recording_writer_destroy(record->writer);
	free(record);
}

const char *wt_record_path(const struct wt_process *process)
{
	return process->record ? process->record->path : NULL;
}

const char *wt_record_problem(const struct wt_process *process)
{
	return process->record && process->record->problem[0] ? process->record->problem : NULL;
}

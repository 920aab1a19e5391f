/*
 * segment_map.c - opens one segment and checks it; the only code that touches its memory.
 *
 * A segment is trusted in nothing: the header is copied, every offset and length in the copy
 * is checked against the size of the file, and only the copy is used. The producer may still
 * cut the file short at any time, which makes the next access a SIGBUS: every access is made
 * in here, with guard_place set and guard_is_on, and such a fault becomes -EFAULT. No
 * SQLite, heap or lock inside a guarded stretch: it may be left by a jump.
 *
 * Main thread only. Does not block.
 */
#include "daemon/daemon.h"
#include "schema/wt_run_key.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

static sigjmp_buf guard_place;
static volatile sig_atomic_t guard_is_on;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	sigset_t self;

	(void)info;
	(void)context;
	if (guard_is_on) {
		guard_is_on = 0;
		/* The jump leaves the mask as it is, and SA_NODEFER is not all that decides it:
		 * under ThreadSanitizer a handler runs with every signal blocked. */
		sigemptyset(&self);
		sigaddset(&self, number);
		sigprocmask(SIG_UNBLOCK, &self, NULL);
		siglongjmp(guard_place, 1);
	}
	signal(number, SIG_DFL); /* not ours: let it kill us where it happened */
}

void wt_segment_guard_install(void)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

static bool is_inside(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
	return offset % WT_GROUP_BYTES == 0 && offset >= WT_CELLS_OFFSET && offset <= file_bytes &&
	       bytes <= file_bytes - offset;
}

/* Offsets and lengths of the copied header. NULL if sound, else what is wrong. */
static const char *check_header(const struct wt_segment_header *header, uint64_t file_bytes,
                                uint32_t uid)
{
	uint64_t start[3], end[3];

	/* What an earlier library lacks at its end is zero. */
	if (header->header_bytes < offsetof(struct wt_segment_header, keep_rows) ||
	    header->header_bytes > WT_GROUP_BYTES)
		return "header size";
	if (header->file_bytes != file_bytes)
		return "file size";
	for (int i = 0; i < WT_RING_MAX; i++) {
		uint64_t count = header->cell_count[i];

		if (count < 2 || count & (count - 1) ||
		    count > WT_SEGMENT_BYTES_MAX / WT_CELL_BYTES)
			return "cell count";
		if (!is_inside(header->cells_offset[i], count * WT_CELL_BYTES, file_bytes))
			return "ring outside the file";
		start[i] = header->cells_offset[i];
		end[i] = start[i] + count * WT_CELL_BYTES;
	}
	if (header->arena_bytes < 8 || header->arena_bytes > WT_SEGMENT_BYTES_MAX ||
	    !is_inside(header->arena_offset, header->arena_bytes, file_bytes))
		return "name arena outside the file";
	start[2] = header->arena_offset;
	end[2] = start[2] + header->arena_bytes;
	for (int i = 0; i < 3; i++)
		for (int j = i + 1; j < 3; j++)
			if (start[i] < end[j] && start[j] < end[i])
				return "parts overlap";
	if (header->uid != uid)
		return "user id";
	if (header->pid <= 0)
		return "process id";
	if (header->producer > WT_PRODUCER_SAMPLER)
		return "kind of producer";
	return NULL;
}

void wt_text_mend(char *text)
{
	unsigned char *at = (unsigned char *)text;

	while (*at) {
		int length = wt_utf8_length(at);

		if (length)
			at += length;
		else
			*at++ = '?';
	}
}

/* Text of fixed size may come without its end. */
static void end_texts(struct wt_segment_header *header)
{
#define END(field) (header->field[sizeof(header->field) - 1] = '\0', wt_text_mend(header->field))
	END(boot_id);
	END(hostname);
	END(library_version);
	END(run_key);
	END(run_name);
	END(run_tags);
	END(executable);
	END(command);
	END(data_dir);
	END(record_dir);
#undef END
}

/* Copies the header through a descriptor: no mapping, no fault. */
static int read_header(int fd, uint64_t file_bytes, uint32_t uid,
                       struct wt_segment_header *ret_header, char *why, size_t why_bytes)
{
	const char *wrong;
	ssize_t n = pread(fd, ret_header, sizeof(*ret_header), 0);
	uint64_t magic;

	if (n < 0)
		return -errno;
	memcpy(&magic, ret_header, sizeof(magic));
	if (n < 8 || magic == 0) {
		snprintf(why, why_bytes, "still being made");
		return -EAGAIN;
	}
	if (magic != WT_SEGMENT_MAGIC) {
		snprintf(why, why_bytes, "not a wavetap segment");
		return -EBADMSG;
	}
	if (n >= 12 && ret_header->abi != WT_SEGMENT_ABI) {
		snprintf(why, why_bytes,
		         "made by another version of libwavetap.so (layout %u, not %u)",
		         ret_header->abi, WT_SEGMENT_ABI);
		return -EPROTO;
	}
	wrong = n == (ssize_t)sizeof(*ret_header) ? check_header(ret_header, file_bytes, uid)
	                                          : "too short";
	if (wrong) {
		snprintf(why, why_bytes, "corrupt header: %s", wrong);
		return -EBADMSG;
	}
	end_texts(ret_header);
	return 0;
}

static void *map_group(int fd, uint64_t offset, uint64_t bytes, int protection)
{
	void *at = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

static int map_groups(struct wt_mapped *mapped)
{
	const struct wt_segment_header *header = &mapped->header;

	mapped->producer = map_group(mapped->fd, WT_PRODUCER_OFFSET, WT_GROUP_BYTES, PROT_READ);
	mapped->consumer =
	        map_group(mapped->fd, WT_CONSUMER_OFFSET, WT_GROUP_BYTES, PROT_READ | PROT_WRITE);
	mapped->arena = map_group(mapped->fd, header->arena_offset, header->arena_bytes, PROT_READ);
	if (!mapped->producer || !mapped->consumer || !mapped->arena)
		return -ENOMEM;
	for (int i = 0; i < WT_RING_MAX; i++) {
		struct wt_ring *ring = &mapped->ring[i];

		ring->cells = map_group(mapped->fd, header->cells_offset[i],
		                        header->cell_count[i] * WT_CELL_BYTES, PROT_READ);
		if (!ring->cells)
			return -ENOMEM;
		ring->mask = header->cell_count[i] - 1;
		ring->head = &mapped->consumer->head[i];
		/* Read-only memory: the consumer's functions only load from it. */
		ring->control = (struct wt_ring_control *)&mapped->producer->ring[i];
	}
	return 0;
}

static void unmap(void *at, uint64_t bytes)
{
	if (at)
		munmap(at, bytes);
}

void wt_segment_close(struct wt_mapped *mapped)
{
	unmap((void *)mapped->producer, WT_GROUP_BYTES);
	unmap(mapped->consumer, WT_GROUP_BYTES);
	unmap((void *)mapped->arena, mapped->header.arena_bytes);
	for (int i = 0; i < WT_RING_MAX; i++)
		unmap(mapped->ring[i].cells, mapped->header.cell_count[i] * WT_CELL_BYTES);
	if (mapped->fd >= 0)
		close(mapped->fd);
	mapped->fd = -1;
}

int wt_segment_open(int dir_fd, const char *name, struct wt_mapped *ret_mapped, char *why,
                    size_t why_bytes)
{
	struct wt_mapped mapped = {.fd = -1};
	struct stat status;
	int err = 0;

	snprintf(why, why_bytes, "can't be opened");
	mapped.fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (mapped.fd < 0)
		return -errno;
	if (fstat(mapped.fd, &status))
		err = -errno;
	else if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
		err = -EPERM;
	if (err == -EPERM)
		snprintf(why, why_bytes, "not a private file of this user");
	if (!err && flock(mapped.fd, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		snprintf(why, why_bytes, "another daemon drains it");
	}
	if (!err) {
		mapped.dev = status.st_dev;
		mapped.ino = status.st_ino;
		/* Its maker's own id: in another user namespace not ours, but that of the name. */
		err = read_header(mapped.fd, (uint64_t)status.st_size,
		                  (uint32_t)strtoul(name + strlen("wavetap-"), NULL, 10),
		                  &mapped.header, why, why_bytes);
	}
	if (!err) {
		err = map_groups(&mapped);
		if (err)
			snprintf(why, why_bytes, "can't be mapped");
	}
	if (err) {
		if (!mapped.producer)
			memset(&mapped.header, 0, sizeof(mapped.header));
		wt_segment_close(&mapped);
		return err;
	}
	*ret_mapped = mapped;
	/* The ring points into our own copy's mapping, which did not move. */
	return 0;
}

int wt_segment_tails(const struct wt_mapped *mapped, uint64_t ret_tails[WT_RING_MAX])
{
	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	/* Ring 1 first: a launch is in ring 0 before its kernel can be in ring 1. */
	ret_tails[WT_RING_ACTIVITY] = wt_ring_tail(&mapped->ring[WT_RING_ACTIVITY]);
	atomic_thread_fence(memory_order_acquire);
	ret_tails[WT_RING_CALLS] = wt_ring_tail(&mapped->ring[WT_RING_CALLS]);
	guard_is_on = 0;
	return 0;
}

int wt_segment_heads(const struct wt_mapped *mapped, uint64_t ret_heads[WT_RING_MAX])
{
	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	for (int i = 0; i < WT_RING_MAX; i++)
		ret_heads[i] = wt_load_acquire(&mapped->consumer->head[i]);
	guard_is_on = 0;
	return 0;
}

int wt_segment_release(const struct wt_mapped *mapped, const uint64_t heads[WT_RING_MAX],
                       uint64_t finished_ns, int64_t now_ns)
{
	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	for (int i = 0; i < WT_RING_MAX; i++)
		wt_ring_release(&mapped->ring[i], heads[i]);
	wt_store_relaxed(&mapped->consumer->daemon_pid, (uint64_t)getpid());
	wt_store_relaxed(&mapped->consumer->heartbeat_ns, (uint64_t)now_ns);
	wt_store_release(&mapped->consumer->finished_ns, finished_ns);
	guard_is_on = 0;
	return 0;
}

int wt_segment_run_key(const struct wt_mapped *mapped, char ret_key[WT_RUN_KEY_BYTES])
{
	uint64_t hash;

	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	hash = wt_load_acquire(&mapped->consumer->run_key_hash);
	memcpy(ret_key, mapped->consumer->run_key, WT_RUN_KEY_BYTES);
	guard_is_on = 0;
	ret_key[WT_RUN_KEY_BYTES - 1] = '\0';
	if (!ret_key[0] || hash != wt_fnv1a(ret_key, strlen(ret_key)))
		return -ENOENT;
	wt_text_mend(ret_key);
	return 0;
}

int wt_segment_settle_run_key(const struct wt_mapped *mapped, const char *key)
{
	size_t length = strlen(key);

	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	memcpy(mapped->consumer->run_key, key, length + 1);
	wt_store_release(&mapped->consumer->run_key_hash, wt_fnv1a(key, length));
	guard_is_on = 0;
	return 0;
}

int wt_segment_counters(const struct wt_mapped *mapped, struct wt_counters *ret_counters)
{
	const struct wt_producer *from = mapped->producer;

	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
#define COPY(field) ret_counters->field = wt_load_acquire(&from->field)
	COPY(finished_ns); /* first: set after everything else */
	COPY(launch_dropped);
	COPY(call_dropped);
	COPY(kernels_dropped_ring);
	COPY(links_dropped_ring);
	COPY(other_dropped_ring);
	COPY(launch_attempted);
	COPY(graph_launch_attempted);
	COPY(capture);
	COPY(reason);
	COPY(detail);
	COPY(armed_ns);
	COPY(cupti_version);
	COPY(driver_version);
	COPY(kernels_seen);
	COPY(kernels_dropped_cupti);
	COPY(records_unknown);
	COPY(names_dropped);
	COPY(entries_unknown);
	COPY(flush_cpu_ns);
	COPY(cupti_callback_ns);
	COPY(app_profiler_sessions);
	COPY(app_records_forwarded);
	COPY(arena_used_bytes);
	COPY(device_count);
	COPY(ranges_dropped);
	COPY(ranges_early);
	COPY(ranges_untracked);
	COPY(ranges_unbalanced);
	COPY(ranges_begun); /* after what it is the sum of */
	COPY(samples_dropped);
	COPY(sample_overflows);
	COPY(sample_interval_ns);
	COPY(sampler_detail);
	COPY(sampler_state);
	COPY(sampler_cpu_ns);
	COPY(samples_taken);
	COPY(profile_dropped);
	COPY(profile_cost_ns);
	COPY(profile_detail);
	COPY(profile_state);
	COPY(profiled_launches);
	COPY(hook_launch_ns);
	COPY(hook_calls_timed);
	COPY(hook_calls_ns);
	COPY(hook_long_ns);
	COPY(launching_threads);
	COPY(launching_thread_ns);
	COPY(hook_start_ns);
	COPY(cupti_callbacks);
	COPY(cupti_bytes);
	COPY(app_callback_ns);
	COPY(budget_ppm);
	COPY(budget_state);
	COPY(budget_stepped_ns);
	COPY(budget_cost_ppm);
	for (unsigned i = 0; i < WT_COST_BUCKETS; i++)
		ret_counters->hook_time[i] = wt_load_acquire(&from->hook_time[i]);
#undef COPY
	guard_is_on = 0;
	return 0;
}

int wt_segment_device(const struct wt_mapped *mapped, uint64_t index, struct wt_device *ret_device)
{
	if (index >= WT_DEVICES_MAX)
		return -EINVAL;
	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	memcpy(ret_device, &mapped->producer->device[index], sizeof(*ret_device));
	guard_is_on = 0;
	ret_device->name[sizeof(ret_device->name) - 1] = '\0';
	return 0;
}

int wt_segment_cupti_path(const struct wt_mapped *mapped, char ret_path[WT_TEXT_BYTES])
{
	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	memcpy(ret_path, mapped->producer->cupti_path, WT_TEXT_BYTES);
	guard_is_on = 0;
	ret_path[WT_TEXT_BYTES - 1] = '\0';
	return 0;
}

int wt_segment_cells(const struct wt_mapped *mapped, enum wt_ring_index ring, uint64_t pos,
                     size_t count, struct wt_cell *cells, size_t *ret_count)
{
	volatile size_t done = 0;

	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	while (done < count && wt_ring_peek(&mapped->ring[ring], pos + done, &cells[done]) == 0)
		done++;
	guard_is_on = 0;
	*ret_count = done;
	return 0;
}

int wt_segment_name(const struct wt_mapped *mapped, uint32_t id, char *name)
{
	uint64_t offset = (uint64_t)id * 8, room = mapped->header.arena_bytes;
	struct wt_name_entry entry;

	if (id == 0 || offset + sizeof(entry) > room)
		return -ENOENT;
	if (sigsetjmp(guard_place, 0))
		return -EFAULT;
	guard_is_on = 1;
	memcpy(&entry, mapped->arena + offset, sizeof(entry));
	if (entry.length > 0 && entry.length <= WT_NAME_BYTES_MAX &&
	    entry.length <= room - offset - sizeof(entry))
		memcpy(name, mapped->arena + offset + sizeof(entry), entry.length);
	else
		entry.length = 0;
	guard_is_on = 0;
	name[entry.length] = '\0';
	if (!entry.length || (uint32_t)wt_fnv1a(name, entry.length) != entry.hash)
		return -ENOENT;
	return 0;
}

/*
 * segment_file.c - makes the shared-memory file of a producer: of libwavetap.so, of wavetap-sampler.
 *
 * Reserve the memory, map it, fill the header; whoever asked for it publishes it by its magic. No
 * descriptor stays open, and a failure leaves no file.
 *
 * Once per process, on whatever thread needs the segment. Makes system calls; no heap.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "schema/wt_paths.h"

#define ARENA_SHARE 16 /* names get at least this part of the segment */
#define CELLS_MIN 512 /* per ring: then every offset is a multiple of the group size */

/* ---- sizes */

/* How many bytes the file may have: 0 = too few to be of use. Beyond the limit on file sizes
 * the kernel would kill the application (SIGXFSZ). */
static uint64_t choose_bytes(const char *setting, uint64_t bytes)
{
	struct rlimit limit;
	struct statvfs fs;

	if (setting && setting[0]) {
		bytes = wt_libc_strtoull(setting, NULL, 10);
		if (bytes > WT_SEGMENT_BYTES_MAX)
			bytes = WT_SEGMENT_BYTES_MAX;
	} else if (!statvfs(wt_path_shm_dir(), &fs)) {
		uint64_t share = (uint64_t)fs.f_bavail * fs.f_frsize / WT_SEGMENT_FREE_SHARE;

		if (share < bytes)
			bytes = share;
	}
	if (getrlimit(RLIMIT_FSIZE, &limit))
		return 0;
	if (limit.rlim_cur < bytes) /* RLIM_INFINITY is the greatest */
		bytes = limit.rlim_cur;
	bytes -= bytes % WT_GROUP_BYTES;
	return bytes < WT_SEGMENT_BYTES_MIN ? 0 : bytes;
}

/* Ring 1 gets twice the cells of ring 0: a launch makes a kernel record, its part of a link
 * record, and now and then a copy or a synchronisation. The arena gets the rest. A sampler has
 * use for ring 1 alone. */
static void lay_out(struct wt_segment_header *header, enum wt_producer_type producer,
                    uint64_t file_bytes)
{
	bool is_sampler = producer == WT_PRODUCER_SAMPLER;
	uint64_t room = file_bytes - WT_CELLS_OFFSET, cells = CELLS_MIN, more;

	room -= is_sampler ? WT_GROUP_BYTES : room / ARENA_SHARE;
	do {
		header->cell_count[WT_RING_CALLS] = is_sampler ? CELLS_MIN : cells;
		header->cell_count[WT_RING_ACTIVITY] = is_sampler ? cells : 2 * cells;
		cells *= 2;
		more = is_sampler ? CELLS_MIN + cells : 3 * cells;
	} while (more * WT_CELL_BYTES <= room);
	header->file_bytes = file_bytes;
	header->cells_offset[WT_RING_CALLS] = WT_CELLS_OFFSET;
	header->cells_offset[WT_RING_ACTIVITY] =
	        WT_CELLS_OFFSET + header->cell_count[WT_RING_CALLS] * WT_CELL_BYTES;
	header->arena_offset = header->cells_offset[WT_RING_ACTIVITY] +
	                       header->cell_count[WT_RING_ACTIVITY] * WT_CELL_BYTES;
	header->arena_bytes = file_bytes - header->arena_offset;
}

/* ---- the file */

static int segment_path(char *path, const char *data_dir)
{
	char suffix[128];
	uint64_t random;

	wt_facts_random(&random, sizeof(random));
	snprintf(suffix, sizeof(suffix), "-%llu-%d-%llu-%016llx.seg",
	         (unsigned long long)wt_facts_pid_namespace(), (int)wt_libc_pid(),
	         (unsigned long long)wt_facts_start_ticks(), (unsigned long long)random);
	return wt_path_shm(path, data_dir, suffix);
}

/* Reserves the memory now: a full /dev/shm is an error here instead of a SIGBUS later. What
 * is free may have shrunk since we looked, so halve before giving up. */
static int reserve(int fd, uint64_t *bytes)
{
	int err;

	do {
		err = posix_fallocate(fd, 0, (off_t)*bytes);
		if (err == ENOSPC) {
			*bytes = *bytes / 2 - *bytes / 2 % WT_GROUP_BYTES;
			/* what a failed attempt has taken is given back first */
			if (ftruncate(fd, 0))
				return -errno;
		}
	} while (err == EINTR || (err == ENOSPC && *bytes >= WT_SEGMENT_BYTES_MIN));
	return -err;
}

/*
 * The ranks of a job start at once, and each found all of it free: shrink to our share of what was left,
 * so that together they don't take what the job itself needs. A group more is no matter.
 */
static int leave_share(int fd, uint64_t *bytes)
{
	struct statvfs fs;

	while (!fstatvfs(fd, &fs)) {
		uint64_t share =
		        ((uint64_t)fs.f_bavail * fs.f_frsize + *bytes) / WT_SEGMENT_FREE_SHARE;

		if (*bytes <= share + WT_GROUP_BYTES)
			return 0;
		*bytes = share - share % WT_GROUP_BYTES;
		if (*bytes < WT_SEGMENT_BYTES_MIN)
			return -ENOSPC;
		if (ftruncate(fd, (off_t)*bytes))
			return -errno;
	}
	return 0;
}

/* Makes and maps the file. 0 and the mapping, or -errno and nothing left behind. */
static int make_file(const char *data_dir, bool is_size_given, uint64_t *bytes,
                     char path[WT_PATH_BYTES], void **ret_map)
{
	void *map = MAP_FAILED;
	int err = segment_path(path, data_dir);
	int fd;

	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0600) ? -errno : reserve(fd, bytes);
	if (!err && !is_size_given)
		err = leave_share(fd, bytes);
	if (!err) {
		map = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
		err = map == MAP_FAILED ? -errno : 0;
	}
	/* A child must not write into its parent's rings: see wt_fork_page. */
	if (!err && madvise(map, *bytes, MADV_DONTFORK)) {
		err = -errno;
		munmap(map, *bytes);
	}
	close(fd);
	if (err)
		unlink(path);
	else
		*ret_map = map;
	return err;
}

int wt_segment_file_make(const char *data_dir, enum wt_producer_type producer, uint64_t bytes,
                         char ret_path[WT_PATH_BYTES], void **ret_map)
{
	const char *setting =
	        producer == WT_PRODUCER_APPLICATION ? secure_getenv("WAVETAP_SHM_BYTES") : NULL;
	struct wt_segment_header *header;
	void *map = NULL;
	int err;

	bytes = choose_bytes(setting, bytes);
	if (!bytes)
		return -ENOSPC;
	err = make_file(data_dir, setting && setting[0], &bytes, ret_path, &map);
	if (err || !map)
		return err ? err : -ENOMEM; /* 0 comes with a mapping */
	header = map;
	lay_out(header, producer, bytes);
	header->abi = WT_SEGMENT_ABI;
	header->header_bytes = sizeof(*header);
	snprintf(header->data_dir, sizeof(header->data_dir), "%s", data_dir);
	header->producer = producer;
	wt_facts_fill(header);
	*ret_map = map;
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, uint64_t length, uint64_t offset)
{
	while (length) {
		ssize_t n = pwrite(fd, bytes, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		bytes += n;
		length -= (uint64_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int wt_segment_file_copy(const struct wt_segment_header *header)
{
	const uint8_t *map = (const uint8_t *)header;
	uint64_t after_magic = sizeof(header->magic);
	char path[WT_PATH_BYTES];
	int err = segment_path(path, header->data_dir);
	int fd;

	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0600) ? -errno : -posix_fallocate(fd, 0, (off_t)header->file_bytes);
	if (!err)
		err = write_all(fd, map + after_magic, header->file_bytes - after_magic,
		                after_magic);
	if (!err) /* last, as ever */
		err = write_all(fd, map, after_magic, 0);
	close(fd);
	if (err)
		unlink(path);
	return err;
}

void wt_segment_file_view(void *map, struct wt_view *view)
{
	const struct wt_segment_header *header = map;
	struct wt_consumer *consumer = (void *)((uint8_t *)map + WT_CONSUMER_OFFSET);

	view->header = map;
	view->producer = (void *)((uint8_t *)map + WT_PRODUCER_OFFSET);
	for (int i = 0; i < WT_RING_MAX; i++) {
		view->ring[i].control = &view->producer->ring[i];
		view->ring[i].head = &consumer->head[i];
		view->ring[i].cells = (void *)((uint8_t *)map + header->cells_offset[i]);
		view->ring[i].mask = header->cell_count[i] - 1;
	}
	view->arena = (uint8_t *)map + header->arena_offset;
	view->arena_bytes = header->arena_bytes;
	view->names = NULL;
	wt_store_relaxed(&view->producer->arena_used_bytes, 8);
}

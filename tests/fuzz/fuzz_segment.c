/*
 * fuzz_segment.c - a hostile producer: the daemon's scan, map, drain and store on a segment in
 * which every byte may be anything.
 *
 * The first byte: bit 7 the rest is the file itself, bit 0 the process is dead, bit 1 the file is
 * cut short between two rounds, bit 3 it is a sampler's. Then pieces that change a sound segment of two rings of 64 cells:
 *   0, 1  a whole cell for ring 0 or 1: kind, count (2), length, bytes, payload
 *   2     bytes at an offset of the file (3), one length byte
 *   3     a name for the arena: length, bytes
 *   4     a 64-bit value at an offset (2) of the producer's counters
 *   5     the daemon takes a round (1: so many tenths of a second later)
 *   6     claims cells without filling them: ring, count
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "tests/fuzz/fuzz.h"

#define CELLS 64
#define RINGS_OFFSET WT_CELLS_OFFSET
#define ARENA_OFFSET (RINGS_OFFSET + 2 * WT_GROUP_BYTES)
#define FILE_BYTES (ARENA_OFFSET + WT_GROUP_BYTES)

static uint8_t *segment; /* the producer's mapping of the file */
static char segment_path[WT_PATH_BYTES], runs_path[WT_PATH_BYTES];
static _Alignas(WT_GROUP_BYTES) uint8_t sound[FILE_BYTES];
static struct wt_daemon empty;

static void fill_header(struct wt_segment_header *header)
{
	uint64_t start = 0;
	int32_t parent;
	char state;

	*header = (struct wt_segment_header){
	        .magic = WT_SEGMENT_MAGIC,
	        .abi = WT_SEGMENT_ABI,
	        .header_bytes = sizeof(*header),
	        .file_bytes = FILE_BYTES,
	        .cells_offset = {RINGS_OFFSET, RINGS_OFFSET + WT_GROUP_BYTES},
	        .cell_count = {CELLS, CELLS},
	        .arena_offset = ARENA_OFFSET,
	        .arena_bytes = WT_GROUP_BYTES,
	        .pid = getpid(),
	        .uid = geteuid(),
	        .rank = -1,
	        .local_rank = -1,
	        .world_size = -1,
	        .created_realtime_ns = 1000000000000,
	        .hostname = "fuzz",
	        .run_key = "fuzz",
	        .run_tags = "a=b"};
	wt_proc_stat(getpid(), &parent, &start, &state);
	header->start_ticks = start;
}

static void fill_producer(struct wt_producer *producer)
{
	producer->device[0] = (struct wt_device){.name = "fuzz",
	                                         .cc_major = 9,
	                                         .sm_count = 132,
	                                         .warp_size = 32,
	                                         .max_threads_per_sm = 2048,
	                                         .max_blocks_per_sm = 32,
	                                         .max_threads_per_block = 1024,
	                                         .regs_per_sm = 65536,
	                                         .regs_per_block = 65536,
	                                         .smem_per_sm_bytes = 233472,
	                                         .smem_per_block_bytes = 49152};
	producer->device_count = 1;
	producer->arena_used_bytes = 8;
	producer->armed_ns = 1;
	producer->capture = WT_CAPTURE_FULL;
	producer->launch_attempted = 1000;
	producer->graph_launch_attempted = 1000;
}

static void start(void)
{
	char data_dir[WT_PATH_BYTES];

	fuzz_folder();
	wt_log_open("/dev/null");
	fuzz_check(wt_path_data_dir(data_dir) == 0, "a data directory");
	snprintf(empty.data_dir, sizeof(empty.data_dir), "%s", data_dir);
	snprintf(runs_path, sizeof(runs_path), "%s/runs", data_dir);
	wt_path_shm(segment_path, data_dir, "-");
	snprintf(empty.prefix, sizeof(empty.prefix), "%.200s", strrchr(segment_path, '/') + 1);
	wt_path_shm(segment_path, data_dir, "-1-1-1-00.seg");
	empty.dir_fd = open(wt_path_shm_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	empty.lock_fd = empty.epoll_fd = empty.signal_fd = empty.inotify_fd = empty.listen_fd = -1;
	empty.cells = malloc(WT_BATCH_CELLS * sizeof(*empty.cells));
	fill_header((struct wt_segment_header *)sound);
	fill_producer((struct wt_producer *)(sound + WT_PRODUCER_OFFSET));
}

/* ---- the producer */

static struct wt_ring ring_of(int index)
{
	struct wt_producer *producer = (struct wt_producer *)(segment + WT_PRODUCER_OFFSET);
	struct wt_consumer *consumer = (struct wt_consumer *)(segment + WT_CONSUMER_OFFSET);

	return (struct wt_ring){
	        .control = &producer->ring[index],
	        .head = &consumer->head[index],
	        .cells =
	                (struct wt_cell *)(segment + RINGS_OFFSET + (size_t)index * WT_GROUP_BYTES),
	        .mask = CELLS - 1,
	};
}

static void put_cell(struct fuzz_input *input, int index)
{
	static const uint16_t kinds[] = {WT_KIND_LAUNCH,  WT_KIND_CALL,      WT_KIND_KERNEL,
	                                 WT_KIND_COPY,    WT_KIND_SYNC,      WT_KIND_OVERHEAD,
	                                 WT_KIND_CONTEXT, WT_KIND_LINK,      WT_KIND_CLOCK,
	                                 WT_KIND_MAX,     WT_KIND_NONE,      WT_KIND_RANGE,
	                                 WT_KIND_SAMPLE,  WT_KIND_GPU_STATE, WT_KIND_PROFILE};
	struct wt_ring ring = ring_of(index);
	uint16_t kind = kinds[fuzz_integer(input, 1) % (sizeof(kinds) / sizeof(kinds[0]))];
	uint16_t count = (uint16_t)fuzz_integer(input, 2);
	uint32_t length = (uint32_t)fuzz_integer(input, 1);
	uint8_t payload[WT_CELL_PAYLOAD_BYTES] = {0};
	uint64_t pos;
	size_t bytes;
	const uint8_t *from = fuzz_some(input, fuzz_integer(input, 1) % 113, &bytes);

	memcpy(payload, from, bytes);
	if (wt_ring_reserve(&ring, 1, &pos))
		return;
	wt_ring_commit(&ring, pos, kind, count, payload, sizeof(payload));
	/* After it, since commit copies as much: any length. */
	wt_ring_cell(&ring, pos)->length = length == 0xff ? UINT32_MAX : length;
}

static void put_name(struct fuzz_input *input)
{
	struct wt_producer *producer = (struct wt_producer *)(segment + WT_PRODUCER_OFFSET);
	uint64_t at = producer->arena_used_bytes;
	struct wt_name_entry entry;
	size_t bytes;
	const uint8_t *from = fuzz_some(input, fuzz_integer(input, 1), &bytes);

	if (at > WT_GROUP_BYTES - 1024 || at % 8)
		return;
	entry.length = (uint32_t)bytes;
	entry.hash = (uint32_t)wt_fnv1a((const char *)from, bytes);
	memcpy(segment + ARENA_OFFSET + at, &entry, sizeof(entry));
	memcpy(segment + ARENA_OFFSET + at + sizeof(entry), from, bytes);
	producer->arena_used_bytes = (at + sizeof(entry) + bytes + 7) / 8 * 8;
}

static void put_bytes(struct fuzz_input *input)
{
	size_t at = fuzz_integer(input, 3) % FILE_BYTES, bytes;
	const uint8_t *from = fuzz_some(input, fuzz_integer(input, 1), &bytes);

	memcpy(segment + at, from, bytes < FILE_BYTES - at ? bytes : FILE_BYTES - at);
}

static void put_counter(struct fuzz_input *input)
{
	size_t at = fuzz_integer(input, 2) % (sizeof(struct wt_producer) / 8) * 8;
	uint64_t value = fuzz_integer(input, 8);

	memcpy(segment + WT_PRODUCER_OFFSET + at, &value, sizeof(value));
}

static void claim(struct fuzz_input *input)
{
	struct wt_ring ring = ring_of((int)fuzz_integer(input, 1) & 1);
	uint64_t pos;

	wt_ring_reserve(&ring, (uint32_t)fuzz_integer(input, 1) % CELLS + 1, &pos);
}

/* ---- the daemon */

static int64_t now_ns;

static void take_round(struct wt_daemon *daemon, int64_t later_ns)
{
	now_ns += later_ns;
	wt_scan(daemon, now_ns, true);
	wt_daemon_round(daemon, now_ns, false);
}

/* What holds for every run file, whatever the producer wrote. */
static void check_books(struct wt_process *process)
{
	sqlite3 *db = process->run->db;

	if (!db || !process->is_loaded)
		return;
	fuzz_check(wt_db_int(db,
	                     "SELECT count(*) FROM proc p WHERE launches_stored <> (SELECT "
	                     "count(*) FROM launch_call l WHERE l.process_id = p.process_id) OR "
	                     "kernels_stored <> (SELECT count(*) FROM kernel_exec e WHERE "
	                     "e.process_id = p.process_id)",
	                     -1) == 0,
	           "counters equal rows");
	fuzz_check(wt_db_int(db,
	                     "SELECT count(*) FROM sampler s WHERE samples_stored <> (SELECT "
	                     "ifnull(sum(samples), 0) FROM sample_chunk c WHERE c.sampler_id = "
	                     "s.sampler_id)",
	                     -1) == 0,
	           "samples counted equal samples stored");
}

static void end_daemon(struct wt_daemon *daemon)
{
	while (daemon->processes) {
		struct wt_process *process = daemon->processes;

		check_books(process);
		daemon->processes = process->next;
		wt_process_destroy(process);
	}
	while (daemon->runs) {
		struct wt_run *run = daemon->runs;

		daemon->runs = run->next;
		wt_run_destroy(run);
	}
	wt_scan_fini(daemon);
}

static void play(struct wt_daemon *daemon, struct fuzz_input *input)
{
	while (input->left) {
		switch (fuzz_integer(input, 1) % 7) {
		case 0:
			put_cell(input, 0);
			break;
		case 1:
			put_cell(input, 1);
			break;
		case 2:
			put_bytes(input);
			break;
		case 3:
			put_name(input);
			break;
		case 4:
			put_counter(input);
			break;
		case 5:
			take_round(daemon, (int64_t)fuzz_integer(input, 1) * 100 * WT_MS);
			break;
		default:
			claim(input);
		}
	}
}

static int make_segment(const struct fuzz_input *input, bool is_raw, unsigned how)
{
	int fd = open(segment_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct wt_segment_header *header;

	fuzz_check(fd >= 0, "the segment can be made");
	if (is_raw) {
		fuzz_check(write(fd, input->at, input->left) == (ssize_t)input->left, "written");
		return fd;
	}
	fuzz_check(write(fd, sound, sizeof(sound)) == (ssize_t)sizeof(sound), "written");
	segment = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fuzz_check(segment != MAP_FAILED, "mapped");
	header = (struct wt_segment_header *)segment;
	if (how & 8)
		header->producer = WT_PRODUCER_SAMPLER;
	if (how & 1)
		header->start_ticks++; /* another process had our pid */
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	unsigned how = (unsigned)fuzz_integer(&input, 1);
	bool is_raw = how & 0x80;
	struct wt_daemon daemon;
	int fd;

	if (!empty.cells) {
		start();
		wt_segment_guard_install();
	}
	daemon = empty;
	now_ns = 1000 * WT_SECOND;
	fd = make_segment(&input, is_raw, how);
	if (!is_raw)
		play(&daemon, &input);
	take_round(&daemon, WT_SECOND);
	if (how & 2)
		fuzz_check(ftruncate(fd, (how & 4) ? 65536 : 140000) == 0, "cut");
	for (int i = 0; i < 3; i++)
		take_round(&daemon, 2 * WT_SECOND);
	end_daemon(&daemon);
	if (!is_raw)
		munmap(segment, FILE_BYTES);
	close(fd);
	unlink(segment_path);
	fuzz_clear(runs_path);
	return 0;
}

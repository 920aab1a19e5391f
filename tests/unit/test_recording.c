/*
 * test_recording.c - the format of recordings.
 *
 *   1. what goes in comes out: all kinds, unknown ones, odd lengths, torn places, several blocks
 *   2. a restarted writer; positions that come twice are left out
 *   3. cut at every byte: the whole blocks before are there, and the rest is told
 *   4. every bit of a small file turned over; columns damaged below a right checksum
 *   5. heads of other versions and machines
 *   6. golden numbers
 */
#include <stdlib.h>

#include "schema/wt_paths.h"
#include "schema/wt_recording_impl.h"
#include "tests/tap.h"
#include "tests/unit/recording_case.h"

#define CELLS 3000

static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* A cell as a program makes them, or any bytes at all. */
static void make_cell(struct wt_cell *cell, enum wt_ring_index ring, uint64_t pos)
{
	static const uint16_t kinds[2][12] = {
	        {WT_KIND_LAUNCH, WT_KIND_LAUNCH, WT_KIND_CALL, WT_KIND_RANGE, 0, 77, WT_KIND_LAUNCH,
	         WT_KIND_CALL, WT_KIND_LAUNCH, WT_KIND_LAUNCH, WT_KIND_LAUNCH, WT_KIND_LAUNCH},
	        {WT_KIND_KERNEL, WT_KIND_COPY, WT_KIND_SYNC, WT_KIND_OVERHEAD, WT_KIND_CONTEXT,
	         WT_KIND_LINK, WT_KIND_CLOCK, 999, WT_KIND_SAMPLE, WT_KIND_SAMPLE,
	         WT_KIND_GPU_STATE, WT_KIND_PROFILE}};
	uint64_t r = random64();

	memset(cell, 0, sizeof(*cell));
	cell->kind = kinds[ring][r % 12];
	cell->count = cell->kind == WT_KIND_LINK || cell->kind == WT_KIND_SAMPLE
	                      ? (uint16_t)(r >> 8 & 7)
	                      : 1;
	cell->length = (r >> 16) % 5 ? WT_CELL_PAYLOAD_BYTES : (uint32_t)(r >> 20) % 200;
	if ((r >> 32) % 10 == 0)
		for (size_t i = 0; i < WT_CELL_PAYLOAD_BYTES; i += 8) {
			uint64_t word = random64();

			memcpy(cell->payload + i, &word, 8);
		}
	else
		for (size_t i = 0; i < 48; i += 8) {
			uint64_t word =
			        UINT64_C(1795970742000000000) + pos * 1000 + random64() % 900;

			memcpy(cell->payload + i, &word, 8);
		}
}

/* What a reader must give for it: nothing beyond its length. */
static void expect_cell(struct wt_cell *cell, uint64_t pos)
{
	if (cell->length < WT_CELL_PAYLOAD_BYTES)
		memset(cell->payload + cell->length, 0, WT_CELL_PAYLOAD_BYTES - cell->length);
	atomic_init(&cell->stamp, pos + 1);
}

static struct wt_recording_process make_process(void)
{
	struct wt_recording_process process = {
	        .pid = 4711, .ppid = 1, .arena_bytes = 1u << 20, .rank = -1, .start_ticks = 99};

	strcpy(process.run_key, "key");
	strcpy(process.command, "test --recording");
	return process;
}

struct stream {
	struct wt_recording_writer *writer;
	struct recording_file file;
	struct wt_recording_process process;
	uint64_t pos[WT_RING_MAX];
	struct wt_cell *want[WT_RING_MAX]; /* by position; stamp 0 = torn */
	size_t block_ends[64];
	unsigned blocks;
};

static void open_stream(struct stream *stream)
{
	memset(stream, 0, sizeof(*stream));
	stream->writer = wt_recording_writer_create();
	stream->process = make_process();
	for (int i = 0; i < WT_RING_MAX; i++)
		stream->want[i] = calloc(CELLS, sizeof(struct wt_cell));
	recording_begin(&stream->file);
}

static void close_stream(struct stream *stream)
{
	wt_recording_writer_destroy(stream->writer);
	recording_free(&stream->file);
	for (int i = 0; i < WT_RING_MAX; i++)
		free(stream->want[i]);
}

static int write_block(struct stream *stream, uint32_t flags, const uint64_t start[WT_RING_MAX])
{
	static struct wt_recording_facts facts;
	const uint8_t *bytes;
	size_t length;
	int err;

	memset(&facts, 0, sizeof(facts));
	facts.flags = flags;
	facts.now_ns = 1000 + stream->blocks;
	for (int i = 0; i < WT_RECORDING_COUNTER_MAX; i++)
		facts.counters[i] = (uint64_t)i * 1000 + stream->blocks;
	for (unsigned i = 0; i < WT_COST_BUCKETS; i++)
		facts.hook_time[i] = (uint64_t)i * 77 * stream->blocks;
	snprintf(facts.cupti_path, sizeof(facts.cupti_path), "/lib/libcupti.so.%u",
	         stream->blocks / 3);
	memcpy(facts.start_pos, start, sizeof(facts.start_pos));
	memcpy(facts.end_pos, stream->pos, sizeof(facts.end_pos));
	err = wt_recording_make_block(stream->writer, &stream->process, &facts, &bytes, &length);
	if (!err)
		recording_put(&stream->file, bytes, length);
	stream->block_ends[stream->blocks++] = stream->file.length;
	return err;
}

static int add_cells(struct stream *stream, enum wt_ring_index ring, size_t count, bool is_torn)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		uint64_t pos = stream->pos[ring]++;
		struct wt_cell cell;

		make_cell(&cell, ring, pos);
		if (is_torn && random64() % 20 == 0) {
			err = wt_recording_add_torn(stream->writer, ring, pos);
			continue;
		}
		err = wt_recording_add_cells(stream->writer, ring, &cell, 1);
		expect_cell(&cell, pos);
		memcpy(&stream->want[ring][pos], &cell, sizeof(cell));
	}
	return err;
}

/* Ten blocks with everything in them; the last one has torn places. */
static int write_all(struct stream *stream)
{
	int err = 0;

	for (unsigned i = 0; i < 10 && !err; i++) {
		uint64_t start[WT_RING_MAX] = {stream->pos[0], stream->pos[1]};
		struct wt_device device = {.ordinal = (int32_t)i, .sm_count = 132};

		if (i % 4 == 1)
			err = wt_recording_add_device(stream->writer, &device);
		if (!err)
			err = wt_recording_add_name(stream->writer, 1 + i * 8, "_Z6kernelPf", 11);
		if (!err)
			err = add_cells(stream, WT_RING_CALLS, 20 + i * 10, i == 9);
		if (!err)
			err = add_cells(stream, WT_RING_ACTIVITY, 10 + i * 30, i == 9);
		if (!err)
			err = write_block(
			        stream, i == 9 ? WT_RECORDING_DEAD | WT_RECORDING_OVER : 0, start);
	}
	return err;
}

static int compare_cells(const struct stream *stream, const struct wt_recording_block *block)
{
	int differing = 0;

	for (int ring = 0; ring < WT_RING_MAX; ring++) {
		size_t i = 0;

		for (uint64_t pos = block->facts.start_pos[ring]; pos < block->facts.end_pos[ring];
		     pos++) {
			const struct wt_cell *want = &stream->want[ring][pos];

			if (!want->stamp)
				continue;
			differing += i >= block->cell_count[ring] ||
			             memcmp(want, &block->cells[ring][i], sizeof(*want)) != 0;
			i++;
		}
		differing += i != block->cell_count[ring];
	}
	return differing;
}

static void test_round_trip(void)
{
	struct wt_recording_reader *reader;
	static struct wt_recording_block block;
	int differing = 0, counters = 0, devices = 0, names = 0, rc;
	struct stream stream;
	char why[160] = "";

	open_stream(&stream);
	is_i64(write_all(&stream), 0, "ten blocks are written");
	rc = wt_recording_reader_create(recording_read, &stream.file, &reader, why, sizeof(why));
	is_i64(rc, 0, "the head is read");
	for (unsigned i = 0; i < 10; i++) {
		rc = wt_recording_next(reader, &block, why, sizeof(why));
		if (rc != 1) {
			printf("# block %u: %s\n", i, why);
			break;
		}
		differing += compare_cells(&stream, &block);
		for (int c = 0; c < WT_RECORDING_COUNTER_MAX; c++)
			counters += block.facts.counters[c] != (uint64_t)c * 1000 + i;
		for (unsigned b = 0; b < WT_COST_BUCKETS; b++)
			counters += block.facts.hook_time[b] != (uint64_t)b * 77 * i;
		counters += block.facts.now_ns != 1000 + i;
		devices += (int)block.device_count;
		names += block.name_count == 1 && block.names[0].id == 1 + i * 8 &&
		         !memcmp(block.names[0].name, "_Z6kernelPf", 11);
	}
	is_i64(rc, 1, "all ten are read");
	is_i64(differing, 0, "every cell is as it was");
	is_i64(counters, 0, "every counter");
	is_i64(devices, 3, "every device");
	is_i64(names, 10, "every name");
	is_str(block.facts.cupti_path, "/lib/libcupti.so.3", "a path that changed");
	is_i64(block.facts.flags, WT_RECORDING_DEAD | WT_RECORDING_OVER, "flags");
	is_str(wt_recording_process_of(reader)->command, "test --recording", "the process");
	is_i64(wt_recording_next(reader, &block, why, sizeof(why)), 0, "and then the end");
	is_i64((int64_t)wt_recording_good_bytes(reader), (int64_t)stream.file.length,
	       "which is the file's");
	wt_recording_reader_destroy(reader);
	close_stream(&stream);
}

/* More shapes than the table holds: both sides start it afresh at the same cell. */
static void test_many_shapes(void)
{
	struct wt_recording_writer *writer = wt_recording_writer_create();
	const struct wt_recording_process process = make_process();
	static struct wt_recording_facts facts;
	struct recording_file file = {0};
	uint64_t cells, hash, want = 0;
	const uint8_t *bytes;
	size_t length;
	int err = 0, rc;

	recording_begin(&file);
	facts.now_ns = 1;
	facts.end_pos[0] = WT_RECORDING_SHAPES_MAX + 5000;
	for (uint64_t i = 0; i < facts.end_pos[0] && !err; i++) {
		struct wt_launch launch = {.seq = i, .stream = i, .entry_ns = 1000 * i};
		struct wt_cell cell = {
		        .kind = WT_KIND_LAUNCH, .count = 1, .length = sizeof(launch)};

		memcpy(cell.payload, &launch, sizeof(launch));
		err = wt_recording_add_cells(writer, WT_RING_CALLS, &cell, 1);
		expect_cell(&cell, i);
		want = want * 31 + wt_fnv1a(&cell, sizeof(cell));
	}
	if (!err)
		err = wt_recording_make_block(writer, &process, &facts, &bytes, &length);
	is_i64(err, 0, "70,536 shapes are written");
	recording_put(&file, bytes, length);
	is_i64(recording_read_all(&file, &rc, &cells, &hash), 1, "one block");
	ok(rc == 0 && cells == facts.end_pos[0] && hash == want, "the same cells come back");
	wt_recording_writer_destroy(writer);
	recording_free(&file);
}

/* A killed daemon's successor: knows only where the file ends, and what came before stays out. */
static void test_restart(void)
{
	struct wt_recording_block_head last;
	struct wt_recording_head head;
	uint64_t start[WT_RING_MAX], bytes, cells, hash;
	struct stream stream;
	char why[160];
	int rc;

	open_stream(&stream);
	write_all(&stream);
	is_i64(wt_recording_scan(recording_read, &stream.file, &head, &last, &bytes, why,
	                         sizeof(why)),
	       0, "a scan");
	ok(last.block_idx == 9 && bytes == stream.file.length && last.end_pos[1] == stream.pos[1] &&
	           last.flags & WT_RECORDING_OVER,
	   "finds the last block");
	wt_recording_writer_destroy(stream.writer);
	stream.writer = wt_recording_writer_create();
	wt_recording_continue(stream.writer, last.block_idx + 1);
	memcpy(start, stream.pos, sizeof(start));
	start[0] -= 30; /* read again, though it was told */
	stream.pos[0] -= 30;
	add_cells(&stream, WT_RING_CALLS, 50, false);
	add_cells(&stream, WT_RING_ACTIVITY, 40, false);
	is_i64(write_block(&stream, 0, start), 0, "a successor writes on");
	is_i64(recording_read_all(&stream.file, &rc, &cells, &hash), 11, "eleven blocks");
	is_i64(rc, 0, "all good");
	{
		uint64_t whole = 0;

		for (int ring = 0; ring < WT_RING_MAX; ring++)
			for (uint64_t pos = 0; pos < stream.pos[ring]; pos++)
				whole += stream.want[ring][pos].stamp != 0;
		/* Of the 30 that came twice some were torn the first time: these stay torn. */
		ok(cells <= whole && cells + 30 > whole, "no position comes twice");
	}
	/* A torn block at the end is not the end of the scan's world. */
	stream.file.length -= 7;
	stream.file.at = 0;
	is_i64(wt_recording_scan(recording_read, &stream.file, &head, &last, &bytes, why,
	                         sizeof(why)),
	       0, "a scan of a torn file");
	ok(last.block_idx == 9 && bytes == stream.block_ends[9], "stops at the last whole block");
	close_stream(&stream);
}

/* A small recording: few cells in three blocks. */
static void write_small(struct stream *stream)
{
	open_stream(stream);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t start[WT_RING_MAX] = {stream->pos[0], stream->pos[1]};

		wt_recording_add_name(stream->writer, 1 + i, "k", 1);
		add_cells(stream, WT_RING_CALLS, 4, false);
		add_cells(stream, WT_RING_ACTIVITY, 6, false);
		write_block(stream, 0, start);
	}
}

static void test_cut(void)
{
	int wrong = 0, silent = 0;
	struct stream stream;
	size_t length;

	write_small(&stream);
	length = stream.file.length;
	for (size_t cut = 0; cut < length; cut++) {
		unsigned want = 0, got;
		uint64_t cells, hash;
		bool is_between = cut == sizeof(struct wt_recording_head);
		int rc;

		for (unsigned i = 0; i < stream.blocks; i++) {
			want += stream.block_ends[i] <= cut;
			is_between |= stream.block_ends[i] == cut;
		}
		stream.file.length = cut;
		got = recording_read_all(&stream.file, &rc, &cells, &hash);
		wrong += got != want || cells != want * 10;
		silent += is_between ? rc != 0 : rc != -EBADMSG;
	}
	ok(length > 300, "a small file of %zu bytes, cut at each", length);
	is_i64(wrong, 0, "all whole blocks are read, and nothing else");
	is_i64(silent, 0, "a cut within a block is told");
	stream.file.length = length;
	close_stream(&stream);
}

static void test_flips(void)
{
	uint64_t want_cells, want_hash;
	int accepted = 0, rc;
	struct stream stream;

	write_small(&stream);
	recording_read_all(&stream.file, &rc, &want_cells, &want_hash);
	for (size_t bit = 0; bit < 8 * stream.file.length; bit++) {
		uint64_t cells, hash;

		stream.file.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		recording_read_all(&stream.file, &rc, &cells, &hash);
		accepted += rc == 0;
		stream.file.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	is_i64(accepted, 0, "no bit can be turned over unnoticed");
	close_stream(&stream);
}

/* Below a right checksum: columns turned over, cut, made longer. Nothing to say but: no crash. */
static void test_damaged_columns(void)
{
	unsigned good = 0, bad = 0;
	struct stream stream;
	uint8_t *raw, *copy;
	size_t length;

	write_small(&stream);
	raw = recording_unwrap(&stream.file, &length);
	copy = malloc(length + 64);
	for (int i = 0; i < 20000; i++) {
		uint64_t end_pos[WT_RING_MAX] = {4, 6}, cells, hash;
		struct recording_file file = {0};
		size_t used = length;
		int rc;

		memcpy(copy, raw, length);
		for (uint64_t changes = 1 + random64() % 4; changes > 0; changes--)
			copy[random64() % length] = (uint8_t)random64();
		if (i % 7 == 0)
			used = random64() % length;
		if (i % 5 == 0)
			end_pos[i % 2] = random64() % (i % 3 ? 20 : WT_RECORDING_CELLS_MAX);
		recording_begin(&file);
		recording_wrap(&file, 0, WT_RECORDING_RESET, end_pos, copy, used);
		recording_read_all(&file, &rc, &cells, &hash);
		good += rc == 0;
		bad += rc == -EBADMSG;
		recording_free(&file);
	}
	is_i64(good + bad, 20000, "20,000 damaged blocks are read or refused");
	ok(bad > 5000, "and many refused (%u)", bad);
	free(copy);
	free(raw);
	close_stream(&stream);
}

/* Memory for names is bounded, however many a few packed bytes hold. */
static void test_many_names(void)
{
	for (uint32_t more = 0; more < 2; more++) {
		struct wt_recording_writer *writer = wt_recording_writer_create();
		const struct wt_recording_process process = make_process();
		static struct wt_recording_facts facts;
		struct recording_file file = {0};
		uint64_t cells, hash;
		const uint8_t *bytes;
		size_t length;
		int err = 0, rc;

		recording_begin(&file);
		facts.now_ns = 1;
		for (uint32_t i = 0; i < WT_RECORDING_CELLS_MAX + more && !err; i++)
			err = wt_recording_add_name(writer, 1, "k", 1);
		if (!err)
			err = wt_recording_make_block(writer, &process, &facts, &bytes, &length);
		is_i64(err, 0, "a block of 262,144 names, or one more");
		recording_put(&file, bytes, length);
		is_i64(recording_read_all(&file, &rc, &cells, &hash), !more,
		       more ? "is more than a block's kernels have" : "may be");
		is_i64(rc, more ? -EBADMSG : 0, more ? "and refused" : "and is read");
		wt_recording_writer_destroy(writer);
		recording_free(&file);
	}
}

static void check_head(struct recording_file *file, int want, const char *says, const char *what)
{
	struct wt_recording_reader *reader = NULL;
	char why[160] = "";

	file->at = 0;
	is_i64(wt_recording_reader_create(recording_read, file, &reader, why, sizeof(why)), want,
	       what);
	ok(strstr(why, says) != NULL, "says: %s", why);
	wt_recording_reader_destroy(reader);
}

static void test_heads(void)
{
	struct recording_file file = {0};
	struct wt_recording_head *head;

	check_head(&file, -EBADMSG, "not a wavetap recording", "an empty file");
	recording_put(&file, "SQLite format 3", 16);
	check_head(&file, -EBADMSG, "not a wavetap recording", "another file");
	file.length = 0;
	recording_begin(&file);
	head = (struct wt_recording_head *)file.bytes;
	head->version = WT_RECORDING_VERSION + 1;
	head->crc = wt_recording_head_crc(head);
	check_head(&file, -ENOTSUP, "newer wavetap (format 5", "a newer version");
	head->version = 1;
	head->endian = __builtin_bswap32(WT_RECORDING_ENDIAN);
	check_head(&file, -ENOTSUP, "byte order", "another byte order");
	head->endian = WT_RECORDING_ENDIAN;
	check_head(&file, -EBADMSG, "damaged in its head", "a wrong checksum");
	file.length = 40;
	check_head(&file, -EBADMSG, "cut in its head", "a cut head");
	recording_free(&file);
}

static void test_golden(void)
{
	is_i64(WT_RECORDING_MAGIC & 0xff, 0x89, "the first byte is no text");
	is_i64(sizeof(struct wt_recording_head), 64, "head");
	is_i64(sizeof(struct wt_recording_block_head), 56, "head of a block");
	is_i64(sizeof(struct wt_recording_process), 3800, "process");
	is_i64(WT_RECORDING_VERSION, 4, "version");
	is_i64(WT_COLUMN_MAX, 90, "columns");
	is_i64(WT_COLUMNS_V2, 48, "columns of versions 1 and 2");
	is_i64(WT_RECORDING_PROCESS_BYTES_V2, 3784, "process of versions 1 and 2");
	is_i64(WT_RECORDING_COUNTER_MAX, 56, "counters");
	is_i64(WT_RECORDING_COUNTERS_V3, 42, "so many had version 3");
	is_i64(WT_RECORDING_COUNTERS_V2, 30, "so many had version 2");
	is_i64(WT_RECORDING_COUNTER_profile_detail, 41, "the last of them");
	is_i64(WT_RECORDING_COUNTER_device_count, 24, "the last one of version 1");
	is_i64(WT_RECORDING_COUNTERS_V1, 25, "so many had version 1");
	is_i64(WT_RECORDING_COUNTER_ranges_unbalanced, 29, "the last of version 2");
}

int main(void)
{
	test_round_trip();
	test_many_shapes();
	test_restart();
	test_cut();
	test_flips();
	test_damaged_columns();
	test_many_names();
	test_heads();
	test_golden();
	return tap_done();
}

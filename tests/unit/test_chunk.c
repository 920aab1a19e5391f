/*
 * test_chunk.c - chunks of rows: whatever goes in comes out, bit for bit; damage is refused, and never
 * read out of bounds (run under ASan, too). The rows that come out are compared with those that this
 * file kept itself.
 */
#include <errno.h>
#include <zlib.h>

#include "schema/wt_chunk.h"
#include "tests/tap.h"

static uint64_t state = 88172645463325252;

static uint64_t draw64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(draw64() >> 16) % below;
}

static int64_t rows[WT_CHUNK_ROWS][WT_CHUNK_COLUMNS];
static uint32_t nulls[WT_CHUNK_ROWS];
static uint8_t copy[1 << 20];
static size_t copy_bytes;
static struct wt_chunk_meta meta;
static uint8_t configs[65536];
static size_t configs_bytes;
static bool has_configs;

/* ---- kinds of values */

/* What a column of random rows is like. */
enum style { CONSTANT, FEW, STEADY, NOISE, BITS, EXTREME, PERIODIC, STYLE_MAX };

static int64_t draw_value(enum style style, int64_t before, uint32_t i)
{
	static const int64_t extremes[] = {INT64_MIN,     INT64_MAX,     0,   -1, 1,
	                                   INT64_MIN + 1, INT64_MAX - 1, 255, 256};

	switch (style) {
	case CONSTANT:
		return before;
	case FEW:
		return before / 16 * 8 + draw(5);
	case STEADY:
		return (int64_t)((uint64_t)before + 1000 + draw(100));
	case NOISE:
		return 5000 + draw(100000);
	case BITS:
		return (int64_t)draw64();
	case EXTREME:
		return extremes[draw(9)];
	default:
		return i % 37 * 1000;
	}
}

/* A column that follows another, as ends follow starts and SM-time follows durations. */
static void make_random(const struct wt_chunk_table *table, uint32_t count)
{
	enum style style[WT_CHUNK_COLUMNS];
	uint32_t null_in[WT_CHUNK_COLUMNS];
	bool is_whole_range = draw(8) == 0;

	for (unsigned c = 0; c < table->column_count; c++) {
		style[c] = draw(STYLE_MAX);
		null_in[c] = draw(3) ? 0 : draw(3) ? 1 + draw(6) : 1;
		rows[0][c] = (int64_t)(draw64() >> draw(64));
	}
	for (uint32_t i = 0; i < count; i++) {
		int64_t *row = rows[i];

		nulls[i] = 0;
		for (unsigned c = 0; c < table->column_count; c++) {
			row[c] = draw_value(style[c], rows[i ? i - 1 : 0][c], i);
			if (null_in[c] && draw(null_in[c]) == 0)
				nulls[i] |= UINT32_C(1) << c;
		}
		if (table->end >= 0 && draw(10))
			row[table->end] = (int64_t)((uint64_t)row[table->start] + draw(5000));
		row[table->id] = i                ? rows[i - 1][table->id] + 1 + draw(3)
		                 : is_whole_range ? INT64_MIN
		                                  : draw(1000);
		if (is_whole_range && i && i == count - 1)
			row[table->id] = INT64_MAX;
		nulls[i] &= ~(UINT32_C(1) << table->id);
		if (table->process >= 0) {
			row[table->process] = rows[0][table->process];
			nulls[i] &= ~(UINT32_C(1) << table->process);
		}
	}
}

/* ---- there and back */

/* Into copy, meta and configs. */
static int pack(struct wt_chunk_builder *builder, uint32_t count)
{
	const void *data, *said;
	int err;

	for (uint32_t i = 0; i < count; i++) {
		err = wt_chunk_add(builder, rows[i], nulls[i]);
		if (err)
			return err;
	}
	err = wt_chunk_encode(builder, &meta, &data, &copy_bytes, &said, &configs_bytes);
	if (err)
		return err;
	has_configs = said != NULL;
	if (copy_bytes > sizeof(copy) || configs_bytes > sizeof(configs))
		return -E2BIG;
	memcpy(copy, data, copy_bytes);
	if (said)
		memcpy(configs, said, configs_bytes);
	return 0;
}

static bool is_column_same(struct wt_chunk *chunk, unsigned column, uint32_t count)
{
	const int64_t *values;
	const uint8_t *is_null;

	if (wt_chunk_column(chunk, column, &values, &is_null))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		bool want_null = nulls[i] >> column & 1;

		if ((is_null && is_null[i]) != want_null ||
		    (!want_null && values[i] != rows[i][column]))
			return false;
	}
	return true;
}

/* All columns, asked for in a random order; and what is said of the rows. */
static bool is_same(enum wt_chunk_kind kind, uint32_t count)
{
	const struct wt_chunk_table *table = wt_chunk_table(kind);
	unsigned first = draw(table->column_count), step = draw(2) ? 1 : table->column_count - 1;
	struct wt_chunk *chunk = NULL;
	bool is_good = !wt_chunk_open(kind, copy, copy_bytes, &chunk) &&
	               wt_chunk_row_count(chunk) == count;

	for (unsigned k = 0; k < table->column_count && is_good; k++)
		is_good = is_column_same(chunk, (first + k * step) % table->column_count, count);
	is_good = is_good && !wt_chunk_decode_all(chunk);
	wt_chunk_close(chunk);
	return is_good;
}

static bool is_meta_true(enum wt_chunk_kind kind, uint32_t count)
{
	const struct wt_chunk_table *table = wt_chunk_table(kind);
	int columns[2] = {table->start, table->end};
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool has_times = false;

	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < 2 && columns[k] >= 0; k++) {
			int64_t at_ns = rows[i][columns[k]];

			if (nulls[i] >> columns[k] & 1)
				continue;
			has_times = true;
			least = at_ns < least ? at_ns : least;
			most = at_ns > most ? at_ns : most;
		}
	return meta.kind == kind && meta.rows == count && meta.first_id == rows[0][table->id] &&
	       meta.last_id == rows[count - 1][table->id] && meta.has_times == has_times &&
	       (!has_times || (meta.start_ns == least && meta.end_ns == most)) &&
	       (table->process < 0 || meta.process_id == rows[0][table->process]);
}

/* Those that are in it, and one that is not. */
static bool are_configs_true(enum wt_chunk_kind kind, uint32_t count)
{
	const struct wt_chunk_table *table = wt_chunk_table(kind);
	int64_t absent = 987654321987;

	if (table->config < 0)
		return !has_configs;
	if (!has_configs)
		return true;
	for (uint32_t i = 0; i < count; i++) {
		if (!wt_chunk_has_config(configs, configs_bytes, rows[i][table->config]))
			return false;
		if (rows[i][table->config] == absent)
			absent++;
	}
	return !wt_chunk_has_config(configs, configs_bytes, absent);
}

static void test_random(enum wt_chunk_kind kind, struct wt_chunk_builder *builder)
{
	static const uint32_t counts[] = {1, 2, 7, 8, 9, 255, 1023, 4095, WT_CHUNK_ROWS};
	const struct wt_chunk_table *table = wt_chunk_table(kind);
	unsigned bad = 0, bad_meta = 0, bad_configs = 0;

	for (int round = 0; round < 200; round++) {
		uint32_t count = round < 9 ? counts[round] : 1 + draw(round % 10 ? 300 : 4096);

		make_random(table, count);
		bad += pack(builder, count) || !is_same(kind, count);
		bad_meta += !is_meta_true(kind, count);
		bad_configs += !are_configs_true(kind, count);
	}
	is_i64(bad, 0, table->name);
	is_i64(bad_meta, 0, "  first, last, times");
	is_i64(bad_configs, 0, "  configurations");
}

static void test_builder(enum wt_chunk_kind kind, struct wt_chunk_builder *builder)
{
	const struct wt_chunk_table *table = wt_chunk_table(kind);
	const void *data, *said;
	size_t bytes, said_bytes;
	int64_t row[WT_CHUNK_COLUMNS] = {0};

	is_i64(wt_chunk_encode(builder, &meta, &data, &bytes, &said, &said_bytes), -EINVAL,
	       "no rows make no chunk");
	row[table->id] = 5;
	is_i64(wt_chunk_add(builder, row, 0), 0, "a row");
	is_i64(wt_chunk_add(builder, row, 0), -EINVAL, "the same id again");
	row[table->id] = 6;
	is_i64(wt_chunk_add(builder, row, UINT32_C(1) << table->id), -EINVAL, "no id");
	if (table->process >= 0) {
		row[table->process] = 1;
		is_i64(wt_chunk_add(builder, row, 0), -EINVAL, "another process");
		row[table->process] = 0;
	}
	for (uint32_t i = 1; i < WT_CHUNK_ROWS; i++, row[table->id]++)
		if (wt_chunk_add(builder, row, 0))
			break;
	is_i64(wt_chunk_rows(builder), WT_CHUNK_ROWS, "it takes so many");
	is_i64(wt_chunk_add(builder, row, 0), -ENOSPC, "and no more");
	is_i64(wt_chunk_encode(builder, &meta, &data, &bytes, &said, &said_bytes), 0,
	       "they are encoded");
	ok(bytes < 200, "rows that are all alike take %zu bytes", bytes);
	is_i64(wt_chunk_rows(builder), 0, "then it is empty");
}

/* ---- launches with jittered times */

static double draw_exponential(double mean)
{
	return -mean * log((draw(1u << 30) + 1) / (double)(1u << 30));
}

/* Of several configurations in random order: launches, and kernels that wait for each other. */
static void make_launches(enum wt_chunk_kind kind, uint32_t count, uint32_t kinds)
{
	int64_t at_ns = INT64_C(1795956192521816674);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t config = draw(kinds);
		int64_t *row = rows[i], duration_ns = 4000 + config * 700 + (int64_t)draw(400);

		memset(row, 0, sizeof(rows[i]));
		nulls[i] = 0;
		at_ns += 4000 + (int64_t)draw_exponential(3000);
		if (kind == WT_CHUNK_LAUNCH) {
			int64_t launch[] = {1,
			                    i,
			                    at_ns,
			                    at_ns + 1800 + draw(600),
			                    3,
			                    4711,
			                    1234567,
			                    0x7f0012345670,
			                    0x55550000 + config * 64,
			                    64 + config,
			                    1,
			                    1,
			                    256,
			                    1,
			                    1,
			                    0,
			                    0,
			                    0};

			memcpy(row, launch, sizeof(launch));
		} else {
			int64_t kernel[] = {1 + i,
			                    1,
			                    1 + config,
			                    at_ns,
			                    at_ns + duration_ns,
			                    1,
			                    7,
			                    1000 + 2 * i,
			                    0,
			                    0,
			                    i,
			                    1,
			                    duration_ns * (132 - 64 - config),
			                    (duration_ns * (5 + config) + 1) / 3,
			                    (duration_ns * (11 + config) + 3) / 7};

			memcpy(row, kernel, sizeof(kernel));
			nulls[i] = 3u << 8;
			at_ns += duration_ns;
		}
	}
}

/* Bytes a row. */
static double test_size(enum wt_chunk_kind kind, struct wt_chunk_builder *builder)
{
	bool is_good;

	make_launches(kind, WT_CHUNK_ROWS, 20);
	is_good = !pack(builder, WT_CHUNK_ROWS) && is_same(kind, WT_CHUNK_ROWS);
	ok(is_good, "%s of 20 configurations in random order: %.2f bytes a row",
	   wt_chunk_table(kind)->name, (double)copy_bytes / WT_CHUNK_ROWS);
	return (double)copy_bytes / WT_CHUNK_ROWS;
}

/* ---- damage */

static void seal(void)
{
	uLong crc = crc32(crc32(crc32(0, NULL, 0), copy, 4), copy + 8, (uInt)(copy_bytes - 8));

	for (int i = 0; i < 4; i++)
		copy[4 + i] = (uint8_t)(crc >> 8 * i);
}

/* Whatever comes of it: no crash, and what is said to be readable is. */
static int read_all(enum wt_chunk_kind kind, size_t bytes)
{
	struct wt_chunk *chunk = NULL;
	uint8_t *exact = malloc(bytes ? bytes : 1); /* so that ASan sees its end */
	int err;

	memcpy(exact, copy, bytes);
	err = wt_chunk_open(kind, exact, bytes, &chunk);
	if (!err)
		err = wt_chunk_decode_all(chunk);
	wt_chunk_close(chunk);
	free(exact);
	return err;
}

static void test_damage(enum wt_chunk_kind kind, struct wt_chunk_builder *builder)
{
	const struct wt_chunk_table *table = wt_chunk_table(kind);
	unsigned taken = 0, cut = 0, sealed = 0;
	uint32_t count = 200;

	make_random(table, count);
	if (kind != WT_CHUNK_SHARE && kind != WT_CHUNK_CALL)
		make_launches(kind, count, 20);
	ok(!pack(builder, count), "%s, to be damaged", table->name);
	for (size_t bit = 0; bit < 8 * copy_bytes; bit++) {
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		taken += !read_all(kind, copy_bytes);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	is_i64(taken, 0, "a bit of it changed: refused");
	for (size_t bytes = 0; bytes < copy_bytes; bytes++)
		cut += !read_all(kind, bytes);
	is_i64(cut, 0, "a part of it: refused");
	/* With a checksum that holds. */
	for (int round = 0; round < 4000; round++) {
		size_t at = draw(3) ? draw(60) % copy_bytes : draw((uint32_t)copy_bytes);
		uint8_t before = copy[at];

		copy[at] = draw(2) ? (uint8_t)draw64() : (uint8_t)(before + 1);
		seal();
		sealed += read_all(kind, copy_bytes) != 0;
		copy[at] = before;
	}
	seal();
	ok(sealed > 100, "with a right checksum: %u of 4000 refused", sealed);
	is_i64(read_all(kind, copy_bytes), 0, "and the chunk itself is as before");
	copy[0] = 2;
	seal();
	is_i64(read_all(kind, copy_bytes), -ENOTSUP, "of a newer version");
}

static void test_configs(void)
{
	uint8_t endless[20];

	memset(endless, 0xff, sizeof(endless));
	ok(wt_chunk_has_config(endless, sizeof(endless), 7), "damaged: it may be in it");
	ok(wt_chunk_has_config("\x80", 1, 7), "cut off: as well");
	ok(wt_chunk_has_config(NULL, 0, 7), "and where none are said");
	ok(wt_chunk_has_config("\x05\x02", 2, 7) && !wt_chunk_has_config("\x05\x02", 2, 6),
	   "5 and 7");
}

int main(void)
{
	struct wt_chunk_builder *builder[WT_CHUNK_KIND_MAX] = {NULL};
	double bytes;

	is_i64(wt_chunk_builder_new((enum wt_chunk_kind)5, &builder[0]), -EINVAL, "no such kind");
	for (int kind = WT_CHUNK_KERNEL; kind < WT_CHUNK_KIND_MAX; kind++) {
		if (wt_chunk_builder_new(kind, &builder[kind]))
			return 1;
		test_builder(kind, builder[kind]);
		test_random(kind, builder[kind]);
		test_damage(kind, builder[kind]);
	}
	bytes = test_size(WT_CHUNK_KERNEL, builder[WT_CHUNK_KERNEL]) +
	        test_size(WT_CHUNK_LAUNCH, builder[WT_CHUNK_LAUNCH]);
	ok(bytes <= 14, "together: %.2f bytes a launch", bytes);
	test_configs();
	for (int kind = WT_CHUNK_KERNEL; kind < WT_CHUNK_KIND_MAX; kind++)
		wt_chunk_builder_free(builder[kind]);
	return tap_done();
}

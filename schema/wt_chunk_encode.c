/*
 * wt_chunk_encode.c - see wt_chunk.h: rows become a chunk. Any thread; does not block.
 *
 * Each column is stored in the way that takes least. Columns that repeat together (what a launch
 * launches, who launches) are entries of a table, and each row says which; times are steps and
 * durations, durations what they are above the least of their entry; SM-time goes with the duration.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_chunk_write.h"

#define LEVEL 1
#define WINDOW_BITS 13
#define MEMORY_LEVEL 6
#define CONFIGS_MAX 512u /* said of a chunk: beyond, it is read for each */

int wt_chunk_builder_new(enum wt_chunk_kind kind, struct wt_chunk_builder **ret_builder)
{
	const struct chunk_layout *layout = wt_chunk_layout(kind);
	struct wt_chunk_builder *b;

	if (!layout)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->layout = layout;
	b->kind = kind;
	b->blob = malloc(CHUNK_BYTES_MAX);
	b->configs = malloc(CONFIGS_MAX * VARINT_BYTES);
	if (!b->blob || !b->configs ||
	    deflateInit2(&b->deflate, LEVEL, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL,
	                 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(b->blob);
		free(b->configs);
		free(b);
		return -ENOMEM;
	}
	*ret_builder = b;
	return 0;
}

void wt_chunk_builder_free(struct wt_chunk_builder *b)
{
	if (!b)
		return;
	deflateEnd(&b->deflate);
	free(b->blob);
	free(b->configs);
	free(b);
}

uint32_t wt_chunk_rows(const struct wt_chunk_builder *b)
{
	return b->rows;
}

int wt_chunk_add(struct wt_chunk_builder *b, const int64_t *row, uint32_t nulls)
{
	const struct wt_chunk_table *table = &b->layout->table;
	uint32_t n = b->rows, last = n - 1;

	if (n == WT_CHUNK_ROWS)
		return -ENOSPC;
	if (nulls >> table->id & 1 || (n && row[table->id] <= b->column[table->id][last]))
		return -EINVAL;
	if (table->process >= 0 && (nulls >> table->process & 1 ||
	                            (n && row[table->process] != b->column[table->process][last])))
		return -EINVAL;
	for (unsigned c = 0; c < table->column_count; c++)
		b->column[c][n] = row[c];
	b->nulls[n] = nulls & ((UINT32_C(1) << table->column_count) - 1);
	b->any_nulls |= b->nulls[n];
	b->rows = n + 1;
	return 0;
}

/* ---- before the columns are stored */

static bool has_value(const struct wt_chunk_builder *b, unsigned column, uint32_t row)
{
	return !(b->nulls[row] >> column & 1);
}

/* Of the rows, while their columns are as they came. */
static void describe(const struct wt_chunk_builder *b, struct wt_chunk_meta *meta)
{
	const struct wt_chunk_table *table = &b->layout->table;
	int columns[2] = {table->start, table->end};

	*meta = (struct wt_chunk_meta){
	        .kind = b->kind,
	        .process_id = table->process >= 0 ? b->column[table->process][0] : 0,
	        .first_id = b->column[table->id][0],
	        .last_id = b->column[table->id][b->rows - 1],
	        .rows = b->rows,
	};
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < b->rows && columns[k] >= 0; i++) {
			int64_t at_ns = b->column[columns[k]][i];

			if (!has_value(b, (unsigned)columns[k], i))
				continue;
			if (!meta->has_times || at_ns < meta->start_ns)
				meta->start_ns = at_ns;
			if (!meta->has_times || at_ns > meta->end_ns)
				meta->end_ns = at_ns;
			meta->has_times = true;
		}
}

/* In the place of a NULL: what stands before, or first. */
static void fill_nulls(struct wt_chunk_builder *b, unsigned column)
{
	int64_t *values = b->column[column], value = 0;

	if (!(b->any_nulls >> column & 1))
		return;
	for (uint32_t i = 0; i < b->rows; i++)
		if (has_value(b, column, i)) {
			value = values[i];
			break;
		}
	for (uint32_t i = 0; i < b->rows; i++)
		if (has_value(b, column, i))
			value = values[i];
		else
			values[i] = value;
}

/* The column where a row ends, as duration. */
static void make_durations(struct wt_chunk_builder *b)
{
	const struct wt_chunk_table *table = &b->layout->table;
	const int64_t *start = b->column[table->start];
	int64_t *end = b->column[table->end];

	for (uint32_t i = 0; i < b->rows; i++)
		if (has_value(b, (unsigned)table->end, i))
			end[i] = (int64_t)((uint64_t)end[i] - (uint64_t)start[i]);
	fill_nulls(b, (unsigned)table->end);
}

static void prepare_columns(struct wt_chunk_builder *b)
{
	const struct wt_chunk_table *table = &b->layout->table;

	b->constant = 0;
	for (unsigned c = 0; c < table->column_count; c++) {
		if ((int)c != table->end)
			fill_nulls(b, c);
		else
			make_durations(b); /* it stands behind the start */
		if (b->rows == 1 || !memcmp(b->column[c], b->column[c] + 1,
		                            (b->rows - 1) * sizeof(b->column[c][0])))
			b->constant |= UINT32_C(1) << c;
	}
}

/* ---- columns that repeat together */

static uint32_t hash_row(const struct wt_chunk_builder *b, const unsigned *columns, unsigned count,
                         uint32_t nulls, uint32_t row)
{
	uint64_t hash = nulls;

	for (unsigned k = 0; k < count; k++)
		if (!(nulls >> columns[k] & 1))
			hash = (hash ^ (uint64_t)b->column[columns[k]][row]) *
			       UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 32);
}

static bool are_same(const struct wt_chunk_builder *b, const unsigned *columns, unsigned count,
                     uint32_t nulls, uint32_t row, uint32_t other)
{
	for (unsigned k = 0; k < count; k++)
		if (!(nulls >> columns[k] & 1) &&
		    b->column[columns[k]][row] != b->column[columns[k]][other])
			return false;
	return true;
}

static void find_entries(struct wt_chunk_builder *b, unsigned group)
{
	uint32_t bits = b->layout->group[group];
	unsigned columns[WT_CHUNK_COLUMNS], count = 0, entries = 0;

	for (unsigned c = 0; c < b->layout->table.column_count; c++)
		if (bits >> c & 1 && !(b->constant >> c & 1))
			columns[count++] = c;
	memset(b->slots, 0, sizeof(b->slots));
	b->entries[group] = 0;
	for (uint32_t i = 0; i < b->rows; i++) {
		uint32_t nulls = b->nulls[i] & bits;
		uint32_t slot = hash_row(b, columns, count, nulls, i) % CHUNK_SLOTS;
		unsigned entry;

		for (; b->slots[slot]; slot = (slot + 1) % CHUNK_SLOTS) {
			uint32_t other = b->entry_row[group][b->slots[slot] - 1];

			if ((b->nulls[other] & bits) == nulls &&
			    are_same(b, columns, count, nulls, i, other))
				break;
		}
		if (!b->slots[slot]) {
			if (entries == CHUNK_ENTRIES)
				return;
			b->entry_row[group][entries++] = (uint16_t)i;
			b->slots[slot] = (uint16_t)entries;
		}
		entry = b->slots[slot] - 1u;
		b->entry_of[group][i] = (uint16_t)entry;
	}
	b->entries[group] = entries;
}

static size_t put_group(struct wt_chunk_builder *b, unsigned group, uint8_t *to)
{
	size_t n;

	if (!b->entries[group])
		return 0;
	for (uint32_t i = 0; i < b->rows; i++)
		b->values[i] = b->entry_of[group][i];
	n = put_varint(to, b->entries[group]);
	return n + wt_chunk_put_vector(b, b->values, b->rows, NULL, to + n);
}

/* ---- columns */

static const uint8_t *nulls_of_rows(struct wt_chunk_builder *b, unsigned column)
{
	if (!(b->any_nulls >> column & 1))
		return NULL;
	for (uint32_t i = 0; i < b->rows; i++)
		b->null_bytes[i] = (uint8_t)(b->nulls[i] >> column & 1);
	return b->null_bytes;
}

static size_t put_rows(struct wt_chunk_builder *b, unsigned column, enum column_mode mode,
                       const int64_t *values, uint8_t *to)
{
	to[0] = (uint8_t)mode;
	return 1 + wt_chunk_put_vector(b, values, b->rows, nulls_of_rows(b, column), to + 1);
}

static size_t put_by_entry(struct wt_chunk_builder *b, unsigned column, unsigned group, uint8_t *to)
{
	bool has_nulls = false;

	for (unsigned e = 0; e < b->entries[group]; e++) {
		uint32_t row = b->entry_row[group][e];

		b->by_entry[e] = b->column[column][row];
		b->null_bytes[e] = !has_value(b, column, row);
		has_nulls = has_nulls || b->null_bytes[e];
	}
	to[0] = MODE_ENTRY;
	return 1 + wt_chunk_put_vector(b, b->by_entry, b->entries[group],
	                               has_nulls ? b->null_bytes : NULL, to + 1);
}

/* As steps from the end of the row before: of kernels that wait for each other little is left. */
static size_t put_start(struct wt_chunk_builder *b, unsigned column, uint8_t *to)
{
	const int64_t *start = b->column[column], *duration = b->column[b->layout->table.end];
	uint64_t step_bits = 0, delta_bits = 0;
	size_t n = 1;

	for (uint32_t i = 1; i < b->rows; i++) {
		uint64_t delta = (uint64_t)start[i] - (uint64_t)start[i - 1];

		b->values[i] = (int64_t)(delta - (uint64_t)duration[i - 1]);
		step_bits += bit_count(zigzag((uint64_t)b->values[i]));
		delta_bits += bit_count(zigzag(delta));
	}
	if (b->rows == 1 || delta_bits <= step_bits)
		return put_rows(b, column, MODE_VALUE, start, to);
	b->values[0] = b->values[1];
	to[0] = MODE_STEP;
	n += put_varint(to + n, zigzag((uint64_t)start[0]));
	return n + wt_chunk_put_vector(b, b->values, b->rows, nulls_of_rows(b, column), to + n);
}

/* What is left of rows that have no value is nothing. */
static void clear_nulls(const struct wt_chunk_builder *b, unsigned column, int64_t *rest)
{
	if (!(b->any_nulls >> column & 1))
		return;
	for (uint32_t i = 0; i < b->rows; i++)
		if (!has_value(b, column, i))
			rest[i] = 0;
}

/* An entry for all rows, and what rows have besides; unless the rows by themselves take no more. */
static size_t put_with_entries(struct wt_chunk_builder *b, unsigned column, enum column_mode mode,
                               unsigned shift, uint8_t *to)
{
	unsigned entries = b->entries[0];
	size_t n = 1;

	if (wt_chunk_cost(b->rest, b->rows) + UINT64_C(16) * entries >=
	    wt_chunk_cost(b->column[column], b->rows))
		return put_rows(b, column, MODE_VALUE, b->column[column], to);
	to[0] = (uint8_t)mode;
	if (mode == MODE_SCALED)
		to[n++] = (uint8_t)shift;
	n += wt_chunk_put_vector(b, b->by_entry, entries, NULL, to + n);
	return n + wt_chunk_put_vector(b, b->rest, b->rows, nulls_of_rows(b, column), to + n);
}

/* What stands in the place of a NULL is kept as it is: starts and scaled columns build on it. */
static size_t put_duration(struct wt_chunk_builder *b, unsigned column, uint8_t *to)
{
	const int64_t *values = b->column[column];
	unsigned entries = b->layout->groups ? b->entries[0] : 0;

	if (entries < 2)
		return put_rows(b, column, MODE_VALUE, values, to);
	for (unsigned e = 0; e < entries; e++)
		b->by_entry[e] = b->column[column][b->entry_row[0][e]];
	for (uint32_t i = 0; i < b->rows; i++) {
		int64_t *least = &b->by_entry[b->entry_of[0][i]];

		*least = values[i] < *least ? values[i] : *least;
	}
	for (uint32_t i = 0; i < b->rows; i++)
		b->rest[i] =
		        (int64_t)((uint64_t)values[i] - (uint64_t)b->by_entry[b->entry_of[0][i]]);
	return put_with_entries(b, column, MODE_BASE, 0, to);
}

/*
 * SM-time over duration, by entry, times 2^shift: where it is a whole multiple, or one that was rounded,
 * nothing is left of the rows. Any value would do; this one lies in all intervals that rounding leaves.
 */
static unsigned find_ratios(struct wt_chunk_builder *b, unsigned column)
{
	const int64_t *values = b->column[column];
	const int64_t *duration = b->column[b->layout->table.end];
	double low[CHUNK_ENTRIES], high[CHUNK_ENTRIES], most;
	unsigned entries = b->entries[0], shift;
	uint64_t all = 0;

	for (uint32_t i = 0; i < b->rows; i++)
		all |= values[i] > 0 ? (uint64_t)values[i] : 0;
	shift = bit_count(all) > 61 ? 0 : 61 - bit_count(all);
	shift = shift > 40 ? 40 : shift;
	most = (double)(UINT64_C(1) << (61 - shift));
	for (unsigned e = 0; e < entries; e++) {
		low[e] = 0;
		high[e] = most;
	}
	for (uint32_t i = 0; i < b->rows; i++) {
		unsigned e = b->entry_of[0][i];
		double reciprocal, from, to;

		if (values[i] < 0 || duration[i] <= 0 || !has_value(b, column, i))
			continue;
		reciprocal = 1.0 / (double)duration[i];
		from = ((double)values[i] - 0.5) * reciprocal;
		to = ((double)values[i] + 0.5) * reciprocal;
		low[e] = from > low[e] ? from : low[e];
		high[e] = to < high[e] ? to : high[e];
	}
	for (unsigned e = 0; e < entries; e++) {
		double middle = high[e] < most ? (low[e] + high[e]) / 2 : 0;

		middle = middle < most ? middle : most;
		b->by_entry[e] = (int64_t)(middle * (double)(UINT64_C(1) << shift));
	}
	return shift;
}

static size_t put_scaled(struct wt_chunk_builder *b, unsigned column, uint8_t *to)
{
	const int64_t *values = b->column[column];
	const int64_t *duration = b->column[b->layout->table.end];
	unsigned shift;

	if (!b->entries[0])
		return put_rows(b, column, MODE_VALUE, values, to);
	shift = find_ratios(b, column);
	for (uint32_t i = 0; i < b->rows; i++)
		b->rest[i] = (int64_t)((uint64_t)values[i] -
		                       scaled_value((uint64_t)b->by_entry[b->entry_of[0][i]],
		                                    (uint64_t)duration[i], shift));
	clear_nulls(b, column, b->rest);
	return put_with_entries(b, column, MODE_SCALED, shift, to);
}

static size_t put_column(struct wt_chunk_builder *b, unsigned column, uint8_t *to)
{
	const struct chunk_layout *layout = b->layout;
	bool is_constant = b->constant >> column & 1;

	if ((int)column == layout->table.start)
		return put_start(b, column, to);
	if ((int)column == layout->table.end)
		return put_duration(b, column, to);
	for (unsigned g = 0; g < layout->groups && !is_constant; g++)
		if (layout->group[g] >> column & 1 && b->entries[g])
			return put_by_entry(b, column, g, to);
	if (layout->scaled >> column & 1 && !is_constant)
		return put_scaled(b, column, to);
	return put_rows(b, column, MODE_VALUE, b->column[column], to);
}

/* ---- the whole */

static int by_value(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Which configurations are in it; 0: more than are said. */
static size_t put_configs(struct wt_chunk_builder *b)
{
	unsigned column = (unsigned)b->layout->table.config;
	uint32_t count = b->entries[0] ? b->entries[0] : b->rows, said = 0;
	uint64_t before = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		b->values[i] = b->column[column][b->entries[0] ? b->entry_row[0][i] : i];
	qsort(b->values, count, sizeof(b->values[0]), by_value);
	for (uint32_t i = 0; i < count; i++) {
		if (i && b->values[i] == b->values[i - 1])
			continue;
		if (said++ == CONFIGS_MAX)
			return 0;
		n += put_varint(b->configs + n, (uint64_t)b->values[i] - before);
		before = (uint64_t)b->values[i];
	}
	return n;
}

/* Head, directory, sections: the directory is written when the lengths are known. */
static size_t put_chunk(struct wt_chunk_builder *b)
{
	const struct chunk_layout *layout = b->layout;
	unsigned sections = layout->groups + layout->table.column_count;
	uint8_t directory[CHUNK_SECTIONS * VARINT_BYTES] = {0},
	                                   *body = b->blob + CHUNK_HEAD_BYTES + sizeof(directory);
	size_t directory_bytes = 0, body_bytes = 0;
	uLong crc;

	for (unsigned s = 0; s < sections; s++) {
		size_t bytes = s < layout->groups
		                       ? put_group(b, s, body + body_bytes)
		                       : put_column(b, s - layout->groups, body + body_bytes);

		directory_bytes += put_varint(directory + directory_bytes, bytes);
		body_bytes += bytes;
	}
	b->blob[0] = CHUNK_VERSION;
	b->blob[1] = (uint8_t)b->kind;
	b->blob[2] = (uint8_t)b->rows;
	b->blob[3] = (uint8_t)(b->rows >> 8);
	memcpy(b->blob + CHUNK_HEAD_BYTES, directory, directory_bytes);
	memmove(b->blob + CHUNK_HEAD_BYTES + directory_bytes, body, body_bytes);
	crc = crc32(crc32(0, NULL, 0), b->blob, CHUNK_CRC_AT);
	crc = crc32(crc, b->blob + CHUNK_HEAD_BYTES, (uInt)(directory_bytes + body_bytes));
	for (int i = 0; i < 4; i++)
		b->blob[CHUNK_CRC_AT + i] = (uint8_t)(crc >> 8 * i);
	return CHUNK_HEAD_BYTES + directory_bytes + body_bytes;
}

int wt_chunk_encode(struct wt_chunk_builder *b, struct wt_chunk_meta *ret_meta,
                    const void **ret_data, size_t *ret_bytes, const void **ret_configs,
                    size_t *ret_configs_bytes)
{
	size_t configs_bytes = 0;

	if (!b->rows)
		return -EINVAL;
	describe(b, ret_meta);
	prepare_columns(b);
	for (unsigned g = 0; g < b->layout->groups; g++)
		find_entries(b, g);
	*ret_bytes = put_chunk(b);
	*ret_data = b->blob;
	if (b->layout->table.config >= 0 && !(b->any_nulls >> b->layout->table.config & 1))
		configs_bytes = put_configs(b);
	*ret_configs = configs_bytes ? b->configs : NULL;
	*ret_configs_bytes = configs_bytes;
	b->rows = 0;
	b->any_nulls = 0;
	return 0;
}

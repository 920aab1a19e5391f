/*
 * wt_chunk_decode.c - see wt_chunk.h: chunks become rows, a column at a time. Every byte is hostile. Any
 * thread; does not block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "schema/wt_chunk_impl.h"

struct section {
	uint32_t at, bytes;
};

struct wt_chunk {
	const struct chunk_layout *layout;
	uint32_t rows;
	struct section group[CHUNK_GROUPS], column[WT_CHUNK_COLUMNS];
	uint32_t entries[CHUNK_GROUPS];
	uint16_t *entry_of[CHUNK_GROUPS]; /* NULL: not decoded */
	int64_t *values[WT_CHUNK_COLUMNS]; /* NULL: not decoded. As stored: durations */
	int64_t *ends; /* NULL: not made */
	uint8_t *nulls[WT_CHUNK_COLUMNS];
	uint8_t plane[WT_CHUNK_ROWS]; /* scratch */
	int64_t by_entry[CHUNK_ENTRIES];
	uint8_t entry_nulls[CHUNK_ENTRIES];
	z_stream inflate;
	size_t bytes;
	uint8_t data[]; /* the blob */
};

/* What is left of a section; reading beyond it makes it bad, and gives zeros. */
struct reader {
	const uint8_t *at;
	size_t left;
	bool is_bad;
};

static const uint8_t *take_bytes(struct reader *in, size_t bytes)
{
	const uint8_t *at = in->at;

	if (bytes > in->left) {
		in->is_bad = true;
		in->left = 0;
		return NULL;
	}
	in->at += bytes;
	in->left -= bytes;
	return at;
}

static unsigned take_byte(struct reader *in)
{
	const uint8_t *at = take_bytes(in, 1);

	return at ? *at : 0;
}

static uint64_t take_number(struct reader *in)
{
	uint64_t value = 0;
	size_t n = take_varint(in->at, in->left, &value);

	if (!n)
		in->is_bad = true;
	take_bytes(in, n);
	return value;
}

/* ---- vectors */

static void take_deflated(struct wt_chunk *chunk, struct reader *in, uint32_t count)
{
	unsigned low = take_byte(in);
	size_t bytes = low | take_byte(in) << 8;
	const uint8_t *from = take_bytes(in, bytes);
	z_stream *stream = &chunk->inflate;

	if (!from || inflateReset(stream) != Z_OK) {
		in->is_bad = true;
		return;
	}
	stream->next_in = (uint8_t *)from;
	stream->avail_in = (uInt)bytes;
	stream->next_out = chunk->plane;
	stream->avail_out = count;
	if (inflate(stream, Z_FINISH) != Z_STREAM_END || stream->avail_in || stream->avail_out)
		in->is_bad = true;
}

/* `count` bytes, which stay until the next plane; zeros where the input is bad. */
static const uint8_t *take_plane(struct wt_chunk *chunk, struct reader *in, uint32_t count)
{
	unsigned kind = take_byte(in);
	const uint8_t *raw;

	if (kind == PLANE_RAW) {
		raw = take_bytes(in, count);
		if (raw)
			return raw;
	} else if (kind == PLANE_SAME) {
		memset(chunk->plane, (int)take_byte(in), count);
		return chunk->plane;
	} else if (kind == PLANE_DEFLATE) {
		take_deflated(chunk, in, count);
		if (!in->is_bad)
			return chunk->plane;
	}
	in->is_bad = true;
	memset(chunk->plane, 0, count);
	return chunk->plane;
}

static void add_steps(int64_t *values, uint32_t count, uint64_t base, uint64_t first)
{
	uint64_t value = first;

	values[0] = (int64_t)value;
	for (uint32_t i = 1; i < count; i++) {
		value += (uint64_t)values[i] + base;
		values[i] = (int64_t)value;
	}
}

/* `nulls` has a byte for each value; *ret_has_nulls says whether one is set there. NULL: none may be. */
static void take_vector(struct wt_chunk *chunk, struct reader *in, uint32_t count, int64_t *values,
                        uint8_t *nulls, bool *ret_has_nulls)
{
	unsigned head = take_byte(in), planes = head & VECTOR_PLANES;
	uint64_t base = unzigzag(take_number(in)), first = 0;

	if (head & VECTOR_DELTA)
		first = unzigzag(take_number(in));
	if (planes > 8 || head & ~(VECTOR_PLANES | VECTOR_DELTA | VECTOR_NULLS) ||
	    (head & VECTOR_NULLS && !nulls))
		in->is_bad = true;
	if (nulls)
		*ret_has_nulls = head & VECTOR_NULLS;
	memset(values, 0, count * sizeof(values[0]));
	if (in->is_bad)
		return;
	if (head & VECTOR_NULLS) {
		const uint8_t *bits = take_plane(chunk, in, (count + 7) / 8);

		for (uint32_t i = 0; i < count; i++)
			nulls[i] = bits[i / 8] >> i % 8 & 1;
	}
	for (unsigned p = 0; p < planes && !in->is_bad; p++) {
		const uint8_t *plane = take_plane(chunk, in, count);

		for (uint32_t i = 0; i < count; i++)
			values[i] |= (int64_t)((uint64_t)plane[i] << 8 * p);
	}
	if (head & VECTOR_DELTA)
		add_steps(values, count, base, first);
	else
		for (uint32_t i = 0; i < count && base; i++)
			values[i] = (int64_t)((uint64_t)values[i] + base);
}

/* ---- opening */

/* From a number of 0 to `most`. */
static bool take_small(struct reader *in, uint64_t least, uint64_t most, uint32_t *ret_value)
{
	uint64_t value = take_number(in);

	if (value < least || value > most)
		in->is_bad = true;
	*ret_value = in->is_bad ? 0 : (uint32_t)value;
	return !in->is_bad;
}

/* Sections fill what is behind the directory, to the byte. */
static bool take_directory(struct wt_chunk *chunk)
{
	const struct chunk_layout *layout = chunk->layout;
	struct reader in = {chunk->data + CHUNK_HEAD_BYTES, chunk->bytes - CHUNK_HEAD_BYTES, false};
	unsigned count = layout->groups + layout->table.column_count;
	uint64_t at;

	for (unsigned s = 0; s < count; s++) {
		struct section *section =
		        s < layout->groups ? &chunk->group[s] : &chunk->column[s - layout->groups];

		if (!take_small(&in, 0, chunk->bytes, &section->bytes))
			return false;
	}
	at = (uint64_t)(in.at - chunk->data);
	for (unsigned s = 0; s < count; s++) {
		struct section *section =
		        s < layout->groups ? &chunk->group[s] : &chunk->column[s - layout->groups];

		if (section->bytes > chunk->bytes - at)
			return false;
		section->at = (uint32_t)at;
		at += section->bytes;
	}
	return at == chunk->bytes;
}

static int check_head(enum wt_chunk_kind kind, const uint8_t *data, size_t bytes)
{
	uint32_t rows, stored = 0;
	uLong crc;

	if (bytes < CHUNK_HEAD_BYTES || bytes > INT32_MAX)
		return -EBADMSG;
	if (data[0] > CHUNK_VERSION)
		return -ENOTSUP;
	rows = data[2] | (uint32_t)data[3] << 8;
	for (int i = 0; i < 4; i++)
		stored |= (uint32_t)data[CHUNK_CRC_AT + i] << 8 * i;
	crc = crc32(crc32(0, NULL, 0), data, CHUNK_CRC_AT);
	crc = crc32(crc, data + CHUNK_HEAD_BYTES, (uInt)(bytes - CHUNK_HEAD_BYTES));
	return data[0] == CHUNK_VERSION && data[1] == kind && rows >= 1 && rows <= WT_CHUNK_ROWS &&
	                       crc == stored
	               ? 0
	               : -EBADMSG;
}

int wt_chunk_open(enum wt_chunk_kind kind, const void *data, size_t bytes,
                  struct wt_chunk **ret_chunk)
{
	const struct chunk_layout *layout = wt_chunk_layout(kind);
	struct wt_chunk *chunk;
	int err;

	if (!layout)
		return -EBADMSG;
	err = check_head(kind, data, bytes);
	if (err)
		return err;
	chunk = malloc(sizeof(*chunk) + bytes);
	if (!chunk)
		return -ENOMEM;
	memset(chunk, 0, sizeof(*chunk));
	chunk->layout = layout;
	chunk->bytes = bytes;
	memcpy(chunk->data, data, bytes);
	chunk->rows = chunk->data[2] | (uint32_t)chunk->data[3] << 8;
	if (inflateInit2(&chunk->inflate, -MAX_WBITS) != Z_OK) {
		free(chunk);
		return -ENOMEM;
	}
	if (!take_directory(chunk)) {
		wt_chunk_close(chunk);
		return -EBADMSG;
	}
	*ret_chunk = chunk;
	return 0;
}

void wt_chunk_close(struct wt_chunk *chunk)
{
	if (!chunk)
		return;
	for (unsigned c = 0; c < WT_CHUNK_COLUMNS; c++) {
		free(chunk->values[c]);
		free(chunk->nulls[c]);
	}
	for (unsigned g = 0; g < CHUNK_GROUPS; g++)
		free(chunk->entry_of[g]);
	free(chunk->ends);
	inflateEnd(&chunk->inflate);
	free(chunk);
}

uint32_t wt_chunk_row_count(const struct wt_chunk *chunk)
{
	return chunk->rows;
}

/* ---- columns */

/* Which entry each row has: all of them are there. `scratch` has room for the rows. */
static int load_group(struct wt_chunk *chunk, unsigned group, int64_t *scratch)
{
	struct section section = chunk->group[group];
	struct reader in = {chunk->data + section.at, section.bytes, false};
	uint16_t *entry_of;
	uint32_t entries;

	if (chunk->entry_of[group])
		return 0;
	if (!take_small(&in, 1, CHUNK_ENTRIES, &entries))
		return -EBADMSG;
	take_vector(chunk, &in, chunk->rows, scratch, NULL, NULL);
	if (in.is_bad || in.left)
		return -EBADMSG;
	entry_of = malloc(chunk->rows * sizeof(*entry_of));
	if (!entry_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < chunk->rows; i++) {
		if (scratch[i] < 0 || scratch[i] >= entries) {
			free(entry_of);
			return -EBADMSG;
		}
		entry_of[i] = (uint16_t)scratch[i];
	}
	chunk->entries[group] = entries;
	chunk->entry_of[group] = entry_of;
	return 0;
}

static int group_of(const struct chunk_layout *layout, unsigned column)
{
	for (unsigned g = 0; g < layout->groups; g++)
		if (layout->group[g] >> column & 1)
			return (int)g;
	return -1;
}

/* A column that is a value for each entry. */
static int take_entries(struct wt_chunk *chunk, struct reader *in, unsigned column, int64_t *values,
                        uint8_t *nulls, bool *ret_has_nulls)
{
	int group = group_of(chunk->layout, column);
	int err = group < 0 ? -EBADMSG : load_group(chunk, (unsigned)group, values);
	const uint16_t *entry_of;

	if (err)
		return err;
	entry_of = chunk->entry_of[group];
	take_vector(chunk, in, chunk->entries[group], chunk->by_entry, chunk->entry_nulls,
	            ret_has_nulls);
	for (uint32_t i = 0; i < chunk->rows; i++)
		values[i] = chunk->by_entry[entry_of[i]];
	for (uint32_t i = 0; i < chunk->rows && *ret_has_nulls; i++)
		nulls[i] = chunk->entry_nulls[entry_of[i]];
	return 0;
}

/* A value for each row besides that of its entry in the first group; `duration` where it is scaled. */
static int take_with_entries(struct wt_chunk *chunk, struct reader *in, const int64_t *duration,
                             int64_t *values, uint8_t *nulls, bool *ret_has_nulls)
{
	unsigned shift = duration ? take_byte(in) : 0;
	int err = chunk->layout->groups ? load_group(chunk, 0, values) : -EBADMSG;

	if (!err && shift > CHUNK_SHIFT_MAX)
		err = -EBADMSG;
	if (err)
		return err;
	take_vector(chunk, in, chunk->entries[0], chunk->by_entry, NULL, NULL);
	take_vector(chunk, in, chunk->rows, values, nulls, ret_has_nulls);
	for (uint32_t i = 0; i < chunk->rows; i++) {
		uint64_t entry = (uint64_t)chunk->by_entry[chunk->entry_of[0][i]];

		if (duration)
			entry = scaled_value(entry, (uint64_t)duration[i], shift);
		values[i] = (int64_t)((uint64_t)values[i] + entry);
	}
	return 0;
}

/* Where rows begin, as steps from where the one before ends. */
static void take_start(struct wt_chunk *chunk, struct reader *in, const int64_t *duration,
                       int64_t *values, uint8_t *nulls, bool *ret_has_nulls)
{
	uint64_t value = unzigzag(take_number(in));

	take_vector(chunk, in, chunk->rows, values, nulls, ret_has_nulls);
	values[0] = (int64_t)value;
	for (uint32_t i = 1; i < chunk->rows; i++) {
		value += (uint64_t)duration[i - 1] + (uint64_t)values[i];
		values[i] = (int64_t)value;
	}
}

static int load_stored(struct wt_chunk *chunk, unsigned column);

/* As it is stored: of where rows end, their duration. */
static int decode_stored(struct wt_chunk *chunk, unsigned column, int64_t *values, uint8_t *nulls,
                         bool *ret_has_nulls)
{
	const struct wt_chunk_table *table = &chunk->layout->table;
	struct section section = chunk->column[column];
	struct reader in = {chunk->data + section.at, section.bytes, false};
	unsigned mode = take_byte(&in);
	bool is_start = (int)column == table->start,
	     is_scaled = chunk->layout->scaled >> column & 1;
	const int64_t *duration = NULL;
	int err = 0;

	if ((mode == MODE_STEP && !is_start) || (mode == MODE_SCALED && !is_scaled) || in.is_bad)
		return -EBADMSG;
	if (mode == MODE_STEP || mode == MODE_SCALED) {
		err = load_stored(chunk, (unsigned)table->end);
		duration = chunk->values[table->end];
	}
	if (err)
		return err;
	if (mode == MODE_VALUE)
		take_vector(chunk, &in, chunk->rows, values, nulls, ret_has_nulls);
	else if (mode == MODE_STEP)
		take_start(chunk, &in, duration, values, nulls, ret_has_nulls);
	else if (mode == MODE_ENTRY)
		err = take_entries(chunk, &in, column, values, nulls, ret_has_nulls);
	else if (mode == MODE_BASE || mode == MODE_SCALED)
		err = take_with_entries(chunk, &in, duration, values, nulls, ret_has_nulls);
	else
		in.is_bad = true;
	return err ? err : in.is_bad || in.left ? -EBADMSG : 0;
}

/* Into chunk->values and chunk->nulls. */
static int load_stored(struct wt_chunk *chunk, unsigned column)
{
	bool has_nulls = false;
	int64_t *values;
	uint8_t *nulls;
	int err;

	if (chunk->values[column])
		return 0;
	values = malloc(chunk->rows * sizeof(*values));
	nulls = malloc(chunk->rows);
	err = values && nulls ? decode_stored(chunk, column, values, nulls, &has_nulls) : -ENOMEM;
	if (err) {
		free(values);
		free(nulls);
		return err;
	}
	if (!has_nulls) {
		free(nulls);
		nulls = NULL;
	}
	chunk->values[column] = values;
	chunk->nulls[column] = nulls;
	return 0;
}

static bool do_ascend(const int64_t *ids, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (ids[i] <= ids[i - 1])
			return false;
	return true;
}

/* Where rows end, from where they begin and how long they are. */
static int make_ends(struct wt_chunk *chunk)
{
	const int64_t *start, *duration = chunk->values[chunk->layout->table.end];
	unsigned column = (unsigned)chunk->layout->table.start;
	int err = load_stored(chunk, column);

	if (err || chunk->ends)
		return err;
	start = chunk->values[column];
	chunk->ends = malloc(chunk->rows * sizeof(*chunk->ends));
	if (!chunk->ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < chunk->rows; i++)
		chunk->ends[i] = (int64_t)((uint64_t)start[i] + (uint64_t)duration[i]);
	return 0;
}

int wt_chunk_column(struct wt_chunk *chunk, unsigned column, const int64_t **ret_values,
                    const uint8_t **ret_nulls)
{
	const struct wt_chunk_table *table = &chunk->layout->table;
	bool is_end = (int)column == table->end, is_new;
	int err;

	if (column >= table->column_count)
		return -EINVAL;
	is_new = !chunk->values[column];
	err = load_stored(chunk, column);
	if (!err && is_end)
		err = make_ends(chunk);
	if (!err && column == table->id && is_new &&
	    (chunk->nulls[column] || !do_ascend(chunk->values[column], chunk->rows))) {
		free(chunk->values[column]);
		free(chunk->nulls[column]);
		chunk->values[column] = NULL;
		chunk->nulls[column] = NULL;
		err = -EBADMSG;
	}
	if (err)
		return err;
	*ret_values = is_end ? chunk->ends : chunk->values[column];
	*ret_nulls = chunk->nulls[column];
	return 0;
}

int wt_chunk_decode_all(struct wt_chunk *chunk)
{
	const int64_t *values;
	const uint8_t *nulls;
	int err = 0;

	for (unsigned c = 0; c < chunk->layout->table.column_count && !err; c++)
		err = wt_chunk_column(chunk, c, &values, &nulls);
	return err;
}

bool wt_chunk_has_config(const void *configs, size_t bytes, int64_t config_id)
{
	struct reader in = {configs, bytes, false};
	uint64_t config = 0;

	while (in.left) {
		config += take_number(&in);
		if (in.is_bad || config == (uint64_t)config_id)
			return true;
	}
	return !bytes;
}

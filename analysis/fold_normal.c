/*
 * fold_normal.c - see fold_internal.h: the normal equations, as tiles of 4 x 4 unknowns that ever
 * shared a sample, found by hash.
 *
 * Unknowns of a configuration lie side by side, and so do configurations that were first seen side by
 * side: tiles are well filled, and a sample of 30 bins updates some 50 of them rather than 500 pairs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

int fold_normal_init(struct fold_normal *normal, size_t rhs_count)
{
	*normal = (struct fold_normal){.rhs_count = rhs_count, .index_room = 1024};
	normal->index = malloc(normal->index_room * sizeof(*normal->index));
	if (!normal->index)
		return -ENOMEM;
	memset(normal->index, 0xff, normal->index_room * sizeof(*normal->index));
	return 0;
}

void fold_normal_fini(struct fold_normal *normal)
{
	for (size_t i = 0; i * FOLD_TILES_PER_CHUNK < normal->tiles || i < normal->chunks_room; i++)
		free(normal->chunks[i]);
	free(normal->chunks);
	free(normal->rhs);
	free(normal->time_ns);
	free(normal->index);
	free(normal->groups);
	free(normal->group_of);
}

void fold_normal_clear(struct fold_normal *normal)
{
	normal->tiles = normal->unknowns = 0;
	memset(normal->index, 0xff, normal->index_room * sizeof(*normal->index));
}

size_t fold_normal_bytes(const struct fold_normal *normal)
{
	size_t chunks = (normal->tiles + FOLD_TILES_PER_CHUNK - 1) / FOLD_TILES_PER_CHUNK;

	return chunks * FOLD_TILES_PER_CHUNK * sizeof(struct fold_tile) +
	       normal->index_room * sizeof(*normal->index) +
	       normal->unknowns_room * ((normal->rhs_count + 1) * sizeof(double)) +
	       normal->unknowns_room / FOLD_TILE * sizeof(uint32_t);
}

struct fold_tile *fold_normal_tile(const struct fold_normal *normal, size_t idx)
{
	/* NOLINTNEXTLINE(clang-analyzer-*): not where there are no unknowns */
	return &normal->chunks[idx / FOLD_TILES_PER_CHUNK][idx % FOLD_TILES_PER_CHUNK];
}

uint32_t fold_normal_grow(struct fold_normal *normal, size_t count)
{
	size_t need = normal->unknowns + count, room = normal->unknowns_room, first;
	size_t width = normal->rhs_count;

	if (need > room) {
		size_t more = room ? 2 * room : 64;
		double *rhs, *time_ns;
		uint32_t *group_of;

		while (more < need)
			more *= 2;
		rhs = realloc(normal->rhs, more * width * sizeof(*rhs));
		if (rhs)
			normal->rhs = rhs;
		time_ns = realloc(normal->time_ns, more * sizeof(*time_ns));
		if (time_ns)
			normal->time_ns = time_ns;
		group_of = realloc(normal->group_of, more / FOLD_TILE * sizeof(*group_of));
		if (group_of)
			normal->group_of = group_of;
		if (!rhs || !time_ns || !group_of || need >= FOLD_NONE)
			return FOLD_NONE;
		memset(group_of + room / FOLD_TILE, 0xff,
		       (more - room) / FOLD_TILE * sizeof(*group_of));
		normal->unknowns_room = more;
	}
	first = normal->unknowns;
	/* NOLINTNEXTLINE(clang-analyzer-*): not where there are no unknowns */
	memset(normal->rhs + first * width, 0, count * width * sizeof(*normal->rhs));
	memset(normal->time_ns + first, 0, count * sizeof(*normal->time_ns));
	normal->unknowns = need;
	return (uint32_t)first;
}

/* ---- tiles */

static size_t index_place(const struct fold_normal *normal, uint32_t row, uint32_t column)
{
	size_t mask = normal->index_room - 1;
	uint64_t key = ((uint64_t)row << 32 | column) * 0x9e3779b97f4a7c15u;
	size_t place = (key >> 32) & mask;

	while (normal->index[place] != FOLD_NONE) {
		const struct fold_tile *tile = fold_normal_tile(normal, normal->index[place]);

		if (tile->row == row && tile->column == column)
			break;
		place = (place + 1) & mask;
	}
	return place;
}

static int index_grow(struct fold_normal *normal)
{
	size_t room = 2 * normal->index_room;
	uint32_t *index = malloc(room * sizeof(*index));

	if (!index)
		return -ENOMEM;
	free(normal->index);
	memset(index, 0xff, room * sizeof(*index));
	normal->index = index;
	normal->index_room = room;
	for (size_t i = 0; i < normal->tiles; i++) {
		const struct fold_tile *tile = fold_normal_tile(normal, i);

		index[index_place(normal, tile->row, tile->column)] = (uint32_t)i;
	}
	return 0;
}

static int chunk_grow(struct fold_normal *normal)
{
	size_t chunk = normal->tiles / FOLD_TILES_PER_CHUNK;

	if (chunk >= normal->chunks_room) {
		size_t room = normal->chunks_room;
		void *grown = fold_room(normal->chunks, &room, chunk + 1, sizeof(*normal->chunks));

		if (!grown)
			return -ENOMEM;
		normal->chunks = grown;
		for (; normal->chunks_room < room; normal->chunks_room++)
			normal->chunks[normal->chunks_room] = NULL;
	}
	if (!normal->chunks[chunk])
		normal->chunks[chunk] = malloc(FOLD_TILES_PER_CHUNK * sizeof(struct fold_tile));
	return normal->chunks[chunk] ? 0 : -ENOMEM;
}

/* NULL: no memory, or it is not there and is_full. */
static struct fold_tile *tile_of(struct fold_normal *normal, uint32_t row, uint32_t column,
                                 bool is_full)
{
	size_t place = index_place(normal, row, column);
	struct fold_tile *tile;

	if (normal->index[place] != FOLD_NONE)
		return fold_normal_tile(normal, normal->index[place]);
	if (is_full)
		return NULL;
	if (2 * (normal->tiles + 1) > normal->index_room) {
		if (index_grow(normal))
			return NULL;
		place = index_place(normal, row, column);
	}
	if (chunk_grow(normal))
		return NULL;
	tile = fold_normal_tile(normal, normal->tiles);
	*tile = (struct fold_tile){.row = row, .column = column};
	normal->index[place] = (uint32_t)normal->tiles++;
	return tile;
}

/* ---- rows */

/* A row as vectors of FOLD_TILE unknowns; the same one may be in it twice. */
static int group_row(struct fold_normal *normal, const struct fold_row *row, size_t *ret_count)
{
	size_t count = 0;
	void *grown = fold_room(normal->groups, &normal->groups_room, row->count,
	                        sizeof(*normal->groups));

	if (!grown)
		return -ENOMEM;
	normal->groups = grown;
	for (size_t i = 0; i < row->count; i++) {
		uint32_t tile = row->column[i] / FOLD_TILE;
		uint32_t at = normal->group_of[tile];

		if (at == FOLD_NONE) {
			at = normal->group_of[tile] = (uint32_t)count++;
			normal->groups[at] = (struct fold_group){.tile = tile};
		}
		normal->groups[at].value[row->column[i] % FOLD_TILE] += row->ns[i];
	}
	for (size_t i = 0; i < count; i++)
		normal->group_of[normal->groups[i].tile] = FOLD_NONE;
	*ret_count = count;
	return 0;
}

static void add_product(struct fold_tile *tile, const double *rows, const double *columns)
{
	for (int i = 0; i < FOLD_TILE; i++)
		for (int j = 0; j < FOLD_TILE; j++)
			tile->value[i][j] += rows[i] * columns[j];
}

/* Are all there? Else nothing must be added. */
static bool has_tiles(struct fold_normal *normal, size_t count)
{
	const struct fold_group *groups = normal->groups;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j <= i; j++) {
			uint32_t a = groups[i].tile, b = groups[j].tile;

			if (!tile_of(normal, a < b ? a : b, a < b ? b : a, true))
				return false;
		}
	return true;
}

int fold_normal_add(struct fold_normal *normal, const struct fold_row *row, const double *rhs,
                    bool is_full)
{
	size_t count = 0, width = normal->rhs_count;
	const struct fold_group *groups;

	if (row->count && group_row(normal, row, &count))
		return -ENOMEM;
	if (is_full && !has_tiles(normal, count))
		return -ENOSPC;
	groups = normal->groups;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j <= i; j++) {
			const struct fold_group *a = &groups[i], *b = &groups[j];
			struct fold_tile *tile;

			if (a->tile > b->tile) {
				a = &groups[j];
				b = &groups[i];
			}
			tile = tile_of(normal, a->tile, b->tile, false);
			if (!tile)
				return -ENOMEM;
			add_product(tile, a->value, b->value);
		}
	for (size_t i = 0; i < row->count; i++) {
		double *to = normal->rhs + row->column[i] * width;

		normal->time_ns[row->column[i]] += row->ns[i];
		for (size_t k = 0; k < width; k++)
			to[k] += row->ns[i] * rhs[k];
	}
	return 0;
}

void fold_normal_add_rhs(struct fold_normal *normal, const struct fold_row *row, size_t which,
                         double value)
{
	for (size_t i = 0; i < row->count; i++)
		normal->rhs[row->column[i] * normal->rhs_count + which] += row->ns[i] * value;
}

/* ---- merging */

static int merge_tile(struct fold_normal *to, const struct fold_tile *tile, const uint32_t *map,
                      size_t unknowns)
{
	for (uint32_t i = 0; i < FOLD_TILE; i++)
		for (uint32_t j = 0; j < FOLD_TILE; j++) {
			size_t a = tile->row * FOLD_TILE + i, b = tile->column * FOLD_TILE + j;
			double value = tile->value[i][j];
			struct fold_tile *into;
			bool is_pair;

			if (value == 0 || a > b || b >= unknowns)
				continue;
			is_pair = a != b;
			a = map[a];
			b = map[b];
			if (a / FOLD_TILE > b / FOLD_TILE) {
				size_t swap = a;

				a = b;
				b = swap;
			}
			into = tile_of(to, (uint32_t)(a / FOLD_TILE), (uint32_t)(b / FOLD_TILE),
			               false);
			if (!into)
				return -ENOMEM;
			into->value[a % FOLD_TILE][b % FOLD_TILE] += value;
			/* Tiles of the diagonal have both halves. */
			if (is_pair && a / FOLD_TILE == b / FOLD_TILE)
				into->value[b % FOLD_TILE][a % FOLD_TILE] += value;
		}
	return 0;
}

int fold_normal_merge(struct fold_normal *normal, const uint32_t *map, size_t count)
{
	struct fold_normal merged;
	int err = fold_normal_init(&merged, normal->rhs_count);

	if (!err && fold_normal_grow(&merged, count) == FOLD_NONE)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < normal->tiles; i++)
		err = merge_tile(&merged, fold_normal_tile(normal, i), map, normal->unknowns);
	if (err) {
		fold_normal_fini(&merged);
		return err;
	}
	for (size_t i = 0; i < normal->unknowns; i++) {
		merged.time_ns[map[i]] += normal->time_ns[i];
		for (size_t k = 0; k < normal->rhs_count; k++)
			merged.rhs[map[i] * normal->rhs_count + k] +=
			        normal->rhs[i * normal->rhs_count + k];
	}
	fold_normal_fini(normal);
	*normal = merged;
	return 0;
}

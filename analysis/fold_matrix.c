/*
 * fold_matrix.c - see fold_internal.h: tiles become compressed rows, both halves, in which unknowns
 * that too few samples saw are one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

struct entry {
	uint32_t column;
	double value;
};

/* Calls with every entry above or on the diagonal, by its new place. */
typedef void entry_fn(void *arg, uint32_t row, uint32_t column, double value);

static void each_entry(const struct fold_normal *normal, const uint32_t *map, entry_fn *entry,
                       void *arg)
{
	for (size_t t = 0; t < normal->tiles; t++) {
		const struct fold_tile *tile = fold_normal_tile(normal, t);

		for (uint32_t i = 0; i < FOLD_TILE; i++)
			for (uint32_t j = 0; j < FOLD_TILE; j++) {
				uint32_t a = tile->row * FOLD_TILE + i,
				         b = tile->column * FOLD_TILE + j;
				double value = tile->value[i][j];

				if (value == 0 || a > b)
					continue;
				if (map) {
					/* Two of a pair that fall on the diagonal count twice. */
					if (a != b && map[a] == map[b])
						value *= 2;
					a = map[a];
					b = map[b];
				}
				entry(arg, a, b, value);
			}
	}
}

struct filling {
	size_t *row;
	struct entry *entries;
};

static void count_entry(void *arg, uint32_t row, uint32_t column, double value)
{
	struct filling *filling = arg;

	(void)value;
	filling->row[row + 1]++;
	if (row != column)
		filling->row[column + 1]++;
}

static void put_entry(void *arg, uint32_t row, uint32_t column, double value)
{
	struct filling *filling = arg;

	filling->entries[filling->row[row]++] = (struct entry){column, value};
	if (row != column)
		filling->entries[filling->row[column]++] = (struct entry){row, value};
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->column != b->column)
		return a->column < b->column ? -1 : 1;
	/* Sums must not depend on the order that qsort leaves them in. */
	return a->value < b->value ? -1 : a->value > b->value;
}

/* Sorts each row and sums what fell together. */
static void compress(struct fold_matrix *matrix, const struct filling *filling)
{
	size_t to = 0, from = 0;

	for (size_t i = 0; i < matrix->count; i++) {
		size_t end = filling->row[i]; /* put_entry moved it there */

		qsort(filling->entries + from, end - from, sizeof(*filling->entries),
		      compare_entries);
		matrix->row[i] = to;
		for (; from < end; from++) {
			const struct entry *entry = &filling->entries[from];

			if (to > matrix->row[i] && matrix->column[to - 1] == entry->column) {
				matrix->value[to - 1] += entry->value;
				continue;
			}
			matrix->column[to] = entry->column;
			matrix->value[to++] = entry->value;
		}
		for (size_t k = matrix->row[i]; k < to; k++) {
			if (matrix->column[k] == i)
				matrix->diagonal[i] = matrix->value[k];
			matrix->pairs += matrix->column[k] >= i;
		}
	}
	matrix->row[matrix->count] = to;
}

int fold_matrix_init(struct fold_matrix *matrix, const struct fold_normal *normal,
                     const uint32_t *map, size_t count)
{
	struct filling filling = {0};
	size_t entries;

	*matrix = (struct fold_matrix){.count = count};
	filling.row = calloc(count + 2, sizeof(*filling.row));
	matrix->row = calloc(count + 1, sizeof(*matrix->row));
	matrix->diagonal = calloc(count + 1, sizeof(*matrix->diagonal));
	if (!filling.row || !matrix->row || !matrix->diagonal)
		goto no_memory;
	each_entry(normal, map, count_entry, &filling);
	for (size_t i = 0; i < count; i++)
		filling.row[i + 1] += filling.row[i];
	entries = filling.row[count];
	filling.entries = malloc((entries + 1) * sizeof(*filling.entries));
	matrix->column = malloc((entries + 1) * sizeof(*matrix->column));
	matrix->value = malloc((entries + 1) * sizeof(*matrix->value));
	if (!filling.entries || !matrix->column || !matrix->value)
		goto no_memory;
	each_entry(normal, map, put_entry, &filling);
	compress(matrix, &filling);
	free(filling.row);
	free(filling.entries);
	return 0;

no_memory:
	free(filling.row);
	free(filling.entries);
	fold_matrix_fini(matrix);
	return -ENOMEM;
}

void fold_matrix_fini(struct fold_matrix *matrix)
{
	free(matrix->row);
	free(matrix->column);
	free(matrix->value);
	free(matrix->diagonal);
	*matrix = (struct fold_matrix){0};
}

static void times_one(const struct fold_matrix *matrix, const double *in, double *out)
{
	for (size_t i = 0; i < matrix->count; i++) {
		double sum = 0;

		for (size_t k = matrix->row[i]; k < matrix->row[i + 1]; k++)
			sum += matrix->value[k] * in[matrix->column[k]];
		out[i] = sum;
	}
}

void fold_matrix_times(const struct fold_matrix *matrix, const double *in, double *out,
                       size_t width)
{
	if (width == 1) {
		times_one(matrix, in, out);
		return;
	}
	for (size_t i = 0; i < matrix->count; i++) {
		double *to = out + i * width;

		for (size_t w = 0; w < width; w++)
			to[w] = 0;
		for (size_t k = matrix->row[i]; k < matrix->row[i + 1]; k++) {
			const double *from = in + matrix->column[k] * width;
			double value = matrix->value[k];

			for (size_t w = 0; w < width; w++)
				to[w] += value * from[w];
		}
	}
}

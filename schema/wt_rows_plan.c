/*
 * wt_rows_plan.c - see wt_rows_impl.h: which comparisons a cursor takes, and what it costs. One thread;
 * does not block.
 *
 * Costs are like those that SQLite has for the tables themselves, so that joins are done in the order
 * that they were written for. Everything taken is checked again by SQLite: bounds may be too wide, never
 * too narrow.
 *
 * A plan is text: the columns asked for (hex), then two letters for each value: column ('a' on),
 * comparison.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_rows_impl.h"

#define ROWS_EXPECTED 1048576.0 /* as SQLite expects of a table it knows nothing of */
#define PLAN_BYTES (12 + 2 * 32)

enum use { USE_NONE, USE_ID, USE_PROCESS, USE_TIME, USE_CONFIG };

static enum use use_of(const struct wt_chunk_table *shape, int column)
{
	if (column < 0) /* the rowid: not of launch_row, which has none */
		return shape->process == 0 ? USE_NONE : USE_ID;
	if (column == (int)shape->id)
		return USE_ID;
	if (column == shape->process)
		return USE_PROCESS;
	if (column == shape->start || column == shape->end)
		return USE_TIME;
	return column == shape->config ? USE_CONFIG : USE_NONE;
}

static char letter_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'g';
	case SQLITE_INDEX_CONSTRAINT_LT:
		return '<';
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'l';
	default:
		return 0;
	}
}

/* One value after the other would give rows in another order, and read the file for each. */
static bool is_list(sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
	return sqlite3_libversion_number() >= 3038000 && sqlite3_vtab_in(info, i, -1);
#else
	(void)info;
	(void)i;
	return false;
#endif
}

struct taken {
	bool has_id, has_low, has_high, has_process, has_other;
};

static void take_constraint(enum use use, char letter, struct taken *taken)
{
	if (use == USE_ID && letter == '=')
		taken->has_id = true;
	else if (use == USE_ID && (letter == '>' || letter == 'g'))
		taken->has_low = true;
	else if (use == USE_ID)
		taken->has_high = true;
	else if (use == USE_PROCESS && letter == '=')
		taken->has_process = true;
	else
		taken->has_other = true;
}

/* As of a table with that key, and no other index. */
static void set_cost(const struct wt_chunk_table *shape, const struct taken *taken,
                     sqlite3_index_info *info)
{
	bool is_by_process = shape->process == 0; /* launch_row: (process_id, seq) */
	double rows = ROWS_EXPECTED;

	if (is_by_process && taken->has_process)
		rows = 10;
	if (!is_by_process || taken->has_process) {
		if (taken->has_id)
			rows = 1;
		else if (taken->has_low && taken->has_high)
			rows /= 64;
		else if (taken->has_low || taken->has_high)
			rows /= 4;
	}
	if (rows < 1)
		rows = 1;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = 20 + 3 * rows;
	if (rows == ROWS_EXPECTED && (taken->has_other || taken->has_process))
		info->estimatedCost *= 0.95;
	if (taken->has_id && (!is_by_process || taken->has_process)) {
		info->estimatedRows = 1;
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	}
}

/* Is that the order in which rows come? */
static bool is_in_order(const struct wt_chunk_table *shape, const struct taken *taken,
                        const sqlite3_index_info *info)
{
	bool is_by_process = shape->process == 0;
	int at = 0;

	for (int i = 0; i < info->nOrderBy; i++) {
		enum use use = use_of(shape, info->aOrderBy[i].iColumn);

		if (info->aOrderBy[i].desc)
			return false;
		if (use == USE_PROCESS && (taken->has_process || (is_by_process && at == 0))) {
			at += is_by_process;
			continue;
		}
		return use == USE_ID && (!is_by_process || taken->has_process || at > 0);
	}
	return true;
}

int wt_rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct rows_table *table = (const struct rows_table *)base;
	struct taken taken = {0};
	char plan[PLAN_BYTES];
	size_t n = (size_t)snprintf(plan, sizeof(plan), "%x:", (unsigned)info->colUsed);
	int count = 0;

	for (int i = 0; i < info->nConstraint && n + 3 < sizeof(plan); i++) {
		int column = info->aConstraint[i].iColumn;
		enum use use = use_of(table->shape, column);
		char letter = letter_of(info->aConstraint[i].op);

		if (!info->aConstraint[i].usable || use == USE_NONE || !letter || is_list(info, i))
			continue;
		take_constraint(use, letter, &taken);
		plan[n++] = (char)('a' + (column < 0 ? (int)table->shape->id : column));
		plan[n++] = letter;
		info->aConstraintUsage[i].argvIndex = ++count;
	}
	plan[n] = '\0';
	set_cost(table->shape, &taken, info);
	info->orderByConsumed = info->nOrderBy > 0 && is_in_order(table->shape, &taken, info);
	info->idxStr = sqlite3_mprintf("%s", plan);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- its values */

struct bounds {
	int64_t low, high;
	bool is_known; /* else it may be anything */
};

/* The whole numbers that can stand in such a comparison with it; none: low is above high. */
static struct bounds bounds_of(sqlite3_value *value, char letter)
{
	struct bounds b = {INT64_MIN, INT64_MAX, true};
	int type = sqlite3_value_type(value);
	double real;

	if (type == SQLITE_INTEGER) {
		b.low = b.high = sqlite3_value_int64(value);
	} else if (type == SQLITE_FLOAT) {
		real = sqlite3_value_double(value);
		/* Beyond them doubles are whole, and int64_t ends. */
		b.low = real < -9e18  ? INT64_MIN
		        : real > 9e18 ? INT64_C(9000000000000000000)
		                      : (int64_t)floor(real);
		b.high = real > 9e18    ? INT64_MAX
		         : real < -9e18 ? INT64_C(-9000000000000000000)
		                        : (int64_t)ceil(real);
	} else if (type == SQLITE_NULL) {
		return (struct bounds){1, 0, true};
	} else {
		b.is_known = false;
	}
	if (type == SQLITE_INTEGER && letter == '>') {
		if (b.low == INT64_MAX)
			return (struct bounds){1, 0, true};
		b.low++;
	}
	if (type == SQLITE_INTEGER && letter == '<') {
		if (b.high == INT64_MIN)
			return (struct bounds){1, 0, true};
		b.high--;
	}
	if (letter == '>' || letter == 'g')
		b.high = INT64_MAX;
	if (letter == '<' || letter == 'l')
		b.low = INT64_MIN;
	return b;
}

static void narrow(int64_t *low, int64_t *high, struct bounds bounds)
{
	*low = bounds.low > *low ? bounds.low : *low;
	*high = bounds.high < *high ? bounds.high : *high;
}

/* One value, where only that one is taken; a range of them is left to SQLite. */
static void take_one(struct bounds bounds, bool *has, int64_t *value, bool *is_empty)
{
	if (bounds.low != bounds.high)
		return;
	if (*has && *value != bounds.low)
		*is_empty = true;
	*has = true;
	*value = bounds.low;
}

void wt_rows_take_plan(const struct wt_chunk_table *shape, const char *plan, int count,
                       sqlite3_value **values, uint32_t *ret_columns,
                       struct rows_filter *ret_filter)
{
	struct rows_filter f = {0};
	char *at;

	f.id_low = f.start_low = f.end_low = INT64_MIN;
	f.id_high = f.start_high = f.end_high = INT64_MAX;
	*ret_columns = (uint32_t)strtoul(plan, &at, 16);
	for (int i = 0; i < count; i++) {
		int column = at[1 + 2 * i] - 'a';
		struct bounds b = bounds_of(values[i], at[2 + 2 * i]);
		enum use use = use_of(shape, column);

		if (!b.is_known)
			continue;
		if (b.low > b.high)
			f.is_empty = true;
		if (use == USE_ID)
			narrow(&f.id_low, &f.id_high, b);
		else if (use == USE_PROCESS)
			take_one(b, &f.has_process, &f.process_id, &f.is_empty);
		else if (use == USE_CONFIG)
			take_one(b, &f.has_config, &f.config_id, &f.is_empty);
		else if (column == shape->start)
			narrow(&f.start_low, &f.start_high, b);
		else
			narrow(&f.end_low, &f.end_high, b);
		f.has_times = f.has_times || use == USE_TIME;
	}
	if (f.id_low > f.id_high || f.start_low > f.start_high || f.end_low > f.end_high)
		f.is_empty = true;
	*ret_filter = f;
}

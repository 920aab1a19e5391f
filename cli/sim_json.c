/*
 * sim_json.c - rows of `wavetap simulate` for programs: JSON and CSV. See simulate.h, and
 * doc/json.md for the fields.
 *
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/simulate.h"

static const char *unit_name(const struct wt_sim *sim)
{
	if (sim->has_times_of_tile)
		return "multiply-adds";
	return sim->scale.unit[0] ? sim->scale.unit : NULL;
}

/* The times of a result, in the order of both formats. */
struct time_field {
	const char *key;
	size_t offset;
};

static const struct time_field time_fields[] = {
        {"makespan", offsetof(struct wt_schedule_result, makespan)},
        {"active", offsetof(struct wt_schedule_result, active)},
        {"idle", offsetof(struct wt_schedule_result, idle)},
        {"tail_idle", offsetof(struct wt_schedule_result, tail_idle)},
        {"wave_idle", offsetof(struct wt_schedule_result, wave_idle)},
        {"straggle_idle", offsetof(struct wt_schedule_result, straggle_idle)},
        {"underfill_idle", offsetof(struct wt_schedule_result, underfill_idle)},
};
#define TIME_FIELD_COUNT (sizeof(time_fields) / sizeof(time_fields[0]))

static int64_t time_value(const struct wt_schedule_result *result, size_t field)
{
	return *(const int64_t *)((const char *)result + time_fields[field].offset);
}

/* ---- JSON */

static void put_int(struct wt_json *json, const char *key, uint64_t value)
{
	wt_json_key(json, key);
	if (value <= INT64_MAX)
		wt_json_int(json, (int64_t)value);
	else
		wt_json_null(json);
}

static void put_tile(struct wt_json *json, const struct wt_sim *sim, const struct wt_sim_row *row)
{
	if (!row->tile)
		return;
	put_int(json, "tile_m", row->tile->m);
	put_int(json, "tile_n", row->tile->n);
	wt_json_key(json, "tile_k");
	if (row->tile->k)
		wt_json_int(json, row->tile->k);
	else
		wt_json_null(json);
	put_int(json, "tiles_m", row->tiles_m);
	put_int(json, "tiles_n", row->tiles_n);
	wt_json_key(json, "useful_share");
	wt_json_double(json, wt_sim_useful_share(sim, row));
}

static void put_counts(struct wt_json *json, const struct wt_schedule_result *result)
{
	put_int(json, "grid", result->grid);
	put_int(json, "items", result->item_count);
	put_int(json, "resident_blocks", result->resident_blocks);
	wt_json_key(json, "waves");
	wt_json_double(json, result->waves);
	wt_json_key(json, "waves_sm");
	wt_json_double(json, result->waves_sm);
	put_int(json, "full_waves", result->full_waves);
	put_int(json, "last_wave_blocks", result->last_wave_blocks);
	put_int(json, "sms_used", result->sms_used);
}

static void put_tail(struct wt_json *json, const struct wt_sim *sim,
                     const struct wt_schedule_result *result)
{
	wt_json_key(json, "tail_time");
	if (result->has_tail)
		wt_json_decimal(json, result->tail_time, sim->scale.digits);
	else
		wt_json_null(json);
	wt_json_key(json, "tail_active");
	if (result->has_tail)
		wt_json_decimal(json, result->tail_active, sim->scale.digits);
	else
		wt_json_null(json);
}

/* A row without a schedule has the same members, null, and says why. */
static void put_nulls(struct wt_json *json, const struct wt_sim *sim, const struct wt_sim_row *row)
{
	static const char *const keys[] = {
	        "resident_blocks",  "waves",    "waves_sm",  "full_waves",
	        "last_wave_blocks", "sms_used", "tail_time", "tail_active"};

	put_int(json, "items", row->items);
	wt_json_key(json, "grid");
	if (sim->deal == WT_SCHEDULE_BLOCKS)
		wt_json_int(json, (int64_t)row->items);
	else
		wt_json_null(json);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		wt_json_key(json, keys[i]);
		wt_json_null(json);
	}
	for (size_t i = 0; i < TIME_FIELD_COUNT; i++) {
		wt_json_key(json, time_fields[i].key);
		wt_json_null(json);
	}
	wt_json_key(json, "reason");
	wt_json_string(json, wt_sim_error_text(row->error));
}

/* The members of one row, into the open object. */
static void put_row(struct wt_json *json, const struct wt_sim *sim, const struct wt_sim_row *row)
{
	put_int(json, "sms", row->sms);
	put_int(json, "blocks_per_sm", row->blocks_per_sm);
	put_tile(json, sim, row);
	if (row->error) {
		put_nulls(json, sim, row);
		return;
	}
	put_counts(json, &row->result);
	for (size_t i = 0; i < TIME_FIELD_COUNT; i++) {
		wt_json_key(json, time_fields[i].key);
		wt_json_decimal(json, time_value(&row->result, i), sim->scale.digits);
	}
	put_tail(json, sim, &row->result);
}

/* How the rows were made, so that they can be told apart later. */
static void put_options(struct wt_json *json, const struct wt_sim *sim)
{
	static const char *const deals[] = {[WT_SCHEDULE_BLOCKS] = "off",
	                                    [WT_SCHEDULE_QUEUE] = "queue",
	                                    [WT_SCHEDULE_STRIDE] = "turn",
	                                    [WT_SCHEDULE_SPLIT] = "stream-k"};

	wt_json_key(json, "options");
	wt_json_object_begin(json);
	wt_json_key(json, "gpu");
	wt_json_string(json, sim->gpu_text);
	wt_json_key(json, "share");
	wt_json_bool(json, sim->is_shared);
	wt_json_key(json, "pack");
	wt_json_bool(json, sim->is_packed);
	put_int(json, "cluster_blocks", sim->cluster_blocks);
	wt_json_key(json, "persistent");
	wt_json_string(json, deals[sim->deal]);
	wt_json_key(json, "setup");
	wt_json_decimal(json, sim->setup, sim->scale.digits);
	wt_json_key(json, "seed");
	if (sim->times.kind == WT_SCHEDULE_NORMAL || sim->times.kind == WT_SCHEDULE_UNIFORM)
		wt_json_int(json, (int64_t)sim->times.seed);
	else
		wt_json_null(json);
	wt_json_object_end(json);
}

int wt_sim_print_json(FILE *out, const struct wt_sim *sim, const struct wt_sim_row *rows,
                      size_t row_count, const int64_t *sm_active)
{
	struct wt_json json;

	wt_json_init(&json, out, true);
	wt_json_object_begin(&json);
	put_int(&json, "schema", WT_JSON_SCHEMA);
	wt_json_key(&json, "run");
	wt_json_null(&json);
	wt_json_key(&json, "evidence");
	wt_json_string(&json, "model");
	wt_json_key(&json, "unit");
	wt_json_string(&json, unit_name(sim));
	put_options(&json, sim);
	if (sim->is_sweep) {
		wt_json_key(&json, "rows");
		wt_json_array_begin(&json);
		for (size_t i = 0; i < row_count; i++) {
			wt_json_object_begin(&json);
			put_row(&json, sim, &rows[i]);
			wt_json_object_end(&json);
		}
		wt_json_array_end(&json);
	} else {
		put_row(&json, sim, rows);
		wt_json_key(&json, "sm");
		wt_json_array_begin(&json);
		for (uint32_t i = 0; i < rows->sms && !rows->error; i++)
			wt_json_decimal(&json, sm_active[i], sim->scale.digits);
		wt_json_array_end(&json);
	}
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

/* ---- CSV: no field needs quotes */

static void put_csv_time(FILE *out, const struct wt_sim *sim, int64_t ticks)
{
	int64_t one = 1;

	for (int i = 0; i < sim->scale.digits; i++)
		one *= 10;
	fprintf(out, ",%" PRId64, ticks / one);
	if (sim->scale.digits)
		fprintf(out, ".%0*" PRId64, sim->scale.digits, ticks % one);
}

static void put_csv_row(FILE *out, const struct wt_sim *sim, const struct wt_sim_row *row)
{
	const struct wt_schedule_result *r = &row->result;
	const char *unit = unit_name(sim);

	fprintf(out, "%u,%u,", row->sms, row->blocks_per_sm);
	if (row->tile)
		fprintf(out, "%u,%u", row->tile->m, row->tile->n);
	else
		fputc(',', out);
	fputc(',', out);
	if (row->tile && row->tile->k)
		fprintf(out, "%u", row->tile->k);
	if (row->error) {
		fputc(',', out);
		if (sim->deal == WT_SCHEDULE_BLOCKS)
			fprintf(out, "%" PRIu64, row->items);
		fprintf(out, ",%" PRIu64 ",,,,,,", row->items);
		for (size_t i = 0; i < TIME_FIELD_COUNT; i++)
			fputc(',', out);
		fprintf(out, ",%s,%s\n", unit ? unit : "", wt_sim_error_text(row->error));
		return;
	}
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.17g,%.17g,%" PRIu64 ",%" PRIu64 ",%u",
	        r->grid, r->item_count, r->resident_blocks, r->waves, r->waves_sm, r->full_waves,
	        r->last_wave_blocks, r->sms_used);
	for (size_t i = 0; i < TIME_FIELD_COUNT; i++)
		put_csv_time(out, sim, time_value(r, i));
	fprintf(out, ",%s,\n", unit ? unit : "");
}

int wt_sim_print_csv(FILE *out, const struct wt_sim *sim, const struct wt_sim_row *rows,
                     size_t row_count)
{
	fputs("sms,blocks_per_sm,tile_m,tile_n,tile_k,grid,items,resident_blocks,waves,waves_sm,"
	      "full_waves,last_wave_blocks,sms_used",
	      out);
	for (size_t i = 0; i < TIME_FIELD_COUNT; i++)
		fprintf(out, ",%s", time_fields[i].key);
	fputs(",unit,reason\n", out);
	for (size_t i = 0; i < row_count; i++)
		put_csv_row(out, sim, &rows[i]);
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

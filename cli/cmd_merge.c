/*
 * cmd_merge.c - `wavetap merge`: runs of several hosts or ranks as one run file. Single-threaded; blocks on
 * files.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/digest.h"
#include "cli/cli.h"
#include "cli/json_run.h"
#include "cli/merge.h"
#include "cli/out_file.h"
#include "cli/phrase.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "config.h"
#include "daemon/rederive.h"

#define DEVICES_PACKED_MAX 16 /* with more rows are not packed */

enum align_by { ALIGN_AUTO, ALIGN_COLLECTIVES, ALIGN_LAUNCHES, ALIGN_NONE };

static const struct wt_choice align_choices[] = {
        {"auto", "on collectives; on launches where no run has any (default)", 0},
        {"collectives", "the n-th of one is the n-th of the other, and they end together", 0},
        {"launches", "the n-th kernels of all start together: ranks in step", 0},
        {"none", "clocks are taken as they are", 0},
        {0},
};

struct merge_values {
	const char *output, *name;
	int align;
	bool is_forced, is_json, is_csv;
};

static const struct wt_option merge_options[] = {
        {"output", 'o', WT_OPTION_TEXT, "FILE", offsetof(struct merge_values, output), NULL,
         "the run file to make"},
        {"force", 0, WT_OPTION_FLAG, NULL, offsetof(struct merge_values, is_forced), NULL,
         "replace an existing FILE"},
        {"name", 'n', WT_OPTION_TEXT, "NAME", offsetof(struct merge_values, name), NULL,
         "name of the run (default: that of the runs, if they have one)"},
        {"align", 0, WT_OPTION_CHOICE, "HOW", offsetof(struct merge_values, align), align_choices,
         "how clocks of several hosts are set beside each other"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct merge_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct merge_values, is_csv), NULL,
         "rows as CSV"},
        {0},
};

/* ---- reading */

/* The path of a run by whatever names it: the list is read once. */
static const char *path_of(const char *spec, const struct wt_db_run_file *runs, size_t count)
{
	const struct wt_db_run_file *found = NULL;

	if (!wt_run_is_path(spec) && access(spec, F_OK) != 0)
		found = wt_run_pick(runs, count, spec);
	return found ? found->path : spec;
}

static bool has_events(const struct wt_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		if (merge->sources[i].event_count)
			return true;
	return false;
}

static int read_all(struct wt_merge *merge, char **specs, size_t count,
                    const struct wt_db_run_file *runs, size_t run_count, bool is_by_launches)
{
	struct wt_progress progress;
	int code = WT_EXIT_FINE;

	wt_progress_begin(&progress, "merge", "runs read", (int64_t)count);
	for (size_t i = 0; i < count && !code; i++) {
		struct wt_merge_source *source = &merge->sources[merge->count];

		code = wt_merge_read(merge, path_of(specs[i], runs, run_count), is_by_launches,
		                     source);
		wt_progress_set(&progress, (int64_t)i + 1);
		if (code || source->process_count) {
			merge->count++;
			continue;
		}
		wt_cli_error("%s: run %s has no kernels: it is left out", source->info.path,
		             source->info.id);
		wt_merge_source_fini(source);
	}
	wt_progress_end(&progress);
	return code;
}

static void forget_all(struct wt_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		wt_merge_source_fini(&merge->sources[i]);
	merge->count = 0;
}

static int read_sources(const struct merge_values *values, struct wt_merge *merge, char **specs,
                        size_t count)
{
	struct wt_db_run_file *runs = NULL;
	char data_dir[WT_PATH_BYTES];
	size_t run_count = 0;
	bool is_listed = false;
	int code;

	for (size_t i = 0; i < count; i++)
		is_listed = is_listed || (!wt_run_is_path(specs[i]) && access(specs[i], F_OK) != 0);
	if (is_listed &&
	    (wt_run_data_dir(data_dir) || wt_db_list(data_dir, &runs, &run_count) != 0))
		return WT_EXIT_FAILED;
	merge->sources = calloc(count, sizeof(*merge->sources));
	if (!merge->sources) {
		free(runs);
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	code = read_all(merge, specs, count, runs, run_count, values->align == ALIGN_LAUNCHES);
	if (!code && values->align == ALIGN_AUTO && !has_events(merge)) {
		forget_all(merge);
		code = read_all(merge, specs, count, runs, run_count, true);
	}
	free(runs);
	if (!code && merge->count < 2) {
		wt_cli_error("there is nothing to merge: %s",
		             merge->count ? "only one run has kernels" : "no run has kernels");
		code = WT_EXIT_NO_DATA;
	}
	return code;
}

/* ---- clocks */

static int align(const struct merge_values *values, struct wt_merge *merge)
{
	size_t bad = 0;

	if (values->align == ALIGN_NONE) {
		for (size_t i = 0; i < merge->count; i++) {
			merge->sources[i].clock = WT_MERGE_AS_IT_WAS;
			merge->sources[i].align = (struct wt_align){.error_ns = -1, .limit_ns = -1};
		}
		return WT_EXIT_FINE;
	}
	if (wt_merge_align(merge)) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	for (size_t i = 0; i < merge->count; i++) {
		const struct wt_merge_source *source = &merge->sources[i];

		if (!source->align.reason)
			continue;
		if (!bad++)
			wt_cli_error(
			        "the clock of %s can't be set beside that of %s by their %s: %s",
			        source->info.path, merge->sources[merge->reference].info.path,
			        source->is_by_launches ? "launches" : "collectives",
			        source->align.reason);
	}
	if (!bad)
		return WT_EXIT_FINE;
	wt_cli_error(
	        "%zu of %zu runs can't be aligned: nothing is written (--align none takes clocks "
	        "as they are)",
	        bad, merge->count);
	return WT_EXIT_NO_DATA;
}

/* ---- writing */

static int put_meta(sqlite3 *out, const char *key, const char *value)
{
	sqlite3_stmt *s = NULL;
	int rc = wt_db_prepare(out, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)", &s);

	if (!rc && wt_db_run(s, "tt", key, value) != SQLITE_DONE)
		rc = -EIO;
	sqlite3_finalize(s);
	return rc;
}

/* What all of them say, else `otherwise`. */
static const char *common(const struct wt_merge *merge, size_t offset, const char *otherwise)
{
	const char *first = (const char *)&merge->sources[0].info + offset;

	for (size_t i = 1; i < merge->count; i++)
		if (strcmp(first, (const char *)&merge->sources[i].info + offset) != 0)
			return otherwise;
	return first;
}

static int put_facts(const struct merge_values *values, const struct wt_merge *merge, sqlite3 *out)
{
	char id[WT_DIGEST_HEX_BYTES], text[80];
	const char *name = values->name ? values->name
	                                : common(merge, offsetof(struct wt_db_run_file, name), "");
	int64_t created_ns = wt_db_int(out, "SELECT min(created_ns) FROM proc", 0);
	struct wt_digest digest;
	int rc;

	wt_digest_init(&digest);
	for (size_t i = 0; i < merge->count; i++)
		wt_digest_add(&digest, merge->sources[i].info.key,
		              strlen(merge->sources[i].info.key) + 1);
	wt_digest_finish(&digest, id);
	snprintf(text, sizeof(text), "merge:%.32s", id);
	rc = put_meta(out, "run_key", text);
	id[8] = '\0';
	if (!rc)
		rc = put_meta(out, "run_id", id);
	if (!rc && name[0])
		rc = put_meta(out, "name", name);
	snprintf(text, sizeof(text), "%" PRId64, created_ns);
	if (!rc)
		rc = put_meta(out, "created_ns", text);
	if (!rc)
		rc = put_meta(
		        out, "hostname",
		        common(merge, offsetof(struct wt_db_run_file, hostname), "several hosts"));
	if (!rc)
		rc = put_meta(out, "wavetap_version", PACKAGE_VERSION);
	/* Raw samples stay behind; what was measured from them is here. */
	snprintf(text, sizeof(text), "%" PRId64,
	         wt_db_int(out, "SELECT sum(samples_stored) FROM sampler", 0));
	if (!rc && wt_db_int(out, "SELECT count(*) FROM sampler", 0))
		rc = put_meta(out, "samples_removed", text);
	return rc;
}

static int put_sources(const struct wt_merge *merge, sqlite3 *out)
{
	sqlite3_stmt *s = NULL;
	int rc = wt_db_prepare(
	        out, "INSERT INTO merge_source VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
	        &s);

	for (size_t i = 0; i < merge->count && !rc; i++) {
		const struct wt_merge_source *source = &merge->sources[i];
		const struct wt_align *a = &source->align;

		if (wt_db_run(s, "itttiitiirnni", (int64_t)i + 1, source->info.id,
		              source->info.name, source->info.hostname, source->first_process,
		              source->last_process, wt_merge_clock_name(source->clock),
		              a->offset_ns, a->middle_ns, a->drift,
		              a->error_ns < 0 ? WT_DB_NULL : a->error_ns,
		              a->limit_ns < 0 ? WT_DB_NULL : a->limit_ns, a->events) != SQLITE_DONE)
			rc = -EIO;
	}
	sqlite3_finalize(s);
	return rc;
}

/* Tags on which all agree. */
static int put_tags(const struct wt_merge *merge, sqlite3 *out)
{
	static const char add_sql[] = "INSERT INTO temp.tag_of SELECT ?1, ?2";
	static const char sum_sql[] =
	        "INSERT INTO tag SELECT key, min(value) FROM temp.tag_of GROUP BY key"
	        " HAVING count(*) = ?1 AND min(value) = max(value)";
	sqlite3_stmt *add = NULL, *sum = NULL;
	int rc = sqlite3_exec(out, "CREATE TEMP TABLE tag_of (key TEXT, value TEXT)", NULL, NULL,
	                      NULL) == SQLITE_OK
	                 ? wt_db_prepare(out, add_sql, &add)
	                 : -EIO;

	for (size_t i = 0; i < merge->count && !rc; i++) {
		char error[WT_DB_ERROR_BYTES];
		sqlite3_stmt *read = NULL;
		sqlite3 *db = NULL;

		rc = wt_db_open(merge->sources[i].info.path, &db, error);
		if (!rc)
			rc = wt_db_prepare(db, "SELECT key, value FROM tag", &read);
		for (int step = 1; !rc && step;) {
			step = wt_db_step(read);
			if (step < 0)
				rc = step;
			else if (step && wt_db_run(add, "tt", sqlite3_column_text(read, 0),
			                           sqlite3_column_text(read, 1)) != SQLITE_DONE)
				rc = -EIO;
		}
		sqlite3_finalize(read);
		sqlite3_close(db);
	}
	sqlite3_finalize(add);
	if (!rc)
		rc = wt_db_prepare(out, sum_sql, &sum);
	if (!rc && wt_db_run(sum, "i", (int64_t)merge->count) != SQLITE_DONE)
		rc = -EIO;
	sqlite3_finalize(sum);
	sqlite3_exec(out, "DROP TABLE IF EXISTS temp.tag_of", NULL, NULL, NULL);
	return rc;
}

static int on_progress(void *arg, int64_t done)
{
	wt_progress_set(arg, done);
	return 0;
}

static int derive(sqlite3 *out, char error[WT_DB_ERROR_BYTES])
{
	struct wt_rederived ignored;
	struct wt_progress progress;
	int rc;

	wt_progress_begin(&progress, "merge", "launches derived",
	                  wt_db_int(out, "SELECT sum(kernels_stored) FROM proc", 0));
	rc = wt_rederive(out, on_progress, &progress, &ignored, error);
	wt_progress_end(&progress);
	return rc;
}

/*
 * Deriving and reports go device by device and process by process: of many, each must find its rows without
 * reading those of all. Then rows stay plain, with these.
 */
static const char index_sql[] =
        "DROP TABLE chunk;"
        "CREATE TEMP TABLE chunk (chunk_id INTEGER PRIMARY KEY, kind INTEGER, process_id INTEGER,"
        " device_id INTEGER, first_id INTEGER, last_id INTEGER, row_count INTEGER, start_ns "
        "INTEGER,"
        " end_ns INTEGER, configs BLOB, data BLOB);"
        "CREATE INDEX merge_config_device ON config (device_id);"
        "CREATE INDEX merge_exec_config ON kernel_exec (config_id);"
        "CREATE INDEX merge_exec_process ON kernel_exec (process_id);"
        "ANALYZE";

static int copy_all(struct wt_merge *merge, sqlite3 *out)
{
	struct wt_merge_copy *copy = NULL;
	struct wt_progress progress;
	int code = wt_merge_copy_begin(out, &copy);

	wt_progress_begin(&progress, "merge", "runs", (int64_t)merge->count);
	for (size_t i = 0; i < merge->count && !code; i++) {
		code = wt_merge_copy_run(copy, &merge->sources[i]);
		wt_progress_set(&progress, (int64_t)i + 1);
	}
	wt_progress_end(&progress);
	wt_merge_copy_end(copy);
	return code;
}

static int write_into(const struct merge_values *values, struct wt_merge *merge, sqlite3 *out)
{
	char error[WT_DB_ERROR_BYTES] = "";
	bool are_many = false;
	int code = sqlite3_exec(out, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ? WT_EXIT_FINE
	                                                                     : WT_EXIT_FAILED;
	int rc = 0;

	if (!code)
		code = copy_all(merge, out);
	if (code)
		return code;
	if (put_facts(values, merge, out) || put_sources(merge, out) || put_tags(merge, out))
		rc = -EIO;
	if (!rc && wt_db_int(out, "SELECT count(*) FROM gpu", 0) > DEVICES_PACKED_MAX) {
		are_many = true;
		if (sqlite3_exec(out, index_sql, NULL, NULL, NULL) != SQLITE_OK)
			rc = -EIO;
	}
	if (!rc)
		rc = derive(out, error);
	if (!rc && are_many &&
	    (sqlite3_exec(out, "DROP TABLE temp.chunk", NULL, NULL, NULL) != SQLITE_OK ||
	     sqlite3_exec(out, wt_schema_added_sql, NULL, NULL, NULL) != SQLITE_OK))
		rc = -EIO;
	if (!rc && sqlite3_exec(out, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		rc = -EIO;
	if (!rc && !are_many)
		rc = wt_pack_file(out, error);
	if (rc)
		wt_cli_error("%s: %s", values->output, error[0] ? error : sqlite3_errmsg(out));
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

static int write_file(const struct merge_values *values, struct wt_merge *merge)
{
	char error[WT_DB_ERROR_BYTES];
	struct wt_out_file file;
	sqlite3 *out = NULL;
	int rc = wt_out_file_begin(&file, values->output, values->is_forced);
	int code;

	if (rc) {
		wt_cli_error("%s%s%s", values->output, rc == -EEXIST ? "" : ": ",
		             rc == -EEXIST ? " exists already (--force replaces it)"
		                           : strerror(-rc));
		return WT_EXIT_FAILED;
	}
	rc = wt_db_make_private(file.temporary, &out, error);
	if (rc)
		wt_cli_error("%s", error);
	code = rc ? WT_EXIT_FAILED : write_into(values, merge, out);
	sqlite3_close(out);
	if (code) {
		wt_out_file_abort(&file);
		return code;
	}
	rc = wt_out_file_commit(&file);
	if (rc)
		wt_cli_error("%s: %s", values->output, strerror(-rc));
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

/* ---- what came of it */

static const struct wt_table_column columns[] = {
        {"id", "RUN", WT_TABLE_LEFT, 0, 0, 0},
        {"hostname", "HOST", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 6, 0},
        {"ranks", "RANKS", WT_TABLE_LEFT, WT_TABLE_DROP(4), 0, 16},
        {"gpus", "GPUS", WT_TABLE_LEFT, WT_TABLE_DROP(1), 0, 20},
        {"clock", "CLOCK", WT_TABLE_LEFT, WT_TABLE_DROP(5), 0, 0},
        {"offset_ns", "OFFSET", WT_TABLE_RIGHT, 0, 0, 0},
        {"drift_ppm", "PPM", WT_TABLE_RIGHT, WT_TABLE_DROP(6), 0, 0},
        {"error_ns", "+-", WT_TABLE_RIGHT, 0, 0, 0},
        {"limit_ns", "AT MOST", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"events", "OF", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"first_process", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"last_process", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"shift", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"file", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
};

static void add_ns(struct wt_table *table, int64_t ns, bool is_signed)
{
	char number[WT_TEXT_NUMBER_BYTES], text[WT_TEXT_NUMBER_BYTES + 1];

	snprintf(text, sizeof(text), "%s%s",
	         is_signed && ns > 0 ? "+"
	         : ns < 0            ? "-"
	                             : "",
	         wt_text_ns(number, ns < 0 ? -ns : ns));
	wt_table_add_int(table, ns, text);
}

/* "0-7", "3", or nothing. */
static void add_ranks(struct wt_table *table, const struct wt_merge_source *source)
{
	int64_t low = INT64_MAX, high = -1;
	char text[2 * WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < source->process_count; i++) {
		int64_t rank = source->processes[i].rank;

		if (rank >= 0 && rank < low)
			low = rank;
		if (rank > high)
			high = rank;
	}
	if (high >= 0)
		snprintf(text, sizeof(text), low == high ? "%" PRId64 : "%" PRId64 "-%" PRId64, low,
		         high);
	wt_table_add_string(table, high >= 0 ? text : NULL, NULL);
}

static void add_source(struct wt_table *table, const struct wt_merge_source *source)
{
	const struct wt_align *align = &source->align;
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	wt_table_add_string(table, source->info.id, NULL);
	wt_table_add_string(table, source->info.hostname, NULL);
	add_ranks(table, source);
	wt_table_add_string(table, source->gpus, NULL);
	wt_table_add_string(table, wt_merge_clock_name(source->clock), NULL);
	add_ns(table, align->offset_ns, true);
	snprintf(text, sizeof(text), "%.3g", align->drift * 1e6);
	wt_table_add_double(table, align->drift * 1e6, 6, text);
	if (align->error_ns < 0)
		wt_table_add_null(table);
	else
		add_ns(table, align->error_ns, false);
	if (align->limit_ns < 0)
		wt_table_add_null(table);
	else
		add_ns(table, align->limit_ns, false);
	wt_table_add_int(table, align->events, wt_text_count(text, align->events));
	wt_table_add_int(table, source->first_process, NULL);
	wt_table_add_int(table, source->last_process, NULL);
	wt_table_add_int(table, align->shift, NULL);
	wt_table_add_string(table, source->info.path, NULL);
}

static void print_head(const struct wt_merge *merge, const struct wt_run_file *run,
                       const struct wt_text_terminal *terminal)
{
	struct wt_phrase line;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	wt_phrase_init(&line, stdout, terminal);
	wt_phrase_add(&line, "run %s", run->info.id);
	if (run->info.name[0])
		wt_phrase_add(&line, "%s", run->info.name);
	wt_phrase_add(&line, "%s runs", wt_text_count(a, (int64_t)merge->count));
	wt_phrase_add(&line, "%s processes", wt_text_count(a, run->info.processes));
	if (merge->ranks && merge->world_size > 0)
		wt_phrase_add(&line, "%s of %s ranks", wt_text_count(a, merge->ranks),
		              wt_text_count(b, merge->world_size));
	wt_phrase_add(&line, "%s kernels", wt_text_count(a, run->info.kernels));
	wt_phrase_add(&line, "%s", run->info.path);
	wt_phrase_end(&line);
}

static void print_notes(const struct wt_merge *merge, const struct wt_text_terminal *terminal)
{
	bool is_by_launches = false, are_gpus_alike = true;

	for (size_t i = 0; i < merge->count; i++) {
		const struct wt_merge_source *source = &merge->sources[i];

		is_by_launches = is_by_launches || source->clock == WT_MERGE_LAUNCHES;
		are_gpus_alike = are_gpus_alike && source->gpus && merge->sources[0].gpus &&
		                 !strcmp(source->gpus, merge->sources[0].gpus);
	}
	if (merge->missing[0])
		wt_phrase_line(
		        stdout, terminal,
		        "missing: rank %s. Who was late is not told: it may have been one of "
		        "them",
		        merge->missing);
	if (!are_gpus_alike)
		wt_phrase_line(stdout, terminal,
		               "not all have the same GPUs: times of ranks are not alike for that");
	if (is_by_launches)
		wt_phrase_line(
		        stdout, terminal,
		        "aligned on launches, as if the ranks ran in step: who always lags by "
		        "the same does not show");
}

static int print_json(const struct wt_merge *merge, const struct wt_run_file *run,
                      struct wt_table *table)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, run);
	wt_json_key(&json, "processes");
	wt_json_int(&json, run->info.processes);
	wt_json_key(&json, "world_size");
	if (merge->world_size > 0)
		wt_json_int(&json, merge->world_size);
	else
		wt_json_null(&json);
	wt_json_key(&json, "ranks");
	wt_json_int(&json, merge->ranks);
	wt_json_key(&json, "ranks_missing");
	wt_json_string(&json, merge->missing[0] ? merge->missing : NULL);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int show(const struct merge_values *values, const struct wt_merge *merge)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	struct wt_text_terminal terminal;
	struct wt_run_file run = {0};
	char error[WT_DB_ERROR_BYTES];
	int rc = table ? wt_db_open(values->output, &run.db, error) : -ENOMEM;

	if (!rc)
		rc = wt_db_describe(run.db, values->output, &run.info);
	for (size_t i = 0; i < merge->count && !rc; i++)
		add_source(table, &merge->sources[i]);
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	if (!rc && values->is_json) {
		rc = print_json(merge, &run, table);
	} else if (!rc && values->is_csv) {
		rc = wt_table_print_csv(table, stdout);
	} else if (!rc) {
		print_head(merge, &run, &terminal);
		rc = wt_table_print_text(table, stdout, &terminal);
		print_notes(merge, &terminal);
	}
	wt_table_destroy(table);
	sqlite3_close(run.db);
	return wt_cli_output_result(rc);
}

static int run_merge(void *opaque, int operand_count, char **operands)
{
	const struct merge_values *values = opaque;
	struct wt_merge merge = {0};
	int code;

	if (!values->output || !values->output[0])
		return wt_cli_usage_error("merge", "where to? -o FILE is missing");
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("merge", "--json and --csv exclude each other");
	code = read_sources(values, &merge, operands, (size_t)operand_count);
	for (size_t i = 0; i < merge.count && !code; i++)
		if (wt_out_file_is_same(values->output, merge.sources[i].info.path))
			code = wt_cli_usage_error("merge", "-o %s is one of the runs itself",
			                          values->output);
	if (!code)
		code = wt_merge_judge(&merge);
	if (!code)
		code = align(values, &merge);
	if (!code)
		code = write_file(values, &merge);
	if (!code)
		code = show(values, &merge);
	forget_all(&merge);
	free(merge.sources);
	wt_map_fini(&merge.names);
	return code;
}

const struct wt_command wt_cmd_merge = {
        .name = "merge",
        .operands = "RUN RUN...",
        .summary = "runs of several hosts or ranks as one, with their clocks aligned",
        .details = "Times are moved so that collectives end together: OFFSET and PPM (drift), +- "
                   "how well "
                   "that is known. Exits with 3 if it can't be told, or they are of several jobs.",
        .example = "wavetap merge -o job.db ./host-a.db ./host-b.db",
        .theme = WT_THEME_KEEP,
        .options = merge_options,
        .operand_count_min = 2,
        .operand_count_max = -1,
        .values_bytes = sizeof(struct merge_values),
        .run = run_merge,
};

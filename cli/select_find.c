/*
 * select_find.c - see select_impl.h: which device, kernels and ranks the words of a selection
 * mean, and what there is instead where they mean none. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/kernel_name.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/select_impl.h"

#define LIST_BYTES 400 /* of a message */
#define LIST_COUNT 5

/* ---- a list of what there is, for messages */

struct list {
	char text[LIST_BYTES];
	int count;
};

static void list_add(struct list *list, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void list_add(struct list *list, const char *format, ...)
{
	size_t used = strlen(list->text);
	va_list ap;

	list->count++;
	if (list->count > LIST_COUNT) {
		if (list->count == LIST_COUNT + 1)
			snprintf(list->text + used, LIST_BYTES - used, ", ...");
		return;
	}
	used += (size_t)snprintf(list->text + used, LIST_BYTES - used, "%s",
	                         list->count > 1 ? ", " : "");
	if (used >= LIST_BYTES)
		return;
	va_start(ap, format);
	vsnprintf(list->text + used, LIST_BYTES - used, format, ap);
	va_end(ap);
}

/* ---- devices */

/* "GPU-1a2b-..." as nvidia-smi prints it, "1a2b...": hexadecimal digits of it. */
static bool uuid_begins(const char *uuid, const char *word)
{
	if (!strncasecmp(word, "GPU-", 4) || !strncasecmp(word, "MIG-", 4))
		word += 4;
	if (!word[strspn(word, "-")])
		return false;
	for (; *word; word++) {
		if (*word == '-')
			continue;
		if (!*uuid || strncasecmp(uuid++, word, 1))
			return false;
	}
	return true;
}

/* A device's id comes before a UUID that happens to begin with the same digits. */
static int find_device(const struct wt_run_file *run, const char *word, int64_t *ret_device_id)
{
	struct list all = {0}, found = {0};
	bool is_id = false;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        run->db, "SELECT device_id, uuid, name FROM main.device ORDER BY device_id", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t id = sqlite3_column_int64(s, 0);
		const char *uuid = (const char *)sqlite3_column_text(s, 1);
		const char *name = (const char *)sqlite3_column_text(s, 2);
		char number[32];

		snprintf(number, sizeof(number), "%" PRId64, id);
		list_add(&all, "%s (%.40s, %.8s)", number, name ? name : "", uuid ? uuid : "");
		if (!strcmp(number, word)) {
			is_id = true;
			*ret_device_id = id;
		} else if (uuid && uuid_begins(uuid, word)) {
			list_add(&found, "%s (%.40s, %.32s)", number, name ? name : "", uuid);
			if (!is_id)
				*ret_device_id = id;
		}
	}
	sqlite3_finalize(s);
	if (rc < 0)
		return rc;
	if (is_id || found.count == 1)
		return WT_EXIT_FINE;
	if (found.count) {
		wt_cli_error("--device %s could be %s", word, found.text);
		return WT_EXIT_FAILED;
	}
	wt_cli_error("run %s has no device \"%s\"; it has %s", run->info.id, word,
	             all.count ? all.text : "none");
	return WT_EXIT_NO_DATA;
}

int wt_select_device(const struct wt_select *select, const struct wt_run_file *run)
{
	int64_t device_id = 0;
	int rc;

	if (!select->words.device)
		return WT_EXIT_FINE;
	rc = find_device(run, select->words.device, &device_id);
	if (rc)
		return rc;
	return wt_select_execute(run->db, "DELETE FROM temp.wt_device WHERE device_id <> %lld",
	                         (long long)device_id);
}

/* ---- kernels */

struct names {
	int64_t *ids;
	char **raw, **brief;
	size_t count, brief_count;
};

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->raw[i]);
	wt_kernel_name_free_all(names->brief, names->brief_count);
	free(names->raw);
	free(names->ids);
}

static int load_names(sqlite3 *db, struct names *names)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT kernel_id, name FROM main.kernel ORDER BY 1", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		size_t id_count = names->count;
		int64_t *id = wt_report_append(&names->ids, &id_count, sizeof(*id));
		char **raw = id ? wt_report_append(&names->raw, &names->count, sizeof(*raw)) : NULL;

		rc = raw ? wt_report_copy_text(s, 1, raw) : -ENOMEM;
		if (rc)
			break;
		*id = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	if (!rc)
		rc = wt_kernel_name_shorten_all((const char *const *)names->raw, names->count,
		                                &names->brief);
	if (!rc)
		names->brief_count = names->count;
	return rc;
}

static int matches(const struct wt_select *select, const struct names *names, size_t i)
{
	char *whole = wt_kernel_name_demangle(names->raw[i]);
	int found = -ENOMEM;

	if (whole)
		found = regexec(&select->regex, whole, 0, NULL, 0) == 0 ||
		        regexec(&select->regex, names->brief[i], 0, NULL, 0) == 0;
	free(whole);
	return found;
}

static int insert_kernels(const struct wt_select *select, sqlite3 *db, const struct names *names,
                          int64_t *ret_count)
{
	sqlite3_stmt *s;
	int rc = wt_select_execute(db,
	                           "CREATE TEMP TABLE wt_kernel (kernel_id INTEGER PRIMARY KEY)");

	if (!rc)
		rc = wt_report_prepare(db, "INSERT INTO temp.wt_kernel VALUES (?1)", &s);
	if (rc)
		return rc;
	*ret_count = 0;
	for (size_t i = 0; i < names->count && !rc; i++) {
		int found = matches(select, names, i);

		if (found <= 0) {
			rc = found;
			continue;
		}
		++*ret_count;
		rc = wt_db_run(s, "i", names->ids[i]) == SQLITE_DONE ? 0 : -EIO;
	}
	sqlite3_finalize(s);
	return rc;
}

static void no_kernel(const struct wt_select *select, const struct wt_run_file *run,
                      const struct names *names)
{
	struct list all = {0};

	for (size_t i = 0; i < names->count; i++)
		list_add(&all, "%.60s", names->brief[i]);
	wt_cli_error("no kernel of run %s matches \"%s\"; it has %zu: %s", run->info.id,
	             select->words.kernel, names->count, all.text);
}

int wt_select_kernels(const struct wt_select *select, const struct wt_run_file *run)
{
	struct names names = {0};
	int64_t count = 0;
	int rc;

	if (!select->words.kernel)
		return WT_EXIT_FINE;
	rc = load_names(run->db, &names);
	if (!rc)
		rc = insert_kernels(select, run->db, &names, &count);
	if (!rc && !count) {
		no_kernel(select, run, &names);
		rc = WT_EXIT_NO_DATA;
	}
	free_names(&names);
	return rc;
}

/* ---- ranks */

static bool is_rank_wanted(const struct wt_select *select, int64_t rank)
{
	for (size_t i = 0; i < select->rank_count; i++)
		if (rank >= select->ranks[i].low && rank <= select->ranks[i].high)
			return true;
	return false;
}

int wt_select_ranks(const struct wt_select *select, const struct wt_run_file *run)
{
	struct list all = {0};
	bool is_any = false;
	sqlite3_stmt *s;
	int rc;

	if (!select->words.rank)
		return WT_EXIT_FINE;
	rc = wt_select_execute(run->db, "CREATE TEMP TABLE wt_rank (rank INTEGER PRIMARY KEY)");
	if (!rc)
		rc = wt_report_prepare(run->db,
		                       "SELECT DISTINCT rank FROM main.proc WHERE rank IS NOT NULL "
		                       "ORDER BY rank",
		                       &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t rank = sqlite3_column_int64(s, 0);

		list_add(&all, "%" PRId64, rank);
		if (!is_rank_wanted(select, rank))
			continue;
		is_any = true;
		rc = wt_select_execute(run->db, "INSERT INTO temp.wt_rank VALUES (%lld)",
		                       (long long)rank);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	if (rc)
		return rc;
	if (!all.count)
		wt_cli_error("no process of run %s has a rank: no launcher gave them any",
		             run->info.id);
	else if (!is_any)
		wt_cli_error("run %s has no rank of --rank %s; it has %s", run->info.id,
		             select->words.rank, all.text);
	return is_any ? WT_EXIT_FINE : WT_EXIT_NO_DATA;
}

int wt_select_rank_devices(const struct wt_select *select, const struct wt_run_file *run)
{
	static const char sql[] =
	        "SELECT c.device_id, count(DISTINCT ifnull(p.rank IN (SELECT rank FROM "
	        "temp.wt_rank), 0)),"
	        " max(ifnull(p.rank IN (SELECT rank FROM temp.wt_rank), 0)) FROM main.config_stat s"
	        " JOIN main.config c USING (config_id) JOIN main.proc p USING (process_id)"
	        " WHERE c.device_id IN (SELECT device_id FROM temp.wt_device) GROUP BY 1";
	sqlite3_stmt *s;
	int rc;

	if (!select->words.rank)
		return WT_EXIT_FINE;
	rc = wt_report_prepare(run->db, sql, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		long long device_id = sqlite3_column_int64(s, 0);

		/* No rank at all (NULL) is another one, too. */
		if (sqlite3_column_int(s, 2) && sqlite3_column_int(s, 1) > 1) {
			wt_cli_error("device %lld ran kernels of other ranks than %s as well; what "
			             "it did can't be told apart",
			             device_id, select->words.rank);
			rc = WT_EXIT_NO_DATA;
			break;
		}
		rc = sqlite3_column_int(s, 2)
		             ? 0
		             : wt_select_execute(run->db,
		                                 "DELETE FROM temp.wt_device WHERE device_id = "
		                                 "%lld",
		                                 device_id);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

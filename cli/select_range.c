/*
 * select_range.c - --range: kernels launched inside ranges of that name, with any:NAME by whatever
 * thread. Single-threaded; blocks on
 * the file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/ranges.h"
#include "cli/report_sql.h"
#include "cli/select_impl.h"
#include "cli/text.h"

#define NAMES_SHOWN 5
#define ANY_PREFIX "any:"

struct inserting {
	const struct wt_run_ranges *ranges;
	sqlite3_stmt *insert;
	size_t last; /* kernel inserted last; SIZE_MAX: none */
};

/* Once for each kernel: those of one launch come together. */
static int insert_kernel(void *arg, size_t kernel, size_t range)
{
	struct inserting *inserting = arg;
	int code;

	(void)range;
	if (kernel == inserting->last)
		return 0;
	inserting->last = kernel;
	code = wt_db_run(inserting->insert, "i", inserting->ranges->kernels[kernel].exec_id);
	return code == SQLITE_DONE ? 0 : -EIO;
}

static int insert_kernels(sqlite3 *db, struct wt_run_ranges *ranges, bool is_any_thread)
{
	struct inserting inserting = {.ranges = ranges, .last = SIZE_MAX};
	int rc = wt_select_execute(db,
	                           "CREATE TEMP TABLE wt_range_exec (exec_id INTEGER PRIMARY KEY)");

	if (!rc)
		rc = wt_run_ranges_load_kernels(db, false, ranges);
	if (!rc)
		rc = wt_report_prepare(db, "INSERT INTO temp.wt_range_exec VALUES (?1)",
		                       &inserting.insert);
	if (rc)
		return rc;
	rc = wt_run_ranges_assign(ranges, is_any_thread, insert_kernel, &inserting);
	sqlite3_finalize(inserting.insert);
	return rc;
}

void wt_run_ranges_tell_lost(sqlite3 *db)
{
	static bool is_told;
	char lost[WT_TEXT_NUMBER_BYTES], begun[WT_TEXT_NUMBER_BYTES];
	int64_t count;

	if (is_told || !wt_db_int(db,
	                          "SELECT count(*) FROM main.sqlite_schema WHERE name = "
	                          "'range_count'",
	                          0))
		return;
	is_told = true;
	count = wt_db_int(db, "SELECT sum(dropped + early + untracked) FROM main.range_count", 0);
	if (count > 0)
		wt_cli_error("%s of %s named ranges were lost: kernels inside them count as "
		             "outside (wavetap ranges)",
		             wt_text_count(lost, count),
		             wt_text_count(begun, wt_db_int(db,
		                                            "SELECT sum(begun) FROM "
		                                            "main.range_count",
		                                            0)));
}

/* None of that name: which there are. */
static int explain(const char *word, const struct wt_run_file *run)
{
	struct wt_run_ranges all;
	int rc = wt_run_ranges_load(run->db, NULL, &all);
	char text[400] = "";
	size_t used = 0;

	for (size_t i = 0; !rc && i < all.name_count && i < NAMES_SHOWN && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"%s%s%s\"",
		                         i ? ", " : "", all.names[i].domain,
		                         all.names[i].domain[0] ? "/" : "",
		                         all.names[i].name ? all.names[i].name : "");
	if (!rc && !all.name_count)
		wt_cli_error("--range: run %s has no named ranges", run->info.id);
	else if (!rc)
		wt_cli_error("run %s has no range \"%s\"; it has %s%s", run->info.id, word, text,
		             all.name_count > NAMES_SHOWN ? " and more" : "");
	wt_run_ranges_fini(&all);
	return rc ? rc : WT_EXIT_NO_DATA;
}

int wt_select_range(const struct wt_select *select, const struct wt_run_file *run)
{
	const char *word = select->words.range;
	struct wt_run_ranges ranges;
	bool is_any_thread;
	int rc;

	if (!word)
		return WT_EXIT_FINE;
	is_any_thread = !strncmp(word, ANY_PREFIX, strlen(ANY_PREFIX));
	if (is_any_thread)
		word += strlen(ANY_PREFIX);
	wt_run_ranges_tell_lost(run->db);
	rc = wt_run_ranges_load(run->db, word, &ranges);
	if (!rc)
		rc = ranges.count ? insert_kernels(run->db, &ranges, is_any_thread)
		                  : explain(word, run);
	wt_run_ranges_fini(&ranges);
	return rc;
}

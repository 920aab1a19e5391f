/*
 * copy_db.c - see copy_db.h.
 */
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/copy_db.h"
#include "cli/progress.h"

#define STEPS_PER_LOOK 20000 /* of SQLite's machine: some milliseconds */

struct copy {
	struct wt_progress progress;
	const char *path;
};

/* SQLite calls this now and then; how far it is tells the length of the file. */
static int look(void *arg)
{
	struct copy *copy = arg;
	struct stat st;

	if (stat(copy->path, &st) == 0)
		wt_progress_set(&copy->progress, st.st_size);
	return 0;
}

int wt_copy_db(const struct wt_run_file *run, const char *path, const char *shown_path,
               const char *what)
{
	struct copy copy = {.path = path};
	char error[WT_DB_ERROR_BYTES];
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	int code;

	/* Of its own: views of all rows would stand in the way (SQLite looks for the copy's tables by
	 * name alone). */
	if (wt_db_open(run->info.path, &db, error)) {
		wt_cli_error("%s", error);
		return WT_EXIT_FAILED;
	}
	/* The copy is what this connection writes; the run file itself is open read-only. */
	sqlite3_exec(db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	wt_progress_begin(&copy.progress, what, "bytes", run->info.file_bytes);
	sqlite3_progress_handler(db, STEPS_PER_LOOK, look, &copy);
	code = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	sqlite3_finalize(s);
	wt_progress_end(&copy.progress);
	if (code != SQLITE_DONE)
		wt_cli_error("can't copy %s to %s: %s", run->info.path, shown_path,
		             sqlite3_errmsg(db));
	sqlite3_close(db);
	return code == SQLITE_DONE ? WT_EXIT_FINE : WT_EXIT_FAILED;
}

/*
 * copy_db.h - a whole run file copied by SQLite, which also takes what is only in its journal
 * yet and leaves no free pages. Shows progress. Single-threaded; blocks on files.
 */
#ifndef WT_CLI_COPY_DB_H
#define WT_CLI_COPY_DB_H

#include "cli/run_file.h"

/*
 * To `path`, which is missing or empty. `what` is the command's name, for the progress.
 * WT_EXIT_FINE, or WT_EXIT_FAILED after a message that names `shown_path`.
 */
int wt_copy_db(const struct wt_run_file *run, const char *path, const char *shown_path,
               const char *what);

#endif /* WT_CLI_COPY_DB_H */

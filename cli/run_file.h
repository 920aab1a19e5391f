/*
 * run_file.h - finding the run that a reader means.
 *
 * Single-threaded; blocks on files.
 */
#ifndef WT_CLI_RUN_FILE_H
#define WT_CLI_RUN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "schema/wt_db.h"

struct wt_run_file {
	sqlite3 *db; /* read-only */
	struct wt_db_run_file info;
};

/* The entry of -r/--run in a command's option array; `field` is a const char *. */
#define WT_RUN_OPTION(values, field)                                                               \
	{                                                                                          \
		.name = "run", .letter = 'r', .type = WT_OPTION_TEXT, .argument = "RUN",           \
		.offset = offsetof(values, field),                                                 \
		.help = "a run by id, name or file, or latest~N (default: latest)",                \
	}

/*
 * Opens the run that `spec` means (NULL: latest). WT_EXIT_FINE, or another enum wt_exit
 * after a message. "latest" is the last run with at least one second of kernels, or
 * else the last that can be read; latest~N counts back among the same. A word is an id, a name, a
 * file in the data directory, the beginning of one id, or a file, in this order. Of runs with
 * the same name the last is meant, and that is said.
 */
int wt_run_file_open(const char *spec, struct wt_run_file *ret_run);
void wt_run_file_close(struct wt_run_file *run);

/*
 * What names the same run in a later command, for people to paste: " -r " and its id where the data
 * directory has it under that, else the word or path that it was opened by, quoted for a shell; "" where
 * no `spec` was given. malloc'd, the caller frees it; NULL when out of memory.
 */
char *wt_run_option(const struct wt_run_file *run, const char *spec);

/*
 * For a connection that was opened otherwise: makes tables and views of all rows, packed or not (see
 * schema/wt_rows.h). Of a damaged chunk a line is written; statements go on without its rows. 0 or
 * -errno.
 */
int wt_run_attach_rows(sqlite3 *db);

/* Is a file meant, rather than the name of a run? */
bool wt_run_is_path(const char *spec);

/* The run of a list (wt_db_list) that a name, id or latest~N means; NULL: none, or after a message
 * several. Unreadable ones are found by their file name. */
const struct wt_db_run_file *wt_run_pick(const struct wt_db_run_file *runs, size_t count,
                                         const char *spec);

/* The data directory into `path` (WT_PATH_BYTES); a message when there is none. 0 or -errno. */
int wt_run_data_dir(char *path);

#endif /* WT_CLI_RUN_FILE_H */

/*
 * watch_top.h - `wavetap top --watch`: the ranking of a run on a whole screen, read again as the run goes on.
 *
 *	watch_top.c    the loop
 *	watch_keys.c   what keys do, pages of text
 *	watch_load.c   one state of the run file, as `top` reads it
 *	watch_draw.c   the picture; watch_ledger.c its bars
 *
 * A reading opens the file anew and keeps nothing of the one before. Figures are those of `top` with the same
 * options at that moment. A file that did not change is not read again; one that takes long to read is
 * read more seldom (watch_pace.h), and a key or signal ends a reading. Single-threaded; blocks on file, terminal
 * and, for a live run, up to DAEMON_MS on the daemon.
 */
#ifndef WT_CLI_WATCH_TOP_H
#define WT_CLI_WATCH_TOP_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cli/options.h"
#include "cli/report.h"
#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/text_lines.h"
#include "cli/watch_pace.h"
#include "cli/watch_view.h"
#include "schema/wt_paths.h"

/* As on the command line. */
struct wt_watch_options {
	const char *run, *columns;
	enum wt_report_by by;
	enum wt_report_group group;
	int64_t limit; /* rows; < 0: WT_WATCH_ROWS */
	int64_t interval_ns;
	bool has_full_names, has_no_colour;
	struct wt_select_words select;
	const struct wt_choice *by_choices, *group_choices;
};

#define WT_WATCH_ROWS 1000
#define WT_WATCH_LAST "-10s" /* the window of key w, unless --from counts from the end */
#define WT_WATCH_WORD_BYTES 64

/* Which part of the run; key w goes through them. */
enum wt_watch_window {
	WT_WATCH_AS_TOP, /* as `top` has it: what was asked for, else the steady steps */
	WT_WATCH_WHOLE,
	WT_WATCH_LAST_SECONDS,
	WT_WATCH_WINDOWS
};

/* What is read. Times, ranks and so on are as in the options. */
struct wt_watch_query {
	const struct wt_watch_options *options;
	const char *path;
	enum wt_report_by by;
	enum wt_report_group group;
	enum wt_watch_window window;
	char device[WT_WATCH_WORD_BYTES]; /* "": as in the options */
};

/* One state of the run. */
struct wt_watch_state {
	struct wt_watch_query query;
	struct wt_run_file run; /* closed: only `info` */
	struct wt_select select;
	struct wt_report report;
	bool has_rows; /* else `problem` says why not, and `code` is an enum wt_exit */
	int code;
	char problem[400];
	int64_t taken_s; /* CLOCK_REALTIME */
	int64_t took_ns;
};

/* "-10s": what --from is then. */
const char *wt_watch_last(const struct wt_watch_options *options);

/*
 * Reads it; NULL: out of memory, or a key or signal came (only asked for where may_end). Free with
 * wt_watch_state_free().
 */
struct wt_watch_state *wt_watch_load(const struct wt_watch_query *query, bool may_end);
void wt_watch_state_free(struct wt_watch_state *state);

/* The text of `show` for a kernel, in lines for `columns`. 0, or -errno with `problem` (400 bytes). */
int wt_watch_load_kernel(const struct wt_watch_query *query, int64_t kernel_id, unsigned columns,
                         struct wt_lines *lines, char *problem);

/*
 * The run to watch: its path into `path` (WT_PATH_BYTES), and is it being recorded? Without -r one that is comes
 * first. An enum wt_exit.
 */
int wt_watch_find_run(const char *spec, char *path, bool *ret_is_live);

struct wt_watch_device {
	int64_t device_id, sms;
	char name[80];
};
/* Those with kernels; their number, at most `room`. */
size_t wt_watch_devices(const char *path, struct wt_watch_device *devices, size_t room);

/* Does anybody store? Asks the daemon. */
bool wt_watch_has_daemon(void);

/* The sizes and times of the files that make up the run. 0 or -errno. */
struct wt_watch_stamp {
	struct stat file, wal;
};
int wt_watch_stamp(const char *path, struct wt_watch_stamp *ret_stamp);
bool wt_watch_is_same(const struct wt_watch_stamp *a, const struct wt_watch_stamp *b);

/* ---- between the files */

enum wt_watch_mode { WT_WATCH_LIST, WT_WATCH_PAGER, WT_WATCH_MENU, WT_WATCH_FILTER };

enum wt_watch_page { WT_WATCH_PAGE_HELP, WT_WATCH_PAGE_INFO, WT_WATCH_PAGE_KERNEL };

enum wt_watch_menu { WT_WATCH_MENU_SORT, WT_WATCH_MENU_GROUP, WT_WATCH_MENU_DEVICE };

struct wt_watch {
	const struct wt_watch_options *options;
	char path[WT_PATH_BYTES];
	struct wt_watch_query query; /* what is to be read next */
	struct wt_watch_state *state; /* what is shown */
	struct wt_watch_stamp stamp; /* when that was read */
	struct wt_watch_pace pace;
	int64_t next_ns; /* the next reading */
	bool is_frozen, is_wanted; /* read again, whether the file changed or not */
	bool is_removed, is_orphaned; /* the file is gone; nobody stores what the run does */
	bool was_live, has_ended;
	char note[400]; /* one line about the last key */
	enum wt_watch_mode mode;

	/* The rows that are shown: those that the filter lets through. */
	char filter[WT_WATCH_WORD_BYTES], former_filter[WT_WATCH_WORD_BYTES];
	bool has_regex;
	regex_t regex;
	struct wt_report shown; /* of state->report: shallow, but for `rows` */
	struct wt_lines table; /* heading, rows, sums; for `table_columns` */
	unsigned table_columns;
	size_t table_rows; /* kernels in it */
	size_t selected, first;
	int64_t selected_ids[3]; /* kernel, configuration, group: followed when the order changes */
	unsigned list_row, list_rows; /* where they stand on the screen */

	struct wt_pager pager;
	enum wt_watch_page page;
	int64_t page_kernel_id;
	unsigned page_columns; /* that its text is for */
	char pager_title[200];
	struct wt_menu menu;
	enum wt_watch_menu menu_kind;
	char menu_words[WT_MENU_ITEMS_MAX][160];
};

/* After a new state, filter, order or size: rows and their text. 0 or -ENOMEM. */
int wt_watch_fill(struct wt_watch *watch);
/* The text of the page, which is watch->page. 0, or -errno with a note. */
int wt_watch_fill_page(struct wt_watch *watch);
/* A key was pressed. False: it ends the view. */
bool wt_watch_key(struct wt_watch *watch, int key);
/* Draws all of it. */
void wt_watch_draw(struct wt_watch *watch);
/* Rows of the pager and menu. */
size_t wt_watch_body_rows(void);

/* The view, from the options to the end. An enum wt_exit. */
int wt_watch_top(const struct wt_watch_options *options);

#endif /* WT_CLI_WATCH_TOP_H */

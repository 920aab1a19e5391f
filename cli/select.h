/*
 * select.h - which part of a run a reader is about: --from --to --rank --device --kernel
 * --steps --range, one implementation for all readers.
 *
 *	parse     before the run is opened: what can be wrong with the words alone
 *	apply     on an open run: finds ranks, devices and kernels, and puts views and
 *	          tables into the connection's temp schema that hide those of the file: kernel_exec,
 *	          launch, config_stat, config_idle, kernel_idle and device. Statements that name
 *	          them without "main." see the selection only
 *
 * Readers that ask for it (wt_select_prefer_steady) see the steady steps of the run if it has some
 * and no times were given: wt_select.steps says what became of it.
 *
 * A kernel belongs to a range if its launch was called inside (cli/ranges.h).
 *
 * A kernel belongs to a time window by its part in it. config_stat (and what is summed from it)
 * counts each kernel that has a part, with that part of its time and of its idle SM-time;
 * kernel_exec and launch have such kernels whole, as recorded. Without a window config_stat
 * comes from the file's own rollups; with one kernel_exec is read through.
 *
 * Words of the user become bound parameters or are compared in C; the SQL is made of
 * integers. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_SELECT_H
#define WT_CLI_SELECT_H

#include <regex.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/wave.h"
#include "cli/dropped.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/run_file.h"

/* What was typed; NULL: not given. A command has one in its values. */
struct wt_select_words {
	const char *from, *to, *rank, *device, *kernel, *steps, *range;
	bool is_all; /* the whole run, not its steady steps */
};

#define WT_SELECT_OPTION(values, field, word, letters, text)                                       \
	{                                                                                          \
		.name = #word, .type = WT_OPTION_TEXT, .argument = (letters),                      \
		.offset = offsetof(values, field.word), .help = (text),                            \
	}

/* The entries of a command's option array; `field` is its struct wt_select_words. */
#define WT_SELECT_TIME_OPTIONS(values, field)                                                      \
	WT_SELECT_OPTION(values, field, from, "T",                                                 \
	                 "only from T after the first launch on; -T: before the end"),             \
	        WT_SELECT_OPTION(values, field, to, "T", "only up to T"),                          \
	        WT_SELECT_OPTION(values, field, steps, "A:B",                                      \
	                         "only steps A to B, if steps are found"),                         \
	        WT_SELECT_OPTION(values, field, device, "N|UUID",                                  \
	                         "only the device with that id or beginning of its UUID")
#define WT_SELECT_KERNEL_OPTION(values, field, text)                                               \
	WT_SELECT_OPTION(values, field, kernel, "RE", text)
/* Without help: nobody is offered them, and who tries is told why not. */
#define WT_SELECT_REFUSED_OPTION(values, field, word)                                              \
	WT_SELECT_OPTION(values, field, word, "X", NULL)

/* Of readers that tell kernels apart (wt_select_apply). */
#define WT_SELECT_OPTIONS(values, field)                                                           \
	WT_SELECT_TIME_OPTIONS(values, field),                                                     \
	        WT_SELECT_OPTION(values, field, rank, "N[,A-B]", "only processes of these ranks"), \
	        WT_SELECT_KERNEL_OPTION(values, field,                                             \
	                                "only kernels whose name, short or whole, matches"),       \
	        WT_SELECT_OPTION(values, field, range, "NAME",                                     \
	                         "only kernels launched in ranges of that name, or glob")

/* Of readers of whole devices (wt_select_apply_devices), which do without --kernel and --range. */
#define WT_SELECT_DEVICE_OPTIONS(values, field)                                                    \
	WT_SELECT_TIME_OPTIONS(values, field),                                                     \
	        WT_SELECT_OPTION(values, field, rank, "N[,A-B]",                                   \
	                         "only the devices of these ranks, if theirs alone"),              \
	        WT_SELECT_REFUSED_OPTION(values, field, range)

/* Of commands that see the steady steps by default. */
#define WT_SELECT_ALL_OPTION(values, field)                                                        \
	{                                                                                          \
		.name = "all", .type = WT_OPTION_FLAG, .offset = offsetof(values, field.is_all),   \
		.help = "the whole run (default: its steady steps, if steps are found)",           \
	}

/* A point in time as typed. */
struct wt_select_time {
	bool is_given;
	bool is_from_end; /* counted back from the end of the run */
	int64_t ns;
};

#define WT_SELECT_RANKS_MAX 64

struct wt_select_ranks {
	int64_t low, high; /* both included */
};

/*
 * Kernels; more are not looked at without being asked. Of 210,000 the steps took 0.3 s and 30 MB, and
 * top as long again to sum its rows over the window (x86-64, 2 cores, busy, 2026-11-29).
 */
#define WT_SELECT_STEADY_LAUNCHES_MAX 250000

/* The steady steps as the default window. */
struct wt_select_steps {
	bool is_looked_for; /* false: times were given, or --all */
	bool is_found; /* the window is theirs; else `reason`, a clause, and the window is the run */
	const char *reason;
	double confidence;
	int64_t first_step, last_step; /* of the window, numbered from 1 */
	int64_t count; /* of the run */
	int64_t process_id; /* whose, if the run has several processes with launches; else 0 */
	/* Of the run, apart from the window: before it, after it, and before anything was recorded. */
	int64_t startup_ns, after_ns, unobserved_ns;
};

struct wt_select {
	struct wt_select_words words;
	struct wt_select_steps steps; /* valid after apply */
	struct wt_select_time from, to;
	struct wt_select_ranks ranks[WT_SELECT_RANKS_MAX];
	size_t rank_count;
	int64_t step_first, step_last; /* with words.steps; numbered from 1, last INT64_MAX: all */
	bool has_regex;
	regex_t regex;
	/* valid once applied */
	bool is_applied; /* something is selected, and the temp schema says what */
	bool has_window; /* --from or --to was given */
	int64_t run_start_ns, run_end_ns; /* of the whole run, as wt_select_span() */
	int64_t start_ns, end_ns; /* the selected part of it */
	int64_t launches; /* kernels with a usable time that are selected; -1: not counted */
	int64_t run_launches; /* all of the run's */
	bool takes_sums; /* set before apply: without times, sums of the run answer; rows may be missing */
	struct wt_dropped
	        dropped; /* then the window begins where no row is missing, unless takes_sums */
};

/* WT_EXIT_FINE; or another enum wt_exit after a message. `ret_select` needs fini in either case. */
int wt_select_parse(const char *command, const struct wt_select_words *words,
                    struct wt_select *ret_select);
void wt_select_fini(struct wt_select *select);

bool wt_select_is_given(const struct wt_select *select);
/* After parsing: without times and --all, the window is to be the steady steps. */
void wt_select_prefer_steady(struct wt_select *select);
/* Are some kernels of the same time and device left out? */
bool wt_select_is_partial(const struct wt_select *select);

/*
 * Makes the selection what `run` shows; does nothing if none was given, or if there is no
 * kernel to select from. Leaves a read transaction open, so that the reader sees the same
 * state of the file. WT_EXIT_FINE, WT_EXIT_NO_DATA: nothing is selected, or another enum
 * wt_exit, after a message.
 */
int wt_select_apply(struct wt_select *select, const struct wt_run_file *run);

/*
 * The same for readers of whole devices, whose SMs all kernels share: --from, --to, --device, and
 * --rank as "the devices of these ranks", which must be theirs alone, or else nothing can be
 * told: WT_EXIT_NO_DATA. Only the view `device` is hidden. --kernel makes temp.wt_kernel (kernel_id)
 * and is the reader's. --range is refused: its
 * kernels run later, beside those of others.
 */
int wt_select_apply_devices(struct wt_select *select, const struct wt_run_file *run);

/*
 * After that, and after all that must see the kernels beside the selection: hides what
 * wt_select_apply() does. Does nothing if nothing is applied. An enum wt_exit.
 */
int wt_select_hide_kernels(struct wt_select *select, const struct wt_run_file *run);

/*
 * What the selected processes, device and kernels are, as phrases for people: "kernel RE". "" if
 * only times are selected.
 */
void wt_select_describe(const struct wt_select *select, char *text, size_t text_bytes);

/* The member `selection`: null if nothing was asked for. */
void wt_select_put_json(struct wt_json *json, const struct wt_select *select);

/* The member `steps` of readers that prefer steady steps: null where they were not looked for. */
void wt_select_put_steps(struct wt_json *json, const struct wt_select_steps *steps);

/* What of a value of the whole belongs to a part of it, rounded: value * part / whole. */
int64_t wt_select_part(int64_t value, int64_t part, int64_t whole);

/* The part of a kernel in the window, with its part of the model's figures. */
struct wt_select_part {
	int64_t start_ns, end_ns;
	struct wt_wave_result wave;
};

/*
 * Of a row of kernel_exec whose columns from `column` on are start_ns, end_ns, underfill_sm_ns,
 * wave_sm_ns, wave_max_sm_ns; config_sms is its configuration's sm_count. `select` may be NULL.
 */
void wt_select_read_part(const struct wt_select *select, sqlite3_stmt *s, int column,
                         int64_t config_sms, struct wt_select_part *ret_part);

/*
 * The run's own window, whatever is selected: from the first launch that was observed in
 * full to the end of the last activity, on whatever device. What a process did before CUPTI
 * recorded it is unobserved, not idle. 1: there is one, 0: no kernels, -EIO: SQLite failed.
 */
int wt_select_span(sqlite3 *db, int64_t *ret_start_ns, int64_t *ret_end_ns);

#endif /* WT_CLI_SELECT_H */

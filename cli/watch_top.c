/*
 * watch_top.c - see watch_top.h: the loop. Single-threaded; blocks on file and terminal.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/watch_text.h"
#include "cli/watch_top.h"

/* For tests: so many readings without a pause, then the end, with the memory it took. */
#define TEST_VARIABLE "WAVETAP_TEST_WATCH"

#define TELL_NS 300000000 /* a reading that takes longer is told */

struct wearing {
	long left, all; /* readings; 0: no test */
	long half_kib;
};

static long resident_kib(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[200];
	long kib = -1;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return kib;
}

static void tell_wearing(const struct wearing *wearing)
{
	if (wearing->all)
		fprintf(stderr, "readings %ld resident_half_kib %ld resident_end_kib %ld\n",
		        wearing->all - wearing->left, wearing->half_kib, resident_kib());
}

/* ---- reading */

static void take_state(struct wt_watch *watch, struct wt_watch_state *state)
{
	bool is_live = state->run.info.processes_live > 0;
	char time[WT_TEXT_NUMBER_BYTES];

	wt_watch_state_free(watch->state);
	watch->state = state;
	watch->pace.took_ns = state->took_ns;
	watch->is_removed = false;
	if (watch->was_live && !is_live)
		snprintf(watch->note, sizeof(watch->note), "%s the run has ended",
		         wt_watch_clock(time, state->taken_s));
	watch->was_live = is_live;
	(void)wt_watch_fill(watch);
}

/* The file did not change: does anybody still write to it? */
static void look_for_daemon(struct wt_watch *watch)
{
	watch->is_orphaned = watch->was_live && !wt_watch_has_daemon();
}

/* What somebody waits for, if the last reading was long. */
static void tell_reading(struct wt_watch *watch)
{
	if (!watch->is_wanted || watch->note[0] || watch->pace.took_ns < TELL_NS)
		return;
	strcpy(watch->note, "reading ...");
	wt_watch_draw(watch);
	watch->note[0] = '\0';
}

/* It failed where it did not before: what is shown is of more use, until the next one. */
static bool is_worse(const struct wt_watch *watch, const struct wt_watch_state *state)
{
	const struct wt_watch_query *new = &state->query, *old = &watch->state->query;

	return state->code == WT_EXIT_FAILED && watch->state->has_rows &&
	       new->by == old->by &&new->group == old->group &&new->window == old->window &&
	       !strcmp(new->device, old->device);
}

static void read_again(struct wt_watch *watch, bool is_forced)
{
	struct wt_watch_stamp stamp;
	struct wt_watch_state *state;
	int rc = wt_watch_stamp(watch->path, &stamp);
	int64_t now_ns = wt_watch_now_ns();

	watch->next_ns = now_ns + wt_watch_pace_ns(&watch->pace);
	if (rc == -ENOENT) {
		watch->is_removed = true;
		watch->is_wanted = false;
		return;
	}
	if (!rc && !is_forced && !watch->is_wanted && wt_watch_is_same(&stamp, &watch->stamp)) {
		look_for_daemon(watch);
		return;
	}
	tell_reading(watch);
	state = wt_watch_load(&watch->query, !is_forced);
	if (!state)
		return; /* a key or signal came first */
	if (is_worse(watch, state)) {
		snprintf(watch->note, sizeof(watch->note), "%s", state->problem);
		wt_watch_state_free(state);
		watch->is_wanted = false;
		return;
	}
	watch->is_wanted = watch->is_orphaned = false;
	watch->stamp = stamp;
	take_state(watch, state);
	watch->next_ns = wt_watch_now_ns() + wt_watch_pace_ns(&watch->pace) - state->took_ns;
}

/* ---- the loop */

static int timeout_ms(const struct wt_watch *watch)
{
	int64_t left_ns = watch->next_ns - wt_watch_now_ns();

	if (watch->is_frozen)
		return -1;
	if (left_ns <= 0 || watch->is_wanted)
		return 0;
	return left_ns / 1000000 < INT_MAX ? (int)(left_ns / 1000000) + 1 : INT_MAX;
}

/* Other sizes have other lines. */
static void fit(struct wt_watch *watch)
{
	if (watch->mode == WT_WATCH_PAGER && watch->page_columns != wt_screen_columns() &&
	    wt_watch_fill_page(watch))
		watch->mode = WT_WATCH_LIST;
}

/* One event, and the keys behind it. False: the end. */
static bool handle(struct wt_watch *watch, int wait_ms)
{
	int key = 0;

	for (;; wait_ms = 0)
		switch (wt_screen_wait(wait_ms, &key)) {
		case WT_SCREEN_CLOSED:
			return false;
		case WT_SCREEN_REDRAW:
			fit(watch);
			break;
		case WT_SCREEN_KEY:
			/* Without room nothing can be seen of what keys do. */
			if (!wt_watch_has_room() ? key == 'q' : !wt_watch_key(watch, key))
				return false;
			break;
		case WT_SCREEN_TIMEOUT:
			return true;
		}
}

static void loop(struct wt_watch *watch, struct wearing *wearing)
{
	wt_watch_draw(watch);
	while (handle(watch, wearing->all ? 0 : timeout_ms(watch))) {
		bool is_due = watch->is_wanted || wt_watch_now_ns() >= watch->next_ns;

		if (!watch->is_frozen && (is_due || wearing->all))
			read_again(watch, wearing->all > 0);
		wt_watch_draw(watch);
		if (!wearing->all)
			continue;
		if (--wearing->left == wearing->all / 2)
			wearing->half_kib = resident_kib();
		if (!wearing->left)
			return;
	}
}

static void fini(struct wt_watch *watch)
{
	wt_watch_state_free(watch->state);
	if (watch->has_regex)
		regfree(&watch->regex);
	free(watch->shown.rows);
	wt_lines_fini(&watch->table);
	wt_lines_fini(&watch->pager.lines);
}

/* The first reading, with messages as `top` has them. */
static int begin(struct wt_watch *watch)
{
	const struct wt_watch_options *options = watch->options;
	const struct wt_select_words *words = &options->select;
	bool is_live = false;
	int code = wt_watch_find_run(options->run, watch->path, &is_live);

	if (code)
		return code;
	watch->query = (struct wt_watch_query){.options = options,
	                                       .path = watch->path,
	                                       .by = options->by,
	                                       .group = options->group};
	/* Steps of a run that goes on would be others with each reading. */
	if (is_live && !words->from && !words->to && !words->steps)
		watch->query.window = WT_WATCH_WHOLE;
	watch->pace.interval_ns = options->interval_ns;
	(void)wt_watch_stamp(watch->path, &watch->stamp);
	watch->state = wt_watch_load(&watch->query, false);
	if (!watch->state) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	watch->was_live = watch->state->run.info.processes_live > 0;
	watch->is_orphaned = watch->was_live && !is_live;
	if (watch->state->has_rows || is_live)
		return WT_EXIT_FINE;
	wt_cli_error("run %s: %s", watch->state->run.info.id, watch->state->problem);
	return watch->state->code;
}

int wt_watch_top(const struct wt_watch_options *options)
{
	const char *test = getenv(TEST_VARIABLE);
	struct wearing wearing = {.all = test ? strtol(test, NULL, 10) : 0};
	struct wt_watch *watch;
	char why[200];
	int code;

	/* Before a long reading. */
	if (wt_screen_check(why, sizeof(why)))
		return wt_watch_open_screen("top", options->has_no_colour);
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return wt_cli_output_result(-ENOMEM);
	wearing.left = wearing.all;
	watch->options = options;
	code = begin(watch);
	if (!code)
		code = wt_watch_open_screen("top", options->has_no_colour);
	if (!code) {
		(void)wt_watch_fill(watch);
		watch->pace.took_ns = watch->state->took_ns;
		watch->next_ns = wt_watch_now_ns() + wt_watch_pace_ns(&watch->pace);
		loop(watch, &wearing);
		wt_screen_close();
		tell_wearing(&wearing);
	}
	fini(watch);
	free(watch);
	wt_screen_end_as_told();
	return code;
}

/*
 * cmd_gc.c - `wavetap gc`: removes what is left over, and runs beyond limits. Single-threaded;
 * blocks on files and on the daemon.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/gc.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/run_file.h"
#include "cli/wrap.h"

#define TEXT_COLUMN 25 /* of names and reasons */

struct gc_values {
	struct wt_option_list keep;
	bool is_dry_run, is_forced, is_json;
};

static const struct wt_option gc_options[] = {
        {"keep", 'k', WT_OPTION_LIST, "LIMIT", offsetof(struct gc_values, keep), NULL,
         "what is kept: 20 (runs), 2GiB or 30d; may be repeated"},
        {"dry-run", 'n', WT_OPTION_FLAG, NULL, offsetof(struct gc_values, is_dry_run), NULL,
         "say what would be removed, and touch nothing"},
        {"force", 0, WT_OPTION_FLAG, NULL, offsetof(struct gc_values, is_forced), NULL,
         "also what can't be stored: its records are lost"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct gc_values, is_json), NULL,
         "one JSON object"},
        {0},
};

int wt_gc_note(struct wt_gc *gc, enum wt_gc_action action, const char *kind, const char *path,
               int64_t bytes, const char *format, ...)
{
	struct wt_gc_item *item;
	va_list ap;

	if (gc->count == gc->room) {
		size_t room = gc->room ? 2 * gc->room : 16;

		item = realloc(gc->items, room * sizeof(*item));
		if (!item)
			return -ENOMEM;
		gc->items = item;
		gc->room = room;
	}
	item = &gc->items[gc->count++];
	item->action = action;
	item->kind = kind;
	item->bytes = bytes;
	snprintf(item->path, sizeof(item->path), "%s", path);
	va_start(ap, format);
	vsnprintf(item->reason, sizeof(item->reason), format, ap);
	va_end(ap);
	gc->failed_count += action == WT_GC_FAILED;
	return 0;
}

static bool is_gone(const struct wt_gc_item *item)
{
	return item->action == WT_GC_REMOVED || item->action == WT_GC_STORED;
}

/* Files that went and their bytes. */
static int64_t sum_up(const struct wt_gc *gc, int64_t *ret_bytes)
{
	int64_t files = 0;

	*ret_bytes = 0;
	for (size_t i = 0; i < gc->count; i++) {
		if (!is_gone(&gc->items[i]))
			continue;
		files++;
		*ret_bytes += gc->items[i].bytes;
	}
	return files;
}

static const char *action_word(const struct wt_gc *gc, enum wt_gc_action action)
{
	switch (action) {
	case WT_GC_REMOVED:
	case WT_GC_STORED:
		return gc->is_dry_run ? "would remove" : "removed";
	case WT_GC_KEPT:
		return "kept";
	default:
		return "NOT removed";
	}
}

static void print_text(const struct wt_gc *gc)
{
	struct wt_text_terminal terminal;
	char number[WT_TEXT_NUMBER_BYTES];
	int64_t bytes, files = sum_up(gc, &bytes);

	wt_text_terminal_probe(1, &terminal);
	for (size_t i = 0; i < gc->count; i++) {
		const struct wt_gc_item *item = &gc->items[i];
		const char *slash = strrchr(item->path, '/');
		char text[sizeof(item->path) + sizeof(item->reason) + 4];
		char left[WT_TEXT_NUMBER_BYTES + 40];

		snprintf(left, sizeof(left), "%-12s  %9s", action_word(gc, item->action),
		         wt_text_bytes(number, (uint64_t)item->bytes));
		snprintf(text, sizeof(text), "%s: %s", slash ? slash + 1 : item->path,
		         item->reason);
		wt_wrap_beside(stdout, left, text, TEXT_COLUMN, &terminal);
	}
	if (files)
		printf("%s %" PRId64 " file%s, %s\n", gc->is_dry_run ? "would remove" : "removed",
		       files, files == 1 ? "" : "s", wt_text_bytes(number, (uint64_t)bytes));
	else
		puts("nothing to remove");
}

static int print_json(const struct wt_gc *gc)
{
	static const char *const words[] = {"removed", "stored", "kept", "failed"};
	int64_t bytes, files = sum_up(gc, &bytes);
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_key(&json, "schema");
	wt_json_int(&json, WT_JSON_SCHEMA);
	wt_json_key(&json, "data_dir");
	wt_json_string(&json, gc->data_dir);
	wt_json_key(&json, "is_dry_run");
	wt_json_bool(&json, gc->is_dry_run);
	wt_json_key(&json, "removed_files");
	wt_json_int(&json, files);
	wt_json_key(&json, "removed_bytes");
	wt_json_int(&json, bytes);
	wt_json_key(&json, "files");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < gc->count; i++) {
		wt_json_object_begin(&json);
		wt_json_key(&json, "action");
		wt_json_string(&json, words[gc->items[i].action]);
		wt_json_key(&json, "kind");
		wt_json_string(&json, gc->items[i].kind);
		wt_json_key(&json, "file");
		wt_json_string(&json, gc->items[i].path);
		wt_json_key(&json, "bytes");
		wt_json_int(&json, gc->items[i].bytes);
		wt_json_key(&json, "reason");
		wt_json_string(&json, gc->items[i].reason);
		wt_json_object_end(&json);
	}
	wt_json_array_end(&json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int set_up(const struct gc_values *values, struct wt_gc *gc)
{
	char error[WT_DB_ERROR_BYTES];

	gc->keep = WT_KEEP_ALL;
	gc->lock_fd = -1;
	gc->is_dry_run = values->is_dry_run;
	gc->is_forced = values->is_forced;
	for (int i = 0; i < values->keep.count; i++)
		if (wt_keep_parse(values->keep.value[i], &gc->keep, error))
			return wt_cli_usage_error("gc", "--keep: %s", error);
	if (wt_run_data_dir(gc->data_dir))
		return WT_EXIT_FAILED;
	snprintf(gc->runs_dir, sizeof(gc->runs_dir), "%s/runs", gc->data_dir);
	return WT_EXIT_FINE;
}

static int run_gc(void *opaque, int operand_count, char **operands)
{
	const struct gc_values *values = opaque;
	struct wt_gc *gc = calloc(1, sizeof(*gc));
	int code, err;

	(void)operand_count;
	(void)operands;
	if (!gc) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	code = set_up(values, gc);
	if (!code) {
		err = wt_gc_segments(gc);
		if (!err)
			err = wt_gc_runs(gc);
		wt_gc_end(gc);
		if (err == -ENOMEM)
			wt_cli_error("out of memory");
		if (values->is_json)
			code = wt_cli_output_result(print_json(gc));
		else
			print_text(gc);
		if (!code && (err || gc->failed_count))
			code = WT_EXIT_FAILED;
	}
	free(gc->items);
	free(gc);
	return code;
}

const struct wt_command wt_cmd_gc = {
        .name = "gc",
        .summary = "remove what is left over, and runs beyond limits",
        .details = "What killed programs left in shared memory is stored first. A run "
                   "being recorded, the newest, and `latest` stay, and so does all that "
                   "is not wavetap's.",
        .example = "wavetap gc --keep 20 --keep 2GiB --dry-run",
        .theme = WT_THEME_KEEP,
        .options = gc_options,
        .values_bytes = sizeof(struct gc_values),
        .run = run_gc,
};

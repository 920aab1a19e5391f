/*
 * json.h - a streaming JSON writer. Values go straight to a FILE; what is open
 * is checked, so that the text is well-formed or an error is kept.
 *
 * The first misuse (a value without its key, an end that doesn't match, more
 * than WT_JSON_DEPTH_MAX levels) or failed write sets the error; every later
 * call does nothing. So callers write without checks and ask
 * wt_json_finish() once.
 *
 * Text is written as JSON wants it: control characters escaped, bytes that are
 * no UTF-8 replaced by U+FFFD. Unknown is null. Numbers rely on LC_NUMERIC
 * being "C".
 *
 * Threads: one writer, one thread. Blocks as writing to the FILE does.
 */
#ifndef WT_CLI_JSON_H
#define WT_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { WT_JSON_DEPTH_MAX = 64 };

struct wt_json {
	FILE *out;
	int error; /* 0, -EINVAL for misuse, -EIO or another for a failed write */
	bool is_pretty;
	bool is_after_key;
	bool has_value; /* the top-level value has begun */
	unsigned depth;
	struct {
		bool is_object, has_members;
	} level[WT_JSON_DEPTH_MAX];
};

/* `out` stays the caller's and must outlive the writer. `is_pretty`: one member a line. */
void wt_json_init(struct wt_json *json, FILE *out, bool is_pretty);

void wt_json_object_begin(struct wt_json *json);
void wt_json_object_end(struct wt_json *json);
void wt_json_array_begin(struct wt_json *json);
void wt_json_array_end(struct wt_json *json);
void wt_json_key(struct wt_json *json, const char *key);

void wt_json_null(struct wt_json *json);
void wt_json_bool(struct wt_json *json, bool value);
void wt_json_int(struct wt_json *json, int64_t value);
/* The shortest text that reads back as the same number; null if not finite. */
void wt_json_double(struct wt_json *json, double value);
/* With `digits` (0 to 17) after the point; null if not finite. */
void wt_json_fixed(struct wt_json *json, double value, int digits);
/* value / 10^digits (0 to 18), exact. */
void wt_json_decimal(struct wt_json *json, int64_t value, int digits);
/* NULL is null. */
void wt_json_string(struct wt_json *json, const char *text);

/*
 * Ends the text with a newline and flushes. 0, -EINVAL if something is still
 * open or was misused, or the negative errno of a failed write.
 */
int wt_json_finish(struct wt_json *json);

#endif /* WT_CLI_JSON_H */

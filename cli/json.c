/*
 * json.c - see json.h.
 *
 * Threads: one per writer. Blocks as its FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/text.h"

static void fail(struct wt_json *json, int error)
{
	if (!json->error)
		json->error = error;
}

static void put_bytes(struct wt_json *json, const char *text, size_t bytes)
{
	if (json->error)
		return;
	errno = 0;
	if (fwrite(text, 1, bytes, json->out) != bytes)
		fail(json, errno ? -errno : -EIO);
}

static void put(struct wt_json *json, const char *text)
{
	put_bytes(json, text, strlen(text));
}

static void put_break(struct wt_json *json)
{
	if (!json->is_pretty)
		return;
	put(json, "\n");
	for (unsigned i = 0; i < json->depth; i++)
		put(json, "  ");
}

/* Comma and line break before a member of the open object or array. */
static void begin_member(struct wt_json *json)
{
	if (json->level[json->depth - 1].has_members)
		put(json, ",");
	json->level[json->depth - 1].has_members = true;
	put_break(json);
}

/* Called before each value. False: nothing may be written. */
static bool begin_value(struct wt_json *json)
{
	bool is_in_object = json->depth && json->level[json->depth - 1].is_object;

	if ((is_in_object && !json->is_after_key) || (!json->depth && json->has_value))
		fail(json, -EINVAL);
	if (json->error)
		return false;
	if (json->depth && !is_in_object)
		begin_member(json);
	json->is_after_key = false;
	json->has_value = true;
	return !json->error;
}

static void begin_level(struct wt_json *json, bool is_object)
{
	if (json->depth == WT_JSON_DEPTH_MAX)
		fail(json, -EINVAL);
	if (!begin_value(json))
		return;
	put(json, is_object ? "{" : "[");
	json->level[json->depth].is_object = is_object;
	json->level[json->depth].has_members = false;
	json->depth++;
}

static void end_level(struct wt_json *json, bool is_object)
{
	if (!json->depth || json->level[json->depth - 1].is_object != is_object ||
	    json->is_after_key)
		fail(json, -EINVAL);
	if (json->error)
		return;
	json->depth--;
	if (json->level[json->depth].has_members)
		put_break(json);
	put(json, is_object ? "}" : "]");
}

static void put_quoted(struct wt_json *json, const char *text)
{
	size_t bytes = strlen(text), n;

	put(json, "\"");
	for (size_t i = 0; i < bytes && !json->error; i += n) {
		uint32_t code;
		char escape[8];

		n = wt_text_decode(text + i, bytes - i, &code);
		if (code == UINT32_MAX) {
			put(json, "\xef\xbf\xbd");
		} else if (code == '"' || code == '\\') {
			put(json, code == '"' ? "\\\"" : "\\\\");
		} else if (code < 0x20 || code == 0x7f) {
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)code);
			put(json, code == '\n' ? "\\n" : code == '\t' ? "\\t" : escape);
		} else {
			put_bytes(json, text + i, n);
		}
	}
	put(json, "\"");
}

void wt_json_init(struct wt_json *json, FILE *out, bool is_pretty)
{
	*json = (struct wt_json){.out = out, .is_pretty = is_pretty};
}

void wt_json_object_begin(struct wt_json *json)
{
	begin_level(json, true);
}

void wt_json_object_end(struct wt_json *json)
{
	end_level(json, true);
}

void wt_json_array_begin(struct wt_json *json)
{
	begin_level(json, false);
}

void wt_json_array_end(struct wt_json *json)
{
	end_level(json, false);
}

void wt_json_key(struct wt_json *json, const char *key)
{
	if (!json->depth || !json->level[json->depth - 1].is_object || json->is_after_key)
		fail(json, -EINVAL);
	if (json->error)
		return;
	begin_member(json);
	put_quoted(json, key);
	put(json, json->is_pretty ? ": " : ":");
	json->is_after_key = true;
}

void wt_json_null(struct wt_json *json)
{
	if (begin_value(json))
		put(json, "null");
}

void wt_json_bool(struct wt_json *json, bool value)
{
	if (begin_value(json))
		put(json, value ? "true" : "false");
}

void wt_json_int(struct wt_json *json, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	if (begin_value(json))
		put(json, text);
}

void wt_json_double(struct wt_json *json, double value)
{
	char text[40] = "null";

	for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	if (begin_value(json))
		put(json, text);
}

void wt_json_fixed(struct wt_json *json, double value, int digits)
{
	char text[352]; /* 309 digits before the point, 17 behind it */

	if (digits < 0 || digits > 17)
		fail(json, -EINVAL);
	else if (!isfinite(value))
		wt_json_null(json);
	else if (begin_value(json)) {
		snprintf(text, sizeof(text), "%.*f", digits, value);
		put(json, text);
	}
}

void wt_json_decimal(struct wt_json *json, int64_t value, int digits)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	uint64_t one = 1;
	char text[32];

	if (digits < 0 || digits > 18) {
		fail(json, -EINVAL);
		return;
	}
	for (int i = 0; i < digits; i++)
		one *= 10;
	if (!begin_value(json))
		return;
	snprintf(text, sizeof(text), "%s%" PRIu64, value < 0 ? "-" : "", size / one);
	put(json, text);
	if (digits > 0) {
		snprintf(text, sizeof(text), ".%0*" PRIu64, digits, size % one);
		put(json, text);
	}
}

void wt_json_string(struct wt_json *json, const char *text)
{
	if (!text)
		wt_json_null(json);
	else if (begin_value(json))
		put_quoted(json, text);
}

int wt_json_finish(struct wt_json *json)
{
	if (json->depth || !json->has_value)
		fail(json, -EINVAL);
	put(json, "\n");
	errno = 0;
	if (fflush(json->out) != 0 || ferror(json->out))
		fail(json, errno ? -errno : -EIO);
	return json->error;
}

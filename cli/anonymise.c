/*
 * anonymise.c - see anonymise.h. Single-threaded; blocks on the file.
 *
 * Statements of SQL over two functions: hide(kind, text, digits), and hide_kernel(name), which keeps the
 * class of kernel and whether it is persistent, since readers tell these by the name. In the end all
 * pages are written anew, so that nothing is left between rows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "analysis/digest.h"
#include "analysis/kernel_class.h"
#include "cli/anonymise.h"
#include "cli/cli.h"
#include "schema/wt_db.h"

#define NAME_DIGITS 12

struct hider {
	uint8_t key[WT_DIGEST_HEX_BYTES];
	size_t key_bytes;
};

static void hide(const struct hider *hider, const char *kind, const void *data, size_t bytes,
                 char hex[WT_DIGEST_HEX_BYTES])
{
	struct wt_digest digest;

	wt_digest_init(&digest);
	wt_digest_add(&digest, hider->key, hider->key_bytes);
	wt_digest_add(&digest, kind, strlen(kind) + 1);
	wt_digest_add(&digest, data, bytes);
	wt_digest_finish(&digest, hex);
}

static void on_hide(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *kind = (const char *)sqlite3_value_text(values[0]);
	const void *data = sqlite3_value_blob(values[1]);
	char hex[WT_DIGEST_HEX_BYTES];
	int digits = sqlite3_value_int(values[2]);

	(void)count;
	if (sqlite3_value_type(values[1]) == SQLITE_NULL || !kind) {
		sqlite3_result_null(context);
		return;
	}
	hide(sqlite3_user_data(context), kind, data ? data : "",
	     (size_t)sqlite3_value_bytes(values[1]), hex);
	sqlite3_result_text(context, hex, digits, SQLITE_TRANSIENT);
}

/* A word that gives a name the same class again. */
static const char *word_of(enum wt_kernel_class kernel_class)
{
	switch (kernel_class) {
	case WT_CLASS_COLLECTIVE:
		return "ncclDevKernel";
	case WT_CLASS_OPTIMIZER:
		return "adam";
	case WT_CLASS_NORM:
		return "layer_norm";
	case WT_CLASS_RANDOM:
		return "dropout";
	case WT_CLASS_OTHER:
		return "kernel";
	default:
		return wt_kernel_class_name(kernel_class);
	}
}

static void on_hide_kernel(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	char hex[WT_DIGEST_HEX_BYTES], hidden[64];
	enum wt_kernel_class kernel_class;

	(void)count;
	if (!name) {
		sqlite3_result_null(context);
		return;
	}
	kernel_class = wt_kernel_class(name);
	hide(sqlite3_user_data(context), "kernel", name, strlen(name), hex);
	snprintf(hidden, sizeof(hidden), "%s_%.*s%s", word_of(kernel_class), NAME_DIGITS, hex,
	         wt_is_persistent_kernel(name) ? "_persistent_kernel" : "");
	sqlite3_result_text(context, hidden, -1, SQLITE_TRANSIENT);
}

/* Words that hold numbers or paths: whose, is not known here. */
#define PLAIN_OR_LEFT_OUT(column)                                                                  \
	"iif(" column " GLOB '*[0-9/]*', 'left out (anonymised)', " column ")"

/* clang-format off */
static const char hosts_sql[] =
        "DELETE FROM meta WHERE key NOT IN ('run_id', 'run_key', 'place', 'name', 'created_ns',"
        " 'hostname', 'wavetap_version', 'analysis_version', 'analyzed_ns', 'analyzed_by',"
        " 'samples_removed', 'imported_ns');"
        "UPDATE meta SET value = hide('run', value, 8) WHERE key = 'run_id';"
        "UPDATE meta SET value = 'key-' || hide(key, value, 16) WHERE key IN ('run_key', 'place');"
        "UPDATE meta SET value = 'host-' || hide('host', value, 8) WHERE key = 'hostname';"
        "UPDATE proc SET uuid = hex_bytes(hide('segment', uuid, 32)), pid = process_id,"
        " pid_namespace = 1, ppid = 0, start_ticks = 0, uid = 0,"
        " hostname = 'host-' || hide('host', hostname, 8), boot_id = hide('boot', boot_id, 32),"
        " executable = 'program-' || hide('program', executable, 8),"
        " command = 'program-' || hide('program', executable, 8), cupti_path = NULL,"
        " reason_text = " PLAIN_OR_LEFT_OUT("reason_text") ";"
        "UPDATE gpu SET uuid = hex_bytes(hide('gpu', uuid, 32)),"
        " pci = printf('0000:%02x:00', device_id & 255);"
        "CREATE TEMP TABLE thread AS SELECT process_id, tid, row_number() OVER (ORDER BY process_id,"
        " tid) AS number FROM (SELECT process_id, tid FROM launch_call"
        " UNION SELECT process_id, tid FROM api_call UNION SELECT process_id, tid FROM range_event"
        " UNION SELECT process_id, end_tid FROM range_event WHERE end_tid IS NOT NULL);"
        "CREATE UNIQUE INDEX temp.thread_find ON thread (process_id, tid);"
        "UPDATE launch_call SET tid = t.number FROM thread t"
        " WHERE t.process_id = launch_call.process_id AND t.tid = launch_call.tid;"
        "UPDATE api_call SET tid = t.number FROM thread t"
        " WHERE t.process_id = api_call.process_id AND t.tid = api_call.tid;"
        "UPDATE range_event SET end_tid = t.number FROM thread t"
        " WHERE t.process_id = range_event.process_id AND t.tid = range_event.end_tid;"
        "UPDATE range_event SET tid = t.number FROM thread t"
        " WHERE t.process_id = range_event.process_id AND t.tid = range_event.tid;"
        "UPDATE clock SET monotonic_ns = monotonic_ns - (SELECT min(monotonic_ns) FROM clock),"
        " boot_ns = boot_ns - (SELECT min(boot_ns) FROM clock);"
        "UPDATE sampler SET uuid = hex_bytes(hide('segment', uuid, 32)), pid = 0,"
        " reason = " PLAIN_OR_LEFT_OUT("reason") ";"
        "UPDATE merge_source SET run_id = hide('run', run_id, 8),"
        " hostname = 'host-' || hide('host', hostname, 8);"
        "UPDATE gpu_state SET foreign_pid = NULL;"
        "UPDATE fold SET reason = " PLAIN_OR_LEFT_OUT("reason") ";"
        "UPDATE measured SET reason = " PLAIN_OR_LEFT_OUT("reason") ";";
/* clang-format on */

static const char names_sql[] =
        "UPDATE kernel SET name = hide_kernel(name);"
        "UPDATE range_name SET name = 'range_' || hide('range', name, 12),"
        " domain = iif(domain = '', '', 'domain_' || hide('domain', domain, 12));";

/* Bytes of a text of hex digits: unhex() came with SQLite 3.41. */
static void on_unhex(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);
	uint8_t bytes[WT_DIGEST_BYTES];
	size_t n = 0;

	(void)count;
	for (; text && n < sizeof(bytes) && text[2 * n] && text[2 * n + 1]; n++) {
		unsigned value = 0;

		sscanf(text + 2 * n, "%2x", &value);
		bytes[n] = (uint8_t)value;
	}
	sqlite3_result_blob(context, bytes, (int)n, SQLITE_TRANSIENT);
}

static int make_functions(sqlite3 *db, struct hider *hider)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	int code =
	        sqlite3_create_function_v2(db, "hide", 3, flags, hider, on_hide, NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_create_function_v2(db, "hide_kernel", 1, flags, hider,
		                                  on_hide_kernel, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function_v2(db, "hex_bytes", 1, flags, hider, on_unhex, NULL,
		                                  NULL, NULL);
	return code;
}

static int make_key(const char *given, struct hider *hider)
{
	char hex[WT_DIGEST_HEX_BYTES];
	uint8_t random[WT_DIGEST_BYTES];

	hider->key_bytes = 0;
	if (!given && getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	/* Of one length, whatever was given. */
	if (given)
		hide(hider, "key", given, strlen(given), hex);
	else
		hide(hider, "random", random, sizeof(random), hex);
	memcpy(hider->key, hex, sizeof(hex));
	hider->key_bytes = sizeof(hex);
	return 0;
}

static int change(sqlite3 *db, bool has_names)
{
	int code = sqlite3_exec(db,
	                        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
	                        " PRAGMA secure_delete=ON; PRAGMA cache_size=-16384; BEGIN",
	                        NULL, NULL, NULL);

	/* Tables that files of older versions lack. */
	if (code == SQLITE_OK)
		code = wt_db_upgrade(db);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, wt_schema_added_sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, hosts_sql, NULL, NULL, NULL);
	if (code == SQLITE_OK && has_names)
		code = sqlite3_exec(db, names_sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db,
		                    has_names ? "INSERT INTO meta VALUES ('anonymised', 'names')"
		                              : "INSERT INTO meta VALUES ('anonymised', 'hosts')",
		                    NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, "COMMIT; VACUUM", NULL, NULL, NULL);
	return code;
}

int wt_anonymise(const char *path, const char *shown_path, const struct wt_anonymise *how)
{
	struct hider hider;
	sqlite3 *db = NULL;
	int code;

	if (make_key(how->key, &hider)) {
		wt_cli_error("no random key: %s", strerror(errno));
		return WT_EXIT_FAILED;
	}
	code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK && wt_db_int(db, "SELECT count(*) FROM chunk", 0)) {
		wt_cli_error("%s: damaged rows can't be anonymised: nothing is written",
		             shown_path);
		sqlite3_close(db);
		return WT_EXIT_FAILED;
	}
	if (code == SQLITE_OK)
		code = make_functions(db, &hider);
	if (code == SQLITE_OK)
		code = change(db, how->has_names);
	if (code != SQLITE_OK)
		wt_cli_error("can't anonymise %s: %s", shown_path,
		             db ? sqlite3_errmsg(db) : "out of memory");
	sqlite3_close(db);
	return code == SQLITE_OK ? WT_EXIT_FINE : WT_EXIT_FAILED;
}

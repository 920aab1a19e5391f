/*
 * wt_db.c - see wt_db.h. May block on the disk; any thread, one connection each.
 */
#include "schema/wt_db.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

int wt_db_errno(int sqlite_code)
{
	switch (sqlite_code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_READONLY:
		return -EROFS;
	default:
		return -EIO;
	}
}

static int bind_list(sqlite3_stmt *statement, const char *types, va_list ap)
{
	int code = SQLITE_OK;

	for (int at = 1; *types && code == SQLITE_OK; types++, at++) {
		int64_t integer;
		const void *bytes;

		switch (*types) {
		case 'i':
			code = sqlite3_bind_int64(statement, at, va_arg(ap, int64_t));
			break;
		case 'n':
			integer = va_arg(ap, int64_t);
			code = integer == WT_DB_NULL ? sqlite3_bind_null(statement, at)
			                             : sqlite3_bind_int64(statement, at, integer);
			break;
		case 'r':
			code = sqlite3_bind_double(statement, at, va_arg(ap, double));
			break;
		case 't':
			code = sqlite3_bind_text(statement, at, va_arg(ap, const char *), -1,
			                         SQLITE_STATIC);
			break;
		case 'b':
			bytes = va_arg(ap, const void *);
			code = sqlite3_bind_blob(statement, at, bytes, (int)va_arg(ap, size_t),
			                         SQLITE_STATIC);
			break;
		default:
			code = SQLITE_MISUSE;
		}
	}
	return code;
}

int wt_db_bind(sqlite3_stmt *statement, const char *types, ...)
{
	va_list ap;
	int code;

	va_start(ap, types);
	code = bind_list(statement, types, ap);
	va_end(ap);
	return code;
}

int wt_db_run(sqlite3_stmt *statement, const char *types, ...)
{
	va_list ap;
	int code, step;

	va_start(ap, types);
	code = bind_list(statement, types, ap);
	va_end(ap);
	if (code != SQLITE_OK)
		return code;
	step = sqlite3_step(statement);
	code = sqlite3_reset(statement);
	return code == SQLITE_OK ? step : code;
}

int64_t wt_db_int(sqlite3 *db, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = otherwise;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW &&
	    sqlite3_column_type(statement, 0) != SQLITE_NULL)
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

int wt_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement)
{
	return sqlite3_prepare_v2(db, sql, -1, ret_statement, NULL) == SQLITE_OK ? 0 : -EIO;
}

int wt_db_step(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : -EIO;
}

bool wt_db_has_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *s;
	bool has = false;

	if (wt_db_prepare(db, "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1",
	                  &s))
		return false;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	has = wt_db_step(s) > 0;
	sqlite3_finalize(s);
	return has;
}

int wt_db_vexecute(sqlite3 *db, const char *format, va_list ap)
{
	char *sql = sqlite3_vmprintf(format, ap);
	int code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return code;
}

bool wt_db_meta(sqlite3 *db, const char *key, char *value, size_t value_bytes)
{
	sqlite3_stmt *statement = NULL;
	bool is_found = false;

	value[0] = '\0';
	if (sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = ?1", -1, &statement, NULL) ==
	            SQLITE_OK &&
	    wt_db_bind(statement, "t", key) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
		snprintf(value, value_bytes, "%s", (const char *)sqlite3_column_text(statement, 0));
		is_found = true;
	}
	sqlite3_finalize(statement);
	return is_found;
}

/* Says what is wrong with a file that SQLite would not open or read. */
static int explain(const char *path, sqlite3 *db, int code, char error[WT_DB_ERROR_BYTES])
{
	int err = wt_db_errno(code);

	if (access(path, F_OK) && errno == ENOENT)
		err = -ENOENT;
	else if (access(path, R_OK) && (errno == EACCES || errno == EPERM))
		err = -EACCES;
	switch (err) {
	case -ENOENT:
		snprintf(error, WT_DB_ERROR_BYTES, "%s: no such file", path);
		break;
	case -EACCES:
		snprintf(error, WT_DB_ERROR_BYTES, "%s: not readable: permission denied", path);
		break;
	case -EBADMSG:
		snprintf(error, WT_DB_ERROR_BYTES, "%s: %s", path,
		         (code & 0xff) == SQLITE_NOTADB ? "not a wavetap run file (not a database)"
		                                        : "the database is damaged");
		break;
	default:
		snprintf(error, WT_DB_ERROR_BYTES, "%s: %s", path,
		         db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
	}
	return err ? err : -EIO;
}

/* One integer pragma; an SQLite code. */
static int pragma_int(sqlite3 *db, const char *sql, int64_t *ret_value)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW) {
			*ret_value = sqlite3_column_int64(statement, 0);
			code = SQLITE_OK;
		} else if (code == SQLITE_DONE) {
			code = SQLITE_CORRUPT;
		}
	}
	sqlite3_finalize(statement);
	return code;
}

/* Is this ours, and of a version that we know? */
static int check_identity(sqlite3 *db, const char *path, char error[WT_DB_ERROR_BYTES])
{
	int64_t id = 0, version = 0;
	int code = pragma_int(db, "PRAGMA application_id", &id);

	if (code == SQLITE_OK)
		code = pragma_int(db, "PRAGMA user_version", &version);
	if (code != SQLITE_OK)
		return explain(path, db, code, error);
	if (id != WT_DB_APPLICATION_ID) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s: a database, but not a wavetap run file",
		         path);
		return -EINVAL;
	}
	if (version > WT_DB_VERSION) {
		snprintf(error, WT_DB_ERROR_BYTES,
		         "%s: made by a newer wavetap (file version %lld, this program knows %d)",
		         path, (long long)version, WT_DB_VERSION);
		return -ENOTSUP;
	}
	if (version < 1) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s: an unfinished run file", path);
		return -EINVAL;
	}
	return 0;
}

/* "file:" URI of a path that says nothing may change under us; false if it is too long. */
static bool immutable_uri(const char *path, char *uri, size_t uri_bytes)
{
	size_t at = (size_t)snprintf(uri, uri_bytes, "file:");

	for (; *path && at + 4 < uri_bytes; path++) {
		if (strchr("?#%", *path))
			at += (size_t)snprintf(uri + at, uri_bytes - at, "%%%02x",
			                       (unsigned char)*path);
		else
			uri[at++] = *path;
	}
	uri[at] = '\0';
	if (*path || at + sizeof("?immutable=1") > uri_bytes)
		return false;
	strcpy(uri + at, "?immutable=1");
	return true;
}

/* Did a writer leave a journal of that kind ("-wal", "-journal") with something in it? */
static bool has_journal(const char *path, const char *suffix)
{
	char journal[1100];
	struct stat status;

	snprintf(journal, sizeof(journal), "%s%s", path, suffix);
	return stat(journal, &status) == 0 && status.st_size > 0;
}

/* Opens and reads something, since opening alone reads nothing. An SQLite code. */
static int open_and_try(const char *name, int flags, sqlite3 **ret_db)
{
	int64_t ignored;
	int code;

	sqlite3_close(*ret_db);
	*ret_db = NULL;
	code = sqlite3_open_v2(name, ret_db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return code;
	sqlite3_busy_timeout(*ret_db, WT_DB_BUSY_MS);
	return pragma_int(*ret_db, "PRAGMA schema_version", &ignored);
}

int wt_db_open(const char *path, sqlite3 **ret_db, char error[WT_DB_ERROR_BYTES])
{
	char uri[3 * 1024];
	sqlite3 *db = NULL;
	struct stat status;
	int code, err;

	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s: not a file", path);
		return -EBADMSG;
	}
	code = open_and_try(path, SQLITE_OPEN_READONLY, &db);
	/* What a killed writer has half written is undone by whoever comes next and may write. */
	if ((code & 0xff) == SQLITE_READONLY && has_journal(path, "-journal"))
		code = open_and_try(path, SQLITE_OPEN_READWRITE, &db);
	/* A journalled file on read-only media: without a journal left it is complete. */
	if (((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY) &&
	    access(path, R_OK) == 0 && !has_journal(path, "-wal") &&
	    !has_journal(path, "-journal") && immutable_uri(path, uri, sizeof(uri)))
		code = open_and_try(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &db);
	err = code == SQLITE_OK ? check_identity(db, path, error) : explain(path, db, code, error);
	if (err) {
		sqlite3_close(db);
		return err;
	}
	sqlite3_exec(db, "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	*ret_db = db;
	return 0;
}

/* Shared-memory journals do not work between hosts: not on network file systems. */
static bool is_network_fs(const char *path)
{
	static const unsigned magics[] = {
	        0x6969, /* NFS */
	        0x517b, /* SMB */
	        0xff534d42, /* CIFS */
	        0xfe534d42, /* SMB2 */
	        0x01021997, /* 9p */
	        0x0bd00bd0, /* Lustre */
	        0x47504653, /* GPFS */
	        0x00c36400, /* Ceph */
	        0x19830326, /* BeeGFS */
	};
	struct statfs fs;

	if (statfs(path, &fs))
		return false;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if ((unsigned)fs.f_type == magics[i])
			return true;
	return false;
}

/* Sets the journal and reads back what SQLite really chose. */
static bool set_journal(sqlite3 *db, const char *path)
{
	sqlite3_stmt *statement = NULL;
	bool is_wal = false;

	if (!is_network_fs(path) &&
	    sqlite3_prepare_v2(db, "PRAGMA journal_mode=WAL", -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		is_wal = !strcmp((const char *)sqlite3_column_text(statement, 0), "wal");
	sqlite3_finalize(statement);
	if (!is_wal)
		sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	return is_wal;
}

/* A link under the name of a run file leads who knows where: nothing is written through it. */
static bool is_written_elsewhere(const char *path)
{
	struct stat status;

	return !lstat(path, &status) && !S_ISREG(status.st_mode);
}

/* `is_private`: nobody else reads it before it is whole, and nobody keeps it if it never is. */
static int open_write(const char *path, bool create, bool is_private, sqlite3 **ret_db,
                      bool *ret_is_wal, char error[WT_DB_ERROR_BYTES])
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
	sqlite3 *db = NULL;
	bool is_wal = false;
	struct stat status;
	int code, err = 0;

	if (create && stat(path, &status) == 0 && status.st_size > 0) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s: exists already", path);
		return -EEXIST;
	}
	if (is_written_elsewhere(path)) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s: no regular file: not written to", path);
		return -EINVAL;
	}
	code = sqlite3_open_v2(path, &db, flags, NULL);
	if (code == SQLITE_OK) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_timeout(db, WT_DB_BUSY_MS);
		if (!create)
			err = check_identity(db, path, error);
		if (!err) {
			/* Before anything is in it, or it stays off: room that chunks leave is given back. */
			if (create)
				sqlite3_exec(db, "PRAGMA auto_vacuum=INCREMENTAL", NULL, NULL,
				             NULL);
			is_wal = !is_private && set_journal(db, path);
			if (is_private)
				sqlite3_exec(db, "PRAGMA journal_mode=OFF", NULL, NULL, NULL);
			code = sqlite3_exec(db,
			                    "PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; "
			                    "PRAGMA cache_size=-16384; "
			                    "PRAGMA journal_size_limit=16777216; "
			                    "PRAGMA wal_autocheckpoint=2000",
			                    NULL, NULL, NULL);
		}
	}
	if (!err && code == SQLITE_OK && !create &&
	    wt_db_int(db, "PRAGMA user_version", 0) < WT_DB_VERSION) {
		code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
		if (code == SQLITE_OK)
			code = wt_db_upgrade(db);
		if (code == SQLITE_OK)
			code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
		if (code == SQLITE_ERROR) /* its tables are not those of that version */
			code = SQLITE_CORRUPT;
	}
	if (!err && code == SQLITE_OK && !create)
		code = sqlite3_exec(db, wt_schema_added_sql, NULL, NULL, NULL);
	if (!err && code == SQLITE_OK && create) {
		/* In one transaction: a half-made file must not look like a run. */
		code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
		if (code == SQLITE_OK)
			code = sqlite3_exec(db, wt_schema_sql, NULL, NULL, NULL);
		if (code == SQLITE_OK)
			code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	}
	if (!err && code != SQLITE_OK)
		err = explain(path, db, code, error);
	if (err) {
		sqlite3_close(db);
		return err;
	}
	*ret_db = db;
	*ret_is_wal = is_wal;
	return 0;
}

int wt_db_open_write(const char *path, bool create, sqlite3 **ret_db, bool *ret_is_wal,
                     char error[WT_DB_ERROR_BYTES])
{
	return open_write(path, create, false, ret_db, ret_is_wal, error);
}

int wt_db_make_private(const char *path, sqlite3 **ret_db, char error[WT_DB_ERROR_BYTES])
{
	bool is_wal;

	return open_write(path, true, true, ret_db, &is_wal, error);
}

int wt_db_describe(sqlite3 *db, const char *path, struct wt_db_run_file *ret_run)
{
	static const char sql[] =
	        "SELECT count(*), total(state = 'live'), min(first_ns), max(last_ns), "
	        "total(launches_stored), total(kernels_stored), "
	        "(SELECT total(time_ns) FROM config_stat) FROM proc";
	sqlite3_stmt *statement = NULL;
	struct wt_db_run_file run = {0};
	char value[64], wal[1100];
	struct stat status;
	int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		run.processes = sqlite3_column_int64(statement, 0);
		run.processes_live = sqlite3_column_int64(statement, 1);
		run.first_ns = sqlite3_column_int64(statement, 2);
		run.last_ns = sqlite3_column_int64(statement, 3);
		run.launches = sqlite3_column_int64(statement, 4);
		run.kernels = sqlite3_column_int64(statement, 5);
		run.kernel_ns = sqlite3_column_int64(statement, 6);
	}
	sqlite3_finalize(statement);
	if (code != SQLITE_ROW)
		return wt_db_errno(code) ? wt_db_errno(code) : -EIO;
	wt_db_meta(db, "run_id", run.id, sizeof(run.id));
	wt_db_meta(db, "name", run.name, sizeof(run.name));
	wt_db_meta(db, "run_key", run.key, sizeof(run.key));
	wt_db_meta(db, "hostname", run.hostname, sizeof(run.hostname));
	if (wt_db_meta(db, "created_ns", value, sizeof(value)))
		run.created_ns = strtoll(value, NULL, 10);
	snprintf(run.path, sizeof(run.path), "%s", path);
	if (stat(path, &status) == 0)
		run.file_bytes = status.st_size;
	snprintf(wal, sizeof(wal), "%s-wal", path);
	if (stat(wal, &status) == 0)
		run.file_bytes += status.st_size;
	*ret_run = run;
	return 0;
}

static int by_age(const void *left, const void *right)
{
	const struct wt_db_run_file *a = left, *b = right;

	if (a->created_ns != b->created_ns)
		return a->created_ns < b->created_ns ? -1 : 1;
	return strcmp(a->path, b->path);
}

void wt_db_sort(struct wt_db_run_file *runs, size_t count)
{
	if (count)
		qsort(runs, count, sizeof(*runs), by_age);
}

/* When a file that can't be read was made: what its name says, or when it was last written. */
static int64_t guess_created_ns(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct tm tm = {.tm_isdst = -1};
	struct stat status;
	int64_t seconds = 0, ns;

	if (strptime(slash ? slash + 1 : path, "%Y%m%d-%H%M%S", &tm))
		seconds = mktime(&tm);
	else if (stat(path, &status) == 0)
		seconds = status.st_mtime;
	/* Names can tell of any year. */
	return __builtin_mul_overflow(seconds, INT64_C(1000000000), &ns) ? INT64_MAX : ns;
}

void wt_db_describe_file(const char *path, struct wt_db_run_file *ret_run)
{
	struct wt_db_run_file run = {0};
	sqlite3 *db = NULL;

	run.error = wt_db_open(path, &db, run.error_text);
	if (!run.error) {
		run.error = wt_db_describe(db, path, &run);
		if (run.error)
			snprintf(run.error_text, sizeof(run.error_text), "%.300s: %.200s", path,
			         sqlite3_errmsg(db));
		sqlite3_close(db);
	}
	if (run.error)
		run.created_ns = guess_created_ns(path);
	snprintf(run.path, sizeof(run.path), "%s", path);
	*ret_run = run;
}

int wt_db_list(const char *data_dir, struct wt_db_run_file **ret_runs, size_t *ret_count)
{
	struct wt_db_run_file *runs = NULL, *more;
	size_t count = 0, room = 0;
	char path[1024];
	struct dirent *entry;
	DIR *dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/runs", data_dir) >= sizeof(path))
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir && errno != ENOENT)
		return -errno;
	while (dir && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || length < 4 ||
		    strcmp(entry->d_name + length - 3, ".db"))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/runs/%s", data_dir, entry->d_name) >=
		    sizeof(path))
			continue;
		if (count == room) {
			room = room ? 2 * room : 16;
			more = realloc(runs, room * sizeof(*runs));
			if (!more) {
				free(runs);
				closedir(dir);
				return -ENOMEM;
			}
			runs = more;
		}
		wt_db_describe_file(path, &runs[count++]);
	}
	if (dir)
		closedir(dir);
	wt_db_sort(runs, count);
	*ret_runs = runs;
	*ret_count = count;
	return 0;
}

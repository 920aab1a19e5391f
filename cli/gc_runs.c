/*
 * gc_runs.c - the folder of run files: runs beyond the limits, journals that a killed daemon or a
 * reader left, half-made and damaged files. See gc.h.
 *
 * Removed are run files (by their application id), their journals, and names that only wavetapd
 * gives. Links are not followed. While a daemon runs it removes the runs itself: it alone knows
 * that it doesn't begin to write one just then.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/gc.h"
#include "daemon/daemon.h"

#define REQUEST_TIMEOUT_MS 30000
#define RECENT_S 3600 /* a daemon at work may be about to finish it */
#define YOUNG_S 60 /* one on another host, or with another shared memory, can't be seen */

struct folder {
	int fd;
	struct wt_db_run_file *runs;
	bool *is_live, *is_removed;
	size_t count;
	struct reader *readers; /* what was there before we became a reader ourselves */
	size_t reader_count;
};

/* A run's index and a journal without content, left by somebody who read it. */
struct reader {
	char name[NAME_MAX + 1]; /* of the run file */
	int64_t bytes;
};

static const char *name_of(const struct wt_db_run_file *run)
{
	return strrchr(run->path, '/') + 1;
}

/* ---- which runs live */

static bool is_same_text(const char *path, const char *text)
{
	char line[128] = "";
	FILE *in = fopen(path, "re");

	if (!in)
		return false;
	if (!fgets(line, sizeof(line), in))
		line[0] = '\0';
	fclose(in);
	line[strcspn(line, "\n")] = '\0';
	return !strcmp(line, text);
}

/*
 * A process that its file calls live may be gone all the same: with the machine, when it was
 * switched off, or when somebody removed its segment. On another host nothing can be known.
 */
static bool is_process_gone(const struct wt_gc *gc, sqlite3_stmt *row)
{
	const char *hostname = (const char *)sqlite3_column_text(row, 0);
	const char *boot_id = (const char *)sqlite3_column_text(row, 1);
	uint64_t pid_namespace = (uint64_t)sqlite3_column_int64(row, 2);
	int32_t pid = sqlite3_column_int(row, 3);
	uint64_t start_ticks = (uint64_t)sqlite3_column_int64(row, 4);
	struct wt_liveness liveness;
	char name_part[100], own_host[100] = "";
	enum wt_life life;

	gethostname(own_host, sizeof(own_host) - 1);
	if (!hostname || !boot_id || strcmp(hostname, own_host) != 0)
		return false;
	if (!is_same_text("/proc/sys/kernel/random/boot_id", boot_id))
		return access("/proc/sys/kernel/random/boot_id", R_OK) == 0;
	snprintf(name_part, sizeof(name_part), "%" PRIu64 "-%d-%" PRIu64 "-", pid_namespace, pid,
	         start_ticks);
	wt_liveness_open(&liveness, pid_namespace, pid, start_ticks, -1);
	life = wt_liveness_poll(&liveness);
	wt_liveness_close(&liveness);
	return life == WT_LIFE_DEAD && !wt_gc_has_segment(gc, name_part);
}

static bool is_run_live(const struct wt_gc *gc, const struct wt_db_run_file *run)
{
	static const char sql[] = "SELECT hostname, boot_id, pid_namespace, pid, start_ticks "
	                          "FROM proc WHERE state = 'live'";
	char error[WT_DB_ERROR_BYTES];
	sqlite3_stmt *row = NULL;
	bool is_live = false;
	sqlite3 *db;

	if (run->error || !run->processes_live)
		return false;
	if (wt_db_open(run->path, &db, error))
		return true; /* it was readable a moment ago */
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
		is_live = true;
	while (!is_live && sqlite3_step(row) == SQLITE_ROW)
		is_live = !is_process_gone(gc, row);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return is_live;
}

/* ---- runs beyond the limits */

static int ask_daemon(const struct wt_gc *gc, const char *name, char reason[WT_DB_ERROR_BYTES])
{
	char request[NAME_MAX + 16];
	char *reply = NULL;
	int rc;

	if (strchr(name, '\n')) {
		snprintf(reason, WT_DB_ERROR_BYTES,
		         "wavetapd runs and can't be told a name with a line break");
		return -EINVAL;
	}
	snprintf(request, sizeof(request), "remove %s", name);
	rc = wt_client_request(gc->data_dir, request, REQUEST_TIMEOUT_MS, &reply);
	if (!rc && !strcmp(reply, "ok")) {
		free(reply);
		return 0;
	}
	if (rc)
		snprintf(reason, WT_DB_ERROR_BYTES, "wavetapd did not answer: %s", strerror(-rc));
	else if (!strcmp(reply, "busy"))
		snprintf(reason, WT_DB_ERROR_BYTES, "wavetapd writes to it");
	else if (!strcmp(reply, "error unknown request"))
		snprintf(reason, WT_DB_ERROR_BYTES,
		         "the wavetapd that runs is of an older version and can't remove it");
	else
		snprintf(reason, WT_DB_ERROR_BYTES, "%.400s", reply);
	free(reply);
	return -EBUSY;
}

static int remove_run(struct wt_gc *gc, const struct wt_db_run_file *run)
{
	char reason[WT_DB_ERROR_BYTES] = "";
	char id[64];
	int err = 0;

	snprintf(id, sizeof(id), "run %.16s%s%.32s", run->id, run->name[0] ? " " : "", run->name);
	if (!gc->is_dry_run)
		err = gc->has_daemon ? ask_daemon(gc, name_of(run), reason)
		                     : wt_keep_remove(gc->runs_dir, name_of(run), reason);
	/* A daemon with limits of its own may have been faster. */
	if (err && access(run->path, F_OK) && errno == ENOENT)
		err = 0;
	return err ? wt_gc_note(gc, WT_GC_FAILED, "run", run->path, run->file_bytes, "%s: %s", id,
	                        reason)
	           : wt_gc_note(gc, WT_GC_REMOVED, "run", run->path, run->file_bytes,
	                        "%s: beyond the limits", id);
}

static int apply_limits(struct wt_gc *gc, struct folder *folder)
{
	bool *is_protected = calloc(folder->count + 1, sizeof(*is_protected));
	struct timespec now;
	int err = is_protected ? 0 : -ENOMEM;

	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < folder->count && !err; i++)
		is_protected[i] = folder->is_live[i] ||
		                  (gc->keep_path && !strcmp(gc->keep_path, folder->runs[i].path));
	if (!err)
		wt_keep_choose(&gc->keep, folder->runs, folder->count, is_protected,
		               (int64_t)now.tv_sec * WT_SECOND, folder->is_removed);
	for (size_t i = 0; i < folder->count && !err; i++)
		if (folder->is_removed[i])
			err = remove_run(gc, &folder->runs[i]);
	free(is_protected);
	return err;
}

/* ---- what lies beside them */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

static const char *journal_suffix(const char *name)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (ends_with(name, suffixes[i]))
			return suffixes[i];
	return NULL;
}

/* YYYYMMDD-HHMMSS[.n]-xxxxxxxx.db: the name that wavetapd gives, up to `length`. */
static bool is_run_name(const char *name, size_t length)
{
	static const char shape[] = "dddddddd-dddddd";
	size_t at = strlen(shape);

	if (length < at + 12)
		return false;
	for (size_t i = 0; i < at; i++)
		if (shape[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != shape[i])
			return false;
	if (name[at] == '.')
		at += 1 + strspn(name + at + 1, "0123456789");
	return at + 12 == length && name[at] == '-' &&
	       strspn(name + at + 1, "0123456789abcdef") >= 8 && !strncmp(name + at + 9, ".db", 3);
}

static int note_file(struct wt_gc *gc, enum wt_gc_action action, const char *kind, const char *name,
                     int64_t bytes, const char *reason)
{
	char path[WT_PATH_BYTES + NAME_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", gc->runs_dir, name);
	return wt_gc_note(gc, action, kind, path, bytes, "%s", reason);
}

/* Why it is never touched, whatever its name says; NULL: it may be. */
static const char *obstacle(const struct stat *status)
{
	if (S_ISLNK(status->st_mode))
		return "a symbolic link: not followed";
	if (!S_ISREG(status->st_mode))
		return "not a file";
	return status->st_uid != geteuid() ? "belongs to another user" : NULL;
}

/* A file that only wavetapd gives such a name; is it ours to remove? */
static int remove_file(struct wt_gc *gc, const struct folder *folder, const char *kind,
                       const char *name, const char *reason)
{
	struct stat status;
	int64_t bytes;

	if (fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	bytes = (int64_t)status.st_blocks * 512;
	if (obstacle(&status))
		return note_file(gc, WT_GC_KEPT, kind, name, bytes, obstacle(&status));
	if (strcmp(kind, "damaged") != 0 &&
	    time(NULL) - status.st_mtime < (gc->has_daemon ? RECENT_S : YOUNG_S))
		return 0;
	if (!gc->is_dry_run && unlinkat(folder->fd, name, 0) && errno != ENOENT)
		return note_file(gc, WT_GC_FAILED, kind, name, bytes, strerror(errno));
	return note_file(gc, WT_GC_REMOVED, kind, name, bytes, reason);
}

static int consider_damaged(struct wt_gc *gc, const struct folder *folder, const char *name)
{
	struct stat status;

	if (gc->is_forced)
		return remove_file(gc, folder, "damaged", name, "forced: damaged");
	if (fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	return note_file(gc, WT_GC_KEPT, "damaged", name, (int64_t)status.st_blocks * 512,
	                 obstacle(&status) ? obstacle(&status) : "damaged (--force removes it)");
}

/* A file whose name is no run's. */
static int consider_other(struct wt_gc *gc, const struct folder *folder, const char *name)
{
	const char *suffix = journal_suffix(name);
	const char *corrupt = strstr(name, ".corrupt-");
	char base[NAME_MAX + 1];
	struct stat status;

	if (!strncmp(name, ".new-", 5) && strspn(name + 5, "0123456789abcdef") == 8 &&
	    (!name[13] || suffix))
		return remove_file(gc, folder, "temporary", name,
		                   "a run file that was never finished");
	/* As wavetapd names them: with the time, and no more. */
	if (corrupt && is_run_name(name, (size_t)(corrupt - name)) &&
	    corrupt[strspn(corrupt + 9, "0123456789") + 9] == '\0' && corrupt[9])
		return consider_damaged(gc, folder, name);
	if (!suffix)
		return 0;
	snprintf(base, sizeof(base), "%.*s", (int)(strlen(name) - strlen(suffix)), name);
	if (!is_run_name(base, strlen(base)) ||
	    fstatat(folder->fd, base, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return remove_file(gc, folder, "journal", name, "its run is gone");
}

/* ---- journals of runs that nobody writes */

static int64_t file_bytes(const struct folder *folder, const char *name, const char *suffix,
                          off_t *ret_length)
{
	char path[NAME_MAX + 16];
	struct stat status;

	snprintf(path, sizeof(path), "%s%s", name, suffix);
	*ret_length = 0;
	if (fstatat(folder->fd, path, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	*ret_length = status.st_size;
	return (int64_t)status.st_blocks * 512;
}

/* Each reader leaves an index, and a journal without content, where it may not write the file. */
static int note_readers(struct folder *folder)
{
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct reader reader, *grown;
	struct dirent *entry;
	off_t length;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		if (!ends_with(entry->d_name, ".db-shm"))
			continue;
		snprintf(reader.name, sizeof(reader.name), "%.*s",
		         (int)(strlen(entry->d_name) - strlen("-shm")), entry->d_name);
		file_bytes(folder, reader.name, "-wal", &length);
		if (length)
			continue;
		reader.bytes = file_bytes(folder, reader.name, "-shm", &length);
		grown = reallocarray(folder->readers, folder->reader_count + 1, sizeof(*grown));
		if (grown) {
			folder->readers = grown;
			grown[folder->reader_count++] = reader;
		}
		err = grown ? 0 : -ENOMEM;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return err;
}

/* Those of a run that was folded and, unless nothing is to be done, that are gone now. */
static int report_readers(struct wt_gc *gc, const struct folder *folder)
{
	int64_t bytes = 0;
	int files = 0;
	off_t length;

	for (size_t i = 0; i < folder->reader_count; i++) {
		const struct reader *reader = &folder->readers[i];

		for (size_t r = 0; r < folder->count; r++) {
			if (folder->runs[r].error || folder->is_live[r] || folder->is_removed[r] ||
			    strcmp(name_of(&folder->runs[r]), reader->name))
				continue;
			if (!gc->is_dry_run && file_bytes(folder, reader->name, "-shm", &length))
				continue;
			bytes += reader->bytes;
			files++;
		}
	}
	return files ? wt_gc_note(gc, WT_GC_REMOVED, "journal", gc->runs_dir, bytes,
	                          "empty journals of %d run%s, left by readers", files,
	                          files == 1 ? "" : "s")
	             : 0;
}

/* A file that is opened for writing and closed takes in its journal. */
static int fold_journals(struct wt_gc *gc, struct folder *folder, const struct wt_db_run_file *run)
{
	const char *name = name_of(run);
	char error[WT_DB_ERROR_BYTES];
	off_t wal, shm, journal, left;
	int64_t bytes;
	bool is_wal;
	sqlite3 *db;

	bytes = file_bytes(folder, name, "-wal", &wal);
	bytes += file_bytes(folder, name, "-shm", &shm);
	bytes += file_bytes(folder, name, "-journal", &journal);
	if (!wal && !shm && !journal)
		return 0;
	if (!gc->is_dry_run) {
		if (wt_db_open_write(run->path, false, &db, &is_wal, error))
			return wt_gc_note(gc, WT_GC_FAILED, "journal", run->path, bytes, "%s",
			                  error);
		sqlite3_close(db);
		file_bytes(folder, name, "-shm", &left);
		if (left)
			return 0; /* somebody reads it */
	}
	if (!wal && !journal)
		return 0; /* counted before */
	return wt_gc_note(gc, WT_GC_REMOVED, "journal", run->path, bytes,
	                  "its journal was taken into the run");
}

static int fold_all(struct wt_gc *gc, struct folder *folder)
{
	int err = 0;

	for (size_t i = 0; i < folder->count && !err; i++)
		if (!folder->runs[i].error && !folder->is_live[i] && !folder->is_removed[i])
			err = fold_journals(gc, folder, &folder->runs[i]);
	return err ? err : report_readers(gc, folder);
}

/* ---- all of it */

/* Runs that are not what they seem: for the limits they don't count. */
static int set_aside(struct wt_gc *gc, struct folder *folder)
{
	int err = 0;

	for (size_t i = 0; i < folder->count && !err; i++) {
		struct wt_db_run_file *run = &folder->runs[i];
		const char *why;
		struct stat status;

		if (fstatat(folder->fd, name_of(run), &status, AT_SYMLINK_NOFOLLOW)) {
			run->error = -errno;
			continue;
		}
		why = obstacle(&status);
		if (why)
			;
		else if (run->error == -EBADMSG && is_run_name(name_of(run), strlen(name_of(run))))
			err = consider_damaged(gc, folder, name_of(run));
		else if (run->error)
			err = wt_gc_note(gc, WT_GC_KEPT, "run", run->path,
			                 (int64_t)status.st_blocks * 512, "%s",
			                 run->error == -ENOTSUP ? "made by a newer wavetap"
			                 : run->error == -EINVAL || run->error == -EBADMSG
			                         ? "not a wavetap run file"
			                         : strerror(-run->error));
		if (why) {
			run->error = -EPERM;
			err = wt_gc_note(gc, WT_GC_KEPT, "run", run->path,
			                 (int64_t)status.st_blocks * 512, "%s", why);
		}
	}
	return err;
}

static int consider_rest(struct wt_gc *gc, const struct folder *folder)
{
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir)))
		if (!ends_with(entry->d_name, ".db"))
			err = consider_other(gc, folder, entry->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return err;
}

/* The folder, itself and not where a link leads. 0, -ENOENT: there is none, or after a message. */
static int open_folder(const struct wt_gc *gc, int *ret_fd)
{
	int fd = open(gc->runs_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	int err = fd < 0 ? -errno : 0;

	if (!err && (fstat(fd, &status) || status.st_uid != geteuid())) {
		wt_cli_error("%s belongs to another user: nothing in it is touched", gc->runs_dir);
		close(fd);
		return -EPERM;
	}
	if (err && err != -ENOENT)
		wt_cli_error("%s: %s", gc->runs_dir,
		             lstat(gc->runs_dir, &status) == 0 && S_ISLNK(status.st_mode)
		                     ? "a symbolic link: not followed"
		                     : strerror(-err));
	*ret_fd = fd;
	return err;
}

static int go_through(struct wt_gc *gc, struct folder *folder, bool is_limits_only)
{
	int err;

	err = note_readers(folder);
	if (err)
		return err;
	err = wt_db_list(gc->data_dir, &folder->runs, &folder->count);
	if (err) {
		if (err != -ENOMEM)
			wt_cli_error("%s: %s", gc->runs_dir, strerror(-err));
		return err;
	}
	folder->is_live = calloc(folder->count + 1, sizeof(*folder->is_live));
	folder->is_removed = calloc(folder->count + 1, sizeof(*folder->is_removed));
	if (!folder->is_live || !folder->is_removed)
		return -ENOMEM;
	err = set_aside(gc, folder);
	for (size_t i = 0; i < folder->count && !err; i++)
		folder->is_live[i] = is_run_live(gc, &folder->runs[i]);
	if (!err && wt_keep_is_limited(&gc->keep))
		err = apply_limits(gc, folder);
	if (err || is_limits_only)
		return err;
	err = fold_all(gc, folder);
	return err ? err : consider_rest(gc, folder);
}

static int with_folder(struct wt_gc *gc, bool is_limits_only)
{
	struct folder folder = {.fd = -1};
	int err = open_folder(gc, &folder.fd);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = go_through(gc, &folder, is_limits_only);
	close(folder.fd);
	free(folder.runs);
	free(folder.is_live);
	free(folder.is_removed);
	free(folder.readers);
	return err;
}

int wt_gc_runs(struct wt_gc *gc)
{
	return with_folder(gc, false);
}

int wt_gc_limits(struct wt_gc *gc)
{
	return with_folder(gc, true);
}

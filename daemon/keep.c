/*
 * keep.c - limits on the recorded runs (WAVETAP_KEEP), and removing one on request.
 *
 * A run that has ended makes the limits due. They are applied in steps, one run file each, so that
 * the rings of other processes are drained in between; the daemon does not end before. Only
 * runs of this data directory go, never one that is being written, never one that ended just now.
 * Main thread; a step blocks on the disk.
 */
#include "daemon/daemon.h"

#include <dirent.h>
#include <errno.h>

void wt_keep_open(struct wt_daemon *daemon)
{
	const char *setting = secure_getenv("WAVETAP_KEEP");
	char error[WT_DB_ERROR_BYTES];

	daemon->keeper.limits = WT_KEEP_ALL;
	if (setting && setting[0] && wt_keep_parse(setting, &daemon->keeper.limits, error))
		wt_log_line("WAVETAP_KEEP: %s; every run is kept", error);
}

static void forget_runs(struct wt_keeper *keeper)
{
	if (keeper->dir)
		closedir(keeper->dir);
	keeper->dir = NULL;
	free(keeper->runs);
	keeper->runs = NULL;
	keeper->count = keeper->room = 0;
}

static void forget_ended(struct wt_keeper *keeper)
{
	for (size_t i = 0; i < keeper->ended_count; i++)
		free(keeper->ended[i]);
	free(keeper->ended);
	keeper->ended = NULL;
	keeper->ended_count = 0;
}

void wt_keep_close(struct wt_daemon *daemon)
{
	forget_runs(&daemon->keeper);
	forget_ended(&daemon->keeper);
}

void wt_keep_due(struct wt_daemon *daemon, const char *path)
{
	struct wt_keeper *keeper = &daemon->keeper;
	char **more;

	if (!wt_keep_is_limited(&keeper->limits) || !path[0])
		return;
	/* Without memory nothing is removed: that is no failure. */
	more = realloc(keeper->ended, (keeper->ended_count + 1) * sizeof(*more));
	if (!more)
		return;
	keeper->ended = more;
	more[keeper->ended_count] = strdup(path);
	if (!more[keeper->ended_count])
		return;
	keeper->ended_count++;
	keeper->is_due = true;
}

/* Is a process attached whose run has this file, or will have? */
static bool is_in_use(const struct wt_daemon *daemon, const char *path)
{
	char suffix[16];
	size_t length = strlen(path);

	for (const struct wt_run *run = daemon->runs; run; run = run->next) {
		snprintf(suffix, sizeof(suffix), "-%08x.db", wt_run_hash(daemon, run->key));
		if (!strcmp(run->path, path) ||
		    (length > strlen(suffix) && !strcmp(path + length - strlen(suffix), suffix)))
			return true;
	}
	return false;
}

static bool has_just_ended(const struct wt_keeper *keeper, const char *path)
{
	for (size_t i = 0; i < keeper->ended_count; i++)
		if (!strcmp(keeper->ended[i], path))
			return true;
	return false;
}

static int remove_run(struct wt_daemon *daemon, const char *path, char error[WT_DB_ERROR_BYTES])
{
	char folder[WT_PATH_BYTES];

	if ((size_t)snprintf(folder, sizeof(folder), "%s/runs", daemon->data_dir) >=
	    sizeof(folder)) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s", strerror(ENAMETOOLONG));
		return -ENAMETOOLONG;
	}
	return wt_keep_remove(folder, strrchr(path, '/') + 1, error);
}

/* All are known: the oldest go. */
static void apply(struct wt_daemon *daemon)
{
	struct wt_keeper *keeper = &daemon->keeper;
	bool *is_protected = calloc(2 * keeper->count + 1, sizeof(*is_protected));
	char error[WT_DB_ERROR_BYTES];
	bool *is_removed;

	if (!is_protected)
		return;
	is_removed = is_protected + keeper->count;
	wt_db_sort(keeper->runs, keeper->count);
	for (size_t i = 0; i < keeper->count; i++)
		is_protected[i] = keeper->runs[i].processes_live ||
		                  has_just_ended(keeper, keeper->runs[i].path) ||
		                  is_in_use(daemon, keeper->runs[i].path);
	wt_keep_choose(&keeper->limits, keeper->runs, keeper->count, is_protected,
	               wt_clock_ns(CLOCK_REALTIME), is_removed);
	for (size_t i = 0; i < keeper->count; i++) {
		if (!is_removed[i])
			continue;
		if (remove_run(daemon, keeper->runs[i].path, error))
			wt_log_line("WAVETAP_KEEP: can't remove %s", error);
		else
			wt_log_line("WAVETAP_KEEP: removed %s", keeper->runs[i].path);
	}
	free(is_protected);
}

static int open_folder(struct wt_daemon *daemon)
{
	char path[WT_PATH_BYTES];

	if ((size_t)snprintf(path, sizeof(path), "%s/runs", daemon->data_dir) >= sizeof(path))
		return -ENAMETOOLONG;
	daemon->keeper.dir = opendir(path);
	return daemon->keeper.dir ? 0 : -errno;
}

/* The next run file into the list. 0, -ENOENT at the end, or -ENOMEM. */
static int read_next(struct wt_daemon *daemon)
{
	struct wt_keeper *keeper = &daemon->keeper;
	char path[WT_PATH_BYTES];
	struct dirent *entry;

	if (keeper->count == keeper->room) {
		size_t room = keeper->room ? 2 * keeper->room : 16;
		struct wt_db_run_file *more = realloc(keeper->runs, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		keeper->runs = more;
		keeper->room = room;
	}
	while ((entry = readdir(keeper->dir))) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || length < 4 ||
		    strcmp(entry->d_name + length - 3, ".db") != 0 ||
		    (size_t)snprintf(path, sizeof(path), "%s/runs/%s", daemon->data_dir,
		                     entry->d_name) >= sizeof(path))
			continue;
		wt_db_describe_file(path, &keeper->runs[keeper->count++]);
		return 0;
	}
	return -ENOENT;
}

bool wt_keep_step(struct wt_daemon *daemon)
{
	struct wt_keeper *keeper = &daemon->keeper;
	int err;

	if (!keeper->is_due)
		return false;
	err = keeper->dir ? read_next(daemon) : open_folder(daemon);
	if (!err)
		return true;
	if (err == -ENOENT)
		apply(daemon);
	else
		wt_log_line("WAVETAP_KEEP: %s/runs: %s", daemon->data_dir, strerror(-err));
	forget_runs(keeper);
	forget_ended(keeper);
	keeper->is_due = false;
	return false;
}

int wt_keep_request(struct wt_daemon *daemon, const char *name, char error[WT_DB_ERROR_BYTES])
{
	char path[WT_PATH_BYTES];
	sqlite3 *db;
	int err;

	if (name[0] == '.' || strchr(name, '/') ||
	    (size_t)snprintf(path, sizeof(path), "%s/runs/%s", daemon->data_dir, name) >=
	            sizeof(path)) {
		snprintf(error, WT_DB_ERROR_BYTES, "not the name of a run file");
		return -EINVAL;
	}
	/* A segment that nobody has looked at yet may belong to it. */
	wt_scan(daemon, wt_clock_ns(CLOCK_MONOTONIC), true);
	if (is_in_use(daemon, path)) {
		snprintf(error, WT_DB_ERROR_BYTES, "it is being written");
		return -EBUSY;
	}
	err = wt_db_open(path, &db, error);
	if (err)
		return err;
	sqlite3_close(db);
	err = remove_run(daemon, path, error);
	if (!err)
		wt_log_line("removed %s, as asked", path);
	return err;
}

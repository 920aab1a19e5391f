/*
 * baseline_store.c - see baseline_store.h. Single-threaded; blocks on files.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/baseline.h"
#include "cli/baseline_store.h"
#include "cli/run_file.h"

#define EXCHANGE 2u /* RENAME_EXCHANGE of linux/fs.h; glibc has renameat2() from 2.28 on */

int wt_baseline_path(const char *name, char path[WT_BASELINE_PATH_BYTES])
{
	char data_dir[WT_PATH_BYTES];
	int rc = wt_run_data_dir(data_dir);

	if (!rc)
		snprintf(path, WT_BASELINE_PATH_BYTES, "%s/baselines%s%s", data_dir,
		         name[0] ? "/" : "", name);
	return rc;
}

const char *wt_baseline_problem(int err)
{
	if (err == -ENOTDIR || err == -ELOOP)
		return "a link or a file, no folder of a baseline: left as it is";
	if (err == -ENOTEMPTY || err == -EEXIST)
		return "holds more than copies of runs: left as it is";
	return strerror(-err);
}

/* ---- a folder, itself and not by a link */

static int open_folder(int store_fd, const char *name)
{
	int fd = openat(store_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A copy of a run, or what SQLite has beside one. */
static bool is_own(const char *name)
{
	static const char *const ends[] = {".db", ".db-journal", ".db-wal", ".db-shm"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t end = strlen(ends[i]);

		if (length > end && name[0] != '.' && !strcmp(name + length - end, ends[i]))
			return true;
	}
	return false;
}

/* All that is its own goes, or with `is_look` nothing. -ENOTEMPTY: there is more in it. */
static int empty_folder(int fd, bool is_look)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), rc = 0;
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	if (!dir) {
		rc = -errno;
		if (copy >= 0)
			close(copy);
		return rc;
	}
	rewinddir(dir);
	while (!rc && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!is_own(entry->d_name))
			rc = -ENOTEMPTY;
		else if (!is_look && unlinkat(fd, entry->d_name, 0) && errno != ENOENT)
			rc = -errno;
	}
	closedir(dir);
	return rc;
}

static int look_into(int store_fd, const char *name)
{
	int fd = open_folder(store_fd, name), rc;

	if (fd < 0)
		return fd;
	rc = empty_folder(fd, true);
	close(fd);
	return rc;
}

static int remove_folder(int store_fd, const char *name)
{
	int fd, rc = look_into(store_fd, name);

	if (rc)
		return rc;
	fd = open_folder(store_fd, name);
	if (fd < 0)
		return fd;
	rc = empty_folder(fd, false);
	close(fd);
	if (!rc && unlinkat(store_fd, name, AT_REMOVEDIR))
		rc = -errno;
	return rc;
}

/* ---- the folder of them all */

/* "NAME" of ".NAME.XXXXXX" and ".NAME.XXXXXX~". False: it is nothing that was left. */
static bool read_hidden(const char *entry, char name[256], bool *ret_had_name)
{
	const char *dot = strrchr(entry, '.'), *end;

	if (entry[0] != '.' || dot == entry || strlen(entry) > 255)
		return false;
	for (end = dot + 1; isalnum((unsigned char)*end); end++)
		;
	snprintf(name, 256, "%.*s", (int)(dot - entry - 1), entry + 1);
	*ret_had_name = *end == '~';
	return end > dot + 1 && !end[*ret_had_name] && wt_baseline_is_name(name);
}

/* One that is being filled is locked. Where there are no locks all are left. */
static void sweep_one(int store_fd, const char *entry)
{
	bool had_name, is_free;
	char name[256];
	int fd;

	if (!read_hidden(entry, name, &had_name))
		return;
	fd = open_folder(store_fd, entry);
	if (fd < 0)
		return;
	is_free = !flock(fd, LOCK_EX | LOCK_NB);
	/* It had the name, and what was to take it did not come so far: a name in use is not replaced. */
	if (is_free && !(had_name && !renameat(store_fd, entry, store_fd, name)))
		(void)remove_folder(store_fd, entry);
	close(fd);
}

static void sweep(const char *path, int store_fd)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, NULL, NULL);

	for (int i = 0; i < count; i++) {
		sweep_one(store_fd, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* Locked, without what was left; a file descriptor or -errno. */
static int open_store(bool may_make)
{
	char path[WT_BASELINE_PATH_BYTES];
	int rc = wt_baseline_path("", path), fd;

	if (rc)
		return rc;
	if (may_make && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX))
		sweep(path, fd);
	return fd;
}

int wt_baseline_remove(const char *name)
{
	int fd = open_store(false), rc;

	if (fd < 0)
		return fd;
	rc = remove_folder(fd, name);
	close(fd);
	return rc;
}

/* ---- a new one */

static const char *hidden_name(const struct wt_baseline_new *new_one)
{
	return strrchr(new_one->path, '/') + 1;
}

int wt_baseline_new_begin(const char *name, struct wt_baseline_new *new_one)
{
	char hidden[80];
	int rc;

	*new_one = (struct wt_baseline_new){.store_fd = -1, .fd = -1};
	snprintf(hidden, sizeof(hidden), ".%.64s.XXXXXX", name);
	rc = wt_baseline_path(hidden, new_one->path);
	if (rc) {
		new_one->path[0] = '\0';
		return rc;
	}
	rc = open_store(true);
	if (rc >= 0) {
		new_one->store_fd = rc;
		rc = mkdtemp(new_one->path) ? 0 : -errno;
	}
	if (rc) {
		new_one->path[0] = '\0';
		return rc;
	}
	rc = open_folder(new_one->store_fd, hidden_name(new_one));
	if (rc < 0)
		return rc;
	new_one->fd = rc;
	(void)flock(new_one->fd, LOCK_EX | LOCK_NB);
	(void)flock(new_one->store_fd, LOCK_UN); /* copies take long */
	return 0;
}

/* Where two names can't be exchanged: for a moment neither has the name. */
static int replace(int store_fd, const char *made, const char *name)
{
	char old[256];
	int rc;

	snprintf(old, sizeof(old), "%.250s~", made);
	if (renameat(store_fd, name, store_fd, old))
		return -errno;
	if (renameat(store_fd, made, store_fd, name)) {
		rc = -errno;
		(void)!renameat(store_fd, old, store_fd, name);
		return rc;
	}
	(void)remove_folder(store_fd, old);
	return 0;
}

static int put_in_place(int store_fd, const char *made, const char *name)
{
	int rc = look_into(store_fd, name);

	if (rc == -ENOENT)
		return renameat(store_fd, made, store_fd, name) ? -errno : 0;
	if (rc)
		return rc;
#ifdef SYS_renameat2
	if (!syscall(SYS_renameat2, store_fd, made, store_fd, name, EXCHANGE)) {
		(void)remove_folder(store_fd, made);
		return 0;
	}
	if (errno != ENOSYS && errno != EINVAL)
		return -errno;
#endif
	return replace(store_fd, made, name);
}

int wt_baseline_new_keep(struct wt_baseline_new *new_one, const char *name)
{
	int rc;

	(void)flock(new_one->store_fd, LOCK_EX);
	rc = put_in_place(new_one->store_fd, hidden_name(new_one), name);
	if (!rc)
		new_one->path[0] = '\0';
	(void)flock(new_one->store_fd, LOCK_UN);
	return rc;
}

void wt_baseline_new_end(struct wt_baseline_new *new_one)
{
	if (new_one->path[0])
		(void)remove_folder(new_one->store_fd, hidden_name(new_one));
	if (new_one->fd >= 0)
		close(new_one->fd);
	if (new_one->store_fd >= 0)
		close(new_one->store_fd);
}

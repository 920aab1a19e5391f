/*
 * out_file.c - see out_file.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/out_file.h"

/* For the handler: what to remove, or NULL. Before it the journal that SQLite may add. */
static const char *volatile unfinished;
static char journal[WT_PATH_BYTES + sizeof("-journal")];

static void remove_unfinished(int number)
{
	const char *path = unfinished;

	if (path) {
		unlink(journal);
		unlink(path);
	}
	signal(number, SIG_DFL);
	raise(number);
}

static void set_handlers(void (*handler)(int))
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction action;

		sigaction(numbers[i], NULL, &action);
		if (action.sa_handler == SIG_IGN)
			continue;
		action.sa_handler = handler;
		action.sa_flags = 0;
		sigaction(numbers[i], &action, NULL);
	}
}

bool wt_out_file_is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int wt_out_file_begin(struct wt_out_file *file, const char *path, bool is_replacing)
{
	mode_t mask = umask(0);
	struct stat st;
	int fd;

	umask(mask);
	file->path = path;
	file->is_replacing = is_replacing;
	if (!lstat(path, &st)) {
		if (!is_replacing)
			return -EEXIST;
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		/* A device or a pipe would be gone; a link is replaced, what it names stays. */
		if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
			return -EPERM;
	}
	if (snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", path) >=
	    (int)sizeof(file->temporary))
		return -ENAMETOOLONG;
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(journal, sizeof(journal), "%s-journal", file->temporary);
	unfinished = file->temporary;
	set_handlers(remove_unfinished);
	/* As any file that the user makes. */
	fchmod(fd, 0666 & ~mask);
	close(fd);
	return 0;
}

static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fsync(fd) && errno != EINVAL && errno != EROFS)
		rc = -errno;
	close(fd);
	return rc;
}

int wt_out_file_commit(struct wt_out_file *file)
{
	int rc = sync_file(file->temporary);

	/* link() refuses an existing name where rename() would replace it. */
	if (!rc && !file->is_replacing) {
		if (link(file->temporary, file->path) == 0) {
			wt_out_file_abort(file);
			return 0;
		}
		if (errno == EEXIST || (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS))
			rc = -errno;
		else if (access(file->path, F_OK) == 0) /* no links here (FAT) */
			rc = -EEXIST;
	}
	if (!rc && rename(file->temporary, file->path))
		rc = -errno;
	if (rc) {
		wt_out_file_abort(file);
		return rc;
	}
	set_handlers(SIG_DFL);
	unfinished = NULL;
	return 0;
}

void wt_out_file_abort(struct wt_out_file *file)
{
	unlink(journal);
	unlink(file->temporary);
	set_handlers(SIG_DFL);
	unfinished = NULL;
}

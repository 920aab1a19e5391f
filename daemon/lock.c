/*
 * lock.c - one daemon per user, host and data directory: flock on a file in /dev/shm.
 *
 * The file is removed when the lock is given up, so that nothing stays behind. A daemon
 * that locked a file which was removed meanwhile holds nothing: it compares the inode
 * and tries again. Does not block.
 */
#include "daemon/daemon.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_TRIES 100

int wt_lock_take(const char *path, int *ret_fd)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat held, named;

		if (fd < 0)
			return -errno;
		if (fstat(fd, &held) || held.st_uid != geteuid() || !S_ISREG(held.st_mode)) {
			close(fd);
			return -EPERM;
		}
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			int err = -errno;

			close(fd);
			return err;
		}
		if (lstat(path, &named) == 0 && named.st_ino == held.st_ino &&
		    named.st_dev == held.st_dev) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);
	}
	return -EWOULDBLOCK;
}

void wt_lock_drop(const char *path, int fd)
{
	unlink(path);
	close(fd);
}

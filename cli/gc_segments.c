/*
 * gc_segments.c - segments that processes left in shared memory; the daemon's lock and socket.
 * See gc.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/gc.h"
#include "daemon/daemon.h"

#define STORE_TIMEOUT_MS 20000
#define POLL_MS 50
#define MAKING_S 10 /* making a segment takes milliseconds */

enum state {
	STATE_LIVE, /* its process lives */
	STATE_DEAD, /* to be stored, then removed: by the daemon */
	STATE_UNKNOWN, /* of another pid namespace: can't be told */
	STATE_USELESS, /* dead, and not a segment that anybody can read */
	STATE_OTHER_VERSION, /* dead, and only another wavetapd can read it */
	STATE_NOT_OURS, /* not a private file of this user */
};

struct segment {
	char name[NAME_MAX + 1];
	int64_t bytes;
	enum state state;
};

struct segments {
	struct segment *at;
	size_t count;
	int dir_fd;
};

/* "wavetap-<uid>-<hash>-" of the data directory into `prefix`. */
static int make_prefix(const struct wt_gc *gc, char prefix[WT_PATH_BYTES])
{
	char path[WT_PATH_BYTES];
	int err = wt_path_shm(path, gc->data_dir, "-");

	if (!err)
		snprintf(prefix, WT_PATH_BYTES, "%s", strrchr(path, '/') + 1);
	return err;
}

static bool is_segment_name(const char *name, const char *prefix)
{
	size_t length = strlen(name);

	return !strncmp(name, prefix, strlen(prefix)) && length > 4 &&
	       !strcmp(name + length - 4, ".seg");
}

/* What the first page says: dead segments are read by the daemon, if it can. */
static enum state judge_dead(int dir_fd, const char *name, const struct stat *status)
{
	struct {
		uint64_t magic;
		uint32_t abi;
	} head = {0};
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, &head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	if (n == (ssize_t)sizeof(head) && head.magic == WT_SEGMENT_MAGIC &&
	    head.abi != WT_SEGMENT_ABI)
		return STATE_OTHER_VERSION;
	if (n == (ssize_t)sizeof(head) && head.magic == WT_SEGMENT_MAGIC &&
	    status->st_size >= WT_CELLS_OFFSET)
		return STATE_DEAD;
	return STATE_USELESS;
}

/* Of another pid namespace, yet nobody has it open: neither its process nor a daemon. */
static bool is_unused(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_unused = fd >= 0 && wt_liveness_by_file(fd) == WT_LIFE_DEAD;

	if (fd >= 0)
		close(fd);
	return is_unused;
}

static enum state judge(int dir_fd, const char *name, const char *after_prefix,
                        const struct stat *status)
{
	struct wt_liveness liveness;
	unsigned long long pid_namespace, start;
	enum wt_life life = WT_LIFE_UNKNOWN;
	int pid;

	if (!S_ISREG(status->st_mode) || status->st_uid != geteuid() || status->st_mode & 077)
		return STATE_NOT_OURS;
	if (sscanf(after_prefix, "%llu-%d-%llu-", &pid_namespace, &pid, &start) == 3) {
		wt_liveness_open(&liveness, pid_namespace, pid, start, -1);
		life = wt_liveness_poll(&liveness);
		wt_liveness_close(&liveness);
	}
	if (life == WT_LIFE_ALIVE)
		return STATE_LIVE;
	if (life == WT_LIFE_UNKNOWN && !is_unused(dir_fd, name))
		return STATE_UNKNOWN;
	return judge_dead(dir_fd, name, status);
}

static void segments_fini(struct segments *segments)
{
	if (segments->dir_fd >= 0)
		close(segments->dir_fd);
	free(segments->at);
}

/* All of this data directory. 0 or -errno. */
static int list_segments(const struct wt_gc *gc, struct segments *ret_segments)
{
	struct segments segments = {.dir_fd = -1};
	char prefix[WT_PATH_BYTES];
	int err = make_prefix(gc, prefix);
	DIR *dir = err ? NULL : opendir(wt_path_shm_dir());
	struct dirent *entry;
	struct stat status;

	if (!err && !dir)
		err = errno == ENOENT ? 0 : -errno;
	if (dir)
		segments.dir_fd = dup(dirfd(dir));
	while (dir && !err && (entry = readdir(dir))) {
		struct segment *more;

		if (!is_segment_name(entry->d_name, prefix) ||
		    fstatat(segments.dir_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		more = realloc(segments.at, (segments.count + 1) * sizeof(*more));
		if (!more) {
			err = -ENOMEM;
			break;
		}
		segments.at = more;
		more += segments.count++;
		snprintf(more->name, sizeof(more->name), "%s", entry->d_name);
		more->bytes = (int64_t)status.st_blocks * 512;
		more->state =
		        judge(segments.dir_fd, more->name, more->name + strlen(prefix), &status);
	}
	if (dir)
		closedir(dir);
	if (err)
		segments_fini(&segments);
	else
		*ret_segments = segments;
	return err;
}

bool wt_gc_has_segment(const struct wt_gc *gc, const char *name_part)
{
	char prefix[WT_PATH_BYTES];
	DIR *dir = make_prefix(gc, prefix) ? NULL : opendir(wt_path_shm_dir());
	struct dirent *entry;
	bool is_found = false;

	while (dir && !is_found && (entry = readdir(dir)))
		is_found = is_segment_name(entry->d_name, prefix) &&
		           !strncmp(entry->d_name + strlen(prefix), name_part, strlen(name_part));
	if (dir)
		closedir(dir);
	return is_found;
}

static bool is_there(const struct segments *segments, const struct segment *segment)
{
	struct stat status;

	return fstatat(segments->dir_fd, segment->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Waits until the daemon has stored and removed all segments of dead processes, or can't. */
static void wait_for_daemon(const struct segments *segments)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
	bool is_left = true;

	for (int waited_ms = 0; is_left && waited_ms < STORE_TIMEOUT_MS; waited_ms += POLL_MS) {
		is_left = false;
		for (size_t i = 0; i < segments->count && !is_left; i++)
			is_left = segments->at[i].state == STATE_DEAD &&
			          is_there(segments, &segments->at[i]);
		if (is_left)
			nanosleep(&pause, NULL);
	}
}

/* ---- what becomes of each */

static int note(struct wt_gc *gc, const struct segment *segment, enum wt_gc_action action,
                const char *reason)
{
	char path[WT_PATH_BYTES + NAME_MAX + 2];

	snprintf(path, sizeof(path), "%s/%s", wt_path_shm_dir(), segment->name);
	return wt_gc_note(gc, action, "segment", path, segment->bytes, "%s", reason);
}

static int remove_one(struct wt_gc *gc, const struct segments *segments,
                      const struct segment *segment, const char *reason)
{
	if (!gc->is_dry_run && unlinkat(segments->dir_fd, segment->name, 0) && errno != ENOENT)
		return note(gc, segment, WT_GC_FAILED, strerror(errno));
	return note(gc, segment, WT_GC_REMOVED, reason);
}

static int settle_dead(struct wt_gc *gc, const struct segments *segments,
                       const struct segment *segment, const char *problem)
{
	if (gc->is_dry_run)
		return note(gc, segment, WT_GC_STORED,
		            "its process is gone: stored in its run first");
	if (!is_there(segments, segment))
		return note(gc, segment, WT_GC_STORED, "its process is gone; stored in its run");
	if (gc->is_forced)
		return remove_one(gc, segments, segment,
		                  "forced: its process is gone, its records are LOST");
	return note(gc, segment, WT_GC_FAILED, problem);
}

static int settle(struct wt_gc *gc, const struct segments *segments, const struct segment *segment,
                  const char *problem)
{
	switch (segment->state) {
	case STATE_LIVE:
		return note(gc, segment, WT_GC_KEPT, WT_GC_IS_RUNNING);
	case STATE_DEAD:
		return settle_dead(gc, segments, segment, problem);
	case STATE_USELESS:
		if (!is_there(segments, segment)) /* the daemon was faster */
			return note(gc, segment, WT_GC_REMOVED, "never finished or damaged");
		return remove_one(gc, segments, segment,
		                  "its process is gone, and nobody can read it");
	case STATE_UNKNOWN:
		if (gc->is_forced)
			return remove_one(gc, segments, segment,
			                  "forced: its process can't be seen from here");
		return note(gc, segment, WT_GC_KEPT,
		            "made in another pid namespace: its process can't be seen from here "
		            "(--force removes it)");
	case STATE_OTHER_VERSION:
		if (gc->is_forced)
			return remove_one(gc, segments, segment,
			                  "forced: of another wavetap, its records are LOST");
		return note(gc, segment, WT_GC_KEPT,
		            "made by another version of wavetap, whose wavetapd can store it "
		            "(--force removes it)");
	default:
		return note(gc, segment, WT_GC_KEPT, "not a private file of this user");
	}
}

/* ---- other data directories */

/* A segment whose process is gone, of this user and another data directory: only said. */
static int tell_other(struct wt_gc *gc, int dir_fd, const char *name, const char *after_prefix)
{
	struct wt_segment_header *header;
	char path[WT_PATH_BYTES + NAME_MAX + 2];
	struct stat status;
	int err = 0, fd;

	if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    judge(dir_fd, name, after_prefix, &status) != STATE_DEAD)
		return 0;
	header = calloc(1, sizeof(*header));
	if (!header)
		return -ENOMEM;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && pread(fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header)) {
		header->data_dir[sizeof(header->data_dir) - 1] = '\0';
		snprintf(path, sizeof(path), "%s/%s", wt_path_shm_dir(), name);
		err = wt_gc_note(gc, WT_GC_KEPT, "segment", path, (int64_t)status.st_blocks * 512,
		                 "of another data directory: WAVETAP_DIR=%s wavetap gc",
		                 header->data_dir);
	}
	if (fd >= 0)
		close(fd);
	free(header);
	return err;
}

/* "wavetap-<uid>-<hash>-...seg" with another hash. */
static int tell_others(struct wt_gc *gc)
{
	char prefix[WT_PATH_BYTES], user[64];
	int err = make_prefix(gc, prefix);
	DIR *dir = err ? NULL : opendir(wt_path_shm_dir());
	struct dirent *entry;

	err = 0;
	snprintf(user, sizeof(user), "wavetap-%u-", (unsigned)geteuid());
	while (dir && !err && (entry = readdir(dir))) {
		size_t skip = strlen(user) + 16;

		if (is_segment_name(entry->d_name, user) && strlen(entry->d_name) > skip &&
		    entry->d_name[skip] == '-' &&
		    strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			err = tell_other(gc, dirfd(dir), entry->d_name, entry->d_name + skip + 1);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* ---- lock and socket */

static int64_t bytes_of(const char *path)
{
	struct stat status;

	return lstat(path, &status) ? -1 : (int64_t)status.st_blocks * 512;
}

/* Does somebody hold the lock? Leaves it alone otherwise. */
static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool is_held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is_held;
}

/* Nobody serves: what a daemon that was killed left behind goes; the lock stays ours till the end. */
static int take_over(struct wt_gc *gc)
{
	char lock[WT_PATH_BYTES], sock[WT_PATH_BYTES];
	int64_t lock_bytes, sock_bytes;
	int err = wt_path_shm(lock, gc->data_dir, ".lock");

	if (!err)
		err = wt_path_shm(sock, gc->data_dir, ".sock");
	if (err)
		return err == -ENOMEM ? err : 0;
	lock_bytes = bytes_of(lock);
	sock_bytes = bytes_of(sock);
	if (gc->is_dry_run) {
		if (is_locked(lock)) {
			gc->has_daemon = true;
			return 0;
		}
	} else {
		err = wt_lock_take(lock, &gc->lock_fd);
		if (err == -EWOULDBLOCK) {
			gc->has_daemon = true;
			return 0;
		}
		if (err)
			return err == -ENOENT ? 0
			                      : wt_gc_note(gc, WT_GC_FAILED, "lock", lock,
			                                   lock_bytes < 0 ? 0 : lock_bytes, "%s",
			                                   err == -EPERM ? "not a file of this user"
			                                                 : strerror(-err));
		if (sock_bytes >= 0 && unlink(sock))
			return wt_gc_note(gc, WT_GC_FAILED, "socket", sock, sock_bytes, "%s",
			                  strerror(errno));
	}
	err = 0;
	if (lock_bytes >= 0)
		err = wt_gc_note(gc, WT_GC_REMOVED, "lock", lock, lock_bytes, "no daemon holds it");
	if (!err && sock_bytes >= 0)
		err = wt_gc_note(gc, WT_GC_REMOVED, "socket", sock, sock_bytes,
		                 "no daemon listens");
	return err;
}

void wt_gc_end(struct wt_gc *gc)
{
	struct segments segments;
	char lock[WT_PATH_BYTES];
	bool is_needed = false;

	if (gc->lock_fd < 0 || wt_path_shm(lock, gc->data_dir, ".lock"))
		return;
	wt_lock_drop(lock, gc->lock_fd);
	gc->lock_fd = -1;
	/* A program that began meanwhile saw the lock held, and started no daemon. */
	if (list_segments(gc, &segments))
		return;
	for (size_t i = 0; i < segments.count; i++)
		is_needed = is_needed || segments.at[i].state == STATE_LIVE;
	segments_fini(&segments);
	if (is_needed)
		wt_client_ensure_daemon(gc->data_dir);
}

/* ---- all of it */

static const char *daemon_problem(int rc)
{
	switch (rc) {
	case 0:
		return "wavetapd has not stored it (see wavetap status)";
	case -ENOENT:
		return "wavetapd, which would store its records, was not found";
	case -EPERM:
		return "the daemon's socket belongs to another user";
	default:
		return "wavetapd, which would store its records, can't be reached";
	}
}

static bool is_being_made(const struct segments *segments, const struct segment *segment)
{
	struct stat status;

	return segment->state == STATE_USELESS &&
	       fstatat(segments->dir_fd, segment->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       time(NULL) - status.st_mtime < MAKING_S;
}

int wt_gc_segments(struct wt_gc *gc)
{
	struct segments segments;
	bool has_dead = false;
	char *reply = NULL;
	int rc = 0, err = list_segments(gc, &segments);

	if (err == -ENOMEM)
		return err;
	if (err)
		return wt_gc_note(gc, WT_GC_FAILED, "segment", wt_path_shm_dir(), 0, "%s",
		                  strerror(-err));
	for (size_t i = 0; i < segments.count; i++)
		has_dead = has_dead || segments.at[i].state == STATE_DEAD;
	if (has_dead && !gc->is_dry_run) {
		rc = wt_client_ensure_daemon(gc->data_dir);
		if (!rc)
			wait_for_daemon(&segments);
	}
	for (size_t i = 0; i < segments.count && !err; i++) {
		/* Dead a moment ago in the middle of it: next time. */
		if (is_being_made(&segments, &segments.at[i]) && !gc->is_forced)
			continue;
		err = settle(gc, &segments, &segments.at[i], daemon_problem(rc));
	}
	segments_fini(&segments);
	if (!err && !gc->is_own_only)
		err = tell_others(gc);
	if (err)
		return err;
	gc->has_daemon = wt_client_request(gc->data_dir, "status", 5000, &reply) == 0;
	free(reply);
	return gc->has_daemon ? 0 : take_over(gc);
}

/*
 * scan.c - finds segments by name and attaches them. Main thread; does not block.
 *
 * Only names of this user and data directory are looked at. What can't be used is remembered
 * with its reason and tried again: a segment that is still being made soon, others when the
 * file changes. Leftovers of processes that died while making theirs are removed, if the
 * process that the name tells is gone.
 *
 * In a user namespace the same user has another id, and other names: "0" in a container may be us.
 * Such segments are left to a daemon in there. Is there none for a while, they are served here.
 */
#include "daemon/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define RETRY_NS (10 * WT_MS)
#define MAKING_NS WT_SECOND /* making a segment takes milliseconds: then look less often */
#define LEFTOVER_NS (5 * WT_SECOND)

/* ---- what was refused */

static struct wt_refused *find_refused(struct wt_daemon *daemon, const char *name)
{
	struct wt_refused *refused = daemon->refused;

	while (refused && strcmp(refused->name, name))
		refused = refused->next;
	return refused;
}

static void drop_refused(struct wt_daemon *daemon, struct wt_refused *gone)
{
	struct wt_refused **at = &daemon->refused;

	while (*at && *at != gone)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = gone->next;
	wt_liveness_close(&gone->liveness);
	free(gone);
}

/* wavetap-<uid>-<dirhash>-<pidns>-<pid>-<start>-<random>.seg: whose it is. */
static void open_liveness_by_name(struct wt_liveness *liveness, const char *name)
{
	unsigned long long pid_namespace, start;
	int pid;

	if (sscanf(name, "wavetap-%*u-%*16[0-9a-f]-%llu-%d-%llu-", &pid_namespace, &pid, &start) ==
	    3)
		wt_liveness_open(liveness, pid_namespace, pid, start, -1);
	else
		*liveness =
		        (struct wt_liveness){.pidfd = -1, .file_fd = -1, .life = WT_LIFE_UNKNOWN};
}

static void refuse(struct wt_daemon *daemon, const char *name, ino_t ino, int err, const char *why,
                   int64_t now_ns)
{
	struct wt_refused *refused = find_refused(daemon, name);

	if (!refused) {
		refused = calloc(1, sizeof(*refused));
		if (!refused)
			return;
		snprintf(refused->name, sizeof(refused->name), "%s", name);
		open_liveness_by_name(&refused->liveness, name);
		refused->first_ns = now_ns;
		refused->next = daemon->refused;
		daemon->refused = refused;
		if (err != -EAGAIN)
			wt_log_line("%s: left alone: %s", name, why);
	}
	snprintf(refused->why, sizeof(refused->why), "%s", why[0] ? why : strerror(-err));
	refused->ino = ino;
	refused->is_making = err == -EAGAIN;
	refused->is_useless = err == -EAGAIN || err == -EBADMSG;
	refused->since_ns = now_ns;
}

/* Is the process of a refused segment gone? The file is opened only to ask: others may too. */
static bool is_dead(const struct wt_daemon *daemon, struct wt_refused *refused)
{
	enum wt_life life = wt_liveness_poll(&refused->liveness);
	int fd;

	/* Of a foreign one it is the daemon in its namespace that may not be done yet. */
	if (life != WT_LIFE_UNKNOWN && !refused->is_foreign)
		return life == WT_LIFE_DEAD;
	fd = openat(daemon->dir_fd, refused->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		life = wt_liveness_by_file(fd);
		close(fd);
	}
	return life == WT_LIFE_DEAD;
}

/*
 * Removes what nobody will finish; forgets what is gone. The segment of another version stays:
 * its own daemon may still store what is in it (`wavetap gc` tells of it).
 */
static void tidy_refused(struct wt_daemon *daemon)
{
	struct wt_refused *next;

	for (struct wt_refused *refused = daemon->refused; refused; refused = next) {
		struct stat status;

		next = refused->next;
		if (fstatat(daemon->dir_fd, refused->name, &status, AT_SYMLINK_NOFOLLOW)) {
			drop_refused(daemon, refused);
			continue;
		}
		if (!refused->is_useless || !S_ISREG(status.st_mode) ||
		    status.st_uid != geteuid() || status.st_ino != refused->ino)
			continue;
		if (time(NULL) - status.st_mtime < LEFTOVER_NS / WT_SECOND ||
		    !is_dead(daemon, refused))
			continue;
		wt_log_line("%s: removed: its process is gone (%s)", refused->name, refused->why);
		unlinkat(daemon->dir_fd, refused->name, 0);
		drop_refused(daemon, refused);
	}
}

/* ---- what is attached */

/* exec keeps pid and start time: of two segments of a process the older one is over. */
static void mark_superseded(struct wt_daemon *daemon, struct wt_process *fresh)
{
	const struct wt_segment_header *a = &fresh->mapped.header;

	for (struct wt_process *other = daemon->processes; other; other = other->next) {
		const struct wt_segment_header *b = &other->mapped.header;

		if (other == fresh || a->producer != WT_PRODUCER_APPLICATION ||
		    b->producer != WT_PRODUCER_APPLICATION || a->pid != b->pid ||
		    a->pid_namespace != b->pid_namespace || a->start_ticks != b->start_ticks)
			continue;
		if (b->created_monotonic_ns <= a->created_monotonic_ns)
			other->is_superseded = true;
		else
			fresh->is_superseded = true;
	}
}

/* What is written anew at an exit, when the first file had lost its name, may still be open here: the one
 * after the other, and the second goes on where the first ended. */
static bool has_other_copy(const struct wt_daemon *daemon, const struct wt_segment_header *header)
{
	for (const struct wt_process *process = daemon->processes; process; process = process->next)
		if (!memcmp(process->mapped.header.uuid, header->uuid, sizeof(header->uuid)))
			return true;
	return false;
}

static int attach(struct wt_daemon *daemon, const char *name, char *why, size_t why_bytes,
                  int64_t now_ns)
{
	struct wt_process *process = calloc(1, sizeof(*process));
	const struct wt_segment_header *header;
	char key[WT_RUN_KEY_BYTES];
	int err;

	if (!process)
		return -ENOMEM;
	process->liveness.pidfd = process->liveness.file_fd = -1;
	err = wt_segment_open(daemon->dir_fd, name, &process->mapped, why, why_bytes);
	if (err) {
		free(process);
		return err;
	}
	header = &process->mapped.header;
	if (has_other_copy(daemon, header)) {
		snprintf(why, why_bytes, "another copy of it is being stored");
		wt_process_destroy(process);
		return -EBUSY;
	}
	snprintf(process->name, sizeof(process->name), "%s", name);
	wt_liveness_open(&process->liveness, header->pid_namespace, header->pid,
	                 header->start_ticks, process->mapped.fd);
	wt_run_key(&process->mapped, process->liveness.pid, key);
	process->run = wt_run_get(daemon, key);
	if (!process->run) {
		wt_process_destroy(process);
		return -ENOMEM;
	}
	process->run->process_count++;
	process->active_ns = now_ns;
	process->next = daemon->processes;
	daemon->processes = process;
	mark_superseded(daemon, process);
	return 0;
}

static bool is_attached(const struct wt_daemon *daemon, const char *name, ino_t ino)
{
	for (const struct wt_process *process = daemon->processes; process; process = process->next)
		if (!strcmp(process->name, name) && process->mapped.ino == ino)
			return true;
	return false;
}

bool wt_scan_is_segment_name(const struct wt_daemon *daemon, const char *name)
{
	size_t length = strlen(name), digits;

	if (length < 4 || strcmp(name + length - 4, ".seg") || strncmp(name, "wavetap-", 8))
		return false;
	digits = strspn(name + 8, "0123456789");
	return digits && !strncmp(name + 8 + digits, daemon->dirhash, strlen(daemon->dirhash));
}

/* Of another user id, yet of this user: it waits until its own daemon has had its time. */
static bool is_left_to_others(struct wt_daemon *daemon, const char *name, const struct stat *status,
                              int64_t now_ns)
{
	struct wt_refused *refused;

	if (!strncmp(name, daemon->prefix, strlen(daemon->prefix)))
		return false;
	if (status->st_uid != geteuid())
		return true; /* another user's, and none of our business */
	refused = find_refused(daemon, name);
	if (!refused) {
		refuse(daemon, name, status->st_ino, -EBUSY,
		       "of this user in another namespace, whose daemon goes first", now_ns);
		refused = find_refused(daemon, name);
		if (refused)
			refused->is_foreign = true;
	}
	return !refused || now_ns - refused->first_ns < WT_FOREIGN_NS;
}

static void look_at(struct wt_daemon *daemon, const char *name, int64_t now_ns, bool is_forced)
{
	struct wt_refused *refused = find_refused(daemon, name);
	char why[160] = "";
	struct stat status;
	int err;

	if (fstatat(daemon->dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    is_attached(daemon, name, status.st_ino) ||
	    is_left_to_others(daemon, name, &status, now_ns))
		return;
	if (!is_forced && refused && refused->ino == status.st_ino &&
	    now_ns - refused->since_ns < (refused->is_making ? RETRY_NS : WT_SECOND))
		return;
	err = attach(daemon, name, why, sizeof(why), now_ns);
	if (err == -ENOENT)
		return;
	if (err)
		refuse(daemon, name, status.st_ino, err, why, now_ns);
	else if (refused)
		drop_refused(daemon, refused);
}

int wt_scan(struct wt_daemon *daemon, int64_t now_ns, bool is_forced)
{
	struct dirent *entry;
	int fd = openat(daemon->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	daemon->scanned_ns = now_ns;
	daemon->is_scan_wanted = false;
	while ((entry = readdir(dir)))
		if (wt_scan_is_segment_name(daemon, entry->d_name))
			look_at(daemon, entry->d_name, now_ns, is_forced);
	closedir(dir);
	tidy_refused(daemon);
	for (struct wt_refused *refused = daemon->refused; refused; refused = refused->next)
		daemon->is_scan_wanted |=
		        refused->is_making && now_ns - refused->first_ns < MAKING_NS;
	return 0;
}

void wt_scan_fini(struct wt_daemon *daemon)
{
	while (daemon->refused)
		drop_refused(daemon, daemon->refused);
}

void wt_scan_unlink(struct wt_daemon *daemon, const struct wt_process *process)
{
	struct stat status;

	if (fstatat(daemon->dir_fd, process->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    status.st_ino == process->mapped.ino && status.st_dev == process->mapped.dev)
		unlinkat(daemon->dir_fd, process->name, 0);
}

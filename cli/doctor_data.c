/*
 * doctor_data.c - shared memory, the data directory, the daemon, leftovers. See doctor.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/cost.h"
#include "cli/doctor.h"
#include "cli/gc.h"
#include "cli/shm_room.h"
#include "cli/text.h"
#include "config.h"
#include "schema/wt_db.h"
#include "schema/wt_segment.h"

#define REQUEST_TIMEOUT_MS 3000
#define ROOM_NONE (16u << 20) /* a run file begins with 256 KiB; the rest is launches */
#define ROOM_LITTLE (512u << 20)

/* ---- shared memory */

/* What libintercept/segment.c would take now. */
static uint64_t segment_bytes(const struct wt_shm_room *room)
{
	uint64_t bytes = (uint64_t)room->free_bytes / WT_SEGMENT_FREE_SHARE;
	const char *setting = getenv("WAVETAP_SHM_BYTES");
	struct rlimit limit;

	if (bytes > WT_SEGMENT_BYTES_DEFAULT)
		bytes = WT_SEGMENT_BYTES_DEFAULT;
	if (setting && setting[0])
		bytes = strtoull(setting, NULL, 10);
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < bytes)
		bytes = limit.rlim_cur;
	return bytes - bytes % WT_GROUP_BYTES;
}

static void check_shared_memory(struct wt_doctor *doctor)
{
	static const char remedy[] = "docker: --shm-size 1g or --ipc=host; else free or enlarge it "
	                             "(mount -o remount,size=1G /dev/shm)";
	char has[WT_TEXT_NUMBER_BYTES], all[WT_TEXT_NUMBER_BYTES], takes[WT_TEXT_NUMBER_BYTES];
	struct wt_shm_room room;
	struct statvfs fs;
	uint64_t bytes;

	wt_shm_room_look(&room);
	if (!room.is_usable) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "shared memory",
		              room.free_bytes < 0 ? "mount it, or set WAVETAP_SHM_DIR to a tmpfs"
		                                  : remedy,
		              "%s", room.problem);
		return;
	}
	bytes = segment_bytes(&room);
	if (statvfs(room.path, &fs))
		memset(&fs, 0, sizeof(fs));
	wt_doctor_add(doctor, bytes < WT_SEGMENT_BYTES_DEFAULT ? WT_DOCTOR_WARN : WT_DOCTOR_OK,
	              "data", "shared memory", bytes < WT_SEGMENT_BYTES_DEFAULT ? remedy : NULL,
	              "%s: %s of %s free, %s for each process%s", room.path,
	              wt_text_bytes(has, (uint64_t)room.free_bytes),
	              wt_text_bytes(all, (uint64_t)fs.f_blocks * fs.f_frsize),
	              wt_text_bytes(takes, bytes),
	              bytes < WT_SEGMENT_BYTES_DEFAULT ? ": bursts may be lost" : "");
}

/* ---- data directory */

struct file_system {
	const char *name;
	unsigned magic;
	bool is_network, is_fleeting;
};

static const struct file_system file_systems[] = {
        {"ext4", 0xef53, false, false},       {"xfs", 0x58465342, false, false},
        {"btrfs", 0x9123683e, false, false},  {"zfs", 0x2fc12fc1, false, false},
        {"f2fs", 0xf2f52010, false, false},   {"tmpfs", 0x01021994, false, true},
        {"overlay", 0x794c7630, false, true}, {"NFS", 0x6969, true, false},
        {"SMB", 0x517b, true, false},         {"CIFS", 0xff534d42, true, false},
        {"SMB2", 0xfe534d42, true, false},    {"9p", 0x01021997, true, false},
        {"Lustre", 0x0bd00bd0, true, false},  {"GPFS", 0x47504653, true, false},
        {"Ceph", 0x00c36400, true, false},    {"BeeGFS", 0x19830326, true, false},
        {"FUSE", 0x65735546, false, false},
};

static struct file_system file_system_of(const char *path)
{
	struct file_system unknown = {"another file system", 0, false, false};
	struct statfs fs;

	if (statfs(path, &fs))
		return unknown;
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++)
		if ((unsigned)fs.f_type == file_systems[i].magic)
			return file_systems[i];
	return unknown;
}

/* The data directory, or the nearest folder above it that is there. */
static void find_existing(const char *path, char existing[WT_PATH_BYTES])
{
	struct stat status;

	snprintf(existing, WT_PATH_BYTES, "%s", path);
	while (existing[1] && stat(existing, &status)) {
		char *slash = strrchr(existing, '/');

		slash[slash == existing] = '\0';
	}
}

static void check_room(struct wt_doctor *doctor, const char *existing)
{
	struct file_system fs = file_system_of(existing);
	char has[WT_TEXT_NUMBER_BYTES];
	struct statvfs room;
	uint64_t bytes;

	if (statvfs(existing, &room))
		return;
	bytes = (uint64_t)room.f_bavail * room.f_frsize;
	wt_text_bytes(has, bytes);
	if (bytes < ROOM_NONE)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "disk",
		              "free some, or set WAVETAP_DIR to another disk; see wavetap gc",
		              "%s free on %s: runs can't be stored", has, fs.name);
	else if (bytes < ROOM_LITTLE)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "disk",
		              "wavetap gc --keep 2GiB, or WAVETAP_KEEP", "%s free on %s", has,
		              fs.name);
	else if (fs.is_network)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "disk",
		              "set WAVETAP_DIR to a local disk; export runs to the network",
		              "%s free on %s, a network file system: no write-ahead log, storing "
		              "is slower",
		              has, fs.name);
	else if (fs.is_fleeting)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "disk",
		              "set WAVETAP_DIR to a volume or disk to keep runs",
		              "%s free on %s: runs are gone with %s", has, fs.name,
		              !strcmp(fs.name, "tmpfs") ? "the next reboot" : "the container");
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "disk", NULL, "%s free on %s", has,
		              fs.name);
}

static void check_folder(struct wt_doctor *doctor, const char *path)
{
	char existing[WT_PATH_BYTES];
	struct stat status;
	bool is_there;

	find_existing(path, existing);
	is_there = !strcmp(existing, path);
	if (stat(existing, &status))
		memset(&status, 0, sizeof(status));
	if (!S_ISDIR(status.st_mode))
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "directory",
		              "set WAVETAP_DIR to a directory", "%s is not a directory", existing);
	else if (access(existing, W_OK | X_OK))
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "directory",
		              "set WAVETAP_DIR to a directory that you may write to", "%s%s%s: %s",
		              path, is_there ? "" : " can't be made in ", is_there ? "" : existing,
		              strerror(errno));
	else if (is_there && status.st_uid != geteuid())
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "directory",
		              "chown it, or set WAVETAP_DIR to one of your own",
		              "%s belongs to user %u", path, (unsigned)status.st_uid);
	else if (is_there && status.st_mode & 022)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "directory", "chmod go-w it",
		              "%s can be written to by others (mode %03o)", path,
		              (unsigned)status.st_mode & 0777);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "directory", NULL, "%s%s", path,
		              is_there ? "" : " (will be made)");
	check_room(doctor, existing);
}

/* WAVETAP_BUDGET in the environment, and what recording cost in the last run. */
static void check_cost(struct wt_doctor *doctor, const struct wt_db_run_file *last)
{
	const char *given = getenv("WAVETAP_BUDGET");
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], error[WT_DB_ERROR_BYTES];
	sqlite3 *db = NULL;
	struct wt_cost cost;
	uint64_t ppm;
	int64_t own_ns;

	if (given && wt_budget_parse(given, &ppm))
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "budget",
		              "set it to a percentage, or unset it",
		              "WAVETAP_BUDGET=%s is not " WT_BUDGET_FORM ": there is no limit",
		              given);
	else if (given && ppm)
		wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "budget", NULL,
		              "hooks only once recording costs more than %s%% of wall time", given);
	if (!last || last->error || wt_db_open(last->path, &db, error))
		return;
	if (!wt_cost_read(db, &cost)) {
		own_ns = wt_cost_own_ns(&cost);
		if (own_ns != WT_COST_UNKNOWN && cost.p50_ns != WT_COST_UNKNOWN && cost.wall_ns > 0)
			wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "own cost", NULL,
			              "%s%% of wall time in run %s; a launch %s (CUPTI inside the "
			              "driver can't be told)",
			              wt_text_percent(a, (double)own_ns, (double)cost.wall_ns),
			              last->id, wt_text_ns(b, cost.p50_ns));
	}
	wt_cost_fini(&cost);
	sqlite3_close(db);
}

static void check_runs(struct wt_doctor *doctor)
{
	struct wt_db_run_file *runs = NULL;
	char number[WT_TEXT_NUMBER_BYTES];
	size_t count = 0, unreadable = 0;
	int64_t bytes = 0;
	int rc = wt_db_list(doctor->data_dir, &runs, &count);

	if (rc) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "runs", "make it readable",
		              "%s/runs: %s", doctor->data_dir, strerror(-rc));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		unreadable += runs[i].error != 0;
		bytes += runs[i].error ? 0 : runs[i].file_bytes;
	}
	check_cost(doctor, count ? &runs[count - 1] : NULL);
	free(runs);
	if (unreadable)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "runs", "wavetap check --all",
		              "%zu of %zu can't be read", unreadable, count);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "runs", NULL, "%zu, %s", count,
		              wt_text_bytes(number, (uint64_t)bytes));
}

/* ---- the daemon */

/* The value of a member of the daemon's answer, a string or a number, into `text`. */
static bool find_member(const char *reply, const char *name, char *text, size_t text_bytes)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	bool is_found = false;

	if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "SELECT json_extract(?1, ?2)", -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_text(s, 1, reply, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
		is_found =
		        sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL;
		if (is_found)
			snprintf(text, text_bytes, "%s", (const char *)sqlite3_column_text(s, 0));
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
	return is_found;
}

static void check_daemon(struct wt_doctor *doctor)
{
	char version[64] = "?", pid[32] = "?", error[300];
	char *reply = NULL;
	int rc = wt_client_request(doctor->data_dir, "status", REQUEST_TIMEOUT_MS, &reply);

	if (rc == -ECONNREFUSED) {
		wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "daemon", NULL,
		              "not running: the first recorded program starts it");
		return;
	}
	if (rc) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "daemon",
		              rc == -EPERM ? "have its owner remove the socket in shared memory"
		                           : "see wavetapd.log in the data directory; kill it, the "
		                             "next program starts another",
		              "%s",
		              rc == -EPERM ? "its socket belongs to another user"
		                           : "wavetapd runs and does not answer");
		return;
	}
	find_member(reply, "$.version", version, sizeof(version));
	find_member(reply, "$.pid", pid, sizeof(pid));
	if (strcmp(version, PACKAGE_VERSION) != 0)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "daemon",
		              "kill it (nothing is lost); the next program starts this version",
		              "wavetapd %s runs, pid %s; this program is %s", version, pid,
		              PACKAGE_VERSION);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "daemon", NULL,
		              "wavetapd %s runs, pid %s", version, pid);
	if (find_member(reply, "$.runs[0].store.error", error, sizeof(error)))
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "storing", "see the message",
		              "%s; it tries again", error);
	free(reply);
}

/* What gc would find in shared memory. */
static void check_leftovers(struct wt_doctor *doctor)
{
	struct wt_gc *gc = calloc(1, sizeof(*gc));
	char number[WT_TEXT_NUMBER_BYTES];
	int64_t bytes = 0;
	int left = 0, odd = 0;

	if (!gc) {
		doctor->is_out_of_memory = true;
		return;
	}
	gc->lock_fd = -1;
	gc->is_dry_run = true;
	gc->is_own_only = true;
	gc->keep = WT_KEEP_ALL;
	snprintf(gc->data_dir, sizeof(gc->data_dir), "%s", doctor->data_dir);
	wt_gc_segments(gc);
	for (size_t i = 0; i < gc->count; i++) {
		const struct wt_gc_item *item = &gc->items[i];

		if (item->action == WT_GC_KEPT && strcmp(item->reason, WT_GC_IS_RUNNING) != 0)
			odd++;
		if (item->action != WT_GC_REMOVED && item->action != WT_GC_STORED)
			continue;
		left++;
		bytes += item->bytes;
	}
	if (left)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "leftovers",
		              "wavetap gc: stores what is in them, then removes them",
		              "%d file%s of programs or a daemon that are gone, %s", left,
		              left == 1 ? "" : "s", wt_text_bytes(number, (uint64_t)bytes));
	if (odd)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, "data", "leftovers",
		              "wavetap gc tells about each", "%d segment%s that can't be stored",
		              odd, odd == 1 ? "" : "s");
	if (!left && !odd)
		wt_doctor_add(doctor, WT_DOCTOR_OK, "data", "leftovers", NULL,
		              "none in shared memory");
	free(gc->items);
	free(gc);
}

void wt_doctor_data(struct wt_doctor *doctor)
{
	int rc = wt_path_data_dir(doctor->data_dir);

	check_shared_memory(doctor);
	if (rc) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, "data", "directory",
		              "set WAVETAP_DIR or HOME", "there is no data directory: %s",
		              rc == -ENOENT ? "neither WAVETAP_DIR nor HOME is set"
		                            : strerror(-rc));
		return;
	}
	check_folder(doctor, doctor->data_dir);
	check_runs(doctor);
	check_daemon(doctor);
	check_leftovers(doctor);
}

/*
 * runs.c - from a run key to an open run file. May block on the disk.
 *
 * <data dir>/runs/<YYYYMMDD-HHMMSS>-<hash>.db, where hash is the low half of the FNV-1a of key
 * and place, in 8 hex digits; it is the run's id too. The same key finds the same file again;
 * meta.run_key and meta.place decide, not the name.
 *
 * PLACE is the boot of the kernel, the shared-memory folder and the user id: within it there is one
 * daemon to a data directory, so no two daemons ever write one run file. A job on several hosts has the
 * same key on all of them, and where they share their home folder, the same data directory.
 */
#include "config.h"
#include "daemon/folds.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#define BACKOFF_FIRST_NS (WT_SECOND / 2)
#define BACKOFF_MAX_NS (30 * WT_SECOND)
#define NAME_TRIES 100
#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

struct wt_run *wt_run_get(struct wt_daemon *daemon, const char *key)
{
	struct wt_run *run;

	for (run = daemon->runs; run; run = run->next)
		if (!strcmp(run->key, key))
			return run;
	run = calloc(1, sizeof(*run));
	if (!run)
		return NULL;
	snprintf(run->key, sizeof(run->key), "%s", key);
	run->daemon = daemon;
	run->next = daemon->runs;
	daemon->runs = run;
	return run;
}

void wt_run_set_place(struct wt_daemon *daemon)
{
	char boot_id[40] = "";
	struct stat status = {0};
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file) {
		if (!fgets(boot_id, sizeof(boot_id), file))
			boot_id[0] = '\0';
		boot_id[strcspn(boot_id, "\n")] = '\0';
		fclose(file);
	}
	(void)stat(wt_path_shm_dir(), &status); /* if it is not there, the daemon can't start */
	snprintf(daemon->place, sizeof(daemon->place), "%s:%llx:%llx:%u", boot_id,
	         (unsigned long long)status.st_dev, (unsigned long long)status.st_ino,
	         (unsigned)geteuid());
}

unsigned wt_run_hash(const struct wt_daemon *daemon, const char *key)
{
	char text[WT_RUN_KEY_BYTES + sizeof(daemon->place) + 1];

	snprintf(text, sizeof(text), "%s\n%s", key, daemon->place);
	return (unsigned)wt_fnv1a(text, strlen(text));
}

/* Is `path` ours, of this key? 0, -ENOENT if of another one, or why it can't be read. */
static int has_key(const struct wt_daemon *daemon, const char *path, const char *key)
{
	char found[WT_RUN_KEY_BYTES], place[sizeof(daemon->place)], error[WT_DB_ERROR_BYTES];
	struct stat status;
	sqlite3 *db;
	int err;

	if (lstat(path, &status) || !S_ISREG(status.st_mode))
		return -EINVAL; /* a link may lead anywhere: not ours to write to */
	err = wt_db_open(path, &db, error);
	if (err)
		return err;
	err = wt_db_meta(db, "run_key", found, sizeof(found)) && !strcmp(found, key) &&
	                      wt_db_meta(db, "place", place, sizeof(place)) &&
	                      !strcmp(place, daemon->place)
	              ? 0
	              : -ENOENT;
	sqlite3_close(db);
	return err;
}

/* Moves a damaged file out of the way, with its journals: never deletes. */
static void move_aside(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	char from[WT_PATH_BYTES + 16], to[WT_PATH_BYTES + 64];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", path, suffixes[i]);
		snprintf(to, sizeof(to), "%s.corrupt-%lld%s", path, (long long)time(NULL),
		         suffixes[i]);
		if (rename(from, to) == 0 && i == 0)
			wt_log_line("%s is damaged; moved to %s", path, to);
	}
}

int wt_run_find_file(const struct wt_daemon *daemon, const char *key, char path[WT_PATH_BYTES])
{
	char folder[WT_PATH_BYTES], candidate[WT_PATH_BYTES + NAME_MAX + 2], suffix[16];
	struct dirent *entry;
	int err = -ENOENT;
	DIR *dir;

	snprintf(suffix, sizeof(suffix), "-%08x.db", wt_run_hash(daemon, key));
	if ((size_t)snprintf(folder, sizeof(folder), "%s/runs", daemon->data_dir) >= sizeof(folder))
		return -ENAMETOOLONG;
	dir = opendir(folder);
	if (!dir)
		return -errno;
	while (err == -ENOENT && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);
		int found;

		if (length < strlen(suffix) ||
		    strcmp(entry->d_name + length - strlen(suffix), suffix))
			continue;
		snprintf(candidate, sizeof(candidate), "%s/%s", folder, entry->d_name);
		if (strlen(candidate) >= WT_PATH_BYTES)
			continue;
		found = has_key(daemon, candidate, key);
		if (found == -EBADMSG)
			move_aside(candidate);
		else if (found != -EINVAL && found != -ENOTSUP)
			err = found; /* foreign and newer files are left alone */
	}
	closedir(dir);
	if (!err)
		strcpy(path, candidate); /* its length was checked */
	return err;
}

int wt_run_make_folder(const char *data_dir)
{
	char path[WT_PATH_BYTES];

	if ((size_t)snprintf(path, sizeof(path), "%s/runs", data_dir) >= sizeof(path))
		return -ENAMETOOLONG;
	return wt_path_make_folders(path);
}

static int set_meta(struct wt_run *run, const char *sql, const char *key, const char *value)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = wt_db_run(statement, "tt", key, value);
	sqlite3_finalize(statement);
	return wt_store_check(run, code);
}

int wt_run_set_meta(struct wt_run *run, const char *key, const char *value)
{
	return set_meta(run, "INSERT OR REPLACE INTO meta VALUES (?,?)", key, value);
}

/* WAVETAP_TAGS: K=V,K=V. What is not of that form is left out. */
static int set_tags(struct wt_run *run, const char *tags)
{
	char copy[WT_TEXT_BYTES], *save = NULL;
	int err = 0;

	snprintf(copy, sizeof(copy), "%s", tags);
	for (char *tag = strtok_r(copy, ",", &save); tag && !err;
	     tag = strtok_r(NULL, ",", &save)) {
		char *equals = strchr(tag, '=');

		if (!equals || equals == tag)
			continue;
		*equals = '\0';
		err = set_meta(run, "INSERT OR REPLACE INTO tag VALUES (?,?)", tag, equals + 1);
	}
	return err;
}

static int set_api_names(struct wt_run *run)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(run->db, "INSERT OR REPLACE INTO api VALUES (?,?,?)", -1,
	                              &statement, NULL);

	for (unsigned api = 1; api < WT_API_MAX && wt_db_errno(code) == 0; api++)
		if (wt_api_name(api))
			code = wt_db_run(statement, "iti", (int64_t)api, wt_api_name(api),
			                 (int64_t)wt_api_class_of(api));
	sqlite3_finalize(statement);
	return wt_store_check(run, code);
}

/* The facts of a run; those that are there stay. */
static int describe(const struct wt_daemon *daemon, struct wt_run *run,
                    const struct wt_segment_header *header)
{
	static const char keep[] = "INSERT OR IGNORE INTO meta VALUES (?,?)";
	char id[16], created[32];
	int err;

	snprintf(id, sizeof(id), "%08x", wt_run_hash(daemon, run->key));
	snprintf(created, sizeof(created), "%llu", (unsigned long long)header->created_realtime_ns);
	err = wt_store_check(run, sqlite3_exec(run->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
	if (!err)
		err = set_meta(run, keep, "run_id", id);
	if (!err)
		err = set_meta(run, keep, "run_key", run->key);
	if (!err)
		err = set_meta(run, keep, "place", daemon->place);
	if (!err)
		err = set_meta(run, keep, "created_ns", created);
	if (!err)
		err = set_meta(run, keep, "hostname", header->hostname);
	if (!err)
		err = set_meta(run, keep, "wavetap_version", WT_VERSION_TEXT);
	if (!err)
		err = set_meta(run, keep, "analysis_version", TEXT_OF(WT_ANALYSIS_VERSION));
	if (!err)
		err = set_meta(run, "INSERT OR REPLACE INTO meta VALUES (?,?)", "journal",
		               run->is_wal ? "wal"
		                           : "delete: this file system has no shared memory");
	if (!err && header->run_name[0])
		err = set_meta(run, keep, "name", header->run_name);
	if (!err)
		err = set_tags(run, header->run_tags);
	if (!err)
		err = set_api_names(run);
	if (!err)
		err = wt_store_check(run, sqlite3_exec(run->db, "COMMIT", NULL, NULL, NULL));
	return err;
}

/* Removes what an earlier try left of a file that was never finished. */
static void remove_unfinished(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	char name[WT_PATH_BYTES + 16];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

/* A free name for a new run file into run->path. */
static int choose_path(struct wt_daemon *daemon, struct wt_run *run, unsigned hash)
{
	char stamp[32], extra[16] = "";
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	for (int i = 0; i < NAME_TRIES; i++) {
		if (i)
			snprintf(extra, sizeof(extra), ".%d", i);
		if ((size_t)snprintf(run->path, sizeof(run->path), "%s/runs/%s%s-%08x.db",
		                     daemon->data_dir, stamp, extra, hash) >= sizeof(run->path))
			return -ENAMETOOLONG;
		if (access(run->path, F_OK))
			return 0;
	}
	return -EEXIST;
}

/*
 * Makes a run file under another name and renames it once it says whose it is: a daemon that
 * is killed in between leaves nothing that looks like a run.
 */
static int create_file(struct wt_daemon *daemon, struct wt_run *run,
                       const struct wt_segment_header *header)
{
	unsigned hash = wt_run_hash(daemon, run->key);
	char unfinished[WT_PATH_BYTES];
	int err = wt_run_make_folder(daemon->data_dir);

	if (!err)
		err = choose_path(daemon, run, hash);
	if (!err && (size_t)snprintf(unfinished, sizeof(unfinished), "%s/runs/.new-%08x",
	                             daemon->data_dir, hash) >= sizeof(unfinished))
		err = -ENAMETOOLONG;
	if (err) {
		snprintf(run->error, sizeof(run->error), "%.300s/runs: %s", daemon->data_dir,
		         strerror(-err));
		return err;
	}
	remove_unfinished(unfinished);
	err = wt_db_open_write(unfinished, true, &run->db, &run->is_wal, run->error);
	if (!err)
		err = describe(daemon, run, header);
	sqlite3_close(run->db);
	run->db = NULL;
	if (!err && rename(unfinished, run->path)) {
		err = -errno;
		snprintf(run->error, sizeof(run->error), "%.300s: %s", run->path, strerror(-err));
	}
	return err ? err : wt_db_open_write(run->path, false, &run->db, &run->is_wal, run->error);
}

int wt_run_create(const struct wt_daemon *daemon, struct wt_run *run, const char *path,
                  const struct wt_segment_header *header)
{
	int err = wt_db_make_private(path, &run->db, run->error);

	snprintf(run->path, sizeof(run->path), "%s", path);
	if (!err)
		err = wt_store_check(
		        run, sqlite3_exec(run->db, "PRAGMA synchronous=OFF", NULL, NULL, NULL));
	if (!err)
		err = describe(daemon, run, header);
	if (!err)
		err = wt_run_set_meta(run, "journal", "delete: imported");
	if (!err)
		err = wt_store_open_rows(run);
	if (!err)
		err = wt_store_prepare(run);
	wt_pack_load(run);
	run->state = err ? WT_STORE_ERROR : WT_STORE_OK;
	return err;
}

static void forget(struct wt_run *run)
{
	wt_store_finalize(run);
	wt_folds_fini(run);
	wt_ledger_work_fini(run);
	wt_pack_fini(run);
	wt_shares_fini(run);
	wt_configs_fini(run);
	wt_ranges_fini(run);
	if (run->db && !sqlite3_get_autocommit(run->db))
		sqlite3_exec(run->db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(run->db);
	run->db = NULL;
}

int wt_run_open(struct wt_daemon *daemon, struct wt_run *run,
                const struct wt_segment_header *header, int64_t now_ns)
{
	int err;

	if (run->db)
		return 0;
	if (now_ns < run->retry_ns)
		return -EAGAIN;
	err = wt_run_find_file(daemon, run->key, run->path);
	if (!err)
		err = wt_db_open_write(run->path, false, &run->db, &run->is_wal, run->error);
	else if (err == -ENOENT)
		err = create_file(daemon, run, header);
	else
		snprintf(run->error, sizeof(run->error), "%s", strerror(-err));
	if (!err)
		err = describe(daemon, run, header);
	if (!err)
		err = wt_store_open_rows(run);
	if (!err)
		err = wt_store_prepare(run);
	if (!err)
		err = wt_configs_load(run);
	if (!err)
		err = wt_shares_load(run);
	if (!err)
		err = wt_ranges_load(run);
	if (err) {
		wt_run_fail(daemon, run, err, now_ns);
		return err;
	}
	run->is_measured = wt_db_int(run->db,
	                             "SELECT EXISTS (SELECT 1 FROM sampler) OR EXISTS (SELECT 1 "
	                             "FROM profile_launch)",
	                             0) != 0;
	wt_pack_load(run);
	wt_drop_load(run, header);
	if (run->state != WT_STORE_OK && run->state != WT_STORE_CLOSED)
		wt_log_line("%s: writing again", run->path);
	run->state = WT_STORE_OK;
	run->backoff_ns = 0;
	return 0;
}

void wt_run_fail(struct wt_daemon *daemon, struct wt_run *run, int err, int64_t now_ns)
{
	enum wt_store_state state = err == -ENOSPC ? WT_STORE_FULL : WT_STORE_ERROR;

	for (struct wt_process *process = daemon->processes; process; process = process->next)
		if (process->run == run)
			wt_process_unload(process);
	if (run->state != state)
		wt_log_line("%s: %s; the last batch will be tried again",
		            run->path[0] ? run->path : run->key, run->error);
	forget(run);
	if (err == -EBADMSG && run->path[0])
		move_aside(run->path);
	run->state = state;
	run->backoff_ns = run->backoff_ns ? 2 * run->backoff_ns : BACKOFF_FIRST_NS;
	if (run->backoff_ns > BACKOFF_MAX_NS)
		run->backoff_ns = BACKOFF_MAX_NS;
	run->retry_ns = now_ns + run->backoff_ns;
}

void wt_run_destroy(struct wt_run *run)
{
	forget(run);
	free(run);
}

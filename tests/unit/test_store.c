/*
 * test_store.c - run files and segments that are not as they should be.
 *
 *   1. opening: absent, a folder, no database, foreign, newer, damaged, unfinished
 *   2. hostile segment headers are refused, a sound one beside them is served
 *   3. a live segment cut short: what was read stays, the process is "lost"
 *   4. a run file removed or damaged under way: counted as a gap
 *   5. a store that can't be opened, or written: nothing lost once it can
 *   6. the socket: status, drain, nonsense
 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "schema/wt_db.h"
#include "tests/tap.h"
#include "tests/unit/synth.h"

static char folder[512], file[1024];

static int64_t query(const char *sql)
{
	return synth_query(file, sql);
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	if (out) {
		fputs(text, out);
		fclose(out);
	}
}

static void sql_file(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	sqlite3_open(path, &db);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
}

static void check_open(const char *path, int want, const char *says)
{
	char error[WT_DB_ERROR_BYTES] = "";
	sqlite3 *db = NULL;
	int err = wt_db_open(path, &db, error);

	is_i64(err, want, says);
	ok(strstr(error, says) && !strchr(error, '\n'), "one line: %s", error);
	if (!err)
		sqlite3_close(db);
}

static void test_open(void)
{
	struct wt_db_run_file *runs;
	char path[600], error[WT_DB_ERROR_BYTES];
	bool is_wal;
	size_t count;
	sqlite3 *db;

	synth_folder(folder);
	snprintf(path, sizeof(path), "%s/data", folder);
	mkdir(path, 0700);
	is_i64(wt_db_list(path, &runs, &count), 0, "no folder of runs");
	is_i64(count, 0, "is no run");
	snprintf(path, sizeof(path), "%s/data/runs", folder);
	mkdir(path, 0700);
	check_open(path, -EBADMSG, "not a file");
#define RUN(name) snprintf(path, sizeof(path), "%s/data/runs/" name ".db", folder)
	RUN("absent");
	check_open(path, -ENOENT, "no such file");
	RUN("text");
	write_file(path, "this is no database, but it is long enough to have a header, is it not? "
	                 "0123456789012345678901234567890123456789");
	check_open(path, -EBADMSG, "not a database");
	RUN("foreign");
	sql_file(path, "CREATE TABLE t (a)");
	check_open(path, -EINVAL, "not a wavetap run file");
	RUN("newer");
	is_i64(wt_db_open_write(path, true, &db, &is_wal, error), 0, "a new run file");
	ok(is_wal, "with a write-ahead journal");
	sqlite3_close(db);
	is_i64(wt_db_open_write(path, true, &db, &is_wal, error), -EEXIST, "not made twice");
	sql_file(path, "PRAGMA user_version = 99");
	check_open(path, -ENOTSUP, "newer wavetap");
	RUN("good");
	is_i64(wt_db_open_write(path, true, &db, &is_wal, error), 0, "another");
	sqlite3_close(db);
	is_i64(wt_db_open(path, &db, error), 0, "opens");
	is_i64(sqlite3_exec(db, "DELETE FROM meta", NULL, NULL, NULL), SQLITE_READONLY,
	       "read-only");
	sqlite3_close(db);
	snprintf(path, sizeof(path), "%s/data", folder);
	is_i64(wt_db_list(path, &runs, &count), 0, "list");
	is_i64(count, 4, "shows all, with what is wrong");
	for (size_t i = 0; i < count; i++)
		if (strstr(runs[i].path, "good.db"))
			is_i64(runs[i].error, 0, "good one");
		else
			ok(runs[i].error && runs[i].error_text[0], "bad one: %s",
			   runs[i].error_text);
	free(runs);
	synth_folder_remove(folder);
}

static void test_hostile(void)
{
	struct synth bad[12], good;
	pid_t daemon;
	int count = 0;

	synth_folder(folder);
#define BAD(field, value)                                                                          \
	do {                                                                                       \
		synth_create(&bad[count], NULL);                                                   \
		bad[count++].header->field = (value);                                              \
	} while (0)
	BAD(abi, 77);
	BAD(header_bytes, 12);
	BAD(file_bytes, 1);
	BAD(cells_offset[0], UINT64_MAX - 65535);
	BAD(cells_offset[1], 65536);
	BAD(cell_count[0], UINT64_C(1) << 60);
	BAD(cell_count[1], 1000);
	BAD(arena_offset, UINT64_C(1) << 40);
	BAD(arena_bytes, UINT64_MAX);
	BAD(uid, 12345);
	BAD(magic, 42);
	BAD(pid, -5);
	synth_create(&good, &(struct synth_options){.run_key = "good"});
	synth_run(&good, &(struct synth_launch){0});
	/* names that lead nowhere, a seq beyond all, wild texts */
	synth_run(&good, &(struct synth_launch){.name_id = 0x7fffffff});
	synth_run(&good, &(struct synth_launch){.name_id = synth_name(&good, "\xff\xfe\x1b[31m")});
	wt_ring_put(&good.ring[0], WT_KIND_LAUNCH, 1,
	            &(struct wt_launch){.seq = UINT64_MAX - 3, .entry_ns = UINT64_MAX}, 112);
	wt_ring_put(&good.ring[0], WT_KIND_LAUNCH, 1, &(struct wt_launch){.seq = 1}, 112);
	wt_ring_put(&good.ring[1], WT_KIND_LINK, 60000, &(struct wt_launch){0}, 112);
	daemon = synth_daemon(folder, "0.3");
	is_i64(synth_query_until(folder, "SELECT launches_stored + cells_bad FROM loss", 6), 6,
	       "the sound segment is read");
	synth_run_file(folder, file);
	ok(waitpid(daemon, NULL, WNOHANG) == 0, "the daemon lives");
	is_i64(query("SELECT launches_stored FROM loss"), 3, "the sound segment is served");
	is_i64(query("SELECT cells_bad FROM loss"), 3, "its bad cells are counted");
	is_i64(query("SELECT count(*) FROM kernel WHERE name = '(unknown kernel)'"), 1,
	       "names that lead nowhere");
	is_i64(query("SELECT count(*) FROM kernel WHERE name LIKE '??%'"), 1, "no broken UTF-8");
	is_i64(synth_segments_left(folder), 13, "all are still there");
	kill(daemon, SIGTERM);
	is_i64(synth_daemon_wait(daemon), 0, "an orderly end");
	for (int i = 0; i < count; i++)
		synth_unmap(&bad[i]);
	synth_unmap(&good);
	synth_folder_remove(folder);
}

/* Waits until the daemon has taken everything; false after 30 s. */
static bool is_taken(const struct synth *s)
{
	for (int i = 0; i < 3000; i++) {
		if (wt_load_relaxed(&s->consumer->head[0]) ==
		            wt_load_relaxed(&s->producer->ring[0].tail) &&
		    wt_load_relaxed(&s->consumer->head[1]) ==
		            wt_load_relaxed(&s->producer->ring[1].tail))
			return true;
		usleep(10000);
	}
	return false;
}

/* Waits until the daemon says that the end of the process is stored; false after 30 s. */
static bool is_end_taken(const struct synth *s)
{
	uint64_t finished_ns = wt_load_relaxed(&s->producer->finished_ns);

	for (int i = 0; i < 3000 && wt_load_acquire(&s->consumer->finished_ns) != finished_ns; i++)
		usleep(10000);
	return finished_ns && wt_load_acquire(&s->consumer->finished_ns) == finished_ns;
}

static void test_cut_short(void)
{
	pid_t daemon, child;
	int pipe_fd[2];
	char byte;

	synth_folder(folder);
	if (pipe(pipe_fd))
		exit(1);
	daemon = synth_daemon(folder, "0.3");
	child = fork();
	if (!child) {
		struct synth s;

		if (synth_create(&s, NULL))
			_exit(1);
		for (int i = 0; i < 100; i++)
			synth_run(&s, &(struct synth_launch){0});
		if (!is_taken(&s) || truncate(s.path, 65536))
			_exit(1);
		if (write(pipe_fd[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ok(read(pipe_fd[0], &byte, 1) == 1, "cut");
	synth_query_until(folder, "SELECT count(*) FROM proc WHERE state = 'lost'", 1);
	ok(waitpid(daemon, NULL, WNOHANG) == 0, "the daemon lives");
	ok(synth_run_file(folder, file), "a run file");
	is_i64(query("SELECT count(*) FROM kernel_exec"), 100, "what was read stays");
	is_i64(query("SELECT count(*) FROM proc WHERE state = 'lost' AND reason_text IS NOT NULL"),
	       1, "lost, with a reason");
	is_i64(synth_segments_left(folder), 1, "the file stays while its process lives");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	is_i64(synth_daemon_wait(daemon), 0, "the daemon ends by itself");
	is_i64(synth_segments_left(folder), 0, "and is removed after it");
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	synth_folder_remove(folder);
}

static void produce(struct synth *s, int count)
{
	for (int i = 0; i < count; i++)
		synth_run(s, &(struct synth_launch){.thread32 = 9});
}

static void end_daemon(pid_t daemon)
{
	kill(daemon, SIGTERM);
	synth_daemon_wait(daemon);
}

static void test_file_gone(void)
{
	struct synth s;
	pid_t daemon;

	synth_folder(folder);
	synth_create(&s, NULL);
	produce(&s, 50);
	daemon = synth_daemon(folder, "0.3");
	ok(is_taken(&s), "taken");
	end_daemon(daemon);
	ok(synth_run_file(folder, file) && unlink(file) == 0, "the run file is removed");
	produce(&s, 20);
	daemon = synth_daemon(folder, "0.3");
	ok(is_taken(&s), "taken");
	end_daemon(daemon);
	ok(synth_run_file(folder, file), "a new run file");
	is_i64(query("SELECT cells_gap FROM loss"), 150, "the gap is counted");
	is_i64(query("SELECT launches_stored FROM loss"), 20, "what came after is there");
	/* damaged: moved aside, never deleted */
	truncate(file, 3000);
	produce(&s, 5);
	daemon = synth_daemon(folder, "0.3");
	ok(is_taken(&s), "taken");
	end_daemon(daemon);
	ok(synth_run_file(folder, file), "a new run file again");
	is_i64(query("SELECT launches_stored FROM loss"), 5, "with what came after");
	synth_unmap(&s);
	synth_folder_remove(folder);
}

static void test_no_room(void)
{
	char runs[600], aside[600], reply[4096];
	struct synth s;
	pid_t daemon;

	synth_folder(folder);
	snprintf(runs, sizeof(runs), "%s/data", folder);
	mkdir(runs, 0700);
	snprintf(runs, sizeof(runs), "%s/data/runs", folder);
	snprintf(aside, sizeof(aside), "%s/data/aside", folder);
	write_file(runs, "a file where a folder should be");
	synth_create(&s, NULL);
	produce(&s, 50);
	synth_finish(&s);
	daemon = synth_daemon(folder, "0.3");
	ok(synth_request_until("status", "\"state\":\"error\"", reply, sizeof(reply)),
	   "status says that the store fails");
	is_i64(wt_load_relaxed(&s.consumer->head[0]), 0, "nothing is let go that is not stored");
	is_i64(wt_load_relaxed(&s.consumer->finished_ns), 0, "nor is the end");
	ok(rename(runs, aside) == 0, "now there is room");
	ok(is_taken(&s), "all is taken then");
	ok(is_end_taken(&s), "and the end");
	end_daemon(daemon);
	ok(synth_run_file(folder, file), "a run file");
	is_i64(query("SELECT launches_linked FROM loss"), 50, "nothing was lost");
	synth_unmap(&s);
	synth_folder_remove(folder);
}

static bool is_failing(void)
{
	char reply[4096];

	return synth_request("status", reply, sizeof(reply)) == 0 &&
	       (strstr(reply, "\"state\":\"error\"") || strstr(reply, "\"state\":\"full\""));
}

/* Writing fails in the middle of a transaction, later it works again. */
static void test_full(void)
{
	struct rlimit tight = {0, RLIM_INFINITY}, loose = {RLIM_INFINITY, RLIM_INFINITY};
	char journal[1100];
	struct stat status;
	struct synth s;
	pid_t daemon;

	synth_folder(folder);
	synth_create(&s, &(struct synth_options){.cells = {8192, 16384}});
	daemon = synth_daemon(folder, "0.3");
	produce(&s, 200);
	ok(is_taken(&s), "taken");
	ok(synth_run_file(folder, file), "a run file");
	snprintf(journal, sizeof(journal), "%s-wal", file);
	ok(!stat(journal, &status), "and its journal");
	tight.rlim_cur = (rlim_t)status.st_size + 8192;
	ok(prlimit(daemon, RLIMIT_FSIZE, &tight, NULL) == 0, "files may not grow any more");
	produce(&s, 4000);
	for (int i = 0; i < 3000 && !is_failing(); i++)
		usleep(10000);
	ok(is_failing(), "the store fails");
	is_i64(wt_load_relaxed(&s.consumer->head[0]), 200, "nothing is let go that is not stored");
	prlimit(daemon, RLIMIT_FSIZE, &loose, NULL);
	ok(is_taken(&s), "all is taken then");
	is_i64(wt_load_relaxed(&s.consumer->finished_ns), 0, "it has not finished");
	synth_finish(&s);
	ok(is_end_taken(&s), "its end is taken without more records");
	end_daemon(daemon);
	ok(synth_run_file(folder, file), "one run file");
	is_i64(query("SELECT launches_linked FROM loss"), 4200, "nothing lost, nothing twice");
	is_i64(query("SELECT sum(launches) FROM config_stat"), 4200, "nor in the rollup");
	synth_unmap(&s);
	synth_folder_remove(folder);
}

static void test_socket(void)
{
	static char reply[65536], long_request[3000];
	pid_t daemon, second, child;
	char sql[70000];
	int status;

	synth_folder(folder);
	daemon = synth_daemon(folder, "30");
	for (int i = 0; i < 3000 && synth_request("status", reply, sizeof(reply)); i++)
		usleep(10000);
	ok(strstr(reply, "\"processes\":[]"), "status of nothing");
	second = synth_daemon(folder, "1");
	status = synth_daemon_wait(second);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a second daemon goes away");
	synth_request("drain synth 100", reply, sizeof(reply));
	is_str(reply, "none", "drain of no run");
	child = fork();
	if (!child) {
		struct synth s;

		if (synth_create(&s, NULL))
			_exit(1);
		produce(&s, 100);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	synth_request("drain synth 5000", reply, sizeof(reply));
	ok(synth_run_file(folder, file), "a run file");
	ok(!strncmp(reply, "ok ", 3) && !strcmp(reply + 3, file), "drain: %s", reply);
	is_i64(synth_segments_left(folder), 0, "the segment is gone by then");
	is_i64(query("SELECT state = 'finished' FROM proc"), 1, "and its end is stored");
	child = fork();
	if (!child) {
		struct synth s;

		if (synth_create(&s, &(struct synth_options){.run_key = "a \"key\" with\tall"}))
			_exit(1);
		pause();
	}
	ok(synth_request_until("status", "key\\\" with", reply, sizeof(reply)), "status");
	snprintf(sql, sizeof(sql), "SELECT json_valid('%s')", reply);
	is_i64(query(sql), 1, "is JSON whatever the key");
	synth_request("drain a \"key\" with\tall 100", reply, sizeof(reply));
	ok(!strncmp(reply, "ok ", 3), "a live process is not waited for");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	synth_request("dance", reply, sizeof(reply));
	ok(!strncmp(reply, "error", 5), "nonsense gets an error");
	synth_request("drain x", reply, sizeof(reply));
	ok(!strncmp(reply, "error", 5), "so does half a request");
	memset(long_request, 'x', sizeof(long_request) - 1);
	synth_request(long_request, reply, sizeof(reply));
	is_i64(synth_request("status", reply, sizeof(reply)), 0, "a long one does no harm");
	synth_request("stop", reply, sizeof(reply));
	is_str(reply, "ok", "stop");
	is_i64(synth_daemon_wait(daemon), 0, "an orderly end");
	synth_folder_remove(folder);
}

int main(void)
{
	test_open();
	test_hostile();
	test_cut_short();
	test_file_gone();
	test_no_room();
	test_full();
	test_socket();
	return tap_done();
}

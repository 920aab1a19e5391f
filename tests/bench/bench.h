/*
 * bench.h - the parts of `make bench`: one program, one table.
 *
 *   bench.c         options, what runs in which size
 *   bench_report.c  rows of figures: medians with spread, as a table and as JSON
 *   bench_child.c   programs under the clock: their time and memory, the daemon's memory while it runs
 *   bench_feed.c    synthetic processes and a daemon: from segments to a run file
 *   bench_ring.c    ns a record
 *   bench_hook.c    ns that hooks add to a launch
 *   bench_ingest.c  launches a second of the daemon, and bytes a launch
 *   bench_query.c   commands on long runs
 *   bench_day.c     10^8 launches of 64 threads in 8 processes, live
 *   stream.c        those processes; stream_step.c: what they write
 *
 * Figures, no verdict: goals are shown beside them. What is a verdict is counts: whatever is lost without
 * being counted, or comes twice, is said and ends the program with 1.
 *
 * With a second build (--other) all that can be is measured in turn with both, the order turning, and the
 * ratio of each pair is told.
 *
 * One thread, but for the rings' producers; it blocks as it must.
 */
#ifndef WT_BENCH_H
#define WT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/stream.h"

#define BENCH_ROWS_MAX 256
#define BENCH_BUILDS 2
#define BENCH_FIXED_BYTES 262144 /* of a run file, whatever is in it: not counted as a launch's */

enum bench_size { BENCH_SMOKE, BENCH_USUAL, BENCH_FULL, BENCH_DAY };

enum bench_goal { BENCH_NO_GOAL, BENCH_AT_MOST, BENCH_AT_LEAST };

/* One thing that was measured, some times over. */
struct bench_row {
	double goal;
	double *values[BENCH_BUILDS];
	size_t count[BENCH_BUILDS], room[BENCH_BUILDS];
	enum bench_goal goal_is;
	bool is_hidden; /* in the table; in JSON it is */
	char part[16], unit[24], what[48];
};

struct bench {
	enum bench_size size;
	const char *build[BENCH_BUILDS]; /* [1]: NULL */
	int builds;
	unsigned rounds;
	uint64_t launches; /* 0: as the size says */
	unsigned processes, threads;
	bool is_json;
	const char
	        *keep; /* folder that run files of `query` and `live` are moved to; NULL: they go */
	struct bench_row *rows; /* BENCH_ROWS_MAX */
	size_t row_count;
	char *notes; /* lines: what was left out, and why; what a row alone does not say */
	char *failures; /* lines */
};

/* ---- bench_report.c */

/* The row of that part and name, made if it is new. */
struct bench_row *bench_row(struct bench *b, const char *part, const char *unit, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));
void bench_goal(struct bench_row *row, enum bench_goal goal_is, double goal);
void bench_add(struct bench_row *row, int build, double value);
/* Of sorted or unsorted values, which it sorts. NAN: there are none. */
double bench_quantile(double *values, size_t count, double q);
/* 10^6, 2.5 M, 4096. */
const char *bench_count(char text[32], uint64_t count);
/* A line for people and programs. */
void bench_note(struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_fail(struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Progress, on stderr; of a smoke nothing. */
void bench_say(const struct bench *b, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* The exit code. */
int bench_report(struct bench *b);
void bench_fini(struct bench *b);

/* ---- bench_child.c */

struct bench_use {
	double wall_s, cpu_s;
	uint64_t peak_bytes;
	int status; /* as of wait(); -1: it took longer than it was given, and was killed */
};

double bench_now_s(void);
/* Is this a build under a sanitizer? */
bool bench_is_sanitized(void);
/* In main(), first: are we here to run a program under the clock? Does not return then. */
void bench_child_main(int argc, char **argv);
/* Runs a program, with a library preloaded if not NULL and its output to `output` (NULL: to nowhere). */
struct bench_use bench_run(const char *library, const char *const argv[], const char *output,
                           unsigned limit_s);
/* From now on synth_daemon() and bench_program() use that build. */
void bench_use_build(const struct bench *b, int build);
/* Path of a program of the build in use. */
const char *bench_program(char path[1024], const char *name);

/* A number of a JSON file; -1: there is none. */
int64_t bench_json_int(const char *path, const char *expression);

struct bench_memory {
	uint64_t resident_bytes, own_bytes, shared_bytes;
};

/* From /proc; false: it is gone. `own` is what it allocated, `shared` are segments that it maps. */
bool bench_memory_of(pid_t pid, struct bench_memory *ret_memory);

/* ---- bench_feed.c */

struct bench_point {
	uint64_t launches;
	struct bench_memory memory;
};

#define BENCH_POINTS_MAX 64

struct bench_feed {
	/* given */
	uint64_t launches; /* kernels, with nodes */
	unsigned processes, threads, nodes;
	bool is_live; /* the daemon runs meanwhile; else it finds whole segments */
	bool is_flat_out; /* producers do not wait for room */
	uint64_t
	        cells; /* of the rings of calls, those of activity have twice as many; 0: as usual */
	unsigned points; /* how often to look at the daemon's memory */
	/* found */
	char folder[512], file[1024];
	struct bench_use use; /* of the daemon */
	uint64_t file_bytes;
	double stored_s; /* live: until all was stored */
	int64_t stored, refused; /* kernels; records of all kinds */
	int64_t kernel_ns; /* of all that was made */
	int64_t unexplained, late; /* as the file says; kernels that came too late for the sweep */
	struct bench_memory settled;
	struct bench_point point[BENCH_POINTS_MAX];
	unsigned point_count;
};

/* Private folders, with segments in real shared memory where there is some. */
void bench_folder(char folder[512]);
void bench_folder_remove(const char *folder);
/* Makes a run file and compares its books with what was made. False: it failed, which is said. */
bool bench_feed(struct bench *b, struct bench_feed *feed);
void bench_feed_end(const struct bench *b, struct bench_feed *feed);
/* With nothing left out of 256 KiB: bytes that a launch takes. */
double bench_bytes_each(const struct bench_feed *feed);
/* Is there room for so many launches, by what they took last? If not it is said, of `what`. */
bool bench_has_room(struct bench *b, uint64_t launches, const char *what);

/* ---- the parts */

void bench_ring(struct bench *b);
void bench_hook(struct bench *b);
void bench_ingest(struct bench *b);
void bench_start(struct bench *b);
void bench_query(struct bench *b, uint64_t launches);
/* Does `top` count what was stored? False: it does not, which is said. */
bool bench_query_check(struct bench *b, int build, const struct bench_feed *feed);
/* Each command once on a run file of that build; *left_out: those that are not run again, from 0. */
void bench_query_file(struct bench *b, int build, const struct bench_feed *feed,
                      uint64_t *left_out);
void bench_day(struct bench *b);

/* In the process that bench_hook() starts with the library. */
int bench_hook_child(const char *driver, unsigned batches);

#endif /* WT_BENCH_H */

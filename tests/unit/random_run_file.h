/*
 * random_run_file.h - a random program (random_run.h) as a run file in memory. Single-threaded; what SQLite
 * refuses ends the program.
 */
#ifndef WT_TESTS_RANDOM_RUN_FILE_H
#define WT_TESTS_RANDOM_RUN_FILE_H

#include <sqlite3.h>

#include "tests/unit/random_run.h"

/* An empty run file. */
sqlite3 *rr_open(void);

/* The program takes the place of what was there. first_ns: see rr_first(). */
void rr_write(sqlite3 *db, const struct random_run *run, const int64_t first_ns[RR_PROCESSES_MAX]);

/*
 * By process, as the daemon keeps it: the first launch or activity that it saw; INT64_MAX: none. Calls are
 * told shift_ns later than they were.
 */
void rr_first(const struct random_run *run, int64_t shift_ns, int64_t first_ns[RR_PROCESSES_MAX]);

/* As the CPU's clock tells it. */
int64_t rr_told(const struct random_run *run, int64_t t_ns);

#endif /* WT_TESTS_RANDOM_RUN_FILE_H */

/*
 * random_check.h - what a simulated device and its driver told of a program (WTFAKE_TRUTH, WTFAKE_TRUTH_CALLS),
 * beside the run file that was made of it.
 *
 * Times of kernels and copies are the device's. The stamps of calls are those of the run file, since only the
 * hooks saw them, but each is held against the driver's: no later than the driver was entered, no earlier than it
 * was left, and not before or after the thread's neighbouring calls.
 *
 * Single-threaded; what can't be read ends the program.
 */
#ifndef WT_TESTS_RANDOM_CHECK_H
#define WT_TESTS_RANDOM_CHECK_H

#include <sqlite3.h>

#include "tests/unit/account.h"

#define RC_PROCESSES_MAX 16
#define RC_NAME_BYTES 64

struct rc_call {
	int64_t process_id;
	int thread; /* number in the account */
	char name[RC_NAME_BYTES];
	int64_t correlation;
	int64_t called_ns, left_ns; /* by the driver */
	int64_t entry_ns, return_ns; /* by the run file; with is_recorded */
	int64_t stream; /* handle, by the run file */
	bool is_recorded;
	int result;
};

struct rc_kernel {
	struct account_kernel a; /* `launch` is of any call */
	int64_t device_id, process_id;
	int64_t order; /* among kernels that start together: the run file's */
	int64_t underfill_sm_ns, tail_sm_ns; /* what the device did */
	int64_t model_underfill_sm_ns, model_wave_sm_ns,
	        model_wave_max_sm_ns; /* the run file's; -1: not judged */
	int64_t off_ns; /* by how much the run file's times are not the device's */
	bool is_node, was_told;
	bool is_lost; /* not in the run file, or without times */
};

struct rc_copy {
	int64_t device_id, process_id, start_ns, end_ns;
};

struct rc_truth {
	struct rc_call *calls; /* by process, thread, time */
	size_t call_count;
	struct rc_kernel *kernels; /* in order of start, then of `order` */
	size_t kernel_count;
	struct rc_copy *copies;
	size_t copy_count;
	struct account_span *loads; /* lazily loaded functions */
	size_t load_count;
	int64_t process_ids[RC_PROCESSES_MAX];
	int process_count;
	int context_counts[RC_PROCESSES_MAX];
	bool has_losses; /* some kernels' records are meant to be missing */
	char (*names)[RC_NAME_BYTES]; /* of kernels */
	int name_count;
	int64_t bracket_ns; /* how well CUPTI's clock was read, at worst */
	long problems; /* where run file and truth can't both be right */
};

/*
 * Attaches the run file as `r`. has_own_times: times of the run file, where CUPTI's clock is not the device's.
 * has_losses: kernels may be missing there.
 */
void rc_load(sqlite3 *db, const char *run, const char *truth, const char *calls, bool has_own_times,
             bool has_losses, struct rc_truth *ret_truth);
void rc_fini(struct rc_truth *truth);

/* Number of a process in the account, or -1. */
int rc_process(const struct rc_truth *truth, int64_t process_id);

/* Says what is wrong and counts it. */
__attribute__((format(printf, 2, 3))) void rc_problem(struct rc_truth *truth, const char *format,
                                                      ...);

/* A prepared statement, or the end of the program. */
sqlite3_stmt *rc_prepare(sqlite3 *db, const char *sql);

#endif /* WT_TESTS_RANDOM_CHECK_H */

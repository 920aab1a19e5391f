/*
 * account.h - where the SM-time of one device went, counted by brute force from what is known to have happened.
 *
 * The second opinion for the ledger: it takes the rules of doc/design.md ("The ledger") word by word, looks at
 * every piece of time by itself, and asks every kernel and every interval about it. Slow and plain on purpose;
 * shares no code with analysis/ and cli/, but for the closed forms on the SMs that collectives leave (test_wave). Used on simulated programs, in-process (test_ledger_random) and over
 * the simulated GPU (random_check).
 *
 * Pure but for allocation; any thread. Out of memory: abort.
 */
#ifndef WT_TESTS_ACCOUNT_H
#define WT_TESTS_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_CAUSES(X)                                                                          \
	X(copy)                                                                                    \
	X(graph)                                                                                   \
	X(load)                                                                                    \
	X(profiler)                                                                                \
	X(sync)                                                                                    \
	X(alloc)                                                                                   \
	X(host)                                                                                    \
	X(launch)                                                                                  \
	X(dependency)                                                                              \
	X(turnaround)                                                                              \
	X(unknown)                                                                                 \
	X(undecided)                                                                               \
	X(startup)                                                                                 \
	X(after)

enum account_cause {
#define X(name) ACCOUNT_##name,
	ACCOUNT_CAUSES(X)
#undef X
	        ACCOUNT_CAUSE_MAX
};
extern const char *const account_cause_names[ACCOUNT_CAUSE_MAX];

/* Why the device itself did not run a kernel yet, once its call had returned. */
enum account_wait {
	ACCOUNT_WAIT_NOT_TOLD,
	ACCOUNT_WAIT_LATENCY, /* the call was on its way */
	ACCOUNT_WAIT_STREAM, /* the work before it in its stream */
	ACCOUNT_WAIT_DEPENDENCY, /* an event or a host function */
	ACCOUNT_WAIT_NODE, /* the node before it in its graph launch */
	ACCOUNT_WAIT_SMS, /* SMs that other kernels held */
	ACCOUNT_WAIT_MAX
};
extern const char *const account_wait_names[ACCOUNT_WAIT_MAX];

/* In order of start; where those are equal, in the order in which they stand. */
struct account_kernel {
	int name; /* the caller's number of it, 0 .. account.name_count - 1 */
	int process; /* 0 .. account.process_count - 1 */
	int thread; /* that made the call; numbers are of the whole account */
	int launch; /* of a graph, > 0, equal for its nodes; 0: not a node */
	int64_t start_ns, end_ns;
	int64_t entry_ns, return_ns; /* of the call; with has_call */
	int64_t wave_sm_ns, wave_max_sm_ns;
	uint32_t sms; /* it can occupy at a time */
	uint32_t blocks, blocks_per_sm; /* 0: not known */
	enum account_wait wait;
	bool has_call, is_judged, is_collective;
	bool has_dependency; /* a wait or host function was put into its stream before it */
};

enum account_span_kind {
	ACCOUNT_SPAN_COPY,
	ACCOUNT_SPAN_LOST,
	ACCOUNT_SPAN_LOAD, /* of a process */
	ACCOUNT_SPAN_PROFILER, /* of a thread, like those below */
	ACCOUNT_SPAN_SYNC,
	ACCOUNT_SPAN_ALLOC,
};

struct account_span {
	enum account_span_kind kind;
	int process, thread; /* where the kind asks for them */
	int64_t start_ns, end_ns;
};

struct account {
	uint32_t sms;
	int64_t start_ns, end_ns; /* the window */
	int64_t clock_error_ns;
	const int64_t *first_launch_ns; /* by process */
	const struct account_kernel *kernels;
	size_t kernel_count;
	const struct account_span *spans;
	size_t span_count;
	int name_count, process_count;
};

struct account_name {
	int64_t gaps;
	int64_t cause_ns[ACCOUNT_CAUSE_MAX];
};

struct account_result {
	int64_t active_sm_ns, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns,
	        comm_sm_ns;
	int64_t gap_ns;
	int64_t cause_ns[ACCOUNT_CAUSE_MAX];
	struct account_name
	        *names; /* gaps that a kernel of that name ended; the last: that none ended */
	/* After the call's return: what the device says against the cause. */
	int64_t wait_ns[ACCOUNT_WAIT_MAX][ACCOUNT_CAUSE_MAX];
};

void account_compute(const struct account *account, struct account_result *ret_result);
void account_result_fini(struct account_result *result);

#endif /* WT_TESTS_ACCOUNT_H */

/*
 * random_run.h - random programs on a simulated schedule, in-process: what threads called, what streams and
 * devices did, and why each kernel waited. No library, no daemon, no real time.
 *
 * Threads take turns by their own clocks. A kernel starts once its call has arrived, the work before it in
 * its stream is over, and what the stream was told to wait for has happened; the last of these is why it
 * waited. Devices run kernels of several streams side by side, without counting SMs: what SMs a kernel can
 * occupy is drawn. Every stream belongs to one thread, since the order of two threads' calls on one stream
 * can't be told from outside.
 *
 * Knows nothing of analysis/ and cli/. Single-threaded; out of memory: abort.
 */
#ifndef WT_TESTS_RANDOM_RUN_H
#define WT_TESTS_RANDOM_RUN_H

#include "tests/unit/account.h"

#define RR_PROCESSES_MAX 3
#define RR_THREADS_MAX 6
#define RR_STREAMS_MAX 12
#define RR_DEVICES_MAX 2
#define RR_NAMES 24 /* the last two are collectives' */

enum rr_call_kind {
	RR_CALL_LAUNCH,
	RR_CALL_GRAPH,
	RR_CALL_SYNC_STREAM,
	RR_CALL_SYNC_CONTEXT,
	RR_CALL_SYNC_COPY,
	RR_CALL_DEPEND,
	RR_CALL_ALLOC,
	RR_CALL_BUILD, /* a graph is made ready */
	RR_CALL_MODULE,
};

struct rr_call {
	enum rr_call_kind kind;
	int process, thread;
	int64_t entry_ns, return_ns;
	uint64_t stream; /* handle */
	int64_t seq; /* of launches and of graph launches, each counted for itself in a process */
	int launch; /* of the program, > 0; 0: not a launch */
	bool was_told; /* its stream, to wait, since the kernel before */
	bool is_lost; /* its kernels have no record */
};

struct rr_kernel {
	struct account_kernel a; /* `launch` is that of the call, also where it is no graph's */
	int device;
	bool is_node, is_lost;
	int64_t blocks, resident_blocks;
	size_t call;
	uint64_t
	        order; /* drawn: kernels that start together come in this order, and records in it */
};

struct rr_copy {
	int process, device;
	int64_t start_ns, end_ns;
};

struct rr_overhead {
	int process, thread, type; /* CUpti_ActivityOverheadKind */
	int64_t start_ns, end_ns;
};

struct rr_stream {
	int process, thread, device;
	uint64_t handle;
	int64_t tail_ns; /* of the work given to it */
	int64_t last_start_ns; /* of its last kernel */
	int64_t held_until_ns; /* by what it was told to wait for */
	bool was_told; /* to wait, since its last kernel */
};

struct random_run {
	struct rr_stream streams[RR_STREAMS_MAX];
	int process_count, thread_count, stream_count, device_count;
	int sms[RR_DEVICES_MAX];
	int64_t armed_ns[RR_PROCESSES_MAX];
	int64_t clock_error_ns, clock_shift_ns; /* the CPU's stamps are told that much later */
	bool has_losses;
	struct rr_call *calls;
	size_t call_count;
	struct rr_kernel *kernels;
	size_t kernel_count;
	struct rr_copy *copies;
	size_t copy_count;
	struct rr_overhead *overheads;
	size_t overhead_count;
};

uint64_t rr_random(uint64_t *state);

/* The program of a seed; kernels are in order of start, then of `order`. Free with random_run_fini(). */
void random_run_make(struct random_run *run, uint64_t seed);
void random_run_fini(struct random_run *run);

#endif /* WT_TESTS_RANDOM_RUN_H */

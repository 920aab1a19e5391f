/*
 * cuda_int.h - the inside of the simulated libcuda.so.1.
 *
 * One lock (cuda_entry.c) guards all state; every exported entry takes it in
 * fake_enter() and gives it back in fake_leave(), and waits only in
 * fake_wait_until(), which lets go of it meanwhile. The simulation is
 * analytic: when work is enqueued, its start and end are computed at once, and
 * synchronising means sleeping until that time.
 */
#ifndef FAKE_CUDA_INT_H
#define FAKE_CUDA_INT_H

#include "tests/fake/fake_tools.h"

enum fake_entry_idx {
#define FAKE_ENTRY(symbol, name, version, cbid, is_launch) E_##symbol,
#define FAKE_TWIN(symbol, twin, name, version, cbid, is_launch) E_##twin,
#include "tests/fake/entries.def"
#undef FAKE_ENTRY
#undef FAKE_TWIN
	FAKE_ENTRY_COUNT
};

/* One call of an entry, from its first to its last instruction. */
struct fake_call {
	int entry;
	bool per_thread; /* called by its per-thread-default-stream name */
	wtcu_result refused; /* scripted fault, or not initialised: do nothing, return this */
	uint32_t correlation;
	int64_t called_ns; /* the first instruction; before that the caller's */
	int64_t enter_ns; /* the driver's lock was taken */
};

struct fake_call fake_enter(int entry, bool per_thread);
wtcu_result fake_leave(const struct fake_call *call, wtcu_result result);
void fake_wait_until(int64_t when_ns);
/* Waits for a condition another thread announces with fake_announce(). */
void fake_wait_announced(void);
void fake_announce(void);

#define FAKE_DEFINE(name, is_per_thread, params, body)                                             \
	FAKE_EXPORT wtcu_result name params;                                                       \
	FAKE_EXPORT wtcu_result name params                                                        \
	{                                                                                          \
		struct fake_call call = fake_enter(E_##name, is_per_thread), *c = &call;           \
                                                                                                   \
		return fake_leave(c, c->refused ? c->refused : (body));                            \
	}
#define FAKE_FN(name, params, body) FAKE_DEFINE(name, false, params, body)
#define FAKE_FN_PTSZ(name, params, body)                                                           \
	FAKE_DEFINE(name, false, params, body) FAKE_DEFINE(name##_ptsz, true, params, body)
#define FAKE_FN_PTDS(name, params, body)                                                           \
	FAKE_DEFINE(name, false, params, body) FAKE_DEFINE(name##_ptds, true, params, body)

/* ---- device and scheduler (cuda_device.c, cuda_sched.c) ------------------ */

#define FAKE_DEVICE_MAX 8
#define FAKE_ATTRIBUTE_MAX 160
#define FAKE_RESIDENT_MAX 32 /* blocks an SM can hold */
#define FAKE_QUEUE_DEPTH 1024 /* kernels in flight per device before a launch waits */

struct fake_sm {
	int resident_count;
	struct {
		int64_t end_ns;
		int share; /* of FAKE_SM_SHARES */
	} resident[FAKE_RESIDENT_MAX];
	int64_t last_start_ns;
	int64_t busy_until_ns;
};
#define FAKE_SM_SHARES (1 << 20)

struct fake_device {
	uint32_t ordinal;
	int sm_count;
	int attribute[FAKE_ATTRIBUTE_MAX];
	int place; /* on its host, whatever ordinal the process sees it under */
	char name[96];
	struct wtcu_uuid uuid;
	size_t memory_bytes, used_bytes;
	struct fake_sm *sm;
	int64_t busy_until_ns;
	int64_t in_flight_end_ns[FAKE_QUEUE_DEPTH];
	uint64_t kernel_count;
	struct fake_ctx *primary;
};

extern struct fake_device fake_device[FAKE_DEVICE_MAX];
extern int fake_device_count;
void fake_devices_init(void);

/* How a kernel behaves: from directives in its PTX (see README.md). */
struct fake_function {
	uint32_t magic;
	struct fake_module *module;
	struct fake_function *next;
	char *name;
	bool has_params;
	bool is_loaded; /* lazy loading: set by the first launch */
	int registers, static_shared, max_dynamic_shared;
	int64_t block_ns;
	int param_idx; /* 64-bit parameter that holds a block's time, or -1 */
	double param_ns; /* ns per unit of that parameter, 0: cycles of the clock */
	double jitter; /* blocks vary by +- this part */
	uint64_t slow_every; /* every Nth block is slow, 0: none */
	int64_t slow_at; /* this one block is slow, -1: none */
	double slow_factor;
	bool is_sharing; /* blocks of an SM share its throughput */
	double tensor; /* part of its SMs' time in which their tensor pipe works */
	double issue; /* part of its SMs' issue slots in use */
	double dram_read_bytes_per_ns, dram_write_bytes_per_ns; /* of the device, while it runs */
	bool counts_down; /* subtracts 1 from the conditional handle in its first parameter */
};

struct fake_launch {
	struct fake_function *function;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dynamic_shared;
	int launch_type;
	int64_t block_ns; /* read from the parameters at launch */
	bool is_programmatic; /* may start before its predecessor ended */
	uint64_t conditional; /* handle of a kernel that counts down */
};

/* What work had to wait for last: why it did not start earlier. Truth has the names (cuda_truth.c). */
enum fake_wait {
	FAKE_WAIT_CALL, /* nothing else: the call was on its way */
	FAKE_WAIT_KERNEL, /* the kernel before it in its stream, or a whole graph launch */
	FAKE_WAIT_COPY, /* the copy or set before it in its stream */
	FAKE_WAIT_EVENT, /* an event that its stream waits for */
	FAKE_WAIT_HOST, /* a host function in its stream */
	FAKE_WAIT_DEFAULT, /* the default stream, or those that it waits for */
	FAKE_WAIT_NODE, /* a node before it in its graph */
	FAKE_WAIT_SMS, /* SMs that other kernels have */
};

/* When work may start, and why not earlier. */
struct fake_ready {
	int64_t at_ns;
	int64_t arrive_ns; /* when it had come to the device */
	enum fake_wait wait;
};

/* What the device did with a launch. */
struct fake_ran {
	int64_t start_ns, end_ns; /* first block's start, last block's end */
	int64_t busy_sm_ns; /* sum over SMs of time with a block of this kernel */
	int64_t tail_sm_ns; /* sum over SMs used of end - its last block's end */
	int used_sm_count;
	int blocks_per_sm;
};

struct fake_detail;
int fake_occupancy(const struct fake_device *device, const struct fake_function *f, int threads,
                   int64_t dynamic_shared);
int fake_max_active_clusters(const struct fake_device *device, int blocks_per_sm, int cluster_size);
uint64_t fake_block_count(const uint32_t grid[3]);
void fake_schedule(struct fake_device *device, const struct fake_launch *launch,
                   int64_t earliest_ns, struct fake_detail *detail, struct fake_ran *ret_ran);

/* ---- contexts and streams ------------------------------------------------- */

#define FAKE_MAGIC_FUNCTION 0x46756e63
#define FAKE_NULL_STREAM_ID 7

struct fake_stream {
	struct fake_stream *next;
	struct fake_ctx *ctx;
	uint32_t id;
	unsigned int flags; /* 1: does not synchronise with the legacy stream */
	int priority;
	uint64_t owner_thread; /* of a per-thread default stream, else 0 */
	int64_t tail_ns; /* when all work given so far is done */
	enum fake_wait tail_by; /* what is done then */
	int64_t last_start_ns; /* of its last kernel */
	bool was_told; /* to wait for an event, or given a host function, since its last kernel */
	int pending_host_fns;
	struct fake_capture *capture;
	int capture_last; /* node this stream's next node depends on, -1: none */
};

struct fake_ctx {
	struct fake_ctx *next;
	struct fake_device *device;
	uint32_t id;
	unsigned int flags;
	int primary_refs; /* 0: not a primary context */
	int sm_first, sm_count; /* of a green context, else 0 and 0 */
	uint32_t parent_id;
	bool is_alive;
	struct fake_stream legacy;
	struct fake_stream *streams;
};

extern struct fake_ctx *fake_contexts;
struct fake_ctx *fake_ctx_new(struct fake_device *device, const struct fake_ctx *like);
wtcu_result fake_ctx_destroy(struct fake_ctx *ctx);
/* The device as a context sees it: of a green context only its SMs, a copy in `view`. */
struct fake_device *fake_ctx_device(const struct fake_ctx *ctx, struct fake_device *view);
struct fake_device *fake_device_of(wtcu_device device);
wtcu_result fake_primary_retain(wtcu_context *context, wtcu_device device);
wtcu_result fake_primary_release(wtcu_device device);
wtcu_stream fake_stream_new(struct fake_ctx *ctx, unsigned int flags, int priority);
struct fake_ctx *fake_current_ctx(void);
/* The stream a handle means in this call, or NULL (then *ret_error says why). */
struct fake_stream *fake_stream_of(const struct fake_call *c, wtcu_stream handle,
                                   wtcu_result *ret_error);
struct fake_stream *fake_stream_by_handle(struct fake_ctx *ctx, wtcu_stream handle,
                                          bool per_thread);
/* When work given to the stream now may start. */
int64_t fake_stream_ready_ns(struct fake_stream *stream);
/* What it is that the stream has to wait for until then. */
enum fake_wait fake_stream_ready_by(struct fake_stream *stream);
/* Work of that kind that ends then was given to the stream. */
void fake_stream_advance(struct fake_stream *stream, int64_t end_ns, enum fake_wait by);
int64_t fake_ctx_tail_ns(struct fake_ctx *ctx);
void fake_stream_drain(struct fake_ctx *ctx, struct fake_stream *stream);
void fake_streams_forget(struct fake_ctx *ctx);

/* ---- work ------------------------------------------------------------------ */

wtcu_result fake_function_of(wtcu_function handle, struct fake_function **ret_function);
wtcu_result fake_launch_check(const struct fake_ctx *ctx, const struct fake_launch *launch);
/* False: the kernel has parameters and was given none. */
bool fake_launch_read_params(struct fake_launch *launch, const struct fake_device *device,
                             void **params, void **extra);
void fake_launch_run(const struct fake_call *c, struct fake_stream *stream,
                     const struct fake_launch *launch, const struct fake_ready *ready,
                     uint32_t graph_id, uint64_t graph_node_id, int64_t *ret_end_ns);
/* A copy or a set: runs (or is captured) on the stream. */
wtcu_result fake_transfer(const struct fake_call *c, struct fake_stream *stream, struct fake_op *op,
                          bool is_blocking);
void fake_transfer_run(const struct fake_call *c, struct fake_stream *stream, struct fake_op op,
                       const struct fake_ready *ready, int64_t *ret_end_ns);

/* ---- capture and graphs (cuda_capture.c, cuda_graph.c) ------------------ */

enum fake_node_kind {
	FAKE_NODE_KERNEL,
	FAKE_NODE_TRANSFER,
	FAKE_NODE_HOST,
	FAKE_NODE_EMPTY,
	FAKE_NODE_CHILD,
	FAKE_NODE_IF,
	FAKE_NODE_WHILE,
};

struct fake_node {
	enum fake_node_kind kind;
	struct fake_launch launch;
	struct fake_op transfer;
	wtcu_host_fn host_fn;
	void *host_data;
	struct fake_graph *child[2]; /* a child graph; bodies of a conditional node */
	uint64_t conditional;
	bool is_disabled;
	int dep_count;
	int deps[8]; /* indices of nodes of the same graph */
};

struct fake_graph {
	struct fake_graph *next;
	uint32_t id;
	int node_count, node_capacity;
	struct fake_node *nodes;
};

struct fake_capture {
	struct fake_capture *next; /* of those that ended */
	uint64_t id;
	int mode;
	uint64_t owner_thread;
	bool is_invalid;
	bool has_ended;
	bool owns_graph;
	struct fake_graph *graph;
	struct fake_stream *origin;
};

/* Adds a node on a capturing stream. */
wtcu_result fake_capture_add(struct fake_stream *stream, const struct fake_node *node);
struct fake_node *fake_graph_add(struct fake_graph *graph, const struct fake_node *node);
struct fake_graph *fake_graph_of(wtcu_graph handle);
wtcu_result fake_graph_new(struct fake_graph **ret_graph);
void fake_graph_free(struct fake_graph *graph);
/* Puts copies of the nodes of `from` in place of those of `to`, graphs inside them too. */
wtcu_result fake_graph_copy(struct fake_graph *to, const struct fake_graph *from);
int64_t fake_graph_run(const struct fake_call *c, struct fake_stream *stream,
                       const struct fake_graph *graph, const struct fake_ready *begin);
/* A node's handle: its graph may move its nodes, so the handle holds the number. */
static inline wtcu_graph_node fake_node_handle(int idx)
{
	return (wtcu_graph_node)((uintptr_t)(idx + 1) << 4);
}
/* cuda_nodes.c: conditional handles; what a node inside a graph holds. */
void fake_nodes_free(struct fake_graph *graph);
/* What a capture can't take was asked of this stream (a graph launch, as seen on an H200): the error,
 * and the capture is spoilt. */
wtcu_result fake_capture_spoil(struct fake_stream *stream);
void fake_conditionals_reset(const struct fake_graph *graph);
void fake_conditional_count_down(uint64_t handle);
/* WTFAKE_BODIES: what CUPTI has of kernels in the body of a conditional node. Changes the record;
 * false: there is none. */
bool fake_body_record(struct fake_op *op);
int64_t fake_node_run_graphs(const struct fake_call *c, struct fake_stream *stream,
                             const struct fake_node *node, const struct fake_ready *ready);
/*
 * A call that may not be made while a capture is open in a mode that forbids
 * it: invalidates those captures and gives the error, or 0.
 */
wtcu_result fake_capture_forbids(void);
/* A host function has run: called without the lock, which it takes. */
void fake_host_fn_done(struct fake_stream *stream);
void fake_host_fn_add(struct fake_stream *stream, int64_t when_ns, wtcu_host_fn fn, void *data);

/* ---- what counters see (cuda_pm.c) ------------------------------------------- */

void fake_pm_init(void);
/* From now on a kernel may be enqueued that starts now or later, until the release (true: it was held). */
void fake_pm_hold(void);
bool fake_pm_release(void);
/* Follows the blocks of one kernel, SM by SM. NULL, which all take: nobody wants to know. */
struct fake_detail *fake_detail_new(int sm_count);
void fake_detail_block(struct fake_detail *detail, int sm, int64_t start_ns, int64_t end_ns);
/* So many blocks at a time. */
void fake_detail_span(struct fake_detail *detail, int sm, int64_t start_ns, int64_t end_ns,
                      int blocks);
/* Tells whom it concerns, and frees it. */
void fake_detail_tell(struct fake_detail *detail, const struct fake_stream *stream,
                      const struct fake_launch *launch, const struct fake_ran *ran,
                      const struct fake_op *op);

/* ---- tools, truth, counters (cuda_truth.c) ---------------------------------- */

extern const struct fake_tools *fake_tools; /* NULL: nobody watches */

enum fake_count {
	FAKE_LAUNCH_ATTEMPTED, /* calls of the launch family entered */
	FAKE_LAUNCH_OK, /* ... that returned success, graph launches and captured included */
	FAKE_LAUNCH_FAILED,
	FAKE_LAUNCH_CAPTURED, /* ... that became graph nodes */
	FAKE_GRAPH_LAUNCHES,
	FAKE_NODE_KERNELS, /* kernels that ran as nodes of graph launches */
	FAKE_KERNELS, /* all kernels the device ran, nodes included */
	FAKE_CONTEXTS, /* made, primary and green ones too */
	FAKE_DRIVER_CALLS, /* all entries */
	FAKE_COUNT_MAX
};
void fake_count(enum fake_count what);
_Atomic uint64_t *fake_counter(const char *name);
_Atomic uint64_t *fake_entry_counter(int entry);
void fake_truth_init(void);
void fake_truth_kernel(const struct fake_device *device, const struct fake_op *op,
                       const struct fake_ran *ran, const struct fake_ready *ready, bool was_told);
/* WTFAKE_TRUTH_CALLS: a copy or set; a call that ends now; what CUPTI calls overhead. */
void fake_truth_copy(const struct fake_op *op, const struct fake_ready *ready);
void fake_truth_call(const struct fake_call *call, wtcu_result result);
void fake_truth_overhead(int kind, int64_t start_ns, int64_t end_ns);

const char *fake_entry_name(int entry);

#endif /* FAKE_CUDA_INT_H */

/*
 * fake_tools.h - how the simulated libcupti watches the simulated libcuda.
 *
 * The real pair uses an unnamed table; ours is one exported function of
 * libcuda, wtfake_driver(). libcuda calls the tool's functions with its own
 * lock held (but `call`), so those must not call back into libcuda; the tool
 * calls the driver's functions with no lock of its own held.
 */
#ifndef FAKE_TOOLS_H
#define FAKE_TOOLS_H

#include <stdatomic.h>

#include "libintercept/cuda_abi.h"
#include "tests/fake/fake_common.h"

enum fake_op_kind { FAKE_OP_KERNEL, FAKE_OP_MEMCPY, FAKE_OP_MEMSET };

/* Something the device does, with the times at which it does it. */
struct fake_op {
	enum fake_op_kind kind;
	uint32_t device, context_id, stream_id, correlation;
	uint32_t graph_id;
	uint64_t graph_node_id;
	int64_t queued_ns, submitted_ns, start_ns, end_ns;
	/* kernels */
	const char *name;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t registers, static_shared, dynamic_shared, shared_executed;
	uint32_t max_active_clusters, max_cluster_size;
	int launch_type;
	bool is_profiled; /* under the range profiler: its record has no times */
	bool is_timeless; /* no device buffer had room for its times */
	/* copies and sets */
	uint64_t bytes;
	uint32_t value;
	uint8_t copy_kind, src_kind, dst_kind, is_async;
};

struct fake_sync {
	int type; /* WTCUPTI_SYNC_* */
	uint32_t correlation, context_id, stream_id, event_id;
	int64_t start_ns, end_ns;
	int result;
};

struct fake_pm_kernel;
struct fake_pm_span;

/* On which SMs a kernel runs, and when (pm_file.h). */
struct fake_sms {
	const struct fake_pm_kernel *kernel;
	const struct fake_pm_span *span;
};

struct fake_tools {
	/* A call begins: the next correlation id if this call takes one, else 0. */
	uint32_t (*correlate)(int kind, int cbid, bool is_launch);
	/* A call ended; no lock is held. `kind`: whose call, WTCUPTI_KIND_DRIVER or _RUNTIME. */
	void (*call)(int kind, int cbid, uint32_t correlation, int64_t start_ns, int64_t end_ns,
	             int result);
	/* Work was given to the device; its end may lie in the future. */
	void (*op)(const struct fake_op *op);
	void (*sync)(const struct fake_sync *sync);
	/* sm_count, parent_id: of a green context, else 0 */
	void (*context)(uint32_t device, uint32_t context_id, uint32_t null_stream_id,
	                uint32_t sm_count, uint32_t parent_id);
	void (*overhead)(int kind, int64_t start_ns, int64_t end_ns, uint32_t correlation);
	/* What a launch on that device costs while kernels are profiled one by one; < 0: they are not. */
	int64_t (*replay_ns)(uint32_t device);
	/* Somebody wants to know on which SMs kernels run; a kernel that the device was given. */
	bool (*wants_sms)(void);
	void (*sms)(const struct fake_op *op, const struct fake_sms *sms);
};

struct fake_device_facts {
	int place; /* on its host */
	int sm_count;
	int clock_khz;
	int max_warps; /* of an SM */
};

struct fake_driver {
	/* False: another copy of CUPTI is attached. */
	bool (*attach)(const struct fake_tools *tools);
	void (*detach)(const struct fake_tools *tools);
	bool (*context_id)(wtcu_context context, uint32_t *ret_id, uint32_t *ret_device);
	bool (*stream_id)(wtcu_context context, wtcu_stream stream, bool per_thread,
	                  uint32_t *ret_id);
	/* A context was created, ever. */
	bool (*has_context)(void);
	/* All work given to a context has ended. */
	bool (*is_idle)(wtcu_context context);
	/* A device of this process; false: no such, or the driver is not initialised. */
	bool (*device)(uint32_t ordinal, struct fake_device_facts *ret_facts);
	/* A counter of that name in WTFAKE_COUNTERS; never NULL. */
	_Atomic uint64_t *(*counter)(const char *name);
};

const struct fake_driver *wtfake_driver(void);

/*
 * For programs that play cudart: between these, the calling thread is inside a
 * launch call of the runtime with that CUPTI number. Its driver calls share the
 * runtime call's correlation id and have no record of their own.
 */
void wtfake_runtime_begin(int cbid);
void wtfake_runtime_end(int cbid, wtcu_result result);

#endif /* FAKE_TOOLS_H */

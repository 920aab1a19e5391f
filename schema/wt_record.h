/*
 * wt_record.h - the records that travel through the rings.
 *
 * A record is the payload of one cell (wt_ring.h): at most 112 bytes, fixed-width
 * fields, naturally aligned, no pointers, reserved bytes zero. The field budget was
 * settled before the cell size: a kernel needs 96 bytes with everything that CUPTI
 * knows of it, a launch call 92.
 *
 * Ring 0 (WT_RING_CALLS) carries what the hooks saw, ring 1 (WT_RING_ACTIVITY) what
 * CUPTI reported, so that a burst of CUPTI records can't push out launches.
 *
 * All times are CLOCK_REALTIME nanoseconds, which is also CUPTI's clock on Linux.
 */
#ifndef WT_RECORD_H
#define WT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wt_ring.h"

enum wt_ring_index {
	WT_RING_CALLS = 0,
	WT_RING_ACTIVITY = 1,
	WT_RING_MAX = 2,
};

/* Stored in run files: never renumber. */
enum wt_kind {
	WT_KIND_NONE = 0,
	/* ring 0 */
	WT_KIND_LAUNCH = 1, /* struct wt_launch */
	WT_KIND_CALL = 2, /* struct wt_call: every other hooked call, graph launches too */
	WT_KIND_RANGE = 3, /* struct wt_range */
	/* ring 1 */
	WT_KIND_KERNEL = 16, /* struct wt_kernel */
	WT_KIND_COPY = 17, /* struct wt_copy: memcpy and memset */
	WT_KIND_SYNC = 18, /* struct wt_sync */
	WT_KIND_OVERHEAD = 19, /* struct wt_overhead */
	WT_KIND_CONTEXT = 20, /* struct wt_context */
	WT_KIND_LINK = 21, /* up to 4 struct wt_link; cell.count says how many */
	WT_KIND_CLOCK = 22, /* struct wt_clock */
	WT_KIND_SAMPLE =
	        23, /* up to 2 struct wt_sample; cell.count says how many: wavetap-sampler */
	WT_KIND_GPU_STATE = 24, /* struct wt_gpu_state: wavetap-sampler */
	WT_KIND_PROFILE = 25, /* struct wt_profile: one launch under the range profiler */
	WT_KIND_MAX
};

/* wt_launch.flags and wt_call.flags */
#define WT_FLAG_COOPERATIVE 0x0001u /* cooperative launch asked for */
#define WT_FLAG_PDL 0x0002u /* programmatic stream serialization asked for */
#define WT_FLAG_CAPTURE_STREAM 0x0004u /* the call's own stream was in capture: surely captured */
#define WT_FLAG_CAPTURE_OPEN 0x0008u /* some capture was open in the process: possibly captured */
#define WT_FLAG_UNARMED 0x0010u /* CUPTI recorded nothing at that moment: hooks only */
#define WT_FLAG_NULL_CONFIG 0x0020u /* cuLaunchKernelEx with a NULL configuration */
#define WT_FLAG_EARLY 0x0040u /* made before the segment was; seq is not in the order of time */
#define WT_FLAG_PROFILED 0x0080u /* under the range profiler: alone, and started late */

/* One call of the launch family, whatever it returned. */
struct wt_launch {
	uint64_t seq; /* ordinal of launch calls in this process, from 0, without gaps */
	uint64_t entry_ns; /* before the driver was entered */
	uint64_t return_ns; /* after it returned */
	uint64_t stream; /* CUstream handle as passed */
	uint64_t function; /* CUfunction or CUkernel handle as passed */
	uint32_t grid[3]; /* blocks */
	uint32_t block[3]; /* threads */
	uint32_t dynamic_smem_bytes;
	int32_t result; /* CUresult */
	uint32_t tid; /* kernel thread id */
	uint32_t thread32; /* low 32 bits of pthread_self(): CUPTI's threadId */
	uint16_t api; /* enum wt_api */
	uint16_t cluster[3]; /* 0 = not given at the launch */
	uint32_t flags; /* WT_FLAG_* */
	uint32_t reserved[4];
};
_Static_assert(sizeof(struct wt_launch) == 112, "launch record");
_Static_assert(offsetof(struct wt_launch, grid) == 40, "launch record");
_Static_assert(offsetof(struct wt_launch, api) == 80, "launch record");

/* Any other hooked call: graph launches, synchronising, allocating, loading, capturing. */
struct wt_call {
	uint64_t seq; /* graph launches: their ordinal in this process; others 0 */
	uint64_t entry_ns;
	uint64_t return_ns;
	uint64_t
	        handle; /* stream, event, context, module or graph handle, or address: see wt_api.h */
	uint64_t other; /* second handle (graph exec of a graph launch, event waited for), or 0 */
	uint64_t bytes; /* size asked for or copied, or 0 */
	int32_t result;
	uint32_t tid;
	uint32_t thread32;
	uint16_t api;
	uint16_t reserved_0;
	uint32_t flags;
	uint32_t reserved[11];
};
_Static_assert(sizeof(struct wt_call) == 112, "call record");

enum wt_range_type {
	WT_RANGE_PUSH = 1, /* pushed and popped by one thread: they nest */
	WT_RANGE_START = 2, /* started and ended, perhaps by two threads: they need not nest */
};

#define WT_RANGE_NAME_CUT 0x01u /* the name went on */
#define WT_RANGE_DOMAIN_CUT 0x02u

#define WT_RANGE_TEXT_BYTES 80
#define WT_RANGE_DOMAIN_BYTES 24 /* of them, at most */

/*
 * A named range of the application (NVTX), written when it ends, or without an end when the process
 * does. The names are in the record and not in the name arena: programs make up to one a step
 * ("step 4711"), and kernels need the arena.
 */
struct wt_range {
	uint64_t start_ns;
	uint64_t end_ns; /* 0: it was still open when the process ended */
	uint32_t tid; /* that began it */
	uint32_t end_tid; /* that ended it; 0: nobody */
	uint16_t depth; /* of pushed ones: how many of the same thread and domain are around it */
	uint8_t type; /* enum wt_range_type */
	uint8_t flags; /* WT_RANGE_* */
	uint8_t domain_bytes; /* 0: the default domain */
	uint8_t name_bytes; /* 0: no name */
	uint16_t reserved;
	char text[WT_RANGE_TEXT_BYTES]; /* the domain's, then its own, UTF-8 as told, no NUL */
};
_Static_assert(sizeof(struct wt_range) == 112, "range record");
_Static_assert(offsetof(struct wt_range, text) == 32, "range record");

#define WT_KERNEL_DEVICE_LAUNCHED 0x01u /* launched from the device */
#define WT_KERNEL_CARVEOUT_REQUESTED 0x02u /* `carveout` is what the launch asked for */

/* One kernel that ran: CUPTI CONCURRENT_KERNEL. Geometry as executed. */
struct wt_kernel {
	uint64_t start_ns; /* 0 = CUPTI had no time for it */
	uint64_t end_ns;
	uint64_t graph_node_id; /* 0 = not a graph node */
	uint32_t correlation_id;
	uint32_t context_id;
	uint32_t stream_id; /* CUPTI's, not a handle */
	uint32_t name_id; /* name arena, 0 = unknown */
	uint32_t grid[3];
	uint16_t block[3];
	uint16_t cluster[3]; /* 0 = no cluster */
	uint32_t static_smem_bytes;
	uint32_t dynamic_smem_bytes;
	uint32_t smem_executed_bytes; /* what the driver configured per block */
	uint32_t local_bytes_per_thread;
	uint32_t graph_id;
	uint16_t device; /* CUPTI deviceId = CUDA ordinal in this process */
	uint16_t regs_per_thread;
	uint32_t max_active_clusters; /* 0 = unknown */
	uint8_t launch_type; /* 0 regular, 1 cooperative, 2 cooperative multi-device,
	                               * 3 CDP; CUpti_ActivityLaunchType */
	uint8_t carveout_percent;
	uint8_t flags; /* WT_KERNEL_* */
	uint8_t reserved_0;
	uint32_t channel_id;
	uint32_t reserved[3];
};
_Static_assert(sizeof(struct wt_kernel) == 112, "kernel record");
_Static_assert(offsetof(struct wt_kernel, grid) == 40, "kernel record");
_Static_assert(offsetof(struct wt_kernel, max_active_clusters) == 88, "kernel record");

/* CUPTI MEMCPY and MEMSET. */
struct wt_copy {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t bytes;
	uint64_t graph_node_id;
	uint32_t correlation_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t graph_id;
	uint16_t device;
	uint8_t is_memset;
	uint8_t copy_kind; /* CUpti_ActivityMemcpyKind; memset: 0 */
	uint8_t src_kind; /* CUpti_ActivityMemoryKind */
	uint8_t dst_kind; /* memset: kind of the memory set */
	uint8_t flags; /* as CUPTI gives them: 1 = asynchronous */
	uint8_t reserved_0;
	uint32_t memset_value;
	uint32_t reserved[13];
};
_Static_assert(sizeof(struct wt_copy) == 112, "copy record");

/* CUPTI SYNCHRONIZATION. */
struct wt_sync {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t correlation_id;
	uint32_t context_id;
	uint32_t stream_id; /* 0xffffffff = not of one stream */
	uint32_t event_id;
	uint32_t type; /* CUpti_ActivitySynchronizationType */
	uint32_t reserved[19];
};
_Static_assert(sizeof(struct wt_sync) == 112, "synchronization record");

/* CUPTI OVERHEAD: time that profiling itself, or compilation and loading, took. */
struct wt_overhead {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t type; /* CUpti_ActivityOverheadKind */
	uint32_t object; /* CUpti_ActivityObjectKind */
	uint32_t thread32; /* when the object is a thread */
	uint32_t correlation_id;
	uint32_t reserved[20];
};
_Static_assert(sizeof(struct wt_overhead) == 112, "overhead record");

/* CUPTI CONTEXT. */
struct wt_context {
	uint32_t context_id;
	uint32_t device;
	uint32_t null_stream_id;
	uint32_t parent_context_id;
	uint32_t sm_count; /* SMs this context may use; 0 = not told (then the device's) */
	uint32_t is_green; /* a green context */
	uint32_t reserved[22];
};
_Static_assert(sizeof(struct wt_context) == 112, "context record");

/*
 * The link from a hooked launch call to CUPTI's correlation id: the interval of CUPTI's own record
 * of that call, on the same thread. There are two kinds, because CUPTI makes one record per call at
 * the outermost interface that it entered by:
 *
 *   driver    the application called the driver: the record lies within [entry_ns, return_ns]
 *   runtime   it called cudart, which called the driver: the record encloses [entry_ns, return_ns],
 *             with all that cudart did around it (a first launch loads its module there)
 *
 * Exact, with any number of threads, as the calls of a thread are disjoint in time and so are its
 * records; captured and failed calls have one too. (External correlation ids come only for calls
 * that also have such a record, and cost more; order alone is ambiguous when two threads launch at
 * once.)
 */
#define WT_LINK_RUNTIME 0x01u /* a runtime record */
#define WT_LINK_DURATION_MAX_NS UINT32_MAX /* this long, or longer */

struct wt_link {
	uint64_t start_ns;
	uint32_t duration_ns; /* saturated */
	uint32_t correlation_id;
	/* As CUPTI gives it: low 32 bits of pthread_self(), or the kernel's thread id if the
	 * application chose that (cuptiSetThreadIdType). */
	uint32_t thread32;
	uint32_t flags; /* WT_LINK_* */
};
#define WT_LINKS_PER_CELL 4
_Static_assert(sizeof(struct wt_link) == 24, "link record");
_Static_assert(sizeof(struct wt_link) * WT_LINKS_PER_CELL <= WT_CELL_PAYLOAD_BYTES, "link record");

/* The same instant on three clocks; one a second. */
struct wt_clock {
	uint64_t realtime_ns;
	uint64_t monotonic_ns;
	uint64_t cupti_ns; /* 0 = CUPTI not armed */
	uint64_t boot_ns; /* CLOCK_BOOTTIME: tells suspend from a step */
	uint32_t bracket_ns; /* the reads lie within this much */
	uint32_t reserved[19];
};
_Static_assert(sizeof(struct wt_clock) == 112, "clock record");

/* ---- measurements: doc/design.md, "Measured SM-time" */

/* A value that the hardware did not give: not a number. All counts below are of one interval. */
#define WT_SAMPLE_UNKNOWN (-1.0f)

/*
 * What a device did in one interval of PM sampling. Samples of a stretch follow each other without a
 * hole; a hole (end of one before the start of the next) is time that nobody looked at.
 */
struct wt_sample {
	uint64_t start_ns; /* the GPU's clock as CUPTI gives it: near CLOCK_REALTIME, see fold.h */
	uint32_t duration_ns;
	uint32_t elapsed_cycles; /* sm__cycles_elapsed.max */
	float active_avg; /* sm__cycles_active.avg: cycles with a warp resident, mean of the SMs */
	float active_min; /* of the SM with the fewest */
	float active_max;
	float warps; /* sm__warps_active.avg: warps x cycles, mean of the SMs */
	float tensor; /* elapsed cycles x the share of its peak that the tensor pipe worked at */
	float dram_read_bytes; /* of the device */
	float dram_write_bytes;
	float instructions; /* of warps, executed by all SMs; if WT_SAMPLE_INSTRUCTIONS */
	uint32_t flags; /* WT_SAMPLE_* */
	uint32_t reserved;
};
#define WT_SAMPLE_INSTRUCTIONS 0x01u /* they are known; older samplers left both 0 */
#define WT_SAMPLES_PER_CELL 2

static inline float wt_sample_instructions(const struct wt_sample *sample)
{
	return sample->flags & WT_SAMPLE_INSTRUCTIONS ? sample->instructions : WT_SAMPLE_UNKNOWN;
}

_Static_assert(sizeof(struct wt_sample) == 56, "sample record");
_Static_assert(sizeof(struct wt_sample) * WT_SAMPLES_PER_CELL <= WT_CELL_PAYLOAD_BYTES,
               "sample record");

/* What NVML says of a device, now and then. */
struct wt_gpu_state {
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint64_t throttle_reasons; /* nvmlClocksEventReasons, as NVML has them; 0 = none */
	uint32_t sm_clock_mhz; /* 0 = not known, like all below */
	uint32_t mem_clock_mhz;
	uint32_t power_mw;
	uint32_t temperature_c;
	uint32_t foreign_processes; /* with a context here, that no run of ours knows */
	uint32_t foreign_pid; /* one of them */
	uint32_t flags; /* 1: the processes are known */
	uint32_t reserved[17];
};
_Static_assert(sizeof(struct wt_gpu_state) == 112, "GPU state record");

/*
 * One launch under the range profiler, alone on its device. Which: the launch call's seq, which its
 * kernel record is linked to. Cycles are SM cycles.
 */
struct wt_profile {
	uint64_t launch_seq;
	uint64_t start_ns; /* around the profiled launch, by the host */
	uint64_t end_ns;
	double active_sum; /* sm__cycles_active.sum: of all SMs */
	double active_min; /* of the SM with the fewest */
	double active_max;
	double elapsed; /* sm__cycles_elapsed.max: as long as the counters ran, launch included */
	double warps; /* sm__warps_active.avg */
	double tensor; /* as in struct wt_sample; < 0: not known */
	double dram_bytes; /* < 0: not known */
	uint64_t cost_ns; /* what the application waited for it */
	uint16_t device; /* ordinal in the process */
	uint16_t sm_count; /* instances that the sums are over */
	uint32_t passes;
	uint32_t reserved[4];
};
_Static_assert(sizeof(struct wt_profile) == 112, "profile record");

#endif /* WT_RECORD_H */

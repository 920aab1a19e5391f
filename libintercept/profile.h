/*
 * profile.h - WAVETAP_PROFILE=N: exact SM-time of N launches of each launch configuration by CUPTI's
 * range profiler, then warps and instructions per physical SM of one more by SASS metrics. Opt-in.
 *
 *   profile.c          the life of it in a process, and one profiled launch from hook to record
 *   profile_gate.c     what forbids it: streams, kernels, captures, host functions, that were seen
 *   profile_table.c    launch configurations and who is next
 *   profile_session.c  CUPTI's functions; which of its two interfaces is open in which context
 *   profile_range.c    the range profiler
 *   profile_sass.c     SASS metrics
 *
 * A PROFILED LAUNCH, on the application's thread, in its own launch call:
 *
 *   before   everything queued in the context has ended (cuCtxSynchronize); the profiler starts
 *   launch   the real call, as the application made it. One that fails under the profiler launched
 *            nothing: it is made again without it, and that result is the application's
 *   after    the kernel has ended (cuCtxSynchronize); stop, read, two records
 *
 * Our synchronising returns errors that the application would get anyway: they stick to the context
 * and to no call of ours, so its next call gets them too.
 *
 * THREADS. `busy` is taken by trying: one launch is profiled at a time, and who finds it taken
 * launches as ever. Launches by others meanwhile are seen by two counters, and the result is thrown
 * away. A stream capture that another thread begins does wait for the launch under way (HOLD_LIMIT_NS
 * at most), since synchronising beside it would end the capture.
 *
 * COST. Not asked for: one load and a predictable branch per launch. Else a hash and a few counters
 * per launch, and what the profiled ones wait for is counted (profile_cost_ns).
 */
#ifndef WT_PROFILE_H
#define WT_PROFILE_H

#include <stddef.h>

#include "libintercept/cuda_abi.h"
#include "libintercept/cupti_profiler_abi.h"
#include "libintercept/internal.h"

/*
 * STEADY STATE. Nothing is profiled before the process has launched for so long; then every
 * configuration that has had so many launches, and once no new configuration has come for so long,
 * also the rarer ones.
 */
#define WT_PROFILE_WARMUP_NS UINT64_C(1000000000) /* WAVETAP_PROFILE_WARMUP_MS */
#define WT_PROFILE_COMMON_LAUNCHES 50u
#define WT_PROFILE_SETTLED_NS UINT64_C(2000000000)

/* The open interface has had no launch for so long: then the other may open. */
#define WT_PROFILE_SWITCH_NS UINT64_C(500000000)
/* Neither has had one for so long: all have theirs, the counters are given back. */
#define WT_PROFILE_IDLE_NS UINT64_C(2000000000)

#define WT_PROFILE_SM_LAUNCHES 1u /* per configuration, by SASS metrics */
#define WT_PROFILE_SMS_MAX 1024u

/* ---- what a launch is to us: a word that its wrapper keeps */

enum wt_profile_role {
	WT_PROFILE_NOT = 0, /* profiling is off */
	WT_PROFILE_COUNTED = 1, /* under way, not profiled */
	WT_PROFILE_RANGE = 2,
	WT_PROFILE_SASS = 3,
};

/* 1 while there is anything to do for a launch. Inherited by a forked child, which finds no run. */
extern _Atomic uint64_t wt_profile_on;

static inline bool wt_profile_is_on(void)
{
	return __builtin_expect(wt_load_relaxed(&wt_profile_on) != 0, 0);
}

/* ---- profile.c: for the hooks */

/* Once the segment is there. */
void wt_profile_start(struct wt_view *view);

/* Before the real call, on its thread, inside wt_enter. Makes driver and CUPTI calls; may block. */
enum wt_profile_role wt_profile_begin(const struct wt_launch *launch);

/* After it: must it be made again? Then *role says what it is now. */
bool wt_profile_again(enum wt_profile_role *role, int result);

static inline uint32_t wt_profile_flags(enum wt_profile_role role)
{
	return role == WT_PROFILE_RANGE  ? WT_FLAG_PROFILED
	       : role == WT_PROFILE_SASS ? WT_FLAG_PATCHED
	                                 : 0;
}

/* After its record was appended. */
void wt_profile_end(enum wt_profile_role role, const struct wt_launch *launch);

/* ---- profile_gate.c: for the hooks */

/* Around a graph launch. False: off, and no wt_profile_graph_end. */
bool wt_profile_graph_begin(void);
void wt_profile_graph_end(const struct wt_call *call);

/* Around a call that begins or ends a capture. */
void wt_profile_hold(void);
void wt_profile_unhold(void);

/* After any other hooked call. */
void wt_profile_note_call(const struct wt_call *call);

/* ---- profile_gate.c: for CUPTI's kernel records. On the thread of its callback. */

#define WT_PROFILE_RECENT 8

/* Kernels of one buffer of records; on the stack of its callback. */
struct wt_profile_recent {
	uint32_t count;
	struct wt_kernel kernel[WT_PROFILE_RECENT];
};

void wt_profile_note_kernel(struct wt_profile_recent *recent, const struct wt_kernel *kernel,
                            const char *name);

/* ---- profile_table.c */

#define WT_PROFILE_CONFIGS 8192u /* 2^n; those that find no room are left alone */

struct wt_profile_config {
	_Atomic uint64_t hash; /* function and geometry; 0 = free */
	_Atomic uint64_t launches;
	/* by the holder of `busy` */
	_Atomic uint64_t ranged; /* launches with a result */
	_Atomic uint64_t counted; /* the same by SASS metrics */
	_Atomic uint64_t tries_left; /* of both together; 0 = left alone */
};

struct wt_profile_table {
	_Atomic uint64_t new_ns; /* when the last new configuration came */
	struct wt_profile_config config[WT_PROFILE_CONFIGS];
};

/* The configuration of a launch, made now if it is new. NULL: no room. Lock-free. */
struct wt_profile_config *wt_profile_find(struct wt_profile_table *table,
                                          const struct wt_launch *launch, uint32_t launches_wanted,
                                          uint64_t now_ns);

/* What a launch of it is to be, once the process is warm. */
enum wt_profile_role wt_profile_choose(const struct wt_profile_table *table,
                                       const struct wt_profile_config *config,
                                       uint32_t launches_wanted, bool has_sass, uint64_t now_ns);

/* ---- profile_session.c, profile_range.c, profile_sass.c: by the holder of `busy` alone */

/* CUPTI's functions that we call: member, symbol and type by this list. */
#define WT_PROFILE_CALLS(CALL)                                                                     \
	CALL(get_chip_name, cuptiDeviceGetChipName, wtcupti_device_get_chip_name_fn)               \
	CALL(initialize, cuptiProfilerInitialize, wtcupti_profiler_initialize_fn)                  \
	CALL(get_availability, cuptiProfilerGetCounterAvailability,                                \
	     wtcupti_profiler_get_counter_availability_fn)                                         \
	CALL(host_initialize, cuptiProfilerHostInitialize, wtcupti_host_initialize_fn)             \
	CALL(host_deinitialize, cuptiProfilerHostDeinitialize, wtcupti_host_deinitialize_fn)       \
	CALL(host_add_metrics, cuptiProfilerHostConfigAddMetrics,                                  \
	     wtcupti_host_config_add_metrics_fn)                                                   \
	CALL(host_config_size, cuptiProfilerHostGetConfigImageSize,                                \
	     wtcupti_host_get_config_image_size_fn)                                                \
	CALL(host_config, cuptiProfilerHostGetConfigImage, wtcupti_host_get_config_image_fn)       \
	CALL(host_passes, cuptiProfilerHostGetNumOfPasses, wtcupti_host_get_num_of_passes_fn)      \
	CALL(host_evaluate, cuptiProfilerHostEvaluateToGpuValues,                                  \
	     wtcupti_host_evaluate_to_gpu_values_fn)                                               \
	CALL(range_enable, cuptiRangeProfilerEnable, wtcupti_range_enable_fn)                      \
	CALL(range_disable, cuptiRangeProfilerDisable, wtcupti_range_disable_fn)                   \
	CALL(range_data_size, cuptiRangeProfilerGetCounterDataSize,                                \
	     wtcupti_range_get_counter_data_size_fn)                                               \
	CALL(range_data_init, cuptiRangeProfilerCounterDataImageInitialize,                        \
	     wtcupti_range_counter_data_image_initialize_fn)                                       \
	CALL(range_set_config, cuptiRangeProfilerSetConfig, wtcupti_range_set_config_fn)           \
	CALL(range_start, cuptiRangeProfilerStart, wtcupti_range_start_fn)                         \
	CALL(range_stop, cuptiRangeProfilerStop, wtcupti_range_stop_fn)                            \
	CALL(range_decode, cuptiRangeProfilerDecodeData, wtcupti_range_decode_data_fn)             \
	CALL(range_info, cuptiRangeProfilerGetCounterDataInfo,                                     \
	     wtcupti_range_get_counter_data_info_fn)

#define WT_PROFILE_SASS_CALLS(CALL)                                                                \
	CALL(sass_properties, cuptiSassMetricsGetProperties, wtcupti_sass_get_properties_fn)       \
	CALL(sass_set_config, cuptiSassMetricsSetConfig, wtcupti_sass_set_config_fn)               \
	CALL(sass_unset_config, cuptiSassMetricsUnsetConfig, wtcupti_sass_unset_config_fn)         \
	CALL(sass_enable, cuptiSassMetricsEnable, wtcupti_sass_enable_fn)                          \
	CALL(sass_disable, cuptiSassMetricsDisable, wtcupti_sass_disable_fn)                       \
	CALL(sass_data_size, cuptiSassMetricsGetDataProperties,                                    \
	     wtcupti_sass_get_data_properties_fn)                                                  \
	CALL(sass_flush, cuptiSassMetricsFlushData, wtcupti_sass_flush_data_fn)

struct wt_profile_api {
#define WT_PROFILE_MEMBER(member, symbol, type) type member;
	WT_PROFILE_CALLS(WT_PROFILE_MEMBER)
	WT_PROFILE_SASS_CALLS(WT_PROFILE_MEMBER)
#undef WT_PROFILE_MEMBER
	_Atomic uint64_t has_sass; /* also read by others */
};

struct wt_profile_bytes {
	uint8_t *memory; /* mapped; NULL = none */
	size_t bytes;
};

/* Room for `bytes`, zeroed; what was there goes. False: none, and nothing mapped. */
bool wt_profile_map(struct wt_profile_bytes *room, size_t bytes);
void wt_profile_unmap(struct wt_profile_bytes *room);

enum wt_profile_metric {
	WT_PROFILE_ACTIVE_SUM,
	WT_PROFILE_ACTIVE_MIN,
	WT_PROFILE_ACTIVE_MAX,
	WT_PROFILE_ELAPSED,
	WT_PROFILE_WARPS,
	WT_PROFILE_METRICS_NEEDED, /* what follows is taken where one pass holds it too */
	WT_PROFILE_TENSOR = WT_PROFILE_METRICS_NEEDED,
	WT_PROFILE_DRAM_READ,
	WT_PROFILE_DRAM_WRITE,
	WT_PROFILE_METRICS
};

struct wt_profile_range {
	struct wtcupti_host_object *host; /* kept when closed, for its chip */
	struct wtcupti_range_object *object; /* NULL = not open */
	bool is_started;
	struct wt_profile_bytes config, image;
	const char *names[WT_PROFILE_METRICS];
	uint32_t metrics; /* of enum wt_profile_metric, the first so many */
	uint32_t passes;
};

struct wt_profile_sm_counts {
	uint32_t sms;
	uint64_t instructions[WT_PROFILE_SMS_MAX];
	uint32_t warps[WT_PROFILE_SMS_MAX];
};

struct wt_profile_session {
	struct wt_profile_api api;
	enum wt_profile_role open; /* RANGE or SASS; else nothing is open */
	bool is_initialized; /* cuptiProfilerInitialize */
	bool is_sass_enabled;
	wtcu_context context; /* that it is open in */
	uint32_t context_id; /* CUPTI's, which are not used again */
	int device; /* ordinal */
	uint32_t sm_count;
	int host_device; /* that the host object is for */
	struct wt_profile_range range;
	struct wt_profile_sm_counts counts;
};

/* False: this libcupti has no range profiler. */
bool wt_profile_find_calls(struct wt_profile_api *api);

/* A context to profile in: handle, CUPTI's id, device. */
struct wt_profile_place {
	wtcu_context context;
	uint32_t context_id;
	int device;
	uint32_t sm_count;
};

/* All return 0 or CUPTI's code; what has begun then is undone. */
int wt_profile_session_open(struct wt_profile_session *session, enum wt_profile_role role,
                            const struct wt_profile_place *place);
int wt_profile_session_close(struct wt_profile_session *session);

/* The context is broken, and nothing will run in it: whatever is open in it stays as it is. */
void wt_profile_session_abandon(struct wt_profile_session *session);

int wt_profile_range_open(struct wt_profile_session *session);
int wt_profile_range_close(struct wt_profile_session *session);
int wt_profile_range_start(struct wt_profile_session *session);
/* *ret_ranges: kernels that ran meanwhile; values are there if it is 1. */
int wt_profile_range_stop(struct wt_profile_session *session, double values[WT_PROFILE_METRICS],
                          size_t *ret_ranges);

int wt_profile_sass_open(struct wt_profile_session *session);
int wt_profile_sass_close(struct wt_profile_session *session);
int wt_profile_sass_start(struct wt_profile_session *session);
/*
 * Into session->counts, `sms` 0 if no function began exactly `warps_expected` warps. With
 * `is_wanted` false the data is thrown away.
 */
int wt_profile_sass_stop(struct wt_profile_session *session, bool is_wanted,
                         uint64_t warps_expected);

/* ---- what profile.c and profile_gate.c share */

/* One launch under way. By the holder of `busy`. */
struct wt_profile_turn {
	struct wt_profile_config *config;
	uint64_t begun; /* launches begun, ours included */
	uint64_t start_ns; /* CLOCK_REALTIME: since when the application waits */
	int cancel_state;
};

/* In memory of its own, which a fork leaves behind. */
struct wt_profile_run {
	struct wt_view *view;
	uint32_t launches_wanted;
	uint64_t warmup_ns;
	uint64_t first_ns; /* CLOCK_MONOTONIC, as all below */
	_Alignas(128) _Atomic uint64_t begun; /* launches, of graphs too, that entered the driver */
	_Alignas(128) _Atomic uint64_t ended; /* and left it */
	_Alignas(128) _Atomic uint64_t last_stream; /* key of the last launch's; 0 = none yet */
	_Atomic uint64_t ordered_stream; /* a launch on it would follow the last one; or ALL */
	_Alignas(128) _Atomic uint64_t busy; /* 1: a launch is being profiled, or all has ended */
	_Atomic uint64_t holds; /* calls under way that begin or end a capture */
	_Atomic uint64_t stop; /* enum wt_profile_state that ends it; 0 = none */
	_Atomic uint64_t stop_detail;
	_Atomic uint64_t turn_ns; /* end of the last turn; 0 = none since the session closed */
	struct wt_profile_turn turn;
	struct wt_profile_session session;
	struct wt_profile_table table;
};

/* This process's run; NULL in a forked child, or if there is none. */
struct wt_profile_run *wt_profile_run_now(void);

/* Ends profiling for good; the first reason stands. Any thread, never blocks. */
void wt_profile_stop(struct wt_profile_run *run, enum wt_profile_state state, uint64_t detail);

/* CLOCK_MONOTONIC, to a few ms. */
uint64_t wt_profile_clock_ns(void);

/* A launch on `stream` by `api`: stops if nobody knows whether it follows the one before. */
void wt_profile_gate_launch(struct wt_profile_run *run, unsigned api, uint64_t stream);

#endif /* WT_PROFILE_H */

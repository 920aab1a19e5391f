/*
 * profile.h - WAVETAP_PROFILE=N: exact SM-time of N launches of each launch configuration by CUPTI's
 * range profiler. Opt-in.
 *
 *   profile.c          the life of it in a process, and one profiled launch from hook to record
 *   profile_gate.c     what forbids it: streams, kernels, captures, host functions, that were seen
 *   profile_table.c    launch configurations and who is next
 *   profile_flush.c    CUPTI's buffers, which a profiled launch holds back
 *   profile_session.c  CUPTI's functions; which context the range profiler is open in
 *   profile_range.c    the range profiler
 *
 * CUPTI's SASS metrics would give counts per physical SM, but do not: each of their instances holds
 * what one SM counted (tests/gpu/RESULTS.md). They are not used.
 *
 * A PROFILED LAUNCH, on the application's thread, in its own launch call:
 *
 *   before   everything queued in the context has ended (cuCtxSynchronize); the profiler starts
 *   launch   the real call, as the application made it. One that fails under the profiler launched
 *            nothing: it is made again without it, and that result is the application's
 *   after    the kernel has ended (cuCtxSynchronize); stop, read, two records; CUPTI's buffers are
 *            flushed by force
 *
 * Our synchronising returns errors that the application would get anyway: they stick to the context
 * and to no call of ours, so its next call gets them too.
 *
 * CUPTI'S BUFFERS. The kernel record of a profiled launch never gets its times, and CUPTI counts its
 * buffer, and every later one, as not complete: from the first such launch on it gave none back, took
 * all there were, and dropped whatever came then (H200, 13.0: 8 MiB, 30,000 launches; closing the
 * session changes nothing). Only a forced flush empties them, and one beside running work costs that
 * its times. So it is made after each profiled launch, when everything in the context has ended and
 * nobody launches; where somebody does, by the next one, or by the flush thread before buffers run out.
 *
 * WHICH LAUNCHES. At most three quarters of the time (WAVETAP_PROFILE_SHARE) are the profiler's: a profiled launch is
 * followed by a time without one. Rounds: no configuration gets its next launch before every other that
 * is about has as many, so that a run which ends early has some of each, and they come from all of it.
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
 * STEADY STATE. Nothing is profiled before the process has launched for a second
 * (WAVETAP_PROFILE_WARMUP_MS); then every configuration that has had so many launches, and once no new
 * configuration has come for so long, also the rarer ones.
 */
#define WT_PROFILE_COMMON_LAUNCHES 50u
#define WT_PROFILE_SETTLED_NS UINT64_C(2000000000)

/*
 * SHARE of the time, in percent, that profiled launches may take, waiting included. The pause after
 * each is longer or shorter by up to half, lest it fall into step with the program.
 */
#define WT_PROFILE_PAUSE_MAX_NS UINT64_C(1000000000) /* after the first, which sets up */

/* ROUNDS: who has had no launch for so long holds nobody up. */
#define WT_PROFILE_ABOUT_NS UINT64_C(1000000000)
#define WT_PROFILE_LEVEL_NS UINT64_C(10000000) /* how often it is looked who is behind */

/* The context that it is open in has had no such launch for so long: then another has its turn. */
#define WT_PROFILE_SWITCH_NS UINT64_C(500000000)
/* None has had one for so long: all have theirs, the counters are given back. */
#define WT_PROFILE_IDLE_NS UINT64_C(2000000000)

/* ---- what a launch is to us: a word that its wrapper keeps */

enum wt_profile_role {
	WT_PROFILE_NOT = 0, /* profiling is off */
	WT_PROFILE_COUNTED = 1, /* under way, not profiled */
	WT_PROFILE_PROFILED = 2,
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
	return role == WT_PROFILE_PROFILED ? WT_FLAG_PROFILED : 0;
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

/* ---- profile_flush.c */

/* A launch was profiled, and all of the context has ended: CUPTI's buffers come home. */
struct wt_profile_run;
void wt_profile_flush(struct wt_profile_run *run);

/* For the flush thread, after a plain flush: since when they are held back, if a forced one is due whatever
 * it costs; 0 = none is. And once it was made. */
uint64_t wt_profile_flush_due(bool is_short);
void wt_profile_flushed(uint64_t held_ns);

/* ---- profile_table.c */

#define WT_PROFILE_CONFIGS 8192u /* 2^n; those that find no room are left alone */

struct wt_profile_config {
	_Atomic uint64_t hash; /* function and geometry; 0 = free */
	_Atomic uint64_t launches;
	_Atomic uint64_t last_ns; /* the last one's time */
	/* by the holder of `busy` */
	_Atomic uint64_t profiled; /* launches with a result */
	_Atomic uint64_t tries_left; /* without; 0 = left alone */
};

struct wt_profile_table {
	_Atomic uint64_t new_ns; /* when the last new configuration came */
	_Atomic uint64_t level; /* results that the hindmost has: who has more waits */
	_Atomic uint64_t level_ns; /* when that was found */
	struct wt_profile_config config[WT_PROFILE_CONFIGS];
};

/* The configuration of a launch, made now if it is new. NULL: no room. Lock-free. */
struct wt_profile_config *wt_profile_find(struct wt_profile_table *table,
                                          const struct wt_launch *launch, uint32_t launches_wanted,
                                          uint64_t now_ns);

/* What a launch of it is to be, once the process is warm. Looks through the table now and then. */
enum wt_profile_role wt_profile_choose(struct wt_profile_table *table,
                                       const struct wt_profile_config *config,
                                       uint32_t launches_wanted, uint64_t now_ns);

/* How long to leave the program alone after its `turns`-th profiled launch. */
uint64_t wt_profile_pause_ns(uint64_t cost_ns, uint32_t share, uint64_t turns);

/* ---- profile_session.c, profile_range.c: by the holder of `busy` alone */

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

struct wt_profile_api {
#define WT_PROFILE_MEMBER(member, symbol, type) type member;
	WT_PROFILE_CALLS(WT_PROFILE_MEMBER)
#undef WT_PROFILE_MEMBER
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
	WT_PROFILE_TENSOR = WT_PROFILE_METRICS_NEEDED, /* percent of its peak */
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

struct wt_profile_session {
	struct wt_profile_api api;
	bool is_open;
	bool is_initialized; /* cuptiProfilerInitialize */
	wtcu_context context; /* that it is open in */
	uint32_t context_id; /* CUPTI's, which are not used again */
	int device; /* ordinal */
	uint32_t sm_count;
	int host_device; /* that the host object is for */
	struct wt_profile_range range;
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
int wt_profile_session_open(struct wt_profile_session *session,
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
	_Alignas(128) _Atomic uint64_t begun; /* launches, of graphs too, that entered the driver */
	_Alignas(128) _Atomic uint64_t ended; /* and left it */
	_Alignas(128) _Atomic uint64_t last_stream; /* key of the last launch's; 0 = none yet */
	_Atomic uint64_t ordered_stream; /* a launch on it would follow the last one; or ALL */
	_Atomic uint64_t pause_until_ns; /* none is profiled before; CLOCK_MONOTONIC, as turn_ns */
	_Atomic uint64_t held_ns; /* since when CUPTI's buffers are held back; 0 = they are not */
	uint64_t warmup_ns, first_ns;
	struct wt_view *view;
	uint32_t launches_wanted, share;
	uint64_t turns; /* by the holder of `busy`, like the next one */
	struct wt_profile_turn turn;
	_Alignas(128) _Atomic uint64_t busy; /* 1: a launch is being profiled, or all has ended */
	_Atomic uint64_t holds; /* calls under way that begin or end a capture */
	_Atomic uint64_t stop; /* enum wt_profile_state that ends it; 0 = none */
	_Atomic uint64_t stop_detail;
	_Atomic uint64_t turn_ns; /* end of the last turn; 0 = none since the session closed */
	struct wt_profile_session session;
	struct wt_profile_table table;
};

/* Did others launch during this turn? Then it is not known what was counted. By the holder of `busy`. */
bool wt_profile_was_alone(const struct wt_profile_run *run);

/* This process's run; NULL in a forked child, or if there is none. */
struct wt_profile_run *wt_profile_run_now(void);

/* Ends profiling for good; the first reason stands. Any thread, never blocks. */
void wt_profile_stop(struct wt_profile_run *run, enum wt_profile_state state, uint64_t detail);

/* CLOCK_MONOTONIC, to a few ms. */
uint64_t wt_profile_clock_ns(void);

/* A launch on `stream` by `api`: stops if nobody knows whether it follows the one before. */
void wt_profile_gate_launch(struct wt_profile_run *run, unsigned api, uint64_t stream);

#endif /* WT_PROFILE_H */

/*
 * sampler.h - the parts of wavetap-sampler.
 *
 *   sampler.c          options, one process per device, exit codes
 *   sampler_device.c   one device: set-up, stretches, end
 *   sampler_pm.c       CUPTI's PM sampling
 *   sampler_metrics.c  which metrics fit one pass
 *   sampler_policy.c   intervals and rests
 *   sampler_segment.c  the segment that the daemon drains
 *   sampler_like.c     the environment of the program that it samples for
 *   sampler_nvml.c     what NVML says of the device
 *   sampler_watch.c    the watchdog: time-outs, signals, the end of whoever started us
 *
 * Two threads: the main one does the work and may block in the driver, the watchdog never does.
 * libc and dlopen alone: no SQLite, no CUDA toolkit. It makes no CUDA context.
 */
#ifndef WT_SAMPLER_H
#define WT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "libintercept/cupti.h"
#include "libintercept/cupti_profiler_abi.h"
#include "schema/wt_segment.h"

#define WT_SAMPLER_EXIT_FAILED 1 /* before there was anything to sample with */
#define WT_SAMPLER_EXIT_USAGE 2
/* Otherwise 0, or the number of the state that it gave up with: 3 and up. */

static inline uint64_t wt_sampler_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* One line on stderr. */
void wt_sampler_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- sampler_segment.c: main thread, but for _finish */

struct wt_sampler_segment {
	struct wt_view view;
	struct wt_sample pending[WT_SAMPLES_PER_CELL];
	int pending_count;
	char path[WT_PATH_BYTES];
};

/* Makes it. 0 or -errno. */
int wt_sampler_segment_open(struct wt_sampler_segment *segment, const char *data_dir,
                            uint64_t interval_ns);
/* From now on the daemon sees it. One that was not published is gone when it is finished. */
void wt_sampler_segment_publish(struct wt_sampler_segment *segment);
/* Nobody will drain it. */
void wt_sampler_segment_remove(struct wt_sampler_segment *segment);
void wt_sampler_segment_device(struct wt_sampler_segment *segment, const struct wt_device *device);
/* A sample; two go into a cell, so what is held back goes with _flush. */
void wt_sampler_segment_put(struct wt_sampler_segment *segment, const struct wt_sample *sample);
void wt_sampler_segment_flush(struct wt_sampler_segment *segment);
/* Clock, CPU time of the process. Once a second. */
void wt_sampler_segment_tick(struct wt_sampler_segment *segment,
                             wtcupti_get_timestamp_fn get_timestamp);
void wt_sampler_segment_state(struct wt_sampler_segment *segment, enum wt_sampler_state state,
                              uint64_t detail);
/* The last word: nothing more comes. Any thread. */
void wt_sampler_segment_finish(struct wt_sampler_segment *segment, enum wt_sampler_state state,
                               uint64_t detail);
/* Once finished: has the daemon all of it, for good? */
bool wt_sampler_segment_is_stored(const struct wt_sampler_segment *segment);

/* ---- sampler_watch.c */

/* Blocks the signals that end us and starts the thread. `until_eof`: also watches stdin. `parent`: who
 * must be our parent for us to stay; 0: anybody. 0 or -errno. */
int wt_sampler_watch_start(struct wt_sampler_segment *segment, bool until_eof, pid_t parent);
/*
 * The main thread enters something that may hang: after `timeout_ms` the process ends with
 * WT_SAMPLER_TIMEOUT. `may_leave`: what ends us need not wait for it. 0: it has left it.
 */
void wt_sampler_watch_arm(uint64_t timeout_ms, bool may_leave);
/* Waits up to `timeout_ms`; true: it is time to end. */
bool wt_sampler_watch_wait(uint64_t timeout_ms);
bool wt_sampler_watch_is_over(void);

/* ---- sampler_metrics.c */

enum wt_pm_column {
	WT_PM_ACTIVE_AVG,
	WT_PM_ACTIVE_MIN,
	WT_PM_ACTIVE_MAX,
	WT_PM_ELAPSED,
	WT_PM_WARPS,
	WT_PM_TENSOR, /* a share, in percent */
	WT_PM_DRAM_READ,
	WT_PM_DRAM_WRITE,
	WT_PM_INSTRUCTIONS, /* of all SMs */
	WT_PM_COLUMNS
};

#define WT_PM_CALLS(CALL)                                                                          \
	CALL(profiler_initialize, "cuptiProfilerInitialize")                                       \
	CALL(device_get_chip_name, "cuptiDeviceGetChipName")                                       \
	CALL(host_initialize, "cuptiProfilerHostInitialize")                                       \
	CALL(host_deinitialize, "cuptiProfilerHostDeinitialize")                                   \
	CALL(host_config_add_metrics, "cuptiProfilerHostConfigAddMetrics")                         \
	CALL(host_get_config_image_size, "cuptiProfilerHostGetConfigImageSize")                    \
	CALL(host_get_config_image, "cuptiProfilerHostGetConfigImage")                             \
	CALL(host_get_num_of_passes, "cuptiProfilerHostGetNumOfPasses")                            \
	CALL(host_evaluate_to_gpu_values, "cuptiProfilerHostEvaluateToGpuValues")                  \
	CALL(pm_get_counter_availability, "cuptiPmSamplingGetCounterAvailability")                 \
	CALL(pm_enable, "cuptiPmSamplingEnable")                                                   \
	CALL(pm_disable, "cuptiPmSamplingDisable")                                                 \
	CALL(pm_set_config, "cuptiPmSamplingSetConfig")                                            \
	CALL(pm_start, "cuptiPmSamplingStart")                                                     \
	CALL(pm_stop, "cuptiPmSamplingStop")                                                       \
	CALL(pm_decode_data, "cuptiPmSamplingDecodeData")                                          \
	CALL(pm_get_counter_data_size, "cuptiPmSamplingGetCounterDataSize")                        \
	CALL(pm_counter_data_image_initialize, "cuptiPmSamplingCounterDataImageInitialize")        \
	CALL(pm_get_counter_data_info, "cuptiPmSamplingGetCounterDataInfo")                        \
	CALL(pm_get_sample_info, "cuptiPmSamplingCounterDataGetSampleInfo")

struct wt_pm_calls {
#define WT_PM_MEMBER(name, symbol) wtcupti_##name##_fn name;
	WT_PM_CALLS(WT_PM_MEMBER)
#undef WT_PM_MEMBER
};

/* A host object with metrics that fit one pass, and their configuration. */
struct wt_pm_metrics {
	struct wtcupti_host_object *host;
	const char *name[WT_PM_COLUMNS];
	enum wt_pm_column column[WT_PM_COLUMNS];
	size_t count, always_count; /* the last ones are evaluated now and then */
	uint8_t *config;
	size_t config_bytes;
};

/* Active and elapsed cycles; and the largest set beyond that. 0 or CUPTI's result; `availability`
 * stays the caller's. */
wtcupti_result wt_pm_metrics_plain(const struct wt_pm_calls *calls, const char *chip,
                                   const uint8_t *availability, struct wt_pm_metrics *ret_metrics);
wtcupti_result wt_pm_metrics_rich(const struct wt_pm_calls *calls, const char *chip,
                                  const uint8_t *availability, struct wt_pm_metrics *ret_metrics);
void wt_pm_metrics_fini(const struct wt_pm_calls *calls, struct wt_pm_metrics *metrics);

/* ---- sampler_pm.c */

struct wt_pm {
	struct wt_cupti_api cupti;
	struct wt_pm_calls calls;
	struct wt_pm_metrics plain, rich;
	bool has_nvperf; /* libcupti's other half */
	bool has_rich;
	int ordinal;
	struct wtcupti_pm_object *object; /* NULL: the counters are not ours now */
	const struct wt_pm_metrics *metrics; /* those it is set up for */
	size_t hardware_bytes;
	uint8_t *image;
	size_t image_bytes, image_read; /* samples of it that were delivered */
	uint32_t image_samples;
	uint64_t image_first_ns; /* start of the first of them */
	bool is_overwriting; /* decoding does not add to the image */
	bool is_running;
	bool is_first; /* the next sample is the first after a start */
	bool is_overflown; /* has to be set up anew */
	uint64_t sequence; /* samples read */
	uint64_t last_start_ns; /* of the sample that was delivered last */
	uint64_t repeated; /* that came again, or late, and were left out */
	wtcupti_result result; /* of the last call that failed */
	const char *call; /* which that was */
};

/* Finds libcupti; the driver is initialised. WT_SAMPLER_STARTING: fine, else why not. */
enum wt_sampler_state wt_pm_find(struct wt_pm *pm);
/* Takes the device's counters. WT_SAMPLER_STARTING: fine, else why not. */
enum wt_sampler_state wt_pm_open(struct wt_pm *pm, int ordinal);
/* Gives them back, in order; whatever was reached. */
void wt_pm_close(struct wt_pm *pm);
/* `is_rich`: with all metrics that the device has. */
enum wt_sampler_state wt_pm_start(struct wt_pm *pm, uint64_t interval_ns, bool is_rich);
enum wt_sampler_state wt_pm_stop(struct wt_pm *pm);
/*
 * Delivers what the hardware's buffer holds, or while it samples some thousands of that.
 * WT_SAMPLER_SAMPLING: fine, WT_SAMPLER_OVERFLOW: some was lost, and the stretch is to be stopped;
 * else why it failed.
 */
enum wt_sampler_state wt_pm_decode(struct wt_pm *pm,
                                   void (*deliver)(void *opaque, const struct wt_sample *sample),
                                   void *opaque);

/* ---- sampler_nvml.c */

struct wt_sampler_nvml;

/* NULL: no NVML, or not for this device. */
struct wt_sampler_nvml *wt_sampler_nvml_open(const struct wt_device *device);
void wt_sampler_nvml_read(struct wt_sampler_nvml *nvml, struct wt_gpu_state *ret_state);

/* ---- sampler_like.c */

/* Starts this program anew with the environment of process `pid`; returns if that was done before, or
 * can't be done. */
void wt_sampler_become_like(const char *pid, char **argv);

/* ---- sampler_device.c */

struct wt_sampler_options {
	const char *device; /* ordinal, UUID or a part of it from its start; NULL: the first */
	const char *cupti; /* NULL: as libwavetap.so finds it */
	uint64_t interval_ns; /* or WT_SAMPLE_AUTO */
	uint64_t duration_ns; /* 0 = until told */
	bool until_eof; /* the daemon's: quiet, and bound to its end of the pipe */
	bool is_check; /* only whether it would work */
	pid_t parent; /* ends us by its end; 0: nobody does */
};

/* How many devices there are; calls cuInit. WT_SAMPLER_STARTING: fine, else why not. */
enum wt_sampler_state wt_sampler_count_devices(int *ret_count, uint64_t *ret_detail);
/* Samples one device until told to end. The exit code. */
int wt_sampler_run(const struct wt_sampler_options *options);

#endif /* WT_SAMPLER_H */

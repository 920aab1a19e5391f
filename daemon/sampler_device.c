/*
 * sampler_device.c - one device from its set-up to its end.
 *
 * Main thread; the watchdog stands beside it. The driver is initialised, but no context is made:
 * nothing of the device's memory is taken, and nothing shows among its processes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sampler.h"
#include "daemon/sampler_policy.h"
#include "libintercept/hooks.h"
#include "schema/wt_paths.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define TIMEOUT_MS 30000 /* of set-up and of any call after it */
#define END_TIMEOUT_MS 3000 /* `wavetap run` waits for it */
#define STORE_NS (5 * SECOND) /* by hand: for the daemon to take the last samples */
#define STORE_POLL_MS 10
#define DRAIN_SAMPLES 256 /* so many wait in the hardware's buffer, about */
#define DRAIN_NS_MIN (2 * MS)
#define DRAIN_NS_MAX (20 * MS)

struct sampler {
	const struct wt_sampler_options *options;
	struct wt_sampler_segment segment;
	struct wt_device device;
	struct wt_pm pm;
	struct wt_sampler_policy policy;
	struct wt_sampler_nvml *nvml;
	bool is_nvml_asked;
	uint64_t tick_cpu_ns; /* that ticks took so far: no part of what a sample costs */
	uint64_t timeout_ms;
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0 = none */
	uint64_t tick_ns; /* when the next one is due */
	char data_dir[WT_PATH_BYTES];
	uint64_t detail; /* code that goes with a refusal */
	struct wt_sampler_stretch stretch; /* the one that goes on */
};

void wt_sampler_say(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "wavetap-sampler: %s\n", line);
}

/* ---- what libintercept's parts stand on here */

static void *libcuda;

void *wt_driver_entry(const char *symbol)
{
	return libcuda ? dlsym(libcuda, symbol) : NULL;
}

void *wt_real_dlsym(void *handle, const char *symbol)
{
	return dlsym(handle, symbol);
}

/* ---- the device */

enum wt_sampler_state wt_sampler_count_devices(int *ret_count, uint64_t *ret_detail)
{
	int (*initialize)(unsigned);
	wtcu_device_get_count_fn get_count;
	int result;

	libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	initialize = (int (*)(unsigned))wt_driver_entry("cuInit");
	get_count = (wtcu_device_get_count_fn)wt_driver_entry("cuDeviceGetCount");
	if (!initialize || !get_count)
		return WT_SAMPLER_NO_DRIVER;
	result = initialize(0);
	if (!result)
		result = get_count(ret_count);
	*ret_detail = (uint64_t)result;
	if (result == WTCU_ERROR_NO_DEVICE || (!result && *ret_count == 0))
		return WT_SAMPLER_NO_DEVICE;
	return result ? WT_SAMPLER_NO_DRIVER : WT_SAMPLER_STARTING;
}

/* `wanted`: an ordinal, or a UUID from its start on. */
static bool is_wanted(const char *wanted, const struct wt_device *device)
{
	char uuid[WT_UUID_TEXT_BYTES], *end;
	long ordinal = strtol(wanted, &end, 10);

	if (end != wanted && !*end && strlen(wanted) <= 3)
		return ordinal == device->ordinal;
	(void)wt_device_uuid_text(uuid, device->uuid);
	if (!strncmp(wanted, "MIG-", 4) && strlen(wanted) > 4) /* our GPU- stands for either */
		return strstr(uuid + 4, wanted + 4) == uuid + 4;
	return strlen(wanted) > 4 && strstr(uuid, wanted) == uuid;
}

static enum wt_sampler_state find_device(struct sampler *s)
{
	const char *wanted = s->options->device ? s->options->device : "0";
	int count = 0;
	enum wt_sampler_state state = wt_sampler_count_devices(&count, &s->detail);

	if (state)
		return state;
	for (int ordinal = 0; ordinal < count && ordinal < WT_DEVICES_MAX; ordinal++) {
		if (!wt_device_limits(&s->device, ordinal) || !is_wanted(wanted, &s->device))
			continue;
		wt_sampler_segment_device(&s->segment, &s->device);
		return WT_SAMPLER_STARTING;
	}
	s->device = (struct wt_device){0};
	return WT_SAMPLER_NO_DEVICE;
}

/* ---- set-up */

static enum wt_sampler_state set_up(struct sampler *s)
{
	enum wt_sampler_state state = find_device(s);

	if (!state)
		state = wt_pm_find(&s->pm);
	wt_store_relaxed(&s->segment.view.producer->cupti_version, s->pm.cupti.version);
	memcpy(s->segment.view.producer->cupti_path, s->pm.cupti.path, WT_TEXT_BYTES);
	if (!state)
		state = wt_pm_open(&s->pm, s->device.ordinal);
	s->policy.has_rich = s->pm.has_rich;
	return state;
}

/* ---- stretches */

static void deliver(void *opaque, const struct wt_sample *sample)
{
	struct sampler *s = opaque;

	s->stretch.samples++;
	if (sample->active_max > 0 || sample->active_avg > 0)
		s->stretch.active_ns += sample->duration_ns;
	wt_sampler_segment_put(&s->segment, sample);
}

/* What is due once a second. */
static void tick(struct sampler *s)
{
	uint64_t now_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC), cpu_ns;
	struct wt_gpu_state gpu;

	if (now_ns < s->tick_ns)
		return;
	cpu_ns = wt_sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	s->tick_ns = now_ns + SECOND;
	wt_sampler_watch_arm(s->timeout_ms, false);
	wt_sampler_segment_tick(&s->segment, s->pm.cupti.get_timestamp);
	if (!s->is_nvml_asked) /* it takes a while: not before there are samples */
		s->nvml = wt_sampler_nvml_open(&s->device);
	s->is_nvml_asked = true;
	if (s->nvml) {
		wt_sampler_nvml_read(s->nvml, &gpu);
		if (wt_ring_put(&s->segment.view.ring[WT_RING_ACTIVITY], WT_KIND_GPU_STATE, 1, &gpu,
		                sizeof(gpu)))
			wt_add_relaxed(&s->segment.view.producer->other_dropped_ring, 1);
	}
	wt_sampler_watch_arm(0, false);
	s->tick_cpu_ns += wt_sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
}

static enum wt_sampler_state decode(struct sampler *s)
{
	enum wt_sampler_state state;

	wt_sampler_watch_arm(s->timeout_ms, false);
	state = wt_pm_decode(&s->pm, deliver, s);
	wt_sampler_segment_flush(&s->segment);
	wt_sampler_watch_arm(0, false);
	return state;
}

static bool is_time_up(const struct sampler *s)
{
	return wt_sampler_watch_is_over() ||
	       (s->end_ns && wt_sampler_clock_ns(CLOCK_MONOTONIC) >= s->end_ns);
}

/* No further than the end, in milliseconds. */
static uint64_t until(const struct sampler *s, uint64_t at_ns, uint64_t most_ns)
{
	uint64_t now_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC), left_ns;

	if (s->end_ns && s->end_ns < at_ns)
		at_ns = s->end_ns;
	left_ns = at_ns > now_ns ? at_ns - now_ns : 0;
	return ((left_ns < most_ns ? left_ns : most_ns) + MS - 1) / MS;
}

/* Samples until the stretch is over. WT_SAMPLER_SAMPLING, _OVERFLOW, or what failed. */
static enum wt_sampler_state run_stretch(struct sampler *s, const struct wt_sampler_plan *plan)
{
	uint64_t drain_ns = plan->interval_ns * DRAIN_SAMPLES;
	uint64_t end_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC) + plan->stretch_ns;
	enum wt_sampler_state state = WT_SAMPLER_SAMPLING, last;

	drain_ns = drain_ns < DRAIN_NS_MIN ? DRAIN_NS_MIN : drain_ns;
	drain_ns = drain_ns > DRAIN_NS_MAX ? DRAIN_NS_MAX : drain_ns;
	while (state == WT_SAMPLER_SAMPLING && !is_time_up(s) &&
	       wt_sampler_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		(void)wt_sampler_watch_wait(until(s, end_ns, drain_ns));
		state = decode(s);
		tick(s);
	}
	if (state != WT_SAMPLER_SAMPLING && state != WT_SAMPLER_OVERFLOW)
		return state;
	wt_sampler_watch_arm(s->timeout_ms, false);
	last = wt_pm_stop(&s->pm);
	wt_sampler_watch_arm(0, false);
	if (last && state != WT_SAMPLER_OVERFLOW)
		return last;
	/* What came until the stop. After an overflow decoding goes on failing. */
	if (state == WT_SAMPLER_OVERFLOW)
		return state;
	last = decode(s);
	return last == WT_SAMPLER_SAMPLING ? state : last;
}

static enum wt_sampler_state sample(struct sampler *s)
{
	struct wt_producer *producer = s->segment.view.producer;

	while (!is_time_up(s)) {
		struct wt_sampler_plan plan = wt_sampler_policy_next(&s->policy);
		uint64_t cpu_ns, pause_end_ns, start_ns;
		enum wt_sampler_state state;

		s->stretch = (struct wt_sampler_stretch){0};
		wt_sampler_watch_arm(s->timeout_ms, false);
		start_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC);
		state = wt_pm_start(&s->pm, plan.interval_ns, plan.is_rich);
		start_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC) - start_ns;
		wt_sampler_watch_arm(0, false);
		if (state)
			return state;
		cpu_ns = wt_sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - s->tick_cpu_ns;
		wt_store_relaxed(&producer->sample_interval_ns, plan.interval_ns);
		wt_sampler_segment_state(&s->segment, WT_SAMPLER_SAMPLING, 0);
		state = run_stretch(s, &plan);
		wt_store_relaxed(&producer->sample_interval_ns, 0);
		s->stretch.cpu_ns =
		        wt_sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - s->tick_cpu_ns - cpu_ns;
		s->stretch.is_overflow = state == WT_SAMPLER_OVERFLOW;
		wt_log("stretch: %llu %s samples every %llu ns, %llu ns of CPU, start took %llu "
		       "ns, %llu came again or late so far%s",
		       (unsigned long long)s->stretch.samples, plan.is_rich ? "rich" : "plain",
		       (unsigned long long)plan.interval_ns, (unsigned long long)s->stretch.cpu_ns,
		       (unsigned long long)start_ns, (unsigned long long)s->pm.repeated,
		       s->stretch.is_overflow ? ", overflow" : "");
		wt_add_relaxed(&producer->sample_overflows, s->stretch.is_overflow);
		if (state != WT_SAMPLER_SAMPLING && state != WT_SAMPLER_OVERFLOW)
			return state;
		if (!wt_sampler_policy_learn(&s->policy, &s->stretch))
			return WT_SAMPLER_OVERFLOW;
		pause_end_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC) + plan.pause_ns;
		while (plan.pause_ns && !is_time_up(s) &&
		       wt_sampler_clock_ns(CLOCK_MONOTONIC) < pause_end_ns) {
			(void)wt_sampler_watch_wait(until(s, pause_end_ns, SECOND));
			tick(s);
		}
	}
	return WT_SAMPLER_ENDED;
}

/* ---- only whether it would work */

static enum wt_sampler_state check(struct sampler *s)
{
	/* what not every device has */
	static const char *const words[WT_PM_COLUMNS] = {[WT_PM_WARPS] = "resident warps",
	                                                 [WT_PM_TENSOR] = "tensor pipe",
	                                                 [WT_PM_DRAM_READ] = "DRAM",
	                                                 [WT_PM_INSTRUCTIONS] = "issue slots"};
	enum wt_sampler_state state;

	wt_sampler_watch_arm(s->timeout_ms, true);
	state = wt_pm_start(&s->pm, s->policy.base_ns, s->pm.has_rich);
	if (!state)
		state = wt_pm_stop(&s->pm);
	wt_sampler_watch_arm(0, false);
	if (state)
		return state;
	printf("%s can be sampled: active SMs, SM clock", s->device.name);
	for (size_t i = 0; i < s->pm.metrics->count; i++)
		if (words[s->pm.metrics->column[i]])
			printf(", %s", words[s->pm.metrics->column[i]]);
	printf("\n");
	fflush(stdout); /* one of several ends with _exit */
	return WT_SAMPLER_ENDED;
}

/* ---- the whole */

/* `s->detail` and the words, for whoever reads them. */
static void explain(struct sampler *s, enum wt_sampler_state state)
{
	char code[128] = "";

	if (s->pm.result) {
		s->detail = (uint64_t)s->pm.result;
		snprintf(code, sizeof(code), " (%s: %d)", s->pm.call, (int)s->pm.result);
	} else if (s->detail) {
		snprintf(code, sizeof(code), " (cuInit: %d)", (int)s->detail);
	}
	wt_sampler_say("%s%s%s%s", s->device.name, s->device.name[0] ? ": " : "",
	               wt_sampler_text(state), code);
}

static void summarise(const struct sampler *s, uint64_t begun_ns)
{
	struct wt_producer *producer = s->segment.view.producer;
	double wall = (double)(wt_sampler_clock_ns(CLOCK_MONOTONIC) - begun_ns);
	double cpu = (double)wt_sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	wt_sampler_say("%s: %llu samples, %llu dropped, %llu overflows, %.2f of a core",
	               s->device.name,
	               (unsigned long long)wt_load_relaxed(&producer->samples_taken),
	               (unsigned long long)wt_load_relaxed(&producer->samples_dropped),
	               (unsigned long long)wt_load_relaxed(&producer->sample_overflows),
	               wall > 0 ? cpu / wall : 0.0);
}

/* ---- by hand: nobody but us can say that samples are lost */

/* The daemon, unless one is at work: beside us, or where it is installed. False: none, and said so. */
static bool start_daemon(struct sampler *s)
{
	char path[WT_PATH_BYTES];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("wavetapd"));
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (slash && !getenv("WAVETAP_DAEMON")) {
		strcpy(slash + 1, "wavetapd");
		if (!access(path, X_OK))
			setenv("WAVETAP_DAEMON", path, 1);
	}
	wt_spawn_daemon(s->data_dir);
	if (wt_daemon_is_expected(s->data_dir))
		return true;
	wt_sampler_say("no wavetapd is at work and none could be started: samples would be lost "
	               "(set WAVETAP_DAEMON to its path)");
	wt_sampler_segment_remove(&s->segment);
	return false;
}

/* Can the daemon store anything there? 0 or -errno. */
static int try_data_dir(struct sampler *s)
{
	int err = wt_path_make_folders(s->data_dir);

	if (!err && access(s->data_dir, W_OK | X_OK))
		err = -errno;
	if (err)
		wt_sampler_say("%s: %s: samples would be lost", s->data_dir, strerror(-err));
	return err;
}

/* After the last sample. False: some are not in the run file, and said so. */
static bool wait_until_stored(struct sampler *s)
{
	const struct timespec pause = {.tv_nsec = STORE_POLL_MS * (long)MS};
	uint64_t begun_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC);

	while (!wt_sampler_segment_is_stored(&s->segment)) {
		if (wt_sampler_clock_ns(CLOCK_MONOTONIC) - begun_ns > STORE_NS) {
			wt_sampler_say("wavetapd has not stored all samples: what it does not take "
			               "any more is lost (wavetap status says why)");
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

static int begin(struct sampler *s)
{
	const char *timeout = getenv("WAVETAP_SAMPLER_TIMEOUT_MS"); /* for the tests */
	int err = wt_path_data_dir(s->data_dir);

	s->timeout_ms = timeout ? strtoull(timeout, NULL, 10) : TIMEOUT_MS;
	wt_sampler_policy_init(&s->policy, s->options->interval_ns, false);
	if (err) {
		wt_sampler_say("no data directory (set WAVETAP_DIR): %s", strerror(-err));
		return err;
	}
	if (!s->options->until_eof && !s->options->is_check && try_data_dir(s))
		return -EACCES;
	err = wt_sampler_segment_open(&s->segment, s->data_dir, s->policy.base_ns);
	if (err) {
		wt_sampler_say("no segment in %s: %s", wt_path_shm_dir(), strerror(-err));
		return err;
	}
	/* A run that asked for samples wants to know why there are none; by hand, a line will do. */
	if (s->options->until_eof)
		wt_sampler_segment_publish(&s->segment);
	err = wt_sampler_watch_start(&s->segment, s->options->until_eof, s->options->parent);
	if (err) {
		wt_sampler_say("no watchdog: %s", strerror(-err));
		wt_sampler_segment_finish(&s->segment, WT_SAMPLER_FAILED, 0);
	}
	return err;
}

int wt_sampler_run(const struct wt_sampler_options *options)
{
	static struct sampler sampler; /* large, and its segment is the watchdog's too */
	struct sampler *s = &sampler;
	uint64_t begun_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC);
	bool is_by_hand = !options->until_eof && !options->is_check, is_published = false;
	enum wt_sampler_state state;

	s->options = options;
	if (begin(s))
		return WT_SAMPLER_EXIT_FAILED;
	wt_sampler_watch_arm(s->timeout_ms, true);
	state = set_up(s);
	wt_sampler_watch_arm(0, false);
	if (!state && options->is_check) {
		state = check(s);
	} else if (!state) {
		if (is_by_hand) {
			is_published = true;
			wt_sampler_segment_publish(&s->segment);
			if (!start_daemon(s)) {
				wt_pm_close(&s->pm);
				return WT_SAMPLER_EXIT_FAILED;
			}
			wt_sampler_say("%s: sampling", s->device.name);
		}
		begun_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC);
		s->end_ns = options->duration_ns ? begun_ns + options->duration_ns : 0;
		state = sample(s);
	}
	wt_sampler_watch_arm(s->timeout_ms < END_TIMEOUT_MS ? s->timeout_ms : END_TIMEOUT_MS,
	                     false);
	wt_pm_close(&s->pm);
	wt_sampler_watch_arm(0, false);
	if (state != WT_SAMPLER_ENDED)
		explain(s, state);
	else if (is_by_hand)
		summarise(s, begun_ns);
	wt_sampler_segment_finish(&s->segment, state, s->detail);
	if (is_published && !wait_until_stored(s) && state == WT_SAMPLER_ENDED)
		return WT_SAMPLER_EXIT_FAILED;
	return state == WT_SAMPLER_ENDED ? 0 : (int)state;
}

/*
 * pm_others.h - the parts of pm_probe.c that need several processes, and how each part gets one.
 *
 * Included by pm_probe.c alone. A child is this program again, `pm_probe child WHAT [ARGUMENT]`, so
 * that no state of CUPTI is shared. The parent waits for it, up to a limit, and kills it by its pid.
 */
#ifndef PM_OTHERS_H
#define PM_OTHERS_H

#define CHILD_LIMIT_S 40
#define READY_FD 9

/* Starts a child whose READY_FD is `ready_fd`, if that is not negative. */
static pid_t start_child(const char *what, const char *argument, int ready_fd)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	if (ready_fd >= 0)
		dup2(ready_fd, READY_FD);
	execl("/proc/self/exe", "pm_probe", "child", what, argument, (char *)NULL);
	_exit(127);
}

/* 0, or 1 if it ended in a bad way, which is printed. */
static int await_child(pid_t pid, const char *what, const char *argument)
{
	const struct timespec pause = {0, 10000000};
	int64_t limit_ns = clock_ns(CLOCK_MONOTONIC) + CHILD_LIMIT_S * INT64_C(1000000000);
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		nanosleep(&pause, NULL);
		if (clock_ns(CLOCK_MONOTONIC) < limit_ns)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		printf("%-10s %s: TIMEOUT after %d s\n", what, argument ? argument : "",
		       CHILD_LIMIT_S);
		return 1;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) > 1) {
		printf("%-10s %s: exit status %d\n", what, argument ? argument : "",
		       WEXITSTATUS(status));
		return 1;
	}
	if (WIFSIGNALED(status)) {
		printf("%-10s %s: ended by signal %d\n", what, argument ? argument : "",
		       WTERMSIG(status));
		return 1;
	}
	return 0;
}

static int run_child(const char *what, const char *argument)
{
	return await_child(start_child(what, argument, -1), what, argument);
}

static int run_sets(const char *what, int count)
{
	int failures = 0;

	for (int i = 0; i < count; i++) {
		char index[16];

		snprintf(index, sizeof(index), "%d", i);
		failures += run_child(what, index);
	}
	return failures;
}

/* ---- the range profiler ---- */

struct range {
	CUpti_RangeProfiler_Object *object;
	uint8_t *image;
	size_t image_bytes;
};

static bool range_config(struct pm *pm, struct range *range)
{
	PARAMS(RangeProfiler_GetCounterDataSize, size);
	PARAMS(RangeProfiler_CounterDataImage_Initialize, init);
	PARAMS(RangeProfiler_SetConfig, set);

	size.pRangeProfilerObject = init.pRangeProfilerObject = set.pRangeProfilerObject =
	        range->object;
	size.pMetricNames = (const char **)pm->set->metrics;
	size.numMetrics = pm->metric_count;
	size.maxNumOfRanges = size.maxNumRangeTreeNodes = 8;
	if (!step(pm, "RangeProfilerGetCounterDataSize",
	          cuptiRangeProfilerGetCounterDataSize(&size)))
		return false;
	range->image_bytes = init.counterDataSize = set.counterDataImageSize = size.counterDataSize;
	range->image = init.pCounterData = set.pCounterDataImage = calloc(1, range->image_bytes);
	set.configSize = pm->config_bytes;
	set.pConfig = pm->config;
	set.range = CUPTI_AutoRange;
	set.replayMode = CUPTI_KernelReplay;
	set.maxRangesPerPass = 8;
	set.numNestingLevels = set.minNestingLevel = 1;
	return step(pm, "RangeCounterDataImageInitialize",
	            cuptiRangeProfilerCounterDataImageInitialize(&init)) &&
	       step(pm, "RangeProfilerSetConfig", cuptiRangeProfilerSetConfig(&set));
}

/* From nothing to an enabled and started range profiler. */
static bool range_begin(struct pm *pm, struct range *range, struct work *work)
{
	PARAMS(Profiler_Initialize, init);
	PARAMS(Device_GetChipName, chip);
	PARAMS(Profiler_GetCounterAvailability, available);
	PARAMS(RangeProfiler_Enable, enable);
	PARAMS(RangeProfiler_Start, start);

	if (!work_begin(work, pm) ||
	    !step(pm, "ProfilerInitialize", cuptiProfilerInitialize(&init)) ||
	    !step(pm, "DeviceGetChipName", cuptiDeviceGetChipName(&chip)))
		return false;
	pm->chip = chip.pChipName;
	available.ctx = enable.ctx = work->context;
	if (!step(pm, "GetCounterAvailability", cuptiProfilerGetCounterAvailability(&available)))
		return false;
	pm->availability = available.pCounterAvailabilityImage =
	        calloc(1, available.counterAvailabilityImageSize);
	if (!step(pm, "GetCounterAvailability", cuptiProfilerGetCounterAvailability(&available)) ||
	    !pm_host(pm, CUPTI_PROFILER_TYPE_RANGE_PROFILER) || !pm_configure(pm) ||
	    !step(pm, "RangeProfilerEnable", cuptiRangeProfilerEnable(&enable)))
		return false;
	range->object = start.pRangeProfilerObject = enable.pRangeProfilerObject;
	return range_config(pm, range) &&
	       step(pm, "RangeProfilerStart", cuptiRangeProfilerStart(&start));
}

/* One spinning launch on half the SMs, measured. */
static bool range_measure(struct pm *pm, struct range *range, struct work *work, double *ret_share)
{
	PARAMS(RangeProfiler_Stop, stop);
	PARAMS(RangeProfiler_DecodeData, decode);
	PARAMS(Profiler_Host_EvaluateToGpuValues, values);
	double value[PM_METRICS_MAX] = {0};

	work_launch(pm, work->spin, (unsigned)work->sms / 2, 1024, 200000);
	work_wait();
	stop.pRangeProfilerObject = decode.pRangeProfilerObject = range->object;
	values.pHostObject = pm->host;
	values.pCounterDataImage = range->image;
	values.counterDataImageSize = range->image_bytes;
	values.ppMetricNames = (const char **)pm->set->metrics;
	values.numMetrics = pm->metric_count;
	values.pMetricValues = value;
	if (!step(pm, "RangeProfilerStop", cuptiRangeProfilerStop(&stop)) ||
	    !step(pm, "RangeProfilerDecodeData", cuptiRangeProfilerDecodeData(&decode)) ||
	    !step(pm, "RangeEvaluate", cuptiProfilerHostEvaluateToGpuValues(&values)))
		return false;
	*ret_share = value[3] > 0 ? value[0] / value[3] : 0;
	return true;
}

/* ---- children of `second` ---- */

static void tell_ready(bool is_fine)
{
	char byte = is_fine ? 'y' : 'n';

	if (write(READY_FD, &byte, 1) != 1)
		exit(1);
}

/* Holds the counters for 15 s, or until it is killed. */
static int child_hold(const char *how)
{
	struct pm pm = {.set = &sets[SET_ALL], .hardware_bytes = 64 << 20};
	struct range range = {0};
	struct work work = {0};
	struct tally tally = {0};
	bool is_sampling = !strcmp(how, "pm");
	bool is_fine = is_sampling ? pm_begin(&pm, 50000) : range_begin(&pm, &range, &work);

	tell_ready(is_fine);
	if (!is_fine)
		return report_failure(&pm, "hold");
	if (!is_sampling) {
		sleep(15);
		return 0;
	}
	if (!drain_for(&pm, &tally, 50000, 15))
		report_failure(&pm, "holder");
	return 0;
}

static int child_try_pm(const char *when)
{
	struct pm pm = {.set = &sets[SET_ALL], .hardware_bytes = 64 << 20};
	struct tally tally = {0};
	int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);

	if (pm_begin(&pm, 50000) && drain_for(&pm, &tally, 50000, 0.2))
		printf("%-10s PM sampling %s: works, %ld samples in 0.2 s, set up in %.0f ms\n",
		       "second", when, tally.samples,
		       (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns - 200000000) / 1e6);
	else
		printf("%-10s PM sampling %s: %s says %d %s, after %.0f ms\n", "second", when,
		       pm.failed, pm.code, code_text(pm.code),
		       (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6);
	fflush(stdout);
	if (!pm.failed) {
		pm_stop(&pm);
		pm_disable(&pm);
	}
	return 0;
}

static int child_try_range(const char *when)
{
	struct pm pm = {.set = &sets[SET_ALL]};
	struct range range = {0};
	struct work work = {0};
	double share = 0;

	if (range_begin(&pm, &range, &work) && range_measure(&pm, &range, &work, &share))
		printf("%-10s range profiler %s: works, active share %.4f of a launch on half the "
		       "SMs\n",
		       "second", when, share);
	else
		printf("%-10s range profiler %s: %s says %d %s\n", "second", when, pm.failed,
		       pm.code, pm.code > 0 ? code_text(pm.code) : "(driver)");
	fflush(stdout);
	return 0;
}

/* Starts a holder and waits until it holds; -1: it could not. */
static pid_t start_holder(const char *how)
{
	int ends[2];
	char byte = 'n';
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = start_child("hold", how, ends[1]);
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		byte = 'n';
	close(ends[0]);
	if (byte == 'y')
		return pid;
	await_child(pid, "hold", how);
	printf("%-10s nobody holds by %s\n", "second", how);
	return -1;
}

static void end_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int part_second(const char *unused)
{
	int failures = 0;
	pid_t holder;

	(void)unused;
	failures += run_child("try-range", "with nobody else");
	holder = start_holder("pm");
	if (holder > 0) {
		failures += run_child("try-pm", "beside PM sampling");
		failures += run_child("try-range", "beside PM sampling");
		end_holder(holder);
		failures += run_child("try-pm", "right after kill -9 of PM sampling");
		failures += run_child("try-pm", "once more");
		failures += run_child("try-range", "after kill -9 of PM sampling");
	}
	holder = start_holder("range");
	if (holder > 0) {
		failures += run_child("try-pm", "beside a range profiler");
		failures += run_child("try-range", "beside a range profiler");
		end_holder(holder);
		failures += run_child("try-pm", "right after kill -9 of a range profiler");
	}
	return failures;
}

/* ---- parts by name ---- */

static int child(const char *what, const char *argument)
{
	int which = argument ? atoi(argument) : 0;

	if (which < 0 || (!strcmp(what, "passes") && which >= SETS))
		return 2;
	if (!strcmp(what, "names"))
		return part_names(argument);
	if (!strcmp(what, "passes"))
		return part_passes(which, getenv("PM_PROBE_CHIP"));
	if (!strcmp(what, "rotate"))
		return part_rotate();
	if (!strcmp(what, "cost"))
		return part_cost(which % COSTS);
	if (!strcmp(what, "setup"))
		return part_setup(which % SETS_MEASURED);
	if (!strcmp(what, "intervals"))
		return part_interval((uint64_t)which);
	if (!strcmp(what, "change"))
		return part_change();
	if (!strcmp(what, "work"))
		return part_work(which % SETS_MEASURED);
	if (!strcmp(what, "overflow"))
		return part_overflow();
	if (!strcmp(what, "hold") && argument)
		return child_hold(argument);
	if (!strcmp(what, "try-pm") && argument)
		return child_try_pm(argument);
	if (!strcmp(what, "try-range") && argument)
		return child_try_range(argument);
	return 2;
}

static int run_names(const char *chip)
{
	return run_child("names", chip);
}

static int run_passes(const char *chip)
{
	if (chip)
		setenv("PM_PROBE_CHIP", chip, 1);
	return run_sets("passes", SETS);
}

static int run_rotate(const char *unused)
{
	(void)unused;
	return run_sets("rotate", 1);
}

static int run_cost(const char *unused)
{
	(void)unused;
	return run_sets("cost", COSTS);
}

static int run_setup(const char *unused)
{
	(void)unused;
	return run_sets("setup", SETS_MEASURED);
}

static int run_intervals(const char *only)
{
	static const char *const intervals_ns[] = {"5000",  "10000", "20000", "30000",
	                                           "47000", "50000", "53000", "100000"};
	int failures = 0;

	if (only)
		return run_child("intervals", only);
	for (size_t i = 0; i < sizeof(intervals_ns) / sizeof(*intervals_ns); i++)
		failures += run_child("intervals", intervals_ns[i]);
	return failures;
}

static int run_change(const char *unused)
{
	(void)unused;
	return run_child("change", NULL);
}

static int run_work(const char *unused)
{
	(void)unused;
	return run_child("work", "2") + run_child("work", "3"); /* SET_ALL, SET_INSTRUCTIONS */
}

static int run_overflow(const char *unused)
{
	(void)unused;
	return run_child("overflow", NULL);
}

static const struct {
	const char *name;
	int (*run)(const char *argument); /* how many children ended in a bad way */
} parts[] = {
        {"names", run_names},         {"passes", run_passes}, {"setup", run_setup},
        {"cost", run_cost},           {"rotate", run_rotate}, {"work", run_work},
        {"intervals", run_intervals}, {"change", run_change}, {"second", part_second},
        {"overflow", run_overflow},
};

#endif /* PM_OTHERS_H */

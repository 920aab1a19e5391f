/*
 * test_fake_pm.c - the simulated PM sampling against the truth of the simulated
 * device, across processes, and what it refuses. Each case is a child process
 * (fake_case.h) that samples; the application is a child of that. Checks are
 * made here, from one thread.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake/fake_counters.h"
#include "tests/tap.h"
#include "tests/unit/pm_case.h"

#define ALL                                                                                        \
	"sm__cycles_active.avg,sm__cycles_active.min,sm__cycles_active.max,"                       \
	"sm__cycles_elapsed.max,sm__warps_active.avg,sm__pipe_tensor_cycles_active.avg,"           \
	"dram__bytes_read.sum,dram__bytes_write.sum,"                                              \
	"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed,"                         \
	"TPC.TriageCompute.sm__inst_executed_realtime.sum"
#define ALL_COUNT 10
#define SMS 132
#define CYCLES_PER_NS 1.98

/* What a case finds: the sums of ALL over the samples, cycles as ns, averages times SMs; then these. */
enum {
	V_ACTIVE,
	V_MIN,
	V_MAX,
	V_ELAPSED,
	V_WARPS,
	V_TENSOR,
	V_READ,
	V_WRITE,
	V_SHARE, /* % of the tensor pipe's peak, times ns */
	V_INSTRUCTIONS, /* over the clock */
	V_SAMPLES,
	V_WALL,
	V_HOLES,
	V_FIRST_START, /* of the first sample with activity */
	V_FIRST_END,
	V_TRUTH_BUSY,
	V_TRUTH_START,
	V_TRUTH_END, /* of the last kernel in the file */
	V_FIRST_NS, /* length of the first sample, which is in no sum */
	V_RESULT
};

static size_t sampled_device;
static char pm_path[] = "/tmp/wtfake-pm-XXXXXX";
static char counters_path[] = "/tmp/wtfake-counters-XXXXXX";
static struct case_found got;

/* ---- in the child ------------------------------------------------------------------------ */

struct sums {
	double value[ALL_COUNT];
	uint64_t last_end_ns;
};

static void add(void *data, uint64_t start_ns, uint64_t end_ns, const double *values)
{
	struct sums *sums = data;

	if (!found->value[V_FIRST_NS]) { /* not an interval: see README.md */
		found->value[V_FIRST_NS] = (int64_t)(end_ns - start_ns);
		return;
	}
	for (int i = 0; i < ALL_COUNT; i++)
		sums->value[i] += values[i] * (i == V_SHARE ? (double)(end_ns - start_ns) : 1.0);
	if (values[0] > 0 && !found->value[V_FIRST_START]) {
		found->value[V_FIRST_START] = (int64_t)start_ns;
		found->value[V_FIRST_END] = (int64_t)end_ns;
	}
	if (sums->last_end_ns && sums->last_end_ns != start_ns)
		found->value[V_HOLES]++;
	found->value[V_WALL] += (int64_t)(end_ns - start_ns);
	found->value[V_SAMPLES]++;
	sums->last_end_ns = end_ns;
}

static void report(const struct sums *sums)
{
	for (int i = 0; i < V_READ; i++)
		found->value[i] = llround(sums->value[i] / CYCLES_PER_NS *
		                          (i == V_MIN || i == V_MAX || i == V_ELAPSED ? 1 : SMS));
	found->value[V_READ] = llround(sums->value[V_READ]);
	found->value[V_WRITE] = llround(sums->value[V_WRITE]);
	found->value[V_SHARE] = llround(sums->value[V_SHARE]);
	found->value[V_INSTRUCTIONS] = llround(sums->value[V_INSTRUCTIONS] / CYCLES_PER_NS);
}

/* What the device says of itself. */
static void truth_sum(void)
{
	FILE *file = fopen(getenv("WTFAKE_TRUTH"), "r");
	char line[2048];

	while (file && fgets(line, sizeof(line), file)) {
		const char *busy = strstr(line, "\"busy_sm_ns\":");
		const char *start = strstr(line, "\"start_ns\":");
		const char *end = strstr(line, "\"end_ns\":");

		if (!busy || !start || !end)
			continue;
		found->value[V_TRUTH_BUSY] += strtoll(busy + 13, NULL, 10);
		found->value[V_TRUTH_END] = strtoll(end + 9, NULL, 10);
		if (!found->value[V_TRUTH_START])
			found->value[V_TRUTH_START] = strtoll(start + 11, NULL, 10);
	}
	if (file)
		fclose(file);
}

/* A process of its own that does as told once a byte comes; made before cuInit, as CUDA wants it. */
static pid_t process_new(void (*application)(void), int *ret_go)
{
	int pipes[2];
	char byte;
	pid_t pid;

	if (pipe(pipes))
		_exit(102);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) == 1)
			application();
		_exit(0);
	}
	close(pipes[0]);
	*ret_go = pipes[1];
	return pid;
}

static void process_go(int go)
{
	case_must(write(go, "x", 1) != 1, "write");
	close(go);
}

static void sample(void (*application)(void), uint64_t interval_ns, uint32_t max_samples)
{
	struct pm_session s = {.device_index = sampled_device};
	struct sums sums = {0};
	int go, status;
	pid_t pid = process_new(application, &go);

	pm_bind();
	pm_begin(&s, ALL, interval_ns, max_samples);
	usleep(2000); /* the first sample, which is of the time before, is over */
	process_go(go);
	while (!waitpid(pid, &status, WNOHANG)) {
		pm_drain(&s, add, &sums);
		usleep(2000);
	}
	case_must(status, "the application");
	usleep(1000); /* the last sample is whole */
	pm_stop(&s);
	while (pm_drain(&s, add, &sums) > 0)
		;
	pm_disable(&s);
	report(&sums);
	truth_sum();
}

/* ---- cases ---------------------------------------------------------------------------------- */

/* Shapes with tails, slow blocks, few blocks, many waves; back to back and with pauses. */
static void launch_many(const char *directive)
{
	static const unsigned int grids[] = {1, 66, 132, 267, 554, 4541, 20000};
	wtcu_function f = case_start(directive);

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
			MUST(case_launch(f, grids[i], 1024, NULL));
		if (round == 1)
			MUST(api.cuCtxSynchronize());
	}
	MUST(api.cuCtxSynchronize());
}

static void app_plain(void)
{
	launch_many("block_ns=20000 tensor=0.5 issue=0.25 dram_bytes_per_ns=100 "
	            "dram_write_bytes_per_ns=50");
}

static void app_jitter(void)
{
	launch_many("block_ns=9000 jitter=0.3 slow_every=97 slow_factor=6");
}

static void app_sharing(void)
{
	launch_many("block_ns=5000 sharing=1 jitter=0.1");
}

static void app_streams(void)
{
	wtcu_function f = case_start("block_ns=30000 regs=16");
	wtcu_stream stream[2];

	for (int i = 0; i < 2; i++)
		MUST(api.cuStreamCreate(&stream[i], 1));
	for (int i = 0; i < 20; i++)
		MUST(case_launch(f, 100, 64, stream[i % 2]));
	MUST(api.cuCtxSynchronize());
}

static void app_one(void)
{
	MUST(case_launch(case_start("block_ns=400000"), 1, 96, NULL));
	MUST(api.cuCtxSynchronize());
}

static void app_capture(void)
{
	wtcu_function f = case_start("block_ns=10000");
	wtcu_graph_exec exec;
	wtcu_stream stream;
	wtcu_graph graph;

	MUST(api.cuStreamCreate(&stream, 1));
	MUST(api.cuStreamBeginCapture_v2(stream, 0));
	for (int i = 0; i < 10; i++)
		MUST(case_launch(f, 300, 1024, stream));
	MUST(api.cuStreamEndCapture(stream, &graph));
	MUST(api.cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 5; i++)
		MUST(api.cuGraphLaunch(exec, stream));
	MUST(api.cuCtxSynchronize());
}

static void case_plain(void)
{
	sample(app_plain, 50000, 100);
}

static void case_jitter(void)
{
	sample(app_jitter, 37000, 3000);
}

static void case_sharing(void)
{
	sample(app_sharing, 50000, 500);
}

static void case_streams(void)
{
	sample(app_streams, 30000, 500);
}

/* All SMs have a block of the first kernel, then of both, then of the second. */
static void app_overlap(void)
{
	wtcu_function f = case_start("block_ns=200000000 regs=16");
	wtcu_stream stream[2];

	for (int i = 0; i < 2; i++)
		MUST(api.cuStreamCreate(&stream[i], 1));
	MUST(case_launch(f, SMS, 64, stream[0]));
	usleep(500);
	MUST(case_launch(f, SMS, 64, stream[1]));
	MUST(api.cuCtxSynchronize());
}

/* The process sees a single device, which is the host's second. */
static void app_second_device(void)
{
	setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	app_one();
}

static void case_overlap(void)
{
	sample(app_overlap, 50000, 500);
}

static void case_first_device(void)
{
	sample(app_second_device, 50000, 500);
}

static void case_second_device(void)
{
	sampled_device = 1;
	sample(app_second_device, 50000, 500);
}

static void case_one(void)
{
	sample(app_one, 50000, 500);
}

static void case_graph(void)
{
	sample(app_capture, 40000, 500);
}

static void case_dropped(void)
{
	sample(app_one, 50000, 500);
}

static void case_overflow(void)
{
	struct wtcupti_pm_start start = {.struct_size = WTCUPTI_PM_START_BYTES};
	struct pm_session s = {0};

	pm_bind();
	pm_begin(&s, ALL, 10000, 100);
	start.object = s.object;
	usleep(20000);
	found->value[V_RESULT] = pm_drain(&s, NULL, NULL);
	found->value[0] = pm_drain(&s, NULL, NULL);
	pm_stop(&s);
	found->value[1] = pm_set_config(&s, 10000);
	found->value[2] = pm.cuptiPmSamplingStart(&start);
	pm_disable(&s);
	pm_enable(&s);
	MUST(pm_set_config(&s, 10000000));
	pm_image(&s, 100);
	pm_start(&s);
	pm_stop(&s);
	found->value[3] = pm_drain(&s, NULL, NULL);
	pm_disable(&s);
}

static uint64_t first_end_ns, last_end_ns;

/* Samples in the image after decoding once; and when the first and last of all ended. */
static int decode_once(struct pm_session *s)
{
	struct wtcupti_pm_decode_data decode = {.struct_size = WTCUPTI_PM_DECODE_DATA_BYTES,
	                                        .object = s->object,
	                                        .image = s->image,
	                                        .image_bytes = s->image_bytes};
	struct wtcupti_pm_get_counter_data_info info = {
	        .struct_size = WTCUPTI_PM_GET_COUNTER_DATA_INFO_BYTES,
	        .image = s->image,
	        .image_bytes = s->image_bytes};
	struct wtcupti_pm_get_sample_info times = {.struct_size = WTCUPTI_PM_GET_SAMPLE_INFO_BYTES,
	                                           .object = s->object,
	                                           .image = s->image,
	                                           .image_bytes = s->image_bytes};

	MUST(pm.cuptiPmSamplingDecodeData(&decode));
	MUST(pm.cuptiPmSamplingGetCounterDataInfo(&info));
	for (; times.index < info.completed_samples; times.index++) {
		MUST(pm.cuptiPmSamplingCounterDataGetSampleInfo(&times));
		first_end_ns = first_end_ns ? first_end_ns : times.end;
		last_end_ns = times.end;
	}
	return (int)info.completed_samples;
}

/* Two sets of metrics within one Enable. */
static void case_other_set(void)
{
	struct pm_session s = {0}, other = {0};
	struct wtcupti_pm_counter_data_image_initialize init = {
	        .struct_size = WTCUPTI_PM_COUNTER_DATA_IMAGE_INITIALIZE_BYTES};

	pm_bind();
	pm_begin(&s, ALL, 100000, 100);
	pm_stop(&s);
	pm_host(&other, "sm__cycles_active.avg");
	other.object = s.object;
	found->value[0] = pm_set_config(&other, 100000);
	pm_image(&other, 100);
	pm_start(&other);
	usleep(20000);
	found->value[1] = decode_once(&other);
	init.object = other.object;
	init.image = other.image;
	init.image_bytes = other.image_bytes;
	found->value[2] = pm.cuptiPmSamplingCounterDataImageInitialize(&init);
	pm_stop(&other);
	pm_disable(&other);
}

static void case_anew(void)
{
	struct pm_session s = {0};

	pm_bind();
	pm_begin(&s, ALL, 1000000, 1000);
	for (int i = 0; i < 10; i++) {
		usleep(10000);
		found->value[0] += decode_once(&s);
	}
	pm_stop(&s);
	found->value[0] += decode_once(&s);
	found->value[1] = (int64_t)(last_end_ns - first_end_ns) / 1000000 + 1;
}

static wtcupti_result enable_only(void)
{
	struct wtcupti_profiler_initialize init = {WTCUPTI_PROFILER_INITIALIZE_BYTES, NULL};
	struct wtcupti_pm_enable enable = {.struct_size = WTCUPTI_PM_ENABLE_BYTES};

	pm_bind();
	MUST(api.cuInit(0));
	MUST(pm.cuptiProfilerInitialize(&init));
	return pm.cuptiPmSamplingEnable(&enable);
}

static void app_enable(void)
{
	_exit(enable_only());
}

/* Somebody else has the counters: another process, the same one; then nobody. */
static void case_busy(void)
{
	struct wtcupti_pm_enable again = {.struct_size = WTCUPTI_PM_ENABLE_BYTES};
	struct pm_session s = {0};
	int go[2], status;
	pid_t other[2];

	for (int i = 0; i < 2; i++)
		other[i] = process_new(app_enable, &go[i]);
	pm_bind();
	pm_begin(&s, ALL, 10000, 100);
	process_go(go[0]);
	waitpid(other[0], &status, 0);
	found->value[0] = WEXITSTATUS(status);
	found->value[1] = pm.cuptiPmSamplingEnable(&again);
	pm_stop(&s);
	pm_disable(&s);
	process_go(go[1]);
	waitpid(other[1], &status, 0);
	found->value[2] = WEXITSTATUS(status);
	found->value[3] = pm.cuptiPmSamplingEnable(&again); /* its last owner is dead */
}

/* The range profiler of an application, while its device is sampled. */
static void app_range(void)
{
	struct wtcupti_profiler_initialize init = {WTCUPTI_PROFILER_INITIALIZE_BYTES, NULL};
	struct wtcupti_range_enable enable = {.struct_size = WTCUPTI_RANGE_ENABLE_BYTES};
	struct wtcupti_profiler_get_counter_availability available = {
	        .struct_size = WTCUPTI_PROFILER_GET_COUNTER_AVAILABILITY_BYTES};
	struct wtcupti_pm_get_counter_availability pm_available = {
	        .struct_size = WTCUPTI_PM_GET_COUNTER_AVAILABILITY_BYTES};
	wtcupti_profiler_get_counter_availability_fn get_availability;
	wtcupti_range_enable_fn range_enable;

	pm_bind();
	*(void **)&range_enable = case_symbol("cuptiRangeProfilerEnable");
	*(void **)&get_availability = case_symbol("cuptiProfilerGetCounterAvailability");
	case_start("block_ns=1000");
	MUST(pm.cuptiProfilerInitialize(&init));
	if (get_availability(&available) != WTCUPTI_ERROR_HARDWARE_BUSY ||
	    pm.cuptiPmSamplingGetCounterAvailability(&pm_available) != WTCUPTI_ERROR_HARDWARE_BUSY)
		_exit(99);
	_exit(range_enable(&enable));
}

static void case_range(void)
{
	struct pm_session s = {0};
	int go, status;
	pid_t other = process_new(app_range, &go);

	pm_bind();
	pm_begin(&s, ALL, 10000, 100);
	process_go(go);
	waitpid(other, &status, 0);
	found->value[0] = WEXITSTATUS(status);
}

/* A process that ends without having put anything away. */
static void app_leave(void)
{
	static struct pm_session s; /* its memory is no leak */

	setenv("WTFAKE_COUNTERS", counters_path, 1);
	pm_bind();
	pm_begin(&s, ALL, 10000, 100);
	exit(0);
}

static void case_left(void)
{
	int go, status;
	pid_t pid = process_new(app_leave, &go);

	process_go(go);
	waitpid(pid, &status, 0);
	found->value[0] = status;
}

static void case_enable(void)
{
	found->value[0] = enable_only();
}

static void case_metrics(void)
{
	static const char *unknown[] = {"sm__cycles_active.avg", "sm__no_such_thing.sum"};
	struct wtcupti_host_config_add_metrics add_unknown = {
	        .struct_size = WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES, .names = unknown, .count = 2};
	struct wtcupti_host_get_num_of_passes passes = {
	        .struct_size = WTCUPTI_HOST_GET_NUM_OF_PASSES_BYTES};
	struct pm_session s = {0};

	pm_bind();
	pm_host(&s, ALL ",sm__issue_active.avg");
	add_unknown.object = s.host;
	found->value[0] = pm.cuptiProfilerHostConfigAddMetrics(&add_unknown);
	passes.image = s.config;
	passes.image_bytes = s.config_bytes;
	MUST(pm.cuptiProfilerHostGetNumOfPasses(&passes));
	found->value[1] = (int64_t)passes.passes;
	pm_enable(&s);
	found->value[2] = pm_set_config(&s, 10000);
	pm_disable(&s);
}

/* ---- checks ----------------------------------------------------------------------------------- */

static void run(const char *env, void (*fn)(void), const char *what)
{
	char words[512];

	memset(&got, 0, sizeof(got));
	case_must(truncate(pm_path, 0), "truncate");
	snprintf(words, sizeof(words), "WTFAKE_PM=%s %s", pm_path, env);
	is_i64(case_run(words, fn, &got), 0, what);
}

/* The counters' file of a process that ended with PM sampling on. */
static void check_left(void)
{
	static struct fake_counters counters;
	uint64_t left = 0;
	FILE *file;

	case_must(mkstemp(counters_path) < 0, "mkstemp");
	run("X=", case_left, "a process that ends while it samples");
	is_i64(got.value[0], 0, "ends well");
	file = fopen(counters_path, "rb");
	case_must(!file || fread(&counters, sizeof(counters), 1, file) != 1, "counters");
	fclose(file);
	for (int i = 0; i < FAKE_COUNTERS_MAX; i++)
		if (!strcmp(counters.counter[i].name, "pm_left_started"))
			left = counters.counter[i].value;
	is_i64((int64_t)left, 1, "but that is told");
	unlink(counters_path);
}

/* A sample's values are doubles, so a sum is right to much less than a ns per kernel. */
static void is_close(int64_t value, double want, const char *what)
{
	ok(fabs((double)value - want) <= 2 + 1e-9 * fabs(want), "%s: %lld, want %.0f", what,
	   (long long)value, want);
}

static void check_truth(const char *env, void (*fn)(void), const char *what)
{
	run(env, fn, what);
	ok(got.value[V_TRUTH_BUSY] > 0, "%s: the truth holds kernels", what);
	is_close(got.value[V_ACTIVE], (double)got.value[V_TRUTH_BUSY],
	         "active SM-time is the truth's");
	is_close(got.value[V_ELAPSED], (double)got.value[V_WALL], "elapsed cycles are the clock's");
	is_i64(got.value[V_HOLES], 0, "samples follow each other");
	ok(got.value[V_FIRST_NS] > 0, "but the first, which is of the time before (%lld ns)",
	   (long long)got.value[V_FIRST_NS]);
}

int main(void)
{
	const double blocks = 3 * (1 + 66 + 132 + 267 + 554 + 4541 + 20000.0);

	case_must(mkstemp(pm_path) < 0, "mkstemp");
	check_truth("X=", case_plain, "plain kernels");
	is_close(got.value[V_WARPS], blocks * 32 * 20000, "warps are blocks times time");
	is_close(got.value[V_TENSOR], 4 * (double)got.value[V_TRUTH_BUSY] / 2,
	         "half the time tensor pipe, in four parts");
	is_close(got.value[V_SHARE], (double)got.value[V_TRUTH_BUSY] / 2 / SMS * 100,
	         "as a share of its peak");
	is_close(got.value[V_INSTRUCTIONS], (double)got.value[V_TRUTH_BUSY],
	         "an instruction a cycle: a quarter of what SMs can issue while active");
	is_close(got.value[V_READ], 2.0 * (double)got.value[V_WRITE], "DRAM reads and writes");
	ok(got.value[V_READ] > 0, "DRAM was read");
	check_truth("X=", case_jitter, "kernels with uneven blocks");
	check_truth("X=", case_sharing, "kernels whose blocks share");
	check_truth("X=", case_graph, "a graph");
	run("X=", case_streams, "two streams");
	is_close(got.value[V_WARPS], 20 * 100 * 2 * 30000.0, "warps of both streams add up");
	run("X=", case_overlap, "two kernels on the same SMs");
	is_close(got.value[V_ACTIVE],
	         SMS * (double)(got.value[V_TRUTH_END] - got.value[V_TRUTH_START]),
	         "active from the start of the first to the end of the second");
	ok(got.value[V_ACTIVE] < got.value[V_TRUTH_BUSY], "which is less than both together");
	run("WTFAKE_DEVICES=2", case_first_device, "another device than the application's");
	is_i64(got.value[V_ACTIVE], 0, "did nothing");
	ok(got.value[V_SAMPLES] > 0, "but was sampled");
	run("WTFAKE_DEVICES=2", case_second_device, "the application's device, by another number");
	is_close(got.value[V_ACTIVE], 400000, "was active");
	run("WTFAKE_PM_OFFSET_NS=250000000 WTFAKE_PM_JITTER_NS=20000", case_one,
	    "one block, clock off");
	is_close(got.value[V_ACTIVE], 400000, "one SM's time");
	is_close(got.value[V_MAX], 400000, "is the greatest");
	is_i64(got.value[V_MIN], 0, "the least is 0");
	is_close(got.value[V_WARPS], 3 * 400000.0, "three warps");
	ok(got.value[V_FIRST_START] <= got.value[V_TRUTH_START] + 250000000 &&
	           got.value[V_FIRST_END] > got.value[V_TRUTH_START] + 250000000,
	   "samples are as far off as told");
	run("WTFAKE_PM_DROP_EVERY=10", case_dropped, "every tenth sample is missing");
	ok(got.value[V_HOLES] >= got.value[V_SAMPLES] / 9 - 1, "there are holes");
	run("WTFAKE_PM_BUFFER_SAMPLES=100", case_overflow, "a full buffer");
	is_i64(got.value[V_RESULT], -1, "is an error");
	is_i64(got.value[0], -1, "and stays one");
	is_i64(got.value[1], WTCUPTI_ERROR_UNKNOWN, "another configuration does not help");
	is_i64(got.value[2], WTCUPTI_ERROR_UNKNOWN, "nor starting");
	ok(got.value[3] >= 0, "sampling works once it is enabled anew");
	run("X=", case_other_set, "another set of metrics");
	is_i64(got.value[0], 0, "is taken");
	is_i64(got.value[1], 0, "but gives no sample");
	is_i64(got.value[2], WTCUPTI_ERROR_UNKNOWN, "and no image any more");
	run("WTFAKE_PM_ANEW=1", case_anew, "decoding that begins the image anew");
	is_i64(got.value[0], got.value[1], "finds as many as came");
	run("X=", case_busy, "several want the counters");
	is_i64(got.value[0], WTCUPTI_ERROR_HARDWARE_BUSY,
	       "another process is told that they are taken");
	is_i64(got.value[1], WTCUPTI_ERROR_INVALID_OPERATION, "so is this one, another way");
	is_i64(got.value[2], 0, "when they are free another process gets them");
	is_i64(got.value[3], 0, "a process that ended has nothing");
	run("X=", case_range, "the range profiler beside another process that samples");
	is_i64(got.value[0], WTCUPTI_ERROR_HARDWARE_BUSY, "is told that the counters are taken");
	check_left();
	run("WTFAKE_UNSUPPORTED=mig", case_enable, "a part of a device");
	is_i64(got.value[0], WTCUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "has no counters");
	run("WTFAKE_FAIL=cuptiPmSamplingEnable:*:35", case_enable, "without the privilege");
	is_i64(got.value[0], WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "it is refused");
	is_i64(case_run("X=", case_enable, &got), 0, "without WTFAKE_PM");
	is_i64(got.value[0], WTCUPTI_ERROR_NOT_SUPPORTED, "a device has no counters");
	run("X=", case_metrics, "metrics");
	is_i64(got.value[0], WTCUPTI_ERROR_INVALID_METRIC_NAME, "one that is not there is refused");
	is_i64(got.value[1], 2, "issue slots take a second pass");
	is_i64(got.value[2], WTCUPTI_ERROR_NOT_SUPPORTED, "more than PM sampling can");
	unlink(pm_path);
	return tap_done();
}

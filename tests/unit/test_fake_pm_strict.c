/*
 * test_fake_pm_strict.c - what the simulated PM sampling does not let a client
 * do. Each case is a child process (fake_case.h) that must die of it; checks
 * are made here, from one thread.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/pm_case.h"

#define NAMES "sm__cycles_active.avg,sm__cycles_elapsed.max"
#define INTERVAL_NS 10000

static char pm_path[] = "/tmp/wtfake-pm-XXXXXX";
static struct pm_session s;

static int run(void (*fn)(void))
{
	char words[128];

	snprintf(words, sizeof(words), "WTFAKE_PM=%s", pm_path);
	return case_run(words, fn, NULL);
}

static void dies(void (*fn)(void), const char *what)
{
	int status = run(fn);

	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s is fatal", what);
}

static void sampling(void)
{
	pm_bind();
	pm_begin(&s, NAMES, INTERVAL_NS, 100);
}

static void enabled(void)
{
	pm_bind();
	pm_host(&s, NAMES);
	pm_enable(&s);
}

static void case_right(void)
{
	struct wtcupti_host_deinitialize host = {.struct_size = WTCUPTI_HOST_DEINITIALIZE_BYTES};
	struct wtcupti_profiler_deinitialize end = {WTCUPTI_PROFILER_DEINITIALIZE_BYTES, NULL};

	sampling();
	pm_drain(&s, NULL, NULL);
	pm_stop(&s);
	pm_drain(&s, NULL, NULL);
	MUST(pm_set_config(&s, 2 * INTERVAL_NS));
	pm_start(&s);
	pm_stop(&s);
	pm_disable(&s);
	host.object = s.host;
	MUST(pm.cuptiProfilerHostDeinitialize(&host));
	MUST(pm.cuptiProfilerDeInitialize(&end));
}

static void case_no_init(void)
{
	struct wtcupti_pm_enable enable = {.struct_size = WTCUPTI_PM_ENABLE_BYTES};

	pm_bind();
	MUST(api.cuInit(0));
	pm.cuptiPmSamplingEnable(&enable);
}

static void case_sizeof(void)
{
	struct wtcupti_pm_decode_data decode = {.struct_size = sizeof(decode)};

	_Static_assert(sizeof(decode) != WTCUPTI_PM_DECODE_DATA_BYTES, "there is padding");
	sampling();
	decode.object = s.object;
	decode.image = s.image;
	decode.image_bytes = s.image_bytes;
	pm.cuptiPmSamplingDecodeData(&decode);
}

static void case_priv(void)
{
	struct wtcupti_pm_start start = {.struct_size = WTCUPTI_PM_START_BYTES, .priv = &s};

	enabled();
	start.object = s.object;
	pm.cuptiPmSamplingStart(&start);
}

static void case_start_unconfigured(void)
{
	enabled();
	pm_start(&s);
}

static void case_decode_unstarted(void)
{
	enabled();
	MUST(pm_set_config(&s, INTERVAL_NS));
	pm_image(&s, 100);
	pm_drain(&s, NULL, NULL);
}

static void case_start_twice(void)
{
	sampling();
	pm_start(&s);
}

static void case_stop_twice(void)
{
	sampling();
	pm_stop(&s);
	pm_stop(&s);
}

static void case_disable_started(void)
{
	sampling();
	pm_disable(&s);
}

static void case_config_started(void)
{
	sampling();
	pm_set_config(&s, INTERVAL_NS);
}

static void case_after_disable(void)
{
	sampling();
	pm_stop(&s);
	pm_disable(&s);
	pm_drain(&s, NULL, NULL);
}

static void case_image_raw(void)
{
	sampling();
	memset(s.image, 0, s.image_bytes);
	pm_drain(&s, NULL, NULL);
}

static void case_image_short(void)
{
	sampling();
	s.image_bytes -= 8;
	pm_drain(&s, NULL, NULL);
}

static void case_image_unasked(void)
{
	struct wtcupti_pm_counter_data_image_initialize init = {
	        .struct_size = WTCUPTI_PM_COUNTER_DATA_IMAGE_INITIALIZE_BYTES,
	        .image = (uint8_t[4096]){0},
	        .image_bytes = 4096,
	};

	enabled();
	init.object = s.object;
	pm.cuptiPmSamplingCounterDataImageInitialize(&init);
}

static void case_sample_beyond(void)
{
	struct wtcupti_pm_get_sample_info info = {
	        .struct_size = WTCUPTI_PM_GET_SAMPLE_INFO_BYTES,
	};

	sampling();
	info.object = s.object;
	info.image = s.image;
	info.image_bytes = s.image_bytes;
	pm.cuptiPmSamplingCounterDataGetSampleInfo(&info); /* nothing was decoded */
}

static void evaluate(const char *name, size_t index)
{
	double value;
	struct wtcupti_host_evaluate_to_gpu_values values = {
	        .struct_size = WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES,
	        .object = s.host,
	        .image = s.image,
	        .image_bytes = s.image_bytes,
	        .index = index,
	        .names = &name,
	        .count = 1,
	        .values = &value,
	};
	struct wtcupti_pm_decode_data decode = {
	        .struct_size = WTCUPTI_PM_DECODE_DATA_BYTES,
	        .object = s.object,
	        .image = s.image,
	        .image_bytes = s.image_bytes,
	};

	usleep(20000);
	MUST(pm.cuptiPmSamplingDecodeData(&decode));
	MUST(pm.cuptiProfilerHostEvaluateToGpuValues(&values));
}

static void case_evaluate_right(void)
{
	sampling();
	evaluate("sm__cycles_active.avg", 99);
}

static void case_evaluate_beyond(void)
{
	sampling();
	evaluate("sm__cycles_active.avg", 100);
}

static void case_evaluate_other(void)
{
	sampling();
	evaluate("sm__warps_active.avg", 0);
}

static void case_config_short(void)
{
	enabled();
	s.config_bytes--;
	pm_set_config(&s, INTERVAL_NS);
}

static void case_config_damaged(void)
{
	enabled();
	s.config[0] ^= 1;
	pm_set_config(&s, INTERVAL_NS);
}

static void case_end_twice(void)
{
	struct wtcupti_profiler_initialize init = {WTCUPTI_PROFILER_INITIALIZE_BYTES, NULL};
	struct wtcupti_profiler_deinitialize end = {WTCUPTI_PROFILER_DEINITIALIZE_BYTES, NULL};

	pm_bind();
	MUST(pm.cuptiProfilerInitialize(&init));
	MUST(pm.cuptiProfilerDeInitialize(&end));
	pm.cuptiProfilerDeInitialize(&end);
}

static void case_end_with_host(void)
{
	struct wtcupti_profiler_deinitialize end = {WTCUPTI_PROFILER_DEINITIALIZE_BYTES, NULL};

	pm_bind();
	pm_host(&s, NAMES);
	pm.cuptiProfilerDeInitialize(&end);
}

int main(void)
{
	static const struct {
		void (*fn)(void);
		const char *what;
	} misuse[] = {
	        {case_no_init, "enabling before the profiler is initialised"},
	        {case_sizeof, "sizeof as the size of a structure"},
	        {case_priv, "priv that is not NULL"},
	        {case_start_unconfigured, "starting without a configuration"},
	        {case_decode_unstarted, "decoding before the start"},
	        {case_start_twice, "starting twice"},
	        {case_stop_twice, "stopping twice"},
	        {case_disable_started, "disabling while sampling"},
	        {case_config_started, "a configuration while sampling"},
	        {case_after_disable, "using what was disabled"},
	        {case_image_raw, "counter data that is not initialised"},
	        {case_image_short, "counter data of another size"},
	        {case_image_unasked, "counter data whose size was not asked for"},
	        {case_sample_beyond, "the time of a sample that is not there"},
	        {case_evaluate_beyond, "values of a sample that is not there"},
	        {case_evaluate_other, "a metric that was not configured"},
	        {case_config_short, "a configuration of another size"},
	        {case_config_damaged, "a damaged configuration"},
	        {case_end_twice, "ending the profiler twice"},
	        {case_end_with_host, "ending it with a host object left"},
	};

	case_must(mkstemp(pm_path) < 0, "mkstemp");
	is_i64(run(case_right), 0, "the right order of calls is accepted");
	is_i64(run(case_evaluate_right), 0, "and the last sample of full counter data");
	for (size_t i = 0; i < sizeof(misuse) / sizeof(misuse[0]); i++)
		dies(misuse[i].fn, misuse[i].what);
	unlink(pm_path);
	return tap_done();
}

/*
 * test_fake_sass.c - the simulated SASS metrics: warps of each physical SM
 * against the blocks that it had, and what a client may not do. Each case is a
 * child process (fake_case.h); checks are made here, from one thread.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libintercept/cupti_profiler_abi.h"
#include "tests/tap.h"
#include "tests/unit/fake_case.h"

#define SMS 132
#define RECORDS_MAX 64

static wtcupti_profiler_initialize_fn profiler_initialize;
static wtcupti_sass_get_num_of_metrics_fn get_num_of_metrics;
static wtcupti_sass_get_properties_fn get_properties;
static wtcupti_sass_set_config_fn set_config;
static wtcupti_sass_unset_config_fn unset_config;
static wtcupti_sass_enable_fn sass_enable;
static wtcupti_sass_disable_fn sass_disable;
static wtcupti_sass_get_data_properties_fn get_data_properties;
static wtcupti_sass_flush_data_fn flush_data;
static struct case_found got;

/* ---- in the child ---------------------------------------------------------------------- */

static void bind(void)
{
	*(void **)&profiler_initialize = case_symbol("cuptiProfilerInitialize");
	*(void **)&get_num_of_metrics = case_symbol("cuptiSassMetricsGetNumOfMetrics");
	*(void **)&get_properties = case_symbol("cuptiSassMetricsGetProperties");
	*(void **)&set_config = case_symbol("cuptiSassMetricsSetConfig");
	*(void **)&unset_config = case_symbol("cuptiSassMetricsUnsetConfig");
	*(void **)&sass_enable = case_symbol("cuptiSassMetricsEnable");
	*(void **)&sass_disable = case_symbol("cuptiSassMetricsDisable");
	*(void **)&get_data_properties = case_symbol("cuptiSassMetricsGetDataProperties");
	*(void **)&flush_data = case_symbol("cuptiSassMetricsFlushData");
}

static wtcupti_result configure(uint8_t granularity)
{
	struct wtcupti_sass_get_properties properties = {.struct_size =
	                                                         WTCUPTI_SASS_GET_PROPERTIES_BYTES,
	                                                 .chip_name = "GH100",
	                                                 .name = "smsp__sass_inst_executed"};
	struct wtcupti_sass_config config = {.granularity = granularity};
	struct wtcupti_sass_set_config set = {
	        .struct_size = WTCUPTI_SASS_SET_CONFIG_BYTES, .count = 1, .configs = &config};
	struct wtcupti_profiler_initialize init = {WTCUPTI_PROFILER_INITIALIZE_BYTES, NULL};

	bind();
	MUST(profiler_initialize(&init));
	MUST(get_properties(&properties));
	config.id = properties.metric.id;
	return set_config(&set);
}

static void enable(void)
{
	struct wtcupti_sass_enable enable = {.struct_size = WTCUPTI_SASS_ENABLE_BYTES,
	                                     .is_lazy = 1};

	MUST(sass_enable(&enable));
}

static size_t disable(void)
{
	struct wtcupti_sass_disable disable = {.struct_size = WTCUPTI_SASS_DISABLE_BYTES};

	MUST(sass_disable(&disable));
	return disable.dropped_records;
}

static struct wtcupti_sass_data *flush(size_t *ret_records, size_t *ret_instances)
{
	struct wtcupti_sass_get_data_properties p = {
	        .struct_size = WTCUPTI_SASS_GET_DATA_PROPERTIES_BYTES};
	struct wtcupti_sass_flush_data f = {.struct_size = WTCUPTI_SASS_FLUSH_DATA_BYTES};

	MUST(get_data_properties(&p));
	f.data = calloc(p.records + 1, sizeof(*f.data));
	for (size_t i = 0; i < p.records; i++) {
		f.data[i].struct_size = WTCUPTI_SASS_FLUSH_DATA_BYTES;
		f.data[i].values = calloc(p.instances, sizeof(*f.data[i].values));
	}
	f.records = *ret_records = p.records;
	f.instances = *ret_instances = p.instances;
	MUST(flush_data(&f));
	return f.data;
}

/* Sums over the instances: of the first instruction, and of all; the greatest and least first. */
static void tell(const struct wtcupti_sass_data *data, size_t records, size_t instances)
{
	int64_t least = INT64_MAX, greatest = 0;

	found->value[0] = (int64_t)records;
	found->value[1] = (int64_t)instances;
	for (size_t r = 0; r < records; r++) {
		for (size_t i = 0; i < instances; i++) {
			int64_t value = (int64_t)data[r].values[i].value;

			found->value[3] += value;
			if (data[r].pc_offset)
				continue;
			found->value[2] += value;
			least = value < least ? value : least;
			greatest = value > greatest ? value : greatest;
		}
	}
	found->value[4] = least;
	found->value[5] = greatest;
	found->value[6] = records && !strcmp(data[0].function, "k");
}

static void count_at(uint8_t granularity)
{
	wtcu_function f = case_start("block_ns=20000");
	struct wtcupti_sass_data *data;
	size_t records, instances;
	struct wtcupti_sass_unset_config unset = {.struct_size = WTCUPTI_SASS_UNSET_CONFIG_BYTES};

	MUST(configure(granularity));
	MUST(case_launch(f, 77, 1024, NULL)); /* before: not counted */
	enable();
	MUST(case_launch(f, 267, 1024, NULL));
	MUST(case_launch(f, 1, 1024, NULL));
	MUST(api.cuCtxSynchronize());
	data = flush(&records, &instances);
	tell(data, records, instances);
	MUST(case_launch(f, 5, 1024, NULL)); /* and not fetched */
	MUST(api.cuCtxSynchronize());
	found->value[7] = (int64_t)disable();
	MUST(unset_config(&unset));
	MUST(case_launch(f, 77, 1024, NULL));
}

static void case_sm(void)
{
	count_at(WTCUPTI_SASS_SM);
}

static void case_gpu(void)
{
	count_at(WTCUPTI_SASS_GPU);
}

static void case_smsp(void)
{
	count_at(WTCUPTI_SASS_SMSP);
}

/* Many waves of equal blocks, and a kernel that shares, are counted like others. */
static void case_waves(void)
{
	wtcu_function f = case_start("block_ns=2000 sharing=1");
	size_t records, instances;
	struct wtcupti_sass_data *data;

	MUST(configure(WTCUPTI_SASS_SM));
	enable();
	MUST(case_launch(f, 132 * 2 * 10 + 1, 1024, NULL));
	MUST(api.cuCtxSynchronize());
	data = flush(&records, &instances);
	tell(data, records, instances);
}

static void case_no_context(void)
{
	MUST(api.cuInit(0));
	found->value[0] = configure(WTCUPTI_SASS_SM);
}

/* ---- misuse ----------------------------------------------------------------------------- */

static void case_enable_unset(void)
{
	case_start("block_ns=1000");
	bind();
	enable();
}

static void case_config_twice(void)
{
	case_start("block_ns=1000");
	MUST(configure(WTCUPTI_SASS_SM));
	configure(WTCUPTI_SASS_SM);
}

static void case_enable_twice(void)
{
	case_start("block_ns=1000");
	MUST(configure(WTCUPTI_SASS_SM));
	enable();
	enable();
}

static void case_flush_disabled(void)
{
	size_t records, instances;

	case_start("block_ns=1000");
	MUST(configure(WTCUPTI_SASS_SM));
	flush(&records, &instances);
}

static void case_flush_running(void)
{
	wtcu_function f = case_start("block_ns=100000000");
	size_t records, instances;

	MUST(configure(WTCUPTI_SASS_SM));
	enable();
	MUST(case_launch(f, 1, 32, NULL));
	flush(&records, &instances);
}

static void case_flush_other(void)
{
	struct wtcupti_sass_flush_data f = {
	        .struct_size = WTCUPTI_SASS_FLUSH_DATA_BYTES, .records = 3, .instances = SMS};

	case_start("block_ns=1000");
	MUST(configure(WTCUPTI_SASS_SM));
	enable();
	flush_data(&f);
}

static void case_unset_enabled(void)
{
	struct wtcupti_sass_unset_config unset = {.struct_size = WTCUPTI_SASS_UNSET_CONFIG_BYTES};

	case_start("block_ns=1000");
	MUST(configure(WTCUPTI_SASS_SM));
	enable();
	unset_config(&unset);
}

/* ---- checks --------------------------------------------------------------------------------- */

static void run(void (*fn)(void), const char *what)
{
	memset(&got, 0, sizeof(got));
	is_i64(case_run("X=", fn, &got), 0, what);
}

static void check_count(void (*fn)(void), int64_t instances, const char *what)
{
	run(fn, what);
	is_i64(got.value[0], 8, "a record for each instruction");
	is_i64(got.value[1], instances, "of so many instances");
	is_i64(got.value[2], 268 * 32, "the first is executed by each warp");
	is_i64(got.value[3], 268 * 32 * (2 + 6 * 10), "a loop runs ten times");
	ok(got.value[6], "the function has its name");
	is_i64(got.value[7], 8 * instances, "what was not fetched is dropped, and counted");
}

int main(void)
{
	static const struct {
		void (*fn)(void);
		const char *what;
	} misuse[] = {
	        {case_enable_unset, "enabling without a configuration"},
	        {case_config_twice, "configuring twice"},
	        {case_enable_twice, "enabling twice"},
	        {case_flush_disabled, "fetching while disabled"},
	        {case_flush_running, "fetching while a kernel runs"},
	        {case_flush_other, "fetching other numbers than told"},
	        {case_unset_enabled, "ending the configuration while enabled"},
	};

	check_count(case_sm, SMS, "by SM");
	/* 267 blocks, two to an SM: 2 each, 3 on three of them; one more on SM 0 */
	is_i64(got.value[4], 2 * 32, "no SM has less than two blocks");
	ok(got.value[5] == 3 * 32 || got.value[5] == 4 * 32, "none more than four");
	check_count(case_gpu, 1, "as a whole");
	check_count(case_smsp, 4 * SMS, "by partition");
	run(case_waves, "many waves");
	is_i64(got.value[2], (132 * 20 + 1) * 32, "every block counts");
	is_i64(got.value[4], 20 * 32, "SMs have their share");
	is_i64(got.value[5], 21 * 32, "one has one block more");
	run(case_no_context, "without a context");
	is_i64(got.value[0], WTCUPTI_ERROR_INVALID_CONTEXT, "it is refused");
	for (size_t i = 0; i < sizeof(misuse) / sizeof(misuse[0]); i++) {
		int status = case_run("X=", misuse[i].fn, NULL);

		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s is fatal",
		   misuse[i].what);
	}
	return tap_done();
}

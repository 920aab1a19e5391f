/*
 * test_fake.c - the simulated GPU against known answers. Everything else that
 * is tested over it trusts these. Each case is a child process (fake_case.h);
 * checks are made here, from one thread.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/tap.h"
#include "tests/unit/fake_case.h"

#define ONE_BLOCK_PER_SM "regs=64" /* with 1024 threads: 65536 registers */
static const int kernels_only[] = {WTCUPTI_KIND_CONCURRENT_KERNEL};
static struct case_found got;

/* The number after the last "key": in the truth, or INT64_MIN. */
static int64_t truth_of(const char *key)
{
	char quoted[64];
	const char *at = NULL;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	for (const char *next = got.truth; (next = strstr(next, quoted)); next++)
		at = next;
	return at ? strtoll(at + strlen(quoted), NULL, 10) : INT64_MIN;
}

static int truth_lines(void)
{
	int lines = 0;

	for (const char *at = got.truth; (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

static void run(const char *env, void (*fn)(void), const char *what)
{
	int status;

	memset(&got, 0, sizeof(got));
	status = case_run(env, fn, &got);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s runs", what);
}

/* ---- the scheduler ------------------------------------------------------------------- */

static void case_straggler(void)
{
	wtcu_function f = case_start(ONE_BLOCK_PER_SM " block_ns=70000 slow_at=3 "
	                                              "slow_factor=1.857142858");

	case_watch(kernels_only, 1);
	MUST(case_launch(f, 8, 1024, NULL));
	MUST(api.cuCtxSynchronize());
	case_flush(0);
}

static void test_straggler(void)
{
	run("WTFAKE_SMS=4 WTFAKE_RAMP_NS=0", case_straggler, "worked example");
	is_i64(truth_of("blocks_per_sm"), 1, "one block per SM");
	is_i64(truth_of("end_ns") - truth_of("start_ns"), 200000, "it ends at 200");
	is_i64(truth_of("busy_sm_ns"), 620000, "620 of 800 active");
	is_i64(truth_of("tail_sm_ns"), 180000, "tail idle 180");
	is_i64(truth_of("underfill_sm_ns"), 0, "no underfill");
	is_i64(got.kernel_count, 1, "one record");
	is_i64(got.kernel[0].end_ns - got.kernel[0].start_ns, 200000, "the record says 200");
	is_i64(got.kernel[0].start_ns, truth_of("record_start_ns"), "on the same clock as truth");
}

static void case_grid(void)
{
	const char *directive = getenv("CASE_SHARING")
	                                ? "block_ns=10000 sharing=1 " ONE_BLOCK_PER_SM
	                                : "block_ns=10000 " ONE_BLOCK_PER_SM;
	const char *grid = getenv("CASE_GRID");
	wtcu_function f = case_start(directive);

	MUST(case_launch(f, (unsigned int)atoi(grid ? grid : "0"), 512, NULL));
	MUST(api.cuCtxSynchronize());
}

static void grid_is(const char *env, int64_t total_ns, int64_t busy, int64_t under, int64_t tail)
{
	run(env, case_grid, env);
	is_i64(truth_of("blocks_per_sm"), 2, "two blocks per SM");
	is_i64(truth_of("end_ns") - truth_of("start_ns"), total_ns, "duration");
	is_i64(truth_of("busy_sm_ns"), busy, "busy");
	is_i64(truth_of("underfill_sm_ns"), under, "underfill");
	is_i64(truth_of("tail_sm_ns"), tail, "tail");
}

static void test_grids(void)
{
	grid_is("WTFAKE_SMS=4 CASE_GRID=3", 10000, 30000, 10000, 0);
	grid_is("WTFAKE_SMS=4 CASE_GRID=8", 10000, 40000, 0, 0);
	grid_is("WTFAKE_SMS=4 CASE_GRID=9", 20000, 50000, 0, 30000);
	/* Sharing: T * (S - G / ceil(G / S)). */
	grid_is("WTFAKE_SMS=4 CASE_GRID=8 CASE_SHARING=1", 20000, 80000, 0, 0);
	grid_is("WTFAKE_SMS=4 CASE_GRID=9 CASE_SHARING=1", 30000, 90000, 0, 30000);
	grid_is("WTFAKE_SMS=4 CASE_GRID=6 CASE_SHARING=1", 20000, 60000, 0, 20000);
	/* So many waves that most are skipped over: the same as if they were not. */
	grid_is("WTFAKE_SMS=4 CASE_GRID=80001", 100010000, 400010000, 0, 30000);
	grid_is("WTFAKE_SMS=4 CASE_GRID=80001 CASE_SHARING=1", 200010000, 800010000, 0, 30000);
}

static void case_overlap(void)
{
	/* Long enough for three launches on a loaded machine. */
	wtcu_function f = case_start("block_ns=300000000 regs=16");
	wtcu_stream a, b;

	case_watch(kernels_only, 1);
	MUST(api.cuStreamCreate(&a, 1));
	MUST(api.cuStreamCreate(&b, 1));
	MUST(case_launch(f, 4, 1024, a));
	MUST(case_launch(f, 4, 1024, b));
	MUST(case_launch(f, 4, 1024, b));
	MUST(api.cuCtxSynchronize());
	case_flush(0);
}

static void test_overlap(void)
{
	run("WTFAKE_SMS=4", case_overlap, "two streams");
	is_i64(got.kernel_count, 3, "three records");
	is_i64(got.kernel[0].stream_id, 13, "the first stream made is 13");
	ok(got.kernel[1].start_ns < got.kernel[0].end_ns, "kernels of two streams overlap");
	ok(got.kernel[2].start_ns >= got.kernel[1].end_ns, "those of one stream do not");
}

static void case_occupancy(void)
{
	static const struct {
		const char *directive;
		int threads, dynamic;
	} list[] = {{"regs=32", 256, 0},  {"regs=32", 512, 0},     {"regs=16", 32, 0},
	            {"regs=168", 384, 0}, {"regs=255", 256, 0},    {"regs=32 smem=40960", 128, 0},
	            {"regs=33", 1024, 0}, {"regs=32", 128, 100000}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		wtcu_function f = case_start(list[i].directive);
		int blocks = -1;

		MUST(api.cuFuncSetAttribute(f, WTCU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 102400));
		MUST(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, list[i].threads,
		                                                     (size_t)list[i].dynamic));
		found->value[i] = blocks;
	}
}

static void test_occupancy(void)
{
	static const int want[] = {8, 4, 32, 1, 1, 5, 1, 2};

	run("X=", case_occupancy, "occupancy");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		is_i64(got.value[i], want[i], "blocks per SM");
}

/* ---- what CUPTI says -------------------------------------------------------------------- */

static wtcu_graph_exec graph_of(wtcu_function f, int nodes)
{
	wtcu_stream stream;
	wtcu_graph graph;
	wtcu_graph_exec exec;

	MUST(api.cuStreamCreate(&stream, 1));
	MUST(api.cuStreamBeginCapture_v2(stream, WTCU_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < nodes; i++)
		MUST(case_launch(f, 4, 64, stream));
	MUST(api.cuStreamEndCapture(stream, &graph));
	MUST(api.cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

/* Ids 1 plain, 2 failing, 3 4 5 captured, 6 graph launch, 7 cooperative, 8 plain. */
static void launch_one_of_each(wtcu_function f)
{
	wtcu_graph_exec exec;

	MUST(case_launch(f, 4, 64, NULL));
	found->value[0] = case_launch(f, 4, 5000, NULL);
	exec = graph_of(f, 3);
	MUST(api.cuGraphLaunch(exec, NULL));
	MUST(api.cuLaunchCooperativeKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL));
	MUST(case_launch(f, 4, 64, NULL));
	MUST(api.cuCtxSynchronize());
}

static void case_ids(void)
{
	wtcu_function f = case_start("block_ns=1000");

	case_watch(kernels_only, 1);
	launch_one_of_each(f);
	case_flush(0);
}

static void test_ids(void)
{
	static const uint32_t want[] = {1, 6, 6, 6, 7, 8};

	run("X=", case_ids, "launches of all kinds");
	is_i64(got.value[0], WTCU_ERROR_INVALID_VALUE, "too large a block fails");
	is_i64(got.kernel_count, 6, "records of what ran, not of what failed or was captured");
	for (int i = 0; i < 6; i++)
		is_i64(got.kernel[i].correlation, want[i],
		       "ids count every launch call; nodes bear their graph launch's");
	for (int i = 1; i <= 3; i++) {
		ok(got.kernel[i].graph_id != 0, "a node has a graph id");
		ok(got.kernel[i].node_id ==
		           ((uint64_t)got.kernel[i].graph_id << 32) + (uint64_t)i - 1,
		   "and a node id");
	}
	is_i64(got.kernel[0].graph_id, 0, "others have none");
	is_i64(got.kernel[0].stream_id, 7, "the null stream is 7");
	is_i64(got.kernel[0].bytes, WTCUPTI_KERNEL_BYTES_CUDA_13_0, "a record of 13.0");
	is_i64(truth_lines(), 6, "truth has a line for each kernel");
}

static void case_calls(void)
{
	static const int cbids[] = {WTCUPTI_CBID_cuLaunchKernel, WTCUPTI_CBID_cuGraphLaunch};
	static const int kinds[] = {WTCUPTI_KIND_CONCURRENT_KERNEL,
	                            WTCUPTI_KIND_EXTERNAL_CORRELATION};
	wtcu_function f;

	MUST(api.cuInit(0));
	if (getenv("CASE_LATE"))
		case_start("block_ns=1000");
	case_watch(kinds, 2);
	for (int i = 0; i < 2; i++)
		MUST(api.cuptiActivityEnableDriverApi((uint32_t)cbids[i], 1));
	f = case_start("block_ns=1000");
	MUST(api.cuptiActivityPushExternalCorrelationId(WTCUPTI_EXTERNAL_CUSTOM2, 99));
	launch_one_of_each(f);
	case_flush(0);
}

static void test_calls(void)
{
	run("X=", case_calls, "records of launch calls alone");
	is_i64(got.call_count, 7, "one per call of the ids enabled, none for the cooperative one");
	is_i64(got.call_correlation[1], 2, "the failing call has one");
	is_i64(got.call_result[1], WTCU_ERROR_INVALID_VALUE, "with its code");
	is_i64(got.call_correlation[2], 3, "a captured call has one");
	is_i64(got.call_correlation[5], 6, "a graph launch has one");
	is_i64(got.external_count, 7, "an external id comes with each");
	run("CASE_LATE=1", case_calls, "choosing calls after the first context");
	is_i64(got.call_count, 0, "gives no record");
	is_i64(got.kernel_count, 6, "but those of kernels");
}

static void case_other_kinds(void)
{
	static const int kinds[] = {WTCUPTI_KIND_CONCURRENT_KERNEL, WTCUPTI_KIND_MEMCPY,
	                            WTCUPTI_KIND_SYNCHRONIZATION, WTCUPTI_KIND_CONTEXT};
	unsigned char out[1000], in[1000];
	wtcu_deviceptr memory;
	wtcu_function f;

	MUST(api.cuInit(0));
	case_watch(kinds, 4);
	f = case_start("block_ns=1000");
	for (int i = 0; i < 1000; i++)
		out[i] = (unsigned char)(i * 7);
	MUST(api.cuMemAlloc_v2(&memory, sizeof(out)));
	MUST(api.cuMemcpyHtoD_v2(memory, out, sizeof(out)));
	MUST(api.cuMemcpyDtoH_v2(in, memory, sizeof(in)));
	found->value[0] = memcmp(in, out, sizeof(out));
	MUST(case_launch(f, 1, 32, NULL));
	MUST(api.cuCtxSynchronize());
	case_flush(0);
}

static void test_other_kinds(void)
{
	run("X=", case_other_kinds, "copies and synchronisation");
	is_i64(got.value[0], 0, "what was copied there comes back");
	is_i64(got.memcpy_count, 2, "a record per copy");
	is_i64(got.sync_count, 1, "one for the synchronisation");
	is_i64(got.context_count, 1, "one for the context");
	ok(got.kernel[0].correlation > 3, "with such kinds on, other calls take ids too");
}

static void case_many(void)
{
	wtcu_function f = case_start("block_ns=1000");
	size_t dropped = 0;

	case_watch(kernels_only, 1);
	for (int i = 0; i < 100; i++)
		found->value[2] += case_launch(f, 4, 64, NULL) != 0;
	MUST(api.cuCtxSynchronize());
	case_flush(0);
	MUST(api.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	found->value[0] = (int64_t)dropped;
	MUST(api.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	found->value[1] = (int64_t)dropped;
}

static void test_faults(void)
{
	int zeroed = 0;
	bool in_order = true;

	run("WTFAKE_DROP_EVERY=10 WTFAKE_ZERO_EVERY=4", case_many, "dropped and zeroed records");
	is_i64(got.kernel_count, 90, "every tenth is gone");
	is_i64(got.value[0], 10, "and counted");
	is_i64(got.value[1], 0, "once");
	for (int i = 0; i < got.kernel_count; i++)
		zeroed += got.kernel[i].start_ns == 0 && got.kernel[i].end_ns == 0;
	is_i64(zeroed, 20, "every fourth that is left of 100 has no time");
	run("WTFAKE_CUPTI_VERSION=18 WTFAKE_UNORDERED=1", case_many, "version 18, in disorder");
	is_i64(got.kernel_count, 100, "all there");
	is_i64(got.kernel[5].bytes, WTCUPTI_KERNEL_BYTES_CUDA_11_8, "in records of 11.8");
	for (int i = 1; i < got.kernel_count; i++)
		in_order &= got.kernel[i].correlation > got.kernel[i - 1].correlation;
	ok(!in_order, "out of order");
	run("WTFAKE_FAIL=cuLaunchKernel:%7:700", case_many, "scripted failures");
	is_i64(got.value[2], 14, "every seventh launch fails");
	is_i64(got.kernel_count, 86, "and does not run");
	is_i64(truth_lines() > 0, 1, "truth knows");
}

static void case_unfinished(void)
{
	wtcu_function f = case_start("block_ns=400000000");
	uint64_t now_ns = 0;

	case_watch(kernels_only, 1);
	MUST(case_launch(f, 1, 64, NULL));
	case_flush(0);
	found->value[0] = found->kernel_count;
	case_flush(WTCUPTI_FLUSH_FORCED);
	MUST(api.cuptiGetTimestamp(&now_ns));
	found->value[1] = (int64_t)now_ns;
}

static void test_unfinished(void)
{
	run("WTFAKE_CUPTI_OFFSET_NS=-1000000000000000000", case_unfinished, "flushing early");
	is_i64(got.value[0], 0, "a plain flush keeps what still runs");
	is_i64(got.kernel_count, 1, "a forced one gives it");
	is_i64(got.kernel[0].end_ns, 0, "without times");
	ok(got.value[1] < 1000000000000000000, "the clock is off by what was asked");
}

/* ---- the driver's own behaviour ------------------------------------------------------------ */

static void case_lookup(void)
{
	void *plain = NULL, *per_thread = NULL, *address = NULL;
	int status = -1;

	MUST(api.cuInit(0));
	MUST(api.cuGetProcAddress_v2("cuLaunchKernel", &plain, 12000, 0, &status));
	MUST(api.cuGetProcAddress_v2("cuLaunchKernel", &per_thread, 12000, 2, &status));
	found->value[0] = *(void **)&api.cuLaunchKernel == plain;
	found->value[1] = *(void **)&api.cuLaunchKernel_ptsz == per_thread && plain != per_thread;
	MUST(api.cuGetProcAddress_v2("cuLaunchKernelEx", &address, 11000, 0, &status));
	found->value[2] = status;
	found->value[3] = address != NULL;
	MUST(api.cuGetProcAddress_v2("cuNoSuchThing", &address, 12000, 0, &status));
	found->value[4] = status;
	found->value[5] = api.cuGetProcAddress("cuNoSuchThing", &address, 12000, 0);
	MUST(api.cuGetProcAddress_v2("cuGetProcAddress", &address, 12000, 0, &status));
	found->value[6] = address == *(void **)&api.cuGetProcAddress_v2;
	MUST(api.cuGetProcAddress_v2("cuGetProcAddress", &address, 11030, 0, &status));
	found->value[7] = address == *(void **)&api.cuGetProcAddress;
	found->value[8] = api.cuGetProcAddress_v2("cuInit", &address, 99000, 0, &status);
}

static void test_lookup(void)
{
	run("X=", case_lookup, "looking up");
	ok(got.value[0], "the plain entry is what dlsym gives");
	ok(got.value[1], "the per-thread one is another function");
	is_i64(got.value[2], WTCU_PROC_VERSION_NOT_SUFFICIENT, "too old a version is told");
	is_i64(got.value[3], 0, "with NULL");
	is_i64(got.value[4], WTCU_PROC_NOT_FOUND, "an unknown name is told");
	is_i64(got.value[5], WTCU_ERROR_NOT_FOUND, "and is an error where no status is asked for");
	ok(got.value[6] && got.value[7], "it finds itself, in the arity of the version");
	is_i64(got.value[8], WTCU_ERROR_INVALID_VALUE, "a version above the driver's is an error");
}

static void host_fn(void *data)
{
	*(int64_t *)data = 1;
}

static void case_capture_rules(void)
{
	wtcu_function f = case_start("block_ns=1000");
	wtcu_deviceptr memory;
	wtcu_stream stream;
	wtcu_graph graph;

	MUST(api.cuStreamCreate(&stream, 1));
	MUST(api.cuStreamBeginCapture_v2(stream, WTCU_CAPTURE_MODE_GLOBAL));
	MUST(case_launch(f, 1, 32, stream));
	found->value[0] = api.cuMemAlloc_v2(&memory, 64);
	found->value[1] = api.cuStreamEndCapture(stream, &graph);
	MUST(api.cuLaunchHostFunc(stream, host_fn, &found->value[2]));
	MUST(api.cuCtxSynchronize());
	found->value[3] = found->value[2];
}

static void test_capture_rules(void)
{
	run("X=", case_capture_rules, "a forbidden call during capture");
	is_i64(got.value[0], WTCU_ERROR_STREAM_CAPTURE_UNSUPPORTED, "is refused");
	is_i64(got.value[1], WTCU_ERROR_STREAM_CAPTURE_INVALIDATED, "and spoils the capture");
	is_i64(got.value[3], 1, "a host function has run when synchronised");
}

int main(void)
{
	test_straggler();
	test_grids();
	test_overlap();
	test_occupancy();
	test_ids();
	test_calls();
	test_other_kinds();
	test_faults();
	test_unfinished();
	test_lookup();
	test_capture_rules();
	return tap_done();
}

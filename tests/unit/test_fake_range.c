/*
 * test_fake_range.c - the simulated range profiler against the truth of the
 * simulated device, and what it does not let a client do. Each case is a child
 * process (fake_case.h); checks are made here, from one thread.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/range_case.h"

#define NAMES                                                                                      \
	"sm__cycles_active.sum,sm__cycles_active.min,sm__cycles_active.max,"                       \
	"sm__cycles_active.avg,sm__warps_active.avg,sm__cycles_elapsed.max"
#define NAME_COUNT 6
#define CYCLES_PER_NS 1.98
#define SMS 132

static struct range_session s;
static struct case_found got;

/* ---- in the child ---------------------------------------------------------------------- */

/* Values of each range as ns, NAME_COUNT after each other. */
static void take(size_t ranges)
{
	double values[NAME_COUNT];

	for (size_t i = 0; i < ranges; i++) {
		range_values(&s, i, values);
		for (int k = 0; k < NAME_COUNT; k++)
			found->value[i * NAME_COUNT + (size_t)k] =
			        llround(values[k] / CYCLES_PER_NS);
	}
}

static void profile(const char *directive, const unsigned int *grids, size_t count)
{
	wtcu_function f = case_start(directive);

	MUST(case_launch(f, 500, 256, NULL)); /* before the session: no range */
	range_begin(&s, NAMES, 16);
	range_start(&s);
	for (size_t i = 0; i < count; i++)
		MUST(case_launch(f, grids[i], 1024, NULL));
	MUST(api.cuCtxSynchronize());
	range_stop(&s);
	MUST(case_launch(f, 500, 256, NULL)); /* nor after it */
	found->value[31] = (int64_t)range_decode(&s, NULL);
	take(count);
	range_disable(&s);
}

static const unsigned int grids[] = {1, 267, 554, 4541};

static void case_plain(void)
{
	profile("block_ns=20000", grids, 4);
}

static void case_uneven(void)
{
	profile("block_ns=20000 jitter=0.2 slow_every=97 slow_factor=6", grids, 4);
}

/* Kernels of two streams are kept apart while they are profiled. */
static void case_streams(void)
{
	wtcu_function f = case_start("block_ns=200000");
	wtcu_stream stream[2];

	for (int i = 0; i < 2; i++)
		MUST(api.cuStreamCreate(&stream[i], 1));
	range_begin(&s, NAMES, 16);
	range_start(&s);
	for (int i = 0; i < 4; i++)
		MUST(case_launch(f, 10, 32, stream[i % 2]));
	MUST(api.cuCtxSynchronize());
	range_stop(&s);
	found->value[31] = (int64_t)range_decode(&s, NULL);
	range_disable(&s);
}

static void case_dropped(void)
{
	wtcu_function f = case_start("block_ns=1000");
	size_t dropped;

	range_begin(&s, NAMES, 3);
	range_start(&s);
	for (int i = 0; i < 5; i++)
		MUST(case_launch(f, 1, 32, NULL));
	MUST(api.cuCtxSynchronize());
	range_stop(&s);
	found->value[0] = (int64_t)range_decode(&s, &dropped);
	found->value[1] = (int64_t)dropped;
	range_disable(&s);
}

static void case_no_context(void)
{
	struct wtcupti_profiler_initialize init = {WTCUPTI_PROFILER_INITIALIZE_BYTES, NULL};

	MUST(api.cuInit(0));
	range_bind();
	MUST(rp.cuptiProfilerInitialize(&init));
	found->value[0] = range_enable(&s);
}

static void case_second(void)
{
	struct range_session other = {0};

	case_start("block_ns=1000");
	range_begin(&s, NAMES, 3);
	found->value[0] = range_enable(&other);
	range_disable(&s);
	found->value[1] = range_enable(&other);
}

static void case_privileges(void)
{
	case_start("block_ns=1000");
	range_bind();
	range_host(&s, NAMES);
	found->value[0] = range_enable(&s);
}

/* ---- misuse ------------------------------------------------------------------------------- */

static void begin(void)
{
	case_start("block_ns=1000000");
	range_begin(&s, NAMES, 3);
}

static void case_unsynchronised(void)
{
	wtcu_function f = case_start("block_ns=100000000");

	range_begin(&s, NAMES, 3);
	range_start(&s);
	MUST(case_launch(f, 1, 32, NULL));
	range_stop(&s);
}

static void case_unconfigured(void)
{
	case_start("block_ns=1000");
	range_bind();
	range_host(&s, NAMES);
	MUST(range_enable(&s));
	range_start(&s);
}

static void case_start_twice(void)
{
	begin();
	range_start(&s);
	range_start(&s);
}

static void case_stop_unstarted(void)
{
	begin();
	range_stop(&s);
}

static void case_decode_started(void)
{
	begin();
	range_start(&s);
	range_decode(&s, NULL);
}

static void case_decode_early(void)
{
	begin();
	range_decode(&s, NULL);
}

static void case_disable_started(void)
{
	begin();
	range_start(&s);
	range_disable(&s);
}

static void case_range_beyond(void)
{
	double values[NAME_COUNT];

	begin();
	range_start(&s);
	range_stop(&s);
	range_decode(&s, NULL);
	range_values(&s, 0, values);
}

static void case_image_short(void)
{
	begin();
	s.image_bytes--;
	range_set_config(&s, 3);
}

static void case_sizeof(void)
{
	struct wtcupti_range_stop stop = {.struct_size = sizeof(stop)};

	begin();
	range_start(&s);
	stop.object = s.object;
	rp.cuptiRangeProfilerStop(&stop);
}

static void case_push(void)
{
	struct wtcupti_range_push push = {.struct_size = WTCUPTI_RANGE_PUSH_BYTES, .name = "r"};

	begin();
	range_start(&s);
	push.object = s.object;
	rp.cuptiRangeProfilerPushRange(&push);
}

static void case_disabled(void)
{
	begin();
	range_disable(&s);
	range_start(&s);
}

/* ---- checks --------------------------------------------------------------------------------- */

static void run(const char *env, void (*fn)(void), const char *what)
{
	memset(&got, 0, sizeof(got));
	is_i64(case_run(env, fn, &got), 0, what);
}

static void dies(void (*fn)(void), const char *what)
{
	int status = case_run("X=", fn, NULL);

	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s is fatal", what);
}

/* A number of the line-th kernel in the truth. */
static int64_t truth(int line, const char *key)
{
	const char *at = got.truth;

	while (line-- > 0 && at)
		at = (at = strchr(at, '\n')) ? at + 1 : NULL;
	at = at ? strstr(at, key) : NULL;
	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static void check_truth(void (*fn)(void), const char *what)
{
	run("WTFAKE_REPLAY_US=100", fn, what);
	is_i64(got.value[31], 4, "a range for each launch in the session");
	for (int i = 0; i < 4; i++) {
		const int64_t *v = &got.value[i * NAME_COUNT];
		int64_t start_ns = truth(i + 1, "\"start_ns\":");
		int64_t time_ns = truth(i + 1, "\"end_ns\":") - start_ns;

		is_i64(v[0], truth(i + 1, "\"busy_sm_ns\":"), "the sum is the truth's");
		ok(v[1] <= v[0] / SMS && v[0] / SMS <= v[2] && v[2] <= time_ns,
		   "the least, the mean and the greatest are in order");
		ok(llabs(v[3] * SMS - v[0]) <= SMS, "the mean is the sum over the SMs");
		ok(v[5] > time_ns, "the counters run longer than the kernel");
		if (grids[i] == 1)
			ok(v[1] == 0 && v[2] == v[0], "one SM has it all");
	}
}

int main(void)
{
	static const struct {
		void (*fn)(void);
		const char *what;
	} misuse[] = {
	        {case_unsynchronised, "stopping with work under way"},
	        {case_unconfigured, "starting without a configuration"},
	        {case_start_twice, "starting twice"},
	        {case_stop_unstarted, "stopping what was not started"},
	        {case_decode_started, "decoding in a session"},
	        {case_decode_early, "decoding before one"},
	        {case_disable_started, "disabling in a session"},
	        {case_range_beyond, "a range that is not there"},
	        {case_image_short, "counter data of another size"},
	        {case_sizeof, "sizeof as the size of a structure"},
	        {case_push, "a range of user code with auto range"},
	        {case_disabled, "using what was disabled"},
	};

	check_truth(case_plain, "plain kernels");
	ok(llabs(got.value[NAME_COUNT + 4] * SMS - 267 * 32 * 20000) <= SMS, "warps times time");
	check_truth(case_uneven, "kernels with uneven blocks");
	run("WTFAKE_REPLAY_US=100", case_streams, "two streams");
	is_i64(got.value[31], 4, "a range for each");
	for (int i = 1; i < 4; i++)
		ok(truth(i, "\"start_ns\":") >= truth(i - 1, "\"end_ns\":"),
		   "one begins after the other has ended");
	run("WTFAKE_REPLAY_US=0", case_dropped, "more ranges than there is room for");
	is_i64(got.value[0], 3, "those that fit are there");
	is_i64(got.value[1], 2, "the others are counted");
	run("X=", case_no_context, "without a context");
	is_i64(got.value[0], WTCUPTI_ERROR_INVALID_CONTEXT, "it is refused");
	run("X=", case_second, "a second session");
	is_i64(got.value[0], WTCUPTI_ERROR_INVALID_OPERATION, "is refused");
	is_i64(got.value[1], 0, "until the first has ended");
	run("WTFAKE_FAIL=cuptiRangeProfilerEnable:*:35", case_privileges, "without the privilege");
	is_i64(got.value[0], WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "it is refused");
	for (size_t i = 0; i < sizeof(misuse) / sizeof(misuse[0]); i++)
		dies(misuse[i].fn, misuse[i].what);
	return tap_done();
}

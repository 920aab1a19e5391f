/*
 * test_profile.c - WAVETAP_PROFILE against a CUPTI that is strict about the order of calls: what is
 * profiled and when, what forbids it, and that the application gets what it would without us,
 * whichever call fails with whatever code.
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libintercept/hooks.h"
#include "tests/tap.h"
#include "tests/unit/mock_profiler.h"

#define MS UINT64_C(1000000)

static const struct mock_spec one = {.function = 0x100, .grid = 267, .block = 1024};

static void start(uint32_t wish)
{
	mock_reset(wish);
	wt_profile_start(&mock_view);
}

/* So many launches of each of `kinds` configurations in turn, `gap_ns` apart; false if one failed or
 * ran other than once. */
static bool launches(int count, int kinds, uint64_t gap_ns)
{
	uint64_t executed = mock.executed;
	bool good = true;

	for (int i = 0; i < count; i++)
		for (int k = 0; k < kinds; k++) {
			struct mock_spec spec = one;

			spec.function += (uint64_t)k;
			mock_pass(gap_ns);
			good = !mock_launch(&spec, NULL) && good;
		}
	return good && mock.executed - executed == (uint64_t)count * (uint64_t)kinds;
}

static void is_clean(const char *what)
{
	ok(!mock.errors, "%s: CUPTI was called as it wants", what);
	if (mock.errors)
		printf("# %d times, first: %s\n", mock.errors, mock.error);
}

static bool is_closed(void)
{
	return !mock.enabled && !mock.is_started;
}

/* ---- whether at all */

static void test_refusals(void)
{
	start(0);
	ok(!wt_profile_is_on() && mock_state() == WT_PROFILE_OFF, "not asked for: off");
	ok(launches(100, 3, 100 * MS) && !mock.calls && !mock_records(WT_KIND_OVERHEAD),
	   "... and nothing is done");
	mock_reset(3);
	mock_view.header->world_size = 2;
	wt_profile_start(&mock_view);
	ok(!wt_profile_is_on() && mock_state() == WT_PROFILE_WORLD, "two ranks: refused");
	mock_reset(3);
	mock.has_no_range = true;
	wt_profile_start(&mock_view);
	ok(!wt_profile_is_on() && mock_state() == WT_PROFILE_UNSUPPORTED,
	   "a libcupti without the range profiler");
	mock_reset(3);
	mock.is_recording = false;
	wt_profile_start(&mock_view);
	ok(!wt_profile_is_on() && mock_state() == WT_PROFILE_UNSUPPORTED, "CUPTI is not armed");
	start(3);
	ok(wt_profile_is_on() && mock_state() == WT_PROFILE_WAITING, "else it waits");
	ok(!mock.calls, "... without a call");
}

/* ---- one configuration, from the first launch to the last */

static void test_records(void)
{
	struct wt_profile record;
	uint64_t seq;

	start(3);
	launches(99, 1, 10 * MS);
	is_i64(mock.calls, 0, "nothing in the first second");
	for (int i = 0; i < 3; i++) {
		mock_pass(10 * MS);
		is_i64(mock_launch(&one, &seq), 0, "a launch succeeds");
		ok(mock_record(WT_KIND_PROFILE, i, &record) && record.launch_seq == seq,
		   "... and is profiled");
	}
	is_i64(mock_state(), WT_PROFILE_ON, "the state is on");
	ok(record.active_sum == mock_active_sum(&one) &&
	           record.elapsed == 2.0 * record.active_sum / MOCK_SMS &&
	           record.active_min < record.active_max && record.warps == 7,
	   "with its counters");
	ok(record.tensor == 5 * record.elapsed && record.dram_bytes == 600 + 700,
	   "tensor pipe and DRAM too");
	ok(record.sm_count == MOCK_SMS && record.passes == 1 && record.device == 0, "of 132 SMs");
	ok(record.start_ns && record.end_ns >= record.start_ns && record.cost_ns, "with times");
	is_i64(mock_records(WT_KIND_PROFILE), 3, "three of them");
	launches(190, 1, 10 * MS);
	ok(!is_closed(), "it stays open for two seconds");
	launches(100, 1, 10 * MS);
	is_i64(mock_state(), WT_PROFILE_DONE, "then all is done");
	ok(is_closed(), "... and the counters are free");
	is_i64(mock_records(WT_KIND_PROFILE), 3, "... for good");
	is_i64(mock_view.producer->profiled_launches, 3, "profiled launches are counted");
	ok(mock_view.producer->profile_cost_ns > 0, "and what they cost");
	ok(mock_records(WT_KIND_OVERHEAD) > 0, "our time is told as the profiler's");
	is_clean("one configuration");
}

static void test_steady_state(void)
{
	struct mock_spec rare = one;

	rare.grid = 1;
	start(2);
	mock_launch(&rare, NULL);
	launches(200, 1, 10 * MS);
	mock_launch(&rare, NULL);
	is_i64(mock_records(WT_KIND_PROFILE), 2, "a rare one waits");
	launches(20, 1, 10 * MS);
	mock_launch(&rare, NULL);
	is_i64(mock_records(WT_KIND_PROFILE), 3, "until no new one has come for two seconds");
	rare.grid = 2;
	mock_launch(&rare, NULL);
	mock_launch(&rare, NULL);
	is_i64(mock_records(WT_KIND_PROFILE), 3, "a new one waits again");
	is_clean("rare ones");

	/* A training step: hundreds in fixed order, launched without a pause. */
	start(2);
	ok(launches(150, 300, MS / 4), "300 configurations in turn");
	is_i64(mock_records(WT_KIND_PROFILE), 600, "two launches of each");
	is_i64(mock.enables, 1, "set up once");
	is_clean("300 configurations");

	start(1);
	for (uint32_t i = 1; i <= WT_PROFILE_CONFIGS + 500; i++) {
		struct mock_spec many = one;

		many.grid = i;
		mock_launch(&many, NULL);
	}
	ok(mock.executed == WT_PROFILE_CONFIGS + 500, "more than there is room for");
	is_clean("too many");
}

/* ---- what forbids a launch, or all of it */

static void launch_beside(void)
{
	struct mock_spec other = one;

	other.function = 0x999;
	mock_launch(&other, NULL);
}

static void test_not_alone(void)
{
	start(2);
	launches(99, 1, 10 * MS);
	mock.inside = launch_beside;
	launches(1, 1, 10 * MS);
	ok(!mock.inside, "a launch beside the profiled one");
	is_i64(mock_records(WT_KIND_PROFILE), 0, "gives no result");
	launches(4, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 2, "others do");
	is_clean("not alone");

	start(2);
	mock.is_app_profiling = true;
	launches(150, 1, 10 * MS);
	is_i64(mock.calls, 0, "while the application's profiler works ours rests");
	mock.is_app_profiling = false;
	launches(1, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 1, "until it has ended");

	start(2);
	ok(wt_profile_graph_begin(), "a graph launch of another thread");
	launches(150, 1, 10 * MS);
	is_i64(mock.calls, 0, "is waited for");
	wt_profile_graph_end(&(struct wt_call){.api = WT_API_cuGraphLaunch});
	launches(1, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 1, "no longer than it takes");
	is_clean("others' turns");
}

static void note(unsigned api, uint64_t stream)
{
	wt_profile_note_call(&(struct wt_call){.api = (uint16_t)api, .handle = stream});
}

/* Two streams in turn, with a call between: 0 = none. The state after it. */
static enum wt_profile_state two_streams(uint64_t a, uint64_t b, unsigned api, uint64_t on)
{
	struct mock_spec first = one, second = one;

	start(2);
	mock.stream_flags = 1; /* non-blocking */
	first.stream = a;
	second.stream = b;
	for (int i = 0; i < 3; i++) {
		mock_launch(&first, NULL);
		if (api)
			note(api, on);
		mock_launch(&second, NULL);
		note(WT_API_cuCtxSynchronize, 0);
	}
	return mock_state();
}

static void test_streams(void)
{
	is_i64(two_streams(0x10, 0x20, 0, 0), WT_PROFILE_CONCURRENT, "two streams");
	ok(launches(200, 1, 10 * MS) && !mock.calls && !wt_profile_is_on(), "... end it for good");
	is_i64(two_streams(0, 1, 0, 0), WT_PROFILE_WAITING, "one default stream has two names");
	is_i64(two_streams(0x10, 0x20, WT_API_cuCtxSynchronize, 0), WT_PROFILE_WAITING,
	       "context synchronised");
	is_i64(two_streams(0x10, 0x20, WT_API_cuStreamSynchronize, 0x10), WT_PROFILE_WAITING,
	       "the last stream synchronised");
	is_i64(two_streams(0x10, 0x20, WT_API_cuStreamSynchronize, 0x20), WT_PROFILE_CONCURRENT,
	       "another stream synchronised");
	is_i64(two_streams(0x10, 0x20, WT_API_cuStreamWaitEvent, 0x20), WT_PROFILE_WAITING,
	       "told to wait");
	is_i64(two_streams(0x10, 0x20, WT_API_cuStreamWaitEvent, 0x10), WT_PROFILE_CONCURRENT,
	       "the wrong one told to wait");
	is_i64(two_streams(0x10, 0x20, WT_API_cuEventSynchronize, 0), WT_PROFILE_CONCURRENT,
	       "an event, whichever");
	is_i64(two_streams(0, 0x20, 0, 0), WT_PROFILE_CONCURRENT, "one that does not block");
	start(2);
	for (int i = 0; i < 4; i++) {
		struct mock_spec spec = one;

		spec.stream = i & 1 ? 0x20 : 0;
		mock_launch(&spec, NULL);
	}
	is_i64(mock_state(), WT_PROFILE_WAITING, "one that waits for the default stream");
	start(2);
	note(WT_API_cuLaunchHostFunc, 0x10);
	is_i64(mock_state(), WT_PROFILE_HOST_FUNCTION, "a host function");
	start(2);
	mock_launch(
	        &(struct mock_spec){
	                .function = 1, .grid = 1, .block = 32, .flags = WT_FLAG_COOPERATIVE},
	        NULL);
	is_i64(mock_state(), WT_PROFILE_COOPERATIVE, "a cooperative launch");
}

static enum wt_profile_state kernels(struct wt_kernel a, struct wt_kernel b, const char *name)
{
	struct wt_profile_recent recent = {0};

	start(2);
	wt_profile_note_kernel(&recent, &a, "a");
	wt_profile_note_kernel(&recent, &b, name);
	return mock_state();
}

static void test_kernels(void)
{
	struct wt_kernel a = {.start_ns = 1000, .end_ns = 9000, .stream_id = 7};
	struct wt_kernel b = {.start_ns = 5000, .end_ns = 12000, .stream_id = 13};

	is_i64(kernels(a, b, "b"), WT_PROFILE_CONCURRENT, "kernels overlapped");
	b.device = 1;
	is_i64(kernels(a, b, "b"), WT_PROFILE_WAITING, "on two devices they may");
	b.device = 0;
	b.stream_id = 7;
	is_i64(kernels(a, b, "b"), WT_PROFILE_WAITING, "in one stream it is the hand-over");
	b.stream_id = 13;
	b.start_ns = 8500;
	is_i64(kernels(a, b, "b"), WT_PROFILE_WAITING, "half a microsecond is none");
	b.start_ns = 5000;
	b.graph_node_id = 1;
	is_i64(kernels(a, b, "b"), WT_PROFILE_CONCURRENT, "a node beside a kernel");
	a.graph_node_id = 2;
	is_i64(kernels(a, b, "b"), WT_PROFILE_WAITING, "nodes beside each other");
	a.graph_node_id = b.graph_node_id = 0;
	b.start_ns = 20000;
	b.end_ns = 21000;
	is_i64(kernels(a, b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"), WT_PROFILE_COLLECTIVE,
	       "a collective");
	b.launch_type = 1;
	is_i64(kernels(a, b, "b"), WT_PROFILE_COOPERATIVE, "a cooperative kernel");
	b.launch_type = 0;
	b.start_ns = 0;
	is_i64(kernels(a, b, "b"), WT_PROFILE_WAITING, "no times, nothing known");
	/* In the midst: what is open is closed at the next launch. */
	start(5);
	launches(102, 1, 10 * MS);
	ok(!is_closed(), "open");
	wt_profile_note_kernel(&(struct wt_profile_recent){0}, &a, "nvshmem_barrier");
	ok(launches(1, 1, 10 * MS) && is_closed() && !wt_profile_is_on(), "... closed");
	is_i64(mock_state(), WT_PROFILE_COLLECTIVE, "... and said why");
	is_clean("ends in the midst");
}

static void *hold_main(void *unused)
{
	wt_profile_hold();
	return unused;
}

static pthread_t holder;
static bool was_held;

/* In the midst of a profiled launch another thread wants to begin a capture. */
static void capture_beside(void)
{
	struct timespec pause = {.tv_nsec = 20000000};

	pthread_create(&holder, NULL, hold_main, NULL);
	nanosleep(&pause, NULL);
	was_held = pthread_tryjoin_np(holder, NULL) != 0;
}

static void test_captures(void)
{
	struct mock_spec captured = one;

	captured.flags = WT_FLAG_CAPTURE_STREAM | WT_FLAG_CAPTURE_OPEN;
	start(2);
	mock_page.captures_open = 1;
	for (int i = 0; i < 200; i++) {
		mock_pass(10 * MS);
		mock_launch(&captured, NULL);
	}
	is_i64(mock.calls, 0, "captured launches are left alone");
	captured.flags = WT_FLAG_CAPTURE_OPEN;
	for (int i = 0; i < 200; i++)
		mock_launch(&captured, NULL);
	is_i64(mock.calls, 0, "and all others meanwhile");
	mock_page.captures_open = 0;
	launches(100, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 2, "but not later");
	start(2);
	launches(99, 1, 10 * MS);
	mock.inside = capture_beside;
	launches(1, 1, 10 * MS);
	pthread_join(holder, NULL);
	ok(was_held, "a capture begins after the launch under way");
	is_i64(mock_records(WT_KIND_PROFILE), 1, "... which has its result");
	launches(5, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 1, "none begins until the call has ended");
	wt_profile_unhold();
	wt_profile_unhold();
	launches(5, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 2, "then they do");
	is_clean("captures");
}

/* ---- the application's own failures */

static void test_failing_launches(void)
{
	int calls_before_error;
	uint64_t calls;

	start(3);
	launches(100, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 1, "one is profiled");
	mock.launch_result_profiled = WTCU_ERROR_NOT_SUPPORTED;
	calls = mock.real_calls;
	ok(launches(1, 1, 10 * MS), "a launch that the profiler does not bear succeeds");
	is_i64((int64_t)(mock.real_calls - calls), 2, "... the second time");
	ok(launches(50, 1, 10 * MS), "later ones are left alone");
	is_i64(mock_records(WT_KIND_PROFILE), 1, "... and not profiled");
	mock.launch_result_profiled = 0;
	ok(launches(60, 2, 10 * MS), "others");
	is_i64(mock_records(WT_KIND_PROFILE), 4, "... are");
	is_clean("refused by the profiler");

	start(3);
	launches(100, 1, 10 * MS);
	mock.launch_result = WTCU_ERROR_LAUNCH_OUT_OF_RESOURCES;
	is_i64(mock_launch(&one, NULL), WTCU_ERROR_LAUNCH_OUT_OF_RESOURCES,
	       "a launch that fails by itself gives its code");
	mock.launch_result = 0;
	is_i64(mock_state(), WT_PROFILE_ON, "... and ends nothing");
	is_clean("failing launches");

	start(3);
	launches(99, 1, 10 * MS);
	launches(1, 1, 10 * MS);
	calls_before_error = mock.calls;
	mock.sync_result = WTCU_ERROR_ILLEGAL_ADDRESS;
	ok(launches(1, 1, 10 * MS), "work before failed: the launch gives what the driver says");
	ok(mock_state() == WT_PROFILE_FAILED && mock_detail() == WTCU_ERROR_ILLEGAL_ADDRESS,
	   "profiling ends with the code");
	ok(launches(1, 1, 10 * MS) && !wt_profile_is_on(), "... for good");
	is_i64(mock.calls, calls_before_error, "... and CUPTI is left alone");
	is_clean("sticky errors before");
}

static int calls_at_break;

static void break_context(void)
{
	mock.sync_result = WTCU_ERROR_LAUNCH_FAILED;
	calls_at_break = mock.calls;
}

static void test_failing_kernel(void)
{
	start(3);
	launches(99, 1, 10 * MS);
	mock.inside = break_context;
	ok(launches(1, 1, 10 * MS), "the kernel fails: its launch had not");
	is_i64(mock_records(WT_KIND_PROFILE), 0, "no record");
	ok(mock_state() == WT_PROFILE_FAILED && mock_detail() == WTCU_ERROR_LAUNCH_FAILED,
	   "profiling ends");
	is_i64(mock.calls, calls_at_break, "... without a further call of CUPTI's");
	ok(!wt_profile_is_on(), "... for good");
	is_clean("a kernel that fails");
}

/* ---- CUPTI's failures: every call, several codes */

static enum wt_profile_state state_of(int code)
{
	return code == WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? WT_PROFILE_NO_PERMISSION
	       : code == WTCUPTI_ERROR_HARDWARE_BUSY         ? WT_PROFILE_BUSY
	                                                     : WT_PROFILE_FAILED;
}

/* A whole life of two configurations in which one call fails. */
static void life(void)
{
	launches(60, 2, 10 * MS);
	launches(150, 2, 10 * MS);
	launches(150, 2, 10 * MS);
}

static void test_faults(void)
{
	static const int codes[] = {WTCUPTI_ERROR_INVALID_PARAMETER, WTCUPTI_ERROR_OUT_OF_MEMORY,
	                            WTCUPTI_ERROR_HARDWARE_BUSY,
	                            WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES, WTCUPTI_ERROR_UNKNOWN};
	int calls, bad = 0;

	start(2);
	life();
	calls = mock.calls;
	ok(calls > 20 && mock_state() == WT_PROFILE_DONE, "a life takes %d calls", calls);
	for (int at = 1; at <= calls; at++)
		for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
			bool is_same, is_said, may_go_on;

			start(2);
			mock.fail_at = at;
			mock.fail_code = codes[i];
			life();
			/* Two lists of metrics are tried before the last; the host object is let go. */
			may_go_on = !strcmp(mock.failed, "host") || !strcmp(mock.failed, "add") ||
			            !strcmp(mock.failed, "config size") ||
			            !strcmp(mock.failed, "config") ||
			            !strcmp(mock.failed, "passes") ||
			            !strcmp(mock.failed, "host end");
			is_same = mock.executed == 720 && mock.real_calls == 720;
			is_said = may_go_on ? mock_state() == WT_PROFILE_DONE
			                    : mock_state() == state_of(codes[i]) &&
			                              mock_detail() == (uint64_t)codes[i] &&
			                              !wt_profile_is_on();
			if (!is_same || !is_said || mock.errors || mock.is_started ||
			    (mock.enabled && strcmp(mock.failed, "disable"))) {
				bad++;
				printf("# call %d (%s) with %d: same %d, said %d (state %d, %d), "
				       "%s\n",
				       at, mock.failed, codes[i], is_same, is_said, mock_state(),
				       (int)mock_detail(), mock.error);
			}
		}
	is_i64(bad, 0,
	       "each of them fails with 1, 8, 26, 35, 999: the application runs as without us");
}

/* ---- metrics, values, room */

static void test_values(void)
{
	struct wt_profile record;

	start(1);
	mock.metrics_max = 6;
	launches(101, 1, 10 * MS);
	ok(mock_record(WT_KIND_PROFILE, 0, &record) && record.tensor == 5 * record.elapsed &&
	           record.dram_bytes < 0,
	   "a chip without DRAM metrics");
	is_clean("no DRAM");
	start(1);
	mock.passes_metrics = 5;
	launches(101, 1, 10 * MS);
	ok(mock_record(WT_KIND_PROFILE, 0, &record) && record.tensor < 0 && record.passes == 1,
	   "what does not fit into one pass is left out");
	start(1);
	mock.passes_metrics = 4;
	launches(101, 1, 10 * MS);
	ok(mock_state() == WT_PROFILE_UNSUPPORTED && is_closed(), "unless it is needed");
	is_clean("passes");
	start(1);
	mock.bad_value = NAN;
	launches(150, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 0, "what is no number is no result");
	mock.bad_value = -5;
	launches(1, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 0, "nor what is negative");
	is_i64(mock_view.producer->profiled_launches, 0, "... and not counted");
	launches(50, 1, 10 * MS);
	is_i64(mock_state(), WT_PROFILE_ON, "after some tries it is left alone");
	launches(250, 1, 10 * MS);
	is_i64(mock_state(), WT_PROFILE_DONE, "... and all is done");
	is_clean("values");
	start(2);
	launches(99, 1, 10 * MS);
	mock_fill_ring(true);
	launches(2, 1, 10 * MS);
	mock_fill_ring(false);
	ok(mock_view.producer->profiled_launches == 2 && mock_view.producer->profile_dropped >= 1,
	   "no room in the ring: counted");
	is_clean("room");
}

/* ---- contexts, children, threads */

static void test_contexts(void)
{
	start(2);
	launches(101, 1, 10 * MS);
	mock.context = (wtcu_context)0x2000;
	mock.context_id = 2;
	mock.enabled = NULL; /* the first one was destroyed, and what was in it */
	mock.is_started = mock.is_config_set = false;
	launches(1, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 2, "another context waits a little");
	launches(100, 2, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 4, "then it has its turn");
	is_clean("a context that is gone");
	start(2);
	mock.context = NULL;
	ok(launches(150, 1, 10 * MS) && !mock.calls, "no context, no profiling");
}

static void test_child(void)
{
	int status = 1;
	pid_t pid;

	start(3);
	launches(101, 1, 10 * MS);
	pid = fork();
	if (!pid) {
		memset((void *)&mock_page, 0, sizeof(mock_page)); /* as MADV_WIPEONFORK does */
		mock.calls = 0;
		launches(20, 1, 10 * MS);
		wt_profile_hold();
		wt_profile_unhold();
		note(WT_API_cuCtxSynchronize, 0);
		_exit(mock.calls || wt_profile_is_on() || mock_page.profile);
	}
	waitpid(pid, &status, 0);
	is_i64(status, 0, "a forked child is left alone");
	launches(101, 1, 10 * MS);
	is_i64(mock_records(WT_KIND_PROFILE), 3, "its parent is not");
}

static void *thread_main(void *number)
{
	struct mock_spec spec = one;

	for (int i = 0; i < 2000; i++) {
		spec.function = 0x100 + (uint64_t)(i % 7);
		if (mock_launch(&spec, NULL))
			__atomic_fetch_add(&mock.errors, 1, __ATOMIC_RELAXED);
		if ((uintptr_t)number == 0)
			mock_pass(2 * MS);
		if ((uintptr_t)number == 1 && i % 50 == 0) {
			wt_profile_hold();
			wt_profile_unhold();
		}
	}
	return NULL;
}

static void test_threads(void)
{
	struct wt_profile record;
	pthread_t thread[4];
	bool are_right = true;

	start(5);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, thread_main, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	is_i64((int64_t)mock.executed, 8000, "four threads: every launch ran once");
	for (int i = 0; mock_record(WT_KIND_PROFILE, i, &record); i++)
		are_right = are_right && record.active_sum >= 267100 + 156 &&
		            record.active_sum <= 267000 + 0x106;
	ok(are_right, "and what has a result was alone (%d)", mock_records(WT_KIND_PROFILE));
	ok(mock_records(WT_KIND_PROFILE) <= 35, "no more than were asked for");
}

int main(void)
{
	test_refusals();
	test_records();
	test_steady_state();
	test_not_alone();
	test_streams();
	test_kernels();
	test_captures();
	test_failing_launches();
	test_failing_kernel();
	test_faults();
	test_values();
	test_contexts();
	test_child();
	test_threads();
	return tap_done();
}

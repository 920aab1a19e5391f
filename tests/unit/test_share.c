/*
 * test_share.c - CUPTI shared between wavetap and the application's own profiler: both must see
 * every record that is theirs, whatever the application does, and no buffer may be lost.
 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/mock_cupti.h"

/* What libcupti would export; here they are share.c's. */
wtcupti_result cuptiActivityEnable(int kind);
wtcupti_result cuptiActivityDisable(int kind);
wtcupti_result cuptiActivityEnableContext(wtcu_context context, int kind);
wtcupti_result cuptiActivityDisableContext(wtcu_context context, int kind);
wtcupti_result cuptiActivityEnableDriverApi(wtcupti_callback_id cbid, uint8_t enable);
wtcupti_result cuptiActivityEnableAllSyncRecords(uint8_t enable);
wtcupti_result cuptiActivityRegisterCallbacks(wtcupti_buffer_requested_fn requested,
                                              wtcupti_buffer_completed_fn completed);
wtcupti_result cuptiActivityRegisterTimestampCallback(wtcupti_timestamp_fn timestamp);
wtcupti_result cuptiActivityFlushAll(uint32_t flag);
wtcupti_result cuptiActivityGetNumDroppedRecords(wtcu_context context, uint32_t stream_id,
                                                 size_t *ret_dropped);
wtcupti_result cuptiActivitySetAttribute(int attribute, size_t *value_size, void *value);
wtcupti_result cuptiActivityGetAttribute(int attribute, size_t *value_size, void *value);
wtcupti_result cuptiSubscribe(wtcupti_subscriber *subscriber, wtcupti_callback_fn callback,
                              void *user_data);
wtcupti_result cuptiSubscribe_v2(wtcupti_subscriber *subscriber, wtcupti_callback_fn callback,
                                 void *user_data, void *params);
wtcupti_result cuptiFinalize(void);

/* ---- the application's profiler */

static struct {
	_Atomic uint64_t requested, completed, empty, kernels, copies, drivers, others, bad;
	size_t buffer_bytes; /* 0 = it has none to give */
	_Atomic uint64_t last_start_ns;
} app = {.buffer_bytes = 4096};

static void app_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*max_records = 0;
	*size = app.buffer_bytes;
	*buffer = app.buffer_bytes ? aligned_alloc(8, app.buffer_bytes) : NULL;
	if (*buffer)
		app.requested++;
}

static void app_completed(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                          size_t valid)
{
	struct wtcupti_activity *record = NULL;

	(void)context;
	(void)stream_id;
	app.completed++;
	app.empty += !valid;
	app.bad += valid > size;
	while (valid && !wt_cupti.next_record(buffer, valid, &record)) {
		const void *at = record;

		switch (record->kind) {
		case WTCUPTI_KIND_CONCURRENT_KERNEL: {
			const struct wtcupti_activity_kernel *kernel = at;

			app.kernels++;
			app.last_start_ns = kernel->start;
			app.bad += kernel->grid_x != 7 || !kernel->name;
			break;
		}
		case WTCUPTI_KIND_MEMCPY:
			app.copies++;
			break;
		case WTCUPTI_KIND_DRIVER:
			app.drivers++;
			break;
		default:
			app.others++;
		}
	}
	free(buffer);
}

static void on_callback(void *user_data, int domain, wtcupti_callback_id cbid, const void *data)
{
	(void)user_data;
	(void)domain;
	(void)cbid;
	(void)data;
}

static void app_reset(void)
{
	app.requested = app.completed = app.empty = app.kernels = app.copies = 0;
	app.drivers = app.others = app.bad = 0;
}

static void launches(int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t now_ns = wt_now_ns();

		mock_driver(WTCUPTI_CBID_cuLaunchKernel, now_ns);
		mock_kernel(now_ns, 1);
	}
}

static void forget_process(void)
{
	memset((void *)&mock_page, 0, sizeof(mock_page));
}

/* ---- the cases */

static void test_arming(void)
{
	struct wt_kernel kernel;
	struct wt_link links[WT_LINKS_PER_CELL + 1]; /* a whole payload is copied */

	/* Kineto does so before anything else; the real call would end our launch records. */
	is_i64(cuptiActivityDisable(WTCUPTI_KIND_DRIVER), 0, "disable before all");
	ok(!mock.cbids_dead, "is not passed on");
	is_i64(mock_page.cupti_state, WT_CUPTI_NONE, "and does not arm");
	/* The application registers before any context exists: we arm first. */
	is_i64(cuptiActivityRegisterCallbacks(app_requested, app_completed), 0, "register");
	is_i64(mock_page.cupti_state, WT_CUPTI_ARMED, "armed at the application's registration");
	ok(mock.requested && mock.requested != app_requested, "our callbacks stand");
	is_i64(mock_capture, WT_CAPTURE_FULL, "capture is full");
	ok(!mock.all_sync, "event queries are off");
	ok(!(mock.kinds >> WTCUPTI_KIND_KERNEL & 1) && !(mock.kinds >> WTCUPTI_KIND_DRIVER & 1) &&
	           !(mock.kinds >> WTCUPTI_KIND_RUNTIME & 1),
	   "no serialising kind, no whole API kind");
	launches(20);
	mock_flush_all(0);
	is_i64(mock_ring_count(WT_KIND_KERNEL), 20, "our kernels");
	is_i64(mock_ring_count(WT_KIND_LINK), 20, "our links");
	is_i64(mock_view.producer->kernels_seen, 20, "counted");
	ok(mock_ring_last(WT_KIND_KERNEL, &kernel), "a kernel record");
	is_i64(kernel.grid[0], 7, "grid");
	is_i64(kernel.block[0], 256, "block");
	is_i64(kernel.end_ns - kernel.start_ns, 1000, "duration");
	is_i64(kernel.max_active_clusters, 66, "a field of the newest record");
	is_i64(kernel.graph_node_id, 5, "graph node");
	ok(mock_ring_last(WT_KIND_LINK, links) && links[0].thread32 == 77 && !links[0].flags &&
	           links[0].duration_ns == 10,
	   "a link from a driver call");
	mock_runtime(211, 1000, 3000);
	mock_flush_all(0);
	ok(mock_ring_last(WT_KIND_LINK, links) && links[0].thread32 == 78 &&
	           links[0].start_ns == 1000 && links[0].duration_ns == 2000 &&
	           links[0].flags == WT_LINK_RUNTIME,
	   "a link from a runtime call: its whole interval");
	mock_runtime(211, 1000, UINT64_C(6000000000));
	mock_flush_all(0);
	ok(mock_ring_last(WT_KIND_LINK, links) && links[0].duration_ns == WT_LINK_DURATION_MAX_NS,
	   "a call of more than four seconds");
	is_i64(app.kernels, 0, "nothing for the application outside a session");
	is_i64(app.requested, 0, "nor a buffer asked for");
	is_i64(mock_find_calls, 1, "armed once");
}

static void session(const char *name)
{
	uint64_t before = mock_ring_count(WT_KIND_KERNEL);

	app_reset();
	launches(5);
	cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityEnable(WTCUPTI_KIND_MEMCPY);
	cuptiActivityEnable(WTCUPTI_KIND_RUNTIME);
	is_i64(app.requested, 1, "one buffer is borrowed at enable");
	launches(40);
	mock_memcpy(wt_now_ns());
	mock_runtime(20, wt_now_ns(), wt_now_ns());
	cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityDisable(WTCUPTI_KIND_MEMCPY);
	cuptiActivityDisable(WTCUPTI_KIND_RUNTIME);
	launches(5);
	mock_memcpy(wt_now_ns());
	is_i64(cuptiActivityFlushAll(0), 0, "flush");
	is_i64(app.kernels, 40, name);
	is_i64(app.copies, 1, "copies of the session");
	is_i64(app.drivers, 0, "no launch records, which are ours");
	is_i64(app.others, 1, "a kind of the application's own");
	is_i64(app.bad, 0, "whole records");
	is_i64(app.requested, app.completed, "every buffer came back");
	is_i64(mock_ring_count(WT_KIND_KERNEL) - before, 50, "ours: all of them");
	is_i64(mock.runtime_on[20], 0, "the application's kind is off again");
	is_i64(mock.runtime_on[211], 1, "but not our launch calls of it");
}

static uint64_t ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1000 + 2 * ((uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec);
}

/* A profiler that gives CUPTI a clock of its own, in ticks of half a nanosecond. */
static void test_own_clock(void)
{
	struct wt_kernel kernel;
	uint64_t real_ns, app_ticks;
	struct timespec pause = {.tv_nsec = 2000000};

	app_reset();
	is_i64(cuptiActivityRegisterTimestampCallback(ticks), 0, "own clock");
	ok(!mock.timestamp, "is kept from CUPTI: it would rescale our records");
	nanosleep(&pause, NULL);
	cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	real_ns = wt_now_ns();
	app_ticks = ticks();
	mock_kernel(real_ns, 1);
	nanosleep(&pause, NULL);
	cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(0);
	is_i64(app.kernels, 1, "its record comes");
	ok(llabs((long long)(app.last_start_ns - app_ticks)) < 2 * 200000,
	   "in its clock (%lld ticks off)", (long long)(app.last_start_ns - app_ticks));
	ok(mock_ring_last(WT_KIND_KERNEL, &kernel) && kernel.start_ns == real_ns,
	   "ours is CUPTI's own");
	mock_kernel(0, 1);
	mock_flush_all(0);
	ok(mock_ring_last(WT_KIND_KERNEL, &kernel) && !kernel.start_ns, "no time stays no time");
}

static void test_driver_kind(void)
{
	uint64_t before = mock_ring_count(WT_KIND_LINK);

	app_reset();
	cuptiActivityEnable(WTCUPTI_KIND_DRIVER);
	is_i64(mock.kinds >> WTCUPTI_KIND_DRIVER & 1, 0, "the DRIVER kind as such stays off");
	mock_driver(WTCUPTI_CBID_cuLaunchKernel, wt_now_ns());
	mock_driver(WTCUPTI_CBID_cuCtxSynchronize, wt_now_ns());
	cuptiActivityEnableDriverApi(WTCUPTI_CBID_cuLaunchKernel, 0);
	mock_driver(WTCUPTI_CBID_cuLaunchKernel, wt_now_ns());
	cuptiActivityDisable(WTCUPTI_KIND_DRIVER);
	mock_driver(WTCUPTI_CBID_cuLaunchKernel, wt_now_ns());
	mock_driver(WTCUPTI_CBID_cuCtxSynchronize, wt_now_ns());
	cuptiActivityEnableDriverApi(WTCUPTI_CBID_cuGraphLaunch, 1);
	mock_driver(WTCUPTI_CBID_cuGraphLaunch, wt_now_ns());
	cuptiActivityEnableDriverApi(WTCUPTI_CBID_cuGraphLaunch, 0);
	mock_driver(WTCUPTI_CBID_cuGraphLaunch, wt_now_ns());
	cuptiActivityFlushAll(0);
	is_i64(app.drivers, 3, "driver records of the application's session");
	is_i64(mock_ring_count(WT_KIND_LINK) - before, 5, "our links survive its switching");
	is_i64(app.requested, app.completed, "every buffer came back");
}

static void test_small_and_no_buffers(void)
{
	size_t dropped = 99;

	app_reset();
	app.buffer_bytes = 504; /* two kernel records */
	cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	launches(9);
	cuptiActivityFlushAll(0);
	is_i64(app.kernels, 9, "buffers of two records");
	app.buffer_bytes = 0;
	launches(4);
	mock_flush_all(0);
	mock_flush_all(0);
	is_i64(app.kernels, 9, "then it gives none; the borrowed one stays out until a flush");
	is_i64(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0, "dropped records");
	is_i64(dropped, 4, "are told");
	cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	is_i64(dropped, 0, "once");
	mock.dropped = 3;
	app.buffer_bytes = 4096;
	launches(1);
	mock_flush_all(0);
	is_i64(mock_view.producer->kernels_dropped_cupti, 3, "CUPTI's drops are ours");
	cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	is_i64(dropped, 3, "and the application's");
	cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(0);
	is_i64(app.requested, app.completed, "every buffer came back");
	is_i64(app.bad, 0, "no record was split");
}

static void test_contexts(void)
{
	app_reset();
	cuptiActivityEnableContext((wtcu_context)2, WTCUPTI_KIND_CONCURRENT_KERNEL);
	mock_kernel(wt_now_ns(), 1);
	mock_kernel(wt_now_ns(), 2);
	cuptiActivityDisableContext((wtcu_context)2, WTCUPTI_KIND_CONCURRENT_KERNEL);
	mock_kernel(wt_now_ns(), 2);
	cuptiActivityFlushAll(0);
	is_i64(app.kernels, 1, "one context only");
	cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityDisableContext((wtcu_context)2, WTCUPTI_KIND_CONCURRENT_KERNEL);
	mock_kernel(wt_now_ns(), 1);
	mock_kernel(wt_now_ns(), 2);
	cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(0);
	is_i64(app.kernels, 2, "all contexts but one");
	is_i64(app.requested, app.completed, "every buffer came back");
}

static void test_the_rest(void)
{
	uint8_t value = 1;
	size_t bytes = sizeof(value);
	wtcupti_subscriber subscriber = NULL;
	uint64_t before;

	is_i64(cuptiActivitySetAttribute(WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &value),
	       0, "attribute");
	value = 0;
	cuptiActivityGetAttribute(WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &value);
	is_i64(value, 1, "reads as the application wrote it");
	cuptiActivityEnable(WTCUPTI_KIND_SYNCHRONIZATION);
	ok(mock.all_sync, "all synchronisation records, CUPTI's default, for its session");
	cuptiActivityDisable(WTCUPTI_KIND_SYNCHRONIZATION);
	ok(!mock.all_sync, "and off after it");

	is_i64(cuptiSubscribe(&subscriber, on_callback, NULL), 0, "subscribe");
	cuptiActivityEnable(WTCUPTI_KIND_RUNTIME);
	is_i64(cuptiFinalize(), 0, "finalize");
	is_i64(mock.runtime_on[20], 0, "ends the application's kinds");
	is_i64(mock.domains_off, 1, "and its callbacks");
	before = mock_ring_count(WT_KIND_KERNEL);
	launches(3);
	mock_flush_all(0);
	is_i64(mock_ring_count(WT_KIND_KERNEL) - before, 3, "but not our records");
	is_i64(cuptiSubscribe(&subscriber, on_callback, NULL), 0, "the seat is free again");
	is_i64(mock.unsubscribed, 1, "the old subscriber is gone");
}

static void test_pool(void)
{
	uint8_t *buffer[9];
	size_t size, max_records;
	static uint8_t foreign[4096];
	uint64_t before = mock_ring_count(WT_KIND_KERNEL);

	for (int i = 0; i < 9; i++)
		mock.requested(&buffer[i], &size, &max_records);
	ok(buffer[7] && !buffer[8] && !size, "eight buffers, then NULL");
	is_i64(mock_view.producer->buffers_lent, 8, "lent");
	ok((uintptr_t)buffer[3] % 8 == 0, "aligned");
	for (int i = 0; i < 8; i++)
		mock.completed(NULL, 0, buffer[i], size, 0);
	is_i64(mock_view.producer->buffers_lent, 0, "all back");

	/* One the application had lent before we came. */
	app_reset();
	mock_lend_foreign(aligned_alloc(8, sizeof(foreign)), sizeof(foreign));
	launches(2);
	mock_flush_all(0);
	is_i64(app.kernels, 2, "a foreign buffer goes to the application, whole");
	is_i64(app.completed, 1, "once");
	is_i64(mock_ring_count(WT_KIND_KERNEL) - before, 2, "and we read it");
}

/* ---- many threads */

static _Atomic bool stop;

static void *switcher(void *unused)
{
	for (int i = 0; i < 300; i++) {
		cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL);
		cuptiActivityEnable(WTCUPTI_KIND_DRIVER);
		cuptiActivityFlushAll(0);
		cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
		cuptiActivityDisable(WTCUPTI_KIND_DRIVER);
		cuptiActivityFlushAll(0);
	}
	stop = true;
	return unused;
}

static void *flusher(void *unused)
{
	struct timespec pause = {.tv_nsec = 200000};

	while (!stop) {
		mock_flush_all(0);
		nanosleep(&pause, NULL);
	}
	return unused;
}

static void test_threads(void)
{
	uint64_t before = mock_ring_count(WT_KIND_KERNEL), made = 0;
	pthread_t thread[3];

	app_reset();
	pthread_create(&thread[0], NULL, switcher, NULL);
	pthread_create(&thread[1], NULL, switcher, NULL);
	pthread_create(&thread[2], NULL, flusher, NULL);
	while (!stop) {
		mock_kernel(wt_now_ns(), 1);
		if (++made % 1024 == 0)
			mock_ring_drain();
	}
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(0);
	is_i64(mock_ring_count(WT_KIND_KERNEL) - before + mock_view.producer->kernels_dropped_ring +
	               mock_view.producer->kernels_dropped_cupti - 3,
	       made, "every kernel is ours or counted");
	is_i64(app.requested, app.completed, "every buffer came back");
	is_i64(app.bad, 0, "whole records");
}

static int calls_on(void)
{
	int on = 0;

	for (unsigned i = 0; i < MOCK_CBIDS; i++)
		on += mock.cbid_on[i] + mock.runtime_on[i];
	return on;
}

#define CHECK(cond, what)                                                                          \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("# failed: %s\n", what);                                            \
			good = false;                                                              \
		}                                                                                  \
	} while (0)

/* Nothing for us, as WAVETAP_BUDGET wants it; the application's profiler is served as ever. */
static bool rests_well(void)
{
	static _Atomic uint64_t since_ns;
	bool good = true;
	uint64_t before;

	app_reset();
	cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	CHECK(!wt_cupti_rest(WT_REASON_BUDGET, 1, &since_ns),
	      "not in a session of the application's");
	cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(0);
	mock_page.captures_open = 1;
	CHECK(!wt_cupti_rest(WT_REASON_BUDGET, 1, &since_ns), "nor while a stream is captured");
	mock_page.captures_open = 0;
	wt_cupti_hold_captures();
	CHECK(!wt_cupti_rest(WT_REASON_BUDGET, 1, &since_ns), "nor while a capture begins");
	wt_cupti_unhold_captures();
	CHECK((mock_page.cupti_state) == (WT_CUPTI_ARMED), "all is as it was");
	launches(3);
	CHECK(wt_cupti_rest(WT_REASON_BUDGET, 31000, &since_ns), "else it does");
	CHECK((mock_page.cupti_state) == (WT_CUPTI_RESTING), "and says so");
	CHECK(mock_capture == WT_CAPTURE_HOOKS_ONLY && mock_reason == WT_REASON_BUDGET &&
	              mock_detail == 31000,
	      "with the reason");
	CHECK(!mock.kinds && !calls_on() && !mock.cbids_dead, "nothing is on");
	CHECK(mock.requested && mock.requested != app_requested, "our callbacks stand");
	CHECK(!wt_cupti_is_recording() && wt_cupti_is_held(), "CUPTI is ours, and rests");
	before = mock_ring_count(WT_KIND_KERNEL);
	launches(5);
	mock_flush_all(0);
	CHECK((mock_ring_count(WT_KIND_KERNEL) - before) == (3), "what was launched before comes");
	CHECK((app.kernels) == (0), "and nothing for the application");
	app_reset();
	cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityEnable(WTCUPTI_KIND_RUNTIME);
	cuptiActivityEnableDriverApi(WTCUPTI_CBID_cuLaunchKernel, 1);
	launches(40);
	mock_runtime(211, wt_now_ns(), wt_now_ns());
	cuptiActivityDisable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	cuptiActivityDisable(WTCUPTI_KIND_RUNTIME);
	cuptiActivityEnableDriverApi(WTCUPTI_CBID_cuLaunchKernel, 0);
	launches(5);
	cuptiActivityFlushAll(0);
	CHECK((app.kernels) == (40), "its sessions see their kernels");
	CHECK((app.drivers) == (40), "and launch calls, those of the driver");
	CHECK((app.others) == (1), "and of the runtime");
	CHECK((app.requested) == (app.completed), "every buffer came back");
	CHECK(!mock.kinds && !calls_on(), "then nothing is on again");
	CHECK(!wt_cupti_rest(WT_REASON_BUDGET, 1, &since_ns), "once is enough");
	fflush(stdout);
	return good;
}

/* In a child of its own: it is for good. */
static void test_resting(void)
{
	int status = 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(!rests_well());
	waitpid(pid, &status, 0);
	is_i64(status, 0,
	       "records given up: CUPTI stays ours, and the application's profiler is served");
}

static void test_giving_way(void)
{
	wtcupti_subscriber subscriber = NULL;

	mock.seat = NULL;
	mock.fail_subscribe_v2 = WTCUPTI_ERROR_NOT_COMPATIBLE;
	is_i64(cuptiSubscribe_v2(&subscriber, on_callback, NULL, NULL), 0,
	       "a scoped subscriber gets CUPTI");
	is_i64(mock_page.cupti_state, WT_CUPTI_FAILED, "we step back");
	is_i64(mock_capture, WT_CAPTURE_HOOKS_ONLY, "to hooks only");
	is_i64(mock_reason, WT_REASON_CUPTI_IN_USE, "and say why");
	is_i64(mock.kinds, 0, "nothing of ours is left on");

	/* A forked child: the fork page is wiped, CUPTI stays off, everything is passed on. */
	forget_process();
	is_i64(cuptiActivityRegisterCallbacks(app_requested, app_completed), 0,
	       "in a forked child");
	is_i64(mock_page.cupti_state, WT_CUPTI_FAILED, "CUPTI is not armed");
	is_i64(mock_reason, WT_REASON_FORKED, "because it was before the fork");
	ok(mock.requested == app_requested, "the application has it to itself");
}

/* In a child of its own, for arming happens once in a process. */
static void test_late(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		bool good;

		wt_cupti_arm(true);
		good = mock.kinds >> WTCUPTI_KIND_DRIVER & 1 &&
		       mock.kinds >> WTCUPTI_KIND_RUNTIME & 1 &&
		       mock_reason == WT_REASON_ARMED_LATE &&
		       mock.cbid_on[WTCUPTI_CBID_cuLaunchKernel];
		for (uint32_t cbid = 1; cbid < MOCK_CBIDS; cbid++)
			good = good &&
			       mock.cbid_on[cbid] ==
			               (wt_cupti_launch_call(WTCUPTI_KIND_DRIVER, cbid) >= 0);
		_exit(!good);
	}
	waitpid(pid, &status, 0);
	is_i64(status, 0, "armed late: whole kinds, then all calls but the launches off");
}

/* The limit that CUPTI has for its buffers on the device, armed with that setting; 0: set too late. */
static size_t limit_with(const char *setting, size_t own, int fail)
{
	int fd[2];
	size_t limit = 0;
	pid_t pid;

	if (pipe(fd))
		return 0;
	pid = fork();
	if (!pid) {
		if (setting)
			setenv("WAVETAP_CUPTI_BUFFERS", setting, 1);
		mock.device_buffers = own;
		mock.fail_attribute = fail;
		wt_cupti_arm(false);
		limit = mock.attribute_late || mock_page.cupti_state != WT_CUPTI_ARMED
		                ? 0
		                : mock.device_buffers;
		_exit(write(fd[1], &limit, sizeof(limit)) != sizeof(limit));
	}
	if (read(fd[0], &limit, sizeof(limit)) != sizeof(limit))
		limit = 0;
	waitpid(pid, NULL, 0);
	close(fd[0]);
	close(fd[1]);
	return limit;
}

static void test_limit(void)
{
	is_i64((int64_t)limit_with(NULL, 250, 0), 64, "buffers on the device: 64, not CUPTI's 250");
	is_i64((int64_t)limit_with("1000", 250, 0), 1000, "as many as were asked for");
	is_i64((int64_t)limit_with("2", 250, 0), 4, "but more than CUPTI makes at the start");
	is_i64((int64_t)limit_with("0", 250, 0), 250, "0: CUPTI's own");
	is_i64((int64_t)limit_with("few", 250, 0), 64, "what is no number counts as not set");
	is_i64((int64_t)limit_with(NULL, 100, 0), 100, "the application's own limit stays");
	is_i64((int64_t)limit_with("30", 100, 0), 30, "unless the user says otherwise");
	is_i64((int64_t)limit_with(NULL, 250, WTCUPTI_ERROR_INVALID_PARAMETER), 250,
	       "a CUPTI that knows no such limit is armed as well");
}

/*
 * A CUPTI before 12.9 U1 takes no NULL for a buffer: when all are out it gets small spare ones, and at
 * last one that nobody reads. In a child of its own: the version is asked once.
 */
static bool older_gets_buffers(void)
{
	uint8_t *buffer[64];
	size_t size[64], max_records;
	bool good = true;
	uint64_t kernels;

	mock_version = WTCUPTI_API_VERSION_CUDA_11_8;
	wt_cupti_arm(false);
	for (int i = 0; i < 64; i++) {
		mock.requested(&buffer[i], &size[i], &max_records);
		good = good && buffer[i] && size[i] >= 4096 && (uintptr_t)buffer[i] % 8 == 0;
		if (buffer[i])
			memset(buffer[i], 0, 64); /* they are there */
	}
	good = good && buffer[0] != buffer[1] && buffer[8] != buffer[9] && size[8] < size[7] &&
	       buffer[62] == buffer[63];
	for (int i = 0; i < 64; i++)
		mock.completed(NULL, 0, buffer[i], size[i], 0);
	good = good && mock_view.producer->buffers_lent == 0;
	/* the same again: no buffer was lost, and records come through */
	mock.requested(&buffer[0], &size[0], &max_records);
	good = good && size[0] > size[8];
	mock.completed(NULL, 0, buffer[0], size[0], 0);
	kernels = mock_ring_count(WT_KIND_KERNEL);
	launches(3);
	mock_flush_all(0);
	return good && mock_ring_count(WT_KIND_KERNEL) - kernels == 3;
}

static void test_older(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(!older_gets_buffers());
	waitpid(pid, &status, 0);
	is_i64(status, 0,
	       "an older CUPTI never gets NULL: spare buffers, then one that is not read");
}

/* Bytes that are no records, in buffers that CUPTI gives back: read as far as they make sense. */
static void test_garbage(void)
{
	uint64_t seed = 20261129;
	size_t size, max_records;
	uint8_t *buffer;

	app_reset();
	for (int round = 0; round < 400; round++) {
		size_t valid;

		mock.requested(&buffer, &size, &max_records);
		for (size_t i = 0; i < 8192; i++) {
			seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			buffer[i] = (uint8_t)(seed >> 56);
		}
		/* kinds that exist, but no name that a pointer could lead to */
		for (size_t i = 0; round % 2 && i + 64 < 8192; i += 8)
			*(uint32_t *)(void *)(buffer + i) =
			        i % 3 ? WTCUPTI_KIND_MEMCPY : WTCUPTI_KIND_DRIVER;
		valid = round % 5 ? (size_t)(seed >> 40) % 8192 : (size_t)round;
		mock.completed(NULL, 0, buffer, size, valid);
	}
	is_i64(mock_view.producer->buffers_lent, 0, "buffers of garbage come back");
	launches(3);
	mock_flush_all(0);
	ok(mock_page.cupti_state == WT_CUPTI_ARMED, "and CUPTI is still ours");
	mock_ring_drain();
}

int main(void)
{
	test_late();
	test_limit();
	test_older();
	test_arming();
	session("first session");
	session("second session");
	session("third session");
	is_i64(mock_view.producer->app_profiler_sessions, 3, "sessions counted");
	test_driver_kind();
	test_small_and_no_buffers();
	test_contexts();
	test_the_rest();
	test_pool();
	test_own_clock();
	session("session with its own clock");
	test_garbage();
	test_threads();
	test_resting();
	test_giving_way();
	return tap_done();
}

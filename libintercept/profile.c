/*
 * profile.c - WAVETAP_PROFILE in a process: its beginning and end, and one profiled launch.
 *
 * See profile.h for what happens in which order, and what it costs. Whatever CUPTI refuses ends it
 * for good, with the code, and the application's launch goes on as if nothing had been.
 *
 * The threads of the application, inside their launch calls. Blocks in CUPTI and in cuCtxSynchronize,
 * in launches that are profiled; no other thread waits for it but one that begins a capture.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "libintercept/cupti.h"
#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "libintercept/profile.h"
#include "schema/wt_setting.h"

#define MS UINT64_C(1000000)

_Atomic uint64_t wt_profile_on;

typedef wtcu_result (*ctx_synchronize_fn)(void);

/* ---- its life */

static uint32_t setting(enum wt_setting_id id)
{
	const struct wt_setting *setting = wt_setting(id);
	uint32_t value;

	wt_setting_parse(setting, secure_getenv(setting->name), &value);
	return value;
}

uint64_t wt_profile_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

struct wt_profile_run *wt_profile_run_now(void)
{
	struct wt_fork_page *page = atomic_load_explicit(&wt_page, memory_order_acquire);

	return page ? atomic_load_explicit(&page->profile, memory_order_acquire) : NULL;
}

static void set_state(struct wt_view *view, enum wt_profile_state state, uint64_t detail)
{
	wt_store_relaxed(&view->producer->profile_detail, detail);
	wt_store_release(&view->producer->profile_state, state);
}

static struct wt_profile_run *make_run(struct wt_view *view, uint32_t wish)
{
	struct wt_profile_run *run;

	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		return NULL;
	(void)madvise(run, sizeof(*run), MADV_DONTFORK);
	run->view = view;
	run->launches_wanted = wish;
	run->warmup_ns = MS * setting(WT_SETTING_PROFILE_WARMUP_MS);
	run->share = setting(WT_SETTING_PROFILE_SHARE);
	run->first_ns = wt_profile_clock_ns();
	wt_store_relaxed(&run->table.new_ns, run->first_ns);
	return run;
}

void wt_profile_start(struct wt_view *view)
{
	struct wt_fork_page *page = wt_fork_page();
	uint32_t wish = view->header->profile_launches;
	struct wt_profile_run *run;

	if (!wish || !page)
		return;
	if (view->header->world_size > 1) {
		set_state(view, WT_PROFILE_WORLD, 0);
		return;
	}
	run = make_run(view, wish);
	if (!run || !wt_cupti_is_recording() || wt_load_relaxed(&page->is_injected) ||
	    !wt_profile_find_calls(&run->session.api)) {
		if (run)
			munmap(run, sizeof(*run));
		set_state(view, WT_PROFILE_UNSUPPORTED, 0);
		return;
	}
	set_state(view, WT_PROFILE_WAITING, 0);
	atomic_store(&page->profile, run);
	wt_store_relaxed(&wt_profile_on, 1);
}

void wt_profile_stop(struct wt_profile_run *run, enum wt_profile_state state, uint64_t detail)
{
	uint64_t expected = 0;

	if (!atomic_compare_exchange_strong(&run->stop, &expected, state))
		return;
	atomic_store(&run->stop_detail, detail);
	set_state(run->view, state, detail);
	wt_log("profile: ended, state %d, detail %llu", (int)state, (unsigned long long)detail);
}

/* A state of one that goes on; what ended it meanwhile stands. By the holder of `busy`. */
static void set_going(struct wt_profile_run *run, enum wt_profile_state state)
{
	uint64_t stop = atomic_load(&run->stop);

	if (!stop) {
		set_state(run->view, state, 0);
		stop = atomic_load(&run->stop);
	}
	if (stop)
		set_state(run->view, (enum wt_profile_state)stop, atomic_load(&run->stop_detail));
}

static enum wt_profile_state state_of(int code)
{
	switch (code) {
	case WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
	case WTCUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
		return WT_PROFILE_NO_PERMISSION;
	case WTCUPTI_ERROR_HARDWARE_BUSY:
		return WT_PROFILE_BUSY;
	case WTCUPTI_ERROR_API_NOT_IMPLEMENTED:
	case WTCUPTI_ERROR_INVALID_METRIC_NAME: /* cycles and warps are needed */
	case WTCUPTI_ERROR_INVALID_CHIP_NAME:
	case WTCUPTI_ERROR_NOT_SUPPORTED:
	case WTCUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
	case WTCUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
		return WT_PROFILE_UNSUPPORTED;
	default:
		return WT_PROFILE_FAILED;
	}
}

static void fail(struct wt_profile_run *run, int code)
{
	wt_profile_stop(run, state_of(code), (uint64_t)code);
}

/* All has ended: nothing is left open, and launches cost nothing any more. Keeps `busy`. */
static void end_for_good(struct wt_profile_run *run)
{
	int code = wt_profile_session_close(&run->session);

	if (code)
		wt_log("profile: closing gave %d", code);
	wt_store_relaxed(&wt_profile_on, 0);
}

/* The counters go back to whoever wants them, until there is something to do again. */
static void rest(struct wt_profile_run *run)
{
	int code = wt_profile_session_close(&run->session);

	wt_store_relaxed(&run->turn_ns, 0);
	if (code)
		fail(run, code);
	else
		set_going(run, WT_PROFILE_DONE);
}

static bool try_busy(struct wt_profile_run *run)
{
	return !atomic_load_explicit(&run->busy, memory_order_relaxed) &&
	       !atomic_exchange(&run->busy, 1);
}

static void leave_busy(struct wt_profile_run *run)
{
	if (wt_load_acquire(&run->stop))
		end_for_good(run);
	else
		atomic_store(&run->busy, 0);
}

/* ---- may this launch be profiled? */

/* Nobody else is in a launch or about to capture, and the application's profiler sleeps. */
static bool is_free(struct wt_profile_run *run)
{
	const struct wt_fork_page *page = wt_fork_page();
	uint64_t ended = atomic_load(&run->ended);

	run->turn.begun = atomic_load(&run->begun);
	return run->turn.begun == ended + 1 && !atomic_load(&run->holds) && page &&
	       !wt_load_acquire(&page->captures_open) && wt_cupti_is_recording() &&
	       !wt_share_any_open();
}

static bool find_place(struct wt_profile_place *place)
{
	wtcu_ctx_get_current_fn get_current =
	        (wtcu_ctx_get_current_fn)wt_driver_entry("cuCtxGetCurrent");
	wtcu_ctx_get_device_fn get_device =
	        (wtcu_ctx_get_device_fn)wt_driver_entry("cuCtxGetDevice");
	wtcu_device_get_attribute_fn get_attribute =
	        (wtcu_device_get_attribute_fn)wt_driver_entry("cuDeviceGetAttribute");
	int sms = 0;

	*place = (struct wt_profile_place){0};
	if (!get_current || !get_device || !get_attribute || !wt_cupti.get_context_id ||
	    get_current(&place->context) != WTCU_SUCCESS || !place->context ||
	    get_device(&place->device) != WTCU_SUCCESS ||
	    get_attribute(&sms, WTCU_DEVICE_MULTIPROCESSOR_COUNT, place->device) != WTCU_SUCCESS ||
	    wt_cupti.get_context_id(place->context, &place->context_id))
		return false;
	place->sm_count = (uint32_t)sms;
	return true;
}

/* Everything that was launched or copied before has ended. */
static int synchronize(void)
{
	ctx_synchronize_fn wait = (ctx_synchronize_fn)wt_driver_entry("cuCtxSynchronize");

	return wait ? wait() : WTCU_ERROR_NOT_FOUND;
}

/* The session for this launch, if it is open or may be opened by now. */
static bool open_session(struct wt_profile_run *run)
{
	struct wt_profile_session *session = &run->session;
	uint64_t turn_ns = wt_load_relaxed(&run->turn_ns), now_ns = wt_profile_clock_ns();
	struct wt_profile_place place;
	int code;

	if (!find_place(&place))
		return false;
	if (session->is_open && session->context_id == place.context_id)
		return true;
	if (session->is_open && turn_ns && now_ns - turn_ns < WT_PROFILE_SWITCH_NS)
		return false;
	code = wt_profile_session_open(session, &place);
	if (code)
		fail(run, code);
	else
		set_going(run, WT_PROFILE_ON);
	return !code;
}

/* The last steps before the launch. True: the profiler is running. */
static bool start_profiler(struct wt_profile_run *run)
{
	int code;

	if (!open_session(run))
		return false;
	/* An error of the application's: it is in its context, and its launch will tell it. */
	code = synchronize();
	if (code) {
		wt_profile_stop(run, WT_PROFILE_FAILED, (uint64_t)code);
		if (synchronize())
			wt_profile_session_abandon(&run->session);
		return false;
	}
	code = wt_profile_range_start(&run->session);
	if (code)
		fail(run, code);
	return !code;
}

/* The turn is over: what it cost, and how long none follows. */
static void add_cost(struct wt_profile_run *run)
{
	uint64_t now_ns = wt_now_ns(), cost_ns;

	if (now_ns <= run->turn.start_ns)
		return;
	cost_ns = now_ns - run->turn.start_ns;
	wt_add_relaxed(&run->view->producer->profile_cost_ns, cost_ns);
	wt_store_relaxed(&run->pause_until_ns,
	                 wt_profile_clock_ns() +
	                         wt_profile_pause_ns(cost_ns, run->share, ++run->turns));
}

static enum wt_profile_role begin_turn(struct wt_profile_run *run, struct wt_profile_config *config)
{
	enum wt_profile_role role = WT_PROFILE_PROFILED;
	int saved_errno = errno;

	if (!try_busy(run))
		return WT_PROFILE_COUNTED;
	if (wt_load_acquire(&run->stop) || !is_free(run)) {
		leave_busy(run);
		return WT_PROFILE_COUNTED;
	}
	run->turn.config = config;
	run->turn.start_ns = wt_now_ns();
	/* A cancelled thread must not end with the profiler running. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &run->turn.cancel_state);
	if (!start_profiler(run)) {
		pthread_setcancelstate(run->turn.cancel_state, NULL);
		add_cost(run);
		leave_busy(run);
		role = WT_PROFILE_COUNTED;
	}
	errno = saved_errno;
	return role;
}

/* Nothing to do for this launch. For any? */
static void look_for_rest(struct wt_profile_run *run, uint64_t now_ns)
{
	uint64_t turn_ns = wt_load_relaxed(&run->turn_ns);
	int saved_errno = errno;

	if (!turn_ns || now_ns < turn_ns || now_ns - turn_ns < WT_PROFILE_IDLE_NS || !try_busy(run))
		return;
	rest(run);
	leave_busy(run);
	errno = saved_errno;
}

/* Somebody found a reason to end it. */
static void wind_up(struct wt_profile_run *run)
{
	int saved_errno = errno;

	if (try_busy(run))
		leave_busy(run);
	errno = saved_errno;
}

enum wt_profile_role wt_profile_begin(const struct wt_launch *launch)
{
	struct wt_profile_run *run = wt_profile_run_now();
	enum wt_profile_role role = WT_PROFILE_COUNTED;
	struct wt_profile_config *config;
	uint64_t now_ns;

	if (!run) { /* a forked child's */
		wt_store_relaxed(&wt_profile_on, 0);
		return WT_PROFILE_NOT;
	}
	atomic_fetch_add(&run->begun, 1);
	/* Into a graph: nothing runs, and asking the driver anything would end the capture. */
	if (launch->flags & (WT_FLAG_CAPTURE_STREAM | WT_FLAG_CAPTURE_OPEN))
		return WT_PROFILE_COUNTED;
	if (launch->flags & WT_FLAG_COOPERATIVE)
		wt_profile_stop(run, WT_PROFILE_COOPERATIVE, 0);
	wt_profile_gate_launch(run, launch->api, launch->stream);
	if (wt_load_acquire(&run->stop)) {
		wind_up(run);
		return WT_PROFILE_COUNTED;
	}
	if (!launch->block[0]) /* the legacy calls, which don't tell it */
		return WT_PROFILE_COUNTED;
	now_ns = wt_profile_clock_ns();
	config = wt_profile_find(&run->table, launch, run->launches_wanted, now_ns);
	if (!config)
		return WT_PROFILE_COUNTED;
	wt_add_relaxed(&config->launches, 1);
	wt_store_relaxed(&config->last_ns, now_ns);
	if (now_ns - run->first_ns >= run->warmup_ns &&
	    now_ns >= wt_load_relaxed(&run->pause_until_ns))
		role = wt_profile_choose(&run->table, config, run->launches_wanted, now_ns);
	if (role != WT_PROFILE_COUNTED)
		return begin_turn(run, config);
	look_for_rest(run, now_ns);
	return WT_PROFILE_COUNTED;
}

/* ---- after the launch */

/* Time that the application's thread spent with us is the profiler's, not the application's. */
static void put_overhead(struct wt_profile_run *run, uint64_t start_ns, uint64_t end_ns)
{
	struct wt_overhead overhead = {
	        .start_ns = start_ns,
	        .end_ns = end_ns,
	        .type = WTCUPTI_OVERHEAD_INSTRUMENTATION,
	        .object = WTCUPTI_OBJECT_THREAD,
	        .thread32 = wt_thread32(),
	};

	if (end_ns > start_ns)
		wt_emit_activity(run->view, WT_KIND_OVERHEAD, 1, &overhead, sizeof(overhead));
}

static void put_record(struct wt_profile_run *run, const struct wt_launch *launch,
                       const double *values, uint64_t end_ns)
{
	const struct wt_profile_session *session = &run->session;
	struct wt_profile record = {
	        .launch_seq = launch->seq,
	        .start_ns = launch->entry_ns,
	        .end_ns = end_ns,
	        .active_sum = values[WT_PROFILE_ACTIVE_SUM],
	        .active_min = values[WT_PROFILE_ACTIVE_MIN],
	        .active_max = values[WT_PROFILE_ACTIVE_MAX],
	        .elapsed = values[WT_PROFILE_ELAPSED],
	        .warps = values[WT_PROFILE_WARPS],
	        .tensor = -1,
	        .dram_bytes = -1,
	        .device = (uint16_t)session->device,
	        .sm_count = (uint16_t)session->sm_count,
	        .passes = session->range.passes,
	};
	uint64_t now_ns = wt_now_ns();

	if (values[WT_PROFILE_TENSOR] >= 0)
		record.tensor = values[WT_PROFILE_TENSOR] / 100 * record.elapsed;
	if (values[WT_PROFILE_DRAM_READ] >= 0 && values[WT_PROFILE_DRAM_WRITE] >= 0)
		record.dram_bytes = values[WT_PROFILE_DRAM_READ] + values[WT_PROFILE_DRAM_WRITE];
	if (now_ns > run->turn.start_ns)
		record.cost_ns = now_ns - run->turn.start_ns;
	wt_add_relaxed(&run->view->producer->profiled_launches, 1);
	if (wt_ring_put(&run->view->ring[WT_RING_ACTIVITY], WT_KIND_PROFILE, 1, &record,
	                sizeof(record)))
		wt_add_relaxed(&run->view->producer->profile_dropped, 1);
}

/* Stops the profiler. False: no result; `launch` NULL: none is wanted. */
static bool stop_profiler(struct wt_profile_run *run, const struct wt_launch *launch,
                          uint64_t end_ns)
{
	double values[WT_PROFILE_METRICS];
	size_t ranges;
	int code = wt_profile_range_stop(&run->session, values, &ranges);

	if (code)
		fail(run, code);
	if (code || !launch || ranges != 1 || !wt_profile_was_alone(run))
		return false;
	for (int i = 0; i < WT_PROFILE_METRICS_NEEDED; i++)
		if (!(values[i] >= 0)) /* NaN too: counted nothing, and must not read as idle */
			return false;
	if (!(values[WT_PROFILE_ELAPSED] > 0))
		return false;
	put_record(run, launch, values, end_ns);
	wt_add_relaxed(&run->turn.config->profiled, 1);
	return true;
}

/* Waits for the kernel. An error is the application's, and its next call will tell it; one that stays
 * means that the context is broken. False then: CUPTI is not to be called any more. */
static bool await_kernel(struct wt_profile_run *run, const struct wt_launch **launch)
{
	int error = *launch ? synchronize() : WTCU_SUCCESS;

	if (!error)
		return true;
	*launch = NULL;
	wt_profile_stop(run, WT_PROFILE_FAILED, (uint64_t)error);
	if (!synchronize())
		return true;
	wt_profile_session_abandon(&run->session);
	return false;
}

/* Both ways out of a turn. `launch` NULL: it failed. */
static void end_turn(struct wt_profile_run *run, const struct wt_launch *launch)
{
	struct wt_profile_config *config = run->turn.config;
	int cancel_state = run->turn.cancel_state, saved_errno = errno;
	bool is_usable = await_kernel(run, &launch), has_result = false;
	uint64_t end_ns = wt_now_ns(), tries = wt_load_relaxed(&config->tries_left);

	if (is_usable)
		has_result = stop_profiler(run, launch, end_ns);
	if (launch)
		wt_profile_flush(run);
	if (!has_result && tries)
		wt_store_relaxed(&config->tries_left, tries - 1);
	add_cost(run);
	wt_store_relaxed(&run->turn_ns, wt_profile_clock_ns());
	leave_busy(run);
	pthread_setcancelstate(cancel_state, NULL);
	errno = saved_errno;
}

bool wt_profile_again(enum wt_profile_role *role, int result)
{
	struct wt_profile_run *run = wt_profile_run_now();

	if (*role != WT_PROFILE_PROFILED || result == WTCU_SUCCESS || !run)
		return false;
	/* Whatever it does not like, perhaps us: this configuration is left alone from now on. */
	wt_store_relaxed(&run->turn.config->tries_left, 0);
	end_turn(run, NULL);
	*role = WT_PROFILE_COUNTED;
	return true;
}

void wt_profile_end(enum wt_profile_role role, const struct wt_launch *launch)
{
	struct wt_profile_run *run = wt_profile_run_now();

	if (!run)
		return;
	if (role == WT_PROFILE_PROFILED) {
		put_overhead(run, run->turn.start_ns, launch->entry_ns);
		end_turn(run, launch);
		put_overhead(run, launch->return_ns, wt_now_ns());
	}
	atomic_fetch_add(&run->ended, 1);
}

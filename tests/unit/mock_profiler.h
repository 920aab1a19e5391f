/*
 * mock_profiler.h - a GPU and CUPTI's profiler of a few lines, inside test_profile.c, and the parts of
 * the library that profile*.c stands on.
 *
 * Strict: every call checks the size of its structure and that its turn has come; what is wrong is
 * counted in `errors`. The coarse monotonic clock stands still but for mock_pass().
 */
#ifndef WT_MOCK_PROFILER_H
#define WT_MOCK_PROFILER_H

#include <pthread.h>

#include "libintercept/cupti.h"
#include "libintercept/profile.h"

#define MOCK_SMS 132
#define MOCK_RING_CELLS 65536u
#define MOCK_RESULTS_MAX 4096

/* A launch; its counters follow from it. */
struct mock_spec {
	uint64_t function, stream;
	uint32_t grid, block;
	uint32_t flags;
	unsigned api; /* 0 = cuLaunchKernel */
};

struct mock_profile {
	pthread_mutex_t lock;
	uint64_t clock_ns; /* CLOCK_MONOTONIC_COARSE */
	int errors;
	char error[160]; /* the first */

	/* the driver */
	wtcu_context context; /* the current one */
	uint32_t context_id;
	int device;
	int pending; /* kernels not waited for */
	int launch_result; /* of the next launch ... */
	int launch_result_profiled; /* ... while the profiler runs; 0 = the same */
	int sync_result;
	unsigned stream_flags;
	uint64_t executed; /* kernels */
	uint64_t real_calls; /* launches that reached the driver */
	void (*inside)(void); /* called once in the midst of the next profiled launch */

	/* CUPTI */
	int calls; /* of the profiler, so far */
	int fail_at; /* this one fails, from 1; 0 = none */
	int fail_code;
	const char *failed; /* its name */
	bool is_recording, is_app_profiling;
	bool has_no_range;
	int metrics_max; /* more are refused */
	int passes_metrics; /* more take two passes */
	double bad_value; /* in place of the sum; 0 = none */
	bool is_initialized, is_host, is_decoded, is_config_set;
	_Atomic bool is_started; /* looked at by every launch */
	wtcu_context enabled; /* of the range profiler */
	struct mock_spec ran[64]; /* since the start */
	int ran_count;
	int enables;
	bool is_holding; /* a kernel record without times keeps CUPTI's buffers */
	int flushes; /* forced ones */
	int flush_result;
};
extern struct mock_profile mock;
extern struct wt_view mock_view;
extern struct wt_fork_page mock_page;

/* Everything as at the start of a process that asks for `wish` launches. */
void mock_reset(uint32_t wish);
void mock_pass(uint64_t ns);

/* As the wrappers in launch.c do it; returns what the application gets, and the launch's seq. */
int mock_launch(const struct mock_spec *spec, uint64_t *ret_seq);

/* Truth of a launch. */
double mock_active_sum(const struct mock_spec *spec);

/* Records of a kind in ring 1; the i-th of them. */
int mock_records(enum wt_kind kind);
bool mock_record(enum wt_kind kind, int idx, void *payload);
void mock_fill_ring(bool is_full);

enum wt_profile_state mock_state(void);
uint64_t mock_detail(void);

#endif /* WT_MOCK_PROFILER_H */

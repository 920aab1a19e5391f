/*
 * cupti_calls.c - single driver and runtime calls whose records are on.
 *
 * Records of the launch calls carry the link from a hooked call to CUPTI's correlation id. CUPTI has
 * its ways with single calls (measured, CUDA 13.0): they take effect if some were on when the first
 * context was made, or while their whole kind is on; once the kind is switched off they are off for
 * good. Hence: ours are on from the start, and the kind is never switched off again.
 *
 * Called while arming and by the application's own profiler; calls CUPTI, takes no lock.
 */
#include <stdlib.h>
#include <string.h>

#include "libintercept/cupti.h"

/* Runtime callback ids of the launch calls; the driver's are in cupti_abi.h. */
enum {
	RUNTIME_cudaLaunch_v3020 = 13,
	RUNTIME_cudaLaunchKernel_v7000 = 211,
	RUNTIME_cudaLaunch_ptsz_v7000 = 213,
	RUNTIME_cudaLaunchKernel_ptsz_v7000 = 214,
	RUNTIME_cudaLaunchCooperativeKernel_v9000 = 269,
	RUNTIME_cudaLaunchCooperativeKernel_ptsz_v9000 = 270,
	RUNTIME_cudaLaunchCooperativeKernelMultiDevice_v9000 = 272,
	RUNTIME_cudaGraphLaunch_v10000 = 311,
	RUNTIME_cudaGraphLaunch_ptsz_v10000 = 312,
	RUNTIME_cudaLaunchKernelExC_v11060 = 430,
	RUNTIME_cudaLaunchKernelExC_ptsz_v11060 = 431,
	RUNTIME___cudaLaunchKernel_v13000 = 505,
	RUNTIME___cudaLaunchKernel_ptsz_v13000 = 506,
};

static const struct launch_call {
	int kind;
	uint32_t cbid;
} launch_calls[] = {
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchKernel},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchKernel_ptsz},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchKernelEx},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchKernelEx_ptsz},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuGraphLaunch},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuGraphLaunch_ptsz},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchCooperativeKernel},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchCooperativeKernel_ptsz},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchCooperativeKernelMultiDevice},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunch},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchGrid},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchGridAsync},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunchKernel_v7000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunchKernel_ptsz_v7000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunchKernelExC_v11060},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunchKernelExC_ptsz_v11060},
        {WTCUPTI_KIND_RUNTIME, RUNTIME___cudaLaunchKernel_v13000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME___cudaLaunchKernel_ptsz_v13000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaGraphLaunch_v10000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaGraphLaunch_ptsz_v10000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunchCooperativeKernel_v9000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunchCooperativeKernel_ptsz_v9000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunchCooperativeKernelMultiDevice_v9000},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunch_v3020},
        {WTCUPTI_KIND_RUNTIME, RUNTIME_cudaLaunch_ptsz_v7000},
};
#define LAUNCH_CALLS (sizeof(launch_calls) / sizeof(launch_calls[0]))
_Static_assert(LAUNCH_CALLS == WT_LAUNCH_CALLS, "one slot per launch call");

int wt_cupti_launch_call(int kind, uint32_t cbid)
{
	for (size_t i = 0; i < LAUNCH_CALLS; i++)
		if (launch_calls[i].kind == kind && launch_calls[i].cbid == cbid)
			return (int)i;
	return -1;
}

wtcupti_enable_api_fn wt_cupti_call_switch(int kind)
{
	if (kind == WTCUPTI_KIND_DRIVER)
		return wt_cupti.enable_driver_api;
	return kind == WTCUPTI_KIND_RUNTIME ? wt_cupti.enable_runtime_api : NULL;
}

/* CUPTI refuses the first number past its list. */
wtcupti_result wt_cupti_switch_other_calls(int kind, uint8_t enable)
{
	wtcupti_enable_api_fn enable_call = wt_cupti_call_switch(kind);
	wtcupti_result first = WTCUPTI_ERROR_INVALID_KIND;

	for (uint32_t cbid = 1; cbid < WT_CBIDS_MAX; cbid++) {
		wtcupti_result result = WTCUPTI_SUCCESS;

		if (wt_cupti_launch_call(kind, cbid) < 0)
			result = enable_call(cbid, enable);
		if (cbid == 1)
			first = result;
		if (result)
			break;
	}
	return first;
}

/*
 * With a context there already, CUPTI accepts single calls and makes no records of them (measured).
 * What works is the whole kind, and then all other calls off.
 */
void wt_cupti_switch_kind_down(int kind)
{
	if (!wt_cupti_call_switch(kind) || wt_cupti.enable(kind))
		return;
	if (wt_cupti_switch_other_calls(kind, 0))
		wt_cupti.disable(kind);
}

/* An older runtime does not know the newest of them: that is no failure. */
void wt_cupti_switch_launch_calls_of(int kind, uint8_t enable)
{
	wtcupti_enable_api_fn enable_call = wt_cupti_call_switch(kind);

	for (size_t i = 0; enable_call && i < LAUNCH_CALLS; i++)
		if (launch_calls[i].kind == kind)
			enable_call(launch_calls[i].cbid, enable);
}

void wt_cupti_switch_launch_calls(uint8_t enable)
{
	wt_cupti_switch_launch_calls_of(WTCUPTI_KIND_DRIVER, enable);
	wt_cupti_switch_launch_calls_of(WTCUPTI_KIND_RUNTIME, enable);
}

/*
 * For measuring what they cost: WAVETAP_CUPTI_CALLS=none or =driver leaves out both kinds, or the
 * runtime's. Kernels without a link are joined by order, which is a guess.
 */
static bool is_left_out(int kind)
{
	const char *given = secure_getenv("WAVETAP_CUPTI_CALLS");

	return given && (!strcmp(given, "none") ||
	                 (kind == WTCUPTI_KIND_RUNTIME && !strcmp(given, "driver")));
}

void wt_cupti_begin_launch_calls(bool is_late)
{
	static const int kinds[] = {WTCUPTI_KIND_DRIVER, WTCUPTI_KIND_RUNTIME};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (is_left_out(kinds[i]))
			continue;
		if (is_late)
			wt_cupti_switch_kind_down(kinds[i]);
		wt_cupti_switch_launch_calls_of(kinds[i], 1);
	}
}

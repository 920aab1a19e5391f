/*
 * pm_work.h - work of known size for pm_probe.c, by the driver's API alone: kernels in PTX that spin
 * or fill the tensor pipe; and copies within the device.
 *
 * One thread. Launches are asynchronous; work_is_done() does not wait.
 */
#ifndef PM_WORK_H
#define PM_WORK_H

#include "pm_cupti.h"

static const char work_ptx[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry spin(.param .u64 cycles)\n"
        "{\n"
        "  .reg .u64 %limit, %begin, %now;\n"
        "  .reg .pred %again;\n"
        "  ld.param.u64 %limit, [cycles];\n"
        "  mov.u64 %begin, %clock64;\n"
        "more:\n"
        "  mov.u64 %now, %clock64;\n"
        "  sub.u64 %now, %now, %begin;\n"
        "  setp.lt.u64 %again, %now, %limit;\n"
        "  @%again bra more;\n"
        "  ret;\n"
        "}\n"
        ".visible .entry tensor(.param .u64 count)\n"
        "{\n"
        "  .reg .u64 %left;\n"
        "  .reg .f32 %p<4>, %q<4>;\n"
        "  .reg .b32 %a;\n"
        "  .reg .pred %again;\n"
        "  ld.param.u64 %left, [count];\n"
        "  mov.b32 %a, 0x3c003c00;\n"
        "  mov.f32 %p0, 0f00000000; mov.f32 %p1, %p0; mov.f32 %p2, %p0; mov.f32 %p3, %p0;\n"
        "  mov.f32 %q0, %p0; mov.f32 %q1, %p0; mov.f32 %q2, %p0; mov.f32 %q3, %p0;\n"
        "more:\n"
        "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n"
        "    {%p0, %p1, %p2, %p3}, {%a, %a, %a, %a}, {%a, %a}, {%p0, %p1, %p2, %p3};\n"
        "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n"
        "    {%q0, %q1, %q2, %q3}, {%a, %a, %a, %a}, {%a, %a}, {%q0, %q1, %q2, %q3};\n"
        "  sub.u64 %left, %left, 1;\n"
        "  setp.ne.u64 %again, %left, 0;\n"
        "  @%again bra more;\n"
        "  setp.eq.f32 %again, %p0, 0fBF800000;\n" /* never: the sums are positive; keeps the loop */
        "  @%again trap;\n"
        "  setp.eq.f32 %again, %q0, 0fBF800000;\n"
        "  @%again trap;\n"
        "  ret;\n"
        "}\n";

#define WORK_COPY_BYTES (UINT64_C(512) << 20)

struct work {
	CUcontext context;
	CUfunction spin, tensor;
	CUdeviceptr from, to; /* of copies, made when first needed */
	int sms;
};

/* The driver's entry of this name and type, called. A missing one is an error like any other. */
#define DRIVER(name, ...)                                                                          \
	(driver_call(#name) ? ((__typeof__(&name))driver_call(#name))(__VA_ARGS__)                 \
	                    : CUDA_ERROR_NOT_FOUND)

static bool work_step(struct pm *pm, const char *what, CUresult code)
{
	if (code == CUDA_SUCCESS)
		return true;
	if (!pm->failed) {
		pm->failed = what;
		pm->code = -(int)code; /* negative: the driver's */
	}
	return false;
}

static bool work_begin(struct work *work, struct pm *pm)
{
	CUmodule module;

	return work_step(pm, "cuInit", DRIVER(cuInit, 0)) &&
	       work_step(pm, "cuDevicePrimaryCtxRetain",
	                 DRIVER(cuDevicePrimaryCtxRetain, &work->context, 0)) &&
	       work_step(pm, "cuCtxSetCurrent", DRIVER(cuCtxSetCurrent, work->context)) &&
	       work_step(pm, "cuModuleLoadData", DRIVER(cuModuleLoadData, &module, work_ptx)) &&
	       work_step(pm, "cuModuleGetFunction",
	                 DRIVER(cuModuleGetFunction, &work->spin, module, "spin")) &&
	       work_step(pm, "cuModuleGetFunction",
	                 DRIVER(cuModuleGetFunction, &work->tensor, module, "tensor")) &&
	       work_step(pm, "cuDeviceGetAttribute",
	                 DRIVER(cuDeviceGetAttribute, &work->sms,
	                        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
}

static bool work_launch(struct pm *pm, CUfunction function, unsigned grid, unsigned threads,
                        uint64_t amount)
{
	void *arguments[] = {&amount};

	return work_step(pm, "cuLaunchKernel",
	                 DRIVER(cuLaunchKernel, function, grid, 1, 1, threads, 1, 1, 0, NULL,
	                        arguments, NULL));
}

static bool work_copies(struct work *work, struct pm *pm, int count)
{
	if (!work->from &&
	    (!work_step(pm, "cuMemAlloc", DRIVER(cuMemAlloc_v2, &work->from, WORK_COPY_BYTES)) ||
	     !work_step(pm, "cuMemAlloc", DRIVER(cuMemAlloc_v2, &work->to, WORK_COPY_BYTES))))
		return false;
	for (int i = 0; i < count; i++)
		if (!work_step(pm, "cuMemcpyDtoDAsync",
		               DRIVER(cuMemcpyDtoDAsync_v2, work->to, work->from, WORK_COPY_BYTES,
		                      NULL)))
			return false;
	return true;
}

static bool work_is_done(void)
{
	return DRIVER(cuStreamQuery, NULL) != CUDA_ERROR_NOT_READY;
}

static void work_wait(void)
{
	(void)DRIVER(cuStreamSynchronize, NULL);
}

#endif /* PM_WORK_H */

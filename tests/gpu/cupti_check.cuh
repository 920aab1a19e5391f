/*
 * cupti_check.cuh - for programs of this folder that call CUPTI: a call that fails ends them.
 */
#pragma once

#include <cuda_runtime.h>
#include <cupti_result.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

static void check_cuda(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
	        cudaGetErrorString(error));
	exit(1);
}
#define CHECK(call) check_cuda((call), #call)

static void check_cupti(CUptiResult code, const char *what)
{
	const char *text = "?";

	if (code == CUPTI_SUCCESS)
		return;
	cuptiGetResultString(code, &text);
	fprintf(stderr, "%s: %s: %d %s\n", program_invocation_short_name, what, (int)code, text);
	exit(1);
}
#define CHECK_CUPTI(call) check_cupti((call), #call)

#define PARAMS(type, name) CUpti_##type##_Params name = {CUpti_##type##_Params_STRUCT_SIZE}

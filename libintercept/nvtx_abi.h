/*
 * nvtx_abi.h - the part of NVTX (NVIDIA's annotation library) that an injection sees, as of NVTX 2
 * and 3: the table of callbacks, numbers of functions, event attributes.
 *
 * As with CUDA (cuda_abi.h) these are declarations of our own, under names of our own, so that
 * wavetap builds without NVTX; tests/unit/test_nvtx_abi.c compares them with the vendor's headers
 * where there are some.
 *
 * HOW NVTX FINDS AN INJECTION. Version 3 is headers only: each library that uses it has a copy, with
 * globals and an initialisation of its own, all hidden, run at its first NVTX call. It asks, in this
 * order (NVTX_LOAD_SEQUENCE_VERSION 1 and 2, header of CUDA 13.0):
 *
 *   1. getenv("NVTX_INJECTION64_PATH"): if set, dlopen of that path and dlsym of
 *      InitializeInjectionNvtx2 in it; the end of the search, also where that fails
 *   2. (compiled out by default) dlsym(NULL, "InitializeInjectionNvtx2Preinject")
 *   3. the pointer InitializeInjectionNvtx2_fnptr: weak, but within "visibility push(hidden)", so a
 *      symbol of a preloaded library never reaches it: for what is linked into the same object
 *
 * libnvToolsExt.so (version 2, used by CuPy and PyTorch before CUDA 12) does 1 too. So getenv is the
 * one door there is for a library that is preloaded: see nvtx.c.
 *
 * Declarations only: no code, no threads. 64-bit Linux.
 */
#ifndef WT_NVTX_ABI_H
#define WT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define WTNVTX_ENVIRONMENT "NVTX_INJECTION64_PATH"

/* ---- what the injection is given */

enum wtnvtx_export_table { WTNVTX_ETID_CALLBACKS = 1, WTNVTX_ETID_VERSIONINFO = 3 };

enum wtnvtx_module { WTNVTX_MODULE_CORE = 1, WTNVTX_MODULE_CORE2 = 5 };

/* Of module CORE. */
enum wtnvtx_core {
	WTNVTX_CORE_RANGE_START_EX = 4,
	WTNVTX_CORE_RANGE_START_A = 5,
	WTNVTX_CORE_RANGE_START_W = 6,
	WTNVTX_CORE_RANGE_END = 7,
	WTNVTX_CORE_RANGE_PUSH_EX = 8,
	WTNVTX_CORE_RANGE_PUSH_A = 9,
	WTNVTX_CORE_RANGE_PUSH_W = 10,
	WTNVTX_CORE_RANGE_POP = 11,
	WTNVTX_CORE_SIZE = 16,
};

/* Of module CORE2. */
enum wtnvtx_core2 {
	WTNVTX_CORE2_RANGE_START_EX = 2,
	WTNVTX_CORE2_RANGE_END = 3,
	WTNVTX_CORE2_RANGE_PUSH_EX = 4,
	WTNVTX_CORE2_RANGE_POP = 5,
	WTNVTX_CORE2_REGISTER_STRING_A = 10,
	WTNVTX_CORE2_REGISTER_STRING_W = 11,
	WTNVTX_CORE2_DOMAIN_CREATE_A = 12,
	WTNVTX_CORE2_DOMAIN_CREATE_W = 13,
	WTNVTX_CORE2_SIZE = 16,
};

typedef void (*wtnvtx_fn)(void);

struct wtnvtx_callbacks {
	size_t struct_size;
	/* 1 and, for each number of the module, where its function pointer is; size in entries. */
	int (*get_functions)(int module, wtnvtx_fn ***ret_table, unsigned *ret_size);
};

typedef const void *(*wtnvtx_get_export_table_fn)(uint32_t table);
/* InitializeInjectionNvtx2: 1, or 0 for "not me". */
typedef int (*wtnvtx_initialize_fn)(wtnvtx_get_export_table_fn get_export_table);

/* ---- what callbacks are given */

enum wtnvtx_message_type {
	WTNVTX_MESSAGE_UNKNOWN = 0,
	WTNVTX_MESSAGE_ASCII = 1, /* in fact UTF-8 */
	WTNVTX_MESSAGE_UNICODE = 2, /* wchar_t */
	WTNVTX_MESSAGE_REGISTERED = 3, /* a handle that the injection gave out */
};

struct wtnvtx_attributes {
	uint16_t version;
	uint16_t
	        size; /* in bytes, as the application was compiled: fields beyond it are not there */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved_0;
	uint64_t payload;
	int32_t message_type; /* enum wtnvtx_message_type */
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

#define WTNVTX_NO_TRACKING (-2) /* what push and pop return without an injection */

#endif /* WT_NVTX_ABI_H */

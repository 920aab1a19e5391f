/*
 * occupancy_matrix.c - compares wt_occupancy_compute with the driver's
 * cuOccupancyMaxActiveBlocksPerMultiprocessor on the first device.
 *
 * Kernels are made as PTX text at run time, from few registers to the most a
 * thread can have, with and without static shared memory; the driver compiles
 * them and tells what they really use. Each is asked for at many block sizes
 * and amounts of dynamic shared memory, also those that can't fit (0 blocks).
 *
 * Exit: 0 all equal, 1 any differs or the driver failed, 77 no device. On
 * stdout one line per mismatch (the first 100) and a summary. Two side questions
 * are answered on lines of their own and don't decide the exit status, for
 * neither the split an application may prefer nor the number of named barriers
 * is part of the comparison: see compare_splits() and compare_barriers().
 *
 * Needs neither toolkit nor headers: the driver is opened by dlopen. One thread;
 * launches nothing.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/occupancy.h"

#define EXIT_SKIPPED 77
#define SHOWN_MAX 100

enum {
	FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	FUNC_ATTRIBUTE_NUM_REGS = 4,
	FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
	FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

static struct {
	int (*cuInit)(unsigned);
	int (*cuDeviceGet)(int *, int);
	int (*cuDeviceGetName)(char *, int, int);
	int (*cuDeviceGetAttribute)(int *, int, int);
	int (*cuDevicePrimaryCtxRetain)(void **, int);
	int (*cuDevicePrimaryCtxRelease_v2)(int);
	int (*cuCtxSetCurrent)(void *);
	int (*cuModuleLoadData)(void **, const void *);
	int (*cuModuleGetFunction)(void **, void *, const char *);
	int (*cuFuncGetAttribute)(int *, int, void *);
	int (*cuFuncSetAttribute)(void *, int, int);
	int (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *, void *, int, size_t);
} driver;

__attribute__((noreturn)) static void skip(const char *why)
{
	printf("occupancy matrix: skipped, %s\n", why);
	exit(EXIT_SKIPPED);
}

static void check(int rc, const char *what)
{
	if (rc == 0)
		return;
	printf("occupancy matrix: %s failed with %d\n", what, rc);
	exit(EXIT_FAILURE);
}

static void find_symbol(void *library, const char *name, void *ret_function)
{
	void *address = dlsym(library, name);

	check(address == NULL, name);
	memcpy(ret_function, &address, sizeof(address));
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		skip("no libcuda.so.1");
#define FIND(name) find_symbol(library, #name, &driver.name)
	FIND(cuInit);
	FIND(cuDeviceGet);
	FIND(cuDeviceGetName);
	FIND(cuDeviceGetAttribute);
	FIND(cuDevicePrimaryCtxRetain);
	FIND(cuDevicePrimaryCtxRelease_v2);
	FIND(cuCtxSetCurrent);
	FIND(cuModuleLoadData);
	FIND(cuModuleGetFunction);
	FIND(cuFuncGetAttribute);
	FIND(cuFuncSetAttribute);
	FIND(cuOccupancyMaxActiveBlocksPerMultiprocessor);
#undef FIND
}

static struct wt_device read_device(int ordinal)
{
	struct wt_device device = {0};
	const struct {
		int attribute;
		int32_t *value;
	} wanted[] = {
	        {75, &device.cc_major},
	        {76, &device.cc_minor},
	        {16, &device.sm_count},
	        {10, &device.warp_size},
	        {39, &device.max_threads_per_sm},
	        {106, &device.max_blocks_per_sm},
	        {1, &device.max_threads_per_block},
	        {82, &device.regs_per_sm},
	        {12, &device.regs_per_block},
	        {81, &device.smem_per_sm_bytes},
	        {8, &device.smem_per_block_bytes},
	        {97, &device.smem_per_block_optin_bytes},
	        {111, &device.smem_reserved_per_block_bytes},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		check(driver.cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, ordinal),
		      "cuDeviceGetAttribute");
	check(driver.cuDeviceGetName(device.name, sizeof(device.name), ordinal), "cuDeviceGetName");
	return device;
}

/* ---- kernels ---- */

struct text {
	char *data;
	size_t length, size;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *fmt, ...)
{
	va_list ap;
	int length;

	va_start(ap, fmt);
	length = vsnprintf(text->data + text->length, text->size - text->length, fmt, ap);
	va_end(ap);
	if (length < 0 || (size_t)length >= text->size - text->length) {
		printf("occupancy matrix: PTX text too long\n");
		exit(EXIT_FAILURE);
	}
	text->length += (size_t)length;
}

/*
 * A kernel that keeps `live_count` values alive at once: as volatile loads and
 * stores keep their order, all are loaded before the first is stored.
 */
static void append_kernel(struct text *ptx, int live_count, int smem_bytes, int barrier_count)
{
	append(ptx, ".visible .entry k_%d_%d_%d(.param .u64 p)\n{\n", live_count, smem_bytes,
	       barrier_count);
	append(ptx, ".reg .b64 %%a;\n.reg .b32 %%r<%d>;\n", live_count + 1);
	if (smem_bytes > 0)
		append(ptx, ".shared .align 4 .b8 s[%d];\n", smem_bytes);
	append(ptx, "ld.param.u64 %%a, [p];\n");
	for (int i = 0; i < live_count; i++)
		append(ptx, "ld.volatile.global.u32 %%r%d, [%%a+%d];\n", i, 4 * i);
	for (int i = 0; i < barrier_count; i++)
		append(ptx, "bar.sync %d;\n", i);
	for (int i = 0; i < live_count; i++)
		append(ptx, "st.volatile.global.u32 [%%a+%d], %%r%d;\n", 4 * i, i);
	if (smem_bytes > 0)
		append(ptx, "mov.u32 %%r%d, 1;\nst.volatile.shared.u8 [s], %%r%d;\n", live_count,
		       live_count);
	append(ptx, "ret;\n}\n");
}

static const int live_counts[] = {0,   4,   8,   12,  16,  20,  24,  28,  32,  36,  40,  48,  56,
                                  64,  72,  80,  88,  96,  104, 112, 120, 128, 136, 144, 152, 160,
                                  168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 246};
static const int static_bytes[] = {0, 1, 1000, 49152};
static const int barrier_counts[] = {1, 2, 3, 4, 8, 16};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void *load_kernels(void)
{
	struct text ptx = {.size = 4u << 20};
	void *module;

	ptx.data = malloc(ptx.size);
	check(ptx.data == NULL, "malloc");
	append(&ptx, ".version 6.0\n.target sm_70\n.address_size 64\n");
	for (size_t i = 0; i < COUNT(live_counts); i++)
		for (size_t k = 0; k < COUNT(static_bytes); k++)
			append_kernel(&ptx, live_counts[i], static_bytes[k], 0);
	for (size_t i = 0; i < COUNT(barrier_counts); i++)
		append_kernel(&ptx, 4, 0, barrier_counts[i]);
	check(driver.cuModuleLoadData(&module, ptx.data), "cuModuleLoadData");
	free(ptx.data);
	return module;
}

struct kernel {
	void *function;
	int regs, smem_static_bytes;
};

static struct kernel find_kernel(const struct wt_device *device, void *module, int live_count,
                                 int smem_bytes, int barrier_count)
{
	struct kernel kernel;
	char name[64];

	snprintf(name, sizeof(name), "k_%d_%d_%d", live_count, smem_bytes, barrier_count);
	check(driver.cuModuleGetFunction(&kernel.function, module, name), name);
	check(driver.cuFuncGetAttribute(&kernel.regs, FUNC_ATTRIBUTE_NUM_REGS, kernel.function),
	      "reading the registers");
	check(driver.cuFuncGetAttribute(&kernel.smem_static_bytes, FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
	                                kernel.function),
	      "reading the shared memory");
	check(driver.cuFuncSetAttribute(
	              kernel.function, FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
	              device->smem_per_block_optin_bytes - kernel.smem_static_bytes),
	      "raising the limit of dynamic shared memory");
	return kernel;
}

/* ---- comparison ---- */

struct tally {
	int compared_count, mismatch_count, error_count;
	int blocks_seen[64]; /* how often the driver said so many blocks; the last: or more */
	int fewest_regs, most_regs;
};

/* Compares one configuration and shows it if it differs or the driver gave no answer. */
static void compare(const struct wt_device *device, const struct kernel *kernel, int threads,
                    int dynamic_bytes, int config_bytes, struct tally *tally)
{
	const struct wt_occupancy_launch launch = {.block = {(uint32_t)threads, 1, 1},
	                                           .registers_per_thread = (uint32_t)kernel->regs,
	                                           .smem_static_bytes =
	                                                   (uint32_t)kernel->smem_static_bytes,
	                                           .smem_dynamic_bytes = (uint32_t)dynamic_bytes,
	                                           .smem_config_bytes = (uint32_t)config_bytes};
	struct wt_occupancy ours = {0};
	int want = -1;
	int rc = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&want, kernel->function,
	                                                            threads, (size_t)dynamic_bytes);
	int our_rc = wt_occupancy_compute(device, &launch, &ours);

	tally->compared_count++;
	if (rc == 0 && our_rc == 0 && ours.blocks_per_sm == want) {
		tally->blocks_seen[want < 63 ? want : 63]++;
		return;
	}
	tally->mismatch_count++;
	tally->error_count += rc != 0;
	if (tally->mismatch_count > SHOWN_MAX)
		return;
	printf("differs: threads %d regs %d static %d dynamic %d split %d: driver %d (rc %d), "
	       "ours %d (rc %d, limiters %#x)\n",
	       threads, kernel->regs, kernel->smem_static_bytes, dynamic_bytes, config_bytes, want,
	       rc, ours.blocks_per_sm, our_rc, ours.limiters);
}

/* Dynamic sizes: around every quotient of an SM's memory, odd ones, and both ends. */
static int list_dynamic_sizes(const struct wt_device *device, int room_bytes, int *sizes, int most)
{
	int count = 0;
	int around[] = {-129, -128, -1, 0, 1, 127};

	for (int size = 0; size < room_bytes && count < most; size += 9973)
		sizes[count++] = size;
	for (int blocks = 1; blocks <= device->max_blocks_per_sm; blocks += blocks < 8 ? 1 : 5)
		for (size_t i = 0; i < COUNT(around); i++) {
			int size = device->smem_per_sm_bytes / blocks / 128 * 128 -
			           device->smem_reserved_per_block_bytes + around[i];

			if (size >= 0 && size <= room_bytes && count < most)
				sizes[count++] = size;
		}
	if (count < most)
		sizes[count++] = room_bytes;
	return count;
}

static void compare_kernel(const struct wt_device *device, const struct kernel *kernel,
                           struct tally *tally)
{
	static const int edges[] = {1, 31, 33, 65, 100, 255, 257, 500, 1000, 1023};
	int sizes[256];
	int size_count = list_dynamic_sizes(
	        device, device->smem_per_block_optin_bytes - kernel->smem_static_bytes, sizes,
	        (int)COUNT(sizes));

	for (int i = 0; i < size_count; i++) {
		for (int threads = 32; threads <= device->max_threads_per_block; threads += 32)
			compare(device, kernel, threads, sizes[i], 0, tally);
		for (size_t k = 0; k < COUNT(edges); k++)
			compare(device, kernel, edges[k], sizes[i], 0, tally);
	}
	if (tally->fewest_regs == 0 || kernel->regs < tally->fewest_regs)
		tally->fewest_regs = kernel->regs;
	if (kernel->regs > tally->most_regs)
		tally->most_regs = kernel->regs;
}

static void compare_all(const struct wt_device *device, void *module, struct tally *tally)
{
	for (size_t i = 0; i < COUNT(live_counts); i++)
		for (size_t k = 0; k < COUNT(static_bytes); k++) {
			struct kernel kernel =
			        find_kernel(device, module, live_counts[i], static_bytes[k], 0);

			compare_kernel(device, &kernel, tally);
		}
}

/*
 * An application may prefer a split of the memory that shared memory and L1 have
 * in common. The sizes that exist on 9.0 are public; the preference is rounded
 * up to one of them, which is what a kernel record then says was set up.
 */
static void compare_splits(const struct wt_device *device, void *module)
{
	static const int sizes_kib[] = {8, 16, 32, 64, 100, 132, 164, 196, 228};
	struct kernel kernel = find_kernel(device, module, 4, 0, 0);
	struct tally tally = {0};

	if (device->cc_major != 9)
		return;
	for (size_t i = 0; i < COUNT(sizes_kib); i++) {
		int percent = sizes_kib[i] * 1024 * 100 / device->smem_per_sm_bytes;

		check(driver.cuFuncSetAttribute(kernel.function,
		                                FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
		                                percent),
		      "preferring a split");
		for (int dynamic_bytes = 0; dynamic_bytes + 1024 <= sizes_kib[i] * 1024;
		     dynamic_bytes += 1777)
			compare(device, &kernel, 64, dynamic_bytes, sizes_kib[i] * 1024, &tally);
	}
	printf("aside, preferred splits of shared memory: %d compared, %d differ\n",
	       tally.compared_count, tally.mismatch_count);
}

/*
 * Kernel records don't say how many named barriers a kernel has, so the
 * calculator can't know. Shows what that costs: the driver's answer for small
 * blocks, which only barriers can limit.
 */
static void compare_barriers(const struct wt_device *device, void *module)
{
	printf("aside, blocks per SM by named barriers, one warp a block (ours: %d):",
	       device->max_blocks_per_sm);
	for (size_t i = 0; i < COUNT(barrier_counts); i++) {
		struct kernel kernel = find_kernel(device, module, 4, 0, barrier_counts[i]);
		int blocks = -1;

		check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function,
		                                                         32, 0),
		      "asking for a kernel with barriers");
		printf(" %d: %d", barrier_counts[i], blocks);
	}
	printf("\n");
}

int main(void)
{
	struct tally tally = {0};
	struct wt_device device;
	int ordinal, distinct_count = 0;
	void *context, *module;

	open_driver();
	if (driver.cuInit(0) != 0 || driver.cuDeviceGet(&ordinal, 0) != 0)
		skip("no device");
	device = read_device(ordinal);
	check(driver.cuDevicePrimaryCtxRetain(&context, ordinal), "cuDevicePrimaryCtxRetain");
	check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
	module = load_kernels();
	compare_all(&device, module, &tally);
	compare_splits(&device, module);
	compare_barriers(&device, module);
	for (size_t i = 0; i < COUNT(tally.blocks_seen); i++)
		distinct_count += tally.blocks_seen[i] > 0;
	printf("occupancy matrix: %s, %d.%d: %d configurations (%d to %d registers, %d different "
	       "answers), %d differ, %d of them errors of the driver\n",
	       device.name, device.cc_major, device.cc_minor, tally.compared_count,
	       tally.fewest_regs, tally.most_regs, distinct_count, tally.mismatch_count,
	       tally.error_count);
	driver.cuDevicePrimaryCtxRelease_v2(ordinal);
	return tally.mismatch_count > 0 || tally.compared_count < 1000 ? EXIT_FAILURE
	                                                               : EXIT_SUCCESS;
}

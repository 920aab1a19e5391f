/*
 * launch.c - the wrappers of the launch family: the hot path.
 *
 * Read the arguments, stamp, call the real entry once, stamp, append one record. On the threads
 * of the application; no system call, lock, allocation, wait or driver call of ours, unless the user
 * asked for --profile (profile.h), which costs a branch else. The first
 * launch that succeeds makes the segment, after the real call returned, so that the GPU already
 * works meanwhile.
 *
 * All counting is done after the real call: a process that dies inside the driver leaves no
 * number without a record.
 */
#include <string.h>

#include "libintercept/cost.h"
#include "libintercept/hooks.h"
#include "libintercept/profile.h"

#define ATTRIBUTES_MAX 64 /* attributes of cuLaunchKernelEx looked at */
#define MULTI_DEVICE_MAX 64 /* kernels of cuLaunchCooperativeKernelMultiDevice told apart */

/* Zeroed in two parts, which become stores; of all at once gcc 12 makes a `rep stos`, some 2 ns slower. */
static inline void begin(struct wt_launch *launch, enum wt_api api, void *function, void *stream,
                         bool is_per_thread)
{
	launch->seq = wt_cost_begin_launch(); /* when it began, until it is numbered */
	launch->entry_ns = 0;
	launch->return_ns = 0;
	launch->stream = (uint64_t)(uintptr_t)stream;
	launch->function = (uint64_t)(uintptr_t)function;
	memset(launch->grid, 0, sizeof(launch->grid));
	memset(launch->block, 0, sizeof(launch->block));
	launch->dynamic_smem_bytes = 0;
	launch->result = 0;
	launch->tid = 0;
	launch->thread32 = 0;
	launch->api = (uint16_t)api;
	memset(launch->cluster, 0, sizeof(launch->cluster));
	memset(launch->reserved, 0, sizeof(launch->reserved));
	launch->flags = wt_capture_flags(launch->stream, is_per_thread);
	if (!wt_cupti_is_recording())
		launch->flags |= WT_FLAG_UNARMED;
}

/* No view yet: the first launch, one that failed before it, or one while it is being made. */
static __attribute__((noinline, cold)) void append_early(struct wt_launch *launch)
{
	struct wt_view *view = wt_segment_view(launch->result == WTCU_SUCCESS);

	if (view)
		wt_put_launch(view, launch);
	else
		wt_early_keep_launch(launch);
}

/* Appends the record; `result` and the stamps are in it already. */
static void append(struct wt_launch *launch)
{
	struct wt_view *view = wt_view_now();

	launch->tid = wt_tid();
	launch->thread32 = wt_thread32();
	if (WT_LIKELY(view))
		wt_put_launch(view, launch);
	else
		append_early(launch);
}

/* What the launch is to WAVETAP_PROFILE, before the real call. */
static inline enum wt_profile_role before(const struct wt_launch *launch)
{
	return wt_profile_is_on() ? wt_profile_begin(launch) : WT_PROFILE_NOT;
}

static inline bool again(enum wt_profile_role *role, int result)
{
	return __builtin_expect(*role, 0) && wt_profile_again(role, result);
}

/* Once, or a second time if it failed under the profiler. */
#define CALL_REAL(launch, role, result, real, args)                                                \
	do {                                                                                       \
		(launch)->entry_ns = wt_now_ns();                                                  \
		(result) = (real) ? (real)args : WT_NO_ENTRY;                                      \
	} while (again(&(role), result))

static void finish(struct wt_launch *launch, enum wt_profile_role role, int result)
{
	uint64_t began_ns = launch->seq;

	launch->return_ns = wt_now_ns();
	launch->result = result;
	if (__builtin_expect(role, 0))
		launch->flags |= wt_profile_flags(role);
	append(launch);
	wt_cost_end_launch(role ? 0 : began_ns, launch);
	if (__builtin_expect(role, 0))
		wt_profile_end(role, launch);
	wt_leave();
}

static void set_shape(struct wt_launch *launch, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned smem)
{
	launch->grid[0] = gx;
	launch->grid[1] = gy;
	launch->grid[2] = gz;
	launch->block[0] = bx;
	launch->block[1] = by;
	launch->block[2] = bz;
	launch->dynamic_smem_bytes = smem;
}

/* ---- cuLaunchKernel, cuLaunchCooperativeKernel */

#define SHAPE_PARAMS                                                                               \
	void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,     \
	        unsigned smem, void *stream
#define SHAPE_ARGS f, gx, gy, gz, bx, by, bz, smem, stream

#define DEFINE_LAUNCH_KERNEL(symbol)                                                               \
	int wt_hook_##symbol(SHAPE_PARAMS, void **params, void **extra)                            \
	{                                                                                          \
		int (*real)(SHAPE_PARAMS, void **, void **);                                       \
		struct wt_launch launch;                                                           \
		int result;                                                                        \
		enum wt_profile_role role;                                                         \
                                                                                                   \
		if (!wt_enter()) {                                                                 \
			real = wt_entry_forward(WT_API_##symbol);                                  \
			return real ? real(SHAPE_ARGS, params, extra) : WT_NO_ENTRY;               \
		}                                                                                  \
		begin(&launch, WT_API_##symbol, f, stream, WT_IS_PER_THREAD(symbol));              \
		set_shape(&launch, gx, gy, gz, bx, by, bz, smem);                                  \
		real = wt_entry_next(WT_API_##symbol);                                             \
		role = before(&launch);                                                            \
		CALL_REAL(&launch, role, result, real, (SHAPE_ARGS, params, extra));               \
		finish(&launch, role, result);                                                     \
		return result;                                                                     \
	}                                                                                          \
	WT_EXPORT_HOOK(symbol);

DEFINE_LAUNCH_KERNEL(cuLaunchKernel)
DEFINE_LAUNCH_KERNEL(cuLaunchKernel_ptsz)

#define DEFINE_LAUNCH_COOPERATIVE(symbol)                                                          \
	int wt_hook_##symbol(SHAPE_PARAMS, void **params)                                          \
	{                                                                                          \
		int (*real)(SHAPE_PARAMS, void **);                                                \
		struct wt_launch launch;                                                           \
		int result;                                                                        \
		enum wt_profile_role role;                                                         \
                                                                                                   \
		if (!wt_enter()) {                                                                 \
			real = wt_entry_forward(WT_API_##symbol);                                  \
			return real ? real(SHAPE_ARGS, params) : WT_NO_ENTRY;                      \
		}                                                                                  \
		begin(&launch, WT_API_##symbol, f, stream, WT_IS_PER_THREAD(symbol));              \
		set_shape(&launch, gx, gy, gz, bx, by, bz, smem);                                  \
		launch.flags |= WT_FLAG_COOPERATIVE;                                               \
		real = wt_entry_next(WT_API_##symbol);                                             \
		role = before(&launch);                                                            \
		CALL_REAL(&launch, role, result, real, (SHAPE_ARGS, params));                      \
		finish(&launch, role, result);                                                     \
		return result;                                                                     \
	}                                                                                          \
	WT_EXPORT_HOOK(symbol);

DEFINE_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
DEFINE_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

/* ---- cuLaunchKernelEx */

static uint16_t cluster_side(unsigned side)
{
	return side > UINT16_MAX ? UINT16_MAX : (uint16_t)side;
}

/* Known attributes only, and not more of them than any driver knows. */
static void read_attributes(struct wt_launch *launch, const struct wtcu_launch_config *config)
{
	unsigned count = config->attr_count < ATTRIBUTES_MAX ? config->attr_count : ATTRIBUTES_MAX;

	for (unsigned i = 0; config->attrs && i < count; i++) {
		const struct wtcu_launch_attribute *attr = &config->attrs[i];

		switch (attr->id) {
		case WTCU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			if (attr->value.cooperative)
				launch->flags |= WT_FLAG_COOPERATIVE;
			break;
		case WTCU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			launch->cluster[0] = cluster_side(attr->value.cluster_dim.x);
			launch->cluster[1] = cluster_side(attr->value.cluster_dim.y);
			launch->cluster[2] = cluster_side(attr->value.cluster_dim.z);
			break;
		case WTCU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
			if (attr->value.programmatic_stream_serialization_allowed)
				launch->flags |= WT_FLAG_PDL;
			break;
		default:
			break;
		}
	}
}

static void begin_ex(struct wt_launch *launch, enum wt_api api,
                     const struct wtcu_launch_config *config, void *function, bool is_per_thread)
{
	begin(launch, api, function, config ? config->stream : NULL, is_per_thread);
	if (!config) {
		launch->flags |= WT_FLAG_NULL_CONFIG;
		return;
	}
	set_shape(launch, config->grid_x, config->grid_y, config->grid_z, config->block_x,
	          config->block_y, config->block_z, config->shared_bytes);
	read_attributes(launch, config);
}

#define DEFINE_LAUNCH_EX(symbol)                                                                   \
	int wt_hook_##symbol(const void *config, void *f, void **params, void **extra)             \
	{                                                                                          \
		int (*real)(const void *, void *, void **, void **);                               \
		struct wt_launch launch;                                                           \
		int result;                                                                        \
		enum wt_profile_role role;                                                         \
                                                                                                   \
		if (!wt_enter()) {                                                                 \
			real = wt_entry_forward(WT_API_##symbol);                                  \
			return real ? real(config, f, params, extra) : WT_NO_ENTRY;                \
		}                                                                                  \
		begin_ex(&launch, WT_API_##symbol, config, f, WT_IS_PER_THREAD(symbol));           \
		real = wt_entry_next(WT_API_##symbol);                                             \
		role = before(&launch);                                                            \
		CALL_REAL(&launch, role, result, real, (config, f, params, extra));                \
		finish(&launch, role, result);                                                     \
		return result;                                                                     \
	}                                                                                          \
	WT_EXPORT_HOOK(symbol);

DEFINE_LAUNCH_EX(cuLaunchKernelEx)
DEFINE_LAUNCH_EX(cuLaunchKernelEx_ptsz)

/* ---- cuLaunchCooperativeKernelMultiDevice */

/*
 * One call, a kernel on each of `count` devices. One record per kernel, with the stamps of the
 * call, so that launches and kernel records add up. A call that failed launched nothing and
 * its list may be anything: one record without geometry.
 */
static void finish_multi(struct wt_launch *launch, const struct wtcu_launch_params *list,
                         unsigned count)
{
	for (unsigned i = 0; i < count && i < MULTI_DEVICE_MAX; i++) {
		const struct wtcu_launch_params *one = &list[i];
		struct wt_launch kernel = *launch;

		kernel.function = (uint64_t)(uintptr_t)one->function;
		kernel.stream = (uint64_t)(uintptr_t)one->stream;
		set_shape(&kernel, one->grid_x, one->grid_y, one->grid_z, one->block_x,
		          one->block_y, one->block_z, one->shared_bytes);
		append(&kernel);
	}
}

int wt_hook_cuLaunchCooperativeKernelMultiDevice(void *list, unsigned count, unsigned flags)
{
	int (*real)(void *, unsigned, unsigned);
	enum wt_profile_role role;
	struct wt_launch launch;

	if (!wt_enter()) {
		real = wt_entry_forward(WT_API_cuLaunchCooperativeKernelMultiDevice);
		return real ? real(list, count, flags) : WT_NO_ENTRY;
	}
	begin(&launch, WT_API_cuLaunchCooperativeKernelMultiDevice, NULL, NULL, false);
	launch.flags |= WT_FLAG_COOPERATIVE;
	real = wt_entry_next(WT_API_cuLaunchCooperativeKernelMultiDevice);
	role = before(&launch); /* never to be profiled: it is cooperative */
	CALL_REAL(&launch, role, launch.result, real, (list, count, flags));
	launch.return_ns = wt_now_ns();
	if (launch.result == WTCU_SUCCESS && list)
		finish_multi(&launch, list, count);
	else
		append(&launch);
	if (__builtin_expect(role, 0))
		wt_profile_end(role, &launch);
	wt_leave();
	return launch.result;
}
WT_EXPORT_HOOK(cuLaunchCooperativeKernelMultiDevice);

/* ---- the legacy calls: the block's shape was set on the function before, and is not told here */

int wt_hook_cuLaunch(void *f)
{
	int (*real)(void *);
	struct wt_launch launch;
	int result;
	enum wt_profile_role role;

	if (!wt_enter()) {
		real = wt_entry_forward(WT_API_cuLaunch);
		return real ? real(f) : WT_NO_ENTRY;
	}
	begin(&launch, WT_API_cuLaunch, f, NULL, false);
	set_shape(&launch, 1, 1, 1, 0, 0, 0, 0);
	real = wt_entry_next(WT_API_cuLaunch);
	role = before(&launch);
	CALL_REAL(&launch, role, result, real, (f));
	finish(&launch, role, result);
	return result;
}
WT_EXPORT_HOOK(cuLaunch);

int wt_hook_cuLaunchGrid(void *f, int gx, int gy)
{
	int (*real)(void *, int, int);
	struct wt_launch launch;
	int result;
	enum wt_profile_role role;

	if (!wt_enter()) {
		real = wt_entry_forward(WT_API_cuLaunchGrid);
		return real ? real(f, gx, gy) : WT_NO_ENTRY;
	}
	begin(&launch, WT_API_cuLaunchGrid, f, NULL, false);
	set_shape(&launch, (unsigned)gx, (unsigned)gy, 1, 0, 0, 0, 0);
	real = wt_entry_next(WT_API_cuLaunchGrid);
	role = before(&launch);
	CALL_REAL(&launch, role, result, real, (f, gx, gy));
	finish(&launch, role, result);
	return result;
}
WT_EXPORT_HOOK(cuLaunchGrid);

int wt_hook_cuLaunchGridAsync(void *f, int gx, int gy, void *stream)
{
	int (*real)(void *, int, int, void *);
	struct wt_launch launch;
	int result;
	enum wt_profile_role role;

	if (!wt_enter()) {
		real = wt_entry_forward(WT_API_cuLaunchGridAsync);
		return real ? real(f, gx, gy, stream) : WT_NO_ENTRY;
	}
	begin(&launch, WT_API_cuLaunchGridAsync, f, stream, false);
	set_shape(&launch, (unsigned)gx, (unsigned)gy, 1, 0, 0, 0, 0);
	real = wt_entry_next(WT_API_cuLaunchGridAsync);
	role = before(&launch);
	CALL_REAL(&launch, role, result, real, (f, gx, gy, stream));
	finish(&launch, role, result);
	return result;
}
WT_EXPORT_HOOK(cuLaunchGridAsync);

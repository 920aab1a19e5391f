/*
 * cuda_device.c - simulated devices and contexts.
 *
 * All under the driver's lock (cuda_int.h). Nothing blocks but destroying a
 * context, which waits for its work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/cuda_int.h"

struct fake_device fake_device[FAKE_DEVICE_MAX];
int fake_device_count;
struct fake_ctx *fake_contexts;

#define CTX_STACK_DEPTH 32
static __thread struct fake_ctx *ctx_stack[CTX_STACK_DEPTH];
static __thread int ctx_depth;
static uint32_t ctx_last_id;

/* An H200's answers, as the driver gave them. */
static const struct {
	int attribute, value;
} h200[] = {
        {WTCU_DEVICE_MAX_THREADS_PER_BLOCK, 1024},
        {WTCU_DEVICE_MAX_BLOCK_DIM_X, 1024},
        {WTCU_DEVICE_MAX_BLOCK_DIM_Y, 1024},
        {WTCU_DEVICE_MAX_BLOCK_DIM_Z, 64},
        {WTCU_DEVICE_MAX_GRID_DIM_X, 2147483647},
        {WTCU_DEVICE_MAX_GRID_DIM_Y, 65535},
        {WTCU_DEVICE_MAX_GRID_DIM_Z, 65535},
        {WTCU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {WTCU_DEVICE_TOTAL_CONSTANT_MEMORY, 65536},
        {WTCU_DEVICE_WARP_SIZE, 32},
        {WTCU_DEVICE_MAX_REGISTERS_PER_BLOCK, 65536},
        {WTCU_DEVICE_CLOCK_RATE, 1980000},
        {WTCU_DEVICE_MULTIPROCESSOR_COUNT, 132},
        {WTCU_DEVICE_CONCURRENT_KERNELS, 1},
        {WTCU_DEVICE_ECC_ENABLED, 1},
        {WTCU_DEVICE_MEMORY_CLOCK_RATE, 3201000},
        {WTCU_DEVICE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
        {WTCU_DEVICE_L2_CACHE_SIZE, 62914560},
        {WTCU_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {WTCU_DEVICE_ASYNC_ENGINE_COUNT, 3},
        {WTCU_DEVICE_UNIFIED_ADDRESSING, 1},
        {WTCU_DEVICE_COMPUTE_CAPABILITY_MAJOR, 9},
        {WTCU_DEVICE_COMPUTE_CAPABILITY_MINOR, 0},
        {WTCU_DEVICE_STREAM_PRIORITIES_SUPPORTED, 1},
        {WTCU_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
        {WTCU_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {WTCU_DEVICE_MANAGED_MEMORY, 1},
        {WTCU_DEVICE_COOPERATIVE_LAUNCH, 1},
        {WTCU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
        {WTCU_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {WTCU_DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
        {WTCU_DEVICE_MEMORY_POOLS_SUPPORTED, 1},
        {WTCU_DEVICE_CLUSTER_LAUNCH, 1},
};

/* WTFAKE_ATTR=NUMBER:VALUE,... overrides single attributes. */
static void attributes_override(struct fake_device *device)
{
	const char *text = getenv("WTFAKE_ATTR");

	while (text && *text) {
		char *end;
		long attribute = strtol(text, &end, 10);

		if (*end == ':' && attribute > 0 && attribute < FAKE_ATTRIBUTE_MAX)
			device->attribute[attribute] = (int)strtol(end + 1, &end, 10);
		text = *end == ',' ? end + 1 : NULL;
	}
}

/* Entry `at` of a list with commas, the last one for all beyond; its length, 0 without a list. */
static int list_entry(const char *variable, int at, const char **ret_entry)
{
	const char *list = getenv(variable);

	if (!list)
		return 0;
	for (const char *comma; at > 0 && (comma = strchr(list, ',')); at--)
		list = comma + 1;
	*ret_entry = list;
	return (int)strcspn(list, ",");
}

/* The device that the host has at that place, whatever ordinal the process sees it under. */
static void device_init(struct fake_device *device, int place, int ordinal)
{
	const char *name = "wavetap simulated H200", *sms = "132";
	int name_length = list_entry("WTFAKE_NAME", place, &name);

	for (size_t k = 0; k < sizeof(h200) / sizeof(h200[0]); k++)
		device->attribute[h200[k].attribute] = h200[k].value;
	device->attribute[WTCU_DEVICE_PCI_BUS_ID] = 0x10 + place;
	(void)list_entry("WTFAKE_SMS", place, &sms);
	device->attribute[WTCU_DEVICE_MULTIPROCESSOR_COUNT] = (int)strtol(sms, NULL, 10);
	attributes_override(device);
	device->ordinal = (uint32_t)ordinal;
	device->place = place;
	device->sm_count = device->attribute[WTCU_DEVICE_MULTIPROCESSOR_COUNT];
	device->memory_bytes = 143771ull << 20;
	snprintf(device->name, sizeof(device->name), "%.*s",
	         name_length ? name_length : (int)strlen(name), name);
	memcpy(device->uuid.bytes, "wtfake-device-\0\0", 16);
	device->uuid.bytes[14] = (unsigned char)(place + 1);
	device->sm = calloc((size_t)device->sm_count, sizeof(*device->sm));
	if (!device->sm)
		abort();
}

/* As the driver reads CUDA_VISIBLE_DEVICES: numbers, up to the first that there isn't. */
void fake_devices_init(void)
{
	int64_t count = fake_env_i64("WTFAKE_DEVICES", 1);
	int present = count < 0 ? 0 : count > FAKE_DEVICE_MAX ? FAKE_DEVICE_MAX : (int)count;
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	fake_device_count = 0;
	for (int i = 0; !visible && i < present; i++)
		device_init(&fake_device[fake_device_count++], i, i);
	while (visible && fake_device_count < present) {
		char *end;
		long place = strtol(visible, &end, 10);

		if (end == visible || place < 0 || place >= present)
			break;
		device_init(&fake_device[fake_device_count], (int)place, fake_device_count);
		fake_device_count++;
		if (*end != ',')
			break;
		visible = end + 1;
	}
}

/* ---- devices ------------------------------------------------------------------ */

struct fake_device *fake_device_of(wtcu_device device)
{
	return device >= 0 && device < fake_device_count ? &fake_device[device] : NULL;
}

static wtcu_result device_count(int *count)
{
	if (!count)
		return WTCU_ERROR_INVALID_VALUE;
	*count = fake_device_count;
	return WTCU_SUCCESS;
}

static wtcu_result device_get(wtcu_device *device, int ordinal)
{
	if (!device)
		return WTCU_ERROR_INVALID_VALUE;
	if (!fake_device_of(ordinal))
		return WTCU_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return WTCU_SUCCESS;
}

static wtcu_result device_text(char *text, int len, wtcu_device device, bool want_pci)
{
	struct fake_device *d = fake_device_of(device);

	if (!text || len <= 0)
		return WTCU_ERROR_INVALID_VALUE;
	if (!d)
		return WTCU_ERROR_INVALID_DEVICE;
	if (want_pci)
		snprintf(text, (size_t)len, "%04X:%02X:%02X.0",
		         (unsigned int)d->attribute[WTCU_DEVICE_PCI_DOMAIN_ID],
		         (unsigned int)d->attribute[WTCU_DEVICE_PCI_BUS_ID],
		         (unsigned int)d->attribute[WTCU_DEVICE_PCI_DEVICE_ID]);
	else
		snprintf(text, (size_t)len, "%s", d->name);
	return WTCU_SUCCESS;
}

static wtcu_result device_get_uuid(struct wtcu_uuid *uuid, wtcu_device device)
{
	struct fake_device *d = fake_device_of(device);

	if (!uuid || !d)
		return uuid ? WTCU_ERROR_INVALID_DEVICE : WTCU_ERROR_INVALID_VALUE;
	*uuid = d->uuid;
	return WTCU_SUCCESS;
}

static wtcu_result device_get_attribute(int *value, int attribute, wtcu_device device)
{
	struct fake_device *d = fake_device_of(device);

	if (!value || attribute <= 0 || attribute >= FAKE_ATTRIBUTE_MAX)
		return WTCU_ERROR_INVALID_VALUE;
	if (!d)
		return WTCU_ERROR_INVALID_DEVICE;
	*value = d->attribute[attribute];
	return WTCU_SUCCESS;
}

static wtcu_result device_memory(size_t *bytes, wtcu_device device)
{
	struct fake_device *d = fake_device_of(device);

	if (!bytes || !d)
		return bytes ? WTCU_ERROR_INVALID_DEVICE : WTCU_ERROR_INVALID_VALUE;
	*bytes = d->memory_bytes;
	return WTCU_SUCCESS;
}

static wtcu_result device_capability(int *major, int *minor, wtcu_device device)
{
	struct fake_device *d = fake_device_of(device);

	if (!major || !minor || !d)
		return d ? WTCU_ERROR_INVALID_VALUE : WTCU_ERROR_INVALID_DEVICE;
	*major = d->attribute[WTCU_DEVICE_COMPUTE_CAPABILITY_MAJOR];
	*minor = d->attribute[WTCU_DEVICE_COMPUTE_CAPABILITY_MINOR];
	return WTCU_SUCCESS;
}

FAKE_FN(cuDeviceGetCount, (int *count), device_count(count))
FAKE_FN(cuDeviceGet, (wtcu_device * device, int ordinal), device_get(device, ordinal))
FAKE_FN(cuDeviceGetName, (char *name, int len, wtcu_device device),
        device_text(name, len, device, false))
FAKE_FN(cuDeviceGetPCIBusId, (char *id, int len, wtcu_device device),
        device_text(id, len, device, true))
FAKE_FN(cuDeviceGetUuid, (struct wtcu_uuid * uuid, wtcu_device device),
        device_get_uuid(uuid, device))
FAKE_FN(cuDeviceGetUuid_v2, (struct wtcu_uuid * uuid, wtcu_device device),
        device_get_uuid(uuid, device))
FAKE_FN(cuDeviceGetAttribute, (int *value, int attribute, wtcu_device device),
        device_get_attribute(value, attribute, device))
FAKE_FN(cuDeviceTotalMem_v2, (size_t * bytes, wtcu_device device), device_memory(bytes, device))
FAKE_FN(cuDeviceComputeCapability, (int *major, int *minor, wtcu_device device),
        device_capability(major, minor, device))

/* ---- contexts ------------------------------------------------------------------- */

struct fake_ctx *fake_current_ctx(void)
{
	return ctx_depth ? ctx_stack[ctx_depth - 1] : NULL;
}

static struct fake_ctx *ctx_of(wtcu_context handle)
{
	struct fake_ctx *ctx = fake_contexts;

	while (ctx && (ctx != (struct fake_ctx *)handle || !ctx->is_alive))
		ctx = ctx->next;
	return ctx;
}

struct fake_device *fake_ctx_device(const struct fake_ctx *ctx, struct fake_device *view)
{
	if (!ctx->sm_count)
		return ctx->device;
	*view = *ctx->device;
	view->sm += ctx->sm_first;
	view->sm_count = ctx->sm_count;
	return view;
}

struct fake_ctx *fake_ctx_new(struct fake_device *device, const struct fake_ctx *like)
{
	struct fake_ctx *ctx = calloc(1, sizeof(*ctx));
	struct fake_ctx **end = &fake_contexts;

	if (!ctx)
		abort();
	ctx->device = device;
	ctx->id = ++ctx_last_id;
	fake_count(FAKE_CONTEXTS);
	ctx->flags = like->flags;
	ctx->sm_first = like->sm_first;
	ctx->sm_count = like->sm_count;
	ctx->parent_id = like->parent_id;
	ctx->is_alive = true;
	ctx->legacy.ctx = ctx;
	ctx->legacy.id = FAKE_NULL_STREAM_ID;
	ctx->legacy.capture_last = -1;
	while (*end)
		end = &(*end)->next;
	*end = ctx;
	if (fake_tools)
		fake_tools->context(device->ordinal, ctx->id, FAKE_NULL_STREAM_ID,
		                    (uint32_t)ctx->sm_count, ctx->parent_id);
	return ctx;
}

static wtcu_result ctx_set(struct fake_ctx *ctx)
{
	if (!ctx_depth)
		ctx_depth = 1;
	ctx_stack[ctx_depth - 1] = ctx;
	return WTCU_SUCCESS;
}

static wtcu_result ctx_push(struct fake_ctx *ctx)
{
	if (!ctx || ctx_depth == CTX_STACK_DEPTH)
		return WTCU_ERROR_INVALID_CONTEXT;
	ctx_stack[ctx_depth++] = ctx;
	return WTCU_SUCCESS;
}

static wtcu_result ctx_pop(wtcu_context *context)
{
	if (!ctx_depth || !ctx_stack[ctx_depth - 1])
		return WTCU_ERROR_INVALID_CONTEXT;
	ctx_depth--;
	if (context)
		*context = (wtcu_context)ctx_stack[ctx_depth];
	return WTCU_SUCCESS;
}

static wtcu_result ctx_create(wtcu_context *context, unsigned int flags, wtcu_device device)
{
	struct fake_device *d = fake_device_of(device);
	struct fake_ctx *ctx;

	if (!context || !d)
		return d ? WTCU_ERROR_INVALID_VALUE : WTCU_ERROR_INVALID_DEVICE;
	ctx = fake_ctx_new(d, &(struct fake_ctx){.flags = flags});
	*context = (wtcu_context)ctx;
	return ctx_push(ctx);
}

wtcu_result fake_ctx_destroy(struct fake_ctx *ctx)
{
	if (!ctx)
		return WTCU_ERROR_INVALID_CONTEXT;
	fake_wait_until(fake_ctx_tail_ns(ctx));
	fake_streams_forget(ctx);
	ctx->is_alive = false; /* kept in the list: ids stay unique, handles recognisable */
	if (fake_current_ctx() == ctx)
		ctx_depth--;
	return WTCU_SUCCESS;
}

wtcu_result fake_primary_retain(wtcu_context *context, wtcu_device device)
{
	struct fake_device *d = fake_device_of(device);

	if (!context || !d)
		return d ? WTCU_ERROR_INVALID_VALUE : WTCU_ERROR_INVALID_DEVICE;
	if (!d->primary || !d->primary->is_alive)
		d->primary = fake_ctx_new(d, &(struct fake_ctx){0});
	d->primary->primary_refs++;
	*context = (wtcu_context)d->primary;
	return WTCU_SUCCESS;
}

static wtcu_result primary_release(wtcu_device device, bool is_reset)
{
	struct fake_device *d = fake_device_of(device);

	if (!d)
		return WTCU_ERROR_INVALID_DEVICE;
	if (!d->primary || !d->primary->primary_refs)
		return is_reset ? WTCU_SUCCESS : WTCU_ERROR_INVALID_CONTEXT;
	if (--d->primary->primary_refs == 0 || is_reset) {
		d->primary->primary_refs = 0;
		return fake_ctx_destroy(d->primary);
	}
	return WTCU_SUCCESS;
}

wtcu_result fake_primary_release(wtcu_device device)
{
	return primary_release(device, false);
}

static wtcu_result primary_state(wtcu_device device, unsigned int *flags, int *active)
{
	struct fake_device *d = fake_device_of(device);

	if (!d)
		return WTCU_ERROR_INVALID_DEVICE;
	if (flags)
		*flags = d->primary ? d->primary->flags : 0;
	if (active)
		*active = d->primary && d->primary->is_alive;
	return WTCU_SUCCESS;
}

static wtcu_result primary_flags(wtcu_device device, unsigned int flags)
{
	struct fake_device *d = fake_device_of(device);

	if (!d)
		return WTCU_ERROR_INVALID_DEVICE;
	if (d->primary)
		d->primary->flags = flags;
	return WTCU_SUCCESS;
}

static wtcu_result ctx_current(wtcu_context *context)
{
	if (!context)
		return WTCU_ERROR_INVALID_VALUE;
	*context = (wtcu_context)fake_current_ctx();
	return WTCU_SUCCESS;
}

static wtcu_result ctx_value(int *value, int (*get)(const struct fake_ctx *))
{
	const struct fake_ctx *ctx = fake_current_ctx();

	if (!ctx || !value)
		return ctx ? WTCU_ERROR_INVALID_VALUE : WTCU_ERROR_INVALID_CONTEXT;
	*value = get(ctx);
	return WTCU_SUCCESS;
}

static int get_ordinal(const struct fake_ctx *ctx)
{
	return (int)ctx->device->ordinal;
}

static int get_flags(const struct fake_ctx *ctx)
{
	return (int)ctx->flags;
}

static wtcu_result priority_range(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return fake_current_ctx() ? WTCU_SUCCESS : WTCU_ERROR_INVALID_CONTEXT;
}

static wtcu_result api_version(unsigned int *version)
{
	if (!version)
		return WTCU_ERROR_INVALID_VALUE;
	*version = 3020;
	return WTCU_SUCCESS;
}

FAKE_FN(cuDevicePrimaryCtxRetain, (wtcu_context * context, wtcu_device device),
        fake_primary_retain(context, device))
FAKE_FN(cuDevicePrimaryCtxRelease, (wtcu_device device), primary_release(device, false))
FAKE_FN(cuDevicePrimaryCtxRelease_v2, (wtcu_device device), primary_release(device, false))
FAKE_FN(cuDevicePrimaryCtxReset_v2, (wtcu_device device), primary_release(device, true))
FAKE_FN(cuDevicePrimaryCtxSetFlags, (wtcu_device device, unsigned int flags),
        primary_flags(device, flags))
FAKE_FN(cuDevicePrimaryCtxSetFlags_v2, (wtcu_device device, unsigned int flags),
        primary_flags(device, flags))
FAKE_FN(cuDevicePrimaryCtxGetState, (wtcu_device device, unsigned int *flags, int *active),
        primary_state(device, flags, active))
FAKE_FN(cuCtxCreate, (wtcu_context * context, unsigned int flags, wtcu_device device),
        ctx_create(context, flags, device))
FAKE_FN(cuCtxCreate_v2, (wtcu_context * context, unsigned int flags, wtcu_device device),
        ctx_create(context, flags, device))
FAKE_FN(cuCtxCreate_v3,
        (wtcu_context * context, void *affinity, int count, unsigned int flags, wtcu_device device),
        ((void)affinity, (void)count, ctx_create(context, flags, device)))
FAKE_FN(cuCtxCreate_v4,
        (wtcu_context * context, void *params, unsigned int flags, wtcu_device device),
        ((void)params, ctx_create(context, flags, device)))
FAKE_FN(cuCtxDestroy, (wtcu_context context), fake_ctx_destroy(ctx_of(context)))
FAKE_FN(cuCtxDestroy_v2, (wtcu_context context), fake_ctx_destroy(ctx_of(context)))
FAKE_FN(cuCtxSetCurrent, (wtcu_context context),
        context && !ctx_of(context) ? WTCU_ERROR_INVALID_CONTEXT : ctx_set(ctx_of(context)))
FAKE_FN(cuCtxGetCurrent, (wtcu_context * context), ctx_current(context))
FAKE_FN(cuCtxPushCurrent_v2, (wtcu_context context), ctx_push(ctx_of(context)))
FAKE_FN(cuCtxPopCurrent_v2, (wtcu_context * context), ctx_pop(context))
FAKE_FN(cuCtxGetDevice, (wtcu_device * device), ctx_value(device, get_ordinal))
FAKE_FN(cuCtxGetFlags, (unsigned int *flags), ctx_value((int *)flags, get_flags))
FAKE_FN(cuCtxGetApiVersion, (wtcu_context context, unsigned int *version),
        ((void)context, api_version(version)))
FAKE_FN(cuCtxGetStreamPriorityRange, (int *least, int *greatest), priority_range(least, greatest))

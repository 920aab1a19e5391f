/*
 * cuda_green.c - green contexts: a part of a device's SMs as a context of its own.
 *
 * Under the driver's lock. SMs come in groups of 8, as on an H200; what is left over is
 * `remaining`. Which SMs a resource stands for is kept in the bytes that the driver has to itself.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda_int.h"

#define SM_GROUP 8u

struct green_desc {
	wtcu_device device;
	unsigned int first, count;
};

static unsigned int first_of(const struct wtcu_resource *resource)
{
	unsigned int first;

	memcpy(&first, resource->pad, sizeof(first));
	return first;
}

static void resource_set(struct wtcu_resource *resource, unsigned int first, unsigned int count)
{
	memset(resource, 0, sizeof(*resource));
	resource->type = WTCU_RESOURCE_SM;
	memcpy(resource->pad, &first, sizeof(first));
	resource->value.sm.sm_count = count;
	resource->value.sm.least_sm_count = resource->value.sm.alignment = SM_GROUP;
}

static wtcu_result device_resource(wtcu_device device, struct wtcu_resource *resource, int type)
{
	struct fake_device *d = fake_device_of(device);

	if (!d)
		return WTCU_ERROR_INVALID_DEVICE;
	if (!resource || type != WTCU_RESOURCE_SM)
		return WTCU_ERROR_INVALID_VALUE;
	resource_set(resource, 0, (unsigned int)d->sm_count);
	return WTCU_SUCCESS;
}

static wtcu_result split(struct wtcu_resource *result, unsigned int *group_count,
                         const struct wtcu_resource *input, struct wtcu_resource *remaining,
                         unsigned int least)
{
	unsigned int size = (least + SM_GROUP - 1) / SM_GROUP * SM_GROUP;
	unsigned int groups, first, left;

	if (!group_count || !input || input->type != WTCU_RESOURCE_SM)
		return WTCU_ERROR_INVALID_VALUE;
	size = size ? size : SM_GROUP;
	first = first_of(input);
	left = input->value.sm.sm_count;
	groups = left / size;
	if (result && *group_count < groups)
		groups = *group_count;
	for (unsigned int i = 0; result && i < groups; i++)
		resource_set(&result[i], first + i * size, size);
	if (remaining)
		resource_set(remaining, first + groups * size, left - groups * size);
	*group_count = groups;
	return WTCU_SUCCESS;
}

static wtcu_result make_desc(wtcu_resource_desc *ret_desc, const struct wtcu_resource *resources,
                             unsigned int count)
{
	struct green_desc *desc;

	if (!ret_desc || !resources || count != 1 || !resources->value.sm.sm_count)
		return WTCU_ERROR_INVALID_VALUE;
	desc = calloc(1, sizeof(*desc)); /* the driver's to keep: there is no call that frees it */
	if (!desc)
		return WTCU_ERROR_OUT_OF_MEMORY;
	desc->first = first_of(resources);
	desc->count = resources->value.sm.sm_count;
	*ret_desc = (wtcu_resource_desc)desc;
	return WTCU_SUCCESS;
}

static wtcu_result green_create(wtcu_green_context *ret_green, wtcu_resource_desc handle,
                                wtcu_device device, unsigned int flags)
{
	const struct green_desc *desc = (const struct green_desc *)handle;
	struct fake_device *d = fake_device_of(device);
	struct fake_ctx like = {0};
	wtcu_context primary;
	wtcu_result error;

	if (!ret_green || !desc || flags != WTCU_GREEN_DEFAULT_STREAM)
		return WTCU_ERROR_INVALID_VALUE;
	if (!d)
		return WTCU_ERROR_INVALID_DEVICE;
	error = fake_primary_retain(&primary, device);
	if (error)
		return error;
	like.sm_first = (int)desc->first;
	like.sm_count = (int)desc->count;
	like.parent_id = ((struct fake_ctx *)primary)->id;
	*ret_green = (wtcu_green_context)fake_ctx_new(d, &like);
	return WTCU_SUCCESS;
}

static struct fake_ctx *green_of(wtcu_green_context handle)
{
	struct fake_ctx *ctx = fake_contexts;

	while (ctx && (ctx != (struct fake_ctx *)handle || !ctx->is_alive || !ctx->sm_count))
		ctx = ctx->next;
	return ctx;
}

static wtcu_result green_destroy(wtcu_green_context handle)
{
	struct fake_ctx *ctx = green_of(handle);
	wtcu_result error = ctx ? fake_ctx_destroy(ctx) : WTCU_ERROR_INVALID_CONTEXT;

	return error ? error : fake_primary_release((wtcu_device)ctx->device->ordinal);
}

static wtcu_result green_context(wtcu_context *ret_context, wtcu_green_context handle)
{
	struct fake_ctx *ctx = green_of(handle);

	if (!ret_context || !ctx)
		return ctx ? WTCU_ERROR_INVALID_VALUE : WTCU_ERROR_INVALID_CONTEXT;
	*ret_context = (wtcu_context)ctx;
	return WTCU_SUCCESS;
}

static wtcu_result green_stream(wtcu_stream *ret_stream, wtcu_green_context handle,
                                unsigned int flags, int priority)
{
	struct fake_ctx *ctx = green_of(handle);

	/* It must not synchronise with the default stream: 1 is required. */
	if (!ret_stream || !ctx || flags != 1)
		return ctx ? WTCU_ERROR_INVALID_VALUE : WTCU_ERROR_INVALID_CONTEXT;
	*ret_stream = fake_stream_new(ctx, flags, priority);
	return WTCU_SUCCESS;
}

FAKE_FN(cuDeviceGetDevResource, (wtcu_device device, struct wtcu_resource *resource, int type),
        device_resource(device, resource, type))
FAKE_FN(cuDevSmResourceSplitByCount,
        (struct wtcu_resource * result, unsigned int *group_count,
         const struct wtcu_resource *input, struct wtcu_resource *remaining, unsigned int flags,
         unsigned int least),
        ((void)flags, split(result, group_count, input, remaining, least)))
FAKE_FN(cuDevResourceGenerateDesc,
        (wtcu_resource_desc * desc, struct wtcu_resource *resources, unsigned int count),
        make_desc(desc, resources, count))
FAKE_FN(cuGreenCtxCreate,
        (wtcu_green_context * green, wtcu_resource_desc desc, wtcu_device device,
         unsigned int flags),
        green_create(green, desc, device, flags))
FAKE_FN(cuGreenCtxDestroy, (wtcu_green_context green), green_destroy(green))
FAKE_FN(cuCtxFromGreenCtx, (wtcu_context * context, wtcu_green_context green),
        green_context(context, green))
FAKE_FN(cuGreenCtxStreamCreate,
        (wtcu_stream * stream, wtcu_green_context green, unsigned int flags, int priority),
        green_stream(stream, green, flags, priority))

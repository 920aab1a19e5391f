/*
 * cuda_module.c - modules, libraries and functions of the simulated driver.
 *
 * A module is PTX text. The entries in it become functions; comment lines
 * beginning "// wtfake:" say how one behaves when simulated (README.md has the
 * keys), so the same text runs on a real GPU. Under the driver's lock.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda_int.h"

#define MAGIC_MODULE 0x4d6f646c
#define DIRECTIVE "// wtfake:"

struct fake_module {
	uint32_t magic;
	struct fake_module *next;
	struct fake_function *functions;
};

static struct fake_module *modules;
/* WTFAKE_REUSE_HANDLES=1: the next function made gets the handle of one that was unloaded. */
static struct fake_function *unloaded;

static struct fake_function *function_new(struct fake_module *module, const char *name, size_t len)
{
	struct fake_function *f = unloaded;

	if (f) {
		unloaded = f->next;
		memset(f, 0, sizeof(*f)); /* its name lives on in records */
	} else {
		f = calloc(1, sizeof(*f));
	}
	if (!f || !(f->name = strndup(name, len)))
		abort();
	f->magic = FAKE_MAGIC_FUNCTION;
	f->module = module;
	f->registers = 32;
	f->max_dynamic_shared = 49152;
	f->block_ns = fake_env_i64("WTFAKE_BLOCK_NS", 5000);
	f->param_idx = -1;
	f->slow_at = -1;
	f->slow_factor = 1;
	f->next = module->functions;
	module->functions = f;
	return f;
}

static struct fake_function *function_find(struct fake_module *module, const char *name, size_t len)
{
	struct fake_function *f = module->functions;

	while (f && (strlen(f->name) != len || strncmp(f->name, name, len)))
		f = f->next;
	return f;
}

static void directive_apply(struct fake_function *f, const char *key, size_t key_len,
                            const char *value)
{
#define IS(text) (key_len == strlen(text) && !strncmp(key, text, key_len))
	if (IS("regs"))
		f->registers = atoi(value);
	else if (IS("smem"))
		f->static_shared = atoi(value);
	else if (IS("block_ns"))
		f->block_ns = atoll(value);
	else if (IS("param"))
		f->param_idx = atoi(value);
	else if (IS("param_ns"))
		f->param_ns = atof(value);
	else if (IS("jitter"))
		f->jitter = atof(value);
	else if (IS("slow_every"))
		f->slow_every = strtoull(value, NULL, 10);
	else if (IS("slow_at"))
		f->slow_at = atoll(value);
	else if (IS("slow_factor"))
		f->slow_factor = atof(value);
	else if (IS("counts_down"))
		f->counts_down = atoi(value) != 0;
	else if (IS("tensor"))
		f->tensor = atof(value);
	else if (IS("issue"))
		f->issue = atof(value);
	else if (IS("dram_bytes_per_ns"))
		f->dram_read_bytes_per_ns = atof(value);
	else if (IS("dram_write_bytes_per_ns"))
		f->dram_write_bytes_per_ns = atof(value);
	else if (IS("sharing"))
		f->is_sharing = atoi(value) != 0;
	else
		fake_die("unknown directive %.*s of kernel %s", (int)key_len, key, f->name);
#undef IS
}

/* One line of KEY=VALUE words, the first of them kernel=NAME. */
static void directive_line(struct fake_module *module, const char *at)
{
	const char *end = at + strcspn(at, "\n");
	struct fake_function *f = NULL;

	while (at < end) {
		const char *word = at + strspn(at, " \t");
		const char *equals = word + strcspn(word, "= \t\n");
		const char *word_end = word + strcspn(word, " \t\n");

		if (*equals != '=' || word >= end)
			return;
		if (!strncmp(word, "kernel=", 7))
			f = function_find(module, word + 7, (size_t)(word_end - word - 7));
		else if (f)
			directive_apply(f, word, (size_t)(equals - word), equals + 1);
		if (!f)
			fake_die("directive for a kernel the module lacks: %.*s",
			         (int)(word_end - word), word);
		at = word_end;
	}
}

static wtcu_result module_parse(struct fake_module *module, const char *text)
{
	const char *at;

	for (at = strstr(text, ".entry"); at; at = strstr(at, ".entry")) {
		const char *name = at + 6 + strspn(at + 6, " \t\n");
		size_t len = 0;

		while (isalnum((unsigned char)name[len]) || name[len] == '_' || name[len] == '$')
			len++;
		if (!len)
			return WTCU_ERROR_INVALID_PTX;
		function_new(module, name, len)->has_params =
		        name[len] == '(' && !strncmp(name + len + 1, ".param", 6);
		at = name + len;
	}
	for (at = strstr(text, DIRECTIVE); at; at = strstr(at, DIRECTIVE)) {
		at += strlen(DIRECTIVE);
		directive_line(module, at);
	}
	return WTCU_SUCCESS;
}

static wtcu_result module_load(struct fake_module **ret_module, const void *image)
{
	struct fake_module *module;
	wtcu_result result;

	if (!ret_module || !image)
		return WTCU_ERROR_INVALID_VALUE;
	if (!fake_current_ctx())
		return WTCU_ERROR_INVALID_CONTEXT;
	/* Binaries (ELF, fat) can't be simulated: nobody knows what they'd do. */
	if (!strstr((const char *)image, ".version"))
		return WTCU_ERROR_INVALID_IMAGE;
	module = calloc(1, sizeof(*module));
	if (!module)
		abort();
	module->magic = MAGIC_MODULE;
	result = module_parse(module, image);
	if (result) {
		free(module);
		return result;
	}
	module->next = modules;
	modules = module;
	*ret_module = module;
	return WTCU_SUCCESS;
}

static struct fake_module *module_of(void *handle)
{
	struct fake_module *module = modules;

	while (module && module != handle)
		module = module->next;
	return module && module->magic == MAGIC_MODULE ? module : NULL;
}

/* Handles stay recognisable as stale, so neither module nor functions are freed. */
static wtcu_result module_unload(void *handle)
{
	struct fake_module *module = module_of(handle);

	if (!module)
		return WTCU_ERROR_INVALID_HANDLE;
	module->magic = 0;
	for (struct fake_function *f = module->functions, *next; f; f = next) {
		next = f->next;
		f->magic = 0;
		if (fake_env_i64("WTFAKE_REUSE_HANDLES", 0)) {
			f->next = unloaded;
			unloaded = f;
		}
	}
	module->functions = NULL;
	return WTCU_SUCCESS;
}

static wtcu_result module_function(void **ret_function, void *handle, const char *name)
{
	struct fake_module *module = module_of(handle);

	if (!ret_function || !name)
		return WTCU_ERROR_INVALID_VALUE;
	if (!module)
		return WTCU_ERROR_INVALID_HANDLE;
	*ret_function = function_find(module, name, strlen(name));
	return *ret_function ? WTCU_SUCCESS : WTCU_ERROR_NOT_FOUND;
}

wtcu_result fake_function_of(wtcu_function handle, struct fake_function **ret_function)
{
	struct fake_function *f = (struct fake_function *)handle;

	if (!f || (uintptr_t)f % 8 || f->magic != FAKE_MAGIC_FUNCTION)
		return WTCU_ERROR_INVALID_HANDLE;
	*ret_function = f;
	return WTCU_SUCCESS;
}

static wtcu_result function_name(const char **name, void *handle)
{
	struct fake_function *f;

	if (!name || fake_function_of(handle, &f))
		return name ? WTCU_ERROR_INVALID_HANDLE : WTCU_ERROR_INVALID_VALUE;
	*name = f->name;
	return WTCU_SUCCESS;
}

static wtcu_result function_attribute(int *value, int attribute, void *handle)
{
	struct fake_function *f;

	if (!value || fake_function_of(handle, &f))
		return value ? WTCU_ERROR_INVALID_HANDLE : WTCU_ERROR_INVALID_VALUE;
	switch (attribute) {
	case WTCU_FUNC_MAX_THREADS_PER_BLOCK:
		*value = 1024;
		break;
	case WTCU_FUNC_SHARED_SIZE_BYTES:
		*value = f->static_shared;
		break;
	case WTCU_FUNC_NUM_REGS:
		*value = f->registers;
		break;
	case WTCU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = f->max_dynamic_shared;
		break;
	case WTCU_FUNC_PTX_VERSION:
	case WTCU_FUNC_BINARY_VERSION:
		*value = 90;
		break;
	default:
		*value = 0;
	}
	return WTCU_SUCCESS;
}

static wtcu_result function_set(void *handle, int attribute, int value)
{
	struct fake_function *f;

	if (fake_function_of(handle, &f))
		return WTCU_ERROR_INVALID_HANDLE;
	if (attribute == WTCU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		const int *limit = fake_current_ctx()->device->attribute;

		if (value + f->static_shared > limit[WTCU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN])
			return WTCU_ERROR_INVALID_VALUE;
		f->max_dynamic_shared = value;
	}
	return WTCU_SUCCESS;
}

static wtcu_result occupancy(int *blocks, void *handle, int threads, size_t dynamic_shared)
{
	struct fake_function *f;

	if (!blocks || threads <= 0)
		return WTCU_ERROR_INVALID_VALUE;
	if (!fake_current_ctx())
		return WTCU_ERROR_INVALID_CONTEXT;
	if (fake_function_of(handle, &f))
		return WTCU_ERROR_INVALID_HANDLE;
	*blocks = fake_occupancy(fake_current_ctx()->device, f, threads, (int64_t)dynamic_shared);
	return WTCU_SUCCESS;
}

static wtcu_result clusters(int *count, void *handle, const struct wtcu_launch_config *config)
{
	int blocks = 0;
	int size = 1;
	wtcu_result result;

	if (!count || !config)
		return WTCU_ERROR_INVALID_VALUE;
	result = occupancy(&blocks, handle,
	                   (int)(config->block_x * config->block_y * config->block_z),
	                   config->shared_bytes);
	if (result)
		return result;
	for (unsigned int i = 0; i < config->attr_count; i++)
		if (config->attrs[i].id == WTCU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			size = (int)(config->attrs[i].value.cluster_dim.x *
			             config->attrs[i].value.cluster_dim.y *
			             config->attrs[i].value.cluster_dim.z);
	*count = fake_max_active_clusters(fake_current_ctx()->device, blocks, size);
	return WTCU_SUCCESS;
}

static wtcu_result same_handle(void **to, void *from)
{
	struct fake_function *f;

	if (!to || fake_function_of(from, &f))
		return to ? WTCU_ERROR_INVALID_HANDLE : WTCU_ERROR_INVALID_VALUE;
	*to = from;
	return WTCU_SUCCESS;
}

static wtcu_result loading_mode(int *mode)
{
	if (!mode)
		return WTCU_ERROR_INVALID_VALUE;
	*mode = 2; /* lazy */
	return WTCU_SUCCESS;
}

FAKE_FN(cuModuleLoadData, (wtcu_module * module, const void *image),
        module_load((struct fake_module **)module, image))
FAKE_FN(cuModuleLoadDataEx,
        (wtcu_module * module, const void *image, unsigned int count, int *options, void **values),
        ((void)count, (void)options, (void)values,
         module_load((struct fake_module **)module, image)))
FAKE_FN(cuModuleUnload, (wtcu_module module), module_unload(module))
FAKE_FN(cuModuleGetFunction, (wtcu_function * function, wtcu_module module, const char *name),
        module_function((void **)function, module, name))
FAKE_FN(cuModuleGetLoadingMode, (int *mode), loading_mode(mode))
FAKE_FN(cuLibraryLoadData,
        (wtcu_library * library, const void *code, int *jit_options, void **jit_values,
         unsigned int jit_count, int *options, void **values, unsigned int count),
        ((void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values,
         (void)count, module_load((struct fake_module **)library, code)))
FAKE_FN(cuLibraryUnload, (wtcu_library library), module_unload(library))
FAKE_FN(cuLibraryGetKernel, (wtcu_kernel * kernel, wtcu_library library, const char *name),
        module_function((void **)kernel, library, name))
FAKE_FN(cuKernelGetFunction, (wtcu_function * function, wtcu_kernel kernel),
        same_handle((void **)function, kernel))
FAKE_FN(cuKernelGetName, (const char **name, wtcu_kernel kernel), function_name(name, kernel))
FAKE_FN(cuKernelGetAttribute, (int *value, int attribute, wtcu_kernel kernel, wtcu_device device),
        ((void)device, function_attribute(value, attribute, kernel)))
FAKE_FN(cuFuncGetAttribute, (int *value, int attribute, wtcu_function function),
        function_attribute(value, attribute, function))
FAKE_FN(cuFuncSetAttribute, (wtcu_function function, int attribute, int value),
        function_set(function, attribute, value))
FAKE_FN(cuFuncGetName, (const char **name, wtcu_function function), function_name(name, function))
FAKE_FN(cuFuncSetCacheConfig, (wtcu_function function, int config),
        ((void)config, function_set(function, -1, 0)))
FAKE_FN(cuOccupancyMaxActiveBlocksPerMultiprocessor,
        (int *blocks, wtcu_function function, int threads, size_t dynamic_shared),
        occupancy(blocks, function, threads, dynamic_shared))
FAKE_FN(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        (int *blocks, wtcu_function function, int threads, size_t dynamic_shared,
         unsigned int flags),
        ((void)flags, occupancy(blocks, function, threads, dynamic_shared)))
FAKE_FN(cuOccupancyMaxActiveClusters,
        (int *count, wtcu_function function, const struct wtcu_launch_config *config),
        clusters(count, function, config))

/*
 * nvtx.c - named ranges: how NVTX finds us, and its calls.
 *
 * THE DOOR. An NVTX user asks getenv("NVTX_INJECTION64_PATH") once, at its first call, and loads what
 * that names (nvtx_abi.h). A preloaded library can't come in another way, and must not set the
 * variable: children would inherit it, and setenv is not safe beside getenv. So getenv is exported
 * here: it answers that one name, if nobody has set it, with our own path, under which the loader
 * then finds us as loaded already. Every other name, and the same one where somebody set it (nsys,
 * ncu, a CUPTI tool), goes to the next getenv unchanged. The environment stays as it is.
 *
 * Without a call of NVTX there is nothing else: no table is mapped, no function of it runs.
 *
 * The callbacks run on the threads of the application: see ranges.c for what they keep.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "libintercept/nvtx_abi.h"
#include "libintercept/ranges.h"

/* The sanitizers' own start-up calls getenv: what runs then must not be instrumented. */
#define WT_NO_SANITIZER __attribute__((no_sanitize("address", "thread", "undefined")))

/* ---- getenv */

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
typedef char *(*getenv_fn)(const char *);

static _Atomic(void *) getenv_address;
#endif

/* A relocated pointer to itself: other libraries' resolvers may call us before we are relocated,
 * and nothing of another library can be called then. */
static const void *const volatile self = (const void *)&self;

/* As every libc does it, where there is no next one to ask. Calls nothing: see WT_NO_SANITIZER. */
WT_NO_SANITIZER static char *search_environment(const char *name)
{
	for (char **at = environ; at && *at; at++) {
		size_t i = 0;

		while (name[i] && name[i] == (*at)[i])
			i++;
		if (!name[i] && (*at)[i] == '=')
			return *at + i + 1;
	}
	return NULL;
}

WT_NO_SANITIZER static char *next_getenv(const char *name)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	return search_environment(name);
#else
	void *next = atomic_load_explicit(&getenv_address, memory_order_relaxed);

	if (!WT_LIKELY(next)) {
		next = wt_libc_next("getenv");
		if (!next)
			return search_environment(name);
		atomic_store_explicit(&getenv_address, next, memory_order_relaxed);
	}
	return ((getenv_fn)next)(name);
#endif
}

WT_NO_SANITIZER static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static bool is_wanted(void)
{
	const char *setting = secure_getenv("WAVETAP_NVTX");

	return wt_is_active() && !(setting && !strcmp(setting, "0"));
}

WT_EXPORT WT_NO_SANITIZER char *getenv(const char *name)
{
	char *value;

	if (!WT_LIKELY(self == (const void *)&self))
		return NULL;
	value = next_getenv(name);
	if (WT_LIKELY(value || name[0] != 'N' || !is_same(name, WTNVTX_ENVIRONMENT)))
		return value;
	/* The loader's own name of us, so that no file is looked for. NVTX only reads it. */
	return is_wanted() ? (char *)wt_libc_own_name() : NULL;
}

/* ---- callbacks */

static int push(const void *domain, enum wt_range_text how, const void *text)
{
	return wt_range_push(domain, how, text);
}

static int push_ex(const void *domain, const struct wtnvtx_attributes *attributes)
{
	if (!attributes || attributes->size < sizeof(*attributes))
		return push(domain, WT_RANGE_TEXT_NONE, NULL);
	/* The numbers of enum wt_range_text are NVTX's. */
	return push(domain, (enum wt_range_text)attributes->message_type,
	            attributes->message.registered);
}

static uint64_t start_ex(const void *domain, const struct wtnvtx_attributes *attributes)
{
	if (!attributes || attributes->size < sizeof(*attributes))
		return wt_range_start(domain, WT_RANGE_TEXT_NONE, NULL);
	return wt_range_start(domain, (enum wt_range_text)attributes->message_type,
	                      attributes->message.registered);
}

static int on_push_a(const char *message)
{
	return push(NULL, WT_RANGE_TEXT_ASCII, message);
}

static int on_push_w(const wchar_t *message)
{
	return push(NULL, WT_RANGE_TEXT_UNICODE, message);
}

static int on_push_ex(const struct wtnvtx_attributes *attributes)
{
	return push_ex(NULL, attributes);
}

static int on_pop(void)
{
	return wt_range_pop(NULL);
}

static uint64_t on_start_a(const char *message)
{
	return wt_range_start(NULL, WT_RANGE_TEXT_ASCII, message);
}

static uint64_t on_start_w(const wchar_t *message)
{
	return wt_range_start(NULL, WT_RANGE_TEXT_UNICODE, message);
}

static uint64_t on_start_ex(const struct wtnvtx_attributes *attributes)
{
	return start_ex(NULL, attributes);
}

static void on_end(uint64_t id)
{
	wt_range_end(id);
}

static void on_domain_end(const void *domain, uint64_t id)
{
	(void)domain; /* the id says it all */
	wt_range_end(id);
}

static const void *on_register_a(const void *domain, const char *text)
{
	(void)domain;
	return wt_range_keep_text(WT_RANGE_TEXT_ASCII, text);
}

static const void *on_register_w(const void *domain, const wchar_t *text)
{
	(void)domain;
	return wt_range_keep_text(WT_RANGE_TEXT_UNICODE, text);
}

static const void *on_domain_a(const char *name)
{
	return wt_range_keep_text(WT_RANGE_TEXT_ASCII, name);
}

static const void *on_domain_w(const wchar_t *name)
{
	return wt_range_keep_text(WT_RANGE_TEXT_UNICODE, name);
}

/* ---- the table of one user of NVTX */

struct callback {
	unsigned number;
	wtnvtx_fn function;
};

#define CALLBACK(number, function)                                                                 \
	{                                                                                          \
		number, (wtnvtx_fn)(void *)(function)                                              \
	}

static void subscribe(const struct wtnvtx_callbacks *table, int module,
                      const struct callback *callbacks, size_t count)
{
	wtnvtx_fn **functions = NULL;
	unsigned size = 0;

	if (!table->get_functions(module, &functions, &size) || !functions)
		return;
	for (size_t i = 0; i < count; i++)
		if (callbacks[i].number < size && functions[callbacks[i].number])
			*functions[callbacks[i].number] = callbacks[i].function;
}

WT_EXPORT int InitializeInjectionNvtx2(wtnvtx_get_export_table_fn get_export_table);

/* Once for each library that uses NVTX, at its first call. What is not subscribed to does nothing. */
int InitializeInjectionNvtx2(wtnvtx_get_export_table_fn get_export_table)
{
	const struct callback core[] = {
	        CALLBACK(WTNVTX_CORE_RANGE_START_EX, on_start_ex),
	        CALLBACK(WTNVTX_CORE_RANGE_START_A, on_start_a),
	        CALLBACK(WTNVTX_CORE_RANGE_START_W, on_start_w),
	        CALLBACK(WTNVTX_CORE_RANGE_END, on_end),
	        CALLBACK(WTNVTX_CORE_RANGE_PUSH_EX, on_push_ex),
	        CALLBACK(WTNVTX_CORE_RANGE_PUSH_A, on_push_a),
	        CALLBACK(WTNVTX_CORE_RANGE_PUSH_W, on_push_w),
	        CALLBACK(WTNVTX_CORE_RANGE_POP, on_pop),
	};
	const struct callback core2[] = {
	        CALLBACK(WTNVTX_CORE2_RANGE_START_EX, start_ex),
	        CALLBACK(WTNVTX_CORE2_RANGE_END, on_domain_end),
	        CALLBACK(WTNVTX_CORE2_RANGE_PUSH_EX, push_ex),
	        CALLBACK(WTNVTX_CORE2_RANGE_POP, wt_range_pop),
	        CALLBACK(WTNVTX_CORE2_REGISTER_STRING_A, on_register_a),
	        CALLBACK(WTNVTX_CORE2_REGISTER_STRING_W, on_register_w),
	        CALLBACK(WTNVTX_CORE2_DOMAIN_CREATE_A, on_domain_a),
	        CALLBACK(WTNVTX_CORE2_DOMAIN_CREATE_W, on_domain_w),
	};
	const struct wtnvtx_callbacks *table =
	        get_export_table ? get_export_table(WTNVTX_ETID_CALLBACKS) : NULL;

	if (!table || table->struct_size < sizeof(*table) || !table->get_functions)
		return 0;
	if (!is_wanted() || !wt_ranges_begin())
		return 0;
	subscribe(table, WTNVTX_MODULE_CORE, core, sizeof(core) / sizeof(core[0]));
	subscribe(table, WTNVTX_MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
	return 1;
}

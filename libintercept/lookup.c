/*
 * lookup.c - hands out our entries in place of the driver's.
 *
 * Whoever looks up a driver function, by dlsym or by cuGetProcAddress, gets the real answer
 * first. Only if that answer is the address of an entry on our list does it get our wrapper
 * for exactly that entry: so versions, per-thread-stream twins, other libraries' functions of
 * the same name and failures all take care of themselves. An entry of a listed family that we
 * don't know passes through and is counted.
 *
 * Real entries come from libcuda's own symbol table, read by module.c. An interposer that was
 * preloaded behind us and exports an entry comes first in line.
 *
 * Any thread. Takes the loader's list lock where a lookup is needed, no other.
 */
#include <dlfcn.h>
#include <string.h>

#include "libintercept/hooks.h"
#include "libintercept/lookup.h"
#include "libintercept/module.h"

typedef void *(*dlsym_fn)(void *handle, const char *symbol);

struct wt_entry wt_entries[WT_API_MAX];

static _Atomic uint64_t unknown_count;

static const struct hook {
	const char *name;
	void *wrapper;
	enum wt_api api;
} hooks[] = {
#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes)                             \
	{#symbol, (void *)wt_hook_##symbol, WT_API_##symbol},
#include "schema/wt_hooks.def"
};
#define HOOK_COUNT (sizeof(hooks) / sizeof(hooks[0]))

/* ---- the driver and who stands before it */

struct scan {
	bool is_self_seen;
	bool is_libc_seen;
	bool is_preloaded;
	bool has_driver;
	void *driver[HOOK_COUNT];
	void *interposer[HOOK_COUNT];
};

static bool is_driver(const struct wt_module *module)
{
	return wt_module_is(module, "libcuda.so") && wt_module_symbol(module, "cuInit");
}

/* Libraries are listed in the order of the global scope: the program, the preloads in their
 * order, what the program needs. So an interposer behind us lies between us and libc. */
static int scan_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scan *scan = data;
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	if (wt_module_holds(&module, wt_entries)) {
		scan->is_self_seen = true;
		scan->is_preloaded = !scan->is_libc_seen;
		return 0;
	}
	if (wt_module_is(&module, "libc.so"))
		scan->is_libc_seen = true;
	if (is_driver(&module)) {
		for (size_t i = 0; i < HOOK_COUNT && !scan->has_driver; i++)
			scan->driver[i] = wt_module_symbol(&module, hooks[i].name);
		scan->has_driver = true;
	} else if (scan->is_self_seen && !scan->is_libc_seen) {
		for (size_t i = 0; i < HOOK_COUNT; i++)
			if (!scan->interposer[i])
				scan->interposer[i] = wt_module_symbol(&module, hooks[i].name);
	}
	return 0;
}

/* Reads (again) where the real entries are. Two threads at once write the same. */
static void scan_entries(void)
{
	struct scan scan = {0};

	dl_iterate_phdr(scan_module, &scan);
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		struct wt_entry *entry = &wt_entries[hooks[i].api];
		void *next = scan.interposer[i] ? scan.interposer[i] : scan.driver[i];

		if (scan.driver[i])
			atomic_store_explicit(&entry->driver, scan.driver[i], memory_order_relaxed);
		if (next)
			atomic_store_explicit(&entry->next, next, memory_order_relaxed);
	}
}

bool wt_is_preloaded(void)
{
	struct scan scan = {0};

	dl_iterate_phdr(scan_module, &scan);
	return scan.is_preloaded;
}

void *wt_real_entry(enum wt_api api)
{
	void *next = atomic_load_explicit(&wt_entries[api].next, memory_order_relaxed);

	if (!next) {
		scan_entries();
		next = atomic_load_explicit(&wt_entries[api].next, memory_order_relaxed);
	}
	return next;
}

void *wt_entry_forward(enum wt_api api)
{
	void *next = wt_real_entry(api);
	void *driver = atomic_load_explicit(&wt_entries[api].driver, memory_order_relaxed);

	return driver && wt_is_inside() ? driver : next;
}

struct find {
	const char *symbol;
	void *found;
};

static int find_in_driver(struct dl_phdr_info *info, size_t size, void *data)
{
	struct find *find = data;
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	if (!is_driver(&module))
		return 0;
	find->found = wt_module_symbol(&module, find->symbol);
	return 1;
}

void *wt_driver_entry(const char *symbol)
{
	struct find find = {.symbol = symbol};

	dl_iterate_phdr(find_in_driver, &find);
	return find.found;
}

/* ---- from a real answer to ours */

void *wt_entry_wrapper(const void *address, enum wt_api *ret_api)
{
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		struct wt_entry *entry = &wt_entries[hooks[i].api];

		if (address == atomic_load_explicit(&entry->driver, memory_order_relaxed) ||
		    address == atomic_load_explicit(&entry->next, memory_order_relaxed)) {
			*ret_api = hooks[i].api;
			return hooks[i].wrapper;
		}
	}
	return NULL;
}

/* Length of a driver symbol without its stream twin's and version's suffix. */
static size_t family_length(const char *symbol)
{
	size_t length = strlen(symbol);

	if (length > 5 && wt_is_per_thread(symbol, length))
		length -= 5;
	if (length > 3 && symbol[length - 3] == '_' && symbol[length - 2] == 'v' &&
	    symbol[length - 1] >= '0' && symbol[length - 1] <= '9')
		length -= 3;
	return length;
}

static bool is_hooked_family(const char *symbol)
{
	size_t length = family_length(symbol);

	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (family_length(hooks[i].name) == length &&
		    !memcmp(hooks[i].name, symbol, length))
			return true;
	return false;
}

uint64_t wt_entries_unknown(void)
{
	return wt_load_relaxed(&unknown_count);
}

/* What to hand out for `real`, which a lookup of `symbol` gave. */
static void *swap_entry(const char *symbol, void *real)
{
	enum wt_api api;
	void *wrapper = wt_entry_wrapper(real, &api);

	if (wrapper || !is_hooked_family(symbol))
		return wrapper ? wrapper : real;
	/* Perhaps the driver was loaded, or loaded anew, since we last looked. */
	scan_entries();
	wrapper = wt_entry_wrapper(real, &api);
	if (!wrapper) {
		struct wt_view *view = wt_view_now();
		uint64_t count = wt_add_relaxed(&unknown_count, 1) + 1;

		wt_log("%s: an entry that is not on the list passes through", symbol);
		if (view)
			wt_store_relaxed(&view->producer->entries_unknown, count);
	}
	return wrapper ? wrapper : real;
}

/* ---- who asks */

struct caller {
	const void *address;
	bool is_cuda;
};

static int find_caller(struct dl_phdr_info *info, size_t size, void *data)
{
	struct caller *caller = data;
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	if (!wt_module_holds(&module, caller->address))
		return 0;
	caller->is_cuda =
	        wt_module_is(&module, "libcuda.so") || wt_module_is(&module, "libcupti.so");
	return 1;
}

/* The driver and CUPTI must never be given our entries for their own. */
static bool is_cuda_itself(const void *address)
{
	struct caller caller = {.address = address};

	dl_iterate_phdr(find_caller, &caller);
	return caller.is_cuda;
}

/* ---- dlsym */

void *wt_real_dlsym(void *handle, const char *symbol)
{
	return ((dlsym_fn)wt_dlsym_next())(handle, symbol);
}

static int find_cupti(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	*(bool *)data = wt_module_is(&module, "libcupti.so");
	return *(bool *)data;
}

/*
 * The lookup found a function of ours, since our exports lie in the global scope. Without us
 * it would have found what lies behind us, or nothing if that library isn't loaded: answer
 * so, with the loader's own error.
 */
static void *answer_own(const char *symbol, void *own, bool may_swap)
{
	bool is_there = false;
	void *real = NULL;

	for (size_t i = 0; i < HOOK_COUNT && !real; i++)
		if (own == hooks[i].wrapper)
			real = wt_real_entry(hooks[i].api);
	if (!strncmp(symbol, "cupti", 5))
		dl_iterate_phdr(find_cupti, &is_there);
	if ((real || is_there) && may_swap)
		return own;
	return real ? real : wt_real_dlsym(RTLD_NEXT, symbol);
}

static int find_self(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	if (!wt_module_holds(&module, wt_entries))
		return 0;
	if (wt_module_holds(&module, *(void **)data))
		*(void **)data = NULL;
	return 1;
}

static bool is_own(void *address)
{
	dl_iterate_phdr(find_self, &address);
	return !address;
}

void *wt_dlsym_listed(void *handle, const char *symbol, const void *caller)
{
	void *found = wt_real_dlsym(handle, symbol);
	bool may_swap;

	if (!found)
		return NULL;
	may_swap = wt_is_active() && !is_cuda_itself(caller);
	if (is_own(found))
		return answer_own(symbol, found, may_swap);
	if (!may_swap)
		return found;
	return strncmp(symbol, "cupti", 5) ? swap_entry(symbol, found)
	                                   : wt_share_lookup(symbol, found, (uintptr_t)caller);
}

/* ---- cuGetProcAddress */

/* A success may come with NULL, which says "no such entry". */
static void swap_answer(int result, const char *symbol, void **pfn, const void *caller)
{
	if (result == WTCU_SUCCESS && symbol && pfn && *pfn && !is_cuda_itself(caller))
		*pfn = swap_entry(symbol, *pfn);
}

/* Asked for below version 12000, "cuGetProcAddress" has four parameters, else five: two entries
 * of the driver, and so two of ours. */
int wt_hook_cuGetProcAddress(const char *symbol, void **pfn, int version, unsigned long long flags)
{
	int (*real)(const char *, void **, int, unsigned long long);
	bool is_outer = wt_enter();
	int result = WT_NO_ENTRY;

	real = is_outer ? wt_entry_next(WT_API_cuGetProcAddress)
	                : wt_entry_forward(WT_API_cuGetProcAddress);
	if (real)
		result = real(symbol, pfn, version, flags);
	if (is_outer) {
		swap_answer(result, symbol, pfn, __builtin_return_address(0));
		wt_leave();
	}
	return result;
}

int wt_hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                                unsigned long long flags, void *status)
{
	int (*real)(const char *, void **, int, unsigned long long, void *);
	bool is_outer = wt_enter();
	int result = WT_NO_ENTRY;

	real = is_outer ? wt_entry_next(WT_API_cuGetProcAddress_v2)
	                : wt_entry_forward(WT_API_cuGetProcAddress_v2);
	if (real)
		result = real(symbol, pfn, version, flags, status);
	if (is_outer) {
		swap_answer(result, symbol, pfn, __builtin_return_address(0));
		wt_leave();
	}
	return result;
}

WT_EXPORT_HOOK(cuGetProcAddress);
WT_EXPORT_HOOK(cuGetProcAddress_v2);

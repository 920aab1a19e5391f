/*
 * nvtx_client.h - a user of NVTX 3 for tests: a small library of one's own that begins as the
 * vendor's headers do, step by step.
 *
 * Each function is a pointer, and at first points to one that initialises and calls again through
 * the pointer. Initialising: NVTX_INJECTION64_PATH by getenv; is it set, dlopen it (lazily) and take
 * InitializeInjectionNvtx2 from it, and if either fails that is the end; is it not, take what is in
 * InitializeInjectionNvtx2_fnptr, which nobody can set from outside. It gets the table of tables.
 * When it returns 0 the library is closed, and no pointer stays; else those that it did not set
 * become NULL. A NULL pointer does nothing and returns -2, 0 or NULL. Other threads wait for the one
 * that initialises.
 *
 * All static: each file that includes it is a user of its own, as each library with the headers is.
 */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "libintercept/nvtx_abi.h"

static wtnvtx_initialize_fn nv_static_injection;

static void nv_init(void);

/* ---- the functions: NV(module, number, name, result, parameters, arguments, without a tool) */

#define NV_CORE(X)                                                                                 \
	X(4, start_ex, uint64_t, (const struct wtnvtx_attributes *a), (a), 0)                      \
	X(5, start_a, uint64_t, (const char *m), (m), 0)                                           \
	X(6, start_w, uint64_t, (const wchar_t *m), (m), 0)                                        \
	X(8, push_ex, int, (const struct wtnvtx_attributes *a), (a), -2)                           \
	X(9, push_a, int, (const char *m), (m), -2)                                                \
	X(10, push_w, int, (const wchar_t *m), (m), -2)                                            \
	X(11, pop, int, (void), (), -2)
#define NV_CORE2(X)                                                                                \
	X(2, domain_start_ex, uint64_t, (const void *d, const struct wtnvtx_attributes *a),        \
	  (d, a), 0)                                                                               \
	X(4, domain_push_ex, int, (const void *d, const struct wtnvtx_attributes *a), (d, a), -2)  \
	X(5, domain_pop, int, (const void *d), (d), -2)                                            \
	X(10, register_a, const void *, (const void *d, const char *m), (d, m), NULL)              \
	X(11, register_w, const void *, (const void *d, const wchar_t *m), (d, m), NULL)           \
	X(12, domain_a, const void *, (const char *m), (m), NULL)                                  \
	X(13, domain_w, const void *, (const wchar_t *m), (m), NULL)

#define NV_DECLARE(number, name, result, parameters, arguments, none)                              \
	typedef result(*nv_##name##_fn) parameters;                                                \
	static result nv_first_##name parameters;
NV_CORE(NV_DECLARE)
NV_CORE2(NV_DECLARE)
typedef void (*nv_end_fn)(uint64_t id);
typedef void (*nv_domain_end_fn)(const void *domain, uint64_t id);
typedef void (*nv_mark_fn)(const char *message);
static void nv_first_end(uint64_t id);
static void nv_first_domain_end(const void *domain, uint64_t id);
static void nv_first_mark(const char *message);

static struct {
	atomic_uint state; /* 0 fresh, 1 started, 2 complete */
#define NV_FIELD(number, name, result, parameters, arguments, none) nv_##name##_fn name;
	NV_CORE(NV_FIELD) NV_CORE2(NV_FIELD) nv_end_fn end;
	nv_domain_end_fn domain_end;
	nv_mark_fn mark;
	wtnvtx_fn *core[WTNVTX_CORE_SIZE + 1], *core2[WTNVTX_CORE2_SIZE + 1];
} nv = {
#define NV_FIRST(number, name, result, parameters, arguments, none) .name = nv_first_##name,
        NV_CORE(NV_FIRST) NV_CORE2(NV_FIRST).end = nv_first_end,
        .domain_end = nv_first_domain_end,
        .mark = nv_first_mark,
        .core =
                {
#define NV_PLACE(number, name, result, parameters, arguments, none)                                \
	[number] = (wtnvtx_fn *)(void *)&nv.name,
                        NV_CORE(NV_PLACE)[7] = (wtnvtx_fn *)(void *)&nv.end,
                        [2] = (wtnvtx_fn *)(void *)&nv.mark,
                },
        .core2 = {NV_CORE2(NV_PLACE)[3] = (wtnvtx_fn *)(void *)&nv.domain_end},
};

#define NV_CALL(number, name, result, parameters, arguments, none)                                 \
	static inline __attribute__((unused)) result nv_##name parameters                          \
	{                                                                                          \
		nv_##name##_fn local = nv.name;                                                    \
                                                                                                   \
		return local ? local arguments : (none);                                           \
	}                                                                                          \
	static result nv_first_##name parameters                                                   \
	{                                                                                          \
		nv_init();                                                                         \
		return nv_##name arguments;                                                        \
	}
NV_CORE(NV_CALL)
NV_CORE2(NV_CALL)

static inline void nv_end(uint64_t id)
{
	nv_end_fn local = nv.end;

	if (local)
		local(id);
}

static void nv_first_end(uint64_t id)
{
	nv_init();
	nv_end(id);
}

static inline __attribute__((unused)) void nv_domain_end(const void *domain, uint64_t id)
{
	nv_domain_end_fn local = nv.domain_end;

	if (local)
		local(domain, id);
}

static void nv_first_domain_end(const void *domain, uint64_t id)
{
	nv_init();
	nv_domain_end(domain, id);
}

static inline __attribute__((unused)) void nv_mark(const char *message)
{
	nv_mark_fn local = nv.mark;

	if (local)
		local(message);
}

static void nv_first_mark(const char *message)
{
	nv_init();
	nv_mark(message);
}

/* ---- what the injection sees */

static int nv_get_functions(int module, wtnvtx_fn ***table, unsigned *size)
{
	if (module != WTNVTX_MODULE_CORE && module != WTNVTX_MODULE_CORE2)
		return 0;
	if (size)
		*size = WTNVTX_CORE_SIZE; /* both */
	if (table)
		*table = module == WTNVTX_MODULE_CORE ? nv.core : nv.core2;
	return 1;
}

static const void *nv_export_table(uint32_t id)
{
	static const struct wtnvtx_callbacks callbacks = {sizeof(callbacks), nv_get_functions};

	return id == WTNVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

/* ---- initialising */

static int nv_find_injection(void)
{
	const char *path = getenv(WTNVTX_ENVIRONMENT);
	wtnvtx_initialize_fn initialize = NULL;
	void *library = NULL;

	if (path) {
		library = dlopen(path, RTLD_LAZY);
		if (!library)
			return 0;
		*(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
		if (!initialize) {
			dlclose(library);
			return 0;
		}
	}
	if (!initialize)
		initialize = nv_static_injection;
	if (!initialize)
		return 0;
	if (initialize(nv_export_table))
		return 1;
	if (library)
		dlclose(library);
	return 0;
}

static void nv_init(void)
{
	unsigned fresh = 0;
	int is_injected;

	if (atomic_load(&nv.state) == 2)
		return;
	if (!atomic_compare_exchange_strong(&nv.state, &fresh, 1)) {
		while (atomic_load(&nv.state) != 2)
			sched_yield();
		return;
	}
	is_injected = nv_find_injection();
#define NV_CLEAR(number, name, result, parameters, arguments, none)                                \
	if (!is_injected || nv.name == nv_first_##name)                                            \
		nv.name = NULL;
	NV_CORE(NV_CLEAR)
	NV_CORE2(NV_CLEAR)
	if (!is_injected || nv.end == nv_first_end)
		nv.end = NULL;
	if (!is_injected || nv.domain_end == nv_first_domain_end)
		nv.domain_end = NULL;
	if (!is_injected || nv.mark == nv_first_mark)
		nv.mark = NULL;
	atomic_store(&nv.state, 2);
}

#endif /* NVTX_CLIENT_H */

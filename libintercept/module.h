/*
 * module.h - finds loaded libraries and symbols in them without dlopen and dlsym.
 *
 * The loader's own calls change the dlerror state and allocate, and their answer
 * depends on who asks. Here we only walk what dl_iterate_phdr shows, for as long as
 * it holds the loader's list still. Any thread; takes the loader's list lock.
 */
#ifndef WT_MODULE_H
#define WT_MODULE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_module {
	const char *name; /* the loader's path of it; valid during the walk */
	uintptr_t base; /* load address */
	uintptr_t begin; /* first and past-the-last mapped address */
	uintptr_t end;
	const ElfW(Dyn) * dynamic; /* NULL if it has none */
};

/* Fills *ret_module from what dl_iterate_phdr hands over. */
void wt_module_from_info(const struct dl_phdr_info *info, struct wt_module *ret_module);

/* The address of a function that the module exports; NULL if it has none of that name. */
void *wt_module_symbol(const struct wt_module *module, const char *symbol);

/* True if the file name of the module begins with `prefix`, as in "libcuda.so". */
bool wt_module_is(const struct wt_module *module, const char *prefix);

static inline bool wt_module_holds(const struct wt_module *module, const void *address)
{
	return (uintptr_t)address >= module->begin && (uintptr_t)address < module->end;
}

#endif /* WT_MODULE_H */

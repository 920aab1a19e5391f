/* libc.c - see libc.h. Any thread; takes the loader's list lock where it looks something up. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libintercept/libc.h"
#include "libintercept/module.h"

/* The sanitizers' own start-up comes here: what runs then must not be instrumented. */
#define WT_NO_SANITIZER __attribute__((no_sanitize("address", "thread", "undefined")))

/* The version that everything had when glibc was ported to the processor. */
#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define FIRST_SETNAME "GLIBC_2.12"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#define FIRST_SETNAME FIRST
#else
#error "libwavetap.so doesn't know the first version of glibc for this processor yet"
#endif

/* A symbol of libc at a version of our choice, as first_NAME; NULL where it isn't found at load. */
#define WEAK_AT(symbol, version)                                                                   \
	extern __typeof__(symbol) first_##symbol __attribute__((weak));                            \
	__asm__(".symver first_" #symbol ", " #symbol "@" version)

WEAK_AT(dlopen, FIRST);
WEAK_AT(dlvsym, FIRST);
WEAK_AT(pthread_create, FIRST);
WEAK_AT(pthread_attr_setstacksize, FIRST);
WEAK_AT(pthread_setname_np, FIRST_SETNAME);
WEAK_AT(glob, FIRST);

/* Another libc than glibc has no such function. */
extern __typeof__(gnu_get_libc_version) gnu_get_libc_version __attribute__((weak));

/* ---- by the list of loaded libraries */

static const char own_mark; /* lies in the library that this code is in */

struct search {
	const char *symbol;
	bool is_self_seen;
	void *found;
};

static int search_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	if (wt_module_holds(&module, &own_mark))
		search->is_self_seen = true;
	else if (search->is_self_seen)
		search->found = wt_module_symbol(&module, search->symbol);
	return search->found != NULL;
}

void *wt_libc_next(const char *symbol)
{
	struct search search = {.symbol = symbol};

	dl_iterate_phdr(search_module, &search);
	return search.found;
}

struct own_path {
	char *path;
	size_t bytes;
	bool is_found;
};

static int copy_own_path(struct dl_phdr_info *info, size_t size, void *data)
{
	struct own_path *own = data;
	struct wt_module module;
	int n;

	(void)size;
	wt_module_from_info(info, &module);
	if (!wt_module_holds(&module, &own_mark))
		return 0;
	n = snprintf(own->path, own->bytes, "%s", module.name);
	own->is_found = n > 0 && (size_t)n < own->bytes;
	return 1;
}

bool wt_libc_own_path(char *path, size_t bytes)
{
	struct own_path own = {.path = path, .bytes = bytes};

	dl_iterate_phdr(copy_own_path, &own);
	return own.is_found;
}

/* ---- moved by 2.34 */

/* What was bound at load, else what the process has loaded since. */
#define NOW(symbol)                                                                                \
	(first_##symbol ? first_##symbol                                                           \
	                : (__typeof__(symbol) *)wt_libc_next(#symbol))

WT_NO_SANITIZER void *wt_libc_dlvsym(void *handle, const char *symbol, const char *version)
{
	return first_dlvsym ? first_dlvsym(handle, symbol, version) : NULL;
}

void *wt_libc_dlopen(const char *path, int mode)
{
	__typeof__(dlopen) *open_library = NOW(dlopen);

	return open_library ? open_library(path, mode) : NULL;
}

int wt_libc_start_thread(const char *name, size_t stack_bytes, void *(*main)(void *),
                         void *argument)
{
	__typeof__(pthread_attr_setstacksize) *set_stack_size = NOW(pthread_attr_setstacksize);
	__typeof__(pthread_setname_np) *set_name = NOW(pthread_setname_np);
	__typeof__(pthread_create) *create = NOW(pthread_create);
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (!create || !set_stack_size)
		return ENOSYS;
	if (pthread_attr_init(&attr))
		return ENOMEM;
	set_stack_size(&attr, stack_bytes);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = create(&thread, &attr, main, argument);
	if (!err && set_name)
		set_name(thread, name);
	pthread_attr_destroy(&attr);
	return err;
}

/* ---- other names */

WT_NO_SANITIZER const char *wt_libc_version(void)
{
	return gnu_get_libc_version ? gnu_get_libc_version() : "";
}

/* Of 64-bit processors the kernel's struct stat is libc's. */
int wt_libc_stat(const char *path, struct stat *ret_stat)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret_stat, 0);
}

int wt_libc_glob(const char *pattern, int flags, int (*on_error)(const char *, int),
                 glob_t *ret_found)
{
	return first_glob ? first_glob(pattern, flags, on_error, ret_found) : GLOB_NOMATCH;
}

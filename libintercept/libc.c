/* libc.c - see libc.h. Any thread, also before any constructor ran. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libintercept/libc.h"
#include "libintercept/module.h"

/* The sanitizers' own start-up comes here: what runs then must not be instrumented, and calls
 * nothing that they intercept. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif
#define WT_NO_SANITIZER __attribute__((no_sanitize("address", "thread", "undefined")))

/* Of libc.so.6 in every glibc, but by its first version; NULL in another libc that has none. */
#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#else
#error "libwavetap.so doesn't know the first version of glibc for this processor yet"
#endif
extern __typeof__(glob) first_glob __attribute__((weak));
__asm__(".symver first_glob, glob@" FIRST);
/* NOLINTNEXTLINE(readability-redundant-declaration): made weak */
extern __typeof__(gnu_get_libc_version) gnu_get_libc_version __attribute__((weak));

/* ---- the list of loaded libraries, without a call */

/*
 * The program's own dynamic section has the address of the loader's list: what debuggers use. No
 * lock: libraries that came with the program never go, later ones are appended, and the search
 * stops where it finds.
 */
static const struct link_map *first_library(void)
{
	const ElfW(Phdr) *phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t base = 0;

	for (unsigned long i = 0; phdr && i < count; i++)
		if (phdr[i].p_type == PT_PHDR)
			base = (uintptr_t)phdr - phdr[i].p_vaddr;
	for (unsigned long i = 0; phdr && i < count; i++)
		if (phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(base + phdr[i].p_vaddr);
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
		if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr)
			return ((const struct r_debug *)dynamic->d_un.d_ptr)->r_map;
	return NULL;
}

/* _DYNAMIC is the dynamic section of the library that this code is in. */
static const struct link_map *own_library(void)
{
	const struct link_map *library = first_library();

	while (library && library->l_ld != _DYNAMIC)
		library = library->l_next;
	return library;
}

struct search {
	const char *symbol;
	bool is_after_ours;
	bool is_ours_seen;
	void *found;
};

/* One library: takes its function of that name, if it may. Not 0 when the search is over. */
static int search_module(struct search *search, const struct wt_module *module)
{
	if (module->dynamic == _DYNAMIC)
		search->is_ours_seen = true;
	else if (search->is_ours_seen || !search->is_after_ours)
		search->found = wt_module_symbol(module, search->symbol);
	return search->found != NULL;
}

static int search_info(struct dl_phdr_info *info, size_t size, void *search)
{
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	return search_module(search, &module);
}

/* The first function of that name in the order of the list, never ours. We are not on the program's
 * list in a namespace of our own (dlmopen): the loader then shows that one's. */
static void *find(const char *symbol, bool is_after_ours)
{
	struct search search = {.symbol = symbol, .is_after_ours = is_after_ours};
	const struct link_map *library = own_library() ? first_library() : NULL;

	if (!library)
		dl_iterate_phdr(search_info, &search);
	for (; library && !search.found; library = library->l_next) {
		struct wt_module module = {
		        .name = library->l_name,
		        .base = library->l_addr,
		        .begin = library->l_addr,
		        .end = UINTPTR_MAX,
		        .dynamic = library->l_ld,
		};

		search_module(&search, &module);
	}
	return search.found;
}

void *wt_libc_next(const char *symbol)
{
	return find(symbol, true);
}

const char *wt_libc_own_name(void)
{
	const struct link_map *library = own_library();

	return library && library->l_name && library->l_name[0] ? library->l_name : NULL;
}

static int copy_own_path(struct dl_phdr_info *info, size_t size, void *path)
{
	struct wt_module module;

	(void)size;
	wt_module_from_info(info, &module);
	if (module.dynamic != _DYNAMIC)
		return 0;
	return snprintf(path, PATH_MAX, "%s", module.name) > 0;
}

bool wt_libc_own_path(char path[PATH_MAX])
{
	return dl_iterate_phdr(copy_own_path, path) > 0;
}

/* ---- moved by 2.34 */

WT_NO_SANITIZER void *wt_libc_dlvsym(void *handle, const char *symbol, const char *version)
{
#if IS_SANITIZED
	return dlvsym(handle, symbol, version);
#else
	__typeof__(dlvsym) *look_up = (__typeof__(dlvsym) *)find("dlvsym", false);

	return look_up ? look_up(handle, symbol, version) : NULL;
#endif
}

void *wt_libc_dlopen(const char *path, int mode)
{
	__typeof__(dlopen) *open_library = (__typeof__(dlopen) *)find("dlopen", false);

	return open_library ? open_library(path, mode) : NULL;
}

int wt_libc_start_thread(const char *name, size_t stack_bytes, void *(*main)(void *),
                         void *argument)
{
	__typeof__(pthread_attr_setstacksize) *set_stack_size =
	        (__typeof__(pthread_attr_setstacksize) *)find("pthread_attr_setstacksize", false);
	__typeof__(pthread_setname_np) *set_name =
	        (__typeof__(pthread_setname_np) *)find("pthread_setname_np", false);
	__typeof__(pthread_create) *create =
	        (__typeof__(pthread_create) *)find("pthread_create", false);
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

pid_t wt_libc_pid(void)
{
	return (pid_t)syscall(SYS_getpid);
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

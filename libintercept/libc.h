/*
 * libc.h - libc as libwavetap.so sees it: one binary for every glibc from 2.17 on.
 *
 * A library that was linked with a new glibc asks for the newest version of each symbol, and a
 * process whose glibc lacks one of them does not start. Preloaded in an older container that
 * would be every program there, GPU or not. So nothing in this library may bind to a version
 * newer than WT_GLIBC_OLDEST; tests/unit/test_glibc.sh looks at the file. What would:
 *
 *   moved into libc.so.6 by 2.34 (dlopen, pthread_create and the like): before, they were in libdl
 *   and libpthread, which not every process has. Even a weak reference won't do: the linker notes
 *   in which file it saw the symbol, and before 2.30 the loader ends a process whose file of that
 *   name lacks it. So they are looked for in the libraries at hand, when they are needed.
 *
 *   new versions or other names behind an old name (stat, glob, strtol): see each below.
 *
 * Any thread, also before any constructor ran. Takes at most the loader's list lock.
 */
#ifndef WT_LIBC_H
#define WT_LIBC_H

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- moved by 2.34 */

/* NULL if there is no such function in this process, as well as where it says so itself. */
void *wt_libc_dlvsym(void *handle, const char *symbol, const char *version);
void *wt_libc_dlopen(const char *path, int mode);

/* A detached thread; the signal mask is the caller's. 0 or an error number. */
int wt_libc_start_thread(const char *name, size_t stack_bytes, void *(*main)(void *),
                         void *argument);

/* The next function of that name in a library that comes after ours; NULL if there is none. */
void *wt_libc_next(const char *symbol);

/* The loader's path of the library that this code is in; false if it can't be told. */
bool wt_libc_own_path(char path[PATH_MAX]);

/* The same without a copy or a call; for good, since we are never unloaded. NULL: not on the list. */
const char *wt_libc_own_name(void);

/* ---- other names */

/* glibc's version, "2.36"; "" elsewhere. */
const char *wt_libc_version(void);

/* Before 2.25 getpid() remembered: in the child of a raw clone, its parent. */
pid_t wt_libc_pid(void);

/* A symbol of its own only since 2.33. 0, or -1 and errno. */
int wt_libc_stat(const char *path, struct stat *ret_stat);

/* 2.27 made a new version of it, for dangling links: no matter here. */
int wt_libc_glob(const char *pattern, int flags, int (*on_error)(const char *, int),
                 glob_t *ret_found);

/* The headers of 2.38 and newer make __isoc23_strtol of strtol, and of atoi. */
long wt_libc_strtol(const char *text, char **end, int base) __asm__("strtol");
unsigned long long wt_libc_strtoull(const char *text, char **end, int base) __asm__("strtoull");

#endif /* WT_LIBC_H */

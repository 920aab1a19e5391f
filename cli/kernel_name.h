/*
 * kernel_name.h - GPU kernel names that a person can read in one line.
 *
 * Three steps: wt_kernel_name_demangle() gives the C++ text, _shorten() the
 * part of it that tells kernels apart, _shorten_all() does both for the kernels
 * of one table and sees to it that different kernels stay different. Names come
 * from the recorded program: any bytes, any length. Text is passed through as
 * it is; escape it for a terminal (cli/text.h) or quote it for a file.
 *
 * Threads: all from one thread, for the C++ runtime's demangler is looked up on
 * first need. May block in dlopen then, otherwise never.
 */
#ifndef WT_CLI_KERNEL_NAME_H
#define WT_CLI_KERNEL_NAME_H

#include <stddef.h>

/* How much wt_kernel_name_shorten() keeps. */
enum wt_kernel_name_detail {
	WT_KERNEL_NAME_BRIEF, /* what usually tells kernels apart: functor, data type, tile */
	WT_KERNEL_NAME_ARGUMENTS, /* all template arguments of the kernel, theirs in brief */
	WT_KERNEL_NAME_NESTED, /* all template arguments; known namespaces still left out */
	WT_KERNEL_NAME_FULL, /* the demangled name, untouched */
};

/*
 * The demangled form of `name`, or a copy of it where it is not a C++ name or
 * can't be demangled. malloc'd, the caller frees it; NULL when out of memory.
 */
char *wt_kernel_name_demangle(const char *name);

/*
 * The name of the function alone, without result, namespaces, arguments and parameters: what ncu's
 * --kernel-name compares by default. malloc'd, the caller frees it; NULL when out of memory.
 */
char *wt_kernel_name_function(const char *demangled);

/*
 * Why names stayed mangled so far, or NULL if none did. One line without a full
 * stop, static; show it once, after the names.
 */
const char *wt_kernel_name_problem(void);

/*
 * Short form of a demangled name. Names that are not C++ (Triton's, extern "C")
 * are kept, but for cuBLAS's nvjet_* and cuDNN's generated ones, whose fields
 * are spelled out. malloc'd, the caller frees it; NULL when out of memory.
 */
char *wt_kernel_name_shorten(const char *demangled, enum wt_kernel_name_detail detail);

/*
 * Short forms of `count` raw names (mangled or not), in their order. Equal names
 * get equal text, different names different text: more is kept of those that
 * would read the same, and where that doesn't help (two anonymous namespaces)
 * the second in the list is marked "#2". *ret_names and each element are
 * malloc'd: wt_kernel_name_free_all() them. 0 or -ENOMEM.
 */
int wt_kernel_name_shorten_all(const char *const *names, size_t count, char ***ret_names);

/* Frees what wt_kernel_name_shorten_all() made; NULL is fine. */
void wt_kernel_name_free_all(char **names, size_t count);

#endif /* WT_CLI_KERNEL_NAME_H */

/*
 * demangle.h - Itanium C++ names to text, bounded in time and memory.
 *
 * The C++ runtime's own demangler refuses names of more than 1,024 characters
 * (CUTLASS and flash attention pass that easily) and lets a short hostile name
 * grow to gigabytes of text. This one knows the part of the grammar that
 * kernel names use, takes any length, and gives up at fixed limits instead.
 *
 * Threads: no state, call from any. Never blocks.
 */
#ifndef WT_CLI_DEMANGLE_H
#define WT_CLI_DEMANGLE_H

#include <stdbool.h>

/*
 * Text of `mangled`, spelled as c++filt does, in *ret_text (malloc'd: the
 * caller frees it). `name_only` leaves out return type and parameters and does
 * not read that far, so it can succeed where the whole fails. 0, -EINVAL when the name is not a whole mangled name of the
 * grammar known here, -E2BIG beyond the limits, -ENOMEM. *ret_text is untouched
 * on failure.
 */
int wt_demangle(const char *mangled, bool name_only, char **ret_text);

#endif /* WT_CLI_DEMANGLE_H */

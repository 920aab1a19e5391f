/*
 * expression.h - extended regular expressions that users type to name kernels.
 *
 * The C library's regcomp() expands repetitions while it compiles: forty plus signs in a row, or
 * nested ones, take all memory. Expressions whose expansion is out of proportion are refused before.
 * Pure but for the C library's allocations; any thread.
 */
#ifndef WT_CLI_EXPRESSION_H
#define WT_CLI_EXPRESSION_H

#include <regex.h>
#include <stddef.h>

/* Compiles `word` (REG_EXTENDED | REG_NOSUB); the caller frees it with regfree(). 0, or -EINVAL
 * with what is wrong in `why`, without a line's end. */
int wt_expression_compile(regex_t *ret_regex, const char *word, char *why, size_t why_bytes);

#endif /* WT_CLI_EXPRESSION_H */

/*
 * rates_print.h - physical SMs as text. Single-threaded; blocks as the FILE does.
 */
#ifndef WT_CLI_RATES_PRINT_H
#define WT_CLI_RATES_PRINT_H

#include <stdio.h>

#include "cli/rates.h"
#include "cli/text.h"

/*
 * How many warps began and instructions ran on each, from the least to the most, and a strip with a
 * character an SM. Goes on with the line that the caller began.
 */
void wt_rates_print_sms(FILE *out, const struct wt_text_terminal *terminal,
                        const struct wt_rates_sm *sms, size_t count, int64_t launches);

#endif /* WT_CLI_RATES_PRINT_H */

/*
 * fold.c - see fold.h. Here only what counts samples: it attributes nothing. Replaced by folding.
 */
#include "analysis/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wt_fold {
	int64_t samples;
};

int wt_fold_create(const struct wt_fold_options *options, struct wt_fold **ret_fold)
{
	(void)options;
	*ret_fold = calloc(1, sizeof(**ret_fold));
	return *ret_fold ? 0 : -ENOMEM;
}

void wt_fold_destroy(struct wt_fold *fold)
{
	free(fold);
}

int wt_fold_add(struct wt_fold *fold, const struct wt_fold_kernel *kernels, size_t kernel_count,
                const struct wt_fold_sample *samples, size_t sample_count)
{
	(void)kernels;
	(void)kernel_count;
	(void)samples;
	fold->samples += (int64_t)sample_count;
	return 0;
}

int wt_fold_solve(struct wt_fold *fold)
{
	(void)fold;
	return 0;
}

void wt_fold_summary(const struct wt_fold *fold, struct wt_fold_summary *ret_summary)
{
	*ret_summary = (struct wt_fold_summary){.state = WT_FOLD_NO_SAMPLES,
	                                        .samples_skipped = fold->samples};
}

void wt_fold_result(const struct wt_fold *fold, uint32_t config, struct wt_fold_result *ret_result)
{
	(void)fold;
	(void)config;
	memset(ret_result, 0, sizeof(*ret_result));
}

void wt_fold_profile(const struct wt_fold *fold, uint32_t config, double *active_sms,
                     double *error_sms)
{
	(void)fold;
	(void)config;
	(void)active_sms;
	(void)error_sms;
}

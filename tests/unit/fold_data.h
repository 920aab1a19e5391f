/*
 * fold_data.h - kernels and samples of recorded runs, tests/data/fold: for tests of folding.
 */
#ifndef WT_TEST_FOLD_DATA_H
#define WT_TEST_FOLD_DATA_H

#include <stddef.h>

#include "analysis/fold.h"

struct fold_data {
	struct wt_fold_kernel *kernels; /* by start */
	size_t kernel_count;
	struct wt_fold_sample *samples;
	size_t sample_count;
	char (*configs)[96]; /* what tells configurations apart, as in the file */
	size_t config_count;
};

/* `name`: "mix50us" or "train-b32". Ends the program where a file can't be read. */
void fold_data_read(struct fold_data *data, const char *name);
void fold_data_free(struct fold_data *data);

#endif /* WT_TEST_FOLD_DATA_H */

/*
 * fold_data.c - see fold_data.h. Files are CSV, gzipped, with a line of headings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "tests/unit/fold_data.h"

#define SMS 132
#define FOLD_LINE_MAX 512

static gzFile open_csv(const char *name, const char *part, char *line)
{
	const char *top = getenv("top_srcdir");
	char path[1024];
	gzFile file;

	snprintf(path, sizeof(path), "%s/tests/data/fold/%s-%s.csv.gz", top ? top : ".", name,
	         part);
	file = gzopen(path, "rb");
	if (!file || !gzgets(file, line, FOLD_LINE_MAX)) {
		printf("Bail out! can't read %s\n", path);
		exit(1);
	}
	return file;
}

static void *grow(void *items, size_t count, size_t size)
{
	if (count & (count - 1))
		return items;
	items = realloc(items, (count ? 2 * count : 1) * size);
	if (!items)
		abort();
	return items;
}

static uint32_t config_of(struct fold_data *data, const char *text)
{
	for (size_t i = 0; i < data->config_count; i++)
		if (!strcmp(data->configs[i], text))
			return (uint32_t)i;
	data->configs = grow(data->configs, data->config_count, sizeof(*data->configs));
	snprintf(data->configs[data->config_count], sizeof(*data->configs), "%s", text);
	return (uint32_t)data->config_count++;
}

static int compare(const void *left, const void *right)
{
	const struct wt_fold_kernel *a = left, *b = right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

void fold_data_read(struct fold_data *data, const char *name)
{
	char line[FOLD_LINE_MAX], *end;
	gzFile file = open_csv(name, "kernels", line);

	*data = (struct fold_data){0};
	while (gzgets(file, line, sizeof(line))) {
		struct wt_fold_kernel kernel = {0};

		line[strcspn(line, "\r\n")] = 0;
		kernel.start_ns = strtoll(line, &end, 10);
		kernel.end_ns = strtoll(end + 1, &end, 10);
		kernel.config = config_of(data, end + 1);
		data->kernels = grow(data->kernels, data->kernel_count, sizeof(kernel));
		data->kernels[data->kernel_count++] = kernel;
	}
	gzclose(file);
	qsort(data->kernels, data->kernel_count, sizeof(*data->kernels), compare);

	file = open_csv(name, "samples", line);
	while (gzgets(file, line, sizeof(line))) {
		/* active, then warps if there are five columns or more, then elapsed */
		double active, second, third;
		struct wt_fold_sample sample = {0};
		bool has_warps = strchr(line, ',') && !strcmp(name, "train-b32");

		sample.start_ns = strtoll(line, &end, 10);
		sample.end_ns = strtoll(end + 1, &end, 10);
		active = strtod(end + 1, &end);
		second = strtod(end + 1, &end);
		third = has_warps ? strtod(end + 1, &end) : second;
		if (third < 1)
			third = 1;
		sample.mean[WT_FOLD_ACTIVE] = SMS * active / third;
		sample.mean[WT_FOLD_WARPS] = has_warps ? second / third : -1;
		sample.mean[WT_FOLD_TENSOR] = sample.mean[WT_FOLD_DRAM] = -1;
		sample.mean[WT_FOLD_CLOCK] = third / (double)(sample.end_ns - sample.start_ns);
		data->samples = grow(data->samples, data->sample_count, sizeof(sample));
		data->samples[data->sample_count++] = sample;
	}
	gzclose(file);
}

void fold_data_free(struct fold_data *data)
{
	free(data->kernels);
	free(data->samples);
	free(data->configs);
}

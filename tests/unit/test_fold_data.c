/*
 * test_fold_data.c - folding of recorded runs (tests/data/fold) against truth, a reference and what
 * was worked out by hand.
 */
#include <math.h>

#include "tests/tap.h"
#include "tests/unit/fold_data.h"

#define SMS 132
#define CONFIGS_MAX 32

struct known {
	char name[16]; /* grid */
	double truth_sm_us; /* per launch */
	double reference_sm_us;
	double profile[64];
	uint32_t bins;
};

static FILE *open_text(const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/data/fold/%s", top ? top : ".", name);
	file = fopen(path, "r");
	if (!file) {
		printf("Bail out! can't read %s\n", path);
		exit(1);
	}
	return file;
}

static struct known *find(struct known *known, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(known[i].name, name))
			return &known[i];
	return NULL;
}

/* grid,threads,cycles,slow_every,slow_times,true_dur_us,true_busy_sm_us */
static size_t read_truth(struct known *known)
{
	FILE *file = open_text("mix50us-truth.csv");
	size_t count = 0;
	char line[512];

	while (count < CONFIGS_MAX && fgets(line, sizeof(line), file)) {
		struct known one = {.bins = 0};

		if (sscanf(line, "%15[0-9],%*d,%*d,%*d,%*d,%*f,%lf", one.name, &one.truth_sm_us) ==
		    2)
			known[count++] = one;
	}
	fclose(file);
	return count;
}

/* What fold_reference.py printed. */
static double read_reference(struct known *known, size_t count)
{
	FILE *file = open_text("mix50us-reference.txt");
	double residual = -1;
	char line[512], name[16];

	while (fgets(line, sizeof(line), file)) {
		double busy, profile;
		struct known *one;
		char *at;
		int used;

		sscanf(line, "offset %*d ns from first edges, residual %lf", &residual);
		if (sscanf(line, "grid %15s %*f us busy %lf SM-us", name, &busy) != 2)
			continue;
		one = find(known, count, name);
		at = strchr(line, '%');
		if (!one || !at)
			continue;
		one->reference_sm_us = busy;
		for (at++; sscanf(at, "%lf%n", &profile, &used) == 1 && one->bins < 64; at += used)
			one->profile[one->bins++] = profile;
	}
	fclose(file);
	return residual;
}

/* All at once, or as a sampler's stretches of `part` samples come. */
static struct wt_fold *fold_all(const struct fold_data *data, size_t part,
                                const struct wt_fold_options *options)
{
	const int64_t margin_ns = 60000;
	struct wt_fold *fold;
	size_t first = 0, last = 0;

	if (wt_fold_create(options, &fold))
		abort();
	for (size_t i = 0; i < data->sample_count; i += part) {
		size_t count = data->sample_count - i < part ? data->sample_count - i : part;
		int64_t from_ns = data->samples[i].start_ns - margin_ns;
		int64_t to_ns = data->samples[i + count - 1].end_ns + margin_ns;

		while (first < data->kernel_count && data->kernels[first].end_ns < from_ns)
			first++;
		while (last < data->kernel_count && data->kernels[last].start_ns <= to_ns)
			last++;
		if (wt_fold_add(fold, data->kernels + first, last - first, data->samples + i,
		                count))
			abort();
	}
	if (wt_fold_solve(fold))
		abort();
	return fold;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double per_launch_sm_us(const struct wt_fold_result *result)
{
	return result->active_sms * (double)result->time_ns / 1e3 / (double)result->launches;
}

/* The largest difference between profiles, and its square mean. */
static double compare_profile(const struct known *known, const double *active, uint32_t bins,
                              double *square)
{
	double most = 0;

	for (uint32_t i = 0; i < bins; i++) {
		double differ = fabs(active[i] - known->profile[i]);

		if (differ > most)
			most = differ;
		*square += differ * differ;
	}
	return most;
}

/* Twelve shapes in random order, each with its truth. */
static void check_mix(size_t part)
{
	struct known known[CONFIGS_MAX] = {{{0}, 0, 0, {0}, 0}};
	size_t count = read_truth(known), bins = 0, within = 0;
	double residual = read_reference(known, count), errors[CONFIGS_MAX], square = 0, most = 0;
	struct wt_fold_options options = {.sm_count = SMS, .is_nearest = true};
	struct wt_fold_summary summary;
	struct fold_data data;
	struct wt_fold *fold;

	fold_data_read(&data, "mix50us");
	fold = fold_all(&data, part, &options);
	wt_fold_summary(fold, &summary);
	printf("# mix50us by %zu: offset %.0f +- %.0f ns, residual %.5f, %zu bytes\n", part,
	       summary.offset_ns, summary.offset_error_ns, summary.residual, summary.bytes);
	is_i64(count, 12, "twelve shapes have a truth");
	is_i64(summary.state, WT_FOLD_OK, "mix50us is explained");
	is_near(summary.residual, residual, 0.0003, "with the reference's residual");
	is_i64(data.config_count, count, "and has as many shapes");
	for (size_t i = 0; i < data.config_count; i++) {
		struct known *one = find(known, count, data.configs[i]);
		double active[64], error[64];
		struct wt_fold_result result;

		wt_fold_result(fold, (uint32_t)i, &result);
		wt_fold_profile(fold, (uint32_t)i, active, error);
		errors[i] = fabs(per_launch_sm_us(&result) / one->truth_sm_us - 1);
		printf("# grid %s: %.1f SM-us, truth %.1f (%.2f %%), reference %.1f, error %.2f "
		       "%%\n",
		       one->name, per_launch_sm_us(&result), one->truth_sm_us, 100 * errors[i],
		       one->reference_sm_us, 100 * result.error_sms / result.active_sms);
		within += errors[i] <= result.error_sms / result.active_sms;
		ok(result.verdict == WT_FOLD_MEASURED && result.launches == 2000,
		   "grid %s: all launches, measured", one->name);
		ok(errors[i] < 0.025, "grid %s within 2.5 %% of truth", one->name);
		is_near(per_launch_sm_us(&result), one->reference_sm_us,
		        0.004 * one->reference_sm_us, "and within 0.4 % of the reference");
		is_i64(result.bins, one->bins, "with as many bins");
		most = fmax(most, compare_profile(one, active, result.bins, &square));
		bins += result.bins;
	}
	qsort(errors, count, sizeof(*errors), compare_doubles);
	printf("# median %.2f %%, profiles differ by %.1f SMs, %.1f at most\n",
	       50 * (errors[5] + errors[6]), sqrt(square / (double)bins), most);
	ok(within + 1 >= count, "%zu of %zu are within their errors", within, count);
	ok((errors[5] + errors[6]) / 2 < 0.01, "half of them within 1 %% of truth");
	if (part >= data.sample_count) {
		ok(sqrt(square / (double)bins) < 2, "profiles equal the reference's within 2 SMs");
		ok(most < 6, "no bin by more than 6");
	}
	wt_fold_destroy(fold);
	fold_data_free(&data);
}

/* By the records: time of kernels. */
static double kernel_ns(const struct fold_data *data)
{
	double sum = 0;

	for (size_t i = 0; i < data->kernel_count; i++)
		sum += (double)(data->kernels[i].end_ns - data->kernels[i].start_ns);
	return sum;
}

static void check_training(size_t part)
{
	double all_sm_ns, active_sm_ns = 0, idle_sm_ns = 0, worst_sm_ns = 0, wall_sm_ns = 0;
	struct wt_fold_result worst = {0};
	struct wt_fold_summary summary;
	struct fold_data data;
	const char *name = "";
	struct wt_fold *fold;

	fold_data_read(&data, "train-b32");
	fold = fold_all(&data, part, NULL);
	wt_fold_summary(fold, &summary);
	printf("# train-b32 by %zu: offset %.0f +- %.0f ns, residual %.5f, %zu unknowns, %zu "
	       "bytes\n",
	       part, summary.offset_ns, summary.offset_error_ns, summary.residual, summary.unknowns,
	       summary.bytes);
	is_i64(summary.state, WT_FOLD_OK, "the training run is explained");
	ok(summary.residual < 0.001, "to a residual under 0.1 %%");
	all_sm_ns = SMS * kernel_ns(&data);
	for (size_t i = 0; i < data.config_count; i++) {
		struct wt_fold_result result;
		double idle;

		wt_fold_result(fold, (uint32_t)i, &result);
		idle = (SMS - result.active_sms) * (double)result.time_ns;
		active_sm_ns += result.active_sms * (double)result.time_ns;
		idle_sm_ns += idle;
		if (idle > worst_sm_ns) {
			worst_sm_ns = idle;
			worst = result;
			name = data.configs[i];
		}
	}
	wall_sm_ns = SMS * (double)(data.samples[data.sample_count - 1].end_ns -
	                            data.samples[0].start_ns);
	printf("# SMs active %.1f %%, in-kernel idle %.1f %%, worst %s: %.1f SMs, %.1f %%\n",
	       100 * summary.active_sm_ns / wall_sm_ns, 100 * idle_sm_ns / all_sm_ns, name,
	       worst.active_sms, 100 * worst_sm_ns / all_sm_ns);
	is_near(100 * summary.active_sm_ns / wall_sm_ns, 34.3, 0.1, "SMs were active for 34.3 %");
	is_near(100 * idle_sm_ns / all_sm_ns, 21, 0.6, "21 % of the kernels' SM-time is idle");
	is_near(active_sm_ns / summary.active_sm_ns, 1, 0.01, "kernels hold all activity");
	ok(!strncmp(name, "16,1,1,1024,", 12), "worst: GammaBetaBackward, 16 blocks");
	is_near(worst.active_sms, 15, 0.3, "with 15 SMs active");
	is_near((double)worst.time_ns / (double)worst.launches / 1e3, 38.4, 0.1, "for 38.4 us");
	is_near(100 * worst_sm_ns / all_sm_ns, 6.2, 0.1, "loses 6.2 % of all kernel SM-time");
	wt_fold_destroy(fold);
	fold_data_free(&data);
}

int main(void)
{
	check_mix(1000000);
	check_mix(997);
	check_training(1500);
	return tap_done();
}

/*
 * fold_sim.c - see fold_sim.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/fold_sim.h"

static void *grow(void *items, size_t count, size_t size)
{
	if (count & (count - 1))
		return items;
	items = realloc(items, (count ? 2 * count : 1) * size);
	if (!items)
		abort();
	return items;
}

void sim_init(struct fold_sim *sim, size_t configs, uint64_t seed)
{
	*sim = (struct fold_sim){.sms = 132,
	                         .random = seed * 2 + 1,
	                         .config_count = configs,
	                         .record_noise_ns = 30,
	                         .sample_noise = 0.2};
	sim->configs = calloc(configs, sizeof(*sim->configs));
	if (!sim->configs)
		abort();
}

void sim_free(struct fold_sim *sim)
{
	free(sim->configs);
	free(sim->kernels);
	free(sim->pieces);
	free(sim->samples);
}

double sim_uniform(struct fold_sim *sim)
{
	sim->random ^= sim->random << 13;
	sim->random ^= sim->random >> 7;
	sim->random ^= sim->random << 17;
	return (double)(sim->random >> 11) / 9007199254740992.0;
}

double sim_normal(struct fold_sim *sim)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += sim_uniform(sim);
	return sum;
}

void sim_shape(struct fold_sim *sim, size_t config, int parts)
{
	struct sim_config *shape = &sim->configs[config];
	double full = sim_uniform(sim) < 0.5 ? sim->sms : sim->sms * (0.1 + 0.9 * sim_uniform(sim));
	int tail = (int)(sim_uniform(sim) * parts);

	shape->parts = parts;
	for (int i = 0; i < parts; i++) {
		if (i > parts - 1 - tail / 2)
			full *= 0.3 + 0.6 * sim_uniform(sim);
		shape->active[i] = full;
	}
}

static void add_piece(struct fold_sim *sim, double start_ns, double end_ns, double active)
{
	sim->pieces = grow(sim->pieces, sim->piece_count, sizeof(*sim->pieces));
	sim->pieces[sim->piece_count++] = (struct sim_piece){start_ns, end_ns, active};
}

void sim_record(struct fold_sim *sim, const struct wt_fold_kernel *kernel)
{
	sim->kernels = grow(sim->kernels, sim->kernel_count, sizeof(*kernel));
	sim->kernels[sim->kernel_count++] = *kernel;
}

double sim_launch(struct fold_sim *sim, size_t config, double start_ns, double duration_ns)
{
	struct sim_config *shape = &sim->configs[config];
	double factor = 1 + shape->varies * sim_normal(sim), part_ns = duration_ns / shape->parts;
	struct wt_fold_kernel kernel;

	for (int i = 0; i < shape->parts; i++) {
		double active = fmin(sim->sms, fmax(0, shape->active[i] * factor));

		add_piece(sim, start_ns + i * part_ns, start_ns + (i + 1) * part_ns, active);
		shape->active_sm_ns += active * part_ns;
	}
	shape->time_ns += duration_ns + sim->ramp_ns;
	shape->launches++;
	kernel.start_ns = (int64_t)(start_ns - sim->ramp_ns / 2 +
	                            sim->record_noise_ns * (sim_uniform(sim) - 0.5));
	kernel.end_ns = (int64_t)(start_ns + duration_ns + sim->ramp_ns / 2 +
	                          sim->record_noise_ns * (sim_uniform(sim) - 0.5));
	kernel.config = (uint32_t)config;
	sim_record(sim, &kernel);
	return start_ns + duration_ns;
}

void sim_foreign(struct fold_sim *sim, double start_ns, double end_ns, double active)
{
	add_piece(sim, start_ns, end_ns, active);
}

double sim_truth(const struct fold_sim *sim, size_t config)
{
	return sim->configs[config].active_sm_ns / sim->configs[config].time_ns;
}

/* Adds pieces to the samples first..: in true time, which starts[] has. */
static void integrate(struct fold_sim *sim, const double *starts, size_t first)
{
	size_t count = sim->sample_count - first;

	for (size_t p = 0; p < sim->piece_count; p++) {
		const struct sim_piece *piece = &sim->pieces[p];
		size_t low = 0, high = count;

		while (low < high) { /* the first sample that ends after its start */
			size_t middle = (low + high) / 2;

			if (starts[middle + 1] <= piece->start_ns)
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < count && starts[low] < piece->end_ns; low++) {
			double from = fmax(starts[low], piece->start_ns);
			double to = fmin(starts[low + 1], piece->end_ns);

			if (to > from)
				sim->samples[first + low].mean[WT_FOLD_ACTIVE] +=
				        piece->active * (to - from) /
				        (starts[low + 1] - starts[low]);
		}
	}
}

void sim_sample(struct fold_sim *sim, double start_ns, double end_ns, double interval_ns,
                double other_ns, double jitter)
{
	size_t first = sim->sample_count, room = 0;
	double *starts = NULL, now_ns = start_ns, offset_ns = sim->offset_ns;

	for (;; room++) {
		double length = room & 1 && other_ns > 0 ? other_ns : interval_ns;

		starts = grow(starts, room, sizeof(*starts));
		now_ns = floor(now_ns);
		starts[room] = now_ns;
		length *= 1 + jitter * (sim_uniform(sim) - 0.5);
		if (now_ns + length > end_ns)
			break;
		now_ns += length;
	}
	for (size_t i = 0; i < room; i++) {
		struct wt_fold_sample sample = {.mean = {0, -1, -1, -1, -1}};

		/* The sampler's clock: ends are the next one's starts. */
		sample.start_ns = (int64_t)(starts[i] - offset_ns - sim->drift * starts[i]);
		sample.end_ns = (int64_t)(starts[i + 1] - offset_ns - sim->drift * starts[i + 1]);
		sim->samples = grow(sim->samples, sim->sample_count, sizeof(sample));
		sim->samples[sim->sample_count++] = sample;
	}
	integrate(sim, starts, first);
	for (size_t i = first; i < sim->sample_count; i++) {
		double *active = &sim->samples[i].mean[WT_FOLD_ACTIVE];

		if (*active > 0)
			*active = fmax(0, *active + sim->sample_noise * sim_normal(sim));
	}
	free(starts);
}

static int compare(const void *left, const void *right)
{
	const struct wt_fold_kernel *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->config < b->config ? -1 : a->config > b->config;
}

int sim_fold(struct fold_sim *sim, struct wt_fold *fold, size_t part)
{
	const int64_t margin_ns = 200000;
	size_t first = 0, last = 0, end;
	int err = 0;

	if (sim->kernel_count)
		qsort(sim->kernels, sim->kernel_count, sizeof(*sim->kernels), compare);
	for (size_t i = 0; i < sim->sample_count && !err; i = end) {
		int64_t from_ns = sim->samples[i].start_ns - margin_ns, to_ns;

		for (end = i + 1; end < sim->sample_count && end - i < part; end++)
			if (sim->samples[end].start_ns > sim->samples[end - 1].end_ns)
				break; /* a hole */
		to_ns = sim->samples[end - 1].end_ns + margin_ns;
		while (first < sim->kernel_count && sim->kernels[first].end_ns < from_ns)
			first++;
		while (last < sim->kernel_count && sim->kernels[last].start_ns <= to_ns)
			last++;
		err = wt_fold_add(fold, sim->kernels + first, last - first, sim->samples + i,
		                  end - i);
	}
	return err;
}

/* ---- what came out */

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

struct sim_outcome sim_look(const char *name, const struct fold_sim *sim,
                            const struct wt_fold *fold)
{
	struct sim_outcome outcome = {.configs = sim->config_count};
	double *differ = calloc(2 * sim->config_count + 1, sizeof(*differ));
	double *error = differ + sim->config_count;

	wt_fold_summary(fold, &outcome.summary);
	for (size_t i = 0; i < sim->config_count; i++) {
		struct wt_fold_result result;
		double miss;

		wt_fold_result(fold, (uint32_t)i, &result);
		outcome.inseparable += result.verdict == WT_FOLD_INSEPARABLE;
		outcome.few += result.verdict == WT_FOLD_FEW || result.verdict == WT_FOLD_BLURRED;
		if (result.verdict != WT_FOLD_MEASURED)
			continue;
		miss = fabs(result.active_sms - sim_truth(sim, i));
		differ[outcome.measured] = miss / sim_truth(sim, i);
		error[outcome.measured++] = result.error_sms / sim_truth(sim, i);
		outcome.within += miss <= result.error_sms;
		outcome.worst = fmax(outcome.worst, miss / result.error_sms);
	}
	outcome.median_differ = median(differ, outcome.measured);
	outcome.median_error = median(error, outcome.measured);
	free(differ);
	printf("# %s: state %d, offset %.0f +- %.0f (true %.0f), residual %.5f; of %zu %zu "
	       "measured, %zu "
	       "inseparable, %zu few; within %zu, median %.2f %%, error %.2f %%, worst %.1f; %zu "
	       "unknowns, %zu pairs, %zu bytes\n",
	       name, (int)outcome.summary.state, outcome.summary.offset_ns,
	       outcome.summary.offset_error_ns, sim->offset_ns, outcome.summary.residual,
	       outcome.configs, outcome.measured, outcome.inseparable, outcome.few, outcome.within,
	       100 * outcome.median_differ, 100 * outcome.median_error, outcome.worst,
	       outcome.summary.unknowns, outcome.summary.pairs, outcome.summary.bytes);
	return outcome;
}

struct wt_fold *sim_fold_new(const struct wt_fold_options *options)
{
	struct wt_fold *fold;

	if (wt_fold_create(options, &fold))
		abort();
	return fold;
}

struct wt_fold *sim_fold_all(const char *name, struct fold_sim *sim, size_t part,
                             const struct wt_fold_options *options, struct sim_outcome *ret_outcome)
{
	struct wt_fold *fold = sim_fold_new(options);

	if (sim_fold(sim, fold, part) || wt_fold_solve(fold))
		abort();
	*ret_outcome = sim_look(name, sim, fold);
	return fold;
}

void sim_shapes(struct fold_sim *sim)
{
	for (size_t i = 0; i < sim->config_count; i++)
		sim_shape(sim, i, 2 + (int)(i % 6));
}

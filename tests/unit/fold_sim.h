/*
 * fold_sim.h - a program of kernels and what a sampler sees of it, for tests of folding: a generator
 * and an account of its own, that share nothing with analysis/.
 *
 * A configuration has a course: SMs active by tenths of its duration, say, and every launch may differ.
 * Each launch is kept as pieces of constant activity; samples and truth are sums over pieces.
 */
#ifndef WT_TEST_FOLD_SIM_H
#define WT_TEST_FOLD_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/fold.h"

#define SIM_PARTS_MAX 16

struct sim_config {
	int parts;
	double active[SIM_PARTS_MAX];
	double varies; /* by launch: share, standard deviation */
	double launches, time_ns, active_sm_ns; /* truth */
};

struct sim_piece {
	double start_ns, end_ns, active;
};

struct fold_sim {
	double sms;
	uint64_t random;
	struct sim_config *configs;
	size_t config_count;
	struct wt_fold_kernel *kernels; /* recorded */
	size_t kernel_count;
	struct sim_piece *pieces;
	size_t piece_count;
	struct wt_fold_sample *samples;
	size_t sample_count;
	double record_noise_ns; /* of starts and ends */
	double ramp_ns; /* by which records are longer than activity, half of it at each end */
	double sample_noise; /* SMs */
	double offset_ns, drift; /* kernel clock less sample clock; ns per ns */
};

void sim_init(struct fold_sim *sim, size_t configs, uint64_t seed);
void sim_free(struct fold_sim *sim);
double sim_uniform(struct fold_sim *sim); /* [0, 1) */
double sim_normal(struct fold_sim *sim);
/* A course of waves with a tail, as random as may be. */
void sim_shape(struct fold_sim *sim, size_t config, int parts);
/* Returns its end. */
double sim_launch(struct fold_sim *sim, size_t config, double start_ns, double duration_ns);
/* A kernel's record alone. */
void sim_record(struct fold_sim *sim, const struct wt_fold_kernel *kernel);
/* Activity that is no kernel. */
void sim_foreign(struct fold_sim *sim, double start_ns, double end_ns, double active);
/* Samples of [start, end) of interval_ns, other_ns, interval_ns ...; 0: the same. jitter: share. */
void sim_sample(struct fold_sim *sim, double start_ns, double end_ns, double interval_ns,
                double other_ns, double jitter);
/* Sorts kernels, then adds all samples, `part` at a time, with the kernels about them. 0 or the error. */
int sim_fold(struct fold_sim *sim, struct wt_fold *fold, size_t part);
double sim_truth(const struct fold_sim *sim, size_t config); /* SMs active */

/* What came out, against truth. */
struct sim_outcome {
	struct wt_fold_summary summary;
	size_t configs, measured, within, inseparable, few;
	double median_differ, median_error; /* of measured ones, share of truth */
	double worst; /* difference over error */
};

/* Prints a line too. */
struct sim_outcome sim_look(const char *name, const struct fold_sim *sim,
                            const struct wt_fold *fold);

/* Those that can't fail in a test: else it ends. NULL: the usual options. The caller destroys the fold. */
struct wt_fold *sim_fold_new(const struct wt_fold_options *options);
/* Folds all of it, `part` samples at a time, solves, and looks. */
struct wt_fold *sim_fold_all(const char *name, struct fold_sim *sim, size_t part,
                             const struct wt_fold_options *options,
                             struct sim_outcome *ret_outcome);
/* A shape for each configuration, of 2 to 7 parts. */
void sim_shapes(struct fold_sim *sim);

#endif /* WT_TEST_FOLD_SIM_H */

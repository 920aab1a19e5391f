/*
 * test_fold_streams.c - folding of kernels beside each other: what each has to itself, and what is active while
 * several run. Against simulated truth.
 */
#include <math.h>

#include "tests/tap.h"
#include "tests/unit/fold_streams.h"

#define PART 2000

/* ---- overlap */

/* What runs, every 10 ns: an account of its own. */
struct grid {
	size_t count;
	uint8_t *running; /* kernels */
	uint8_t *which; /* sum of 1 << config */
	double *active;
};

static void grid_add(struct grid *grid, const struct fold_sim *sim)
{
	for (size_t i = 0; i < sim->kernel_count; i++)
		for (size_t t = (size_t)(sim->kernels[i].start_ns / 10);
		     t < (size_t)(sim->kernels[i].end_ns / 10) && t < grid->count; t++) {
			grid->running[t]++;
			grid->which[t] |= (uint8_t)(1 << sim->kernels[i].config);
		}
	for (size_t i = 0; i < sim->piece_count; i++)
		for (size_t t = (size_t)(sim->pieces[i].start_ns / 10);
		     t < (size_t)(sim->pieces[i].end_ns / 10) && t < grid->count; t++)
			grid->active[t] += sim->pieces[i].active;
}

static void two_streams(void)
{
	double now_ns = 100000, other_ns = 2000000, joint_ns, alone_ns;
	struct sim_outcome outcome;
	struct fold_sim sim;
	struct wt_fold *fold;
	struct grid grid;

	sim_init(&sim, 4, 11);
	sim_shapes(&sim);
	for (size_t i = 0; i < 4; i++)
		for (int part = 0; part < sim.configs[i].parts; part++)
			sim.configs[i].active[part] /= 2; /* both fit */
	while (now_ns < 400e6) {
		size_t config = (size_t)(sim_uniform(&sim) * 3);

		now_ns = sim_launch(&sim, config, now_ns + 1000, 8000 + 9000 * (double)config);
	}
	while (other_ns < 400e6) /* a second stream, now and then */
		other_ns = sim_launch(&sim, 3, other_ns + 60000 * sim_uniform(&sim), 30000);
	sim_sample(&sim, 0, 400e6, 50000, 0, 0);
	fold = sim_fold_all("two streams", &sim, PART, NULL, &outcome);
	is_i64(outcome.summary.state, WT_FOLD_OK, "two streams are explained");

	grid.count = 40000000;
	grid.running = calloc(grid.count, 1);
	grid.which = calloc(grid.count, 1);
	grid.active = calloc(grid.count, sizeof(*grid.active));
	grid_add(&grid, &sim);
	for (size_t i = 0; i < 4; i++) {
		double alone = 0, joint = 0;
		struct wt_fold_result result;

		alone_ns = joint_ns = 0;
		for (size_t t = 0; t < grid.count; t++) {
			if (!(grid.which[t] >> i & 1))
				continue;
			if (grid.running[t] == 1) {
				alone_ns += 10;
				alone += 10 * grid.active[t];
			} else {
				joint_ns += 10;
				joint += 10 * grid.active[t];
			}
		}
		wt_fold_result(fold, (uint32_t)i, &result);
		printf("# %zu: alone %.2f of %.2f ms, %.2f +- %.2f SMs, true %.2f; joint %.2f of "
		       "%.2f ms, %.2f "
		       "+- %.2f, true %.2f\n",
		       i, (double)result.time_ns / 1e6, alone_ns / 1e6, result.active_sms,
		       result.error_sms, alone / alone_ns, (double)result.joint_time_ns / 1e6,
		       joint_ns / 1e6, result.joint_active_sms, result.joint_error_sms,
		       joint / joint_ns);
		is_near((double)result.time_ns / alone_ns, 1, 0.01, "its time alone");
		is_near((double)result.joint_time_ns / joint_ns, 1, 0.01, "and beside others");
		is_near(result.active_sms, alone / alone_ns, fmax(result.error_sms, 1.5), "alone");
		is_near(result.joint_active_sms, joint / joint_ns,
		        fmax(result.joint_error_sms, 1.5), "beside others");
	}
	free(grid.running);
	free(grid.which);
	free(grid.active);
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/* Each starts 150 ns before the other ends: no concurrency. One is never alone: joint. */
static void chains(void)
{
	struct wt_fold_result result;
	struct sim_outcome outcome;
	struct fold_sim sim;
	struct wt_fold *fold;
	double now_ns = 100000;

	sim_init(&sim, 6, 12);
	sim_shapes(&sim);
	for (int i = 0; i < 12000; i++) {
		size_t config = (size_t)(sim_uniform(&sim) * 4);
		double start_ns = now_ns + (i % 4 ? -150 : 2000 * sim_uniform(&sim));

		now_ns = sim_launch(&sim, config, start_ns, 9000 + 5000 * (double)config);
	}
	for (int i = 0; i < 2000; i++) {
		double start_ns = now_ns + 3000 + 5000 * sim_uniform(&sim);

		now_ns = sim_launch(&sim, 4, start_ns, 30000);
		sim_launch(&sim, 5, start_ns + 10000, 7000);
	}
	sim_sample(&sim, 0, now_ns + 100000, 50000, 0, 0);
	fold = sim_fold_all("chains", &sim, PART, NULL, &outcome);
	is_i64(outcome.summary.state, WT_FOLD_OK, "a chain is explained");
	for (uint32_t i = 0; i < 4; i++) {
		wt_fold_result(fold, i, &result);
		ok(result.verdict == WT_FOLD_MEASURED && result.joint_time_ns == 0,
		   "%u overlaps a little: by itself", i);
		/* Where two overlap, each has half of the time, and all of its activity. */
		is_near(result.active_sms * (double)result.time_ns / sim.configs[i].active_sm_ns, 1,
		        fmax(0.01, result.error_sms / result.active_sms), "as active as it was");
	}
	wt_fold_result(fold, 5, &result);
	ok(result.verdict == WT_FOLD_JOINT && result.time_ns == 0 &&
	           result.joint_time_ns > 13000000,
	   "one that is never alone is joint");
	is_i64(result.launches, 2000, "and was seen");
	wt_fold_destroy(fold);
	sim_free(&sim);
}

/* ---- two streams whose blocks compete for places */

static void is_near_truth(double found_sm_ns, double error, double true_sm_ns, double share,
                          const char *what, size_t config)
{
	double off = found_sm_ns / true_sm_ns - 1;

	printf("# %zu: %s %+.2f %%, said to be within %.2f\n", config, what, 100 * off,
	       100 * error);
	ok(fabs(off) <= fmax(error, 0.002), "%zu: %s within its error", config, what);
	ok(fabs(off) <= share, "%zu: and near by", config);
}

static void compete(double offset_ns)
{
	const struct wt_fold_options options = {.sm_count = 132, .ramp_ns = 650};
	struct wt_fold_result result;
	struct sim_outcome outcome;
	struct streams_truth truth;
	struct fold_sim sim;
	struct wt_fold *fold;

	sim_init(&sim, STREAMS_CONFIGS, 77);
	sim.ramp_ns = 650;
	sim.offset_ns = offset_ns;
	streams_run(&sim, 800e6, &truth);
	sim_sample(&sim, 0, 800e6, 50000, 0, 0);
	fold = sim_fold_all("compete", &sim, PART, &options, &outcome);
	is_i64(outcome.summary.state, WT_FOLD_OK, "they are explained");
	is_near(outcome.summary.offset_ns, offset_ns, 150, "the offset is right");
	is_near(outcome.summary.offset_ns, offset_ns, outcome.summary.offset_error_ns,
	        "within its error");
	for (uint32_t i = 0; i < STREAMS_CONFIGS; i++) {
		const struct streams_config *config = &truth.configs[i];
		double alone, joint, error;

		wt_fold_result(fold, i, &result);
		printf("# %u: %.0f launches, alone %.2f ms of %.2f, joint %.2f of %.2f, verdict "
		       "%d, "
		       "%.2f +- %.2f, true %.2f; joint %.2f +- %.2f, true %.2f\n",
		       i, config->launches, (double)result.time_ns / 1e6, config->alone_ns / 1e6,
		       (double)result.joint_time_ns / 1e6, config->joint_ns / 1e6, result.verdict,
		       result.active_sms, result.error_sms, config->alone_sm_ns / config->alone_ns,
		       result.joint_active_sms, result.joint_error_sms,
		       config->joint_sm_ns / config->joint_ns);
		joint = result.joint_active_sms * (double)result.joint_time_ns;
		is_near_truth(joint, result.joint_error_sms / result.joint_active_sms,
		              config->joint_sm_ns, 0.06, "joint", i);
		if (result.verdict != WT_FOLD_MEASURED)
			continue;
		alone = result.active_sms * (double)result.time_ns;
		error = result.error_sms / result.active_sms;
		is_near_truth(alone, error, config->alone_sm_ns, 0.05, "alone", i);
		is_near((alone + joint) / (config->alone_sm_ns + config->joint_sm_ns), 1, 0.03,
		        "all that ran meanwhile");
	}
	wt_fold_destroy(fold);
	sim_free(&sim);
}

int main(void)
{
	two_streams();
	chains();
	compete(300);
	return tap_done();
}

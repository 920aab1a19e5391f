/*
 * fold.h - equivalent-time folding: how many SMs each launch configuration keeps active, and when in
 * its course, from samples that are longer than its kernels.
 *
 * A sample says how many SMs were active on average during an interval of some 50 us, in which
 * several kernels ran. Thousands of launches of a configuration meet the samples at all phases. So a
 * configuration gets phase bins (of bin_ns of its duration at most), a bin's unknown is the number of
 * SMs active in it, and each sample is an equation
 *
 *     active SMs x length of the sample = sum over bins of unknown x time of overlap
 *
 * (or bins a third as long, told together, where those explain more: fold_align.c). Non-negative least
 * squares give the unknowns. Their mean over a configuration's bins, times its
 * duration, is its active SM-time; the bins are its tail profile, finer than the samples.
 *
 * CLOCKS. Samples and kernels have clocks that differ by an offset, which half a microsecond of error
 * makes useless for kernels of 5 us. It is the one with the smallest residual (correlation fails).
 * It is looked for within +-offset_max_ns and re-checked along the run; what it moved is in its error.
 * No attribution where no offset fits.
 *
 * OVERLAP. Kernels that overlap by up to split_ns follow each other: cut in the middle. Where others
 * overlap, SMs are shared, an SM counts once, and sums mean nothing: such time has unknowns of its own for
 * each set of configurations ("joint"), and says nothing of each by itself. What two keep active together
 * has a course as well: bins by the time that they have run together, and by how far the first one was
 * when the second began. A kernel that others disturbed has no course of its own any more: what it has to
 * itself after that has bins by the time to its end. The offset comes from samples that saw none of this,
 * where there are enough of them.
 *
 * RAMP. A recorded interval exceeds first block to last block by the device's launch and drain, in which
 * SMs are idle. Half of ramp_ns is taken off each end of a kernel, but a quarter of it at most, before
 * rows are built: else it would have to be made up for by the offset. Means, times and profiles are of the
 * recorded interval all the same: idle at its ends.
 *
 * MEMORY is that of the normal equations: pairs of bins that ever shared a sample. It does not grow
 * with the run. Time: per sample the square of the bins that it touches; solving: sparse.
 *
 * Pure but for memory; one thread per fold; never blocks.
 */
#ifndef WT_FOLD_H
#define WT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a sample has a mean of; < 0: not known. The sampler takes some metrics in a part of its
 * stretches only. A channel is solved from the samples that have it, with normal equations of their
 * own; clocks, errors and profiles come from samples with ACTIVE alone.
 */
enum wt_fold_channel {
	WT_FOLD_ACTIVE, /* SMs active, 0 to sm_count */
	WT_FOLD_WARPS, /* resident warps per SM */
	WT_FOLD_TENSOR, /* share of time x SMs, 0 to 1 */
	WT_FOLD_DRAM, /* bytes per ns, of the device */
	WT_FOLD_ISSUE, /* share of the issue slots of all SMs, 0 to 1 */
	WT_FOLD_CLOCK, /* SM cycles per ns; weighted by time, not solved for */
	WT_FOLD_CHANNELS
};

struct wt_fold_sample {
	int64_t start_ns, end_ns; /* the samples' clock */
	double mean[WT_FOLD_CHANNELS];
};

/* A kernel, or anything else that keeps SMs busy, like a memset. */
struct wt_fold_kernel {
	int64_t start_ns, end_ns; /* the kernels' clock */
	uint32_t config; /* the caller's, dense: 0, 1, ... */
};

struct wt_fold_options {
	uint32_t sm_count;
	int64_t bin_ns; /* 0: 2000 */
	uint32_t bins_max; /* per configuration; 0: 64 */
	bool is_nearest; /* bins as near to bin_ns as can be, as a reference has them: some are longer */
	int64_t offset_max_ns; /* 0: 60000 */
	int64_t split_ns; /* 0: 200 */
	int64_t ramp_ns; /* of each kernel; see RAMP */
	size_t bytes_max; /* of normal equations; 0: 256 MiB. Beyond: rare configurations have one bin */
};

struct wt_fold;

/* NULL options: for 132 SMs. 0, -EINVAL or -ENOMEM. */
int wt_fold_create(const struct wt_fold_options *options, struct wt_fold **ret_fold);
void wt_fold_destroy(struct wt_fold *fold); /* NULL is fine */

/*
 * One stretch: samples in order, without holes between them larger than one of them; and all kernels
 * that touch its time, by start, also those that a stretch before had already. Margins: kernels must
 * be complete from offset_max_ns before the first sample to offset_max_ns after the last. The first
 * stretches are kept until they suffice for an offset. 0, -EINVAL or -ENOMEM.
 */
int wt_fold_add(struct wt_fold *fold, const struct wt_fold_kernel *kernels, size_t kernel_count,
                const struct wt_fold_sample *samples, size_t sample_count);

/* Solves for what was added so far; more may be added after it. 0 or -ENOMEM. */
int wt_fold_solve(struct wt_fold *fold);

enum wt_fold_state {
	WT_FOLD_OK,
	WT_FOLD_NO_SAMPLES, /* none, or too few in which kernels ran */
	WT_FOLD_NOT_ALIGNED, /* no offset fits better than others */
	WT_FOLD_UNEXPLAINED, /* kernels don't explain what the samples saw: somebody else's ran */
	WT_FOLD_NO_ACTIVE, /* as NO_SAMPLES, but more than those saw warps and don't have ACTIVE */
};

/*
 * The residual above which nothing is attributed; unless what is not explained is less than 2 % of the
 * samples (square means): samples that are all alike have next to no variance.
 */
#define WT_FOLD_RESIDUAL_MAX 0.05

struct wt_fold_summary {
	enum wt_fold_state state;
	double offset_ns, offset_error_ns; /* kernel time = sample time + offset */
	double residual; /* share of the samples' variance that is not explained */
	int64_t samples_used, samples_skipped;
	double active_sm_ns, explained_sm_ns; /* in the samples used */
	size_t configs, unknowns, pairs, bytes;
};

void wt_fold_summary(const struct wt_fold *fold, struct wt_fold_summary *ret_summary);

enum wt_fold_verdict {
	WT_FOLD_MEASURED,
	WT_FOLD_FEW, /* the error is larger than a tenth of the SMs, for want of launches */
	WT_FOLD_INSEPARABLE, /* the same, however many: it always meets the samples as others do */
	WT_FOLD_JOINT, /* it hardly ran by itself */
	WT_FOLD_BLURRED, /* the offset is not known well enough for so short a kernel */
};

struct wt_fold_result {
	enum wt_fold_verdict verdict;
	int64_t launches; /* that samples saw */
	int64_t time_ns; /* of them, by itself */
	double active_sms, error_sms; /* mean over that time; 95 of 100 are within the error */
	double mean[WT_FOLD_CHANNELS],
	        error[WT_FOLD_CHANNELS]; /* < 0: not known, like the clock's error. Of what samples tell:
	                                  * as a share no channel is more certain than ACTIVE */
	int64_t joint_time_ns; /* beside others */
	double joint_active_sms, joint_error_sms; /* of the device, meanwhile; < 0: not known */
	uint32_t bins;
};

/* After solving. `config` was never added: launches is 0. */
void wt_fold_result(const struct wt_fold *fold, uint32_t config, struct wt_fold_result *ret_result);
/* SMs active, and its error, by bin: room for `bins` of the result. */
void wt_fold_profile(const struct wt_fold *fold, uint32_t config, double *active_sms,
                     double *error_sms);

#endif /* WT_FOLD_H */

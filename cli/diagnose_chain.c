/*
 * diagnose_chain.c - see diagnose_gaps.h: chains of small kernels, whose gaps belong to the chain or,
 * once it turns out to be none, to what they are by themselves. Single-threaded; never blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diagnose_gaps.h"
#include "cli/diagnose_impl.h"
#include "cli/report_sql.h"

int64_t wt_gaps_kernel(struct wt_gaps *gaps, int64_t kernel_id)
{
	uint32_t at = wt_map_get(&gaps->kernel_at, (uint64_t)kernel_id);
	struct wt_family_kernel *kernel;

	if (at != WT_MAP_NONE)
		return at;
	kernel = wt_report_append(&gaps->kernels, &gaps->kernel_count, sizeof(*kernel));
	if (!kernel)
		return -ENOMEM;
	kernel->kernel_id = kernel_id;
	if (wt_map_set(&gaps->kernel_at, (uint64_t)kernel_id, (uint32_t)gaps->kernel_count - 1))
		return -ENOMEM;
	return (int64_t)gaps->kernel_count - 1;
}

static const enum wt_family chain_families[2] = {WT_FAMILY_LAUNCH_BOUND, WT_FAMILY_TURNAROUND};

int wt_chain_take(struct wt_gaps *gaps, struct wt_gap_parts *parts,
                  const struct wt_ledger_row *next)
{
	double sms = (double)gaps->device->sms;
	struct wt_chain *chain = &gaps->chain;
	int64_t at = wt_gaps_kernel(gaps, next->kernel_id);
	struct wt_family_kernel *kernel;

	if (at < 0)
		return (int)at;
	kernel = &gaps->kernels[at];
	if (kernel->chain_at != chain->at) {
		if (chain->touched_count == chain->touched_capacity) {
			size_t capacity =
			        chain->touched_capacity ? 2 * chain->touched_capacity : 64;
			uint32_t *grown =
			        reallocarray(chain->touched, capacity, sizeof(*chain->touched));

			if (!grown)
				return -ENOMEM;
			chain->touched = grown;
			chain->touched_capacity = capacity;
		}
		chain->touched[chain->touched_count++] = (uint32_t)at;
		kernel->chain_at = chain->at;
		memset(kernel->chain, 0, sizeof(kernel->chain));
	}
	for (int c = 0; c < 2; c++) {
		struct wt_family_share *part = &parts->of[chain_families[c]];

		kernel->chain[c].least += part->least * sms;
		kernel->chain[c].most += part->most * sms;
		chain->idle_ns += (int64_t)part->most;
		chain->family_gaps[c] += part->most > 0;
		*part = (struct wt_family_share){0, 0};
	}
	chain->gaps++;
	return 0;
}

void wt_chain_end(struct wt_gaps *gaps, enum wt_family family)
{
	struct wt_chain *chain = &gaps->chain;

	if (family == WT_FAMILY_MAX && chain->count >= WT_DIAGNOSE_CHAIN_MIN &&
	    chain->idle_ns > chain->busy_ns) {
		family = WT_FAMILY_SMALL_KERNELS;
		gaps->found.chains++;
		gaps->found.chain_kernels += chain->count;
		gaps->found.chain_busy_ns += chain->busy_ns;
		gaps->found.chain_idle_ns += chain->idle_ns;
	}
	for (size_t i = 0; i < chain->touched_count; i++) {
		struct wt_family_kernel *kernel = &gaps->kernels[chain->touched[i]];

		for (int c = 0; c < 2; c++) {
			enum wt_family to = family == WT_FAMILY_MAX ? chain_families[c] : family;

			gaps->sum[to].sm_ns.least += kernel->chain[c].least;
			gaps->sum[to].sm_ns.most += kernel->chain[c].most;
			kernel->sm_ns[to] += kernel->chain[c].most;
		}
	}
	if (family < WT_FAMILY_MAX)
		gaps->sum[family].gaps += chain->gaps;
	for (int c = 0; c < 2; c++) {
		if (family == WT_FAMILY_MAX)
			gaps->sum[chain_families[c]].gaps += chain->family_gaps[c];
		chain->family_gaps[c] = 0;
	}
	chain->at++;
	chain->count = chain->busy_ns = chain->idle_ns = chain->gaps = 0;
	chain->touched_count = 0;
}

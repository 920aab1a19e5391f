/*
 * ledger_measure.c - what was measured, in the shares of a ledger. Single-threaded, pure.
 */
#include <string.h>

#include "analysis/measure.h"
#include "cli/ledger_impl.h"

/* The next share of a configuration. */
static void apply(const struct wt_ledger_config *config, struct wt_measure *measure,
                  struct wt_sweep_share *share, struct wt_sweep_share measured[WT_EVIDENCE_MAX])
{
	struct wt_beside beside;

	wt_derive_beside(&config->facts, config->is_judged, share->alone_ns, share, &beside);
	wt_measure_apply(measure, &beside, share, measured);
}

static struct wt_ledger_config *config_of(const struct wt_ledger_loading *load, int64_t id)
{
	return &load->configs[id & ((INT64_C(1) << WT_LEDGER_ID_BITS) - 1)];
}

bool wt_ledger_measure(struct wt_ledger_loading *load, int64_t id, struct wt_sweep_share *share,
                       struct wt_sweep_share ret_measured[WT_EVIDENCE_MAX])
{
	struct wt_ledger_config *config = config_of(load, id);

	memset(ret_measured, 0, WT_EVIDENCE_MAX * sizeof(*ret_measured));
	if (config->measured)
		apply(config, &config->measured->measure, share, ret_measured);
	return config->measured != NULL;
}

/*
 * In the order in which the sweep will let go of them, so that nothing is rounded otherwise in the end;
 * then the running totals are put back.
 */
void wt_ledger_measure_until(struct wt_ledger_loading *load, struct wt_sweep_share *total)
{
	struct wt_sweep_share measured[WT_EVIDENCE_MAX];
	struct wt_measure before[WT_SWEEP_RESIDENT_MAX];
	uint32_t count = load->sweep.resident_count;

	*total = load->device->share;
	for (uint32_t i = 0; i < count; i++) {
		struct wt_sweep_share share;
		const struct wt_ledger_config *config =
		        config_of(load, wt_sweep_resident_share(&load->sweep, i, &share));

		if (config->measured) {
			before[i] = config->measured->measure;
			apply(config, &config->measured->measure, &share, measured);
		}
		wt_sweep_share_add(total, &share);
	}
	while (count-- > 0) {
		struct wt_sweep_share share;
		const struct wt_ledger_config *config =
		        config_of(load, wt_sweep_resident_share(&load->sweep, count, &share));

		if (config->measured)
			config->measured->measure = before[count];
	}
}

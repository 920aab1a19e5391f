/*
 * diagnose_kernels.c - findings inside kernels that follow from their grids: small ones, and partial
 * last waves. Single-threaded; no I/O.
 */
#include <inttypes.h>

#include "analysis/collective.h"
#include "cli/diagnose_impl.h"

#define EXPLAIN_SMALL                                                                              \
	"SMs beyond the number of blocks have nothing to do for as long as the kernel runs."
#define TRY_SMALL                                                                                  \
	"Split the work into more, smaller blocks; fuse it with its neighbours; or run "           \
	"independent kernels side by side on other streams."
#define EXPLAIN_WAVE                                                                               \
	"The last wave of blocks does not fill the GPU, and the SMs that are done wait. Where in " \
	"the range the loss lies, geometry can't tell; a kernel that waits for memory may lose "   \
	"nothing."
#define TRY_WAVE "Another tile size or problem size; split-K or Stream-K; a persistent kernel."

static void find_small_grids(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;
	char count[WT_TEXT_NUMBER_BYTES];
	struct wt_finding *finding;
	double rest = 0;
	int64_t rest_count = 0;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		double stake = (double)kernel->share.underfill_sm_ns;

		if (wt_diagnose_peace(kernel->name))
			continue;
		finding = wt_finding_add(work, "small-grid", stake, stake);
		if (!finding) {
			rest += stake;
			rest_count += stake > 0;
			continue;
		}
		finding->kernel_id = kernel->kernel_id;
		WT_TITLE(finding, "small grid: %s", work->names[i]);
		WT_EVIDENCE(
		        finding,
		        "%s of its launches left SMs without a block; its grids: show id:%" PRId64,
		        wt_text_count(count, kernel->launches_underfilled), kernel->kernel_id);
		finding->explanation = EXPLAIN_SMALL;
		finding->advice = TRY_SMALL;
	}
	finding = wt_finding_add(work, "small-grids", rest, rest);
	if (!finding)
		return;
	WT_TITLE(finding, "small grids of %" PRId64 " %skernels, together", rest_count,
	         work->diagnosis->count > 1 ? "other " : "");
	WT_EVIDENCE(finding, "listed by top --by underfill");
	finding->explanation = "None of them matters alone.";
	finding->advice =
	        "Fusion (torch.compile, foreach optimizers) takes many small kernels away at "
	        "once.";
}

static void find_waves(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;
	char count[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		struct wt_finding *finding;

		if (wt_diagnose_peace(kernel->name) || wt_is_collective_kernel(kernel->name))
			continue;
		finding = wt_finding_add(work, "partial-wave", (double)kernel->share.wave_sm_ns,
		                         (double)kernel->share.wave_max_sm_ns);
		if (!finding)
			continue;
		finding->kernel_id = kernel->kernel_id;
		WT_TITLE(finding, "partial last wave: %s", work->names[i]);
		WT_EVIDENCE(
		        finding,
		        "%s launches; waves, and the grids that would fill them: show id:%" PRId64,
		        wt_text_count(count, kernel->launches), kernel->kernel_id);
		finding->explanation = EXPLAIN_WAVE;
		finding->advice = TRY_WAVE;
	}
}

/* What would be a finding, were it not for the kernel's way to work. */
static void leave_persistent(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		const struct wt_sweep_share *share = &kernel->share;
		const char *reason = wt_diagnose_peace(kernel->name);

		if (reason)
			wt_diagnose_leave(
			        work, kernel->kernel_id,
			        (double)share->active_sm_ns + (double)share->underfill_sm_ns +
			                (double)share->wave_sm_ns + (double)share->unjudged_sm_ns,
			        reason);
		else if ((double)share->unjudged_sm_ns >
		         (double)share->active_sm_ns + (double)share->underfill_sm_ns)
			wt_diagnose_leave(
			        work, kernel->kernel_id, (double)share->unjudged_sm_ns,
			        "no model fits it: cooperative, of unknown limits, or it shares "
			        "SMs with other kernels; it is unjudged, not idle");
	}
}

int wt_diagnose_kernels(struct wt_diagnosing *work)
{
	find_small_grids(work);
	find_waves(work);
	leave_persistent(work);
	return 0;
}

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
#define EXPLAIN_WAVE_MEASURED                                                                      \
	"The last wave of blocks does not fill the GPU, and the SMs that are done wait; which "    \
	"form of the loss applies was measured."
#define MEMORY_PEACE                                                                               \
	"bound by memory, as measured: its idle SMs are not time lost while DRAM is saturated"
#define TRY_WAVE "Another tile size or problem size; split-K or Stream-K; a persistent kernel."

/* Persistent kernels, unless measured. */
static bool is_in_peace(const struct wt_diagnosing *work, size_t at)
{
	return wt_diagnose_peace(work->ledger->kernels[at].name) &&
	       !wt_diagnose_is_measured(work, at);
}

static void find_small_grids(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;
	char count[WT_TEXT_NUMBER_BYTES];
	struct wt_finding *finding;
	double rest = 0;
	int64_t rest_count = 0;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		double memory = work->measured[i].memory[WT_BOUND_UNDERFILL];
		double stake = (double)kernel->share.underfill_sm_ns * (1 - memory);

		if (is_in_peace(work, i))
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
		finding->grade = WT_KERNEL_GRADE(kernel, underfill_sm_ns);
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

/*
 * What a partial wave may take beyond its value, by the model. Where it was measured, that is active, or
 * idle for another reason.
 */
static double range_sm_ns(const struct wt_ledger_kernel *kernel)
{
	double range = (double)kernel->share.wave_max_sm_ns - (double)kernel->share.wave_sm_ns;

	for (int i = WT_EVIDENCE_SAMPLED; i < WT_EVIDENCE_MAX; i++)
		range -= (double)kernel->measured[i].wave_max_sm_ns -
		         (double)kernel->measured[i].wave_sm_ns;
	return range > 0 ? range : 0;
}

static void find_waves(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;
	char count[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		const double *memory = work->measured[i].memory;
		double least = (double)kernel->share.wave_sm_ns * (1 - memory[WT_BOUND_WAVE]);
		double most = least + range_sm_ns(kernel) * (1 - memory[WT_BOUND_WAVE_MAX]);
		bool is_measured = wt_diagnose_is_measured(work, i);
		struct wt_finding *finding;

		if (is_in_peace(work, i) || wt_is_collective_kernel(kernel->name))
			continue;
		finding = wt_finding_add(work, "partial-wave", least, most);
		if (!finding)
			continue;
		finding->kernel_id = kernel->kernel_id;
		WT_TITLE(finding, "partial last wave: %s", work->names[i]);
		WT_EVIDENCE(
		        finding,
		        "%s launches; waves, and the grids that would fill them: show id:%" PRId64,
		        wt_text_count(count, kernel->launches), kernel->kernel_id);
		finding->grade = WT_KERNEL_GRADE(kernel, wave_sm_ns);
		finding->explanation = is_measured ? EXPLAIN_WAVE_MEASURED : EXPLAIN_WAVE;
		finding->advice = TRY_WAVE;
	}
}

/* Idle SM-time of configurations that wait for memory. */
static double memory_sm_ns(const struct wt_diagnosing *work, size_t at)
{
	const struct wt_sweep_share *share = &work->ledger->kernels[at].share;
	const double *memory = work->measured[at].memory;

	return memory[WT_BOUND_UNDERFILL] * (double)share->underfill_sm_ns +
	       memory[WT_BOUND_WAVE] * (double)share->wave_sm_ns +
	       memory[WT_BOUND_STRAGGLE] * (double)share->straggle_sm_ns;
}

/* What would be a finding, were it not for the kernel's way to work. */
static void leave_persistent(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		const struct wt_sweep_share *share = &kernel->share;
		const char *reason = wt_diagnose_peace(kernel->name);

		if (memory_sm_ns(work, i) >= work->least_sm_ns && memory_sm_ns(work, i) > 0)
			wt_diagnose_leave(work, kernel->kernel_id, (double)wt_measure_sm_ns(share),
			                  MEMORY_PEACE);
		else if (reason && !wt_diagnose_is_measured(work, i))
			wt_diagnose_leave(work, kernel->kernel_id,
			                  (double)wt_measure_sm_ns(share) -
			                          (double)share->comm_sm_ns,
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
	wt_diagnose_unequal(work);
	leave_persistent(work);
	return 0;
}

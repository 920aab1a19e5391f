/*
 * diagnose_measured.c - findings that need a measurement: unequal blocks, clocks that are held down,
 * other processes on the GPU; and what a measurement says of kernels that the model's findings are
 * about. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "cli/diagnose_impl.h"
#include "cli/gpu_state.h"
#include "cli/measured.h"
#include "cli/rates.h"
#include "cli/sm_activity.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

/* ---- what is known of each kernel */

static double share_of(double part, double whole)
{
	return whole > 0 ? fmin(1, fmax(0, part / whole)) : 0;
}

/* Sums of idle time by kernel, with what of it belongs to configurations bound by memory. */
static int read_bounds(struct wt_diagnosing *work, sqlite3_stmt *s)
{
	int rc;

	while ((rc = wt_report_step(s)) > 0) {
		size_t at = wt_diagnose_kernel_at(work, sqlite3_column_int64(s, 0));
		struct wt_kernel_measured *kernel;

		if (at == SIZE_MAX)
			continue;
		kernel = &work->measured[at];
		for (int i = 0; i < WT_BOUND_LINES; i++)
			kernel->memory[i] = share_of(sqlite3_column_double(s, 2 + 2 * i),
			                             sqlite3_column_double(s, 1 + 2 * i));
		kernel->measured = share_of(sqlite3_column_double(s, 1 + 2 * WT_BOUND_LINES),
		                            sqlite3_column_double(s, 2 + 2 * WT_BOUND_LINES));
	}
	return rc;
}

int wt_diagnose_load_measured(struct wt_diagnosing *work)
{
#define LINE(column) " total(" column "), total(iif(bound = 'memory', " column ", 0)),"
	static const char sql[] = "SELECT kernel_id," LINE("underfill_sm_ns") LINE("wave_sm_ns")
	        LINE("wave_max_sm_ns")
	                LINE("straggle_sm_ns") " total(measured_sm_ns), total(kernel_sm_ns) FROM "
	                                       "config_idle GROUP BY 1";
#undef LINE
	sqlite3_stmt *s;
	int rc;

	work->measured = calloc(work->ledger->kernel_count + 1, sizeof(*work->measured));
	if (!work->measured)
		return -ENOMEM;
	if (!wt_db_has_table(work->db, "measured"))
		return 0;
	rc = wt_report_prepare(work->db, sql, &s);
	if (rc)
		return rc;
	rc = read_bounds(work, s);
	sqlite3_finalize(s);
	return rc;
}

bool wt_diagnose_is_measured(const struct wt_diagnosing *work, size_t at)
{
	return work->measured[at].measured >= 0.5;
}

/* ---- unequal blocks */

#define EXPLAIN_UNEQUAL                                                                            \
	"Some blocks take longer than others, or end at uneven times, and SMs that are done wait " \
	"for them: what is idle beyond small grids, partial waves and launching, by measurement."
#define TRY_UNEQUAL                                                                                \
	"Cut the work so that blocks take equally long, or sort it so that long ones begin "       \
	"first; "                                                                                  \
	"smaller blocks; blocks that fetch their work (persistent kernels, Stream-K). wavetap "    \
	"show "                                                                                    \
	"has the SMs active in the course of the kernel."

static void say_unequal(struct wt_diagnosing *work, size_t at, double stake,
                        struct wt_finding *finding)
{
	const struct wt_ledger_kernel *kernel = &work->ledger->kernels[at];
	const struct wt_sweep_share *share = &kernel->share;
	double whole = (double)wt_measure_sm_ns(share);
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	WT_TITLE(finding, "unequal blocks: %s", work->names[at]);
	WT_EVIDENCE(finding,
	            "%s%% of its SMs x time, in %s launches; its tail profile: show id:%" PRId64,
	            wt_text_percent(a, stake, whole), wt_text_count(b, kernel->launches),
	            kernel->kernel_id);
	finding->explanation = EXPLAIN_UNEQUAL;
	finding->advice = TRY_UNEQUAL;
}

void wt_diagnose_unequal(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		double memory = work->measured[i].memory[WT_BOUND_STRAGGLE];
		double stake = (double)kernel->share.straggle_sm_ns * (1 - memory);
		struct wt_finding *finding;

		if (wt_is_collective_kernel(kernel->name))
			continue;
		finding = wt_finding_add(work, "unequal-blocks", stake, stake);
		if (!finding)
			continue;
		finding->kernel_id = kernel->kernel_id;
		finding->grade = WT_KERNEL_GRADE(kernel, straggle_sm_ns);
		say_unequal(work, i, stake, finding);
	}
}

/* ---- clocks and strangers: parts of the time in which SMs had blocks */

static double busy_sum(const struct wt_diagnosing *work)
{
	double sum = 0;

	for (size_t i = 0; i < work->ledger->kernel_count; i++)
		sum += work->busy_sm_ns[i];
	return sum;
}

/* A finding of at most `most` of all kernels' time, which others then don't have. NULL: not worth it. */
static struct wt_finding *add_of_busy(struct wt_diagnosing *work, const char *kind, double most)
{
	double sum = busy_sum(work);
	struct wt_finding *finding;

	most = fmin(most, sum);
	finding = wt_finding_add(work, kind, 0, most);
	if (!finding)
		return NULL;
	finding->is_ledger_line = false;
	for (size_t i = 0; i < work->ledger->kernel_count; i++)
		work->busy_sm_ns[i] *= 1 - most / sum;
	return finding;
}

/* MHz without throttling: as seen, or else what the device can. 0: not known. */
static double full_clock_mhz(sqlite3 *db, int64_t device_id, const struct wt_gpu_states *states)
{
	sqlite3_stmt *s;
	double mhz = 0;

	if (states->throttled < states->count && states->clock_max_mhz > 0)
		return (double)states->clock_max_mhz;
	if (wt_report_prepare(db, "SELECT clock_khz FROM main.gpu WHERE device_id = ?1", &s))
		return 0;
	sqlite3_bind_int64(s, 1, device_id);
	if (wt_report_step(s) > 0)
		mhz = sqlite3_column_double(s, 0) / 1e3;
	sqlite3_finalize(s);
	return mhz;
}

/* What kernels would be faster by at the full clock, at most. */
static double throttled_sm_ns(sqlite3 *db, const struct wt_ledger_device *device,
                              const struct wt_gpu_states *states)
{
	double full_mhz = full_clock_mhz(db, device->device_id, states);
	double time = share_of((double)states->throttled, (double)states->count);

	if (full_mhz <= 0 || states->throttled_mhz <= 0 || states->throttled_mhz >= full_mhz)
		return 0;
	return time * (1 - states->throttled_mhz / full_mhz) * (double)device->share.active_sm_ns;
}

static void say_throttled(const struct wt_gpu_states *states, struct wt_finding *finding)
{
	char reasons[WT_THROTTLE_TEXT_BYTES], percent[WT_TEXT_NUMBER_BYTES];

	WT_TITLE(finding, "clocks are held down: %s", wt_throttle_text(reasons, states->reasons));
	WT_EVIDENCE(finding,
	            "%s%% of %" PRId64 " readings, at %.0f MHz on average meanwhile; highest "
	            "reading %" PRId64 " MHz",
	            wt_text_percent(percent, (double)states->throttled, (double)states->count),
	            states->count, states->throttled_mhz, states->clock_max_mhz);
	if (states->temperature_max_c)
		WT_EVIDENCE(finding, ", %" PRId64 " C at most", states->temperature_max_c);
	finding->explanation =
	        "The GPU runs below the clock it could: kernels bound by the SMs take longer in "
	        "proportion, at the greatest; those that wait for memory hardly do.";
	finding->advice =
	        "A power limit is often the card's own: nvidia-smi -q -d CLOCK,POWER,PERFORMANCE; "
	        "look at cooling where heat is the reason, and compare runs at equal clocks only "
	        "(nvidia-smi -lgc).";
	finding->grade = "sampled";
}

static void say_foreign(const struct wt_gpu_states *states, double share,
                        struct wt_finding *finding)
{
	char percent[WT_TEXT_NUMBER_BYTES];

	WT_TITLE(finding, "another process uses the GPU");
	WT_EVIDENCE(finding,
	            "pid %" PRId64 ", in %" PRId64 " of %" PRId64
	            " readings; %s%% of what samples saw active no kernel of this run explains",
	            states->foreign_pid, states->foreign, states->foreign_known,
	            wt_text_percent(percent, share, 1));
	finding->explanation =
	        "Its kernels take SMs, memory bandwidth and caches, or wait in turn with those of "
	        "the run: times and gaps of kernels have that in them.";
	finding->advice = "Measure on a GPU of its own (nvidia-smi shows the processes).";
	finding->grade = "sampled";
}

/* One of each for all devices; words of the one where it is worst. */
int wt_diagnose_states(struct wt_diagnosing *work)
{
	struct wt_gpu_states throttled = {0}, foreign = {0};
	double throttled_sum = 0, foreign_sum = 0, worst[2] = {0}, foreign_share = 0;
	struct wt_finding *finding;

	for (size_t i = 0; i < work->ledger->device_count; i++) {
		const struct wt_ledger_device *device = &work->ledger->devices[i];
		struct wt_gpu_states states;
		double lost, taken, share;
		int rc = wt_gpu_states_load(work->db, device->device_id, work->ledger->start_ns,
		                            work->ledger->end_ns, &states);

		if (rc)
			return rc;
		lost = throttled_sm_ns(work->db, device, &states);
		share = states.foreign ? wt_sm_unexplained_share(work->db, device->device_id) : 0;
		taken = share * (double)device->share.active_sm_ns;
		throttled_sum += lost;
		foreign_sum += taken;
		if (lost > worst[0]) {
			worst[0] = lost;
			throttled = states;
		}
		if (taken > worst[1]) {
			worst[1] = taken;
			foreign = states;
			foreign_share = share;
		}
	}
	finding = add_of_busy(work, "throttled", throttled_sum);
	if (finding)
		say_throttled(&throttled, finding);
	finding = add_of_busy(work, "foreign-process", foreign_sum);
	if (finding)
		say_foreign(&foreign, foreign_share, finding);
	return 0;
}

/*
 * diagnose.c - see diagnose.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diagnose.h"
#include "cli/kernel_name.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/text.h"
#include "schema/wt_api.h"

#define KERNELS_NAMED 3 /* in the evidence of a gap */
#define VARIANCE_LAUNCHES_MIN 20

struct work {
	sqlite3 *db;
	const struct wt_ledger *ledger;
	char **names; /* short, of ledger->kernels */
	struct wt_diagnosis *diagnosis;
	double least_sm_ns; /* what a finding must be worth */
	double sms; /* mean SMs of a device, to read SM-time as time */
};

static void say(char *text, size_t text_bytes, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t text_bytes, const char *format, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, format);
	if (used < text_bytes)
		vsnprintf(text + used, text_bytes - used, format, ap);
	va_end(ap);
}

#define EVIDENCE(finding, ...) say((finding)->evidence, sizeof((finding)->evidence), __VA_ARGS__)

/* NULL: not worth it, or no room. */
static struct wt_finding *add(struct work *work, const char *kind, double least, double most)
{
	struct wt_finding *finding;

	if (most < work->least_sm_ns || most <= 0 || work->diagnosis->count == WT_FINDINGS_MAX)
		return NULL;
	finding = &work->diagnosis->findings[work->diagnosis->count++];
	memset(finding, 0, sizeof(*finding));
	finding->kind = kind;
	finding->stake_sm_ns = least;
	finding->stake_max_sm_ns = most;
	finding->is_ledger_line = true;
	return finding;
}

/* ---- inside kernels */

static void find_small_grids(struct work *work)
{
	char count[WT_TEXT_NUMBER_BYTES];
	const struct wt_ledger *ledger = work->ledger;
	double rest = 0;
	int64_t rest_count = 0;
	struct wt_finding *finding;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		double stake = (double)kernel->share.underfill_sm_ns;

		finding = add(work, "small-grid", stake, stake);
		if (!finding) {
			rest += stake;
			rest_count += stake > 0;
			continue;
		}
		finding->kernel_id = kernel->kernel_id;
		say(finding->title, sizeof(finding->title), "small grid: %s", work->names[i]);
		EVIDENCE(finding,
		         "%s of its launches left SMs without a block; its grids: show id:%" PRId64,
		         wt_text_count(count, kernel->launches_underfilled), kernel->kernel_id);
		finding->explanation =
		        "SMs beyond the number of blocks have nothing to do for as long "
		        "as the kernel runs.";
		finding->advice =
		        "Split the work into more, smaller blocks; fuse it with its neighbours; "
		        "or run independent kernels side by side on other streams.";
	}
	finding = add(work, "small-grids", rest, rest);
	if (!finding)
		return;
	say(finding->title, sizeof(finding->title),
	    "small grids of %" PRId64 " %skernels, together", rest_count,
	    work->diagnosis->count > 1 ? "other " : "");
	EVIDENCE(finding, "listed by top --by underfill");
	finding->explanation = "None of them matters alone.";
	finding->advice =
	        "Fusion (torch.compile, foreach optimizers) takes many small kernels away at "
	        "once.";
}

static void find_waves(struct work *work)
{
	char count[WT_TEXT_NUMBER_BYTES];
	const struct wt_ledger *ledger = work->ledger;

	for (size_t i = 0; i < ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel = &ledger->kernels[i];
		struct wt_finding *finding =
		        add(work, "partial-wave", (double)kernel->share.wave_sm_ns,
		            (double)kernel->share.wave_max_sm_ns);

		if (!finding)
			continue;
		finding->kernel_id = kernel->kernel_id;
		say(finding->title, sizeof(finding->title), "partial last wave: %s",
		    work->names[i]);
		EVIDENCE(finding,
		         "%s launches; waves, and the grids that would fill them: show id:%" PRId64,
		         wt_text_count(count, kernel->launches), kernel->kernel_id);
		finding->explanation = "The last wave of blocks does not fill the GPU, and the SMs "
		                       "that are done wait. "
		                       "Where in the range the loss lies, geometry can't tell; a "
		                       "kernel that waits for "
		                       "memory may lose nothing.";
		finding->advice =
		        "Another tile size or problem size; split-K or Stream-K; a persistent "
		        "kernel.";
	}
}

/* ---- gaps */

static double kernel_gaps(const struct wt_ledger_kernel *kernel, const enum wt_gap_cause *causes,
                          size_t count, bool is_short)
{
	const int64_t *gap_sm_ns = is_short ? kernel->short_gap_sm_ns : kernel->gap_sm_ns;
	double sm_ns = 0;

	for (size_t c = 0; c < count; c++)
		sm_ns += (double)gap_sm_ns[causes[c]];
	return sm_ns;
}

/* "; mostly before A (40%), B (12%), C (9%)": the kernels that ended gaps of these causes. */
static void name_kernels_after(struct work *work, const enum wt_gap_cause *causes, size_t count,
                               bool is_short, struct wt_finding *finding)
{
	const struct wt_ledger *ledger = work->ledger;
	double above = 1e300, whole = kernel_gaps(&ledger->after_last, causes, count, is_short);

	for (size_t i = 0; i < ledger->kernel_count; i++)
		whole += kernel_gaps(&ledger->kernels[i], causes, count, is_short);
	for (int named = 0; named < KERNELS_NAMED; named++) {
		double most = 0;
		size_t at = 0;
		char percent[WT_TEXT_NUMBER_BYTES];

		for (size_t i = 0; i < ledger->kernel_count; i++) {
			double sm_ns = kernel_gaps(&ledger->kernels[i], causes, count, is_short);

			if (sm_ns > most && sm_ns < above) {
				most = sm_ns;
				at = i;
			}
		}
		if (most <= 0)
			return;
		EVIDENCE(finding, "%s%s (%s%%)", named ? ", " : "; mostly before ", work->names[at],
		         wt_text_percent(percent, most, whole));
		above = most;
	}
}

static double sum_gaps(const struct wt_ledger *ledger, enum wt_gap_cause cause, bool is_short)
{
	double sum = 0;

	for (size_t i = 0; i < ledger->device_count; i++) {
		const struct wt_ledger_device *device = &ledger->devices[i];

		sum += (double)(is_short ? device->short_gap_ns[cause] : device->gap_ns[cause]) *
		       (double)device->sms;
	}
	return sum;
}

static void find_launch_bound(struct work *work)
{
	char count[WT_TEXT_NUMBER_BYTES];
	static const enum wt_gap_cause causes[] = {WT_GAP_LAUNCH, WT_GAP_HOST};
	const struct wt_ledger *ledger = work->ledger;
	struct wt_finding *finding;
	double stake = 0;
	int64_t gaps = 0;

	for (size_t c = 0; c < sizeof(causes) / sizeof(causes[0]); c++)
		stake += sum_gaps(ledger, causes[c], true);
	for (size_t i = 0; i < ledger->device_count; i++)
		gaps += ledger->devices[i].short_gaps;
	finding = add(work, "launch-bound", stake, stake);
	if (!finding)
		return;
	say(finding->title, sizeof(finding->title),
	    "launch-bound: the GPU waits for the next launch");
	EVIDENCE(finding, "host and launch time in %s gaps of at most 1 ms",
	         wt_text_count(count, gaps));
	name_kernels_after(work, causes, 2, true, finding);
	finding->explanation = "The program launches all the time, and what it does for each "
	                       "launch takes longer than the kernels run.";
	finding->advice =
	        "CUDA graphs (torch.compile with mode=\"reduce-overhead\"), fusion, larger "
	        "batches, fewer and larger kernels.";
}

static void find_host(struct work *work)
{
	char count[WT_TEXT_NUMBER_BYTES];
	double stake = sum_gaps(work->ledger, WT_GAP_HOST, false) -
	               sum_gaps(work->ledger, WT_GAP_HOST, true) +
	               sum_gaps(work->ledger, WT_GAP_LAUNCH, false) -
	               sum_gaps(work->ledger, WT_GAP_LAUNCH, true);
	struct wt_finding *finding = add(work, "host", stake, stake);
	int64_t gaps = 0;

	if (!finding)
		return;
	say(finding->title, sizeof(finding->title), "the host keeps the GPU waiting");
	for (size_t i = 0; i < work->ledger->device_count; i++)
		gaps += work->ledger->devices[i].gaps - work->ledger->devices[i].short_gaps;
	EVIDENCE(finding, "%s gaps of more than 1 ms, and what of them no other cause explains",
	         wt_text_count(count, gaps));
	finding->explanation =
	        "The launching thread was elsewhere: Python, data loading, logging, a "
	        "lock, I/O.";
	finding->advice =
	        "Load data in workers and ahead of time; keep logging and checkpoints off the "
	        "launching thread; look at what it does with py-spy or perf.";
}

/* "cuStreamSynchronize 12 times, 640.0ms": the calls of a class in the window, most time first. */
static int name_calls(struct work *work, int api_class, struct wt_finding *finding)
{
	const struct wt_select *select = work->ledger->select;
	static const char sql[] = "SELECT a.name, count(*), sum(c.return_ns - c.entry_ns)"
	                          " FROM api_call c JOIN api a USING (api) WHERE a.class = ?1"
	                          " AND (?2 OR c.entry_ns < ?4 AND c.return_ns > ?3)"
	                          " GROUP BY a.name ORDER BY 3 DESC LIMIT 3";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int(s, 1, api_class);
	sqlite3_bind_int(s, 2, !select || !select->has_window);
	sqlite3_bind_int64(s, 3, work->ledger->start_ns);
	sqlite3_bind_int64(s, 4, work->ledger->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		char count[WT_TEXT_NUMBER_BYTES], time[WT_TEXT_NUMBER_BYTES];

		EVIDENCE(finding, "; %s %s times, %s", (const char *)sqlite3_column_text(s, 0),
		         wt_text_count(count, sqlite3_column_int64(s, 1)),
		         wt_text_ns(time, sqlite3_column_int64(s, 2)));
	}
	sqlite3_finalize(s);
	return rc;
}

/* Causes that are findings by themselves. Classes are enum wt_api_class; 0: no calls to name. */
static const struct cause_finding {
	enum wt_gap_cause cause;
	int api_class;
	const char *kind, *title, *explanation, *advice;
} cause_findings[] = {
        {WT_GAP_SYNC, WT_API_CLASS_SYNC, "sync", "the launching thread waits for the GPU",
         "While it waits it launches nothing, so the GPU runs dry before the next kernel comes.",
         "Synchronise less often: no .item(), .cpu() or print of a tensor in the loop, events in "
         "place of a synchronisation, pinned memory for copies."},
        {WT_GAP_ALLOC, WT_API_CLASS_ALLOC, "alloc",
         "allocating, freeing or building graphs holds launches up",
         "cudaMalloc and cudaFree take long, and some of them synchronise the device.",
         "A caching allocator, or memory pools (cudaMallocAsync); allocate outside the loop; build "
         "graphs once."},
        {WT_GAP_LOAD, WT_API_CLASS_MODULE, "load", "loading or compiling code holds the GPU up",
         "Modules are loaded or compiled when first used.",
         "Warm up before the part that counts; keep the CUDA and Triton caches; "
         "CUDA_MODULE_LOADING=EAGER moves it to the start."},
        {WT_GAP_COPY, 0, "copy-exposed", "copies that no kernel hides",
         "The GPU copies and computes at the same time if both are in flight.",
         "Pinned memory, non_blocking copies on a stream of their own, and the copies for the next "
         "step during this one; directions and memory: wavetap copies."},
        {WT_GAP_DEPENDENCY, WT_API_CLASS_DEPEND, "dependency",
         "streams wait for each other or for the host",
         "An event or host function ahead of the kernel had not been reached.",
         "Fewer or later waits between streams; no host functions between kernels."},
        {WT_GAP_PROFILER, 0, "profiler", "the profiler holds the program up",
         "CUPTI's buffers and flushes took time on the launching thread.",
         "Part of what watching costs: it would not be there without it."},
        {WT_GAP_TURNAROUND, 0, "turnaround", "between kernels that were queued in time",
         "The GPU takes a microsecond or two from one kernel to the next, however early it was "
         "launched.",
         "Fewer, larger kernels; independent ones on streams of their own; programmatic dependent "
         "launch."},
        {WT_GAP_STARTUP, 0, "startup", "before a process launched anything",
         "The device had nothing to do until its process came.",
         "A matter of the job, not of its kernels: select the part that counts with --from."},
        {WT_GAP_AFTER, 0, "after", "after the last kernel of a device",
         "Other devices of the run, or copies, went on.",
         "Even the work out between devices; or select the part that counts with --to."},
        {WT_GAP_GRAPH, 0, "graph", "between nodes of graphs",
         "The GPU takes about a microsecond from node to node.",
         "Fewer, larger nodes; branches that can run side by side."},
        {WT_GAP_UNKNOWN, 0, "unknown", "gaps without a known launch",
         "The launch of the kernel after the gap was not seen, or kernels were lost: wavetap "
         "status "
         "has the losses.",
         "Look at the losses first."},
};

static int find_causes(struct work *work)
{
	for (size_t i = 0; i < sizeof(cause_findings) / sizeof(cause_findings[0]); i++) {
		const struct cause_finding *known = &cause_findings[i];
		double stake = sum_gaps(work->ledger, known->cause, false);
		struct wt_finding *finding = add(work, known->kind, stake, stake);
		int rc = 0;

		if (!finding)
			continue;
		say(finding->title, sizeof(finding->title), "%s", known->title);
		EVIDENCE(finding, "gaps with the cause %s", wt_gap_cause_name(known->cause));
		name_kernels_after(work, &known->cause, 1, false, finding);
		finding->explanation = known->explanation;
		finding->advice = known->advice;
		if (known->api_class)
			rc = name_calls(work, known->api_class, finding);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- beside the ledger */

/*
 * Launches of one configuration that took longer than twice the fastest: what they took more. Not
 * idle SM-time, so not a line of the ledger.
 */
static int find_variance(struct work *work)
{
	static const char sql[] =
	        "SELECT c.kernel_id, sum(s.launches), sum((s.time_ns - s.launches * s.min_ns) * "
	        "d.sm_count), min(s.min_ns), max(s.max_ns), max(sqrt(s.m2_ns2 / s.launches) * "
	        "s.launches"
	        " / s.time_ns)"
	        " FROM config_stat s JOIN config c USING (config_id) JOIN gpu d USING (device_id)"
	        " WHERE s.launches >= ?1 AND s.max_ns > 2 * s.min_ns"
	        " AND sqrt(s.m2_ns2 / s.launches) * s.launches > 0.5 * s.time_ns GROUP BY "
	        "c.kernel_id";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int(s, 1, VARIANCE_LAUNCHES_MIN);
	while ((rc = wt_report_step(s)) > 0) {
		/* Launches that overlap could take more beyond the fastest than there was time. */
		double stake = fmin(sqlite3_column_double(s, 2), work->diagnosis->total_sm_ns);
		struct wt_finding *finding = add(work, "variance", 0, stake);
		char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

		if (!finding)
			continue;
		finding->is_ledger_line = false;
		finding->kernel_id = sqlite3_column_int64(s, 0);
		for (size_t i = 0; i < work->ledger->kernel_count; i++)
			if (work->ledger->kernels[i].kernel_id == finding->kernel_id)
				say(finding->title, sizeof(finding->title),
				    "one launch is not like the other: %s", work->names[i]);
		EVIDENCE(finding,
		         "%lld launches, the same configuration took %s to %s, coefficient of "
		         "variation %.2f",
		         (long long)sqlite3_column_int64(s, 1),
		         wt_text_ns(a, sqlite3_column_int64(s, 3)),
		         wt_text_ns(b, sqlite3_column_int64(s, 4)), sqlite3_column_double(s, 5));
		finding->explanation = "Launches with equal geometry should take about equally "
		                       "long. The stake is what "
		                       "they take beyond the fastest; it is not idle time.";
		finding->advice =
		        "Unequal data, caches, clocks that change, another kernel or process on "
		        "the GPU at the same time: wavetap show has the histogram.";
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- the whole */

static int by_stake(const void *left, const void *right)
{
	const struct wt_finding *a = left, *b = right;

	if (a->is_ledger_line != b->is_ledger_line)
		return a->is_ledger_line ? -1 : 1;
	if (a->stake_max_sm_ns != b->stake_max_sm_ns)
		return a->stake_max_sm_ns > b->stake_max_sm_ns ? -1 : 1;
	return strcmp(a->title, b->title);
}

static int find_all(struct work *work)
{
	int rc;

	find_small_grids(work);
	find_waves(work);
	find_launch_bound(work);
	find_host(work);
	rc = find_causes(work);
	return rc ? rc : find_variance(work);
}

int wt_diagnose(sqlite3 *db, const struct wt_ledger *ledger, double threshold,
                struct wt_diagnosis *diagnosis)
{
	const char **names = calloc(ledger->kernel_count + 1, sizeof(*names));
	struct work work = {.db = db, .ledger = ledger, .diagnosis = diagnosis};
	int rc = names ? 0 : -ENOMEM;

	memset(diagnosis, 0, sizeof(*diagnosis));
	for (size_t i = 0; i < ledger->device_count; i++)
		diagnosis->total_sm_ns += (double)ledger->devices[i].total_sm_ns;
	work.least_sm_ns = threshold * diagnosis->total_sm_ns;
	for (size_t i = 0; !rc && i < ledger->kernel_count; i++)
		names[i] = ledger->kernels[i].name;
	if (!rc)
		rc = wt_kernel_name_shorten_all(names, ledger->kernel_count, &work.names);
	if (!rc)
		rc = find_all(&work);
	if (rc == -EIO)
		snprintf(diagnosis->problem, sizeof(diagnosis->problem), "%s", sqlite3_errmsg(db));
	if (diagnosis->count)
		qsort(diagnosis->findings, diagnosis->count, sizeof(diagnosis->findings[0]),
		      by_stake);
	wt_kernel_name_free_all(work.names, ledger->kernel_count);
	free(names);
	return rc;
}

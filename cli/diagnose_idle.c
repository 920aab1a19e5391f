/*
 * diagnose_idle.c - findings from gaps: diagnose_gaps.h has shared them out, here they get their
 * words. Copies are in diagnose_copies.c. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diagnose_impl.h"
#include "cli/report_sql.h"
#include "schema/wt_api.h"

#define KERNELS_NAMED 3
#define CALLS_NAMED 3
#define GRAPH_CALLS_FROM 130 /* wt_hooks.def: they build graphs, the module calls below load code */

/* Which calls a finding names. */
enum calls { CALLS_NONE, CALLS_SYNC, CALLS_ALLOC, CALLS_LOAD, CALLS_MAX };

static const struct family_finding {
	enum wt_family family;
	enum calls calls;
	const char *kind, *title, *seen, *explanation, *advice;
} family_findings[] = {
        {WT_FAMILY_SYNC_EACH, CALLS_SYNC, "sync-each-launch",
         "the launching thread waits for the GPU after many launches", "",
         "With every wait the GPU runs dry: nothing is queued while the thread returns from it and "
         "prepares the next launch. At the greatest all of that time, at the least what was spent "
         "inside the waits.",
         "Wait once a step, not after each kernel: keep values on the GPU (no .item(), .cpu(), "
         "bool(tensor) or print in the loop), copy results with non_blocking and read them later."},
        {WT_FAMILY_SYNC, CALLS_SYNC, "sync", "the launching thread waits for the GPU", "",
         "While it waits it launches nothing, so the GPU runs dry before the next kernel comes.",
         "Synchronise less often: no .item(), .cpu() or print of a tensor in the loop, events in "
         "place of a synchronisation, pinned memory for copies."},
        {WT_FAMILY_ALLOC, CALLS_ALLOC, "alloc",
         "allocating, freeing or building graphs holds launches up", "",
         "cudaMalloc and cudaFree take long, and some of them synchronise the device.",
         "A caching allocator, or memory pools (cudaMallocAsync); allocate outside the loop; build "
         "graphs once."},
        {WT_FAMILY_COLD, CALLS_LOAD, "cold-start",
         "start-up: before kernels are launched for the first time", "",
         "A process compiles, loads and tunes code, allocates and reads its data before it "
         "launches "
         "kernels it has not launched yet. At the least what was spent loading.",
         "A matter of short jobs: keep the CUDA, Triton and inductor caches; select the part that "
         "counts with --from or --steps."},
        {WT_FAMILY_LATE, CALLS_LOAD, "late-load",
         "new kernels after the first steps: compiled or loaded late", "",
         "A kernel that is launched for the first time is compiled or loaded then, and the GPU "
         "waits: a new shape, a branch not taken before, evaluation. At the least what was spent "
         "loading.",
         "Warm up every shape and branch before the part that counts; fixed or padded shapes "
         "(dynamic=True); keep the caches; CUDA_MODULE_LOADING=EAGER."},
        {WT_FAMILY_LOAD, CALLS_LOAD, "load", "loading or compiling code holds the GPU up", "",
         "Modules are loaded or compiled when first used; here before kernels that had run before, "
         "or "
         "others of their name: autotuning. At the least what was spent loading.",
         "Warm up before the part that counts; keep the CUDA and Triton caches; "
         "CUDA_MODULE_LOADING=EAGER moves it to the start."},
        {WT_FAMILY_GRAPH_BREAK, CALLS_NONE, "graph-break",
         "CUDA graph breaks: the host is too late with the next graph", "",
         "Between two launches of graphs by one thread or into one stream, without a wait for the "
         "GPU, it ran dry: what the host does in between takes longer than the graph runs.",
         "One graph for the whole step; capture what is launched in between, too "
         "(torch._dynamo.explain names graph breaks); launch the next graph before the work of the "
         "host."},
        {WT_FAMILY_SMALL_KERNELS, CALLS_NONE, "small-kernels",
         "chains of small kernels: launching takes longer than running", "",
         "A launch takes microseconds however little the kernel does, so a chain of kernels this "
         "short is bound by launching.",
         "Fusion (torch.compile, foreach or fused optimizers), CUDA graphs "
         "(mode=\"reduce-overhead\"), larger batches."},
        {WT_FAMILY_LAUNCH_BOUND, CALLS_NONE, "launch-bound",
         "launch-bound: the GPU waits for the next launch", "of at most 1 ms: host and launch time",
         "The program launches all the time, and what it does for each launch takes longer than "
         "the "
         "kernels run.",
         "CUDA graphs (torch.compile with mode=\"reduce-overhead\"), fusion, larger batches, fewer "
         "and larger kernels."},
        {WT_FAMILY_DATA, CALLS_NONE, "data-loading",
         "the host keeps the GPU waiting at the start of steps",
         "of more than 100 us before the first kernel of a step: host and launch time",
         "Between steps the launching thread fetches data, logs or saves: whatever it does there, "
         "the GPU waits for it.",
         "Load and transform data in workers, ahead of time (num_workers, prefetch_factor, "
         "pin_memory); log and save every so many steps, from another thread."},
        {WT_FAMILY_HOST, CALLS_NONE, "host", "the host keeps the GPU waiting",
         "of more than 1 ms, what of them no other cause explains",
         "The launching thread was elsewhere: Python, data loading, logging, a lock, I/O.",
         "Load data in workers and ahead of time; keep logging and checkpoints off the launching "
         "thread; look at what it does with py-spy or perf."},
        {WT_FAMILY_DEPENDENCY, CALLS_NONE, "dependency",
         "streams wait for each other or for the host", "",
         "An event or host function ahead of the kernel had not been reached.",
         "Fewer or later waits between streams; no host functions between kernels."},
        {WT_FAMILY_PROFILER, CALLS_NONE, "profiler", "the profiler holds the program up", "",
         "CUPTI's buffers and flushes took time on the launching thread.",
         "Part of what watching costs: it would not be there without it."},
        {WT_FAMILY_TURNAROUND, CALLS_NONE, "turnaround", "between kernels that were queued in time",
         "",
         "The GPU takes a microsecond or two from one kernel to the next, however early it was "
         "launched.",
         "Fewer, larger kernels; independent ones on streams of their own; programmatic dependent "
         "launch."},
        {WT_FAMILY_STARTUP, CALLS_NONE, "startup", "before a process launched anything", "",
         "The device had nothing to do until its process came.",
         "A matter of the job, not of its kernels: select the part that counts with --from."},
        {WT_FAMILY_AFTER, CALLS_NONE, "after", "after the last kernel of a device", "",
         "Other devices of the run, or copies, went on.",
         "Even the work out between devices; or select the part that counts with --to."},
        {WT_FAMILY_GRAPH, CALLS_NONE, "graph", "between nodes of graphs", "",
         "The GPU takes about a microsecond from node to node.",
         "Fewer, larger nodes; branches that can run side by side."},
        {WT_FAMILY_UNKNOWN, CALLS_NONE, "unknown", "gaps without a known launch", "",
         "The launch of the kernel after the gap was not seen, or kernels were lost: wavetap "
         "status "
         "has the losses.",
         "Look at the losses first."},
};

/* ---- evidence */

/* "; mostly before A (40%), B (12%), C (9%)": the kernels that ended such gaps. */
static void name_kernels(struct wt_diagnosing *work, enum wt_family family,
                         struct wt_finding *finding)
{
	const struct wt_gaps *gaps = work->gaps;
	double whole = gaps->sum[family].sm_ns.most, above = 1e300;

	for (int named = 0; named < KERNELS_NAMED; named++) {
		const struct wt_family_kernel *most = NULL;
		char percent[WT_TEXT_NUMBER_BYTES];

		for (size_t i = 0; i < gaps->kernel_count; i++) {
			double sm_ns = gaps->kernels[i].sm_ns[family];

			if (sm_ns < above && sm_ns > (most ? most->sm_ns[family] : 0))
				most = &gaps->kernels[i];
		}
		if (!most)
			return;
		above = most->sm_ns[family];
		WT_EVIDENCE(finding, "%s%s (%s%%)", named ? ", " : "; mostly before ",
		            wt_diagnose_kernel_name(work, most->kernel_id),
		            wt_text_percent(percent, above, whole));
	}
}

struct call_sum {
	int64_t count; /* calls that were in gaps */
	double gap_ns; /* for how long; damaged times may sum beyond 64 bits */
};

static enum calls calls_of(int class, int api)
{
	if (class == WT_API_CLASS_SYNC)
		return CALLS_SYNC;
	if (class == WT_API_CLASS_ALLOC || api >= GRAPH_CALLS_FROM)
		return CALLS_ALLOC;
	return CALLS_LOAD;
}

/* The gaps of one family of new kernels, or those of all others, united; *ret_at is the caller's. */
static int collect_gaps(const struct wt_gaps *gaps, enum wt_family family,
                        struct wt_interval **ret_at, size_t *ret_count)
{
	struct wt_interval *at = calloc(gaps->call_gap_count + 1, sizeof(*at));
	bool is_new = family == WT_FAMILY_COLD || family == WT_FAMILY_LATE;
	size_t count = 0;

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < gaps->call_gap_count; i++)
		if (gaps->call_gaps[i].family == (is_new ? family : WT_FAMILY_MAX))
			at[count++] = gaps->call_gaps[i].interval;
	*ret_count = wt_intervals_unite(at, count);
	*ret_at = at;
	return 0;
}

static int sum_calls(struct wt_diagnosing *work, enum calls calls, const struct wt_intervals *gaps,
                     struct call_sum sums[WT_API_MAX])
{
	static const char sql[] =
	        "SELECT c.api, a.class, max(c.entry_ns, ?1), min(c.return_ns, ?2)"
	        " FROM api_call c JOIN api a USING (api) WHERE a.class IN (4, 7, 8)"
	        " AND c.entry_ns < ?2 AND c.return_ns > ?1";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, sql, &s);

	memset(sums, 0, sizeof(*sums) * WT_API_MAX);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, work->ledger->start_ns);
	sqlite3_bind_int64(s, 2, work->ledger->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		int api = sqlite3_column_int(s, 0);
		int64_t entry_ns = sqlite3_column_int64(s, 2);
		int64_t return_ns = sqlite3_column_int64(s, 3), gap_ns;

		if (api <= 0 || api >= WT_API_MAX || return_ns < entry_ns ||
		    calls_of(sqlite3_column_int(s, 1), api) != calls)
			continue;
		gap_ns = wt_intervals_overlap_ns(gaps, entry_ns, return_ns);
		sums[api].count += gap_ns > 0;
		sums[api].gap_ns += (double)gap_ns;
	}
	sqlite3_finalize(s);
	return rc;
}

/* "; cuMemFree_v2 12 times, 640.0ms in gaps": most time first. */
static int name_calls(struct wt_diagnosing *work, const struct family_finding *known,
                      struct wt_finding *finding)
{
	struct call_sum sums[WT_API_MAX];
	struct wt_intervals gaps = {0};
	struct wt_interval *at = NULL;
	int rc = collect_gaps(work->gaps, known->family, &at, &gaps.count);

	gaps.at = at;
	if (!rc)
		rc = sum_calls(work, known->calls, &gaps, sums);
	for (int named = 0; !rc && named < CALLS_NAMED; named++) {
		char count[WT_TEXT_NUMBER_BYTES], time[WT_TEXT_NUMBER_BYTES];
		unsigned best = 0;

		for (unsigned api = 1; api < WT_API_MAX; api++)
			if (sums[api].gap_ns > sums[best].gap_ns)
				best = api;
		if (!sums[best].count || !wt_api_name(best))
			break;
		WT_EVIDENCE(finding, "; %s %s, %s in gaps", wt_api_name(best),
		            wt_finding_times(count, sums[best].count),
		            wt_text_ns(time, (int64_t)fmin(sums[best].gap_ns, 9e18)));
		sums[best] = (struct call_sum){0, 0};
	}
	free(at);
	return rc;
}

/* The kernels that were new; a kernel is so to each device by itself. */
static void say_late(struct wt_diagnosing *work, const struct wt_gaps_found *found,
                     struct wt_finding *finding)
{
	bool has_devices = work->ledger->device_count > 1;
	char text[WT_TEXT_NUMBER_BYTES];

	WT_EVIDENCE(finding, "; %s new kernel%s%s", wt_text_count(text, found->late_kernels),
	            found->late_kernels == 1 ? "" : "s",
	            has_devices && found->late_kernels > 1 ? ", each device by itself" : "");
	for (size_t i = 0; i < sizeof(found->late) / sizeof(found->late[0]); i++) {
		const struct wt_late_kernel *late = &found->late[i];

		if (!late->kernel_id)
			continue;
		WT_EVIDENCE(finding, "%s%s", i ? ", " : ": ",
		            wt_diagnose_kernel_name(work, late->kernel_id));
		if (has_devices)
			WT_EVIDENCE(finding, " on device %" PRId64, late->device_id);
		WT_EVIDENCE(finding, " %s into the window",
		            wt_text_ns(text, late->at_ns - work->ledger->start_ns));
	}
}

/* What only one family knows of itself. */
static void say_seen(struct wt_diagnosing *work, enum wt_family family, struct wt_finding *finding)
{
	const struct wt_gaps_found *found = &work->gaps->found;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	char d[WT_TEXT_NUMBER_BYTES];

	if (family == WT_FAMILY_SYNC_EACH) {
		WT_EVIDENCE(finding, "; a wait, and then a gap, before %s of %s launches (%s%%)",
		            wt_text_count(a, found->launches_after_wait),
		            wt_text_count(b, found->launches),
		            wt_text_percent(c, (double)found->launches_after_wait,
		                            (double)found->launches));
	} else if (family == WT_FAMILY_GRAPH_BREAK) {
		WT_EVIDENCE(finding, "; %s break%s of more than %s",
		            wt_text_count(a, found->breaks), found->breaks == 1 ? "" : "s",
		            wt_text_ns(b, work->gaps->graph_gap_ns));
	} else if (family == WT_FAMILY_SMALL_KERNELS && found->chain_kernels) {
		WT_EVIDENCE(finding,
		            "; %s kernels in %s chain%s of %d or more, each under 10 us, %s on "
		            "average, and %s without a kernel before each",
		            wt_text_count(a, found->chain_kernels), wt_text_count(b, found->chains),
		            found->chains == 1 ? "" : "s", WT_DIAGNOSE_CHAIN_MIN,
		            wt_text_ns(c, found->chain_busy_ns / found->chain_kernels),
		            wt_text_ns(d, found->chain_idle_ns / found->chain_kernels));
	} else if (family == WT_FAMILY_LATE) {
		say_late(work, found, finding);
	}
}

int wt_diagnose_idle(struct wt_diagnosing *work)
{
	for (size_t i = 0; i < sizeof(family_findings) / sizeof(family_findings[0]); i++) {
		const struct family_finding *known = &family_findings[i];
		struct wt_finding *finding =
		        wt_finding_add_family(work, known->kind, known->family);
		char count[WT_TEXT_NUMBER_BYTES];
		int rc = 0;

		if (!finding)
			continue;
		WT_TITLE(finding, "%s", known->title);
		WT_EVIDENCE(finding, "%s gap%s",
		            wt_text_count(count, work->gaps->sum[known->family].gaps),
		            work->gaps->sum[known->family].gaps == 1 ? "" : "s");
		if (*known->seen)
			WT_EVIDENCE(finding, " %s", known->seen);
		say_seen(work, known->family, finding);
		if (known->family != WT_FAMILY_LATE)
			name_kernels(work, known->family, finding);
		finding->explanation = known->explanation;
		finding->advice = known->advice;
		if (known->calls)
			rc = name_calls(work, known, finding);
		if (rc)
			return rc;
	}
	return 0;
}

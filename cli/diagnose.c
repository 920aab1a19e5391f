/*
 * diagnose.c - see diagnose.h: what all findings share, and their order. Single-threaded; blocks
 * on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diagnose_impl.h"
#include "cli/kernel_name.h"
#include "cli/ledger_lines.h"
#include "cli/report_sql.h"

#define NAME_COLUMNS_MAX 64

void wt_finding_say(char *text, size_t text_bytes, const char *format, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, format);
	if (used < text_bytes)
		vsnprintf(text + used, text_bytes - used, format, ap);
	va_end(ap);
}

char *wt_finding_times(char text[WT_TEXT_NUMBER_BYTES], int64_t count)
{
	char number[WT_TEXT_NUMBER_BYTES];

	if (count == 1)
		snprintf(text, WT_TEXT_NUMBER_BYTES, "once");
	else
		snprintf(text, WT_TEXT_NUMBER_BYTES, "%.40s times", wt_text_count(number, count));
	return text;
}

/* One more, or the smallest, if that is smaller; else NULL. */
static struct wt_finding *make_room(struct wt_diagnosis *diagnosis, double most)
{
	struct wt_finding *least = &diagnosis->findings[0];

	if (diagnosis->count < WT_FINDINGS_MAX)
		return &diagnosis->findings[diagnosis->count++];
	for (size_t i = 1; i < diagnosis->count; i++)
		if (diagnosis->findings[i].stake_max_sm_ns < least->stake_max_sm_ns)
			least = &diagnosis->findings[i];
	return least->stake_max_sm_ns < most ? least : NULL;
}

struct wt_finding *wt_finding_add(struct wt_diagnosing *work, const char *kind, double least,
                                  double most)
{
	struct wt_finding *finding;

	if (most < work->least_sm_ns || most <= 0)
		return NULL;
	finding = make_room(work->diagnosis, most);
	if (!finding)
		return NULL;
	memset(finding, 0, sizeof(*finding));
	finding->kind = kind;
	finding->stake_sm_ns = least;
	finding->stake_max_sm_ns = most;
	finding->is_ledger_line = true;
	finding->grade = "model";
	return finding;
}

struct wt_finding *wt_finding_add_family(struct wt_diagnosing *work, const char *kind,
                                         enum wt_family family)
{
	const struct wt_family_share *sm_ns = &work->gaps->sum[family].sm_ns;

	return wt_finding_add(work, kind, sm_ns->least, sm_ns->most);
}

size_t wt_diagnose_kernel_at(const struct wt_diagnosing *work, int64_t kernel_id)
{
	size_t low = 0, high = work->ledger->kernel_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (work->ledger->kernels[middle].kernel_id < kernel_id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < work->ledger->kernel_count && work->ledger->kernels[low].kernel_id == kernel_id)
		return low;
	return SIZE_MAX;
}

const char *wt_diagnose_kernel_name(const struct wt_diagnosing *work, int64_t kernel_id)
{
	size_t at = wt_diagnose_kernel_at(work, kernel_id);

	return at == SIZE_MAX ? "a kernel" : work->names[at];
}

const char *wt_diagnose_peace(const char *name)
{
	static const char *const marks[] = {"persistent", "stream_k", "streamk", "stream-k"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strcasestr(name, marks[i]))
			return "persistent or Stream-K by its name: its blocks share out the work "
			       "themselves, so the grid tells nothing of waves";
	return NULL;
}

void wt_diagnose_leave(struct wt_diagnosing *work, int64_t kernel_id, double kernel_sm_ns,
                       const char *reason)
{
	struct wt_diagnosis *diagnosis = work->diagnosis;
	struct wt_left *left;

	if (kernel_sm_ns < work->least_sm_ns || kernel_sm_ns <= 0 ||
	    diagnosis->left_count == WT_LEFT_MAX)
		return;
	left = &diagnosis->left[diagnosis->left_count++];
	left->kernel_id = kernel_id;
	snprintf(left->kernel, sizeof(left->kernel), "%s",
	         wt_diagnose_kernel_name(work, kernel_id));
	left->kernel_sm_ns = kernel_sm_ns;
	left->reason = reason;
}

/* ---- the whole */

/* Idle time first: what is lost there is certain, and the rest may be as good as it gets. */
static int by_stake(const void *left, const void *right)
{
	const struct wt_finding *a = left, *b = right;

	if (a->is_ledger_line != b->is_ledger_line)
		return a->is_ledger_line ? -1 : 1;
	if (a->stake_max_sm_ns != b->stake_max_sm_ns)
		return a->stake_max_sm_ns > b->stake_max_sm_ns ? -1 : 1;
	return strcmp(a->title, b->title);
}

/*
 * What the greatest of partial waves may take is idle already; collectives wait for others, so their time
 * is judged apart.
 */
static void find_busy(struct wt_diagnosing *work)
{
	for (size_t i = 0; i < work->ledger->kernel_count; i++) {
		const struct wt_sweep_share *share = &work->ledger->kernels[i].share;

		work->busy_sm_ns[i] =
		        fmax(0, (double)share->active_sm_ns - (double)share->active_comm_sm_ns -
		                        (double)(share->wave_max_sm_ns - share->wave_sm_ns));
	}
}

static int find_all(struct wt_diagnosing *work)
{
	int rc = wt_diagnose_load_measured(work);

	if (!rc)
		rc = wt_diagnose_kernels(work);
	if (!rc)
		rc = wt_diagnose_idle(work);
	if (!rc)
		rc = wt_diagnose_copies(work);
	if (!rc)
		rc = wt_diagnose_comm(work);
	if (!rc)
		rc = wt_diagnose_states(work);
	return rc ? rc : wt_diagnose_active(work);
}

/* Names of templates fill a screen; the id says which kernel it is. */
static int fit_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *fit = wt_text_fit(names[i], NAME_COLUMNS_MAX, false);

		if (!fit)
			return -ENOMEM;
		free(names[i]);
		names[i] = fit;
	}
	return 0;
}

static int find_named(struct wt_diagnosing *work)
{
	const struct wt_ledger *ledger = work->ledger;
	const char **names = calloc(ledger->kernel_count + 1, sizeof(*names));
	int rc;

	work->busy_sm_ns = calloc(ledger->kernel_count + 1, sizeof(*work->busy_sm_ns));
	rc = names && work->busy_sm_ns ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < ledger->kernel_count; i++)
		names[i] = ledger->kernels[i].name;
	if (!rc)
		rc = wt_kernel_name_shorten_all(names, ledger->kernel_count, &work->names);
	if (!rc) {
		find_busy(work);
		rc = fit_names(work->names, ledger->kernel_count);
		if (!rc)
			rc = find_all(work);
		wt_kernel_name_free_all(work->names, ledger->kernel_count);
	}
	free(work->measured);
	free(work->busy_sm_ns);
	free(names);
	return rc;
}

/* Of SMs x time of all kernels. */
static double measured_share(const struct wt_ledger *ledger)
{
	double measured = 0, whole = 0;

	for (size_t i = 0; i < ledger->device_count; i++) {
		int64_t parts_sm_ns[WT_EVIDENCE_MAX];

		whole += (double)wt_ledger_measured(&ledger->devices[i], parts_sm_ns);
		measured += (double)parts_sm_ns[WT_EVIDENCE_SAMPLED] +
		            (double)parts_sm_ns[WT_EVIDENCE_PROFILED];
	}
	return whole > 0 ? measured / whole : 0;
}

int wt_diagnose(sqlite3 *db, const struct wt_ledger *ledger, struct wt_gaps *gaps,
                const struct wt_diagnose_limits *limits, struct wt_diagnosis *diagnosis)
{
	struct wt_diagnosing work = {
	        .db = db, .ledger = ledger, .gaps = gaps, .limits = limits, .diagnosis = diagnosis};
	int rc;

	memset(diagnosis, 0, sizeof(*diagnosis));
	for (size_t i = 0; i < ledger->device_count; i++)
		diagnosis->total_sm_ns += (double)ledger->devices[i].total_sm_ns;
	diagnosis->measured_share = measured_share(ledger);
	work.least_sm_ns = limits->threshold * diagnosis->total_sm_ns;
	wt_gaps_finish(gaps);
	rc = find_named(&work);
	if (rc == -EIO)
		snprintf(diagnosis->problem, sizeof(diagnosis->problem), "%s",
		         wt_report_problem(db));
	if (diagnosis->count)
		qsort(diagnosis->findings, diagnosis->count, sizeof(diagnosis->findings[0]),
		      by_stake);
	return rc;
}

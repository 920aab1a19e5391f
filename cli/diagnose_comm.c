/*
 * diagnose_comm.c - collectives that nothing hides, and who waits in them for whom (collectives.h).
 *
 * What of the ledger's `comm` is waiting follows from the share of the time in which only collectives
 * ran. Single-threaded; blocks on the file. Memory: collectives.h, and 16 bytes a kernel, only if
 * there are collectives.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "cli/collectives.h"
#include "cli/diagnose_impl.h"
#include "cli/report_sql.h"

#define RANKS_NAMED 4

struct intervals {
	struct wt_interval *at;
	size_t count;
};

static int add_interval(struct intervals *set, const struct wt_ledger *ledger, int64_t start_ns,
                        int64_t end_ns)
{
	struct wt_interval *one;

	start_ns = start_ns > ledger->start_ns ? start_ns : ledger->start_ns;
	end_ns = end_ns < ledger->end_ns ? end_ns : ledger->end_ns;
	if (end_ns <= start_ns)
		return 0;
	one = wt_report_append(&set->at, &set->count, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct wt_interval){start_ns, end_ns};
	return 0;
}

/* ---- what of it nothing hides */

static int load_others(struct wt_diagnosing *work, int64_t device_id, struct intervals *others)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        work->db,
	        "SELECT c.kernel_id, e.start_ns, e.end_ns FROM kernel_row e JOIN config c "
	        "USING (config_id) WHERE c.device_id = ?1 AND e.end_ns > ?2 AND e.start_ns < ?3"
	        " AND e.end_ns > e.start_ns",
	        &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int64(s, 2, work->ledger->start_ns);
	sqlite3_bind_int64(s, 3, work->ledger->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = wt_diagnose_kernel_at(work, sqlite3_column_int64(s, 0));

		if (at == SIZE_MAX || wt_is_collective_kernel(work->ledger->kernels[at].name))
			continue;
		rc = add_interval(others, work->ledger, sqlite3_column_int64(s, 1),
		                  sqlite3_column_int64(s, 2));
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	others->count = wt_intervals_unite(others->at, others->count);
	return rc;
}

/* Time of the set in which nothing of `others` ran. */
static double exposed_ns(struct intervals *set, const struct intervals *others)
{
	const struct wt_intervals hide = {others->at, others->count};
	double ns = 0;

	set->count = set->at ? wt_intervals_unite(set->at, set->count) : 0;
	for (size_t i = 0; i < set->count; i++)
		ns += (double)(set->at[i].end_ns - set->at[i].start_ns -
		               wt_intervals_overlap_ns(&hide, set->at[i].start_ns,
		                                       set->at[i].end_ns));
	return ns;
}

/* Adds the SM-time of waiting that nothing hid, and the rest of `comm`. */
static int share_device(struct wt_diagnosing *work, const struct wt_collectives *comm,
                        const struct wt_ledger_device *device, double *wait_sm_ns,
                        double *rest_sm_ns)
{
	struct intervals others = {0}, all = {0}, waits = {0};
	double all_ns, wait_ns, sm_ns = (double)device->share.comm_sm_ns;
	int rc = load_others(work, device->device_id, &others);

	for (size_t i = 0; !rc && i < comm->count; i++) {
		const struct wt_wait *one = &comm->waits[i];

		if (comm->members[one->member].device_id != device->device_id)
			continue;
		rc = add_interval(&all, work->ledger, one->start_ns, one->end_ns);
		if (!rc)
			rc = add_interval(&waits, work->ledger, one->start_ns, one->wait_until_ns);
	}
	all_ns = exposed_ns(&all, &others);
	wait_ns = exposed_ns(&waits, &others);
	if (all_ns > 0) {
		*wait_sm_ns += sm_ns * wait_ns / all_ns;
		*rest_sm_ns += sm_ns * (1 - wait_ns / all_ns);
	}
	free(others.at);
	free(all.at);
	free(waits.at);
	return rc;
}

/* ---- words */

static int by_waited(const void *left, const void *right)
{
	const struct wt_collective_member *a = left, *b = right;

	if (a->waited_ns != b->waited_ns)
		return a->waited_ns > b->waited_ns ? -1 : 1;
	return a->process_id < b->process_id ? -1 : a->process_id > b->process_id;
}

static void say_member(const struct wt_collective_member *member, struct wt_finding *finding)
{
	if (member->rank >= 0)
		WT_EVIDENCE(finding, "rank %" PRId64, member->rank);
	else
		WT_EVIDENCE(finding, "process %" PRId64, member->pid);
}

static void say_waits(const struct wt_collectives *comm, struct wt_finding *finding)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	const struct wt_collective_member *last = &comm->members[0];

	for (size_t i = 1; i < comm->member_count; i++)
		if (comm->members[i].last > last->last)
			last = &comm->members[i];
	WT_EVIDENCE(finding, "the last to come was ");
	say_member(last, finding);
	WT_EVIDENCE(finding, " in %s of %s collectives; waited: ", wt_text_count(a, last->last),
	            wt_text_count(b, comm->found.collectives - comm->found.apart));
	qsort(comm->members, comm->member_count, sizeof(*comm->members), by_waited);
	for (size_t i = 0; i < comm->member_count && i < RANKS_NAMED; i++) {
		WT_EVIDENCE(finding, "%s", i ? ", " : "");
		say_member(&comm->members[i], finding);
		WT_EVIDENCE(finding, " %s", wt_text_ns(a, comm->members[i].waited_ns));
	}
	if (comm->member_count > RANKS_NAMED)
		WT_EVIDENCE(finding, ", and %zu more", comm->member_count - RANKS_NAMED);
}

static void find(struct wt_diagnosing *work, struct wt_collectives *comm, double wait_sm_ns,
                 double rest_sm_ns)
{
	char count[WT_TEXT_NUMBER_BYTES];
	struct wt_finding *finding = wt_finding_add(work, "rank-imbalance", wait_sm_ns, wait_sm_ns);

	if (finding) {
		WT_TITLE(finding, "ranks wait for each other in collectives");
		say_waits(comm, finding);
		WT_EVIDENCE(finding, "; hidden by kernels or not; the stake is what was not");
		finding->explanation =
		        "A collective ends when the last rank has come. The others hold its place "
		        "until then, and their SMs have nothing else to do.";
		finding->advice =
		        "Even out the work: batches, sequence lengths, data loading and logging of "
		        "one rank alone; look at that rank by itself with --rank.";
	}
	finding = wt_finding_add(work, "comm-exposed", rest_sm_ns, rest_sm_ns);
	if (!finding)
		return;
	WT_TITLE(finding, "collectives that no other kernel hides");
	WT_EVIDENCE(finding, "SMs left idle while only collectives ran, of %s launches of them%s",
	            wt_text_count(count, (int64_t)comm->count),
	            comm->found.collectives && !comm->found.reason
	                    ? ", without the waiting for other ranks"
	                    : "");
	finding->explanation =
	        "While gradients or activations travel, the SMs that the collective does not use "
	        "could compute.";
	finding->advice =
	        "Overlap with the backward pass (bucket sizes, prefetch of FSDP), fewer bytes "
	        "(bf16 gradients, accumulation), faster links: check NCCL's algorithm and "
	        "topology.";
}

static int find_comm(struct wt_diagnosing *work, struct wt_collectives *comm)
{
	double wait_sm_ns = 0, rest_sm_ns = 0;
	int rc = wt_collectives_load(work->db, work->ledger, comm);

	for (size_t i = 0; !rc && comm->count && i < work->ledger->device_count; i++)
		rc = share_device(work, comm, &work->ledger->devices[i], &wait_sm_ns, &rest_sm_ns);
	if (!rc && comm->count)
		find(work, comm, wait_sm_ns, rest_sm_ns);
	return rc;
}

int wt_diagnose_comm(struct wt_diagnosing *work)
{
	struct wt_collectives comm = {0};
	double sm_ns = 0;
	int rc = 0;

	for (size_t i = 0; i < work->ledger->device_count; i++)
		sm_ns += (double)work->ledger->devices[i].share.comm_sm_ns;
	if (sm_ns >= work->least_sm_ns && sm_ns > 0)
		rc = find_comm(work, &comm);
	wt_collectives_fini(&comm);
	return rc;
}

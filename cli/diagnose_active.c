/*
 * diagnose_active.c - findings of the time in which SMs had blocks: launches of one configuration
 * that take unequal time, ranks whose kernels are slower, few warps on each SM. No idle time: the
 * stake is a share of what is left of a kernel's active SM-time, so that nothing counts twice.
 * Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "cli/diagnose_impl.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "cli/show.h"
#include "schema/wt_db.h"

#define LAUNCHES_MIN 20
#define SLOW_RANK_PERCENT 5 /* slower by less is not worth a word */
#define RANKS_MAX 256
#define OCCUPANCY_LOW 0.5
#define TILE_SMEM_BYTES 65536

/* The kernel's index, if it has active time left and is no collective; else SIZE_MAX. */
static size_t judged_kernel(const struct wt_diagnosing *work, int64_t kernel_id)
{
	size_t at = wt_diagnose_kernel_at(work, kernel_id);

	if (at != SIZE_MAX &&
	    (work->busy_sm_ns[at] <= 0 || wt_is_collective_kernel(work->ledger->kernels[at].name)))
		return SIZE_MAX;
	return at;
}

static struct wt_finding *add_busy(struct wt_diagnosing *work, const char *kind, double most)
{
	struct wt_finding *finding = wt_finding_add(work, kind, 0, most);

	if (finding)
		finding->is_ledger_line = false;
	return finding;
}

/* ---- one launch unlike the other */

static int find_variance(struct wt_diagnosing *work)
{
	static const char sql[] =
	        "SELECT c.kernel_id, total(iif(u, s.launches, 0)),"
	        " total(iif(u, s.time_ns - s.launches * s.min_ns, 0)) / total(s.time_ns),"
	        " min(iif(u, s.min_ns, NULL)), max(iif(u, s.max_ns, NULL)),"
	        " max(iif(u, sqrt(s.m2_ns2 / s.launches) * s.launches / s.time_ns, 0))"
	        " FROM (SELECT *, launches >= ?1 AND max_ns > 2 * min_ns AND time_ns > 0"
	        "  AND sqrt(m2_ns2 / launches) * launches > 0.5 * time_ns AS u FROM config_stat) s"
	        " JOIN config c USING (config_id) GROUP BY 1 HAVING sum(u) > 0 AND "
	        "total(s.time_ns) "
	        "> 0";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int(s, 1, LAUNCHES_MIN);
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = judged_kernel(work, sqlite3_column_int64(s, 0));
		double share = fmin(1, fmax(0, sqlite3_column_double(s, 2)));
		char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], n[WT_TEXT_NUMBER_BYTES];
		struct wt_finding *finding =
		        at == SIZE_MAX ? NULL
		                       : add_busy(work, "variance", share * work->busy_sm_ns[at]);

		if (!finding)
			continue;
		work->busy_sm_ns[at] *= 1 - share;
		finding->kernel_id = sqlite3_column_int64(s, 0);
		WT_TITLE(finding, "one launch is not like the other: %s", work->names[at]);
		WT_EVIDENCE(finding,
		            "%s launches, the same configuration took %s to %s, coefficient of "
		            "variation %.2f",
		            wt_text_count(n, sqlite3_column_int64(s, 1)),
		            wt_text_ns(a, sqlite3_column_int64(s, 3)),
		            wt_text_ns(b, sqlite3_column_int64(s, 4)), sqlite3_column_double(s, 5));
		finding->explanation =
		        "Launches with equal geometry should take about equally long. The stake is "
		        "what they take beyond the fastest; it is not idle time.";
		finding->advice =
		        "Unequal data, caches, clocks that change, another kernel or process on "
		        "the GPU at the same time: wavetap show has the histogram.";
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- one rank unlike the others */

struct rank {
	int64_t process_id, device_id, pid, rank;
	bool has_rank;
	double ns, least_ns; /* in kernels that others ran as well: its own, the fastest's time */
};

struct ranks {
	struct rank at[RANKS_MAX];
	size_t count;
};

static struct rank *find_rank(struct ranks *ranks, int64_t process_id, int64_t device_id)
{
	for (size_t i = 0; i < ranks->count; i++)
		if (ranks->at[i].process_id == process_id && ranks->at[i].device_id == device_id)
			return &ranks->at[i];
	if (ranks->count == RANKS_MAX)
		return NULL;
	ranks->at[ranks->count] = (struct rank){.process_id = process_id, .device_id = device_id};
	return &ranks->at[ranks->count++];
}

/* Kernels of the same shape, by process and device, where several had enough of them. */
static const char shapes_sql[] =
        "WITH g AS (SELECT c.kernel_id, c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y,"
        " c.block_z, c.dynamic_smem_bytes AS smem, s.process_id, c.device_id,"
        " sum(s.launches) AS n, total(s.time_ns) AS t FROM config_stat s JOIN config c USING "
        "(config_id)"
        " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 HAVING n >= ?1),"
        " m AS (SELECT *, min(t / n) OVER shape AS least, count(*) OVER shape AS groups"
        " FROM g WINDOW shape AS (PARTITION BY kernel_id, grid_x, grid_y, grid_z, block_x,"
        " block_y, block_z, smem))"
        " SELECT kernel_id, m.process_id, m.device_id, p.pid, p.rank, total(t), total(least * n)"
        " FROM m JOIN proc p ON p.process_id = m.process_id WHERE groups > 1"
        " GROUP BY 1, 2, 3 ORDER BY 1";

/* What kernels took beyond the fastest rank's, as a share of all their time, into excess_ns. */
static int load_ranks(struct wt_diagnosing *work, struct ranks *ranks, double *excess_ns)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, shapes_sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int(s, 1, LAUNCHES_MIN);
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = judged_kernel(work, sqlite3_column_int64(s, 0));
		struct rank *rank =
		        find_rank(ranks, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2));

		if (at == SIZE_MAX || !rank)
			continue;
		rank->pid = sqlite3_column_int64(s, 3);
		rank->has_rank = sqlite3_column_type(s, 4) != SQLITE_NULL;
		rank->rank = sqlite3_column_int64(s, 4);
		rank->ns += sqlite3_column_double(s, 5);
		rank->least_ns += sqlite3_column_double(s, 6);
		excess_ns[at] += sqlite3_column_double(s, 5) - sqlite3_column_double(s, 6);
	}
	sqlite3_finalize(s);
	return rc;
}

static int load_kernel_times(struct wt_diagnosing *work, double *time_ns)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db,
	                           "SELECT c.kernel_id, total(s.time_ns) FROM config_stat s"
	                           " JOIN config c USING (config_id) GROUP BY 1",
	                           &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = wt_diagnose_kernel_at(work, sqlite3_column_int64(s, 0));

		if (at != SIZE_MAX)
			time_ns[at] = sqlite3_column_double(s, 1);
	}
	sqlite3_finalize(s);
	return rc;
}

static double slowness(const struct rank *rank)
{
	return rank->least_ns > 0 ? rank->ns / rank->least_ns : 0;
}

static void say_ranks(const struct ranks *ranks, struct wt_finding *finding)
{
	const struct rank *slow = &ranks->at[0], *fast = &ranks->at[0];
	const struct rank *ends[2];

	for (size_t i = 1; i < ranks->count; i++) {
		const struct rank *rank = &ranks->at[i];

		if (slowness(rank) > slowness(slow))
			slow = rank;
		if (slowness(rank) > 0 && (slowness(rank) < slowness(fast) || slowness(fast) <= 0))
			fast = rank;
	}
	WT_TITLE(finding, "the same kernels take longer on one %s than on another",
	         slow->has_rank ? "rank" : "device or process");
	ends[0] = slow;
	ends[1] = fast;
	for (int i = 0; i < 2; i++) {
		const struct rank *rank = ends[i];

		WT_EVIDENCE(finding, "%s", i ? ", " : "");
		if (rank->has_rank)
			WT_EVIDENCE(finding, "rank %" PRId64, rank->rank);
		else
			WT_EVIDENCE(finding, "process %" PRId64, rank->pid);
		WT_EVIDENCE(finding,
		            " on device %" PRId64 ": %.1f%% longer than the fastest of each kernel",
		            rank->device_id, 100 * (slowness(rank) - 1));
	}
}

static int find_slow_ranks(struct wt_diagnosing *work)
{
	size_t count = work->ledger->kernel_count;
	struct ranks *ranks = calloc(1, sizeof(*ranks));
	double *excess_ns = calloc(count + 1, sizeof(double));
	double *time_ns = calloc(count + 1, sizeof(double)), stake = 0;
	double ns = 0, least_ns = 0;
	struct wt_finding *finding = NULL;
	int rc = ranks && excess_ns && time_ns ? 0 : -ENOMEM;

	if (!rc)
		rc = load_ranks(work, ranks, excess_ns);
	if (!rc)
		rc = load_kernel_times(work, time_ns);
	for (size_t i = 0; !rc && i < count; i++) {
		excess_ns[i] = time_ns[i] > 0 ? fmin(1, fmax(0, excess_ns[i] / time_ns[i])) : 0;
		stake += excess_ns[i] * work->busy_sm_ns[i];
	}
	for (size_t i = 0; !rc && i < ranks->count; i++) {
		ns += ranks->at[i].ns;
		least_ns += ranks->at[i].least_ns;
	}
	if (!rc && ns * 100 > least_ns * (100 + SLOW_RANK_PERCENT))
		finding = add_busy(work, "slow-rank", stake);
	if (finding) {
		for (size_t i = 0; i < count; i++)
			work->busy_sm_ns[i] *= 1 - excess_ns[i];
		say_ranks(ranks, finding);
		finding->explanation =
		        "Kernels of equal geometry took longer on some than on the fastest. In a "
		        "job that works in step, the slowest sets the pace. It is not idle time.";
		finding->advice =
		        "Clocks and temperature of that GPU (nvidia-smi -q -d CLOCK,PERFORMANCE), "
		        "other processes on it, unequal data: top --group rank.";
	}
	free(ranks);
	free(excess_ns);
	free(time_ns);
	return rc;
}

/* ---- few warps on each SM */

/* Tiles in registers and shared memory want few, fat blocks. */
static bool is_tile_kernel(const char *name, int64_t smem_bytes)
{
	static const char *const marks[] = {"gemm",  "nvjet", "cutlass",  "cublas",     "xmma",
	                                    "wgmma", "flash", "fmha",     "sdpa",       "attention",
	                                    "attn",  "conv",  "winograd", "triton_tem", "matmul"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strcasestr(name, marks[i]))
			return true;
	return smem_bytes >= TILE_SMEM_BYTES;
}

struct low {
	int64_t kernel_id, config_id; /* the configuration that took most time */
	double share; /* of the kernel's time, times what of the SM's warps is missing */
	double time_ns, most_ns;
	double occupancy; /* measured where it was, else what the limits allow */
	bool is_measured;
	double full; /* of the kernel's time: low, but bound by what more warps don't help */
	int64_t launches, smem_bytes;
	char limiter[64];
};

static int add_low(struct wt_diagnosing *work, const struct low *low)
{
	size_t at = judged_kernel(work, low->kernel_id);
	struct wt_show_config *config;
	char percent[WT_TEXT_NUMBER_BYTES], count[WT_TEXT_NUMBER_BYTES];
	struct wt_finding *finding;
	int rc;

	if (at == SIZE_MAX || low->time_ns <= 0)
		return 0;
	if (low->full / low->time_ns * work->busy_sm_ns[at] >= work->least_sm_ns)
		wt_diagnose_leave(work, low->kernel_id, work->busy_sm_ns[at],
		                  "few warps on an SM, and yet bound by the tensor pipe or by "
		                  "memory, as measured: more warps would not help");
	if (is_tile_kernel(work->ledger->kernels[at].name, low->smem_bytes) ||
	    wt_diagnose_peace(work->ledger->kernels[at].name)) {
		if (!wt_diagnose_peace(work->ledger->kernels[at].name) &&
		    low->share / low->time_ns * work->busy_sm_ns[at] >= work->least_sm_ns)
			wt_diagnose_leave(
			        work, low->kernel_id, work->busy_sm_ns[at],
			        "few warps on an SM on purpose: by its name, or 64 KiB and more of "
			        "shared memory a block, it keeps tiles on the SM");
		return 0;
	}
	finding = add_busy(work, "occupancy", low->share / low->time_ns * work->busy_sm_ns[at]);
	if (!finding)
		return 0;
	work->busy_sm_ns[at] *= 1 - low->share / low->time_ns;
	finding->kernel_id = low->kernel_id;
	if (low->is_measured)
		finding->grade = "mixed";
	WT_TITLE(finding, "low occupancy by %s: %s", low->limiter, work->names[at]);
	WT_EVIDENCE(finding, "%s%% of an SM's warps%s in %s launches, bounded by %s",
	            wt_text_percent(percent, low->occupancy, 1),
	            low->is_measured ? ", as measured," : "", wt_text_count(count, low->launches),
	            low->limiter);
	finding->explanation =
	        "Few warps hide little latency. That alone is no fault: kernels with enough work "
	        "in each thread run at full speed with few warps, and the model can't tell them "
	        "apart. The stake is the share of warps that are missing, a bound for kernels that "
	        "wait for memory.";
	finding->advice = "See whether it waits (ncu: warp state); then fewer registers "
	                  "(__launch_bounds__), less shared memory or smaller blocks.";
	config = calloc(1, sizeof(*config));
	if (!config)
		return -ENOMEM;
	config->row.config_id = low->config_id;
	rc = wt_show_advise(work->db, config);
	if (!rc && config->lift[0])
		WT_EVIDENCE(finding, "; %s", config->lift);
	free(config);
	return rc;
}

/* A grid that does not fill the GPU gains nothing from room for more blocks. */
static int find_occupancy(struct wt_diagnosing *work)
{
#define OCCUPANCY_SQL(measured, bound)                                                             \
	"SELECT c.kernel_id, c.config_id, c.occupancy, c.limiter, sum(s.launches),"                \
	" total(s.time_ns), c.static_smem_bytes + c.dynamic_smem_bytes,"                           \
	" c.occupancy < ?1 AND c.blocks >= c.resident_blocks AND"                                  \
	" (c.limiter LIKE '%registers%' OR c.limiter LIKE '%shared%') AS is_low, " measured        \
	", " bound " FROM config_stat s JOIN config c USING (config_id) GROUP BY 1, 2"             \
	" ORDER BY 1, 6 DESC"
#define MEASURED_SQL(column)                                                                       \
	"(SELECT " column " FROM main.measured m JOIN main.gpu g ON g.device_id = c.device_id"     \
	" WHERE m.config_id = c.config_id AND m.warps_per_sm > 0 AND m.active_sms > 0"             \
	" ORDER BY m.is_used DESC, m.evidence DESC LIMIT 1)"
	/* Of the SMs that are active: those without blocks have no warps either. */
	static const char with[] =
	        OCCUPANCY_SQL(MEASURED_SQL("min(1.0, m.warps_per_sm * g.sm_count / m.active_sms"
	                                   " / (g.max_threads_per_sm / g.warp_size))"),
	                      "(SELECT m.bound IN ('compute', 'memory') FROM main.measured m"
	                      " WHERE m.config_id = c.config_id AND m.bound IS NOT NULL"
	                      " ORDER BY m.is_used DESC, m.evidence DESC LIMIT 1)");
	static const char without[] = OCCUPANCY_SQL("NULL", "NULL");
#undef MEASURED_SQL
#undef OCCUPANCY_SQL
	struct low low = {0};
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, wt_db_has_table(work->db, "measured") ? with : without,
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_double(s, 1, OCCUPANCY_LOW);
	while ((rc = wt_report_step(s)) > 0) {
		double time_ns = sqlite3_column_double(s, 5), occupancy;
		bool is_measured;

		if (sqlite3_column_int64(s, 0) != low.kernel_id) {
			rc = add_low(work, &low);
			if (rc)
				break;
			low = (struct low){.kernel_id = sqlite3_column_int64(s, 0)};
		}
		low.time_ns += time_ns;
		if (!sqlite3_column_int(s, 7))
			continue;
		is_measured = sqlite3_column_type(s, 8) != SQLITE_NULL;
		occupancy = sqlite3_column_double(s, is_measured ? 8 : 2);
		if (sqlite3_column_int(s, 9)) {
			low.full += time_ns * (1 - occupancy);
			continue;
		}
		low.share += time_ns * (1 - occupancy);
		low.launches += sqlite3_column_int64(s, 4);
		if (time_ns <= low.most_ns)
			continue;
		low.most_ns = time_ns;
		low.config_id = sqlite3_column_int64(s, 1);
		low.occupancy = occupancy;
		low.is_measured = is_measured;
		low.smem_bytes = sqlite3_column_int64(s, 6);
		snprintf(low.limiter, sizeof(low.limiter), "%s", sqlite3_column_text(s, 3));
	}
	sqlite3_finalize(s);
	return rc ? rc : add_low(work, &low);
}

int wt_diagnose_active(struct wt_diagnosing *work)
{
	int rc = find_variance(work);

	if (!rc)
		rc = find_slow_ranks(work);
	return rc ? rc : find_occupancy(work);
}

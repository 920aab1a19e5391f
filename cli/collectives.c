/*
 * collectives.c - see collectives.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "analysis/map.h"
#include "cli/collectives.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

/* A configuration of a collective kernel. */
struct config {
	int64_t kernel_id, device_id;
};

struct loading {
	struct wt_collectives *collectives;
	struct config *configs;
	size_t config_count;
	struct wt_map config_at, member_at;
	const char *
	        clocks_reason; /* why times of its processes can't be set beside each other; NULL: they can */
	const char *
	        ranks_reason; /* why the last of those here need not have been the last; NULL: it was */
};

/* ---- reading */

static int load_configs(sqlite3 *db, struct loading *load)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT config_id, kernel_id, device_id, name FROM main.config"
	                           " JOIN main.kernel USING (kernel_id)",
	                           &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct config *config;

		if (!wt_is_collective_kernel((const char *)sqlite3_column_text(s, 3)))
			continue;
		config = wt_report_append(&load->configs, &load->config_count, sizeof(*config));
		if (!config || wt_map_set(&load->config_at, (uint64_t)sqlite3_column_int64(s, 0),
		                          (uint32_t)load->config_count - 1)) {
			rc = -ENOMEM;
			break;
		}
		*config = (struct config){sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)};
	}
	sqlite3_finalize(s);
	return rc;
}

static uint32_t member_of(struct loading *load, int64_t process_id, int64_t device_id)
{
	struct wt_collectives *collectives = load->collectives;
	uint64_t key = (uint64_t)process_id << 32 | (uint32_t)device_id;
	uint32_t at = wt_map_get(&load->member_at, key);
	struct wt_collective_member *member;

	if (at != WT_MAP_NONE)
		return at;
	member = wt_report_append(&collectives->members, &collectives->member_count,
	                          sizeof(*member));
	at = (uint32_t)collectives->member_count - 1;
	if (!member || wt_map_set(&load->member_at, key, at))
		return WT_MAP_NONE;
	*member = (struct wt_collective_member){
	        .process_id = process_id, .device_id = device_id, .pid = -1, .rank = -1};
	return at;
}

static int take_wait(struct loading *load, const struct config *config, sqlite3_stmt *s)
{
	struct wt_collectives *collectives = load->collectives;
	struct wt_wait *wait =
	        wt_report_append(&collectives->waits, &collectives->count, sizeof(*wait));
	uint32_t member = member_of(load, sqlite3_column_int64(s, 0), config->device_id);

	if (!wait || member == WT_MAP_NONE)
		return -ENOMEM;
	*wait = (struct wt_wait){.kernel_id = config->kernel_id,
	                         .start_ns = sqlite3_column_int64(s, 2),
	                         .end_ns = sqlite3_column_int64(s, 3),
	                         .member = member};
	return 0;
}

static int load_waits(sqlite3 *db, struct loading *load)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT process_id, config_id, start_ns, end_ns FROM"
	                           " kernel_row WHERE start_ns >= 0 AND end_ns > start_ns",
	                           &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		uint32_t at = wt_map_get(&load->config_at, (uint64_t)sqlite3_column_int64(s, 1));

		if (at == WT_MAP_NONE)
			continue;
		rc = take_wait(load, &load->configs[at], s);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static int identify(sqlite3 *db, struct loading *load)
{
	struct wt_collectives *collectives = load->collectives;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT process_id, pid, ifnull(rank, -1) FROM main.proc",
	                           &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		uint64_t process_id = (uint64_t)sqlite3_column_int64(s, 0);

		for (size_t i = 0; i < collectives->member_count; i++) {
			struct wt_collective_member *member = &collectives->members[i];

			if ((uint64_t)member->process_id != process_id)
				continue;
			member->pid = sqlite3_column_int64(s, 1);
			member->rank = sqlite3_column_int64(s, 2);
		}
	}
	sqlite3_finalize(s);
	return rc;
}

/* The clocks of a run of several hosts: one that was merged says how well they are aligned. */
static void judge_clocks(sqlite3 *db, struct loading *load)
{
	struct wt_collectives *collectives = load->collectives;

	if (wt_db_int(db, "SELECT count(DISTINCT hostname) FROM main.proc", 0) > 1)
		load->clocks_reason =
		        "they ran on several hosts, each with a clock of its own: wavetap "
		        "merge aligns them";
	if (!wt_db_has_table(db, "merge_source") ||
	    !wt_db_int(db, "SELECT count(*) FROM main.merge_source", 0))
		return;
	load->clocks_reason = NULL;
	if (wt_db_int(db, "SELECT count(*) FROM main.merge_source WHERE clock = 'as it was'", 0))
		load->clocks_reason = "clocks were not aligned (merge --align none)";
	if (wt_db_int(db, "SELECT count(*) FROM main.merge_source WHERE clock = 'launches'", 0))
		load->clocks_reason = "clocks were aligned on launches, not on collectives";
	collectives->clocks_error_ns =
	        2 * wt_db_int(db, "SELECT max(error_ns) FROM main.merge_source", 0);
}

/* Ranks that are not in the run may have come last. */
static void judge_ranks(sqlite3 *db, struct loading *load)
{
	int64_t size = wt_db_int(db, "SELECT max(world_size) FROM main.proc", 0);
	int64_t ranks = wt_db_int(db,
	                          "SELECT count(DISTINCT rank) FROM main.proc WHERE"
	                          " kernels_stored > 0 AND rank >= 0 AND rank < (SELECT"
	                          " max(world_size) FROM main.proc)",
	                          0);

	if (size > 1 && ranks > 0 && ranks < size)
		load->ranks_reason =
		        "not all ranks of the job are in the run: the last to come may be "
		        "one of the others (wavetap merge)";
}

/* Lateness within what clocks of several hosts may be off is nobody's. Waits are by collective. */
static void forgive(struct wt_collectives *collectives)
{
	struct wt_waits *found = &collectives->found;

	if (found->error_ns >= collectives->clocks_error_ns)
		return;
	found->error_ns = collectives->clocks_error_ns;
	for (size_t i = 0, first = 0; i < collectives->count; i++) {
		struct wt_wait *wait = &collectives->waits[i];

		if (wait->kernel_id != collectives->waits[first].kernel_id ||
		    wait->ordinal != collectives->waits[first].ordinal)
			first = i;
		/* The first of them started first: it waited longest. */
		if (wait->late_member != WT_WAITS_NOBODY &&
		    collectives->waits[first].wait_until_ns - collectives->waits[first].start_ns <=
		            found->error_ns)
			wait->late_member = WT_WAITS_NOBODY;
	}
}

/* ---- sums */

/* Of one that was judged: from when the last had come on. They lie one collective after the other, by start. */
static int64_t transfer_ns(const struct wt_collectives *collectives, size_t at)
{
	const struct wt_wait *first = &collectives->waits[at - at % collectives->member_count];
	int64_t last_ns = first[collectives->member_count - 1].start_ns;

	return first->wait_until_ns == last_ns ? collectives->waits[at].end_ns - last_ns : 0;
}

/* Of waits the part from `from_ns` on, where the window begins. */
static void sum_up(struct wt_collectives *collectives, int64_t from_ns)
{
	const struct wt_wait *before = NULL;

	for (size_t i = 0; i < collectives->count; i++) {
		const struct wt_wait *wait = &collectives->waits[i];
		int64_t start_ns = wait->start_ns > from_ns ? wait->start_ns : from_ns;
		int64_t ns = wait->wait_until_ns > start_ns ? wait->wait_until_ns - start_ns : 0;
		struct wt_collective_member *late;

		wt_report_add(&collectives->members[wait->member].waited_ns, ns);
		wt_report_add(&collectives->members[wait->member].transfer_ns,
		              transfer_ns(collectives, i));
		if (wait->late_member == WT_WAITS_NOBODY)
			continue;
		late = &collectives->members[wait->late_member];
		wt_report_add(&late->late_ns, ns);
		late->last += !before || before->kernel_id != wait->kernel_id ||
		              before->ordinal != wait->ordinal;
		before = wait;
	}
}

int wt_collectives_load(sqlite3 *db, const struct wt_ledger *ledger,
                        struct wt_collectives *collectives)
{
	struct loading load = {.collectives = collectives};
	int rc = load_configs(db, &load);

	if (!rc && load.config_count)
		rc = load_waits(db, &load);
	if (!rc)
		rc = identify(db, &load);
	/* Two devices may each be off by the error, one early and one late. */
	if (!rc)
		rc = wt_waits_find(collectives->waits, collectives->count,
		                   (uint32_t)collectives->member_count, ledger->start_ns,
		                   ledger->end_ns, 2 * ledger->clock_error_ns, &collectives->found);
	if (!rc && collectives->member_count > 1) {
		judge_clocks(db, &load);
		judge_ranks(db, &load);
		if (load.clocks_reason)
			collectives->found.reason = load.clocks_reason;
		else if (load.ranks_reason && !collectives->found.reason)
			collectives->found.reason = load.ranks_reason;
	}
	if (!rc && !collectives->found.reason) {
		forgive(collectives);
		sum_up(collectives, ledger->start_ns);
	}
	free(load.configs);
	wt_map_fini(&load.config_at);
	wt_map_fini(&load.member_at);
	return rc;
}

void wt_collectives_fini(struct wt_collectives *collectives)
{
	free(collectives->waits);
	free(collectives->members);
	memset(collectives, 0, sizeof(*collectives));
}

size_t wt_collectives_member(const struct wt_collectives *collectives, int64_t process_id,
                             int64_t device_id)
{
	for (size_t i = 0; i < collectives->member_count; i++)
		if (collectives->members[i].process_id == process_id &&
		    collectives->members[i].device_id == device_id)
			return i;
	return SIZE_MAX;
}

const struct wt_collective_member *wt_collectives_latest(const struct wt_collectives *collectives)
{
	const struct wt_collective_member *latest = NULL;

	for (size_t i = 0; !collectives->found.reason && i < collectives->member_count; i++) {
		const struct wt_collective_member *member = &collectives->members[i];

		if (member->late_ns > 0 && (!latest || member->late_ns > latest->late_ns))
			latest = member;
	}
	return latest;
}

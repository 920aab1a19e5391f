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

/* A configuration of a collective kernel. */
struct config {
	int64_t kernel_id, device_id;
};

struct loading {
	struct wt_collectives *collectives;
	struct config *configs;
	size_t config_count;
	struct wt_map config_at, member_at;
	bool is_one_host;
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
	int rc = wt_report_prepare(db,
	                           "SELECT process_id, pid, ifnull(rank, -1), (SELECT"
	                           " count(DISTINCT hostname) FROM main.proc) FROM main.proc",
	                           &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		for (size_t i = 0; i < collectives->member_count; i++) {
			struct wt_collective_member *member = &collectives->members[i];

			if (member->process_id != sqlite3_column_int64(s, 0))
				continue;
			member->pid = sqlite3_column_int64(s, 1);
			member->rank = sqlite3_column_int64(s, 2);
		}
		load->is_one_host = sqlite3_column_int(s, 3) <= 1;
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- sums */

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
	if (!rc && collectives->member_count > 1 && !load.is_one_host)
		collectives->found.reason =
		        "they ran on several hosts, each with a clock of its own";
	if (!rc && !collectives->found.reason)
		sum_up(collectives, ledger->start_ns);
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

/*
 * ledger_sums.c - see ledger_sums.h. Single-threaded; blocks on the file.
 */
#include "daemon/ledger_sums_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_db.h"

#define PROCESSES_MAX (INT64_C(1) << 30) /* as in the ledger */

/* ---- what there is to sum for */

static uint64_t owner_key(int64_t device_id, int64_t process_id, int64_t config_id)
{
	uint64_t hash = (uint64_t)process_id * UINT64_C(0x9e3779b97f4a7c15);

	hash = (hash ^ (uint64_t)config_id) * UINT64_C(0xff51afd7ed558ccd);
	return (hash ^ (uint64_t)device_id) * UINT64_C(0xc4ceb9fe1a85ec53);
}

struct wt_ledger_owner *wt_ledger_sums_owner(struct wt_ledger_sums *sums, int64_t device_id,
                                             int64_t process_id, int64_t config_id)
{
	uint64_t key = owner_key(device_id, process_id, config_id);
	uint32_t first = wt_map_get(&sums->owner_of, key);
	struct wt_ledger_owner *owner;

	for (uint32_t at = first; at != WT_MAP_NONE; at = sums->owners[at].next) {
		owner = &sums->owners[at];
		if (owner->device_id == device_id && owner->process_id == process_id &&
		    owner->config_id == config_id)
			return owner;
	}
	if (sums->owner_count == sums->owner_room) {
		size_t room = sums->owner_room ? 2 * sums->owner_room : 64;

		owner = reallocarray(sums->owners, room, sizeof(*owner));
		if (!owner)
			return NULL;
		sums->owners = owner;
		sums->owner_room = room;
	}
	if (wt_map_set(&sums->owner_of, key, (uint32_t)sums->owner_count))
		return NULL;
	owner = &sums->owners[sums->owner_count++];
	*owner = (struct wt_ledger_owner){.device_id = device_id,
	                                  .process_id = process_id,
	                                  .config_id = config_id,
	                                  .last_ns = INT64_MIN,
	                                  .next = first};
	return owner;
}

struct wt_ledger_place *wt_ledger_sums_place(struct wt_ledger_sums *sums, int64_t device_id)
{
	for (size_t i = 0; i < sums->place_count; i++)
		if (sums->places[i].device_id == device_id)
			return &sums->places[i];
	return NULL;
}

static const struct wt_facts_from from_begin = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

void wt_ledger_sums_reset(struct wt_ledger_sums *sums)
{
	sums->mark = (struct wt_ledger_mark){.from_ns = INT64_MIN,
	                                     .end_ns = INT64_MIN,
	                                     .low_exec = INT64_MIN,
	                                     .seen_exec = INT64_MIN,
	                                     .seen_call = INT64_MIN,
	                                     .seen_copy = INT64_MIN,
	                                     .seen_overhead = INT64_MIN,
	                                     .clock_id = INT64_MIN,
	                                     .copy_end_ns = INT64_MIN,
	                                     .capture_id = INT64_MIN};
	sums->is_anew = true;
	for (size_t i = 0; i < sums->place_count; i++) {
		struct wt_ledger_place *place = &sums->places[i];

		place->position_ns = place->position_exec = place->until_ns = INT64_MIN;
		place->last_end_ns = INT64_MIN;
		place->last_tag = 0;
		place->kernels = place->kernels_refused = 0;
		place->from = from_begin;
		place->held_count = 0;
		place->is_begun = place->has_rows = false;
		place->loaded_ns = place->loaded_exec = place->loaded_until_ns = INT64_MIN;
	}
	sums->owner_count = 0;
	wt_map_fini(&sums->owner_of);
	sums->graph_count = 0;
	wt_gap_source_forget(&sums->source);
	wt_facts_free(sums->facts);
	sums->facts = NULL;
}

void wt_ledger_sums_free(struct wt_ledger_sums *sums)
{
	if (!sums)
		return;
	for (size_t i = 0; i < sums->place_count; i++)
		free(sums->places[i].held);
	free(sums->places);
	free(sums->owners);
	free(sums->graphs);
	free(sums->configs);
	wt_map_fini(&sums->owner_of);
	wt_map_fini(&sums->config_at);
	wt_gap_source_fini(&sums->source);
	wt_facts_free(sums->facts);
	free(sums);
}

/* ---- gaps */

static int add_gap(struct wt_ledger_sums *sums, const struct wt_gap_facts *facts)
{
	const struct wt_ledger_row *next = sums->next;
	bool is_short = facts->end_ns - facts->start_ns <= WT_LEDGER_SHORT_GAP_NS;
	int64_t ns[WT_GAP_CAUSE_MAX] = {0};
	struct wt_ledger_owner *owner =
	        wt_ledger_sums_owner(sums, sums->place->device_id, next ? next->process_id : 0,
	                             next ? next->config_id : 0);

	if (!owner)
		return -ENOMEM;
	wt_gap_classify(facts, ns);
	owner->gaps++;
	owner->short_gaps += is_short;
	owner->is_dirty = true;
	if (facts->end_ns > owner->last_ns)
		owner->last_ns = facts->end_ns;
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		owner->ns[cause] += ns[cause];
		owner->short_ns[cause] += is_short ? ns[cause] : 0;
	}
	return 0;
}

static int on_gap(void *arg, const struct wt_sweep_gap *gap)
{
	struct wt_ledger_sums *sums = arg;
	const struct wt_gap_place place = {sums->place->device_id,
	                                   gap->start_ns,
	                                   gap->end_ns,
	                                   gap->before_id != WT_SWEEP_NO_KERNEL,
	                                   gap->before_tag,
	                                   sums->next};
	struct wt_gap_facts facts;

	if (!sums->next)
		return 0; /* between kernels that were taken before */
	facts = wt_gap_source_facts(&sums->source, &place);
	return add_gap(sums, &facts);
}

/* ---- kernels */

static int begin(struct wt_ledger_sums *sums, struct wt_ledger_place *place,
                 const struct wt_ledger_held *first)
{
	const struct wt_sweep_output output = {.gap = on_gap, .arg = sums};
	bool is_quiet = place->last_end_ns != INT64_MIN;
	int64_t start_ns = first->is_context ? first->row.start_ns : sums->mark.from_ns;

	if (is_quiet)
		start_ns = place->last_end_ns;
	if (wt_sweep_init(&place->sweep, (uint32_t)place->sms, start_ns, &output))
		return -ERANGE;
	if (is_quiet)
		wt_sweep_resume(&place->sweep, place->last_tag);
	place->is_begun = true;
	return 0;
}

static int sweep_row(struct wt_ledger_sums *sums, const struct wt_ledger_row *row, bool is_context)
{
	struct wt_ledger_place *place = sums->place;
	const struct wt_sweep_kernel kernel = {
	        .id = row->exec_id,
	        .tag = wt_ledger_graph_tag(row),
	        .start_ns = row->start_ns,
	        .end_ns = row->end_ns,
	        .duration_ns = row->end_ns - row->start_ns,
	        .wave_sm_ns = row->wave_sm_ns,
	        .wave_max_sm_ns = row->wave_max_sm_ns,
	        .sms = wt_sweep_occupied_sms(row->config_sms, place->sms, row->resident_blocks,
	                                     row->blocks),
	        .is_judged = row->is_judged,
	};
	int rc = -EINVAL;

	sums->next = is_context ? NULL : row;
	if (row->process_id >= 0 && row->process_id < PROCESSES_MAX)
		rc = wt_sweep_add(&place->sweep, &kernel);
	sums->next = NULL;
	if (rc && rc != -EINVAL && rc != -EBUSY)
		return rc;
	if (!is_context) {
		place->kernels += !rc;
		place->kernels_refused += rc != 0;
	}
	return 0;
}

static int take(struct wt_ledger_sums *sums, const struct wt_ledger_held *held)
{
	const struct wt_ledger_row *row = &held->row;
	struct wt_ledger_place *place = sums->place;
	int rc = place->is_begun ? 0 : begin(sums, place, held);

	if (rc)
		return rc;
	if (held->is_context)
		return sweep_row(sums, row, true);
	place->position_ns = row->start_ns;
	place->position_exec = row->exec_id;
	place->is_dirty = true;
	if (row->end_ns > row->start_ns)
		rc = sweep_row(sums, row, false);
	else
		place->kernels_refused++;
	return !rc && row->has_call ? wt_gap_source_note(&sums->source, row) : rc;
}

/* ---- the end */

/* No kernel comes any more: what is left of the window, of which copies have their part. */
static int finish_device(struct wt_ledger_sums *sums, struct wt_ledger_place *place, int64_t end_ns)
{
	bool has_before = place->last_end_ns != INT64_MIN;
	struct wt_gap_facts facts = {.start_ns =
	                                     has_before ? place->last_end_ns : sums->mark.from_ns,
	                             .end_ns = end_ns,
	                             .clock_error_ns = sums->clock_error_ns,
	                             .has_kernel_before = has_before,
	                             .first_launch_ns = INT64_MIN};
	struct wt_interval *copies = NULL;
	size_t count = 0, room = 0;
	sqlite3_stmt *s;
	int rc;

	if (facts.end_ns <= facts.start_ns)
		return 0;
	facts.began_ns = facts.start_ns;
	rc = wt_db_prepare(
	        sums->db,
	        "SELECT start_ns, end_ns FROM copy WHERE copy_id >= ?1 AND device_id = ?2"
	        " AND end_ns > ?3 AND end_ns > start_ns",
	        &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, place->from.copy_id);
	sqlite3_bind_int64(s, 2, place->device_id);
	sqlite3_bind_int64(s, 3, facts.start_ns);
	while ((rc = wt_db_step(s)) > 0) {
		if (count == room) {
			struct wt_interval *grown;

			room = room ? 2 * room : 64;
			grown = reallocarray(copies, room, sizeof(*grown));
			rc = grown ? rc : -ENOMEM;
			if (!grown)
				break;
			copies = grown;
		}
		copies[count++] = (struct wt_interval){sqlite3_column_int64(s, 0),
		                                       sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	facts.copies = (struct wt_intervals){copies, wt_intervals_unite(copies, count)};
	sums->place = place;
	if (!rc)
		rc = add_gap(sums, &facts);
	free(copies);
	return rc;
}

static int finish(struct wt_ledger_sums *sums, int64_t end_ns)
{
	int rc = 0;

	for (size_t i = 0; i < sums->place_count && !rc; i++)
		if (sums->places[i].sms)
			rc = finish_device(sums, &sums->places[i], end_ns);
	sums->mark.end_ns = end_ns;
	return rc;
}

/* ---- the pass */

/* Gaps that no kernel had ended. */
static void forget_last_gaps(struct wt_ledger_sums *sums)
{
	for (size_t i = 0; i < sums->owner_count; i++) {
		struct wt_ledger_owner *owner = &sums->owners[i];

		if (owner->config_id)
			continue;
		owner->gaps = owner->short_gaps = 0;
		owner->last_ns = INT64_MIN;
		memset(owner->ns, 0, sizeof(owner->ns));
		memset(owner->short_ns, 0, sizeof(owner->short_ns));
		owner->is_dirty = true;
	}
	sums->mark.end_ns = INT64_MIN;
}

/* 0, or 1: the basis was another one, and all has to be summed again. */
static int pass(struct wt_ledger_sums *sums, int64_t from_ns, int64_t until_ns)
{
	int64_t basis;
	int rc = wt_ledger_sums_find_work(sums);

	sums->clock_error_ns = wt_ledger_sums_clock_error(&sums->mark);
	if (!rc)
		rc = wt_ledger_sums_load_facts(sums);
	if (rc)
		return rc;
	basis = wt_ledger_sums_basis(sums, from_ns, sums->clock_error_ns);
	if (sums->mark.from_ns != INT64_MIN && sums->mark.basis != basis) {
		if (!sums->has_drops)
			return 1;
		sums->mended++;
	}
	sums->mark.basis = basis;
	sums->mark.from_ns = from_ns;
	sums->left_exec = sums->low_entry_ns = INT64_MAX;
	sums->source.facts = sums->facts;
	sums->source.clock_error_ns = sums->clock_error_ns;
	rc = wt_ledger_sums_read(sums, until_ns, take);
	if (!rc && wt_ledger_sums_clock_error(&sums->mark) != sums->clock_error_ns &&
	    !sums->has_drops)
		return 1;
	return rc ? rc : wt_ledger_sums_leave_behind(sums, until_ns);
}

/*
 * Rows whose launch is not known yet may come to have one. And a kernel that never comes may have run from its
 * launch on, give or take the clock error.
 */
static int64_t linked_until_ns(const struct wt_ledger_sums *sums, int64_t until_ns)
{
	int64_t first_ns;

	if (until_ns == INT64_MAX)
		return until_ns;
	first_ns = wt_db_int(sums->db, "SELECT min(start_ns) FROM main.kernel_exec WHERE link = 0",
	                     INT64_MAX);
	return (first_ns < until_ns ? first_ns : until_ns) -
	       2 * wt_ledger_sums_clock_error(&sums->mark);
}

/* Sums of rows that are gone stay, whatever becomes known later. */
static void keep_sums(struct wt_ledger_sums *sums)
{
	if (!sums->mark.is_late)
		return;
	sums->mark.is_late = 0;
	sums->mended++;
}

int wt_ledger_sums_advance(struct wt_ledger_sums *sums, int64_t until_ns)
{
	int64_t from_ns, end_ns;
	int rc = wt_ledger_span(sums->db, &from_ns, &end_ns);

	if (rc <= 0)
		return rc;
	sums->why_not = wt_ledger_sums_obstacle(sums);
	if (!sums->why_not)
		sums->why_not = wt_ledger_sums_find_drops(sums, from_ns);
	if (sums->why_not)
		return 0;
	rc = wt_ledger_sums_find_late(sums);
	if (sums->has_drops)
		keep_sums(sums);
	if (!rc)
		rc = wt_ledger_sums_read_clock(sums);
	if (rc)
		return rc;
	forget_last_gaps(sums);
	until_ns = linked_until_ns(sums, until_ns);
	rc = sums->mark.is_late ? 1 : pass(sums, from_ns, until_ns);
	/* From the beginning: once for another basis or for what came late, once more for launches ahead of kernels. */
	if (!rc && sums->has_drops)
		keep_sums(sums);
	for (int i = 0; i < 3 && (rc == 1 || (!rc && !i && sums->mark.is_late)); i++) {
		int64_t lead_ns = sums->mark.lead_ns;

		wt_ledger_sums_reset(sums);
		sums->mark.lead_ns = lead_ns;
		rc = wt_ledger_sums_read_clock(sums);
		if (!rc)
			rc = pass(sums, from_ns, until_ns);
	}
	if (rc == 1 || (!rc && sums->mark.is_late))
		sums->why_not = WT_LEDGER_TOO_LATE;
	else if (!rc && until_ns == INT64_MAX)
		rc = finish(sums, end_ns);
	return rc == 1 ? 0 : rc;
}

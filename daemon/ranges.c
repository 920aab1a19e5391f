/*
 * ranges.c - named ranges of the application: their dictionary, their rows, their counters.
 *
 * A program that makes a name of its own for each step would make as many rows of the dictionary:
 * beyond NAMES_MAX all further names of a run are one. Main thread; may block on the disk.
 */
#include "daemon/daemon.h"

#include <errno.h>

#define NAMES_MAX 65536u
#define OTHER_NAMES "(other names)"
#define CUT_MARK "\xe2\x80\xa6" /* an ellipsis */

/* ---- names */

static int remember(struct wt_run *run, const char *text, int64_t name_id)
{
	uint64_t hash = wt_fnv1a(text, strlen(text));
	struct wt_range_name *entry;

	if (run->range_names_count == run->range_names_room) {
		size_t room = run->range_names_room ? 2 * run->range_names_room : 64;
		struct wt_range_name *more = realloc(run->range_names, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		run->range_names = more;
		run->range_names_room = room;
	}
	entry = &run->range_names[run->range_names_count];
	entry->text = strdup(text);
	if (!entry->text)
		return -ENOMEM;
	entry->name_id = name_id;
	entry->next = wt_map_get(&run->range_name_of, hash);
	return wt_map_set(&run->range_name_of, hash, (uint32_t)run->range_names_count++);
}

void wt_ranges_fini(struct wt_run *run)
{
	for (size_t i = 0; i < run->range_names_count; i++)
		free(run->range_names[i].text);
	free(run->range_names);
	wt_map_fini(&run->range_name_of);
	run->range_names = NULL;
	run->range_names_count = run->range_names_room = 0;
}

int wt_ranges_load(struct wt_run *run)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(
	        run->db, "SELECT name_id, domain || ifnull(char(10) || name, '') FROM range_name",
	        -1, &query, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(query, 1);

		code = SQLITE_OK;
		if (text)
			err = remember(run, text, sqlite3_column_int64(query, 0));
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

/* The id of a name; `name` NULL: it has none. */
static int find_name(struct wt_run *run, const char *domain, const char *name, int64_t *ret_id)
{
	char text[2 * WT_RANGE_TEXT_BYTES];
	uint32_t at;
	int err;

	snprintf(text, sizeof(text), "%s%s%s", domain, name ? "\n" : "", name ? name : "");
	at = wt_map_get(&run->range_name_of, wt_fnv1a(text, strlen(text)));
	for (; at != WT_MAP_NONE; at = run->range_names[at].next) {
		if (!strcmp(run->range_names[at].text, text)) {
			*ret_id = run->range_names[at].name_id;
			return 0;
		}
	}
	if (run->range_names_count >= NAMES_MAX && name && strcmp(name, OTHER_NAMES))
		return find_name(run, "", OTHER_NAMES, ret_id);
	err = wt_store_run(run, WT_SQL_RANGE_NAME, "tt", domain, name);
	if (err)
		return err;
	*ret_id = sqlite3_last_insert_rowid(run->db);
	return remember(run, text, *ret_id);
}

/* ---- rows */

/* Control characters would break lines and the dictionary's key; the rest is the caller's text. */
static void take_text(char *text, const char *from, size_t length, bool is_cut)
{
	memcpy(text, from, length);
	text[length] = '\0';
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = ' ';
	wt_text_mend(text);
	if (is_cut)
		strcat(text, CUT_MARK);
}

int wt_ranges_drain(struct wt_process *process, const struct wt_range *r)
{
	char domain[WT_RANGE_TEXT_BYTES + 8], name[WT_RANGE_TEXT_BYTES + 8];
	bool is_ended = r->end_ns != 0;
	int64_t name_id;
	int err;

	if ((r->type != WT_RANGE_PUSH && r->type != WT_RANGE_START) ||
	    (size_t)r->domain_bytes + r->name_bytes > sizeof(r->text) ||
	    r->start_ns > INT64_MAX / 2 || r->end_ns > INT64_MAX / 2 || !r->start_ns) {
		process->tally.cells_bad++;
		return 0;
	}
	take_text(domain, r->text, r->domain_bytes, r->flags & WT_RANGE_DOMAIN_CUT);
	take_text(name, r->text + r->domain_bytes, r->name_bytes, r->flags & WT_RANGE_NAME_CUT);
	err = find_name(process->run, domain, r->name_bytes ? name : NULL, &name_id);
	if (!err)
		err = wt_store_run(process->run, WT_SQL_RANGE, "iiiinini", process->process_id,
		                   name_id, (int64_t)r->type, (int64_t)r->tid,
		                   r->end_tid ? (int64_t)r->end_tid : WT_DB_NULL,
		                   (int64_t)r->start_ns, is_ended ? (int64_t)r->end_ns : WT_DB_NULL,
		                   (int64_t)r->depth);
	if (!err)
		process->tally.ranges_stored++;
	return err;
}

/* ---- counters */

int wt_ranges_save_count(struct wt_process *process)
{
	const struct wt_counters *c = &process->counters;

	if (!c->ranges_begun && !c->ranges_unbalanced && !process->tally.ranges_stored)
		return 0;
	return wt_store_run(process->run, WT_SQL_RANGE_COUNT, "iiiiiii", process->process_id,
	                    (int64_t)c->ranges_begun, process->tally.ranges_stored,
	                    (int64_t)c->ranges_dropped, (int64_t)c->ranges_early,
	                    (int64_t)c->ranges_untracked, (int64_t)c->ranges_unbalanced);
}

int wt_ranges_load_count(struct wt_process *process)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(process->run->db,
	                              "SELECT recorded FROM range_count WHERE process_id = ?1", -1,
	                              &query, NULL);

	if (code == SQLITE_OK)
		code = wt_db_bind(query, "i", process->process_id);
	if (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW)
		process->tally.ranges_stored = sqlite3_column_int64(query, 0);
	sqlite3_finalize(query);
	return wt_store_check(process->run, code);
}

/*
 * report_part.c - see report_part.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/phase.h"
#include "cli/phases.h"
#include "cli/ranges.h"
#include "cli/report_part.h"
#include "cli/report_sql.h"

static int add_name(struct wt_report_parts *parts, const char *domain, const char *name)
{
	char **one = wt_report_append(&parts->names, &parts->count, sizeof(*one));

	if (!one)
		return -ENOMEM;
	if (asprintf(one, "%s%s%s", domain, domain[0] ? "/" : "", name) < 0) {
		*one = NULL;
		return -ENOMEM;
	}
	return 0;
}

struct hits {
	const struct wt_run_ranges *ranges;
	struct wt_report_parts *parts;
};

/* Those of one launch come in the order of their starts: the last is the innermost. */
static int on_hit(void *arg, size_t kernel, size_t range)
{
	const struct hits *hits = arg;
	const struct wt_run_ranges *ranges = hits->ranges;
	size_t name = wt_run_ranges_name(ranges, ranges->ranges[range].name_id);

	if (name == SIZE_MAX)
		return 0;
	return wt_map_set(&hits->parts->part_of, (uint64_t)ranges->kernels[kernel].exec_id,
	                  (uint32_t)name + 1);
}

int wt_report_parts_load_ranges(sqlite3 *db, struct wt_report_parts *parts)
{
	struct wt_run_ranges ranges;
	struct hits hits = {&ranges, parts};
	int rc = wt_run_ranges_load(db, NULL, &ranges);

	wt_run_ranges_tell_lost(db);
	for (size_t i = 0; !rc && ranges.count && i < ranges.name_count; i++)
		rc = add_name(parts, ranges.names[i].domain,
		              ranges.names[i].name ? ranges.names[i].name : "(no name)");
	if (!rc && ranges.count)
		rc = wt_run_ranges_load_kernels(db, false, &ranges);
	if (!rc && ranges.count)
		rc = wt_run_ranges_assign(&ranges, false, on_hit, &hits);
	wt_run_ranges_fini(&ranges);
	return rc;
}

static int read_phases(sqlite3 *db, struct wt_report_parts *parts)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT exec_id, phase FROM temp.wt_phase", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = wt_map_set(&parts->part_of, (uint64_t)sqlite3_column_int64(s, 0),
		                (uint32_t)sqlite3_column_int(s, 1));
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_report_parts_load_phases(sqlite3 *db, struct wt_report_parts *parts)
{
	int rc = 0;

	for (enum wt_phase phase = WT_PHASE_NONE + 1; !rc && wt_phase_text(phase); phase++)
		rc = add_name(parts, "", wt_phase_text(phase));
	if (!rc && sqlite3_exec(db, "PRAGMA query_only = OFF", NULL, NULL, NULL) != SQLITE_OK)
		rc = -EIO;
	if (!rc)
		rc = wt_phases_make(db);
	if (!rc)
		rc = read_phases(db, parts);
	sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return rc;
}

void wt_report_parts_fini(struct wt_report_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		free(parts->names[i]);
	free(parts->names);
	wt_map_fini(&parts->part_of);
	memset(parts, 0, sizeof(*parts));
}

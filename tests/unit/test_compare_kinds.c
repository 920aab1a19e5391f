/*
 * test_compare_kinds.c - which kernels and configurations are called new and gone.
 */
#include "cli/compare.h"
#include "tests/tap.h"

static struct wt_compare_run run = {.facts.startup_ns = -1};
static const struct wt_compare_config config = {.occupancy = -1, .waves = -1};
static const struct wt_compare_unit kernel = {.name = "k", .demangled = "k"};

/* A row a letter: '=' on both sides, '+' new, '-' gone; with by_config of a kernel that is on both, '0' of a new one. */
static void kinds_are(bool by_config, const char *sides, const char *want, const char *what)
{
	struct wt_compare_row rows[8] = {{0}};
	struct wt_compare compare = {.before = {.runs = &run, .count = 1},
	                             .after = {.runs = &run, .count = 1},
	                             .query.by_config = by_config,
	                             .rows = rows};
	char got[400] = "";

	for (const char *side = sides; *side; side++) {
		struct wt_compare_row *row = &rows[compare.row_count++];
		bool has_before = *side != '+' && *side != '0', has_after = *side != '-';

		row->kind = by_config ? WT_COMPARE_OF_CONFIG : WT_COMPARE_OF_KERNEL;
		row->weight = 1000;
		row->before = (by_config && *side != '0') || has_before ? &kernel : NULL;
		row->after = by_config || has_after ? &kernel : NULL;
		row->config_before = by_config && has_before ? &config : NULL;
		row->config_after = by_config && has_after ? &config : NULL;
	}
	ok(!wt_compare_find_kinds(&compare), "%s: found", what);
	for (size_t i = 0; i < compare.kind_count; i++) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? "; " : "",
		         compare.kinds[i]);
		free(compare.kinds[i]);
	}
	free(compare.kinds);
	for (size_t i = 0; i < compare.row_count; i++)
		free(rows[i].kind_change);
	is_str(got, want, what);
}

int main(void)
{
	kinds_are(false, "==", "", "kernels of both sides");
	kinds_are(false, "=++-", "2 kernels are new, 2.00us; 1 kernel is gone, 1.00us", "kernels");
	kinds_are(true, "==", "", "configurations of both sides");
	kinds_are(true, "=+-", "1 configuration is new, 1.00us; 1 configuration is gone, 1.00us",
	          "configurations of a kernel that is on both sides");
	kinds_are(true, "=+0--",
	          "2 configurations are new, 2.00us; 2 configurations are gone, 2.00us",
	          "and of one that is new");
	return tap_done();
}

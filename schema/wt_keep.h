/*
 * wt_keep.h - how much of the recorded runs is kept: limits, which runs go, removing one.
 *
 * Shared by wavetapd (WAVETAP_KEEP) and `wavetap gc`. Nothing here keeps state. Only
 * wt_keep_remove touches files; it may block on the disk.
 */
#ifndef WT_KEEP_H
#define WT_KEEP_H

#include "schema/wt_db.h"

/* Each is -1 for no limit. With several all must hold. */
struct wt_keep {
	int64_t runs;
	int64_t bytes;
	int64_t age_ns;
};
#define WT_KEEP_ALL ((struct wt_keep){-1, -1, -1})

static inline bool wt_keep_is_limited(const struct wt_keep *keep)
{
	return keep->runs >= 0 || keep->bytes >= 0 || keep->age_ns >= 0;
}

/*
 * Adds the limits of a text: a number of runs ("20"), a size ("2GiB", "500MB"), an age ("30d";
 * s, min, h, d, w), or several of them with commas. Of two limits of one kind the smaller holds.
 * 0, or -EINVAL with one clear line in `error`.
 */
int wt_keep_parse(const char *text, struct wt_keep *keep, char error[WT_DB_ERROR_BYTES]);

/*
 * The limits of the rows of one run (WAVETAP_KEEP_ROWS): a size of its file ("8GiB"), an age of its rows ("12h"),
 * or both with a comma; "all": none; "": WT_KEEP_ROWS_DEFAULT. As wt_keep_parse(), and given -EINVAL *ret_keep has
 * the default.
 */
#define WT_KEEP_ROWS_DEFAULT "8GiB"
#define WT_KEEP_ROWS_FORM "a size (2GiB), an age (12h), both with a comma, or all"
int wt_keep_rows_parse(const char *text, struct wt_keep *ret_keep, char error[WT_DB_ERROR_BYTES]);

/* A time with its unit, as above ("90s", "1.5h"). 0 or -EINVAL. */
int wt_keep_parse_time(const char *text, int64_t *ret_ns);

/*
 * Which of `runs` (wt_db_list: oldest first) go. Those with an error are none of our business,
 * `is_protected` ones stay, and so do the newest run and the one that `latest` means; all that
 * stay count. `now_ns` is CLOCK_REALTIME; the age of a run counts from its last instant.
 */
void wt_keep_choose(const struct wt_keep *keep, const struct wt_db_run_file *runs, size_t count,
                    const bool *is_protected, int64_t now_ns, bool *ret_is_removed);

/*
 * Removes a run file and its journals. `name` is that of a file in `runs_dir`, itself and not the
 * end of a link. 0, or -errno with a line in `error`: -EPERM it is not ours or not a file.
 */
int wt_keep_remove(const char *runs_dir, const char *name, char error[WT_DB_ERROR_BYTES]);

#endif /* WT_KEEP_H */

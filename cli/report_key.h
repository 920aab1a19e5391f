/*
 * report_key.h - which row of a report a kernel that ran belongs to, for every grouping.
 *
 * Rows come from the file's rollups (kernel, config, device, process, rank, class) or are made as
 * launches are read (step, range, stream, graph, phase, duration): report_scan.c. In both cases
 * the gap before a kernel finds its row here. Memory: a few words for each row, configuration,
 * and pair of row and configuration. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_REPORT_KEY_H
#define WT_CLI_REPORT_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/map.h"
#include "cli/report.h"
#include "cli/report_part.h"
#include "cli/steps.h"

/* What of a kernel that ran tells its row. */
struct wt_report_exec {
	int64_t exec_id, process_id, config_id;
	int64_t context_id, stream_id; /* CUPTI's */
	int64_t graph_id; /* -1: not a graph node */
	int64_t start_ns, end_ns; /* whole, also where a window cuts it */
};

struct wt_report_config {
	int64_t config_id, kernel_id, device_id;
	int64_t sms; /* that the context may use */
	int64_t device_sms;
	uint32_t occupied_sms; /* that its kernels can; 0: not known */
};

struct wt_report_key {
	sqlite3 *db;
	enum wt_report_group group;
	struct wt_report_config *configs;
	size_t config_count;
	struct wt_map config_at; /* config_id -> index */
	struct wt_map rank_of; /* process_id -> rank + 1; grouped by rank */
	struct wt_map class_of; /* kernel_id -> index of its class; grouped by class */
	struct wt_map place_at; /* process and context -> small number */
	struct wt_map row_at; /* key -> index of the row */
	struct wt_run_steps steps; /* grouped by step */
	struct wt_report_parts parts; /* grouped by range or phase */
};

/*
 * 0 or -errno; -ENODATA: the run has nothing to group so, and `problem` (problem_bytes) says why.
 * Free with wt_report_key_fini() in either case.
 */
int wt_report_key_init(struct wt_report_key *key, sqlite3 *db, enum wt_report_group group,
                       char *problem, size_t problem_bytes);
void wt_report_key_fini(struct wt_report_key *key);

/* Are rows made as launches are read, since the file has no sums of them? */
bool wt_report_key_is_of_launches(enum wt_report_group group);

/* NULL: a damaged file. */
const struct wt_report_config *wt_report_key_config(const struct wt_report_key *key,
                                                    int64_t config_id);

/* A row that was loaded already. 0 or -ENOMEM. */
int wt_report_key_note(struct wt_report_key *key, const struct wt_report_row *row, size_t at);

/*
 * Index of the row of a kernel. Without one: -ENOENT, or with `count` a new one: *count is its
 * index and is raised. 0 or -errno.
 */
int wt_report_key_find(struct wt_report_key *key, const struct wt_report_exec *exec, size_t *count,
                       size_t *ret_at);

/* What the row is about, from one of its kernels. */
void wt_report_key_describe(const struct wt_report_key *key, const struct wt_report_exec *exec,
                            struct wt_report_row *row);

/* The words of a row for people, after all of its numbers are known. 0 or -ENOMEM. */
int wt_report_key_label(const struct wt_report_key *key, struct wt_report_row *row);

#endif /* WT_CLI_REPORT_KEY_H */

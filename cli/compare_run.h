/*
 * compare_run.h - what `compare` needs of one run: per step, and as facts.
 *
 * One pass over the ledger of the window (the steady steps, or what was selected) gives kernels and gaps, one
 * over the launches the lines within kernels. A series has a value for each steady step in order; beyond
 * WT_COMPARE_BLOCKS_MAX steps for each block of as many steps. Without steps the window is cut into
 * WT_COMPARE_SLICES slices, kernels have their mean duration in each, and nothing is known per step.
 *
 * Memory beside the ledger's: 16 bytes for each block and kernel, 8 for each block and configuration.
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_COMPARE_RUN_H
#define WT_CLI_COMPARE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/gap.h"
#include "analysis/map.h"
#include "cli/report.h"
#include "cli/select.h"
#include "schema/wt_api.h"

#define WT_COMPARE_BLOCKS_MAX 512
#define WT_COMPARE_SLICES 32

/* Lines of the ledger, SM-ns per step over all devices. The causes of gaps follow the first ones. */
enum wt_compare_line {
	WT_COMPARE_ACTIVE,
	WT_COMPARE_UNDERFILL,
	WT_COMPARE_WAVE,
	WT_COMPARE_STRAGGLE,
	WT_COMPARE_RAMP,
	WT_COMPARE_UNJUDGED,
	WT_COMPARE_COMM,
	WT_COMPARE_GAP,
	WT_COMPARE_LINE_MAX = WT_COMPARE_GAP + WT_GAP_CAUSE_MAX
};

struct wt_compare_config {
	int64_t config_id;
	size_t kernel; /* index */
	int64_t device_id, grid[3], block[3];
	int64_t cluster; /* blocks of a cluster; 0: none */
	int64_t regs, smem_bytes, blocks, threads, sms;
	int64_t blocks_per_sm, resident_blocks; /* -1: not known, as the next */
	double occupancy, waves;
	char limiter[48]; /* "": not known */
	int64_t launches, time_ns;
	double *time_ns_of; /* per block, ns a step */
	double *launches_of; /* without steps: per slice */
};

struct wt_compare_kernel {
	int64_t kernel_id;
	char *name, *demangled;
	int64_t launches, in_graph, time_ns;
	int64_t first; /* launches of the window before its first one */
	double *time_ns_of, *launches_of; /* per block, a step */
	size_t most; /* index of the configuration with most time; of SIZE_MAX none */
	bool is_collective;
};

/* Who was late for collectives: per block, ns a step that others waited for it. */
struct wt_compare_rank {
	int64_t rank, process_id;
	double *late_ns_of;
};

struct wt_compare_facts {
	char gpu[128]; /* "2x NVIDIA H200" */
	int64_t devices, sms; /* over all devices */
	int64_t driver, cupti;
	double clock_mhz; /* mean SM clock in the window; 0: not known */
	char throttle[160]; /* "": none that is known */
	char ranks[64]; /* "0,1"; "": none were given */
	int64_t rank_count, world_size; /* with a rank; greatest; 0: not given */
	int64_t processes, processes_live, processes_cut; /* cut: killed, lost */
	double measured_share; /* of kernels' SM-time: sampled or profiled */
	int64_t kernels, kernels_lost, kernels_unobserved; /* the last: graph launches */
	char incomplete[200]; /* "": recorded in full */
	int64_t first_ns; /* when its first kernel started, by which copies of a run are known; 0: not known */
	double startup_ns; /* before the steady steps; < 0: not known */
	int64_t syncs, copies; /* in the steps that are used, or in the window */
	int64_t sync_of[WT_API_MAX];
	int64_t graph_launches;
};

struct wt_compare_run {
	char *spec; /* as it was asked for */
	char id[16], name[256], path[1024];
	struct wt_compare_facts facts;
	bool has_steps;
	const char *steps_reason; /* why not */
	double confidence;
	size_t steps, blocks; /* used; values of a series */
	size_t steps_a_block;
	int64_t wall_ns; /* of the window */
	int64_t kernels_in_steps,
	        graph_nodes_in_steps; /* of the steps that are used, or of the window */
	double *step_ns_of; /* per block; NULL without steps */
	double *busy_ns_of;
	double *line_of[WT_COMPARE_LINE_MAX]; /* the same */
	double line_sm_ns[WT_COMPARE_LINE_MAX]; /* of the window */
	struct wt_compare_kernel *kernels;
	size_t kernel_count;
	struct wt_compare_config *configs;
	size_t config_count;
	struct wt_compare_rank *ranks;
	size_t rank_count;
	const char *ranks_reason; /* why it is not known who was late; static text, or NULL */
	struct wt_map kernel_at, config_at;
	/* while it is loaded */
	int64_t *start_ns, *end_ns; /* of the steps or slices that are used */
	int64_t seen;
	size_t step_count;
};

/*
 * Opens the run, selects, loads, closes. An enum wt_exit after a message; wt_compare_run_fini() in either case.
 * NO_DATA: there are no kernels with times.
 */
int wt_compare_run_load(const char *spec, const struct wt_select_words *words,
                        struct wt_compare_run *run);
void wt_compare_run_fini(struct wt_compare_run *run);

/* The block in which something at that time lies; SIZE_MAX: in none that is used. */
size_t wt_compare_block_of(const struct wt_compare_run *run, int64_t time_ns);

/* compare_facts.c: 0 or -errno. */
int wt_compare_load_facts(sqlite3 *db, const struct wt_ledger *ledger,
                          const struct wt_report *losses, struct wt_compare_run *run);
/* What is known of its configurations, after the kernels are loaded. */
int wt_compare_load_configs(sqlite3 *db, struct wt_compare_run *run);

/* "active", "gap:host": static text. */
const char *wt_compare_line_name(enum wt_compare_line line);

#endif /* WT_CLI_COMPARE_RUN_H */

/*
 * diagnose_steps.h - what is known of each process of a run before its gaps are judged: when its
 * start-up was over, when its steps began, when it launched each kernel for the first time.
 *
 * The start-up is over at the first steady step, if steps are found, and else when a tenth of the
 * process' launches were made. Single-threaded; loading blocks on the file. Memory: 8 bytes a step,
 * 40 bytes for each kernel of a process and device.
 */
#ifndef WT_CLI_DIAGNOSE_STEPS_H
#define WT_CLI_DIAGNOSE_STEPS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct wt_steps_process {
	int64_t process_id;
	int64_t warm_ns; /* its start-up was over; INT64_MAX: not known */
	int64_t *starts_ns; /* of its steps, ascending */
	size_t start_count;
};

struct wt_steps_first {
	int64_t process_id, device_id, kernel_id, first_ns;
};

struct wt_steps_known {
	struct wt_steps_process *processes; /* by process_id */
	size_t process_count;
	struct wt_steps_first *firsts; /* by process, device, kernel */
	size_t first_count;
};

/* Steps are looked for in so many processes; those with most launches come first. */
#define WT_STEPS_PROCESSES_MAX 16

/* 0 or -errno. wt_steps_known_fini() in either case. */
int wt_steps_known_load(sqlite3 *db, struct wt_steps_known *known);
void wt_steps_known_fini(struct wt_steps_known *known);

/* Is the launch that started at start_ns the first one of its kernel, by that process on that device? */
bool wt_steps_is_first(const struct wt_steps_known *known, int64_t process_id, int64_t device_id,
                       int64_t kernel_id, int64_t start_ns);

/* Does a step of the process begin with the kernel that started then? */
bool wt_steps_is_start(const struct wt_steps_known *known, int64_t process_id, int64_t start_ns);

/* Was its start-up over? */
bool wt_steps_is_warm(const struct wt_steps_known *known, int64_t process_id, int64_t at_ns);

#endif /* WT_CLI_DIAGNOSE_STEPS_H */

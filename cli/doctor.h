/*
 * doctor.h - what this host can and can't measure. One function a subject, one line a finding.
 *
 *	doctor_install.c   our own files, preloading, settings
 *	doctor_gpu.c       driver, devices, counters, other tools
 *	doctor_cupti.c     which libcupti would be used
 *	doctor_sampler.c   can counters be sampled?
 *	doctor_host.c      processor, clock, limits, /proc
 *	doctor_data.c      shared memory, data directory, daemon, leftovers
 *	doctor_target.c    the program that is to be recorded
 *	cmd_doctor.c       order, output, exit code
 *
 * What may hang or crash is tried in a child (probe.h). Nothing is changed. Single-threaded.
 */
#ifndef WT_CLI_DOCTOR_H
#define WT_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wt_paths.h"

enum wt_doctor_status {
	WT_DOCTOR_OK,
	WT_DOCTOR_WARN, /* recording works, with a drawback */
	WT_DOCTOR_FAIL, /* it does not work */
	WT_DOCTOR_NA, /* can't be judged here */
};

struct wt_doctor_finding {
	enum wt_doctor_status status;
	const char *group, *name; /* static */
	char text[700];
	char remedy[400]; /* "" = nothing to do */
};

struct wt_doctor {
	int timeout_ms; /* for the driver, and for each program that is tried */
	char library[WT_PATH_BYTES]; /* "" = not found */
	char data_dir[WT_PATH_BYTES];
	int driver_version; /* 0 = no driver */
	int device_count;
	char driver_path[WT_PATH_BYTES];
	char cupti_path[WT_PATH_BYTES]; /* the one that would be used; "" = none */
	bool is_reserved; /* counters are for administrators alone, and we are none */
	const char *const *command; /* the program to look at; NULL: none */

	struct wt_doctor_finding *findings;
	size_t count, room;
	bool is_out_of_memory;
};

/* Adds a finding. `remedy` NULL: none. */
void wt_doctor_add(struct wt_doctor *doctor, enum wt_doctor_status status, const char *group,
                   const char *name, const char *remedy, const char *format, ...)
        __attribute__((format(printf, 6, 7)));

void wt_doctor_install(struct wt_doctor *doctor);
void wt_doctor_gpu(struct wt_doctor *doctor);
/* `python`: an interpreter whose packages are looked at too, or NULL. */
void wt_doctor_cupti(struct wt_doctor *doctor, const char *python);
/* After the two above. */
void wt_doctor_sampler(struct wt_doctor *doctor);
void wt_doctor_host(struct wt_doctor *doctor);
void wt_doctor_data(struct wt_doctor *doctor);
void wt_doctor_target(struct wt_doctor *doctor);

/* The interpreter that runs `command`, if that is Python, into `path` (WT_PATH_BYTES); else false. */
bool wt_doctor_find_python(const char *command, char *path);

/* The first line of a file, without its end; false if it can't be read. */
bool wt_doctor_read_line(const char *path, char *line, size_t line_bytes);

#endif /* WT_CLI_DOCTOR_H */

/*
 * doctor_sampler.c - can counters be sampled here? See doctor.h.
 *
 * wavetap-sampler tries it, as the daemon would have it, and gives them back at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/client.h"
#include "cli/doctor.h"
#include "cli/probe.h"
#include "schema/wt_segment.h"

#define GROUP "counters"

static const char *remedy_of(unsigned state)
{
	switch (state) {
	case WT_SAMPLER_NO_CUPTI:
		return "install the CUPTI of CUDA 12.6 or newer, or set WAVETAP_CUPTI to its path";
	case WT_SAMPLER_NO_PERMISSION:
		return "run as root or with CAP_SYS_ADMIN, or load the nvidia module with "
		       "NVreg_RestrictProfilingToAdminUsers=0";
	case WT_SAMPLER_BUSY:
		return "is another wavetap-sampler, DCGM, ncu or nsys at work?";
	case WT_SAMPLER_TIMEOUT:
		return "see dmesg; is another profiler stuck?";
	default:
		return NULL;
	}
}

/* Without "wavetap-sampler: " and the end of the line. */
static const char *words_of(struct wt_probe_result *probe)
{
	const char *prefix = "wavetap-sampler: ";

	probe->text[strcspn(probe->text, "\n")] = '\0';
	return probe->text + (strncmp(probe->text, prefix, strlen(prefix)) ? 0 : strlen(prefix));
}

static void tell(struct wt_doctor *doctor, struct wt_probe_result *probe)
{
	bool has_code = !probe->error && WIFEXITED(probe->status);
	unsigned code = has_code ? (unsigned)WEXITSTATUS(probe->status) : 0;
	const char *words = words_of(probe);

	if (has_code && code == 0)
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "sampling", NULL, "%s", words);
	else if (has_code && words[0])
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "sampling", remedy_of(code),
		              "not possible: %s", words);
	else
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "sampling", NULL,
		              "not possible: wavetap-sampler %s", wt_probe_problem(probe));
}

void wt_doctor_sampler(struct wt_doctor *doctor)
{
	const char *cupti = doctor->cupti_path;
	struct wt_probe_result *probe;
	char path[WT_PATH_BYTES];

	if (wt_client_find_sampler(path)) {
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "sampling",
		              "install it, or set WAVETAP_SAMPLER to its path",
		              "wavetap-sampler was not found: SM activity is not measured");
		return;
	}
	if (!doctor->device_count || doctor->is_reserved)
		return; /* said already */
	probe = calloc(1, sizeof(*probe));
	if (!probe) {
		doctor->is_out_of_memory = true;
		return;
	}
	wt_probe_run(
	        (const char *const[]){path, "--check", cupti[0] ? "--cupti" : NULL, cupti, NULL},
	        NULL, doctor->timeout_ms, probe);
	tell(doctor, probe);
	free(probe);
}

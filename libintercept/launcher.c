/*
 * launcher.c - what the launcher of a job says in the environment: rank, and the key that the
 * processes of one job on this host have in common.
 *
 * Runs once per process, while the segment is made. Reads the environment; no system call, no
 * heap. A variable that is empty or makes no sense counts as not set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libintercept/hooks.h"
#include "schema/wt_run_key.h"

static const char *env(const char *name)
{
	const char *value = name ? secure_getenv(name) : NULL;

	return value && value[0] ? value : NULL;
}

/* Digits and nothing else, up to INT32_MAX; else -1. */
static int32_t env_number(const char *name)
{
	const char *value = env(name);
	int64_t number = 0;

	if (!value)
		return -1;
	for (; *value; value++) {
		if (*value < '0' || *value > '9')
			return -1;
		number = 10 * number + (*value - '0');
		if (number > INT32_MAX)
			return -1;
	}
	return (int32_t)number;
}

/*
 * The variables of one launcher, never mixed: an outer launcher's count says nothing about an
 * inner one's rank. The first that has a rank is taken: those that run within others come first,
 * as torchrun does in a Slurm step, and an MPI launcher in a Slurm job.
 */
void wt_launcher_rank(struct wt_segment_header *header)
{
	static const struct {
		const char *rank, *local_rank, *local_rank_too, *world_size;
	} launcher[] = {
	        {"RANK", "LOCAL_RANK", NULL, "WORLD_SIZE"}, /* torchrun, accelerate, deepspeed */
	        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", NULL,
	         "OMPI_COMM_WORLD_SIZE"},
	        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", NULL, "MV2_COMM_WORLD_SIZE"},
	        {"PMI_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "PMI_SIZE"}, /* MPICH, Intel */
	        {"SLURM_PROCID", "SLURM_LOCALID", NULL, "SLURM_NTASKS"},
	        {"PMIX_RANK", NULL, NULL, NULL},
	};

	/* What run_key.c of the daemon looks for in those above us. */
	header->is_rank = env("PMI_RANK") || env("MV2_COMM_WORLD_RANK");
	header->rank = header->local_rank = header->world_size = -1;
	for (size_t i = 0; i < sizeof(launcher) / sizeof(launcher[0]); i++) {
		int32_t rank = env_number(launcher[i].rank), size;

		if (rank < 0)
			continue;
		size = env_number(launcher[i].world_size);
		header->rank = rank;
		header->local_rank = env_number(launcher[i].local_rank);
		if (header->local_rank < 0)
			header->local_rank = env_number(launcher[i].local_rank_too);
		header->world_size = size > rank ? size : -1;
		return;
	}
}

/* 8-4-4-4-12 hexadecimal digits: what `torchrun --standalone` makes up. */
static bool is_uuid(const char *text)
{
	for (int i = 0; i < 36; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? text[i] != '-'
		            : !strchr("0123456789abcdefABCDEF", text[i]) || !text[i])
			return false;
	}
	return !text[36];
}

/*
 * An id that people choose ("100") is told apart by the master's address and port. A UUID needs
 * neither, and is better off: where the agents don't share their store with the workers, each
 * restart of these has another port, and it is still the same run.
 */
static void format_torch(char text[2 * WT_RUN_KEY_BYTES], const char *id)
{
	const char *address = env("MASTER_ADDR"), *port = env("MASTER_PORT");

	if (is_uuid(id))
		snprintf(text, 2 * WT_RUN_KEY_BYTES, "torchrun:%s", id);
	else
		snprintf(text, 2 * WT_RUN_KEY_BYTES, "torchrun:%s@%s:%s", id,
		         address ? address : "", port ? port : "");
}

void wt_launcher_run_key(char key[WT_RUN_KEY_BYTES])
{
	static const char *const mpi_names[] = {
	        "OMPI_MCA_ess_base_jobid", /* Open MPI up to 4 */
	        "PMIX_NAMESPACE", /* Open MPI 5, PRRTE */
	        "PMI_JOBID",
	        "I_MPI_HYDRA_UUID", /* Intel MPI; MPICH's Hydra has none: run_key.c of the daemon */
	};
	const char *torch = env("TORCHELASTIC_RUN_ID");
	const char *job = env("SLURM_JOB_ID"), *step = env("SLURM_STEP_ID"), *mpi = NULL;
	char text[2 * WT_RUN_KEY_BYTES] = "";

	if (env("WAVETAP_RUN")) {
		wt_run_key_set(key, env("WAVETAP_RUN"));
		return;
	}
	for (size_t i = 0; !mpi && i < sizeof(mpi_names) / sizeof(mpi_names[0]); i++)
		mpi = env(mpi_names[i]);
	job = job ? job : env("SLURM_JOBID");
	step = step ? step : env("SLURM_STEPID");
	if (torch && strcmp(torch, "none"))
		format_torch(text, torch);
	else if (job && step)
		snprintf(text, sizeof(text), "slurm:%s.%s", job, step);
	else if (mpi)
		snprintf(text, sizeof(text), "mpi:%s", mpi);
	wt_run_key_set(key, text);
}

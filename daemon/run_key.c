/*
 * run_key.c - which run does a process belong to, when its environment does not say?
 *
 * The topmost ancestor that preloads libwavetap.so stands for the job: its pid, start time
 * and the boot id are the key. The library has noted who is above the process; those that are
 * gone, or can't be read, are skipped. At worst a process is a run of its own. Reads /proc;
 * main thread; does not block.
 *
 * What comes out depends on who looks, and when. So it is looked up once for a segment and noted
 * in it, before anything is stored: a later daemon goes on in the same run file.
 *
 * MPICH's launcher gives its ranks no job id, and it may preload us for them alone. Then their
 * common parent, the proxy that started them on this host, stands for the job.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>

#define ENVIRON_BYTES_MAX (4u * 1024 * 1024)
#define SEARCHES_MAX 4
#define INITIAL_PID_NAMESPACE UINT64_C(0xeffffffc) /* the kernel's PROC_PID_INIT_INO */

struct environ_facts {
	bool is_known; /* false: not ours to read, or a corpse that nobody has reaped */
	bool is_preloading; /* LD_PRELOAD, or the second door, names the library */
	bool is_rank; /* started as a rank by Hydra or MVAPICH's mpirun */
};

static bool has_prefix(const char *variable, size_t length, const char *prefix)
{
	return length > strlen(prefix) && !memcmp(variable, prefix, strlen(prefix));
}

/* Looks at one variable of an environment, without its end. */
static void note_variable(const char *variable, size_t length, struct environ_facts *facts)
{
	if ((has_prefix(variable, length, "LD_PRELOAD=") ||
	     has_prefix(variable, length, "CUDA_INJECTION64_PATH=")) &&
	    memmem(variable, length, "libwavetap", strlen("libwavetap")))
		facts->is_preloading = true;
	if (has_prefix(variable, length, "PMI_RANK=") ||
	    has_prefix(variable, length, "MV2_COMM_WORLD_RANK="))
		facts->is_rank = true;
}

char *wt_environ_read(int32_t pid, size_t *ret_bytes)
{
	char path[64], *environment = NULL;
	size_t room = 64 * 1024, used = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	while (n > 0 && used < ENVIRON_BYTES_MAX) {
		if (!environment || used == room) {
			char *more = realloc(environment, environment ? (room *= 2) : room);

			if (!more)
				break;
			environment = more;
		}
		n = read(fd, environment + used, room - used);
		used += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	*ret_bytes = used;
	return environment;
}

/* What the environment says with which the process was started. */
static struct environ_facts read_environ(int32_t pid)
{
	struct environ_facts facts = {0};
	size_t used = 0;
	char *environment = wt_environ_read(pid, &used);

	facts.is_known = used > 0;
	for (size_t at = 0; at < used;) {
		size_t length = strnlen(environment + at, used - at);

		note_variable(environment + at, length, &facts);
		at += length + 1;
	}
	free(environment);
	return facts;
}

/* Who stands for the job, on the way up from the observed process. */
struct climb {
	int32_t top_pid;
	uint64_t top_start;
	bool is_top_rank; /* preloads, and was started as a rank */
	uint64_t pid_namespace; /* of top_pid */
};

/* One more process that is there. */
static void climb_to(struct climb *climb, int32_t pid, uint64_t start)
{
	struct environ_facts facts = read_environ(pid);

	/* Right above a rank stands who started it. */
	if (!facts.is_known || (!facts.is_preloading && (!climb->is_top_rank || facts.is_rank)))
		return;
	climb->top_pid = pid;
	climb->top_start = start;
	climb->is_top_rank = facts.is_preloading && facts.is_rank;
	climb->pid_namespace = wt_liveness_namespace();
}

/* All that are above the process, as the library noted them; those in between may be gone. */
static void climb_noted(struct climb *climb, const struct wt_segment_header *header)
{
	for (uint32_t i = 0; i < header->ancestor_count && i < WT_ANCESTORS_MAX; i++) {
		const struct wt_ancestor *above = &header->ancestor[i];

		if (wt_liveness_find(header->pid_namespace, above->pid, above->start_ticks))
			climb_to(climb, above->pid, above->start_ticks);
	}
}

/* The lowest that is there, as a pid of ours. Each look goes through all of /proc. */
static int32_t find_lowest(const struct wt_segment_header *header, int32_t own_pid)
{
	uint64_t start;
	int32_t parent, pid = 0;
	char state;

	if (own_pid > 0 && wt_proc_stat(own_pid, &parent, &start, &state) == 0 &&
	    start == header->start_ticks)
		return own_pid;
	for (uint32_t i = 0; i < header->ancestor_count && i < SEARCHES_MAX && !pid; i++)
		pid = wt_liveness_find(header->pid_namespace, header->ancestor[i].pid,
		                       header->ancestor[i].start_ticks);
	return pid;
}

/*
 * From a process of another pid namespace all the way up as it looks from here: also through those
 * outside, which the process itself could not see.
 */
static void climb_seen(struct climb *climb, int32_t pid)
{
	uint64_t start, below = UINT64_MAX;
	int32_t parent;
	char state;

	for (int depth = 0; pid > 0 && depth < WT_ANCESTORS_MAX; depth++) {
		if (wt_proc_stat(pid, &parent, &start, &state) || start > below)
			return;
		climb_to(climb, pid, start);
		below = start;
		pid = parent;
	}
}

static void make_key(const struct wt_segment_header *header, int32_t pid,
                     char key[WT_RUN_KEY_BYTES])
{
	/* The process itself preloads us, and may be gone already. */
	struct climb climb = {header->pid, header->start_ticks, header->is_rank,
	                      header->pid_namespace};
	char suffix[24] = "";

	if (!header->start_ticks) { /* without /proc all first processes of containers look alike */
		snprintf(key, WT_RUN_KEY_BYTES, "segment:%016llx",
		         (unsigned long long)wt_fnv1a(header->uuid, sizeof(header->uuid)));
		return;
	}
	if (wt_liveness_is_here(header->pid_namespace))
		climb_noted(&climb, header);
	else
		climb_seen(&climb, find_lowest(header, pid));
	/* A pid in a container says in which. */
	if (climb.pid_namespace != INITIAL_PID_NAMESPACE)
		snprintf(suffix, sizeof(suffix), ":%llu", (unsigned long long)climb.pid_namespace);
	snprintf(key, WT_RUN_KEY_BYTES, "pid:%d:%llu:%s%s", climb.top_pid,
	         (unsigned long long)climb.top_start, header->boot_id, suffix);
}

void wt_run_key(const struct wt_mapped *mapped, int32_t pid, char key[WT_RUN_KEY_BYTES])
{
	if (mapped->header.run_key[0]) {
		snprintf(key, WT_RUN_KEY_BYTES, "%s", mapped->header.run_key);
		return;
	}
	if (wt_segment_run_key(mapped, key) == 0)
		return;
	make_key(&mapped->header, pid, key);
	/* Cut short meanwhile: it is lost anyway. */
	(void)wt_segment_settle_run_key(mapped, key);
}

/*
 * cuda_truth.c - what really happened, for tests to compare with.
 *
 * WTFAKE_TRUTH=FILE: one JSON line per kernel, each a single write(2), so that
 * what was written before a kill -9 is there. WTFAKE_COUNTERS=FILE: a shared
 * mapping of named counters (fake_counters.h), good at any moment. Both under
 * the driver's lock, except for counting, which is atomic.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fake/cuda_int.h"
#include "tests/fake/fake_counters.h"

static const char *const count_names[FAKE_COUNT_MAX] = {
        [FAKE_LAUNCH_ATTEMPTED] = "launch_attempted",
        [FAKE_LAUNCH_OK] = "launch_ok",
        [FAKE_LAUNCH_FAILED] = "launch_failed",
        [FAKE_LAUNCH_CAPTURED] = "launch_captured",
        [FAKE_GRAPH_LAUNCHES] = "graph_launches",
        [FAKE_NODE_KERNELS] = "node_kernels",
        [FAKE_KERNELS] = "kernels",
        [FAKE_DRIVER_CALLS] = "driver_calls",
};

static struct fake_counters private_counters;
static struct fake_counters *counters;
static _Atomic uint64_t *count_of[FAKE_COUNT_MAX];
static _Atomic uint64_t *entry_of[FAKE_ENTRY_COUNT];
static int truth_fd = -1;
static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint64_t *counter_named(const char *name)
{
	for (int i = 0; i < FAKE_COUNTERS_MAX; i++) {
		struct fake_counter *counter = &counters->counter[i];

		if (!counter->name[0])
			snprintf(counter->name, sizeof(counter->name), "%s", name);
		if (!strcmp(counter->name, name))
			return &counter->value;
	}
	fake_die("no room for counter %s", name);
	return &private_counters.counter[0].value;
}

_Atomic uint64_t *fake_counter(const char *name)
{
	_Atomic uint64_t *counter;

	fake_truth_init();
	pthread_mutex_lock(&name_lock);
	counter = counter_named(name);
	pthread_mutex_unlock(&name_lock);
	return counter;
}

/* First call of any entry: maps the files, names what is counted. */
static void truth_open(void)
{
	int fd;

	counters = &private_counters;
	fd = fake_open_env("WTFAKE_COUNTERS", O_RDWR | O_CREAT);
	if (fd >= 0 && !ftruncate(fd, sizeof(*counters))) {
		void *mapped =
		        mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (mapped != MAP_FAILED)
			counters = mapped;
	}
	if (fd >= 0)
		close(fd);
	counters->magic = FAKE_COUNTERS_MAGIC;
	counters->pid = getpid();
	for (int i = 0; i < FAKE_COUNT_MAX; i++)
		count_of[i] = counter_named(count_names[i]);
	for (int i = 0; i < FAKE_ENTRY_COUNT; i++)
		entry_of[i] = counter_named(fake_entry_name(i));
	truth_fd = fake_open_env("WTFAKE_TRUTH", O_WRONLY | O_CREAT | O_APPEND);
}

void fake_truth_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, truth_open);
}

void fake_count(enum fake_count what)
{
	atomic_fetch_add(count_of[what], 1);
}

_Atomic uint64_t *fake_entry_counter(int entry)
{
	return entry_of[entry];
}

void fake_truth_kernel(const struct fake_device *device, const struct fake_op *op,
                       const struct fake_ran *ran)
{
	int64_t block_ns = ran->end_ns - ran->start_ns;
	char line[1024];
	int len;

	if (truth_fd < 0)
		return;
	len = snprintf(line, sizeof(line),
	               "{\"pid\":%d,\"tid\":%d,\"call_ns\":%lld,\"context\":%u,\"kernel\":\"%s\","
	               "\"device\":%u,\"stream\":%u,"
	               "\"correlation\":%u,\"graph\":%u,\"node\":%llu,\"grid\":[%u,%u,%u],"
	               "\"block\":[%u,%u,%u],\"sms\":%d,\"blocks_per_sm\":%d,\"start_ns\":%lld,"
	               "\"end_ns\":%lld,\"record_start_ns\":%lld,\"record_end_ns\":%lld,"
	               "\"busy_sm_ns\":%lld,\"underfill_sm_ns\":%lld,\"tail_sm_ns\":%lld,"
	               "\"used_sms\":%d}\n",
	               (int)getpid(), (int)syscall(SYS_gettid), (long long)op->queued_ns,
	               op->context_id, op->name, op->device, op->stream_id, op->correlation,
	               op->graph_id, (unsigned long long)op->graph_node_id, op->grid[0],
	               op->grid[1], op->grid[2], op->block[0], op->block[1], op->block[2],
	               device->sm_count, ran->blocks_per_sm, (long long)ran->start_ns,
	               (long long)ran->end_ns, (long long)op->start_ns, (long long)op->end_ns,
	               (long long)ran->busy_sm_ns,
	               (long long)(block_ns * (device->sm_count - ran->used_sm_count)),
	               (long long)ran->tail_sm_ns, ran->used_sm_count);
	if (len > 0 && len < (int)sizeof(line) && write(truth_fd, line, (size_t)len) != len)
		fake_die("truth could not be written");
}

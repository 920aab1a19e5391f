/*
 * cuda_truth.c - what really happened, for tests to compare with.
 *
 * WTFAKE_TRUTH=FILE: one JSON line per kernel, each a single write(2), so that
 * what was written before a kill -9 is there. WTFAKE_TRUTH_CALLS=FILE: the same
 * for copies, calls and overhead. WTFAKE_COUNTERS=FILE: a shared mapping of
 * named counters (fake_counters.h), good at any moment. All under the driver's
 * lock, except for counting, which is atomic, and calls, told after it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
        [FAKE_CONTEXTS] = "contexts",
        [FAKE_DRIVER_CALLS] = "driver_calls",
};

static struct fake_counters private_counters;
static struct fake_counters *counters;
static _Atomic uint64_t *count_of[FAKE_COUNT_MAX];
static _Atomic uint64_t *entry_of[FAKE_ENTRY_COUNT];
static int truth_fd = -1, calls_fd = -1, counters_fd = -1;
static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint64_t *counter_add(const char *name)
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

static _Atomic uint64_t *counter_find(const char *name)
{
	for (int i = 0; i < FAKE_COUNTERS_MAX && counters->counter[i].name[0]; i++)
		if (!strcmp(counters->counter[i].name, name))
			return &counters->counter[i].value;
	return NULL;
}

/* Other processes may be naming counters of the same file. */
static _Atomic uint64_t *counter_named(const char *name)
{
	_Atomic uint64_t *counter = counter_find(name);

	if (counter)
		return counter;
	if (counters_fd >= 0)
		flock(counters_fd, LOCK_EX);
	counter = counter_add(name);
	if (counters_fd >= 0)
		flock(counters_fd, LOCK_UN);
	return counter;
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
	if (counters == &private_counters && fd >= 0)
		close(fd);
	else
		counters_fd = fd;
	counters->magic = FAKE_COUNTERS_MAGIC;
	counters->pid = getpid();
	for (int i = 0; i < FAKE_COUNT_MAX; i++)
		count_of[i] = counter_named(count_names[i]);
	for (int i = 0; i < FAKE_ENTRY_COUNT; i++)
		entry_of[i] = counter_named(fake_entry_name(i));
	truth_fd = fake_open_env("WTFAKE_TRUTH", O_WRONLY | O_CREAT | O_APPEND);
	fake_pm_init();
	calls_fd = fake_open_env("WTFAKE_TRUTH_CALLS", O_WRONLY | O_CREAT | O_APPEND);
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

/* One line, one write. */
__attribute__((format(printf, 2, 3))) static void tell(int fd, const char *format, ...)
{
	char line[1024];
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (len > 0 && len < (int)sizeof(line) && write(fd, line, (size_t)len) != len)
		fake_die("truth could not be written");
}

static const char *wait_name(enum fake_wait wait)
{
	static const char *const names[] = {
	        [FAKE_WAIT_CALL] = "call", [FAKE_WAIT_KERNEL] = "kernel",
	        [FAKE_WAIT_COPY] = "copy", [FAKE_WAIT_EVENT] = "event",
	        [FAKE_WAIT_HOST] = "host", [FAKE_WAIT_DEFAULT] = "default stream",
	        [FAKE_WAIT_NODE] = "node", [FAKE_WAIT_SMS] = "sms",
	};

	return names[wait];
}

void fake_truth_copy(const struct fake_op *op, const struct fake_ready *ready)
{
	if (calls_fd < 0)
		return;
	tell(calls_fd,
	     "{\"what\":\"copy\",\"pid\":%d,\"tid\":%d,\"device\":%u,\"stream\":%u,\"correlation\":"
	     "%u,"
	     "\"bytes\":%llu,\"kind\":%u,\"from\":%u,\"to\":%u,\"start_ns\":%lld,\"end_ns\":%lld,"
	     "\"wait\":\"%s\",\"arrive_ns\":%lld}\n",
	     (int)getpid(), (int)syscall(SYS_gettid), op->device, op->stream_id, op->correlation,
	     (unsigned long long)op->bytes, op->copy_kind, op->src_kind, op->dst_kind,
	     (long long)op->start_ns, (long long)op->end_ns, wait_name(ready->wait),
	     (long long)ready->arrive_ns);
}

void fake_truth_call(const struct fake_call *call, wtcu_result result)
{
	int64_t now_ns = calls_fd < 0 ? 0 : fake_now_ns();

	if (calls_fd < 0)
		return;
	tell(calls_fd,
	     "{\"what\":\"call\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"correlation\":%u,"
	     "\"called_ns\":%lld,\"entered_ns\":%lld,\"left_ns\":%lld,\"result\":%d}\n",
	     (int)getpid(), (int)syscall(SYS_gettid), fake_entry_name(call->entry),
	     call->correlation, (long long)call->called_ns, (long long)call->enter_ns,
	     (long long)now_ns, result);
}

void fake_truth_overhead(int kind, int64_t start_ns, int64_t end_ns)
{
	if (calls_fd < 0)
		return;
	tell(calls_fd,
	     "{\"what\":\"overhead\",\"pid\":%d,\"tid\":%d,\"kind\":%d,\"start_ns\":%lld,"
	     "\"end_ns\":%lld}\n",
	     (int)getpid(), (int)syscall(SYS_gettid), kind, (long long)start_ns, (long long)end_ns);
}

void fake_truth_kernel(const struct fake_device *device, const struct fake_op *op,
                       const struct fake_ran *ran, const struct fake_ready *ready, bool was_told)
{
	int64_t block_ns = ran->end_ns - ran->start_ns;

	if (truth_fd < 0)
		return;
	tell(truth_fd,
	     "{\"pid\":%d,\"tid\":%d,\"call_ns\":%lld,\"context\":%u,\"kernel\":\"%s\","
	     "\"device\":%u,\"stream\":%u,"
	     "\"correlation\":%u,\"graph\":%u,\"node\":%llu,\"grid\":[%u,%u,%u],"
	     "\"block\":[%u,%u,%u],\"sms\":%d,\"blocks_per_sm\":%d,\"start_ns\":%lld,"
	     "\"end_ns\":%lld,\"record_start_ns\":%lld,\"record_end_ns\":%lld,"
	     "\"busy_sm_ns\":%lld,\"underfill_sm_ns\":%lld,\"tail_sm_ns\":%lld,"
	     "\"used_sms\":%d,\"wait\":\"%s\",\"arrive_ns\":%lld,"
	     "\"ready_ns\":%lld,\"told\":%d,\"launch_type\":%d}\n",
	     (int)getpid(), (int)syscall(SYS_gettid), (long long)op->queued_ns, op->context_id,
	     op->name, op->device, op->stream_id, op->correlation, op->graph_id,
	     (unsigned long long)op->graph_node_id, op->grid[0], op->grid[1], op->grid[2],
	     op->block[0], op->block[1], op->block[2], device->sm_count, ran->blocks_per_sm,
	     (long long)ran->start_ns, (long long)ran->end_ns, (long long)op->start_ns,
	     (long long)op->end_ns, (long long)ran->busy_sm_ns,
	     (long long)(block_ns * (device->sm_count - ran->used_sm_count)),
	     (long long)ran->tail_sm_ns, ran->used_sm_count,
	     wait_name(ran->start_ns > ready->at_ns ? FAKE_WAIT_SMS : ready->wait),
	     (long long)ready->arrive_ns, (long long)ready->at_ns, was_told, op->launch_type);
}

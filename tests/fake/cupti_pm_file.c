/*
 * cupti_pm_file.c - what a device did, read from WTFAKE_PM (pm_file.h): time
 * with a block, warps, tensor pipe and DRAM in one window after the other, and
 * which process has the counters of a device.
 *
 * Under prof_lock. Blocks for reads of a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fake/cupti_prof.h"
#include "tests/fake/pm_file.h"

#define READ_BYTES (1 << 18)
#define HOLD_STALE_NS 2000000000 /* of a process that was stopped, or is dead and not waited for */

static struct fake_pm_head *head;
static int pm_fd = -1;

bool prof_has_pm(void)
{
	const char *name = getenv("WTFAKE_PM");

	return name && *name;
}

static bool file_open(void)
{
	if (head)
		return true;
	pm_fd = fake_open_env("WTFAKE_PM", O_RDWR | O_CREAT | O_APPEND);
	if (pm_fd < 0)
		return false;
	flock(pm_fd, LOCK_EX);
	if (lseek(pm_fd, 0, SEEK_END) < FAKE_PM_HEAD_BYTES && ftruncate(pm_fd, FAKE_PM_HEAD_BYTES))
		fake_die("WTFAKE_PM can't be made");
	flock(pm_fd, LOCK_UN);
	head = mmap(NULL, FAKE_PM_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, pm_fd, 0);
	if (head == MAP_FAILED)
		fake_die("WTFAKE_PM can't be mapped");
	return true;
}

/* ---- who has the counters ---------------------------------------------------------- */

wtcupti_result prof_device_take(const struct fake_device_facts *facts)
{
	_Atomic int64_t *owner;
	int64_t pid = 0;

	if (!file_open())
		return WTCUPTI_SUCCESS;
	owner = &head->owner[facts->place % FAKE_PM_DEVICES];
	while (!atomic_compare_exchange_strong(owner, &pid, getpid()))
		if (!kill((pid_t)pid, 0) || errno != ESRCH)
			return WTCUPTI_ERROR_HARDWARE_BUSY;
	return WTCUPTI_SUCCESS;
}

bool prof_device_is_taken(const struct fake_device_facts *facts)
{
	int64_t pid = file_open() ? atomic_load(&head->owner[facts->place % FAKE_PM_DEVICES]) : 0;

	return pid && pid != getpid() && (!kill((pid_t)pid, 0) || errno != ESRCH);
}

void prof_device_give(const struct fake_device_facts *facts)
{
	if (head)
		atomic_store(&head->owner[facts->place % FAKE_PM_DEVICES], 0);
}

/* ---- reading -------------------------------------------------------------------------- */

/* Something of a kernel from then to then: on an SM, or (as rates per ns) in DRAM. */
struct span {
	int64_t start_ns, end_ns;
	double warps, tensor, issue;
	double read_bytes, write_bytes;
};

/* In the order of their starts; those before `first` are over. */
struct spans {
	struct span *at;
	size_t first, count, capacity;
};

struct prof_gpu {
	struct fake_device_facts facts;
	int64_t opened_ns, asked_ns; /* windows up to then were asked for */
	int64_t offset; /* in the file */
	uint8_t *text;
	size_t text_bytes;
	struct spans *sm; /* of each, then those of DRAM */
};

struct prof_gpu *prof_gpu_open(const struct fake_device_facts *facts)
{
	struct prof_gpu *gpu = calloc(1, sizeof(*gpu));

	if (!gpu || !file_open())
		abort();
	gpu->facts = *facts;
	gpu->opened_ns = gpu->asked_ns = fake_now_ns();
	gpu->offset = FAKE_PM_HEAD_BYTES;
	gpu->sm = calloc((size_t)facts->sm_count + 1, sizeof(*gpu->sm));
	gpu->text = malloc(READ_BYTES);
	if (!gpu->sm || !gpu->text)
		abort();
	return gpu;
}

void prof_gpu_close(struct prof_gpu *gpu)
{
	for (int i = 0; i <= gpu->facts.sm_count; i++)
		free(gpu->sm[i].at);
	free(gpu->sm);
	free(gpu->text);
	free(gpu);
}

static void spans_add(struct spans *spans, const struct span *span)
{
	size_t at;

	if (spans->count == spans->capacity) {
		size_t live = spans->count - spans->first;

		if (live)
			memmove(spans->at, spans->at + spans->first, live * sizeof(*span));
		spans->first = 0;
		spans->count = live;
		if (live * 2 >= spans->capacity) {
			spans->capacity = spans->capacity ? 2 * spans->capacity : 64;
			spans->at = realloc(spans->at, spans->capacity * sizeof(*span));
			if (!spans->at)
				abort();
		}
	}
	for (at = spans->count++; at > spans->first && spans->at[at - 1].start_ns > span->start_ns;
	     at--)
		spans->at[at] = spans->at[at - 1];
	spans->at[at] = *span;
}

static void kernel_take(struct prof_gpu *gpu, const struct fake_pm_kernel *kernel)
{
	const struct fake_pm_span *from = (const void *)(kernel + 1);
	struct span dram = {.start_ns = kernel->start_ns,
	                    .end_ns = kernel->end_ns,
	                    .read_bytes = kernel->dram_read_bytes_per_ns,
	                    .write_bytes = kernel->dram_write_bytes_per_ns};

	if ((int)kernel->place != gpu->facts.place || kernel->end_ns <= gpu->asked_ns)
		return;
	if (kernel->start_ns < gpu->asked_ns && kernel->start_ns > gpu->opened_ns)
		cupti_count("pm_late_kernels"); /* its beginning was missed */
	spans_add(&gpu->sm[gpu->facts.sm_count], &dram);
	for (uint32_t i = 0; i < kernel->span_count; i++, from++) {
		struct span span = {.start_ns = from->start_ns,
		                    .end_ns = from->end_ns,
		                    .warps = (double)from->blocks * kernel->warps_per_block,
		                    .tensor = kernel->tensor,
		                    .issue = kernel->issue};

		for (int k = 0; k < from->sm_count; k++)
			if (from->first_sm + k < gpu->facts.sm_count)
				spans_add(&gpu->sm[from->first_sm + k], &span);
	}
}

/* Takes the whole records of what is in hand; the bytes taken. */
static size_t text_take(struct prof_gpu *gpu, size_t bytes)
{
	size_t taken = 0;

	while (bytes - taken >= sizeof(struct fake_pm_kernel)) {
		const struct fake_pm_kernel *kernel = (const void *)(gpu->text + taken);

		if (kernel->magic != FAKE_PM_MAGIC)
			fake_die("WTFAKE_PM is damaged");
		if (bytes - taken < kernel->bytes) {
			if (!taken && kernel->bytes > gpu->text_bytes)
				gpu->text_bytes = kernel->bytes;
			break;
		}
		kernel_take(gpu, kernel);
		taken += kernel->bytes;
	}
	return taken;
}

static void file_read(struct prof_gpu *gpu)
{
	if (gpu->text_bytes < READ_BYTES)
		gpu->text_bytes = READ_BYTES;
	for (;;) {
		ssize_t got = pread(pm_fd, gpu->text, gpu->text_bytes, gpu->offset);
		size_t room = gpu->text_bytes;
		size_t taken = got > 0 ? text_take(gpu, (size_t)got) : 0;

		gpu->offset += (int64_t)taken;
		if (gpu->text_bytes > room) {
			gpu->text = realloc(gpu->text, gpu->text_bytes);
			if (!gpu->text)
				abort();
		} else if (!taken) {
			return;
		}
	}
}

int64_t prof_gpu_read(struct prof_gpu *gpu, int64_t want_ns)
{
	int64_t now_ns = fake_now_ns();
	int64_t known_ns = now_ns;

	for (int i = 0; i < FAKE_PM_HOLDERS; i++) {
		int64_t pid = atomic_load(&head->holder[i].pid);
		int64_t hold_ns = pid ? atomic_load(&head->holder[i].hold_ns) : 0;

		if (hold_ns && hold_ns < known_ns && now_ns - hold_ns < HOLD_STALE_NS &&
		    (!kill((pid_t)pid, 0) || errno != ESRCH))
			known_ns = hold_ns;
	}
	file_read(gpu);
	return known_ns < want_ns ? known_ns : want_ns;
}

/* ---- windows ---------------------------------------------------------------------------- */

struct sums {
	double covered_ns; /* with anything */
	struct span weighted; /* the members but the times, each times ns */
};

static struct sums spans_sum(struct spans *spans, int64_t start_ns, int64_t end_ns)
{
	struct sums sums = {0};
	int64_t covered_ns = start_ns;
	size_t i, keep;

	for (i = spans->first; i < spans->count && spans->at[i].start_ns < end_ns; i++) {
		const struct span *span = &spans->at[i];
		int64_t from_ns = span->start_ns > start_ns ? span->start_ns : start_ns;
		int64_t to_ns = span->end_ns < end_ns ? span->end_ns : end_ns;
		double ns = (double)(to_ns - from_ns);

		if (to_ns <= from_ns)
			continue;
		if (to_ns > covered_ns) {
			sums.covered_ns +=
			        (double)(to_ns - (from_ns > covered_ns ? from_ns : covered_ns));
			covered_ns = to_ns;
		}
		sums.weighted.warps += span->warps * ns;
		sums.weighted.tensor += span->tensor * ns;
		sums.weighted.issue += span->issue * ns;
		sums.weighted.read_bytes += span->read_bytes * ns;
		sums.weighted.write_bytes += span->write_bytes * ns;
	}
	/* What goes on beyond the window stays, in its order, just before what has not begun. */
	for (keep = i; i > spans->first; i--)
		if (spans->at[i - 1].end_ns > end_ns)
			spans->at[--keep] = spans->at[i - 1];
	spans->first = keep;
	return sums;
}

void prof_gpu_window(struct prof_gpu *gpu, int64_t start_ns, int64_t end_ns, struct prof_row *row)
{
	const int sms = gpu->facts.sm_count;
	const double ghz = prof_clock_ghz(&gpu->facts);
	const double elapsed = (double)(end_ns - start_ns) * ghz;
	struct sums dram = spans_sum(&gpu->sm[sms], start_ns, end_ns);

	memset(row->value, 0, sizeof(row->value));
	for (int i = 0; i < sms; i++) {
		struct sums sums = spans_sum(&gpu->sm[i], start_ns, end_ns);

		prof_row_add(row, PROF_CYCLES_ACTIVE, sums.covered_ns * ghz, !i);
		prof_row_add(row, PROF_CYCLES_ELAPSED, elapsed, !i);
		prof_row_add(row, PROF_WARPS_ACTIVE, sums.weighted.warps * ghz, !i);
		prof_row_add(row, PROF_TENSOR_ACTIVE,
		             sums.weighted.tensor * ghz * PROF_TENSOR_PER_CYCLE, !i);
		prof_row_add(row, PROF_INSTRUCTIONS,
		             sums.weighted.issue * ghz * PROF_ISSUE_PER_CYCLE, !i);
	}
	prof_row_finish(row, sms);
	row->value[PROF_DRAM_READ][PROF_SUM] = dram.weighted.read_bytes;
	row->value[PROF_DRAM_WRITE][PROF_SUM] = dram.weighted.write_bytes;
	gpu->asked_ns = end_ns;
}

double prof_clock_ghz(const struct fake_device_facts *facts)
{
	return (double)fake_env_i64("WTFAKE_SM_CLOCK_MHZ", facts->clock_khz / 1000) / 1000;
}

/*
 * cuda_pm.c - what the counters of a device would see: the SMs of a kernel
 * over time, written to WTFAKE_PM (pm_file.h) and shown to the simulated CUPTI.
 *
 * Under the driver's lock. Blocks for a write of some kilobytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fake/cuda_int.h"
#include "tests/fake/pm_file.h"

static struct fake_pm_head *head;
static int pm_fd = -1;
static int own_slot = -1;

/* ---- the file ------------------------------------------------------------------------ */

static bool is_dead(int64_t pid)
{
	return kill((pid_t)pid, 0) && errno == ESRCH;
}

static void slot_take(void)
{
	for (int i = 0; i < FAKE_PM_HOLDERS; i++) {
		int64_t pid = atomic_load(&head->holder[i].pid);

		if (pid && !is_dead(pid))
			continue;
		if (!atomic_compare_exchange_strong(&head->holder[i].pid, &pid, getpid()))
			continue;
		atomic_store(&head->holder[i].hold_ns, 0);
		own_slot = i;
		return;
	}
	fake_die("WTFAKE_PM: more than %d processes", FAKE_PM_HOLDERS);
}

static void file_open(void)
{
	uint64_t empty = 0;

	pm_fd = fake_open_env("WTFAKE_PM", O_RDWR | O_CREAT | O_APPEND);
	if (pm_fd < 0)
		return;
	/* Appending begins after the head: whoever comes first makes room for it. */
	flock(pm_fd, LOCK_EX);
	if (lseek(pm_fd, 0, SEEK_END) < FAKE_PM_HEAD_BYTES && ftruncate(pm_fd, FAKE_PM_HEAD_BYTES))
		fake_die("WTFAKE_PM can't be made");
	flock(pm_fd, LOCK_UN);
	head = mmap(NULL, FAKE_PM_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, pm_fd, 0);
	if (head == MAP_FAILED)
		fake_die("WTFAKE_PM can't be mapped");
	atomic_compare_exchange_strong(&head->magic, &empty, FAKE_PM_MAGIC);
	slot_take();
}

void fake_pm_init(void)
{
	static bool was_opened;

	if (!was_opened)
		file_open();
	was_opened = true;
}

void fake_pm_hold(void)
{
	if (own_slot >= 0)
		atomic_store(&head->holder[own_slot].hold_ns, fake_now_ns());
}

bool fake_pm_release(void)
{
	if (own_slot < 0)
		return false;
	return atomic_exchange(&head->holder[own_slot].hold_ns, 0) != 0;
}

/* ---- following a kernel while it is scheduled ----------------------------------------- */

struct lane {
	int64_t now_ns; /* spans up to here are noted */
	int count; /* of blocks then */
	int64_t end_ns[FAKE_RESIDENT_MAX]; /* of each */
	size_t last; /* its last span */
	bool has_last;
};

struct fake_detail {
	int sm_count;
	struct lane *lane;
	struct fake_pm_span *span;
	size_t count, capacity;
};

struct fake_detail *fake_detail_new(int sm_count)
{
	struct fake_detail *detail;

	if (own_slot < 0 && !(fake_tools && fake_tools->wants_sms()))
		return NULL;
	detail = calloc(1, sizeof(*detail));
	if (!detail || !(detail->lane = calloc((size_t)sm_count, sizeof(*detail->lane))))
		abort();
	detail->sm_count = sm_count;
	return detail;
}

static void detail_free(struct fake_detail *detail)
{
	free(detail->lane);
	free(detail->span);
	free(detail);
}

void fake_detail_span(struct fake_detail *detail, int sm, int64_t start_ns, int64_t end_ns,
                      int blocks)
{
	struct lane *lane;
	struct fake_pm_span *last;

	if (!detail || end_ns <= start_ns || !blocks)
		return;
	lane = &detail->lane[sm];
	last = lane->has_last ? &detail->span[lane->last] : NULL;
	if (last && last->end_ns == start_ns && last->blocks == blocks) {
		last->end_ns = end_ns;
		return;
	}
	if (detail->count == detail->capacity || !detail->span) {
		detail->capacity = detail->capacity ? 2 * detail->capacity : 256;
		detail->span = realloc(detail->span, detail->capacity * sizeof(*detail->span));
		if (!detail->span)
			abort();
	}
	lane->last = detail->count;
	lane->has_last = true;
	detail->span[detail->count++] = (struct fake_pm_span){.first_sm = sm,
	                                                      .sm_count = 1,
	                                                      .blocks = blocks,
	                                                      .start_ns = start_ns,
	                                                      .end_ns = end_ns};
}

/* Notes what is known of the lane up to a time, at which no block has started since. */
static void lane_advance(struct fake_detail *detail, int sm, int64_t until_ns)
{
	struct lane *lane = &detail->lane[sm];

	while (lane->count) {
		int first = 0;

		for (int i = 1; i < lane->count; i++)
			if (lane->end_ns[i] < lane->end_ns[first])
				first = i;
		if (lane->end_ns[first] > until_ns)
			break;
		fake_detail_span(detail, sm, lane->now_ns, lane->end_ns[first], lane->count);
		lane->now_ns = lane->end_ns[first];
		lane->end_ns[first] = lane->end_ns[--lane->count];
	}
	if (lane->count)
		fake_detail_span(detail, sm, lane->now_ns, until_ns, lane->count);
	lane->now_ns = until_ns;
}

/* Blocks of an SM come in the order of their starts. */
void fake_detail_block(struct fake_detail *detail, int sm, int64_t start_ns, int64_t end_ns)
{
	struct lane *lane;

	if (!detail)
		return;
	lane_advance(detail, sm, start_ns);
	lane = &detail->lane[sm];
	if (lane->count == FAKE_RESIDENT_MAX)
		fake_die("SM %d has more than %d blocks of a kernel", sm, FAKE_RESIDENT_MAX);
	lane->end_ns[lane->count++] = end_ns;
}

/* ---- telling ----------------------------------------------------------------------------- */

static int span_order(const void *a, const void *b)
{
	const struct fake_pm_span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks < y->blocks ? -1 : 1;
	return x->first_sm - y->first_sm;
}

/* Spans that neighbours have alike become one. */
static void spans_join(struct fake_detail *detail)
{
	size_t kept = 0;

	qsort(detail->span, detail->count, sizeof(*detail->span), span_order);
	for (size_t i = 1; i < detail->count; i++) {
		struct fake_pm_span *to = &detail->span[kept];
		const struct fake_pm_span *from = &detail->span[i];

		if (to->start_ns == from->start_ns && to->end_ns == from->end_ns &&
		    to->blocks == from->blocks && to->first_sm + to->sm_count == from->first_sm)
			to->sm_count += from->sm_count;
		else
			detail->span[++kept] = *from;
	}
	if (detail->count)
		detail->count = kept + 1;
}

static void file_append(const struct fake_pm_kernel *kernel, const struct fake_pm_span *span)
{
	char *record = malloc(kernel->bytes);

	if (!record)
		abort();
	memcpy(record, kernel, sizeof(*kernel));
	memcpy(record + sizeof(*kernel), span, kernel->bytes - sizeof(*kernel));
	if (write(pm_fd, record, kernel->bytes) != (ssize_t)kernel->bytes)
		fake_die("WTFAKE_PM could not be written");
	free(record);
}

void fake_detail_tell(struct fake_detail *detail, const struct fake_stream *stream,
                      const struct fake_launch *launch, const struct fake_ran *ran,
                      const struct fake_op *op)
{
	const struct fake_function *f = launch->function;
	uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
	struct fake_pm_kernel kernel = {
	        .magic = FAKE_PM_MAGIC,
	        .place = (uint32_t)stream->ctx->device->place,
	        .warps_per_block = (threads + 31) / 32,
	        .start_ns = ran->start_ns,
	        .end_ns = ran->end_ns,
	        .tensor = f->tensor,
	        .issue = f->issue,
	        .dram_read_bytes_per_ns = f->dram_read_bytes_per_ns,
	        .dram_write_bytes_per_ns = f->dram_write_bytes_per_ns,
	};
	struct fake_sms sms;

	if (!detail)
		return;
	for (int sm = 0; sm < detail->sm_count; sm++)
		lane_advance(detail, sm, INT64_MAX);
	spans_join(detail);
	for (size_t i = 0; i < detail->count; i++)
		detail->span[i].first_sm += stream->ctx->sm_first; /* as the device counts them */
	kernel.span_count = (uint32_t)detail->count;
	kernel.bytes = (uint32_t)(sizeof(kernel) + detail->count * sizeof(*detail->span));
	if (own_slot >= 0)
		file_append(&kernel, detail->span);
	sms = (struct fake_sms){.kernel = &kernel, .span = detail->span};
	if (fake_tools && fake_tools->wants_sms())
		fake_tools->sms(op, &sms);
	detail_free(detail);
}

/*
 * overlap.c - see overlap.h.
 *
 * `waiting` is sorted from `head` to `sorted`; what comes is appended behind, and merged in when
 * something is to be settled. The sweep knows kernels by the slot that holds them until they end.
 */
#include "analysis/overlap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (WT_SWEEP_RESIDENT_MAX + 1) /* one more, for the kernel that is being added */
#define MARKS_MAX 4096

/* When the latest end so far was end_ns, later kernels were to have ids from next_id on. */
struct mark {
	int64_t end_ns, next_id;
};

struct wt_overlap {
	struct wt_sweep sweep;
	wt_overlap_output *output;
	void *arg;
	bool is_begun; /* the sweep has its start */
	bool is_quiet; /* a restart: nothing is put out */
	uint32_t sm_count;
	int64_t settled_ns;
	struct wt_overlap_kernel *waiting;
	size_t head, sorted, count, room;
	struct wt_overlap_kernel slots[SLOTS];
	uint8_t free_slots[SLOTS];
	size_t free_count;
	int64_t end_ns; /* latest */
	int64_t low_id; /* where no mark tells */
	struct mark *marks;
	size_t marks_first, marks_count;
};

static int on_kernel(void *arg, int64_t slot, const struct wt_sweep_share *share)
{
	struct wt_overlap *overlap = arg;
	const struct wt_overlap_kernel *kernel = &overlap->slots[slot];

	overlap->free_slots[overlap->free_count++] = (uint8_t)slot;
	if (overlap->is_quiet || kernel->is_context)
		return 0;
	return overlap->output(overlap->arg, kernel, share);
}

int wt_overlap_create(uint32_t sm_count, wt_overlap_output *output, void *arg,
                      struct wt_overlap **ret_overlap)
{
	struct wt_overlap *overlap;

	if (sm_count == 0 || sm_count > WT_SWEEP_SMS_MAX)
		return -EINVAL;
	overlap = calloc(1, sizeof(*overlap));
	if (!overlap)
		return -ENOMEM;
	overlap->sm_count = sm_count;
	overlap->output = output;
	overlap->arg = arg;
	overlap->settled_ns = overlap->end_ns = INT64_MIN;
	for (int i = SLOTS - 1; i >= 0; i--)
		overlap->free_slots[overlap->free_count++] = (uint8_t)i;
	*ret_overlap = overlap;
	return 0;
}

void wt_overlap_destroy(struct wt_overlap *overlap)
{
	if (!overlap)
		return;
	free(overlap->waiting);
	free(overlap->marks);
	free(overlap);
}

/* ---- order */

static int compare(const void *left, const void *right)
{
	const struct wt_overlap_kernel *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int make_room(struct wt_overlap *overlap)
{
	size_t room = overlap->room ? 2 * overlap->room : 256;
	struct wt_overlap_kernel *more;

	if (overlap->count < overlap->room)
		return 0;
	if (overlap->head > overlap->room / 4) { /* no more room than four thirds of what is held */
		overlap->count -= overlap->head;
		overlap->sorted -= overlap->head;
		memmove(overlap->waiting, overlap->waiting + overlap->head,
		        overlap->count * sizeof(*overlap->waiting));
		overlap->head = 0;
		return 0;
	}
	more = realloc(overlap->waiting, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	overlap->waiting = more;
	overlap->room = room;
	return 0;
}

static int append(struct wt_overlap *overlap, const struct wt_overlap_kernel *kernel)
{
	int err = make_room(overlap);
	int64_t sm_ns;

	if (err)
		return err;
	/* An end that can't be, which the sweep refuses, is no reason to keep what comes before it. */
	if (kernel->end_ns > overlap->end_ns &&
	    !__builtin_sub_overflow(kernel->end_ns, kernel->start_ns, &sm_ns) &&
	    !__builtin_mul_overflow(sm_ns, (int64_t)overlap->sm_count, &sm_ns))
		overlap->end_ns = kernel->end_ns;
	overlap->waiting[overlap->count++] = *kernel;
	/* In order as it came, mostly. */
	if (overlap->sorted == overlap->count - 1 &&
	    (overlap->sorted == overlap->head ||
	     compare(kernel, &overlap->waiting[overlap->sorted - 1]) > 0))
		overlap->sorted++;
	return 0;
}

/* What was appended joins the sorted part, from the back. 0 or -ENOMEM. */
static int merge(struct wt_overlap *overlap)
{
	size_t fresh = overlap->count - overlap->sorted, left = overlap->sorted;
	struct wt_overlap_kernel *all = overlap->waiting, *copy;

	if (!fresh)
		return 0;
	copy = malloc(fresh * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, all + overlap->sorted, fresh * sizeof(*copy));
	qsort(copy, fresh, sizeof(*copy), compare);
	for (size_t to = overlap->count; fresh;) {
		if (left > overlap->head && compare(&all[left - 1], &copy[fresh - 1]) > 0)
			all[--to] = all[--left];
		else
			all[--to] = copy[--fresh];
	}
	free(copy);
	overlap->sorted = overlap->count;
	return 0;
}

/* ---- sweeping */

static int feed(struct wt_overlap *overlap, const struct wt_overlap_kernel *kernel)
{
	const struct wt_sweep_output output = {.kernel = on_kernel, .arg = overlap};
	uint8_t slot = overlap->free_slots[overlap->free_count - 1];
	struct wt_sweep_kernel swept = {
	        .id = slot,
	        .start_ns = kernel->start_ns,
	        .end_ns = kernel->end_ns,
	        .duration_ns = (int64_t)((uint64_t)kernel->end_ns - (uint64_t)kernel->start_ns),
	        .wave_sm_ns = kernel->wave_sm_ns,
	        .wave_max_sm_ns = kernel->wave_max_sm_ns,
	        .sms = kernel->sms,
	        .blocks = kernel->blocks,
	        .blocks_per_sm = kernel->blocks_per_sm,
	        .is_judged = kernel->is_judged,
	        .is_collective = kernel->is_collective,
	};
	int err = 0;

	if (!overlap->is_begun)
		err = wt_sweep_init(&overlap->sweep, overlap->sm_count, kernel->start_ns, &output);
	overlap->is_begun = true;
	overlap->free_count--;
	overlap->slots[slot] = *kernel;
	if (!err)
		err = wt_sweep_add(&overlap->sweep, &swept);
	if (err != -EINVAL && err != -EBUSY)
		return err;
	overlap->free_slots[overlap->free_count++] = slot;
	return overlap->is_quiet || kernel->is_context
	               ? 0
	               : overlap->output(overlap->arg, kernel, NULL);
}

int wt_overlap_settle(struct wt_overlap *overlap, int64_t until_ns)
{
	int err = merge(overlap);

	while (!err && overlap->head < overlap->count &&
	       overlap->waiting[overlap->head].start_ns < until_ns)
		err = feed(overlap, &overlap->waiting[overlap->head++]);
	if (overlap->head == overlap->count)
		overlap->head = overlap->sorted = overlap->count = 0;
	if (err || !overlap->is_begun)
		return err;
	err = wt_sweep_ended(&overlap->sweep, until_ns);
	if (overlap->sweep.now_ns > overlap->settled_ns)
		overlap->settled_ns = overlap->sweep.now_ns;
	return err;
}

/* ---- for the caller */

int wt_overlap_add(struct wt_overlap *overlap, const struct wt_overlap_kernel *kernel)
{
	if (kernel->start_ns < overlap->settled_ns)
		return -ERANGE;
	return append(overlap, kernel);
}

int64_t wt_overlap_settled_ns(const struct wt_overlap *overlap)
{
	return overlap->settled_ns;
}

size_t wt_overlap_held(const struct wt_overlap *overlap)
{
	return overlap->count - overlap->head;
}

size_t wt_overlap_waiting(const struct wt_overlap *overlap)
{
	return wt_overlap_held(overlap) + (overlap->is_begun ? overlap->sweep.resident_count : 0);
}

int64_t wt_overlap_until_held(struct wt_overlap *overlap, size_t count)
{
	if (wt_overlap_held(overlap) <= count || merge(overlap))
		return INT64_MIN;
	return overlap->waiting[overlap->count - count - 1].start_ns + 1;
}

/* The first start of a kernel that is not out yet. */
static int64_t first_start_ns(struct wt_overlap *overlap)
{
	int64_t first_ns = INT64_MAX;

	for (size_t i = overlap->head; i < overlap->count; i++) {
		if (overlap->waiting[i].start_ns < first_ns)
			first_ns = overlap->waiting[i].start_ns;
		if (i >= overlap->head && i < overlap->sorted)
			i = overlap->sorted - 1; /* the first one tells of the sorted ones */
	}
	for (uint32_t i = 0; overlap->is_begun && i < overlap->sweep.resident_count; i++)
		if (overlap->sweep.resident[i].kernel.start_ns < first_ns)
			first_ns = overlap->sweep.resident[i].kernel.start_ns;
	return first_ns == INT64_MAX ? overlap->settled_ns : first_ns;
}

int wt_overlap_mark(struct wt_overlap *overlap, int64_t next_id)
{
	struct mark mark = {overlap->end_ns, next_id};

	if (!overlap->marks) {
		overlap->marks = calloc(MARKS_MAX, sizeof(*overlap->marks));
		if (!overlap->marks)
			return -ENOMEM;
	}
	if (overlap->marks_first && overlap->marks_count == MARKS_MAX) {
		overlap->marks_count -= overlap->marks_first;
		memmove(overlap->marks, overlap->marks + overlap->marks_first,
		        overlap->marks_count * sizeof(*overlap->marks));
		overlap->marks_first = 0;
	}
	/* Too many: an older mark is still a lower bound. */
	if (overlap->marks_count < MARKS_MAX &&
	    (overlap->marks_count == overlap->marks_first ||
	     overlap->marks[overlap->marks_count - 1].next_id != next_id))
		overlap->marks[overlap->marks_count++] = mark;
	return 0;
}

int64_t wt_overlap_low_id(struct wt_overlap *overlap)
{
	int64_t first_ns = first_start_ns(overlap);

	while (overlap->marks_first < overlap->marks_count &&
	       overlap->marks[overlap->marks_first].end_ns <= first_ns)
		overlap->low_id = overlap->marks[overlap->marks_first++].next_id;
	return overlap->low_id;
}

/* ---- restart */

int wt_overlap_restore(struct wt_overlap *overlap, const struct wt_overlap_kernel *kernel,
                       int64_t settled_ns)
{
	struct wt_overlap_kernel copy = *kernel;

	copy.is_context = kernel->end_ns <= settled_ns;
	return append(overlap, &copy);
}

int wt_overlap_restore_end(struct wt_overlap *overlap, int64_t settled_ns, int64_t low_id)
{
	int err;

	overlap->is_quiet = true;
	err = wt_overlap_settle(overlap, settled_ns);
	overlap->is_quiet = false;
	overlap->low_id = low_id;
	if (settled_ns > overlap->settled_ns)
		overlap->settled_ns = settled_ns;
	return err;
}

/*
 * sweep.c - see sweep.h. Pure: any thread, never blocks, never allocates.
 *
 * Magnitudes: a window of wall ns on S SMs must fit int64; wt_sweep_add refuses a kernel whose
 * end would break that, so sums can't overflow. S < 2^16 and at most 128 residents keep
 * the products of a split below 2^47.
 */
#include <errno.h>
#include <string.h>

#include "analysis/sweep.h"
#include "analysis/wave.h"

/* The one place that needs more than 64 bits: share of a kernel's wave by time. */
__extension__ typedef unsigned __int128 wide;

/* value * part / whole, part <= whole. */
static int64_t portion(int64_t value, int64_t part, int64_t whole)
{
	if (part == whole || value == 0)
		return value; /* the usual case, without a division of 128 bits */
	return (int64_t)((wide)value * (uint64_t)part / (uint64_t)whole);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

uint32_t wt_sweep_occupied_sms(int64_t context_sms, int64_t device_sms, int64_t resident_blocks,
                               int64_t blocks)
{
	int64_t sms = context_sms > 0 ? least(context_sms, device_sms) : device_sms;

	if (resident_blocks > 0)
		sms = least(sms, resident_blocks);
	if (blocks > 0)
		sms = least(sms, blocks);
	return (uint32_t)sms;
}

uint32_t wt_sweep_blocks_per_sm(int64_t context_sms, int64_t device_sms, int64_t resident_blocks)
{
	if (device_sms <= 0 || resident_blocks <= 0 || resident_blocks % device_sms != 0 ||
	    (context_sms > 0 && context_sms != device_sms) ||
	    resident_blocks / device_sms > INT32_MAX)
		return 0;
	return (uint32_t)(resident_blocks / device_sms);
}

int wt_sweep_init(struct wt_sweep *sweep, uint32_t sm_count, int64_t start_ns,
                  const struct wt_sweep_output *output)
{
	if (sm_count == 0 || sm_count > WT_SWEEP_SMS_MAX)
		return -EINVAL;
	memset(sweep, 0, sizeof(*sweep));
	sweep->output = *output;
	sweep->sm_count = sm_count;
	sweep->now_ns = start_ns;
	sweep->last_id = WT_SWEEP_NO_KERNEL;
	return 0;
}

/*
 * Splits `amount` among residents by weight: the part of resident i is what the running total of
 * weights up to it gets, less what was given before, so that all of it is given.
 */
struct split {
	uint64_t quotient, remainder, weights, weights_given, remainder_given;
};

static struct split split_begin(int64_t amount, uint64_t weights)
{
	return (struct split){.quotient = (uint64_t)amount / weights,
	                      .remainder = (uint64_t)amount % weights,
	                      .weights = weights};
}

static int64_t split_next(struct split *split, uint64_t weight)
{
	uint64_t until, odd;

	split->weights_given += weight;
	until = split->remainder * split->weights_given / split->weights;
	odd = until - split->remainder_given;
	split->remainder_given = until;
	return (int64_t)(split->quotient * weight + odd);
}

/* Kernels that share SMs. */
static void give_shared(struct wt_sweep *sweep, int64_t dt_ns, uint64_t sms_wanted)
{
	struct split split = split_begin((int64_t)sweep->sm_count * dt_ns, sms_wanted);

	for (uint32_t i = 0; i < sweep->resident_count; i++) {
		struct wt_sweep_resident *at = &sweep->resident[i];

		at->share.unjudged_sm_ns += split_next(&split, at->kernel.sms);
	}
}

/* Its own SMs, to itself. */
static void give_own(struct wt_sweep_resident *at, int64_t dt_ns)
{
	int64_t own_sm_ns = (int64_t)at->kernel.sms * dt_ns;

	if (!at->kernel.is_judged) {
		at->share.unjudged_sm_ns += own_sm_ns;
		return;
	}
	at->share.active_sm_ns += own_sm_ns;
	at->judged_ns += dt_ns;
	if (at->kernel.is_collective)
		at->share.active_comm_sm_ns += own_sm_ns;
}

/* Adds what the model says of left_ns on left_sms SMs: at most SMs x time each time. */
static void add_left_wave(const struct wt_sweep_resident *at, int64_t *wave_sm_ns,
                          int64_t *wave_max_sm_ns)
{
	const struct wt_wave_launch launch = {.duration_ns = at->kernel.duration_ns,
	                                      .grid = {at->kernel.blocks, 1, 1},
	                                      .sm_count = (int32_t)at->left_sms,
	                                      .blocks_per_sm = (int32_t)at->kernel.blocks_per_sm};
	struct wt_wave_result wave;

	if (!at->left_ns)
		return;
	wt_wave_judge(&launch, &wave);
	*wave_sm_ns += portion(wave.wave_sm_ns, at->left_ns, at->kernel.duration_ns);
	*wave_max_sm_ns += portion(wave.wave_max_sm_ns, at->left_ns, at->kernel.duration_ns);
}

/* Collectives, and one kernel on the SMs they leave; it wants more. */
static void give_left(struct wt_sweep *sweep, int64_t dt_ns, uint32_t left_sms)
{
	for (uint32_t i = 0; i < sweep->resident_count; i++) {
		struct wt_sweep_resident *at = &sweep->resident[i];

		if (at->kernel.is_collective) {
			give_own(at, dt_ns);
			continue;
		}
		if (at->left_sms != left_sms) {
			add_left_wave(at, &at->left_wave_sm_ns, &at->left_wave_max_sm_ns);
			at->left_sms = left_sms;
			at->left_ns = 0;
		}
		at->left_ns += dt_ns;
		at->share.active_sm_ns += (int64_t)left_sms * dt_ns;
	}
}

/* SMs left for the one kernel beside collectives; 0: there are others, or none are, or it isn't known. */
static uint32_t left_sms(const struct wt_sweep *sweep)
{
	uint32_t count = 0;
	uint64_t taken_sms = 0;

	for (uint32_t i = 0; i < sweep->resident_count; i++) {
		const struct wt_sweep_kernel *kernel = &sweep->resident[i].kernel;

		if (kernel->is_collective)
			taken_sms += kernel->sms;
		else if (++count > 1 || !kernel->is_judged || !kernel->blocks ||
		         !kernel->blocks_per_sm || kernel->blocks > INT32_MAX)
			return 0;
	}
	return count == 1 && taken_sms > 0 && taken_sms < sweep->sm_count
	               ? sweep->sm_count - (uint32_t)taken_sms
	               : 0;
}

/* Kernels beside each other, and the SMs that none of them can occupy. */
static void give_apart(struct wt_sweep *sweep, int64_t dt_ns, uint64_t sms_wanted,
                       uint32_t compute_count)
{
	bool is_comm = compute_count == 0;
	struct split idle = split_begin((int64_t)(sweep->sm_count - sms_wanted) * dt_ns,
	                                is_comm ? sweep->resident_count : compute_count);

	if (sweep->resident_count == 1 && !is_comm)
		sweep->resident[0].alone_ns += dt_ns;
	for (uint32_t i = 0; i < sweep->resident_count; i++) {
		struct wt_sweep_resident *at = &sweep->resident[i];

		give_own(at, dt_ns);
		if (is_comm)
			at->share.comm_sm_ns += split_next(&idle, 1);
		else if (!at->kernel.is_collective)
			at->share.underfill_sm_ns += split_next(&idle, 1);
	}
}

/* Somebody is resident from now_ns until until_ns. */
static void give_slice(struct wt_sweep *sweep, int64_t until_ns)
{
	int64_t dt_ns = until_ns - sweep->now_ns;
	uint64_t sms_wanted = 0;
	uint32_t compute_count = 0, left = 0;

	if (dt_ns == 0)
		return;
	for (uint32_t i = 0; i < sweep->resident_count; i++) {
		sms_wanted += sweep->resident[i].kernel.sms;
		compute_count += !sweep->resident[i].kernel.is_collective;
	}
	if (sms_wanted > sweep->sm_count)
		left = left_sms(sweep);
	if (left)
		give_left(sweep, dt_ns, left);
	else if (sms_wanted > sweep->sm_count)
		give_shared(sweep, dt_ns, sms_wanted);
	else
		give_apart(sweep, dt_ns, sms_wanted, compute_count);
	if (sweep->output.slice)
		sweep->output.slice(sweep->output.arg, sweep->now_ns, until_ns, sms_wanted);
	sweep->busy_ns += dt_ns;
	sweep->now_ns = until_ns;
}

#define EACH_FIELD(X)                                                                              \
	X(alone_ns)                                                                                \
	X(alone_wave_sm_ns)                                                                        \
	X(alone_wave_max_sm_ns)                                                                    \
	X(active_sm_ns)                                                                            \
	X(active_comm_sm_ns)                                                                       \
	X(underfill_sm_ns)                                                                         \
	X(wave_sm_ns)                                                                              \
	X(wave_max_sm_ns)                                                                          \
	X(unjudged_sm_ns)                                                                          \
	X(comm_sm_ns)                                                                              \
	X(straggle_sm_ns)                                                                          \
	X(ramp_sm_ns)
_Static_assert(sizeof(struct wt_sweep_share) == 12 * sizeof(int64_t), "all of them");

void wt_sweep_share_add(struct wt_sweep_share *sum, const struct wt_sweep_share *share)
{
#define ADD(field) sum->field += share->field;
	EACH_FIELD(ADD)
#undef ADD
}

struct wt_sweep_share wt_sweep_share_difference(const struct wt_sweep_share *after,
                                                const struct wt_sweep_share *before)
{
	struct wt_sweep_share difference;

#define LESS(field) difference.field = after->field - before->field;
	EACH_FIELD(LESS)
#undef LESS
	return difference;
}

/* What a kernel had so far: its wave is taken out of what was active. */
static struct wt_sweep_share share_of(const struct wt_sweep_resident *resident)
{
	const struct wt_sweep_kernel *kernel = &resident->kernel;
	struct wt_sweep_share share = resident->share;

	share.wave_sm_ns = portion(kernel->wave_sm_ns, resident->judged_ns, kernel->duration_ns);
	share.wave_max_sm_ns =
	        portion(kernel->wave_max_sm_ns, resident->judged_ns, kernel->duration_ns);
	share.wave_sm_ns += resident->left_wave_sm_ns;
	share.wave_max_sm_ns += resident->left_wave_max_sm_ns;
	add_left_wave(resident, &share.wave_sm_ns, &share.wave_max_sm_ns);
	share.alone_ns = resident->alone_ns;
	if (kernel->is_judged) {
		share.alone_wave_sm_ns =
		        portion(kernel->wave_sm_ns, share.alone_ns, kernel->duration_ns);
		share.alone_wave_max_sm_ns =
		        portion(kernel->wave_max_sm_ns, share.alone_ns, kernel->duration_ns);
	}
	share.active_sm_ns -= share.wave_sm_ns;
	if (kernel->is_collective)
		share.active_comm_sm_ns -= share.wave_sm_ns;
	return share;
}

/* Lets go of a kernel. */
static int put_out(struct wt_sweep *sweep, uint32_t at)
{
	struct wt_sweep_resident *resident = &sweep->resident[at];
	const struct wt_sweep_kernel *kernel = &resident->kernel;
	struct wt_sweep_share share = share_of(resident);
	int64_t id = kernel->id;

	wt_sweep_share_add(&sweep->total, &share);
	sweep->last_id = id;
	sweep->last_tag = kernel->tag;
	sweep->resident_count--;
	memmove(resident, resident + 1, (sweep->resident_count - at) * sizeof(*resident));
	return sweep->output.kernel ? sweep->output.kernel(sweep->output.arg, id, &share) : 0;
}

/* Kernels that end at now_ns, in order of arrival. */
static int put_out_ended(struct wt_sweep *sweep)
{
	for (uint32_t i = 0; i < sweep->resident_count;) {
		int err;

		if (sweep->resident[i].kernel.end_ns > sweep->now_ns) {
			i++;
			continue;
		}
		err = put_out(sweep, i);
		if (err)
			return err;
	}
	return 0;
}

static int64_t next_end_ns(const struct wt_sweep *sweep, int64_t until_ns)
{
	for (uint32_t i = 0; i < sweep->resident_count; i++)
		until_ns = least(until_ns, sweep->resident[i].kernel.end_ns);
	return until_ns;
}

/* Time goes on to until_ns, or until no kernel is left. */
static int advance_busy(struct wt_sweep *sweep, int64_t until_ns)
{
	int err = 0;

	while (!err && sweep->resident_count > 0 && sweep->now_ns < until_ns) {
		give_slice(sweep, next_end_ns(sweep, until_ns));
		err = put_out_ended(sweep);
	}
	return err;
}

/* Time goes on to until_ns, where the kernel after_id starts or the window ends. */
static int advance(struct wt_sweep *sweep, int64_t until_ns, int64_t after_id)
{
	struct wt_sweep_gap gap = {.after_id = after_id};
	int err = advance_busy(sweep, until_ns);

	if (err || sweep->now_ns >= until_ns)
		return err;
	gap.start_ns = sweep->now_ns;
	gap.end_ns = until_ns;
	gap.before_id = sweep->last_id;
	gap.before_tag = sweep->last_tag;
	sweep->gap_ns += until_ns - sweep->now_ns;
	sweep->now_ns = until_ns;
	return sweep->output.gap ? sweep->output.gap(sweep->output.arg, &gap) : 0;
}

void wt_sweep_resume(struct wt_sweep *sweep, uint64_t last_tag)
{
	sweep->last_id = 0;
	sweep->last_tag = last_tag;
}

static bool is_valid(const struct wt_sweep *sweep, const struct wt_sweep_kernel *kernel)
{
	int64_t length_ns, sm_ns;

	if (kernel->start_ns < sweep->now_ns || kernel->end_ns <= kernel->start_ns ||
	    kernel->id < 0 || kernel->sms == 0 || kernel->sms > sweep->sm_count)
		return false;
	/* The whole window so far, and the kernel, in SM-time. */
	if (__builtin_sub_overflow(kernel->end_ns, sweep->now_ns, &length_ns) ||
	    __builtin_add_overflow(length_ns, sweep->busy_ns + sweep->gap_ns, &length_ns) ||
	    __builtin_mul_overflow(length_ns, (int64_t)sweep->sm_count, &sm_ns))
		return false;
	if (kernel->duration_ns < kernel->end_ns - kernel->start_ns || kernel->wave_sm_ns < 0 ||
	    kernel->wave_max_sm_ns < kernel->wave_sm_ns)
		return false;
	return !__builtin_mul_overflow(kernel->duration_ns, (int64_t)kernel->sms, &sm_ns) &&
	       kernel->wave_max_sm_ns <= sm_ns;
}

int wt_sweep_add(struct wt_sweep *sweep, const struct wt_sweep_kernel *kernel)
{
	int err;

	if (!is_valid(sweep, kernel))
		return -EINVAL;
	/* Those that end until then make room, but a kernel that is refused must change nothing. */
	if (sweep->resident_count == WT_SWEEP_RESIDENT_MAX &&
	    next_end_ns(sweep, INT64_MAX) > kernel->start_ns)
		return -EBUSY;
	err = advance(sweep, kernel->start_ns, kernel->id);
	if (err)
		return err;
	sweep->resident[sweep->resident_count++] = (struct wt_sweep_resident){.kernel = *kernel};
	return 0;
}

int wt_sweep_until(struct wt_sweep *sweep, int64_t until_ns, struct wt_sweep_share *ret_total)
{
	int err;

	if (sweep->resident_count > 0 && until_ns < sweep->now_ns)
		return -EINVAL;
	err = advance_busy(sweep, until_ns);
	if (err)
		return err;
	*ret_total = sweep->total;
	for (uint32_t i = 0; i < sweep->resident_count; i++) {
		struct wt_sweep_share share = share_of(&sweep->resident[i]);

		wt_sweep_share_add(ret_total, &share);
	}
	return 0;
}

int64_t wt_sweep_resident_share(const struct wt_sweep *sweep, uint32_t at,
                                struct wt_sweep_share *ret_share)
{
	*ret_share = share_of(&sweep->resident[at]);
	return sweep->resident[at].kernel.id;
}

int wt_sweep_ended(struct wt_sweep *sweep, int64_t until_ns)
{
	int err = 0;

	while (!err && sweep->resident_count > 0) {
		int64_t end_ns = next_end_ns(sweep, INT64_MAX);

		if (end_ns > until_ns)
			break;
		give_slice(sweep, end_ns);
		err = put_out_ended(sweep);
	}
	return err;
}

int wt_sweep_finish(struct wt_sweep *sweep, int64_t end_ns)
{
	int64_t length_ns, sm_ns;
	int err;

	if (end_ns < sweep->now_ns || __builtin_sub_overflow(end_ns, sweep->now_ns, &length_ns) ||
	    __builtin_add_overflow(length_ns, sweep->busy_ns + sweep->gap_ns, &length_ns) ||
	    __builtin_mul_overflow(length_ns, (int64_t)sweep->sm_count, &sm_ns))
		return -EINVAL;
	err = advance(sweep, end_ns, WT_SWEEP_NO_KERNEL);
	while (!err && sweep->resident_count > 0)
		err = put_out(sweep, 0);
	return err;
}

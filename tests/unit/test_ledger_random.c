/*
 * test_ledger_random.c - the ledger and the causes of gaps of 10,000 random programs, against an account of each
 * nanosecond that shares no code with them.
 *
 *	test_ledger_random [PROGRAMS [FIRST-SEED]]
 *
 * Each program (random_run.h) becomes a run file in memory: records in any order, the CPU's stamps off by up
 * to the clock error. Then
 *   - every line of the ledger, and every cause before the kernels of each name, must be what account.h counts
 *     by brute force from the same stamps, to the nanosecond;
 *   - what it decided must be true: not more of any cause than with stamps that are not off;
 *   - where a lost kernel ran, nothing may read as idle with a cause.
 * What the device waited for is compared with the causes given after a call's return, and the shares of those
 * that can't be told from outside are printed.
 */
#include "cli/ledger.h"
#include "tests/tap.h"
#include "tests/unit/random_run_file.h"

#define PROGRAMS 10000
#define FAILURES_SHOWN 5

static struct sums {
	int64_t programs, kernels, lost, gaps, gap_ns, undecided_ns, unknown_ns;
	int64_t wait_ns[ACCOUNT_WAIT_MAX][ACCOUNT_CAUSE_MAX];
	int64_t failures;
} sums;

static uint64_t seed_now;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list ap;

	if (++sums.failures > FAILURES_SHOWN)
		return;
	printf("# seed %llu: ", (unsigned long long)seed_now);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

/* ---- what happened, for the account */

struct facts {
	struct account account;
	struct account_kernel *kernels;
	struct account_span *spans;
	int64_t first_ns[RR_PROCESSES_MAX];
};

static void add_span(struct facts *f, enum account_span_kind kind, int process, int thread,
                     int64_t start_ns, int64_t end_ns)
{
	f->spans[f->account.span_count++] =
	        (struct account_span){kind, process, thread, start_ns, end_ns};
}

static void add_calls(struct facts *f, const struct random_run *run, int64_t shift_ns)
{
	for (size_t i = 0; i < run->call_count; i++) {
		const struct rr_call *c = &run->calls[i];
		enum account_span_kind kind = ACCOUNT_SPAN_ALLOC;

		switch (c->kind) {
		case RR_CALL_MODULE:
			kind = ACCOUNT_SPAN_LOAD;
			break;
		case RR_CALL_SYNC_STREAM:
		case RR_CALL_SYNC_CONTEXT:
		case RR_CALL_SYNC_COPY:
			kind = ACCOUNT_SPAN_SYNC;
			break;
		case RR_CALL_ALLOC:
		case RR_CALL_BUILD:
			break;
		default:
			continue;
		}
		add_span(f, kind, c->process, c->thread, c->entry_ns + shift_ns,
		         c->return_ns + shift_ns);
	}
}

/* A process has a context on each device that it has a stream on. */
static int count_contexts(const struct random_run *run, int process)
{
	bool has[RR_DEVICES_MAX] = {false};
	int count = 0;

	for (int i = 0; i < run->stream_count; i++)
		if (run->streams[i].process == process)
			has[run->streams[i].device] = true;
	for (int i = 0; i < RR_DEVICES_MAX; i++)
		count += has[i];
	return count;
}

/*
 * A lost kernel may have run from its launch, less the clock error, until somebody has certainly waited for it: a wait for its
 * stream, or for the context where there is but one, that began after it.
 */
static void add_lost(struct facts *f, const struct random_run *run, const struct rr_call *lost)
{
	int64_t end_ns = INT64_MAX;
	bool has_one_context = count_contexts(run, lost->process) <= 1;

	for (size_t i = 0; i < run->call_count; i++) {
		const struct rr_call *c = &run->calls[i];

		if (c->process != lost->process || c->entry_ns < lost->return_ns)
			continue;
		if ((c->kind == RR_CALL_SYNC_STREAM && c->stream == lost->stream) ||
		    (c->kind == RR_CALL_SYNC_CONTEXT && has_one_context))
			if (rr_told(run, c->return_ns) < end_ns)
				end_ns = rr_told(run, c->return_ns);
	}
	if (end_ns < INT64_MAX)
		end_ns += run->clock_error_ns;
	add_span(f, ACCOUNT_SPAN_LOST, 0, 0, rr_told(run, lost->entry_ns) - run->clock_error_ns,
	         end_ns);
}

/* Of a device. is_true: with stamps that are not off, and no clock error. */
static void make_facts(struct facts *f, const struct random_run *run, int device, bool is_true)
{
	int64_t shift_ns = is_true ? 0 : run->clock_shift_ns;
	struct account *a = &f->account;

	rr_first(run, shift_ns, f->first_ns);
	a->sms = (uint32_t)run->sms[device];
	a->clock_error_ns = is_true ? 0 : run->clock_error_ns;
	a->first_launch_ns = f->first_ns;
	a->name_count = RR_NAMES;
	a->process_count = run->process_count;
	a->kernel_count = a->span_count = 0;
	for (size_t i = 0; i < run->kernel_count; i++) {
		struct account_kernel *k = &f->kernels[a->kernel_count];

		if (run->kernels[i].device != device || run->kernels[i].is_lost)
			continue;
		*k = run->kernels[i].a;
		k->entry_ns += shift_ns;
		k->return_ns += shift_ns;
		if (run->kernels[i].resident_blocks && run->kernels[i].resident_blocks < k->sms)
			k->sms = (uint32_t)run->kernels[i].resident_blocks;
		if (!run->kernels[i].is_node)
			k->launch = 0;
		a->kernel_count++;
	}
	add_calls(f, run, shift_ns);
	for (size_t i = 0; i < run->copy_count; i++)
		if (run->copies[i].device == device)
			add_span(f, ACCOUNT_SPAN_COPY, 0, 0, run->copies[i].start_ns,
			         run->copies[i].end_ns);
	for (size_t i = 0; i < run->overhead_count; i++) {
		const struct rr_overhead *o = &run->overheads[i];
		bool is_load = o->type == 1 || o->type == 4 << 16 || o->type == 5 << 16;

		add_span(f, is_load ? ACCOUNT_SPAN_LOAD : ACCOUNT_SPAN_PROFILER, o->process,
		         o->thread, o->start_ns + shift_ns, o->end_ns + shift_ns);
	}
	/* How many nodes a graph has isn't known: any launch of one may have lost some. */
	for (size_t i = 0; i < run->call_count; i++)
		if (run->calls[i].is_lost ||
		    (run->has_losses && run->calls[i].kind == RR_CALL_GRAPH))
			add_lost(f, run, &run->calls[i]);
	a->kernels = f->kernels;
	a->spans = f->spans;
}

/* ---- comparing */

static void same(const char *what, int64_t got, int64_t want)
{
	if (got != want)
		fail("%s: %" PRId64 ", counted %" PRId64, what, got, want);
}

static void compare_lines(const struct wt_ledger_device *got, const struct account_result *want)
{
	same("active", got->share.active_sm_ns, want->active_sm_ns);
	same("underfill", got->share.underfill_sm_ns, want->underfill_sm_ns);
	same("wave", got->share.wave_sm_ns, want->wave_sm_ns);
	same("wave at most", got->share.wave_max_sm_ns, want->wave_max_sm_ns);
	same("unjudged", got->share.unjudged_sm_ns, want->unjudged_sm_ns);
	same("comm", got->share.comm_sm_ns, want->comm_sm_ns);
	same("residual", got->residual_sm_ns, 0);
	same("busy", got->busy_ns, got->wall_ns - want->gap_ns);
	for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
		same(account_cause_names[cause], got->gap_ns[cause], want->cause_ns[cause]);
}

/* Time that was given a cause by the CPU's stamps really had it. */
static void check_decided(const struct account_name *got, const struct account_name *truth)
{
	for (int cause = ACCOUNT_load; cause <= ACCOUNT_startup; cause++)
		if (cause != ACCOUNT_unknown && cause != ACCOUNT_undecided &&
		    got->cause_ns[cause] > truth->cause_ns[cause])
			fail("%" PRId64 " ns decided as %s, of which it had %" PRId64,
			     got->cause_ns[cause], account_cause_names[cause],
			     truth->cause_ns[cause]);
}

/* Nothing but "unknown" where a kernel ran that has no record: no other kernel and no copy. */
static void check_lost(const struct facts *f, const struct random_run *run, int device)
{
	for (size_t i = 0; i < run->kernel_count; i++) {
		const struct rr_kernel *k = &run->kernels[i];
		int64_t at_ns = k->a.start_ns;

		if (!k->is_lost || k->device != device)
			continue;
		sums.lost++;
		for (bool has_moved = true; has_moved && at_ns < k->a.end_ns;) {
			has_moved = false;
			for (size_t j = 0; j < f->account.span_count; j++) {
				const struct account_span *s = &f->account.spans[j];

				if (s->kind == ACCOUNT_SPAN_LOST && s->start_ns <= at_ns &&
				    s->end_ns > at_ns) {
					at_ns = s->end_ns;
					has_moved = true;
				}
			}
		}
		if (at_ns < k->a.end_ns)
			fail("a lost kernel ran on for %" PRId64 " ns", k->a.end_ns - at_ns);
	}
}

/* Stretches of time: the terms of each sum to its SM-time, and each term over all of them to the line. */
static void check_buckets(const struct wt_ledger *ledger, const struct wt_ledger_device *device)
{
	int64_t sums_ns[ACCOUNT_CAUSE_MAX] = {0}, underfill_sm_ns = 0, wave_sm_ns = 0,
	        active_sm_ns = 0;

	for (size_t i = 0; i < ledger->bucket_count; i++) {
		const struct wt_ledger_bucket *b = &device->buckets[i];
		int64_t from_ns = ledger->start_ns + (int64_t)i * ledger->bucket_ns;
		int64_t end_ns = from_ns + ledger->bucket_ns;
		int64_t sm_ns = b->share.active_sm_ns + b->share.underfill_sm_ns +
		                b->share.wave_sm_ns + b->share.unjudged_sm_ns + b->share.comm_sm_ns;

		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++) {
			sm_ns += b->gap_ns[cause] * device->sms;
			sums_ns[cause] += b->gap_ns[cause];
		}
		if (end_ns > ledger->end_ns)
			end_ns = ledger->end_ns;
		same("a stretch of time", sm_ns, (end_ns - from_ns) * device->sms);
		active_sm_ns += b->share.active_sm_ns;
		underfill_sm_ns += b->share.underfill_sm_ns;
		wave_sm_ns += b->share.wave_sm_ns;
	}
	same("active of all stretches", active_sm_ns, device->share.active_sm_ns);
	same("underfill of all stretches", underfill_sm_ns, device->share.underfill_sm_ns);
	same("wave of all stretches", wave_sm_ns, device->share.wave_sm_ns);
	for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
		same("a cause in all stretches", sums_ns[cause], device->gap_ns[cause]);
}

static void add_sums(const struct account *a, const struct account_result *result)
{
	sums.kernels += (int64_t)a->kernel_count;
	for (int i = 0; i <= RR_NAMES; i++)
		sums.gaps += result->names[i].gaps;
	sums.gap_ns += result->gap_ns;
	sums.undecided_ns += result->cause_ns[ACCOUNT_undecided];
	sums.unknown_ns += result->cause_ns[ACCOUNT_unknown];
	for (int wait = 0; wait < ACCOUNT_WAIT_MAX; wait++)
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			sums.wait_ns[wait][cause] += result->wait_ns[wait][cause];
}

static void compare_device(const struct wt_ledger *ledger, const struct wt_ledger_device *got,
                           struct account_name *totals, const struct random_run *run,
                           struct facts *f)
{
	int device = (int)got->device_id - 1;
	struct account_result want, truth;

	f->account.start_ns = ledger->start_ns;
	f->account.end_ns = ledger->end_ns;
	make_facts(f, run, device, false);
	account_compute(&f->account, &want);
	compare_lines(got, &want);
	if (ledger->bucket_count)
		check_buckets(ledger, got);
	check_lost(f, run, device);
	add_sums(&f->account, &want);
	make_facts(f, run, device, true);
	account_compute(&f->account, &truth);
	for (int i = 0; i <= RR_NAMES; i++) {
		check_decided(&want.names[i], &truth.names[i]);
		totals[i].gaps += want.names[i].gaps;
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			totals[i].cause_ns[cause] += want.names[i].cause_ns[cause] * got->sms;
	}
	account_result_fini(&want);
	account_result_fini(&truth);
}

/* Gaps by the kernel that ended them, all devices. */
static void compare_names(const struct wt_ledger *ledger, struct account_name *totals)
{
	for (size_t i = 0; i <= ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *got =
		        i < ledger->kernel_count ? &ledger->kernels[i] : &ledger->after_last;
		struct account_name *want = &totals[got->kernel_id ? got->kernel_id - 1 : RR_NAMES];

		same("gaps before a kernel", got->gaps, want->gaps);
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			same(account_cause_names[cause], got->gap_sm_ns[cause],
			     want->cause_ns[cause]);
		want->gaps = 0;
	}
	for (int i = 0; i <= RR_NAMES; i++)
		same("gaps that nobody has", 0, totals[i].gaps);
}

static void compare(const struct wt_ledger *ledger, const struct random_run *run, struct facts *f)
{
	struct account_name totals[RR_NAMES + 1] = {0};

	for (size_t i = 0; i < ledger->device_count; i++)
		compare_device(ledger, &ledger->devices[i], totals, run, f);
	compare_names(ledger, totals);
}

static void run_program(sqlite3 *db, uint64_t seed)
{
	struct facts f = {0};
	struct wt_ledger ledger;
	struct random_run run;
	int rc;

	seed_now = seed;
	random_run_make(&run, seed);
	f.kernels = calloc(run.kernel_count + 1, sizeof(*f.kernels));
	f.spans = calloc(2 * run.call_count + run.copy_count + run.overhead_count + 1,
	                 sizeof(*f.spans));
	if (!f.kernels || !f.spans)
		abort();
	rr_first(&run, run.clock_shift_ns, f.first_ns);
	rr_write(db, &run, f.first_ns);
	/* A third of them as `timeline` does. */
	rc = wt_ledger_load_buckets(db, NULL, seed % 3 ? 0 : -(int64_t)(seed % 23 + 1), &ledger);
	if (rc)
		fail("not loaded: %d %s", rc, ledger.problem);
	else if (ledger.device_count)
		compare(&ledger, &run, &f);
	sums.programs += ledger.device_count > 0;
	wt_ledger_fini(&ledger);
	random_run_fini(&run);
	free(f.kernels);
	free(f.spans);
}

static void print_waits(void)
{
	int64_t all_ns = 0;

	for (int wait = 0; wait < ACCOUNT_WAIT_MAX; wait++)
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			all_ns += sums.wait_ns[wait][cause];
	printf("# after the call's return: the device waited for; the ledger says: share of that "
	       "time\n");
	for (int wait = 0; wait < ACCOUNT_WAIT_MAX; wait++)
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			if (sums.wait_ns[wait][cause])
				printf("#   %-10s %-10s %6.2f %%\n", account_wait_names[wait],
				       account_cause_names[cause],
				       100.0 * (double)sums.wait_ns[wait][cause] / (double)all_ns);
}

int main(int argc, char **argv)
{
	uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : PROGRAMS;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	sqlite3 *db = rr_open();

	/* Those that run a kernel count. */
	for (uint64_t i = 0; sums.programs < (int64_t)programs; i++)
		run_program(db, first + i);
	ok(sums.failures == 0,
	   "%" PRId64 " programs, %" PRId64 " kernels, %" PRId64 " gaps: %" PRId64 " differences",
	   sums.programs, sums.kernels, sums.gaps, sums.failures);
	printf("# undecided %.2f %%, unknown (kernels lost: %" PRId64
	       ") %.2f %% of the time without a kernel\n",
	       100.0 * (double)sums.undecided_ns / (double)sums.gap_ns, sums.lost,
	       100.0 * (double)sums.unknown_ns / (double)sums.gap_ns);
	print_waits();
	sqlite3_close_v2(db);
	return tap_done();
}

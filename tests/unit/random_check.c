/*
 * random_check.c - is what `wavetap ledger` and `wavetap gaps` say of a program what its simulated devices know?
 *
 *	random_check [--off] [--lossy] RUN-FILE TRUTH CALLS LEDGER.json GAPS.json
 *
 * TRUTH and CALLS are WTFAKE_TRUTH and WTFAKE_TRUTH_CALLS of all its processes, the JSON files are the output
 * of `ledger --json` and `gaps --by kernel --json --limit 0`. --off: CUPTI's clock was not the device's; times
 * of kernels and copies are the run file's then, and their error is held against the clock error. --lossy:
 * records of kernels were dropped or had no times; where one ran, nothing may read as idle with a cause.
 *
 * Counts by brute force (account.h) and compares every line, every cause before the kernels of each name, and the
 * sums of what `top` ranks.
 * Prints what differs, then sums of this run as NAME VALUE lines for whoever adds up many. Exit 1: differences.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random_check.h"

#define CLOCK_ERROR_LEAST_NS 1000

struct check {
	sqlite3 *db;
	struct rc_truth truth;
	char *ledger, *gaps; /* JSON */
	bool is_off, is_lossy;
	int64_t first_ns[RC_PROCESSES_MAX];
	int64_t start_ns, end_ns, clock_error_ns;
	struct account_name *totals; /* SM-ns by name, all devices */
	int64_t gaps_count, gap_ns, undecided_ns;
	int64_t wait_ns[ACCOUNT_WAIT_MAX][ACCOUNT_CAUSE_MAX];
};

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t bytes = 0, room = 1 << 16;
	char *text = malloc(room);

	while (file && text) {
		size_t got = fread(text + bytes, 1, room - bytes - 1, file);

		bytes += got;
		if (!got)
			break;
		if (bytes + 1 == room)
			text = realloc(text, room *= 2);
	}
	if (!file || !text) {
		perror(path);
		exit(2);
	}
	fclose(file);
	text[bytes] = 0;
	return text;
}

/* A number of the JSON; INT64_MIN where there is none. */
static int64_t number(struct check *c, const char *json, const char *path)
{
	static sqlite3_stmt *s;
	int64_t value = INT64_MIN;

	if (!s)
		s = rc_prepare(c->db, "SELECT json_extract(?1, ?2)");
	sqlite3_bind_text(s, 1, json, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, path, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_INTEGER)
		value = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return value;
}

static void same(struct check *c, const char *where, const char *what, int64_t got, int64_t want)
{
	if (got != want)
		rc_problem(&c->truth, "%s: %s: %" PRId64 ", counted %" PRId64, where, what, got,
		           want);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- window and clock error, as doc/design.md has them */

static void find_window(struct check *c)
{
	const struct rc_truth *t = &c->truth;
	sqlite3_stmt *s = rc_prepare(c->db, "SELECT process_id, armed_ns FROM r.proc");

	for (int i = 0; i < RC_PROCESSES_MAX; i++)
		c->first_ns[i] = INT64_MAX;
	c->start_ns = INT64_MAX;
	c->clock_error_ns = CLOCK_ERROR_LEAST_NS;
	if (t->bracket_ns > c->clock_error_ns)
		c->clock_error_ns = t->bracket_ns;
#define FIRST(process, t_ns)                                                                       \
	(c->first_ns[rc_process(t, process)] = earlier(c->first_ns[rc_process(t, process)], (t_ns)))
	for (size_t i = 0; i < t->call_count; i++)
		if (t->calls[i].is_recorded && (!strncmp(t->calls[i].name, "cuLaunchK", 9) ||
		                                !strncmp(t->calls[i].name, "cuLaunchCoop", 12) ||
		                                !strncmp(t->calls[i].name, "cuGraphLaunch", 13)))
			FIRST(t->calls[i].process_id, t->calls[i].entry_ns);
	for (size_t i = 0; i < t->copy_count; i++) {
		FIRST(t->copies[i].process_id, t->copies[i].start_ns);
		if (t->copies[i].end_ns > c->end_ns)
			c->end_ns = t->copies[i].end_ns;
	}
	for (size_t i = 0; i < t->kernel_count; i++) {
		const struct rc_kernel *k = &t->kernels[i];

		if (k->is_lost)
			continue;
		FIRST(k->process_id, k->a.start_ns);
		c->start_ns = earlier(c->start_ns, k->a.start_ns);
		if (k->a.end_ns > c->end_ns)
			c->end_ns = k->a.end_ns;
		if (!k->is_node && k->a.entry_ns - k->a.start_ns > c->clock_error_ns)
			c->clock_error_ns = k->a.entry_ns - k->a.start_ns;
	}
#undef FIRST
	while (sqlite3_step(s) == SQLITE_ROW) {
		int process = rc_process(t, sqlite3_column_int64(s, 0));

		if (sqlite3_column_int64(s, 1) > c->first_ns[process])
			c->first_ns[process] = sqlite3_column_int64(s, 1);
		c->start_ns = earlier(c->start_ns, c->first_ns[process]);
	}
	sqlite3_finalize(s);
	same(c, "window", "start", number(c, c->ledger, "$.window.start_ns"), c->start_ns);
	same(c, "window", "end", number(c, c->ledger, "$.window.end_ns"), c->end_ns);
	same(c, "clocks", "error", number(c, c->ledger, "$.clock_error_ns"), c->clock_error_ns);
}

/* ---- one device */

static const struct {
	const char *name;
	enum account_span_kind kind;
} call_kinds[] = {
        {"cuCtxSynchronize", ACCOUNT_SPAN_SYNC},
        {"cuStreamSynchronize", ACCOUNT_SPAN_SYNC},
        {"cuEventSynchronize", ACCOUNT_SPAN_SYNC},
        {"cuMemcpyHtoD_v2", ACCOUNT_SPAN_SYNC},
        {"cuMemcpyDtoH_v2", ACCOUNT_SPAN_SYNC},
        {"cuMemAlloc_v2", ACCOUNT_SPAN_ALLOC},
        {"cuMemFree_v2", ACCOUNT_SPAN_ALLOC},
        {"cuMemAllocHost_v2", ACCOUNT_SPAN_ALLOC},
        {"cuMemFreeHost", ACCOUNT_SPAN_ALLOC},
        {"cuGraphInstantiateWithFlags", ACCOUNT_SPAN_ALLOC},
        {"cuModuleLoadData", ACCOUNT_SPAN_LOAD},
        {"cuModuleGetFunction", ACCOUNT_SPAN_LOAD},
};

static void add_span(struct account_span *spans, size_t *count, struct account_span span)
{
	spans[(*count)++] = span;
}

/* A launch of a kernel that has no record; where a process lost any, each graph launch may have lost a node. */
static bool may_have_lost(const struct rc_truth *t, size_t at)
{
	bool is_graph = !strncmp(t->calls[at].name, "cuGraphLaunch", 13);

	if (!t->calls[at].is_recorded)
		return false;
	for (size_t i = 0; i < t->kernel_count; i++)
		if (t->kernels[i].is_lost &&
		    (is_graph ? t->kernels[i].process_id == t->calls[at].process_id
		              : t->kernels[i].a.launch == (int)at + 1))
			return true;
	return false;
}

/* As doc/design.md has it: until a wait is over that began after the call, for its stream or the only context. */
static void add_lost(const struct check *c, const struct rc_call *lost, struct account_span *spans,
                     size_t *count)
{
	const struct rc_truth *t = &c->truth;
	bool has_one_context = t->context_counts[rc_process(t, lost->process_id)] <= 1;
	int64_t end_ns = INT64_MAX - c->clock_error_ns;

	for (size_t i = 0; i < t->call_count; i++) {
		const struct rc_call *wait = &t->calls[i];
		bool is_for_it =
		        !strcmp(wait->name, "cuStreamSynchronize")
		                ? wait->stream == lost->stream &&
		                          (wait->stream > 2 || wait->thread == lost->thread)
		                : !strcmp(wait->name, "cuCtxSynchronize") && has_one_context;

		if (wait->is_recorded && is_for_it && wait->process_id == lost->process_id &&
		    wait->entry_ns >= lost->return_ns && wait->return_ns < end_ns)
			end_ns = wait->return_ns;
	}
	add_span(spans, count,
	         (struct account_span){.kind = ACCOUNT_SPAN_LOST,
	                               .start_ns = lost->entry_ns - c->clock_error_ns,
	                               .end_ns = end_ns + c->clock_error_ns});
}

static void fill(struct check *c, int64_t device_id, struct account *a,
                 struct account_kernel *kernels, struct account_span *spans)
{
	const struct rc_truth *t = &c->truth;

	for (size_t i = 0; i < t->kernel_count; i++) {
		struct account_kernel *k = &kernels[a->kernel_count];

		if (t->kernels[i].device_id != device_id || t->kernels[i].is_lost)
			continue;
		*k = t->kernels[i].a;
		if (!t->kernels[i].is_node)
			k->launch = 0;
		a->kernel_count++;
	}
	for (size_t i = 0; i < t->copy_count; i++)
		if (t->copies[i].device_id == device_id)
			add_span(spans, &a->span_count,
			         (struct account_span){.kind = ACCOUNT_SPAN_COPY,
			                               .start_ns = t->copies[i].start_ns,
			                               .end_ns = t->copies[i].end_ns});
	for (size_t i = 0; i < t->load_count; i++)
		add_span(spans, &a->span_count, t->loads[i]);
	for (size_t i = 0; i < t->call_count; i++) {
		const struct rc_call *call = &t->calls[i];

		for (size_t k = 0; k < sizeof(call_kinds) / sizeof(call_kinds[0]); k++)
			if (call->is_recorded && !strcmp(call_kinds[k].name, call->name))
				add_span(spans, &a->span_count,
				         (struct account_span){call_kinds[k].kind,
				                               rc_process(t, call->process_id),
				                               call->thread, call->entry_ns,
				                               call->return_ns});
	}
	for (size_t i = 0; i < t->call_count; i++)
		if (may_have_lost(t, i))
			add_lost(c, &t->calls[i], spans, &a->span_count);
	a->kernels = kernels;
	a->spans = spans;
}

/* A lost kernel ran where only "unknown" is said, beside other kernels and copies. */
static void check_lost(struct check *c, int64_t device_id, const struct account *a)
{
	for (size_t i = 0; i < c->truth.kernel_count; i++) {
		const struct rc_kernel *k = &c->truth.kernels[i];
		int64_t at_ns = k->a.start_ns;
		bool has_moved = k->is_lost && k->device_id == device_id;

		while (has_moved && at_ns < k->a.end_ns) {
			has_moved = false;
			for (size_t j = 0; j < a->span_count; j++) {
				if (a->spans[j].kind != ACCOUNT_SPAN_LOST ||
				    a->spans[j].start_ns > at_ns || a->spans[j].end_ns <= at_ns)
					continue;
				at_ns = a->spans[j].end_ns;
				has_moved = true;
			}
		}
		if (k->is_lost && k->device_id == device_id && at_ns < k->a.end_ns)
			rc_problem(&c->truth, "a lost kernel ran on for %" PRId64 " ns",
			           k->a.end_ns - at_ns);
	}
}

static void compare_device(struct check *c, const char *path, const struct account_result *want)
{
	static const char *const lines[] = {"active_sm_ns",   "underfill_sm_ns", "wave_sm_ns",
	                                    "wave_max_sm_ns", "unjudged_sm_ns",  "comm_sm_ns",
	                                    "residual_sm_ns"};
	const int64_t values[] = {want->active_sm_ns,
	                          want->underfill_sm_ns,
	                          want->wave_sm_ns,
	                          want->wave_max_sm_ns,
	                          want->unjudged_sm_ns,
	                          want->comm_sm_ns,
	                          0};
	char at[128];
	int64_t sms;

	snprintf(at, sizeof(at), "%s.sms", path);
	sms = number(c, c->ledger, at);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(at, sizeof(at), "%s.%s", path, lines[i]);
		same(c, path, lines[i], number(c, c->ledger, at), values[i]);
	}
	for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++) {
		snprintf(at, sizeof(at), "%s.gap_by_cause_sm_ns.%s", path,
		         account_cause_names[cause]);
		same(c, path, account_cause_names[cause], number(c, c->ledger, at),
		     want->cause_ns[cause] * sms);
	}
}

/* What `top` adds up is the ledger's, too, if nothing was late or refused. */
static void compare_rows(struct check *c, int64_t device_id, const struct account_result *want)
{
	sqlite3_stmt *s = rc_prepare(
	        c->db, "SELECT total(underfill_sm_ns), total(wave_sm_ns), total(wave_max_sm_ns),"
	               " total(unjudged_sm_ns), total(comm_sm_ns), (SELECT total(kernels_waiting +"
	               " kernels_late + kernels_refused) FROM r.sweep w WHERE w.device_id = ?1)"
	               " FROM r.config_stat JOIN r.config USING (config_id) WHERE device_id = ?1");

	sqlite3_bind_int64(s, 1, device_id);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int64(s, 5) == 0) {
		same(c, "rows", "underfill", sqlite3_column_int64(s, 0), want->underfill_sm_ns);
		same(c, "rows", "wave", sqlite3_column_int64(s, 1), want->wave_sm_ns);
		same(c, "rows", "wave at most", sqlite3_column_int64(s, 2), want->wave_max_sm_ns);
		same(c, "rows", "unjudged", sqlite3_column_int64(s, 3), want->unjudged_sm_ns);
		same(c, "rows", "comm", sqlite3_column_int64(s, 4), want->comm_sm_ns);
		printf("devices_settled 1\n");
	} else {
		printf("devices_not_settled 1\n");
	}
	sqlite3_finalize(s);
}

static void add_totals(struct check *c, const struct account *a, const struct account_result *r)
{
	for (int i = 0; i <= a->name_count; i++) {
		c->totals[i].gaps += r->names[i].gaps;
		c->gaps_count += r->names[i].gaps;
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			c->totals[i].cause_ns[cause] += r->names[i].cause_ns[cause] * a->sms;
	}
	c->gap_ns += r->gap_ns;
	c->undecided_ns += r->cause_ns[ACCOUNT_undecided];
	for (int wait = 0; wait < ACCOUNT_WAIT_MAX; wait++)
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			c->wait_ns[wait][cause] += r->wait_ns[wait][cause];
}

static void check_device(struct check *c, int at)
{
	const struct rc_truth *t = &c->truth;
	struct account a = {.start_ns = c->start_ns,
	                    .end_ns = c->end_ns,
	                    .clock_error_ns = c->clock_error_ns,
	                    .first_launch_ns = c->first_ns,
	                    .name_count = t->name_count,
	                    .process_count = t->process_count};
	struct account_kernel *kernels = calloc(t->kernel_count + 1, sizeof(*kernels));
	struct account_span *spans =
	        calloc(t->copy_count + t->load_count + 2 * t->call_count + 1, sizeof(*spans));
	struct account_result want;
	char path[64];

	if (!kernels || !spans)
		abort();
	snprintf(path, sizeof(path), "$.devices[%d].device_id", at);
	fill(c, number(c, c->ledger, path), &a, kernels, spans);
	snprintf(path, sizeof(path), "$.devices[%d].sms", at);
	a.sms = (uint32_t)number(c, c->ledger, path);
	account_compute(&a, &want);
	snprintf(path, sizeof(path), "$.devices[%d]", at);
	compare_device(c, path, &want);
	snprintf(path, sizeof(path), "$.devices[%d].device_id", at);
	check_lost(c, number(c, c->ledger, path), &a);
	compare_rows(c, number(c, c->ledger, path), &want);
	add_totals(c, &a, &want);
	account_result_fini(&want);
	free(kernels);
	free(spans);
}

/* ---- gaps by kernel */

static int name_of(const struct rc_truth *t, const char *name)
{
	int i = 0;

	while (i < t->name_count && name && strcmp(t->names[i], name) != 0)
		i++;
	return name ? i : t->name_count;
}

static void compare_names(struct check *c)
{
	sqlite3_stmt *s = rc_prepare(c->db, "SELECT value FROM json_each(?1, '$.rows')");

	sqlite3_bind_text(s, 1, c->gaps, -1, SQLITE_STATIC);
	while (sqlite3_step(s) == SQLITE_ROW) {
		char *row = strdup((const char *)sqlite3_column_text(s, 0));
		sqlite3_stmt *n = rc_prepare(c->db, "SELECT json_extract(?1, '$.kernel')");
		const char *name;
		struct account_name *want;
		char at[64];

		sqlite3_bind_text(n, 1, row, -1, SQLITE_STATIC);
		name = sqlite3_step(n) == SQLITE_ROW ? (const char *)sqlite3_column_text(n, 0) : "";
		want = &c->totals[name_of(&c->truth, name)];
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++) {
			snprintf(at, sizeof(at), "$.%s_sm_ns", account_cause_names[cause]);
			same(c, name ? name : "no kernel", account_cause_names[cause],
			     number(c, row, at), want->cause_ns[cause]);
		}
		same(c, name ? name : "no kernel", "gaps", number(c, row, "$.gaps"), want->gaps);
		want->gaps = 0;
		sqlite3_finalize(n);
		free(row);
	}
	sqlite3_finalize(s);
	for (int i = 0; i <= c->truth.name_count; i++)
		same(c, i < c->truth.name_count ? c->truth.names[i] : "no kernel", "gaps not shown",
		     0, c->totals[i].gaps);
}

/* ---- the model against what the SMs did */

static bool is_apart(const struct rc_kernel *k, const struct rc_kernel *other)
{
	if (other->device_id != k->device_id || other->a.end_ns <= k->a.start_ns)
		return true;
	return other->a.start_ns >= k->a.end_ns && other->a.entry_ns > k->a.entry_ns;
}

/*
 * A kernel that had the device to itself, with blocks alike: SMs without a block are its underfill to the
 * nanosecond, and what SMs waited at its end lies between the forms. `tolerance`: block times are whole.
 * Not one that overtook another: the simulation deals blocks in the order of enqueue, and keeps SMs for that.
 */
static void check_model(struct check *c)
{
	const struct rc_truth *t = &c->truth;

	for (size_t i = 0; i < t->kernel_count; i++) {
		const struct rc_kernel *k = &t->kernels[i];
		bool is_alone = !c->is_off && !k->is_lost && k->model_wave_sm_ns >= 0;
		int64_t tolerance = k->a.sms + 1;

		for (size_t j = 0; j < t->kernel_count; j++)
			is_alone &= i == j || is_apart(k, &t->kernels[j]);
		if (!is_alone)
			continue;
		same(c, t->names[k->a.name], "underfill", k->model_underfill_sm_ns,
		     k->underfill_sm_ns);
		if (k->tail_sm_ns < k->model_wave_sm_ns - tolerance ||
		    k->tail_sm_ns > k->model_wave_max_sm_ns + tolerance)
			rc_problem(&c->truth,
			           "%s: its SMs waited %" PRId64 ", the model says %" PRId64
			           " to %" PRId64,
			           t->names[k->a.name], k->tail_sm_ns, k->model_wave_sm_ns,
			           k->model_wave_max_sm_ns);
	}
}

static void check_clock(struct check *c)
{
	int64_t worst_ns = 0;
	size_t beyond = 0;

	for (size_t i = 0; i < c->truth.kernel_count; i++) {
		int64_t off_ns = llabs(c->truth.kernels[i].off_ns);

		worst_ns = off_ns > worst_ns ? off_ns : worst_ns;
		beyond += off_ns > c->clock_error_ns;
	}
	printf("clock_worst_ns %" PRId64 "\nkernels_beyond_error %zu\n", worst_ns, beyond);
}

static void print_sums(const struct check *c)
{
	printf("programs 1\nkernels %zu\ngaps %" PRId64 "\ngap_ns %" PRId64
	       "\nundecided_ns %" PRId64 "\n",
	       c->truth.kernel_count, c->gaps_count, c->gap_ns, c->undecided_ns);
	for (int wait = 0; wait < ACCOUNT_WAIT_MAX; wait++)
		for (int cause = 0; cause < ACCOUNT_CAUSE_MAX; cause++)
			if (c->wait_ns[wait][cause])
				printf("wait:%s:%s %" PRId64 "\n", account_wait_names[wait],
				       account_cause_names[cause], c->wait_ns[wait][cause]);
}

int main(int argc, char **argv)
{
	struct check c = {0};
	int devices;

	for (; argc > 1 && !strncmp(argv[1], "--", 2); argc--, argv++) {
		c.is_off |= !strcmp(argv[1], "--off");
		c.is_lossy |= !strcmp(argv[1], "--lossy");
	}
	if (argc != 6) {
		fprintf(stderr,
		        "usage: random_check [--off] [--lossy] RUN-FILE TRUTH CALLS LEDGER GAPS\n");
		return 2;
	}
	if (sqlite3_open(":memory:", &c.db) != SQLITE_OK)
		return 2;
	c.ledger = read_file(argv[4]);
	c.gaps = read_file(argv[5]);
	rc_load(c.db, argv[1], argv[2], argv[3], c.is_off, c.is_lossy, &c.truth);
	c.totals = calloc((size_t)c.truth.name_count + 1, sizeof(*c.totals));
	if (!c.totals)
		abort();
	find_window(&c);
	devices = 0;
	for (char path[64];; devices++) {
		snprintf(path, sizeof(path), "$.devices[%d].sms", devices);
		if (number(&c, c.ledger, path) == INT64_MIN)
			break;
		check_device(&c, devices);
	}
	compare_names(&c);
	check_model(&c);
	check_clock(&c);
	print_sums(&c);
	printf("problems %ld\n", c.truth.problems);
	return c.truth.problems ? 1 : 0;
}

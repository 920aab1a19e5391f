/*
 * random_truth.c - see random_check.h: reading truth and run file, and holding them against each other.
 * Single-threaded.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random_check.h"

#define PROBLEMS_SHOWN 8

void rc_problem(struct rc_truth *truth, const char *format, ...)
{
	va_list ap;

	if (truth->problems++ >= PROBLEMS_SHOWN)
		return;
	printf("# ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

static void die(sqlite3 *db, const char *what)
{
	fprintf(stderr, "random_check: %s: %s\n", what, sqlite3_errmsg(db));
	exit(2);
}

sqlite3_stmt *rc_prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		die(db, sql);
	return s;
}

static void run_sql(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		die(db, sql);
}

static bool step(sqlite3 *db, sqlite3_stmt *s)
{
	int code = sqlite3_step(s);

	if (code != SQLITE_ROW && code != SQLITE_DONE)
		die(db, sqlite3_sql(s));
	return code == SQLITE_ROW;
}

static void *append(void *array_at, size_t *count, size_t element_bytes)
{
	void **array = array_at;

	if ((*count & (*count - 1)) == 0)
		*array = realloc(*array, (*count ? 2 * *count : 1) * element_bytes);
	if (!*array)
		abort();
	memset((char *)*array + *count * element_bytes, 0, element_bytes);
	return (char *)*array + (*count)++ * element_bytes;
}

/* Each line of JSON becomes a row of `table`, with these of its members as columns. */
static void read_lines(sqlite3 *db, const char *path, const char *table, const char *const *keys)
{
	char create[1024], insert[2048], line[2048];
	FILE *file = fopen(path, "r");
	sqlite3_stmt *s;
	int a, b;

	a = snprintf(create, sizeof(create), "CREATE TEMP TABLE %s (line", table);
	b = snprintf(insert, sizeof(insert), "INSERT INTO temp.%s SELECT 0", table);
	for (; *keys; keys++) {
		a += snprintf(create + a, sizeof(create) - (size_t)a, ", %s", *keys);
		b += snprintf(insert + b, sizeof(insert) - (size_t)b, ", json_extract(?1, '$.%s')",
		              *keys);
	}
	snprintf(create + a, sizeof(create) - (size_t)a, ")");
	run_sql(db, create);
	s = rc_prepare(db, insert);
	if (!file) {
		perror(path);
		exit(2);
	}
	while (fgets(line, sizeof(line), file)) {
		sqlite3_bind_text(s, 1, line, -1, SQLITE_TRANSIENT);
		step(db, s);
		sqlite3_reset(s);
	}
	fclose(file);
	sqlite3_finalize(s);
}

int rc_process(const struct rc_truth *truth, int64_t process_id)
{
	for (int i = 0; i < truth->process_count; i++)
		if (truth->process_ids[i] == process_id)
			return i;
	return -1;
}

static int name_number(struct rc_truth *truth, const char *name)
{
	size_t count = (size_t)truth->name_count;
	char(*added)[RC_NAME_BYTES];

	for (int i = 0; i < truth->name_count; i++)
		if (!strcmp(truth->names[i], name))
			return i;
	added = append(&truth->names, &count, sizeof(*truth->names));
	snprintf(*added, RC_NAME_BYTES, "%s", name);
	truth->name_count = (int)count;
	return truth->name_count - 1;
}

/* ---- calls */

/* Those that are hooked, by the names that the run file has. */
static const char calls_sql[] =
        "SELECT p.process_id, tid, name, correlation, called_ns, left_ns, result FROM temp.calls"
        " JOIN r.proc p USING (pid) WHERE what = 'call'"
        " AND name IN (SELECT name FROM r.api WHERE class <> 9) ORDER BY 1, 2, 5";

static const char recorded_sql[] =
        "SELECT process_id, tid, a.name, entry_ns, return_ns, result, stream FROM"
        " (SELECT process_id, tid, api, entry_ns, return_ns, result, stream FROM r.launch_call "
        "UNION ALL"
        "  SELECT process_id, tid, api, entry_ns, return_ns, result, handle FROM r.api_call)"
        " JOIN r.api a USING (api) ORDER BY 1, 2, 4";

/* A thread's last calls are those that were recorded: what came before the first launch was not. */
static void match_thread(struct rc_truth *truth, size_t first, size_t count,
                         const struct rc_call *recorded, size_t recorded_count)
{
	if (recorded_count > count) {
		rc_problem(truth, "thread %d has %zu calls in the run file and made %zu",
		           truth->calls[first].thread, recorded_count, count);
		return;
	}
	for (size_t i = 0; i < recorded_count; i++) {
		struct rc_call *call = &truth->calls[first + count - recorded_count + i];
		const struct rc_call *told = &recorded[i];
		bool has_before = call > &truth->calls[first];
		bool has_after = call < &truth->calls[first + count - 1];

		call->is_recorded = true;
		call->entry_ns = told->entry_ns;
		call->return_ns = told->return_ns;
		call->stream = told->stream;
		if (strcmp(call->name, told->name) || call->result != told->result)
			rc_problem(truth, "thread %d called %s = %d, the run file says %s = %d",
			           call->thread, call->name, call->result, told->name,
			           told->result);
		if (told->entry_ns > call->called_ns || told->return_ns < call->left_ns ||
		    (has_before && told->entry_ns < call[-1].left_ns) ||
		    (has_after && told->return_ns > call[1].called_ns))
			rc_problem(truth,
			           "%s: stamped %" PRId64 " .. %" PRId64 ", was %" PRId64
			           " .. %" PRId64,
			           call->name, told->entry_ns, told->return_ns, call->called_ns,
			           call->left_ns);
	}
}

/* Reads either statement; `thread` is the tid, for now. */
static struct rc_call *read_calls(sqlite3 *db, const char *sql, bool is_truth, size_t *ret_count)
{
	sqlite3_stmt *s = rc_prepare(db, sql);
	struct rc_call *calls = NULL;

	*ret_count = 0;
	while (step(db, s)) {
		struct rc_call *c = append(&calls, ret_count, sizeof(*c));

		c->process_id = sqlite3_column_int64(s, 0);
		c->thread = sqlite3_column_int(s, 1);
		snprintf(c->name, sizeof(c->name), "%s", (const char *)sqlite3_column_text(s, 2));
		if (is_truth) {
			c->correlation = sqlite3_column_int64(s, 3);
			c->called_ns = sqlite3_column_int64(s, 4);
			c->left_ns = sqlite3_column_int64(s, 5);
			c->result = sqlite3_column_int(s, 6);
		} else {
			c->entry_ns = sqlite3_column_int64(s, 3);
			c->return_ns = sqlite3_column_int64(s, 4);
			c->result = sqlite3_column_int(s, 5);
			c->stream = sqlite3_column_int64(s, 6);
		}
	}
	sqlite3_finalize(s);
	return calls;
}

static size_t same_thread(const struct rc_call *calls, size_t first, size_t count,
                          const struct rc_call *as)
{
	size_t n = 0;

	while (first + n < count && calls[first + n].process_id == as->process_id &&
	       calls[first + n].thread == as->thread)
		n++;
	return n;
}

static void load_calls(sqlite3 *db, struct rc_truth *truth)
{
	size_t recorded_count, at = 0;
	struct rc_call *recorded = read_calls(db, recorded_sql, false, &recorded_count);

	truth->calls = read_calls(db, calls_sql, true, &truth->call_count);
	for (size_t i = 0, n; i < truth->call_count; i += n) {
		size_t told;

		n = same_thread(truth->calls, i, truth->call_count, &truth->calls[i]);
		told = same_thread(recorded, at, recorded_count, &truth->calls[i]);
		match_thread(truth, i, n, recorded + at, told);
		at += told;
	}
	if (at != recorded_count)
		rc_problem(truth, "%zu calls that nobody made", recorded_count - at);
	free(recorded);
}

/* The call of that correlation id that launches; NULL: not told. */
static const struct rc_call *launch_of(const struct rc_truth *truth, int64_t process_id,
                                       int64_t correlation)
{
	for (size_t i = 0; i < truth->call_count; i++) {
		const struct rc_call *c = &truth->calls[i];

		if (c->process_id == process_id && c->correlation == correlation &&
		    (!strncmp(c->name, "cuLaunch", 8) || !strncmp(c->name, "cuGraphLaunch", 13)))
			return c;
	}
	return NULL;
}

/* ---- kernels */

/* The run file's kernel is that of the same call and node. */
static const char kernels_sql[] =
        "SELECT p.process_id, g.device_id, kernel, correlation, record_start_ns, record_end_ns, "
        "graph,"
        " told, wait, sms, blocks_per_sm, launch_type, t.underfill_sm_ns, tail_sm_ns,"
        " json_extract(grid, '$[0]') * json_extract(grid, '$[1]') * json_extract(grid, '$[2]'),"
        " e.exec_id, e.start_ns, e.end_ns, ifnull(e.underfill_sm_ns, -1), ifnull(e.wave_sm_ns, -1),"
        " ifnull(e.wave_max_sm_ns, -1) FROM temp.kernels t JOIN r.proc p USING (pid)"
        " JOIN r.process_gpu g ON g.process_id = p.process_id AND g.ordinal = device"
        " LEFT JOIN r.kernel_exec e ON e.process_id = p.process_id AND e.correlation_id = "
        "correlation"
        " AND ifnull(e.graph_node_id, 0) = node";

static int64_t rounded(int64_t value, int64_t divisor)
{
	return (2 * value + divisor) / (2 * divisor);
}

/* The four closed forms of doc/design.md, for G > S. */
static void set_wave(struct account_kernel *a, int64_t blocks, int64_t sms, int64_t per_sm)
{
	int64_t t = a->end_ns - a->start_ns, c = sms * per_sm;
	int64_t n = (blocks + c - 1) / c, r = blocks - (n - 1) * c;
	int64_t fullest = (blocks + sms - 1) / sms;
	int64_t form[4] = {0};
	double idle = 1;

	for (int64_t i = 0; i < per_sm; i++)
		idle *= 1 - (double)r / (double)c;
	form[0] = rounded(t * (sms * fullest - blocks), fullest);
	if (n > 1) {
		form[1] = r < sms ? rounded(t * (sms - r), n) : 0;
		form[2] = rounded(t * (sms - (r + per_sm - 1) / per_sm), n);
		form[3] = (int64_t)((double)t * (double)sms * idle / (double)n + 0.5);
	}
	a->wave_sm_ns = a->wave_max_sm_ns = form[0];
	for (int i = 1; i < 4; i++) {
		a->wave_sm_ns = form[i] < a->wave_sm_ns ? form[i] : a->wave_sm_ns;
		a->wave_max_sm_ns = form[i] > a->wave_max_sm_ns ? form[i] : a->wave_max_sm_ns;
	}
}

/* Halves are rounded one way or the other, and a power is not rational: the model's figure is as good. */
static void take_rounding(struct rc_truth *truth, struct rc_kernel *k)
{
	if (llabs(k->model_wave_sm_ns - k->a.wave_sm_ns) > 1 ||
	    llabs(k->model_wave_max_sm_ns - k->a.wave_max_sm_ns) > 1) {
		rc_problem(truth,
		           "wave %" PRId64 " to %" PRId64 ", by the forms %" PRId64 " to %" PRId64,
		           k->model_wave_sm_ns, k->model_wave_max_sm_ns, k->a.wave_sm_ns,
		           k->a.wave_max_sm_ns);
		return;
	}
	k->a.wave_sm_ns = k->model_wave_sm_ns;
	k->a.wave_max_sm_ns = k->model_wave_max_sm_ns;
}

static enum account_wait wait_of(const char *name)
{
	static const struct {
		const char *name;
		enum account_wait wait;
	} table[] = {{"call", ACCOUNT_WAIT_LATENCY},     {"kernel", ACCOUNT_WAIT_STREAM},
	             {"copy", ACCOUNT_WAIT_STREAM},      {"default stream", ACCOUNT_WAIT_STREAM},
	             {"event", ACCOUNT_WAIT_DEPENDENCY}, {"host", ACCOUNT_WAIT_DEPENDENCY},
	             {"node", ACCOUNT_WAIT_NODE},        {"sms", ACCOUNT_WAIT_SMS}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name))
			return table[i].wait;
	return ACCOUNT_WAIT_NOT_TOLD;
}

static void set_call(struct rc_truth *truth, struct rc_kernel *k, int64_t correlation)
{
	const struct rc_call *c = launch_of(truth, k->process_id, correlation);

	if (!c) {
		rc_problem(truth, "a kernel of no call");
		return;
	}
	k->a.launch = (int)(c - truth->calls) + 1;
	k->a.thread = c->thread;
	k->a.has_call = c->is_recorded;
	k->a.entry_ns = c->entry_ns;
	k->a.return_ns = c->return_ns;
}

/* The row of kernels_sql. */
static void read_kernel(struct rc_truth *truth, sqlite3_stmt *s, bool has_own_times,
                        struct rc_kernel *k)
{
	int64_t sms = sqlite3_column_int64(s, 9), per_sm = sqlite3_column_int64(s, 10);
	int64_t blocks = sqlite3_column_int64(s, 14);
	int64_t start_ns = sqlite3_column_int64(s, 16), end_ns = sqlite3_column_int64(s, 17);
	const char *name = (const char *)sqlite3_column_text(s, 2);

	k->process_id = sqlite3_column_int64(s, 0);
	k->device_id = sqlite3_column_int64(s, 1);
	k->order = sqlite3_column_int64(s, 15);
	k->is_node = sqlite3_column_int64(s, 6) != 0;
	k->was_told = sqlite3_column_int(s, 7);
	k->underfill_sm_ns = sqlite3_column_int64(s, 12);
	k->tail_sm_ns = sqlite3_column_int64(s, 13);
	k->model_underfill_sm_ns = sqlite3_column_int64(s, 18);
	k->model_wave_sm_ns = sqlite3_column_int64(s, 19);
	k->model_wave_max_sm_ns = sqlite3_column_int64(s, 20);
	k->a.start_ns = sqlite3_column_int64(s, 4);
	k->a.end_ns = sqlite3_column_int64(s, 5);
	k->is_lost = sqlite3_column_type(s, 16) == SQLITE_NULL;
	if (k->is_lost && !truth->has_losses)
		rc_problem(truth, "%s at %" PRId64 " is not in the run file", name, k->a.start_ns);
	if (k->is_lost) {
		k->a.name = name_number(truth, name);
		set_call(truth, k, sqlite3_column_int64(s, 3));
		return;
	}
	k->off_ns = llabs(start_ns - k->a.start_ns) > llabs(end_ns - k->a.end_ns)
	                    ? start_ns - k->a.start_ns
	                    : end_ns - k->a.end_ns;
	if (has_own_times) {
		k->a.start_ns = start_ns;
		k->a.end_ns = end_ns;
	} else if (k->off_ns) {
		rc_problem(truth, "%s at %" PRId64 ": times are off by %" PRId64 " ns", name,
		           k->a.start_ns, k->off_ns);
	}
	k->a.name = name_number(truth, name);
	k->a.process = rc_process(truth, k->process_id);
	k->a.is_collective = !strncmp(name, "nccl", 4);
	k->a.is_judged = sqlite3_column_int(s, 11) == 0; /* else cooperative */
	k->a.wait = wait_of((const char *)sqlite3_column_text(s, 8));
	k->a.sms = (uint32_t)(blocks < sms ? blocks : sms);
	k->a.blocks = (uint32_t)blocks;
	k->a.blocks_per_sm = (uint32_t)per_sm;
	if (k->a.is_judged && blocks > sms)
		set_wave(&k->a, blocks, sms, per_sm);
	if (k->a.is_judged)
		take_rounding(truth, k);
	set_call(truth, k, sqlite3_column_int64(s, 3));
}

static int by_start(const void *left, const void *right)
{
	const struct rc_kernel *a = left, *b = right;

	if (a->a.start_ns != b->a.start_ns)
		return a->a.start_ns < b->a.start_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* What a stream was told to wait for holds the first kernel of the next launch, whichever node that is. */
static void tell_first(struct rc_truth *truth)
{
	for (size_t i = 0; i < truth->kernel_count; i++) {
		struct rc_kernel *first = &truth->kernels[i];
		bool is_first = true;

		for (size_t j = 0; j < i; j++)
			is_first &= truth->kernels[j].a.launch != first->a.launch;
		for (size_t j = i; is_first && j < truth->kernel_count; j++)
			if (truth->kernels[j].a.launch == first->a.launch)
				first->a.has_dependency |= truth->kernels[j].was_told;
	}
}

static void load_kernels(sqlite3 *db, struct rc_truth *truth, bool has_own_times)
{
	sqlite3_stmt *s = rc_prepare(db, kernels_sql);
	int64_t told = 0;

	while (step(db, s))
		read_kernel(truth, s, has_own_times,
		            append(&truth->kernels, &truth->kernel_count, sizeof(*truth->kernels)));
	sqlite3_finalize(s);
	for (size_t i = 0; i < truth->kernel_count; i++)
		told += !truth->kernels[i].is_lost;
	s = rc_prepare(db, "SELECT count(*) FROM r.kernel_exec WHERE start_ns IS NOT NULL");
	if (step(db, s) && sqlite3_column_int64(s, 0) != told)
		rc_problem(truth, "%d kernels in the run file, the devices ran %" PRId64,
		           sqlite3_column_int(s, 0), told);
	sqlite3_finalize(s);
	if (truth->kernel_count)
		qsort(truth->kernels, truth->kernel_count, sizeof(*truth->kernels), by_start);
	tell_first(truth);
}

/* ---- the rest */

static void load_copies(sqlite3 *db, struct rc_truth *truth, bool has_own_times)
{
	sqlite3_stmt *s = rc_prepare(
	        db, has_own_times
	                    ? "SELECT process_id, device_id, start_ns, end_ns FROM r.copy"
	                    : "SELECT p.process_id, g.device_id, start_ns, end_ns FROM temp.calls"
	                      " JOIN r.proc p USING (pid) JOIN r.process_gpu g"
	                      " ON g.process_id = p.process_id AND g.ordinal = device"
	                      " WHERE what = 'copy'");

	while (step(db, s)) {
		struct rc_copy *copy =
		        append(&truth->copies, &truth->copy_count, sizeof(*truth->copies));

		*copy = (struct rc_copy){.process_id = sqlite3_column_int64(s, 0),
		                         .device_id = sqlite3_column_int64(s, 1),
		                         .start_ns = sqlite3_column_int64(s, 2),
		                         .end_ns = sqlite3_column_int64(s, 3)};
	}
	sqlite3_finalize(s);
}

static void load_loads(sqlite3 *db, struct rc_truth *truth, bool has_own_times)
{
	sqlite3_stmt *s = rc_prepare(
	        db, has_own_times ? "SELECT process_id, start_ns, end_ns FROM r.overhead"
	                            " WHERE type IN (262144, 327680)"
	                          : "SELECT p.process_id, start_ns, end_ns FROM temp.calls"
	                            " JOIN r.proc p USING (pid) WHERE what = 'overhead'");

	while (step(db, s)) {
		struct account_span *load =
		        append(&truth->loads, &truth->load_count, sizeof(*truth->loads));

		*load = (struct account_span){.kind = ACCOUNT_SPAN_LOAD,
		                              .process =
		                                      rc_process(truth, sqlite3_column_int64(s, 0)),
		                              .start_ns = sqlite3_column_int64(s, 1),
		                              .end_ns = sqlite3_column_int64(s, 2)};
	}
	sqlite3_finalize(s);
}

void rc_load(sqlite3 *db, const char *run, const char *truth_path, const char *calls_path,
             bool has_own_times, bool has_losses, struct rc_truth *truth)
{
	static const char *const kernel_keys[] = {"pid",
	                                          "kernel",
	                                          "correlation",
	                                          "record_start_ns",
	                                          "record_end_ns",
	                                          "graph",
	                                          "told",
	                                          "wait",
	                                          "sms",
	                                          "blocks_per_sm",
	                                          "underfill_sm_ns",
	                                          "node",
	                                          "grid",
	                                          "device",
	                                          "tail_sm_ns",
	                                          "launch_type",
	                                          NULL};
	static const char *const call_keys[] = {"what",     "pid",    "tid",         "name",
	                                        "device",   "result", "correlation", "called_ns",
	                                        "start_ns", "end_ns", "left_ns",     NULL};
	sqlite3_stmt *s = rc_prepare(db, "ATTACH ? AS r");

	memset(truth, 0, sizeof(*truth));
	truth->has_losses = has_losses;
	sqlite3_bind_text(s, 1, run, -1, SQLITE_STATIC);
	step(db, s);
	sqlite3_finalize(s);
	run_sql(db, "BEGIN");
	read_lines(db, truth_path, "kernels", kernel_keys);
	read_lines(db, calls_path, "calls", call_keys);
	s = rc_prepare(db, "SELECT process_id, (SELECT count(*) FROM r.context c"
	                   " WHERE c.process_id = p.process_id) FROM r.proc p");
	while (step(db, s) && truth->process_count < RC_PROCESSES_MAX) {
		truth->process_ids[truth->process_count] = sqlite3_column_int64(s, 0);
		truth->context_counts[truth->process_count++] = sqlite3_column_int(s, 1);
	}
	sqlite3_finalize(s);
	s = rc_prepare(db, "SELECT ifnull(max(bracket_ns), 0) FROM r.clock");
	if (step(db, s))
		truth->bracket_ns = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	load_calls(db, truth);
	load_kernels(db, truth, has_own_times);
	load_copies(db, truth, has_own_times);
	load_loads(db, truth, has_own_times);
}

void rc_fini(struct rc_truth *truth)
{
	free(truth->calls);
	free(truth->kernels);
	free(truth->copies);
	free(truth->loads);
	free(truth->names);
	memset(truth, 0, sizeof(*truth));
}

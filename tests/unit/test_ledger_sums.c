/*
 * test_ledger_sums.c - the sums of the ledger (daemon/ledger_sums.h) of random programs, made in rounds of any length
 * and read back in between, against the ledger from all rows, which test_ledger_random holds against an account of
 * each nanosecond.
 *
 *	test_ledger_sums [PROGRAMS [FIRST-SEED]]
 *
 * Rounds end at random times; between them the sums go to the file and come back. Then each cause before the kernels
 * of each name, and every number of a device, must be equal to the nanosecond. Programs that lost kernels for good
 * have no sums, and must say so.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/ledger.h"
#include "schema/wt_db.h"
#include "tests/tap.h"
#include "tests/unit/random_run_file.h"

#define PROGRAMS 200
#define FAILURES_SHOWN 10
#define ROUNDS_MAX 6

static int64_t programs, kernels, gaps, rounds, without, failures;
static uint64_t seed_now;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list ap;

	if (++failures > FAILURES_SHOWN)
		return;
	printf("# seed %llu: ", (unsigned long long)seed_now);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

static void same(const char *what, int64_t got, int64_t want)
{
	if (got != want)
		fail("%s: %" PRId64 ", from all rows %" PRId64, what, got, want);
}

static void run_sql(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail("%s: %s", sql, sqlite3_errmsg(db));
}

static uint64_t random_below(uint64_t *state, uint64_t bound)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (*state >> 33) % bound;
}

/* A round up to a time; into the file. NULL: they are of no use. */
static struct wt_ledger_sums *make_round(sqlite3 *db, int64_t until_ns)
{
	struct wt_ledger_sums *sums;
	int rc = wt_ledger_sums_load(db, &sums);

	if (!rc)
		rc = wt_ledger_sums_advance(sums, until_ns);
	if (!rc && !sums->why_not)
		rc = wt_ledger_sums_save(sums, db);
	if (rc)
		fail("%s: %d", sqlite3_errmsg(db), rc);
	if (!rc && !sums->why_not) {
		rounds++;
		return sums;
	}
	if (!rc && strcmp(sums->why_not, "kernels were lost") != 0)
		fail("%s", sums->why_not);
	without += !rc;
	wt_ledger_sums_free(sums);
	return NULL;
}

static int64_t kernel_of(sqlite3 *db, int64_t config_id)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "SELECT kernel_id FROM config WHERE config_id = %" PRId64,
	         config_id);
	return wt_db_int(db, sql, 0);
}

static void compare_kernel(sqlite3 *db, const struct wt_ledger *ledger,
                           const struct wt_ledger_sums *sums, const struct wt_ledger_kernel *want)
{
	int64_t sm_ns[WT_GAP_CAUSE_MAX] = {0}, short_sm_ns[WT_GAP_CAUSE_MAX] = {0}, count = 0;

	for (size_t i = 0; i < sums->owner_count; i++) {
		const struct wt_ledger_owner *owner = &sums->owners[i];
		int64_t sms = 0;

		if (want->kernel_id != (owner->config_id ? kernel_of(db, owner->config_id) : 0))
			continue;
		for (size_t k = 0; k < ledger->device_count; k++)
			if (ledger->devices[k].device_id == owner->device_id)
				sms = ledger->devices[k].sms;
		count += owner->gaps;
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
			sm_ns[cause] += owner->ns[cause] * sms;
			short_sm_ns[cause] += owner->short_ns[cause] * sms;
		}
	}
	same("gaps before a kernel", count, want->gaps);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		same("a cause before a kernel", sm_ns[cause], want->gap_sm_ns[cause]);
		same("of short gaps", short_sm_ns[cause], want->short_gap_sm_ns[cause]);
	}
}

static void compare(sqlite3 *db, const struct wt_ledger *ledger, const struct wt_ledger_sums *sums)
{
	same("devices", (int64_t)sums->place_count, (int64_t)ledger->device_count);
	same("clock error", sums->clock_error_ns, ledger->clock_error_ns);
	same("begin", sums->mark.from_ns, ledger->start_ns);
	same("end", sums->mark.end_ns, ledger->end_ns);
	for (size_t i = 0; i < ledger->device_count && i < sums->place_count; i++) {
		const struct wt_ledger_device *want = &ledger->devices[i];
		const struct wt_ledger_place *got = &sums->places[i];

		same("device", got->device_id, want->device_id);
		same("kernels", got->kernels, want->kernels);
		same("refused", got->kernels_refused, want->kernels_refused);
		kernels += want->kernels;
		gaps += want->gaps;
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
			int64_t ns = 0;

			for (size_t k = 0; k < sums->owner_count; k++)
				if (sums->owners[k].device_id == want->device_id)
					ns += sums->owners[k].ns[cause];
			same(wt_gap_cause_name((enum wt_gap_cause)cause), ns, want->gap_ns[cause]);
		}
	}
	for (size_t i = 0; i < ledger->kernel_count; i++)
		compare_kernel(db, ledger, sums, &ledger->kernels[i]);
	compare_kernel(db, ledger, sums, &ledger->after_last);
}

static void run_rounds(sqlite3 *db, const struct wt_ledger *ledger)
{
	int64_t length_ns = ledger->end_ns - ledger->start_ns, at_ns = ledger->start_ns;
	uint64_t state = seed_now, count = random_below(&state, ROUNDS_MAX);
	struct wt_ledger_sums *sums;

	for (uint64_t i = 0; i < count; i++) {
		at_ns += (int64_t)random_below(&state, (uint64_t)length_ns + 1) / (int64_t)count;
		sums = make_round(db, at_ns + 2 * ledger->clock_error_ns);
		if (!sums)
			return;
		wt_ledger_sums_free(sums);
	}
	sums = make_round(db, INT64_MAX);
	if (!sums)
		return;
	programs++;
	compare(db, ledger, sums);
	wt_ledger_sums_free(sums);
	if (wt_ledger_sums_load(db, &sums) || !wt_ledger_sums_are_final(sums))
		fail("not final");
	else
		compare(db, ledger, sums);
	wt_ledger_sums_free(sums);
}

static void run_program(sqlite3 *db, uint64_t seed)
{
	int64_t first_ns[RR_PROCESSES_MAX];
	struct wt_ledger ledger;
	struct random_run run;
	int rc;

	seed_now = seed;
	random_run_make(&run, seed);
	rr_first(&run, run.clock_shift_ns, first_ns);
	rr_write(db, &run, first_ns);
	run_sql(db,
	        "DELETE FROM ledger_mark; DELETE FROM ledger_device; DELETE FROM ledger_row;"
	        "DELETE FROM ledger_cause; DELETE FROM ledger_stream; DELETE FROM ledger_graph");
	rc = wt_ledger_load(db, NULL, &ledger);
	if (rc)
		fail("not loaded: %d %s", rc, ledger.problem);
	else if (ledger.device_count && ledger.end_ns > ledger.start_ns)
		run_rounds(db, &ledger);
	wt_ledger_fini(&ledger);
	random_run_fini(&run);
}

int main(int argc, char **argv)
{
	int64_t count = argc > 1 ? (int64_t)strtoull(argv[1], NULL, 10) : PROGRAMS;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	sqlite3 *db = rr_open();

	while (programs < count && failures < 1000)
		run_program(db, seed++);
	ok(failures == 0,
	   "%" PRId64 " programs, %" PRId64 " kernels, %" PRId64 " gaps in %" PRId64
	   " rounds: %" PRId64 " differences",
	   programs, kernels, gaps, rounds, failures);
	ok(without > 0, "%" PRId64 " lost kernels and had none", without);
	sqlite3_close_v2(db);
	return tap_done();
}

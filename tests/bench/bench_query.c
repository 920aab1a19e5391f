/*
 * bench_query.c - how long commands take on long runs, and the most memory that they have. Each command in
 * turn, some rounds, after one that is not counted: it fetches the file, and checks what it counts. Single-threaded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define GOAL_MS 50
#define GOAL_MIB 64
#define CHECK_LAUNCHES 1000000
#define LONG_S 20 /* what takes longer is run once */

static const struct command {
	const char *name;
	const char *args[4];
	bool has_goal;
} commands[] = {
        {"top", {"top"}, true},
        {"ledger", {"ledger"}, true},
        {"top --json", {"top", "--json"}, true},
        {"show 1", {"show", "1"}, false},
        {"timeline", {"timeline"}, false},
        {"gaps", {"gaps"}, false},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static unsigned limit_s(const struct bench *b)
{
	return b->size >= BENCH_FULL ? 900 : 120;
}

static struct bench_use run_command(const char *const *args, const char *file, const char *output,
                                    const struct bench *b)
{
	char program[1024];
	const char *argv[8] = {bench_program(program, "wavetap")};
	int n = 1;

	for (int i = 0; i < 4 && args[i]; i++)
		argv[n++] = args[i];
	if (file) {
		argv[n++] = "-r";
		argv[n++] = file;
	}
	return bench_run(NULL, argv, output, limit_s(b));
}

static void add_use(struct bench *b, int build, const char *part, const char *what,
                    const struct bench_use *use, bool has_goal)
{
	struct bench_row *ms = bench_row(b, part, "ms", "%s", what);
	struct bench_row *mib = bench_row(b, part, "MiB", "%s", what);
	struct bench_row *cpu = bench_row(b, part, "ms CPU", "%s", what);

	if (has_goal) {
		bench_goal(ms, BENCH_AT_MOST, GOAL_MS);
		bench_goal(mib, BENCH_AT_MOST, GOAL_MIB);
	}
	cpu->is_hidden = !has_goal; /* tells more on a busy machine */
	bench_add(ms, build, use->wall_s * 1e3);
	bench_add(mib, build, (double)use->peak_bytes / 1048576);
	bench_add(cpu, build, use->cpu_s * 1e3);
}

bool bench_query_check(struct bench *b, int build, const struct bench_feed *feed)
{
	static const char *const args[4] = {"top", "--all", "--json"}, *const check[4] = {"check"};
	char output[600];
	struct bench_use use;
	int64_t kernels = -1, time_ns = -1;

	bench_use_build(b, build);
	snprintf(output, sizeof(output), "%s/top.json", feed->folder);
	use = run_command(args, feed->file, output, b);
	if (use.status == 0) {
		kernels = bench_json_int(output, "$.total.launches");
		time_ns = bench_json_int(output, "$.total.time_ns");
	}
	if (kernels != feed->stored)
		bench_fail(b,
		           "top --all --json: status %d, %" PRId64 " kernels, of %" PRId64
		           " stored",
		           use.status, kernels, feed->stored);
	if (!feed->refused && time_ns != feed->kernel_ns)
		bench_fail(b, "top --all --json: %" PRId64 " ns of kernels, made were %" PRId64,
		           time_ns, feed->kernel_ns);
	/* It reads each row by itself, which takes too long for more. */
	if (feed->launches <= CHECK_LAUNCHES && run_command(check, feed->file, NULL, b).status)
		bench_fail(b, "wavetap check finds fault with %" PRIu64 " launches",
		           feed->launches);
	bench_use_build(b, 0);
	return kernels == feed->stored;
}

void bench_query_file(struct bench *b, int build, const struct bench_feed *feed, uint64_t *left_out)
{
	char count[32], what[80];

	bench_use_build(b, build);
	for (size_t i = 0; i < COMMANDS; i++) {
		const struct command *c = &commands[i];
		struct bench_use use;

		if (*left_out & UINT64_C(1) << i)
			continue;
		snprintf(what, sizeof(what), "%s, %s", c->name, bench_count(count, feed->launches));
		bench_say(b, "%s", what);
		use = run_command(c->args, feed->file, NULL, b);
		if (use.status != 0 || use.wall_s > LONG_S)
			*left_out |= UINT64_C(1) << i;
		if (use.status == -1)
			bench_note(b, "%s: given up after %u s, with %.0f MiB", what, limit_s(b),
			           (double)use.peak_bytes / 1048576);
		else if (use.status)
			bench_fail(b, "%s: status %d", what, use.status);
		else
			add_use(b, build, "query", what, &use, c->has_goal);
	}
	bench_use_build(b, 0);
}

/* The build that comes at place `at` of a round: the order turns. */
static int turn(const struct bench *b, unsigned round, int at)
{
	return (int)((round + (unsigned)at) % (unsigned)b->builds);
}

void bench_query(struct bench *b, uint64_t launches)
{
	struct bench_feed feed[BENCH_BUILDS] = {{.launches = 0}};
	char count[32], what[80];
	uint64_t left_out[BENCH_BUILDS] = {0};
	bool is_good = true;

	snprintf(what, sizeof(what), "query, %s", bench_count(count, launches));
	if (!bench_has_room(b, launches * (uint64_t)b->builds, what))
		return;
	for (int k = 0; k < b->builds && is_good; k++) {
		bench_say(b, "%s: making the run file", what);
		feed[k] = (struct bench_feed){.launches = launches,
		                              .processes = b->processes,
		                              .threads = b->threads,
		                              .is_live = true};
		bench_use_build(b, k);
		is_good = bench_feed(b, &feed[k]);
		if (is_good) {
			struct bench_row *row = bench_row(b, "file", "B", "live, %s, each", count);

			bench_goal(row, BENCH_AT_MOST, 16);
			bench_add(row, k, bench_bytes_each(&feed[k]));
			is_good = bench_query_check(b, k, &feed[k]);
		}
	}
	for (unsigned i = 0; i < b->rounds && is_good; i++)
		for (int k = 0; k < b->builds; k++) {
			int build = turn(b, i, k);

			bench_query_file(b, build, &feed[build], &left_out[build]);
		}
	for (int k = 0; k < b->builds; k++)
		bench_feed_end(b, &feed[k]);
	bench_use_build(b, 0);
}

/* Programs with nothing to do: what is left is start-up. */
void bench_start(struct bench *b)
{
	static const char *const version[4] = {"--version"}, *const runs[4] = {"runs"},
	                         *const status[4] = {"status"};
	static const struct {
		const char *what;
		const char *const *args;
	} all[] = {{"--version", version}, {"runs, one run", runs}, {"status, no daemon", status}};
	struct bench_feed feed = {.launches = 4096, .processes = 1, .threads = 1};

	if (bench_feed(b, &feed))
		for (unsigned i = 0; i < 2 * b->rounds; i++)
			for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
				struct bench_use use;

				for (int j = 0; j < b->builds; j++) {
					int build = turn(b, i, j);

					bench_use_build(b, build);
					use = run_command(all[k].args, NULL, NULL, b);
					if (use.status)
						bench_fail(b, "%s: status %d", all[k].what,
						           use.status);
					else
						add_use(b, build, "start", all[k].what, &use,
						        false);
				}
			}
	bench_feed_end(b, &feed);
	bench_use_build(b, 0);
}

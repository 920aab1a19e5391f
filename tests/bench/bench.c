/*
 * bench.c - `make bench`: what runs in which size. See bench.h.
 *
 * usage: bench [OPTION]... [smoke|usual|full|day] [PART]...
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

#define ROUNDS 5
#define USUAL_LAUNCHES 1000000

static const char usage[] =
        "usage: bench [OPTION]... [SIZE] [PART]...\n"
        "  SIZE  usual (default): commands on 10^6 launches; some minutes\n"
        "        full: on 10^7 and 10^8 as well\n"
        "        day: 10^8 launches of 64 threads in 8 processes, live, and commands on them\n"
        "        smoke: tiny, for the tests\n"
        "  PART  ring, hook, ingest, start, query, live (default: all but live; of day and smoke:\n"
        "        live; and all)\n"
        "  --launches N   of query and live, instead of the size's\n"
        "  --rounds N     how often all is measured (default 5; smoke: 1)\n"
        "  --other BUILD  measures in turn with another build folder, too\n"
        "  --keep FOLDER  run files of query and live are moved there (on the disk of TMPDIR)\n"
        "  --json         for machines\n"
        "Needs top_builddir in the environment; run files go to TMPDIR or /tmp.\n";

static const char *const part_names[] = {"ring", "hook", "ingest", "start", "query", "live"};
#define PARTS (sizeof(part_names) / sizeof(part_names[0]))
enum part { PART_RING, PART_HOOK, PART_INGEST, PART_START, PART_QUERY, PART_LIVE };

_Noreturn static void refuse(const char *what, const char *value)
{
	fprintf(stderr, "bench: %s: %s\n%s", what, value, usage);
	exit(2);
}

static uint64_t number_of(const char *name, const char *text, uint64_t most)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text || text[0] == '-' || value < 1 || value > most)
		refuse(name, text);
	return value;
}

static void read_word(struct bench *b, const char *word, unsigned *parts)
{
	static const char *const sizes[] = {"smoke", "usual", "full", "day"};

	for (int i = 0; i < 4; i++)
		if (!strcmp(word, sizes[i])) {
			b->size = (enum bench_size)i;
			return;
		}
	for (size_t i = 0; i < PARTS; i++)
		if (!strcmp(word, part_names[i])) {
			*parts |= 1u << i;
			return;
		}
	refuse("no such size or part", word);
}

static unsigned read_options(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {{"launches", required_argument, NULL, 'l'},
	                                        {"rounds", required_argument, NULL, 'r'},
	                                        {"other", required_argument, NULL, 'o'},
	                                        {"keep", required_argument, NULL, 'k'},
	                                        {"json", no_argument, NULL, 'j'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {0}};
	unsigned parts = 0;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		switch (option) {
		case 'l':
			b->launches = number_of("--launches", optarg, UINT64_C(10000000000));
			break;
		case 'r':
			b->rounds = (unsigned)number_of("--rounds", optarg, 1000);
			break;
		case 'o':
			if (optarg[0]) {
				b->build[1] = optarg;
				b->builds = 2;
			}
			break;
		case 'k':
			b->keep = optarg;
			break;
		case 'j':
			b->is_json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	for (; optind < argc; optind++)
		read_word(b, argv[optind], &parts);
	if (parts)
		return parts;
	if (b->size == BENCH_DAY)
		return 1u << PART_LIVE;
	return ((1u << PARTS) - 1) & ~(b->size == BENCH_SMOKE ? 0 : 1u << PART_LIVE);
}

static void run_query(struct bench *b)
{
	bench_query(b, b->launches ? b->launches : b->size == BENCH_SMOKE ? 20000 : USUAL_LAUNCHES);
	if (b->size == BENCH_FULL && !b->launches) {
		bench_query(b, 10 * USUAL_LAUNCHES);
		bench_query(b, 100 * USUAL_LAUNCHES);
	}
}

int main(int argc, char **argv)
{
	static struct bench_row rows[BENCH_ROWS_MAX];
	struct bench b = {
	        .size = BENCH_USUAL, .builds = 1, .processes = 8, .threads = 8, .rows = rows};
	char build[1024];
	unsigned parts;
	int rc;

	if (argc == 4 && !strcmp(argv[1], "--hook-child"))
		return bench_hook_child(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	bench_child_main(argc, argv);
	b.build[0] = getenv("top_builddir");
	parts = read_options(&b, argc, argv);
	if (!b.build[0]) {
		fputs("bench: top_builddir is not set: run it by make bench\n", stderr);
		return 2;
	}
	/* The environment's goes with the build in use. */
	snprintf(build, sizeof(build), "%s", b.build[0]);
	b.build[0] = build;
	if (!b.rounds)
		b.rounds = b.size == BENCH_SMOKE ? 1 : ROUNDS;
	if (b.size == BENCH_SMOKE && !b.launches)
		b.launches = 20000;
	if (parts & 1u << PART_RING)
		bench_ring(&b);
	if (parts & 1u << PART_HOOK)
		bench_hook(&b);
	if (parts & 1u << PART_INGEST)
		bench_ingest(&b);
	if (parts & 1u << PART_START)
		bench_start(&b);
	if (parts & 1u << PART_QUERY)
		run_query(&b);
	if (parts & 1u << PART_LIVE)
		bench_day(&b);
	rc = bench_report(&b);
	bench_fini(&b);
	return rc;
}

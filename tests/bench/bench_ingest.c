/*
 * bench_ingest.c - from segments to durable rows: CPU time of a daemon that finds one whole segment, from its
 * start to its end; producers take no part. And the bytes that launches take in the run file. Single-threaded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"

#define GOAL_PER_S 1e6
#define GOAL_BYTES 16
#define NODES 256

static void once(struct bench *b, int build, unsigned nodes)
{
	struct bench_feed feed = {.launches = b->size == BENCH_SMOKE ? 4096 : 262144,
	                          .processes = 1,
	                          .threads = 1,
	                          .nodes = nodes};
	const char *what = nodes ? "graph nodes" : "launches";

	bench_use_build(b, build);
	if (bench_feed(b, &feed)) {
		struct bench_row *row = bench_row(b, "ingest", "1/s", "%s", what);
		struct bench_row *bytes = bench_row(b, "file", "B", "%s, each", what);

		bench_goal(row, BENCH_AT_LEAST, GOAL_PER_S);
		bench_add(row, build, (double)feed.launches / feed.use.cpu_s);
		bench_goal(bytes, BENCH_AT_MOST, GOAL_BYTES);
		bench_add(bytes, build, bench_bytes_each(&feed));
		row = bench_row(b, "ingest", "1/s", "%s, by the clock", what);
		row->is_hidden = true;
		bench_add(row, build, (double)feed.launches / feed.use.wall_s);
		row = bench_row(b, "ingest", "MiB", "%s", what);
		row->is_hidden = true;
		bench_add(row, build, (double)feed.use.peak_bytes / 1048576);
	}
	bench_feed_end(b, &feed);
	bench_use_build(b, 0);
}

void bench_ingest(struct bench *b)
{
	for (unsigned i = 0; i < b->rounds; i++) {
		bench_say(b, "ingest, round %u of %u", i + 1, b->rounds);
		for (int k = 0; k < b->builds; k++)
			once(b, (int)((i + (unsigned)k) % (unsigned)b->builds), 0);
		for (int k = 0; k < b->builds; k++)
			once(b, (int)((i + (unsigned)k) % (unsigned)b->builds), NODES);
	}
}

/*
 * bench_day.c - the long run: launches of 64 threads in 8 processes through real segments into one run file
 * while the daemon runs. Is anything lost without being counted, does the daemon's memory stay flat, and how
 * long do commands take on it afterwards? Then a shorter one at full rate, where the rings refuse what
 * they must. Single-threaded; the producers are children.
 *
 * Memory is told as the daemon's own and as the segments that it maps, which are as large as the programs
 * made them (14 MiB each).
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/bench/bench.h"

#define MIB 1048576.0

static void add(struct bench *b, const char *unit, double value, const char *what)
{
	bench_add(bench_row(b, "live", unit, "%s", what), 0, value);
}

static void add_memory(struct bench *b, const struct bench_feed *feed)
{
	char count[32];
	uint64_t shared = 0;

	for (unsigned i = 0; i < feed->point_count; i++) {
		const struct bench_point *p = &feed->point[i];

		bench_count(count, p->launches);
		bench_add(bench_row(b, "live", "MiB", "own memory at %s", count), 0,
		          (double)p->memory.own_bytes / MIB);
		if (p->memory.shared_bytes > shared)
			shared = p->memory.shared_bytes;
	}
	if (feed->settled.resident_bytes)
		add(b, "MiB", (double)feed->settled.own_bytes / MIB, "own memory, all done");
	if (shared)
		add(b, "MiB", (double)shared / MIB, "segments mapped, at most");
	add(b, "MiB", (double)feed->use.peak_bytes / MIB, "peak, segments included");
}

static void add_feed(struct bench *b, const struct bench_feed *feed)
{
	struct bench_row *row;

	add(b, "1/s", (double)feed->launches / feed->stored_s, "launches, by the clock");
	row = bench_row(b, "live", "1/s", "launches, by CPU time");
	bench_goal(row, BENCH_AT_LEAST, 1e6);
	bench_add(row, 0, (double)feed->launches / feed->use.cpu_s);
	row = bench_row(b, "live", "B", "run file, each");
	bench_goal(row, BENCH_AT_MOST, 16);
	bench_add(row, 0, bench_bytes_each(feed));
	add(b, "MiB", (double)feed->file_bytes / MIB, "run file");
	add(b, "s", feed->stored_s, "until all is stored");
	add(b, "s", feed->use.cpu_s, "CPU time of the daemon");
	add_memory(b, feed);
	bench_note(b,
	           "live: %" PRIu64 " launches of %u threads in %u processes: %" PRId64
	           " stored, %" PRId64 " records refused, %" PRId64 " unexplained, %" PRId64
	           " too late for the sweep.",
	           feed->launches, feed->processes * feed->threads, feed->processes, feed->stored,
	           feed->refused, feed->unexplained, feed->late);
}

static void flat_out(struct bench *b, uint64_t launches)
{
	struct bench_feed feed = {.launches = launches,
	                          .processes = b->processes,
	                          .threads = b->threads,
	                          .is_live = true,
	                          .is_flat_out = true,
	                          .cells = b->size == BENCH_SMOKE ? 128 : 0};

	bench_say(b, "%" PRIu64 " launches at full rate", launches);
	if (bench_feed(b, &feed)) {
		bench_note(b,
		           "live, flat out: %" PRIu64 " launches: %" PRId64
		           " kernels stored, %" PRId64 " records refused and counted, %" PRId64
		           " unexplained.",
		           feed.launches, feed.stored, feed.refused, feed.unexplained);
		add(b, "MiB", (double)feed.use.peak_bytes / MIB, "peak, flat out");
		add(b, "%", 100 * (1 - (double)feed.stored / (double)feed.launches),
		    "kernels refused, flat out");
	}
	bench_feed_end(b, &feed);
}

void bench_day(struct bench *b)
{
	uint64_t launches = b->launches ? b->launches : 100000000;
	struct bench_feed feed = {.launches = launches,
	                          .processes = b->processes,
	                          .threads = b->threads,
	                          .is_live = true,
	                          .points = 10};
	uint64_t left_out = 0;

	if (!bench_has_room(b, launches, "live"))
		return;
	bench_say(b, "%" PRIu64 " launches of %u threads in %u processes", launches,
	          b->processes * b->threads, b->processes);
	if (bench_feed(b, &feed)) {
		add_feed(b, &feed);
		if (bench_query_check(b, 0, &feed))
			for (unsigned i = 0; i < b->rounds; i++)
				bench_query_file(b, 0, &feed, &left_out);
	}
	bench_feed_end(b, &feed);
	flat_out(b, b->size == BENCH_SMOKE ? launches : launches / 10);
}

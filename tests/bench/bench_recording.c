/*
 * bench_recording.c - how many bytes a recording takes, on records of a real run: a run file is
 * turned back into cells, 100 ms of them a block, and written as a recording.
 *
 * usage: bench_recording RUNFILE [OUT.wtrec]
 *
 * For runs of one process and device. What run files don't keep is made up, and rather too noisy than too regular: when CUPTI's record
 * of a launch call began and how long it took. The result says what the format costs; it is no
 * recording of a run. Single-threaded.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/wt_recording.h"

#define BLOCK_NS INT64_C(100000000)
#define LATE_NS INT64_C(200000000) /* the library asks CUPTI for its records so often */

static sqlite3 *db;
static struct wt_recording_writer *writer;
static struct wt_recording_process process = {.pid = 1000, .arena_bytes = 1u << 20};
static uint64_t pos[WT_RING_MAX], launches, kernels, cells, devices, bytes_written;
static FILE *out;

static void check(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "bench_recording: %s: %s\n", what, db ? sqlite3_errmsg(db) : "");
	exit(1);
}

static sqlite3_stmt *prepare(const char *sql, int64_t from, int64_t to)
{
	sqlite3_stmt *s = NULL;

	check(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK, sql);
	sqlite3_bind_int64(s, 1, from);
	sqlite3_bind_int64(s, 2, to);
	return s;
}

static uint64_t u64(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

static uint32_t u32(sqlite3_stmt *s, int column)
{
	return (uint32_t)sqlite3_column_int64(s, column);
}

static void add(enum wt_ring_index ring, enum wt_kind kind, uint16_t count, const void *record,
                uint32_t length)
{
	struct wt_cell cell = {.kind = (uint16_t)kind, .count = count, .length = length};

	memcpy(cell.payload, record, length);
	check(!wt_recording_add_cells(writer, ring, &cell, 1), "out of memory");
	pos[ring]++;
	cells++;
}

static uint32_t noise(uint32_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

static void add_calls(int64_t from, int64_t to)
{
	sqlite3_stmt *s = prepare(
	        "SELECT 1, seq, entry_ns, return_ns, api, tid, thread32, stream, function, grid_x, "
	        "grid_y, grid_z, block_x, block_y, block_z, dynamic_smem_bytes, result, flags FROM "
	        "launch_call WHERE entry_ns >= ?1 AND entry_ns < ?2 UNION ALL SELECT 0, "
	        "ifnull(seq, "
	        "0), entry_ns, return_ns, api, tid, thread32, handle, other, bytes, 0, 0, 0, 0, 0, "
	        "0, result, flags FROM api_call WHERE entry_ns >= ?1 AND entry_ns < ?2 ORDER BY 3",
	        from, to);

	while (sqlite3_step(s) == SQLITE_ROW) {
		if (sqlite3_column_int(s, 0)) {
			struct wt_launch r = {
			        .seq = u64(s, 1),
			        .entry_ns = u64(s, 2),
			        .return_ns = u64(s, 3),
			        .api = (uint16_t)u32(s, 4),
			        .tid = u32(s, 5),
			        .thread32 = u32(s, 6),
			        .stream = u64(s, 7),
			        .function = u64(s, 8),
			        .grid = {u32(s, 9), u32(s, 10), u32(s, 11)},
			        .block = {u32(s, 12), u32(s, 13), u32(s, 14)},
			        .dynamic_smem_bytes = u32(s, 15),
			        .result = sqlite3_column_int(s, 16),
			        .flags = u32(s, 17),
			};

			add(WT_RING_CALLS, WT_KIND_LAUNCH, 1, &r, sizeof(r));
			launches++;
		} else {
			struct wt_call r = {
			        .seq = u64(s, 1),
			        .entry_ns = u64(s, 2),
			        .return_ns = u64(s, 3),
			        .api = (uint16_t)u32(s, 4),
			        .tid = u32(s, 5),
			        .thread32 = u32(s, 6),
			        .handle = u64(s, 7),
			        .other = u64(s, 8),
			        .bytes = u64(s, 9),
			        .result = sqlite3_column_int(s, 16),
			        .flags = u32(s, 17),
			};

			add(WT_RING_CALLS, WT_KIND_CALL, 1, &r, sizeof(r));
		}
	}
	sqlite3_finalize(s);
}

static void add_links(int64_t from, int64_t to)
{
	sqlite3_stmt *s =
	        prepare("SELECT l.entry_ns, l.return_ns, e.correlation_id, l.thread32 FROM "
	                "kernel_exec e JOIN launch_call l ON l.process_id = e.process_id "
	                "AND l.seq = e.launch_seq WHERE e.graph_id IS NULL AND l.entry_ns "
	                ">= ?1 AND l.entry_ns < ?2 ORDER BY l.entry_ns",
	                from, to);
	struct wt_link links[WT_LINKS_PER_CELL];
	uint16_t count = 0;

	while (sqlite3_step(s) == SQLITE_ROW) {
		uint64_t entry = u64(s, 0), took = u64(s, 1) - entry;
		uint32_t before = noise(256) + 200;

		if (before > took)
			before = (uint32_t)took;
		links[count++] = (struct wt_link){
		        .start_ns = entry + before,
		        .duration_ns = (uint32_t)(took - before -
		                                  noise((uint32_t)(took - before) / 8 + 1)),
		        .correlation_id = u32(s, 2),
		        .thread32 = u32(s, 3),
		};
		if (count == WT_LINKS_PER_CELL) {
			add(WT_RING_ACTIVITY, WT_KIND_LINK, count, links, sizeof(links));
			count = 0;
		}
	}
	if (count)
		add(WT_RING_ACTIVITY, WT_KIND_LINK, count, links,
		    count * (uint32_t)sizeof(links[0]));
	sqlite3_finalize(s);
}

static void add_kernels(int64_t from, int64_t to)
{
	sqlite3_stmt *s = prepare(
	        "SELECT start_ns, end_ns, ifnull(graph_node_id, 0), correlation_id, context_id, "
	        "stream_id, kernel_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, "
	        "cluster_x, "
	        "cluster_y, cluster_z, static_smem_bytes, dynamic_smem_bytes, ifnull(graph_id, 0), "
	        "regs_per_thread, max_active_clusters, k.name FROM kernel_exec e JOIN config c "
	        "USING "
	        "(config_id) JOIN kernel k USING (kernel_id) WHERE start_ns >= ?1 AND start_ns < "
	        "?2 "
	        "ORDER BY exec_id",
	        from, to);

	while (sqlite3_step(s) == SQLITE_ROW) {
		struct wt_kernel r = {
		        .start_ns = u64(s, 0),
		        .end_ns = u64(s, 1),
		        .graph_node_id = u64(s, 2),
		        .correlation_id = u32(s, 3),
		        .context_id = u32(s, 4),
		        .stream_id = u32(s, 5),
		        .name_id = u32(s, 6) * 64,
		        .grid = {u32(s, 7), u32(s, 8), u32(s, 9)},
		        .static_smem_bytes = u32(s, 16),
		        .dynamic_smem_bytes = u32(s, 17),
		        .smem_executed_bytes = u32(s, 16) + u32(s, 17),
		        .graph_id = u32(s, 18),
		        .regs_per_thread = (uint16_t)u32(s, 19),
		        .max_active_clusters = u32(s, 20),
		        .channel_id = 12,
		};
		const char *name = (const char *)sqlite3_column_text(s, 21);

		for (int i = 0; i < 3; i++) {
			r.block[i] = (uint16_t)u32(s, 10 + i);
			r.cluster[i] = (uint16_t)u32(s, 13 + i);
		}
		if (wt_recording_needs_name(writer, r.name_id))
			check(!wt_recording_add_name(writer, r.name_id, name, strlen(name)),
			      "out of memory");
		add(WT_RING_ACTIVITY, WT_KIND_KERNEL, 1, &r, sizeof(r));
		kernels++;
	}
	sqlite3_finalize(s);
}

/* The devices, in the order of their ordinals; all configurations of a run are made for them. */
static void add_devices(void)
{
	sqlite3_stmt *s = prepare(
	        "SELECT ordinal, uuid, name, cc_major, cc_minor, sm_count, warp_size, "
	        "max_threads_per_sm, max_blocks_per_sm, max_threads_per_block, regs_per_sm, "
	        "regs_per_block, smem_per_sm_bytes, smem_per_block_bytes, "
	        "smem_per_block_optin_bytes, smem_reserved_per_block_bytes, l2_bytes, clock_khz, "
	        "mem_clock_khz, mem_bus_bits, driver_version, mem_total_bytes FROM gpu JOIN "
	        "process_gpu USING (device_id) GROUP BY ordinal ORDER BY ordinal",
	        0, 0);

	while (sqlite3_step(s) == SQLITE_ROW) {
		struct wt_device d = {.ordinal = sqlite3_column_int(s, 0)};
		int32_t *const fields[] = {&d.cc_major,
		                           &d.cc_minor,
		                           &d.sm_count,
		                           &d.warp_size,
		                           &d.max_threads_per_sm,
		                           &d.max_blocks_per_sm,
		                           &d.max_threads_per_block,
		                           &d.regs_per_sm,
		                           &d.regs_per_block,
		                           &d.smem_per_sm_bytes,
		                           &d.smem_per_block_bytes,
		                           &d.smem_per_block_optin_bytes,
		                           &d.smem_reserved_per_block_bytes,
		                           &d.l2_bytes,
		                           &d.clock_khz,
		                           &d.mem_clock_khz,
		                           &d.mem_bus_bits,
		                           &d.driver_version};

		if (sqlite3_column_bytes(s, 1) == sizeof(d.uuid))
			memcpy(d.uuid, sqlite3_column_blob(s, 1), sizeof(d.uuid));
		snprintf(d.name, sizeof(d.name), "%s", (const char *)sqlite3_column_text(s, 2));
		for (int i = 0; i < (int)(sizeof(fields) / sizeof(fields[0])); i++)
			*fields[i] = sqlite3_column_int(s, 3 + i);
		d.mem_total_bytes = u64(s, 21);
		check(!wt_recording_add_device(writer, &d), "out of memory");
		devices++;
	}
	sqlite3_finalize(s);
}

static void write_out(const void *bytes, size_t length)
{
	bytes_written += length;
	if (out)
		check(fwrite(bytes, 1, length, out) == length, "can't write");
}

static int64_t query(const char *sql)
{
	sqlite3_stmt *s = prepare(sql, 0, 0);
	int64_t value = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;

	sqlite3_finalize(s);
	return value;
}

static void write_block(int64_t now_ns, bool is_last)
{
	static struct wt_recording_facts facts;
	const uint8_t *bytes;
	size_t length;

	facts.flags = is_last ? WT_RECORDING_DEAD | WT_RECORDING_OVER : 0;
	facts.now_ns = now_ns;
	facts.counters[WT_RECORDING_COUNTER_launch_attempted] =
	        (uint64_t)query("SELECT 1 + max(seq) FROM launch_call");
	facts.counters[WT_RECORDING_COUNTER_kernels_seen] = kernels;
	facts.counters[WT_RECORDING_COUNTER_device_count] = devices;
	facts.counters[WT_RECORDING_COUNTER_capture] = WT_CAPTURE_FULL;
	facts.counters[WT_RECORDING_COUNTER_armed_ns] = 1;
	memcpy(facts.start_pos, facts.end_pos, sizeof(pos));
	memcpy(facts.end_pos, pos, sizeof(pos));
	check(!wt_recording_make_block(writer, &process, &facts, &bytes, &length), "no block");
	write_out(bytes, length);
}

int main(int argc, char **argv)
{
	static const uint8_t uuid[16] = "bench_recording";
	struct wt_recording_head head;
	int64_t first, last;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: bench_recording RUNFILE [OUT%s]\n", WT_RECORDING_SUFFIX);
		return 2;
	}
	check(sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK, argv[1]);
	writer = wt_recording_writer_create();
	check(writer != NULL, "out of memory");
	if (argc == 3) {
		out = fopen(argv[2], "wbe");
		check(out != NULL, argv[2]);
	}
	strcpy(process.run_key, "bench");
	strcpy(process.hostname, "bench");
	first = query(
	        "SELECT min(entry_ns) FROM (SELECT entry_ns FROM launch_call UNION ALL SELECT "
	        "entry_ns FROM api_call)");
	last = query("SELECT max(end_ns) FROM kernel_exec");
	process.created_realtime_ns = (uint64_t)first;
	wt_recording_make_head(&head, uuid, (uint64_t)first);
	write_out(&head, sizeof(head));
	add_devices();
	for (int64_t at = first; at <= last + LATE_NS + BLOCK_NS; at += BLOCK_NS) {
		add_calls(at, at + BLOCK_NS);
		add_links(at - LATE_NS, at - LATE_NS + BLOCK_NS);
		add_kernels(at - LATE_NS, at - LATE_NS + BLOCK_NS);
		write_block(at - first + 1, at + BLOCK_NS > last + LATE_NS + BLOCK_NS);
	}
	if (out)
		check(fclose(out) == 0, "can't write");
	printf("%llu launches, %llu kernels, %llu cells: %llu bytes, %.2f a launch, %.2f a cell\n",
	       (unsigned long long)launches, (unsigned long long)kernels, (unsigned long long)cells,
	       (unsigned long long)bytes_written, (double)bytes_written / (double)launches,
	       (double)bytes_written / (double)cells);
	wt_recording_writer_destroy(writer);
	sqlite3_close(db);
	return 0;
}

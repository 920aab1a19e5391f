/*
 * test_layout.c - golden sizes and offsets of everything that two programs share. A change
 * here is a change of WT_SEGMENT_ABI, or of a run file's meaning.
 */
#include "schema/wt_segment.h"
#include "schema/wt_api.h"
#include "tests/tap.h"

#define AT(type, field, offset) is_i64(offsetof(struct type, field), offset, #type "." #field)
#define SIZE(type, bytes) is_i64(sizeof(struct type), bytes, "size of " #type)

static void test_ring(void)
{
	SIZE(wt_cell, 128);
	AT(wt_cell, stamp, 0);
	AT(wt_cell, kind, 8);
	AT(wt_cell, count, 10);
	AT(wt_cell, length, 12);
	AT(wt_cell, payload, 16);
	SIZE(wt_ring_control, 256);
	AT(wt_ring_control, tail, 0);
	AT(wt_ring_control, head_cache, 8);
	AT(wt_ring_control, dropped_full, 128);
	AT(wt_ring_control, dropped_busy, 136);
}

static void test_records(void)
{
	SIZE(wt_launch, 112);
	AT(wt_launch, seq, 0);
	AT(wt_launch, entry_ns, 8);
	AT(wt_launch, return_ns, 16);
	AT(wt_launch, stream, 24);
	AT(wt_launch, function, 32);
	AT(wt_launch, grid, 40);
	AT(wt_launch, block, 52);
	AT(wt_launch, dynamic_smem_bytes, 64);
	AT(wt_launch, result, 68);
	AT(wt_launch, tid, 72);
	AT(wt_launch, thread32, 76);
	AT(wt_launch, api, 80);
	AT(wt_launch, cluster, 82);
	AT(wt_launch, flags, 88);
	SIZE(wt_call, 112);
	AT(wt_call, handle, 24);
	AT(wt_call, other, 32);
	AT(wt_call, bytes, 40);
	AT(wt_call, result, 48);
	AT(wt_call, api, 60);
	AT(wt_call, flags, 64);
	SIZE(wt_range, 112);
	AT(wt_range, tid, 16);
	AT(wt_range, depth, 24);
	AT(wt_range, type, 26);
	AT(wt_range, domain_bytes, 28);
	AT(wt_range, text, 32);
	SIZE(wt_kernel, 112);
	AT(wt_kernel, graph_node_id, 16);
	AT(wt_kernel, correlation_id, 24);
	AT(wt_kernel, context_id, 28);
	AT(wt_kernel, stream_id, 32);
	AT(wt_kernel, name_id, 36);
	AT(wt_kernel, grid, 40);
	AT(wt_kernel, block, 52);
	AT(wt_kernel, cluster, 58);
	AT(wt_kernel, static_smem_bytes, 64);
	AT(wt_kernel, dynamic_smem_bytes, 68);
	AT(wt_kernel, graph_id, 80);
	AT(wt_kernel, device, 84);
	AT(wt_kernel, regs_per_thread, 86);
	AT(wt_kernel, max_active_clusters, 88);
	AT(wt_kernel, launch_type, 92);
	AT(wt_kernel, flags, 94);
	SIZE(wt_copy, 112);
	AT(wt_copy, device, 48);
	SIZE(wt_sync, 112);
	AT(wt_sync, type, 32);
	SIZE(wt_overhead, 112);
	SIZE(wt_context, 112);
	AT(wt_context, sm_count, 16);
	SIZE(wt_link, 24);
	AT(wt_link, start_ns, 0);
	AT(wt_link, duration_ns, 8);
	AT(wt_link, correlation_id, 12);
	AT(wt_link, thread32, 16);
	AT(wt_link, flags, 20);
	is_i64(WT_LINKS_PER_CELL, 4, "links of a cell");
	SIZE(wt_clock, 112);
	AT(wt_clock, bracket_ns, 32);
}

static void test_segment(void)
{
	AT(wt_segment_header, magic, 0);
	AT(wt_segment_header, abi, 8);
	AT(wt_segment_header, header_bytes, 12);
	AT(wt_segment_header, file_bytes, 16);
	AT(wt_segment_header, uuid, 24);
	AT(wt_segment_header, cells_offset, 40);
	AT(wt_segment_header, cell_count, 56);
	AT(wt_segment_header, arena_offset, 72);
	AT(wt_segment_header, pid_namespace, 88);
	AT(wt_segment_header, start_ticks, 96);
	AT(wt_segment_header, pid, 120);
	AT(wt_segment_header, uid, 128);
	AT(wt_segment_header, boot_id, 144);
	AT(wt_segment_header, run_key, 280);
	AT(wt_segment_header, ancestor_count, 4888);
	AT(wt_segment_header, ancestor, 4896);
	SIZE(wt_ancestor, 16);
	AT(wt_segment_header, record_dir, 4896 + 32 * 16);
	AT(wt_segment_header, producer, 4896 + 32 * 16 + 1024);
	AT(wt_segment_header, keep_rows, 4896 + 32 * 16 + 1024 + 16);
	SIZE(wt_segment_header, 4896 + 32 * 16 + 1024 + 16 + 64);
	AT(wt_producer, ring, 0);
	AT(wt_producer, launch_attempted, 512);
	AT(wt_producer, graph_launch_attempted, 640);
	AT(wt_producer, launch_dropped, 768);
	AT(wt_producer, capture, 896);
	AT(wt_producer, cupti_path, 1072);
	AT(wt_producer, ranges_begun, 2176);
	AT(wt_producer, samples_taken, 2304);
	AT(wt_producer, profiled_launches, 2432);
	AT(wt_producer, device, 4096);
	SIZE(wt_producer, 4096 + 64 * 256);
	AT(wt_consumer, head, 0);
	AT(wt_consumer, daemon_pid, 128);
	AT(wt_consumer, finished_ns, 144);
	AT(wt_consumer, run_key_hash, 256);
	AT(wt_consumer, run_key, 264);
	SIZE(wt_consumer, 640);
	SIZE(wt_device, 256);
	AT(wt_device, name, 16);
	AT(wt_device, ordinal, 112);
	AT(wt_device, sm_count, 124);
	AT(wt_device, mem_total_bytes, 184);
	SIZE(wt_name_entry, 8);
}

static void test_numbers(void)
{
	is_i64(WT_SEGMENT_MAGIC, INT64_C(0x0031504154455657), "magic");
	is_i64(WT_KIND_CLOCK, 22, "kinds");
	is_i64(WT_KIND_RANGE, 3, "kinds");
	is_i64(WT_KIND_SAMPLE, 23, "kinds");
	is_i64(WT_KIND_PROFILE, 25, "kinds");
	is_i64(WT_REASON_DUPLICATE, 14, "reasons");
	is_str(wt_api_name(1), "cuLaunchKernel", "api 1");
	is_str(wt_api_name(20), "cuGraphLaunch", "api 20");
	is_i64(wt_api_class_of(20), WT_API_CLASS_GRAPH, "its class");
	is_i64(wt_api_class_of(9999), WT_API_CLASS_NONE, "an unknown one");
}

int main(void)
{
	test_ring();
	test_records();
	test_segment();
	test_numbers();
	return tap_done();
}

/*
 * test_link.c - the linker alone: exact links with threads in any order of arrival, late and
 * lost links, order and geometry, graphs, classes, amended decisions, restart, bounds.
 */
#include "analysis/link.h"
#include "analysis/map.h"
#include "tests/tap.h"

#define SECOND INT64_C(1000000000)

static int class_count[WT_LAUNCH_CLASS_MAX], how_count[5];
static int64_t seq_of_exec[256];
static int saved_count, forgotten_count;

static int on_kernel(void *arg, const struct wt_linker_kernel *kernel, enum wt_link_how how,
                     uint64_t seq, bool is_graph_call)
{
	(void)arg;
	(void)is_graph_call;
	how_count[how]++;
	if (kernel->exec_id < 256)
		seq_of_exec[kernel->exec_id] = how == WT_LINK_NO_CALL ? -1 : (int64_t)seq;
	return 0;
}

static void on_launch(void *arg, enum wt_launch_class before, enum wt_launch_class after)
{
	(void)arg;
	class_count[before]--;
	class_count[after]++;
}

static int on_save(void *arg, uint32_t correlation_id, uint64_t seq, bool is_graph)
{
	(void)arg;
	(void)correlation_id;
	(void)seq;
	(void)is_graph;
	saved_count++;
	return 0;
}

static int on_forget(void *arg, uint32_t correlation_id, uint64_t seq, bool is_graph)
{
	(void)arg;
	(void)correlation_id;
	(void)seq;
	(void)is_graph;
	forgotten_count++;
	return 0;
}

static struct wt_linker *make(void)
{
	const struct wt_linker_output output = {on_kernel, on_launch, on_save,
	                                        on_forget, NULL,      NULL};

	memset(class_count, 0, sizeof(class_count));
	memset(how_count, 0, sizeof(how_count));
	memset(seq_of_exec, 0xff, sizeof(seq_of_exec));
	saved_count = forgotten_count = 0;
	return wt_linker_create(&output);
}

static void call(struct wt_linker *linker, uint64_t seq, uint32_t thread, uint64_t entry,
                 uint32_t flags, int result)
{
	const struct wt_linker_call c = {.seq = seq,
	                                 .entry_ns = entry,
	                                 .return_ns = entry + 100,
	                                 .geometry = 5,
	                                 .thread32 = thread,
	                                 .flags = flags,
	                                 .result = result};

	wt_linker_call(linker, &c, SECOND);
}

static void graph_call(struct wt_linker *linker, uint64_t seq, uint32_t thread, uint64_t entry)
{
	const struct wt_linker_call c = {.seq = seq,
	                                 .entry_ns = entry,
	                                 .return_ns = entry + 100,
	                                 .thread32 = thread,
	                                 .is_graph = true};

	wt_linker_call(linker, &c, SECOND);
}

static void link_at(struct wt_linker *linker, uint32_t id, uint32_t thread, uint64_t start)
{
	const struct wt_link l = {start, 20, id, thread, 0};

	wt_linker_link(linker, &l, SECOND);
}

/* A record of any interval and kind. */
static void record(struct wt_linker *linker, uint32_t id, uint32_t thread, uint64_t start,
                   uint64_t end, uint32_t flags)
{
	const struct wt_link l = {start, end ? (uint32_t)(end - start) : WT_LINK_DURATION_MAX_NS,
	                          id, thread, flags};

	wt_linker_link(linker, &l, SECOND);
}

static void call_of(struct wt_linker *linker, uint64_t seq, uint32_t thread, uint64_t entry,
                    uint64_t geometry, uint32_t tid)
{
	const struct wt_linker_call c = {.seq = seq,
	                                 .entry_ns = entry,
	                                 .return_ns = entry + 100,
	                                 .geometry = geometry,
	                                 .thread32 = thread,
	                                 .tid = tid};

	wt_linker_call(linker, &c, SECOND);
}

/* The seq a kernel was linked to, or -1 if it waits. */
static int64_t kernel(struct wt_linker *linker, int64_t exec_id, uint32_t id, bool is_node,
                      uint64_t start, uint64_t geometry)
{
	const struct wt_linker_kernel k = {exec_id, start, geometry, id, is_node};
	enum wt_link_how how;
	uint64_t seq = 0;
	bool is_graph;

	wt_linker_kernel(linker, &k, SECOND, &how, &seq, &is_graph);
	return how == WT_LINK_EXACT ? (int64_t)seq : -1;
}

static void test_exact(void)
{
	struct wt_linker *linker = make();

	/* two threads at the same time, calls arriving in order of their return */
	call(linker, 1, 20, 1050, 0, 0);
	call(linker, 0, 10, 1000, 0, 0);
	call(linker, 2, 10, 1200, 0, 0);
	link_at(linker, 102, 10, 1250);
	link_at(linker, 101, 20, 1060);
	link_at(linker, 100, 10, 1060);
	is_i64(kernel(linker, 0, 100, false, 2000, 5), 0, "thread 10, first call");
	is_i64(kernel(linker, 1, 101, false, 2000, 5), 1, "thread 20");
	is_i64(kernel(linker, 2, 102, false, 2000, 5), 2, "thread 10, second call");
	wt_linker_settle(linker, SECOND);
	is_i64(saved_count, 0, "nothing to save: all came in one batch");
	is_i64(wt_linker_low_seq(linker), 3, "all decided");
	is_i64(class_count[WT_LAUNCH_LINKED], 3, "three linked");
	/* clock slack: only where record and call touch */
	call(linker, 3, 10, 5000, 0, 0);
	record(linker, 103, 10, 4000, 5050, 0);
	is_i64(kernel(linker, 3, 103, false, 6000, 5), 3, "a start 1 us before the entry");
	call(linker, 4, 10, 15000, 0, 0);
	record(linker, 104, 10, 12000, 15050, 0);
	is_i64(kernel(linker, 4, 104, false, 16000, 5), -1, "but not 3 us");
	wt_linker_destroy(linker);
}

/* Where calls were dropped, the record of one must not be handed to the next. */
static void test_missing_call(void)
{
	struct wt_linker *linker = make();

	call(linker, 1, 10, 1400, 0, 0); /* 0, at 1200, was dropped */
	call(linker, 2, 10, 1600, 0, 0);
	link_at(linker, 100, 10, 1210);
	link_at(linker, 101, 10, 1410);
	link_at(linker, 102, 10, 1610);
	is_i64(kernel(linker, 0, 100, false, 1350, 5), -1, "a record that touches no call");
	is_i64(kernel(linker, 1, 101, false, 1550, 5), 1, "does not take that of the next");
	is_i64(kernel(linker, 2, 102, false, 1750, 5), 2, "nor shift those that follow");
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(how_count[WT_LINK_NO_CALL], 1, "its kernel is of no call");
	wt_linker_destroy(linker);
}

static void test_runtime(void)
{
	struct wt_linker *linker = make();

	call(linker, 0, 10, 9000, 0, 0);
	call(linker, 1, 10, 9300, 0, 0);
	call(linker, 2, 10, 9600, 0, 0);
	record(linker, 100, 10, 1000, 9110, WT_LINK_RUNTIME);
	is_i64(kernel(linker, 0, 100, false, 9900, 5), 0, "first launch: loading came before");
	record(linker, 101, 10, 9200, 9450, WT_LINK_RUNTIME);
	record(linker, 101, 10, 9310, 9390, 0);
	is_i64(kernel(linker, 1, 101, false, 9900, 5), 1, "a second record of a call is no other");
	record(linker, 102, 10, 9610, 9690, 0);
	record(linker, 102, 10, 9550, 9750, WT_LINK_RUNTIME);
	is_i64(kernel(linker, 2, 102, false, 9900, 5), 2, "in whatever order");
	/* so long that its end is not told: the first call after its start */
	call(linker, 3, 10, 20000, 0, 0);
	call(linker, 4, 10, 20300, 0, 0);
	record(linker, 103, 10, 11000, 0, WT_LINK_RUNTIME);
	record(linker, 104, 10, 20250, 20450, WT_LINK_RUNTIME);
	is_i64(kernel(linker, 4, 104, false, 21000, 5), 4, "the next one keeps its own");
	is_i64(kernel(linker, 3, 103, false, 21000, 5), 3, "more than four seconds");
	/* a runtime record around a graph launch */
	graph_call(linker, 0, 10, 30000);
	record(linker, 105, 10, 29900, 30200, WT_LINK_RUNTIME);
	is_i64(kernel(linker, 5, 105, true, 31000, 1), 0, "a node");
	is_i64(kernel(linker, 6, 105, true, 31000, 2), 0, "and another");
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(class_count[WT_LAUNCH_LINKED], 5, "five launches, each with one kernel");
	is_i64(saved_count, forgotten_count, "nothing stays saved");
	wt_linker_destroy(linker);
}

/* One call on three devices: three launch records with the same stamps, one id. */
static void test_group(void)
{
	struct wt_linker *linker = make();

	for (uint64_t seq = 0; seq < 3; seq++)
		call_of(linker, seq, 10, 1000, 50 + seq % 2, 0);
	call(linker, 3, 10, 1200, 0, 0);
	record(linker, 100, 10, 900, 1150, WT_LINK_RUNTIME);
	is_i64(kernel(linker, 0, 100, false, 2000, 51), 1, "the one of its geometry");
	is_i64(kernel(linker, 1, 100, false, 2000, 50), 0, "then the first");
	is_i64(kernel(linker, 2, 100, false, 2000, 50), 2, "then the other");
	is_i64(kernel(linker, 3, 100, false, 2000, 50), -1, "a fourth has none");
	wt_linker_destroy(linker);

	linker = make();
	is_i64(kernel(linker, 0, 100, false, 2000, 50), -1, "kernels first");
	is_i64(kernel(linker, 1, 100, false, 2000, 50), -1, "both");
	for (uint64_t seq = 0; seq < 2; seq++)
		call_of(linker, seq, 10, 1000, 50, 0);
	record(linker, 100, 10, 1010, 1090, 0);
	is_i64(seq_of_exec[0], 0, "a driver record is of all with the same stamps");
	is_i64(seq_of_exec[1], 1, "served in order");
	wt_linker_destroy(linker);

	/* two launches within one call of cudart: kernels of the one id go by geometry */
	linker = make();
	call_of(linker, 0, 10, 1000, 50, 0);
	call_of(linker, 1, 10, 1200, 51, 0);
	record(linker, 100, 10, 900, 1400, WT_LINK_RUNTIME);
	wt_linker_settle(linker, SECOND);
	is_i64(saved_count, 2, "both are saved");
	is_i64(kernel(linker, 0, 100, false, 2000, 51), 1, "the second's kernel");
	is_i64(kernel(linker, 1, 100, false, 2000, 50), 0, "the first's");
	is_i64(forgotten_count, 2, "both are forgotten");
	wt_linker_destroy(linker);
}

/* cuptiSetThreadIdType: records with the kernel's thread id. */
static void test_thread_ids(void)
{
	struct wt_linker *linker = make();

	link_at(linker, 100, 5001, 1010);
	call_of(linker, 0, 0x7f001000, 1000, 5, 5001);
	call_of(linker, 1, 0x7f002000, 1000, 5, 5002);
	link_at(linker, 101, 5002, 1010);
	wt_linker_settle(linker, SECOND);
	is_i64(kernel(linker, 0, 100, false, 2000, 5), 0, "by thread id, record first");
	is_i64(kernel(linker, 1, 101, false, 2000, 5), 1, "by thread id, call first");
	/* a pthread_self() that looks like another thread's id comes first */
	call_of(linker, 2, 5003, 3000, 5, 5004);
	call_of(linker, 3, 0x7f003000, 3000, 5, 5003);
	link_at(linker, 102, 5003, 3010);
	is_i64(kernel(linker, 2, 102, false, 4000, 5), 2, "pthread_self() goes before");
	wt_linker_destroy(linker);
}

static void test_late(void)
{
	struct wt_linker *linker = make();

	call(linker, 0, 10, 1000, 0, 0);
	is_i64(kernel(linker, 7, 100, false, 2000, 5), -1, "a kernel before its link waits");
	link_at(linker, 100, 10, 1010);
	is_i64(seq_of_exec[7], 0, "and is found when it comes");
	/* link before its call */
	link_at(linker, 101, 10, 3010);
	is_i64(kernel(linker, 8, 101, false, 4000, 5), -1, "a link before its call");
	call(linker, 1, 10, 3000, 0, 0);
	wt_linker_settle(linker, SECOND);
	is_i64(seq_of_exec[8], 1, "is matched when the call comes");
	/* link without kernel: saved, then forgotten */
	call(linker, 2, 10, 5000, 0, 0);
	link_at(linker, 102, 10, 5010);
	wt_linker_settle(linker, SECOND);
	is_i64(saved_count, 1, "a link that waits is saved");
	is_i64(kernel(linker, 9, 102, false, 6000, 5), 2, "its kernel comes");
	is_i64(forgotten_count, 1, "and it is forgotten");
	wt_linker_destroy(linker);
}

static void test_classes(void)
{
	struct wt_linker *linker = make();

	call(linker, 0, 10, 1000, 0, 700);
	call(linker, 1, 10, 2000, WT_FLAG_CAPTURE_STREAM, 0);
	call(linker, 2, 10, 3000, WT_FLAG_CAPTURE_OPEN, 0);
	call(linker, 3, 10, 4000, WT_FLAG_UNARMED, 0);
	call(linker, 4, 10, 5000, 0, 0);
	link_at(linker, 100, 10, 1010);
	link_at(linker, 101, 10, 2010);
	link_at(linker, 102, 10, 3010);
	link_at(linker, 104, 10, 5010);
	is_i64(class_count[WT_LAUNCH_FAILED], 1, "failed at once");
	is_i64(class_count[WT_LAUNCH_CAPTURED], 1, "captured at once");
	wt_linker_settle(linker, SECOND);
	is_i64(wt_linker_low_seq(linker), 2, "the others wait");
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(class_count[WT_LAUNCH_CAPTURED], 2, "an open capture and no kernel: captured");
	is_i64(class_count[WT_LAUNCH_UNOBSERVED], 1, "unarmed: unobserved");
	is_i64(class_count[WT_LAUNCH_UNLINKED], 1, "no kernel: unlinked");
	is_i64(saved_count, forgotten_count, "nothing stays saved");
	wt_linker_destroy(linker);

	linker = make();
	call(linker, 0, 10, 1000, 0, 0);
	call(linker, 1, 10, 2000, WT_FLAG_CAPTURE_OPEN, 0);
	wt_linker_end(linker, 0, SECOND);
	is_i64(class_count[WT_LAUNCH_UNLINKED] + class_count[WT_LAUNCH_CAPTURED], 0,
	       "killed: what was under way stays so");
	wt_linker_destroy(linker);

	linker = make();
	call(linker, 0, 10, 1000, 0, 0);
	call(linker, 1, 10, 9000, 0, 0);
	wt_linker_end(linker, 8000, SECOND);
	is_i64(class_count[WT_LAUNCH_UNLINKED], 1,
	       "launched behind the last flush: under way, unlike what came before it");
	wt_linker_destroy(linker);
}

/* Up to when kernels may still come. */
static void test_open(void)
{
	struct wt_linker *linker = make();

	is_i64((int64_t)wt_linker_open_entry_ns(linker), 0, "nothing was launched");
	call(linker, 0, 10, 1000, 0, 700);
	call(linker, 1, 10, 2000, WT_FLAG_CAPTURE_STREAM, 0);
	call(linker, 2, 10, 3000, WT_FLAG_CAPTURE_OPEN, 0);
	call(linker, 3, 10, 4000, WT_FLAG_UNARMED, 0);
	is_i64((int64_t)wt_linker_open_entry_ns(linker), 0, "of none of these a kernel need come");
	call(linker, 4, 10, 5000, 0, 0);
	link_at(linker, 104, 10, 5010);
	is_i64((int64_t)wt_linker_open_entry_ns(linker), 5000, "of one a kernel is still to come");
	ok(!wt_linker_is_new(linker, 4) && !wt_linker_is_new(linker, 3), "they came");
	call(linker, 6, 10, 7000, 0, 0);
	ok(wt_linker_is_new(linker, 5) && wt_linker_is_new(linker, 7), "others come yet");
	ok(!wt_linker_is_new(linker, 6), "one came before them");
	call(linker, 5, 11, 6000, 0, 0);
	ok(!wt_linker_is_new(linker, 5), "then it came");
	is_i64(kernel(linker, 1, 104, false, 5050, 5), 4, "it comes");
	is_i64((int64_t)wt_linker_open_entry_ns(linker), 6000, "then of the next");
	link_at(linker, 105, 11, 6010);
	is_i64(kernel(linker, 2, 105, false, 6050, 5), 5, "it comes");
	is_i64((int64_t)wt_linker_open_entry_ns(linker), 7000, "then of the last");
	link_at(linker, 106, 10, 7010);
	is_i64(kernel(linker, 3, 106, false, 7050, 5), 6, "it comes");
	is_i64((int64_t)wt_linker_open_entry_ns(linker), 0, "of none");
	wt_linker_destroy(linker);
}

static void test_age(void)
{
	struct wt_linker *linker = make();

	call(linker, 0, 10, 1000, 0, 0);
	link_at(linker, 100, 10, 1010);
	call(linker, 2, 10, 2000, 0, 0); /* 1 was dropped */
	wt_linker_settle(linker, 30 * SECOND);
	is_i64(class_count[WT_LAUNCH_UNLINKED], 0, "waits half a minute");
	wt_linker_settle(linker, 70 * SECOND);
	is_i64(class_count[WT_LAUNCH_UNLINKED], 2, "decided after a minute, the gap too");
	is_i64(wt_linker_low_seq(linker), 3, "and let go");
	is_i64(kernel(linker, 1, 100, false, 9000, 5), 0, "a kernel that comes after that");
	is_i64(class_count[WT_LAUNCH_UNLINKED], 1, "amends the decision");
	is_i64(class_count[WT_LAUNCH_LINKED], 1, "to linked");
	/* far more than can be held */
	for (uint64_t seq = 3; seq < WT_LINK_PENDING_MAX + 1000; seq++)
		call(linker, seq, (uint32_t)(seq % 3), 10000 + 1000 * seq, 0, 0);
	ok(wt_linker_held(linker) <= WT_LINK_PENDING_MAX + 8, "memory is bounded");
	call(linker, UINT64_C(1) << 50, 1, UINT64_C(1) << 50, 0, 0);
	ok(wt_linker_held(linker) <= WT_LINK_PENDING_MAX + 8, "also against a wild seq");
	wt_linker_destroy(linker);
}

static void test_order(void)
{
	struct wt_linker *linker = make();

	call(linker, 0, 10, 1000, 0, 0);
	call(linker, 1, 10, 2000, 0, 1); /* failed: takes no kernel */
	call(linker, 2, 10, 3000, 0, 0);
	kernel(linker, 1, 51, false, 8000, 5);
	kernel(linker, 0, 50, false, 5000, 5);
	kernel(linker, 2, 52, false, 9000, 6);
	wt_linker_settle(linker, 2 * SECOND);
	is_i64(how_count[WT_LINK_ORDER], 0, "not at once: others may come yet");
	wt_linker_settle(linker, 4 * SECOND);
	is_i64(how_count[WT_LINK_ORDER], 2, "two by order");
	is_i64(seq_of_exec[0], 0, "the first");
	is_i64(seq_of_exec[1], 2, "the second, past the failed one");
	wt_linker_end(linker, UINT64_MAX, 5 * SECOND);
	is_i64(how_count[WT_LINK_NO_CALL], 1, "another geometry is of no call");
	wt_linker_destroy(linker);

	linker = make();
	call(linker, 0, 10, 50000, 0, 0);
	kernel(linker, 0, 50, false, 5000, 5);
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(how_count[WT_LINK_ORDER], 0, "never to a call made after it ran");
	wt_linker_destroy(linker);

	linker = make();
	call(linker, 0, 10, 1000, 0, 0);
	link_at(linker, 50, 99, 1010); /* of a thread without hooks */
	kernel(linker, 0, 50, false, 5000, 5);
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(how_count[WT_LINK_ORDER], 0, "nor where a link says that no hook saw it");
	wt_linker_destroy(linker);
}

/* Records were lost: what is left is joined, but never against time or against a known id. */
static void test_order_with_losses(void)
{
	struct wt_linker *linker = make();
	bool is_good = true;

	for (uint64_t i = 0; i < 200; i++) {
		if (i % 3)
			call(linker, i, 10, 100000 + 10000 * i, 0, 0);
		if (i % 7 == 0)
			link_at(linker, (uint32_t)(1000 + i), 10, 100010 + 10000 * i);
	}
	for (uint64_t i = 0; i < 200; i++)
		kernel(linker, (int64_t)i, (uint32_t)(1000 + i), false, 100150 + 10000 * i, 5);
	wt_linker_end(linker, UINT64_MAX, SECOND);
	ok(how_count[WT_LINK_ORDER] > 0, "%d by order", how_count[WT_LINK_ORDER]);
	for (int64_t i = 0; i < 200; i++) {
		if (seq_of_exec[i] < 0)
			continue;
		is_good = is_good && seq_of_exec[i] <= i;
		is_good = is_good && (seq_of_exec[i] % 7 || seq_of_exec[i] == i);
	}
	ok(is_good, "none to a call made later, none to a call with another id");
	wt_linker_destroy(linker);

	linker = make();
	call(linker, 0, 10, 50000, 0, 0);
	kernel(linker, 0, 50, false, 0, 5);
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(how_count[WT_LINK_ORDER], 1, "without a time, order alone decides");
	wt_linker_destroy(linker);
}

static void test_graph(void)
{
	struct wt_linker *linker = make();

	graph_call(linker, 0, 10, 1000);
	call(linker, 0, 10, 2000, 0, 0);
	is_i64(kernel(linker, 1, 60, true, 1500, 1), -1, "a node before the link");
	link_at(linker, 60, 10, 1010);
	is_i64(seq_of_exec[1], 0, "is linked when it comes");
	is_i64(kernel(linker, 2, 60, true, 1600, 1), 0, "further nodes at once");
	is_i64(kernel(linker, 3, 60, true, 1700, 2), 0, "all of them");
	is_i64(class_count[WT_LAUNCH_LINKED], 0, "no launch call is used up");
	wt_linker_destroy(linker);
}

static void test_restart(void)
{
	struct wt_linker *linker = make();
	struct wt_linker_call c = {
	        .seq = 10, .entry_ns = 1000, .return_ns = 1100, .thread32 = 1, .geometry = 5};
	struct wt_linker_kernel k = {3, 4000, 5, 72, false};

	wt_linker_restore_start(linker, 10);
	wt_linker_restore_link(linker, 70, 10, false, 5, 0, SECOND);
	wt_linker_restore_call(linker, &c, false, SECOND);
	c = (struct wt_linker_call){
	        .seq = 11, .entry_ns = 2000, .return_ns = 2100, .thread32 = 1, .geometry = 5};
	wt_linker_restore_call(linker, &c, true, SECOND);
	c.seq = 12;
	c.entry_ns = 3000;
	c.return_ns = 3100;
	wt_linker_restore_call(linker, &c, false, SECOND);
	wt_linker_restore_kernel(linker, &k, SECOND);
	is_i64(kernel(linker, 1, 70, false, 2500, 5), 10, "a restored link serves its kernel");
	is_i64(forgotten_count, 1, "and is forgotten");
	link_at(linker, 72, 1, 3010);
	is_i64(seq_of_exec[3], 12, "a restored kernel and call meet by a new link");
	wt_linker_settle(linker, 2 * SECOND);
	is_i64(wt_linker_low_seq(linker), 13, "all decided");
	is_i64(class_count[WT_LAUNCH_LINKED], 2, "what was linked before is not counted again");
	wt_linker_destroy(linker);
}

static void test_map(void)
{
	struct wt_map map = {0};
	bool is_good = true;

	for (uint64_t key = 0; key < 20000; key++)
		wt_map_set(&map, key * 64, (uint32_t)key);
	for (uint64_t key = 0; key < 20000; key += 2)
		wt_map_remove(&map, key * 64);
	for (uint64_t key = 0; key < 20000; key++)
		is_good = is_good &&
		          wt_map_get(&map, key * 64) == (key % 2 ? (uint32_t)key : WT_MAP_NONE);
	ok(is_good && map.count == 10000, "map: set, remove, get");
	wt_map_fini(&map);
}

/* CUPTI's ids are given as calls enter, seqs as they return: who returns late is no later call. */
static void test_order_by_entry(void)
{
	struct wt_linker *linker = make();
	const struct wt_linker_call slow = {.seq = 1,
	                                    .entry_ns = 10000,
	                                    .return_ns = 90000,
	                                    .geometry = 5,
	                                    .thread32 = 10,
	                                    .flags = WT_FLAG_UNARMED};

	call(linker, 0, 11, 20000, WT_FLAG_UNARMED, 0);
	wt_linker_call(linker, &slow, SECOND);
	call(linker, 2, 11, 30000, WT_FLAG_UNARMED, 0);
	is_i64(kernel(linker, 0, 100, false, 15000, 5), -1, "no link: it waits");
	is_i64(kernel(linker, 1, 101, false, 21000, 5), -1, "the next, too");
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(seq_of_exec[0], 1, "the first kernel is of the call that entered first");
	is_i64(seq_of_exec[1], 0, "the second of the next");
	is_i64(how_count[WT_LINK_NO_CALL], 0, "no kernel is without a call");
	is_i64(class_count[WT_LAUNCH_LINKED_BY_ORDER], 2, "two calls have one");
	is_i64(class_count[WT_LAUNCH_UNOBSERVED], 1, "none of them is unobserved");
	wt_linker_destroy(linker);
}

/* A lost link of a graph launch may stand for any number of nodes: they take the room of one. */
static void test_nodes_wait_together(void)
{
	struct wt_linker *linker = make();
	int64_t held;

	graph_call(linker, 0, 10, 1000);
	graph_call(linker, 1, 11, 1000);
	for (int64_t i = 0; i < 100000; i++)
		kernel(linker, 1000 + i, 100, true, 1050, 7);
	for (int64_t i = 0; i < 50; i++) { /* two graphs in turn */
		kernel(linker, 2 * i, 101, true, 1050, 7);
		kernel(linker, 2 * i + 1, 102, true, 1050, 7);
	}
	held = (int64_t)wt_linker_held(linker);
	ok(held <= 1 + 100, "100,000 nodes without a link, and a hundred in turn: %lld held",
	   (long long)held);
	link_at(linker, 100, 10, 1010);
	is_i64(how_count[WT_LINK_EXACT], 100000, "its link comes: all have it");
	link_at(linker, 102, 11, 1010);
	is_i64(how_count[WT_LINK_EXACT], 100050, "those of another, too");
	is_i64(seq_of_exec[1] + 10 * seq_of_exec[99] + 100 * seq_of_exec[0], 11 - 100,
	       "and no others");
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(how_count[WT_LINK_NO_CALL], 0, "nodes without a link are no kernels without a call");
	wt_linker_destroy(linker);
}

static int observed_count;

static void on_graph_observed(void *arg)
{
	(void)arg;
	observed_count++;
}

static void test_graph_observed(void)
{
	const struct wt_linker_output output = {on_kernel, on_launch, on_save,
	                                        on_forget, NULL,      on_graph_observed};
	struct wt_linker *linker = wt_linker_create(&output);

	for (uint64_t seq = 0; seq < 3; seq++) {
		const struct wt_linker_call c = {.seq = seq,
		                                 .entry_ns = 1000 + 1000 * seq,
		                                 .return_ns = 1100 + 1000 * seq,
		                                 .thread32 = 10,
		                                 .flags = seq ? WT_FLAG_UNARMED : 0,
		                                 .is_graph = true};

		wt_linker_call(linker, &c, SECOND);
		link_at(linker, 100 + (uint32_t)seq, 10, 1010 + 1000 * seq);
	}
	for (int i = 0; i < 3; i++)
		kernel(linker, i, 100, true, 1050, 7);
	is_i64(observed_count, 0, "a graph launch that was observed");
	for (int i = 0; i < 3; i++)
		kernel(linker, 3 + i, 101, true, 2050, 7);
	is_i64(observed_count, 1, "one that was not has kernels: said once");
	wt_linker_end(linker, UINT64_MAX, SECOND);
	is_i64(observed_count, 1, "one without kernels: never");
	wt_linker_destroy(linker);
}

int main(void)
{
	test_map();
	test_exact();
	test_missing_call();
	test_runtime();
	test_group();
	test_thread_ids();
	test_late();
	test_classes();
	test_open();
	test_age();
	test_order();
	test_order_with_losses();
	test_order_by_entry();
	test_graph();
	test_graph_observed();
	test_nodes_wait_together();
	test_restart();
	return tap_done();
}

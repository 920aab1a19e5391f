/*
 * ledger_facts.h - what the ledger must know about the time between kernels: when threads waited,
 * allocated or loaded code, when devices copied, which graph launch a node belongs to.
 *
 * Loaded once from a run file, all in memory: 56 bytes for each call, copy or overhead record
 * (10^6 of them: 56 MB); kernels are not among them. Single-threaded; loading blocks on the file.
 */
#ifndef WT_LEDGER_FACTS_H
#define WT_LEDGER_FACTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/interval.h"

/* What happened, and whose intervals they are. */
enum wt_fact_kind {
	WT_FACT_COPY, /* a copy or memset ran; key: device_id, process 0 */
	WT_FACT_LOAD, /* code was loaded or compiled; key 0 */
	WT_FACT_PROFILER, /* CUPTI held a thread up; key: thread32 */
	WT_FACT_SYNC, /* waited for the GPU; key: thread32 */
	WT_FACT_ALLOC, /* allocated, freed, built a graph; key: thread32 */
	WT_FACT_DEPEND, /* event wait or host function was put into a stream; key: wt_fact_stream_key() */
	WT_FACT_LOST_CALL, /* launched what is lost; key: wt_fact_stream_key() */
	WT_FACT_LOST, /* from launches whose kernels are lost to a wait for them; process 0, key 0 */
	WT_FACT_KIND_MAX
};

struct wt_fact_call {
	int64_t entry_ns;
	int64_t return_ns;
	uint64_t stream; /* handle */
	uint32_t thread32;
	int32_t api; /* api.api */
};

struct wt_fact_graph_launch {
	int64_t process_id, seq;
	struct wt_fact_call call;
};

struct wt_facts;

/*
 * What tells a stream in a process: its handle; of the default streams (0 to 2), which exist per
 * context or thread, the thread as well.
 */
static inline uint64_t wt_fact_stream_key(uint64_t handle, uint32_t thread32)
{
	return handle > 2 ? handle : ~((uint64_t)thread32 * 4 + handle);
}

/*
 * clock_error_ns: how far CPU and GPU stamps may be apart. 0 or -errno; -EIO: sqlite3_errmsg(db) says what.
 * *ret_facts is NULL on failure.
 */
int wt_facts_load(sqlite3 *db, int64_t clock_error_ns, struct wt_facts **ret_facts);

/* Rows from these ids on; of captures too, which later calls may be in. */
struct wt_facts_from {
	int64_t call_id, copy_id, overhead_id, capture_id;
};
/*
 * The same of those rows alone, in a run that profiled nothing, and of which nothing is lost but kernels of
 * launches that are open: all of their rows come later.
 */
int wt_facts_load_from(sqlite3 *db, int64_t clock_error_ns, const struct wt_facts_from *from,
                       struct wt_facts **ret_facts);
void wt_facts_free(struct wt_facts *facts); /* NULL is fine */

/* Borrowed, good until the facts are freed. Empty where nothing is known. */
struct wt_intervals wt_facts_find(const struct wt_facts *facts, enum wt_fact_kind kind,
                                  int64_t process_id, uint64_t key);

/* When a process launched its first kernel that could be observed; INT64_MIN: not known. */
int64_t wt_facts_first_launch_ns(const struct wt_facts *facts, int64_t process_id);

/* Did kernels of the process run on more than one device? */
bool wt_facts_has_devices(const struct wt_facts *facts, int64_t process_id);

/* The graph launch `seq` of a process. False: not known. */
bool wt_facts_graph_launch(const struct wt_facts *facts, int64_t process_id, int64_t seq,
                           struct wt_fact_call *ret_call);

/* All sets of a kind. Stops at what is not 0, and returns that. */
int wt_facts_each(const struct wt_facts *facts, enum wt_fact_kind kind,
                  int (*tell)(void *arg, int64_t process_id, uint64_t key,
                              const struct wt_intervals *set),
                  void *arg);

/* All graph launches that were read, by process and seq. */
const struct wt_fact_graph_launch *wt_facts_graph_launches(const struct wt_facts *facts,
                                                           size_t *ret_count);

/* Differs where what is known of the processes as a whole does. */
uint64_t wt_facts_basis(const struct wt_facts *facts);

#endif /* WT_LEDGER_FACTS_H */

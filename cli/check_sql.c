/*
 * check_sql.c - checks of a run file that are one query each. See check.h.
 *
 * Each gives (rows that are wrong, the first of them). Rows of processes that are still recorded
 * are judged only by what holds at any time (doc/run-file.md, "loss").
 */
#include "cli/bounds.h"
#include "cli/check.h"

/* A row whose `column` is in no row of `target`. */
#define REFERENCE(from, id, column, target)                                                        \
	{                                                                                          \
		"references", #from, #column " is in no row of " #target,                          \
		        "SELECT count(*), '" #id " ' || min(" #id ") FROM " #from                  \
		        " WHERE " #column " IS NOT NULL AND " #column " NOT IN (SELECT " #column   \
		        " FROM " #target ")"                                                       \
	}

/* CUPTI's 0 means that it has no time. */
#define REVERSED(from, id)                                                                         \
	{                                                                                          \
		"times", #from, "the end lies before the start",                                   \
		        "SELECT count(*), '" #id " ' || min(" #id ") FROM " #from                  \
		        " WHERE end_ns < start_ns AND end_ns <> 0"                                 \
	}

#define HALF_TIMED(from, id)                                                                       \
	{                                                                                          \
		"times", #from, "one of start and end is unknown, not both",                       \
		        "SELECT count(*), '" #id " ' || min(" #id ") FROM " #from                  \
		        " WHERE (start_ns IS NULL) <> (end_ns IS NULL)"                            \
	}

/* Calls are stamped with CLOCK_REALTIME, which somebody may have set back meanwhile: by more than
 * the pairs of readings are uncertain. */
#define REVERSED_CALL(from, id)                                                                    \
	{                                                                                          \
		"times", #from, "the call returned before it was entered, and no clock was set",   \
		        "SELECT count(*), '" #id " ' || min(" #id ") FROM " #from                  \
		        " WHERE return_ns < entry_ns AND process_id NOT IN (SELECT process_id"     \
		        " FROM clock GROUP BY process_id HAVING " WT_CHECK_CLOCK_SET ")"           \
	}

/* Joined, for SQLite makes an index of it; of pairs IN a subquery it makes none. */
#define GRAPH_LAUNCHES                                                                             \
	"(SELECT DISTINCT process_id AS p, seq AS s FROM api_call WHERE seq IS NOT NULL) g "       \
	"ON g.p = e.process_id AND g.s = e.launch_seq"

/* Rows that ids of dropped ones may stand for; files of before lack the table. */
#define UNLESS_DROPPED(id, which)                                                                  \
	" AND " id " > ifnull((SELECT max(last_id) FROM temp.wt_dropped WHERE " which "), -1)"

const struct wt_check_query wt_check_queries[] = {
        {"facts", "meta", "a run has an id, a key and a time",
         "SELECT 3 - count(*), NULL FROM meta WHERE key IN ('run_id', 'run_key', 'created_ns')"},

        REFERENCE(config, config_id, kernel_id, kernel),
        REFERENCE(config, config_id, device_id, gpu),
        REFERENCE(kernel_exec, exec_id, config_id, config),
        REFERENCE(kernel_exec, exec_id, process_id, proc),
        {"references", "kernel_share", "exec_id is in no row of kernel_exec",
         "SELECT count(*), 'exec_id ' || min(exec_id) FROM share_row s LEFT JOIN kernel_row e "
         "USING "
         "(exec_id) WHERE e.exec_id IS NULL" UNLESS_DROPPED("s.exec_id", "kind = 1")},
        REFERENCE(sweep, device_id, device_id, gpu),
        REFERENCE(launch_call, seq, process_id, proc),
        REFERENCE(launch_call, seq, api, api),
        REFERENCE(api_call, call_id, process_id, proc),
        REFERENCE(api_call, call_id, api, api),
        REFERENCE(copy, copy_id, process_id, proc),
        REFERENCE(copy, copy_id, device_id, gpu),
        REFERENCE(sync, sync_id, process_id, proc),
        REFERENCE(overhead, overhead_id, process_id, proc),
        REFERENCE(clock, clock_id, process_id, proc),
        REFERENCE(context, context_id, process_id, proc),
        REFERENCE(context, context_id, device_id, gpu),
        REFERENCE(process_gpu, ordinal, process_id, proc),
        REFERENCE(process_gpu, ordinal, device_id, gpu),
        REFERENCE(pending_link, seq, process_id, proc),
        REFERENCE(config_stat, config_id, config_id, config),
        REFERENCE(config_stat, config_id, process_id, proc),
        REFERENCE(range_event, range_id, process_id, proc),
        REFERENCE(range_event, range_id, name_id, range_name),
        REFERENCE(range_count, process_id, process_id, proc),
        REFERENCE(sampler, sampler_id, device_id, gpu),
        REFERENCE(sample_chunk, chunk_id, sampler_id, sampler),
        REFERENCE(sm_bucket, start_ns, device_id, gpu),
        REFERENCE(gpu_state, time_ns, device_id, gpu),
        REFERENCE(fold, device_id, device_id, gpu),
        REFERENCE(measured, config_id, config_id, config),
        REFERENCE(measured_profile, config_id, config_id, measured),
        REFERENCE(profile_launch, launch_seq, process_id, proc),
        REFERENCE(profile_count, process_id, process_id, proc),
        REFERENCE(own_cost, process_id, process_id, proc),
        REFERENCE(hook_time, low_ns, process_id, proc),
        REFERENCE(graph_unobserved, process_id, process_id, proc),
        {"references", "kernel_exec", "launch_seq is no launch call and no graph launch",
         "SELECT count(*), 'exec_id ' || min(exec_id) FROM kernel_exec e LEFT JOIN " GRAPH_LAUNCHES
         " LEFT JOIN launch_call l ON l.process_id = e.process_id AND l.seq = e.launch_seq "
         "WHERE launch_seq IS NOT NULL AND g.s IS NULL AND (graph_id IS NOT NULL OR l.seq IS "
         "NULL)"},
        {"references", "kernel_exec", "a link without its launch_seq, or the other way round",
         "SELECT count(*), 'exec_id ' || min(exec_id) FROM kernel_exec "
         "WHERE (link IN (1, 2)) <> (launch_seq IS NOT NULL) OR link NOT BETWEEN 0 AND 4"},

        HALF_TIMED(kernel_exec, exec_id),
        REVERSED(kernel_exec, exec_id),
        HALF_TIMED(copy, copy_id),
        REVERSED(copy, copy_id),
        REVERSED(sync, sync_id),
        REVERSED(overhead, overhead_id),
        {"times", "range_event", "a range ended before it began, and no clock was set",
         "SELECT count(*), 'range_id ' || min(range_id) FROM range_event WHERE end_ns < start_ns "
         "AND process_id NOT IN (SELECT process_id FROM clock GROUP BY process_id "
         "HAVING " WT_CHECK_CLOCK_SET ")"},
        REVERSED_CALL(launch_call, seq),
        REVERSED_CALL(api_call, call_id),
        {"times", "proc", "the last instant lies before the first",
         "SELECT count(*), 'process_id ' || min(process_id) FROM proc WHERE last_ns < first_ns"},
        {"times", "clock", "the monotonic clock went back",
         "SELECT count(*), 'clock_id ' || min(clock_id) FROM (SELECT clock_id, monotonic_ns - "
         "lag(monotonic_ns) OVER (PARTITION BY process_id ORDER BY clock_id) AS step FROM clock) "
         "WHERE step < 0"},
        {"model", "kernel_exec", "idle SM-time outside 0 <= wave <= greatest <= SMs x duration",
         "SELECT count(*), 'exec_id ' || min(exec_id) FROM kernel_exec JOIN config USING "
         "(config_id) WHERE underfill_sm_ns < 0 OR wave_sm_ns < 0 OR wave_sm_ns > wave_max_sm_ns "
         "OR ifnull(underfill_sm_ns, 0) + ifnull(wave_max_sm_ns, 0) "
         "   > (end_ns - start_ns) * sm_count"},

        {"books", "proc", "more launches stored and dropped than attempted",
         "SELECT count(*), 'process_id ' || min(process_id) FROM loss "
         "WHERE launches_torn < 0 AND state <> 'lost'"},
        {"books", "proc", "more launches in the classes of the books than stored",
         "SELECT count(*), 'process_id ' || min(process_id) FROM loss WHERE launches_in_flight < "
         "0"},
        {"books", "proc", "more kernels stored and dropped than CUPTI delivered",
         "SELECT count(*), 'process_id ' || min(process_id) FROM loss "
         "WHERE kernels_torn < 0 AND state = 'finished'"},
        {"books", "proc", "losses that no counter explains",
         "SELECT sum(unexplained), 'process_id ' || min(process_id) FROM loss "
         "WHERE unexplained <> 0 AND state <> 'live'"},
        {"books", "proc", "a counter is negative",
         "SELECT count(*), 'process_id ' || min(process_id) FROM proc WHERE min(calls_pos, "
         "activity_pos, launches_attempted, graph_launches_attempted, launches_dropped, "
         "calls_dropped, kernels_seen, kernels_dropped_ring, links_dropped_ring, "
         "other_dropped_ring, kernels_dropped_cupti, records_unknown, names_dropped, "
         "entries_unknown, cells_torn, cells_bad, cells_gap, launches_stored, launches_failed, "
         "launches_captured, launches_linked, launches_linked_by_order, launches_unobserved, "
         "launches_unlinked, graph_launches_stored, graph_launches_failed, kernels_stored, "
         "kernels_graph, kernels_device, kernels_cupti_only, kernels_no_time) < 0"},
        {"books", "proc", "graph launches counted and stored differ",
         "SELECT count(*), 'process_id ' || min(process_id) FROM proc p LEFT JOIN (SELECT "
         "process_id, count(*) AS stored, total(result <> 0) AS failed FROM api_call WHERE seq IS "
         "NOT NULL GROUP BY process_id) USING (process_id) WHERE (ifnull(stored, 0) <> "
         "graph_launches_stored OR ifnull(failed, 0) <> graph_launches_failed) AND (ifnull(stored, "
         "0) > graph_launches_stored OR ifnull(failed, 0) > graph_launches_failed OR NOT EXISTS "
         "(SELECT 1 FROM temp.wt_dropped d WHERE d.process_id = p.process_id AND d.kind = 3))"},
        {"books", "dropped", "a note of dropped rows that can't be",
         "SELECT count(*), 'process_id ' || min(process_id) FROM temp.wt_dropped d WHERE kind NOT "
         "BETWEEN 1 AND 4 OR row_count <= 0 OR bytes < 0 OR last_id < 0 OR last_ns < first_ns OR "
         "(first_ns IS NULL) <> (last_ns IS NULL) OR (process_id <> 0 AND process_id NOT IN "
         "(SELECT process_id FROM proc))"},
        {"books", "range_count", "ranges counted and stored differ",
         "SELECT count(*), 'process_id ' || min(process_id) FROM proc LEFT JOIN (SELECT "
         "process_id, "
         "count(*) AS stored FROM range_event GROUP BY 1) USING (process_id) LEFT JOIN range_count "
         "USING (process_id) WHERE ifnull(stored, 0) <> ifnull(recorded, 0)"},
        {"books", "range_count", "more ranges recorded and lost than begun",
         "SELECT count(*), 'process_id ' || min(process_id) FROM range_count JOIN proc USING "
         "(process_id) WHERE begun < recorded + dropped + early + untracked AND state <> 'lost'"},
        {"books", "pending_link", "links are still awaited by a process that has ended",
         "SELECT count(*), 'process_id ' || min(process_id) FROM pending_link JOIN proc USING "
         "(process_id) WHERE state <> 'live'"},

        {"books", "sampler",
         "samples counted as stored differ from those that are there or were "
         "removed",
         "SELECT (SELECT sum(samples_stored) FROM sampler) <> (SELECT ifnull(sum(samples), 0) FROM "
         "sample_chunk) + ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = "
         "'samples_removed'), 0), NULL"},
        {"books", "sampler",
         "more or fewer samples taken than stored and dropped, without a reason",
         "SELECT count(*), 'sampler_id ' || min(sampler_id) FROM sampler WHERE state = 2 AND "
         "reason IS NULL AND samples_taken <> samples_stored + samples_dropped"},
        {"books", "profile_count", "profiled launches counted and stored differ",
         "SELECT count(*), 'process_id ' || min(process_id) FROM proc LEFT JOIN (SELECT "
         "process_id, count(*) AS n FROM profile_launch GROUP BY 1) USING (process_id) LEFT JOIN "
         "profile_count USING (process_id) WHERE ifnull(n, 0) <> ifnull(stored, 0)"},
        {"measured", "own_cost", "a number that can't be: negative, or beyond its process",
         "SELECT count(*), 'process_id ' || min(process_id) FROM own_cost c JOIN proc p USING "
         "(process_id) WHERE " WT_BOUND_NO_OWN_COST},
        {"measured", "hook_time", "times or a number of launches that can't be",
         "SELECT count(*), 'process_id ' || min(process_id) FROM hook_time h "
         "WHERE " WT_BOUND_NO_HOOK_TIME},
        {"books", "graph_unobserved", "more graph launches than there were",
         "SELECT count(*), 'process_id ' || min(process_id) FROM graph_unobserved JOIN proc USING "
         "(process_id) WHERE launches NOT BETWEEN 0 AND graph_launches_stored - "
         "graph_launches_failed"},
        {"books", "hook_time", "of a process without own cost",
         "SELECT count(DISTINCT process_id), 'process_id ' || min(process_id) FROM hook_time "
         "WHERE process_id NOT IN (SELECT process_id FROM own_cost)"},
        {"books", "own_cost", "timed launches and their histogram differ",
         "SELECT count(*), 'process_id ' || min(process_id) FROM own_cost LEFT JOIN (SELECT "
         "process_id, sum(launches) AS n FROM hook_time GROUP BY 1) USING (process_id) WHERE "
         "ifnull(n, 0) <> launches_timed"},
        {"measured", "measured",
         "what SMs did does not sum to the SMs of the device, or is negative",
         "SELECT count(*), 'config_id ' || min(config_id) FROM measured JOIN config USING "
         "(config_id) JOIN gpu g USING (device_id) WHERE reason IS NULL AND (abs(active_sms + "
         "underfill_sms + wave_sms + straggle_sms + ramp_sms - g.sm_count) > 1e-6 * g.sm_count OR "
         "min(active_sms, underfill_sms, wave_sms, straggle_sms, ramp_sms) < 0)"},
        {"measured", "measured", "neither a value nor a reason, or both",
         "SELECT count(*), 'config_id ' || min(config_id) FROM measured WHERE (reason IS NULL) <> "
         "(active_sms IS NOT NULL) OR (is_used AND reason IS NOT NULL)"},
        {"measured", "measured", "two evidences stand before the model at once",
         "SELECT count(*), 'config_id ' || min(config_id) FROM (SELECT config_id FROM measured "
         "WHERE is_used GROUP BY 1 HAVING count(*) > 1)"},
        {"order", "launch_call", "seq is not below the number of launches attempted",
         "SELECT count(*), 'seq ' || min(seq) FROM launch_call l JOIN proc USING (process_id) "
         "WHERE seq < 0 OR (seq >= launches_attempted AND state <> 'lost')"},
        {"order", "api_call", "a graph launch has the number of another, or one too high",
         "SELECT count(*), 'call_id ' || min(call_id) FROM api_call a JOIN proc USING (process_id) "
         "WHERE seq IS NOT NULL AND (seq < 0 OR (seq >= graph_launches_attempted AND state <> "
         "'lost') OR EXISTS (SELECT 1 FROM (SELECT process_id, seq FROM api_call WHERE seq IS NOT "
         "NULL GROUP BY 1, 2 HAVING count(*) > 1) d WHERE d.process_id = a.process_id AND d.seq = "
         "a.seq))"},
        /* Kernels of graph launches without a graph id are not told apart from those of launch
         * calls with the same number: these numbers are left out. */
        {"order", "kernel_exec", "a launch has two kernels",
         "SELECT count(*), 'exec_id ' || min(first) FROM (SELECT min(exec_id) AS first FROM "
         "kernel_exec e LEFT JOIN " GRAPH_LAUNCHES " WHERE launch_seq IS NOT NULL AND graph_id IS "
         "NULL AND g.s IS NULL GROUP BY e.process_id, launch_seq HAVING count(*) > 1)"},
};
const int wt_check_query_count = sizeof(wt_check_queries) / sizeof(wt_check_queries[0]);

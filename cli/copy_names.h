/*
 * copy_names.h - the words for what was copied and between which kinds of memory. Static text; any
 * thread.
 */
#ifndef WT_CLI_COPY_NAMES_H
#define WT_CLI_COPY_NAMES_H

/* Of CUpti_ActivityMemcpyKind: "HtoD"; 0: "memset". */
const char *wt_copy_direction_name(int kind);

/* Of CUpti_ActivityMemoryKind: "pageable". */
const char *wt_copy_memory_name(int kind);

/* Condition on a row of `copy`: one of its ends is pageable memory. */
#define WT_COPY_IS_PAGEABLE "is_memset = 0 AND (src_kind = 1 OR dst_kind = 1)"

#endif /* WT_CLI_COPY_NAMES_H */

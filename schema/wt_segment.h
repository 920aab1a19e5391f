/*
 * wt_segment.h - the shared-memory file through which one process is observed.
 *
 * One file per observed process in /dev/shm, made by libwavetap.so, drained and
 * finally unlinked by wavetapd. All offsets count from the start of the file; there
 * are no pointers. Groups are aligned to 64 KiB, so that they can be mapped with
 * different protections on machines with large pages, and every group has one writer:
 *
 *   offset       group                  writer      mapped by the daemon
 *   0            struct wt_segment_header  producer, once    read-only
 *   64 KiB       struct wt_producer        producer          read-only
 *   128 KiB      struct wt_consumer        consumer          read-write
 *   cells_offset[0]   ring 0, calls        producer          read-only
 *   cells_offset[1]   ring 1, activity     producer          read-only
 *   arena_offset      kernel names         producer          read-only
 *
 * The file is made with O_CREAT|O_EXCL|O_NOFOLLOW, mode 0600, and its memory is
 * reserved with posix_fallocate before it is mapped: a full /dev/shm is an error at
 * the start instead of a SIGBUS later. `magic` is stored last, with release.
 *
 * NAME: wavetap-<uid>-<dirhash>-<pidns>-<pid>-<start>-<random>.seg, see wt_paths.h.
 *
 * The reader trusts nothing: it copies the header, checks magic, ABI, owner, file
 * size and every offset and length against that size, and then uses only the copy.
 *
 * NAME ARENA: append-only. An entry is `struct wt_name_entry` followed by the bytes
 * and padding to 8; its id is (offset in the arena) / 8, and id 0 means "no name".
 * The first entry begins at offset 8. Names never travel through the ring: a dropped
 * definition would blind every later record. An id is used in a record only after its
 * entry was written; the record's commit (release) publishes both.
 */
#ifndef WT_SEGMENT_H
#define WT_SEGMENT_H

#include "schema/wt_cost.h"
#include "schema/wt_device.h"
#include "schema/wt_record.h"

#define WT_SEGMENT_MAGIC UINT64_C(0x0031504154455657) /* "WVETAP1" */
#define WT_SEGMENT_ABI 3u
#define WT_GROUP_BYTES (64u * 1024u)
#define WT_SEGMENT_BYTES_DEFAULT (14u * 1024u * 1024u)
#define WT_SEGMENT_BYTES_MIN (1024u * 1024u)
#define WT_SEGMENT_FREE_SHARE 16u /* take at most this part of what is free in shared memory */
#define WT_SEGMENT_BYTES_MAX (1024u * 1024u * 1024u)
#define WT_DEVICES_MAX 64
#define WT_NAME_BYTES_MAX 65536u /* longer kernel names are cut, with a hash at the end */

#define WT_RUN_KEY_BYTES 256
#define WT_TEXT_BYTES 1024
#define WT_KEEP_ROWS_BYTES 64

/* A process above the observed one, in the pid namespace of that one. */
struct wt_ancestor {
	uint64_t start_ticks; /* field 22 of /proc/PID/stat */
	int32_t pid;
	uint32_t reserved;
};
#define WT_ANCESTORS_MAX 32

/* Group 0. Written once before `magic`; never changes. */
struct wt_segment_header {
	_Atomic uint64_t magic; /* stored last (release), read first (acquire) */
	uint32_t abi; /* WT_SEGMENT_ABI; the reader leaves unknown ones alone and says so */
	uint32_t header_bytes; /* sizeof(struct wt_segment_header) of the writer */
	uint64_t file_bytes;
	uint8_t uuid[16]; /* random; the identity of this process in run files */
	uint64_t cells_offset[WT_RING_MAX];
	uint64_t cell_count[WT_RING_MAX]; /* powers of two */
	uint64_t arena_offset;
	uint64_t arena_bytes;

	uint64_t pid_namespace; /* inode of /proc/self/ns/pid; 0 = unknown */
	uint64_t start_ticks; /* field 22 of /proc/self/stat */
	uint64_t created_realtime_ns;
	uint64_t created_monotonic_ns;
	int32_t pid; /* in its own pid namespace */
	int32_t ppid;
	uint32_t uid;
	int32_t rank; /* RANK / SLURM_PROCID / OMPI_COMM_WORLD_RANK ...; -1 = none */
	int32_t local_rank; /* -1 = none */
	int32_t world_size; /* -1 = none */
	char boot_id[40];
	char hostname[72];
	char library_version[24];
	char run_key
	        [WT_RUN_KEY_BYTES]; /* WAVETAP_RUN, torchrun, Slurm, MPI; "" = the daemon looks for the
	                                 * topmost ancestor that preloads us */
	char run_name[WT_RUN_KEY_BYTES]; /* WAVETAP_NAME */
	char run_tags[WT_TEXT_BYTES]; /* WAVETAP_TAGS: K=V,K=V */
	char executable[WT_TEXT_BYTES]; /* /proc/self/exe */
	char command[WT_TEXT_BYTES]; /* /proc/self/cmdline, NULs as spaces, cut */
	char data_dir[WT_TEXT_BYTES]; /* the directory the name's hash stands for */
	/* From the parent up: some may be gone when the daemon looks, but not those above them. */
	uint32_t ancestor_count;
	uint32_t is_rank; /* 1: started as a rank by Hydra or MVAPICH, which tell no job id */
	struct wt_ancestor ancestor[WT_ANCESTORS_MAX];
	char record_dir[WT_TEXT_BYTES]; /* WAVETAP_RECORD, absolute; "" = no recording; "?" = it had
	                                 * no room */
	uint32_t producer; /* enum wt_producer_type */
	uint32_t profile_launches; /* WAVETAP_PROFILE: launches of each configuration; 0 = none */
	uint64_t
	        sample_interval_ns; /* application: what WAVETAP_SAMPLE asks for, or WT_SAMPLE_AUTO;
	                              * 0 = nothing. Sampler: the interval that it began with */
	char keep_rows
	        [WT_KEEP_ROWS_BYTES]; /* WAVETAP_KEEP_ROWS; "" = not set, as in headers that end
	                                     * before it; "?" = it had no room */
};

/* Who writes a segment. */
enum wt_producer_type {
	WT_PRODUCER_APPLICATION = 0,
	WT_PRODUCER_SAMPLER = 1, /* wavetap-sampler: ring 1 alone, `device` has its one device */
};

#define WT_SAMPLE_AUTO UINT64_C(1) /* where permitted and free, at an interval of its own */
#define WT_SAMPLE_INTERVAL_NS_MIN UINT64_C(5000)
#define WT_SAMPLE_INTERVAL_NS_MAX UINT64_C(100000000)
_Static_assert(offsetof(struct wt_segment_header, cells_offset) == 40, "segment header");
_Static_assert(sizeof(struct wt_segment_header) <= WT_GROUP_BYTES, "segment header");

/* How much of a process is recorded. Stored in run files: never renumber. */
enum wt_capture {
	WT_CAPTURE_NONE = 0, /* segment exists, nothing armed yet */
	WT_CAPTURE_HOOKS_ONLY = 1, /* launches without kernel times; `reason` says why */
	WT_CAPTURE_FULL = 2, /* hooks and CUPTI */
	WT_CAPTURE_OFF = 3, /* given up; `reason` says why */
	WT_CAPTURE_KERNELS_ONLY =
	        4, /* CUPTI without hooks: loaded by CUDA_INJECTION64_PATH alone */
};

/* Why it is not FULL. Stored in run files: never renumber; texts in wt_reason_text(). */
enum wt_reason {
	WT_REASON_NONE = 0,
	WT_REASON_CUPTI_NOT_FOUND = 1,
	WT_REASON_CUPTI_TOO_OLD = 2,
	WT_REASON_CUPTI_NEWER_THAN_DRIVER = 3,
	WT_REASON_CUPTI_IN_USE = 4, /* another tool has CUPTI's callbacks */
	WT_REASON_CUPTI_PERMISSION = 5,
	WT_REASON_CUPTI_REFUSED = 6, /* `detail` is CUPTI's result code */
	WT_REASON_CUPTI_VIRTUALIZED = 7,
	WT_REASON_DISABLED_BY_USER = 8, /* WAVETAP_CUPTI=0 */
	WT_REASON_ARMED_LATE = 9, /* loaded after the first context */
	WT_REASON_OTHER_LIBCUPTI =
	        10, /* the application profiles through a libcupti that we did not arm */
	WT_REASON_SHM_FULL = 11,
	WT_REASON_SHM_UNUSABLE = 12,
	WT_REASON_FORKED = 13,
	WT_REASON_DUPLICATE = 14, /* a second copy of libwavetap.so in the process */
	WT_REASON_INJECTED = 15, /* loaded by the driver: nobody calls our hooks */
	WT_REASON_BUDGET = 16, /* our own cost exceeded it; `detail` is the cost, in millionths */
	WT_REASON_MAX
};

/* What became of sampling. Stored in run files: never renumber; texts in wt_sampler_text(). */
enum wt_sampler_state {
	WT_SAMPLER_STARTING = 0,
	WT_SAMPLER_SAMPLING = 1,
	WT_SAMPLER_ENDED = 2, /* in good order */
	WT_SAMPLER_NO_CUPTI = 3,
	WT_SAMPLER_NO_PERMISSION =
	        4, /* counters are for administrators alone: RmProfilingAdminOnly */
	WT_SAMPLER_BUSY = 5, /* somebody else has the counters */
	WT_SAMPLER_UNSUPPORTED = 6, /* this device, driver or CUPTI has no PM sampling */
	WT_SAMPLER_TIMEOUT = 7, /* setting up hung: given up */
	WT_SAMPLER_OVERFLOW = 8, /* could not keep up, three times: given up */
	WT_SAMPLER_FAILED = 9, /* `sampler_detail` is CUPTI's code */
	WT_SAMPLER_NO_DRIVER = 10,
	WT_SAMPLER_NO_DEVICE = 11,
	WT_SAMPLER_MAX
};

/* What became of WAVETAP_PROFILE. Stored in run files: never renumber. */
enum wt_profile_state {
	WT_PROFILE_OFF = 0, /* not asked for */
	WT_PROFILE_WAITING = 1, /* for the steady state */
	WT_PROFILE_ON = 2,
	WT_PROFILE_DONE = 3, /* all that came lately have theirs; goes on if others come */
	WT_PROFILE_NO_PERMISSION = 4,
	WT_PROFILE_BUSY = 5,
	WT_PROFILE_UNSUPPORTED = 6,
	WT_PROFILE_FAILED =
	        7, /* `profile_detail` is CUPTI's code, or the driver's (700 and the like)
	                        * where the application's own work had failed */
	WT_PROFILE_WORLD = 8, /* refused: several ranks */
	WT_PROFILE_COLLECTIVE = 9, /* refused or stopped: a collective kernel was seen */
	WT_PROFILE_COOPERATIVE = 10,
	WT_PROFILE_CONCURRENT = 11, /* kernels ran beside each other, or may have */
	WT_PROFILE_HOST_FUNCTION = 12, /* waiting for one inside a launch could hang */
	WT_PROFILE_MAX
};

/* Group 1. Producer side; 128-byte lines keep writers apart. */
struct wt_producer {
	struct wt_ring_control ring[WT_RING_MAX];

	/* Launch path counters. */
	_Alignas(128) _Atomic uint64_t launch_attempted; /* next wt_launch.seq */
	_Alignas(128) _Atomic uint64_t
	        graph_launch_attempted; /* next wt_call.seq of graph launches */

	/* Written only when a record of ring 0 is refused: which kind it was. */
	_Alignas(128) _Atomic uint64_t launch_dropped;
	_Atomic uint64_t call_dropped;
	/* The same for ring 1: kernel records, links, everything else. */
	_Atomic uint64_t kernels_dropped_ring;
	_Atomic uint64_t links_dropped_ring;
	_Atomic uint64_t other_dropped_ring;

	/* Everything below is written off the launch path. */
	_Alignas(128) _Atomic uint64_t capture; /* enum wt_capture */
	_Atomic uint64_t reason; /* enum wt_reason */
	_Atomic uint64_t detail; /* code that goes with the reason */
	_Atomic uint64_t armed_ns; /* when CUPTI was armed; 0 = never */
	_Atomic uint64_t finished_ns; /* start of the last forced flush, once made; 0 = not */
	_Atomic uint64_t cupti_version; /* cuptiGetVersion */
	_Atomic uint64_t driver_version; /* cuDriverGetVersion */
	_Atomic uint64_t kernels_seen; /* kernel records CUPTI delivered */
	_Atomic uint64_t kernels_dropped_cupti; /* cuptiActivityGetNumDroppedRecords, summed */
	_Atomic uint64_t records_unknown; /* records of kinds or versions not understood */
	_Atomic uint64_t names_dropped; /* kernel names that found no room */
	_Atomic uint64_t links_seen; /* driver or runtime records of launch calls delivered */
	_Atomic uint64_t entries_unknown; /* lookups of a hooked name that gave another entry */
	_Atomic uint64_t flush_count;
	_Atomic uint64_t flush_last_ns;
	_Atomic uint64_t flush_cpu_ns; /* CPU time of our thread */
	_Atomic uint64_t cupti_callback_ns; /* time spent in the buffer callbacks, both */
	_Atomic uint64_t buffers_lent; /* CUPTI buffers in use now */
	_Atomic uint64_t
	        app_profiler_sessions; /* times the application's own profiler was served */
	_Atomic uint64_t app_records_forwarded;
	_Atomic uint64_t arena_used_bytes; /* includes the 8 unused bytes at the start */
	_Atomic uint64_t device_count; /* entries of `device` that are whole (release) */
	char cupti_path[WT_TEXT_BYTES]; /* written before armed_ns */

	/* Named ranges: begun = recorded + dropped + early + untracked + still open. */
	_Alignas(128) _Atomic uint64_t ranges_begun;
	_Atomic uint64_t ranges_dropped; /* the ring had no room, or had to be left to launches */
	_Atomic uint64_t ranges_early; /* ended before the first launch: nothing can be in them */
	_Atomic uint64_t ranges_untracked; /* too deep, or too many open at once */
	_Atomic uint64_t ranges_unbalanced; /* ends without a beginning; not in the sum */

	/* Of a sampler: taken = in the ring + dropped. */
	_Alignas(128) _Atomic uint64_t samples_taken;
	_Atomic uint64_t samples_dropped; /* the ring had no room */
	_Atomic uint64_t sample_overflows; /* times the hardware's buffer ran over: holes */
	_Atomic uint64_t sample_interval_ns; /* now; 0 = not sampling */
	_Atomic uint64_t sampler_state; /* enum wt_sampler_state */
	_Atomic uint64_t sampler_detail; /* CUPTI's or the driver's code that goes with it */
	_Atomic uint64_t sampler_cpu_ns; /* of the whole process */

	/* WAVETAP_PROFILE: profiled = in the ring + dropped. */
	_Alignas(128) _Atomic uint64_t profiled_launches;
	_Atomic uint64_t profile_dropped;
	_Atomic uint64_t profile_cost_ns; /* that the application waited */
	_Atomic uint64_t profile_state; /* enum wt_profile_state */
	_Atomic uint64_t profile_detail;

	/* What we cost: see wt_cost.h. Written by one hooked call in WT_COST_PERIOD. */
	_Alignas(128) _Atomic uint64_t hook_launch_ns; /* of timed launches, but long ones */
	_Atomic uint64_t hook_calls_timed; /* other hooked calls, but long ones */
	_Atomic uint64_t hook_calls_ns;
	_Atomic uint64_t hook_long_ns; /* of all timed ones over WT_COST_LONG_NS */
	_Atomic uint64_t launching_threads; /* threads with a timed launch */
	_Atomic uint64_t launching_thread_ns; /* from the first to the last of each, summed */
	_Atomic uint64_t hook_time[WT_COST_BUCKETS]; /* launches timed, by their hook's time */

	/* Not on the launch path, or once in a buffer of 1 MiB. */
	_Alignas(128) _Atomic uint64_t hook_start_ns; /* that the first launch waited for us */
	_Atomic uint64_t cupti_callbacks; /* buffers asked for and handed over */
	_Atomic uint64_t cupti_bytes; /* of records that CUPTI handed over */
	_Atomic uint64_t app_callback_ns; /* of the application's own profiler, from within ours;
	                                   * not part of cupti_callback_ns */
	_Atomic uint64_t budget_ppm; /* WAVETAP_BUDGET, in millionths of wall time; 0 = none */
	_Atomic uint64_t budget_state; /* enum wt_budget_state */
	_Atomic uint64_t budget_stepped_ns; /* when kernel records were given up; 0 = not */
	_Atomic uint64_t budget_cost_ppm; /* what was measured then */

	_Alignas(4096) struct wt_device device[WT_DEVICES_MAX];
};
_Static_assert(sizeof(struct wt_producer) <= WT_GROUP_BYTES, "producer group");
_Static_assert(offsetof(struct wt_producer, launch_attempted) == 512, "producer group");

/* Group 2. Consumer side. */
struct wt_consumer {
	_Alignas(128) _Atomic uint64_t head[WT_RING_MAX]; /* everything before is durable */
	_Alignas(128) _Atomic uint64_t daemon_pid;
	_Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC of the last drain, where the daemon is */
	_Atomic uint64_t finished_ns; /* the producer's, once it is durable; 0 = not */
	/* The run, where the header does not name it: settled by the first daemon for all that come
	 * after it. They may see other processes, or be in another pid namespace. */
	_Alignas(128) _Atomic uint64_t run_key_hash; /* FNV-1a, stored after it; 0 = none */
	char run_key[WT_RUN_KEY_BYTES];
};
_Static_assert(sizeof(struct wt_consumer) <= WT_GROUP_BYTES, "consumer group");

#define WT_HEADER_OFFSET 0u
#define WT_PRODUCER_OFFSET WT_GROUP_BYTES
#define WT_CONSUMER_OFFSET (2u * WT_GROUP_BYTES)
#define WT_CELLS_OFFSET (3u * WT_GROUP_BYTES)

struct wt_name_entry {
	uint32_t length; /* bytes that follow, without a NUL */
	uint32_t hash; /* FNV-1a of them: a check, not a key */
};

/* One line for people, or NULL for an unknown number. */
static inline const char *wt_reason_text(unsigned reason)
{
	static const char *const text[WT_REASON_MAX] = {
	        [WT_REASON_NONE] = "none",
	        [WT_REASON_CUPTI_NOT_FOUND] =
	                "libcupti was not found (set WAVETAP_CUPTI to its path)",
	        [WT_REASON_CUPTI_TOO_OLD] = "libcupti is older than CUDA 11.8",
	        [WT_REASON_CUPTI_NEWER_THAN_DRIVER] = "libcupti is newer than the driver",
	        [WT_REASON_CUPTI_IN_USE] = "another profiler holds CUPTI in this process",
	        [WT_REASON_CUPTI_PERMISSION] = "CUPTI refused for lack of permission",
	        [WT_REASON_CUPTI_REFUSED] = "CUPTI refused to start",
	        [WT_REASON_CUPTI_VIRTUALIZED] = "CUPTI does not trace on this virtual GPU",
	        [WT_REASON_DISABLED_BY_USER] = "CUPTI was switched off by WAVETAP_CUPTI=0",
	        [WT_REASON_ARMED_LATE] = "wavetap was loaded after the first CUDA context",
	        [WT_REASON_OTHER_LIBCUPTI] = "the application profiles through another libcupti",
	        [WT_REASON_SHM_FULL] = "/dev/shm has too little room",
	        [WT_REASON_SHM_UNUSABLE] = "/dev/shm can't be used",
	        [WT_REASON_FORKED] = "forked from a process that had used CUDA",
	        [WT_REASON_DUPLICATE] = "another copy of libwavetap.so is loaded",
	        [WT_REASON_INJECTED] = ("loaded through CUDA_INJECTION64_PATH without LD_PRELOAD: "
	                                "launch calls are not seen"),
	        [WT_REASON_BUDGET] = ("wavetap's own cost exceeded WAVETAP_BUDGET: kernels were "
	                              "recorded until then"),
	};

	return reason < WT_REASON_MAX ? text[reason] : NULL;
}

/* The same for samplers: what became of it, and what to do. */
static inline const char *wt_sampler_text(unsigned state)
{
	static const char *const text[WT_SAMPLER_MAX] = {
	        [WT_SAMPLER_STARTING] = "setting up",
	        [WT_SAMPLER_SAMPLING] = "sampling",
	        [WT_SAMPLER_ENDED] = "ended in good order",
	        [WT_SAMPLER_NO_CUPTI] =
	                ("no libcupti with PM sampling was found, or no libnvperf_host with it "
	                 "(CUDA 12.6 or newer; set WAVETAP_CUPTI to its path)"),
	        [WT_SAMPLER_NO_PERMISSION] =
	                ("counters are for administrators alone here (run as root or with "
	                 "CAP_SYS_ADMIN, or load the nvidia module with "
	                 "NVreg_RestrictProfilingToAdminUsers=0)"),
	        [WT_SAMPLER_BUSY] = "somebody else has the device's counters",
	        [WT_SAMPLER_UNSUPPORTED] = "this device, driver or libcupti has no PM sampling",
	        [WT_SAMPLER_TIMEOUT] = "the driver did not answer in time: given up",
	        [WT_SAMPLER_OVERFLOW] =
	                "the hardware's buffer ran over three times in a row: given up",
	        [WT_SAMPLER_FAILED] = "CUPTI failed",
	        [WT_SAMPLER_NO_DRIVER] = "there is no NVIDIA driver",
	        [WT_SAMPLER_NO_DEVICE] = "there is no such device",
	};

	return state < WT_SAMPLER_MAX ? text[state] : NULL;
}

/* And for profiling. */
static inline const char *wt_profile_text(unsigned state)
{
	static const char *const text[WT_PROFILE_MAX] = {
	        [WT_PROFILE_OFF] = "not asked for",
	        [WT_PROFILE_WAITING] =
	                ("the steady state has not come: a second of launches, then 50 "
	                 "of a configuration, or two seconds without a new one"),
	        [WT_PROFILE_ON] = "profiling",
	        [WT_PROFILE_DONE] = "all configurations that came lately have theirs",
	        [WT_PROFILE_NO_PERMISSION] =
	                "counters are for administrators alone here (run as root or with "
	                "CAP_SYS_ADMIN, or load the nvidia module with "
	                "NVreg_RestrictProfilingToAdminUsers=0)",
	        [WT_PROFILE_BUSY] = "somebody else has the device's counters",
	        [WT_PROFILE_UNSUPPORTED] =
	                "this device, driver or libcupti has no range profiler, or CUPTI "
	                "is not recording",
	        [WT_PROFILE_FAILED] = "CUPTI failed, or the program's own work on the device",
	        [WT_PROFILE_WORLD] = "refused: one of several ranks, which wait for each other",
	        [WT_PROFILE_COLLECTIVE] = "ended: a collective ran, and waits for other processes",
	        [WT_PROFILE_COOPERATIVE] = "ended: a cooperative kernel was launched",
	        [WT_PROFILE_CONCURRENT] =
	                "ended: kernels ran beside each other, or were launched into two streams "
	                "without an order that could be seen",
	        [WT_PROFILE_HOST_FUNCTION] =
	                "ended: a host function was launched; waiting for it could hang",
	};

	return state < WT_PROFILE_MAX ? text[state] : NULL;
}

#endif /* WT_SEGMENT_H */

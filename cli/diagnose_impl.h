/*
 * diagnose_impl.h - what the families of findings share: one diagnosis being made.
 */
#ifndef WT_CLI_DIAGNOSE_IMPL_H
#define WT_CLI_DIAGNOSE_IMPL_H

#include "cli/copy_names.h"
#include "cli/diagnose.h"
#include "cli/measured.h"
#include "cli/text.h"

/* A chain: so many kernels in a row, none of which takes as long as this. */
#define WT_DIAGNOSE_CHAIN_MIN 20
#define WT_DIAGNOSE_SMALL_KERNEL_NS 10000
/* Between two graph launches; more kernels than these are no break but a part of the program. */
#define WT_DIAGNOSE_EAGER_MAX 16
/* A thread that waits after a share of its launches, and at least so often, does so by habit. */
#define WT_DIAGNOSE_WAITS_PERCENT 20
#define WT_DIAGNOSE_WAITS_MIN 20
/* A shorter gap at the start of a step is launching like any other. */
#define WT_DIAGNOSE_DATA_GAP_NS 100000
/* Looking a kernel up takes a microsecond, and some libraries do for each launch; loading code more. */
#define WT_DIAGNOSE_LOAD_NS 50000

/* Idle lines of a kernel that a bound says something about. */
enum wt_bound_line {
	WT_BOUND_UNDERFILL,
	WT_BOUND_WAVE,
	WT_BOUND_WAVE_MAX,
	WT_BOUND_STRAGGLE,
	WT_BOUND_LINES
};

/* What was measured of a kernel: shares, 0 where nothing was. */
struct wt_kernel_measured {
	double memory[WT_BOUND_LINES]; /* of the line: of configurations that wait for memory */
	double measured; /* of SMs x its time */
};

struct wt_diagnosing {
	sqlite3 *db;
	const struct wt_ledger *ledger;
	const struct wt_gaps *gaps;
	const struct wt_diagnose_limits *limits;
	char **names; /* short, of ledger->kernels */
	struct wt_kernel_measured *measured; /* of each kernel */
	double *busy_sm_ns; /* of each kernel: SMs with its blocks, not yet given to a finding */
	struct wt_diagnosis *diagnosis;
	double least_sm_ns; /* what a finding must be worth */
};

/* Appends, as much as there is room for. */
void wt_finding_say(char *text, size_t text_bytes, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
#define WT_TITLE(finding, ...)                                                                     \
	wt_finding_say((finding)->title, sizeof((finding)->title), __VA_ARGS__)
#define WT_EVIDENCE(finding, ...)                                                                  \
	wt_finding_say((finding)->evidence, sizeof((finding)->evidence), __VA_ARGS__)

/* "once", "12 times"; returns text. */
char *wt_finding_times(char text[WT_TEXT_NUMBER_BYTES], int64_t count);

/* NULL: not worth it, or no room. */
struct wt_finding *wt_finding_add(struct wt_diagnosing *work, const char *kind, double least,
                                  double most);
struct wt_finding *wt_finding_add_family(struct wt_diagnosing *work, const char *kind,
                                         enum wt_family family);

/* A kernel's index in the ledger, or SIZE_MAX; its short name, or "a kernel". */
size_t wt_diagnose_kernel_at(const struct wt_diagnosing *work, int64_t kernel_id);
const char *wt_diagnose_kernel_name(const struct wt_diagnosing *work, int64_t kernel_id);

/* Why a kernel's geometry says nothing of what it wastes; NULL: it does. `name` is mangled. */
const char *wt_diagnose_peace(const char *name);
void wt_diagnose_leave(struct wt_diagnosing *work, int64_t kernel_id, double kernel_sm_ns,
                       const char *reason);

/* The families, each in a file of its name. 0 or -errno. */
int wt_diagnose_kernels(struct wt_diagnosing *work); /* grids and waves */
int wt_diagnose_idle(struct wt_diagnosing *work); /* gaps */
int wt_diagnose_copies(struct wt_diagnosing *work);
int wt_diagnose_comm(struct wt_diagnosing *work); /* collectives, ranks that wait */
int wt_diagnose_active(struct wt_diagnosing *work); /* variance, slow ranks, occupancy */
void wt_diagnose_unequal(struct wt_diagnosing *work); /* diagnose_measured.c, like the next ones */
int wt_diagnose_states(struct wt_diagnosing *work); /* throttled clocks, other processes */

/* Fills `measured`. 0 or -errno. */
int wt_diagnose_load_measured(struct wt_diagnosing *work);
/* For most of the kernel's time: then it is judged even if its geometry says nothing. */
bool wt_diagnose_is_measured(const struct wt_diagnosing *work, size_t at);

/* What a line of a kernel's share rests on: "model", "sampled", "profiled", "mixed". */
#define WT_KERNEL_GRADE(kernel, line)                                                              \
	wt_measured_word(                                                                          \
	        (kernel)->share.line,                                                              \
	        (const int64_t[WT_EVIDENCE_MAX]){                                                  \
	                [WT_EVIDENCE_SAMPLED] = (kernel)->measured[WT_EVIDENCE_SAMPLED].line,      \
	                [WT_EVIDENCE_PROFILED] = (kernel)->measured[WT_EVIDENCE_PROFILED].line})

#endif /* WT_CLI_DIAGNOSE_IMPL_H */

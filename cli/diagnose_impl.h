/*
 * diagnose_impl.h - what the families of findings share: one diagnosis being made.
 */
#ifndef WT_CLI_DIAGNOSE_IMPL_H
#define WT_CLI_DIAGNOSE_IMPL_H

#include "cli/copy_names.h"
#include "cli/diagnose.h"
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

struct wt_diagnosing {
	sqlite3 *db;
	const struct wt_ledger *ledger;
	const struct wt_gaps *gaps;
	const struct wt_diagnose_limits *limits;
	char **names; /* short, of ledger->kernels */
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

#endif /* WT_CLI_DIAGNOSE_IMPL_H */

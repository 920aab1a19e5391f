/*
 * cupti_prof.h - the inside of the simulated counter interfaces: metrics by
 * name, images, and what a client may not do.
 *
 * Everything is under `prof_lock`, which is taken before the driver's lock and
 * before cupti_lock, never with one of them held.
 */
#ifndef FAKE_CUPTI_PROF_H
#define FAKE_CUPTI_PROF_H

#include "libintercept/cupti_profiler_abi.h"
#include "tests/fake/cupti_int.h"

extern pthread_mutex_t prof_lock;

/* ---- metrics (cupti_host.c) ---------------------------------------------------- */

/* What a sample or a range has counted. */
enum prof_counter {
	PROF_CYCLES_ACTIVE,
	PROF_CYCLES_ELAPSED,
	PROF_WARPS_ACTIVE,
	PROF_TENSOR_ACTIVE, /* up to PROF_TENSOR_PER_CYCLE a cycle */
	PROF_DRAM_READ,
	PROF_DRAM_WRITE,
	PROF_INSTRUCTIONS, /* up to PROF_ISSUE_PER_CYCLE a cycle */
	PROF_GPC_ELAPSED,
	PROF_ISSUE_ACTIVE, /* only to need a second pass: never counted */
	PROF_TENSOR_INSTRUCTIONS, /* and a third */
	PROF_COUNTERS
};
enum prof_rollup {
	PROF_AVG,
	PROF_MIN,
	PROF_MAX,
	PROF_SUM,
	PROF_OF_PEAK, /* percent of what it can be in the elapsed cycles; of the tensor pipe alone */
	PROF_ROLLUPS
};
#define PROF_ISSUE_PER_CYCLE 4
#define PROF_TENSOR_PER_CYCLE 4 /* an SM has so many, and all are counted */

/* Value of each counter over its instances. */
struct prof_row {
	int64_t start_ns, end_ns; /* as the device tells them */
	double value[PROF_COUNTERS][PROF_ROLLUPS];
};

/* A set of metrics: a bit for each counter and rollup. */
typedef uint64_t prof_set;
#define PROF_BIT(counter, rollup) (1ull << ((counter)*PROF_ROLLUPS + (rollup)))

/* The metric of that name; false: there is none. */
bool prof_metric(const char *name, enum prof_counter *ret_counter, enum prof_rollup *ret_rollup);
/* Passes that a set takes: WTFAKE_PASS_COUNTERS (7) counters fit in one, but for the last two above. */
size_t prof_passes(prof_set set);

/* ---- images ----------------------------------------------------------------------- */

#define PROF_CONFIG_MAGIC 0x676663666f727077ull
#define PROF_DATA_MAGIC 0x746164666f727077ull

struct prof_config {
	uint64_t magic;
	int32_t profiler_type;
	int32_t passes;
	prof_set set;
	uint8_t rest[1000]; /* a real one is longer too */
};

/* Counter data. Rows follow. */
struct prof_data {
	uint64_t magic;
	uint64_t bytes;
	int32_t profiler_type;
	uint32_t owner; /* number of the object that it was initialised for */
	uint32_t capacity, count; /* rows */
	prof_set set;
};

static inline size_t prof_data_bytes(size_t capacity)
{
	return sizeof(struct prof_data) + capacity * sizeof(struct prof_row);
}
static inline struct prof_row *prof_rows(struct prof_data *data)
{
	return (struct prof_row *)(data + 1);
}

/* The image behind a pointer; one that isn't an image of that length and kind is fatal. */
const struct prof_config *prof_config_of(const char *call, const uint8_t *image, size_t bytes,
                                         int profiler_type);
struct prof_data *prof_data_of(const char *call, const uint8_t *image, size_t bytes,
                               int profiler_type);
/* The set of named metrics; fatal if one has no such name. */
prof_set prof_set_of(const char *call, const char *const *names, size_t count);
/* Adds a value of one instance to the sum, least and greatest of a counter. */
void prof_row_add(struct prof_row *row, enum prof_counter counter, double value, bool is_first);
/* And once it has all of them: means of `sms`, and the tensor pipe's share. */
void prof_row_finish(struct prof_row *row, int sms);
void prof_data_init(uint8_t *image, size_t bytes, int profiler_type, uint32_t owner, prof_set set);

/* ---- what no client may do --------------------------------------------------------- */

/* As fake_die(), but for good: there is nothing to go on with. */
_Noreturn void prof_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A structure of the wrong size, or none, or with priv set, is fatal. */
void prof_check_params(const char *call, const void *params, size_t want_bytes);
/* cuptiProfilerInitialize has to have come before. */
void prof_check_initialized(const char *call);

#define PROF_FN(name, type, BYTES, body)                                                           \
	FAKE_EXPORT wtcupti_result name(struct wtcupti_##type *p);                                 \
	FAKE_EXPORT wtcupti_result name(struct wtcupti_##type *p)                                  \
	{                                                                                          \
		static const char call[] = #name;                                                  \
		wtcupti_result result = cupti_enter(call);                                         \
                                                                                                   \
		(void)call;                                                                        \
		prof_check_params(call, p, BYTES);                                                 \
		if (result)                                                                        \
			return result;                                                             \
		pthread_mutex_lock(&prof_lock);                                                    \
		result = (body);                                                                   \
		pthread_mutex_unlock(&prof_lock);                                                  \
		return result;                                                                     \
	}

/* Why devices can't be profiled at all (WTFAKE_UNSUPPORTED), or 0. */
wtcupti_result prof_unsupported(void);

/* ---- who has the counters of a device (cupti_pm_file.c) --------------------------- */

struct fake_device_facts;
/* Takes the counters of a device: 0, or WTCUPTI_ERROR_HARDWARE_BUSY. */
wtcupti_result prof_device_take(const struct fake_device_facts *facts);
/* Another process has them. */
bool prof_device_is_taken(const struct fake_device_facts *facts);
void prof_device_give(const struct fake_device_facts *facts);
/* WTFAKE_PM is set: devices have counters that another process can read. */
bool prof_has_pm(void);

/* ---- what a device did (cupti_pm_file.c) -------------------------------------------- */

struct prof_gpu;
struct prof_gpu *prof_gpu_open(const struct fake_device_facts *facts);
void prof_gpu_close(struct prof_gpu *gpu);
/*
 * Reads on. All that happened before the time returned is known, by the
 * device's own clock, which is CLOCK_REALTIME; no later than `want_ns`.
 */
int64_t prof_gpu_read(struct prof_gpu *gpu, int64_t want_ns);
/* What the device did from start to end, which must follow what was asked last. */
void prof_gpu_window(struct prof_gpu *gpu, int64_t start_ns, int64_t end_ns, struct prof_row *row);
/* Clock of the SMs, cycles per ns: the device's, or WTFAKE_SM_CLOCK_MHZ. */
double prof_clock_ghz(const struct fake_device_facts *facts);

#endif /* FAKE_CUPTI_PROF_H */

/*
 * pm_probe.c - what PM sampling and the range profiler do on this device: which metrics one pass
 * holds, what set-up, a change of the interval, decoding and evaluating cost, which intervals work,
 * what a second process gets, and what is left when the holder is killed.
 *
 * Each part runs in a process of its own under a time limit, since some of them may hang or crash, and
 * prints its lines by itself. CUPTI's codes are shown with their names; a negative code is the
 * driver's. `names` and `passes` need no device if a chip is named (GH100: H100, H200).
 *
 * One thread per process; waits for the device and for its children.
 *
 * Build: tests/gpu/build.sh, or: : >EMPTY/string; gcc -O2 -I EMPTY -I CUDA/include -o pm_probe
 *        pm_probe.c -L CUDA/lib64 -lcupti -ldl
 * Usage: pm_probe [all | names [CHIP] | passes [CHIP] | setup | cost | rotate | intervals | change | work | second |
 *        overflow]
 * Exit:  0 done, whatever was found; 1 a part timed out or crashed; 2 usage; 77 no device
 */
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>

#include "pm_cupti.h"
#include "pm_work.h"

#define ACTIVE                                                                                     \
	"sm__cycles_active.avg", "sm__cycles_active.max", "sm__cycles_active.min",                 \
	        "sm__cycles_elapsed.max"
#define TENSOR_COUNT                                                                               \
	"sm__pipe_tensor_cycles_active.avg" /* up to four a cycle: one of each sub-core */
#define TENSOR TENSOR_COUNT ".pct_of_peak_sustained_elapsed"
#define DRAM "dram__bytes_read.sum", "dram__bytes_write.sum"

#define INSTRUCTIONS "TPC.TriageCompute.sm__inst_executed_realtime.sum"

enum { SET_ACTIVE, SET_WARPS, SET_ALL, SET_INSTRUCTIONS, SETS_MEASURED };

/* The first are measured, all are asked for passes. */
static const struct pm_set sets[] = {
        {"active", {ACTIVE}},
        {"active+warps", {ACTIVE, "sm__warps_active.avg"}},
        {"active+warps+tensor+dram", {ACTIVE, "sm__warps_active.avg", TENSOR, DRAM}},
        {"the same + instructions", {ACTIVE, "sm__warps_active.avg", TENSOR, DRAM, INSTRUCTIONS}},
        {"the same + issue",
         {ACTIVE, "sm__warps_active.avg", TENSOR, DRAM, "sm__issue_active.avg"}},
        {"the same + insts + fma",
         {ACTIVE, "sm__warps_active.avg", TENSOR, DRAM, INSTRUCTIONS,
          "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.sum"}},
        {"the same + tensor count", {ACTIVE, "sm__warps_active.avg", TENSOR, DRAM, TENSOR_COUNT}},
        {"the same + insts % of peak",
         {ACTIVE, "sm__warps_active.avg", TENSOR, DRAM,
          "TPC.TriageCompute.sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed"}},
        {"range profiler's",
         {"sm__cycles_active.sum", "sm__cycles_active.min", "sm__cycles_active.max",
          "sm__cycles_elapsed.max", "sm__warps_active.avg", TENSOR, DRAM}},
        {"active+warps+tensor", {ACTIVE, "sm__warps_active.avg", TENSOR}},
        {"active+warps+dram", {ACTIVE, "sm__warps_active.avg", DRAM}},
        {"active+warps+tensor insts",
         {ACTIVE, "sm__warps_active.avg", "sm__inst_executed_pipe_tensor.sum"}},
        {"active+tensor op hmma", {ACTIVE, "sm__pipe_tensor_op_hmma_cycles_active.avg"}},
        {"active+fma+alu",
         {ACTIVE, "sm__inst_executed_pipe_fma.sum", "sm__inst_executed_pipe_alu.sum"}},
        {"active+ctas", {ACTIVE, "sm__ctas_active.avg"}},
        {"active+l2", {ACTIVE, "lts__t_sectors.sum"}},
        {"active+pcie", {ACTIVE, "pcie__read_bytes.sum", "pcie__write_bytes.sum"}},
};
#define SETS ((int)(sizeof(sets) / sizeof(*sets)))

struct tally {
	long samples, not_adjacent, odd;
	int64_t first_ns, last_ns, min_ns, max_ns, gap_ns;
	int64_t decode_cpu_ns, evaluate_cpu_ns, wall_ns;
	bool overflow;
	double sum[PM_METRICS_MAX];
};

static int report_failure(const struct pm *pm, const char *part)
{
	if (!pm->failed)
		return 0;
	printf("%-10s failed: %s: %d %s\n", part, pm->failed, pm->code,
	       pm->code > 0 ? code_text(pm->code) : "(driver)");
	fflush(stdout);
	return 1;
}

/* ---- draining ---- */

static void count_sample(struct tally *tally, uint64_t start_ns, uint64_t end_ns,
                         uint64_t wanted_ns)
{
	int64_t length_ns = (int64_t)(end_ns - start_ns);

	if (!tally->samples) {
		tally->first_ns = (int64_t)start_ns;
		tally->min_ns = tally->max_ns = length_ns;
	} else if ((int64_t)start_ns != tally->last_ns) {
		int64_t gap_ns = (int64_t)start_ns - tally->last_ns;

		tally->not_adjacent++;
		if (llabs(gap_ns) > llabs(tally->gap_ns))
			tally->gap_ns = gap_ns;
	}
	tally->min_ns = length_ns < tally->min_ns ? length_ns : tally->min_ns;
	tally->max_ns = length_ns > tally->max_ns ? length_ns : tally->max_ns;
	if (llabs(length_ns - (int64_t)wanted_ns) > (int64_t)wanted_ns / 20)
		tally->odd++;
	tally->last_ns = (int64_t)end_ns;
	tally->samples++;
}

static bool evaluate(struct pm *pm, struct tally *tally, size_t index, uint64_t wanted_ns)
{
	PARAMS(PmSampling_CounterData_GetSampleInfo, info);
	PARAMS(Profiler_Host_EvaluateToGpuValues, values);
	double value[PM_METRICS_MAX] = {0};

	info.pPmSamplingObject = pm->sampling;
	info.pCounterDataImage = values.pCounterDataImage = pm->image;
	info.counterDataImageSize = values.counterDataImageSize = pm->image_bytes;
	info.sampleIndex = values.rangeIndex = index;
	values.pHostObject = pm->host;
	values.ppMetricNames = (const char **)pm->set->metrics;
	values.numMetrics = pm->evaluated ? pm->evaluated : pm->metric_count;
	values.pMetricValues = value;
	if (!step(pm, "GetSampleInfo", cuptiPmSamplingCounterDataGetSampleInfo(&info)) ||
	    !step(pm, "EvaluateToGpuValues", cuptiProfilerHostEvaluateToGpuValues(&values)))
		return false;
	count_sample(tally, info.startTimestamp, info.endTimestamp, wanted_ns);
	for (size_t i = 0; i < pm->metric_count; i++)
		tally->sum[i] += value[i];
	return true;
}

/* Decodes and evaluates all there is. */
static bool drain(struct pm *pm, struct tally *tally, uint64_t wanted_ns)
{
	PARAMS(PmSampling_DecodeData, decode);
	bool is_full;

	decode.pPmSamplingObject = pm->sampling;
	decode.pCounterDataImage = pm->image;
	decode.counterDataImageSize = pm->image_bytes;
	do {
		PARAMS(PmSampling_GetCounterDataInfo, info);
		int64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), decoded_ns;
		bool is_fine = step(pm, "PmSamplingDecodeData", cuptiPmSamplingDecodeData(&decode));

		decoded_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		tally->decode_cpu_ns += decoded_ns - begin_ns;
		tally->overflow |= decode.overflow;
		info.pCounterDataImage = pm->image;
		info.counterDataImageSize = pm->image_bytes;
		/* Where decoding failed, what it got as far as. */
		if (!step(pm, "GetCounterDataInfo", cuptiPmSamplingGetCounterDataInfo(&info)))
			return false;
		for (size_t i = 0; i < info.numCompletedSamples; i++)
			if (!evaluate(pm, tally, i, wanted_ns))
				return false;
		tally->evaluate_cpu_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - decoded_ns;
		is_full = decode.decodeStopReason ==
		          CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
		if (!pm_empty_image(pm) || !is_fine)
			return false;
	} while (is_full);
	return true;
}

/* Drains every 5 ms for a time, or (seconds 0) until the stream has nothing left. */
static bool drain_for(struct pm *pm, struct tally *tally, uint64_t interval_ns, double seconds)
{
	const struct timespec pause = {0, 5000000};
	int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	bool is_fine = true, is_over = false;

	while (is_fine && !is_over) {
		nanosleep(&pause, NULL);
		tally->wall_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
		is_over = seconds > 0 ? (double)tally->wall_ns >= seconds * 1e9 : work_is_done();
		is_fine = drain(pm, tally, interval_ns);
	}
	return is_fine;
}

static void print_tally(const char *part, const char *what, const struct pm *pm,
                        uint64_t interval_ns, const struct tally *tally)
{
	double n = tally->samples ? (double)tally->samples : 1;

	printf("%-10s %-24s %5.1f us: %6ld samples mean %9.1f min %6lld max %8lld ns, %ld off by "
	       "5%%, "
	       "%ld not back to back (worst %lld ns)%s | cpu us/sample decode %.2f evaluate %.2f",
	       part, what, (double)interval_ns / 1e3, tally->samples,
	       (double)(tally->last_ns - tally->first_ns) / n, (long long)tally->min_ns,
	       (long long)tally->max_ns, tally->odd, tally->not_adjacent, (long long)tally->gap_ns,
	       tally->overflow ? ", OVERFLOW" : "", (double)tally->decode_cpu_ns / n / 1e3,
	       (double)tally->evaluate_cpu_ns / n / 1e3);
	if (tally->wall_ns)
		printf(", %.0f%% of a core",
		       100.0 * (double)(tally->decode_cpu_ns + tally->evaluate_cpu_ns) /
		               (double)tally->wall_ns);
	printf(" | image %.0f bytes/sample\n", (double)pm->image_bytes / (double)pm->image_samples);
	fflush(stdout);
}

/* ---- parts ---- */

/* Base metrics whose names tell of what is looked for. */
static int part_names(const char *chip)
{
	static const char *const words[] = {"tensor", "dram", "issue", "cycles_active",
	                                    "warps_active"};
	static const struct pm_set none = {"", {NULL}};
	struct pm pm = {.set = &none, .chip = chip};

	if ((!chip && !(driver_init(&pm) && pm_device(&pm))) ||
	    !pm_host(&pm, CUPTI_PROFILER_TYPE_PM_SAMPLING))
		return report_failure(&pm, "names");
	printf("%-10s chip %s\n", "names", pm.chip);
	for (int type = 0; type < CUPTI_METRIC_TYPE__COUNT; type++) {
		PARAMS(Profiler_Host_GetBaseMetrics, base);

		base.pHostObject = pm.host;
		base.metricType = (CUpti_MetricType)type;
		if (!step(&pm, "GetBaseMetrics", cuptiProfilerHostGetBaseMetrics(&base)))
			return report_failure(&pm, "names");
		for (size_t i = 0; i < base.numMetrics; i++)
			for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
				if (strstr(base.ppMetricNames[i], words[w])) {
					printf("%-10s %s\n", "names", base.ppMetricNames[i]);
					break;
				}
	}
	return 0;
}

/* As sampling asks, and as the range profiler does. */
static int part_passes(int which, const char *chip)
{
	static const CUpti_ProfilerType types[] = {CUPTI_PROFILER_TYPE_PM_SAMPLING,
	                                           CUPTI_PROFILER_TYPE_RANGE_PROFILER};
	size_t passes[2] = {0};
	int failures = 0;

	for (int i = 0; i < 2; i++) {
		struct pm pm = {.set = &sets[which], .chip = chip};

		if ((!chip && !(driver_init(&pm) && pm_device(&pm))) || !pm_host(&pm, types[i]) ||
		    !pm_configure(&pm) || !(passes[i] = pm_passes(&pm))) {
			printf("%-10s %-26s: ", "passes", sets[which].name);
			failures += report_failure(&pm, i ? "range" : "sampling");
		}
	}
	printf("%-10s %-26s passes: sampling %zu, range profiler %zu\n", "passes", sets[which].name,
	       passes[0], passes[1]);
	return failures > 0;
}

/* Set-up step by step, a second at 50 us, Stop and Disable. */
static int part_setup(int which)
{
	struct pm pm = {.set = &sets[which], .hardware_bytes = 64 << 20};
	struct tally tally = {0};
	int64_t at[10];
	bool is_fine;

	at[0] = clock_ns(CLOCK_MONOTONIC);
	is_fine = driver_init(&pm);
	at[1] = clock_ns(CLOCK_MONOTONIC);
	is_fine = is_fine && pm_device(&pm);
	at[2] = clock_ns(CLOCK_MONOTONIC);
	is_fine = is_fine && pm_host(&pm, CUPTI_PROFILER_TYPE_PM_SAMPLING) && pm_configure(&pm);
	at[3] = clock_ns(CLOCK_MONOTONIC);
	is_fine = is_fine && pm_enable(&pm);
	at[4] = clock_ns(CLOCK_MONOTONIC);
	is_fine = is_fine && pm_set_config(&pm, 50000);
	at[5] = clock_ns(CLOCK_MONOTONIC);
	is_fine = is_fine && pm_make_image(&pm);
	at[6] = clock_ns(CLOCK_MONOTONIC);
	is_fine = is_fine && pm_start(&pm);
	at[7] = clock_ns(CLOCK_MONOTONIC);
	is_fine = is_fine && drain_for(&pm, &tally, 50000, 1);
	if (!is_fine)
		return report_failure(&pm, "setup");
	at[8] = clock_ns(CLOCK_MONOTONIC);
	pm_stop(&pm);
	at[9] = clock_ns(CLOCK_MONOTONIC);
	pm_disable(&pm);
	printf("%-10s %-24s ms: cuInit %.1f availability %.1f host %.1f Enable %.1f SetConfig %.1f "
	       "image %.1f Start %.1f: %.1f; Stop %.1f Disable %.1f\n",
	       "setup", sets[which].name, (double)(at[1] - at[0]) / 1e6,
	       (double)(at[2] - at[1]) / 1e6, (double)(at[3] - at[2]) / 1e6,
	       (double)(at[4] - at[3]) / 1e6, (double)(at[5] - at[4]) / 1e6,
	       (double)(at[6] - at[5]) / 1e6, (double)(at[7] - at[6]) / 1e6,
	       (double)(at[7] - at[0]) / 1e6, (double)(at[9] - at[8]) / 1e6,
	       (double)(clock_ns(CLOCK_MONOTONIC) - at[9]) / 1e6);
	print_tally("setup", sets[which].name, &pm, 50000, &tally);
	return report_failure(&pm, "setup");
}

/* What a sample costs: by metrics, by how many of them are evaluated, by the size of the image. */
static int part_cost(int which)
{
	static const struct pm_set cost_sets[] = {
	        {"avg", {"sm__cycles_active.avg"}},
	        {"avg elapsed", {"sm__cycles_active.avg", "sm__cycles_elapsed.max"}},
	        {"avg elapsed min max", {ACTIVE}},
	        {"avg warps", {"sm__cycles_active.avg", "sm__warps_active.avg"}},
	        {"avg elapsed tensor", {"sm__cycles_active.avg", "sm__cycles_elapsed.max", TENSOR}},
	        {"avg elapsed dram", {"sm__cycles_active.avg", "sm__cycles_elapsed.max", DRAM}},
	        {"all", {ACTIVE, "sm__warps_active.avg", TENSOR, DRAM}},
	};
	static const struct {
		int set;
		size_t evaluated, image_samples;
		uint64_t interval_ns;
	} costs[] = {{0, 0, 2048, 50000},  {1, 0, 2048, 50000}, {1, 0, 256, 50000},
	             {2, 0, 2048, 50000},  {2, 1, 2048, 50000}, {2, 1, 256, 50000},
	             {3, 0, 2048, 50000},  {4, 0, 2048, 50000}, {5, 0, 1024, 100000},
	             {6, 0, 1024, 200000}, {6, 1, 256, 200000}};
	struct pm pm = {.set = &cost_sets[costs[which].set],
	                .evaluated = costs[which].evaluated,
	                .image_samples = costs[which].image_samples,
	                .hardware_bytes = 512 << 20};
	struct tally first = {0}, tally = {0};

	if (!pm_begin(&pm, costs[which].interval_ns))
		return report_failure(&pm, "cost");
	drain_for(&pm, &first, costs[which].interval_ns, 0.05);
	drain_for(&pm, &tally, costs[which].interval_ns, 0.6);
	printf("evaluated %zu, image of %zu\n", costs[which].evaluated, costs[which].image_samples);
	print_tally("cost", pm.set->name, &pm, costs[which].interval_ns, &tally);
	pm_stop(&pm);
	pm_disable(&pm);
	return report_failure(&pm, "cost");
}
#define COSTS 11

/* Two sets of metrics in turn, each with an Enable of its own: what the change costs, and the first sample. */
static int part_rotate(void)
{
	static const struct pm_set light = {"light", {ACTIVE}};
	static const uint64_t interval_ns[] = {50000, 200000, 47000, 190000};
	struct pm pm[2] = {{.set = &light, .hardware_bytes = 512 << 20},
	                   {.set = &sets[SET_ALL], .hardware_bytes = 512 << 20}};
	struct tally warm = {0};

	if (!pm_begin(&pm[0], 50000) || !drain_for(&pm[0], &warm, 50000, 0.2))
		return report_failure(&pm[0], "rotate");
	pm[1].chip = pm[0].chip;
	pm[1].availability = pm[0].availability;
	if (!pm_host(&pm[1], CUPTI_PROFILER_TYPE_PM_SAMPLING) || !pm_configure(&pm[1]))
		return report_failure(&pm[1], "rotate");
	for (int i = 1; i < 8; i++) {
		struct pm *old = &pm[(i - 1) % 2], *new = &pm[i % 2];
		struct tally rest = {0}, first = {0}, then = {0};
		int64_t at[6];

		at[0] = clock_ns(CLOCK_MONOTONIC);
		pm_stop(old);
		at[1] = clock_ns(CLOCK_MONOTONIC);
		drain(old, &rest, interval_ns[(i - 1) % 4]);
		pm_disable(old);
		at[2] = clock_ns(CLOCK_MONOTONIC);
		pm_enable(new);
		pm_set_config(new, interval_ns[i % 4]);
		at[3] = clock_ns(CLOCK_MONOTONIC);
		if (!new->image)
			pm_make_image(new);
		else
			pm_empty_image(new);
		at[4] = clock_ns(CLOCK_MONOTONIC);
		pm_start(new);
		at[5] = clock_ns(CLOCK_MONOTONIC);
		if (old->failed || new->failed)
			return report_failure(old->failed ? old : new, "rotate");
		drain_for(new, &first, interval_ns[i % 4], 0.02);
		drain_for(new, &then, interval_ns[i % 4], 0.5);
		printf("rotate     to %-24s ms: Stop %.2f drain, Disable %.2f (%ld) Enable, "
		       "SetConfig %.2f image "
		       "%.2f Start %.2f; first %ld samples, longest %lld ns, %ld odd\n",
		       new->set->name, (double)(at[1] - at[0]) / 1e6, (double)(at[2] - at[1]) / 1e6,
		       rest.samples, (double)(at[3] - at[2]) / 1e6, (double)(at[4] - at[3]) / 1e6,
		       (double)(at[5] - at[4]) / 1e6, first.samples, (long long)first.max_ns,
		       first.odd);
		print_tally("rotate", new->set->name, new, interval_ns[i % 4], &then);
		if (new->failed)
			return report_failure(new, "rotate");
	}
	pm_stop(&pm[1]);
	pm_disable(&pm[1]);
	return report_failure(&pm[1], "rotate");
}

static int part_interval(uint64_t interval_ns)
{
	struct pm pm = {.set = &sets[SET_ALL], .hardware_bytes = 64 << 20};
	struct tally tally = {0};

	if (pm_begin(&pm, interval_ns))
		drain_for(&pm, &tally, interval_ns, 0.7);
	if (tally.samples)
		print_tally("intervals", pm.set->name, &pm, interval_ns, &tally);
	if (report_failure(&pm, "intervals"))
		return 1;
	pm_stop(&pm);
	pm_disable(&pm);
	return 0;
}

/* Stop, SetConfig, Start with another interval, eight times. */
static int part_change(void)
{
	static const uint64_t intervals_ns[] = {47000, 53000, 20000, 50000};
	struct pm pm = {.set = &sets[SET_ALL], .hardware_bytes = 64 << 20};
	struct tally before = {0}, after;

	if (!pm_begin(&pm, 50000) || !drain_for(&pm, &before, 50000, 0.2))
		return report_failure(&pm, "change");
	for (int i = 0; i < 8; i++) {
		uint64_t interval_ns = intervals_ns[i % 4];
		int64_t begin_ns = clock_ns(CLOCK_MONOTONIC), stopped_ns, drained_ns, set_ns,
		        end_ns;
		bool is_fine = pm_stop(&pm);

		stopped_ns = clock_ns(CLOCK_MONOTONIC);
		is_fine = is_fine && drain(&pm, &before, interval_ns);
		drained_ns = clock_ns(CLOCK_MONOTONIC);
		is_fine = is_fine && pm_set_config(&pm, interval_ns) && pm_empty_image(&pm);
		set_ns = clock_ns(CLOCK_MONOTONIC);
		is_fine = is_fine && pm_start(&pm);
		end_ns = clock_ns(CLOCK_MONOTONIC);
		memset(&after, 0, sizeof(after));
		if (!is_fine || !drain_for(&pm, &after, interval_ns, 0.2))
			return report_failure(&pm, "change");
		printf("%-10s to %.0f us, ms: Stop %.2f drain %.2f SetConfig %.2f Start %.2f; "
		       "nobody "
		       "looked for %.2f; then mean %.1f ns, %ld not back to back\n",
		       "change", (double)interval_ns / 1e3, (double)(stopped_ns - begin_ns) / 1e6,
		       (double)(drained_ns - stopped_ns) / 1e6, (double)(set_ns - drained_ns) / 1e6,
		       (double)(end_ns - set_ns) / 1e6,
		       (double)(after.first_ns - before.last_ns) / 1e6,
		       (double)(after.last_ns - after.first_ns) /
		               (double)(after.samples ? after.samples : 1),
		       after.not_adjacent);
		before = after;
	}
	pm_stop(&pm);
	pm_disable(&pm);
	return report_failure(&pm, "change");
}

/* Means of 0.15 s in the midst of the work, or (bytes > 0) sums over all of it; then waits for it. */
static bool measure_work(struct pm *pm, const struct work *work, const char *what, double bytes)
{
	struct tally tally = {0}, rest = {0};
	double seconds, elapsed;

	if (!(bytes > 0 || drain_for(pm, &rest, 20000, 0.05)) ||
	    !drain_for(pm, &tally, 20000, bytes > 0 ? 0 : 0.15) || !tally.samples)
		return false;
	seconds = (double)(tally.last_ns - tally.first_ns) / 1e9;
	elapsed = tally.sum[3];
	printf("%-10s %-34s active %.4f (SM with most %.4f, least %.4f) warps/SM %.2f tensor %.4f "
	       "instructions per SM cycle %.3f; DRAM GB read %.3f write %.3f (copied %.3f) in %.3f "
	       "s; "
	       "SM clock %.0f MHz\n",
	       "work", what, tally.sum[0] / elapsed, tally.sum[1] / elapsed, tally.sum[2] / elapsed,
	       tally.sum[4] / elapsed, tally.sum[5] / 100 / (double)tally.samples,
	       tally.sum[8] / elapsed / work->sms, tally.sum[6] / 1e9, tally.sum[7] / 1e9,
	       bytes / 1e9, seconds, elapsed / seconds / 1e6);
	fflush(stdout);
	return drain_for(pm, &rest, 20000, 0);
}

static int part_work(int which)
{
	struct pm pm = {.set = &sets[which], .hardware_bytes = 64 << 20};
	struct work work = {0};
	struct tally warm = {0};
	unsigned half;

	if (!work_begin(&work, &pm) || !pm_begin(&pm, 20000))
		return report_failure(&pm, "work");
	half = (unsigned)work.sms / 2;
	printf("%-10s %s, every 20 us\n", "work", pm.set->name);
	drain_for(&pm, &warm, 20000, 0.1);
	for (int i = 0; i < 400; i++)
		work_launch(&pm, work.spin, half, 1024, 2000000);
	measure_work(&pm, &work, "spin, half the SMs, 32 warps", 0);
	for (int i = 0; i < 400; i++)
		work_launch(&pm, work.spin, half * 4, 1024, 2000000);
	measure_work(&pm, &work, "spin, all SMs, 64 warps", 0);
	for (int i = 0; i < 800; i++)
		work_launch(&pm, work.tensor, half * 8, 256, 20000);
	measure_work(&pm, &work, "mma.sync, all SMs", 0);
	work_copies(&work, &pm, 1);
	work_wait();
	drain(&pm, &warm, 20000);
	work_copies(&work, &pm, 800);
	measure_work(&pm, &work, "copies in the device", 800.0 * (double)WORK_COPY_BYTES);
	pm_stop(&pm);
	pm_disable(&pm);
	return report_failure(&pm, "work");
}

/* A buffer too small and nobody who drains it: what decoding says, and whether it recovers. */
static int part_overflow(void)
{
	struct pm pm = {.set = &sets[SET_ALL], .hardware_bytes = 1 << 20};
	struct tally first = {0}, then = {0};

	if (!pm_begin(&pm, 10000))
		return report_failure(&pm, "overflow");
	sleep(1);
	drain(&pm, &first, 10000);
	print_tally("overflow", "first, after 1 s", &pm, 10000, &first);
	report_failure(&pm, "overflow");
	pm.failed = NULL;
	drain_for(&pm, &then, 10000, 0.3);
	print_tally("overflow", "going on", &pm, 10000, &then);
	report_failure(&pm, "overflow");
	pm.failed = NULL;
	memset(&then, 0, sizeof(then));
	if (pm_stop(&pm) && pm_set_config(&pm, 50000) && pm_empty_image(&pm) && pm_start(&pm))
		drain_for(&pm, &then, 50000, 0.3);
	print_tally("overflow", "Stop, SetConfig, Start", &pm, 50000, &then);
	return report_failure(&pm, "overflow");
}

#include "pm_others.h"

static int usage(void)
{
	fprintf(stderr, "usage: pm_probe [all | names [CHIP] | passes [CHIP] | setup | cost | "
	                "rotate | intervals | "
	                "change | work | second | overflow]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "all", *more = argc > 2 ? argv[2] : NULL;
	struct pm pm = {0};

	if (argc > 4)
		return usage();
	if (!strcmp(part, "child"))
		return more ? child(more, argc > 3 ? argv[3] : NULL) : usage();
	if (!more && !driver_init(&pm)) {
		fprintf(stderr, "pm_probe: no CUDA device\n");
		return 77;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(part, parts[i].name))
			return parts[i].run(more);
	if (!strcmp(part, "all")) {
		int failures = 0;

		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			failures += parts[i].run(NULL);
		return failures > 0;
	}
	return usage();
}

/*
 * truth_phase.cuh - thousands of launches in a row, and the truth of each of their configurations, for
 * what is measured from outside by sampling.
 *
 * Every launch of a phase writes down its blocks, so that recording is the same for all of them: up to
 * `keep` launches of a configuration, spread evenly over the phase, into places of their own, the rest
 * into one that nobody reads. The host queues launches and waits for none, but where a plan asks for
 * pauses; sums are made when the phase is over.
 *
 * Included by truth.cu alone, after truth_measure.cuh. One host thread.
 */
#ifndef TRUTH_PHASE_CUH
#define TRUTH_PHASE_CUH

#include <string>

#define PROFILE_STEPS 800
#define PROFILE_STEP_MIN_NS 100

struct phase_options {
	const char *section;
	int keep; /* launches of a configuration; 0: all */
	int batch; /* launches between pauses of random length; 0: none */
};

/* Sums over the kept launches of one configuration. */
struct config_truth {
	long long launches, kept;
	double dur_ns, active_sm_ns, active_cycles, underfill_sm_ns, tail_sm_ns;
	double first_cycles, gaps, fill_cycles[FILL_STEPS];
	double active_square; /* for the spread */
	uint64_t step_ns;
	std::vector<double> profile; /* twice differenced: SMs active per step */
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed;
}

static void shuffle(std::vector<int> &order)
{
	uint32_t seed = 12345;

	for (size_t i = order.size(); i > 1; i--)
		std::swap(order[i - 1], order[next_random(&seed) % i]);
}

/* `repeats` launches of each of `count` configurations: in turn, or in random order. */
static std::vector<int> make_order(int count, int repeats, bool is_fixed)
{
	std::vector<int> order;

	for (int i = 0; i < repeats; i++)
		for (int c = 0; c < count; c++)
			order.push_back(c);
	if (!is_fixed)
		shuffle(order);
	return order;
}

/* One end of an interval: from here on one SM more, or less, is active. */
static void profile_edge(std::vector<double> &profile, double at, double change)
{
	size_t step = (size_t)at;
	double part = at - (double)step;

	if (step + 1 >= profile.size())
		profile.resize(step + 2);
	profile[step] += change * (1 - part);
	profile[step + 1] += change * part;
}

static void add_launch(config_truth &sum, const block_record *records, int grid)
{
	activity active;
	truth t = truth_of(records, grid, &active);

	if (!sum.kept)
		sum.step_ns = std::max<uint64_t>(PROFILE_STEP_MIN_NS, t.dur_ns / PROFILE_STEPS);
	sum.kept++;
	sum.dur_ns += t.dur_ns;
	sum.active_sm_ns += t.active_sm_ns;
	sum.active_square += (double)t.active_sm_ns * t.active_sm_ns;
	sum.active_cycles += t.active_cycles;
	sum.underfill_sm_ns += t.underfill_sm_ns;
	sum.tail_sm_ns += t.tail_sm_ns;
	sum.first_cycles += t.first_cycles;
	sum.gaps += t.gaps;
	for (int i = 0; i < FILL_STEPS; i++)
		sum.fill_cycles[i] += t.fill_cycles[i];
	for (auto &sm : active.ns)
		for (auto &i : sm) {
			profile_edge(sum.profile, (double)(i.start - t.first_ns) / sum.step_ns, 1);
			profile_edge(sum.profile, (double)(i.end - t.first_ns) / sum.step_ns, -1);
		}
}

static void print_config_header()
{
	printf("#config\tsection\tkernel\tgrid\tblock\tsmem_bytes\tblocks_per_"
	       "sm\tsms\tlaunches\tkept\t"
	       "dur_ns\tactive_sm_ns\tactive_sd_sm_ns\tactive_cycles\tunderfill_sm_ns\ttail_sm_ns\t"
	       "slow_every\tslow_factor\tbound\tfirst_cycles\tgaps\tfill_step\tfill_cycles\t"
	       "profile_step_ns\tprofile\n");
}

/* Means per launch. The profile: SMs active in steps from the first block's start. */
static void print_config(const char *section, const config &c, const config_truth &sum)
{
	double n = sum.kept ? (double)sum.kept : 1, active = sum.active_sm_ns / n, height = 0;
	double variance = std::max(0.0, sum.active_square / n - active * active);

	printf("config\t%s\ttruth_%s\t%d\t%d\t%d\t%d\t%d\t%lld\t%lld\t%.1f\t%.1f\t%.1f\t%.1f\t%."
	       "1f\t%.1f\t"
	       "%d\t%d\t%s\t%.1f\t%.3f\t%d\t",
	       section, kind_names[c.kind], c.grid, c.threads, c.smem_bytes, blocks_per_sm(c),
	       state.sms, sum.launches, sum.kept, sum.dur_ns / n, active, sqrt(variance),
	       sum.active_cycles / n, sum.underfill_sm_ns / n, sum.tail_sm_ns / n, c.slow_every,
	       c.slow_factor, kind_bounds[c.kind], sum.first_cycles / n, sum.gaps / n, FILL_STEP);
	for (int i = 0; i < FILL_STEPS; i++)
		printf("%s%.0f", i ? "," : "", sum.fill_cycles[i] / n);
	printf("\t%llu\t", (unsigned long long)sum.step_ns);
	for (size_t i = 0; i < sum.profile.size(); i++) {
		height += sum.profile[i] / n;
		printf("%s%.2f", i ? "," : "", height);
	}
	printf("\n");
}

/* Where the launches of a phase write their blocks, and which they are. */
struct phase {
	const std::vector<config> &configs;
	std::vector<int> order;
	std::vector<long long> place; /* of the first block; < 0: not kept */
	std::vector<long long> launches; /* per configuration */
	block_record *device_records;
	std::vector<block_record> records;

	phase(const std::vector<config> &all, const std::vector<int> &sequence, int keep)
	    : configs(all), order(sequence), launches(all.size())
	{
		std::vector<long long> seen(all.size());
		long long blocks = 0;

		for (int c : order)
			launches[c]++;
		for (int c : order) {
			long long kept =
			        keep ? std::min<long long>(keep, launches[c]) : launches[c];
			long long k = seen[c]++;
			bool is_kept = (k + 1) * kept / launches[c] > k * kept / launches[c];

			place.push_back(is_kept ? blocks : -1);
			blocks += is_kept ? all[c].grid : 0;
		}
		records.resize(blocks);
		CHECK(cudaMalloc(&device_records, sizeof(block_record) * std::max(1LL, blocks)));
	}
	~phase()
	{
		cudaFree(device_records);
	}
	block_record *where(size_t i) const
	{
		return place[i] < 0 ? state.device_records : device_records + place[i];
	}
	void fetch()
	{
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaMemcpy(records.data(), device_records,
		                 sizeof(block_record) * records.size(), cudaMemcpyDeviceToHost));
	}
};

/* Longer than a sampler takes to set up once the first kernel ran. */
static void await_sampler()
{
	timespec duration = {3, 0};

	nanosleep(&duration, NULL);
}

/* Each configuration twice: loaded. */
static void warm_up(const std::vector<config> &configs)
{
	for (int i = 0; i < 2; i++)
		for (auto &c : configs)
			launch(c, state.device_records);
	CHECK(cudaDeviceSynchronize());
}

/* How long the launches of a phase took, for whoever asks what a sampler saw of them. */
static void print_phase(const char *section, double ns)
{
	printf("#phase\tsection\tns\nphase\t%s\t%.0f\n", section, ns);
}

/* Nanoseconds that they took. */
static double run_launches(const phase &p, int batch)
{
	double begin = now_ns();
	uint32_t seed = 99;

	for (size_t i = 0; i < p.order.size(); i++) {
		launch(p.configs[p.order[i]], p.where(i));
		if (!batch || i % batch != (size_t)batch - 1)
			continue;
		/* Pauses of random length: no fixed phase against a sampling interval. */
		CHECK(cudaDeviceSynchronize());
		busy_wait_ns((next_random(&seed) >> 16) % 60000);
	}
	CHECK(cudaDeviceSynchronize());
	return now_ns() - begin;
}

/* The whole phase: warm-up, launches, truth. */
static void run_phase(const phase_options &options, const std::vector<config> &configs,
                      const std::vector<int> &order)
{
	std::vector<config_truth> sums(configs.size());
	phase p(configs, order, options.keep);
	double ns;

	warm_up(configs);
	await_sampler();
	ns = run_launches(p, options.batch);
	p.fetch();
	for (size_t i = 0; i < order.size(); i++)
		if (p.place[i] >= 0)
			add_launch(sums[order[i]], &p.records[p.place[i]], configs[order[i]].grid);
	print_phase(options.section, ns);
	print_config_header();
	for (size_t c = 0; c < configs.size(); c++) {
		sums[c].launches = p.launches[c];
		print_config(options.section, configs[c], sums[c]);
	}
}

#endif /* TRUTH_PHASE_CUH */

/*
 * truth_modes.cuh - the workloads whose measured SM-time is compared with truth: what is launched, in
 * which order, on which streams. truth_phase.cuh runs them.
 *
 * Included by truth.cu alone. One host thread.
 */
#ifndef TRUTH_MODES_CUH
#define TRUTH_MODES_CUH

#define KEEP 200 /* launches of a configuration whose blocks are kept */

static config tail_config(enum kind kind, int blocks);

static std::vector<config> twelve_shapes()
{
	return {
	        {KIND_CLOCK, 267, 1024, 0, 8000, 0, 0},  {KIND_CLOCK, 264, 1024, 0, 8000, 0, 0},
	        {KIND_CLOCK, 66, 1024, 0, 9000, 0, 0},   {KIND_CLOCK, 290, 1024, 0, 12000, 0, 0},
	        {KIND_CLOCK, 1057, 256, 0, 10000, 0, 0}, {KIND_CLOCK, 1400, 256, 0, 6000, 0, 0},
	        {KIND_CLOCK, 40, 1024, 0, 30000, 0, 0},  {KIND_CLOCK, 528, 1024, 0, 12000, 97, 4},
	        {KIND_CLOCK, 700, 512, 0, 16000, 0, 0},  {KIND_CLOCK, 530, 512, 0, 50000, 0, 0},
	        {KIND_CLOCK, 13, 1024, 0, 60000, 0, 0},  {KIND_CLOCK, 2113, 256, 0, 20000, 131, 5},
	};
}

/* Twelve shapes of 5 to 78 us, N of each: in random order with pauses, or in turn without. */
static void run_mix(const arguments &a)
{
	std::vector<config> configs = twelve_shapes();

	allocate_records();
	run_phase({a.is_fixed ? "mix-fixed" : "mix", KEEP, a.is_fixed ? 0 : 64}, configs,
	          make_order((int)configs.size(), a.count, a.is_fixed));
}

/* Grids, blocks and cycles such that a kernel takes 5 to 80 us. */
static void run_many(const arguments &a)
{
	static const int thread_counts[] = {128, 256, 512, 1024};
	std::vector<config> configs;
	uint32_t seed = 4711;
	int khz;

	CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	allocate_records();
	while ((int)configs.size() < a.more) {
		config c = {KIND_CLOCK, 0, thread_counts[(next_random(&seed) >> 16) % 4]};
		double us = 5 * pow(16, (next_random(&seed) >> 8) / (double)(1 << 24));
		int resident = blocks_per_sm(c) * state.sms, waves;
		bool is_new = true;

		c.grid = 8 + (int)((next_random(&seed) >> 8) % (unsigned)(3 * resident));
		waves = (c.grid + resident - 1) / resident;
		c.work = std::max(1000LL, (long long)(us * khz / 1e3 / waves));
		for (auto &other : configs)
			is_new &= other.grid != c.grid || other.threads != c.threads;
		if (is_new)
			configs.push_back(c);
	}
	run_phase({a.is_fixed ? "many-fixed" : "many", std::max(20, 12000 / a.more),
	           a.is_fixed ? 0 : 64},
	          configs, make_order(a.more, a.count, a.is_fixed));
}

/* Whole waves, in which every 97th block takes longer: idle SMs that no geometry tells of. */
static void run_unequal(const arguments &a)
{
	static const struct {
		int threads, waves, every, factor;
		long long cycles;
	} cases[] = {
	        {1024, 1, 97, 4, 12000}, {1024, 2, 97, 4, 12000}, {1024, 3, 97, 6, 12000},
	        {1024, 4, 97, 8, 8000},  {512, 1, 97, 3, 30000},  {512, 2, 97, 6, 10000},
	        {512, 3, 131, 12, 5000}, {256, 1, 97, 2, 40000},  {256, 2, 211, 9, 10000},
	};
	std::vector<config> configs;

	allocate_records();
	for (auto &u : cases) {
		config c = {KIND_CLOCK, 0, u.threads, 0, u.cycles, u.every, u.factor};

		c.grid = u.waves * blocks_per_sm(c) * state.sms;
		configs.push_back(c);
	}
	run_phase({"unequal", KEEP, 64}, configs, make_order((int)configs.size(), a.count, false));
}

/* Blocks that take their work from a queue: one or two per SM, equal and unequal items. */
static void run_persistent(const arguments &a)
{
	int sms = state.sms;
	std::vector<config> configs = {
	        {KIND_PERSISTENT, sms, 256, 0, 4000, 0, 0, sms * 10},
	        {KIND_PERSISTENT, sms * 2, 256, 0, 4000, 0, 0, sms * 15 + 7},
	        {KIND_PERSISTENT, sms - 4, 128, 0, 3000, 61, 8, sms * 8},
	        {KIND_PERSISTENT, sms, 512, 0, 2500, 401, 30, sms * 6},
	};

	allocate_records();
	run_phase({"persistent", KEEP, 64}, configs,
	          make_order((int)configs.size(), a.count, false));
}

/* Bound by FP32 pipes, the tensor pipe, DRAM, and by nothing but time; whole waves and partial ones. */
static void run_bound(const arguments &a)
{
	std::vector<config> configs;

	allocate_records();
	allocate_input();
	for (int kind = 0; kind < TAIL_KINDS; kind++)
		for (double waves : {1.0, 1.25, 3.3}) {
			config c = tail_config((enum kind)kind, 4);

			c.work = c.work * 2 / 3;
			c.grid = (int)(waves * 4 * state.sms + 0.5);
			configs.push_back(c);
		}
	run_phase({"bound", KEEP, 64}, configs, make_order((int)configs.size(), a.count, false));
}

/*
 * Kernels of each class, of whole waves and of 1.25, N launches of each in random order; among them RARE each
 * that are short, which too few samples meet for a number, but perhaps not for a class.
 */
#define RARE 12
static void run_classes(const arguments &a)
{
	static const struct {
		enum kind kind;
		int work; /* about 50 us a block, where others share its SM */
	} kinds[] = {{KIND_COPY, 24}, {KIND_CHASE, 60}, {KIND_INT, 120}};
	std::vector<config> configs;
	std::vector<int> order;

	allocate_records();
	allocate_input();
	for (double waves : {1.0, 1.25, 3.3}) {
		int shorter = waves > 2 ? 15 : 1;

		for (int kind = 0; kind < TAIL_KINDS; kind++) {
			config c = tail_config((enum kind)kind, 4);

			c.work = c.work / 3 / shorter;
			c.grid = (int)(waves * 4 * state.sms + 0.5);
			configs.push_back(c);
		}
		for (auto &k : kinds) {
			config c = {k.kind, 0, TAIL_THREADS, 0, k.work / shorter, 0, 0};

			c.grid = (int)(waves * blocks_per_sm(c) * state.sms + 0.5);
			configs.push_back(c);
		}
	}
	order = make_order((int)configs.size() * 2 / 3, a.count, false);
	/* In the first half: a second or two after its start all metrics are sampled for a while. */
	for (size_t c = configs.size() * 2 / 3; c < configs.size(); c++)
		for (int i = 0; i < RARE; i++)
			order.insert(order.begin() + (long)((i + 0.5 + 0.04 * (double)c) /
			                                    (RARE + 1) * (double)order.size() / 2),
			             (int)c);
	run_phase({"classes", KEEP, 64}, configs, order);
}

/* Kernels that are longer than many samples: 5 to 20 ms. */
static void run_long(const arguments &a)
{
	std::vector<config> configs = {
	        {KIND_CLOCK, 264, 1024, 0, 10000000, 0, 0},
	        {KIND_CLOCK, 300, 1024, 0, 5000000, 0, 0},
	        {KIND_CLOCK, 66, 1024, 0, 20000000, 0, 0},
	        {KIND_CLOCK, 528, 1024, 0, 5000000, 97, 4},
	        {KIND_CLOCK, 1100, 1024, 0, 8000000, 0, 0},
	};

	allocate_records();
	run_phase({"long", KEEP, 0}, configs, make_order((int)configs.size(), a.count, false));
}

/* ---- a graph ---- */

#define GRAPH_GROUP 25 /* replays back to back, of which the last one's records are read */

/* What the nodes of the last replay wrote. */
static void add_replay(const phase &nodes, std::vector<config_truth> &sums)
{
	std::vector<block_record> records(nodes.records.size());

	CHECK(cudaMemcpy(records.data(), nodes.device_records,
	                 sizeof(block_record) * records.size(), cudaMemcpyDeviceToHost));
	for (size_t n = 0; n < nodes.order.size(); n++)
		add_launch(sums[nodes.order[n]], &records[nodes.place[n]],
		           nodes.configs[nodes.order[n]].grid);
}

/*
 * The twelve shapes as one graph, N replays. Its nodes write to the same places each time: truth is that of
 * every GRAPH_GROUPth of the replays that are sampled. Replays one by one differ from them.
 */
static void replay_mix(const char *section, const arguments &a, bool has_lead)
{
	std::vector<config> configs = twelve_shapes();
	std::vector<config_truth> sums(configs.size());
	phase nodes(configs, make_order((int)configs.size(), 1, true), 0);
	cudaGraphExec_t executable;
	cudaStream_t stream;
	cudaGraph_t graph;
	double begin;

	allocate_records();
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	if (has_lead)
		truth_empty<<<2 * state.sms, 1024, 0, stream>>>();
	for (size_t i = 0; i < nodes.order.size(); i++)
		enqueue(configs[nodes.order[i]], nodes.where(i), stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
	await_sampler();
	begin = now_ns();
	for (int i = 0; i < a.count; i++) {
		CHECK(cudaGraphLaunch(executable, stream));
		if (i % GRAPH_GROUP != GRAPH_GROUP - 1)
			continue;
		CHECK(cudaStreamSynchronize(stream));
		add_replay(nodes, sums);
	}
	CHECK(cudaStreamSynchronize(stream));
	print_phase(section, now_ns() - begin);
	state.captured += nodes.order.size() + has_lead;
	state.graph_launches += 1 + a.count;
	state.graph_kernels = state.graph_launches * (nodes.order.size() + has_lead);
	print_config_header();
	for (size_t c = 0; c < configs.size(); c++) {
		sums[c].launches = state.graph_launches;
		print_config(section, configs[c], sums[c]);
	}
}

static void run_graphmix(const arguments &a)
{
	replay_mix("graphmix", a, false);
}

/* With an empty node first, on all SMs: whose is it, what a graph's first node takes longer? */
static void run_graphlead(const arguments &a)
{
	replay_mix("graphlead", a, true);
}

/* ---- %smid ---- */

#define SMID_PAUSE_NS 3000000

/*
 * The twelve shapes, N of each in turn, with pauses: some 5 s, in which a profiler waits for the steady
 * state and measures. Per launch its active SM-time, SM cycles, and the warps on each SM, as
 * COUNT*WARPS of SMs that follow each other.
 */
static void run_smid(const arguments &a)
{
	std::vector<config> configs = twelve_shapes();
	std::vector<int> order = make_order((int)configs.size(), a.count, true);
	long long first_ordinal;
	phase p(configs, order, 0);

	allocate_records();
	warm_up(configs);
	first_ordinal = state.launched;
	for (size_t i = 0; i < order.size(); i++) {
		launch(configs[order[i]], p.where(i));
		if (order[i] == (int)configs.size() - 1)
			pause_ns(SMID_PAUSE_NS);
	}
	p.fetch();
	printf("#smid\tordinal\tkernel\tgrid\tblock\tsms\tdur_ns\tactive_sm_ns\tactive_"
	       "cycles\tfirst_cycles\tgaps\tfill_step\tfill_cycles\twarps\n");
	for (size_t i = 0; i < order.size(); i++) {
		const config &c = configs[order[i]];
		truth t = truth_of(&p.records[p.place[i]], c.grid);
		std::vector<unsigned> warps(state.sms);

		for (int b = 0; b < c.grid; b++)
			warps[p.records[p.place[i] + b].sm] += p.records[p.place[i] + b].warps;
		printf("smid\t%lld\ttruth_%s\t%d\t%d\t%d\t%llu\t%llu\t%llu\t%llu\t%llu\t%d\t",
		       first_ordinal + (long long)i, kind_names[c.kind], c.grid, c.threads,
		       state.sms, (unsigned long long)t.dur_ns, (unsigned long long)t.active_sm_ns,
		       (unsigned long long)t.active_cycles, (unsigned long long)t.first_cycles,
		       (unsigned long long)t.gaps, FILL_STEP);
		for (int step = 0; step < FILL_STEPS; step++)
			printf("%s%llu", step ? "," : "", (unsigned long long)t.fill_cycles[step]);
		printf("\t");
		for (int sm = 0, end; sm < state.sms; sm = end) {
			for (end = sm; end < state.sms && warps[end] == warps[sm]; end++)
				;
			printf("%s%d*%u", sm ? "," : "", end - sm, warps[sm]);
		}
		printf("\n");
	}
}

#endif /* TRUTH_MODES_CUH */

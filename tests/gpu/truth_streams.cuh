/*
 * truth_streams.cuh - two streams whose kernels run beside each other, and the truth of it: which of
 * a configuration's time it had to itself, which not, and how many SMs of the device were active then.
 *
 * Included by truth.cu alone, after truth_phase.cuh. One host thread.
 */
#ifndef TRUTH_STREAMS_CUH
#define TRUTH_STREAMS_CUH

/* SM-time of the device from its beginning up to any time: a line between the times that it changes. */
struct active_sum {
	std::vector<uint64_t> at_ns;
	std::vector<double> until_sm_ns;

	explicit active_sum(const activity &active)
	{
		std::vector<std::pair<uint64_t, int>> edges;
		double sum = 0;
		int sms = 0;

		for (auto &sm : active.ns)
			for (auto &i : sm) {
				edges.push_back({i.start, 1});
				edges.push_back({i.end, -1});
			}
		std::sort(edges.begin(), edges.end());
		for (auto &edge : edges) {
			if (!at_ns.empty())
				sum += (double)sms * (double)(edge.first - at_ns.back());
			sms += edge.second;
			at_ns.push_back(edge.first);
			until_sm_ns.push_back(sum);
		}
	}
	double until(uint64_t ns) const
	{
		size_t i = std::upper_bound(at_ns.begin(), at_ns.end(), ns) - at_ns.begin();
		double part;

		if (i == 0)
			return 0;
		if (i == at_ns.size())
			return until_sm_ns.back();
		part = (double)(ns - at_ns[i - 1]) / (double)(at_ns[i] - at_ns[i - 1]);
		return until_sm_ns[i - 1] + part * (until_sm_ns[i] - until_sm_ns[i - 1]);
	}
};

/*
 * A block can't see its own launch and exit: check_measured.py says how long its SM is active meanwhile, half
 * of it taken to be before the block, and how much longer after the last one of a launch on an SM that is
 * recorded by CUPTI.
 */
#define BLIND_HALF_NS 71
#define TRACED_NS 121

static void widen(block_record *records, int grid)
{
	std::vector<int> last(state.sms, -1);

	for (int b = 0; b < grid; b++) {
		int &of_sm = last[records[b].sm % state.sms];

		records[b].start_ns -= BLIND_HALF_NS;
		records[b].end_ns += BLIND_HALF_NS;
		if (of_sm < 0 || records[b].end_ns > records[of_sm].end_ns)
			of_sm = b;
	}
	for (int b : last)
		if (b >= 0)
			records[b].end_ns += TRACED_NS;
}

/* Sums over all launches of a configuration. */
struct stream_truth {
	double alone_ns, alone_sm_ns, joint_ns, joint_sm_ns;
};

struct stream_launch {
	uint64_t start_ns, end_ns;
	int config;
};

/* Cuts time where a kernel starts or ends; each slice is that of one kernel, or of several. */
static std::vector<stream_truth> share_time(const std::vector<stream_launch> &launches,
                                            const active_sum &sum, size_t configs)
{
	std::vector<std::pair<uint64_t, int>> edges; /* +1 + launch, or -1 - launch */
	std::vector<stream_truth> result(configs);
	std::vector<int> running;
	uint64_t before_ns = 0;

	for (size_t i = 0; i < launches.size(); i++) {
		edges.push_back({launches[i].start_ns, 1 + (int)i});
		edges.push_back({launches[i].end_ns, -1 - (int)i});
	}
	std::sort(edges.begin(), edges.end());
	for (auto &edge : edges) {
		double ns = (double)(edge.first - before_ns);

		if (!running.empty() && edge.first > before_ns) {
			double sm_ns = sum.until(edge.first) - sum.until(before_ns);

			for (int i : running) {
				stream_truth &t = result[launches[i].config];

				(running.size() > 1 ? t.joint_ns : t.alone_ns) += ns;
				(running.size() > 1 ? t.joint_sm_ns : t.alone_sm_ns) += sm_ns;
			}
		}
		before_ns = edge.first;
		if (edge.second > 0)
			running.push_back(edge.second - 1);
		else
			running.erase(std::find(running.begin(), running.end(), -edge.second - 1));
	}
	return result;
}

/* Six shapes on one stream in random order; with every third, one of the other six on a second. */
static void queue_streams(const phase &p, const cudaStream_t streams[2], cudaEvent_t together)
{
	for (size_t i = 0; i < p.order.size(); i++) {
		bool is_second = p.order[i] % 2;

		if (is_second) { /* not before what the first stream has run so far */
			CHECK(cudaEventRecord(together, streams[0]));
			CHECK(cudaStreamWaitEvent(streams[1], together, 0));
		}
		launch(p.configs[p.order[i]], p.where(i), streams[is_second]);
	}
	CHECK(cudaDeviceSynchronize());
}

/* Even shapes three times as often as odd ones, which are of the second stream. */
static std::vector<int> streams_order(int shapes, int repeats)
{
	std::vector<int> first, second, order;

	for (int i = 0; i < repeats; i++)
		for (int c = 0; c < shapes; c += 2)
			first.push_back(c);
	for (int i = 0; i < repeats / 3; i++)
		for (int c = 1; c < shapes; c += 2)
			second.push_back(c);
	shuffle(first);
	shuffle(second);
	for (size_t i = 0; i < first.size(); i++) {
		if (i % 3 == 0 && i / 3 < second.size())
			order.push_back(second[i / 3]);
		order.push_back(first[i]);
	}
	return order;
}

/* ---- the course of a round, for a file */

#define COURSE_STEP_NS 100
#define COURSE_FILL_NS 140 /* between blocks of an SM: it was hardly empty */

/*
 * How many SMs begin and how many cease to be active in each step, by what blocks saw. With their launches:
 * then time alone and beside others can be told by anybody's idea of when a kernel begins and ends.
 */
struct course {
	uint64_t first_ns;
	std::vector<uint8_t> begins, ends;

	explicit course(const phase &p)
	{
		std::vector<std::vector<interval>> by_sm(state.sms);
		uint64_t last_ns = 0;

		first_ns = UINT64_MAX;
		for (size_t i = 0; i < p.order.size(); i++)
			for (int b = 0; b < p.configs[p.order[i]].grid; b++) {
				const block_record &r = p.records[p.place[i] + b];

				by_sm[r.sm % state.sms].push_back(
				        {r.start_ns, r.end_ns + COURSE_FILL_NS});
				first_ns = std::min(first_ns, r.start_ns);
				last_ns = std::max(last_ns, r.end_ns);
			}
		begins.resize((last_ns - first_ns) / COURSE_STEP_NS + 1);
		ends.resize(begins.size());
		for (auto &blocks : by_sm) {
			join_intervals(blocks);
			for (auto &i : blocks) {
				begins[(i.start - first_ns) / COURSE_STEP_NS]++;
				ends[(i.end - COURSE_FILL_NS - first_ns) / COURSE_STEP_NS]++;
			}
		}
	}
};

/*
 * Appends a round: "TRUTHCRS", first_ns, how many steps and launches (8 bytes each); begins, ends (a byte a
 * step); each launch's configuration, first block's start and last one's end since first_ns (4 bytes each).
 */
static void write_course(const phase &p, FILE *file)
{
	course c(p);
	uint64_t head[3] = {c.first_ns, c.begins.size(), p.order.size()};
	std::vector<uint32_t> launches;

	for (size_t i = 0; i < p.order.size(); i++) {
		uint64_t first_ns = UINT64_MAX, last_ns = 0;

		for (int b = 0; b < p.configs[p.order[i]].grid; b++) {
			first_ns = std::min(first_ns, p.records[p.place[i] + b].start_ns);
			last_ns = std::max(last_ns, p.records[p.place[i] + b].end_ns);
		}
		for (uint64_t value :
		     {(uint64_t)p.order[i], first_ns - c.first_ns, last_ns - c.first_ns})
			launches.push_back((uint32_t)value);
	}
	fwrite("TRUTHCRS", 8, 1, file);
	fwrite(head, sizeof(head), 1, file);
	fwrite(c.begins.data(), 1, c.begins.size(), file);
	fwrite(c.ends.data(), 1, c.ends.size(), file);
	fwrite(launches.data(), sizeof(launches[0]), launches.size(), file);
}

/*
 * The same launches in the same order, again and again for so long: blocks of the last round stay; the course
 * of each goes to the file that TRUTH_COURSE names, if any.
 */
static void run_rounds(phase &p, int seconds)
{
	const char *path = getenv("TRUTH_COURSE");
	FILE *file = path ? fopen(path, "wb") : NULL;
	double ran_ns = 0;
	cudaStream_t streams[2];
	cudaEvent_t together;
	int rounds = 0;

	CHECK(cudaEventCreateWithFlags(&together, cudaEventDisableTiming));
	for (auto &stream : streams)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	do {
		double begin = now_ns();

		queue_streams(p, streams, together);
		ran_ns += now_ns() - begin;
		rounds++;
		if (!file)
			continue;
		p.fetch();
		write_course(p, file);
	} while (ran_ns < seconds * 1e9);
	if (path && (!file || fclose(file)))
		fprintf(stderr, "truth: %s can't be written\n", path);
	print_phase("streams", ran_ns);
	fprintf(stderr, "truth: streams: %d rounds in %.1f s\n", rounds, ran_ns / 1e9);
}

static std::vector<stream_truth> truth_of_streams(const phase &p,
                                                  const std::vector<config> &configs)
{
	std::vector<stream_launch> launches;
	activity active;

	for (size_t i = 0; i < p.order.size(); i++) {
		const block_record *records = &p.records[p.place[i]];
		int grid = configs[p.order[i]].grid;
		truth t = truth_of(records, grid);

		launches.push_back({t.first_ns, t.first_ns + t.dur_ns, p.order[i]});
		for (int b = 0; b < grid; b++)
			active.add(records[b]);
	}
	active.join();
	return share_time(launches, active_sum(active), configs.size());
}

/*
 * Rounds of N launches of each even shape; truth is that of the last round, scaled by who reads it. Twice: as
 * blocks saw it, and with what they can't see.
 */
static void run_streams(const arguments &a)
{
	std::vector<config> configs = twelve_shapes();
	phase p(configs, streams_order((int)configs.size(), a.count), 0);
	std::vector<stream_truth> seen, wide;

	allocate_records();
	warm_up(configs);
	await_sampler();
	run_rounds(p, a.more);
	p.fetch();
	seen = truth_of_streams(p, configs);
	for (size_t i = 0; i < p.order.size(); i++)
		widen(&p.records[p.place[i]], configs[p.order[i]].grid);
	wide = truth_of_streams(p, configs);
	printf("#stream\tsection\tkernel\tgrid\tblock\tsmem_bytes\tsms\tlaunches\talone_ns\talone_"
	       "sm_ns\t"
	       "joint_ns\tjoint_sm_ns\twide_alone_ns\twide_alone_sm_ns\twide_joint_ns\twide_joint_"
	       "sm_"
	       "ns\n");
	for (size_t c = 0; c < configs.size(); c++)
		printf("stream\tstreams\ttruth_%s\t%d\t%d\t%d\t%d\t%lld\t%.0f\t%.0f\t%.0f\t%.0f\t%."
		       "0f\t%."
		       "0f\t%.0f\t%.0f\n",
		       kind_names[configs[c].kind], configs[c].grid, configs[c].threads,
		       configs[c].smem_bytes, state.sms, p.launches[c], seen[c].alone_ns,
		       seen[c].alone_sm_ns, seen[c].joint_ns, seen[c].joint_sm_ns, wide[c].alone_ns,
		       wide[c].alone_sm_ns, wide[c].joint_ns, wide[c].joint_sm_ns);
}

#endif /* TRUTH_STREAMS_CUH */

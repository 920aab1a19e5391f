/*
 * truth_streams.cuh - two streams whose kernels run beside each other, and the truth of it: how many SMs of
 * the device were active at any time. Which of it a kernel had to itself, is told by stream_course.py, as the
 * run file to be judged has it: cut by anybody else's times it would be another question.
 *
 * Included by truth.cu alone, after truth_phase.cuh. One host thread.
 */
#ifndef TRUTH_STREAMS_CUH
#define TRUTH_STREAMS_CUH

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
 * The same launches in the same order, again and again for so long. The course of each round goes to the file
 * that TRUTH_COURSE names, if any.
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

/* Rounds of N launches of each even shape. Truth is the course; here is what the numbers in it mean. */
static void run_streams(const arguments &a)
{
	std::vector<config> configs = twelve_shapes();
	phase p(configs, streams_order((int)configs.size(), a.count), 0);

	allocate_records();
	warm_up(configs);
	await_sampler();
	run_rounds(p, a.more);
	printf("#stream\tsection\tkernel\tgrid\tblock\tsmem_bytes\tsms\tlaunches\n");
	for (size_t c = 0; c < configs.size(); c++)
		printf("stream\tstreams\ttruth_%s\t%d\t%d\t%d\t%d\t%lld\n",
		       kind_names[configs[c].kind], configs[c].grid, configs[c].threads,
		       configs[c].smem_bytes, state.sms, p.launches[c]);
}

#endif /* TRUTH_STREAMS_CUH */

/*
 * truth_storm.cuh - a program that does the same over and over until its input ends, and says of each
 * piece of that when it was and how long it took: for comparing times with a sampler and without.
 *
 * Included by truth.cu alone. One host thread; looks at its input between pieces, without waiting.
 */
#ifndef TRUTH_STORM_CUH
#define TRUTH_STORM_CUH

#include <poll.h>

#define STORM_LAUNCHES 1000
#define STORM_KERNELS 100
#define STORM_WORK 4 /* times that of `tail`: 600 us a kernel on an H200 */

struct piece {
	double begin_ns, end_ns; /* CLOCK_MONOTONIC */
	double launch_ns; /* of one launch call */
	double kernel_ns; /* of one kernel that is bound by FP32 pipes */
	double sm_mhz; /* by the clocks of the SMs: their cycles over %globaltimer */
};

static bool is_input_over()
{
	pollfd input = {0, POLLIN, 0};

	return poll(&input, 1, 0) > 0;
}

static piece run_piece(const config &fma, const config &clock)
{
	piece p = {};
	truth t;
	double at;

	p.begin_ns = at = now_ns();
	for (int i = 0; i < STORM_LAUNCHES; i++)
		truth_empty<<<1, 32>>>();
	p.launch_ns = (now_ns() - at) / STORM_LAUNCHES;
	CHECK(cudaDeviceSynchronize());
	at = now_ns();
	for (int i = 0; i < STORM_KERNELS; i++)
		launch(fma, state.device_records);
	CHECK(cudaDeviceSynchronize());
	p.kernel_ns = (now_ns() - at) / STORM_KERNELS;
	launch(clock, state.device_records);
	CHECK(cudaDeviceSynchronize());
	p.end_ns = now_ns();
	CHECK(cudaMemcpy(state.records.data(), state.device_records,
	                 sizeof(block_record) * clock.grid, cudaMemcpyDeviceToHost));
	t = truth_of(state.records.data(), clock.grid);
	p.sm_mhz = 1e3 * (double)t.active_cycles / (double)t.active_sm_ns;
	state.launched += STORM_LAUNCHES;
	return p;
}

static void run_storm(const arguments &)
{
	config fma = tail_config(KIND_FMA, 4), clock = {KIND_CLOCK, state.sms, 256, 0, 4000000};
	std::vector<piece> pieces;

	fma.grid = 4 * state.sms;
	fma.work *= STORM_WORK;
	allocate_records();
	run_piece(fma, clock); /* loads */
	printf("ready\n");
	fflush(stdout);
	while (!is_input_over())
		pieces.push_back(run_piece(fma, clock));
	printf("#piece\tbegin_ns\tend_ns\tlaunch_ns\tkernel_ns\tsm_mhz\n");
	for (auto &p : pieces)
		printf("piece\t%.0f\t%.0f\t%.1f\t%.1f\t%.2f\n", p.begin_ns, p.end_ns, p.launch_ns,
		       p.kernel_ns, p.sm_mhz);
}

#endif /* TRUTH_STORM_CUH */

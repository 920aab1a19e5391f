/*
 * link_truth.cu - is each kernel linked to the call that launched it? Threads launch the same
 * configuration into streams that they share, as fast as they go, and every kernel writes down
 * its launch id, its place in its stream, and %globaltimer.
 *
 * Kernels of one stream run one after the other, so a counter per stream gives their true order,
 * whatever any clock says. Streams get different shares of the launches (1:2:3:4), so that each
 * can be told by its number of kernels. check_links.py compares with a run file.
 *
 * Prints, tab separated: "thread" lines (number, kernel's thread id), then "launch" lines (stream,
 * place in it, thread, ordinal in the thread, %globaltimer of its one block).
 *
 * Build: nvcc -O2 -arch=sm_90 -o link_truth link_truth.cu
 * Usage: link_truth [THREADS [LAUNCHES-PER-THREAD]]     default 8 and 20,000
 * Exit:  0 done, 1 a CUDA call failed, 2 usage, 77 no device
 */
#include <atomic>
#include <cstdint>
#include <ctime>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "cover.h"

#define STREAMS 4
#define BURST 250 /* launches of a thread between pauses, so that no record is dropped */
#define PAUSE_NS 10000000

struct record {
	uint32_t place;
	uint32_t stream;
	uint64_t timer_ns;
};

__device__ uint32_t places[STREAMS];

extern "C" __global__ void link_probe(record *records, uint32_t id, uint32_t stream)
{
	uint64_t now_ns;

	if (threadIdx.x) /* a launch is counted once */
		return;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns)::"memory");
	records[id].timer_ns = now_ns;
	records[id].stream = stream;
	records[id].place = atomicAdd(&places[stream], 1u);
}

static uint32_t stream_of(uint32_t launch)
{
	static const uint32_t shares[10] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3};

	return shares[launch % 10];
}

int main(int argc, char **argv)
{
	int thread_count = argc > 1 ? atoi(argv[1]) : 8;
	int per_thread = argc > 2 ? atoi(argv[2]) : 20000;
	std::vector<cudaStream_t> streams(STREAMS);
	std::vector<std::thread> threads;
	std::vector<record> records;
	std::vector<long> tids;
	std::atomic<int> waiting;
	record *on_device;

	if (argc > 3 || thread_count < 1 || thread_count > 256 || per_thread < 1 ||
	    per_thread > 1000000) {
		fprintf(stderr, "usage: link_truth [THREADS [LAUNCHES-PER-THREAD]]\n");
		return 2;
	}
	need_device();
	records.resize((size_t)thread_count * per_thread);
	tids.resize(thread_count);
	waiting = thread_count;
	CHECK(cudaMalloc(&on_device, records.size() * sizeof(record)));
	for (auto &stream : streams)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int t = 0; t < thread_count; t++) {
		threads.emplace_back([&, t] {
			const struct timespec pause = {0, PAUSE_NS};

			tids[t] = syscall(SYS_gettid);
			for (waiting--; waiting;) /* all at once */
				std::this_thread::yield();
			for (int i = 0; i < per_thread; i++) {
				uint32_t stream = stream_of(i + t);

				link_probe<<<1, 32, 0, streams[stream]>>>(
				        on_device, (uint32_t)(t * per_thread + i), stream);
				launched();
				if (i % BURST == BURST - 1)
					nanosleep(&pause, nullptr);
			}
		});
	}
	for (auto &thread : threads)
		thread.join();
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(records.data(), on_device, records.size() * sizeof(record),
	                 cudaMemcpyDeviceToHost));
	for (int t = 0; t < thread_count; t++)
		printf("thread\t%d\t%ld\n", t, tids[t]);
	for (size_t id = 0; id < records.size(); id++)
		printf("launch\t%u\t%u\t%zu\t%zu\t%llu\n", records[id].stream, records[id].place,
		       id / per_thread, id % per_thread, (unsigned long long)records[id].timer_ns);
	return finish();
}

/*
 * app_classes.c - kernels of every class, side by side: what they use of the tensor pipe, DRAM and issue
 * slots is in their directives, and a partial last wave in their grids. In random order; two of them a few
 * times in the whole run. For the simulated GPU: to a real one all of them only spin. One thread.
 *
 *	app_classes [--seconds S]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake/app_demo_ptx.h"
#include "tests/fake/app_driver.h"

#define RARE_FROM_S 0.8 /* when all metrics are sampled for the first time */
#define RARE_UNTIL_S 3.2
#define RARE_COUNT 24 /* of both */
#define THREADS 512
#define US 30.0

static const char classes_ptx[] = ".version 6.0\n"
                                  ".target sm_60\n"
                                  ".address_size 64\n"
        // clang-format off
	SPIN_KERNEL_PLAIN("class_fma", "") " issue=0.9 sharing=1\n"
	SPIN_KERNEL_PLAIN("class_tensor", "") " tensor=0.9 issue=0.2 sharing=1\n"
	SPIN_KERNEL_PLAIN("class_dram", "") " dram_bytes_per_ns=3000 dram_write_bytes_per_ns=1000 issue=0.1\n"
	SPIN_KERNEL_PLAIN("class_chase", "") " issue=0.03 dram_bytes_per_ns=100\n"
	SPIN_KERNEL_PLAIN("class_half", "") " issue=0.45\n"
	SPIN_KERNEL_PLAIN("class_tensor_dram", "") " tensor=0.9 dram_bytes_per_ns=3300 issue=0.2\n"
	SPIN_KERNEL_PLAIN("class_dram_tensor", "") " tensor=0.55 dram_bytes_per_ns=4600 issue=0.2\n"
	SPIN_KERNEL_PLAIN("class_edge", "") " dram_bytes_per_ns=2950 issue=0.1\n"
	SPIN_KERNEL_PLAIN("class_rare_fma", "") " issue=0.9 sharing=1\n"
	SPIN_KERNEL_PLAIN("class_rare_dram", "") " dram_bytes_per_ns=4500 issue=0.1\n";
// clang-format on

static const char *const names[] = {"class_fma",         "class_tensor", "class_dram",
                                    "class_chase",       "class_half",   "class_tensor_dram",
                                    "class_dram_tensor", "class_edge",   "class_rare_fma",
                                    "class_rare_dram"};
#define KERNELS ((int)(sizeof(names) / sizeof(names[0])))
#define COMMON (KERNELS - 2)

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Which is next. The rare ones take turns. */
static int choose(double at_s)
{
	static unsigned seed = 1;
	static int rare;

	if (rare < RARE_COUNT &&
	    at_s > RARE_FROM_S + rare * (RARE_UNTIL_S - RARE_FROM_S) / RARE_COUNT)
		return COMMON + rare++ % 2;
	seed = seed * 1664525u + 1013904223u;
	return (int)((seed >> 16) % COMMON);
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 && !strcmp(argv[1], "--seconds") ? atof(argv[2]) : 6;
	int sms = 0, clock_khz = 0, per_sm[KERNELS];
	wtcu_function functions[KERNELS];
	unsigned long launches = 0;
	wtcu_module module;
	wtcu_stream stream;
	uint64_t cycles;
	double start_s = now_s(), end_s;

	app_load("dlsym");
	module = app_start(0, classes_ptx);
	APP_CHECK(app.device_attribute(&sms, WTCU_DEVICE_MULTIPROCESSOR_COUNT, 0));
	APP_CHECK(app.device_attribute(&clock_khz, WTCU_DEVICE_CLOCK_RATE, 0));
	cycles = (uint64_t)(US * clock_khz / 1e3);
	APP_CHECK(app.stream_create(&stream, 0));
	for (int i = 0; i < KERNELS; i++) {
		APP_CHECK(app.module_function(&functions[i], module, names[i]));
		APP_CHECK(app.occupancy(&per_sm[i], functions[i], THREADS, 0));
	}
	for (end_s = start_s + seconds; now_s() < end_s; launches++) {
		int i = choose(now_s() - start_s);
		unsigned blocks = (unsigned)(per_sm[i] * sms + sms / 3);
		void *params[] = {&cycles};

		APP_CHECK(app.launch(functions[i], blocks, 1, 1, THREADS, 1, 1, 0, stream, params,
		                     NULL));
		if (launches % 64 == 63)
			APP_CHECK(app.stream_sync(stream));
	}
	APP_CHECK(app.ctx_sync());
	printf("%lu launches\n", launches);
	return 0;
}

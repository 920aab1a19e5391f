/*
 * app_compare.c - a training loop of one kind, and the same with one thing changed: for `wavetap compare`.
 *
 *	app_compare [--steps N] [--seed S] [--change WHAT]
 *
 * WHAT: none; slow (one kernel 3 % slower), slower (10 %), block (a grid of one block over two full waves), registers
 * (so many that a quarter as many blocks fit), sync (a second wait in each step), rename (a compiler numbered its kernels
 * anew), graph (half of the kernels in a graph), odd (one step in the middle that is another, and waits a hundred times). Launches of a kernel differ by 0.5 % from one to the next (by the
 * seed), and all of a run by 0.3 % at most. On the simulated GPU only. Prints what it launched. One thread.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/app_driver.h"

#define KERNELS 6
#define ROUNDS 4 /* of the first kernels, in a step */
#define WIDE 2 /* the kernel that changes */

static const struct {
	const char *name, *renamed;
	int regs, threads, waves; /* full ones */
	double us;
} kernels[KERNELS] = {
        {"cmp_load", "cmp_load", 16, 256, 1, 30},
        {"triton_poi_fused_add_3", "triton_poi_fused_add_5", 32, 256, 1, 25},
        {"triton_red_fused_norm_4", "triton_red_fused_norm_6", 32, 256, 2, 60},
        {"cmp_gemm_bf16_128x64", "cmp_gemm_bf16_256x64", 64, 256, 3, 80},
        {"cmp_softmax", "cmp_softmax", 16, 128, 1, 12},
        {"multi_tensor_apply_adam", "multi_tensor_apply_adam", 32, 512, 1, 40},
};

static struct {
	int steps;
	uint64_t seed;
	const char *change;
} opt = {60, 1, "none"};

static struct {
	wtcu_function functions[KERNELS];
	unsigned int blocks[KERNELS];
	wtcu_stream stream;
	wtcu_graph_exec graph;
	double by[KERNELS];
	unsigned long launches;
} run;

static bool is_change(const char *what)
{
	return !strcmp(opt.change, what);
}

static double uniform(void)
{
	opt.seed ^= opt.seed << 13;
	opt.seed ^= opt.seed >> 7;
	opt.seed ^= opt.seed << 17;
	return (double)(opt.seed >> 11) / 9007199254740992.0;
}

/* The PTX: a comment per kernel says what the simulated GPU makes of it. */
static char *make_ptx(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		exit(1);
	fputs(".version 6.0\n.target sm_60\n.address_size 64\n", out);
	for (int i = 0; i < KERNELS; i++) {
		const char *name = is_change("rename") ? kernels[i].renamed : kernels[i].name;
		int regs = i == WIDE && is_change("registers") ? 128 : kernels[i].regs;

		fprintf(out, ".visible .entry %s(.param .u64 ns)\n{\nret;\n}\n", name);
		fprintf(out, "// wtfake: kernel=%s regs=%d param=0 param_ns=1\n", name, regs);
	}
	fclose(out);
	return text;
}

static void launch(int i)
{
	double factor = i == WIDE && is_change("slow")     ? 1.03
	                : i == WIDE && is_change("slower") ? 1.10
	                                                   : 1;
	double us = kernels[i].us / kernels[i].waves * run.by[i] * factor;
	uint64_t ns = (uint64_t)(us * 1000 * (1 + 0.01 * (uniform() - 0.5)));
	void *params[] = {&ns};

	APP_CHECK(app.launch(run.functions[i], run.blocks[i], 1, 1, (unsigned)kernels[i].threads, 1,
	                     1, 0, run.stream, params, NULL));
	run.launches++;
}

static void odd_step(void)
{
	for (int i = 0; i < 100; i++) {
		launch(KERNELS - 2);
		APP_CHECK(app.stream_sync(run.stream));
	}
}

static void step(void)
{
	launch(0);
	for (int round = 0; round < ROUNDS; round++) {
		if (run.graph)
			APP_CHECK(app.graph_launch(run.graph, run.stream));
		for (int i = run.graph ? 3 : 1; i < KERNELS - 1; i++)
			launch(i);
	}
	if (is_change("sync"))
		APP_CHECK(app.stream_sync(run.stream));
	launch(KERNELS - 1);
	APP_CHECK(app.stream_sync(run.stream));
}

static void make_graph(void)
{
	wtcu_graph graph;

	APP_CHECK(app.begin_capture(run.stream, 1));
	launch(1);
	launch(2);
	APP_CHECK(app.end_capture(run.stream, &graph));
	APP_CHECK(app.instantiate(&run.graph, graph, 0));
	APP_CHECK(app.graph_destroy(graph));
}

static void set_up(void)
{
	char *ptx = make_ptx();
	wtcu_module module = app_start(0, ptx);
	int sms = 0;

	APP_CHECK(app.device_attribute(&sms, WTCU_DEVICE_MULTIPROCESSOR_COUNT, 0));
	for (int i = 0; i < KERNELS; i++) {
		int per_sm = 0;

		APP_CHECK(app.module_function(&run.functions[i], module,
		                              is_change("rename") ? kernels[i].renamed
		                                                  : kernels[i].name));
		APP_CHECK(app.occupancy(&per_sm, run.functions[i], kernels[i].threads, 0));
		run.blocks[i] = (unsigned)(per_sm * sms * kernels[i].waves);
		if (i == WIDE && is_change("registers"))
			run.blocks[i] *= 4; /* the same work: a quarter as many fit */
		if (i == WIDE && is_change("block"))
			run.blocks[i]++;
		run.by[i] = 1 + 0.006 * (uniform() - 0.5);
	}
	APP_CHECK(app.stream_create(&run.stream, 0));
	if (is_change("graph"))
		make_graph();
	free(ptx);
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--steps"))
			opt.steps = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--seed"))
			opt.seed =
			        strtoull(argv[i + 1], NULL, 10) * 2654435761u + 88172645463325252u;
		else if (!strcmp(argv[i], "--change"))
			opt.change = argv[i + 1];
	}
	if (argc % 2 == 0) {
		fprintf(stderr, "usage: app_compare [--steps N] [--seed S] [--change WHAT]\n");
		return 2;
	}
	app_load("dlsym");
	set_up();
	for (int i = 0; i < opt.steps; i++) {
		if (is_change("odd") && i == opt.steps / 2)
			odd_step();
		step();
	}
	APP_CHECK(app.ctx_sync());
	printf("%d steps, %lu launches, change %s\n", opt.steps, run.launches, opt.change);
	return 0;
}

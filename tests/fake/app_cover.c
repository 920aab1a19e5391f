/*
 * app_cover.c - programs that use the driver in the less usual ways, one per argument: clusters,
 * attributes, child graphs, conditional nodes, updated nodes, several contexts, green contexts,
 * threads, streams and modules that come and go. Prints what it did as NAME=COUNT words.
 *
 * Most of it runs on a real GPU as well (tests/gpu/coverage.sh); `conditionals`, `attributes` and
 * `modules` don't: what the kernels do is told to the simulated one in comments of the PTX, and
 * a real driver may not survive calls that must fail.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/app_driver.h"

#define THREADS_AT_ONCE 8

static const char cover_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".visible .entry cover_plain()\n{\nret;\n}\n"
                                "// wtfake: kernel=cover_plain regs=24 block_ns=3000\n"
                                ".visible .entry cover_other()\n{\nret;\n}\n"
                                "// wtfake: kernel=cover_other regs=64 block_ns=2000\n"
                                ".visible .entry cover_count(.param .u64 handle)\n{\nret;\n}\n"
                                "// wtfake: kernel=cover_count block_ns=1500 counts_down=1\n";

/* Entries that app_driver.h has no need of. */
#define COVER_FUNCTIONS                                                                            \
	COVER_FN(ctx_create, cuCtxCreate_v2, (wtcu_context *, unsigned int, wtcu_device))          \
	COVER_FN(ctx_destroy, cuCtxDestroy_v2, (wtcu_context))                                     \
	COVER_FN(module_unload, cuModuleUnload, (wtcu_module))                                     \
	COVER_FN(stream_destroy, cuStreamDestroy_v2, (wtcu_stream))                                \
	COVER_FN(graph_create, cuGraphCreate, (wtcu_graph *, unsigned int))                        \
	COVER_FN(exec_destroy, cuGraphExecDestroy, (wtcu_graph_exec))                              \
	COVER_FN(add_kernel, cuGraphAddKernelNode_v2,                                              \
	         (wtcu_graph_node *, wtcu_graph, const wtcu_graph_node *, size_t,                  \
	          const struct wtcu_kernel_node_params *))                                         \
	COVER_FN(add_child, cuGraphAddChildGraphNode,                                              \
	         (wtcu_graph_node *, wtcu_graph, const wtcu_graph_node *, size_t, wtcu_graph))     \
	COVER_FN(add_node, cuGraphAddNode_v2,                                                      \
	         (wtcu_graph_node *, wtcu_graph, const wtcu_graph_node *, const void *, size_t,    \
	          struct wtcu_node_params *))                                                      \
	COVER_FN(                                                                                  \
	        conditional_create, cuGraphConditionalHandleCreate,                                \
	        (wtcu_conditional_handle *, wtcu_graph, wtcu_context, unsigned int, unsigned int)) \
	COVER_FN(exec_set_kernel, cuGraphExecKernelNodeSetParams_v2,                               \
	         (wtcu_graph_exec, wtcu_graph_node, const struct wtcu_kernel_node_params *))       \
	COVER_FN(exec_update, cuGraphExecUpdate_v2,                                                \
	         (wtcu_graph_exec, wtcu_graph, struct wtcu_graph_exec_update_result *))            \
	COVER_FN(set_enabled, cuGraphNodeSetEnabled,                                               \
	         (wtcu_graph_exec, wtcu_graph_node, unsigned int))                                 \
	COVER_FN(device_resource, cuDeviceGetDevResource,                                          \
	         (wtcu_device, struct wtcu_resource *, int))                                       \
	COVER_FN(split, cuDevSmResourceSplitByCount,                                               \
	         (struct wtcu_resource *, unsigned int *, const struct wtcu_resource *,            \
	          struct wtcu_resource *, unsigned int, unsigned int))                             \
	COVER_FN(make_desc, cuDevResourceGenerateDesc,                                             \
	         (wtcu_resource_desc *, struct wtcu_resource *, unsigned int))                     \
	COVER_FN(green_create, cuGreenCtxCreate,                                                   \
	         (wtcu_green_context *, wtcu_resource_desc, wtcu_device, unsigned int))            \
	COVER_FN(green_context, cuCtxFromGreenCtx, (wtcu_context *, wtcu_green_context))           \
	COVER_FN(green_stream, cuGreenCtxStreamCreate,                                             \
	         (wtcu_stream *, wtcu_green_context, unsigned int, int))                           \
	COVER_FN(green_destroy, cuGreenCtxDestroy, (wtcu_green_context))

static struct {
#define COVER_FN(field, symbol, params) wtcu_result(*field) params;
	COVER_FUNCTIONS
#undef COVER_FN
} cu;

static struct {
	_Atomic unsigned long attempted, ok, failed, captured, graph_launches, graph_failed,
	        node_kernels;
} counts;

static wtcu_module module;
static wtcu_function plain, other, counter;

static void counted(wtcu_result result)
{
	counts.attempted++;
	if (result)
		counts.failed++;
	else
		counts.ok++;
}

static void launch(wtcu_function f, unsigned int grid, wtcu_stream stream)
{
	counted(app.launch(f, grid, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

static void graph_launch(wtcu_graph_exec exec, wtcu_stream stream, unsigned long kernels)
{
	counted(app.graph_launch(exec, stream));
	counts.graph_launches++;
	counts.node_kernels += kernels;
}

static void get_functions(void)
{
	APP_CHECK(app.module_function(&plain, module, "cover_plain"));
	APP_CHECK(app.module_function(&other, module, "cover_other"));
	APP_CHECK(app.module_function(&counter, module, "cover_count"));
}

static void load(void)
{
	app_load("getproc_v2");
#define COVER_FN(field, symbol, params) *(void **)&cu.field = app_symbol(#symbol);
	COVER_FUNCTIONS
#undef COVER_FN
}

static void start(void)
{
	load();
	module = app_start(0, cover_ptx);
	get_functions();
}

/* ---- launches with attributes */

static struct wtcu_launch_config config_of(unsigned int grid, struct wtcu_launch_attribute *attrs,
                                           unsigned int attr_count)
{
	return (struct wtcu_launch_config){
	        .grid_x = grid,
	        .grid_y = 1,
	        .grid_z = 1,
	        .block_x = 256,
	        .block_y = 1,
	        .block_z = 1,
	        .attrs = attrs,
	        .attr_count = attr_count,
	};
}

static void clusters(void)
{
	start();
	for (unsigned int i = 0; i < 300; i++) {
		unsigned int size = 1u << (i % 4); /* 1 2 4 8 */
		struct wtcu_launch_attribute attrs[] = {
		        {.id = WTCU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
		         .value.cluster_dim = {size, 1, 1}},
		        {.id = WTCU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = i % 3 == 0},
		        {.id = WTCU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		         .value.programmatic_stream_serialization_allowed = i % 2},
		};
		struct wtcu_launch_config config = config_of(64 * (1 + i % 3), attrs, 3);

		counted(app.launch_ex(&config, i % 2 ? plain : other, NULL, NULL));
	}
}

/* NULL, unknown and odd attributes; clusters that don't fit the grid. */
static void attributes(void)
{
	struct wtcu_launch_attribute attrs[] = {
	        {.id = 1000, .value.pad = {1, 2, 3}},
	        {.id = -1},
	        {.id = WTCU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.cluster_dim = {3, 1, 1}},
	};
	struct wtcu_launch_config good = config_of(66, attrs, 2), bare = config_of(66, NULL, 0);
	struct wtcu_launch_config none = config_of(66, NULL, 5), bad = config_of(64, attrs, 3);

	start();
	for (int i = 0; i < 50; i++) {
		counted(app.launch_ex(&good, plain, NULL, NULL));
		counted(app.launch_ex(&bare, other, NULL, NULL));
		counted(app.launch_ex(&none, plain, NULL, NULL)); /* fails */
		counted(app.launch_ex(&bad, plain, NULL, NULL)); /* fails */
		counted(app.launch_ex(NULL, plain, NULL, NULL)); /* fails */
	}
}

/* ---- graphs */

static struct wtcu_kernel_node_params node_of(wtcu_function f, unsigned int grid)
{
	return (struct wtcu_kernel_node_params){
	        .function = f,
	        .grid_x = grid,
	        .grid_y = 1,
	        .grid_z = 1,
	        .block_x = 128,
	        .block_y = 1,
	        .block_z = 1,
	};
}

/* A chain of kernel nodes; their handles in `nodes` unless NULL. */
static wtcu_graph chain(int count, unsigned int grid, wtcu_graph_node *nodes)
{
	wtcu_graph_node last = NULL;
	wtcu_graph graph;

	APP_CHECK(cu.graph_create(&graph, 0));
	for (int i = 0; i < count; i++) {
		struct wtcu_kernel_node_params params =
		        node_of(i % 2 ? other : plain, grid + (unsigned int)i);

		APP_CHECK(cu.add_kernel(&last, graph, last ? &last : NULL, last ? 1 : 0, &params));
		if (nodes)
			nodes[i] = last;
	}
	return graph;
}

static wtcu_graph_exec instantiate(wtcu_graph graph)
{
	wtcu_graph_exec exec;

	APP_CHECK(app.instantiate(&exec, graph, 0));
	return exec;
}

/* Child graphs, two deep: 3 + 2 * (2 + 4) kernels. */
static void children(void)
{
	wtcu_graph outer, middle, inner, captured;
	wtcu_graph_exec exec;
	wtcu_graph_node node;
	wtcu_stream stream;

	start();
	inner = chain(4, 10, NULL);
	middle = chain(2, 100, NULL);
	outer = chain(3, 200, NULL);
	APP_CHECK(cu.add_child(&node, middle, NULL, 0, inner));
	APP_CHECK(cu.add_child(&node, outer, NULL, 0, middle));
	APP_CHECK(cu.add_child(&node, outer, &node, 1, middle));
	exec = instantiate(outer);
	for (int i = 0; i < 40; i++) {
		graph_launch(exec, NULL, 3 + 2 * (2 + 4));
		launch(plain, 132, NULL);
	}
	/* A graph can't be launched into a capture: that is refused, what follows, too. */
	APP_CHECK(app.stream_create(&stream, 1));
	APP_CHECK(app.begin_capture(stream, WTCU_CAPTURE_MODE_THREAD_LOCAL));
	launch(plain, 301, stream);
	counts.captured++;
	counts.attempted++;
	if (app.graph_launch(exec, stream))
		counts.graph_failed++;
	launch(other, 302, stream);
	if (!app.end_capture(stream, &captured) || !counts.graph_failed || !counts.failed) {
		fprintf(stderr, "app_cover: a capture took a graph launch\n");
		exit(1);
	}
	APP_CHECK(app.graph_destroy(inner));
	APP_CHECK(app.graph_destroy(middle));
	APP_CHECK(app.graph_destroy(outer));
	APP_CHECK(app.ctx_sync());
	APP_CHECK(cu.exec_destroy(exec));
}

/* A conditional node with `value` to begin with; its bodies. */
static wtcu_graph *add_conditional(wtcu_graph graph, int type, unsigned int size,
                                   unsigned int value, wtcu_conditional_handle *handle)
{
	struct wtcu_node_params params = {.type = WTCU_NODE_CONDITIONAL};
	wtcu_graph_node node;

	APP_CHECK(
	        cu.conditional_create(handle, graph, NULL, value, WTCU_CONDITIONAL_ASSIGN_DEFAULT));
	params.value.conditional.handle = *handle;
	params.value.conditional.type = type;
	params.value.conditional.size = size;
	APP_CHECK(cu.add_node(&node, graph, NULL, NULL, 0, &params));
	return params.value.conditional.bodies;
}

static void add_to(wtcu_graph graph, wtcu_function f, unsigned int grid, void **params)
{
	struct wtcu_kernel_node_params node = node_of(f, grid);
	wtcu_graph_node added;

	node.kernel_params = params;
	APP_CHECK(cu.add_kernel(&added, graph, NULL, 0, &node));
}

/* If (taken), if-else (else taken), while 7 times two kernels: 1 + 3 + 14 of 16 nodes' kernels. */
static void conditionals(void)
{
	wtcu_conditional_handle yes, no, loop;
	wtcu_graph *bodies, graph;
	wtcu_graph_exec exec;
	void *params[] = {&loop};

	start();
	graph = chain(1, 30, NULL);
	bodies = add_conditional(graph, WTCU_CONDITIONAL_IF, 1, 1, &yes);
	add_to(bodies[0], plain, 11, NULL);
	add_to(bodies[0], plain, 12, NULL);
	bodies = add_conditional(graph, WTCU_CONDITIONAL_IF, 2, 0, &no);
	add_to(bodies[0], plain, 13, NULL);
	add_to(bodies[1], other, 14, NULL);
	bodies = add_conditional(graph, WTCU_CONDITIONAL_WHILE, 1, 7, &loop);
	add_to(bodies[0], counter, 15, params);
	add_to(bodies[0], other, 16, NULL);
	exec = instantiate(graph);
	for (int i = 0; i < 30; i++)
		graph_launch(exec, NULL, 1 + 2 + 1 + 7 * 2);
}

/* Geometry changes between replays: single nodes, disabled nodes, the whole graph. */
static void updates(void)
{
	struct wtcu_graph_exec_update_result result;
	wtcu_graph_node nodes[4];
	wtcu_graph graph, changed;
	wtcu_graph_exec exec;

	start();
	graph = chain(4, 50, nodes);
	exec = instantiate(graph);
	for (unsigned int i = 0; i < 20; i++) {
		struct wtcu_kernel_node_params params = node_of(i % 2 ? plain : other, 500 + i);

		APP_CHECK(cu.exec_set_kernel(exec, nodes[i % 4], &params));
		graph_launch(exec, NULL, 4);
	}
	for (unsigned int i = 0; i < 10; i++) {
		APP_CHECK(cu.set_enabled(exec, nodes[1], i % 2));
		graph_launch(exec, NULL, i % 2 ? 4 : 3);
	}
	for (unsigned int i = 0; i < 10; i++) {
		changed = chain(4, 1000 + 10 * i, NULL);
		APP_CHECK(cu.exec_update(exec, changed, &result));
		APP_CHECK(app.graph_destroy(changed));
		graph_launch(exec, NULL, 4);
	}
}

/* ---- contexts */

static void contexts(void)
{
	wtcu_device_get_count_fn get_count;
	int devices = 1;

	start();
	*(void **)&get_count = app_symbol("cuDeviceGetCount");
	APP_CHECK(get_count(&devices));
	for (int i = 0; i < 12; i++) {
		wtcu_context context;
		wtcu_stream stream;

		APP_CHECK(cu.ctx_create(&context, 0, i % devices));
		APP_CHECK(app.module_load(&module, cover_ptx));
		get_functions();
		APP_CHECK(app.stream_create(&stream, 1));
		for (unsigned int k = 0; k < 20; k++)
			launch(k % 2 ? plain : other, 100 + (unsigned int)i, k % 3 ? stream : NULL);
		APP_CHECK(app.ctx_sync());
		APP_CHECK(cu.ctx_destroy(context));
	}
}

/* 132 SMs as 3 x 40 and 12 left: each part a context of its own. */
static void greens(void)
{
	struct wtcu_resource all, part[3], rest;
	wtcu_green_context green[3];
	wtcu_stream stream[3];
	wtcu_context context;
	unsigned int count = 3;

	start();
	APP_CHECK(cu.device_resource(0, &all, WTCU_RESOURCE_SM));
	APP_CHECK(cu.split(part, &count, &all, &rest, 0, 40));
	for (unsigned int i = 0; i < count; i++) {
		wtcu_resource_desc desc;

		APP_CHECK(cu.make_desc(&desc, &part[i], 1));
		APP_CHECK(cu.green_create(&green[i], desc, 0, WTCU_GREEN_DEFAULT_STREAM));
		APP_CHECK(cu.green_stream(&stream[i], green[i], 1, 0));
	}
	for (unsigned int i = 0; i < 60; i++)
		launch(plain, 20 + i, stream[i % count]);
	APP_CHECK(cu.green_context(&context, green[0]));
	APP_CHECK(app.ctx_set(context));
	launch(other, 7, NULL);
	APP_CHECK(app.ctx_sync());
	for (unsigned int i = 0; i < count; i++)
		APP_CHECK(cu.green_destroy(green[i]));
}

/* A green context is the first context that the process makes, and code is loaded into it. */
static void green_first(void)
{
	struct wtcu_resource all, part, rest;
	wtcu_green_context green;
	wtcu_resource_desc desc;
	wtcu_context context;
	unsigned int count = 1;

	load();
	APP_CHECK(app.init(0));
	APP_CHECK(cu.device_resource(0, &all, WTCU_RESOURCE_SM));
	APP_CHECK(cu.split(&part, &count, &all, &rest, 0, 16));
	APP_CHECK(cu.make_desc(&desc, &part, 1));
	APP_CHECK(cu.green_create(&green, desc, 0, WTCU_GREEN_DEFAULT_STREAM));
	APP_CHECK(cu.green_context(&context, green));
	APP_CHECK(app.ctx_set(context));
	APP_CHECK(app.module_load(&module, cover_ptx));
	get_functions();
	for (unsigned int i = 0; i < 100; i++)
		launch(i % 2 ? plain : other, 8 + i, NULL);
}

/* ---- what comes and goes */

static wtcu_context primary;

static void *short_life(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;

	APP_CHECK(app.ctx_set(primary));
	for (unsigned int i = 0; i <= number % 3; i++)
		launch(number % 2 ? plain : other, 66, number % 5 ? WTCU_STREAM_PER_THREAD : NULL);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS_AT_ONCE];

	start();
	APP_CHECK(app.primary_retain(&primary, 0));
	for (uintptr_t i = 0; i < 2000; i += THREADS_AT_ONCE) {
		for (uintptr_t k = 0; k < THREADS_AT_ONCE; k++)
			if (pthread_create(&thread[k], NULL, short_life, (void *)(i + k)))
				app_check(WTCU_ERROR_UNKNOWN, "pthread_create");
		for (uintptr_t k = 0; k < THREADS_AT_ONCE; k++)
			pthread_join(thread[k], NULL);
	}
}

static void streams(void)
{
	start();
	for (int i = 0; i < 400; i++) {
		wtcu_stream stream;

		APP_CHECK(app.stream_create(&stream, (unsigned int)i % 2));
		launch(plain, 33, stream);
		launch(other, 34, stream);
		APP_CHECK(cu.stream_destroy(stream));
	}
}

/* The same handle, another kernel: with WTFAKE_REUSE_HANDLES=1. */
static void modules(void)
{
	static const char text[] =
	        ".version 8.0\n.target sm_90\n.visible .entry mod_%d()\n{\nret;\n}\n"
	        "// wtfake: kernel=mod_%d block_ns=%d\n";
	wtcu_function function, before = NULL;
	unsigned long reused = 0;
	char ptx[256];

	start();
	for (int i = 0; i < 200; i++) {
		wtcu_module loaded;
		char name[32];

		snprintf(ptx, sizeof(ptx), text, i, i, 1000 + i);
		snprintf(name, sizeof(name), "mod_%d", i);
		APP_CHECK(app.module_load(&loaded, ptx));
		APP_CHECK(app.module_function(&function, loaded, name));
		reused += function == before;
		before = function;
		launch(function, 40, NULL);
		launch(function, 41, NULL);
		APP_CHECK(app.ctx_sync());
		APP_CHECK(cu.module_unload(loaded));
		launch(function, 42, NULL); /* stale: fails */
	}
	printf("reused=%lu\n", reused);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} table[] = {
	        {"clusters", clusters}, {"attributes", attributes},
	        {"children", children}, {"conditionals", conditionals},
	        {"updates", updates},   {"contexts", contexts},
	        {"greens", greens},     {"green-first", green_first},
	        {"threads", threads},   {"streams", streams},
	        {"modules", modules},
	};

	for (size_t i = 0; argc == 2 && i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(argv[1], table[i].name))
			continue;
		table[i].run();
		app.ctx_sync();
		printf("attempted=%lu ok=%lu failed=%lu captured=%lu graph_launches=%lu "
		       "node_kernels=%lu kernels=%lu\n",
		       counts.attempted, counts.ok, counts.failed, counts.captured,
		       counts.graph_launches + counts.graph_failed, counts.node_kernels,
		       counts.ok - counts.captured - counts.graph_launches + counts.node_kernels);
		return 0;
	}
	fprintf(stderr,
	        "app_cover: clusters, attributes, children, conditionals, updates, contexts, "
	        "greens, green-first, threads, streams or modules\n");
	return 2;
}

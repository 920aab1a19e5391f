/*
 * cuda_nodes.c - nodes of graphs: adding and changing them; child graphs and conditional nodes.
 *
 * Under the driver's lock. An executable has the nodes of its graph under the same numbers, so a
 * node's handle is good for both. A child graph is copied into its node. The bodies of a
 * conditional node belong to it. A kernel with the directive `counts_down` subtracts 1 from the
 * conditional handle that is its first parameter: what a device function does on a real GPU.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda_int.h"

#define CONDITIONALS_MAX 256
#define ITERATIONS_MAX 100000 /* a while node that is never told to end */
#define BODY_GAP_NS 800

static struct {
	struct fake_graph *graph;
	unsigned int value, default_value, flags;
} conditionals[CONDITIONALS_MAX];
static uint64_t conditional_count;

static wtcu_result set_deps(struct fake_node *node, const struct fake_graph *graph,
                            const wtcu_graph_node *deps, size_t dep_count)
{
	if (dep_count > sizeof(node->deps) / sizeof(node->deps[0]) || (dep_count && !deps))
		return WTCU_ERROR_INVALID_VALUE;
	node->dep_count = (int)dep_count;
	for (size_t i = 0; i < dep_count; i++) {
		node->deps[i] = (int)((uintptr_t)deps[i] >> 4) - 1;
		if (node->deps[i] < 0 || node->deps[i] >= graph->node_count)
			return WTCU_ERROR_INVALID_VALUE;
	}
	return WTCU_SUCCESS;
}

/* ---- kernels */

static wtcu_result set_kernel(struct fake_node *node, const struct wtcu_kernel_node_params *params,
                              bool is_v2)
{
	wtcu_function function =
	        params->function || !is_v2 ? params->function : (wtcu_function)params->kernel;
	struct fake_launch launch = {0};
	wtcu_result error = fake_function_of(function, &launch.function);

	if (error)
		return error;
	if (!fake_current_ctx())
		return WTCU_ERROR_INVALID_CONTEXT;
	memcpy(launch.grid, &params->grid_x, sizeof(launch.grid));
	memcpy(launch.block, &params->block_x, sizeof(launch.block));
	launch.dynamic_shared = params->shared_bytes;
	error = fake_launch_check(fake_current_ctx(), &launch);
	if (!error && !fake_launch_read_params(&launch, fake_current_ctx()->device,
	                                       params->kernel_params, params->extra))
		error = WTCU_ERROR_INVALID_VALUE;
	if (!error)
		node->launch = launch;
	return error;
}

static wtcu_result add(wtcu_graph_node *ret_node, struct fake_graph *graph,
                       const struct fake_node *node)
{
	if (!fake_graph_add(graph, node))
		return WTCU_ERROR_OUT_OF_MEMORY;
	*ret_node = fake_node_handle(graph->node_count - 1);
	return WTCU_SUCCESS;
}

static wtcu_result add_kernel(wtcu_graph_node *ret_node, wtcu_graph handle,
                              const wtcu_graph_node *deps, size_t dep_count,
                              const struct wtcu_kernel_node_params *params, bool is_v2)
{
	struct fake_graph *graph = fake_graph_of(handle);
	struct fake_node node = {.kind = FAKE_NODE_KERNEL};
	wtcu_result error;

	if (!ret_node || !graph || !params)
		return WTCU_ERROR_INVALID_VALUE;
	error = set_deps(&node, graph, deps, dep_count);
	if (!error)
		error = set_kernel(&node, params, is_v2);
	return error ? error : add(ret_node, graph, &node);
}

static struct fake_node *exec_node(wtcu_graph_exec exec, wtcu_graph_node handle)
{
	struct fake_graph *graph = fake_graph_of((wtcu_graph)exec);
	int idx = (int)((uintptr_t)handle >> 4) - 1;

	return graph && idx >= 0 && idx < graph->node_count ? &graph->nodes[idx] : NULL;
}

static wtcu_result exec_set_kernel(wtcu_graph_exec exec, wtcu_graph_node handle,
                                   const struct wtcu_kernel_node_params *params, bool is_v2)
{
	struct fake_node *node = exec_node(exec, handle);

	if (!node || node->kind != FAKE_NODE_KERNEL || !params)
		return WTCU_ERROR_INVALID_VALUE;
	return set_kernel(node, params, is_v2);
}

static wtcu_result set_enabled(wtcu_graph_exec exec, wtcu_graph_node handle, unsigned int on)
{
	struct fake_node *node = exec_node(exec, handle);

	if (!node || node->kind != FAKE_NODE_KERNEL)
		return WTCU_ERROR_INVALID_VALUE;
	node->is_disabled = !on;
	return WTCU_SUCCESS;
}

/* ---- child graphs and conditional nodes */

static wtcu_result add_child(wtcu_graph_node *ret_node, wtcu_graph handle,
                             const wtcu_graph_node *deps, size_t dep_count, wtcu_graph child)
{
	struct fake_graph *graph = fake_graph_of(handle);
	struct fake_node node = {.kind = FAKE_NODE_CHILD};
	wtcu_result error;

	if (!ret_node || !graph || !fake_graph_of(child))
		return WTCU_ERROR_INVALID_VALUE;
	error = set_deps(&node, graph, deps, dep_count);
	if (!error)
		error = fake_graph_new(&node.child[0]);
	if (!error)
		error = fake_graph_copy(node.child[0], fake_graph_of(child));
	return error ? error : add(ret_node, graph, &node);
}

static wtcu_result conditional_create(uint64_t *handle, wtcu_graph graph, unsigned int value,
                                      unsigned int flags)
{
	if (!handle || !fake_graph_of(graph) || flags > WTCU_CONDITIONAL_ASSIGN_DEFAULT)
		return WTCU_ERROR_INVALID_VALUE;
	if (conditional_count == CONDITIONALS_MAX)
		return WTCU_ERROR_OUT_OF_MEMORY;
	conditionals[conditional_count].graph = fake_graph_of(graph);
	conditionals[conditional_count].default_value = value;
	conditionals[conditional_count].flags = flags;
	*handle = ++conditional_count;
	return WTCU_SUCCESS;
}

static wtcu_result add_conditional(wtcu_graph_node *ret_node, struct fake_graph *graph,
                                   struct fake_node *node, struct wtcu_conditional_params *params)
{
	static wtcu_graph bodies[CONDITIONALS_MAX][2]; /* the caller gets a pointer to them */

	node->kind = params->type == WTCU_CONDITIONAL_WHILE ? FAKE_NODE_WHILE : FAKE_NODE_IF;
	node->conditional = params->handle;
	if (!params->handle || params->handle > conditional_count || params->type < 0 ||
	    params->type > WTCU_CONDITIONAL_WHILE || !params->size ||
	    params->size > (params->type == WTCU_CONDITIONAL_IF ? 2u : 1u) ||
	    conditionals[params->handle - 1].graph != graph)
		return WTCU_ERROR_INVALID_VALUE;
	params->bodies = bodies[params->handle - 1];
	for (unsigned int i = 0; i < params->size; i++) {
		if (fake_graph_new(&node->child[i]))
			return WTCU_ERROR_OUT_OF_MEMORY;
		params->bodies[i] = (wtcu_graph)node->child[i];
	}
	return add(ret_node, graph, node);
}

static wtcu_result add_node(wtcu_graph_node *ret_node, wtcu_graph handle,
                            const wtcu_graph_node *deps, size_t dep_count,
                            struct wtcu_node_params *params)
{
	struct fake_graph *graph = fake_graph_of(handle);
	struct fake_node node = {.kind = FAKE_NODE_EMPTY};
	wtcu_result error;

	if (!ret_node || !graph || !params)
		return WTCU_ERROR_INVALID_VALUE;
	if (params->type == WTCU_NODE_KERNEL)
		return add_kernel(ret_node, handle, deps, dep_count, &params->value.kernel, true);
	if (params->type != WTCU_NODE_CONDITIONAL)
		return WTCU_ERROR_NOT_SUPPORTED;
	error = set_deps(&node, graph, deps, dep_count);
	return error ? error : add_conditional(ret_node, graph, &node, &params->value.conditional);
}

void fake_nodes_free(struct fake_graph *graph)
{
	for (int i = 0; i < graph->node_count; i++)
		for (int k = 0; k < 2; k++)
			if (graph->nodes[i].child[k])
				fake_graph_free(graph->nodes[i].child[k]);
	graph->node_count = 0;
}

/* ---- running them */

void fake_conditionals_reset(const struct fake_graph *graph)
{
	for (int i = 0; i < graph->node_count; i++) {
		const struct fake_node *node = &graph->nodes[i];
		uint64_t at = node->conditional - 1;

		if (node->conditional && conditionals[at].flags)
			conditionals[at].value = conditionals[at].default_value;
		for (int k = 0; k < 2; k++)
			if (node->child[k])
				fake_conditionals_reset(node->child[k]);
	}
}

void fake_conditional_count_down(uint64_t handle)
{
	if (!handle || handle > conditional_count)
		fake_die("a kernel was given %llu as conditional handle",
		         (unsigned long long)handle);
	else if (conditionals[handle - 1].value)
		conditionals[handle - 1].value--;
}

/* Conditional nodes that the kernel now run is inside of, and their iterations before this one. */
static int body_depth, body_iterations;

bool fake_body_record(struct fake_op *op)
{
	const char *mode = getenv("WTFAKE_BODIES");

	if (!body_depth || !mode)
		return true;
	if (!strcmp(mode, "plain"))
		op->graph_id = 0, op->graph_node_id = 0;
	return strcmp(mode, "first") || !body_iterations;
}

static int64_t body_run(const struct fake_call *c, struct fake_stream *stream,
                        const struct fake_graph *body, int iteration,
                        const struct fake_ready *ready)
{
	int64_t end_ns;

	body_depth++;
	body_iterations += iteration;
	end_ns = fake_graph_run(c, stream, body, ready);
	body_iterations -= iteration;
	body_depth--;
	return end_ns;
}

int64_t fake_node_run_graphs(const struct fake_call *c, struct fake_stream *stream,
                             const struct fake_node *node, const struct fake_ready *ready)
{
	struct fake_ready next = *ready;
	const unsigned int *value;

	if (node->kind == FAKE_NODE_CHILD)
		return fake_graph_run(c, stream, node->child[0], ready);
	value = &conditionals[node->conditional - 1].value;
	if (node->kind == FAKE_NODE_IF) {
		const struct fake_graph *body = node->child[*value ? 0 : 1];

		return body ? body_run(c, stream, body, 0, ready) : ready->at_ns;
	}
	for (int i = 0; *value; i++) {
		if (i == ITERATIONS_MAX)
			fake_die("a while node ran %d times", i);
		next.at_ns = body_run(c, stream, node->child[0], i, &next) + BODY_GAP_NS;
		next.wait = FAKE_WAIT_NODE;
	}
	return next.at_ns;
}

FAKE_FN(cuGraphAddKernelNode,
        (wtcu_graph_node * node, wtcu_graph graph, const wtcu_graph_node *deps, size_t dep_count,
         const struct wtcu_kernel_node_params *params),
        add_kernel(node, graph, deps, dep_count, params, false))
FAKE_FN(cuGraphAddKernelNode_v2,
        (wtcu_graph_node * node, wtcu_graph graph, const wtcu_graph_node *deps, size_t dep_count,
         const struct wtcu_kernel_node_params *params),
        add_kernel(node, graph, deps, dep_count, params, true))
FAKE_FN(cuGraphExecKernelNodeSetParams,
        (wtcu_graph_exec exec, wtcu_graph_node node, const struct wtcu_kernel_node_params *params),
        exec_set_kernel(exec, node, params, false))
FAKE_FN(cuGraphExecKernelNodeSetParams_v2,
        (wtcu_graph_exec exec, wtcu_graph_node node, const struct wtcu_kernel_node_params *params),
        exec_set_kernel(exec, node, params, true))
FAKE_FN(cuGraphNodeSetEnabled, (wtcu_graph_exec exec, wtcu_graph_node node, unsigned int on),
        set_enabled(exec, node, on))
FAKE_FN(cuGraphAddChildGraphNode,
        (wtcu_graph_node * node, wtcu_graph graph, const wtcu_graph_node *deps, size_t dep_count,
         wtcu_graph child),
        add_child(node, graph, deps, dep_count, child))
FAKE_FN(cuGraphConditionalHandleCreate,
        (uint64_t * handle, wtcu_graph graph, wtcu_context context, unsigned int value,
         unsigned int flags),
        ((void)context, conditional_create(handle, graph, value, flags)))
FAKE_FN(cuGraphAddNode,
        (wtcu_graph_node * node, wtcu_graph graph, const wtcu_graph_node *deps, size_t dep_count,
         struct wtcu_node_params *params),
        add_node(node, graph, deps, dep_count, params))
FAKE_FN(cuGraphAddNode_v2,
        (wtcu_graph_node * node, wtcu_graph graph, const wtcu_graph_node *deps,
         const void *dep_data, size_t dep_count, struct wtcu_node_params *params),
        ((void)dep_data, add_node(node, graph, deps, dep_count, params)))

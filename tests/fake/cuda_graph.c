/*
 * cuda_graph.c - graphs, and running them.
 *
 * Under the driver's lock. A graph is a list of nodes in an order that
 * respects their dependencies; an executable is a copy of it. When launched,
 * each node starts once all it depends on has ended.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda_int.h"

/* From the call to the first node, and between nodes that depend on each other. */
#define GRAPH_LATENCY_NS 6000
#define NODE_GAP_NS 500

static struct fake_graph *graphs; /* graphs and executables */
static uint32_t graph_last_id;

/* ---- graphs ----------------------------------------------------------------------- */

wtcu_result fake_graph_new(struct fake_graph **ret_graph)
{
	struct fake_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return WTCU_ERROR_OUT_OF_MEMORY;
	graph->id = ++graph_last_id;
	graph->next = graphs;
	graphs = graph;
	*ret_graph = graph;
	return WTCU_SUCCESS;
}

void fake_graph_free(struct fake_graph *graph)
{
	struct fake_graph **at = &graphs;

	while (*at != graph)
		at = &(*at)->next;
	*at = graph->next;
	fake_nodes_free(graph);
	free(graph->nodes);
	free(graph);
}

struct fake_graph *fake_graph_of(wtcu_graph handle)
{
	struct fake_graph *graph = graphs;

	while (graph && graph != (struct fake_graph *)handle)
		graph = graph->next;
	return graph;
}

struct fake_node *fake_graph_add(struct fake_graph *graph, const struct fake_node *node)
{
	if (graph->node_count == graph->node_capacity) {
		int capacity = graph->node_capacity ? 2 * graph->node_capacity : 16;
		struct fake_node *grown =
		        realloc(graph->nodes, (size_t)capacity * sizeof(*graph->nodes));

		if (!grown)
			return NULL;
		graph->nodes = grown;
		graph->node_capacity = capacity;
	}
	graph->nodes[graph->node_count] = *node;
	return &graph->nodes[graph->node_count++];
}

static wtcu_result graph_create(wtcu_graph *handle)
{
	return handle ? fake_graph_new((struct fake_graph **)handle) : WTCU_ERROR_INVALID_VALUE;
}

static wtcu_result graph_destroy(void *handle)
{
	struct fake_graph *graph = fake_graph_of(handle);

	if (!graph)
		return WTCU_ERROR_INVALID_VALUE;
	fake_graph_free(graph);
	return WTCU_SUCCESS;
}

static wtcu_result graph_nodes(wtcu_graph handle, wtcu_graph_node *nodes, size_t *count)
{
	struct fake_graph *graph = fake_graph_of(handle);

	if (!graph || !count)
		return WTCU_ERROR_INVALID_VALUE;
	for (size_t i = 0; nodes && i < *count; i++)
		nodes[i] = i < (size_t)graph->node_count ? fake_node_handle((int)i) : NULL;
	if (!nodes || *count > (size_t)graph->node_count)
		*count = (size_t)graph->node_count;
	return WTCU_SUCCESS;
}

/* ---- executables ------------------------------------------------------------------- */

wtcu_result fake_graph_copy(struct fake_graph *to, const struct fake_graph *from)
{
	fake_nodes_free(to);
	for (int i = 0; i < from->node_count; i++) {
		struct fake_node node = from->nodes[i];

		for (int k = 0; k < 2; k++) {
			struct fake_graph *copy = NULL;

			if (node.child[k] &&
			    (fake_graph_new(&copy) || fake_graph_copy(copy, node.child[k])))
				return WTCU_ERROR_OUT_OF_MEMORY;
			node.child[k] = copy;
		}
		if (!fake_graph_add(to, &node))
			return WTCU_ERROR_OUT_OF_MEMORY;
	}
	return WTCU_SUCCESS;
}

static wtcu_result graph_instantiate(wtcu_graph_exec *exec, wtcu_graph handle)
{
	struct fake_graph *graph = fake_graph_of(handle);
	struct fake_graph *copy;
	wtcu_result error;

	if (!exec || !graph)
		return WTCU_ERROR_INVALID_VALUE;
	error = fake_graph_new(&copy);
	if (!error)
		error = fake_graph_copy(copy, graph);
	if (!error)
		*exec = (wtcu_graph_exec)copy;
	return error;
}

static wtcu_result graph_instantiate_params(wtcu_graph_exec *exec, wtcu_graph handle,
                                            struct wtcu_graph_instantiate_params *params)
{
	if (!params)
		return WTCU_ERROR_INVALID_VALUE;
	params->result = 0;
	params->error_node = NULL;
	return graph_instantiate(exec, handle);
}

/* Only a graph of the same nodes may be put in place of the old. */
static wtcu_result graph_update(wtcu_graph_exec exec, wtcu_graph handle, int *ret_result)
{
	struct fake_graph *to = fake_graph_of((wtcu_graph)exec);
	struct fake_graph *from = fake_graph_of(handle);

	if (!to || !from)
		return WTCU_ERROR_INVALID_VALUE;
	*ret_result = to->node_count != from->node_count ? 2 : 0; /* 2: topology changed */
	for (int i = 0; !*ret_result && i < to->node_count; i++)
		if (to->nodes[i].kind != from->nodes[i].kind)
			*ret_result = 3; /* node type changed */
	return *ret_result ? WTCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE : fake_graph_copy(to, from);
}

static wtcu_result graph_update_v1(wtcu_graph_exec exec, wtcu_graph handle, wtcu_graph_node *node,
                                   int *result)
{
	int ignored = 0;

	if (node)
		*node = NULL;
	return graph_update(exec, handle, result ? result : &ignored);
}

static wtcu_result graph_update_v2(wtcu_graph_exec exec, wtcu_graph handle,
                                   struct wtcu_graph_exec_update_result *result)
{
	struct wtcu_graph_exec_update_result ignored;

	result = result ? result : &ignored;
	memset(result, 0, sizeof(*result));
	return graph_update(exec, handle, &result->result);
}

/* Runs one node no earlier than `start_ns`; returns its end. */
static int64_t node_run(const struct fake_call *c, struct fake_stream *stream,
                        const struct fake_graph *exec, int idx, const struct fake_ready *ready)
{
	const struct fake_node *node = &exec->nodes[idx];
	/* As CUPTI numbers them: the executable in the upper half, the node in the lower. */
	uint64_t node_id = (uint64_t)exec->id << 32 | (uint64_t)idx;
	struct fake_op op;
	int64_t end_ns = ready->at_ns;

	if (node->is_disabled)
		return end_ns;
	switch (node->kind) {
	case FAKE_NODE_KERNEL:
		fake_launch_run(c, stream, &node->launch, ready, exec->id, node_id, &end_ns);
		if (node->launch.function->counts_down)
			fake_conditional_count_down(node->launch.conditional);
		break;
	case FAKE_NODE_TRANSFER:
		op = node->transfer;
		op.graph_id = exec->id;
		op.graph_node_id = node_id;
		fake_transfer_run(c, stream, op, ready, &end_ns);
		break;
	case FAKE_NODE_HOST:
		fake_host_fn_add(stream, ready->at_ns, node->host_fn, node->host_data);
		break;
	case FAKE_NODE_EMPTY:
		break;
	default:
		end_ns = fake_node_run_graphs(c, stream, node, ready);
	}
	return end_ns;
}

/* Runs all nodes; the end of the last. */
int64_t fake_graph_run(const struct fake_call *c, struct fake_stream *stream,
                       const struct fake_graph *graph, const struct fake_ready *begin)
{
	int64_t *end_ns = calloc((size_t)graph->node_count + 1, sizeof(*end_ns));
	int64_t last_ns = begin->at_ns;

	if (!end_ns)
		abort();
	for (int i = 0; i < graph->node_count; i++) {
		const struct fake_node *node = &graph->nodes[i];
		struct fake_ready ready = *begin;

		for (int k = 0; k < node->dep_count; k++) {
			if (end_ns[node->deps[k]] + NODE_GAP_NS <= ready.at_ns)
				continue;
			ready.at_ns = end_ns[node->deps[k]] + NODE_GAP_NS;
			ready.wait = FAKE_WAIT_NODE;
		}
		end_ns[i] = node_run(c, stream, graph, i, &ready);
		if (end_ns[i] > last_ns)
			last_ns = end_ns[i];
	}
	free(end_ns);
	return last_ns;
}

static wtcu_result graph_launch(const struct fake_call *c, wtcu_graph_exec handle, wtcu_stream on)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, on, &error);
	struct fake_graph *exec = fake_graph_of((wtcu_graph)handle);
	struct fake_device *device;
	struct fake_ready begin;

	if (!stream || !exec)
		return stream ? WTCU_ERROR_INVALID_VALUE : error;
	if (stream->capture)
		return fake_capture_spoil(stream);
	device = stream->ctx->device;
	fake_wait_until(device->in_flight_end_ns[device->kernel_count % FAKE_QUEUE_DEPTH]);
	fake_count(FAKE_GRAPH_LAUNCHES);
	fake_conditionals_reset(exec);
	begin.at_ns = fake_stream_ready_ns(stream) + NODE_GAP_NS;
	begin.arrive_ns = fake_now_ns() + GRAPH_LATENCY_NS;
	begin.wait = fake_stream_ready_by(stream);
	if (begin.at_ns <= begin.arrive_ns) {
		begin.at_ns = begin.arrive_ns;
		begin.wait = FAKE_WAIT_CALL;
	}
	fake_stream_advance(stream, fake_graph_run(c, stream, exec, &begin), FAKE_WAIT_KERNEL);
	return WTCU_SUCCESS;
}

static wtcu_result graph_upload(const struct fake_call *c, wtcu_graph_exec handle, wtcu_stream on)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, on, &error);

	if (!stream)
		return error;
	return fake_graph_of((wtcu_graph)handle) ? WTCU_SUCCESS : WTCU_ERROR_INVALID_VALUE;
}

FAKE_FN(cuGraphCreate, (wtcu_graph * graph, unsigned int flags), ((void)flags, graph_create(graph)))
FAKE_FN(cuGraphDestroy, (wtcu_graph graph), graph_destroy(graph))
FAKE_FN(cuGraphGetNodes, (wtcu_graph graph, wtcu_graph_node *nodes, size_t *count),
        graph_nodes(graph, nodes, count))
FAKE_FN(cuGraphInstantiate_v2,
        (wtcu_graph_exec * exec, wtcu_graph graph, wtcu_graph_node *error_node, char *log,
         size_t log_bytes),
        ((void)error_node, (void)log, (void)log_bytes, graph_instantiate(exec, graph)))
FAKE_FN(cuGraphInstantiateWithFlags,
        (wtcu_graph_exec * exec, wtcu_graph graph, unsigned long long flags),
        ((void)flags, graph_instantiate(exec, graph)))
FAKE_FN_PTSZ(cuGraphInstantiateWithParams,
             (wtcu_graph_exec * exec, wtcu_graph graph,
              struct wtcu_graph_instantiate_params *params),
             graph_instantiate_params(exec, graph, params))
FAKE_FN(cuGraphExecDestroy, (wtcu_graph_exec exec), graph_destroy(exec))
FAKE_FN(cuGraphExecUpdate,
        (wtcu_graph_exec exec, wtcu_graph graph, wtcu_graph_node *error_node, int *result),
        graph_update_v1(exec, graph, error_node, result))
FAKE_FN(cuGraphExecUpdate_v2,
        (wtcu_graph_exec exec, wtcu_graph graph, struct wtcu_graph_exec_update_result *result),
        graph_update_v2(exec, graph, result))
FAKE_FN_PTSZ(cuGraphLaunch, (wtcu_graph_exec exec, wtcu_stream stream),
             graph_launch(c, exec, stream))
FAKE_FN_PTSZ(cuGraphUpload, (wtcu_graph_exec exec, wtcu_stream stream),
             graph_upload(c, exec, stream))

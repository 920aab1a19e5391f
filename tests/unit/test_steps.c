/*
 * test_steps.c - the step finder on simulated loops whose steps are known.
 *
 * The loops are those of steps_programs.h. What is found must be the true steps, or nothing: a wrong
 * answer fails, "none" is counted.
 */
#include "analysis/optimizer.h"
#include "analysis/steps.h"
#include "tests/tap.h"
#include "tests/unit/steps_programs.h"

/* ---- judgement */

enum verdict { RIGHT, NONE, WRONG };

static int step_at(const struct program *p, const int *step, size_t item)
{
	/* Evaluation and the like is no step: what begins there is the next one, or a mistake. */
	while (item < p->count && step[item] < 0)
		item++;
	return item < p->count ? step[item] : -2;
}

/*
 * One true step from each steady one to the next, give or take some launches. Both ends of data and a hole may cost a step.
 */
static bool are_right(const struct program *p, const int *step, const struct wt_steps *steps)
{
	size_t pairs = 0, good = 0, slack = steps->period_items / 20;

	for (size_t i = 0; i + 1 < steps->count; i++) {
		if (!steps->steps[i].is_steady)
			continue;
		pairs++;
		good += step_at(p, step, steps->steps[i + 1].first + slack) -
		                step_at(p, step, steps->steps[i].first + slack) ==
		        1;
	}
	return pairs >= 2 && pairs - good <= 1 + pairs / 20;
}

static enum verdict judge(const struct program *p, const struct wt_steps *steps)
{
	if (steps->reason != WT_STEPS_FOUND)
		return steps->count || steps->steady_count ? WRONG : NONE;
	for (size_t i = 0; i + 1 < steps->count; i++)
		if (steps->steps[i].end != steps->steps[i + 1].first)
			return WRONG;
	if (steps->confidence > 1 || steps->confidence < 0.5)
		return WRONG;
	return are_right(p, p->step, steps) || are_right(p, p->other, steps) ? RIGHT : WRONG;
}

struct family {
	const char *name;
	void (*make)(struct program *p);
	int count;
	int right_least; /* percent */
};

static const struct family families[] = {
        {"training", steps_plain_training, 60, 80},
        {"training, compiled and tuned first", steps_tuned_first, 40, 60},
        {"training that logs every few steps", steps_logging, 40, 60},
        {"training with evaluation", steps_evaluation, 40, 80},
        {"gradient accumulation", steps_accumulation, 40, 50},
        {"decoding", steps_decoding, 30, 80},
        {"requests of prefill and tokens", steps_requests, 40, 50},
        {"graphs", steps_graphs, 30, 90},
        {"bare layers", steps_bare_layers, 50, 40},
        {"small loops", steps_small_loop, 30, 50},
        {"data with a hole", steps_hole, 30, 70},
        {"no loop", steps_no_loop, 30, 0},
        {"disorder", steps_disorder, 30, 0},
        {"two threads", steps_two_threads, 20, 0},
};

static void test_family(const struct family *family, uint64_t seed)
{
	int verdicts[3] = {0};
	bool is_verbose = getenv("WT_STEPS_VERBOSE") != NULL;

	for (int i = 0; i < family->count; i++) {
		struct program p = {0};
		struct wt_steps steps;
		enum verdict verdict;

		steps_seed(seed * 1000 + (uint64_t)i);
		family->make(&p);
		if (wt_steps_find(p.items, p.count, &steps))
			exit(2);
		verdict = judge(&p, &steps);
		verdicts[verdict]++;
		if (verdict == WRONG || is_verbose)
			printf("# %s %d: %s, %zu items, %d true steps, layers %d x %d, hint %d, "
			       "gap %d,"
			       " micro %d, log %d: reason %d, confidence %.2f, period %zu, outer "
			       "%zu,"
			       " %zu steps, %zu steady\n",
			       family->name, i,
			       verdict == WRONG  ? "WRONG"
			       : verdict == NONE ? "none"
			                         : "right",
			       p.count, p.steps, p.layers, p.layer.count, p.has_hint, p.has_gap,
			       p.micro, p.log_every, (int)steps.reason, steps.confidence,
			       steps.period_items, steps.outer_items, steps.count,
			       steps.steady_count);
		wt_steps_fini(&steps);
		free(p.items);
		free(p.step);
		free(p.other);
	}
	printf("# %s: %d right, %d none, %d wrong of %d\n", family->name, verdicts[RIGHT],
	       verdicts[NONE], verdicts[WRONG], family->count);
	is_i64(verdicts[WRONG], 0, family->name);
	ok(verdicts[RIGHT] * 100 >= family->right_least * family->count,
	   "%s: found in at least %d %%", family->name, family->right_least);
}

/* ---- by hand */

static void fill(struct wt_step_item *items, const char *signatures)
{
	for (size_t i = 0; signatures[i]; i++)
		items[i] = (struct wt_step_item){(uint64_t)signatures[i], (int64_t)i * 10, 0};
}

static void test_marks(void)
{
	/* Three steps of abc, the second with one launch more, then one that is cut off. */
	static const char text[] = "xxabcabccabca";
	const uint32_t marks[] = {2, 5, 9, 12};
	struct wt_step_item items[sizeof(text)];
	struct wt_steps steps;

	fill(items, text);
	is_i64(wt_steps_from_marks(items, sizeof(text) - 1, marks, 4, &steps), 0, "marks");
	is_i64(steps.reason, WT_STEPS_FOUND, "marks: found");
	is_i64((int64_t)steps.count, 3, "marks: three whole steps");
	is_i64((int64_t)steps.steps[1].first, 5, "marks: the second begins");
	is_i64((int64_t)steps.steps[1].end, 9, "marks: the second ends");
	is_i64((int64_t)steps.period_items, 3, "marks: the period");
	wt_steps_fini(&steps);
	is_i64(wt_steps_from_marks(items, 12, marks, 3, &steps), 0, "marks up to the end");
	is_i64((int64_t)steps.count, 3, "marks: what follows the last is a step if it is alike");
	is_i64((int64_t)steps.steps[2].end, 12, "marks: up to the end of data");
	wt_steps_fini(&steps);
	is_i64(wt_steps_from_marks(items, 12, marks, 1, &steps), 0, "one mark");
	is_i64(steps.reason, WT_STEPS_TOO_FEW, "one mark makes no step");
	wt_steps_fini(&steps);
}

/* A step begins after the optimizer; the first ones are slow, then one is another thing. */
static void test_start_up(void)
{
	struct wt_step_item items[20 * 100 + 30];
	size_t count = 0;
	int64_t now_ns = 0;
	struct wt_steps steps;

	for (int s = 0; s < 20; s++) {
		for (uint64_t i = 0; i < 100; i++, now_ns += s < 2 ? 50000 : 5000)
			items[count++] = (struct wt_step_item){i + 1, now_ns,
			                                       i >= 97 ? WT_STEP_ITEM_UPDATE : 0};
		for (uint64_t i = 0; s == 11 && i < 30; i++)
			items[count++] = (struct wt_step_item){i % 30 + 1, now_ns += 5000, 0};
	}
	is_i64(wt_steps_find(items, count, &steps), 0, "start-up");
	is_i64(steps.reason, WT_STEPS_FOUND, "start-up: found");
	is_i64((int64_t)steps.count, 20, "start-up: all steps, first and last included");
	is_i64((int64_t)steps.period_items, 100, "start-up: the period");
	ok(steps.is_at_update && steps.steps[1].first == 100, "start-up: begins after the update");
	is_i64((int64_t)steps.steady_first, 2, "start-up: two slow ones are apart");
	is_i64((int64_t)steps.steady_end, 20, "start-up: to the last");
	is_i64((int64_t)steps.steady_count, 17, "start-up: the one with evaluation is odd");
	ok(!steps.steps[12].is_steady && !steps.steps[12].is_alike, "start-up: it is the 13th");
	ok(steps.confidence > 0.9 && steps.confidence <= 1, "start-up: confidence");
	wt_steps_fini(&steps);
}

static void test_too_little(void)
{
	struct wt_step_item items[1000] = {{0}};
	struct wt_steps steps;

	is_i64(wt_steps_find(items, 0, &steps), 0, "no launches");
	is_i64(steps.reason, WT_STEPS_TOO_FEW, "no launches: too few");
	for (int i = 0; i < 1000; i++)
		items[i] = (struct wt_step_item){7, i * 1000, 0};
	is_i64(wt_steps_find(items, 1000, &steps), 0, "one kernel");
	is_i64(steps.reason, WT_STEPS_ONE_KERNEL, "one kernel: where would a step begin?");
	ok(strstr(wt_steps_reason_text(steps.reason), "one kernel") != NULL, "and that is said");
	for (int i = 0; i < 1000; i++)
		items[i] =
		        (struct wt_step_item){7, i % 2 ? INT64_MIN : INT64_MAX, WT_STEP_ITEM_GRAPH};
	is_i64(wt_steps_find(items, 1000, &steps), 0, "times that can't be");
	is_i64(steps.reason, WT_STEPS_BAD_TIMES, "times that can't be are told");
	for (int i = 0; i < 1000; i++)
		items[i] = (struct wt_step_item){(uint64_t)i % 10, i % 3 ? 5 : -i, 0};
	is_i64(wt_steps_find(items, 1000, &steps), 0, "equal and reversed times");
	is_i64((int64_t)steps.period_items, 10, "equal and reversed times: the sequence counts");
	wt_steps_fini(&steps);
}

static void test_optimizers(void)
{
	ok(wt_is_optimizer_kernel("_ZN2at6native57_GLOBAL__N__538ad94b25multi_tensor_apply_kernelI"
	                          "NS1_28TensorListScalarListMetadataIfLi4EEENS1_"
	                          "29PointwiseOpScalarListFunctorIfLi4E"),
	   "optimizer: PyTorch, lists of tensors");
	ok(wt_is_optimizer_kernel("multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>"),
	   "optimizer: PyTorch, fused");
	ok(!wt_is_optimizer_kernel("multi_tensor_apply_kernel<CopyFunctor<float>>"),
	   "copies by lists are none");
	ok(!wt_is_optimizer_kernel("vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, "
	                           "lambda(float)>"),
	   "a lambda is none");
	ok(wt_is_optimizer_kernel("kOptimizer32bit2State"), "optimizer: bitsandbytes");
	ok(!wt_is_optimizer_kernel(""), "an empty name");
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		test_family(&families[i], seed + i * 100);
	test_marks();
	test_start_up();
	test_too_little();
	test_optimizers();
	return tap_done();
}

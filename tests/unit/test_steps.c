/*
 * test_steps.c - the step finder on simulated loops whose steps are known.
 *
 * The simulator writes launches as a program would make them and keeps beside each the step it is
 * of. It shares nothing with the finder but the struct of an item. What is found must be the true
 * steps, or nothing: a wrong answer fails, "none" is counted.
 */
#include "analysis/optimizer.h"
#include "analysis/steps.h"
#include "tests/tap.h"

#define NO_STEP (-1)

/* ---- randomness, the same on every machine */

static uint64_t state;

static uint64_t random_bits(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static int between(int low, int high)
{
	return low + (int)(random_bits() % (uint64_t)(high - low + 1));
}

static bool chance(int percent)
{
	return between(1, 100) <= percent;
}

/* ---- a program */

struct body {
	uint64_t at[600];
	int count;
};

struct program {
	/* shape */
	struct body embed, layer, head, back_head, back_layer, back_embed, update, log, prefill;
	int layers, steps, micro, log_every, eval_every, eval_batches, warm_items;
	int noise_per_mille;
	int variants; /* of kernels by length of the sequence; 1: none */
	bool has_hint, has_gap, has_micro_gap, is_graph, is_training;
	int gap_us;
	/* output */
	struct wt_step_item *items;
	int *step; /* by item: its step */
	int *other; /* that of another thread's loop */
	size_t count, capacity;
	int64_t now_ns;
	int variant;
};

static void put(struct program *p, uint64_t signature, uint32_t flags, int step)
{
	if (p->count == p->capacity) {
		p->capacity = p->capacity ? 2 * p->capacity : 4096;
		p->items = realloc(p->items, p->capacity * sizeof(*p->items));
		p->step = realloc(p->step, p->capacity * sizeof(*p->step));
		p->other = realloc(p->other, p->capacity * sizeof(*p->other));
		if (!p->items || !p->step || !p->other)
			exit(2);
	}
	/* About 6 us a launch, now and then the host is away. */
	p->now_ns += between(4000, 8000) + (chance(3) ? between(0, 40000) : 0);
	p->items[p->count] = (struct wt_step_item){signature, p->now_ns, flags};
	p->other[p->count] = NO_STEP;
	p->step[p->count++] = step;
}

/* One launch of the program, as noise lets it through. */
static void launch(struct program *p, uint64_t signature, uint32_t flags, int step)
{
	if (p->variants > 1 && signature % 5 == 0) /* a fifth of the kernels */
		signature = signature * 1000 + (uint64_t)p->variant;
	if (between(1, 1000) <= p->noise_per_mille) {
		int what = between(0, 2);

		if (what == 0)
			return; /* lost */
		if (what == 1) {
			put(p, 900000 + (uint64_t)between(0, 30), 0,
			    step); /* another one in between */
		} else if (p->count && p->step[p->count - 1] == step) {
			struct wt_step_item before = p->items[p->count - 1];

			p->items[p->count - 1].signature = signature; /* swapped */
			p->items[p->count - 1].flags = flags;
			put(p, before.signature, before.flags, step);
			return;
		}
	}
	put(p, signature, flags, step);
}

static void launch_body(struct program *p, const struct body *body, int times, uint32_t flags,
                        int step)
{
	for (int t = 0; t < times; t++)
		for (int i = 0; i < body->count; i++)
			launch(p, body->at[i], flags, step);
}

static void wait_us(struct program *p, int us)
{
	p->now_ns += (int64_t)us * 1000 * between(80, 130) / 100;
}

/*
 * Kernels of one part of the program: `own` of its own, the others from a pool that all parts
 * use (elementwise kernels, copies).
 */
static uint64_t next_own;

static struct body make_body(int count, int own_percent)
{
	struct body body = {.count = count};

	for (int i = 0; i < count; i++)
		body.at[i] = chance(own_percent) || i == 0 ? ++next_own
		                                           : 500000 + (uint64_t)between(0, 11);
	return body;
}

static void make_model(struct program *p, int layers, int layer_items)
{
	next_own = 0;
	p->layers = layers;
	p->embed = make_body(between(1, 4), 70);
	p->layer = make_body(layer_items, 50);
	p->head = make_body(between(2, 10), 70);
	p->back_head = make_body(between(2, 12), 60);
	p->back_layer = make_body(2 * layer_items, 50);
	p->back_embed = make_body(between(1, 5), 70);
}

static void forward(struct program *p, int step)
{
	launch_body(p, &p->embed, 1, 0, step);
	launch_body(p, &p->layer, p->layers, 0, step);
	launch_body(p, &p->head, 1, 0, step);
}

static void train_step(struct program *p, int step)
{
	uint32_t update = p->has_hint ? WT_STEP_ITEM_UPDATE : 0;

	p->variant = between(1, p->variants);
	if (p->has_gap)
		wait_us(p, p->gap_us);
	for (int m = 0; m < p->micro; m++) {
		if (m && p->has_micro_gap)
			wait_us(p, p->gap_us);
		forward(p, step);
		launch_body(p, &p->back_head, 1, 0, step);
		launch_body(p, &p->back_layer, p->layers, 0, step);
		launch_body(p, &p->back_embed, 1, 0, step);
	}
	launch_body(p, &p->update, 1, update, step);
}

static void warm_up(struct program *p)
{
	for (int i = 0; i < p->warm_items; i++)
		put(p,
		    chance(50) ? 700000 + (uint64_t)between(0, 200)
		               : p->layer.at[between(0, p->layer.count - 1)],
		    0, NO_STEP);
}

static void train(struct program *p)
{
	warm_up(p);
	for (int s = 0; s < p->steps; s++) {
		train_step(p, s);
		if (p->log_every && s % p->log_every == p->log_every - 1)
			launch_body(p, &p->log, 1, 0, NO_STEP);
		if (p->eval_every && s % p->eval_every == p->eval_every - 1)
			for (int b = 0; b < p->eval_batches; b++)
				forward(p, NO_STEP);
	}
}

/* Optimizers: fused, by lists of tensors, or one tensor after the other. */
static struct body make_update(int layers)
{
	struct body one = make_body(between(4, 12), 100), all = {0};
	int tensors = layers * 4 > 40 ? 40 : layers * 4;

	switch (between(0, 2)) {
	case 0:
		return make_body(between(1, 4), 100);
	case 1:
		return make_body(between(8, 30), 100);
	default:
		for (int t = 0; t < tensors; t++)
			for (int i = 0; i < one.count; i++)
				all.at[all.count++] = one.at[i];
		return all;
	}
}

static void random_training(struct program *p)
{
	int layers = between(2, 32);

	make_model(p, layers, between(5, 16));
	p->is_training = true;
	p->steps = between(8, 40);
	p->micro = 1;
	p->variants = chance(30) ? 3 : 1;
	p->has_hint = chance(75);
	p->has_gap = chance(60);
	p->gap_us = between(100, 3000);
	p->update = make_update(layers);
	p->noise_per_mille = chance(50) ? between(0, 10) : 0;
	p->warm_items = chance(40) ? between(100, 3000) : 0;
}

static void plain_training(struct program *p)
{
	random_training(p);
	train(p);
}

/* Compiled first: kernels are tried by the thousand, more launches than there are in all the steps. */
static void tuned_first(struct program *p)
{
	struct body tried = make_body(between(5, 60), 90), reset = make_body(1, 100);
	int in_steps;

	random_training(p);
	p->steps = between(30, 60);
	p->layers = between(1, 4);
	in_steps = p->steps * p->layers * (p->layer.count + p->back_layer.count);
	while ((int)p->count < between(2, 4) * in_steps) {
		struct body one = {{tried.at[between(0, tried.count - 1)]}, 1};

		for (int i = between(20, 200); i > 0; i--) {
			launch_body(p, &reset, 1, 0, NO_STEP);
			launch_body(p, &one, 1, 0, NO_STEP);
		}
		wait_us(p, between(100, 50000));
	}
	train(p);
}

static void logging(struct program *p)
{
	random_training(p);
	p->steps = between(40, 80);
	p->log_every = between(0, 1) ? 10 : between(3, 20);
	p->log = make_body(between(1, 12), 80);
	train(p);
}

static void evaluation(struct program *p)
{
	random_training(p);
	p->steps = between(30, 60);
	p->eval_every = between(5, 12);
	p->eval_batches = between(1, 6);
	train(p);
}

static void accumulation(struct program *p)
{
	random_training(p);
	p->micro = 1 << between(1, 4);
	p->steps = between(8, 20);
	p->has_micro_gap = chance(40);
	train(p);
}

/* ---- inference */

static void decode(struct program *p, int step)
{
	if (p->has_gap)
		wait_us(p, p->gap_us);
	if (p->is_graph)
		put(p, 800000, WT_STEP_ITEM_GRAPH, step);
	else
		forward(p, step);
	launch_body(p, &p->log, 1, 0, step); /* sampling */
}

static void random_inference(struct program *p)
{
	make_model(p, chance(30) ? 100 : between(12, 80), between(6, 16));
	p->log = make_body(between(1, 12), 90);
	p->prefill = make_body(p->layer.count + between(-1, 1), 70);
	p->has_gap = chance(80);
	p->gap_us = between(100, 2000);
	p->noise_per_mille = chance(30) ? between(0, 5) : 0;
	p->variants = 1;
	p->steps = between(20, 100);
}

static void decoding(struct program *p)
{
	random_inference(p);
	for (int s = 0; s < p->steps; s++)
		decode(p, s);
}

/* Requests one after the other: a prefill, then tokens. */
static void requests(struct program *p)
{
	int constant = chance(40) ? between(16, 100) : 0, step = 0;

	random_inference(p);
	p->is_graph = chance(30);
	for (int r = 0, count = between(3, 8); r < count; r++) {
		wait_us(p, between(0, 20000));
		launch_body(p, &p->embed, 1, 0, NO_STEP);
		launch_body(p, &p->prefill, p->layers, 0, NO_STEP);
		launch_body(p, &p->head, 1, 0, NO_STEP);
		for (int t = constant ? constant : between(8, 100); t > 0; t--)
			decode(p, step++);
	}
	p->steps = step;
}

static void graphs(struct program *p)
{
	random_inference(p);
	p->is_graph = true;
	p->log.count = between(0, 6);
	for (int s = 0; s < p->steps; s++)
		decode(p, s);
}

/* ---- loops around equal layers, with hardly anything else */

static void bare_layers(struct program *p)
{
	make_model(p, chance(50) ? 32 : 100, between(3, 20));
	p->embed.count = 1;
	p->head.count = between(1, 4);
	p->has_gap = chance(60);
	p->gap_us = between(50, 1000);
	p->variants = 1;
	p->noise_per_mille = chance(30) ? between(0, 5) : 0;
	p->steps = between(2, 60);
	for (int s = 0; s < p->steps; s++) {
		if (p->has_gap)
			wait_us(p, p->gap_us);
		forward(p, s);
	}
}

/* ---- no model: some kernels over and over */

static void small_loop(struct program *p)
{
	p->log = make_body(between(2, 40), 60);
	p->layer = p->log;
	p->variants = 1;
	p->steps = between(100, 1500);
	p->has_gap = chance(50);
	p->gap_us = between(60, 1000);
	p->warm_items = chance(30) ? between(10, 500) : 0;
	warm_up(p);
	for (int s = 0; s < p->steps; s++) {
		if (p->has_gap)
			wait_us(p, p->gap_us);
		launch_body(p, &p->log, 1, 0, s);
	}
}

/* Data with a hole: some seconds of launches were lost. */
static void hole(struct program *p)
{
	size_t from, length;

	random_training(p);
	p->steps = between(20, 40);
	train(p);
	from = p->count * (size_t)between(10, 60) / 100;
	length = p->count * (size_t)between(5, 30) / 100;
	memmove(p->items + from, p->items + from + length,
	        (p->count - from - length) * sizeof(*p->items));
	memmove(p->step + from, p->step + from + length,
	        (p->count - from - length) * sizeof(*p->step));
	p->count -= length;
}

/* ---- nothing to find */

static void no_loop(struct program *p)
{
	int kernels = between(2, 200), count = between(10, 20000);

	p->variants = 1;
	for (int i = 0; i < count; i++)
		put(p, (uint64_t)between(1, kernels), 0, NO_STEP);
}

/* Parts that come back, but in no order. */
static void disorder(struct program *p)
{
	struct body parts[6];

	p->variants = 1;
	for (int i = 0; i < 6; i++)
		parts[i] = make_body(between(3, 60), 60);
	for (int i = between(20, 400); i > 0; i--)
		launch_body(p, &parts[between(0, 5)], between(1, 3), 0, NO_STEP);
}

/* Two threads with a loop each, as the scheduler lets them: steps of the merged order are none. */
static void two_threads(struct program *p)
{
	struct program a = {0}, b = {0};
	size_t i = 0, k = 0;

	random_training(&a);
	a.noise_per_mille = 0;
	train(&a);
	random_training(&b);
	for (int j = 0; j < b.layer.count; j++)
		b.layer.at[j] += 300000;
	train(&b);
	while (i < a.count || k < b.count) {
		bool is_a =
		        k == b.count || (i < a.count && a.items[i].time_ns <= b.items[k].time_ns);
		const struct program *from = is_a ? &a : &b;
		size_t *at = is_a ? &i : &k;

		put(p, from->items[*at].signature, from->items[*at].flags,
		    is_a ? a.step[i] : NO_STEP);
		p->other[p->count - 1] = is_a ? NO_STEP : b.step[k];
		p->items[p->count - 1].time_ns = from->items[*at].time_ns;
		++*at;
	}
	free(a.items);
	free(a.step);
	free(a.other);
	free(b.items);
	free(b.step);
	free(b.other);
}

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
        {"training", plain_training, 60, 80},
        {"training, compiled and tuned first", tuned_first, 40, 60},
        {"training that logs every few steps", logging, 40, 60},
        {"training with evaluation", evaluation, 40, 80},
        {"gradient accumulation", accumulation, 40, 50},
        {"decoding", decoding, 30, 80},
        {"requests of prefill and tokens", requests, 40, 50},
        {"graphs", graphs, 30, 90},
        {"bare layers", bare_layers, 50, 40},
        {"small loops", small_loop, 30, 50},
        {"data with a hole", hole, 30, 70},
        {"no loop", no_loop, 30, 0},
        {"disorder", disorder, 30, 0},
        {"two threads", two_threads, 20, 0},
};

static void test_family(const struct family *family, uint64_t seed)
{
	int verdicts[3] = {0};
	bool is_verbose = getenv("WT_STEPS_VERBOSE") != NULL;

	for (int i = 0; i < family->count; i++) {
		struct program p = {0};
		struct wt_steps steps;
		enum verdict verdict;

		state = seed * 1000 + (uint64_t)i;
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

/*
 * steps_programs.c - see steps_programs.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/steps_programs.h"

#define NO_STEP (-1)

/* ---- randomness, the same on every machine */

static uint64_t state;

void steps_seed(uint64_t seed)
{
	state = seed;
}

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

void steps_plain_training(struct program *p)
{
	random_training(p);
	train(p);
}

/* Compiled first: kernels are tried by the thousand, more launches than there are in all the steps. */
void steps_tuned_first(struct program *p)
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

void steps_logging(struct program *p)
{
	random_training(p);
	p->steps = between(40, 80);
	p->log_every = between(0, 1) ? 10 : between(3, 20);
	p->log = make_body(between(1, 12), 80);
	train(p);
}

void steps_evaluation(struct program *p)
{
	random_training(p);
	p->steps = between(30, 60);
	p->eval_every = between(5, 12);
	p->eval_batches = between(1, 6);
	train(p);
}

void steps_accumulation(struct program *p)
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

void steps_decoding(struct program *p)
{
	random_inference(p);
	for (int s = 0; s < p->steps; s++)
		decode(p, s);
}

/* Requests one after the other: a prefill, then tokens. */
void steps_requests(struct program *p)
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

void steps_graphs(struct program *p)
{
	random_inference(p);
	p->is_graph = true;
	p->log.count = between(0, 6);
	for (int s = 0; s < p->steps; s++)
		decode(p, s);
}

/* ---- loops around equal layers, with hardly anything else */

void steps_bare_layers(struct program *p)
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

void steps_small_loop(struct program *p)
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
void steps_hole(struct program *p)
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

void steps_no_loop(struct program *p)
{
	int kernels = between(2, 200), count = between(10, 20000);

	p->variants = 1;
	for (int i = 0; i < count; i++)
		put(p, (uint64_t)between(1, kernels), 0, NO_STEP);
}

/* Parts that come back, but in no order. */
void steps_disorder(struct program *p)
{
	struct body parts[6];

	p->variants = 1;
	for (int i = 0; i < 6; i++)
		parts[i] = make_body(between(3, 60), 60);
	for (int i = between(20, 400); i > 0; i--)
		launch_body(p, &parts[between(0, 5)], between(1, 3), 0, NO_STEP);
}

/* Two threads with a loop each, as the scheduler lets them: steps of the merged order are none. */
void steps_two_threads(struct program *p)
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

/*
 * test_kernel_match.c - kernels found again under other names, and those that are not.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel_match.h"
#include "tests/tap.h"

#define MOST 128

static struct wt_match_kernel a[MOST], b[MOST];
static size_t a_count, b_count;

static void add(struct wt_match_kernel *side, size_t *count, const char *name, double blocks,
                double threads, double place, double launches)
{
	side[(*count)++] = (struct wt_match_kernel){.name = name,
	                                            .blocks = blocks,
	                                            .threads = threads,
	                                            .place = place,
	                                            .launches = launches,
	                                            .weight = 1};
}
#define BEFORE(...) add(a, &a_count, __VA_ARGS__)
#define AFTER(...) add(b, &b_count, __VA_ARGS__)

static void match(void)
{
	if (wt_kernel_match(a, a_count, b, b_count))
		abort();
}

static void plain_is(const char *name, const char *want)
{
	char plain[WT_MATCH_NAME_BYTES];

	wt_match_plain_name(name, plain);
	ok(!strcmp(plain, want), "%s is %s", name, plain);
}

static void begin(void)
{
	a_count = b_count = 0;
}

static void test_names(void)
{
	plain_is("triton_poi_fused_add_7", "triton_poi_fused_add");
	plain_is("triton_poi_fused_add_7d", "triton_poi_fused_add_7d");
	plain_is("triton_red_fused__to_copy_12_0d1", "triton_red_fused__to_copy_#_0d1");
	plain_is("void f<int, 3>(float *)", "void f");
	plain_is("gemm_128x64x32_tn", "gemm_#_tn");
	plain_is("kernel_cafe12ab", "kernel");
	plain_is("decade", "decade");
	plain_is("void (anonymous namespace)::f(int)", "void ::f");
	plain_is("", "");
	plain_is("7", "#");
}

static void test_same(void)
{
	begin();
	BEFORE("x", 10, 128, 0, 1);
	BEFORE("y", 10, 128, 0.5, 1);
	AFTER("y", 99, 32, 0, 9);
	AFTER("z_completely_else", 1, 1, 0.5, 1);
	match();
	ok(a[1].partner == 0 && a[1].how == WT_MATCH_NAME && a[1].score == 1 && b[0].partner == 1,
	   "a name is enough, whatever its geometry");
	ok(a[0].how == WT_MATCH_NONE && b[1].how == WT_MATCH_NONE && a[0].partner == SIZE_MAX,
	   "others are gone and new");
}

/* A compiler numbered its kernels anew, since one came first. */
static void test_renumbered(void)
{
	static char names[2][10][40];
	int right = 0;

	begin();
	for (int i = 0; i < 10; i++) {
		snprintf(names[0][i], sizeof(names[0][i]), "triton_poi_fused_add_%d", i);
		snprintf(names[1][i], sizeof(names[1][i]), "triton_poi_fused_add_%d", i + 100);
		BEFORE(names[0][i], 100 + i, 128, i / 10.0, 1);
		AFTER(names[1][i], 100 + i, 128, i / 10.0 + 0.01, 1);
	}
	match();
	for (size_t i = 0; i < 10; i++)
		right += a[i].partner == i && a[i].how == WT_MATCH_RENAMED && a[i].score > 0.9;
	ok(right == 10, "ten of one name but for numbers, in order: %d", right);
}

static void test_ambiguous(void)
{
	begin();
	BEFORE("triton_poi_fused_add_1", 100, 128, 0.5, 1);
	AFTER("triton_poi_fused_add_2", 100, 128, 0.5, 1);
	AFTER("triton_poi_fused_add_3", 100, 128, 0.5, 1);
	match();
	ok(a[0].how == WT_MATCH_NONE, "one that may be either of two is neither");
	begin();
	BEFORE("triton_poi_fused_add_1", 100, 128, 0.1, 1);
	AFTER("triton_poi_fused_add_2", 100, 128, 0.1, 1);
	AFTER("triton_poi_fused_add_3", 3, 1024, 0.9, 30);
	match();
	ok(a[0].partner == 0 && a[0].score >= WT_MATCH_SCORE_SURE,
	   "but where geometry and order tell: %.2f", a[0].score);
}

static void test_alike(void)
{
	begin();
	BEFORE("first", 1, 32, 0, 1);
	BEFORE("cutlass_gemm_128x64_tn_align8", 64, 256, 0.3, 4);
	BEFORE("softmax_forward", 64, 256, 0.6, 4);
	AFTER("first", 1, 32, 0, 1);
	AFTER("cutlass_gemm_256x128_tn_align4", 32, 256, 0.3, 4);
	AFTER("flash_attention", 64, 256, 0.6, 4);
	match();
	ok(a[1].partner == 1 && a[1].how == WT_MATCH_ALIKE, "another tile: %.2f", a[1].score);
	ok(a[2].how == WT_MATCH_NONE, "another kernel at the same place is another");
	begin();
	BEFORE("void k<float, 4>(float*)", 10, 128, 0.5, 2);
	AFTER("void k<__half, 8>(__half*)", 10, 128, 0.5, 2);
	match();
	ok(a[0].how == WT_MATCH_RENAMED && a[0].score > 0.999, "other template arguments");
	begin();
	BEFORE("void k<float, 4>(float*)", 10, 128, 0.5, 2);
	AFTER("void k<__half, 8>(__half*)", 10000, 1024, 0.9, 200);
	match();
	ok(a[0].score < WT_MATCH_SCORE_SURE,
	   "of another geometry, order and number: not sure (%.2f)", a[0].score);
}

static void test_empty(void)
{
	begin();
	match();
	BEFORE("", 0, 0, 0, 0);
	AFTER("x", 0, 0, 0, 0);
	match();
	ok(a[0].how == WT_MATCH_NONE, "no name, no match");
}

/* Each is matched once, and both sides say the same. */
static void test_random(void)
{
	static char names[2][MOST][40];
	unsigned seed = 1;
	int wrong = 0;

	for (int round = 0; round < 50; round++) {
		begin();
		for (int side = 0; side < 2; side++)
			for (int i = 0; i < 60; i++) {
				seed = seed * 1103515245u + 12345u;
				snprintf(names[side][i], sizeof(names[side][i]), "%s_fused_%u",
				         seed >> 16 & 1 ? "triton_poi" : "triton_red",
				         seed >> 18 & 255);
				add(side ? b : a, side ? &b_count : &a_count, names[side][i],
				    1 + (seed >> 20 & 15), 128, i / 60.0, 1);
			}
		match();
		for (size_t i = 0; i < a_count; i++)
			if (a[i].how != WT_MATCH_NONE &&
			    (a[i].partner >= b_count || b[a[i].partner].partner != i ||
			     a[i].score < WT_MATCH_SCORE_LEAST || a[i].score > 1))
				wrong++;
	}
	ok(wrong == 0, "random ones: one to one");
}

int main(void)
{
	test_names();
	test_same();
	test_renumbered();
	test_ambiguous();
	test_alike();
	test_empty();
	test_random();
	return tap_done();
}

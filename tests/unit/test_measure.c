/*
 * test_measure.c - measured rates in place of the model's shares: a hand-worked example, and random
 * kernels swept in random order, whose sums must not depend on how they are cut into parts.
 */
#include "analysis/measure.h"
#include "tests/tap.h"

#define SMS 132
#define CONFIGS 5

static uint64_t state = 42;

static uint64_t below(uint64_t n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

/* 4 SMs; 3 in reach; 100 ns alone, and 50 beside another with which it shares SMs. */
static void test_by_hand(void)
{
	struct wt_sweep_share share = {.alone_ns = 100,
	                               .alone_wave_sm_ns = 30,
	                               .active_sm_ns = 270,
	                               .underfill_sm_ns = 100,
	                               .wave_sm_ns = 30,
	                               .unjudged_sm_ns = 90};
	struct wt_beside beside = {.time_ns = 50, .unjudged_sm_ns = 90};
	struct wt_measure measure = {.evidence = WT_EVIDENCE_PROFILED,
	                             .device_sms = 4,
	                             .underfill_sms = 1,
	                             .wave_sms = 0.25,
	                             .wave_max_sms = 0.5,
	                             .straggle_sms = 0.755,
	                             .ramp_sms = 0.1,
	                             .is_joint = true,
	                             .joint_share = 0.5};
	struct wt_sweep_share measured[WT_EVIDENCE_MAX], model = share;

	ok(wt_measure_is_valid(&measure), "can be");
	wt_measure_apply(&measure, &beside, &share, measured);
	is_i64(share.underfill_sm_ns, 100, "underfill");
	is_i64(share.wave_sm_ns, 25, "wave");
	is_i64(share.straggle_sm_ns, 75 + 45, "straggle, with the idle SMs beside the other");
	is_i64(share.ramp_sm_ns, 10, "ramp");
	is_i64(share.unjudged_sm_ns, 0, "nothing is unjudged");
	is_i64(share.active_sm_ns, 400 - 100 - 25 - 75 - 10 + 45, "active");
	is_i64(wt_measure_sm_ns(&share), wt_measure_sm_ns(&model), "the sum stays");
	is_i64(wt_measure_sm_ns(&measured[WT_EVIDENCE_PROFILED]), 400, "of it profiled");
	is_i64(wt_measure_sm_ns(&measured[WT_EVIDENCE_SAMPLED]), 90, "and sampled");
	measure.evidence = WT_EVIDENCE_MODEL;
	measure.is_joint = false;
	measure.has_class_wave = true;
	measure.alone_ns = 0;
	measure.wave_sms = 0.5;
	share = model;
	wt_measure_apply(&measure, &beside, &share, measured);
	is_i64(share.wave_sm_ns, 50, "only the class: its wave");
	is_i64(share.active_sm_ns, 250, "taken from what was active");
	is_i64(wt_measure_sm_ns(&measured[WT_EVIDENCE_SAMPLED]), 0, "and nothing measured");
	measure.ramp_sms = NAN;
	ok(!wt_measure_is_valid(&measure), "no number");
	measure.ramp_sms = 3;
	ok(!wt_measure_is_valid(&measure), "more than there are");
}

struct run {
	struct wt_measure measures[CONFIGS];
	struct wt_sweep_facts facts[CONFIGS];
	bool is_judged[CONFIGS];
	struct wt_sweep_share model, sum, measured[WT_EVIDENCE_MAX];
	struct wt_beside beside[CONFIGS];
	int64_t alone_ns[CONFIGS], alone_by_hand_ns;
};

static int on_kernel(void *arg, int64_t id, const struct wt_sweep_share *share)
{
	struct run *run = arg;
	struct wt_sweep_share known = *share, measured[WT_EVIDENCE_MAX];
	struct wt_beside beside;

	wt_derive_beside(&run->facts[id], run->is_judged[id], 0, share, &beside);
	wt_measure_apply(&run->measures[id], &beside, &known, measured);
	wt_sweep_share_add(&run->model, share);
	wt_sweep_share_add(&run->sum, &known);
	for (int i = 0; i < WT_EVIDENCE_MAX; i++)
		wt_sweep_share_add(&run->measured[i], &measured[i]);
	run->alone_ns[id] += share->alone_ns;
	run->beside[id].unjudged_sm_ns += beside.unjudged_sm_ns;
	run->beside[id].underfill_sm_ns += beside.underfill_sm_ns;
	return 0;
}

static void make(struct run *run)
{
	memset(run, 0, sizeof(*run));
	for (int i = 0; i < CONFIGS; i++) {
		struct wt_measure *m = &run->measures[i];

		run->facts[i].sms = (uint32_t)below(SMS) + 1;
		run->facts[i].device_sms = SMS;
		run->is_judged[i] = below(3) > 0;
		m->device_sms = SMS;
		m->evidence = (enum wt_evidence)below(3);
		m->underfill_sms = (double)below(400) / 13;
		m->wave_sms = (double)below(400) / 17;
		m->wave_max_sms = m->wave_sms * 1.5;
		m->straggle_sms = (double)below(400) / 19;
		m->ramp_sms = (double)below(100) / 7;
		m->is_joint = below(2);
		m->joint_share = (double)below(1000) / 999;
		m->has_class_wave =
		        m->evidence == WT_EVIDENCE_MODEL && run->is_judged[i] && below(2);
	}
}

/* Up to three kernels beside each other; sorted starts. */
static void sweep(struct run *run, int count)
{
	const struct wt_sweep_output output = {.kernel = on_kernel, .arg = run};
	struct wt_sweep sweep;
	int64_t now_ns = 0, end_ns = 0;

	wt_sweep_init(&sweep, SMS, 0, &output);
	for (int i = 0; i < count; i++) {
		int64_t id = (int64_t)below(CONFIGS), length = (int64_t)below(100000) + 1;
		struct wt_sweep_kernel kernel = {.id = id,
		                                 .start_ns = now_ns,
		                                 .end_ns = now_ns + length,
		                                 .duration_ns = length,
		                                 .sms = run->facts[id].sms,
		                                 .is_judged = run->is_judged[id]};

		if (kernel.is_judged) {
			kernel.wave_sm_ns = (int64_t)below((uint64_t)length * kernel.sms);
			kernel.wave_max_sm_ns = kernel.wave_sm_ns;
		}
		wt_sweep_add(&sweep, &kernel);
		end_ns = kernel.end_ns > end_ns ? kernel.end_ns : end_ns;
		now_ns += (int64_t)below(90000);
	}
	wt_sweep_finish(&sweep, end_ns);
}

static void test_random(void)
{
	int bad_sum = 0, bad_total = 0, bad_measured = 0, bad_class = 0;

	for (int i = 0; i < 300; i++) {
		struct run run;
		int64_t underfill = 0, joint = 0, alone = 0;

		make(&run);
		sweep(&run, 200);
		for (int c = 0; c < CONFIGS; c++) {
			const struct wt_measure *m = &run.measures[c];

			bad_total += m->alone_ns != run.alone_ns[c];
			if (m->evidence != WT_EVIDENCE_MODEL) {
				underfill += (int64_t)(m->underfill_sms * (double)run.alone_ns[c]);
				alone += SMS * run.alone_ns[c];
			} else {
				underfill += (SMS - (int64_t)run.facts[c].sms) * run.alone_ns[c];
			}
			underfill += run.beside[c].underfill_sm_ns;
			joint += m->is_joint ? run.beside[c].unjudged_sm_ns : 0;
		}
		bad_sum += wt_measure_sm_ns(&run.sum) != wt_measure_sm_ns(&run.model);
		bad_class += run.sum.underfill_sm_ns != underfill;
		bad_measured += wt_measure_sm_ns(&run.measured[WT_EVIDENCE_SAMPLED]) +
		                        wt_measure_sm_ns(&run.measured[WT_EVIDENCE_PROFILED]) !=
		                alone + joint;
	}
	is_i64(bad_sum, 0, "random: the sums stay, to the SM-ns");
	is_i64(bad_total, 0, "random: all time alone was given");
	is_i64(bad_class, 0, "random: underfill as from the totals at once");
	is_i64(bad_measured, 0, "random: what is measured is the time alone and joint");
}

int main(void)
{
	test_by_hand();
	test_random();
	return tap_done();
}

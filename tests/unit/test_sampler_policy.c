/*
 * test_sampler_policy.c - how often wavetap-sampler looks at a device, over simulated time; and how
 * people write intervals.
 */
#include "daemon/sampler_policy.h"
#include "schema/wt_sampling.h"
#include "tests/tap.h"

#define US UINT64_C(1000)
#define SECOND UINT64_C(1000000000)

/* ---- words */

static void test_words(void)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"auto", WT_SAMPLE_AUTO},
	            {"off", 0},
	            {"", 0},
	            {"0", 0},
	            {"5us", 5 * US},
	            {"50us", 50 * US},
	            {"100ms", 100000 * US},
	            {"20000ns", 20 * US},
	            {"0.1ms", 100 * US},
	            {"12.5us", 12500},
	            {"0.05ms", 50 * US}};
	static const char *const bad[] = {
	        "on",   "50",     "50 us", "4.9us", "101ms", "-5us",  "us",
	        "5us5", "1..5ms", ".",     "1s",    "5uss",  "auto ", "99999999999999999999us"};
	uint32_t launches = 0;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t ns = 77;

		ok(wt_sampling_parse(good[i].text, &ns) == 0 && ns == good[i].ns, "\"%s\" is %llu",
		   good[i].text, (unsigned long long)good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t ns = 77;

		ok(wt_sampling_parse(bad[i], &ns) < 0 && ns == 77, "\"%s\" is nothing", bad[i]);
	}
	ok(wt_profile_parse("12", &launches) == 0 && launches == 12, "12 launches");
	ok(wt_profile_parse("0", &launches) == 0 && launches == 0, "none");
	ok(wt_profile_parse("1001", &launches) < 0 && wt_profile_parse("", &launches) < 0 &&
	           wt_profile_parse("2x", &launches) < 0 && wt_profile_parse("-1", &launches) < 0,
	   "what is no number of launches");
	for (unsigned i = 0; i < WT_SAMPLER_MAX; i++)
		ok(wt_sampler_text(i) && wt_sampler_text(i)[0], "state %u has words", i);
	ok(!wt_sampler_text(WT_SAMPLER_MAX), "others have none");
}

/* ---- a device that is busy all the time, and a decoder that takes `cost_ns` a sample */

struct simulation {
	struct wt_sampler_policy policy;
	uint64_t now_ns, sampled_ns, cpu_ns, fine_ns;
	uint64_t last_ns, other_ns; /* intervals: of the last stretch, of that before it */
	int bursts, repeats; /* two stretches in a row at one interval */
};

static void run_for(struct simulation *sim, uint64_t for_ns, uint64_t cost_ns)
{
	uint64_t end_ns = sim->now_ns + for_ns;

	while (sim->now_ns < end_ns) {
		struct wt_sampler_plan plan = wt_sampler_policy_next(&sim->policy);
		struct wt_sampler_stretch done = {.samples = plan.stretch_ns / plan.interval_ns};

		done.active_ns = plan.stretch_ns;
		done.cpu_ns = done.samples * cost_ns;
		sim->cpu_ns += done.cpu_ns;
		sim->sampled_ns += plan.stretch_ns;
		sim->fine_ns += plan.interval_ns <= 20 * US ? plan.stretch_ns : 0;
		sim->now_ns += plan.stretch_ns + plan.pause_ns;
		sim->bursts += plan.pause_ns > 0;
		sim->repeats += plan.interval_ns == sim->last_ns;
		sim->other_ns = sim->last_ns;
		sim->last_ns = plan.interval_ns;
		ok(wt_sampler_policy_learn(&sim->policy, &done), "goes on at %llu ns",
		   (unsigned long long)plan.interval_ns);
	}
}

static void test_auto(void)
{
	struct simulation sim = {0};

	wt_sampler_policy_init(&sim.policy, WT_SAMPLE_AUTO, false);
	run_for(&sim, 29 * SECOND, 16 * US);
	is_i64((int64_t)sim.sampled_ns, (int64_t)(29 * SECOND), "for half a minute without rests");
	is_i64(sim.repeats, 0, "no interval comes twice in a row");
	ok((sim.last_ns == 50 * US && sim.other_ns == 47 * US) ||
	           (sim.last_ns == 47 * US && sim.other_ns == 50 * US),
	   "50 and 47 us take turns");
	ok(sim.cpu_ns < sim.sampled_ns * 36 / 100, "about a third of a core");
	run_for(&sim, SECOND, 16 * US);
	sim.sampled_ns = sim.fine_ns = sim.cpu_ns = 0;
	sim.bursts = 0;
	sim.now_ns = 0;
	run_for(&sim, 600 * SECOND, 16 * US);
	is_i64(sim.bursts, 60, "then a burst in ten seconds");
	is_i64((int64_t)sim.fine_ns, (int64_t)(10 * SECOND / 4), "a short fine one a minute");
	is_i64((int64_t)sim.sampled_ns, (int64_t)(50 * SECOND + 10 * SECOND / 4),
	       "the others of a second");
	ok(sim.cpu_ns < 600 * SECOND * 5 / 100, "a twentieth of a core");
}

static void test_cost(void)
{
	struct simulation sim = {0};

	wt_sampler_policy_init(&sim.policy, WT_SAMPLE_AUTO, false);
	run_for(&sim, 3 * SECOND, 60 * US);
	is_i64((int64_t)sim.policy.base_ns, 180 * US, "60 us a sample: every 180 us");
	sim.cpu_ns = sim.sampled_ns = 0;
	run_for(&sim, 5 * SECOND, 60 * US);
	ok(sim.cpu_ns < sim.sampled_ns * 36 / 100, "which is a third of a core");
	run_for(&sim, 3 * SECOND, 10 * US);
	is_i64((int64_t)sim.policy.base_ns, 50 * US, "and back when it is cheap again");
	run_for(&sim, 3 * SECOND, 5000 * US);
	is_i64((int64_t)sim.policy.base_ns, 1000 * US, "no wider than a millisecond");
}

/* What a sample costs on an H200, with all metrics or without, by up to a tenth more or less. */
static void test_h200(void)
{
	struct wt_sampler_policy policy;

	for (uint64_t cost_ns = 20 * US; cost_ns <= 25 * US; cost_ns += US) {
		uint64_t now_ns = 0, sampled_ns = 0, cpu_ns = 0, base_ns = 0;
		int changes = 0;

		wt_sampler_policy_init(&policy, WT_SAMPLE_AUTO, true);
		for (int i = 0; now_ns < 300 * SECOND; i++) {
			struct wt_sampler_plan plan = wt_sampler_policy_next(&policy);
			uint64_t each_ns = plan.is_rich ? 64 * US : cost_ns;
			struct wt_sampler_stretch done = {.samples = plan.stretch_ns /
			                                             plan.interval_ns,
			                                  .active_ns = plan.stretch_ns};

			done.cpu_ns = done.samples * (each_ns * (95 + (uint64_t)(i % 3) * 5) / 100);
			(void)wt_sampler_policy_learn(&policy, &done);
			changes += base_ns && policy.base_ns != base_ns;
			base_ns = policy.base_ns;
			now_ns += plan.stretch_ns + plan.pause_ns;
			sampled_ns += now_ns > 40 * SECOND ? plan.stretch_ns : 0;
			cpu_ns += now_ns > 40 * SECOND ? done.cpu_ns : 0;
		}
		ok(base_ns >= 60 * US && base_ns <= 80 * US, "%llu us a sample: every %llu us",
		   (unsigned long long)(cost_ns / US), (unsigned long long)(base_ns / US));
		ok(changes <= 1, "which stays so");
		ok(sampled_ns <= 26 * SECOND && cpu_ns < 26 * SECOND * 45 / 100,
		   "and a tenth of the time after half a minute: %llu ms of 260 s, %llu of CPU",
		   (unsigned long long)(sampled_ns / (1000 * US)),
		   (unsigned long long)(cpu_ns / (1000 * US)));
	}
}

static void test_asked(void)
{
	struct simulation sim = {0};

	wt_sampler_policy_init(&sim.policy, 20 * US, false);
	run_for(&sim, 100 * SECOND, 60 * US);
	is_i64((int64_t)sim.sampled_ns, (int64_t)(100 * SECOND), "20us: no rests");
	is_i64(sim.repeats, 0, "and no interval twice in a row");
	is_i64((int64_t)sim.policy.base_ns, 20 * US, "whatever it costs");
	wt_sampler_policy_init(&sim.policy, WT_SAMPLE_INTERVAL_NS_MIN, false);
	for (int i = 0; i < 4; i++)
		ok(wt_sampler_policy_next(&sim.policy).interval_ns >= WT_SAMPLE_INTERVAL_NS_MIN,
		   "never under the least");
}

/* Where samples begin in a period of a millisecond, to the microsecond. */
static void test_blind_spots(void)
{
	static bool is_seen[1000];
	struct wt_sampler_policy policy;
	int seen = 0;

	wt_sampler_policy_init(&policy, WT_SAMPLE_AUTO, false);
	for (int i = 0; i < 2; i++) {
		struct wt_sampler_plan plan = wt_sampler_policy_next(&policy);

		for (uint64_t at = 0; at < plan.stretch_ns; at += plan.interval_ns)
			is_seen[at / US % 1000] = true;
	}
	for (int i = 0; i < 1000; i++)
		seen += is_seen[i];
	is_i64(seen, 1000, "every microsecond of a periodic program begins a sample");
}

/* Stretches with all metrics, which cost 64 us a sample, among those that cost 20. */
static void test_rich(void)
{
	struct wt_sampler_policy policy;
	uint64_t rich_ns = 0, all_ns = 0, last_rich_ns = 0;
	int rich = 0, same = 0, first = -1;

	wt_sampler_policy_init(&policy, WT_SAMPLE_AUTO, true);
	for (int i = 0; i < 28; i++) {
		struct wt_sampler_plan plan = wt_sampler_policy_next(&policy);
		struct wt_sampler_stretch done = {.samples = plan.stretch_ns / plan.interval_ns,
		                                  .active_ns = plan.stretch_ns};

		done.cpu_ns = done.samples * (plan.is_rich ? 64 * US : 20 * US);
		all_ns += plan.stretch_ns;
		if (plan.is_rich) {
			first = first < 0 ? i : first;
			rich++;
			rich_ns += plan.stretch_ns;
			same += plan.interval_ns == last_rich_ns;
			last_rich_ns = plan.interval_ns;
			ok(plan.interval_ns >= 188 * US, "stretch %d is rich", i);
		} else if (i > 0) {
			ok(plan.interval_ns >= 56 * US && plan.interval_ns <= 60 * US,
			   "the others take a third of a core");
		}
		ok(wt_sampler_policy_learn(&policy, &done), "goes on");
	}
	is_i64(first, 1, "the first comes after a second of kernels");
	is_i64(rich, 3, "three of twenty-eight stretches");
	is_i64(same, 0, "no interval twice in a row");
	ok(rich_ns * 100 <= all_ns * 7, "no more than 7 %% of what is sampled");
	policy.active_ns = 60 * SECOND;
	rich = 0;
	for (int i = 0; i < 30; i++) {
		struct wt_sampler_plan plan = wt_sampler_policy_next(&policy);

		rich += plan.is_rich;
		ok(!(plan.is_rich && policy.is_fine), "rich or fine");
	}
	is_i64(rich, 5, "every sixth burst");
	wt_sampler_policy_init(&policy, 500 * US, true);
	policy.plain_active_ns = SECOND;
	(void)wt_sampler_policy_next(&policy);
	ok(policy.is_rich, "also where an interval was asked for");
	is_i64((int64_t)policy.rich_ns, 500 * US, "and never more often than that");
}

/* Hardly any kernels: in each stretch that sees some, a hundredth of it; in the first twelve none. */
static void test_few_kernels(void)
{
	struct wt_sampler_policy policy;
	int at[3] = {-1, -1, -1}, rich = 0;

	wt_sampler_policy_init(&policy, 50 * US, true);
	for (int i = 0; i < 60; i++) {
		struct wt_sampler_plan plan = wt_sampler_policy_next(&policy);
		struct wt_sampler_stretch done = {.samples = plan.stretch_ns / plan.interval_ns};

		done.active_ns = i < 12 ? 0 : plan.stretch_ns / 100;
		if (plan.is_rich && rich < 3)
			at[rich++] = i;
		ok(wt_sampler_policy_learn(&policy, &done), "goes on");
	}
	is_i64(at[0], 14, "an idle device has no rich stretch; the third with kernels is one");
	is_i64(at[1], 27, "another after twelve more");
	is_i64(at[2], 40, "and so on");
}

/* ---- phases of a program under the schedule, where another set of metrics takes 0.65 s to set up */

#define TICK_NS (10 * SECOND / 1000) /* a hundredth of a second */
#define TICKS 10000
#define ENABLE_TICKS 65

enum looked { NOBODY, PLAIN, RICH };

/* What was looked at with, tick by tick: of a device that is idle until `idle_ticks`, busy from then on. */
static void lay_out(uint64_t asked_ns, int idle_ticks, enum looked looked[TICKS])
{
	struct wt_sampler_policy policy;
	bool was_rich = false;
	int now = 0;

	wt_sampler_policy_init(&policy, asked_ns, true);
	while (now < TICKS) {
		struct wt_sampler_plan plan = wt_sampler_policy_next(&policy);
		struct wt_sampler_stretch done = {.samples = plan.stretch_ns / plan.interval_ns};
		int end;

		for (end = now + (plan.is_rich != was_rich ? ENABLE_TICKS : 0);
		     now < end && now < TICKS;)
			looked[now++] = NOBODY;
		for (end = now + (int)(plan.stretch_ns / TICK_NS); now < end && now < TICKS;
		     now++) {
			looked[now] = plan.is_rich ? RICH : PLAIN;
			done.active_ns += now >= idle_ticks ? TICK_NS : 0;
		}
		was_rich = plan.is_rich;
		done.cpu_ns = done.samples * (plan.is_rich ? 64 * US : 16 * US);
		(void)wt_sampler_policy_learn(&policy, &done);
	}
}

/* The least share of plain samples, in percent, that any phase of so many ticks has; from `from` on. */
static int worst_phase(const enum looked looked[TICKS], int from, int ticks)
{
	int worst = 100, plain = 0;

	for (int i = from; i < TICKS; i++) {
		plain += looked[i] == PLAIN;
		plain -= i - from >= ticks && looked[i - ticks] == PLAIN;
		if (i - from >= ticks - 1 && plain * 100 / ticks < worst)
			worst = plain * 100 / ticks;
	}
	return worst;
}

static int count(const enum looked looked[TICKS], enum looked what, int from, int to)
{
	int found = 0;

	for (int i = from; i < to; i++)
		found += looked[i] == what;
	return found;
}

static void test_phases(void)
{
	static enum looked looked[TICKS];
	int least = 100;

	lay_out(50 * US, 0, looked);
	ok(count(looked, RICH, 0, TICKS) <= TICKS * 6 / 100, "rich: no more than 6 %% of the time");
	ok(count(looked, PLAIN, 0, TICKS) >= TICKS * 80 / 100, "plain: at least 80 %%: %d",
	   count(looked, PLAIN, 0, TICKS) * 100 / TICKS);
	ok(worst_phase(looked, 0, 400) >= 50, "any 4 s: at least half is plain: %d %%",
	   worst_phase(looked, 0, 400));
	ok(worst_phase(looked, 0, 800) >= 75, "any 8 s: three quarters: %d %%",
	   worst_phase(looked, 0, 800));
	is_i64(count(looked, RICH, 0, 500), 50, "a run of 5 s has a rich stretch");
	ok(count(looked, PLAIN, 0, 500) >= 300, "and 3 s of plain ones");
	/* A phase that begins after the device was idle, as those of tests/gpu's `truth` do. */
	for (int idle = 0; idle < 1000; idle += 7) {
		int plain;

		lay_out(50 * US, idle, looked);
		plain = count(looked, PLAIN, idle, idle + 100);
		least = plain < least ? plain : least;
	}
	is_i64(least, 100, "its first second is all plain, whenever it begins");
}

/* ---- overflow */

static bool overflow(struct wt_sampler_policy *policy)
{
	const struct wt_sampler_stretch over = {.samples = 10, .is_overflow = true};

	(void)wt_sampler_policy_next(policy);
	return wt_sampler_policy_learn(policy, &over);
}

static void test_overflow(void)
{
	const struct wt_sampler_stretch fine = {.samples = 10};
	struct wt_sampler_policy policy;

	wt_sampler_policy_init(&policy, 5 * US, false);
	ok(overflow(&policy) && overflow(&policy), "twice is a hole each");
	(void)wt_sampler_policy_next(&policy);
	ok(wt_sampler_policy_learn(&policy, &fine), "a good one between");
	ok(overflow(&policy) && overflow(&policy), "twice again");
	ok(!overflow(&policy), "three in a row: the end");
	wt_sampler_policy_init(&policy, WT_SAMPLE_AUTO, false);
	ok(overflow(&policy), "auto goes on");
	is_i64((int64_t)policy.base_ns, 100 * US, "half as often");
	/* fine bursts are given up, not sampling */
	wt_sampler_policy_init(&policy, WT_SAMPLE_AUTO, false);
	policy.active_ns = 60 * SECOND;
	for (int i = 0; i < 60; i++) {
		(void)wt_sampler_policy_next(&policy);
		ok(wt_sampler_policy_learn(
		           &policy, &(struct wt_sampler_stretch){.samples = 10,
		                                                 .is_overflow = policy.is_fine}),
		   "burst %d", i);
		if (policy.is_fine)
			ok(i == 5, "the first fine burst runs over, and no other is tried");
	}
}

int main(void)
{
	test_words();
	test_auto();
	test_cost();
	test_h200();
	test_asked();
	test_blind_spots();
	test_rich();
	test_few_kernels();
	test_phases();
	test_overflow();
	return tap_done();
}

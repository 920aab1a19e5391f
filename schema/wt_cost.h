/*
 * wt_cost.h - what wavetap itself costs a process: how it is kept, and the limit that people set.
 *
 * TIMED HOOKS. Of WT_COST_PERIOD hooked calls of a thread one is timed, chosen so that no rhythm of the
 * program decides which (libintercept/cost.h). A timed call reads CLOCK_REALTIME once as the hook begins
 * and once as it ends, besides the two readings of its record around the driver's call; its time is the two
 * parts between, without the driver's. A reading tells a moment inside itself: of the two outer ones
 * a half each is in it, of the two inner ones a half each is not. So a timed hook says what one
 * takes that isn't timed.
 *
 * The histogram has four buckets to an octave, from 32 ns on. Hooks never block: of one that took over
 * WT_COST_LONG_NS the thread was off its CPU, or a page was fetched. Those are counted, and left out of
 * sums that stand for others.
 *
 * WAVETAP_BUDGET, --budget: percent of wall time, 0 < PCT <= 100; "off", "0" and "" are none.
 *
 * Inline, libc only, no heap and no locale: the library uses it inside the application. Any thread.
 */
#ifndef WT_COST_H
#define WT_COST_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define WT_COST_PERIOD 256u /* on the average */
#define WT_COST_OCTAVE_FIRST 5u /* 32 ns */
#define WT_COST_OCTAVE_LAST 19u
#define WT_COST_LONG_NS (UINT64_C(1) << (WT_COST_OCTAVE_LAST + 1)) /* 1.05 ms */
/* Under the first octave, four to each, over the last. */
#define WT_COST_BUCKETS (1u + 4u * (WT_COST_OCTAVE_LAST - WT_COST_OCTAVE_FIRST + 1u) + 1u)

static inline unsigned wt_cost_bucket(uint64_t ns)
{
	unsigned octave;

	if (ns < UINT64_C(1) << WT_COST_OCTAVE_FIRST)
		return 0;
	if (ns >= WT_COST_LONG_NS)
		return WT_COST_BUCKETS - 1;
	octave = 63u - (unsigned)__builtin_clzll(ns);
	return 1u + 4u * (octave - WT_COST_OCTAVE_FIRST) + (unsigned)(ns >> (octave - 2) & 3u);
}

/* The least time of a bucket. */
static inline uint64_t wt_cost_bucket_low_ns(unsigned bucket)
{
	unsigned octave;

	if (bucket == 0)
		return 0;
	if (bucket >= WT_COST_BUCKETS - 1)
		return WT_COST_LONG_NS;
	octave = WT_COST_OCTAVE_FIRST + (bucket - 1) / 4;
	return (UINT64_C(4) + (bucket - 1) % 4) << (octave - 2);
}

/* What became of WAVETAP_BUDGET. Stored in run files: never renumber; texts in wt_budget_text(). */
enum wt_budget_state {
	WT_BUDGET_OFF = 0, /* not asked for */
	WT_BUDGET_WATCHING = 1,
	WT_BUDGET_STEPPED_DOWN = 2, /* hook-only from `budget_stepped_ns` on */
	WT_BUDGET_BAD_VALUE = 3, /* not understood: as if there were none */
	WT_BUDGET_NO_THREAD = 4, /* the thread that would watch could not be made */
	WT_BUDGET_WAITING = 5, /* exceeded, but a capture or the application's profiler is open */
	WT_BUDGET_MAX
};

#define WT_BUDGET_FORM "a percentage of wall time above 0, up to 100, or off"
#define WT_BUDGET_PPM_MAX 1000000u

/* Millionths of wall time, 0 for none. 0, or -EINVAL. */
static inline int wt_budget_parse(const char *text, uint64_t *ret_ppm)
{
	uint64_t ppm = 0, unit = 1000; /* of the first decimal: 0.1 % */
	int digits = 0;

	if (!text[0] || !strcmp(text, "off")) {
		*ret_ppm = 0;
		return 0;
	}
	for (; *text >= '0' && *text <= '9'; text++) {
		if (++digits > 3)
			return -EINVAL;
		ppm = ppm * 10 + (uint64_t)(*text - '0') * 10000;
	}
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10) {
			if (!unit)
				return -EINVAL;
			digits++;
			ppm += (uint64_t)(*text - '0') * unit;
		}
	}
	if (*text == '%')
		text++;
	if (!digits || *text || ppm > WT_BUDGET_PPM_MAX)
		return -EINVAL;
	*ret_ppm = ppm;
	return 0;
}

/* One line for people, or NULL for an unknown number. */
static inline const char *wt_budget_text(unsigned state)
{
	static const char *const text[WT_BUDGET_MAX] = {
	        [WT_BUDGET_OFF] = "none",
	        [WT_BUDGET_WATCHING] = "kept so far",
	        [WT_BUDGET_STEPPED_DOWN] = "exceeded: hooks only from then on",
	        [WT_BUDGET_BAD_VALUE] =
	                ("WAVETAP_BUDGET is not " WT_BUDGET_FORM ": there is no limit"),
	        [WT_BUDGET_NO_THREAD] = "nobody watches: wavetap's thread could not be made",
	        [WT_BUDGET_WAITING] = ("exceeded: waits until no stream capture, profiled launch "
	                               "or session of the program's own profiler is open"),
	};

	return state < WT_BUDGET_MAX ? text[state] : NULL;
}

#endif /* WT_COST_H */

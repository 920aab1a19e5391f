/*
 * fake_counters.h - the file behind WTFAKE_COUNTERS: named counters that the
 * simulated libraries increase at the moment a thing happens, so that a test
 * can read them after a kill -9. `fake_counters FILE` prints it.
 */
#ifndef FAKE_COUNTERS_H
#define FAKE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#define FAKE_COUNTERS_MAGIC 0x74636b6657747675ull
#define FAKE_COUNTERS_MAX 400

struct fake_counter {
	char name[56]; /* empty: not in use, and none after it is */
	_Atomic uint64_t value;
};

struct fake_counters {
	uint64_t magic;
	int64_t pid;
	struct fake_counter counter[FAKE_COUNTERS_MAX];
};

#endif /* FAKE_COUNTERS_H */

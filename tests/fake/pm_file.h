/*
 * pm_file.h - the file behind WTFAKE_PM: which SM had how many warps when, of
 * every kernel of every process. The simulated driver writes it, the simulated
 * counters of another process read it.
 *
 * A head, mapped by all, then one struct fake_pm_kernel after the other, each
 * appended by a single write(2) when its kernel is enqueued, so it tells of the
 * future. `hold` is what makes it complete: before a launch looks at the clock,
 * its process writes that time there, and takes it away once the kernel is in
 * the file. A reader that takes the time, then the least hold, then reads to
 * the end of the file knows all that happened before the lesser of both.
 */
#ifndef FAKE_PM_FILE_H
#define FAKE_PM_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#define FAKE_PM_MAGIC 0x32306d706b667477ull
#define FAKE_PM_HEAD_BYTES 4096
#define FAKE_PM_HOLDERS 128
#define FAKE_PM_DEVICES 8

struct fake_pm_head {
	_Atomic uint64_t magic;
	struct {
		_Atomic int64_t pid; /* 0: free */
		_Atomic int64_t hold_ns; /* 0: none */
	} holder[FAKE_PM_HOLDERS];
	/* pid of who has the counters of a device, by the device's place; 0: nobody */
	_Atomic int64_t owner[FAKE_PM_DEVICES];
};
_Static_assert(sizeof(struct fake_pm_head) <= FAKE_PM_HEAD_BYTES, "head of WTFAKE_PM");

/* So many blocks on an SM from then to then; for SMs first_sm .. first_sm + sm_count - 1 alike. */
struct fake_pm_span {
	int32_t first_sm, sm_count;
	int32_t blocks;
	int32_t pad;
	int64_t start_ns, end_ns;
};

struct fake_pm_kernel {
	uint64_t magic;
	uint32_t bytes; /* with the spans that follow */
	uint32_t place; /* of the device on its host */
	uint32_t span_count;
	uint32_t warps_per_block;
	int64_t start_ns, end_ns; /* first block, last block */
	double tensor; /* part of its SMs' time in which the tensor pipe works */
	double issue; /* part of its SMs' issue slots in use while they have a block */
	double dram_read_bytes_per_ns, dram_write_bytes_per_ns; /* of the device, while it runs */
};

#endif /* FAKE_PM_FILE_H */

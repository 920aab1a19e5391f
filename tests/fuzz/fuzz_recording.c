/*
 * fuzz_recording.c - libFuzzer target: hostile recordings through the reader, and through the whole
 * import into a run file in memory.
 *
 * The first byte says what the rest is: bit 0 set, the columns of a block, which get a right head
 * and checksum (else nothing would ever get past the CRC); clear, the file as it is. Bit 1: import
 * it as well. Bits 2 to 4: flags of the block.
 *
 * Needs libwtstore.a libwtanalysis.a libwtschema.a, zlib, SQLite, tests/unit/recording_case.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/replay.h"
#include "tests/unit/recording_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void import(const struct recording_file *file)
{
	struct wt_replay *replay = wt_replay_create();
	char path[64], why[WT_REPLAY_WHY_BYTES];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!replay || fd < 0 || write(fd, file->bytes, file->length) != (ssize_t)file->length)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!wt_replay_add(replay, path, why) && !wt_replay_is_empty(replay) &&
	    !wt_replay_begin(replay, ":memory:", NULL, why)) {
		while (wt_replay_step(replay, why) > 0)
			;
		wt_replay_finish(replay, why);
	}
	wt_replay_destroy(replay);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording_file file = {0};
	uint64_t end_pos[WT_RING_MAX], cells, hash;
	int rc;

	if (size < 3)
		return 0;
	if (data[0] & 1) {
		end_pos[0] = data[1];
		end_pos[1] = data[2];
		recording_begin(&file);
		recording_wrap(&file, 0, WT_RECORDING_RESET | (data[0] & 0x1cu) >> 1, end_pos,
		               data + 3, size - 3);
	} else {
		recording_put(&file, data + 1, size - 1);
	}
	if (recording_read_all(&file, &rc, &cells, &hash) && data[0] & 2)
		import(&file);
	recording_free(&file);
	return 0;
}

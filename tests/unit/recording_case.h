/*
 * recording_case.h - recordings in memory, for tests of the format and for its fuzz target.
 * Any thread, one at a time per object.
 */
#ifndef WT_TESTS_RECORDING_CASE_H
#define WT_TESTS_RECORDING_CASE_H

#include "schema/wt_recording.h"

/* A file in memory; a wt_recording_read_fn reads it. */
struct recording_file {
	uint8_t *bytes;
	size_t length, room;
	size_t at; /* read so far */
};

int recording_read(void *arg, void *bytes, size_t want, size_t *ret_got);
/* Aborts without memory, as all of these. */
void recording_put(struct recording_file *file, const void *bytes, size_t length);
void recording_free(struct recording_file *file);

/* An empty recording: its head. */
void recording_begin(struct recording_file *file);

/*
 * Appends a block whose columns are `raw`, packed and with a right checksum: what is wrong with it
 * lies deeper. start_pos is 0, end_pos as given; the first block should have WT_RECORDING_RESET.
 */
void recording_wrap(struct recording_file *file, uint32_t block_idx, uint32_t flags,
                    const uint64_t end_pos[WT_RING_MAX], const void *raw, size_t length);

/* The columns of the first block, unpacked: on the heap. */
uint8_t *recording_unwrap(const struct recording_file *file, size_t *ret_length);

/* Reads to the end; the number of blocks. *ret_rc is what the reader ended with. */
unsigned recording_read_all(struct recording_file *file, int *ret_rc, uint64_t *ret_cells,
                            uint64_t *ret_hash);

#endif /* WT_TESTS_RECORDING_CASE_H */

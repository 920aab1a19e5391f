/*
 * fuzz_samples.c - chunks of samples, as `sample_chunk.data` may hold them: wt_samples_decode(). What
 * can be read is encoded and read again: it must be the same.
 *
 * The first byte: bit 0 the rest is the chunk; else it is what a sound head (count and modes from the
 * input) and a sound zlib stream hold. The rest: bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "schema/wt_samples.h"
#include "tests/fuzz/fuzz.h"

#define ROOM 512
#define COLUMNS 10
#define SAMPLE_BYTES 44

/* A chunk whose checksums hold: what is wrong with it lies deeper. */
static size_t wrap(struct fuzz_input *input, uint8_t chunk[32768])
{
	static uint8_t raw[ROOM * SAMPLE_BYTES];
	size_t count = 1 + fuzz_integer(input, 1) % 64, got, at = 0;
	uLongf packed = 30000;
	const uint8_t *some;

	chunk[at++] = 1;
	chunk[at++] = (uint8_t)count;
	chunk[at++] = (uint8_t)(fuzz_integer(input, 1) & 0x7f);
	for (int i = 0; i < COLUMNS; i++)
		chunk[at++] = i < 3 ? 4 : (uint8_t)(fuzz_integer(input, 1) % 4);
	memset(raw, 0, sizeof(raw));
	some = fuzz_some(input, count * SAMPLE_BYTES, &got);
	memcpy(raw, some, got);
	if (compress(chunk + at, &packed, raw, count * SAMPLE_BYTES) != Z_OK)
		abort();
	return at + packed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wt_sample first[ROOM], second[ROOM];
	static uint8_t chunk[32768];
	struct fuzz_input input = {data, size};
	size_t count = 0, again = 0, bytes;
	const uint8_t *at = chunk;
	uint8_t *packed = NULL;

	if (fuzz_integer(&input, 1) & 1) {
		at = input.at;
		bytes = input.left;
	} else {
		bytes = wrap(&input, chunk);
	}
	if (wt_samples_decode(at, bytes, first, ROOM, &count))
		return 0;
	if (wt_samples_encode(first, count, 132, &packed, &bytes) ||
	    wt_samples_decode(packed, bytes, second, ROOM, &again) || again != count ||
	    memcmp(first, second, count * sizeof(first[0])))
		abort();
	free(packed);
	return 0;
}

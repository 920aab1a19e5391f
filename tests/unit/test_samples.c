/*
 * test_samples.c - chunks of samples: whatever goes in comes out, damage is refused.
 */
#include <errno.h>
#include <math.h>
#include <zlib.h>

#include "schema/wt_samples.h"
#include "tests/tap.h"

#define COUNT 5000

static struct wt_sample samples[WT_SAMPLES_MAX], back[WT_SAMPLES_MAX];
static uint64_t state = 88172645463325252;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % below;
}

/* What counters of `sms` SMs give: means of whole numbers, whole numbers, multiples of 32 bytes. */
static void make_usual(size_t count, uint32_t sms)
{
	uint64_t at_ns = UINT64_C(1795956192521816674);

	memset(samples, 0, sizeof(samples));
	for (size_t i = 0; i < count; i++) {
		struct wt_sample *s = &samples[i];
		bool is_idle = draw(3) == 0;
		uint32_t sum;

		s->start_ns = at_ns;
		s->duration_ns = 50000 - 16 + draw(2) * 32;
		s->elapsed_cycles = 99000 + draw(8);
		sum = is_idle ? 0 : draw(sms * s->elapsed_cycles);
		s->active_avg = (float)(sum / (double)sms);
		s->active_min = is_idle || draw(2) ? 0 : (float)draw(1 + sum / sms);
		s->active_max = is_idle ? 0 : (float)(s->elapsed_cycles - draw(5));
		s->warps = (float)(draw(1 + 16 * sum) / (double)sms);
		s->tensor = is_idle ? 0 : (float)(draw(1 + sum) / (double)sms);
		s->dram_read_bytes = 32.0f * (float)draw(1 + sum / 64);
		s->dram_write_bytes = 32.0f * (float)draw(1 + sum / 256);
		s->flags = i % 3 ? WT_SAMPLE_INSTRUCTIONS : 0;
		s->instructions = i % 3 ? (float)draw(1 + 2 * (sum / 256) * 256) : 0;
		at_ns += s->duration_ns + (draw(1000) == 0) * 1000000;
	}
}

static bool is_round_trip(size_t count, uint32_t sms, size_t *ret_bytes)
{
	uint8_t *data = NULL;
	size_t bytes = 0, got = 0;
	bool is_same;

	if (wt_samples_encode(samples, count, sms, &data, &bytes))
		return false;
	memset(back, 0x55, sizeof(back));
	is_same = wt_samples_decode(data, bytes, back, count, &got) == 0 && got == count &&
	          !memcmp(samples, back, count * sizeof(samples[0]));
	free(data);
	if (ret_bytes)
		*ret_bytes = bytes;
	return is_same;
}

static void test_usual(void)
{
	static const uint32_t sms[] = {132, 1, 0, 4, 108, 144};
	size_t bytes = 0;
	bool is_good = true;

	make_usual(COUNT, 132);
	ok(is_round_trip(COUNT, 132, &bytes), "usual samples come back");
	ok(bytes < (size_t)COUNT * 24, "all columns of noise take %.1f bytes a sample",
	   (double)bytes / COUNT);
	for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++) {
		make_usual(COUNT, sms[i] ? sms[i] : 132);
		is_good = is_good && is_round_trip(COUNT, sms[i], NULL);
		is_good = is_good && is_round_trip(COUNT, 77, NULL);
	}
	ok(is_good, "with any number of SMs, also a wrong one");
	make_usual(WT_SAMPLES_MAX, 132);
	ok(is_round_trip(WT_SAMPLES_MAX, 132, NULL), "as many as there may be");
	for (size_t i = 0; i < COUNT; i++) {
		struct wt_sample *s = &samples[i];

		s->active_avg = s->active_min = s->active_max = s->warps = 0;
		s->tensor = s->dram_read_bytes = s->dram_write_bytes = WT_SAMPLE_UNKNOWN;
		s->instructions = 0;
		s->flags = 0;
	}
	ok(is_round_trip(COUNT, 132, &bytes), "an idle device, values not known");
	ok(bytes < (size_t)COUNT * 2, "takes %.2f bytes a sample", (double)bytes / COUNT);
}

/* Any bits whatever, also those that are no number. */
static void test_any(void)
{
	bool is_good = true;

	for (int round = 0; round < 200; round++) {
		size_t count = 1 + draw(40);

		memset(samples, 0, count * sizeof(samples[0]));
		for (size_t i = 0; i < count; i++) {
			uint8_t *at = (uint8_t *)&samples[i];

			for (size_t b = 0; b < offsetof(struct wt_sample, instructions); b++)
				at[b] = (uint8_t)(draw(4) ? draw(256) : 0xff * draw(2));
			if (draw(2))
				samples[i].active_max = (float)draw(UINT32_MAX);
			if (draw(2))
				samples[i].active_min = draw(2) ? -0.0f : 4294967296.0f;
			samples[i].flags = draw(2) ? WT_SAMPLE_INSTRUCTIONS : 0;
			if (samples[i].flags)
				samples[i].instructions = draw(2) ? NAN : (float)draw(UINT32_MAX);
		}
		is_good = is_good && is_round_trip(count, draw(200), NULL);
	}
	ok(is_good, "any bits come back");
}

static void test_damage(void)
{
	uint8_t *data = NULL, *bad;
	size_t bytes = 0, got = 77;
	unsigned refused = 0, tries = 0, silent = 0;

	make_usual(300, 132);
	is_i64(wt_samples_encode(samples, 300, 132, &data, &bytes), 0, "a chunk");
	is_i64(wt_samples_encode(samples, 0, 132, &bad, &got), -EINVAL, "none are no chunk");
	is_i64(wt_samples_encode(samples, WT_SAMPLES_MAX + 1, 132, &bad, &got), -EINVAL,
	       "nor are too many");
	is_i64(wt_samples_decode(data, bytes, back, 299, &got), -EBADMSG,
	       "more than there is room");
	for (size_t cut = 0; cut < bytes; cut++, tries++)
		refused += wt_samples_decode(data, cut, back, 300, &got) == -EBADMSG;
	is_i64(refused, tries, "cut anywhere: refused");
	bad = malloc(bytes + 1);
	memcpy(bad, data, bytes);
	bad[bytes] = 0;
	is_i64(wt_samples_decode(bad, bytes + 1, back, 300, &got), -EBADMSG, "longer: refused");
	for (size_t at = 0; at < bytes; at++) {
		int rc;

		memcpy(bad, data, bytes);
		bad[at] ^= (uint8_t)(1 << at % 8);
		rc = wt_samples_decode(bad, bytes, back, 300, &got);
		/* Modes and scale are outside of zlib's checksum; a few bits fill its last byte up. */
		silent +=
		        rc == 0 && at > 16 && memcmp(samples, back, 300 * sizeof(samples[0])) != 0;
	}
	is_i64(silent, 0, "a bit that is wrong is found");
	memcpy(bad, data, bytes);
	bad[0] = 3;
	is_i64(wt_samples_decode(bad, bytes, back, 300, &got), -ENOTSUP, "a newer version is told");
	free(bad);
	free(data);
}

/* A chunk as version 1 had it, of one sample: no column of instructions. */
static void test_version_1(void)
{
	uint8_t *data = NULL, raw[8 + 10 * 4], old[128];
	size_t bytes = 0, got = 0, head = 3; /* version, count, scale: a byte each */
	uLongf room = sizeof(raw), packed = sizeof(old);

	make_usual(1, 77);
	is_i64(wt_samples_encode(samples, 1, 77, &data, &bytes), 0, "one sample");
	is_i64(uncompress(raw, &room, data + head + 11, bytes - head - 11), Z_OK, "its columns");
	memcpy(old, data, head + 10);
	old[0] = 1;
	packed -= head + 10;
	compress(old + head + 10, &packed, raw, sizeof(raw) - 4);
	samples[0].flags = 0;
	samples[0].instructions = 0;
	ok(!wt_samples_decode(old, head + 10 + packed, back, 1, &got) && got == 1 &&
	           !memcmp(samples, back, sizeof(samples[0])),
	   "of version 1: its instructions are not known");
	old[0] = 0;
	is_i64(wt_samples_decode(old, head + 10 + packed, back, 1, &got), -EBADMSG, "no version");
	free(data);
}

int main(void)
{
	test_usual();
	test_any();
	test_damage();
	test_version_1();
	return tap_done();
}

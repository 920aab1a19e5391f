/*
 * sha256.c - see sha256.h. Pure; any thread.
 *
 * The 64 constants are the first 32 bits of the fractional parts of the cube roots of the first 64
 * primes, the eight of the state those of the square roots of the first eight.
 */
#include "cli/html/sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 64

static const uint32_t round_constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};

static uint32_t turn(uint32_t word, unsigned bits)
{
	return word >> bits | word << (32 - bits);
}

static void add_block(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t e = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
		uint32_t one =
		        v[7] + e + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[i] + w[i];
		uint32_t a = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
		uint32_t two = a + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += one;
		v[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

/* The 32 bytes and a 0, in groups of three. */
static void put_base64(const unsigned char digest[33], char *text)
{
	static const char letters[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < 33; i += 3) {
		uint32_t bits =
		        (uint32_t)digest[i] << 16 | (uint32_t)digest[i + 1] << 8 | digest[i + 2];

		for (int k = 3; k >= 0; k--)
			*text++ = letters[bits >> (6 * k) & 63];
	}
	text[-1] = '=';
	*text = '\0';
}

void wt_sha256_base64(const void *data, size_t bytes, char text[WT_SHA256_BASE64_BYTES])
{
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const unsigned char *from = data;
	unsigned char last[2 * BLOCK_BYTES] = {0}, digest[33];
	size_t whole = bytes / BLOCK_BYTES * BLOCK_BYTES, left = bytes - whole;
	size_t end = left + 9 <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;

	for (size_t at = 0; at < whole; at += BLOCK_BYTES)
		add_block(state, from + at);
	memcpy(last, from + whole, left);
	last[left] = 0x80;
	for (int i = 0; i < 8; i++)
		last[end - 1 - (size_t)i] = (unsigned char)((uint64_t)bytes * 8 >> (8 * i));
	for (size_t at = 0; at < end; at += BLOCK_BYTES)
		add_block(state, last + at);
	for (int i = 0; i < 32; i++)
		digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
	digest[32] = 0;
	put_base64(digest, text);
}

/*
 * policy_hash.c - see policy_hash.h.
 */
#include <stdint.h>

#include "analysis/digest.h"
#include "cli/html/policy_hash.h"

void wt_policy_hash(const void *data, size_t bytes, char text[WT_POLICY_HASH_BYTES])
{
	static const char letters[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct wt_digest digest;
	char hex[WT_DIGEST_HEX_BYTES];
	unsigned char sum[WT_DIGEST_BYTES + 1] = {0}; /* in groups of three */

	wt_digest_init(&digest);
	wt_digest_add(&digest, data, bytes);
	wt_digest_finish(&digest, hex);
	for (size_t i = 0; i < 2 * WT_DIGEST_BYTES; i++) {
		unsigned digit =
		        hex[i] <= '9' ? (unsigned)(hex[i] - '0') : (unsigned)(hex[i] - 'a' + 10);

		sum[i / 2] = (unsigned char)(sum[i / 2] << 4 | digit);
	}
	for (size_t i = 0; i < sizeof(sum); i += 3) {
		uint32_t bits = (uint32_t)sum[i] << 16 | (uint32_t)sum[i + 1] << 8 | sum[i + 2];

		for (int k = 3; k >= 0; k--)
			*text++ = letters[bits >> (6 * k) & 63];
	}
	text[-1] = '=';
	*text = '\0';
}

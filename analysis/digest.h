/*
 * digest.h - SHA-256 (FIPS 180-4), for content hashes of run files and for names in their place. Pure:
 * no I/O, no allocation; any thread.
 */
#ifndef WT_DIGEST_H
#define WT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define WT_DIGEST_BYTES 32
#define WT_DIGEST_HEX_BYTES (2 * WT_DIGEST_BYTES + 1) /* with its end */

struct wt_digest {
	uint32_t state[8];
	uint64_t length_bytes;
	uint8_t block[64]; /* length_bytes % 64 of it are waiting */
};

void wt_digest_init(struct wt_digest *digest);
void wt_digest_add(struct wt_digest *digest, const void *data, size_t bytes);
/* What it comes to, in lower-case hex; the digest is spent then. */
void wt_digest_finish(struct wt_digest *digest, char hex[WT_DIGEST_HEX_BYTES]);

#endif /* WT_DIGEST_H */

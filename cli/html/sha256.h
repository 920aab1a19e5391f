/*
 * sha256.h - SHA-256 (FIPS 180-4) in base64, as a content security policy names a script or style by.
 * Pure; any thread.
 */
#ifndef WT_CLI_HTML_SHA256_H
#define WT_CLI_HTML_SHA256_H

#include <stddef.h>

#define WT_SHA256_BASE64_BYTES 45 /* 44 characters and the end */

void wt_sha256_base64(const void *data, size_t bytes, char text[WT_SHA256_BASE64_BYTES]);

#endif /* WT_CLI_HTML_SHA256_H */

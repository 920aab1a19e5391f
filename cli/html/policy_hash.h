/*
 * policy_hash.h - SHA-256 in base64, as a content security policy names a script or style by. Pure; any thread.
 */
#ifndef WT_CLI_HTML_POLICY_HASH_H
#define WT_CLI_HTML_POLICY_HASH_H

#include <stddef.h>

#define WT_POLICY_HASH_BYTES 45 /* 44 characters and the end */

void wt_policy_hash(const void *data, size_t bytes, char text[WT_POLICY_HASH_BYTES]);

#endif /* WT_CLI_HTML_POLICY_HASH_H */

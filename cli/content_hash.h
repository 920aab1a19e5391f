/*
 * content_hash.h - a hash of what a run file holds: the same rows give the same hash, however they lie in the
 * file (page layout, packed or plain, ids of chunks). Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_CONTENT_HASH_H
#define WT_CLI_CONTENT_HASH_H

#include "analysis/digest.h"
#include "schema/wt_db.h"

/*
 * SHA-256 in hex over all tables but `chunk`, whose rows count in their own tables, ledger_*, sums that
 * follow from the rest, and drop_mark, which is wavetapd's own. Reads every row: about a second for a million launches. 0; -EBADMSG: rows
 * can't be read; or -errno, with one line in `error`.
 */
int wt_content_hash(const char *path, char hex[WT_DIGEST_HEX_BYTES], char error[WT_DB_ERROR_BYTES]);

#endif /* WT_CLI_CONTENT_HASH_H */

/*
 * pack_rows.h - for tests: rows of a run file become chunks, as wavetapd packs them.
 */
#ifndef WT_TEST_PACK_ROWS_H
#define WT_TEST_PACK_ROWS_H

#include <sqlite3.h>
#include <stdint.h>

/*
 * Packs the rows of all four tables. `seed` 0: all of them, in chunks as large as can be. Else chunks
 * have any size, and some rows stay, here and there one between those that are packed. Ends the
 * program where that fails. Returns how many rows were packed.
 */
int64_t pack_rows(sqlite3 *db, uint64_t seed);

#endif /* WT_TEST_PACK_ROWS_H */

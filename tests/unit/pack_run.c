/*
 * pack_run.c - for tests: pack_run FILE [SEED] packs the rows of a run file (see pack_rows.h), which
 * becomes one of the present version; prints how many it packed. Nobody else may have it open.
 */
#include <stdio.h>
#include <stdlib.h>

#include "schema/wt_db.h"
#include "tests/unit/pack_rows.h"

int main(int argc, char **argv)
{
	char error[WT_DB_ERROR_BYTES];
	sqlite3 *db;
	bool is_wal;

	if (argc < 2 || wt_db_open_write(argv[1], false, &db, &is_wal, error)) {
		fprintf(stderr, "pack_run: %s\n", argc < 2 ? "which file?" : error);
		return 1;
	}
	printf("%lld\n", (long long)pack_rows(db, argc > 2 ? strtoull(argv[2], NULL, 10) : 0));
	return sqlite3_close(db) != SQLITE_OK;
}

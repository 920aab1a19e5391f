/*
 * phases.h - forward, backward or optimizer, for each kernel of a run: analysis/phase.h over a run
 * file. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_PHASES_H
#define WT_CLI_PHASES_H

#include <sqlite3.h>

/*
 * Makes temp.wt_phase (exec_id INTEGER PRIMARY KEY, phase INTEGER, evidence INTEGER), the numbers those
 * of enum wt_phase and enum wt_phase_evidence: a row for each kernel whose launch call is known and of
 * which something tells the phase. The connection must allow writing to temp. 0 or -errno.
 */
int wt_phases_make(sqlite3 *db);

#endif /* WT_CLI_PHASES_H */

# Tests that span folders; each folder's own unit tests are listed in its local.mk.
EXTRA_DIST += tests/tap.h

# Only in a build under a sanitizer.
TESTS += tests/unit/test_sanitized.sh
EXTRA_DIST += tests/HAZARDS.md tests/unit/test_hazards.sh tests/unit/test_sanitized.sh tests/unit/test_valgrind.sh tests/unit/test_daemon_start.sh

include tests/fake/local.mk
include tests/gpu/local.mk
if WT_PROGRAMS
TESTS += tests/unit/test_valgrind.sh tests/unit/test_daemon_start.sh tests/unit/test_hazards.sh
include tests/e2e/local.mk
include tests/fuzz/local.mk
include tests/bench/local.mk

# The ledger of random programs, against an account of each nanosecond.
account = tests/unit/account.c tests/unit/account.h
check_PROGRAMS += tests/unit/test_ledger_random
TESTS += tests/unit/test_ledger_random
tests_unit_test_ledger_random_SOURCES = tests/unit/test_ledger_random.c \
	tests/unit/random_run.c tests/unit/random_run.h \
	tests/unit/random_run_file.c tests/unit/random_run_file.h $(account) tests/tap.h
tests_unit_test_ledger_random_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
# What is behind main() needs what is beside it (wavetap.c), and the other way round.
tests_unit_test_ledger_random_LDADD = libwtcmd.a tests/fuzz/libfuzzcli.a $(wavetap_LDADD)
check_PROGRAMS += tests/unit/test_ledger_sums
TESTS += tests/unit/test_ledger_sums
tests_unit_test_ledger_sums_SOURCES = tests/unit/test_ledger_sums.c \
	tests/unit/random_run.c tests/unit/random_run.h \
	tests/unit/random_run_file.c tests/unit/random_run_file.h $(account) tests/tap.h
tests_unit_test_ledger_sums_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_ledger_sums_LDADD = libwtcmd.a tests/fuzz/libfuzzcli.a $(wavetap_LDADD)
check_PROGRAMS += tests/unit/random_check
tests_unit_random_check_SOURCES = tests/unit/random_check.c tests/unit/random_check.h \
	tests/unit/random_truth.c $(account)
tests_unit_random_check_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_random_check_LDADD = libwtanalysis.a $(SQLITE_LIBS) -lm

# Records that can't be, through the daemon and every command.
check_PROGRAMS += tests/unit/test_bad_input
TESTS += tests/unit/test_bad_input
tests_unit_test_bad_input_SOURCES = tests/unit/test_bad_input.c $(synth_sources)
tests_unit_test_bad_input_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_bad_input_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm
endif
include tests/data/local.mk

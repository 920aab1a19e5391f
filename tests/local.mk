# Tests that span folders; each folder's own unit tests are listed in its local.mk.
EXTRA_DIST += tests/tap.h

# Only in a build under a sanitizer.
TESTS += tests/unit/test_sanitized.sh
EXTRA_DIST += tests/unit/test_sanitized.sh tests/unit/test_valgrind.sh tests/unit/test_daemon_start.sh

include tests/fake/local.mk
include tests/gpu/local.mk
if WT_PROGRAMS
TESTS += tests/unit/test_valgrind.sh tests/unit/test_daemon_start.sh
include tests/e2e/local.mk
include tests/fuzz/local.mk
endif
include tests/data/local.mk

# Tests that span folders; each folder's own unit tests are listed in its local.mk.
EXTRA_DIST += tests/tap.h

include tests/fake/local.mk
include tests/gpu/local.mk
if WT_PROGRAMS
include tests/e2e/local.mk
endif
include tests/data/local.mk

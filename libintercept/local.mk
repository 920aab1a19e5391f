# libintercept/local.mk
include libintercept/local-cupti.mk

solib_PROGRAMS += libwavetap.so

libwavetap_so_SOURCES = \
	libintercept/internal.h \
	libintercept/hooks.h \
	libintercept/lookup.h \
	libintercept/module.h \
	libintercept/cuda_abi.h \
	libintercept/cuda_driver_abi.h \
	libintercept/cupti_abi.h \
	libintercept/cupti_profiler_abi.h \
	libintercept/cupti_exports.def \
	libintercept/budget.c \
	libintercept/capture.c \
	libintercept/cost.c \
	libintercept/cost.h \
	libintercept/device.c \
	libintercept/device_read.c \
	libintercept/dlsym.c \
	libintercept/early.c \
	libintercept/facts.c \
	libintercept/launcher.c \
	libintercept/leave.c \
	libintercept/hooks.c \
	libintercept/launch.c \
	libintercept/libc.c \
	libintercept/libc.h \
	libintercept/log.c \
	libintercept/lookup.c \
	libintercept/module.c \
	libintercept/names.c \
	libintercept/nvtx.c \
	libintercept/nvtx_abi.h \
	libintercept/range_text.c \
	libintercept/ranges.c \
	libintercept/ranges.h \
	libintercept/segment.c \
	libintercept/segment_file.c \
	libintercept/spawn.c \
	libintercept/state.c \
	$(wt_cupti_sources)
# Without -pthread, which before glibc 2.34 links libpthread into every process that preloads us.
libwavetap_so_CFLAGS = $(wt_cflags) -fPIC
# A program that is preloaded must never be unloaded: threads may be inside.
libwavetap_so_LDFLAGS = $(wt_ldflags) -shared -Wl,-soname,libwavetap.so \
	-Wl,-z,defs -Wl,-z,nodelete -Wl,--version-script=$(top_srcdir)/libintercept/intercept.map
libwavetap_so_DEPENDENCIES = libintercept/intercept.map
EXTRA_DIST += libintercept/intercept.map

# Two copies of a library that looks for "the next" of its own functions; the first needs the second.
lookup_chain_flags = $(AM_CFLAGS) -fPIC
check_PROGRAMS += tests/unit/lookup_chain_a.so tests/unit/lookup_chain_b.so
tests_unit_lookup_chain_a_so_SOURCES = tests/unit/lookup_chain.c
tests_unit_lookup_chain_a_so_CPPFLAGS = $(AM_CPPFLAGS) -DCHAIN_DIGIT=1
tests_unit_lookup_chain_a_so_CFLAGS = $(lookup_chain_flags)
tests_unit_lookup_chain_a_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,--no-as-needed
tests_unit_lookup_chain_a_so_LDADD = tests/unit/lookup_chain_b.so
tests_unit_lookup_chain_b_so_SOURCES = tests/unit/lookup_chain.c
tests_unit_lookup_chain_b_so_CPPFLAGS = $(AM_CPPFLAGS) -DCHAIN_DIGIT=2
tests_unit_lookup_chain_b_so_CFLAGS = $(lookup_chain_flags)
tests_unit_lookup_chain_b_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,lookup_chain_b.so

preload_tests = tests/unit/test_lookup tests/unit/test_fork
check_PROGRAMS += $(preload_tests)
TESTS += $(preload_tests) tests/unit/test_exports.sh tests/unit/test_glibc.sh \
	tests/unit/test_spawn.sh
preload_case = tests/unit/preload_case.c tests/unit/preload_case.h tests/tap.h
preload_needs = libwavetap.so tests/fake/libcuda.so.1
tests_unit_test_lookup_SOURCES = tests/unit/test_lookup.c $(preload_case)
EXTRA_tests_unit_test_lookup_DEPENDENCIES = $(preload_needs) \
	tests/unit/lookup_chain_a.so tests/unit/lookup_chain_b.so
tests_unit_test_fork_SOURCES = tests/unit/test_fork.c $(preload_case)
EXTRA_tests_unit_test_fork_DEPENDENCIES = $(preload_needs)
EXTRA_DIST += tests/unit/test_exports.sh tests/unit/test_glibc.sh tests/unit/test_spawn.sh

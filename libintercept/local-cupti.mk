# libintercept/local-cupti.mk: the CUPTI side of libwavetap.so
wt_profile_sources = \
	libintercept/profile.c \
	libintercept/profile_flush.c \
	libintercept/profile_gate.c \
	libintercept/profile_range.c \
	libintercept/profile_session.c \
	libintercept/profile_table.c
wt_cupti_sources = \
	libintercept/cupti.h \
	libintercept/cupti.c \
	libintercept/cupti_calls.c \
	libintercept/clock_read.c \
	libintercept/cupti_clock.c \
	libintercept/cupti_find.c \
	libintercept/cupti_flush.c \
	libintercept/cupti_limit.c \
	libintercept/cupti_records.c \
	libintercept/cupti_rest.c \
	libintercept/profile.h \
	$(wt_profile_sources) \
	libintercept/share.c \
	libintercept/share.h \
	libintercept/share_calls.c \
	libintercept/share_copy.c \
	libintercept/share_feed.c

check_PROGRAMS += tests/unit/test_share
TESTS += tests/unit/test_share
tests_unit_test_share_SOURCES = \
	tests/unit/mock_cupti.c \
	tests/unit/mock_cupti.h \
	tests/unit/test_share.c \
	libintercept/budget.c \
	libintercept/cupti.c \
	libintercept/cupti_calls.c \
	libintercept/clock_read.c \
	libintercept/cupti_clock.c \
	libintercept/cupti_flush.c \
	libintercept/cupti_limit.c \
	libintercept/cupti_records.c \
	libintercept/cupti_rest.c \
	libintercept/libc.c \
	libintercept/module.c \
	libintercept/share.c \
	libintercept/share.h \
	libintercept/share_calls.c \
	libintercept/share_copy.c \
	libintercept/share_feed.c
tests_unit_test_share_LDADD = -lm

check_PROGRAMS += tests/unit/test_cupti_find
TESTS += tests/unit/test_cupti_find
tests_unit_test_cupti_find_SOURCES = tests/unit/test_cupti_find.c libintercept/cupti_find.c \
	libintercept/libc.c libintercept/module.c
tests_unit_test_cupti_find_LDADD = -lm
EXTRA_tests_unit_test_cupti_find_DEPENDENCIES = \
	tests/fake/libcuda.so.1 tests/fake/libcupti.so.13

wt_profile_test_sources = \
	tests/unit/mock_profiler.c \
	tests/unit/mock_profiler.h \
	libintercept/libc.c \
	libintercept/module.c \
	libintercept/profile.h \
	$(wt_profile_sources)
check_PROGRAMS += tests/unit/test_profile tests/unit/test_profile_rounds
TESTS += tests/unit/test_profile tests/unit/test_profile_rounds
tests_unit_test_profile_SOURCES = tests/unit/test_profile.c $(wt_profile_test_sources)
tests_unit_test_profile_LDADD = -lm
tests_unit_test_profile_rounds_SOURCES = tests/unit/test_profile_rounds.c $(wt_profile_test_sources)
tests_unit_test_profile_rounds_LDADD = -lm

# tests/compare: how often `wavetap compare` is wrong, counted over pairs made of recorded steps.
check_PROGRAMS += tests/compare/compare_truth
compare_sources = cli/compare.c cli/compare.h cli/compare_impl.h cli/compare_kernels.c cli/compare_values.c cli/compare_margin.c cli/compare_kinds.c \
	cli/compare_precision.c cli/compare_reasons.c
tests_compare_compare_truth_SOURCES = tests/compare/compare_truth.c $(compare_sources)
tests_compare_compare_truth_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_compare_compare_truth_LDADD = libwtcli.a libwtanalysis.a -lm
check_PROGRAMS += tests/unit/test_compare_kinds
tests_unit_test_compare_kinds_SOURCES = tests/unit/test_compare_kinds.c tests/tap.h $(compare_sources)
tests_unit_test_compare_kinds_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_compare_kinds_LDADD = libwtcli.a libwtanalysis.a -lm
TESTS += tests/unit/test_compare_truth.sh tests/unit/test_compare_kinds
EXTRA_DIST += tests/compare/compare_truth.sh tests/unit/test_compare_truth.sh

# 2,000 pairs of each recording and kind, some minutes: the table of doc/compare.md.
compare-truth: wavetap tests/compare/compare_truth
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' sh '$(srcdir)/tests/compare/compare_truth.sh' 2000 $(COMPARE_RUNS)

# What people run. The targets here are the ones CONTRIBUTING.md names.
EXTRA_DIST += scripts/install-deps.sh scripts/build.sh scripts/test.sh scripts/quickstart.sh \
	scripts/format.sh scripts/lint.sh scripts/stress.sh \
	scripts/fuzz.sh scripts/coverage.sh scripts/hazards.sh \
	scripts/screenshots.sh scripts/terminal_svg.py scripts/png_small.py

.PHONY: list-tests fuzz-targets format check-format lint check-asan check-ubsan check-tsan check-aarch64 check-valgrind coverage \
	stress bench fuzz

format:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/format.sh
check-format:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/format.sh --check
lint:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/lint.sh $(abs_top_builddir)

# What `make check` runs: for tests/unit/test_hazards.sh.
list-tests:
	@for each in $(TESTS); do echo "$$each"; done

# Sanitizers: builds of their own below this one.
check-asan:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/test.sh $(abs_top_builddir)/asan --enable-asan
check-ubsan:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/test.sh $(abs_top_builddir)/ubsan --enable-ubsan
check-tsan:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/test.sh $(abs_top_builddir)/tsan --enable-tsan

# libwavetap.so for aarch64 under qemu-user; a part of `make check` where the cross compiler is there.
check-aarch64:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/install-deps.sh --cross
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/e2e/0950-aarch64.sh

# Hostile input under libFuzzer, with clang: FUZZ_SECONDS for each target.
fuzz:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/fuzz.sh $(abs_top_builddir)/fuzz

# All of what `make check` does of it in part.
check-valgrind: all $(check_PROGRAMS)
	$(AM_V_at)top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' CC='$(CC)' \
		WT_VALGRIND=full $(SHELL) $(top_srcdir)/tests/unit/test_valgrind.sh

# Which lines and branches the tests run, by folder.
coverage:
	$(AM_V_at)$(SHELL) $(top_srcdir)/scripts/coverage.sh $(abs_top_builddir)/coverage

# Figures, no verdict: make bench, make bench BENCH=full, BENCH="--json ring hook"; see tests/bench/bench.c.
bench: all tests/bench/bench tests/hosts/libcuda.so.1
	$(AM_V_at)top_builddir='$(abs_top_builddir)' $(SHELL) $(top_srcdir)/tests/bench/bench.sh $(BENCH)

stress: all $(check_PROGRAMS)
	$(AM_V_at)top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
		$(SHELL) $(top_srcdir)/scripts/stress.sh $(STRESS)

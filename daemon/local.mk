# daemon/local.mk: wavetapd, and what `wavetap analyze` shares with it.
noinst_LIBRARIES += libwtstore.a
libwtstore_a_SOURCES = daemon/daemon.h daemon/configs.c daemon/rederive.c daemon/rederive.h \
	daemon/store.c
libwtstore_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)

bin_PROGRAMS += wavetapd
wavetapd_SOURCES = \
	daemon/main.c daemon/start.c daemon/daemon.h \
	daemon/control.c daemon/drain.c daemon/drain_kernel.c daemon/keep.c daemon/liveness.c \
	daemon/lock.c daemon/log.c daemon/process.c daemon/process_restore.c daemon/process_stat.c \
	daemon/run_key.c daemon/runs.c daemon/scan.c daemon/segment_map.c daemon/status.c \
	daemon/status.h
wavetapd_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
wavetapd_LDADD = libwtstore.a libwtanalysis.a libwtschema.a $(SQLITE_LIBS) -lm

# A systemd user unit, as an example: copy or link it to ~/.config/systemd/user.
pkgdata_DATA = daemon/wavetapd.service
daemon/wavetapd.service: daemon/wavetapd.service.in
	$(AM_V_GEN)$(MKDIR_P) daemon && \
	sed -e 's|@bindir[@]|$(bindir)|g' $(srcdir)/daemon/wavetapd.service.in >$@.tmp && mv -f $@.tmp $@
CLEANFILES += daemon/wavetapd.service daemon/wavetapd.service.tmp
EXTRA_DIST += daemon/wavetapd.service.in

synth_sources = tests/unit/synth.c tests/unit/synth.h tests/tap.h
daemon_tests = tests/unit/test_drain tests/unit/test_store
check_PROGRAMS += $(daemon_tests)
TESTS += $(daemon_tests)
tests_unit_test_drain_SOURCES = tests/unit/test_drain.c $(synth_sources)
tests_unit_test_drain_LDADD = $(SQLITE_LIBS) -lm
tests_unit_test_store_SOURCES = tests/unit/test_store.c $(synth_sources)
tests_unit_test_store_LDADD = libwtschema.a $(SQLITE_LIBS) -lm

# Not run by `make check`: prints a figure.
check_PROGRAMS += tests/bench/bench_daemon
tests_bench_bench_daemon_SOURCES = tests/bench/bench_daemon.c tests/unit/synth.c tests/unit/synth.h
tests_bench_bench_daemon_LDADD = $(SQLITE_LIBS)

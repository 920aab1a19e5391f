# daemon/local.mk: wavetapd.

# From records to rows: what wavetapd does live, `wavetap import` with recordings, and
# `wavetap analyze` with rows.
noinst_LIBRARIES += libwtstore.a
libwtstore_a_SOURCES = daemon/daemon.h \
	daemon/batch.c daemon/batch.h daemon/configs.c daemon/cost.c daemon/drain.c daemon/drain_cell.c daemon/drain_kernel.c daemon/fold_task.c daemon/fold_zones.c daemon/folds.c \
	daemon/folds.h daemon/ledger_facts.c daemon/ledger_facts.h daemon/ledger_gaps.c daemon/ledger_gaps.h \
	daemon/ledger_sums.c daemon/ledger_sums.h daemon/ledger_sums_basis.c daemon/ledger_sums_impl.h daemon/ledger_sums_marks.c \
	daemon/ledger_sums_file.c daemon/ledger_sums_rows.c daemon/ledger_sums_task.c \
	daemon/liveness.c daemon/log.c daemon/measured.c daemon/drop.c daemon/drop.h daemon/drop_mark.c daemon/drop_rows.c daemon/pack.c daemon/pack.h daemon/pack_merge.c \
	daemon/process.c daemon/process_restore.c daemon/process_stat.c daemon/profiled.c daemon/ranges.c daemon/record.c \
	daemon/replay.c daemon/replay.h daemon/replay_impl.h daemon/replay_lay.c daemon/runs.c \
	daemon/rederive.c daemon/rederive.h daemon/rederive_chunk.c daemon/rederive_impl.h daemon/sampled.c daemon/segment_map.c daemon/shares.c daemon/store.c
libwtstore_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(ZLIB_CFLAGS)
# In this order, before $(SQLITE_LIBS).
wt_store_libs = libwtstore.a libwtanalysis.a libwtschema.a $(ZLIB_LIBS)

bin_PROGRAMS += wavetapd
wavetapd_SOURCES = \
	daemon/main.c daemon/start.c daemon/daemon.h \
	daemon/control.c daemon/keep.c daemon/lock.c daemon/run_key.c daemon/samplers.c daemon/scan.c \
	daemon/status.c \
	daemon/status.h
wavetapd_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
wavetapd_LDADD = $(wt_store_libs) $(SQLITE_LIBS) -lm

# Parts of libwavetap.so, which reads the same facts and makes the same segment.
bin_PROGRAMS += wavetap-sampler
sampler_policy_sources = daemon/sampler_policy.c daemon/sampler_policy.h
wavetap_sampler_SOURCES = \
	daemon/sampler.c daemon/sampler.h daemon/sampler_device.c daemon/sampler_like.c \
	daemon/sampler_metrics.c \
	daemon/sampler_nvml.c daemon/sampler_pm.c daemon/sampler_segment.c daemon/sampler_watch.c \
	$(sampler_policy_sources) \
	libintercept/clock_read.c libintercept/cupti_find.c libintercept/device_read.c \
	libintercept/facts.c libintercept/launcher.c libintercept/libc.c libintercept/log.c \
	libintercept/module.c libintercept/segment_file.c libintercept/spawn.c
wavetap_sampler_LDADD = -lm

# A systemd user unit, as an example: copy or link it to ~/.config/systemd/user.
pkgdata_DATA = daemon/wavetapd.service
daemon/wavetapd.service: daemon/wavetapd.service.in
	$(AM_V_GEN)$(MKDIR_P) daemon && \
	sed -e 's|@bindir[@]|$(bindir)|g' $(srcdir)/daemon/wavetapd.service.in >$@.tmp && mv -f $@.tmp $@
CLEANFILES += daemon/wavetapd.service daemon/wavetapd.service.tmp
EXTRA_DIST += daemon/wavetapd.service.in

check_PROGRAMS += tests/unit/test_sampler_policy
TESTS += tests/unit/test_sampler_policy
tests_unit_test_sampler_policy_SOURCES = tests/unit/test_sampler_policy.c tests/tap.h \
	$(sampler_policy_sources)
tests_unit_test_sampler_policy_LDADD = -lm

synth_sources = tests/unit/synth.c tests/unit/synth.h tests/tap.h
daemon_tests = tests/unit/test_drain tests/unit/test_store tests/unit/test_record \
	tests/unit/test_sampled tests/unit/test_folds tests/unit/test_pack tests/unit/test_drop
check_PROGRAMS += $(daemon_tests)
TESTS += $(daemon_tests)
tests_unit_test_drain_SOURCES = tests/unit/test_drain.c $(synth_sources)
tests_unit_test_drain_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm
tests_unit_test_store_SOURCES = tests/unit/test_store.c $(synth_sources)
tests_unit_test_store_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm
tests_unit_test_sampled_SOURCES = tests/unit/test_sampled.c $(synth_sources)
tests_unit_test_sampled_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm
tests_unit_test_folds_SOURCES = tests/unit/test_folds.c tests/unit/fold_data.c tests/unit/fold_data.h $(synth_sources)
tests_unit_test_folds_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm
tests_unit_test_record_SOURCES = tests/unit/test_record.c $(synth_sources)
tests_unit_test_record_LDADD = $(wt_store_libs) $(SQLITE_LIBS) -lm

check_PROGRAMS += tests/unit/run_sql
tests_unit_run_sql_SOURCES = tests/unit/run_sql.c
tests_unit_run_sql_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm
tests_unit_test_drop_SOURCES = tests/unit/test_drop.c tests/tap.h
tests_unit_test_drop_LDADD = $(wt_store_libs) $(SQLITE_LIBS) -lm
tests_unit_test_pack_SOURCES = tests/unit/test_pack.c tests/tap.h
tests_unit_test_pack_LDADD = $(wt_store_libs) $(SQLITE_LIBS) -lm

# Not run by `make check`: they print figures.
check_PROGRAMS += tests/bench/bench_recording
tests_bench_bench_recording_SOURCES = tests/bench/bench_recording.c
tests_bench_bench_recording_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS)
check_PROGRAMS += tests/bench/bench_samples
tests_bench_bench_samples_SOURCES = tests/bench/bench_samples.c tests/unit/synth.c tests/unit/synth.h
tests_bench_bench_samples_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm

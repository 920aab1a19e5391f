# schema/local.mk: layouts shared by programs, and run files.
if WT_PROGRAMS
noinst_LIBRARIES += libwtschema.a
endif
libwtschema_a_SOURCES = schema/wt_chunk.h schema/wt_chunk_decode.c schema/wt_chunk_encode.c \
	schema/wt_chunk_impl.h schema/wt_chunk_table.c schema/wt_chunk_vector.c schema/wt_chunk_write.h \
	schema/wt_db.c schema/wt_db.h schema/wt_db_upgrade.c schema/wt_keep.c schema/wt_keep.h \
	schema/wt_api.h schema/wt_atomic.h schema/wt_cost.h schema/wt_device.h schema/wt_hooks.def schema/wt_ident.h schema/wt_paths.h \
	schema/wt_record.h schema/wt_recording.h schema/wt_recording_codec.c \
	schema/wt_recording_head.c schema/wt_recording_impl.h schema/wt_recording_read.c schema/wt_recording_records.c \
	schema/wt_recording_values.c schema/wt_recording_write.c \
	schema/wt_ring.h schema/wt_rows.c schema/wt_rows.h schema/wt_rows_cache.c schema/wt_rows_impl.h \
	schema/wt_rows_plan.c schema/wt_rows_stream.c schema/wt_rows_view.c schema/wt_run_key.h schema/wt_samples.c schema/wt_samples.h schema/wt_sampling.h schema/wt_setting.h \
	schema/wt_segment.h schema/wt_testpoint.h
nodist_libwtschema_a_SOURCES = schema/schema_sql.c
libwtschema_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(ZLIB_CFLAGS)

# schema.sql as a C string: every program carries it.
schema/schema_sql.c: schema/schema.sql
	$(AM_V_GEN)$(MKDIR_P) schema && { \
	echo '/* Generated from schema.sql. */'; \
	echo '#include "schema/wt_db.h"'; \
	echo 'const char wt_schema_sql[] ='; \
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $(srcdir)/schema/schema.sql; \
	echo ';'; \
	echo '/* What files of the same version may lack. */'; \
	echo 'const char wt_schema_added_sql[] ='; \
	sed -n -e '/ IF NOT EXISTS /,/;$$/{' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/p' -e '}' \
		$(srcdir)/schema/schema.sql; \
	echo ';'; } >$@.tmp && mv -f $@.tmp $@
CLEANFILES += schema/schema_sql.c schema/schema_sql.c.tmp
dist_pkgdata_DATA += schema/schema.sql

ring_tests = tests/unit/test_ring tests/unit/test_ring_threads tests/unit/test_ring_crash \
	tests/unit/test_layout tests/unit/test_run_key
check_PROGRAMS += $(ring_tests)
TESTS += $(ring_tests)
tests_unit_test_ring_SOURCES = tests/unit/test_ring.c tests/tap.h
tests_unit_test_ring_threads_SOURCES = tests/unit/test_ring_threads.c tests/tap.h
tests_unit_test_ring_crash_SOURCES = tests/unit/test_ring_crash.c tests/tap.h
tests_unit_test_ring_crash_CPPFLAGS = $(AM_CPPFLAGS) -DWT_TESTPOINTS
tests_unit_test_run_key_SOURCES = tests/unit/test_run_key.c tests/tap.h
tests_unit_test_layout_SOURCES = tests/unit/test_layout.c tests/tap.h

if WT_PROGRAMS
check_PROGRAMS += tests/unit/test_keep
TESTS += tests/unit/test_keep
endif
tests_unit_test_keep_SOURCES = tests/unit/test_keep.c tests/tap.h
tests_unit_test_keep_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_keep_LDADD = libwtschema.a $(SQLITE_LIBS)

if WT_PROGRAMS
check_PROGRAMS += tests/unit/test_samples
TESTS += tests/unit/test_samples
endif
tests_unit_test_samples_SOURCES = tests/unit/test_samples.c tests/tap.h
tests_unit_test_samples_LDADD = libwtschema.a $(ZLIB_LIBS) -lm

if WT_PROGRAMS
check_PROGRAMS += tests/unit/test_chunk
TESTS += tests/unit/test_chunk
endif
tests_unit_test_chunk_SOURCES = tests/unit/test_chunk.c tests/tap.h
tests_unit_test_chunk_LDADD = libwtschema.a $(ZLIB_LIBS) -lm

if WT_PROGRAMS
check_PROGRAMS += tests/unit/test_rows tests/unit/pack_run
TESTS += tests/unit/test_rows
endif
pack_rows = tests/unit/pack_rows.c tests/unit/pack_rows.h
tests_unit_test_rows_SOURCES = tests/unit/test_rows.c $(pack_rows) tests/tap.h
tests_unit_test_rows_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_rows_LDADD = libwtschema.a $(SQLITE_LIBS) $(ZLIB_LIBS) -lm
tests_unit_pack_run_SOURCES = tests/unit/pack_run.c $(pack_rows)
tests_unit_pack_run_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_pack_run_LDADD = libwtschema.a $(SQLITE_LIBS) $(ZLIB_LIBS) -lm

recording_case = tests/unit/recording_case.c tests/unit/recording_case.h
if WT_PROGRAMS
check_PROGRAMS += tests/unit/test_recording
TESTS += tests/unit/test_recording
endif
tests_unit_test_recording_SOURCES = tests/unit/test_recording.c $(recording_case) tests/tap.h
tests_unit_test_recording_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS)
# The fuzz target of the same: see its head for what it needs.

# The data dictionary moves with schema.sql.
if WT_PROGRAMS
TESTS += tests/unit/test_dictionary.sh
endif
EXTRA_DIST += tests/unit/test_dictionary.sh

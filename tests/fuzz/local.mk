# tests/fuzz: hostile input. The targets run in `make check` over the kept inputs and some thousand
# changed ones; `make fuzz` runs them under libFuzzer (clang), in a build of its own.
#
# A further target: fuzz_NAME.c, its three lines below, its name in fuzz_targets, and a folder
# corpus/NAME (a finding's input goes to regress/NAME).
fuzz_targets = \
	tests/fuzz/fuzz_chunk \
	tests/fuzz/fuzz_control \
	tests/fuzz/fuzz_kernel_name \
	tests/fuzz/fuzz_options \
	tests/fuzz/fuzz_recording \
	tests/fuzz/fuzz_run_file \
	tests/fuzz/fuzz_samples \
	tests/fuzz/fuzz_segment \
	tests/fuzz/fuzz_status
check_PROGRAMS += $(fuzz_targets)

check_LIBRARIES += tests/fuzz/libfuzzdriver.a tests/fuzz/libfuzzcli.a tests/fuzz/libfuzzdaemon.a
tests_fuzz_libfuzzdriver_a_SOURCES = tests/fuzz/fuzz.h tests/fuzz/fuzz_util.c
if WT_FUZZ
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
else
fuzz_ldflags = $(AM_LDFLAGS)
tests_fuzz_libfuzzdriver_a_SOURCES += tests/fuzz/driver.c
TESTS += $(fuzz_targets)
endif

# The programs as libraries, with main() under another name.
fuzz_cppflags = $(AM_CPPFLAGS) -Dmain=wt_program_main
fuzz_cflags = $(AM_CFLAGS) $(SQLITE_CFLAGS) -Wno-missing-prototypes
tests_fuzz_libfuzzcli_a_SOURCES = $(wavetap_SOURCES)
tests_fuzz_libfuzzcli_a_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_libfuzzcli_a_CFLAGS = $(fuzz_cflags)
tests_fuzz_libfuzzdaemon_a_SOURCES = $(wavetapd_SOURCES)
tests_fuzz_libfuzzdaemon_a_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_libfuzzdaemon_a_CFLAGS = $(fuzz_cflags)

fuzz_daemon_libs = tests/fuzz/libfuzzdaemon.a tests/fuzz/libfuzzdriver.a $(wavetapd_LDADD)
fuzz_cli_libs = tests/fuzz/libfuzzcli.a tests/fuzz/libfuzzdriver.a $(wavetap_LDADD)

tests_fuzz_fuzz_chunk_SOURCES = tests/fuzz/fuzz_chunk.c
tests_fuzz_fuzz_chunk_LDADD = tests/fuzz/libfuzzdriver.a libwtschema.a $(ZLIB_LIBS) -lm
tests_fuzz_fuzz_chunk_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_control_SOURCES = tests/fuzz/fuzz_control.c
tests_fuzz_fuzz_control_LDADD = $(fuzz_daemon_libs)
tests_fuzz_fuzz_control_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_kernel_name_SOURCES = tests/fuzz/fuzz_kernel_name.c
tests_fuzz_fuzz_kernel_name_LDADD = $(fuzz_cli_libs)
tests_fuzz_fuzz_kernel_name_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.c
tests_fuzz_fuzz_options_LDADD = $(fuzz_cli_libs)
tests_fuzz_fuzz_options_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_recording_SOURCES = tests/fuzz/fuzz_recording.c tests/unit/recording_case.c \
	tests/unit/recording_case.h
tests_fuzz_fuzz_recording_LDADD = tests/fuzz/libfuzzdriver.a $(wt_store_libs) $(SQLITE_LIBS) -lm
tests_fuzz_fuzz_recording_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_run_file_SOURCES = tests/fuzz/fuzz_run_file.c tests/unit/make_run.c \
	tests/unit/pack_rows.c tests/unit/pack_rows.h
tests_fuzz_fuzz_run_file_CPPFLAGS = $(AM_CPPFLAGS) -Dmain=make_run_main
tests_fuzz_fuzz_run_file_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_run_file_LDADD = $(fuzz_cli_libs)
tests_fuzz_fuzz_run_file_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_samples_SOURCES = tests/fuzz/fuzz_samples.c
tests_fuzz_fuzz_samples_LDADD = tests/fuzz/libfuzzdriver.a libwtschema.a $(ZLIB_LIBS)
tests_fuzz_fuzz_samples_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_segment_SOURCES = tests/fuzz/fuzz_segment.c
tests_fuzz_fuzz_segment_LDADD = $(fuzz_daemon_libs)
tests_fuzz_fuzz_segment_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_status_SOURCES = tests/fuzz/fuzz_status.c
tests_fuzz_fuzz_status_LDADD = $(fuzz_cli_libs)
tests_fuzz_fuzz_status_LDFLAGS = $(fuzz_ldflags)

fuzz-targets: $(fuzz_targets)

EXTRA_DIST += tests/fuzz/README.md tests/fuzz/make_corpus.py tests/fuzz/corpus tests/fuzz/regress \
	tests/fuzz/control.dict tests/fuzz/kernel_name.dict tests/fuzz/options.dict \
	tests/fuzz/run_file.dict tests/fuzz/status.dict

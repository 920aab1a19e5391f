# analysis/local.mk: numbers from records. Programs that link it need -lm.
noinst_LIBRARIES += libwtanalysis.a
libwtanalysis_a_SOURCES = \
	analysis/occupancy.c analysis/occupancy.h \
	analysis/collective.c analysis/collective.h analysis/gap.c analysis/gap.h analysis/interval.c analysis/interval.h \
	analysis/sweep.c analysis/sweep.h analysis/wave.c analysis/wave.h

check_PROGRAMS += tests/unit/test_gap tests/unit/test_occupancy tests/unit/test_sweep tests/unit/test_wave
TESTS += tests/unit/test_gap tests/unit/test_occupancy tests/unit/test_sweep tests/unit/test_wave
tests_unit_test_occupancy_SOURCES = tests/unit/test_occupancy.c tests/tap.h
tests_unit_test_occupancy_LDADD = libwtanalysis.a -lm
tests_unit_test_gap_SOURCES = tests/unit/test_gap.c tests/tap.h
tests_unit_test_gap_LDADD = libwtanalysis.a -lm
tests_unit_test_sweep_SOURCES = tests/unit/test_sweep.c tests/tap.h
tests_unit_test_sweep_LDADD = libwtanalysis.a -lm
tests_unit_test_wave_SOURCES = tests/unit/test_wave.c tests/tap.h
tests_unit_test_wave_LDADD = libwtanalysis.a -lm

# On hardware only: not in TESTS, exits 77 without a device.
check_PROGRAMS += tests/gpu/occupancy_matrix
tests_gpu_occupancy_matrix_SOURCES = tests/gpu/occupancy_matrix.c
tests_gpu_occupancy_matrix_LDADD = libwtanalysis.a -lm -ldl

# analysis/local.mk: numbers from records. Programs that link it need -lm.
noinst_LIBRARIES += libwtanalysis.a
libwtanalysis_a_SOURCES = \
	analysis/align.c analysis/align.h \
	analysis/cost.c analysis/cost.h analysis/derive.c analysis/derive.h \
	analysis/link.c analysis/link.h analysis/link_calls.c \
	analysis/link_entry.c analysis/link_internal.h analysis/link_match.c \
	analysis/link_order.c analysis/map.c analysis/map.h \
	analysis/rollup.c analysis/rollup.h \
	analysis/occupancy.c analysis/occupancy.h \
	analysis/schedule.c analysis/schedule.h \
	analysis/schedule_run.c analysis/schedule_run.h analysis/schedule_time.c \
	analysis/collective.c analysis/collective.h analysis/digest.c analysis/digest.h analysis/kernel_class.c analysis/kernel_class.h \
	analysis/evidence.c analysis/evidence.h analysis/profiled.c analysis/profiled.h \
	analysis/fold.c analysis/fold.h analysis/fold_align.c analysis/fold_blocks.c analysis/fold_fit.c analysis/fold_fit.h \
	analysis/fold_internal.h analysis/fold_matrix.c analysis/fold_normal.c analysis/fold_result.c analysis/fold_rows.c \
	analysis/fold_segments.c \
	analysis/fold_solution.c analysis/fold_solve.c \
	analysis/gap.c analysis/gap.h analysis/interval.c analysis/interval.h \
	analysis/measure.c analysis/measure.h analysis/optimizer.c analysis/optimizer.h analysis/overlap.c analysis/overlap.h \
	analysis/phase.c analysis/phase.h analysis/ranges.c analysis/ranges.h \
	analysis/steps.c analysis/steps.h analysis/steps_anchor.c analysis/steps_internal.h \
	analysis/steps_judge.c analysis/steps_level.c \
	analysis/sweep.c analysis/sweep.h analysis/waits.c analysis/waits.h analysis/wave.c analysis/wave.h analysis/whatif.c analysis/whatif.h

analysis_tests = tests/unit/test_align tests/unit/test_cost tests/unit/test_digest tests/unit/test_evidence tests/unit/test_gap tests/unit/test_kernel_class tests/unit/test_link tests/unit/test_link_random \
	tests/unit/test_measure tests/unit/test_occupancy tests/unit/test_overlap tests/unit/test_profiled tests/unit/test_ranges tests/unit/test_rollup tests/unit/test_steps \
	tests/unit/test_sweep tests/unit/test_waits tests/unit/test_wave tests/unit/test_whatif
check_PROGRAMS += $(analysis_tests)
TESTS += $(analysis_tests)
tests_unit_test_cost_SOURCES = tests/unit/test_cost.c tests/tap.h
tests_unit_test_cost_LDADD = libwtanalysis.a -lm
tests_unit_test_digest_SOURCES = tests/unit/test_digest.c tests/tap.h
tests_unit_test_digest_LDADD = libwtanalysis.a
tests_unit_test_align_SOURCES = tests/unit/test_align.c tests/tap.h
tests_unit_test_align_LDADD = libwtanalysis.a -lm
tests_unit_test_evidence_SOURCES = tests/unit/test_evidence.c tests/tap.h
tests_unit_test_evidence_LDADD = libwtanalysis.a -lm
tests_unit_test_kernel_class_SOURCES = tests/unit/test_kernel_class.c tests/tap.h
tests_unit_test_kernel_class_LDADD = libwtanalysis.a -lm
tests_unit_test_link_SOURCES = tests/unit/test_link.c tests/tap.h
tests_unit_test_link_LDADD = libwtanalysis.a -lm
tests_unit_test_link_random_SOURCES = tests/unit/test_link_random.c tests/tap.h
tests_unit_test_link_random_LDADD = libwtanalysis.a -lm
tests_unit_test_measure_SOURCES = tests/unit/test_measure.c tests/tap.h
tests_unit_test_measure_LDADD = libwtanalysis.a -lm
tests_unit_test_occupancy_SOURCES = tests/unit/test_occupancy.c tests/tap.h
tests_unit_test_occupancy_LDADD = libwtanalysis.a -lm
tests_unit_test_overlap_SOURCES = tests/unit/test_overlap.c tests/tap.h
tests_unit_test_overlap_LDADD = libwtanalysis.a -lm
tests_unit_test_profiled_SOURCES = tests/unit/test_profiled.c tests/tap.h
tests_unit_test_profiled_LDADD = libwtanalysis.a -lm
tests_unit_test_ranges_SOURCES = tests/unit/test_ranges.c tests/tap.h
tests_unit_test_ranges_LDADD = libwtanalysis.a -lm
tests_unit_test_rollup_SOURCES = tests/unit/test_rollup.c tests/tap.h
tests_unit_test_rollup_LDADD = libwtanalysis.a -lm
tests_unit_test_gap_SOURCES = tests/unit/test_gap.c tests/tap.h
tests_unit_test_gap_LDADD = libwtanalysis.a -lm
tests_unit_test_steps_SOURCES = tests/unit/test_steps.c tests/unit/steps_programs.c tests/unit/steps_programs.h tests/tap.h
tests_unit_test_steps_LDADD = libwtanalysis.a -lm
tests_unit_test_sweep_SOURCES = tests/unit/test_sweep.c tests/tap.h
tests_unit_test_sweep_LDADD = libwtanalysis.a -lm
tests_unit_test_waits_SOURCES = tests/unit/test_waits.c tests/tap.h
tests_unit_test_waits_LDADD = libwtanalysis.a -lm
tests_unit_test_wave_SOURCES = tests/unit/test_wave.c tests/tap.h
tests_unit_test_wave_LDADD = libwtanalysis.a -lm
tests_unit_test_whatif_SOURCES = tests/unit/test_whatif.c tests/tap.h
tests_unit_test_whatif_LDADD = libwtanalysis.a -lm

check_PROGRAMS += tests/unit/test_fold_cases tests/unit/test_fold_sim tests/unit/test_fold_streams
TESTS += tests/unit/test_fold_cases tests/unit/test_fold_sim tests/unit/test_fold_streams
if WT_PROGRAMS # for zlib
check_PROGRAMS += tests/unit/test_fold_data
TESTS += tests/unit/test_fold_data
endif
tests_unit_test_fold_cases_SOURCES = tests/unit/test_fold_cases.c tests/unit/fold_sim.c tests/unit/fold_sim.h tests/tap.h
tests_unit_test_fold_cases_LDADD = libwtanalysis.a -lm
tests_unit_test_fold_streams_SOURCES = tests/unit/test_fold_streams.c tests/unit/fold_sim.c tests/unit/fold_sim.h tests/unit/fold_streams.c tests/unit/fold_streams.h tests/tap.h
tests_unit_test_fold_streams_LDADD = libwtanalysis.a -lm
tests_unit_test_fold_sim_SOURCES = tests/unit/test_fold_sim.c tests/unit/fold_sim.c tests/unit/fold_sim.h tests/tap.h
tests_unit_test_fold_sim_LDADD = libwtanalysis.a -lm
check_PROGRAMS += tests/bench/bench_fold
tests_bench_bench_fold_SOURCES = tests/bench/bench_fold.c tests/unit/fold_sim.c tests/unit/fold_sim.h
tests_bench_bench_fold_LDADD = libwtanalysis.a -lm
tests_unit_test_fold_data_SOURCES = tests/unit/test_fold_data.c tests/unit/fold_data.c tests/unit/fold_data.h tests/tap.h
tests_unit_test_fold_data_LDADD = libwtanalysis.a $(ZLIB_LIBS) -lm

check_PROGRAMS += tests/unit/test_schedule tests/unit/test_schedule_ticks
TESTS += tests/unit/test_schedule tests/unit/test_schedule_ticks
tests_unit_test_schedule_SOURCES = tests/unit/test_schedule.c tests/tap.h
tests_unit_test_schedule_LDADD = libwtanalysis.a -lm
tests_unit_test_schedule_ticks_SOURCES = tests/unit/test_schedule_ticks.c tests/tap.h
tests_unit_test_schedule_ticks_LDADD = libwtanalysis.a -lm

# On hardware only: not in TESTS, exits 77 without a device.
check_PROGRAMS += tests/gpu/occupancy_matrix
tests_gpu_occupancy_matrix_SOURCES = tests/gpu/occupancy_matrix.c
tests_gpu_occupancy_matrix_LDADD = libwtanalysis.a -lm -ldl

# Comparing runs.
libwtanalysis_a_SOURCES += \
	analysis/contrast.c analysis/contrast.h analysis/kernel_match.c analysis/kernel_match.h analysis/noise.c analysis/noise.h
check_PROGRAMS += tests/unit/test_contrast tests/unit/test_kernel_match
TESTS += tests/unit/test_contrast tests/unit/test_kernel_match
tests_unit_test_contrast_SOURCES = tests/unit/test_contrast.c tests/tap.h
tests_unit_test_contrast_LDADD = libwtanalysis.a -lm
tests_unit_test_kernel_match_SOURCES = tests/unit/test_kernel_match.c tests/tap.h
tests_unit_test_kernel_match_LDADD = libwtanalysis.a -lm

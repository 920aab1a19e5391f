# The suite on hardware: not part of `make check`, since nothing here builds or runs without a GPU.
EXTRA_DIST += \
	tests/gpu/README.md \
	tests/gpu/RESULTS.md \
	tests/gpu/build.sh \
	tests/gpu/causes.py \
	tests/gpu/causes_check.py \
	tests/gpu/causes_native.cu \
	tests/gpu/check_classes.py \
	tests/gpu/check_classes_test.py \
	tests/gpu/check_gaps.py \
	tests/gpu/check_links.py \
	tests/gpu/check_measured.py \
	tests/gpu/check_measured_test.py \
	tests/gpu/check_ranges.py \
	tests/gpu/check_train.py \
	tests/gpu/check_truth.py \
	tests/gpu/compare_train.py \
	tests/gpu/cost_table.py \
	tests/gpu/cover/cover.cu \
	tests/gpu/cover/cover.h \
	tests/gpu/cover/cover_cupy.py \
	tests/gpu/cover/cover_device.cu \
	tests/gpu/cover/cover_jax.py \
	tests/gpu/cover/cover_numba.py \
	tests/gpu/cover/cover_nvtx.py \
	tests/gpu/cover/cover_report.py \
	tests/gpu/cover/cover_torch.py \
	tests/gpu/cover/cover_triton.py \
	tests/gpu/cover/link_truth.cu \
	tests/gpu/coverage.py \
	tests/gpu/coverage.sh \
	tests/gpu/field.py tests/gpu/field.sh tests/gpu/field_table.py tests/gpu/field_test.py \
	tests/gpu/field_cycle.py tests/gpu/field_parts.py tests/gpu/field_parts_table.py tests/gpu/field_torch.py \
	tests/gpu/guest.py \
	tests/gpu/link_cost.cu \
	tests/gpu/long_graph.cu \
	tests/gpu/long_run.py \
	tests/gpu/measured.py \
	tests/gpu/pm_cupti.h \
	tests/gpu/pm_others.h \
	tests/gpu/pm_probe.c \
	tests/gpu/pm_work.h \
	tests/gpu/print_rows.py \
	tests/gpu/ranks.py \
	tests/gpu/reconcile.py \
	tests/gpu/record.sh \
	tests/gpu/record_work.py \
	tests/gpu/run.sh \
	tests/gpu/runfile.py \
	tests/gpu/sample_cost.py \
	tests/gpu/sampled.sh \
	tests/gpu/share/share_jax.py \
	tests/gpu/share/share_proton.py \
	tests/gpu/share/share_report.py \
	tests/gpu/share/share_torch.py \
	tests/gpu/sharing.py \
	tests/gpu/sharing.sh \
	tests/gpu/stream_course.py \
	tests/gpu/tool_target.cu \
	tests/gpu/tools.py \
	tests/gpu/range_probe.cu tests/gpu/sass_probe.cu \
	tests/gpu/blind_probe.cu tests/gpu/cupti_check.cuh tests/gpu/range_cupti.cuh \
	tests/gpu/train.py \
	tests/gpu/truth.cu \
	tests/gpu/truth_kernels.cuh \
	tests/gpu/truth_measure.cuh \
	tests/gpu/truth_modes.cuh \
	tests/gpu/truth_phase.cuh \
	tests/gpu/truth_storm.cuh \
	tests/gpu/truth_streams.cuh \
	tests/gpu/two_gpus.py tests/gpu/two_gpus.sh tests/gpu/two_gpus_check.py \
	tests/gpu/workers.py

# A client of CUPTI to compare with: by field.py on hardware, by tests/e2e/0970-field.sh on the simulated GPU.
check_PROGRAMS += tests/gpu/raw_cupti.so
tests_gpu_raw_cupti_so_SOURCES = tests/gpu/raw_cupti.c
tests_gpu_raw_cupti_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_gpu_raw_cupti_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_gpu_raw_cupti_so_LDADD = -ldl -lpthread

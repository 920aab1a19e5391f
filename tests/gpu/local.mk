# The suite on hardware: not part of `make check`, since nothing here builds or runs without a GPU.
EXTRA_DIST += \
	tests/gpu/README.md \
	tests/gpu/RESULTS.md \
	tests/gpu/build.sh \
	tests/gpu/causes.py \
	tests/gpu/causes_check.py \
	tests/gpu/causes_native.cu \
	tests/gpu/check_gaps.py \
	tests/gpu/check_links.py \
	tests/gpu/check_ranges.py \
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
	tests/gpu/ranks.py \
	tests/gpu/reconcile.py \
	tests/gpu/record.sh \
	tests/gpu/record_work.py \
	tests/gpu/run.sh \
	tests/gpu/runfile.py \
	tests/gpu/train.py \
	tests/gpu/truth.cu \
	tests/gpu/truth_kernels.cuh \
	tests/gpu/truth_measure.cuh

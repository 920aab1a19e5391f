# The suite on hardware: not part of `make check`, since nothing here builds or runs without a GPU.
EXTRA_DIST += \
	tests/gpu/README.md \
	tests/gpu/RESULTS.md \
	tests/gpu/check_truth.py \
	tests/gpu/compare_train.py \
	tests/gpu/cost_table.py \
	tests/gpu/reconcile.py \
	tests/gpu/run.sh \
	tests/gpu/runfile.py \
	tests/gpu/train.py \
	tests/gpu/truth.cu \
	tests/gpu/truth_kernels.cuh \
	tests/gpu/truth_measure.cuh

# Recordings of real runs, small, each with its origin in README.md.
EXTRA_DIST += tests/data/README.md tests/data/cut_run.py tests/data/h200-train-eager.db.gz \
	tests/data/sim-demo.wtrec tests/data/h200-copies-side.wtrec tests/data/h200-infer-tiny.wtrec \
	tests/data/h200-train-compile.wtrec tests/data/h200-train-eager.wtrec tests/data/h200-triton.wtrec \
	tests/data/h200x2-ddp-rank0.wtrec tests/data/h200x2-ddp-rank1.wtrec \
	tests/data/h200x2-late-ddp-rank0.wtrec tests/data/h200x2-late-ddp-rank1.wtrec \
	tests/data/h200x2-late-ddp.phases tests/data/h200-blind.tsv \
	tests/data/h200x2-late-fsdp-rank0.wtrec tests/data/h200x2-late-fsdp-rank1.wtrec \
	tests/data/h200x2-late-fsdp.phases

# Kernels and samples of PM sampling, for folding.
EXTRA_DIST += tests/data/fold/mix50us-kernels.csv.gz tests/data/fold/mix50us-reference.txt \
	tests/data/fold/mix50us-samples.csv.gz tests/data/fold/mix50us-truth.csv \
	tests/data/fold/train-b32-kernels.csv.gz tests/data/fold/train-b32-names.txt \
	tests/data/fold/train-b32-samples.csv.gz

# Takes the names of a machine out of a recording.
if WT_PROGRAMS
check_PROGRAMS += tests/data/strip_recording
endif
tests_data_strip_recording_SOURCES = tests/data/strip_recording.c
tests_data_strip_recording_LDADD = libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS)

# Recordings of real runs, small, each with its origin in README.md.
EXTRA_DIST += tests/data/README.md tests/data/cut_run.py tests/data/h200-train-eager.db.gz

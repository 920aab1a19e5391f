# tests/bench: what `make bench` measures. Not run by `make check` but for a smoke, which asserts counts, not times.
check_PROGRAMS += tests/bench/bench
tests_bench_bench_SOURCES = tests/bench/bench.c tests/bench/bench.h tests/bench/bench_child.c \
	tests/bench/bench_day.c tests/bench/bench_feed.c tests/bench/bench_hook.c \
	tests/bench/bench_ingest.c tests/bench/bench_query.c tests/bench/bench_report.c \
	tests/bench/bench_ring.c tests/bench/stream.c tests/bench/stream.h tests/bench/stream_impl.h \
	tests/bench/stream_step.c tests/hosts/odd.h $(synth_sources)
tests_bench_bench_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_bench_bench_LDADD = libwtcli.a libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -ldl -lm
TESTS += tests/unit/test_bench.sh
EXTRA_DIST += tests/bench/bench.sh tests/unit/test_bench.sh

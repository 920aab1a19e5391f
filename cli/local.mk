# cli/local.mk
noinst_LIBRARIES += libwtcli.a
libwtcli_a_SOURCES = \
	cli/demangle.c cli/demangle.h cli/demangle_impl.h \
	cli/demangle_text.c cli/demangle_type.c \
	cli/kernel_name.c cli/kernel_name.h \
	cli/kernel_shorten.c cli/shorten_impl.h \
	cli/shorten_rules.c cli/shorten_span.c \
	cli/json.c cli/json.h \
	cli/expression.c cli/expression.h \
	cli/parse_time.c cli/parse_time.h \
	cli/progress.c cli/progress.h \
	cli/table.c cli/table.h cli/table_impl.h cli/table_text.c \
	cli/text.c cli/text.h \
	cli/text_number.c \
	cli/text_lines.c cli/text_lines.h \
	cli/watch_bar.c cli/watch_bar.h cli/watch_pace.c cli/watch_pace.h \
	cli/wrap.c cli/wrap.h

check_PROGRAMS += tests/unit/test_kernel_name tests/unit/test_text
TESTS += tests/unit/test_kernel_name tests/unit/test_text
check_PROGRAMS += tests/unit/test_watch
TESTS += tests/unit/test_watch
tests_unit_test_watch_SOURCES = tests/unit/test_watch.c tests/tap.h
tests_unit_test_watch_LDADD = libwtcli.a -lm
check_PROGRAMS += tests/unit/test_expression tests/unit/test_parse_time tests/unit/test_progress
TESTS += tests/unit/test_expression tests/unit/test_parse_time tests/unit/test_progress
tests_unit_test_expression_SOURCES = tests/unit/test_expression.c tests/tap.h
tests_unit_test_expression_LDADD = libwtcli.a
tests_unit_test_parse_time_SOURCES = tests/unit/test_parse_time.c tests/tap.h
tests_unit_test_parse_time_LDADD = libwtcli.a
tests_unit_test_progress_SOURCES = tests/unit/test_progress.c tests/tap.h
tests_unit_test_progress_LDADD = libwtcli.a -lm
tests_unit_test_kernel_name_SOURCES = tests/unit/test_kernel_name.c tests/tap.h
tests_unit_test_kernel_name_LDADD = libwtcli.a -ldl -lm
tests_unit_test_text_SOURCES = tests/unit/test_text.c tests/tap.h
tests_unit_test_text_LDADD = libwtcli.a -ldl -lm

include cli/local-cmd.mk

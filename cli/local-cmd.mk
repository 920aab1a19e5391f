# cli/local-cmd.mk: the wavetap program and its tests.
bin_PROGRAMS += wavetap
wavetap_SOURCES = cli/wavetap.c
# All that is behind main(), which the fuzzers call, too.
noinst_LIBRARIES += libwtcmd.a
libwtcmd_a_SOURCES = \
	cli/anonymise.c cli/anonymise.h \
	cli/cli.h \
	cli/options.c cli/options.h \
	cli/help.c cli/help.h \
	cli/busy.c cli/busy.h \
	cli/bounds.h cli/check.c cli/check.h cli/check_chunks.c cli/check_ledger.c cli/check_measured.c cli/check_rows.c cli/check_samples.c cli/check_sql.c \
	cli/client.c cli/client.h \
	cli/complete.c cli/complete.h \
	cli/content_hash.c cli/content_hash.h \
	cli/copy_db.c cli/copy_db.h \
	cli/gap_calls.c cli/gap_calls.h cli/gap_calls_table.c cli/gap_calls_table.h \
	cli/expand_rows.c cli/expand_rows.h \
	cli/copy_names.c cli/copy_names.h \
	cli/dropped.c cli/dropped.h \
	cli/diagnose.c cli/diagnose.h cli/diagnose_impl.h \
	cli/diagnose_active.c cli/diagnose_chain.c cli/diagnose_comm.c cli/diagnose_copies.c \
	cli/diagnose_gaps.c cli/diagnose_gaps.h \
	cli/diagnose_idle.c cli/diagnose_kernels.c cli/diagnose_measured.c \
	cli/diagnose_steps.c cli/diagnose_steps.h \
	cli/ledger.c cli/ledger.h cli/ledger_measure.c cli/ledger_whole.c cli/measured.c cli/measured.h cli/report_measured.c cli/report_measured.h \
	cli/ledger_buckets.c cli/ledger_gap.c cli/ledger_impl.h \
	cli/ledger_lines.c cli/ledger_lines.h \
	cli/cmd_sweep.c cli/sweep.h cli/sweep_html.c cli/sweep_run.c \
	cli/cmd_merge.c cli/merge.h cli/merge_align.c cli/merge_copy.c cli/merge_source.c \
	cli/gpu_state.c cli/gpu_state.h \
	cli/out_file.c cli/out_file.h \
	cli/phases.c cli/phases.h \
	cli/phrase.c cli/phrase.h \
	cli/plot.c cli/plot.h \
	cli/program.c cli/program.h \
	cli/export_metrics.c cli/export_metrics.h cli/metrics_run.c cli/metrics_run.h cli/openmetrics.c cli/openmetrics.h \
	cli/proto.c cli/proto.h cli/sink.c cli/sink.h cli/trace.c cli/trace.h cli/trace_row.c cli/trace_row.h \
	cli/trace_about.c cli/trace_bits.c cli/trace_calls.c cli/trace_export.c cli/trace_export.h \
	cli/trace_graphs.c cli/trace_impl.h cli/trace_kernels.c cli/trace_ledger.c cli/trace_names.c \
	cli/trace_plan.c cli/trace_samples.c cli/trace_spans.c cli/trace_steps.c \
	cli/rates.c cli/rates.h \
	cli/ranges.c cli/ranges.h cli/ranges_sum.c cli/ranges_sum.h \
	cli/report.c cli/report.h \
	cli/report_device.c cli/report_gap.c cli/report_group.c cli/report_key.c cli/report_key.h \
	cli/cost.c cli/cost.h cli/report_loss.c cli/report_part.c cli/report_part.h cli/report_scan.c \
	cli/report_sql.c cli/report_sql.h \
	cli/run_file.c cli/run_file.h \
	cli/run_summary.c cli/run_summary.h cli/summary_cells.c cli/summary_cells.h cli/cmd_history.c \
	cli/select.c cli/select.h cli/select_apply.c \
	cli/select_find.c cli/select_impl.h cli/select_range.c cli/select_steps.c cli/select_window.c \
	cli/shm_room.c cli/shm_room.h \
	cli/show.c cli/show.h cli/show_advice.c \
	cli/show_json.c cli/show_measured.c cli/show_model.c cli/show_curve.c cli/show_print.c cli/show_print.h \
	cli/sim_draw.c \
	cli/sim_gpu.c \
	cli/sim_json.c \
	cli/sim_list.c \
	cli/sim_parse.c \
	cli/sim_parse_time.c \
	cli/sim_rows.c \
	cli/sim_sweep.c \
	cli/sim_text.c \
	cli/sim_time.c \
	cli/simulate.h \
	cli/sm_activity.c cli/sm_activity.h cli/sm_agreement.c \
	cli/sms.h cli/sms_heat.c cli/sms_heat.h cli/sms_json.c \
	cli/steps.c cli/steps.h cli/steps_load.c cli/steps_load.h cli/steps_marker.c \
	cli/steps_times.c cli/steps_times.h \
	cli/story.c cli/story.h cli/story_text.c \
	cli/collectives.c cli/collectives.h cli/ranks.c cli/ranks.h cli/ranks_late.c cli/ranks_pace.c \
	cli/json_run.c cli/json_run.h \
	cli/top_cells.c cli/top_cells.h cli/top_cells_config.c cli/top_cells_config.h cli/top_columns.c cli/top_columns.h \
	cli/top_json.c cli/top_json.h \
	cli/top_text.c cli/top_text.h \
	cli/cmd_copies.c \
	cli/cmd_diagnose.c \
	cli/cmd_check.c \
	cli/cmd_doctor.c cli/doctor.h cli/doctor_cupti.c cli/doctor_data.c cli/doctor_gpu.c \
	cli/doctor_host.c cli/doctor_install.c cli/doctor_sampler.c \
	cli/doctor_target.c \
	cli/probe.c cli/probe.h \
	cli/cmd_analyze.c \
	cli/cmd_export.c \
	cli/html/html.c cli/html/html.h cli/html/kernel_plots.c cli/html/load.c cli/html/page.c \
	cli/html/part_details.c cli/html/part_facts.c cli/html/part_findings.c cli/html/part_gaps.c \
	cli/html/part_heat.c cli/html/part_kernels.c cli/html/part_ledger.c cli/html/part_losses.c \
	cli/html/part_steps.c cli/html/part_timeline.c cli/html/report.h \
	cli/html/policy_hash.c cli/html/policy_hash.h \
	cli/cmd_gaps.c \
	cli/cmd_ledger.c \
	cli/cmd_gc.c cli/gc.h cli/gc_runs.c cli/gc_segments.c \
	daemon/lock.c \
	cli/cmd_import.c \
	cli/cmd_preload.c \
	cli/cmd_ranges.c \
	cli/cmd_run.c \
	cli/cmd_runs.c \
	cli/cmd_show.c \
	cli/cmd_simulate.c \
	cli/cmd_status.c \
	cli/run_counters.c \
	cli/run_counters.h \
	cli/status_samplers.c \
	cli/status_samplers.h \
	cli/cmd_ranks.c \
	cli/cmd_sms.c \
	cli/cmd_timeline.c \
	cli/cmd_steps.c \
	cli/cmd_top.c \
	cli/cmd_whatif.c cli/whatif.c cli/whatif.h \
	cli/screen.h cli/watch_view.c cli/watch_view.h cli/watch_options.c cli/watch_options.h \
	cli/watch_text.c cli/watch_text.h cli/watch_top.c cli/watch_top.h cli/watch_keys.c cli/watch_load.c cli/watch_draw.c cli/watch_ledger.c cli/watch_ledger.h
if WT_NCURSES
libwtcmd_a_SOURCES += cli/screen.c
else
libwtcmd_a_SOURCES += cli/screen_none.c
endif
nodist_libwtcmd_a_SOURCES = cli/html/assets.c

# What an HTML report is made of beside its figures, as C strings.
html_assets = cli/html/report.css cli/html/report.js cli/html/reading.html
EXTRA_DIST += $(html_assets)
cli/html/assets.c: $(html_assets)
	$(AM_V_GEN)$(MKDIR_P) cli/html && { \
	echo '/* Generated from report.css, report.js and reading.html. */'; \
	echo '#include "cli/html/report.h"'; \
	for each in css:report.css js:report.js reading:reading.html; do \
	echo "const char wt_html_$${each%%:*}[] ="; \
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' "$(srcdir)/cli/html/$${each#*:}" || exit 1; \
	echo ';'; \
	done; } >$@.tmp && mv -f $@.tmp $@
CLEANFILES += cli/html/assets.c cli/html/assets.c.tmp

# Shells find them there by their names. They ask `wavetap --complete`, so that nothing in them follows the
# table of commands.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = cli/completion/wavetap
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = cli/completion/_wavetap
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = cli/completion/wavetap.fish

libwtcmd_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(NCURSES_CFLAGS)
wavetap_CFLAGS = $(libwtcmd_a_CFLAGS)
wavetap_LDADD = libwtcmd.a libwtcli.a $(wt_store_libs) $(SQLITE_LIBS) $(NCURSES_LIBS) -ldl -lm

TESTS += tests/unit/test_simulate.sh
EXTRA_DIST += tests/unit/test_simulate.sh

TESTS += tests/unit/test_json.sh tests/unit/test_names.sh
EXTRA_DIST += tests/unit/test_json.sh tests/unit/test_names.sh
check_PROGRAMS += tests/unit/json_schema
tests_unit_json_schema_SOURCES = tests/unit/json_schema.c tests/unit/json_text.c tests/unit/json_text.h

check_PROGRAMS += tests/unit/read_trace
tests_unit_read_trace_SOURCES = tests/unit/read_trace.c
tests_unit_read_trace_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_read_trace_LDADD = $(SQLITE_LIBS)
TESTS += tests/unit/test_trace.sh tests/unit/test_metrics.sh
EXTRA_DIST += tests/unit/test_trace.sh tests/unit/test_metrics.sh
# HTML reports.
check_PROGRAMS += tests/unit/html_check tests/unit/test_policy_hash
TESTS += tests/unit/test_policy_hash
tests_unit_html_check_SOURCES = tests/unit/html_check.c
tests_unit_test_policy_hash_SOURCES = tests/unit/test_policy_hash.c cli/html/policy_hash.c cli/html/policy_hash.h tests/tap.h
tests_unit_test_policy_hash_LDADD = libwtanalysis.a -lm

check_PROGRAMS += tests/unit/make_run tests/unit/answering_daemon
tests_unit_answering_daemon_SOURCES = tests/unit/answering_daemon.c
tests_unit_make_run_SOURCES = tests/unit/make_run.c
tests_unit_make_run_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_make_run_LDADD = libwtschema.a $(SQLITE_LIBS) $(ZLIB_LIBS)

check_PROGRAMS += tests/unit/test_busy
tests_unit_test_busy_SOURCES = tests/unit/test_busy.c tests/tap.h cli/busy.c cli/busy.h

check_PROGRAMS += tests/unit/wide_lines
tests_unit_wide_lines_SOURCES = tests/unit/wide_lines.c
TESTS += tests/unit/test_story.sh tests/unit/test_width.sh tests/unit/test_completion.sh
EXTRA_DIST += tests/unit/test_story.sh tests/unit/test_width.sh tests/unit/test_completion.sh

TESTS += tests/unit/test_cli.sh tests/unit/test_diagnose.sh tests/unit/test_ledger.sh tests/unit/test_measured.sh tests/unit/test_show.sh tests/unit/test_select.sh tests/unit/test_latest.sh tests/unit/test_top_keys.sh tests/unit/test_ranks.sh tests/unit/test_busy
EXTRA_DIST += tests/unit/test_cli.sh tests/unit/test_diagnose.sh tests/unit/test_ledger.sh tests/unit/test_measured.sh tests/unit/test_show.sh tests/unit/test_select.sh tests/unit/test_latest.sh tests/unit/test_top_keys.sh tests/unit/test_ranks.sh

check_PROGRAMS += tests/unit/test_phases
TESTS += tests/unit/test_phases
tests_unit_test_phases_SOURCES = tests/unit/test_phases.c tests/tap.h cli/phases.c cli/phases.h \
	cli/ranges.c cli/ranges.h cli/report_sql.c cli/report_sql.h
tests_unit_test_phases_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_phases_LDADD = libwtanalysis.a libwtschema.a $(ZLIB_LIBS) $(SQLITE_LIBS) -lm

TESTS += tests/unit/test_measured_readers.sh
EXTRA_DIST += tests/unit/test_measured_readers.sh tests/unit/measured.sql
TESTS += tests/unit/test_steps_cli.sh
EXTRA_DIST += tests/unit/test_steps_cli.sh
TESTS += tests/unit/test_whatif_cli.sh tests/unit/test_man.sh tests/unit/test_tutorial.sh
EXTRA_DIST += tests/unit/test_whatif_cli.sh tests/unit/test_man.sh tests/unit/test_tutorial.sh
TESTS += tests/unit/test_watch_screen.sh
EXTRA_DIST += tests/unit/test_watch_screen.sh
TESTS += tests/unit/test_exchange.sh
EXTRA_DIST += tests/unit/test_exchange.sh
TESTS += tests/unit/test_merge.sh
EXTRA_DIST += tests/unit/test_merge.sh

# Comparing runs.
libwtcmd_a_SOURCES += \
	cli/baseline.c cli/baseline.h cli/baseline_store.c cli/baseline_store.h cli/cmd_baseline.c cli/cmd_compare.c cli/compare.c cli/compare.h \
	cli/compare_facts.c cli/compare_impl.h cli/compare_kernels.c cli/compare_values.c cli/compare_margin.c cli/compare_gate.c cli/compare_json.c cli/compare_kinds.c cli/compare_precision.c \
	cli/compare_reasons.c cli/compare_run.c cli/compare_run.h cli/compare_show.c cli/compare_show.h cli/compare_text.c
include tests/compare/local.mk
TESTS += tests/unit/test_sweep.sh
EXTRA_DIST += tests/unit/test_sweep.sh

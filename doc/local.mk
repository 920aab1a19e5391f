# doc/local.mk
# A page for each command, doc/man/wavetap-COMMAND.1, with the command's options from its table:
# `make man-options` brings these up to date, tests/unit/test_man.sh holds them and runs the examples.
dist_man_MANS += \
	doc/man/wavetap.1 doc/man/wavetapd.8 doc/man/wavetap-sampler.8 \
	doc/man/libwavetap.7 doc/man/wavetap-selection.7 \
	doc/man/wavetap-analyze.1 \
	doc/man/wavetap-check.1 \
	doc/man/wavetap-copies.1 \
	doc/man/wavetap-diagnose.1 \
	doc/man/wavetap-doctor.1 \
	doc/man/wavetap-export.1 \
	doc/man/wavetap-gaps.1 \
	doc/man/wavetap-gc.1 \
	doc/man/wavetap-history.1 \
	doc/man/wavetap-import.1 \
	doc/man/wavetap-ledger.1 \
	doc/man/wavetap-merge.1 \
	doc/man/wavetap-preload.1 \
	doc/man/wavetap-ranges.1 \
	doc/man/wavetap-ranks.1 \
	doc/man/wavetap-run.1 \
	doc/man/wavetap-runs.1 \
	doc/man/wavetap-show.1 \
	doc/man/wavetap-simulate.1 \
	doc/man/wavetap-sms.1 \
	doc/man/wavetap-status.1 \
	doc/man/wavetap-steps.1 \
	doc/man/wavetap-sweep.1 \
	doc/man/wavetap-timeline.1 \
	doc/man/wavetap-top.1 \
	doc/man/wavetap-whatif.1
EXTRA_DIST += scripts/man-options.sh
.PHONY: man-options
man-options: wavetap
	$(AM_V_at)sh $(top_srcdir)/scripts/man-options.sh ./wavetap $(top_srcdir)/doc/man/wavetap-*.1

EXTRA_DIST += doc/images/ledger.svg doc/images/ranks.svg doc/images/report-time.png doc/images/report.png doc/images/watch.svg
dist_doc_DATA += doc/run-file.md doc/design.md doc/json.md doc/portability.md doc/recording.md doc/trace.md doc/openmetrics.md

schemadir = $(docdir)/schema
dist_schema_DATA = \
	doc/schema/analyze.schema.json doc/schema/check.schema.json doc/schema/common.schema.json \
	doc/schema/copies.schema.json doc/schema/diagnose.schema.json doc/schema/doctor.schema.json \
	doc/schema/export.schema.json doc/schema/gaps.schema.json doc/schema/gc.schema.json doc/schema/history.schema.json doc/schema/merge.schema.json doc/schema/sweep.schema.json \
	doc/schema/import.schema.json doc/schema/ledger.schema.json doc/schema/ranges.schema.json doc/schema/ranks.schema.json doc/schema/sms.schema.json \
	doc/schema/runs.schema.json \
	doc/schema/show.schema.json doc/schema/simulate.schema.json doc/schema/status.schema.json \
	doc/schema/steps.schema.json doc/schema/timeline.schema.json doc/schema/top.schema.json \
	doc/schema/whatif.schema.json

# What the commands of the tutorial print; tests/unit/test_tutorial.sh compares.
dist_doc_DATA += doc/reading-idle-sm-time.md
EXTRA_DIST += scripts/doc-outputs.sh
.PHONY: tutorial
tutorial: wavetap
	$(AM_V_at)sh $(top_srcdir)/scripts/doc-outputs.sh ./wavetap $(top_srcdir) $(top_srcdir)/doc/reading-idle-sm-time.md
# Comparing runs.
dist_man_MANS += doc/man/wavetap-baseline.1 doc/man/wavetap-compare.1
dist_doc_DATA += doc/compare.md
dist_schema_DATA += doc/schema/baseline.schema.json doc/schema/compare.schema.json

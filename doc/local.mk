# doc/local.mk
dist_man_MANS += doc/wavetap.1 doc/wavetapd.8 doc/wavetap-sampler.8

# A page per command, made from wavetap.1; the test tests/unit/test_man.sh runs their examples.
command_pages = \
	doc/wavetap-run.1 doc/wavetap-top.1 doc/wavetap-show.1 doc/wavetap-ledger.1 doc/wavetap-gaps.1 \
	doc/wavetap-timeline.1 doc/wavetap-steps.1 doc/wavetap-copies.1 doc/wavetap-diagnose.1 \
	doc/wavetap-ranges.1 doc/wavetap-ranks.1 doc/wavetap-sms.1 doc/wavetap-simulate.1 doc/wavetap-whatif.1 doc/wavetap-runs.1 doc/wavetap-history.1 doc/wavetap-status.1 doc/wavetap-preload.1 \
	doc/wavetap-export.1 doc/wavetap-import.1 doc/wavetap-analyze.1 doc/wavetap-doctor.1 \
	doc/wavetap-gc.1 doc/wavetap-check.1
nodist_man_MANS = $(command_pages)
CLEANFILES += $(command_pages) doc/pages.stamp
EXTRA_DIST += scripts/man-pages.sh
doc/pages.stamp: $(top_srcdir)/doc/wavetap.1 $(top_srcdir)/scripts/man-pages.sh
	$(AM_V_GEN)$(MKDIR_P) doc && sh $(top_srcdir)/scripts/man-pages.sh $(top_srcdir)/doc/wavetap.1 doc && touch $@
$(command_pages): doc/pages.stamp
	@test -f $@ || { rm -f doc/pages.stamp && $(MAKE) doc/pages.stamp; }

dist_doc_DATA += doc/run-file.md doc/design.md doc/json.md doc/portability.md doc/recording.md doc/trace.md

schemadir = $(docdir)/schema
dist_schema_DATA = \
	doc/schema/analyze.schema.json doc/schema/check.schema.json doc/schema/common.schema.json \
	doc/schema/copies.schema.json doc/schema/diagnose.schema.json doc/schema/doctor.schema.json \
	doc/schema/export.schema.json doc/schema/gaps.schema.json doc/schema/gc.schema.json doc/schema/history.schema.json \
	doc/schema/import.schema.json doc/schema/ledger.schema.json doc/schema/ranges.schema.json doc/schema/ranks.schema.json doc/schema/sms.schema.json \
	doc/schema/runs.schema.json \
	doc/schema/show.schema.json doc/schema/simulate.schema.json doc/schema/status.schema.json \
	doc/schema/steps.schema.json doc/schema/timeline.schema.json doc/schema/top.schema.json \
	doc/schema/whatif.schema.json

# doc/local.mk
dist_man_MANS += doc/wavetap.1 doc/wavetapd.8
dist_doc_DATA += doc/run-file.md doc/design.md doc/json.md doc/portability.md doc/recording.md

schemadir = $(docdir)/schema
dist_schema_DATA = \
	doc/schema/analyze.schema.json doc/schema/check.schema.json doc/schema/common.schema.json \
	doc/schema/copies.schema.json doc/schema/diagnose.schema.json doc/schema/doctor.schema.json \
	doc/schema/export.schema.json doc/schema/gaps.schema.json doc/schema/gc.schema.json \
	doc/schema/import.schema.json doc/schema/ledger.schema.json doc/schema/runs.schema.json \
	doc/schema/show.schema.json doc/schema/simulate.schema.json doc/schema/status.schema.json \
	doc/schema/steps.schema.json doc/schema/timeline.schema.json doc/schema/top.schema.json \
	doc/schema/whatif.schema.json

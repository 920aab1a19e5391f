# doc/local.mk
dist_man_MANS += doc/wavetap.1 doc/wavetapd.8
dist_doc_DATA += doc/run-file.md doc/design.md doc/json.md doc/portability.md doc/recording.md

# daemon/local.mk: wavetapd, and the linker it uses.
libwtanalysis_a_SOURCES += analysis/link.c analysis/link.h analysis/link_calls.c \
	analysis/link_internal.h analysis/link_order.c analysis/map.c analysis/map.h

bin_PROGRAMS += wavetapd
wavetapd_SOURCES = \
	daemon/main.c daemon/daemon.h \
	daemon/configs.c daemon/control.c daemon/drain.c daemon/drain_kernel.c daemon/liveness.c \
	daemon/lock.c daemon/log.c daemon/process.c daemon/process_restore.c daemon/process_stat.c \
	daemon/run_key.c daemon/runs.c daemon/scan.c daemon/segment_map.c daemon/status.c \
	daemon/status.h daemon/store.c
wavetapd_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
wavetapd_LDADD = libwtanalysis.a libwtschema.a $(SQLITE_LIBS) -lm

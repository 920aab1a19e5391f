/*
 * replay_impl.h - inside of an import: only for replay.c and replay_lay.c.
 */
#ifndef WT_REPLAY_IMPL_H
#define WT_REPLAY_IMPL_H

#include <stdio.h>

#include "daemon/daemon.h"
#include "daemon/replay.h"
#include "schema/wt_recording.h"

struct wt_replay_file {
	struct wt_replay_source said;
	FILE *file;
	uint64_t read_bytes;
	struct wt_recording_reader *reader;
	struct wt_recording_block block;
	bool has_block;
	struct wt_process *process;
};

struct wt_replay {
	struct wt_replay_file **sources;
	size_t count;
	struct wt_run *run;
	char key[WT_RUN_KEY_BYTES];
	struct wt_cell *batch; /* WT_BATCH_CELLS, for wt_drain */
	struct wt_cell *ring[WT_RING_MAX]; /* of all processes: a block is drained at once */
};

/* The segment's header as the recording tells it. */
void wt_replay_header(const struct wt_replay_file *source, struct wt_segment_header *header);
/* The process of a recording, as scan.c attaches one. 0 or -ENOMEM. */
int wt_replay_attach(struct wt_replay *replay, struct wt_replay_file *source);
/* The block that was read into the private segment of its process. */
void wt_replay_lay(struct wt_replay *replay, struct wt_replay_file *source);
/* Frees what wt_replay_attach() made. */
void wt_replay_detach(struct wt_replay_file *source);

#endif /* WT_REPLAY_IMPL_H */

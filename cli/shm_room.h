/*
 * shm_room.h - can a program that starts now be recorded, as far as shared memory goes?
 *
 * A process that finds no room for its segment has nowhere to leave a reason, so the readers
 * look for themselves. The limits are those of libintercept/segment.c (wt_segment.h).
 */
#ifndef WT_CLI_SHM_ROOM_H
#define WT_CLI_SHM_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_SHM_ROOM_TEXT_BYTES 512

struct wt_shm_room {
	const char *path; /* static or from the environment: valid while that is unchanged */
	int64_t free_bytes; /* -1 = not known */
	int64_t wanted_bytes; /* room below which a process is not recorded */
	bool is_usable;
	char problem[WT_SHM_ROOM_TEXT_BYTES]; /* why it is not usable; else "" */
};

/* Looks now. Never fails: what can't be found out is a problem with its text. Any thread. */
void wt_shm_room_look(struct wt_shm_room *ret);

#endif /* WT_CLI_SHM_ROOM_H */

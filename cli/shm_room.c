/*
 * shm_room.c - see shm_room.h. Blocks for statvfs and access only.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/shm_room.h"
#include "cli/text.h"
#include "schema/wt_paths.h"
#include "schema/wt_segment.h"

void wt_shm_room_look(struct wt_shm_room *ret)
{
	struct wt_shm_room room = {.path = wt_path_shm_dir(),
	                           .free_bytes = -1,
	                           .wanted_bytes =
	                                   (int64_t)WT_SEGMENT_FREE_SHARE * WT_SEGMENT_BYTES_MIN};
	char has[WT_TEXT_NUMBER_BYTES], wants[WT_TEXT_NUMBER_BYTES];
	struct statvfs fs;

	if (statvfs(room.path, &fs)) {
		snprintf(room.problem, sizeof(room.problem), "%s: %s", room.path, strerror(errno));
	} else {
		room.free_bytes = (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize);
		if (access(room.path, W_OK | X_OK))
			snprintf(room.problem, sizeof(room.problem), "%s: %s", room.path,
			         strerror(errno));
		else if (room.free_bytes < room.wanted_bytes)
			snprintf(room.problem, sizeof(room.problem),
			         "%s has too little room: %s free, %s needed (docker: --shm-size)",
			         room.path, wt_text_bytes(has, (uint64_t)room.free_bytes),
			         wt_text_bytes(wants, (uint64_t)room.wanted_bytes));
		else
			room.is_usable = true;
	}
	*ret = room;
}

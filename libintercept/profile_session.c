/*
 * profile_session.c - CUPTI's profiling functions, and which context the range profiler is open in.
 *
 * One context at a time. The functions are those of the libcupti that is armed; an older one without
 * them does no profiling.
 *
 * The thread of the launch that is profiled. May block in the loader and in CUPTI.
 */
#include <sys/mman.h>

#include "libintercept/cupti.h"
#include "libintercept/profile.h"

bool wt_profile_map(struct wt_profile_bytes *room, size_t bytes)
{
	void *memory;

	wt_profile_unmap(room);
	memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	              -1, 0);
	if (memory == MAP_FAILED)
		return false;
	room->memory = memory;
	room->bytes = bytes;
	return true;
}

void wt_profile_unmap(struct wt_profile_bytes *room)
{
	if (room->memory)
		munmap(room->memory, room->bytes ? room->bytes : 1);
	*room = (struct wt_profile_bytes){0};
}

bool wt_profile_find_calls(struct wt_profile_api *api)
{
	bool has_all = true;

#define FIND(member, symbol, type)                                                                 \
	api->member = (type)wt_real_dlsym(wt_cupti.handle, #symbol);                               \
	has_all = has_all && api->member;
	WT_PROFILE_CALLS(FIND)
#undef FIND
	return has_all;
}

static bool is_alive(const struct wt_profile_session *session)
{
	uint32_t id = 0;

	return wt_cupti.get_context_id && !wt_cupti.get_context_id(session->context, &id) &&
	       id == session->context_id;
}

void wt_profile_session_abandon(struct wt_profile_session *session)
{
	session->is_open = false;
	session->range.is_started = false;
	session->range.object = NULL; /* CUPTI keeps the image: it is not unmapped */
	session->range.image = (struct wt_profile_bytes){0};
}

int wt_profile_session_close(struct wt_profile_session *session)
{
	if (!session->is_open)
		return 0;
	session->is_open = false;
	if (is_alive(session))
		return wt_profile_range_close(session);
	wt_profile_session_abandon(session); /* what was in the context went with it */
	return 0;
}

int wt_profile_session_open(struct wt_profile_session *session,
                            const struct wt_profile_place *place)
{
	struct wtcupti_profiler_initialize initialize = {
	        .struct_size = WTCUPTI_PROFILER_INITIALIZE_BYTES,
	};
	int code = wt_profile_session_close(session);

	if (!code && !session->is_initialized) {
		code = session->api.initialize(&initialize);
		session->is_initialized = !code;
	}
	if (code)
		return code;
	session->context = place->context;
	session->context_id = place->context_id;
	session->device = place->device;
	session->sm_count = place->sm_count;
	code = wt_profile_range_open(session);
	session->is_open = !code;
	return code;
}

/*
 * profile_session.c - CUPTI's profiling functions, and which of the two interfaces is open where.
 *
 * Never both at once: whether the range profiler bears patched code in its context is not known. One
 * context at a time, too. The functions are those of the libcupti that is armed; an older one without
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
	bool has_range = true, has_sass = true;

#define FIND(member, symbol, type)                                                                 \
	api->member = (type)wt_real_dlsym(wt_cupti.handle, #symbol);                               \
	has_range = has_range && api->member;
	WT_PROFILE_CALLS(FIND)
#undef FIND
#define FIND(member, symbol, type)                                                                 \
	api->member = (type)wt_real_dlsym(wt_cupti.handle, #symbol);                               \
	has_sass = has_sass && api->member;
	WT_PROFILE_SASS_CALLS(FIND)
#undef FIND
	wt_store_relaxed(&api->has_sass, has_sass);
	return has_range;
}

static bool is_alive(const struct wt_profile_session *session)
{
	uint32_t id = 0;

	return wt_cupti.get_context_id && !wt_cupti.get_context_id(session->context, &id) &&
	       id == session->context_id;
}

void wt_profile_session_abandon(struct wt_profile_session *session)
{
	session->open = WT_PROFILE_NOT;
	session->is_sass_enabled = false;
	session->range.is_started = false;
	session->range.object = NULL; /* CUPTI keeps the image: it is not unmapped */
	session->range.image = (struct wt_profile_bytes){0};
}

int wt_profile_session_close(struct wt_profile_session *session)
{
	enum wt_profile_role open = session->open;

	session->open = WT_PROFILE_NOT;
	if (open == WT_PROFILE_SASS)
		return wt_profile_sass_close(session);
	if (open != WT_PROFILE_RANGE)
		return 0;
	if (!is_alive(session)) { /* what was in the context went with it */
		wt_profile_session_abandon(session);
		return 0;
	}
	return wt_profile_range_close(session);
}

int wt_profile_session_open(struct wt_profile_session *session, enum wt_profile_role role,
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
	code = role == WT_PROFILE_RANGE ? wt_profile_range_open(session)
	                                : wt_profile_sass_open(session);
	if (!code)
		session->open = role;
	return code;
}

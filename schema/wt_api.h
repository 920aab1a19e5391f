/*
 * wt_api.h - numbers, names and classes of the intercepted driver entries, made
 * from wt_hooks.def. Used by the library (records), the daemon (storage) and the
 * CLI (names). Constant data, any thread.
 */
#ifndef WT_API_H
#define WT_API_H

#include <stddef.h>

/* Stored in run files: never renumber. */
enum wt_api_class {
	WT_API_CLASS_NONE = 0,
	WT_API_CLASS_LAUNCH = 1,
	WT_API_CLASS_GRAPH = 2,
	WT_API_CLASS_CONTEXT = 3,
	WT_API_CLASS_SYNC = 4,
	WT_API_CLASS_DEPEND = 5,
	WT_API_CLASS_CAPTURE = 6,
	WT_API_CLASS_ALLOC = 7,
	WT_API_CLASS_MODULE = 8,
	WT_API_CLASS_LOOKUP = 9,
	WT_API_CLASS_MAX
};

enum wt_api {
	WT_API_NONE = 0,
#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes) WT_API_##symbol = id,
#include "schema/wt_hooks.def"
	WT_API_MAX = 160
};

/* The driver symbol of an api number, or NULL. */
static inline const char *wt_api_name(unsigned api)
{
	switch (api) {
#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes)                             \
	case id:                                                                                   \
		return #symbol;
#include "schema/wt_hooks.def"
	default:
		return NULL;
	}
}

/* The class of an api number; WT_API_CLASS_NONE for one we don't know. */
static inline enum wt_api_class wt_api_class_of(unsigned api)
{
	switch (api) {
#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes)                             \
	case id:                                                                                   \
		return WT_API_CLASS_##class;
#include "schema/wt_hooks.def"
	default:
		return WT_API_CLASS_NONE;
	}
}

#endif /* WT_API_H */

/* lookup.h - private to dlsym.c and lookup.c. */
#ifndef WT_LOOKUP_H
#define WT_LOOKUP_H

/*
 * dlsym for a name on the list; `caller` is the address it was called from. Reached from the
 * assembly in dlsym.c.
 */
void *wt_dlsym_listed(void *handle, const char *symbol, const void *caller);

#endif /* WT_LOOKUP_H */
